//! Sums of shifted numbers, shifted once behind their loop.
//!
//! ```text
//! a = a + (x*y << 1)        s = s + x*y; behind the loop a + (s << 1)
//! ```
//!
//! Integers that wrap: modulo a power of two the shift distributes over the sum. The loop reads the sum nowhere else, and
//! control leaves it on one edge, on which the number is made. Where neither the sum nor the shift exceeds its type, what is
//! added up does not: it is the difference of two such sums, of which at least one bit is shifted out.

use super::edit;
use ir::cfg::ControlFlow;
use ir::loops::{LoopForest, LoopId};
use ir::{
    BinaryOp, Block, BlockData, BranchKind, Edge, Function, Inst, Op, Terminator, Type, Value,
    ValueDef, Wrap,
};

/// Moves shifts of what loops add up behind them.
pub(crate) fn scale(function: &mut Function) {
    while let Some(sum) = find(function) {
        sum.write(function);
    }
}

/// A sum of shifted numbers.
struct Sum {
    header: Block,
    /// The parameter of the header, by its number.
    at: usize,
    /// What adds to it, and the number of the operand that is the shifted one.
    adds: (Inst, usize),
    shifted: Value,
    places: i64,
    start: Value,
    /// The one edge out of the loop, by its block and number there.
    exit: (Block, usize),
    inside: Vec<Block>,
}

fn find(function: &Function) -> Option<Sum> {
    let flow = ControlFlow::new(function);
    let forest = LoopForest::new(&flow);
    let mut loops = forest.loops.keys().filter(|&id| forest.loops[id].reducible);
    loops.find_map(|id| {
        let own = In {
            function,
            flow: &flow,
            forest: &forest,
            id,
        };
        own.find()
    })
}

struct In<'a> {
    function: &'a Function,
    flow: &'a ControlFlow,
    forest: &'a LoopForest,
    id: LoopId,
}

impl In<'_> {
    fn find(&self) -> Option<Sum> {
        let function = self.function;
        let header = self.forest.loops[self.id].header;
        let inside: Vec<Block> = self
            .flow
            .order
            .iter()
            .copied()
            .filter(|&block| self.forest.contains(self.id, block))
            .collect();
        let mut exits = inside.iter().flat_map(|&block| {
            let edges = function.blocks[block].terminator.edges();
            let numbered = edges.iter().enumerate();
            numbered
                .filter(|(_, edge)| !self.forest.contains(self.id, edge.block))
                .map(move |(number, _)| (block, number))
                .collect::<Vec<_>>()
        });
        let (exit, None) = (exits.next()?, exits.next()) else {
            return None;
        };
        let params = &function.blocks[header].params;
        (0..params.len()).find_map(|at| {
            let param = params[at];
            if !matches!(function.ty(param), Type::I32 | Type::I40) {
                return None;
            }
            // What enters the loop, and what an iteration gives to the next.
            let (mut start, mut next) = (None, None);
            for &from in &self.flow.predecessors[header] {
                for edge in function.blocks[from].terminator.edges() {
                    if edge.block == header {
                        let side = match self.forest.contains(self.id, from) {
                            true => &mut next,
                            false => &mut start,
                        };
                        match side {
                            Some(known) if *known != edge.args[at] => return None,
                            side => *side = Some(edge.args[at]),
                        }
                    }
                }
            }
            let (start, next) = (start?, next?);
            let ValueDef::Result(adds, _) = function.values[next].def else {
                return None;
            };
            let data = &function.insts[adds];
            let Op::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), _) = data.op else {
                return None;
            };
            let operand = match data.args.as_slice() {
                [sum, _] if *sum == param => 1,
                [_, sum] if *sum == param && op == BinaryOp::Add => 0,
                _ => return None,
            };
            let shift = function.defining(data.args[operand])?;
            let Op::Binary(BinaryOp::Shl, _) = shift.op else {
                return None;
            };
            let places = function.int_constant(shift.args[1])?;
            let most = i64::from(function.ty(param).bits());
            let sum = Sum {
                header,
                at,
                adds: (adds, operand),
                shifted: shift.args[0],
                places,
                start,
                exit,
                inside: inside.clone(),
            };
            let alone = sum.reads(function, param) == 1
                && sum.reads(function, next) == self.latches(header)
                && sum.reads(function, data.args[operand]) == 1;
            ((1..most).contains(&places) && data.guard.is_none() && alone).then_some(sum)
        })
    }

    /// The edges that lead back to the header.
    fn latches(&self, header: Block) -> usize {
        let blocks = self.flow.predecessors[header].iter();
        blocks
            .filter(|&&from| self.forest.contains(self.id, from))
            .flat_map(|&from| self.function.blocks[from].terminator.edges())
            .filter(|edge| edge.block == header)
            .count()
    }
}

impl Sum {
    /// The number of operands in the loop that are this value; those of the edge out of it are none.
    fn reads(&self, function: &Function, value: Value) -> usize {
        let mut count = 0;
        for &block in &self.inside {
            let data = &function.blocks[block];
            for &inst in &data.insts {
                let operands = function.insts[inst].operands();
                count += operands.filter(|&arg| arg == value).count();
            }
            let terminator = &data.terminator;
            count += terminator
                .reads()
                .iter()
                .filter(|&&arg| arg == value)
                .count();
            for (number, edge) in terminator.edges().iter().enumerate() {
                if (block, number) != self.exit {
                    count += edge.args.iter().filter(|&&arg| arg == value).count();
                }
            }
        }
        count
    }

    fn write(self, function: &mut Function) {
        let (adds, operand) = self.adds;
        let param = function.blocks[self.header].params[self.at];
        let next = function.insts[adds].results[0];
        let ty = function.ty(param);
        let loc = function.insts[adds].loc;
        let by_itself = function.insts[adds].args[operand];
        function.insts[adds].args[operand] = self.shifted;
        let wraps = match function.defining(by_itself).map(|data| &data.op) {
            Some(Op::Binary(_, wrap)) => !wrap.no_signed,
            _ => true,
        };
        if let Op::Binary(_, wrap) = &mut function.insts[adds].op {
            // Where the shift itself wraps, the sum of what it shifts may be any number.
            *wrap = match wraps {
                true => Wrap::MAY,
                false => Wrap {
                    no_unsigned: false,
                    ..*wrap
                },
            };
        }
        // The sum starts at zero.
        let (zero, none) = edit::computed(function, Op::Const(0), &[], ty, ir::Loc::NONE);
        let entry = function.entry();
        function.blocks[entry].insts.insert(0, zero);
        for block in function.layout.clone() {
            if self.inside.contains(&block) {
                continue;
            }
            for edge in function.blocks[block].terminator.edges_mut() {
                if edge.block == self.header {
                    edge.args[self.at] = none;
                }
            }
        }
        // The way out.
        let behind = Block(function.blocks.len() as u32);
        let (from, number) = self.exit;
        let way = {
            let edges = function.blocks[from].terminator.edges_mut();
            let edge = edges.into_iter().nth(number);
            edge.map(|edge| std::mem::replace(edge, Edge::to(behind)))
        };
        function.blocks.push(BlockData {
            params: Vec::new(),
            insts: Vec::new(),
            terminator: way.map_or(Terminator::Unreachable, Terminator::Jump),
            loc,
            branch: BranchKind::Implied,
        });
        let place = function.layout.iter().position(|&known| known == from);
        let place = place.map_or(function.layout.len(), |at| at + 1);
        function.layout.insert(place, behind);
        let (by, places) = edit::computed(
            function,
            Op::Const(self.places as u64),
            &[],
            Type::I32,
            ir::Loc::NONE,
        );
        let mut made = vec![by];
        let outside: Vec<Block> = function
            .layout
            .iter()
            .copied()
            .filter(|block| !self.inside.contains(block))
            .collect();
        let read = |function: &Function, value: Value| {
            outside.iter().any(|&block| {
                let data = &function.blocks[block];
                let mut insts = data.insts.iter();
                insts.any(|&inst| function.insts[inst].operands().any(|arg| arg == value))
                    || data.terminator.operands().any(|arg| arg == value)
            })
        };
        for value in [param, next] {
            if !read(function, value) {
                continue;
            }
            let shift = Op::Binary(BinaryOp::Shl, Wrap::MAY);
            let (shift, high) = edit::computed(function, shift, &[value, places], ty, loc);
            let sum = Op::Binary(BinaryOp::Add, Wrap::MAY);
            let (add, total) = edit::computed(function, sum, &[self.start, high], ty, loc);
            edit::replace(
                function,
                &mut outside.iter().copied(),
                &|other| match other == value {
                    true => total,
                    false => other,
                },
            );
            made.extend([shift, add]);
        }
        function.blocks[behind].insts = made;
    }
}
