//! Loops that count, as loops of the hardware.
//!
//! ```text
//! b1: ...; add #1,i; cmpgt i,n; bt b1       n' = n - i, at least 1; doen3 n'; b1: ...; endloop
//! ```
//!
//! The last block of an innermost loop ends with the only way back, under a comparison of a register, which the block moves on
//! by a constant, with a number or with a register that the loop leaves alone. A loop that tests at its end executes once at
//! least: the number of iterations is made no less, unless the branch by which the loop is entered says so already. Where the
//! relation is "not equal", a loop whose counter may not wrap is taken to come to an end before it does. One whose counter may
//! (`iaddnc.w #1,i; sxt.l i,i`) may execute 2^31 times or more, and the hardware counts no further: it is counted where that is
//! known or promised, or where each iteration accesses another address. What only the comparison read is computed no more. A loop of several blocks is converted into one under the flag, or stays as it is.
//!
//! One pass over the loops. Nothing else may use the hardware's counter: no calls inside.

use super::code::{Function, Name, Operand, Operation, Virtual, operation};
use super::select::setup;
use crate::allocate;
use crate::mir::liveness::Liveness;
use crate::mir::{Arithmetic, Block, Counted as _, Rounds, Target as _};
use crate::predicate::flag;
use crate::predicate::loops::{Region, innermost};
use isa::Branch;
use isa::sc140::{Condition, File, Opcode, Sc140};
use smallvec::{SmallVec, smallvec};

/// The relation of the counter to the limit for which the loop goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Relation {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
}

impl Relation {
    const fn negated(self) -> Relation {
        match self {
            Relation::Less => Relation::GreaterEqual,
            Relation::LessEqual => Relation::Greater,
            Relation::Greater => Relation::LessEqual,
            Relation::GreaterEqual => Relation::Less,
            Relation::Equal => Relation::NotEqual,
            Relation::NotEqual => Relation::Equal,
        }
    }
    const fn mirrored(self) -> Relation {
        match self {
            Relation::Less => Relation::Greater,
            Relation::LessEqual => Relation::GreaterEqual,
            Relation::Greater => Relation::Less,
            Relation::GreaterEqual => Relation::LessEqual,
            Relation::Equal | Relation::NotEqual => self,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Limit {
    Number(i64),
    Register(Virtual),
}

/// A loop's counter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Counting {
    counter: Virtual,
    step: i64,
    relation: Relation,
    limit: Limit,
    /// The place of the comparison in the last block.
    compare: usize,
    /// The places of the step: of one that wraps, the sum and its extension.
    moves: SmallVec<[usize; 2]>,
}

impl Counting {
    /// Returns true if the counter may pass the end of its range on its way to the limit.
    fn wraps(&self) -> bool {
        self.moves.len() > 1
    }

    /// Returns true if the loop may execute more often than the hardware counts.
    pub(super) fn may_be_too_long(&self, function: &Function, region: &Region) -> bool {
        let rounds = function.blocks[region.header as usize].rounds;
        let counts = |rounds: Rounds| i32::try_from(rounds.most).is_ok();
        self.wraps() && !rounds.is_some_and(counts) && !passes_through_memory(function, region)
    }
}

/// Makes all loops that can be counted by the hardware such loops, of one block each.
pub(super) fn count(function: &mut Function) {
    let mut done: Vec<u32> = Vec::new();
    while let Some(region) = innermost(function)
        .into_iter()
        .find(|region| !done.contains(&region.header))
    {
        match counted(function, &region) {
            Some(changed) => {
                let more = (changed.blocks.len() - function.blocks.len()) as u32;
                *function = changed;
                // The loop stands a block further on now.
                let behind = |header: &&mut u32| **header >= region.header;
                done.iter_mut().filter(behind).for_each(|it| *it += more);
                done.push(region.header + 1);
            }
            None => done.push(region.header),
        }
    }
}

fn counted(function: &Function, region: &Region) -> Option<Function> {
    let calls = |&block: &u32| {
        let mut operations = function.blocks[block as usize].operations.iter();
        operations
            .any(|operation| matches!(operation.branch(), Some(Branch::Call | Branch::Counted)))
    };
    if region.blocks.iter().any(calls) {
        return None;
    }
    let last = *region.blocks.last()?;
    let (mut out, found) = counting(function, region)?;
    let may_be_too_long = found.may_be_too_long(&out, region);
    let entered = enter(&mut out, region)?;
    let start = constant_behind(&out, entered, found.counter);
    let known = start.and_then(|start| found.rounds(start));
    if may_be_too_long && known.is_none() {
        return None;
    }
    let (header, last) = (region.header + 1, last + 1);
    let block = &mut out.blocks[last as usize];
    block.operations.pop();
    // The step stands in front of it.
    block.operations.remove(found.compare);
    let inside = region
        .blocks
        .iter()
        .map(|&block| &out.blocks[block as usize + 1]);
    let reads = inside
        .flat_map(|block| &block.operations)
        .filter(|it| it.reads().any(|read| read == found.counter))
        .count();
    let live = Liveness::of(&out);
    let behind = last + 1;
    if reads == found.moves.len() && !live.at_start(behind).contains(&found.counter) {
        for &step in found.moves.iter().rev() {
            out.blocks[last as usize].operations.remove(step);
        }
    }
    out.blocks[last as usize]
        .operations
        .push(Sc140::loop_back(header));
    if let Some(count) = known {
        let rounds = &mut out.blocks[header as usize].rounds;
        *rounds = Some(Rounds {
            least: count,
            most: count,
            multiple: count,
            iterations: rounds.map_or(1, |rounds| rounds.iterations),
        });
    }
    let rounds = out.blocks[header as usize].rounds;
    let at_least_one = rounds.is_some_and(|rounds| rounds.least > 0)
        || is_entered_if_it_counts(&out, entered, &found, start);
    // Of a counter that wraps the distance to the limit says nothing where it is none.
    if found.wraps() && !at_least_one {
        return None;
    }
    let trips = trips(&mut out, &found, (rounds, at_least_one), start == Some(0));
    out.blocks[entered as usize].operations.extend(trips);
    out.blocks[entered as usize].operations.push(setup(header));
    let region = Region {
        header,
        blocks: region.blocks.iter().map(|block| block + 1).collect(),
        independent: region.independent,
    };
    if region.blocks.len() > 1 {
        flag::number(&mut out);
        flag::convert(&mut out, &region).ok()?;
        // Of the two sides of a branch one may be without operations.
        allocate::dead(&mut out);
    }
    flag::number(&mut out);
    Some(out)
}

/// Returns true if each iteration accesses memory in another place than all others. No object is as large as half of the address
/// space, so that they are less than 2^31.
fn passes_through_memory(function: &Function, region: &Region) -> bool {
    let inside = || {
        let blocks = region.blocks.iter();
        blocks.flat_map(|&block| &function.blocks[block as usize].operations)
    };
    let (Some(&first), Some(&last)) = (region.blocks.first(), region.blocks.last()) else {
        return false;
    };
    // These are executed in each iteration, whatever is between them.
    let always = || {
        let blocks = [first, last].into_iter();
        let operations = blocks.flat_map(|block| &function.blocks[block as usize].operations);
        operations.filter(|it| it.predicate.is_none())
    };
    let moves_on = |base: Virtual| {
        let writers = inside().filter(|it| it.writes().any(|written| written == base));
        let moved = |it: &&Operation| match Sc140::increment(it) {
            Some((register, by)) => register == base && by != 0,
            None => it.stepped() == Some(Name::Virtual(base)),
        };
        writers.count() == 1 && always().any(|it| moved(&it))
    };
    always().any(|operation| {
        let mut operands = operation.targets.iter().chain(&operation.sources);
        operands.any(|operand| match operand {
            Operand::Address(Name::Virtual(base)) => moves_on(*base),
            _ => false,
        })
    })
}

/// Puts a block in front of the header, through which the loop is entered; returns its number.
fn enter(function: &mut Function, region: &Region) -> Option<u32> {
    let at = region.header;
    let inside = |block: u32| region.blocks.contains(&block);
    if at == 0 {
        return None;
    }
    // The block in front of it in the layout falls into the loop, or does not come here.
    if inside(at - 1) && function.successors(at - 1).contains(&at) {
        return None;
    }
    let weight = entries(function, region);
    let block = Block {
        weight,
        ..Block::default()
    };
    insert(function, at, block, &|from, to| {
        to > at || to == at && inside(from)
    });
    Some(at)
}

/// The number of times that a loop is entered.
fn entries(function: &Function, region: &Region) -> f64 {
    let blocks = 0..function.blocks.len() as u32;
    let outside = blocks.filter(|&from| {
        !region.blocks.contains(&from) && function.successors(from).contains(&region.header)
    });
    let entered: f64 = outside
        .map(|from| function.blocks[from as usize].weight)
        .sum();
    entered.min(function.blocks[region.header as usize].weight)
}

/// Inserts a block; jumps from one block to another lead a block further on where `follows` is true of their numbers.
fn insert(
    function: &mut Function,
    at: u32,
    block: Block<Sc140>,
    follows: &dyn Fn(u32, u32) -> bool,
) {
    for (from, block) in (0..).zip(&mut function.blocks) {
        let operations = block.operations.iter_mut();
        for operand in operations.flat_map(|operation| &mut operation.sources) {
            if let Operand::Block(to) = operand {
                *to += u32::from(follows(from, *to));
            }
        }
    }
    function.blocks.insert(at as usize, block);
}

/// Puts a jump out of a loop that stands behind the way back in a block of its own.
///
/// ```text
/// bt b1; bra b5        b2: bt b1    b3: bra b5
/// bf b5; bra b1        b2: bt b1    b3: bra b5
/// ```
fn split_exit(function: &mut Function, region: &Region) {
    let weight = entries(function, region);
    let Some(&last) = region.blocks.last() else {
        return;
    };
    let [.., first, second] = &mut function.blocks[last as usize].operations[..] else {
        return;
    };
    let turned = match first.mnemonic.opcode {
        Opcode::Bt => Opcode::Bf,
        Opcode::Bf => Opcode::Bt,
        _ => return,
    };
    if second.mnemonic.opcode != Opcode::Bra || second.predicate.is_some() {
        return;
    }
    let back = |jump: &Operation| jump.sources[..] == [Operand::Block(region.header)];
    match (back(first), back(second)) {
        (true, false) => {}
        (false, true) => {
            first.mnemonic.opcode = turned;
            std::mem::swap(&mut first.sources, &mut second.sources);
        }
        _ => return,
    }
    let behind = last + 1;
    insert(function, behind, Block::default(), &|_, to| to >= behind);
    let jump = function.blocks[last as usize].operations.pop();
    function.blocks[behind as usize] = Block {
        operations: jump.into_iter().collect(),
        weight,
        ..Block::default()
    };
}

/// A loop's counter, and the function in which only the way back ends the loop's last block.
pub(super) fn counting(function: &Function, region: &Region) -> Option<(Function, Counting)> {
    let mut out = function.clone();
    split_exit(&mut out, region);
    let found = counter(&out, region)?;
    Some((out, found))
}

fn counter(function: &Function, region: &Region) -> Option<Counting> {
    let last = *region.blocks.last()?;
    let operations = &function.blocks[last as usize].operations;
    let back = operations.last()?;
    let goes_back = back.sources[..] == [Operand::Block(region.header)];
    let holds = match back.mnemonic.opcode {
        Opcode::Bt => true,
        Opcode::Bf => false,
        _ => return None,
    };
    let flag = back.predicate.filter(|_| goes_back)?;
    let leaves = |&block: &u32| {
        block != last
            && function
                .successors(block)
                .iter()
                .any(|to| !region.blocks.contains(to) || *to == region.header)
    };
    if region.blocks.iter().any(leaves) {
        return None;
    }
    let compare = operations
        .iter()
        .rposition(|operation| operation.writes().any(|written| written == flag))?;
    if operations[compare].predicate.is_some() || !is_local(function, flag) {
        return None;
    }
    let inside = || {
        let blocks = region
            .blocks
            .iter()
            .map(|&block| &function.blocks[block as usize]);
        blocks.flat_map(|block| &block.operations)
    };
    let writes = |of: Virtual| {
        inside()
            .filter(|it| it.writes().any(|written| written == of))
            .count()
    };
    let (relation, pair) = relation(&operations[compare])?;
    let relation = match holds {
        true => relation,
        false => relation.negated(),
    };
    let [left, right] = pair;
    let (counter, limit, relation) = match (left, right) {
        (Limit::Register(counter), limit) if step(operations, counter).is_some() => {
            (counter, limit, relation)
        }
        (limit, Limit::Register(counter)) => (counter, limit, relation.mirrored()),
        _ => return None,
    };
    let (moves, step) = step(operations, counter)?;
    let fixed = match limit {
        Limit::Number(_) => true,
        Limit::Register(limit) => writes(limit) == 0,
    };
    // Between the step and the comparison nothing else is read.
    let in_front = moves.iter().all(|&at| at < compare);
    if !fixed || writes(counter) != moves.len() || !in_front {
        return None;
    }
    // One that wraps is met on its way, or not at all.
    if moves.len() > 1 && relation != Relation::NotEqual {
        return None;
    }
    let towards = match relation {
        Relation::Less | Relation::LessEqual => step > 0,
        Relation::Greater | Relation::GreaterEqual => step < 0,
        Relation::NotEqual => step.abs() == 1,
        Relation::Equal => false,
    };
    (towards && step.unsigned_abs().is_power_of_two()).then_some(Counting {
        counter,
        step,
        relation,
        limit,
        compare,
        moves,
    })
}

/// Returns true if each block reads the flag once at most, behind a comparison of its own: a loop's test stands in front of the
/// loop, too.
fn is_local(function: &Function, flag: Virtual) -> bool {
    function.blocks.iter().all(|block| {
        let reads = |operation: &Operation| operation.reads().any(|read| read == flag);
        let writes = |operation: &Operation| operation.writes().any(|written| written == flag);
        let mut readers = block
            .operations
            .iter()
            .enumerate()
            .filter(|(_, it)| reads(it));
        match (readers.next(), readers.next()) {
            (None, _) => true,
            (Some((at, _)), None) => block.operations[..at].iter().any(writes),
            _ => false,
        }
    })
}

/// The relation for which a comparison sets T, and its sides.
fn relation(compare: &Operation) -> Option<(Relation, [Limit; 2])> {
    let operand = |operand: &Operand| match operand {
        Operand::Number(number) => Some(Limit::Number(*number)),
        Operand::Register(Name::Virtual(register)) => Some(Limit::Register(*register)),
        _ => None,
    };
    let sources: Option<Vec<Limit>> = compare.sources.iter().map(operand).collect();
    let zero = Limit::Number(0);
    match (compare.mnemonic.opcode, sources?.as_slice()) {
        (Opcode::Cmpgt | Opcode::CmpgtW, &[with, value]) => {
            Some((Relation::Greater, [value, with]))
        }
        (Opcode::Cmpeq | Opcode::CmpeqW, &[with, value]) => Some((Relation::Equal, [value, with])),
        (Opcode::Tsteq, &[value]) => Some((Relation::Equal, [value, zero])),
        (Opcode::Tstgt, &[value]) => Some((Relation::Greater, [value, zero])),
        (Opcode::Tstge, &[value]) => Some((Relation::GreaterEqual, [value, zero])),
        _ => None,
    }
}

/// The only operations that move a register on by a constant, and the constant.
fn step(operations: &[Operation], counter: Virtual) -> Option<(SmallVec<[usize; 2]>, i64)> {
    let writes = |operation: &Operation| operation.writes().any(|written| written == counter);
    let at = operations.iter().rposition(writes)?;
    let found = &operations[at];
    let own = Operand::register(counter);
    let alone = |it: &Operation| {
        it.targets[..] == [own.clone()] && it.mnemonic.condition == Condition::Always
    };
    if !alone(found) {
        return None;
    }
    let by = match (found.mnemonic.opcode, &found.sources[..]) {
        (Opcode::Add, [Operand::Number(by)]) => *by,
        (Opcode::Sub, [Operand::Number(by)]) => -by,
        (Opcode::AddncW, [Operand::Number(by), from]) if *from == own => *by,
        (Opcode::SxtL, [from]) if *from == own => {
            let sum = operations[..at].iter().rposition(writes)?;
            let before = &operations[sum];
            let is_sum = alone(before) && before.mnemonic.opcode == Opcode::IaddncW;
            return match before.sources[..] {
                [Operand::Number(by)] if is_sum => Some((smallvec![sum, at], by)),
                _ => None,
            };
        }
        _ => return None,
    };
    Some((smallvec![at], by))
}

impl Counting {
    /// The rounds of a loop that is entered with this counter; at least one. `None`: the limit is no number, or the counter
    /// passes the end of its range.
    fn rounds(&self, start: i64) -> Option<u64> {
        let Limit::Number(limit) = self.limit else {
            return None;
        };
        let distance = if self.step > 0 {
            limit - start
        } else {
            start - limit
        };
        let size = self.step.abs();
        let range = i64::from(i32::MIN) + size..=i64::from(i32::MAX) - size;
        let rounds = match self.relation {
            Relation::NotEqual => Some(distance),
            Relation::LessEqual | Relation::GreaterEqual => {
                Some((distance + size).div_euclid(size))
            }
            Relation::Less | Relation::Greater => Some((distance + size - 1).div_euclid(size)),
            Relation::Equal => None,
        };
        let counts =
            range.contains(&limit) && (self.relation != Relation::NotEqual || distance > 0);
        rounds.filter(|_| counts).map(|rounds| rounds.max(1) as u64)
    }
}

/// The number that a register holds wherever control comes to the end of a block: that of the last operation that writes it on
/// the only way there.
fn constant_behind(function: &Function, mut block: u32, register: Virtual) -> Option<i64> {
    for _ in 0..function.blocks.len() {
        let operations = &function.blocks[block as usize].operations;
        let writes = |operation: &&Operation| operation.writes().any(|written| written == register);
        if let Some(last) = operations.iter().rev().find(writes) {
            let number = match (last.mnemonic.opcode, &last.sources[..]) {
                (Opcode::Clr, []) => Some(0),
                (Opcode::MoveW | Opcode::MoveL, [Operand::Number(number)]) => Some(*number),
                _ => None,
            };
            return number.filter(|_| last.mnemonic.condition == Condition::Always);
        }
        let all = 0..function.blocks.len() as u32;
        let mut before = all.filter(|&it| function.successors(it).contains(&block));
        match (before.next(), before.next()) {
            (Some(only), None) => block = only,
            _ => return None,
        }
    }
    None
}

/// Returns true if control comes to a block only where the counter, which has the number `start` there, is not at its limit: the
/// last branch on the only way compared them.
fn is_entered_if_it_counts(
    function: &Function,
    entered: u32,
    found: &Counting,
    start: Option<i64>,
) -> bool {
    let mut block = entered;
    let mut written: Vec<Virtual> = Vec::new();
    for _ in 0..function.blocks.len() {
        let all = 0..function.blocks.len() as u32;
        let mut before = all.filter(|&it| function.successors(it).contains(&block));
        let (Some(from), None) = (before.next(), before.next()) else {
            return false;
        };
        let operations = &function.blocks[from as usize].operations;
        let Some((last, flag)) = operations
            .last()
            .and_then(|last| Some((last, last.predicate?)))
            .filter(|(last, _)| last.branch() == Some(Branch::Jump))
        else {
            written.extend(operations.iter().flat_map(Operation::writes));
            block = from;
            continue;
        };
        let writes_flag = |it: &Operation| it.writes().any(|written| written == flag);
        let Some(compare) = operations.iter().rposition(writes_flag) else {
            return false;
        };
        let taken = last.sources[..] == [Operand::Block(block)];
        let Some((relation, [left, right])) =
            relation(&operations[compare]).filter(|_| operations[compare].predicate.is_none())
        else {
            return false;
        };
        let relation = match (last.mnemonic.opcode == Opcode::Bt) == taken {
            true => relation,
            false => relation.negated(),
        };
        written.extend(operations[compare..].iter().flat_map(Operation::writes));
        let number = |it: Limit| match it {
            Limit::Number(number) => Some(number),
            Limit::Register(register) if written.contains(&register) => None,
            Limit::Register(register) => constant_behind(function, from, register),
        };
        let same = |own: Limit, other: Limit| match (own, other) {
            (Limit::Register(register), _) if own == other => !written.contains(&register),
            _ => number(own).is_some() && number(own) == number(other),
        };
        let counts = |it: Limit| {
            same(it, Limit::Register(found.counter)) || start.is_some() && number(it) == start
        };
        return relation == found.relation && counts(left) && same(right, found.limit)
            || relation.mirrored() == found.relation && counts(right) && same(left, found.limit);
    }
    false
}

/// Operations that count the iterations of a loop and enable it.
/// `at_least_one`: there is one; `from_zero`: the counter is 0 there.
fn trips(
    function: &mut Function,
    found: &Counting,
    (rounds, at_least_one): (Option<Rounds>, bool),
    from_zero: bool,
) -> Vec<Operation> {
    let mut out = Vec::new();
    let up = found.step > 0;
    let size = found.step.abs();
    // The distance to the limit, rounded up to whole steps.
    let more = match found.relation {
        Relation::LessEqual | Relation::GreaterEqual => size,
        _ => size - 1,
    };
    let mut data = || function.register(File::Data);
    let trips = data();
    if let Some(Rounds { least, most, .. }) = rounds
        && least == most
        && let Ok(count) = i32::try_from(least)
    {
        let opcode = match i16::try_from(count) {
            Ok(_) => Opcode::MoveW,
            Err(_) => Opcode::MoveL,
        };
        out.push(operation(
            opcode,
            vec![trips.into()],
            vec![i64::from(count).into()],
        ));
        out.push(Sc140::set_counter(trips));
        return out;
    }
    let counter = Operand::register(found.counter);
    let limit = match found.limit {
        Limit::Register(limit) => limit,
        Limit::Number(number) => {
            let limit = data();
            let opcode = match number {
                -0x8000..=0x7fff => Opcode::MoveW,
                _ => Opcode::MoveL,
            };
            out.push(operation(opcode, vec![limit.into()], vec![number.into()]));
            limit
        }
    };
    let flag = function.register(File::Truth);
    // sub a,b is b - a
    match up && from_zero {
        true => out.push(operation(
            Opcode::Tfr,
            vec![trips.into()],
            vec![limit.into()],
        )),
        false => {
            let [less, from] = match up {
                true => [counter, limit.into()],
                false => [limit.into(), counter],
            };
            let own = || vec![trips.into()];
            match found.wraps() {
                false => out.push(operation(Opcode::Sub, own(), vec![less, from])),
                // ~(~a + b), where nothing saturates
                true => out.extend([
                    operation(Opcode::Not, own(), vec![from]),
                    operation(Opcode::Iadd, own(), vec![less]),
                    operation(Opcode::Not, own(), own()),
                    operation(Opcode::SxtL, own(), own()),
                ]),
            }
        }
    }
    // The distance is a multiple of the step where iterations of the source, each of which steps by one, fill the rounds.
    let strict = more == size - 1;
    let exact = strict && rounds.is_some_and(|rounds| i64::from(rounds.iterations) == size);
    if more > 0 && !exact {
        let sources = vec![more.into(), trips.into()];
        out.push(operation(Opcode::AddncW, vec![trips.into()], sources));
    }
    if size > 1 {
        let places = i64::from(size.trailing_zeros());
        out.push(operation(
            Opcode::Asrr,
            vec![trips.into()],
            vec![places.into()],
        ));
    }
    if !at_least_one {
        out.push(operation(
            Opcode::Tstgt,
            vec![flag.into()],
            vec![trips.into()],
        ));
        let one = operation(Opcode::MoveW, vec![trips.into()], vec![1.into()]);
        out.push(Sc140::under(one, flag, false));
    }
    out.push(Sc140::set_counter(trips));
    out
}
