//! If-conversion for processors with one flag: the blocks of a loop as one, with operations that execute only
//! sometimes under the flag.
//!
//! ```text
//! b1: f = x < 0; if f jump b3        f = x < 0
//! b2: y = y + x                      (not f) y = y + x
//! b3: ...; loop                      ...; loop
//! ```
//!
//! The condition of a piece of the loop is a side of a flag, where one branch decides over it, else a number, 1 where it
//! executes and 0 where not: of a branch that executes under a condition a copy of that condition's number, which the
//! flag clears; of a join the disjunction of the sides that lead to it. In front of operations under it, the flag is made
//! from the number again. A compare whose flag is read in its own piece alone executes always; one whose flag others read
//! leaves the old value where its piece does not execute. One pass over the pieces in the order of control. Flags that
//! live across others are left to `number`.
//!
//! Not converted: loops with exits before their end, with calls, and whose blocks do not follow each other.
//!
//! Source: Allen, Kennedy, Porterfield and Warren, *Conversion of Control Dependence to Data Dependence*, POPL 1983.

use super::loops::{Next, Piece, Region, pieces};
use super::{Unconvertible, order};
use crate::mir::{Arithmetic, Counted, Function, Name, Operand, Operation, Virtual};
use isa::Branch;
use rustc_hash::FxHashMap;
use smallvec::smallvec;
use std::collections::BTreeSet;

/// The condition under which a piece executes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Condition {
    Always,
    /// The flag has this value. Nothing else writes it.
    Flag(Virtual, bool),
    /// The number is 1, not 0.
    Number(Virtual),
}

struct Converter<'f, T: Counted> {
    function: &'f mut Function<T>,
    out: Vec<Operation<T>>,
    /// The flag that holds the condition now.
    flag: Option<Virtual>,
    /// The number of reads of each register, and of writes.
    reads: FxHashMap<Virtual, u32>,
    writes: FxHashMap<Virtual, u32>,
    /// The numbers of sides of flags.
    numbers: FxHashMap<(Virtual, bool), Virtual>,
    /// The two sides of each branch, and the condition of its piece.
    branches: Vec<([Condition; 2], Condition)>,
}

/// Replaces the blocks of a loop, whose end the hardware counts, by one. Blocks keep their numbers: those that are converted
/// into the first become empty.
///
/// # Errors
/// The function stays as it was where the loop has no such form.
pub fn convert<T: Counted + Arithmetic>(
    function: &mut Function<T>,
    region: &Region,
) -> Result<(), Unconvertible> {
    let pieces = pieces(function, region, true).map_err(|branch| match branch.branch() {
        Some(Branch::Call) => Unconvertible::Call(None, branch.loc),
        _ => Unconvertible::Branch(branch.mnemonic.to_string().into(), branch.loc),
    })?;
    let order = order(&pieces)?;
    let latch = function.blocks[region.blocks.last().map_or(0, |&it| it as usize)]
        .operations
        .last();
    let latch = latch
        .filter(|it| it.branch() == Some(Branch::Counted))
        .cloned();
    let latch = latch.ok_or(Unconvertible::Endless)?;
    // Control falls through from the first block, which gets all operations, to the block behind the latch.
    let mut follow = (region.header..).zip(&region.blocks);
    if follow.any(|(expected, &block)| expected != block) {
        return Err(Unconvertible::Endless);
    }
    admit(&pieces)?;
    let reads = counts(function, &|operation| operation.reads().collect());
    let writes = counts(function, &|operation| operation.writes().collect());
    let mut converter = Converter {
        function,
        out: Vec::new(),
        flag: None,
        reads,
        writes,
        numbers: FxHashMap::default(),
        branches: Vec::new(),
    };
    // By piece: the conditions of the sides that lead to it so far.
    let mut leading: Vec<Vec<Condition>> = vec![Vec::new(); pieces.len()];
    for &number in &order {
        let piece = &pieces[number];
        let condition = match number {
            0 => Condition::Always,
            _ => converter.joined(&leading[number]),
        };
        let sides = converter.piece(piece, condition);
        let ways = [piece.taken.map(|(_, next)| next), Some(piece.next)];
        for (way, side) in ways.into_iter().zip(sides) {
            if let Some(Next::Piece(to)) = way {
                leading[to].push(side);
            }
        }
    }
    let mut operations = converter.out;
    operations.push(Operation {
        sources: latch.sources.clone(),
        ..latch
    });
    for &block in &region.blocks {
        function.blocks[block as usize].operations.clear();
    }
    // Control falls through the empty blocks to the exit.
    function.blocks[region.header as usize].operations = operations;
    Ok(())
}

/// Checks that control leaves the loop at its end alone.
fn admit(pieces: &[Piece]) -> Result<(), Unconvertible> {
    let leaves = |piece: &Piece| {
        let taken = piece.taken.map(|(_, next)| next);
        matches!(piece.next, Next::Exit(_)) || matches!(taken, Some(Next::Exit(_) | Next::Back))
    };
    match pieces.iter().any(leaves) {
        true => Err(Unconvertible::Endless),
        false => Ok(()),
    }
}

impl<T: Counted + Arithmetic> Converter<'_, T> {
    fn general(&mut self) -> Virtual {
        self.function.register(T::GENERAL)
    }

    /// The disjunction of sides, of which at most one is taken.
    fn joined(&mut self, sides: &[Condition]) -> Condition {
        let mut left = sides.to_vec();
        // Both sides of a branch are the condition of its piece.
        while let Some((own, condition)) = self
            .branches
            .iter()
            .find(|(own, _)| own.iter().all(|it| left.contains(it)))
        {
            left.retain(|it| !own.contains(it));
            left.push(*condition);
        }
        if let [only] = left[..] {
            return only;
        }
        let numbers: Option<Vec<Virtual>> =
            left.into_iter().map(|side| self.number_of(side)).collect();
        let mut numbers = numbers.unwrap_or_default().into_iter();
        let Some(mut all) = numbers.next() else {
            return Condition::Always;
        };
        for side in numbers {
            let both = self.general();
            self.out.extend(T::or(both, all, side));
            all = both;
        }
        Condition::Number(all)
    }

    /// 1 where a condition holds, else 0; `None`: it always does.
    fn number_of(&mut self, condition: Condition) -> Option<Virtual> {
        let (flag, holds) = match condition {
            Condition::Always => return None,
            Condition::Number(number) => return Some(number),
            Condition::Flag(flag, holds) => (flag, holds),
        };
        if let Some(&known) = self.numbers.get(&(flag, holds)) {
            return Some(known);
        }
        let number = self.general();
        let made = T::as_number(number, flag, holds);
        // Behind what writes the flag, which others may have replaced since.
        let writer = |operation: &Operation<T>| operation.writes().any(|write| write == flag);
        let at = self.out.iter().rposition(writer).map_or(0, |at| at + 1);
        self.out.splice(at..at, made);
        self.numbers.insert((flag, holds), number);
        Some(number)
    }

    /// The number of a flag that has just been written.
    fn number(&mut self, flag: Virtual, holds: bool) -> Virtual {
        let number = self.general();
        self.out.extend(T::as_number(number, flag, holds));
        number
    }

    /// A number where the flag has this value, else 0.
    fn kept(&mut self, number: Virtual, (flag, holds): (Virtual, bool)) -> Virtual {
        let out = self.general();
        self.out.push(T::assign(T::GENERAL, out, number));
        let cleared = T::and_number(out, out, 0);
        self.out.push(T::under(cleared, flag, !holds));
        out
    }

    /// The flag of a number that is made anew.
    fn test(&mut self, number: Virtual) -> Virtual {
        let flag = self.function.register(T::GUARD);
        self.out.push(T::is_set(flag, number));
        flag
    }

    /// A compare of a piece that executes under a condition: where it does not, the flag keeps its value.
    fn compare(&mut self, mut operation: Operation<T>, flag: Virtual, condition: Virtual) {
        debug_assert_eq!(operation.predicate, None, "a compare of its own");
        let result = self.number(flag, true);
        let made = self.function.register(T::GUARD);
        for target in &mut operation.targets {
            if *target == Operand::register(flag) {
                *target = Operand::register(made);
            }
        }
        self.out.push(operation);
        let new = self.number(made, true);
        let executes = self.test(condition);
        let moved = T::assign(T::GENERAL, result, new);
        self.out.push(T::under(moved, executes, true));
        self.out.push(T::is_set(flag, result));
    }

    /// An operation of a piece that executes under a condition.
    fn guarded(&mut self, mut operation: Operation<T>, condition: Condition) {
        // An operation that reads a flag always executes, and its result is moved under the condition.
        let flags = operation
            .reads()
            .filter(|&read| Some(read) != operation.predicate);
        let is_guard = |register: Virtual| T::is_guard(self.function.class(register));
        let flags = flags.filter(|&flag| is_guard(flag)).count();
        if let ([Operand::Register(Name::Virtual(to))], true) = (&operation.targets[..], flags > 0)
        {
            let to = *to;
            let class = self.function.class(to);
            let made = self.function.register(class);
            let guard = operation.predicate.take();
            operation.targets = smallvec![Operand::register(made)];
            let own = guard.map(|guard| (guard, operation.executes_where_held()));
            self.out.push(T::always(operation));
            self.flag = None;
            operation = T::assign(class, to, made);
            if let Some((guard, positive)) = own {
                operation = T::under(operation, guard, positive);
            }
        }
        let (flag, holds) = match (operation.predicate, condition, self.flag) {
            (Some(own), ..) => {
                let own = (own, operation.executes_where_held());
                let both = match self.number_of(condition) {
                    Some(number) => self.kept(number, own),
                    None => self.number(own.0, own.1),
                };
                self.flag = None;
                (self.test(both), true)
            }
            (None, Condition::Flag(flag, holds), _) => (flag, holds),
            (None, Condition::Number(_), Some(flag)) => (flag, true),
            (None, Condition::Number(number), None) => {
                let flag = self.test(number);
                self.flag = Some(flag);
                (flag, true)
            }
            (None, Condition::Always, _) => {
                self.out.push(operation);
                return;
            }
        };
        self.out.push(T::under(operation, flag, holds));
    }

    /// The operations of a piece, and the conditions of its two sides: of the branch that is taken, and of the other one.
    fn piece(&mut self, piece: &Piece, condition: Condition) -> [Condition; 2] {
        let operations = self.function.blocks[piece.block as usize]
            .operations
            .clone();
        self.flag = None;
        let inside = &operations[piece.from..piece.to];
        for (at, operation) in inside.iter().enumerate() {
            if condition == Condition::Always {
                self.out.push(operation.clone());
                continue;
            }
            if !T::is_compare(operation) {
                self.guarded(operation.clone(), condition);
                continue;
            }
            self.flag = None;
            for flag in operation.writes() {
                let behind = inside[at + 1..].iter().flat_map(Operation::reads);
                let branch = piece.taken.map(|(flag, _)| flag);
                let local = behind.chain(branch).filter(|&it| it == flag).count();
                let local = self.reads.get(&flag) == Some(&(local as u32));
                let number = (!local).then(|| self.number_of(condition)).flatten();
                match number {
                    // Nothing else sees what it leaves where it should not execute.
                    None => self.out.push(operation.clone()),
                    Some(number) => self.compare(operation.clone(), flag, number),
                }
            }
        }
        let Some((flag, _)) = piece.taken else {
            return [condition, condition];
        };
        let positive = operations
            .get(piece.to)
            .is_none_or(Operation::executes_where_held);
        // A flag that has its value of this iteration, and keeps it.
        let alone = self.writes.get(&flag) == Some(&1) && {
            let mut written = self.out.iter().flat_map(Operation::writes);
            written.any(|it| it == flag)
        };
        let sides = [positive, !positive].map(|holds| match self.number_of(condition) {
            None if alone => Condition::Flag(flag, holds),
            None => Condition::Number(self.number(flag, holds)),
            Some(number) => Condition::Number(self.kept(number, (flag, holds))),
        });
        self.branches.push((sides, condition));
        sides
    }
}

/// Returns how often each register occurs.
fn counts<T: Counted>(
    function: &Function<T>,
    of: &dyn Fn(&Operation<T>) -> Vec<Virtual>,
) -> FxHashMap<Virtual, u32> {
    let mut out: FxHashMap<Virtual, u32> = FxHashMap::default();
    for operation in function.blocks.iter().flat_map(|block| &block.operations) {
        for register in of(operation) {
            *out.entry(register).or_default() += 1;
        }
    }
    out
}

/// Keeps flags whose values live across other values of the flag, or across calls, as numbers: made where such a flag is computed, and tested
/// in front of each read. Values of the flag then do not live beside each other.
///
/// ```text
/// f = x < 0; g = y < 0; (g) ..; (f) ..      f = x < 0; n = f as number; g = y < 0; (g) ..; h = n is set; (h) ..
/// ```
pub fn number<T: Arithmetic>(function: &mut Function<T>) {
    let mut far: BTreeSet<Virtual> = BTreeSet::new();
    for block in &function.blocks {
        let mut last = None;
        for operation in &block.operations {
            let is_flag = |register: &Virtual| T::is_guard(function.class(*register));
            for read in operation.reads().filter(is_flag) {
                if last != Some(read) {
                    far.insert(read);
                }
                // A test stands in front of it then, which replaces what was there.
                last = Some(read);
            }
            last = operation.writes().find(is_flag).or(last);
            if operation.branch() == Some(Branch::Call) {
                // A callee changes the flag.
                last = None;
            }
        }
    }
    let numbers: FxHashMap<Virtual, Virtual> = far
        .into_iter()
        .map(|flag| (flag, function.register(T::GENERAL)))
        .collect();
    for at in 0..function.blocks.len() {
        let operations = std::mem::take(&mut function.blocks[at].operations);
        let mut out = Vec::with_capacity(operations.len());
        // The value that the flag has now, and its register.
        let mut current: Option<(Virtual, Virtual)> = None;
        for mut operation in operations {
            let read: BTreeSet<Virtual> = operation.reads().collect();
            for (flag, &number) in read.iter().filter_map(|it| Some((*it, numbers.get(it)?))) {
                let own = match current.filter(|(known, _)| *known == flag) {
                    Some((_, own)) => own,
                    None => {
                        let made = function.register(T::GUARD);
                        out.push(T::is_set(made, number));
                        current = Some((flag, made));
                        made
                    }
                };
                if operation.predicate == Some(flag) {
                    operation.predicate = Some(own);
                }
                for source in &mut operation.sources {
                    if *source == Operand::register(flag) {
                        *source = Operand::register(own);
                    }
                }
            }
            let written: Vec<Virtual> = operation.writes().collect();
            let calls = operation.branch() == Some(Branch::Call);
            out.push(operation);
            for flag in written {
                if T::is_guard(function.class(flag)) {
                    current = Some((flag, flag));
                }
                if let Some(&number) = numbers.get(&flag) {
                    out.extend(T::as_number(number, flag, true));
                }
            }
            if calls {
                current = None;
            }
        }
        function.blocks[at].operations = out;
    }
}
