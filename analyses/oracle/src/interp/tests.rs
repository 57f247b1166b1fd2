use super::*;
use crate::random::{self, Flavour, Shape};
use ir::builder::FunctionBuilder;
use ir::*;

mod against_lanes_apart;
mod control;
mod histories;
mod memory_faults;
mod paper_programs;
mod person;
mod spaces;
mod stages;
mod strange_launches;
mod warps;
mod witnesses;
mod workgroups;

/// A verified module of one kernel.
fn kernel(build: impl FnOnce(&mut FunctionBuilder)) -> Module {
    let mut b = FunctionBuilder::new("k", FunctionKind::Kernel, Language::Text);
    build(&mut b);
    module([b.finish()])
}

fn module(functions: impl IntoIterator<Item = Function>) -> Module {
    let module = Module {
        functions: functions.into_iter().collect(),
    };
    assert_eq!(verify_module(&module), Ok(()));
    module
}

/// Runs a kernel that returns the values of `build`; returns the columns of a run with `lanes` lanes.
fn returned<const N: usize>(
    lanes: u32,
    build: impl FnOnce(&mut FunctionBuilder) -> [Value; N],
) -> Vec<Vec<u64>> {
    let module = kernel(|b| returns(b, build));
    let outcome = run(&module, &Launch::new(lanes));
    assert_eq!(outcome.error, None);
    outcome.returned
}

fn returns<const N: usize>(
    b: &mut FunctionBuilder,
    build: impl FnOnce(&mut FunctionBuilder) -> [Value; N],
) {
    let values = build(b);
    b.function.returns = values.iter().map(|&v| b.function.ty(v)).collect();
    b.ret(values);
}

fn tid(b: &mut FunctionBuilder) -> Value {
    b.special(Special::ThreadId(0), Type::I32)
}

fn less(b: &mut FunctionBuilder, x: Value, y: Value) -> Value {
    b.int_compare(IntCondition::LessSigned, x, y)
}

fn add(b: &mut FunctionBuilder, x: Value, y: Value) -> Value {
    b.binary(BinaryOp::Add, Wrap::MAY, x, y)
}

/// `base + size * index`.
fn element(b: &mut FunctionBuilder, base: Value, index: Value, size: i64) -> Value {
    let wide = b.convert(Convert::SignExtend, index, Type::I64);
    let size = b.int(Type::I64, size);
    let offset = b.binary(BinaryOp::Mul, Wrap::MAY, wide, size);
    b.ptr_add(base, offset)
}

fn shared(b: &mut FunctionBuilder, name: &str, size: u32) -> Value {
    let symbol = b.symbol(SymbolData {
        name: name.into(),
        space: Space::Shared,
        kind: SymbolKind::Memory,
        size: Some(size),
        align: 4,
        read_only: false,
        initial: None,
        resource_array: None,
        definition: Default::default(),
    });
    b.symbol_address(symbol)
}

const GLOBAL: MemoryAccess = MemoryAccess::in_space(Space::Global);
const SHARED: MemoryAccess = MemoryAccess::in_space(Space::Shared);
const LOCAL: MemoryAccess = MemoryAccess::in_space(Space::Local);
