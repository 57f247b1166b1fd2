//! The judgement whether a re-bundled block pays on the ways through it: from the ends of the blocks that
//! control comes from, to the starts of those that it goes to.
//!
//! ```text
//! L1: ...  (p6) br L2 ;;        what L2's first group waits for was started in L1, or three lines above
//! L2: ...
//! ```
//!
//! Each way is timed by the clock that was given with the block as it stands and as it would be, with its predicates true and
//! false; a block that is slower on one of them, whatever it gains alone, is kept, and so is one in a loop that rotates
//! registers, whose iterations overlap. A neighbour stands in its old text, and
//! again as it will be where its own re-bundling was accepted.

use super::{KeptReason, Outcome, Rebundled};
use crate::target::ia64::listing::{Item, Listing, listing};
use isa::ia64::{Branch, Clock, Inst, WayPart};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::ops::Range;
use syntax::ia64::{Document, Expr, OperandKind, StatementKind};

/// Instructions in front of a block and behind it.
const LEAD: u32 = 40;
/// Branches to a label that are followed.
const SOURCES: usize = 4;
/// Predicates of a block that are false one at a time.
const GUARDS: usize = 6;

/// Items in a row, and whether the last is a branch that is taken.
type Part = (Range<u32>, bool);

struct Ways<'a, C: Clock<Document = Document>> {
    listing: &'a Listing,
    clock: &'a C,
    old: C::Laid,
    new: C::Laid,
    /// Indexed by block: its items in the new text.
    placed: Vec<Option<Range<u32>>>,
    accepted: Vec<bool>,
    /// Keyed by branch: the item that it goes to.
    targets: FxHashMap<u32, u32>,
    /// Keyed by item at a label: branches to it.
    sources: FxHashMap<u32, Vec<u32>>,
    labelled: Vec<u32>,
}

/// Keeps blocks that are slower on a way as they were. `blocks` are those of the listing from `first` on.
pub(super) fn judge<C: Clock<Document = Document>>(
    document: &Document,
    text: &str,
    listed: &Listing,
    clock: &C,
    blocks: &mut [Rebundled],
) {
    if !blocks
        .iter()
        .any(|block| matches!(block.outcome, Outcome::Rewritten { .. }))
    {
        return;
    }
    let mut written = text.to_owned();
    let mut spans: Vec<Option<Range<u32>>> = vec![None; blocks.len()];
    let mut moved = 0i64;
    for (at, block) in blocks.iter().enumerate() {
        if let Outcome::Rewritten { text: new, .. } = &block.outcome {
            let start = (i64::from(block.span.start) + moved) as usize;
            let length = (block.span.end - block.span.start) as usize;
            written.replace_range(start..start + length, new);
            spans[at] = Some(start as u32..(start + new.len()) as u32);
            moved += new.len() as i64 - length as i64;
        }
    }
    let again = syntax::ia64::parse(&written);
    let relisted = listing(&again, &written);
    let start = |item: &Item| again.statements[item.statement as usize].span.start;
    let placed = spans.iter().map(|span| {
        let span = span.as_ref()?;
        let first = relisted
            .items
            .partition_point(|item| start(item) < span.start);
        let end = relisted
            .items
            .partition_point(|item| start(item) < span.end);
        Some(first as u32..end as u32)
    });
    let (targets, labelled) = targets(document, listed);
    let mut sources: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    for (&branch, &target) in &targets {
        sources.entry(target).or_default().push(branch);
    }
    sources.values_mut().for_each(|all| all.sort_unstable());
    let mut ways = Ways {
        listing: listed,
        clock,
        old: clock.laid(document, text, &numbered(listed)),
        new: clock.laid(&again, &written, &numbered(&relisted)),
        placed: placed.collect(),
        accepted: vec![false; blocks.len()],
        targets,
        sources,
        labelled,
    };
    let all: Vec<Range<u32>> = blocks.iter().map(|block| block.items.clone()).collect();
    for (at, block) in blocks.iter_mut().enumerate() {
        let Outcome::Rewritten { after, .. } = &block.outcome else {
            continue;
        };
        if ways.renamed(&block.items) {
            block.outcome = Outcome::Kept(KeptReason::Renamed);
            continue;
        }
        let fewer = (after.nops, after.bundles) < (block.before.nops, block.before.bundles);
        match ways.verdict(&all, at) {
            Err((before, after)) => {
                block.outcome = Outcome::Kept(KeptReason::Slower { before, after });
            }
            Ok(false) if !fewer => {
                block.outcome = Outcome::Kept(KeptReason::NoFaster);
            }
            Ok(_) => ways.accepted[at] = true,
        }
    }
}

/// The instructions of a listing with their statements.
fn numbered(listing: &Listing) -> Vec<(u32, Inst)> {
    let items = listing.items.iter();
    items
        .map(|item| (item.statement, item.inst.clone()))
        .collect()
}

/// The targets of branches, and the items that stand at labels.
fn targets(document: &Document, listing: &Listing) -> (FxHashMap<u32, u32>, Vec<u32>) {
    let mut labels: FxHashMap<&SmolStr, u32> = FxHashMap::default();
    let mut labelled = Vec::new();
    let mut items = listing.items.iter().peekable();
    let mut at = 0u32;
    for (index, statement) in document.statements.iter().enumerate() {
        if items
            .next_if(|item| item.statement as usize == index)
            .is_some()
        {
            at += 1;
        }
        if let StatementKind::Label(name) = &statement.kind {
            labels.insert(name, at);
            labelled.push(at);
        }
    }
    labelled.dedup();
    let mut targets = FxHashMap::default();
    for (at, item) in listing.items.iter().enumerate() {
        let StatementKind::Instruction(instruction) =
            &document.statements[item.statement as usize].kind
        else {
            continue;
        };
        let calls = matches!(item.inst.branch, None | Some(Branch::Call | Branch::Return));
        if let Some(OperandKind::Value(Expr::Name(name))) =
            instruction.sources.last().map(|source| &source.kind)
            && !calls
            && let Some(&target) = labels.get(name)
            && (target as usize) < listing.items.len()
        {
            targets.insert(at as u32, target);
        }
    }
    (targets, labelled)
}

impl<C: Clock<Document = Document>> Ways<'_, C> {
    /// Returns true if control goes on behind the item where nothing else is known of it.
    fn ends(&self, item: u32) -> bool {
        let inst = &self.listing.items[item as usize].inst;
        let leaves = matches!(
            inst.branch,
            Some(Branch::Jump | Branch::Call | Branch::Return)
        );
        leaves && inst.predicate == 0
    }

    /// Returns true if a loop around the block rotates registers.
    fn renamed(&self, block: &Range<u32>) -> bool {
        self.targets.iter().any(|(&branch, &target)| {
            let around = target <= block.start && block.start <= branch;
            around
                && self.listing.items[target as usize..=branch as usize]
                    .iter()
                    .any(|item| {
                        let branch = item.inst.branch;
                        matches!(
                            branch,
                            Some(Branch::CountedRotating | Branch::WhileRotating)
                        )
                    })
        })
    }

    /// Returns the items that execute in front of the item, without a branch that is taken.
    fn before(&self, item: u32) -> Option<Range<u32>> {
        let first = item.saturating_sub(LEAD);
        let start = (first..item)
            .rev()
            .find(|&it| self.ends(it))
            .map_or(first, |it| it + 1);
        (start < item).then_some(start..item)
    }

    /// Returns the items that execute from the item on.
    fn behind(&self, item: u32) -> Option<Range<u32>> {
        let most = (item + LEAD).min(self.listing.items.len() as u32);
        let end = (item..most)
            .find(|&it| self.ends(it))
            .map_or(most, |it| it + 1);
        (item < end).then_some(item..end)
    }

    fn ways_in(&self, block: &Range<u32>) -> Vec<Vec<Part>> {
        let mut out: Vec<Vec<Part>> = Vec::new();
        out.extend(self.before(block.start).map(|range| vec![(range, false)]));
        if self.labelled.binary_search(&block.start).is_ok() || out.is_empty() {
            // From where nothing is known.
            out.push(Vec::new());
        }
        let sources = self.sources.get(&block.start).into_iter().flatten();
        for &branch in sources.take(SOURCES) {
            let range = self
                .before(branch)
                .map_or(branch..branch + 1, |range| range.start..branch + 1);
            out.push(vec![(range, true)]);
        }
        out
    }

    fn ways_out(&self, block: &Range<u32>) -> Vec<(bool, Vec<Part>)> {
        let last = block.end - 1;
        let mut out = Vec::new();
        if !self.ends(last) {
            let behind = self.behind(block.end);
            out.push((
                false,
                behind.map(|range| vec![(range, false)]).unwrap_or_default(),
            ));
        }
        if let Some(&target) = self.targets.get(&last) {
            let there = self.behind(target);
            out.push((
                true,
                there.map(|range| vec![(range, false)]).unwrap_or_default(),
            ));
        }
        if out.is_empty() {
            out.push((true, Vec::new()));
        }
        out
    }

    /// The parts as they stand in the old or the new text.
    fn laid(
        &self,
        blocks: &[Range<u32>],
        parts: &[Part],
        new: &dyn Fn(usize) -> bool,
    ) -> Vec<WayPart<'_, C::Laid>> {
        let mut out: Vec<WayPart<'_, C::Laid>> = Vec::new();
        for (range, jumps) in parts {
            let mut at = range.start;
            while at < range.end {
                let number = blocks.partition_point(|block| block.end <= at);
                let block = blocks.get(number).filter(|block| block.start <= at);
                let next = blocks
                    .get(number)
                    .map_or(range.end, |block| match block.start <= at {
                        true => block.end,
                        false => block.start,
                    });
                let end = next.min(range.end);
                let whole = block.is_some_and(|block| block.start == at && block.end == end);
                let changed = self.placed.get(number).and_then(Option::as_ref);
                let (laid, items) = match changed.filter(|_| whole && new(number)) {
                    Some(items) => (&self.new, items.clone()),
                    None => (&self.old, at..end),
                };
                let jumps = *jumps && end == range.end;
                at = end;
                // What goes on in the same text may go on in the same bundle.
                match out.last_mut() {
                    Some(last)
                        if !last.jumps
                            && std::ptr::eq(last.laid, laid)
                            && last.items.end == items.start =>
                    {
                        last.items.end = items.end;
                        last.jumps = jumps;
                    }
                    _ => out.push(WayPart { laid, items, jumps }),
                }
            }
        }
        out
    }

    /// Returns whether some way is faster; if one is slower, the error is its cycles before and after.
    fn verdict(&self, blocks: &[Range<u32>], at: usize) -> Result<bool, (u64, u64)> {
        let block = &blocks[at];
        let mut guards: Vec<u8> = self.listing.items[block.start as usize..block.end as usize]
            .iter()
            .map(|item| item.inst.predicate)
            .filter(|&predicate| predicate != 0)
            .collect();
        guards.sort_unstable();
        guards.dedup();
        let mut off = vec![0u64];
        if !guards.is_empty() {
            off.push(u64::MAX);
            off.extend(guards.iter().take(GUARDS).map(|guard| 1 << (guard & 63)));
        }
        let mut faster = false;
        for from in self.ways_in(block) {
            for (jumps, to) in self.ways_out(block) {
                let mut parts = from.clone();
                parts.push((block.clone(), jumps));
                parts.extend(to);
                for neighbours in [false, true] {
                    let near = |it: usize| neighbours && self.accepted[it];
                    let before = self.laid(blocks, &parts, &near);
                    let after = self.laid(blocks, &parts, &|it| it == at || near(it));
                    for &off in &off {
                        let before = self.clock.cycles(&before, off);
                        let after = self.clock.cycles(&after, off);
                        if after > before {
                            return Err((before, after));
                        }
                        faster |= after < before;
                    }
                }
            }
        }
        Ok(faster)
    }
}
