//! Makes a failing case small: tries one change after the other, and keeps those after which the module still verifies
//! and the same place still fails in the same way. Stops when no change helps, or after a number of attempts.

use super::judge::Violation;
use super::{Case, examine};
use ir::{
    Block, Edge, Function, Inst, InstData, Loc, Op, Terminator, Type, Value, ValueData, ValueDef,
};
use std::mem::discriminant;

const ATTEMPTS: u32 = 20_000;
const STEPS: u64 = 400_000;

/// The same kind of claim at the same place.
pub(crate) fn same(a: &Violation, b: &Violation) -> bool {
    a.claim.function == b.claim.function
        && a.claim.place == b.claim.place
        && discriminant(&a.claim.kind) == discriminant(&b.claim.kind)
}

pub(crate) fn shrink(case: &Case, violation: &Violation) -> Case {
    let mut best = case.clone();
    for launch in &mut best.launches {
        launch.limits.steps = launch.limits.steps.min(STEPS);
    }
    let attempts = std::cell::Cell::new(0);
    let try_case = |best: &mut Case, candidate: Case| -> bool {
        if attempts.get() >= ATTEMPTS || ir::verify_module(&candidate.module).is_err() {
            return false;
        }
        attempts.set(attempts.get() + 1);
        let fails = examine(&candidate)
            .violations
            .iter()
            .any(|v| same(v, violation));
        if fails {
            *best = candidate;
        }
        fails
    };
    // One launch is enough.
    for launch in case.launches.clone() {
        let mut candidate = best.clone();
        let mut launch = launch;
        launch.limits.steps = launch.limits.steps.min(STEPS);
        candidate.launches = vec![launch];
        if try_case(&mut best, candidate) {
            break;
        }
    }
    loop {
        let mut progress = false;
        for axis in 0..3 {
            let mut candidate = best.clone();
            for launch in &mut candidate.launches {
                launch.grid[axis] = 1;
            }
            if candidate.launches[0].grid != best.launches[0].grid {
                progress |= try_case(&mut best, candidate);
            }
        }
        let count = best.module.functions.len();
        let last_unused = |case: &Case| {
            let last = case.module.functions.len() as u32 - 1;
            last > violation.claim.function && last > 0 && {
                let mut insts = case.module.functions.iter().flat_map(|f| {
                    let blocks = f.layout.iter().flat_map(|&b| f.blocks[b].insts.iter());
                    blocks.map(|&i| &f.insts[i])
                });
                !insts.any(|i| i.op == Op::Call(last))
            }
        };
        while last_unused(&best) {
            let mut candidate = best.clone();
            candidate.module.functions.pop();
            if !try_case(&mut best, candidate) {
                break;
            }
            progress = true;
        }
        for number in 0..count.min(best.module.functions.len()) {
            for change in changes(&best.module.functions[number]) {
                let mut candidate = best.clone();
                let function = &mut candidate.module.functions[number];
                if apply(function, &change) {
                    tidy(function);
                    progress |= try_case(&mut best, candidate);
                }
            }
        }
        if !progress || attempts.get() >= ATTEMPTS {
            return best;
        }
    }
}

#[derive(Clone, Debug)]
enum Change {
    Goto(Block, usize),
    Return(Block),
    Remove(Block, Inst),
    Unguard(Inst),
    /// The result becomes this constant.
    Constant(Inst, u64),
    /// Uses of a value take an operand of its definition.
    Forward(Inst, Value),
    /// The parameter becomes a constant.
    Parameter(Block, usize),
    /// Gives the parameter's uses the argument of the first edge.
    First(Block, usize),
    /// A block that only one jump leads to joins its predecessor.
    Join(Block),
    /// A block without instructions is passed by.
    Skip(Block),
    Names,
}

fn changes(function: &Function) -> Vec<Change> {
    let mut list = vec![Change::Names];
    for &block in &function.layout {
        let data = &function.blocks[block];
        for edge in 0..data.terminator.edges().len() {
            list.push(Change::Goto(block, edge));
        }
        list.push(Change::Return(block));
    }
    for &block in function.layout.iter().rev() {
        for &inst in function.blocks[block].insts.iter().rev() {
            list.push(Change::Remove(block, inst));
        }
    }
    for &block in &function.layout {
        let data = &function.blocks[block];
        for &inst in &data.insts {
            let of = &function.insts[inst];
            if of.guard.is_some() {
                list.push(Change::Unguard(inst));
            }
            if let [result] = of.results[..]
                && !matches!(of.op, Op::Const(_))
            {
                for &arg in &of.args {
                    if function.ty(arg) == function.ty(result) {
                        list.push(Change::Forward(inst, arg));
                    }
                }
                if !matches!(
                    function.ty(result),
                    Type::Ptr(_) | Type::Handle | Type::Opaque
                ) {
                    list.extend([Change::Constant(inst, 0), Change::Constant(inst, 1)]);
                }
            }
        }
        if block != function.entry() {
            for number in (0..data.params.len()).rev() {
                list.extend([
                    Change::First(block, number),
                    Change::Parameter(block, number),
                ]);
            }
            list.extend([Change::Join(block), Change::Skip(block)]);
        }
    }
    list
}

fn apply(f: &mut Function, change: &Change) -> bool {
    match *change {
        Change::Names => {
            let before = (f.bindings.len(), f.loops.len(), f.vectors.len());
            f.bindings.clear();
            f.loops.clear();
            f.vectors.clear();
            before != (0, 0, 0)
        }
        Change::Goto(block, number) => {
            let edges = f.blocks[block].terminator.edges();
            let edge = match edges.get(number) {
                Some(&edge) if edges.len() > 1 => edge.clone(),
                _ => return false,
            };
            drop(edges);
            f.blocks[block].terminator = Terminator::Jump(edge);
            true
        }
        Change::Return(block) => {
            let types = f.returns.clone();
            if matches!(f.blocks[block].terminator, Terminator::Return(_)) {
                return false;
            }
            let values = types.iter().map(|&ty| constant(f, ty, 0)).collect();
            f.blocks[block].terminator = Terminator::Return(values);
            true
        }
        Change::Remove(block, inst) => {
            let insts = &mut f.blocks[block].insts;
            let before = insts.len();
            insts.retain(|&i| i != inst);
            insts.len() != before
        }
        Change::Unguard(inst) => f.insts[inst].guard.take().is_some(),
        Change::Constant(inst, bits) => {
            let data = &mut f.insts[inst];
            let already = matches!(data.op, Op::Const(_));
            data.op = Op::Const(bits);
            data.args.clear();
            data.guard = None;
            !already
        }
        Change::Forward(inst, arg) => match f.insts[inst].results[..] {
            [result] => replace(f, result, arg),
            _ => false,
        },
        Change::First(block, number) => {
            let mut arguments = f.layout.iter().flat_map(|&from| {
                let edges = f.blocks[from].terminator.edges();
                let to: Vec<Value> = edges
                    .iter()
                    .filter(|e| e.block == block)
                    .filter_map(|e| e.args.get(number).copied())
                    .collect();
                to
            });
            match (arguments.next(), f.blocks[block].params.get(number)) {
                (Some(first), Some(&param)) if first != param => {
                    replace(f, param, first);
                    drop_parameter(f, block, number)
                }
                _ => false,
            }
        }
        Change::Parameter(block, number) => {
            let Some(&param) = f.blocks[block].params.get(number) else {
                return false;
            };
            let ty = f.ty(param);
            if matches!(ty, Type::Ptr(_) | Type::Handle | Type::Opaque) {
                return false;
            }
            let value = constant(f, ty, 0);
            replace(f, param, value);
            drop_parameter(f, block, number)
        }
        Change::Join(block) => {
            let mut before = f.layout.iter().copied().filter(|&from| {
                f.blocks[from]
                    .terminator
                    .edges()
                    .iter()
                    .any(|e| e.block == block)
            });
            let (Some(from), None) = (before.next(), before.next()) else {
                return false;
            };
            let Terminator::Jump(edge) = f.blocks[from].terminator.clone() else {
                return false;
            };
            let data = f.blocks[block].clone();
            for (&param, &arg) in data.params.iter().zip(&edge.args) {
                replace(f, param, arg);
            }
            let terminator = f.blocks[block].terminator.clone();
            let from = &mut f.blocks[from];
            from.insts.extend(data.insts);
            from.terminator = terminator;
            from.branch = data.branch;
            f.layout.retain(|&b| b != block);
            true
        }
        Change::Skip(block) => {
            let data = &f.blocks[block];
            if !data.insts.is_empty() || !data.params.is_empty() {
                return false;
            }
            let Terminator::Jump(next) = data.terminator.clone() else {
                return false;
            };
            if next.block == block {
                return false;
            }
            let layout = f.layout.clone();
            for from in layout {
                for edge in f.blocks[from].terminator.edges_mut() {
                    if edge.block == block {
                        *edge = Edge {
                            block: next.block,
                            args: next.args.clone(),
                        };
                    }
                }
            }
            true
        }
    }
}

/// A constant of the entry.
fn constant(f: &mut Function, ty: Type, bits: u64) -> Value {
    let inst = f.insts.push(InstData {
        op: Op::Const(bits),
        args: Default::default(),
        results: Default::default(),
        guard: None,
        loc: Loc::NONE,
    });
    let value = f.values.push(ValueData {
        ty,
        def: ValueDef::Result(inst, 0),
    });
    f.insts[inst].results.push(value);
    let entry = f.entry();
    f.blocks[entry].insts.insert(0, inst);
    value
}

fn replace(f: &mut Function, from: Value, to: Value) -> bool {
    let mut changed = false;
    let mut put = |value: &mut Value| {
        if *value == from {
            *value = to;
            changed = true;
        }
    };
    let layout = f.layout.clone();
    for block in layout {
        let insts = f.blocks[block].insts.clone();
        for inst in insts {
            let data = &mut f.insts[inst];
            data.args.iter_mut().for_each(&mut put);
            if let Some(guard) = &mut data.guard {
                put(&mut guard.value);
            }
        }
        let terminator = &mut f.blocks[block].terminator;
        match terminator {
            Terminator::Branch { condition, .. } => put(condition),
            Terminator::Switch { value, .. } => put(value),
            Terminator::Return(values) => values.iter_mut().for_each(&mut put),
            _ => {}
        }
        for edge in terminator.edges_mut() {
            edge.args.iter_mut().for_each(&mut put);
        }
    }
    for binding in &mut f.bindings {
        binding.values.iter_mut().for_each(&mut put);
    }
    changed
}

fn drop_parameter(f: &mut Function, block: Block, number: usize) -> bool {
    f.blocks[block].params.remove(number);
    let params = f.blocks[block].params.clone();
    for (at, &param) in params.iter().enumerate() {
        f.values[param].def = ValueDef::Param(block, at as u32);
    }
    let layout = f.layout.clone();
    for from in layout {
        for edge in f.blocks[from].terminator.edges_mut() {
            if edge.block == block {
                edge.args.remove(number);
            }
        }
    }
    true
}

/// Drops blocks that cannot be reached, and uses of them.
fn tidy(f: &mut Function) {
    let flow = ir::cfg::ControlFlow::new(f);
    f.layout.retain(|&b| flow.is_reachable(b));
    let defined = f.definition_blocks();
    let known = |v: &Value| defined[*v].is_some();
    f.bindings
        .retain(|b| flow.is_reachable(b.block) && b.values.iter().all(known));
    f.loops.retain(|l| flow.is_reachable(l.header));
    f.vectors.retain(|v| v.iter().all(known));
}
