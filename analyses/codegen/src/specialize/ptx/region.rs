//! The reach of a copy in PTX: up to instructions that must not stand on two paths, labels that are reached
//! from outside, operations that the IR does not know to the last bit, and the jump back of a loop around the
//! check. Linear in the body, but for labels that are reached from outside, each of which shortens the
//! region.

use super::fast::instruction;
use super::{Document, Refusal};
use crate::specialize::fold::Folded;
use crate::target::ptx::machine::body::Next;
use ir::Type;
use syntax::ptx::{Instruction, Name, Operand, Statement, StatementKind};

/// The farthest end of a region, and the reason why the statement there can't be copied.
///
/// `stops` tells why an instruction must not stand in the region; its second argument is true in the check of a version.
pub(super) fn limit(
    document: &Document<'_>,
    start: u32,
    stops: &dyn Fn(&Instruction, bool) -> Option<Refusal>,
) -> (u32, Option<Refusal>) {
    let own = document.tree.statements();
    let lines = &document.body.lines;
    let count = own.len() as u32;
    let depth = start
        .checked_sub(1)
        .map_or(0, |at| lines[at as usize].depth);
    let mut end = count;
    let mut why = None;
    let mut ours = false;
    for at in start..count {
        let statement = &own[at as usize];
        // Lanes that leave a loop around the check meet behind it: both paths end before the back edge.
        let back = matches!(&lines[at as usize].next, Next::Jumps { targets, .. } if targets.iter().any(|&target| target < start));
        let stop = match &statement.kind {
            _ if back => Some(None),
            StatementKind::Open => {
                let rest = document
                    .text
                    .get(statement.span.end as usize..)
                    .unwrap_or("");
                ours |= rest
                    .trim_start_matches([' ', '\t'])
                    .starts_with("// lockstep: version on zero");
                None
            }
            StatementKind::Close => {
                ours = false;
                (lines[at as usize].depth < depth
                    || lines[at as usize].depth == depth && opens(own, start, at) == 0)
                    .then_some(None)
            }
            StatementKind::BranchTargets(_)
            | StatementKind::CallTargets(_)
            | StatementKind::CallPrototype { .. } => {
                Some(Some(Refusal::Uncopied("a table".into())))
            }
            StatementKind::Invalid(_) => Some(Some(Refusal::Uncopied("what is no PTX".into()))),
            StatementKind::Instruction(i) => stops(i, ours).map(Some),
            _ => None,
        };
        if let Some(reason) = stop {
            end = at;
            why = reason;
            break;
        }
    }
    (entered(document, start, end), why)
}

/// Scopes that are opened from `start` on and not closed before `at`.
fn opens(own: &[Statement], start: u32, at: u32) -> i64 {
    own[start as usize..at as usize]
        .iter()
        .map(|it| match it.kind {
            StatementKind::Open => 1,
            StatementKind::Close => -1,
            _ => 0,
        })
        .sum()
}

/// The end, moved before the first label that is reached from outside of the region, and out of scopes.
fn entered(document: &Document<'_>, start: u32, mut end: u32) -> u32 {
    let own = document.tree.statements();
    let lines = &document.body.lines;
    loop {
        let before = end;
        for (at, line) in lines.iter().enumerate() {
            let at = at as u32;
            if (start..end).contains(&at) {
                continue;
            }
            if let Next::Jumps { targets, .. } = &line.next {
                for &target in targets {
                    // A jump to the first statement of the region comes past the check.
                    if (start..end).contains(&target) {
                        end = target;
                    }
                }
            }
        }
        // Not within a scope that the region opens.
        let mut depth = 0i64;
        let mut outside = start;
        for at in start..end {
            match own[at as usize].kind {
                StatementKind::Open => depth += 1,
                StatementKind::Close => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                outside = at + 1;
            }
        }
        end = end.min(outside);
        if end == before {
            return end;
        }
    }
}

/// The least end from `end` on that leaves no scope open; `limit` is one.
pub(super) fn closed(document: &Document<'_>, start: u32, end: u32, limit: u32) -> u32 {
    let own = document.tree.statements();
    (end..=limit)
        .find(|&at| opens(own, start, at) == 0 && entered(document, start, at) == at)
        .unwrap_or(limit)
}

/// Returns whether an instruction reads registers of other lanes, or which lanes there are.
pub(super) fn exchanges(i: &Instruction) -> bool {
    match i.opcode.text.as_str() {
        "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" => true,
        "bar" | "barrier" => i.has("red"),
        opcode => of_warps(opcode),
    }
}

/// Returns whether an instruction is one of a warp as a whole.
fn of_warps(opcode: &str) -> bool {
    matches!(
        opcode,
        "mma" | "wmma" | "ldmatrix" | "stmatrix" | "movmatrix" | "wgmma" | "tcgen05"
    )
}

/// Returns the reason why a statement must not stand on two paths.
pub(super) fn uncopied(i: &Instruction, together: bool) -> Option<Refusal> {
    let opcode = i.opcode.text.as_str();
    let other = || Some(Refusal::Uncopied(i.opcode.text.clone()));
    match opcode {
        "bar" | "barrier" if i.has("warp") => (!together).then_some(Refusal::CrossLane),
        "bar" | "barrier" | "mbarrier" => Some(Refusal::Barrier),
        opcode if of_warps(opcode) => Some(Refusal::CrossLane),
        _ if exchanges(i) => (!together).then_some(Refusal::CrossLane),
        "brx" | "alloca" | "stacksave" | "stackrestore" | "setmaxnreg" | "griddepcontrol" => {
            other()
        }
        _ => None,
    }
}

/// The end, moved before the first statement whose constant the IR does not know to the last bit: it has no rounding
/// modes and flushes nothing.
pub(super) fn untrusted(document: &Document<'_>, folded: &Folded, start: u32, end: u32) -> u32 {
    let function = document.function;
    let modes = ["rz", "rm", "rp", "rna", "approx", "full", "ftz"];
    let constant = |name: &Name| {
        let value = document.value_at(name)?;
        Some((function.ty(value), folded.constant(function, value)?))
    };
    for at in start..end {
        let Some(i) = instruction(document, at) else {
            continue;
        };
        if !modes.iter().any(|mode| i.has(mode)) {
            continue;
        }
        let Some(Operand::Name(result)) = i.operands.first() else {
            continue;
        };
        let Some((ty, bits)) = constant(result) else {
            continue;
        };
        let plain = |ty: Type, bits: u64| {
            !ty.is_float() || {
                let number = ir::numbers::to_f64(ty, bits);
                number == 0.0 || number.abs() == 1.0
            }
        };
        let operands = i.operands[1..].iter().all(|operand| match operand {
            Operand::Name(name) => constant(name).is_none_or(|(ty, bits)| plain(ty, bits)),
            Operand::Float32(bits, _) => !f32::from_bits(*bits).is_subnormal(),
            Operand::Float64(bits, _) => !(f64::from_bits(*bits) as f32).is_subnormal(),
            _ => true,
        });
        if !plain(ty, bits) || !operands {
            return entered(document, start, at);
        }
    }
    end
}
