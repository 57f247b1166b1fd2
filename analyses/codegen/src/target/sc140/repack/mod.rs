//! "Re-pack": the instructions of a straight piece of code in fewer execution sets, then in fewer words.
//!
//! ```text
//!     clr     d2                        [
//!     move.w  (r0)+,d0                    clr     d2
//!     clr     d3               ->         move.w  (r0)+,d0
//!     mac     d0,d1,d2                    clr     d3
//!                                       ]
//!                                         mac     d0,d1,d2
//! ```
//!
//! Piece by piece: dependences with the distances of [`super::latency`] and those to what stands around the piece, sets by
//! an exact search where the piece is small and by lists where it is not, written with the instructions' own text and
//! comments; `nop`s go where no distance asks for one. A piece stays as it is when nothing is gained, and when it breaks a
//! rule as it is. What a piece becomes is shown to the checker of the rules (`super::check`); one in which it finds a fault
//! stays as it is.
//!
//! Does not move instructions across labels, directives, changes of flow and what is not known, and leaves delayed jumps
//! and their slots alone; a jump that ends a piece stays in its last set.

mod graph;
mod print;
mod search;

use super::capacity::Capacity;
use super::check::check;
use super::listing::{Listing, Member, Set};
use super::packer::{Asked, Load};
use graph::{Graph, graph};
use isa::sc140::{Opcode, Reg};
use rustc_hash::FxHashSet;
use std::ops::Range;
use syntax::Span;
use syntax::sc140::Document;

/// Instructions of one piece.
const MOST: usize = 300;
/// Sets of a file: each piece looks at all of them.
const MOST_SETS: usize = 5_000;
/// Choices of the exact search in a file, and in a piece.
const CHOICES: u32 = 100_000;
const CHOICES_OF_ONE: u32 = 2_000;

/// The length of a piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, PartialOrd, Ord)]
pub struct Measure {
    pub sets: u32,
    /// The most that they may take, prefixes included.
    pub words: u32,
}

/// A piece, and the outcome of its re-packing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repacked {
    /// Sets of the listing.
    pub sets: Range<usize>,
    /// Of the text that is replaced: its lines from the first set to the last, without what stands in front of the first.
    pub span: Span,
    pub before: Measure,
    pub outcome: Outcome,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    Rewritten {
        text: String,
        after: Measure,
        /// No order has fewer sets.
        proved: bool,
    },
    Kept(KeptReason),
}

/// The reason why a piece stays as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KeptReason {
    #[error("more than {most} instructions without a label")]
    TooLong { most: usize },
    #[error("the file has more than {most} sets")]
    LargeFile { most: usize },
    #[error("it breaks a rule as it is")]
    Broken,
    #[error("nothing is gained")]
    NothingGained { proved: bool },
    #[error("what comes of it would break rule {rule}")]
    WouldBreak { rule: &'static str },
}

/// All pieces of a file with what becomes of them, in its order.
#[must_use]
pub fn repack(
    document: &Document,
    text: &str,
    listing: &Listing,
    capacity: &Capacity,
) -> Vec<Repacked> {
    let pieces = pieces(document, listing);
    let findings = check(listing, capacity);
    let places = findings.iter().flat_map(|finding| {
        let with = finding.with.map(|with| with.set);
        [Some(finding.at.set), with].into_iter().flatten()
    });
    let at = |set: usize| {
        let at = pieces.partition_point(|piece| piece.end <= set);
        pieces.get(at).filter(|piece| piece.contains(&set))
    };
    let touched: FxHashSet<Range<usize>> = places.filter_map(at).cloned().collect();
    let mut choices = CHOICES;
    let modulo = listing.sets.iter().any(|set| {
        let mut members = set.members.iter();
        members.any(|member| member.effects.writes_to(Reg::MCTL))
    });
    let mut model = listing.clone();
    let mut planned: Vec<Result<Plan, KeptReason>> = vec![];
    // From the last to the first, so that the places of those in front stay.
    for range in pieces.iter().rev() {
        let plan = match () {
            () if listing.sets.len() > MOST_SETS => Err(KeptReason::LargeFile { most: MOST_SETS }),
            () if touched.contains(range) => Err(KeptReason::Broken),
            () => plan(&model, range, modulo, capacity, &mut choices),
        };
        if let Ok(plan) = &plan {
            replace(&mut model, range, plan);
        }
        planned.push(plan);
    }
    planned.reverse();
    withdraw(listing, &pieces, &mut planned, capacity);
    let printed = pieces.into_iter().zip(planned);
    printed
        .map(|(range, planned)| {
            let sets = &listing.sets[range.clone()];
            let span = print::extent(document, text, sets);
            let before = measure(sets);
            let outcome = match planned {
                Err(reason) => Outcome::Kept(reason),
                Ok(plan) => Outcome::Rewritten {
                    text: print::print(document, text, sets, span, &plan.sets),
                    after: plan.after,
                    proved: plan.proved,
                },
            };
            Repacked {
                sets: range,
                span,
                before,
                outcome,
            }
        })
        .collect()
}

/// The sets that a piece becomes, each of members by set and number within the piece as it was.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Plan {
    sets: Vec<Vec<(usize, usize)>>,
    after: Measure,
    proved: bool,
}

/// Runs of sets between which there is nothing but comments, without labels, delayed jumps and their slots; a jump that is
/// not delayed ends one.
fn pieces(document: &Document, listing: &Listing) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut open: Option<Range<usize>> = None;
    let mut slot = false;
    for (at, set) in listing.sets.iter().enumerate() {
        let fixed = std::mem::replace(&mut slot, set.has_slot());
        let stays = fixed || set.has_slot() || set.members.is_empty() || is_fixed(set);
        let follows = open.as_ref().is_some_and(|range| {
            let before = &listing.sets[range.end - 1];
            before.statement + 1 == set.statement
                && set.labels.is_empty()
                && before.flow().is_none()
        });
        if !follows || stays {
            out.extend(open.take());
        }
        match &mut open {
            _ if stays => {}
            Some(range) => range.end = at + 1,
            None => open = Some(at..at + 1),
        }
    }
    out.extend(open);
    debug_assert!(out.iter().all(|range| {
        let last = listing.sets.get(range.end - 1);
        last.is_some_and(|set| set.statement < document.statements.len())
    }));
    out.retain(|range| range.len() > 1);
    out
}

/// Returns true if an instruction of the set is not known, or is a mark of a loop, which belongs to the set.
fn is_fixed(set: &Set) -> bool {
    set.members.iter().any(|member| match &member.instruction {
        Ok(instruction) => matches!(
            instruction.mnemonic.opcode,
            Opcode::Lpmarka | Opcode::Lpmarkb
        ),
        Err(_) => true,
    })
}

fn plan(
    model: &Listing,
    range: &Range<usize>,
    modulo: bool,
    capacity: &Capacity,
    choices: &mut u32,
) -> Result<Plan, KeptReason> {
    let sets = &model.sets[range.clone()];
    let members = || sets.iter().flat_map(|set| &set.members);
    if members().count() > MOST {
        return Err(KeptReason::TooLong { most: MOST });
    }
    let graph = graph(model, range, modulo, capacity);
    let before = measure(sets);
    let nothing = KeptReason::NothingGained { proved: false };
    let budget = CHOICES_OF_ONE.min(*choices);
    let (found, left) = search::search(&graph, capacity, budget);
    *choices -= budget - left;
    let found = found.ok_or(nothing)?;
    let sets = arranged(&graph, &found.cycles, found.length);
    let after = planned_measure(&model.sets[range.clone()], &sets);
    if after >= before {
        let proved = found.proved;
        return Err(KeptReason::NothingGained { proved });
    }
    Ok(Plan {
        sets,
        after,
        proved: found.proved,
    })
}

/// The members of each set in the order in which they are written; a set of none is a `nop`.
fn arranged(graph: &Graph, cycles: &[u32], length: u32) -> Vec<Vec<(usize, usize)>> {
    let mut sets: Vec<Vec<(usize, usize)>> = vec![Vec::new(); length as usize];
    for (node, &cycle) in graph.nodes.iter().zip(cycles) {
        sets[cycle as usize].extend(&node.members);
    }
    for set in &mut sets {
        set.sort_unstable();
    }
    sets
}

/// The demand of members together.
fn load<'a>(members: impl Iterator<Item = &'a Member>) -> Load {
    let instructions = members.filter_map(|member| member.instruction.as_ref().ok());
    let asked: Vec<Asked> = instructions.map(Asked::of).collect();
    Load::of(&asked)
}

fn measure(sets: &[Set]) -> Measure {
    let words = sets
        .iter()
        .map(|set| load(set.members.iter()).words().max(1));
    Measure {
        sets: sets.len() as u32,
        words: words.sum(),
    }
}

fn planned_measure(old: &[Set], sets: &[Vec<(usize, usize)>]) -> Measure {
    let words = sets.iter().map(|set| {
        let members = set.iter().map(|&(set, number)| &old[set].members[number]);
        load(members).words().max(1)
    });
    Measure {
        sets: sets.len() as u32,
        words: words.sum(),
    }
}

/// The piece's sets in the model become those of the plan.
fn replace(model: &mut Listing, range: &Range<usize>, plan: &Plan) {
    let old = &model.sets[range.clone()];
    let mut new: Vec<Set> = plan
        .sets
        .iter()
        .map(|members| Set {
            statement: old[0].statement,
            span: old[0].span,
            members: print::grouped(
                members
                    .iter()
                    .map(|&(set, number)| &old[set].members[number]),
            ),
            labels: Vec::new(),
            alignment: None,
            closes: Vec::new(),
            apart: false,
        })
        .collect();
    if let Some(last) = new.last_mut() {
        last.closes.clone_from(&old[old.len() - 1].closes);
    }
    if let Some(first) = new.first_mut() {
        first.labels.clone_from(&old[0].labels);
        first.alignment = old[0].alignment;
        first.apart = old[0].apart;
    }
    let fewer = range.len() - new.len();
    for hardware in &mut model.loops {
        if hardware.first >= range.end {
            hardware.first -= fewer;
        } else if hardware.contains(range.start) {
            hardware.count -= fewer;
        }
    }
    for place in model.labels.values_mut() {
        if *place >= range.end {
            *place -= fewer;
        }
    }
    model.sets.splice(range.clone(), new);
}

/// Takes back what the checker finds a fault in, until it finds none.
fn withdraw(
    listing: &Listing,
    pieces: &[Range<usize>],
    planned: &mut [Result<Plan, KeptReason>],
    capacity: &Capacity,
) {
    loop {
        let mut model = listing.clone();
        for (range, plan) in pieces.iter().zip(planned.iter()).rev() {
            if let Ok(plan) = plan {
                replace(&mut model, range, plan);
            }
        }
        let mut places: Vec<Range<usize>> = Vec::new();
        let mut fewer = 0;
        for (range, plan) in pieces.iter().zip(planned.iter()) {
            let count = plan.as_ref().map_or(range.len(), |plan| plan.sets.len());
            let start = range.start - fewer;
            places.push(start..start + count);
            fewer += range.len() - count;
        }
        let mut wrong: Vec<(usize, &'static str)> = Vec::new();
        for finding in check(&model, capacity) {
            let touches = [Some(finding.at.set), finding.with.map(|with| with.set)];
            for set in touches.into_iter().flatten() {
                let at = places.partition_point(|place| place.end <= set);
                let inside = places.get(at).is_some_and(|place| place.contains(&set));
                if inside && planned[at].is_ok() {
                    wrong.push((at, finding.broken.rule()));
                }
            }
        }
        if wrong.is_empty() {
            return;
        }
        for (at, rule) in wrong {
            planned[at] = Err(KeptReason::WouldBreak { rule });
        }
    }
}
