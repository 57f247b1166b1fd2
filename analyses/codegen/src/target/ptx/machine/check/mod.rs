//! The translation validator of register allocation: it checks that the output of `fit` computes the same as
//! its input, in the registers of the budget.
//!
//! ```text
//! add.s32 %a, %b, %c        ld.local.b32 %r0, [slots+4]     is %b in slot 4 on every path?
//!                           add.s32 %r0, %r0, %r1           is %c in %r1?  %a is in %r0 behind it
//! ```
//!
//! Every storage of the output holds polynomials of original values ([`contents`]); lines of the original
//! that stand in the output change both, inserted ones the storage alone. Where paths join, only common
//! knowledge stays (the checker of regalloc2, with arithmetic of its own). Slots of a warp obey three more
//! rules (the notes on Sampaio et al., TOPLAS 2013, section 5): each is stored at one place (S3), outside
//! loops and where all lanes of a warp come together (S1, S2), or each store stands behind a barrier of the
//! warp, at a place to which all lanes come that have not ended (S3); the value is the same in all of them; and
//! they belong to an entry, which is not called (S6).
//!
//! It takes on trust which registers are the same number in all lanes or differ by a multiple of the thread's, and the
//! manner in which lanes come to each statement; nothing from `fit`. Factors of recomputed values are arithmetic of its own. It does not prove that the original terminates, nor does it
//! look at accesses of the original beyond its own variables.

mod align;
mod contents;
mod evaluate;
mod live;
mod polynomial;
mod slots;
#[cfg(test)]
mod tests;
mod text;
mod walk;

use super::fit::Budget;
use super::states::{Arrival, State};
use smol_str::SmolStr;
use syntax::ptx::PtxFunction;

/// The facts about the original that the checker takes on trust.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Known {
    /// Names and states of registers, those of a name in the order of their first appearances; others differ in any manner.
    pub states: Vec<(SmolStr, State)>,
    /// The manner in which the lanes of a warp come to each statement.
    pub arrivals: Vec<Arrival>,
}

/// A rule that the output breaks. Statements are those of the output, where nothing else is said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Violation {
    /// A statement of the original has no counterpart in its place.
    Unmatched { original: u32 },
    /// An inserted statement is no spill code.
    Foreign { statement: u32 },
    /// A register does not hold the value that the original reads.
    WrongValue {
        statement: u32,
        register: SmolStr,
        original: SmolStr,
    },
    /// A register has another width than the original's.
    WrongWidth { statement: u32, register: SmolStr },
    /// The predicate of inserted code is none of the original's.
    WrongGuard { statement: u32 },
    /// More is live than there are registers.
    Pressure {
        statement: u32,
        words: u32,
        predicates: u32,
    },
    /// A register's words are beyond the budget.
    NoSuchRegister { statement: u32, name: SmolStr },
    /// A register is written while another one that is needed has some of its words.
    SharedWords {
        statement: u32,
        name: SmolStr,
        other: SmolStr,
    },
    /// The name of new memory is used by the original.
    TakenName { name: SmolStr },
    /// A slot is outside its variable, outside its warp's part, or not aligned.
    Outside { statement: u32, first: i64 },
    /// The address of a shared access is not a constant behind the start of the warp's slots.
    UnknownPlace { statement: u32 },
    /// The warps of a workgroup need more bytes than their variable has.
    TooSmall {
        name: SmolStr,
        needed: i64,
        has: i64,
    },
    /// The slots of all warps need more shared memory than is left.
    SharedMemory { bytes: i64 },
    /// A value that is stored once a warp differs between its lanes, or nothing says that it does not.
    NotUniform { statement: u32 },
    /// Not all lanes of a warp store to its slot together (S1, S2), or come to a new barrier.
    Parted { statement: u32 },
    /// The store to a warp's slot is in a loop (S1, S3).
    InLoop { statement: u32 },
    /// A warp's slot is stored at two places (S3).
    Rewritten { statement: u32, other: u32 },
    /// A function that may be entered again while it is active has slots of a warp (S6).
    SharedActivation { statement: u32 },
}

/// Pairings of the lines that are tried by each preference.
const PAIRINGS: u32 = 8;

/// The rules that the output breaks, none of which are those of a correct one.
#[must_use]
pub fn check(
    original: &PtxFunction,
    output: &PtxFunction,
    known: &Known,
    budget: &Budget,
) -> Vec<Violation> {
    let before = text::Text::new(original);
    let after = text::Text::new(output);
    let mut least: Option<Vec<Violation>> = None;
    use align::Preference::{Earlier, Later, LaterThanParts};
    'all: for preference in [LaterThanParts, Later, Earlier] {
        let mut found = Vec::new();
        let mut area = slots::Area::new(&before, &after, original.entry, budget, &mut found);
        let known_before = found.len();
        for pairing in 0..PAIRINGS {
            found.truncate(known_before);
            match align::align(&before.lines, &after.lines, &area.inserted, preference) {
                Ok(pairs) => {
                    walk::Walk::new(&before, &after, &pairs, known, &area).check(&mut found);
                }
                Err(original) => found.push(Violation::Unmatched { original }),
            }
            // Violations are reported from the plain pairing; another pairing may only prove that there are
            // none.
            let fewer = least.as_ref().is_none_or(|least| found.len() < least.len());
            if fewer && (pairing == 0 || found.is_empty()) {
                least = Some(found.clone());
            }
            // A line whose operands differ from the original's may have the same text as one that was
            // inserted in front of it.
            let doubtful = found.iter().find_map(|violation| match violation {
                Violation::WrongValue { statement, .. } => {
                    let mut lines = after.lines.iter();
                    let at = lines.position(|line| line.statement == *statement)?;
                    let open = align::may_be_inserted(&after.lines[at]) && !area.inserted[at];
                    open.then_some(at)
                }
                _ => None,
            });
            if found.is_empty() {
                break 'all;
            }
            match doubtful {
                Some(at) => area.inserted[at] = true,
                None => break,
            }
        }
    }
    let mut out = least.unwrap_or_default();
    live::check(
        &after,
        (budget.words.into(), budget.predicates.into()),
        &mut out,
    );
    out.dedup();
    out
}
