//! Versions on zero of PTX documents: offered on the line that writes a register, with what they save, or with why not;
//! and taken back.

use super::actions::{Action, Doing};
use super::versions::{self, APPLY, FAST, REMOVE, priced};
use crate::db::{self, Db, File, Item};
use crate::program;
use codegen::specialize::frequency::frequency;
use codegen::specialize::ptx::{Candidate, Document, Refusal, Settings, Version, check, remove};
use facts::cost::Machine;
use syntax::Span;
use syntax::ptx::PtxItemKind;

/// Candidates of one line that are tried.
const MOST_TRIED: usize = 12;

/// What can be made or taken back at a place.
pub(super) fn actions(db: &dyn Db, file: File, range: Span) -> Vec<Action> {
    let text = program::text(file.source(db));
    let mut found = Vec::new();
    let offset = range.start;
    if let Some(removal) = remove(text, offset) {
        let edits = removal.cuts.iter().map(|&cut| (cut, String::new()));
        found.push(Action {
            title: format!("Remove the version on zero of `{}`", removal.name),
            effect: "leaves the statements of the slow path as they were".to_owned(),
            what: Doing::Edit(edits.collect()),
            ..Action::rewrite(REMOVE, String::new())
        });
    }
    let Some((place, item)) = super::item_at(db, file, offset) else {
        return found;
    };
    let PtxItemKind::Function(tree) = &db::ptx_tree(db, item).kind else {
        return found;
    };
    let lowered = db::lowered(db, item);
    let (Some(function), Some(own)) = (
        lowered.first().and_then(|one| one.module.functions.first()),
        text.get(place.start as usize..place.end as usize),
    ) else {
        return found;
    };
    let document = Document::new(own, tree, function, db::ptx_declarations(db, file).version);
    let inside = offset.saturating_sub(place.start);
    let candidates = at_line(&document, inside);
    if candidates.is_empty() {
        return found;
    }
    let allowed = Settings {
        absorb: file.settings(db).analysis(db).fast_math.unwrap_or(false),
        whole_warps: versions::whole_warps(db, item),
    };
    let machine = &**db::charges(db, file.settings(db));
    let weights = frequency(function);
    let best = |settings: Settings| {
        let mut best: Option<(f64, Candidate, Result<Version, Refusal>)> = None;
        for candidate in candidates.iter().take(MOST_TRIED) {
            let tried = document
                .version(candidate, settings, machine, &weights)
                .and_then(|version| judged(text, place.start, version));
            let probability = versions::share(db, item, function, &candidate.members);
            let rank = match &tried {
                Ok(version) => match (probability, version.model.break_even()) {
                    (Some(probability), _) => {
                        let mut model = version.model;
                        model.probability = probability;
                        model.saved()
                    }
                    (None, Some(share)) => -share,
                    (None, None) => -1e9,
                },
                Err(_) => f64::NEG_INFINITY,
            };
            if best.as_ref().is_none_or(|(so_far, ..)| rank > *so_far) {
                best = Some((rank, candidate.clone(), tried));
            }
        }
        best
    };
    let mut offer = |id: &str, one: (f64, Candidate, Result<Version, Refusal>)| {
        let (_, candidate, tried) = one;
        found.push(action(
            db,
            item,
            id,
            place.start,
            &candidate,
            tried,
            machine,
        ));
    };
    let Some(first) = best(allowed) else {
        return found;
    };
    let ieee = first.2 == Err(Refusal::Ieee);
    offer(APPLY, first);
    if ieee {
        let permitted = Settings {
            absorb: true,
            ..allowed
        };
        if let Some(fast) = best(permitted) {
            offer(FAST, fast);
        }
    }
    found
}

/// Candidates written on the statement at an offset; of a register, when the offset is on its name.
fn at_line(document: &Document<'_>, offset: u32) -> Vec<Candidate> {
    let line = |at: u32| {
        let before = document.text.get(..at as usize).unwrap_or("");
        before.bytes().filter(|&byte| byte == b'\n').count()
    };
    let wanted = line(offset);
    let all = document.candidates();
    let here: Vec<Candidate> = all
        .into_iter()
        .filter(|one| one.places.iter().any(|place| line(place.start) == wanted))
        .collect();
    let named: Vec<Candidate> = here
        .iter()
        .filter(|one| {
            one.places
                .iter()
                .any(|place| place.start <= offset && offset <= place.end)
        })
        .cloned()
        .collect();
    if named.is_empty() { here } else { named }
}

/// The version, if the checker finds nothing against it.
fn judged(text: &str, start: u32, version: Version) -> Result<Version, Refusal> {
    let refuse = |why: String| Refusal::Check(why);
    let mut after = text.to_owned();
    for (offset, new) in version.insertions.iter().rev() {
        let at = (start + offset) as usize;
        if !after.is_char_boundary(at) {
            return Err(refuse("the edit is out of range".into()));
        }
        after.insert_str(at, new);
    }
    let inside = start + version.insertions.first().map_or(0, |one| one.0 + 4);
    let removal = remove(&after, inside).ok_or_else(|| refuse("it can't be taken back".into()))?;
    check::check(text, &after, &removal).map_err(|violation| refuse(violation.to_string()))?;
    Ok(version)
}

fn action(
    db: &dyn Db,
    item: Item<'_>,
    id: &str,
    start: u32,
    candidate: &Candidate,
    tried: Result<Version, Refusal>,
    machine: &Machine,
) -> Action {
    let name = candidate.names.join(", ");
    let mut out = Action::rewrite(id, String::new());
    out.title = format!("Version on zero of `{name}`");
    if id == FAST {
        out.title.push_str(", taking 0 * x for 0");
    }
    let version = match tried {
        Ok(version) => version,
        Err(refusal) => {
            out.quiet = matches!(refusal, Refusal::NothingSaved(_) | Refusal::NoRegister);
            out.effect = refusal.to_string();
            out.what = Doing::Refused {
                reason: out.effect.clone(),
            };
            return out;
        }
    };
    out.effect = format!(
        "copies {} statements, of which {} run where `{name}` is zero in all lanes of a warp",
        version.statements, version.fast_statements
    );
    let lowered = db::lowered(db, item);
    let function = lowered.first().and_then(|one| one.module.functions.first());
    let probability =
        function.and_then(|function| versions::share(db, item, function, &candidate.members));
    if !priced(&mut out, Some(version.model), probability, machine) {
        return out;
    }
    let edits = version
        .insertions
        .into_iter()
        .map(|(offset, text)| (Span::at(start + offset), text));
    out.what = Doing::Edit(edits.collect());
    out
}
