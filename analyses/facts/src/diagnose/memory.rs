//! Rules about memory: sectors, banks, atomics on one address.

use super::partial::Partial;
use super::rounds::below;
use super::{Context, arrays, convergence, finding, rounds, side_by_side};
use crate::active::is_rank;
use crate::model::*;
use crate::words;
use ir::lower::c_family::builtins::hlsl::extensions;
use ir::{
    AtomicOp, BinaryOp, Block, Function, FunctionKind, Inst, IntCondition, Language, Op, Space,
    Special, Terminator, Type, Value, ValueDef,
};
use rustc_hash::{FxHashMap, FxHashSet};

pub(super) fn findings(cx: &Context<'_>, out: &mut Vec<Finding>) {
    coalescing(cx, out);
    banks(cx, out);
    atomics(cx, out);
}

/// Strided accesses to device memory, unless the accesses of one block to the same array use the sectors together (the
/// fields of one structure).
fn coalescing(cx: &Context<'_>, out: &mut Vec<Finding>) {
    let mut together: FxHashMap<Together<'_>, u64> = FxHashMap::default();
    for access in cx
        .facts
        .accesses
        .iter()
        .filter(|a| a.space == Space::Global)
    {
        *together.entry(used_with(cx, access)).or_default() += u64::from(access.bytes);
    }
    let warp = words::warp(cx.function.language);
    let rows = of_rows(cx);
    let mut fields = None;
    // What nobody knows of one array is told once.
    let mut unknown: FxHashSet<(&str, &str)> = FxHashSet::default();
    for access in cx
        .facts
        .accesses
        .iter()
        .filter(|a| a.space == Space::Global)
    {
        if access.class != AccessClass::Strided
            || matches!(access.kind, AccessKind::Atomic(_))
            || cx.left_to_callers(access.address)
            || is_of_unknown_size(cx, access)
        {
            continue;
        }
        let block = cx.block_of[access.inst];
        if block.is_some_and(|block| rounds::in_a_rest(cx, block)) {
            continue;
        }
        let related = block
            .map(|b| cx.chain(access.address, b))
            .unwrap_or_default();
        let base = Context::quoted(&access.base, "this access");
        let verb = if access.kind == AccessKind::Store {
            "written"
        } else {
            "read"
        };
        match (access.stride_bytes, access.sectors) {
            (Some(stride), Some(sectors)) => {
                let used = together.get(&used_with(cx, access)).copied().unwrap_or(0);
                let half = stride.unsigned_abs().div_ceil(2);
                let fields = fields.get_or_insert_with(|| Fields::of(cx));
                let shared = used >= half || fields.of_a_round(cx, access, half) >= half;
                if !is_waste(access, sectors) || shared {
                    continue;
                }
                // Two rounds take a sector, however far the next lane's is.
                let whole_sectors = u64::from(access.bytes) * 2 >= 32;
                if let Some(bytes) = side_by_side::bytes_side_by_side(cx, access)
                    && (whole_sectors && bytes >= 32
                        || stride.unsigned_abs() <= 64
                            && bytes.saturating_mul(2) >= stride.unsigned_abs())
                {
                    if (bytes == 8 || bytes == 16)
                        && stride.unsigned_abs().is_multiple_of(bytes)
                        && in_every_round(cx, access)
                    {
                        let message = format!(
                            "{base} is {verb} {} bytes at a time, with a stride of {stride} bytes between lanes; the iterations of the loop together use what moves: one vector access of {bytes} bytes a lane does it at once, where the address is aligned",
                            access.bytes
                        );
                        let code = Code::UncoalescedAccess;
                        out.push(finding(code, Tier::Hint, access.loc, message, related));
                    }
                    continue;
                }
                let share = 100 * access.ideal_sectors / sectors.max(1);
                let message = format!(
                    "{base} is {verb} with a stride of {stride} bytes between lanes{rows}: {sectors} sectors a {warp}, ideal {} ({share} % of what moves is used)",
                    access.ideal_sectors
                );
                let tier = if sectors >= access.ideal_sectors.saturating_mul(4) {
                    Tier::Warning
                } else {
                    Tier::Hint
                };
                out.push(finding(
                    Code::UncoalescedAccess,
                    tier,
                    access.loc,
                    message,
                    related,
                ));
            }
            (None, Some(sectors)) => {
                if !is_waste(access, sectors) {
                    continue;
                }
                let distance = match access.stride_text.as_str() {
                    "" => "in pieces that lie apart".to_owned(),
                    stride => format!("with a stride of `{stride}` bytes between lanes"),
                };
                let message = format!(
                    "{base} is {verb} {distance}{rows}: {sectors} sectors a {warp}, ideal {}",
                    access.ideal_sectors
                );
                out.push(finding(
                    Code::UncoalescedAccess,
                    Tier::Hint,
                    access.loc,
                    message,
                    related,
                ));
            }
            // The size of a type that is not known here says nothing, nor does a factor without a name.
            _ if !matches!(access.stride_text.as_str(), "" | "?")
                && !access.stride_text.contains("sizeof(")
                && !is_of_an_instantiation(cx, &access.stride_text)
                && !is_dense_as_launched(cx, access)
                && (access.base.is_empty()
                    || unknown.insert((&access.base, &access.stride_text))) =>
            {
                // A sum of which a part has no name.
                let stride = match access.stride_text.contains('?') {
                    true => format!("a stride between lanes{rows} that"),
                    false => format!(
                        "a stride of `{}` bytes between lanes{rows}, which",
                        access.stride_text
                    ),
                };
                let message = format!(
                    "{base} is {verb} with {stride} is not known here: one sector a lane where it is 32 bytes or more, ideal {} a {warp}",
                    access.ideal_sectors
                );
                out.push(finding(
                    Code::UncoalescedAccess,
                    Tier::Hint,
                    access.loc,
                    message,
                    related,
                ));
            }
            _ => {}
        }
    }
}

/// What is assumed of warps where threads of several rows may be in one.
fn of_rows(cx: &Context<'_>) -> &'static str {
    let in_rows = |data: &ir::InstData| {
        matches!(
            data.op,
            Op::Special(Special::ThreadId(1) | Special::ThreadId(2))
        )
    };
    let one_row = cx.size(1) == Some(1) && cx.size(2) == Some(1);
    match cx.size(0).is_none() && !one_row && cx.function.insts.values().any(in_rows) {
        true => " where the rows of the block are whole warps",
        false => "",
    }
}

/// All that the stride is made of are template parameters: an instantiation may well access as many bytes at once.
fn is_of_an_instantiation(cx: &Context<'_>, stride: &str) -> bool {
    let parameter = |name: &str| {
        let mut insts = cx.function.insts.values();
        insts.any(|data| matches!(&data.op, Op::Parameter(own) if own == name))
    };
    let named = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':');
    let mut names = stride
        .split(|c: char| !named(c))
        .filter(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'));
    names.all(parameter)
}

/// `4*step` bytes, where all launches in sight pass 1 for `step`.
fn is_dense_as_launched(cx: &Context<'_>, access: &AccessFact) -> bool {
    let factors = access.stride_text.split('*').map(|factor| {
        let number = factor.parse::<i64>().ok();
        number.or_else(|| {
            let mut parameters = cx.function.parameters.iter();
            let at = parameters.position(|parameter| parameter.name == factor)?;
            let mut passed = cx.facts.options.passed.iter();
            let found = passed.find(|(parameter, _)| usize::try_from(*parameter) == Ok(at))?;
            Some(found.1)
        })
    });
    let stride = factors.reduce(|product, factor| product?.checked_mul(factor?));
    let dense = u64::from(access.bytes);
    stride
        .flatten()
        .is_some_and(|stride| stride.unsigned_abs() <= dense)
}

/// What is accessed has a type that is not known here: its lanes may well lie side by side.
fn is_of_unknown_size(cx: &Context<'_>, access: &AccessFact) -> bool {
    let data = &cx.function.insts[access.inst];
    let moved = match access.kind {
        AccessKind::Load => &data.results[..],
        AccessKind::Store => data.args.get(1..).unwrap_or_default(),
        AccessKind::Atomic(_) => {
            let args = data.args.get(1..).unwrap_or_default();
            return [args, &data.results]
                .into_iter()
                .flatten()
                .any(|&value| cx.function.ty(value) == Type::Opaque);
        }
    };
    let mut moved = moved.iter();
    moved.any(|&value| cx.function.ty(value) == Type::Opaque)
}

/// The access is made in every round of the loop around it.
fn in_every_round(cx: &Context<'_>, access: &AccessFact) -> bool {
    let Some(block) = cx.block_of[access.inst] else {
        return false;
    };
    let forest = cx.forest();
    forest.of(block).is_none_or(|own| {
        let mut back = cx.flow.predecessors[forest.loops[own].header].iter();
        back.all(|&back| !forest.contains(own, back) || cx.dominators().dominates(block, back))
    })
}

/// Array, stride, and block: what is accessed together uses the sectors together.
type Together<'a> = (&'a str, Value, Option<i64>, Option<Block>);

fn used_with<'a>(cx: &Context<'_>, access: &'a AccessFact) -> Together<'a> {
    // What has no name is told by where its address begins; a descriptor is often fetched again for each access.
    let mut base = access.address;
    let fetched = loop {
        match cx.function.defining(base) {
            Some(data) if matches!(data.op, Op::PtrAdd) => base = data.args[0],
            Some(data) => break matches!(data.op, Op::ResourceElement { .. }),
            None => break false,
        }
    };
    if fetched || !access.base.is_empty() {
        base = Value(0);
    }
    let block = cx.block_of[access.inst].map(|block| first_of_its_kind(cx, block));
    (&access.base, base, access.stride_bytes, block)
}

/// The first of the blocks that are executed where and as often as this one.
fn first_of_its_kind(cx: &Context<'_>, block: Block) -> Block {
    let forest = cx.forest();
    let mut at = block;
    while let Some(before) = cx.dominators().immediate(at)
        && cx.post_dominators.dominates(at, before)
        && forest.of(before) == forest.of(at)
    {
        at = before;
    }
    at
}

/// A part of a structure that lanes access a stride apart.
struct Field {
    inst: Inst,
    /// Beside what is computed.
    offset: i64,
    bytes: u32,
    /// With its neighbours, which other rounds of a loop access.
    row: u32,
}

/// The fields by array and stride, in the order of their offsets.
struct Fields<'a>(FxHashMap<(&'a str, Value, Option<i64>), Vec<Field>>);

impl<'a> Fields<'a> {
    fn of(cx: &'a Context<'_>) -> Fields<'a> {
        let mut fields: FxHashMap<_, Vec<Field>> = FxHashMap::default();
        for access in cx.facts.accesses.iter() {
            if access.stride_bytes.is_none() {
                continue;
            }
            let (name, base, stride, _) = used_with(cx, access);
            let row = side_by_side::bytes_side_by_side(cx, access).unwrap_or(0);
            fields.entry((name, base, stride)).or_default().push(Field {
                inst: access.inst,
                offset: constant_part(cx.function, access.address, 16),
                bytes: access.bytes,
                row: access.bytes.max(row.min(64) as u32),
            });
        }
        for fields in fields.values_mut() {
            fields.sort_by_key(|field| field.offset);
        }
        Fields(fields)
    }

    /// The bytes of one structure that a round of the loop accesses, on whichever way, and the loops in it; as far as they
    /// are wanted.
    fn of_a_round(&self, cx: &Context<'_>, access: &AccessFact, wanted: u64) -> u64 {
        let (name, base, stride, _) = used_with(cx, access);
        let (Some(block), Some(fields)) =
            (cx.block_of[access.inst], self.0.get(&(name, base, stride)))
        else {
            return 0;
        };
        let forest = cx.forest();
        let own = forest.of(block);
        let own_offset = constant_part(cx.function, access.address, 16);
        let reach = stride.unwrap_or(0).unsigned_abs().min(i64::MAX as u64) as i64;
        let first =
            fields.partition_point(|field| field.offset <= own_offset.saturating_sub(reach));
        let near = fields[first..]
            .iter()
            .take_while(|field| field.offset < own_offset.saturating_add(reach));
        let mut found: FxHashMap<i64, u32> = FxHashMap::default();
        let mut sum = 0;
        for field in near {
            let at = cx.block_of[field.inst];
            if own.is_none_or(|own| at.is_some_and(|at| forest.contains(own, at))) {
                // The elements of an array in it, one a round.
                let bytes = match field.inst == access.inst {
                    true => field.bytes,
                    false => field.row,
                };
                let known = found.entry(field.offset).or_default();
                sum += u64::from(bytes.saturating_sub(*known));
                *known = bytes.max(*known);
                if sum >= wanted {
                    break;
                }
            }
        }
        sum
    }
}

/// The number that an address has beside what is computed.
fn constant_part(function: &Function, value: Value, depth: u32) -> i64 {
    if let Some(constant) = function.int_constant(value) {
        return constant;
    }
    let (Some(depth), Some(data)) = (depth.checked_sub(1), function.defining(value)) else {
        return 0;
    };
    let part = |number: usize| constant_part(function, data.args[number], depth);
    match data.op {
        Op::PtrAdd | Op::Binary(BinaryOp::Add, _) => part(0).wrapping_add(part(1)),
        Op::Binary(BinaryOp::Sub, _) => part(0).wrapping_sub(part(1)),
        Op::Convert(_) => part(0),
        Op::Binary(BinaryOp::Mul, _) => match function.int_constant(data.args[1]) {
            Some(by) => part(0).wrapping_mul(by),
            None => 0,
        },
        _ => 0,
    }
}

/// Twice the sectors that the bytes need; a few lanes alone must cost more than their own few sectors.
fn is_waste(access: &AccessFact, sectors: u32) -> bool {
    let least = access.ideal_sectors;
    sectors >= least.saturating_mul(2) && (!access.partial || sectors >= least.saturating_add(4))
}

fn banks(cx: &Context<'_>, out: &mut Vec<Finding>) {
    let mut together: FxHashMap<(&str, Option<i64>, Option<Block>), u64> = FxHashMap::default();
    for access in &cx.facts.accesses {
        *together
            .entry((&access.base, access.stride_bytes, cx.block_of[access.inst]))
            .or_default() += u64::from(access.bytes);
    }
    let rows = of_rows(cx);
    let mut warp = None;
    for access in cx
        .facts
        .accesses
        .iter()
        .filter(|a| a.space == Space::Shared)
    {
        // Two passes of an irregular pattern are what a padded row costs.
        let least = if access.stride_bytes.is_some() { 2 } else { 4 };
        let Some(ways) = access.bank_ways.filter(|&ways| ways >= least) else {
            if access.bank_ways.is_none() && !cx.left_to_callers(access.address) {
                symbolic_banks(access, out);
            }
            continue;
        };
        if cx.left_to_callers(access.address) || is_of_unknown_size(cx, access) {
            continue;
        }
        // Neighbours that are read together become one wide access.
        let beside = (
            access.base.as_str(),
            access.stride_bytes,
            cx.block_of[access.inst],
        );
        if let (Some(stride), false) = (access.stride_bytes, access.base.is_empty())
            && stride.unsigned_abs() <= 16
            && together.get(&beside).copied().unwrap_or(0) >= stride.unsigned_abs()
        {
            continue;
        }
        // So do those of a longer row, in pieces of 16 bytes.
        let wide = access.wide_ways.filter(|_| {
            !access.base.is_empty()
                && (together.get(&beside).copied().unwrap_or(0) >= 16
                    && access.stride_bytes.is_some()
                    || side_by_side::bytes_side_by_side(cx, access).unwrap_or(0) >= 16)
        });
        let ways = match wide {
            Some(..4) => continue,
            Some(ways) => ways,
            None => ways,
        };
        let stride = access
            .stride_bytes
            .map(|s| format!(" (stride {s} bytes)"))
            .unwrap_or_default();
        // One component of wide elements: rows that are longer by an element leave it in the same banks.
        let of_wide = access.granule.is_some_and(|granule| {
            granule > access.bytes && granule < 32 && ways <= granule.div_ceil(4)
        });
        let advice = match access.stride_bytes.map(i64::unsigned_abs) {
            // A row has at least the words of a quarter of the banks; what is shorter is a structure or a vector.
            Some(distance) if distance < 32 => "; keep its components in arrays of their own",
            None if of_wide => "; keep its components in arrays of their own",
            None if ways == 2 => "",
            // Rows that begin one element later each may still meet: `(lane % 4) * 2 * width + lane / 4`.
            None if wide.is_none() && access.padded_ways.is_some_and(|left| left * 2 > ways) => {
                "; pad the row by more than one element, or permute its elements"
            }
            // A row stays aligned for its wide accesses.
            _ if access.bytes == 16 || wide.is_some() => "; pad the row by 16 bytes",
            _ if access.bytes == 8 => "; pad the row by 8 bytes",
            _ => "; pad the row by one element",
        };
        // Wide accesses are made in pieces of the warp, each of which has the conflict.
        let passes = match access.bytes {
            ..=4 if wide.is_none() => "passes",
            _ => "times the passes",
        };
        // A few lanes may be fewer still.
        let some = access.partial
            || cx.block_of[access.inst].is_some_and(|block| {
                let warp = warp.get_or_insert_with(|| cx.partial(Scope::Subgroup));
                some_lanes_of_a_block(cx, warp, block)
            });
        let takes = match some {
            true => "takes up to",
            false => "takes",
        };
        let message = format!(
            "{ways}-way bank conflict{stride}{rows}: the access to {} {takes} {ways} {passes}{advice}",
            Context::quoted(&access.base, "shared memory")
        );
        out.push(finding(
            Code::BankConflict,
            Tier::Hint,
            access.loc,
            message,
            Vec::new(),
        ));
    }
}

/// A branch above splits the lanes by something else than the end of the data, at which few of the grid's blocks are.
fn some_lanes_of_a_block(cx: &Context<'_>, warp: &Partial, block: Block) -> bool {
    warp.edges_to(block).iter().any(|&(branch, _)| {
        let lanes = cx.facts.branch(branch).and_then(|fact| fact.lanes);
        let selector = cx.function.blocks[branch].terminator.selector();
        lanes.is_none() && selector.is_some_and(|selector| !counts_blocks(cx.function, selector))
    })
}

/// A comparison with a number of the grid's threads.
fn counts_blocks(function: &Function, condition: Value) -> bool {
    let (mut work, mut seen) = (vec![condition], FxHashSet::default());
    while let Some(value) = work.pop() {
        if !seen.insert(value) || seen.len() > 64 {
            continue;
        }
        let Some(data) = function.defining(value) else {
            continue;
        };
        match data.op {
            Op::Special(Special::BlockId(_)) => return true,
            Op::Binary(BinaryOp::RemSigned | BinaryOp::RemUnsigned, _) | Op::Load(_) => {}
            _ => work.extend(data.args.iter().copied()),
        }
    }
    false
}

/// `8*s`: whatever the uniform factor is, lanes that are as far apart as the constant one says share banks.
fn symbolic_banks(access: &AccessFact, out: &mut Vec<Finding>) {
    let Some((factor, name)) = access.stride_text.split_once('*') else {
        return;
    };
    let named = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let Some(factor) = factor
        .parse::<u64>()
        .ok()
        .filter(|_| name.chars().all(named))
    else {
        return;
    };
    // Wide accesses are made in pieces of the warp: a stride of their own width has no conflict.
    let dense = u64::from(access.bytes.max(4));
    if !factor.is_multiple_of(2 * dense) || !factor.is_power_of_two() || access.lanes < 2 {
        return;
    }
    let most = access.lanes.min(32);
    let message = format!(
        "bank conflicts (stride `{}` bytes): the access to {} takes at least {} passes when all lanes are there, and up to {most} as `{name}` grows; let neighbouring lanes access neighbouring words",
        access.stride_text,
        Context::quoted(&access.base, "shared memory"),
        (factor / dense).min(u64::from(most)),
    );
    let code = Code::BankConflict;
    out.push(finding(code, Tier::Hint, access.loc, message, Vec::new()));
}

/// What ptxas makes one operation a warp by itself, where the address is the same in all lanes: a number that is added (lanes
/// are counted, those below tell what each one finds), and 32-bit integers whose old value nobody reads (`REDUX`, from sm_80
/// on).
fn is_merged_by_the_compiler(
    function: &Function,
    used: &FxHashSet<Value>,
    inst: Inst,
    op: AtomicOp,
) -> bool {
    if !matches!(function.language, Language::Cuda | Language::Ptx) {
        return false;
    }
    let data = &function.insts[inst];
    let Some(&operand) = data.args.get(1) else {
        return false;
    };
    let unread = data.results.iter().all(|result| !used.contains(result));
    match op {
        AtomicOp::Add | AtomicOp::Sub => {
            function.int_constant(operand).is_some() || unread && function.ty(operand) == Type::I32
        }
        AtomicOp::MinSigned
        | AtomicOp::MaxSigned
        | AtomicOp::MinUnsigned
        | AtomicOp::MaxUnsigned
        | AtomicOp::And
        | AtomicOp::Or
        | AtomicOp::Xor => unread && function.ty(operand) == Type::I32,
        _ => false,
    }
}

/// What any instruction or terminator reads.
pub(super) fn values_read(function: &Function) -> FxHashSet<Value> {
    let mut read = FxHashSet::default();
    for block in &function.layout {
        let data = &function.blocks[*block];
        for &inst in &data.insts {
            read.extend(function.insts[inst].args.iter().copied());
            read.extend(function.insts[inst].guard.map(|guard| guard.value));
        }
        read.extend(data.terminator.selector());
        if let Terminator::Return(values) = &data.terminator {
            read.extend(values.iter().copied());
        }
        for edge in data.terminator.edges() {
            read.extend(edge.args.iter().copied());
        }
    }
    read
}

/// `error_count`, `g.overflow`, `numFailed`: it is not counted when all goes well.
fn counts_failures(base: &str) -> bool {
    let lower = base.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphabetic());
    ["error", "fail", "overflow", "invalid"]
        .iter()
        .any(|word| lower.contains(word))
        || words.any(|word| matches!(word, "err" | "errs" | "bad" | "wrong"))
}

fn atomics(cx: &Context<'_>, out: &mut Vec<Finding>) {
    // Whether all lanes or one calls a function, its callers tell.
    if cx.function.kind == FunctionKind::Device {
        return;
    }
    let (mut warp, mut read) = (None, None);
    for access in &cx.facts.accesses {
        let AccessKind::Atomic(op) = access.kind else {
            continue;
        };
        // How a hidden counter is counted is the driver's own.
        if access.class != AccessClass::Uniform
            || access.lanes == 1
            || ir::is_counter(&access.base)
            || counts_failures(&access.base)
            || is_of_unknown_size(cx, access)
            // What looks like an atomic operation is an instruction to the driver.
            || extensions::is_driver_buffer(&access.base)
            || cx.left_to_callers(access.address)
        {
            continue;
        }
        let read = read.get_or_insert_with(|| values_read(cx.function));
        if is_merged_by_the_compiler(cx.function, read, access.inst, op) {
            continue;
        }
        let partial = warp.get_or_insert_with(|| cx.partial(Scope::Subgroup));
        if cx.block_of[access.inst].is_some_and(|block| {
            is_one_lane_of_an_instantiation(cx, partial, block)
                || holds_a_ticket(cx, partial, block)
                || is_elected(cx, partial, block)
        }) {
            continue;
        }
        let lanes = access.lanes;
        let warp = words::warp(cx.function.language);
        let who = match access.partial {
            true => format!("{lanes} lanes"),
            false => "all lanes".to_owned(),
        };
        let base = Context::quoted(&access.base, "memory");
        let message = match op {
            // What locks are made of: there is nothing to reduce.
            AtomicOp::Exchange | AtomicOp::CompareExchange => format!(
                "{who} of a {warp} contend for one address of {base}: up to {lanes} operations one after the other; where it is a lock, let one lane a {warp} take it"
            ),
            _ => format!(
                "{who} of a {warp} update one address of {base}: up to {lanes} operations one after the other; reduce within the {warp} first"
            ),
        };
        out.push(finding(
            Code::AtomicSameAddress,
            Tier::Hint,
            access.loc,
            message,
            Vec::new(),
        ));
    }
}

/// `if (__popc(__activemask() & lanes_below) == 0)`.
fn is_elected(cx: &Context<'_>, warp: &Partial, block: Block) -> bool {
    warp.edges_to(block).iter().any(|&(branch, target)| {
        let Terminator::Branch {
            condition, then, ..
        } = &cx.function.blocks[branch].terminator
        else {
            return false;
        };
        let asked = cx.function.defining(*condition);
        then.block == target
            && asked.is_some_and(|asked| {
                asked.op == Op::IntCompare(IntCondition::Equal)
                    && asked.args.iter().any(|&side| {
                        is_rank(cx.function, side, true, |vote| {
                            convergence::holds_on_the_way(cx, vote, branch)
                        })
                    })
                    && (asked.args.iter()).any(|&side| cx.uniform(side, branch, Scope::Subgroup))
            })
    })
}

/// `if (atomicAdd(&taken, 1) == 0)`: what an atomic operation found in memory is one number in one lane, but for numbers that
/// the others leave as they are.
fn holds_a_ticket(cx: &Context<'_>, warp: &Partial, block: Block) -> bool {
    let function = cx.function;
    let is_ticket = |value: Value| {
        let ValueDef::Result(inst, _) = function.values[below(function, value)].def else {
            return false;
        };
        let data = &function.insts[inst];
        matches!(
            data.op,
            Op::Atomic(
                AtomicOp::Add | AtomicOp::Sub | AtomicOp::Exchange | AtomicOp::CompareExchange,
                ..
            )
        ) && cx.block_of[inst].is_some_and(|at| cx.uniform(data.args[0], at, Scope::Subgroup))
    };
    warp.edges_to(block).iter().any(|&(branch, target)| {
        let Terminator::Branch {
            condition, then, ..
        } = &function.blocks[branch].terminator
        else {
            return false;
        };
        let (mut compare, mut holds) = (function.defining(*condition), then.block == target);
        while let Some(data) = compare
            && data.op == Op::Unary(ir::UnaryOp::Not)
        {
            (compare, holds) = (function.defining(data.args[0]), !holds);
        }
        let wanted = match holds {
            true => IntCondition::Equal,
            false => IntCondition::NotEqual,
        };
        compare.is_some_and(|data| {
            data.op == Op::IntCompare(wanted) && {
                let [a, b] = [data.args[0], data.args[1]];
                let same = |value: Value| cx.uniform(value, branch, Scope::Subgroup);
                // What an exchange expected, it found: it was made.
                is_ticket(a) && (same(b) || is_expected_by(function, b, a))
                    || is_ticket(b) && (same(a) || is_expected_by(function, a, b))
            }
        })
    })
}

/// Whether an exchange that compares gave `found` where it expected `value`.
fn is_expected_by(function: &Function, value: Value, found: Value) -> bool {
    function
        .defining(below(function, found))
        .is_some_and(|data| {
            matches!(data.op, Op::Atomic(AtomicOp::CompareExchange, _))
                && data.args.get(1).map(|&one| below(function, one)) == Some(below(function, value))
        })
}

/// `if (threadIdx.x % tile == 0)`, `if (group.rank() == 0)`: what is equal in how many lanes, only a template argument tells,
/// or a function that is not visible.
pub(super) fn is_one_lane_of_an_instantiation(
    cx: &Context<'_>,
    warp: &Partial,
    block: Block,
) -> bool {
    let function = cx.function;
    warp.edges_to(block).iter().any(|&(branch, target)| {
        let Terminator::Branch {
            condition, then, ..
        } = &function.blocks[branch].terminator
        else {
            return false;
        };
        let holds = then.block == target;
        let mut work = vec![*condition];
        for _ in 0..32 {
            let Some(value) = work.pop() else {
                return false;
            };
            let mut joined = Vec::new();
            if let ValueDef::Param(join, number) = function.values[value].def {
                joined.extend(arrays::chosen_among(cx, join, number).into_iter().flatten());
            }
            work.extend(joined);
            let Some(data) = function.defining(value) else {
                continue;
            };
            match data.op {
                Op::IntCompare(IntCondition::Equal)
                    if holds && compares_with_the_unknown(cx, data, branch) =>
                {
                    return true;
                }
                Op::IntCompare(IntCondition::NotEqual)
                    if !holds && compares_with_the_unknown(cx, data, branch) =>
                {
                    return true;
                }
                Op::Binary(BinaryOp::And, _) if holds => work.extend(data.args.iter().copied()),
                Op::Binary(BinaryOp::Or, _) if !holds => work.extend(data.args.iter().copied()),
                Op::Convert(_) => work.push(data.args[0]),
                _ => {}
            }
        }
        false
    })
}

/// Each side is uniform or computed from something unknown, and from nothing that is loaded; one is unknown.
fn compares_with_the_unknown(cx: &Context<'_>, compare: &ir::InstData, at: Block) -> bool {
    let unknown = |value: Value| {
        let (mut work, mut found) = (vec![value], false);
        let mut seen = FxHashSet::default();
        for _ in 0..64 {
            let Some(value) = work.pop() else {
                return found;
            };
            if !seen.insert(value) {
                continue;
            }
            // What rounds make of it is as unknown as what it begins with.
            if let ValueDef::Param(join, number) = cx.function.values[value].def {
                for &before in &cx.flow.predecessors[join] {
                    for edge in cx.function.blocks[before].terminator.edges() {
                        if edge.block == join {
                            work.extend(edge.args.get(number as usize).copied());
                        }
                    }
                }
            }
            let Some(data) = cx.function.defining(value) else {
                continue;
            };
            match data.op {
                Op::Parameter(_) | Op::Unknown(_) | Op::CallUnknown { .. } => found = true,
                Op::Load(_) | Op::Atomic(..) | Op::Texture(_) => return false,
                // What lanes vote on is theirs together; which lanes is the question.
                Op::Warp(_) => work.extend(data.args.iter().skip(1).copied()),
                _ => work.extend(data.args.iter().copied()),
            }
        }
        false
    };
    let [a, b] = [compare.args[0], compare.args[1]];
    let fits = |value: Value| cx.uniform(value, at, Scope::Subgroup) || unknown(value);
    fits(a) && fits(b) && (unknown(a) || unknown(b))
}
