//! What the visible kernels of a file pass to its device functions.

use super::*;

/// What a call passes: the callee's item and name, and for each parameter the largest scope over which the argument is
/// uniform.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Passed {
    pub item: ItemKey,
    pub callee: SmolStr,
    pub scopes: Vec<Option<Scope>>,
    /// What a scope rests on: `Options::assumption` of a caller.
    pub assumption: SmolStr,
    /// Each kernel with what it passes itself.
    pub callers: Vec<(SmolStr, Vec<Option<Scope>>)>,
}

/// The calls that the kernels of an item make, by callee; several calls of one callee agree on the smaller scope.
pub fn calls(db: &dyn Db, item: Item<'_>) -> Vec<Passed> {
    let is_root = |function: &Function| {
        matches!(function.kind, FunctionKind::Kernel | FunctionKind::Stage(_))
    };
    let lowered = db::lowered(db, item);
    // Facts of device functions depend on calls, so only those of kernels are looked at.
    if !lowered
        .iter()
        .filter_map(|one| one.module.functions.first())
        .any(is_root)
    {
        return Vec::new();
    }
    // The facts of an item that holds device functions as well depend on this query: its kernels, which depend on no call, are
    // analysed here.
    let config = item.main(db).settings(db).analysis(db);
    let mixed = lowered
        .iter()
        .filter_map(|one| one.module.functions.first())
        .any(|f| !is_root(f));
    let roots: Vec<(&Function, std::borrow::Cow<'_, FunctionFacts>)> = if mixed {
        let modules = lowered
            .iter()
            .filter(|one| one.module.functions.first().is_some_and(is_root));
        modules
            .filter_map(|one| {
                let options = analysis_options(config, one, || &[]);
                let facts = facts::assess(&one.module, &options).0.into_iter().next()?;
                Some((&one.module.functions[0], std::borrow::Cow::Owned(facts)))
            })
            .collect()
    } else {
        let parts = parts_without_rows(db, item).filter(|(function, _)| is_root(function));
        parts
            .map(|(function, facts)| (function, std::borrow::Cow::Borrowed(facts)))
            .collect()
    };
    let mut calls = Vec::new();
    for (function, facts) in roots {
        for site in function.sites.values() {
            let Some(key) = &site.item else { continue };
            let scope = |value: &Value| {
                let temporal = facts
                    .temporal
                    .iter()
                    .filter(|fact| fact.value == *value)
                    .map(|fact| fact.fact.uniform_at);
                temporal.fold(facts.values[*value].uniform_at, Option::min)
            };
            let scopes = site.arguments.iter().map(|(_, values)| {
                values
                    .iter()
                    .map(scope)
                    .fold(Some(Scope::Dispatch), Option::min)
            });
            let scopes: Vec<Option<Scope>> = scopes.collect();
            let mut values = site.arguments.iter().flat_map(|(_, values)| values);
            let assumed = facts.options.whole_program_assumed
                || values.any(|&value| facts.values[value].assumed);
            calls.push(Passed {
                item: key.clone(),
                callee: site.callee.clone(),
                callers: vec![(function.name.clone(), scopes.clone())],
                scopes,
                assumption: if assumed {
                    facts.options.assumption.clone()
                } else {
                    SmolStr::default()
                },
            });
        }
    }
    merged(calls)
}

fn parts_without_rows<'db>(
    db: &'db dyn Db,
    item: Item<'db>,
) -> impl Iterator<Item = (&'db Function, &'db FunctionFacts)> {
    let pairs = db::lowered(db, item)
        .iter()
        .zip(db::facts_of(db, item).iter());
    pairs.filter_map(|(lowered, analysed)| {
        Some((
            lowered.module.functions.first()?,
            analysed.functions.first()?,
        ))
    })
}

/// One entry a callee, sorted. Calls with different numbers of arguments say nothing.
fn merged(mut calls: Vec<Passed>) -> Vec<Passed> {
    calls.sort_by(|a, b| (&a.item, &a.callee).cmp(&(&b.item, &b.callee)));
    let mut out: Vec<Passed> = Vec::new();
    for call in calls {
        match out.last_mut() {
            Some(last) if (&last.item, &last.callee) == (&call.item, &call.callee) => {
                if last.scopes.len() == call.scopes.len() {
                    for (scope, other) in last.scopes.iter_mut().zip(call.scopes) {
                        *scope = (*scope).min(other);
                    }
                } else {
                    last.scopes.clear();
                }
                for (kernel, scopes) in call.callers {
                    match last.callers.iter_mut().find(|(known, _)| *known == kernel) {
                        Some((_, known)) if known.len() == scopes.len() => {
                            for (scope, other) in known.iter_mut().zip(scopes) {
                                *scope = (*scope).min(other);
                            }
                        }
                        Some((_, known)) => known.clear(),
                        None => last.callers.push((kernel, scopes)),
                    }
                }
                if !call.assumption.is_empty()
                    && !last.assumption.contains(call.assumption.as_str())
                {
                    last.assumption = match last.assumption.is_empty() {
                        true => call.assumption,
                        false => {
                            smol_str::format_smolstr!("{}; {}", last.assumption, call.assumption)
                        }
                    };
                }
            }
            _ => out.push(call),
        }
    }
    out
}

/// What all kernels of a unit pass.
pub fn all_calls(db: &dyn Db, file: File) -> Vec<Passed> {
    merged(
        db::items(db, file)
            .iter()
            .filter(|item| item.holds(db).kernels)
            .flat_map(|&item| db::calls(db, item).iter().cloned())
            .collect(),
    )
}

/// What is passed to the functions of an item.
pub fn passed(db: &dyn Db, item: Item<'_>) -> Vec<Passed> {
    let key = key(db, item);
    let all = db::all_calls(db, item.main(db));
    let start = all.partition_point(|passed| passed.item < key);
    all[start..]
        .iter()
        .take_while(|passed| passed.item == key)
        .cloned()
        .collect()
}

/// What each kernel passes for a parameter of a device function, when they differ: the largest scope over which it is uniform.
pub fn callers_that_differ<'db>(
    db: &'db dyn Db,
    item: Item<'db>,
    function: &Function,
    parameter: &str,
) -> Vec<(&'db SmolStr, Option<Scope>)> {
    let Some(number) = function.parameters.iter().position(|p| p.name == parameter) else {
        return Vec::new();
    };
    let Some(passed) = find(db::passed(db, item), function) else {
        return Vec::new();
    };
    let each: Vec<(&SmolStr, Option<Scope>)> = passed
        .callers
        .iter()
        .filter_map(|(kernel, scopes)| Some((kernel, *scopes.get(number)?)))
        .collect();
    match each.split_first() {
        Some(((_, first), rest)) if rest.iter().any(|(_, other)| other != first) => each,
        _ => Vec::new(),
    }
}

/// What is known of a device function's parameters, and what that rests on.
pub(super) fn parameters(passed: &[Passed], function: &Function) -> (Vec<Option<Scope>>, SmolStr) {
    find(passed, function).map_or_else(Default::default, |one| {
        (one.scopes.clone(), one.assumption.clone())
    })
}

fn find<'a>(passed: &'a [Passed], function: &Function) -> Option<&'a Passed> {
    let last = |name: &str| name.rsplit("::").next().unwrap_or("").to_owned();
    passed.iter().find(|one| {
        last(&one.callee) == last(&function.name) && one.scopes.len() == function.parameters.len()
    })
}
