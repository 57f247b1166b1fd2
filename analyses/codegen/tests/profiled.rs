//! Functions that a profile of their run transforms, against the interpreter: they compute the same, and each
//! block is executed exactly as often as predicted.
//!
//! `LOCKSTEP_PROFILED_PROGRAMS=N` makes N random functions of each language instead of the default number,
//! `LOCKSTEP_PROFILED_FIRST=N` starts at another seed.

#[path = "sink_dead/generate.rs"]
mod generate;
#[path = "support/judged.rs"]
#[allow(dead_code)]
mod judged;
#[path = "sink_dead/launch.rs"]
mod launch;
#[path = "support/ptx_programs.rs"]
mod ptx_programs;
#[path = "support/read.rs"]
mod read;
#[path = "versioned_ptx/sparse.rs"]
mod sparse;
#[path = "soundness_ptx/text/mod.rs"]
mod text;

use facts::paths::bounds::EdgeCounts;
use facts::paths::{PathGraph, PathNumbers};
use generate::kernel;
use ir::entity::Entity;
use ir::{Language, Module};
use judged::{Recorder, same};
use launch::launch;
use lockstep_codegen::machine::named;
use lockstep_codegen::profiled::{Processor, Terms, transform};
use oracle::interp::{self, Launch};
use ptx_programs::{is_settled, printed, random_text, setting};
use read::read;

const PROGRAMS: u64 = 150;

#[derive(Default, Debug)]
struct Count {
    functions: u64,
    moved: u64,
    flagged: u64,
    before: u64,
    executed: u64,
    suppressed: u64,
    tested: u64,
    speculated: u64,
    evaluated_before: u64,
    evaluated_after: u64,
    loads: u64,
    ahead: u64,
}

/// Transforms a module's first function by the profile of a run, and runs it again.
fn judge(module: &Module, launch: &Launch, seed: u64, ahead: bool, what: &str, count: &mut Count) {
    let table = named("itanium2").expect("it is built in");
    let processor = Processor::new(table.epic().expect("it has groups"));
    let mut recorder = Recorder::new(module);
    let outcome = interp::run_with(module, launch, &mut recorder, &());
    if outcome.error.is_some() {
        return;
    }
    let function = &module.functions[0];
    // What depends on edges alone needs no counts of paths: of every second function there are none.
    let edges_alone = seed % 2 == 1;
    let profile = match edges_alone {
        true => EdgeCounts::of(&recorder.profile, &recorder.numbers)
            .some_paths(&recorder.numbers)
            .expect("counts of whole runs"),
        false => recorder.profile.clone(),
    };
    let terms = Terms {
        sinks: !edges_alone,
        flags: true,
        redundant: true,
        ahead,
        least: f64::NEG_INFINITY,
        altogether: f64::NEG_INFINITY,
        pipelined: &[],
    };
    let after = transform(function, &recorder.numbers, &profile, &processor, terms);
    let after = after.expect("the counts are those of the function");
    count.functions += 1;
    let mut new = Module::clone(module);
    new.functions[0] = after.function.clone();
    let shown = || {
        format!(
            "{what}\n{:?}\n{:?}\n{}\n---\n{}",
            after.speculated,
            after.sunk,
            ir::text::print(function),
            ir::text::print(&after.function)
        )
    };
    if let Err(errors) = ir::verify::verify_module(&new) {
        panic!("{errors:?}: {}", shown());
    }
    let mut second = Recorder::new(&new);
    let outcome_after = interp::run_with(&new, launch, &mut second, &());
    if let Err(why) = same(&outcome, &outcome_after) {
        panic!("{why}: {}", shown());
    }
    let nodes = second.profile.nodes(&second.numbers);
    for &block in &after.function.layout {
        let at = block.index();
        assert_eq!(nodes[at], after.executions[at], "{block}: {}", shown());
    }
    for speculated in &after.speculated {
        count.speculated += 1;
        count.loads += u64::from(speculated.is_load);
        count.ahead += u64::from(speculated.is_speculative);
        count.evaluated_before += speculated.before;
        count.evaluated_after += speculated.after;
    }
    // Later changes move evaluations, and divide blocks.
    if after.sunk.is_empty()
        && let Some(last) = after.speculated.last()
    {
        let evaluated: u64 = last.blocks.iter().map(|it| nodes[it.index()]).sum();
        assert_eq!(evaluated, last.after, "{last:?}: {}", shown());
    }
    for sunk in &after.sunk {
        let executed: u64 = sunk.blocks.iter().map(|it| nodes[it.index()]).sum();
        assert_eq!(executed, sunk.executed, "{sunk:?}: {}", shown());
        // A flag is tested in front of its copy; where it is false, the copy is not executed.
        let tested = |block: &ir::Block| {
            let blocks = &after.function.blocks;
            let mut heads = after.function.layout.iter().filter(|&&head| {
                matches!(&blocks[head].terminator, ir::Terminator::Branch { then, .. } if then.block == *block)
            });
            (sunk.flagged == sunk.blocks.len())
                .then(|| heads.next().map(|head| nodes[head.index()]))
                .flatten()
        };
        let all: Option<Vec<u64>> = sunk.blocks.iter().map(tested).collect();
        if let Some(all) = all.filter(|all| !all.is_empty()) {
            let suppressed = all.iter().sum::<u64>() - executed;
            assert_eq!(suppressed, sunk.suppressed, "{sunk:?}: {}", shown());
            count.tested += 1;
        }
        count.moved += 1;
        count.flagged += u64::from(sunk.flagged > 0);
        count.before += sunk.before;
        count.executed += sunk.executed;
        count.suppressed += sunk.suppressed;
    }
}

fn random_functions(language: Language) -> Count {
    let first = setting("LOCKSTEP_PROFILED_FIRST", 0);
    let programs = setting("LOCKSTEP_PROFILED_PROGRAMS", PROGRAMS);
    let mut count = Count::default();
    for seed in first..first + programs {
        let text = kernel(seed, language);
        let read = read(&text, language);
        let (mut modules, _) = read.lowered();
        modules.retain(|module| module.functions[0].name == "kernel");
        let module = &modules[0];
        let launch = launch(module, language, seed, 24);
        let what = format!("function {seed} in {language:?}\n{text}");
        judge(
            module,
            &launch,
            seed,
            language == Language::C,
            &what,
            &mut count,
        );
    }
    println!("{language:?}: {count:#?}");
    count
}

#[test]
fn random_functions_compute_the_same_and_execute_what_is_predicted() {
    for language in [Language::C, Language::Cuda, Language::Hlsl] {
        let count = random_functions(language);
        assert!(count.moved * 4 > count.functions, "{count:?}");
        assert!(
            count.executed < count.before && count.tested > 0,
            "{count:?}"
        );
    }
}

/// Random text, text that is printed from random IR, and kernels with many zeros.
#[test]
fn random_ptx_computes_the_same_and_executes_what_is_predicted() {
    let first = setting("LOCKSTEP_PROFILED_FIRST", 0);
    let mut count = Count::default();
    for seed in first..first + setting("LOCKSTEP_PROFILED_PROGRAMS", PROGRAMS) {
        let texts = [
            Some(random_text(seed)),
            printed(seed),
            Some(sparse::source(seed)),
        ];
        for (text, launch) in texts.into_iter().flatten() {
            let Some(module) = ptx_programs::kernel(&text) else {
                continue;
            };
            let numbered = PathNumbers::new(PathGraph::of(&module.functions[0])).is_ok();
            if numbered && is_settled(&text, &module) {
                let what = format!("text {seed}\n{text}");
                judge(&module, &launch, seed, false, &what, &mut count);
            }
        }
    }
    println!("PTX: {count:?}");
    assert!(count.moved > 0 && count.speculated > 0, "{count:?}");
}
