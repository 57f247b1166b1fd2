//! Functions of CUDA across the lanes of a warp and a block, by execution: the result of each for a thread is
//! that of the CUDA C++ Programming Guide (built-in variables and functions, cooperative groups), here in
//! Rust.

// Formulas stand as the guide has them.
#![allow(clippy::precedence)]

use lockstep_ir::lower::c_family::{LowerOptions, lower_unit};
use lockstep_ir::verify::verify_module;
use lockstep_ir::{FunctionKind, Language, Module};
use oracle::interp::{Argument, Buffer, Launch, run};
use syntax::c_family::{Dialect, parse_text};

/// Blocks of 8 × 2 × 2 threads, a warp each.
const BLOCKS: u32 = 3;
const LANES: usize = 32;

/// Small numbers of either sign, some of them equal.
fn given(block: usize) -> [i32; LANES] {
    std::array::from_fn(|lane| ((lane * 7 + block * 5) % 11) as i32 - 4)
}

fn kernel(statements: &str) -> Module {
    let text = format!(
        "namespace cg = cooperative_groups;\n\
         __global__ void k(int* o, const int* a) {{ __shared__ int s[64];\n\
         int t = threadIdx.x + 8 * (threadIdx.y + 2 * threadIdx.z), i = blockIdx.x * 32 + t, v = a[i], r = 0; unsigned u = v; float f = v * 0.5f;\n\
         {statements}\n o[i] = r; }}"
    );
    let items = parse_text(&text, Dialect::Cuda);
    for item in &items {
        assert!(
            item.problems.is_empty(),
            "{statements}: {:?}",
            item.problems
        );
    }
    let lowered = lower_unit(&items, &LowerOptions::new(Language::Cuda));
    let mut modules = lowered.into_iter().map(|(_, lowered)| lowered.module);
    let module = modules
        .find(|module| module.functions[0].kind == FunctionKind::Kernel)
        .expect("a kernel");
    assert_eq!(verify_module(&module), Ok(()), "{statements}");
    let unknowns: Vec<_> = module.functions[0].unknowns.values().collect();
    assert!(unknowns.is_empty(), "{statements}: {unknowns:?}");
    module
}

/// The value that a thread has in `r`, of its block's numbers, its lane and its block.
type Model = fn(&[i32; LANES], usize, usize) -> i32;

fn judged(all: &[(&str, Model)]) {
    for (statements, model) in all {
        let module = kernel(statements);
        let mut launch = Launch::new(LANES as u32);
        launch.block = [8, 2, 2];
        launch.grid = [BLOCKS, 1, 1];
        let numbers = (0..BLOCKS as usize).flat_map(given);
        launch.buffers = vec![
            Buffer::of_u32(vec![77; LANES * BLOCKS as usize]),
            Buffer::of_u32(numbers.map(|number| number as u32)),
        ];
        launch.parameters = [0, 1]
            .map(|buffer| Argument::Pointer { buffer, offset: 0 })
            .to_vec();
        let outcome = run(&module, &launch);
        assert!(outcome.error.is_none(), "{statements}: {:?}", outcome.error);
        let words = outcome.buffers[0].words();
        let found: Vec<i32> = words.into_iter().map(|word| word as i32).collect();
        let expected = (0..BLOCKS as usize).flat_map(|block| {
            let numbers = given(block);
            (0..LANES).map(move |lane| model(&numbers, lane, block))
        });
        let expected: Vec<i32> = expected.collect();
        assert_eq!(found, expected, "{statements}");
    }
}

/// Lanes for which something holds, among some.
fn mask(lanes: impl IntoIterator<Item = usize>, holds: impl Fn(usize) -> bool) -> u32 {
    lanes
        .into_iter()
        .filter(|&lane| holds(lane))
        .fold(0, |mask, lane| mask | 1 << lane)
}

fn tile(lane: usize, lanes: usize) -> std::ops::Range<usize> {
    let first = lane / lanes * lanes;
    first..first + lanes
}

#[test]
fn barriers_reduce_over_the_block() {
    judged(&[
        ("r = __syncthreads_count(v > 2);", |v, _, _| {
            v.iter().filter(|&&v| v > 2).count() as i32
        }),
        (
            "r = __syncthreads_and(v > -5) * 2 + __syncthreads_and(v > 0);",
            |v, _, _| 2 + i32::from(v.iter().all(|&v| v > 0)),
        ),
        (
            "r = __syncthreads_or(v == 99) * 2 + __syncthreads_or(v == 6);",
            |v, _, _| i32::from(v.contains(&6)),
        ),
        ("s[t] = v; __syncthreads(); r = s[31 - t];", |v, lane, _| {
            v[31 - lane]
        }),
        (
            "s[t] = v; __syncwarp(); r = s[t ^ 1]; __syncwarp(0xffffffff); s[t] = 2 * v; __threadfence_block(); __syncwarp(); r += s[t ^ 2];",
            |v, lane, _| v[lane ^ 1] + 2 * v[lane ^ 2],
        ),
    ]);
}

#[test]
fn shuffles_take_the_value_of_another_lane() {
    judged(&[
        ("r = __shfl_sync(~0u, v, t / 2);", |v, lane, _| v[lane / 2]),
        ("r = __shfl_sync(~0u, v, 3, 8);", |v, lane, _| {
            v[lane / 8 * 8 + 3]
        }),
        ("r = __shfl_sync(~0u, v, 11, 8);", |v, lane, _| {
            v[lane / 8 * 8 + 3]
        }),
        ("r = __shfl_up_sync(~0u, v, 3);", |v, lane, _| {
            if lane < 3 { v[lane] } else { v[lane - 3] }
        }),
        ("r = __shfl_up_sync(~0u, v, 1, 4);", |v, lane, _| {
            if lane % 4 == 0 { v[lane] } else { v[lane - 1] }
        }),
        ("r = __shfl_down_sync(~0u, v, 2);", |v, lane, _| {
            if lane > 29 { v[lane] } else { v[lane + 2] }
        }),
        ("r = __shfl_down_sync(~0u, v, 5, 16);", |v, lane, _| {
            if lane % 16 > 10 { v[lane] } else { v[lane + 5] }
        }),
        ("r = __shfl_xor_sync(~0u, v, 5);", |v, lane, _| v[lane ^ 5]),
        (
            "r = (int)(__shfl_xor_sync(~0u, f, 16) * 4);",
            |v, lane, _| 2 * v[lane ^ 16],
        ),
        (
            "long long w = (long long)v << 33; r = (int)(__shfl_down_sync(~0u, w, 1) >> 32);",
            |v, lane, _| 2 * v[(lane + 1).min(31)],
        ),
        (
            "double d = v; r = (int)__shfl_up_sync(~0u, d, 1);",
            |v, lane, _| v[lane.saturating_sub(1)],
        ),
    ]);
}

#[test]
fn votes_and_matches_are_of_the_lanes_that_take_part() {
    judged(&[
        (
            "r = __all_sync(~0u, v > -5) * 2 + __all_sync(~0u, v > 0);",
            |v, _, _| 2 + i32::from(v.iter().all(|&v| v > 0)),
        ),
        (
            "r = __any_sync(~0u, v == 6) * 2 + __any_sync(~0u, v > 6);",
            |v, _, _| 2 * i32::from(v.contains(&6)),
        ),
        (
            "r = __uni_sync(~0u, v > 0) * 2 + __uni_sync(~0u, v > 9);",
            |_, _, _| 1,
        ),
        ("r = __ballot_sync(~0u, v & 1);", |v, _, _| {
            mask(0..LANES, |lane| v[lane] & 1 != 0) as i32
        }),
        ("r = __match_any_sync(~0u, v);", |v, lane, _| {
            mask(0..LANES, |other| v[other] == v[lane]) as i32
        }),
        (
            "int p = 5; r = __match_all_sync(~0u, v, &p); r += p * 7;",
            |_, _, _| 0,
        ),
        (
            "int p = 5; r = __match_all_sync(~0u, v > 99, &p); r += p * 7;",
            |_, _, _| -1 + 7,
        ),
        ("if (v > 0) r = __activemask();", |v, lane, _| {
            match v[lane] > 0 {
                true => mask(0..LANES, |lane| v[lane] > 0) as i32,
                false => 0,
            }
        }),
        (
            "r = __popc(__ballot_sync(~0u, v > 0) & ((1u << t) - 1));",
            |v, lane, _| v[..lane].iter().filter(|&&v| v > 0).count() as i32,
        ),
        ("r = __reduce_add_sync(~0u, v);", |v, _, _| v.iter().sum()),
        ("r = __reduce_min_sync(~0u, v);", |v, _, _| {
            *v.iter().min().unwrap()
        }),
        ("r = __reduce_max_sync(~0u, v);", |v, _, _| {
            *v.iter().max().unwrap()
        }),
        ("r = __reduce_min_sync(~0u, u);", |v, _, _| {
            v.iter().map(|&v| v as u32).min().unwrap() as i32
        }),
        ("r = __reduce_max_sync(~0u, u);", |v, _, _| {
            v.iter().map(|&v| v as u32).max().unwrap() as i32
        }),
        ("r = __reduce_and_sync(~0u, u | 16);", |v, _, _| {
            v.iter().fold(-1, |sum, v| sum & (v | 16))
        }),
        ("r = __reduce_or_sync(~0u, u & 6);", |v, _, _| {
            v.iter().fold(0, |sum, v| sum | v & 6)
        }),
        ("r = __reduce_xor_sync(~0u, u);", |v, _, _| {
            v.iter().fold(0, |sum, v| sum ^ v)
        }),
    ]);
}

#[test]
fn groups_know_their_threads() {
    judged(&[
        (
            "cg::thread_block b = cg::this_thread_block(); r = b.thread_rank() * 100 + b.size() + b.num_threads() * 10000;",
            |_, lane, _| lane as i32 * 100 + 32 + 320_000,
        ),
        (
            "auto b = cg::this_thread_block(); r = b.thread_index().x + b.thread_index().y * 10 + b.thread_index().z * 100;",
            |_, lane, _| (lane % 8 + lane / 8 % 2 * 10 + lane / 16 * 100) as i32,
        ),
        (
            "auto b = cg::this_thread_block(); r = b.group_index().x + b.group_dim().x * 10 + b.group_dim().y * 100 + b.dim_threads().z * 1000;",
            |_, _, block| block as i32 + 80 + 200 + 2000,
        ),
        (
            "auto g = cg::this_grid(); r = g.thread_rank() + g.size() * 1000 + g.block_index().x * 100 + g.grid_dim().x * 7;",
            |_, lane, block| (block * 32 + lane + 96_000 + block * 100 + 21) as i32,
        ),
        (
            "auto w = cg::tiled_partition<8>(cg::this_thread_block()); r = w.thread_rank() + w.size() * 10 + w.meta_group_rank() * 1000 + w.meta_group_size() * 100000;",
            |_, lane, _| (lane % 8 + 80 + lane / 8 * 1000 + 400_000) as i32,
        ),
        (
            "auto w = cg::tiled_partition<32>(cg::this_thread_block()); r = w.thread_rank() + w.num_threads() * 100 + w.meta_group_rank() + w.meta_group_size() * 7; w.sync();",
            |_, lane, _| (lane + 3200 + 7) as i32,
        ),
        (
            "auto w = cg::tiled_partition(cg::this_thread_block(), 16); r = w.thread_rank() + w.size() * 100;",
            |_, lane, _| (lane % 16 + 1600) as i32,
        ),
        (
            "if (v > 0) { auto c = cg::coalesced_threads(); r = c.thread_rank() + c.size() * 100; }",
            |v, lane, _| {
                let positive = |lanes: &[i32]| lanes.iter().filter(|&&v| v > 0).count() as i32;
                match v[lane] > 0 {
                    true => positive(&v[..lane]) + positive(v) * 100,
                    false => 0,
                }
            },
        ),
    ]);
}

#[test]
fn tiles_exchange_among_their_own_lanes() {
    judged(&[
        (
            "auto w = cg::tiled_partition<8>(cg::this_thread_block()); r = w.shfl(v, 3) + w.shfl_xor(v, 1) * 100;",
            |v, lane, _| v[lane / 8 * 8 + 3] + v[lane ^ 1] * 100,
        ),
        (
            "auto w = cg::tiled_partition<4>(cg::this_thread_block()); r = w.shfl_up(v, 1) + w.shfl_down(v, 2) * 100;",
            |v, lane, _| {
                let up = if lane % 4 < 1 { v[lane] } else { v[lane - 1] };
                let down = if lane % 4 > 1 { v[lane] } else { v[lane + 2] };
                up + down * 100
            },
        ),
        (
            "auto w = cg::tiled_partition<4>(cg::this_thread_block()); r = w.any(v > 4) + w.all(v < 3) * 10;",
            |v, lane, _| {
                let own = || tile(lane, 4).map(|lane| v[lane]);
                i32::from(own().any(|v| v > 4)) + i32::from(own().all(|v| v < 3)) * 10
            },
        ),
        // Lanes are numbered from the tile's first.
        (
            "auto w = cg::tiled_partition<8>(cg::this_thread_block()); r = w.ballot(v > 0);",
            |v, lane, _| (mask(tile(lane, 8), |lane| v[lane] > 0) >> (lane / 8 * 8)) as i32,
        ),
        (
            "auto w = cg::tiled_partition<16>(cg::this_thread_block()); r = w.match_any(v);",
            |v, lane, _| {
                (mask(tile(lane, 16), |other| v[other] == v[lane]) >> (lane / 16 * 16)) as i32
            },
        ),
        (
            "auto w = cg::tiled_partition<4>(cg::this_thread_block()); int p = 9; r = w.match_all(t / 6, p); r += p * 100;",
            |_, lane, _| {
                let same = lane / 4 * 4 / 6 == (lane / 4 * 4 + 3) / 6;
                if same { 15 + 100 } else { 0 }
            },
        ),
        (
            "auto w = cg::tiled_partition<8>(cg::this_thread_block()); r = cg::reduce(w, v, cg::plus<int>()) + cg::reduce(w, v, cg::less<int>()) * 100 + cg::reduce(w, v, cg::greater<int>()) * 10000;",
            |v, lane, _| {
                let own = || tile(lane, 8).map(|lane| v[lane]);
                own().sum::<i32>() + own().min().unwrap() * 100 + own().max().unwrap() * 10_000
            },
        ),
        (
            "auto w = cg::tiled_partition<4>(cg::this_thread_block()); r = cg::reduce(w, v, cg::bit_and<int>()) + cg::reduce(w, v & 3, cg::bit_or<int>()) * 100 + cg::reduce(w, v & 7, cg::bit_xor<int>()) * 10000;",
            |v, lane, _| {
                let own = || tile(lane, 4).map(|lane| v[lane]);
                own().fold(-1, |sum, v| sum & v)
                    + own().fold(0, |sum, v| sum | v & 3) * 100
                    + own().fold(0, |sum, v| sum ^ v & 7) * 10_000
            },
        ),
        (
            "auto w = cg::tiled_partition<32>(cg::this_thread_block()); r = (int)(cg::reduce(w, f, cg::plus<float>()) * 2) + (int)(cg::reduce(w, f, cg::less<float>()) * 200) + cg::reduce(w, u, cg::greater<unsigned>()) % 10;",
            |v, _, _| {
                let most = v.iter().map(|&v| v as u32).max().unwrap();
                v.iter().sum::<i32>() + v.iter().min().unwrap() * 100 + (most % 10) as i32
            },
        ),
    ]);
}

#[test]
fn numbers_are_counted_permuted_and_shifted() {
    judged(&[
        (
            "r = __popc(v) + __clz(v) * 100 + __ffs(v) * 10000;",
            |v, lane, _| {
                let v = v[lane];
                let first = if v == 0 {
                    0
                } else {
                    v.trailing_zeros() as i32 + 1
                };
                v.count_ones() as i32 + v.leading_zeros() as i32 * 100 + first * 10_000
            },
        ),
        (
            "long long w = (long long)v << 20; r = __popcll(w) + __clzll(w) * 100 + __ffsll(w) * 10000;",
            |v, lane, _| {
                let w = i64::from(v[lane]) << 20;
                let first = if w == 0 {
                    0
                } else {
                    w.trailing_zeros() as i32 + 1
                };
                w.count_ones() as i32 + w.leading_zeros() as i32 * 100 + first * 10_000
            },
        ),
        ("r = __brev(v) ^ (int)(__brevll(v) >> 16);", |v, lane, _| {
            let wide = i64::from(v[lane]).reverse_bits() as u64;
            v[lane].reverse_bits() ^ (wide >> 16) as i32
        }),
        (
            "r = __mulhi(v << 20, 77777) + __umulhi(u << 20, 77777) + __mul24(v, 9) + __umul24(u & 255, 9);",
            |v, lane, _| {
                let v = v[lane];
                let high = (i64::from(v << 20) * 77777 >> 32) as i32;
                let unsigned = (u64::from((v as u32) << 20) * 77777 >> 32) as i32;
                high.wrapping_add(unsigned) + v * 9 + (v & 255) * 9
            },
        ),
        (
            "r = (int)(__mul64hi((long long)v << 40, 1ll << 30) + __umul64hi((unsigned long long)u << 20, 1ull << 40));",
            |v, lane, _| {
                let v = v[lane];
                let high = (i128::from(i64::from(v) << 40) * (1 << 30)) >> 64;
                let unsigned = (u128::from(u64::from(v as u32) << 20) * (1 << 40)) >> 64;
                (high as i64).wrapping_add(unsigned as i64) as i32
            },
        ),
        (
            "r = __sad(v, -3, 5) + __usad(u, 2, 7) + __hadd(v, 3) * 100 + __rhadd(v, 4) * 10000;",
            |v, lane, _| {
                let v = v[lane];
                (v + 3).abs()
                    + 5
                    + ((v as u32).abs_diff(2) as i32).wrapping_add(7)
                    + ((v + 3) >> 1) * 100
                    + ((v + 5) >> 1) * 10_000
            },
        ),
        (
            "r = __byte_perm(0x33221100 + v, 0x77665544, 0x6401) ^ __funnelshift_l(u, 0x87654321, 4) ^ __funnelshift_r(u, 0x87654321, 12);",
            |v, lane, _| {
                let low = (0x3322_1100 + v[lane]) as u32;
                let bytes = u64::from(low) | 0x7766_5544 << 32;
                let byte = |at: u32| (bytes >> (8 * at)) as u32 & 255;
                let both = u64::from(v[lane] as u32) | 0x8765_4321 << 32;
                let permuted = byte(1) | byte(0) << 8 | byte(4) << 16 | byte(6) << 24;
                (permuted ^ (both << 4 >> 32) as u32 ^ (both >> 12) as u32) as i32
            },
        ),
        (
            "r = __dp4a(v, 0x01020304, 5) + (int)__dp4a(u, 0x01020304u, 5u);",
            |v, lane, _| {
                let bytes = v[lane].to_le_bytes();
                let by = [4, 3, 2, 1];
                let signed = (0..4)
                    .map(|at| i32::from(bytes[at] as i8) * by[at])
                    .sum::<i32>();
                let unsigned = (0..4).map(|at| i32::from(bytes[at]) * by[at]).sum::<i32>();
                signed + unsigned + 10
            },
        ),
        (
            "r = __float_as_int(f) ^ __float2int_rn(f) ^ __float2int_rd(f) * 3 ^ __float2int_ru(f) * 5 ^ __float2int_rz(f) * 7;",
            |v, lane, _| {
                let f = v[lane] as f32 * 0.5;
                f.to_bits() as i32
                    ^ f.round_ties_even() as i32
                    ^ f.floor() as i32 * 3
                    ^ f.ceil() as i32 * 5
                    ^ f.trunc() as i32 * 7
            },
        ),
        (
            "r = (int)(min(v, 2) + max(v, -1) * 10 + abs(v) * 100 + (int)fminf(f, 1) * 1000 + (int)fmaxf(f, 0) * 10000);",
            |v, lane, _| {
                let (v, f) = (v[lane], v[lane] as f32 * 0.5);
                v.min(2)
                    + v.max(-1) * 10
                    + v.abs() * 100
                    + f.min(1.0) as i32 * 1000
                    + f.max(0.0) as i32 * 10_000
            },
        ),
    ]);
}

/// Numbers that are none, and those that are too large.
#[test]
fn numbers_are_classified() {
    type Class = fn(f64) -> bool;
    let classes: [(&str, Class); 5] = [
        ("isnan", f64::is_nan),
        ("isinf", f64::is_infinite),
        ("isfinite", f64::is_finite),
        ("signbit", f64::is_sign_negative),
        ("!isnan", |x| !x.is_nan()),
    ];
    for (number, value) in [
        ("f", None),
        ("1 / (f - f)", Some(f64::INFINITY)),
        ("-1 / (f - f)", Some(f64::NEG_INFINITY)),
        (
            "d * 1e300 * 1e300 * 0 * 0 + __longlong_as_double(0x7ff8000000000000)",
            Some(f64::NAN),
        ),
        ("-0.0f", Some(-0.0)),
        ("INFINITY", Some(f64::INFINITY)),
        ("nanf(\"\")", Some(f64::NAN)),
    ] {
        for (class, of) in classes {
            let statements = format!("double d = f; r = {class}({number});");
            let module = kernel(&statements);
            let mut launch = Launch::new(LANES as u32);
            launch.block = [8, 2, 2];
            launch.buffers = vec![
                Buffer::of_u32(vec![77; LANES]),
                Buffer::of_u32(given(0).map(|number| number as u32)),
            ];
            launch.parameters = [0, 1]
                .map(|buffer| Argument::Pointer { buffer, offset: 0 })
                .to_vec();
            let outcome = run(&module, &launch);
            assert!(outcome.error.is_none(), "{statements}: {:?}", outcome.error);
            let expected = given(0).map(|v| u32::from(of(value.unwrap_or(f64::from(v) * 0.5))));
            assert_eq!(outcome.buffers[0].words(), expected, "{statements}");
        }
    }
}

/// `s[0]` holds the same behind the operations of 32 lanes in any order.
#[test]
fn atomic_operations_reach_memory() {
    let all: &[(&str, &str, Model)] = &[
        ("5", "atomicAdd(s, v)", |v, _, _| 5 + v.iter().sum::<i32>()),
        ("5", "atomicSub(s, v)", |v, _, _| 5 - v.iter().sum::<i32>()),
        ("0", "atomicMin(s, v)", |v, _, _| *v.iter().min().unwrap()),
        ("0", "atomicMax(s, v)", |v, _, _| *v.iter().max().unwrap()),
        ("7", "atomicMin((unsigned*)s, u)", |v, _, _| {
            v.iter().map(|&v| v as u32).min().unwrap().min(7) as i32
        }),
        ("7", "atomicMax((unsigned*)s, u)", |v, _, _| {
            v.iter().map(|&v| v as u32).max().unwrap() as i32
        }),
        ("-1", "atomicAnd(s, v | 8)", |v, _, _| {
            v.iter().fold(-1, |sum, v| sum & (v | 8))
        }),
        ("0", "atomicOr(s, v & 6)", |v, _, _| {
            v.iter().fold(0, |sum, v| sum | v & 6)
        }),
        ("3", "atomicXor(s, v)", |v, _, _| {
            v.iter().fold(3, |sum, v| sum ^ v)
        }),
        ("0", "atomicInc((unsigned*)s, 9)", |_, _, _| 2),
        ("3", "atomicDec((unsigned*)s, 9)", |_, _, _| 1),
        ("4", "atomicCAS(s, 4, 6)", |_, _, _| 6),
        ("4", "atomicCAS(s, 5, 6)", |_, _, _| 4),
        ("1", "atomicExch(s, 8)", |_, _, _| 8),
        (
            "__float_as_int(1.5f)",
            "atomicAdd((float*)s, f)",
            |v, _, _| (1.5 + v.iter().sum::<i32>() as f32 * 0.5).to_bits() as i32,
        ),
    ];
    for (before, operation, model) in all {
        let statements = format!(
            "if (t == 0) s[0] = {before}; __syncthreads(); {operation}; __syncthreads(); r = s[0];"
        );
        judged(&[(&statements, *model)]);
    }
    // Each lane gets what was there before its own.
    judged(&[(
        "s[t] = v; __syncthreads(); r = atomicExch(&s[t], 5) + s[t] * 100 + atomicCAS(&s[t], 5, t) * 1000 + s[t] * 10000;",
        |v, lane, _| v[lane] + 500 + 5000 + lane as i32 * 10_000,
    )]);
}
