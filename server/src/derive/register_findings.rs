//! Findings on the registers and the shared memory of kernels: more than there is, a little more than another
//! warp would leave, and the values that are cheapest to do without.
//!
//! ```text
//! __launch_bounds__(256, 4), 78 registers by ptxas with 40 bytes of spills    launch-bounds-spill
//! 66 registers by ptxas, with 64 there is room for one workgroup more         occupancy-cliff
//! ```
//!
//! An estimate is reported if it exceeds a budget by more than its own error, but never for a step that is a
//! few registers away: that takes an assembler's figure.

use super::budget::Budget;
use super::costs::Threads;
use super::fitted::fitted;
use super::register_rows::{LiveRow, RegisterRow};
use super::registers::{self, Registers};
use crate::db::{self, Db, File, Item};
use crate::program;
use codegen::machine::Gpu;
use codegen::machine::occupancy::{Change, Limit, Step};
use codegen::machine::schema::Key;
use codegen::target::ptx::machine::fit::{Allocator, Home};
use facts::pressure::Remedy;
use ir::{FunctionKind, Language};
use smol_str::SmolStr;
use syntax::Span;

/// Registers that a step may be away.
const FEW: u32 = 4;
/// Percent of a multiprocessor's warps that a step must add.
const STEP: f64 = 12.5;
/// The percentage of the warps up to which a peak is reported.
const HALF: f64 = 50.0;
/// Lines with more than seven eighths of the peak, where the peak is one that can be cut.
const SHARP: usize = 4;
/// Bytes that Direct3D gives a group (Direct3D 11.3 functional specification, section 7.14).
const GROUP_SHARED: u32 = 32 * 1024;
/// Cheap values are reported if they make up one in so many of the missing registers.
const PART: u32 = 4;
/// Variables that are named.
const NAMED: usize = 4;

/// A finding about a kernel, at a place of its item.
#[derive(Clone, PartialEq, Debug)]
pub struct RegisterFinding {
    pub place: Span,
    pub kernel: SmolStr,
    pub reason: RegisterReason,
    /// The other places that it speaks of.
    pub variables: Vec<LiveRow>,
}

/// The reason of a finding.
#[derive(Clone, PartialEq, Debug)]
pub enum RegisterReason {
    /// More than the budget; `enough`: to be without the variables makes it fit.
    Spill {
        known: Registers,
        budget: Budget,
        enough: bool,
    },
    /// A few more than another step of occupancy would leave.
    Cliff {
        known: Registers,
        most: u32,
        step: Step,
    },
    /// Few lines need far more than all others.
    Peak {
        known: Registers,
        live: u32,
        lines: usize,
        /// Live at most in the others.
        rest: u32,
    },
    /// Values that need not wait in registers.
    Remat {
        known: Registers,
        budget: Budget,
        /// Registers that they take at the peak.
        freed: u32,
    },
    /// More shared memory than a workgroup may declare, or have.
    Shared {
        bytes: u32,
        most: u32,
        limit: SharedLimit,
        largest: SmolStr,
    },
    /// Values that are spilled are read in loops.
    SpillInLoop {
        known: Registers,
        budget: Budget,
        spilled: usize,
    },
}

/// The origin of the limit on a workgroup's shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SharedLimit {
    /// The bytes that the source declares, as opposed to those that a launch asks for.
    Declared,
    /// The machine, whatever the launch asks for.
    Machine,
    /// Direct3D, of a group.
    Group,
}

/// The findings about the kernels of an item.
pub fn of_item(db: &dyn Db, file: File, item: Item<'_>) -> Vec<RegisterFinding> {
    let mut out = Vec::new();
    if !item.holds(db).code {
        return out;
    }
    let gpu = db::machine(db, program::settings(db, file));
    for row in db::register_rows(db, item) {
        out.extend(shared(row, gpu.gpu()).map(|reason| finding(row, row.head, reason)));
        let Some(known) = registers::of(db, item, row.at) else {
            continue;
        };
        let spills_any = known.spills();
        if spills_any && let Some(budget) = known.budget {
            out.extend(spills(row, &known, budget));
            out.extend(cheap(row, &known, budget));
            if row.language == Language::Ptx {
                out.extend(in_loops(db, file, row, &known, budget));
            }
        }
        out.extend(cliff(row, &known, &gpu.name));
        // What is spilled is no room for others.
        if !spills_any {
            out.extend(peak(db, file, item, row, &known));
        }
    }
    out
}

fn finding(row: &RegisterRow, place: Span, reason: RegisterReason) -> RegisterFinding {
    RegisterFinding {
        place,
        kernel: row.name.clone(),
        reason,
        variables: Vec::new(),
    }
}

fn shared(row: &RegisterRow, gpu: &Gpu) -> Option<RegisterReason> {
    let (largest, bytes) = row.shared.clone()?;
    let limits = [
        (gpu.count(Key::SharedBlock), SharedLimit::Machine),
        (gpu.count(Key::SharedDeclared), SharedLimit::Declared),
    ];
    let group = [(GROUP_SHARED, SharedLimit::Group)];
    // Of a mesh shader Direct3D says less, and where it is compiled to SPIR-V the device says more.
    let limits = match (row.language, row.kind) {
        (Language::Hlsl, FunctionKind::Kernel) => &group[..],
        (Language::Hlsl, _) => &[],
        _ => &limits[..],
    };
    let &(most, limit) = limits.iter().find(|(most, _)| bytes > *most)?;
    Some(RegisterReason::Shared {
        bytes,
        most,
        limit,
        largest,
    })
}

/// Bounds that the author has chosen are reported, and the limit of the machine if an assembler says what it
/// costs.
fn spills(row: &RegisterRow, known: &Registers, budget: Budget) -> Option<RegisterFinding> {
    if !budget.reason.is_chosen() && known.figure.is_none() {
        return None;
    }
    let (variables, enough) = cheapest(row, known.over().max(1));
    let reason = RegisterReason::Spill {
        known: known.clone(),
        budget,
        enough,
    };
    Some(RegisterFinding {
        variables,
        ..finding(row, row.head, reason)
    })
}

/// The variables that are cheapest to be without, until so many registers are free, and whether they are.
fn cheapest(row: &RegisterRow, over: u32) -> (Vec<LiveRow>, bool) {
    let able = row.variables.iter();
    let mut able: Vec<&LiveRow> = able.filter(|it| it.remedy != Remedy::Needed).collect();
    able.sort_by_key(|it| {
        let share = it.registers.max(1);
        (
            it.remedy,
            it.reads_in_loops.div_ceil(share),
            it.reads.div_ceil(share),
        )
    });
    let mut freed = 0;
    let chosen = able.into_iter().take_while(|it| {
        let wanted = freed < over;
        freed += it.registers;
        wanted
    });
    let chosen: Vec<LiveRow> = chosen.cloned().collect();
    let freed: u32 = chosen.iter().map(|it| it.registers).sum();
    (chosen, freed >= over)
}

/// One operation, or one load from where nothing changes, gives the value again.
const fn is_cheap(row: &LiveRow) -> bool {
    matches!(
        row.remedy,
        Remedy::Recompute { operations: 1 } | Remedy::Reload
    )
}

fn cheap(row: &RegisterRow, known: &Registers, budget: Budget) -> Option<RegisterFinding> {
    let named = row.variables.iter();
    let named = named.filter(|it| is_cheap(it) && it.name.is_some() && it.defined.is_some());
    let variables: Vec<LiveRow> = named.cloned().collect();
    let place = variables.first()?.defined?;
    let freed: u32 = variables.iter().map(|variable| variable.registers).sum();
    let over = known.over();
    // Of what goes a small part of the way nobody has anything.
    if freed * PART < over {
        return None;
    }
    let reason = RegisterReason::Remat {
        known: known.clone(),
        budget,
        freed,
    };
    Some(RegisterFinding {
        variables,
        ..finding(row, place, reason)
    })
}

fn in_loops(
    db: &dyn Db,
    file: File,
    row: &RegisterRow,
    known: &Registers,
    budget: Budget,
) -> Option<RegisterFinding> {
    let words = u16::try_from(budget.registers).unwrap_or(u16::MAX);
    let fitted = fitted(db, file, Some(&row.name), words, Allocator::Linear);
    let made = fitted
        .into_iter()
        .find(|it| it.name == row.name)?
        .made
        .ok()?;
    let spilled: Vec<SmolStr> = made
        .spilled
        .into_iter()
        .filter(|it| it.loads > 0 && matches!(it.home, Home::Lane(_)))
        .map(|it| it.name)
        .collect();
    // What a few operations give again a compiler computes again.
    let is_read = |row: &&LiveRow| {
        let again = matches!(row.remedy, Remedy::Recompute { .. });
        let named = row.name.as_ref();
        !again && row.in_loop.is_some() && named.is_some_and(|name| spilled.contains(name))
    };
    let variables: Vec<LiveRow> = row.variables.iter().filter(is_read).cloned().collect();
    let place = variables
        .iter()
        .filter_map(|variable| variable.in_loop)
        .min()?;
    let reason = RegisterReason::SpillInLoop {
        known: known.clone(),
        budget,
        spilled: spilled.len(),
    };
    Some(RegisterFinding {
        variables,
        ..finding(row, place, reason)
    })
}

/// The next step of occupancy, where registers alone limit it and the size of workgroups is no guess.
fn step(known: &Registers) -> Option<(u32, &Step, f64)> {
    let fit = known.fit.as_ref()?;
    if fit.threads == Threads::Guessed {
        return None;
    }
    let step = fit.step.as_ref()?;
    match (fit.found.limits.as_slice(), step.change) {
        ([Limit::Registers], Change::Registers(most)) => Some((most, step, fit.found.percent())),
        _ => None,
    }
}

fn cliff(row: &RegisterRow, known: &Registers, machine: &str) -> Option<RegisterFinding> {
    // Counts for one machine say nothing of the steps of another.
    let figure = known.figure.as_ref()?;
    if figure.target.trim_end_matches(['a', 'f']) != machine {
        return None;
    }
    let (most, step, now) = step(known)?;
    let is_near = known.count - most.min(known.count) <= FEW;
    if !is_near || step.then.percent() - now < STEP {
        return None;
    }
    let reason = RegisterReason::Cliff {
        known: known.clone(),
        most,
        step: step.clone(),
    };
    Some(finding(row, row.head, reason))
}

/// A peak that few lines make and without which more warps would fit, in the text of a kernel of which registers alone limit the occupancy.
fn peak(
    db: &dyn Db,
    file: File,
    item: Item<'_>,
    row: &RegisterRow,
    known: &Registers,
) -> Option<RegisterFinding> {
    let (most, _, now) = step(known)?;
    let place = row.peak.filter(|_| now <= HALF && row.peak_is_own)?;
    let lines = db::line_index(db, file);
    let start = item.place(db).start;
    let mut above: Vec<u32> = Vec::new();
    let mut rest = 0;
    for &(at, live) in &row.places {
        match live * 8 > row.live * 7 {
            true => above.push(lines.line_column(start + at).0),
            false => rest = rest.max(live),
        }
    }
    above.dedup();
    // Without them more warps fit: what is allocated stands to what is live as at the peak.
    let without = u64::from(rest) * u64::from(known.count) / u64::from(row.live.max(1));
    if above.is_empty() || above.len() > SHARP || without > u64::from(most) {
        return None;
    }
    let reason = RegisterReason::Peak {
        known: known.clone(),
        live: row.live,
        lines: above.len(),
        rest,
    };
    let variables = row.variables.iter().take(NAMED).cloned().collect();
    Some(RegisterFinding {
        variables,
        ..finding(row, place, reason)
    })
}
