//! Addresses of loads and stores that grow by the same in every iteration become parameters of the loop.
//!
//! ```text
//! loop(i): load a + 8*sext(i) ... loop(i + 1)    ->    loop(i, q): load q ... loop(i + 1, q + 8)      q starts at a + 8*sext(i0)
//! load a + 8*sext(i*n)                           ->    q + 8*sext(n), which is computed once
//! ```
//!
//! Sums and products with loop-invariant values are followed from the address to the counter; 64-bit
//! arithmetic is exact modulo 2^64, narrow arithmetic below an extension must not wrap: signed sums by the
//! promise of the program, an unsigned counter because a test against some other number lets each of its
//! steps through. Loads and stores of one address get parameters of their own, so that the next load need not
//! wait for the store to step. Only operations that every iteration executes are considered, in innermost
//! loops with one latch.

use super::{edit, headers, preheader};
use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::loops::LoopForest;
use ir::{
    BinaryOp, Block, Convert, Edge, Function, Inst, IntCondition, Op, Terminator, Type, Value,
};
use rustc_hash::FxHashSet;

/// Parameters that a loop gets, at most.
const MOST: usize = 12;
/// Operations between an address and its counter.
const DEPTH: u32 = 16;

struct Counter {
    param: Value,
    start: Value,
    step: Growth,
    /// True if it is an exact number: of 64 bits, an address, or signed and not wrapping.
    exact: bool,
    /// The bound below which a number added to it, as an unsigned number, does not wrap; 0: it may.
    room: i64,
}

/// A constant times a value that does not change in the loop, which may have to be extended by its sign.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Growth {
    factor: i64,
    of: Option<(Value, bool)>,
}

impl Growth {
    const NONE: Growth = Growth::number(0);

    const fn number(factor: i64) -> Growth {
        Growth { factor, of: None }
    }

    fn plus(self, other: Growth, sign: i64) -> Option<Growth> {
        let added = other.factor.checked_mul(sign)?;
        if added == 0 {
            return Some(self);
        }
        if self.factor != 0 && self.of != other.of {
            return None;
        }
        Some(Growth {
            factor: self.factor.checked_add(added)?,
            of: other.of,
        })
    }

    fn times(self, other: Growth) -> Option<Growth> {
        let of = match (self.of, other.of) {
            (of, None) | (None, of) => of,
            _ => return None,
        };
        Some(Growth {
            factor: self.factor.checked_mul(other.factor)?,
            of,
        })
    }
}

/// The way in which a value is read: as it is, or below an extension of 32 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Read {
    Whole,
    Signed,
    Unsigned,
}

struct Loop<'f> {
    function: &'f Function,
    blocks: Vec<Block>,
    inside: FxHashSet<Value>,
    counters: Vec<Counter>,
    wraps: bool,
}

pub(super) fn reduce(function: &mut Function, wraps: bool) {
    let forest = LoopForest::new(&ControlFlow::new(function));
    let outer: FxHashSet<Block> = forest
        .loops
        .values()
        .filter_map(|value| Some(forest.loops[value.parent?].header))
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

/// The flow of control of a function.
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
        blocks: blocks.clone(),
        inside: values,
        counters: Vec::new(),
        wraps,
    };
    own.find_counters(header, &enter, back);
    let mut wanted: Vec<(Value, bool, usize, Growth, Vec<Inst>)> = Vec::new();
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
                .find(|it| it.0 == address && it.1 == store)
            {
                known.4.push(inst);
                continue;
            }
            let found = (0..own.counters.len()).find_map(|at| {
                let scale = own.scale(address, &own.counters[at], Read::Whole, DEPTH)?;
                let by = scale.times(own.counters[at].step)?;
                (by.factor != 0 && i32::try_from(by.factor).is_ok()).then_some((at, by))
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
        let param = edit::param(function, header, ty);
        let step = grown(function, before, by);
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

/// Returns the number added in each iteration, computed at the end of a block.
fn grown(function: &mut Function, block: Block, by: Growth) -> Value {
    let factor =
        |function: &mut Function| add(function, block, Op::Const(by.factor as u64), &[], Type::I64);
    let Some((mut value, narrow)) = by.of else {
        return factor(function);
    };
    if narrow {
        let extend = Op::Convert(Convert::SignExtend);
        value = add(function, block, extend, &[value], Type::I64);
    }
    if by.factor == 1 {
        return value;
    }
    let factor = factor(function);
    let product = Op::Binary(BinaryOp::Mul, ir::Wrap::MAY);
    add(function, block, product, &[value, factor], Type::I64)
}

/// A new instruction at the end of a block.
fn add(function: &mut Function, block: Block, op: Op, args: &[Value], ty: Type) -> Value {
    let (inst, value) = edit::computed(function, op, args, ty, ir::Loc::NONE);
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
    if let Op::Convert(Convert::SignExtend) = data.op
        && let Some((of, more)) = displaced(function, data.args[0])
    {
        // It was followed as an exact number: all addresses of the loop extend the same.
        let of = repeated(function, block, of, counter, inside);
        let extended = match function.int_constant(of) {
            Some(number) => add(function, block, Op::Const(number as u64), &[], Type::I64),
            None => add(function, block, data.op, &[of], Type::I64),
        };
        let more = add(function, block, Op::Const(more as u64), &[], Type::I64);
        let sum = Op::Binary(BinaryOp::Add, ir::Wrap::MAY);
        return match (function.int_constant(extended), function.int_constant(more)) {
            (Some(x), Some(y)) => {
                let sum = Op::Const(x.wrapping_add(y) as u64);
                add(function, block, sum, &[], Type::I64)
            }
            _ => add(function, block, sum, &[extended, more], Type::I64),
        };
    }
    let args: Vec<Value> = data
        .args
        .iter()
        .map(|&arg| repeated(function, block, arg, counter, inside))
        .collect();
    let ty = function.ty(value);
    let constants: Option<Vec<i64>> = args.iter().map(|&arg| function.int_constant(arg)).collect();
    // Constants are kept extended by their sign.
    let fits = |number: i64| match ty {
        Type::I64 => Some(number),
        Type::I32 => Some(i64::from(number as i32)),
        _ => None,
    };
    let narrow = args
        .first()
        .is_some_and(|&arg| function.ty(arg) == Type::I32);
    let folded = match (&data.op, constants.as_deref()) {
        (Op::Convert(Convert::SignExtend), Some(&[x])) => Some(x),
        (Op::Convert(Convert::ZeroExtend), Some(&[x])) if narrow => Some(i64::from(x as u32)),
        (Op::Binary(BinaryOp::Add, _), Some(&[x, y])) => fits(x.wrapping_add(y)),
        (Op::Binary(BinaryOp::Sub, _), Some(&[x, y])) => fits(x.wrapping_sub(y)),
        (Op::Binary(BinaryOp::Mul, _), Some(&[x, y])) => fits(x.wrapping_mul(y)),
        (Op::PtrAdd, _) if function.int_constant(args[1]) == Some(0) => return args[0],
        _ => None,
    };
    match folded {
        Some(number) => add(function, block, Op::Const(number as u64), &[], ty),
        None => add(function, block, data.op, &args, ty),
    }
}

/// A sum of 32 bits that does not wrap, as a value and a constant.
fn displaced(function: &Function, value: Value) -> Option<(Value, i64)> {
    let data = function.defining(value)?;
    let (op, wrap) = match data.op {
        Op::Binary(op, wrap) if function.ty(value) == Type::I32 => (op, wrap),
        _ => return None,
    };
    let constant = |at: usize| function.int_constant(data.args[at]);
    match op {
        BinaryOp::Add if wrap.no_signed => match (constant(0), constant(1)) {
            (None, Some(more)) => Some((data.args[0], more)),
            (Some(more), None) => Some((data.args[1], more)),
            _ => None,
        },
        BinaryOp::Sub if wrap.no_signed => Some((data.args[0], constant(1)?.checked_neg()?)),
        _ => None,
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
            let narrow = self.function.ty(param) != Type::I64;
            // What is added, if it is the same in all iterations.
            let fixed = |value: Value| match self.function.int_constant(value) {
                Some(number) => Some(Growth::number(number)),
                None if self.inside.contains(&value) => None,
                None => Some(Growth {
                    factor: 1,
                    of: Some((
                        value,
                        narrow && matches!(self.function.ty(value), Type::I32),
                    )),
                }),
            };
            let by = match data.op {
                Op::Binary(BinaryOp::Add, _) => {
                    match (data.args[0] == param, data.args[1] == param) {
                        (true, false) => fixed(data.args[1]),
                        (false, true) => fixed(data.args[0]),
                        _ => None,
                    }
                }
                Op::Binary(BinaryOp::Sub, _) if data.args[0] == param => {
                    fixed(data.args[1]).and_then(|by| Growth::NONE.plus(by, -1))
                }
                Op::PtrAdd if data.args[0] == param => fixed(data.args[1]),
                _ => None,
            };
            let Some(step) = by else { continue };
            let exact = match data.op {
                Op::Binary(_, wrap) => !narrow || self.fixed(param, wrap.no_signed),
                _ => true,
            };
            let room = match step {
                Growth { factor, of: None } if self.function.ty(param) == Type::I32 => {
                    self.room(header, param, start, factor)
                }
                _ => 0,
            };
            if exact || room > 0 {
                self.counters.push(Counter {
                    param,
                    start,
                    step,
                    exact,
                    room,
                });
            }
        }
    }

    /// Returns how far an unsigned counter stays from the end of its range, by the test at the loop's head: as in
    /// [`Counter`].
    ///
    /// A step of 1 does not wrap behind a test against a greater number. With steps of another power of two a counter
    /// that wraps meets all its numbers again, which have passed the test, and C takes it that the loop ends (C11,
    /// 6.8.5), if there is no other way out.
    fn room(&self, header: Block, param: Value, start: Value, step: i64) -> i64 {
        if step <= 0 || !(step as u64).is_power_of_two() {
            return 0;
        }
        let Terminator::Branch {
            condition,
            then,
            otherwise,
            ..
        } = &self.function.blocks[header].terminator
        else {
            return 0;
        };
        let Some(data) = self.function.defining(*condition) else {
            return 0;
        };
        let Op::IntCompare(test) = data.op else {
            return 0;
        };
        let goes_on = |edge: &Edge| self.blocks.contains(&edge.block);
        let test = match (goes_on(then), goes_on(otherwise)) {
            (true, false) => test,
            (false, true) => test.negated(),
            _ => return 0,
        };
        let (test, first, second) = match test {
            IntCondition::GreaterUnsigned => {
                (IntCondition::LessUnsigned, data.args[1], data.args[0])
            }
            IntCondition::GreaterEqualUnsigned => {
                (IntCondition::LessEqualUnsigned, data.args[1], data.args[0])
            }
            IntCondition::NotEqual if data.args[1] == param => (test, data.args[1], data.args[0]),
            _ => (test, data.args[0], data.args[1]),
        };
        let begin = self.function.int_constant(start);
        let below = match test {
            IntCondition::LessUnsigned if step == 1 => first == param,
            // From 0 on it meets the other number before it wraps.
            IntCondition::NotEqual if step == 1 => {
                first == param
                    && second != param
                    && !self.inside.contains(&second)
                    && begin == Some(0)
            }
            _ => false,
        };
        if below {
            return 1;
        }
        let tested = first == param
            || self.function.defining(first).is_some_and(|sum| {
                matches!(sum.op, Op::Binary(BinaryOp::Add, _))
                    && sum.args[0] == param
                    && self.function.int_constant(sum.args[1]).is_some()
            });
        let repeats = matches!(
            test,
            IntCondition::LessUnsigned | IntCondition::LessEqualUnsigned
        ) && tested
            && !self.inside.contains(&second)
            && self.leaves_at(header);
        match (repeats, begin) {
            (true, Some(begin)) if begin % step == 0 => step,
            (true, _) => 1,
            _ => 0,
        }
    }

    /// Returns true if the loop is left from this block alone, and does nothing that the outside sees before.
    fn leaves_at(&self, header: Block) -> bool {
        let quiet = |&inst: &Inst| match &self.function.insts[inst].op {
            Op::Load(access) | Op::Store(access) => !access.volatile,
            Op::Call(_) | Op::CallUnknown { .. } | Op::Atomic(..) | Op::Asm { pure: false, .. } => {
                false
            }
            _ => true,
        };
        self.blocks.iter().all(|&block| {
            let data = &self.function.blocks[block];
            let terminator = &data.terminator;
            let edges = terminator.edges();
            let stays = |edge: &&Edge| self.blocks.contains(&edge.block);
            data.insts.iter().all(quiet)
                && (block == header || !edges.is_empty() && edges.iter().all(stays))
        })
    }

    /// Returns true if a narrow value is its exact number.
    fn fixed(&self, value: Value, no_signed: bool) -> bool {
        self.function.ty(value) == Type::I32 && no_signed && !self.wraps
    }

    /// Returns how much the value grows with the counter.
    fn scale(&self, value: Value, counter: &Counter, read: Read, depth: u32) -> Option<Growth> {
        let function = self.function;
        if value == counter.param {
            let exact = match read {
                Read::Whole | Read::Signed => counter.exact,
                Read::Unsigned => counter.room > 0,
            };
            return exact.then_some(Growth::number(1));
        }
        if !self.inside.contains(&value) {
            return Some(Growth::NONE);
        }
        let data = function.defining(value)?;
        let depth = depth.checked_sub(1)?;
        let of = |value: Value| self.scale(value, counter, read, depth);
        let exact = |no_signed: bool| match read {
            Read::Whole => function.ty(value) == Type::I64,
            Read::Signed => self.fixed(value, no_signed),
            Read::Unsigned => false,
        };
        let narrow = |value: Value| function.ty(value) == Type::I32;
        match data.op {
            Op::Convert(Convert::SignExtend) if read == Read::Whole && narrow(data.args[0]) => {
                self.scale(data.args[0], counter, Read::Signed, depth)
            }
            Op::Convert(Convert::ZeroExtend) if read == Read::Whole && narrow(data.args[0]) => {
                self.scale(data.args[0], counter, Read::Unsigned, depth)
            }
            Op::Convert(Convert::SpaceCast) => of(data.args[0]),
            Op::Binary(BinaryOp::Add, _)
                if read == Read::Unsigned
                    && data.args[0] == counter.param
                    && function
                        .int_constant(data.args[1])
                        .is_some_and(|more| (0..counter.room).contains(&more)) =>
            {
                Some(Growth::number(1))
            }
            Op::PtrAdd if read == Read::Whole => of(data.args[0])?.plus(of(data.args[1])?, 1),
            Op::Binary(op, wrap) if exact(wrap.no_signed) => match op {
                BinaryOp::Add => of(data.args[0])?.plus(of(data.args[1])?, 1),
                BinaryOp::Sub => of(data.args[0])?.plus(of(data.args[1])?, -1),
                BinaryOp::Mul => {
                    let (first, second) = (data.args[0], data.args[1]);
                    let (changes, by) = match self.inside.contains(&second) {
                        // A constant stands in the loop, too.
                        true if function.int_constant(second).is_none() => (second, first),
                        _ => (first, second),
                    };
                    let by = match function.int_constant(by) {
                        Some(number) => Growth::number(number),
                        None if self.inside.contains(&by) => return None,
                        None => Growth {
                            factor: 1,
                            of: Some((by, read == Read::Signed)),
                        },
                    };
                    of(changes)?.times(by)
                }
                BinaryOp::Shl => {
                    let by = function
                        .int_constant(data.args[1])
                        .filter(|by| (0..32).contains(by))?;
                    of(data.args[0])?.times(Growth::number(1 << by))
                }
                _ => None,
            },
            _ => None,
        }
    }
}
