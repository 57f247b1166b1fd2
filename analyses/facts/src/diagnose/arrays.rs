//! Private arrays with an index that stays unknown when all loops with a number of rounds are unrolled, and all template
//! arguments are there.
//!
//! ```text
//! for (k = 0; k < 4; ++k) sum += t[k];                registers
//! sum += t[which];                                    selects among registers, or local memory
//! for (k = 0; k < n; ++k) t[which[k]] += in[k];       local memory
//! ```
//!
//! The behaviour of NVIDIA's assembler (13.5, sm_75 to sm_120) is known from its stack frames: a lone access
//! of up to 64 elements becomes a chain of selects, and so does an access to very few elements in a loop
//! whose trip count is unknown; larger arrays lie in local memory. A value that is not understood may well be
//! a constant, and is not reported. Tables of constants and members of one parameter of a kernel are left
//! alone: compilers lay them into constant memory.

use super::rounds::below;
use super::{Context, strides};
use crate::model::*;
use crate::reason::{ArrayPlace, FindingReason};
use crate::trips::both;
use ir::{
    BinaryOp, Block, Function, FunctionKind, Inst, Language, Op, Space, Terminator, Value, ValueDef,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Accesses of one array by an index that stays unknown.
struct Indexed {
    alloca: Inst,
    first: Inst,
    /// The first one in a loop that is not unrolled.
    looped: Option<Inst>,
    count: u32,
    /// The index is the counter of such a loop.
    counted: bool,
    /// The header of the loop that stays one.
    header: Option<Block>,
    /// True if that loop accesses the array at known indices, too.
    beside: bool,
    element: u32,
}

/// Private arrays with an index that stays unknown after unrolling.
pub(super) fn findings(cx: &Context<'_>, out: &mut Vec<Finding>) {
    let tables = tables_of_constants(cx);
    let mut found: Vec<Indexed> = Vec::new();
    // Arrays that a loop accesses at known indices, too, by the loop's header.
    let mut named: FxHashSet<(Inst, Block)> = FxHashSet::default();
    for (block, inst) in cx.instructions() {
        let data = &cx.function.insts[inst];
        if !matches!(&data.op, Op::Load(a) | Op::Store(a) if a.space == Space::Local) {
            continue;
        }
        let Some((alloca, offsets)) = private_array(cx.function, data.args[0]) else {
            continue;
        };
        let unknown = |&offset: &Value| !known_after_unrolling(cx, offset, block);
        if tables.contains(&alloca) {
            continue;
        }
        if !offsets.iter().any(unknown) {
            named.extend(rolled_loop(cx, block).map(|header| (alloca, header)));
            continue;
        }
        let accessed = data.results.first().or(data.args.get(1));
        let element = accessed.map_or(0, |&value| cx.function.bytes(value));
        let header = rolled_loop(cx, block);
        let looped = header.map(|_| inst);
        let counted = header.is_some_and(|header| {
            let mut offsets = offsets.iter().filter(|&offset| unknown(offset));
            offsets.all(|&offset| strides::header_parameter(cx.function, offset, header).is_some())
        });
        match found.iter_mut().find(|it| it.alloca == alloca) {
            Some(known) => {
                known.count += 1;
                known.looped = known.looped.or(looped);
            }
            None => found.push(Indexed {
                alloca,
                first: inst,
                looped,
                count: 1,
                counted,
                header,
                beside: false,
                element,
            }),
        }
    }
    for each in &mut found {
        each.beside = each
            .header
            .is_some_and(|header| named.contains(&(each.alloca, header)));
    }
    out.extend(found.iter().filter_map(|it| told(cx, it)));
}

fn told(cx: &Context<'_>, indexed: &Indexed) -> Option<Finding> {
    // Elements among which lone accesses, and those of loops, are chosen by selects.
    const SELECTS: u32 = 64;
    const SELECTS_IN_LOOPS: u32 = 4;
    // The same limit if the loop also accesses the array at known indices, which keeps it in registers
    // (measured with ptxas 13.5 on arrays of 8 and 16 elements for sm_75 to sm_120).
    const SELECTS_BESIDE: u32 = 16;
    let Op::Alloca { size, .. } = cx.function.insts[indexed.alloca].op else {
        return None;
    };
    // All indices but the first are out of bounds.
    if size <= indexed.element {
        return None;
    }
    let known = size != ir::UNKNOWN_SIZE;
    let elements = size / indexed.element.max(1);
    let address = cx.function.insts[indexed.alloca].results.first();
    let name = address
        .and_then(|&address| name_of(cx.function, address))
        .map_or("", |name| name.as_str());
    let alone = indexed.counted && indexed.count == 1;
    let beside = indexed.beside && indexed.count == 1 && elements <= SELECTS_BESIDE;
    let in_memory = match indexed.looped {
        Some(_) if !(alone || beside) => known && elements > SELECTS_IN_LOOPS,
        _ => known && elements > SELECTS,
    };
    let (tier, place) = match (cx.function.language, in_memory) {
        // Drivers of shaders may well keep a small array in registers that they access by number.
        (Language::Hlsl, _) => (Tier::Warning, ArrayPlace::ThreadMemory),
        (_, true) => (Tier::Warning, ArrayPlace::LocalMemory),
        (_, false) => (Tier::Hint, ArrayPlace::Selects),
    };
    let reason = FindingReason::ArrayIndexed {
        array: name.into(),
        bytes: known.then_some(size.into()),
        place,
    };
    let at = indexed.looped.unwrap_or(indexed.first);
    let (code, loc) = (Code::LocalArrayDynamicIndex, cx.function.insts[at].loc);
    Some(cx.finding(code, tier, loc, reason, Vec::new()))
}

/// The header of a loop around a block whose rounds are not unrolled.
fn rolled_loop(cx: &Context<'_>, block: Block) -> Option<Block> {
    let forest = cx.forest();
    let around = forest.around(block).map(|own| forest.loops[own].header);
    let mut rolled = around.filter(|&header| !is_unrolled(cx, header, block));
    rolled.next()
}

/// The rounds of a loop have a number, as far as is known: seen from a block, which may be behind the loop.
fn is_unrolled(cx: &Context<'_>, header: Block, at: Block) -> bool {
    const ROUNDS: u64 = 128;
    cx.facts.loops.iter().any(|l| {
        l.header == header
            && match l.count {
                Some(count) => count <= ROUNDS,
                None => {
                    ends_at_a_constant(cx, header)
                        || is_within(cx, at, header) && counts_to_a_constant(cx, header)
                }
            }
    })
}

/// Private arrays that hold constants, or a parameter of the kernel, and are written nowhere else than where they begin:
/// compilers lay them into constant memory, where parameters lie anyway.
fn tables_of_constants(cx: &Context<'_>) -> FxHashSet<Inst> {
    let function = cx.function;
    let mut tables: FxHashSet<Inst> = FxHashSet::default();
    let mut others: FxHashSet<Inst> = FxHashSet::default();
    let mut written: FxHashSet<(Inst, i64)> = FxHashSet::default();
    let mut parameter_of: FxHashMap<Inst, usize> = FxHashMap::default();
    for (_, inst) in cx.instructions() {
        let data = &function.insts[inst];
        if !matches!(&data.op, Op::Store(a) if a.space == Space::Local) {
            continue;
        }
        let Some((alloca, offsets)) = private_array(function, data.args[0]) else {
            continue;
        };
        let at = offsets.iter().try_fold(0i64, |sum, &offset| {
            sum.checked_add(function.int_constant(offset)?)
        });
        let mut values = data.args[1..].iter();
        let constant = values.all(|&value| {
            function.defining(value).is_some_and(|computed| {
                matches!(computed.op, Op::Const(_)) || crate::cost::is_folded(function, computed)
            })
        });
        // A pointer among the members is a generic one in the array.
        let passed: Vec<Value> = data.args[1..].iter().map(|&v| below(function, v)).collect();
        let given = function.parameters.iter().position(|parameter| {
            !passed.is_empty() && passed.iter().all(|v| parameter.values.contains(v))
        });
        // The members of one parameter, side by side as they were passed: a kernel's parameters lie in
        // constant memory, and those of a device function are a finding of its caller.
        let found = given
            .filter(|_| matches!(function.kind, FunctionKind::Kernel | FunctionKind::Device))
            .is_some_and(|given| *parameter_of.entry(alloca).or_insert(given) == given);
        // A large parameter of the kernel is copied because code out of sight may change it.
        let copied = data.args[1..].iter().all(|&value| {
            let read = function.defining(value).map(|data| &data.op);
            matches!(read, Some(Op::Load(access)) if access.space == Space::Constant)
        });
        match at {
            _ if copied => tables.insert(alloca),
            Some(at) if (constant || found) && written.insert((alloca, at)) => {
                tables.insert(alloca)
            }
            _ => others.insert(alloca),
        };
    }
    tables.retain(|alloca| !others.contains(alloca));
    tables
}

/// Returns whether only an instantiation determines which element of a private array this value is:
/// `ids[dim]` of a template's `dim`.
pub(super) fn element_of_an_instantiation(cx: &Context<'_>, value: Value) -> bool {
    let Some(data) = cx.function.defining(value) else {
        return false;
    };
    if !matches!(&data.op, Op::Load(a) if a.space == Space::Local) {
        return false;
    }
    let Some((_, offsets)) = private_array(cx.function, data.args[0]) else {
        return false;
    };
    let mut open = offsets
        .iter()
        .filter(|&&o| cx.function.int_constant(o).is_none());
    let symbolic = |offset: Value| {
        let mut work = vec![offset];
        let mut found = false;
        for _ in 0..16 {
            let Some(data) = work.pop().and_then(|value| cx.function.defining(value)) else {
                break;
            };
            found |= matches!(data.op, Op::Parameter(_));
            work.extend(data.args.iter().copied());
        }
        found
    };
    let Some(block) = cx.block_of_value(value) else {
        return false;
    };
    open.any(|&offset| symbolic(offset) && known_after_unrolling(cx, offset, block))
}

/// The array below an address, and the offsets added on the way.
fn private_array(function: &Function, mut address: Value) -> Option<(Inst, Vec<Value>)> {
    let mut offsets = Vec::new();
    for _ in 0..64 {
        let ValueDef::Result(inst, _) = function.values[address].def else {
            return None;
        };
        match function.insts[inst].op {
            Op::Alloca { .. } => return Some((inst, offsets)),
            Op::PtrAdd => {
                offsets.push(function.insts[inst].args[1]);
                address = function.insts[inst].args[0];
            }
            Op::Convert(_) => address = function.insts[inst].args[0],
            _ => return None,
        }
    }
    None
}

/// Constants and counters of loops with a constant number of rounds, and values computed from them alone; at
/// a block. Where a loop may end earlier its counters are known in it, and not behind it.
fn known_after_unrolling(cx: &Context<'_>, value: Value, at: Block) -> bool {
    const ROUNDS: u64 = 128;
    let mut work = vec![(value, at)];
    let mut seen = FxHashSet::default();
    while let Some((value, at)) = work.pop() {
        if !seen.insert((value, at)) {
            continue;
        }
        if seen.len() > 256 {
            return false;
        }
        match cx.function.values[value].def {
            // If callers pass literals the index is known; if they do not, it is their finding.
            ValueDef::Param(block, _)
                if block == cx.function.entry() && cx.function.kind == FunctionKind::Device => {}
            ValueDef::Param(block, number) => {
                let counted = is_unrolled(cx, block, at);
                if !counted {
                    let more = chosen_among(cx, block, number)
                        .or_else(|| left_by_what_is_known(cx, block, number, ROUNDS));
                    let Some(more) = more else {
                        return false;
                    };
                    work.extend(more.into_iter().map(|value| (value, block)));
                    continue;
                }
                for &before in &cx.flow.predecessors[block] {
                    for edge in cx.function.blocks[before].terminator.edges() {
                        if edge.block == block {
                            let arg = edge.args.get(number as usize);
                            work.extend(arg.map(|&arg| (arg, before)));
                        }
                    }
                }
            }
            ValueDef::Result(inst, _) => {
                let data = &cx.function.insts[inst];
                let at = cx.block_of[inst].unwrap_or(at);
                match data.op {
                    Op::Const(_) => {}
                    Op::Parameter(_) => {}
                    // What the author wrote there may well be a constant.
                    Op::Unknown(_) | Op::CallUnknown { .. } => {}
                    Op::Binary(..) if number_of_the_round(cx, data).is_some() => {
                        work.extend(number_of_the_round(cx, data).map(|value| (value, at)));
                    }
                    Op::Unary(_)
                    | Op::Binary(..)
                    | Op::Convert(_)
                    | Op::Select
                    | Op::IntCompare(_)
                    | Op::Fma
                    | Op::Ternary(_)
                    | Op::PtrAdd => {
                        work.extend(data.args.iter().map(|&arg| (arg, at)));
                    }
                    _ => return false,
                }
            }
        }
    }
    true
}

/// A block is in the loop of a header.
fn is_within(cx: &Context<'_>, block: Block, header: Block) -> bool {
    let forest = cx.forest();
    let mut loops = forest.loops.iter();
    loops.any(|(own, it)| it.header == header && forest.contains(own, block))
}

/// Returns the operands of a value of a loop's header, with those of the loop's end: if all of them are
/// known, so are the rounds, and the loop may be unrolled. `None`: it has more than `most` rounds, or is no
/// header.
fn left_by_what_is_known(
    cx: &Context<'_>,
    header: Block,
    number: u32,
    most: u64,
) -> Option<Vec<Value>> {
    let function = cx.function;
    let forest = cx.forest();
    let (own, _) = forest.loops.iter().find(|(_, it)| it.header == header)?;
    let fact = cx.facts.loops.iter().find(|l| l.header == header);
    if fact.and_then(|l| l.count).is_some_and(|count| count > most) {
        return None;
    }
    let mut found = Vec::new();
    for &before in &cx.flow.predecessors[header] {
        let edges = function.blocks[before].terminator.edges();
        for edge in edges.iter().filter(|edge| edge.block == header) {
            found.push(*edge.args.get(number as usize)?);
        }
    }
    for &block in cx
        .flow
        .order
        .iter()
        .filter(|&&block| forest.contains(own, block))
    {
        let mut next = cx.flow.successors[block].iter();
        if next.any(|&next| !forest.contains(own, next)) {
            found.push(function.blocks[block].terminator.selector()?);
        }
    }
    Some(found)
}

/// `i / T` in `for (i = t % T; i < n; i += T)` is the number of the round, whatever `t` is. The limit of the loop.
fn number_of_the_round(cx: &Context<'_>, data: &ir::InstData) -> Option<Value> {
    let function = cx.function;
    let below = |mut value: Value| {
        while let Some(data) = function.defining(value)
            && matches!(data.op, Op::Convert(_))
        {
            value = data.args[0];
        }
        value
    };
    let same = |a: Value, b: Value| {
        let (a, b) = (below(a), below(b));
        a == b
            || function
                .int_constant(a)
                .is_some_and(|n| function.int_constant(b) == Some(n))
    };
    let Op::Binary(BinaryOp::DivSigned | BinaryOp::DivUnsigned, _) = data.op else {
        return None;
    };
    let (counter, divisor) = (below(data.args[0]), data.args[1]);
    let ValueDef::Param(header, number) = function.values[counter].def else {
        return None;
    };
    for &before in &cx.flow.predecessors[header] {
        for edge in function.blocks[before].terminator.edges() {
            if edge.block != header {
                continue;
            }
            let arriving = function.defining(below(*edge.args.get(number as usize)?))?;
            let (a, b) = (*arriving.args.first()?, *arriving.args.get(1)?);
            let fits = match arriving.op {
                Op::Binary(BinaryOp::Add, _) => below(a) == counter && same(b, divisor),
                Op::Binary(BinaryOp::RemSigned | BinaryOp::RemUnsigned, _) => same(b, divisor),
                _ => false,
            };
            if !fits {
                return None;
            }
        }
    }
    let selector = function.blocks[header].terminator.selector()?;
    let compare = function.defining(selector)?;
    let sides = compare.args.iter().copied();
    let mut limits = sides.filter(|&side| below(side) != counter);
    limits
        .next()
        .filter(|_| matches!(compare.op, Op::IntCompare(_)))
}

/// A branch to which every round comes leaves the loop by constants, template parameters and its own counters
/// alone, which advance by such: an instantiation unrolls it, whichever way else it is left. A value that is
/// not understood may well be a constant.
fn counts_to_a_constant(cx: &Context<'_>, header: Block) -> bool {
    const ROUNDS: u64 = 128;
    // Loops that may end earlier are unrolled unasked where they are short.
    const SHORT: u64 = 64;
    let function = cx.function;
    let forest = cx.forest();
    let Some((own, _)) = forest.loops.iter().find(|(_, it)| it.header == header) else {
        return false;
    };
    // A loop with a request is unrolled up to its bound, with a test before each copy.
    let mut asked = function.loops.iter();
    let asked = asked.any(|it| it.header == header && it.unroll.is_some());
    let most = if asked { ROUNDS } else { SHORT };
    let mut loops = cx.facts.loops.iter();
    let bounded = loops.any(|l| l.header == header && l.at_most.is_some_and(|bound| bound <= most));
    if bounded {
        return true;
    }
    let arriving = |number: u32| {
        let before = cx.flow.predecessors[header].iter();
        let edges = before.flat_map(|&before| function.blocks[before].terminator.edges());
        let edges = edges.filter(|edge| edge.block == header);
        edges
            .filter_map(|edge| edge.args.get(number as usize).copied())
            .collect()
    };
    let mut exits = cx.flow.order.iter().filter(|&&block| {
        let mut next = cx.flow.successors[block].iter();
        forest.contains(own, block) && next.any(|&next| !forest.contains(own, next))
    });
    exits.any(|&exit| {
        let terminator = &function.blocks[exit].terminator;
        // If several conditions must all hold, one suffices to end the loop, provided that every round comes
        // to it.
        let stays = matches!(terminator, Terminator::Branch { then, .. } if forest.contains(own, then.block));
        let always = cx.flow.predecessors[header].iter().all(|&back| {
            !forest.contains(own, back) || cx.dominators().dominates(exit, back)
        });
        let mut conditions: Vec<Value> = terminator.selector().into_iter().collect();
        conditions.retain(|_| always);
        for _ in 0..8 {
            let Some(condition) = conditions.pop() else {
                break;
            };
            let parts = match function.defining(condition) {
                Some(data) if stays && matches!(data.op, Op::Binary(BinaryOp::And, _)) => {
                    Some(data.args.to_vec())
                }
                None if stays => both(function, &cx.flow, condition).map(Vec::from),
                _ => None,
            };
            if let Some(parts) = parts {
                conditions.extend(parts);
                continue;
            }
            let symbolic = of_an_instantiation(cx, header, vec![condition], arriving);
            if symbolic == Some(true) {
                return true;
            }
        }
        false
    })
}

/// Returns whether values computed from constants, template parameters and a loop's own counters alone leave
/// anything to an instantiation; `None` if they are computed from anything else. `counter` gives the values
/// to look at in place of a counter, by its number.
fn of_an_instantiation(
    cx: &Context<'_>,
    header: Block,
    values: Vec<Value>,
    counter: impl Fn(u32) -> Vec<Value>,
) -> Option<bool> {
    let mut symbolic = false;
    let mut work = values;
    let mut seen = FxHashSet::default();
    while let Some(value) = work.pop() {
        if !seen.insert(value) {
            continue;
        }
        if seen.len() > 64 {
            return None;
        }
        match cx.function.values[value].def {
            ValueDef::Param(block, number) if block == header => work.extend(counter(number)),
            ValueDef::Param(block, number) => work.extend(chosen_among(cx, block, number)?),
            ValueDef::Result(inst, _) => {
                let data = &cx.function.insts[inst];
                match data.op {
                    Op::Const(_) => {}
                    // Its operands tell nothing of it.
                    Op::Parameter(_) | Op::Unknown(_) | Op::CallUnknown { .. } => symbolic = true,
                    Op::Unary(_)
                    | Op::Binary(..)
                    | Op::Convert(_)
                    | Op::IntCompare(_)
                    | Op::Select => {
                        work.extend(data.args.iter().copied());
                    }
                    _ => return None,
                }
            }
        }
    }
    Some(symbolic)
}

/// Returns the operands of a value that merges behind branches: the incoming values, and the conditions of
/// the ways; `None` at the header of a loop. So is a `constexpr` function of template arguments.
pub(super) fn chosen_among(cx: &Context<'_>, join: Block, number: u32) -> Option<Vec<Value>> {
    const STEPS: usize = 32;
    let &merged = cx.function.blocks[join].params.get(number as usize)?;
    let origin = strides::origin(cx, merged);
    if origin != merged {
        return Some(vec![origin]);
    }
    let dominators = cx.dominators();
    let stop = dominators.immediate(join)?;
    let mut found = Vec::new();
    for &before in &cx.flow.predecessors[join] {
        // A way back: the join is a loop's header.
        if cx.flow.position[before] >= cx.flow.position[join] {
            return None;
        }
        for edge in cx.function.blocks[before].terminator.edges() {
            if edge.block == join {
                found.push(*edge.args.get(number as usize)?);
            }
        }
        let mut at = before;
        for step in 0.. {
            found.extend(cx.function.blocks[at].terminator.selector());
            if at == stop {
                break;
            }
            at = dominators.immediate(at).filter(|_| step < STEPS)?;
        }
    }
    Some(found)
}

/// The branches that leave the loop depend on its own counters, constants, template parameters, and unknown
/// values: an instantiation counts it.
fn ends_at_a_constant(cx: &Context<'_>, header: Block) -> bool {
    let from = cx.flow.position[header];
    let mut work: Vec<Value> = Vec::new();
    for &block in &cx.flow.order {
        let leaves = cx.flow.position[block] >= from
            && cx.flow.successors[block].len() > 1
            && cx.facts.loops.iter().any(|l| {
                l.header == header && matches!(l.cause, Cause::Operand(v) if cx.function.blocks[block].terminator.selector() == Some(v))
            });
        if block == header || leaves {
            work.extend(cx.function.blocks[block].terminator.selector());
        }
    }
    of_an_instantiation(cx, header, work, |_| Vec::new()) == Some(true)
}
