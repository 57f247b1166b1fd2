//! A PTX kernel in the registers that it may have: by allocators that say where each value lives, and so that the assembler
//! spills less. Offered on the head of a kernel that has a budget.

use super::model::{Action, Doing};
use super::pressure::reason;
use crate::db::{self, Db, File};
use crate::derive::costs;
use crate::derive::fitted::prepared;
use crate::program::{self, Language};
use codegen::target::ptx::machine::fit::{Allocator, Home, Made};
use syntax::Span;
use syntax::ptx::PtxItemKind;

/// Stable names of the actions.
pub const SPILL_LESS: &str = "spill-less";
const ALLOCATORS: [(Allocator, &str, &str); 4] = [
    (Allocator::Linear, "allocate-linear", "linear scan"),
    (Allocator::Divergence, "allocate-divra", "DivRA"),
    (Allocator::Affine, "allocate-affra", "AffRA"),
    (Allocator::Lockstep, "allocate-lockstep", "least cost"),
];
/// Registers without which no instruction of PTX is sure to find its operands.
const LEAST: u32 = 8;

/// Returns the actions on the kernel whose head is at a place.
pub(super) fn actions(db: &dyn Db, file: File, range: Span) -> Vec<Action> {
    if file.language(db) != Language::Ptx {
        return Vec::new();
    }
    let Some((place, item)) = program::item_at(db, file, range.start) else {
        return Vec::new();
    };
    let PtxItemKind::Function(tree) = &db::ptx_tree(db, item).kind else {
        return Vec::new();
    };
    let inside = range.start.saturating_sub(place.start);
    let first = tree.statements().first();
    if !tree.entry || first.is_none_or(|first| inside >= first.span.start) {
        return Vec::new();
    }
    let costs = costs::of_item(db, item).into_iter().flatten().next();
    let budget = costs.as_ref().and_then(|costs| costs.budget);
    let Some(budget) = budget.filter(|budget| budget.reason.is_chosen()) else {
        let why = "no budget of registers: neither `.maxnreg`, `.maxntid` nor `.reqntid` of the kernel, nor \
                   `maxrregcount` in lockstep.toml says how many a thread may have";
        let mut action = Action::rewrite(SPILL_LESS, "Spill less".to_owned());
        refuse(&mut action, why.to_owned());
        return vec![action];
    };
    let words = budget.registers.clamp(LEAST, 255) as u16;
    let mut found = prepared(db, file, Some(&tree.name.text));
    found.retain(|function| function.1.start == place.start);
    let Some((name, place, _, prepared)) = found.pop() else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for (allocator, id, by) in ALLOCATORS {
        let title = format!("Fit `{name}` into {words} registers by {by}");
        let mut action = Action::rewrite(id, title);
        let made = prepared.as_ref().map_err(Clone::clone);
        match made.and_then(|prepared| prepared.fitted(words, allocator)) {
            Ok(made) if made.spilled.is_empty() => {
                refuse(
                    &mut action,
                    format!("all values fit {words} registers as they are"),
                );
            }
            Ok(made) => {
                action
                    .title
                    .push_str(&format!(": {} spilled", made.spilled.len()));
                action.effect = format!("{}; {}", told(&made), reason(budget.reason));
                action.what = Doing::Edit(vec![(place, made.text)]);
            }
            Err(refusal) => {
                refuse(&mut action, refusal.to_string());
                action.quiet = false;
            }
        }
        out.push(action);
    }
    let estimated = costs.and_then(|costs| costs.registers);
    let mut less = Action::rewrite(
        SPILL_LESS,
        format!("Spill less of `{name}` in {words} registers, as ptxas judges"),
    );
    less.effect = match estimated {
        Some(registers) => format!("{registers} registers by estimate, {words} allowed"),
        None => format!("{words} registers are allowed"),
    };
    less.what = Doing::SpillLess {
        kernel: name.to_string(),
        registers: words,
    };
    out.push(less);
    out
}

fn refuse(action: &mut Action, reason: String) {
    action.effect.clone_from(&reason);
    action.what = Doing::Refused { reason };
    action.quiet = true;
}

/// `12 values live elsewhere: 3 once a warp, 9 once a lane; 96 bytes of shared memory, 36 of local memory a thread`
fn told(made: &Made) -> String {
    let count =
        |is: &dyn Fn(Home) -> bool| made.spilled.iter().filter(|value| is(value.home)).count();
    let kinds = [
        (
            count(&|home| matches!(home, Home::Constant(_) | Home::Known(..) | Home::Again(_))),
            "computed again",
        ),
        (count(&|home| home == Home::Reload), "loaded again"),
        (
            count(&|home| matches!(home, Home::Warp(_) | Home::WarpBase(..))),
            "once a warp",
        ),
        (
            count(&|home| matches!(home, Home::RegisterLane(_))),
            "in lanes of a register",
        ),
        (
            count(&|home| matches!(home, Home::Lane(_) | Home::Column(_))),
            "once a lane",
        ),
    ];
    let kinds: Vec<String> = kinds
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, kind)| format!("{count} {kind}"))
        .collect();
    format!(
        "{} values live elsewhere: {}; {} bytes of shared memory a workgroup, {} of local memory a thread",
        made.spilled.len(),
        kinds.join(", "),
        made.shared_bytes,
        made.local_bytes
    )
}
