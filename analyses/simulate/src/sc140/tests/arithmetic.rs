//! The arithmetic against integers of 128 bits, on random operands.

use super::*;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Values of 40 bits, often near the edges of 16, 32 and 40.
fn value_of(random: &mut StdRng) -> i64 {
    let edges = [
        0,
        0x7fff,
        0x8000,
        0x7fff_0000,
        0x7fff_8000,
        0x7fff_ffff,
        0x8000_0000,
        0x7f_ffff_ffff,
    ];
    let value = match random.random_range(0..4) {
        0 => {
            let edge: i64 = edges[random.random_range(0..edges.len())];
            let near = edge + random.random_range(-2..3);
            if random.random() { near } else { -near }
        }
        1 => i64::from(random.random::<i32>()),
        2 => i64::from(random.random::<i16>()) << 16,
        _ => random.random::<i64>() >> 24,
    };
    fit(i128::from(value)) as i64
}

/// 40 bits with their sign, by division alone.
fn fit(value: i128) -> i128 {
    let rest = value.rem_euclid(1 << 40);
    if rest >= 1 << 39 {
        rest - (1 << 40)
    } else {
        rest
    }
}
fn high(value: i64) -> i128 {
    let rest = i128::from(value).div_euclid(1 << 16).rem_euclid(1 << 16);
    if rest >= 1 << 15 {
        rest - (1 << 16)
    } else {
        rest
    }
}
fn clamp(value: i128) -> i128 {
    value.clamp(-(1 << 31), (1 << 31) - 1)
}
/// The nearest multiple of 65,536.
fn nearest(value: i128, up: bool) -> i128 {
    let (whole, rest) = (value.div_euclid(1 << 16), value.rem_euclid(1 << 16));
    let more = rest > 1 << 15 || (rest == 1 << 15 && (up || whole.rem_euclid(2) == 1));
    (whole + i128::from(more)) << 16
}

/// Results of instructions in the order of the program below.
fn expected(a: i64, b: i64, c: i64, saturate: bool) -> Vec<i128> {
    let (wa, wb, wc) = (i128::from(a), i128::from(b), i128::from(c));
    let out = |value: i128| if saturate { clamp(value) } else { fit(value) };
    let product = 2 * high(a) * high(b);
    let up = saturate;
    let rounded = |value: i128| {
        let near = nearest(value, up);
        match saturate {
            true => near.clamp(-(1 << 31), 0x7fff_0000),
            false => fit(near),
        }
    };
    let unsigned = |value: i128| value.rem_euclid(1 << 40);
    vec![
        out(wa + wb),
        out(wb - wa),
        out(product),
        out(-product),
        out(wc + product),
        out(wc - product),
        rounded(product),
        rounded(wc + product),
        rounded(wc - product),
        rounded(wa),
        rounded(wc + wa),
        rounded(wc - wa),
        out(wa.abs()),
        out(-wa),
        out(2 * wa),
        out(wa.div_euclid(2)),
        out(2 * wc - wa),
        clamp(wa),
        fit(wa + wb + i128::from(unsigned(wb) < unsigned(wa))),
    ]
}

#[test]
fn results_are_those_of_plain_arithmetic() {
    // Each instruction leaves its result in d3, from where its 40 bits go to memory.
    let bodies = [
        "add d0,d1,d3",
        "sub d0,d1,d3",
        "mpy d0,d1,d3",
        "mpy -d0,d1,d3",
        "mac d0,d1,d3",
        "mac -d0,d1,d3",
        "mpyr d0,d1,d3",
        "macr d0,d1,d3",
        "macr -d0,d1,d3",
        "rnd d0,d3",
        "adr d0,d3",
        "sbr d0,d3",
        "abs d0",
        "neg d0",
        "asl d0,d3",
        "asr d0,d3",
        "subl d0,d3",
        "sat.l d0",
    ];
    let mut text = String::from("_f\n");
    let load = " move.l (r1+0),d0\n move.l (r1+4),d0.e\n move.l (r1+8),d1\n move.l (r1+12),d1.e\n \
                move.l (r1+16),d3\n move.l (r1+20),d3.e\n";
    let store =
        |register: &str| format!(" move.l {register},(r0)+\n nop\n move.l {register}.e,(r0)+\n");
    for body in bodies {
        let target = if body.ends_with(" d0") { "d0" } else { "d3" };
        text += &format!("{load} {body}\n{}", store(target));
    }
    // A borrow, and a sum that takes it.
    text += &format!("{load} sub d0,d1,d3\n adc d0,d1\n{} rts\n", store("d1"));
    let program = program(&text);
    let mut random = StdRng::seed_from_u64(40);
    for round in 0..3000 {
        let [a, b, c] = [(); 3].map(|()| value_of(&mut random));
        let mut bytes = Vec::new();
        for value in [a, b, c] {
            bytes.extend((value as u32).to_be_bytes());
            bytes.extend(((value >> 32 & 0xff) as u32).to_be_bytes());
        }
        let limits = if round % 2 == 0 {
            limits()
        } else {
            saturating()
        };
        let mut memory = Memory::new();
        let source = memory.place(&bytes).expect("room") as u32;
        let target = memory
            .place(&vec![0; 8 * (bodies.len() + 1)])
            .expect("room") as u32;
        let arguments = [Arg::Pointer(target), Arg::Pointer(source)];
        run(&program, "_f", &arguments, &mut memory, &limits).expect("a result");
        let expected = expected(a, b, c, round % 2 == 1);
        assert_eq!(expected.len(), bodies.len() + 1);
        for (at, expected) in expected.iter().enumerate() {
            let bytes = memory
                .bytes(u64::from(target) + 8 * at as u64, 8)
                .expect("mapped");
            let low = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            let above = i128::from(bytes[7] as i8) << 32;
            let found = above | i128::from(low);
            let name = bodies.get(at).unwrap_or(&"adc");
            assert_eq!(found, *expected, "{name} of {a:x} {b:x} {c:x}, {round}");
        }
    }
}

#[test]
fn limiting_stores_clamp_what_is_tagged() {
    let text = "_f
 move.l (r1),d0
 move.l (r1+4),d0.e
 tfr d0,d1
 moves.f d1,(r0)
 moves.l d1,(r0+4)
 rts
";
    let program = program(text);
    let mut random = StdRng::seed_from_u64(41);
    for _ in 0..3000 {
        let value = value_of(&mut random);
        let mut bytes = (value as u32).to_be_bytes().to_vec();
        bytes.extend(((value >> 32 & 0xff) as u32).to_be_bytes());
        let mut memory = Memory::new();
        let source = memory.place(&bytes).expect("room") as u32;
        let target = memory.place(&[0; 8]).expect("room") as u32;
        let arguments = [Arg::Pointer(target), Arg::Pointer(source)];
        run(&program, "_f", &arguments, &mut memory, &limits()).expect("a result");
        let found = memory.bytes(u64::from(target), 8).expect("mapped");
        let long = clamp(i128::from(value)) as i32;
        assert_eq!(found[..2], ((long >> 16) as i16).to_be_bytes(), "{value:x}");
        assert_eq!(found[4..], long.to_be_bytes(), "{value:x}");
    }
}

#[test]
fn four_products_make_one_of_32_bits() {
    let text = "_f\n mpyuu d0,d1,d2\n dmacsu d0,d1,d2\n macus d0,d1,d2\n dmacss d0,d1,d2\n tfr d2,d0\n rts\n";
    let program = program(text);
    let mut random = StdRng::seed_from_u64(42);
    for _ in 0..2000 {
        let (a, b): (i32, i32) = (random.random(), random.random());
        let arguments = [Arg::Long(a), Arg::Long(b)];
        let outcome = run(&program, "_f", &arguments, &mut Memory::new(), &limits());
        let product = 2 * i128::from(a) * i128::from(b);
        assert_eq!(
            i128::from(outcome.expect("a result").data[0]),
            product.div_euclid(1 << 32)
        );
    }
}
