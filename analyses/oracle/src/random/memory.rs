//! The regions that random programs access. Sizes in bytes, powers of two.

use super::emit::{Emitter, full};
use ir::entity::{Symbol, Value};
use ir::function::{SymbolData, SymbolKind};
use ir::inst::*;
use ir::types::{Space, Type};

/// A read-only table, and the exchange area's part that everybody reads.
pub const TABLE: u32 = 256;
/// The number of bytes that a lane may write.
pub const SLICE: u32 = 64;
/// Words touched by atomics only.
pub const COUNTERS: u32 = 64;

/// Addresses computed in the entry; all dominate the body.
#[derive(Clone, Debug, Default)]
pub(super) struct Regions {
    /// `TABLE` bytes, never written: the address and whether an access may say `read_only`.
    pub(super) tables: Vec<(Value, Space)>,
    /// `SLICE` bytes of this lane in device memory.
    pub(super) own: Option<Value>,
    /// `SLICE` bytes of this lane elsewhere.
    pub(super) slices: Vec<(Value, Space)>,
    /// `COUNTERS` bytes.
    pub(super) counters: Vec<(Value, Space)>,
    /// Written before the barrier of the entry, read after it; bytes (a power of two).
    pub(super) exchanged: Option<(Value, u32)>,
    /// This lane's word of it.
    pub(super) exchange_own: Option<Value>,
}

pub(super) fn slice(e: &mut Emitter<'_>, base: Value, number: Value) -> Value {
    let number = e.b.convert(Convert::ZeroExtend, number, Type::I64);
    let size = e.b.int(Type::I64, i64::from(SLICE));
    let offset = e.b.binary(BinaryOp::Mul, Wrap::MAY, number, size);
    e.b.ptr_add(base, offset)
}

fn memory_symbol(e: &mut Emitter<'_>, name: &str, space: Space, size: u32) -> Value {
    let symbol: Symbol = e.b.symbol(SymbolData {
        name: name.into(),
        space,
        kind: SymbolKind::Memory,
        size: Some(size),
        align: 16,
        read_only: space == Space::Constant,
        initial: (space == Space::Constant).then(|| {
            (0..size)
                .map(|at| (at.wrapping_mul(37) ^ (at >> 3)) as u8)
                .collect()
        }),
        resource_array: None,
        definition: Default::default(),
    });
    e.b.symbol_address(symbol)
}

pub(super) fn kernel_regions(
    e: &mut Emitter<'_>,
    data: Value,
    out: Value,
    linear: Value,
    global: Value,
) {
    e.memory.own = Some(slice(e, out, global));
    if e.shape.memory {
        e.memory.tables.push((data, Space::Global));
        callee_regions(e);
        let threads = e.threads;
        let base = memory_symbol(e, "scratch", Space::Shared, SLICE * threads);
        let own = slice(e, base, linear);
        e.memory.slices.push((own, Space::Shared));
        let local = e.b.alloca(SLICE, 16);
        e.memory.slices.push((local, Space::Local));
        clear(e, own, Space::Shared);
        clear(e, local, Space::Local);
    }
    if e.shape.atomics {
        let global = memory_symbol(e, "counters", Space::Global, COUNTERS);
        e.memory.counters.push((global, Space::Global));
        let shared = memory_symbol(e, "tallies", Space::Shared, COUNTERS);
        e.memory.counters.push((shared, Space::Shared));
    }
    if e.shape.exchange && e.shape.memory {
        // Each lane writes one word; rounded up to a power of two so that indices can be masked.
        let words = e.threads.next_power_of_two();
        let base = memory_symbol(e, "exchange", Space::Shared, words * 4);
        let index = e.b.convert(Convert::ZeroExtend, linear, Type::I64);
        let four = e.b.int(Type::I64, 4);
        let offset = e.b.binary(BinaryOp::Mul, Wrap::MAY, index, four);
        let address = e.b.ptr_add(base, offset);
        let value = e.any(Type::I32);
        let access = MemoryAccess::in_space(Space::Shared);
        e.b.store(access, address, &[value]);
        e.b.inst(Op::Barrier(Barrier::Workgroup), &[], &[]);
        e.memory.exchanged = Some((base, words * 4));
        e.memory.exchange_own = Some(address);
    }
}

/// Writes an exchange: between two barriers that all lanes of the workgroup come to, each lane writes its
/// word anew; afterwards all lanes read one word, and each reads a word of its choice.
pub(super) fn exchange_again(e: &mut Emitter<'_>) {
    let (Some((base, size)), Some(own)) = (e.memory.exchanged, e.memory.exchange_own) else {
        e.b.inst(Op::Barrier(Barrier::Workgroup), &[], &[]);
        return;
    };
    e.step();
    e.b.inst(Op::Barrier(Barrier::Workgroup), &[], &[]);
    let value = if e.random.percent(30) {
        e.shared_value()
    } else {
        e.any(Type::I32)
    };
    let access = MemoryAccess::in_space(Space::Shared);
    let guard = e.guard();
    e.b.guarded(Op::Store(access), &[own, value], &[], guard);
    e.step();
    e.b.inst(Op::Barrier(Barrier::Workgroup), &[], &[]);
    let number = e.shared_value();
    let mask = e.b.int(Type::I32, i64::from(size / 4) - 1);
    let number = e.b.binary(BinaryOp::And, Wrap::MAY, number, mask);
    let number = e.b.convert(Convert::ZeroExtend, number, Type::I64);
    let four = e.b.int(Type::I64, 4);
    let offset = e.b.binary(BinaryOp::Mul, Wrap::MAY, number, four);
    let found = e.b.ptr_add(base, offset);
    let word = e.b.load(access, found, Type::I32);
    e.add(word, full(Type::I32));
    e.shared_by_all.push(word);
    let place = address(e, base, size, 4);
    let other = e.b.load(access, place, Type::I32);
    e.add(other, full(Type::I32));
}

pub(super) fn callee_regions(e: &mut Emitter<'_>) {
    let table = memory_symbol(e, "table", Space::Constant, TABLE);
    e.memory.tables.push((table, Space::Constant));
}

/// A lane's slice starts as zeros, whatever the earlier contents.
fn clear(e: &mut Emitter<'_>, slice: Value, space: Space) {
    let zero = e.b.int(Type::I32, 0);
    for word in (0..SLICE).step_by(16) {
        let offset = e.b.int(Type::I64, i64::from(word));
        let address = e.b.ptr_add(slice, offset);
        let access = MemoryAccess::in_space(space);
        e.b.store(access, address, &[zero; 4]);
    }
}

/// An address of `bytes` bytes within a region of `size`, aligned to `bytes`.
pub(super) fn address(e: &mut Emitter<'_>, base: Value, size: u32, bytes: u32) -> Value {
    let count = i64::from(size / bytes);
    let offset = if e.random.percent(15) {
        let number = e.random.between(0, count - 1);
        e.b.int(Type::I64, number * i64::from(bytes))
    } else {
        let index = e.entry_of(Type::I32);
        let (low, high) = index.range;
        let mut value = index.value;
        if low < 0 || high >= count {
            let mask = e.b.int(Type::I32, count - 1);
            value = e.b.binary(BinaryOp::And, Wrap::MAY, value, mask);
        }
        let kind = if e.random.percent(50) {
            Convert::ZeroExtend
        } else {
            Convert::SignExtend
        };
        let value = e.b.convert(kind, value, Type::I64);
        let scale = e.b.int(Type::I64, i64::from(bytes));
        let wrap = if e.shape.wrap_flags && e.random.percent(50) {
            Wrap::NO_SIGNED
        } else {
            Wrap::MAY
        };
        e.b.binary(BinaryOp::Mul, wrap, value, scale)
    };
    e.b.ptr_add(base, offset)
}

/// Sometimes the address as one of the generic space.
fn through(e: &mut Emitter<'_>, address: Value, access: &mut MemoryAccess) -> Value {
    if e.random.percent(10) && access.space != Space::Constant {
        access.space = Space::Generic;
        e.b.convert(Convert::SpaceCast, address, Type::Ptr(Space::Generic))
    } else {
        address
    }
}

/// One to four elements of one type from anything that can be read.
pub(super) fn load(e: &mut Emitter<'_>) {
    let mut places: Vec<(Value, Space, u32, bool)> = Vec::new();
    for &(base, space) in &e.memory.tables {
        places.push((base, space, TABLE, true));
        places.push((base, space, TABLE, true));
    }
    for &(base, space) in &e.memory.slices {
        places.push((base, space, SLICE, false));
    }
    if let Some(own) = e.memory.own {
        places.push((own, Space::Global, SLICE, false));
    }
    if let Some((base, size)) = e.memory.exchanged {
        places.push((base, Space::Shared, size, false));
    }
    if places.is_empty() {
        return;
    }
    let (base, space, size, read_only) = *e.random.pick(&places);
    let mut ty = e.stored_type();
    if ty.bytes() > size {
        ty = Type::I32;
    }
    let most = (size / ty.bytes()).clamp(1, 4).ilog2();
    let count = 1u32 << e.random.below(most + 1);
    let place = address(e, base, size, ty.bytes() * count);
    let mut access = MemoryAccess::in_space(space);
    access.read_only = read_only && (space == Space::Constant || e.random.percent(60));
    let place = through(e, place, &mut access);
    let guard = e.guard();
    let types = vec![ty; count as usize];
    let inst = e.b.guarded(Op::Load(access), &[place], &types, guard);
    let loaded: Vec<Value> = e.b.results(inst).to_vec();
    let results: Vec<Value> = loaded
        .into_iter()
        .map(|value| e.where_guarded(guard, value, ty))
        .collect();
    e.b.vector(&results);
    for value in results {
        e.add(value, full(ty));
    }
}

/// A store to a slice of this lane.
pub(super) fn store(e: &mut Emitter<'_>) {
    let mut places = e.memory.slices.clone();
    if let Some(own) = e.memory.own {
        places.push((own, Space::Global));
    }
    if places.is_empty() {
        return;
    }
    let (base, space) = *e.random.pick(&places);
    let ty = e.stored_type();
    let count = 1u32 << e.random.below(3);
    let place = address(e, base, SLICE, ty.bytes() * count);
    let mut access = MemoryAccess::in_space(space);
    let place = through(e, place, &mut access);
    let mut args = vec![place];
    for _ in 0..count {
        args.push(e.any(ty));
    }
    let guard = e.guard();
    e.b.guarded(Op::Store(access), &args, &[], guard);
}

pub(super) fn atomic(e: &mut Emitter<'_>) {
    if e.memory.counters.is_empty() {
        return;
    }
    let counters = e.memory.counters.clone();
    let (base, space) = *e.random.pick(&counters);
    let op = *e.random.pick(&[
        AtomicOp::Add,
        AtomicOp::Sub,
        AtomicOp::MinSigned,
        AtomicOp::MaxSigned,
        AtomicOp::MinUnsigned,
        AtomicOp::MaxUnsigned,
        AtomicOp::And,
        AtomicOp::Or,
        AtomicOp::Xor,
        AtomicOp::Exchange,
        AtomicOp::CompareExchange,
        AtomicOp::IncrementWrap,
        AtomicOp::DecrementWrap,
    ]);
    // The first half holds words, the second long words, so that no access is half of another.
    let wide = e.types.contains(&Type::I64) && e.random.percent(30);
    let ty = if wide { Type::I64 } else { Type::I32 };
    let mut base = base;
    if wide {
        let half = e.b.int(Type::I64, i64::from(COUNTERS / 2));
        base = e.b.ptr_add(base, half);
    }
    let place = address(e, base, COUNTERS / 2, ty.bytes());
    let mut args = vec![place, e.any(ty)];
    if op == AtomicOp::CompareExchange {
        args.push(e.any(ty));
    }
    let access = MemoryAccess::in_space(space);
    let guard = e.guard();
    if e.random.percent(25) {
        e.b.guarded(Op::Atomic(op, access), &args, &[], guard);
        return;
    }
    let inst = e.b.guarded(Op::Atomic(op, access), &args, &[ty], guard);
    let old = e.b.results(inst)[0];
    let value = e.where_guarded(guard, old, ty);
    e.add(value, full(ty));
}
