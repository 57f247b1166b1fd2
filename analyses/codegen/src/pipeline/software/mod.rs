//! Software pipelining of a machine function's innermost loops: if-conversion, one exit by the best method, a modulo
//! schedule, kernel-only code with rotating registers.
//!
//! ```text
//! b1: ld4 x = [p], 4; add y = x, k; st4 [q] = y, 4; br b1 while p != end
//! ->  (p16) ld4 r32 = [p], 4   (p18) add r35 = r34, k   (p19) st4 [q] = r36, 4   br.ctop      II 1, 4 stages
//! ```
//!
//! A loop whose trip count is known in front of it is counted (`br.ctop`); others run until a predicate that the exits make
//! is false (`br.wtop`). Iterations that are under way at the end are finished by further rounds of the kernel, or, where
//! asked for, by an explicit epilogue.
//!
//! What writes memory, or what is read later as it was before, executes under that predicate alone; the rest may run ahead.
//! Loads stay behind the exits of earlier iterations.
//!
//! Why it stops: intervals are tried from the bound on, at most `Limits::intervals` of them, each within a budget. What
//! does not become better stays as it is, with the reason.
//!
//! Sources: Rau, *Iterative Modulo Scheduling*, 1996; Muthukumar and others, EPIC-1, 2001.

mod address;
mod body;
mod counted;
mod depend;
mod drain;
mod exits;
mod forward;
mod kernel;
mod report;
mod speculate;
mod straight;
mod unroll;

pub use drain::{Drain, Epilogue, Undrained};
pub use report::{Alias, Link, LoopReport, Method, Reason, Registers, ResourceBound};

use super::Limits;
use super::bounds::bounds;
use super::graph::{Graph, Schedule};
use super::iterative::varied;
use super::lifetime::{aligned, shorten};
use super::rows::Load;
use crate::machine::epic::Epic;
use crate::mir::File;
use crate::mir::function::{Function, Operand, Virtual};
use crate::mir::liveness::Liveness;
use crate::mir::register::Reg;
use crate::predicate::loops::{Region, innermost};
use crate::predicate::{Body, constant_compare, convert, is_compare, unconditional};
use crate::target::ia64::operation::{Described, describe};
use body::{Item, Loop, LoopExit, normalise};
use counted::{Trips, trips};
use depend::{View, link, view};
use exits::{Plan, plan};
use ir::Loc;
use kernel::{Allocation, Kernel, allocate, rows};
use smol_str::SmolStr;
use speculate::Ahead;
use unroll::Rest;

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// `None`: the one that is predicted to be best.
    pub method: Option<Method>,
    /// Iterations of one of the kernel; `None`: as many as come nearest to a bound that is no whole number, where a sixteenth
    /// is gained by it.
    pub unroll: Option<u32>,
    /// Whether loads may execute ahead of the exits that guard them.
    pub speculation: bool,
    /// What finishes the iterations that are under way when the last one has begun.
    pub epilogue: Epilogue,
    /// Whether a loop that gains nothing is pipelined all the same.
    pub always: bool,
    /// Bounds and intervals are told, the loop stays as it is.
    pub leave: bool,
    /// More stages are refused.
    pub stages: u32,
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            method: None,
            unroll: None,
            speculation: true,
            epilogue: Epilogue::Kernel,
            always: false,
            leave: false,
            stages: 32,
            limits: Limits {
                placements: 24,
                ..Limits::default()
            },
        }
    }
}

/// Pipelines what it can of the function's innermost loops, and tells of all of them, in the order of their blocks.
pub fn pipeline_loops(
    function: &mut Function,
    machine: &Epic,
    options: &Options,
) -> Vec<LoopReport> {
    let request = |_: &[Loc]| {
        Some(Request {
            options: *options,
            head: Loc::NONE,
            unknown: None,
        })
    };
    pipeline_each(function, machine, &request)
}

/// What is wanted of a loop.
#[derive(Clone, PartialEq, Debug)]
pub struct Request {
    pub options: Options,
    /// The head of the loop in the source, for the report.
    pub head: Loc,
    /// A word of the source that is no method.
    pub unknown: Option<SmolStr>,
}

/// The same with a request for each loop, by the places of its operations; nothing is looked at or told of others.
pub fn pipeline_each(
    function: &mut Function,
    machine: &Epic,
    request: &dyn Fn(&[Loc]) -> Option<Request>,
) -> Vec<LoopReport> {
    let mut out = Vec::new();
    let mut regions = innermost(function);
    // From the last on: blocks in front keep their numbers.
    while let Some(region) = regions.pop() {
        let places: Vec<Loc> = places(function, &region).collect();
        if let Some(request) = request(&places) {
            let mut report = one(function, &region, machine, &request.options);
            report.head = request.head;
            report.reasons.extend(request.unknown.map(Reason::Word));
            out.push(report);
        }
    }
    out.reverse();
    out
}

fn places<'f>(function: &'f Function, region: &'f Region) -> impl Iterator<Item = Loc> + 'f {
    let blocks = region
        .blocks
        .iter()
        .map(|&at| &function.blocks[at as usize]);
    let locs = blocks
        .flat_map(|block| &block.operations)
        .map(|one| one.loc);
    locs.filter(|&loc| loc != Loc::NONE)
}

fn one(function: &mut Function, region: &Region, machine: &Epic, options: &Options) -> LoopReport {
    let mut report = LoopReport {
        loc: places(function, region).next().unwrap_or(Loc::NONE),
        head: Loc::NONE,
        header: region.header,
        res_mii: Vec::new(),
        rec_mii: 0,
        critical: Vec::new(),
        fraction: 0.0,
        unroll: 1,
        unrolled: 1,
        ii: None,
        stages: 0,
        max_live: Registers::default(),
        method: None,
        unpipelined: 0,
        speculative: 0,
        checks: 0,
        forwarded: 0,
        epilogue: None,
        methods: Vec::new(),
        reasons: Vec::new(),
        pipelined: false,
    };
    if let Err(reason) = attempt(function, region, machine, options, &mut report) {
        report.reasons.push(reason);
    }
    report
}

/// Pointers to pointers whose loads are followed.
const CHAINS: usize = 3;

/// Operations of a loop above which methods are not compared.
const LARGE: usize = 80;

/// Intervals above the first that are tried where registers run out.
const WIDER: u32 = 8;

/// Orders in which the scheduler begins, at each interval.
const VARIANTS: u32 = 6;

/// Rows that are taken apart, at each interval.
const TURNS: usize = 4;

/// A method's way, as far as it goes.
struct Found {
    method: Method,
    plan: Plan,
    view: View,
    schedule: Schedule,
    allocation: Allocation,
    rows: Vec<Vec<u32>>,
    exits: Vec<LoopExit>,
    /// Iterations of one of the kernel.
    times: u32,
}

impl Found {
    fn rank(&self) -> (u32, usize, u32) {
        let Found { schedule, plan, .. } = self;
        (schedule.ii, plan.items.len(), schedule.stages())
    }
    /// Whether something else than resources holds it back, and another schedule of this interval, too.
    fn waits(&self, known: u32) -> bool {
        let packing = self.view.graph.packing.as_ref();
        let least = packing.map_or(1, super::graph::Packing::res_mii);
        self.schedule.ii.min(known) > least
    }
    /// When the predicate of an iteration is there, from the iteration's own start.
    fn valid(&self) -> i64 {
        let Found { schedule, view, .. } = self;
        let values = view.names.iter().zip(&view.values);
        let mut own = values.filter(|(name, _)| **name == self.plan.valid);
        let writers = own.next().map_or(&[][..], |(_, value)| &value.writers);
        let written = writers.iter().map(|&one| schedule.start[one as usize]);
        i64::from(written.max().unwrap_or(0)) + 1 - i64::from(schedule.ii)
    }
}

/// An iteration and what is known of it.
struct Form {
    given: Loop,
    described: Vec<Described>,
    touches: Vec<address::Touch>,
}

impl Form {
    fn of(
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
        let described: Vec<Described> = given
            .items
            .iter()
            .map(|item| describe(function, &item.operation))
            .collect();
        let mut touches = address::touches(&given.items, &described, &given.statics);
        address::from_above(function, region, &mut touches);
        Ok(Form {
            given,
            described,
            touches,
        })
    }
}

/// The best schedule with loads ahead of the exits that guard them, only as many as are ahead in it.
fn ahead_of_exits(
    function: &mut Function,
    form: &Form,
    loads: &[Virtual],
    method: Method,
    machine: &Epic,
    options: &Options,
) -> Option<Found> {
    let mut best: Option<Found> = None;
    for how in [Ahead::Everything, Ahead::Addresses] {
        let mut loads = loads.to_vec();
        while !loads.is_empty() {
            let given = speculate::speculated(function, &form.given, &form.described, &loads, how);
            let form = Form {
                given,
                described: Vec::new(),
                touches: form.touches.clone(),
            };
            let Ok(found) = build(function, &form, method, machine, options, None) else {
                break;
            };
            let early = speculate::early(&found.plan.items, &found.schedule.start, found.valid());
            if best.as_ref().is_none_or(|best| found.rank() < best.rank()) {
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

fn attempt(
    function: &mut Function,
    region: &Region,
    machine: &Epic,
    options: &Options,
    report: &mut LoopReport,
) -> Result<(), Reason> {
    let once = straight::cycles(function, region, machine);
    report.unpipelined = once;
    let liveness = Liveness::of(function);
    let mut body = convert(function, region, &liveness).map_err(Reason::Form)?;
    let mut form = Form::of(function, region, &body, &liveness, false)?;
    // A load that is known makes addresses regular that were loaded.
    for _ in 0..CHAINS {
        let Some((without, loads)) = forward::forwarded(function, &body, &form.touches, &liveness)
        else {
            break;
        };
        body = without;
        form = Form::of(function, region, &body, &liveness, false)?;
        report.forwarded += loads;
    }
    let trips = count(&form.given, &form.described);
    let methods: Vec<Method> = match (options.method, &trips) {
        (Some(method), _) if method != Method::Counted => vec![method],
        (_, Some(_)) => vec![Method::Counted],
        (Some(_), None) => return Err(Reason::TripCount),
        (None, None) => Method::EXITS.to_vec(),
    };
    if trips.is_none() {
        report.reasons.push(Reason::TripCount);
    }
    let counted = methods == [Method::Counted];
    let mut best = candidate(
        function, region, &body, &form, &liveness, &methods, machine, options, report,
    )?;
    bound(&best.plan, &best.view, report);
    let times = options.unroll.unwrap_or(report.unroll).min(4);
    let size = form.given.items.len() * times as usize;
    if times > 1
        && (size <= LARGE || options.unroll.is_some())
        && (!counted || body.start.is_some())
    {
        let body = unroll::repeated(&body, times, counted);
        // Of the methods, only those that do best where nothing is unrolled.
        let methods = [best.method];
        let mut other = report.clone();
        let found = Form::of(function, region, &body, &liveness, false).and_then(|form| {
            candidate(
                function, region, &body, &form, &liveness, &methods, machine, options, &mut other,
            )
        });
        if let Ok(mut found) = found
            && (options.unroll.is_some() || gains(found.schedule.ii, times * best.schedule.ii))
        {
            found.times = times;
            best = found;
            bound(&best.plan, &best.view, report);
            report.unpipelined = once * times;
        }
    }
    report.unrolled = best.times;
    // What meets within its own iteration holds back no other.
    let across = best.view.aliases.iter().filter(|reason| {
        !matches!(
            reason,
            Reason::MayAlias {
                why: Alias::Meets(0),
                ..
            }
        )
    });
    report.reasons.extend(across.cloned());
    report.ii = Some(best.schedule.ii);
    report.stages = best.schedule.stages();
    report.max_live = best.allocation.used;
    report.method = Some(best.method);
    let items = || best.plan.items.iter();
    let loads = items().filter(|item| item.speculative && item.operation.memory.is_some());
    report.speculative = loads.count() as u32;
    report.checks = items().filter(|item| item.check.is_some()).count() as u32;
    if best.schedule.ii >= report.unpipelined && !options.always {
        return Err(Reason::NotProfitable {
            ii: best.schedule.ii,
            unpipelined: report.unpipelined,
        });
    }
    if options.leave {
        return Err(Reason::Left);
    }
    let mut kernel = Kernel {
        plan: &best.plan,
        view: &best.view,
        schedule: &best.schedule,
        allocation: &best.allocation,
        rows: &best.rows,
        exits: &best.exits,
        entry: body.entry.as_ref(),
        preload: &body.preload,
        trips: trips.as_ref().filter(|_| best.plan.counted),
        rest: body
            .start
            .filter(|_| counted && best.times > 1)
            .map(|start| Rest {
                times: best.times,
                start,
            }),
        explicit: false,
        header: region.header,
        blocks: &region.blocks,
    };
    let kept = match options.epilogue {
        Epilogue::Kernel => None,
        Epilogue::Explicit => {
            kernel.explicit = true;
            kernel.undrained()
        }
    };
    kernel.explicit &= kept.is_none();
    let mut changed = function.clone();
    kernel.install(&mut changed).ok_or(Reason::Impossible)?;
    report.epilogue = kernel.explicit.then(|| kernel.drained(function, machine));
    report.reasons.extend(kept.map(Reason::Epilogue));
    *function = changed;
    report.pipelined = true;
    Ok(())
}

/// Whether it is worth code of several times the size: a sixteenth is gained.
const fn gains(cycles: u32, before: u32) -> bool {
    cycles * 16 <= before * 15
}

/// The best schedule of an iteration by any of the methods.
#[allow(clippy::too_many_arguments)]
fn candidate(
    function: &mut Function,
    region: &Region,
    body: &Body,
    form: &Form,
    liveness: &Liveness,
    methods: &[Method],
    machine: &Epic,
    options: &Options,
    report: &mut LoopReport,
) -> Result<Found, Reason> {
    let mut ahead: Option<(Form, Vec<Virtual>)> = None;
    let mut best: Option<Found> = None;
    let mut refused = None;
    for &method in methods {
        // Of a large loop the first method that has a schedule is taken.
        if best.is_some() && form.given.items.len() > LARGE {
            break;
        }
        let mut own = build(
            function,
            form,
            method,
            machine,
            options,
            Some(&mut *report).filter(|_| best.is_none()),
        );
        // Methods with more compares gain nothing by it that these don't.
        let short = matches!(method, Method::DeMorgan | Method::PredicateRegisters)
            || options.method == Some(method);
        let known = best.as_ref().map_or(u32::MAX, |best| best.schedule.ii);
        if options.speculation
            && short
            && method != Method::Counted
            && own.as_ref().is_ok_and(|own| own.waits(known))
        {
            if ahead.is_none() {
                let form = Form::of(function, region, body, liveness, true)?;
                let loads = speculate::candidates(&form.given);
                ahead = Some((form, loads));
            }
            if let Some((form, loads)) = &ahead
                && let Some(found) = ahead_of_exits(function, form, loads, method, machine, options)
                && own.as_ref().is_ok_and(|own| found.rank() < own.rank())
            {
                own = Ok(found);
            }
        }
        match own {
            Ok(found) => {
                report.methods.push((method, Some(found.schedule.ii)));
                if best.as_ref().is_none_or(|best| found.rank() < best.rank()) {
                    best = Some(found);
                }
            }
            Err(reason) => {
                report.methods.push((method, None));
                refused.get_or_insert(reason);
            }
        }
    }
    best.ok_or(refused.unwrap_or(Reason::Impossible))
}

/// The trip count of a loop whose only exit is at its end.
fn count(given: &Loop, described: &[Described]) -> Option<Trips> {
    let [exit] = &given.exits[..] else {
        return None;
    };
    // What stands behind the exit would execute once too often.
    if given.items.iter().any(|item| item.passed > 0) {
        return None;
    }
    let mut found = None;
    for (at, item) in given.items.iter().enumerate() {
        if item.operation.writes().any(|one| one == exit.predicate) {
            if found.is_some() {
                return None;
            }
            found = Some((at, item));
        }
    }
    let (at, compare) = found?;
    let leaves = compare.operation.targets[0].virtual_register() == Some(exit.predicate);
    if !compare.operation.is_certain() {
        return None;
    }
    let items = &given.items;
    trips(compare, !leaves, &mut |name| {
        address::linear(items, described, &given.statics, at, name)
    })
}

/// A schedule by this method; its bounds are told in the report.
fn build(
    function: &mut Function,
    form: &Form,
    method: Method,
    machine: &Epic,
    options: &Options,
    mut report: Option<&mut LoopReport>,
) -> Result<Found, Reason> {
    let Form { given, touches, .. } = form;
    let mut plan = plan(function, given, method)?;
    let left = given.exits.iter().flat_map(|exit| &exit.live);
    let mut live: Vec<(Virtual, u32)> = left.map(|(_, name, ago)| (*name, *ago)).collect();
    live.sort_unstable();
    live.dedup();
    for taken in &plan.taken {
        if let exits::Taken::Predicate(one) = taken {
            live.push((*one, 0));
        }
    }
    let mut started = None;
    // After too many registers: the next interval, at which fewer iterations are under way.
    let (mut least, mut wider) = (0, WIDER);
    let mut again = true;
    loop {
        let mut seen = view(function, &plan, touches, &live, machine);
        if let Some(report) = report.take() {
            bound(&plan, &seen, report);
        }
        let made = started.and_then(|started| {
            let makes = |item: &Item| item.operation.writes().any(|one| one == started);
            plan.items.iter().position(makes)
        });
        let made: Vec<u32> = made.map(|made| made as u32).into_iter().collect();
        let (mut schedule, mut rows) = scheduled(&mut seen, &made, least, options)?;
        // What runs ahead writes into what the first iteration finds, from the second stage on.
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
                true => scheduled(&mut seen, &all, least, &exact).ok(),
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
        });
    }
}

/// Operations without the iteration's predicate that write what was there before the first iteration, too.
fn writers_of_initials(plan: &Plan, view: &View) -> Vec<u32> {
    let initial = view.values.iter().filter(|value| value.initial);
    let writers = initial.flat_map(|value| &value.writers).copied();
    let mut out: Vec<u32> = writers
        .filter(|&one| plan.items[one as usize].free)
        .collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// Those of them that do so before the first iteration begins.
fn overwriting(plan: &Plan, view: &View, schedule: &Schedule) -> Vec<u32> {
    let mut out = writers_of_initials(plan, view);
    out.retain(|&one| schedule.start[one as usize] >= schedule.ii);
    out
}

/// Puts what runs ahead and computes predicates, or what the first iteration finds, under a predicate that is true from
/// the first iteration on, and that the first stage makes.
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
        let compare = is_compare(operation);
        if compare || operation.writes().any(|one| kept.contains(&one)) {
            if compare && operation.is_certain() {
                operation.mnemonic = unconditional(&operation.mnemonic);
            }
            operation.predicate = Some(started);
        }
    }
    let targets = [Operand::register(started), Operand::fixed(Reg::P0)];
    let item = Item {
        operation: constant_compare("cmp.eq", None, targets, Loc::NONE),
        before: Vec::new(),
        passed: 0,
        free: true,
        speculative: false,
        check: None,
    };
    plan.items.insert(0, item);
    started
}

/// The least interval that is found, and its rows; `made` in the first stage. Where a row has no order in which its
/// bundles hold, its operations that only follow each other in turn wait for the next one.
fn scheduled(
    view: &mut View,
    made: &[u32],
    least: u32,
    options: &Options,
) -> Result<(Schedule, Vec<Vec<u32>>), Reason> {
    let bounds = bounds(&view.graph).map_err(|_| Reason::Impossible)?;
    let packing = view.graph.packing.as_ref();
    let least = bounds
        .min_ii()
        .max(packing.map_or(0, super::graph::Packing::res_mii))
        .max(least);
    let most = least.saturating_add(options.limits.intervals);
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
                let at = |one: u32| found.start[one as usize];
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

/// With these operations in the first stage, each as late as that lets it.
fn first_stage(graph: &Graph, mut schedule: Schedule, made: &[u32]) -> Option<Schedule> {
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

fn bound(plan: &Plan, view: &View, report: &mut LoopReport) {
    let Ok(bounds) = bounds(&view.graph) else {
        return;
    };
    report.res_mii.clear();
    if let Some(packing) = &view.graph.packing {
        let all = Load::of(packing.kinds.iter().copied());
        for one in packing.rows.shortages(&all) {
            report.res_mii.push(ResourceBound {
                unit: one.unit,
                wanted: one.wanted,
                units: one.units,
                cycles: one.cycles(),
            });
        }
    }
    report.rec_mii = bounds.rec_mii;
    let cycle: Vec<_> = bounds
        .cycle
        .iter()
        .map(|&edge| &view.graph.edges[edge as usize])
        .collect();
    report.critical = cycle.iter().map(|edge| link(plan, edge)).collect();
    let latency: i64 = cycle.iter().map(|edge| i64::from(edge.latency)).sum();
    let distance: i64 = cycle.iter().map(|edge| i64::from(edge.distance)).sum();
    let recurrence = match distance {
        0 => 0.0,
        _ => latency as f64 / distance as f64,
    };
    let resource = report.res_mii.first().map_or(0.0, |first| {
        f64::from(first.wanted) / f64::from(first.units)
    });
    report.fraction = recurrence.max(resource);
    report.unroll = (2..=4)
        .find(|&factor| {
            let times = f64::from(factor);
            (report.fraction * times).ceil() / times < report.fraction.ceil() - 1e-9
        })
        .unwrap_or(1);
}
