//! From the IR's blocks to a target's: what the selections of all targets share.
//!
//! ```text
//! while (i < n) { i++; }      head: test, leaves         test; head: i + 1, test, branches to itself
//!                             body: i + 1, jumps to head
//! ```
//!
//! A selection writes the operations of each block into a *draft* with an explicit exit; block parameters become copies on
//! edges (`flow`). Then drafts are laid out: a loop that tests at its top tests at its bottom too, so that an inner loop
//! without control flow in it is one block that branches to itself; what one jump leads to follows it (`layout`).

pub(crate) mod extension;
mod flow;
mod layout;
mod words;

pub(crate) use flow::Select;
pub(crate) use layout::Leaving;
pub(crate) use words::name;

use crate::mir::{Function, Operation, Rounds, Target, Virtual};
use ir::loops::LoopForest;
use ir::{Loc, Value};
use rustc_hash::FxHashMap;

/// A register that guards operations, and the value of it for which they execute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Guard {
    pub register: Virtual,
    pub holds: bool,
}

impl Guard {
    /// The guard that holds where the register does.
    pub(crate) const fn of(register: Virtual) -> Guard {
        Guard {
            register,
            holds: true,
        }
    }
}

/// The terminator of a draft.
#[derive(Clone, Debug)]
pub(crate) enum Exit {
    Jump(u32),
    Branch {
        condition: Guard,
        /// The guard that holds where the condition does not, if there is one.
        negation: Option<Guard>,
        then: u32,
        otherwise: u32,
    },
    /// A value that a failed speculative load may have marked.
    Check {
        register: Virtual,
        /// The draft that loads it.
        failed: u32,
        otherwise: u32,
    },
    Return,
    /// Nothing comes here.
    Never,
}

impl Exit {
    /// The drafts to which it leads.
    pub(crate) fn targets(&mut self) -> Vec<&mut u32> {
        match self {
            Exit::Jump(to) => vec![to],
            Exit::Branch {
                then, otherwise, ..
            } => vec![then, otherwise],
            Exit::Check {
                failed, otherwise, ..
            } => vec![failed, otherwise],
            Exit::Return | Exit::Never => Vec::new(),
        }
    }
}

/// A block that is being written.
#[derive(Clone, Debug)]
pub(crate) struct Draft<T: Target> {
    pub operations: Vec<Operation<T>>,
    pub exit: Exit,
    /// The place of the condition.
    pub loc: Loc,
    /// The blocks of the IR that it lies in: both ends of an edge.
    pub homes: (ir::Block, ir::Block),
    /// True if it is only executed where a speculative load failed.
    pub recovers: bool,
}

/// A function on its way into machine operations.
pub(crate) struct Flow<'m, T: Target> {
    pub source: &'m ir::Function,
    pub out: Function<T>,
    pub drafts: Vec<Draft<T>>,
    /// The draft that is written.
    pub now: usize,
    /// The block of the IR that is selected.
    pub here: ir::Block,
    /// The draft in which each block of the IR begins.
    pub starts: FxHashMap<ir::Block, u32>,
    pub forest: LoopForest,
    /// The value of a loop's parameter before the latch moved on, for uses outside of the loop.
    pub kept: FxHashMap<Value, Virtual>,
    /// Operations in front of everything.
    pub entry: Vec<Operation<T>>,
    /// The guard of the operations being written.
    pub predicate: Option<Virtual>,
    /// The place of the operations being written.
    pub loc: Loc,
    /// The number of executions of each block of the IR. `None`: estimated from loops.
    pub weights: Option<&'m [f64]>,
    /// The known bounds of trip counts of loops, by header.
    pub rounds: FxHashMap<ir::Block, Rounds>,
}

impl<'m, T: Target> Flow<'m, T> {
    pub(crate) fn new(source: &'m ir::Function, name: smol_str::SmolStr) -> Flow<'m, T> {
        let flow = ir::cfg::ControlFlow::new(source);
        Flow {
            source,
            out: Function {
                name,
                ..Function::default()
            },
            drafts: Vec::new(),
            now: 0,
            here: source.entry(),
            starts: FxHashMap::default(),
            forest: LoopForest::new(&flow),
            kept: FxHashMap::default(),
            entry: Vec::new(),
            predicate: None,
            loc: Loc::NONE,
            weights: None,
            rounds: FxHashMap::default(),
        }
    }

    /// Appends an operation under the present guard and at the present place.
    pub(crate) fn append(&mut self, operation: Operation<T>) {
        let operation = operation.under(self.predicate).at(self.loc);
        self.written().operations.push(operation);
    }

    /// The draft that is written.
    pub(crate) fn written(&mut self) -> &mut Draft<T> {
        &mut self.drafts[self.now]
    }
    /// A new draft in the block that is selected.
    pub(crate) fn draft_here(&mut self) -> u32 {
        self.draft((self.here, self.here))
    }

    /// A new draft, without operations.
    pub(crate) fn draft(&mut self, homes: (ir::Block, ir::Block)) -> u32 {
        self.drafts.push(Draft {
            operations: Vec::new(),
            exit: Exit::Never,
            loc: self.loc,
            homes,
            recovers: false,
        });
        self.drafts.len() as u32 - 1
    }
}

/// Values that an effect, a branch or a result depends on.
pub(crate) fn needed(function: &ir::Function) -> ir::EntitySet<Value> {
    let operands = ir::needed::operands(function);
    let executes = |inst: ir::Inst| function.insts[inst].op.has_effect();
    let mut roots = ir::needed::roots(function, executes, &operands);
    // Results of what is executed anyway have their registers.
    let blocks = function.layout.iter();
    let insts = blocks.flat_map(|&block| &function.blocks[block].insts);
    let executed = insts.filter(|&&inst| executes(inst));
    roots.extend(executed.flat_map(|&inst| &function.insts[inst].results));
    ir::needed::needed(function, roots, &operands)
}
