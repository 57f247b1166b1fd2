//! IR to IA-64 assembly that follows the calling conventions.
//!
//! ```text
//! device f(a, b) { return a + b }  ->  f:  alloc r2 = ar.pfs, 2, 0, 0, 0
//!                                           add r8 = r32, r33
//!                                           br.ret.sptk.many b0
//! ```
//!
//! Selection, pipelining of innermost loops where asked for, allocation, frames; then instructions on the machine's
//! registers, which `layout` packs and `assembly` prints. The prologue says where it saves general, branch and application registers
//! for the unwinder; preserved floating-point registers are saved without such directives, and inside an epilogue the
//! unwinder is not told how far it came.
//!
//! Source: Intel, *Itanium Software Conventions and Runtime Architecture Guide*, chapters 5, 8 and 11.

use super::assembly::{Assembly, Instruction};
use super::bundle::check::Violation;
use super::code::Allocation;
use super::converted;
use super::frame::Frame;
use super::layout::Wanted;
use super::listing::listing;
use super::operation;
use super::passes::Limits;
use super::requested::request;
use super::select::select;
use super::symbols::reference;
use crate::allocate;
use crate::machine::epic::Epic;
use crate::merge::merge;
pub use crate::merge::merged;
use crate::mir::Target as _;
use crate::parallel;
use crate::predicate::hammocks::{self, Conversions, Judge, Terms};
use crate::predicate::loops::Region;
use crate::refusal::{Refusal, Refused};
use crate::target::ia64::code::{Function, Operand, Operation, Virtual};
use crate::target::ia64::describe::executed;
use crate::target::ia64::pipeline::{self, LoopReport, pipeline_each};
use ir::{BranchKind, Loc, Module};
use isa::ia64::Branch;
use isa::ia64::{Ia64, Inst, Reg};
use rustc_hash::FxHashMap;
use smol_str::{SmolStr, format_smolstr};

/// Bytes of a frame.
const MOST: u64 = 1 << 24;

#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// Gives results that the IR leaves open (division by zero, conversions out of range) the reference
    /// interpreter's values.
    pub total: bool,
    /// Narrow sums wrap even where the program promises that they do not.
    pub wraps: bool,
    /// Products and sums become one operation that rounds once.
    pub contract: bool,
    /// The number of executions of each block of the functions of these names. Of others it is estimated from loops.
    pub weights: FxHashMap<SmolStr, Vec<f64>>,
    pub limits: Limits,
    /// The options for software pipelining of innermost loops; `None`: only those for which the source asks
    /// it.
    pub pipeline: Option<pipeline::Options>,
    /// Branches outside of pipelined loops become predicates where that gains by the cost; else only those of which the source
    /// asks it.
    pub convert: bool,
    /// Explicit bundles; else one instruction a group, for the assembler to pack.
    pub bundles: bool,
    /// The bundles of each block are checked by the instruction set's table; a block whose bundles are found
    /// wrong is one instruction a group. With debug assertions, that panics.
    pub checked: bool,
    /// Subsets that are looked at in each block.
    pub decisions: usize,
    /// True if bounds of loops are asked for, and no text: operations without code do not end the
    /// compilation.
    pub bounds: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            total: false,
            wraps: false,
            contract: false,
            weights: FxHashMap::default(),
            limits: Limits::default(),
            pipeline: None,
            convert: false,
            bundles: true,
            checked: cfg!(debug_assertions),
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
    /// The index in `Emitted::functions` of the function whose place it is.
    pub function: u32,
    /// In its block, where a pipeliner decided.
    pub cycle: Option<u32>,
}

/// The report on a compiled function.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    pub name: SmolStr,
    /// Bytes of its frame.
    pub frame: u64,
    /// Values that live in memory for want of registers.
    pub spilled: u32,
    /// Its innermost loops, where pipelining was asked for.
    pub loops: Vec<LoopReport>,
    /// The reason why nothing is pipelined although it could be.
    pub fallen_back: Option<Refusal>,
    /// Its branches outside of pipelined loops that became predicates.
    pub conversions: Conversions,
    pub bundling: Bundling,
}

/// The verdict of the checker of bundles on a function's blocks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bundling {
    /// Blocks whose bundles are right.
    pub checked: u32,
    pub unsound: Vec<Unbundled>,
}

/// A block whose bundles were wrong, and which is one instruction a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unbundled {
    /// The place of its first instruction.
    pub loc: Loc,
    pub violation: Violation,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Emitted {
    pub text: String,
    pub lines: Vec<Line>,
    /// The lines of instructions, the numbers of their functions, and the weights of their blocks: the executions that were
    /// given, or an estimate.
    pub executions: Vec<(u32, u32, f64)>,
    pub functions: Vec<Report>,
}

impl Emitted {
    /// Cycles that the blocks of a function take as they stand, each as often as it is executed: caches hit, branches are predicted, and a
    /// block begins when all that stands in front of it has finished.
    #[must_use]
    pub fn cycles(&self, function: u32, machine: &Epic) -> f64 {
        let document = syntax::ia64::parse(&self.text);
        let listing = listing(&document, &self.text);
        let lines = syntax::LineIndex::new(&self.text);
        let weight = |item: u32| {
            let statement = listing.items[item as usize].statement;
            let start = document.statements[statement as usize].span.start;
            let line = lines.line_column(start).0;
            let found = self.executions.binary_search_by_key(&line, |it| it.0);
            let (_, of, weight) = self.executions[found.ok()?];
            (of == function).then_some(weight)
        };
        let blocks = listing.timing(machine).into_iter();
        let cycles = blocks.filter_map(|groups| {
            let (first, last) = (groups.first()?, groups.last()?);
            // Fillers have no weight of their own.
            let own = (first.items.start..last.items.end).find_map(weight)?;
            Some(own * f64::from(last.cycle + last.taken))
        });
        cycles.sum()
    }
}

/// The names of a module's functions in the text, each another.
pub(super) fn names(module: &Module) -> Vec<SmolStr> {
    let plain = |name: &str| -> String {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let mut out: String = name
            .chars()
            .map(|letter| if fits(letter) { letter } else { '_' })
            .collect();
        if !out.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_') {
            out.insert(0, '_');
        }
        out
    };
    let mut known: FxHashMap<String, usize> = FxHashMap::default();
    let mut name = |function: &ir::Function| {
        let name = plain(&function.name);
        let before = known.entry(name.clone()).or_default();
        *before += 1;
        match *before - 1 {
            0 => name.into(),
            more => format_smolstr!("{name}_{more}"),
        }
    };
    module.functions.iter().map(&mut name).collect()
}

/// The assembly of a verified module.
///
/// # Errors
/// Everything that has no form, with its place; nothing is emitted then.
pub fn emit(module: &Module, machine: &Epic, options: &Options) -> Result<Emitted, Vec<Refused>> {
    let whole = (0..module.functions.len()).collect();
    let (mut refused, emitted) = emit_parts(module, &[whole], machine, options);
    match refused.pop() {
        Some(reasons) if !reasons.is_empty() => Err(reasons),
        _ => Ok(emitted),
    }
}

/// The assembly of several modules, the items of a file, as one text: functions that are the same are there once. Returns the
/// reasons why a module is left out besides, by module: everything in it that has no form.
pub fn emit_items(
    modules: &[&Module],
    machine: &Epic,
    options: &Options,
) -> (Vec<Vec<Refused>>, Emitted) {
    let (module, parts) = merge(modules.iter().copied());
    emit_parts(&module, &parts, machine, options)
}

/// Emits those `parts` of a module that have a form, each some of its functions by number.
fn emit_parts(
    module: &Module,
    parts: &[Vec<usize>],
    machine: &Epic,
    options: &Options,
) -> (Vec<Vec<Refused>>, Emitted) {
    let names = names(module);
    let lower = |number: usize| {
        let function = &module.functions[number];
        // Data alone.
        if function.layout.is_empty() {
            let unknown = super::data::unknown(function);
            return match unknown.is_empty() {
                true => Ok(None),
                false => Err(unknown),
            };
        }
        let lowered = best(module, number, &names, machine, options)?;
        match too_large(&lowered) {
            Some(refused) => Err(vec![refused]),
            None => Ok(Some(lowered)),
        }
    };
    let mut all = parallel::each(module.functions.len(), lower);
    let refused: Vec<Vec<Refused>> = parts
        .iter()
        .map(|part| {
            let reasons = part.iter().filter_map(|&number| all[number].as_ref().err());
            reasons.flatten().cloned().collect()
        })
        .collect();
    let mut chosen = Vec::new();
    let mut known = vec![false; module.functions.len()];
    for (part, reasons) in parts.iter().zip(&refused) {
        for &number in part.iter().filter(|_| reasons.is_empty()) {
            if !std::mem::replace(&mut known[number], true) {
                chosen.push(number);
            }
        }
    }
    let mut writer = Writer::default();
    writer.assembly.line("\t.text");
    let mut functions = Vec::new();
    for &number in &chosen {
        if let Ok(Some(lowered)) = std::mem::replace(&mut all[number], Ok(None)) {
            functions.push(writer.function(lowered));
        }
    }
    let data = super::data::data(chosen.iter().map(|&number| &module.functions[number]));
    if !data.is_empty() {
        writer.assembly.line(data.trim_end_matches('\n'));
    }
    let wanted = Wanted {
        decisions: options.bundles.then_some(options.decisions),
        checked: options.checked,
    };
    let layout = writer.assembly.lay(machine, wanted);
    (refused, writer.assembly.print(layout, functions))
}

/// Bytes of spilled registers whose marks are told apart: `ar.unat` has a bit for each of 64 words, by six bits of their
/// addresses (Intel, *Itanium Architecture Software Developer's Manual*, volume 1, section 4.4.4.6).
const MARKED: u32 = 512;

/// The reason why the frame of a function is no frame.
fn too_large(lowered: &Lowered) -> Option<Refused> {
    let bytes = Frame::of(&lowered.function, &lowered.allocation).bytes;
    (bytes > MOST).then_some(Refused {
        reason: Refusal::Frame { bytes, most: MOST },
        loc: Loc::NONE,
    })
}

/// The report on a function without its text.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Examined {
    /// Its innermost loops, also where it has no code: as they would be with it.
    pub loops: Vec<LoopReport>,
    /// The reason why nothing is pipelined although it could be.
    pub fallen_back: Option<Refusal>,
    /// The reasons why there is no code.
    pub refused: Vec<Refused>,
}

/// The innermost loops of a module's first function. Where it has no code, a loop that holds an operation without a form says
/// so; the others are scheduled.
#[must_use]
pub fn examine(module: &Module, machine: &Epic, options: &Options) -> Examined {
    if module.functions.is_empty() {
        return Examined::default();
    }
    let names = names(module);
    match lowered(module, 0, &names, machine, options) {
        Ok(lowered) => Examined {
            refused: too_large(&lowered).into_iter().collect(),
            loops: lowered.loops,
            fallen_back: lowered.fallen_back,
        },
        Err(refused) => Examined {
            loops: bounds(module, &names, machine, options),
            fallen_back: None,
            refused,
        },
    }
}

fn bounds(
    module: &Module,
    names: &[SmolStr],
    machine: &Epic,
    options: &Options,
) -> Vec<LoopReport> {
    let options = Options {
        bounds: true,
        ..options.clone()
    };
    let source = prepared(&module.functions[0], &options);
    let Ok(mut function) = select(module, &source, (0, names), &options) else {
        return Vec::new();
    };
    allocate::simplify(&mut function);
    let wanted = |places: &[Loc]| request(&source.loops, places, options.pipeline);
    pipeline_each(&mut function, machine, &wanted)
}

/// A function as selection takes it.
fn prepared(source: &ir::Function, options: &Options) -> ir::Function {
    let mut source = source.clone();
    crate::expand::expand(&mut source);
    if options.contract {
        super::contract::contract(&mut source);
    }
    crate::prepare::prepare(&mut source, options.wraps);
    source
}

/// One function on the machine's registers.
#[derive(Clone)]
struct Lowered {
    function: Function,
    allocation: Allocation,
    loops: Vec<LoopReport>,
    fallen_back: Option<Refusal>,
    conversions: Conversions,
    /// Other files do not name it.
    internal: bool,
}

/// One function, with those branches converted that gain in its code where executions of its blocks are known: the estimate behind a
/// conversion sees neither registers nor bundles.
fn best(
    module: &Module,
    number: usize,
    names: &[SmolStr],
    machine: &Epic,
    options: &Options,
) -> Result<Lowered, Vec<Refused>> {
    let converted = lowered(module, number, names, machine, options)?;
    let mut made = converted.conversions.made.iter();
    let counted = options.weights.contains_key(&module.functions[number].name);
    if !counted || made.all(|it| it.asked) {
        return Ok(converted);
    }
    let plain = Options {
        convert: false,
        ..options.clone()
    };
    let plain = lowered(module, number, names, machine, &plain)?;
    let spared: f64 = converted.conversions.made.iter().map(|it| it.spared).sum();
    let kept: f64 = plain.conversions.made.iter().map(|it| it.spared).sum();
    let cycles = |lowered: &Lowered| {
        let mut writer = Writer::default();
        let report = writer.function(lowered.clone());
        let wanted = Wanted {
            decisions: options.bundles.then_some(DECISIONS),
            checked: false,
        };
        let layout = writer.assembly.lay(machine, wanted);
        writer
            .assembly
            .print(layout, vec![report])
            .cycles(0, machine)
    };
    let before = cycles(&plain) + (spared - kept) * penalty(machine);
    Ok(match cycles(&converted) < before {
        true => converted,
        false => plain,
    })
}

fn lowered(
    module: &Module,
    number: usize,
    names: &[SmolStr],
    machine: &Epic,
    options: &Options,
) -> Result<Lowered, Vec<Refused>> {
    let source = prepared(&module.functions[number], options);
    let mut function = select(module, &source, (number, names), options)?;
    allocate::simplify(&mut function);
    let plain = function.clone();
    let wanted = |places: &[Loc]| request(&source.loops, places, options.pipeline);
    let mut loops = pipeline_each(&mut function, machine, &wanted);
    let mut conversions = if_converted(&mut function, &source, machine, options);
    allocate::jumps(&mut function);
    let mut fallen_back = None;
    let allocated = |function: &mut Function| {
        let allocation = allocate::allocate(function, machine, &options.limits)?;
        let kept = allocation.spilled <= MARKED || !Ia64::marks(function);
        kept.then_some(allocation.clone()).ok_or(Refusal::Marks {
            bytes: allocation.spilled,
            most: MARKED,
        })
    };
    let allocation = match allocated(&mut function) {
        Ok(allocation) => allocation,
        // Without what was scheduled there is always a way.
        Err(reason) => {
            function = plain;
            for each in &mut loops {
                each.pipelined = false;
            }
            let lost = conversions.made.drain(..).filter(|made| made.asked);
            let lost = lost.map(|made| (made.loc, hammocks::Kept::Registers));
            conversions.kept.extend(lost);
            fallen_back = Some(reason);
            allocated(&mut function).map_err(|reason| {
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
        conversions,
        internal: source.internal,
    })
}

/// Cycles of a misprediction, of processors whose table says nothing of it.
const PENALTY: f64 = 6.0;
/// Subsets that are looked at in each block where two codes are compared.
const DECISIONS: usize = 20;

fn penalty(machine: &Epic) -> f64 {
    let predictor = machine.predictor();
    predictor.map_or(PENALTY, |predictor| f64::from(predictor.penalty))
}

/// Converts the branches of which the source asks it (`[flatten]`, `#pragma lockstep if_convert`), and others where that is asked for.
fn if_converted(
    function: &mut Function,
    source: &ir::Function,
    machine: &Epic,
    options: &Options,
) -> Conversions {
    let blocks = source.layout.iter().map(|&block| &source.blocks[block]);
    let terms = Terms {
        asked: blocks
            .filter(|block| block.branch == BranchKind::Flattened)
            .map(|block| block.loc)
            .collect(),
        gaining: options.convert,
        counted: options.weights.contains_key(&source.name),
        penalty: penalty(machine),
    };
    let check = |before: &Function, after: &Function, head: u32, ends: &[u32]| {
        let verdict = match options.checked {
            true => converted::check(before, after, head, ends),
            false => Ok(0),
        };
        debug_assert!(
            verdict.is_ok(),
            "{}, block {head}: {verdict:?}",
            before.name
        );
        verdict.is_ok()
    };
    let cycles = |function: &Function, blocks: &[u32]| {
        let region = Region {
            header: blocks[0],
            blocks: blocks.to_vec(),
            independent: false,
        };
        f64::from(pipeline::straight::cycles(function, &region, machine))
    };
    let judge = Judge {
        cycles: &cycles,
        check: &check,
    };
    hammocks::convert(function, &terms, &judge)
}

/// Functions as the instructions of a file.
#[derive(Default)]
struct Writer {
    assembly: Assembly,
    /// The function that is written.
    now: u32,
}

impl Writer {
    fn function(&mut self, lowered: Lowered) -> Report {
        let Lowered {
            function,
            allocation,
            loops,
            fallen_back,
            conversions,
            internal,
        } = lowered;
        let (function, allocation) = (&function, &allocation);
        let frame = Frame::of(function, allocation);
        let name = &function.name;
        let own = reference(name);
        let before = self.assembly.instructions.len();
        self.assembly.line("\t.align 32");
        // What is not global is the file's own.
        if !internal {
            self.assembly.line(format!("\t.global {own}"));
        }
        self.assembly.line(format!("\t.type {own}, @function"));
        self.assembly.line(format!("\t.proc {own}"));
        self.assembly.label(name);
        self.assembly.line("\t.prologue");
        let register = |register: Virtual| allocation.registers[register.0 as usize];
        let label = |block: u32| format!(".L{name}_{block}");
        let print = Print {
            register: &register,
            label: &label,
            function: self.now,
        };
        let (prologue, floats) = frame.prologue();
        for (operation, directives) in &prologue {
            let mut instruction = print.instruction(operation, Loc::NONE, None);
            instruction.prologue = Some(directives.clone());
            self.assembly.instruction(instruction);
        }
        for operation in &floats {
            let instruction = print.instruction(operation, Loc::NONE, None);
            self.assembly.instruction(instruction);
        }
        for operation in &allocation.arrivals {
            self.placed(operation, &frame, &print);
        }
        let mut targets = vec![false; function.blocks.len()];
        for operand in function
            .blocks
            .iter()
            .flat_map(|block| &block.operations)
            .flat_map(|it| &it.sources)
        {
            if let Operand::Block(to) = operand {
                targets[*to as usize] = true;
            }
        }
        let mut known = before;
        let entered = function.blocks.first().map_or(1.0, |block| block.weight);
        known = self.executed(known, entered);
        for (at, block) in function.blocks.iter().enumerate() {
            if targets[at] {
                self.assembly.label(&label(at as u32));
            }
            if !block.cycles.is_empty() && block.cycles.len() == block.operations.len() {
                let mut operations = block.operations.iter();
                let groups = block.cycles.chunk_by(|left, right| left == right);
                self.assembly.decided(groups.map(|group| {
                    let own = operations.by_ref().take(group.len());
                    own.map(|it| print.instruction(it, it.loc, Some(group[0])))
                        .collect()
                }));
                known = self.executed(known, block.weight);
                continue;
            }
            for operation in &block.operations {
                if operation.branch() == Some(Branch::Return) {
                    for each in &frame.epilogue() {
                        let instruction = print.instruction(each, operation.loc, None);
                        self.assembly.instruction(instruction);
                    }
                }
                self.placed(operation, &frame, &print);
            }
            known = self.executed(known, block.weight);
        }
        self.assembly.line(format!("\t.endp {own}"));
        self.now += 1;
        Report {
            conversions,
            name: name.clone(),
            frame: frame.bytes,
            spilled: allocation.in_memory,
            loops,
            fallen_back,
            bundling: Bundling::default(),
        }
    }

    /// Instructions from this one on are executed so often; returns how many there are.
    fn executed(&mut self, from: usize, weight: f64) -> usize {
        let own = &mut self.assembly.instructions[from..];
        own.iter_mut().for_each(|it| it.executions = weight);
        self.assembly.instructions.len()
    }

    fn placed(&mut self, operation: &Operation, frame: &Frame, print: &Print<'_>) {
        for each in frame.placed(operation).operations() {
            let instruction = print.instruction(each, each.loc, None);
            self.assembly.instruction(instruction);
        }
    }
}

/// Makes instructions of a function's operations.
struct Print<'a> {
    register: &'a dyn Fn(Virtual) -> Reg,
    label: &'a dyn Fn(u32) -> String,
    function: u32,
}

impl Print<'_> {
    fn instruction(&self, operation: &Operation, loc: Loc, cycle: Option<u32>) -> Instruction {
        let inst = executed(operation, self.register);
        Instruction {
            text: operation::text(operation, self.register, self.label),
            is_opaque: inst.is_err(),
            inst: inst.unwrap_or_else(|_| Inst::opaque()),
            loc,
            cycle,
            function: self.function,
            executions: 0.0,
            prologue: None,
        }
    }
}
