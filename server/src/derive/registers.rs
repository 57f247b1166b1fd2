//! The registers of a kernel as they are known best: an assembler's figure where there is one, else the estimate.

use super::budget::Budget;
use super::costs::{Costs, Fit, costs};
use super::figures::{Figure, figure};
use crate::db::{self, Db, File, Item};
use crate::program;
use codegen::machine::files::RegisterFiles;
use facts::FunctionFacts;
use facts::pressure::{LiveVariable, Pressure};
use ir::Function;

/// The number of registers of a thread, and its consequences.
#[derive(Clone, PartialEq, Debug)]
pub struct Registers {
    pub count: u32,
    /// The registers that no order of the operations does without; an estimate.
    pub needed: u32,
    /// `None`: the count is an estimate.
    pub figure: Option<Figure>,
    /// The scalar registers of a warp, where the machine has them; an estimate.
    pub scalar: Option<u32>,
    pub fit: Option<Fit>,
    pub budget: Option<Budget>,
}

/// The percentage of a budget beyond which the registers needed imply that values are spilled. Of 400 pairs
/// of public kernels that have more than 32 registers and budgets of 32, 48 and 64 those above had spills in
/// 58 of 61 cases: of PTX in 43 of 45, of CUDA, as clang and `ptxas` compile it, in 15 of 16.
const CERTAIN: u32 = 115;

impl Registers {
    /// Returns the number of registers by which the budget is exceeded, as counted.
    #[must_use]
    pub fn over(&self) -> u32 {
        let most = self.budget.map_or(u32::MAX, |budget| budget.registers);
        self.count.saturating_sub(most)
    }

    /// Returns true if values are spilled: an assembler says so, or the estimate exceeds the budget by more than its
    /// own error.
    #[must_use]
    pub fn spills(&self) -> bool {
        match (&self.figure, self.budget) {
            (Some(figure), _) => figure.spills(),
            (None, Some(budget)) => self.needed * 100 > budget.registers * CERTAIN,
            (None, None) => false,
        }
    }
}

/// The registers of a function of an item, by its order in `lowered`; `None` where it is too large for an estimate.
pub fn of(db: &dyn Db, item: Item<'_>, at: usize) -> Option<Registers> {
    let costs = costs(db, item).get(at)?.as_ref()?;
    of_costs(db, item, at, costs)
}

/// The same of a function whose costs are at hand.
pub fn of_costs(db: &dyn Db, item: Item<'_>, at: usize, costs: &Costs) -> Option<Registers> {
    let estimate = costs.registers?;
    let figure = figure(db, item, at).filter(|figure| figure.registers > 0);
    let count = figure.as_ref().map_or(estimate, |figure| figure.registers);
    let fit = costs.fit.as_ref().map(|fit| match &figure {
        Some(_) => {
            let table = db::machine(db, program::settings(db, item.main(db)));
            fit.with_registers(table.gpu(), count)
        }
        None => fit.clone(),
    });
    Some(Registers {
        count,
        needed: costs.needed.unwrap_or(count),
        figure,
        scalar: costs.scalar,
        fit,
        budget: costs.budget,
    })
}

/// Returns the variables that are live at the peak in the registers of a thread, on the machine that is
/// configured for a file.
pub fn live_variables(
    db: &dyn Db,
    file: File,
    function: &Function,
    facts: &FunctionFacts,
    pressure: &Pressure,
) -> Option<Vec<LiveVariable>> {
    let table = db::machine(db, program::settings(db, file));
    RegisterFiles::new(function, facts, table.gpu()).variables(pressure)
}

/// The place of a function among those of its item.
pub fn position(db: &dyn Db, item: Item<'_>, function: &Function) -> Option<usize> {
    db::lowered(db, item).iter().position(|lowered| {
        let own = lowered.module.functions.first();
        own.is_some_and(|own| std::ptr::eq(own, function))
    })
}
