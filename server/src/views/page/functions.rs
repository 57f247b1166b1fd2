//! One function of the file with all that is known of it: figures, costs, pictures of a run, values, loops.

use super::model::{CostsRow, Figure, FunctionPage, LoopCostRow, PressureRow, RunRow, Worth};
use super::source::{Places, name_of};
use super::{activity, pictures, run, schedule, values};
use crate::db::{self, Db, File, Item, ItemPlace};
use crate::derive::costs::{Costs, Fit, Threads, costs as costs_of};
use crate::derive::parts::Part;
use crate::derive::pressure;
use crate::profile::make::Inputs;
use crate::program::{self, Language};
use crate::views::costs::{self, number};
use crate::views::lens::Lens;
use crate::views::pressure as words;
use crate::views::report::{CostRows, ItemRow};
use crate::views::text::class_name;
use codegen::machine::weights::Origin;
use ir::checkpoint::Checkpoint;
use ir::{FunctionKind, ShaderStage};
use syntax::FileId;

/// Functions of a file that run.
const MOST_RUNS: usize = 24;

/// Accesses and divergent branches of a function that are listed, and of the file.
const MOST_ACCESSES: usize = 60;
const MOST_ACTIVITIES: usize = 24;
const ACCESSES_OF_FILE: usize = 3_000;
const ACTIVITIES_OF_FILE: usize = 500;
/// Bytes of machine code.
const CODE_OF_FILE: usize = 1 << 20;

/// The amount that is shown so far.
#[derive(Default)]
pub(super) struct Told {
    runs: usize,
    accesses: usize,
    activities: usize,
    code: usize,
    pub(super) notes: Vec<String>,
}

pub(super) struct Context<'a> {
    pub(super) db: &'a dyn Db,
    pub(super) file: File,
    pub(super) inputs: &'a Inputs,
    pub(super) lenses: &'a [Lens],
    pub(super) checkpoint: &'a dyn Checkpoint,
}

impl Context<'_> {
    /// The page of a function; `row` is its entry in `analyze`.
    pub(super) fn function(
        &self,
        place: ItemPlace,
        item: Item<'_>,
        (number, part): (usize, &Part<'_>),
        row: ItemRow,
        told: &mut Told,
    ) -> FunctionPage {
        let (db, file) = (self.db, self.file);
        let places = Places { db, file, item };
        let function = part.function;
        let name_span = function.name_span.shifted(place.start);
        let own = place.file == FileId::MAIN;
        let (_, column) = match own {
            true => places.line_column(name_span.start),
            false => (0, 1),
        };
        let range = match own {
            true => {
                let span = function.span.shifted(place.start);
                // What stands above the name belongs to it: a template's head, attributes.
                let start = span.start.min(name_span.start);
                let end = span
                    .end
                    .max(name_span.end)
                    .min(place.end.max(name_span.end));
                (
                    places.line_column(start).0,
                    places.line_column(end.saturating_sub(1)).0,
                )
            }
            false => (0, 0),
        };
        let found = costs_of(db, item).get(number).and_then(Option::as_ref);
        let lens = self
            .lenses
            .iter()
            .find(|lens| own && lens.span == name_span);
        let entry = matches!(function.kind, FunctionKind::Kernel | FunctionKind::Stage(_));
        let assumed = row.assumptions;
        let mut page = FunctionPage {
            name: row.name,
            kind: row.kind,
            file: (!own)
                .then(|| program::unit_file(db, file, place.file).map(|of| name_of(db, of)))
                .flatten(),
            line: row.line,
            column,
            first_line: range.0,
            last_line: range.1.max(range.0),
            entry,
            summary: lens.map_or_else(String::new, |lens| lens.title.clone()),
            figures: found.map_or_else(Vec::new, figures),
            assumptions: assumed.clone(),
            problems: (row.problems.into_iter())
                .filter(|it| !assumed.iter().any(|text| it.message.contains(text)))
                .collect(),
            costs: row
                .costs
                .zip(found)
                .map(|(row, found)| costs_row(row, found)),
            values: values::values(db, file, item, &function.name),
            pressure: (own && entry)
                .then(|| pressure::of_function(db, file, item, function))
                .flatten()
                .map(|row| self.pressure(&row)),
            ..FunctionPage::default()
        };
        if file.language(db) == Language::C {
            (page.loops, page.refused, page.code) = schedule::loops(db, file, item, function);
            told.code += page.code.as_ref().map_or(0, |code| code.text.len());
            if told.code > CODE_OF_FILE && page.code.take().is_some() {
                let name = &page.name;
                told.notes.push(format!(
                    "the code of `{name}` is left out; `lockstep code` prints it"
                ));
            }
            return page;
        }
        self.pictures(item, (number, part), &places, told, &mut page);
        page
    }

    fn pictures(
        &self,
        item: Item<'_>,
        (number, part): (usize, &Part<'_>),
        places: &Places<'_>,
        told: &mut Told,
        page: &mut FunctionPage,
    ) {
        let (function, facts) = (part.function, part.facts);
        let warp_size = function.launch.warp_size.unwrap_or(facts.options.warp_size);
        let lowered = db::lowered(self.db, item);
        let module = lowered.get(number).map(|lowered| &lowered.module);
        let alone = match function.kind {
            FunctionKind::Kernel => None,
            FunctionKind::Stage(ShaderStage::Library) => {
                Some("an export of a library is called by others")
            }
            FunctionKind::Stage(_) => None,
            FunctionKind::Device | FunctionKind::Host => {
                Some("it is no entry point: what its callers pass is not known")
            }
        };
        let bounded = (told.runs >= MOST_RUNS).then(|| {
            format!("the page runs {MOST_RUNS} entry points of a file; `--item` names another")
        });
        let ran = match (module, alone.map(str::to_owned).or(bounded)) {
            (_, Some(why)) => {
                page.run = page.entry.then(|| RunRow {
                    refused: Some(why),
                    ..RunRow::default()
                });
                None
            }
            (None, None) => None,
            (Some(module), None) => {
                told.runs += 1;
                let watch = || pictures::watch(function, facts);
                Some(run::run(
                    module,
                    facts,
                    self.inputs,
                    &watch,
                    self.checkpoint,
                ))
            }
        };
        let watch = ran.as_ref().and_then(|ran| ran.watch.as_ref());
        let (accesses, more) = pictures::accesses(
            function,
            facts,
            warp_size,
            watch,
            places,
            MOST_ACCESSES.min(ACCESSES_OF_FILE.saturating_sub(told.accesses)),
        );
        told.accesses += accesses.len();
        page.accesses = accesses;
        let activities = told.activities;
        let mut left_out = |count: usize, what: &str| {
            if count > 0 {
                told.notes
                    .push(format!("`{}`: {count} more {what} are left out", page.name));
            }
        };
        left_out(more, "accesses");
        let most = MOST_ACTIVITIES.min(ACTIVITIES_OF_FILE.saturating_sub(activities));
        let (rows, more) = activity::activity(function, facts, watch, places, most);
        left_out(more, "divergent branches");
        told.activities += rows.len();
        page.activity = rows;
        if let Some(ran) = ran {
            let mut row = ran.row;
            let at = ran.ended_at.and_then(|loc| places.in_file(function, loc));
            row.ended_line = at.map(|span| places.line_column(span.start).0);
            page.run = Some(row);
        }
    }
}

/// Lines of the source that the panel of registers shows.
const MOST_LINES: usize = 24;
/// Variables of the peak that it shows.
const MOST_VARIABLES: usize = 12;

impl Context<'_> {
    fn pressure(&self, row: &pressure::Row) -> PressureRow {
        let mut lines: Vec<(u32, u32)> = row.lines.iter().map(|(&a, &b)| (a, b)).collect();
        lines.sort_by_key(|&(line, live)| (std::cmp::Reverse(live), line));
        let more = lines.len().saturating_sub(MOST_LINES);
        lines.truncate(MOST_LINES);
        lines.sort_unstable();
        let variables = row.variables.iter().take(MOST_VARIABLES).map(|variable| {
            (
                variable.name.clone(),
                variable.registers,
                class_name(variable.class),
                words::remedy(variable.remedy),
            )
        });
        let machine = db::machine(self.db, program::settings(self.db, self.file));
        PressureRow {
            target: match &row.figure {
                Some(_) => words::source(row.figure.as_ref()),
                None => machine.name.to_string(),
            },
            registers: row.registers,
            worth: match row.figure {
                Some(_) => Worth::Measured,
                None => Worth::Estimate,
            },
            budget: row
                .budget
                .map(|budget| words::budgeted(row.registers, &budget)),
            live: row.live,
            lines,
            more,
            variables: variables.collect(),
        }
    }
}

fn costs_row(row: CostRows, found: &Costs) -> CostsRow {
    let products = found.cost.loops.iter().map(costs::loop_label);
    let loops = row.loops.iter().zip(&found.cost.loops).zip(products);
    CostsRow {
        machine: row.machine,
        cycles: row.total.cycles,
        limited_by: row.total.limited_by,
        busy: row.total.busy.into_iter().collect(),
        lines: (row.lines.iter())
            .map(|line| (line.line, line.cost.cycles))
            .collect(),
        loops: loops
            .map(|((row, cost), product)| LoopCostRow {
                line: row.line,
                column: row.column,
                product,
                iterations: row.iterations,
                worth: match cost.from {
                    Origin::Constant => Worth::Fact,
                    Origin::Bound => Worth::Bound,
                    Origin::Profile => Worth::Measured,
                    Origin::Heuristic => Worth::Estimate,
                },
                limited_by: row.cost.limited_by,
            })
            .collect(),
    }
}

/// The numbers of a function's head.
fn figures(found: &Costs) -> Vec<Figure> {
    let cost = &found.cost;
    let target = cost.machine.to_string();
    let figure = |label, value: String, worth, note: String| Figure {
        label,
        value,
        worth,
        target: target.clone(),
        note,
    };
    let mut origin = match (cost.profiled, cost.guessed_loops) {
        (true, _) => "executions by the profile".to_owned(),
        (false, 0) => String::new(),
        (false, 1) => "1 loop's iterations are guessed".to_owned(),
        (false, more) => format!("iterations of {more} loops are guessed"),
    };
    if cost.rays > 0 {
        let comma = if origin.is_empty() { "" } else { ", " };
        origin += comma;
        origin += "rays are not counted";
    }
    let (unit, busy) = cost.total.limit();
    let mut out = vec![
        figure(
            "cycles a warp",
            format!("~{}", number(cost.total.cycles)),
            Worth::Estimate,
            origin,
        ),
        figure(
            "issue slots",
            format!("~{}", number(cost.total.slots)),
            Worth::Estimate,
            String::new(),
        ),
        figure(
            "limited by",
            unit.name().to_owned(),
            Worth::Estimate,
            format!("busy ~{} cycles", number(busy)),
        ),
    ];
    if let Some(registers) = found.registers {
        let note = "of 32 bits, a thread".to_owned();
        out.push(figure(
            "registers",
            format!("~{registers}"),
            Worth::Estimate,
            note,
        ));
    }
    if let Some(fit) = &found.fit {
        out.extend(of_fit(fit, &target));
    }
    out
}

fn of_fit(fit: &Fit, target: &str) -> Vec<Figure> {
    let (worth, note) = match fit.threads {
        Threads::Known => (Worth::Fact, "a workgroup"),
        Threads::AtMost => (Worth::Bound, "a workgroup, the declared most"),
        Threads::Assumed => (Worth::Fact, "a workgroup, in all launches in sight"),
        Threads::Stage => (Worth::Estimate, "one warp for each scheduler"),
        Threads::Guessed => (Worth::Estimate, "a workgroup, guessed"),
    };
    let threads = Figure {
        label: "threads",
        value: fit.need.threads.to_string(),
        worth,
        target: String::new(),
        note: note.to_owned(),
    };
    let shared = Figure {
        label: "shared memory",
        value: format!("{} B", fit.need.shared),
        worth: match fit.dynamic {
            true => Worth::Bound,
            false => Worth::Fact,
        },
        target: String::new(),
        note: match fit.dynamic {
            true => "and what the launch adds".to_owned(),
            false => String::new(),
        },
    };
    let words = costs::occupied(fit, "estimate");
    let note = words.split_once(": ").map_or("", |(_, rest)| rest);
    let occupancy = Figure {
        label: "occupancy",
        value: match fit.found.blocks {
            0 => "does not fit".to_owned(),
            _ => format!("{:.0} %", fit.found.percent()),
        },
        worth: Worth::Estimate,
        target: target.to_owned(),
        note: match note.is_empty() {
            true => format!("{} of {} warps", fit.found.warps, fit.found.most_warps),
            false => format!(
                "{} of {} warps, {note}",
                fit.found.warps, fit.found.most_warps
            ),
        },
    };
    match fit.threads {
        Threads::Stage => vec![occupancy],
        _ => vec![threads, shared, occupancy],
    }
}
