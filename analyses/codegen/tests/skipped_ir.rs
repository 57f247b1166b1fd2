//! Loads of the IR that are skipped where a value is zero, against the interpreter: random functions of C, CUDA and HLSL, random PTX
//! and kernels of PTX with many zeros compute the same with fewer loads.
//!
//! `LOCKSTEP_SKIPPED_IR=N` makes N random functions of each kind instead of the default number, `LOCKSTEP_SKIPPED_IR_FIRST=N` starts
//! at another seed.

#[path = "sink_dead/generate.rs"]
mod generate;
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
#[path = "sink_dead/zeros.rs"]
mod zeros;

use ir::entity::Entity;
use ir::{Inst, InstData, Language, Module, Op, Type, ValueData, ValueDef};
use launch::launch;
use lockstep_codegen::profiled::{SkipProfile, Skipped, skip};
use oracle::interp::{self, AccessKind, Instance, Launch, Observer, Outcome};
use ptx_programs::{is_settled, printed, random_text, setting};
use read::read;

const PROGRAMS: u64 = 100;

/// Loads that lanes execute.
struct Loads<'a> {
    module: &'a Module,
    count: u64,
}

impl Observer for Loads<'_> {
    fn memory(
        &mut self,
        instance: &Instance<'_>,
        inst: Inst,
        kind: AccessKind,
        _: &[u64],
        mask: u64,
    ) {
        let op = &self.module.functions[instance.function as usize].insts[inst].op;
        if matches!((op, kind), (Op::Load(_), AccessKind::Load)) {
            self.count += u64::from(mask.count_ones());
        }
    }
}

#[derive(Default, Debug)]
struct Count {
    functions: u64,
    changed: u64,
    loads: u64,
    before: u64,
    after: u64,
}

fn ran(module: &Module, launch: &Launch) -> (Outcome, u64) {
    let mut loads = Loads { module, count: 0 };
    let outcome = interp::run_with(module, launch, &mut loads, &());
    (outcome, loads.count)
}

/// All loads of a module's first function that may be skipped.
fn skipped(module: &Module) -> (Module, Vec<Skipped>) {
    let mut new = module.clone();
    let zeros = SkipProfile {
        share: &|_, _| None,
        waited: &|_| 0.0,
        least: -1.0,
    };
    let executions = vec![1; new.functions[0].blocks.len()];
    let done = skip(&mut new.functions[0], &executions, &zeros);
    (new, done)
}

/// The same with another value than the interpreter leaves where a load is skipped.
fn with_other_values(module: &Module) -> Module {
    let mut new = module.clone();
    let function = &mut new.functions[0];
    for block in function.layout.clone() {
        let mut at = 0;
        while let Some(&inst) = function.blocks[block].insts.get(at) {
            at += 1;
            let data = &function.insts[inst];
            let Some(guard) = data.guard.filter(|_| matches!(data.op, Op::Load(_))) else {
                continue;
            };
            let results = data.results.clone();
            let loc = data.loc;
            for (number, result) in (0u16..).zip(results) {
                let ty = function.ty(result);
                let bits = match ty {
                    Type::Bool => 1,
                    Type::I8 => 0x5b,
                    Type::I16 | Type::F16 | Type::BF16 => 0x3c5b,
                    Type::I32 | Type::F32 => 0x42a5_915b,
                    Type::I64 | Type::F64 => 0x40a5_915b_3c5b_7e5b,
                    _ => continue,
                };
                let mut value = |def| function.values.push(ValueData { ty, def });
                let loaded = value(ValueDef::Result(inst, number));
                let selects = Inst::new(function.insts.len() + 1);
                let other = value(ValueDef::Result(Inst::new(function.insts.len()), 0));
                function.values[result].def = ValueDef::Result(selects, 0);
                function.insts[inst].results[usize::from(number)] = loaded;
                let both = match guard.negated {
                    true => [other, loaded],
                    false => [loaded, other],
                };
                for (op, args, result) in [
                    (Op::Const(bits), vec![], other),
                    (Op::Select, vec![guard.value, both[0], both[1]], result),
                ] {
                    let number = function.insts.push(InstData {
                        op,
                        args: args.into_iter().collect(),
                        results: [result].into_iter().collect(),
                        guard: None,
                        loc,
                    });
                    function.blocks[block].insts.insert(at, number);
                    at += 1;
                }
            }
        }
    }
    new
}

fn judge(module: &Module, launch: &Launch, count: &mut Count, what: &str) {
    let (before, loads_before) = ran(module, launch);
    if before.error.is_some() {
        return;
    }
    count.functions += 1;
    let (new, done) = skipped(module);
    if done.is_empty() {
        return;
    }
    let shown = || {
        let texts = [module, &new].map(|module| ir::text::print(&module.functions[0]));
        format!("{what}\n{done:?}\n{}\n---\n{}", texts[0], texts[1])
    };
    let mut loads_after = loads_before;
    for new in [&with_other_values(&new), &new] {
        if let Err(errors) = ir::verify::verify_module(new) {
            panic!("{errors:?}: {}", shown());
        }
        let (after, loads) = ran(new, launch);
        let same = before.returned == after.returned
            && before.buffers == after.buffers
            && after.error.is_none();
        assert!(same, "{:?}: {}", after.error, shown());
        loads_after = loads;
    }
    assert!(loads_after <= loads_before, "{}", shown());
    count.changed += 1;
    count.loads += done.iter().map(|it| it.loads.len() as u64).sum::<u64>();
    count.before += loads_before;
    count.after += loads_after;
}

fn of_source(language: Language, kernel: &dyn Fn(u64) -> String) -> Count {
    let mut count = Count::default();
    let first = setting("LOCKSTEP_SKIPPED_IR_FIRST", 0);
    for seed in first..first + setting("LOCKSTEP_SKIPPED_IR", PROGRAMS) {
        let text = kernel(seed);
        let (mut modules, _) = read(&text, language).lowered();
        modules.retain(|module| module.functions[0].name == "kernel");
        let launch = launch(&modules[0], language, seed, 5);
        judge(&modules[0], &launch, &mut count, &format!("{seed}\n{text}"));
    }
    count
}

#[test]
fn functions_compute_the_same_with_fewer_loads() {
    for language in [Language::C, Language::Cuda, Language::Hlsl] {
        let plain = of_source(language, &|seed| generate::kernel(seed ^ 0x5119, language));
        println!("{language:?}: {plain:?}");
        let sparse = of_source(language, &|seed| zeros::kernel(seed, language));
        println!("{language:?} with zeros: {sparse:?}");
        assert!(sparse.changed * 4 > sparse.functions, "{sparse:?}");
        assert!(sparse.after < sparse.before, "{sparse:?}");
    }
}

#[test]
fn ptx_computes_the_same_with_fewer_loads() {
    let mut count = Count::default();
    let first = setting("LOCKSTEP_SKIPPED_IR_FIRST", 0);
    for seed in first..first + setting("LOCKSTEP_SKIPPED_IR", PROGRAMS) {
        let texts = [
            Some(random_text(seed)),
            printed(seed),
            Some(sparse::source(seed)),
        ];
        for (text, launch) in texts.into_iter().flatten() {
            let Some(module) = ptx_programs::kernel(&text) else {
                continue;
            };
            if is_settled(&text, &module) {
                judge(&module, &launch, &mut count, &format!("{seed}\n{text}"));
            }
        }
    }
    println!("PTX: {count:?}");
    assert!(count.changed > 0 && count.after < count.before, "{count:?}");
}
