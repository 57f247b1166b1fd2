//! One workgroup of an entry point in the interpreter, for the pictures: on the described inputs, or on those
//! that `lockstep profile --describe` prints.
//!
//! If a run of ours fails on those (an index beyond a buffer, say), inputs that the seed alone chooses are
//! tried, and the run that came further is shown. A run that an error interrupted is shown as far as it came.

use super::model::RunRow;
use super::watch::Watch;
use crate::profile::inputs::{self, Description, Fill, Number, Pattern, Varying};
use crate::profile::launch::{Described, described};
use crate::profile::make::Inputs;
use crate::profile::template::template;
use facts::FunctionFacts;
use ir::checkpoint::Checkpoint;
use ir::{Function, FunctionKind, Loc, Module, Op, Special};
use oracle::interp::{Error, Outcome, run_with};
use std::path::Path;

/// Instructions of warps in a run.
const MOST_STEPS: u64 = 400_000;
/// Elements of a buffer of ours.
const MOST_ELEMENTS: u64 = 1 << 18;
/// The number of elements that a template has, and that is tried where another leads too far.
const COUNT: i64 = 1024;
const FEWER: i64 = 64;
/// Names that are listed.
const MOST_NAMES: usize = 24;

/// The outcome of a run.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) row: RunRow,
    pub(super) watch: Option<Watch>,
    /// The place where it ended, if before its end.
    pub(super) ended_at: Option<Loc>,
}

/// Whose inputs.
enum Chosen<'i> {
    Described(&'i Description, &'i str),
    /// A template, with a number in the place of its counts.
    Template(Description, i64),
    Seed(Description),
}

impl Chosen<'_> {
    fn description(&self) -> &Description {
        match self {
            Chosen::Described(description, _) => description,
            Chosen::Template(description, _) | Chosen::Seed(description) => description,
        }
    }
}

/// Runs the module's first function.
pub(super) fn run(
    module: &Module,
    facts: &FunctionFacts,
    given: &Inputs,
    watch: &dyn Fn() -> Watch,
    checkpoint: &dyn Checkpoint,
) -> Ran {
    let Some(function) = module.functions.first() else {
        return refused("the function has no body".to_owned());
    };
    let own = |description: &&Description| {
        let last = function.name.rsplit("::").next();
        let item = description.item.as_deref();
        item.is_none_or(|item| item == function.name || Some(item) == last)
    };
    let mut attempts: Vec<Chosen<'_>> = Vec::new();
    match given.description.as_ref().filter(own) {
        Some(description) => attempts.push(Chosen::Described(description, &given.name)),
        None => {
            let block = block(function, facts);
            for number in [COUNT, FEWER] {
                let template = of_template(module, block.clone(), number);
                attempts.extend(template.map(|it| Chosen::Template(it, number)));
            }
            let mut seeded = Description::default();
            seeded.launch.block = block;
            attempts.push(Chosen::Seed(seeded));
        }
    }
    let warp_size = function.launch.warp_size.unwrap_or(facts.options.warp_size);
    let mut best: Option<((usize, bool), Ran)> = None;
    for chosen in attempts {
        let ran = attempt(
            module, function, warp_size, given, &chosen, watch, checkpoint,
        );
        let whole = ran.row.refused.is_none() && ran.row.ended.is_none();
        let (reached, all) = ran.watch.as_ref().map_or((0, false), Watch::reached);
        // Of runs that came to as many places, one that came to its end, else the first.
        if best
            .as_ref()
            .is_none_or(|(known, _)| (reached, whole) > *known)
        {
            best = Some(((reached, whole), ran));
        }
        if whole && all {
            break;
        }
    }
    best.map_or_else(|| refused("there are no inputs".to_owned()), |(_, ran)| ran)
}

fn refused(why: String) -> Ran {
    Ran {
        row: RunRow {
            refused: Some(why),
            ..RunRow::default()
        },
        watch: None,
        ended_at: None,
    }
}

/// A workgroup that the source does not fix: as configured or in all launches in sight, else rows of a warp for a function
/// that asks for more coordinates than one.
fn block(function: &Function, facts: &FunctionFacts) -> Option<Vec<u32>> {
    if function.launch.block[0].is_some() || matches!(function.kind, FunctionKind::Stage(_)) {
        return None;
    }
    let options = &facts.options;
    let known = [options.block, options.assumed_block]
        .into_iter()
        .find(|it| it[0].is_some());
    if let Some(known) = known {
        return Some(known.iter().map(|size| size.unwrap_or(1).max(1)).collect());
    }
    let asks = |axis: u8| {
        (function.insts.values())
            .any(|inst| matches!(inst.op, Op::Special(Special::ThreadId(at)) if at == axis))
    };
    let most = function.launch.max_threads.unwrap_or(256);
    let rows = (most / 32).clamp(1, 8);
    match (asks(2), asks(1)) {
        (true, _) => Some(vec![8, 8, (most / 64).clamp(1, 4)]),
        (_, true) => Some(vec![32, rows]),
        _ if most < 256 => Some(vec![most.max(1)]),
        _ => None,
    }
}

/// The described inputs that an author would begin with, with buffers of a bounded size.
fn of_template(module: &Module, block: Option<Vec<u32>>, number: i64) -> Option<Description> {
    let text = template(module)?;
    let mut description = inputs::parse(&text, Path::new("")).ok()?;
    description.launch.block = block.or(description.launch.block);
    for value in description.values.values_mut() {
        match value {
            Number::Int(COUNT) => *value = Number::Int(number),
            Number::List(all) => {
                let counts = all.iter_mut().filter(|it| **it == COUNT as f64);
                counts.for_each(|count| *count = number as f64);
            }
            _ => {}
        }
    }
    for buffer in description.buffers.values_mut() {
        buffer.count = buffer.count.map(|count| count.min(MOST_ELEMENTS));
    }
    Some(description)
}

fn attempt(
    module: &Module,
    function: &Function,
    warp_size: u32,
    given: &Inputs,
    chosen: &Chosen<'_>,
    watch: &dyn Fn() -> Watch,
    checkpoint: &dyn Checkpoint,
) -> Ran {
    let mut description = chosen.description().clone();
    description.launch.workgroups = Some(1);
    let most = description.launch.max_steps.unwrap_or(MOST_STEPS);
    description.launch.max_steps = Some(most.min(MOST_STEPS));
    let warp_size = description.launch.warp_size.unwrap_or(warp_size);
    let mut launched = match described(module, &description, warp_size, &given.directory) {
        Ok(launched) => launched,
        Err(error) => return refused(format!("its inputs can't be made: {error}")),
    };
    // The first is not beyond the data that counts of ours describe.
    let first = !matches!(chosen, Chosen::Described(..));
    if first && !launched.launch.workgroups.is_empty() {
        launched.launch.workgroups = vec![0];
    }
    let mut watch = watch();
    let outcome = run_with(module, &launched.launch, &mut watch, checkpoint);
    let row = RunRow {
        refused: None,
        what: what(function, &launched, &watch, &outcome),
        inputs: source(chosen),
        seed: description.launch.seed,
        given: named(&description),
        random: random(&description, &launched),
        ended: outcome
            .error
            .as_ref()
            .map(|error| why(error, most.min(MOST_STEPS))),
        ended_line: None,
        active_percent: (watch.possible > 0)
            .then(|| 100.0 * watch.active as f64 / watch.possible as f64),
    };
    let ended_at = outcome.error.as_ref().and_then(Error::place);
    Ran {
        row,
        ended_at: ended_at.map(|place| place.loc),
        watch: Some(watch),
    }
}

fn what(function: &Function, launched: &Described, watch: &Watch, outcome: &Outcome) -> String {
    let launch = &launched.launch;
    let [x, y, z] = launch.block;
    let warps = watch.warps.len();
    let number = launch.workgroups.first().copied().unwrap_or(0);
    let group = match function.kind {
        FunctionKind::Stage(_) => format!(
            "{} invocations of the stage",
            u64::from(x) * u64::from(y) * u64::from(z)
        ),
        _ => format!(
            "workgroup {number} of {}, {x} × {y} × {z} threads",
            launched.of
        ),
    };
    let words = match warps {
        1 => "1 warp".to_owned(),
        more => format!("{more} warps"),
    };
    format!(
        "{group}: {words} of {} lanes, {} warp instructions",
        launch.warp_size, outcome.steps
    )
}

fn source(chosen: &Chosen<'_>) -> String {
    match chosen {
        Chosen::Described(_, name) => format!("as `{name}` describes them"),
        Chosen::Template(_, COUNT) => "as `lockstep profile --describe` prints them".to_owned(),
        Chosen::Template(_, number) => {
            format!("as `lockstep profile --describe` prints them, with {number} for {COUNT}")
        }
        Chosen::Seed(_) => "chosen by the seed".to_owned(),
    }
}

/// Values that are the same each time.
fn named(description: &Description) -> Vec<String> {
    let shown = |number: &Number| {
        let list: Vec<String> = number.list().iter().map(ToString::to_string).collect();
        match list.as_slice() {
            [single] => single.clone(),
            [first, ..] if list.len() > 4 && list.iter().all(|it| it == first) => {
                format!("{} × {first}", list.len())
            }
            _ => format!("({})", list.join(", ")),
        }
    };
    let values = description.values.iter();
    let values = values.map(|(name, value)| format!("{name} = {}", shown(value)));
    shortened(values.collect())
}

/// Returns the inputs that the seed decides: contents of a distribution, and all that nothing describes.
fn random(description: &Description, launched: &Described) -> Vec<String> {
    let mut out = Vec::new();
    for (name, buffer) in &description.buffers {
        let fill = match buffer.fill {
            Some(Fill::Normal) => "normal",
            Some(Fill::Uniform) => "uniform",
            Some(Fill::Sparse) => "sparse",
            Some(Fill::Constant | Fill::Sequence) | None => continue,
        };
        out.push(format!("{name} ({fill} {})", buffer.ty));
    }
    for (name, texture) in &description.textures {
        if texture.fill == Some(Pattern::Noise) {
            out.push(format!("{name} (noise)"));
        }
    }
    for (name, input) in &description.inputs {
        let fill = match input.fill {
            Varying::Noise => "noise",
            Varying::Uniform => "uniform",
            Varying::Normal => "normal",
            Varying::Sparse => "sparse",
            _ => continue,
        };
        out.push(format!("{name} ({fill})"));
    }
    out.extend(launched.open.iter().cloned());
    out.sort();
    out.dedup();
    shortened(out)
}

fn shortened(mut names: Vec<String>) -> Vec<String> {
    let more = names.len().saturating_sub(MOST_NAMES);
    names.truncate(MOST_NAMES);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names
}

/// Returns the reason why a run ended, without its place.
fn why(error: &Error, most: u64) -> String {
    match error {
        Error::Access {
            fault, write, size, ..
        } => {
            let done = if *write { "a store" } else { "a load" };
            format!("{done} of {size} bytes failed: {fault}")
        }
        Error::Barrier { fault, .. } => format!("a barrier never completes: {fault}"),
        Error::StepsExhausted { .. } => {
            format!("the bound of {most} warp instructions was reached")
        }
        Error::MemoryExhausted { needed } => format!("{needed} bytes of memory are too many"),
        Error::StackOverflow { limit, .. } => format!("calls nest deeper than {limit}"),
        Error::Unsupported { what, .. } => format!("the interpreter has no {what}"),
        Error::Unreachable { .. } => {
            "control reached a place that is declared unreachable".to_owned()
        }
        Error::Launch(text) => text.clone(),
        Error::Cancelled(_) => "cancelled".to_owned(),
    }
}
