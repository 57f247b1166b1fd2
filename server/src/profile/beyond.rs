//! The reason why a run ended, in the words of the description: an access beyond a described buffer (which
//! one, which element, and what to change), or the bound on instructions.

use super::accessed::{Ranges, accessed};
use super::data;
use super::inputs::Description;
use ir::Function;
use oracle::interp::{Argument, Error, Launch, Outcome};

/// `None`: the run ended for another reason.
pub(super) fn beyond(
    error: &Error,
    function: &Function,
    description: &Description,
    launch: &Launch,
    outcome: &Outcome,
) -> Option<String> {
    if let Error::StepsExhausted { .. } = error {
        let bound = launch.limits.steps;
        return Some(format!(
            "the bound of {bound} warp instructions is reached: a loop may have no end with these inputs, or the run is a long one; \
             `max_steps` of [launch] in the inputs sets another bound, `workgroups` runs fewer of them"
        ));
    }
    let (buffer, offset, held) = error.beyond()?;
    let &Error::Access { size, write, .. } = error else {
        return None;
    };
    let name = name(function, launch, outcome, buffer)?;
    let given = description.buffers.get(&name);
    let (text, bytes) = match given.and_then(|it| Some((&it.ty, data::element(&it.ty)?))) {
        Some((text, (ty, _))) => (text.clone(), i64::from(ty.bytes())),
        None => {
            let known = accessed(function, &Ranges::default());
            let ty = known.get(&name).and_then(|it| it.element());
            let ty = ty.unwrap_or(ir::Type::I32);
            (ty.to_string(), i64::from(ty.bytes().max(1)))
        }
    };
    let done = if write { "written" } else { "read" };
    let index = offset.div_euclid(bytes);
    let has = held / bytes as u64;
    let mut message =
        format!("`{name}[{index}]` is {done}, but `{name}` has {has} elements of type {text}");
    if offset < 0 {
        return Some(message);
    }
    let needed = (offset as u64 + u64::from(size)).div_ceil(bytes as u64);
    message += &match given {
        Some(found)
            if found.values.is_none()
                && found.csv.is_none()
                && found.text.is_none()
                && found.binary.is_none() =>
        {
            format!(": set `count` of [buffers.{name}] in the inputs to {needed} or more")
        }
        Some(_) => {
            format!(": what [buffers.{name}] of the inputs holds must be {needed} elements or more")
        }
        None => format!(
            ": describe it in the inputs as [buffers.{name}] with a `count` of {needed} or more"
        ),
    };
    Some(message)
}

/// The parameter or symbol that a buffer is bound to.
fn name(function: &Function, launch: &Launch, outcome: &Outcome, buffer: usize) -> Option<String> {
    let entry = &function.blocks[function.entry()].params;
    let points = |at: usize| matches!(launch.parameters.get(at), Some(&Argument::Pointer { buffer: to, .. }) if to == buffer);
    let parameter = function.parameters.iter().find(|parameter| {
        let mut places = parameter.values.iter();
        places.any(|value| {
            entry
                .iter()
                .position(|param| param == value)
                .is_some_and(points)
        })
    });
    if let Some(parameter) = parameter {
        return Some(parameter.name.to_string());
    }
    let bound = launch.bindings.iter().find(|(_, to)| *to == buffer);
    let bound = bound.map(|(name, _)| name.to_string());
    bound.or_else(|| Some(outcome.buffers.get(buffer)?.name.as_ref()?.to_string()))
}
