//! Operations across lanes against a model that shares no code: every kind, every set of active lanes of a small warp.

#![allow(clippy::precedence)]

use lockstep_ir::builder::FunctionBuilder;
use lockstep_ir::*;
use oracle::interp::{Argument, Buffer, Launch, run};
use oracle::random::Random;

const WIDTH: u32 = 8;

/// The result of a lane: a function of all lanes' first and second operands, the active lanes, and its own
/// number.
type Model = fn(&[i32; 8], &[i32; 8], u32, usize) -> Option<u64>;

fn members(active: u32) -> impl Iterator<Item = usize> {
    (0..WIDTH as usize).filter(move |lane| active >> lane & 1 != 0)
}
fn below(active: u32, lane: usize) -> u32 {
    active & ((1 << lane) - 1)
}
fn from(values: &[i32; 8], active: u32, lane: i64) -> Option<u64> {
    let present = (0..i64::from(WIDTH)).contains(&lane) && active >> lane & 1 != 0;
    present.then(|| word(values[lane as usize]))
}
fn word(value: i32) -> u64 {
    u64::from(value as u32)
}
fn votes(values: &[i32; 8], active: u32) -> u32 {
    members(active)
        .filter(|&lane| values[lane] & 1 != 0)
        .fold(0, |mask, lane| mask | 1 << lane)
}
fn equal(values: &[i32; 8], active: u32, lane: usize) -> u32 {
    members(active)
        .filter(|&other| values[other] == values[lane])
        .fold(0, |mask, lane| mask | 1 << lane)
}
fn reduced(values: &[i32; 8], lanes: u32, start: i32, of: fn(i32, i32) -> i32) -> u64 {
    word(members(lanes).fold(start, |sum, lane| of(sum, values[lane])))
}

/// The kind, its results, whether the first operand is a truth value, and the model of its last result.
fn kinds() -> Vec<(WarpKind, Vec<Type>, bool, Model)> {
    use WarpKind::*;
    let (int, truth) = (vec![Type::I32], vec![Type::Bool]);
    let pair = vec![Type::I32, Type::Bool];
    vec![
        // Segments of four lanes.
        (ShuffleIndex, int.clone(), false, |v, w, active, lane| {
            from(v, active, (lane as i64 & !3) | i64::from(w[lane]) & 3)
        }),
        (ShuffleUp, int.clone(), false, |v, w, active, lane| {
            let source = lane as i64 - i64::from(w[lane]);
            if source < lane as i64 & !3 {
                Some(word(v[lane]))
            } else {
                from(v, active, source)
            }
        }),
        (ShuffleDown, int.clone(), false, |v, w, active, lane| {
            let source = lane as i64 + i64::from(w[lane]);
            if source > lane as i64 | 3 {
                Some(word(v[lane]))
            } else {
                from(v, active, source)
            }
        }),
        (ShuffleXor, int.clone(), false, |v, w, active, lane| {
            let source = lane as i64 ^ i64::from(w[lane]);
            if source > lane as i64 | 3 {
                Some(word(v[lane]))
            } else {
                from(v, active, source)
            }
        }),
        (ShuffleUp, pair.clone(), false, |_, w, _, lane| {
            Some(u64::from(
                lane as i64 - i64::from(w[lane]) >= lane as i64 & !3,
            ))
        }),
        (ShuffleDown, pair.clone(), false, |_, w, _, lane| {
            Some(u64::from(
                lane as i64 + i64::from(w[lane]) <= lane as i64 | 3,
            ))
        }),
        (VoteAll, truth.clone(), true, |v, _, active, _| {
            Some(u64::from(votes(v, active) == active))
        }),
        (VoteAny, truth.clone(), true, |v, _, active, _| {
            Some(u64::from(votes(v, active) != 0))
        }),
        (VoteUniform, truth.clone(), true, |v, _, active, _| {
            Some(u64::from(
                votes(v, active) == active || votes(v, active) == 0,
            ))
        }),
        (Ballot, int.clone(), true, |v, _, active, _| {
            Some(u64::from(votes(v, active)))
        }),
        (Ballot, vec![Type::I64], true, |v, _, active, _| {
            Some(u64::from(votes(v, active)))
        }),
        (AllEqual, truth.clone(), false, |v, _, active, lane| {
            Some(u64::from(equal(v, active, lane) == active))
        }),
        (MatchAny, int.clone(), false, |v, _, active, lane| {
            Some(u64::from(equal(v, active, lane)))
        }),
        (MatchAll, int.clone(), false, |v, _, active, lane| {
            Some(if equal(v, active, lane) == active {
                u64::from(active)
            } else {
                0
            })
        }),
        (MatchAll, pair, false, |v, _, active, lane| {
            Some(u64::from(equal(v, active, lane) == active))
        }),
        (ReadFirstLane, int.clone(), false, |v, _, active, _| {
            from(v, active, i64::from(active.trailing_zeros()))
        }),
        (ReadLaneAt, int.clone(), false, |v, w, active, lane| {
            from(v, active, i64::from(w[lane]))
        }),
        (CountBits, int.clone(), true, |v, _, active, _| {
            Some(u64::from(votes(v, active).count_ones()))
        }),
        (PrefixCountBits, int.clone(), true, |v, _, active, lane| {
            Some(u64::from(votes(v, below(active, lane)).count_ones()))
        }),
        (ActiveMask, int.clone(), false, |_, _, active, _| {
            Some(u64::from(active))
        }),
        (IsFirstLane, truth.clone(), false, |_, _, active, lane| {
            Some(u64::from(below(active, lane) == 0))
        }),
        (QuadReadAcrossX, int.clone(), false, |v, _, active, lane| {
            from(v, active, lane as i64 ^ 1)
        }),
        (QuadReadAcrossY, int.clone(), false, |v, _, active, lane| {
            from(v, active, lane as i64 ^ 2)
        }),
        (
            QuadReadAcrossDiagonal,
            int.clone(),
            false,
            |v, _, active, lane| from(v, active, lane as i64 ^ 3),
        ),
        (QuadReadLaneAt, int.clone(), false, |v, w, active, lane| {
            from(v, active, lane as i64 / 4 * 4 + i64::from(w[lane]) % 4)
        }),
        (QuadAny, truth.clone(), true, |v, _, active, lane| {
            Some(u64::from(votes(v, active & 0xf << (lane / 4 * 4)) != 0))
        }),
        (QuadAll, truth, true, |v, _, active, lane| {
            let quad = active & 0xf << (lane / 4 * 4);
            Some(u64::from(votes(v, quad) == quad))
        }),
        (
            Reduce(ReduceOp::Add),
            int.clone(),
            false,
            |v, _, active, _| Some(reduced(v, active, 0, i32::wrapping_add)),
        ),
        (
            Reduce(ReduceOp::Mul),
            int.clone(),
            false,
            |v, _, active, _| Some(reduced(v, active, 1, i32::wrapping_mul)),
        ),
        (
            Reduce(ReduceOp::MinSigned),
            int.clone(),
            false,
            |v, _, active, _| Some(reduced(v, active, i32::MAX, i32::min)),
        ),
        (
            Reduce(ReduceOp::MaxSigned),
            int.clone(),
            false,
            |v, _, active, _| Some(reduced(v, active, i32::MIN, i32::max)),
        ),
        (
            Reduce(ReduceOp::MinUnsigned),
            int.clone(),
            false,
            |v, _, active, _| {
                Some(reduced(v, active, -1, |a, b| {
                    (a as u32).min(b as u32) as i32
                }))
            },
        ),
        (
            Reduce(ReduceOp::MaxUnsigned),
            int.clone(),
            false,
            |v, _, active, _| {
                Some(reduced(v, active, 0, |a, b| {
                    (a as u32).max(b as u32) as i32
                }))
            },
        ),
        (
            Reduce(ReduceOp::And),
            int.clone(),
            false,
            |v, _, active, _| Some(reduced(v, active, -1, |a, b| a & b)),
        ),
        (
            Reduce(ReduceOp::Or),
            int.clone(),
            false,
            |v, _, active, _| Some(reduced(v, active, 0, |a, b| a | b)),
        ),
        (
            Reduce(ReduceOp::Xor),
            int.clone(),
            false,
            |v, _, active, _| Some(reduced(v, active, 0, |a, b| a ^ b)),
        ),
        (
            PrefixExclusive(ReduceOp::Add),
            int.clone(),
            false,
            |v, _, active, lane| Some(reduced(v, below(active, lane), 0, i32::wrapping_add)),
        ),
        (
            PrefixExclusive(ReduceOp::MinSigned),
            int.clone(),
            false,
            |v, _, active, lane| Some(reduced(v, below(active, lane), i32::MAX, i32::min)),
        ),
        (
            PrefixExclusive(ReduceOp::MaxSigned),
            int.clone(),
            false,
            |v, _, active, lane| Some(reduced(v, below(active, lane), i32::MIN, i32::max)),
        ),
        (
            PrefixExclusive(ReduceOp::And),
            int.clone(),
            false,
            |v, _, active, lane| Some(reduced(v, below(active, lane), -1, |a, b| a & b)),
        ),
        (
            PrefixInclusive(ReduceOp::Mul),
            int.clone(),
            false,
            |v, _, active, lane| {
                Some(reduced(
                    v,
                    below(active, lane) | 1 << lane,
                    1,
                    i32::wrapping_mul,
                ))
            },
        ),
        (
            PrefixInclusive(ReduceOp::Xor),
            int,
            false,
            |v, _, active, lane| Some(reduced(v, below(active, lane) | 1 << lane, 0, |a, b| a ^ b)),
        ),
    ]
}

/// The operation under a guard, with the operands by lane in tables of the text.
fn module(kind: WarpKind, results: &[Type], truth: bool) -> Module {
    let mut b = FunctionBuilder::new("f", FunctionKind::Kernel, Language::Text);
    let table = b.parameter("table", "int*", &[Type::Ptr(Space::Global)])[0];
    let lane = b.special(Special::ThreadId(0), Type::I32);
    let access = MemoryAccess::in_space(Space::Global);
    let row = |b: &mut FunctionBuilder, row: i64| {
        let at = b.int(Type::I32, row * i64::from(WIDTH));
        let index = b.binary(BinaryOp::Add, Wrap::MAY, lane, at);
        let four = b.int(Type::I32, 4);
        let offset = b.binary(BinaryOp::Mul, Wrap::MAY, index, four);
        let offset = b.convert(Convert::ZeroExtend, offset, Type::I64);
        let address = b.ptr_add(table, offset);
        b.load(access, address, Type::I32)
    };
    let (mut value, second, active) = (row(&mut b, 0), row(&mut b, 1), row(&mut b, 2));
    let one = b.int(Type::I32, 1);
    if truth {
        let bit = b.binary(BinaryOp::And, Wrap::MAY, value, one);
        value = b.convert(Convert::ToBool, bit, Type::Bool);
    }
    let four = b.int(Type::I32, 4);
    let arguments: &[Value] = match kind {
        WarpKind::ShuffleIndex
        | WarpKind::ShuffleUp
        | WarpKind::ShuffleDown
        | WarpKind::ShuffleXor => &[value, second, four],
        WarpKind::ReadLaneAt | WarpKind::QuadReadLaneAt => &[value, second],
        WarpKind::ActiveMask | WarpKind::IsFirstLane => &[],
        _ => &[value],
    };
    let guard = Guard {
        value: b.convert(Convert::ToBool, active, Type::Bool),
        negated: false,
    };
    let op = Op::Warp(WarpOp { kind, mask: false });
    let inst = b.guarded(op, arguments, results, Some(guard));
    let last = b.results(inst).to_vec();
    let last = last[last.len() - 1];
    b.function.returns = vec![b.function.ty(last)];
    b.ret([last]);
    Module {
        functions: vec![b.finish()],
    }
}

#[test]
fn every_kind_agrees_with_its_model_for_all_active_lanes() {
    let mut random = Random::new(5);
    for (kind, results, truth, model) in kinds() {
        let module = module(kind, &results, truth);
        verify_module(&module).unwrap_or_else(|errors| panic!("{kind:?}: {}", errors[0]));
        for active in 1..1u32 << WIDTH {
            // Few different values, so that some are equal.
            let values: [i32; 8] = std::array::from_fn(|_| match random.below(3) {
                0 => 5,
                1 => random.between(-3, 3) as i32,
                _ => random.draw() as i32,
            });
            let second: [i32; 8] = std::array::from_fn(|_| random.below(WIDTH) as i32);
            let mut launch = Launch::new(WIDTH);
            launch.warp_size = WIDTH;
            let active_row = (0..WIDTH).map(|lane| active >> lane & 1);
            let words = values.iter().chain(&second).map(|&value| value as u32);
            launch.buffers = vec![Buffer::of_u32(words.chain(active_row))];
            launch.parameters = vec![Argument::Pointer {
                buffer: 0,
                offset: 0,
            }];
            let outcome = run(&module, &launch);
            assert_eq!(outcome.error, None, "{kind:?}");
            for lane in members(active) {
                if let Some(expected) = model(&values, &second, active, lane) {
                    let found = outcome.returned[0][lane] & u64::from(u32::MAX);
                    assert_eq!(
                        found, expected,
                        "{kind:?} of {values:?}, {second:?}, active {active:#x}, lane {lane}"
                    );
                }
            }
        }
    }
}
