//! What a run showed, at the places of the file: lanes against the sectors and banks that they touch, and the lanes that are
//! active at divergent branches and in divergent loops. Without a run, what the facts tell, and why there is no more.

use super::model::{AccessRow, ActivityRow, LanePicture};
use super::source::Places;
use super::watch::{AccessRun, BranchRun, Watch, count, ideal, relative};
use crate::views::rows::{access_class_name, access_kind_name};
use crate::views::text;
use facts::{AccessFact, BranchFact, Class, FunctionFacts, LoopFact};
use ir::cfg::ControlFlow;
use ir::loops::LoopForest;
use ir::{Block, BranchKind, Function, Inst, Loc, Space, Terminator};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Accesses and branches of a function that are listed.
const MOST_ACCESSES: usize = 60;
const MOST_ACTIVITIES: usize = 24;
/// Characters of a condition.
const CODE: usize = 60;

const NOT_REACHED: &str = "The run did not come here.";
const NO_RUN: &str = "The run did not come here, and the distance between lanes is not a constant.";

/// An observer of what the pictures of a function are of.
pub(super) fn watch(function: &Function, facts: &FunctionFacts) -> Watch {
    let mut branches: FxHashMap<Block, Vec<char>> = FxHashMap::default();
    for site in sites(function, facts) {
        for &(block, ref ways) in &site.blocks {
            branches.insert(block, ways.clone());
        }
    }
    let accesses = facts.accesses.iter().filter(|one| is_shown(one.space));
    let accesses = accesses.map(|one| (one.inst, (one.bytes, one.space)));
    Watch::new(function, branches, accesses.collect())
}

fn is_shown(space: Space) -> bool {
    matches!(space, Space::Global | Space::Shared | Space::Generic)
}

/// A divergent branch or loop of the source, with its blocks: inlined and unrolled code has several.
struct Site<'f> {
    loc: Loc,
    kind: &'static str,
    text: String,
    blocks: Vec<(Block, Vec<char>)>,
    fact: Option<&'f BranchFact>,
}

fn sites<'f>(function: &Function, facts: &'f FunctionFacts) -> Vec<Site<'f>> {
    let mut sites: Vec<Site<'f>> = Vec::new();
    let flow = ControlFlow::new(function);
    let forest = LoopForest::new(&flow);
    let divergent = |one: &&LoopFact| one.trip > Class::Uniform && one.loc != Loc::NONE;
    for one in facts.loops.iter().filter(divergent) {
        // The blocks whose branches decide whether a lane goes on.
        let Some((id, _)) = forest.loops.iter().find(|(_, l)| l.header == one.header) else {
            continue;
        };
        let exits = forest.loops[id].exits.iter().filter_map(|&block| {
            let inside = |to: Block| forest.contains(id, to);
            let edges = function.blocks[block].terminator.edges();
            let ways = edges
                .iter()
                .map(|edge| if inside(edge.block) { '1' } else { '0' });
            let ways: Vec<char> = ways.collect();
            (ways.len() == 2).then_some((block, ways))
        });
        let mut exits: Vec<(Block, Vec<char>)> = exits.collect();
        // The head first, where it decides: its rows are iterations.
        exits.sort_by_key(|(block, _)| (*block != one.header, flow.position[*block]));
        exits.truncate(1);
        push(
            &mut sites,
            one.loc,
            "loop",
            text::loop_long(one),
            exits,
            None,
        );
    }
    for one in &facts.branches {
        let told = matches!(one.kind, BranchKind::Loop | BranchKind::Implied);
        if one.class == Class::Uniform || told || one.loc == Loc::NONE {
            continue;
        }
        let (kind, ways) = match &function.blocks[one.block].terminator {
            Terminator::Switch { cases, .. } => {
                let letters = ('1'..='9').chain('a'..='z').chain(std::iter::repeat('+'));
                let ways: Vec<char> = letters.take(cases.len() + 1).collect();
                ("switch", ways)
            }
            _ => ("branch", vec!['1', '0']),
        };
        let text = text::branch_note(one);
        push(
            &mut sites,
            one.loc,
            kind,
            text,
            vec![(one.block, ways)],
            Some(one),
        );
    }
    sites
}

fn push<'f>(
    sites: &mut Vec<Site<'f>>,
    loc: Loc,
    kind: &'static str,
    text: String,
    blocks: Vec<(Block, Vec<char>)>,
    fact: Option<&'f BranchFact>,
) {
    match sites
        .iter_mut()
        .find(|known| known.loc == loc && known.kind == kind)
    {
        Some(known) => known.blocks.extend(blocks),
        None => sites.push(Site {
            loc,
            kind,
            text,
            blocks,
            fact,
        }),
    }
}

/// The lanes at divergent branches and loops, by position.
pub(super) fn activity(
    function: &Function,
    facts: &FunctionFacts,
    watch: Option<&Watch>,
    places: &Places<'_>,
) -> (Vec<ActivityRow>, usize) {
    let mut rows = Vec::new();
    for site in sites(function, facts) {
        let Some(span) = places.in_file(function, site.loc) else {
            continue;
        };
        let (line, column) = places.line_column(span.start);
        // Of several copies the one that divides most.
        let runs = site
            .blocks
            .iter()
            .filter_map(|(block, _)| watch?.at_branches.get(block));
        let run = runs.max_by_key(|run| (run.divided, run.executions));
        let cheap = site
            .fact
            .is_some_and(|fact| fact.idle.is_none() && !text::is_costly(fact, 8));
        if cheap && run.is_none_or(|run| run.divided == 0) {
            continue;
        }
        rows.push(activity_row(
            &site,
            line,
            column,
            places.short(span, CODE),
            run,
        ));
    }
    rows.sort_by_key(|row| (row.line, row.column, row.kind));
    rows.dedup_by(|a, b| (a.line, a.column, a.kind) == (b.line, b.column, b.kind));
    let more = rows.len().saturating_sub(MOST_ACTIVITIES);
    rows.truncate(MOST_ACTIVITIES);
    (rows, more)
}

fn activity_row(
    site: &Site<'_>,
    line: u32,
    column: u32,
    code: String,
    run: Option<&BranchRun>,
) -> ActivityRow {
    let mut row = ActivityRow {
        line,
        column,
        kind: site.kind,
        text: site.text.clone(),
        code,
        missing: None,
        warp: 0,
        rows: Vec::new(),
        more: 0,
        executions: 0,
        divided: 0,
        active_percent: 0.0,
    };
    let Some(run) = run.filter(|run| run.executions > 0) else {
        row.missing = Some(NOT_REACHED);
        return row;
    };
    // The first warp whose lanes part, else the first.
    let mut warps = run.warps.iter();
    let parted = warps.clone().find(|(_, warp)| warp.divided > 0);
    if let Some((&(_, number), warp)) = parted.or_else(|| warps.next()) {
        row.warp = number;
        row.rows.clone_from(&warp.rows);
        row.more = warp.more;
    }
    row.executions = run.executions;
    row.divided = run.divided;
    row.active_percent = 100.0 * run.lanes as f64 / run.width.max(1) as f64;
    row
}

/// The accesses to global and shared memory, by position; of those at one place the worst.
pub(super) fn accesses(
    function: &Function,
    facts: &FunctionFacts,
    warp_size: u32,
    watch: Option<&Watch>,
    places: &Places<'_>,
) -> (Vec<AccessRow>, usize) {
    let runs: Option<&FxHashMap<Inst, AccessRun>> = watch.map(|watch| &watch.at_accesses);
    let mut found: BTreeMap<(bool, String, u32, u32, &'static str), AccessRow> = BTreeMap::new();
    for access in facts.accesses.iter().filter(|one| is_shown(one.space)) {
        let Some((file, line, column)) = places.anywhere(function, access.loc) else {
            continue;
        };
        let run = runs.and_then(|runs| runs.get(&access.inst));
        let row = access_row(access, run, warp_size, file.clone(), line, column);
        let key = (
            file.is_some(),
            file.unwrap_or_default(),
            line,
            column,
            row.kind,
        );
        let weight = |row: &AccessRow| {
            let picture = row.picture.as_ref();
            (
                row.wasteful,
                picture.map_or(0, |one| one.count),
                picture.is_some(),
            )
        };
        match found.get(&key) {
            Some(known) if weight(known) >= weight(&row) => {}
            _ => {
                found.insert(key, row);
            }
        }
    }
    let mut rows: Vec<AccessRow> = found.into_values().collect();
    // A pointer into whatever a caller has is not told of where nobody ran it.
    rows.retain(|row| {
        row.space != "generic" || row.picture.as_ref().is_some_and(|one| one.from == "run")
    });
    let more = rows.len().saturating_sub(MOST_ACCESSES);
    if more > 0 {
        rows.sort_by_key(|row| !row.wasteful);
        rows.truncate(MOST_ACCESSES);
        rows.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    }
    (rows, more)
}

fn access_row(
    access: &AccessFact,
    run: Option<&AccessRun>,
    warp_size: u32,
    file: Option<String>,
    line: u32,
    column: u32,
) -> AccessRow {
    let picture = match run {
        Some(run) => Some(of_run(access, run)),
        None => of_stride(access, warp_size),
    };
    let space = run.and_then(|run| run.space).unwrap_or(access.space);
    let bound = match space {
        Space::Shared => access.bank_ways,
        _ => access.sectors,
    };
    let measured = picture
        .as_ref()
        .is_some_and(|one| one.from == "run" && one.count > one.ideal + one.ideal / 2);
    AccessRow {
        file,
        line,
        column,
        name: access.base.to_string(),
        kind: access_kind_name(access.kind),
        space: text::space_name(space),
        class: access_class_name(access.class),
        text: text::access_remark(access).unwrap_or_else(|| text::access_short(access)),
        wasteful: text::is_wasteful(access) || measured,
        bound,
        ideal: match space {
            Space::Shared => 1,
            _ => access.ideal_sectors,
        },
        missing: picture.is_none().then_some(NO_RUN),
        picture,
    }
}

fn of_run(access: &AccessFact, run: &AccessRun) -> LanePicture {
    let space = run.space.unwrap_or(access.space);
    LanePicture {
        unit: unit(space),
        from: "run",
        lanes: relative(space, &run.lanes),
        bytes: access.bytes,
        count: count(space, &run.lanes, access.bytes),
        ideal: ideal(space, &run.lanes, access.bytes),
        executions: run.executions,
        mean: run.sum as f64 / run.executions.max(1) as f64,
        warp: run.warp,
    }
}

/// The lanes of a warp by the constant distance between neighbours.
fn of_stride(access: &AccessFact, warp_size: u32) -> Option<LanePicture> {
    let stride = access.stride_bytes?;
    let lanes = i64::from(
        if access.partial {
            access.lanes
        } else {
            warp_size
        }
        .clamp(1, 64),
    );
    let first = if stride < 0 {
        stride.checked_mul(-(lanes - 1))?
    } else {
        0
    };
    let lane = |at: i64| u64::try_from(first.checked_add(stride.checked_mul(at)?)?).ok();
    let lanes: Vec<Option<u64>> = (0..lanes).map(lane).collect();
    Some(LanePicture {
        unit: unit(access.space),
        from: "stride",
        count: count(access.space, &lanes, access.bytes),
        ideal: ideal(access.space, &lanes, access.bytes),
        lanes,
        bytes: access.bytes,
        executions: 0,
        mean: 0.0,
        warp: 0,
    })
}

const fn unit(space: Space) -> &'static str {
    match space {
        Space::Shared => "banks",
        _ => "sectors",
    }
}
