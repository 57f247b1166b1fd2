//! Inlay hints of a range: surprises in the execution of a line, and its cost.
//!
//! Everything that could be said of a line is a remark. By default (`Detail::Brief`) only remarks that
//! surprise or matter are made: a value that becomes uniform, a loop that lanes leave in rounds of their own,
//! a branch at which many of them idle for long, an access that wastes sectors or banks, a line that hides
//! its cost. Those of a line become one hint at its end, the most important first (the order of `Category`),
//! as many as fit into `LONGEST` characters. Colour (`views::tokens`) says the rest. With `Detail::Full`
//! every remark is a hint, and every value that is not uniform has one.
//!
//! A new kind of remark is a category in its place in the order.

pub use super::model::{Category, Hint};
use super::text;
use crate::config::{CostHints, Detail, HintConfig};
use crate::db::{self, Db, File, ItemPlace};
use crate::derive::accesses::is_wasteful;
use crate::derive::costs::costs as costs_of;
use crate::derive::rows::{Occurrence, Rows, rows_of};
use crate::program::own_items;
use codegen::machine::estimate::ItemCost;
use facts::symbolic::{Sum, ValueForm};
use facts::{AccessClass, AccessFact, Class};
use ir::{BindingKind, FunctionKind, Space, VariableKind};
use rustc_hash::{FxHashMap, FxHashSet};
use syntax::{ItemKey, LineIndex, Span};

/// VS Code cuts longer hints (`editor.inlayHints.maximumLength`).
pub const LONGEST: usize = 43;
/// The least shares of a function's cycles that a branch loses, and through which its lanes idle, for a hint.
const LOST: f64 = 0.05;
const IDLE: f64 = 0.1;
/// The share of a function's cycles above which a part counts as all that it does, as behind `if (x < width
/// && y < height)`.
const ALL: f64 = 0.6;
/// The same of lanes that wait for a single one: `if (threadIdx.x == 0)` says so itself.
const LEADER: f64 = 0.3;
/// The most rounds of a loop at which its lanes miss little.
const FEW_ROUNDS: u64 = 2;
/// The share of a function's cycles below which a gather is not worth a hint.
const GATHER: f64 = 0.05;
/// Cycles that a branch loses at least.
const DEAR_BRANCH: f64 = 200.0;
/// The same at one execution.
const DEAR_ONCE: f64 = 100.0;
/// Share of a function's cycles that a bank conflict of two ways is in, at least.
const CONFLICT: f64 = 0.02;
/// A `?:` that costs fewer cycles is a select, as compilers make it.
const SELECT: f64 = 32.0;
const SEPARATOR: &str = " · ";
/// The most bytes of a function whose accesses are reported where it is called.
const HELPER: u32 = 200;

/// The inlay hints whose place lies in a range, by position.
pub fn hints(db: &dyn Db, file: File, range: Span, switches: &HintConfig) -> Vec<Hint> {
    if !switches.enabled {
        return Vec::new();
    }
    let page = Page {
        source: crate::program::text(file.source(db)),
        lines: db::line_index(db, file),
        brief: switches.detail == Detail::Brief,
    };
    // Most of what is told beside the code is about lanes: a function of C has one.
    if file.language(db) == crate::program::Language::C {
        return of_one_lane(db, file, range, switches, &page);
    }
    let own: FxHashSet<ItemKey> = own_items(db, file)
        .iter()
        .filter(|(place, _)| place.end - place.start > HELPER)
        .map(|(_, item)| ItemKey {
            name: item.name(db).clone(),
            ordinal: item.ordinal(db),
        })
        .collect();
    let is_seen = |place: &ItemPlace| place.end >= range.start && place.start <= range.end;
    let kernels = match page.brief {
        true => Kernels::of(db, file, &is_seen),
        false => Kernels::default(),
    };
    let profiled = crate::derive::zeros::stored(db, file).is_some();
    let mut remarks = Vec::new();
    for (place, item) in own_items(db, file) {
        if !is_seen(&place) {
            continue;
        }
        if profiled && switches.paths && item.holds(db).code {
            remarks.extend(super::partly_dead::hints(db, item));
        }
        if profiled && switches.frequencies && item.holds(db).code {
            remarks.extend(super::ways::hints(db, item, !page.brief, &|_| false));
        }
        let key = ItemKey {
            name: item.name(db).clone(),
            ordinal: item.ordinal(db),
        };
        let in_kernels = kernels.0.get(&key);
        let costs = match switches.costs {
            CostHints::Off => &[],
            CostHints::Hot | CostHints::All => costs_of(db, item),
        };
        for (at, rows) in rows_of(db, item).iter().enumerate() {
            let cost = costs.get(at).and_then(Option::as_ref);
            let of = Remarks {
                cost: cost.map(|found| &found.cost),
                page: &page,
                place,
                rows,
                own: &own,
                in_kernels,
                range,
                switches,
            };
            if switches.values {
                of.values(&mut remarks);
            }
            if switches.branches {
                of.branches(&mut remarks);
            }
            if switches.loops {
                of.loops(&mut remarks);
            }
            if switches.accesses {
                of.accesses(&mut remarks);
            }
        }
    }
    if switches.zeros {
        zeros(db, file, switches, &page, &mut remarks);
    }
    let line_end = |line: u32| page.end_of(line);
    if switches.registers && switches.costs != CostHints::Off {
        remarks.extend(super::pressure::hints(db, file, range, &line_end));
    }
    let costs = super::costs::hints(db, file, range, switches, &line_end);
    remarks.extend(costs);
    remarks.extend(super::assembly::hints(
        db,
        file,
        range,
        switches.costs,
        &line_end,
    ));
    if switches.frequencies {
        remarks.extend(super::assembly::counts(db, file, range, &line_end));
    }
    remarks.retain(|hint| hint.offset >= range.start && hint.offset <= range.end);
    remarks.sort_by(|a, b| (a.offset, a.category, &a.label).cmp(&(b.offset, b.category, &b.label)));
    remarks.dedup_by(|a, b| a.offset == b.offset && a.label == b.label);
    match page.brief {
        true => one_a_line(remarks, &page),
        false => {
            for hint in &mut remarks {
                hint.label = text::shortened(&hint.label, LONGEST);
            }
            remarks
        }
    }
}

/// Hints of functions that run on one lane: branches that are hard to predict.
fn of_one_lane(
    db: &dyn Db,
    file: File,
    range: Span,
    switches: &HintConfig,
    page: &Page<'_>,
) -> Vec<Hint> {
    let line_end = |line: u32| page.end_of(line);
    let line = |offset: u32| page.lines.line_column(offset).0;
    let mut hints = match switches.mispredictions {
        true => super::branches::hints(db, file, &line_end, &line),
        false => Vec::new(),
    };
    if switches.registers {
        hints.extend(super::spilled::hints(db, file, !page.brief, &line_end));
    }
    let profiled = crate::derive::zeros::stored(db, file).is_some();
    if profiled && switches.zeros {
        for (_, item) in own_items(db, file) {
            if item.holds(db).code {
                hints.extend(super::irrelevant_loads::hints(db, item));
            }
        }
    }
    if profiled && switches.paths {
        for (_, item) in own_items(db, file) {
            if item.holds(db).code {
                hints.extend(super::partly_dead::hints(db, item));
            }
        }
    }
    if profiled && switches.frequencies {
        // What a predictor is often wrong about is taken now and then.
        let hard: Vec<u32> = hints.iter().map(|hint| hint.about).collect();
        for (_, item) in own_items(db, file) {
            if item.holds(db).code {
                let told = |at: Span| hard.contains(&at.start);
                hints.extend(super::ways::hints(db, item, !page.brief, &told));
            }
        }
    }
    hints.retain(|hint| hint.offset >= range.start && hint.offset <= range.end);
    one_a_line(hints, page)
}

/// The remarks of each line as one hint at its end: the most important first, then those for which there is room.
fn one_a_line(mut remarks: Vec<Hint>, page: &Page<'_>) -> Vec<Hint> {
    let line_of = |hint: &Hint| page.lines.line_column(hint.offset).0;
    // Stable: remarks of a category stay in the order of their places.
    remarks.sort_by_key(|hint| (line_of(hint), hint.category));
    let mut hints: Vec<Hint> = Vec::new();
    for remark in remarks {
        let line = line_of(&remark);
        if page.is_lone_punctuation(line) {
            continue;
        }
        let label = remark.label.trim();
        match hints.last_mut().filter(|hint| line_of(hint) == line) {
            Some(hint) => {
                let length = |text: &str| text.chars().count();
                let room = LONGEST.saturating_sub(length(&hint.label) + length(SEPARATOR));
                let said = hint.label.split(SEPARATOR).any(|part| part == label);
                // Of a variable the first that is said of it, as at the head of a loop.
                let again = remark.category == Category::Value
                    && label.split_once(": ").is_some_and(|(name, _)| {
                        let mut parts = hint.label.split(SEPARATOR);
                        parts.any(|part| {
                            part.split_once(": ")
                                .is_some_and(|(other, _)| other == name)
                        })
                    });
                if length(label) <= room && !said && !again {
                    hint.label.push_str(SEPARATOR);
                    hint.label.push_str(label);
                }
            }
            None => hints.push(Hint {
                offset: page.end_of(line).max(remark.offset),
                label: text::shortened(label, LONGEST),
                ..remark
            }),
        }
    }
    hints
}

/// The text that hints are put to.
struct Page<'a> {
    source: &'a str,
    lines: &'a LineIndex,
    brief: bool,
}

impl Page<'_> {
    fn line(&self, line: u32) -> &str {
        crate::documents::line_beginning(self.source, self.lines, line)
    }

    /// The end of a line's text, a comment included; in full detail of its code, where each thing has its place.
    fn end_of(&self, line: u32) -> u32 {
        let text = self.line(line);
        let length = match self.brief {
            true => text.trim_end().len(),
            false => code_length(text),
        };
        self.lines.line_start(line) + length as u32
    }

    /// Returns whether nothing stands there that a hint could be about: `}`, `});`, `{ // comment`.
    fn is_lone_punctuation(&self, line: u32) -> bool {
        let text = self.line(line);
        let code = text.find("//").map_or(text, |at| &text[..at]);
        !code
            .chars()
            .any(|letter| letter.is_alphanumeric() || letter == '_' || letter == '@')
    }
}

/// The knowledge that the kernels and stages of a file have of the functions that they inline: they know the
/// arguments.
#[derive(Default)]
struct Kernels<'a>(FxHashMap<ItemKey, InKernels<'a>>);

#[derive(Default)]
struct InKernels<'a> {
    /// The accesses of all kernels, each with whether it is no news there.
    accesses: Vec<(&'a AccessFact, bool)>,
    loops: Vec<(&'a facts::LoopFact, bool)>,
    branches: Vec<(&'a facts::BranchFact, News)>,
}

impl<'a> Kernels<'a> {
    /// Collects the kernels; nothing is looked at unless a function that others call is seen.
    fn of(db: &'a dyn Db, file: File, is_seen: &dyn Fn(&ItemPlace) -> bool) -> Kernels<'a> {
        let items = own_items(db, file);
        let is_called = |rows: &Rows| {
            rows.head
                .as_ref()
                .is_some_and(|head| head.kind == FunctionKind::Device)
        };
        let mut seen = items.iter().filter(|(place, _)| is_seen(place));
        if !seen.any(|(_, item)| rows_of(db, *item).iter().any(is_called)) {
            return Kernels::default();
        }
        let mut kernels = Kernels::default();
        for rows in items.iter().flat_map(|(_, item)| rows_of(db, *item)) {
            for access in &rows.called {
                let expected = rows.expected.accesses.binary_search(&access.inst).is_ok();
                if let Some(item) = rows.item_of(access.loc.site) {
                    let of = kernels.0.entry(item.clone()).or_default();
                    of.accesses.push((access, expected));
                }
            }
            for (item, fact) in &rows.called_loops {
                let expected = rows.expected.loops.binary_search(&fact.header).is_ok();
                let of = kernels.0.entry(item.clone()).or_default();
                of.loops.push((fact, expected));
            }
            for (item, fact) in &rows.called_branches {
                let of = kernels.0.entry(item.clone()).or_default();
                of.branches.push((fact, News::of(rows, fact)));
            }
        }
        kernels
    }
}

/// The rank of a branch among the news.
#[derive(Clone, Copy, PartialEq, Eq)]
enum News {
    Yes,
    /// The branch of a lane that the others wait for, if that takes long.
    Leader,
    No,
}

impl News {
    fn of(rows: &Rows, fact: &facts::BranchFact) -> News {
        let is_in = |blocks: &[ir::Block]| blocks.binary_search(&fact.block).is_ok();
        match &rows.expected {
            expected if is_in(&expected.branches) => News::No,
            expected if is_in(&expected.leaders) => News::Leader,
            _ if fact.lanes.is_some_and(|set| set.count_ones() == 1) => News::Leader,
            _ => News::Yes,
        }
    }
}

/// Returns the remarks about a place: those of the kernels that come there, else those of the function
/// itself.
fn told<'a, T, N: Copy>(
    own: impl Iterator<Item = (&'a T, N)> + 'a,
    kernels: &'a [(&'a T, N)],
    span: impl Fn(&T) -> Span,
) -> Vec<(&'a T, N)> {
    let known: FxHashSet<Span> = kernels.iter().map(|(fact, _)| span(fact)).collect();
    own.filter(|(fact, _)| !known.contains(&span(fact)))
        .chain(kernels.iter().copied())
        .collect()
}

/// The remarks about one function.
struct Remarks<'a> {
    page: &'a Page<'a>,
    place: ItemPlace,
    rows: &'a Rows,
    /// The items whose text is in the file, but for one-line helpers.
    own: &'a FxHashSet<ItemKey>,
    /// The knowledge of a function that kernels inline.
    in_kernels: Option<&'a InKernels<'a>>,
    range: Span,
    switches: &'a HintConfig,
    /// Estimated cycles of the function and its lines.
    cost: Option<&'a ItemCost>,
}

impl Remarks<'_> {
    fn is_entry(&self) -> bool {
        let kind = self.rows.head.as_ref().map(|head| head.kind);
        matches!(kind, Some(FunctionKind::Kernel | FunctionKind::Stage(_)))
    }

    fn is_wanted(&self, span: Span) -> bool {
        let at = span.shifted(self.place.start);
        at.end >= self.range.start && at.start <= self.range.end
    }

    fn remark(&self, line_of: u32, label: String, category: Category, about: u32) -> Hint {
        let (line, _) = self.page.lines.line_column(self.place.start + line_of);
        let long = self.page.line(line).len() >= crate::documents::LONG_LINE;
        Hint {
            offset: match long {
                true => self.place.start + line_of,
                false => self.page.end_of(line),
            },
            label,
            category,
            about: self.place.start + about,
        }
    }

    fn values(&self, out: &mut Vec<Hint>) {
        let kind = self.rows.head.as_ref().map(|head| head.kind);
        let stage = matches!(kind, Some(FunctionKind::Stage(_)));
        let full = !self.page.brief || self.switches.uniform;
        // The last that a hint said of a variable.
        let mut said: FxHashMap<u32, (Class, &ValueForm)> = FxHashMap::default();
        for &number in &self.rows.values {
            let Some(value) = self.rows.occurrences.get(number as usize) else {
                continue;
            };
            let news = said.insert(value.variable, (value.class, &value.form))
                != Some((value.class, &value.form));
            // That the inputs of a stage vary is what they are for.
            let input = stage
                && value.variable_kind == VariableKind::Parameter
                && value.kind == BindingKind::Declaration
                && value.form.is_empty();
            if !self.is_wanted(value.span)
                || value.variable_kind == VariableKind::Global
                || !written(self.page.source, self.place.start, value)
            {
                continue;
            }
            let about = value.span.start;
            if full {
                let shown = value.kind != BindingKind::Read
                    && (self.switches.uniform || value.class > Class::Uniform);
                if news && !input && shown {
                    let said = text::class_and_form(value.class, &value.form);
                    out.push(Hint {
                        offset: self.place.start + value.span.end,
                        label: format!(": {said}"),
                        category: Category::Value,
                        about: self.place.start + about,
                    });
                }
            } else if let Some(label) = surprise(value) {
                let at = value.span.end.saturating_sub(1);
                out.push(self.remark(at, label, Category::Value, about));
            }
        }
    }

    fn branches(&self, out: &mut Vec<Hint>) {
        let own = self.rows.branches.iter();
        let own = own.map(|fact| (fact, News::of(self.rows, fact)));
        let kernels = self.in_kernels.map_or(&[][..], |of| &of.branches);
        for (branch, news) in told(own, kernels, |fact| fact.loc.span) {
            let told = matches!(
                branch.kind,
                ir::BranchKind::Loop | ir::BranchKind::Implied | ir::BranchKind::ShortCircuit
            );
            if branch.class == Class::Uniform || told || !self.is_wanted(branch.loc.span) {
                continue;
            }
            let selects = branch.kind == ir::BranchKind::Conditional
                && branch.divergence_cost.is_some_and(|cycles| cycles < SELECT);
            if self.page.brief && (selects || news == News::No) {
                continue;
            }
            let least = |share: f64| match news {
                News::Leader => LEADER,
                _ => share,
            };
            // What is little of a function's cycles is not worth a word.
            let times = self.executed(branch.loc.span);
            let holds = |cycles: Option<f64>, share: f64| {
                let all = self.cost.map(|cost| cost.total.cycles);
                !self.page.brief
                    || all.is_none_or(|all| {
                        cycles.is_none_or(|own| {
                            let lost = own * times;
                            own >= DEAR_ONCE
                                && lost >= (share * all).max(DEAR_BRANCH)
                                && lost <= ALL * all
                        })
                    })
            };
            let label = match text::is_costly(branch, self.switches.branch_cycles) {
                true if holds(branch.divergence_cost, least(LOST)) => text::branch_short(branch),
                true => continue,
                false => match text::idle_short(branch, self.rows.lanes) {
                    Some(label) if self.page.brief && holds(branch.idle, least(IDLE)) => label,
                    _ => continue,
                },
            };
            let at = branch.loc.span.start;
            out.push(self.remark(at, label, Category::Branch, at));
        }
    }

    /// Returns how often a place is executed, by the estimate.
    fn executed(&self, span: Span) -> f64 {
        let places = self.cost.iter().flat_map(|cost| &cost.places);
        let around =
            places.filter(|(place, _)| place.contains(span.start) || span.contains(place.start));
        let times = around.filter_map(|(_, cost)| cost.times);
        times.fold(1.0, f64::max)
    }

    /// The share of the function's cycles that is spent around a place, by the estimate; 1 where there is none.
    fn share(&self, span: Span) -> f64 {
        let Some(cost) = self.cost else {
            return 1.0;
        };
        let there = cost
            .places
            .iter()
            .filter(|(place, _)| place.contains(span.start) || span.contains(place.start));
        let cycles: f64 = there.map(|(_, cost)| cost.total.cycles).sum();
        cycles / cost.total.cycles.max(1.0)
    }

    fn loops(&self, out: &mut Vec<Hint>) {
        let known = &self.rows.expected.loops;
        let own = self.rows.loops.iter();
        let own = own.map(|fact| (fact, known.binary_search(&fact.header).is_ok()));
        let kernels = self.in_kernels.map_or(&[][..], |of| &of.loops);
        for (each, expected) in told(own, kernels, |fact| fact.loc.span) {
            let span = each.loc.span;
            if each.trip == Class::Uniform || !self.is_wanted(span) || (self.page.brief && expected)
            {
                continue;
            }
            let most = each.count.or(each.at_most);
            if self.page.brief && most.is_some_and(|most| most <= FEW_ROUNDS) {
                continue;
            }
            // At the head's first line, where its cycles stand, too.
            let label = text::loop_short(each);
            out.push(self.remark(span.start, label, Category::Loop, span.start));
        }
    }

    fn accesses(&self, out: &mut Vec<Hint>) {
        let known = &self.rows.expected.accesses;
        let own = self.rows.accesses.iter();
        let own = own.map(|fact| (fact, known.binary_search(&fact.inst).is_ok()));
        let kernels = self.in_kernels.map_or(&[][..], |of| &of.accesses);
        let all = told(own, kernels, |fact| fact.loc.span);
        let taken = match self.page.brief {
            true => taken_between_lanes(&all, &|span| {
                let at = span.shifted(self.place.start);
                let range = at.start as usize..at.end as usize;
                self.page.source.get(range).unwrap_or_default()
            }),
            false => FxHashMap::default(),
        };
        // Of an array that is gathered from, or whose words share banks, it is told once.
        let mut known: FxHashSet<(&str, facts::AccessKind, Option<u32>)> = FxHashSet::default();
        for (access, expected) in &all {
            let has_array = (access.class == AccessClass::Gather || access.bank_ways.is_some())
                && !access.base.is_empty();
            let key = (&*access.base, access.kind, access.bank_ways);
            let again = has_array && known.contains(&key);
            let wastes_little = || is_one_element_apart(access) || takes_most(access, &taken);
            let quiet = *expected || self.page.brief && (again || wastes_little());
            let span = access.loc.span;
            if self.access(access, span, span.end.saturating_sub(1), quiet, out) && has_array {
                known.insert(key);
            }
        }
        // What a helper does, short or in a header, stands where it is called: `load128(in + i)`.
        if self.page.brief {
            for (call, item, access) in &self.rows.through_calls {
                if !self.own.contains(item) {
                    self.access(access, *call, call.start, false, out);
                }
            }
        }
    }

    /// Returns whether the access has a remark, in the range or elsewhere: of the text at `span`, on the line
    /// of `at`.
    fn access(
        &self,
        access: &AccessFact,
        span: Span,
        at: u32,
        expected: bool,
        out: &mut Vec<Hint>,
    ) -> bool {
        let label = match self.page.brief {
            true if expected || access.stride_sum.as_ref().is_some_and(Sum::is_unknown) => None,
            true if access.bank_ways == Some(2) && self.share(span) < CONFLICT => None,
            true if access.class == AccessClass::Gather && self.share(span) < GATHER => None,
            true => text::access_remark(access, self.is_entry() || self.in_kernels.is_some()),
            false => is_wasteful(access).then(|| text::access_short(access)),
        };
        if let Some(label) = label.as_ref().filter(|_| self.is_wanted(span)) {
            out.push(self.remark(at, label.clone(), Category::Access, span.start));
        }
        label.is_some()
    }
}

/// Returns true if neighbouring lanes are one element apart as far as names tell: by the stride of a tensor's first
/// dimension (`in.strides[0]`), by the size of a type that is not known (`sizeof(T)`).
fn is_one_element_apart(access: &AccessFact) -> bool {
    let Some(product) = access.stride_sum.as_ref().and_then(Sum::as_product) else {
        return false;
    };
    let [factor] = product.factors.as_slice() else {
        return false;
    };
    let is_first_stride = |name: &str| {
        let array = name.strip_suffix("[0]");
        array.is_some_and(|array| array.ends_with("stride") || array.ends_with("strides"))
    };
    match product.coefficient {
        1 => factor.is_size(),
        by => by == i64::from(access.bytes) && factor.name().is_some_and(is_first_stride),
    }
}

/// Accesses of one kind to one array, at one stride.
type Together<'a> = (ir::Site, facts::AccessKind, &'a str, i64);

/// The key of an access of global memory whose lanes are apart; atomic operations are executed one by one.
fn together(access: &AccessFact) -> Option<Together<'_>> {
    let strides = access.class == AccessClass::Strided
        && access.space != Space::Shared
        && !matches!(access.kind, facts::AccessKind::Atomic(_));
    let stride = access.stride_bytes.filter(|_| strides)?;
    let loc = access.loc;
    Some((loc.site, access.kind, &access.base, stride))
}

/// The bytes that a function takes of those from one lane to the next, by all expressions that are written differently: a
/// structure's members, a group's components.
fn taken_between_lanes<'a>(
    all: &[(&'a AccessFact, bool)],
    text: &dyn Fn(Span) -> &'a str,
) -> FxHashMap<Together<'a>, u64> {
    let mut taken = FxHashMap::default();
    // The first place of each text; repeats read the same again.
    let mut places: FxHashMap<(Together<'a>, &str), Span> = FxHashMap::default();
    for (access, _) in all {
        let span = access.loc.span;
        if let Some(key) = together(access)
            && *places.entry((key, text(span))).or_insert(span) == span
        {
            *taken.entry(key).or_default() += u64::from(access.bytes);
        }
    }
    taken
}

/// Returns true if the bytes between lanes are mostly used: three of four components waste little.
fn takes_most(access: &AccessFact, taken: &FxHashMap<Together<'_>, u64>) -> bool {
    together(access).is_some_and(|key| 3 * taken[&key] >= 2 * key.3.unsigned_abs())
}

/// The remark about a value that a reader would not expect: a reduction has given all lanes the same. Its
/// other properties are in the colour and the hover; strides are reported at accesses, and the effects of
/// control flow at its branch or loop.
fn surprise(value: &Occurrence) -> Option<String> {
    let was_divergent = value.before.is_some_and(|before| before > Class::Uniform);
    let surprises =
        value.class == Class::Uniform && value.kind == BindingKind::Read && was_divergent;
    surprises.then(|| format!("{}: uniform here", text::shortened(&value.name, 16)))
}

fn zeros(db: &dyn Db, file: File, switches: &HintConfig, page: &Page<'_>, out: &mut Vec<Hint>) {
    let language = super::zeros::language(db, file);
    for row in crate::derive::zeros::rows(db, file) {
        let often = row.share() * 100.0 >= f64::from(switches.zero_percent);
        let there = (page.source).get(row.span.start as usize..row.span.end as usize);
        // A definition inside a macro has the macro's place.
        let plain = there.is_some_and(|text| row.name.split('.').next() == Some(text));
        if row.zeros > 0 && often && plain {
            out.push(Hint {
                offset: row.span.end,
                label: format!(" {}", super::zeros::label(row.share(), language)),
                category: Category::Zero,
                about: row.span.start,
            });
        }
    }
}

/// Returns true if the name stands there as such: a use inside a macro has the macro's place.
pub fn written(source: &str, start: u32, value: &Occurrence) -> bool {
    let span = value.span.shifted(start);
    source.get(span.start as usize..span.end as usize) == Some(value.name.as_str())
}

/// Bytes of a line before trailing blanks and a line comment.
fn code_length(line: &str) -> usize {
    let code = line.find("//").map_or(line, |at| &line[..at]);
    if code.trim().is_empty() {
        line.trim_end().len()
    } else {
        code.trim_end().len()
    }
}
