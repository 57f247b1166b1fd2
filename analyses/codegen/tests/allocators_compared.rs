//! The allocators of PTX side by side: accesses to spill slots that execute on random kernels, and on those of the directory
//! that `LOCKSTEP_PUBLIC_PTX` names, there by `LOCKSTEP_COMPARED_WORDS=8,16` in other budgets than those of the paper.
//!
//! A kernel counts at a budget where all allocators find a form, the original's run in the interpreter ends
//! well, and linear scan spills something. All forms compute the same as the original, where neither time nor
//! other code decides on it.

#[path = "support/fitting.rs"]
mod fitting;
#[path = "support/ptx_programs.rs"]
// Only printed programs are compared here.
#[allow(dead_code)]
mod ptx_programs;
#[path = "support/public.rs"]
mod public;
#[path = "soundness_ptx/text/mod.rs"]
mod text;

use fitting::{ALLOCATORS, Fittable, functions, scheduling};
use ir::{FunctionKind, Inst, Module};
use isa::ptx::Class;
use lockstep_codegen::target::ptx::machine::fit::{Allocator, Budget, Home, Made};
use lockstep_codegen::target::ptx::machine::states::State;
use oracle::interp::{AccessKind, Instance, Launch, Observer, run_with};
use ptx_programs::is_settled;
use std::ops::Range;
use syntax::ptx::PtxItemText;

/// Accesses of warps to slots.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
struct Traffic {
    local_loads: u64,
    local_stores: u64,
    shared_loads: u64,
    shared_stores: u64,
    /// Instructions of warps.
    steps: u64,
    /// Slots of a lane in local memory.
    local_bytes: u32,
    reloads: Reloads,
}

/// Places in the text at which spilled values are read.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
struct Reloads {
    all: u32,
    /// From local memory.
    local: u32,
    /// The number of those among them whose values have a state of rows i to iv, by what keeps them there.
    kept: [u32; CAUSES.len()],
}

/// Causes by which values with a state of rows i to iv live in local memory.
const CAUSES: [&str; 5] = [
    "a predicate",
    "a number too large for an instruction",
    "written under a predicate",
    "written where lanes are apart",
    "no room in shared memory",
];

/// The cause for one value, as an index.
fn cause(function: &Fittable, name: &str, state: State) -> usize {
    let Ok(body) = &function.body else { return 4 };
    let own = body.names.iter().position(|own| own == name);
    let Some(own) = own else { return 4 };
    if body.function.registers[own] == Class::Predicate {
        return 0;
    }
    let small = |number: i64| i32::try_from(number).is_ok();
    if matches!(state, State::Known(factor, _) | State::Affine(factor) if !small(factor)) {
        return 1;
    }
    let blocks = body.function.blocks.iter().zip(&body.statements);
    let all = blocks.flat_map(|(block, statements)| block.operations.iter().zip(statements));
    let writes: Vec<_> = all
        .filter(|(operation, _)| operation.writes().any(|written| written.0 as usize == own))
        .collect();
    if writes
        .iter()
        .any(|(operation, _)| operation.predicate.is_some())
    {
        return 2;
    }
    let arrivals = writes
        .iter()
        .map(|&(_, &statement)| function.known.arrivals[statement as usize]);
    let all = arrivals.clone().all(|arrival| arrival.all);
    let once = writes.len() == 1 && arrivals.clone().all(|arrival| arrival.once);
    if all || once { 4 } else { 3 }
}

impl Traffic {
    /// Issued instructions, an access to local memory for eight and one to shared memory for five.
    fn cost(&self) -> f64 {
        let local = self.local_loads + self.local_stores;
        let shared = self.shared_loads + self.shared_stores;
        (self.steps + 7 * local + 4 * shared) as f64
    }

    /// Cycles by the paper's figures for its GPU, a GTX 570 (the notes, sections 1 and 7), an estimate:
    /// shared memory takes three times as long as a register, a hit in the cache of local memory as long as
    /// that, a miss a hundred times as long, while the 48 warps of a multiprocessor go on. Its cache has 16
    /// KiB for the slots of 1,536 threads.
    fn gtx_570(&self) -> f64 {
        let local = (self.local_loads + self.local_stores) as f64;
        let shared = (self.shared_loads + self.shared_stores) as f64;
        let slots = f64::from(self.local_bytes.max(1)) * 1536.0;
        let misses = (1.0 - 16_384.0 / slots).max(0.0);
        self.steps as f64 + 2.0 * shared + (2.0 + misses * 300.0 / 48.0) * local
    }
}

/// Returns the outcome of the reloads of a form.
fn reloads(function: &Fittable, made: &Made) -> Reloads {
    let mut out = Reloads::default();
    for own in &made.spilled {
        let state = function
            .known
            .states
            .iter()
            .find(|known| known.0 == own.name);
        let in_rows = state.filter(|known| known.1 != State::Divergent);
        out.all += own.loads;
        if let Home::Lane(_) = own.home {
            out.local += own.loads;
            if let Some(known) = in_rows {
                out.kept[cause(function, &own.name, known.1)] += own.loads;
            }
        }
    }
    out
}

struct Counting<'a> {
    text: &'a str,
    module: &'a Module,
    traffic: Traffic,
}

impl Observer for Counting<'_> {
    fn memory(
        &mut self,
        instance: &Instance<'_>,
        inst: Inst,
        kind: AccessKind,
        _: &[u64],
        mask: u64,
    ) {
        if mask == 0 {
            return;
        }
        let function = &self.module.functions[instance.function as usize];
        let span = function.insts[inst].loc.span;
        let text = self.text.get(span.start as usize..span.end as usize);
        let text = text.unwrap_or("");
        let local = text.contains("__lockstep_spill");
        let shared = text.contains("volatile.shared");
        let count = match (local, shared, kind) {
            (true, _, AccessKind::Load) => &mut self.traffic.local_loads,
            (true, _, _) => &mut self.traffic.local_stores,
            (_, true, AccessKind::Load) => &mut self.traffic.shared_loads,
            (_, true, _) => &mut self.traffic.shared_stores,
            _ => return,
        };
        *count += 1;
    }
}

/// A launch that suits a kernel as it was read: the types of parameters follow from their uses.
fn launch(file: &str, name: &str) -> Option<Launch> {
    let (_, module) = kernel(file, name)?;
    let mut launch = Launch::for_function(&module.functions[0], 64, 7);
    launch.grid = [2, 1, 1];
    launch.limits.steps = 400_000;
    Some(launch)
}

fn kernel(file: &str, name: &str) -> Option<(PtxItemText, Module)> {
    let mut all = ir::lower::ptx::lower_text(file)
        .into_iter()
        .map(|(item, _, lowered)| (item, lowered.module));
    all.find(|(_, module)| {
        let function = &module.functions[0];
        function.kind == FunctionKind::Kernel && function.name == name
    })
}

/// The traffic of a file's kernel, and the contents of its buffers where its run ended well.
fn measured(file: &str, name: &str, launch: &Launch) -> Option<(Traffic, Option<Vec<Vec<u8>>>)> {
    let (place, module) = kernel(file, name)?;
    let mut counting = Counting {
        text: file.get(place.start as usize..)?,
        module: &module,
        traffic: Traffic::default(),
    };
    let outcome = run_with(&module, launch, &mut counting, &());
    counting.traffic.steps = outcome.steps;
    let buffers = outcome.buffers.into_iter().map(|buffer| buffer.bytes);
    Some((
        counting.traffic,
        outcome.error.is_none().then(|| buffers.collect()),
    ))
}

/// The traffic of a kernel by each allocator; `None` where it does not count.
fn compared(
    file: &str,
    (item, function): (&Range<usize>, &Fittable),
    launch: Option<&Launch>,
    budget: &Budget,
    refused: &mut [u32; 4],
) -> Option<[Traffic; 4]> {
    let name = function.tree.name.text.as_str();
    if !function.tree.entry {
        return None;
    }
    let made = ALLOCATORS.map(|allocator| function.fitted(&file[item.clone()], allocator, budget));
    for (count, made) in refused.iter_mut().zip(&made) {
        *count += u32::from(made.is_err());
    }
    let [Ok(linear), Ok(_), Ok(_), Ok(_)] = &made else {
        return None;
    };
    if linear.spilled.is_empty() {
        return None;
    }
    let (_, module) = kernel(file, name)?;
    // Where variables lie is another matter with slots beside them.
    let settled = is_settled(file, &module);
    let launch = launch.cloned().or_else(|| self::launch(file, name))?;
    let (_, before) = measured(file, name, &launch)?;
    let before = before?;
    // What is added takes time, too.
    let mut longer = launch;
    longer.limits.steps *= 20;
    Some(made.map(|made| {
        let made = made.expect("it was asked above");
        let text = [&file[..item.start], &made.text, &file[item.end..]].concat();
        let (mut traffic, after) = measured(&text, name, &longer).expect("a kernel");
        traffic.local_bytes = made.local_bytes;
        traffic.reloads = reloads(function, &made);
        assert!(after.is_some(), "{name}\n{}", made.text);
        assert!(
            !settled || after.as_ref() == Some(&before),
            "{name}\n{}",
            made.text
        );
        traffic
    }))
}

fn budget(words: u16, file: &str) -> Budget {
    Budget {
        words,
        predicates: 7,
        lanes: 32,
        warps: 32,
        whole_warps: false,
        shared_bytes: 16_384,
        scheduling: scheduling(file),
    }
}

/// On kernels of any shape, at least a fifth fewer loads of local memory are executed than with the paper's
/// allocators.
#[test]
fn ours_loads_less_of_random_kernels() {
    for words in [8, 16] {
        let mut rows = Vec::new();
        for seed in 0..60 {
            let Some((file, launch)) = ptx_programs::printed(seed) else {
                continue;
            };
            for (item, function) in functions(&file) {
                let at = (&item, &function);
                let found = compared(&file, at, Some(&launch), &budget(words, &file), &mut [0; 4]);
                rows.extend(found.map(|found| (format!("{seed}"), found)));
            }
        }
        let loads = |at: usize| rows.iter().map(|row| row.1[at].local_loads).sum::<u64>();
        report(words, &rows, [0; 4]);
        let [linear, divergence, affine, own] = [0, 1, 2, 3].map(loads);
        let least = linear.min(divergence).min(affine);
        assert!(rows.len() >= 10 && least > 0, "{words}: {rows:?}");
        assert!(5 * own <= 4 * least, "{words}: {own} {least}");
    }
}

#[test]
#[allow(clippy::disallowed_methods)]
fn accesses_of_public_kernels() {
    let Some(paths) = public::ptx_files() else {
        return;
    };
    let words = std::env::var("LOCKSTEP_COMPARED_WORDS").unwrap_or("8,16,21,32".into());
    for words in words.split(',').filter_map(|word| word.parse().ok()) {
        let mut rows = Vec::new();
        let mut refused = [0u32; 4];
        for path in &paths {
            let file = public::text_of(path);
            for (item, function) in functions(&file) {
                let at = (&item, &function);
                let found = compared(&file, at, None, &budget(words, &file), &mut refused);
                let name = format!("{} {}", path.display(), function.tree.name.text);
                rows.extend(found.map(|found| (name, found)));
            }
        }
        report(words, &rows, refused);
    }
}

/// The geometric mean of ratios, each count with one more so that none is zero.
fn mean(ratios: impl Iterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = ratios.map(f64::ln).collect();
    (logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp()
}

fn report(words: u16, rows: &[(String, [Traffic; 4])], refused: [u32; 4]) {
    println!("{words} words: {} kernels; refused {refused:?}", rows.len());
    for (at, allocator) in ALLOCATORS.iter().enumerate() {
        let sum = |part: fn(&Traffic) -> u64| rows.iter().map(|row| part(&row.1[at])).sum::<u64>();
        println!(
            "  {allocator:?}: local loads {} stores {}, shared loads {} stores {}",
            sum(|own| own.local_loads),
            sum(|own| own.local_stores),
            sum(|own| own.shared_loads),
            sum(|own| own.shared_stores),
        );
    }
    let at = |allocator: Allocator| ALLOCATORS.iter().position(|own| *own == allocator);
    let papers = (at(Allocator::Divergence), at(Allocator::Affine));
    let (Some(divergence), Some(affine)) = papers else {
        return;
    };
    let (Some(linear), Some(own)) = (at(Allocator::Linear), at(Allocator::Lockstep)) else {
        return;
    };
    let loads = |row: &(String, [Traffic; 4]), at: usize| (row.1[at].local_loads + 1) as f64;
    let cost = |row: &(String, [Traffic; 4]), at: usize| row.1[at].cost();
    println!(
        "  local loads of ours to AffRA's {:.3}, of AffRA to linear scan's {:.3}; cost to linear scan's: AffRA {:.3}, ours {:.3}",
        mean(rows.iter().map(|row| loads(row, own) / loads(row, affine))),
        mean(
            rows.iter()
                .map(|row| loads(row, affine) / loads(row, linear))
        ),
        mean(rows.iter().map(|row| cost(row, affine) / cost(row, linear))),
        mean(rows.iter().map(|row| cost(row, own) / cost(row, linear))),
    );
    let gtx =
        |row: &(String, [Traffic; 4]), at: usize| row.1[at].gtx_570() / row.1[linear].gtx_570();
    println!(
        "  cycles to linear scan's by the table of the GTX 570 (estimate): DivRA {:.3}, AffRA {:.3} (the paper, 8 words, its 40 slowest \
         kernels: 1/1.15, 1/1.26), ours {:.3}",
        mean(rows.iter().map(|row| gtx(row, divergence))),
        mean(rows.iter().map(|row| gtx(row, affine))),
        mean(rows.iter().map(|row| gtx(row, own))),
    );
    let reloads = |part: fn(&Reloads) -> u32| -> u32 {
        rows.iter().map(|row| part(&row.1[affine].reloads)).sum()
    };
    println!(
        "  reloads in AffRA's texts: {}, {} of them local (the paper: 2287, 850), {} of those with a state of rows i to iv",
        reloads(|own| own.all),
        reloads(|own| own.local),
        reloads(|own| own.kept.iter().sum()),
    );
    for (at, cause) in CAUSES.iter().enumerate() {
        let kept = rows.iter().map(|row| row.1[affine].reloads.kept[at]);
        println!("    {cause}: {}", kept.sum::<u32>());
    }
    let mut worse: Vec<(f64, &str)> = rows
        .iter()
        .map(|row| (cost(row, own) / cost(row, linear), row.0.as_str()))
        .filter(|row| row.0 > 1.01)
        .collect();
    worse.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!(
        "  {} cost more than by linear scan: {:.3?}",
        worse.len(),
        &worse[..worse.len().min(6)]
    );
}
