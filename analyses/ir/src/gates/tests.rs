//! The shapes of the literature by name, and the cost of the walk. `tests/gates.rs` has random graphs.

use super::*;

#[path = "../../tests/support/graph.rs"]
mod shared;

pub(crate) use shared::graph;

fn gates_of(flow: &ControlFlow, branch: u32) -> Gates {
    let dominators = DominatorTree::dominators(flow);
    let forest = LoopForest::new(flow);
    GateBuilder::new(flow, &dominators, &forest).gates(flow, &forest, Block(branch))
}

fn joins(flow: &ControlFlow, branch: u32) -> Vec<u32> {
    gates_of(flow, branch).joins.iter().map(|b| b.0).collect()
}
fn exits(flow: &ControlFlow, branch: u32) -> Vec<u32> {
    gates_of(flow, branch).exits.iter().map(|b| b.0.0).collect()
}

#[test]
fn join_before_the_post_dominator() {
    // A: C|B, B: D|E, C -> D, D -> F, E -> F
    let flow = graph(&[&[2, 1], &[3, 4], &[3], &[5], &[5], &[]]);
    assert_eq!(joins(&flow, 0), [3, 5]);
    assert_eq!(joins(&flow, 1), [5]);
}

#[test]
fn loops_with_two_exits() {
    // T6: loop 1 -> exit 3 | body 2; body 2 -> exit 3 | loop 1
    let flow = graph(&[&[1], &[3, 2], &[3, 1], &[]]);
    assert_eq!(joins(&flow, 2), [3]);
    assert_eq!(exits(&flow, 2), [3]);
    // T7: oh 1 -> ih 2 | exit 5; ih 2 -> ib 3 | ol 4; ib 3 -> exit 5 | ih 2; ol 4 -> oh 1
    let flow = graph(&[&[1], &[2, 5], &[3, 4], &[5, 2], &[1], &[]]);
    let gates = gates_of(&flow, 3);
    assert_eq!(gates.joins[..], [Block(5)]);
    let forest = LoopForest::new(&flow);
    assert_eq!(forest.loops[gates.exits[0].1].header, Block(1));
    // T7b: loop 1 -> body 2 | xu 4; body 2 -> xd 5 | mid 3; mid 3 -> xu 4 | loop 1
    let flow = graph(&[&[1], &[2, 4], &[5, 3], &[4, 1], &[], &[]]);
    assert_eq!(
        joins(&flow, 2),
        [5],
        "one predecessor: no φ, but lanes arrive at different times"
    );
    assert_eq!(exits(&flow, 2), [5]);
}

#[test]
fn switch_return_continue_and_long_arms() {
    // T10: 0 -> c0 1 | c1 2 | d 3; 1 -> 2; 2 -> 3; 3 -> 4
    let flow = graph(&[&[1, 2, 3], &[2], &[3], &[4], &[]]);
    assert_eq!(joins(&flow, 0), [2, 3]);
    // T11
    assert!(joins(&graph(&[&[1, 2], &[], &[]]), 0).is_empty());
    assert_eq!(joins(&graph(&[&[1, 2], &[3], &[3], &[]]), 0), [3]);
    // T12: 1 = H -> P 2; P -> Q 3 | R 4; Q, R -> H; H -> 5
    let flow = graph(&[&[1], &[2, 5], &[3, 4], &[1], &[1], &[]]);
    assert_eq!(joins(&flow, 2), [1]);
    assert!(exits(&flow, 2).is_empty());
    // T13
    let flow = graph(&[&[1, 4], &[2], &[3], &[7], &[5], &[6], &[7], &[]]);
    assert_eq!(joins(&flow, 0), [7]);
}

#[test]
fn divergent_header_left_elsewhere() {
    // T15: H 1 -> A 2 | B 3; A -> L 4; B -> X 5 | L; L -> H
    let flow = graph(&[&[1], &[2, 3], &[4], &[5, 4], &[1], &[]]);
    assert_eq!(joins(&flow, 1), [4, 5]);
    assert_eq!(exits(&flow, 1), [5]);
}

#[test]
fn irreducible_loops_are_tainted() {
    let flow = graph(&[&[1, 2], &[2], &[1, 3], &[]]);
    assert_eq!(gates_of(&flow, 0).tainted.len(), 1);
    assert_eq!(gates_of(&flow, 2).tainted.len(), 1);
    assert_eq!(joins(&flow, 2), [3]);
    // Entered by one label at both entries: not tainted.
    let flow = graph(&[&[1, 5], &[2, 3], &[3], &[2, 4], &[], &[4]]);
    assert!(gates_of(&flow, 0).tainted.is_empty());
}

#[test]
fn near_linear_on_ladders_nests_and_switches() {
    let work = |rows: Vec<Vec<u32>>| {
        let rows: Vec<&[u32]> = rows.iter().map(Vec::as_slice).collect();
        let flow = graph(&rows);
        let dominators = DominatorTree::dominators(&flow);
        let forest = LoopForest::new(&flow);
        let mut builder = GateBuilder::new(&flow, &dominators, &forest);
        let before = builder.work_left;
        for &branch in &flow.order {
            if flow.successors[branch].len() > 1 {
                assert!(!builder.gates(&flow, &forest, branch).coarse);
            }
        }
        (before - builder.work_left) as f64 / rows.len() as f64
    };
    let n = 30_000u32;
    // Ladder of diamonds.
    let mut rows: Vec<Vec<u32>> = Vec::new();
    for i in 0..n {
        rows.extend([vec![3 * i + 1, 3 * i + 2], vec![3 * i + 3], vec![3 * i + 3]]);
    }
    rows.push(vec![]);
    assert!(work(rows) < 4.0);
    // Nested `if` without else.
    let mut rows: Vec<Vec<u32>> = (0..n).map(|i| vec![i + 1, 2 * n - i]).collect();
    rows.extend((n..2 * n).map(|i| vec![i + 1]));
    rows.push(vec![]);
    assert!(work(rows) < 8.0);
    // A loop with many breaks, then one with many continues, then many returns.
    let mut rows: Vec<Vec<u32>> = vec![vec![1]];
    rows.extend((1..n).map(|i| vec![i + 1, n + 1]));
    rows.push(vec![1]);
    rows.push(vec![]);
    assert!(work(rows) < 8.0);
    let mut rows: Vec<Vec<u32>> = vec![vec![1], vec![2, n + 1]];
    rows.extend((2..n).map(|i| vec![i + 1, 1]));
    rows.push(vec![1]);
    rows.push(vec![]);
    assert!(work(rows) < 8.0);
    let mut rows: Vec<Vec<u32>> = (0..n).map(|i| vec![i + 1, n + 1]).collect();
    rows.extend([vec![n + 1], vec![]]);
    assert!(work(rows) < 8.0);
    // A switch of as many cases that fall through.
    let mut rows: Vec<Vec<u32>> = vec![(1..n).collect()];
    rows.extend((1..n).map(|i| vec![i + 1]));
    rows.push(vec![]);
    assert!(work(rows) < 8.0);
    // Nested loops.
    let mut rows: Vec<Vec<u32>> = (0..n).map(|i| vec![i + 1, 2 * n + 1 - i]).collect();
    rows[0] = vec![1];
    rows.push(vec![n]);
    rows[n as usize] = vec![n - 1];
    rows.truncate(n as usize + 1);
    rows.extend((n + 1..2 * n + 1).map(|i| vec![2 * n - i]));
    rows.push(vec![]);
    work(rows);
}
