//! Bounds and schedules against definitions: cycles one by one, slots one by one.

use super::bounds::{Impossible, bounds};
use super::exact::{Answer, exact};
use super::graph::{Edge, Graph, Operation, Resource, Schedule, Violation};
use super::iterative::iterative;
use super::{Limits, schedule};
use rand::{Rng, SeedableRng, rngs::StdRng};

fn graph(units: &[Option<u32>], operations: &[u32], edges: &[(u32, u32, i32, u32)]) -> Graph {
    let resource = |(number, &units): (usize, &Option<u32>)| Resource {
        name: format!("unit {number}"),
        units,
    };
    Graph {
        resources: units.iter().enumerate().map(resource).collect(),
        operations: operations
            .iter()
            .map(|&resource| Operation { resource })
            .collect(),
        edges: edges
            .iter()
            .map(|&(from, to, latency, distance)| Edge {
                from,
                to,
                latency,
                distance,
            })
            .collect(),
        packing: None,
    }
}

/// `s += a[i] * b[i]`: two loads, a multiplication and an addition that waits for itself.
fn dot_product() -> Graph {
    graph(
        &[Some(1), Some(2), None],
        &[0, 0, 1, 1, 2],
        &[
            (0, 2, 6, 0),
            (1, 2, 6, 0),
            (2, 3, 4, 0),
            (3, 3, 4, 1),
            (4, 0, 1, 1),
        ],
    )
}

#[test]
fn the_bounds_name_what_they_come_from() {
    let bounds = bounds(&dot_product()).expect("possible");
    assert_eq!((bounds.res_mii, bounds.resource), (2, Some(0)));
    assert_eq!((bounds.rec_mii, bounds.cycle.as_slice()), (4, &[3][..]));
    let found = schedule(&dot_product(), &Limits::default()).expect("a schedule");
    assert_eq!((found.ii, found.stages()), (4, 3));
    assert_eq!(found.check(&dot_product()), Ok(()));
}

#[test]
fn what_is_impossible_is_said_with_its_place() {
    let circle = graph(&[None], &[0, 0], &[(0, 1, 1, 0), (1, 0, 0, 0)]);
    assert_eq!(bounds(&circle), Err(Impossible::Cycle(vec![0, 1])));
    let nothing = graph(&[Some(0)], &[0], &[]);
    assert_eq!(bounds(&nothing), Err(Impossible::Resource(0)));
    assert!(schedule(&circle, &Limits::default()).is_err());
    assert!(schedule(&nothing, &Limits::default()).is_err());
    let empty = schedule(&graph(&[], &[], &[]), &Limits::default()).expect("nothing to do");
    assert_eq!((empty.ii, empty.stages()), (1, 0));
}

#[test]
fn the_check_finds_what_is_broken() {
    let body = dot_product();
    let found = schedule(&body, &Limits::default()).expect("a schedule");
    let changed = |change: &dyn Fn(&mut Schedule)| {
        let mut schedule = found.clone();
        change(&mut schedule);
        schedule.check(&body)
    };
    let late = changed(&|s| s.start[0] = s.start[2]);
    assert!(matches!(late, Err(Violation::Dependence { edge: 0, .. })));
    let crowded = changed(&|s| s.start[1] = s.start[0]);
    assert!(matches!(
        crowded,
        Err(Violation::Resource {
            resource: 0,
            wanted: 2,
            ..
        })
    ));
    let short = changed(&|s| s.start.truncate(4));
    assert!(matches!(
        short,
        Err(Violation::Length {
            operations: 5,
            starts: 4
        })
    ));
}

fn random(random: &mut StdRng) -> Graph {
    let count = random.random_range(1..=6u32);
    let kinds = random.random_range(1..=2u32);
    let units: Vec<Option<u32>> = (0..kinds)
        .map(|_| random.random_bool(0.9).then(|| random.random_range(1..=2)))
        .collect();
    let operations: Vec<u32> = (0..count).map(|_| random.random_range(0..kinds)).collect();
    let edges: Vec<(u32, u32, i32, u32)> = (0..random.random_range(0..=12))
        .map(|_| {
            let (from, to) = (random.random_range(0..count), random.random_range(0..count));
            // A way back within the iteration is rare, and mostly impossible.
            let back = from >= to && random.random_bool(0.99);
            let distance = random.random_range(u32::from(back)..=2);
            (from, to, random.random_range(-1..=3), distance)
        })
        .collect();
    graph(&units, &operations, &edges)
}

/// Returns true if any choice of slots at this interval permits a schedule: all are tried, and the stages are longest
/// ways.
fn possible(graph: &Graph, ii: u32) -> bool {
    let count = graph.operations.len();
    let mut slots = vec![0u32; count];
    loop {
        let crowded = graph.resources.iter().enumerate().any(|(resource, data)| {
            data.units.is_some_and(|units| {
                (0..ii).any(|slot| {
                    let here = graph.operations.iter().zip(&slots);
                    here.filter(|(o, s)| o.resource as usize == resource && **s == slot)
                        .count()
                        > units as usize
                })
            })
        });
        if !crowded && stages_exist(graph, ii, &slots) {
            return true;
        }
        let mut at = 0;
        loop {
            if at == count {
                return false;
            }
            slots[at] += 1;
            if slots[at] < ii {
                break;
            }
            slots[at] = 0;
            at += 1;
        }
    }
}

fn stages_exist(graph: &Graph, ii: u32, slots: &[u32]) -> bool {
    let mut stage = vec![0i64; slots.len()];
    for _ in 0..=slots.len() {
        let mut changed = false;
        for edge in &graph.edges {
            let (from, to) = (edge.from as usize, edge.to as usize);
            let wait = i64::from(edge.latency) + i64::from(slots[from]) - i64::from(slots[to]);
            let turns = wait.div_euclid(i64::from(ii))
                + i64::from(wait.rem_euclid(i64::from(ii)) != 0)
                - i64::from(edge.distance);
            if stage[from] + turns > stage[to] {
                stage[to] = stage[from] + turns;
                changed = true;
            }
        }
        if !changed {
            return true;
        }
    }
    false
}

/// Small random graphs: the interval is the least of all, the exact search finds none where there is none,
/// the results of both schedulers pass the check, and the critical cycle requires the interval that is
/// claimed.
#[test]
fn small_graphs_have_the_least_interval_of_all() {
    let mut generator = StdRng::seed_from_u64(11);
    let (mut schedules, mut refuted, mut above, mut impossible) = (0, 0, 0, 0);
    for round in 0..4_000 {
        let graph = random(&mut generator);
        let limits = match bounds(&graph) {
            Ok(limits) => limits,
            Err(Impossible::Cycle(cycle)) => {
                let of = |f: &dyn Fn(&Edge) -> i64| {
                    cycle
                        .iter()
                        .map(|&e| f(&graph.edges[e as usize]))
                        .sum::<i64>()
                };
                assert_eq!(of(&|e| i64::from(e.distance)), 0, "{round}: {graph:?}");
                assert!(of(&|e| i64::from(e.latency)) > 0);
                impossible += 1;
                continue;
            }
            Err(other) => panic!("{other:?}"),
        };
        if limits.rec_mii > 0 {
            let edges: Vec<&Edge> = limits
                .cycle
                .iter()
                .map(|&e| &graph.edges[e as usize])
                .collect();
            assert!(edges.windows(2).all(|pair| pair[0].to == pair[1].from));
            assert_eq!(edges.first().map(|e| e.from), edges.last().map(|e| e.to));
            let latency: i64 = edges.iter().map(|e| i64::from(e.latency)).sum();
            let distance: i64 = edges.iter().map(|e| i64::from(e.distance)).sum();
            assert_eq!(
                latency.div_euclid(distance) + i64::from(latency.rem_euclid(distance) != 0),
                i64::from(limits.rec_mii),
                "{round}: {graph:?}"
            );
        }
        let found = schedule(&graph, &Limits::default()).expect("there is always a long interval");
        assert_eq!(found.check(&graph), Ok(()), "{round}: {graph:?}");
        schedules += 1;
        assert!(found.ii >= limits.min_ii());
        above += usize::from(found.ii > limits.min_ii());
        for ii in limits.min_ii()..=found.ii.min(4) {
            let there_is = possible(&graph, ii);
            assert_eq!(
                there_is,
                ii >= found.ii,
                "{round}: {ii} of {} {graph:?}",
                found.ii
            );
            match exact(&graph, ii, 100_000) {
                Answer::Found(exact) => {
                    assert!(there_is);
                    assert_eq!((exact.ii, exact.check(&graph)), (ii, Ok(())));
                }
                Answer::None => {
                    assert!(!there_is, "{round}: {graph:?}");
                    refuted += 1;
                }
                Answer::Undecided => panic!("{round}: undecided {graph:?}"),
            }
            if let Some(found) = iterative(&graph, ii, 200) {
                assert_eq!(found.check(&graph), Ok(()), "{round}: {graph:?}");
            }
        }
    }
    println!(
        "{schedules} schedules, {above} above the bound, {refuted} intervals refuted, {impossible} impossible"
    );
    assert!(above > 30 && refuted > 30 && impossible > 20);
}
