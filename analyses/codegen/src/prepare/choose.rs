//! Branches that only choose between values, as choices: minimum, maximum and absolute value where they are that.
//!
//! ```text
//! b1: branch a < b, b2, b3       b2: jump b3(a)       b1: x = min a, b; jump b3(x)
//! (x > 9) ? 9 : (x < -9) ? -9 : x                     min (max x, -9), 9
//! if (c) *p = a; else *p = b                          *p = c ? a : b
//! ```
//!
//! The sides hold a few operations that compute and nothing else, which are executed always then, and one store at most, to
//! the same place on both sides. Truth values stay with their branches. From the last block to the first, so that inner
//! choices come before those around them; again as long as something changes.

use super::edit;
use ir::cfg::ControlFlow;
use ir::{
    BinaryOp, Block, BranchKind, Convert, Edge, Function, Inst, InstData, IntCondition, Op,
    Terminator, Type, UnaryOp, Value, Wrap,
};

/// Operations of both sides that are executed always.
const COMPUTED: usize = 3;
/// Values that are chosen by one branch.
const CHOSEN: usize = 2;

/// The way from a branch to where its sides meet.
struct Side {
    blocks: Vec<Block>,
    /// Parameters of those blocks, with what they are given.
    given: Vec<(Value, Value)>,
    /// The operations that compute.
    insts: Vec<Inst>,
    store: Option<Inst>,
    /// The way to the block where they meet.
    to: Edge,
}

/// Replaces branches by choices. Returns false if the function stays as it was.
pub(super) fn choose(function: &mut Function) -> bool {
    edit::unneeded(function);
    let mut changed = recognized(function);
    loop {
        let flow = ControlFlow::new(function);
        let blocks = function.layout.clone();
        let mut blocks = blocks.into_iter().rev();
        if !blocks.any(|block| chosen(function, &flow, block)) {
            return changed;
        }
        changed = true;
    }
}

/// Makes choices that the source writes without branches what they are. Returns false if there are none.
fn recognized(function: &mut Function) -> bool {
    let mut changed = false;
    // Inner ones stand in front of those around them.
    let blocks = function
        .layout
        .iter()
        .map(|&block| &function.blocks[block].insts);
    let insts: Vec<Inst> = blocks.flatten().copied().collect();
    for inst in insts {
        let data = &function.insts[inst];
        let (Op::Select, &[condition, yes, no], None) = (&data.op, &data.args[..], &data.guard)
        else {
            continue;
        };
        if let Some((op, args)) = known(function, condition, [yes, no]) {
            let data = &mut function.insts[inst];
            data.op = op;
            data.args = args.into_iter().collect();
            changed = true;
        }
    }
    changed
}

/// Makes the branch at the end of a block a choice. Returns false if it stays.
fn chosen(function: &mut Function, flow: &ControlFlow, block: Block) -> bool {
    let Terminator::Branch {
        condition,
        then,
        otherwise,
        ..
    } = function.blocks[block].terminator.clone()
    else {
        return false;
    };
    let ways = [&then, &otherwise];
    let [yes, no] = ways.map(|edge| Side::along(function, flow, block, edge));
    if yes.to.block != no.to.block {
        return false;
    }
    // The place of stores is computed once, instead of on each side.
    let stores = yes.store.is_some();
    let counts = |inst: &&Inst| match function.insts[**inst].op {
        Op::Const(_) => false,
        Op::PtrAdd => !stores,
        _ => true,
    };
    let computed = yes.insts.iter().chain(&no.insts).filter(counts).count();
    let pairs = yes.to.args.iter().copied().zip(no.to.args.iter().copied());
    let mut chosen: Vec<[Value; 2]> = pairs.map(|(yes, no)| [yes, no]).collect();
    let store = match (yes.store, no.store) {
        (None, None) => None,
        (Some(first), Some(second)) => {
            let [first, second] = [first, second].map(|inst| &function.insts[inst]);
            let places = [yes.place(function, first), no.place(function, second)];
            if first.op != second.op || places[0] != places[1] {
                return false;
            }
            let stored = [yes.renamed(first.args[1]), no.renamed(second.args[1])];
            chosen.push(stored);
            Some(InstData {
                args: [yes.renamed(first.args[0]), stored[0]]
                    .into_iter()
                    .collect(),
                ..first.clone()
            })
        }
        _ => return false,
    };
    let differing = chosen.iter().filter(|[yes, no]| yes != no);
    let fits = |&&[yes, no]: &&[Value; 2]| {
        let (ty, other) = (function.ty(yes), function.ty(no));
        let narrow = matches!(
            ty,
            Type::I8 | Type::I16 | Type::I32 | Type::I40 | Type::Ptr(_)
        );
        narrow && ty == other
    };
    let is_truth = function.ty(condition) == Type::Bool;
    let count = differing.clone().count();
    // One compare serves several choices. What one side alone computes is better skipped than chosen afterwards.
    let is_known = |&sides: &[Value; 2]| known(function, condition, sides).is_some();
    let all_known = count == 1 && differing.clone().all(is_known);
    let pays = computed == 0 || computed <= COMPUTED && all_known;
    if !pays || count > CHOSEN || !differing.clone().all(|it| fits(&it)) || !is_truth {
        return false;
    }
    let join = yes.to.block;
    for side in [yes, no] {
        edit::replace(function, &mut side.blocks.iter().copied(), &|value| {
            side.renamed(value)
        });
        function.blocks[block].insts.extend(&side.insts);
        for &gone in &side.blocks {
            function.blocks[gone].insts.clear();
            function.blocks[gone].terminator = Terminator::Unreachable;
            function.layout.retain(|known| *known != gone);
        }
    }
    let loc = function.blocks[block].loc;
    let made = chosen.into_iter().map(|sides| match sides[0] == sides[1] {
        true => sides[0],
        false => {
            let choice = (Op::Select, vec![condition, sides[0], sides[1]]);
            let known = known(function, condition, sides).filter(|_| count == 1);
            let (op, args) = known.unwrap_or(choice);
            let ty = function.ty(sides[0]);
            let (inst, value) = edit::computed(function, op, &args, ty, loc);
            function.blocks[block].insts.push(inst);
            value
        }
    });
    let mut args: Vec<Value> = made.collect();
    if let Some(mut store) = store {
        store.args[1] = args.pop().unwrap_or(store.args[1]);
        let (inst, _) = edit::instruction(function, store, &[]);
        function.blocks[block].insts.push(inst);
    }
    function.blocks[block].terminator = Terminator::Jump(Edge {
        block: join,
        args: args.into_iter().collect(),
    });
    function.blocks[block].branch = BranchKind::Implied;
    true
}

impl Side {
    fn straight(edge: &Edge) -> Side {
        Side {
            blocks: Vec::new(),
            given: Vec::new(),
            insts: Vec::new(),
            store: None,
            to: edge.clone(),
        }
    }

    /// The blocks to which one edge alone leads, from an edge of a block on, as far as they hold nothing else.
    fn along(function: &Function, flow: &ControlFlow, from: Block, edge: &Edge) -> Side {
        let mut side = Side::straight(edge);
        let mut before = from;
        loop {
            let block = side.to.block;
            let data = &function.blocks[block];
            let edges = function.blocks[before].terminator.edges();
            let alone = flow.predecessors[block].len() == 1
                && edges.iter().filter(|edge| edge.block == block).count() == 1;
            let Terminator::Jump(next) = &data.terminator else {
                return side;
            };
            let (last, rest) = match data.insts.split_last() {
                Some((&last, rest)) if is_store(&function.insts[last]) => (Some(last), rest),
                _ => (None, &data.insts[..]),
            };
            let fits = |&inst: &Inst| is_cheap(function, &function.insts[inst]);
            if !alone || block == from || side.store.is_some() || !rest.iter().all(fits) {
                return side;
            }
            let params = data.params.iter().copied();
            let given: Vec<(Value, Value)> = params.zip(side.to.args.iter().copied()).collect();
            side.given.extend(given);
            side.insts.extend(rest);
            side.store = last;
            side.blocks.push(block);
            let args = next.args.iter().map(|&arg| side.renamed(arg)).collect();
            side.to = Edge {
                block: next.block,
                args,
            };
            before = block;
        }
    }

    /// The place that a store writes: an address, or a sum that is one.
    fn place(&self, function: &Function, store: &InstData) -> Vec<Value> {
        let address = self.renamed(store.args[0]);
        let sum = function.defining(address);
        let sum = sum.filter(|data| matches!(data.op, Op::PtrAdd) && data.guard.is_none());
        match sum {
            Some(data) => data.args.iter().map(|&arg| self.renamed(arg)).collect(),
            None => vec![address],
        }
    }

    /// What a value is in front of the blocks.
    fn renamed(&self, value: Value) -> Value {
        let known = self.given.iter().find(|(param, _)| *param == value);
        known.map_or(value, |(_, arg)| *arg)
    }
}

fn is_store(data: &InstData) -> bool {
    let plain = |access: &ir::MemoryAccess| {
        !access.volatile && !access.checked && access.speculation.is_none()
    };
    matches!(&data.op, Op::Store(access) if plain(access))
        && data.args.len() == 2
        && data.guard.is_none()
}

/// Returns true for what takes a cycle or two, whatever it is given.
fn is_cheap(function: &Function, data: &InstData) -> bool {
    let narrow = |&value: &Value| {
        let ty = function.ty(value);
        matches!(
            ty,
            Type::Bool | Type::I8 | Type::I16 | Type::I32 | Type::I40 | Type::Ptr(_)
        )
    };
    let cheap = match data.op {
        Op::Const(_) | Op::PtrAdd => return data.guard.is_none(),
        Op::Unary(UnaryOp::Neg | UnaryOp::Not | UnaryOp::IntAbs) => true,
        Op::Binary(op, _) => matches!(
            op,
            BinaryOp::Add
                | BinaryOp::Sub
                | BinaryOp::And
                | BinaryOp::Or
                | BinaryOp::Xor
                | BinaryOp::MinSigned
                | BinaryOp::MaxSigned
        ),
        Op::IntCompare(_) | Op::Select => true,
        Op::Convert(kind) => matches!(
            kind,
            Convert::SignExtend | Convert::ZeroExtend | Convert::Truncate
        ),
        _ => false,
    };
    let mut values = data.args.iter().chain(&data.results);
    cheap && data.guard.is_none() && values.all(narrow)
}

/// The operation that a choice is.
fn known(function: &Function, condition: Value, sides: [Value; 2]) -> Option<(Op, Vec<Value>)> {
    let compare = function.defining(condition)?;
    let Op::IntCompare(how) = compare.op else {
        return None;
    };
    // Numbers that are compared in a wider type have the same order in their own.
    let ty = function.ty(sides[0]);
    let own = |value: Value| match function.defining(value) {
        Some(data)
            if matches!(data.op, Op::Convert(Convert::SignExtend))
                && data.guard.is_none()
                && function.ty(data.args[0]) == ty =>
        {
            data.args[0]
        }
        _ => value,
    };
    let [a, b] = [own(compare.args[0]), own(compare.args[1])];
    let fits = |value: Value| function.ty(value) == ty || function.int_constant(value).is_some();
    if !(fits(a) && fits(b) && matches!(ty, Type::I8 | Type::I16 | Type::I32)) {
        return None;
    }
    // A number stands on the right.
    let (how, a, b) = match function.int_constant(a) {
        Some(_) => (how.mirrored(), b, a),
        None => (how, a, b),
    };
    // The side that is there where `a` is greater, or less.
    use IntCondition::{GreaterEqualSigned, GreaterSigned, LessEqualSigned, LessSigned};
    let [yes, no] = sides;
    let (greater, less) = match how {
        GreaterSigned | GreaterEqualSigned => (yes, no),
        LessSigned | LessEqualSigned => (no, yes),
        _ => return None,
    };
    let limit = function.int_constant(b);
    // `a > 8` is `a >= 9`: the least number for which the first side is taken, and the greatest for the other.
    let bound = limit.and_then(|limit| match how {
        GreaterSigned | LessEqualSigned => Some((limit.checked_add(1)?, limit)),
        _ => Some((limit, limit.checked_sub(1)?)),
    });
    let number = |value: Value| function.int_constant(value);
    let is_limit = |value: Value, of: Value| {
        let near =
            |bound: (i64, i64)| number(value).is_some_and(|it| it == bound.0 || it == bound.1);
        of == a && (value == b || bound.is_some_and(near))
    };
    let plain = |op| Op::Binary(op, Wrap::MAY);
    if greater == a && less == b {
        // Both are sides, of their type.
        return Some((plain(BinaryOp::MaxSigned), vec![a, b]));
    }
    if greater == b && less == a {
        return Some((plain(BinaryOp::MinSigned), vec![a, b]));
    }
    if is_limit(greater, less) {
        return Some((plain(BinaryOp::MinSigned), vec![a, greater]));
    }
    if is_limit(less, greater) {
        return Some((plain(BinaryOp::MaxSigned), vec![a, less]));
    }
    let negated = |value: Value| {
        function.defining(value).is_some_and(|data| match data.op {
            Op::Unary(UnaryOp::Neg) => data.args[0] == a,
            Op::Binary(BinaryOp::Sub, _) => number(data.args[0]) == Some(0) && data.args[1] == a,
            _ => false,
        })
    };
    // 0 is its own negation.
    let at_zero = bound.is_some_and(|(least, greatest)| least == 0 || greatest == 0);
    if at_zero && greater == a && negated(less) {
        return Some((Op::Unary(UnaryOp::IntAbs), vec![a]));
    }
    // A number that is held within limits on both sides.
    let within = |value: Value, op: BinaryOp| {
        let data = function.defining(value)?;
        let same = matches!(data.op, Op::Binary(own, _) if own == op) && data.args[0] == a;
        same.then(|| number(data.args[1])).flatten()
    };
    let (least, greatest) = bound?;
    if let (Some(top), Some(low)) = (number(greater), within(less, BinaryOp::MaxSigned))
        && (top == least || top == greatest)
        && low <= top
    {
        return Some((plain(BinaryOp::MinSigned), vec![less, greater]));
    }
    if let (Some(low), Some(top)) = (number(less), within(greater, BinaryOp::MinSigned))
        && (low == least || low == greatest)
        && low <= top
    {
        return Some((plain(BinaryOp::MaxSigned), vec![greater, less]));
    }
    None
}
