//! Addresses of loads and stores that grow by a constant in every iteration become parameters of the loop.
//!
//! ```text
//! loop(i): load a + 8*sext(i) ... loop(i + 1)    ->    loop(i, q): load q ... loop(i + 1, q + 8)      q starts at a + 8*sext(i0)
//! ```
//!
//! Sums and products with constants are followed from the address to the counter; 64-bit arithmetic is exact modulo 2^64,
//! narrow arithmetic below an extension must not wrap. Loads and stores of one address get parameters of their own, so that
//! the next load need not wait for the store to step. Only what every iteration executes, of innermost loops with one latch.

use super::{headers, preheader};
use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::entity::Entity;
use ir::loops::LoopForest;
use ir::{
    BinaryOp, Block, Convert, Edge, Function, Inst, InstData, Op, Terminator, Type, Value,
    ValueData, ValueDef,
};
use rustc_hash::FxHashSet;

/// Parameters that a loop gets, at most.
const MOST: usize = 12;
/// Operations between an address and its counter.
const DEPTH: u32 = 16;

struct Counter {
    param: Value,
    start: Value,
    step: i64,
}

struct Loop<'f> {
    function: &'f Function,
    inside: FxHashSet<Value>,
    counters: Vec<Counter>,
    wraps: bool,
}

pub(super) fn reduce(function: &mut Function, wraps: bool) {
    let forest = LoopForest::new(&ControlFlow::new(function));
    let outer: FxHashSet<Block> = forest
        .loops
        .values()
        .filter_map(|one| Some(forest.loops[one.parent?].header))
        .collect();
    let mut shape = Shape::of(function);
    for header in headers(function) {
        if outer.contains(&header) {
            continue;
        }
        // Nothing but a new block in front of a loop changes where control goes.
        if function.blocks.len() != shape.blocks {
            shape = Shape::of(function);
        }
        reduce_loop(function, &shape, header, wraps);
    }
}

/// Where control goes.
struct Shape {
    /// Blocks of the function.
    blocks: usize,
    flow: ControlFlow,
    forest: LoopForest,
    tree: DominatorTree,
}

impl Shape {
    fn of(function: &Function) -> Shape {
        let flow = ControlFlow::new(function);
        Shape {
            blocks: function.blocks.len(),
            forest: LoopForest::new(&flow),
            tree: DominatorTree::dominators(&flow),
            flow,
        }
    }
}

fn reduce_loop(function: &mut Function, shape: &Shape, header: Block, wraps: bool) {
    let Shape {
        flow, forest, tree, ..
    } = shape;
    let Some(own) = forest.of(header) else { return };
    let blocks: Vec<Block> = flow
        .order
        .iter()
        .copied()
        .filter(|&block| forest.contains(own, block))
        .collect();
    let latches: Vec<(Block, Edge)> = blocks
        .iter()
        .flat_map(|&block| {
            let edges = function.blocks[block].terminator.edges();
            edges.into_iter().map(move |edge| (block, edge.clone()))
        })
        .filter(|(_, edge)| edge.block == header)
        .collect();
    let [(latch, back)] = &latches[..] else {
        return;
    };
    let inside = |block: Block| forest.contains(own, block);
    let Some(before) = preheader(function, header, &inside) else {
        return;
    };
    let Terminator::Jump(enter) = function.blocks[before].terminator.clone() else {
        return;
    };
    let mut values: FxHashSet<Value> = FxHashSet::default();
    for &block in &blocks {
        values.extend(&function.blocks[block].params);
        for &inst in &function.blocks[block].insts {
            values.extend(&function.insts[inst].results);
        }
    }
    let mut own = Loop {
        function,
        inside: values,
        counters: Vec::new(),
        wraps,
    };
    own.find_counters(header, &enter, back);
    let mut wanted: Vec<(Value, bool, usize, i64, Vec<Inst>)> = Vec::new();
    for &block in blocks
        .iter()
        .filter(|&&block| tree.dominates(block, *latch))
    {
        for &inst in &own.function.blocks[block].insts {
            let data = &own.function.insts[inst];
            let store = match data.op {
                Op::Load(_) => false,
                Op::Store(_) => true,
                _ => continue,
            };
            let address = data.args[0];
            // A counter that is an address already steps by itself.
            let counted = own.counters.iter().any(|counter| counter.param == address);
            if data.guard.is_some() || counted || !own.inside.contains(&address) {
                continue;
            }
            if let Some(known) = wanted
                .iter_mut()
                .find(|one| one.0 == address && one.1 == store)
            {
                known.4.push(inst);
                continue;
            }
            let found = (0..own.counters.len()).find_map(|at| {
                let scale = own.scale(address, &own.counters[at], false, DEPTH)?;
                let by = scale.checked_mul(own.counters[at].step)?;
                (scale != 0 && i32::try_from(by).is_ok()).then_some((at, by))
            });
            if let (Some((at, by)), true) = (found, wanted.len() < MOST) {
                wanted.push((address, store, at, by, vec![inst]));
            }
        }
    }
    let Loop {
        inside, counters, ..
    } = own;
    let latch = *latch;
    for (address, _, at, by, users) in wanted {
        let counter = &counters[at];
        let start = repeated(function, before, address, counter, &inside);
        let ty = function.ty(address);
        let param = function.values.push(ValueData {
            ty,
            def: ValueDef::Param(header, function.blocks[header].params.len() as u32),
        });
        function.blocks[header].params.push(param);
        let step = add(function, before, Op::Const(by as u64), &[], Type::I64);
        let next = add(function, latch, Op::PtrAdd, &[param, step], ty);
        for inst in users {
            function.insts[inst].args[0] = param;
        }
        for (block, value) in [(before, start), (latch, next)] {
            for edge in function.blocks[block].terminator.edges_mut() {
                if edge.block == header {
                    edge.args.push(value);
                }
            }
        }
    }
}

/// A new instruction at the end of a block.
fn add(function: &mut Function, block: Block, op: Op, args: &[Value], ty: Type) -> Value {
    let inst = Inst::new(function.insts.len());
    let value = function.values.push(ValueData {
        ty,
        def: ValueDef::Result(inst, 0),
    });
    function.insts.push(InstData {
        op,
        args: args.iter().copied().collect(),
        results: [value].into_iter().collect(),
        guard: None,
        loc: ir::Loc::NONE,
    });
    function.blocks[block].insts.push(inst);
    value
}

/// The address as it is when the loop begins. Its depth is limited where it was looked at.
fn repeated(
    function: &mut Function,
    block: Block,
    value: Value,
    counter: &Counter,
    inside: &FxHashSet<Value>,
) -> Value {
    if value == counter.param {
        return counter.start;
    }
    if !inside.contains(&value) {
        return value;
    }
    let Some(data) = function.defining(value).cloned() else {
        return value;
    };
    let args: Vec<Value> = data
        .args
        .iter()
        .map(|&arg| repeated(function, block, arg, counter, inside))
        .collect();
    let ty = function.ty(value);
    let constants: Option<Vec<i64>> = args.iter().map(|&arg| function.int_constant(arg)).collect();
    let folded = match (&data.op, constants.as_deref()) {
        (Op::Convert(Convert::SignExtend), Some(&[x])) => Some(x),
        (Op::Binary(BinaryOp::Add, _), Some(&[x, y])) if ty == Type::I64 => Some(x.wrapping_add(y)),
        (Op::Binary(BinaryOp::Sub, _), Some(&[x, y])) if ty == Type::I64 => Some(x.wrapping_sub(y)),
        (Op::Binary(BinaryOp::Mul, _), Some(&[x, y])) if ty == Type::I64 => Some(x.wrapping_mul(y)),
        (Op::PtrAdd, _) if function.int_constant(args[1]) == Some(0) => return args[0],
        _ => None,
    };
    match folded {
        Some(number) => add(function, block, Op::Const(number as u64), &[], ty),
        None => add(function, block, data.op, &args, ty),
    }
}

impl Loop<'_> {
    fn find_counters(&mut self, header: Block, enter: &Edge, back: &Edge) {
        let params = &self.function.blocks[header].params;
        for (at, &param) in params.iter().enumerate() {
            let (Some(&start), Some(&next)) = (enter.args.get(at), back.args.get(at)) else {
                continue;
            };
            let Some(data) = self.function.defining(next) else {
                continue;
            };
            let constant = |value: Value| self.function.int_constant(value);
            let narrow = self.function.ty(param) != Type::I64;
            let step = match data.op {
                Op::Binary(BinaryOp::Add, wrap) if !narrow || self.fixed(param, wrap.no_signed) => {
                    match (data.args[0] == param, data.args[1] == param) {
                        (true, false) => constant(data.args[1]),
                        (false, true) => constant(data.args[0]),
                        _ => None,
                    }
                }
                Op::Binary(BinaryOp::Sub, wrap) if !narrow || self.fixed(param, wrap.no_signed) => {
                    (data.args[0] == param)
                        .then(|| constant(data.args[1]))
                        .flatten()
                        .and_then(i64::checked_neg)
                }
                Op::PtrAdd if data.args[0] == param => constant(data.args[1]),
                _ => None,
            };
            if let Some(step) = step {
                self.counters.push(Counter { param, start, step });
            }
        }
    }
    /// Whether a narrow value is its exact number.
    fn fixed(&self, value: Value, no_signed: bool) -> bool {
        self.function.ty(value) == Type::I32 && no_signed && !self.wraps
    }

    /// How much the value grows with the counter; 0 where it does not change in the loop. `narrow`: below an extension.
    fn scale(&self, value: Value, counter: &Counter, narrow: bool, depth: u32) -> Option<i64> {
        if value == counter.param {
            return Some(1);
        }
        if !self.inside.contains(&value) {
            return Some(0);
        }
        let data = self.function.defining(value)?;
        let depth = depth.checked_sub(1)?;
        let of = |value: Value| self.scale(value, counter, narrow, depth);
        let exact = |no_signed: bool| !narrow || self.fixed(value, no_signed);
        match data.op {
            Op::Convert(Convert::SignExtend)
                if !narrow && self.function.ty(data.args[0]) == Type::I32 =>
            {
                self.scale(data.args[0], counter, true, depth)
            }
            Op::Convert(Convert::SpaceCast) => of(data.args[0]),
            Op::PtrAdd if !narrow => of(data.args[0])?.checked_add(of(data.args[1])?),
            Op::Binary(op, wrap)
                if exact(wrap.no_signed) && (narrow || self.function.ty(value) == Type::I64) =>
            {
                match op {
                    BinaryOp::Add => of(data.args[0])?.checked_add(of(data.args[1])?),
                    BinaryOp::Sub => of(data.args[0])?.checked_sub(of(data.args[1])?),
                    BinaryOp::Mul => match (
                        self.function.int_constant(data.args[0]),
                        self.function.int_constant(data.args[1]),
                    ) {
                        (_, Some(by)) => of(data.args[0])?.checked_mul(by),
                        (Some(by), _) => of(data.args[1])?.checked_mul(by),
                        _ => None,
                    },
                    BinaryOp::Shl => {
                        let by = self
                            .function
                            .int_constant(data.args[1])
                            .filter(|by| (0..32).contains(by))?;
                        of(data.args[0])?.checked_mul(1 << by)
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}
