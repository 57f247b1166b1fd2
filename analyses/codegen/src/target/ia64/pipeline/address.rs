//! Addresses of a loop as `base + constant + step * iteration`, and in which iterations two accesses meet.
//!
//! ```text
//! v2 = shladd v1, 3, a     v1 = v1 + 1 in each iteration: a + 8 * (v1 at the start) + 8 * iteration
//! ```
//!
//! A register that one operation writes for certain as itself plus a constant is an induction; sums, differences, shifts
//! and moves of linear forms are linear, all modulo 2^64 like the machine's own. Everything else is a term of its own that
//! is the same only within an iteration, and only where no other access could come between.
//! Chains are followed `DEPTH` operations far.

use super::body::{Item, Loop};
use super::copies::Earlier;
use super::report::Alias;
use crate::predicate::Set;
use crate::predicate::loops::{Region, dominators};
use crate::target::ia64::code::Body;
use crate::target::ia64::code::{Function, Name, Object, Operand, Operation, Reference, Virtual};
use crate::target::ia64::describe::Described;
use ir::linear::Linear;
use isa::ia64::Access;
use isa::ia64::{Mnemonic, Opcode};
use rustc_hash::FxHashMap;

const DEPTH: usize = 64;

/// A linear form in front of the loop, and the number that an iteration adds to it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Progression {
    pub(super) start: Linear<Term>,
    pub(super) step: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(super) enum Term {
    /// A register's value in front of the loop.
    Initial(Virtual),
    /// The result of an operation of the same iteration, or of the iteration before.
    Value(Virtual, u32),
    /// A value that something in front of the loop computes.
    Above(u32),
}

impl Progression {
    fn number(number: i64) -> Progression {
        Progression {
            start: Linear::number(number),
            step: 0,
        }
    }
    fn symbol(term: Term) -> Progression {
        Progression {
            start: Linear::symbol(term),
            step: 0,
        }
    }
    fn plus(self, other: &Progression, factor: i64) -> Progression {
        Progression {
            start: self.start.plus(&other.start, factor),
            step: self.step.wrapping_add(other.step.wrapping_mul(factor)),
        }
    }
    /// Returns true where the two are as far apart in every iteration.
    pub(super) fn is_parallel(&self, other: &Progression) -> bool {
        self.start.terms == other.start.terms && self.step == other.step
    }
    /// The bytes from another one that is parallel.
    pub(super) fn beyond(&self, other: &Progression) -> i64 {
        self.start.constant.wrapping_sub(other.start.constant)
    }
    /// Returns true if it is the same sum of values in front of the loop in all iterations.
    pub(super) fn is_regular(&self) -> bool {
        let mut terms = self.start.terms.iter();
        terms.all(|(term, _)| matches!(term, Term::Initial(_) | Term::Above(_)))
    }
}

/// The known forms of values.
pub(super) struct Values<'a> {
    items: &'a [Item],
    /// The values that stay in one register, and may be of an iteration before.
    statics: &'a Set,
    earlier: &'a Earlier,
    /// The writer of each name.
    writers: FxHashMap<Virtual, Vec<usize>>,
    steps: FxHashMap<Virtual, Option<i64>>,
}

impl<'a> Values<'a> {
    pub(super) fn new(given: &'a Loop, described: &[Described]) -> Values<'a> {
        let mut writers: FxHashMap<Virtual, Vec<usize>> = FxHashMap::default();
        for (at, described) in described.iter().enumerate() {
            for def in &described.inst.defs {
                if let Some(found) = described.virtual_register(def.register) {
                    writers.entry(found).or_default().push(at);
                }
            }
        }
        Values {
            items: &given.items,
            statics: &given.statics,
            earlier: &given.earlier,
            writers,
            steps: FxHashMap::default(),
        }
    }

    /// Returns the value that the operation at `at` reads under this name.
    pub(super) fn read(&mut self, at: usize, name: Virtual, depth: usize) -> Progression {
        let items = self.items;
        let Some(writers) = self.writers.get(&name) else {
            return Progression::symbol(match self.earlier.ago(name) {
                0 => Term::Initial(name),
                ago => Term::Value(name, ago),
            });
        };
        let &[writer] = &writers[..] else {
            return Progression::symbol(Term::Value(name, u32::MAX));
        };
        let earlier = items[at].before.contains(&name);
        // A register that stays: a read in front of its write sees the value of the iteration before.
        let stays = !earlier && writer >= at;
        let step = self.step(name, writer, depth);
        if let Some(step) = step {
            let mut out = Progression::symbol(Term::Initial(self.earlier.initial(name)));
            out.step = step;
            if !(earlier || stays) {
                out.start.constant = step;
            }
            return out;
        }
        match earlier || stays || depth >= DEPTH {
            true => Progression::symbol(Term::Value(name, 1)),
            false => self
                .written(writer, depth + 1)
                .unwrap_or_else(|| Progression::symbol(Term::Value(name, 0))),
        }
    }

    /// Returns the number that an iteration adds to a register that is only ever increased.
    fn step(&mut self, name: Virtual, writer: usize, depth: usize) -> Option<i64> {
        if let Some(&known) = self.steps.get(&name) {
            return known;
        }
        // In the chain to itself it is no induction but a value.
        self.steps.insert(name, None);
        let item = &self.items[writer];
        let operation = &item.operation;
        let step = if operation.memory.is_some() {
            // Of what it writes only the address counts.
            let mut operands = operation.targets.iter().chain(&operation.sources);
            let stepped = operands.any(|operand| *operand == Operand::Address(Name::Virtual(name)));
            match operation.sources.get(1) {
                Some(Operand::Number(step)) if stepped && operation.predicate.is_none() => {
                    Some(*step)
                }
                _ => None,
            }
        } else {
            let written = self.written(writer, depth + 1);
            written.and_then(|written| {
                let itself = written.start.terms[..] == [(Term::Value(name, 1), 1)];
                (itself && written.step == 0).then_some(written.start.constant)
            })
        };
        self.steps.insert(name, step);
        step
    }

    /// Returns the result of a certain operation, if it is linear.
    fn written(&mut self, at: usize, depth: usize) -> Option<Progression> {
        let operation = &self.items[at].operation;
        // The value written under a predicate is read where the predicate held, unless the register stays.
        let certain = operation.is_certain()
            || operation
                .writes()
                .all(|write| !self.statics.contains(&write));
        let plain = certain && operation.targets.len() == 1;
        if !plain || depth >= DEPTH || operation.memory.is_some() {
            return None;
        }
        let mut of = |operand: &Operand| match operand {
            Operand::Number(number) => Some(Progression::number(*number)),
            Operand::Register(Name::Virtual(register)) => Some(self.read(at, *register, depth)),
            Operand::Register(Name::Fixed(reg)) if *reg == isa::ia64::Reg::R0 => {
                Some(Progression::default())
            }
            _ => None,
        };
        sum(operation, &mut of)
    }
}

/// Returns the result of an operation, if it is a linear form of its operands.
fn sum(
    operation: &Operation,
    of: &mut dyn FnMut(&Operand) -> Option<Progression>,
) -> Option<Progression> {
    match (operation.opcode(), &operation.sources[..]) {
        (Opcode::Add | Opcode::Adds | Opcode::Addl, [left, right]) => {
            let (first, other) = (of(left)?, of(right)?);
            Some(first.plus(&other, 1))
        }
        (Opcode::Sub, [left, right]) => {
            let (first, other) = (of(left)?, of(right)?);
            Some(first.plus(&other, -1))
        }
        (Opcode::Shladd, [found, Operand::Number(by @ 0..=4), other]) => {
            let (left, right) = (of(found)?, of(other)?);
            Some(right.plus(&left, 1 << by))
        }
        (Opcode::Shl, [found, Operand::Number(by @ 0..=62)]) => {
            Some(Progression::default().plus(&of(found)?, 1 << by))
        }
        (Opcode::Mov | Opcode::Movl, [found]) => of(found),
        _ => None,
    }
}

/// Blocks in front of a loop, and operations of them, that are looked at.
const BLOCKS: usize = 16;
const OPERATIONS: usize = 400;
/// Blocks between two of them.
const BETWEEN: usize = 64;

/// Expresses regular forms in registers as they are further up in front of the loop: those of two pointers
/// that start from one become comparable. Goes from block to block that all ways lead through, over loops and
/// branches between them. A value written there that is no linear form is a term of its own from there on;
/// equal extensions are equal terms.
pub(super) fn from_above(
    function: &Function,
    region: &Region,
    body: &Body,
    forms: &mut [&mut Progression],
) {
    let mut walk = Walk {
        forms,
        extended: FxHashMap::default(),
        next: 0,
    };
    // What the turned loop does once in front of its first iteration.
    let entry = body.entry.as_ref().map_or(&[][..], |it| &it.operations);
    for operation in entry.iter().chain(&body.preload).rev() {
        walk.over(operation);
    }
    let above = dominators(function);
    let predecessors = predecessors(function);
    let mut left = OPERATIONS;
    let mut block = region.header;
    for _ in 0..BLOCKS {
        let Some(up) = above[block as usize] else {
            return;
        };
        let own = |it: &u32| block == region.header && region.blocks.contains(it);
        let ways = predecessors[block as usize].iter().copied();
        let mut open: Vec<u32> = ways.filter(|way| !own(way)).collect();
        let mut between: Vec<u32> = Vec::new();
        while let Some(found) = open.pop() {
            if found == up || between.contains(&found) {
                continue;
            }
            if between.len() == BETWEEN {
                return;
            }
            between.push(found);
            open.extend(&predecessors[found as usize]);
        }
        for each in between {
            for operation in &function.blocks[each as usize].operations {
                operation.writes().for_each(|name| walk.opaque(name));
            }
        }
        for operation in function.blocks[up as usize].operations.iter().rev() {
            let Some(rest) = left.checked_sub(1) else {
                return;
            };
            left = rest;
            walk.over(operation);
        }
        block = up;
    }
}

/// Forms on the way up.
struct Walk<'w, 'f> {
    forms: &'w mut [&'f mut Progression],
    /// The term of each extension and extended form, as it is here.
    extended: FxHashMap<(Mnemonic, Virtual), u32>,
    next: u32,
}

impl Walk<'_, '_> {
    fn counts(&self, name: Virtual) -> bool {
        let coefficient =
            |progression: &&mut Progression| progression.start.coefficient(Term::Initial(name));
        self.forms.iter().any(|form| coefficient(form) != 0)
    }
    fn replace(&mut self, name: Virtual, by: &Progression) {
        for form in &mut *self.forms {
            if let Some(count) = form.start.remove(Term::Initial(name)) {
                **form = std::mem::take(*form).plus(by, count);
            }
        }
    }
    /// A term that no other one equals.
    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next
    }
    /// In front of an operation that writes an unknown value to the register.
    fn opaque(&mut self, name: Virtual) {
        if self.counts(name) {
            let term = self.fresh();
            self.replace(name, &Progression::symbol(Term::Above(term)));
        }
        self.extended.retain(|key, _| key.1 != name);
    }
    /// In front of the operation.
    fn over(&mut self, operation: &Operation) {
        let mut of = |operand: &Operand| match operand {
            Operand::Number(number) => Some(Progression::number(*number)),
            Operand::Register(Name::Virtual(register)) => {
                Some(Progression::symbol(Term::Initial(*register)))
            }
            Operand::Register(Name::Fixed(reg)) if *reg == isa::ia64::Reg::R0 => {
                Some(Progression::default())
            }
            _ => None,
        };
        let plain = operation.is_certain()
            && operation.memory.is_none()
            && operation.targets.len() == 1
            && operation.stepped().is_none();
        let written: Vec<Virtual> = operation.writes().collect();
        if let (true, &[name]) = (plain, &written[..]) {
            let mut form = sum(operation, &mut of);
            if let (Opcode::Sxt4 | Opcode::Zxt4, [Operand::Register(Name::Virtual(source))], None) =
                (operation.opcode(), &operation.sources[..], &form)
                && self.counts(name)
            {
                let key = (operation.mnemonic, *source);
                let term = match self.extended.get(&key) {
                    Some(&known) => known,
                    None => self.fresh(),
                };
                self.extended.insert(key, term);
                form = Some(Progression::symbol(Term::Above(term)));
            }
            if let Some(form) = form {
                self.replace(name, &form);
                // It was extended as it is behind this.
                self.extended.retain(|key, _| key.1 != name);
                return;
            }
        }
        written.into_iter().for_each(|name| self.opaque(name));
    }
}

fn predecessors(function: &Function) -> Vec<Vec<u32>> {
    let mut out: Vec<Vec<u32>> = vec![Vec::new(); function.blocks.len()];
    for block in 0..function.blocks.len() as u32 {
        for next in function.successors(block) {
            if let Some(known) = out.get_mut(next as usize) {
                known.push(block);
            }
        }
    }
    out
}

/// An access of an iteration.
#[derive(Clone, Debug)]
pub(super) struct Touch {
    pub(super) access: Access,
    pub(super) ordered: bool,
    pub(super) bytes: u32,
    pub(super) reference: Option<Reference>,
    /// The address in terms of registers as they are further up, where that is known.
    pub(super) address: Progression,
    /// The address in terms of registers in front of the loop.
    pub(super) front: Progression,
}

/// The relation of one access to a later one of the same iteration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Meeting {
    /// They meet when the second is of an iteration so much later; and when the first is.
    pub(super) forward: Option<u32>,
    pub(super) backward: Option<u32>,
    pub(super) why: Alias,
}

/// Two accesses, by place among those of an iteration, that meet in a way that matters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Met {
    pub(super) first: u32,
    pub(super) second: u32,
    pub(super) how: Meeting,
}

/// All that meet, by the first and then the second; `None`: more than `most`.
pub(super) fn meetings(touches: &[Touch], most: usize) -> Option<Vec<Met>> {
    let mut out = Vec::new();
    for (first, each) in (0..).zip(touches) {
        for (second, other) in (first + 1..).zip(&touches[first as usize + 1..]) {
            let Some(how) = meeting(each, other) else {
                continue;
            };
            if out.len() >= most {
                return None;
            }
            out.push(Met { first, second, how });
        }
    }
    Some(out)
}

/// Returns the meetings in a loop whose iterations are promised to be apart: meetings of different iterations
/// that are merely possible are dropped.
pub(super) fn apart_by_promise(meetings: Vec<Met>) -> Vec<Met> {
    let kept = meetings.into_iter().filter_map(|mut met| {
        if !matches!(met.how.why, Alias::Meets(_) | Alias::Volatile) {
            met.how.backward = None;
            met.how.forward = met.how.forward.filter(|&distance| distance == 0);
        }
        (met.how.forward.is_some() || met.how.backward.is_some()).then_some(met)
    });
    kept.collect()
}

/// Accesses of the items, prefetches left out.
pub(super) fn touches(given: &Loop, described: &[Described]) -> Vec<Touch> {
    let mut values = Values::new(given, described);
    let mut out = Vec::new();
    for (item, described) in described.iter().enumerate() {
        let Some(memory) = described.inst.memory else {
            continue;
        };
        if memory.access == Access::Prefetch {
            continue;
        }
        let address = match described.virtual_register(memory.base) {
            Some(base) => values.read(item, base, 0),
            None => Progression::default(),
        };
        let reference = given.items[item].operation.memory.clone();
        out.push(Touch {
            access: memory.access,
            ordered: memory.ordered || reference.as_ref().is_some_and(|it| it.volatile),
            bytes: memory
                .bytes
                .max(reference.as_ref().map_or(0, |it| it.bytes)),
            reference,
            front: address.clone(),
            address,
        });
    }
    out
}

/// Returns true if they lie in objects that share no memory.
fn disjoint(left: &Touch, right: &Touch) -> bool {
    let (Some(first), Some(other)) = (&left.reference, &right.reference) else {
        return false;
    };
    first.object.is_apart(&other.object)
}

/// Returns true if they lie in one object for certain: no promise about pointers tells them apart.
fn same(left: &Touch, right: &Touch) -> bool {
    let of = |touch: &Touch| {
        let object = touch.reference.as_ref().map(|it| it.object.clone());
        object.filter(|it| *it != Object::Unknown)
    };
    of(left).is_some_and(|it| of(right) == Some(it))
}

/// Returns true if the language accesses them by types that never name one object. Members of a union at one address
/// do, so that it says nothing of addresses that can be compared.
fn otherwise_typed(left: &Touch, right: &Touch) -> bool {
    let of = |touch: &Touch| touch.reference.as_ref().and_then(|it| it.accessed_as);
    matches!((of(left), of(right)), (Some(left), Some(right)) if left != right)
}

/// `None`: they never meet in a way that matters.
pub(super) fn meeting(left: &Touch, right: &Touch) -> Option<Meeting> {
    if left.ordered || right.ordered {
        return Some(Meeting {
            forward: Some(0),
            backward: Some(1),
            why: Alias::Volatile,
        });
    }
    if !(left.access.writes() || right.access.writes()) || disjoint(left, right) {
        return None;
    }
    let always = |why| {
        Some(Meeting {
            forward: Some(0),
            backward: Some(1),
            why,
        })
    };
    let regular = left.address.is_regular() && right.address.is_regular();
    let comparable = regular && left.address.is_parallel(&right.address);
    if !comparable && otherwise_typed(left, right) {
        return None;
    }
    if !regular {
        // Two uses of one value in one iteration tell accesses within the same base apart, and nothing else.
        return always(match same(left, right) {
            true => Alias::Within,
            false => Alias::Address,
        });
    }
    if !comparable {
        return always(match same(left, right) {
            _ if left.address.start.terms == right.address.start.terms => Alias::Steps,
            true => Alias::Within,
            false => Alias::Base,
        });
    }
    let between = right.address.beyond(&left.address);
    let step = left.address.step;
    // `other` in an iteration so much later.
    let meets = |later: i64| {
        let apart = i128::from(between) + i128::from(step) * i128::from(later);
        apart > -i128::from(right.bytes) && apart < i128::from(left.bytes)
    };
    if step == 0 {
        return match meets(0) {
            true => Some(Meeting {
                forward: Some(0),
                backward: Some(1),
                why: Alias::Meets(0),
            }),
            false => None,
        };
    }
    // About where the difference passes zero.
    let near = -i128::from(between) / i128::from(step);
    let reach = i128::from(left.bytes.max(right.bytes)) / i128::from(step).abs() + 2;
    let clamp = |at: i128| at.clamp(-(1 << 31), 1 << 31) as i64;
    let range = clamp(near - reach)..=clamp(near + reach);
    let (mut forward, mut backward) = (None, None);
    for later in range {
        if !meets(later) {
            continue;
        }
        if later >= 0 {
            let later = later as u32;
            forward = Some(forward.map_or(later, |known: u32| known.min(later)));
        } else {
            let later = -later as u32;
            backward = Some(backward.map_or(later, |known: u32| known.min(later)));
        }
    }
    let distance = forward.or(backward)?;
    Some(Meeting {
        forward,
        backward,
        why: Alias::Meets(distance),
    })
}

/// The linear form of an operation's operand.
pub(super) fn linear(
    given: &Loop,
    described: &[Described],
    at: usize,
    name: Virtual,
) -> Progression {
    Values::new(given, described).read(at, name, 0)
}
