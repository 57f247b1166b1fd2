//! Copies that count paths, against the interpreter: a run of the copy leaves in its counters how often the
//! lanes of the original took each path, and computes the same as the original.
//!
//! `LOCKSTEP_COPIED_PROGRAMS=N` makes N random functions of each kind instead of the default number, `LOCKSTEP_COPIED_FIRST=N`
//! starts at another seed.

#[path = "sink_dead/generate.rs"]
mod generate;
#[path = "sink_dead/launch.rs"]
mod launch;
#[path = "support/ptx_programs.rs"]
mod ptx_programs;
#[path = "support/read.rs"]
mod read;
#[path = "soundness_ptx/text/mod.rs"]
mod text;

use facts::paths::{PathGraph, PathNumbers, Walk};
use ir::entity::Entity;
use ir::{Function, Language, Module};
use lockstep_codegen::instrument::paths::{PathPlan, Refusal, ptx, source};
use lockstep_codegen::instrument::{COUNTERS, inserted};
use oracle::interp::{self, Buffer, Instance, Launch, Observer, Outcome, lanes};
use oracle::random::c;
use ptx_programs::setting;
use read::{Read, read};
use std::collections::{BTreeMap, HashMap};
use syntax::Span;
use syntax::c_family::ast::ItemKind;
use syntax::c_family::token::FROM_MACRO;

const PROGRAMS: u64 = 150;

/// Counts ways of lanes through function 0.
struct Recorder {
    numbers: PathNumbers,
    counts: Vec<u64>,
    walks: HashMap<(u64, u32, u32), Walk>,
}

impl Recorder {
    fn new(function: &Function) -> Self {
        let numbers = PathNumbers::new(PathGraph::of(function)).expect("few paths");
        Recorder {
            counts: vec![0; numbers.count() as usize],
            numbers,
            walks: HashMap::new(),
        }
    }
}

impl Observer for Recorder {
    fn block(&mut self, instance: &Instance<'_>) {
        if instance.function != 0 || instance.depth != 0 {
            return;
        }
        let node = instance.block.index();
        let graph = self.numbers.graph();
        let leaves = graph.successors[node].is_empty();
        for lane in lanes(instance.mask) {
            let key = (instance.workgroup_index, instance.warp, lane);
            if node == graph.entry && !self.walks.contains_key(&key) {
                self.walks.insert(key, self.numbers.enter());
            }
            if leaves && let Some(walk) = self.walks.remove(&key) {
                self.counts[self.numbers.leave(walk) as usize] += 1;
            }
        }
    }

    fn branch(&mut self, instance: &Instance<'_>, taken: &[u64]) {
        if instance.function != 0 || instance.depth != 0 {
            return;
        }
        for (edge, &mask) in taken.iter().enumerate() {
            for lane in lanes(mask) {
                let key = (instance.workgroup_index, instance.warp, lane);
                let walk = self.walks.get_mut(&key).expect("it has begun");
                if let Some(number) = self.numbers.step(walk, edge) {
                    self.counts[number as usize] += 1;
                }
            }
        }
    }
}

#[derive(Default, Debug)]
struct Sum {
    functions: u64,
    paths: u64,
    taken: u64,
    /// The refusals, by reason.
    refused: BTreeMap<String, u64>,
}

impl Sum {
    fn refuse(&mut self, refusal: &Refusal) {
        let name = format!("{refusal:?}");
        let end = name.find([' ', '(', '{']).unwrap_or(name.len());
        *self.refused.entry(name[..end].to_owned()).or_default() += 1;
    }
}

/// The counters that a run leaves behind `first` others, and all else that it leaves.
fn counted(module: &Module, launch: &Launch, counters: usize, width: usize) -> (Outcome, Vec<u64>) {
    let mut launch = launch.clone();
    let buffer = launch.buffers.len();
    launch.bindings.push((COUNTERS.into(), buffer));
    launch
        .buffers
        .push(Buffer::global(vec![0; counters * width]));
    launch.limits.steps = launch.limits.steps.saturating_mul(20);
    let mut outcome = interp::run(module, &launch);
    let counters = outcome.buffers.remove(buffer);
    let word = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .fold(0u64, |word, &byte| word << 8 | u64::from(byte))
    };
    (outcome, counters.bytes.chunks(width).map(word).collect())
}

fn same(before: &Outcome, after: &Outcome) -> Result<(), String> {
    if before.error.is_some() || after.error.is_some() {
        return Err(format!("{:?} and {:?}", before.error, after.error));
    }
    match before.returned == after.returned
        && before
            .buffers
            .iter()
            .zip(&after.buffers)
            .all(|(a, b)| a.bytes == b.bytes)
    {
        true => Ok(()),
        false => Err("other results".into()),
    }
}

fn named<'m>(modules: &'m [Module], name: &str) -> &'m Module {
    let mut found = modules
        .iter()
        .filter(|module| module.functions[0].name == name);
    let first = found.next().expect("the function");
    assert!(found.next().is_none(), "one instance");
    first
}

/// A copy of a function of C, CUDA or HLSL.
fn copy(
    text: &str,
    read: &Read,
    function: &Function,
    plan: &PathPlan,
    first: u64,
) -> Result<String, Refusal> {
    let around = |item: &syntax::c_family::ast::ParsedItem| match &item.kind {
        ItemKind::Function(declared) => {
            declared.span == function.span && item.key.name == function.name
        }
        _ => false,
    };
    let number = read
        .parsed
        .iter()
        .position(|(_, _, item)| around(item))
        .expect("its item");
    let (start, end, item) = &read.parsed[number];
    let tokens = read.unit.items[number].tokens.iter();
    let macros: Vec<Span> = tokens
        .filter(|token| token.has(FROM_MACRO))
        .map(|token| token.span)
        .collect();
    let in_macro = |span: Span| {
        macros
            .iter()
            .any(|used| used.start <= span.start && span.end <= used.end)
    };
    let own = &text[*start as usize..*end as usize];
    let made = source::instrument(item, function, plan, own, (first, 7), &in_macro)?;
    let mut insertions = vec![(
        0,
        format!(
            "{}{}\n",
            source::declaration(read.language, first + plan.counters),
            made.helpers
        ),
    )];
    insertions.extend(
        made.insertions
            .into_iter()
            .map(|(at, new)| (start + at, new)),
    );
    Ok(inserted(text, &insertions))
}

fn judge(
    what: &str,
    text: &str,
    name: &str,
    language: Language,
    launch: &dyn Fn(&Module) -> Launch,
    sum: &mut Sum,
) {
    let original = read(text, language);
    let (modules, problems) = original.lowered();
    assert_eq!(problems, 0, "{what}\n{text}");
    let module = named(&modules, name);
    let function = &module.functions[0];
    // Counters of others stand in front.
    let first = 5;
    let made = PathPlan::new(function).and_then(|plan| {
        let copied = copy(text, &original, function, &plan, first)?;
        Ok((plan, copied))
    });
    let (plan, copied) = match made {
        Ok(made) => made,
        Err(refusal) => return sum.refuse(&refusal),
    };
    let launch = launch(module);
    let mut recorder = Recorder::new(function);
    let before = interp::run_with(module, &launch, &mut recorder, &());
    let again = read(&copied, language);
    let (modules, problems) = again.lowered();
    assert_eq!(problems, 0, "{what}\n{copied}");
    let width = if language == Language::Hlsl { 4 } else { 8 };
    let counters = (first + plan.counters) as usize;
    let (after, counts) = counted(named(&modules, name), &launch, counters, width);
    same(&before, &after).unwrap_or_else(|why| panic!("{what}: {why}\n{copied}"));
    assert_eq!(counts[..first as usize], [0; 5], "{what}\n{copied}");
    assert_eq!(
        counts[first as usize..],
        recorder.counts,
        "{what}\n{copied}"
    );
    sum.functions += 1;
    sum.paths += plan.counters;
    sum.taken += recorder.counts.iter().filter(|count| **count > 0).count() as u64;
}

fn seeds() -> std::ops::Range<u64> {
    let first = setting("LOCKSTEP_COPIED_FIRST", 0);
    first..first + setting("LOCKSTEP_COPIED_PROGRAMS", PROGRAMS)
}

fn random_functions(language: Language) {
    let mut sum = Sum::default();
    for seed in seeds() {
        let text = generate::kernel(seed, language);
        let launch = |module: &Module| launch::launch(module, language, seed, 24);
        judge(
            &format!("function {seed}"),
            &text,
            "kernel",
            language,
            &launch,
            &mut sum,
        );
    }
    println!("{language:?}: {sum:?}");
    assert!(sum.functions * 2 > seeds().count() as u64, "{sum:?}");
}

#[test]
fn copies_of_cuda_count_the_paths_of_lanes() {
    random_functions(Language::Cuda);
}

#[test]
fn copies_of_hlsl_count_the_paths_of_lanes() {
    random_functions(Language::Hlsl);
}

#[test]
fn copies_of_c_count_the_paths_of_calls() {
    random_functions(Language::C);
}

/// The copies count paths of kernels with `goto`, early returns, pointers that are walked, and switches that
/// fall through.
#[test]
fn copies_of_c_kernels_count_the_paths_of_calls() {
    let mut sum = Sum::default();
    for seed in seeds() {
        let kernel = c::kernel(seed);
        let launch = |_: &Module| {
            let mut launch = Launch::new(1);
            launch.warp_size = 1;
            launch.limits.steps = 50_000_000;
            for buffer in &kernel.buffers {
                launch.buffers.push(Buffer::global(buffer.bytes.clone()));
            }
            for parameter in &kernel.parameters {
                launch.parameters.push(match parameter.argument {
                    c::Argument::Pointer { buffer, offset } => {
                        interp::Argument::Pointer { buffer, offset }
                    }
                    c::Argument::Scalar { bits, .. } => interp::Argument::Bits(bits),
                });
            }
            launch
        };
        let what = format!("kernel {seed}");
        judge(
            &what,
            &kernel.text,
            &kernel.name,
            Language::C,
            &launch,
            &mut sum,
        );
    }
    println!("C kernels: {sum:?}");
    assert!(sum.functions * 2 > seeds().count() as u64, "{sum:?}");
}

fn ptx_copy(text: &str, first: u64) -> Result<(Module, PathPlan, String), Refusal> {
    for (item, _, lowered) in ir::lower::ptx::lower_text(text) {
        let function = &lowered.module.functions[0];
        if function.kind != ir::FunctionKind::Kernel {
            continue;
        }
        let plan = PathPlan::new(function)?;
        let own = &text[item.start as usize..item.end as usize];
        let made = ptx::instrument(function, &plan, own, first)?;
        let mut insertions = vec![(item.start, ptx::declaration(first + plan.counters))];
        insertions.extend(made.into_iter().map(|(at, new)| (item.start + at, new)));
        return Ok((lowered.module, plan, inserted(text, &insertions)));
    }
    panic!("no kernel\n{text}")
}

fn random_ptx(kind: &str, made: &dyn Fn(u64) -> Option<(String, Launch)>) {
    let mut sum = Sum::default();
    for seed in seeds() {
        let Some((text, launch)) = made(seed) else {
            continue;
        };
        let first = 3;
        let (module, plan, copied) = match ptx_copy(&text, first) {
            Ok(made) => made,
            Err(refusal) => {
                sum.refuse(&refusal);
                continue;
            }
        };
        if !ptx_programs::is_settled(&text, &module) {
            continue;
        }
        let mut recorder = Recorder::new(&module.functions[0]);
        let before = interp::run_with(&module, &launch, &mut recorder, &());
        let after_module = ptx_programs::kernel(&copied).expect("a kernel");
        ir::verify_module(&after_module).unwrap_or_else(|errors| panic!("{}\n{copied}", errors[0]));
        let counters = (first + plan.counters) as usize;
        let (after, counts) = counted(&after_module, &launch, counters, 8);
        if before.error.is_some() {
            // A fault in the middle of a path.
            continue;
        }
        same(&before, &after).unwrap_or_else(|why| panic!("{kind} {seed}: {why}\n{copied}"));
        assert_eq!(
            counts[first as usize..],
            recorder.counts,
            "{kind} {seed}\n{copied}"
        );
        sum.functions += 1;
        sum.paths += plan.counters;
        sum.taken += recorder.counts.iter().filter(|count| **count > 0).count() as u64;
    }
    println!("{kind}: {sum:?}");
    assert!(sum.functions * 6 > seeds().count() as u64, "{sum:?}");
}

#[test]
fn copies_of_random_ptx_count_the_paths_of_lanes() {
    random_ptx("text", &|seed| Some(ptx_programs::random_text(seed)));
}

#[test]
fn copies_of_printed_ptx_count_the_paths_of_lanes() {
    random_ptx("printed", &ptx_programs::printed);
}
