//! The lines of the file with the facts about each: classes of occurrences, hints, shares of cycles, and
//! facts with their causes.

use super::model::{FactRow, LineRow};
use crate::db::{self, Db, File, Item};
use crate::derive::accesses::is_wasteful;
use crate::derive::costs::{Costs, by_line, costs as costs_of};
use crate::derive::parts::{self, Part};
use crate::derive::zeros::rows as rows_of_zeros;
use crate::documents::line_column;
use crate::documents::{Encoding, line_text, place_at};
use crate::program::{self, Language, own_items};
use crate::views::report::CauseRow;
use crate::views::text::class_name;
use crate::views::tokens::{TokenType, tokens};
use crate::views::{costs, hints, reasons, text, zeros};
use facts::{Class, words};
use ir::{BindingKind, BranchKind, Function, Loc, Space};
use syntax::{FileId, LineIndex, Span};

/// Steps of a chain of causes.
const MOST_STEPS: usize = 6;
/// Facts of a file with their chains, and facts at all: a page has a bounded size.
const MOST_CHAINS: usize = 2_500;
const MOST_FACTS: usize = 9_000;
/// Characters of a line.
const LONGEST_LINE: usize = 2_000;

/// Places of an item in the file.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    pub(super) db: &'a dyn Db,
    pub(super) file: File,
    pub(super) item: Item<'a>,
}

impl Places<'_> {
    /// A place of the file itself.
    pub(super) fn in_file(&self, function: &Function, loc: Loc) -> Option<Span> {
        let (id, span) = program::absolute(self.db, self.file, self.item, function, loc)?;
        (id == FileId::MAIN && !span.is_empty()).then_some(span)
    }
    pub(super) fn line_column(&self, offset: u32) -> (u32, u32) {
        let source = program::text(self.file.source(self.db));
        line_column(source, db::line_index(self.db, self.file), offset)
    }
    /// A place of any file: the name of another one, line and column.
    pub(super) fn anywhere(
        &self,
        function: &Function,
        loc: Loc,
    ) -> Option<(Option<String>, u32, u32)> {
        let (id, span) = program::absolute(self.db, self.file, self.item, function, loc)?;
        if span.is_empty() {
            return None;
        }
        if id == FileId::MAIN {
            let (line, column) = self.line_column(span.start);
            return Some((None, line, column));
        }
        let of = program::unit_file(self.db, self.file, id)?;
        let source = program::text(of.source(self.db));
        let (line, column) = line_column(source, db::line_index(self.db, of), span.start);
        Some((Some(name_of(self.db, of)), line, column))
    }
    /// Returns the text there, on one line.
    pub(super) fn short(&self, span: Span, limit: usize) -> String {
        let source = program::text(self.file.source(self.db));
        let written = source.get(span.start as usize..span.end as usize);
        let words: Vec<&str> = written.unwrap_or("").split_whitespace().collect();
        text::shortened(&words.join(" "), limit)
    }
}

/// The name of a file without its directories.
pub(super) fn name_of(db: &dyn Db, file: File) -> String {
    let name = file.path(db).file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// All lines, and the facts that were left out of them.
pub(super) fn lines(db: &dyn Db, file: File) -> (Vec<LineRow>, Vec<String>) {
    let source = program::text(file.source(db));
    let index = db::line_index(db, file);
    let count = match source.ends_with('\n') {
        true => index.line_count().saturating_sub(1),
        false => index.line_count(),
    };
    let row = |line: u32| LineRow {
        text: text::shortened(line_text(source, index, line).trim_end(), LONGEST_LINE),
        ..LineRow::default()
    };
    let mut rows: Vec<LineRow> = (0..count).map(row).collect();
    // A function of C has one lane: classes say nothing there.
    let lanes = file.language(db) != Language::C;
    spans(db, file, source, index, lanes, &mut rows);
    let whole = Span::new(0, source.len() as u32);
    let switches = &file.settings(db).view(db).hints;
    for hint in hints::hints(db, file, whole, switches) {
        if let Some(row) = rows.get_mut(index.line_column(hint.offset).0 as usize) {
            if !row.hint.is_empty() {
                row.hint.push_str(" · ");
            }
            row.hint
                .push_str(hint.label.trim().trim_start_matches(": "));
        }
    }
    let mut teller = Teller {
        db,
        file,
        source,
        index,
        rows,
        facts: 0,
        chains: 0,
    };
    for (place, item) in own_items(db, file) {
        for (number, part) in parts::parts(db, item).iter().enumerate().filter(|_| lanes) {
            teller.values(item, place.start, part);
            teller.branches(place.start, part);
            teller.accesses(place.start, part);
            let found = costs_of(db, item).get(number).and_then(Option::as_ref);
            if let Some(found) = found {
                teller.costs(place.start, found);
            }
        }
    }
    teller.zeros();
    let mut notes = Vec::new();
    if teller.facts > MOST_FACTS {
        notes.push(format!(
            "the page has {MOST_FACTS} facts of lines, {} more are left out",
            teller.facts - MOST_FACTS
        ));
    }
    (teller.rows, notes)
}

/// The highlighted parts of a text: classes of variables, macros, text that conditionals exclude.
fn spans(
    db: &dyn Db,
    file: File,
    source: &str,
    index: &LineIndex,
    lanes: bool,
    rows: &mut [LineRow],
) {
    for token in tokens(db, file, None) {
        let start = place_at(source, index, token.span.start, Encoding::Utf16);
        let end = place_at(source, index, token.span.end, Encoding::Utf16);
        let Some(row) = rows.get_mut(start.line as usize) else {
            continue;
        };
        let kind = match (token.class, token.kind) {
            (Some(_), _) if !lanes => continue,
            (Some(class), _) => {
                let mark = row.mark.map_or(Class::Uniform, class_of);
                row.mark = Some(class_name(class.max(mark)));
                class_name(class)
            }
            (None, TokenType::Macro) => "macro",
            (None, _) => "inactive",
        };
        let cut = start.line != end.line || end.column as usize > LONGEST_LINE;
        if !cut && end.column > start.column {
            row.spans.push((start.column, end.column, kind));
        }
    }
}

fn class_of(name: &str) -> Class {
    match name {
        "affine" => Class::Affine,
        "divergent" => Class::Divergent,
        "unknown" => Class::Unknown,
        _ => Class::Uniform,
    }
}

struct Teller<'a> {
    db: &'a dyn Db,
    file: File,
    source: &'a str,
    index: &'a LineIndex,
    rows: Vec<LineRow>,
    facts: usize,
    chains: usize,
}

impl Teller<'_> {
    fn tell(&mut self, offset: u32, fact: FactRow) {
        let line = self.index.line_column(offset).0 as usize;
        let Some(row) = self.rows.get_mut(line) else {
            return;
        };
        if row.facts.iter().any(|known| known.text == fact.text) {
            return;
        }
        self.facts += 1;
        if self.facts <= MOST_FACTS {
            row.facts.push(fact);
        }
    }

    fn values(&mut self, item: Item<'_>, start: u32, part: &Part<'_>) {
        let language = zeros::language(self.db, self.file);
        for &number in &part.rows.values {
            let Some(value) = part.rows.occurrences.get(number as usize) else {
                continue;
            };
            if !hints::written(self.source, start, value) {
                continue;
            }
            // The mark of the line says as much.
            let told = value.form.is_empty() || value.form.is_name(&value.name);
            if value.class == Class::Uniform && told && value.kind != BindingKind::Read {
                continue;
            }
            let mut text = format!("`{}` is **{}**", value.name, class_name(value.class));
            if !told {
                text += &format!(": `{}`", text::shortened(&value.form.to_string(), 120));
            }
            if value.class > Class::Uniform {
                let scope = text::scope_phrase(value.uniform_at, language);
                text += &format!("; {scope}");
            }
            if value.kind == BindingKind::Read {
                text += " here";
            }
            if value.assumed {
                text += " (by an assumption)";
            }
            let mut because = Vec::new();
            if let Some(worst) = value.worst.filter(|_| value.class > Class::Affine)
                && self.chains < MOST_CHAINS
            {
                self.chains += 1;
                let (db, file) = (self.db, self.file);
                let steps = program::chain(
                    db,
                    file,
                    item,
                    part.function,
                    part.facts,
                    worst,
                    value.block,
                );
                because = (steps.iter().take(MOST_STEPS))
                    .map(|step| self.cause(&reasons::clause(&step.reason), step.place))
                    .collect();
            }
            let fact = FactRow {
                kind: class_name(value.class),
                text,
                because,
            };
            self.tell(start + value.span.start, fact);
        }
        for (span, reason) in &part.rows.unknowns {
            let fact = plain("unknown", format!("not understood: {reason}"));
            self.tell(start + span.start, fact);
        }
    }

    fn cause(&self, text: &str, place: Option<(FileId, Span)>) -> CauseRow {
        let found = place.and_then(|(id, span)| {
            let of = program::unit_file(self.db, self.file, id)?;
            let source = program::text(of.source(self.db));
            let at = line_column(source, db::line_index(self.db, of), span.start);
            Some(((id != FileId::MAIN).then(|| name_of(self.db, of)), at))
        });
        CauseRow {
            text: text.to_owned(),
            file: found.as_ref().and_then(|(file, _)| file.clone()),
            line: found.as_ref().map(|(_, (line, _))| *line),
            column: found.as_ref().map(|(_, (_, column))| *column),
        }
    }

    fn branches(&mut self, start: u32, part: &Part<'_>) {
        let language = zeros::language(self.db, self.file);
        let target = part.facts.options.machine.name.clone();
        for branch in &part.rows.branches {
            if matches!(branch.kind, BranchKind::Loop | BranchKind::Implied) {
                continue;
            }
            let text = text::branch_long(branch, language, &target);
            let fact = plain(class_name(branch.class), text);
            self.tell(start + branch.loc.span.start, fact);
        }
        for each in &part.rows.loops {
            let fact = plain(class_name(each.trip), text::loop_long(each));
            self.tell(start + each.loc.span.start, fact);
        }
    }

    fn accesses(&mut self, start: u32, part: &Part<'_>) {
        let accesses = part.rows.accesses.iter();
        for access in accesses.filter(|access| access.space != Space::Local) {
            let kind = match is_wasteful(access) {
                true => "wasteful",
                false => "access",
            };
            let text = text::access_long(access, part.rows.lanes);
            self.tell(start + access.loc.span.start, plain(kind, text));
        }
    }

    fn costs(&mut self, start: u32, found: &Costs) {
        let cost = &found.cost;
        let all = cost.total.cycles.max(1.0);
        for (line, each) in by_line(cost, self.index, start) {
            let share = 100.0 * each.total.cycles / all;
            let offset = self.index.line_start(line);
            if let Some(row) = self.rows.get_mut(line as usize)
                && share >= 0.5
            {
                row.share = Some((share * 10.0).round() / 10.0);
                let (label, unit) = (costs::line_label(&each), each.total.limit().0.name());
                let text = format!(
                    "{label}, {share:.0} % of the function, limited by {unit} *(estimate, {})*",
                    cost.machine
                );
                self.tell(offset, plain("cost", text));
            }
        }
    }

    fn zeros(&mut self) {
        let language = zeros::language(self.db, self.file);
        let (warp, rows) = (words::warp(language), rows_of_zeros(self.db, self.file));
        for row in rows.iter().filter(|row| row.zeros > 0) {
            let share = zeros::percent(row.share());
            let text = format!(
                "`{}` is **0 in {share} of {warp}s**, of {} *(profile)*",
                row.name, row.executions
            );
            self.tell(row.span.start, plain("zero", text));
        }
    }
}

fn plain(kind: &'static str, text: String) -> FactRow {
    FactRow {
        kind,
        text,
        because: Vec::new(),
    }
}
