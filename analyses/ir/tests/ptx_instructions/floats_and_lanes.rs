//! Operations on floating-point numbers, and exchanges between lanes and their coordinates.

use super::{PAIRS, executed, third};
use lockstep_ir::lower::ptx::lower_text;
use oracle::interp::{Argument, Buffer, Launch, run};

#[test]
fn floats() {
    type Real = fn(f32, f32, f32) -> f32;
    let operands = "cvt.rn.f32.s16 %f1, %rs1; cvt.rn.f32.s16 %f2, %rs2; cvt.rn.f32.s16 %f3, %rs3; mul.f32 %f1, %f1, 0f3D000000;";
    let all: [(&str, Real); 22] = [
        ("add.f32 %f4, %f1, %f2;", |a, b, _| a + b),
        ("add.sat.f32 %f4, %f1, %f2;", |a, b, _| {
            (a + b).clamp(0.0, 1.0)
        }),
        ("sub.f32 %f4, %f1, %f2;", |a, b, _| a - b),
        ("mul.rn.f32 %f4, %f1, %f2;", |a, b, _| a * b),
        ("fma.rn.f32 %f4, %f1, %f2, %f3;", |a, b, c| a.mul_add(b, c)),
        ("mad.rn.f32 %f4, %f1, %f2, %f3;", |a, b, c| a.mul_add(b, c)),
        ("min.f32 %f4, %f1, %f2;", |a, b, _| a.min(b)),
        ("max.f32 %f4, %f1, %f2;", |a, b, _| a.max(b)),
        ("max.f32 %f4, %f1, %f2, %f3;", |a, b, c| a.max(b).max(c)),
        ("neg.f32 %f4, %f1;", |a, _, _| -a),
        ("abs.f32 %f4, %f1;", |a, _, _| a.abs()),
        ("copysign.f32 %f4, %f1, %f2;", |a, b, _| b.copysign(a)),
        ("sqrt.rn.f32 %f4, %f1;", |a, _, _| a.sqrt()),
        ("cvt.rni.f32.f32 %f4, %f1;", |a, _, _| a.round_ties_even()),
        ("cvt.rzi.f32.f32 %f4, %f1;", |a, _, _| a.trunc()),
        ("cvt.rmi.f32.f32 %f4, %f1;", |a, _, _| a.floor()),
        ("cvt.rpi.f32.f32 %f4, %f1;", |a, _, _| a.ceil()),
        ("cvt.sat.f32.f32 %f4, %f1;", |a, _, _| a.clamp(0.0, 1.0)),
        (
            "cvt.f64.f32 %fd4, %f1; mul.f64 %fd4, %fd4, 0d3FB999999999999A; cvt.rn.f32.f64 %f4, %fd4;",
            |a, _, _| (f64::from(a) * 0.1) as f32,
        ),
        (
            "setp.lt.f32 %p1, %f1, %f2; selp.f32 %f4, %f1, %f3, %p1;",
            |a, b, c| if a < b { a } else { c },
        ),
        ("slct.f32.s32 %f4, %f1, %f2, %r3;", |_, _, _| 0.0),
        ("slct.f32.f32 %f4, %f1, %f2, %f3;", |a, b, c| {
            if c >= 0.0 { a } else { b }
        }),
    ];
    for (text, of) in all {
        let pairs = PAIRS.iter().zip(executed(&format!(
            "{operands} {text} mov.b32 %r4, %f4; cvt.u64.u32 %rd4, %r4;"
        )));
        for (&(a, b), found) in pairs {
            let full = third(a, b);
            let number = |x: u64| f32::from(x as i16);
            let (x, y, z) = (number(a) / 32.0, number(b), number(full));
            let expected = match text.starts_with("slct.f32.s32") {
                true => {
                    if full as i32 >= 0 {
                        x
                    } else {
                        y
                    }
                }
                false => of(x, y, z),
            };
            let found = f32::from_bits(found as u32);
            assert!(
                found == expected || found.is_nan() && expected.is_nan(),
                "{text} of {x}, {y}, {z}: {found}, {expected}"
            );
        }
    }
    for (text, of) in [
        (
            "cvt.rni.s32.f32 %r4, %f1;",
            (|a| a.round_ties_even() as i32 as u32) as fn(f32) -> u32,
        ),
        ("cvt.rzi.s32.f32 %r4, %f1;", |a| a as i32 as u32),
        ("cvt.rmi.s32.f32 %r4, %f1;", |a| a.floor() as i32 as u32),
        ("cvt.rpi.s32.f32 %r4, %f1;", |a| a.ceil() as i32 as u32),
        ("cvt.rzi.u32.f32 %r4, %f1;", |a| a as u32),
        ("testp.finite.f32 %p1, %f1; selp.u32 %r4, 1, 0, %p1;", |a| {
            u32::from(a.is_finite())
        }),
        (
            "testp.infinite.f32 %p1, %f1; selp.u32 %r4, 1, 0, %p1;",
            |a| u32::from(a.is_infinite()),
        ),
        ("testp.number.f32 %p1, %f1; selp.u32 %r4, 1, 0, %p1;", |a| {
            u32::from(!a.is_nan())
        }),
        (
            "testp.notanumber.f32 %p1, %f1; selp.u32 %r4, 1, 0, %p1;",
            |a| u32::from(a.is_nan()),
        ),
    ] {
        for operand in [
            "",
            "cvt.rn.f32.s16 %f1, %rs1; mul.f32 %f1, %f1, 0f3D000000;",
        ] {
            for (&(a, b), found) in PAIRS.iter().zip(executed(&format!(
                "{operand} {text} cvt.u64.u32 %rd4, %r4;"
            ))) {
                let x = if operand.is_empty() {
                    f32::from_bits(a as u32)
                } else {
                    f32::from(a as i16) / 32.0
                };
                if x.is_nan() && text.starts_with("cvt") {
                    continue;
                }
                assert_eq!(found as u32, of(x), "{text} of {x} ({b})");
            }
        }
    }
}

#[test]
fn doubles_and_halves() {
    let operands = "cvt.rn.f64.s32 %fd1, %r1; cvt.rn.f64.s32 %fd2, %r2; cvt.rn.f64.s16 %fd3, %rs3; mul.f64 %fd1, %fd1, 0d3FB0000000000000;";
    type Real = fn(f64, f64, f64) -> f64;
    let all: &[(&str, Real)] = &[
        ("add.f64 %fd4, %fd1, %fd2;", |a, b, _| a + b),
        ("sub.rn.f64 %fd4, %fd1, %fd2;", |a, b, _| a - b),
        ("mul.f64 %fd4, %fd1, %fd3;", |a, _, c| a * c),
        ("div.rn.f64 %fd4, %fd1, %fd3;", |a, _, c| a / c),
        ("fma.rn.f64 %fd4, %fd1, %fd2, %fd3;", |a, b, c| {
            a.mul_add(b, c)
        }),
        ("min.f64 %fd4, %fd1, %fd2;", |a, b, _| a.min(b)),
        ("max.f64 %fd4, %fd1, %fd2;", |a, b, _| a.max(b)),
        ("neg.f64 %fd4, %fd1;", |a, _, _| -a),
        ("abs.f64 %fd4, %fd1;", |a, _, _| a.abs()),
        ("sqrt.rn.f64 %fd4, %fd1;", |a, _, _| a.sqrt()),
        ("copysign.f64 %fd4, %fd1, %fd2;", |a, b, _| b.copysign(a)),
        ("cvt.rmi.f64.f64 %fd4, %fd1;", |a, _, _| a.floor()),
        (
            "cvt.rn.f32.f64 %f4, %fd1; cvt.f64.f32 %fd4, %f4;",
            |a, _, _| f64::from(a as f32),
        ),
        (
            "cvt.rzi.s64.f64 %rd5, %fd1; cvt.rn.f64.s64 %fd4, %rd5;",
            |a, _, _| a.trunc(),
        ),
        (
            "cvt.rzi.u32.f64 %r5, %fd1; cvt.rn.f64.u32 %fd4, %r5;",
            |a, _, _| f64::from(a as u32),
        ),
        (
            "setp.gt.f64 %p1, %fd1, %fd2; selp.f64 %fd4, %fd1, %fd3, %p1;",
            |a, b, c| if a > b { a } else { c },
        ),
        (
            "mov.f64 %fd4, 0d4000000000000000; add.f64 %fd4, %fd4, %fd1;",
            |a, _, _| 2.0 + a,
        ),
    ];
    for (text, of) in all {
        let found = executed(&format!("{operands} {text} mov.b64 %rd4, %fd4;"));
        for (&(a, b), found) in PAIRS.iter().zip(found) {
            let (x, y) = (f64::from(a as i32) / 16.0, f64::from(b as i32));
            let z = f64::from(third(a, b) as i16);
            let (expected, found) = (of(x, y, z), f64::from_bits(found));
            assert!(
                found == expected || found.is_nan() && expected.is_nan(),
                "{text} of {x}, {y}, {z}: {found}, {expected}"
            );
        }
    }
    // Small integers are exact in 16 bits.
    let operands = "and.b16 %rs1, %rs1, 31; and.b16 %rs2, %rs2, 15; cvt.rn.f16.u16 %rs1, %rs1; cvt.rn.f16.u16 %rs2, %rs2;";
    type Whole = fn(f32, f32) -> f32;
    let all: &[(&str, Whole)] = &[
        ("add.f16 %rs4, %rs1, %rs2;", |a, b| a + b),
        ("sub.f16 %rs4, %rs1, %rs2;", |a, b| a - b),
        ("mul.f16 %rs4, %rs1, %rs2;", |a, b| a * b),
        ("fma.rn.f16 %rs4, %rs1, %rs2, %rs1;", |a, b| a * b + a),
        ("neg.f16 %rs4, %rs1;", |a, _| -a),
        ("abs.f16 %rs4, %rs1;", |a, _| a),
        ("min.f16 %rs4, %rs1, %rs2;", |a, b| a.min(b)),
        ("max.f16 %rs4, %rs1, %rs2;", |a, b| a.max(b)),
        (
            "setp.lt.f16 %p1, %rs1, %rs2; selp.b16 %rs4, %rs1, %rs2, %p1;",
            |a, b| a.min(b),
        ),
    ];
    for (text, of) in all {
        let found = executed(&format!(
            "{operands} {text} cvt.f32.f16 %f4, %rs4; mov.b32 %r4, %f4; cvt.u64.u32 %rd4, %r4;"
        ));
        for (&(a, b), found) in PAIRS.iter().zip(found) {
            let (x, y) = ((a & 31) as f32, (b & 15) as f32);
            assert_eq!(f32::from_bits(found as u32), of(x, y), "{text} of {x}, {y}");
        }
    }
    for (text, low, high) in [
        (
            "add.f16x2 %r4, %r5, %r6;",
            (|a, b| a + b) as Whole,
            (|a, b| a + b) as Whole,
        ),
        ("mul.f16x2 %r4, %r5, %r6;", |a, b| a * b, |a, b| a * b),
        (
            "fma.rn.f16x2 %r4, %r5, %r6, %r5;",
            |a, b| a * b + a,
            |a, b| a * b + a,
        ),
    ] {
        let text = format!(
            "{operands} mov.b32 %r5, {{%rs1, %rs2}}; mov.b32 %r6, {{%rs2, %rs2}}; {text} mov.b32 {{%rs4, %rs5}}, %r4;\n\
            cvt.f32.f16 %f4, %rs4; cvt.f32.f16 %f5, %rs5; mov.b32 %r4, %f4; mov.b32 %r5, %f5; mov.b64 %rd4, {{%r4, %r5}};"
        );
        for (&(a, b), found) in PAIRS.iter().zip(executed(&text)) {
            let (x, y) = ((a & 31) as f32, (b & 15) as f32);
            let pair = [found as u32, (found >> 32) as u32].map(f32::from_bits);
            assert_eq!(pair, [low(x, y), high(y, y)], "{text} of {x}, {y}");
        }
    }
}

/// Operations across the lanes, all of which take part.
#[test]
fn lanes_exchange() {
    let lanes = PAIRS.len();
    let words = || PAIRS.iter().map(|&(a, _)| a as u32);
    let word = |lane: usize| words().nth(lane).expect("a lane");
    let all_lanes = u64::from((1u32 << lanes) - 1);
    type Exchange<'a> = &'a dyn Fn(usize) -> u64;
    let all: [(&str, Exchange<'_>); 12] = [
        (
            "shfl.sync.idx.b32 %r4, %r1, 3, 31, 0x7fff; cvt.u64.u32 %rd4, %r4;",
            &|_| u64::from(word(3)),
        ),
        (
            "shfl.sync.bfly.b32 %r4|%p1, %r1, 1, 31, 0x7fff; selp.u64 %rd5, 1, 0, %p1; cvt.u64.u32 %rd4, %r4; @%p1 xor.b64 %rd4, %rd4, %rd5;",
            &|lane| match lane ^ 1 {
                other if other < lanes => u64::from(word(other)) ^ 1,
                _ => u64::MAX,
            },
        ),
        (
            "shfl.sync.up.b32 %r4|%p1, %r1, 2, 0, 0x7fff; cvt.u64.u32 %rd4, %r4; @!%p1 neg.s64 %rd4, %rd4;",
            &|lane| match lane {
                0 | 1 => u64::from(word(lane)).wrapping_neg(),
                _ => u64::from(word(lane - 2)),
            },
        ),
        (
            "shfl.sync.idx.b32 %r4, %r1, 1, 0x1c1f, 0x7fff; cvt.u64.u32 %rd4, %r4;",
            &|lane| match lane / 4 * 4 + 1 {
                source if source < lanes => u64::from(word(source)),
                _ => u64::MAX,
            },
        ),
        (
            "setp.gt.s32 %p1, %r1, 0; vote.sync.ballot.b32 %r4, %p1, 0x7fff; cvt.u64.u32 %rd4, %r4;",
            &|_| {
                words()
                    .enumerate()
                    .filter(|&(_, x)| x as i32 > 0)
                    .fold(0, |mask, (lane, _)| mask | 1 << lane)
            },
        ),
        (
            "setp.ge.s32 %p1, %r1, %r1; vote.sync.all.pred %p2, %p1, 0x7fff; setp.lt.u32 %p3, %r1, 1; vote.sync.any.pred %p4, %p3, 0x7fff; vote.sync.uni.pred %p5, %p3, 0x7fff;\n\
          selp.u64 %rd4, 1, 0, %p2; @%p4 or.b64 %rd4, %rd4, 2; @%p5 or.b64 %rd4, %rd4, 4;",
            &|_| 3,
        ),
        (
            "match.any.sync.b32 %r4, %r1, 0x7fff; cvt.u64.u32 %rd4, %r4;",
            &|lane| {
                words()
                    .enumerate()
                    .filter(|&(_, x)| x == word(lane))
                    .fold(0, |mask, (lane, _)| mask | 1 << lane)
            },
        ),
        (
            "mov.u32 %r5, 9; match.all.sync.b32 %r4|%p1, %r5, 0x7fff; cvt.u64.u32 %rd4, %r4; @!%p1 add.u64 %rd4, %rd4, 100000;",
            &|_| all_lanes,
        ),
        (
            "redux.sync.add.s32 %r4, %r1, 0x7fff; cvt.u64.u32 %rd4, %r4;",
            &|_| u64::from(words().fold(0, u32::wrapping_add)),
        ),
        (
            "redux.sync.min.s32 %r4, %r1, 0x7fff; cvt.u64.u32 %rd4, %r4;",
            &|_| words().map(|x| x as i32).min().expect("a lane") as u32 as u64,
        ),
        (
            "redux.sync.max.u32 %r4, %r1, 0x7fff; cvt.u64.u32 %rd4, %r4;",
            &|_| u64::from(words().max().expect("a lane")),
        ),
        ("activemask.b32 %r4; cvt.u64.u32 %rd4, %r4;", &|_| all_lanes),
    ];
    for (text, of) in all {
        for (lane, found) in executed(text).into_iter().enumerate() {
            let expected = of(lane);
            if expected != u64::MAX {
                assert_eq!(found, expected, "{text} in lane {lane}");
            }
        }
    }
}

/// The special registers hold these numbers in blocks of 4 x 2 x 3 threads in a grid of 3 x 2.
#[test]
fn special_registers_are_of_the_launch() {
    type Held = fn([u32; 3], [u32; 2]) -> u32;
    let registers: [(&str, Held); 16] = [
        ("%tid.x", |t, _| t[0]),
        ("%tid.y", |t, _| t[1]),
        ("%tid.z", |t, _| t[2]),
        ("%ntid.x", |_, _| 4),
        ("%ntid.y", |_, _| 2),
        ("%ntid.z", |_, _| 3),
        ("%ctaid.x", |_, b| b[0]),
        ("%ctaid.y", |_, b| b[1]),
        ("%ctaid.z", |_, _| 0),
        ("%nctaid.x", |_, _| 3),
        ("%nctaid.y", |_, _| 2),
        ("%laneid", |t, _| t[0] + 4 * t[1] + 8 * t[2]),
        ("%lanemask_eq", |t, _| 1 << (t[0] + 4 * t[1] + 8 * t[2])),
        ("%lanemask_lt", |t, _| {
            (1 << (t[0] + 4 * t[1] + 8 * t[2])) - 1
        }),
        ("%lanemask_ge", |t, _| {
            !((1 << (t[0] + 4 * t[1] + 8 * t[2])) - 1)
        }),
        ("WARP_SZ", |_, _| 32),
    ];
    for (register, of) in registers {
        let source = format!(
            ".version 8.5\n.target sm_90\n.address_size 64\n.entry k(.param .u64 o)\n{{\n.reg .b32 %r<9>; .reg .b64 %rd<9>;\n\
             mov.u32 %r1, %tid.z; mad.lo.u32 %r1, %r1, 2, %tid.y; mad.lo.u32 %r1, %r1, 4, %tid.x; mov.u32 %r2, %ctaid.y; mad.lo.u32 %r2, %r2, 3, %ctaid.x;\n\
             mad.lo.u32 %r1, %r2, 24, %r1; ld.param.u64 %rd1, [o]; mad.wide.u32 %rd1, %r1, 4, %rd1; mov.u32 %r3, {register}; st.global.u32 [%rd1], %r3; ret;\n}}\n"
        );
        let all = lower_text(&source);
        let (_, tree, lowered) = all.last().expect("a kernel");
        assert_eq!(
            (&tree.problems[..], &lowered.problems[..]),
            (&[][..], &[][..]),
            "{register}"
        );
        let mut launch = Launch::new(24);
        launch.block = [4, 2, 3];
        launch.grid = [3, 2, 1];
        launch.buffers = vec![Buffer::of_u32(vec![99; 24 * 6])];
        launch.parameters = vec![Argument::Pointer {
            buffer: 0,
            offset: 0,
        }];
        let outcome = run(&lowered.module, &launch);
        assert!(outcome.error.is_none(), "{register}: {:?}", outcome.error);
        let expected = (0..6).flat_map(|block| {
            (0..24).map(move |thread| {
                of(
                    [thread % 4, thread / 4 % 2, thread / 8],
                    [block % 3, block / 3],
                )
            })
        });
        let expected: Vec<u32> = expected.collect();
        assert_eq!(outcome.buffers[0].words(), expected, "{register}");
    }
}
