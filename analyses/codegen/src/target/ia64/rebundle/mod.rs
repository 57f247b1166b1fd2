//! "Re-bundle": the instructions of a block in groups and templates that waste fewer slots, in no more cycles.
//!
//! ```text
//! ld8 r14 = [r32] ;;  { nop, nop }        { .mmi  ld8 r14 = [r32]
//! add r15 = 1, r33 ;; { nop, nop }    ->         add r15 = 1, r33
//! st8 [r34] = r15                                nop.i 0 ;; }  ...
//! ```
//!
//! Block by block: dependences with the machine's latencies, groups and templates by `bundle::block`, slots
//! by `bundle::place`, written as explicit bundles with the instructions' own text and comments; nops go. A
//! block stays as it is when nothing is gained, when an instruction in it is opaque, and when it shares a
//! bundle with code that can't be moved.
//!
//! The checker of bundles (`bundle::check`) is asked about each block; one in which it finds a fault stays as it is.
//!
//! A block whose new code is slower on a way through it, by a clock that is given (`Clock`), is kept as it
//! was (`ways`).
//!
//! Does not move instructions across labels, directives and branches; the search does not look beyond the block for
//! latencies.

#[cfg(test)]
mod dropped_tests;
mod lay;
mod pack;
mod print;
mod ways;

use super::listing::{Item, LARGEST, Listing};
use super::stand::{as_written, insts_of, of_block};
use crate::machine::epic::Epic;
use crate::target::ia64::bundle::block::Choice;
use crate::target::ia64::bundle::check;
use crate::target::ia64::bundle::laid::Laid;
use crate::target::ia64::dependence::Dependence;
use crate::target::ia64::relations::Promise;
use isa::ia64::{Class, Clock, Inst, WayPart};
pub(super) use pack::{bundles, nop, pack};
use print::print;
use std::ops::Range;
use syntax::Span;
use syntax::ia64::decode::Opaque;
use syntax::ia64::{Document, Statement, StatementKind};

/// A stop in front of a block in whose first group the group of unchanged code would go on.
const STOP: &str = ";;\n\t";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// The subsets of the ready instructions that are tried in each cycle.
    pub choice: Choice,
    /// Subsets that are looked at in each block.
    pub decisions: usize,
    /// Rewrites blocks that gain nothing, too.
    pub all: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            choice: Choice::All,
            decisions: 4_000,
            all: false,
        }
    }
}

/// The measure of a block by itself: cycles until its last group issues when all operands from outside are
/// available (estimate), slots without an instruction (a fact for explicit bundles; for others the least that
/// its groups need, a bound).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Measure {
    pub cycles: u32,
    pub nops: u32,
    pub bundles: u32,
}

/// The outcome of re-bundling for a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rebundled {
    /// Items of the listing.
    pub items: Range<u32>,
    /// From its first bundle or instruction to its last stop.
    pub span: Span,
    pub before: Measure,
    /// True if its bundles are written in the text.
    pub explicit: bool,
    pub outcome: Outcome,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    Rewritten {
        text: String,
        after: Measure,
        /// No schedule of so few cycles has fewer nops.
        proved: bool,
    },
    Kept(KeptReason),
}

/// The reason why a block stays as it is.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KeptReason {
    #[error("more than {most} instructions without a label")]
    TooLong { most: usize },
    #[error(transparent)]
    Opaque(Opaque),
    #[error("it shares a bundle with a label, a directive or another block")]
    SharedBundle,
    #[error("it holds nothing but nops")]
    NopsOnly,
    #[error("no order of its instructions fits into the templates")]
    NoOrder,
    #[error("nothing is gained")]
    NothingGained,
    #[error("its new bundles are wrong: {0}")]
    Wrong(check::Violation),
    #[error("its loop renames registers: what one iteration leaves to the next is not timed here")]
    Renamed,
    #[error(
        "it would be slower on a way through it: {after} cycles for {before}, with what stands in front of it and behind"
    )]
    Slower { before: u64, after: u64 },
    #[error("no way through it would be faster")]
    NoFaster,
}

/// The clock that is not given.
enum NoClock {}

impl Clock for NoClock {
    type Document = Document;
    type Laid = NoClock;

    fn laid(&self, _: &Document, _: &str, _: &[(u32, Inst)]) -> NoClock {
        match *self {}
    }
    fn cycles(&self, _: &[WayPart<'_, NoClock>], _: u64) -> u64 {
        match *self {}
    }
}

/// All blocks of a file, in order, each judged by itself.
#[must_use]
pub fn rebundle_untimed(
    document: &Document,
    text: &str,
    listing: &Listing,
    machine: &Epic,
    options: &Options,
) -> Vec<Rebundled> {
    rebundle(
        document,
        text,
        listing,
        machine,
        options,
        None,
        None::<&NoClock>,
    )
}

/// All blocks of a file, in order. `within`: those that touch these bytes. Without a clock, blocks are judged by
/// themselves.
#[must_use]
pub fn rebundle<C: Clock<Document = Document>>(
    document: &Document,
    text: &str,
    listing: &Listing,
    machine: &Epic,
    options: &Options,
    within: Option<Span>,
    clock: Option<&C>,
) -> Vec<Rebundled> {
    let file = Source { document, text };
    let mut out: Vec<Rebundled> = Vec::new();
    let mut regions = listing.regions.iter().peekable();
    let mut region = 0..0;
    // Those of a region are made when the first of its blocks is asked for.
    let mut found: Option<(Vec<Dependence>, check::Region<'_>)> = None;
    for range in &listing.blocks {
        while let Some(next) = regions.next_if(|next| next.start <= range.start) {
            (region, found) = (next.clone(), None);
        }
        let statements = &document.statements[extent(document, listing, range)];
        let span = statements[0].span.to(statements[statements.len() - 1].span);
        if within.is_some_and(|within| within.end < span.start || within.start > span.end) {
            continue;
        }
        let items = &listing.items[range.start as usize..range.end as usize];
        let mut next = Rebundled {
            items: range.clone(),
            span,
            before: Measure::default(),
            explicit: items.iter().all(|item| item.bundle.is_some()),
            outcome: Outcome::Kept(KeptReason::TooLong { most: LARGEST }),
        };
        if region.len() <= LARGEST {
            let (found, judge) = found.get_or_insert_with(|| {
                let found = listing.region_dependences(&region);
                (found, judge(listing, &region))
            });
            let found = of_block(found, region.start, range, &insts_of(items));
            next.before = before(items, &found, machine, next.explicit);
            let part = Stretch {
                file,
                items,
                statements,
            };
            next.outcome = part
                .rewritten(&found, machine, options, next.before, &mut |laid| {
                    let block = check::Block {
                        start: (range.start - region.start) as usize,
                        end: (range.end - region.start) as usize,
                        marks: &marks(document, listing, &region),
                        cycles: &[],
                    };
                    judge.check(block, laid).map(|_| ())
                })
                .unwrap_or_else(Outcome::Kept);
        }
        // Without a stop in front of it, the group of unchanged code would continue into groups that were
        // made without it.
        let before = range.start.checked_sub(1);
        let open =
            before.is_some_and(|before| listing.items[before as usize].group == items[0].group);
        if let (Outcome::Rewritten { text, .. }, true) = (&mut next.outcome, open) {
            text.insert_str(0, STOP);
        }
        out.push(next);
    }
    if let (false, Some(clock)) = (options.all, clock) {
        ways::judge(document, text, listing, clock, &mut out);
    }
    for at in 1..out.len() {
        let (before, rest) = out.split_at_mut(at);
        let (last, next) = (&before[at - 1], &mut rest[0]);
        let ended =
            last.items.end == next.items.start && matches!(last.outcome, Outcome::Rewritten { .. });
        if let (Outcome::Rewritten { text, .. }, true) = (&mut next.outcome, ended)
            && let Some(rest) = text.strip_prefix(STOP)
        {
            *text = rest.to_owned();
        }
    }
    out
}

/// The checker of the new blocks of a region.
fn judge<'a>(listing: &'a Listing, region: &Range<u32>) -> check::Region<'a> {
    let own = listing
        .promises
        .iter()
        .filter(|promise| region.contains(&promise.at));
    let promises: Vec<Promise> = own
        .map(|it| Promise {
            at: it.at - region.start,
            ..it.clone()
        })
        .collect();
    let items = &listing.items[region.start as usize..region.end as usize];
    check::Region::new(insts_of(items), &promises)
}

/// The items of a region in front of which something stands that no bundle holds, counted from its start.
fn marks(document: &Document, listing: &Listing, region: &Range<u32>) -> Vec<usize> {
    let items = &listing.items[region.start as usize..region.end as usize];
    let between = |pair: &[Item]| {
        let [before, behind] = [pair[0].statement as usize, pair[1].statement as usize];
        document.statements[before + 1..behind]
            .iter()
            .any(|statement| {
                !matches!(
                    statement.kind,
                    StatementKind::Open
                        | StatementKind::Close
                        | StatementKind::Template(_)
                        | StatementKind::Stop
                )
            })
    };
    let pairs = items.windows(2).zip(1..);
    pairs
        .filter(|(pair, _)| between(pair))
        .map(|(_, at)| at)
        .collect()
}

/// Statements of a block: with the braces, templates and stops around its instructions.
fn extent(document: &Document, listing: &Listing, block: &Range<u32>) -> Range<usize> {
    let statement = |item: u32| listing.items[item as usize].statement as usize;
    let mut start = statement(block.start);
    while start > 0
        && matches!(
            document.statements[start - 1].kind,
            StatementKind::Open | StatementKind::Template(_)
        )
    {
        start -= 1;
    }
    let mut end = statement(block.end - 1) + 1;
    while document.statements.get(end).is_some_and(|statement| {
        matches!(statement.kind, StatementKind::Close | StatementKind::Stop)
    }) {
        end += 1;
    }
    start..end
}

/// A text and its reading.
#[derive(Clone, Copy)]
struct Source<'a> {
    document: &'a Document,
    text: &'a str,
}

/// A block of it.
#[derive(Clone, Copy)]
struct Stretch<'a> {
    file: Source<'a>,
    items: &'a [Item],
    statements: &'a [Statement],
}

impl Stretch<'_> {
    /// The reason why it can't be rewritten, whatever the gain.
    fn refused(&self) -> Option<KeptReason> {
        if let Some(reason) = self.items.iter().find_map(|item| item.opaque.as_ref()) {
            return Some(KeptReason::Opaque(reason.clone()));
        }
        let mut open = false;
        for statement in self.statements {
            let shared = match statement.kind {
                StatementKind::Open => std::mem::replace(&mut open, true),
                StatementKind::Close => !std::mem::replace(&mut open, false),
                _ => false,
            };
            if shared {
                return Some(KeptReason::SharedBundle);
            }
        }
        open.then_some(KeptReason::SharedBundle)
    }

    fn rewritten(
        &self,
        found: &[Dependence],
        machine: &Epic,
        options: &Options,
        before: Measure,
        judge: &mut dyn FnMut(&[Laid]) -> Result<(), check::Violation>,
    ) -> Result<Outcome, KeptReason> {
        if let Some(reason) = self.refused() {
            return Err(reason);
        }
        let packed = pack(
            &insts_of(self.items),
            found,
            machine,
            options.choice,
            options.decisions,
        )?;
        let after = Measure {
            cycles: packed.cycles,
            nops: packed.nops,
            bundles: packed.bundles,
        };
        let better = (after.cycles, after.nops) < (before.cycles, before.nops);
        if !better && !options.all {
            return Err(KeptReason::NothingGained);
        }
        let laid = bundles(&packed.groups);
        let verdict = judge(&laid);
        debug_assert_eq!(verdict, Ok(()), "{}: {laid:?}", print(self, &laid));
        verdict.map_err(KeptReason::Wrong)?;
        Ok(Outcome::Rewritten {
            text: print(self, &laid),
            after,
            proved: packed.proved,
        })
    }
}

/// The block as it stands.
fn before(items: &[Item], found: &[Dependence], machine: &Epic, explicit: bool) -> Measure {
    let groups = as_written(items, found, machine);
    let nop = |item: &Item| item.inst.class == Class::Nop;
    let filled = items.iter().filter(|item| !nop(item)).count() as u32;
    let mut nops = groups.iter().map(|group| group.nops).sum::<u32>();
    let mut bundles = (nops + filled).div_ceil(3);
    if explicit {
        let mut written: Vec<u32> = items.iter().filter_map(|item| item.bundle).collect();
        written.dedup();
        bundles = written.len() as u32;
        nops = (3 * bundles).saturating_sub(filled);
    }
    Measure {
        cycles: groups.last().map_or(0, |last| last.cycle + last.taken),
        nops,
        bundles,
    }
}
