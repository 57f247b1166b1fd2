//! Values that are zero for whole warps, in words: from the profile of a file at each definition, and without
//! one from the structure of the code.

use crate::db::{self, Db, File, Item};
use crate::derive::rows::rows_of;
use crate::derive::zeros::{self, FileProfile, Stale, UnusableProfile, file_profile, rows};
use crate::profile::TextError;
use crate::program::{self, own_items};
use facts::values::stored::StoredProfile;
use ir::{Function, Language};
use std::path::Path;
use syntax::Span;

/// `0 in 62 % of warps`; of a lane by itself, of executions.
pub fn label(share: f64, language: Language) -> String {
    let of = match language {
        Language::C => "execution",
        _ => facts::words::warp(language),
    };
    format!("0 in {} of {of}s", percent(share))
}

pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    match value {
        v if v > 0.0 && v < 1.0 => "< 1 %".into(),
        v if v > 99.0 && v < 100.0 => "> 99 %".into(),
        v => format!("{v:.0} %"),
    }
}

/// The lines of a hover about the definition at a place of the file.
pub fn hover(db: &dyn Db, file: File, span: Span, language: Language) -> Option<String> {
    let FileProfile::Read(path, _, profile) = file_profile(db, file) else {
        return None;
    };
    let all = rows(db, file);
    let row = all.iter().find(|row| row.span == span)?;
    let mut out = format!(
        "**{}** — counted {} times, {}",
        label(row.share(), language),
        row.executions,
        from(&path, &profile)
    );
    if !row.exact {
        out += "; the code has changed since";
    }
    if !row.components.is_empty() {
        let parts: Vec<String> = row
            .components
            .iter()
            .filter(|(_, executions, _)| *executions > 0)
            .map(|(name, executions, zeros)| {
                format!("`.{name}` {}", percent(*zeros as f64 / *executions as f64))
            })
            .collect();
        out += &format!(
            "\n\nall components together; each alone: {}",
            parts.join(", ")
        );
    }
    if let Some((misses, caches)) = &row.misses {
        out += &format!(
            "\n\nits load misses {} of {} times and waits {:.1} cycles on average (estimate, {caches})",
            percent(misses.shares().0),
            misses.loads,
            misses.wait(),
        );
    }
    let (dead, memory) = row.useless;
    if row.zeros > 0 && dead > 0 {
        out += &format!(
            "\n\nthe zero makes up to {dead} instruction{} useless",
            if dead == 1 { "" } else { "s" }
        );
        if memory > 0 {
            out += &format!(
                ", {memory} of them read{} memory{}",
                if memory == 1 { "s" } else { "" },
                if language == Language::C {
                    ""
                } else {
                    " or textures"
                }
            );
        }
    }
    Some(out)
}

fn from(path: &Path, profile: &StoredProfile) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let origin = &profile.origin;
    match (origin.kind.as_str(), origin.inputs.is_empty()) {
        ("interpreter", false) => format!("by the interpreter on `{}` (`{name}`)", origin.inputs),
        ("interpreter", true) => {
            format!("by the interpreter on inputs of its own choice (`{name}`)")
        }
        ("instrumented", _) => format!("by instrumented code (`{name}`)"),
        _ => format!("imported (`{name}`)"),
    }
}

/// Returns the reason why a definition without a profile could be zero although its operands are not.
pub fn structural(function: &Function, span: Span) -> Option<String> {
    let reason = zeros::structural(function, span)?;
    Some(format!(
        "*could be zero for structural reasons, unprofiled*: {}; `lockstep profile` tells how often",
        reason.reason()
    ))
}

pub(super) fn unusable(reason: &UnusableProfile) -> String {
    match reason {
        UnusableProfile::Unread(reason) => reason.to_string(),
        UnusableProfile::TooLarge { bytes } => format!("{bytes} bytes are too many"),
        UnusableProfile::Text(TextError::Json(reason)) => reason.clone(),
        UnusableProfile::Text(error) => error.to_string(),
    }
}

/// The problems with the profile of a file: a place of the file, the code, the message.
pub fn problems(db: &dyn Db, file: File) -> Vec<(&'static str, Span, String, String)> {
    if file.language(db) == crate::program::Language::Ia64 {
        let found = super::assembly::problem(db, file).into_iter();
        return found
            .map(|(code, message)| (code, Span::default(), message, String::new()))
            .collect();
    }
    match file_profile(db, file) {
        FileProfile::Missing => Vec::new(),
        FileProfile::Unusable(path, reason) => vec![(
            "unusable-profile",
            Span::default(),
            format!(
                "{} is not used as a profile: {}",
                path.display(),
                unusable(&reason)
            ),
            String::new(),
        )],
        FileProfile::Read(path, _, profile) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let mut stale: Vec<(Span, String, Stale)> = Vec::new();
            for (place, item) in own_items(db, file) {
                if !item.holds(db).code {
                    continue;
                }
                let zeros = db::zeros(db, item);
                if let Some(message) = &zeros.warps {
                    let span = name_span(db, item)
                        .map_or(Span::at(place.start), |span| span.shifted(place.start));
                    return vec![(
                        "unusable-profile",
                        span,
                        format!("{name}: {message}"),
                        item.name(db).to_string(),
                    )];
                }
                if let Some(found) = &zeros.stale {
                    let span = name_span(db, item)
                        .map_or(Span::at(place.start), |span| span.shifted(place.start));
                    stale.push((span, item.name(db).to_string(), found.clone()));
                }
            }
            let Some((span, item, found)) = stale.first() else {
                return Vec::new();
            };
            let more = match stale.len() - 1 {
                0 => String::new(),
                more => format!(", and so have {more} more functions"),
            };
            vec![(
                "stale-profile",
                *span,
                format!(
                    "`{item}` has changed since {name} was made{}{more}: {} of its {} values were found again; `lockstep profile` makes it anew",
                    when(&profile),
                    found.found,
                    found.of
                ),
                item.clone(),
            )]
        }
    }
}

fn when(profile: &StoredProfile) -> String {
    match profile.origin.inputs.is_empty() {
        true => String::new(),
        false => format!(" from {}", profile.origin.inputs),
    }
}

fn name_span(db: &dyn Db, item: Item<'_>) -> Option<Span> {
    rows_of(db, item).first()?.head.map(|head| head.name_span)
}

/// The language of a file, for its words.
pub fn language(db: &dyn Db, file: File) -> Language {
    match file.language(db) {
        program::Language::Hlsl => Language::Hlsl,
        program::Language::Ptx => Language::Ptx,
        program::Language::C => Language::C,
        program::Language::MicroSimd => Language::MicroSimd,
        _ => Language::Cuda,
    }
}
