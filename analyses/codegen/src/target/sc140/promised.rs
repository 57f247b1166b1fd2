//! The promises of the author that would make a function's loops faster: what each loop takes with them, and which are enough.
//!
//! ```text
//! int dot(const short *a, const short *b, int n)      2 sets for 4 iterations in the place of 2 for each, if `a` and `b` are
//!     for (i = 0; i < n; i++) s += a[i] * b[i];       aligned to 8 bytes and the rounds are a multiple of 4
//! ```
//!
//! Where another loop executes the iterations that are left, bytes behind the ends of objects that may be read can make that one
//! needless.
//!
//! The function is emitted with all promises that may be made: each pointer apart from the others and aligned, the rounds of each
//! loop a multiple. Of those, whole kinds and then single ones are left out as long as no loop takes longer for it, so that the
//! rest is enough. Emits about once a promise; functions for which that is much work are left alone.
//!
//! Does not look at pointers that are loaded or computed.

use super::emit::{LoopReport, Options, Report, emit};
use crate::machine::sets::Sets;
use ir::{Function, Loc, Module, Promise, PromiseKind, Site, Type};
use std::cmp::Ordering;

/// Elements of the widest access, and its bytes.
const ROUNDS: u64 = 4;
const BYTES: u32 = 8;
/// Bytes behind an object that are tried.
const FARTHEST: u32 = 64;
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
    /// So many bytes behind what the parameter points to may be read.
    Readable { parameter: usize, bytes: u32 },
    /// The rounds of the loop with this head are a multiple, and at least that many.
    Rounds { head: Loc, multiple: u64, most: u64 },
}

/// The time that a loop takes: sets for so many iterations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    pub sets: u32,
    pub iterations: u32,
    /// Another loop executes the iterations that are left.
    pub rest: bool,
}

impl Pace {
    #[must_use]
    pub fn of(report: &LoopReport) -> Pace {
        Pace {
            sets: report.interval,
            iterations: report.iterations.max(1),
            rest: report.has_rest(),
        }
    }
    /// The order of the sets that an iteration takes.
    #[must_use]
    pub fn compared(&self, other: &Pace) -> Ordering {
        let sets = |pace: &Pace, of: &Pace| u64::from(pace.sets) * u64::from(of.iterations);
        sets(self, other).cmp(&sets(other, self))
    }
    /// Returns true if another one takes fewer sets an iteration.
    #[must_use]
    pub fn is_slower(&self, other: &Pace) -> bool {
        self.compared(other) == Ordering::Greater
    }
    /// Returns true if another one takes fewer sets an iteration, or as many and leaves nothing to another loop.
    #[must_use]
    pub fn is_behind(&self, other: &Pace) -> bool {
        match self.compared(other) {
            Ordering::Less => false,
            Ordering::Equal => self.rest && !other.rest,
            Ordering::Greater => true,
        }
    }
}

/// A loop before and after.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gain {
    pub head: Loc,
    pub before: Pace,
    pub after: Pace,
}

/// Promises, and the loops that are faster with all of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proposed {
    pub promises: Vec<Proposal>,
    pub gains: Vec<Gain>,
}

/// Returns the promises that are enough for the loops of a module's first function to be as fast as with all, and to leave nothing
/// to other loops where that can be had, if some are better then than those of its code as it is, `before`.
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
    if all.len() * function.values.len() > WORK {
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
    let (mut kept, mut after) = match gains(&before, &full, Pace::is_slower).is_empty() {
        true => (Vec::new(), before.clone()),
        false => enough(all, &full, &measured),
    };
    if let Some((more, made)) = readable(function, &kept, &after, &measured) {
        kept.extend(more);
        after = made;
    }
    let gains = gains(&before, &after, Pace::is_behind);
    (!kept.is_empty() && !gains.is_empty()).then_some(Proposed {
        promises: kept,
        gains,
    })
}

/// Emits a function with promises: its loops.
type Measured<'m> = dyn Fn(&[Proposal]) -> Option<Vec<LoopReport>> + 'm;

/// Those of the promises that are enough for the sets of `full`, which all of them lead to, and the loops with them.
fn enough(
    all: Vec<Proposal>,
    full: &[LoopReport],
    measured: &Measured<'_>,
) -> (Vec<Proposal>, Vec<LoopReport>) {
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
    let mut after = full.to_vec();
    let mut leave_out = |left_out: &[Proposal]| {
        let fewer = kept.iter().copied().filter(|it| !left_out.contains(it));
        let fewer: Vec<Proposal> = fewer.collect();
        let made = measured(&fewer).filter(|made| gains(made, full, Pace::is_slower).is_empty());
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
    (kept, after)
}

/// Reads behind the ends of objects that leave nothing to another loop, beside promises that are made already; and the loops
/// with them.
fn readable(
    function: &Function,
    made: &[Proposal],
    before: &[LoopReport],
    measured: &Measured<'_>,
) -> Option<(Vec<Proposal>, Vec<LoopReport>)> {
    if !before.iter().any(LoopReport::has_rest) {
        return None;
    }
    let with = |parameters: &[usize], bytes: u32| {
        let more = parameters
            .iter()
            .map(|&parameter| Proposal::Readable { parameter, bytes });
        let more: Vec<Proposal> = more.collect();
        let all: Vec<Proposal> = made.iter().chain(&more).copied().collect();
        Some((more, measured(&all)?))
    };
    let pays = |after: &[LoopReport]| {
        let slower = gains(after, before, Pace::is_slower);
        slower.is_empty() && !gains(before, after, Pace::is_behind).is_empty()
    };
    let mut parameters = pointers(function);
    let (_, full) = with(&parameters, FARTHEST)?;
    if !pays(&full) {
        return None;
    }
    for parameter in parameters.clone() {
        let fewer: Vec<usize> = parameters
            .iter()
            .copied()
            .filter(|it| *it != parameter)
            .collect();
        let idle = |after: &[LoopReport]| gains(after, &full, Pace::is_behind).is_empty();
        if with(&fewer, FARTHEST).is_some_and(|(_, after)| idle(&after)) {
            parameters = fewer;
        }
    }
    let bytes = full.iter().map(|report| report.beyond).max()?;
    with(&parameters, bytes).filter(|(more, after)| !more.is_empty() && pays(after))
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
    let pointers = pointers(function);
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

/// The parameters that are pointers.
fn pointers(function: &Function) -> Vec<usize> {
    let is_pointer = |&at: &usize| {
        let values = &function.parameters[at].values;
        values.len() == 1 && matches!(function.ty(values[0]), Type::Ptr(_))
    };
    (0..function.parameters.len()).filter(is_pointer).collect()
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
            Proposal::Readable { parameter, bytes } => PromiseKind::Readable {
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

/// The loops of which the comparison holds between the first code and the second.
fn gains(
    before: &[LoopReport],
    after: &[LoopReport],
    holds: fn(&Pace, &Pace) -> bool,
) -> Vec<Gain> {
    let known = before.iter().filter(|report| report.head != Loc::NONE);
    let pairs = known.filter_map(|report| {
        let mut others = after.iter();
        let other = others.find(|other| other.head == report.head)?;
        Some(Gain {
            head: report.head,
            before: Pace::of(report),
            after: Pace::of(other),
        })
    });
    pairs
        .filter(|gain| holds(&gain.before, &gain.after))
        .collect()
}
