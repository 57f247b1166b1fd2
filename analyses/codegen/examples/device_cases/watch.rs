//! An observer that says why a run tells nothing about hardware: races, reads of memory that nobody wrote,
//! divisions by zero; and the types of the values stored at each place, so that bytes can be compared by
//! type.
//!
//! Two accesses of a byte by different threads race when one of them writes, not both are atomic, and no barrier of the
//! workgroup (or, within a warp, of the warp) lies between them.

use ir::{Barrier, BinaryOp, Block, Function, Inst, Module, Op, Space, Type, Value, ValueDef};
use oracle::interp::memory::{buffer_of, resolve_generic};
use oracle::interp::{AccessKind, Instance, Observer, lanes};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::collections::BTreeSet;

#[derive(Clone, Copy, PartialEq, Debug)]
struct Access {
    thread: u64,
    workgroup: u64,
    warp: u32,
    /// Barriers of the workgroup, and of the warp, that the warp has passed.
    epoch: u32,
    warp_epoch: u32,
    atomic: bool,
}

impl Access {
    fn unordered(&self, other: &Access) -> bool {
        if self.thread == other.thread || (self.atomic && other.atomic) {
            return false;
        }
        if self.workgroup != other.workgroup {
            return true;
        }
        self.epoch == other.epoch
            && (self.warp != other.warp || self.warp_epoch == other.warp_epoch)
    }
}

#[derive(Default, Debug)]
struct ByteHistory {
    written: Option<Access>,
    read: Vec<Access>,
}

/// The kind of a byte that a run stored: 0 for anything but a float.
pub(crate) fn code(ty: Type) -> u8 {
    match ty {
        Type::F16 => 1,
        Type::BF16 => 2,
        Type::F32 => 3,
        Type::F64 => 4,
        _ => 0,
    }
}

pub(crate) struct Watch<'m> {
    module: &'m Module,
    /// Values that integers are divided by.
    divisors: HashSet<(u32, Value)>,
    known_divisors: HashMap<(u64, u32, u32, Value), Vec<u64>>,
    bytes: HashMap<(Space, u64, u64), ByteHistory>,
    local: HashSet<(u64, u64)>,
    epochs: HashMap<(u64, u32), (u32, u32)>,
    /// The kind of the value stored last at each offset of a buffer.
    pub(crate) stored: HashMap<usize, HashMap<u64, u8>>,
    pub(crate) reasons: BTreeSet<&'static str>,
    /// A NaN was computed.
    pub(crate) not_a_number: bool,
    /// Lanes that were active together were asked for while other lanes of the warp were elsewhere: which lanes those are
    /// is the compiler's and the machine's choice.
    pub(crate) apart: bool,
    /// The blocks of each function where an undefined value decides on a way or an address.
    undefined: Vec<HashSet<Block>>,
}

impl<'m> Watch<'m> {
    pub(crate) fn new(module: &'m Module) -> Self {
        let mut divisors = HashSet::default();
        for (number, function) in (0..).zip(&module.functions) {
            for data in function.insts.values() {
                if divides(&data.op) {
                    divisors.insert((number, data.args[1]));
                }
            }
        }
        Watch {
            module,
            divisors,
            known_divisors: HashMap::default(),
            bytes: HashMap::default(),
            local: HashSet::default(),
            epochs: HashMap::default(),
            stored: HashMap::default(),
            reasons: BTreeSet::new(),
            not_a_number: false,
            apart: false,
            undefined: module.functions.iter().map(decided_by_nothing).collect(),
        }
    }
}

/// Blocks of a function where a value that depends on an undefined one is a condition, a guard or an address. A compiler
/// may take such a value for another one at each use.
fn decided_by_nothing(function: &Function) -> HashSet<Block> {
    let mut open: HashSet<Value> = HashSet::default();
    loop {
        let before = open.len();
        for &block in &function.layout {
            let data = &function.blocks[block];
            for &inst in &data.insts {
                let data = &function.insts[inst];
                if data.op == Op::Undef || data.args.iter().any(|arg| open.contains(arg)) {
                    open.extend(&data.results);
                }
            }
            for edge in data.terminator.edges() {
                let params = &function.blocks[edge.block].params;
                let passed = params.iter().zip(&edge.args);
                open.extend(
                    passed
                        .filter(|(_, arg)| open.contains(arg))
                        .map(|(p, _)| *p)
                        .collect::<Vec<_>>(),
                );
            }
        }
        if open.len() == before {
            break;
        }
    }
    let decides = |block: &Block| {
        let data = &function.blocks[*block];
        data.terminator
            .selector()
            .is_some_and(|value| open.contains(&value))
            || data.insts.iter().any(|&inst| {
                let data = &function.insts[inst];
                let addressed = matches!(data.op, Op::Load(_) | Op::Store(_) | Op::Atomic(..))
                    && data.args.first().is_some_and(|arg| open.contains(arg));
                addressed || data.guard.is_some_and(|guard| open.contains(&guard.value))
            })
    };
    function.layout.iter().copied().filter(decides).collect()
}

fn divides(op: &Op) -> bool {
    matches!(
        op,
        Op::Binary(
            BinaryOp::DivSigned
                | BinaryOp::DivUnsigned
                | BinaryOp::RemSigned
                | BinaryOp::RemUnsigned,
            _
        )
    )
}

fn is_nan(ty: Type, bits: u64) -> bool {
    match ty {
        Type::F16 => bits & 0x7fff > 0x7c00,
        Type::BF16 => bits & 0x7fff > 0x7f80,
        Type::F32 => f32::from_bits(bits as u32).is_nan(),
        Type::F64 => f64::from_bits(bits).is_nan(),
        _ => false,
    }
}

impl Observer for Watch<'_> {
    fn block(&mut self, instance: &Instance<'_>) {
        if self.undefined[instance.function as usize].contains(&instance.block) {
            self.reasons.insert("an undefined value decides");
        }
    }

    fn values(&mut self, instance: &Instance<'_>, value: Value, row: &[u64], mask: u64) {
        let function = &self.module.functions[instance.function as usize];
        let ty = function.ty(value);
        if ty.is_float() && !self.not_a_number {
            self.not_a_number = lanes(mask).any(|lane| is_nan(ty, row[lane as usize]));
        }
        let key = |value| {
            (
                instance.workgroup_index << 8 | u64::from(instance.warp),
                instance.depth,
                instance.function,
                value,
            )
        };
        if self.divisors.contains(&(instance.function, value)) {
            let known = self
                .known_divisors
                .entry(key(value))
                .or_insert_with(|| vec![1; row.len()]);
            for lane in lanes(mask) {
                known[lane as usize] = row[lane as usize];
            }
        }
        if let ValueDef::Result(inst, 0) = function.values[value].def {
            let data = &function.insts[inst];
            if let Op::Warp(op) = &data.op {
                self.apart |= !op.mask && mask != instance.live;
            }
            if divides(&data.op)
                && let Some(known) = self.known_divisors.get(&key(data.args[1]))
                && lanes(mask).any(|lane| known[lane as usize] == 0)
            {
                self.reasons.insert("division by zero");
            }
        }
    }

    fn memory(
        &mut self,
        instance: &Instance<'_>,
        inst: Inst,
        kind: AccessKind,
        addresses: &[u64],
        mask: u64,
    ) {
        let function = &self.module.functions[instance.function as usize];
        let data = &function.insts[inst];
        let (Op::Load(access) | Op::Store(access) | Op::Atomic(_, access)) = &data.op else {
            return;
        };
        let types: Vec<Type> = match kind {
            AccessKind::Load => data.results.iter().map(|&v| function.ty(v)).collect(),
            AccessKind::Store => data.args[1..].iter().map(|&v| function.ty(v)).collect(),
            AccessKind::Atomic => vec![function.ty(data.args[1])],
        };
        if kind != AccessKind::Load
            && types
                .iter()
                .any(|ty| matches!(ty, Type::Ptr(_) | Type::Handle | Type::Opaque))
        {
            self.reasons.insert("addresses are stored");
        }
        let (epoch, warp_epoch) = self
            .epochs
            .get(&(instance.workgroup_index, instance.warp))
            .copied()
            .unwrap_or_default();
        for lane in lanes(mask) {
            let address = addresses[lane as usize];
            let (resolved, plain) = resolve_generic(address);
            let space = match access.space {
                Space::Generic | Space::Constant => resolved,
                space => space,
            };
            let now = Access {
                thread: instance.first_thread + u64::from(lane),
                workgroup: instance.workgroup_index,
                warp: instance.warp,
                epoch,
                warp_epoch,
                atomic: kind == AccessKind::Atomic,
            };
            let mut at = plain;
            for &ty in &types {
                for byte in 0..u64::from(ty.bytes()) {
                    self.byte(space, at + byte, now, kind, access.volatile);
                    if kind != AccessKind::Load
                        && space == Space::Global
                        && let Some((buffer, offset)) = buffer_of(at + byte)
                    {
                        let place = self.stored.entry(buffer).or_default();
                        place.insert(offset, code(ty));
                    }
                }
                at += u64::from(ty.bytes());
            }
        }
    }

    fn barrier(&mut self, instance: &Instance<'_>, inst: Inst, _: u64) {
        let function = &self.module.functions[instance.function as usize];
        let epochs = self
            .epochs
            .entry((instance.workgroup_index, instance.warp))
            .or_default();
        match function.insts[inst].op {
            Op::Barrier(Barrier::Warp) => epochs.1 += 1,
            _ => *epochs = (epochs.0 + 1, epochs.1 + 1),
        }
    }
}

impl Watch<'_> {
    fn byte(&mut self, space: Space, address: u64, now: Access, kind: AccessKind, volatile: bool) {
        if space == Space::Local {
            match kind {
                AccessKind::Load if !self.local.contains(&(now.thread, address)) => {
                    self.reasons
                        .insert("private memory is read before it is written");
                }
                AccessKind::Load => {}
                _ => {
                    self.local.insert((now.thread, address));
                }
            }
            return;
        }
        let owner = if space == Space::Shared {
            now.workgroup
        } else {
            u64::MAX
        };
        let history = self.bytes.entry((space, owner, address)).or_default();
        let writes = kind != AccessKind::Load;
        let before = history.written.filter(|before| before.unordered(&now));
        let raced = before.is_some() || (writes && history.read.iter().any(|r| r.unordered(&now)));
        if raced {
            self.reasons.insert(if volatile {
                "race of volatile accesses"
            } else {
                "race"
            });
        }
        if kind != AccessKind::Store && space == Space::Shared && history.written.is_none() {
            self.reasons
                .insert("shared memory is read before it is written");
        }
        if writes {
            // Of atomics that meet plain accesses later, the last one stands for all.
            history.written = Some(now);
            history.read.retain(|read| read.epoch == now.epoch);
        }
        if kind == AccessKind::Load && !history.read.contains(&now) {
            history.read.push(now);
        }
    }
}
