//! Known sequences, and random ones against lists in order of use.

use super::*;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

fn load(address: u64) -> Access {
    Access {
        address,
        bytes: 4,
        kind: AccessKind::Load,
        float: false,
    }
}

/// The machine of the paper on predicated loads: 32 KB, one way, lines of 32 bytes; 1 MB behind it.
fn paper() -> Caches {
    Caches {
        levels: vec![
            Level {
                sets: 1024,
                ways: 1,
                line: 32,
                latency: 0,
            },
            Level {
                sets: 4096,
                ways: 4,
                line: 64,
                latency: 12,
            },
        ],
        memory: 100,
        float: 0,
        blocking: false,
    }
}

#[test]
fn a_level_answers_and_those_before_it_are_filled() {
    let mut state = CacheState::new(&paper());
    let mut later = |address: u64, cycle: u64| state.access(&load(address), cycle).later;
    assert_eq!(later(0x1000, 0), 100);
    // The rest of the line is under way: it comes with it.
    assert_eq!(later(0x101c, 40), 60);
    assert_eq!(later(0x1000, 200), 0);
    // The other half of the second level's line.
    assert_eq!(later(0x1020, 201), 12);
    // 32 KB further is the same set of the only way.
    assert_eq!(later(0x9000, 300), 100);
    assert_eq!(later(0x1000, 500), 12);
    let counts = state.counts();
    assert_eq!((counts[0].accesses, counts[0].misses), (6, 4));
    assert_eq!((counts[1].accesses, counts[1].misses), (4, 2));
}

#[test]
fn floating_point_looks_at_its_own_level_first() {
    let caches = Caches {
        float: 1,
        ..paper()
    };
    let mut state = CacheState::new(&caches);
    let float = Access {
        float: true,
        ..load(0x40)
    };
    // From memory instead of the second level.
    assert_eq!(state.access(&float, 0).later, 88);
    assert_eq!(state.access(&float, 500).later, 0);
    // The first level was not filled.
    assert_eq!(state.access(&load(0x40), 900).later, 12);
    assert_eq!(state.counts()[0].accesses, 1);
}

#[test]
fn the_least_recently_used_goes() {
    let mut rng = StdRng::seed_from_u64(5);
    for (sets, ways, line) in [(1, 4, 16), (4, 2, 32), (8, 1, 64), (2, 8, 16)] {
        let caches = Caches {
            levels: vec![Level {
                sets,
                ways,
                line,
                latency: 0,
            }],
            memory: 7,
            float: 0,
            blocking: false,
        };
        let mut state = CacheState::new(&caches);
        // By set, the lines in the order of their use.
        let mut used: Vec<Vec<u64>> = vec![Vec::new(); sets as usize];
        for step in 0..20_000u64 {
            let address = rng.random_range(0..2048u64);
            let number = address / u64::from(line);
            let set = &mut used[(number % u64::from(sets)) as usize];
            let expected = set.contains(&number);
            set.retain(|&other| other != number);
            set.push(number);
            if set.len() > ways as usize {
                set.remove(0);
            }
            // Apart by more than a miss takes.
            assert_eq!(state.access(&load(address), 10 * step).hit, expected);
        }
        assert_eq!(state.counts()[0].accesses, 20_000);
    }
}
