//! The registers of a PTX body that are read later, statement by statement, where some statements may be left
//! out.
//!
//! Each statement is a block of its own to `ir::liveness`, which solves it.

use crate::mir::Virtual;
use crate::target::ptx::machine::body::{Body, Next, Register};
use ir::EntitySet;
use ir::liveness::{Code, Liveness};
use rustc_hash::FxHashMap;

/// A set of registers of a body, numbered densely.
pub(super) type Registers = EntitySet<Virtual>;

/// The registers that are written where liveness is asked for, numbered.
pub(super) type Numbers = FxHashMap<Register, Virtual>;

pub(super) fn numbered(registers: &[Register], numbers: &Numbers) -> Vec<Virtual> {
    let known = registers
        .iter()
        .filter_map(|register| numbers.get(register));
    known.copied().collect()
}

/// One statement of a list whose liveness is wanted.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) reads: Vec<Virtual>,
    pub(super) writes: Vec<Virtual>,
    pub(super) kills: bool,
    pub(super) removable: bool,
    /// Statements of the list that can be next.
    pub(super) inside: Vec<usize>,
    /// Statements outside of the list that can be next.
    pub(super) outside: Vec<usize>,
}

/// A list of statements; removable ones read nothing as long as nothing reads their results.
struct Statements<'a> {
    nodes: &'a [Node],
    /// The registers read from each statement outside on.
    outside: &'a [Registers],
    registers: usize,
}

impl Code for Statements<'_> {
    type Name = Virtual;
    fn blocks(&self) -> usize {
        self.nodes.len()
    }
    fn names(&self) -> usize {
        self.registers
    }
    fn successors(&self, block: usize, next: &mut dyn FnMut(usize)) {
        self.nodes[block].inside.iter().for_each(|&to| next(to));
    }
    fn leave(&self, block: usize, live: &mut Registers) {
        for &next in &self.nodes[block].outside {
            // Behind the last statement nothing is read.
            if let Some(set) = self.outside.get(next) {
                live.union_with(set);
            }
        }
    }
    fn cross(&self, block: usize, live: &mut Registers, _: &[Registers]) {
        let node = &self.nodes[block];
        if node.removable && !node.writes.iter().any(|write| live.contains(write)) {
            return;
        }
        if node.kills {
            node.writes.iter().for_each(|write| {
                live.remove(write);
            });
        }
        live.extend(node.reads.iter().copied());
    }
}

/// Returns the registers read after each statement of a list.
pub(super) fn live_out(nodes: &[Node], outside: &[Registers], registers: usize) -> Vec<Registers> {
    let code = Statements {
        nodes,
        outside,
        registers,
    };
    Liveness::of(&code).ends
}

/// Returns the registers read from each statement on, in a whole body where nothing is left out.
pub(super) fn live_in(body: &Body, numbers: &Numbers) -> Vec<Registers> {
    let lines = body.lines.iter().enumerate();
    let nodes: Vec<Node> = lines
        .map(|(at, line)| {
            let mut inside: Vec<usize> = match &line.next {
                Next::Falls => vec![at + 1],
                Next::Jumps { targets, falls } => {
                    let jumps = targets.iter().map(|&target| target as usize);
                    jumps.chain(falls.then_some(at + 1)).collect()
                }
                Next::Ends => Vec::new(),
            };
            inside.retain(|&next| next < body.lines.len());
            Node {
                reads: numbered(&line.reads, numbers),
                writes: numbered(&line.writes, numbers),
                kills: line.kills,
                removable: false,
                inside,
                outside: Vec::new(),
            }
        })
        .collect();
    let code = Statements {
        nodes: &nodes,
        outside: &[],
        registers: numbers.len(),
    };
    Liveness::of(&code).starts
}
