//! Packings of blocks against definitions and against all schedules there are.

use super::block::{Block, Choice, Options, Packing, Type, Violation, Wait, Width, list, pack};
use super::cost::{Counts, Edge, slots};
use rand::{Rng, SeedableRng, rngs::StdRng};
use std::collections::HashMap;

fn block(types: &[Type], edges: &[(u32, u32)]) -> Block {
    Block {
        types: types.to_vec(),
        edges: edges
            .iter()
            .map(|&(from, to)| Wait {
                from,
                to,
                cycles: 1,
            })
            .collect(),
    }
}

/// The paper's figure 2.
fn figure_2() -> Block {
    use Type::{F, I, M};
    block(
        &[M, I, M, M, M, F],
        &[(0, 2), (0, 3), (0, 4), (2, 5), (1, 5)],
    )
}

#[test]
fn figure_2_packs_without_nops() {
    let block = figure_2();
    let by_list = list(&block, Width::ITANIUM);
    assert_eq!((by_list.slots, by_list.nops, by_list.cycles), (9, 3, 3));
    assert_eq!(by_list.check(&block), Ok(()));
    let best = pack(&block, &Options::default());
    assert_eq!(
        (best.slots, best.nops, best.cycles, best.proved),
        (6, 0, 3, true)
    );
    assert_eq!(best.check(&block), Ok(()));
    let groups: Vec<&[u32]> = best
        .groups
        .iter()
        .map(|group| group.instructions.as_slice())
        .collect();
    assert_eq!(groups, [&[0][..], &[1, 2], &[3, 4, 5]]);
    let edges: Vec<Edge> = best.groups.iter().map(|group| group.end).collect();
    assert_eq!(edges, [Edge::AfterM, Edge::Whole, Edge::Whole]);
}

/// The printed rule of the sparse template loses a bundle here.
#[test]
fn a_lone_instruction_that_others_wait_for_is_not_put_off() {
    use Type::{F, I};
    let block = block(&[F, F, F, I, I, F], &[(0, 1), (1, 3), (2, 4), (2, 5)]);
    let best = pack(&block, &Options::default());
    assert_eq!(
        (best.slots, best.nops, best.cycles, best.proved),
        (12, 6, 3, true)
    );
    assert_eq!(best.check(&block), Ok(()));
}

#[test]
fn the_check_finds_what_is_broken() {
    let block = figure_2();
    let best = pack(&block, &Options::default());
    let changed = |change: &dyn Fn(&mut Packing)| {
        let mut packing = best.clone();
        change(&mut packing);
        packing.check(&block)
    };
    assert_eq!(
        changed(&|p| p.groups[2].instructions.truncate(2)),
        Err(Violation::Missing(5))
    );
    assert_eq!(
        changed(&|p| p.groups[2].cycle = 1),
        Err(Violation::Order(2))
    );
    assert_eq!(
        changed(&|p| p.groups[1].start = Edge::Whole),
        Err(Violation::Order(1))
    );
    assert_eq!(changed(&|p| p.slots += 3), Err(Violation::Slots));
    let early = changed(&|p| {
        let moved = p.groups[1].instructions.pop().unwrap_or(0);
        p.groups[0].instructions.push(moved);
    });
    assert!(matches!(early, Err(Violation::Wait(_))), "{early:?}");
}

fn random(random: &mut StdRng, most: usize) -> Block {
    use Type::{A, B, F, I, L, M};
    let count = random.random_range(1..=most);
    let branch = random.random_bool(0.3);
    let mut types: Vec<Type> = (0..count)
        .map(|_| [A, A, I, M, M, F, L][random.random_range(0..7)])
        .collect();
    let mut edges = Vec::new();
    for to in 1..count as u32 {
        for from in 0..to {
            if random.random_bool(0.2) {
                edges.push(Wait {
                    from,
                    to,
                    cycles: random.random_range(1..=2),
                });
            }
        }
    }
    if branch {
        types[count - 1] = B;
        // What stands in front of a branch issues no later.
        edges.extend((0..count as u32 - 1).map(|from| Wait {
            from,
            to: count as u32 - 1,
            cycles: 0,
        }));
    }
    Block { types, edges }
}

/// All schedules of the fewest cycles: the fewest slots.
fn brute(block: &Block) -> u32 {
    let count = block.types.len();
    let mut early = vec![0u32; count];
    for at in 0..count {
        for wait in block.edges.iter().filter(|wait| wait.to as usize == at) {
            early[at] = early[at].max(early[wait.from as usize] + wait.cycles);
        }
    }
    let last = early.iter().max().copied().unwrap_or(0);
    let mut cycles = vec![0u32; count];
    let mut best = u32::MAX;
    assign(block, &mut cycles, 0, last, &mut best);
    best
}

fn assign(block: &Block, cycles: &mut Vec<u32>, at: usize, last: u32, best: &mut u32) {
    if at == cycles.len() {
        let mut groups: Vec<Counts> = Vec::new();
        for cycle in 0..=last {
            let mut counts = Counts::default();
            for (ty, _) in block
                .types
                .iter()
                .zip(cycles.iter())
                .filter(|(_, c)| **c == cycle)
            {
                match ty {
                    Type::A => counts.a += 1,
                    Type::I => counts.i += 1,
                    Type::M => counts.m += 1,
                    Type::F => counts.f += 1,
                    Type::L => counts.l += 1,
                    Type::B => counts.b += 1,
                }
            }
            if counts != Counts::default() {
                groups.push(counts);
            }
        }
        let mut least: HashMap<Edge, u32> = HashMap::from([(Edge::Whole, 0)]);
        for counts in groups {
            let mut next: HashMap<Edge, u32> = HashMap::new();
            for (&start, &taken) in &least {
                for end in Edge::ALL {
                    if let Some(more) = slots(counts, start, end) {
                        let known = next.entry(end).or_insert(u32::MAX);
                        *known = (*known).min(taken + more);
                    }
                }
            }
            least = next;
        }
        for (end, taken) in least {
            *best = (*best).min(
                taken
                    + if end == Edge::Whole {
                        0
                    } else {
                        3 - end.slots()
                    },
            );
        }
        return;
    }
    let from = block
        .edges
        .iter()
        .filter(|wait| wait.to as usize == at)
        .map(|wait| cycles[wait.from as usize] + wait.cycles)
        .max()
        .unwrap_or(0);
    for cycle in from..=last {
        cycles[at] = cycle;
        assign(block, cycles, at + 1, last, best);
    }
}

/// Small blocks: a schedule that is said to be proved is the least of all; every choice gives a schedule that
/// passes and is no worse than the list's; more choice is never worse.
#[test]
fn small_blocks_have_the_fewest_nops_of_all() {
    let mut generator = StdRng::seed_from_u64(5);
    let (mut totals, mut by_list) = ([0u32; 4], 0);
    for round in 0..400 {
        let block = random(&mut generator, 6);
        let wanted = brute(&block);
        let baseline = list(&block, Width::UNLIMITED);
        assert_eq!(baseline.check(&block), Ok(()), "{round}: {block:?}");
        by_list += baseline.nops;
        for (at, choice) in [Choice::Eager, Choice::Lazy, Choice::EagerLazy, Choice::All]
            .into_iter()
            .enumerate()
        {
            let options = Options {
                choice,
                decisions: 1_000_000,
                ..Options::default()
            };
            let found = pack(&block, &options);
            assert_eq!(
                found.check(&block),
                Ok(()),
                "{round}: {choice:?} {block:?} {found:?}"
            );
            assert!(
                found.slots >= wanted && found.nops <= baseline.nops,
                "{round}: {choice:?} {block:?}"
            );
            assert_eq!(
                found.cycles, baseline.cycles,
                "{round}: {choice:?} {block:?}"
            );
            totals[at] += found.nops;
            if choice == Choice::All {
                assert!(found.proved, "{round}: {block:?}");
                assert_eq!(found.slots, wanted, "{round}: {block:?} {found:?}");
            }
        }
    }
    println!("nops: list {by_list}, eager, lazy, eager-lazy, all {totals:?}");
    assert!(
        totals[3] < totals[2]
            && totals[2] < totals[0]
            && totals[2] < totals[1]
            && totals[0] < by_list
    );
}

/// Larger blocks end within their decisions, split or not, and pass.
#[test]
fn large_blocks_end() {
    let mut generator = StdRng::seed_from_u64(6);
    for _ in 0..12 {
        let mut block = random(&mut generator, 120);
        while block.types.len() < 60 {
            block = random(&mut generator, 120);
        }
        for choice in [Choice::EagerLazy, Choice::All] {
            let options = Options {
                choice,
                decisions: 3_000,
                ..Options::default()
            };
            let found = pack(&block, &options);
            assert_eq!(found.check(&block), Ok(()), "{choice:?}");
            assert!(!found.proved);
            assert!(found.nops <= list(&block, Width::UNLIMITED).nops);
        }
    }
}

/// On a machine that issues two bundles a cycle, no group needs more than its units, and the search is not
/// slower than the list.
#[test]
fn a_narrow_machine_issues_what_it_can() {
    let mut generator = StdRng::seed_from_u64(7);
    let (mut fewer, mut longer) = (0, 0);
    for round in 0..300 {
        let mut block = random(&mut generator, 12);
        // Mostly independent: more is ready than issues.
        let sparse = round % 2 == 0;
        block
            .edges
            .retain(|wait| !sparse || wait.from % 3 == 0 || wait.cycles == 0);
        let options = Options {
            width: Width::ITANIUM,
            ..Options::default()
        };
        let baseline = list(&block, Width::ITANIUM);
        let found = pack(&block, &options);
        assert_eq!(baseline.check(&block), Ok(()), "{round}: {block:?}");
        assert_eq!(found.check(&block), Ok(()), "{round}: {block:?} {found:?}");
        assert!(found.cycles <= baseline.cycles && found.nops <= baseline.nops);
        fewer += u32::from(found.nops < baseline.nops);
        longer += u32::from(baseline.cycles > list(&block, Width::UNLIMITED).cycles);
        for group in baseline.groups.iter().chain(&found.groups) {
            let of = |wanted: &[Type]| {
                let types = group.instructions.iter().map(|&i| block.types[i as usize]);
                types.filter(|ty| wanted.contains(ty)).count()
            };
            assert!(
                of(&[Type::M]) <= 2 && of(&[Type::I, Type::L]) <= 2 && of(&[Type::F]) <= 2,
                "{round}: {group:?}"
            );
            assert!(
                of(&[Type::A, Type::I, Type::L, Type::M]) <= 4,
                "{round}: {group:?}"
            );
        }
    }
    println!("{fewer} with fewer nops, {longer} longer than the longest way");
    assert!(fewer > 100 && longer > 10);
}
