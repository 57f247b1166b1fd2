//! The promises of the author that would make a function's loops faster: what each loop takes with them, and which are enough.
//!
//! ```text
//! int dot(const short *a, const short *b, int n)      2 sets for 4 iterations in the place of 2 for each, if `a` and `b` are
//!     for (i = 0; i < n; i++) s += a[i] * b[i];       aligned to 8 bytes and the rounds are a multiple of 4
//! ```
//!
//! The function is emitted with all promises that may be made: each pointer apart from the others and aligned, the rounds of each
//! loop a multiple. Of those, whole kinds and then single ones are left out as long as no loop takes longer for it, so that the
//! rest is enough. Emits about once a promise; functions for which that is much work are left alone.
//!
//! Does not look at pointers that are loaded or computed.

use super::emit::{LoopReport, Options, Report, emit};
use crate::machine::sets::Sets;
use ir::{Function, Loc, Module, Promise, PromiseKind, Site, Type};

/// Elements of the widest access, and its bytes.
const ROUNDS: u64 = 4;
const BYTES: u32 = 8;
/// The most rounds that are promised: what a counter of 16 bits holds.
const MOST: u64 = 0x7fff;
/// Promises times values of a function that is tried, at most: it is emitted about as often as there are promises.
const WORK: usize = 1500;

/// A promise that the source does not make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Proposal {
    /// No other pointer leads to what this parameter does: `restrict`.
    Apart { parameter: usize },
    /// The parameter's address is a multiple of so many bytes.
    Aligned { parameter: usize, bytes: u32 },
    /// The rounds of the loop with this head are a multiple, and at least that many.
    Rounds { head: Loc, multiple: u64, most: u64 },
}

/// The sets of a loop before and after, each for so many iterations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gain {
    pub head: Loc,
    pub before: (u32, u32),
    pub after: (u32, u32),
}

/// Promises, and the loops that are faster with all of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proposed {
    pub promises: Vec<Proposal>,
    pub gains: Vec<Gain>,
}

/// Returns the promises that are enough for the loops of a module's first function to be as fast as with all, if some are faster
/// than those of its code as it is, `before`.
#[must_use]
pub fn proposed(
    module: &Module,
    before: &Report,
    sets: &Sets,
    options: &Options,
) -> Option<Proposed> {
    if !before.loops.iter().any(|report| report.counted) {
        return None;
    }
    let function = module.functions.first()?;
    let all = proposals(function);
    if all.is_empty() || all.len() * function.values.len() > WORK {
        return None;
    }
    // What spills is tried without being reduced, which takes most of the time: loops that this changes are left alone.
    let options = Options {
        reduce_spills: false,
        ..options.clone()
    };
    let measured = |promises: &[Proposal]| {
        let mut module = module.clone();
        promise(module.functions.first_mut()?, promises);
        let emitted = emit(&module, sets, &options).ok()?;
        Some(emitted.functions.into_iter().next()?.loops)
    };
    let plain = match before.spilled {
        0 => before.loops.clone(),
        _ => measured(&[])?,
    };
    let known = |report: &LoopReport| {
        let mut all = before.loops.iter();
        all.any(|own| own.head == report.head && own.interval == report.interval)
    };
    let before: Vec<LoopReport> = plain.into_iter().filter(known).collect();
    let full = measured(&all)?;
    gains(&before, &full).first()?;
    // Whole kinds first.
    let kind = std::mem::discriminant::<Proposal>;
    let mut groups: Vec<Vec<Proposal>> = Vec::new();
    for &proposal in &all {
        match groups.last_mut() {
            Some(own) if kind(&own[0]) == kind(&proposal) => own.push(proposal),
            _ => groups.push(vec![proposal]),
        }
    }
    let mut kept = all;
    let mut after = full.clone();
    let mut leave_out = |left_out: &[Proposal]| {
        let fewer = kept.iter().copied().filter(|it| !left_out.contains(it));
        let fewer: Vec<Proposal> = fewer.collect();
        let made = measured(&fewer).filter(|made| gains(made, &full).is_empty());
        let idle = made.is_some();
        if let Some(made) = made {
            kept = fewer;
            after = made;
        }
        idle
    };
    for group in groups {
        if !leave_out(&group) && group.len() > 1 {
            for proposal in group {
                leave_out(&[proposal]);
            }
        }
    }
    Some(Proposed {
        promises: kept,
        gains: gains(&before, &after),
    })
}

/// All promises that may be made of a function, the one that asks most of its callers first.
fn proposals(function: &Function) -> Vec<Proposal> {
    let promised = |found: &dyn Fn(&PromiseKind) -> bool| {
        function.promises.iter().any(|promise| found(&promise.kind))
    };
    let loops = function.loops.iter().filter(|it| it.loc.site == Site(0));
    let rounds = loops
        .filter(|it| {
            !promised(
                &|kind| matches!(kind, PromiseKind::Rounds { header, .. } if *header == it.header),
            )
        })
        .map(|it| Proposal::Rounds {
            head: it.loc,
            multiple: ROUNDS,
            most: MOST,
        });
    let pointers: Vec<usize> = (0..function.parameters.len())
        .filter(|&at| {
            let values = &function.parameters[at].values;
            values.len() == 1 && matches!(function.ty(values[0]), Type::Ptr(_))
        })
        .collect();
    let aligned = pointers.iter().filter(|&&at| {
        let own = function.parameters[at].values[0];
        !promised(&|kind| {
            matches!(kind, PromiseKind::Aligned { pointer, bytes, .. } if *pointer == own && *bytes >= BYTES)
        })
    });
    let aligned = aligned.map(|&parameter| Proposal::Aligned {
        parameter,
        bytes: BYTES,
    });
    let apart = pointers
        .iter()
        .filter(|&&at| !function.parameters[at].no_alias);
    let apart = apart.map(|&parameter| Proposal::Apart { parameter });
    rounds.chain(aligned).chain(apart).collect()
}

/// The function as if its source made promises.
fn promise(function: &mut Function, promises: &[Proposal]) {
    for proposal in promises {
        let kind = match *proposal {
            Proposal::Apart { parameter } => {
                function.parameters[parameter].no_alias = true;
                continue;
            }
            Proposal::Aligned { parameter, bytes } => PromiseKind::Aligned {
                pointer: function.parameters[parameter].values[0],
                bytes,
                block: function.entry(),
            },
            Proposal::Rounds {
                head,
                multiple,
                most,
            } => {
                let Some(own) = function.loops.iter().find(|it| it.loc == head) else {
                    continue;
                };
                PromiseKind::Rounds {
                    header: own.header,
                    least: multiple,
                    most,
                    multiple,
                }
            }
        };
        let loc = Loc::NONE;
        function.promises.push(Promise { kind, loc });
    }
}

/// The loops that take fewer sets an iteration in the second code.
fn gains(before: &[LoopReport], after: &[LoopReport]) -> Vec<Gain> {
    let of = |report: &LoopReport| (report.interval, report.iterations.max(1));
    let known = before.iter().filter(|report| report.head != Loc::NONE);
    let pairs = known.filter_map(|report| {
        let mut others = after.iter();
        let other = others.find(|other| other.head == report.head)?;
        Some(Gain {
            head: report.head,
            before: of(report),
            after: of(other),
        })
    });
    let faster = |gain: &Gain| {
        let (before, after) = (gain.before, gain.after);
        u64::from(after.0) * u64::from(before.1) < u64::from(before.0) * u64::from(after.1)
    };
    pairs.filter(faster).collect()
}
