//! The initial value of a variable evaluated again behind the peak: operations, or a load from memory that nobody writes.
//!
//! ```text
//! const float w = weights[i];  ...peak...  sum *= w;
//! ->  int i_again = i; asm volatile("" : "+r"(i_again));  const float w_again = weights[i_again];  sum *= w_again;
//! ```
//!
//! The statement of assembly has no instruction: a compiler knows nothing of its result, so that it neither
//! keeps the first value nor computes the second one early. HLSL has no such statement.

use super::super::flow::Edit;
use super::expression::{Hidden, Reads};
use super::scene::{Definition, Scene, Served};
use super::{Refusal, Rewriting, Subject};
use ir::Language;
use smol_str::{SmolStr, format_smolstr};
use syntax::Span;
use syntax::c_family::ast::*;

/// Work that may be done again in each iteration of a loop, in additions.
const MOST_OFTEN: u32 = 6;

/// The things that are done again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    Operations,
    Load,
}

pub(super) fn rewrite(
    scene: &Scene<'_>,
    subjects: &[Subject],
    what: What,
) -> Result<Rewriting, Refusal> {
    let mut taken = Vec::new();
    let made = Rewriting {
        may_be_undone: scene.source.language == Language::Hlsl,
        ..Rewriting::default()
    };
    let made = made.of_each(subjects, &mut |subject, made| {
        let (name, edits, divides) = variable(scene, subject, what, &made.names, &mut taken)?;
        made.divides |= divides;
        made.names.push(name);
        made.edits.extend(edits);
        Ok(())
    })?;
    Ok(made.joined())
}

fn variable(
    scene: &Scene<'_>,
    subject: &Subject,
    what: What,
    gone: &[SmolStr],
    taken: &mut Vec<SmolStr>,
) -> Result<(SmolStr, Vec<Edit>, bool), Refusal> {
    let definition = scene.definition(subject.declared)?;
    let name = definition.name.clone();
    let ty = written_type(scene, &definition)?;
    let reads = scene.reads(&definition)?;
    match (what, reads.loads, &reads.written) {
        (What::Operations, 0, None) => {}
        (What::Operations, ..) => return Err(Refusal::IsLoaded(name)),
        (What::Load, _, Some(memory)) => {
            return Err(Refusal::MayBeWritten {
                name,
                memory: memory.clone(),
            });
        }
        (What::Load, 0, None) => return Err(Refusal::NotLoaded(name)),
        (What::Load, ..) => {}
    }
    let served = scene.served(&definition)?;
    let mut operands = reads
        .variables
        .iter()
        .map(|id| (*id, &scene.names.variable(*id).name));
    // What has just left its register is no longer there.
    if let Some((_, operand)) =
        operands.find(|(id, operand)| !scene.is_there(*id) || gone.contains(operand))
    {
        return Err(Refusal::OperandDies {
            name,
            operand: operand.clone(),
        });
    }
    unchanged(scene, &definition, &reads, &served)?;
    if served.iter().any(|each| each.often) && (reads.loads > 0 || reads.work > MOST_OFTEN) {
        return Err(Refusal::Often(name));
    }
    let hidden = scene.hidden(definition.value);
    let hidden = match scene.source.language {
        Language::Hlsl => Vec::new(),
        _ => hidden.ok_or_else(|| Refusal::NotHidden(name.clone()))?,
    };
    if scene.source.language != Language::Hlsl && hidden.is_empty() {
        return Err(Refusal::Trivial(name));
    }
    let mut edits = Vec::new();
    for served in &served {
        let again = scene.fresh(&format!("{name}_again"), taken);
        let mut lines = Vec::new();
        let value = with_copies(scene, definition.value, &hidden, &name, taken, &mut lines);
        lines.push(format!("{} = {value};", constant(&ty, &again)));
        edits.push(scene.before(served.anchor, &lines));
        edits.extend(served.uses.iter().map(|place| (*place, again.to_string())));
    }
    Ok((name, edits, reads.divides))
}

/// The text of an expression with its hidden operands, and the lines that make those.
fn with_copies(
    scene: &Scene<'_>,
    value: &Expr,
    hidden: &[Hidden],
    name: &SmolStr,
    taken: &mut Vec<SmolStr>,
    lines: &mut Vec<String>,
) -> String {
    let mut copies: Vec<(String, SmolStr)> = Vec::new();
    let mut edits: Vec<Edit> = Vec::new();
    for each in hidden {
        let text = scene.source.slice(each.span).to_owned();
        let of = match each.zero {
            true => "0".to_owned(),
            false => text.clone(),
        };
        let copy = match copies.iter().find(|(known, _)| *known == of) {
            Some((_, copy)) => copy.clone(),
            None => {
                let wanted = match each.zero {
                    true => format_smolstr!("{name}_zero"),
                    false => format_smolstr!("{}_again", text.replace(['.', ' '], "_")),
                };
                let copy = scene.fresh(&wanted, taken);
                lines.push(format!(
                    "{} {copy} = {of}; asm volatile(\"\" : \"+{}\"({copy}));",
                    each.ty, each.letter
                ));
                copies.push((of, copy.clone()));
                copy
            }
        };
        edits.push((
            each.span,
            match each.zero {
                true => format!("{copy} + ({text})"),
                false => copy.to_string(),
            },
        ));
    }
    let edited = scene.source.edited(value.span, &edits);
    edited.unwrap_or_else(|| scene.source.slice(value.span).to_owned())
}

/// The type of a number or a pointer as it is written, without `const`.
fn written_type(scene: &Scene<'_>, definition: &Definition<'_>) -> Result<String, Refusal> {
    let refuse = |why| Refusal::NotNumeric {
        name: definition.name.clone(),
        why,
    };
    match &definition.declarator.ty.kind {
        TypeKind::Array { .. } => Err(refuse("an array")),
        TypeKind::Reference { .. } => Err(refuse("a reference")),
        TypeKind::Auto if scene.source.language != Language::Hlsl => Ok("auto".to_owned()),
        _ => spelled(scene, &definition.declarator.ty, 0)
            .ok_or_else(|| refuse("its type is not one that can be written again")),
    }
}

/// The declarator of a constant: `const float x`, `const float* const p`.
pub(super) fn constant(ty: &str, name: &str) -> String {
    match ty.ends_with('*') {
        true => format!("{ty} const {name}"),
        false => format!("const {ty} {name}"),
    }
}

/// A type in words: builtin, named, or a pointer to one.
pub(super) fn spelled(scene: &Scene<'_>, ty: &Type, depth: u32) -> Option<String> {
    let inner = match &ty.kind {
        TypeKind::Builtin(word) => word.to_string(),
        TypeKind::Named(name) if !scene.source.in_macro(name.span) => {
            scene.source.slice(name.span).to_owned()
        }
        TypeKind::Pointer(to) if depth < 4 => {
            let constant = if to.is_const { "const " } else { "" };
            return Some(format!("{constant}{}*", spelled(scene, to, depth + 1)?));
        }
        _ => return None,
    };
    (!inner.is_empty()).then_some(inner)
}

/// The operands of an expression are the same where it is evaluated again.
fn unchanged(
    scene: &Scene<'_>,
    definition: &Definition<'_>,
    reads: &Reads,
    served: &[Served],
) -> Result<(), Refusal> {
    let from = definition.stmt().span.end;
    let within = Span::new(from, scene.reach(definition, served).max(from));
    let places: Vec<Span> = served.iter().map(|each| each.anchor).collect();
    let shadowed = |operand: &SmolStr| Refusal::Shadowed {
        name: definition.name.clone(),
        operand: operand.clone(),
    };
    for id in &reads.variables {
        let operand = &scene.names.variable(*id).name;
        if scene.changes(*id, within) {
            return Err(Refusal::Changes {
                name: definition.name.clone(),
                operand: operand.clone(),
            });
        }
        if scene.declares(operand, Some(*id), within, &places) {
            return Err(shadowed(operand));
        }
    }
    for other in &reads.others {
        if scene.declares(other, None, within, &places) {
            return Err(shadowed(other));
        }
    }
    // Another declarator of the same statement comes behind this one.
    let after = Span::new(definition.declarator.span.end, from);
    let later = reads.variables.iter().find(|id| scene.changes(**id, after));
    match later {
        Some(id) => Err(Refusal::Changes {
            name: definition.name.clone(),
            operand: scene.names.variable(*id).name.clone(),
        }),
        None => Ok(()),
    }
}
