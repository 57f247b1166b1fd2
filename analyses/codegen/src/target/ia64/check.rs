//! Judges a re-bundled text by the two texts alone: the same instructions, none moved across a label, each pair that
//! depends on each other in its order and in as many groups as the manual asks for.
//!
//! Compares every two instructions between two labels by the registers that they read and write, without the
//! histories that the scheduler's dependences are made of. Predicates exclude each other where one compare
//! wrote both and nothing else did since, or where the original had both instructions in one group.

use super::listing::Listing;
use crate::target::ia64::relations::{Promise, PromiseKind};
use isa::Branch;
use isa::ia64::{Access, Class, Def, File, Inst, Parallel, Reg};
use std::collections::HashMap;
use syntax::ia64::{Document, StatementKind};

/// The difference that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Labels, directives or definitions differ, or the instructions between two of them.
    Structure(String),
    /// An instruction is gone, or another is there.
    Instructions(String),
    /// Two instructions changed places, or came too close.
    Order {
        first: String,
        second: String,
        through: Option<Reg>,
    },
}

/// A text and its reading.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    pub text: &'a str,
    pub document: &'a Document,
    pub listing: &'a Listing,
}

/// The items between two labels or directives.
type Stretch = Vec<usize>;

impl Side<'_> {
    /// Everything that no instruction may cross, and the items between.
    fn stretches(&self) -> (Vec<String>, Vec<Stretch>) {
        let (mut marks, mut out) = (Vec::new(), vec![Vec::new()]);
        let mut items = self.listing.items.iter().enumerate().peekable();
        for (index, statement) in self.document.statements.iter().enumerate() {
            match &statement.kind {
                StatementKind::Open
                | StatementKind::Close
                | StatementKind::Template(_)
                | StatementKind::Stop => {}
                StatementKind::Instruction(_) => {
                    let Some((at, item)) =
                        items.next_if(|(_, item)| item.statement as usize == index)
                    else {
                        continue;
                    };
                    if let Some(stretch) = out.last_mut()
                        && item.inst.class != Class::Nop
                    {
                        stretch.push(at);
                    }
                }
                _ => {
                    marks.push(self.slice(index));
                    out.push(Vec::new());
                }
            }
        }
        (marks, out)
    }
    fn slice(&self, statement: usize) -> String {
        let span = self.document.statements[statement].span;
        let slice = self
            .text
            .get(span.start as usize..span.end as usize)
            .unwrap_or("");
        slice.split_whitespace().collect::<Vec<_>>().join(" ")
    }
    fn instruction(&self, item: usize) -> String {
        self.slice(self.listing.items[item].statement as usize)
    }
}

/// Checks that `new` executes as `old` does.
pub fn check(old: Side<'_>, new: Side<'_>) -> Result<(), Fault> {
    let ((old_marks, old_stretches), (new_marks, new_stretches)) =
        (old.stretches(), new.stretches());
    if old_marks != new_marks {
        let differs = old_marks
            .iter()
            .zip(&new_marks)
            .find(|(left, right)| left != right);
        let text = differs.map_or_else(
            || "their number".to_owned(),
            |(left, right)| format!("`{left}`, `{right}`"),
        );
        return Err(Fault::Structure(text));
    }
    let compare = compares(old.listing);
    for (before, after) in old_stretches.iter().zip(&new_stretches) {
        // The n-th of the same text is the n-th.
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for &item in after.iter().rev() {
            places.entry(new.instruction(item)).or_default().push(item);
        }
        let mut place = Vec::with_capacity(before.len());
        for &item in before {
            let text = old.instruction(item);
            match places.get_mut(&text).and_then(Vec::pop) {
                Some(found) => place.push(found),
                None => return Err(Fault::Instructions(text)),
            }
        }
        if let Some((text, _)) = places.iter().find(|(_, left)| !left.is_empty()) {
            return Err(Fault::Instructions(text.clone()));
        }
        pairs(old, new, before, &place, &compare)?;
    }
    Ok(())
}

/// An address as a distance from a register, as some instruction left it or as it was at the start.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    root: (Option<usize>, Reg),
    distance: i64,
}

/// Returns for each instruction the place where it reads or writes memory.
fn places(old: Side<'_>, before: &[usize]) -> Vec<Option<Place>> {
    let mut now: HashMap<Reg, Place> = HashMap::new();
    let mut out = Vec::new();
    for &item in before {
        let inst = &old.listing.items[item].inst;
        let of = |now: &HashMap<Reg, Place>, register: Reg| {
            now.get(&register).copied().unwrap_or(Place {
                root: (None, register),
                distance: 0,
            })
        };
        out.push(inst.memory.map(|memory| of(&now, memory.base)));
        let mut written: Vec<(Reg, Place)> = Vec::new();
        for def in &inst.defs {
            let stepped = inst
                .memory
                .filter(|memory| memory.base == def.register)
                .and_then(|memory| memory.step);
            let from = match (stepped, inst.offset) {
                _ if inst.predicate != 0 => None,
                (Some(by), _) => Some((def.register, by)),
                (None, Some((register, by))) => Some((register, by)),
                (None, None) => None,
            };
            let place = match from {
                Some((register, by)) => {
                    let mut place = of(&now, register);
                    place.distance = place.distance.wrapping_add(by);
                    place
                }
                None => Place {
                    root: (Some(item), def.register),
                    distance: 0,
                },
            };
            written.push((def.register, place));
        }
        now.extend(written);
    }
    out
}

/// Returns for each item the compare that wrote its predicate last, where that wrote for certain and no label
/// stands between.
fn compares(listing: &Listing) -> Vec<Option<usize>> {
    let mut last: [Option<usize>; 64] = [None; 64];
    let mut out = Vec::with_capacity(listing.items.len());
    for (item, each) in listing.items.iter().enumerate() {
        if listing
            .regions
            .iter()
            .any(|region| region.start as usize == item)
        {
            last = [None; 64];
        }
        // What the author promises stands for a compare of its own.
        for (number, promised) in promises(listing).enumerate() {
            if promised.at as usize == item {
                for &predicate in &promised.predicates {
                    last[usize::from(predicate) & 63] = Some(usize::MAX - number);
                }
            }
        }
        let inst = &each.inst;
        out.push(last[usize::from(inst.predicate) & 63]);
        let sure = inst.predicate == 0 || inst.defs.iter().any(|def| def.always);
        let compares = matches!(inst.class, Class::Compare | Class::FloatCompare);
        let predicates = || {
            inst.defs
                .iter()
                .filter(|def| def.register.file == File::Predicate)
        };
        // Two results of one compare remain a pair if another compare that may not execute writes both again.
        let same = predicates()
            .map(|def| last[usize::from(def.register.number) & 63])
            .collect::<Vec<_>>();
        let kept = matches!(same[..], [Some(each), Some(other)] if each == other);
        for def in predicates() {
            let plain = def.parallel == Parallel::Alone && (sure || kept) && compares;
            last[usize::from(def.register.number) & 63] = plain.then_some(item);
        }
    }
    out
}

fn pairs(
    old: Side<'_>,
    new: Side<'_>,
    before: &[usize],
    place: &[usize],
    compare: &[Option<usize>],
) -> Result<(), Fault> {
    let points = places(old, before);
    for (second, &item) in before.iter().enumerate() {
        for (first, &other) in before[..second].iter().enumerate() {
            let (found, two) = (&old.listing.items[other], &old.listing.items[item]);
            let differ = found.inst.predicate != two.inst.predicate;
            let exclusive = differ
                && (compare[other].is_some() && compare[other] == compare[item]
                    || promised(old.listing, other, item));
            let (from, to) = (place[first], place[second]);
            let ordered = from < to;
            let apart = new.listing.items[from].group < new.listing.items[to].group;
            let together = found.group == two.group;
            let Some((through, close)) = relation(
                &found.inst,
                &two.inst,
                exclusive,
                (points[first], points[second]),
            ) else {
                continue;
            };
            // What the author had in one group may stay in one.
            let fine = ordered && (apart || close || together);
            // Two instructions of one group that only write or read under other predicates had no order
            // before, either.
            let free = together && !close && through.is_some() && differ;
            if !fine && !free {
                return Err(Fault::Order {
                    first: old.instruction(other),
                    second: old.instruction(item),
                    through,
                });
            }
        }
    }
    Ok(())
}

/// Predicates of which the author says that at most one is true.
fn promises(listing: &Listing) -> impl Iterator<Item = &Promise> {
    let all = listing.promises.iter();
    all.filter(|it| it.kind == PromiseKind::Exclusive)
}

/// Returns true if the author says that the predicates of two instructions exclude each other (`.pred.rel "mutex"`),
/// and neither is written from there to the second.
fn promised(listing: &Listing, first: usize, second: usize) -> bool {
    let guard = |item: usize| listing.items[item].inst.predicate;
    let pair = [guard(first), guard(second)];
    promises(listing).any(|promise| {
        let from = promise.at as usize;
        let mut labels = listing.regions.iter().map(|region| region.start as usize);
        from <= first
            && !labels.any(|label| from < label && label <= second)
            && pair.iter().all(|guard| promise.predicates.contains(guard))
            && !listing.items[from..second].iter().any(|item| {
                let mut defs = item.inst.defs.iter();
                defs.any(|def| pair.iter().any(|&p| def.register == Reg::predicate(p)))
            })
    })
}

/// Returns the reason why the second stands behind the first, and whether both may share a group in that
/// order.
fn relation(
    first: &Inst,
    second: &Inst,
    exclusive: bool,
    places: (Option<Place>, Option<Place>),
) -> Option<(Option<Reg>, bool)> {
    let writes = |inst: &Inst, register: Reg| {
        inst.defs
            .iter()
            .find(|def| def.register == register)
            .copied()
    };
    let mut found: Option<(Option<Reg>, bool)> = None;
    let mut add = |register: Option<Reg>, close: bool| {
        found = Some(match found {
            Some((known, was)) if !was || close => (known, was && close),
            _ => (register, close),
        });
    };
    // If the two never execute both, it matters only that one writes the predicate of the other, or always
    // writes.
    let guards =
        |def: &Def, other: &Inst| def.always || def.register == Reg::predicate(other.predicate);
    for def in first
        .defs
        .iter()
        .filter(|def| !exclusive || guards(def, second))
    {
        if second.uses.contains(&def.register) {
            // A check reads its predicate as other instructions do.
            let branch = second.branch.is_some_and(|kind| kind != Branch::Check)
                && (matches!(first.class, Class::Compare | Class::ToBranch)
                    || def.register == Reg::PFS);
            add(Some(def.register), branch || def.register == Reg::CFM);
        }
        if let Some(other) = writes(second, def.register)
            && !def.parallel.goes_with(other.parallel)
        {
            add(Some(def.register), false);
        }
    }
    for def in second
        .defs
        .iter()
        .filter(|def| !exclusive || guards(def, first))
    {
        if first.uses.contains(&def.register) {
            add(Some(def.register), true);
        }
    }
    if let (Some(found), Some(two)) = (first.memory, second.memory)
        && found.access != Access::Prefetch
        && two.access != Access::Prefetch
        && !exclusive
        && (found.ordered || two.ordered || found.access.writes() || two.access.writes())
    {
        let apart = matches!(places, (Some(one_at), Some(two_at))
            if one_at.root == two_at.root
                && (one_at.distance + i64::from(found.bytes) <= two_at.distance
                    || two_at.distance + i64::from(two.bytes) <= one_at.distance));
        if !apart || found.ordered || two.ordered {
            add(None, true);
        }
    }
    if first.ends_block() || second.ends_block() || first.first || second.first {
        add(None, !(first.barrier || second.barrier || second.first));
    }
    found
}
