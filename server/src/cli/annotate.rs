//! `lockstep annotate`: the source with facts in the right margin. Left of a line stand its number and a
//! glyph for the worst class that is written in it; right of the code the facts, aligned if the code is short
//! enough.
//!
//! ```text
//! kernel.cu · method full · scope warp of 32 lanes · = uniform · / affine · ~ divergent · ? unknown
//!  12 ~ float v = in[4 * i];              v divergent · in: stride 16 B: 16 sectors, ideal 4
//! ```
//!
//! For C, it shows the loops and the bounds of their interval; for IA-64 assembly, the cost of blocks and the
//! groups that wait.

use super::{AnnotateArgs, CliError, input};
use crate::config::{self, Level};
use crate::db::{self, Database};
use crate::derive::costs::{by_line, costs as costs_of};
use crate::derive::parts::{self, Part};
use crate::derive::registers::of_costs;
use crate::derive::rows::rows_of;
use crate::documents::line_text;
use crate::program::{self, Language};
use crate::views::{self, diagnostics, text};
use anstyle::{AnsiColor, Style};
use facts::{AccessClass, Class};
use std::io::Write;
use syntax::Span;

/// Code beyond this column pushes its note to the right.
const WIDEST: usize = 92;
const TAB: usize = 4;

const UNIFORM: Style = AnsiColor::Green.on_default();
const AFFINE: Style = AnsiColor::Cyan.on_default();
const DIVERGENT: Style = AnsiColor::Yellow.on_default();
const UNKNOWN: Style = AnsiColor::Magenta.on_default();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const ERROR: Style = AnsiColor::Red.on_default().bold();
const COST: Style = AnsiColor::Blue.on_default();
const DIM: Style = Style::new().dimmed();

#[derive(Default, Clone)]
struct Margin {
    worst: Option<Class>,
    notes: Vec<(Style, String)>,
    /// A finding, with the column of its caret.
    below: Vec<(Style, usize, String)>,
}

pub(super) fn annotate(args: &AnnotateArgs) -> Result<u8, CliError> {
    let mut db = Database::default();
    let file = input::open_with_processor(&mut db, &args.file, &args.analysis)?;
    let source = program::text(file.source(&db));
    let lines = db::line_index(&db, file);
    let mut margins = vec![Margin::default(); lines.line_count() as usize];
    let line_of = |offset: u32| lines.line_column(offset).0 as usize;
    let mut kernels = 0;
    let shown = Shown {
        all: args.all,
        branch_cycles: file.settings(&db).view(&db).hints.branch_cycles,
        summaries: views::lens::lenses(&db, file),
    };
    for (place, item) in program::own_items(&db, file) {
        for part in parts::parts(&db, item) {
            kernels += 1;
            notes_of(&mut margins, source, place.start, &part, &line_of, &shown);
        }
    }
    let explicit = matches!(file.language(&db), Language::C | Language::Ia64);
    if explicit {
        groups(&mut margins, &db, file, args.all, &line_of);
    }
    if args.costs {
        costs(&mut margins, &db, file, &line_of);
    }
    for diagnostic in diagnostics::diagnostics(&db, file) {
        let style = match diagnostic.level {
            Level::Error => ERROR,
            Level::Warning => WARNING,
            _ => DIM,
        };
        let level = views::report::level_name(diagnostic.level);
        let (line, column) = lines.line_column(diagnostic.span.start);
        if let Some(margin) = margins.get_mut(line as usize) {
            let code = line_text(source, lines, line);
            let before = code.get(..column as usize).unwrap_or_default();
            let text = format!("{level}[{}]: {}", diagnostic.code, diagnostic.message);
            margin.below.push((style, width(&expanded(before)), text));
        }
    }
    let options = &program::settings(&db, file).analysis(&db).options;
    let header = format!(
        "{} · method {} · scope {}{} · = uniform · / affine · ~ divergent · ? unknown",
        input::shown(file.path(&db)).display(),
        config::method_name(options.method),
        config::scope_name(options.scope),
        match options.scope {
            facts::Scope::Subgroup => format!(" of {} lanes", options.warp_size),
            _ => String::new(),
        }
    );
    let header = match explicit {
        true => format!(
            "{} · {} · cycles are estimates, caches hit",
            input::shown(file.path(&db)).display(),
            crate::derive::sets::processor_name(&db, file)
        ),
        false => header,
    };
    let within = match &args.item {
        Some(name) => {
            let items = program::own_items(&db, file);
            let mut named = items
                .iter()
                .filter(|(_, item)| program::is_named(item.name(&db), name));
            // A declaration in front of the function has no code.
            let place = named.find(|(_, item)| item.holds(&db).code);
            let (place, _) =
                place.ok_or_else(|| input::no_such_item(&db, file, &args.file, name))?;
            line_of(place.start)..line_of(place.end) + 1
        }
        None => 0..margins.len(),
    };
    write(&header, source, lines, &margins, within)?;
    if kernels == 0 && !explicit {
        eprintln!(
            "{}: no function of a kernel or shader was found",
            args.file.display()
        );
    }
    Ok(0)
}

/// Loops of C; blocks of assembly and groups that wait, with `all` the cycle of each group.
fn groups(
    margins: &mut [Margin],
    db: &Database,
    file: db::File,
    all: bool,
    line_of: &impl Fn(u32) -> usize,
) {
    let mut note = |offset: u32, text: String| {
        if let Some(margin) = margins.get_mut(line_of(offset)) {
            margin.notes.push((COST, text));
        }
    };
    let processor = &crate::derive::sets::processor_name(db, file);
    if crate::derive::sets::processor(db, file).is_some() {
        for row in views::set_loops::rows(db, file, None) {
            if !row.is_inlined() {
                let title = views::set_loops::title(&row, processor);
                note(row.span.start, title);
            }
        }
        for hint in views::spilled::hints(db, file, all, &|_| 0) {
            note(hint.about, hint.label.trim().to_owned());
        }
    } else if file.language(db) == Language::C {
        let rows = views::loops::rows(db, file, None);
        for row in rows.iter().filter(|row| !row.is_inlined()) {
            note(row.span.start, views::loops::title(&row.report, processor));
        }
    }
    let shown = match all {
        true => config::CostHints::All,
        false => config::CostHints::Hot,
    };
    let whole = Span::new(0, program::text(file.source(db)).len() as u32);
    for hint in views::assembly::hints(db, file, whole, shown, &|_| 0) {
        note(hint.about, hint.label);
    }
}

/// Returns the costs of functions, their loops and their lines.
fn costs(margins: &mut [Margin], db: &Database, file: db::File, line_of: &impl Fn(u32) -> usize) {
    let lines = db::line_index(db, file);
    let mut note = |line: usize, text: String| {
        if let Some(margin) = margins.get_mut(line) {
            margin.notes.push((COST, text));
        }
    };
    for (place, item) in program::own_items(db, file) {
        let heads = rows_of(db, item);
        for (at, (found, rows)) in costs_of(db, item).iter().zip(heads).enumerate() {
            let (Some(found), Some(head)) = (found, rows.head) else {
                continue;
            };
            note(
                line_of(place.start + head.name_span.start),
                views::costs::lens(found, of_costs(db, item, at, found).as_ref()),
            );
            let cost = &found.cost;
            for each in &cost.loops {
                note(
                    line_of(place.start + each.span.start),
                    format!("loop {}", views::costs::loop_label(each)),
                );
            }
            for (line, each) in by_line(cost, lines, place.start) {
                if each.total.cycles >= 0.5 {
                    let share = 100.0 * each.total.cycles / cost.total.cycles.max(1.0);
                    let text = format!("{}, {share:.0} %", views::costs::line_label(&each));
                    note(line as usize, text);
                }
            }
        }
    }
}

/// The lines and loops that are worth a note.
struct Shown {
    all: bool,
    branch_cycles: u32,
    summaries: Vec<views::lens::Lens>,
}

fn notes_of(
    margins: &mut [Margin],
    source: &str,
    start: u32,
    part: &Part<'_>,
    line_of: &impl Fn(u32) -> usize,
    shown: &Shown,
) {
    let rows = part.rows;
    let summary = shown
        .summaries
        .iter()
        .find(|summary| summary.span == part.function.name_span.shifted(start))
        .map_or_else(String::new, |it| format!(": {}", it.title));
    if let Some(margin) = margins.get_mut(line_of(start + part.function.name_span.start)) {
        margin.notes.push((
            DIM,
            format!(
                "{} {}{summary}",
                views::text::kind_name(part.function.kind),
                part.function.name
            ),
        ));
    }
    for &number in &rows.values {
        let Some(value) = rows.occurrences.get(number as usize) else {
            continue;
        };
        let Some(margin) = margins.get_mut(line_of(start + value.span.start)) else {
            continue;
        };
        if value.kind == ir::BindingKind::Read && !views::hints::written(source, start, value) {
            continue;
        }
        margin.worst = margin.worst.max(Some(value.class));
        if value.class == Class::Uniform && !shown.all {
            continue;
        }
        let text = value.form.to_string();
        let form = match (value.class, text.is_empty()) {
            (Class::Affine, false) => {
                format!("{} = {}", value.name, text::shortened(&text, 48))
            }
            (Class::Uniform, false)
                if text.len() <= 24 && text.strip_suffix(".x").unwrap_or(&text) != value.name =>
            {
                format!("{} = {text}", value.name)
            }
            _ => format!("{} {}", value.name, views::text::class_name(value.class)),
        };
        let form = match value.state.is_empty() {
            true => form,
            false => format!("{} {}", value.name, value.state),
        };
        let note = match value.kind {
            ir::BindingKind::Read => format!("{form} here"),
            _ => form,
        };
        margin.notes.push((style_of(value.class), note));
    }
    for branch in &rows.branches {
        if branch.class > Class::Uniform
            && (shown.all || text::is_costly(branch, shown.branch_cycles))
            && !matches!(branch.kind, ir::BranchKind::Loop | ir::BranchKind::Implied)
            && let Some(margin) = margins.get_mut(line_of(start + branch.loc.span.start))
        {
            margin.worst = margin.worst.max(Some(branch.class));
            margin.notes.push((DIVERGENT, text::branch_note(branch)));
        }
    }
    for each in &rows.loops {
        if let Some(margin) = margins.get_mut(line_of(start + each.loc.span.start)) {
            let style = if each.trip > Class::Uniform {
                DIVERGENT
            } else {
                UNIFORM
            };
            margin.worst = margin.worst.max(Some(each.trip));
            if shown.all || each.trip > Class::Uniform {
                margin.notes.push((style, text::loop_short(each)));
            }
        }
    }
    for access in &rows.accesses {
        let conflict = access.bank_ways.is_some_and(|ways| ways > 1);
        let bad = conflict || matches!(access.class, AccessClass::Strided | AccessClass::Gather);
        if matches!(access.space, ir::Space::Local) || !bad {
            continue;
        }
        if let Some(margin) = margins.get_mut(line_of(start + access.loc.span.start)) {
            let base = if access.base.is_empty() {
                String::new()
            } else {
                format!("{}: ", access.base)
            };
            margin
                .notes
                .push((DIVERGENT, format!("{base}{}", text::access_short(access))));
        }
    }
    for (span, reason) in &rows.unknowns {
        if let Some(margin) = margins.get_mut(line_of(start + span.start)) {
            margin.worst = Some(Class::Unknown);
            margin
                .notes
                .push((UNKNOWN, format!("not understood: {reason}")));
        }
    }
}

const fn style_of(class: Class) -> Style {
    match class {
        Class::Uniform => UNIFORM,
        Class::Affine => AFFINE,
        Class::Divergent => DIVERGENT,
        Class::Unknown => UNKNOWN,
    }
}

const fn glyph(class: Class) -> char {
    match class {
        Class::Uniform => '=',
        Class::Affine => '/',
        Class::Divergent => '~',
        Class::Unknown => '?',
    }
}

fn write(
    header: &str,
    source: &str,
    lines: &syntax::LineIndex,
    margins: &[Margin],
    within: std::ops::Range<usize>,
) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(anstream::stdout().lock());
    writeln!(out, "{DIM}{header}{DIM:#}")?;
    let shown: Vec<String> = (0..lines.line_count())
        .map(|line| expanded(line_text(source, lines, line).trim_end()))
        .collect();
    let noted = shown
        .iter()
        .zip(margins)
        .take(within.end)
        .skip(within.start)
        .filter(|(_, margin)| !margin.notes.is_empty());
    let column = noted
        .map(|(code, _)| width(code))
        .filter(|&width| width <= WIDEST)
        .max()
        .unwrap_or(40)
        .max(40);
    let digits = lines.line_count().to_string().len().max(3);
    let last = if source.ends_with('\n') {
        shown.len().saturating_sub(1)
    } else {
        shown.len()
    };
    let all = shown.iter().zip(margins).take(last).enumerate();
    for (number, (code, margin)) in all.take(within.end).skip(within.start) {
        write!(out, "{DIM}{:>digits$}{DIM:#} ", number + 1)?;
        match margin.worst {
            Some(class) => {
                let style = style_of(class);
                write!(out, "{style}{}{style:#} ", glyph(class))?;
            }
            None => write!(out, "  ")?,
        }
        if margin.notes.is_empty() {
            writeln!(out, "{code}")?;
        } else {
            let gap = column.saturating_sub(width(code)) + 2;
            write!(out, "{code}{:gap$}{DIM}│{DIM:#} ", "")?;
            let mut notes: Vec<&(Style, String)> = Vec::new();
            for note in &margin.notes {
                if !notes.iter().any(|known| known.1 == note.1) {
                    notes.push(note);
                }
            }
            for (position, (style, note)) in notes.into_iter().enumerate() {
                let separator = if position == 0 { "" } else { " · " };
                write!(out, "{separator}{style}{note}{style:#}")?;
            }
            writeln!(out)?;
        }
        for (style, indent, note) in &margin.below {
            writeln!(
                out,
                "{:digits$}   {:indent$}{style}^ {note}{style:#}",
                "", ""
            )?;
        }
    }
    out.flush()
}

fn width(code: &str) -> usize {
    code.chars().count()
}

fn expanded(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut column = 0;
    for c in line.chars() {
        if c == '\t' {
            let stop = TAB - column % TAB;
            out.extend(std::iter::repeat_n(' ', stop));
            column += stop;
        } else {
            // Control characters would move the margin or worse.
            out.push(if c.is_control() { '\u{fffd}' } else { c });
            column += 1;
        }
    }
    out
}
