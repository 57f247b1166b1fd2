//! Versions on zero in the source against the interpreter: the rewritten kernel computes the same as the
//! original, bit for bit except for the sign of zero and for values that were infinite or NaN before.
//!
//! Inputs are zero in whole warps, in single lanes, and nowhere. `LOCKSTEP_SOURCE_PROGRAMS=N` makes N random kernels
//! instead of the default number, `LOCKSTEP_SOURCE_FIRST=N` starts at another seed. Every version of a kernel is run.

#[path = "support/flat.rs"]
mod flat;
#[path = "versioned_source/generate.rs"]
mod generate;
#[path = "support/read.rs"]
mod read;
#[path = "versioned_source/routes.rs"]
mod routes;

use facts::zeros::never::Ranges;
use generate::{INPUTS, Language, OUTPUTS, WRITES, kernel};
use ir::{Module, SymbolKind, Type, Value};
use lockstep_codegen::specialize::source::{
    Refusal, Settings, Source, candidates, check, functions_of, harmless, remove, version,
};
use oracle::interp::{self, Buffer, Inputs, Instance, Launch, Observer, Outcome, Textures};
use oracle::random::Random;
use read::{number, read};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

const PROGRAMS: u64 = 150;
/// Kernels beyond the default number that were once refused: a product behind `*=` taken for a declaration.
const KNOWN: [u64; 2] = [1_009_020, 1_010_240];
/// Versions tried of one kernel.
const TRIES: usize = 64;
const LANES: u32 = 64;

const FREE: Settings = Settings {
    absorb: true,
    whole_warps: false,
    uniform: false,
    each_lane: false,
};
/// A plain branch computes the same where values are not uniform, too.
const PLAIN: Settings = Settings {
    uniform: true,
    ..FREE
};

/// Each lane chooses for itself.
const EACH: Settings = Settings {
    each_lane: true,
    ..FREE
};

const fn ir_language(language: Language) -> ir::Language {
    match language {
        Language::Cuda => ir::Language::Cuda,
        Language::Hlsl => ir::Language::Hlsl,
    }
}

/// The modules of kernels and entry points, and the problems of all.
fn lowered(text: &str, language: Language) -> (Vec<Module>, usize) {
    read(text, ir_language(language)).lowered()
}

fn launch(module: &Module, seed: u64) -> Launch {
    let function = &module.functions[0];
    let mut launch = Launch::for_function(function, LANES, seed);
    launch.default_bytes = 8 << 10;
    launch.limits.steps = 2_000_000;
    launch.inputs = Inputs::Function(Rc::new(move |query: &interp::InputQuery<'_>| {
        let value = number(seed ^ 77, u64::from(query.index), query.thread);
        match query.input.ty {
            Type::F32 if query.input.semantic.starts_with("SV_POSITION") => {
                f64_bits(Type::F32, (query.thread % 8) as f32 + 0.5)
            }
            Type::F32 => f64_bits(Type::F32, value),
            _ => query.thread % 7,
        }
    }));
    launch.textures = Textures::Function(Rc::new(move |query: &interp::TextureQuery<'_>| {
        let at = query.coordinates.first().copied().unwrap_or(0.0);
        if at.sin() * (query.handle % 3) as f64 > 0.4 {
            0.0
        } else {
            f64::from(number(seed ^ 99, query.handle, (at.abs() * 8.0) as u64)).abs()
        }
    }));
    let floats = |slot: u64, count: u64| {
        Buffer::of_f32((0..count).map(|at| {
            number(
                seed,
                slot ^ (at % u64::from(INPUTS)),
                at / u64::from(INPUTS),
            )
        }))
    };
    for buffer in &mut launch.buffers {
        *buffer = floats(1, 2048);
    }
    for (at, symbol) in function.symbols.values().enumerate() {
        if symbol.kind == SymbolKind::Buffer {
            let read_only = symbol.space == ir::Space::Constant;
            launch
                .bindings
                .push((symbol.name.clone(), launch.buffers.len()));
            let mut buffer = floats(at as u64, 2048);
            if read_only {
                buffer.space = ir::Space::Constant;
                buffer.writable = false;
            }
            launch.buffers.push(buffer);
        }
    }
    launch
}

fn f64_bits(ty: Type, value: f32) -> u64 {
    debug_assert_eq!(ty, Type::F32);
    u64::from(value.to_bits())
}

/// The rule for zeros: equal, or zeros of either sign, or no number before.
fn same_word(before: u32, after: u32) -> bool {
    let (a, b) = (f32::from_bits(before), f32::from_bits(after));
    before == after || (a == 0.0 && b == 0.0) || !a.is_finite()
}

fn same(before: &Outcome, after: &Outcome) -> Result<(), String> {
    if before.error.is_some() != after.error.is_some() {
        return Err(format!("{:?} and {:?}", before.error, after.error));
    }
    for (number, (a, b)) in before.returned.iter().zip(&after.returned).enumerate() {
        for (lane, (a, b)) in a.iter().zip(b).enumerate() {
            if !same_word(*a as u32, *b as u32) {
                return Err(format!(
                    "result {number}, lane {lane}: {} and {}",
                    f32::from_bits(*a as u32),
                    f32::from_bits(*b as u32)
                ));
            }
        }
    }
    for (number, (a, b)) in before.buffers.iter().zip(&after.buffers).enumerate() {
        for (word, (a, b)) in a.words().into_iter().zip(b.words()).enumerate() {
            if !same_word(a, b) {
                return Err(format!(
                    "buffer {number}, word {word}: {} and {}",
                    f32::from_bits(a),
                    f32::from_bits(b)
                ));
            }
        }
    }
    if before.texels.len() != after.texels.len() {
        return Err("texels".to_owned());
    }
    Ok(())
}

/// The watch for an infinity or a NaN that a run computes, about which the rule for zeros promises nothing.
struct Infinite<'a> {
    module: &'a Module,
    found: bool,
}

impl Observer for Infinite<'_> {
    fn values(&mut self, instance: &Instance<'_>, value: Value, lanes: &[u64], mask: u64) {
        if self.module.functions[instance.function as usize].ty(value) == Type::F32 {
            self.found |= lanes.iter().enumerate().any(|(lane, &bits)| {
                mask >> lane & 1 == 1 && !f32::from_bits(bits as u32).is_finite()
            });
        }
    }
}

/// Values whose range excludes zero are zero in no lane.
struct NeverZero<'a> {
    module: &'a Module,
    never: Vec<bool>,
    seen: u64,
}

impl<'a> NeverZero<'a> {
    fn new(module: &'a Module) -> Self {
        let function = &module.functions[0];
        let mut ranges = Ranges::new(function);
        let constant = |value: Value| {
            function
                .defining(value)
                .is_some_and(|data| matches!(data.op, ir::Op::Const(_)))
        };
        let values = function.values.keys();
        NeverZero {
            module,
            never: values
                .map(|value| !constant(value) && ranges.excludes_zero(value))
                .collect(),
            seen: 0,
        }
    }
}

impl Observer for NeverZero<'_> {
    fn values(&mut self, instance: &Instance<'_>, value: Value, lanes: &[u64], mask: u64) {
        if instance.function != 0 || !self.never[value.0 as usize] {
            return;
        }
        let float = self.module.functions[0].ty(value) == Type::F32;
        self.seen += 1;
        for (lane, &bits) in lanes.iter().enumerate() {
            let zero = match float {
                true => f32::from_bits(bits as u32) == 0.0,
                false => bits == 0,
            };
            assert!(
                mask >> lane & 1 == 0 || !zero,
                "{value:?} is zero in lane {lane}"
            );
        }
    }
}

#[derive(Default, Debug)]
struct Count {
    kernels: u64,
    offered: u64,
    nested: u64,
    refused: BTreeMap<&'static str, u64>,
    faster: u64,
    /// Versions of factors without a name.
    operands: u64,
    /// Runs of the other permutation.
    permuted: u64,
    /// Values whose range excludes zero, as often as a warp computed them.
    never: u64,
    runs: u64,
    compared: u64,
    /// Runs that differ, and computed an infinity or a NaN before.
    infinite: u64,
}

/// Every version of a text's functions: the new text of each.
fn versions(
    text: &str,
    language: Language,
    count: &mut Count,
    what: &str,
    one_of: usize,
    settings: Settings,
) -> Vec<String> {
    let read = read(text, ir_language(language));
    let mut out = Vec::new();
    for (number, (start, _, item)) in read.parsed.iter().enumerate() {
        let source = Source::new(
            item,
            &read.unit.items[number].tokens,
            text,
            *start,
            &read.environment,
            &read.bodies,
            ir_language(language),
        );
        for function in functions_of(item) {
            let all = candidates(&source, function);
            let from = what.len() % one_of;
            for candidate in all.into_iter().skip(from).step_by(one_of) {
                match version(&source, function, &candidate, settings) {
                    Ok(version) => {
                        let (span, new) = &version.edit;
                        let mut after = text.to_owned();
                        after.replace_range(span.start as usize..span.end as usize, new);
                        if let Err(violation) =
                            check::check(text, &after, (*span, new.len()), &|name| {
                                harmless(&source, name)
                            })
                        {
                            panic!("{what}: {violation}\n{after}");
                        }
                        let removal = remove(&after, span.start)
                            .unwrap_or_else(|| panic!("{what}: can't be removed\n{after}"));
                        let (place, old) = removal.edit;
                        let mut back = after.clone();
                        back.replace_range(place.start as usize..place.end as usize, &old);
                        assert_eq!(back, text, "{what}\n{after}");
                        count.operands += u64::from(candidate.is_operand());
                        out.push(after);
                    }
                    Err(Refusal::Check(why)) => panic!("{what}: {why}\n{text}"),
                    Err(refusal) => *count.refused.entry(refusal.name()).or_default() += 1,
                }
            }
        }
    }
    count.offered += out.len() as u64;
    out
}

/// A text, lowered once, and the results of its kernels from one seed each.
struct Original<'a> {
    text: &'a str,
    language: Language,
    problems: usize,
    runs: Vec<(Module, Vec<(Launch, Outcome)>)>,
}

impl<'a> Original<'a> {
    fn new(text: &'a str, language: Language, seeds: &[u64]) -> Self {
        let (modules, problems) = lowered(text, language);
        let runs = modules.into_iter().map(|module| {
            let of_seed = |&seed: &u64| {
                let launch = launch(&module, seed);
                let outcome = interp::run(&module, &launch);
                (launch, outcome)
            };
            let outcomes = seeds.iter().map(of_seed).collect();
            (module, outcomes)
        });
        Original {
            text,
            language,
            problems,
            runs: runs.collect(),
        }
    }

    /// Runs a version on the inputs from `from` on and compares.
    fn judge(&self, after: &str, inputs: std::ops::Range<usize>, count: &mut Count, what: &str) {
        let (new, problems_now) = lowered(after, self.language);
        let problems = self.problems;
        assert!(
            problems_now <= problems * 2,
            "{what}: {problems} problems became {problems_now}\n{after}"
        );
        assert_eq!(self.runs.len(), new.len(), "{what}\n{after}");
        for ((old, outcomes), new) in self.runs.iter().zip(&new) {
            for (launch, first) in outcomes.get(inputs.clone()).unwrap_or_default() {
                let second = interp::run(new, launch);
                count.runs += 1;
                count.compared += u64::from(first.error.is_none());
                if let Err(why) = same(first, &second) {
                    let mut infinite = Infinite {
                        module: old,
                        found: false,
                    };
                    interp::run_with(old, launch, &mut infinite, &());
                    if infinite.found {
                        count.infinite += 1;
                        continue;
                    }
                    panic!(
                        "{what}, seed {}: {why}\n{}\n---\n{after}",
                        launch.seed, self.text
                    );
                }
                count.faster += u64::from(second.steps < first.steps);
            }
        }
    }
}

fn random_kernels(language: Language) -> Count {
    // A test may be asked for more by its environment.
    #[allow(clippy::disallowed_methods)]
    let programs = std::env::var("LOCKSTEP_SOURCE_PROGRAMS")
        .ok()
        .and_then(|number| number.parse().ok())
        .unwrap_or(PROGRAMS);
    #[allow(clippy::disallowed_methods)]
    let first: u64 = std::env::var("LOCKSTEP_SOURCE_FIRST")
        .ok()
        .and_then(|number| number.parse().ok())
        .unwrap_or(0);
    let mut count = Count::default();
    let writing = match language {
        Language::Hlsl => WRITES + first..WRITES + first + programs,
        Language::Cuda => 0..0,
    };
    for seed in (first..first + programs).chain(KNOWN).chain(writing) {
        let what = format!("kernel {seed}");
        let text = kernel(seed, language);
        count.kernels += 1;
        let mut random = Random::new(seed);
        let original = Original::new(&text, language, &[seed, seed ^ 1]);
        for (module, runs) in &original.runs {
            let mut never = NeverZero::new(module);
            for (launch, _) in runs {
                interp::run_with(module, launch, &mut never, &());
            }
            count.never += never.seen;
        }
        // What the other permutation computes with the same versions.
        let other_text = format!("#define OTHER\n{text}");
        let other = text
            .contains("#if")
            .then(|| Original::new(&other_text, language, &[seed]));
        let settings = *random.pick(&[PLAIN, EACH, FREE, FREE]);
        let now = versions(&text, language, &mut count, &what, 1, settings);
        for (number, picked) in now.into_iter().take(TRIES).enumerate() {
            let input = number % 2;
            original.judge(&picked, input..input + 1, &mut count, &what);
            if let Some(other) = &other {
                let text = format!("#define OTHER\n{picked}");
                let before = count.runs;
                other.judge(
                    &text,
                    0..1,
                    &mut count,
                    &format!("{what}, the other permutation"),
                );
                count.permuted += count.runs - before;
            }
            // And a version of the version.
            if random.percent(10) {
                let mut twice = versions(&picked, language, &mut count, &what, 5, settings);
                if !twice.is_empty() {
                    let at = random.below(twice.len() as u32) as usize;
                    let nested = twice.swap_remove(at);
                    original.judge(&nested, 0..1, &mut count, &what);
                    count.nested += 1;
                }
            }
        }
    }
    println!("{language:?}: {count:?}");
    assert!(
        count.operands > 0 && count.permuted > 0 && count.never > 0,
        "{count:?}"
    );
    assert!(count.refused.contains_key("guarded"), "{count:?}");
    let _ = OUTPUTS;
    count
}

#[test]
fn random_cuda_kernels_compute_the_same() {
    let count = random_kernels(Language::Cuda);
    assert!(count.offered > count.kernels, "{count:?}");
    assert!(count.compared * 10 > count.runs * 9, "{count:?}");
    assert!(count.infinite * 100 <= count.runs, "{count:?}");
    assert!(count.faster * 8 > count.runs, "{count:?}");
}

#[test]
fn random_hlsl_kernels_compute_the_same() {
    let count = random_kernels(Language::Hlsl);
    assert!(count.offered > count.kernels, "{count:?}");
    assert!(count.compared * 10 > count.runs * 9, "{count:?}");
    assert!(count.infinite * 100 <= count.runs, "{count:?}");
    assert!(count.faster * 8 > count.runs, "{count:?}");
}

#[allow(clippy::disallowed_methods)]
fn fixtures(folder: &str, language: Language, least: u64) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures")
        .join(folder);
    let entries = std::fs::read_dir(&folder).expect("the fixtures are there");
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let mut count = Count::default();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a fixture is text");
        let what = file.display().to_string();
        let (modules, _) = lowered(&text, language);
        let assembly = modules.iter().any(|module| {
            module.functions.iter().any(|f| {
                f.insts
                    .values()
                    .any(|data| matches!(data.op, ir::Op::Asm { .. } | ir::Op::CallUnknown { .. }))
            })
        });
        let found = versions(&text, language, &mut count, &what, 1, FREE);
        if assembly {
            continue;
        }
        let original = Original::new(&text, language, &[1, 2, 3]);
        for after in found {
            original.judge(&after, 0..3, &mut count, &what);
        }
    }
    println!("{}: {count:?}", folder.display());
    assert!(count.offered >= least, "{count:?}");
    assert!(count.faster > 0, "{count:?}");
}

#[test]
fn fixtures_in_hlsl_compute_the_same() {
    fixtures("hlsl", Language::Hlsl, 12);
}

#[test]
fn fixtures_in_cuda_compute_the_same() {
    fixtures("cuda", Language::Cuda, 12);
}
