//! One predicate for each iteration that says whether it happens, made from the exits of the one before by
//! any of five methods; everything that must not execute otherwise goes under it, or under the part of it
//! that is known behind some exits.
//!
//! ```text
//! exits q1, q2, at the end q3; V: the iteration happens             RecMII with N early exits
//! exit variable        (V) q1 -> (n1) q2 -> (n2) q3, each (q) W = k; V' = W == 0          N + 3
//! improved             the last without W: (n2) c = !q3; (c) V' = W == 0                  N + 2
//! parallel compare     V' = 1; (n2) and V', !q3; and V', W == 0                           N + 2
//! predicate registers  (V) q1, n1; (n1) q2, n2; (n2) q3, V'                               N + 1
//! or.andcm             (V) q1, V'; (V) or.andcm q2, V'; (V) or.andcm q3, V'               2; 1 without early exits
//! ```
//!
//! The compare that makes V' is a plain one: where V is false V' keeps the zero that rotation brought. Exits under
//! conditions of their own have a predicate that is computed ahead, and clear V' by it.
//!
//! Source: Muthukumar, Chen, Wu, Lavery, EPIC-1, 2001, sections 3 to 6; the last method is an extension.

use super::body::{Item, Loop, LoopExit};
use super::copies::Earlier;
use super::report::{Method, Reason};
use super::speculate::Check;
use crate::predicate::Set;
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Function, Operand, Operation, Virtual};
use crate::target::ia64::passes::constant_compare;
use crate::target::ia64::passes::unconditional;
use ir::Loc;
use isa::ia64::File;
use isa::ia64::register::Reg;
use isa::ia64::{Completer, Mnemonic, Opcode};
use rustc_hash::FxHashMap;
use smallvec::smallvec;

/// The way in which the block behind the loop knows which exit was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Taken {
    /// This predicate of the last iteration.
    Predicate(Virtual),
    /// A predicate in one register, cleared in front of the loop.
    Static(Virtual),
    /// The exit variable has this number.
    Number(Virtual, i64),
    /// No other one was.
    Otherwise,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Plan {
    pub(super) items: Vec<Item>,
    /// The predicate that the iteration happens.
    pub(super) valid: Virtual,
    pub(super) counted: bool,
    /// Indexed by exit.
    pub(super) taken: Vec<Taken>,
    /// In front of the loop.
    pub(super) before: Vec<Operation>,
    pub(super) statics: Vec<Virtual>,
    pub(super) earlier: Earlier,
}

/// Compares that may be of a parallel type with all their operands.
fn parallel_relation(operation: &Operation) -> Option<(Opcode, Completer)> {
    let (opcode, relation) = (operation.opcode(), operation.mnemonic.completers().next()?);
    let plain = matches!(opcode, Opcode::Cmp | Opcode::Cmp4)
        && matches!(relation, Completer::Eq | Completer::Ne);
    plain.then_some((opcode, relation))
}

struct Planner<'a> {
    function: &'a mut Function,
    given: &'a Loop,
    method: Method,
    valid: Virtual,
    out: Vec<Item>,
    /// Keyed by number of exits passed: the predicate that none of them was taken; the first is `valid`.
    passed: FxHashMap<usize, Virtual>,
    /// Keyed by own predicate and exits passed.
    both: FxHashMap<(Virtual, usize), Virtual>,
    taken: Vec<Taken>,
    before: Vec<Operation>,
    statics: Vec<Virtual>,
    /// The exit variable.
    variable: Option<Virtual>,
    /// The exit of `or.andcm` whose compare is the plain one; the others follow it.
    leader: usize,
    /// Predicates that are false for iterations that don't happen.
    safe: Set,
}

pub(super) fn plan(function: &mut Function, given: &Loop, method: Method) -> Result<Plan, Reason> {
    let valid = function.register(File::Predicate);
    let mut planner = Planner {
        function,
        given,
        method,
        valid,
        out: Vec::new(),
        passed: FxHashMap::from_iter([(0, valid)]),
        both: FxHashMap::default(),
        taken: Vec::new(),
        before: given.before.clone(),
        statics: given.statics.iter().copied().collect(),
        variable: None,
        leader: 0,
        safe: Set::default(),
    };
    planner.start();
    let mut next = 0;
    for item in &given.items {
        while next < item.passed {
            planner.pass(next)?;
            next += 1;
        }
        planner.item(item);
    }
    while next < given.exits.len() {
        planner.pass(next)?;
        next += 1;
    }
    planner.statics.sort_unstable();
    let mut plan = Plan {
        items: planner.out,
        valid,
        counted: method == Method::Counted,
        taken: planner.taken,
        before: planner.before,
        statics: planner.statics,
        earlier: given.earlier.clone(),
    };
    drop_unused(&mut plan, given);
    Ok(plan)
}

/// Drops items from which no access, no exit and nothing behind the loop is computed; one may be computed
/// from itself.
fn drop_unused(plan: &mut Plan, given: &Loop) {
    let mut kept: Set = plan.statics.iter().copied().collect();
    kept.insert(plan.valid);
    kept.extend(plan.taken.iter().filter_map(|taken| match taken {
        Taken::Predicate(register) | Taken::Static(register) | Taken::Number(register, _) => {
            Some(*register)
        }
        Taken::Otherwise => None,
    }));
    let left = given.exits.iter().flat_map(LoopExit::left);
    kept.extend(left.map(|(name, _)| name));
    let mut writers: FxHashMap<Virtual, Vec<usize>> = FxHashMap::default();
    for (at, item) in plan.items.iter().enumerate() {
        for write in item.operation.writes() {
            writers.entry(write).or_default().push(at);
        }
    }
    let mut needed = vec![false; plan.items.len()];
    let mut open: Vec<usize> = Vec::new();
    for (at, item) in plan.items.iter().enumerate() {
        let mut writes = item.operation.writes().peekable();
        needed[at] = item.operation.memory.is_some()
            || writes.peek().is_none()
            || writes.any(|write| kept.contains(&write));
        if needed[at] {
            open.push(at);
        }
    }
    while let Some(at) = open.pop() {
        let item = &plan.items[at];
        let again = item.check.as_ref();
        let inputs = again.map(Check::inputs).unwrap_or_default();
        let repeated = again.into_iter().flat_map(Check::writes);
        let all = inputs.into_iter().map(|(it, _)| it).chain(repeated);
        for read in item.operation.reads().chain(all) {
            let root = given.earlier.root(read);
            for &writer in writers.get(&root).into_iter().flatten() {
                if !needed[writer] {
                    needed[writer] = true;
                    open.push(writer);
                }
            }
        }
    }
    let mut at = 0;
    plan.items.retain(|_| {
        at += 1;
        needed[at - 1]
    });
}

const ZERO: Operand = Operand::fixed(Reg::P0);

impl Planner<'_> {
    fn predicate(&mut self) -> Virtual {
        self.function.register(File::Predicate)
    }

    /// Adds an operation under a predicate of this iteration; `valid` is the one that the iteration before
    /// left.
    fn push(
        &mut self,
        mut operation: Operation,
        guard: Option<Virtual>,
        passed: usize,
        free: bool,
    ) {
        operation.predicate = guard;
        let before = guard.filter(|&it| it == self.valid).into_iter().collect();
        self.out.push(Item {
            operation,
            before,
            passed,
            free,
            speculative: false,
            check: None,
        });
    }

    /// An operation from the loop that reads the same values.
    fn copied(
        &mut self,
        of: &Item,
        change: impl FnOnce(&mut Operation),
        guard: Option<Virtual>,
        passed: usize,
    ) {
        let mut item = of.clone();
        item.passed = passed;
        item.operation.predicate = guard;
        change(&mut item.operation);
        if guard == Some(self.valid) {
            item.before.push(self.valid);
        }
        item.free = false;
        self.out.push(item);
    }

    fn start(&mut self) {
        let several = self.given.exits.len();
        if matches!(
            self.method,
            Method::Tirumalai | Method::Improved | Method::ParallelCompare
        ) {
            let variable = self.function.register(File::General);
            self.statics.push(variable);
            self.before.push(number(variable, 0));
            self.variable = Some(variable);
        }
        if self.method == Method::ParallelCompare {
            self.set(several);
        }
        if self.method == Method::DeMorgan {
            self.leader = self.leader();
        }
    }

    /// The first exit whose compare can't be a parallel one: as the plain one it needs no other; else the first that
    /// nothing encloses.
    fn leader(&self) -> usize {
        let simple = |exit| self.simple(exit, exit);
        let alone = |compare: Item| parallel_relation(&compare.operation).is_none();
        let mut exits = 0..self.given.exits.len();
        exits
            .clone()
            .find(|&exit| simple(exit).is_some_and(|(compare, _)| alone(compare)))
            .or_else(|| exits.find(|&exit| simple(exit).is_some()))
            .unwrap_or(0)
    }

    /// `(V) V' = 1`
    fn set(&mut self, passed: usize) {
        let targets = [Operand::register(self.valid), ZERO];
        let operation = constant_compare(op!("cmp.eq"), None, targets, Loc::NONE);
        self.push(operation, Some(self.valid), passed, false);
    }

    /// `(predicate) V' = 0`
    fn clear(&mut self, register: Virtual, predicate: Virtual, passed: usize) {
        let targets = [Operand::register(register), ZERO];
        let operation = constant_compare(op!("cmp.ne.and"), None, targets, Loc::NONE);
        self.push(operation, Some(predicate), passed, true);
    }

    /// The compare of an exit, if nothing encloses it and its operands are unchanged at the exit `place`; and
    /// whether the exit is taken where the relation holds.
    fn simple(&self, exit: usize, place: usize) -> Option<(Item, bool)> {
        let predicate = self.given.exits[exit].predicate;
        let mut found = None;
        for (at, item) in self.given.items.iter().enumerate() {
            if item.operation.writes().any(|write| write == predicate) {
                if found.is_some() {
                    return None;
                }
                found = Some(at);
            }
        }
        let at = found?;
        let item = &self.given.items[at];
        let fits = item.operation.predicate.is_none()
            && item.operation.is_compare()
            && item.operation.is_certain()
            && item.operation.targets.len() == 2;
        let until = self
            .given
            .items
            .iter()
            .skip(at + 1)
            .filter(|item| item.passed <= place);
        let sources = same_iteration(item);
        let mut changed = false;
        for later in until {
            changed |= later
                .operation
                .writes()
                .any(|write| sources.contains(&write));
            // A step of an address that stays in its register.
            changed |= later.operation.memory.is_some()
                && later
                    .operation
                    .reads()
                    .any(|read| sources.contains(&read) && self.given.statics.contains(&read));
        }
        let first = item.operation.targets[0].virtual_register() == Some(predicate);
        (fits && !changed).then(|| (item.clone(), first))
    }

    /// Returns the part of `V` behind so many exits, in the chain of unconditional compares. Behind all of
    /// them that is no `V'`, which is true from the start: operations under it would execute for the
    /// iteration in front of the first, too.
    fn reached(&mut self, passed: usize) -> Virtual {
        if let Some(&known) = self.passed.get(&passed) {
            return known;
        }
        let from = self.reached(passed - 1);
        let behind = self.predicate();
        match self.simple(passed - 1, passed - 1) {
            Some((compare, first)) => {
                let targets = match first {
                    true => vec![ZERO, Operand::register(behind)],
                    false => vec![Operand::register(behind), ZERO],
                };
                let unc = unconditional(compare.operation.mnemonic);
                self.copied(
                    &compare,
                    |operation| {
                        operation.targets = targets.into();
                        operation.mnemonic = unc;
                    },
                    Some(from),
                    passed,
                );
            }
            None => {
                let targets = [Operand::register(behind), ZERO];
                let copy = constant_compare(op!("cmp.eq.unc"), None, targets, Loc::NONE);
                self.push(copy, Some(from), passed, true);
                let predicate = self.given.exits[passed - 1].predicate;
                self.clear(behind, predicate, passed);
            }
        }
        self.passed.insert(passed, behind);
        behind
    }

    /// Makes the exit, and the predicate behind it while the operands of its compare still have their values.
    fn pass(&mut self, exit: usize) -> Result<(), Reason> {
        self.exit(exit)?;
        if self.method != Method::Counted {
            self.reached(exit + 1);
        }
        Ok(())
    }

    fn exit(&mut self, exit: usize) -> Result<(), Reason> {
        let last = exit + 1 == self.given.exits.len();
        let predicate = self.given.exits[exit].predicate;
        let simple = self.simple(exit, exit);
        let valid = Operand::register(self.valid);
        match (self.method, simple) {
            (Method::Counted, _) => self.taken.push(Taken::Otherwise),
            (Method::DeMorgan, _) if exit < self.leader => {}
            (Method::DeMorgan, simple) if exit == self.leader => {
                let own = self.lead(exit, simple);
                for before in 0..exit {
                    let taken = self.follow(before);
                    self.taken.push(taken);
                }
                self.taken.push(own);
            }
            (Method::DeMorgan, _) => {
                let taken = self.follow(exit);
                self.taken.push(taken);
            }
            (Method::PredicateRegisters, Some((compare, first))) => {
                let from = self.reached(exit);
                let taken = match last {
                    true => ZERO,
                    false => Operand::register(self.predicate()),
                };
                let next = match last {
                    true => self.valid,
                    false => self.predicate(),
                };
                let targets = match first {
                    true => vec![taken.clone(), Operand::register(next)],
                    false => vec![Operand::register(next), taken.clone()],
                };
                self.copied(
                    &compare,
                    |operation| {
                        operation.targets = targets.into();
                        if !last {
                            operation.mnemonic = unconditional(operation.mnemonic);
                        }
                    },
                    Some(from),
                    exit + 1,
                );
                if !last {
                    self.passed.insert(exit + 1, next);
                }
                self.taken.push(match taken.virtual_register() {
                    Some(found) => Taken::Predicate(found),
                    None => Taken::Otherwise,
                });
            }
            (Method::PredicateRegisters, None) => {
                let from = self.reached(exit);
                let next = match last {
                    true => self.valid,
                    false => self.predicate(),
                };
                let mnemonic = if last {
                    op!("cmp.eq")
                } else {
                    op!("cmp.eq.unc")
                };
                let targets = [Operand::register(next), ZERO];
                let copy = constant_compare(mnemonic, None, targets, Loc::NONE);
                self.push(copy, Some(from), exit + 1, false);
                self.clear(next, predicate, exit + 1);
                if !last {
                    self.passed.insert(exit + 1, next);
                }
                self.taken.push(match last {
                    true => Taken::Otherwise,
                    false => Taken::Predicate(predicate),
                });
            }
            (_, None) => return Err(Reason::Exits(self.method)),
            (_, Some((compare, first))) => {
                let Some(variable) = self.variable else {
                    return Err(Reason::Exits(self.method));
                };
                let from = self.reached(exit);
                let (taken, next) = (self.predicate(), self.predicate());
                let order = |operand: Operand, other: Operand| match first {
                    true => vec![operand, other],
                    false => vec![other, operand],
                };
                let count = self.given.exits.len();
                let zero = Operation::plain(
                    op!("cmp.eq"),
                    vec![valid.clone(), ZERO],
                    vec![Operand::Number(0), Operand::register(variable)],
                );
                let together = parallel_relation(&compare.operation);
                if last
                    && self.method == Method::ParallelCompare
                    && let Some((base, relation)) = together
                {
                    // It continues where the relation does not hold.
                    let relation = match (relation, first) {
                        (Completer::Eq, true) | (Completer::Ne, false) => Completer::Ne,
                        _ => Completer::Eq,
                    };
                    let mnemonic = Mnemonic::new(base, &[relation, Completer::And]);
                    self.copied(
                        &compare,
                        |operation| {
                            operation.mnemonic = mnemonic;
                            operation.targets = smallvec![valid, ZERO];
                        },
                        Some(from),
                        count,
                    );
                } else {
                    let targets = order(Operand::register(taken), Operand::register(next));
                    self.copied(
                        &compare,
                        |operation| {
                            operation.targets = targets.into();
                            operation.mnemonic = unconditional(operation.mnemonic);
                        },
                        Some(from),
                        exit + 1,
                    );
                    if !last {
                        self.passed.insert(exit + 1, next);
                    }
                    if last && self.method == Method::ParallelCompare {
                        self.clear(self.valid, taken, count);
                    }
                }
                if !last || self.method == Method::Tirumalai {
                    let number = number(variable, exit as i64 + 1);
                    self.push(number, Some(taken), exit + 1, false);
                    self.taken.push(Taken::Number(variable, exit as i64 + 1));
                } else {
                    self.taken.push(Taken::Otherwise);
                }
                if last {
                    let (guard, mnemonic) = match self.method {
                        Method::Improved => (next, op!("cmp.eq")),
                        Method::ParallelCompare => (self.valid, op!("cmp.eq.and")),
                        _ => (self.valid, op!("cmp.eq")),
                    };
                    let mut zero = zero;
                    zero.mnemonic = mnemonic;
                    self.push(zero, Some(guard), count, false);
                    if let Some(taken) = self.taken.last_mut() {
                        *taken = Taken::Otherwise;
                    }
                }
            }
        }
        Ok(())
    }

    /// `(V) cmp q, V'`: V' keeps the zero that rotation brought where V is false.
    fn lead(&mut self, exit: usize, simple: Option<(Item, bool)>) -> Taken {
        let last = exit + 1 == self.given.exits.len();
        let predicate = self.given.exits[exit].predicate;
        let count = self.given.exits.len();
        let valid = Operand::register(self.valid);
        let Some((compare, first)) = simple else {
            self.set(count);
            self.clear_by_de_morgan(predicate, count);
            return match last {
                true => Taken::Otherwise,
                false => Taken::Predicate(predicate),
            };
        };
        let taken = match last {
            true => ZERO,
            false => Operand::register(self.predicate()),
        };
        let targets = match first {
            true => vec![taken.clone(), valid],
            false => vec![valid, taken.clone()],
        };
        let guard = self.valid;
        self.copied(
            &compare,
            |operation| operation.targets = targets.into(),
            Some(guard),
            count,
        );
        match taken.virtual_register() {
            Some(found) => Taken::Predicate(found),
            None => Taken::Otherwise,
        }
    }

    /// `(V) or.andcm q, V'`, or the condition of the exit's own predicate. It stands behind the plain
    /// compare.
    fn follow(&mut self, exit: usize) -> Taken {
        let last = exit + 1 == self.given.exits.len();
        let predicate = self.given.exits[exit].predicate;
        let count = self.given.exits.len();
        let valid = Operand::register(self.valid);
        let simple = self.simple(exit, exit.max(self.leader));
        let parallel = simple.as_ref().and_then(|(compare, first)| {
            let (base, relation) = parallel_relation(&compare.operation)?;
            let relation = match (relation, first) {
                (Completer::Eq, true) | (Completer::Ne, false) => Completer::Eq,
                _ => Completer::Ne,
            };
            Some(Mnemonic::new(
                base,
                &[relation, Completer::Or, Completer::Andcm],
            ))
        });
        if let (Some(mnemonic), Some((compare, _))) = (parallel, simple) {
            let taken = match last {
                true => ZERO,
                false => {
                    let found = self.predicate();
                    self.statics.push(found);
                    let targets = [Operand::register(found), ZERO];
                    self.before
                        .push(constant_compare(op!("cmp.ne"), None, targets, Loc::NONE));
                    Operand::register(found)
                }
            };
            let guard = self.valid;
            let targets = vec![taken.clone(), valid];
            self.copied(
                &compare,
                |operation| {
                    operation.mnemonic = mnemonic;
                    operation.targets = targets.into();
                },
                Some(guard),
                count,
            );
            return match taken.virtual_register() {
                Some(found) => Taken::Static(found),
                None => Taken::Otherwise,
            };
        }
        self.clear_by_de_morgan(predicate, count);
        match last {
            true => Taken::Otherwise,
            false => Taken::Predicate(predicate),
        }
    }

    /// `(q) or.andcm p0, V' = true`: of one kind with the other writers of V'.
    fn clear_by_de_morgan(&mut self, predicate: Virtual, passed: usize) {
        let targets = [ZERO, Operand::register(self.valid)];
        let operation = constant_compare(op!("cmp.eq.or.andcm"), None, targets, Loc::NONE);
        self.push(operation, Some(predicate), passed, true);
    }

    /// An operation of the loop, under the predicate that it needs.
    fn item(&mut self, item: &Item) {
        self.placed(item);
        // A predicate that is written again is another one.
        for written in item.operation.writes() {
            self.both.retain(|(own, _), _| *own != written);
        }
    }

    fn placed(&mut self, item: &Item) {
        let mut item = item.clone();
        let own = item.operation.predicate;
        if self.method == Method::Counted {
            self.under_valid(&mut item);
        }
        if item.free && (own.is_some() || self.method != Method::Counted) {
            self.out.push(item);
            return;
        }
        let passed = match self.method {
            Method::Counted => 0,
            _ => item.passed,
        };
        let guard = match own {
            None => self.reached(passed),
            Some(own) => self.and(own, passed),
        };
        if guard == self.valid && passed == 0 {
            item.before.push(guard);
        }
        item.operation.predicate = Some(guard);
        self.out.push(item);
    }

    /// In a counted loop the predicates of iterations that don't happen are false.
    fn under_valid(&mut self, item: &mut Item) {
        let compare = item.operation.is_compare();
        let own = item.operation.predicate;
        let guarded = own.is_none_or(|own| self.safe.contains(&own));
        if compare && own.is_none() && item.operation.is_certain() {
            item.operation.mnemonic = unconditional(item.operation.mnemonic);
        }
        let safe = compare && guarded;
        let zeroed = item.operation.is_certain();
        for write in item.operation.writes() {
            if self.function.file(write) != File::Predicate {
                continue;
            }
            if safe && zeroed {
                self.safe.insert(write);
            } else if !safe {
                self.safe.remove(&write);
            }
        }
    }

    /// A predicate that is true where `own` is, and none of the passed exits was taken.
    fn and(&mut self, own: Virtual, passed: usize) -> Virtual {
        if let Some(&known) = self.both.get(&(own, passed)) {
            return known;
        }
        if self.method == Method::Counted && self.safe.contains(&own) {
            return own;
        }
        let reached = self.reached(passed);
        let both = self.predicate();
        let mut writers = self
            .given
            .items
            .iter()
            .enumerate()
            .filter(|(_, item)| item.operation.writes().any(|write| write == own));
        let only = match (writers.next(), writers.next()) {
            (Some((at, item)), None) => Some((at, item.clone())),
            _ => None,
        };
        // The compare can be repeated under the reaching condition as long as its operands still have their
        // values.
        let again = only.filter(|(at, compare)| {
            let sources = same_iteration(compare);
            let mut changed = sources
                .iter()
                .any(|source| self.given.statics.contains(source));
            for later in &self.given.items[at + 1..] {
                changed |= later
                    .operation
                    .writes()
                    .any(|write| sources.contains(&write));
            }
            let compare = &compare.operation;
            compare.predicate.is_none() && compare.is_compare() && compare.is_certain() && !changed
        });
        let from_before = reached == self.valid && passed == 0;
        match again {
            Some((_, mut compare)) => {
                let first = compare.operation.targets[0].virtual_register() == Some(own);
                compare.operation.targets = match first {
                    true => smallvec![Operand::register(both), ZERO],
                    false => smallvec![ZERO, Operand::register(both)],
                };
                compare.operation.mnemonic = unconditional(compare.operation.mnemonic);
                compare.operation.predicate = Some(reached);
                if from_before {
                    compare.before.push(reached);
                }
                compare.free = false;
                compare.passed = passed;
                self.out.push(compare);
            }
            None => {
                // As a number: 1 where `own` is true.
                let flag = self.function.register(File::General);
                self.push(number(flag, 0), None, passed, true);
                self.push(number(flag, 1), Some(own), passed, true);
                let compare = Operation::plain(
                    op!("cmp.ne.unc"),
                    vec![Operand::register(both), ZERO],
                    vec![Operand::Number(0), Operand::register(flag)],
                );
                self.out.push(Item {
                    operation: Operation {
                        predicate: Some(reached),
                        ..compare
                    },
                    before: if from_before {
                        vec![reached]
                    } else {
                        Vec::new()
                    },
                    passed,
                    free: false,
                    speculative: false,
                    check: None,
                });
            }
        }
        self.both.insert((own, passed), both);
        both
    }
}

/// Returns the values of its own iteration that it reads.
fn same_iteration(item: &Item) -> Vec<Virtual> {
    let all = item.operation.reads();
    all.filter(|it| !item.before.contains(it)).collect()
}

/// `mov register = number`
fn number(register: Virtual, number: i64) -> Operation {
    Operation::plain(
        op!("mov"),
        vec![Operand::register(register)],
        vec![Operand::Number(number)],
    )
}
