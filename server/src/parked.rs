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
//! Functions that a kernel alone calls ([`called`]) are rewritten as its own text is, one after another.
//!
//! Fewer bytes are no gain where values that a loop reads are parked instead of others that it does not: where a disassembler
//! stands beside the assembler, machine code that costs more by the estimate of [`crate::sass`] is no proposal.
//!
//! Sizes of workgroups that are not known are no reason to lower occupancy: shared memory that is taken leaves as many
//! workgroups of any usual size on a multiprocessor as the registers allow.

mod called;
mod search;

use crate::db::{self, Db, File};
use crate::derive::figures::target_of;
use crate::derive::fitted::{Prepared, prepared};
use crate::program;
use crate::ptxas::{self, PtxasError, Report};
use codegen::Refusal;
use codegen::machine::Gpu;
use codegen::specialize::source::rewritten as edited;
use codegen::target::ptx::machine::fit::Made;
use codegen::target::ptx::machine::park::COLUMNS;
use search::Search;
use smol_str::SmolStr;
use std::path::Path;
use syntax::Span;
use syntax::ptx::StatementKind;

pub use called::{Called, called};

/// A rewriting that the assembler spills less of.
#[derive(Clone, PartialEq, Debug)]
pub struct Proposal {
    /// The functions that change, in the order in which they were rewritten.
    pub functions: Vec<Rewritten>,
    /// Places of the file with other texts, ascending.
    pub edits: Vec<(Span, String)>,
    pub before: Report,
    pub after: Report,
    /// Texts that the assembler was given.
    pub tried: u32,
}

/// A kernel or a function that it calls, rewritten.
#[derive(Clone, PartialEq, Debug)]
pub struct Rewritten {
    pub name: SmolStr,
    /// It was `.weak`, and is of this file alone now.
    pub is_internal: bool,
    pub made: Made,
    /// Loops that the assembler must not unroll.
    pub rolled: usize,
    pub way: Way,
    /// Bytes of local memory that the rewriting itself loads and stores, apart from the assembler's spills.
    pub own_bytes: u32,
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
        /// The kernel calls functions, none of which may be rewritten.
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
const CALLS: &str = "the kernel's own values leave nothing to rewrite, and a function that it calls is rewritten only \
                     where no other kernel and no other module can call it, it never calls itself, and the kernel \
                     declares its workgroup (`.maxntid`)";
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
    pub called: Vec<Called>,
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
            called: called(db, file, &kernel),
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
        spill_less(&judge, &self.text, &self.kernel, &self.called)
    }
}

/// The best rewriting of a kernel and of functions that it alone calls. `text` is the whole file's.
pub fn spill_less(
    judge: &Judge<'_>,
    text: &str,
    kernel: &Prepared,
    called: &[Called],
) -> Result<Proposal, ParkedError> {
    let assembled = |edits: &[(Span, String)]| {
        let limited = |(place, own): &(Span, String)| (*place, limited(kernel, own, judge.words));
        let mut edits = edits.to_vec();
        match edits.iter_mut().find(|(place, _)| *place == kernel.place) {
            Some(own) => *own = limited(own),
            None => edits.push(limited(&(kernel.place, kernel.text.clone()))),
        }
        let file = edited(text, &edits).ok_or(PtxasError::Overlap)?;
        ptxas::assemble_entry(judge.tool, &file, judge.target, &kernel.name)
    };
    let before = assembled(&[])?;
    if before.spilled() == 0 {
        return Err(ParkedError::NothingSpilled(judge.words));
    }
    let mut proposal = Proposal {
        functions: Vec::new(),
        edits: Vec::new(),
        after: before.clone(),
        before,
        tried: 1,
    };
    let mut slower = 0;
    let own = std::iter::once((kernel, &[][..]));
    let all = own.chain(called.iter().map(|own| (&own.function, &own.weak[..])));
    for (function, weak) in all {
        if !proposal.after.spills_in(&function.name) {
            continue;
        }
        // The kernel's shared memory is that of its functions, too.
        let mut function = function.clone();
        if !function.tree.entry {
            let taken = proposal.functions.iter().map(|own| own.made.shared_bytes);
            let taken: u32 = taken.sum();
            let own = kernel.own_shared.max(proposal.before.shared_bytes);
            function.own_shared = own + taken;
            function.shared_bytes = kernel.shared_bytes.saturating_sub(taken);
            function.workgroup = kernel.workgroup;
        }
        let edits = |own: &str| {
            let mut edits = proposal.edits.clone();
            if !own.contains(COLUMNS) {
                edits.push((function.place, own.to_owned()));
                return edits;
            }
            edits.push((function.place, called::internal(own, weak, function.place)));
            let declared = weak
                .iter()
                .filter(|own| !function.place.contains(own.start));
            edits.extend(declared.map(|&own| (own, String::new())));
            edits
        };
        let judged = |own: &str| assembled(&edits(own));
        let mut search = Search::new(&judged, &proposal.after);
        // Without a called function the rest stands all the same.
        let done = search.all(&function, judge.words);
        if function.tree.entry {
            done?;
        }
        proposal.tried += search.tried;
        slower += search.slower;
        if let Some(best) = search.best.take() {
            let edits = edits(&best.made.text);
            let is_internal = !weak.is_empty() && best.made.text.contains(COLUMNS);
            proposal.functions.push(Rewritten {
                is_internal,
                name: function.name.clone(),
                made: best.made,
                rolled: best.rolled.len(),
                way: best.way,
                own_bytes: best.own_bytes,
            });
            proposal.edits = edits;
            proposal.after = best.after;
        }
    }
    if proposal.functions.is_empty() {
        let has_own = !called.is_empty();
        return Err(refused(&proposal, judge.words, kernel, (slower, has_own)));
    }
    proposal.edits.sort_by_key(|(place, _)| place.start);
    Ok(proposal)
}

/// The reason why none of the rewritings that were tried is better.
fn refused(
    proposal: &Proposal,
    words: u16,
    kernel: &Prepared,
    (slower, has_own): (u32, bool),
) -> ParkedError {
    let spilled = proposal.before.spilled();
    if proposal.tried == 1 {
        let statements = kernel.tree.statements().iter();
        let mut calls = statements.filter_map(|statement| match &statement.kind {
            StatementKind::Instruction(own) => Some(own.opcode.text == "call"),
            _ => None,
        });
        return ParkedError::NothingToTry {
            words,
            spilled,
            calls: !has_own && calls.any(|calls| calls),
        };
    }
    ParkedError::NoBetter {
        words,
        spilled,
        tried: proposal.tried,
        slower,
        sized: kernel.workgroup.is_some(),
    }
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
