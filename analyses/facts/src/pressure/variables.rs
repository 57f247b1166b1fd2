//! The variables that fill the registers where most is live, and the cheapest way to be without each of them there.
//!
//! ```text
//! i = blockIdx.x * blockDim.x + threadIdx.x;     at the peak: `i`, affine, read twice behind it:
//! s = *scale;                                    recompute in 3 operations; `s`, uniform: one slot a warp
//! ```
//!
//! A value is computed again from operands that need no register (literals, parameters of kernels, thread
//! coordinates) and from values that live to each of its reads anyway; loaded again from memory that nobody
//! writes; else its uniform part is kept once for the warp, or the value once a lane, in memory (Sampaio et
//! al. 2013, Figure 18). Where the machine has scalar registers, a uniform value is kept in one of those;
//! stages of a pipeline, which have no shared memory, keep it in a lane. A slot of a warp needs every read to
//! be as uniform as the definition: a value that lanes take out of a loop in different iterations is not. Not
//! considered: the cost of the rewriting if a compiler undoes it.

use super::files::is_uniform;
use super::liveness::Liveness;
use super::{Counted, Pressure};
use crate::model::{Class, FunctionFacts};
use fixedbitset::FixedBitSet;
use ir::loops::LoopForest;
use ir::{
    BinaryOp, BindingKind, Block, Convert, Function, FunctionKind, InstData, Loc, Op, Special,
    UnaryOp, Value, ValueDef, Variable,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Operations that a value is computed with again, at most.
const MOST: u32 = 4;

/// A way to be without a value at the peak.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Remedy {
    /// Kept in a scalar register, which a broadcast puts it into.
    ScalarRegister,
    /// Computed again where it is read, with so many operations.
    Recompute { operations: u32 },
    /// Loaded again from memory that is not written while the kernel runs.
    Reload,
    /// One copy for the warp in shared memory.
    WarpSlot,
    /// The uniform part of an affine value in shared memory, once for the warp; two operations rebuild the value.
    WarpSlotOfBase,
    /// One lane of a register that other uniform values share: of stages, which have no shared memory.
    RegisterLane,
    /// One copy for each lane, as in a compiler's spill.
    LaneSlot,
    /// The instruction of the peak reads it.
    Needed,
}

/// A variable, or a value without a name, that is live at the peak.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LiveVariable {
    /// `None`: a temporary, which `defined` shows.
    pub variable: Option<Variable>,
    /// Registers of 32 bits, of all its components.
    pub registers: u32,
    pub values: SmallVec<[Value; 4]>,
    /// The least uniform of its values at any of their reads.
    pub class: Class,
    /// The place where its value comes from.
    pub defined: Loc,
    /// The places that read it, and how many of the instructions there are executed more often than it is defined.
    pub reads: SmallVec<[Loc; 4]>,
    pub reads_in_loops: u32,
    /// The first place of those in loops.
    pub in_loop: Option<Loc>,
    pub remedy: Remedy,
}

/// A place that reads a value.
#[derive(Clone, Copy)]
struct Read {
    block: Block,
    /// In the block; its terminator stands behind all others.
    inst: u32,
    loc: Loc,
}

struct Context<'f> {
    function: &'f Function,
    facts: &'f FunctionFacts,
    liveness: Liveness<'f>,
    forest: LoopForest,
    /// The machine has scalar registers beside those that are counted.
    has_scalar: bool,
    /// The reads of each value, in the order of the code.
    reads: FxHashMap<u32, Vec<Read>>,
    /// The block that defines each value.
    home: FxHashMap<u32, Block>,
}

/// Returns the variables that are live at the peak, the largest first. `None` where the function is too
/// large.
#[must_use]
pub fn variables(
    function: &Function,
    facts: &FunctionFacts,
    counted: Counted<'_>,
    pressure: &Pressure,
) -> Option<Vec<LiveVariable>> {
    let liveness = Liveness::new(function, counted)?;
    let forest = LoopForest::new(&liveness.flow);
    let mut context = Context {
        function,
        facts,
        liveness,
        forest,
        has_scalar: matches!(counted, Counted::Vector(_)),
        reads: FxHashMap::default(),
        home: FxHashMap::default(),
    };
    context.collect();
    let names = context.names(&pressure.live);
    let mut out: Vec<LiveVariable> = Vec::new();
    let mut known: FxHashMap<Variable, usize> = FxHashMap::default();
    for &value in &pressure.live {
        let variable = names.get(&value).copied();
        let made = context.describe(value, variable, pressure);
        match variable.and_then(|variable| known.get(&variable)) {
            Some(&at) => join(&mut out[at], made),
            None => {
                known.extend(variable.map(|variable| (variable, out.len())));
                out.push(made);
            }
        }
    }
    out.sort_by_key(|it| (std::cmp::Reverse(it.registers), it.defined.span.start));
    Some(out)
}

/// Components of one variable.
fn join(into: &mut LiveVariable, more: LiveVariable) {
    into.registers += more.registers;
    into.class = into.class.max(more.class);
    into.reads.extend(more.reads);
    into.reads_in_loops += more.reads_in_loops;
    into.in_loop = into.in_loop.or(more.in_loop);
    into.remedy = into.remedy.max(more.remedy);
    into.values.extend(more.values);
}

impl Context<'_> {
    fn collect(&mut self) {
        for &block in &self.liveness.flow.order.clone() {
            let data = &self.function.blocks[block];
            for &param in &data.params {
                self.home.insert(param.0, block);
            }
            for (number, &inst) in (0..).zip(&data.insts) {
                let inst = &self.function.insts[inst];
                for &result in &inst.results {
                    self.home.insert(result.0, block);
                }
                self.note_reads(block, number, inst.loc, |liveness, used| {
                    liveness.use_inst(inst, used);
                });
            }
            let number = data.insts.len() as u32;
            self.note_reads(block, number, data.loc, |liveness, used| {
                liveness.use_terminator(block, used);
            });
        }
    }

    fn note_reads(
        &mut self,
        block: Block,
        inst: u32,
        loc: Loc,
        uses: impl FnOnce(&Liveness<'_>, &mut dyn FnMut(usize)),
    ) {
        let mut found: SmallVec<[usize; 4]> = SmallVec::new();
        uses(&self.liveness, &mut |value| found.push(value));
        found.sort_unstable();
        found.dedup();
        for value in found {
            let read = Read { block, inst, loc };
            self.reads.entry(value as u32).or_default().push(read);
        }
    }

    fn canonical(&self, value: Value) -> Value {
        Value(self.liveness.names[value.0 as usize] as u32)
    }

    /// The variable of each value: that which it was put into first, or that which is read where paths have merged.
    fn names(&self, live: &[Value]) -> FxHashMap<Value, Variable> {
        let mut written: FxHashMap<Value, Variable> = FxHashMap::default();
        let mut read: FxHashMap<Value, Variable> = FxHashMap::default();
        for binding in &self.function.bindings {
            for &value in &binding.values {
                let value = self.canonical(value);
                if live.binary_search(&value).is_err() {
                    continue;
                }
                let names = match binding.kind {
                    BindingKind::Read => &mut read,
                    BindingKind::Declaration | BindingKind::Assignment => &mut written,
                };
                names.entry(value).or_insert(binding.variable);
            }
        }
        for (value, variable) in read {
            written.entry(value).or_insert(variable);
        }
        written
    }

    fn describe(
        &self,
        value: Value,
        variable: Option<Variable>,
        pressure: &Pressure,
    ) -> LiveVariable {
        let reads = self.reads.get(&value.0).map_or(&[][..], Vec::as_slice);
        let home = self.home.get(&value.0).copied();
        let often = |read: &&Read| {
            home.is_some_and(|home| self.forest.outermost_without(read.block, home).is_some())
        };
        let own = self.facts.values[value].class;
        let at = |read: &Read| self.facts.at(value, read.block).class;
        let class = reads.iter().map(at).fold(own, Class::max);
        LiveVariable {
            variable,
            registers: self.liveness.width[value.0 as usize],
            values: SmallVec::from_slice(&[value]),
            class,
            defined: self.defined(value, variable),
            reads: reads.iter().map(|read| read.loc).collect(),
            reads_in_loops: reads.iter().filter(often).count() as u32,
            in_loop: reads.iter().find(often).map(|read| read.loc),
            remedy: self.remedy(value, class, reads, pressure),
        }
    }

    fn defined(&self, value: Value, variable: Option<Variable>) -> Loc {
        match self.function.values[value].def {
            ValueDef::Result(inst, _) => self.function.insts[inst].loc,
            ValueDef::Param(..) => {
                variable.map_or(Loc::NONE, |it| self.function.variables[it].declared)
            }
        }
    }

    fn remedy(&self, value: Value, class: Class, reads: &[Read], pressure: &Pressure) -> Remedy {
        let at_peak = |read: &Read| read.block == pressure.block && read.inst == pressure.inst;
        if reads.iter().any(at_peak) {
            return Remedy::Needed;
        }
        let uniform = class == Class::Uniform && is_uniform(self.facts, value);
        if uniform && self.has_scalar {
            return Remedy::ScalarRegister;
        }
        let later: SmallVec<[FixedBitSet; 4]> =
            reads.iter().map(|read| self.live_behind(*read)).collect();
        if let Some(operations) = self.operations(value, &later, MOST) {
            return Remedy::Recompute { operations };
        }
        if self.loads_again(value, &later) {
            return Remedy::Reload;
        }
        let integer = !self.function.ty(value).is_float();
        let shares = !matches!(self.function.kind, FunctionKind::Stage(_));
        match class {
            Class::Uniform if uniform && shares => Remedy::WarpSlot,
            Class::Uniform if uniform => Remedy::RegisterLane,
            Class::Affine if integer && shares => Remedy::WarpSlotOfBase,
            _ => Remedy::LaneSlot,
        }
    }

    /// Returns the values that are live behind a read.
    fn live_behind(&self, read: Read) -> FixedBitSet {
        let data = &self.function.blocks[read.block];
        let mut live = self.liveness.at_end(read.block);
        if (read.inst as usize) < data.insts.len() {
            self.liveness
                .use_terminator(read.block, &mut |value| live.insert(value));
            for &inst in data.insts[read.inst as usize + 1..].iter().rev() {
                let inst = &self.function.insts[inst];
                for &result in &inst.results {
                    live.set(result.0 as usize, false);
                }
                self.liveness
                    .use_inst(inst, &mut |value| live.insert(value));
            }
        }
        live
    }

    /// The number of operations that compute a value again from values available at each read; `None`: too
    /// many, or it is impossible.
    fn operations(&self, value: Value, later: &[FixedBitSet], most: u32) -> Option<u32> {
        let inst = self.function.defining(value)?;
        let cost = again(inst)?;
        let mut sum = cost;
        for &arg in &inst.args {
            let arg = self.canonical(arg);
            if self.is_there(arg, later) {
                continue;
            }
            let left = most.checked_sub(sum)?;
            sum += self.operations(arg, later, left)?;
        }
        (sum <= most).then_some(sum)
    }

    /// Returns whether a value takes no register or lives to all of the reads.
    fn is_there(&self, value: Value, later: &[FixedBitSet]) -> bool {
        let free =
            self.liveness.width[value.0 as usize] == 0 && self.function.ty(value) != ir::Type::Bool;
        free || later.iter().all(|live| live.contains(value.0 as usize))
    }

    /// Returns whether the value is loaded from memory that is not written, at an address that is available
    /// at each read.
    fn loads_again(&self, value: Value, later: &[FixedBitSet]) -> bool {
        let Some(inst) = self.function.defining(value) else {
            return false;
        };
        let unchanged = match &inst.op {
            Op::Load(access) => access.read_only && !access.volatile && inst.guard.is_none(),
            _ => false,
        };
        unchanged
            && inst.args.iter().all(|&arg| {
                let arg = self.canonical(arg);
                self.is_there(arg, later) || self.operations(arg, later, 2).is_some()
            })
    }
}

/// Operations of a processor that an instruction takes when it is executed again; `None`: it gives something else then, or
/// is too dear.
fn again(inst: &InstData) -> Option<u32> {
    if inst.guard.is_some() {
        return None;
    }
    match &inst.op {
        Op::Special(
            Special::ThreadId(_)
            | Special::BlockId(_)
            | Special::BlockDim(_)
            | Special::GridDim(_)
            | Special::LaneId,
        )
        | Op::Select
        | Op::Fma
        | Op::PtrAdd => Some(1),
        Op::Binary(
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Mul
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Xor
            | BinaryOp::Shl
            | BinaryOp::FloatAdd
            | BinaryOp::FloatSub
            | BinaryOp::FloatMul,
            _,
        ) => Some(1),
        Op::Unary(UnaryOp::Neg | UnaryOp::Not) => Some(1),
        Op::Convert(
            Convert::Truncate | Convert::Bitcast | Convert::SignExtend | Convert::ZeroExtend,
        ) => Some(1),
        _ => None,
    }
}

#[cfg(test)]
#[path = "variables_tests.rs"]
mod tests;
