//! The known relations of qualifying predicates: which exclude each other, and which imply another,
//! instruction by instruction.
//!
//! ```text
//!      cmp.eq p6, p7 = r14, r0      p6 and p7 exclude each other
//! (p6) cmp.lt.unc p8, p9 = r15, r0  p8 and p9 too, and each implies p6
//!      .pred.rel "mutex", p1, p2    so does what the author promises
//! ```
//!
//! A predicate that is written is another one from then on; parallel compares, which only ever clear or only
//! ever set, keep the relations that stay true. A relation is older or younger than a label: on entry there,
//! only the younger ones hold.
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volume 1, section 4.3; the manual of GNU `as`,
//! *IA-64 Dependent Features*, on `.pred.rel` and `.pred.safe_across_calls`.

use isa::ia64::{Class, File, Inst, Parallel, Reg};
use rustc_hash::FxHashMap;

/// A predicate, and how often it was written.
pub(crate) type Guard = (u8, u32);

/// A statement of the author about predicates, in front of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Promise {
    /// The number of the instruction that follows.
    pub at: u32,
    pub kind: PromiseKind,
    pub predicates: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PromiseKind {
    /// At most one is true.
    Exclusive,
    /// Each but the last implies the next.
    Implies,
    /// Nothing is known any longer of these predicates; of all, if none is named.
    Unrelated,
    /// A call leaves these as they were; of none: it leaves none.
    KeptByCalls,
}

/// Pairs that exclude or imply each other, each with the count of labels at which it was found.
pub(crate) struct Relations {
    written: [u32; 64],
    exclusive: FxHashMap<Guard, Vec<(Guard, u32)>>,
    implied: FxHashMap<Guard, Vec<(Guard, u32)>>,
    labels: u32,
    kept_by_calls: u64,
}

impl Default for Relations {
    fn default() -> Relations {
        Relations {
            written: [0; 64],
            exclusive: FxHashMap::default(),
            implied: FxHashMap::default(),
            labels: 0,
            kept_by_calls: 0,
        }
    }
}

/// Implications that are followed from one predicate to the next.
const LINKS: usize = 8;

impl Relations {
    /// The predicate as it is now.
    pub(crate) fn guard(&self, predicate: u8) -> Guard {
        (predicate, self.written[usize::from(predicate) & 63])
    }

    /// Labels so far.
    pub(crate) fn labels(&self) -> u32 {
        self.labels
    }

    /// Control may come here from elsewhere.
    pub(crate) fn label(&mut self) {
        self.labels += 1;
    }

    /// Returns true if a compare or the author states directly that these two exclude each other.
    pub(crate) fn told_apart(&self, left: Guard, right: Guard) -> bool {
        self.exclude(left, right, 0)
    }

    fn exclude(&self, left: Guard, right: Guard, since: u32) -> bool {
        let known = self.exclusive.get(&left);
        known.is_some_and(|all| all.iter().any(|pair| pair.0 == right && pair.1 >= since))
    }

    /// Returns true if at most one of the two is true on all ways that enter at the label of this number or behind it.
    pub(crate) fn apart(&self, left: Guard, right: Guard, since: u32) -> bool {
        if self.exclude(left, right, since) {
            return true;
        }
        let (first, other) = (
            self.implications(left, since),
            self.implications(right, since),
        );
        let mut pairs = first
            .iter()
            .flat_map(|it| other.iter().map(move |other| (it, other)));
        pairs.any(|(left, right)| self.exclude(*left, *right, since))
    }

    /// Returns true if the first is true only where the second is.
    pub(crate) fn implies(&self, left: Guard, right: Guard) -> bool {
        left.0 != 0 && self.implications(left, 0).contains(&right)
    }

    /// The predicate itself, and those that are true where it is.
    fn implications(&self, guard: Guard, since: u32) -> Vec<Guard> {
        let mut out = vec![guard];
        let mut at = 0;
        while at < out.len() && out.len() < LINKS {
            for (next, found) in self.implied.get(&out[at]).into_iter().flatten() {
                if *found >= since && !out.contains(next) {
                    out.push(*next);
                }
            }
            at += 1;
        }
        out
    }

    fn exclude_each_other(&mut self, left: Guard, right: Guard) {
        let labels = self.labels;
        self.exclusive
            .entry(left)
            .or_default()
            .push((right, labels));
        self.exclusive
            .entry(right)
            .or_default()
            .push((left, labels));
    }

    /// Takes in the author's statements.
    pub(crate) fn promised(&mut self, promise: &Promise) {
        let numbers = &promise.predicates;
        match promise.kind {
            PromiseKind::Exclusive => {
                for (index, &each) in numbers.iter().enumerate() {
                    for &other in &numbers[..index] {
                        self.exclude_each_other(self.guard(each), self.guard(other));
                    }
                }
            }
            PromiseKind::Implies => {
                for pair in numbers.windows(2) {
                    let (left, right) = (self.guard(pair[0]), self.guard(pair[1]));
                    let known = self.implied.entry(left).or_default();
                    known.push((right, self.labels));
                }
            }
            PromiseKind::Unrelated if numbers.is_empty() => self.forget(),
            PromiseKind::Unrelated => self.keep(|number| !numbers.contains(&number)),
            PromiseKind::KeptByCalls => {
                self.kept_by_calls = numbers
                    .iter()
                    .fold(0, |all, number| all | 1 << (number & 63));
            }
        }
    }

    /// Forgets everything.
    pub(crate) fn forget(&mut self) {
        self.exclusive.clear();
        self.implied.clear();
    }

    fn keep(&mut self, kept: impl Fn(u8) -> bool) {
        for pairs in [&mut self.exclusive, &mut self.implied] {
            pairs.retain(|it, others| {
                others.retain(|(other, _)| kept(other.0));
                kept(it.0) && !others.is_empty()
            });
        }
    }

    /// A call came back: the assembler knows nothing of predicates behind it, preserved or not, but those that the author
    /// names.
    pub(crate) fn called(&mut self) {
        let kept = self.kept_by_calls;
        self.keep(|number| kept >> number & 1 != 0);
    }

    /// Rotating registers have other names from here on.
    pub(crate) fn renamed(&mut self) {
        self.keep(|number| number < 16);
        self.written[16..].iter_mut().for_each(|count| *count += 1);
    }

    /// Takes in the writes of the instruction. Two targets of one compare exclude each other where they are
    /// written for certain, and stay so when both are written again.
    pub(crate) fn wrote(&mut self, inst: &Inst) {
        let targets: Vec<(u8, Parallel, bool)> = inst
            .defs
            .iter()
            .filter(|def| def.register.file == File::Predicate)
            .map(|def| (def.register.number & 63, def.parallel, def.always))
            .collect();
        if targets.is_empty() {
            return;
        }
        let qualifying = self.guard(inst.predicate);
        let old: Vec<Guard> = targets.iter().map(|target| self.guard(target.0)).collect();
        let before = matches!(old[..], [left, right] if self.exclude(left, right, 0));
        for &(number, ..) in &targets {
            self.written[usize::from(number)] += 1;
        }
        for (&(number, parallel, _), &old) in targets.iter().zip(&old) {
            let new = self.guard(number);
            match parallel {
                // Where it is true it was true before.
                Parallel::And | Parallel::DeMorganAnd => self.inherit(old, new),
                // What implied it implies it still.
                Parallel::Or | Parallel::DeMorganOr => {
                    for others in self.implied.values_mut() {
                        let found = others.iter().find(|(other, _)| *other == old);
                        let found = found.map(|(_, since)| (new, *since));
                        others.extend(found);
                    }
                }
                Parallel::Alone => {}
            }
        }
        let plain = targets.iter().all(|target| target.1 == Parallel::Alone);
        let always = targets.iter().any(|target| target.2);
        let certain = before || inst.predicate == 0 || always;
        let compares = matches!(inst.class, Class::Compare | Class::FloatCompare);
        if let (true, [left, right], true, true) = (compares, &targets[..], plain, certain) {
            let (first, other) = (self.guard(left.0), self.guard(right.0));
            self.exclude_each_other(first, other);
        }
        if compares && plain && always && inst.predicate != 0 {
            for target in &targets {
                let found = self.guard(target.0);
                let known = self.implied.entry(found).or_default();
                known.push((qualifying, self.labels));
            }
        }
    }

    /// The new one is true only where the old one was.
    fn inherit(&mut self, old: Guard, new: Guard) {
        for (other, since) in self.exclusive.get(&old).cloned().unwrap_or_default() {
            self.exclusive.entry(new).or_default().push((other, since));
            self.exclusive.entry(other).or_default().push((new, since));
        }
        if let Some(known) = self.implied.get(&old).cloned() {
            self.implied.insert(new, known);
        }
    }

    /// Drops the relations of predicates that were written since, except those that are still needed.
    pub(crate) fn prune(&mut self, asked: impl Fn(Guard) -> bool) {
        let written = self.written;
        let kept = |guard: Guard| written[usize::from(guard.0) & 63] == guard.1 || asked(guard);
        for pairs in [&mut self.exclusive, &mut self.implied] {
            pairs.retain(|it, others| {
                others.retain(|(other, _)| kept(*other));
                kept(*it) && !others.is_empty()
            });
        }
    }

    /// Pairs that are held.
    pub(crate) fn size(&self) -> usize {
        self.exclusive.len() + self.implied.len()
    }
}

/// Returns true if the register is the qualifying predicate of the instruction.
pub(crate) fn qualifies(inst: &Inst, register: Reg) -> bool {
    register.file == File::Predicate && register.number == inst.predicate
}
