//! Versions on zero of PTX text against the interpreter: random text, and text that is printed from random IR, versioned
//! at every candidate, computes the same bits; a version is taken back byte for byte; `ptxas` takes it.
//!
//! `LOCKSTEP_VERSIONED_PTX=N` runs N texts of each kind instead of the default number, `LOCKSTEP_VERSIONED_PTX_FIRST=N`
//! starts at another seed.

#[path = "support/flat.rs"]
mod flat;
#[path = "support/ptx_programs.rs"]
mod ptx_programs;
#[path = "support/ptxas.rs"]
mod ptxas;
#[path = "soundness_ptx/text/mod.rs"]
mod text;

use flat::Flat;
use lockstep_codegen::specialize::frequency;
use lockstep_codegen::specialize::ptx::{Document, Settings, check, remove};
use oracle::interp::{self, Launch};
use oracle::random::Random;
use ptx_programs::{is_settled, kernel, printed, random_text, setting};
use std::collections::BTreeMap;
use syntax::ptx::{PtxItemKind, declarations, split_items};

const TEXTS: u64 = 80;
const PRINTED: u64 = 60;
/// Versions of one text that are tried.
const TRIES: usize = 12;

#[derive(Default, Debug)]
struct Count {
    texts: u64,
    versions: u64,
    vectors: u64,
    nested: u64,
    refused: BTreeMap<&'static str, u64>,
    faster: u64,
    runs: u64,
}

/// Every version of the entries of a file: the new text, and its candidate.
fn versions(text: &str, settings: Settings, count: &mut Count, what: &str) -> Vec<String> {
    let items = split_items(text);
    let version = declarations(text, &items).version;
    let mut out = Vec::new();
    for (item, tree, lowered) in ir::lower::ptx::lower_text(text) {
        let PtxItemKind::Function(tree) = &tree.kind else {
            continue;
        };
        let own = &text[item.start as usize..item.end as usize];
        let function = &lowered.module.functions[0];
        let document = Document::new(own, tree, function, version);
        let weights = frequency::frequency(function);
        for candidate in document.candidates() {
            match document.version(&candidate, settings, &Flat, &weights) {
                Ok(version) => {
                    let mut after = text.to_owned();
                    for (offset, new) in version.insertions.iter().rev() {
                        after.insert_str((item.start + offset) as usize, new);
                    }
                    let inside = item.start + version.insertions[0].0 + 5;
                    let removal = remove(&after, inside)
                        .unwrap_or_else(|| panic!("{what}: can't be removed\n{after}"));
                    let mut back = after.clone();
                    for cut in removal.cuts.iter().rev() {
                        back.replace_range(cut.start as usize..cut.end as usize, "");
                    }
                    assert_eq!(back, text, "{what}");
                    if let Err(violation) = check::check(text, &after, &removal) {
                        panic!("{what}: {violation}\n{after}");
                    }
                    count.vectors += u64::from(candidate.members.len() > 1);
                    out.push(after);
                }
                Err(refusal) => *count.refused.entry(refusal.name()).or_default() += 1,
            }
        }
    }
    count.versions += out.len() as u64;
    out
}

fn compare(outcome: &interp::Outcome, after: &str, launch: &Launch, count: &mut Count, what: &str) {
    let module = kernel(after).unwrap_or_else(|| panic!("{what}: no kernel\n{after}"));
    if let Err(errors) = ir::verify_module(&module) {
        panic!("{what}: {}\n{after}", errors[0]);
    }
    let now = interp::run(&module, launch);
    count.runs += 1;
    count.faster += u64::from(now.steps < outcome.steps);
    let same = outcome.returned == now.returned
        && outcome.buffers == now.buffers
        && outcome.error.is_none() == now.error.is_none();
    let differ = outcome
        .buffers
        .iter()
        .zip(&now.buffers)
        .enumerate()
        .flat_map(|(buffer, (left, right))| {
            let pairs = left.words().into_iter().zip(right.words()).enumerate();
            let differ = pairs.filter(|(_, (left, right))| left != right).take(4);
            differ
                .map(|(word, pair)| (buffer, word, pair))
                .collect::<Vec<_>>()
        });
    assert!(
        same,
        "{what}: {:?} {:?} {:?}\n{after}",
        outcome.error,
        now.error,
        differ.collect::<Vec<_>>()
    );
}

fn judge(text: &str, launch: &Launch, seed: u64, count: &mut Count, what: &str) {
    let Some(module) = kernel(text) else { return };
    let mut random = Random::new(seed ^ 0x7a65_726f);
    // What nobody wrote is zero in both.
    let mut launch = launch.clone();
    launch.scramble_undefined = false;
    let launch = &launch;
    if !is_settled(text, &module) {
        return;
    }
    let outcome = interp::run(&module, launch);
    if outcome.error.is_some() {
        return;
    }
    let mut launch = launch.clone();
    launch.limits.steps = launch.limits.steps.saturating_mul(8);
    count.texts += 1;
    let mut found = versions(text, Settings::default(), count, what);
    for _ in 0..TRIES.min(found.len()) {
        let picked = found.swap_remove(random.below(found.len() as u32) as usize);
        compare(&outcome, &picked, &launch, count, what);
        if random.percent(20) {
            let mut twice = versions(&picked, Settings::default(), &mut Count::default(), what);
            if !twice.is_empty() {
                let nested = twice.swap_remove(random.below(twice.len() as u32) as usize);
                compare(&outcome, &nested, &launch, count, what);
                count.nested += 1;
            }
        }
    }
}

fn seeds(default: u64) -> std::ops::Range<u64> {
    let first = setting("LOCKSTEP_VERSIONED_PTX_FIRST", 0);
    first..first + setting("LOCKSTEP_VERSIONED_PTX", default)
}

#[test]
fn random_text_computes_the_same() {
    let mut count = Count::default();
    for seed in seeds(TEXTS) {
        let (text, launch) = random_text(seed);
        judge(&text, &launch, seed, &mut count, &format!("text {seed}"));
    }
    println!("{count:?}");
    assert!(count.versions > count.texts, "{count:?}");
}

#[test]
fn printed_programs_compute_the_same() {
    let mut count = Count::default();
    for seed in seeds(PRINTED) {
        if let Some((text, launch)) = printed(seed) {
            judge(&text, &launch, seed, &mut count, &format!("printed {seed}"));
        }
    }
    println!("{count:?}");
    assert!(count.versions > count.texts, "{count:?}");
}

/// Three components of a load that share a light: only together do they make it useless.
const VECTOR: &str = ".version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 q)
{
\t.reg .b32 %r<2>;
\t.reg .f32 %f<12>;
\t.reg .b64 %rd<6>;
\tld.param.u64 %rd1, [p];
\tld.param.u64 %rd2, [q];
\tmov.u32 %r1, %tid.x;
\tmul.wide.u32 %rd3, %r1, 16;
\tadd.s64 %rd4, %rd1, %rd3;
\tadd.s64 %rd5, %rd2, %rd3;
\tld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd4];
\tld.global.f32 %f5, [%rd5];
\tmul.f32 %f6, %f1, %f5;
\tfma.rn.ftz.f32 %f7, %f2, %f5, %f6;
\tfma.rn.f32 %f8, %f3, %f5, %f7;
\tst.global.f32 [%rd4], %f8;
\tret;
}
";

#[test]
fn vectors_are_found_again() {
    let absorb = Settings {
        absorb: true,
        ..Settings::default()
    };
    let mut count = Count::default();
    let all = versions(VECTOR, absorb, &mut count, "vector");
    assert!(count.vectors >= 1, "{count:?}");
    let joint = all
        .iter()
        .find(|text| text.contains("version on zero of %f1, %f2, %f3 ("))
        .unwrap_or_else(|| panic!("{all:#?}"));
    let copy = joint.split("$lockstep_zero_1:").nth(1).unwrap_or("");
    assert!(!copy.contains("ld.global"), "{joint}");
    assert!(copy.contains("mov.f32 \t%f8, 0f00000000;"), "{joint}");
    assert!(
        joint.contains("setp.eq.and.f32 \t%lsz, %f3, 0f00000000, %lsz;"),
        "{joint}"
    );
    // One alone leaves the light, and what flushes is no move.
    let second = all
        .iter()
        .find(|text| text.contains("version on zero of %f2 ("));
    let second = second.unwrap_or_else(|| panic!("{all:#?}"));
    assert!(
        second.contains("add.rn.ftz.f32 \t%f7, %f6, 0f00000000;"),
        "{second}"
    );
}

#[test]
fn the_assembler_takes_versions() {
    let Some(tool) = ptxas::find() else {
        return;
    };
    let accepts = |text: &str| ptxas::judge(&tool, "sm_80", text);
    let mut judged = 0;
    for seed in 0..400u64 {
        let text = if seed % 2 == 0 {
            random_text(seed).0
        } else {
            match printed(seed) {
                Some((text, _)) => text,
                None => continue,
            }
        };
        let found = versions(&text, Settings::default(), &mut Count::default(), "ptxas");
        let Some(after) = found.into_iter().nth(seed as usize % 7) else {
            continue;
        };
        if accepts(&text).is_err() {
            continue;
        }
        if let Err(errors) = accepts(&after) {
            panic!("seed {seed}: {errors}\n{after}");
        }
        judged += 1;
        if judged == 24 {
            break;
        }
    }
    eprintln!("ptxas accepted {judged} versions");
    assert!(judged >= 12, "{judged}");
}
