//! Edits of source that keep less in registers, against the interpreter: the rewritten kernel computes the
//! same as the original, bit for bit, wherever the peak is said to be.
//!
//! `LOCKSTEP_PRESSURE_PROGRAMS=N` makes N random kernels instead of the default number, `LOCKSTEP_PRESSURE_FIRST=N` starts at
//! another seed. Of each kernel every variable is rewritten alone and all together, for several random places of the peak.

#[path = "source_pressure/generate.rs"]
mod generate;
#[path = "support/read.rs"]
mod read;

use facts::{Options, Scope, analyze_module};
use generate::{Language, kernel};
use ir::lower::c_family::visit;
use ir::{Module, SymbolKind};
use lockstep_codegen::specialize::source::pressure::{
    Kernel, Kind, Refusal, Rewriting, Subject, check, rewrite, subjects,
};
use lockstep_codegen::specialize::source::{Source, functions_of};
use oracle::interp::{self, Buffer, Launch, Outcome};
use oracle::random::Random;
use read::{Read, read};
use std::collections::BTreeMap;
use syntax::Span;
use syntax::c_family::ast::FunctionBody;

const PROGRAMS: u64 = 120;
/// Places of the peak that are tried in each kernel.
const PEAKS: usize = 3;

const fn ir_language(language: Language) -> ir::Language {
    match language {
        Language::Cuda => ir::Language::Cuda,
        Language::Hlsl => ir::Language::Hlsl,
    }
}

#[derive(Default, Debug)]
struct Count {
    kernels: u64,
    made: BTreeMap<&'static str, u64>,
    refused: BTreeMap<(&'static str, &'static str), u64>,
    runs: u64,
}

fn launch(module: &Module, block: [u32; 3], seed: u64) -> Launch {
    let function = &module.functions[0];
    let mut launch = Launch::for_function(function, block.iter().product(), seed);
    launch.block = block;
    launch.grid = [2, 1, 1];
    launch.default_bytes = 16 << 10;
    launch.limits.steps = 2_000_000;
    launch.shuffle_warps = seed.is_multiple_of(2);
    launch.reverse_groups = seed.is_multiple_of(3);
    let floats = |slot: u64| {
        let of = move |at: u64| {
            let mut random = Random::new(seed ^ (slot << 40) ^ at);
            (random.below(64) as f32 - 24.0) / 8.0
        };
        Buffer::of_f32((0..4096).map(of))
    };
    for (slot, buffer) in (0..).zip(&mut launch.buffers) {
        *buffer = floats(slot);
    }
    for (at, symbol) in function.symbols.values().enumerate() {
        if symbol.kind == SymbolKind::Buffer {
            launch
                .bindings
                .push((symbol.name.clone(), launch.buffers.len()));
            launch.buffers.push(floats(100 + at as u64));
        }
    }
    launch
}

fn same(before: &Outcome, after: &Outcome) -> Result<(), String> {
    if before.error.is_some() || after.error.is_some() {
        return Err(format!("{:?} and {:?}", before.error, after.error));
    }
    // What the edit adds comes behind the buffers of the original.
    for (number, (a, b)) in before.buffers.iter().zip(&after.buffers).enumerate() {
        for (word, (a, b)) in a.words().into_iter().zip(b.words()).enumerate() {
            if a != b {
                return Err(format!("buffer {number}, word {word}: {a:#x} and {b:#x}"));
            }
        }
    }
    Ok(())
}

/// All lanes of a warp execute every statement together.
fn together(facts: &facts::FunctionFacts) -> bool {
    let uniform = |at: Option<Scope>| at.is_some_and(|scope| scope >= Scope::Subgroup);
    facts.branches.iter().all(|each| uniform(each.uniform_at))
        && facts.loops.iter().all(|each| uniform(each.uniform_at))
}

struct Case<'a> {
    text: &'a str,
    language: Language,
    block: [u32; 3],
    read: &'a Read,
    module: &'a Module,
    runs: &'a [(Launch, Outcome)],
    what: String,
}

impl Case<'_> {
    fn source(&self) -> (usize, Source<'_>) {
        let number = self.read.parsed.iter().position(|(_, _, item)| {
            functions_of(item).iter().any(|each| {
                matches!(&each.name, syntax::c_family::ast::FunctionName::Plain(name)
                    if name.segments.iter().any(|s| s.ident.name == "kernel"))
            })
        });
        let number = number.expect("there is a kernel");
        let (start, _, item) = &self.read.parsed[number];
        let source = Source::new(
            item,
            &self.read.unit.items[number].tokens,
            self.text,
            *start,
            &self.read.environment,
            &self.read.bodies,
            ir_language(self.language),
        );
        (number, source)
    }

    fn judge(&self, kind: Kind, made: &Rewriting, count: &mut Count) {
        let after = made.applied(self.text).expect("edits do not overlap");
        let names: Vec<&str> = made.names.iter().map(|name| name.as_str()).collect();
        if let Err(violation) = check::check(kind, self.text, &after, &names) {
            panic!("{}: {violation}\n{}\n---\n{after}", self.what, self.text);
        }
        let (modules, problems) = read(&after, ir_language(self.language)).lowered();
        assert_eq!(problems, 0, "{}\n{after}", self.what);
        assert_eq!(modules.len(), 1, "{}\n{after}", self.what);
        for (launch, first) in self.runs {
            let second = interp::run(&modules[0], launch);
            count.runs += 1;
            if let Err(why) = same(first, &second) {
                panic!(
                    "{}, seed {}: {why}\n{}\n---\n{after}",
                    self.what, launch.seed, self.text
                );
            }
        }
    }

    fn rewritten(&self, random: &mut Random, count: &mut Count) {
        let (number, source) = self.source();
        let item = &self.read.parsed[number].2;
        let function = functions_of(item)[0];
        let FunctionBody::Block(body) = &function.body else {
            panic!("a kernel has a body");
        };
        let mut places: Vec<Span> = Vec::new();
        visit::block(body, &mut |e| places.push(e.span));
        let options = Options::default();
        let facts = &analyze_module(self.module, &options)[0];
        let mut all = subjects(&self.module.functions[0], facts);
        // Who lives there decides what pays, and must not matter to what is right.
        all.iter_mut().for_each(|each| each.live = true);
        for _ in 0..PEAKS {
            let peak = places[random.below(places.len() as u32) as usize];
            let kernel = Kernel {
                peak,
                groups: true,
                threads: Some(self.block.iter().product()),
                flat: self.block[1] * self.block[2] == 1,
                warp: 32,
                scalar: random.below(2) == 0,
                together: together(facts),
            };
            for kind in Kind::ALL {
                let mut sets: Vec<Vec<Subject>> = vec![all.clone()];
                if !kind.is_of_loop() {
                    sets.extend(all.iter().map(|each| vec![each.clone()]));
                }
                for set in sets {
                    match rewrite(&source, function, kind, &set, &all, kernel) {
                        Ok(made) => {
                            *count.made.entry(kind.id()).or_default() += 1;
                            self.judge(kind, &made, count);
                        }
                        Err(Refusal::Check(why)) => panic!("{}: {why}", self.what),
                        Err(refusal) => {
                            let key = (kind.id(), refusal.name());
                            *count.refused.entry(key).or_default() += 1;
                        }
                    }
                }
            }
        }
    }
}

fn random_kernels(language: Language) -> Count {
    // A test may be asked for more by its environment.
    #[allow(clippy::disallowed_methods)]
    let number = |name: &str, otherwise: u64| {
        let given = std::env::var(name).ok();
        given
            .and_then(|text| text.parse().ok())
            .unwrap_or(otherwise)
    };
    let first = number("LOCKSTEP_PRESSURE_FIRST", 0);
    let programs = number("LOCKSTEP_PRESSURE_PROGRAMS", PROGRAMS);
    let mut count = Count::default();
    for seed in first..first + programs {
        let (text, block) = kernel(seed, language);
        let read = read(&text, ir_language(language));
        let (modules, problems) = read.lowered();
        assert_eq!((modules.len(), problems), (1, 0), "kernel {seed}\n{text}");
        let module = &modules[0];
        let of_seed = |seed: u64| {
            let launch = launch(module, block, seed);
            let outcome = interp::run(module, &launch);
            (launch, outcome)
        };
        let runs: Vec<(Launch, Outcome)> = [seed, seed ^ 1].map(of_seed).into();
        let case = Case {
            text: &text,
            language,
            block,
            read: &read,
            module,
            runs: &runs,
            what: format!("kernel {seed}"),
        };
        count.kernels += 1;
        case.rewritten(&mut Random::new(seed), &mut count);
    }
    println!("{language:?}: {count:#?}");
    count
}

#[test]
fn random_cuda_kernels_compute_the_same() {
    let count = random_kernels(Language::Cuda);
    for kind in Kind::ALL {
        let made = count.made.get(kind.id()).copied().unwrap_or(0);
        assert!(made * 8 > count.kernels, "{}: {count:?}", kind.id());
    }
}

#[test]
fn random_hlsl_kernels_compute_the_same() {
    let count = random_kernels(Language::Hlsl);
    for kind in Kind::ALL {
        let made = count.made.get(kind.id()).copied().unwrap_or(0);
        assert!(made * 8 > count.kernels, "{}: {count:?}", kind.id());
    }
}
