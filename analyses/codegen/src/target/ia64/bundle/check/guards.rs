//! The qualifying predicates that are never both true, each where its instruction reads it.
//!
//! ```text
//!      cmp.eq p6, p7 = r14, r0       p6 and p7 exclude each other
//! (p6) cmp.lt.unc p8, p9 = r15, r0   p8 and p9 are true only where p6 is: they exclude p7, too
//! (p8) mov r16 = 1                   excludes (p7) mov r16 = 2
//! ```
//!
//! A predicate that is written is another value from then on. Of each value it is known which compare wrote it beside which
//! other, and which earlier values it is covered by: it is true only where one of those is. Two values exclude each other if
//! one compare wrote both, or if all that covers one excludes the other. Stops: covers are older than what they cover.

use crate::target::ia64::relations::{Promise, PromiseKind};
use isa::Branch;
use isa::ia64::{Class, File, Inst, Parallel, Reg};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// A value of a predicate: the number of the write.
type Value = u32;

/// The value that is always true.
const TRUE: Value = 0;
/// Values that are followed from one to another at most.
const DEEPEST: u32 = 200;

/// The facts about a value.
#[derive(Clone, Default, Debug)]
struct Made {
    /// The sets of predicates one of which is true whenever this one is.
    covers: SmallVec<[SmallVec<[Value; 2]>; 1]>,
    compare: Option<Compared>,
}

/// The compare that wrote a value.
#[derive(Clone, Copy, Debug)]
struct Compared {
    at: u32,
    /// Its two targets exclude each other whatever their old values.
    sure: bool,
    /// The value before.
    old: Value,
}

/// The values of the qualifying predicates of a region's instructions.
#[derive(Debug)]
pub(super) struct Guards {
    /// The value of each instruction's predicate.
    values: Vec<Value>,
    made: Vec<Made>,
    /// Pairs that exclude each other by the author's word.
    promised: FxHashSet<(Value, Value)>,
    known: FxHashMap<(Value, Value), bool>,
}

impl Guards {
    pub(super) fn new(insts: &[&Inst], promises: &[Promise]) -> Guards {
        let mut out = Guards {
            values: Vec::with_capacity(insts.len()),
            made: vec![Made::default()],
            promised: FxHashSet::default(),
            known: FxHashMap::default(),
        };
        let mut now = [TRUE; 64];
        out.forget(&mut now, 1);
        for (at, inst) in insts.iter().enumerate() {
            for promise in promises.iter().filter(|promise| promise.at as usize == at) {
                out.promise(promise, &now);
            }
            let guard = now[usize::from(inst.predicate) & 63];
            out.values.push(guard);
            let mut next = now;
            for def in &inst.defs {
                if def.register.file == File::Predicate {
                    let to = usize::from(def.register.number) & 63;
                    let made = written(inst, at as u32, def.parallel, def.always, guard, now[to]);
                    next[to] = out.value(made);
                }
            }
            now = next;
            match inst.branch {
                Some(Branch::CountedRotating | Branch::WhileRotating) => out.forget(&mut now, 16),
                Some(Branch::Call) => out.forget(&mut now, 1),
                _ if inst.barrier => out.forget(&mut now, 1),
                _ => {}
            }
        }
        out
    }

    fn value(&mut self, made: Made) -> Value {
        self.made.push(made);
        self.made.len() as Value - 1
    }

    /// Forgets the predicates from this one on.
    fn forget(&mut self, now: &mut [Value; 64], first: usize) {
        for predicate in &mut now[first..] {
            *predicate = self.value(Made::default());
        }
    }

    fn promise(&mut self, promise: &Promise, now: &[Value; 64]) {
        let all: Vec<Value> = promise
            .predicates
            .iter()
            .map(|&number| now[usize::from(number) & 63])
            .collect();
        match promise.kind {
            PromiseKind::Exclusive => {
                for (at, &value) in all.iter().enumerate() {
                    for &other in &all[at + 1..] {
                        self.promised.insert((value.min(other), value.max(other)));
                    }
                }
            }
            PromiseKind::Implies => {
                for pair in all.windows(2) {
                    self.made[pair[0] as usize]
                        .covers
                        .push(SmallVec::from_slice(&pair[1..]));
                }
            }
            PromiseKind::Unrelated | PromiseKind::KeptByCalls => {}
        }
    }

    /// Returns whether two instructions never both execute.
    pub(super) fn exclude(&mut self, first: usize, second: usize) -> bool {
        self.exclusive(self.values[first], self.values[second], 0)
    }

    fn exclusive(&mut self, first: Value, second: Value, depth: u32) -> bool {
        if first == second || first == TRUE || second == TRUE || depth > DEEPEST {
            return false;
        }
        let pair = (first.min(second), first.max(second));
        if let Some(&known) = self.known.get(&pair) {
            return known;
        }
        // A promise may lead in a circle.
        self.known.insert(pair, false);
        let found = self.promised.contains(&pair)
            || self.of_one_compare(first, second, depth)
            || self.covered(first, second, depth)
            || self.covered(second, first, depth);
        self.known.insert(pair, found);
        found
    }

    fn of_one_compare(&mut self, first: Value, second: Value, depth: u32) -> bool {
        let compare = |value: Value| self.made[value as usize].compare;
        match (compare(first), compare(second)) {
            (Some(first), Some(second)) if first.at == second.at => {
                first.sure || self.exclusive(first.old, second.old, depth + 1)
            }
            _ => false,
        }
    }

    /// Returns whether all that covers a value excludes another.
    fn covered(&mut self, value: Value, other: Value, depth: u32) -> bool {
        let covers = self.made[value as usize].covers.clone();
        covers.iter().any(|cover| {
            let mut all = cover.iter();
            all.all(|&older| self.exclusive(older, other, depth + 1))
        })
    }
}

/// The facts about the value that an instruction writes.
fn written(
    inst: &Inst,
    at: u32,
    parallel: Parallel,
    always: bool,
    guard: Value,
    old: Value,
) -> Made {
    let compares = matches!(inst.class, Class::Compare | Class::FloatCompare);
    let mut made = Made::default();
    let mut cover = |values: &[Value]| {
        if !values.contains(&TRUE) {
            made.covers.push(SmallVec::from_slice(values));
        }
    };
    match parallel {
        Parallel::Alone if always => cover(&[guard]),
        Parallel::Alone => cover(&[old, guard]),
        Parallel::And | Parallel::DeMorganAnd => cover(&[old]),
        Parallel::Or | Parallel::DeMorganOr => cover(&[old, guard]),
    }
    let plain = parallel == Parallel::Alone;
    if compares && !matches!(parallel, Parallel::And | Parallel::Or) {
        made.compare = Some(Compared {
            at,
            sure: plain && (always || inst.predicate == 0),
            old,
        });
    }
    made
}

/// Returns whether a register is the qualifying predicate of an instruction.
pub(super) fn is_guard(register: Reg, inst: &Inst) -> bool {
    register.file == File::Predicate && register.number == inst.predicate
}
