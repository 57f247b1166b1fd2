//! A PTX kernel rewritten so that NVIDIA's assembler spills less of it in so many registers. The assembler judges: of
//! several rewritings the one that it spills least of is proposed, none where it spills as much as before.
//!
//! ```text
//! loops not unrolled, values parked:   0  0, all loops  1  2  4  8  16 ..  1 ..     allocated by us: 32, 36 .. registers
//! bytes spilled:                     160            96  …
//! ```
//!
//! Values are parked, or our own allocator decides the places of values
//! ([`codegen::target::ptx::machine::fit`]): its loads from and stores to local memory count as spills.
//!
//! Fewer bytes are no gain where values that a loop reads are parked instead of others that it does not: where a disassembler
//! stands beside the assembler, machine code that costs more by the estimate of [`crate::sass`] is no proposal.
//!
//! Sizes of workgroups that are not known are no reason to lower occupancy: shared memory that is taken leaves as many
//! workgroups of any usual size on a multiprocessor as the registers allow.

mod search;

use crate::db::{self, Db, File};
use crate::derive::figures::target_of;
use crate::derive::fitted::{Prepared, prepared};
use crate::program;
use crate::ptxas::{self, PtxasError, Report};
use codegen::Refusal;
use codegen::machine::Gpu;
use codegen::target::ptx::machine::fit::Made;
use codegen::target::ptx::machine::park::{Kernel, Parking};
use search::Search;
use std::path::Path;
use syntax::ptx::StatementKind;

/// A rewriting that the assembler spills less of.
#[derive(Clone, PartialEq, Debug)]
pub struct Proposal {
    pub made: Made,
    /// Loops that the assembler must not unroll.
    pub rolled: usize,
    pub way: Way,
    pub before: Report,
    pub after: Report,
    /// Bytes of local memory that the rewriting itself loads and stores, apart from the assembler's spills.
    pub own_bytes: u32,
    /// Texts that the assembler was given.
    pub tried: u32,
}

/// The ways to rewrite a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// This many values are parked in shared memory; the assembler allocates.
    Parked(usize),
    /// Our allocator, with so many registers.
    Allocated(u16),
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
        "ptxas spills {spilled} bytes in {words} registers; {}",
        if *.calls { CALLS } else { "no value of the kernel can live elsewhere" }
    )]
    NothingToTry {
        words: u16,
        spilled: u32,
        /// The kernel calls functions.
        calls: bool,
    },
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
const CALLS: &str = "the kernel's own values leave nothing to rewrite, and the functions that it calls are not \
                     rewritten";
const SLOWER: &str = " that does not cost more in loops than it saves";
/// The assembler that judges, with its target and limits.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a> {
    pub tool: &'a Path,
    /// `sm_80`
    pub target: &'a str,
    pub gpu: &'a Gpu,
    /// Registers of a thread.
    pub words: u16,
}

/// The material of a rewriting, apart from the database: it is made while a process runs.
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
            target: target_of(db, file),
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
    let budget = kernel.spared(judge.words, judge.words);
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
        Parking::new(parked, &kernel.arrivals, limit)
    };
    let mut search = Search::new(&assembled, &before);
    let loops = start()?.loops();
    if !loops.is_empty() {
        search.parked(&start()?, &loops)?;
    }
    for rolled in [&loops[..], &[]] {
        if rolled.is_empty() && search.least.0 == 0 {
            break;
        }
        search.row(start()?, rolled)?;
    }
    search.fewer_values(&start)?;
    search.fewer_loops(&start)?;
    search.allocated(kernel, judge.words, &loops)?;
    let tried = search.tried;
    if tried == 1 {
        let statements = kernel.tree.statements().iter();
        let mut calls = statements.filter_map(|statement| match &statement.kind {
            StatementKind::Instruction(own) => Some(own.opcode.text == "call"),
            _ => None,
        });
        return Err(ParkedError::NothingToTry {
            words: judge.words,
            spilled: before.spilled(),
            calls: calls.any(|calls| calls),
        });
    }
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
        way: best.way,
        before,
        after: best.after,
        own_bytes: best.own_bytes,
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
