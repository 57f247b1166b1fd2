//! The lanes of a warp that may execute a block together: those that the conditions on the way to it leave.
//!
//! ```text
//! if (tid.x == 0) { .. }              {0}                 if (tid.x < 16) { .. }     {0..15}
//! if (tid.x != n) return; ..          {0} or {1} or ..    if (x + y == 0) { .. }     {0}
//! ```
//!
//! A family of sets: at any time the active lanes are a subset of one of them. Each condition whose edge
//! dominates the block gives a family, from its operands' values in each lane where these are known
//! (`lanes`), else all lanes; families are intersected pair by pair. Bounded by `DEPTH` conditions and `SETS`
//! sets: anything beyond gives no information. Branches that leave a loop are not looked at from outside of
//! it: lanes that left in different iterations meet there. Estimate: rows of a workgroup of unknown width are
//! whole warps, and indices that are compared do not wrap.

use crate::divergence::{Engine, SUBGROUP};
use crate::lanes;
use ir::{BinaryOp, Block, Convert, Function, Guard, IntCondition, Op, Special, Terminator, Type};
use ir::{UnaryOp, Value, ValueDef, WarpKind};
use rustc_hash::FxHashMap;
use std::rc::Rc;

const DEPTH: usize = 64;
const SETS: usize = 128;
/// Nested operations of one condition.
const NESTED: u32 = 12;

/// Lanes by bit.
pub(crate) type Lanes = u128;

/// At any time the active lanes are a subset of one of the sets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Family {
    pub sets: Rc<[Lanes]>,
    /// One set, and all its lanes come where nothing but this condition keeps lanes away.
    exact: bool,
}

/// A condition and its value where the block is reached.
type Condition = (Value, bool, Block);

pub(crate) struct Active<'e, 'f> {
    engine: &'e Engine<'f>,
    conditions: FxHashMap<Block, Rc<[Condition]>>,
    families: FxHashMap<(Condition, u32), Family>,
}

/// The lanes for which a branch's condition holds, of the first warp that reaches it whole; `None`: not known.
pub(crate) fn of_branch(engine: &Engine<'_>, block: Block) -> Option<Lanes> {
    let Terminator::Branch { condition, .. } = &engine.function.blocks[block].terminator else {
        return None;
    };
    let mut active = Active::new(engine);
    let family = active.family((*condition, true, block), 0);
    match (&*family.sets, family.exact) {
        (&[lanes], true) => Some(lanes),
        _ => None,
    }
}

impl<'e, 'f> Active<'e, 'f> {
    pub(crate) fn new(engine: &'e Engine<'f>) -> Self {
        Active {
            engine,
            conditions: FxHashMap::default(),
            families: FxHashMap::default(),
        }
    }

    /// The sets of lanes that may execute an instruction of the block with this predicate, of the warp that begins at `first`.
    pub(crate) fn sets(&mut self, block: Block, guard: Option<Guard>, first: u32) -> Rc<[Lanes]> {
        let mut family = self.any();
        let own = guard.map(|guard| (guard.value, !guard.negated, block));
        for &condition in own.iter().chain(self.conditions(block).iter()) {
            let more = self.family(condition, first);
            family = intersection(&family, &more);
        }
        family.sets
    }

    /// A workgroup of fewer threads than a warp has lanes fills no warp.
    fn all(&self) -> Lanes {
        let shape = &self.engine.shape;
        let threads = shape
            .block
            .iter()
            .try_fold(1u32, |all, &size| all.checked_mul(size?));
        match threads.unwrap_or(shape.warp).min(shape.warp) {
            128.. => Lanes::MAX,
            lanes => (1 << lanes.max(1)) - 1,
        }
    }
    fn any(&self) -> Family {
        one_set(self.all(), false)
    }

    /// The conditions whose edges dominate a block, nearest first.
    fn conditions(&mut self, block: Block) -> Rc<[Condition]> {
        if let Some(known) = self.conditions.get(&block) {
            return known.clone();
        }
        let found: Rc<[Condition]> = above(self.engine, block).into();
        self.conditions.insert(block, found.clone());
        found
    }

    fn family(&mut self, condition: Condition, first: u32) -> Family {
        if let Some(known) = self.families.get(&(condition, first)) {
            return known.clone();
        }
        let (value, holds, block) = condition;
        let found = self.evaluate(value, holds, block, first, NESTED);
        self.families.insert((condition, first), found.clone());
        found
    }

    fn evaluate(
        &mut self,
        value: Value,
        holds: bool,
        block: Block,
        first: u32,
        depth: u32,
    ) -> Family {
        let engine = self.engine;
        let function = engine.function;
        if engine.level_at(value, block) >= SUBGROUP {
            return one_set(self.all(), true);
        }
        let Some(depth) = depth.checked_sub(1) else {
            return self.any();
        };
        let data = match function.values[value].def {
            ValueDef::Param(join, number) => {
                return self.merged(join, number, holds, first, depth);
            }
            ValueDef::Result(inst, _) => &function.insts[inst],
        };
        let boolean = |value: Value| function.ty(value) == Type::Bool;
        match &data.op {
            Op::Unary(UnaryOp::Not) if boolean(value) => {
                self.evaluate(data.args[0], !holds, block, first, depth)
            }
            Op::Binary(op @ (BinaryOp::And | BinaryOp::Or), _) if boolean(value) => {
                let a = self.evaluate(data.args[0], holds, block, first, depth);
                let b = self.evaluate(data.args[1], holds, block, first, depth);
                match (op == &BinaryOp::And) == holds {
                    true => intersection(&a, &b),
                    false => union(&a, &b, self.all()),
                }
            }
            Op::Convert(Convert::ToBool) if boolean(data.args[0]) => {
                self.evaluate(data.args[0], holds, block, first, depth)
            }
            Op::Convert(Convert::ToBool) => {
                let kind = match holds {
                    true => IntCondition::NotEqual,
                    false => IntCondition::Equal,
                };
                self.compared(kind, data.args[0], None, block, first)
            }
            Op::IntCompare(kind) => {
                let kind = if holds { *kind } else { kind.negated() };
                self.compared(kind, data.args[0], Some(data.args[1]), block, first)
            }
            Op::Warp(op) if op.kind == WarpKind::IsFirstLane && holds => self.one_lane(),
            Op::Asm { template, .. } if template.starts_with("elect.") && holds => self.one_lane(),
            _ => self.any(),
        }
    }

    /// A merged truth value that only one of the ways into the join can give, as `&&` and `||` have it.
    fn merged(&mut self, join: Block, number: u32, holds: bool, first: u32, depth: u32) -> Family {
        let engine = self.engine;
        let function = engine.function;
        if engine.forest.is_header(join) {
            return self.any();
        }
        let mut only: Option<(Block, Value)> = None;
        for &before in &engine.flow.predecessors[join] {
            for edge in function.blocks[before].terminator.edges() {
                let Some(&arg) = edge
                    .args
                    .get(number as usize)
                    .filter(|_| edge.block == join)
                else {
                    continue;
                };
                // What the branch itself decides on is known behind it.
                let decided = edge_condition(engine, before, join)
                    .filter(|&(condition, _, _)| condition == arg)
                    .map(|(_, taken, _)| taken);
                let constant = function.int_constant(arg).map(|v| v != 0);
                if constant.or(decided).is_some_and(|v| v != holds) {
                    continue;
                }
                if only.is_some() {
                    return self.any();
                }
                only = Some((before, arg));
            }
        }
        let Some((before, arg)) = only else {
            return self.any();
        };
        let mut family = match function.int_constant(arg) {
            Some(_) => one_set(self.all(), true),
            None => self.evaluate(arg, holds, before, first, depth),
        };
        // The way into the join, up to where all its ways part.
        let stop = engine.dominators.immediate(join);
        let mut conditions = above(engine, before);
        conditions.extend(edge_condition(engine, before, join));
        for condition in conditions {
            if stop.is_none_or(|stop| engine.dominators.dominates(stop, condition.2)) {
                let (value, holds, block) = condition;
                let more = self.evaluate(value, holds, block, first, depth);
                family = intersection(&family, &more);
            }
        }
        family
    }

    fn one_lane(&self) -> Family {
        Family {
            sets: (0..self.engine.shape.warp).map(|lane| 1 << lane).collect(),
            exact: false,
        }
    }

    /// A comparison of two values, or of one with zero.
    fn compared(
        &self,
        kind: IntCondition,
        a: Value,
        b: Option<Value>,
        block: Block,
        first: u32,
    ) -> Family {
        use IntCondition::*;
        let engine = self.engine;
        let zero = lanes::Relative::constant(0, engine.shape.warp);
        let of = |value: Value| lanes::relative(engine, value, block, first, true);
        let known = match b {
            Some(b) => of(a).zip(of(b)),
            None => of(a).zip(Some(zero)),
        };
        let Some((x, y)) = known else {
            return match b {
                Some(b) if kind == Equal && self.tells_lanes_apart(a, b, block) => self.one_lane(),
                _ => self.any(),
            };
        };
        let lanes_where = |holds: &dyn Fn(i64, i64) -> bool| {
            let each = x.values.iter().zip(y.values.iter()).enumerate();
            each.filter(|&(_, (&x, &y))| holds(x, y))
                .fold(0, |set: Lanes, (lane, _)| set | 1 << lane)
        };
        let natural = |r: &lanes::Relative| r.values.iter().all(|&v| v >= 0);
        let unsigned = matches!(
            kind,
            LessUnsigned | LessEqualUnsigned | GreaterUnsigned | GreaterEqualUnsigned
        );
        if x.is_exact() && y.is_exact() {
            if unsigned && !(natural(&x) && natural(&y)) {
                return self.any();
            }
            return one_set(lanes_where(&|x, y| kind.holds(x.into(), y.into())), true);
        }
        match kind {
            Equal => {
                let unit = x.unit.min(y.unit).max(1) as i64;
                let mut distances: Vec<i64> = x
                    .values
                    .iter()
                    .zip(y.values.iter())
                    .map(|(&x, &y)| x.wrapping_sub(y))
                    .filter(|distance| distance.rem_euclid(unit) == 0)
                    .collect();
                distances.sort_unstable();
                distances.dedup();
                let sets = distances
                    .into_iter()
                    .map(|d| lanes_where(&|x, y| x.wrapping_sub(y) == d));
                family(sets.collect(), false)
            }
            // The unknown part only adds: no lane is below that is not where there is none.
            LessSigned | LessEqualSigned | LessUnsigned | LessEqualUnsigned
                if y.is_exact() && self.only_adds(a, &x) && natural(&y) =>
            {
                one_set(lanes_where(&|x, y| kind.holds(x.into(), y.into())), true)
            }
            GreaterSigned | GreaterEqualSigned | GreaterUnsigned | GreaterEqualUnsigned
                if x.is_exact() && b.is_some_and(|b| self.only_adds(b, &y)) && natural(&x) =>
            {
                one_set(lanes_where(&|x, y| kind.holds(x.into(), y.into())), true)
            }
            _ => self.any(),
        }
    }

    /// Returns whether the shared part is not negative: the value is not, and zero is among the lanes' own
    /// parts.
    fn only_adds(&self, value: Value, of: &lanes::Relative) -> bool {
        of.values.iter().min() == Some(&0) && natural(self.engine, value)
    }

    /// The values that are compared are equal in one lane at most.
    fn tells_lanes_apart(&self, a: Value, b: Value, block: Block) -> bool {
        let engine = self.engine;
        let uniform = |value: Value| engine.level_at(value, block) >= SUBGROUP;
        let conditions = above(engine, block);
        let holds = |vote: Value| {
            conditions
                .iter()
                .any(|&(value, taken, _)| taken && value == vote)
        };
        let apart = |value: Value| {
            self.steps_with_lanes(value, block) || is_rank(engine.function, value, false, holds)
        };
        uniform(b) && apart(a) || uniform(a) && apart(b)
    }
}

impl Active<'_, '_> {
    /// One coordinate times a number, beside a part that the warp shares: a constant is affine too, and tells
    /// no lanes apart.
    fn steps_with_lanes(&self, value: Value, block: Block) -> bool {
        const LARGEST: u64 = 1 << 20;
        let engine = self.engine;
        let form = &engine.cells[value].form;
        let mut moving = form.terms.iter().filter(|term| {
            let mut atoms = term.factors.iter();
            atoms.any(|&atom| engine.atom_level_at(atom, block) < SUBGROUP)
        });
        let single = moving
            .next()
            .is_some_and(|term| (1..=LARGEST).contains(&term.coefficient.unsigned_abs()));
        single && moving.next().is_none() && engine.is_affine(form, block, SUBGROUP)
    }
}

/// The conditions whose edges dominate a block, nearest first.
fn above(engine: &Engine<'_>, block: Block) -> Vec<Condition> {
    let mut found = Vec::new();
    let mut at = block;
    for _ in 0..DEPTH {
        let Some(before) = engine.dominators.immediate(at) else {
            break;
        };
        let inside = engine
            .forest
            .of(before)
            .is_none_or(|l| engine.forest.contains(l, block));
        if inside && engine.flow.predecessors[at].as_slice() == [before] {
            found.extend(edge_condition(engine, before, at));
        }
        at = before;
    }
    found
}

/// Returns the value of the branch's condition on the edge.
fn edge_condition(engine: &Engine<'_>, from: Block, to: Block) -> Option<Condition> {
    let Terminator::Branch {
        condition,
        then,
        otherwise,
        ..
    } = &engine.function.blocks[from].terminator
    else {
        return None;
    };
    (then.block != otherwise.block).then_some((*condition, then.block == to, from))
}

/// Returns whether a value is a natural number by its range, or as a sum of builtin values with positive
/// factors, which is taken not to wrap.
fn natural(engine: &Engine<'_>, value: Value) -> bool {
    let cell = &engine.cells[value];
    cell.range.0 >= 0
        || cell.form.terms.iter().all(|term| {
            let mut factors = term.factors.iter();
            term.coefficient >= 0 && factors.all(|&atom| engine.special_of(atom).is_some())
        })
}

fn one_set(set: Lanes, exact: bool) -> Family {
    Family {
        sets: Rc::from([set]),
        exact,
    }
}

fn family(mut sets: Vec<Lanes>, exact: bool) -> Family {
    sets.sort_unstable();
    sets.dedup();
    if sets.len() > 1 {
        sets.retain(|&set| set != 0);
    }
    if sets.is_empty() {
        sets.push(0);
    }
    Family {
        exact: exact && sets.len() == 1,
        sets: sets.into(),
    }
}

fn pairs(a: &Family, b: &Family, of: impl Fn(Lanes, Lanes) -> Lanes) -> Option<Family> {
    if a.sets.len() * b.sets.len() > SETS * SETS {
        return None;
    }
    let each = a
        .sets
        .iter()
        .flat_map(|&x| b.sets.iter().map(move |&y| (x, y)));
    let found = family(each.map(|(x, y)| of(x, y)).collect(), a.exact && b.exact);
    (found.sets.len() <= SETS).then_some(found)
}

fn intersection(a: &Family, b: &Family) -> Family {
    pairs(a, b, |x, y| x & y).unwrap_or_else(|| a.clone())
}

fn union(a: &Family, b: &Family, all: Lanes) -> Family {
    pairs(a, b, |x, y| x | y).unwrap_or_else(|| one_set(all, false))
}

/// The number of lanes below that are active, or that vote for something that holds here: no two lanes have the same.
///
/// ```text
/// WavePrefixCountBits(true)       __popc(__ballot_sync(all, p) & ((1u << lane) - 1)) where `p` holds
/// ```
///
/// `elected`: lanes that ask for the active ones together are taken to stay together.
pub(crate) fn is_rank(
    function: &Function,
    value: Value,
    elected: bool,
    holds: impl Fn(Value) -> bool,
) -> bool {
    let votes = |value: Value| match function.int_constant(value) {
        Some(constant) => constant != 0,
        None => holds(value),
    };
    let Some(data) = function.defining(unconverted(function, value)) else {
        return false;
    };
    match &data.op {
        Op::Warp(op) if op.kind == WarpKind::PrefixCountBits => {
            data.args.first().is_some_and(|&vote| votes(vote))
        }
        Op::Unary(UnaryOp::PopCount) => {
            let masked = function.defining(unconverted(function, data.args[0]));
            masked.is_some_and(|masked| {
                let [left, right] = masked.args[..] else {
                    return false;
                };
                let is_vote = |mask: Value| {
                    let vote = function.defining(unconverted(function, mask));
                    vote.is_some_and(|vote| match &vote.op {
                        Op::Warp(op) if op.kind == WarpKind::ActiveMask => elected,
                        Op::Warp(op) if op.kind == WarpKind::Ballot => {
                            vote.args.first().is_some_and(|&vote| votes(vote))
                        }
                        _ => false,
                    })
                };
                let below = |mask: Value| is_mask_of_lanes_below(function, mask);
                matches!(masked.op, Op::Binary(BinaryOp::And, _))
                    && (is_vote(left) && below(right) || is_vote(right) && below(left))
            })
        }
        _ => false,
    }
}

fn unconverted(function: &Function, mut value: Value) -> Value {
    while let Some(data) = function.defining(value)
        && matches!(data.op, Op::Convert(_))
    {
        value = data.args[0];
    }
    value
}

/// `%lanemask_lt`, `(1 << lane) - 1`.
fn is_mask_of_lanes_below(function: &Function, mask: Value) -> bool {
    let defining = |value: Value| function.defining(unconverted(function, value));
    let constant = |value: Value| function.int_constant(unconverted(function, value));
    let Some(data) = defining(mask) else {
        return false;
    };
    let bit = match data.op {
        Op::Special(Special::LaneMaskLt) => return true,
        Op::Binary(BinaryOp::Sub, _) if constant(data.args[1]) == Some(1) => data.args[0],
        Op::Binary(BinaryOp::Add, _) if is_all_ones(function, data.args[1]) => data.args[0],
        _ => return false,
    };
    let is_lane = |value: Value| {
        defining(value).is_some_and(|data| match data.op {
            Op::Special(Special::LaneId | Special::ThreadId(0)) => true,
            Op::Binary(BinaryOp::And | BinaryOp::RemUnsigned | BinaryOp::RemSigned, _) => {
                let own = defining(data.args[0]);
                own.is_some_and(|own| own.op == Op::Special(Special::ThreadId(0)))
                    && matches!(constant(data.args[1]), Some(31 | 32 | 63 | 64))
            }
            _ => false,
        })
    };
    defining(bit).is_some_and(|data| {
        matches!(data.op, Op::Binary(BinaryOp::Shl, _))
            && constant(data.args[0]) == Some(1)
            && is_lane(data.args[1])
    })
}

fn is_all_ones(function: &Function, value: Value) -> bool {
    matches!(function.int_constant(value), Some(-1 | 0xffff_ffff))
}
