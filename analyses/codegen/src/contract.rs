//! Products and sums contracted into one operation that rounds once, as compilers for GPUs do unless they are told not to.
//!
//! ```text
//! p = fmul a, b                                s = fma a, b, c
//! s = fadd p, c                          ->
//! t = fmul a, b;  u = fsub c, t          ->    t = fneg a;  u = fma t, b, c
//! ```
//!
//! A product is contracted where each of its uses is a sum or a difference of its block, so that no
//! multiplication is done twice; with several uses, up to `USES` of them. Values keep their numbers, so that
//! facts about a function hold for the remaining values; the value of a product that stands for a negated
//! operand afterwards is read by the one operation alone. `Wrap::separate` forbids it (`__fmul_rn`,
//! `precise`, `.rn` in PTX). Two passes over each block; linear.
//!
//! Source: CUDA C++ Programming Guide, floating-point standard (`-fmad=true`); LLVM's combination for NVPTX, which asks the same of
//! the uses of a product.

use ir::{BinaryOp, Function, Inst, Op, Type, UnaryOp, Wrap};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;

/// Uses of a product that are all contracted.
const USES: usize = 4;

/// A function with its products contracted; the function itself where there are none.
#[must_use]
pub fn contracted(function: &Function) -> Cow<'_, Function> {
    let found = products(function);
    if found.is_empty() {
        return Cow::Borrowed(function);
    }
    let mut function = function.clone();
    let mut gone = vec![false; function.insts.len()];
    // What negates an operand, by the operation that reads it.
    let mut negations: FxHashMap<Inst, Inst> = FxHashMap::default();
    for product in &found {
        gone[product.inst.0 as usize] = true;
        if let Some(reader) = contract(&mut function, product) {
            negations.insert(reader, product.inst);
        }
    }
    for block in function.layout.clone() {
        let insts = std::mem::take(&mut function.blocks[block].insts);
        for inst in insts {
            function.blocks[block].insts.extend(negations.get(&inst));
            if !gone[inst.0 as usize] {
                function.blocks[block].insts.push(inst);
            }
        }
    }
    Cow::Owned(function)
}

/// A product, and the sums that alone read it.
struct Product {
    inst: Inst,
    uses: SmallVec<[Inst; 4]>,
}

const fn may(wrap: Wrap) -> bool {
    !wrap.separate
}

fn products(function: &Function) -> Vec<Product> {
    // The uses by instructions in the product's own block; `None` if something else uses it, too.
    let mut uses: Vec<Option<SmallVec<[Inst; 4]>>> =
        vec![Some(SmallVec::new()); function.values.len()];
    let mut home: Vec<Option<ir::Block>> = vec![None; function.insts.len()];
    for &block in &function.layout {
        for &inst in &function.blocks[block].insts {
            home[inst.0 as usize] = Some(block);
        }
    }
    for &block in &function.layout {
        for &inst in &function.blocks[block].insts {
            for value in function.insts[inst].operands() {
                let own = matches!(function.values[value].def, ir::ValueDef::Result(at, _) if home[at.0 as usize] == Some(block));
                let known = &mut uses[value.0 as usize];
                match known {
                    Some(all) if own && all.len() < USES => all.push(inst),
                    _ => *known = None,
                }
            }
        }
        for value in function.blocks[block].terminator.operands() {
            uses[value.0 as usize] = None;
        }
    }
    let mut taken = vec![false; function.insts.len()];
    let mut out = Vec::new();
    for &block in &function.layout {
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            let Op::Binary(BinaryOp::FloatMul, wrap) = data.op else {
                continue;
            };
            let product = data.results[0];
            let ty = function.ty(product);
            let Some(all) = &uses[product.0 as usize] else {
                continue;
            };
            let fits = |at: &Inst| {
                let data = &function.insts[*at];
                let [a, b] = data.args.as_slice() else {
                    return false;
                };
                // Of `p + q` with two products one alone is contracted, and `p - p` is none.
                let once = (*a == product) != (*b == product);
                let sum = match data.op {
                    Op::Binary(BinaryOp::FloatAdd, wrap) => may(wrap),
                    // A negated operand has room for one use.
                    Op::Binary(BinaryOp::FloatSub, wrap) => may(wrap) && all.len() == 1,
                    _ => false,
                };
                sum && once && data.guard.is_none() && !taken[at.0 as usize]
            };
            let floats = matches!(ty, Type::F32 | Type::F64) && data.guard.is_none();
            if may(wrap) && floats && !all.is_empty() && all.iter().all(fits) {
                for at in all {
                    taken[at.0 as usize] = true;
                }
                out.push(Product {
                    inst,
                    uses: all.clone(),
                });
            }
        }
    }
    out
}

/// Rewrites the sums that read a product; returns the one that reads a negated operand, which the product becomes.
fn contract(function: &mut Function, product: &Product) -> Option<Inst> {
    let data = &function.insts[product.inst];
    let (a, b, p) = (data.args[0], data.args[1], data.results[0]);
    let mut reader = None;
    for &at in &product.uses {
        let data = &function.insts[at];
        let (x, y) = (data.args[0], data.args[1]);
        let minus = matches!(data.op, Op::Binary(BinaryOp::FloatSub, _));
        let (args, negated) = match (minus, x == p) {
            (false, true) => ([a, b, y], None),
            (false, false) => ([a, b, x], None),
            // a*b - y
            (true, true) => ([a, b, p], Some(y)),
            // x - a*b
            (true, false) => ([p, b, x], Some(a)),
        };
        if let Some(of) = negated {
            let negation = &mut function.insts[product.inst];
            negation.op = Op::Unary(UnaryOp::FloatNeg);
            negation.args = smallvec![of];
            reader = Some(at);
        }
        let sum = &mut function.insts[at];
        sum.op = Op::Fma;
        sum.args = SmallVec::from_slice(&args);
    }
    reader
}
