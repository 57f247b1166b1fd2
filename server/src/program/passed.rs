//! What the visible kernels of a file pass to its device functions.

use super::*;

/// What a call passes: the callee's item and name, and for each parameter the largest scope over which the argument is
/// uniform.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Passed {
    pub item: ItemKey,
    pub callee: SmolStr,
    pub scopes: Vec<Option<Scope>>,
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
    let options = &item.main(db).settings(db).analysis(db).options;
    let mixed = lowered
        .iter()
        .filter_map(|one| one.module.functions.first())
        .any(|f| !is_root(f));
    let roots: Vec<(&Function, std::borrow::Cow<'_, FunctionFacts>)> = if mixed {
        let modules = lowered
            .iter()
            .filter(|one| one.module.functions.first().is_some_and(is_root));
        modules
            .map(|one| {
                (
                    &one.module.functions[0],
                    std::borrow::Cow::Owned(facts::analyze(0, &one.module, options)),
                )
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
            calls.push(Passed {
                item: key.clone(),
                callee: site.callee.clone(),
                scopes: scopes.collect(),
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

pub(super) fn parameters(passed: &[Passed], function: &Function) -> Vec<Option<Scope>> {
    let last = |name: &str| name.rsplit("::").next().unwrap_or("").to_owned();
    let fits = |one: &&Passed| {
        last(&one.callee) == last(&function.name) && one.scopes.len() == function.parameters.len()
    };
    passed
        .iter()
        .find(fits)
        .map_or_else(Vec::new, |one| one.scopes.clone())
}
