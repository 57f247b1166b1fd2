//! Versions on zero as actions: what each saves in its title, or why there is none.

use super::model::{Action, Doing};
use crate::derive::versions::Offer;
use codegen::specialize::accept::{LEAST_SAVED, Model, Rule};
use codegen::specialize::source::{Candidate, Refusal, Settings};
use facts::cost::Machine;

pub(super) const APPLY: &str = "version-on-zero";
pub(super) const FAST: &str = "version-on-zero-fast";
/// The best set of versions of a whole function.
pub(super) const SET: &str = "version-on-zero-set";
pub(super) const REMOVE: &str = "remove-version";

pub(super) fn action(
    id: &str,
    candidate: &Candidate,
    tried: Result<Offer, Refusal>,
    machine: &Machine,
    settings: Settings,
) -> Action {
    let name = &candidate.name;
    let mut title = format!("Version on zero of `{name}`");
    if id == FAST {
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
    out.effect = format!(
        "copies {}; {} where `{name}` is zero in all lanes of a warp",
        counted(version.lines),
        match version.fast_lines {
            0 => "nothing of them runs".to_owned(),
            lines => format!("{} instead", counted(lines) + " run"),
        }
    );
    if !priced(&mut out, offer.model, offer.probability, machine) {
        return out;
    }
    if version.absorbs {
        out.effect.push_str(
            "; where an operand that is left out is infinite or NaN the result is another, as the signs of zeros may be",
        );
    }
    if version.test.contains("WaveActiveAllTrue") {
        out.effect.push_str("; the vote needs shader model 6.0");
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

/// Puts what a version saves into its title and effect; `false` when it does not pay, and is refused.
pub(super) fn priced(
    out: &mut Action,
    model: Option<Model>,
    probability: Option<f64>,
    machine: &Machine,
) -> bool {
    let Some(model) = model else {
        return true;
    };
    let figures = format!(
        "{:.0} cycles, {:.0} where it is zero, {:.0} for the check (estimate for {})",
        model.region, model.special, model.check, machine.name
    );
    let known = probability.map(|probability| Model {
        probability,
        ..model
    });
    match (known, model.break_even()) {
        (Some(known), _) if known.accepted(Rule::Corrected) => {
            out.title = format!(
                "{} (saves {:.0} of {:.0} cycles a warp at {:.0} % zero warps, estimate for {})",
                out.title,
                known.saved(),
                known.region,
                known.probability * 100.0,
                machine.name
            );
            out.effect = format!("{}; {figures}", out.effect);
        }
        (Some(known), _) => {
            out.effect = format!(
                "saves {:.0} cycles a warp at {:.0} % zero warps: {figures}; {}",
                known.saved(),
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
                "{} (pays from {:.0} % zero warps, estimate for {})",
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

/// Returns what a version must do that this one does not.
fn wanted(model: &Model) -> String {
    match model.remaining() < model.threshold() {
        true => format!("at least {LEAST_SAVED:.0} must be saved"),
        false => format!(
            "of a copy of {} blocks {:.0} % of the cycles must go, {:.0} % do",
            model.blocks,
            (1.0 - model.threshold()) * 100.0,
            model.fraction_saved() * 100.0
        ),
    }
}

fn counted(lines: u32) -> String {
    match lines {
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    }
}
