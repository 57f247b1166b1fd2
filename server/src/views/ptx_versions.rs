//! Versions on zero of PTX documents, and guards of their loads: offered on the line that writes a register, with their
//! saving, or the reason for refusal; the best versions of a whole function on its head; and taken back.

use super::model::{Action, Doing};
use super::priced::{APPLY, FAST, REMOVE, SKIP, SKIP_FAST, priced, skipping};
use super::{ranked, version_set};
use crate::db::{Db, File};
use crate::derive::ptx_versions::{Made, Trying, Way};
use crate::derive::versions;
use crate::derive::zeros;
use crate::program;
use codegen::specialize::Zeros;
use codegen::specialize::ptx::{Candidate, Document, Refusal, Settings, remove, unguard};
use facts::zeros::originator;
use ir::ValueDef;
use syntax::Span;
use syntax::ptx::PtxFunction;

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
    if let Some(removal) = unguard(text, offset) {
        let edits = removal.cuts.iter().map(|&cut| (cut, String::new()));
        found.push(Action {
            title: format!("Remove the guards where `{}` is zero", removal.name),
            effect: "leaves every load as it was".to_owned(),
            what: Doing::Edit(edits.collect()),
            ..Action::rewrite(REMOVE, String::new())
        });
    }
    let Some((place, item)) = program::item_at(db, file, offset) else {
        return found;
    };
    let Some(trying) = Trying::new(db, file, item) else {
        return found;
    };
    let inside = offset.saturating_sub(place.start);
    let allowed = trying.allowed(file);
    // The head of a function stands for all of it.
    let tree = trying.document.tree;
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
    let candidates = at_line(&trying.document, inside);
    let mut offered: Vec<(f64, Action)> = Vec::new();
    for way in [Way::Copy, Way::Guards] {
        let [plain, fast] = ids(way);
        let Some((rank, candidate, tried)) = trying.best(way, &candidates, allowed) else {
            continue;
        };
        let ieee = tried == Err(Refusal::Ieee);
        offered.push((rank, trying.action(plain, &candidate, tried)));
        if ieee {
            let permitted = Settings {
                absorb: true,
                ..allowed
            };
            if let Some((rank, candidate, tried)) = trying.best(way, &candidates, permitted) {
                offered.push((rank, trying.action(fast, &candidate, tried)));
            }
        }
    }
    // The better comes first.
    offered.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    found.extend(offered.into_iter().map(|(_, action)| action));
    found
}

/// The names of a way's actions, without and with the permission to take 0 * x for 0.
const fn ids(way: Way) -> [&'static str; 2] {
    match way {
        Way::Copy => [APPLY, FAST],
        Way::Guards => [SKIP, SKIP_FAST],
    }
}

/// All statements.
fn tree_span(tree: &PtxFunction) -> Span {
    let end = tree.statements().last().map_or(0, |last| last.span.end);
    Span::new(0, end)
}

impl Trying<'_> {
    /// The best of the registers of one line.
    fn best(
        &self,
        way: Way,
        candidates: &[Candidate],
        settings: Settings,
    ) -> Option<(f64, Candidate, Result<Made, Refusal>)> {
        let mut best: Option<(f64, Candidate, Result<Made, Refusal>)> = None;
        for candidate in candidates.iter().take(MOST_TRIED) {
            let tried = self.attempt(way, candidate, settings);
            let rank = match &tried {
                Ok(made) => ranked::worth(made.model, self.share(candidate)).unwrap_or(-1e9),
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
            let mut tried = self.attempt(Way::Copy, &candidate, allowed);
            if tried == Err(Refusal::Ieee) {
                id = FAST;
                let permitted = Settings {
                    absorb: true,
                    ..allowed
                };
                tried = self.attempt(Way::Copy, &candidate, permitted);
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
        let probabilities = versions::probabilities(self.db, self.item, self.function())?;
        let candidates = self.document.candidates();
        let zeros = match allowed.absorb {
            true => Zeros::Absorb,
            false => Zeros::Ieee,
        };
        let wanted = version_set::wanted(
            self.function(),
            &probabilities,
            &self.weights,
            self.machine,
            zeros,
        );
        let order = version_set::ordered(&candidates, &wanted, |it| {
            (it.members.to_vec(), self.share(it))
        });
        let mut set = version_set::Set::default();
        let mut chosen: Vec<Made> = Vec::new();
        for candidate in order.into_iter().take(versions::MOST_TRIED) {
            if set.is_full() {
                break;
            }
            let settings = Settings {
                number: chosen.iter().map(|it| it.number + 1).max().unwrap_or(1),
                ..allowed
            };
            let Ok(version) = self.attempt(Way::Copy, &candidate, settings) else {
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
        let mut after = self.text().to_owned();
        let mut edits = Vec::new();
        for version in chosen {
            let version = version.judged(&after, self.start()).ok()?;
            for (offset, text) in version.insertions.into_iter().rev() {
                let at = self.start() + offset;
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
            .all(|&member| match self.function().values[member].def {
                ValueDef::Result(inst, _) => originator(self.function(), inst).is_some(),
                _ => false,
            })
    }

    fn action(&self, id: &str, candidate: &Candidate, tried: Result<Made, Refusal>) -> Action {
        let name = candidate.names.join(", ");
        let mut out = Action::rewrite(id, String::new());
        let loads = match &tried {
            Ok(made) if made.way == Way::Guards => made.statements.1,
            _ => 0,
        };
        out.title = match id {
            SKIP | SKIP_FAST => skipping(&name, loads),
            _ => format!("Version on zero of `{name}`"),
        };
        if id == FAST || id == SKIP_FAST {
            out.title.push_str(", taking 0 * x for 0");
        }
        let made = match tried {
            Ok(made) => made,
            Err(refusal) => {
                // Where nothing may be left out for a copy either, that says why.
                let twice = id == SKIP && refusal == Refusal::Ieee;
                out.quiet =
                    twice || matches!(refusal, Refusal::NothingSaved(_) | Refusal::NoRegister);
                out.effect = refusal.to_string();
                out.what = Doing::Refused {
                    reason: out.effect.clone(),
                };
                return out;
            }
        };
        out.effect = match made.way {
            Way::Copy => format!(
                "copies {} statements, of which {} run where `{name}` is zero in all lanes of a warp",
                made.statements.0, made.statements.1
            ),
            Way::Guards => format!(
                "guards {} where `{name}` is zero, without a vote or a branch; the loads wait for the test, and each lane spares the sectors that it alone reads",
                match made.statements.0 {
                    1 => "1 statement".to_owned(),
                    count => format!("{count} statements"),
                },
            ),
        };
        let probability = self.share(candidate);
        if !priced(&mut out, Some(made.model), probability, self.machine, true) {
            return out;
        }
        if id == FAST || id == SKIP_FAST {
            out.effect.push_str(
                "; where an operand that is left out is infinite or NaN the result is another",
            );
        }
        let edits = made
            .insertions
            .into_iter()
            .map(|(offset, text)| (Span::at(self.start() + offset), text));
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
