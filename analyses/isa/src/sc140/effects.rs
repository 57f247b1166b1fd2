//! The effects of an instruction: what it reads and writes and in which stage of the pipeline, its access to memory, where
//! control goes.
//!
//! ```text
//! move.w (r0)+n1,d3     reads r0 and n1 for the address, writes r0 there and d3 by the bus; loads 2 bytes
//! mac d0,d1,d2          reads d0, d1 and d2, writes d2
//! tfra r0,r1            reads r0 and writes r1 where addresses are made: the next set may use it as a pointer
//! ```
//!
//! From the table's row; for moves from the operands. One pass over the operands.

use super::{
    Address, Condition, File, Instruction, Opcode, Operand, Part, Reg, StackHalf, Status, Step,
    Target, Unit,
};

/// The stage in which an instruction wants a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReadStage {
    /// For an address, or for arithmetic of the address units.
    Address,
    /// As data.
    Execute,
}

/// The way in which a result reaches its register, which decides who may read it in the next set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WriteWay {
    /// In the stage that makes addresses: everything of the next set reads it.
    Address,
    /// Written by a data unit: everything of the next set reads it that is no address.
    Execute,
    /// Written by a data bus, as moves, pops and bit masks do: the same.
    Bus,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Read {
    pub register: Reg,
    pub stage: ReadStage,
    /// An operand that is a source alone; not the old value of a target.
    pub is_source: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Write {
    pub register: Reg,
    pub way: WriteWay,
    /// It happens only where T is set (`True`) or clear (`False`) by the opcode itself: `tfrt`, `movef`.
    pub when: Condition,
    /// A part of the register keeps its value, or all of it may.
    pub keeps: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    Load,
    Store,
    Both,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Memory {
    pub access: Access,
    /// `None`: the stack.
    pub address: Option<Address>,
    pub bytes: u32,
}

/// The way in which control leaves a set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Flow {
    Jump,
    /// A jump that may not be taken: by T, or by the counter of a loop.
    Branch,
    Call,
    Return,
    /// To the next iteration, or out of the loop.
    Continue,
    /// Elsewhere by an exception, or nowhere.
    Stop,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Effects {
    pub reads: Vec<Read>,
    pub writes: Vec<Write>,
    /// The registers to which a step or an index is added as `mctl` says: r0 to r7, where the modifier may be a modulus in
    /// m0 to m3 with its base in b0 to b7.
    pub modified: Vec<Reg>,
    pub memory: Option<Memory>,
    pub flow: Option<Flow>,
    /// The number of registers that a stack instruction names in each half; `None` where no source tells it.
    pub stack: Option<Stack>,
    /// Nothing moves across it: it changes the processor's state, or waits.
    pub barrier: bool,
}

/// A push or a pop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Stack {
    pub pushes: bool,
    pub half: Option<StackHalf>,
}

impl Effects {
    /// Returns true if it writes the register, or a bit of it.
    #[must_use]
    pub fn writes_to(&self, register: Reg) -> bool {
        let mut writes = self.writes.iter();
        writes.any(|write| write.register.overlaps(register))
    }
    #[must_use]
    pub fn reads_from(&self, register: Reg) -> bool {
        let mut reads = self.reads.iter();
        reads.any(|read| read.register.overlaps(register))
    }
    fn read(&mut self, register: Reg, stage: ReadStage) {
        self.reads.push(Read {
            register,
            stage,
            is_source: true,
        });
    }
    fn write(&mut self, register: Reg, way: WriteWay) {
        self.writes.push(Write {
            register,
            way,
            when: Condition::Always,
            keeps: false,
        });
    }
}

impl Instruction {
    /// The effects, without those of the condition that is in force: `T`, which such an instruction reads.
    #[must_use]
    pub fn effects(&self) -> Effects {
        let mut out = Effects::default();
        let unit = self.unit();
        self.status(&mut out);
        match unit {
            Unit::Data => self.operate(&mut out, ReadStage::Execute, WriteWay::Execute),
            Unit::Mask => self.mask(&mut out),
            Unit::Address if self.is_move() => self.moved(&mut out),
            Unit::Address => {
                self.operate(&mut out, ReadStage::Address, WriteWay::Address);
                self.modifies(&mut out);
            }
            Unit::Flow => self.leaves(&mut out),
            Unit::Loop => self.loops(&mut out),
            Unit::Program => self.program(&mut out),
        }
        out
    }

    fn status(&self, out: &mut Effects) {
        let way = match self.unit() {
            Unit::Data => WriteWay::Execute,
            Unit::Mask => WriteWay::Bus,
            _ => WriteWay::Address,
        };
        for status in self.row().status {
            match status {
                Status::WritesCarry => out.write(Reg::CARRY, way),
                Status::MayWriteCarry => out.writes.push(Write {
                    register: Reg::CARRY,
                    way,
                    when: Condition::Always,
                    keeps: true,
                }),
                Status::WritesTruth => out.write(Reg::TRUTH, way),
                Status::Overflows => out.write(Reg::OVERFLOW, way),
                Status::ReadsCarry => out.read(Reg::CARRY, ReadStage::Execute),
                Status::ReadsTruth => {
                    let stage = match self.unit() {
                        Unit::Address => ReadStage::Address,
                        _ => ReadStage::Execute,
                    };
                    out.read(Reg::TRUTH, stage);
                }
            }
        }
    }

    /// Sources are read, the target is what the form says.
    fn operate(&self, out: &mut Effects, stage: ReadStage, way: WriteWay) {
        let Some((last, sources)) = self.operands.split_last() else {
            return;
        };
        for (register, _) in sources.iter().flat_map(Operand::registers) {
            out.read(register, stage);
        }
        let target = self.mnemonic.target();
        let when = match self.mnemonic.opcode {
            Opcode::Tfrt | Opcode::Movet => Condition::True,
            Opcode::Tfrf | Opcode::Movef => Condition::False,
            _ => Condition::Always,
        };
        for (register, part) in last.registers() {
            if target != Target::Sets {
                out.reads.push(Read {
                    register,
                    stage,
                    is_source: target == Target::Reads,
                });
            }
            if target != Target::Reads {
                out.writes.push(Write {
                    register,
                    way,
                    when,
                    keeps: part != Part::Whole,
                });
            }
        }
    }

    /// Sums of the address units obey the register's modifier. The vendor's compiler keeps those apart from a write of `mctl`,
    /// too, whose target may be the base of a buffer.
    fn modifies(&self, out: &mut Effects) {
        use Opcode::{Adda, Addl1a, Addl2a, Deca, Inca, Suba};
        if matches!(
            self.mnemonic.opcode,
            Adda | Addl1a | Addl2a | Suba | Inca | Deca
        ) {
            let source = self.operands.len() == 3;
            let modified = match source {
                true => self.operands.get(1),
                false => self.operands.last(),
            };
            let registers = modified.map(Operand::registers).unwrap_or_default();
            for (register, _) in registers {
                out.modify(register);
            }
            let target = self.operands.last().map(Operand::registers);
            let is_base = |(register, _): &(Reg, Part)| register.is_high();
            if out.modified.is_empty() && target.unwrap_or_default().iter().any(is_base) {
                out.read(Reg::MCTL, ReadStage::Address);
            }
        }
    }

    fn mask(&self, out: &mut Effects) {
        if let Some((_, address)) = self.memory() {
            out.address(address);
            let access = match self.mnemonic.target() {
                Target::Reads => Access::Load,
                Target::Sets | Target::Changes => Access::Both,
            };
            out.memory = Some(Memory {
                access,
                address: Some(address),
                bytes: 2,
            });
            return;
        }
        let target = self.mnemonic.target();
        for (register, _) in self.operands.iter().flat_map(Operand::registers) {
            out.reads.push(Read {
                register,
                stage: ReadStage::Execute,
                is_source: target == Target::Reads,
            });
            if target != Target::Reads {
                out.writes.push(Write {
                    register,
                    way: WriteWay::Bus,
                    when: Condition::Always,
                    keeps: true,
                });
            }
        }
    }

    fn moved(&self, out: &mut Effects) {
        use Opcode::{Movef, Movet, Pop, Popn, Push, Pushn};
        match self.mnemonic.opcode {
            Movet | Movef => {
                self.operate(out, ReadStage::Address, WriteWay::Bus);
                return;
            }
            Push | Pushn | Pop | Popn => {
                self.stacked(out);
                return;
            }
            _ => {}
        }
        let Some((last, sources)) = self.operands.split_last() else {
            return;
        };
        for (register, _) in sources.iter().flat_map(Operand::registers) {
            out.read(register, ReadStage::Execute);
        }
        for (register, part) in last.registers() {
            out.writes.push(Write {
                register,
                way: WriteWay::Bus,
                when: Condition::Always,
                keeps: part != Part::Whole,
            });
        }
        if let Some((at, address)) = self.memory() {
            out.address(address);
            let access = match at + 1 == self.operands.len() {
                true => Access::Store,
                false => Access::Load,
            };
            out.memory = Some(Memory {
                access,
                address: Some(address),
                bytes: self.bytes(),
            });
        }
    }

    fn stacked(&self, out: &mut Effects) {
        use Opcode::{Pop, Push, Pushn};
        let pushes = matches!(self.mnemonic.opcode, Push | Pushn);
        let pointer = match matches!(self.mnemonic.opcode, Push | Pop) {
            true => Reg::SP,
            false => Reg::NSP,
        };
        out.read(pointer, ReadStage::Address);
        out.write(pointer, WriteWay::Address);
        let registers = self.operands.first().map(Operand::registers);
        let registers = registers.unwrap_or_default();
        let half = registers
            .first()
            .and_then(|(register, _)| register.stack_half());
        out.stack = Some(Stack { pushes, half });
        for (register, part) in registers {
            if pushes {
                out.read(register, ReadStage::Execute);
            } else {
                out.writes.push(Write {
                    register,
                    way: WriteWay::Bus,
                    when: Condition::Always,
                    keeps: part == Part::Extension,
                });
            }
        }
        out.memory = Some(Memory {
            access: if pushes { Access::Store } else { Access::Load },
            address: None,
            bytes: 4,
        });
    }

    fn leaves(&self, out: &mut Effects) {
        for (register, _) in self.operands.iter().flat_map(Operand::registers) {
            out.read(register, ReadStage::Address);
        }
        out.write(Reg::PC, WriteWay::Address);
        out.flow = self.mnemonic.opcode.flow();
        match out.flow {
            Some(Flow::Call) => {
                out.stack_pointer();
                out.read(Reg::SR, ReadStage::Execute);
                out.memory = Some(Memory {
                    access: Access::Store,
                    address: None,
                    bytes: 8,
                });
            }
            Some(Flow::Return) => {
                out.stack_pointer();
                if self.mnemonic.opcode == Opcode::Rte {
                    out.write(Reg::SR, WriteWay::Bus);
                }
            }
            _ => {}
        }
    }

    fn loops(&self, out: &mut Effects) {
        use Opcode::{Break, Cont, Doen, Doensh, Dosetup, Skipls};
        let index = self.mnemonic.index.unwrap_or(0);
        let all = 0..4;
        for (register, _) in self.operands.iter().flat_map(Operand::registers) {
            out.read(register, ReadStage::Execute);
        }
        match self.mnemonic.opcode {
            Dosetup => out.write(Reg::new(File::LoopStart, index), WriteWay::Address),
            Doen | Doensh => {
                out.write(Reg::new(File::LoopCount, index), WriteWay::Address);
                out.write(Reg::new(File::LoopFlag, index), WriteWay::Address);
                if self.mnemonic.opcode == Doensh {
                    out.write(Reg::SHORT_LOOP, WriteWay::Address);
                }
            }
            Skipls | Break | Cont => {
                out.write(Reg::PC, WriteWay::Address);
                for number in all {
                    out.read(Reg::new(File::LoopCount, number), ReadStage::Address);
                    out.read(Reg::new(File::LoopFlag, number), ReadStage::Address);
                    out.write(Reg::new(File::LoopFlag, number), WriteWay::Address);
                }
                out.flow = self.mnemonic.opcode.flow();
            }
            _ => {}
        }
    }

    fn program(&self, out: &mut Effects) {
        use Opcode::{Di, Ei, Illegal, Nop, Trap};
        match self.mnemonic.opcode {
            Nop => {}
            Di | Ei => {
                out.write(Reg::INTERRUPTS, WriteWay::Execute);
                out.barrier = true;
            }
            Trap | Illegal => {
                out.write(Reg::PC, WriteWay::Address);
                out.flow = self.mnemonic.opcode.flow();
                out.barrier = true;
            }
            _ => out.barrier = true,
        }
    }
}

impl Effects {
    /// Calls and returns move the stack pointer.
    fn stack_pointer(&mut self) {
        self.read(Reg::SP, ReadStage::Address);
        self.write(Reg::SP, WriteWay::Address);
    }

    fn modify(&mut self, register: Reg) {
        if register.base().is_some() {
            self.modified.push(register);
            self.read(Reg::MCTL, ReadStage::Address);
        }
    }

    fn address(&mut self, address: Address) {
        match address {
            Address::At { base, step } => {
                self.read(base, ReadStage::Address);
                if let Step::By(offset) = step {
                    self.read(offset, ReadStage::Address);
                }
                if step != Step::None {
                    self.modify(base);
                    self.write(base, WriteWay::Address);
                }
            }
            Address::Indexed { base, index } => {
                self.read(base, ReadStage::Address);
                self.read(index, ReadStage::Address);
                self.modify(base);
            }
            Address::Displaced { base, .. } => {
                self.read(base, ReadStage::Address);
                self.modify(base);
            }
            Address::Absolute(_) => {}
        }
    }
}
