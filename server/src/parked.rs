//! A PTX kernel rewritten so that NVIDIA's assembler spills less of it in so many registers. The assembler judges: of
//! several rewritings the one that it spills least of is proposed, none where it spills as much as before.
//!
//! ```text
//! loops not unrolled, values parked:   0  0, all loops  1  2  4  8  16 ..  1 ..
//! bytes spilled:                     160            96  …
//! ```
//!
//! Fewer bytes are no gain where values that a loop reads are parked instead of others that it does not: where a disassembler
//! stands beside the assembler, machine code that costs more by the estimate of [`crate::sass`] is no proposal.
//!
//! Sizes of workgroups that are not known are no reason to lower occupancy: shared memory that is taken leaves as many
//! workgroups of any usual size on a multiprocessor as the registers allow.

use crate::db::{self, Db, File};
use crate::derive::figures::target_of;
use crate::derive::fitted::{Prepared, prepared};
use crate::program;
use crate::ptxas::{self, PtxasError, Report};
use codegen::Refusal;
use codegen::machine::Gpu;
use codegen::target::ptx::machine::fit::{Budget, Made};
use codegen::target::ptx::machine::park::{Kernel, Parking};
use std::path::Path;

/// A rewriting that the assembler spills less of.
#[derive(Clone, PartialEq, Debug)]
pub struct Proposal {
    pub made: Made,
    /// Loops that the assembler is told not to unroll.
    pub rolled: usize,
    pub before: Report,
    pub after: Report,
    /// Texts that the assembler was given.
    pub tried: u32,
}

#[derive(Debug, thiserror::Error)]
pub enum ParkedError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Ptxas(#[from] PtxasError),
    #[error("ptxas spills nothing of it in {0} registers")]
    NothingSpilled(u16),
    #[error(
        "ptxas spills no less of any rewriting{}: {spilled} bytes in {words} registers, {tried} tried{}",
        if *.slower > 0 { SLOWER } else { "" },
        if *.sized { "" } else { SIZE }
    )]
    NoBetter {
        words: u16,
        spilled: u32,
        tried: u32,
        /// Rewritings of which it spills less, and that cost more than they save.
        slower: u32,
        /// The size of the workgroup is known.
        sized: bool,
    },
}

/// A reason why there is no more to try.
const SIZE: &str = "; with a known workgroup size (`.maxntid`, or `block` in lockstep.toml), values that differ between \
                    lanes could be parked, too";
const SLOWER: &str = " that does not cost more in loops than it saves";
/// The most steps that are tried, and rewritings without a gain after which a row of them ends.
const STEPS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 96];
const PATIENCE: u32 = 3;

/// What judges.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a> {
    pub tool: &'a Path,
    /// `sm_80`
    pub target: &'a str,
    pub gpu: &'a Gpu,
    /// Registers of a thread.
    pub words: u16,
}

/// What a rewriting is made of, apart from the database: it is made while a process runs.
#[derive(Clone, Debug)]
pub struct Task {
    pub text: String,
    pub kernel: Prepared,
    pub target: String,
    pub gpu: Gpu,
    pub words: u16,
}

impl Task {
    /// The task of a kernel of a name; `None` where the file has none.
    pub fn new(db: &dyn Db, file: File, name: &str, words: u16) -> Option<Result<Task, Refusal>> {
        let (.., kernel) = prepared(db, file, Some(name)).pop()?;
        Some(kernel.map(|kernel| Task {
            text: program::text(file.source(db)).to_owned(),
            kernel,
            target: target_of(db, file, program::text(file.source(db))),
            gpu: db::machine(db, program::settings(db, file)).gpu().clone(),
            words,
        }))
    }

    /// Its best rewriting.
    pub fn proposed(&self, tool: &Path) -> Result<Proposal, ParkedError> {
        let judge = Judge {
            tool,
            target: &self.target,
            gpu: &self.gpu,
            words: self.words,
        };
        spill_less(&judge, &self.text, &self.kernel)
    }
}

/// The best rewriting of a kernel. `text` is the whole file's.
pub fn spill_less(
    judge: &Judge<'_>,
    text: &str,
    kernel: &Prepared,
) -> Result<Proposal, ParkedError> {
    let (start, end) = (kernel.place.start as usize, kernel.place.end as usize);
    let assembled = |own: &str| {
        let limited = limited(kernel, own, judge.words);
        let file = [&text[..start], &limited, &text[end..]].concat();
        ptxas::assemble_entry(judge.tool, &file, judge.target, &kernel.name)
    };
    let before = assembled(&kernel.text)?;
    if before.spilled() == 0 {
        return Err(ParkedError::NothingSpilled(judge.words));
    }
    let budget = Budget {
        shared_bytes: kernel.spare_shared(judge.words),
        ..kernel.budget(judge.words)
    };
    // As the estimate of registers has it: 4/5 of the live words and six.
    let limit = u32::from(judge.words).saturating_sub(6) * 5 / 4;
    let start = || {
        let parked = Kernel {
            tree: &kernel.tree,
            body: &kernel.body,
            text: &kernel.text,
            states: &kernel.states,
            budget: &budget,
            workgroup: kernel.workgroup,
        };
        Parking::new(parked, &kernel.early(), limit)
    };
    let mut search = Search {
        assembled: &assembled,
        best: None,
        least: (before.spilled(), 0, 0),
        rate: before.weight.and_then(|weight| weight.rate()),
        tried: 1,
        slower: 0,
    };
    let loops = start()?.loops();
    if !loops.is_empty() {
        search.judge(&start()?, &loops)?;
    }
    for rolled in [&loops[..], &[]] {
        if rolled.is_empty() && search.least.0 == 0 {
            break;
        }
        search.row(start()?, rolled)?;
    }
    search.fewer_values(&start)?;
    search.fewer_loops(&start)?;
    let tried = search.tried;
    let Some(best) = search.best else {
        return Err(ParkedError::NoBetter {
            words: judge.words,
            spilled: before.spilled(),
            tried,
            slower: search.slower,
            sized: kernel.workgroup.is_some(),
        });
    };
    Ok(Proposal {
        made: best.made,
        rolled: best.rolled.len(),
        before,
        after: best.after,
        tried,
    })
}

/// The text of the kernel, or of a rewriting, for a thread with so many registers. The option of the assembler does not hold
/// for kernels that say how they are launched; the directive does.
fn limited(kernel: &Prepared, own: &str, words: u16) -> String {
    let mut out = own.to_owned();
    let first = kernel.tree.statements().first();
    let open = first.and_then(|first| own[..first.span.start as usize].rfind('{'));
    if let Some(open) = open {
        out.insert_str(open, &format!("\n.maxnreg {words}\n"));
    }
    // Text in front of the body is the kernel's own in every rewriting.
    let declared = kernel.tree.directives.iter();
    for declared in declared.filter(|declared| declared.name.text == "maxnreg") {
        let start = declared.name.span.start.saturating_sub(1) as usize;
        let number = own[declared.name.span.end as usize..]
            .trim_start()
            .trim_start_matches(|digit: char| digit.is_ascii_digit());
        let end = own.len() - number.len();
        out.replace_range(start..end, &" ".repeat(end - start));
    }
    out
}

struct Found {
    made: Made,
    rolled: Vec<u32>,
    parked: usize,
    after: Report,
}

struct Search<'a> {
    assembled: &'a dyn Fn(&str) -> Result<Report, PtxasError>,
    best: Option<Found>,
    /// Bytes spilled, bytes of shared memory taken, loops that are not unrolled.
    least: (u32, u32, usize),
    /// Issue slots for each instruction that stays, as the kernel is.
    rate: Option<f64>,
    tried: u32,
    slower: u32,
}

impl Search<'_> {
    /// Returns true where the assembler spills less of it, or as much with less, and where it costs no more than before as far as its
    /// machine code tells.
    fn judge(&mut self, parking: &Parking<'_>, rolled: &[u32]) -> Result<bool, ParkedError> {
        let made = parking.made(rolled);
        self.tried += 1;
        let after = (self.assembled)(&made.text)?;
        let cost = (after.spilled(), made.shared_bytes, rolled.len());
        let rate = after.weight.and_then(|weight| weight.rate());
        let slower = matches!((rate, self.rate), (Some(rate), Some(before)) if rate > before);
        let better = cost < self.least && !slower;
        self.slower += u32::from(cost < self.least && slower);
        if better {
            self.least = cost;
            self.best = Some(Found {
                made,
                rolled: rolled.to_vec(),
                parked: parking.count(),
                after,
            });
        }
        Ok(better)
    }

    /// More and more values parked.
    fn row(&mut self, mut parking: Parking<'_>, rolled: &[u32]) -> Result<(), ParkedError> {
        let mut waited = 0;
        for steps in STEPS {
            let mut more = true;
            while more && parking.count() < steps {
                more = parking.step();
            }
            if parking.count() == 0 {
                return Ok(());
            }
            let slower = self.slower;
            // What costs too much may be worth it with more values.
            let gains = self.judge(&parking, rolled)? || self.slower > slower;
            waited = if gains { 0 } else { waited + 1 };
            if !more || self.least.0 == 0 || waited > PATIENCE {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Fewer values than the best rewriting parks, as long as no more is spilled.
    fn fewer_values<'p>(
        &mut self,
        start: &dyn Fn() -> Result<Parking<'p>, Refusal>,
    ) -> Result<(), ParkedError> {
        let Some(best) = &self.best else {
            return Ok(());
        };
        let rolled = best.rolled.clone();
        let mut high = best.parked;
        let mut low = STEPS
            .into_iter()
            .rev()
            .find(|&steps| steps < high)
            .unwrap_or(0);
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            let mut parking = start()?;
            while parking.count() < middle && parking.step() {}
            if self.judge(&parking, &rolled)? {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok(())
    }

    /// Loops of the best rewriting that may be unrolled all the same.
    fn fewer_loops<'p>(
        &mut self,
        start: &dyn Fn() -> Result<Parking<'p>, Refusal>,
    ) -> Result<(), ParkedError> {
        let Some(best) = &self.best else {
            return Ok(());
        };
        let (mut rolled, parked) = (best.rolled.clone(), best.parked);
        if rolled.is_empty() {
            return Ok(());
        }
        let mut parking = start()?;
        while parking.count() < parked && parking.step() {}
        for label in rolled.clone() {
            let fewer: Vec<u32> = rolled.iter().copied().filter(|&own| own != label).collect();
            if self.judge(&parking, &fewer)? {
                rolled = fewer;
            }
        }
        Ok(())
    }
}
