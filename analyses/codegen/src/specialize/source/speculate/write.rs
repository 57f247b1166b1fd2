//! The text of the evaluations, of their variable, and of the uses that read it.

use super::super::emit::full_span;
use super::super::flow::Edit;
use super::super::graph::place::{Place, inner_block, merged, placed};
use super::super::graph::region::Region;
use super::super::pressure::scene::{Scene, holds, index};
use super::super::unset::is_set;
use super::wanted::{Wanted, statements};
use super::{Evaluation, Refusal, in_any};
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::*;

/// The name of the variable, and the edits.
pub(super) fn write(
    scene: &Scene<'_>,
    wanted: &Wanted,
    region: &Region,
    evaluations: &[Evaluation],
    replaced: &[Span],
) -> Result<(SmolStr, Vec<Edit>), Refusal> {
    may_stand(scene, wanted, evaluations, replaced)?;
    let no_place = || Refusal::NoPlace(wanted.text.clone());
    let name = scene.fresh("ahead", &mut Vec::new());
    let unit = scene.source.unit(scene.body);
    let (ty, text) = (&wanted.ty, &wanted.text);
    let mut edits: Vec<Edit> = Vec::new();
    let whole = match evaluations {
        [only] => {
            let scope = only.place.scope(only.block);
            let declared = matches!(
                only.place,
                Place::Before(_) | Place::Behind(_) | Place::Opening(_) | Place::Closing(_)
            );
            declared && replaced.iter().all(|place| holds(scope, *place))
        }
        _ => false,
    };
    let line = match whole {
        true => format!("const {ty} {name} = {text};"),
        false => {
            let anchor = common(scene, region, evaluations, replaced).ok_or_else(no_place)?;
            edits.push(scene.before(anchor, &[format!("{ty} {name};")]));
            format!("{name} = {text};")
        }
    };
    for evaluation in evaluations {
        let lines = [line.clone()];
        edits.extend(placed(scene, evaluation.place, &lines, &unit).ok_or_else(no_place)?);
    }
    for place in replaced {
        edits.push((*place, name.to_string()));
    }
    let edits = merged(edits).ok_or_else(no_place)?;
    Ok((name, edits))
}

/// Operands have values and mean the same where it is evaluated, and no directive stands in between.
fn may_stand(
    scene: &Scene<'_>,
    wanted: &Wanted,
    evaluations: &[Evaluation],
    replaced: &[Span],
) -> Result<(), Refusal> {
    let text = || wanted.text.clone();
    let places: Vec<Span> = evaluations
        .iter()
        .map(|evaluation| Span::at(evaluation.place.offset()))
        .collect();
    let all = places.iter().chain(replaced);
    let passed = all.copied().reduce(Span::to).unwrap_or_default();
    if scene.has_directive(passed) {
        return Err(Refusal::Directive(text()));
    }
    let shadowed = |operand: &SmolStr| Refusal::Shadowed {
        text: text(),
        operand: operand.clone(),
    };
    for of in &wanted.operands {
        let variable = scene.names.variable(*of);
        if scene.declares(&variable.name, Some(*of), scene.body.span, &places) {
            return Err(shadowed(&variable.name));
        }
        let set = |evaluation: &&Evaluation| {
            evaluation.serves
                || before(scene, evaluation).is_some_and(|(block, at)| {
                    is_set(scene.source, &scene.names, scene.body, block, at, *of)
                })
        };
        if !evaluations.iter().all(|evaluation| set(&evaluation)) {
            return Err(Refusal::Unset {
                text: text(),
                operand: variable.name.clone(),
            });
        }
    }
    let mut others = wanted.others.iter();
    match others.find(|other| scene.declares(other, None, scene.body.span, &places)) {
        Some(other) => Err(shadowed(other)),
        None => Ok(()),
    }
}

/// The block of an evaluation, and the number of the statement in it before which all is executed that is certain there.
fn before(scene: &Scene<'_>, evaluation: &Evaluation) -> Option<(Span, usize)> {
    let span = evaluation.block;
    let block = match scene.body.span == span {
        true => scene.body,
        false => statements(scene.body)
            .into_iter()
            .find_map(|stmt| match &stmt.kind {
                StmtKind::Block(block) if block.span == span => Some(block),
                _ => None,
            })?,
    };
    let at = match evaluation.place {
        Place::Opening(_) => 0,
        Place::Closing(_) => block.statements.len(),
        Place::Behind(stmt) => index(block, stmt)? + 1,
        Place::Before(stmt) | Place::Wrapping(stmt) => {
            let start = Span::at(stmt.start.max(stmt.end.saturating_sub(1)));
            index(block, start)?
        }
        Place::Otherwise { then, .. } => index(block, then)?,
    };
    Some((span, at))
}

/// The statement in front of which the variable is declared, in the innermost block around all.
fn common(
    scene: &Scene<'_>,
    region: &Region,
    evaluations: &[Evaluation],
    replaced: &[Span],
) -> Option<Span> {
    let mut places: Vec<Span> = evaluations
        .iter()
        .map(|evaluation| Span::at(evaluation.place.offset()))
        .collect();
    places.extend(replaced);
    let first = *places.iter().min_by_key(|place| place.start)?;
    let mut best = None;
    let mut block = Some(scene.body);
    while let Some(around) = block {
        let inner = Span::new(around.span.start + 1, around.span.end.saturating_sub(1));
        if !places.iter().all(|place| in_any(&[inner], *place)) {
            break;
        }
        let stmt = around
            .statements
            .iter()
            .find(|stmt| stmt.span.end >= first.start);
        best = stmt.map(full_span).or(best);
        block = stmt.and_then(|stmt| inner_block(stmt, first));
    }
    // A variable of each iteration, where the loop has a body of its own.
    best.filter(|anchor| {
        !region.braced || holds(region.block.span, *anchor) || region.around.is_none()
    })
}
