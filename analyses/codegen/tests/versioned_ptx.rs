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
#[path = "versioned_ptx/sparse.rs"]
mod sparse;
#[path = "soundness_ptx/text/mod.rs"]
mod text;

use flat::Flat;
use lockstep_codegen::specialize::frequency;
use lockstep_codegen::specialize::ptx::{
    Candidate, Document, Refusal, Removal, Settings, check, remove, unguard,
};
use oracle::interp::{self, AccessKind, Instance, Launch, Observer};
use oracle::random::Random;
use ptx_programs::{is_settled, kernel, printed, random_text, setting};
use std::collections::BTreeMap;
use syntax::ptx::{PtxItemKind, declarations, split_items};

const TEXTS: u64 = 80;
const PRINTED: u64 = 60;
/// Texts in which loads are guarded.
const GUARDED: u64 = 120;
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
    /// Runs in which lanes loaded less often.
    spared: u64,
    runs: u64,
}

type Insertions = Vec<(u32, String)>;

/// What `write` makes of every candidate of a file: the new texts, each of which `cut` takes back byte for byte.
fn rewritten(
    text: &str,
    count: &mut Count,
    what: &str,
    write: impl Fn(&Document<'_>, &Candidate) -> Result<Insertions, Refusal>,
    cut: impl Fn(&str, u32) -> Option<Removal>,
    check: impl Fn(&str, &str, &Removal) -> Result<(), check::Violation>,
) -> Vec<String> {
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
        for candidate in document.candidates() {
            match write(&document, &candidate) {
                Ok(insertions) => {
                    let mut after = text.to_owned();
                    for (offset, new) in insertions.iter().rev() {
                        after.insert_str((item.start + offset) as usize, new);
                    }
                    let inside = item.start + insertions[0].0 + 5;
                    let removal = cut(&after, inside)
                        .unwrap_or_else(|| panic!("{what}: can't be removed\n{after}"));
                    let mut back = after.clone();
                    for cut in removal.cuts.iter().rev() {
                        back.replace_range(cut.start as usize..cut.end as usize, "");
                    }
                    assert_eq!(back, text, "{what}");
                    if let Err(violation) = check(text, &after, &removal) {
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

/// Every version of the entries of a file.
fn versions(text: &str, settings: Settings, count: &mut Count, what: &str) -> Vec<String> {
    let write = |document: &Document<'_>, candidate: &Candidate| {
        let weights = frequency::frequency(document.function);
        let version = document.version(candidate, settings, &Flat, &weights)?;
        Ok(version.insertions)
    };
    rewritten(text, count, what, write, remove, check::check)
}

/// The loads behind every candidate guarded.
fn guards(text: &str, settings: Settings, count: &mut Count, what: &str) -> Vec<String> {
    let write = |document: &Document<'_>, candidate: &Candidate| {
        let weights = frequency::frequency(document.function);
        let guards = document.guards(candidate, settings, &Flat, &weights)?;
        assert!(guards.loads > 0 && guards.guarded >= guards.loads);
        Ok(guards.insertions)
    };
    rewritten(text, count, what, write, unguard, check::guards)
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

/// Lanes that load.
#[derive(Default)]
struct Loads(u64);

impl Observer for Loads {
    fn memory(&mut self, _: &Instance<'_>, _: ir::Inst, kind: AccessKind, _: &[u64], mask: u64) {
        if matches!(kind, AccessKind::Load) {
            self.0 += u64::from(mask.count_ones());
        }
    }
}

/// Guarded texts compute the same with other contents of undefined registers, and no lane loads more often.
fn judge_guards(text: &str, launch: &Launch, seed: u64, count: &mut Count, what: &str) {
    if kernel(text).is_some_and(|module| is_settled(text, &module)) {
        judge_settled_guards(text, launch, seed, Settings::default(), count, what);
    }
}

/// `judge_guards` of a text whose results are settled, whatever its instructions are.
fn judge_settled_guards(
    text: &str,
    launch: &Launch,
    seed: u64,
    settings: Settings,
    count: &mut Count,
    what: &str,
) {
    let Some(module) = kernel(text) else { return };
    let mut random = Random::new(seed ^ 0x6775_6172);
    let mut launch = launch.clone();
    launch.scramble_undefined = false;
    let mut loads = Loads::default();
    let plain = interp::run_with(&module, &launch, &mut loads, &());
    launch.scramble_undefined = true;
    let outcome = interp::run(&module, &launch);
    if outcome.error.is_some() || plain.error.is_some() || outcome.buffers != plain.buffers {
        return;
    }
    launch.limits.steps = launch.limits.steps.saturating_mul(8);
    count.texts += 1;
    let mut found = guards(text, settings, count, what);
    for _ in 0..TRIES.min(found.len()) {
        let picked = found.swap_remove(random.below(found.len() as u32) as usize);
        compare(&outcome, &picked, &launch, count, what);
        let module = kernel(&picked).expect("it was compared");
        let mut now = Loads::default();
        interp::run_with(&module, &launch, &mut now, &());
        assert!(now.0 <= loads.0, "{what}: {} {}\n{picked}", now.0, loads.0);
        count.spared += u64::from(now.0 < loads.0);
        if random.percent(20) {
            let mut twice = guards(&picked, settings, &mut Count::default(), what);
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

#[test]
fn guarded_loads_compute_the_same() {
    let mut count = Count::default();
    for seed in seeds(GUARDED) {
        let (text, launch) = sparse::source(seed);
        let settings = Settings {
            absorb: sparse::is_finite(seed),
            ..Settings::default()
        };
        let what = format!("sparse {seed}");
        judge_settled_guards(&text, &launch, seed, settings, &mut count, &what);
        // Few of these have a load that a zero makes useless.
        if seed >= 40 {
            continue;
        }
        let (text, launch) = random_text(seed);
        judge_guards(&text, &launch, seed, &mut count, &format!("text {seed}"));
        if let Some((text, launch)) = printed(seed) {
            judge_guards(&text, &launch, seed, &mut count, &format!("printed {seed}"));
        }
    }
    println!("{count:?}");
    assert!(count.versions > 10 * count.texts, "{count:?}");
    assert!(2 * count.spared > count.runs, "{count:?}");
}

/// A product that is summed, and one that is stored, of which the first factor is zero in lanes 0, 2, 4, ...
const SPARSE: &str = ".version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 q)
{
\t.reg .b32 %r<8>;
\t.reg .f32 %f<12>;
\t.reg .b64 %rd<6>;
\tld.param.u64 %rd1, [p];
\tld.param.u64 %rd2, [q];
\tmov.u32 %r1, %tid.x;
\tmul.wide.u32 %rd3, %r1, 4;
\tadd.s64 %rd4, %rd1, %rd3;
\tadd.s64 %rd5, %rd2, %rd3;
\tld.global.f32 %f3, [%rd4+64];
\tand.b32 %r2, %r1, 1;
\tcvt.rn.f32.u32 %f1, %r2;
\tld.global.f32 %f2, [%rd5];
\tfma.rn.f32 %f3, %f1, %f2, %f3;
\tld.global.u32 %r3, [%rd5+4];
\tmul.lo.s32 %r4, %r2, %r3;
\tmul.f32 %f4, %f1, %f2;
\tadd.f32 %f5, %f3, %f4;
\tst.global.f32 [%rd4], %f5;
\tst.global.f32 [%rd4+128], %f4;
\tst.global.u32 [%rd4+256], %r4;
\tret;
}
";

#[test]
fn sums_keep_what_they_hold_and_integers_absorb() {
    let absorb = Settings {
        absorb: true,
        ..Settings::default()
    };
    let mut count = Count::default();
    let all = guards(SPARSE, absorb, &mut count, "sparse");
    let of = |name: &str| {
        let found = all
            .iter()
            .find(|text| text.contains(&format!("skip loads where {name} is zero (1)")));
        found.unwrap_or_else(|| panic!("{name}: {all:#?}"))
    };
    let float = of("%f1");
    for line in [
        "\tsetp.neu.f32 \t%lskip1, %f1, 0f00000000; // lockstep: tested (1)",
        "\t@%lskip1 ld.global.f32 %f2, [%rd5];",
        "\t@%lskip1 fma.rn.f32 %f3, %f1, %f2, %f3;",
        "\t@!%lskip1 mov.f32 \t%f4, 0f00000000;",
        "\t@%lskip1 mul.f32 %f4, %f1, %f2;",
        "\tld.global.u32 %r3, [%rd5+4];",
    ] {
        assert!(float.contains(line), "{line}\n{float}");
    }
    // An integer is tested by its bits, and zero times anything is zero.
    let integer = of("%r2");
    assert!(
        integer.contains("\tsetp.ne.b32 \t%lskip1, %r2, 0;"),
        "{integer}"
    );
    assert!(
        integer.contains("\t@%lskip1 ld.global.u32 %r3, [%rd5+4];"),
        "{integer}"
    );
    assert!(integer.contains("\tmul.lo.s32 %r4, %r2, %r3;"), "{integer}");
    // In IEEE arithmetic the float alone skips nothing.
    let ieee = guards(SPARSE, Settings::default(), &mut count, "sparse");
    assert!(!ieee.iter().any(|text| text.contains("where %f1 is zero")));
}

#[test]
fn wrong_guards_are_found() {
    let absorb = Settings {
        absorb: true,
        ..Settings::default()
    };
    let all = guards(SPARSE, absorb, &mut Count::default(), "sparse");
    let text = all
        .iter()
        .find(|text| text.contains("where %f1 is zero (1)"));
    let text = text.expect("guards of %f1");
    let faults = [
        (
            "setp.neu.f32 \t%lskip1, %f1,",
            "setp.neu.f32 \t%lskip1, %f2,",
        ),
        ("setp.neu.f32", "setp.eq.f32"),
        ("mov.f32 \t%f4, 0f00000000;", "mov.f32 \t%f5, 0f00000000;"),
        (
            "\tst.global.u32 [%rd4+256]",
            "\t@%lskip1 st.global.u32 [%rd4+256]",
        ),
        ("\tadd.f32 %f5", "\t@%lskip1 add.f32 %f5"),
        ("\tret;", "\texit;"),
    ];
    for (from, to) in faults {
        let wrong = text.replacen(from, to, 1);
        assert_ne!(&wrong, text, "{from}");
        let at = wrong.find("lockstep: skip loads").expect("a mark") as u32;
        let judged = match unguard(&wrong, at) {
            Some(removal) => check::guards(SPARSE, &wrong, &removal).is_err(),
            None => true,
        };
        assert!(judged, "{to}\n{wrong}");
    }
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
    let (mut judged, mut guarded) = (0, 0);
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
    for seed in 0..10 {
        let (text, _) = sparse::source(seed);
        if accepts(&text).is_err() {
            continue;
        }
        let skipping = guards(&text, Settings::default(), &mut Count::default(), "ptxas");
        for after in skipping.iter().take(4) {
            if let Err(errors) = accepts(after) {
                panic!("sparse {seed}: {errors}\n{after}");
            }
            guarded += 1;
        }
    }
    eprintln!("ptxas accepted {judged} versions and {guarded} texts with guards");
    assert!(judged >= 12 && guarded >= 12, "{judged} {guarded}");
}
