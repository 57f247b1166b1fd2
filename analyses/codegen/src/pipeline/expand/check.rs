//! A checker of expanded loops that shares no code with the expansion: both forms execute on symbols.
//!
//! ```text
//! y = x * x        {y1 = x1 * x1; x0 = load [a0]}      y1 holds mul(load(a), load(a)) of the same iteration
//! ```
//!
//! A register holds a term: its value before the loop, or an operation with the terms of its operands. The
//! loop as it was executes N times, one operation after the other; the prologue, so many times the kernel,
//! and the epilogue execute in theirs. All registers of the function then hold the same terms, the same
//! operations have accessed memory, and those that may meet, of which one writes, in the same order. Stops: N
//! is as many iterations as one, two and three times through the kernel take.
//!
//! Does not look at cycles: `Schedule::check` does. Nor at the test in front of the loop.

use super::{Pieces, Plan};
use crate::mir::places::{self, Offset, Origin};
use crate::mir::{Counted, Function, Name, Object, Operand, Operation, Virtual};
use rustc_hash::FxHashMap;

/// The difference between a loop and its expanded form.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ExpansionFault {
    #[error("v{} does not hold behind {iterations} iterations what it did", .register.0)]
    Register { register: Virtual, iterations: u32 },
    #[error("{iterations} iterations do not access memory as they did")]
    Accesses { iterations: u32 },
    #[error("access {second} of {iterations} iterations does not stand behind access {first}")]
    Order {
        first: u32,
        second: u32,
        iterations: u32,
    },
}

/// The number of a computed value, which stands for the mnemonic of its operation, its place among the
/// targets and the values read.
type Term = u32;

#[derive(Clone, PartialEq, Eq, Hash)]
enum Shape<T: Counted> {
    Before(Name<T>),
    Computed {
        mnemonic: T::Mnemonic,
        place: u32,
        from: Vec<Term>,
        others: Vec<Operand<T>>,
    },
}

struct Access<T: Counted> {
    term: Term,
    operation: Operation<T>,
    /// The address at which it begins.
    at: Option<(Root, i64)>,
}

/// The base of an address: it is a number of bytes behind this.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Root {
    Term(Term),
    Entered(Origin),
}

/// Registers on symbols. Terms are those of one table, so that equal ones are the same in both executions.
struct Symbols<'t, T: Counted> {
    terms: &'t mut FxHashMap<Shape<T>, Term>,
    registers: FxHashMap<Name<T>, Term>,
    /// The contents of registers where the loop is entered.
    entered: &'t dyn Fn(Virtual) -> Offset,
    /// Terms that are others and a number of bytes.
    sums: FxHashMap<Term, (Root, i64)>,
    accesses: Vec<Access<T>>,
}

impl<T: Counted> Symbols<'_, T> {
    fn term(&mut self, shape: Shape<T>) -> Term {
        let next = self.terms.len() as Term;
        *self.terms.entry(shape).or_insert(next)
    }
    fn held(&mut self, name: Name<T>) -> Term {
        match self.registers.get(&name) {
            Some(&term) => term,
            None => self.term(Shape::Before(name)),
        }
    }
    /// The content of a register as a sum.
    fn sum(&mut self, register: Virtual) -> (Root, i64) {
        let name = Name::Virtual(register);
        let known = self.registers.contains_key(&name);
        let term = self.held(name);
        let sum = self.sums.entry(term).or_insert_with(|| match known {
            true => (Root::Term(term), 0),
            false => {
                let Offset { origin, bytes } = (self.entered)(register);
                (Root::Entered(origin), bytes)
            }
        });
        *sum
    }
    fn execute(&mut self, operation: &Operation<T>) {
        let base = places::base(operation);
        let at = base.map(|base| self.sum(base));
        // What it leaves in a register that it adds a number to.
        let added = match (T::increment(operation), base, places::step(operation)) {
            (Some((to, by)), ..) | (None, Some(to), Some(by)) if operation.predicate.is_none() => {
                let (root, bytes) = self.sum(to);
                Some((to, (root, bytes + by)))
            }
            _ => None,
        };
        let copied = T::copied(operation).map(|(to, from)| (to, self.sum(from)));
        let mut from = Vec::new();
        let mut others = Vec::new();
        if let Some(guard) = operation.predicate {
            from.push(self.held(Name::Virtual(guard)));
        }
        for operand in &operation.sources {
            match operand {
                Operand::Register(name) | Operand::Address(name) => from.push(self.held(*name)),
                other => others.push(other.clone()),
            }
        }
        // Old values, where some of them may stay.
        let keeps = T::accumulates(operation.mnemonic)
            || !T::overwrites(operation.mnemonic, operation.predicate.is_some());
        for operand in &operation.targets {
            match operand {
                Operand::Address(name) => from.push(self.held(*name)),
                Operand::Register(name) if keeps => from.push(self.held(*name)),
                _ => {}
            }
        }
        let mut written = Vec::new();
        let stepped = operation.targets.iter().chain(&operation.sources);
        let steps = T::steps(
            operation.mnemonic,
            operation.targets.len(),
            operation.sources.len(),
        );
        let stepped = stepped.filter_map(|operand| match operand {
            Operand::Address(name) if steps => Some(*name),
            _ => None,
        });
        let targets = operation
            .targets
            .iter()
            .filter_map(|operand| match operand {
                Operand::Register(name) => Some(*name),
                _ => None,
            });
        for (place, name) in (0..).zip(targets.chain(stepped)) {
            let shape = Shape::Computed {
                mnemonic: operation.mnemonic,
                place,
                from: from.clone(),
                others: others.clone(),
            };
            written.push((name, self.term(shape)));
        }
        if T::loads(operation) || T::stores(operation) {
            let shape = Shape::Computed {
                mnemonic: operation.mnemonic,
                place: u32::MAX,
                from,
                others,
            };
            let term = self.term(shape);
            let operation = operation.clone();
            self.accesses.push(Access {
                term,
                operation,
                at,
            });
        }
        for (name, term) in written {
            if let Some((to, sum)) = added.or(copied)
                && name == Name::Virtual(to)
            {
                self.sums.insert(term, sum);
            }
            self.registers.insert(name, term);
        }
    }
}

/// Returns true if two accesses keep their order.
fn may_meet<T: Counted>(left: &Access<T>, right: &Access<T>) -> bool {
    let bytes = |access: &Access<T>| {
        let memory = access.operation.memory.as_ref();
        memory
            .filter(|memory| !memory.volatile)
            .map(|memory| i64::from(memory.bytes))
    };
    if let (Some((root, first)), Some((with, second))) = (left.at, right.at)
        && let (Some(bytes), Some(others)) = (bytes(left), bytes(right))
        && root == with
        && (first + bytes <= second || second + others <= first)
    {
        return false;
    }
    let (first, other) = (&left.operation, &right.operation);
    let object = |operation: &Operation<T>| match &operation.memory {
        Some(memory) => memory.object.clone(),
        None => Object::Unknown,
    };
    let is_volatile =
        |operation: &Operation<T>| operation.memory.as_ref().is_some_and(|it| it.volatile);
    (T::stores(first) || T::stores(other)) && !object(first).is_apart(&object(other))
        || is_volatile(first) && is_volatile(other)
}

/// Checks the code of an expanded loop.
///
/// # Errors
/// The first fault that is found.
pub fn check<T: Counted>(
    function: &Function<T>,
    plan: &Plan<T>,
    pieces: &Pieces<T>,
) -> Result<(), ExpansionFault> {
    let names: Vec<Virtual> = pieces.names.values().copied().collect();
    let count = function.registers.len() as u32;
    let mut own: Vec<Virtual> = (0..count).map(Virtual).collect();
    // What nothing reads behind the loop need not be there.
    let is_handed_on = |register: &Virtual| {
        !plan.whole || !plan.names.contains_key(register) || plan.leaves.contains(register)
    };
    own.retain(|it| !names.contains(it) && is_handed_on(it));
    // Iterations that are none may change what nothing reads.
    own.retain(|it| plan.begun == 0 || plan.leaves.contains(it));
    let mut terms = FxHashMap::default();
    let entered = |register: Virtual| places::entered(function, plan.block, register);
    for passes in 1..=3 {
        let iterations = plan.ahead() + passes * plan.copies;
        let mut symbols = |code: &mut dyn FnMut(&mut Symbols<'_, T>)| {
            let mut symbols = Symbols {
                terms: &mut terms,
                registers: FxHashMap::default(),
                entered: &entered,
                sums: FxHashMap::default(),
                accesses: Vec::new(),
            };
            code(&mut symbols);
            let held: Vec<Term> = own
                .iter()
                .map(|&it| symbols.held(Name::Virtual(it)))
                .collect();
            (held, symbols.accesses)
        };
        let (held, accesses) = symbols(&mut |symbols| {
            for _ in 0..iterations {
                plan.body.iter().for_each(|it| symbols.execute(it));
            }
        });
        // Of the code around the loop only copies belong to what it computes.
        let copies = |code: &[Operation<T>], symbols: &mut Symbols<'_, T>| {
            for each in code {
                if let Some((to, from)) = T::copied(each) {
                    let term = symbols.held(Name::Virtual(from));
                    symbols.registers.insert(Name::Virtual(to), term);
                }
            }
        };
        let (now, done) = symbols(&mut |symbols| {
            copies(&pieces.guard.operations, symbols);
            for operation in &pieces.prologue.operations {
                symbols.execute(operation);
            }
            for _ in 0..passes {
                let kernel = &pieces.kernel.operations;
                let body = kernel.iter().filter(|it| it.branch().is_none());
                body.for_each(|it| symbols.execute(it));
            }
            let last = &pieces.epilogue.operations;
            let (body, behind) = last.split_at(pieces.finished.min(last.len()));
            body.iter().for_each(|it| symbols.execute(it));
            copies(behind, symbols);
        });
        for ((&register, before), now) in own.iter().zip(&held).zip(&now) {
            if before != now {
                return Err(ExpansionFault::Register {
                    register,
                    iterations,
                });
            }
        }
        order(function, &accesses, &done, iterations)?;
    }
    Ok(())
}

/// Returns true for a load, besides those of the loop, that reads no more bytes behind the last one that the loop reads of the
/// object than the source permits.
fn is_permitted<T: Counted>(function: &Function<T>, more: &Access<T>, own: &[Access<T>]) -> bool {
    let end = |access: &Access<T>| {
        let memory = access.operation.memory.as_ref()?;
        let (root, at) = access.at.filter(|_| !memory.volatile)?;
        Some((root, at, at + i64::from(memory.bytes)))
    };
    let Some(((root, at, last), memory)) = end(more).zip(more.operation.memory.as_ref()) else {
        return false;
    };
    let own = own.iter().filter_map(|access| {
        let same = access.operation.memory.as_ref()?.object == memory.object;
        end(access).filter(|(with, ..)| same && *with == root)
    });
    let permitted = i64::from(function.readable_behind(&memory.object));
    let (first, behind) = own.fold((i64::MAX, i64::MIN), |(first, behind), (_, from, to)| {
        (first.min(from), behind.max(to))
    });
    let loads = T::loads(&more.operation) && !T::stores(&more.operation);
    loads
        && more.operation.predicate.is_none()
        && at >= first
        && last <= behind.saturating_add(permitted)
}

fn order<T: Counted>(
    function: &Function<T>,
    before: &[Access<T>],
    now: &[Access<T>],
    iterations: u32,
) -> Result<(), ExpansionFault> {
    // By access as it was: its place now. Equal ones follow each other.
    let mut places: FxHashMap<Term, Vec<u32>> = FxHashMap::default();
    for (place, access) in (0..).zip(now) {
        places.entry(access.term).or_default().push(place);
    }
    places.values_mut().for_each(|all| all.reverse());
    let mut found: Vec<u32> = Vec::new();
    for access in before {
        let place = places.get_mut(&access.term).and_then(Vec::pop);
        found.push(place.ok_or(ExpansionFault::Accesses { iterations })?);
    }
    let more = now.iter().enumerate();
    let mut more = more.filter(|(place, _)| !found.contains(&(*place as u32)));
    if !more.all(|(_, access)| is_permitted(function, access, before)) {
        return Err(ExpansionFault::Accesses { iterations });
    }
    for second in 0..before.len() {
        for first in 0..second {
            let meet = may_meet(&before[first], &before[second]);
            if meet && found[first] > found[second] {
                return Err(ExpansionFault::Order {
                    first: first as u32,
                    second: second as u32,
                    iterations,
                });
            }
        }
    }
    Ok(())
}
