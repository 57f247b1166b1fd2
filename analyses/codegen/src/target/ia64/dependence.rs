//! The dependences between the instructions of a block, and their reasons: through registers, under
//! predicates that exclude each other or do not, and through memory.
//!
//! ```text
//! (p6) add r8 = 1, r9        p6 and p7 of one compare exclude each other:
//! (p7) add r8 = 2, r9        both may stand in one group
//!      st8 [r4] = r8, 8      behind both
//!      ld8 r5 = [r4]         at another address than the store, by 8 bytes: free
//! ```
//!
//! An instruction group executes as if in order, and must not read or write a register that it has written: a read behind
//! a write waits for the next group, a write behind a read only for its turn. Memory is written and read in order within a
//! group too. Addresses are compared where both are known distances from one value of one register.
//!
//! One pass with the writers and readers of each register since it was last written for certain; accesses to memory in
//! pairs, in blocks with more than `PAIRS` of them in order as they are.
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volume 1, section 3.4.

use super::relations::{Guard, Promise, Relations, qualifies};
use crate::target::ia64::bundle::block::Type;
use isa::ia64::{Access, Branch, Class, File, Inst, Parallel, Reg};
use rustc_hash::FxHashMap;

/// Accesses of a block that are compared with each other.
const PAIRS: usize = 400;

/// The reason why one instruction stands behind another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It reads what the other writes.
    Flow(Reg),
    /// It writes what the other writes.
    Output(Reg),
    /// It writes what the other reads: in the same group, behind it.
    Anti(Reg),
    /// They may meet in memory: in the same group, behind it.
    Memory,
    /// One of them ends or begins the block, or can't be moved across.
    Control,
}

impl Kind {
    /// Returns true if both may stand in one group, in their order.
    #[must_use]
    pub const fn shares_group(self) -> bool {
        matches!(self, Kind::Anti(_) | Kind::Memory)
    }
}

/// `to` behind `from`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dependence {
    pub from: u32,
    pub to: u32,
    pub kind: Kind,
    /// True if both may stand in one group all the same, in their order: a compare and its branch, `alloc` and its
    /// frame.
    pub together: bool,
}

/// An address: a distance from the value that a register once held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Address {
    root: u32,
    distance: i64,
}

#[derive(Default)]
struct History {
    /// Since the last write that happened for certain, that one included.
    writers: Vec<(u32, Parallel)>,
    readers: Vec<u32>,
}

struct Builder<'a> {
    block: &'a [&'a Inst],
    registers: FxHashMap<Reg, History>,
    addresses: FxHashMap<Reg, Address>,
    roots: u32,
    relations: Relations,
    /// Indexed by instruction.
    guard: Vec<Guard>,
    out: Vec<Dependence>,
}

/// Returns the dependences between instructions that execute in this order: all those through registers and
/// memory that are not implied by a write that happens for certain between the two. Sorted by `to`, then
/// `from`; one pair may depend in several ways. `exclusions` are those that the author promises, by place.
#[must_use]
pub fn data_dependences(block: &[&Inst], promises: &[Promise]) -> Vec<Dependence> {
    let mut promises = promises.iter().peekable();
    let mut builder = Builder {
        block,
        registers: FxHashMap::default(),
        addresses: FxHashMap::default(),
        roots: 0,
        relations: Relations::default(),
        guard: Vec::with_capacity(block.len()),
        out: Vec::new(),
    };
    let mut accesses: Vec<(u32, Option<Address>)> = Vec::new();
    for (at, &inst) in block.iter().enumerate() {
        let at = at as u32;
        while let Some(promise) = promises.next_if(|promise| promise.at <= at) {
            builder.relations.promised(promise);
        }
        builder.guard.push(builder.relations.guard(inst.predicate));
        builder.reads(at);
        if let Some(memory) = inst.memory {
            let address = builder.address(memory.base);
            builder.memory(at, address, &accesses);
            if memory.access != Access::Prefetch {
                accesses.push((at, address));
            }
        }
        builder.writes(at);
        builder.moves(inst);
        builder.relations.wrote(inst);
        if inst.branch == Some(Branch::Call) {
            builder.relations.called();
            builder.addresses.clear();
        }
        let rotates = matches!(
            inst.branch,
            Some(Branch::CountedRotating | Branch::WhileRotating)
        );
        if rotates || inst.barrier {
            builder.renamed();
        }
        // An instruction that is not known may write any predicate, and any register.
        if inst.barrier {
            builder.relations.forget();
            builder.addresses.clear();
        }
    }
    let mut out = builder.out;
    out.sort_by_key(|it| (it.to, it.from));
    out
}

/// Branches stand behind everything, in their order; an instruction that begins a group, in front of the
/// following ones.
#[must_use]
pub fn control_dependences(block: &[&Inst]) -> Vec<Dependence> {
    let orders = |inst: &Inst| inst.ends_block() || inst.first;
    let mut out = Vec::new();
    // Those so far that order all others.
    let mut ordering: Vec<u32> = Vec::new();
    for (at, &inst) in block.iter().enumerate() {
        let mut push = |before: u32| {
            let other = block[before as usize];
            // What follows a branch is another block, except a further branch.
            let together = match inst.ends_block() || other.ends_block() {
                true => !(inst.barrier || other.barrier),
                false => !inst.first,
            };
            out.push(Dependence {
                from: before,
                to: at as u32,
                kind: Kind::Control,
                together,
            });
        };
        match orders(inst) {
            true => {
                (0..at as u32).for_each(push);
                ordering.push(at as u32);
            }
            false => ordering.iter().copied().for_each(&mut push),
        }
    }
    out
}

impl Builder<'_> {
    fn push(&mut self, from: u32, to: u32, kind: Kind, together: bool) {
        self.out.push(Dependence {
            from,
            to,
            kind,
            together,
        });
    }

    /// Returns true if the two never execute both.
    fn apart(&self, left: u32, right: u32) -> bool {
        let (first, other) = (self.guard[left as usize], self.guard[right as usize]);
        self.relations.told_apart(first, other)
    }

    fn reads(&mut self, at: u32) {
        let block = self.block;
        let inst = block[at as usize];
        for &register in &inst.uses {
            let guard = qualifies(inst, register);
            let history = self.registers.entry(register).or_default();
            history.readers.push(at);
            let writers = history.writers.clone();
            for (from, _) in writers {
                // A predicate that is read to know whether to execute is read whatever it is.
                if !guard && self.apart(from, at) {
                    continue;
                }
                let together = read_in_group(block[from as usize], inst, register);
                self.push(from, at, Kind::Flow(register), together);
            }
        }
    }

    fn writes(&mut self, at: u32) {
        let block = self.block;
        let inst = block[at as usize];
        for def in &inst.defs {
            let history = self.registers.entry(def.register).or_default();
            let certain = (inst.predicate == 0 || def.always) && def.parallel == Parallel::Alone;
            let (writers, readers) = match certain {
                true => (
                    std::mem::take(&mut history.writers),
                    std::mem::take(&mut history.readers),
                ),
                false => (history.writers.clone(), history.readers.clone()),
            };
            history.writers.push((at, def.parallel));
            for (from, parallel) in writers {
                // Those of `unc` write even when they do not execute.
                let always = def.always || self.always(from, def.register);
                if from == at
                    || parallel.goes_with(def.parallel)
                    || (!always && self.apart(from, at))
                {
                    continue;
                }
                self.push(from, at, Kind::Output(def.register), false);
            }
            for from in readers {
                let guard = def.register == Reg::predicate(block[from as usize].predicate);
                if from != at && (guard || def.always || !self.apart(from, at)) {
                    self.push(from, at, Kind::Anti(def.register), true);
                }
            }
        }
    }

    fn always(&self, at: u32, register: Reg) -> bool {
        let mut defs = self.block[at as usize].defs.iter();
        defs.any(|def| def.register == register && def.always)
    }

    fn memory(&mut self, at: u32, address: Option<Address>, before: &[(u32, Option<Address>)]) {
        let block = self.block;
        let Some(memory) = block[at as usize].memory else {
            return;
        };
        if memory.access == Access::Prefetch {
            return;
        }
        let all = before.len() <= PAIRS;
        for &(from, other) in before.iter().rev() {
            let Some(earlier) = block[from as usize].memory else {
                continue;
            };
            let ordered = memory.ordered || earlier.ordered;
            if !all {
                self.push(from, at, Kind::Memory, true);
                return;
            }
            if !ordered && !memory.access.writes() && !earlier.access.writes() {
                continue;
            }
            if !ordered
                && (self.apart(from, at) || separate(other, earlier.bytes, address, memory.bytes))
            {
                continue;
            }
            self.push(from, at, Kind::Memory, true);
        }
    }

    /// Returns where the register points, for as long as it keeps its value.
    fn address(&mut self, register: Reg) -> Option<Address> {
        if let Some(known) = self.addresses.get(&register) {
            return Some(*known);
        }
        let fresh = Address {
            root: self.roots,
            distance: 0,
        };
        self.roots += 1;
        self.addresses.insert(register, fresh);
        Some(fresh)
    }

    /// Records the effect of the instruction on addresses.
    fn moves(&mut self, inst: &Inst) {
        let stepped = inst.memory.and_then(|memory| {
            let by = memory.step?;
            let mut from = self.address(memory.base)?;
            from.distance = from.distance.wrapping_add(by);
            Some((memory.base, from))
        });
        let derived = inst.offset.and_then(|(of, by)| {
            let mut from = self.address(of)?;
            from.distance = from.distance.wrapping_add(by);
            Some(from)
        });
        for def in &inst.defs {
            if def.register.file != File::General {
                continue;
            }
            let known = match stepped {
                Some((base, address)) if base == def.register => Some(address),
                _ => derived,
            };
            // Under a predicate it is one of two, which is neither.
            match known.filter(|_| inst.predicate == 0) {
                Some(address) => self.addresses.insert(def.register, address),
                None => self.addresses.remove(&def.register),
            };
        }
    }

    /// Registers that rotate have other names from here on: nothing is known of the registers that these now
    /// name.
    fn renamed(&mut self) {
        self.relations.renamed();
        self.addresses.retain(|register, _| register.number < 32);
    }
}

/// Returns true if `to` sees the writes of `from` in its own group: a branch an integer compare and moves to
/// branch registers and predicates, all the frame of `alloc`, and the result of an advanced load that its
/// check confirms.
pub(crate) fn read_in_group(from: &Inst, to: &Inst, register: Reg) -> bool {
    let guard = qualifies(to, register);
    let jumps = to.branch.is_some_and(|kind| kind != Branch::Check);
    match from.class {
        Class::Compare | Class::ToPredicates => guard && (jumps || to.unit == Some(Type::B)),
        Class::ToBranch => jumps && register.file == File::Branch,
        Class::Alloc => register == Reg::CFM,
        Class::Load | Class::FloatLoad => from.memory.is_some_and(|memory| {
            // What is added to the address is new.
            memory.confirms && (memory.base != register || from.defs.len() == 1)
        }),
        _ => register == Reg::PFS && to.branch == Some(Branch::Return),
    }
}

/// Returns true if two accesses never share a byte.
fn separate(left: Option<Address>, bytes: u32, right: Option<Address>, more: u32) -> bool {
    let (Some(first), Some(other)) = (left, right) else {
        return false;
    };
    let Some(between) = other.distance.checked_sub(first.distance) else {
        return false;
    };
    first.root == other.root && (between >= i64::from(bytes) || between <= -i64::from(more))
}

#[cfg(test)]
mod tests {
    use super::Kind;
    use crate::target::ia64::listing::listing;

    #[test]
    fn behind_a_rotation_a_name_is_another_register() {
        let ordered = |branch: &str| {
            let text = format!(
                "f:\n\tcmp.eq p17, p18 = r14, r15 ;;\n\t{branch} f ;;\n\t(p17) add r16 = r17, r18 ;;\n\t(p18) mov r17 = r19 ;;\n"
            );
            let document = syntax::ia64::parse(&text);
            let found = listing(&document, &text).region_dependences(&(0..4));
            found
                .iter()
                .any(|it| (it.from, it.to) == (2, 3) && matches!(it.kind, Kind::Anti(_)))
        };
        // At most one of the two executes, as long as these are the predicates of the compare.
        assert!(!ordered("(p6) br.cond.sptk"));
        assert!(ordered("br.ctop.sptk"));
        assert!(ordered("(p20) br.wtop.sptk"));
        // What is not known may write them.
        assert!(ordered("frobnicate"));
    }

    #[test]
    fn behind_a_call_a_register_holds_another_address() {
        let ordered = |between: &str| {
            let text = format!(
                "f:\n\tst8 [r14] = r15 ;;\n\t{between} ;;\n\tadd r16 = 8, r14 ;;\n\tld8 r17 = [r16] ;;\n"
            );
            let document = syntax::ia64::parse(&text);
            let found = listing(&document, &text).region_dependences(&(0..4));
            let mut between = found.iter().filter(|edge| (edge.from, edge.to) == (0, 3));
            between.any(|edge| edge.kind == Kind::Memory)
        };
        assert!(!ordered("(p6) br.cond.sptk f"));
        assert!(ordered("(p6) br.call.sptk.many b0 = g"));
        assert!(ordered("frobnicate"));
    }
}
