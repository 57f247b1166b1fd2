//! PTX whose values fit a few registers, by linear scan and by the paper's allocators, against the interpreter and NVIDIA's
//! assembler: what is computed stays, slots of warps do not mix, and no more is live than there are registers.
//!
//! `LOCKSTEP_FITTED_PTX=N` takes N texts of each kind instead of the default number.

#[path = "support/ptx_programs.rs"]
mod ptx_programs;
#[path = "support/ptxas.rs"]
// Only texts are judged here.
#[allow(dead_code)]
mod ptxas;
#[path = "soundness_ptx/text/mod.rs"]
mod text;

use facts::{Method, Options};
use lockstep_codegen::target::ptx::machine::fit::{Allocator, Budget, Home, Made, fit};
use lockstep_codegen::target::ptx::machine::states::{states, together_by_statement};
use lockstep_codegen::target::ptx::machine::{pressure, read};
use oracle::interp::{self, Launch};
use ptx_programs::{is_settled, kernel, printed, random_text, setting};
use std::collections::BTreeMap;
use syntax::ptx::{PtxFunction, PtxItemKind, parse_item};

const TEXTS: u64 = 60;
const ALLOCATORS: [Allocator; 3] = [Allocator::Linear, Allocator::Divergence, Allocator::Affine];

#[derive(Default, Debug)]
struct Count {
    fitted: u64,
    runs: u64,
    refused: BTreeMap<String, u64>,
    /// Spilled registers by the kind of their home.
    homes: BTreeMap<&'static str, u64>,
}

fn parsed(text: &str) -> Box<PtxFunction> {
    match parse_item(text).kind {
        PtxItemKind::Function(function) => function,
        other => panic!("no function: {other:?}"),
    }
}

const fn kind(home: Home) -> &'static str {
    match home {
        Home::Constant(_) => "constant",
        Home::Known(..) => "recompute",
        Home::Warp(_) => "warp-slot",
        Home::WarpBase(..) => "warp-slot-of-base",
        Home::Lane(_) => "lane-slot",
        Home::Column(_) => "column",
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
    for (item, tree, lowered) in ir::lower::ptx::lower_text(file) {
        let PtxItemKind::Function(tree) = &tree.kind else {
            continue;
        };
        let own = &file[item.start as usize..item.end as usize];
        let body = match read(tree) {
            Ok(body) => body,
            Err(refusal) => {
                *count.refused.entry(format!("{refusal}")).or_default() += 1;
                return None;
            }
        };
        if body.reads_undefined() {
            *count
                .refused
                .entry("reads what nothing wrote".into())
                .or_default() += 1;
            return None;
        }
        let options = Options {
            method: Method::Polynomial(1),
            ..Options::default()
        };
        let facts = facts::analyze(0, &lowered.module, &options);
        let function = &lowered.module.functions[0];
        let states = states(&body, function, &facts);
        let together = together_by_statement(&body, tree, function, &facts);
        let early = |statement: u32| together[statement as usize];
        match fit(tree, &body, own, allocator, &states, &early, budget) {
            Ok(made) => {
                out.push_str(&file[at..item.start as usize]);
                out.push_str(&made.text);
                at = item.end as usize;
                let again = read(&parsed(&made.text))
                    .unwrap_or_else(|refusal| panic!("{refusal}\n{}", made.text));
                let pressure = pressure(&again);
                let words = pressure.words;
                assert!(
                    pressure.predicates <= u32::from(budget.predicates),
                    "{}",
                    made.text
                );
                assert!(words <= u32::from(budget.words), "{words}\n{}", made.text);
                for one in &made.spilled {
                    *count.homes.entry(kind(one.home)).or_default() += 1;
                }
                count.fitted += 1;
                all.push(made);
            }
            Err(refusal) => {
                *count.refused.entry(format!("{refusal}")).or_default() += 1;
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
        shared_bytes: 16_384,
    }
}

fn computes_the_same(text: &str, launch: &Launch, count: &mut Count, what: &str) {
    let Some(module) = kernel(text) else { return };
    if !is_settled(text, &module) || launch.warp_size != 32 {
        return;
    }
    let mut launch = launch.clone();
    launch.scramble_undefined = false;
    let before = interp::run(&module, &launch);
    launch.limits.steps = launch.limits.steps.saturating_mul(20);
    for words in [8, 10, 16, 21, 32] {
        for allocator in ALLOCATORS {
            let budget = budget(words, &launch);
            let Some((after, _)) = fitted(text, allocator, &budget, count) else {
                continue;
            };
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
        }
    }
}

#[test]
fn random_texts_compute_the_same() {
    let mut count = Count::default();
    for seed in 0..setting("LOCKSTEP_FITTED_PTX", TEXTS) {
        let (text, launch) = random_text(seed);
        computes_the_same(&text, &launch, &mut count, &format!("text {seed}"));
        if let Some((text, launch)) = printed(seed) {
            computes_the_same(&text, &launch, &mut count, &format!("printed {seed}"));
        }
    }
    println!("{count:#?}");
    assert!(count.runs >= 4 * TEXTS, "{count:?}");
    for kind in [
        "constant",
        "recompute",
        "warp-slot",
        "warp-slot-of-base",
        "lane-slot",
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
        for text in [random_text(seed).0].into_iter().chain(printed) {
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
