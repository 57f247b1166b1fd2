//! The contents that an instruction group must not have, from stop to stop through the text: over branches
//! that are not taken and into code that begins with a label.
//!
//! ```text
//!      add r14 = r32, r33
//! (p6) br.cond.dptk .L1        not taken, the group goes on
//!      ld8 r15 = [r14] ;;      reads r14 in the group that writes it
//! ```
//!
//! One pass. For the open group it records each write and its predicate: a read or a write of it is a
//! violation, unless the predicates exclude each other on every way there, a label counted in; a branch that
//! is taken for certain ends the group, one under a predicate ends it for what that predicate or one that
//! implies it qualifies. The group in front is held beside it: a violation there is the reason why the stop
//! between the two is needed. Behind text that is not understood nothing is recorded, and the stops around it
//! count as needed.
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volume 1, section 3.4; volume 3, chapter 5.

use super::listing::{Item, Listing};
use crate::target::ia64::bundle::block::Type;
use crate::target::ia64::dependence::read_in_group;
use crate::target::ia64::relations::{Guard, Relations};
use isa::ia64::{Branch, Class, Def, Parallel, Reg};
use rustc_hash::{FxHashMap, FxHashSet};

/// Two instructions of one group that must not share it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub struct Violation {
    /// Items.
    pub to: u32,
    pub from: u32,
    pub register: Reg,
    pub hazard: Hazard,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Hazard {
    ReadAfterWrite,
    WriteAfterWrite,
    /// A loop branch behind one that `p63` qualifies.
    WriteAfterRead,
}

/// The findings on a file's groups.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Groups {
    /// The violations, by the later instruction.
    pub violations: Vec<Violation>,
    /// Groups whose stop in front keeps a rule, or must be taken to.
    needed: FxHashSet<u32>,
}

impl Groups {
    /// Returns true if the group could be one with the group in front of it.
    #[must_use]
    pub fn joins(&self, group: u32) -> bool {
        !self.needed.contains(&group)
    }
}

/// Writers of one register that are held at once; the oldest goes.
const HELD: usize = 64;
/// Relations of predicates that are looked through at a stop.
const RELATIONS: usize = 256;

/// A write, or a branch's read of its predicate.
#[derive(Clone, Copy)]
struct Held {
    item: u32,
    guard: Guard,
    def: Def,
    read: bool,
    /// Labels in front of it.
    labels: u32,
}

/// A group as far as it was read.
#[derive(Default)]
struct Marks {
    registers: FxHashMap<Reg, Vec<Held>>,
    /// True if something in it was not understood.
    unknown: bool,
}

impl Marks {
    fn of(&self, register: Reg) -> &[Held] {
        self.registers.get(&register).map_or(&[], Vec::as_slice)
    }
    fn add(&mut self, held: Held) {
        let all = self.registers.entry(held.def.register).or_default();
        if all.len() >= HELD {
            all.remove(0);
        }
        all.push(held);
    }
    fn retain(&mut self, kept: impl Fn(&Held) -> bool) {
        self.registers.retain(|_, all| {
            all.retain(&kept);
            !all.is_empty()
        });
    }
    fn lose(&mut self) {
        self.registers.clear();
        self.unknown = true;
    }
}

struct Walk<'l> {
    listing: &'l Listing,
    relations: Relations,
    open: Marks,
    before: Marks,
    /// Predicates under which a branch left the group.
    branched: Vec<Guard>,
    out: Groups,
}

impl Listing {
    /// Dependences within groups that the manual forbids.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        self.groups().violations
    }

    /// The rules of groups over the whole file.
    #[must_use]
    pub fn groups(&self) -> Groups {
        let mut walk = Walk {
            listing: self,
            relations: Relations::default(),
            open: Marks::default(),
            before: Marks::default(),
            branched: Vec::new(),
            out: Groups::default(),
        };
        let mut promises = self.promises.iter().peekable();
        let mut labels = self.regions.iter().skip(1).map(|region| region.start);
        let mut label = labels.next();
        let mut unread = self.unread.iter().copied().peekable();
        let mut group = self.items.first().map_or(0, |item| item.group);
        for (at, item) in self.items.iter().enumerate() {
            let at = at as u32;
            if item.group != group {
                walk.stop(item.group == group + 1);
                group = item.group;
            }
            while unread.next_if(|&it| it <= at).is_some() {
                walk.lose();
            }
            while label.is_some_and(|it| it <= at) {
                walk.relations.label();
                walk.branched.clear();
                label = labels.next();
            }
            while let Some(promise) = promises.next_if(|promise| promise.at <= at) {
                walk.relations.promised(promise);
            }
            walk.step(at, item);
        }
        let mut out = walk.out;
        out.violations.sort_unstable();
        out.violations.dedup();
        out
    }
}

impl Walk<'_> {
    fn stop(&mut self, next: bool) {
        self.before = std::mem::take(&mut self.open);
        if !next {
            self.before = Marks::default();
        }
        if self.relations.size() > RELATIONS {
            let held: FxHashSet<Guard> = self
                .before
                .registers
                .values()
                .flatten()
                .map(|value| value.guard)
                .collect();
            self.relations.prune(|relation| held.contains(&relation));
        }
    }

    /// Forgets the groups so far: the next instruction is not known to follow those that were read.
    fn lose(&mut self) {
        self.open.lose();
        self.before.lose();
        self.branched.clear();
        self.relations.forget();
    }

    /// The group ends without a stop.
    fn end(&mut self) {
        self.open.registers.clear();
        self.before.registers.clear();
    }

    fn step(&mut self, at: u32, item: &Item) {
        let inst = &item.inst;
        if item.opaque.is_some() {
            self.lose();
        }
        if inst.first {
            self.end();
        }
        let guard = self.relations.guard(inst.predicate);
        // Under the branch's own predicate control does not come here; reported as GNU `as` reports it.
        let gone = self
            .branched
            .iter()
            .any(|&it| it != guard && self.relations.implies(guard, it));
        if !gone {
            let found = self.conflicts(&self.open, item, guard, false);
            let with_before = !self.conflicts(&self.before, item, guard, true).is_empty();
            self.out
                .violations
                .extend(found.iter().map(|&(held, hazard)| Violation {
                    to: at,
                    from: held.item,
                    register: held.def.register,
                    hazard,
                }));
            if with_before {
                self.out.needed.insert(item.group);
            }
        }
        if self.open.unknown || self.before.unknown {
            self.out.needed.insert(item.group);
        }
        // It writes where it is taken, and then this way ends.
        let leaves = matches!(
            inst.branch,
            Some(Branch::Jump | Branch::Call | Branch::Return)
        );
        self.mark(at, item, guard, leaves);
        match (leaves, inst.predicate) {
            (false, _) => {}
            (true, 0) => {
                self.end();
                self.branched.clear();
                self.relations.forget();
            }
            (true, _) => {
                let relations = &self.relations;
                // A predicate is read, whatever it holds.
                let kept = |held: &Held| {
                    held.read || held.item == at || !relations.implies(held.guard, guard)
                };
                self.open.retain(kept);
                self.before.retain(kept);
                self.branched.push(guard);
            }
        }
        self.relations.wrote(inst);
        match inst.branch {
            Some(Branch::Call) => self.relations.called(),
            Some(Branch::CountedRotating | Branch::WhileRotating) => self.relations.renamed(),
            _ if inst.barrier || inst.class == Class::Alloc => self.relations.renamed(),
            _ => {}
        }
        if inst.last {
            self.end();
        }
    }

    fn mark(&mut self, at: u32, item: &Item, guard: Guard, leaves: bool) {
        let (inst, labels) = (&item.inst, self.relations.labels());
        let held = |def: Def, read: bool| Held {
            item: at,
            guard,
            def,
            read,
            labels,
        };
        if !leaves {
            inst.defs
                .iter()
                .for_each(|&def| self.open.add(held(def, false)));
        }
        // `nop.b`, `hint.b` and `break.b` read theirs as branches do.
        if inst.predicate == 63 && (leaves || inst.unit == Some(Type::B)) {
            let def = Def {
                register: Reg::predicate(63),
                parallel: Parallel::Alone,
                always: false,
            };
            self.open.add(held(def, true));
        }
    }

    /// `strict`: including accesses that only an author who knows the addresses may put into one group.
    fn conflicts(
        &self,
        marks: &Marks,
        item: &Item,
        guard: Guard,
        strict: bool,
    ) -> Vec<(Held, Hazard)> {
        let mut out = Vec::new();
        let inst = &item.inst;
        let writer = |held: &Held| &self.listing.items[held.item as usize].inst;
        let apart = |held: &Held| self.relations.apart(held.guard, guard, held.labels);
        for &register in &inst.uses {
            for held in marks.of(register) {
                if !held.read && !apart(held) && !read_in_group(writer(held), inst, register) {
                    out.push((*held, Hazard::ReadAfterWrite));
                }
            }
        }
        if item.rotates {
            let renames = |held: &&Held| {
                let branch = writer(held).branch;
                matches!(
                    branch,
                    Some(Branch::CountedRotating | Branch::WhileRotating)
                )
            };
            let found = marks.of(Reg::CFM).iter().filter(renames);
            out.extend(found.map(|held| (*held, Hazard::ReadAfterWrite)));
        }
        let whole = |def: &&Def| !matches!(def.register, Reg::PR | Reg::PR_ROT);
        // Moves to all predicates name those that they write.
        for def in inst.defs.iter().filter(whole) {
            for held in marks.of(def.register) {
                let rotates = matches!(
                    inst.branch,
                    Some(Branch::CountedRotating | Branch::WhileRotating)
                );
                match held.read {
                    true if rotates => out.push((*held, Hazard::WriteAfterRead)),
                    true => {}
                    false => {
                        // Two spills write two bits where their addresses differ as they should.
                        let parallel = held.def.parallel.goes_with(def.parallel)
                            && !(strict && def.register == Reg::UNAT);
                        // Those of `unc` write even when they do not execute.
                        let always = def.always || held.def.always;
                        if !parallel && (always || !apart(held)) {
                            out.push((*held, Hazard::WriteAfterWrite));
                        }
                    }
                }
            }
        }
        out
    }
}
