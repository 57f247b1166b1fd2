//! Facts about loops and barriers, from the levels of branches.

use crate::divergence::{
    ControllingBranches, DISPATCH, Engine, Level, WORKGROUP, level_of, scope_of,
};
use crate::model::*;
use crate::trips::trips;
use ir::loops::LoopId;
use ir::{Barrier, Block, Loc, Op, SourceLoop, Special, Value, ValueDef};
use rustc_hash::{FxHashMap, FxHashSet};

/// One fact a loop, outermost first.
pub(crate) fn loops(engine: &Engine<'_>, facts: &FunctionFacts) -> Vec<LoopFact> {
    let function = engine.function;
    let wanted = level_of(facts.options.scope);
    let mut exiting: Vec<Vec<Block>> = vec![Vec::new(); engine.forest.loops.len()];
    for &block in &engine.flow.order {
        for &next in &engine.flow.successors[block] {
            for l in engine.forest.around(block) {
                if engine.forest.contains(l, next) {
                    break;
                }
                let list = &mut exiting[l.0 as usize];
                if list.last() != Some(&block) {
                    list.push(block);
                }
            }
        }
    }
    let leaving = leaving_several(engine);
    let mut sources: FxHashMap<Block, &SourceLoop> = FxHashMap::default();
    for source in &function.loops {
        sources.entry(source.header).or_insert(source);
    }
    engine
        .forest
        .loops
        .iter()
        .map(|(id, l)| {
            // Iterations inside of a loop without comparable instances cannot be compared either.
            let mut level = engine.taint[id].min(engine.mixed.of_loop(id.0));
            let mut exit = engine.worst_exit(id);
            if let Some(&(lower, branch)) = leaving.get(&id)
                && lower < level
            {
                (level, exit) = (lower, Some(branch));
            }
            // `while (true) { .. break; }`
            if !engine.comes_back(id) {
                (level, exit) = (DISPATCH, None);
            }
            let cause = match exit.and_then(|e| function.blocks[e].terminator.selector()) {
                Some(selector) if level < DISPATCH => Cause::Operand(selector),
                _ => Cause::None,
            };
            let source = sources.get(&l.header);
            let trips = trips(engine, id, &exiting[id.0 as usize]);
            LoopFact {
                assumed: false,
                header: l.header,
                loc: source
                    .map_or_else(|| loop_loc(engine, id, &exiting[id.0 as usize]), |s| s.loc),
                trip: if level >= wanted {
                    Class::Uniform
                } else {
                    Class::Divergent
                },
                uniform_at: scope_of(level),
                count: trips.count,
                at_most: trips.at_most,
                trips: trips.about,
                cause,
            }
        })
        .collect()
}

/// The least uniform branch by which lanes leave a loop together with one around it. Values of the inner loop are not
/// used where these lanes go on, so that its taint does not say it; its trip count does.
fn leaving_several(engine: &Engine<'_>) -> FxHashMap<LoopId, (Level, Block)> {
    let mut leaving: FxHashMap<LoopId, (Level, Block)> = FxHashMap::default();
    for (branch, gates) in engine.known_gates() {
        let found = (engine.branch_level[branch], branch);
        for &(_, outermost) in &gates.exits {
            for l in engine.forest.around(branch) {
                if l == outermost {
                    break;
                }
                // If nobody stays, all leave in this iteration.
                let mut next = engine.flow.successors[branch].iter();
                if next.any(|&n| engine.forest.contains(l, n)) {
                    let least = leaving.entry(l).or_insert(found);
                    *least = (*least).min(found);
                }
            }
        }
    }
    leaving
}

fn loop_loc(engine: &Engine<'_>, l: LoopId, exiting: &[Block]) -> Loc {
    let block = exiting
        .first()
        .copied()
        .unwrap_or(engine.forest.loops[l].header);
    engine.function.blocks[block].loc
}

/// One fact a barrier, in layout order.
pub(crate) fn barriers(engine: &Engine<'_>) -> Vec<BarrierFact> {
    let function = engine.function;
    let mut found = Vec::new();
    let mut controlling = None;
    for &(block, inst) in &engine.tables.barriers {
        let data = &function.insts[inst];
        let Op::Barrier(kind) = &data.op else {
            continue;
        };
        let collective = match kind {
            Barrier::Workgroup
            | Barrier::WorkgroupAnd
            | Barrier::WorkgroupOr
            | Barrier::WorkgroupCount
            | Barrier::Grid => true,
            // Without a count of threads the whole workgroup takes part.
            Barrier::Named { arrive } => !arrive && data.args.len() == 1,
            Barrier::Warp | Barrier::MicroSimd => false,
        };
        // Where the whole grid waits, every workgroup must come.
        let together = match kind {
            Barrier::Grid if !data.args.is_empty() => DISPATCH,
            _ => WORKGROUP,
        };
        let divergent = if collective && engine.executed[block] < together {
            let controlling = controlling.get_or_insert_with(|| ControllingBranches::new(engine));
            responsible(engine, controlling, block, together).filter(|&(branch, _)| {
                engine.branch_level[branch] < WORKGROUP || tells_workgroups_apart(engine, branch)
            })
        } else {
            None
        };
        let guard = data
            .guard
            .map(|guard| guard.value)
            .filter(|&value| collective && engine.level_at(value, block) < WORKGROUP);
        found.push(BarrierFact {
            inst,
            loc: data.loc,
            divergent,
            guard,
        });
    }
    found
}

/// The condition is made of builtin values, parameters and constants alone, and a workgroup's number is among
/// them. Values that workgroups load are often the same for all, but not known to be.
fn tells_workgroups_apart(engine: &Engine<'_>, branch: Block) -> bool {
    let function = engine.function;
    let mut work: Vec<Value> = Vec::from_iter(function.blocks[branch].terminator.selector());
    let mut apart = false;
    for _ in 0..32 {
        let Some(value) = work.pop() else {
            return apart;
        };
        let ValueDef::Result(inst, _) = function.values[value].def else {
            if !matches!(function.values[value].def, ValueDef::Param(b, _) if b == function.entry())
            {
                return false;
            }
            continue;
        };
        let data = &function.insts[inst];
        match data.op {
            Op::Special(special) => apart |= matches!(special, Special::BlockId(_)),
            Op::Const(_) | Op::Parameter(_) => {}
            Op::Unary(_) | Op::Binary(..) | Op::Convert(_) | Op::IntCompare(_) => {
                work.extend(data.args.iter().copied());
            }
            _ => return false,
        }
    }
    false
}

/// The nearest branch that is less uniform than `level` and on which the execution of `block` depends.
fn responsible(
    engine: &Engine<'_>,
    controlling: &ControllingBranches,
    block: Block,
    level: Level,
) -> Option<(Block, bool)> {
    let mut seen = FxHashSet::default();
    let mut work = vec![block];
    let mut next = 0;
    while next < work.len() {
        let at = work[next];
        next += 1;
        for branch in controlling.of(engine, at) {
            if seen.insert(branch) {
                if engine.branch_level[branch] < level {
                    let in_loop = engine.forest.around(block).any(|l| {
                        engine.forest.contains(l, branch)
                            && engine.flow.successors[branch]
                                .iter()
                                .any(|&s| !engine.forest.contains(l, s))
                    });
                    return Some((branch, in_loop));
                }
                work.push(branch);
            }
        }
    }
    None
}
