//! Costs as rows of the JSON.

use crate::derive::costs::{Costs, Threads, by_line};
use codegen::machine::estimate::Cost;
use codegen::machine::occupancy::Change;
use codegen::machine::weights::Origin;
use facts::cost::Unit;
use serde::Serialize;
use syntax::{LineIndex, Span};

/// Estimates of a warp, for one invocation.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct CostRows {
    pub machine: String,
    pub label: &'static str,
    #[serde(flatten)]
    pub total: CostRow,
    pub profiled: bool,
    pub lines: Vec<LineCostRow>,
    pub loops: Vec<LoopCostRow>,
    pub calls: Vec<CallCostRow>,
    pub registers: Option<u32>,
    pub occupancy: Option<OccupancyRow>,
}

#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct CostRow {
    pub cycles: f64,
    pub issue_slots: f64,
    pub limited_by: &'static str,
    /// Keyed by unit, those that are busy.
    pub busy: std::collections::BTreeMap<&'static str, f64>,
}

#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct LineCostRow {
    pub line: u32,
    pub times: Option<f64>,
    #[serde(flatten)]
    pub cost: CostRow,
}

#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct LoopCostRow {
    pub line: u32,
    pub column: u32,
    pub entries: f64,
    pub iterations: f64,
    pub iterations_from: &'static str,
    pub iteration_cycles: f64,
    #[serde(flatten)]
    pub cost: CostRow,
}

#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct CallCostRow {
    pub line: u32,
    pub column: u32,
    pub callee: String,
    pub times: f64,
    #[serde(flatten)]
    pub cost: CostRow,
}

#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct OccupancyRow {
    pub threads: u32,
    pub threads_from: &'static str,
    pub shared_bytes: u32,
    pub dynamic_shared: bool,
    pub blocks: u32,
    pub warps: u32,
    pub max_warps: u32,
    pub percent: f64,
    pub limited_by: Vec<&'static str>,
    pub next_step: Option<StepRow>,
}

#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct StepRow {
    pub change: &'static str,
    pub to: u32,
    pub percent: f64,
}

/// Three digits behind the point.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

fn cost_row(cost: &Cost) -> CostRow {
    let busy = Unit::ALL.into_iter().filter(|&unit| cost.busy(unit) > 0.0);
    CostRow {
        cycles: rounded(cost.cycles),
        issue_slots: rounded(cost.slots),
        limited_by: cost.limit().0.name(),
        busy: busy
            .map(|unit| (unit.name(), rounded(cost.busy(unit))))
            .collect(),
    }
}

/// `place` gives line and column of a place in the item, which begins at `start`.
pub(super) fn cost_rows(
    found: &Costs,
    lines: &LineIndex,
    start: u32,
    place: &dyn Fn(Span) -> (u32, u32),
) -> CostRows {
    let cost = &found.cost;
    CostRows {
        machine: cost.machine.to_string(),
        label: "estimate",
        total: cost_row(&cost.total),
        profiled: cost.profiled,
        lines: by_line(cost, lines, start)
            .iter()
            .map(|(line, cost)| LineCostRow {
                line: line + 1,
                times: cost.times.map(rounded),
                cost: cost_row(&cost.total),
            })
            .collect(),
        loops: cost
            .loops
            .iter()
            .map(|it| {
                let (line, column) = place(it.span);
                LoopCostRow {
                    line,
                    column,
                    entries: rounded(it.entered),
                    iterations: rounded(it.iterations),
                    iterations_from: match it.from {
                        Origin::Constant => "constant",
                        Origin::Bound => "bound",
                        Origin::Profile => "profile",
                        Origin::Heuristic => "heuristic",
                    },
                    iteration_cycles: rounded(it.iteration.cycles),
                    cost: cost_row(&it.total),
                }
            })
            .collect(),
        calls: cost
            .calls
            .iter()
            .map(|call| {
                let (line, column) = place(call.span);
                CallCostRow {
                    line,
                    column,
                    callee: call.callee.to_string(),
                    times: rounded(call.times),
                    cost: cost_row(&call.total),
                }
            })
            .collect(),
        registers: found.registers,
        occupancy: found.fit.as_ref().map(|fit| OccupancyRow {
            threads: fit.need.threads,
            threads_from: match fit.threads {
                Threads::Known => "declared",
                Threads::AtMost => "bound",
                Threads::Assumed => "launches",
                Threads::Stage => "stage",
                Threads::Guessed => "guess",
            },
            shared_bytes: fit.need.shared,
            dynamic_shared: fit.dynamic,
            blocks: fit.found.blocks,
            warps: fit.found.warps,
            max_warps: fit.found.most_warps,
            percent: rounded(fit.found.percent()),
            limited_by: fit.found.limits.iter().map(|limit| limit.name()).collect(),
            next_step: fit.step.as_ref().map(|step| {
                let (change, to) = match step.change {
                    Change::Registers(to) => ("registers", to),
                    Change::Shared(to) => ("shared memory", to),
                    Change::Threads(to) => ("threads", to),
                };
                StepRow {
                    change,
                    to,
                    percent: rounded(step.then.percent()),
                }
            }),
        }),
    }
}
