//! The search for a schedule of an iteration: by one method, with operations that run ahead if that gains
//! something, at the least interval at which rows and registers are found.
//!
//! ```text
//! interval 4: six orders, each with rows that hold and shorter lives; none holds, interval 5: .. registers run out, 6: ..
//! ```
//!
//! Termination: intervals go up from the bound, `Limits::intervals` of them, and registers are waited for
//! `WIDER` times. A schedule with loads ahead of their guards is looked for only up to the interval of the
//! one without, which it must beat. The search proves nothing: where it finds no schedule there may be one.

use super::address::{self, Met, Progression};
use super::advance;
use super::body::{Item, Loop, LoopExit, normalise};
use super::depend::{View, view};
use super::exits::{self, Plan, plan};
use super::kernel::{Allocation, allocate, rows};
use super::report::{LoopReport, Method, Reason};
use super::separate::{self, Test};
use super::speculate::{self, Ahead};
use super::{Options, bound, forward, pairs, prefetch, sums, unroll};
use crate::machine::epic::Epic;
use crate::mir::liveness::Liveness;
use crate::pipeline::Limits;
use crate::pipeline::bounds::bounds;
use crate::pipeline::graph::{Graph, Packer, Schedule};
use crate::pipeline::iterative::varied;
use crate::pipeline::lifetime::{aligned, shorten};
use crate::predicate::loops::Region;
use crate::target::ia64::code::Body;
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Function, Operand, Virtual};
use crate::target::ia64::describe::{Described, describe};
use crate::target::ia64::passes::constant_compare;
use crate::target::ia64::passes::unconditional;
use crate::target::ia64::rows::Packing;
use ir::Loc;
use isa::ia64::File;
use isa::ia64::register::Reg;
use std::ops::RangeInclusive;
use std::rc::Rc;

/// Pairs of accesses that may meet; a loop with more of them is left as it is.
const MEETINGS: usize = 20_000;

/// Intervals above the first that are tried where registers run out.
const WIDER: u32 = 8;

/// Orders in which the scheduler begins, at each interval.
const VARIANTS: u32 = 6;

/// Rows that are taken apart, at each interval.
const TURNS: usize = 4;

/// A method's way, as far as it goes.
pub(super) struct Found {
    pub(super) method: Method,
    pub(super) plan: Plan,
    pub(super) view: View,
    pub(super) schedule: Schedule,
    pub(super) allocation: Allocation,
    pub(super) rows: Vec<Vec<u32>>,
    pub(super) exits: Vec<LoopExit>,
    /// Iterations of one of the kernel.
    pub(super) times: u32,
    /// The form that was scheduled.
    pub(super) form: Form,
}

impl Found {
    pub(super) fn rank(&self) -> (u32, usize, u32) {
        let Found { schedule, plan, .. } = self;
        (schedule.ii, plan.items.len(), schedule.stages())
    }
    /// Returns true if something else than resources holds it back.
    pub(super) fn waits(&self) -> bool {
        let packing = self.view.graph.packing.as_ref();
        let least = packing.map_or(1, Packing::res_mii);
        self.schedule.ii > least
    }
    /// Returns the cycle at which the predicate of an iteration is available, from the iteration's own start.
    fn valid(&self) -> i64 {
        let Found { schedule, view, .. } = self;
        let values = view.names.iter().zip(&view.values);
        let mut own = values.filter(|(name, _)| **name == self.plan.valid);
        let writers = own.next().map_or(&[][..], |(_, value)| &value.writers);
        let written = writers
            .iter()
            .map(|&writer| schedule.start[writer as usize]);
        i64::from(written.max().unwrap_or(0)) + 1 - i64::from(schedule.ii)
    }
}

/// An iteration and the facts about it.
#[derive(Clone)]
pub(super) struct Form {
    pub(super) given: Loop,
    pub(super) described: Vec<Described>,
    pub(super) touches: Rc<[address::Touch]>,
    pub(super) meetings: Rc<[Met]>,
}

impl Form {
    pub(super) fn of(
        function: &mut Function,
        region: &Region,
        body: &Body,
        liveness: &Liveness,
        separate: bool,
    ) -> Result<Form, Reason> {
        let mut given = normalise(function, body, liveness, separate)?;
        unroll::fold(&mut given);
        if !body.preload.is_empty() {
            forward::trim(function, &mut given);
        }
        Form::known(function, region, body, given)
    }
    /// Returns the facts about an iteration.
    fn known(
        function: &Function,
        region: &Region,
        body: &Body,
        given: Loop,
    ) -> Result<Form, Reason> {
        let described: Vec<Described> = given
            .items
            .iter()
            .map(|item| describe(function, &item.operation))
            .collect();
        let mut touches = address::touches(&given, &described);
        let mut forms: Vec<_> = touches.iter_mut().map(|touch| &mut touch.address).collect();
        address::from_above(function, region, body, &mut forms);
        let meetings = address::meetings(&touches, MEETINGS).ok_or(Reason::Large {
            what: "pairs of accesses that may meet",
            most: MEETINGS,
        })?;
        let meetings = match region.independent {
            true => address::apart_by_promise(meetings),
            false => meetings,
        };
        Ok(Form {
            given,
            described,
            touches: touches.into(),
            meetings: meetings.into(),
        })
    }
    /// The same with so many sums in the place of each; `None`: there is no sum.
    pub(super) fn interleaved(&self, function: &mut Function, turns: u32) -> Option<Form> {
        if !sums::any(&self.given) {
            return None;
        }
        let given = sums::interleaved(function, &self.given, turns);
        let items = given.items.iter();
        let described = items.map(|item| describe(function, &item.operation));
        Some(Form {
            described: described.collect(),
            given,
            touches: Rc::clone(&self.touches),
            meetings: Rc::clone(&self.meetings),
        })
    }
    /// The same with neighbouring loads as pairs, and the addresses that must be multiples of a number of
    /// bytes.
    pub(super) fn paired(
        &self,
        function: &Function,
        region: &Region,
        body: &Body,
        liveness: &Liveness,
    ) -> Option<(Form, Vec<(Progression, u32)>)> {
        let Form {
            given,
            described,
            touches,
            meetings,
        } = self;
        let targets = || given.exits.iter().map(|exit| exit.target);
        let left = |it| targets().any(|target| liveness.at_start(target).contains(&it));
        let (given, aligned) = pairs::paired(given, described, touches, meetings, &left)?;
        let form = Form::known(function, region, body, given).ok()?;
        Some((form, aligned))
    }
    /// The same with its streams fetched ahead, how many they are, and by how many iterations.
    pub(super) fn prefetching(
        &self,
        function: &mut Function,
        machine: &Epic,
        interval: u32,
    ) -> Option<(Form, u32, u32)> {
        let (given, streams, ahead) =
            prefetch::prefetching(function, &self.given, &self.touches, machine, interval)?;
        let form = Form {
            given,
            described: Vec::new(),
            touches: Rc::clone(&self.touches),
            meetings: Rc::clone(&self.meetings),
        };
        Some((form, streams, ahead))
    }
    /// The same where a test in front of the loop holds.
    pub(super) fn tested(&self) -> Option<(Form, Test)> {
        let (meetings, test) = separate::tested(&self.touches, &self.meetings)?;
        let form = Form {
            meetings: meetings.into(),
            ..self.clone()
        };
        Some((form, test))
    }
}

/// The best schedule with loads above stores that may change their memory, only as many as improve it.
pub(super) fn above_stores(
    function: &mut Function,
    form: &Form,
    method: Method,
    machine: &Epic,
    options: &Options,
    own: &Found,
) -> Option<Found> {
    let Form {
        given,
        described,
        touches,
        meetings,
    } = form;
    let all = advance::candidates(given, described, touches, meetings);
    let guarded = method != Method::Counted;
    let mut with = |loads: &[Virtual], how: Ahead, known: &Found| {
        let given = advance::advanced(function, given, described, loads, guarded, how);
        let form = Form {
            given,
            described: Vec::new(),
            touches: Rc::clone(touches),
            meetings: Rc::clone(meetings),
        };
        let found = build(
            function,
            &form,
            method,
            machine,
            options,
            Told::Better(known),
        )
        .ok()?;
        let fits = advance::fits(&found.plan.items, &found.schedule, machine);
        (fits && found.schedule.ii < own.schedule.ii).then_some(found)
    };
    let mut best: Option<Found> = None;
    for how in [Ahead::Everything, Ahead::Addresses] {
        let mut loads = all.clone();
        let Some(mut found) = with(&loads, how, best.as_ref().unwrap_or(own)) else {
            continue;
        };
        for load in &all {
            let others: Vec<Virtual> = loads.iter().copied().filter(|it| it != load).collect();
            if others.is_empty() {
                break;
            }
            if let Some(fewer) = with(&others, how, &found)
                && fewer.rank() < found.rank()
            {
                (found, loads) = (fewer, others);
            }
        }
        if best.as_ref().is_none_or(|best| found.rank() < best.rank()) {
            best = Some(found);
        }
    }
    best
}

/// The best schedule with loads ahead of the exits that guard them, only as many as are ahead in it.
pub(super) fn ahead_of_exits(
    function: &mut Function,
    form: &Form,
    loads: &[Virtual],
    method: Method,
    machine: &Epic,
    options: &Options,
    own: &Found,
) -> Option<Found> {
    let mut best: Option<Found> = None;
    for how in [Ahead::Everything, Ahead::Addresses] {
        let mut loads = loads.to_vec();
        while !loads.is_empty() {
            let given = speculate::speculated(function, &form.given, &form.described, &loads, how);
            let form = Form {
                given,
                described: Vec::new(),
                touches: Rc::clone(&form.touches),
                meetings: Rc::clone(&form.meetings),
            };
            let Ok(found) = build(function, &form, method, machine, options, Told::Better(own))
            else {
                break;
            };
            let early = speculate::early(&found.plan.items, &found.schedule.start, found.valid());
            let known = best.as_ref().unwrap_or(own);
            if found.rank() < known.rank() {
                best = Some(found);
            }
            if early.len() == loads.len() {
                break;
            }
            loads = early;
        }
    }
    best
}

/// The purpose of a schedule.
pub(super) enum Told<'a> {
    /// Its bounds are in the report.
    Bounds(&'a mut LoopReport),
    Nothing,
    /// It is wanted only if it is better than this one.
    Better(&'a Found),
}

impl Told<'_> {
    /// The last interval that is of use for so many items.
    fn most(&self, items: usize) -> u32 {
        match self {
            Told::Better(known) if items > known.plan.items.len() => known.schedule.ii - 1,
            Told::Better(known) => known.schedule.ii,
            Told::Bounds(_) | Told::Nothing => u32::MAX,
        }
    }
}

/// A schedule by this method.
pub(super) fn build(
    function: &mut Function,
    form: &Form,
    method: Method,
    machine: &Epic,
    options: &Options,
    mut told: Told<'_>,
) -> Result<Found, Reason> {
    let Form {
        given,
        touches,
        meetings,
        ..
    } = form;
    let mut plan = plan(function, given, method)?;
    let left = given.exits.iter().flat_map(LoopExit::left);
    let mut live: Vec<(Virtual, u32)> = left.collect();
    live.sort_unstable();
    live.dedup();
    for taken in &plan.taken {
        if let exits::Taken::Predicate(register) = taken {
            live.push((*register, 0));
        }
    }
    let mut started = None;
    // The search starts again at the next interval after a shortage of registers: fewer iterations are under
    // way there.
    let (mut least, mut wider) = (0, WIDER);
    let mut again = true;
    loop {
        let mut seen = view(function, &plan, (touches, meetings), &live, machine);
        if let Told::Bounds(report) = &mut told {
            bound(&plan, &seen, report);
            told = Told::Nothing;
        }
        let most = told.most(plan.items.len());
        let made = started.and_then(|started| {
            let makes = |item: &Item| item.operation.writes().any(|write| write == started);
            plan.items.iter().position(makes)
        });
        let made: Vec<u32> = made.map(|made| made as u32).into_iter().collect();
        let (mut schedule, mut rows) = scheduled(&mut seen, &made, least..=most, options)?;
        // From the second stage on, operations that run ahead overwrite values that the first iteration
        // reads.
        let late = overwriting(&plan, &seen, &schedule);
        if started.is_none() && !plan.counted && !late.is_empty() {
            // Those that may stand in the first stage.
            let exact = Options {
                limits: Limits {
                    intervals: 0,
                    ..options.limits
                },
                ..*options
            };
            let all = writers_of_initials(&plan, &seen);
            let moved = match std::mem::take(&mut again) {
                true => scheduled(&mut seen, &all, least..=most, &exact).ok(),
                false => None,
            };
            match moved.filter(|(moved, _)| moved.ii <= schedule.ii) {
                Some(moved) => (schedule, rows) = moved,
                None => {
                    started = Some(start(function, &mut plan, &seen));
                    continue;
                }
            }
        }
        let stages = schedule.stages();
        if stages > options.stages {
            return Err(Reason::Stages {
                stages,
                most: options.stages,
            });
        }
        let allocation = match allocate(function, &plan, &seen, &schedule, machine) {
            Err(Reason::Registers { .. }) if wider > 0 => {
                (least, wider) = (schedule.ii + 1, wider - 1);
                continue;
            }
            other => other?,
        };
        return Ok(Found {
            method,
            plan,
            view: seen,
            schedule,
            allocation,
            rows,
            exits: given.exits.clone(),
            times: 1,
            form: form.clone(),
        });
    }
}

/// Operations without the iteration's predicate that overwrite values from before the first iteration, too.
fn writers_of_initials(plan: &Plan, view: &View) -> Vec<u32> {
    let initial = view.values.iter().filter(|value| value.initial);
    let writers = initial.flat_map(|value| &value.writers).copied();
    let mut out: Vec<u32> = writers
        .filter(|&writer| plan.items[writer as usize].free)
        .collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// Returns those of them that do so before the first iteration begins.
fn overwriting(plan: &Plan, view: &View, schedule: &Schedule) -> Vec<u32> {
    let mut out = writers_of_initials(plan, view);
    out.retain(|&it| schedule.start[it as usize] >= schedule.ii);
    out
}

/// Puts operations that run ahead and compute predicates, or values that the first iteration reads, under a
/// predicate that is true from the first iteration on, and that the first stage makes.
fn start(function: &mut Function, plan: &mut Plan, view: &View) -> Virtual {
    let started = function.register(File::Predicate);
    let mut kept: Vec<Virtual> = Vec::new();
    for (&name, value) in view.names.iter().zip(&view.values) {
        if value.initial {
            kept.push(name);
        }
    }
    for item in &mut plan.items {
        let operation = &mut item.operation;
        if !item.free || operation.predicate.is_some() {
            continue;
        }
        let compare = operation.is_compare();
        if compare || operation.writes().any(|write| kept.contains(&write)) {
            if compare && operation.is_certain() {
                operation.mnemonic = unconditional(operation.mnemonic);
            }
            operation.predicate = Some(started);
        }
    }
    let targets = [Operand::register(started), Operand::fixed(Reg::P0)];
    let compare = constant_compare(op!("cmp.eq"), None, targets, Loc::NONE);
    let item = Item {
        free: true,
        ..Item::of(compare, 0)
    };
    plan.items.insert(0, item);
    started
}

/// The least interval of these that is found, and its rows; `made` in the first stage. Where a row has no order in which its
/// bundles hold, its operations that only follow each other in turn wait for the next one.
fn scheduled(
    view: &mut View,
    made: &[u32],
    intervals: RangeInclusive<u32>,
    options: &Options,
) -> Result<(Schedule, Vec<Vec<u32>>), Reason> {
    let bounds = bounds(&view.graph).map_err(|_| Reason::Impossible)?;
    let packing = view.graph.packing.as_ref();
    let least = bounds
        .min_ii()
        .max(packing.map_or(0, Packing::res_mii))
        .max(*intervals.start());
    let most = least.saturating_add(options.limits.intervals);
    let most = most.min(*intervals.end());
    for ii in least..=most {
        let budget = view.graph.operations.len() * options.limits.placements;
        let mut apart = view.graph.clone();
        let mut variant = 0;
        for _ in 0..TURNS {
            let mut found = None;
            while found.is_none() && variant < VARIANTS {
                found = varied(&apart, ii, budget, variant);
                variant += u32::from(found.is_none());
            }
            let Some(found) = found else {
                break;
            };
            let aligned = aligned(&found, view.branch);
            let mut bad = None;
            for found in [shorten(&apart, &found, &view.values, view.branch), aligned] {
                let Some(found) = first_stage(&apart, found, made) else {
                    continue;
                };
                match rows(view, &found) {
                    Ok(rows) => return Ok((found, rows)),
                    Err(row) => bad = Some((row, found)),
                }
            }
            let Some((row, found)) = bad else { break };
            for edge in &mut apart.edges {
                let at = |it: u32| found.start[it as usize];
                let between = i64::from(at(edge.to)) + i64::from(edge.distance) * i64::from(ii)
                    - i64::from(at(edge.from));
                if at(edge.from) % ii == row && between == 0 && edge.from != edge.to {
                    edge.latency = edge.latency.max(1);
                }
            }
        }
    }
    Err(Reason::Schedule { tried: most })
}

/// Returns the schedule with these operations in the first stage, each as late as possible.
fn first_stage(graph: &Graph<Packing>, mut schedule: Schedule, made: &[u32]) -> Option<Schedule> {
    for &made in made {
        if schedule.start[made as usize] < schedule.ii {
            continue;
        }
        let found = (0..schedule.ii).rev().any(|at| {
            schedule.start[made as usize] = at;
            schedule.check(graph).is_ok()
        });
        if !found {
            return None;
        }
    }
    Some(schedule)
}
