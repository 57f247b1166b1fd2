//! Numbers, placements, profiles and bounds of random graphs against walks.

use super::bounds::{EdgeCounts, bounds};
use super::placement::Placement;
use super::*;
use std::collections::{BTreeMap, BTreeSet};

/// A stream of numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % most
    }
}

/// A graph with loops, some of them entered in several places, parallel edges and nodes that nothing reaches.
fn graph(random: &mut Random) -> PathGraph {
    let nodes = 2 + random.below(9) as usize;
    let targets = |random: &mut Random, node: usize| {
        let count = if node + 1 == nodes {
            0
        } else {
            random.below(3) + 1
        };
        let to = |random: &mut Random| match random.below(4) {
            0 => random.below(nodes as u64) as usize,
            _ => node + 1 + random.below((nodes - node - 1) as u64) as usize,
        };
        (0..count).map(|_| to(random)).collect::<Vec<usize>>()
    };
    PathGraph::new(0, (0..nodes).map(|node| targets(random, node)).collect())
}

/// All ways from the entry and from the targets of edges that end paths.
fn enumerated(graph: &PathGraph) -> Vec<Path> {
    fn go(graph: &PathGraph, path: &Path, out: &mut Vec<Path>) {
        let at = *path.nodes.last().expect("a path has a node");
        if graph.successors[at].is_empty() {
            out.push(path.clone());
        }
        for (edge, &to) in graph.successors[at].iter().enumerate() {
            let mut next = path.clone();
            if graph.ends[at][edge] {
                next.ending = Ending::Edge(edge);
                out.push(next);
            } else {
                next.nodes.push(to);
                next.edges.push(edge);
                go(graph, &next, out);
            }
        }
    }
    let mut starts = vec![(Start::Entry, graph.entry)];
    let mut behind = BTreeSet::new();
    for (node, targets) in graph.successors.iter().enumerate() {
        for (edge, &to) in targets.iter().enumerate() {
            if graph.ends[node][edge] {
                behind.insert(to);
            }
        }
    }
    starts.extend(behind.into_iter().map(|node| (Start::Behind(node), node)));
    let mut out = Vec::new();
    for (start, node) in starts {
        let path = Path {
            start,
            nodes: vec![node],
            edges: Vec::new(),
            ending: Ending::Exit,
        };
        go(graph, &path, &mut out);
    }
    out
}

#[test]
fn each_path_has_one_number_and_each_number_one_path() {
    let mut random = Random(1);
    let mut seen = 0;
    for _ in 0..2000 {
        let mut graph = graph(&mut random);
        if random.below(3) == 0 {
            graph = graph.over_iterations(2);
        }
        let numbers = PathNumbers::new(graph.clone()).expect("it is small");
        let paths = enumerated(&graph);
        if paths.len() > 5000 {
            continue;
        }
        seen += paths.len();
        assert_eq!(paths.len() as u64, numbers.count());
        let found: BTreeSet<u64> = paths
            .iter()
            .map(|path| numbers.number(path).expect("a path of the graph"))
            .collect();
        assert_eq!(found.len(), paths.len());
        assert_eq!(found.last().map_or(0, |last| last + 1), numbers.count());
        for path in &paths {
            let number = numbers.number(path).expect("a path of the graph");
            assert_eq!(numbers.path(number).as_ref(), Some(path));
        }
        assert_eq!(numbers.path(numbers.count()), None);
    }
    assert!(seen > 20_000, "{seen}");
}

/// A walk of many steps counts what its edges say, with the numbers and with every placement; counts of nodes and edges come out
/// of the profile, and bounds from edges hold the count of each path.
#[test]
fn walks_count_the_same_however_the_additions_are_placed() {
    let mut random = Random(2);
    let (mut certain, mut walked) = (0usize, 0u64);
    let mut sums = (0u64, 0u64);
    for round in 0..2000 {
        let graph = graph(&mut random);
        let numbers = PathNumbers::new(graph.clone()).expect("it is small");
        let weights: BTreeMap<(usize, Option<usize>), u64> = (0..graph.successors.len())
            .flat_map(|node| {
                let edges = (0..graph.successors[node].len()).map(Some);
                edges.chain([None]).map(move |edge| (node, edge))
            })
            .map(|key| (key, random.below(100)))
            .collect();
        let placed = Placement::new(&numbers, &|node, edge| weights[&(node, edge)]);
        let edges = || {
            let of = |node: usize| (0..graph.successors[node].len()).map(move |edge| (node, edge));
            (0..graph.successors.len())
                .filter(|&node| numbers.reaches(node))
                .flat_map(of)
        };
        let begun = |node: usize| -> u64 {
            let ending = edges().filter(|&(from, edge)| {
                graph.ends[from][edge] && graph.successors[from][edge] == node
            });
            ending
                .map(|(from, edge)| weights[&(from, Some(edge))])
                .sum()
        };
        let cost = |edge: &dyn Fn(usize, usize) -> u64, leaves: u64, begins: u64| {
            let added = edges().filter(|&(node, number)| edge(node, number) != 0);
            let taken = added.map(|(node, number)| weights[&(node, Some(number))]);
            taken.sum::<u64>() + leaves + begins
        };
        let all_begun = placed.begins.keys().map(|&node| begun(node)).sum();
        let plain = cost(&|node, edge| numbers.added(node, edge), 0, all_begun);
        let leaves = placed.leaves.iter().filter(|(_, add)| **add != 0);
        let begins = placed.begins.iter().filter(|(_, add)| **add != 0);
        let entry = match placed.entry {
            0 => 0,
            _ => weights[&(graph.entry, None)],
        };
        let best = cost(
            &|node, edge| placed.edges[node][edge],
            leaves.map(|(&node, _)| weights[&(node, None)]).sum(),
            entry + begins.map(|(&node, _)| begun(node)).sum::<u64>(),
        );
        sums = (sums.0 + best, sums.1 + plain);
        let mut profile = PathProfile::default();
        let mut counts = EdgeCounts {
            entries: 0,
            edges: graph.ends.iter().map(|of| vec![0; of.len()]).collect(),
        };
        let mut nodes = vec![0u64; graph.successors.len()];
        for _ in 0..20 {
            let mut walk = numbers.enter();
            let mut register = placed.entry;
            counts.entries += 1;
            let mut left = false;
            // A run that is cut off in the middle of a path has not counted it; these are let go on until they end one.
            for step in 0.. {
                nodes[walk.node] += 1;
                let targets = &graph.successors[walk.node];
                if targets.is_empty() {
                    let number = numbers.leave(walk);
                    register = register.wrapping_add(placed.leaves[&walk.node]);
                    assert_eq!(register, number);
                    profile.count(number);
                    left = true;
                    break;
                }
                let edge = random.below(targets.len() as u64) as usize;
                let node = walk.node;
                counts.edges[node][edge] += 1;
                register = register.wrapping_add(placed.edges[node][edge]);
                if let Some(number) = numbers.step(&mut walk, edge) {
                    assert_eq!(register, number, "round {round}");
                    profile.count(number);
                    register = placed.begins[&walk.node];
                    if step > 60 {
                        break;
                    }
                }
            }
            walked += u64::from(left);
            if !left {
                // The path that had begun behind the last edge is not part of the profile.
                counts.entries = 0;
                break;
            }
        }
        if counts.entries == 0 {
            continue;
        }
        assert_eq!(profile.nodes(&numbers), nodes);
        assert_eq!(profile.edges(&numbers), counts.edges);
        assert_eq!(profile.entries(&numbers), counts.entries);
        for path in enumerated(&graph).iter().take(500) {
            let number = numbers.number(path).expect("a path of the graph");
            let count = profile.counts.get(&number).copied().unwrap_or(0);
            let bound = bounds(&graph, &counts, path);
            assert!(
                bound.least <= count && count <= bound.most,
                "{count} of {bound:?}"
            );
            certain += usize::from(bound.least > 0);
        }
    }
    // The tree is that of greatest weight; additions that happen to be zero are in neither sum.
    assert!(sums.0 * 10 < sums.1 * 8, "{sums:?}");
    assert!(walked > 10_000, "{walked}");
    assert!(certain > 500, "{certain}");
}

#[test]
fn more_paths_than_numbers_are_refused() {
    // 64 branches in a row that meet again.
    let mut successors = Vec::new();
    for at in 0..64 {
        let node = at * 3;
        successors.extend([vec![node + 1, node + 2], vec![node + 3], vec![node + 3]]);
    }
    successors.push(Vec::new());
    let refused = PathNumbers::new(PathGraph::new(0, successors.clone()));
    assert_eq!(refused, Err(PathRefusal::TooMany { nodes: 193 }));
    assert_eq!(
        PathNumbers::new(PathGraph::new(3, successors)).map(|numbers| numbers.count()),
        Ok(1 << 63)
    );
    assert_eq!(
        PathNumbers::new(PathGraph::new(0, Vec::new())),
        Err(PathRefusal::Empty)
    );
}
