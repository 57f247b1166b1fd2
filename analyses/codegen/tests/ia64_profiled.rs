//! IA-64 code of functions that a profile of their run transformed, in the simulator: the results of the interpreter, loops
//! pipelined and branches if-converted or not.
//!
//! `LOCKSTEP_C_KERNELS=N` makes N random kernels instead of the default number, `LOCKSTEP_FIRST=N` starts at another seed.

#[path = "sink_dead/generate.rs"]
mod generate;
#[path = "support/judge.rs"]
mod judge;
#[path = "support/judged.rs"]
#[allow(dead_code)]
mod judged;
#[path = "support/read.rs"]
mod read;
#[path = "sink_dead/zeros.rs"]
mod zeros;

use facts::paths::{PathGraph, PathNumbers};
use ir::{Block, Module};
use judge::{agrees, launched, module_of};
use judged::{Recorder, setting};
use lockstep_codegen::machine::{Table, named};
use lockstep_codegen::profiled::{Processor, SkipProfile, Terms, skip, transform};
use lockstep_codegen::target::ia64::emit::{Options, emit, examine};
use lockstep_codegen::target::ia64::pipeline;
use oracle::interp;
use oracle::random::c::{Argument, Buffer, Kernel, Parameter, Scalar, kernel};
use simulate::ia64::Limits;

const KERNELS: u64 = 80;

#[derive(Default, Debug)]
struct Count {
    kernels: u64,
    changed: u64,
    judged: u64,
    speculated: u64,
    sunk: u64,
    flagged: u64,
    /// Functions with loads that are speculative outside of pipelined loops.
    ahead: u64,
    /// Functions with loads that are skipped where a value is zero.
    skipped: u64,
}

/// The headers of loops that are pipelined.
fn pipelined(table: &Table, module: &Module, options: &Options) -> Vec<Block> {
    let epic = table.epic().expect("groups");
    let found = examine(module, epic, options);
    let loops = &module.functions[0].loops;
    let pipelined = found.loops.iter().filter(|report| report.pipelined);
    let header = |head| loops.iter().find(|it| it.loc == head).map(|it| it.header);
    pipelined.filter_map(|report| header(report.head)).collect()
}

fn judge_kernel(kernel: &Kernel, table: &Table, best: bool, count: &mut Count) {
    let name = kernel.name.as_str();
    let module = module_of(&kernel.text, name);
    let function = &module.functions[0];
    if PathNumbers::new(PathGraph::of(function)).is_err() {
        return;
    }
    let mut recorder = Recorder::new(&module);
    let expected = interp::run_with(&module, &launched(kernel), &mut recorder, &());
    if expected.error.is_some() {
        return;
    }
    let epic = table.epic().expect("groups");
    let options = Options {
        convert: best,
        pipeline: best.then(pipeline::Options::default),
        ..Options::default()
    };
    let pipelined = pipelined(table, &module, &options);
    let after = transform(
        function,
        &recorder.numbers,
        &recorder.profile,
        &Processor::new(epic),
        Terms {
            sinks: true,
            flags: true,
            redundant: true,
            ahead: true,
            least: f64::NEG_INFINITY,
            altogether: f64::NEG_INFINITY,
            pipelined: &pipelined,
        },
    );
    let mut after = after.expect("counts of the function");
    count.kernels += 1;
    let zeros = SkipProfile {
        share: &|_, _| None,
        waited: &|_| 0.0,
        least: -1.0,
    };
    if kernel.seed.is_multiple_of(2) {
        after.skipped = skip(&mut after.function, &after.executions, &zeros);
    }
    if after.is_plain() {
        return;
    }
    count.changed += 1;
    count.skipped += u64::from(!after.skipped.is_empty());
    count.speculated += after.speculated.len() as u64;
    count.sunk += after.sunk.len() as u64;
    count.flagged += after.sunk.iter().filter(|it| it.flagged > 0).count() as u64;
    let mut new = module.clone();
    new.functions[0] = after.function;
    // The IR first: it tells a wrong transformation from wrong code.
    let mut second = Recorder::new(&new);
    let again = interp::run_with(&new, &launched(kernel), &mut second, &());
    let same = (&again.returned, &again.buffers) == (&expected.returned, &expected.buffers);
    let shown = || {
        let texts = [function, &new.functions[0]].map(ir::text::print);
        format!(
            "kernel {}\n{}\n{}\n---\n{}",
            kernel.seed, kernel.text, texts[0], texts[1]
        )
    };
    assert!(
        same && again.error.is_none(),
        "{:?}: {}",
        again.error,
        shown()
    );
    let mut weighted = options;
    let weights = after.executions.iter().map(|&it| it as f64).collect();
    weighted.weights.insert(function.name.clone(), weights);
    let Ok(emitted) = emit(&new, epic, &weighted) else {
        return;
    };
    count.judged += 1;
    count.ahead += u64::from(!best && emitted.text.contains("chk.s"));
    let seed = kernel.seed;
    // Speculative loads also fail that need not.
    for deferred in [None, Some(seed)] {
        let limits = Limits {
            steps: 100_000_000,
            deferred,
            ..Limits::default()
        };
        if let Err(why) = agrees(kernel, name, &expected, &emitted.text, &limits) {
            panic!(
                "{why}: kernel {seed}, best {best}, {deferred:?}\n{}\n{}",
                kernel.text, emitted.text
            );
        }
    }
}

/// A function whose values some ways do not read.
fn branching(seed: u64) -> Kernel {
    of_text(seed, generate::kernel(seed, ir::Language::C), 24)
}

/// A function whose loads often cannot matter.
fn with_zeros(seed: u64) -> Kernel {
    of_text(seed, zeros::kernel(seed, ir::Language::C), 5)
}

/// A function on buffers of numbers below `most`.
fn of_text(seed: u64, text: String, most: u32) -> Kernel {
    let words = |slot: u64| -> Vec<u8> {
        let word = |at: u64| oracle::random::Random::new(seed ^ (slot << 40) ^ at).below(most);
        (0..1024).flat_map(|at| word(at).to_le_bytes()).collect()
    };
    let parameter = |name: &str, type_text: &str, argument| Parameter {
        name: name.into(),
        type_text: type_text.to_owned(),
        argument,
    };
    let pointer = |buffer: usize| Argument::Pointer { buffer, offset: 0 };
    let number = Argument::Scalar {
        ty: Scalar::Int,
        bits: seed % 16,
    };
    Kernel {
        seed,
        text,
        name: "kernel".into(),
        returns: None,
        parameters: vec![
            parameter("dst", "int *", pointer(0)),
            parameter("src", "const int *", pointer(1)),
            parameter("t", "int", number),
        ],
        buffers: [words(0), words(1)]
            .map(|bytes| Buffer {
                element: Scalar::Int,
                bytes,
            })
            .into(),
    }
}

#[test]
fn random_kernels_compute_the_same_after_their_profile() {
    let first = setting("LOCKSTEP_FIRST", 0);
    let kernels = setting("LOCKSTEP_C_KERNELS", KERNELS);
    let table = named("itanium2").expect("a table");
    let (mut ahead, mut skipped) = (0, 0);
    for (what, make) in [
        ("kernels", kernel as fn(u64) -> Kernel),
        ("branching functions", branching),
        ("functions with zeros", with_zeros),
    ] {
        let mut count = Count::default();
        for seed in first..first + kernels {
            for best in [false, true] {
                judge_kernel(&make(seed), &table, best, &mut count);
            }
        }
        println!("{what}: {count:?}");
        ahead += count.ahead;
        skipped += count.skipped;
        assert!(count.changed * 4 > count.kernels, "{count:?}");
        assert!(count.judged * 10 > count.changed * 9, "{count:?}");
    }
    assert!(ahead > 0 && skipped > 0);
}
