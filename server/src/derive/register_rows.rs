//! The facts about a kernel that findings on registers need, item-relative and small: they are kept where IR
//! and facts are not.

use super::costs::costs;
use super::parts::parts;
use super::pressure::{limits, outer};
use super::registers;
use crate::db::{Db, Item};
use facts::pressure::Remedy;
use ir::{FunctionKind, Language, Site, Space, SymbolKind};
use smol_str::SmolStr;
use syntax::Span;

/// A kernel or stage.
#[derive(Clone, PartialEq, Debug)]
pub struct RegisterRow {
    /// Its place among the functions of the item.
    pub at: usize,
    pub name: SmolStr,
    pub language: Language,
    pub kind: FunctionKind,
    pub head: Span,
    /// Registers that are live at the peak, which is in the item's own text.
    pub live: u32,
    pub peak: Option<Span>,
    /// True if it is not in a function that was inlined.
    pub peak_is_own: bool,
    /// Live at the peak, the largest first.
    pub variables: Vec<LiveRow>,
    /// The beginnings of the code in the item, ascending, each with the most registers that are live there.
    pub places: Vec<(u32, u32)>,
    /// The largest declaration of shared memory, and the bytes of all.
    pub shared: Option<(SmolStr, u32)>,
}

/// A variable that is live at the peak.
#[derive(Clone, PartialEq, Debug)]
pub struct LiveRow {
    /// `None`: a temporary, which `defined` shows.
    pub name: Option<SmolStr>,
    pub registers: u32,
    pub reads: u32,
    pub reads_in_loops: u32,
    pub defined: Option<Span>,
    /// The first read that is executed more often than the definition.
    pub in_loop: Option<Span>,
    pub remedy: Remedy,
}

/// The percentage of a budget below which the variables of a kernel are not reported.
const NEAR: u32 = 80;

/// The kernels and stages of an item.
pub fn of_item(db: &dyn Db, item: Item<'_>) -> Vec<RegisterRow> {
    let costs = costs(db, item);
    let mut out = Vec::new();
    for (at, part) in parts(db, item).iter().enumerate() {
        let function = part.function;
        if !matches!(function.kind, FunctionKind::Kernel | FunctionKind::Stage(_)) {
            continue;
        }
        let Some(costs) = costs.get(at).and_then(Option::as_ref) else {
            continue;
        };
        let mut row = RegisterRow {
            at,
            name: function.name.clone(),
            language: function.language,
            kind: function.kind,
            head: part.rows.head.map_or(function.span, |head| head.name_span),
            live: 0,
            peak: None,
            peak_is_own: false,
            variables: Vec::new(),
            places: Vec::new(),
            shared: None,
        };
        let shared = function
            .symbols
            .values()
            .filter(|value| value.space == Space::Shared && value.kind == SymbolKind::Memory);
        let largest = shared.max_by_key(|it| it.size);
        row.shared = largest.and_then(|it| {
            let all = costs.fit.as_ref()?.need.shared;
            (all > 0).then(|| (it.name.clone(), all))
        });
        let near = |registers: u32| {
            let budget = costs.budget.map(|budget| budget.registers);
            budget.is_some_and(|most| registers * 100 >= most * NEAR)
        };
        if let (Some(pressure), Some(registers)) = (&costs.pressure, costs.registers) {
            row.live = pressure.registers;
            row.peak = outer(function, pressure.loc);
            row.peak_is_own = pressure.loc.site == Site(0);
            if near(registers) || costs.fit.as_ref().is_some_and(limits) {
                let live =
                    registers::live_variables(db, item.main(db), function, part.facts, pressure)
                        .unwrap_or_default();
                row.variables = live
                    .iter()
                    .map(|it| LiveRow {
                        name: it.variable.map(|it| function.variables[it].name.clone()),
                        registers: it.registers,
                        reads: it.reads.len() as u32,
                        reads_in_loops: it.reads_in_loops,
                        defined: outer(function, it.defined),
                        in_loop: it.in_loop.and_then(|loc| outer(function, loc)),
                        remedy: it.remedy,
                    })
                    .collect();
                row.places = pressure
                    .places
                    .iter()
                    .filter_map(|&(loc, live)| Some((outer(function, loc)?.start, live)))
                    .collect();
                row.places
                    .sort_unstable_by_key(|&(at, live)| (at, std::cmp::Reverse(live)));
                row.places.dedup_by_key(|place| place.0);
            }
        }
        out.push(row);
    }
    out
}
