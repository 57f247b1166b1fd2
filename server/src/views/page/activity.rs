//! The lanes that are active at divergent branches and in divergent loops, from a run; without one, from the
//! facts.

use super::model::ActivityRow;
use super::source::Places;
use super::watch::{BranchRun, Watch};
use crate::views::text;
use facts::{BranchFact, Class, FunctionFacts, LoopFact};
use ir::cfg::ControlFlow;
use ir::loops::LoopForest;
use ir::{Block, BranchKind, Function, Loc, Terminator};
use rustc_hash::FxHashMap;

/// Characters of a condition.
const CODE: usize = 60;

const NOT_REACHED: &str = "The run did not come here.";
const NOT_RUN: &str = "Nothing ran.";

/// Returns for each block the letters of the ways that a lane takes there.
pub(super) fn watched(function: &Function, facts: &FunctionFacts) -> FxHashMap<Block, Vec<char>> {
    let sites = sites(function, facts).into_iter();
    sites.flat_map(|site| site.blocks).collect()
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
    let divergent = |fact: &&LoopFact| fact.trip > Class::Uniform && fact.loc != Loc::NONE;
    for each in facts.loops.iter().filter(divergent) {
        // The blocks whose branches decide whether a lane goes on.
        let Some((id, _)) = forest.loops.iter().find(|(_, l)| l.header == each.header) else {
            continue;
        };
        let inside = |to: Block| forest.contains(id, to);
        let exits = flow.order.iter().filter_map(|&block| {
            let edges = function.blocks[block].terminator.edges();
            let ways: Vec<char> = (edges.iter())
                .map(|edge| if inside(edge.block) { '1' } else { '0' })
                .collect();
            let decides = inside(block) && ways.len() == 2 && ways.contains(&'0');
            decides.then_some((block, ways))
        });
        let mut exits: Vec<(Block, Vec<char>)> = exits.collect();
        // The head first, where it decides: its rows are iterations.
        exits.sort_by_key(|(block, _)| (*block != each.header, flow.position[*block]));
        exits.truncate(1);
        push(
            &mut sites,
            each.loc,
            "loop",
            text::loop_long(each),
            exits,
            None,
        );
    }
    for branch in &facts.branches {
        let told = matches!(branch.kind, BranchKind::Loop | BranchKind::Implied);
        if branch.class == Class::Uniform || told || branch.loc == Loc::NONE {
            continue;
        }
        let (kind, ways) = match &function.blocks[branch.block].terminator {
            Terminator::Switch { cases, .. } => {
                let letters = ('1'..='9').chain('a'..='z').chain(std::iter::repeat('+'));
                let ways: Vec<char> = letters.take(cases.len() + 1).collect();
                ("switch", ways)
            }
            _ => ("branch", vec!['1', '0']),
        };
        let text = text::branch_note(branch);
        push(
            &mut sites,
            branch.loc,
            kind,
            text,
            vec![(branch.block, ways)],
            Some(branch),
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
    most: usize,
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
            watch.is_some(),
        ));
    }
    rows.sort_by_key(|row| (row.line, row.column, row.kind));
    rows.dedup_by(|a, b| (a.line, a.column, a.kind) == (b.line, b.column, b.kind));
    let more = rows.len().saturating_sub(most);
    if more > 0 {
        rows.sort_by_key(|row| std::cmp::Reverse(row.divided));
        rows.truncate(most);
        rows.sort_by_key(|row| (row.line, row.column, row.kind));
    }
    (rows, more)
}

fn activity_row(
    site: &Site<'_>,
    line: u32,
    column: u32,
    code: String,
    run: Option<&BranchRun>,
    ran: bool,
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
        row.missing = Some(if ran { NOT_REACHED } else { NOT_RUN });
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
