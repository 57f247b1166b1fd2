//! Divergence that is no news: loops whose lanes leave a round apart at most, and branches that only callers can tell of.

use super::convergence::{deciding_exit, only_waits};
use super::{Context, rounds};
use crate::model::*;
use ir::{
    AtomicOp, BinaryOp, Block, Function, Inst, IntCondition, Op, Space, Special, Value, ValueDef,
    WarpKind,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Values that are looked at for one.
const SOURCES: usize = 128;

/// Loops and branches that an author expects to diverge, or of which nothing is known here.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Expected {
    /// Headers of loops, sorted: `for (i = lane; i < n; i += 32)`, a loop that waits, one whose rounds a parameter tells.
    pub loops: Vec<Block>,
    /// Blocks that end in such a branch, sorted: a `switch` over a parameter of a device function.
    pub branches: Vec<Block>,
    /// Blocks whose branch a single lane takes, or leaves to the others, sorted: `if (threadIdx.x == 0)`.
    pub leaders: Vec<Block>,
    /// Accesses without a known pattern whose address comes from coordinates alone, sorted: `a[i % width]`,
    /// which lanes mostly reach side by side, and those by a number that neighbouring lanes share (`a[list[i
    /// / 64]]`) or take one after the other (`a[atomicAdd(&count, 1)]`). The remaining ones are spread by
    /// loaded values.
    pub accesses: Vec<Inst>,
}

/// The divergent loops and branches of a function that are no news.
pub fn expected(function: &Function, facts: &FunctionFacts) -> Expected {
    let mut found = Expected::default();
    let diverges = |class: Class| class > Class::Uniform;
    let is_quiet = !facts.loops.iter().any(|fact| diverges(fact.trip))
        && !facts.branches.iter().any(|fact| diverges(fact.class))
        && !facts
            .accesses
            .iter()
            .any(|access| access.class == AccessClass::Gather);
    if is_quiet || function.layout.is_empty() {
        return found;
    }
    let incoming = incoming(function);
    let of = |value: Value| sources(function, facts, &incoming, value);
    let gathers = facts
        .accesses
        .iter()
        .filter(|access| access.class == AccessClass::Gather && !of(access.address).loaded);
    found.accesses = gathers.map(|access| access.inst).collect();
    found.accesses.sort_unstable();
    let cx = Context::new(function, facts);
    let width = cx.size(0);
    // Of callers in sight the facts know what they pass.
    let unseen = facts.options.parameters.is_empty();
    for fact in facts.loops.iter().filter(|fact| diverges(fact.trip)) {
        let Some(exit) = deciding_exit(&cx, fact) else {
            continue;
        };
        // Of what is not understood nothing is known.
        let selector = function.blocks[exit].terminator.selector();
        let unknown = selector.is_none_or(|value| !of(value).is_known(width));
        if unknown
            || tries_again(function, exit)
            || only_waits(&cx, fact.header)
            || (unseen && cx.branch_left_to_callers(exit))
            || rounds::shared_by_the_warp(&cx, fact.header, exit)
            || rounds::as_many_in_all_lanes(&cx, fact.header)
            || rounds::in_a_rest(&cx, fact.header)
        {
            found.loops.push(fact.header);
        }
    }
    for fact in facts.branches.iter().filter(|fact| diverges(fact.class)) {
        let selector = function.blocks[fact.block].terminator.selector();
        if selector.is_none_or(|value| !of(value).is_known(width))
            || unseen && cx.branch_left_to_callers(fact.block)
        {
            found.branches.push(fact.block);
            continue;
        }
        // That lanes leave a loop apart is told of the loop.
        if leaves_loop(&cx, fact.block) {
            found.branches.push(fact.block);
            continue;
        }
        match way(&cx, fact.block) {
            // Where the lanes are known, their number is told.
            Some(Way::Border) if fact.lanes.is_none() => found.branches.push(fact.block),
            Some(Way::Leader) => found.leaders.push(fact.block),
            _ => {}
        }
    }
    found.leaders.sort_unstable();
    found.loops.sort_unstable();
    found.branches.sort_unstable();
    found
}

/// The way in which a condition over coordinates alone parts the lanes of a warp.
enum Way {
    /// In one warp at the end of a range, if anywhere: `if (i < n)`.
    Border,
    /// One lane from the others: `if (lane == 0)`.
    Leader,
}

fn leaves_loop(cx: &Context<'_>, branch: Block) -> bool {
    let forest = cx.forest();
    let own = forest.of(branch);
    own.is_some_and(|own| {
        let mut next = cx.flow.successors[branch].iter();
        next.any(|&next| !forest.contains(own, next))
    })
}

/// Returns how the lanes part at a branch, if each comparison that parts them is of coordinates.
fn way(cx: &Context<'_>, branch: Block) -> Option<Way> {
    let function = cx.function;
    let selector = function.blocks[branch].terminator.selector()?;
    if let Op::Warp(op) = &function.defining(selector)?.op
        && op.kind == WarpKind::IsFirstLane
    {
        return Some(Way::Leader);
    }
    let entry = *function.layout.first()?;
    let comparisons = rounds::parting_comparisons(cx, entry, branch)?;
    let is_affine = |value: Value| cx.facts.values[value].class <= Class::Affine;
    let mut leads = false;
    for compare in comparisons {
        let data = function.defining(compare)?;
        match data.op {
            Op::IntCompare(IntCondition::Equal | IntCondition::NotEqual) => leads = true,
            Op::IntCompare(_) => {}
            _ => return None,
        }
        if !data.args.iter().all(|&arg| is_affine(arg)) {
            return None;
        }
    }
    Some(match leads {
        true => Way::Leader,
        false => Way::Border,
    })
}

/// The values that each block's parameters are given, by block and number.
type Incoming = FxHashMap<(Block, u32), Vec<Value>>;

fn incoming(function: &Function) -> Incoming {
    let mut found = Incoming::default();
    for &from in &function.layout {
        for edge in function.blocks[from].terminator.edges() {
            for (number, &arg) in (0..).zip(&edge.args) {
                found.entry((edge.block, number)).or_default().push(arg);
            }
        }
    }
    found
}

/// The values on the way to another that differ between lanes.
#[derive(Default)]
struct Sources {
    /// True if a value was loaded, sampled or returned by an atomic operation.
    loaded: bool,
    /// True if something was not understood.
    unknown: bool,
    /// A coordinate that differs between neighbouring lanes, or an input of a stage.
    lanes: bool,
    /// The number of a row of the workgroup.
    rows: bool,
}

impl Sources {
    /// Returns whether the known facts make the lanes of a warp differ: rows do where their width is known.
    fn is_known(&self, width: Option<u32>) -> bool {
        !self.unknown && (self.loaded || self.lanes || self.rows && width.is_some())
    }
}

/// The sources of differences between lanes in a value, through `SOURCES` operations.
fn sources(
    function: &Function,
    facts: &FunctionFacts,
    incoming: &Incoming,
    value: Value,
) -> Sources {
    let mut found = Sources::default();
    let mut seen: FxHashSet<Value> = FxHashSet::default();
    let mut work = vec![value];
    while let Some(at) = work.pop() {
        if seen.len() >= SOURCES || is_uniform(facts, at) || !seen.insert(at) {
            continue;
        }
        match function.values[at].def {
            ValueDef::Param(block, number) => {
                work.extend(incoming.get(&(block, number)).into_iter().flatten());
            }
            ValueDef::Result(inst, _) => {
                let data = &function.insts[inst];
                match data.op {
                    // An element of the thread's own array is known no better than the array as a whole.
                    Op::Load(access) if access.space == Space::Local => found.lanes = true,
                    // Slots of a counter are given out one after the other.
                    Op::Atomic(..) if is_uniform(facts, data.args[0]) => found.lanes = true,
                    Op::Load(_) if is_divided(function, facts, data.args[0]) => found.lanes = true,
                    Op::Atomic(..) | Op::Load(_) | Op::Texture(_) => found.loaded = true,
                    Op::Unknown(_) | Op::CallUnknown { .. } => found.unknown = true,
                    Op::Special(Special::ThreadId(1 | 2)) => found.rows = true,
                    Op::Special(_) | Op::StageInput(_) | Op::Warp(_) => found.lanes = true,
                    _ => work.extend(&data.args),
                }
            }
        }
    }
    found
}

fn is_uniform(facts: &FunctionFacts, value: Value) -> bool {
    facts.values[value].class == Class::Uniform
}

/// Returns true if neighbouring lanes share an address by a quotient: `list[i / 64]`, `list[(i / width) % height]`.
fn is_divided(function: &Function, facts: &FunctionFacts, address: Value) -> bool {
    let mut work = vec![(address, false)];
    for _ in 0..SOURCES {
        let Some((at, divided)) = work.pop() else {
            return true;
        };
        if is_uniform(facts, at) {
            continue;
        }
        let Some(data) = function.defining(at) else {
            return false;
        };
        let of = |divided: bool| data.args.iter().map(move |&arg| (arg, divided));
        match data.op {
            Op::Special(_) if divided => {}
            Op::Binary(
                BinaryOp::DivSigned
                | BinaryOp::DivUnsigned
                | BinaryOp::ShrSigned
                | BinaryOp::ShrUnsigned,
                _,
            ) if is_uniform(facts, data.args[1]) => work.push((data.args[0], true)),
            Op::PtrAdd
            | Op::Convert(_)
            | Op::Binary(
                BinaryOp::Add
                | BinaryOp::Sub
                | BinaryOp::Mul
                | BinaryOp::Shl
                | BinaryOp::Or
                | BinaryOp::RemSigned
                | BinaryOp::RemUnsigned,
                _,
            ) => work.extend(of(divided)),
            _ => return false,
        }
    }
    false
}

/// Returns true if a loop tries again until no other thread was in between: `do { .. } while (atomicCAS(p, old, new) !=
/// old)`.
fn tries_again(function: &Function, exit: Block) -> bool {
    let selector = function.blocks[exit].terminator.selector();
    let mut work: Vec<Value> = selector.into_iter().collect();
    for _ in 0..8 {
        let Some(data) = work.pop().and_then(|value| function.defining(value)) else {
            continue;
        };
        match data.op {
            Op::Atomic(AtomicOp::CompareExchange, _) => return true,
            Op::IntCompare(_) | Op::FloatCompare(_) | Op::Convert(_) | Op::Unary(_) => {
                work.extend(&data.args);
            }
            _ => {}
        }
    }
    false
}
