//! Faults planted in PTX that fits: the checker finds each kind, and code that it lets pass computes the
//! same.
//!
//! `LOCKSTEP_FITTED_FAULTS=N` takes N random texts instead of the default number.

#[path = "support/fitting.rs"]
mod fitting;
#[path = "fitted_faults/plant.rs"]
mod plant;
#[path = "support/ptx_programs.rs"]
// Only random texts are judged here.
#[allow(dead_code)]
mod ptx_programs;
#[path = "soundness_ptx/text/mod.rs"]
mod text;

use fitting::{ALLOCATORS, defined, functions, listed, parsed};
use lockstep_codegen::target::ptx::machine::check::check;
use lockstep_codegen::target::ptx::machine::fit::{Budget, Scheduling};
use oracle::interp::{self, Argument, Buffer, Launch};
use plant::FAULTS;
use ptx_programs::{is_settled, kernel, printed, random_text, setting};
use std::collections::BTreeMap;

const TEXTS: u64 = 3;
/// Faults of a kind that are planted in one text.
const SITES: usize = 5;

/// Mutants of a kind: found, let pass with the same result.
type Counts = BTreeMap<&'static str, (u64, u64)>;

fn judge(file: &str, launch: &Launch, words: u16, counts: &mut Counts) {
    let Some(module) = kernel(file) else { return };
    if !is_settled(file, &module) || launch.warp_size != 32 {
        return;
    }
    let mut launch = launch.clone();
    launch.scramble_undefined = false;
    let before = interp::run(&module, &launch);
    launch.limits.steps = launch.limits.steps.saturating_mul(20).min(2_000_000);
    let threads: u32 = launch.block.iter().product();
    let budget = Budget {
        words,
        predicates: 7,
        lanes: 32,
        warps: threads.div_ceil(32),
        whole_warps: threads.is_multiple_of(32),
        shared_bytes: 16_384,
        scheduling: Scheduling::Waiting,
    };
    for (item, function) in functions(file) {
        for allocator in ALLOCATORS {
            let Ok(made) = function.fitted(&file[item.clone()], allocator, &budget) else {
                continue;
            };
            for (kind, plant) in FAULTS {
                for mutant in plant(&made.text).into_iter().take(SITES) {
                    let tree = parsed(&mutant);
                    let violations = check(&function.tree, &tree, &function.known, &budget);
                    let count = counts.entry(kind).or_default();
                    if !violations.is_empty() {
                        count.0 += 1;
                        continue;
                    }
                    let whole = [&file[..item.start], &mutant, &file[item.end..]].concat();
                    let Some(module) = kernel(&whole) else {
                        continue;
                    };
                    let now = interp::run(&module, &launch);
                    let same = before.returned == now.returned
                        && before.buffers == now.buffers
                        && before.error.is_none() == now.error.is_none();
                    assert!(
                        same,
                        "{kind} passes, {allocator:?}: {:?} {:?}\n{}\nMUTANT\n{}",
                        before.error,
                        now.error,
                        listed(&made.text),
                        listed(&mutant)
                    );
                    count.1 += 1;
                }
            }
        }
    }
}

/// Every kind of home has values in it at 8 words.
const HOMES: &str = include_str!("fitted_faults/homes.ptx");

fn homes() -> Launch {
    let mut launch = Launch::new(1);
    launch.block = [96, 1, 1];
    let table = (0..4 * 98u32).map(|at| (at * 37 % 251) as u8).collect();
    launch.buffers = vec![Buffer::global(vec![0; 4 * 96]), Buffer::global(table)];
    launch.parameters = (0..2)
        .map(|buffer| Argument::Pointer { buffer, offset: 0 })
        .chain([Argument::Bits(7), Argument::Bits(5)])
        .collect();
    launch
}

#[test]
fn planted_faults_are_found() {
    let mut counts = Counts::new();
    judge(HOMES, &homes(), 8, &mut counts);
    for (kind, _) in FAULTS {
        let found = counts.get(kind).map_or(0, |count| count.0);
        println!("{kind}: {found} found in homes");
        assert!(found > 0, "{kind}: {counts:?}");
    }
    for seed in 0..setting("LOCKSTEP_FITTED_FAULTS", TEXTS) {
        let (text, launch) = random_text(seed);
        let text = defined(&text);
        for words in [8, 12] {
            judge(&text, &launch, words, &mut counts);
            if let Some((text, launch)) = printed(seed) {
                judge(&text, &launch, words, &mut counts);
            }
        }
    }
    for (kind, (found, passed)) in &counts {
        println!("{kind}: {found} found, {passed} compute the same");
    }
}
