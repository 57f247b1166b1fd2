//! Fewer registers at the peak as actions on CUDA and HLSL sources: offered on a variable that is live there,
//! and for all variables of a kernel on its head and on the line of the peak, with the estimates before and
//! after, or with the reason for refusal.

use super::model::{Action, Doing};
use super::pressure::reason;
use crate::db::{self, Db, File};
use crate::derive::pressure_edits::{Declined, Estimated, Proposal, Tried, at};
use crate::program::{self, Language};
use codegen::machine::schema::Key;
use codegen::specialize::source::pressure::Kind;
use std::fmt::Write;
use syntax::Span;

/// Names of variables that a title lists.
const NAMED: usize = 3;

/// The actions at a place.
pub(super) fn actions(db: &dyn Db, file: File, range: Span) -> Vec<Action> {
    let table = db::machine(db, program::settings(db, file));
    let copy = match file.language(db) {
        Language::Hlsl if table.gpu().count(Key::ScalarRegisters) > 0 => CopyPlace::Register,
        Language::Hlsl => CopyPlace::Group,
        _ => CopyPlace::Warp,
    };
    let judge = match table.gpu().count(Key::ScalarRegisters) {
        0 => "`ptxas -v`",
        _ => "the compiler",
    };
    let tried = at(db, file, range).into_iter();
    tried.map(|tried| action(tried, copy, judge)).collect()
}

/// The place of the one copy of a uniform value.
#[derive(Clone, Copy)]
enum CopyPlace {
    /// A slot for each warp.
    Warp,
    /// A slot of the whole group: the language has no others.
    Group,
    /// A scalar register of the machine.
    Register,
}

/// The action of an edit; `judge` knows the registers of the machine.
fn action(tried: Tried, copy: CopyPlace, judge: &str) -> Action {
    let subject = match (&tried.variable, &tried.result) {
        (Some(name), _) => format!("`{name}`"),
        (None, Ok(proposal)) => listed(proposal),
        (None, Err(_)) => format!("values of `{}`", tried.kernel),
    };
    let title = match tried.kind {
        Kind::WarpCopy => match copy {
            CopyPlace::Warp => format!("Keep one copy a warp of {subject}"),
            CopyPlace::Group => format!("Keep one copy a group of {subject}"),
            CopyPlace::Register => format!("Keep {subject} in scalar registers"),
        },
        Kind::Recompute => format!("Compute {subject} again behind the peak"),
        Kind::LoadAgain => format!("Load {subject} again behind the peak"),
        Kind::Sink => format!("Define {subject} behind the peak"),
        Kind::Narrow => format!("Declare {subject} with 32 bits"),
        Kind::Unroll => format!("Unroll the loop at the peak of `{}` less", tried.kernel),
    };
    let mut out = Action::rewrite(tried.kind.id(), title);
    match tried.result {
        Ok(proposal) => {
            if !tried.kind.is_of_loop() {
                let _ = write!(out.title, " ({})", figures(&proposal));
            }
            out.effect = effect(tried.kind, &proposal, judge);
            out.what = Doing::Edit(proposal.edits);
        }
        Err(declined) => {
            out.quiet = is_quiet(&declined, tried.variable.is_some());
            out.effect = declined_words(&declined);
            out.what = Doing::Refused {
                reason: out.effect.clone(),
            };
        }
    }
    out
}

/// A gain of a register is small where more than so many stay over the budget. Of 48 rewritings of public kernels that no warning came
/// with, clang and ptxas spilled more after three, all of such a gain.
const MOSTLY: u32 = 10;

/// `` `a`, `b` and 3 more ``
fn listed(proposal: &Proposal) -> String {
    let names = &proposal.names;
    let shown: Vec<String> = names
        .iter()
        .take(NAMED)
        .map(|name| format!("`{name}`"))
        .collect();
    match names.len().saturating_sub(NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// `70 → 66 registers live at the peak, budget 64, estimate`
fn figures(proposal: &Proposal) -> String {
    let mut out = format!(
        "{} → {} registers live at the peak",
        proposal.before.live, proposal.after.live
    );
    if let Some(budget) = proposal.budget.filter(|budget| budget.reason.is_chosen()) {
        let _ = write!(out, ", budget {}", budget.registers);
    }
    out + ", estimate"
}

fn effect(kind: Kind, proposal: &Proposal, judge: &str) -> String {
    let Proposal { before, after, .. } = proposal;
    let mut parts = Vec::new();
    match kind {
        Kind::Unroll => {
            return format!(
                "the iterations stay as they are; copies of a loop that a compiler makes are in no estimate: compare what {judge} says of \
                 the registers and the spills"
            );
        }
        Kind::Recompute | Kind::LoadAgain if !proposal.may_be_undone => parts.push(
            "an empty statement of assembly hides an operand, so that the compiler does not keep the first value".to_owned(),
        ),
        Kind::Sink => parts.push(format!(
            "many compilers move a definition themselves where they know that they may: compare what {judge} says"
        )),
        Kind::Narrow => parts.push(
            "every number that it holds is proved to fit; it is converted back where its type matters".to_owned(),
        ),
        _ => {}
    }
    if let Some(budget) = proposal.budget.filter(|budget| budget.reason.is_chosen()) {
        let over = |each: &Estimated| each.needed.saturating_sub(budget.registers);
        let gain = before.needed.saturating_sub(after.needed);
        let mut words = match gain {
            0 => format!(
                "the order that needs fewest registers needs as many as before, about {} over the budget of {} ({}): compare what \
                 {judge} says",
                over(after),
                budget.registers,
                reason(budget.reason)
            ),
            _ => format!(
                "about {} registers over the budget of {} ({}) in the order that needs fewest, {} before",
                over(after),
                budget.registers,
                reason(budget.reason),
                over(before)
            ),
        };
        if gain > 0 && over(after) > MOSTLY * gain {
            let _ = write!(
                words,
                ": most of it stays, and other values may be spilled instead; compare what {judge} says"
            );
        }
        parts.push(words);
    }
    parts.push(format!(
        "{:.0} cycles a warp, {:.0} before",
        after.cycles, before.cycles
    ));
    if let (Some(now), Some(old)) = (after.occupancy, before.occupancy) {
        parts.push(match now == old {
            true => format!("occupancy stays at {now:.0} %"),
            false => format!("occupancy {now:.0} %, {old:.0} % before"),
        });
    }
    if proposal.shared > 0 {
        parts.push(format!(
            "{} bytes of shared memory a workgroup",
            proposal.shared
        ));
    }
    if proposal.may_be_undone {
        parts.push(
            "a compiler may compute it once all the same: HLSL has no way to forbid it".to_owned(),
        );
    }
    if !proposal.certain {
        parts.push(format!(
            "the estimate is above what the kernel may have by less than its own error: compare what {judge} says"
        ));
    }
    if proposal.divides {
        parts.push(format!(
            "a division that is computed again takes registers of its own while it lasts: compare what {judge} says"
        ));
    }
    for code in &proposal.findings {
        parts.push(format!("adds {}", code.name()));
    }
    parts.join("; ")
}

fn declined_words(declined: &Declined) -> String {
    match declined {
        Declined::Refused(refusal) => refusal.to_string(),
        Declined::Derivative => "a derivative would depend on what is broadcast: helper lanes, which take no part, would give it other \
             neighbours"
            .to_owned(),
        Declined::Enough {
            registers,
            budget: Some(budget),
        } => format!(
            "the kernel's {registers} registers are within its budget of {} ({})",
            budget.registers,
            reason(budget.reason)
        ),
        Declined::Enough { registers, .. } => format!(
            "nothing asks for less than the kernel's {registers} registers: it has no budget, and they do not limit its occupancy"
        ),
        Declined::NoGain { before, after } if after < before => format!(
            "{} register less is live at the peak: addresses of slots take as many",
            before - after
        ),
        Declined::NoGain { before, after } => format!(
            "no register less is live at the peak: {before} before, {after} after; what it is made of takes as many, or as many are live elsewhere"
        ),
        Declined::Occupancy { before, after } => {
            format!("fewer warps would fit: occupancy {after:.0} %, {before:.0} % before")
        }
    }
}

/// Returns whether an editor does not show why an action is refused.
fn is_quiet(declined: &Declined, on_variable: bool) -> bool {
    match declined {
        Declined::Refused(refusal) => !on_variable || refusal.quiet(),
        Declined::NoGain { .. } | Declined::Occupancy { .. } | Declined::Derivative => !on_variable,
        Declined::Enough { .. } => true,
    }
}
