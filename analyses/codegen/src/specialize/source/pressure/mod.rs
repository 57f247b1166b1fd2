//! Edits of source that leave fewer values in registers where most are live: the author's own statements, with the later uses
//! of a variable served from something that takes no register at the peak.
//!
//! ```text
//! int i = row * n + tid;                      int i = row * n + tid;
//! (the peak)                             ->   (the peak)
//! out[i] = sum;                               int n_again = n; asm volatile("" : "+r"(n_again));
//!                                             const int i_again = row * n_again + tid;
//!                                             out[i_again] = sum;
//! ```
//!
//! `scene` knows the function: where a variable is defined, which uses come behind the peak, where a statement may stand that
//! serves them. `again` evaluates an initial value anew, `slot` keeps a uniform value once for the warp or the workgroup, `broadcast` in a scalar register,
//! `sink` moves a definition behind the peak, `unroll` takes a loop's copies back, `narrow` halves a 64-bit integer. `check`
//! judges the result by its tokens alone.
//!
//! A variable is looked at that is declared with its value in a block and never assigned again; `narrow` looks at all. Not done: variables with
//! several definitions, vectors and structures, uses in the heads of loops around the peak.
//!
//! Source: Sampaio et al., *Divergence Analysis* (TOPLAS 2013), Figure 18, rows i to iii, as edits of source; the conditions on
//! slots of a warp are those on independent thread scheduling of NVIDIA's guide.

mod again;
mod broadcast;
pub mod check;
pub(super) mod expression;
mod narrow;
mod refusal;
pub(super) mod scene;
mod sink;
mod slot;
mod subjects;
mod unroll;

pub use refusal::Refusal;
pub use subjects::{either, subjects, variable_at};

use super::{Source, rewritten};
use facts::Scope;
use facts::intervals::Range;
use ir::Language;
use scene::Scene;
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::Function;

/// An edit that lowers the pressure on registers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// The initial value is computed again where it is used behind the peak.
    Recompute,
    /// A uniform value is kept once for the warp or the workgroup.
    WarpCopy,
    /// The initial value is loaded again from memory that nobody writes.
    LoadAgain,
    /// The definition moves behind the peak, next to the first use.
    Sink,
    /// The loop around the peak is not unrolled, or less.
    Unroll,
    /// An integer of 64 bits is declared with 32, which its numbers fit.
    Narrow,
}

impl Kind {
    pub const ALL: [Kind; 6] = [
        Kind::WarpCopy,
        Kind::Recompute,
        Kind::LoadAgain,
        Kind::Sink,
        Kind::Unroll,
        Kind::Narrow,
    ];

    /// The stable name of the action.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Kind::Recompute => "recompute-at-use",
            Kind::WarpCopy => "one-copy-a-warp",
            Kind::LoadAgain => "load-again",
            Kind::Sink => "sink-definition",
            Kind::Unroll => "unroll-pragma",
            Kind::Narrow => "narrow-type",
        }
    }

    /// Returns whether it changes a loop, whatever variables there are.
    #[must_use]
    pub const fn is_of_loop(self) -> bool {
        matches!(self, Kind::Unroll)
    }
}

/// A variable that is to take no register at the peak.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subject {
    /// Its name in its declaration, relative to the item.
    pub declared: Span,
    /// The largest scope over which its value is the same, in each of its uses; `None`: not even over a warp.
    pub uniform: Option<Scope>,
    /// The least and the largest number that it ever holds, if it is an integer; `None`: not known.
    pub interval: Option<Range>,
    /// True if it lives at the peak: a value computed from it takes no further register.
    pub live: bool,
}

/// A function that executes, as far as its facts and its launch are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// The place at which most is live, relative to the item.
    pub peak: Span,
    /// True if it has workgroups, so that it may have memory that they share.
    pub groups: bool,
    /// Threads of a workgroup, at most.
    pub threads: Option<u32>,
    /// A workgroup has one dimension.
    pub flat: bool,
    pub warp: u32,
    /// The machine has scalar registers beside those of the lanes.
    pub scalar: bool,
    /// All lanes of every warp execute every statement together.
    pub together: bool,
}

/// Edits of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rewriting {
    /// The variables that no longer live across the peak.
    pub names: Vec<SmolStr>,
    /// Absolute, not overlapping.
    pub edits: Vec<(Span, String)>,
    /// Bytes of shared memory of a workgroup that are added.
    pub shared: u32,
    /// A compiler may compute the value once all the same: the language has no way to forbid it.
    pub may_be_undone: bool,
    /// A division is computed again, which takes registers of its own while it lasts.
    pub divides: bool,
}

impl Rewriting {
    /// Tries an edit on each variable; those that are refused stay.
    ///
    /// # Errors
    /// The reason that says most, where all are refused.
    fn of_each(
        mut self,
        subjects: &[Subject],
        edit: &mut dyn FnMut(&Subject, &mut Rewriting) -> Result<(), Refusal>,
    ) -> Result<Rewriting, Refusal> {
        let mut first: Option<Refusal> = None;
        for subject in subjects {
            if let Err(refusal) = edit(subject, &mut self) {
                refusal.among(&mut first);
            }
        }
        match self.names.is_empty() {
            true => Err(first.unwrap_or(Refusal::NoVariable)),
            false => Ok(self),
        }
    }

    /// Lines that are inserted at one place in one edit, in the order in which they were made.
    fn joined(mut self) -> Rewriting {
        let mut edits: Vec<(Span, String)> = Vec::new();
        for (span, text) in self.edits {
            let same = |edit: &&mut (Span, String)| edit.0 == span && span.is_empty();
            match edits.iter_mut().find(same) {
                Some((_, known)) => known.push_str(&text),
                None => edits.push((span, text)),
            }
        }
        edits.sort();
        self.edits = edits;
        self
    }

    /// Returns the text of the file with the edits made; `None` where they overlap.
    #[must_use]
    pub fn applied(&self, text: &str) -> Option<String> {
        rewritten(text, &self.edits)
    }
}

/// Rewrites one or several variables of a function; `known` are all that are looked at, to tell which of them live at the peak.
///
/// # Errors
/// The reason for one of them, where none can be rewritten.
pub fn rewrite(
    source: &Source<'_>,
    function: &Function,
    kind: Kind,
    subjects: &[Subject],
    known: &[Subject],
    kernel: Kernel,
) -> Result<Rewriting, Refusal> {
    let alive = known.iter().filter(|each| each.live);
    let alive = alive.map(|each| each.declared).collect();
    let scene = Scene::new(source, function, kernel.peak, alive)?;
    let made = match kind {
        Kind::WarpCopy if kernel.scalar && source.language == Language::Hlsl => {
            broadcast::rewrite(&scene, subjects)?
        }
        Kind::WarpCopy => slot::rewrite(&scene, subjects, kernel)?,
        Kind::Recompute => again::rewrite(&scene, subjects, again::What::Operations)?,
        Kind::LoadAgain => again::rewrite(&scene, subjects, again::What::Load)?,
        Kind::Sink => sink::rewrite(&scene, subjects)?,
        Kind::Unroll => unroll::rewrite(&scene)?,
        Kind::Narrow => narrow::rewrite(&scene, subjects)?,
    };
    Ok(Rewriting {
        edits: made
            .edits
            .into_iter()
            .map(|(span, text)| (span.shifted(source.start), text))
            .collect(),
        ..made
    })
}
