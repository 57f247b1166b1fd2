//! The frame of a function: where its slots, spilled and saved values are, and the instructions that make and leave it.
//!
//! Source: Intel, *Itanium Software Conventions and Runtime Architecture Guide*, chapters 5 and 11.

use super::code::Allocation;
use super::code::{FrameOffset, Function, Name, Operand, Operation, Virtual, stacked};
use crate::target::ia64::code::op;
use isa::ia64::{Branch, Completer, Mnemonic, Opcode};
use isa::ia64::{File, Reg};
use smallvec::smallvec;

/// Offsets that one addition reaches.
const NEAR: u64 = 8191;

/// The stack pointer.
const SP: Reg = Reg::general(12);
/// Holds addresses and sizes of the frame where nothing else lives yet or any more.
const SCRATCH: Reg = Reg::general(2);

/// Registers and offsets of a function's frame.
pub(super) struct Frame {
    pub(super) bytes: u64,
    slots: Vec<u64>,
    spills: u64,
    floats: Vec<(u8, u64)>,
    /// `ar.pfs`, return address, predicates, loop count, NaT bits.
    pfs: Option<u32>,
    link: Option<u32>,
    predicates: Option<u32>,
    count: Option<u32>,
    nats: Option<u32>,
    alloc: [u32; 4],
}

impl Frame {
    pub(super) fn of(function: &Function, allocation: &Allocation) -> Frame {
        let mut bytes = if function.calls { 16 } else { 0 } + u64::from(function.outgoing);
        let mut slots = Vec::new();
        for slot in &function.slots {
            bytes = bytes.next_multiple_of(u64::from(slot.align.clamp(1, 16).next_power_of_two()));
            slots.push(bytes);
            bytes += u64::from(slot.bytes);
        }
        bytes = bytes.next_multiple_of(16);
        let spills = bytes;
        bytes += u64::from(allocation.spilled);
        let mut floats = Vec::new();
        for register in allocation.used(function, File::Float) {
            if matches!(register.number, 2..=5 | 16..=31) {
                floats.push((register.number, bytes));
                bytes += 16;
            }
        }
        // Below the scratch area lie the register arguments behind those that have names.
        bytes += match function.frame.variadic {
            true => 48,
            false => 0,
        };
        let others = (0..).map(Virtual).zip(&allocation.registers);
        let others = others.filter(|(register, _)| !function.outputs.contains(register));
        let mut next = stacked(function, &mut others.map(|(_, place)| *place));
        let mut give = |wanted: bool| {
            wanted.then(|| {
                next += 1;
                next - 1
            })
        };
        let preserved = |register: &Reg| matches!(register.number, 1..=5 | 16..=63);
        let predicates = allocation
            .used(function, File::Predicate)
            .iter()
            .any(preserved)
            || function.frame.rotating.predicate > 0;
        let operations = || function.blocks.iter().flat_map(|block| &block.operations);
        let counted = operations().any(|operation| {
            operation.targets.contains(&Operand::fixed(Reg::LC))
                || operation.branch() == Some(Branch::Counted)
        });
        let spilled = operations().any(|operation| {
            operation.opcode() == Opcode::St8 && operation.mnemonic.has(Completer::Spill)
        });
        let pfs = give(function.calls);
        let link = give(function.calls);
        let predicates = give(predicates);
        let count = give(counted);
        let nats = give(spilled);
        let inputs = function.inputs();
        // What passes arguments on has its place behind all that may be saved.
        let last = function.outputs.first().map_or(next, |it| {
            u32::from(allocation.registers[it.0 as usize].number)
        });
        let alloc = [
            inputs,
            last - 32 - inputs,
            function.outputs.len() as u32,
            function.frame.rotating.general,
        ];
        Frame {
            bytes,
            slots,
            spills,
            floats,
            pfs,
            link,
            predicates,
            count,
            nats,
            alloc,
        }
    }
    /// Bytes behind the stack pointer.
    pub(super) fn offset(&self, offset: FrameOffset) -> i64 {
        match offset {
            // Behind the scratch area of the caller.
            FrameOffset::Argument(bytes) => self.bytes as i64 + 16 + bytes,
            FrameOffset::Slot(number) => self.slots[number as usize] as i64,
            FrameOffset::Spill(bytes) => (self.spills + u64::from(bytes)) as i64,
        }
    }

    /// Its prologue, each instruction with the directives for the unwinder.
    pub(super) fn prologue(&self) -> (Vec<(Operation, String)>, Vec<Operation>) {
        let [inputs, locals, outputs, rotating] = self.alloc;
        let kept = self.pfs.unwrap_or(2);
        let mut out = Vec::new();
        let sizes = [inputs, locals, outputs, rotating].map(|size| Operand::Number(size.into()));
        let mut sources = vec![Operand::fixed(Reg::PFS)];
        sources.extend(sizes);
        let told = self.pfs.map(|pfs| format!("\t.save ar.pfs, r{pfs}\n"));
        let alloc = Operation::plain(op!("alloc"), vec![general(kept)], sources);
        out.push((alloc, told.unwrap_or_default()));
        let bytes = self.whole();
        let told = format!("\t.fframe {bytes}\n");
        if bytes > NEAR + 1 {
            out.push((constant(-(bytes as i64)), String::new()));
            let sources = vec![SCRATCH.into(), SP.into()];
            out.push((Operation::plain(op!("add"), vec![SP.into()], sources), told));
        } else if bytes > 0 {
            out.push((step(SP, -(bytes as i64)), told));
        }
        for (place, register, directive) in [
            (self.link, Reg::branch(0), "rp"),
            (self.predicates, Reg::PR, "pr"),
            (self.count, Reg::LC, "ar.lc"),
            (self.nats, Reg::UNAT, "ar.unat"),
        ] {
            if let Some(place) = place {
                let save =
                    Operation::plain(op!("mov"), vec![general(place)], vec![register.into()]);
                out.push((save, format!("\t.save {directive}, r{place}\n")));
            }
        }
        let floats = self.floats(op!("stf.spill"));
        (out, floats)
    }

    /// In front of a return.
    pub(super) fn epilogue(&self) -> Vec<Operation> {
        let mut out = self.floats(op!("ldf.fill"));
        if let Some(place) = self.predicates {
            let sources = vec![general(place), Operand::Number(-2)];
            out.push(Operation::plain(op!("mov"), vec![Reg::PR.into()], sources));
        }
        for (place, register) in [
            (self.count, Reg::LC),
            (self.nats, Reg::UNAT),
            (self.pfs, Reg::PFS),
            (self.link, Reg::branch(0)),
        ] {
            if let Some(place) = place {
                let sources = vec![general(place)];
                out.push(Operation::plain(op!("mov"), vec![register.into()], sources));
            }
        }
        let bytes = self.whole();
        if bytes > NEAR {
            out.push(constant(bytes as i64));
            let sources = vec![SCRATCH.into(), SP.into()];
            out.push(Operation::plain(op!("add"), vec![SP.into()], sources));
        } else if bytes > 0 {
            out.push(step(SP, bytes as i64));
        }
        out
    }

    /// Saves or restores the preserved floating-point registers.
    fn floats(&self, by: Mnemonic) -> Vec<Operation> {
        let mut out = Vec::new();
        for &(number, offset) in &self.floats {
            if offset <= NEAR {
                out.push(step(SCRATCH, offset as i64));
            } else {
                out.push(constant(offset as i64));
                let sources = vec![SCRATCH.into(), SP.into()];
                out.push(Operation::plain(op!("add"), vec![SCRATCH.into()], sources));
            }
            let (value, place) = (
                Operand::fixed(Reg::float(number)),
                Operand::Address(Name::Fixed(SCRATCH)),
            );
            out.push(match by == op!("stf.spill") {
                true => Operation::plain(by, vec![place], vec![value]),
                false => Operation::plain(by, vec![value], vec![place]),
            });
        }
        out
    }

    fn whole(&self) -> u64 {
        self.bytes.next_multiple_of(16)
    }

    /// An operation of the function with the frame's offsets as numbers: one operation, two where an offset is far.
    pub(super) fn placed<'a>(&self, operation: &'a Operation) -> Placed<'a> {
        let [Operand::Frame(offset), Operand::Register(Name::Fixed(base))] = operation.sources[..]
        else {
            return Placed::AsItIs(operation);
        };
        debug_assert_eq!(operation.mnemonic, op!("adds"));
        let offset = self.offset(offset);
        let mut operation = operation.clone();
        if offset <= NEAR as i64 {
            operation.sources[0] = Operand::Number(offset);
            return Placed::One(operation);
        }
        let mut far = operation.clone();
        far.mnemonic = op!("movl");
        far.sources = smallvec![Operand::Number(offset)];
        operation.mnemonic = op!("add");
        operation.sources = smallvec![operation.targets[0].clone(), Operand::fixed(base)];
        Placed::Two([far, operation])
    }
}

/// An operation once its frame is known.
pub(super) enum Placed<'a> {
    AsItIs(&'a Operation),
    One(Operation),
    Two([Operation; 2]),
}

impl Placed<'_> {
    pub(super) fn operations(&self) -> &[Operation] {
        match self {
            Placed::AsItIs(found) => std::slice::from_ref(*found),
            Placed::One(found) => std::slice::from_ref(found),
            Placed::Two(both) => both,
        }
    }
}

fn general(number: u32) -> Operand {
    Operand::fixed(Reg::general(number as u8))
}

/// `movl r2 = number`
fn constant(number: i64) -> Operation {
    Operation::plain(op!("movl"), vec![SCRATCH.into()], vec![number.into()])
}

/// `adds to = number, r12`
fn step(to: Reg, number: i64) -> Operation {
    let sources = vec![number.into(), SP.into()];
    Operation::plain(op!("adds"), vec![to.into()], sources)
}
