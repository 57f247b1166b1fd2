//! The operations of a run of blocks, and which of them wait for which.
//!
//! An operation waits for those whose results it reads; an access of memory for stores to the same space
//! before it, a store for loads, and any other operation with effects keeps its place among all of them.
//! Copies of a loop's body have values of their own, and read what the copy before passes to the loop's
//! header.

use super::super::liveness::Liveness;
use super::Needed;
use super::runs::Run;
use fixedbitset::FixedBitSet;
use ir::entity::Entity;
use ir::{BinaryOp, Block, Edge, Function, InstData, MemoryAccess, Op, Space, Type, UnaryOp};
use rustc_hash::FxHashMap;

/// Cycles until a result is there, of which only the order of magnitude matters.
const GLOBAL_LATENCY: u32 = 300;
const SHARED_LATENCY: u32 = 30;
const SLOW_LATENCY: u32 = 20;
const LATENCY: u32 = 5;

/// An operation of a processor.
#[derive(Clone, Debug, Default)]
pub(super) struct Operation {
    pub(super) uses: Vec<usize>,
    pub(super) defs: Vec<usize>,
    /// Operations that it waits for, ascending, and that wait for it.
    pub(super) before: Vec<usize>,
    pub(super) after: Vec<usize>,
    pub(super) latency: u32,
    /// Words of its expansion, while it executes.
    pub(super) temporaries: u32,
    pub(super) calls: bool,
    /// True if it accesses global memory.
    pub(super) accesses: bool,
    /// One operation on integers that gives its result again where its operands are.
    pub(super) again: bool,
}

/// The operations of a run, in the order of the text.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) operations: Vec<Operation>,
    /// The size of each value in words; values of copies stand behind those of the function.
    pub(super) widths: Vec<u32>,
    /// The operation of the run that defines each value.
    pub(super) homes: FxHashMap<usize, usize>,
    /// The values that are live behind the run.
    pub(super) end: FixedBitSet,
}

impl Graph {
    pub(super) fn new(liveness: &Liveness<'_>, needed: &Needed, run: &Run) -> Graph {
        let mut builder = Builder {
            liveness,
            needed,
            graph: Graph {
                widths: liveness.width.clone(),
                ..Graph::default()
            },
            now: FxHashMap::default(),
            stores: FxHashMap::default(),
            loads: FxHashMap::default(),
            fence: None,
            since: Vec::new(),
        };
        for copy in 0..run.copies {
            if copy > 0
                && let Some(back) = &run.back
            {
                builder.pass(run.blocks[0], back);
            }
            for (at, &block) in run.blocks.iter().enumerate() {
                if at > 0 {
                    builder.enter(run.blocks[at - 1], block);
                }
                builder.block(block, copy > 0);
            }
        }
        builder.finish(run)
    }
}

/// The operands of the one operation on integers that gives a value of the function.
pub(super) type Recipes = FxHashMap<usize, Vec<usize>>;

pub(super) fn recipes(liveness: &Liveness<'_>) -> Recipes {
    let all = liveness.function.insts.values();
    let cheap = all.filter(|inst| gives_again(&inst.op) && inst.guard.is_none());
    cheap
        .map(|inst| {
            let names = inst.args.iter().map(|arg| liveness.names[arg.index()]);
            (inst.results[0].index(), names.collect())
        })
        .collect()
}

struct Builder<'a> {
    liveness: &'a Liveness<'a>,
    needed: &'a Needed,
    graph: Graph,
    /// The values that stand for others here: for parameters the arguments, for the last copy its own.
    now: FxHashMap<usize, usize>,
    stores: FxHashMap<Space, usize>,
    loads: FxHashMap<Space, Vec<usize>>,
    /// The last operation that keeps its place, and accesses since.
    fence: Option<usize>,
    since: Vec<usize>,
}

impl Builder<'_> {
    fn function(&self) -> &Function {
        self.liveness.function
    }

    fn current(&self, value: ir::Value) -> usize {
        self.stands_for(self.liveness.names[value.index()])
    }

    fn stands_for(&self, name: usize) -> usize {
        self.now.get(&name).copied().unwrap_or(name)
    }

    fn pass(&mut self, to: Block, edge: &Edge) {
        let params = &self.function().blocks[to].params;
        let passed: Vec<(usize, usize)> = params
            .iter()
            .zip(&edge.args)
            .map(|(param, &arg)| (param.index(), self.current(arg)))
            .collect();
        self.now.extend(passed);
    }

    fn enter(&mut self, from: Block, to: Block) {
        let edges = self.function().blocks[from].terminator.edges();
        let edge = edges.into_iter().find(|edge| edge.block == to).cloned();
        if let Some(edge) = edge {
            self.pass(to, &edge);
        }
    }

    fn block(&mut self, block: Block, renames: bool) {
        for &inst in &self.liveness.function.blocks[block].insts {
            let inst = &self.liveness.function.insts[inst];
            if self.needed.executes(inst) && !self.is_free(inst) {
                self.operation(inst, renames);
            }
        }
    }

    /// Returns true for values that take no operation: constants, addresses of symbols, other names of a
    /// value.
    fn is_free(&self, inst: &InstData) -> bool {
        let free = matches!(
            inst.op,
            Op::Const(_) | Op::SymbolAddress(_) | Op::Parameter(_) | Op::Alloca { .. } | Op::Undef
        );
        let own = |result: &ir::Value| self.liveness.names[result.index()] == result.index();
        free || (!inst.results.is_empty() && !inst.results.iter().any(own))
    }

    fn operation(&mut self, inst: &InstData, renames: bool) {
        let number = self.graph.operations.len();
        let mut made = Operation {
            latency: latency(&inst.op),
            temporaries: temporaries(self.function(), inst),
            accesses: accesses(&inst.op),
            calls: matches!(inst.op, Op::Call(_) | Op::CallUnknown { .. }),
            again: gives_again(&inst.op),
            ..Operation::default()
        };
        for value in inst.operands() {
            let value = self.current(value);
            if !made.uses.contains(&value) {
                made.uses.push(value);
            }
            made.before.extend(self.graph.homes.get(&value));
        }
        self.order(&inst.op, number, &mut made.before);
        made.before.sort_unstable();
        made.before.dedup();
        for &before in &made.before {
            self.graph.operations[before].after.push(number);
        }
        for result in &inst.results {
            let name = result.index();
            let own = match renames {
                true => {
                    self.graph.widths.push(self.liveness.width[name]);
                    self.graph.widths.len() - 1
                }
                false => name,
            };
            self.now.insert(name, own);
            self.graph.homes.insert(own, number);
            made.defs.push(own);
        }
        self.graph.operations.push(made);
    }

    /// Adds the dependences of an operation with effects, or of a load.
    fn order(&mut self, op: &Op, number: usize, before: &mut Vec<usize>) {
        let (access, writes): (&MemoryAccess, bool) = match op {
            Op::Load(access) if access.read_only && !access.volatile => return,
            Op::Load(access) => (access, access.volatile),
            Op::Store(access) | Op::Atomic(_, access) => (access, true),
            _ if op.has_effect() => {
                before.append(&mut self.since);
                before.extend(self.fence.replace(number));
                return;
            }
            _ => return,
        };
        before.extend(self.fence);
        before.extend(self.stores.get(&access.space));
        self.since.push(number);
        match writes {
            true => {
                before.extend(self.loads.remove(&access.space).unwrap_or_default());
                self.stores.insert(access.space, number);
            }
            false => self.loads.entry(access.space).or_default().push(number),
        }
    }

    /// Finishes the graph: values that are live at the end of the last block, and on the sides where the run
    /// is left, are live behind the run.
    fn finish(mut self, run: &Run) -> Graph {
        let mut ends: Vec<usize> = Vec::new();
        if let Some(&last) = run.blocks.last() {
            ends.extend(self.liveness.at_end(last).ones());
            self.liveness
                .use_terminator(last, &mut |value| ends.push(value));
        }
        let mut end: FixedBitSet = ends.into_iter().map(|name| self.stands_for(name)).collect();
        // A loop is left from its header with what the last iteration passes to it.
        if let Some(back) = &run.back {
            self.pass(run.blocks[0], back);
        }
        for (at, &block) in run.blocks.iter().enumerate() {
            let next = run.blocks.get(at + 1);
            for &side in &self.liveness.flow.successors[block] {
                if next.is_some() && next != Some(&side) {
                    let live = self.liveness.at_start(side).ones();
                    end.extend(live.map(|name| self.stands_for(name)));
                }
            }
        }
        end.grow(self.graph.widths.len());
        self.graph.end = end;
        self.graph
    }
}

const fn latency(op: &Op) -> u32 {
    match op {
        Op::Load(access) => match access.space {
            Space::Shared => SHARED_LATENCY,
            Space::Constant => LATENCY,
            _ => GLOBAL_LATENCY,
        },
        Op::Texture(_) | Op::Atomic(..) => GLOBAL_LATENCY,
        Op::Warp(_) => SHARED_LATENCY,
        Op::Unary(_) | Op::Binary(BinaryOp::FloatDiv | BinaryOp::ApproximateDiv, _) => SLOW_LATENCY,
        _ => LATENCY,
    }
}

const fn accesses(op: &Op) -> bool {
    match op {
        Op::Load(access) | Op::Store(access) | Op::Atomic(_, access) => {
            matches!(access.space, Space::Global | Space::Generic)
        }
        _ => false,
    }
}

const fn gives_again(op: &Op) -> bool {
    use BinaryOp::{Add, And, Mul, Or, Shl, ShrSigned, ShrUnsigned, Sub, Xor};
    match op {
        Op::PtrAdd => true,
        Op::Binary(op, _) => matches!(
            op,
            Add | Sub | Mul | Shl | ShrSigned | ShrUnsigned | And | Or | Xor
        ),
        _ => false,
    }
}

/// Words that `ptxas` takes besides for operations that it makes of several instructions: the excess of a
/// kernel with one of them over one with an addition (13.5, sm_80, nothing else live).
fn temporaries(function: &Function, inst: &InstData) -> u32 {
    let Some(&result) = inst.results.first() else {
        return 0;
    };
    let ty = function.ty(result);
    let wide = ty.bits() == 64;
    let by_constant = || {
        let divisor = inst.args.get(1);
        divisor.is_some_and(|&divisor| function.int_constant(divisor).is_some())
    };
    use BinaryOp::{DivSigned, DivUnsigned, FloatDiv, Mul, RemSigned, RemUnsigned};
    match inst.op {
        Op::Binary(FloatDiv, _) if wide => 15,
        Op::Binary(FloatDiv, _) if ty == Type::F32 => 8,
        Op::Unary(UnaryOp::Sqrt) if wide => 12,
        Op::Unary(UnaryOp::Sqrt) => 4,
        Op::Unary(UnaryOp::Reciprocal) if wide => 6,
        Op::Unary(UnaryOp::Reciprocal) => 7,
        Op::Unary(UnaryOp::Rsqrt) if wide => 8,
        Op::Binary(DivSigned | DivUnsigned | RemSigned | RemUnsigned, _) if by_constant() => 0,
        Op::Binary(DivSigned | DivUnsigned | RemSigned | RemUnsigned, _) if wide => 12,
        Op::Binary(DivSigned | DivUnsigned | RemSigned | RemUnsigned, _) => 5,
        Op::Binary(Mul, _) if ty == Type::I64 => 2,
        _ => 0,
    }
}
