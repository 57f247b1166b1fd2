//! Innermost loops of C with the schedules of their kernels: which operation stands in which cycle, slot and stage.
//!
//! Slots and stages are those of the printed code, cycles those that the pipeliner decided; the kernel of a loop ends with a
//! branch that rotates registers.

use super::model::{CodeRow, LoopRow, OperationRow, ScheduleRow};
use super::set_schedule;
use super::source::Places;
use crate::db::{self, Db, File, Item};
use crate::derive::code;
use crate::derive::loops::MachineCode;
use crate::views::loops::{self, Row};
use codegen::isa::Branch;
use codegen::target::ia64::emit::{Emitted, Line};
use codegen::target::ia64::listing::{Item as Instruction, listing};
use ir::Function;
use rustc_hash::FxHashMap;
use syntax::LineIndex;
use syntax::ia64::{Document, StatementKind};

/// Slots of a cycle: how many of each kind a processor of two bundles issues at most.
const SLOTS: [&str; 5] = ["M", "I", "F", "B", "L"];

/// The loops of an item, why it has no code, and its code.
pub(super) fn loops(
    db: &dyn Db,
    file: File,
    item: Item<'_>,
    function: &Function,
) -> (Vec<LoopRow>, Vec<String>, Option<CodeRow>) {
    let (rows, refused) = match crate::derive::sets::processor(db, file) {
        Some(_) => set_schedule::loops(db, file, item, function),
        None => of_groups(db, file, item, function),
    };
    let code = code::of_key(
        db,
        file,
        &syntax::ItemKey {
            name: item.name(db).clone(),
            ordinal: item.ordinal(db),
        },
    );
    let code = code.filter(|code| code.refused.is_none() && !code.text.is_empty());
    let code = code.map(|code| CodeRow {
        target: code.target.to_string(),
        text: code.text,
        lines: (code.lines.iter())
            .map(|&(text, line)| (text + 1, line + 1))
            .collect(),
    });
    (rows, refused, code)
}

fn of_groups(
    db: &dyn Db,
    file: File,
    item: Item<'_>,
    function: &Function,
) -> (Vec<LoopRow>, Vec<String>) {
    let places = Places { db, file, item };
    let found = loops::rows_of_item(db, file, item);
    let machine = db::machine_code(db, item).as_deref();
    let mut kernels = machine.map_or_else(Vec::new, |machine| kernels(machine, function, &places));
    let processor = machine.map_or_else(String::new, |machine| machine.processor.to_string());
    let pipelined = found.iter().filter(|row| row.report.pipelined).count();
    // One kernel a loop, in the order of the code; where that does not hold, none is shown.
    if kernels.len() != pipelined {
        kernels.clear();
    }
    let mut kernels = kernels.into_iter();
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_key(|&at| found[at].report.header);
    let mut schedules: FxHashMap<usize, ScheduleRow> = FxHashMap::default();
    for at in order {
        if found[at].report.pipelined
            && let Some(kernel) = kernels.next()
        {
            schedules.insert(at, schedule(kernel, &found[at], &places));
        }
    }
    let rows = found
        .iter()
        .enumerate()
        .map(|(at, row)| loop_row(row, &processor, &places, schedules.remove(&at)));
    let rows = rows.collect();
    let refused = match machine.map(|machine| &machine.code) {
        Some(Err(reasons)) => reasons
            .iter()
            .map(|refused| refused.reason.to_string())
            .collect(),
        _ => Vec::new(),
    };
    (rows, refused)
}

fn loop_row(
    row: &Row,
    processor: &str,
    places: &Places<'_>,
    schedule: Option<ScheduleRow>,
) -> LoopRow {
    let report = &row.report;
    let (line, column) = places.line_column(row.span.start);
    let line_of = |span: syntax::Span| places.line_column(span.start).0;
    let critical = report.critical.iter().enumerate().map(|(at, link)| {
        let line = row
            .critical
            .get(at)
            .or(row.critical.first())
            .map(|&span| line_of(span));
        (link.mnemonic.to_string(), link.latency, link.distance, line)
    });
    let units = report
        .res_mii
        .iter()
        .map(|it| (it.unit, it.wanted, it.units, it.cycles));
    let reasons = row.reasons.iter().map(|said| {
        let lines: Vec<u32> = said.places.iter().map(|&span| line_of(span)).collect();
        (said.text.clone(), lines)
    });
    LoopRow {
        line,
        column,
        title: loops::title(report, processor),
        processor: processor.to_owned(),
        pipelined: report.pipelined,
        ii: report.ii,
        rec_mii: report.rec_mii,
        stages: report.stages,
        unpipelined: report.unpipelined,
        unrolled: report.unrolled,
        units: units.collect(),
        critical: critical.collect(),
        reasons: reasons.collect(),
        schedule,
    }
}

/// A kernel's operations; cycles are not yet bounded by the interval.
fn kernels(
    machine: &MachineCode,
    function: &Function,
    places: &Places<'_>,
) -> Vec<Vec<OperationRow>> {
    let Ok(emitted) = &machine.code else {
        return Vec::new();
    };
    let document = syntax::ia64::parse(&emitted.text);
    let listed = listing(&document, &emitted.text);
    let index = LineIndex::new(&emitted.text);
    let known: FxHashMap<u32, &Line> = (emitted.lines.iter().filter(|line| line.function == 0))
        .map(|line| (line.line, line))
        .collect();
    let mut out = Vec::new();
    let mut heads: Vec<usize> = Vec::new();
    for (last, branch) in listed.items.iter().enumerate() {
        let rotates = matches!(
            branch.inst.branch,
            Some(Branch::CountedRotating | Branch::WhileRotating)
        );
        // Code that recovers from a failed check repeats the branch of its kernel behind it.
        let Some(head) = rotates.then(|| head(&document, emitted, branch)).flatten() else {
            continue;
        };
        if heads.contains(&head) {
            continue;
        }
        heads.push(head);
        let first = (listed.items).partition_point(|item| (item.statement as usize) < head);
        let Some(items) = listed.items.get(first..=last) else {
            continue;
        };
        let (mut cycle, mut own) = (0, false);
        let mut rows = Vec::new();
        for item in items {
            let statement = &document.statements[item.statement as usize];
            let StatementKind::Instruction(instruction) = &statement.kind else {
                continue;
            };
            let at = index.line_column(statement.span.start).0;
            let line = known.get(&at);
            own |= line.is_some();
            cycle = line.and_then(|line| line.cycle).unwrap_or(cycle);
            if instruction.mnemonic.starts_with("nop") {
                continue;
            }
            let place = line.and_then(|line| places.in_file(function, line.loc));
            rows.push(OperationRow {
                cycle,
                slot: slot(&document, items, item),
                stage: (item.inst.predicate >= 16 && item.inst.branch.is_none())
                    .then(|| u32::from(item.inst.predicate) - 16),
                mnemonic: instruction.mnemonic.to_string(),
                text: text_of(emitted, statement.span),
                line: place.map(|span| places.line_column(span.start).0),
                critical: false,
            });
        }
        // Functions that it calls have kernels of their own.
        if own {
            out.push(rows);
        }
    }
    out
}

/// The statement that a branch leads to.
fn head(document: &Document, emitted: &Emitted, branch: &Instruction) -> Option<usize> {
    let span = document.statements.get(branch.statement as usize)?.span;
    let text = text_of(emitted, span);
    let target = text.split_whitespace().next_back()?;
    let leads = |kind: &StatementKind| matches!(kind, StatementKind::Label(name) if name == target);
    (document.statements.iter()).position(|statement| leads(&statement.kind))
}

fn text_of(emitted: &Emitted, span: syntax::Span) -> String {
    let text = emitted.text.get(span.start as usize..span.end as usize);
    text.unwrap_or("").trim().to_owned()
}

/// The kind of slot that an instruction has in its bundle.
fn slot(document: &Document, items: &[Instruction], item: &Instruction) -> String {
    let before = &document.statements[..item.statement as usize];
    let template = before
        .iter()
        .rev()
        .find_map(|statement| match &statement.kind {
            StatementKind::Template(template) => Some(template.as_str()),
            _ => None,
        });
    let number = items.iter().filter(|other| {
        other.bundle.is_some() && other.bundle == item.bundle && other.statement < item.statement
    });
    let letter =
        template.and_then(|template| template.trim_start_matches('.').chars().nth(number.count()));
    letter.map_or_else(
        || "M".to_owned(),
        |letter| letter.to_ascii_uppercase().to_string().replace('X', "L"),
    )
}

fn schedule(mut operations: Vec<OperationRow>, row: &Row, places: &Places<'_>) -> ScheduleRow {
    let report = &row.report;
    let interval = report.ii.unwrap_or(1).max(1);
    let limits = report.rec_mii >= report.min_ii();
    let lines: Vec<u32> = row
        .critical
        .iter()
        .map(|&span| places.line_column(span.start).0)
        .collect();
    for operation in &mut operations {
        // The branch closes the kernel.
        if operation.stage.is_none() {
            operation.cycle = interval - 1;
        }
        operation.cycle = operation.cycle.min(interval - 1);
        let on_line = operation.line.is_some_and(|line| lines.contains(&line));
        let opcode = operation.mnemonic.split('.').next().unwrap_or("");
        operation.critical = limits
            && on_line
            && (report.critical.iter()).any(|link| link.mnemonic.opcode().name() == opcode);
    }
    let most = |kind: &str| {
        let of_cycle = |cycle: u32| {
            (operations.iter())
                .filter(|it| it.cycle == cycle && it.slot == kind)
                .count() as u32
        };
        (0..interval).map(of_cycle).max().unwrap_or(0)
    };
    let least = |kind: &str| u32::from(kind != "L");
    let slots = SLOTS
        .iter()
        .map(|&kind| (kind.to_owned(), most(kind).max(least(kind))));
    ScheduleRow {
        interval,
        stages: report.stages,
        slots: slots.filter(|(_, count)| *count > 0).collect(),
        operations,
    }
}
