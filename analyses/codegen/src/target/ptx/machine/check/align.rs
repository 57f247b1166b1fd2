//! The lines of the output that are the original's, and those that were inserted.
//!
//! ```text
//! mov.u32 %r1, %tid.x         -- inserted
//! add.s32 %r2, %r2, 1         add.s32 %v7, %v7, 1
//! st.local.b32 [slots], %r2   -- inserted
//! ```
//!
//! Lines pair in order, and each of the original has one. Within a stretch without jumps, effects or labels several pairings
//! may be possible; one that passes the check proves the output, so that which is tried first is no matter of soundness.

use super::text::Line;
use isa::ptx::Effect;
use syntax::ptx::Operand;

/// The lines of the output in their order: the original's line that each is, where it is one.
pub(super) type Pairs = Vec<Option<u32>>;

/// The pairing that is tried: inserted lines are taken to stand in front of lines of the same shape, or behind them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Preference {
    /// In front, but for a line that seems to make the part of a value which is stored in a slot, or a value of such a part.
    LaterThanParts,
    Later,
    Earlier,
}

/// A line may be inserted code: it has no effect, or it reads or writes memory.
pub(super) fn may_be_inserted(line: &Line<'_>) -> bool {
    if line.memory.is_some() {
        return true;
    }
    let pure = line
        .opcode
        .is_some_and(|opcode| opcode.effect() == Effect::Pure);
    let of_warp = is_warp_barrier(line) || lane_read(line).is_some();
    pure || line.is_opcode("ld") || line.is_opcode("st") || of_warp
}

/// Returns the lane whose word of a register all lanes of a warp read, without a guard.
pub(super) fn lane_read(line: &Line<'_>) -> Option<u32> {
    let instruction = line.instruction?;
    let [
        _,
        _,
        Operand::Integer(lane, _),
        Operand::Integer(31, _),
        mask,
    ] = &instruction.operands[..]
    else {
        return None;
    };
    let whole = matches!(mask, Operand::Integer(0xffff_ffff, _));
    let words = ["sync", "idx", "b32"].iter().all(|word| line.has(word));
    let plain = line.plain[..2] == [Some(0), Some(1)] && line.guard.is_none();
    let lane = u32::try_from(*lane).ok().filter(|lane| *lane < 32)?;
    (line.is_opcode("shfl") && words && whole && plain).then_some(lane)
}

/// A barrier of all lanes of a warp, without a guard.
pub(super) fn is_warp_barrier(line: &Line<'_>) -> bool {
    let whole = |operand: &Operand| matches!(operand, Operand::Integer(0xffff_ffff, _));
    let operands = line
        .instruction
        .map(|instruction| &instruction.operands[..]);
    line.is_opcode("bar")
        && line.has("warp")
        && line.guard.is_none()
        && operands.is_some_and(|operands| operands.len() == 1 && operands.iter().all(whole))
}

/// Pairs the lines. `inserted` tells lines of the output that can be no other.
///
/// # Errors
/// The first line of the original without a partner.
pub(super) fn align(
    original: &[Line<'_>],
    output: &[Line<'_>],
    inserted: &[bool],
    preference: Preference,
) -> Result<Pairs, u32> {
    let mut pairs: Pairs = vec![None; output.len()];
    let fixed = |line: &Line<'_>| !may_be_inserted(line);
    let (mut from, mut to) = (0, 0);
    loop {
        let stop = |lines: &[Line<'_>], start: usize| {
            let rest = lines[start..].iter().position(fixed);
            rest.map_or(lines.len(), |at| start + at)
        };
        let (end, output_end) = (stop(original, from), stop(output, to));
        stretch(
            original,
            output,
            inserted,
            (from..end, to..output_end),
            preference,
            &mut pairs,
        )?;
        match (original.get(end), output.get(output_end)) {
            (None, None) => return Ok(pairs),
            (Some(line), Some(other)) if line.shape == other.shape => {
                pairs[output_end] = Some(end as u32);
            }
            (Some(line), _) => return Err(line.statement),
            // Something with an effect is new.
            (None, Some(_)) => return Err(original.last().map_or(0, |line| line.statement)),
        }
        (from, to) = (end + 1, output_end + 1);
    }
}

fn stretch(
    original: &[Line<'_>],
    output: &[Line<'_>],
    inserted: &[bool],
    (from, to): (std::ops::Range<usize>, std::ops::Range<usize>),
    preference: Preference,
    pairs: &mut Pairs,
) -> Result<(), u32> {
    let fits =
        |at: usize, other: usize| !inserted[other] && original[at].shape == output[other].shape;
    // The first partner that each line may have.
    let mut earliest = Vec::with_capacity(from.len());
    let mut next = to.start;
    for at in from.clone() {
        let found = (next..to.end).find(|other| fits(at, *other));
        let Some(found) = found else {
            return Err(original[at].statement);
        };
        earliest.push(found);
        next = found + 1;
    }
    if preference == Preference::Earlier {
        for (at, found) in from.zip(earliest) {
            pairs[found] = Some(at as u32);
        }
        return Ok(());
    }
    let mut end = to.end;
    for (at, first) in from.zip(earliest).rev() {
        let partners = || (first..end).rev().filter(|other| fits(at, *other));
        let parts = |other: &usize| {
            preference == Preference::LaterThanParts
                && (stores_a_part(output, inserted, *other)
                    || adds_to_a_part(output, inserted, *other))
        };
        let found = partners().find(|other| !parts(other));
        let Some(found) = found.or_else(|| partners().next()) else {
            return Err(original[at].statement);
        };
        pairs[found] = Some(at as u32);
        end = found;
    }
    Ok(())
}

/// A line makes a value of its uniform part: it reads what is loaded from a slot up to three lines in front of
/// it, and the multiple that the line in front of it makes.
fn adds_to_a_part(output: &[Line<'_>], inserted: &[bool], at: usize) -> bool {
    let reads = |from: usize| {
        let made: Vec<u32> = output[from].writes().collect();
        output[at].reads().any(|register| made.contains(&register))
    };
    let front = at.saturating_sub(3)..at.saturating_sub(1);
    let loads = |from: usize| inserted[from] && output[from].is_opcode("ld") && reads(from);
    at > 1 && output[at - 1].is_opcode("mul") && reads(at - 1) && front.rev().any(loads)
}

/// A line makes the uniform part of a value, which is stored behind it: it reads a multiple that the line in front of it makes.
fn stores_a_part(output: &[Line<'_>], inserted: &[bool], at: usize) -> bool {
    let (Some(before), Some(behind)) = (at.checked_sub(1), output.get(at + 1)) else {
        return false;
    };
    // A barrier may stand in front of the store.
    let store = match is_warp_barrier(behind) {
        true => at + 2,
        false => at + 1,
    };
    let Some(behind) = output.get(store) else {
        return false;
    };
    let stored = inserted[store] && behind.is_opcode("st");
    let own: Vec<u32> = output[at].writes().collect();
    let passes = stored && behind.reads().any(|register| own.contains(&register));
    let multiple = &output[before];
    let made: Vec<u32> = multiple.writes().collect();
    let reads = output[at].reads().any(|register| made.contains(&register));
    let multiplies = multiple.is_opcode("mul") || multiple.is_opcode("shl");
    passes && reads && multiplies && multiple.reads().count() == 1
}
