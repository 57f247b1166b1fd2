//! Asks the checkers of if-conversion and of kernels, where that is wanted, and reports the outcome.

use super::check::{self, Promises};
use super::conversion;
use super::report::{LoopReport, Reason};
use super::{Options, Region};
use crate::machine::epic::Epic;
use crate::target::ia64::code::Body;
use crate::target::ia64::code::Function;

/// The extent of the checkers' comparisons, or the reasons why they made none; `None`: they were not asked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Checked {
    pub conversion: Option<Result<conversion::Compared, conversion::Unchecked>>,
    pub kernel: Option<Result<check::Compared, check::Unchecked>>,
}

/// A loop that would not have computed the same, and stays as it is.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unsound {
    #[error("if-conversion: {0}")]
    Conversion(conversion::Violation),
    #[error("pipelining: {0}")]
    Kernel(check::Violation),
}

/// Rounds that are looked for beyond the stages, and at most.
const MORE: u32 = 3;
const MOST: u32 = 40;

/// Checks that the body has the effects of the loop. In debug builds it panics if not.
pub(super) fn converted(
    function: &Function,
    region: &Region,
    body: &Body,
    options: &Options,
    report: &mut LoopReport,
) -> Result<(), Reason> {
    if !options.checked {
        return Ok(());
    }
    let verdict = conversion::check(function, region, body);
    let compared = verdict.map_err(|why| unsound(function, region, Unsound::Conversion(why)))?;
    report.checked.conversion = Some(compared);
    Ok(())
}

/// Checks that a function with a kernel has its effects with the loop. In debug builds it panics if not.
pub(super) fn kernel(
    function: &Function,
    region: &Region,
    changed: &Function,
    machine: &Epic,
    options: &Options,
    report: &mut LoopReport,
) -> Result<(), Reason> {
    if !options.checked {
        return Ok(());
    }
    let promises = Promises {
        independent: region.independent,
        reassociate: options.reassociate,
        rounds: ((report.stages + MORE) * report.unrolled).min(MOST),
    };
    let verdict = check::check(function, region, changed, machine, promises);
    let compared = verdict.map_err(|why| unsound(function, region, Unsound::Kernel(why)))?;
    report.checked.kernel = Some(compared);
    Ok(())
}

fn unsound(function: &Function, region: &Region, why: Unsound) -> Reason {
    debug_assert!(false, "{}, block {}: {why}", function.name, region.header);
    Reason::Unsound(Box::new(why))
}
