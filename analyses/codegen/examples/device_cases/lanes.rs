//! A kernel for each operation across lanes, with all lanes and with every other, and for each atomic, on words of a lane
//! and on a shared word.

use crate::operations::{Operation, every, launch, numbers, open};
use ir::*;
use oracle::random::Random;

/// The lanes that take part.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Part {
    All,
    AllWithMask,
    OddWithMask,
    Odd,
}

pub(crate) fn across(out: &mut Vec<Operation>) {
    use WarpKind::*;
    let mut kinds = vec![
        (ShuffleIndex, 32),
        (ShuffleIndex, 8),
        (ShuffleUp, 32),
        (ShuffleUp, 4),
        (ShuffleDown, 32),
        (ShuffleDown, 16),
        (ShuffleXor, 32),
        (ShuffleXor, 8),
        (VoteAll, 0),
        (VoteAny, 0),
        (VoteUniform, 0),
        (Ballot, 0),
        (AllEqual, 0),
        (MatchAny, 0),
        (MatchAll, 0),
        (ReadFirstLane, 0),
        (ReadLaneAt, 3),
        (CountBits, 0),
        (PrefixCountBits, 0),
        (ActiveMask, 0),
        (IsFirstLane, 0),
        (QuadReadAcrossX, 0),
        (QuadReadAcrossY, 0),
        (QuadReadAcrossDiagonal, 0),
        (QuadReadLaneAt, 1),
        (QuadAny, 0),
        (QuadAll, 0),
    ];
    for reduce in every::<ReduceOp>() {
        kinds.extend([
            (Reduce(reduce), 0),
            (PrefixExclusive(reduce), 0),
            (PrefixInclusive(reduce), 0),
        ]);
    }
    for (kind, number) in kinds {
        for ty in [
            Type::Bool,
            Type::I32,
            Type::I64,
            Type::F32,
            Type::F64,
            Type::F16,
            Type::I16,
        ] {
            for part in [Part::All, Part::AllWithMask, Part::OddWithMask, Part::Odd] {
                out.extend(across_lanes(kind, number, ty, part));
            }
        }
    }
}

fn across_lanes(kind: WarpKind, number: i64, ty: Type, part: Part) -> Option<Operation> {
    use WarpKind::*;
    let mut frame = open(Language::Cuda, &[ty]);
    let value = frame.operands[0];
    let only_odd = matches!(part, Part::Odd | Part::OddWithMask);
    let tid = frame.b.special(Special::ThreadId(0), Type::I32);
    let end = frame.b.create_block();
    if only_odd {
        let one = frame.b.int(Type::I32, 1);
        let low = frame.b.binary(BinaryOp::And, Wrap::MAY, tid, one);
        let odd = frame.b.convert(Convert::ToBool, low, Type::Bool);
        let inside = frame.b.create_block();
        frame.b.branch(odd, inside, end, BranchKind::If);
        frame.b.switch_to(inside);
    }
    let mut args = Vec::new();
    match kind {
        ShuffleIndex | ShuffleUp | ShuffleDown | ShuffleXor => {
            let lane = match (kind, only_odd) {
                // A lane of those that are there, another one for each.
                (ShuffleIndex, _) => {
                    let k = frame.b.int(Type::I32, 6);
                    let by = frame.b.binary(BinaryOp::Mul, Wrap::MAY, tid, k);
                    let one = frame.b.int(Type::I32, 1);
                    frame.b.binary(BinaryOp::Add, Wrap::MAY, by, one)
                }
                (_, true) => frame.b.int(Type::I32, 2),
                _ => frame.b.int(Type::I32, 3),
            };
            let width = frame.b.int(Type::I32, number);
            args.extend([value, lane, width]);
        }
        ReadLaneAt | QuadReadLaneAt => {
            let lane = frame.b.int(Type::I32, number);
            args.extend([value, lane]);
        }
        ActiveMask | IsFirstLane => {
            if ty != Type::I32 {
                return None;
            }
        }
        _ => args.push(value),
    }
    let mask = matches!(part, Part::AllWithMask | Part::OddWithMask);
    if mask {
        let lanes = if only_odd { 0xaaaa_aaaa_u32 as i32 } else { -1 };
        args.push(frame.b.int(Type::I32, i64::from(lanes)));
    }
    let results: Vec<Type> = match kind {
        VoteAll | VoteAny | VoteUniform | AllEqual | IsFirstLane | QuadAny | QuadAll => {
            vec![Type::Bool]
        }
        Ballot | MatchAny | CountBits | PrefixCountBits | ActiveMask => vec![Type::I32],
        MatchAll => vec![Type::I32, Type::Bool],
        ShuffleIndex | ShuffleUp | ShuffleDown | ShuffleXor if ty != Type::F16 => {
            vec![ty, Type::Bool]
        }
        _ => vec![ty],
    };
    let inst = frame
        .b
        .inst(Op::Warp(WarpOp { kind, mask }), &args, &results);
    let values = frame.b.results(inst).to_vec();
    let rows: Vec<Vec<u64>> = numbers(ty, 128)
        .into_iter()
        .cycle()
        .take(128)
        // Equal neighbours now and then, so that matches are found; no NaN, whose sums depend on nothing.
        .enumerate()
        .map(|(at, bits)| match ty {
            Type::Bool => vec![u64::from(at % 5 != 2 || at > 64)],
            ty if ty.is_float() => {
                vec![ir::numbers::from_f64(
                    ty,
                    [1.0, -2.5, 0.5, 3.0, 3.0, -0.0][at % 6] * (1 + at / 40) as f64,
                )]
            }
            _ if at % 3 == 0 => vec![7],
            _ => vec![bits],
        })
        .collect();
    for (at, value) in values.iter().enumerate() {
        frame.store(*value, at as i64, rows.len() as i64);
    }
    frame.b.jump(end);
    frame.b.switch_to(end);
    Some(Operation {
        name: format!("warp {kind:?} {number} {ty} {part:?}"),
        module: frame.finish()?,
        launch: launch(&rows, results.len()),
        tolerance: None,
    })
}

pub(crate) fn atomics(out: &mut Vec<Operation>) {
    for op in every::<AtomicOp>() {
        for ty in [Type::I32, Type::I64, Type::F32, Type::F64] {
            for space in [Space::Global, Space::Shared] {
                for contended in [false, true] {
                    out.extend(atomic(op, ty, space, contended));
                }
            }
        }
    }
}

/// Each lane on a word of its own, with the old value; or all lanes on one, without.
fn atomic(op: AtomicOp, ty: Type, space: Space, contended: bool) -> Option<Operation> {
    let exchanges = op == AtomicOp::CompareExchange;
    if contended && (exchanges || op == AtomicOp::Exchange) {
        return None;
    }
    let types = if exchanges { vec![ty; 3] } else { vec![ty; 2] };
    let mut frame = open(Language::Cuda, &types);
    let operands = frame.operands.clone();
    let symbol = frame.b.symbol(SymbolData {
        name: "words".into(),
        space,
        kind: SymbolKind::Memory,
        size: Some(8 * 2048),
        align: 16,
        read_only: false,
        initial: None,
        resource_array: None,
        definition: Default::default(),
    });
    let base = frame.b.symbol_address(symbol);
    let access = MemoryAccess::in_space(space);
    let address = if contended {
        base
    } else {
        frame.b.ptr_add(base, frame.offset)
    };
    if !contended || space == Space::Shared {
        let zero = frame.b.constant(ty, 0);
        let first = if contended { zero } else { operands[0] };
        if contended {
            // One lane writes it first.
            let tid = frame.b.special(Special::ThreadId(0), Type::I32);
            let none = frame.b.int(Type::I32, 0);
            let leads = frame.b.int_compare(IntCondition::Equal, tid, none);
            let guard = Guard {
                value: leads,
                negated: false,
            };
            frame
                .b
                .guarded(Op::Store(access), &[address, first], &[], Some(guard));
            frame.b.inst(Op::Barrier(Barrier::Workgroup), &[], &[]);
        } else {
            frame.b.store(access, address, &[first]);
        }
    }
    let mut args = vec![address];
    args.extend(&operands[1..]);
    if !contended {
        let inst = frame.b.inst(Op::Atomic(op, access), &args, &[ty]);
        let old = frame.b.results(inst)[0];
        frame.store(old, 0, 0);
    } else {
        frame.b.inst(Op::Atomic(op, access), &args, &[]);
    }
    if space == Space::Shared || !contended {
        frame.b.inst(Op::Barrier(Barrier::Workgroup), &[], &[]);
        let now = frame.b.load(access, address, ty);
        frame.store(now, i64::from(!contended), 128);
    }
    let pool = numbers(ty, 60);
    let mut random = Random::new(0xa70 ^ u64::from(contended));
    let rows: Vec<Vec<u64>> = (0..128)
        .map(|_| {
            let mut row: Vec<u64> = types.iter().map(|_| *random.pick(&pool)).collect();
            if exchanges && random.percent(50) {
                row[1] = row[0];
            }
            // The order of additions would show.
            if contended && ty.is_float() {
                row[1] = ir::numbers::from_f64(ty, f64::from(random.below(64)) * 0.5);
            }
            row
        })
        .collect();
    Some(Operation {
        name: format!(
            "atomic {op:?} {ty} {space:?}{}",
            if contended { " one word" } else { "" }
        ),
        module: frame.finish()?,
        launch: launch(&rows, 2),
        tolerance: None,
    })
}
