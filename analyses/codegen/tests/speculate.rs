//! Expressions that are evaluated ahead, against the interpreter: the rewritten function computes the same as
//! the original, and evaluates the expression exactly as often as predicted.
//!
//! `LOCKSTEP_SPECULATED_PROGRAMS=N` makes N random functions of each language instead of the default number,
//! `LOCKSTEP_SPECULATED_FIRST=N` starts at another seed.

#[path = "speculate/generate.rs"]
mod generate;
#[path = "support/judged.rs"]
mod judged;
#[path = "sink_dead/launch.rs"]
mod launch;
#[path = "support/read.rs"]
mod read;
#[path = "speculate/shapes.rs"]
mod shapes;

use facts::paths::bounds::EdgeCounts;
use generate::{EXPRESSIONS, kernel};
use ir::Language;
use judged::{Recorder, applied, item_of, judged, own, same, setting};
use launch::launch;
use lockstep_codegen::specialize::source::sink_dead::Recorded;
use lockstep_codegen::specialize::source::speculate::{Terms, candidates, plan};
use oracle::interp;
use read::read;
use std::collections::BTreeMap;
use syntax::Span;

const PROGRAMS: u64 = 60;

/// The names of the variables that statements of a text set to an expression: relative to the item.
fn set_to(text: &str, expression: &str, start: u32) -> Vec<Span> {
    let behind = format!(" = {expression};");
    let names = text.match_indices(&behind).map(|(at, _)| {
        let name = text[..at].rfind(|c: char| !c.is_ascii_alphanumeric());
        Span::new(name.map_or(0, |at| at as u32 + 1), at as u32)
    });
    names
        .map(|span| Span::new(span.start - start, span.end - start))
        .collect()
}

#[derive(Default, Debug)]
struct Count {
    functions: u64,
    plans: u64,
    before: u64,
    after: u64,
    refused: BTreeMap<String, u64>,
}

fn random_functions(language: Language) -> Count {
    let first = setting("LOCKSTEP_SPECULATED_FIRST", 0);
    let programs = setting("LOCKSTEP_SPECULATED_PROGRAMS", PROGRAMS);
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
        count.functions += 1;
        // Counts of edges are enough: of every second function there are no others.
        let profile = match seed % 2 {
            1 => EdgeCounts::of(&recorder.profile, &recorder.numbers)
                .some_paths(&recorder.numbers)
                .expect("counts of whole runs"),
            _ => recorder.profile.clone(),
        };
        let terms = Terms {
            recorded: Some(Recorded {
                function: &module.functions[0],
                numbers: &recorder.numbers,
                profile: &profile,
            }),
            parts_lanes: &|_| false,
            wraps: true,
            least_work: 0,
            most: 100,
        };
        let mut done = Vec::new();
        for place in candidates(&source, function) {
            let plan = match plan(&source, function, place, &terms) {
                Ok(plan) => plan,
                Err(refusal) => {
                    let name = format!("{refusal:?}");
                    let name = name.split(['(', ' ']).next().unwrap_or("").to_owned();
                    *count.refused.entry(name).or_default() += 1;
                    continue;
                }
            };
            if done.contains(&plan.edits) {
                continue;
            }
            done.push(plan.edits.clone());
            let after = applied(&text, &plan.edits);
            let shown = || format!("function {seed}, `{}`\n{text}\n---\n{after}", plan.text);
            let again = read::read(&after, language);
            let (mut modules, problems) = again.lowered();
            modules.retain(|module| module.functions[0].name == "kernel");
            assert_eq!((modules.len(), problems), (1, 0), "{}", shown());
            let number = item_of(&again);
            let new = again.source(&after, number);
            if let Err(violation) = judged(&source, &text, &new, &after) {
                panic!("{violation}: {}", shown());
            }
            let mut second = Recorder::new(&modules[0]);
            let outcome_after = interp::run_with(&modules[0], &launch, &mut second, &());
            if let Err(why) = same(&outcome, &outcome_after) {
                panic!("{why}: {}", shown());
            }
            count.plans += 1;
            count.before += plan.before;
            count.after += plan.after;
            // Parts of them stand in more places than are counted here.
            let whole = EXPRESSIONS.iter().map(|text| text.replace("fmaxf", "max"));
            if !EXPRESSIONS.contains(&plan.text.as_str())
                && !whole.into_iter().any(|text| text == plan.text)
            {
                continue;
            }
            let evaluated = |recorder: &Recorder<'_>, text: &str, start| {
                recorder.set_at(&set_to(text, &plan.text, start))
            };
            let old = evaluated(&recorder, &text, source.start);
            let now = evaluated(&second, &after, new.start);
            assert_eq!(
                (old - now, plan.before > plan.after),
                (plan.before - plan.after, true),
                "{old} {now} {plan:?} {}",
                shown()
            );
        }
    }
    println!("{language:?}: {count:#?}");
    count
}

#[test]
fn random_functions_compute_the_same_with_fewer_evaluations() {
    for language in [Language::C, Language::Cuda, Language::Hlsl] {
        let count = random_functions(language);
        assert!(count.plans * 10 > count.functions, "{count:?}");
        assert!(count.after < count.before, "{count:?}");
    }
}
