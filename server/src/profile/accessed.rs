//! The use that a function makes of each of its buffers, by the loads and stores that reach them: the types
//! that lie there, and how far they go on a described grid.
//!
//! An address is followed through pointer arithmetic to the parameter or symbol that it starts at. Offsets are bounded by
//! interval arithmetic over thread coordinates, constants and described values; an offset that holds anything else (a
//! loop's counter, a loaded index) has no bound and is left out.

use ir::{BinaryOp, Function, Op, Special, SymbolKind, Type, Value, ValueDef, VariableKind};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Arithmetic that is followed for one offset.
const DEEPEST: u32 = 64;
/// The bytes of the largest structure whose members are distinguished.
const LARGEST_RECORD: i64 = 256;

/// Loads and stores of one buffer.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Accessed {
    /// The constant part of the offset, the type, and the number that the rest is a multiple of (0: there is no rest).
    places: Vec<(i64, Type, i64)>,
    /// The end of the accessed part, in bytes, as far as it is known.
    pub end: u64,
}

impl Accessed {
    /// The only type that lies there.
    pub fn element(&self) -> Option<Type> {
        let (_, first, _) = *self.places.first()?;
        self.places
            .iter()
            .all(|&(_, ty, _)| ty == first)
            .then_some(first)
    }

    /// The members of a structure of several types; empty where it is none, or its parts overlap. Members
    /// that are not read or written count as integers.
    pub fn record(&self) -> Vec<Type> {
        if self.element().is_some() {
            return Vec::new();
        }
        let period = self.places.iter().fold(0, |sum, &(_, _, of)| gcd(sum, of));
        if !(1..=LARGEST_RECORD).contains(&period) {
            return Vec::new();
        }
        let mut members: BTreeMap<i64, Type> = BTreeMap::new();
        for &(offset, ty, _) in &self.places {
            if *members.entry(offset.rem_euclid(period)).or_insert(ty) != ty {
                return Vec::new();
            }
        }
        let mut record = Vec::new();
        let mut at = 0;
        for (offset, ty) in members {
            if offset < at {
                return Vec::new();
            }
            fill(&mut record, &mut at, offset);
            record.push(ty);
            at += i64::from(ty.bytes().max(1));
        }
        if at > period {
            return Vec::new();
        }
        fill(&mut record, &mut at, period);
        record
    }
}

/// Words, then bytes, up to `end`.
fn fill(record: &mut Vec<Type>, at: &mut i64, end: i64) {
    while *at < end {
        let (ty, size) = match *at % 4 == 0 && *at + 4 <= end {
            true => (Type::I32, 4),
            false => (Type::I8, 1),
        };
        record.push(ty);
        *at += size;
    }
}

/// The grid and the values that offsets are computed from.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ranges {
    pub block: [u32; 3],
    pub grid: [u32; 3],
    /// The values of parameters, members of constant buffers and the host's constants, by name.
    pub values: BTreeMap<String, i64>,
}

/// The buffers of a function by name, of parameters and of symbols.
pub fn accessed(function: &Function, ranges: &Ranges) -> BTreeMap<String, Accessed> {
    let mut found: BTreeMap<String, Accessed> = BTreeMap::new();
    let mut walk = Walk {
        function,
        ranges,
        known: FxHashMap::default(),
    };
    for &block in &function.layout {
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            let (address, types): (Value, Vec<Type>) = match (&data.op, data.args.as_slice()) {
                (Op::Load(_), [address, ..]) => {
                    let types = data.results.iter().map(|&v| function.ty(v)).collect();
                    (*address, types)
                }
                (Op::Store(_), [address, values @ ..]) => {
                    let types = values.iter().map(|&v| function.ty(v)).collect();
                    (*address, types)
                }
                (Op::Atomic(..), [address, operand, ..]) => (*address, vec![function.ty(*operand)]),
                (Op::Atomic(..), [address]) => (*address, vec![Type::I32]),
                _ => continue,
            };
            let Some((name, constant, of, most)) = walk.address(address) else {
                continue;
            };
            let entry = found.entry(name).or_default();
            let mut at = constant;
            let mut size = 0;
            for ty in types {
                if !entry.places.contains(&(at, ty, of)) {
                    entry.places.push((at, ty, of));
                }
                at += i64::from(ty.bytes());
                size += u64::from(ty.bytes());
            }
            if let Some(most) = most.and_then(|most| u64::try_from(most).ok()) {
                entry.end = entry.end.max(most.saturating_add(size));
            }
        }
    }
    found
}

struct Walk<'a> {
    function: &'a Function,
    ranges: &'a Ranges,
    known: FxHashMap<Value, Option<(i64, i64)>>,
}

impl Walk<'_> {
    /// The name of the buffer, the constant part of the offset, the divisor of the rest, and the largest
    /// offset.
    fn address(&mut self, address: Value) -> Option<(String, i64, i64, Option<i64>)> {
        let (mut at, mut constant, mut of, mut most) = (address, 0i64, 0i64, Some(0i64));
        for _ in 0..DEEPEST {
            let Some(data) = self.function.defining(at) else {
                let parameter = self
                    .function
                    .parameters
                    .iter()
                    .find(|parameter| parameter.values.contains(&at))?;
                return Some((parameter.name.to_string(), constant, of, most));
            };
            match (&data.op, data.args.as_slice()) {
                (Op::SymbolAddress(symbol), _) => {
                    let symbol = &self.function.symbols[*symbol];
                    let named = matches!(symbol.kind, SymbolKind::Memory | SymbolKind::Buffer);
                    return named.then(|| (symbol.name.to_string(), constant, of, most));
                }
                (Op::PtrAdd, [from, by]) => {
                    let (part, rest) = self.multiple(*by, 0);
                    constant = constant.checked_add(part)?;
                    of = gcd(of, rest);
                    most = match (most, self.range(*by, 0)) {
                        (Some(most), Some((_, high))) => most.checked_add(high),
                        _ => None,
                    };
                    at = *from;
                }
                (Op::Convert(_), [from]) => at = *from,
                _ => return None,
            }
        }
        None
    }

    /// A value as a constant and a multiple of a number (0: the constant alone).
    fn multiple(&self, value: Value, depth: u32) -> (i64, i64) {
        const ANY: (i64, i64) = (0, 1);
        if let Some(constant) = self.function.int_constant(value) {
            return (constant, 0);
        }
        let Some(data) = self.function.defining(value).filter(|_| depth < DEEPEST) else {
            return ANY;
        };
        let operand = |at: usize| match data.args.get(at) {
            Some(&arg) => self.multiple(arg, depth + 1),
            None => ANY,
        };
        match data.op {
            Op::Convert(_) => operand(0),
            Op::Binary(BinaryOp::Add, _) => {
                let ((a, p), (b, q)) = (operand(0), operand(1));
                (a.wrapping_add(b), gcd(p, q))
            }
            Op::Binary(BinaryOp::Mul, _) => match (operand(0), operand(1)) {
                ((a, p), (b, 0)) | ((b, 0), (a, p)) => (a.wrapping_mul(b), p.wrapping_mul(b)),
                _ => ANY,
            },
            Op::Binary(BinaryOp::Shl, _) => match (operand(0), operand(1)) {
                ((a, p), (by @ 0..=31, 0)) => (a << by, p << by),
                _ => ANY,
            },
            _ => ANY,
        }
    }

    /// The smallest and the largest value that is possible on the grid.
    fn range(&mut self, value: Value, depth: u32) -> Option<(i64, i64)> {
        if let Some(&known) = self.known.get(&value) {
            return known;
        }
        let found = (depth < DEEPEST)
            .then(|| self.computed(value, depth))
            .flatten();
        self.known.insert(value, found);
        found
    }

    fn computed(&mut self, value: Value, depth: u32) -> Option<(i64, i64)> {
        let function = self.function;
        if let Some(constant) = function.int_constant(value) {
            return Some((constant, constant));
        }
        let ValueDef::Result(inst, _) = function.values[value].def else {
            let parameter = function
                .parameters
                .iter()
                .find(|parameter| parameter.values.contains(&value))?;
            return self.given(&parameter.name);
        };
        let data = &function.insts[inst];
        let size = |sizes: [u32; 3], axis: u8| {
            let size = sizes.get(usize::from(axis)).copied()?;
            (size > 0).then_some(i64::from(size))
        };
        match &data.op {
            Op::Special(Special::ThreadId(axis)) => Some((0, size(self.ranges.block, *axis)? - 1)),
            Op::Special(Special::BlockId(axis)) => Some((0, size(self.ranges.grid, *axis)? - 1)),
            Op::Special(Special::BlockDim(axis)) => size(self.ranges.block, *axis).map(|n| (n, n)),
            Op::Special(Special::GridDim(axis)) => size(self.ranges.grid, *axis).map(|n| (n, n)),
            Op::Parameter(name) => self.given(name),
            Op::Load(_) => {
                let named = function
                    .bindings
                    .iter()
                    .find(|b| b.values.contains(&value))?;
                let variable = &function.variables[named.variable];
                (variable.kind == VariableKind::Global)
                    .then(|| self.given(&variable.name))
                    .flatten()
            }
            Op::Convert(_) => {
                let from = *data.args.first()?;
                let ty = function.ty(from);
                ty.is_integral()
                    .then(|| self.range(from, depth + 1))
                    .flatten()
            }
            Op::Binary(op, _) => {
                let (&[a, b], op) = (data.args.first_chunk::<2>()?, *op);
                let (a, b) = (self.range(a, depth + 1)?, self.range(b, depth + 1)?);
                combined(op, a, b)
            }
            _ => None,
        }
    }

    fn given(&self, name: &str) -> Option<(i64, i64)> {
        self.ranges.values.get(name).map(|&number| (number, number))
    }
}

/// Interval arithmetic; `None` where numbers leave 64 bits.
fn combined(op: BinaryOp, a: (i64, i64), b: (i64, i64)) -> Option<(i64, i64)> {
    match op {
        BinaryOp::Add => Some((a.0.checked_add(b.0)?, a.1.checked_add(b.1)?)),
        BinaryOp::Sub => Some((a.0.checked_sub(b.1)?, a.1.checked_sub(b.0)?)),
        BinaryOp::Mul => {
            let mut all = [0; 4];
            for (place, (x, y)) in
                all.iter_mut()
                    .zip([(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)])
            {
                *place = x.checked_mul(y)?;
            }
            Some((*all.iter().min()?, *all.iter().max()?))
        }
        BinaryOp::Shl if b.0 == b.1 && (0..=31).contains(&b.0) => {
            combined(BinaryOp::Mul, a, (1 << b.0, 1 << b.0))
        }
        // Of what is not negative: no more than each of them.
        BinaryOp::And if a.0 >= 0 && b.0 >= 0 => Some((0, a.1.min(b.1))),
        BinaryOp::DivUnsigned | BinaryOp::DivSigned if a.0 >= 0 && b.0 == b.1 && b.0 > 0 => {
            Some((a.0 / b.0, a.1 / b.0))
        }
        BinaryOp::RemUnsigned | BinaryOp::RemSigned if a.0 >= 0 && b.0 == b.1 && b.0 > 0 => {
            Some((0, a.1.min(b.0 - 1)))
        }
        _ => None,
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(1)
}
