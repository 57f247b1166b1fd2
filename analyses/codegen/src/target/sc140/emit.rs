//! C functions as SC140 assembly that follows the calling conventions.
//!
//! ```text
//! short f(short *x, short n)      _f: the address in r0, the number in d1, the result in d0
//! ```
//!
//! Selection; innermost loops that count become loops of the hardware, and are pipelined where that is asked for and registers
//! suffice; allocation; frames; execution sets; delay slots. Code counts on the mode that clamps sums to 32 bits, on products that are
//! clamped before they are accumulated, and on rounding that takes halves up, as start-up code leaves them.
//!
//! Source: the conventions of Freescale's *SC100 Application Binary Interface*, in excerpts.

pub use super::bounds::{CriticalLink, LoopBounds};
pub use super::loops::{LoopReport, Reason, Remedy, Unpipelined};
pub use super::obstacles::{Holder, Lengthened, Obstacle, RegisterObstacle};
pub use super::spilled::{SpillCost, SpilledValue};

use super::code::{Allocation, Function, Operand, Operation};
use super::frame::Frame;
use super::machine::Limits;
use super::obstacles::Finished;
use super::placed::{self, Placed, cycles};
use super::print::Printer;
use super::ways::{Selected, shortest};
use super::{data, delay, division, loops, select, spilled, symbols};
use crate::allocate::Traffic;
use crate::legalize::{Words, legalize};
use crate::machine::sets::Sets;
use crate::merge::merge;
use crate::parallel;
use crate::refusal::Refused;

use ir::Module;
use isa::Branch;
use isa::sc140::Sc140;
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::fmt::Write;

type Block = crate::mir::Block<Sc140>;

#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// Loops of the hardware overlap their iterations.
    pub pipeline: bool,
    /// Takes away loads and stores of spilled values.
    pub reduce_spills: bool,
    /// Tells for each spilled value what keeps the registers from holding it.
    pub explain_spills: bool,
    /// Registers of each file that are left out.
    pub fewer: usize,
    /// Gives shifts by the width or more, which the IR leaves open, the reference interpreter's values.
    pub total: bool,
    /// The most significant byte of a number is at its lowest address: a strap of the chip.
    pub big_endian: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            pipeline: true,
            reduce_spills: true,
            explain_spills: false,
            fewer: 0,
            total: false,
            big_endian: true,
        }
    }
}

/// The outcome of a function.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    pub name: SmolStr,
    /// Values that live in memory for want of registers.
    pub spilled: u32,
    /// Loads and stores of such values: those that the allocator asked for, and those that are left.
    pub transfers: [Traffic; 2],
    /// Sets of an execution, by the estimated executions of blocks.
    pub cycles: f64,
    pub loops: Vec<LoopReport>,
    /// The values that the code stores into the frame for want of registers, or loads from there.
    pub spills: Vec<SpilledValue>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Emitted {
    pub text: String,
    pub functions: Vec<Report>,
    /// The lines of the text that hold instructions, ascending.
    pub lines: Vec<Line>,
}

/// A line with an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    /// From 0.
    pub line: u32,
    /// An index into `Emitted::functions`.
    pub function: u32,
    /// `Loc::NONE` of what saves and restores registers.
    pub loc: ir::Loc,
    /// The set of its block, from 0.
    pub cycle: u32,
    /// The loop that it is the kernel of, an index into the function's loops, and its stage there.
    pub kernel: Option<(u32, u32)>,
}

/// The assembly of a verified module.
///
/// # Errors
/// Everything that has no form, with its place; nothing is emitted then.
pub fn emit(module: &Module, sets: &Sets, options: &Options) -> Result<Emitted, Vec<Refused>> {
    alone(emit_all(&[module], sets, options, None))
}

/// A function in front of allocation.
#[derive(Clone, Copy, Debug)]
pub struct Unplaced<'a> {
    pub function: &'a Function,
    pub sets: &'a Sets,
    /// `spills`: the registers do not suffice.
    pub limits: Limits,
}

/// An allocator: the function with its spill code, and the registers of its values; `None`: those that `emit` gives.
pub type Placer<'p> = dyn FnMut(&Unplaced<'_>) -> Option<(Function, Allocation)> + 'p;

/// The assembly of a verified module whose values get their places otherwise; for comparisons.
///
/// # Errors
/// Those of `emit`.
pub fn emit_placed(
    module: &Module,
    sets: &Sets,
    options: &Options,
    placer: &mut Placer<'_>,
) -> Result<Emitted, Vec<Refused>> {
    alone(emit_all(&[module], sets, options, Some(placer)))
}

/// The outcome of one module.
fn alone((mut refused, emitted): (Vec<Vec<Refused>>, Emitted)) -> Result<Emitted, Vec<Refused>> {
    match refused.pop() {
        Some(reasons) if !reasons.is_empty() => Err(reasons),
        _ => Ok(emitted),
    }
}

/// The assembly of several modules, the items of a file, as one text: functions that are the same are there once. Returns the
/// reasons why a module is left out besides, by module: everything in it that has no form.
pub fn emit_items(
    modules: &[&Module],
    sets: &Sets,
    options: &Options,
) -> (Vec<Vec<Refused>>, Emitted) {
    emit_all(modules, sets, options, None)
}

fn emit_all(
    modules: &[&Module],
    sets: &Sets,
    options: &Options,
    placer: Option<&mut Placer<'_>>,
) -> (Vec<Vec<Refused>>, Emitted) {
    let (mut module, mut parts) = merge(modules.iter().copied());
    let own = module.functions.len();
    let words = Words {
        high_first: options.big_endian,
        total: options.total,
        accumulators: true,
        lacks: select::lacks,
    };
    legalize(&mut module, words);
    for part in &mut parts {
        with_routines(&module, own, part);
    }
    let names: Vec<SmolStr> = module
        .functions
        .iter()
        .map(|function| function.name.clone())
        .collect();
    let make = |number: usize, placer: &mut Placer<'_>| {
        let function = &module.functions[number];
        let data = data::data(function, options.big_endian)?;
        let lowered = match function.layout.is_empty() {
            true => None,
            false => {
                let mut made = lowered(&module, number, &names, (sets, options), placer)?;
                made.routine = number >= own;
                Some(made)
            }
        };
        Ok(Made { lowered, data })
    };
    let count = module.functions.len();
    let made: Vec<Result<Made, Vec<Refused>>> = match placer {
        Some(placer) => (0..count).map(|number| make(number, placer)).collect(),
        None => parallel::each(count, |number| make(number, &mut |_| None)),
    };
    let refused: Vec<Vec<Refused>> = parts
        .iter()
        .map(|part| {
            let reasons = part
                .iter()
                .filter_map(|&number| made[number].as_ref().err());
            reasons.flatten().cloned().collect()
        })
        .collect();
    // What some module without a refusal holds.
    let mut chosen: Vec<usize> = parts
        .iter()
        .zip(&refused)
        .filter(|(_, reasons)| reasons.is_empty())
        .flat_map(|(part, _)| part.iter().copied())
        .collect();
    chosen.sort_unstable();
    chosen.dedup();
    let chosen: Vec<&Made> = chosen
        .into_iter()
        .filter_map(|number| made[number].as_ref().ok())
        .collect();
    let lowered = || chosen.iter().filter_map(|made| made.lowered.as_ref());
    let mut text = String::from("    SECTION .text LOCAL\n");
    let mut lines = Vec::new();
    for (number, lowered) in (0..).zip(lowered()) {
        let mut listing = Listing {
            function: number,
            line: text.matches('\n').count() as u32,
            read: text.len(),
            text: &mut text,
            lines: &mut lines,
        };
        lowered.print(&mut listing);
    }
    let blocks = lowered().flat_map(|lowered| &lowered.function.blocks);
    let operations = blocks.flat_map(|block| &block.operations);
    text.push_str(&division::called(operations));
    text.push_str("    ENDSEC\n");
    let objects: BTreeMap<&SmolStr, &String> = chosen.iter().flat_map(|made| &made.data).collect();
    for object in objects.values() {
        text.push_str(object);
    }
    let functions = lowered()
        .filter(|lowered| !lowered.routine)
        .map(|lowered| Report {
            name: lowered.name.clone(),
            spilled: lowered.allocation.in_memory,
            transfers: [lowered.given, lowered.allocation.traffic],
            cycles: cycles(&lowered.function, &lowered.allocation),
            loops: lowered.loops.clone(),
            spills: lowered.spills.clone(),
        });
    let emitted = Emitted {
        functions: functions.collect(),
        text,
        lines,
    };
    (refused, emitted)
}

/// The routines that functions of a module call, which stand behind its `own` ones, go with them.
fn with_routines(module: &Module, own: usize, part: &mut Vec<usize>) {
    let mut at = 0;
    while let Some(&number) = part.get(at) {
        for data in module.functions[number].insts.values() {
            if let ir::Op::Call(callee) = data.op
                && callee as usize >= own
                && !part.contains(&(callee as usize))
            {
                part.push(callee as usize);
            }
        }
        at += 1;
    }
}

/// A function, if it has a body, and the objects that it names and this file defines, each by its name as directives.
struct Made {
    lowered: Option<Lowered>,
    data: BTreeMap<SmolStr, String>,
}

/// A function on the machine's registers, in sets.
struct Lowered {
    name: SmolStr,
    /// Other files do not name it.
    internal: bool,
    /// It is a function of the run-time library.
    routine: bool,
    function: Function,
    allocation: Allocation,
    /// The transfers that the allocator asked for.
    given: Traffic,
    loops: Vec<LoopReport>,
    spills: Vec<SpilledValue>,
}

/// The text of functions so far, with the places of its lines.
struct Listing<'t> {
    function: u32,
    text: &'t mut String,
    lines: &'t mut Vec<Line>,
    /// Bytes of the text whose lines are counted, and how many those are.
    read: usize,
    line: u32,
}

impl Listing<'_> {
    /// Writes a set; `kernel` gives the loop and the stage of an operation that is a part of a kernel.
    fn set(
        &mut self,
        printer: &Printer<'_>,
        operations: &[&Operation],
        cycle: u32,
        kernel: &dyn Fn(&Operation) -> Option<(u32, u32)>,
    ) {
        self.line += self.text[self.read..].matches('\n').count() as u32;
        self.read = self.text.len();
        let order = printer.set(operations, self.text);
        let first = self.line + u32::from(order.len() > 1);
        self.lines
            .extend((first..).zip(order).map(|(line, operation)| Line {
                line,
                function: self.function,
                loc: operation.loc,
                cycle,
                kernel: kernel(operation),
            }));
    }
}

fn lowered(
    module: &Module,
    number: usize,
    names: &[SmolStr],
    (sets, options): (&Sets, &Options),
    placer: &mut Placer<'_>,
) -> Result<Lowered, Vec<Refused>> {
    let mut source = module.functions[number].clone();
    crate::prepare::widen(&mut source);
    crate::prepare::until_equal(&mut source);
    crate::prepare::prepare(&mut source, false);
    crate::prepare::compare(&mut source);
    crate::prepare::choose(&mut source, false);
    crate::prepare::scale(&mut source);
    let named = (number, names);
    let (made, placed) = shortest(module, named, source, (sets, options), placer)?;
    let Selected {
        source,
        examined,
        mut reports,
        ..
    } = made;
    let Placed {
        function,
        allocation,
        given,
        reduced,
        ..
    } = placed;
    let finished = Finished {
        function: &function,
        allocation: &allocation,
        sets,
        limits: Limits {
            spills: false,
            fewer: options.fewer,
        },
        reduced,
    };
    let spills = spilled::spilled(&finished, &source, options.explain_spills);
    let mut function = function;
    delay::fill(&mut function, &allocation, sets);
    loops::measure(&function, &mut reports, sets);
    let loops = loops::reported(examined, reports, &function, sets);
    Ok(Lowered {
        name: names[number].clone(),
        internal: source.internal,
        routine: false,
        function,
        allocation,
        given,
        loops,
        spills,
    })
}

impl Lowered {
    fn print(&self, listing: &mut Listing<'_>) {
        let frame = Frame::of(&self.function, &self.allocation);
        let own = symbols::plain(&self.name);
        let printer = Printer {
            allocation: &self.allocation,
            frame: &frame,
            name: own.strip_prefix('_').unwrap_or(&own),
        };
        if !self.internal {
            let _ = writeln!(listing.text, "    GLOBAL {own}");
        }
        let _ = writeln!(listing.text, "    ALIGN 16\n{own}");
        let kernels = self.kernels();
        for (number, block) in self.function.blocks.iter().enumerate() {
            let is_loop = block
                .operations
                .last()
                .is_some_and(|last| last.branch() == Some(Branch::Counted));
            let index = super::code::LOOP;
            // A loop begins where no fetch ends within its first set.
            let number = number as u32;
            if is_loop || self.is_jumped_back_to(number) {
                listing.text.push_str("    FALIGN\n");
            }
            if is_loop {
                let _ = writeln!(listing.text, "    LOOPSTART{index}");
            }
            if !block.operations.is_empty() || self.is_target(number) {
                let _ = writeln!(listing.text, "{}", printer.label(number));
            }
            let kernel = kernels.iter().find(|(at, _)| *at == number);
            self.block(block, kernel.map(|(_, own)| *own), &printer, listing);
            if is_loop {
                let _ = writeln!(listing.text, "    LOOPEND{index}");
            }
            // What goes on into the next block waits for the last moves of this one.
            if placed::ends_late(&self.function, (number as usize, block), &self.allocation) {
                listing.text.push_str("    nop\n");
            }
        }
    }

    /// Returns true if something names the block.
    fn is_target(&self, block: u32) -> bool {
        let all = self
            .function
            .blocks
            .iter()
            .flat_map(|block| &block.operations);
        let mut sources = all.flat_map(|operation| &operation.sources);
        sources.any(|source| *source == Operand::Block(block))
    }

    /// Returns true if a block behind this one in the layout, or this one itself, jumps here.
    fn is_jumped_back_to(&self, block: u32) -> bool {
        let behind = &self.function.blocks[block as usize..];
        let mut sources = behind
            .iter()
            .flat_map(|block| &block.operations)
            .filter(|operation| operation.branch() == Some(Branch::Jump))
            .flat_map(|operation| &operation.sources);
        sources.any(|source| *source == Operand::Block(block))
    }

    /// The blocks that are kernels, with their loops.
    fn kernels(&self) -> Vec<(u32, u32)> {
        let mut blocks = loops::counted(&self.function).into_iter();
        let mut out = Vec::new();
        for (number, report) in (0..).zip(&self.loops).filter(|(_, report)| report.counted) {
            let own = blocks.next();
            if report.is_pipelined() {
                out.extend(own.map(|own| (own, number)));
                if !report.whole {
                    blocks.next();
                }
            }
        }
        out
    }

    fn block(
        &self,
        block: &Block,
        kernel: Option<u32>,
        printer: &Printer<'_>,
        listing: &mut Listing<'_>,
    ) {
        let Some(&last) = block.cycles.last() else {
            return;
        };
        let stage = |operation: &Operation| {
            let own = kernel?;
            let mut all = block.operations.iter();
            let at = all.position(|known| std::ptr::eq(known, operation))?;
            let stages = &self.loops[own as usize].kernel_stages;
            Some((own, *stages.get(at)?))
        };
        for cycle in 0..=last {
            let rows = block.operations.iter().zip(&block.cycles);
            let set: Vec<&Operation> = rows
                .filter(|(_, at)| **at == cycle)
                .map(|(operation, _)| operation)
                .collect();
            listing.set(printer, &set, cycle, &stage);
        }
        (0..placed::waits_for_loop(&self.function, block))
            .for_each(|_| listing.text.push_str("    nop\n"));
        debug_assert!(block.operations.len() == block.cycles.len());
    }
}
