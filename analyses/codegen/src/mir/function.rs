//! A function in machine operations on virtual registers: the result of selection, changed by predication and
//! pipelining, and the input of register allocation.
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

use super::Target;
use crate::refusal::Refused;
use ir::entity::Entity;
use isa::{Branch, InstructionSet};
use smallvec::SmallVec;
use smol_str::SmolStr;
use std::fmt;

/// A register before allocation: an index into `Function::registers`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Virtual(pub u32);

impl Entity for Virtual {
    fn new(index: usize) -> Virtual {
        Virtual(index as u32)
    }
    fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Name<T: InstructionSet> {
    Virtual(Virtual),
    /// One that the calling convention or an instruction asks for, and constants: `r0`, `f1`, `p0`, `ar.lc`.
    Fixed(T::Register),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Operand<T: InstructionSet> {
    Register(Name<T>),
    /// `[r5]`
    Address(Name<T>),
    Number(i64),
    /// A symbol as the assembler takes it: `@ltoff(table)`, a function to call.
    Symbol(SmolStr),
    /// The target of a branch: an index into `Function::blocks`.
    Block(u32),
    /// A number that is known when the frame is.
    Frame(FrameOffset),
}

/// An offset from the stack pointer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FrameOffset {
    /// The offset of a slot: an index into `Function::slots`.
    Slot(u32),
    /// This many bytes behind the first spilled value.
    Spill(u32),
    /// This many bytes behind the first argument that arrives in memory.
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

/// The memory that an address points into, as far as the source tells; `S`: the name of a variable of the frame.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Object<S = u32> {
    Unknown,
    /// The memory that this parameter points to.
    Parameter(u32),
    /// Memory that only this parameter's pointer reaches while the function runs.
    Restrict(u32),
    /// An index into `Function::slots`; and one that no other pointer leads to.
    Slot(S),
    Private(S),
    /// A variable of the file or of another one; and one that nothing writes.
    Symbol(SmolStr),
    Constant(SmolStr),
}

impl<S: PartialEq> Object<S> {
    /// Returns true if no access to one meets a store to the other.
    #[must_use]
    pub fn is_apart(&self, other: &Self) -> bool {
        use Object::{Constant, Parameter, Private, Restrict, Slot, Unknown};
        match (self, other) {
            (left, right) if left == right => matches!(left, Constant(_)),
            (Restrict(_) | Private(_) | Constant(_), _)
            | (_, Restrict(_) | Private(_) | Constant(_)) => true,
            // The variables of a call begin to exist when its arguments are there.
            (Parameter(_), Slot(_)) | (Slot(_), Parameter(_)) => true,
            (Unknown | Parameter(_), _) | (_, Unknown | Parameter(_)) => false,
            _ => true,
        }
    }
}

/// The memory that an operation touches.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reference {
    pub object: Object,
    /// The bytes of the access, from the address on.
    pub bytes: u32,
    pub volatile: bool,
    /// The type that the language accesses it by, `None` where it may be any: two accesses of different ones do not
    /// overlap (C11, 6.5 §7).
    pub accessed_as: Option<ir::Type>,
}

/// Operands in front of `=`, without memory of their own as far as most operations have them.
pub type Targets<T> = SmallVec<[Operand<T>; 1]>;

/// Operands behind it.
pub type Sources<T> = SmallVec<[Operand<T>; 3]>;

/// One machine operation: `(predicate) targets = mnemonic sources`.
#[derive(Clone, PartialEq, Debug)]
pub struct Operation<T: InstructionSet> {
    pub mnemonic: T::Mnemonic,
    /// `None`: always.
    pub predicate: Option<Virtual>,
    /// In front of `=`.
    pub targets: Targets<T>,
    /// The operands behind `=`; all operands if there is no `=`.
    pub sources: Sources<T>,
    pub memory: Option<Reference>,
    /// In the source.
    pub loc: ir::Loc,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Block<T: InstructionSet> {
    pub operations: Vec<Operation<T>>,
    /// The number of times that an execution of the function comes here, as far as is known or estimated.
    pub weight: f64,
    /// The cycle of every operation, not descending, where a pipelined loop has decided: operations of a cycle are one
    /// group and stay in this order, an empty cycle is waiting time. Empty: not decided.
    pub cycles: Vec<u32>,
    /// The known bounds of the trip count of the loop that begins here.
    pub rounds: Option<Rounds>,
}

/// The rounds of a loop each time that it is entered, as its constants or a promise of the source tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rounds {
    pub least: u64,
    pub most: u64,
    /// Their number is a multiple of this.
    pub multiple: u64,
    /// Iterations of the source in a round.
    pub iterations: u32,
}

impl Rounds {
    /// Of a loop that is entered, and no more is known.
    pub const ANY: Rounds = Rounds {
        least: 1,
        most: u64::MAX,
        multiple: 1,
        iterations: 1,
    };

    /// The number that estimates count with: between the least and the most, on their scale.
    #[must_use]
    pub fn usual(self) -> f64 {
        (self.least.max(1) as f64 * self.most.max(1) as f64).sqrt()
    }
}

impl<T: InstructionSet> Default for Block<T> {
    fn default() -> Block<T> {
        Block {
            operations: Vec::new(),
            weight: 0.0,
            cycles: Vec::new(),
            rounds: None,
        }
    }
}

/// Memory of the frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    pub bytes: u32,
    pub align: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Function<T: Target> {
    pub name: SmolStr,
    /// The class of every virtual register.
    pub registers: Vec<T::Class>,
    /// The registers that have the arguments at the start.
    pub parameters: Vec<Virtual>,
    /// The register in which each of them arrives; `None` where the code itself takes it from memory.
    /// Parameters behind the end of the list arrive in the place of the calling convention.
    pub arrivals: Vec<Option<T::Register>>,
    /// In layout order; the first is the entry, to which nothing branches.
    pub blocks: Vec<Block<T>>,
    pub slots: Vec<Slot>,
    /// Virtual registers that have their place already, ascending: the rotating predicates of pipelined loops, which
    /// qualify operations. They live in no block but that of the loop.
    pub pinned: Vec<(Virtual, T::Register)>,
    /// Registers that hold more than a spill slot does: they never go to memory.
    pub kept: Vec<Virtual>,
    /// Objects behind which so many bytes may be read, as the source promises.
    pub readable: Vec<(Object, u32)>,
    /// The registers in which arguments are passed on, in their order, where the convention places them behind all others.
    pub outputs: Vec<Virtual>,
    /// Bytes of arguments that are passed on in memory.
    pub outgoing: u32,
    /// True if it calls: the return address does not stay where it is.
    pub calls: bool,
    /// The further properties on which the target's frame depends.
    pub frame: T::Frame,
    /// Statements without code, which stand as pseudo-operations whose source is the number in this list.
    /// Such a function has no code, but its loops that hold none of them have bounds.
    pub refused: Vec<Refused>,
}

impl<T: Target> Function<T> {
    /// The bytes behind an object that may be read.
    #[must_use]
    pub fn readable_behind(&self, object: &Object) -> u32 {
        let promised = self.readable.iter().filter(|(own, _)| own == object);
        promised.map(|(_, bytes)| *bytes).max().unwrap_or(0)
    }

    /// The same without operations.
    pub(crate) fn hollow(&self) -> Function<T> {
        let blocks = self.blocks.iter().map(|block| Block {
            operations: Vec::new(),
            weight: block.weight,
            cycles: block.cycles.clone(),
            rounds: block.rounds,
        });
        Function {
            name: self.name.clone(),
            registers: self.registers.clone(),
            parameters: self.parameters.clone(),
            arrivals: self.arrivals.clone(),
            blocks: blocks.collect(),
            slots: self.slots.clone(),
            pinned: self.pinned.clone(),
            kept: self.kept.clone(),
            readable: self.readable.clone(),
            outputs: self.outputs.clone(),
            outgoing: self.outgoing,
            calls: self.calls,
            frame: self.frame.clone(),
            refused: self.refused.clone(),
        }
    }
}

impl<T: Target> Default for Function<T> {
    fn default() -> Function<T> {
        Function {
            name: SmolStr::default(),
            registers: Vec::new(),
            parameters: Vec::new(),
            arrivals: Vec::new(),
            blocks: Vec::new(),
            slots: Vec::new(),
            pinned: Vec::new(),
            kept: Vec::new(),
            readable: Vec::new(),
            outputs: Vec::new(),
            outgoing: 0,
            calls: false,
            frame: T::Frame::default(),
            refused: Vec::new(),
        }
    }
}

impl<T: Target> Function<T> {
    /// Returns where each parameter arrives.
    pub fn arriving(&self) -> impl Iterator<Item = (Virtual, Option<T::Register>)> + '_ {
        let plain = T::arrivals(self);
        self.parameters.iter().enumerate().map(move |(at, &param)| {
            let known = self.arrivals.get(at).copied();
            (
                param,
                known.unwrap_or_else(|| plain.get(at).copied().flatten()),
            )
        })
    }
}

impl<T: InstructionSet> From<Virtual> for Operand<T> {
    fn from(register: Virtual) -> Operand<T> {
        Operand::register(register)
    }
}
impl<T: InstructionSet> From<Name<T>> for Operand<T> {
    fn from(name: Name<T>) -> Operand<T> {
        Operand::Register(name)
    }
}
impl<T: InstructionSet> From<i64> for Operand<T> {
    fn from(number: i64) -> Operand<T> {
        Operand::Number(number)
    }
}

impl<T: InstructionSet> Operand<T> {
    #[must_use]
    pub const fn register(register: Virtual) -> Operand<T> {
        Operand::Register(Name::Virtual(register))
    }
    #[must_use]
    pub const fn fixed(register: T::Register) -> Operand<T> {
        Operand::Register(Name::Fixed(register))
    }
    /// The register that it names, as a value or as an address.
    #[must_use]
    pub const fn name(&self) -> Option<Name<T>> {
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

impl<T: InstructionSet> Operation<T> {
    /// One that always executes, touches no memory of the source, and stands nowhere in it.
    #[must_use]
    pub fn plain(
        mnemonic: T::Mnemonic,
        targets: impl Into<Targets<T>>,
        sources: impl Into<Sources<T>>,
    ) -> Operation<T> {
        Operation {
            mnemonic,
            predicate: None,
            targets: targets.into(),
            sources: sources.into(),
            memory: None,
            loc: ir::Loc::NONE,
        }
    }
    /// The same under a predicate.
    #[must_use]
    pub fn under(self, predicate: impl Into<Option<Virtual>>) -> Operation<T> {
        let predicate = predicate.into();
        Operation { predicate, ..self }
    }
    /// The same at a place in the source.
    #[must_use]
    pub fn at(self, loc: ir::Loc) -> Operation<T> {
        Operation { loc, ..self }
    }
    /// The way in which it leaves its block, if it is a branch.
    #[must_use]
    pub fn branch(&self) -> Option<Branch> {
        T::branch(self.mnemonic)
    }
    /// The blocks to which it may branch. What only names a block, as the one that a loop begins with, leads nowhere.
    pub fn branches_to(&self) -> impl Iterator<Item = u32> + '_ {
        let leads = !T::names_ahead(self.mnemonic);
        let sources = self.sources.iter().filter(move |_| leads);
        sources.filter_map(|source| match source {
            Operand::Block(target) => Some(*target),
            _ => None,
        })
    }
    /// Returns true if it executes where its guard holds, and not where it does not.
    #[must_use]
    pub fn executes_where_held(&self) -> bool {
        T::executes_where_held(self.mnemonic)
    }
    /// Its guard, and the value of the guard for which it executes.
    #[must_use]
    pub fn condition(&self) -> Option<(Virtual, bool)> {
        Some((self.predicate?, self.executes_where_held()))
    }
    /// Returns true if control never goes on behind it.
    #[must_use]
    pub fn leaves(&self) -> bool {
        self.predicate.is_none() && matches!(self.branch(), Some(Branch::Jump | Branch::Return))
    }
    /// Virtual registers of operands and the predicate, in the order of the text, repetitions included.
    pub fn virtual_registers(&self) -> impl Iterator<Item = Virtual> + '_ {
        let operands = self.targets.iter().chain(&self.sources);
        self.predicate
            .into_iter()
            .chain(operands.filter_map(Operand::virtual_register))
    }
    /// The base that a load, store or prefetch steps behind its access.
    #[must_use]
    pub fn stepped(&self) -> Option<Name<T>> {
        if !T::steps(self.mnemonic, self.targets.len(), self.sources.len()) {
            return None;
        }
        let operands = self.targets.iter().chain(&self.sources);
        let mut addresses = operands.filter_map(|operand| match operand {
            Operand::Address(name) => Some(*name),
            _ => None,
        });
        addresses.next()
    }
    /// Virtual registers that it writes, a stepped base included.
    pub fn writes(&self) -> impl Iterator<Item = Virtual> + '_ {
        let targets = self.targets.iter().filter_map(|target| match target {
            Operand::Register(Name::Virtual(register)) => Some(*register),
            _ => None,
        });
        let base = match self.stepped() {
            Some(Name::Virtual(base)) => Some(base),
            _ => None,
        };
        targets.chain(base)
    }
    /// Virtual registers that it reads: sources, addresses, the predicate, targets to which it adds.
    pub fn reads(&self) -> impl Iterator<Item = Virtual> + '_ {
        let accumulates = T::accumulates(self.mnemonic);
        let targets = self
            .targets
            .iter()
            .filter(move |target| accumulates || matches!(target, Operand::Address(_)));
        let operands = self.sources.iter().chain(targets);
        self.predicate
            .into_iter()
            .chain(operands.filter_map(Operand::virtual_register))
    }
    /// Returns true if it writes its targets whatever its predicate is; otherwise old values may stay in
    /// them.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        T::overwrites(self.mnemonic, self.predicate.is_some())
    }
}

impl<T: Target> Function<T> {
    /// A new register of this class.
    pub fn register(&mut self, class: T::Class) -> Virtual {
        self.registers.push(class);
        Virtual(self.registers.len() as u32 - 1)
    }
    /// A new register for what another one holds.
    pub fn register_like(&mut self, other: Virtual) -> Virtual {
        let made = self.register(self.class(other));
        if self.kept.contains(&other) {
            self.kept.push(made);
        }
        made
    }
    #[must_use]
    pub fn class(&self, register: Virtual) -> T::Class {
        self.registers[register.0 as usize]
    }
    /// The virtual register that stands for a place that is decided.
    pub fn pin(&mut self, place: T::Register) -> Virtual {
        let found = self.register(T::class(place));
        self.pinned.push((found, place));
        found
    }
    /// Returns where it is, if that is decided.
    #[must_use]
    pub fn place(&self, register: Virtual) -> Option<T::Register> {
        let found = self.pinned.binary_search_by_key(&register, |it| it.0);
        found.ok().map(|at| self.pinned[at].1)
    }
    /// Blocks to which control may go from this one, without repetitions: targets of branches, and the next of the layout
    /// where it falls through.
    #[must_use]
    pub fn successors(&self, block: u32) -> Vec<u32> {
        let operations = &self.blocks[block as usize].operations;
        let targets = operations.iter().flat_map(Operation::branches_to);
        let mut out: Vec<u32> = targets.collect();
        let leaves = operations.last().is_some_and(Operation::leaves);
        if !leaves && (block as usize) + 1 < self.blocks.len() {
            out.push(block + 1);
        }
        out.sort_unstable();
        out.dedup();
        out
    }
}
