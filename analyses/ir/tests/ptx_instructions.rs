//! PTX executed, an instruction a line: its results for a few operands are those of the PTX ISA, here in
//! Rust.

// Formulas stand as the manual has them; what is not less may be unordered.
#![allow(
    clippy::precedence,
    clippy::neg_cmp_op_on_partial_ord,
    clippy::double_comparisons
)]

#[path = "ptx_instructions/floats_and_lanes.rs"]
mod floats_and_lanes;

use lockstep_ir::lower::ptx::lower_text;
use lockstep_ir::verify::verify_module;
use oracle::interp::{Argument, Buffer, Launch, run};

/// The first two operands; the third is [`third`] of them.
const PAIRS: &[(u64, u64)] = &[
    (0, 0),
    (1, 0),
    (0, 1),
    (7, 3),
    (3, 7),
    (u64::MAX, 1),
    (1, u64::MAX),
    (u64::MAX, u64::MAX),
    (0x8000_0000, 0x7fff_ffff),
    (0x8000_0000_8000_8000, 0xffff_ffff_ffff_ffff),
    (0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210),
    (0x00ff_00ff_ff00_0080, 33),
    (0xdead_beef_cafe_f00d, 0x0000_0010_0000_0021),
    (0x7fff_ffff_7fff_7fff, 0x2),
    (0xffff_fff0_ffff_fff9, 0x1f),
];

fn third(a: u64, b: u64) -> u64 {
    a.rotate_left(13) ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The text leaves its result in `%rd4`; its operands are in `%rd1` to `%rd3`, their low words in `%r1` to `%r3`, low
/// half words in `%rs1` to `%rs3`, the words as floats in `%f1` to `%f3`, all as doubles in `%fd1` to `%fd3`.
fn executed(text: &str) -> Vec<u64> {
    let source = format!(
        ".version 8.5\n.target sm_90\n.address_size 64\n.entry k(.param .u64 o, .param .u64 given)\n{{\n\
         .reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<9>; .reg .f64 %fd<9>;\n\
         mov.u32 %r10, %tid.x; ld.param.u64 %rd10, [o]; ld.param.u64 %rd11, [given];\n\
         mad.wide.u32 %rd10, %r10, 8, %rd10; mad.wide.u32 %rd11, %r10, 24, %rd11;\n\
         ld.global.u64 %rd1, [%rd11]; ld.global.u64 %rd2, [%rd11+8]; ld.global.u64 %rd3, [%rd11+16];\n\
         cvt.u32.u64 %r1, %rd1; cvt.u32.u64 %r2, %rd2; cvt.u32.u64 %r3, %rd3;\n\
         cvt.u16.u64 %rs1, %rd1; cvt.u16.u64 %rs2, %rd2; cvt.u16.u64 %rs3, %rd3;\n\
         mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3;\n\
         mov.b64 %fd1, %rd1; mov.b64 %fd2, %rd2; mov.b64 %fd3, %rd3;\n\
         mov.u64 %rd4, 0; mov.u32 %r4, 0;\n{text}\nst.global.u64 [%rd10], %rd4;\nret;\n}}\n"
    );
    let all = lower_text(&source);
    let (_, tree, lowered) = all.last().expect("a kernel");
    assert_eq!(tree.problems, vec![], "{text}");
    assert_eq!(lowered.problems, vec![], "{text}");
    assert_eq!(verify_module(&lowered.module), Ok(()), "{text}");
    assert!(
        lowered.module.functions[0].unknowns.is_empty(),
        "{text} is not understood"
    );
    let mut launch = Launch::new(PAIRS.len() as u32);
    let words = |number: u64| [number as u32, (number >> 32) as u32];
    let given = PAIRS
        .iter()
        .flat_map(|&(a, b)| [a, b, third(a, b)].into_iter().flat_map(words));
    launch.buffers = vec![
        Buffer::of_u32(vec![0; 2 * PAIRS.len()]),
        Buffer::of_u32(given),
    ];
    launch.parameters = [0, 1]
        .map(|buffer| Argument::Pointer { buffer, offset: 0 })
        .to_vec();
    let outcome = run(&lowered.module, &launch);
    assert!(outcome.error.is_none(), "{text}: {:?}", outcome.error);
    let words = outcome.buffers[0].words();
    let pairs = words.chunks(2);
    pairs
        .map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32)
        .collect()
}

type Of<T> = fn(T, T, T) -> T;

fn judged(text: &str, of: impl Fn(u64, u64, u64) -> u64) {
    for (&(a, b), found) in PAIRS.iter().zip(executed(text)) {
        let expected = of(a, b, third(a, b));
        assert_eq!(
            found,
            expected,
            "{text} of {a:#x}, {b:#x}, {:#x}: {found:#x}, {expected:#x}",
            third(a, b)
        );
    }
}

/// Instructions with a result and operands of 16 bits, as `OP %rs4, OPERANDS`.
fn halves(all: &[(&str, &str, Of<u16>)]) {
    for (instruction, operands, of) in all {
        let text = format!("{instruction} %rs4, {operands};\ncvt.u64.u16 %rd4, %rs4;");
        judged(&text, |a, b, c| u64::from(of(a as u16, b as u16, c as u16)));
    }
}
fn words(all: &[(&str, &str, Of<u32>)]) {
    for (instruction, operands, of) in all {
        let text = format!("{instruction} %r4, {operands};\ncvt.u64.u32 %rd4, %r4;");
        judged(&text, |a, b, c| u64::from(of(a as u32, b as u32, c as u32)));
    }
}
fn doubles(all: &[(&str, &str, Of<u64>)]) {
    for (instruction, operands, of) in all {
        judged(&format!("{instruction} %rd4, {operands};"), of);
    }
}

const A: &str = "%r1";
const AB: &str = "%r1, %r2";
const ABC: &str = "%r1, %r2, %r3";
const WIDE: &str = "%rd1, %rd2";

#[test]
fn integers_of_32_bits() {
    words(&[
        ("add.s32", AB, |a, b, _| a.wrapping_add(b)),
        ("add.sat.s32", AB, |a, b, _| {
            (a as i32).saturating_add(b as i32) as u32
        }),
        ("sub.u32", AB, |a, b, _| a.wrapping_sub(b)),
        ("sub.sat.s32", AB, |a, b, _| {
            (a as i32).saturating_sub(b as i32) as u32
        }),
        ("mul.lo.u32", AB, |a, b, _| a.wrapping_mul(b)),
        ("mul.hi.u32", AB, |a, b, _| {
            (u64::from(a) * u64::from(b) >> 32) as u32
        }),
        ("mul.hi.s32", AB, |a, b, _| {
            (i64::from(a as i32) * i64::from(b as i32) >> 32) as u32
        }),
        ("mad.lo.s32", ABC, |a, b, c| {
            a.wrapping_mul(b).wrapping_add(c)
        }),
        ("mad.hi.u32", ABC, |a, b, c| {
            ((u64::from(a) * u64::from(b) >> 32) as u32).wrapping_add(c)
        }),
        ("mad.hi.sat.s32", ABC, |a, b, c| {
            ((i64::from(a as i32) * i64::from(b as i32) >> 32) as i32).saturating_add(c as i32)
                as u32
        }),
        ("mul24.lo.u32", AB, |a, b, _| {
            (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff)
        }),
        ("mul24.lo.s32", AB, |a, b, _| {
            ((a << 8) as i32 >> 8).wrapping_mul((b << 8) as i32 >> 8) as u32
        }),
        ("mad24.lo.u32", ABC, |a, b, c| {
            (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff).wrapping_add(c)
        }),
        ("sad.u32", ABC, |a, b, c| a.abs_diff(b).wrapping_add(c)),
        ("sad.s32", ABC, |a, b, c| {
            (a as i32).abs_diff(b as i32).wrapping_add(c)
        }),
        ("abs.s32", A, |a, _, _| (a as i32).wrapping_abs() as u32),
        ("neg.s32", A, |a, _, _| a.wrapping_neg()),
        ("not.b32", A, |a, _, _| !a),
        ("cnot.b32", A, |a, _, _| u32::from(a == 0)),
        ("min.u32", AB, |a, b, _| a.min(b)),
        ("min.s32", AB, |a, b, _| (a as i32).min(b as i32) as u32),
        ("max.u32", AB, |a, b, _| a.max(b)),
        ("max.s32", AB, |a, b, _| (a as i32).max(b as i32) as u32),
        ("max.s32.relu", AB, |a, b, _| {
            (a as i32).max(b as i32).max(0) as u32
        }),
        ("and.b32", AB, |a, b, _| a & b),
        ("or.b32", AB, |a, b, _| a | b),
        ("xor.b32", AB, |a, b, _| a ^ b),
        ("popc.b32", A, |a, _, _| a.count_ones()),
        ("clz.b32", A, |a, _, _| a.leading_zeros()),
        ("brev.b32", A, |a, _, _| a.reverse_bits()),
        ("bfind.u32", A, |a, _, _| {
            31u32.wrapping_sub(a.leading_zeros())
        }),
        ("bfind.shiftamt.u32", A, |a, _, _| {
            if a == 0 { u32::MAX } else { a.leading_zeros() }
        }),
        ("bfind.s32", A, |a, _, _| {
            let a = if (a as i32) < 0 { !a } else { a };
            31u32.wrapping_sub(a.leading_zeros())
        }),
        ("bfe.u32", "%r1, 5, 9", |a, _, _| a >> 5 & 0x1ff),
        ("bfe.s32", "%r1, 5, 9", |a, _, _| {
            ((a << 18) as i32 >> 23) as u32
        }),
        ("bfe.u32", "%r1, 28, 9", |a, _, _| a >> 28),
        ("bfe.s32", "%r1, 28, 9", |a, _, _| (a as i32 >> 28) as u32),
        ("bfe.u32", "%r1, 4, 0", |_, _, _| 0),
        ("bfi.b32", "%r1, %r2, 7, 11", |a, b, _| {
            b & !(0x7ff << 7) | (a & 0x7ff) << 7
        }),
        ("bfi.b32", "%r1, %r2, 25, 11", |a, b, _| {
            b & 0x1ff_ffff | a << 25
        }),
        ("shl.b32", AB, |a, b, _| a.checked_shl(b).unwrap_or(0)),
        ("shr.u32", AB, |a, b, _| a.checked_shr(b).unwrap_or(0)),
        ("shr.s32", AB, |a, b, _| (a as i32 >> b.min(31)) as u32),
        ("shf.l.wrap.b32", ABC, |a, b, c| {
            ((u64::from(b) << 32 | u64::from(a)) << (c & 31) >> 32) as u32
        }),
        ("shf.r.wrap.b32", ABC, |a, b, c| {
            ((u64::from(b) << 32 | u64::from(a)) >> (c & 31)) as u32
        }),
        ("shf.l.clamp.b32", ABC, |a, b, c| {
            ((u64::from(b) << 32 | u64::from(a)) << c.min(32) >> 32) as u32
        }),
        ("shf.r.clamp.b32", ABC, |a, b, c| {
            ((u64::from(b) << 32 | u64::from(a)) >> c.min(32)) as u32
        }),
        ("lop3.b32", "%r1, %r2, %r3, 0x96", |a, b, c| a ^ b ^ c),
        ("lop3.b32", "%r1, %r2, %r3, 0xca", |a, b, c| a & b | !a & c),
        ("lop3.b32", "%r1, %r2, %r3, 0x12", |a, b, c| {
            !a & !b & c | a & !b & !c
        }),
        ("lop3.b32", "%r1, %r2, %r3, 0xe8", |a, b, c| {
            a & b | a & c | b & c
        }),
        ("prmt.b32", "%r1, %r2, 0x5410", |a, b, _| {
            a & 0xffff | b << 16
        }),
        ("prmt.b32", "%r1, %r2, 0x7632", |a, b, _| {
            a >> 16 | b & 0xffff_0000
        }),
        ("prmt.b32", "%r1, %r2, 0x0123", |a, _, _| a.swap_bytes()),
        ("prmt.b32", "%r1, %r2, 0xb4f1", |a, b, _| {
            let sign = |byte: u32| if byte & 0x80 != 0 { 0xff } else { 0 };
            a >> 8 & 0xff | sign(b >> 24) << 8 | (b & 0xff) << 16 | sign(a >> 24) << 24
        }),
        ("dp4a.u32.u32", ABC, |a, b, c| {
            (0..4).fold(c, |sum, at| {
                sum.wrapping_add((a >> (8 * at) & 0xff) * (b >> (8 * at) & 0xff))
            })
        }),
        ("dp4a.s32.s32", ABC, |a, b, c| {
            (0..4).fold(c, |sum, at| {
                sum.wrapping_add(
                    (i32::from((a >> (8 * at)) as i8) * i32::from((b >> (8 * at)) as i8)) as u32,
                )
            })
        }),
    ]);
    for (instruction, of) in [
        ("div.u32", (|a, b, _| a / b) as Of<u32>),
        ("div.s32", |a, b, _| {
            (a as i32).wrapping_div(b as i32) as u32
        }),
        ("rem.u32", |a, b, _| a % b),
        ("rem.s32", |a, b, _| {
            (a as i32).wrapping_rem(b as i32) as u32
        }),
    ] {
        // Division by zero is not defined.
        let text =
            format!("or.b32 %r5, %r2, 4; {instruction} %r4, %r1, %r5; cvt.u64.u32 %rd4, %r4;");
        judged(&text, |a, b, c| {
            u64::from(of(a as u32, b as u32 | 4, c as u32))
        });
    }
}

#[test]
fn integers_of_16_and_64_bits() {
    halves(&[
        ("add.u16", "%rs1, %rs2", |a, b, _| a.wrapping_add(b)),
        ("sub.s16", "%rs1, %rs2", |a, b, _| a.wrapping_sub(b)),
        ("mul.lo.u16", "%rs1, %rs2", |a, b, _| a.wrapping_mul(b)),
        ("mul.hi.u16", "%rs1, %rs2", |a, b, _| {
            (u32::from(a) * u32::from(b) >> 16) as u16
        }),
        ("mul.hi.s16", "%rs1, %rs2", |a, b, _| {
            (i32::from(a as i16) * i32::from(b as i16) >> 16) as u16
        }),
        ("mad.lo.s16", "%rs1, %rs2, %rs3", |a, b, c| {
            a.wrapping_mul(b).wrapping_add(c)
        }),
        ("min.s16", "%rs1, %rs2", |a, b, _| {
            (a as i16).min(b as i16) as u16
        }),
        ("max.u16", "%rs1, %rs2", |a, b, _| a.max(b)),
        ("abs.s16", "%rs1", |a, _, _| {
            (a as i16).wrapping_abs() as u16
        }),
        ("neg.s16", "%rs1", |a, _, _| a.wrapping_neg()),
        ("not.b16", "%rs1", |a, _, _| !a),
        ("xor.b16", "%rs1, %rs2", |a, b, _| a ^ b),
        ("shl.b16", "%rs1, 5", |a, _, _| a << 5),
        ("shr.s16", "%rs1, 5", |a, _, _| (a as i16 >> 5) as u16),
        ("shr.u16", "%rs1, 16", |_, _, _| 0),
        ("cvt.u16.u8", "%rs1", |a, _, _| a & 0xff),
        ("cvt.s16.s8", "%rs1", |a, _, _| a as i8 as u16),
    ]);
    words(&[
        ("mul.wide.u16", "%rs1, %rs2", |a, b, _| {
            (a & 0xffff) * (b & 0xffff)
        }),
        ("mul.wide.s16", "%rs1, %rs2", |a, b, _| {
            (i32::from(a as i16) * i32::from(b as i16)) as u32
        }),
        ("mad.wide.s16", "%rs1, %rs2, %r3", |a, b, c| {
            (i32::from(a as i16) * i32::from(b as i16)).wrapping_add(c as i32) as u32
        }),
    ]);
    doubles(&[
        ("add.s64", WIDE, |a, b, _| a.wrapping_add(b)),
        ("sub.u64", WIDE, |a, b, _| a.wrapping_sub(b)),
        ("mul.lo.s64", WIDE, |a, b, _| a.wrapping_mul(b)),
        ("mul.hi.u64", WIDE, |a, b, _| {
            (u128::from(a) * u128::from(b) >> 64) as u64
        }),
        ("mul.hi.s64", WIDE, |a, b, _| {
            (i128::from(a as i64) * i128::from(b as i64) >> 64) as u64
        }),
        ("mad.lo.u64", "%rd1, %rd2, %rd3", |a, b, c| {
            a.wrapping_mul(b).wrapping_add(c)
        }),
        ("mad.hi.u64", "%rd1, %rd2, %rd3", |a, b, c| {
            ((u128::from(a) * u128::from(b) >> 64) as u64).wrapping_add(c)
        }),
        ("mul.wide.u32", AB, |a, b, _| {
            u64::from(a as u32) * u64::from(b as u32)
        }),
        ("mul.wide.s32", AB, |a, b, _| {
            (i64::from(a as i32) * i64::from(b as i32)) as u64
        }),
        ("mad.wide.s32", "%r1, %r2, %rd3", |a, b, c| {
            (i64::from(a as i32) * i64::from(b as i32)).wrapping_add(c as i64) as u64
        }),
        ("sad.u64", "%rd1, %rd2, %rd3", |a, b, c| {
            a.abs_diff(b).wrapping_add(c)
        }),
        ("min.s64", WIDE, |a, b, _| (a as i64).min(b as i64) as u64),
        ("max.u64", WIDE, |a, b, _| a.max(b)),
        ("abs.s64", "%rd1", |a, _, _| {
            (a as i64).wrapping_abs() as u64
        }),
        ("not.b64", "%rd1", |a, _, _| !a),
        ("cnot.b64", "%rd1", |a, _, _| u64::from(a == 0)),
        ("and.b64", WIDE, |a, b, _| a & b),
        ("brev.b64", "%rd1", |a, _, _| a.reverse_bits()),
        ("bfe.u64", "%rd1, 20, 30", |a, _, _| a >> 20 & 0x3fff_ffff),
        ("bfe.s64", "%rd1, 20, 30", |a, _, _| {
            ((a << 14) as i64 >> 34) as u64
        }),
        ("bfi.b64", "%rd1, %rd2, 40, 12", |a, b, _| {
            b & !(0xfff << 40) | (a & 0xfff) << 40
        }),
        ("shl.b64", "%rd1, %r2", |a, b, _| {
            a.checked_shl(b as u32).unwrap_or(0)
        }),
        ("shr.u64", "%rd1, %r2", |a, b, _| {
            a.checked_shr(b as u32).unwrap_or(0)
        }),
        ("shr.s64", "%rd1, %r2", |a, b, _| {
            (a as i64 >> (b as u32).min(63)) as u64
        }),
        ("cvt.s64.s32", A, |a, _, _| a as i32 as u64),
        ("cvt.u64.s32", A, |a, _, _| a as i32 as u64),
        ("cvt.s64.u32", A, |a, _, _| u64::from(a as u32)),
        ("cvt.u64.u8", A, |a, _, _| a & 0xff),
        ("cvt.s64.s16", "%rs1", |a, _, _| a as i16 as u64),
    ]);
    for (text, of) in [
        (
            "popc.b64 %r4, %rd1;",
            (|a, _, _| u64::from(a.count_ones())) as Of<u64>,
        ),
        ("clz.b64 %r4, %rd1;", |a, _, _| u64::from(a.leading_zeros())),
        ("bfind.u64 %r4, %rd1;", |a, _, _| {
            u64::from(63u32.wrapping_sub(a.leading_zeros()))
        }),
        ("bfind.s64 %r4, %rd1;", |a, _, _| {
            let a = if (a as i64) < 0 { !a } else { a };
            u64::from(63u32.wrapping_sub(a.leading_zeros()))
        }),
        ("cvt.sat.u8.s32 %r4, %r1;", |a, _, _| {
            (a as i32).clamp(0, 255) as u64
        }),
        (
            "cvt.sat.s16.s32 %r4, %r1; and.b32 %r4, %r4, 0xffff;",
            |a, _, _| (a as i32).clamp(-32768, 32767) as u64 & 0xffff,
        ),
        ("cvt.sat.u32.s64 %r4, %rd1;", |a, _, _| {
            (a as i64).clamp(0, i64::from(u32::MAX)) as u64
        }),
    ] {
        judged(&format!("{text} cvt.u64.u32 %rd4, %r4;"), of);
    }
}

#[test]
fn carries_go_from_one_instruction_to_the_next() {
    let join = "mov.b64 %rd4, {%r4, %r5};";
    let halves = "mov.b64 {%r1, %r6}, %rd1; mov.b64 {%r2, %r7}, %rd2; mov.b64 {%r3, %r8}, %rd3;";
    judged(
        &format!("{halves} add.cc.u32 %r4, %r1, %r2; addc.u32 %r5, %r6, %r7; {join}"),
        |a, b, _| a.wrapping_add(b),
    );
    judged(
        &format!("{halves} sub.cc.u32 %r4, %r1, %r2; subc.u32 %r5, %r6, %r7; {join}"),
        |a, b, _| a.wrapping_sub(b),
    );
    judged(
        &format!(
            "{halves} mad.lo.cc.u32 %r4, %r1, %r2, %r3; madc.hi.u32 %r5, %r1, %r2, %r8; {join}"
        ),
        |a, b, c| {
            u64::from(a as u32)
                .wrapping_mul(u64::from(b as u32))
                .wrapping_add(c)
        },
    );
    judged(
        "add.cc.u64 %rd5, %rd1, %rd2; addc.u64 %rd4, %rd3, 0;",
        |a, b, c| c.wrapping_add(u64::from(a.checked_add(b).is_none())),
    );
    judged(
        "add.cc.u32 %r4, %r1, %r2; addc.cc.u32 %r4, %r2, %r3; addc.u32 %r5, 0, 0; mov.b64 %rd4, {%r4, %r5};",
        |a, b, c| {
            let (a, b, c) = (a as u32, b as u32, c as u32);
            u64::from(b) + u64::from(c) + u64::from(a.checked_add(b).is_none())
        },
    );
}

/// All comparisons of all types, by predicates and by words.
#[test]
fn comparisons() {
    type Test<T> = fn(T, T) -> bool;
    let unsigned: [(&str, Test<u64>); 10] = [
        ("eq", |a, b| a == b),
        ("ne", |a, b| a != b),
        ("lt", |a, b| a < b),
        ("le", |a, b| a <= b),
        ("gt", |a, b| a > b),
        ("ge", |a, b| a >= b),
        ("lo", |a, b| a < b),
        ("ls", |a, b| a <= b),
        ("hi", |a, b| a > b),
        ("hs", |a, b| a >= b),
    ];
    for (name, of) in unsigned {
        for (bits, register) in [(16, "%rs"), (32, "%r"), (64, "%rd")] {
            let mask = u64::MAX >> (64 - bits);
            judged(
                &format!(
                    "setp.{name}.u{bits} %p1, {register}1, {register}2; selp.b64 %rd4, 1, 2, %p1;"
                ),
                |a, b, _| if of(a & mask, b & mask) { 1 } else { 2 },
            );
        }
    }
    let signed: [(&str, Test<i64>); 6] = [
        ("eq", |a, b| a == b),
        ("ne", |a, b| a != b),
        ("lt", |a, b| a < b),
        ("le", |a, b| a <= b),
        ("gt", |a, b| a > b),
        ("ge", |a, b| a >= b),
    ];
    for (name, of) in signed {
        for (bits, register) in [(16, "%rs"), (32, "%r"), (64, "%rd")] {
            let number = |a: u64| (a << (64 - bits)) as i64 >> (64 - bits);
            let compared = format!("s{bits} %p1|%p2, {register}1, {register}2");
            judged(
                &format!(
                    "setp.{name}.{compared}; selp.b64 %rd5, 1, 2, %p1; selp.b64 %rd4, %rd5, 4, %p2; @%p1 add.u64 %rd4, %rd4, 8;"
                ),
                |a, b, _| if of(number(a), number(b)) { 12 } else { 2 },
            );
        }
        judged(
            &format!("set.{name}.u32.s32 %r4, %r1, %r2; cvt.u64.u32 %rd4, %r4;"),
            |a, b, _| {
                if of(i64::from(a as i32), i64::from(b as i32)) {
                    0xffff_ffff
                } else {
                    0
                }
            },
        );
        for (word, joined) in [
            ("and", (|a, b| a & b) as fn(bool, bool) -> bool),
            ("or", |a, b| a | b),
            ("xor", |a, b| a ^ b),
        ] {
            judged(
                &format!(
                    "setp.gt.u32 %p3, %r3, 0x80000000; setp.{name}.{word}.s32 %p1|%p2, %r1, %r2, %p3; selp.u64 %rd4, 1, 0, %p1; @%p2 or.b64 %rd4, %rd4, 2; @!%p3 or.b64 %rd4, %rd4, 4;"
                ),
                |a, b, c| {
                    let (holds, third) = (
                        of(i64::from(a as i32), i64::from(b as i32)),
                        c as u32 > 0x8000_0000,
                    );
                    u64::from(joined(holds, third))
                        | u64::from(joined(!holds, third)) << 1
                        | u64::from(!third) << 2
                },
            );
        }
    }
    let floats: [(&str, Test<f64>); 14] = [
        ("eq", |a, b| a == b),
        ("ne", |a, b| a < b || a > b),
        ("lt", |a, b| a < b),
        ("le", |a, b| a <= b),
        ("gt", |a, b| a > b),
        ("ge", |a, b| a >= b),
        ("equ", |a, b| !(a < b || a > b)),
        ("neu", |a, b| a != b),
        ("ltu", |a, b| !(a >= b)),
        ("leu", |a, b| !(a > b)),
        ("gtu", |a, b| !(a <= b)),
        ("geu", |a, b| !(a < b)),
        ("num", |a, b| !a.is_nan() && !b.is_nan()),
        ("nan", |a, b| a.is_nan() || b.is_nan()),
    ];
    for (name, of) in floats {
        judged(
            &format!("setp.{name}.f64 %p1, %fd1, %fd2; selp.b64 %rd4, 1, 2, %p1;"),
            |a, b, _| {
                if of(f64::from_bits(a), f64::from_bits(b)) {
                    1
                } else {
                    2
                }
            },
        );
        let single = |a: u64| f64::from(f32::from_bits(a as u32));
        judged(
            &format!("setp.{name}.f32 %p1, %f1, %f2; selp.b64 %rd4, 1, 2, %p1;"),
            |a, b, _| {
                if of(single(a), single(b)) { 1 } else { 2 }
            },
        );
        judged(
            &format!("set.{name}.f32.f32 %f4, %f1, %f2; cvt.rzi.u64.f32 %rd4, %f4;"),
            |a, b, _| u64::from(of(single(a), single(b))),
        );
    }
}

#[test]
fn registers_are_joined_and_named() {
    judged(
        "mov.b32 {%rs4, %rs5}, %r1; mov.b64 %rd4, {%rs5, %rs4, %rs1, %rs2};",
        |a, b, _| a >> 16 & 0xffff | (a & 0xffff) << 16 | (a & 0xffff) << 32 | b << 48,
    );
    judged(
        "mov.b64 {%r4, %r5}, %rd1; mov.b64 %rd4, {%r5, %r2};",
        |a, b, _| a >> 32 | b << 32,
    );
    // The nearest declaration of a name counts, and a count of names ends where it says.
    judged(
        "{ .reg .b64 %q<3>, %q3; .reg .b64 %x1<2>; mov.u64 %q1, %rd1; mov.u64 %q3, 5; mov.u64 %x10, %rd2;\n\
         { .reg .b64 %q<2>; mov.u64 %q1, 9; add.u64 %q3, %q3, %q1; } add.u64 %rd4, %q1, %q3; add.u64 %rd4, %rd4, %x10; }",
        |a, b, _| a.wrapping_add(14).wrapping_add(b),
    );
    judged(
        "{ .local .align 8 .b8 m[32]; .reg .b64 %at; mov.u64 %at, m; st.local.u64 [%at], %rd1; st.local.v2.u32 [m+8], {%r2, %r3};\n\
         ld.local.u32 %r4, [%at+4]; ld.local.s8 %rs4, [m+8]; cvt.s64.s16 %rd5, %rs4; cvt.u64.u32 %rd4, %r4; add.s64 %rd4, %rd4, %rd5;\n\
         ld.local.u16 %rs5, [%at+14]; cvt.u64.u16 %rd6, %rs5; shl.b64 %rd6, %rd6, 40; xor.b64 %rd4, %rd4, %rd6; }",
        |a, b, c| (a >> 32).wrapping_add(b as i8 as u64) ^ (c >> 16 & 0xffff) << 40,
    );
}

#[test]
fn jumps_and_predicates() {
    judged(
        "mov.u32 %r5, 0; and.b32 %r6, %r1, 15;\nagain: setp.ge.u32 %p1, %r5, %r6; @%p1 bra out; add.u32 %r5, %r5, 1; mad.lo.u32 %r4, %r4, 3, %r5; bra.uni again;\nout: cvt.u64.u32 %rd4, %r4;",
        |a, _, _| {
            u64::from(
                (1..=(a as u32 & 15)).fold(0u32, |sum, at| sum.wrapping_mul(3).wrapping_add(at)),
            )
        },
    );
    judged(
        "setp.lt.s32 %p1, %r1, %r2; not.pred %p2, %p1; mov.pred %p3, %p2; xor.pred %p4, %p3, %p1; and.pred %p5, %p1, %p4; or.pred %p6, %p5, %p2;\n\
         @%p1 add.u64 %rd4, %rd4, 1; @!%p1 add.u64 %rd4, %rd4, 2; @%p4 add.u64 %rd4, %rd4, 4; @%p5 add.u64 %rd4, %rd4, 8; @!%p6 add.u64 %rd4, %rd4, 16;",
        |a, b, _| {
            if (a as i32) < b as i32 {
                1 + 4 + 8
            } else {
                2 + 4
            }
        },
    );
    judged(
        "and.b32 %r5, %r1, 3; ts: .branchtargets l0, l1, l2, l3; brx.idx %r5, ts;\nl0: add.u64 %rd4, %rd4, 1;\nl1: add.u64 %rd4, %rd4, 10; bra end;\nl2: mov.u64 %rd4, %rd2; bra end;\nl3: mov.u64 %rd4, 7;\nend:",
        |a, b, _| match a & 3 {
            0 => 11,
            1 => 10,
            2 => b,
            _ => 7,
        },
    );
}

#[test]
fn parts_of_registers_are_operands() {
    judged(
        "{ .reg .v4 .b32 %v; mov.b32 %v.x, %r1; mov.b32 %v.y, %r2; mov.b32 %v.z, %r3; mov.b32 %v.w, 7; add.u32 %r4, %v.x, %v.w; mad.lo.u32 %r4, %v.y, 3, %r4; xor.b32 %r4, %r4, %v.z; cvt.u64.u32 %rd4, %r4; }",
        |a, b, c| {
            u64::from(
                (a as u32)
                    .wrapping_add(7)
                    .wrapping_add((b as u32).wrapping_mul(3))
                    ^ c as u32,
            )
        },
    );
    judged(
        "{ .reg .v2 .b32 %v; mov.b32 %v.r, %r1; mov.b32 %v.g, %r2; sub.u32 %r4, %v.r, %v.g; cvt.u64.u32 %rd4, %r4; }",
        |a, b, _| u64::from((a as u32).wrapping_sub(b as u32)),
    );
}

#[test]
fn memory_is_read_and_written_by_type() {
    type Read = fn(u64) -> u64;
    let all: [(&str, &str, Read); 9] = [
        ("ld.local.u8 %rs4, [m+3]", "cvt.u64.u16 %rd4, %rs4", |a| {
            a >> 24 & 255
        }),
        ("ld.local.s8 %rs4, [m+1]", "cvt.s64.s16 %rd4, %rs4", |a| {
            (a >> 8) as i8 as u64
        }),
        ("ld.local.u16 %rs4, [m+6]", "cvt.u64.u16 %rd4, %rs4", |a| {
            a >> 48
        }),
        ("ld.local.s16 %r4, [m+2]", "cvt.s64.s32 %rd4, %r4", |a| {
            (a >> 16) as i16 as u64
        }),
        ("ld.local.u32 %rd4, [m+4]", "", |a| a >> 32),
        ("ld.local.s32 %rd4, [m]", "", |a| a as i32 as u64),
        ("ld.local.u8 %rd4, [m+7]", "", |a| a >> 56),
        ("ld.local.s8 %rd4, [m+7]", "", |a| (a as i64 >> 56) as u64),
        ("ld.volatile.local.b64 %rd4, [m]", "", |a| a),
    ];
    for (load, then, of) in all {
        let text =
            format!("{{ .local .align 16 .b8 m[32]; st.local.u64 [m], %rd1; {load}; {then}; }}");
        judged(&text, |a, _, _| of(a));
    }
    type Write = fn(u64, u64) -> u64;
    let all: [(&str, Write); 8] = [
        ("st.local.u8 [m+2], %rs2", |a, b| {
            a & !0xff_0000 | (b & 255) << 16
        }),
        ("st.local.u8 [m+5], %r2", |a, b| {
            a & !(255 << 40) | (b & 255) << 40
        }),
        ("st.local.u16 [m+4], %rs2", |a, b| {
            a & !(0xffff << 32) | (b & 0xffff) << 32
        }),
        ("st.local.u32 [m], %r2", |a, b| {
            a >> 32 << 32 | b & 0xffff_ffff
        }),
        ("st.local.u32 [m+4], %rd2", |a, b| a & 0xffff_ffff | b << 32),
        ("st.local.v2.u16 [m+4], {%rs2, %rs1}", |a, b| {
            a & 0xffff_ffff | (b & 0xffff) << 32 | (a & 0xffff) << 48
        }),
        ("st.local.v4.u8 [m], {%rs2, %rs2, 7, %rs1}", |a, b| {
            a >> 32 << 32 | (b & 255) * 257 | 7 << 16 | (a & 255) << 24
        }),
        ("st.local.b64 [m], %fd2", |_, b| b),
    ];
    for (store, of) in all {
        let text = format!(
            "{{ .local .align 16 .b8 m[32]; st.local.u64 [m], %rd1; {store}; ld.local.u64 %rd4, [m]; }}"
        );
        judged(&text, |a, b, _| of(a, b));
    }
    // Addresses: generic ones, an offset in a register, of an element.
    judged(
        "{ .shared .align 8 .b8 s[512]; .reg .b64 %at; .reg .b32 %o; cvta.shared.u64 %at, s; mul.wide.u32 %rd5, %r10, 16; add.u64 %at, %at, %rd5;\n\
         st.u64 [%at], %rd1; st.u64 [%at+8], %rd2; cvt.u32.u64 %o, %rd5; mov.u32 %r5, s; add.u32 %o, %o, %r5;\n\
         ld.shared.u64 %rd4, [%o+8]; ld.shared.v2.u64 {%rd6, %rd7}, [%o]; sub.u64 %rd4, %rd4, %rd6; xor.b64 %rd4, %rd4, %rd7; }",
        |a, b, _| b.wrapping_sub(a) ^ b,
    );
}

#[test]
fn parameters_of_calls_are_bytes() {
    // What overlaps is written over, what is around it stays.
    type Left = fn(u64, u64) -> u64;
    let stores: [(&str, Left); 9] = [
        (
            "st.param.b64 [s], %rd1; st.param.b16 [s+2], %rs2;",
            |a, b| a & !0xffff_0000 | (b & 0xffff) << 16,
        ),
        (
            "st.param.b64 [s], %rd1; st.param.b32 [s+4], %r2;",
            |a, b| a & 0xffff_ffff | b << 32,
        ),
        (
            "st.param.b32 [s], %r1; st.param.b32 [s+4], %r2; st.param.b32 [s+2], %r1;",
            |a, b| a & 0xffff | (a & 0xffff_ffff) << 16 | b >> 16 << 48,
        ),
        (
            "st.param.b8 [s], %rs1; st.param.b8 [s+1], %rs2; st.param.b16 [s+2], %rs1; st.param.b32 [s+4], %r2;",
            |a, b| a & 255 | (b & 255) << 8 | (a & 0xffff) << 16 | b << 32,
        ),
        (
            "st.param.b64 [s], %rd1; st.param.b64 [s], %rd2; st.param.b8 [s+7], %rs1;",
            |a, b| b & (u64::MAX >> 8) | a << 56,
        ),
        ("st.param.b64 [s], %rd1; st.param.b32 [s], %r2;", |a, b| {
            a >> 32 << 32 | b & 0xffff_ffff
        }),
        ("st.param.b64 [s], %rd1; st.param.b16 [s], %rs2;", |a, b| {
            a >> 16 << 16 | b & 0xffff
        }),
        (
            "st.param.b16 [s], %rs1; st.param.b16 [s+2], %rs1; st.param.b32 [s+4], %r1; st.param.b64 [s], %rd2;",
            |_, b| b,
        ),
        ("st.param.v2.b32 [s], {%r2, %r1};", |a, b| {
            b & 0xffff_ffff | a << 32
        }),
    ];
    for (stores, of) in stores {
        let text = format!("{{ .param .align 8 .b8 s[16]; {stores} ld.param.b64 %rd4, [s]; }}");
        judged(&text, |a, b, _| of(a, b));
        let text = format!(
            "{{ .param .align 8 .b8 s[16]; {stores} ld.param.b8 %rs4, [s+3]; ld.param.b32 %r4, [s+4]; cvt.u64.u16 %rd5, %rs4; cvt.u64.u32 %rd4, %r4; shl.b64 %rd5, %rd5, 32; or.b64 %rd4, %rd4, %rd5; }}"
        );
        judged(&text, |a, b, _| {
            of(a, b) >> 32 | (of(a, b) >> 24 & 255) << 32
        });
    }
}

#[test]
fn variables_have_their_initial_values() {
    let source = ".version 8.5\n.target sm_90\n.address_size 64\n.global .f32 f[3] = {0f3FC00000, 2.5}; .global .f64 d = 0d4008000000000000; .const .u16 h[2] = {65535, 7};\n\
        .global .align 8 .b8 b[8] = {1, 2, 3, 0x80}; .global .s64 w = -5; .global .u32 e[2];\n\
        .entry k(.param .u64 o)\n{\n.reg .b32 %r<20>; .reg .b64 %rd<9>;\nld.param.u64 %rd1, [o];\n\
        ld.global.u32 %r1, [f]; ld.global.u32 %r2, [f+4]; ld.global.u32 %r3, [f+8]; ld.global.v2.u32 {%r4, %r5}, [d]; ld.const.u16 %r6, [h]; ld.const.u16 %r7, [h+2];\n\
        ld.global.u32 %r8, [b]; ld.global.u32 %r9, [b+4]; ld.global.v2.u32 {%r10, %r11}, [w]; ld.global.u32 %r12, [e+4];\n\
        st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4}; st.global.v4.u32 [%rd1+16], {%r5, %r6, %r7, %r8}; st.global.v4.u32 [%rd1+32], {%r9, %r10, %r11, %r12}; ret;\n}\n";
    let all = lower_text(source);
    let (_, tree, lowered) = all.last().expect("a kernel");
    assert_eq!(
        (&tree.problems[..], &lowered.problems[..]),
        (&[][..], &[][..])
    );
    let mut launch = Launch::new(1);
    launch.buffers = vec![Buffer::of_u32(vec![99; 12])];
    launch.parameters = vec![Argument::Pointer {
        buffer: 0,
        offset: 0,
    }];
    let outcome = run(&lowered.module, &launch);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    let real = [1.5f32.to_bits(), 2.5f32.to_bits(), 0];
    let double = 3f64.to_bits();
    let expected = [
        real[0],
        real[1],
        real[2],
        double as u32,
        (double >> 32) as u32,
        65535,
        7,
        0x8003_0201,
        0,
        -5i32 as u32,
        u32::MAX,
        0,
    ];
    assert_eq!(outcome.buffers[0].words(), expected);
}
