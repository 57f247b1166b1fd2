//! "Reduce spills" of assembly: loads from slots of the stack whose value a register holds already, and stores that nothing
//! loads any more.
//!
//! ```text
//!     move.l  (sp-16),d13                move.l  (sp-16),d13
//!     mac     d13,d0,d1           ->     mac     d13,d0,d1
//!     move.l  (sp-16),d13                mac     d13,d2,d3
//!     mac     d13,d2,d3
//! ```
//!
//! Function by function, from a label that is only called to its returns: where the stack pointer is at each set and what the
//! accesses relative to it touch ([`frame`]), then what registers and slots hold and which slots are loaded later
//! ([`redundant`]). A load of what another register holds becomes a move where the rules permit it. The text that comes of it
//! is re-packed, and shown to the checker of the rules; where it finds more than before, the function stays as it is.
//!
//! A function is refused where something is not known that decides: an instruction, a jump out of it or into it, the place of
//! the stack pointer, an address of the stack that lies in a register. Calls may read and write all slots. Slots of the caller
//! stay as they are.
//!
//! Source: section 2 of Palanciuc, Badea, Ilas, Flamand, *A Spill Code Minimization Technique* (EPIC-1, 2001), for code that
//! is written already.

mod edit;
mod frame;
mod redundant;

use super::capacity::Capacity;
use super::check::check;
use super::layout::splits;
use super::listing::Listing;
use super::repack::{Outcome, repack};
use frame::Frame;
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use syntax::Span;
use syntax::sc140::Document;

/// Sets of a file: the rules are checked anew for each function.
const MOST_SETS: usize = 5_000;

/// A function of a file, and the outcome of its reduction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotFunction {
    pub name: SmolStr,
    /// From its first set to the end of the line of its last.
    pub span: Span,
    pub outcome: SlotOutcome,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SlotOutcome {
    Reduced {
        /// The text in the place of `span`.
        text: String,
        before: SlotMeasure,
        after: SlotMeasure,
    },
    Kept(SlotRefusal),
}

/// Sets of a function's text, and its loads from slots of its frame and stores into them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SlotMeasure {
    pub sets: u32,
    pub loads: u32,
    pub stores: u32,
}

/// The reason why a function stays as it is, with the place.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SlotRefusal {
    #[error("an instruction is not known")]
    Unknown(Span),
    #[error("the address of the stack is taken: what lies there may be accessed in other ways")]
    AddressTaken(Span),
    #[error("the stack pointer moves by what is not known")]
    Pointer(Span),
    #[error("the stack pointer depends on the way that control took")]
    Disagrees(Span),
    #[error("it returns with another stack pointer than it has at its start")]
    Unbalanced(Span),
    #[error("an access lies beyond the stack pointer")]
    Beyond(Span),
    #[error("control leaves it for where is not known")]
    Leaves(Span),
    #[error("control enters it at `{0}`")]
    Entered(SmolStr),
    #[error("the file has more than {most} sets")]
    LargeFile { most: usize },
    #[error("no register holds what is loaded, and all that is stored is loaded")]
    NothingFound,
    #[error("what comes of it would break rule {rule}")]
    WouldBreak { rule: &'static str },
    #[error("what comes of it would be slower: two fetches would hold the target of a jump")]
    WouldStraddle,
}

impl SlotRefusal {
    /// The place of what has to change.
    #[must_use]
    pub const fn place(&self) -> Option<Span> {
        match self {
            SlotRefusal::Unknown(at)
            | SlotRefusal::AddressTaken(at)
            | SlotRefusal::Pointer(at)
            | SlotRefusal::Disagrees(at)
            | SlotRefusal::Unbalanced(at)
            | SlotRefusal::Beyond(at)
            | SlotRefusal::Leaves(at) => Some(*at),
            _ => None,
        }
    }
}

/// The functions of a file that access slots of their frames, with what becomes of them, in its order.
#[must_use]
pub fn reduce(
    document: &Document,
    text: &str,
    listing: &Listing,
    capacity: &Capacity,
) -> Vec<SlotFunction> {
    let all = frame::functions(listing).into_iter();
    all.filter_map(|function| outcome(document, text, listing, function, capacity))
        .collect()
}

/// The function at a place of the text, if it accesses slots of its frame.
#[must_use]
pub fn reduce_at(
    document: &Document,
    text: &str,
    listing: &Listing,
    capacity: &Capacity,
    offset: u32,
) -> Option<SlotFunction> {
    let mut all = frame::functions(listing).into_iter().rev();
    let own = all.find(|function| {
        let first = &listing.sets[function.start];
        // Its labels stand in front of its first set.
        let labels = document.statements[..first.statement].iter().rev();
        let labels = labels
            .take(first.labels.len())
            .map(|label| label.span.start);
        labels
            .min()
            .unwrap_or(first.span.start)
            .min(first.span.start)
            <= offset
    })?;
    outcome(document, text, listing, own, capacity)
}

fn outcome(
    document: &Document,
    text: &str,
    listing: &Listing,
    function: Range<usize>,
    capacity: &Capacity,
) -> Option<SlotFunction> {
    let [first, last] = [function.start, function.end - 1];
    let labels = &listing.sets[first].labels;
    let name = labels.last().cloned().unwrap_or_default();
    let end = listing.sets[last].span.end as usize;
    // With the comment behind the last one.
    let rest = text.get(end..).unwrap_or_default();
    let line = rest.find(['\r', '\n']).unwrap_or(rest.len());
    let span = Span::new(listing.sets[first].span.start, (end + line) as u32);
    let outcome = match listing.sets.len() > MOST_SETS {
        true => Err(SlotRefusal::LargeFile { most: MOST_SETS }),
        false => Frame::of(document, listing, function),
    };
    let outcome = match outcome {
        Ok(frame) if frame.accesses.is_empty() => return None,
        Ok(frame) => reduced(text, listing, &frame, span, capacity),
        Err(reason) => Err(reason),
    };
    Some(SlotFunction {
        name,
        span,
        outcome: outcome.unwrap_or_else(SlotOutcome::Kept),
    })
}

fn reduced(
    text: &str,
    listing: &Listing,
    frame: &Frame,
    span: Span,
    capacity: &Capacity,
) -> Result<SlotOutcome, SlotRefusal> {
    let broken = check(listing, capacity).len();
    let mut refusal = SlotRefusal::NothingFound;
    // Moves in the place of loads may ask for units that are not free.
    for moves in [true, false] {
        let changes = redundant::changes(listing, frame, moves);
        if changes.is_empty() {
            continue;
        }
        let changed = edit::edited(text, listing, &changes);
        let behind = text.len() - span.end as usize;
        let (packed, rule) = packed(&changed, span.start, behind, broken, capacity);
        if let Some(rule) = rule {
            refusal = SlotRefusal::WouldBreak { rule };
            continue;
        }
        let own = span.start as usize..packed.len() - behind;
        let removed = |stores: bool| {
            let own = changes.iter().filter(|change| change.stores == stores);
            own.count() as u32
        };
        let count = |stores: bool| {
            let all = frame
                .accesses
                .iter()
                .filter(|access| access.stores == stores);
            all.count() as u32
        };
        let (loads, stores) = (count(false), count(true));
        let document = syntax::sc140::parse(&packed);
        let after = Listing::of(&document);
        if !is_no_longer(listing, &after, capacity) {
            refusal = SlotRefusal::WouldStraddle;
            continue;
        }
        let total = after.sets.len();
        let sets = frame.sets.len();
        return Ok(SlotOutcome::Reduced {
            text: packed[own].to_owned(),
            before: SlotMeasure {
                sets: sets as u32,
                loads,
                stores,
            },
            after: SlotMeasure {
                sets: (total + sets - listing.sets.len()) as u32,
                loads: loads - removed(false),
                stores: stores - removed(true),
            },
        });
    }
    Err(refusal)
}

/// Returns true if nothing between two labels takes more sets, with the cycle more of a target that two fetches hold.
fn is_no_longer(before: &Listing, after: &Listing, capacity: &Capacity) -> bool {
    let cycles = |listing: &Listing| -> BTreeMap<SmolStr, usize> {
        let mut first: Vec<usize> = listing.labels.values().copied().collect();
        first.sort_unstable();
        let slow: BTreeSet<usize> = splits(listing, capacity).iter().map(|it| it.set).collect();
        let own = |&at: &usize| {
            let next = first.get(first.partition_point(|&it| it <= at));
            next.unwrap_or(&listing.sets.len()) - at + usize::from(slow.contains(&at))
        };
        let labels = listing.labels.iter();
        labels.map(|(name, at)| (name.clone(), own(at))).collect()
    };
    let before = cycles(before);
    cycles(after)
        .iter()
        .all(|(name, own)| before.get(name).is_none_or(|known| own <= known))
}

/// A text with the pieces re-packed that lie between a place and so many bytes in front of its end; and the rule that is
/// broken where more are than before.
fn packed(
    text: &str,
    start: u32,
    behind: usize,
    broken: usize,
    capacity: &Capacity,
) -> (String, Option<&'static str>) {
    let document = syntax::sc140::parse(text);
    let listing = Listing::of(&document);
    let found = check(&listing, capacity);
    if found.len() > broken {
        return (
            text.to_owned(),
            found.last().map(|finding| finding.broken.rule()),
        );
    }
    let end = (text.len() - behind) as u32;
    let mut out = text.to_owned();
    for piece in repack(&document, text, &listing, capacity).iter().rev() {
        // What stands in front of a piece's first set on its line belongs to the piece.
        let inside = listing.sets[piece.sets.clone()]
            .iter()
            .all(|set| start <= set.span.start && set.span.end <= end);
        if let (Outcome::Rewritten { text, .. }, true) = (&piece.outcome, inside) {
            let from = piece.span.start.max(start) as usize;
            let text = match from > piece.span.start as usize {
                true => text.trim_start(),
                false => text,
            };
            out.replace_range(from..piece.span.end as usize, text);
        }
    }
    (out, None)
}
