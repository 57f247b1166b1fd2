//! The frame of a function, which grows upwards.
//!
//! ```text
//! arguments | return address, status | d6 d7 | r6 r7 | variables | spilled values | arguments passed on | sp
//! ```

use super::code::{Allocation, FrameOffset, Function, Operand, Operation, operation};
use super::machine::PRESERVED;
use super::select::CALL;
use isa::sc140::{File, Opcode, Reg};

/// The largest number that is added to a stack pointer by one instruction.
const NEAR: i64 = 31;
/// Displacements of accesses are less, and not less than its negative.
pub(super) const DISPLACEMENT: i64 = 0x4000;
/// The register that a larger one passes through: it takes no argument and no result.
const STEP: Reg = Reg::address(5);

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Frame {
    /// Bytes behind the saved registers, a multiple of 8.
    pub bytes: i64,
    /// The offset of each slot from the first of these bytes.
    slots: Vec<i64>,
    spills: i64,
    /// Files of which the preserved pair is saved.
    saved: Vec<File>,
}

impl Frame {
    pub(super) fn of(function: &Function, allocation: &Allocation) -> Frame {
        let mut bytes = 0i64;
        let mut slots = Vec::new();
        for slot in &function.slots {
            let align = i64::from(slot.align.clamp(1, 8));
            bytes = (bytes + align - 1) / align * align;
            slots.push(bytes);
            bytes += i64::from(slot.bytes);
        }
        let spills = (bytes + 7) / 8 * 8;
        let bytes = spills + i64::from(allocation.spilled) + i64::from(function.outgoing);
        let used = |file: &File| {
            let used = allocation.used(function, *file);
            used.iter().any(|register| PRESERVED.contains(register))
        };
        Frame {
            bytes: (bytes + 7) / 8 * 8,
            slots,
            spills,
            saved: [File::Data, File::Address]
                .into_iter()
                .filter(used)
                .collect(),
        }
    }

    /// Bytes from the stack pointer on, within the function.
    pub(super) fn offset(&self, offset: FrameOffset) -> i64 {
        let from_base = match offset {
            FrameOffset::Slot(number) => self.slots[number as usize],
            FrameOffset::Spill(bytes) => self.spills + i64::from(bytes),
            FrameOffset::Argument(below) => below - CALL - 8 * self.saved.len() as i64,
        };
        from_base - self.bytes
    }

    /// Returns true if all operations reach what they name of the frame: displacements have 15 bits, sums 16.
    pub(super) fn is_reached(&self, function: &Function, allocation: &Allocation) -> bool {
        let blocks = function.blocks.iter().flat_map(|block| &block.operations);
        let mut all = blocks.chain(&allocation.arrivals);
        all.all(|operation| {
            let limit = match operation.mnemonic.opcode {
                Opcode::Adda => 0x8000,
                _ => DISPLACEMENT,
            };
            let mut operands = operation.targets.iter().chain(&operation.sources);
            operands.all(|operand| match operand {
                Operand::Frame(offset) => (-limit..limit).contains(&self.offset(*offset)),
                _ => true,
            })
        })
    }

    fn pair(&self, opcode: Opcode, file: File) -> Vec<Operation> {
        let registers = [6, 7].map(|number| Operand::fixed(Reg::new(file, number)));
        let each = registers.into_iter().map(|register| match opcode {
            Opcode::Push => operation(opcode, Vec::new(), vec![register]),
            _ => operation(opcode, vec![register], Vec::new()),
        });
        each.collect()
    }

    /// The stack pointer by so many bytes, as sets.
    fn step(&self, opcode: Opcode) -> Vec<Vec<Operation>> {
        let sp = || vec![Operand::fixed(Reg::SP)];
        match self.bytes {
            0 => Vec::new(),
            1..=NEAR => vec![vec![operation(opcode, sp(), vec![self.bytes.into()])]],
            bytes => {
                let step = vec![Operand::fixed(STEP)];
                let load = match bytes {
                    ..=0x7fff => Opcode::MoveW,
                    _ => Opcode::MoveL,
                };
                vec![
                    vec![operation(load, step.clone(), vec![bytes.into()])],
                    Vec::new(),
                    vec![operation(opcode, sp(), step)],
                ]
            }
        }
    }

    /// Sets in front of the function's first; an empty one waits.
    pub(super) fn prologue(&self) -> Vec<Vec<Operation>> {
        let saved = self.saved.iter().map(|file| self.pair(Opcode::Push, *file));
        saved.chain(self.step(Opcode::Adda)).collect()
    }

    /// Sets in front of a return.
    pub(super) fn epilogue(&self) -> Vec<Vec<Operation>> {
        let saved = self
            .saved
            .iter()
            .rev()
            .map(|file| self.pair(Opcode::Pop, *file));
        self.step(Opcode::Suba).into_iter().chain(saved).collect()
    }
}
