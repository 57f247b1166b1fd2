//! The arguments that the callers in sight of a device function pass to it, and the values that they leave in
//! memory for it.
//!
//! Callers are the kernels of a unit and those functions of the file that others may call: functions that are
//! exported, virtual, or have their address taken, those that nobody in sight calls, and those reached by a
//! call that stays a call. Nothing is known of a header's functions, for other files include it.

use super::*;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// The arguments of calls: the callee's item and name, and for each parameter the largest scope over which
/// the argument is uniform.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Passed {
    pub item: ItemKey,
    pub callee: SmolStr,
    /// True if the arguments of every call are known.
    pub known: bool,
    pub scopes: Vec<Option<Scope>>,
    /// The uniformity of each `static` variable's contents, as far as the callers know it.
    pub statics: BTreeMap<SmolStr, Option<Scope>>,
    /// The uniformity that the callers' stores leave to the callee's loads: `Options::reached`.
    pub reached: Option<Scope>,
    /// The assumption that a scope rests on: `Options::assumption` of a caller.
    pub assumption: SmolStr,
    /// The callers, each with the arguments that it passes itself.
    pub callers: Vec<(SmolStr, Vec<Option<Scope>>)>,
}

/// The functions of an item that are no kernels, and their callees.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Callees {
    pub function: SmolStr,
    /// The callers whose calls have known arguments.
    pub called: Vec<(ItemKey, SmolStr)>,
    /// Otherwise; itself, if others may call it.
    pub reached: Vec<(ItemKey, SmolStr)>,
}

/// The name without that of its class or namespace.
fn plain(name: &SmolStr) -> SmolStr {
    name.rsplit("::")
        .next()
        .map_or_else(|| name.clone(), SmolStr::new)
}

fn is_root(function: &Function) -> bool {
    matches!(function.kind, FunctionKind::Kernel | FunctionKind::Stage(_))
}

/// The calls that the kernels of an item make, by callee; several calls of one callee agree on the smaller scope.
pub fn calls(db: &dyn Db, item: Item<'_>) -> Vec<Passed> {
    let lowered = db::lowered(db, item);
    let firsts = || lowered.iter().filter_map(|it| it.module.functions.first());
    if !firsts().any(is_root) {
        return Vec::new();
    }
    // The facts of an item that holds device functions as well depend on this query: its kernels, which depend on no call,
    // are analysed here.
    let mixed = firsts().any(|function| !is_root(function));
    let mut calls = Vec::new();
    for (at, each) in lowered.iter().enumerate() {
        let Some(function) = each.module.functions.first().filter(|f| is_root(f)) else {
            continue;
        };
        if mixed {
            calls.extend(calls_of_callable(db, item, each));
        } else if let Some(facts) = db::facts_of(db, item)
            .get(at)
            .and_then(|analysed| analysed.functions.first())
        {
            calls.extend(calls_of(&each.module, function, facts));
        }
    }
    merged(calls)
}

/// Returns the callees of an item's functions that are no kernels, without their facts.
pub fn callees(db: &dyn Db, item: Item<'_>) -> Vec<Callees> {
    let functions = db::lowered(db, item).iter().filter_map(|it| {
        let function = it.module.functions.first().filter(|f| !is_root(f))?;
        let (mut called, mut reached) = (Vec::new(), unsaid(&it.module));
        for site in function.sites.values() {
            called.extend(site.item.clone().map(|key| (key, plain(&site.callee))));
        }
        for list in [&mut called, &mut reached] {
            list.sort_unstable();
            list.dedup();
        }
        Some(Callees {
            function: plain(&function.name),
            called,
            reached,
        })
    });
    functions.collect()
}

/// Returns the arguments that an item's functions which are no kernels pass, whatever their callers.
pub fn calls_of_device(db: &dyn Db, item: Item<'_>) -> Vec<(SmolStr, Vec<Passed>)> {
    let functions = db::lowered(db, item).iter().filter_map(|it| {
        let function = it.module.functions.first().filter(|f| !is_root(f))?;
        Some((plain(&function.name), calls_of_callable(db, item, it)))
    });
    functions.collect()
}

/// The calls of a function whose own callers are not known.
fn calls_of_callable(db: &dyn Db, item: Item<'_>, lowered: &Lowered) -> Vec<Passed> {
    let config = super::settings(db, item.main(db)).analysis(db);
    let options = analysis_options(config, lowered, || &[]);
    let facts = facts::assess(&lowered.module, &options)
        .0
        .into_iter()
        .next();
    match (lowered.module.functions.first(), facts) {
        (Some(function), Some(facts)) => calls_of(&lowered.module, function, &facts),
        _ => Vec::new(),
    }
}

/// Functions that a module reaches with arguments which nothing tells.
fn unsaid(module: &ir::Module) -> Vec<(ItemKey, SmolStr)> {
    let mut found = Vec::new();
    for (number, function) in module.functions.iter().enumerate() {
        let reached = function.reached.iter();
        found.extend(reached.map(|(key, name)| (key.clone(), plain(name))));
        // What is passed on is not known where the arguments are not.
        if number > 0 {
            for site in function.sites.values() {
                found.extend(site.item.clone().map(|key| (key, plain(&site.callee))));
            }
        }
    }
    found
}

fn calls_of(module: &ir::Module, function: &Function, facts: &FunctionFacts) -> Vec<Passed> {
    let private = |value: Value| {
        let at = facts.private.binary_search_by_key(&value, |(v, _)| *v);
        at.ok().map(|at| facts.private[at].1)
    };
    let scope = |value: &Value| {
        // Of memory that holds an argument counts what is there.
        if let Some(contents) = private(*value) {
            return contents;
        }
        let temporal = facts
            .temporal
            .iter()
            .filter(|fact| fact.value == *value)
            .map(|fact| fact.fact.uniform_at);
        temporal.fold(facts.values[*value].uniform_at, Option::min)
    };
    let statics = function.statics.iter();
    let statics: BTreeMap<SmolStr, Option<Scope>> = statics
        .map(|known| (known.key.clone(), private(known.address).flatten()))
        .collect();
    let mut calls = Vec::new();
    for (number, site) in function.sites.iter() {
        let Some(key) = &site.item else { continue };
        let scopes = site.arguments.iter().map(|(_, values)| match values.len() {
            // Nothing tells what it is.
            0 => None,
            _ => (values.iter().map(scope)).fold(Some(Scope::Dispatch), Option::min),
        });
        let scopes: Vec<Option<Scope>> = scopes.collect();
        let mut values = site.arguments.iter().flat_map(|(_, values)| values);
        let assumed =
            facts.options.whole_program_assumed || values.any(|&value| facts.values[value].assumed);
        let raced = facts
            .raced
            .iter()
            .filter(|(load, _)| is_inside(function, function.insts[*load].loc.site, number))
            .map(|(_, left)| *left);
        calls.push(Passed {
            item: key.clone(),
            callee: plain(&site.callee),
            known: true,
            callers: vec![(function.name.clone(), scopes.clone())],
            scopes,
            statics: statics.clone(),
            reached: raced.fold(Some(Scope::Dispatch), Option::min),
            assumption: if assumed {
                facts.options.assumption.clone()
            } else {
                SmolStr::default()
            },
        });
    }
    calls.extend(
        unsaid(module)
            .iter()
            .map(|(item, callee)| unknown(item, callee)),
    );
    calls
}

/// Returns true if a place is part of an inlined call.
fn is_inside(function: &Function, mut place: Site, call: Site) -> bool {
    loop {
        if place == call {
            return true;
        }
        match function.sites.get(place).and_then(|site| site.parent) {
            Some(parent) if parent != place => place = parent,
            _ => return false,
        }
    }
}

/// One entry a callee, sorted. Calls with different numbers of arguments say nothing.
fn merged(mut calls: Vec<Passed>) -> Vec<Passed> {
    calls.sort_by(|a, b| (&a.item, &a.callee).cmp(&(&b.item, &b.callee)));
    let mut out: Vec<Passed> = Vec::new();
    for call in calls {
        match out.last_mut() {
            Some(last) if (&last.item, &last.callee) == (&call.item, &call.callee) => {
                merge(last, call);
            }
            _ => out.push(call),
        }
    }
    out
}

fn merge(last: &mut Passed, call: Passed) {
    last.known &= call.known && last.scopes.len() == call.scopes.len();
    if !last.known {
        return;
    }
    for (scope, other) in last.scopes.iter_mut().zip(call.scopes) {
        *scope = (*scope).min(other);
    }
    last.reached = last.reached.min(call.reached);
    // Who does not know of a variable does not write it.
    for (key, scope) in call.statics {
        let known = last.statics.entry(key).or_insert(scope);
        *known = (*known).min(scope);
    }
    for (caller, scopes) in call.callers {
        match last.callers.iter_mut().find(|(known, _)| *known == caller) {
            Some((_, known)) => {
                for (scope, other) in known.iter_mut().zip(scopes) {
                    *scope = (*scope).min(other);
                }
            }
            None => last.callers.push((caller, scopes)),
        }
    }
    if !call.assumption.is_empty() && !last.assumption.contains(call.assumption.as_str()) {
        last.assumption = match last.assumption.is_empty() {
            true => call.assumption,
            false => smol_str::format_smolstr!("{}; {}", last.assumption, call.assumption),
        };
    }
}

/// Returns the arguments that all callers of a unit pass.
pub fn all_calls(db: &dyn Db, file: File) -> Vec<Passed> {
    let items = db::items(db, file).iter();
    let kernels = items.filter(|item| item.holds(db).kernels);
    let mut calls = merged(
        kernels
            .flat_map(|&item| db::calls(db, item).iter().cloned())
            .collect(),
    );
    let own = db::items(db, file).iter().filter(|item| {
        let holds = item.holds(db);
        holds.own && holds.code
    });
    let own: Vec<Item<'_>> = own.copied().collect();
    let kept = kept_in_globals(db, file);
    // Functions that others may call, or that only such ones call: until no further one is found.
    let mut open: FxHashSet<(ItemKey, SmolStr)> = FxHashSet::default();
    let mut called: FxHashSet<(ItemKey, SmolStr)> = FxHashSet::default();
    for &item in &own {
        for callees in db::callees(db, item) {
            called.extend(callees.called.iter().cloned());
            open.extend(callees.reached.iter().cloned());
            let name = (key(db, item), callees.function.clone());
            if kept.contains(&callees.function) {
                open.insert(name);
            }
        }
    }
    called.extend((calls.iter()).map(|passed| (passed.item.clone(), passed.callee.clone())));
    let mut done: FxHashSet<(ItemKey, SmolStr)> = FxHashSet::default();
    loop {
        open.extend(
            (calls.iter().filter(|passed| !passed.known))
                .map(|passed| (passed.item.clone(), passed.callee.clone())),
        );
        let mut more = Vec::new();
        for &item in &own {
            let key = key(db, item);
            for callees in db::callees(db, item) {
                let name = (key.clone(), callees.function.clone());
                let is_open = open.contains(&name) || !called.contains(&name);
                if callees.called.is_empty() && callees.reached.is_empty()
                    || !is_open
                    || !done.insert(name.clone())
                {
                    continue;
                }
                let passed = db::calls_of_device(db, item).iter();
                more.extend(
                    passed
                        .filter(|(function, _)| *function == callees.function)
                        .flat_map(|(_, list)| list.iter().cloned()),
                );
            }
        }
        // What is called without telling stays unknown, whoever else calls it.
        more.extend(open.iter().map(|(item, callee)| unknown(item, callee)));
        let before = calls.clone();
        calls.extend(more);
        calls = merged(calls);
        if calls == before {
            return calls;
        }
    }
}

/// Names in the file's own globals that are no calls: a table of functions takes their addresses.
fn kept_in_globals(db: &dyn Db, file: File) -> FxHashSet<SmolStr> {
    use syntax::c_family::token::TokenKind;
    let mut found = FxHashSet::default();
    for item in db::items(db, file) {
        let holds = item.holds(db);
        if !holds.own || holds.code {
            continue;
        }
        let Body::Tokens { tokens, .. } = item.body(db) else {
            continue;
        };
        let holds_value = |kind| matches!(kind, TokenKind::LBrace | TokenKind::Equal);
        if !tokens.iter().any(|token| holds_value(token.kind)) {
            continue;
        }
        for (at, token) in tokens.iter().enumerate() {
            let next = tokens.get(at + 1).map(|next| next.kind);
            if token.kind == TokenKind::Ident && next != Some(TokenKind::LParen) {
                found.insert(token.text.clone());
            }
        }
    }
    found
}

fn unknown(item: &ItemKey, callee: &SmolStr) -> Passed {
    Passed {
        item: item.clone(),
        callee: callee.clone(),
        known: false,
        scopes: Vec::new(),
        statics: BTreeMap::new(),
        reached: None,
        assumption: SmolStr::default(),
        callers: Vec::new(),
    }
}

/// Returns the arguments passed to the functions of an item.
pub fn passed(db: &dyn Db, item: Item<'_>) -> Vec<Passed> {
    if is_header(item.main(db).path(db)) {
        return Vec::new();
    }
    let key = key(db, item);
    let all = db::all_calls(db, item.main(db));
    let start = all.partition_point(|passed| passed.item < key);
    all[start..]
        .iter()
        .take_while(|passed| passed.item == key)
        .cloned()
        .collect()
}

/// A file that others include, by its name.
fn is_header(path: &Path) -> bool {
    const HEADERS: [&str; 11] = [
        "h", "hh", "hpp", "hxx", "cuh", "inl", "inc", "ipp", "tpp", "hlsli", "fxh",
    ];
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|found| {
        HEADERS
            .iter()
            .any(|known| known.eq_ignore_ascii_case(found))
    })
}

/// Returns the argument of each kernel for a parameter of a device function, if they differ: the largest
/// scope over which it is uniform.
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

/// Returns the facts about a device function's parameters, its `static` variables among them, and about
/// memory; and the assumption that they rest on.
pub(super) fn parameters(
    passed: &[Passed],
    function: &Function,
) -> Option<(Vec<Option<Scope>>, Option<Scope>, SmolStr)> {
    let found = find(passed, function)?;
    let mut written = found.scopes.iter();
    let scopes = function
        .parameters
        .iter()
        .map(|parameter| match function.static_of(parameter) {
            Some(known) => found.statics.get(&known.key).copied().flatten(),
            None => written.next().copied().flatten(),
        });
    Some((scopes.collect(), found.reached, found.assumption.clone()))
}

fn find<'a>(passed: &'a [Passed], function: &Function) -> Option<&'a Passed> {
    let written = function.parameters.iter();
    let written = written.filter(|parameter| function.static_of(parameter).is_none());
    let (name, count) = (plain(&function.name), written.count());
    passed
        .iter()
        .find(|it| it.known && it.callee == name && it.scopes.len() == count)
}
