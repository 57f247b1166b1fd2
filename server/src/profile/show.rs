//! Profiles as tables for a terminal.

use facts::values::compare::{Comparison, Matched, compare, recent_against_invariant};
use facts::values::profiler::{RECENT, ValueProfile};
use facts::values::record::Misses;
use facts::values::stored::{StoredItem, StoredProfile, StoredValue};
use ir::Type;
use oracle::interp::simple::show as show_value;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Columns of a name that are shown.
const NAME: usize = 32;

/// The values of a profile. Temporaries with `all` only.
/// With `recent` the columns of MRV-2 to MRV-5.
pub fn show(profile: &StoredProfile, only: Option<&str>, all: bool, recent: bool) -> String {
    let mut out = String::new();
    let origin = &profile.origin;
    let _ = write!(
        out,
        "{}  warps of {} lanes  {}",
        profile.source.file, profile.warp_size, origin.kind
    );
    if !origin.inputs.is_empty() {
        let _ = write!(out, " on {}", origin.inputs);
    }
    if origin.sampled < origin.of {
        let _ = write!(out, ", {} of {} workgroups", origin.sampled, origin.of);
    }
    out.push('\n');
    for item in &profile.items {
        let last = item.name.rsplit("::").next();
        if only.is_some_and(|only| only != item.name && Some(only) != last) {
            continue;
        }
        table(&mut out, item, all, recent);
    }
    out
}

fn table(out: &mut String, item: &StoredItem, all: bool, recent: bool) {
    let _ = writeln!(out, "\n{}  {} warps", item.name, item.warps);
    let mut rows: Vec<&StoredValue> = item
        .values
        .iter()
        .filter(|value| all || !value.name.is_empty())
        .collect();
    let hidden = item.values.len() - rows.len();
    let never = rows.iter().filter(|value| value.executions == 0).count();
    rows.retain(|value| all || value.executions > 0);
    rows.sort_by_key(|value| {
        (
            item.file_line(value).unwrap_or(u32::MAX),
            value.column,
            value.id,
        )
    });
    let label = |value: &StoredValue| {
        let name = match value.name.is_empty() {
            true => format!("v{} {}", value.id, value.shape),
            false => value.name.clone(),
        };
        match &value.of {
            Some(of) => format!("{name} in {}", of.rsplit("::").next().unwrap_or(of)),
            None => name,
        }
    };
    let width = rows
        .iter()
        .map(|value| label(value).chars().count())
        .max()
        .unwrap_or(0)
        .clamp(5, NAME);
    let _ = writeln!(
        out,
        "{:<width$} {:>5} {:>11} {:>6} {:>7} {:>6} {:>6} {:>6}{}  most often",
        "value",
        "line",
        "executions",
        "zero",
        "uniform",
        "Inv-1",
        "Inv-5",
        "MRV-1",
        match recent {
            true => (2..=RECENT)
                .map(|m| format!(" {:>6}", format!("MRV-{m}")))
                .collect(),
            false => String::new(),
        }
    );
    for value in rows {
        let name: String = label(value).chars().take(NAME).collect();
        let line = item
            .file_line(value)
            .map_or_else(|| "-".to_owned(), |line| line.to_string());
        let counted = value.profiled > 0;
        let profile = value.profile();
        let optional = |share: f64| match counted {
            true => percent(share),
            false => "-".to_owned(),
        };
        let uniform = match value.lanes > 0 && value.executions > 0 {
            true => percent(value.uniform as f64 / value.executions as f64),
            false => "-".to_owned(),
        };
        let _ = writeln!(
            out,
            "{name:<width$} {line:>5} {:>11} {:>6} {uniform:>7} {:>6} {:>6} {:>6}{}  {}",
            value.executions,
            value.zero_share().map_or_else(|| "-".to_owned(), percent),
            optional(profile.invariance(1)),
            optional(profile.invariance(5)),
            optional(profile.most_recent(1)),
            match recent {
                true => (2..=RECENT)
                    .map(|m| match value.recent.is_empty() {
                        true => format!(" {:>6}", "-"),
                        false => format!(" {:>6}", percent(profile.most_recent(m))),
                    })
                    .collect(),
                false => String::new(),
            },
            most_often(value),
        );
    }
    let vectors: Vec<String> = item
        .joint
        .iter()
        .filter(|joint| joint.zeros > 0 && joint.executions > 0)
        .filter_map(|joint| {
            let names: Vec<String> = joint
                .members
                .iter()
                .filter_map(|&id| item.value(id))
                .map(|value| match value.name.is_empty() {
                    true => format!("v{}", value.id),
                    false => value.name.clone(),
                })
                .collect();
            let named = item.value(*joint.members.first()?)?;
            (all || !named.name.is_empty()).then(|| {
                let line = item
                    .file_line(named)
                    .map_or_else(String::new, |line| format!(" (line {line})"));
                format!(
                    "  ({}){line} {}",
                    names.join(", "),
                    percent(joint.zeros as f64 / joint.executions as f64)
                )
            })
        })
        .collect();
    if !vectors.is_empty() {
        let _ = writeln!(out, "all zero together:");
        for vector in vectors {
            let _ = writeln!(out, "{vector}");
        }
    }
    loads(out, item);
    let mut rest = Vec::new();
    if !all && never > 0 {
        rest.push(format!("{never} never computed"));
    }
    if hidden > 0 {
        rest.push(format!("{hidden} without a name"));
    }
    if !rest.is_empty() {
        let _ = writeln!(out, "not shown: {} (--all)", rest.join(", "));
    }
}

/// What loads met in the caches of a processor, those that wait longest first.
fn loads(out: &mut String, item: &StoredItem) {
    let mut met: Vec<(&StoredValue, Misses)> = item
        .values
        .iter()
        .filter_map(|value| Some((value, value.misses?)))
        .collect();
    if met.is_empty() {
        return;
    }
    met.sort_by_key(|(value, misses)| (std::cmp::Reverse(misses.waited), value.id));
    let _ = writeln!(
        out,
        "loads in the caches of {}:\n{:>5} {:>11} {:>7} {:>9} {:>15}  value",
        item.caches, "line", "loads", "missed", "by memory", "waited (cycles)"
    );
    for (value, misses) in met {
        let line = item.file_line(value);
        let line = line.map_or_else(|| "-".to_owned(), |line| line.to_string());
        let (missed, far) = misses.shares();
        let _ = writeln!(
            out,
            "{line:>5} {:>11} {:>7} {:>9} {:>15.1}  {}",
            misses.loads,
            percent(missed),
            percent(far),
            misses.wait(),
            match value.name.is_empty() {
                true => "-",
                false => &value.name,
            }
        );
    }
}

fn most_often(value: &StoredValue) -> String {
    let Some(top) = value.top.first() else {
        return "-".into();
    };
    show_value(value_type(value), top.bits)
}

/// The type is the first word of the shape.
fn value_type(value: &StoredValue) -> Type {
    match value.shape.split(' ').next().unwrap_or("") {
        "bool" => Type::Bool,
        "f16" => Type::F16,
        "bf16" => Type::BF16,
        "f32" => Type::F32,
        "f64" => Type::F64,
        _ => Type::I64,
    }
}

fn percent(share: f64) -> String {
    let value = share * 100.0;
    match value {
        v if v > 0.0 && v < 0.1 => "<0.1%".into(),
        v if v > 99.9 && v < 100.0 => ">99.9%".into(),
        v => format!("{v:.1}%"),
    }
}

/// Values of one profile by their identity in another.
pub type Keyed<'p> = BTreeMap<(String, u32, Key), &'p StoredValue>;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Key {
    /// The code is the same in both.
    Id(u32),
    /// A name, a shape, and the number among those that have both in common.
    Named(String, String, u32),
}

/// Keys that agree between the two profiles.
pub fn keyed<'p>(profile: &'p StoredProfile, other: &StoredProfile) -> Keyed<'p> {
    let mut keyed = Keyed::new();
    for item in &profile.items {
        let same = other
            .items
            .iter()
            .find(|two| two.name == item.name && two.ordinal == item.ordinal)
            .is_some_and(|two| two.code == item.code);
        let mut seen: BTreeMap<(&str, &str), u32> = BTreeMap::new();
        for value in &item.values {
            let key = match same {
                true => Key::Id(value.id),
                false => {
                    let count = seen.entry((&value.name, &value.shape)).or_insert(0);
                    *count += 1;
                    Key::Named(value.name.clone(), value.shape.clone(), *count)
                }
            };
            keyed.insert((item.name.clone(), item.ordinal, key), value);
        }
    }
    keyed
}

/// Two runs compared: the paper's metrics, then the values whose zeros differ most.
pub fn diff(first: &StoredProfile, second: &StoredProfile) -> String {
    let mut out = String::new();
    let (found, two) = (keyed(first, second), keyed(second, first));
    let profiles = |keyed: &Keyed<'_>| -> BTreeMap<(String, u32, Key), ValueProfile> {
        keyed
            .iter()
            .filter(|(_, value)| value.profiled > 0)
            .map(|(key, value)| (key.clone(), value.profile()))
            .collect()
    };
    let (a, b) = (profiles(&found), profiles(&two));
    if first.warp_size != second.warp_size {
        let _ = writeln!(
            out,
            "warps of {} and {} lanes: zeros of whole warps are not comparable",
            first.warp_size, second.warp_size
        );
    }
    if a.is_empty() || b.is_empty() {
        let _ = writeln!(
            out,
            "values of lanes were not counted in both; no invariance to compare"
        );
    } else {
        let Comparison {
            overlap,
            diff_1,
            diff_5,
            same_1,
            find_1,
            find_5,
        } = compare(&a, &b);
        let _ = writeln!(
            out,
            "Overlap {:>7}   of the executions of the first are of values that the second has too",
            percent(overlap)
        );
        let _ = writeln!(
            out,
            "Diff-1  {:>7}   mean difference of Inv-1, by executions",
            percent(diff_1)
        );
        let _ = writeln!(out, "Diff-5  {:>7}   of Inv-5", percent(diff_5));
        let _ = writeln!(
            out,
            "Diff M/I {:>6}   |MRV-1 - Inv-1| in the first",
            percent(recent_against_invariant(&a))
        );
        let matched = |out: &mut String, name: &str, what: &str, matched: Matched| {
            let _ = writeln!(
                out,
                "{name:<7} {:>7}   ({} of the executions) {what}; {} by executions",
                percent(matched.of_values),
                percent(matched.considered),
                percent(matched.of_executions)
            );
        };
        let _ = writeln!(out, "of values with Inv-1 above 30%:");
        matched(&mut out, "Same-1", "same top value", same_1);
        matched(&mut out, "Find-1", "top value among the top five", find_1);
        matched(&mut out, "Find-5", "top five among the top five", find_5);
    }
    let mut changed: Vec<(f64, String)> = Vec::new();
    for (key, value) in &found {
        let (Some(before), Some(after)) = (
            value.zero_share(),
            two.get(key).and_then(|other| other.zero_share()),
        ) else {
            continue;
        };
        if (before - after).abs() >= 0.01 && !value.name.is_empty() {
            let line = first
                .items
                .iter()
                .find(|item| item.name == key.0 && item.ordinal == key.1)
                .and_then(|item| item.file_line(value))
                .map_or_else(String::new, |line| format!(" (line {line})"));
            let row = format!(
                "{:>7} -> {:>7}  {}{line}",
                percent(before),
                percent(after),
                value.name
            );
            changed.push(((before - after).abs(), row));
        }
    }
    changed.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    if changed.is_empty() {
        let _ = writeln!(out, "no named value has other zeros by 1% or more");
    } else {
        let _ = writeln!(out, "warps that hold zero, where it differs by 1% or more:");
    }
    let more = changed.len().saturating_sub(20);
    for (_, row) in changed.into_iter().take(20) {
        let _ = writeln!(out, "{row}");
    }
    if more > 0 {
        let _ = writeln!(out, "and {more} more");
    }
    let (only_one, only_two) = (
        found.keys().filter(|key| !two.contains_key(*key)).count(),
        two.keys().filter(|key| !found.contains_key(*key)).count(),
    );
    if only_one + only_two > 0 {
        let _ = writeln!(
            out,
            "{only_one} values only in the first, {only_two} only in the second"
        );
    }
    out
}
