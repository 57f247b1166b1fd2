//! Counters of edges: the fewest that tell of all, in registers within loops and in memory elsewhere.
//!
//! ```text
//! mov r40 = 0      at the entry          adds r40 = 1, r40      in the loop
//! movl; ld8; add; st8                    at each return, for all registers together
//! ```
//!
//! A block is an edge from its start to its end, so that a counter may stand in a block where an edge has no cheap place.

use super::function::{Function, Goal, How};
use super::insert::Inserter;
use super::place::{EdgePlace, Places, executions};
use super::refusal::Refusal;
use super::registers::Registers;
use facts::paths::counters::{FlowEdge, Unbalanced, counted, solved};

/// The part of the flow graph that an edge stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowPart {
    /// The function is entered.
    Entry,
    /// A block executes.
    Block(usize),
    /// An edge between blocks, or out of the function.
    Edge(usize),
}

/// A branch and the facts about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BranchRow {
    /// From 1.
    pub line: u32,
    pub executed: u64,
    pub taken: u64,
}

/// The flow graph of a function with its counters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flow {
    pub nodes: usize,
    pub edges: Vec<FlowEdge>,
    pub parts: Vec<FlowPart>,
    /// The counter of each edge, counted from the function's first.
    pub counter: Vec<Option<u32>>,
    /// The line of each block's first instruction.
    pub lines: Vec<u32>,
    /// The lines that each edge between blocks leads from and to (0 out of the function), and whether a
    /// branch is taken on it.
    pub ways: Vec<(u32, u32, bool)>,
    /// Branches: their lines, their blocks, and the edges on which they are taken.
    pub branches: Vec<(u32, usize, Vec<usize>)>,
    /// Counters that live in registers, by their numbers: they come first.
    pub held: u32,
    pub counters: u32,
}

impl Flow {
    /// The graph of a function, its counters placed.
    ///
    /// # Errors
    /// A counter would have to stand where there is no place.
    pub(super) fn new(places: &Places<'_>) -> Result<Flow, Refusal> {
        let function = places.function;
        let count = function.blocks.len();
        let world = 2 * count;
        let mut edges = vec![FlowEdge {
            from: world,
            to: 0,
            weight: 8,
        }];
        let mut parts = vec![FlowPart::Entry];
        for block in (0..count).filter(|&block| function.reached[block]) {
            edges.push(FlowEdge {
                from: 2 * block,
                to: 2 * block + 1,
                weight: 8 * executions(places.depth[block]),
            });
            parts.push(FlowPart::Block(block));
        }
        for (at, edge) in function.edges.iter().enumerate() {
            edges.push(FlowEdge {
                from: 2 * edge.from + 1,
                to: match edge.to {
                    Goal::Block(to) => 2 * to,
                    Goal::Exit => world,
                },
                weight: places.cost(edge),
            });
            parts.push(FlowPart::Edge(at));
        }
        let chosen = counted(world + 1, &edges);
        let mut flow = Flow {
            nodes: world + 1,
            counter: vec![None; edges.len()],
            edges,
            parts,
            lines: (0..count).map(|block| function.line_of(block)).collect(),
            ways: Vec::new(),
            branches: Vec::new(),
            held: 0,
            counters: 0,
        };
        let line = |block: usize| {
            let branch = function.blocks[block].branch;
            let code = branch.and_then(|step| function.code(step));
            code.map_or_else(|| function.line_of(block), |code| code.line)
        };
        for edge in &function.edges {
            let to = match edge.to {
                Goal::Block(to) => function.line_of(to),
                Goal::Exit => 0,
            };
            flow.ways
                .push((line(edge.from), to, edge.how == How::Taken));
        }
        for block in (0..count).filter(|&block| function.reached[block]) {
            if function.blocks[block].branch.is_some() {
                let taken = (0..function.edges.len()).filter(|&at| {
                    let edge = &function.edges[at];
                    edge.from == block && edge.how == How::Taken
                });
                flow.branches.push((line(block), block, taken.collect()));
            }
        }
        // Those in loops come first: they may live in registers.
        let mut order: Vec<usize> = (0..chosen.len()).filter(|&at| chosen[at]).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(flow.executions(places, at)));
        for (number, &at) in order.iter().enumerate() {
            flow.counter[at] = Some(number as u32);
            if let FlowPart::Edge(edge) = flow.parts[at]
                && places.edge(&function.edges[edge]).is_none()
            {
                return Err(Refusal::Unplaced {
                    line: flow.ways[edge].0,
                });
            }
        }
        flow.counters = order.len() as u32;
        Ok(flow)
    }

    fn executions(&self, places: &Places<'_>, edge: usize) -> u64 {
        match self.parts[edge] {
            FlowPart::Entry => 1,
            FlowPart::Block(block) => executions(places.depth[block]),
            FlowPart::Edge(edge) => places.executions(&places.function.edges[edge]),
        }
    }

    /// Counters that are worth a register.
    pub(super) fn in_loops(&self, places: &Places<'_>) -> u32 {
        let all = (0..self.edges.len())
            .filter(|&at| self.counter[at].is_some() && self.executions(places, at) > 1);
        all.count() as u32
    }

    /// Inserts the counters. As many as there are held registers live there.
    pub(super) fn insert(&mut self, into: &mut Inserter<'_>, first: u32) {
        let registers = into.registers;
        self.held = (registers.held.len() as u32).min(self.counters);
        let function = into.places.function;
        let entry = into.places.start(0);
        for &register in &registers.held {
            into.at(entry, 0, vec![format!("mov r{register} = 0")]);
        }
        let mut numbered: Vec<(u32, usize)> = (0..self.edges.len())
            .filter_map(|at| Some((self.counter[at]?, at)))
            .collect();
        numbered.sort_unstable();
        for (number, at) in numbered {
            let (place, block) = match self.parts[at] {
                FlowPart::Entry => (EdgePlace::Spot(entry, 0), 0),
                FlowPart::Block(block) => (EdgePlace::Spot(into.places.start(block), 0), block),
                FlowPart::Edge(edge) => {
                    let edge = &function.edges[edge];
                    let Some(place) = into.places.edge(edge) else {
                        continue;
                    };
                    (place, edge.from)
                }
            };
            let lines = match registers.held.get(number as usize) {
                Some(register) => vec![format!("adds r{register} = 1, r{register}")],
                None => into.count(first + number, block),
            };
            into.on(place, lines);
        }
        if self.held > 0 {
            for edge in &function.edges {
                if edge.to == Goal::Exit
                    && let Some(place) = into.places.edge(edge)
                {
                    let lines = flush(into, registers, first);
                    into.on(place, lines);
                }
            }
        }
    }

    /// The counts of all edges, from those of the counters of the function.
    ///
    /// # Errors
    /// They are not those of a flow.
    pub fn solved(&self, counters: &[u64]) -> Result<Vec<u64>, Unbalanced> {
        let counts: Vec<Option<u64>> = self
            .counter
            .iter()
            .map(|number| number.and_then(|number| counters.get(number as usize).copied()))
            .collect();
        solved(self.nodes, &self.edges, &counts)
    }

    /// Executions of the blocks, those that nothing reaches left out, with their lines.
    #[must_use]
    pub fn blocks(&self, solved: &[u64]) -> Vec<(u32, u64)> {
        let all = self.parts.iter().zip(solved);
        all.filter_map(|(part, &count)| match part {
            FlowPart::Block(block) => Some((self.lines[*block], count)),
            _ => None,
        })
        .collect()
    }

    /// The edges between blocks with their counts: the line of the branch, the line that it leads to, taken or not.
    #[must_use]
    pub fn counts(&self, solved: &[u64]) -> Vec<(u32, u32, bool, u64)> {
        let all = self.parts.iter().zip(solved);
        all.filter_map(|(part, &count)| match part {
            FlowPart::Edge(edge) => {
                let (from, to, taken) = self.ways[*edge];
                Some((from, to, taken, count))
            }
            _ => None,
        })
        .collect()
    }

    /// The branches with their counts.
    #[must_use]
    pub fn branch_rows(&self, solved: &[u64]) -> Vec<BranchRow> {
        let of = |wanted: FlowPart| {
            let at = self.parts.iter().position(|part| *part == wanted);
            at.map_or(0, |at| solved[at])
        };
        let rows = self.branches.iter().map(|(line, block, taken)| BranchRow {
            line: *line,
            executed: of(FlowPart::Block(*block)),
            taken: taken.iter().map(|&edge| of(FlowPart::Edge(edge))).sum(),
        });
        rows.collect()
    }
}

/// Adds the held registers to their counters.
fn flush(into: &mut Inserter<'_>, registers: &Registers, first: u32) -> Vec<String> {
    let base = into.address(i64::from(first));
    let temps = &registers.temps;
    debug_assert!(temps.len() >= 2, "an address and a value");
    if let [register] = registers.held[..] {
        let (address, value) = (temps[0], temps[1]);
        return vec![
            format!("movl r{address} = {base}"),
            format!("ld8 r{value} = [r{address}]"),
            format!("add r{value} = r{value}, r{register}"),
            format!("st8 [r{address}] = r{value}"),
        ];
    }
    let (load, store, values) = match temps.len() {
        // One pointer goes on when it is stored through.
        2 => (temps[0], temps[0], &temps[1..]),
        _ => (temps[0], temps[1], &temps[2..]),
    };
    let mut lines = vec![format!("movl r{load} = {base}")];
    if store != load {
        lines.push(format!("movl r{store} = {base}"));
    }
    let step = if store == load { "" } else { ", 8" };
    for group in registers.held.chunks(values.len()) {
        for (value, _) in values.iter().zip(group) {
            lines.push(format!("ld8 r{value} = [r{load}]{step}"));
        }
        for (value, register) in values.iter().zip(group) {
            lines.push(format!("add r{value} = r{value}, r{register}"));
        }
        for (value, _) in values.iter().zip(group) {
            lines.push(format!("st8 [r{store}] = r{value}, 8"));
        }
    }
    lines
}

/// The lines of a function's blocks along a path.
pub(super) fn lines_of(function: &Function, blocks: &[usize]) -> Vec<u32> {
    let known = blocks
        .iter()
        .filter(|&&block| block < function.blocks.len());
    known.map(|&block| function.line_of(block)).collect()
}
