//! A definition moved behind the peak, next to its first use, or into the branch that alone reads the variable.
//!
//! ```text
//! float w = weights[i];                (the peak)
//! (the peak)                    ->     float w = weights[i];
//! out[i] = sum * w;                    out[i] = sum * w;
//! ```
//!
//! The definition passes statements that change none of its operands, in the text of its block and of the
//! branches further in; it never enters a loop, where it would be executed again and again.

use super::super::effects::{Effects, inner_statements};
use super::super::emit::{all_statements, full_span};
use super::super::flow::Edit;
use super::super::permutations;
use super::expression::Reads;
use super::scene::{Definition, Scene, holds, index, is_loop};
use super::{Refusal, Rewriting, Subject};
use ir::lower::c_family::visit;
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::*;

pub(super) fn rewrite(scene: &Scene<'_>, subjects: &[Subject]) -> Result<Rewriting, Refusal> {
    let made = Rewriting::default().of_each(subjects, &mut |subject, made| {
        let (name, edits) = variable(scene, subject, &made.names)?;
        made.names.push(name);
        made.edits.extend(edits);
        Ok(())
    })?;
    Ok(made.joined())
}

fn variable(
    scene: &Scene<'_>,
    subject: &Subject,
    moved: &[SmolStr],
) -> Result<(SmolStr, Vec<Edit>), Refusal> {
    let definition = scene.definition(subject.declared)?;
    let name = definition.name.clone();
    let stmt = definition.stmt();
    if scene.source.in_macro(stmt.span) {
        return Err(Refusal::Macro(name));
    }
    if !definition.is_declaration {
        return Err(Refusal::NoValue(name));
    }
    if let StmtKind::Declaration(declaration) = &stmt.kind
        && declaration.declarators.len() > 1
    {
        return Err(Refusal::Together(name));
    }
    let reads = scene.reads(&definition)?;
    let target = target(scene, &definition)?;
    let passed = Span::new(stmt.span.end, target.start.max(stmt.span.end));
    let elsewhere = permutations::mentioned(scene.source, &scene.names, scene.body.span);
    if scene.has_directive(passed) || elsewhere.iter().any(|(_, id)| *id == definition.id) {
        return Err(Refusal::Directive(name));
    }
    operands(scene, &definition, &reads, moved, passed, target)?;
    if reads.loads > 0 || reads.written.is_some() {
        still(scene, &definition, passed)?;
    }
    let (cut, text) = lifted(scene, full_span(stmt));
    Ok((
        name,
        vec![(cut, String::new()), scene.before(target, &[text])],
    ))
}

/// The statement before which the definition comes to stand.
fn target(scene: &Scene<'_>, definition: &Definition<'_>) -> Result<Span, Refusal> {
    let name = || definition.name.clone();
    let declared = scene.names.variable(definition.id).declared;
    let peak = scene.peak();
    let uses = scene.names.places.iter();
    let uses: Vec<Span> = uses
        .filter(|(place, id)| *id == definition.id && *place != declared)
        .map(|(place, _)| *place)
        .collect();
    if uses.is_empty() || peak.end <= declared.start {
        return Err(Refusal::NotReadLater(name()));
    }
    if let Some(place) = uses.iter().find(|place| place.start < peak.end) {
        return Err(match holds(peak, *place) {
            true => Refusal::ReadAtPeak(name()),
            false => Refusal::ReadBefore(name()),
        });
    }
    let mut block = definition.block;
    loop {
        let at = uses.iter().filter_map(|place| index(block, *place)).min();
        let at = at.ok_or(Refusal::NoVariable)?;
        let stmt = &block.statements[at];
        let alone = uses.iter().all(|place| holds(stmt.span, *place));
        let inner = match alone {
            true => branch(stmt, &uses),
            false => None,
        };
        match inner {
            Some(next) => block = next,
            None if holds(stmt.span, peak) => {
                return Err(match is_loop(stmt) {
                    true => Refusal::ReadInLoop(name()),
                    false => Refusal::NoBraces(name()),
                });
            }
            None => return Ok(full_span(stmt)),
        }
    }
}

/// The block of a branch, outside of loops, that holds all of the uses.
fn branch<'s>(stmt: &'s Stmt, uses: &[Span]) -> Option<&'s Block> {
    let mut stmt = stmt;
    loop {
        if is_loop(stmt) || matches!(stmt.kind, StmtKind::Switch { .. }) {
            return None;
        }
        if let StmtKind::Block(block) = &stmt.kind {
            return Some(block);
        }
        let inner = inner_statements(stmt);
        stmt = inner
            .into_iter()
            .find(|each| uses.iter().all(|place| holds(each.span, *place)))?;
    }
}

/// The operands of the definition are the same behind the statements that it passes, and takes no register in its place.
fn operands(
    scene: &Scene<'_>,
    definition: &Definition<'_>,
    reads: &Reads,
    moved: &[SmolStr],
    passed: Span,
    target: Span,
) -> Result<(), Refusal> {
    let places = [target];
    let name = || definition.name.clone();
    for id in &reads.variables {
        let operand = scene.names.variable(*id).name.clone();
        if scene.changes(*id, passed) {
            return Err(Refusal::Changes {
                name: name(),
                operand,
            });
        }
        if scene.declares(&operand, Some(*id), passed, &places) {
            return Err(Refusal::Shadowed {
                name: name(),
                operand,
            });
        }
        if !scene.is_there(*id) || moved.contains(&operand) {
            return Err(Refusal::OperandDies {
                name: name(),
                operand,
            });
        }
    }
    // Its own name means another variable on the way.
    if scene.redeclares(&definition.name, passed) {
        return Err(Refusal::Shadowed {
            name: name(),
            operand: name(),
        });
    }
    let mut others = reads.others.iter();
    match others.find(|other| scene.declares(other, None, passed, &places)) {
        Some(other) => Err(Refusal::Shadowed {
            name: name(),
            operand: other.clone(),
        }),
        None => Ok(()),
    }
}

/// Checks that nothing is stored, and nobody waited for, in the statements that a load passes.
fn still(scene: &Scene<'_>, definition: &Definition<'_>, passed: Span) -> Result<(), Refusal> {
    let mut effects = Effects::default();
    visit::block(scene.body, &mut |e| {
        if passed.start <= e.span.start && e.span.start < passed.end {
            effects.merge(&scene.source.own(&scene.names, e, 0));
        }
    });
    let mut all = Vec::new();
    for stmt in &scene.body.statements {
        all_statements(stmt, &mut all, 0);
    }
    let assembly = all
        .iter()
        .any(|stmt| matches!(stmt.kind, StmtKind::Asm(_)) && holds(passed, stmt.span));
    let stores = effects.writes
        || effects.volatile
        || effects.barrier
        || effects.cross_lane
        || effects.unknown.is_some()
        || assembly;
    match stores {
        true => Err(Refusal::Stores(definition.name.clone())),
        false => Ok(()),
    }
}

/// A statement with the comment behind it, and the text to cut so that no empty line is left.
fn lifted(scene: &Scene<'_>, stmt: Span) -> (Span, String) {
    let source = scene.source;
    match source
        .ends_line(stmt.end)
        .filter(|_| source.begins_line(stmt.start))
    {
        Some(end) => {
            let rest = source
                .text
                .get((end + source.start) as usize..)
                .unwrap_or("");
            let newline = match rest.starts_with("\r\n") {
                true => 2,
                false => u32::from(rest.starts_with('\n')),
            };
            let text = source.slice(Span::new(stmt.start, end)).trim_end();
            (
                Span::new(source.line(stmt.start).start, end + newline),
                text.to_owned(),
            )
        }
        None => (stmt, source.slice(stmt).to_owned()),
    }
}
