//! Floating-point against the host's IEEE arithmetic, and the division and square root sequences that are built on the
//! approximations.

use super::*;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Doubles of all kinds: any bits, near each other, small integers, denormals.
fn double(random: &mut StdRng) -> f64 {
    match random.random_range(0..6) {
        0 => f64::from_bits(random.random()),
        1 => f64::from(random.random_range(-20i32..20)),
        2 => f64::from_bits(random.random::<u64>() & 0x800f_ffff_ffff_ffff),
        3 => f64::from_bits(random.random::<u64>() & 0x803f_ffff_ffff_ffff | 0x3fc0_0000_0000_0000),
        4 => [
            0.0,
            -0.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MAX,
            f64::MIN_POSITIVE,
        ][random.random_range(0..6)],
        _ => random.random_range(-1.0..1.0),
    }
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[test]
fn fused_products_round_once() {
    use crate::ia64::float::{Rounding, fused};
    let mut random = StdRng::seed_from_u64(1);
    for _ in 0..200_000 {
        let (a, b, mut c) = (
            double(&mut random),
            double(&mut random),
            double(&mut random),
        );
        if random.random_range(0..4) == 0 {
            // Nearly everything cancels.
            c = -(a * b);
        }
        let [x, y, z] = [a, b, c].map(Float::from_f64);
        let result = f64::from_bits(fused(x, y, Some(z), &Rounding::DOUBLE).to_double());
        assert!(
            same(result, a.mul_add(b, c)),
            "{a:e} * {b:e} + {c:e}: {result:e}"
        );
        let result = f64::from_bits(fused(x, y, None, &Rounding::DOUBLE).to_double());
        assert!(same(result, a * b), "{a:e} * {b:e}: {result:e}");
        let [a, b, c] = [a, b, c].map(|it| it as f32);
        let [x, y, z] = [a, b, c].map(|it| Float::from_f64(f64::from(it)));
        let result = f32::from_bits(fused(x, y, Some(z), &Rounding::SINGLE).to_single());
        let expected = a.mul_add(b, c);
        assert!(result.to_bits() == expected.to_bits() || (result.is_nan() && expected.is_nan()));
    }
}

#[test]
fn formats_come_back() {
    let mut random = StdRng::seed_from_u64(2);
    for _ in 0..50_000 {
        let value = double(&mut random);
        let float = Float::from_f64(value);
        assert_eq!(float.to_double(), value.to_bits());
        assert!(same(float.to_f64(), value));
        let single = random.random::<u32>();
        assert_eq!(Float::from_single(single).to_single(), single);
        let (significand, head) = float.to_extended();
        let back = Float::from_extended(significand, head);
        assert!(same(back.to_f64(), value));
        let whole = value.clamp(-9e18, 9e18);
        let integer = Float::from_f64(whole).to_integer(true, super::super::float::Mode::Truncate);
        if !value.is_nan() {
            assert_eq!(integer, Some(whole as i64 as u64));
            let nearest =
                Float::from_f64(whole).to_integer(true, super::super::float::Mode::Nearest);
            assert_eq!(nearest, Some(whole.round_ties_even() as i64 as u64));
        }
        let any = random.random::<i64>() >> random.random_range(0..64);
        assert_eq!(Float::from_signed(any).to_f64(), any as f64);
    }
}

/// The sequence for double-precision division whose steps keep 64 bits.
const DIVIDE: &str = "
	frcpa.s0 f10, p6 = f8, f9 ;;
(p6)	fmpy.s1 f11 = f8, f10
(p6)	fnma.s1 f12 = f9, f10, f1 ;;
(p6)	fma.s1 f11 = f12, f11, f11
(p6)	fmpy.s1 f13 = f12, f12
(p6)	fma.s1 f10 = f12, f10, f10 ;;
(p6)	fma.s1 f11 = f13, f11, f11
(p6)	fmpy.s1 f14 = f13, f13
(p6)	fma.s1 f10 = f13, f10, f10 ;;
(p6)	fma.d.s1 f11 = f14, f11, f11
(p6)	fma.s1 f10 = f14, f10, f10 ;;
(p6)	fnma.d.s1 f15 = f9, f11, f8 ;;
(p6)	fma.d.s0 f10 = f15, f10, f11 ;;
	mov f8 = f10";

#[test]
fn division_by_its_sequence_is_exact() {
    let program = program(&leaf(DIVIDE));
    let mut random = StdRng::seed_from_u64(4);
    let mut memory = Memory::new();
    for _ in 0..3000 {
        let (a, b) = (double(&mut random), double(&mut random));
        // Operands and quotients far from the ends of the range, as the sequence is for.
        if [a, b, a / b]
            .iter()
            .any(|it| it.is_finite() && *it != 0.0 && !(1e-280..1e280).contains(&it.abs()))
        {
            continue;
        }
        let arguments = [Arg::Double(a), Arg::Double(b)];
        let outcome = run(&program, "f", &arguments, &mut memory, &Limits::default());
        let outcome = outcome.expect("runs");
        let result = outcome.float.to_f64();
        assert!(
            same(result, a / b),
            "{a:e} / {b:e}: {result:e}, not {:e}",
            a / b
        );
        assert_eq!(outcome.violations, []);
    }
}

#[test]
fn integer_division_through_registers() {
    // 64 bits, unsigned below 2^63.
    let body = "
	setf.sig f8 = r32
	setf.sig f9 = r33 ;;
	fcvt.xf f8 = f8
	fcvt.xf f9 = f9 ;;
	frcpa.s1 f10, p6 = f8, f9 ;;
(p6)	fmpy.s1 f11 = f8, f10
(p6)	fnma.s1 f12 = f9, f10, f1 ;;
(p6)	fma.s1 f11 = f12, f11, f11
(p6)	fmpy.s1 f13 = f12, f12
(p6)	fma.s1 f10 = f12, f10, f10 ;;
(p6)	fma.s1 f11 = f13, f11, f11
(p6)	fma.s1 f10 = f13, f10, f10 ;;
(p6)	fnma.s1 f14 = f9, f11, f8 ;;
(p6)	fma.s1 f10 = f14, f10, f11 ;;
	fcvt.fx.trunc.s1 f10 = f10 ;;
	getf.sig r8 = f10";
    let program = program(&leaf(body));
    let mut random = StdRng::seed_from_u64(5);
    let mut memory = Memory::new();
    for _ in 0..2000 {
        let a = random.random::<i64>() >> random.random_range(0..63);
        let b = random.random::<i64>() >> random.random_range(0..63);
        if b == 0 || a.checked_div(b).is_none() {
            continue;
        }
        let arguments = [Arg::Integer(a as u64), Arg::Integer(b as u64)];
        let outcome = run(&program, "f", &arguments, &mut memory, &Limits::default());
        assert_eq!(
            outcome.expect("runs").result,
            Some((a / b) as u64),
            "{a} / {b}"
        );
    }
}

#[test]
fn square_roots_start_from_the_table() {
    use crate::ia64::float_ops::{reciprocal, reciprocal_root};
    let mut random = StdRng::seed_from_u64(6);
    for _ in 0..20_000 {
        let value = random.random_range(1e-300f64..1e300).abs().max(1e-300);
        let value = f64::from_bits(value.to_bits() ^ random.random::<u64>() >> 12);
        let value = value.powf(random.random_range(0.01..1.0));
        let (root, goes_on) = reciprocal_root(Float::from_f64(value));
        let error = root.to_f64() * value.sqrt() - 1.0;
        assert!(goes_on && error.abs() < 1.0 / 280.0, "{value:e}: {error:e}");
        let (inverse, goes_on) = reciprocal(Float::ONE, Float::from_f64(value));
        let error = inverse.to_f64() * value - 1.0;
        assert!(goes_on && error.abs() < 1.0 / 280.0, "{value:e}: {error:e}");
    }
    assert_eq!(
        reciprocal(Float::ONE, Float::ZERO).0.to_f64(),
        f64::INFINITY
    );
    assert_eq!(reciprocal(Float::ONE, Float::ONE).0.to_f64(), 0.998046875);
}

#[test]
fn multiply_add_of_integers() {
    let body = |what: &str| {
        format!(
            "setf.sig f9 = r32\nsetf.sig f10 = r33\nsetf.sig f11 = r34 ;;\nxma.{what} f8 = f9, f10, f11 ;;\ngetf.sig r8 = f8"
        )
    };
    let mut random = StdRng::seed_from_u64(7);
    for _ in 0..20 {
        let [a, b, c]: [u64; 3] = random.random();
        let unsigned = u128::from(a) * u128::from(b) + u128::from(c);
        let signed = i128::from(a as i64) * i128::from(b as i64) + i128::from(c);
        assert_eq!(value(&body("l"), &[a, b, c]), unsigned as u64);
        assert_eq!(value(&body("hu"), &[a, b, c]), (unsigned >> 64) as u64);
        assert_eq!(value(&body("h"), &[a, b, c]), (signed >> 64) as u64);
    }
}

#[test]
fn compares_classes_and_signs() {
    let holds = |test: &str, a: f64, b: f64| {
        let body = format!("{test} ;;\nmov r8 = 0 ;;\n(p6) add r8 = 1, r8 ;;\n(p7) add r8 = 2, r8");
        let outcome = run_leaf(&body, &[Arg::Double(a), Arg::Double(b)]).expect(test);
        outcome.result
    };
    let nan = f64::NAN;
    assert_eq!(holds("fcmp.lt p6, p7 = f8, f9", -2.0, -1.0), Some(1));
    assert_eq!(holds("fcmp.lt p6, p7 = f8, f9", -1e-310, 1e300), Some(1));
    assert_eq!(holds("fcmp.eq p6, p7 = f8, f9", 0.0, -0.0), Some(1));
    assert_eq!(holds("fcmp.ge p6, p7 = f8, f9", nan, 1.0), Some(2));
    assert_eq!(holds("fcmp.nlt p6, p7 = f8, f9", nan, 1.0), Some(1));
    assert_eq!(holds("fcmp.unord p6, p7 = f8, f9", nan, 1.0), Some(1));
    assert_eq!(
        holds("fcmp.gt p6, p7 = f8, f9", f64::INFINITY, f64::MAX),
        Some(1)
    );
    assert_eq!(
        holds("fclass.m p6, p7 = f8, @qnan|@inf|@pos", f64::INFINITY, 0.0),
        Some(1)
    );
    assert_eq!(
        holds("fclass.m p6, p7 = f8, @neg|@zero", -0.0, 0.0),
        Some(1)
    );
    assert_eq!(holds("fclass.nm p6, p7 = f8, @nat", 1.0, 0.0), Some(1));
    assert_eq!(
        holds(
            "ldfd.s f10 = [r0] ;;\nfclass.m p6, p7 = f10, @nat",
            1.0,
            0.0
        ),
        Some(1)
    );
    let result = |body: &str, a: f64, b: f64| {
        run_leaf(body, &[Arg::Double(a), Arg::Double(b)])
            .expect(body)
            .float
            .to_f64()
    };
    assert_eq!(result("fmin f8 = f8, f9", 2.0, -3.0), -3.0);
    assert_eq!(result("famax f8 = f8, f9", 2.0, -3.0), -3.0);
    assert_eq!(result("fnegabs f8 = f9", 2.0, -3.0), -3.0);
    assert_eq!(result("fabs f8 = f9", 2.0, -3.0), 3.0);
    assert_eq!(result("fmerge.ns f8 = f8, f9", 2.0, 3.0), -3.0);
    assert_eq!(result("fsub.d f8 = f8, f9", 2.0, 3.5), -1.5);
    assert_eq!(result("fms.s f8 = f8, f9, f1", 2.0, 3.5), 6.0);
    assert_eq!(result("fnorm.s f8 = f8", 0.1, 0.0), f64::from(0.1f32));
}

#[test]
fn floats_spill_and_speculate() {
    let body = "
	add r14 = -64, r12
	add r15 = -48, r12
	ldfd.s f10 = [r0] ;;
	stf.spill [r14] = f10
	stf.spill [r15] = f8 ;;
	ldf.fill f11 = [r14], 16 ;;
	ldf.fill f12 = [r14]
	getf.d r16 = f11
	fclass.m p6, p7 = f11, @nat ;;
	tnat.nz p8, p9 = r16
(p6)	fadd.d f8 = f12, f1 ;;
	mov r8 = 0 ;;
(p8)	mov r8 = 1";
    let outcome = run_leaf(body, &[Arg::Double(2.5)]).expect("runs");
    assert_eq!((outcome.result, outcome.float.to_f64()), (Some(1), 3.5));
    assert_eq!(outcome.violations, []);
    let fault = run_leaf("ldfd.s f10 = [r0] ;;\nstfd [r12] = f10", &[]).expect_err("NaTVal");
    assert_eq!((fault.kind, fault.line), (FaultKind::NatConsumption, 7));
}
