//! The notes' test vectors, and random graphs: sets against definitions path by path, programs before and after against each
//! other.

use super::walk::path_cost;
use super::*;
use fixedbitset::FixedBitSet;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Statement,
    Definition,
    Read,
    Operand,
}

use Kind::{Definition, Operand, Read, Statement};

fn kind(kind: Kind) -> NodeKind {
    NodeKind {
        is_statement: kind == Statement,
        reads: kind == Read,
        defines: kind == Definition,
        changes_operand: kind == Operand,
    }
}

fn problem(
    entry: usize,
    edges: &[(usize, usize)],
    kinds: &[(usize, Kind)],
    paths: &[(&[usize], u64)],
) -> Problem {
    let nodes = edges
        .iter()
        .map(|&(from, to)| from.max(to))
        .max()
        .unwrap_or(0)
        + 1;
    let mut successors = vec![Vec::new(); nodes];
    for &(from, to) in edges {
        successors[from].push(to);
    }
    let mut all = vec![NodeKind::default(); nodes];
    for &(node, of) in kinds {
        all[node] = kind(of);
    }
    let paths = paths.iter().map(|&(path, count)| (path.to_vec(), count));
    let made = Problem::new(entry, all, successors, false, paths.collect());
    made.unwrap_or_else(|error| panic!("{error}"))
}

fn set(problem: &Problem, nodes: &[usize]) -> FixedBitSet {
    let mut out = FixedBitSet::with_capacity(problem.kinds.len());
    out.extend(nodes.iter().copied());
    out
}

fn nodes(bits: &[bool]) -> Vec<usize> {
    (0..bits.len()).filter(|&node| bits[node]).collect()
}

/// Paths by their numbers in the notes, from 1.
fn named(paths: &FixedBitSet) -> Vec<usize> {
    paths.ones().map(|path| path + 1).collect()
}

const UNIT: Prices = Prices {
    statement: 1.0,
    suppressed: 1.0,
    predicate: 0.0,
};

fn dear(statement: f64) -> Prices {
    Prices { statement, ..UNIT }
}

/// Executions that are gone, and false predicates.
fn effect(problem: &Problem, sets: &PathSets, enabled: &[usize]) -> (i64, u64) {
    let walked = walk(
        problem,
        &Sinking::new(problem, sets, &set(problem, enabled)),
    );
    (walked.removed(), walked.suppressed)
}

const FIRST: &[(usize, usize)] = &[
    (1, 2),
    (1, 3),
    (2, 4),
    (3, 4),
    (4, 5),
    (4, 6),
    (5, 7),
    (5, 8),
    (7, 9),
    (8, 9),
    (9, 10),
    (6, 10),
];
const FIRST_PATHS: &[(&[usize], u64)] = &[
    (&[1, 2, 4, 6, 10], 100),
    (&[1, 2, 4, 5, 7, 9, 10], 90),
    (&[1, 2, 4, 5, 8, 9, 10], 80),
    (&[1, 3, 4, 6, 10], 70),
    (&[1, 3, 4, 5, 7, 9, 10], 60),
    (&[1, 3, 4, 5, 8, 9, 10], 50),
];

/// TV-1, with the table of all sets.
#[test]
fn figure_1() {
    let kinds = [
        (2, Statement),
        (3, Definition),
        (6, Definition),
        (7, Definition),
        (8, Read),
    ];
    let problem = problem(1, FIRST, &kinds, FIRST_PATHS);
    let sets = PathSets::new(&problem);
    let gain = sets.gain(4);
    assert_eq!(named(&gain.benefit), [1, 2]);
    assert_eq!(problem.frequency(&gain.benefit), 190);
    assert_eq!(named(&gain.cost), [6]);
    assert_eq!(problem.frequency(&gain.cost), 50);
    for join in [9, 10] {
        assert!(sets.gain(join).benefit.is_clear());
    }
    assert_eq!(nodes(&sets.dead.entry)[1..], [1, 2, 3, 6, 7, 9, 10]);
    assert_eq!(nodes(&sets.dead.exit)[1..], [1, 6, 7, 8, 9, 10]);
    assert_eq!(nodes(&sets.available.entry), [4, 5, 6, 7, 8]);
    assert_eq!(nodes(&sets.available.exit), [2, 4, 5]);
    assert_eq!(nodes(&sets.removable.entry), [4, 5, 6, 7]);
    assert_eq!(nodes(&sets.removable.exit), [2, 4, 5]);
    let paths = |of: &Sets, node: usize| (named(&of.entry[node]), named(&of.exit[node]));
    let arrive = [
        (4, vec![1, 2, 3], vec![1, 2, 3]),
        (5, vec![2, 3], vec![2, 3]),
        (6, vec![1], vec![]),
        (7, vec![2], vec![]),
        (8, vec![3], vec![]),
        (9, vec![], vec![]),
    ];
    for (node, entry, exit) in arrive {
        assert_eq!(paths(&sets.available_paths, node), (entry, exit), "{node}");
    }
    let remove = [
        (2, vec![], vec![1, 2]),
        (3, vec![], vec![]),
        (4, vec![1, 2, 4, 5], vec![1, 2, 4, 5]),
        (5, vec![2, 5], vec![2, 5]),
        (6, vec![1, 4], vec![]),
        (7, vec![2, 5], vec![]),
        (8, vec![], vec![]),
    ];
    for (node, entry, exit) in remove {
        assert_eq!(paths(&sets.removable_paths, node), (entry, exit), "{node}");
    }
    let classical = Sinking::new(&problem, &sets, &set(&problem, &[]));
    assert_eq!(nodes(&classical.kept.exit), [2]);
    let walked = walk(&problem, &classical);
    assert_eq!((walked.before, walked.executed), (270, 270));
    let sinking = Sinking::new(&problem, &sets, &set(&problem, &[4]));
    assert_eq!(nodes(&sinking.inserted.entry), [6, 7, 8]);
    assert_eq!(nodes(&sinking.kept.entry), [8]);
    assert_eq!(nodes(&sinking.inserted.exit), [0usize; 0]);
    let walked = walk(&problem, &sinking);
    assert_eq!(
        (walked.executed, walked.suppressed, walked.removed()),
        (80, 50, 190)
    );
    let choice = choose(&problem, &sets, UNIT);
    assert_eq!(choice.enabled.ones().collect::<Vec<_>>(), [4]);
    assert_eq!(choice.gain(UNIT), 140.0);
}

/// TV-1b: a join where nothing reads the variable has no benefit.
#[test]
fn figure_1_without_definitions() {
    let kinds = [(2, Statement), (3, Definition), (8, Read)];
    let problem = problem(1, FIRST, &kinds, FIRST_PATHS);
    let sets = PathSets::new(&problem);
    assert_eq!(problem.frequency(&sets.gain(4).benefit), 190);
    assert_eq!(problem.frequency(&sets.gain(4).cost), 50);
    for join in [9, 10] {
        assert!(sets.gain(join).benefit.is_clear());
    }
    let sinking = Sinking::new(&problem, &sets, &set(&problem, &[4]));
    assert_eq!(nodes(&sinking.inserted.entry), [8]);
    assert_eq!(nodes(&sinking.inserted.exit), [6, 7]);
    assert_eq!(nodes(&sinking.kept.exit), [0usize; 0]);
    assert_eq!(effect(&problem, &sets, &[4]), (190, 50));
}

/// TV-3.
#[test]
fn figure_3() {
    let edges = [
        (0, 1),
        (0, 9),
        (1, 2),
        (1, 3),
        (1, 11),
        (2, 4),
        (3, 4),
        (11, 4),
        (9, 4),
        (4, 5),
        (4, 6),
        (5, 10),
        (6, 7),
        (6, 8),
        (7, 10),
        (8, 10),
    ];
    let kinds = [
        (1, Statement),
        (2, Read),
        (3, Definition),
        (9, Definition),
        (5, Definition),
        (6, Operand),
        (8, Read),
    ];
    let before: [&[usize]; 4] = [&[0, 1, 2, 4], &[0, 1, 3, 4], &[0, 1, 11, 4], &[0, 9, 4]];
    let behind: [&[usize]; 3] = [&[5, 10], &[6, 7, 10], &[6, 8, 10]];
    let all: Vec<Vec<usize>> = before
        .iter()
        .flat_map(|before| behind.iter().map(|behind| [*before, *behind].concat()))
        .collect();
    let paths: Vec<(&[usize], u64)> = all.iter().map(|path| (path.as_slice(), 1)).collect();
    let problem = problem(0, &edges, &kinds, &paths);
    let sets = PathSets::new(&problem);
    let gain = sets.gain(4);
    let of = |paths: &FixedBitSet| paths.ones().map(|at| all[at].clone()).collect::<Vec<_>>();
    assert_eq!(of(&gain.benefit), [vec![0, 1, 11, 4, 5, 10]]);
    let mut cost = of(&gain.cost);
    cost.sort();
    let mut expected: Vec<Vec<usize>> = all
        .iter()
        .filter(|path| path.contains(&6) && !path.contains(&11))
        .cloned()
        .collect();
    expected.sort();
    assert_eq!(cost, expected);
    let classical = Sinking::new(&problem, &sets, &set(&problem, &[]));
    assert_eq!(nodes(&classical.inserted.entry), [2, 3]);
    assert_eq!(nodes(&classical.inserted.exit), [11]);
    assert_eq!(effect(&problem, &sets, &[]), (3, 0));
    let sinking = Sinking::new(&problem, &sets, &set(&problem, &[4]));
    assert_eq!(nodes(&sinking.inserted.entry), [2, 3, 5, 6]);
    assert_eq!(effect(&problem, &sets, &[4]), (4, 6));
}

const FIFTH: &[(usize, usize)] = &[
    (1, 2),
    (1, 3),
    (2, 5),
    (3, 4),
    (4, 5),
    (3, 6),
    (5, 7),
    (5, 8),
    (8, 9),
    (6, 9),
    (9, 10),
    (9, 11),
    (7, 12),
    (10, 12),
    (11, 12),
];

fn fifth(kinds: &[(usize, Kind)], counts: [u64; 8]) -> Problem {
    let paths: [&[usize]; 8] = [
        &[1, 2, 5, 7, 12],
        &[1, 2, 5, 8, 9, 10, 12],
        &[1, 2, 5, 8, 9, 11, 12],
        &[1, 3, 4, 5, 7, 12],
        &[1, 3, 4, 5, 8, 9, 10, 12],
        &[1, 3, 6, 9, 10, 12],
        &[1, 3, 4, 5, 8, 9, 11, 12],
        &[1, 3, 6, 9, 11, 12],
    ];
    let paths: Vec<(&[usize], u64)> = paths.into_iter().zip(counts).collect();
    problem(1, FIFTH, kinds, &paths)
}

const FIFTH_KINDS: &[(usize, Kind)] = &[
    (2, Statement),
    (3, Definition),
    (7, Definition),
    (10, Definition),
    (11, Read),
];
const FIFTH_COUNTS: [u64; 8] = [125, 25, 10, 10, 10, 10, 50, 50];

/// TV-5 and TV-9, with the finding that a prefix of the forced joins can be better.
#[test]
fn figure_5() {
    let problem = fifth(FIFTH_KINDS, FIFTH_COUNTS);
    let sets = PathSets::new(&problem);
    assert_eq!(named(&sets.gain(5).benefit), [1, 2]);
    assert_eq!(problem.frequency(&sets.gain(5).benefit), 150);
    assert_eq!(named(&sets.gain(5).cost), [7]);
    assert_eq!(named(&sets.closure_cost(&problem, 5)), [7, 8]);
    assert_eq!(problem.frequency(&sets.closure_cost(&problem, 5)), 100);
    assert_eq!(named(&sets.gain(9).benefit), [2]);
    assert_eq!(named(&sets.gain(9).cost), [7, 8]);
    assert!(sets.gain(12).benefit.is_clear());
    let forced = sets.forced(&problem, &set(&problem, &[5]));
    assert_eq!(forced.ones().collect::<Vec<_>>(), [5, 7, 8, 9, 10]);
    let sinking = Sinking::new(&problem, &sets, &set(&problem, &[5, 9]));
    assert_eq!(nodes(&sinking.delayed.entry), [5, 7, 8, 9, 10, 11]);
    assert_eq!(nodes(&sinking.delayed.exit), [2, 5, 8, 9]);
    assert_eq!(nodes(&sinking.inserted.entry), [7, 10, 11]);
    assert_eq!(nodes(&sinking.inserted.exit), [0usize; 0]);
    assert_eq!(nodes(&sinking.kept.entry), [11]);
    assert!(!sinking.certain.entry[11]);
    let walked = walk(&problem, &sinking);
    assert_eq!(
        (walked.executed, walked.suppressed, walked.removed()),
        (10, 100, 150)
    );
    // TV-10: each path meets one definition of the predicate.
    for path in &problem.paths {
        assert_eq!(
            path_cost(&problem, &sinking, path).predicates,
            1,
            "{path:?}"
        );
    }
    assert_eq!(effect(&problem, &sets, &[]), (0, 0));
    assert_eq!(effect(&problem, &sets, &[5]), (125, 60));
    for (price, best, net) in [
        (1.0, vec![5], 65.0),
        (2.0, vec![5, 9], 200.0),
        (4.0, vec![5, 9], 500.0),
    ] {
        let choice = choose(&problem, &sets, dear(price));
        assert_eq!(choice.enabled.ones().collect::<Vec<_>>(), best);
        assert_eq!(choice.walked.net(dear(price)), net);
    }
}

/// TV-5a: three paths are not looked at; the estimate is safe.
#[test]
fn figure_5_with_fewer_paths() {
    let problem = fifth(FIFTH_KINDS, FIFTH_COUNTS);
    let sets = PathSets::new(&problem);
    let mut frequent = FixedBitSet::with_capacity(8);
    frequent.extend([0, 2, 3, 6, 7]);
    assert_eq!(sets.estimated(&problem, 5, &frequent), (125, 120));
}

/// TV-5b, TV-5c and TV-5d.
#[test]
fn figure_5_with_other_statements_and_counts() {
    let blank = fifth(&[(2, Statement), (3, Definition), (11, Read)], FIFTH_COUNTS);
    let sets = PathSets::new(&blank);
    assert_eq!(blank.frequency(&sets.gain(5).benefit), 150);
    assert!(sets.gain(12).benefit.is_clear());
    let sinking = Sinking::new(&blank, &sets, &set(&blank, &[5, 9]));
    assert_eq!(nodes(&sinking.inserted.entry), [11]);
    assert_eq!(nodes(&sinking.inserted.exit), [7, 10]);

    let rare = fifth(FIFTH_KINDS, [125, 25, 10, 10, 10, 10, 50, 500]);
    let sets = PathSets::new(&rare);
    let walked = walk(&rare, &Sinking::new(&rare, &sets, &set(&rare, &[5, 9])));
    assert_eq!(walked.net(dear(2.0)), -250.0);
    assert_eq!(rare.frequency(&sets.closure_cost(&rare, 5)), 550);
    let choice = choose(&rare, &sets, dear(2.0));
    assert_eq!(choice.enabled.ones().collect::<Vec<_>>(), [5]);
    assert_eq!(choice.walked.net(dear(2.0)), 190.0);

    let kinds = [
        (2, Statement),
        (3, Definition),
        (7, Read),
        (10, Definition),
        (11, Read),
    ];
    let alone = fifth(&kinds, [5, 300, 10, 500, 10, 10, 10, 10]);
    let sets = PathSets::new(&alone);
    assert_eq!(alone.frequency(&sets.gain(5).benefit), 300);
    assert_eq!(alone.frequency(&sets.gain(5).cost), 510);
    assert_eq!(alone.frequency(&sets.closure_cost(&alone, 5)), 520);
    assert_eq!(alone.frequency(&sets.gain(9).benefit), 300);
    assert_eq!(alone.frequency(&sets.gain(9).cost), 20);
    // Nothing sinks to join 9 by itself: the program stays as it is.
    let sinking = Sinking::new(&alone, &sets, &set(&alone, &[9]));
    assert_eq!(nodes(&sinking.inserted.exit), [2]);
    assert_eq!(nodes(&sinking.inserted.entry), [0usize; 0]);
    assert_eq!(effect(&alone, &sets, &[9]), (0, 0));
}

/// TV-6: a statement leaves a loop behind its tail; without a node on the edge back it is no problem.
#[test]
fn figure_6() {
    let edges = [
        (0, 1),
        (1, 2),
        (2, 3),
        (2, 4),
        (3, 5),
        (4, 5),
        (5, 9),
        (9, 1),
        (5, 6),
        (6, 7),
        (6, 8),
        (7, 10),
        (8, 10),
    ];
    let kinds = [(1, Statement), (3, Read), (7, Read), (8, Definition)];
    // Three iterations without, with and without a read; then out to the read, and to the way without one.
    let around: &[usize] = &[0, 1, 2, 4, 5, 9, 1, 2, 3, 5, 9, 1, 2, 4, 5, 6];
    let read = [around, &[7, 10]].concat();
    let dead = [around, &[8, 10]].concat();
    let problem = problem(0, &edges, &kinds, &[(&read, 3), (&dead, 5)]);
    let sets = PathSets::new(&problem);
    let sinking = Sinking::new(&problem, &sets, &set(&problem, &[5]));
    assert_eq!(nodes(&sinking.inserted.entry), [3, 7, 8]);
    assert_eq!(nodes(&sinking.inserted.exit), [9]);
    assert_eq!(nodes(&sinking.kept.entry), [3, 7]);
    assert_eq!(nodes(&sinking.kept.exit), [0usize; 0]);
    assert!(sinking.certain.entry[3] && !sinking.certain.entry[7]);
    // 24 executions become one for each read: 3 of the last iteration's and 8 of the middle one's.
    let walked = walk(&problem, &sinking);
    assert_eq!(
        (walked.before, walked.executed, walked.suppressed),
        (24, 11, 0)
    );
    let made = Problem::new(
        0,
        vec![NodeKind::default(); 3],
        vec![vec![1], vec![1, 2], vec![]],
        false,
        Vec::new(),
    );
    assert_eq!(made, Err(ProblemError::CriticalEdge { from: 1, to: 1 }));
}

/// The walk decides where the equations miss (section 4b, 1 to 3).
#[test]
fn the_walk_decides_where_the_equations_miss() {
    let edges = [
        (1, 2),
        (1, 3),
        (2, 4),
        (2, 6),
        (4, 5),
        (3, 5),
        (5, 7),
        (6, 7),
        (7, 8),
        (7, 9),
        (8, 10),
        (9, 10),
    ];
    let kinds = [(2, Statement), (3, Definition), (8, Read)];
    let forward = problem(
        1,
        &edges,
        &kinds,
        &[
            (&[1, 2, 4, 5, 7, 9, 10], 10),
            (&[1, 2, 6, 7, 9, 10], 10),
            (&[1, 3, 5, 7, 8, 10], 15),
            (&[1, 2, 4, 5, 7, 8, 10], 100),
        ],
    );
    let sets = PathSets::new(&forward);
    let closure = |join| forward.frequency(&sets.closure_cost(&forward, join));
    let benefit = |join| forward.frequency(&sets.gain(join).benefit);
    assert_eq!((benefit(5), closure(5)), (10, 15));
    assert_eq!((benefit(7), closure(7)), (20, 15));
    assert_eq!(effect(&forward, &sets, &[7]), (10, 115));
    let choice = choose(&forward, &sets, UNIT);
    assert_eq!(choice.enabled.ones().collect::<Vec<_>>(), [5]);
    assert_eq!(choice.walked.net(UNIT), 5.0);

    let edges = [
        (1, 2),
        (1, 3),
        (2, 4),
        (3, 4),
        (4, 5),
        (4, 7),
        (5, 6),
        (7, 6),
    ];
    let kinds = [(2, Statement), (3, Definition), (5, Read), (6, Definition)];
    let deleted = problem(
        1,
        &edges,
        &kinds,
        &[
            (&[1, 2, 4, 7, 6], 100),
            (&[1, 3, 4, 5, 6], 5),
            (&[1, 2, 4, 5, 6], 20),
            (&[1, 3, 4, 7, 6], 20),
        ],
    );
    let sets = PathSets::new(&deleted);
    let choice = choose(&deleted, &sets, UNIT);
    assert_eq!(choice.enabled.ones().collect::<Vec<_>>(), [4]);
    assert_eq!(choice.walked.net(UNIT), 95.0);

    // One copy stands in front of the operand's new value and, where that is not met, another one behind the
    // next join: both on one path.
    let edges = [
        (1, 2),
        (1, 3),
        (2, 4),
        (3, 4),
        (4, 5),
        (4, 6),
        (5, 7),
        (6, 7),
        (7, 8),
        (7, 9),
        (8, 10),
        (9, 10),
    ];
    let kinds = [(2, Statement), (3, Definition), (5, Operand), (8, Read)];
    let twice = problem(
        1,
        &edges,
        &kinds,
        &[
            (&[1, 3, 4, 5, 7, 8, 10], 30),
            (&[1, 2, 4, 6, 7, 9, 10], 100),
        ],
    );
    let sets = PathSets::new(&twice);
    assert_eq!(twice.frequency(&sets.closure_cost(&twice, 4)), 30);
    assert_eq!(effect(&twice, &sets, &[4, 7]), (100, 60));
}

struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % most as u64) as usize
    }
}

/// A graph without cycles whose critical edges are split, and some of its paths.
fn random(random: &mut Random) -> Problem {
    let plain = 6 + random.below(8);
    let mut successors: Vec<Vec<usize>> = (0..plain)
        .map(|node| {
            let mut targets: Vec<usize> = (0..if node + 1 == plain {
                0
            } else {
                1 + random.below(2)
            })
                .map(|_| node + 1 + random.below((plain - node - 1).min(3)))
                .collect();
            targets.sort_unstable();
            targets.dedup();
            targets
        })
        .collect();
    let mut before = vec![0usize; plain];
    successors.iter().flatten().for_each(|&to| before[to] += 1);
    for node in 0..plain {
        for edge in 0..successors[node].len() {
            let to = successors[node][edge];
            if successors[node].len() > 1 && before[to] > 1 {
                successors[node][edge] = successors.len();
                successors.push(vec![to]);
            }
        }
    }
    let first = 1 + random.below(plain / 2);
    let kinds = (0..successors.len()).map(|node| {
        let others = [Definition, Read, Operand, Statement];
        let chosen = match random.below(12) {
            _ if node == first => kind(Statement),
            // Seldom a second one.
            at if at < 3 || at == 3 && random.below(4) == 0 => kind(others[at]),
            _ => NodeKind::default(),
        };
        NodeKind {
            // Some read and define.
            defines: chosen.defines || chosen.reads && random.below(4) == 0,
            ..chosen
        }
    });
    let kinds: Vec<NodeKind> = kinds.collect();
    let mut paths: Vec<(Vec<usize>, u64)> = Vec::new();
    let mut work = vec![vec![0usize]];
    while let Some(path) = work.pop() {
        let last = path[path.len() - 1];
        if successors[last].is_empty() {
            paths.push((path, 1 + random.below(100) as u64));
            continue;
        }
        for &to in &successors[last] {
            work.push([path.as_slice(), &[to]].concat());
        }
    }
    let live_out = random.below(3) == 0;
    let made = Problem::new(0, kinds, successors, live_out, paths);
    made.unwrap_or_else(|error| panic!("{error}"))
}

/// Returns whether the statement, arrived at the exit of the path's node at this place, comes to a point
/// where nothing reads it.
fn comes_to_where_it_is_dead(
    problem: &Problem,
    dead: &Bits,
    path: &[usize],
    mut at: usize,
) -> bool {
    loop {
        if dead.exit[path[at]] {
            return true;
        }
        at += 1;
        let Some(&node) = path.get(at) else {
            return false;
        };
        if dead.entry[node] {
            return true;
        }
        if problem.kinds[node].blocks() {
            return false;
        }
    }
}

fn rounds() -> u64 {
    let given = option_env!("LOCKSTEP_PARTIAL_DEAD").and_then(|given| given.parse().ok());
    given.unwrap_or(6000)
}

/// The sets against the definitions, path by path.
#[test]
fn sets_are_what_the_definitions_say() {
    let (mut benefits, mut costs) = (0, 0);
    for seed in 0..rounds() {
        let problem = random(&mut Random(seed));
        let sets = PathSets::new(&problem);
        for join in problem.joins() {
            let gain = sets.gain(join);
            for (number, path) in problem.paths.iter().enumerate() {
                let Some(at) = path.iter().position(|&node| node == join) else {
                    assert!(!gain.benefit.contains(number) && !gain.cost.contains(number));
                    continue;
                };
                let mut arrives = false;
                for &node in &path[..=at] {
                    let kind = problem.kinds[node];
                    arrives = kind.is_statement || (arrives && !kind.blocks());
                }
                // Somebody brings it here, so that it can go on from here.
                let brought = sets.available.exit[join];
                let removable =
                    brought && comes_to_where_it_is_dead(&problem, &sets.dead, path, at);
                let needed = !sets.dead.entry[join];
                assert_eq!(
                    gain.benefit.contains(number),
                    arrives && removable && needed,
                    "seed {seed}, join {join}, {path:?}"
                );
                assert_eq!(gain.cost.contains(number), !arrives && !removable);
                benefits += usize::from(gain.benefit.contains(number));
                costs += usize::from(gain.cost.contains(number));
            }
        }
    }
    assert!(benefits > 100 && costs > 100, "{benefits} {costs}");
}

/// Values that a variable holds: of a definition at a step of the path, or of the statement with its operands of a step.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Held {
    Nothing,
    Defined(usize),
    Computed(usize),
}

/// Returns the values that the reads of a path see, with the copies that a plan makes or as the program
/// stands.
fn seen(problem: &Problem, path: &[usize], plan: Option<&Sinking>) -> Vec<Held> {
    let (mut held, mut operands, mut pending) = (Held::Nothing, 0, false);
    let mut out = Vec::new();
    for (step, &node) in path.iter().enumerate() {
        let kind = problem.kinds[node];
        let mut copy = |inserted: bool, kept: bool, certain: bool, held: &mut Held, now: usize| {
            assert!(
                !(kept && certain && !pending),
                "an unguarded copy without a statement"
            );
            if inserted && pending {
                if kept {
                    *held = Held::Computed(now);
                }
                pending = false;
            }
        };
        if let Some(plan) = plan {
            let bits = (
                plan.inserted.entry[node],
                plan.kept.entry[node],
                plan.certain.entry[node],
            );
            copy(bits.0, bits.1, bits.2, &mut held, operands);
        }
        if kind.reads {
            out.push(held);
        }
        if kind.is_statement {
            match plan {
                Some(_) => pending = true,
                None => held = Held::Computed(operands),
            }
        }
        if kind.defines {
            held = Held::Defined(step);
        }
        if kind.changes_operand {
            operands = step + 1;
        }
        if let Some(plan) = plan {
            let mut copy = |inserted: bool, kept: bool| {
                if inserted && pending {
                    if kept {
                        held = Held::Computed(operands);
                    }
                    pending = false;
                }
            };
            copy(plan.inserted.exit[node], plan.kept.exit[node]);
        }
    }
    if problem.live_out {
        out.push(held);
    }
    out
}

/// Each read sees the same value, whichever joins are enabled; and the choice is the best possible.
#[test]
fn reads_see_the_same_whatever_is_chosen() {
    let (mut removed, mut gained) = (0, 0);
    for seed in 0..rounds() {
        let mut stream = Random(seed ^ 0x5eed_0000_0000);
        let problem = random(&mut stream);
        let sets = PathSets::new(&problem);
        let joins: Vec<usize> = problem.joins().collect();
        let prices = Prices {
            statement: 1.0 + stream.below(4) as f64,
            suppressed: 1.0,
            predicate: stream.below(2) as f64,
        };
        let mut best = f64::NEG_INFINITY;
        for chosen in 0..1usize << joins.len().min(8) {
            let mut enabled = set(&problem, &[]);
            let own = joins
                .iter()
                .enumerate()
                .filter(|(at, _)| chosen >> at & 1 == 1);
            enabled.extend(own.map(|(_, &join)| join));
            let sinking = Sinking::new(&problem, &sets, &enabled);
            for path in &problem.paths {
                let (before, after) = (
                    seen(&problem, path, None),
                    seen(&problem, path, Some(&sinking)),
                );
                assert_eq!(before, after, "seed {seed}, {enabled:?}, {path:?}");
            }
            let walked = walk(&problem, &sinking);
            removed += walked.removed().max(0);
            best = best.max(walked.net(prices));
        }
        if joins.len() <= 8 {
            let choice = choose(&problem, &sets, prices);
            assert_eq!(choice.walked.net(prices), best, "seed {seed}");
            gained += usize::from(choice.gain(prices) > 0.0);
        }
    }
    assert!(removed > 1000 && gained > 20, "{removed} {gained}");
}
