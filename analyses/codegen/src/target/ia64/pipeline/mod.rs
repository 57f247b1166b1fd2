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
//! Instructions that write memory, or registers whose old values are read later, execute under that predicate
//! alone; the others may run ahead. Loads stay behind the exits of earlier iterations.
//!
//! Termination: intervals are tried from the bound on, at most `Limits::intervals` of them, each within a
//! budget. A loop that does not become better stays as it is, with the reason.
//!
//! Sources: Rau, *Iterative Modulo Scheduling*, 1996; Muthukumar and others, EPIC-1, 2001.

mod address;
mod advance;
mod body;
pub mod check;
mod checked;
pub mod conversion;
mod copies;
mod counted;
mod depend;
mod drain;
mod exits;
mod extremum;
mod forward;
mod kernel;
mod pairs;
mod prefetch;
mod report;
mod search;
mod separate;
mod speculate;
pub(crate) mod straight;
mod sums;
mod unroll;

pub use checked::{Checked, Unsound};
pub use drain::Epilogue;
pub use report::{
    Alias, Disambiguation, Drain, Link, LoadForms, LoopReport, Method, Prefetched, Reason,
    Registers, ResourceBound, Undrained,
};

use super::rows::Load;
use crate::machine::epic::Epic;
use crate::mir::liveness::Liveness;
use crate::pipeline::Limits;
use crate::pipeline::bounds::bounds;
use crate::predicate::convert;
use crate::predicate::loops::{Region, innermost};
use crate::target::ia64::code::Body;
use crate::target::ia64::code::{Function, Virtual};
use counted::{Trips, trips};
use depend::{View, link};
use exits::Plan;
use ir::Loc;
use isa::ia64::Opcode;
use kernel::Kernel;
use search::{Form, Found, Told, above_stores, ahead_of_exits, build};
use separate::Test;
use smol_str::SmolStr;
use unroll::Rest;

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// `None`: the one that is predicted to be best.
    pub method: Option<Method>,
    /// Iterations of one of the kernel; `None`: as many as come nearest to a bound that is no whole number, where a sixteenth
    /// is gained by it.
    pub unroll: Option<u32>,
    /// True if loads may execute ahead of the exits that guard them.
    pub speculation: bool,
    /// The treatment of stores that may meet other accesses; `None`: the treatment with the smallest
    /// interval, a test before speculation where both have it.
    pub disambiguation: Option<Disambiguation>,
    /// True if sums of floating-point numbers may be rounded in another order.
    pub reassociate: bool,
    /// True if streams of accesses are fetched ahead.
    pub prefetch: bool,
    /// True if neighbouring loads are loaded as pairs where a test in front of the loop finds them aligned.
    pub pairs: bool,
    /// The code that finishes the iterations under way when the last one has begun.
    pub epilogue: Epilogue,
    /// True if a loop that gains nothing is pipelined all the same.
    pub always: bool,
    /// Bounds and intervals are reported, and the loop stays as it is.
    pub leave: bool,
    /// Accesses of different iterations are taken to be apart unless they are seen to meet.
    pub independent: bool,
    /// True if each step is checked by comparing its effects with the original's; a loop that is found to
    /// differ stays as it is. In debug builds that panics.
    pub checked: bool,
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
            disambiguation: None,
            reassociate: false,
            prefetch: false,
            pairs: false,
            epilogue: Epilogue::Kernel,
            always: false,
            leave: false,
            independent: false,
            checked: cfg!(debug_assertions),
            stages: 32,
            limits: Limits {
                placements: 24,
                ..Limits::default()
            },
        }
    }
}

/// Pipelines the function's innermost loops where possible, and reports on all of them, in the order of their
/// blocks.
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

/// The request made for a loop.
#[derive(Clone, PartialEq, Debug)]
pub struct Request {
    pub options: Options,
    /// The head of the loop in the source, for the report.
    pub head: Loc,
    /// A word of the source that is no method.
    pub unknown: Option<SmolStr>,
}

/// The same with a request for each loop, by the places of its operations; other loops are neither looked at
/// nor reported.
pub fn pipeline_each(
    function: &mut Function,
    machine: &Epic,
    request: &dyn Fn(&[Loc]) -> Option<Request>,
) -> Vec<LoopReport> {
    let mut out = Vec::new();
    let mut regions = innermost(function);
    // What is live, as long as no loop has changed.
    let mut live: Option<Liveness> = None;
    // From the last on: blocks in front keep their numbers.
    while let Some(mut region) = regions.pop() {
        let places: Vec<Loc> = places(function, &region).collect();
        if let Some(request) = request(&places) {
            region.independent = request.options.independent;
            let mut report = one(function, &region, &mut live, machine, &request.options);
            report.head = request.head;
            report.reasons.extend(request.unknown.map(Reason::Word));
            if report.pipelined {
                live = None;
            }
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
    let locs = blocks.flat_map(|block| &block.operations).map(|it| it.loc);
    locs.filter(|&loc| loc != Loc::NONE)
}

fn one(
    function: &mut Function,
    region: &Region,
    live: &mut Option<Liveness>,
    machine: &Epic,
    options: &Options,
) -> LoopReport {
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
        loads: LoadForms::default(),
        tests: 0,
        sums: 1,
        prefetched: None,
        ways: Vec::new(),
        epilogue: None,
        methods: Vec::new(),
        reasons: Vec::new(),
        overcome: Vec::new(),
        checked: Checked::default(),
        pipelined: false,
    };
    let attempted = bounded(function, region).and_then(|()| {
        let live = live.get_or_insert_with(|| Liveness::of(function));
        let setting = Setting {
            region,
            liveness: live,
            machine,
            options,
        };
        attempt(function, setting, &mut report)
    });
    if let Err(reason) = attempted {
        report.reasons.push(reason);
    }
    report
}

/// Pointers to pointers whose loads are followed.
const CHAINS: usize = 3;

/// Operations of a loop above which methods are not compared.
const LARGE: usize = 80;

/// Operations of a loop above which it is left as it is: a round of the kernel takes so long that overlapping it gains nothing.
const OPERATIONS: usize = 2000;

/// The same for branches and exits.
const BRANCHES: usize = 512;
const EXITS: usize = 128;

/// Checks that the loop is small enough to be looked at.
fn bounded(function: &Function, region: &Region) -> Result<(), Reason> {
    let blocks = || {
        region
            .blocks
            .iter()
            .map(|&at| &function.blocks[at as usize])
    };
    let operations = || blocks().flat_map(|block| &block.operations);
    let branches = operations()
        .filter(|operation| operation.opcode() == Opcode::Br)
        .count();
    for (what, found, most) in [
        ("operations", operations().count(), OPERATIONS),
        ("branches", branches, BRANCHES),
    ] {
        if found > most {
            return Err(Reason::Large { what, most });
        }
    }
    Ok(())
}

/// The setting that all attempts at a loop have in common.
#[derive(Clone, Copy)]
struct Setting<'a> {
    region: &'a Region,
    liveness: &'a Liveness,
    machine: &'a Epic,
    options: &'a Options,
}

fn attempt(
    function: &mut Function,
    setting: Setting<'_>,
    report: &mut LoopReport,
) -> Result<(), Reason> {
    let Setting {
        region,
        liveness,
        machine,
        options,
    } = setting;
    report.unpipelined = straight::cycles(function, region, machine);
    let once = report.unpipelined;
    let mut body = convert(function, region, liveness).map_err(Reason::Form)?;
    checked::converted(function, region, &body, options, report)?;
    if body.exits.len() > EXITS {
        return Err(Reason::Large {
            what: "exits",
            most: EXITS,
        });
    }
    extremum::extrema(&mut body);
    let mut form = Form::of(function, region, &body, liveness, false)?;
    // A load that is known makes addresses regular that were loaded.
    for _ in 0..CHAINS {
        let Some((without, loads)) = forward::forwarded(function, &body, &form.touches, liveness)
        else {
            break;
        };
        body = without;
        form = Form::of(function, region, &body, liveness, false)?;
        report.loads.forwarded += loads;
    }
    let trips = count(function, region, &body, &form);
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
    let (mut best, mut fraction) = summed(function, setting, &body, &form, &methods, report)?;
    report
        .ways
        .push((Disambiguation::InOrder, best.schedule.ii));
    let feared = best.view.aliases.clone();
    let waits = best.waits();
    let may = |way| waits && options.disambiguation.is_none_or(|asked| asked == way);
    let stays = body
        .start
        .filter(|_| counted && kernel::may_stay(function, region));
    let mut test: Option<Test> = None;
    let mut advanced = None;
    if may(Disambiguation::DataSpeculation) {
        let form = Form::of(function, region, &body, liveness, true)?;
        advanced = above_stores(function, &form, best.method, machine, options, &best);
        for turns in sums::turns(&form.given, options) {
            let known = advanced.as_ref().unwrap_or(&best);
            if !known.waits() {
                break;
            }
            let own = form.interleaved(function, turns);
            let found = own.and_then(|form| {
                above_stores(function, &form, best.method, machine, options, known)
            });
            advanced = found.or(advanced);
        }
    }
    if may(Disambiguation::RunTimeTest)
        && stays.is_some()
        && let Some((apart, pairs)) = form.tested()
    {
        let mut other = report.clone();
        other.methods.clear();
        let found = summed(function, setting, &body, &apart, &methods, &mut other);
        if let Ok((found, more)) = found
            && found.schedule.ii < best.schedule.ii
        {
            let way = (Disambiguation::RunTimeTest, found.schedule.ii);
            report.ways.push(way);
            (best, fraction, test) = (found, more, Some(pairs));
            report.methods = other.methods;
        }
    }
    if let Some(found) = advanced {
        let way = (Disambiguation::DataSpeculation, found.schedule.ii);
        report.ways.push(way);
        if found.schedule.ii < best.schedule.ii {
            (best, fraction, test) = (found, 1, None);
            for (method, ii) in &mut report.methods {
                if *method == best.method {
                    *ii = Some(best.schedule.ii);
                }
            }
        }
    }
    bound(&best.plan, &best.view, report);
    let times = options.unroll.unwrap_or(fraction).min(4);
    let size = form.given.items.len() * times as usize;
    if times > 1
        && (size <= LARGE || options.unroll.is_some())
        && (!counted || (body.start.is_some() && unroll::resumes(&body)))
    {
        let body = unroll::repeated(&body, times, counted);
        // Of the methods, only those that do best where nothing is unrolled.
        let least = Some(best.schedule.ii);
        let methods = report.methods.iter().filter(|(_, ii)| *ii == least);
        let methods: Vec<Method> = methods.map(|(method, _)| *method).collect();
        let mut other = report.clone();
        let mut own = None;
        let found = Form::of(function, region, &body, liveness, false).and_then(|mut form| {
            if test.is_some() {
                let (apart, pairs) = form.tested().ok_or(Reason::Impossible)?;
                (form, own) = (apart, Some(pairs));
            }
            summed(function, setting, &body, &form, &methods, &mut other)
        });
        if let Ok((mut found, _)) = found
            && (options.unroll.is_some() || gains(found.schedule.ii, times * best.schedule.ii))
        {
            found.times = times;
            (best, test) = (found, own);
            bound(&best.plan, &best.view, report);
            report.unpipelined = once * times;
        }
    }
    if options.pairs && counted && stays.is_some() && !advance::is_advanced(&best.plan.items) {
        let several = body.operations.len() * 2 <= LARGE && unroll::resumes(&body);
        for times in [1, 2, 4] {
            let asked = options.unroll.is_none_or(|asked| asked == times);
            if !asked || (times > 1 && !several) {
                continue;
            }
            let body = unroll::repeated(&body, times, true);
            let mut other = report.clone();
            let found = in_pairs(function, setting, &body, test.is_some(), &mut other);
            let Some((found, own)) = found else { continue };
            let (now, before) = (found.schedule.ii * best.times, best.schedule.ii * times);
            if gains(now, before) {
                best = Found { times, ..found };
                test = Some(own);
                bound(&best.plan, &best.view, report);
                report.unpipelined = once * times;
            }
        }
    }
    if options.prefetch
        && let Some((form, streams, ahead)) =
            best.form.prefetching(function, machine, best.schedule.ii)
    {
        let found = build(
            function,
            &form,
            best.method,
            machine,
            options,
            Told::Nothing,
        );
        if let Ok(found) = found
            && advance::fits(&found.plan.items, &found.schedule, machine)
        {
            let times = best.times;
            best = Found { times, ..found };
            bound(&best.plan, &best.view, report);
            report.prefetched = Some(Prefetched { streams, ahead });
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
    let tests = test.as_ref().map_or(0, Test::pairs);
    if tests > 0 || advance::is_advanced(&best.plan.items) {
        let gone = feared.into_iter();
        let gone = gone.filter(|reason| {
            let feared = matches!(reason, Reason::MayAlias { why, .. } if advance::is_feared(*why));
            feared && !best.view.aliases.contains(reason)
        });
        report.overcome.extend(gone);
    }
    report.ii = Some(best.schedule.ii);
    report.stages = best.schedule.stages();
    report.max_live = best.allocation.used;
    report.method = Some(best.method);
    let items = || best.plan.items.iter();
    let loads = items().filter(|item| item.speculative && item.operation.memory.is_some());
    let checks = items().filter_map(|item| item.check.as_ref());
    report.loads.advanced = checks.clone().filter(|check| check.advanced).count() as u32;
    report.loads.speculative = loads.count() as u32 - report.loads.advanced;
    report.loads.checks = checks.count() as u32;
    let pairs = items().filter(|item| body::is_pair(&item.operation));
    report.loads.pairs = pairs.count() as u32;
    report.sums = sums::count(&best.exits);
    report.tests = tests;
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
        rest: (counted && best.times > 1).then_some(Rest { times: best.times }),
        own: body
            .start
            .filter(|_| counted && (best.times > 1 || test.is_some())),
        test: test.as_ref(),
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
    checked::kernel(function, region, &changed, machine, options, report)?;
    report.epilogue = kernel.explicit.then(|| kernel.drained(function, machine));
    report.reasons.extend(kept.map(Reason::Epilogue));
    *function = changed;
    report.pipelined = true;
    Ok(())
}

/// Returns true if it is worth code of several times the size: a sixteenth is gained.
const fn gains(cycles: u32, before: u32) -> bool {
    cycles * 16 <= before * 15
}

/// The best schedule with loads in pairs, and the test in front of it.
fn in_pairs(
    function: &mut Function,
    setting: Setting<'_>,
    body: &Body,
    tested: bool,
    report: &mut LoopReport,
) -> Option<(Found, Test)> {
    let Setting {
        region, liveness, ..
    } = setting;
    let form = Form::of(function, region, body, liveness, false).ok()?;
    let (form, test) = match tested {
        true => form.tested()?,
        false => (form, Test::default()),
    };
    let (form, aligned) = form.paired(function, region, body, liveness)?;
    // What was apart by the test is so still.
    let form = match tested {
        true => form.tested()?.0,
        false => form,
    };
    let methods = [Method::Counted];
    let found = summed(function, setting, body, &form, &methods, report);
    Some((found.ok()?.0, test.and_aligned(aligned)))
}

/// The same, with several sums in the place of one where that is permitted and gains something.
fn summed(
    function: &mut Function,
    setting: Setting<'_>,
    body: &Body,
    form: &Form,
    methods: &[Method],
    report: &mut LoopReport,
) -> Result<(Found, u32), Reason> {
    let mut best = candidate(function, setting, body, form, methods, report)?;
    for turns in sums::turns(&form.given, setting.options) {
        if !best.0.waits() {
            break;
        }
        let Some(form) = form.interleaved(function, turns) else {
            break;
        };
        let mut other = report.clone();
        other.methods.clear();
        let found = candidate(function, setting, body, &form, methods, &mut other);
        if let Ok((found, fraction)) = found
            && found.schedule.ii < best.0.schedule.ii
        {
            report.methods = other.methods;
            best = (found, fraction);
        }
    }
    Ok(best)
}

/// The best schedule of an iteration by any of the methods.
fn candidate(
    function: &mut Function,
    setting: Setting<'_>,
    body: &Body,
    form: &Form,
    methods: &[Method],
    report: &mut LoopReport,
) -> Result<(Found, u32), Reason> {
    let Setting {
        region,
        liveness,
        machine,
        options,
    } = setting;
    // The loads that may run ahead of exits, once with their addresses in one register and once with rotating
    // addresses.
    let mut ahead: Option<Vec<(Form, Vec<Virtual>)>> = None;
    let mut best: Option<Found> = None;
    // For each method, its interval and the number of iterations by which its bound becomes whole.
    let mut fractions: Vec<(u32, u32)> = Vec::new();
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
            match best {
                None => Told::Bounds(&mut *report),
                Some(_) => Told::Nothing,
            },
        );
        if options.speculation
            && method != Method::Counted
            && let Ok(alone) = &own
            && alone.waits()
        {
            if ahead.is_none() {
                let targets = || form.given.exits.iter().map(|exit| exit.target);
                let left = |it| targets().any(|target| liveness.at_start(target).contains(&it));
                let loads = speculate::candidates(&form.given, &left);
                let mut forms = Vec::new();
                if speculate::steps(&form.given, &loads) {
                    forms.push((form.clone(), loads));
                }
                let form = Form::of(function, region, body, liveness, true)?;
                let loads = speculate::candidates(&form.given, &|_| true);
                forms.push((form, loads));
                ahead = Some(forms);
            }
            let mut found: Option<Found> = None;
            for (form, loads) in ahead.iter().flatten() {
                let known = found.as_ref().unwrap_or(alone);
                let better = ahead_of_exits(function, form, loads, method, machine, options, known);
                found = better.or(found);
            }
            if let Some(found) = found {
                own = Ok(found);
            }
        }
        match own {
            Ok(found) => {
                report.methods.push((method, Some(found.schedule.ii)));
                let mut own = report.clone();
                bound(&found.plan, &found.view, &mut own);
                // A check is the first of its cycle, which the bound does not know: two iterations may come
                // nearer to it.
                let checks = found.plan.items.iter().any(|item| item.check.is_some());
                let missed = checks && found.schedule.ii > own.min_ii();
                let times = own.unroll.max(1 + u32::from(missed));
                fractions.push((found.schedule.ii, times));
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
    let best = best.ok_or(refused.unwrap_or(Reason::Impossible))?;
    let least = fractions
        .iter()
        .filter(|fraction| fraction.0 == best.schedule.ii);
    let most = least.map(|it| it.1).max().unwrap_or(1);
    Ok((best, most))
}

/// The trip count of a loop whose only exit is at its end.
fn count(function: &Function, region: &Region, body: &Body, form: &Form) -> Option<Trips> {
    let Form {
        given, described, ..
    } = form;
    let [exit] = &given.exits[..] else {
        return None;
    };
    // A loop that others watch may go on for ever.
    let watched = |item: &body::Item| {
        let memory = item.operation.memory.as_ref();
        memory.is_some_and(|memory| memory.volatile)
    };
    if given.items.iter().any(watched) {
        return None;
    }
    // What stands behind the exit would execute once too often.
    if given.items.iter().any(|item| item.passed > 0) {
        return None;
    }
    let mut found = None;
    for (at, item) in given.items.iter().enumerate() {
        if item.operation.writes().any(|write| write == exit.predicate) {
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
    trips(compare, !leaves, &mut |name| {
        let own = address::linear(given, described, at, name);
        // Further up it may be a constant; the contents of a register there say nothing about the front of
        // the loop.
        let mut above = own.clone();
        address::from_above(function, region, body, &mut [&mut above]);
        match above.start.terms.is_empty() {
            true => above,
            false => own,
        }
    })
}

fn bound(plan: &Plan, view: &View, report: &mut LoopReport) {
    let Ok(bounds) = bounds(&view.graph) else {
        return;
    };
    report.res_mii.clear();
    if let Some(packing) = &view.graph.packing {
        let all = Load::of(packing.kinds.iter().copied());
        for shortage in packing.rows.shortages(&all) {
            report.res_mii.push(ResourceBound {
                unit: shortage.unit,
                wanted: shortage.wanted,
                units: shortage.units,
                cycles: shortage.cycles(),
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
