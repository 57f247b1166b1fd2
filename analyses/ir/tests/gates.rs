//! The walk that finds gates against disjoint paths found by augmentation, on random graphs.

#[path = "support/graph.rs"]
mod shared;

use lockstep_ir::Block;
use lockstep_ir::cfg::ControlFlow;
use lockstep_ir::dominators::DominatorTree;
use lockstep_ir::gates::GateBuilder;
use lockstep_ir::loops::LoopForest;
use oracle::random::Random;
use shared::graph;

/// Vertex-disjoint paths from the source to the sinks, of which each may be an end once; at most two are looked for.
fn two_paths(count: usize, edges: &[(usize, usize)], source: usize, sinks: &[usize]) -> bool {
    // Nodes split into in (2n) and out (2n + 1); the super sink is 2 * count.
    let total = 2 * count + 1;
    let mut capacity = vec![vec![0i32; total]; total];
    for node in 0..count {
        capacity[2 * node][2 * node + 1] = 1;
    }
    for &(from, to) in edges {
        capacity[2 * from + 1][2 * to] = 1;
    }
    for &sink in sinks {
        capacity[2 * sink][2 * count] = if sinks.len() == 1 { 2 } else { 1 };
        for row in &mut capacity[2 * sink + 1] {
            *row = if sink == source { *row } else { 0 };
        }
        capacity[2 * sink][2 * sink + 1] = 0;
    }
    let mut flow = 0;
    while flow < 2 {
        let start = 2 * source + 1;
        let mut parent = vec![usize::MAX; total];
        parent[start] = start;
        let mut queue = vec![start];
        while let Some(at) = queue.pop() {
            for next in 0..total {
                if capacity[at][next] > 0 && parent[next] == usize::MAX {
                    parent[next] = at;
                    queue.push(next);
                }
            }
        }
        if parent[2 * count] == usize::MAX {
            break;
        }
        let mut at = 2 * count;
        while at != start {
            capacity[parent[at]][at] -= 1;
            capacity[at][parent[at]] += 1;
            at = parent[at];
        }
        flow += 1;
    }
    flow == 2
}

fn brute_joins(flow: &ControlFlow, forest: &LoopForest, branch: Block) -> Vec<Block> {
    let count = flow.successors.len();
    flow.order
        .iter()
        .copied()
        .filter(|&join| {
            let mut edges = Vec::new();
            for &from in &flow.order {
                for &to in &flow.successors[from] {
                    let back = forest
                        .of(to)
                        .filter(|&l| forest.loops[l].header == to && forest.contains(l, from));
                    let cut = back.is_some_and(|l| {
                        to != join && forest.contains(l, branch) && forest.contains(l, join)
                    });
                    if !cut && from != join && to != branch
                        || from == branch && to == join
                        || (to == join && join == branch && !cut)
                    {
                        edges.push((from.0 as usize, to.0 as usize));
                    }
                }
            }
            join != branch && two_paths(count, &edges, branch.0 as usize, &[join.0 as usize])
        })
        .collect()
}

fn brute_exits(flow: &ControlFlow, forest: &LoopForest, branch: Block) -> Vec<Block> {
    let count = flow.successors.len();
    let mut found = Vec::new();
    for l in forest.around(branch) {
        let header = forest.loops[l].header;
        // The header as the end of a back edge is a node of its own.
        let round = count;
        let mut edges = Vec::new();
        for &from in &flow.order {
            if !forest.contains(l, from) || (from == header && from != branch) {
                continue;
            }
            for &to in &flow.successors[from] {
                let to = if to == header { round } else { to.0 as usize };
                if to != branch.0 as usize {
                    edges.push((from.0 as usize, to));
                }
            }
        }
        for &exit in &forest.loops[l].exits {
            let sinks = [exit.0 as usize, round];
            if two_paths(count + 1, &edges, branch.0 as usize, &sinks) {
                found.push(exit);
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn agrees_with_disjoint_paths_on_random_graphs() {
    let mut random = Random::new(5);
    let (mut branches, mut extra) = (0, 0);
    for _ in 0..4000 {
        let count = 4 + random.below(9);
        let mut rows: Vec<Vec<u32>> = Vec::new();
        for block in 0..count {
            let targets = match random.below(10) {
                0 => 0,
                1..4 => 1,
                4..9 => 2,
                _ => 3,
            };
            let mut row: Vec<u32> = (0..targets)
                .map(|_| {
                    if random.percent(70) {
                        (block + 1 + random.below(3)).min(count - 1).max(1)
                    } else {
                        1 + random.below(count - 1)
                    }
                })
                .collect();
            row.dedup();
            rows.push(row);
        }
        let rows: Vec<&[u32]> = rows.iter().map(Vec::as_slice).collect();
        let flow = graph(&rows);
        let forest = LoopForest::new(&flow);
        if forest.loops.values().any(|l| !l.reducible) {
            continue;
        }
        let dominators = DominatorTree::dominators(&flow);
        let mut builder = GateBuilder::new(&flow, &dominators, &forest);
        for &branch in &flow.order {
            if flow.successors[branch].len() < 2 {
                continue;
            }
            branches += 1;
            let gates = builder.gates(&flow, &forest, branch);
            let expected_exits = brute_exits(&flow, &forest, branch);
            let mut found: Vec<Block> = gates.exits.iter().map(|e| e.0).collect();
            found.dedup();
            assert_eq!(found, expected_exits, "exits of {branch} in {rows:?}");
            for join in brute_joins(&flow, &forest, branch) {
                assert!(
                    gates.joins.contains(&join),
                    "join {join} of {branch} in {rows:?}: {gates:?}"
                );
            }
            extra += gates.joins.len()
                - brute_joins(&flow, &forest, branch)
                    .len()
                    .min(gates.joins.len());
        }
    }
    assert!(branches > 5000, "{branches}");
    assert!(extra * 2 < branches, "{extra} of {branches}");
}
