//! Registers that probes may use, the cheapest first: those that the author left free, more outputs in the frame, and a
//! general register whose value waits in a floating-point register.
//!
//! Registers whose values must survive a call are locals: the outputs get higher numbers then.
//!
//! Source: Ramasamy and Hundt 2001, on free registers; the architecture has 96 stacked registers.

use super::function::{Frame, Function, Source, stacked};
use super::refusal::Refusal;
use isa::ia64::{Branch, File, Reg};
use syntax::ia64::names::Meaning;
use syntax::ia64::{Expr, OperandKind, StatementKind};

/// Stacked registers that there are.
const STACKED: u32 = 96;

/// The place where a general register's value waits while a probe uses the register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Saved {
    pub float: u8,
    /// The floating-point register's own value waits on the stack.
    pub spilled: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Registers {
    /// Their values need not outlive a probe.
    pub temps: Vec<u8>,
    /// Theirs are there from the entry to the end, calls included.
    pub held: Vec<u8>,
    /// The register that is saved where none is free.
    pub saved: Option<Saved>,
    pub locals: u32,
    pub outputs: u32,
}

/// The registers that probes ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Wanted {
    /// At most so many that are held.
    pub held: u32,
    /// At least so many.
    pub held_least: u32,
    pub temps: u32,
    pub temps_least: u32,
    /// A floating-point register may do.
    pub may_save: bool,
}

/// The registers of a function's probes.
///
/// # Errors
/// There are too few.
pub(super) fn registers(
    source: Source<'_>,
    function: &Function,
    wanted: Wanted,
) -> Result<Registers, Refusal> {
    let named = |register: Reg| function.named.binary_search(&register).is_ok();
    let given: Vec<u8> = function
        .given
        .iter()
        .copied()
        .filter(|&number| {
            let fits = function
                .frame
                .map_or(number < 32, |frame| u32::from(number) < 32 + frame.size());
            fits && !named(Reg::general(number))
        })
        .collect();
    let mut out = Registers::default();
    if let Some(frame) = function.frame {
        let room = STACKED.saturating_sub(frame.size());
        let moves = function.calls && wanted.held > 0;
        let movable = !moves || outputs_move(source, function, frame).is_ok();
        let own = wanted.temps_least.saturating_sub(given.len() as u32);
        let held = match movable {
            true => wanted.held.min(room.saturating_sub(own)),
            false => 0,
        };
        if held < wanted.held_least {
            if moves {
                outputs_move(source, function, frame)?;
            }
            return Err(Refusal::NoRegister {
                named: frame.size(),
                room,
            });
        }
        let most = wanted.temps.saturating_sub(given.len() as u32);
        let more = most.min(room - held);
        if given.len() as u32 + more >= wanted.temps_least {
            let first = 32 + frame.size();
            (out.locals, out.outputs) = match moves {
                true => (held, more),
                false => (0, held + more),
            };
            let start = if moves { frame.first_output() } else { first };
            out.held = (start..start + held).map(|number| number as u8).collect();
            out.temps = given;
            out.temps
                .extend((first + held..first + held + more).map(|number| number as u8));
            return Ok(out);
        }
    }
    if wanted.held_least == 0 && given.len() as u32 >= wanted.temps_least {
        out.temps = given;
        return Ok(out);
    }
    let size = function.frame.map_or(0, Frame::size);
    if wanted.held_least > 0 || !wanted.may_save || wanted.temps_least > 1 {
        return Err(Refusal::NoRegister {
            named: size,
            room: STACKED,
        });
    }
    out.saved = Some(saved(function, &named)?);
    Ok(out)
}

/// A floating-point register that the conventions leave to the function and that it does not name.
fn saved(function: &Function, named: &dyn Fn(Reg) -> bool) -> Result<Saved, Refusal> {
    let rotates = function.codes().any(|(_, code)| {
        matches!(
            code.inst.branch,
            Some(Branch::CountedRotating | Branch::WhileRotating)
        )
    });
    // Arguments may be on their way through the others.
    let high = if rotates { 32..32 } else { 32..128 };
    let free = [6, 7]
        .into_iter()
        .chain(high)
        .find(|&number| !named(Reg::float(number)));
    if let Some(float) = free {
        return Ok(Saved {
            float,
            spilled: false,
        });
    }
    // The scratch area at the stack pointer belongs to the function if it neither moves the pointer nor
    // calls.
    if named(Reg::general(12)) || function.calls {
        return Err(Refusal::NoFloat);
    }
    Ok(Saved {
        float: 6,
        spilled: true,
    })
}

/// Edits of a function's text as byte ranges of the source and the new text of each.
pub(super) type Edits = Vec<(std::ops::Range<usize>, String)>;

/// The registers of the outputs under numbers that are higher by the number of registers put in front of
/// them.
///
/// # Errors
/// A name of the file stands for one of them.
fn moved_outputs(
    source: Source<'_>,
    function: &Function,
    frame: Frame,
    by: u32,
) -> Result<Vec<(usize, Edits)>, Refusal> {
    let mut out = Vec::new();
    let mut names = function.names.clone();
    let mut codes = function.codes().peekable();
    for index in function.statements.clone() {
        let statement = &source.document.statements[index];
        names.see(statement, source.text);
        let own = codes.next_if(|(_, code)| {
            source.listing.items[code.item as usize].statement as usize == index
        });
        let (Some((step, code)), StatementKind::Instruction(written)) = (own, &statement.kind)
        else {
            continue;
        };
        let mut edits = Edits::new();
        for operand in written.targets.iter().chain(&written.sources) {
            let register = match names.meaning(operand) {
                Meaning::Register(register)
                | Meaning::Memory(register)
                | Meaning::Indirect(register) => register,
                _ => continue,
            };
            if !stacked(register) || u32::from(register.number) < frame.first_output() {
                continue;
            }
            let (OperandKind::Value(value) | OperandKind::Memory(value)) = &operand.kind;
            let refusal = Refusal::Renamed {
                line: code.line,
                register,
            };
            let Expr::Name(name) = value else {
                return Err(refusal);
            };
            if name.starts_with("out") {
                continue;
            }
            if *name != format!("r{}", register.number) {
                return Err(refusal);
            }
            let number = u32::from(register.number) + by;
            let text = match operand.kind {
                OperandKind::Value(_) => format!("r{number}"),
                OperandKind::Memory(_) => format!("[r{number}]"),
            };
            edits.push((operand.span.start as usize..operand.span.end as usize, text));
        }
        if !edits.is_empty() {
            out.push((step, edits));
        }
    }
    Ok(out)
}

fn outputs_move(source: Source<'_>, function: &Function, frame: Frame) -> Result<(), Refusal> {
    moved_outputs(source, function, frame, 0).map(|_| ())
}

/// The edits that make room in the frame, by step.
///
/// # Errors
/// As of `registers`.
pub(super) fn edits(
    source: Source<'_>,
    function: &Function,
    registers: &Registers,
) -> Result<Vec<(usize, Edits)>, Refusal> {
    let Some(frame) = function.frame else {
        return Ok(Vec::new());
    };
    if registers.locals + registers.outputs == 0 {
        return Ok(Vec::new());
    }
    let mut out = match registers.locals {
        0 => Vec::new(),
        by => moved_outputs(source, function, frame, by)?,
    };
    let Some(code) = function.code(frame.step) else {
        return Ok(out);
    };
    let statement = source.listing.items[code.item as usize].statement as usize;
    if let StatementKind::Instruction(written) = &source.document.statements[statement].kind {
        let sizes: Vec<_> = written.sources.iter().rev().take(4).collect();
        if let [_, outputs, locals, _] = sizes[..] {
            let of = |operand: &syntax::ia64::Operand, number: u32| {
                (
                    operand.span.start as usize..operand.span.end as usize,
                    number.to_string(),
                )
            };
            let edits = vec![
                of(locals, frame.locals + registers.locals),
                of(outputs, frame.outputs + registers.outputs),
            ];
            out.push((frame.step, edits));
        }
    }
    Ok(out)
}

/// A general register that none of these instructions names: r31 where each does.
pub(super) fn victim(function: &Function, block: usize) -> u8 {
    let steps = function.blocks[block].steps.clone();
    let names = |number: u8| {
        steps
            .clone()
            .filter_map(|step| function.code(step))
            .any(|code| {
                let own = code.inst.defs.iter().map(|def| def.register);
                code.inst.uses.iter().copied().chain(own).any(|register| {
                    register
                        == Reg {
                            file: File::General,
                            number,
                        }
                })
            })
    };
    (14..32).rev().find(|&number| !names(number)).unwrap_or(31)
}
