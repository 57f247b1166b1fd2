//! Versions on zero of PTX documents: offered on the line that writes a register, with their saving, or the
//! reason for refusal; the best of a whole function on its head; and taken back.

use super::model::{Action, Doing};
use super::priced::{APPLY, FAST, REMOVE, priced};
use super::{ranked, version_set};
use crate::db::{self, Db, File, Item};
use crate::derive::parts;
use crate::derive::versions;
use crate::derive::zeros;
use crate::program;
use codegen::specialize::Zeros;
use codegen::specialize::frequency::frequency;
use codegen::specialize::ptx::{
    Candidate, Document, Refusal, Rejection, Settings, Version, check, remove,
};
use facts::cost::Machine;
use facts::zeros::originator;
use ir::{Block, EntityVec, Function, ValueDef};
use syntax::Span;
use syntax::ptx::{PtxFunction, PtxItemKind};

/// Candidates of one line that are tried.
const MOST_TRIED: usize = 12;

/// Returns the versions that can be made or taken back at a place.
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
    let Some((place, item)) = program::item_at(db, file, offset) else {
        return found;
    };
    let PtxItemKind::Function(tree) = &db::ptx_tree(db, item).kind else {
        return found;
    };
    let lowered = db::lowered(db, item);
    let (Some(function), Some(own)) = (
        lowered.first().and_then(|it| it.module.functions.first()),
        text.get(place.start as usize..place.end as usize),
    ) else {
        return found;
    };
    let document = Document::new(own, tree, function, db::ptx_declarations(db, file).version);
    let inside = offset.saturating_sub(place.start);
    let allowed = Settings {
        absorb: program::settings(db, file)
            .analysis(db)
            .fast_math
            .unwrap_or(false),
        whole_warps: versions::whole_warps(db, item),
        ..Settings::default()
    };
    let trying = Trying {
        db,
        item,
        text,
        start: place.start,
        document: &document,
        function,
        machine: db::charges(db, program::settings(db, file)),
        weights: versions::executions(db, item, function).unwrap_or_else(|| frequency(function)),
    };
    // The head of a function stands for all of it.
    let first = tree.statements().first();
    let within = match range.is_empty() {
        true if first.is_some_and(|first| inside < first.span.start) => Some(tree_span(tree)),
        true => None,
        false => Some(Span::new(inside, range.end.saturating_sub(place.start))),
    };
    if let Some(within) = within {
        found.extend(trying.ranked(within, allowed));
        if within == tree_span(tree) {
            found.extend(trying.set(allowed));
        }
        return found;
    }
    let candidates = at_line(&document, inside);
    let Some((_, candidate, tried)) = trying.best(&candidates, allowed) else {
        return found;
    };
    let ieee = tried == Err(Refusal::Ieee);
    found.push(trying.action(APPLY, &candidate, tried));
    if ieee {
        let permitted = Settings {
            absorb: true,
            ..allowed
        };
        if let Some((_, candidate, tried)) = trying.best(&candidates, permitted) {
            found.push(trying.action(FAST, &candidate, tried));
        }
    }
    found
}

/// All statements.
fn tree_span(tree: &PtxFunction) -> Span {
    let end = tree.statements().last().map_or(0, |last| last.span.end);
    Span::new(0, end)
}

/// A function in whose text versions are tried.
struct Trying<'a> {
    db: &'a dyn Db,
    item: Item<'a>,
    /// The text of the whole file.
    text: &'a str,
    /// The offset at which the item begins in it.
    start: u32,
    document: &'a Document<'a>,
    function: &'a Function,
    machine: &'a Machine,
    weights: EntityVec<Block, f64>,
}

impl Trying<'_> {
    fn share(&self, candidate: &Candidate) -> Option<f64> {
        versions::share(self.db, self.item, self.function, &candidate.members)
    }

    fn attempt(&self, candidate: &Candidate, settings: Settings) -> Result<Version, Refusal> {
        let parts = parts::parts(self.db, self.item);
        let tested = parts
            .first()
            .and_then(|part| versions::facts_of(part, &candidate.members));
        if let Some(why) = tested.and_then(|tested| tested.never) {
            let name = candidate.names.join(", ");
            return Err(Refusal::NeverZero { name, why });
        }
        let settings = Settings {
            uniform: tested.is_some_and(|tested| tested.uniform),
            ..settings
        };
        self.document
            .version(candidate, settings, self.machine, &self.weights)
            .and_then(|version| judged(self.text, self.start, version))
    }

    /// The best of the registers of one line.
    fn best(
        &self,
        candidates: &[Candidate],
        settings: Settings,
    ) -> Option<(f64, Candidate, Result<Version, Refusal>)> {
        let mut best: Option<(f64, Candidate, Result<Version, Refusal>)> = None;
        for candidate in candidates.iter().take(MOST_TRIED) {
            let tried = self.attempt(candidate, settings);
            let rank = match &tried {
                Ok(version) => ranked::worth(version.model, self.share(candidate)).unwrap_or(-1e9),
                Err(_) => f64::NEG_INFINITY,
            };
            if best.as_ref().is_none_or(|(so_far, ..)| rank > *so_far) {
                best = Some((rank, candidate.clone(), tried));
            }
        }
        best
    }

    /// The best versions of the registers that are written within a range, as `ranked` has them for other languages.
    fn ranked(&self, within: Span, allowed: Settings) -> Vec<Action> {
        let profiled = zeros::stored(self.db, self.item.main(self.db)).is_some();
        let promising = |candidate: &Candidate| {
            let mut places = candidate.places.iter();
            let inside = places.all(|at| within.start <= at.start && at.end <= within.end);
            inside && (profiled || self.structural(candidate))
        };
        let all = self.document.candidates().into_iter().filter(promising);
        let mut known: Vec<(f64, Candidate)> =
            all.map(|it| (self.share(&it).unwrap_or(0.0), it)).collect();
        // Stable: without a profile in the order of the text.
        known.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut found: Vec<(f64, Action)> = Vec::new();
        for (_, candidate) in known.into_iter().take(versions::MOST_TRIED) {
            let mut id = APPLY;
            let mut tried = self.attempt(&candidate, allowed);
            if tried == Err(Refusal::Ieee) {
                id = FAST;
                let permitted = Settings {
                    absorb: true,
                    ..allowed
                };
                tried = self.attempt(&candidate, permitted);
            }
            let Ok(version) = &tried else { continue };
            let Some(rank) = ranked::worth(version.model, self.share(&candidate)) else {
                continue;
            };
            let action = self.action(id, &candidate, tried);
            if matches!(action.what, Doing::Edit(_)) {
                found.push((rank, action));
            }
        }
        ranked::offered(found)
    }

    /// The best set of versions of the function that do not touch each other, if a profile counts zeros.
    fn set(&self, allowed: Settings) -> Option<Action> {
        let probabilities = versions::probabilities(self.db, self.item, self.function)?;
        let candidates = self.document.candidates();
        let zeros = match allowed.absorb {
            true => Zeros::Absorb,
            false => Zeros::Ieee,
        };
        let wanted = version_set::wanted(
            self.function,
            &probabilities,
            &self.weights,
            self.machine,
            zeros,
        );
        let order = version_set::ordered(&candidates, &wanted, |it| {
            (it.members.to_vec(), self.share(it))
        });
        let mut set = version_set::Set::default();
        let mut chosen: Vec<Version> = Vec::new();
        for candidate in order.into_iter().take(versions::MOST_TRIED) {
            if set.is_full() {
                break;
            }
            let settings = Settings {
                number: chosen.iter().map(|it| it.number + 1).max().unwrap_or(1),
                ..allowed
            };
            let Ok(version) = self.attempt(&candidate, settings) else {
                continue;
            };
            let [(from, _), (to, _)] = version.insertions.as_slice() else {
                continue;
            };
            let place = Span::new(*from, *to);
            if set.add(
                &version.name,
                place,
                Some(version.model),
                self.share(&candidate),
            ) {
                chosen.push(version);
            }
        }
        // Each is judged in the text that the later ones are in already.
        chosen.sort_by_key(|it| std::cmp::Reverse(it.insertions[0].0));
        let mut after = self.text.to_owned();
        let mut edits = Vec::new();
        for version in chosen {
            let version = judged(&after, self.start, version).ok()?;
            for (offset, text) in version.insertions.into_iter().rev() {
                let at = self.start + offset;
                after.insert_str(at as usize, &text);
                edits.push((Span::at(at), text));
            }
        }
        edits.reverse();
        set.action(edits, self.machine)
    }

    /// Returns whether all of it could be zero by the operation that makes it.
    fn structural(&self, candidate: &Candidate) -> bool {
        candidate
            .members
            .iter()
            .all(|&member| match self.function.values[member].def {
                ValueDef::Result(inst, _) => originator(self.function, inst).is_some(),
                _ => false,
            })
    }

    fn action(&self, id: &str, candidate: &Candidate, tried: Result<Version, Refusal>) -> Action {
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
        let probability = self.share(candidate);
        if !priced(
            &mut out,
            Some(version.model),
            probability,
            self.machine,
            true,
        ) {
            return out;
        }
        if id == FAST {
            out.effect.push_str(
                "; where an operand that is left out is infinite or NaN the result is another",
            );
        }
        let edits = version
            .insertions
            .into_iter()
            .map(|(offset, text)| (Span::at(self.start + offset), text));
        out.what = Doing::Edit(edits.collect());
        out
    }
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
        .filter(|it| it.places.iter().any(|place| line(place.start) == wanted))
        .collect();
    let named: Vec<Candidate> = here
        .iter()
        .filter(|it| {
            it.places
                .iter()
                .any(|place| place.start <= offset && offset <= place.end)
        })
        .cloned()
        .collect();
    if named.is_empty() { here } else { named }
}

/// The version, if the checker finds nothing against it.
fn judged(text: &str, start: u32, version: Version) -> Result<Version, Refusal> {
    let mut after = text.to_owned();
    for (offset, new) in version.insertions.iter().rev() {
        let at = (start + offset) as usize;
        if !after.is_char_boundary(at) {
            return Err(Rejection::OutOfRange.into());
        }
        after.insert_str(at, new);
    }
    let inside = start + version.insertions.first().map_or(0, |it| it.0 + 4);
    let removal = remove(&after, inside).ok_or(Rejection::NotRemovable)?;
    check::check(text, &after, &removal).map_err(Rejection::Rule)?;
    Ok(version)
}
