//! A function in machine operations on virtual registers: what selection makes, what predication and pipelining change, and
//! what register allocation reads.
//!
//! ```text
//! b1:  v4 = ld8 [v2], 8          line 12; a restrict parameter's object
//!      p3, p0 = cmp.lt.unc v4, v1
//!      (p3) br.cond b1
//! ```
//!
//! It is not in SSA form: a predicated operation leaves the old value of its targets where its predicate is false. Control
//! enters a block at its start only, and leaves it by its branches; a block whose last operation always branches does not
//! fall through to the next one in the layout.

use super::{File, Reg};
use crate::refusal::Refused;
use isa::ia64::{Branch, Class, Completer, Mnemonic, Opcode};
use smol_str::SmolStr;
use std::fmt;

/// A register before allocation: an index into `Function::registers`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Virtual(pub u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Name {
    Virtual(Virtual),
    /// One that the calling convention or an instruction asks for, and constants: `r0`, `f1`, `p0`, `ar.lc`.
    Fixed(Reg),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    Register(Name),
    /// `[r5]`
    Address(Name),
    Number(i64),
    /// As the assembler takes it: `@ltoff(table)`, a function to call.
    Symbol(SmolStr),
    /// Where a branch goes: an index into `Function::blocks`.
    Block(u32),
    /// A number that is known when the frame is.
    Frame(FrameOffset),
}

/// An offset from the stack pointer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FrameOffset {
    /// Of a slot: an index into `Function::slots`.
    Slot(u32),
    /// So many bytes behind the first spilled value.
    Spill(u32),
    /// So many bytes behind the first argument that arrives in memory.
    Argument(i64),
}

impl fmt::Display for FrameOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameOffset::Slot(number) => write!(f, ".slot{number}"),
            FrameOffset::Spill(bytes) => write!(f, ".spill{bytes}"),
            FrameOffset::Argument(bytes) => write!(f, ".argument{bytes}"),
        }
    }
}

/// What an address points into, as far as the source tells.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Object {
    Unknown,
    /// Whatever this parameter points to.
    Parameter(u32),
    /// What only this parameter's pointer reaches while the function runs.
    Restrict(u32),
    /// An index into `Function::slots`; and one that no other pointer leads to.
    Slot(u32),
    Private(u32),
    /// A variable of the file or of another one; and one that nothing writes.
    Symbol(SmolStr),
    Constant(SmolStr),
}

impl Object {
    /// Whether no access to one meets a store to the other.
    #[must_use]
    pub fn is_apart(&self, other: &Object) -> bool {
        use Object::{Constant, Parameter, Private, Restrict, Unknown};
        match (self, other) {
            (one, other) if one == other => matches!(one, Constant(_)),
            (Restrict(_) | Private(_) | Constant(_), _)
            | (_, Restrict(_) | Private(_) | Constant(_)) => true,
            (Unknown | Parameter(_), _) | (_, Unknown | Parameter(_)) => false,
            _ => true,
        }
    }
}

/// The memory that an operation touches.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reference {
    pub object: Object,
    /// Of the access, from the address on.
    pub bytes: u32,
    pub volatile: bool,
    /// The type that the language accesses it by, `None` where it may be any: two accesses of different ones do not
    /// overlap (C11, 6.5 §7).
    pub accessed_as: Option<ir::Type>,
}

/// One machine operation: `(predicate) targets = mnemonic sources`.
#[derive(Clone, PartialEq, Debug)]
pub struct Operation {
    pub mnemonic: Mnemonic,
    /// `None`: always.
    pub predicate: Option<Virtual>,
    /// In front of `=`.
    pub targets: Vec<Operand>,
    /// Behind `=`; all operands where there is none.
    pub sources: Vec<Operand>,
    pub memory: Option<Reference>,
    /// In the source.
    pub loc: ir::Loc,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Block {
    pub operations: Vec<Operation>,
    /// How often an execution of the function comes here, as far as is known or estimated.
    pub weight: f64,
    /// The cycle of every operation, not descending, where a pipelined loop has decided: operations of a cycle are one
    /// group and stay in this order, an empty cycle is waiting time. Empty: not decided.
    pub cycles: Vec<u32>,
}

/// Registers that rotate, from `r32`, `f32` and `p16`. A pipelined loop names them as fixed ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rotating {
    /// A multiple of 8.
    pub general: u32,
    pub float: u32,
    pub predicate: u32,
}

/// Memory of the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    pub bytes: u32,
    pub align: u32,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Function {
    pub name: SmolStr,
    /// The file of every virtual register.
    pub registers: Vec<File>,
    /// The registers that have the arguments at the start.
    pub parameters: Vec<Virtual>,
    /// Where each of them arrives, and `None` where the code itself takes it from memory. What this says nothing of: a slot
    /// of the calling convention each, in order.
    pub arrivals: Vec<Option<Reg>>,
    /// General registers in which arguments arrive, where they are not as many as parameters.
    pub inputs: Option<u32>,
    /// Arguments behind those that have names lie in memory, one behind the other: from registers, too.
    pub variadic: bool,
    /// In layout order; the first is the entry, to which nothing branches.
    pub blocks: Vec<Block>,
    pub slots: Vec<Slot>,
    /// As many as its hungriest pipelined loop needs.
    pub rotating: Rotating,
    /// Virtual registers that have their place already, ascending: the rotating predicates of pipelined loops, which
    /// qualify operations. They live in no block but that of the loop.
    pub pinned: Vec<(Virtual, Reg)>,
    /// By slot: the registers in which arguments are passed on, behind all others of the frame.
    pub outputs: Vec<Virtual>,
    /// Bytes of arguments that are passed on in memory.
    pub outgoing: u32,
    /// Whether it calls: the return address and `gp` do not stay where they are.
    pub calls: bool,
    /// What has no code and is there as a pseudo-operation `refused`, whose source is the number in this list. There is no code of
    /// such a function, but bounds of the loops that hold none of them.
    pub refused: Vec<Refused>,
}

impl Function {
    /// Why an operation has no code.
    #[must_use]
    pub fn refusal(&self, operation: &Operation) -> Option<&Refused> {
        match operation.sources.first() {
            Some(&Operand::Number(number)) if operation.opcode() == Opcode::Refused => {
                self.refused.get(usize::try_from(number).ok()?)
            }
            _ => None,
        }
    }

    /// General registers in which arguments arrive.
    #[must_use]
    pub fn inputs(&self) -> u32 {
        let slots = self.parameters.len().min(8) as u32;
        self.inputs.unwrap_or(slots)
    }

    /// Where each parameter arrives.
    pub fn arriving(&self) -> impl Iterator<Item = (Virtual, Option<Reg>)> + '_ {
        let mut floats = 0u8;
        self.parameters.iter().enumerate().map(move |(at, &param)| {
            let float = self.file(param) == File::Float;
            floats += u8::from(float);
            let plain = match (float, at) {
                (true, _) if floats <= 8 => Some(Reg::float(7 + floats)),
                (false, 0..8) => Some(Reg::general(32 + at as u8)),
                _ => None,
            };
            (param, self.arrivals.get(at).copied().unwrap_or(plain))
        })
    }
}

impl From<Virtual> for Operand {
    fn from(register: Virtual) -> Operand {
        Operand::register(register)
    }
}
impl From<Reg> for Operand {
    fn from(register: Reg) -> Operand {
        Operand::fixed(register)
    }
}
impl From<Name> for Operand {
    fn from(name: Name) -> Operand {
        Operand::Register(name)
    }
}
impl From<i64> for Operand {
    fn from(number: i64) -> Operand {
        Operand::Number(number)
    }
}

impl Operand {
    #[must_use]
    pub const fn register(register: Virtual) -> Operand {
        Operand::Register(Name::Virtual(register))
    }
    #[must_use]
    pub const fn fixed(register: Reg) -> Operand {
        Operand::Register(Name::Fixed(register))
    }
    /// The register that it names, as a value or as an address.
    #[must_use]
    pub const fn name(&self) -> Option<Name> {
        match self {
            Operand::Register(name) | Operand::Address(name) => Some(*name),
            _ => None,
        }
    }
    /// The virtual register that it names.
    #[must_use]
    pub const fn virtual_register(&self) -> Option<Virtual> {
        match self.name() {
            Some(Name::Virtual(register)) => Some(register),
            _ => None,
        }
    }
}

impl Operation {
    /// One that always executes, touches no memory of the source, and stands nowhere in it.
    #[must_use]
    pub fn plain(mnemonic: Mnemonic, targets: Vec<Operand>, sources: Vec<Operand>) -> Operation {
        Operation {
            mnemonic,
            predicate: None,
            targets,
            sources,
            memory: None,
            loc: ir::Loc::NONE,
        }
    }
    /// The opcode without its completers.
    #[must_use]
    pub const fn opcode(&self) -> Opcode {
        self.mnemonic.opcode()
    }
    /// The class of the opcode; that of `mov` and of shifts depends on the operands besides.
    #[must_use]
    pub fn class(&self) -> Class {
        self.mnemonic.row().class
    }
    /// The way in which it leaves its block, if it is a branch.
    #[must_use]
    pub fn branch(&self) -> Option<Branch> {
        self.mnemonic.branch()
    }
    /// Virtual registers of operands and the predicate, in the order of the text, repetitions included.
    pub fn virtual_registers(&self) -> impl Iterator<Item = Virtual> + '_ {
        let operands = self.targets.iter().chain(&self.sources);
        self.predicate
            .into_iter()
            .chain(operands.filter_map(Operand::virtual_register))
    }
}

impl Operation {
    /// The base that a load, store or prefetch steps behind its access.
    #[must_use]
    pub fn stepped(&self) -> Option<Name> {
        if self.sources.len() < 2 {
            return None;
        }
        let operands = match self.class() {
            Class::Store | Class::FloatStore => &self.targets,
            Class::Load | Class::FloatLoad | Class::Prefetch => &self.sources,
            _ => return None,
        };
        let mut addresses = operands.iter().filter_map(|one| match one {
            Operand::Address(name) => Some(*name),
            _ => None,
        });
        addresses.next()
    }
    /// Virtual registers that it writes, a stepped base included.
    pub fn writes(&self) -> impl Iterator<Item = Virtual> + '_ {
        let targets = self.targets.iter().filter_map(|target| match target {
            Operand::Register(Name::Virtual(one)) => Some(*one),
            _ => None,
        });
        let base = match self.stepped() {
            Some(Name::Virtual(base)) => Some(base),
            _ => None,
        };
        targets.chain(base)
    }
    /// Virtual registers that it reads: sources, addresses, the predicate.
    pub fn reads(&self) -> impl Iterator<Item = Virtual> + '_ {
        let addresses = self
            .targets
            .iter()
            .filter(|target| matches!(target, Operand::Address(_)));
        let operands = self.sources.iter().chain(addresses);
        self.predicate
            .into_iter()
            .chain(operands.filter_map(Operand::virtual_register))
    }
    /// Whether it writes two predicates of a relation.
    #[must_use]
    pub fn is_compare(&self) -> bool {
        matches!(self.class(), Class::Compare | Class::FloatCompare)
    }
    /// A compare that only ever sets or clears its targets.
    #[must_use]
    pub fn is_parallel(&self) -> bool {
        use Completer::{And, Andcm, Or, Orcm};
        self.is_compare() && self.mnemonic.has_any(&[And, Or, Andcm, Orcm])
    }
    /// Whether it writes its targets whatever its predicate is: else old values may stay in them.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        !self.is_parallel() && (self.predicate.is_none() || self.mnemonic.has(Completer::Unc))
    }
}

impl Function {
    /// A new register of this file.
    pub fn register(&mut self, file: File) -> Virtual {
        self.registers.push(file);
        Virtual(self.registers.len() as u32 - 1)
    }
    #[must_use]
    pub fn file(&self, register: Virtual) -> File {
        self.registers[register.0 as usize]
    }
    /// The virtual register that stands for a place that is decided.
    pub fn pin(&mut self, place: Reg) -> Virtual {
        let one = self.register(place.file);
        self.pinned.push((one, place));
        one
    }
    /// Where it is, if that is decided.
    #[must_use]
    pub fn place(&self, register: Virtual) -> Option<Reg> {
        let found = self.pinned.binary_search_by_key(&register, |one| one.0);
        found.ok().map(|at| self.pinned[at].1)
    }
    /// Blocks to which control may go from this one, without repetitions: targets of branches, and the next of the layout
    /// where it falls through.
    #[must_use]
    pub fn successors(&self, block: u32) -> Vec<u32> {
        let operations = &self.blocks[block as usize].operations;
        let mut out: Vec<u32> = operations
            .iter()
            .flat_map(|operation| &operation.sources)
            .filter_map(|operand| match operand {
                Operand::Block(target) => Some(*target),
                _ => None,
            })
            .collect();
        let leaves = operations.last().is_some_and(|last| {
            last.predicate.is_none() && matches!(last.branch(), Some(Branch::Jump | Branch::Return))
        });
        if !leaves && (block as usize) + 1 < self.blocks.len() {
            out.push(block + 1);
        }
        out.sort_unstable();
        out.dedup();
        out
    }
}
