//! What is asked of a function's shape: headers of loops, values that matter and live, objects in private memory.

use fixedbitset::FixedBitSet;
use ir::entity::{Block, Entity, Inst, Value};
use ir::function::{Function, Loc, Module, Terminator};
use ir::inst::{BinaryOp, Op};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// A function, and what is asked of its shape.
#[derive(Debug)]
pub(super) struct Shape<'m> {
    pub(super) module: &'m Module,
    pub(super) function: &'m Function,
    /// Targets of edges that lead back.
    headers: FixedBitSet,
    /// Values that are used at or behind the beginning of a block, by block; its parameters are not among them.
    live: FxHashMap<Block, Vec<Value>>,
    /// The number that names each object in private memory.
    pub(super) objects: FxHashMap<Inst, u32>,
    /// Its place among the blocks.
    place: FxHashMap<Block, usize>,
    /// Values on which an effect, a load, a branch or a result depends; what is computed besides is not looked at.
    needed: FixedBitSet,
    /// Those parameters of each block.
    params: FxHashMap<Block, Vec<Value>>,
    /// Which header it is: of the edit, or of the others in their order.
    pub(super) which: FxHashMap<Block, Which>,
}

/// A header, told from the others of its function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Which {
    Edited,
    Other(usize),
}

impl<'m> Shape<'m> {
    /// `None`: there is no function. The edit takes a stretch of the item.
    pub(super) fn new(module: &'m Module, edited: &Range<u32>) -> Option<Self> {
        let function = module.functions.first()?;
        if function.layout.is_empty() {
            return None;
        }
        let places = function.layout.iter().enumerate();
        let place: FxHashMap<Block, usize> = places.map(|(at, &block)| (block, at)).collect();
        let mut headers = FixedBitSet::with_capacity(function.blocks.len());
        for &block in &function.layout {
            for edge in function.blocks[block].terminator.edges() {
                if place.get(&edge.block).is_none_or(|to| *to <= place[&block]) {
                    headers.insert(edge.block.index());
                }
            }
        }
        let mut which = FxHashMap::default();
        let mut others = 0;
        for &block in function
            .layout
            .iter()
            .filter(|block| headers.contains(block.index()))
        {
            let mut own = function.loops.iter().filter(|one| one.header == block);
            let number = match own.any(|one| is_within(one.loc, edited)) {
                true => Which::Edited,
                false => Which::Other(others),
            };
            others += usize::from(number != Which::Edited);
            which.insert(block, number);
        }
        let needed = needed(function);
        let params = |block: Block| -> Vec<Value> {
            let all = function.blocks[block].params.iter().copied();
            all.filter(|param| needed.contains(param.index())).collect()
        };
        let params = function
            .layout
            .iter()
            .map(|&block| (block, params(block)))
            .collect();
        Some(Shape {
            live: live(function, &needed),
            needed,
            params,
            which,
            module,
            function,
            headers,
            objects: FxHashMap::default(),
            place,
        })
    }

    pub(super) fn is_needed(&self, value: Value) -> bool {
        self.needed.contains(value.index())
    }

    pub(super) fn is_header(&self, block: Block) -> bool {
        self.headers.contains(block.index())
    }

    pub(super) fn place(&self, block: Block) -> usize {
        self.place[&block]
    }

    /// The parameters that matter.
    pub(super) fn params(&self, block: Block) -> &[Value] {
        self.params.get(&block).map_or(&[], Vec::as_slice)
    }

    pub(super) fn live(&self, block: Block) -> &[Value] {
        self.live.get(&block).map_or(&[], Vec::as_slice)
    }

    /// Objects within a stretch of the text, and others.
    fn private(&self, within: &Range<u32>) -> (Vec<Inst>, Vec<Inst>) {
        let blocks = self.function.layout.iter();
        let insts = blocks.flat_map(|&block| &self.function.blocks[block].insts);
        let mut all: Vec<Inst> = insts
            .copied()
            .filter(|&inst| matches!(self.function.insts[inst].op, Op::Alloca { .. }))
            .collect();
        all.sort_by_key(|&inst| (self.function.insts[inst].loc.span, inst));
        let loc = |inst: Inst| self.function.insts[inst].loc;
        all.into_iter()
            .partition(|&inst| is_within(loc(inst), within))
    }
}

fn is_within(loc: Loc, range: &Range<u32>) -> bool {
    loc.site.0 == 0 && range.start <= loc.span.start && loc.span.end <= range.end
}

/// Names objects of both functions alike: those outside of the edit in their order, those inside in the order of one copy,
/// since an object that is declared in a loop's body is another one in each iteration.
pub(super) fn name_objects(
    before: &mut Shape<'_>,
    after: &mut Shape<'_>,
    old: &Range<u32>,
    new: &Range<u32>,
) {
    let (inside, outside) = before.private(old);
    let (copies, others) = after.private(new);
    let count = inside.len().max(1);
    let named = |insts: Vec<Inst>, first: usize, count: usize| {
        let numbers = insts.into_iter().enumerate();
        numbers.map(move |(at, inst)| (inst, (first + at % count) as u32))
    };
    let first = outside.len().max(others.len());
    let most = usize::MAX;
    before.objects.extend(named(outside, 0, most));
    before.objects.extend(named(inside, first, most));
    after.objects.extend(named(others, 0, most));
    after.objects.extend(named(copies, first, count));
}

/// What executes though nothing asks for its result: it has an effect, or may fault.
pub(super) fn may_fault(op: &Op) -> bool {
    op.has_effect()
        || matches!(
            op,
            Op::Load(_)
                | Op::Binary(
                    BinaryOp::DivSigned
                        | BinaryOp::DivUnsigned
                        | BinaryOp::RemSigned
                        | BinaryOp::RemUnsigned,
                    _
                )
        )
}

fn needed(function: &Function) -> FixedBitSet {
    let mut needed = FixedBitSet::with_capacity(function.values.len());
    let mut work: Vec<Value> = function.blocks[function.entry()].params.clone();
    // The arguments that a parameter takes.
    let mut given: FxHashMap<Value, Vec<Value>> = FxHashMap::default();
    for &block in &function.layout {
        let data = &function.blocks[block];
        for &inst in &data.insts {
            let data = &function.insts[inst];
            if may_fault(&data.op) {
                work.extend(&data.args);
            }
            work.extend(data.guard.map(|guard| guard.value));
        }
        work.extend(data.terminator.selector());
        if let Terminator::Return(values) = &data.terminator {
            work.extend(values);
        }
        for edge in data.terminator.edges() {
            let params = &function.blocks[edge.block].params;
            for (&param, &arg) in params.iter().zip(&edge.args) {
                given.entry(param).or_default().push(arg);
            }
        }
    }
    while let Some(value) = work.pop() {
        if needed.put(value.index()) {
            continue;
        }
        if let Some(data) = function.defining(value) {
            work.extend(&data.args);
        }
        work.extend(given.get(&value).into_iter().flatten());
    }
    needed
}

fn live(function: &Function, needed: &FixedBitSet) -> FxHashMap<Block, Vec<Value>> {
    let count = function.values.len();
    let mut sets: FxHashMap<Block, FixedBitSet> = FxHashMap::default();
    loop {
        let mut changed = false;
        for &block in function.layout.iter().rev() {
            let data = &function.blocks[block];
            let mut set = FixedBitSet::with_capacity(count);
            for edge in data.terminator.edges() {
                if let Some(behind) = sets.get(&edge.block) {
                    set.union_with(behind);
                }
            }
            for edge in data.terminator.edges() {
                set.extend(edge.args.iter().map(|value| value.index()));
            }
            if let Some(selector) = data.terminator.selector() {
                set.insert(selector.index());
            }
            if let Terminator::Return(values) = &data.terminator {
                set.extend(values.iter().map(|value| value.index()));
            }
            for &inst in data.insts.iter().rev() {
                let data = &function.insts[inst];
                for result in &data.results {
                    set.remove(result.index());
                }
                set.extend(data.args.iter().map(|value| value.index()));
                set.extend(data.guard.map(|guard| guard.value.index()));
            }
            for param in &data.params {
                set.remove(param.index());
            }
            if sets.get(&block) != Some(&set) {
                sets.insert(block, set);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let values = |mut set: FixedBitSet| {
        set.intersect_with(needed);
        set.ones().map(Value::new).collect()
    };
    sets.into_iter()
        .map(|(block, set)| (block, values(set)))
        .collect()
}
