//! The plan of a function, computed once: immediate post-dominators, the nest of cycles with the counters
//! that each edge changes, and the places of symbols and private memory.
//!
//! Cycles: each strongly connected component of more than one block (or with an edge to itself) is a cycle,
//! its header the first block in reverse post-order; components of the graph without the edges to the header
//! are nested in it. Quadratic in the depth of nesting, no recursion; works for irreducible graphs.

use super::memory::Window;
use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::entity::{Block, Entity, EntityVec, Inst};
use ir::function::{Function, SymbolKind};
use ir::inst::{Barrier, Op};
use ir::types::Space;
use smallvec::SmallVec;

/// No block: the virtual exit.
pub(super) const EXIT: u32 = u32::MAX;

/// The effect of an edge on the iteration counters of the lanes that take it.
#[derive(Clone, Debug, Default)]
pub(super) struct EdgePlan {
    /// Cycles that it enters.
    pub(super) reset: SmallVec<[u32; 2]>,
    /// The cycle whose header it reaches from inside.
    pub(super) count: Option<u32>,
}

#[derive(Debug)]
pub(super) struct FunctionPlan<'m> {
    pub(super) function: &'m Function,
    pub(super) post_dominator: Vec<u32>,
    /// Enclosing cycles of each block, outermost first.
    pub(super) cycles: Vec<Vec<u32>>,
    pub(super) cycle_count: usize,
    /// The plans of the edges of each block, in the order of `Terminator::edges`.
    pub(super) edges: Vec<Vec<EdgePlan>>,
    /// Blocks from which a barrier of the workgroup may be reached, calls included.
    pub(super) reaches_barrier: Vec<bool>,
    /// Offsets of `Alloca`s and local symbols from the first private byte of a call, and the sizes.
    pub(super) local: Vec<(LocalObject, u64, u32)>,
    /// Index into `local` by instruction.
    pub(super) alloca: Vec<u32>,
    /// Addresses of symbols; local ones are indices into `local`.
    pub(super) symbols: Vec<SymbolPlace>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LocalObject {
    Alloca,
    Symbol(u32),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum SymbolPlace {
    /// An address or a handle.
    Fixed(u64),
    /// The number of a private object.
    Local(u32),
}

/// The source of the values of `Op::SymbolAddress`; given by the machine that owns memory.
pub(super) trait SymbolSource {
    fn address(&mut self, function: &Function, symbol: usize) -> u64;
}

impl<'m> FunctionPlan<'m> {
    pub(super) fn new(function: &'m Function, source: &mut impl SymbolSource) -> Self {
        let flow = ControlFlow::new(function);
        let tree = DominatorTree::post_dominators(&flow);
        let post_dominator = function
            .blocks
            .keys()
            .map(|block| tree.immediate(block).map_or(EXIT, |b| b.0))
            .collect();
        let (cycles, headers) = cycle_nest(&flow, function.blocks.len());
        let edges = function
            .blocks
            .iter()
            .map(|(block, data)| {
                data.terminator
                    .edges()
                    .iter()
                    .map(|edge| edge_plan(&cycles, &headers, block, edge.block))
                    .collect()
            })
            .collect();
        let mut local = Vec::new();
        let mut alloca = vec![u32::MAX; function.insts.len()];
        for (inst, data) in function.insts.iter() {
            if let Op::Alloca { size, align } = data.op {
                alloca[inst.index()] = local.len() as u32;
                local.push((LocalObject::Alloca, u64::from(size), align));
            }
        }
        let mut symbols = Vec::new();
        for (symbol, data) in function.symbols.iter() {
            let private = data.kind == SymbolKind::Memory && data.space == Space::Local;
            symbols.push(if private {
                let size = data
                    .size
                    .or(data.initial.as_ref().map(|i| i.len() as u32))
                    .unwrap_or(1024);
                local.push((LocalObject::Symbol(symbol.0), u64::from(size), data.align));
                SymbolPlace::Local(local.len() as u32 - 1)
            } else {
                SymbolPlace::Fixed(source.address(function, symbol.index()))
            });
        }
        FunctionPlan {
            function,
            post_dominator,
            cycles,
            cycle_count: headers.len(),
            edges,
            reaches_barrier: reaches_barrier(function, &flow),
            local,
            alloca,
            symbols,
        }
    }

    /// Places the private objects of a call; gives their addresses.
    pub(super) fn place_local(&self, window: &mut Window) -> Vec<u64> {
        self.local
            .iter()
            .map(|&(_, size, align)| window.place(size, align))
            .collect()
    }
    pub(super) fn alloca_index(&self, inst: Inst) -> Option<usize> {
        self.alloca
            .get(inst.index())
            .filter(|&&i| i != u32::MAX)
            .map(|&i| i as usize)
    }
}

fn reaches_barrier(function: &Function, flow: &ControlFlow) -> Vec<bool> {
    let waits = |op: &Op| match op {
        Op::Barrier(barrier) => !matches!(barrier, Barrier::Warp | Barrier::MicroSimd),
        Op::Call(_) => true,
        _ => false,
    };
    let mut reaches = vec![false; function.blocks.len()];
    let mut work: Vec<Block> = flow
        .order
        .iter()
        .copied()
        .filter(|&block| {
            let insts = &function.blocks[block].insts;
            insts.iter().any(|&inst| waits(&function.insts[inst].op))
        })
        .collect();
    while let Some(block) = work.pop() {
        if !std::mem::replace(&mut reaches[block.index()], true) {
            work.extend(flow.predecessors[block].iter().copied());
        }
    }
    reaches
}

fn edge_plan(cycles: &[Vec<u32>], headers: &[Block], from: Block, to: Block) -> EdgePlan {
    let (inside, target) = (&cycles[from.index()], &cycles[to.index()]);
    let reset = target
        .iter()
        .copied()
        .filter(|c| !inside.contains(c))
        .collect();
    let count = target
        .iter()
        .copied()
        .find(|&c| headers[c as usize] == to && inside.contains(&c));
    EdgePlan { reset, count }
}

/// The enclosing cycles of each block, outermost first, and the cycles' headers.
fn cycle_nest(flow: &ControlFlow, count: usize) -> (Vec<Vec<u32>>, Vec<Block>) {
    let mut cycles: Vec<Vec<u32>> = vec![Vec::new(); count];
    let mut headers = Vec::new();
    // Regions to look for components in, each with the headers whose incoming edges are cut: a block's region is its
    // entry in `region`, and inside of it only edges to blocks that are not headers of it count.
    let mut region: EntityVec<Block, u32> = EntityVec::with_len(0, count);
    let mut work: Vec<(u32, Option<Block>, Vec<Block>)> = vec![(0, None, flow.order.clone())];
    let mut next_region = 1;
    while let Some((here, cut, blocks)) = work.pop() {
        for component in components(flow, &blocks, &region, here, cut) {
            let single = component.len() == 1;
            if single {
                let block = component[0];
                if Some(block) == cut || !flow.successors[block].contains(&block) {
                    continue;
                }
            }
            let Some(&header) = component.iter().min_by_key(|&&b| flow.position[b]) else {
                continue;
            };
            let cycle = headers.len() as u32;
            headers.push(header);
            for &block in &component {
                cycles[block.index()].push(cycle);
            }
            if !single {
                for &block in &component {
                    region[block] = next_region;
                }
                work.push((next_region, Some(header), component));
                next_region += 1;
            }
        }
    }
    (cycles, headers)
}

/// Strongly connected components of the blocks of a region (Tarjan 1972, with an explicit stack), without the edges
/// to `cut`.
fn components(
    flow: &ControlFlow,
    blocks: &[Block],
    region: &EntityVec<Block, u32>,
    here: u32,
    cut: Option<Block>,
) -> Vec<Vec<Block>> {
    const NEW: u32 = u32::MAX;
    let count = flow.successors.len();
    let mut number = vec![NEW; count];
    let mut low = vec![0u32; count];
    let mut open = vec![false; count];
    let mut stack: Vec<Block> = Vec::new();
    let mut found = Vec::new();
    let mut next = 0;
    for &root in blocks {
        if number[root.index()] != NEW {
            continue;
        }
        let mut path: Vec<(Block, usize)> = vec![(root, 0)];
        while let Some(&mut (block, ref mut edge)) = path.last_mut() {
            let at = block.index();
            if number[at] == NEW {
                number[at] = next;
                low[at] = next;
                next += 1;
                stack.push(block);
                open[at] = true;
            }
            if let Some(&to) = flow.successors[block].get(*edge) {
                *edge += 1;
                let target = to.index();
                let inside = region[to] == here && Some(to) != cut;
                if inside && number[target] == NEW {
                    path.push((to, 0));
                } else if inside && open[target] {
                    low[at] = low[at].min(number[target]);
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                let parent = parent.index();
                low[parent] = low[parent].min(low[at]);
            }
            if low[at] == number[at] {
                let mut component = Vec::new();
                while let Some(member) = stack.pop() {
                    open[member.index()] = false;
                    component.push(member);
                    if member == block {
                        break;
                    }
                }
                component.reverse();
                found.push(component);
            }
        }
    }
    found
}
