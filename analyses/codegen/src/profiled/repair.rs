//! A variable that several places set, as values in SSA form again: a parameter where different values meet,
//! and only there where one is read.
//!
//! An optimistic solution of "which value arrives", forwards: a meeting of different values is a value of its
//! own. It grows monotonically, so it ends; then only the parameters are made that a reader asks for.
//!
//! Source: Wegman and Zadeck, *Constant Propagation with Conditional Branches*, TOPLAS 1991, for the order of the solution;
//! Cytron et al., TOPLAS 1991, for the form.

use crate::prepare::edit;
use ir::cfg::ControlFlow;
use ir::entity::Entity;
use ir::{Block, Function, Loc, Op, Terminator, Type, Value};
use rustc_hash::FxHashMap;

/// The places that set a variable.
#[derive(Clone, Debug, Default)]
pub(super) struct Variable {
    /// At the beginning of a block, in front of everything that reads it there.
    pub(super) starts: FxHashMap<Block, Value>,
    /// At the end of a block, behind everything that reads it there.
    pub(super) ends: FxHashMap<Block, Value>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Arrives {
    /// No way to the place is known yet.
    None,
    /// Nothing has set it.
    Unset,
    Value(Value),
    /// Different ones meet at the start of this block.
    Meet(Block),
}

/// The values of a variable at the places that read it.
#[derive(Debug)]
pub(super) struct Repair<'v> {
    variable: &'v Variable,
    ty: Type,
    starts: Vec<Arrives>,
    before: Vec<Vec<Block>>,
    made: FxHashMap<Block, Value>,
    unset: Option<Value>,
}

impl<'v> Repair<'v> {
    /// `flow` is that of the function.
    pub(super) fn new(flow: &ControlFlow, variable: &'v Variable, ty: Type) -> Self {
        let blocks = flow.successors.len();
        let mut out = Repair {
            variable,
            ty,
            starts: vec![Arrives::None; blocks],
            before: vec![Vec::new(); blocks],
            made: FxHashMap::default(),
            unset: None,
        };
        for &block in &flow.order {
            out.before[block.index()] = flow.predecessors[block].to_vec();
        }
        if let Some(entry) = flow.order.first() {
            out.starts[entry.index()] = Arrives::Unset;
        }
        let mut changed = true;
        while changed {
            changed = false;
            for &block in flow.order.iter().skip(1) {
                let now = out.met(block);
                changed |= now != out.starts[block.index()];
                out.starts[block.index()] = now;
            }
        }
        out
    }

    fn met(&self, block: Block) -> Arrives {
        if self.starts[block.index()] == Arrives::Meet(block) {
            return Arrives::Meet(block);
        }
        let mut out = Arrives::None;
        for &from in &self.before[block.index()] {
            let value = self.end(from);
            match (out, value) {
                (_, Arrives::None) => {}
                (Arrives::None, _) => out = value,
                (known, _) if known == value => {}
                _ => return Arrives::Meet(block),
            }
        }
        out
    }

    fn middle(&self, block: Block) -> Arrives {
        match self.variable.starts.get(&block) {
            Some(&value) => Arrives::Value(value),
            None => self.starts[block.index()],
        }
    }

    fn end(&self, block: Block) -> Arrives {
        match self.variable.ends.get(&block) {
            Some(&value) => Arrives::Value(value),
            None => self.middle(block),
        }
    }

    /// The value that a block reads.
    pub(super) fn read(&mut self, function: &mut Function, block: Block) -> Value {
        let arrives = self.middle(block);
        self.value(function, arrives)
    }

    fn value(&mut self, function: &mut Function, arrives: Arrives) -> Value {
        let mut open = Vec::new();
        let out = self.named(function, arrives, &mut open);
        // Each of the parameters that were made has an argument from each side.
        while let Some(block) = open.pop() {
            for from in self.before[block.index()].clone() {
                let arrives = self.end(from);
                let value = self.named(function, arrives, &mut open);
                if let Terminator::Jump(edge) = &mut function.blocks[from].terminator {
                    edge.args.push(value);
                }
            }
        }
        out
    }

    fn named(&mut self, function: &mut Function, arrives: Arrives, open: &mut Vec<Block>) -> Value {
        match arrives {
            Arrives::Value(value) => value,
            Arrives::Meet(block) => {
                if let Some(&known) = self.made.get(&block) {
                    return known;
                }
                let param = edit::param(function, block, self.ty);
                self.made.insert(block, param);
                open.push(block);
                param
            }
            Arrives::None | Arrives::Unset => {
                let ty = self.ty;
                *self.unset.get_or_insert_with(|| {
                    let entry = function.entry();
                    let (inst, value) = edit::computed(function, Op::Undef, &[], ty, Loc::NONE);
                    function.blocks[entry].insts.insert(0, inst);
                    value
                })
            }
        }
    }
}

/// Takes parameters of a block away, with the arguments of its edges; each of these by the block that it came from, which
/// jumps there.
pub(super) fn without_params(
    function: &mut Function,
    block: Block,
    gone: &dyn Fn(Value) -> bool,
) -> Vec<(Block, Value, Value)> {
    let params = function.blocks[block].params.clone();
    let mut out = Vec::new();
    for from in function.layout.clone() {
        for edge in function.blocks[from].terminator.edges_mut() {
            if edge.block != block {
                continue;
            }
            let args = std::mem::take(&mut edge.args);
            for (&param, arg) in params.iter().zip(args) {
                match gone(param) {
                    true => out.push((from, param, arg)),
                    false => edge.args.push(arg),
                }
            }
        }
    }
    let left: Vec<Value> = params.into_iter().filter(|&param| !gone(param)).collect();
    for (number, &param) in left.iter().enumerate() {
        function.values[param].def = ir::ValueDef::Param(block, number as u32);
    }
    function.blocks[block].params = left;
    out
}
