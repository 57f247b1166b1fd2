//! The data units' instructions, one by one.

use super::*;

/// Registers before a body, the body, and `d0` behind it.
type Case<'a> = (&'a [(&'a str, i64)], &'a str, i64);

/// Executes cases one by one.
fn all(cases: &[Case<'_>], limits: &Limits) {
    for (registers, body, expected) in cases {
        let found = with(registers, body, limits);
        assert_eq!(found, *expected, "{registers:x?} {body}: {found:x}");
    }
}

const MOST: i64 = 0x7fff_ffff;
const LEAST: i64 = -0x8000_0000;

#[test]
fn sums_and_differences() {
    all(
        &[
            (&[("d1", 5), ("d2", -7)], " add d1,d2,d0", -2),
            (&[("d0", 5)], " add #31,d0", 36),
            (&[("d1", 5), ("d2", 7)], " sub d1,d2,d0", 2),
            (&[("d0", 5)], " sub #7,d0", -2),
            (&[("d1", 10)], " addnc.w #-3,d1,d0", 7),
            (&[("d0", 10)], " subnc.w #-3,d0", 13),
            (&[("d0", 10), ("d1", 3)], " iadd d1,d0", 13),
            (&[("d0", 10)], " iaddnc.w #-300,d0", -290),
            (&[("d0", 10), ("d1", 3)], " subl d1,d0", 17),
            (&[("d0", -5)], " abs d0", 5),
            (&[("d0", LEAST)], " abs d0", 1 << 31),
            (&[("d0", LEAST)], " neg d0", 1 << 31),
            (&[("d0", 5)], " neg d0", -5),
            (&[("d0", -1)], " inc d0", 0),
            (&[("d0", -1)], " inc.f d0", 0xffff),
            (&[("d0", 7)], " clr d0", 0),
            (&[("d0", 0x7f_ffff_ffff)], " inc d0", -0x80_0000_0000),
            (&[("d0", MOST), ("d1", MOST)], " add d1,d0,d0", 2 * MOST),
            (&[("d1", -9)], " tfr d1,d0", -9),
        ],
        &limits(),
    );
}

#[test]
fn results_saturate_to_32_bits_in_that_mode() {
    all(
        &[
            (&[("d0", MOST), ("d1", MOST)], " add d1,d0,d0", MOST),
            (&[("d0", LEAST), ("d1", 1)], " sub d1,d0,d0", LEAST),
            (&[("d0", LEAST)], " abs d0", MOST),
            (&[("d0", LEAST)], " neg d0", MOST),
            (&[("d0", MOST)], " inc d0", MOST),
            (&[("d1", 0x4000_0000)], " asl d1,d0", MOST),
            (&[("d1", LEAST)], " asl d1,d0", LEAST),
            (&[("d1", LEAST), ("d2", LEAST)], " mpy d1,d2,d0", MOST),
            (&[("d0", 5), ("d1", LEAST)], " mac d1,d1,d0", MOST),
            (&[("d0", -5), ("d1", LEAST)], " mac d1,d1,d0", MOST - 4),
            (&[("d0", LEAST), ("d1", LEAST)], " mac -d1,d1,d0", LEAST),
            // A low part of zero stays.
            (&[("d1", MOST)], " rnd d1,d0", 0x7fff_0000),
            (&[("d0", MOST), ("d1", MOST)], " adr d1,d0", 0x7fff_0000),
            (&[("d1", LEAST)], " mpyr d1,d1,d0", 0x7fff_0000),
            // These leave the range that they were given.
            (&[("d1", 1 << 31)], " tfr d1,d0", 1 << 31),
            (&[("d0", MOST), ("d1", 1)], " iadd d1,d0", 1 << 31),
            (&[("d0", MOST), ("d1", 1)], " imac d1,d1,d0", 1 << 31),
        ],
        &saturating(),
    );
}

#[test]
fn a_product_may_be_clamped_before_its_sum() {
    let mut clamped = saturating();
    clamped.settings.product_saturates = true;
    let registers = [("d0", -5), ("d1", LEAST)];
    assert_eq!(with(&registers, " mac d1,d1,d0", &clamped), MOST - 5);
}

#[test]
fn carries_link_sums() {
    assert!(carry(&[("d1", -1), ("d2", 1)], " add d1,d2,d0"));
    assert!(!carry(&[("d1", 1), ("d2", 1)], " add d1,d2,d0"));
    assert!(carry(&[("d1", 2), ("d2", 1)], " sub d1,d2,d0"));
    assert!(!carry(&[("d1", 1), ("d2", 2)], " sub d1,d2,d0"));
    assert!(carry(&[("d1", 1)], " asr d1,d0"));
    assert!(carry(&[("d1", -1)], " asl d1,d0"));
    assert!(carry(&[("d0", 2)], " asrr #2,d0"));
    assert!(!carry(&[("d0", 4)], " asrr #2,d0"));
    assert!(carry(&[("d0", 1 << 36)], " asll #4,d0"));
    // The last of a set wins.
    assert!(carry(
        &[("d2", 1), ("d3", 0)],
        " [\n asr d3,d0\n asr d2,d1\n ]"
    ));
    assert!(!carry(
        &[("d2", 1), ("d3", 0)],
        " [\n asr d2,d1\n asr d3,d0\n ]"
    ));
    all(
        &[
            (
                &[("d0", 1), ("d1", 2), ("d2", 1)],
                " asr d2,d3\n adc d1,d0",
                4,
            ),
            (
                &[("d0", 9), ("d1", 2), ("d2", 1)],
                " asr d2,d3\n sbc d1,d0",
                6,
            ),
            (
                &[("d0", 9), ("d1", 2), ("d2", 0)],
                " asr d2,d3\n sbc d1,d0",
                7,
            ),
        ],
        &limits(),
    );
    let mut narrow = limits();
    narrow.settings.carry_bits = 32;
    let body = " add d1,d2,d3\n [\n clr d0\n clr d1\n ]\n adc d1,d0";
    let registers = [("d1", 0xffff_ffff), ("d2", 1)];
    assert_eq!(with(&registers, body, &narrow), 1);
    assert_eq!(with(&registers, body, &limits()), 0);
}

#[test]
fn ties_go_to_even_or_up() {
    let cases = [
        (0x1_8000, 0x2_0000, 0x2_0000),
        (0x2_8000, 0x2_0000, 0x3_0000),
        (0x2_8001, 0x3_0000, 0x3_0000),
        (0x2_7fff, 0x2_0000, 0x2_0000),
        (-0x1_8000, -0x2_0000, -0x1_0000),
        (-0x8000, 0, 0),
    ];
    for (value, even, up) in cases {
        assert_eq!(with(&[("d1", value)], " rnd d1,d0", &limits()), even);
        assert_eq!(with(&[("d1", value)], " rnd d1,d0", &saturating()), up);
    }
    all(
        &[
            (
                &[("d0", 0x1_8000), ("d1", 0x1_0000)],
                " adr d1,d0",
                0x2_0000,
            ),
            (
                &[("d0", 0x3_8000), ("d1", 0x2_0000)],
                " sbr d1,d0",
                0x2_0000,
            ),
        ],
        &limits(),
    );
}

#[test]
fn fractional_products() {
    all(
        &[
            (
                &[("d1", 0x4000_0000), ("d2", 0x2000_0000)],
                " mpy d1,d2,d0",
                0x1000_0000,
            ),
            (
                &[("d1", 0x4000_0000), ("d2", 0x2000_0000)],
                " mpy -d1,d2,d0",
                -0x1000_0000,
            ),
            (
                &[("d1", LEAST), ("d2", LEAST)],
                " mpy d1,d2,d0",
                0x8000_0000,
            ),
            // Low parts take no part.
            (
                &[("d1", 0x4000_ffff), ("d2", 0x2000_ffff)],
                " mpy d1,d2,d0",
                0x1000_0000,
            ),
            (
                &[("d0", 7), ("d1", 0x3_0000), ("d2", -0x5_0000)],
                " mac d1,d2,d0",
                -23,
            ),
            (
                &[("d0", 7), ("d1", 0x3_0000), ("d2", -0x5_0000)],
                " mac -d1,d2,d0",
                37,
            ),
            (&[("d0", 7), ("d1", 0x3_0000)], " mac #5,d1,d0", 37),
            (&[("d0", 7), ("d1", 0x3_0000)], " mac #-5,d1,d0", -23),
            (
                &[("d0", 0x8000), ("d1", 0x1_0000), ("d2", 0x1_0000)],
                " macr d1,d2,d0",
                0x1_0000,
            ),
            (
                &[("d1", 0x100_0000), ("d2", 0x40_0000)],
                " mpyr d1,d2,d0",
                0,
            ),
            (
                &[("d1", 0x100_0000), ("d2", 0x60_0000)],
                " mpyr d1,d2,d0",
                0x1_0000,
            ),
        ],
        &limits(),
    );
}

#[test]
fn products_of_halves() {
    let registers: &[(&str, i64)] = &[("d0", 0x5_0000), ("d1", 0xfffd_0004), ("d2", 0x6_fffe)];
    // d1: high -3 or 65533, low 4. d2: high 6, low -2 or 65534.
    let of = |body: &str| with(registers, body, &limits());
    let own = 0x5_0000;
    assert_eq!(of(" impy d1,d2,d0"), -8);
    assert_eq!(of(" imac d1,d2,d0"), own - 8);
    assert_eq!(of(" impyuu d1,d2,d0"), 4 * 65534);
    assert_eq!(of(" impysu d1,d2,d0"), 4 * 65534);
    assert_eq!(of(" impysu d2,d1,d0"), -8);
    assert_eq!(of(" imacus d2,d1,d0"), own + 4 * 65534);
    assert_eq!(of(" imacus d1,d2,d0"), own - 8);
    assert_eq!(of(" impyhluu d1,d2,d0"), 65533 * 65534);
    assert_eq!(of(" imaclhuu d1,d2,d0"), own + 24);
    assert_eq!(of(" impy.w #-7,d2\n tfr d2,d0"), 14);
    assert_eq!(of(" mpysu d1,d2,d0"), -2 * 3 * 65534);
    assert_eq!(of(" mpyus d1,d2,d0"), 2 * 4 * 6);
    assert_eq!(of(" mpyuu d1,d2,d0"), 2 * 4 * 65534);
    assert_eq!(of(" macsu d1,d2,d0"), own - 2 * 3 * 65534);
    assert_eq!(of(" macus d1,d2,d0"), own + 48);
    assert_eq!(of(" macuu d1,d2,d0"), own + 2 * 4 * 65534);
    assert_eq!(of(" dmacss d1,d2,d0"), 5 - 36);
    assert_eq!(of(" dmacsu d1,d2,d0"), 5 - 2 * 3 * 65534);
}

#[test]
fn halves_on_their_own() {
    all(
        &[
            (
                &[("d0", 0x1_0001), ("d1", 0x1_ffff)],
                " add2 d1,d0",
                0x2_0000,
            ),
            (&[("d0", 0x1_0000), ("d1", 0x1)], " sub2 d1,d0", 0x1_ffff),
            (
                &[("d0", 0x7fff_0000), ("d1", 0x1_0000)],
                " add2 d1,d0",
                LEAST,
            ),
            (
                &[("d0", 0x5_fffe), ("d1", 0xfff0_0003)],
                " max2 d1,d0",
                0x5_0003,
            ),
        ],
        &limits(),
    );
}

#[test]
fn shifts() {
    all(
        &[
            (&[("d0", 3)], " asll #4,d0", 48),
            (&[("d0", -48)], " asrr #4,d0", -3),
            (&[("d0", 3), ("d1", 4)], " asll d1,d0", 48),
            (&[("d0", -48), ("d1", -4)], " asll d1,d0", -3),
            (&[("d0", 3), ("d1", -4)], " asrr d1,d0", 48),
            (&[("d0", -1), ("d1", 40)], " asll d1,d0", 0),
            (&[("d0", -1), ("d1", 40)], " asrr d1,d0", -1),
            // Seven bits of the count matter.
            (&[("d0", 3), ("d1", 128 + 4)], " asll d1,d0", 48),
            (
                &[("d0", 0x40_0000_0000), ("d1", 1)],
                " asll d1,d0",
                -0x80_0000_0000,
            ),
            (&[("d0", -1)], " lsrr #4,d0", 0x0f_ffff_ffff),
            (&[("d0", -1), ("d1", 4)], " lsrr d1,d0", 0x0f_ffff_ffff),
            (&[("d0", -1), ("d1", -4)], " lsll d1,d0", 0x0f_ffff_ffff),
            (&[("d0", 3), ("d1", 4)], " lsll d1,d0", 48),
            (&[("d1", -1)], " lsr d1,d0", 0x7f_ffff_ffff),
            (&[("d1", -1)], " lsrw d1,d0", 0xff_ffff),
            (&[("d1", -0x5_0001)], " asrw d1,d0", -6),
            (&[("d1", 5)], " aslw d1,d0", 0x5_0000),
            (&[("d1", -5)], " asr d1,d0", -3),
            (&[("d1", -5)], " asl d1,d0", -10),
            (&[("d0", 5), ("d1", 1)], " asr d1,d2\n rol d0", 11),
            (
                &[("d0", 4), ("d1", 1)],
                " asr d1,d2\n ror d0",
                -0x80_0000_0000 + 2,
            ),
        ],
        &limits(),
    );
    assert!(carry(&[("d0", 5)], " ror d0"));
    assert!(carry(&[("d0", -1)], " rol d0"));
}

#[test]
fn bits_and_fields() {
    all(
        &[
            (&[("d0", 0b1100), ("d1", 0b1010)], " and d1,d0", 0b1000),
            (&[("d0", 0b1100), ("d1", 0b1010)], " or d1,d0", 0b1110),
            (&[("d0", 0b1100), ("d1", 0b1010)], " eor d1,d0", 0b0110),
            (&[("d1", 5)], " not d1,d0", -6),
            // A mask in the high part keeps what is above it.
            (
                &[("d1", -0x10_1234_5678)],
                " and #-65536,d1,d0",
                -0x10_1234_5678 & !0xffff,
            ),
            (&[("d1", 0x1234_5678)], " and #$ff,d1,d0", 0x78),
            (&[("d1", 0x1234_5678)], " or #$80000000,d1,d0", 0x9234_5678),
            (&[("d1", 0x1234_5678)], " eor #$8000,d1,d0", 0x1234_d678),
            (&[("d1", 0xf00)], " extract #4,#8,d1,d0", -1),
            (&[("d1", 0xf00)], " extractu #4,#8,d1,d0", 15),
            (&[("d1", 0x70_0000_0000)], " extract #8,#32,d1,d0", 0x70),
            (&[("d0", 0x1fff), ("d1", 5)], " insert #4,#8,d1,d0", 0x15ff),
            (&[("d1", 0x408), ("d2", 0xf00)], " extract d1,d2,d0", -1),
            (&[("d1", 1)], " clb d1,d0", -30),
            (&[("d1", 0x4000_0000)], " clb d1,d0", 0),
            (&[("d1", -1)], " clb d1,d0", -31),
            (&[("d1", 0x40_0000_0000)], " clb d1,d0", 8),
            (
                &[("d0", 3), ("d1", 3)],
                " clb d1,d2\n asrr d2,d0",
                0x6000_0000,
            ),
            (&[("d1", 0x180)], " sxt.b d1,d0", -128),
            (&[("d1", 0x180)], " zxt.b d1,d0", 128),
            (&[("d1", 0x1_8000)], " sxt.w d1,d0", -32768),
            (&[("d1", 0x1_8000)], " zxt.w d1,d0", 32768),
            (&[("d1", 0x1_8000_0000)], " sxt.l d1,d0", LEAST),
            (&[("d1", 0x1_8000_0000)], " zxt.l d1,d0", 0x8000_0000),
        ],
        &limits(),
    );
}

#[test]
fn values_are_clamped() {
    all(
        &[
            (&[("d0", 1 << 31)], " sat.l d0", MOST),
            (&[("d0", -(1 << 31) - 1)], " sat.l d0", LEAST),
            (&[("d0", -5)], " sat.l d0", -5),
            (&[("d1", 1 << 31)], " sat.f d1,d0", 0x7fff_0000),
            (&[("d1", -(1 << 35))], " sat.f d1,d0", LEAST),
            (&[("d1", 0x1234_0000)], " sat.f d1,d0", 0x1234_0000),
            // The sticky flag of overflow is told.
            (&[("d1", 1 << 31)], " sat.l d1\n move.l emr,d0", 4),
            (&[("d1", 5)], " sat.l d1\n move.l emr,d0", 0),
        ],
        &limits(),
    );
}

#[test]
fn maxima_take_pairs() {
    let of = |body: &str| value(&[("d0", -7), ("d4", 5)], &format!("{body}\n tfr d4,d0"));
    assert_eq!(of(" max d0,d4"), 5);
    assert_eq!(of(" min d0,d4"), -7);
    assert_eq!(of(" maxm d0,d4"), -7);
    let text = "_f\n max d0,d5\n rts\n";
    let outcome = run(&program(text), "_f", &[], &mut Memory::new(), &limits());
    let rules: Vec<Rule> = outcome
        .expect("a result")
        .violations
        .iter()
        .map(|violation| violation.rule)
        .collect();
    assert_eq!(rules, [Rule::Pair(0, 5)]);
    let mut any = limits();
    any.settings.pair_distance = None;
    let outcome = run(&program(text), "_f", &[], &mut Memory::new(), &any);
    assert_eq!(outcome.expect("a result").violations, []);
}

#[test]
fn compares_write_t() {
    assert!(truth(&[("d1", 5), ("d2", 5)], " cmpeq d1,d2"));
    assert!(truth(&[("d1", 5), ("d2", 6)], " cmpgt d1,d2"));
    assert!(!truth(&[("d1", 6), ("d2", 5)], " cmpgt d1,d2"));
    assert!(!truth(&[("d1", 5), ("d2", 5)], " cmpgt d1,d2"));
    assert!(truth(&[("d1", 5), ("d2", -1)], " cmphi d1,d2"));
    assert!(truth(&[("d1", 31)], " cmpeq.w #31,d1"));
    assert!(truth(&[("d1", -31)], " cmpeq.w #-31,d1"));
    assert!(truth(&[("d1", 31)], " cmpgt.w #30,d1"));
    assert!(!truth(&[("d1", 31)], " cmpgt.w #31,d1"));
    assert!(truth(&[("d1", 0)], " tsteq d1"));
    assert!(truth(&[("d1", 0)], " tstge d1"));
    assert!(!truth(&[("d1", 0)], " tstgt d1"));
    assert!(truth(&[("d1", 1)], " deceq d1"));
    assert!(!truth(&[("d1", 2)], " deceq d1"));
    assert!(truth(&[("d1", 1)], " decge d1"));
    assert!(!truth(&[("d1", 0)], " decge d1"));
    assert_eq!(value(&[("d0", 1)], " decge d0"), 0);
}

#[test]
fn copies_depend_on_t() {
    let of = |body: &str| value(&[("d0", 1), ("d1", 2), ("d2", 0)], body);
    assert_eq!(of(" tsteq d2\n tfrt d1,d0"), 2);
    assert_eq!(of(" tsteq d2\n tfrf d1,d0"), 1);
    assert_eq!(of(" tsteq d1\n tfrf d1,d0"), 2);
    assert_eq!(of(" tsteq d2\n [\n IFT add #4,d0\n IFF add #8,d0\n ]"), 5);
    assert_eq!(of(" tsteq d1\n [\n IFT add #4,d0\n IFF add #8,d0\n ]"), 9);
    assert_eq!(
        of(" tsteq d1\n [\n IFT inc d0\n IFA add #8,d1\n ]\n add d0,d1,d0"),
        11
    );
    // T is that of before the set.
    assert_eq!(of(" tsteq d1\n [\n tsteq d2\n IFT inc d0\n ]"), 1);
}

#[test]
fn sixteen_steps_divide() {
    for (a, b) in [
        (0_i64, 5_i64),
        (3, 5),
        (4, 5),
        (1, 3),
        (0x1234, 0x7fff),
        (0x7ffe, 0x7fff),
    ] {
        // The carry is clear; the quotient is built in the low part.
        let steps = " div d1,d0\n".repeat(16);
        let body = format!(" asr d2,d2\n{steps} and #$ffff,d0,d0");
        let found = value(&[("d0", a << 16), ("d1", b << 16), ("d2", 0)], &body);
        assert_eq!(found, (a << 15) / b, "{a} / {b}");
    }
}

#[test]
fn a_set_reads_before_it_writes() {
    let registers = [("d1", 1), ("d2", 2)];
    let body = " [\n tfr d1,d2\n tfr d2,d1\n ]\n asll #4,d1\n add d1,d2,d0";
    assert_eq!(value(&registers, body), 0x21);
}
