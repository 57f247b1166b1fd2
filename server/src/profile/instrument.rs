//! A file with counters, and the map that says what they count.

use super::import::{CounterMap, CounterSite, MAP_FORMAT, MAP_VERSION};
use crate::db::{self, Database, File};
use crate::program::{self, Language};
use codegen::instrument::{self, COUNTERS, inserted};
use facts::values::stored::{code_hash, hex, text_hash};

/// The reason why nothing is counted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InstrumentError {
    #[error("counters can be put into CUDA, HLSL and PTX")]
    Language,
    #[error("paths can be counted in C, CUDA, HLSL and PTX")]
    PathLanguage,
    #[error("there is nothing to count{0}")]
    Nothing(String),
}

/// A text that counts, and its map.
#[derive(Clone, PartialEq, Debug)]
pub struct Counted {
    pub text: String,
    pub map: CounterMap,
}

/// Puts counters into a file, of one function or of all its own.
pub fn instrument(
    db: &Database,
    file: File,
    only: Option<&str>,
) -> Result<Counted, InstrumentError> {
    let text = program::text(file.source(db));
    let language = match file.language(db) {
        Language::Cuda => ir::Language::Cuda,
        Language::Hlsl => ir::Language::Hlsl,
        Language::Ptx => ir::Language::Ptx,
        _ => return Err(InstrumentError::Language),
    };
    let lines = db::line_index(db, file);
    let mut insertions: Vec<(u32, String)> = Vec::new();
    let mut sites: Vec<CounterSite> = Vec::new();
    let mut first_function = None;
    let mut known = Vec::new();
    for (place, item) in program::own_items(db, file) {
        if !item.holds(db).code {
            continue;
        }
        first_function = first_function.or(Some(place.start));
        let Some(own) = text.get(place.start as usize..place.end as usize) else {
            continue;
        };
        let mut seen = Vec::new();
        for lowered in db::lowered(db, item).iter() {
            let Some(function) = lowered
                .module
                .functions
                .first()
                .filter(|f| !f.layout.is_empty())
            else {
                continue;
            };
            // Instantiations of one template have one text.
            if seen.contains(&function.span) {
                continue;
            }
            seen.push(function.span);
            let short = function.name.rsplit("::").next().unwrap_or(&function.name);
            if only.is_some_and(|only| only != function.name && only != short) {
                known.push(short.to_owned());
                continue;
            }
            let counted = match language {
                ir::Language::Ptx => instrument::ptx::instrument(function, sites.len()),
                _ => {
                    let parsed = db::parsed(db, item);
                    instrument::source::instrument(parsed, function, own, sites.len())
                }
            };
            insertions.extend(
                counted
                    .insertions
                    .into_iter()
                    .map(|(offset, new)| (place.start + offset, new)),
            );
            let code = hex(code_hash(function));
            sites.extend(counted.places.into_iter().map(|it| CounterSite {
                item: function.name.to_string(),
                ordinal: item.ordinal(db),
                code: code.clone(),
                values: it.values.iter().map(|value| value.0).collect(),
                name: it.name,
                line: lines.line_column(place.start + it.offset).0 + 1,
            }));
        }
    }
    if sites.is_empty() {
        let list = match known.is_empty() {
            true => String::new(),
            false => format!("; functions are: {}", known.join(", ")),
        };
        return Err(InstrumentError::Nothing(list));
    }
    let mut out = text.to_owned();
    match language {
        ir::Language::Ptx => {
            let declaration = instrument::ptx::declaration(sites.len());
            insertions.push((first_function.unwrap_or(0), declaration));
            out = inserted(&out, &insertions);
            if let Some((range, number)) = instrument::ptx::version(&out) {
                out.replace_range(range, &number);
            }
        }
        _ => {
            let prelude = instrument::source::prelude(language, sites.len())
                .ok_or(InstrumentError::Language)?;
            insertions.push((0, prelude));
            out = inserted(&out, &insertions);
        }
    }
    let name = file
        .path(db)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let map = CounterMap {
        format: MAP_FORMAT.into(),
        version: MAP_VERSION,
        file: name.into_owned(),
        hash: hex(text_hash(text)),
        buffer: COUNTERS.into(),
        width: instrument::source::width(language),
        sites,
    };
    Ok(Counted { text: out, map })
}
