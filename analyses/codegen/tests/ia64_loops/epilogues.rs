//! Every loop with an explicit epilogue has the results of the reference interpreter, for each trip count
//! from 0 up, shorter than the pipeline is long or not. The report's cycles are printed beside what the
//! simulator counts.

use super::{MACHINES, loops};
use crate::assembler::{assembled, assembler};
use crate::judge::{agrees, interpreted};
use lockstep_codegen::machine;
use lockstep_codegen::target::ia64::emit::{Emitted, Options, emit};
use lockstep_codegen::target::ia64::pipeline::{self, Epilogue, Reason};
use simulate::ia64::Limits;

/// Elements.
const MOST: u64 = 50;

fn emitted(
    looped: &loops::Loop,
    machine: &str,
    epilogue: Epilogue,
    unroll: Option<u32>,
) -> Emitted {
    let table = machine::named(machine).expect("a table");
    let options = Options {
        pipeline: Some(pipeline::Options {
            epilogue,
            unroll,
            always: true,
            ..pipeline::Options::default()
        }),
        ..Options::default()
    };
    let epic = table.epic().expect("explicit groups");
    emit(&looped.module, epic, &options).unwrap_or_else(|why| panic!("{}: {why:?}", looped.name))
}

#[test]
fn explicit_epilogues_compute_the_same() {
    let (mut runs, mut drained, mut kept) = (0, 0, 0);
    let (mut bundles, mut said, mut counted) = (0, 0, 0);
    let mut text = String::new();
    for (number, each) in loops::loops().iter().enumerate() {
        let machine = MACHINES[number % 2];
        let unroll = [Some(1), Some(1), None, Some(2), Some(3)][number % 5];
        let code = emitted(each, machine, Epilogue::Explicit, unroll);
        for report in code.functions.iter().flat_map(|function| &function.loops) {
            let why = report.reasons.iter();
            let why = why.filter(|why| matches!(why, Reason::Epilogue(_))).count();
            let explicit = usize::from(report.epilogue.is_some());
            assert_eq!(explicit + why, usize::from(report.pipelined), "{report:#?}");
            (drained, kept) = (drained + explicit, kept + why);
        }
        for n in 0..=MOST {
            let kernel = each.kernel(n, n % 2);
            let expected = interpreted(&kernel, &each.module);
            let limits = Limits::default();
            let outcome = agrees(&kernel, &kernel.name, &expected, &code.text, &limits);
            if let Err(why) = outcome {
                panic!("{}, n = {n}: {why}\n{}", each.name, code.text);
            }
            runs += 1;
        }
        if let [report] = &code.functions[0].loops[..]
            && let (Some(drain), true) = (report.epilogue, each.is_single())
        {
            let other = emitted(each, machine, Epilogue::Kernel, unroll);
            let cycles = |code: &Emitted| each.cycles(machine, &code.text, MOST) as i64;
            let fewer = cycles(&other) - cycles(&code);
            let estimate = i64::from(drain.rounds) - i64::from(drain.cycles);
            if std::env::var("LOCKSTEP_EPILOGUES").is_ok() {
                println!(
                    "{}: II {:?}, {} stages, {drain:?}: {estimate} fewer said, {fewer} simulated",
                    each.name, report.ii, report.stages
                );
            }
            bundles += drain.bundles;
            said += estimate;
            counted += fewer;
        }
        text.push_str(&code.text);
    }
    println!(
        "{runs} runs agree; {drained} explicit epilogues, {kept} kernels that drain themselves; functions of one loop: {bundles} bundles more, {said} cycles fewer said, {counted} simulated"
    );
    assert!(drained >= 40, "{drained}");
    if let Some(assembler) = assembler() {
        let said = assembled(&assembler, &text);
        assert_eq!(said.lines().take(8).collect::<Vec<_>>(), [""; 0]);
    }
}
