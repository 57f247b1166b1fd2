//! Numbers that do not fit, against GNU `as`: of every form in the table, with numbers around all ends, the same lines.
#![allow(clippy::disallowed_methods)]

#[path = "support/assembler.rs"]
mod assembler;

use lockstep_codegen::target::ia64::listing::listing;
use std::collections::BTreeSet;

const FORMS: &[&str] = &[
    "adds r14 = {}, r15",
    "addl r14 = {}, r1",
    "add r14 = {}, r15",
    "add r14 = {}, r2",
    "sub r14 = {}, r15",
    "and r14 = {}, r15",
    "or r14 = {}, r15",
    "xor r14 = {}, r15",
    "andcm r14 = {}, r15",
    "addp4 r14 = {}, r15",
    "shladd r14 = r15, {}, r16",
    "shladdp4 r14 = r15, {}, r16",
    "shl r14 = r15, {}",
    "shr r14 = r15, {}",
    "shr.u r14 = r15, {}",
    "extr r14 = r15, {}, 8",
    "extr.u r14 = r15, 8, {}",
    "dep r14 = {}, r15, 8, 8",
    "dep r14 = -1, r15, {}, 8",
    "dep r14 = -1, r15, 8, {}",
    "dep r14 = r16, r15, {}, 8",
    "dep r14 = r16, r15, 8, {}",
    "dep.z r14 = {}, 8, 8",
    "dep.z r14 = r15, {}, 8",
    "dep.z r14 = r15, 8, {}",
    "shrp r14 = r15, r16, {}",
    "tbit.z p6, p7 = r15, {}",
    "tbit.nz.and p6, p7 = r15, {}",
    "cmp.eq.and p6, p7 = {}, r15",
    "cmp.lt.unc p6, p7 = {}, r15",
    "ld8 r14 = [r15], {}",
    "ld4.s r14 = [r15], {}",
    "ldfd f6 = [r15], {}",
    "ldfpd f6, f7 = [r15], {}",
    "ldfps f6, f7 = [r15], {}",
    "st8 [r15] = r14, {}",
    "stfd [r15] = f6, {}",
    "lfetch [r15], {}",
    "lfetch.excl.nt1 [r15], {}",
    "fetchadd8.acq r14 = [r15], {}",
    "fetchadd4.rel r14 = [r15], {}",
    "nop.m {}",
    "nop.i {}",
    "nop.f {}",
    "nop.b {}",
    "break.m {}",
    "fclass.m p6, p7 = f6, {}",
    "pshl2 r14 = r15, {}",
    "pshl4 r14 = r15, {}",
    "pshr2 r14 = r15, {}",
    "pshr4.u r14 = r15, {}",
    "pshladd2 r14 = r15, {}, r16",
    "pshradd2 r14 = r15, {}, r16",
    "pmpyshr2 r14 = r15, r16, {}",
    "mux2 r14 = r15, {}",
    "mov ar.lc = {}",
    "mov ar.ec = {}",
    "mov ar.ccv = {}",
    "alloc r14 = ar.pfs, 0, 80, 0, {}",
    "fsetc.s0 {}, 0x7f",
    "fsetc.s0 0, {}",
    "sum {}",
    "rum {}",
];

const NUMBERS: &[i64] = &[
    -9_000_000_000,
    -4_294_967_296,
    -16_777_217,
    -16_777_216,
    -2_097_153,
    -2_097_152,
    -65_537,
    -65_536,
    -8193,
    -8192,
    -513,
    -512,
    -257,
    -256,
    -255,
    -129,
    -128,
    -127,
    -64,
    -33,
    -17,
    -16,
    -9,
    -8,
    -5,
    -4,
    -2,
    -1,
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    9,
    15,
    16,
    17,
    24,
    31,
    32,
    33,
    62,
    63,
    64,
    65,
    80,
    96,
    97,
    127,
    128,
    129,
    131,
    255,
    256,
    257,
    511,
    512,
    8191,
    8192,
    8193,
    65_535,
    65_536,
    2_097_151,
    2_097_152,
    16_777_215,
    16_777_216,
    2_147_483_647,
    4_294_967_167,
    4_294_967_168,
    4_294_967_169,
    4_294_967_295,
    4_294_967_296,
    9_000_000_000,
];

#[test]
fn numbers_that_do_not_fit_are_those_that_the_assembler_refuses() {
    let Some(assembler) = assembler::assembler() else {
        return;
    };
    let mut forms: Vec<String> = FORMS.iter().map(|it| (*it).to_owned()).collect();
    for base in ["cmp", "cmp4"] {
        for relation in [
            "eq", "ne", "lt", "le", "gt", "ge", "ltu", "leu", "gtu", "geu",
        ] {
            forms.push(format!("{base}.{relation} p6, p7 = {{}}, r15"));
        }
    }
    let mut text = String::new();
    for (form, number) in forms
        .iter()
        .flat_map(|form| NUMBERS.iter().map(move |number| (form, number)))
    {
        text += &format!("\t{} ;;\n", form.replace("{}", &number.to_string()));
    }
    let said = assembler::assembled(&assembler, &text);
    let refused: BTreeSet<usize> = said
        .lines()
        .filter(|line| line.contains("Error"))
        .filter_map(|line| line.split(':').nth(1)?.trim().parse().ok())
        .collect();
    let document = syntax::ia64::parse(&text);
    let found = listing(&document, &text).ranges;
    let lines: Vec<usize> = (0..=text.len())
        .filter(|&at| at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n'))
        .collect();
    let line = |at: u32| lines.partition_point(|&start| start <= at as usize);
    let told: BTreeSet<usize> = found.iter().map(|it| line(it.span.start)).collect();
    let show = |set: Vec<&usize>| -> Vec<&str> {
        let each = set.into_iter().take(20);
        each.filter_map(|&at| text.lines().nth(at - 1)).collect()
    };
    let false_ones = show(told.difference(&refused).collect());
    let missing = show(refused.difference(&told).collect());
    println!(
        "{} refused of {}, {} told",
        refused.len(),
        lines.len(),
        told.len()
    );
    assert!(false_ones.is_empty(), "told, but accepted: {false_ones:#?}");
    assert!(missing.is_empty(), "refused, but not told: {missing:#?}");
    assert!(told.len() > 2500, "{}", told.len());
}
