//! The paper's example, and random graphs against all sets of edges. `LOCKSTEP_SPECULATION_GRAPHS` says how many graphs.
#![allow(clippy::disallowed_methods)]

use lockstep_facts::speculative::*;

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

/// A way through a graph: blocks with the edges over which they are left.
type Way = Vec<(usize, Option<usize>)>;

/// The problem of a graph whose edges are given from 1, on so many runs along each way.
fn of_ways(
    edges: &[(usize, usize)],
    evaluates: &[usize],
    ways: &[(&[usize], u64)],
) -> (Problem, Vec<Way>) {
    let blocks = edges
        .iter()
        .map(|edge| edge.0.max(edge.1))
        .max()
        .expect("edges");
    let mut problem = Problem {
        entry: 0,
        entries: 0,
        successors: vec![Vec::new(); blocks],
        taken: vec![Vec::new(); blocks],
        blocks: vec![Local::default(); blocks],
        may_fault: false,
    };
    for &(from, to) in edges {
        problem.successors[from - 1].push(to - 1);
        problem.taken[from - 1].push(0);
    }
    for &block in evaluates {
        problem.blocks[block - 1].uses = true;
    }
    let mut out = Vec::new();
    for (way, count) in ways {
        problem.entries += count;
        let mut steps = Way::new();
        for (at, &block) in way.iter().enumerate() {
            let next = way.get(at + 1);
            let mut targets = problem.successors[block - 1].iter();
            let edge = next.and_then(|next| targets.position(|to| to + 1 == *next));
            if let Some(edge) = edge {
                problem.taken[block - 1][edge] += count;
            }
            steps.push((block - 1, edge));
        }
        out.push(steps);
    }
    (problem, out)
}

const EDGES: [(usize, usize); 11] = [
    (1, 2),
    (1, 3),
    (2, 4),
    (2, 5),
    (4, 6),
    (5, 6),
    (3, 6),
    (6, 7),
    (6, 8),
    (7, 9),
    (8, 9),
];
const PATHS: [&[usize]; 6] = [
    &[1, 2, 4, 6, 7, 9],
    &[1, 2, 5, 6, 7, 9],
    &[1, 2, 4, 6, 8, 9],
    &[1, 2, 5, 6, 8, 9],
    &[1, 3, 6, 8, 9],
    &[1, 3, 6, 7, 9],
];

#[test]
fn the_expression_of_figure_11_is_evaluated_early_where_that_pays() {
    // Of P5, which then evaluates in vain, and of those that gain.
    let solved = |counts: [u64; 6]| {
        let ways: Vec<(&[usize], u64)> = PATHS.into_iter().zip(counts).collect();
        let (problem, steps) = of_ways(&EDGES, &[2, 7], &ways);
        (
            place(&problem),
            lazy(&problem).expect("balanced"),
            problem,
            steps,
        )
    };
    let (placed, safe, problem, steps) = solved([30, 21, 5, 4, 50, 7]);
    let placed = placed.expect("51 gain and 50 lose");
    assert_eq!(placed.spots(&problem), [Spot::End(2)], "node 3");
    assert_eq!(placed.deleted, [6], "node 7");
    let after: Vec<u64> = steps
        .iter()
        .map(|way| placed.on_path(&problem, way))
        .collect();
    let before: Vec<u64> = steps
        .iter()
        .map(|way| Placed::default().on_path(&problem, way))
        .collect();
    assert_eq!(before, [2, 2, 1, 1, 0, 1]);
    assert_eq!(after, [1, 1, 1, 1, 1, 1]);
    assert_eq!((placed.before, placed.after), (118, 117));
    // What is safe gains nothing there.
    assert_eq!((safe.before, safe.after), (118, 118));
    // As often one as the other.
    let (placed, ..) = solved([30, 20, 5, 4, 50, 7]);
    assert_eq!(
        placed,
        Err(SpeculationRefusal::NothingGained { evaluations: 116 })
    );
    let (_, _, mut problem, _) = solved([30, 21, 5, 4, 50, 7]);
    problem.may_fault = true;
    assert_eq!(
        place(&problem),
        Err(SpeculationRefusal::NothingGained { evaluations: 118 })
    );
    problem.may_fault = false;
    problem.taken[5][0] += 1;
    assert_eq!(
        place(&problem),
        Err(SpeculationRefusal::Unbalanced {
            block: 5,
            come: 117,
            leave: 118
        })
    );
    problem.taken[5].pop();
    assert_eq!(place(&problem), Err(SpeculationRefusal::OtherGraph));
}

/// A graph of up to 7 blocks, loops and parallel edges among them, with the counts of some walks, and the walks.
fn random(random: &mut Random) -> (Problem, Vec<Way>) {
    let blocks = 2 + random.below(6) as usize;
    let mut successors = vec![Vec::new(); blocks];
    let mut edges = 0;
    for (block, own) in successors.iter_mut().enumerate().take(blocks - 1) {
        let most = if edges < 9 {
            1 + random.below(4).min(1)
        } else {
            1
        };
        edges += most;
        for _ in 0..most {
            own.push(match random.below(3) {
                0 => random.below(blocks as u64) as usize,
                _ => block + 1 + random.below((blocks - block - 1) as u64) as usize,
            });
        }
    }
    let local = |random: &mut Random| Local {
        uses: random.below(4) == 0,
        kills: random.below(8) == 0,
        defines: false,
    };
    let mut problem = Problem {
        entry: 0,
        entries: 0,
        taken: successors.iter().map(|own| vec![0; own.len()]).collect(),
        blocks: (0..blocks).map(|_| local(random)).collect(),
        successors,
        may_fault: false,
    };
    // What the first or the last block evaluates is wanted on every way.
    if random.below(3) > 0 {
        problem.blocks[0].uses = false;
        problem.blocks[blocks - 1].uses = false;
    }
    for own in &mut problem.blocks {
        own.defines = own.kills && random.below(3) == 0;
    }
    // Of each block: how often in a hundred the last edge is taken.
    let chances: Vec<u64> = (0..blocks).map(|_| 5 + random.below(90)).collect();
    let mut ways = Vec::new();
    for _ in 0..6 + random.below(6) {
        let (mut way, mut at) = (Way::new(), 0);
        while !problem.successors[at].is_empty() && way.len() < 300 {
            let edges = problem.successors[at].len() as u64;
            let edge = (random.below(100) < chances[at]) as usize * (edges - 1) as usize;
            way.push((at, Some(edge)));
            at = problem.successors[at][edge];
        }
        if !problem.successors[at].is_empty() {
            continue;
        }
        way.push((at, None));
        let weight = 1 + random.below(20);
        problem.entries += weight;
        for &(block, edge) in &way {
            if let Some(edge) = edge {
                problem.taken[block][edge] += weight;
            }
        }
        ways.push(way);
    }
    (problem, ways)
}

/// Returns for each block whether the value is available at its start on every way, with these edges
/// evaluating.
fn there(problem: &Problem, inserted: &dyn Fn(usize, usize) -> bool, at_entry: bool) -> Vec<bool> {
    let count = problem.successors.len();
    let mut out = vec![true; count];
    loop {
        let mut next = vec![true; count];
        next[problem.entry] = at_entry;
        for (block, local) in problem.blocks.iter().enumerate() {
            let end = local.defines || !local.kills && (local.uses || out[block]);
            for (edge, &to) in problem.successors[block].iter().enumerate() {
                next[to] &= end || inserted(block, edge);
            }
        }
        if next == out {
            return out;
        }
        // It only ever turns to false.
        for (known, other) in out.iter_mut().zip(&next) {
            *known &= other;
        }
    }
}

/// Returns for each block whether a way from its start ends, changes an operand, or goes on for ever, without an evaluation in
/// front of that.
fn goes_without(problem: &Problem) -> Vec<bool> {
    let mut out = vec![true; problem.blocks.len()];
    for _ in 0..problem.blocks.len() {
        for (block, local) in problem.blocks.iter().enumerate() {
            let targets = &problem.successors[block];
            let onwards = targets.is_empty() || targets.iter().any(|&to| out[to]);
            out[block] = !local.uses && (local.kills || onwards);
        }
    }
    out
}

/// The fewest evaluations over all sets of edges; of an expression that may fault, over those that evaluate nothing in vain.
fn least(problem: &Problem) -> u64 {
    let edges: Vec<(usize, usize)> = (0..problem.successors.len())
        .flat_map(|block| (0..problem.successors[block].len()).map(move |edge| (block, edge)))
        .collect();
    let executions = problem.executions();
    let vain = goes_without(problem);
    let mut best = u64::MAX;
    for set in 0u32..1 << (edges.len() + 1) {
        let at_entry = set & 1 != 0;
        let is_in = |block: usize, edge: usize| {
            let at = edges.iter().position(|&known| known == (block, edge));
            at.is_some_and(|at| set >> (at + 1) & 1 != 0)
        };
        let in_vain = edges
            .iter()
            .any(|&(block, edge)| is_in(block, edge) && vain[problem.successors[block][edge]]);
        if problem.may_fault && (in_vain || at_entry && vain[problem.entry]) {
            continue;
        }
        let mut cost = u64::from(at_entry) * problem.entries;
        for &(block, edge) in &edges {
            cost += u64::from(is_in(block, edge)) * problem.taken[block][edge];
        }
        if cost >= best {
            continue;
        }
        let there = there(problem, &is_in, at_entry);
        for (block, local) in problem.blocks.iter().enumerate() {
            let evaluates = u64::from(local.uses && !there[block]) + u64::from(local.defines);
            cost += evaluates * executions[block];
        }
        best = best.min(cost);
    }
    best
}

#[test]
fn evaluations_are_the_fewest_and_never_more_than_lazy_code_motion_has() {
    let graphs: u64 = std::env::var("LOCKSTEP_SPECULATION_GRAPHS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(20_000);
    let mut stream = Random(11);
    let (mut gained, mut fewer, mut safer, mut faulting) = (0u64, 0u64, 0u64, 0u64);
    let (mut problem, mut ways) = random(&mut stream);
    for at in 0..2 * graphs {
        // Each graph with an expression that can't fault, and with one that may.
        if at % 2 == 0 && at > 0 {
            (problem, ways) = random(&mut stream);
        }
        problem.may_fault = at % 2 == 1;
        let safe = lazy(&problem).expect("whole runs");
        let least = least(&problem);
        let placed = match place(&problem) {
            Ok(placed) => placed,
            Err(SpeculationRefusal::NothingGained { evaluations }) => {
                assert_eq!(evaluations, least, "{problem:?}");
                assert!(
                    problem.may_fault || safe.after >= least,
                    "{problem:?} {safe:?}"
                );
                continue;
            }
            Err(other) => panic!("{other}: {problem:?}"),
        };
        assert_eq!(placed.after, least, "{problem:?} {placed:?}");
        // Lazy code motion takes it that loops end.
        assert!(
            problem.may_fault || placed.after <= safe.after,
            "{problem:?} {placed:?} {safe:?}"
        );
        let vain = goes_without(&problem);
        let mut inserted = placed.inserted.iter();
        let faults = inserted.any(|&(block, edge)| vain[problem.successors[block][edge]]);
        assert!(
            !(problem.may_fault && (faults || placed.at_entry && vain[problem.entry])),
            "{problem:?} {placed:?}"
        );
        if problem.may_fault {
            faulting += 1;
            continue;
        }
        gained += 1;
        fewer += u64::from(placed.after < safe.after);
        safer += u64::from(safe.after < safe.before);
        for found in [&placed, &safe] {
            let is_in = |block: usize, edge: usize| found.inserted.contains(&(block, edge));
            let there = there(&problem, &is_in, found.at_entry);
            assert!(
                found.deleted.iter().all(|&block| there[block]),
                "{problem:?} {found:?}"
            );
        }
        // Way by way: what is counted is what is told, and lazy code motion has no way with more than before.
        for way in &ways {
            let none = Placed::default().on_path(&problem, way);
            assert!(
                safe.on_path(&problem, way) <= none,
                "{problem:?} {safe:?} {way:?}"
            );
        }
    }
    println!(
        "{gained} of {graphs} gain, {fewer} of them more than lazy code motion, which gains in {safer} of them"
    );
    assert!(
        gained * 10 > graphs
            && faulting * 40 > graphs
            && fewer * 100 > graphs
            && safer * 40 > graphs
    );
}
