//! `lockstep emit --profile`: functions that the profile of their file transforms first.

use super::emit::place;
use super::{CliError, EmitArgs};
use crate::db::{Database, File, Item};
use crate::derive::guided::guided;
use crate::derive::paths::{NoPaths, profile_of};
use crate::views::paths::reason;
use codegen::machine::epic::Epic;
use codegen::profiled::{Absorbing, Profiled};
use codegen::target::ia64::emit::Options;
use ir::{Loc, Module};
use serde_json::{Value, json};

/// Functions by their profile; `None`: as it is.
pub(super) type Guided = Vec<Option<(Module, Profiled)>>;

/// Transforms those functions of which there is a profile, tells of the others, and gives the options the executions of
/// their blocks.
///
/// # Errors
/// The file has no profile.
pub(super) fn all(
    db: &Database,
    file: File,
    args: &EmitArgs,
    chosen: &[(Item<'_>, &Module)],
    epic: &Epic,
    options: &mut Options,
) -> Result<Guided, CliError> {
    let path = args.file.display();
    if let Err(why) = profile_of(db, file) {
        return Err(CliError::Usage(format!("{path}: {}", reason(&why))));
    }
    let mut out = Vec::new();
    for (item, module) in chosen {
        match guided(db, *item, module, epic, options) {
            Ok(profiled) => {
                let mut module = Module::clone(module);
                let function = profiled.function.clone();
                let weights = profiled.executions.iter().map(|&count| count as f64);
                options
                    .weights
                    .insert(function.name.clone(), weights.collect());
                if let Some(first) = module.functions.first_mut() {
                    *first = function;
                }
                tell(db, file, args, (*item, &module), &profiled);
                out.push(Some((module, profiled)));
            }
            Err(why) => {
                // A function that others inline is never run by itself.
                if args.item.is_some() || !matches!(why, NoPaths::NotRun(_)) {
                    eprintln!("{path}: {}", reason(&why));
                }
                out.push(None);
            }
        }
    }
    if args.item.is_none() && out.iter().all(Option::is_none) {
        eprintln!(
            "{path}: the profile has no paths of its functions: they are emitted as they are"
        );
    }
    Ok(out)
}

fn tell(
    db: &Database,
    file: File,
    args: &EmitArgs,
    (item, module): (Item<'_>, &Module),
    profiled: &Profiled,
) {
    let path = args.file.display();
    let Some(function) = module.functions.first() else {
        return;
    };
    let name = &function.name;
    let at = |loc: Loc| match place(db, file, item, function, loc) {
        Some((line, column)) => format!(":{line}:{column}"),
        None => String::new(),
    };
    for done in &profiled.speculated {
        let (at, before, after) = (at(done.loc), times(done.before), times(done.after));
        let what = match (done.is_load, done.is_speculative) {
            (false, _) => format!("an expression of `{name}` is evaluated"),
            (true, false) => format!("a load of `{name}` is done"),
            (true, true) => format!("a load of `{name}` is done speculatively (`ld.s`)"),
        };
        eprintln!("{path}{at}: {what} ahead: {after} in the profiled runs instead of {before}");
    }
    for done in &profiled.sunk {
        let (at, before, after) = (at(done.loc), times(done.before), times(done.executed));
        let flag = match (done.flagged, done.suppressed) {
            (0, _) => String::new(),
            (_, 0) => ", under a predicate that is never false".to_owned(),
            (_, false_times) => {
                format!(", under a predicate that is false {}", times(false_times))
            }
        };
        eprintln!(
            "{path}{at}: a value of `{name}` is computed where it is read: {after} in the profiled runs instead of {before}{flag}"
        );
    }
    for done in &profiled.skipped {
        let loads = match done.loads.len() {
            1 => "1 load that cannot matter is".to_owned(),
            count => format!("{count} loads that cannot matter are"),
        };
        eprintln!(
            "{path}{}: {loads} skipped where this value of `{name}` {}, in {:.0} % of its executions: about {:.0} fewer cycles of waiting for caches in the profiled runs",
            at(done.loc),
            match done.absorbing {
                Absorbing::Zero => "is zero",
                Absorbing::Ones => "has all bits set",
            },
            100.0 * done.share,
            done.spared
        );
    }
    if profiled.is_plain() {
        eprintln!("{path}: nothing in `{name}` pays on the ways of its profile");
    } else if profiled.before > 0.0 {
        let share = 100.0 * (1.0 - profiled.after / profiled.before);
        let (share, than) = match share < 0.0 {
            true => (-share, "more"),
            false => (share, "fewer"),
        };
        let besides = if profiled.skipped.is_empty() {
            ""
        } else {
            " besides"
        };
        eprintln!(
            "{path}: `{name}` takes {share:.1} % {than} cycles{besides} in the profiled runs, an estimate without caches and mispredictions"
        );
    }
}

fn times(count: u64) -> String {
    match count {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        _ => format!("{count} times"),
    }
}

/// The transformations of a function, by lines.
pub(super) fn row(
    db: &Database,
    file: File,
    (item, module): (Item<'_>, &Module),
    profiled: &Profiled,
) -> Value {
    let line = |loc: Loc| {
        let function = module.functions.first()?;
        Some(place(db, file, item, function, loc)?.0)
    };
    let ahead = profiled.speculated.iter().map(|done| {
        json!({
            "kind": if done.is_load { "loaded_ahead" } else { "evaluated_ahead" },
            "speculative": done.is_speculative,
            "line": line(done.loc),
            "before": done.before,
            "after": done.after,
        })
    });
    let sunk = profiled.sunk.iter().map(|done| {
        json!({
            "kind": "computed_where_read",
            "line": line(done.loc),
            "before": done.before,
            "after": done.executed,
            "suppressed": done.suppressed,
        })
    });
    let skipped = profiled.skipped.iter().map(|done| {
        json!({
            "kind": match done.absorbing {
                Absorbing::Zero => "skipped_where_zero",
                Absorbing::Ones => "skipped_where_ones",
            },
            "line": line(done.loc),
            "loads": done.loads.len(),
            "share": done.share,
            "spared": done.spared,
        })
    });
    json!({
        "cycles_before": profiled.before,
        "cycles_after": profiled.after,
        "changes": ahead.chain(sunk).chain(skipped).collect::<Vec<Value>>(),
    })
}
