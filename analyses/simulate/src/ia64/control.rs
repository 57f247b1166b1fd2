//! Branches, calls, frames, rotation.
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volume 3, `br`, `alloc`, `clrrrb`.

use super::FaultKind;
use super::execute::Next;
use super::op::{Branch, Op, Target};
use super::state::{EXIT, Frame, Machine, Trap, Use, illegal};
use isa::ia64::Reg;

pub(super) fn branch(
    machine: &mut Machine<'_>,
    kind: Branch,
    target: Target,
    link: u8,
    qp: u8,
) -> Result<Next, Trap> {
    let taken = match kind {
        Branch::Cond | Branch::Call | Branch::Return => machine.pr(qp, Use::BranchPredicate),
        Branch::Cloop => {
            let count = machine.ar(Reg::LC.number, Use::Data);
            if count != 0 {
                machine.set_ar(Reg::LC.number, count - 1);
            }
            count != 0
        }
        Branch::Ctop | Branch::Cexit => counted(machine) == (kind == Branch::Ctop),
        Branch::Wtop | Branch::Wexit => conditional(machine, qp) == (kind == Branch::Wtop),
    };
    if !taken {
        return Ok(Next::Fall);
    }
    let address = match target {
        Target::Address(address) => address,
        Target::Register(number) => machine.br(number, Use::BranchRegister) & !15,
    };
    match kind {
        Branch::Call => call(machine, link)?,
        Branch::Return => back(machine)?,
        _ => {}
    }
    Ok(Next::Go(address))
}

/// `br.ctop` and `br.cexit`: whether the loop goes on.
fn counted(machine: &mut Machine<'_>) -> bool {
    let count = machine.ar(Reg::LC.number, Use::Data);
    let epilogue = machine.ar(Reg::EC.number, Use::Data);
    let goes_on = count != 0 || epilogue > 1;
    // Both are written, if only with what they held.
    machine.set_ar(Reg::LC.number, count.saturating_sub(1));
    if count != 0 {
        machine.set_ar(Reg::EC.number, epilogue);
        machine.rotate(true);
    } else {
        end(machine, epilogue);
    }
    goes_on
}

/// `br.wtop` and `br.wexit`: whether the loop goes on.
fn conditional(machine: &mut Machine<'_>, qp: u8) -> bool {
    let holds = machine.pr(qp, Use::BranchPredicate);
    let epilogue = machine.ar(Reg::EC.number, Use::Data);
    let goes_on = holds || epilogue > 1;
    if holds {
        machine.set_ar(Reg::EC.number, epilogue);
        machine.rotate(false);
    } else {
        end(machine, epilogue);
    }
    goes_on
}

/// One step of an epilogue; without any left, PR63 is cleared where it stands.
fn end(machine: &mut Machine<'_>, epilogue: u64) {
    machine.set_ar(Reg::EC.number, epilogue.saturating_sub(1));
    if epilogue > 0 {
        machine.rotate(false);
    } else {
        machine.set_pr(63, Some(false), super::state::Way::Plain);
    }
}

fn call(machine: &mut Machine<'_>, link: u8) -> Result<(), Trap> {
    if machine.depth >= machine.limits.depth {
        return Err((FaultKind::Depth, "calls are nested too deeply".to_owned()));
    }
    machine.depth += 1;
    let epilogue = machine.applications[usize::from(Reg::EC.number)];
    let marker = machine.frame.encoded() | epilogue << 52;
    machine.set_ar(Reg::PFS.number, marker);
    machine.set_br(link, machine.ip + 16);
    machine.write_frame();
    let locals = machine.frame.locals;
    machine.bottom += usize::from(locals);
    machine.frame = Frame {
        size: machine.frame.size.saturating_sub(locals),
        ..Frame::default()
    };
    Ok(())
}

fn back(machine: &mut Machine<'_>) -> Result<(), Trap> {
    let marker = machine.ar(Reg::PFS.number, Use::BranchRegister);
    let frame = Frame::decoded(marker);
    machine.depth = machine.depth.saturating_sub(1);
    machine.set_ar(Reg::EC.number, marker >> 52 & 63);
    let Some(bottom) = machine.bottom.checked_sub(usize::from(frame.locals)) else {
        return Err(illegal("ar.pfs is not that of the caller"));
    };
    machine.bottom = bottom;
    machine.frame = frame;
    machine.write_frame();
    machine.fit()
}

/// `alloc` and `clrrrb`.
pub(super) fn frame(machine: &mut Machine<'_>, op: &Op) -> Result<(), Trap> {
    let old = machine.frame;
    match *op {
        Op::Alloc {
            to,
            frame,
            locals,
            rotating,
        } => {
            let based = old.general != 0 || old.float != 0 || old.predicate != 0;
            if rotating != old.rotating && based {
                return Err(illegal(
                    "alloc changes the rotating registers while they are rotated: clrrrb is missing",
                ));
            }
            let marker = machine.ar(Reg::PFS.number, Use::Data);
            machine.frame = Frame {
                size: frame,
                locals,
                rotating,
                ..old
            };
            machine.fit()?;
            machine.write_frame();
            machine.set_gr(to, marker)
        }
        Op::ClearRotation { all } => {
            machine.frame.predicate = 0;
            if all {
                machine.frame.general = 0;
                machine.frame.float = 0;
            }
            machine.rotated = true;
            machine.write_frame();
            Ok(())
        }
        _ => Err(illegal("not executed")),
    }
}

/// The frame that the first function is called with: its arguments are the caller's outputs.
pub(super) fn enter(machine: &mut Machine<'_>) -> Result<(), Trap> {
    machine.frame = Frame {
        size: 8,
        ..Frame::default()
    };
    machine.fit()?;
    machine.set_br(0, EXIT);
    machine.depth = 1;
    Ok(())
}
