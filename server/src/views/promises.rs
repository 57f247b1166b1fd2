//! The promises of the author about pointers and loops: at the promise, and at the pointer's name.

use super::model::Hover;
use crate::db::{self, Db, File};
use crate::program::item_at;
use ir::{Function, PromiseKind};

/// The promise under the cursor, or those of the pointer whose name is.
pub fn hover(db: &dyn Db, file: File, offset: u32) -> Option<Hover> {
    let (place, item) = item_at(db, file, offset)?;
    let at = offset - place.start;
    let lines = db::line_index(db, file);
    for lowered in db::lowered(db, item).iter() {
        let Some(function) = lowered.module.functions.first() else {
            continue;
        };
        // A pragma takes its line.
        let line = |offset: u32| lines.line_column(place.start + offset).0;
        if let Some(promise) = function
            .promises
            .iter()
            .find(|promise| line(promise.loc.span.start) == line(at))
        {
            return Some(Hover {
                span: promise.loc.span.shifted(place.start),
                markdown: sentence(function, &promise.kind),
            });
        }
        let Some(binding) = function
            .bindings
            .iter()
            .find(|binding| binding.part.is_empty() && binding.loc.span.contains(at))
        else {
            continue;
        };
        let of = |kind: &PromiseKind| match *kind {
            PromiseKind::Aligned { pointer, .. } | PromiseKind::Readable { pointer, .. } => {
                binding.values.contains(&pointer)
            }
            PromiseKind::Rounds { .. } => false,
        };
        let told: Vec<String> = function
            .promises
            .iter()
            .filter(|promise| of(&promise.kind))
            .map(|promise| {
                let line = line(promise.loc.span.start);
                let sentence = sentence(function, &promise.kind);
                format!("{sentence}, as line {} promises", line + 1)
            })
            .collect();
        if !told.is_empty() {
            return Some(Hover {
                span: binding.loc.span.shifted(place.start),
                markdown: told.join("\n\n"),
            });
        }
    }
    None
}

fn sentence(function: &Function, kind: &PromiseKind) -> String {
    let name = |pointer| {
        let mut bindings = function.bindings.iter();
        let found = bindings.find(|binding| binding.values.contains(&pointer));
        let name = found.map(|binding| &function.variables[binding.variable].name);
        name.map_or_else(|| "the pointer".to_owned(), |name| format!("`{name}`"))
    };
    match *kind {
        PromiseKind::Aligned { pointer, bytes, .. } => {
            format!("{} is aligned to {bytes} bytes", name(pointer))
        }
        PromiseKind::Readable { pointer, bytes, .. } => format!(
            "{bytes} bytes behind the last one that {} points to may be read",
            name(pointer)
        ),
        PromiseKind::Rounds {
            least,
            most,
            multiple,
            ..
        } => match multiple {
            1 => format!("the loop has {least} to {most} rounds"),
            _ => format!("the loop has {least} to {most} rounds, a multiple of {multiple}"),
        },
    }
}
