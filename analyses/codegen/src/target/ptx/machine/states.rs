//! The results of the divergence analysis for the registers of a body, as far as allocation needs them.
//!
//! A register of PTX is written in many places: its state is the meet of the values that it is written with and of those
//! that it holds at its reads (the notes on the paper, section 3: never the state of one of several coalesced names).

use super::Body;
use crate::mir::Virtual;
use facts::{FunctionFacts, Scope};
use fixedbitset::FixedBitSet;
use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::{BindingKind, Block, Function, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// The state of a register: `a1*Tid + a0` where both are known numbers, one of them, or neither.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// `(0, c)`: the same number everywhere.
    Constant(i64),
    /// `(0, ⊥)`: the same in all lanes of a warp.
    Uniform,
    /// `(c1, c2)`: `c1*Tid + c2`.
    Known(i64, i64),
    /// `(c, ⊥)`: `c*Tid` and a part that is the same in all lanes.
    Affine(i64),
    /// Anything.
    Divergent,
}

impl State {
    fn meet(self, other: State) -> State {
        use State::{Affine, Constant, Divergent, Known, Uniform};
        match (self, other) {
            (left, right) if left == right => left,
            (Constant(_) | Uniform, Constant(_) | Uniform) => Uniform,
            (Known(c, _) | Affine(c), Known(d, _) | Affine(d)) if c == d => Affine(c),
            _ => Divergent,
        }
    }
    /// Returns the state of the paper's pair, the factor of `Tid` first; `None`: not known.
    fn of(pair: [Option<i64>; 2]) -> State {
        match pair {
            [Some(0), Some(c)] => State::Constant(c),
            [Some(0), None] => State::Uniform,
            [Some(c1), Some(c2)] => State::Known(c1, c2),
            [Some(c), None] => State::Affine(c),
            [None, _] => State::Divergent,
        }
    }
}

/// The pair that the paper's analysis of degree 1 gives, as it prints it: `(1,⊥)`.
fn pair(state: &str) -> Option<[Option<i64>; 2]> {
    let inside = state.strip_prefix('(')?.strip_suffix(')')?;
    let (factor, rest) = inside.split_once(',')?;
    let number = |text: &str| match text {
        "⊥" => Some(None),
        text => text.parse().ok().map(Some),
    };
    Some([number(factor)?, number(rest)?])
}

/// The states of a body's registers, by virtual register. `function` is the form that the front end made of
/// the same text, `facts` are those of the paper's method of degree 1 for a warp.
#[must_use]
pub fn states(body: &Body, function: &Function, facts: &FunctionFacts) -> Vec<State> {
    let count = body.function.registers.len();
    let mut out: Vec<Option<State>> = vec![None; count];
    let mut told: FxHashSet<u32> = FxHashSet::default();
    let by_place: FxHashMap<u32, Virtual> = body.places.iter().flatten().copied().collect();
    let of = |value: Value, block: Block| {
        let fact = facts.at(value, block);
        let uniform = fact
            .uniform_at
            .is_some_and(|scope| scope >= Scope::Subgroup);
        match pair(&fact.state) {
            Some(pair) => State::of(pair),
            None if uniform => State::Uniform,
            None => State::Divergent,
        }
    };
    for binding in &function.bindings {
        let at = binding.loc.span.start;
        let Some(register) = by_place
            .get(&at)
            .filter(|_| binding.loc.site == ir::Site(0))
        else {
            continue;
        };
        told.insert(at);
        let slot = &mut out[register.0 as usize];
        for &value in &binding.values {
            let state = of(value, binding.block);
            *slot = Some(slot.map_or(state, |known| known.meet(state)));
        }
        if binding.values.is_empty() && binding.kind != BindingKind::Declaration {
            *slot = Some(State::Divergent);
        }
    }
    // A place of which the front end says nothing may hold anything.
    for (place, register) in by_place {
        if !told.contains(&place) {
            out[register.0 as usize] = Some(State::Divergent);
        }
    }
    out.into_iter()
        .map(|state| state.unwrap_or(State::Divergent))
        .collect()
}

/// The manner in which the lanes of a warp come to a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Arrival {
    /// Those that come, come at once, and at most once.
    pub once: bool,
    /// All that have not ended come, all of them equally often.
    pub all: bool,
    /// All come, equally often, and none has ended.
    pub every: bool,
}

impl Arrival {
    fn meet(self, other: Arrival) -> Arrival {
        Arrival {
            once: self.once && other.once,
            all: self.all && other.all,
            every: self.every && other.every,
        }
    }
}

/// The manner in which lanes come to each block.
///
/// *Once*: no loop has the block, and no branch at which lanes part leads to it on two ways. On one way, those
/// that took it are still together. *All*: no branch at which lanes part has the block between itself and the
/// place where its ways meet again. Lanes that such a branch sends to the end of the function on a way without
/// instructions have ended as far as its other ways are concerned. *Every*: the same, and such a branch counts:
/// no lane has ended. A called function may end lanes, so that nothing is known behind one.
#[must_use]
pub fn arrivals(function: &Function, facts: &FunctionFacts) -> Vec<Arrival> {
    let flow = ControlFlow::new(function);
    let forest = ir::loops::LoopForest::new(&flow);
    let meeting = DominatorTree::post_dominators(&flow);
    let count = function.blocks.len();
    let calls = |op: &Op| matches!(op, Op::Call(_) | Op::CallUnknown { .. } | Op::Asm { .. });
    let every = !function.insts.values().any(|inst| calls(&inst.op));
    let mut out = vec![Arrival::default(); count];
    for &block in &flow.order {
        out[block.0 as usize] = Arrival {
            once: forest.of(block).is_none(),
            all: true,
            every,
        };
    }
    // Blocks from which lanes come to an end at once.
    let mut ends = FixedBitSet::with_capacity(count);
    for &block in flow.order.iter().rev() {
        let next = &flow.successors[block];
        let ended = next.iter().all(|next| ends.contains(next.0 as usize));
        ends.set(
            block.0 as usize,
            function.blocks[block].insts.is_empty() && ended,
        );
    }
    let parts = |block: Block| {
        let several = flow.successors[block].len() > 1;
        let uniform = facts.branch(block).is_some_and(|branch| {
            let scope = branch.uniform_at;
            branch.class == facts::Class::Uniform
                && scope.is_some_and(|scope| scope >= Scope::Subgroup)
        });
        several && !uniform
    };
    let mut work: Vec<Block> = Vec::new();
    for &block in flow.order.iter().filter(|&&block| parts(block)) {
        let mut ways = flow.successors[block].clone();
        ways.sort_unstable();
        ways.dedup();
        let mut seen = FixedBitSet::with_capacity(count);
        for &way in &ways {
            let mut own = FixedBitSet::with_capacity(count);
            work.push(way);
            while let Some(block) = work.pop() {
                if !own.put(block.0 as usize) {
                    work.extend(&flow.successors[block]);
                }
            }
            own.intersection(&seen)
                .for_each(|block| out[block].once = false);
            seen.union_with(&own);
        }
        let (ended, stay): (Vec<Block>, Vec<Block>) =
            ways.iter().partition(|way| ends.contains(way.0 as usize));
        // Where all ways end, or one alone goes on, no lanes go on apart. What ends is not come to by all.
        let apart = if stay.len() > 1 { stay } else { Vec::new() };
        let meet = meeting.immediate(block);
        let mut between = |ways: &[Block], note: &mut dyn FnMut(&mut Arrival)| {
            let mut seen = FixedBitSet::with_capacity(count);
            work.extend(ways);
            while let Some(way) = work.pop() {
                if Some(way) != meet && !seen.put(way.0 as usize) {
                    note(&mut out[way.0 as usize]);
                    work.extend(&flow.successors[way]);
                }
            }
        };
        between(&ways, &mut |arrival| arrival.every = false);
        between(&[ended, apart].concat(), &mut |arrival| arrival.all = false);
    }
    out
}

/// Returns the same for each statement of the body, by the block that it came to.
#[must_use]
pub fn arrivals_by_statement(
    body: &Body,
    tree: &syntax::ptx::PtxFunction,
    function: &Function,
    facts: &FunctionFacts,
) -> Vec<Arrival> {
    let by_block = arrivals(function, facts);
    let mut by_place: FxHashMap<u32, Arrival> = FxHashMap::default();
    let mut note = |at: u32, block: Block| {
        let own = by_block[block.0 as usize];
        let known = by_place.entry(at).or_insert(own);
        *known = known.meet(own);
    };
    for (block, data) in function.blocks.iter() {
        let insts = data.insts.iter().map(|&inst| function.insts[inst].loc);
        for loc in insts.chain([data.loc]) {
            if loc.site == ir::Site(0) {
                note(loc.span.start, block);
            }
        }
    }
    // A binding at the statement's registers counts, too, if the statement became no instruction.
    for binding in &function.bindings {
        note(binding.loc.span.start, binding.block);
    }
    let statements = tree.statements().iter().zip(&body.places);
    statements
        .map(|(statement, places)| {
            let own = by_place.get(&statement.span.start).copied();
            let named = places
                .iter()
                .map(|(place, _)| by_place.get(place).copied().unwrap_or_default());
            let known = own.into_iter().chain(named).reduce(Arrival::meet);
            known.filter(|_| !places.is_empty()).unwrap_or_default()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_as_they_are_printed() {
        assert_eq!(pair("(1,⊥)"), Some([Some(1), None]));
        assert_eq!(pair("(-4,7)"), Some([Some(-4), Some(7)]));
        assert_eq!(pair("(⊥,⊥)"), Some([None, None]));
        assert_eq!(pair("U"), None);
    }

    /// The notes on the paper, section 6, test 4.
    #[test]
    fn names_that_are_one_register_meet() {
        use State::{Affine, Constant, Divergent, Known, Uniform};
        assert_eq!(Uniform.meet(Divergent), Divergent);
        assert_eq!(Known(1, 4).meet(Known(1, 4)), Known(1, 4));
        assert_eq!(Known(1, 4).meet(Known(1, 5)), Affine(1));
        assert_eq!(Constant(3).meet(Constant(5)), Uniform);
        assert_eq!(Affine(2).meet(Affine(3)), Divergent);
        assert_eq!(Known(4, 0).meet(Constant(0)), Divergent);
    }
}
