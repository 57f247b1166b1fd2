//! Innermost loops of C on a processor that issues execution sets, with the schedules of their kernels by unit: the sets of the
//! first of the iterations that a kernel holds.

use super::model::{LoopRow, OperationRow, ScheduleRow};
use super::source::Places;
use crate::db::{self, Db, File, Item};
use crate::derive::sets::SetEmission;
use crate::views::set_loops::{self, Row, resource};
use codegen::isa::sc140 as isa;
use codegen::target::sc140::capacity::Capacity;
use ir::Function;
use syntax::Span;

/// The loops of an item, and why it has no code.
pub(super) fn loops(
    db: &dyn Db,
    file: File,
    item: Item<'_>,
    function: &Function,
) -> (Vec<LoopRow>, Vec<String>) {
    let Some(made) = db::set_emission(db, item) else {
        return (Vec::new(), Vec::new());
    };
    let places = Places { db, file, item };
    let table = crate::derive::sets::processor(db, file);
    let capacity = table.and_then(|table| table.sets().map(Capacity::of));
    let rows = set_loops::rows_of_item(db, file, item);
    let rows = rows.iter().map(|row| {
        let schedule =
            capacity.and_then(|capacity| schedule(made, row, &capacity, function, &places));
        loop_row(row, &made.processor, &places, schedule)
    });
    let rows = rows.collect();
    let refused = match &made.code {
        Err(reasons) => reasons
            .iter()
            .map(|reason| reason.reason.to_string())
            .collect(),
        Ok(_) => Vec::new(),
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
    let line_of = |span: Span| places.line_column(span.start).0;
    let bounds = report.bounds.as_ref();
    let critical = bounds.iter().flat_map(|bounds| &bounds.critical);
    let critical = critical.zip(&row.critical).map(|(link, place)| {
        let name = link.variables.first();
        let name = name.map_or_else(String::new, |name| format!(" {name}"));
        let mnemonic = format!("{}{name}", link.mnemonic);
        (mnemonic, link.latency, link.distance, place.map(line_of))
    });
    let units = bounds.iter().flat_map(|bounds| &bounds.units);
    let units = units.map(|unit| {
        (
            resource(unit.resource),
            unit.wanted,
            unit.limit,
            unit.sets(),
        )
    });
    let reasons = row.reasons.iter().zip(&row.remedies).map(|(said, remedy)| {
        let advice = remedy.map(|remedy| format!("; {}", set_loops::advice(remedy)));
        let lines = said.places.iter().map(|&span| line_of(span)).collect();
        (
            format!("{}{}", said.text, advice.unwrap_or_default()),
            lines,
        )
    });
    let spills = row.spills.iter().map(|spill| {
        let cycles = match spill.cycles {
            0 => "no cycle more".to_owned(),
            1 => "1 cycle an iteration".to_owned(),
            cycles => format!("{cycles} cycles an iteration"),
        };
        (
            format!("{} waits in memory: {cycles}", spill.name),
            Vec::new(),
        )
    });
    LoopRow {
        line,
        column,
        title: set_loops::title(row, processor),
        processor: processor.to_owned(),
        pipelined: report.is_pipelined(),
        ii: Some(report.interval),
        rec_mii: bounds.map_or(0, |bounds| bounds.rec_mii),
        stages: report.stages,
        unpipelined: report.unpipelined,
        unrolled: 1,
        units: units.collect(),
        critical: critical.collect(),
        reasons: reasons.chain(spills).collect(),
        schedule,
    }
}

/// The kernel of a pipelined loop.
fn schedule(
    made: &SetEmission,
    row: &Row,
    capacity: &Capacity,
    function: &Function,
    places: &Places<'_>,
) -> Option<ScheduleRow> {
    let emitted = made.code.as_ref().ok()?;
    let report = &row.report;
    let text: Vec<&str> = emitted.text.lines().collect();
    let limits = report
        .bounds
        .as_ref()
        .filter(|bounds| bounds.rec_mii >= bounds.min_ii());
    let own = emitted.lines.iter().filter(|line| line.function == 0);
    let operations = own.filter_map(|line| {
        let (_, stage) = line
            .kernel
            .filter(|(number, _)| *number as usize == row.number)?;
        let text = text.get(line.line as usize)?.trim();
        let mut words = text.split_whitespace();
        let first = words.next()?;
        let name = match first {
            "ift" | "iff" | "ifa" => words.next()?,
            name => name,
        };
        let (known, _) = isa::Row::of(name)?;
        let on_recurrence = |link: &codegen::target::sc140::emit::CriticalLink| {
            link.loc == line.loc && link.mnemonic.to_string() == name
        };
        let place = places.in_file(function, line.loc);
        Some(OperationRow {
            cycle: line.cycle,
            slot: if known.unit == isa::Unit::Data {
                "D"
            } else {
                "A"
            }
            .to_owned(),
            stage: Some(stage),
            mnemonic: name.to_owned(),
            text: text.to_owned(),
            line: place.map(|span| places.line_column(span.start).0),
            critical: limits.is_some_and(|bounds| bounds.critical.iter().any(on_recurrence)),
        })
    });
    // The other iterations of the kernel differ in the names of registers.
    let operations: Vec<OperationRow> = operations
        .filter(|operation| operation.cycle < report.interval)
        .collect();
    (!operations.is_empty()).then(|| ScheduleRow {
        interval: report.interval,
        stages: report.stages,
        slots: vec![
            ("D".to_owned(), capacity.data),
            ("A".to_owned(), capacity.address),
        ],
        operations,
    })
}
