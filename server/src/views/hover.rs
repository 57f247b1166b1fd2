//! Facts about a place. The first line has the main fact; below it are the reasons, and the change that would
//! make the value uniform.

pub use super::model::Hover;
use super::text::class_name;
use super::{reasons, text};
use crate::db::{self, Db, File, Item};
use crate::derive::costs::of_function;
use crate::derive::parts;
use crate::derive::pressure;
use crate::derive::registers;
use crate::derive::rows::{self, Occurrence};
use crate::program::{self, Step, item_at};
use facts::{BranchFact, CauseReason, Class, FunctionFacts, words};
use ir::{Function, Language};
use syntax::{FileId, Span};

/// Steps of a cause chain that are shown.
const STEPS: usize = 12;

pub fn hover(db: &dyn Db, file: File, offset: u32) -> Option<Hover> {
    if file.language(db) == program::Language::Ia64 {
        return super::assembly::hover(db, file, offset);
    }
    if file.language(db) == program::Language::Sc140 {
        return super::sets::hover(program::text(file.source(db)), offset);
    }
    // Facts of lanes say nothing of a function that runs on one.
    let in_item = match file.language(db) {
        program::Language::C => super::branches::hover(db, file, offset)
            .or_else(|| super::spilled::hover(db, file, offset))
            .or_else(|| super::set_loops::hover(db, file, offset))
            .or_else(|| ways(db, file, offset))
            .or_else(|| super::promises::hover(db, file, offset))
            .or_else(|| profiled(db, file, offset)),
        _ => in_item(db, file, offset),
    };
    in_item.or_else(|| macro_or_include(db, file, offset))
}

/// Returns the zeros of the definition at a place, and the misses of its load, by a profile.
fn profiled(db: &dyn Db, file: File, offset: u32) -> Option<Hover> {
    crate::derive::zeros::stored(db, file)?;
    let rows = crate::derive::zeros::rows(db, file);
    let at = |span: Span| span.contains(offset) || span.end == offset;
    let span = rows.iter().map(|row| row.span).find(|&span| at(span))?;
    let markdown = super::zeros::hover(db, file, span, ir::Language::C)?;
    Some(Hover { span, markdown })
}

/// Returns the number of times that a condition held, or the hot path of a function, by a profile.
fn ways(db: &dyn Db, file: File, offset: u32) -> Option<Hover> {
    crate::derive::zeros::stored(db, file)?;
    let (place, item) = item_at(db, file, offset)?;
    let at = offset - place.start;
    let found = super::ways::hover(db, item, at);
    let (span, markdown) = found.or_else(|| super::ways::head_hover(db, file, item, at))?;
    Some(Hover {
        span: span.shifted(place.start),
        markdown,
    })
}

/// Returns the variables that fill the registers, on the line that has the mark of the peak.
fn at_peak(
    db: &dyn Db,
    file: File,
    offset: u32,
    item: db::Item<'_>,
    function: &ir::Function,
) -> Option<String> {
    let mark = pressure::mark(db, file, item, function)?;
    let lines = db::line_index(db, file);
    let line = |offset: u32| lines.line_column(offset).0;
    if line(mark.place.start) != line(offset) {
        return None;
    }
    let row = pressure::of_function(db, file, item, function)?;
    Some(super::pressure::table(&row))
}

fn in_item(db: &dyn Db, file: File, offset: u32) -> Option<Hover> {
    let (place, item) = item_at(db, file, offset)?;
    let at = offset - place.start;
    let parts::Part {
        function,
        facts,
        rows,
        ..
    } = parts::part_at(db, item, at)?;
    let mut sections = Vec::new();
    let mut span = None;
    let shows_costs = file.settings(db).view(db).hints.costs != crate::config::CostHints::Off;
    if let Some(occurrence) = rows::at_offset(rows, at) {
        span = Some(occurrence.span);
        let mut section = variable(db, file, item, function, facts, occurrence);
        if occurrence.kind != ir::BindingKind::Read {
            let span = occurrence.span.shifted(place.start);
            let zeros = super::zeros::hover(db, file, span, function.language)
                .or_else(|| super::zeros::structural(function, occurrence.span));
            if let Some(zeros) = zeros {
                section += &format!("\n\n{zeros}");
                let verdict = super::versions::verdict(db, file, item, occurrence.span);
                if let Some(verdict) = verdict {
                    section += &format!("\n\n{verdict}");
                }
            }
            if crate::derive::zeros::stored(db, file).is_some()
                && let Some(dead) = super::partly_dead::hover(db, item, occurrence.span)
            {
                section += &format!("\n\n{dead}");
            }
        }
        sections.push(section);
    }
    let around = |candidate: Span| candidate.contains(at) || candidate.end == at;
    if let Some(access) = rows
        .accesses
        .iter()
        .filter(|access| around(access.loc.span))
        .min_by_key(|access| access.loc.span.len())
    {
        span = span.or(Some(access.loc.span));
        let section = text::access_long(access, warp_size(function, facts));
        sections.push(section + &assumption(access.assumed, facts));
    }
    if span.is_none_or(|span| span.is_empty())
        || rows
            .branches
            .iter()
            .any(|branch| Some(branch.loc.span) == span)
    {
        if let Some(branch) = rows
            .branches
            .iter()
            .filter(|branch| around(branch.loc.span))
            .min_by_key(|branch| branch.loc.span.len())
        {
            span = span.or(Some(branch.loc.span));
            let mut section =
                text::branch_long(branch, function.language, &facts.options.machine.name);
            if branch.class > Class::Uniform {
                let steps = program::cause_steps(
                    db,
                    file,
                    item,
                    function,
                    facts,
                    branch.cause,
                    branch.block,
                );
                section += &why(db, file, &steps);
            }
            section += &assumption(branch.assumed, facts);
            sections.push(section);
        } else if let Some(found) = rows
            .loops
            .iter()
            .filter(|it| around(it.loc.span))
            .min_by_key(|it| it.loc.span.len())
        {
            span = span.or(Some(found.loc.span));
            let mut section = text::loop_long(found);
            if found.trip > Class::Uniform {
                let steps = program::cause_steps(
                    db,
                    file,
                    item,
                    function,
                    facts,
                    found.cause,
                    found.header,
                );
                section += &why(db, file, &steps);
            }
            section += &assumption(found.assumed, facts);
            sections.push(section);
        }
    }
    if sections.is_empty() && function.name_span.contains(at) {
        span = Some(function.name_span);
        let least = file.settings(db).view(db).hints.branch_cycles;
        let mut section = signature(function, facts, least);
        if shows_costs && let Some(costs) = of_function(db, item, function) {
            let at = registers::position(db, item, function);
            let known = at.and_then(|at| registers::of_costs(db, item, at, costs));
            section += &format!("\n\n{}", super::costs::item_hover(costs, known.as_ref()));
            if super::pressure::is_told(function.kind)
                && let Some(row) = pressure::of_function(db, file, item, function)
            {
                section += &format!("\n\n{}", super::pressure::table(&row));
            }
        }
        sections.push(section);
    } else if shows_costs && let Some(costs) = of_function(db, item, function) {
        let on_loop = rows.loops.iter().any(|it| Some(it.loc.span) == span);
        let on_loop = on_loop || span.is_none();
        if let Some((place, section)) =
            super::costs::place_hover(db, file, place.start, at, costs, on_loop)
            && (!sections.is_empty() || !place.is_empty())
        {
            span = span.or(Some(place));
            sections.push(section);
        }
    }
    // Of a variable in a condition its own facts are asked for, those of the condition at its operators.
    let on_condition =
        span.is_none_or(|span| rows.branches.iter().any(|branch| branch.loc.span == span));
    let on_name = span == Some(function.name_span);
    if (on_condition || on_name)
        && let Some(ways) = ways(db, file, offset)
    {
        let own = Span::new(ways.span.start - place.start, ways.span.end - place.start);
        span = span.or(Some(own));
        sections.push(ways.markdown);
    }
    if shows_costs && let Some(section) = at_peak(db, file, offset, item, function) {
        span = span.or(Some(Span::new(at, at)));
        sections.push(section);
    }
    if let Some((span, reason)) = rows.unknowns.iter().find(|(span, _)| around(*span))
        && (!sections.is_empty() || span.len() < 200)
    {
        sections.push(format!(
            "not understood here: {reason}; what depends on it is taken as divergent"
        ));
    }
    let span = span?;
    if sections.is_empty() {
        return None;
    }
    let markdown = sections.join("\n\n---\n\n");
    Some(Hover {
        span: span.shifted(place.start),
        markdown,
    })
}

fn variable(
    db: &dyn Db,
    file: File,
    item: Item<'_>,
    function: &Function,
    facts: &FunctionFacts,
    occurrence: &Occurrence,
) -> String {
    let mut out = format!(
        "**{}{}: {}**",
        occurrence.name,
        occurrence.part,
        class_name(occurrence.class)
    );
    if !occurrence.form.is_empty() {
        out += &format!(" `{}`", text::shortened(&occurrence.form.to_string(), 160));
    }
    out += &format!(
        " — {}",
        text::scope_phrase(occurrence.uniform_at, function.language)
    );
    if !occurrence.state.is_empty() {
        let method = crate::config::method_name(facts.options.method);
        out += &format!(" · {method}: {}", occurrence.state);
    }
    out += "\n\n";
    let scope = text::scope_word(facts.options.scope, function.language);
    let lanes = warp_size(function, facts);
    out += &format!("fact, at the scope of a {scope}");
    if facts.options.scope == facts::Scope::Subgroup {
        out += &format!(" of {lanes} lanes");
    }
    if !occurrence.type_text.is_empty() {
        out += &format!(" · `{}`", occurrence.type_text);
    }
    out += &assumption(occurrence.assumed, facts);
    if !occurrence.components.is_empty() {
        out += "\n\n| part | class | form |\n|---|---|---|\n";
        for component in occurrence.components.iter().take(16) {
            out += &format!(
                "| `{}` | {} | `{}` |\n",
                component.name,
                class_name(component.class),
                component.form
            );
        }
        out = out.replace("| `` |", "| |");
    }
    if function.kind == ir::FunctionKind::Device
        && occurrence.variable_kind == ir::VariableKind::Parameter
        && occurrence.kind != ir::BindingKind::Read
    {
        let callers = program::callers_that_differ(db, item, function, &occurrence.name);
        if !callers.is_empty() {
            out += "\n\nThe kernels in sight pass different things; the least uniform counts:\n";
            for (kernel, scope) in callers.iter().take(8) {
                out += &format!(
                    "- `{kernel}`: {}\n",
                    text::scope_phrase(*scope, function.language)
                );
            }
        }
    }
    if let Some(value) = occurrence.worst
        && occurrence.class > Class::Uniform
    {
        let steps = program::chain(db, file, item, function, facts, value, occurrence.block);
        out += &why(db, file, &steps);
        out += &format!(
            "\n\nTo make it uniform: {}",
            remedy(function.language, &steps)
        );
    }
    out
}

/// Returns the assumption of a fact beyond the source.
fn assumption(assumed: bool, facts: &FunctionFacts) -> String {
    if assumed && !facts.options.assumption.is_empty() {
        format!("\n\n*assuming {}*", facts.options.assumption)
    } else {
        String::new()
    }
}

fn why(db: &dyn Db, file: File, steps: &[Step]) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let mut out = "\n\nWhy:\n".to_owned();
    for (number, step) in steps.iter().take(STEPS).enumerate() {
        out += &format!(
            "{}. {}{}\n",
            number + 1,
            reasons::clause(&step.reason),
            place_phrase(db, file, step)
        );
    }
    if steps.len() > STEPS {
        out += &format!("\n… and {} more steps\n", steps.len() - STEPS);
    }
    out.trim_end().to_owned()
}

/// ` (line 12)`, ` (common.cuh, line 3)`.
fn place_phrase(db: &dyn Db, file: File, step: &Step) -> String {
    let Some((id, span)) = step.place else {
        return String::new();
    };
    let Some(of) = program::unit_file(db, file, id) else {
        return String::new();
    };
    let line = db::line_index(db, of).line_column(span.start).0 + 1;
    if id == FileId::MAIN {
        return format!(" (line {line})");
    }
    let name = of
        .path(db)
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    format!(" ({name}, line {line})")
}

fn remedy(language: Language, steps: &[Step]) -> String {
    let broadcast = match language {
        Language::Hlsl => "broadcast one lane's value with `WaveReadLaneFirst(x)`",
        Language::Cuda => "broadcast one lane's value with `__shfl_sync(mask, x, 0)`",
        Language::Ptx => "broadcast one lane's value with `shfl.sync.idx`",
        _ => "let one lane's value stand for all",
    };
    let last = steps.last().map(|step| &step.reason);
    if matches!(last, Some(CauseReason::WidthUnknown { .. })) {
        return "declare the block's width, as the last step says.".to_owned();
    }
    let by_branch = steps.iter().any(|step| step.reason.is_branch());
    let how = if by_branch {
        "let the branch above be decided by a uniform value, or compute both sides and select; or "
    } else {
        "compute it from block indices, parameters and constants only; or "
    };
    format!("{how}{broadcast}.")
}

fn signature(function: &Function, facts: &FunctionFacts, least: u32) -> String {
    let mut out = format!("**{}** — {}", function.name, text::kind_name(function.kind));
    if function.launch.block.iter().any(Option::is_some) {
        let axis = |size: Option<u32>| size.map_or("?".to_owned(), |size| size.to_string());
        let [x, y, z] = function.launch.block;
        out += &format!(
            ", {} {} × {} × {}",
            words::workgroup(function.language),
            axis(x),
            axis(y),
            axis(z)
        );
    }
    out += &format!(
        ", {}s of {} lanes",
        words::warp(function.language),
        warp_size(function, facts)
    );
    out += &assumption(true, facts);
    // As the lens counts: what the author wrote here, and what costs something.
    let written = |branch: &&BranchFact| {
        branch.loc.site == ir::Site(0)
            && !branch.loc.span.is_empty()
            && branch.kind != ir::BranchKind::Implied
    };
    let branches = || facts.branches.iter().filter(written);
    let divergent = || branches().filter(|branch| branch.class > Class::Uniform);
    let costly = divergent()
        .filter(|branch| text::is_costly(branch, least))
        .count();
    let cheap = divergent().count() - costly;
    out += &format!("\n\n{costly} divergent");
    if cheap > 0 {
        out += &format!(", {cheap} divergent but cheap");
    }
    out += &format!(
        " and {} uniform branches, {} accesses",
        branches()
            .filter(|branch| branch.class == Class::Uniform)
            .count(),
        facts.accesses.len()
    );
    out
}

fn warp_size(function: &Function, facts: &FunctionFacts) -> u32 {
    function.launch.warp_size.unwrap_or(facts.options.warp_size)
}

fn macro_or_include(db: &dyn Db, file: File, offset: u32) -> Option<Hover> {
    file.language(db).c_dialect()?;
    let unit = db::unit(db, file);
    if let Some(include) = unit
        .includes
        .iter()
        .find(|include| include.file == FileId::MAIN && include.span.contains(offset))
    {
        let markdown = match include.resolved.and_then(|id| unit.path(id)) {
            Some(path) => format!("includes `{path}`"),
            None => format!(
                "`{}` was not found; what it declares is unknown. `include_dirs` and `path_remap` in `lockstep.toml` say where to look.",
                include.spec
            ),
        };
        return Some(Hover {
            span: include.span,
            markdown,
        });
    }
    let (used, definition) = unit.macro_at(offset)?;
    let definition = definition?;
    let of = program::unit_file(db, file, definition.file?)?;
    let body = program::text(of.source(db))
        .get(definition.body_span.start as usize..definition.body_span.end as usize)?;
    let parameters = definition
        .parameters
        .as_ref()
        .map_or(String::new(), |names| format!("({})", names.join(", ")));
    let markdown = format!(
        "```cpp\n#define {}{parameters} {}\n```",
        definition.name,
        text::shortened(body, 400)
    );
    Some(Hover {
        span: used.name_span,
        markdown,
    })
}
