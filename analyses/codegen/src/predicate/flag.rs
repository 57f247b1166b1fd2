//! If-conversion for processors with one flag: the blocks of a loop as one, what executes sometimes under the flag.
//!
//! ```text
//! b1: f = x < 0; if f jump b3        f = x < 0; c = f as number
//! b2: y = y + x                      n = 1 - c; f = n is set; (f) y = y + x
//! b3: ...; loop                      ...; loop
//! ```
//!
//! The condition of a piece of the loop is a number, 1 where it executes and 0 where not: of a branch's side the number of its flag,
//! and the piece's own; of a join the disjunction of the sides that lead to it. In front of what executes under it the flag
//! is made from the number again, behind each compare anew: values of the flag never live beside each other. Compares
//! execute always, as they change nothing but their flag, which the branch alone reads. One pass over the pieces in the order of control.
//!
//! Not converted: loops with exits before their end, with calls, with operations that have guards already, and with flags
//! that are read by something else than the branch of their piece.
//!
//! Source: Allen, Kennedy, Porterfield and Warren, *Conversion of Control Dependence to Data Dependence*, POPL 1983.

use super::loops::{Next, Piece, Region, pieces};
use super::{Unconvertible, order};
use crate::mir::{Arithmetic, Counted, Function, Operation, Virtual};
use isa::Branch;
use rustc_hash::FxHashMap;

/// The number that is 1 where a piece executes; `None`: it always does.
type Condition = Option<Virtual>;

struct Converter<'f, T: Counted> {
    function: &'f mut Function<T>,
    out: Vec<Operation<T>>,
    /// The flag that holds the condition now.
    flag: Option<Virtual>,
    /// The two sides of each branch, and the condition of its piece.
    branches: Vec<([Virtual; 2], Condition)>,
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
    let latch = function.blocks[region.blocks.last().map_or(0, |&one| one as usize)]
        .operations
        .last();
    let latch = latch
        .filter(|one| one.branch() == Some(Branch::Counted))
        .cloned();
    let latch = latch.ok_or(Unconvertible::Endless)?;
    admit(function, &pieces)?;
    let mut converter = Converter {
        function,
        out: Vec::new(),
        flag: None,
        branches: Vec::new(),
    };
    // By piece: the conditions of the sides that lead to it so far.
    let mut leading: Vec<Vec<Condition>> = vec![Vec::new(); pieces.len()];
    for &number in &order {
        let piece = &pieces[number];
        let condition = match number {
            0 => None,
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

/// Whether all pieces are such as can be converted.
fn admit<T: Counted + Arithmetic>(
    function: &Function<T>,
    pieces: &[Piece],
) -> Result<(), Unconvertible> {
    let mut reads: FxHashMap<Virtual, u32> = FxHashMap::default();
    for operation in function.blocks.iter().flat_map(|block| &block.operations) {
        for one in operation.reads() {
            *reads.entry(one).or_default() += 1;
        }
    }
    for piece in pieces {
        let operations = &function.blocks[piece.block as usize].operations;
        let inside = &operations[piece.from..piece.to];
        if let Some(guarded) = inside.iter().find(|one| one.predicate.is_some()) {
            let why = "guards an operation already";
            return Err(Unconvertible::Condition(why, guarded.loc));
        }
        for (next, taken) in [
            (Some(piece.next), false),
            (piece.taken.map(|one| one.1), true),
        ] {
            if matches!(next, Some(Next::Exit(_))) || (taken && next == Some(Next::Back)) {
                return Err(Unconvertible::Endless);
            }
        }
        let own = piece.taken.map(|(flag, _)| flag);
        for operation in inside.iter().filter(|one| T::is_compare(one)) {
            let unread = |flag: Virtual| match Some(flag) == own {
                true => reads.get(&flag) == Some(&1),
                false => !reads.contains_key(&flag),
            };
            if !operation.writes().all(unread) {
                let why = "is read by more than the branch of its piece";
                return Err(Unconvertible::Condition(why, operation.loc));
            }
        }
        let compares = inside.iter().filter(|one| T::is_compare(one));
        let made = compares.flat_map(Operation::writes);
        if own.is_some_and(|flag| made.filter(|&one| one == flag).count() != 1) {
            let why = "is no compare of its own piece";
            return Err(Unconvertible::Condition(why, ir::Loc::NONE));
        }
    }
    Ok(())
}

impl<T: Counted + Arithmetic> Converter<'_, T> {
    fn general(&mut self) -> Virtual {
        self.function.register(T::GENERAL)
    }

    /// The disjunction of sides, of which at most one is taken.
    fn joined(&mut self, sides: &[Condition]) -> Condition {
        let mut left = sides.iter().copied().collect::<Option<Vec<Virtual>>>()?;
        // Both sides of a branch are the condition of its piece.
        while let Some((own, condition)) = self
            .branches
            .iter()
            .find(|(own, _)| own.iter().all(|one| left.contains(one)))
        {
            left.retain(|one| !own.contains(one));
            left.push((*condition)?);
        }
        let mut left = left.into_iter();
        let mut all = left.next()?;
        for side in left {
            let both = self.general();
            self.out.push(T::or(both, all, side));
            all = both;
        }
        Some(all)
    }

    /// The operations of a piece, and the conditions of its two sides: of the branch that is taken, and of the other one.
    fn piece(&mut self, piece: &Piece, condition: Condition) -> [Condition; 2] {
        let operations = self.function.blocks[piece.block as usize]
            .operations
            .clone();
        let mut number = None;
        self.flag = None;
        for mut operation in operations[piece.from..piece.to].iter().cloned() {
            if T::is_compare(&operation) {
                let flag = operation.writes().next();
                let is_own = flag.is_some() && flag == piece.taken.map(|one| one.0);
                self.out.push(operation);
                self.flag = None;
                if let (true, Some(flag)) = (is_own, flag) {
                    let made = self.general();
                    self.out.push(T::as_number(made, flag));
                    number = Some(made);
                }
                continue;
            }
            if let Some(condition) = condition {
                let flag = match self.flag {
                    Some(flag) => flag,
                    None => {
                        let flag = self.function.register(T::GUARD);
                        self.out.push(T::is_set(flag, condition));
                        self.flag = Some(flag);
                        flag
                    }
                };
                operation.predicate = Some(flag);
            }
            self.out.push(operation);
        }
        let Some(number) = number else {
            return [condition, condition];
        };
        let positive = operations.get(piece.to).is_none_or(T::is_positive);
        let [yes, no] = [self.general(), self.general()];
        match condition {
            Some(condition) => {
                self.out.push(T::and(yes, number, condition));
                self.out.push(T::subtract(no, condition, yes));
            }
            None => {
                // 1 - n is n + 1 without its second bit.
                let next = self.general();
                self.out.push(T::assign(T::GENERAL, yes, number));
                self.out.push(T::add_number(next, number, 1));
                self.out.push(T::and_number(no, next, 1));
            }
        }
        self.branches.push(([yes, no], condition));
        match positive {
            true => [Some(yes), Some(no)],
            false => [Some(no), Some(yes)],
        }
    }
}
