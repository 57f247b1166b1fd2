//! New values and instructions.

use ir::entity::Entity as _;
use ir::{Block, Function, Inst, InstData, Op, Type, Value, ValueData, ValueDef};

/// A new parameter of a block.
pub(crate) fn param(function: &mut Function, block: Block, ty: Type) -> Value {
    let number = function.blocks[block].params.len() as u32;
    let def = ValueDef::Param(block, number);
    let value = function.values.push(ValueData { ty, def });
    function.blocks[block].params.push(value);
    value
}

/// A new instruction with results of these types, in no block yet.
pub(crate) fn instruction(
    function: &mut Function,
    data: InstData,
    types: &[Type],
) -> (Inst, Vec<Value>) {
    let inst = Inst::new(function.insts.len());
    let results = (0..).zip(types).map(|(number, &ty)| {
        let def = ValueDef::Result(inst, number);
        function.values.push(ValueData { ty, def })
    });
    let results: Vec<Value> = results.collect();
    let results_of = results.iter().copied().collect();
    function.insts.push(InstData {
        results: results_of,
        ..data
    });
    (inst, results)
}

/// A new instruction with one result, in no block yet.
pub(crate) fn computed(
    function: &mut Function,
    op: Op,
    args: &[Value],
    ty: Type,
    loc: ir::Loc,
) -> (Inst, Value) {
    let data = InstData {
        op,
        args: args.iter().copied().collect(),
        results: Default::default(),
        guard: None,
        loc,
    };
    let (inst, results) = instruction(function, data, &[ty]);
    (inst, results[0])
}

/// Replaces a value by another in all operands of some blocks.
pub(crate) fn replace(
    function: &mut Function,
    blocks: &mut dyn Iterator<Item = Block>,
    to: &dyn Fn(Value) -> Value,
) {
    for block in blocks {
        for inst in function.blocks[block].insts.clone() {
            let operands = function.insts[inst].operands_mut();
            operands.for_each(|arg| *arg = to(*arg));
        }
        let terminator = &mut function.blocks[block].terminator;
        terminator
            .reads_mut()
            .iter_mut()
            .for_each(|arg| *arg = to(*arg));
        for edge in terminator.edges_mut() {
            edge.args.iter_mut().for_each(|arg| *arg = to(*arg));
        }
    }
}

/// Takes away the instructions whose results nothing needs.
pub(crate) fn unneeded(function: &mut Function) {
    let found = crate::select::needed(function);
    for block in function.layout.clone() {
        let insts = std::mem::take(&mut function.blocks[block].insts);
        let kept = insts.into_iter().filter(|&inst| {
            let data = &function.insts[inst];
            data.op.has_effect() || data.results.iter().any(|result| found.contains(result))
        });
        let kept: Vec<Inst> = kept.collect();
        function.blocks[block].insts = kept;
    }
}
