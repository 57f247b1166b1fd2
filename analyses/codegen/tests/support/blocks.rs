//! Random blocks of IA-64 assembly, and the state that they leave when executed.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use simulate::ia64::{Arg, Limits, Memory, Program, Timing, run};

/// A block with a stop behind each instruction, which executes in order whatever its instructions: on general
/// registers that start with the words at `r32`, through two addresses that may meet. Everything it leaves is
/// stored behind a label.
pub(crate) fn random(rng: &mut StdRng, count: usize) -> String {
    let mut out =
        String::from("\t.text\n\t.proc f\nf:\n\tadd r30 = 256, r32\n\tadd r31 = 512, r32 ;;\n");
    for register in 14..28 {
        out.push_str(&format!("\tld8 r{register} = [r32], 8 ;;\n"));
    }
    out.push_str("\tadd r28 = 640, r32\n\tadd r29 = 648, r32 ;;\n");
    for register in 6..14 {
        out.push_str(&format!("\tldfd f{register} = [r30], 8 ;;\n"));
    }
    out.push_str("\tmov pr = r14, -2 ;;\n.Lbody:\n");
    for _ in 0..count {
        let mut r = || rng.random_range(14..28);
        let (a, b, c) = (r(), r(), r());
        let (f, g, h) = (a % 8 + 6, b % 8 + 6, c % 8 + 6);
        let (p, q) = (a % 5 + 6, a % 5 + 11);
        let at = 28 + b % 2;
        let guard = match rng.random_range(0..4) {
            0 => format!("(p{})", rng.random_range(6..16)),
            _ => String::new(),
        };
        let by = 8 * rng.random_range(-2..3);
        let line = match rng.random_range(0..27) {
            0..4 => format!("add r{a} = r{b}, r{c}"),
            4 => format!("adds r{a} = {by}, r{b}"),
            5 => format!("shl r{a} = r{b}, r{c}"),
            6 => format!("sxt4 r{a} = r{b}"),
            7 => format!("ld8 r{a} = [r{at}]"),
            8 => format!("ld8 r{a} = [r{at}], {by}"),
            9 => format!("st8 [r{at}] = r{c}"),
            10 => format!("st8 [r{at}] = r{c}, {by}"),
            11 => format!("cmp.lt p{p}, p{q} = r{b}, r{c}"),
            12 => format!("cmp.eq.unc p{p}, p{q} = r{b}, r{c}"),
            13 => format!("cmp.eq.and p{p}, p{q} = r{b}, r{c}"),
            14 => format!("cmp.gt.or.andcm p{p}, p{q} = r0, r{c}"),
            15 => format!("tbit.nz p{p}, p{q} = r{b}, 3"),
            16 => format!("fma.d f{f} = f{g}, f{h}, f{f}"),
            17 => format!("ldfd f{f} = [r{at}]"),
            18 => format!("stfd [r{at}] = f{g}"),
            19 => format!("setf.d f{f} = r{b}"),
            20 => format!("getf.sig r{a} = f{g}"),
            21 => format!("adds r{at} = {by}, r{}", 57 - at),
            22 => format!("fcmp.lt p{p}, p{q} = f{g}, f{h}"),
            23 => format!("cmp4.ge.or p{p}, p{q} = r0, r{c}"),
            24 => format!("extr.u r{a} = r{b}, {}, 8", c),
            25 => format!("mov r{a} = pr"),
            _ => format!("movl r{a} = 0x{:x}", rng.random::<u64>()),
        };
        out.push_str(&format!("{guard}\t{line} ;;\n"));
    }
    out.push_str(".Ldone:\n");
    for register in 14..28 {
        out.push_str(&format!("\tst8 [r31] = r{register}, 8 ;;\n"));
    }
    for register in 6..14 {
        out.push_str(&format!("\tstfd [r31] = f{register}, 8 ;;\n"));
    }
    out.push_str("\tsub r28 = r28, r32\n\tsub r29 = r29, r32\n\tmov r8 = pr ;;\n");
    out.push_str(
        "\tadd r8 = r8, r28 ;;\n\tshladd r8 = r29, 4, r8\n\tbr.ret.sptk.many b0 ;;\n\t.endp f\n",
    );
    out
}

/// Returns the outcome of the function: its memory and its result, and the cycles that it took.
pub(crate) fn executed(
    name: &str,
    text: &str,
    timing: &Timing,
    seed: u64,
) -> (Vec<u8>, Option<u64>, u64) {
    let document = syntax::ia64::parse(text);
    let (program, problems) = Program::new(&document, text);
    assert_eq!(problems, [], "{name}:\n{text}");
    let mut rng = StdRng::seed_from_u64(!seed);
    let mut bytes = vec![0u8; 2048];
    rng.fill(&mut bytes[..]);
    // Doubles of a moderate size, so that they stay numbers for a while.
    for word in 32..48 {
        let value: f64 = rng.random_range(-100.0..100.0);
        bytes[8 * word..8 * word + 8].copy_from_slice(&value.to_le_bytes());
    }
    let mut memory = Memory::new();
    let at = memory.place(&bytes).expect("room");
    let limits = Limits {
        timing: Some(timing.clone()),
        ..Limits::default()
    };
    let outcome = run(&program, "f", &[Arg::Integer(at)], &mut memory, &limits);
    let outcome = outcome.unwrap_or_else(|fault| panic!("{name}: {fault}\n{text}"));
    assert_eq!(outcome.violations, [], "{name}:\n{text}");
    let left = memory.bytes(at, bytes.len()).expect("its memory").to_vec();
    (left, outcome.result, outcome.cycles.unwrap_or(0))
}
