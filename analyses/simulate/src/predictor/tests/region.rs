//! Region formation on the paper's Figure 2, and conversions that keep the executed operations.

use super::super::region::{Converted, Region, RegionEnd, RegionNode, Step, original, regions};
use super::*;

/// A conversion and its events.
fn converted(
    nodes: &[RegionNode],
    regions: &[Region],
    steps: &[Step],
    delay: u32,
) -> (Converted, Vec<Event>) {
    let mut events = Vec::new();
    let listener = &mut |event: &Event| events.push(*event);
    let out = super::super::region::converted(nodes, regions, steps, delay, listener);
    (out, events)
}

fn node(successors: &[usize], executed: u64, mispredicted: u64) -> RegionNode {
    RegionNode {
        successors: successors.to_vec(),
        ends: successors.is_empty(),
        length: 5,
        pc: 0,
        executed,
        mispredicted,
    }
}

/// Places by number, apart from each other.
fn placed(mut nodes: Vec<RegionNode>) -> Vec<RegionNode> {
    for (at, node) in nodes.iter_mut().enumerate() {
        node.pc = 10 * at as u64;
    }
    nodes
}

/// Figure 2a: 0 `a > b`, 1 its true side, 2 `b <= 0`, 3 its true side, 4 `return FALSE`, 5 the join with `c <
/// a`, whose taken side is the head, 6, of a region with more mispredictions; 7 the following block. With so
/// few branches, further branches that are never wrong make both of these the worst.
fn figure_2a() -> Vec<RegionNode> {
    let mut nodes = vec![
        node(&[1, 2], 100_000, 30_000),
        node(&[5], 50_000, 0),
        node(&[3, 4], 50_000, 100),
        node(&[5], 40_000, 0),
        node(&[], 10_000, 0),
        node(&[6, 7], 90_000, 200),
        node(&[8, 9], 60_000, 40_000),
        node(&[], 30_000, 0),
        node(&[], 30_000, 0),
        node(&[], 30_000, 0),
    ];
    nodes.extend((0..10).map(|_| node(&[7, 8], 0, 0)));
    placed(nodes)
}

#[test]
fn the_region_of_figure_2() {
    let nodes = figure_2a();
    let found = regions(&nodes);
    let mut members: Vec<Vec<usize>> = found.iter().map(|region| region.nodes.clone()).collect();
    members
        .iter_mut()
        .for_each(|members| members.sort_unstable());
    assert_eq!(members, [vec![6, 8, 9], vec![0, 1, 2, 3, 4, 5]]);
    let region = &found[1];
    let end = |node: usize| {
        let at = region.nodes.iter().position(|&known| known == node);
        region.end(&nodes, at.expect("in the region"))
    };
    // cmp1 and cmp2; `c < a` remains, and `return FALSE` is a branch with a guard unless it is last.
    assert_eq!((end(0), end(2)), (RegionEnd::Compare, RegionEnd::Compare));
    assert!(matches!(end(5), RegionEnd::Branch | RegionEnd::TwoBranches));
    assert_eq!(end(4), RegionEnd::Jump);
    assert_eq!((end(1), end(3)), (RegionEnd::Falls, RegionEnd::Falls));
    // The predicates: cmp1 defines those of 1 and 2, cmp2 under the second those of 3 and 4, the join has a sum of both.
    let at = |node: usize| {
        region
            .nodes
            .iter()
            .position(|&known| known == node)
            .expect("in the region") as u16
    };
    let steps = [(0, 1), (2, 0), (3, 0), (5, 1)].map(|(node, edge)| Step { node, edge });
    let (out, events) = converted(&nodes, &found, &steps, 20);
    let mut defined = Vec::new();
    let mut branches = Vec::new();
    for event in &events {
        match event {
            Event::Define(define) => defined.push((define.compare, define.first, define.second)),
            Event::Branch(branch) => {
                branches.push((original(branch.pc), branch.guard, branch.taken))
            }
        }
    }
    let write = |node: usize, which: u16, value| Write {
        predicate: 3 * at(node) + 1 + which,
        value,
    };
    assert!(defined.contains(&(true, write(0, 0, false), Some(write(0, 1, true)))));
    assert!(defined.contains(&(true, write(2, 0, true), Some(write(2, 1, false)))));
    assert!(defined.contains(&(false, write(5, 2, true), None)));
    // `return FALSE` is fetched under p5, and not taken.
    assert!(
        branches.contains(&(40, write(2, 1, false).predicate, false)),
        "{branches:?}"
    );
    assert_eq!(out.entries, 1);
    // The true side of `a > b` and the return are fetched for nothing.
    assert_eq!(out.added, 10);
}

/// A random graph of forward edges and some that go back, with a walk through it.
fn random_walk(rng: &mut impl Rng, size: usize) -> (Vec<RegionNode>, Vec<Step>) {
    let successors = |at: usize, rng: &mut dyn FnMut(usize) -> usize| -> Vec<usize> {
        let mut next = || match rng(8) {
            0 if at > 0 => rng(at),
            _ => at + 1 + rng((size - at - 1).min(4)),
        };
        match at {
            at if at + 1 >= size => Vec::new(),
            _ => match next() {
                first if first % 3 == 0 => vec![first],
                first => {
                    let second = next();
                    if second == first {
                        vec![first]
                    } else {
                        vec![first, second]
                    }
                }
            },
        }
    };
    let mut draw = |below: usize| rng.random_range(0..below.max(1));
    let mut nodes: Vec<RegionNode> = (0..size)
        .map(|at| node(&successors(at, &mut draw), 0, 0))
        .collect();
    let mut steps = Vec::new();
    while steps.len() < 2_000 {
        let mut at = 0;
        for _ in 0..200 {
            let ways = nodes[at].successors.len();
            let edge = if ways > 1 { draw(ways) } else { 0 };
            steps.push(Step {
                node: at as u32,
                edge: edge as u32,
            });
            nodes[at].executed += 1;
            nodes[at].mispredicted += u64::from(draw(3) == 0);
            match nodes[at].successors.get(edge) {
                Some(&to) => at = to,
                None => break,
            }
        }
        if !nodes[at].successors.is_empty() {
            // Cut off: as if it had returned, which only the graph's last block does.
            break;
        }
    }
    (placed(nodes), steps)
}

#[test]
fn conversions_keep_what_is_executed() {
    let (mut formed, mut acted) = (0, 0);
    for seed in 0..400 {
        let mut rng = StdRng::seed_from_u64(seed);
        let size = rng.random_range(4..40);
        let (nodes, steps) = random_walk(&mut rng, size);
        let found = regions(&nodes);
        formed += found.len();
        let (plain, all) = converted(&nodes, &[], &steps, 5);
        let (_, events) = converted(&nodes, &found, &steps, 5);
        let of = |events: &[Event]| {
            let mut branches = 0u64;
            for event in events {
                branches += u64::from(matches!(event, Event::Branch(_)));
            }
            branches
        };
        // Without regions, a branch for each step that has two ways.
        let branches = steps
            .iter()
            .filter(|step| nodes[step.node as usize].successors.len() == 2);
        assert_eq!(of(&all), branches.count() as u64);
        assert_eq!(plain.added, 0);
        // A branch whose guard is false is not taken: the predictor that relies on it is never wrong.
        let mut laboratory = Laboratory::new(&design("meta+squash+pgu"));
        for event in &events {
            if let Some(prediction) = laboratory.event(event) {
                acted += u64::from(prediction.squashed);
                assert!(!(prediction.squashed && prediction.wrong), "seed {seed}");
            }
        }
        // Each way out of a region is one that is left once: taken branches of regions are at most their entries.
        let mut holds = std::collections::HashMap::new();
        for event in &events {
            match event {
                Event::Define(define) => {
                    for write in [Some(define.first), define.second].into_iter().flatten() {
                        holds.insert(write.predicate, write.value);
                    }
                }
                Event::Branch(branch) if branch.guard != 0 && branch.taken => {
                    assert_eq!(holds.get(&branch.guard), Some(&true), "seed {seed}");
                }
                Event::Branch(_) => {}
            }
        }
    }
    assert!(formed > 300, "{formed}");
    assert!(acted > 1_000, "{acted}");
}

/// The unpredictable branch becomes a compare; the loop's own stays.
#[test]
fn a_hard_branch_goes_and_its_mispredictions_with_it() {
    // 0 loop head, 1 if chance, 2 and 3 its sides, 4 the loop's branch, 5 the end.
    let mut rng = StdRng::seed_from_u64(9);
    let mut steps = Vec::new();
    for _ in 0..4_000 {
        let edge = u32::from(rng.random::<bool>());
        let side = 2 + edge;
        let visit = [(0, 0), (1, edge), (side, 0), (4, 0)];
        steps.extend(visit.map(|(node, edge)| Step { node, edge }));
    }
    let mut nodes = placed(vec![
        node(&[1], 4_000, 0),
        node(&[2, 3], 4_000, 2_000),
        node(&[4], 2_000, 0),
        node(&[4], 2_000, 0),
        node(&[0, 5], 4_000, 1),
        node(&[], 1, 0),
    ]);
    nodes[4].successors = vec![0, 5];
    let found = regions(&nodes);
    assert_eq!(found.len(), 1);
    let rate = |events: &[Event]| simulate(&design("meta"), events).all;
    let before = rate(&converted(&nodes, &[], &steps, 5).1);
    let (after, events) = converted(&nodes, &found, &steps, 5);
    let counts = rate(&events);
    assert!(before.mispredicted > 1_800, "{before:?}");
    assert!(counts.mispredicted < 20, "{counts:?}");
    // Of both sides one is fetched for nothing each time.
    assert_eq!((after.entries, after.added), (4_000, 20_000));
}
