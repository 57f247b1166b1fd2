//! IR to IA-64 assembly that follows the calling conventions.
//!
//! ```text
//! device f(a, b) { return a + b }  ->  f:  alloc r2 = ar.pfs, 2, 0, 0, 0
//!                                           add r8 = r32, r33
//!                                           br.ret.sptk.many b0
//! ```
//!
//! Selection, pipelining of innermost loops where asked for, allocation, frames; then one instruction a group as text, which
//! `rebundle` packs. Blocks whose cycles a pipeliner decided are packed as they are, one group a cycle. The prologue says
//! where it saves general, branch and application registers for the unwinder; preserved floating-point registers are saved
//! without such directives, and inside an epilogue the unwinder is not told how far it came.
//!
//! Source: Intel, *Itanium Software Conventions and Runtime Architecture Guide*, chapters 5, 8 and 11.

use super::decided::{self, Written};
pub use super::merge::merged;
use super::operation;
use super::rebundle::{self, Outcome};
use super::requested::request;
use super::select::select;
use super::symbols::reference;
use crate::allocate::{self, Allocation, Limits};
use crate::bundle::block::Choice;
use crate::machine::epic::Epic;
use crate::mir::function::{FrameOffset, Function, Name, Operand, Operation, Virtual};
use crate::mir::op;
use crate::mir::{File, Reg};
use crate::pipeline::rows::Rows;
use crate::pipeline::software::{self, LoopReport, pipeline_each};
use crate::refusal::{Refusal, Refused};
use ir::{Loc, Module};
use isa::ia64::{Branch, Completer, Opcode};
use rustc_hash::FxHashMap;
use smol_str::{SmolStr, format_smolstr};
use std::fmt::Write;

/// Offsets that one addition reaches.
const NEAR: u64 = 8191;
/// Bytes of a frame.
const MOST: u64 = 1 << 24;

#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// Gives what the IR leaves open (division by zero, conversions out of range) the reference interpreter's values.
    pub total: bool,
    /// Narrow sums wrap even where the program promises that they do not.
    pub wraps: bool,
    /// Products and sums become one operation that rounds once.
    pub contract: bool,
    /// By block of function 0: how often it runs. Else estimated from loops.
    pub weights: Option<Vec<f64>>,
    pub limits: Limits,
    /// How innermost loops are software-pipelined; `None`: only those of which the source asks it.
    pub pipeline: Option<software::Options>,
    /// Explicit bundles; else one instruction a group, for the assembler to pack.
    pub bundles: bool,
    /// Subsets that are looked at in each block.
    pub decisions: usize,
    /// What has no code is no reason to look no further: bounds of loops are asked for, and no text.
    pub bounds: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            total: false,
            wraps: false,
            contract: false,
            weights: None,
            limits: Limits::default(),
            pipeline: None,
            bundles: true,
            decisions: 500,
            bounds: false,
        }
    }
}

/// A line of the text that has a place in the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    /// From 0.
    pub line: u32,
    pub loc: Loc,
    /// Of `Emitted::functions`: whose place it is.
    pub function: u32,
    /// In its block, where a pipeliner decided.
    pub cycle: Option<u32>,
}

/// What a function came to.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    pub name: SmolStr,
    /// Bytes of its frame.
    pub frame: u64,
    /// Values that live in memory for want of registers.
    pub spilled: u32,
    /// Its innermost loops, where pipelining was asked for.
    pub loops: Vec<LoopReport>,
    /// Why nothing is pipelined although it could be.
    pub fallen_back: Option<Refusal>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Emitted {
    pub text: String,
    pub lines: Vec<Line>,
    pub functions: Vec<Report>,
}

/// The name of a function in the text.
pub(crate) fn function_name(module: &Module, number: usize) -> SmolStr {
    let plain = |name: &str| -> String {
        let mut out: String = name
            .chars()
            .map(|one| {
                if one.is_ascii_alphanumeric() || one == '_' {
                    one
                } else {
                    '_'
                }
            })
            .collect();
        if !out.starts_with(|one: char| one.is_ascii_alphabetic() || one == '_') {
            out.insert(0, '_');
        }
        out
    };
    let Some(function) = module.functions.get(number) else {
        return "_".into();
    };
    let name = plain(&function.name);
    let before = module.functions[..number]
        .iter()
        .filter(|one| plain(&one.name) == name)
        .count();
    match before {
        0 => name.into(),
        more => format_smolstr!("{name}_{more}"),
    }
}

/// The assembly of a verified module.
///
/// # Errors
/// Everything that has no form, with its place; nothing is emitted then.
pub fn emit(module: &Module, machine: &Epic, options: &Options) -> Result<Emitted, Vec<Refused>> {
    let mut printer = Printer {
        rows: Some(Rows::new(machine)),
        ..Printer::default()
    };
    let mut refused = Vec::new();
    let mut functions = Vec::new();
    printer.line("\t.text");
    for (number, function) in module.functions.iter().enumerate() {
        // Data alone.
        if function.layout.is_empty() {
            refused.extend(super::data::unknown(function));
            continue;
        }
        let own = Options {
            weights: options.weights.clone().filter(|_| number == 0),
            ..options.clone()
        };
        let name = function_name(module, number);
        match lowered(module, function, name, machine, &own) {
            Ok(lowered) => functions.push(printer.function(lowered)),
            Err(mut reasons) => refused.append(&mut reasons),
        }
    }
    printer.text.push_str(&super::data::data(module));
    refused.extend(
        functions
            .iter()
            .filter(|one| one.frame > MOST)
            .map(|one| Refused {
                reason: Refusal::Frame {
                    bytes: one.frame,
                    most: MOST,
                },
                loc: Loc::NONE,
            }),
    );
    if !refused.is_empty() {
        return Err(refused);
    }
    if options.bundles {
        printer.pack(machine, options);
    }
    Ok(printer.finish(functions))
}

/// What a function comes to, without its text.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Examined {
    /// Its innermost loops, also where it has no code: as they would be with it.
    pub loops: Vec<LoopReport>,
    /// Why nothing is pipelined although it could be.
    pub fallen_back: Option<Refusal>,
    /// Why there is no code.
    pub refused: Vec<Refused>,
}

/// The innermost loops of a module's first function. Where it has no code, a loop that holds an operation without a form says
/// so; the others are scheduled.
#[must_use]
pub fn examine(module: &Module, machine: &Epic, options: &Options) -> Examined {
    let Some(source) = module.functions.first() else {
        return Examined::default();
    };
    let name = function_name(module, 0);
    match lowered(module, source, name, machine, options) {
        Ok(lowered) => {
            let bytes = Frame::of(&lowered.function, &lowered.allocation).bytes;
            let refused = (bytes > MOST).then_some(Refused {
                reason: Refusal::Frame { bytes, most: MOST },
                loc: Loc::NONE,
            });
            Examined {
                loops: lowered.loops,
                fallen_back: lowered.fallen_back,
                refused: refused.into_iter().collect(),
            }
        }
        Err(refused) => Examined {
            loops: bounds(module, source, machine, options),
            fallen_back: None,
            refused,
        },
    }
}

fn bounds(
    module: &Module,
    source: &ir::Function,
    machine: &Epic,
    options: &Options,
) -> Vec<LoopReport> {
    let options = Options {
        bounds: true,
        ..options.clone()
    };
    let mut source = source.clone();
    if options.contract {
        super::contract::contract(&mut source);
    }
    super::prepare::prepare(&mut source, options.wraps);
    let Ok(mut function) = select(module, &source, function_name(module, 0), &options) else {
        return Vec::new();
    };
    allocate::simplify(&mut function);
    let wanted = |places: &[Loc]| request(&source.loops, places, options.pipeline);
    pipeline_each(&mut function, machine, &wanted)
}

/// One function on the machine's registers.
struct Lowered {
    function: Function,
    allocation: Allocation,
    loops: Vec<LoopReport>,
    fallen_back: Option<Refusal>,
    /// Other files do not name it.
    internal: bool,
}

fn lowered(
    module: &Module,
    source: &ir::Function,
    name: SmolStr,
    machine: &Epic,
    options: &Options,
) -> Result<Lowered, Vec<Refused>> {
    let mut source = source.clone();
    if options.contract {
        super::contract::contract(&mut source);
    }
    super::prepare::prepare(&mut source, options.wraps);
    let mut function = select(module, &source, name, options)?;
    allocate::simplify(&mut function);
    let plain = function.clone();
    let wanted = |places: &[Loc]| request(&source.loops, places, options.pipeline);
    let mut loops = pipeline_each(&mut function, machine, &wanted);
    allocate::jumps(&mut function);
    let mut fallen_back = None;
    let allocation = match allocate::allocate(&mut function, machine, &options.limits) {
        Ok(allocation) => allocation,
        // Without what was scheduled there is always a way.
        Err(reason) => {
            function = plain;
            for one in &mut loops {
                one.pipelined = false;
            }
            fallen_back = Some(reason);
            allocate::allocate(&mut function, machine, &options.limits).map_err(|reason| {
                vec![Refused {
                    reason,
                    loc: Loc::NONE,
                }]
            })?
        }
    };
    Ok(Lowered {
        function,
        allocation,
        loops,
        fallen_back,
        internal: source.internal,
    })
}

/// The text with a mark behind every instruction, `// #3`: the place and cycle that it comes from.
#[derive(Default)]
struct Printer {
    text: String,
    marks: Vec<(Loc, Option<u32>, u32)>,
    /// By mark of a prologue's instruction: what the unwinder is told of it.
    prologue: FxHashMap<usize, String>,
    /// The function that is printed.
    now: u32,
    /// Parts of the text that stay as they are.
    decided: Vec<std::ops::Range<usize>>,
    /// What issues in a cycle.
    rows: Option<Rows>,
}

/// Registers and offsets of a function's frame.
struct Frame {
    bytes: u64,
    slots: Vec<u64>,
    spills: u64,
    floats: Vec<(u8, u64)>,
    /// `ar.pfs`, return address, predicates, loop count, NaT bits.
    pfs: Option<u32>,
    link: Option<u32>,
    predicates: Option<u32>,
    count: Option<u32>,
    nats: Option<u32>,
    alloc: [u32; 4],
}

impl Frame {
    fn of(function: &Function, allocation: &Allocation) -> Frame {
        let mut bytes = if function.calls { 16 } else { 0 } + u64::from(function.outgoing);
        let mut slots = Vec::new();
        for slot in &function.slots {
            bytes = bytes.next_multiple_of(u64::from(slot.align.clamp(1, 16).next_power_of_two()));
            slots.push(bytes);
            bytes += u64::from(slot.bytes);
        }
        bytes = bytes.next_multiple_of(16);
        let spills = bytes;
        bytes += u64::from(allocation.spilled);
        let mut floats = Vec::new();
        for number in allocation.used(function, File::Float) {
            if matches!(number, 2..=5 | 16..=31) {
                floats.push((number, bytes));
                bytes += 16;
            }
        }
        // Below the scratch area: what arrives in registers behind the arguments that have names.
        bytes += match function.variadic {
            true => 48,
            false => 0,
        };
        let mut next = allocation.stacked;
        let mut give = |wanted: bool| {
            wanted.then(|| {
                next += 1;
                next - 1
            })
        };
        let preserved = |number: &u8| matches!(number, 1..=5 | 16..=63);
        let predicates = allocation
            .used(function, File::Predicate)
            .iter()
            .any(preserved)
            || function.rotating.predicate > 0;
        let operations = || function.blocks.iter().flat_map(|block| &block.operations);
        let counted = operations().any(|one| {
            one.targets.contains(&Operand::fixed(Reg::LC)) || one.branch() == Some(Branch::Counted)
        });
        let spilled = operations()
            .any(|one| one.opcode() == Opcode::St8 && one.mnemonic.has(Completer::Spill));
        let pfs = give(function.calls);
        let link = give(function.calls);
        let predicates = give(predicates);
        let count = give(counted);
        let nats = give(spilled);
        let inputs = function.inputs();
        // What passes arguments on has its place behind all that may be saved.
        let last = function.outputs.first().map_or(next, |one| {
            u32::from(allocation.registers[one.0 as usize].number)
        });
        let alloc = [
            inputs,
            last - 32 - inputs,
            function.outputs.len() as u32,
            function.rotating.general,
        ];
        Frame {
            bytes,
            slots,
            spills,
            floats,
            pfs,
            link,
            predicates,
            count,
            nats,
            alloc,
        }
    }
    /// Bytes behind the stack pointer.
    fn offset(&self, offset: FrameOffset) -> i64 {
        match offset {
            // Behind the scratch area of the caller.
            FrameOffset::Argument(bytes) => self.bytes as i64 + 16 + bytes,
            FrameOffset::Slot(number) => self.slots[number as usize] as i64,
            FrameOffset::Spill(bytes) => (self.spills + u64::from(bytes)) as i64,
        }
    }
}

impl Printer {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
    fn mark(&mut self, loc: Loc, cycle: Option<u32>) -> usize {
        self.marks.push((loc, cycle, self.now));
        self.marks.len() - 1
    }
    /// An instruction in a group of its own.
    fn instruction(&mut self, text: &str, loc: Loc) {
        let mark = self.mark(loc, None);
        let _ = writeln!(self.text, "\t{text} ;;\t// #{mark}");
    }

    fn function(&mut self, lowered: Lowered) -> Report {
        let Lowered {
            function,
            allocation,
            loops,
            fallen_back,
            internal,
        } = lowered;
        let (function, allocation) = (&function, &allocation);
        let frame = Frame::of(function, allocation);
        let name = &function.name;
        let own = reference(name);
        self.line("\t.align 32");
        // What is not global is the file's own.
        if !internal {
            self.line(&format!("\t.global {own}"));
        }
        self.line(&format!("\t.type {own}, @function"));
        self.line(&format!("\t.proc {own}"));
        self.line(&format!("{name}:"));
        self.prologue(&frame);
        let register = |one: Virtual| allocation.registers[one.0 as usize];
        let label = |block: u32| format!(".L{name}_{block}");
        for operation in &allocation.arrivals {
            self.operation(operation, &frame, &register, &label);
        }
        let mut targets = vec![false; function.blocks.len()];
        for operand in function
            .blocks
            .iter()
            .flat_map(|block| &block.operations)
            .flat_map(|one| &one.sources)
        {
            if let Operand::Block(to) = operand {
                targets[*to as usize] = true;
            }
        }
        for (at, block) in function.blocks.iter().enumerate() {
            if targets[at] {
                self.line(&format!("{}:", label(at as u32)));
            }
            if !block.cycles.is_empty() && block.cycles.len() == block.operations.len() {
                self.decided(&block.operations, &block.cycles, &register, &label);
                continue;
            }
            for operation in &block.operations {
                if operation.branch() == Some(Branch::Return) {
                    self.epilogue(&frame, operation.loc);
                }
                self.operation(operation, &frame, &register, &label);
            }
        }
        self.line(&format!("\t.endp {own}"));
        self.now += 1;
        Report {
            name: name.clone(),
            frame: frame.bytes,
            spilled: allocation.in_memory,
            loops,
            fallen_back,
        }
    }

    fn operation(
        &mut self,
        operation: &Operation,
        frame: &Frame,
        register: &dyn Fn(Virtual) -> Reg,
        label: &dyn Fn(u32) -> String,
    ) {
        let mut operation = operation.clone();
        if let [Operand::Frame(offset), Operand::Register(Name::Fixed(base))] =
            operation.sources[..]
        {
            debug_assert_eq!(operation.mnemonic, op!("adds"));
            let offset = frame.offset(offset);
            if offset <= NEAR as i64 {
                operation.sources[0] = Operand::Number(offset);
            } else {
                let mut far = operation.clone();
                far.mnemonic = op!("movl");
                far.sources = vec![Operand::Number(offset)];
                self.instruction(&operation::text(&far, register, label), operation.loc);
                operation.mnemonic = op!("add");
                operation.sources = vec![operation.targets[0].clone(), Operand::fixed(base)];
            }
        }
        self.instruction(&operation::text(&operation, register, label), operation.loc);
    }

    /// An instruction of the prologue. What is told of it stands in front of it wherever it goes.
    fn told(&mut self, directives: String, text: &str) {
        self.prologue.insert(self.marks.len(), directives);
        self.instruction(text, Loc::NONE);
    }

    fn prologue(&mut self, frame: &Frame) {
        let [inputs, locals, outputs, rotating] = frame.alloc;
        self.line("\t.prologue");
        let kept = frame.pfs.unwrap_or(2);
        let told = frame.pfs.map(|pfs| format!("\t.save ar.pfs, r{pfs}\n"));
        self.told(
            told.unwrap_or_default(),
            &format!("alloc r{kept} = ar.pfs, {inputs}, {locals}, {outputs}, {rotating}"),
        );
        let bytes = frame.bytes.next_multiple_of(16);
        if bytes > 8192 {
            self.told(String::new(), &format!("movl r2 = -{bytes}"));
            self.told(format!("\t.fframe {bytes}\n"), "add r12 = r2, r12");
        } else if bytes > 0 {
            let text = format!("adds r12 = -{bytes}, r12");
            self.told(format!("\t.fframe {bytes}\n"), &text);
        }
        for (place, name, directive) in [
            (frame.link, "b0", "rp"),
            (frame.predicates, "pr", "pr"),
            (frame.count, "ar.lc", "ar.lc"),
            (frame.nats, "ar.unat", "ar.unat"),
        ] {
            if let Some(place) = place {
                let told = format!("\t.save {directive}, r{place}\n");
                self.told(told, &format!("mov r{place} = {name}"));
            }
        }
        for &(number, offset) in &frame.floats {
            self.address(offset);
            self.instruction(&format!("stf.spill [r2] = f{number}"), Loc::NONE);
        }
    }
    fn address(&mut self, offset: u64) {
        if offset <= NEAR {
            self.instruction(&format!("adds r2 = {offset}, r12"), Loc::NONE);
        } else {
            self.instruction(&format!("movl r2 = {offset}"), Loc::NONE);
            self.instruction("add r2 = r2, r12", Loc::NONE);
        }
    }

    fn epilogue(&mut self, frame: &Frame, loc: Loc) {
        for &(number, offset) in &frame.floats {
            self.address(offset);
            self.instruction(&format!("ldf.fill f{number} = [r2]"), loc);
        }
        if let Some(place) = frame.predicates {
            self.instruction(&format!("mov pr = r{place}, -2"), loc);
        }
        for (place, name) in [
            (frame.count, "ar.lc"),
            (frame.nats, "ar.unat"),
            (frame.pfs, "ar.pfs"),
            (frame.link, "b0"),
        ] {
            if let Some(place) = place {
                self.instruction(&format!("mov {name} = r{place}"), loc);
            }
        }
        let bytes = frame.bytes.next_multiple_of(16);
        if bytes > NEAR {
            self.instruction(&format!("movl r2 = {bytes}"), loc);
            self.instruction("add r12 = r2, r12", loc);
        } else if bytes > 0 {
            self.instruction(&format!("adds r12 = {bytes}, r12"), loc);
        }
    }

    /// One group a cycle, as the block's author decided.
    fn decided(
        &mut self,
        operations: &[Operation],
        cycles: &[u32],
        register: &dyn Fn(Virtual) -> Reg,
        label: &dyn Fn(u32) -> String,
    ) {
        let start = self.text.len();
        let mut groups: Vec<Vec<Written>> = Vec::new();
        let mut at = 0;
        for group in cycles.chunk_by(|one, other| one == other) {
            let end = at + group.len();
            let lines = operations[at..end].iter().map(|one| Written {
                text: operation::text(one, register, label),
                mark: self.mark(one.loc, Some(group[0])),
            });
            groups.push(lines.collect());
            at = end;
        }
        decided::print(&groups, self.rows.as_ref(), &mut self.text);
        self.decided.push(start..self.text.len());
    }

    /// Explicit bundles for everything that nobody decided.
    fn pack(&mut self, machine: &Epic, options: &Options) {
        let document = syntax::ia64::parse(&self.text);
        let listing = super::listing::listing(&document, &self.text);
        let how = rebundle::Options {
            choice: Choice::EagerLazy,
            decisions: options.decisions,
            all: true,
        };
        let blocks = rebundle::rebundle(&document, &self.text, &listing, machine, &how, None);
        for block in blocks.iter().rev() {
            let range = block.span.start as usize..block.span.end as usize;
            let decided = self
                .decided
                .iter()
                .any(|one| one.start < range.end && range.start < one.end);
            if let (Outcome::Rewritten { text, .. }, false) = (&block.outcome, decided) {
                self.text.replace_range(range, text);
            }
        }
    }

    /// Takes the marks out.
    fn finish(self, functions: Vec<Report>) -> Emitted {
        let mut text = String::with_capacity(self.text.len());
        let mut lines = Vec::new();
        let marked: Vec<(&str, Option<usize>)> = self
            .text
            .lines()
            .map(|line| match line.rsplit_once("// #") {
                Some((own, mark)) => (own.trim_end(), mark.trim().parse().ok()),
                None => (line, None),
            })
            .collect();
        // The body begins behind the last instruction of the prologue, by function.
        let mut ends: FxHashMap<u32, usize> = FxHashMap::default();
        for (at, (_, mark)) in marked.iter().enumerate() {
            if let Some(mark) = mark.filter(|mark| self.prologue.contains_key(mark)) {
                ends.insert(self.marks[mark].2, at);
            }
        }
        let mut number = 0;
        for (at, &(own, mark)) in marked.iter().enumerate() {
            if let Some(directives) = mark.and_then(|mark| self.prologue.get(&mark)) {
                text.push_str(directives);
                number += directives.lines().count() as u32;
            }
            text.push_str(own);
            text.push('\n');
            if let Some(&(loc, cycle, function)) = mark.and_then(|mark| self.marks.get(mark)) {
                if loc != Loc::NONE || cycle.is_some() {
                    lines.push(Line {
                        line: number,
                        loc,
                        function,
                        cycle,
                    });
                }
                if ends.get(&function) == Some(&at) {
                    text.push_str("\t.body\n");
                    number += 1;
                }
            }
            number += 1;
        }
        Emitted {
            text,
            lines,
            functions,
        }
    }
}
