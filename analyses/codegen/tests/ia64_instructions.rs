//! IA-64 instructions in the simulator, a line each: its results for a few words are those of the
//! Architecture Software Developer's Manual (revision 2.3, volume 3), here in Rust.

// Formulas stand as the manual has them; what is not less may be unordered.
#![allow(clippy::precedence, clippy::neg_cmp_op_on_partial_ord)]

use simulate::ia64::{Arg, Limits, Memory, Program, run};

const PAIRS: &[(u64, u64)] = &[
    (0, 0),
    (1, u64::MAX),
    (u64::MAX, 1),
    (u64::MAX, u64::MAX),
    (0x8000_0000_0000_0000, 0x7fff_ffff_ffff_ffff),
    (0x7fff_7fff_7fff_7fff, 0x0001_8000_ffff_7fff),
    (0x8000_8000_8000_8000, 0xffff_0001_8000_7fff),
    (0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210),
    (0x80ff_7f01_0080_ff10, 0x0180_807f_ff10_2080),
    (0x1122_0044_5566_7700, 0x0000_0004_0000_0007),
    (0x0000_0000_8000_0001, 0x1_0000_0003),
    (0x4009_21fb_5444_2d18, 0xbff0_0000_0000_0000),
];

fn judged(body: &str, of: &dyn Fn(u64, u64) -> u64) {
    let text = format!(
        "\t.text\n\t.global f#\n\t.proc f#\nf:\n\talloc r31 = ar.pfs, 8, 0, 0, 0 ;;\n{body}\n\tbr.ret.sptk.many b0 ;;\n\t.endp f#\n"
    );
    let document = syntax::ia64::parse(&text);
    assert_eq!(document.problems, [], "{text}");
    let (program, problems) = Program::new(&document, &text);
    assert_eq!(problems, [], "{body}");
    for &(a, b) in PAIRS {
        let arguments = [Arg::Integer(a), Arg::Integer(b)];
        let outcome = run(
            &program,
            "f",
            &arguments,
            &mut Memory::new(),
            &Limits::default(),
        );
        let outcome = outcome.unwrap_or_else(|fault| panic!("{body}: {fault}"));
        assert_eq!(outcome.violations, [], "{body}");
        let (found, expected) = (outcome.result.expect("a result"), of(a, b));
        assert_eq!(
            found, expected,
            "{body} of {a:#x}, {b:#x}: {found:#x}, {expected:#x}"
        );
    }
}

/// Elements of `bits`, the lowest first, signed.
fn parts(word: u64, bits: u32) -> Vec<i64> {
    let at = |at: u32| (word << (64 - bits - at)) as i64 >> (64 - bits);
    (0..64).step_by(bits as usize).map(at).collect()
}

fn joined(parts: impl IntoIterator<Item = i64>, bits: u32) -> u64 {
    let mask = u64::MAX >> (64 - bits);
    let each = parts.into_iter().enumerate();
    each.fold(0, |word, (at, part)| {
        word | (part as u64 & mask) << (at as u32 * bits)
    })
}

/// Judges an instruction on the elements of its operands, also with results beyond the range of signed or
/// unsigned ones.
fn each(instruction: &str, bits: u32, of: impl Fn(i64, i64) -> i64) {
    judged(&format!("\t{instruction} r8 = r32, r33"), &|a, b| {
        let pairs = parts(a, bits).into_iter().zip(parts(b, bits));
        joined(pairs.map(|(a, b)| of(a, b)), bits)
    });
}

fn unsigned(value: i64, bits: u32) -> i64 {
    (value as u64 & (u64::MAX >> (64 - bits))) as i64
}
fn signed_range(value: i64, bits: u32) -> i64 {
    value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
}
fn unsigned_range(value: i64, bits: u32) -> i64 {
    value.clamp(0, (1 << bits) - 1)
}

#[test]
fn elements_are_added_and_compared() {
    for bits in [8, 16, 32] {
        let bytes = bits / 8;
        each(&format!("padd{bytes}"), bits, |a, b| a + b);
        each(&format!("psub{bytes}"), bits, |a, b| a - b);
        each(&format!("pcmp{bytes}.eq"), bits, |a, b| -i64::from(a == b));
        each(&format!("pcmp{bytes}.gt"), bits, |a, b| -i64::from(a > b));
        if bits == 32 {
            continue;
        }
        let u = move |value| unsigned(value, bits);
        each(&format!("padd{bytes}.sss"), bits, |a, b| {
            signed_range(a + b, bits)
        });
        each(&format!("padd{bytes}.uuu"), bits, |a, b| {
            unsigned_range(u(a) + u(b), bits)
        });
        each(&format!("padd{bytes}.uus"), bits, |a, b| {
            unsigned_range(u(a) + b, bits)
        });
        each(&format!("psub{bytes}.sss"), bits, |a, b| {
            signed_range(a - b, bits)
        });
        each(&format!("psub{bytes}.uuu"), bits, |a, b| {
            unsigned_range(u(a) - u(b), bits)
        });
        each(&format!("psub{bytes}.uus"), bits, |a, b| {
            unsigned_range(u(a) - b, bits)
        });
        // The average is rounded to odd, or away from zero.
        each(&format!("pavg{bytes}"), bits, |a, b| {
            (u(a) + u(b)) >> 1 | (u(a) + u(b)) & 1
        });
        each(&format!("pavg{bytes}.raz"), bits, |a, b| {
            (u(a) + u(b) + 1) >> 1
        });
        each(&format!("pavgsub{bytes}"), bits, |a, b| {
            (u(a) - u(b)) >> 1 | (u(a) - u(b)) & 1
        });
    }
    each("pmin1.u", 8, |a, b| unsigned(a, 8).min(unsigned(b, 8)));
    each("pmax1.u", 8, |a, b| unsigned(a, 8).max(unsigned(b, 8)));
    each("pmin2", 16, i64::min);
    each("pmax2", 16, i64::max);
    judged("\tpsad1 r8 = r32, r33", &|a, b| {
        let pairs = parts(a, 8).into_iter().zip(parts(b, 8));
        pairs
            .map(|(a, b)| unsigned(a, 8).abs_diff(unsigned(b, 8)))
            .sum()
    });
}

#[test]
fn elements_are_multiplied_and_shifted() {
    for count in [0, 7, 15, 16] {
        judged(
            &format!("\tpmpyshr2 r8 = r32, r33, {count}"),
            &move |a, b| {
                joined(
                    parts(a, 16)
                        .iter()
                        .zip(parts(b, 16))
                        .map(|(a, b)| a * b >> count),
                    16,
                )
            },
        );
        judged(
            &format!("\tpmpyshr2.u r8 = r32, r33, {count}"),
            &move |a, b| {
                joined(
                    parts(a, 16)
                        .iter()
                        .zip(parts(b, 16))
                        .map(|(&a, b)| unsigned(a, 16) * unsigned(b, 16) >> count),
                    16,
                )
            },
        );
    }
    judged("\tpmpy2.r r8 = r32, r33", &|a, b| {
        joined([0, 2].map(|at| parts(a, 16)[at] * parts(b, 16)[at]), 32)
    });
    judged("\tpmpy2.l r8 = r32, r33", &|a, b| {
        joined([1, 3].map(|at| parts(a, 16)[at] * parts(b, 16)[at]), 32)
    });
    for count in 1..4 {
        judged(
            &format!("\tpshladd2 r8 = r32, {count}, r33"),
            &move |a, b| {
                let shifted = |a: i64| signed_range(a << count, 16);
                joined(
                    parts(a, 16)
                        .iter()
                        .zip(parts(b, 16))
                        .map(|(&a, b)| signed_range(shifted(a) + b, 16)),
                    16,
                )
            },
        );
        judged(
            &format!("\tpshradd2 r8 = r32, {count}, r33"),
            &move |a, b| {
                joined(
                    parts(a, 16)
                        .iter()
                        .zip(parts(b, 16))
                        .map(|(&a, b)| signed_range((a >> count) + b, 16)),
                    16,
                )
            },
        );
    }
    for (bits, counts) in [(16, [0, 3, 15]), (32, [1, 17, 31])] {
        let bytes = bits / 8;
        for count in counts {
            judged(&format!("\tpshl{bytes} r8 = r32, {count}"), &move |a, _| {
                joined(parts(a, bits).into_iter().map(|a| a << count), bits)
            });
            judged(&format!("\tpshr{bytes} r8 = r32, {count}"), &move |a, _| {
                joined(parts(a, bits).into_iter().map(|a| a >> count), bits)
            });
            judged(
                &format!("\tpshr{bytes}.u r8 = r32, {count}"),
                &move |a, _| {
                    joined(
                        parts(a, bits)
                            .into_iter()
                            .map(|a| unsigned(a, bits) >> count),
                        bits,
                    )
                },
            );
        }
        judged(&format!("\tpshl{bytes} r8 = r32, r33"), &move |a, b| {
            joined(
                parts(a, bits)
                    .into_iter()
                    .map(|a| if b < 32 { a << b } else { 0 }),
                bits,
            )
        });
        judged(&format!("\tpshr{bytes} r8 = r32, r33"), &move |a, b| {
            joined(parts(a, bits).into_iter().map(|a| a >> b.min(63)), bits)
        });
        judged(&format!("\tpshr{bytes}.u r8 = r32, r33"), &move |a, b| {
            joined(
                parts(a, bits)
                    .into_iter()
                    .map(|a| if b < 32 { unsigned(a, bits) >> b } else { 0 }),
                bits,
            )
        });
    }
}

#[test]
fn elements_change_places() {
    for bits in [8, 16, 32] {
        let (bytes, count) = (bits / 8, 64 / bits as usize);
        let pair = |name: &str, of: fn(usize, usize, &[i64], &[i64]) -> i64| {
            judged(&format!("\t{name} r8 = r32, r33"), &move |a, b| {
                let (a, b) = (parts(a, bits), parts(b, bits));
                joined((0..count).map(|at| of(at, count, &a, &b)), bits)
            });
        };
        pair(&format!("unpack{bytes}.l"), |at, _, a, b| {
            if at % 2 == 0 { b[at / 2] } else { a[at / 2] }
        });
        pair(&format!("unpack{bytes}.h"), |at, count, a, b| {
            let from = count / 2 + at / 2;
            if at % 2 == 0 { b[from] } else { a[from] }
        });
        pair(&format!("mix{bytes}.l"), |at, _, a, b| {
            if at % 2 == 0 { b[at + 1] } else { a[at] }
        });
        pair(&format!("mix{bytes}.r"), |at, _, a, b| {
            if at % 2 == 0 { b[at] } else { a[at - 1] }
        });
    }
    judged("\tpack2.sss r8 = r32, r33", &|a, b| {
        joined(
            parts(a, 16)
                .into_iter()
                .chain(parts(b, 16))
                .map(|part| signed_range(part, 8)),
            8,
        )
    });
    judged("\tpack2.uss r8 = r32, r33", &|a, b| {
        joined(
            parts(a, 16)
                .into_iter()
                .chain(parts(b, 16))
                .map(|part| unsigned_range(part, 8)),
            8,
        )
    });
    judged("\tpack4.sss r8 = r32, r33", &|a, b| {
        joined(
            parts(a, 32)
                .into_iter()
                .chain(parts(b, 32))
                .map(|part| signed_range(part, 16)),
            16,
        )
    });
    for (name, order) in [
        ("@rev", [7, 6, 5, 4, 3, 2, 1, 0]),
        ("@mix", [0, 4, 2, 6, 1, 5, 3, 7]),
        ("@shuf", [0, 4, 1, 5, 2, 6, 3, 7]),
        ("@alt", [0, 2, 4, 6, 1, 3, 5, 7]),
        ("@brcst", [0; 8]),
    ] {
        judged(&format!("\tmux1 r8 = r32, {name}"), &move |a, _| {
            joined(order.map(|at| parts(a, 8)[at]), 8)
        });
    }
    for order in [0x1b_u32, 0xe4, 0x4e, 0x00, 0xd8, 0x72] {
        judged(&format!("\tmux2 r8 = r32, {order:#x}"), &move |a, _| {
            joined(
                (0..4).map(|at| parts(a, 16)[(order >> (2 * at) & 3) as usize]),
                16,
            )
        });
    }
    for (bits, bytes) in [(8, 1), (16, 2)] {
        judged(&format!("\tczx{bytes}.l r8 = r32"), &move |a, _| {
            let all = parts(a, bits);
            all.iter()
                .rev()
                .position(|&part| part == 0)
                .unwrap_or(all.len()) as u64
        });
        judged(&format!("\tczx{bytes}.r r8 = r32"), &move |a, _| {
            let all = parts(a, bits);
            all.iter().position(|&part| part == 0).unwrap_or(all.len()) as u64
        });
    }
}

type Of = fn(u64, u64) -> u64;
type Relation<T> = (&'static str, fn(T, T) -> bool);

#[test]
fn words() {
    let all: &[(&str, Of)] = &[
        ("add r8 = r32, r33", u64::wrapping_add),
        ("add r8 = r32, r33, 1", |a, b| {
            a.wrapping_add(b).wrapping_add(1)
        }),
        ("adds r8 = -77, r32", |a, _| a.wrapping_sub(77)),
        ("sub r8 = r32, r33", u64::wrapping_sub),
        ("sub r8 = r32, r33, 1", |a, b| {
            a.wrapping_sub(b).wrapping_sub(1)
        }),
        ("sub r8 = -9, r32", |a, _| (-9i64 as u64).wrapping_sub(a)),
        ("and r8 = r32, r33", |a, b| a & b),
        ("and r8 = -8, r32", |a, _| a & !7),
        ("andcm r8 = r32, r33", |a, b| a & !b),
        ("andcm r8 = 0x55, r32", |a, _| 0x55 & !a),
        ("or r8 = r32, r33", |a, b| a | b),
        ("or r8 = 17, r32", |a, _| a | 17),
        ("xor r8 = r32, r33", |a, b| a ^ b),
        ("xor r8 = -1, r32", |a, _| !a),
        ("addp4 r8 = r32, r33", |a, b| {
            u64::from(a as u32).wrapping_add(b) & 0xffff_ffff | (b >> 30 & 3) << 61
        }),
        ("shladd r8 = r32, 1, r33", |a, b| (a << 1).wrapping_add(b)),
        ("shladd r8 = r32, 4, r33", |a, b| (a << 4).wrapping_add(b)),
        ("shladdp4 r8 = r32, 2, r33", |a, b| {
            (a << 2).wrapping_add(b) & 0xffff_ffff | (b >> 30 & 3) << 61
        }),
        ("shl r8 = r32, r33", |a, b| if b < 64 { a << b } else { 0 }),
        (
            "shr.u r8 = r32, r33",
            |a, b| if b < 64 { a >> b } else { 0 },
        ),
        ("shr r8 = r32, r33", |a, b| (a as i64 >> b.min(63)) as u64),
        ("shl r8 = r32, 13", |a, _| a << 13),
        ("shr.u r8 = r32, 13", |a, _| a >> 13),
        ("shr r8 = r32, 13", |a, _| (a as i64 >> 13) as u64),
        ("shrp r8 = r32, r33, 21", |a, b| b >> 21 | a << 43),
        ("extr r8 = r32, 11, 17", |a, _| {
            ((a << 36) as i64 >> 47) as u64
        }),
        ("extr.u r8 = r32, 11, 17", |a, _| a >> 11 & 0x1_ffff),
        ("extr r8 = r32, 50, 20", |a, _| (a as i64 >> 50) as u64),
        ("dep r8 = r32, r33, 20, 9", |a, b| {
            b & !(0x1ff << 20) | (a & 0x1ff) << 20
        }),
        ("dep r8 = -1, r33, 20, 9", |_, b| b | 0x1ff << 20),
        ("dep r8 = 0, r33, 20, 9", |_, b| b & !(0x1ff << 20)),
        ("dep.z r8 = r32, 20, 30", |a, _| (a & 0x3fff_ffff) << 20),
        ("dep.z r8 = -3, 20, 30", |_, _| {
            (-3i64 as u64 & 0x3fff_ffff) << 20
        }),
        ("sxt1 r8 = r32", |a, _| a as i8 as u64),
        ("sxt2 r8 = r32", |a, _| a as i16 as u64),
        ("sxt4 r8 = r32", |a, _| a as i32 as u64),
        ("zxt1 r8 = r32", |a, _| a & 0xff),
        ("zxt2 r8 = r32", |a, _| a & 0xffff),
        ("zxt4 r8 = r32", |a, _| a & 0xffff_ffff),
        ("popcnt r8 = r32", |a, _| u64::from(a.count_ones())),
        ("mov r8 = r33", |_, b| b),
    ];
    for (instruction, of) in all {
        judged(&format!("\t{instruction}"), of);
    }
}

#[test]
fn comparisons_set_two_predicates() {
    let relations: [Relation<i64>; 10] = [
        ("eq", |a, b| a == b),
        ("ne", |a, b| a != b),
        ("lt", |a, b| a < b),
        ("le", |a, b| a <= b),
        ("gt", |a, b| a > b),
        ("ge", |a, b| a >= b),
        ("ltu", |a, b| (a as u64) < b as u64),
        ("leu", |a, b| a as u64 <= b as u64),
        ("gtu", |a, b| a as u64 > b as u64),
        ("geu", |a, b| a as u64 >= b as u64),
    ];
    let told = "(p6) adds r8 = 1, r8 ;;\n(p7) adds r8 = 2, r8";
    for (name, of) in relations {
        judged(
            &format!("\tmov r8 = 0\n\tcmp.{name} p6, p7 = r32, r33 ;;\n{told}"),
            &move |a, b| {
                if of(a as i64, b as i64) { 1 } else { 2 }
            },
        );
        judged(
            &format!("\tmov r8 = 0\n\tcmp.{name} p6, p7 = -3, r33 ;;\n{told}"),
            &move |_, b| {
                if of(-3, b as i64) { 1 } else { 2 }
            },
        );
        judged(
            &format!("\tmov r8 = 0\n\tcmp4.{name} p6, p7 = r32, r33 ;;\n{told}"),
            &move |a, b| {
                if of(i64::from(a as i32), i64::from(b as i32)) {
                    1
                } else {
                    2
                }
            },
        );
        // Under a predicate that does not hold nothing is set, or both are cleared.
        let before = "\tmov r8 = 0\n\tcmp.eq p6, p7 = r0, r0\n\tcmp.ne p9, p0 = r0, r0 ;;";
        judged(
            &format!("{before}\n(p9) cmp.{name} p6, p7 = r32, r33 ;;\n{told}"),
            &|_, _| 1,
        );
        judged(
            &format!("{before}\n(p9) cmp.{name}.unc p6, p7 = r32, r33 ;;\n{told}"),
            &|_, _| 0,
        );
    }
    for (name, of) in &relations[..6] {
        for (kind, start) in [("and", 3), ("or", 0), ("or.andcm", 2)] {
            let set = match start {
                3 => "\tcmp.eq p6, p0 = r0, r0\n\tcmp.eq p7, p0 = r0, r0 ;;",
                0 => "\tcmp.ne p6, p0 = r0, r0\n\tcmp.ne p7, p0 = r0, r0 ;;",
                _ => "\tcmp.ne p6, p7 = r0, r0 ;;",
            };
            let of = *of;
            judged(
                &format!("\tmov r8 = 0\n{set}\n\tcmp.{name}.{kind} p6, p7 = r0, r33 ;;\n{told}"),
                &move |_, b| match (kind, of(0, b as i64)) {
                    ("and", true) => 3,
                    ("and", false) => 0,
                    ("or", true) => 3,
                    ("or", false) => 0,
                    (_, true) => 1,
                    _ => 2,
                },
            );
        }
    }
    for bit in [0, 5, 31, 63] {
        judged(
            &format!("\tmov r8 = 0\n\ttbit.z p6, p7 = r32, {bit} ;;\n{told}"),
            &move |a, _| if a >> bit & 1 == 0 { 1 } else { 2 },
        );
        judged(
            &format!("\tmov r8 = 0\n\ttbit.nz p6, p7 = r32, {bit} ;;\n{told}"),
            &move |a, _| if a >> bit & 1 == 1 { 1 } else { 2 },
        );
    }
}

/// Words in floating-point registers, as significands.
#[test]
fn words_in_the_floating_point_unit() {
    let all: &[(&str, Of)] = &[
        ("xma.l f8 = f6, f7, f0", u64::wrapping_mul),
        ("xma.l f8 = f6, f7, f6", |a, b| {
            a.wrapping_mul(b).wrapping_add(a)
        }),
        ("xma.hu f8 = f6, f7, f0", |a, b| {
            (u128::from(a) * u128::from(b) >> 64) as u64
        }),
        ("xma.hu f8 = f6, f7, f7", |a, b| {
            (u128::from(a) * u128::from(b) + u128::from(b) >> 64) as u64
        }),
        ("xma.h f8 = f6, f7, f0", |a, b| {
            (i128::from(a as i64) * i128::from(b as i64) >> 64) as u64
        }),
        ("xmpy.l f8 = f6, f7", u64::wrapping_mul),
        ("xmpy.hu f8 = f6, f7", |a, b| {
            (u128::from(a) * u128::from(b) >> 64) as u64
        }),
        ("fand f8 = f6, f7", |a, b| a & b),
        ("fandcm f8 = f6, f7", |a, b| a & !b),
        ("for f8 = f6, f7", |a, b| a | b),
        ("fxor f8 = f6, f7", |a, b| a ^ b),
        ("fswap f8 = f6, f6", |a, _| a.rotate_left(32)),
        ("fswap.nl f8 = f6, f6", |a, _| a.rotate_left(32) ^ 1 << 63),
        ("fswap.nr f8 = f6, f6", |a, _| a.rotate_left(32) ^ 1 << 31),
        ("fmix.l f8 = f6, f7", |a, b| a & !0xffff_ffff | b >> 32),
        ("fmix.r f8 = f6, f7", |a, b| a << 32 | b & 0xffff_ffff),
        ("fmix.lr f8 = f6, f7", |a, b| {
            a & !0xffff_ffff | b & 0xffff_ffff
        }),
        ("fsxt.l f8 = f6, f7", |a, b| {
            if a >> 63 != 0 {
                !0xffff_ffff | b >> 32
            } else {
                b >> 32
            }
        }),
        ("fsxt.r f8 = f6, f7", |a, b| {
            if a >> 31 & 1 != 0 {
                !0xffff_ffff | b & 0xffff_ffff
            } else {
                b & 0xffff_ffff
            }
        }),
        ("fselect f8 = f6, f7, f6", |a, b| a & a | b & !a),
    ];
    for (instruction, of) in all {
        judged(
            &format!(
                "\tsetf.sig f6 = r32\n\tsetf.sig f7 = r33 ;;\n\t{instruction} ;;\n\tgetf.sig r8 = f8"
            ),
            of,
        );
    }
}

/// Doubles; the operands are small numbers of either sign.
#[test]
fn doubles() {
    type Real = fn(f64, f64) -> f64;
    let all: &[(&str, Real)] = &[
        ("fadd.d f8 = f6, f7", |a, b| a + b),
        ("fsub.d f8 = f6, f7", |a, b| a - b),
        ("fmpy.d f8 = f6, f7", |a, b| a * b),
        ("fnmpy.d f8 = f6, f7", |a, b| -(a * b)),
        ("fma.d f8 = f6, f7, f6", |a, b| a.mul_add(b, a)),
        ("fms.d f8 = f6, f7, f6", |a, b| a.mul_add(b, -a)),
        ("fnma.d f8 = f6, f7, f6", |a, b| (-a).mul_add(b, a)),
        ("fma.s f8 = f6, f7, f7", |a, b| {
            f64::from((a as f32).mul_add(b as f32, b as f32))
        }),
        ("fmin f8 = f6, f7", |a, b| if a < b { a } else { b }),
        ("fmax f8 = f6, f7", |a, b| if a > b { a } else { b }),
        (
            "famin f8 = f6, f7",
            |a, b| if a.abs() < b.abs() { a } else { b },
        ),
        (
            "famax f8 = f6, f7",
            |a, b| if a.abs() > b.abs() { a } else { b },
        ),
        ("fmerge.s f8 = f6, f7", |a, b| b.copysign(a)),
        ("fmerge.ns f8 = f6, f7", |a, b| b.copysign(-a)),
        ("fmerge.se f8 = f6, f7", |a, b| {
            let mantissa = u64::MAX >> 12;
            f64::from_bits(a.to_bits() & !mantissa | b.to_bits() & mantissa)
        }),
        ("mov f8 = f7", |_, b| b),
        ("fneg f8 = f6", |a, _| -a),
        ("fabs f8 = f6", |a, _| a.abs()),
        ("fnegabs f8 = f6", |a, _| -a.abs()),
        ("fcvt.fx f9 = f6 ;;\n\tfcvt.xf f8 = f9", |a, _| {
            a.round_ties_even() + 0.0
        }),
        ("fcvt.fx.trunc f9 = f6 ;;\n\tfcvt.xf f8 = f9", |a, _| {
            a.trunc() + 0.0
        }),
        ("fnorm.s f8 = f6", |a, _| f64::from(a as f32)),
    ];
    let reals = |a: u64, b: u64| {
        let real = |word: u64| (i64::from(word as i16) as f64 + 0.25) / 16.0;
        (real(a), real(b))
    };
    let head = "\tsxt2 r14 = r32\n\tsxt2 r15 = r33 ;;\n\tsetf.sig f6 = r14\n\tsetf.sig f7 = r15\n\tmovl r16 = 0x3fd0000000000000\n\tmovl r17 = 0x3fb0000000000000 ;;\n\
        \tfcvt.xf f6 = f6\n\tfcvt.xf f7 = f7\n\tsetf.d f10 = r16\n\tsetf.d f11 = r17 ;;\n\tfadd.d f6 = f6, f10\n\tfadd.d f7 = f7, f10 ;;\n\tfmpy.d f6 = f6, f11\n\tfmpy.d f7 = f7, f11 ;;";
    for (instruction, of) in all {
        judged(
            &format!("{head}\n\t{instruction} ;;\n\tgetf.d r8 = f8"),
            &|a, b| {
                let (a, b) = reals(a, b);
                of(a, b).to_bits()
            },
        );
    }
    let relations: [Relation<f64>; 12] = [
        ("eq", |a, b| a == b),
        ("lt", |a, b| a < b),
        ("le", |a, b| a <= b),
        ("gt", |a, b| a > b),
        ("ge", |a, b| a >= b),
        ("unord", |a, b| a.is_nan() || b.is_nan()),
        ("neq", |a, b| a != b),
        ("nlt", |a, b| !(a < b)),
        ("nle", |a, b| !(a <= b)),
        ("ngt", |a, b| !(a > b)),
        ("nge", |a, b| !(a >= b)),
        ("ord", |a, b| !a.is_nan() && !b.is_nan()),
    ];
    for (name, of) in relations {
        let told = "(p6) adds r8 = 1, r8 ;;\n(p7) adds r8 = 2, r8";
        judged(
            &format!("{head}\n\tmov r8 = 0\n\tfcmp.{name} p6, p7 = f6, f7 ;;\n{told}"),
            &move |a, b| {
                let (a, b) = reals(a, b);
                if of(a, b) { 1 } else { 2 }
            },
        );
        judged(
            &format!(
                "\tmov r8 = 0\n\tsetf.d f6 = r32\n\tsetf.d f7 = r33 ;;\n\tfcmp.{name} p6, p7 = f6, f7 ;;\n{told}"
            ),
            &move |a, b| {
                if of(f64::from_bits(a), f64::from_bits(b)) {
                    1
                } else {
                    2
                }
            },
        );
    }
    judged(&format!("{head}\n\tgetf.s r8 = f6"), &|a, b| {
        u64::from((reals(a, b).0 as f32).to_bits())
    });
    judged(&format!("{head}\n\tgetf.exp r8 = f6"), &|a, b| {
        let bits = reals(a, b).0.to_bits();
        // Zero has the exponent zero in registers, too.
        let exponent = match bits >> 52 & 0x7ff {
            0 => 0,
            biased => biased + 0xffff - 1023,
        };
        exponent | bits >> 63 << 17
    });
}
