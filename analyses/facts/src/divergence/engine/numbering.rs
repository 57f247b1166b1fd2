//! Pure operations of the same operands are one value: a table of values by operation and operands' leaders.
//! It holds values alone; their operations are read from the function.

use super::tables::NONE;
use ir::{
    BinaryOp, Convert, EntityVec, Function, InstData, IntCondition, Op, Space, Type, UnaryOp,
    Value, ValueDef,
};
use rustc_hash::FxHasher;
use smol_str::SmolStr;
use std::hash::{Hash, Hasher};

/// Operations with equal keys and operands give equal values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Key<'f> {
    Const(u64),
    Parameter(&'f SmolStr),
    Symbol(u32),
    Unary(UnaryOp),
    Binary(BinaryOp),
    Compare(IntCondition),
    Convert(Convert),
    PtrAdd,
    Select,
    Load(Space),
    Element,
}

fn key(op: &Op) -> Option<Key<'_>> {
    Some(match op {
        Op::Const(bits) => Key::Const(*bits),
        // Those without a name may be different ones.
        Op::Parameter(name) if !name.is_empty() => Key::Parameter(name),
        Op::SymbolAddress(symbol) => Key::Symbol(symbol.0),
        Op::Unary(op) => Key::Unary(*op),
        Op::Binary(op, _) => Key::Binary(*op),
        Op::IntCompare(condition) => Key::Compare(*condition),
        Op::Convert(kind) => Key::Convert(*kind),
        Op::PtrAdd => Key::PtrAdd,
        Op::Select => Key::Select,
        Op::Load(access) if access.read_only && !access.volatile => Key::Load(access.space),
        Op::ResourceElement { .. } => Key::Element,
        _ => return None,
    })
}

#[derive(Clone, Debug)]
pub(super) struct Numbering {
    /// Hash and value; open addressing, a power of two, never full.
    slots: Vec<(u32, u32)>,
}

impl Numbering {
    pub(super) fn new(results: usize) -> Numbering {
        let size = (results + results / 2 + 8).next_power_of_two();
        Numbering {
            slots: vec![(0, NONE); size],
        }
    }

    /// The place of a result: of an equal one, or where it is to be put. `None` for operations that are not numbered,
    /// and when the table is full, as instructions with several results may make it.
    pub(super) fn find(
        &mut self,
        function: &Function,
        data: &InstData,
        number: usize,
        leader: &EntityVec<Value, Value>,
    ) -> Option<usize> {
        let key = key(&data.op)?;
        let ty = function.ty(data.results[number]);
        let mut hasher = FxHasher::default();
        key.hash(&mut hasher);
        (ty, number as u32).hash(&mut hasher);
        for &arg in &data.args {
            hasher.write_u32(leader[arg].0);
        }
        let hash = hasher.finish();
        let short = (hash >> 32) as u32;
        let mask = self.slots.len() - 1;
        let mut at = (hash ^ (hash >> 29)) as usize & mask;
        for _ in 0..mask {
            let (there, value) = self.slots[at];
            if value == NONE {
                self.slots[at].0 = short;
                return Some(at);
            }
            if there == short && same(function, Value(value), key, data, ty, number, leader) {
                return Some(at);
            }
            at = (at + 1) & mask;
        }
        None
    }
    pub(super) fn value(&self, slot: usize) -> Option<Value> {
        let value = self.slots[slot].1;
        (value != NONE).then_some(Value(value))
    }
    pub(super) fn set(&mut self, slot: usize, value: Value) {
        self.slots[slot].1 = value.0;
    }
}

fn same(
    function: &Function,
    known: Value,
    wanted: Key<'_>,
    data: &InstData,
    ty: Type,
    number: usize,
    leader: &EntityVec<Value, Value>,
) -> bool {
    let ValueDef::Result(inst, there) = function.values[known].def else {
        return false;
    };
    let other = &function.insts[inst];
    usize::from(there) == number
        && function.ty(known) == ty
        && key(&other.op) == Some(wanted)
        && other.args.len() == data.args.len()
        && other
            .args
            .iter()
            .zip(&data.args)
            .all(|(&a, &b)| leader[a] == leader[b])
}
