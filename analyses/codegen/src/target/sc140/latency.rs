//! The distances that dependences ask for, in sets: 0 for one set, 1 for the next, 2 for one between.
//!
//! ```text
//! move.l (sp-20),r0   then   move.w (r0),d1     2: a set stands between a move to a pointer and its use
//! move.l (sp-20),d0   then   add d0,d1,d2       1
//! add d0,d1,d2        then   move.w d3,(r0)     0, and also if the move writes d0: all read before any writes
//! ```
//!
//! A distance at which a source only guesses is kept to. Two pushes of one set move the stack pointer by as
//! much as one: who moves them keeps those of a set together.

use super::capacity::Capacity;
use isa::sc140::{
    Access, Address, Condition, Effects, File, Memory, ReadStage, Reg, Unit, WriteWay,
};

/// Sets between a write of the status and its use.
const STATUS_GAP: u32 = 2;

/// An instruction with what decides on its distances.
#[derive(Clone, Copy, Debug)]
pub struct Timed<'a> {
    pub effects: &'a Effects,
    pub unit: Option<Unit>,
    /// It executes under T, or its opposite.
    pub condition: Condition,
}

/// The code around two instructions, as far as it is known.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    pub capacity: &'a Capacity,
    /// A modifier may be other than linear.
    pub modulo: bool,
    /// Returns true if nothing between the two, and not the first of them, writes the register.
    pub kept: &'a dyn Fn(Reg) -> bool,
}

impl std::fmt::Debug for Around<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Around({:?}, {})", self.capacity, self.modulo)
    }
}

/// The distance at which `to` must stand behind `from`, which executes in an earlier set as the program has it. `None`: they
/// may stand in any order.
#[must_use]
pub fn distance(from: Timed<'_>, to: Timed<'_>, around: Around<'_>) -> Option<u32> {
    let asked = [
        flow(from, to, around),
        output(from, to, around),
        is_read_before(from, to, around).then_some(0),
        memory(from.effects, to.effects, around),
        (from.effects.barrier || to.effects.barrier).then_some(1),
    ];
    asked.into_iter().flatten().max()
}

/// The distance from what an instruction writes to those who read it.
fn flow(from: Timed<'_>, to: Timed<'_>, around: Around<'_>) -> Option<u32> {
    let address = 1 + around.capacity.address_gap as u32;
    let truth = 1 + around.capacity.truth_gap as u32;
    let mut least: Option<u32> = None;
    let mut ask = |sets: u32| least = least.max(Some(sets));
    for write in &from.effects.writes {
        for read in &to.effects.reads {
            if !write.register.overlaps(read.register) {
                continue;
            }
            ask(match read.stage {
                ReadStage::Address if write.way == WriteWay::Bus => address,
                ReadStage::Address if read.register == Reg::TRUTH => truth,
                _ => 1,
            });
        }
        if reads_buffer(to.effects, write.register, around.modulo) {
            ask(address);
        }
        if write.register.overlaps(Reg::TRUTH) && to.condition != Condition::Always {
            ask(match to.unit {
                Some(Unit::Data) | None => 1,
                Some(_) => truth,
            });
        }
        let status = matches!(write.register, Reg::SR | Reg::EMR);
        if status && write.way == WriteWay::Bus && uses_status(to) {
            ask(1 + STATUS_GAP);
        }
    }
    least
}

/// The distance of two that write one register. The address units write theirs a stage earlier than a move does.
fn output(from: Timed<'_>, to: Timed<'_>, around: Around<'_>) -> Option<u32> {
    let mut least: Option<u32> = None;
    for write in &from.effects.writes {
        for other in &to.effects.writes {
            let gathered = write.register == Reg::OVERFLOW && other.register == Reg::OVERFLOW;
            if !write.register.overlaps(other.register) || gathered {
                continue;
            }
            // The carry of the last one in the order of the text wins: one that always executes stands last.
            let in_order = write.register == Reg::CARRY
                && other.register == Reg::CARRY
                && (from.condition == to.condition || to.condition == Condition::Always);
            let never_both =
                from.condition.excludes(to.condition) || write.when.excludes(other.when);
            let overtakes = write.way == WriteWay::Bus && other.way == WriteWay::Address;
            least = least.max(Some(match () {
                () if overtakes => 1 + around.capacity.address_gap as u32,
                () => u32::from(!in_order && !never_both),
            }));
        }
    }
    least
}

/// Returns true if the first reads what the second writes: it stands in front of it or in its set, since all instructions of
/// a set read before any writes.
#[must_use]
pub fn is_read_before(from: Timed<'_>, to: Timed<'_>, around: Around<'_>) -> bool {
    let mut reads = from.effects.reads.iter();
    let mut writes = to.effects.writes.iter();
    reads.any(|read| to.effects.writes_to(read.register))
        || from.condition != Condition::Always && to.effects.writes_to(Reg::TRUTH)
        || writes.any(|write| reads_buffer(from.effects, write.register, around.modulo))
}

/// Returns true if the register is the length or the base of a buffer that an address of the instruction may be in.
fn reads_buffer(effects: &Effects, register: Reg, modulo: bool) -> bool {
    let mut modified = effects.modified.iter();
    modulo && modified.any(|base| register.file == File::Modifier || base.base() == Some(register))
}

/// Returns true if an instruction reads or writes a bit of the status.
fn uses_status(to: Timed<'_>) -> bool {
    let bits = [Reg::CARRY, Reg::TRUTH, Reg::OVERFLOW, Reg::SR, Reg::EMR];
    to.condition != Condition::Always
        || bits
            .iter()
            .any(|bit| to.effects.reads_from(*bit) || to.effects.writes_to(*bit))
}

/// The distance of two accesses to memory: a load may stand in the set of a store behind it, since it reads first.
#[must_use]
pub fn memory(from: &Effects, to: &Effects, around: Around<'_>) -> Option<u32> {
    let (first, second) = (from.memory?, to.memory?);
    let stores = |memory: Memory| memory.access != Access::Load;
    if !stores(first) && !stores(second) || apart(first, second, around) {
        return None;
    }
    Some(u32::from(stores(first)))
}

/// Returns true if the accesses never meet: both are at known distances from one register that keeps its value.
fn apart(first: Memory, second: Memory, around: Around<'_>) -> bool {
    let place = |memory: Memory| match memory.address? {
        Address::At { base, .. } => Some((Some(base), 0)),
        // A sum may wrap around in a buffer.
        Address::Displaced { base, .. } if around.modulo && base.base().is_some() => None,
        Address::Displaced { base, by } => Some((Some(base), by.value?)),
        Address::Absolute(number) => Some((None, number.value?)),
        Address::Indexed { .. } => None,
    };
    let (Some((base, start)), Some((other, begin))) = (place(first), place(second)) else {
        return false;
    };
    base == other
        && base.is_none_or(|base| (around.kept)(base))
        && (start + i64::from(first.bytes) <= begin || begin + i64::from(second.bytes) <= start)
}
