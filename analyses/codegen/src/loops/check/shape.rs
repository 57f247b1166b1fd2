//! The properties of a function's shape: headers of loops, values that matter and are live, objects in
//! private memory.

use ir::cfg::ControlFlow;
use ir::entity::{Block, Entity, EntitySet, Inst, Value};
use ir::function::{Function, Loc, Module};
use ir::inst::{BinaryOp, Op};
use ir::liveness::{Liveness, Reads, Values};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// A function and the properties of its shape.
#[derive(Debug)]
pub(super) struct Shape<'m> {
    pub(super) module: &'m Module,
    pub(super) function: &'m Function,
    /// Targets of edges that lead back.
    headers: EntitySet<Block>,
    /// Values that are used at or behind the beginning of a block, by block; its parameters are not among them.
    live: FxHashMap<Block, Vec<Value>>,
    /// The number that names each object in private memory.
    pub(super) objects: FxHashMap<Inst, u32>,
    /// Its place among the blocks.
    place: FxHashMap<Block, usize>,
    /// Values on which an effect, a load, a branch or a result depends; other values are not looked at.
    needed: EntitySet<Value>,
    /// The needed parameters of each block.
    params: FxHashMap<Block, Vec<Value>>,
    /// The identity of each header: that of the edit, or of the others in their order.
    pub(super) which: FxHashMap<Block, Which>,
}

/// The identity of a header among those of its function.
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
        let mut headers = EntitySet::with_len(function.blocks.len());
        for &block in &function.layout {
            for edge in function.blocks[block].terminator.edges() {
                if place.get(&edge.block).is_none_or(|to| *to <= place[&block]) {
                    headers.insert(edge.block);
                }
            }
        }
        let mut which = FxHashMap::default();
        let mut others = 0;
        for &block in function
            .layout
            .iter()
            .filter(|block| headers.contains(block))
        {
            let mut own = function.loops.iter().filter(|it| it.header == block);
            let number = match own.any(|it| is_within(it.loc, edited)) {
                true => Which::Edited,
                false => Which::Other(others),
            };
            others += usize::from(number != Which::Edited);
            which.insert(block, number);
        }
        let needed = needed(function);
        let params = |block: Block| -> Vec<Value> {
            let all = function.blocks[block].params.iter().copied();
            all.filter(|param| needed.contains(param)).collect()
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
        self.needed.contains(&value)
    }

    pub(super) fn is_header(&self, block: Block) -> bool {
        self.headers.contains(&block)
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

/// Returns whether an operation executes although nothing asks for its result: it has an effect, or may
/// fault.
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

fn needed(function: &Function) -> EntitySet<Value> {
    let operands = ir::needed::operands(function);
    let faults = |inst: Inst| may_fault(&function.insts[inst].op);
    let mut roots = ir::needed::roots(function, faults, &operands);
    roots.extend(&function.blocks[function.entry()].params);
    // A guard decides by itself.
    let blocks = function.layout.iter();
    let insts = blocks.flat_map(|&block| &function.blocks[block].insts);
    roots.extend(insts.filter_map(|&inst| Some(function.insts[inst].guard?.value)));
    ir::needed::needed(function, roots, &operands)
}

/// All that a function names is read where it is named.
struct Named<'f>(&'f Function);

impl Reads for Named<'_> {
    fn function(&self) -> &Function {
        self.0
    }
}

fn live(function: &Function, needed: &EntitySet<Value>) -> FxHashMap<Block, Vec<Value>> {
    let flow = ControlFlow::new(function);
    let live = Liveness::of(&Values {
        reads: &Named(function),
        flow: &flow,
    });
    let blocks = function.layout.iter();
    let values = |block: Block| live.starts[block.index()].common(needed).collect();
    blocks.map(|&block| (block, values(block))).collect()
}
