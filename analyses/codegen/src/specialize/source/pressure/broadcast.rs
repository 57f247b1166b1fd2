//! A uniform value that a broadcast puts into a scalar register, where the machine has those: it takes no register of the lanes
//! then, and no memory.
//!
//! ```text
//! float u = scale[row] * 2.0;      ->      float u = WaveReadLaneFirst(scale[row] * 2.0);
//! ```
//!
//! The first lane's value is each lane's own, as the value is the same in all lanes that compute it: nothing is read of lanes
//! that do not take part. Stages of a pipeline have it, too, which have no workgroup memory. HLSL alone has an operation for
//! all types of numbers; it is of shader model 6.0.
//!
//! Source: the row for uniform values of Sampaio et al. 2013, Figure 18, with a register file in place of a slot.

use super::super::types::Ty;
use super::scene::Scene;
use super::{Refusal, Rewriting, Subject};
use facts::Scope;

/// The operation that gives each lane the value of the first.
pub(super) const BROADCAST: &str = "WaveReadLaneFirst";

pub(super) fn rewrite(scene: &Scene<'_>, subjects: &[Subject]) -> Result<Rewriting, Refusal> {
    let made = Rewriting::default().of_each(subjects, &mut |subject, made| {
        let definition = scene.definition(subject.declared)?;
        let name = definition.name.clone();
        if subject.uniform < Some(Scope::Subgroup) {
            return Err(Refusal::NotUniform(name));
        }
        if !matches!(
            scene.source.type_of(&definition.declarator.ty),
            Ty::Number(..)
        ) {
            return Err(Refusal::NotNumeric {
                name,
                why: "a broadcast takes numbers and vectors of numbers",
            });
        }
        let value = definition.value.span;
        let (start, end) = (value.start, value.end);
        if scene.source.in_macro(value) {
            return Err(Refusal::Macro(name));
        }
        made.names.push(name);
        made.edits
            .push((syntax::Span { start, end: start }, format!("{BROADCAST}(")));
        made.edits
            .push((syntax::Span { start: end, end }, ")".to_owned()));
        Ok(())
    })?;
    Ok(made.joined())
}
