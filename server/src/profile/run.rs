//! Runs an entry point in the interpreter and makes its stored item.

use super::beyond::beyond;
use super::inputs::{Description, InputError};
use super::launch::described;
use super::predict::predicted;
use super::record::{RecordedBranches, Recorder, Stream, lengths};
use super::{lanes_of, place_of, set_lines};
use crate::db::{self, Database, File, Item};
use crate::derive::timing::timing;
use crate::program::items_to_show;
use facts::values::convergent::Schedule;
use facts::values::stored::{
    Origin, StoredBranch, StoredItem, StoredProfile, aggregate, item_of, stored_windows,
};
use ir::checkpoint::Checkpoint;
use ir::{FunctionKind, Inst, Value};
use oracle::interp::{AccessKind, Instance, Observer, run_with};
use simulate::predictor::{Design, Direction, Local, MetaSizes};
use std::path::Path;

/// Threads above which the values of lanes go through the convergent profiler.
const LONG: u64 = 1 << 14;

/// The reason why there is no profile.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("{0}")]
    NoItem(String),
    #[error("{message}{}", place.as_ref().map_or(String::new(), |place| format!("\n  at {place}")))]
    Execution {
        message: String,
        place: Option<String>,
    },
}

/// The report on a run, besides the profile.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ran {
    pub item: String,
    pub runs: u64,
    pub of: u64,
    pub steps: u64,
    pub threads: u64,
    /// Parameters that the description leaves open.
    pub open: Vec<String>,
    /// Stand-ins and other notes of the run, each once.
    pub notes: Vec<String>,
    /// Lane executions, and how many entered the tables of top values.
    pub lanes: u64,
    pub profiled: u64,
    /// Counts at branches.
    pub branches: RecordedBranches,
}

/// The settings of a run.
#[derive(Debug)]
pub struct Request<'a> {
    pub description: &'a Description,
    /// Files of the description are relative to it.
    pub directory: &'a Path,
    pub inputs: String,
    pub warp_size: u32,
    /// The function; else the description's, else the only entry point.
    pub item: Option<&'a str>,
    /// Every value of every lane, however long the run.
    pub every: bool,
    /// The schedule by which a value of a long run rests, and for how long.
    pub schedule: Schedule,
    /// Paths over so many iterations of loops are recorded, too.
    pub iterations: Option<u32>,
}

/// Told how far the run is.
pub trait Progress {
    fn starts(&mut self, workgroups: u64);
    fn workgroup(&mut self, done: u64);
    /// Instructions of warps, of those that it may take.
    fn instructions(&mut self, done: u64, bound: u64);
}

impl Progress for () {
    fn starts(&mut self, _: u64) {}
    fn workgroup(&mut self, _: u64) {}
    fn instructions(&mut self, _: u64, _: u64) {}
}

/// Blocks between two reports of the instructions.
const REPORT: u64 = 1 << 16;

/// Records, and counts workgroups.
struct Watched<'p, P> {
    recorder: Recorder,
    progress: &'p mut P,
    last: Option<u64>,
    done: u64,
    /// Instructions of each block, by function.
    lengths: Vec<Vec<u64>>,
    blocks: u64,
    instructions: u64,
    bound: u64,
}

impl<P: Progress> Observer for Watched<'_, P> {
    fn block(&mut self, instance: &Instance<'_>) {
        if self.last != Some(instance.workgroup_index) {
            self.last = Some(instance.workgroup_index);
            self.progress.workgroup(self.done);
            self.done += 1;
        }
        let length = self.lengths.get(instance.function as usize);
        let length = length.and_then(|blocks| blocks.get(instance.block.0 as usize));
        let length = length.copied().unwrap_or(1);
        self.instructions += length;
        self.blocks += 1;
        if self.blocks.is_multiple_of(REPORT) {
            self.progress.instructions(self.instructions, self.bound);
        }
        self.recorder.block(instance);
    }
    fn branch(&mut self, instance: &Instance<'_>, taken: &[u64]) {
        self.recorder.branch(instance, taken);
    }
    fn values(&mut self, instance: &Instance<'_>, value: Value, lanes: &[u64], mask: u64) {
        self.recorder.values(instance, value, lanes, mask);
    }
    fn memory(
        &mut self,
        instance: &Instance<'_>,
        inst: Inst,
        kind: AccessKind,
        addresses: &[u64],
        mask: u64,
    ) {
        self.recorder.memory(instance, inst, kind, addresses, mask);
    }
}

/// The function that is meant, of the file's own items.
pub fn find<'db>(
    db: &'db Database,
    file: File,
    wanted: Option<&str>,
) -> Result<(Item<'db>, usize), RunError> {
    let (mut known, mut others): (Vec<String>, Vec<String>) = Default::default();
    let mut found = Vec::new();
    for (_, item) in items_to_show(db, file) {
        if !item.holds(db).code {
            continue;
        }
        for (number, lowered) in db::lowered(db, item).iter().enumerate() {
            let Some(function) = lowered
                .module
                .functions
                .first()
                .filter(|f| !f.layout.is_empty())
            else {
                continue;
            };
            let short = function.name.rsplit("::").next().unwrap_or(&function.name);
            let entry = matches!(function.kind, FunctionKind::Kernel | FunctionKind::Stage(_))
                && function.kind != FunctionKind::Stage(ir::ShaderStage::Library);
            match wanted {
                Some(name) if function.name == name || short == name => found.push((item, number)),
                None if entry => found.push((item, number)),
                _ => {}
            }
            match entry {
                true => known.push(short.to_owned()),
                false => others.push(short.to_owned()),
            }
        }
    }
    match (found.as_slice(), wanted) {
        ([found], _) => Ok(*found),
        ([first, ..], Some(_)) => Ok(*first),
        ([], Some(name)) => Err(RunError::NoItem(format!(
            "there is no function `{name}`; {}",
            match (known.as_slice(), others.as_slice()) {
                ([], []) => "the file has none that can run".to_owned(),
                ([], others) => format!("functions are: {}", others.join(", ")),
                (known, _) => format!("entry points are: {}", known.join(", ")),
            }
        ))),
        ([], None) => Err(RunError::NoItem(
            "there is no kernel and no shader stage; --item names a function, --entry NAME=STAGE makes it an entry point".into(),
        )),
        (_, None) => Err(RunError::NoItem(format!(
            "several entry points, choose one with --item: {}",
            known.join(", ")
        ))),
    }
}

/// Runs a function as described.
pub fn run(
    db: &Database,
    file: File,
    request: &Request<'_>,
    progress: &mut impl Progress,
    checkpoint: &dyn Checkpoint,
) -> Result<(StoredProfile, Ran), RunError> {
    let wanted = request.item.or(request.description.item.as_deref());
    let (item, number) = find(db, file, wanted)?;
    let lowered = db::lowered(db, item);
    let Some(lowered) = lowered.get(number) else {
        return Err(RunError::NoItem("the function could not be lowered".into()));
    };
    let Some(function) = lowered.module.functions.first() else {
        return Err(RunError::NoItem("the function could not be lowered".into()));
    };
    let warp_size = request
        .description
        .launch
        .warp_size
        .unwrap_or_else(|| lanes_of(function, request.warp_size));
    let launched = described(
        &lowered.module,
        request.description,
        warp_size,
        request.directory,
    )?;
    let launch = &launched.launch;
    let threads: u64 = launch.block.iter().map(|&n| u64::from(n)).product::<u64>() * launched.runs;
    let stream = match threads > LONG && !request.every {
        true => Stream::Convergent(request.schedule),
        false => Stream::Every,
    };
    progress.starts(launched.runs);
    let mut watched = Watched {
        recorder: Recorder::new(function, stream),
        progress,
        last: None,
        done: 0,
        lengths: lowered.module.functions.iter().map(lengths).collect(),
        blocks: 0,
        instructions: 0,
        bound: launch.limits.steps,
    };
    if let Some(iterations) = request.iterations {
        watched.recorder.over_iterations(function, iterations);
    }
    let processor = db::processor(db, crate::program::settings(db, file));
    let caches = timing(processor).and_then(|timing| timing.caches);
    if let Some(caches) = caches.as_ref().filter(|_| warp_size == 1) {
        watched
            .recorder
            .through_caches(&lowered.module, launch, caches);
    }
    let outcome = run_with(&lowered.module, launch, &mut watched, checkpoint);
    if let Some(error) = &outcome.error {
        let place = error.place().and_then(|place| {
            let at = place_of_error(db, file, item, function, place.loc)?;
            Some(format!(
                "{at}, lane {} of warp {} of workgroup {:?}",
                place.lane, place.warp, place.workgroup
            ))
        });
        return Err(RunError::Execution {
            message: beyond(error, function, request.description, launch, &outcome)
                .unwrap_or_else(|| error.to_string()),
            place,
        });
    }
    let windows = watched.recorder.take_windows();
    let (recorded, branches) = watched.recorder.finish_with_branches();
    let lanes = recorded.values.iter().map(|(_, counts)| counts.lanes).sum();
    let profiled = recorded
        .values
        .iter()
        .map(|(_, counts)| counts.profiled)
        .sum();
    let positions = |loc| place_of(db, file, item, function, loc);
    let mut stored: StoredItem = item_of(function, item.ordinal(db), &recorded, &positions);
    set_lines(db, file, item, function, &mut stored);
    stored.branches = stored_branches(function, &branches);
    if !recorded.misses.is_empty() {
        stored.caches = processor.name.to_string();
    }
    let windows = request.iterations.zip(windows);
    stored.windows = windows.map(|(iterations, (numbers, profile))| {
        stored_windows(function, iterations, &numbers, &profile)
    });
    let path = file.path(db);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let text = crate::program::text(file.source(db));
    let mut notes: Vec<String> = Vec::new();
    for event in &outcome.events {
        let note = format!("{} ({} times)", event.kind, event.count);
        let at = place_of_error(db, file, item, function, event.place.loc);
        notes.push(at.map_or(note.clone(), |at| format!("{at}: {note}")));
    }
    let profile = StoredProfile {
        origin: Origin {
            kind: "interpreter".into(),
            inputs: request.inputs.clone(),
            sampled: launched.runs,
            of: launched.of,
        },
        items: vec![stored],
        ..StoredProfile::new(&name, text, launch.warp_size)
    };
    let ran = Ran {
        item: function.name.to_string(),
        runs: launched.runs,
        of: launched.of,
        steps: outcome.steps,
        threads,
        open: launched.open,
        notes,
        lanes,
        profiled,
        branches,
    };
    Ok((profile, ran))
}

/// The predictions that the editor shows of a run on one lane.
fn stored_branches(function: &ir::Function, ran: &RecordedBranches) -> Vec<StoredBranch> {
    let design = Design::new(Direction::Meta(MetaSizes::default(), Local::Plain));
    let Some(predicted) = predicted(function, ran, &design) else {
        return Vec::new();
    };
    let branches = predicted.branches.iter().map(|branch| StoredBranch {
        block: branch.block.0,
        executed: branch.counts.executed,
        taken: branch.counts.taken,
        mispredicted: branch.counts.mispredicted,
        after: branch.after.ok(),
    });
    branches.collect()
}

fn place_of_error(
    db: &Database,
    file: File,
    item: Item<'_>,
    function: &ir::Function,
    loc: ir::Loc,
) -> Option<String> {
    let (id, span) = crate::program::absolute(db, file, item, function, loc)?;
    let of = crate::program::unit_file(db, file, id)?;
    let (line, column) = db::line_index(db, of).line_column(span.start);
    let name = of
        .path(db)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    Some(format!("{name}:{}:{}", line + 1, column + 1))
}

/// Puts the items of one profile into another of the same source. Newer counts of an item replace older ones, or are `added` to
/// them where the code is the same.
pub fn merge(into: &mut StoredProfile, newer: StoredProfile, added: bool) {
    let mut origin = newer.origin;
    for item in newer.items {
        let same = |known: &StoredItem| (&known.name, known.ordinal) == (&item.name, item.ordinal);
        let known = into.items.iter_mut().find(|known| same(known));
        // Paths and counts of edges alone can't be added.
        let alike = |known: &StoredItem| {
            known.code == item.code && known.edges.is_empty() == item.edges.is_empty()
        };
        match known.filter(|known| added && alike(known)) {
            Some(known) => {
                aggregate(known, &item);
                let before = &into.origin;
                if !before.inputs.is_empty() {
                    origin.inputs = format!("{}, {}", before.inputs, origin.inputs);
                }
                origin.sampled = origin.sampled.saturating_add(before.sampled);
                origin.of = origin.of.saturating_add(before.of);
            }
            None => {
                into.items.retain(|known| !same(known));
                into.items.push(item);
            }
        }
    }
    into.items
        .sort_by(|a, b| (&a.name, a.ordinal).cmp(&(&b.name, b.ordinal)));
    into.source = newer.source;
    into.origin = origin;
}
