//! PTX whose values fit a few registers, by linear scan and by the paper's allocators, against the
//! interpreter and NVIDIA's assembler: the results are the same, slots of warps do not mix, and no more
//! registers are live than there are.
//!
//! `LOCKSTEP_FITTED_PTX=N` takes N texts of each kind instead of the default number.

#[path = "support/fitting.rs"]
mod fitting;
#[path = "support/ptx_programs.rs"]
mod ptx_programs;
#[path = "support/ptxas.rs"]
// Only texts are judged here.
#[allow(dead_code)]
mod ptxas;
#[path = "support/public.rs"]
mod public;
#[path = "soundness_ptx/text/mod.rs"]
mod text;
#[path = "fitted_ptx/together.rs"]
mod together;

use fitting::{ALLOCATORS, defined, functions, listed, parsed, scheduling};
use ir::{Module, Op};
use lockstep_codegen::target::ptx::machine::check::check;
use lockstep_codegen::target::ptx::machine::fit::{Allocator, Budget, Home, Made, Scheduling};
use lockstep_codegen::target::ptx::machine::{pressure, read};
use oracle::interp::{self, EventKind, Launch, Mode};
use ptx_programs::{is_settled, kernel, printed, random_text, setting};
use std::collections::BTreeMap;

const TEXTS: u64 = 60;

#[derive(Default, Debug)]
struct Count {
    fitted: u64,
    runs: u64,
    refused: BTreeMap<String, u64>,
    /// Runs with lanes interleaved, and those of texts with barriers of warps.
    interleaved: u64,
    waited: u64,
    /// Spilled registers by the kind of their home.
    homes: BTreeMap<&'static str, u64>,
}

const fn kind(home: Home) -> &'static str {
    match home {
        Home::Constant(_) => "constant",
        Home::Known(..) => "recompute",
        Home::Warp(_) => "warp-slot",
        Home::WarpBase(..) => "warp-slot-of-base",
        Home::Lane(_) => "lane-slot",
        Home::RegisterLane(_) => "register-lane",
        Home::Column(_) => "column",
        Home::Again(_) => "again",
        Home::Reload => "reload",
    }
}

/// The kernels of a file with their values in so many registers.
fn fitted(
    file: &str,
    allocator: Allocator,
    budget: &Budget,
    count: &mut Count,
) -> Option<(String, Vec<Made>)> {
    let mut out = String::new();
    let mut at = 0;
    let mut all = Vec::new();
    for (item, function) in functions(file) {
        let own = &file[item.clone()];
        match function.fitted(own, allocator, budget) {
            Ok(made) => {
                out.push_str(&file[at..item.start]);
                out.push_str(&made.text);
                at = item.end;
                let after = parsed(&made.text);
                let violations = check(&function.tree, &after, &function.known, budget);
                assert!(
                    violations.is_empty(),
                    "{allocator:?} {violations:?}\n{own}\n{}",
                    listed(&made.text)
                );
                let again =
                    read(&after).unwrap_or_else(|refusal| panic!("{refusal}\n{}", made.text));
                let pressure = pressure(&again);
                let words = pressure.words;
                assert!(
                    pressure.predicates <= u32::from(budget.predicates),
                    "{}",
                    made.text
                );
                assert!(words <= u32::from(budget.words), "{words}\n{}", made.text);
                for spilled in &made.spilled {
                    *count.homes.entry(kind(spilled.home)).or_default() += 1;
                }
                count.fitted += 1;
                all.push(made);
            }
            Err(refusal) => {
                *count.refused.entry(refusal).or_default() += 1;
                return None;
            }
        }
    }
    out.push_str(&file[at..]);
    Some((out, all))
}

fn budget(words: u16, launch: &Launch) -> Budget {
    let threads: u32 = launch.block.iter().product();
    Budget {
        words,
        predicates: 7,
        lanes: 32,
        warps: threads.div_ceil(32),
        whole_warps: threads.is_multiple_of(32),
        shared_bytes: 16_384,
        scheduling: Scheduling::Waiting,
    }
}

/// Returns true where each lane computes for itself.
fn is_alone(module: &Module) -> bool {
    let mut ops = module.functions.iter().flat_map(|own| own.insts.values());
    ops.all(|data| !matches!(data.op, Op::Warp(_) | Op::Barrier(_)))
}

fn computes_the_same(text: &str, launch: &Launch, count: &mut Count, what: &str) {
    let Some(module) = kernel(text) else { return };
    if !is_settled(text, &module) || launch.warp_size != 32 {
        return;
    }
    let mut launch = launch.clone();
    launch.scramble_undefined = false;
    let before = interp::run(&module, &launch);
    // What an inactive lane holds in a register is nobody's business.
    let defined = !(before.events.iter())
        .any(|event| matches!(event.kind, EventKind::ReadOfInactiveLane { .. }));
    launch.limits.steps = launch.limits.steps.saturating_mul(20);
    let mut apart = launch.clone();
    apart.mode = Mode::Interleaved;
    let alone = before.error.is_none() && is_alone(&module);
    let alone = alone && interp::run(&module, &apart).buffers == before.buffers;
    for words in [8, 10, 16, 21, 32] {
        for allocator in ALLOCATORS {
            let mut budget = budget(words, &launch);
            // Without memory for slots, lanes of a register take values of the warp.
            if words == 10 {
                budget.shared_bytes = 0;
            }
            let Some((after, _)) = fitted(text, allocator, &budget, count) else {
                continue;
            };
            if !defined {
                continue;
            }
            let module = kernel(&after).unwrap_or_else(|| panic!("{what}: no kernel\n{after}"));
            let now = interp::run(&module, &launch);
            count.runs += 1;
            let same = before.returned == now.returned
                && before.buffers == now.buffers
                && before.error.is_none() == now.error.is_none();
            assert!(
                same,
                "{what}, {words} words, {allocator:?}: {:?} {:?}\n{text}\n{after}",
                before.error, now.error
            );
            let waits = after.contains("bar.warp.sync 0xffffffff");
            // The interpreter's lanes that go apart read no words of each other.
            let functions = module.functions.iter();
            let mut ops = functions.flat_map(|own| own.insts.values());
            let alone = alone && !ops.any(|data| matches!(data.op, Op::Warp(_)));
            if !alone || words != 8 && !waits {
                continue;
            }
            apart.seed = u64::from(words);
            let now = interp::run(&module, &apart);
            count.interleaved += 1;
            count.waited += u64::from(waits);
            assert!(
                now.error.is_none() && now.buffers == before.buffers,
                "{what}, {words} words, {allocator:?}, interleaved: {:?}\n{text}\n{after}",
                now.error
            );
        }
    }
}

#[test]
fn random_texts_compute_the_same() {
    let mut count = Count::default();
    let first = setting("LOCKSTEP_FITTED_PTX_FIRST", 0);
    for seed in first..first + setting("LOCKSTEP_FITTED_PTX", TEXTS) {
        let (text, launch) = random_text(seed);
        let text = defined(&text);
        computes_the_same(&text, &launch, &mut count, &format!("text {seed}"));
        let (text, launch) = together::source(seed);
        computes_the_same(&text, &launch, &mut count, &format!("together {seed}"));
        if let Some((text, launch)) = printed(seed) {
            computes_the_same(&text, &launch, &mut count, &format!("printed {seed}"));
        }
    }
    println!("{count:#?}");
    assert!(count.runs >= 4 * TEXTS, "{count:?}");
    assert!(count.waited >= TEXTS / 4, "{count:?}");
    for kind in [
        "constant",
        "recompute",
        "warp-slot",
        "warp-slot-of-base",
        "lane-slot",
        "register-lane",
        "again",
        "reload",
    ] {
        assert!(count.homes.contains_key(kind), "{kind}: {count:?}");
    }
}

#[test]
fn the_assembler_takes_what_fits() {
    let Some(tool) = ptxas::find() else {
        return;
    };
    let mut count = Count::default();
    let mut judged = 0;
    for seed in 0..40 {
        let printed = printed(seed).map(|(text, _)| text);
        for text in [defined(&random_text(seed).0)].into_iter().chain(printed) {
            // Not all random text is what the assembler takes.
            if ptxas::judge(&tool, "sm_80", &text).is_err() {
                continue;
            }
            for allocator in ALLOCATORS {
                let launch = random_text(seed).1;
                let found = fitted(&text, allocator, &budget(12, &launch), &mut count);
                let Some((after, _)) = found else { continue };
                if let Err(errors) = ptxas::judge(&tool, "sm_80", &after) {
                    panic!("{seed}, {allocator:?}: {errors}\n{after}");
                }
                judged += 1;
            }
        }
    }
    println!("ptxas accepted {judged} modules");
    assert!(judged >= 40, "only {judged}: {count:?}");
}

/// Files of a directory that the environment names are in the budget's registers, too.
#[test]
fn files_of_others_are_in_their_registers() {
    let Some(paths) = public::ptx_files() else {
        return;
    };
    let mut count = Count::default();
    let mut broken = Vec::new();
    for path in paths {
        let file = public::text_of(&path);
        for (item, function) in functions(&file) {
            for (words, allocator) in [8, 10, 16, 21, 32]
                .into_iter()
                .flat_map(|words| ALLOCATORS.map(|allocator| (words, allocator)))
            {
                let budget = Budget {
                    words,
                    predicates: 7,
                    lanes: 32,
                    warps: 32,
                    whole_warps: false,
                    shared_bytes: 16_384,
                    scheduling: scheduling(&file),
                };
                match function.fitted(&file[item.clone()], allocator, &budget) {
                    Ok(made) => {
                        count.fitted += 1;
                        for spilled in &made.spilled {
                            *count.homes.entry(kind(spilled.home)).or_default() += 1;
                        }
                        let after = parsed(&made.text);
                        let found = check(&function.tree, &after, &function.known, &budget);
                        if let Some(first) = found.first() {
                            println!(
                                "{} {} {words} {allocator:?}: {} as {first:?}",
                                path.display(),
                                function.tree.name.text,
                                found.len()
                            );
                            broken.push(made.text);
                        }
                    }
                    Err(refusal) => *count.refused.entry(refusal).or_default() += 1,
                }
            }
        }
    }
    println!("{count:#?}");
    assert!(broken.is_empty(), "{} outputs", broken.len());
}
