//! C functions as SC140 assembly that follows the calling conventions.
//!
//! ```text
//! short f(short *x, short n)      _f: the address in r0, the number in d1, the result in d0
//! ```
//!
//! Selection; innermost loops that count become loops of the hardware, and are pipelined where that is asked for and registers
//! suffice; allocation; execution sets; frames. Code counts on the mode that clamps sums to 32 bits, on products that are
//! clamped before they are accumulated, and on rounding that takes halves up, as start-up code leaves them.
//!
//! Source: the conventions of Freescale's *SC100 Application Binary Interface*, in excerpts.

pub use super::loops::LoopReport;

use super::code::{Allocation, Function, Name, Operand, Operation};
use super::frame::Frame;
use super::machine::{Limits, locate};
use super::print::Printer;
use super::{counted, data, loops, runtime, select};
use crate::allocate;
use crate::machine::sets::Sets;
use crate::mir::Scheduled as _;
use crate::pack::pack;
use crate::predicate::flag;
use crate::refusal::Refused;
use ir::Module;
use isa::Branch;
use isa::sc140::{Opcode, Sc140};
use smol_str::SmolStr;
use std::fmt::Write;

#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// Loops of the hardware overlap their iterations.
    pub pipeline: bool,
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
    pub loops: Vec<LoopReport>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Emitted {
    pub text: String,
    pub functions: Vec<Report>,
}

/// The assembly of a verified module.
///
/// # Errors
/// Everything that has no form, with its place; nothing is emitted then.
pub fn emit(module: &Module, sets: &Sets, options: &Options) -> Result<Emitted, Vec<Refused>> {
    let names: Vec<SmolStr> = module
        .functions
        .iter()
        .map(|one| one.name.clone())
        .collect();
    let mut refused = Vec::new();
    let mut text = String::from("    SECTION .text LOCAL\n");
    let mut functions = Vec::new();
    let mut widths = data::Widths::default();
    for (number, function) in module.functions.iter().enumerate() {
        if function.layout.is_empty() {
            continue;
        }
        match lowered(module, number, &names, sets, options) {
            Ok(lowered) => {
                lowered.print(&mut text);
                widths.add(&lowered.function);
                functions.push(Report {
                    name: names[number].clone(),
                    spilled: lowered.allocation.in_memory,
                    loops: lowered.loops,
                });
            }
            Err(reasons) => refused.extend(reasons),
        }
    }
    text.push_str(&runtime::called(&text));
    text.push_str("    ENDSEC\n");
    match data::data(&module.functions, &widths, options.big_endian) {
        Ok(data) => text.push_str(&data),
        Err(reasons) => refused.extend(reasons),
    }
    match refused.is_empty() {
        true => Ok(Emitted { text, functions }),
        false => Err(refused),
    }
}

/// A function on the machine's registers, in sets.
struct Lowered {
    name: SmolStr,
    function: Function,
    allocation: Allocation,
    loops: Vec<LoopReport>,
}

fn lowered(
    module: &Module,
    number: usize,
    names: &[SmolStr],
    sets: &Sets,
    options: &Options,
) -> Result<Lowered, Vec<Refused>> {
    let mut source = module.functions[number].clone();
    crate::prepare::widen(&mut source);
    crate::prepare::prepare(&mut source, false);
    let mut plain = select::select(module, &source, (number, names), options.total)?;
    allocate::simplify(&mut plain);
    counted::count(&mut plain);
    flag::number(&mut plain);
    let fewer = options.fewer;
    let limits = |spills| Limits { spills, fewer };
    let mut function = plain.clone();
    let mut reports = match options.pipeline {
        true => loops::pipeline(&mut function, sets),
        false => Vec::new(),
    };
    if !allocate::fits(&function, sets, &limits(false)) {
        // What overlaps iterations is not worth a spill.
        function = plain;
        for report in &mut reports {
            (report.stages, report.copies) = (1, 1);
            let reason = || SmolStr::new_static("registers do not suffice");
            report.refused.get_or_insert_with(reason);
        }
    }
    let spills = !allocate::fits(&function, sets, &limits(false));
    let allocation = allocate::allocate(&mut function, sets, &limits(spills));
    let allocation = allocation.map_err(|reason| {
        let loc = ir::Loc::NONE;
        vec![Refused { reason, loc }]
    })?;
    allocate::jumps(&mut function);
    name(&mut function, &allocation);
    packed(&mut function, &allocation, sets);
    Ok(Lowered {
        name: names[number].clone(),
        function,
        allocation,
        loops: reports,
    })
}

/// Operations name the registers that they were given.
fn name(function: &mut Function, allocation: &Allocation) {
    let operations = function
        .blocks
        .iter_mut()
        .flat_map(|block| &mut block.operations);
    for operation in operations {
        for operand in operation.targets.iter_mut().chain(&mut operation.sources) {
            if let Operand::Register(name) | Operand::Address(name) = operand
                && let Name::Virtual(register) = *name
            {
                *name = Name::Fixed(allocation.register(register));
            }
        }
    }
}

/// Sets of all blocks: loops first, whose length says how they are enabled.
fn packed(function: &mut Function, allocation: &Allocation, sets: &Sets) {
    let own = loops::counted(function);
    let mut aside: Vec<(usize, Vec<Operation>)> = Vec::new();
    for (at, block) in function.blocks.iter_mut().enumerate() {
        if !own.contains(&(at as u32)) && block.cycles.is_empty() {
            aside.push((at, std::mem::take(&mut block.operations)));
        }
    }
    pack(function, sets, &locate(allocation));
    for (at, operations) in aside {
        function.blocks[at].operations = operations;
    }
    loops::settle(function);
    pack(function, sets, &locate(allocation));
}

impl Lowered {
    fn print(&self, out: &mut String) {
        let frame = Frame::of(&self.function, &self.allocation);
        let printer = Printer {
            allocation: &self.allocation,
            frame: &frame,
            name: &self.name,
        };
        let _ = writeln!(out, "    GLOBAL _{0}\n    ALIGN 16\n_{0}", self.name);
        let several = |sets: &[Vec<Operation>], out: &mut String| {
            for set in sets {
                let set: Vec<&Operation> = set.iter().collect();
                printer.set(&set, out);
            }
        };
        several(&frame.prologue(), out);
        let arrivals: Vec<Vec<Operation>> = self
            .allocation
            .arrivals
            .iter()
            .map(|one| vec![one.clone()])
            .collect();
        several(&arrivals, out);
        for (number, block) in self.function.blocks.iter().enumerate() {
            let is_loop = block
                .operations
                .last()
                .is_some_and(|last| last.branch() == Some(Branch::Counted));
            let index = super::code::LOOP;
            if is_loop {
                let _ = writeln!(out, "    FALIGN\n    LOOPSTART{index}");
            }
            let _ = writeln!(out, "{}", printer.label(number as u32));
            self.block(block, &printer, &frame, out);
            if is_loop {
                let _ = writeln!(out, "    LOOPEND{index}");
            }
        }
    }

    fn is_late(&self, operation: &Operation) -> bool {
        let locate = locate(&self.allocation);
        let stepped = operation.stepped();
        let written = crate::mir::dependence::writes(operation).into_iter();
        let written = written.filter(|name| Some(*name) != stepped);
        let mut storage = written.flat_map(locate);
        storage.any(|at| Sc140::is_late(operation, at))
    }

    fn block(
        &self,
        block: &crate::mir::Block<isa::sc140::Sc140>,
        printer: &Printer<'_>,
        frame: &Frame,
        out: &mut String,
    ) {
        let Some(&last) = block.cycles.last() else {
            return;
        };
        let mut enabled = None;
        for cycle in 0..=last {
            let rows = block.operations.iter().zip(&block.cycles);
            let set: Vec<&Operation> = rows
                .filter(|(_, at)| **at == cycle)
                .map(|(operation, _)| operation)
                .collect();
            let returns = |one: &&&Operation| one.branch() == Some(Branch::Return);
            if set.iter().any(|one| returns(&one)) {
                // What restores the registers stands between the rest of the set and the return.
                let epilogue = frame.epilogue();
                if !epilogue.is_empty() {
                    let (back, rest): (Vec<&Operation>, Vec<&Operation>) =
                        set.iter().partition(returns);
                    if !rest.is_empty() {
                        printer.set(&rest, out);
                    }
                    for set in &epilogue {
                        let set: Vec<&Operation> = set.iter().collect();
                        printer.set(&set, out);
                    }
                    printer.set(&back, out);
                    continue;
                }
            }
            let enables = |one: &&Operation| {
                matches!(
                    one.mnemonic.opcode,
                    Opcode::Doen | Opcode::Doensh | Opcode::Dosetup
                )
            };
            if set.iter().any(enables) {
                enabled = Some(cycle);
            }
            printer.set(&set, out);
        }
        // What falls into the next block waits for its last moves.
        let rows = block.operations.iter().zip(&block.cycles);
        let mut rows = rows.filter(|(_, at)| **at == last);
        let falls = block
            .operations
            .last()
            .is_some_and(|last| last.branch().is_none());
        if falls && rows.any(|(one, _)| self.is_late(one)) {
            out.push_str("    nop\n");
        }
        // A loop begins some sets behind what enables it.
        if let Some(cycle) = enabled {
            let missing = (cycle + loops::GAP).saturating_sub(last);
            (0..missing).for_each(|_| out.push_str("    nop\n"));
        }
        debug_assert!(block.operations.len() == block.cycles.len());
    }
}
