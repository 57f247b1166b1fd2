//! The frame of a function, which grows upwards.
//!
//! ```text
//! arguments | return address, status | d6 d7 | r6 r7 | variables | spilled values | arguments passed on | sp
//! ```

use super::code::{Allocation, FrameOffset, Function, Operand, Operation, Reference, operation};
use super::machine::PRESERVED;
use super::select::CALL;
use crate::mir::{Block, Object};
use isa::Branch;
use isa::sc140::{File, Opcode, Reg, Sc140};

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

    /// Puts what makes the frame in front of a function, with what is read of its arguments, and what takes it away in front of
    /// each return. Sets that are decided stay as they are.
    pub(super) fn insert(&self, function: &mut Function, arrivals: Vec<Operation>) {
        let entered = (0..function.blocks.len() as u32).flat_map(|at| function.successors(at));
        debug_assert!(!entered.into_iter().any(|to| to == 0), "{}", function.name);
        let arrivals = arrivals.into_iter().map(|arrival| vec![arrival]);
        let prologue = self.prologue().into_iter().chain(arrivals).collect();
        let mut epilogue = self.epilogue();
        // An interrupt may use what is beyond the stack pointer.
        if !function.slots.is_empty() {
            let operations = epilogue.iter_mut().flatten();
            for operation in
                operations.filter(|operation| operation.mnemonic.opcode == Opcode::Suba)
            {
                operation.memory = Some(Reference {
                    object: Object::Unknown,
                    bytes: self.bytes as u32,
                    volatile: false,
                    accessed_as: None,
                });
            }
        }
        around(function, prologue, &epilogue);
        let all = function.blocks.iter_mut();
        for operation in all
            .flat_map(|block| &mut block.operations)
            .filter(|it| returns(it))
        {
            operation.sources.push(Operand::fixed(Reg::SP));
        }
    }

    /// Sets in front of the function's first; an empty one waits.
    fn prologue(&self) -> Vec<Vec<Operation>> {
        let saved = self.saved.iter().map(|file| pair(Opcode::Push, *file));
        saved.chain(self.step(Opcode::Adda)).collect()
    }

    /// Sets in front of a return.
    fn epilogue(&self) -> Vec<Vec<Operation>> {
        let saved = self.saved.iter().rev().map(|file| pair(Opcode::Pop, *file));
        self.step(Opcode::Suba).into_iter().chain(saved).collect()
    }
}

/// Puts sets in front of an operation: if those of the block are decided, what shares its set stands in front of them.
fn insert(block: &mut Block<Sc140>, at: usize, sets: Vec<Vec<Operation>>) {
    if sets.is_empty() {
        return;
    }
    if !block.cycles.is_empty() {
        let before = at.checked_sub(1).map(|before| block.cycles[before]);
        let first = block.cycles[at].max(before.map_or(0, |before| before + 1));
        let wait = first + sets.len() as u32 - block.cycles[at];
        block.cycles[at..]
            .iter_mut()
            .for_each(|cycle| *cycle += wait);
        let cycles = (first..).zip(&sets);
        let cycles: Vec<u32> = cycles
            .flat_map(|(cycle, set)| set.iter().map(move |_| cycle))
            .collect();
        block.cycles.splice(at..at, cycles);
    }
    block.operations.splice(at..at, sets.into_iter().flatten());
}

fn returns(operation: &Operation) -> bool {
    operation.branch() == Some(Branch::Return)
}

fn pair(opcode: Opcode, file: File) -> Vec<Operation> {
    let registers = [6, 7].map(|number| Operand::fixed(Reg::new(file, number)));
    let sp = || Operand::fixed(Reg::SP);
    let each = registers.into_iter().map(|register| match opcode {
        Opcode::Push => operation(opcode, vec![sp()], vec![register, sp()]),
        _ => operation(opcode, vec![register, sp()], vec![sp()]),
    });
    each.collect()
}

/// Saves the preserved pair of a file around all of a function.
pub(super) fn save(function: &mut Function, file: File) {
    around(
        function,
        vec![pair(Opcode::Push, file)],
        &[pair(Opcode::Pop, file)],
    );
}

/// Puts sets in front of a function and of each of its returns.
fn around(function: &mut Function, first: Vec<Vec<Operation>>, last: &[Vec<Operation>]) {
    if let Some(block) = function.blocks.first_mut() {
        insert(block, 0, first);
    }
    for block in &mut function.blocks {
        if let Some(at) = block.operations.iter().position(returns) {
            insert(block, at, last.to_vec());
        }
    }
}
