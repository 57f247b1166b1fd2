//! The costs of lines, loops, calls and functions to a warp, and the number of warps that fit: estimates for
//! the configured machine.
//!
//! Nothing is computed unless a view asks: the hints and the lens where `hints.costs` is not off, a hover, the command
//! line. The numbers are `codegen::machine`'s; here they are put to functions and lines.

use super::budget::{Budget, budget};
use super::zeros::ProfileText;
use crate::db::{self, Db, Item};
use crate::program;
use codegen::contract::contracted;
use codegen::machine::estimate::{ItemCost, PlaceCost, estimate};
use codegen::machine::files::RegisterFiles;
use codegen::machine::occupancy::{Need, Occupancy, Step, next_step, occupancy};
use facts::FunctionFacts;
use facts::pressure::Pressure;
use facts::values::stored::map;
use ir::{Function, FunctionKind, Space, SymbolKind};
use std::borrow::Cow;
use std::collections::BTreeMap;
use syntax::LineIndex;

/// Threads of a workgroup whose size nothing tells.
const GUESSED_THREADS: u32 = 256;

/// The costs of a function of an item.
#[derive(Clone, PartialEq, Debug)]
pub struct Costs {
    pub cost: ItemCost,
    /// Registers of a thread within its budget, where the function is not too large; an estimate.
    pub registers: Option<u32>,
    /// The registers that no order of its operations does without; an estimate.
    pub needed: Option<u32>,
    /// Scalar registers of a warp, where the machine has them; an estimate.
    pub scalar: Option<u32>,
    /// The registers of a thread and the values that fill them.
    pub pressure: Option<Pressure>,
    pub fit: Option<Fit>,
    /// The most that a thread may have; of entry points.
    pub budget: Option<Budget>,
}

/// The warps of an entry point that fit on a multiprocessor.
#[derive(Clone, PartialEq, Debug)]
pub struct Fit {
    pub need: Need,
    pub threads: Threads,
    /// True if there is shared memory whose size the launch decides.
    pub dynamic: bool,
    pub found: Occupancy,
    pub step: Option<Step>,
}

/// The source of the size of a workgroup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Threads {
    /// Declared or configured.
    Known,
    /// An upper bound is declared, which is taken.
    AtMost,
    /// All launches in sight agree.
    Assumed,
    /// A stage of the pipeline: warps come one by one.
    Stage,
    Guessed,
}

/// Returns the costs of the functions of an item, by their order in `lowered`.
pub fn of_item(db: &dyn Db, item: Item<'_>) -> Vec<Option<Costs>> {
    let file = item.main(db);
    let stored = db::profile_of(db, file).and_then(|profile| match db::profile_text(db, profile) {
        ProfileText::Read(read) => Some(read),
        _ => None,
    });
    let settings = program::settings(db, file);
    let gpu = db::machine(db, settings).gpu();
    let configured = settings.analysis(db).max_registers;
    let contracts = settings.analysis(db).contracts();
    let parts = db::lowered(db, item)
        .iter()
        .zip(db::facts_of(db, item).iter());
    let of = |(lowered, analysed): (&ir::lower::c_family::Lowered, &program::Analysed)| {
        let function = lowered.module.functions.first()?;
        let facts = analysed.functions.first()?;
        if function.layout.is_empty() || function.language == ir::Language::C {
            return None;
        }
        let lanes = function.launch.warp_size.unwrap_or(facts.options.warp_size);
        let item = stored.and_then(|profile| {
            profile.check_warp_size(lanes).ok()?;
            let mut items = profile.items.iter();
            items.find(|s| s.name == function.name && s.ordinal == item.ordinal(db))
        });
        let weights = item.map(|item| map(item, function).weights(item, function));
        let files = RegisterFiles::new(function, facts, gpu);
        let pressure = files.pressure();
        let budget = budget(function, facts, gpu, configured);
        // As the assembler gets it.
        let contracted = match contracts {
            true => contracted(function),
            false => Cow::Borrowed(function),
        };
        let counts = files.count(&contracted);
        let most = budget.map_or(u32::MAX, |budget| budget.registers);
        let registers = counts.map(|counts| counts.thread.within(most));
        let scalar = counts.and_then(|counts| counts.scalar);
        Some(Costs {
            cost: estimate(&contracted, facts, &facts.options.machine, weights.as_ref()),
            registers,
            pressure,
            fit: registers.and_then(|registers| fit(function, facts, gpu, registers, scalar)),
            scalar,
            needed: counts.map(|counts| counts.thread.needed),
            budget,
        })
    };
    parts.map(of).collect()
}

impl Fit {
    /// The same with another number of registers a thread.
    #[must_use]
    pub fn with_registers(&self, gpu: &codegen::machine::Gpu, registers: u32) -> Fit {
        let need = Need {
            registers,
            ..self.need
        };
        Fit {
            need,
            found: occupancy(gpu, need),
            step: next_step(gpu, need),
            ..self.clone()
        }
    }
}

/// Returns how many warps of an entry point fit, with so many registers a thread.
pub fn fit(
    function: &Function,
    facts: &FunctionFacts,
    gpu: &codegen::machine::Gpu,
    registers: u32,
    scalar: Option<u32>,
) -> Option<Fit> {
    let lanes = gpu.lanes(function.launch.warp_size.unwrap_or(facts.options.warp_size));
    let product = |block: [Option<u32>; 3]| {
        block
            .iter()
            .try_fold(1u32, |all, size| Some(all.saturating_mul((*size)?)))
    };
    let mut known = function.launch.block;
    for (size, configured) in known.iter_mut().zip(facts.options.block) {
        *size = size.or(configured);
    }
    let (threads, how) = match function.kind {
        FunctionKind::Stage(_) => (lanes, Threads::Stage),
        FunctionKind::Kernel => {
            let assumed = || product(facts.options.assumed_block);
            match (product(known), function.launch.max_threads, assumed()) {
                (Some(threads), _, _) => (threads, Threads::Known),
                (None, _, Some(threads)) => (threads, Threads::Assumed),
                (None, Some(threads), None) => (threads, Threads::AtMost),
                (None, None, None) => (GUESSED_THREADS, Threads::Guessed),
            }
        }
        FunctionKind::Device | FunctionKind::Host => return None,
    };
    let (mut shared, mut dynamic) = (0u32, false);
    for symbol in function.symbols.values() {
        if symbol.space != Space::Shared || symbol.kind != SymbolKind::Memory {
            continue;
        }
        match symbol.size {
            Some(size) if size > 0 => {
                shared = shared
                    .next_multiple_of(symbol.align.max(1))
                    .saturating_add(size);
            }
            _ => dynamic = true,
        }
    }
    let need = Need {
        // A stage has no workgroups to run out of: as many warps as there are schedulers at a time.
        threads: match how {
            Threads::Stage => lanes * gpu.count(codegen::machine::schema::Key::Schedulers),
            _ => threads,
        },
        registers,
        scalar: scalar.unwrap_or(0),
        shared,
        lanes,
    };
    Some(Fit {
        need,
        threads: how,
        dynamic,
        found: occupancy(gpu, need),
        step: next_step(gpu, need),
    })
}

/// Costs of an item's functions.
pub fn costs<'db>(db: &'db dyn Db, item: Item<'db>) -> &'db [Option<Costs>] {
    match item.holds(db).code {
        true => db::costs(db, item),
        false => &[],
    }
}

/// Costs of one function of an item.
pub fn of_function<'db>(
    db: &'db dyn Db,
    item: Item<'db>,
    function: &Function,
) -> Option<&'db Costs> {
    let at = db::lowered(db, item).iter().position(|lowered| {
        let own = lowered.module.functions.first();
        own.is_some_and(|own| std::ptr::eq(own, function))
    })?;
    costs(db, item).get(at)?.as_ref()
}

/// Costs by line of the file, from 0. `start` is where the item stands.
pub fn by_line(cost: &ItemCost, lines: &LineIndex, start: u32) -> BTreeMap<u32, PlaceCost> {
    let mut by_line: BTreeMap<u32, PlaceCost> = BTreeMap::new();
    for (span, cost) in &cost.places {
        let line = lines.line_column(start + span.start).0;
        by_line
            .entry(line)
            .and_modify(|known| known.sum(cost))
            .or_insert(*cost);
    }
    by_line
}
