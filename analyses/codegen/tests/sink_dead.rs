//! Statements that are moved to where they are read, against the interpreter: the rewritten function computes
//! the same as the original, and executes the statement exactly as often as predicted, where the profile has
//! whole ways.
//!
//! `LOCKSTEP_SUNK_PROGRAMS=N` makes N random functions of each language instead of the default number, `LOCKSTEP_SUNK_FIRST=N`
//! starts at another seed. Every statement of each is tried, with the profile of its run and without.
//! `LOCKSTEP_PUBLIC_SOURCES=DIR` tries every statement of the C, CUDA and HLSL files under a directory, each by itself, and
//! `LOCKSTEP_SUNK_OUT=DIR` leaves the rewritten files there, `NUMBER-NAME`.

#[path = "sink_dead/generate.rs"]
mod generate;
#[path = "support/judged.rs"]
mod judged;
#[path = "sink_dead/launch.rs"]
mod launch;
#[path = "support/read.rs"]
mod read;
#[path = "sink_dead/shapes.rs"]
mod shapes;

use facts::partial_dead::Prices;
use generate::kernel;
use ir::Language;
use judged::{Recorder, applied, compared, item_of, judged, own, same, setting, source_slice};
use launch::launch;
use lockstep_codegen::specialize::source::sink_dead::{
    Candidate, Counts, Plan, Recorded, Refusal, Terms, candidates, plan,
};
use lockstep_codegen::specialize::source::{Source, functions_of};
use oracle::interp::{self, Launch, Outcome};
use read::{Read, read};
use std::collections::BTreeMap;
use syntax::Span;

const PROGRAMS: u64 = 100;

#[derive(Default, Debug)]
struct Count {
    functions: u64,
    plans: u64,
    flagged: u64,
    exact: u64,
    removed: i64,
    refused: BTreeMap<&'static str, u64>,
}

fn name_of(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Function(_) => "function",
        Refusal::NoStatement => "no statement",
        Refusal::NotLocal(_) => "not local",
        Refusal::Macro(_) => "macro",
        Refusal::Escapes(_) | Refusal::Operand { .. } => "escapes",
        Refusal::List(_) => "list",
        Refusal::Effect { .. } => "effect",
        Refusal::Cheap { .. } => "cheap",
        Refusal::Part(_) => "part",
        Refusal::Several(_) => "several",
        Refusal::OfItself(_) => "of itself",
        Refusal::Trivial(_) => "trivial",
        Refusal::ManyCopies { .. } => "many copies",
        Refusal::InSwitch(_) => "in a switch",
        Refusal::Graph(_) => "graph",
        Refusal::ManyWays(_) => "many ways",
        Refusal::ReadOnEachWay(_) => "read on each way",
        Refusal::AlwaysRead { .. } => "always read",
        Refusal::Apart(_) => "apart",
        Refusal::NoPlace(_) => "no place",
        Refusal::Directive(_) => "directive",
        Refusal::Shadowed { .. } => "shadowed",
        Refusal::MustHaveValue(_) => "must have a value",
        Refusal::Check(_) => "check",
    }
}

struct Case<'a> {
    what: String,
    text: &'a str,
    language: Language,
    read: &'a Read,
    launch: &'a Launch,
    outcome: &'a Outcome,
    recorder: &'a Recorder<'a>,
}

impl Case<'_> {
    fn judge(&self, source: &Source<'_>, candidate: &Candidate, plan: &Plan, count: &mut Count) {
        let after = applied(self.text, &plan.edits);
        let shown = || {
            format!(
                "{}, `{}`\n{}\n---\n{after}",
                self.what, candidate.name, self.text
            )
        };
        let again = read(&after, self.language);
        let (mut modules, problems) = again.lowered();
        modules.retain(|module| module.functions[0].name == "kernel");
        assert_eq!((modules.len(), problems), (1, 0), "{}", shown());
        let number = item_of(&again);
        let new = again.source(&after, number);
        let verdict = judged(source, self.text, &new, &after);
        if let Err(violation) = verdict {
            panic!("{violation}: {}", shown());
        }
        let mut recorder = Recorder::new(&modules[0]);
        let outcome = interp::run_with(&modules[0], self.launch, &mut recorder, &());
        if let Err(why) = same(self.outcome, &outcome) {
            panic!("{why}: {}", shown());
        }
        let before = self.recorder.set_at(&[candidate.place]);
        // The copies, wherever they came to stand.
        let value = source_slice(source, self.text, candidate.value);
        let head = format!("{} = {value};", candidate.name);
        let start = again.parsed[number].0;
        let copies: Vec<Span> = after
            .match_indices(&head)
            .map(|(at, _)| Span::at(at as u32 - start))
            .map(|at| Span::new(at.start, at.start + candidate.name.len() as u32))
            .collect();
        if self.text.matches(&head).count() == 1 {
            let executed = recorder.set_at(&copies);
            assert!(executed <= before, "more often: {}", shown());
            if let Counts::Profiled { walked, whole } = plan.counts
                && (whole || !plan.flagged)
            {
                let counted = (walked.before, walked.executed);
                assert_eq!((before, executed), counted, "{walked:?} {}", shown());
                count.exact += 1;
            }
        }
        if let Counts::Profiled { walked, .. } = plan.counts {
            count.removed += walked.removed();
        }
        count.plans += 1;
        count.flagged += u64::from(plan.flagged);
    }
}

fn random_functions(language: Language) -> Count {
    let first = setting("LOCKSTEP_SUNK_FIRST", 0);
    let programs = setting("LOCKSTEP_SUNK_PROGRAMS", PROGRAMS);
    let mut count = Count::default();
    for seed in first..first + programs {
        let text = kernel(seed, language);
        let read = read(&text, language);
        let (mut modules, problems) = read.lowered();
        modules.retain(|module| module.functions[0].name == "kernel");
        assert_eq!((modules.len(), problems), (1, 0), "function {seed}\n{text}");
        let module = &modules[0];
        let launch = launch(module, language, seed, 24);
        let mut recorder = Recorder::new(module);
        let outcome = interp::run_with(module, &launch, &mut recorder, &());
        let number = item_of(&read);
        let source = read.source(&text, number);
        let function = own(&read.parsed[number].2).expect("it is there");
        let case = Case {
            what: format!("function {seed}"),
            text: &text,
            language,
            read: &read,
            launch: &launch,
            outcome: &outcome,
            recorder: &recorder,
        };
        count.functions += 1;
        let recorded = Recorded {
            function: &module.functions[0],
            numbers: &recorder.numbers,
            profile: &recorder.profile,
        };
        for candidate in candidates(function) {
            let usual = Prices {
                statement: 6.0,
                suppressed: 1.0,
                predicate: 1.0,
            };
            // Flags cost next to nothing.
            let dear = Prices {
                statement: 100.0,
                suppressed: 0.1,
                predicate: 0.0,
            };
            for (recorded, prices) in [
                (Some(recorded), usual),
                (Some(recorded), dear),
                (None, usual),
            ] {
                let terms = Terms {
                    recorded,
                    prices,
                    parts_lanes: &|_| false,
                };
                match plan(&source, function, &candidate, &terms) {
                    Ok(made) => case.judge(&source, &candidate, &made, &mut count),
                    Err(refusal) => *count.refused.entry(name_of(&refusal)).or_default() += 1,
                }
            }
        }
        assert!(!case.read.parsed.is_empty());
    }
    println!("{language:?}: {count:#?}");
    count
}

#[test]
fn random_c_functions_compute_the_same() {
    let count = random_functions(Language::C);
    // A function of one lane is executed once: few of its ways are frequent enough for a flag.
    assert!(count.plans > count.functions, "{count:?}");
}

#[test]
fn random_cuda_kernels_compute_the_same() {
    let count = random_functions(Language::Cuda);
    assert!(
        count.plans > count.functions && count.flagged > 0,
        "{count:?}"
    );
    assert!(count.exact > 0, "{count:?}");
}

#[test]
fn random_hlsl_kernels_compute_the_same() {
    let count = random_functions(Language::Hlsl);
    assert!(
        count.plans > count.functions && count.flagged > 0,
        "{count:?}"
    );
}

/// Files of a directory by their language.
// A test may be asked for more by its environment.
#[allow(clippy::disallowed_methods)]
fn files(directory: &std::path::Path, out: &mut Vec<(std::path::PathBuf, Language)>) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    let mut entries: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        let language = match path.extension().and_then(|end| end.to_str()) {
            _ if path.is_dir() => {
                files(&path, out);
                continue;
            }
            Some("c") => Language::C,
            Some("cu" | "cuh") => Language::Cuda,
            Some("hlsl") => Language::Hlsl,
            _ => continue,
        };
        out.push((path, language));
    }
}

#[test]
#[allow(clippy::disallowed_methods)]
fn public_statements_do_the_same() {
    let Some(directory) = std::env::var_os("LOCKSTEP_PUBLIC_SOURCES") else {
        return;
    };
    let out = std::env::var_os("LOCKSTEP_SUNK_OUT").map(std::path::PathBuf::from);
    let mut found = Vec::new();
    files(directory.as_ref(), &mut found);
    let (mut functions, mut statements, mut made) = (0u64, 0u64, 0u64);
    let mut refused: BTreeMap<&'static str, u64> = BTreeMap::new();
    for (path, language) in found {
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let read = read(&text, language);
        for number in 0..read.parsed.len() {
            let source = read.source(&text, number);
            for (at, function) in functions_of(&read.parsed[number].2).into_iter().enumerate() {
                functions += 1;
                for candidate in candidates(function) {
                    statements += 1;
                    let terms = Terms {
                        recorded: None,
                        prices: Prices {
                            statement: 6.0,
                            suppressed: 1.0,
                            predicate: 1.0,
                        },
                        parts_lanes: &|_| false,
                    };
                    let plan = match plan(&source, function, &candidate, &terms) {
                        Ok(plan) => plan,
                        Err(refusal) => {
                            *refused.entry(name_of(&refusal)).or_default() += 1;
                            continue;
                        }
                    };
                    made += 1;
                    let after = applied(&text, &plan.edits);
                    let again = self::read::read(&after, language);
                    let new = again.source(&after, number);
                    let new_function = functions_of(new.item)[at];
                    let verdict = compared(&source, &text, function, &new, &after, new_function);
                    let line = text[..(source.start + candidate.stmt.start) as usize]
                        .matches('\n')
                        .count();
                    println!("{}:{}: `{}`", path.display(), line + 1, candidate.name);
                    if let Err(violation) = verdict {
                        panic!("{violation}: {}", path.display());
                    }
                    if let Some(out) = &out {
                        let name = path.file_name().unwrap_or_default().to_string_lossy();
                        let written = std::fs::write(out.join(format!("{made}-{name}")), &after);
                        written.expect("a file");
                    }
                }
            }
        }
    }
    println!("{functions} functions, {statements} statements, {made} moved: {refused:#?}");
}
