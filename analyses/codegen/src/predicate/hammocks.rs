//! If-conversion of branches outside of pipelined loops: the sides of an `if` under the predicates of its
//! compare, in one block with the code before and behind.
//!
//! ```text
//!     cmp.gt p0, p6 = a, 0                cmp.gt p7, p6 = a, 0
//!     (p6) br.cond b2                     adds r = -1, s
//! b1: adds r = 1, s; br b3          ->    (p7) adds r = 1, s
//! b2: adds r = -1, s                      ...
//! b3: ...
//! ```
//!
//! Inner branches come first, so that an outer one finds its sides without any. An operation without an
//! effect whose target nobody reads on the other way executes always, which frees it from the compare; the
//! rest goes under a predicate. A compare in a side clears its targets where the side does not execute
//! (`unc`), so that operations under them do not execute.
//!
//! A branch in a side that leaves for elsewhere stays a branch, under the predicate that its compare has on the side (a region
//! branch); it stands at the end of the block, as late as possible, and what follows it in the side executes under the complement:
//!
//! ```text
//! if (a) { x++; if (b) break; y++; }      cmp p = a; (p) add x; (p) cmp.unc r, q = b; (q) add y; (r) br elsewhere
//! ```
//!
//! Cost: the cycles of the block, against those of the ways weighted by their frequency, and of mispredicted branches; where
//! frequencies are not known, against the shortest way. Each conversion removes a branch, so that it ends.
//!
//! Not converted: sides with calls, more than `MOST_PARTS` branches that leave, with fixed registers, parallel compares, or operations under
//! predicates that come from elsewhere.
//!
//! Source: Allen, Kennedy, Porterfield and Warren, *Conversion of Control Dependence to Data Dependence*,
//! POPL 1983; for its profitability: August, Hwu and Mahlke, *A Framework for Balancing Control Flow and
//! Predication*, MICRO-30, 1997; for region branches: Simon, Calder, Ferrante, *Incorporating Predicate Information into Branch
//! Predictors*, EPIC-1, 2001, section 2.

use crate::mir::liveness::Liveness;
use crate::mir::{Function, Name, Operand, Operation, Predicated, Virtual};
use ir::{EntitySet, Loc};
use isa::Branch;
use rustc_hash::FxHashSet;
use smallvec::smallvec;

/// Operations of a side.
const MOST: usize = 32;
/// Blocks of a side.
const MOST_PARTS: usize = 4;
/// The share of executions that are mispredicted, where no profile says how often the sides are taken.
const MISPREDICTED: f64 = 0.1;

/// The terms on which branches are converted.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Terms {
    /// Places of conditions whose branches the source wants converted.
    pub asked: Vec<Loc>,
    /// All others that gain by the cost.
    pub gaining: bool,
    /// The weights of blocks were counted.
    pub counted: bool,
    /// Cycles that a misprediction costs.
    pub penalty: f64,
}

/// A branch that was converted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Conversion {
    /// Its condition.
    pub loc: Loc,
    pub asked: bool,
    /// True if judged by the frequencies of its sides; otherwise against the shortest way.
    pub counted: bool,
    /// Cycles of an execution before and after, an estimate.
    pub before: f64,
    pub after: f64,
    /// Operations that are fetched on both ways now.
    pub operations: u32,
    /// Branches of the sides that stay, for they leave for elsewhere.
    pub exits: u32,
    /// Mispredictions that it spares in the runs whose executions are the weights of blocks, an estimate.
    pub spared: f64,
}

/// The outcome of conversion for a function's branches.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Conversions {
    pub made: Vec<Conversion>,
    /// Branches that stay although the source asks it, each with its condition.
    pub kept: Vec<(Loc, Kept)>,
}

/// The reason why a branch stays of which the source asks that it is converted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Kept {
    #[error(
        "its sides do not meet again in one place, others come into them, or more than {MOST_PARTS} branches leave one of them"
    )]
    Shape,
    #[error("a side calls, returns, or holds another branch that stays")]
    Branch,
    #[error("a side has {operations} operations, more than {MOST}")]
    Large { operations: u32 },
    #[error("a side writes a register that has its place already")]
    Fixed,
    #[error("a condition in a side is needed elsewhere, or is made of several")]
    Condition,
    #[error("a side divides or takes a square root, whose approximation makes a predicate")]
    Approximates,
    #[error("the function finds no registers with it")]
    Registers,
    #[error("the converted code does something else: this is a fault of ours")]
    Unsound,
}

/// A block of a side.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Part {
    block: u32,
    exit: Option<Exit>,
}

/// The branch at the end of a block that leaves a side.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Exit {
    /// The conditional branch, and its guard.
    branch: usize,
    guard: Virtual,
    /// True if it leaves where the guard holds.
    holds: bool,
    to: u32,
}

/// The blocks of a side, each of which only the one before leads to.
type Side = Vec<Part>;

/// A block whose branch leads to one or two sides that meet in one place.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Hammock {
    head: u32,
    /// The branch, and an unconditional jump behind it.
    branch: usize,
    guard: Virtual,
    /// Taken, and not; empty where there is none.
    sides: [Side; 2],
    join: u32,
}

impl Hammock {
    fn parts(&self) -> impl Iterator<Item = &Part> {
        self.sides.iter().flatten()
    }

    /// The places to which control leaves the sides.
    fn exits(&self) -> impl Iterator<Item = u32> {
        let exits = self.parts().filter_map(|part| part.exit.as_ref());
        exits.map(|exit| exit.to)
    }
}

/// Judges a conversion by the function before and behind it, the head, and the places to which control comes behind it: the join
/// and those of exits. A conversion found wrong is not made.
pub type Check<'a, T> = &'a dyn Fn(&Function<T>, &Function<T>, u32, &[u32]) -> bool;

/// The judgement of a target: cycles of an execution of some blocks, the first first, and a checker.
#[allow(missing_debug_implementations)]
pub struct Judge<'a, T: Predicated> {
    pub cycles: &'a dyn Fn(&Function<T>, &[u32]) -> f64,
    pub check: Check<'a, T>,
}

/// Converts branches of blocks whose cycles are not decided.
pub fn convert<T: Predicated>(
    function: &mut Function<T>,
    terms: &Terms,
    judge: &Judge<'_, T>,
) -> Conversions {
    let mut out = Conversions::default();
    if terms.asked.is_empty() && !terms.gaining {
        return out;
    }
    let mut again = true;
    while std::mem::take(&mut again) {
        out.kept.clear();
        for head in (0..function.blocks.len() as u32).rev() {
            let Some((branch, _)) = conditional(function, head) else {
                continue;
            };
            let loc = function.blocks[head as usize].operations[branch].loc;
            let asked = terms
                .asked
                .iter()
                .any(|place| place.span == loc.span && place.site == loc.site);
            if !asked && !terms.gaining {
                continue;
            }
            match attempt(function, head, asked, terms, judge) {
                Ok(Some(made)) => {
                    if (judge.check)(function, &made.function, head, &made.ends) {
                        *function = made.function;
                        straighten(function, head, made.ends[0]);
                        out.made.push(made.conversion);
                        again = true;
                    } else {
                        out.kept.push((loc, Kept::Unsound));
                    }
                }
                Ok(None) => {}
                Err(why) => {
                    if asked {
                        out.kept.push((loc, why));
                    }
                }
            }
        }
    }
    out
}

/// The only conditional jump of a block, behind which at most one other jump stands, and its guard.
fn conditional<T: Predicated>(function: &Function<T>, block: u32) -> Option<(usize, Virtual)> {
    let data = &function.blocks[block as usize];
    if !data.cycles.is_empty() {
        return None;
    }
    let last = data.operations.len().checked_sub(1)?;
    let at = match data.operations[last].predicate {
        Some(_) => last,
        None => last.checked_sub(1)?,
    };
    let jump = |at: usize| data.operations[at].branch() == Some(Branch::Jump);
    let branch = &data.operations[at];
    let guard = branch.predicate?;
    let alone = data.operations[..at].iter().all(|it| it.branch().is_none());
    (jump(at) && jump(last) && branch.executes_where_held() && alone).then_some((at, guard))
}

fn target<T: Predicated>(operation: &Operation<T>) -> Option<u32> {
    let mut blocks = operation.branches_to();
    blocks.next().filter(|_| blocks.next().is_none())
}

/// The block that executes where control comes to a block: behind those that are empty.
fn behind<T: Predicated>(function: &Function<T>, mut block: u32) -> u32 {
    let is_empty = |block: u32| {
        let data = function.blocks.get(block as usize);
        data.is_some_and(|data| data.operations.is_empty())
    };
    while is_empty(block) && (block as usize) + 1 < function.blocks.len() {
        block += 1;
    }
    block
}

/// The blocks that execute behind a block, each once.
fn next<T: Predicated>(function: &Function<T>, block: u32) -> Vec<u32> {
    let all = function.successors(block).into_iter();
    let mut out: Vec<u32> = all.map(|to| behind(function, to)).collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// The blocks from which control comes to each block, without those that nothing reaches and those that are empty.
fn comes_from<T: Predicated>(function: &Function<T>) -> Vec<Vec<u32>> {
    let mut out = vec![Vec::new(); function.blocks.len()];
    let reached = reached(function);
    for block in 0..function.blocks.len() as u32 {
        if !reached[block as usize] || function.blocks[block as usize].operations.is_empty() {
            continue;
        }
        for to in next(function, block) {
            out[to as usize].push(block);
        }
    }
    out
}

/// The targets of a block's conditional branch: taken, and not; as they stand.
fn targets<T: Predicated>(
    function: &Function<T>,
    block: u32,
    branch: usize,
) -> Result<[u32; 2], Kept> {
    let operations = &function.blocks[block as usize].operations;
    let taken = target(&operations[branch]).ok_or(Kept::Shape)?;
    let other = match operations.get(branch + 1) {
        Some(jump) => target(jump).ok_or(Kept::Shape)?,
        None => block + 1,
    };
    Ok([taken, other])
}

fn hammock<T: Predicated>(function: &Function<T>, head: u32) -> Result<Hammock, Kept> {
    let (branch, guard) = conditional(function, head).ok_or(Kept::Shape)?;
    let [taken, other] = targets(function, head, branch)?.map(|to| behind(function, to));
    if taken == other {
        return Err(Kept::Shape);
    }
    let search = Search {
        function,
        before: comes_from(function),
        head,
    };
    let [mut first, mut second] = [taken, other].map(|side| search.sides(side));
    // No side at all, or a side that leads to where the other way is at once.
    first.insert(0, (Vec::new(), taken));
    second.insert(0, (Vec::new(), other));
    let pairs = first
        .iter()
        .flat_map(|one| second.iter().map(move |two| (one, two)));
    let met = pairs.filter(|((_, join), (_, also))| join == also);
    // To the usual place, and with few ways out.
    let exits = |side: &Side| side.iter().filter(|part| part.exit.is_some()).count();
    let weight = |block: u32| function.blocks[block as usize].weight;
    let fewest = met.min_by(|((a, here), (b, _)), ((c, there), (d, _))| {
        let left = (exits(a) + exits(b)).cmp(&(exits(c) + exits(d)));
        let usual = || weight(*there).total_cmp(&weight(*here));
        let shorter = || (a.len() + b.len()).cmp(&(c.len() + d.len()));
        usual().then(left).then_with(shorter)
    });
    let ((one, join), (two, _)) = fewest.ok_or(Kept::Shape)?;
    Ok(Hammock {
        head,
        branch,
        guard,
        sides: [one.clone(), two.clone()],
        join: *join,
    })
}

/// The search for sides of a head.
struct Search<'f, T: Predicated> {
    function: &'f Function<T>,
    before: Vec<Vec<u32>>,
    head: u32,
}

impl<T: Predicated> Search<'_, T> {
    /// The sides that begin with a block, each with the place that it leads to.
    fn sides(&self, block: u32) -> Vec<(Side, u32)> {
        let mut out = Vec::new();
        self.extend(&[], self.head, block, &mut out);
        out
    }

    fn extend(&self, side: &[Part], from: u32, block: u32, out: &mut Vec<(Side, u32)>) {
        let lone = self
            .before
            .get(block as usize)
            .is_some_and(|it| *it == [from]);
        let known = |other: u32| other == self.head || side.iter().any(|part| part.block == other);
        if !lone || block == 0 || known(block) || side.len() == MOST_PARTS {
            return;
        }
        match next(self.function, block).as_slice() {
            [to] if *to != block && !known(*to) => {
                let part = Part { block, exit: None };
                out.push((side.iter().cloned().chain([part]).collect(), *to));
            }
            [_, _] => {
                let Some((branch, guard)) = conditional(self.function, block) else {
                    return;
                };
                let Ok(targets) = targets(self.function, block, branch) else {
                    return;
                };
                for holds in [true, false] {
                    let [to, onwards] = match holds {
                        true => targets,
                        false => [targets[1], targets[0]],
                    };
                    let onwards = behind(self.function, onwards);
                    let exit = Exit {
                        branch,
                        guard,
                        holds,
                        to,
                    };
                    let leaves = behind(self.function, to);
                    if known(leaves) || known(onwards) || leaves == block || onwards == block {
                        continue;
                    }
                    let mut side = side.to_vec();
                    side.push(Part {
                        block,
                        exit: Some(exit),
                    });
                    out.push((side.clone(), onwards));
                    self.extend(&side, block, onwards, out);
                }
            }
            _ => {}
        }
    }
}

/// The operations of a side's block without the branches at its end.
fn body<'f, T: Predicated>(
    function: &'f Function<T>,
    part: &Part,
) -> Result<&'f [Operation<T>], Kept> {
    let block = &function.blocks[part.block as usize];
    if !block.cycles.is_empty() {
        return Err(Kept::Branch);
    }
    let operations = match (&part.exit, block.operations.split_last()) {
        (Some(exit), _) => &block.operations[..exit.branch],
        (None, Some((last, rest)))
            if last.branch() == Some(Branch::Jump) && last.predicate.is_none() =>
        {
            rest
        }
        _ => &block.operations[..],
    };
    if operations
        .iter()
        .any(|operation| operation.branch().is_some())
    {
        return Err(Kept::Branch);
    }
    Ok(operations)
}

/// A function with a branch converted.
struct Attempt<T: Predicated> {
    function: Function<T>,
    conversion: Conversion,
    /// The join first, then the targets of exits.
    ends: Vec<u32>,
}

/// The converted function, where that is asked for or gains.
fn attempt<T: Predicated>(
    function: &Function<T>,
    head: u32,
    asked: bool,
    terms: &Terms,
    judge: &Judge<'_, T>,
) -> Result<Option<Attempt<T>>, Kept> {
    let found = hammock(function, head)?;
    let liveness = Liveness::of(function);
    let mut after = function.clone();
    let loc = function.blocks[head as usize].operations[found.branch].loc;
    let mut operations = function.blocks[head as usize].operations[..found.branch].to_vec();
    let (yes, no) = predicates(&mut after, &mut operations, found.guard, loc);
    let bodies: Vec<&[Operation<T>]> = found
        .parts()
        .map(|part| body(function, part))
        .collect::<Result<_, _>>()?;
    let added: usize = bodies.iter().map(|side| side.len()).sum();
    for side in &found.sides {
        let parts = side.iter().map(|part| body(function, part).map(<[_]>::len));
        let operations = parts.sum::<Result<usize, Kept>>()?;
        if operations > MOST {
            return Err(Kept::Large {
                operations: operations as u32,
            });
        }
    }
    // What an operation writes that executes always must not be read on other ways: where these end, or where the operations of the
    // other side follow, at their start.
    let ends = |sides: &[Side]| {
        let mut out = EntitySet::new();
        let exits = sides.iter().flatten().filter_map(|it| it.exit.as_ref());
        for exit in exits {
            out.union_with(liveness.at_start(behind(function, exit.to)));
        }
        out
    };
    let mut exits = Vec::new();
    let mut predicates_of_exits = Vec::new();
    for (number, guard) in [(1, no), (0, yes)] {
        let (mut live, follows) = match (number, found.sides[0].first()) {
            (1, Some(other)) => (ends(&found.sides[1..]), other.block),
            _ => (ends(&found.sides), found.join),
        };
        live.union_with(liveness.at_start(follows));
        live.extend([yes, no]);
        live.extend(predicates_of_exits.iter().copied());
        let mut guard = guard;
        for part in &found.sides[number] {
            let mut own = body(function, part)?.to_vec();
            let Some(exit) = &part.exit else {
                guarded(&after, &own, guard, &live, &mut operations)?;
                continue;
            };
            let branch = &function.blocks[part.block as usize].operations[exit.branch];
            let (holds, fails) = predicates(&mut after, &mut own, exit.guard, branch.loc);
            let [leaves, stays] = match exit.holds {
                true => [holds, fails],
                false => [fails, holds],
            };
            guarded(&after, &own, guard, &live, &mut operations)?;
            if !cleared::<T>(&operations, leaves, guard) || !cleared::<T>(&operations, stays, guard)
            {
                return Err(Kept::Condition);
            }
            // Nothing behind may write them.
            live.extend([leaves, stays]);
            predicates_of_exits.extend([leaves, stays]);
            let mut branch = branch.clone();
            branch.predicate = Some(leaves);
            branch.sources = smallvec![Operand::Block(exit.to)];
            exits.push(branch);
            guard = stays;
        }
    }
    let left = exits.len() as u32;
    operations.append(&mut exits);
    let weight = |block: u32| function.blocks[block as usize].weight;
    let entered = weight(head).max(f64::MIN_POSITIVE);
    let share = |side: &Side| {
        let first = side.first()?;
        Some((weight(first.block) / entered).clamp(0.0, 1.0))
    };
    let taken = share(&found.sides[0])
        .or(share(&found.sides[1]).map(|share| 1.0 - share))
        .filter(|_| terms.counted);
    let mispredicted = taken.map_or(MISPREDICTED, |taken| taken.min(1.0 - taken));
    operations.push(T::jump(found.join).at(loc));
    after.blocks[head as usize].operations = operations;
    for part in found.parts() {
        let block = &mut after.blocks[part.block as usize];
        block.operations.clear();
        block.weight = 0.0;
    }
    let before = match terms.counted {
        true => {
            let ways = [head]
                .into_iter()
                .chain(found.parts().map(|part| part.block));
            (judge.cycles)(function, &ways.collect::<Vec<u32>>())
        }
        // Where nobody knows which way is the usual one, it may be the shortest.
        false => shortest(function, &found, judge),
    };
    // What leaves a side is predicted on the other way, too.
    let inherited = match terms.counted {
        true => inherited(function, &found),
        false => 0.0,
    };
    let conversion = Conversion {
        loc,
        asked,
        counted: terms.counted,
        before: before + mispredicted * terms.penalty,
        after: (judge.cycles)(&after, &[head]) + inherited / entered * terms.penalty,
        operations: added as u32,
        exits: left,
        spared: mispredicted * weight(head) - inherited,
    };
    if !asked && conversion.after >= conversion.before {
        return Ok(None);
    }
    Ok(Some(Attempt {
        function: after,
        conversion,
        ends: [found.join].into_iter().chain(found.exits()).collect(),
    }))
}

/// Mispredictions of the branches that leave its sides beyond those of today, in the runs whose executions are the weights: a branch is
/// predicted wrong as often as it goes its rarer way.
fn inherited<T: Predicated>(function: &Function<T>, found: &Hammock) -> f64 {
    let weight = |block: u32| function.blocks[block as usize].weight;
    let entered = weight(found.head);
    let wrong = |leaves: f64, of: f64| leaves.min(of - leaves).max(0.0);
    let before = comes_from(function);
    let mut out = 0.0;
    for side in &found.sides {
        for (at, part) in side.iter().enumerate() {
            let Some(exit) = &part.exit else {
                continue;
            };
            let come = weight(part.block).min(entered);
            let to = behind(function, exit.to);
            let next = side.get(at + 1).map_or(found.join, |part| part.block);
            let alone = |block: u32| before[block as usize] == [part.block];
            let leave = match () {
                () if alone(to) => Some(weight(to).min(come)),
                () if alone(next) => Some((come - weight(next)).max(0.0)),
                () => None,
            };
            // Where others go to both places, it may be as many as makes it worst.
            out += match leave {
                Some(leave) => wrong(leave, entered) - wrong(leave, come),
                None => wrong(come, entered),
            };
        }
    }
    out
}

/// Cycles of the shortest way through a hammock.
fn shortest<T: Predicated>(function: &Function<T>, found: &Hammock, judge: &Judge<'_, T>) -> f64 {
    let mut always = function.clone();
    let entered = always.blocks[found.head as usize].weight;
    for part in found.parts() {
        always.blocks[part.block as usize].weight = entered;
    }
    let ways = found.sides.iter().map(|side| {
        let side = side.iter().map(|part| part.block);
        let way: Vec<u32> = [found.head].into_iter().chain(side).collect();
        (judge.cycles)(&always, &way)
    });
    ways.fold(f64::INFINITY, f64::min)
}

/// The predicates of the taken side and of the other one: those of the compare, or made of the guard behind it.
fn predicates<T: Predicated>(
    function: &mut Function<T>,
    operations: &mut Vec<Operation<T>>,
    guard: Virtual,
    loc: Loc,
) -> (Virtual, Virtual) {
    let writers: Vec<usize> = (0..operations.len())
        .filter(|&at| operations[at].writes().any(|register| register == guard))
        .collect();
    if let [.., at] = writers[..] {
        let compare = &operations[at];
        let fits =
            T::is_compare(compare) && !T::is_parallel(compare) && compare.predicate.is_none();
        if fits {
            let mut targets = compare.targets.clone();
            if targets.len() == 1 {
                targets.push(Operand::fixed(T::UNREAD));
            }
            let first = targets[0].virtual_register() == Some(guard);
            let other = &mut targets[usize::from(first)];
            let complement = match other.virtual_register() {
                Some(register) => {
                    let mut behind = operations[at + 1..].iter();
                    let kept =
                        behind.all(|later| later.writes().all(|written| written != register));
                    kept.then_some(register)
                }
                None if *other == Operand::fixed(T::UNREAD) => {
                    let fresh = function.register(T::GUARD);
                    *other = Operand::register(fresh);
                    Some(fresh)
                }
                None => None,
            };
            if let Some(complement) = complement {
                operations[at].targets = targets;
                return (guard, complement);
            }
        }
    }
    let [yes, no] = [T::GUARD; 2].map(|class| function.register(class));
    let number = function.register(T::GENERAL);
    let targets = [Operand::register(yes), Operand::register(no)];
    let made = T::conjunction(guard, None, number, targets);
    operations.extend(made.into_iter().map(|made| Operation { loc, ..made }));
    (yes, no)
}

/// Adds the operations of a side under its guard; those without an effect execute always where nothing reads their targets on
/// other ways: `live` are the registers that these read.
fn guarded<T: Predicated>(
    function: &Function<T>,
    side: &[Operation<T>],
    guard: Virtual,
    live: &EntitySet<Virtual>,
    out: &mut Vec<Operation<T>>,
) -> Result<(), Kept> {
    // Predicates that are false where the side does not execute.
    let mut own: FxHashSet<Virtual> = FxHashSet::default();
    for operation in side {
        let mut fixed = operation.targets.iter().filter_map(|target| match target {
            Operand::Register(Name::Fixed(register)) => Some(*register),
            _ => None,
        });
        if fixed.any(|register| register != T::UNREAD) {
            return Err(Kept::Fixed);
        }
        let free = operation.writes().all(|register| !live.contains(&register));
        let mut operation = operation.clone();
        match operation.predicate {
            None if T::is_pure(&operation) && free => {}
            None if T::is_compare(&operation) => {
                if T::is_parallel(&operation) || !free {
                    return Err(Kept::Condition);
                }
                own.extend(operation.writes());
                operation.mnemonic = T::unconditional(operation.mnemonic);
                operation.predicate = Some(guard);
            }
            None => {
                // A guard that is made in another way is not cleared.
                if operation
                    .writes()
                    .any(|register| T::is_guard(function.class(register)))
                {
                    return Err(Kept::Approximates);
                }
                operation.predicate = Some(guard);
            }
            Some(inner) if own.contains(&inner) => {
                if T::is_compare(&operation) {
                    if T::is_parallel(&operation) || !operation.is_certain() || !free {
                        return Err(Kept::Condition);
                    }
                    own.extend(operation.writes());
                }
            }
            Some(_) => return Err(Kept::Condition),
        }
        out.push(operation);
    }
    Ok(())
}

/// Returns whether a predicate is false where its guard is: the last that writes it is an unconditional compare under the guard.
fn cleared<T: Predicated>(operations: &[Operation<T>], predicate: Virtual, guard: Virtual) -> bool {
    let mut writers = operations.iter().rev();
    let last = writers.find(|it| it.writes().any(|register| register == predicate));
    last.is_some_and(|it| {
        T::is_compare(it)
            && it.predicate == Some(guard)
            && it.mnemonic == T::unconditional(it.mnemonic)
    })
}

/// A join to which only the head leads becomes a part of it.
fn straighten<T: Predicated>(function: &mut Function<T>, head: u32, join: u32) {
    let before = comes_from(function);
    let lone = before[join as usize] == [head];
    let decided = !function.blocks[join as usize].cycles.is_empty();
    // Branches stand at the end of a block.
    let exits = next(function, head).len() > 1;
    if !lone || decided || exits || join == head || join == 0 {
        return;
    }
    let falls = {
        let operations = &function.blocks[join as usize].operations;
        !operations.last().is_some_and(Operation::leaves)
    };
    let mut moved = std::mem::take(&mut function.blocks[join as usize].operations);
    let weight = std::mem::replace(&mut function.blocks[join as usize].weight, 0.0);
    let block = &mut function.blocks[head as usize];
    let jump = block.operations.pop();
    block.operations.append(&mut moved);
    block.weight = block.weight.max(weight);
    // What falls through goes where the join did.
    if let (true, Some(mut jump)) = (falls, jump) {
        jump.sources = smallvec![Operand::Block(join + 1)];
        block.operations.push(jump);
    }
}

fn reached<T: Predicated>(function: &Function<T>) -> Vec<bool> {
    let mut out = vec![false; function.blocks.len()];
    let mut open = vec![0];
    while let Some(block) = open.pop() {
        if let Some(known) = out.get_mut(block as usize)
            && !std::mem::replace(known, true)
        {
            open.extend(function.successors(block));
        }
    }
    out
}
