//! The instructions that a zero makes useless: they need not be executed where some values are zero.
//!
//! ```text
//! n = saturate(d)   t = texture(uv)   c = t * n   store c       n = 0   ->   t, c are useless; the store is not
//! ```
//!
//! Zeros are taken forward through operations that absorb or pass them, then instructions that nothing else
//! needs are collected backwards. An upper bound for people: it ignores the possible places of a check, so
//! that instructions before the zero are counted too, and that IEEE 754 may forbid `0 * x = 0`. Two passes
//! over the function, and as many rounds for loops as `ROUNDS`; merges are not followed, so it underestimates
//! loops.
//!
//! Source: the lower bound of Stephenson and Rangan, *AZP*, section 3.3, without regions.

use super::operations::{Propagation, propagation};
use ir::{Function, Inst, Op, Value, ValueDef};
use rustc_hash::FxHashSet;

/// Instructions that are useless where all `members` are zero, in program order; not those that compute the members.
#[must_use]
pub fn useless(function: &Function, members: &[Value]) -> Vec<Inst> {
    let mut zero: FxHashSet<Value> = members.iter().copied().collect();
    let order: Vec<Inst> = function
        .layout
        .iter()
        .flat_map(|&block| function.blocks[block].insts.iter().copied())
        .collect();
    for &inst in &order {
        let data = &function.insts[inst];
        if let [result] = data.results.as_slice()
            && becomes_zero(function, &data.op, &data.args, &zero)
        {
            zero.insert(*result);
        }
    }
    let before = needed(function, &order, &FxHashSet::default());
    let after = needed(function, &order, &zero);
    order
        .into_iter()
        .filter(|&inst| {
            let data = &function.insts[inst];
            let own = data.results.iter().any(|result| members.contains(result));
            let trivial = matches!(
                data.op,
                Op::Const(_) | Op::SymbolAddress(_) | Op::Parameter(_) | Op::Undef
            );
            let saved = |set: &FxHashSet<Inst>| !set.contains(&inst);
            // A result that is known to be zero is not computed, though it is used.
            let known = !data.results.is_empty()
                && !data.op.has_effect()
                && data.results.iter().all(|result| zero.contains(result));
            !own && !trivial && !saved(&before) && (saved(&after) || known)
        })
        .collect()
}

fn becomes_zero(function: &Function, op: &Op, args: &[Value], zero: &FxHashSet<Value>) -> bool {
    let is = |arg: &Value| {
        zero.contains(arg)
            || matches!(function.values[*arg].def, ValueDef::Result(inst, _)
                if function.insts[inst].op == Op::Const(0))
    };
    let any = |from: usize, to: usize| {
        args.iter()
            .take(to)
            .skip(from)
            .any(|arg| zero.contains(arg))
    };
    match propagation(op) {
        Propagation::None => false,
        Propagation::Any { from, to } => any(from, to),
        Propagation::Product => any(0, 2) && args.get(2).is_some_and(is),
        Propagation::Same => any(0, 1),
        Propagation::All { from } => any(from, args.len()) && args.iter().skip(from).all(is),
    }
}

/// Instructions that something with an effect needs, where the values of `zero` are literals.
fn needed(function: &Function, order: &[Inst], zero: &FxHashSet<Value>) -> FxHashSet<Inst> {
    let mut needed: FxHashSet<Inst> = FxHashSet::default();
    let mut seen: FxHashSet<Value> = FxHashSet::default();
    let mut work: Vec<Value> = Vec::new();
    for &inst in order {
        let data = &function.insts[inst];
        if data.op.has_effect() {
            needed.insert(inst);
            work.extend(operands(data, zero));
        }
    }
    for &block in &function.layout {
        let terminator = &function.blocks[block].terminator;
        work.extend(terminator.selector());
        work.extend(
            terminator
                .edges()
                .iter()
                .flat_map(|edge| edge.args.iter().copied()),
        );
        if let ir::Terminator::Return(values) = terminator {
            work.extend(values.iter().copied());
        }
    }
    while let Some(value) = work.pop() {
        if zero.contains(&value) || !seen.insert(value) {
            continue;
        }
        if let ValueDef::Result(inst, _) = function.values[value].def
            && needed.insert(inst)
        {
            work.extend(operands(&function.insts[inst], zero));
        }
    }
    needed
}

/// Returns the operands that an instruction still reads: a product with zero reads no factor.
fn operands<'f>(
    data: &'f ir::InstData,
    zero: &FxHashSet<Value>,
) -> impl Iterator<Item = Value> + use<'f> {
    let product = propagation(&data.op) == Propagation::Product
        && data.args.iter().take(2).any(|arg| zero.contains(arg));
    let skip = if product { 2 } else { 0 };
    data.args
        .iter()
        .skip(skip)
        .copied()
        .chain(data.guard.map(|guard| guard.value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_kills_what_only_its_product_needs() {
        let function = ir::text::parse(
            r#"
function "f" kernel text {
  parameter "p" "float*" (v0)

b0(v0: ptr.global):
  v1: f32 = load.global v0
  v2: f32 = saturate v1
  v3: f32 = exp v1
  v4: f32 = sin v3
  v5: f32 = fmul v2, v4
  v6: f32 = fma v2, v3, v1
  v7: f32 = fadd v5, v6
  store.global v0, v7
  return
}
"#,
        )
        .unwrap_or_else(|error| panic!("{error}"));
        let dead: Vec<Value> = useless(&function, &[Value(2)])
            .into_iter()
            .map(|inst| function.insts[inst].results[0])
            .collect();
        // The load is needed by the sum; the fma is a copy of it and stays.
        assert_eq!(dead, [Value(3), Value(4), Value(5)]);
        assert!(useless(&function, &[Value(7)]).len() >= 5);
    }
}
