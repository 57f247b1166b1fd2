//! A product that only a sum needs becomes one operation with it, rounded once.
//!
//! ```text
//! s + a * b -> fma(a, b, s)      a * b - c -> fma(a, b, -c)      c - a * b -> fma(-a, b, c)
//! ```
//!
//! C permits this within an expression unless `FP_CONTRACT` is off (C11, 6.5, paragraph 8, and 7.12.2), and compilers for
//! IA-64 do so by default, over whole functions. Results differ from those of two operations in the last place, where the
//! product is not exact. Both stand in one block, so that nothing is computed more often than it was; of two products
//! the second is taken. Signs are exact, and `fms` and `fnma` have them for nothing.

use ir::entity::Entity;
use ir::{BinaryOp, Function, Inst, InstData, Module, Op, UnaryOp, Value, ValueData, ValueDef};
use rustc_hash::FxHashMap;

/// The module as the code computes it where contraction is permitted.
#[must_use]
pub fn contracted(module: &Module) -> Module {
    let mut out = module.clone();
    for function in &mut out.functions {
        contract(function);
    }
    out
}

pub(super) fn contract(function: &mut Function) {
    let uses = ir::needed::uses(function);
    for block in function.layout.clone() {
        // Products of the block that one operation needs, by their results.
        let mut products: FxHashMap<Value, Inst> = FxHashMap::default();
        let mut out: Vec<Inst> = Vec::new();
        for inst in function.blocks[block].insts.clone() {
            let data = &function.insts[inst];
            let plain = data.guard.is_none();
            match data.op {
                Op::Binary(BinaryOp::FloatMul, _) if plain => {
                    let result = data.results[0];
                    if uses[result] == 1 && has_form(function, result) {
                        products.insert(result, inst);
                    }
                }
                Op::Binary(op @ (BinaryOp::FloatAdd | BinaryOp::FloatSub), _) if plain => {
                    let (first, second) = (data.args[0], data.args[1]);
                    let taken = [second, first]
                        .into_iter()
                        .find_map(|it| Some((it, *products.get(&it)?)));
                    if let Some((product, from)) = taken.filter(|_| first != second) {
                        let [a, b] = [function.insts[from].args[0], function.insts[from].args[1]];
                        let subtracts = op == BinaryOp::FloatSub;
                        let (a, c) = match (subtracts, product == second) {
                            (false, true) => (a, first),
                            (false, false) => (a, second),
                            (true, true) => (negated(function, a, inst, &mut out), first),
                            (true, false) => (a, negated(function, second, inst, &mut out)),
                        };
                        let data = &mut function.insts[inst];
                        data.op = Op::Fma;
                        data.args = [a, b, c].into_iter().collect();
                        products.remove(&product);
                        out.retain(|&it| it != from);
                    }
                }
                _ => {}
            }
            out.push(inst);
        }
        function.blocks[block].insts = out;
    }
}

fn has_form(function: &Function, value: Value) -> bool {
    matches!(function.ty(value), ir::Type::F32 | ir::Type::F64)
}

/// Returns the value with the other sign, computed in front of an operation.
fn negated(function: &mut Function, value: Value, of: Inst, out: &mut Vec<Inst>) -> Value {
    let inst = Inst::new(function.insts.len());
    let (ty, loc) = (function.ty(value), function.insts[of].loc);
    let result = function.values.push(ValueData {
        ty,
        def: ValueDef::Result(inst, 0),
    });
    function.insts.push(InstData {
        op: Op::Unary(UnaryOp::FloatNeg),
        args: [value].into_iter().collect(),
        results: [result].into_iter().collect(),
        guard: None,
        loc,
    });
    out.push(inst);
    result
}
