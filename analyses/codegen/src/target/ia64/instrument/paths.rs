//! Counts of paths: a register holds the number of the path under way, and each end adds one to the counter of that number.
//!
//! ```text
//! mov r40 = 0   (p6) adds r40 = 2, r40   movl r41 = counters ;; shladd r41 = r40, 3, r41 ;; fetchadd8 r41 = [r41], 1
//! ```
//!
//! Source: Ball and Larus 1996, sections 3.2 to 3.4; the additions stand on the complement of a spanning tree.

use super::counters::lines_of;
use super::function::{Function, Goal};
use super::insert::Inserter;
use super::place::{EdgePlace, Places};
use super::refusal::Refusal;
use facts::paths::placement::Placement;
use facts::paths::{PathGraph, PathNumbers};

/// Paths that one function may have; each has a counter.
pub const MOST_PATHS: u64 = 4096;

/// The paths of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Paths {
    pub numbers: PathNumbers,
    /// The lines of the blocks that the path of each number goes through.
    pub lines: Vec<Vec<u32>>,
}

/// Blocks are nodes, and so is each way out.
fn graph(function: &Function) -> PathGraph {
    let count = function.blocks.len();
    let mut successors = vec![Vec::new(); count];
    for edge in &function.edges {
        let to = match edge.to {
            Goal::Block(to) => to,
            Goal::Exit => {
                successors.push(Vec::new());
                successors.len() - 1
            }
        };
        successors[edge.from].push(to);
    }
    PathGraph::new(0, successors)
}

impl Paths {
    pub(super) fn new(function: &Function) -> Result<Paths, Refusal> {
        let numbers = PathNumbers::new(graph(function))?;
        let count = numbers.count();
        if count > MOST_PATHS {
            return Err(Refusal::Paths {
                count,
                most: MOST_PATHS,
            });
        }
        let lines = (0..count).filter_map(|number| numbers.path(number));
        let lines = lines.map(|path| lines_of(function, &path.nodes)).collect();
        Ok(Paths { numbers, lines })
    }

    pub(super) fn insert(&self, into: &mut Inserter<'_>, first: u32) -> Result<(), Refusal> {
        let places = into.places;
        let function = places.function;
        // By block: its edges, in the order of the graph.
        let mut edges = vec![Vec::new(); function.blocks.len()];
        for edge in &function.edges {
            edges[edge.from].push(edge);
        }
        let weights = |node: usize, edge: Option<usize>| match edge {
            Some(edge) => places.cost(edges[node][edge]),
            None => 8,
        };
        let placed = Placement::new(&self.numbers, &weights);
        let register = into.registers.held[0];
        into.at(places.start(0), 0, vec![set(register, placed.entry)]);
        for (node, own) in edges.iter().enumerate() {
            for (number, edge) in own.iter().enumerate() {
                let to = self.numbers.graph().successors[node][number];
                let ends = self.numbers.graph().ends[node][number];
                let add = placed.edges[node][number];
                let leaves = placed.leaves.get(&to).filter(|_| edge.to == Goal::Exit);
                let mut lines = Vec::new();
                if ends || leaves.is_some() {
                    let add = add.wrapping_add(leaves.copied().unwrap_or(0));
                    self.counted(into, register, first, add, &mut lines);
                    if ends {
                        let begin = placed.begins.get(&to).copied().unwrap_or(0);
                        lines.push(set(register, begin));
                    }
                } else if add != 0 {
                    added(into, register, add, &mut lines);
                }
                if lines.is_empty() {
                    continue;
                }
                let place = place(places, edge)?;
                into.on(place, lines);
            }
        }
        Ok(())
    }

    fn counted(
        &self,
        into: &mut Inserter<'_>,
        register: u8,
        first: u32,
        add: u64,
        lines: &mut Vec<String>,
    ) {
        let address = into.temp();
        let base = into.address(i64::from(first).wrapping_add(add as i64));
        lines.push(format!("movl r{address} = {base}"));
        lines.push(format!("shladd r{address} = r{register}, 3, r{address}"));
        into.count_at(address, lines);
    }
}

fn place(places: &Places<'_>, edge: &super::function::FlowStep) -> Result<EdgePlace, Refusal> {
    let block = &places.function.blocks[edge.from];
    let code = block.branch.and_then(|step| places.function.code(step));
    places.edge(edge).ok_or(Refusal::Unplaced {
        line: code.map_or(0, |code| code.line),
    })
}

fn set(register: u8, value: u64) -> String {
    match value as i64 {
        value @ -0x20_0000..=0x1f_ffff => format!("mov r{register} = {value}"),
        value => format!("movl r{register} = {value}"),
    }
}

fn added(into: &mut Inserter<'_>, register: u8, add: u64, lines: &mut Vec<String>) {
    match add as i64 {
        add @ -8192..=8191 => lines.push(format!("adds r{register} = {add}, r{register}")),
        add => {
            let value = into.temp();
            lines.push(format!("movl r{value} = {add}"));
            lines.push(format!("add r{register} = r{register}, r{value}"));
        }
    }
}
