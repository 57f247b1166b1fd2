//! Numbers, placements, profiles and bounds of random graphs against walks.

use super::bounds::{CountBounds, EdgeCounts, RankedBy, bounds, ranked};
use super::partly_known::{PartlyKnown, SidePair};
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

/// A walk of many steps has the counts of its edges, with the numbers and with every placement; counts of
/// nodes and edges come out of the profile, and bounds from edges hold the count of each path.
#[test]
fn walks_count_the_same_however_the_additions_are_placed() {
    let mut random = Random(2);
    let (mut certain, mut walked, mut narrowed) = (0usize, 0u64, (0usize, 0usize));
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
        let mut entries = 0u64;
        let mut taken: Vec<Vec<u64>> = graph.ends.iter().map(|of| vec![0; of.len()]).collect();
        let mut nodes = vec![0u64; graph.successors.len()];
        for _ in 0..20 {
            let mut walk = numbers.enter();
            let mut register = placed.entry;
            entries += 1;
            let mut left = false;
            // A run that is cut off in the middle of a path has not counted it; these walks go on until they
            // end one.
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
                taken[node][edge] += 1;
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
                entries = 0;
                break;
            }
        }
        if entries == 0 {
            continue;
        }
        assert_eq!(profile.nodes(&numbers), nodes);
        assert_eq!(profile.edges(&numbers), taken);
        assert_eq!(profile.entries(&numbers), entries);
        let counts = exact(entries, &taken);
        assert_eq!(EdgeCounts::of(&profile, &numbers), counts);
        let some = counts.some_paths(&numbers).expect("counts of whole runs");
        assert_eq!(EdgeCounts::of(&some, &numbers), counts);
        assert_eq!(some.total(), profile.total());
        let mut wrong = counts.clone();
        wrong.entries = CountBounds::exact(entries + 1);
        assert_eq!(wrong.some_paths(&numbers), None);
        let passed: Vec<CountBounds> = nodes.iter().map(|&n| CountBounds::exact(n)).collect();
        assert_eq!(counts.passed(&graph), passed);
        assert_eq!(counts.paths(&graph), CountBounds::exact(profile.total()));
        let known = partly(&mut random, &graph, &counts, &nodes);
        let known = known.solved(&graph).expect("counts of a flow");
        let held = |bound: CountBounds, count: u64| bound.least <= count && count <= bound.most;
        for (found, is) in known.edges.iter().flatten().zip(taken.iter().flatten()) {
            assert!(held(*found, *is), "{is} of {found:?}");
            narrowed.0 += usize::from(found.is_exact());
            narrowed.1 += 1;
        }
        let all = enumerated(&graph);
        for path in all.iter().take(500) {
            let number = numbers.number(path).expect("a path of the graph");
            let count = profile.counts.get(&number).copied().unwrap_or(0);
            let bound = bounds(&graph, &counts, path);
            assert!(held(bound, count), "{count} of {bound:?}");
            let wide = bounds(&graph, &known, path);
            assert!(held(wide, count), "{count} of {wide:?}");
            certain += usize::from(bound.least > 0);
        }
        for (by, counts) in [(RankedBy::Most, &counts), (RankedBy::Least, &known)] {
            let of = |path: &Path| {
                let bound = bounds(&graph, counts, path);
                match by {
                    RankedBy::Most => bound.most,
                    RankedBy::Least => bound.least,
                }
            };
            let most = random.below(40) as usize;
            let found = ranked(&graph, counts, by, most);
            let mut expected: Vec<u64> = all.iter().map(of).filter(|&n| n > 0).collect();
            expected.sort_by_key(|&n| std::cmp::Reverse(n));
            assert_eq!(found.cut, expected.len() > most);
            expected.truncate(most);
            let given: Vec<u64> = found.paths.iter().map(|(path, _)| of(path)).collect();
            assert_eq!(given, expected);
            for (path, bound) in &found.paths {
                assert_eq!(*bound, bounds(&graph, counts, path));
            }
        }
    }
    // The tree is that of greatest weight; additions that happen to be zero are in neither sum.
    assert!(sums.0 * 10 < sums.1 * 8, "{sums:?}");
    assert!(walked > 10_000, "{walked}");
    assert!(certain > 500, "{certain}");
    // A third of the edges and nodes are told, and far more are known.
    assert!(narrowed.0 * 4 > narrowed.1 * 3, "{narrowed:?}");
}

fn exact(entries: u64, taken: &[Vec<u64>]) -> EdgeCounts {
    let of = |edges: &Vec<u64>| edges.iter().map(|&n| CountBounds::exact(n)).collect();
    EdgeCounts {
        entries: CountBounds::exact(entries),
        edges: taken.iter().map(of).collect(),
    }
}

/// Some of the counts, and of some nodes with two ways the counts of both without which is which.
fn partly(
    random: &mut Random,
    graph: &PathGraph,
    counts: &EdgeCounts,
    nodes: &[u64],
) -> PartlyKnown {
    let mut out = PartlyKnown::new(graph, counts.entries);
    for (node, edges) in counts.edges.iter().enumerate() {
        for (edge, &count) in edges.iter().enumerate() {
            if random.below(3) == 0 {
                out.edge(node, edge, count)
                    .expect("nothing else is known of it");
            }
        }
        if random.below(3) == 0 {
            let count = CountBounds::exact(nodes[node]);
            out.node(node, count).expect("nothing else is known of it");
        }
        if let (&[first, second], 0) = (edges.as_slice(), random.below(3)) {
            let mut pair = [first.most, second.most];
            if random.below(2) == 0 {
                pair.reverse();
            }
            out.pairs.push(SidePair { node, counts: pair });
        }
    }
    out
}

/// Counts that no flow has are reported: a side that neither count fits, and more out of a node than into it.
#[test]
fn counts_that_contradict_each_other_are_told() {
    let graph = PathGraph::new(0, vec![vec![1, 2], vec![3], vec![3], vec![]]);
    let entered = || PartlyKnown::new(&graph, CountBounds::exact(10));
    let mut known = entered();
    let counts = [4, 6];
    known.pairs.push(SidePair { node: 0, counts });
    let open = known.clone().solved(&graph).expect("a flow");
    assert_eq!(open.edges[0], [CountBounds { least: 4, most: 6 }; 2]);
    known.node(2, CountBounds::exact(4)).expect("new");
    let solved = known.clone().solved(&graph).expect("a flow");
    assert_eq!(solved, exact(10, &[vec![6, 4], vec![6], vec![4], vec![]]));
    known.node(1, CountBounds::exact(5)).expect("new");
    assert!(known.solved(&graph).is_err());
    let mut known = entered();
    known.node(3, CountBounds::exact(11)).expect("new");
    assert!(known.solved(&graph).is_err());
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

/// 40 branches in a row, each come to a little less often than the one before: 2^40 ways, of which a few are asked for.
#[test]
fn the_most_frequent_of_very_many_paths_are_found() {
    let mut successors = Vec::new();
    let mut taken = Vec::new();
    let exit = 40 * 3 + 1;
    for at in 0..40 {
        let node = at * 3;
        successors.extend([
            vec![node + 1, node + 2, exit],
            vec![node + 3],
            vec![node + 3],
        ]);
        let here = 100_000 - 10 * at as u64;
        taken.extend([
            vec![here / 2, here - here / 2 - 10, 10],
            vec![here / 2],
            vec![here - here / 2 - 10],
        ]);
    }
    successors.extend([vec![exit], Vec::new()]);
    taken.extend([vec![100_000 - 400], Vec::new()]);
    let graph = PathGraph::new(0, successors);
    let counts = exact(100_000, &taken);
    let found = ranked(&graph, &counts, RankedBy::Most, 500);
    assert!(found.cut);
    assert_eq!(found.paths.len(), 500);
    let most: Vec<u64> = found.paths.iter().map(|(_, bound)| bound.most).collect();
    assert!(
        most.is_sorted_by(|a, b| a >= b) && most[0] == 100_000 / 2 - 195,
        "{most:?}"
    );
    // Nothing is certain: each way may have been taken by others.
    let certain = ranked(&graph, &counts, RankedBy::Least, 500);
    assert!(!certain.cut);
}
