//! Cycles of the ways through a function on a processor that issues in order: an estimate on the IR.
//!
//! ```text
//! b1: x = load p; branch c        1 cycle: nothing waits for x here
//! b2: y = x + 1; store q, y       waits for what is left of the load's latency
//! ```
//!
//! Within a block operations start when their operands are there and slots are left; a block ends when all of its
//! operations have started. What is not awaited there goes on behind it. Neither caches nor mispredictions are counted, nor
//! moves between the parameters of blocks, but for constants.

use super::is_constant;
use super::ways::Way;
use crate::machine::epic::Epic;
use crate::machine::schema::Issue;
use facts::cost::work;
use ir::{Convert, EntityVec, Function, Inst, Op, Speculation, Terminator, Value};

/// An operation on a processor.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Cost {
    /// Instructions that it becomes.
    pub(super) slots: f64,
    /// Cycles from the start of its first instruction to that of its last.
    pub(super) span: f64,
    /// Cycles from its start to its result.
    pub(super) latency: f64,
}

/// A processor that issues in order.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Processor<'a> {
    table: &'a Epic,
    /// Instructions a cycle, as many as code fills in the mean.
    width: f64,
    /// Cycles of one step of a sequence, as of a division.
    step: f64,
}

impl<'a> Processor<'a> {
    /// The processor of a table with explicit groups.
    #[must_use]
    pub fn new(table: &'a Epic) -> Self {
        Processor {
            table,
            // Half of the three slots of a bundle.
            width: 1.5 * f64::from(table.of(Issue::Bundles)),
            step: f64::from(table.of(Issue::Float)),
        }
    }

    /// Cycles that some slots take.
    pub(super) fn issue(&self, slots: f64) -> f64 {
        slots / self.width
    }

    /// The cost of an instruction.
    #[must_use]
    pub(super) fn cost(&self, function: &Function, inst: Inst) -> Cost {
        let data = &function.insts[inst];
        let work = work(function, data);
        let cycles = self.table.cycles(work);
        match data.op {
            _ if cycles <= 0.0 => Cost::default(),
            // Behind the branch that it is another bundle begins, in another cycle.
            Op::Load(access) if access.speculation == Some(Speculation::Check) => Cost {
                slots: 2.0,
                span: 1.0,
                latency: 1.0,
            },
            Op::Load(_) => Cost {
                slots: 1.0,
                span: 0.0,
                latency: f64::from(self.table.of(match data.results.first() {
                    Some(&value) if function.ty(value).is_float() => Issue::FloatLoad,
                    _ => Issue::Load,
                })),
            },
            // A load leaves zeros above what it loads.
            Op::Convert(Convert::ZeroExtend) if is_loaded(function, data.args[0]) => {
                Cost::default()
            }
            Op::Store(_) => Cost {
                slots: 1.0,
                ..Cost::default()
            },
            _ => {
                let steps = (cycles / self.step).ceil().max(1.0);
                Cost {
                    slots: if steps > 2.0 { 1.5 * steps } else { 1.0 },
                    span: (cycles - self.step).max(0.0),
                    latency: cycles,
                }
            }
        }
    }

    /// Cycles that a way takes.
    pub(super) fn cycles(&self, function: &Function, way: &Way) -> f64 {
        // What a way does not compute itself is there when it begins.
        let mut ready: EntityVec<Value, f64> = EntityVec::with_len(0.0, function.values.len());
        let mut now = 0.0f64;
        for (at, &block) in way.blocks.iter().enumerate() {
            let data = &function.blocks[block];
            let mut end = now;
            let mut slots = 0.0;
            for &inst in &data.insts {
                let cost = self.cost(function, inst);
                let operands = function.insts[inst].operands();
                let start = operands.map(|value| ready[value]).fold(now, f64::max);
                for &result in &function.insts[inst].results {
                    ready[result] = start + cost.latency;
                }
                if cost.slots > 0.0 {
                    slots += cost.slots;
                    end = end.max(start + cost.span);
                }
            }
            for &read in data.terminator.reads() {
                end = end.max(ready[read]);
            }
            if data.terminator.edges().len() > 1 {
                slots += 1.0;
            }
            if let Terminator::Jump(edge) = &data.terminator
                && way.blocks.get(at + 1) == Some(&edge.block)
            {
                let params = &function.blocks[edge.block].params;
                let passed: Vec<(Value, f64)> = params
                    .iter()
                    .zip(&edge.args)
                    .map(|(&param, &arg)| (param, ready[arg]))
                    .collect();
                let constant = |arg: &&Value| is_constant(function, **arg);
                slots += edge.args.iter().filter(constant).count() as f64;
                for (param, then) in passed {
                    ready[param] = then;
                }
            }
            now = end.max(now + self.issue(slots));
        }
        now
    }
}

/// A value that a load has just put into its register.
fn is_loaded(function: &Function, value: Value) -> bool {
    let loads = |op: &Op| matches!(op, Op::Load(access) if access.speculation.is_none());
    function.defining(value).is_some_and(|data| loads(&data.op))
}
