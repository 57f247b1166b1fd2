//! Versions on zero as actions: the saving of each in its title, or the reason why there is none.

use super::model::{Action, Doing};
use crate::derive::versions::Offer;
use codegen::specialize::accept::{Model, Rule};
use codegen::specialize::source::{Candidate, Refusal, Settings};
use facts::cost::Machine;

pub(super) const APPLY: &str = "version-on-zero";
pub(super) const FAST: &str = "version-on-zero-fast";
/// A guard in place, by which each lane chooses for itself.
pub(super) const SKIP: &str = "skip-loads";
pub(super) const SKIP_FAST: &str = "skip-loads-fast";
/// The best set of versions of a whole function.
pub(super) const SET: &str = "version-on-zero-set";
pub(super) const REMOVE: &str = "remove-version";

pub(super) fn action(
    id: &str,
    candidate: &Candidate,
    tried: Result<Offer, Refusal>,
    machine: &Machine,
    settings: Settings,
    lanes: bool,
) -> Action {
    let name = &candidate.name;
    let killed = |offer: &Offer| offer.model.map_or(0, |model| model.memory_killed);
    let killed = tried.as_ref().map_or(0, killed);
    let mut title = match settings.each_lane {
        false => format!("Version on zero of `{name}`"),
        true => skipping(name, killed),
    };
    if id == FAST || id == SKIP_FAST {
        title.push_str(", taking 0 * x for 0");
    }
    let mut out = Action::rewrite(id, title);
    let offer = match tried {
        Ok(offer) => offer,
        Err(refusal) => {
            out.quiet = refusal.quiet();
            out.effect = refusal.to_string();
            out.what = Doing::Refused {
                reason: out.effect.clone(),
            };
            return out;
        }
    };
    let version = offer.version;
    if settings.each_lane && lanes && killed == 0 {
        out.quiet = true;
        out.effect =
            "no access to memory becomes useless, which is what a lane spares by itself".to_owned();
        out.what = Doing::Refused {
            reason: out.effect.clone(),
        };
        return out;
    }
    out.effect = format!(
        "{} {}; {} where `{name}` is zero{}",
        match (settings.each_lane, version.fast_lines) {
            (true, 0) => "guards",
            _ => "copies",
        },
        counted(version.lines),
        match version.fast_lines {
            0 if version.lines == 1 => "nothing of it runs".to_owned(),
            0 => "nothing of them runs".to_owned(),
            1 => "1 line runs instead".to_owned(),
            lines => format!("{lines} lines run instead"),
        },
        match settings.each_lane {
            true => "",
            false => " in all lanes of a warp",
        }
    );
    if !priced(&mut out, offer.model, offer.probability, machine, lanes) {
        return out;
    }
    if version.absorbs {
        out.effect.push_str(
            "; where an operand that is left out is infinite or NaN the result is another, as the signs of zeros may be",
        );
    }
    if version.test.contains("WaveActiveAllTrue") {
        out.effect.push_str("; the vote needs shader model 6.0");
    } else if settings.each_lane {
        if lanes {
            out.effect.push_str(
                "; each lane chooses for itself, and spares the sectors that it alone reads; lanes of a warp that part wait for each other",
            );
        }
    } else if !version.test.contains("__all_sync") {
        out.effect
            .push_str("; a plain branch, as all lanes of a warp hold the same value");
    }
    if version.test.contains("__activemask") && !settings.whole_warps {
        out.effect
            .push_str("; lanes that do not run together vote apart, which costs speed alone");
    }
    out.what = Doing::Edit(vec![version.edit]);
    out
}

/// The title of guards that skip so many accesses.
pub(super) fn skipping(name: &str, accesses: usize) -> String {
    match accesses {
        0 => format!("Skip what is useless where `{name}` is zero"),
        1 => format!("Skip an access to memory where `{name}` is zero"),
        count => format!("Skip {count} accesses to memory where `{name}` is zero"),
    }
}

/// Puts the saving of a version into its title and effect; `false` when it does not pay, and is refused.
pub(super) fn priced(
    out: &mut Action,
    model: Option<Model>,
    probability: Option<f64>,
    machine: &Machine,
    lanes: bool,
) -> bool {
    let Some(model) = model else {
        return true;
    };
    let (of, zeros) = match lanes {
        true => (" a warp", "zero warps"),
        false => ("", "zeros"),
    };
    let figures = match model.scheduled {
        Some((before, after)) => format!(
            "an iteration takes {} cycles as the loop is and {} with it, whichever way it goes{} (estimate for {})",
            iteration(before),
            iteration(after),
            match model.waited {
                0.0 => String::new(),
                waited => format!(", and what it spares waits {waited:.0} cycles for caches"),
            },
            machine.name
        ),
        None => format!(
            "{:.0} cycles, {:.0} where it is zero, {:.0} for the check (estimate for {})",
            model.region, model.special, model.check, machine.name
        ),
    };
    let known = probability.map(|probability| Model {
        probability,
        ..model
    });
    match (known, model.break_even()) {
        (Some(known), _) if known.accepted(Rule::Corrected) => {
            out.title = format!(
                "{} (saves {:.0} of {:.0} cycles{of} at {:.0} % {zeros}, estimate for {})",
                out.title,
                known.saved(),
                known.region,
                known.probability * 100.0,
                machine.name
            );
            out.effect = format!("{}; {figures}", out.effect);
        }
        (Some(known), _) => {
            let saved = known.saved();
            out.effect = format!(
                "{} {:.0} cycles{of} at {:.0} % {zeros}: {figures}; {}",
                if saved < 0.0 { "costs" } else { "saves" },
                saved.abs(),
                known.probability * 100.0,
                wanted(&known)
            );
            out.what = Doing::Refused {
                reason: out.effect.clone(),
            };
            return false;
        }
        (None, Some(share)) => {
            out.title = format!(
                "{} (pays from {:.0} % {zeros}, estimate for {})",
                out.title,
                (share * 100.0).ceil(),
                machine.name
            );
            out.effect = format!("{}; {figures}", out.effect);
        }
        (None, None) => {
            out.effect = format!("never pays: {figures}; {}", wanted(&model));
            out.quiet = true;
            out.what = Doing::Refused {
                reason: out.effect.clone(),
            };
            return false;
        }
    }
    true
}

/// Returns the condition that a version must meet and this one does not.
fn wanted(model: &Model) -> String {
    match model.is_small_enough() {
        true => format!("at least {:.0} must be saved", model.least),
        false => format!(
            "of a copy of {} {:.0} % of the cycles must go, {}",
            match model.blocks {
                1 => "1 block".to_owned(),
                blocks => format!("{blocks} blocks"),
            },
            (1.0 - model.threshold()) * 100.0,
            match model.fraction_saved() {
                saved if saved > 0.0 => format!("{:.0} % do", saved * 100.0),
                _ => "none do".to_owned(),
            }
        ),
    }
}

/// Cycles of an iteration, of which several may be one of the kernel.
fn iteration(cycles: f64) -> String {
    match cycles.fract() {
        0.0 => format!("{cycles:.0}"),
        _ => format!("{cycles:.1}"),
    }
}

fn counted(lines: u32) -> String {
    match lines {
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    }
}
