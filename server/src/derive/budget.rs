//! The most registers that a thread of a kernel may have, and the origin of the number.
//!
//! ```text
//! __launch_bounds__(256, 4) on sm_80: 4 workgroups of 256 threads are to fit, so 64 registers; what needs more is spilled
//! ```
//!
//! As `ptxas` 13.5 has it (compared on 40 pairs of bounds): a number that is declared with the kernel comes before bounds of its
//! launch, and both before `maxrregcount`; bounds that no number of registers meets are none.

use codegen::machine::Gpu;
use codegen::machine::occupancy::most_registers;
use codegen::machine::schema::Key;
use facts::FunctionFacts;
use ir::{Function, FunctionKind};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    pub registers: u32,
    pub reason: BudgetReason,
}

/// The reason of a budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BudgetReason {
    /// `__maxnreg__`, `.maxnreg`.
    Declared,
    /// This many workgroups of this many threads are to fit on a multiprocessor: `__launch_bounds__`,
    /// `numthreads`, `.maxntid` and `.minnctapersm`, `.reqntid`, `block` of the configuration.
    Workgroups { threads: u32, blocks: u32 },
    /// `maxrregcount` of the configuration.
    Configured,
    /// No thread has more.
    Machine,
}

impl BudgetReason {
    /// Returns true if the author has set it, here or in the configuration.
    #[must_use]
    pub const fn is_chosen(self) -> bool {
        !matches!(self, BudgetReason::Machine)
    }
}

/// The budget of an entry point; `None` of other functions.
pub fn budget(
    function: &Function,
    facts: &FunctionFacts,
    gpu: &Gpu,
    configured: Option<u32>,
) -> Option<Budget> {
    if !matches!(function.kind, FunctionKind::Kernel | FunctionKind::Stage(_)) {
        return None;
    }
    let lanes = gpu.lanes(function.launch.warp_size.unwrap_or(facts.options.warp_size));
    let launch = &function.launch;
    let bounded = |threads: u32, blocks: u32| Budget {
        registers: most_registers(gpu, threads, lanes, blocks),
        reason: BudgetReason::Workgroups { threads, blocks },
    };
    let configured = configured.map(|registers| Budget {
        registers,
        reason: BudgetReason::Configured,
    });
    let group = || {
        let mut sizes = launch.block.iter();
        let product = sizes.try_fold(1u32, |all, size| Some(all.saturating_mul((*size)?)));
        product
            .filter(|_| function.kind == FunctionKind::Kernel)
            .map(|threads| bounded(threads, 1))
    };
    let most = Budget {
        registers: gpu.count(Key::ThreadRegisters),
        reason: BudgetReason::Machine,
    };
    let chosen = match (launch.max_registers, launch.max_threads) {
        (Some(registers), _) => Some(Budget {
            registers,
            reason: BudgetReason::Declared,
        }),
        (None, Some(threads)) => Some(bounded(threads, launch.min_blocks.unwrap_or(1))),
        (None, None) => [group(), configured]
            .into_iter()
            .flatten()
            .min_by_key(|it| it.registers),
    };
    Some(
        chosen
            .filter(|it| it.registers < most.registers)
            .unwrap_or(most),
    )
}
