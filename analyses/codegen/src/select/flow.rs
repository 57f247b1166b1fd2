//! Blocks and edges: what a selection is asked for, and the drafts that it fills.

use super::{Draft, Exit, Flow, Guard};
use crate::mir::{Target, Virtual};
use crate::refusal::Refusal;
use ir::{Edge, Terminator, Value, ValueDef};
use rustc_hash::FxHashSet;
use std::ops::DerefMut;

/// A copy on an edge; `adapts`: the parameter's register holds another extension of the value than the argument's.
struct EdgeCopy {
    to: Virtual,
    from: Virtual,
    arg: Value,
    adapts: bool,
}

/// The selection of a target. It reads and writes the members of `Flow` as its own.
pub(crate) trait Select<'m>: DerefMut<Target = Flow<'m, Self::Set>> {
    type Set: Target;

    /// Takes the arguments, at the start of the entry.
    fn parameters(&mut self);
    fn instruction(&mut self, inst: ir::Inst);
    /// Puts the returned values in their places.
    fn results(&mut self, values: &[Value]);
    /// Forgets facts that are known of one block alone.
    fn forget(&mut self);
    fn refuse(&mut self, reason: Refusal);

    /// Returns true if the value is computed at all.
    fn is_needed(&self, value: Value) -> bool;
    fn class(&self, ty: ir::Type) -> <Self::Set as isa::InstructionSet>::Class;
    /// The register that is the value's own.
    fn home(&mut self, value: Value) -> Virtual;
    /// The register in which a value is read here.
    fn read(&mut self, value: Value) -> Virtual {
        if let Some(&kept) = self.kept.get(&value)
            && let ValueDef::Param(header, _) = self.source.values[value].def
            && let Some(own) = self.forest.of(header)
            && !self.forest.contains(own, self.here)
        {
            return kept;
        }
        self.home(value)
    }
    /// The guard that holds where the value does, and the one that holds where it does not, if there is one.
    fn branch_condition(&mut self, value: Value) -> (Guard, Option<Guard>);
    /// The same of a parameter that a loop's latch has moved on.
    fn kept_condition(&mut self, kept: Virtual) -> (Guard, Option<Guard>);
    /// The same of the relation that a value equals a number.
    fn equals(&mut self, value: Value, number: i64) -> (Guard, Option<Guard>);
    /// Returns true if the parameter's register holds another extension of the value than the argument's.
    fn adapts(&self, param: Value, arg: Value) -> bool;
    /// `to = from`, of one class.
    fn copy_register(&mut self, to: Virtual, from: Virtual);
    /// The same where `adapts`.
    fn adapt(&mut self, to: Virtual, from: Virtual, arg: Value);
    /// `to = constant`
    fn load_constant(&mut self, to: Virtual, constant: Value, adapts: bool);

    /// Writes all blocks.
    fn blocks(&mut self) {
        let source = self.source;
        for (at, &block) in source.layout.iter().enumerate() {
            self.starts.insert(block, at as u32);
            self.drafts.push(Draft {
                operations: Vec::new(),
                exit: Exit::Never,
                loc: source.blocks[block].loc,
                homes: (block, block),
                recovers: false,
            });
        }
        self.keep();
        for (at, &block) in source.layout.iter().enumerate() {
            self.now = at;
            self.here = block;
            self.forget();
            if at == 0 {
                self.parameters();
            }
            for &param in &source.blocks[block].params {
                if let Some(&kept) = self.kept.get(&param) {
                    let own = self.home(param);
                    self.copy_register(kept, own);
                }
            }
            for &inst in &source.blocks[block].insts {
                self.instruction(inst);
            }
            self.loc = source.blocks[block].loc;
            self.terminator(block);
        }
        if source.layout.is_empty() {
            self.refuse(Refusal::Unknown {
                reason: "the function has no body".into(),
            });
        }
    }

    /// Parameters of loops that end with a test of their own and whose value is read behind them: the latch moves on in
    /// front of the test. A form may read the operands of an operation in the place of its result, so they count, too.
    fn keep(&mut self) {
        let source = self.source;
        let mut bottoms: FxHashSet<ir::Block> = FxHashSet::default();
        for &block in &source.layout {
            for edge in source.blocks[block].terminator.edges() {
                if self.moves_on(block, edge) {
                    bottoms.insert(edge.block);
                }
            }
        }
        let mut kept: Vec<Value> = Vec::new();
        let mut look = |this: &Self, value: Value, at: ir::Block, test: bool| {
            if let ValueDef::Param(header, _) = source.values[value].def
                && bottoms.contains(&header)
                && (test
                    || this
                        .forest
                        .of(header)
                        .is_some_and(|own| !this.forest.contains(own, at)))
                && this.is_needed(value)
                && !kept.contains(&value)
            {
                kept.push(value);
            }
        };
        let mut look = |this: &Self, value: Value, at: ir::Block, test: bool| {
            look(this, value, at, test);
            let mut parts = vec![(value, 0)];
            while let Some((part, depth)) = parts.pop() {
                for &operand in within(source, part) {
                    look(this, operand, at, false);
                    if depth < WITHIN {
                        parts.push((operand, depth + 1));
                    }
                }
            }
        };
        for &block in &source.layout {
            for &inst in &source.blocks[block].insts {
                let data = &source.insts[inst];
                data.operands()
                    .for_each(|arg| look(self, arg, block, false));
            }
            let terminator = &source.blocks[block].terminator;
            let branches = terminator.selector().is_some();
            for &value in terminator.reads() {
                look(self, value, block, branches);
            }
            for edge in terminator.edges() {
                // On the way out the value is read behind the loop.
                for &arg in &edge.args {
                    look(self, arg, edge.block, false);
                }
            }
        }
        for value in kept {
            let class = self.class(source.ty(value));
            let register = self.out.register(class);
            self.kept.insert(value, register);
        }
    }

    /// Returns true if this edge is the only one of a test at a loop's end that goes on: its moves stand in front of
    /// the test.
    fn moves_on(&self, block: ir::Block, edge: &Edge) -> bool {
        let Terminator::Branch {
            then, otherwise, ..
        } = &self.source.blocks[block].terminator
        else {
            return false;
        };
        let other = if std::ptr::eq(edge, then) {
            otherwise
        } else {
            then
        };
        let Some(own) = self.forest.of(edge.block) else {
            return false;
        };
        self.forest.is_header(edge.block)
            && self.forest.contains(own, block)
            && !self.forest.contains(own, other.block)
    }

    fn terminator(&mut self, block: ir::Block) {
        let source = self.source;
        let now = self.now;
        self.drafts[now].loc = self.loc;
        let exit = match &source.blocks[block].terminator {
            Terminator::None | Terminator::Unreachable | Terminator::Trap => Exit::Never,
            Terminator::Kill => Exit::Return,
            Terminator::Jump(edge) => self.jump(edge),
            Terminator::Return(values) => {
                self.results(values);
                Exit::Return
            }
            Terminator::Branch {
                condition,
                then,
                otherwise,
                ..
            } => match source.int_constant(*condition) {
                Some(0) => self.jump(otherwise),
                Some(_) => self.jump(then),
                None => {
                    let (condition, negation) = match self.kept.get(condition).copied() {
                        Some(kept) => self.kept_condition(kept),
                        None => self.branch_condition(*condition),
                    };
                    for edge in [then, otherwise] {
                        if self.moves_on(block, edge) {
                            self.moves(edge);
                        }
                    }
                    Exit::Branch {
                        condition,
                        negation,
                        then: self.edge(block, then),
                        otherwise: self.edge(block, otherwise),
                    }
                }
            },
            Terminator::Switch {
                value,
                cases,
                default,
            } => {
                for (case, edge) in cases {
                    let (condition, negation) = self.equals(*value, *case);
                    let from = self.now;
                    let then = self.edge(block, edge);
                    let next = self.draft((block, block));
                    self.drafts[from].exit = Exit::Branch {
                        condition,
                        negation,
                        then,
                        otherwise: next,
                    };
                    self.now = next as usize;
                }
                self.jump(default)
            }
        };
        let now = self.now;
        self.drafts[now].exit = exit;
    }

    /// The exit to one block, behind the copies on the way.
    fn jump(&mut self, edge: &Edge) -> Exit {
        self.moves(edge);
        Exit::Jump(self.starts[&edge.block])
    }

    /// The draft to which an edge of several leads.
    fn edge(&mut self, block: ir::Block, edge: &Edge) -> u32 {
        let target = self.starts[&edge.block];
        let none = edge.args.is_empty() || self.moves_on(block, edge);
        if none {
            return target;
        }
        let (before, here) = (self.now, self.here);
        let split = self.draft((block, edge.block));
        self.now = split as usize;
        // A use on the way out of a loop is a use behind it.
        self.here = edge.block;
        let inside = self
            .forest
            .of(here)
            .is_some_and(|own| self.forest.contains(own, edge.block));
        if inside {
            self.here = here;
        }
        self.forget();
        self.moves(edge);
        self.drafts[split as usize].exit = Exit::Jump(target);
        self.forget();
        (self.now, self.here) = (before, here);
        split
    }

    /// Block parameters take their values, all at once.
    fn moves(&mut self, edge: &Edge) {
        let source = self.source;
        let mut copies: Vec<EdgeCopy> = Vec::new();
        let mut constants: Vec<(Virtual, Value, bool)> = Vec::new();
        for (&arg, &param) in edge.args.iter().zip(&source.blocks[edge.block].params) {
            if !self.is_needed(param) {
                continue;
            }
            let to = self.home(param);
            let adapts = self.adapts(param, arg);
            let constant = matches!(
                source.defining(arg).map(|data| &data.op),
                Some(ir::Op::Const(_) | ir::Op::Undef)
            );
            if constant {
                constants.push((to, arg, adapts));
                continue;
            }
            let from = self.read(arg);
            if from != to {
                copies.push(EdgeCopy {
                    to,
                    from,
                    arg,
                    adapts,
                });
            }
        }
        while !copies.is_empty() {
            let free = copies
                .iter()
                .position(|copy| copies.iter().all(|other| other.from != copy.to));
            match free {
                Some(at) => match copies.remove(at) {
                    EdgeCopy {
                        to,
                        from,
                        adapts: false,
                        ..
                    } => self.copy_register(to, from),
                    EdgeCopy { to, from, arg, .. } => self.adapt(to, from, arg),
                },
                None => {
                    // A circle: one of them steps aside.
                    let from = copies[0].from;
                    let aside = self.out.register_like(from);
                    self.copy_register(aside, from);
                    for copy in &mut copies {
                        if copy.from == from {
                            copy.from = aside;
                        }
                    }
                }
            }
        }
        for (to, constant, adapts) in constants {
            self.load_constant(to, constant, adapts);
        }
    }
}

/// Operations within each other that a form takes in.
const WITHIN: u32 = 3;

/// The operands of an operation that forms take in with their own: shifts, scales, masks and changes of width.
fn within(source: &ir::Function, value: Value) -> &[Value] {
    use ir::BinaryOp::{And, Mul, Or, Shl, ShrSigned, ShrUnsigned};
    match source.defining(value) {
        Some(data)
            if matches!(
                data.op,
                ir::Op::Binary(And | Mul | Or | Shl | ShrSigned | ShrUnsigned, _)
                    | ir::Op::Convert(_)
            ) =>
        {
            &data.args
        }
        _ => &[],
    }
}
