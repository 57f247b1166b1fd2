//! Facts as rows that views show: one for each place where a variable is written or read, each branch, loop
//! and access. Positions are item-relative and only places in the item's own text are kept, so that rows survive every
//! edit outside the item.

use super::accesses::access_remark;
use crate::db::{self, Db, Item};
use crate::program::Analysed;
use facts::symbolic::ValueForm;
use facts::{
    AccessFact, BarrierFact, BranchFact, Class, Expected, Finding, FunctionFacts, LoopFact, Scope,
};
use ir::lower::c_family::Lowered;
use ir::{Binding, BindingKind, Block, Function, FunctionKind, Site, Value, VariableKind};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use syntax::{ItemKey, Span};

/// The rows of one function, each list in order of position.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Rows {
    /// Every written or read occurrence of a variable.
    pub occurrences: Vec<Occurrence>,
    /// Indices into `occurrences`: one for each definition, one where a merged or temporally divergent value of another
    /// class is first read.
    pub values: Vec<u32>,
    pub branches: Vec<BranchFact>,
    pub loops: Vec<LoopFact>,
    pub accesses: Vec<AccessFact>,
    /// Accesses in the functions that an entry point inlines, once a place, as the worst; positions are relative to the
    /// items in `sites`.
    pub called: Vec<AccessFact>,
    /// The same of loops and branches, with the item that they stand in.
    pub called_loops: Vec<(ItemKey, LoopFact)>,
    pub called_branches: Vec<(ItemKey, BranchFact)>,
    pub barriers: Vec<BarrierFact>,
    /// Lanes of a warp.
    pub lanes: u32,
    /// Divergent loops and branches that are no news.
    pub expected: Expected,
    /// The most wasteful access within each call, by the place of the call in the function's own text, with
    /// the item that it stands in.
    pub through_calls: Vec<(Span, ItemKey, AccessFact)>,
    /// Constructs that were not understood.
    pub unknowns: Vec<(Span, String)>,
    /// `None`: there is no such function.
    pub head: Option<Head>,
    pub findings: Vec<Finding>,
    /// The items whose text the positions in `findings` and `called` are relative to, by site, sorted.
    pub sites: Vec<(Site, ItemKey)>,
    /// The function's name, and the items of an entry point's inlined calls, sorted.
    pub name: SmolStr,
    pub inlined: Vec<ItemKey>,
}

/// The items whose functions an entry point inlines.
fn inlined(function: &Function) -> Vec<ItemKey> {
    if !matches!(function.kind, FunctionKind::Kernel | FunctionKind::Stage(_)) {
        return Vec::new();
    }
    let mut items: Vec<ItemKey> = function
        .sites
        .values()
        .filter_map(|site| site.item.clone())
        .collect();
    items.sort();
    items.dedup();
    items
}

/// The head of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    pub kind: FunctionKind,
    pub name_span: Span,
}

impl Rows {
    /// The item of an inlined call; `None` for the function's own.
    pub fn item_of(&self, site: Site) -> Option<&ItemKey> {
        let at = self
            .sites
            .binary_search_by_key(&site.0, |(known, _)| known.0)
            .ok()?;
        Some(&self.sites[at].1)
    }
}

/// A variable is written or read here.
#[derive(Clone, PartialEq, Debug)]
pub struct Occurrence {
    pub name: SmolStr,
    /// The variable's number in its function.
    pub variable: u32,
    pub variable_kind: VariableKind,
    pub type_text: SmolStr,
    pub declared: Span,
    pub kind: BindingKind,
    pub span: Span,
    /// Member path or swizzle of a partial write or read, with its dot.
    pub part: SmolStr,
    /// The least precise of the components.
    pub class: Class,
    pub form: ValueForm,
    /// The variable's class when it was listed last, in the order of execution.
    pub before: Option<Class>,
    /// The state as the paper writes it, for its methods only.
    pub state: SmolStr,
    /// The largest scope over which all components are uniform.
    pub uniform_at: Option<Scope>,
    /// The components, where they differ: name, class, form.
    pub components: Vec<Component>,
    /// The component that the class comes from, and the block of the use: where a cause chain begins.
    pub worst: Option<Value>,
    pub block: Block,
    /// True if it rests on an assumption about the function.
    pub assumed: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Component {
    pub name: SmolStr,
    pub class: Class,
    pub form: ValueForm,
}

/// Rows of the functions of an item, by their order in `lowered`.
pub fn of_item(lowered: &[Lowered], analysed: &[Analysed]) -> Vec<Rows> {
    let rows = lowered.iter().zip(analysed).map(|(lowered, analysed)| {
        match (lowered.module.functions.first(), analysed.functions.first()) {
            (Some(function), Some(facts)) => rows(function, facts, &analysed.findings),
            _ => Rows::default(),
        }
    });
    rows.collect()
}

/// The rows of an item's functions.
pub fn rows_of<'db>(db: &'db dyn Db, item: Item<'db>) -> &'db [Rows] {
    match item.holds(db).code {
        true => db::rows(db, item),
        false => &[],
    }
}

/// Rows of a function.
pub fn rows(function: &Function, facts: &FunctionFacts, findings: &[Finding]) -> Rows {
    let mut rows = Rows {
        head: Some(Head {
            kind: function.kind,
            name_span: function.name_span,
        }),
        findings: findings.to_vec(),
        called: called(function, facts),
        called_loops: in_callees(function, &facts.loops, |fact| fact.loc),
        called_branches: in_callees(function, &facts.branches, |fact| fact.loc),
        name: function.name.clone(),
        inlined: inlined(function),
        ..Rows::default()
    };
    rows.sites = sites(function, findings, &rows.called);
    rows.lanes = function.launch.warp_size.unwrap_or(facts.options.warp_size);
    rows.expected = facts::expected(function, facts);
    rows.through_calls = through_calls(function, facts, &rows.expected);
    let own = |site: Site| site == Site(0);
    let mut values: Vec<Vec<Value>> = Vec::new();
    for binding in &function.bindings {
        if !own(binding.loc.site) || binding.loc.span.is_empty() {
            continue;
        }
        if let Some(occurrence) = occurrence(function, facts, binding) {
            rows.occurrences.push(occurrence);
            values.push(binding.values.to_vec());
        }
    }
    let mut order: Vec<usize> = (0..rows.occurrences.len()).collect();
    // A stable sort: what happens first at a place stays first.
    order.sort_by_key(|&at| rows.occurrences[at].span);
    let values: Vec<Vec<Value>> = order
        .iter()
        .map(|&at| std::mem::take(&mut values[at]))
        .collect();
    rows.occurrences = order
        .iter()
        .map(|&at| rows.occurrences[at].clone())
        .collect();
    let mut executed: Vec<usize> = (0..order.len()).collect();
    executed.sort_by_key(|&number| order[number]);
    rows.values = listed(&mut rows.occurrences, &values, &executed);
    rows.branches = facts
        .branches
        .iter()
        .filter(|b| own(b.loc.site) && !b.loc.span.is_empty())
        .cloned()
        .collect();
    rows.branches.sort_by_key(|branch| branch.loc.span);
    rows.loops = facts
        .loops
        .iter()
        .filter(|l| own(l.loc.site) && !l.loc.span.is_empty())
        .cloned()
        .collect();
    rows.loops.sort_by_key(|it| it.loc.span);
    rows.accesses = facts
        .accesses
        .iter()
        .filter(|a| own(a.loc.site) && !a.loc.span.is_empty())
        .cloned()
        .collect();
    rows.accesses.sort_by_key(|access| access.loc.span);
    rows.barriers = facts
        .barriers
        .iter()
        .filter(|b| own(b.loc.site))
        .cloned()
        .collect();
    rows.unknowns = function
        .unknowns
        .values()
        .filter(|unknown| own(unknown.loc.site))
        .map(|unknown| (unknown.loc.span, unknown.reason.clone()))
        .collect();
    rows.unknowns.sort();
    rows.unknowns.dedup();
    rows.occurrences.shrink_to_fit();
    rows.values.shrink_to_fit();
    rows.branches.shrink_to_fit();
    rows.loops.shrink_to_fit();
    rows.accesses.shrink_to_fit();
    rows.barriers.shrink_to_fit();
    rows
}

/// The facts of an entry point that are about the functions that it inlines.
fn in_callees<T: Clone>(
    function: &Function,
    facts: &[T],
    loc: impl Fn(&T) -> ir::Loc,
) -> Vec<(ItemKey, T)> {
    if !is_entry(function) {
        return Vec::new();
    }
    let inlined = facts
        .iter()
        .filter(|fact| loc(fact).site != Site(0) && !loc(fact).span.is_empty());
    inlined
        .filter_map(|fact| {
            let item = function.sites.get(loc(fact).site)?.item.clone()?;
            Some((item, fact.clone()))
        })
        .collect()
}

/// The accesses of an entry point that lie in the functions that it inlines.
fn called(function: &Function, facts: &FunctionFacts) -> Vec<AccessFact> {
    if !matches!(function.kind, FunctionKind::Kernel | FunctionKind::Stage(_)) {
        return Vec::new();
    }
    let item = |site: Site| function.sites.get(site).and_then(|data| data.item.as_ref());
    let mut all: Vec<&AccessFact> = facts
        .accesses
        .iter()
        .filter(|a| a.loc.site != Site(0) && !a.loc.span.is_empty())
        .collect();
    let waste = |a: &AccessFact| {
        let sectors = a.sectors.unwrap_or(0).saturating_sub(a.ideal_sectors);
        (a.class, sectors, a.bank_ways.unwrap_or(0))
    };
    let place = |a: &AccessFact| (item(a.loc.site), a.loc.span);
    all.sort_by(|a, b| place(a).cmp(&place(b)).then(waste(b).cmp(&waste(a))));
    // A place may be both read and written: `+=`.
    all.dedup_by(|a, b| {
        place(a) == place(b) && std::mem::discriminant(&a.kind) == std::mem::discriminant(&b.kind)
    });
    all.into_iter().cloned().collect()
}

/// The accesses that lie in calls, with the place of the call in the function's own text and the item that the access stands
/// in: for each call the one that wastes most.
fn through_calls(
    function: &Function,
    facts: &FunctionFacts,
    expected: &Expected,
) -> Vec<(Span, ItemKey, AccessFact)> {
    let outermost = |mut site: Site| {
        for _ in 0..64 {
            let data = function.sites.get(site)?;
            match data.parent {
                Some(parent) if parent != Site(0) => site = parent,
                _ => return (data.call.site == Site(0)).then_some(data.call.span),
            }
        }
        None
    };
    let mut found: Vec<(Span, ItemKey, AccessFact)> = Vec::new();
    for access in facts.accesses.iter().filter(|a| a.loc.site != Site(0)) {
        let item = function.sites.get(access.loc.site);
        let item = item.and_then(|data| data.item.clone());
        let expected = expected.accesses.binary_search(&access.inst).is_ok();
        if !expected
            && access_remark(access, is_entry(function)).is_some()
            && let (Some(item), Some(call)) = (item, outermost(access.loc.site))
        {
            found.push((call, item, access.clone()));
        }
    }
    let waste = |a: &AccessFact| (a.class, a.sectors.unwrap_or(u32::MAX), a.bank_ways);
    found.sort_by(|a, b| (a.0, waste(&b.2)).cmp(&(b.0, waste(&a.2))));
    found.dedup_by_key(|it| it.0);
    found
}

/// Returns true if a function is a kernel or a stage: the pointers that it is given lead to memory of the device.
pub fn is_entry(function: &Function) -> bool {
    matches!(function.kind, FunctionKind::Kernel | FunctionKind::Stage(_))
}

fn sites(function: &Function, findings: &[Finding], called: &[AccessFact]) -> Vec<(Site, ItemKey)> {
    let accessed = called.iter().map(|access| access.loc.site);
    let own = findings.iter().map(|finding| finding.loc.site);
    let related = findings.iter().flat_map(|finding| {
        finding
            .related
            .iter()
            .chain(&finding.calls)
            .map(|step| step.loc.site)
    });
    let mut used: Vec<Site> = own.chain(related).chain(accessed).collect();
    used.sort_by_key(|site| site.0);
    used.dedup();
    let item = |site: Site| Some((site, function.sites.get(site)?.item.clone()?));
    used.into_iter()
        .filter(|&site| site != Site(0))
        .filter_map(item)
        .collect()
}

/// The occurrences at an offset, the one that says most first: a write before a read, less precise before more.
pub fn at_offset(rows: &Rows, offset: u32) -> Option<&Occurrence> {
    let end = rows
        .occurrences
        .partition_point(|occurrence| occurrence.span.start <= offset);
    rows.occurrences[..end]
        .iter()
        .rev()
        .take(64)
        .filter(|occurrence| occurrence.span.contains(offset) || occurrence.span.end == offset)
        .min_by_key(|occurrence| {
            (
                occurrence.span.len(),
                occurrence.kind == BindingKind::Read,
                std::cmp::Reverse(occurrence.class),
            )
        })
}

fn occurrence(function: &Function, facts: &FunctionFacts, binding: &Binding) -> Option<Occurrence> {
    let variable = function.variables.get(binding.variable)?;
    let mut worst: Option<(Class, Value)> = None;
    let mut uniform_at = Some(Scope::Dispatch);
    for &value in &binding.values {
        let fact = facts.at(value, binding.block);
        if worst.is_none_or(|(class, _)| fact.class > class) {
            worst = Some((fact.class, value));
        }
        uniform_at = match (uniform_at, fact.uniform_at) {
            (Some(a), Some(b)) => Some(a.min(b)),
            _ => None,
        };
    }
    // A declaration without a value says nothing yet.
    let (class, value) = worst?;
    let differ = binding.values.len() > 1
        && binding.values.iter().any(|&v| {
            let (a, b) = (facts.at(v, binding.block), facts.at(value, binding.block));
            a.class != b.class || a.form != b.form
        });
    let components = if differ && binding.values.len() <= 64 {
        binding
            .values
            .iter()
            .enumerate()
            .map(|(number, &v)| {
                let fact = facts.at(v, binding.block);
                Component {
                    name: component_name(number, binding.values.len(), &binding.part),
                    class: fact.class,
                    form: fact.form.clone(),
                }
            })
            .collect()
    } else {
        Vec::new()
    };
    let shown = facts.at(value, binding.block);
    let (class, uniform_at, shown) = match facts.named(binding.variable) {
        Some(named) => (named.class, named.uniform_at, named),
        None => (class, uniform_at, shown),
    };
    Some(Occurrence {
        name: variable.name.clone(),
        variable: binding.variable.0,
        variable_kind: variable.kind,
        type_text: variable.type_text.clone(),
        declared: if variable.declared.site == Site(0) {
            variable.declared.span
        } else {
            Span::default()
        },
        kind: binding.kind,
        span: binding.loc.span,
        part: binding.part.clone(),
        class,
        form: shown.form.clone(),
        before: None,
        state: shown.state.clone(),
        uniform_at,
        components,
        worst: Some(value),
        block: binding.block,
        assumed: binding
            .values
            .iter()
            .any(|&v| facts.at(v, binding.block).assumed),
    })
}

/// A swizzle names its own components; up to four are x, y, z, w, more are numbered.
fn component_name(number: usize, count: usize, part: &str) -> SmolStr {
    let letters = part.trim_start_matches('.');
    if letters.len() == count
        && let Some(letter) = letters.get(number..number + 1)
    {
        return SmolStr::from(letter);
    }
    match ["x", "y", "z", "w"].get(number) {
        Some(letter) if count <= 4 => SmolStr::new_static(letter),
        _ => SmolStr::from(number.to_string()),
    }
}

/// The occurrences that are listed, in order of position. A read is compared with the occurrence that was
/// executed before it: in `sum = reduced(sum)` the read comes first.
fn listed(occurrences: &mut [Occurrence], values: &[Vec<Value>], executed: &[usize]) -> Vec<u32> {
    let mut listed = Vec::new();
    // By variable: the class that was listed last, and what was listed for reads.
    let mut last: FxHashMap<u32, Class> = FxHashMap::default();
    let mut defined: FxHashMap<(u32, &[Value]), Class> = FxHashMap::default();
    for (occurrence, values) in occurrences.iter().zip(values) {
        if occurrence.kind != BindingKind::Read {
            defined.insert((occurrence.variable, values), occurrence.class);
        }
    }
    for &number in executed {
        let (occurrence, values) = (&mut occurrences[number], &values[number]);
        let previous = last.get(&occurrence.variable).copied();
        let show = match occurrence.kind {
            BindingKind::Declaration | BindingKind::Assignment => true,
            BindingKind::Read => {
                occurrence.variable_kind != VariableKind::Global
                    && occurrence.part.is_empty()
                    && defined.get(&(occurrence.variable, values.as_slice()))
                        != Some(&occurrence.class)
                    && previous.is_some_and(|class| class != occurrence.class)
            }
        };
        if show {
            occurrence.before = previous;
            last.insert(occurrence.variable, occurrence.class);
            listed.push(number as u32);
        }
    }
    listed.sort_unstable();
    listed
}
