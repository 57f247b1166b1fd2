//! The processors' tables agree with their stated source on pairs of instructions, and the simulator's own
//! figures are the same.
//!
//! The source is GCC's `itanium1.md` and `itanium2.md`: a latency by class (`define_insn_reservation`),
//! others by pair of classes (`define_bypass`), and the units of a class. A line here is a pair of
//! instructions, one of each class, with the figures of the two files.
#![allow(clippy::disallowed_methods)]

use isa::ia64::Reg;
use lockstep_codegen::machine;
use lockstep_codegen::target::ia64::listing::listing;
use simulate::ia64::{Arg, Limits, Memory, Program, Timing, run};

const PROCESSORS: [&str; 2] = ["itanium", "itanium2"];

/// Classes, a producer and a consumer, and cycles on both processors.
const PAIRS: &[(&str, &str, &str, [u32; 2])] = &[
    (
        "ialu, ialu",
        "add r14 = r32, r33",
        "add r15 = r14, r33",
        [1, 1],
    ),
    (
        "ialu, mmshf",
        "add r14 = r32, r33",
        "shl r15 = r14, r33",
        [3, 3],
    ),
    (
        "ialu, mmshf",
        "shladd r14 = r32, 2, r33",
        "shr.u r15 = r33, r14",
        [3, 3],
    ),
    (
        "ialu, mmalua",
        "adds r14 = 4, r32",
        "padd2 r15 = r14, r33",
        [3, 3],
    ),
    (
        "ialu, mmmul",
        "adds r14 = 4, r32",
        "popcnt r15 = r14",
        [3, 3],
    ),
    (
        "ilog, ialu",
        "and r14 = r32, r33",
        "add r15 = r14, r33",
        [1, 1],
    ),
    (
        "ilog, mmshf",
        "xor r14 = r32, r33",
        "shr r15 = r14, r33",
        [3, 3],
    ),
    ("xtd, mmshf", "sxt4 r14 = r32", "shr r15 = r14, r33", [1, 1]),
    (
        "ishf, ialu",
        "extr.u r14 = r32, 3, 4",
        "add r15 = r14, r33",
        [1, 1],
    ),
    (
        "ishf, mmshf",
        "dep.z r14 = r32, 3, 4",
        "shl r15 = r14, r33",
        [1, 1],
    ),
    (
        "long_i, ialu",
        "movl r14 = 77",
        "add r15 = r14, r33",
        [1, 1],
    ),
    (
        "mmshf, ialu",
        "shl r14 = r32, r33",
        "add r15 = r14, r33",
        [4, 3],
    ),
    (
        "mmshf, ilog",
        "shr.u r14 = r32, r33",
        "or r15 = r14, r33",
        [4, 3],
    ),
    (
        "mmshf, ishf",
        "shr r14 = r32, r33",
        "extr r15 = r14, 3, 4",
        [4, 3],
    ),
    ("mmshf, st", "shl r14 = r32, r33", "st8 [r34] = r14", [4, 3]),
    (
        "mmshf, mmshf",
        "shl r14 = r32, r33",
        "shr.u r15 = r14, r33",
        [2, 2],
    ),
    (
        "mmshf, mmalua",
        "mux2 r14 = r32, 5",
        "padd4 r15 = r14, r33",
        [2, 2],
    ),
    (
        "mmshf, icmp",
        "shl r14 = r32, r33",
        "cmp.eq p6, p7 = r14, r33",
        [4, 2],
    ),
    ("mmshf, xtd", "shl r14 = r32, r33", "zxt4 r15 = r14", [4, 2]),
    (
        "mmshf, tofr",
        "shl r14 = r32, r33",
        "setf.sig f6 = r14",
        [4, 2],
    ),
    (
        "mmalua, ialu",
        "padd2 r14 = r32, r33",
        "add r15 = r14, r33",
        [4, 3],
    ),
    (
        "mmmul, ialu",
        "popcnt r14 = r32",
        "add r15 = r14, r33",
        [4, 3],
    ),
    (
        "mmmul, mmmul",
        "pmpy2.r r14 = r32, r33",
        "pmpy2.l r15 = r14, r33",
        [2, 2],
    ),
    ("ld, ialu", "ld8 r14 = [r34]", "add r15 = r14, r33", [2, 1]),
    ("ld, ld", "ld8 r14 = [r34]", "ld8 r15 = [r14]", [3, 2]),
    ("ld, mmshf", "ld8 r14 = [r34]", "shl r15 = r14, r33", [3, 2]),
    (
        "ld, icmp",
        "ld4 r14 = [r34]",
        "cmp4.lt p6, p7 = r14, r33",
        [2, 1],
    ),
    ("ilog, ld", "or r14 = r0, r34", "ld8 r15 = [r14]", [2, 1]),
    ("xtd, ld", "zxt1 r14 = r0", "ld1.s r15 = [r14]", [2, 1]),
    ("fld, fmac", "ldfd f6 = [r34]", "fadd.d f7 = f6, f8", [9, 6]),
    (
        "fmac, fmac",
        "fma.d f6 = f8, f9, f8",
        "fma.d f7 = f6, f8, f9",
        [5, 4],
    ),
    (
        "fmac, fmisc",
        "fma.d f6 = f8, f9, f8",
        "fmax f7 = f6, f8",
        [7, 4],
    ),
    (
        "fmac, fcmp",
        "fma.d f6 = f8, f9, f8",
        "fcmp.lt p6, p7 = f6, f8",
        [7, 4],
    ),
    (
        "fmac, xmpy",
        "fma.d f6 = f8, f9, f8",
        "xma.l f7 = f6, f8, f9",
        [7, 4],
    ),
    (
        "fmac, stf",
        "fma.d f6 = f8, f9, f8",
        "stfd [r34] = f6",
        [8, 4],
    ),
    (
        "fmac, frfr",
        "fma.d f6 = f8, f9, f8",
        "getf.d r14 = f6",
        [7, 4],
    ),
    (
        "fmisc, fmac",
        "fmax f6 = f8, f9",
        "fadd.d f7 = f6, f8",
        [5, 4],
    ),
    (
        "fmisc, fmisc",
        "fmerge.s f6 = f8, f9",
        "fmin f7 = f6, f8",
        [5, 4],
    ),
    ("fmisc, stf", "fmin f6 = f8, f9", "stfd [r34] = f6", [8, 4]),
    ("fmisc, frfr", "fabs f6 = f8", "getf.d r14 = f6", [7, 4]),
    (
        "fcvtfx, fmac",
        "fcvt.xf f6 = f8",
        "fadd.d f7 = f6, f8",
        [7, 4],
    ),
    (
        "fcvtfx, stf",
        "fcvt.fx.trunc f6 = f8",
        "stf8 [r34] = f6",
        [8, 4],
    ),
    (
        "xmpy, xmpy",
        "xmpy.l f6 = f8, f9",
        "xmpy.l f7 = f6, f9",
        [7, 4],
    ),
    ("xmpy, stf", "xmpy.l f6 = f8, f9", "stf8 [r34] = f6", [8, 4]),
    (
        "xmpy, frfr",
        "xmpy.l f6 = f8, f9",
        "getf.sig r14 = f6",
        [7, 4],
    ),
    (
        "fcmp, ialu",
        "fcmp.lt p6, p7 = f8, f9",
        "(p6) add r15 = r32, r33",
        [2, 2],
    ),
    (
        "icmp, ialu",
        "cmp.lt p6, p7 = r32, r33",
        "(p6) add r15 = r32, r33",
        [1, 1],
    ),
    (
        "tofr, fmac",
        "setf.d f6 = r32",
        "fadd.d f7 = f6, f8",
        [9, 5],
    ),
    ("tofr, stf", "setf.d f6 = r32", "stfd [r34] = f6", [8, 6]),
    (
        "tofr, frfr",
        "setf.sig f6 = r32",
        "getf.sig r14 = f6",
        [8, 6],
    ),
    (
        "frfr, ialu",
        "getf.sig r14 = f8",
        "add r15 = r14, r33",
        [2, 5],
    ),
    ("frpr, ialu", "mov r14 = pr", "add r15 = r14, r33", [2, 2]),
    (
        "frar_i, ialu",
        "mov r14 = ar.lc",
        "add r15 = r14, r33",
        [13, 13],
    ),
    (
        "frar_m, ialu",
        "mov r14 = ar.ccv",
        "add r15 = r14, r33",
        [6, 6],
    ),
    ("frbr, ialu", "mov r14 = b0", "add r15 = r14, r33", [2, 2]),
];

/// Classes, an instruction, and how many of it issue in one cycle.
const UNITS: &[(&str, &str, [u32; 2])] = &[
    ("mmshf", "shl r? = r32, r33", [2, 2]),
    ("mmshf", "mux2 r? = r32, 5", [2, 2]),
    ("ishf", "extr.u r? = r32, 3, 4", [1, 1]),
    ("ishf", "shrp r? = r32, r33, 9", [1, 1]),
    ("mmmul", "popcnt r? = r32", [1, 1]),
    ("mmmul", "pmpy2.r r? = r32, r33", [1, 1]),
    ("xtd", "sxt4 r? = r32", [2, 2]),
    ("ld", "ld8 r? = [r34]", [2, 2]),
    ("fld", "ldfd f? = [r34]", [2, 4]),
    ("tofr", "setf.sig f? = r32", [2, 2]),
    ("frfr", "getf.sig r? = f8", [1, 1]),
    ("fmac", "fma.d f? = f8, f9, f8", [2, 2]),
    ("fmisc", "fmax f? = f8, f9", [1, 2]),
    ("fmisc", "fmerge.s f? = f8, f9", [1, 2]),
];

/// Cycles of a function with these lines.
fn cycles(lines: &str, processor: &str) -> u64 {
    let text = format!(".proc f\nf:\n{lines}\nbr.ret.sptk.many b0 ;;\n.endp f\n");
    let document = syntax::ia64::parse(&text);
    let (program, problems) = Program::new(&document, &text);
    assert_eq!(problems, [], "{text}");
    let mut memory = Memory::new();
    // An address, as some instructions load one.
    let place = memory.place(&[0; 64]).expect("room");
    let place = memory.place(&place.to_le_bytes().repeat(8)).expect("room");
    let limits = Limits {
        timing: Timing::named(processor),
        ..Limits::default()
    };
    let arguments = [place, 3, place].map(Arg::Integer);
    let outcome = run(&program, "f", &arguments, &mut memory, &limits);
    outcome.expect(lines).cycles.expect("counted")
}

#[test]
fn latencies_are_those_of_their_source() {
    for (at, processor) in PROCESSORS.iter().enumerate() {
        let table = machine::named(processor).expect("a table");
        let table = table.epic().expect("groups");
        for (classes, from, to, wanted) in PAIRS {
            let text = format!("\t{from} ;;\n\t{to} ;;\n");
            let document = syntax::ia64::parse(&text);
            let listing = listing(&document, &text);
            let insts: Vec<_> = listing.items.iter().map(|item| &item.inst).collect();
            let [first, second] = insts[..] else {
                panic!("{text}")
            };
            let handed: Vec<Reg> = first.defs.iter().map(|def| def.register).collect();
            let handed = handed.into_iter().find(|it| second.uses.contains(it));
            let found = table.latency(first, second, handed.expect(classes));
            assert_eq!(found, wanted[at], "{classes} on {processor}: {from}; {to}");
            // What waits, against the same without waiting.
            let alone = cycles(
                "\tadd r14 = r32, r33 ;;\n\tadd r15 = r14, r33 ;;",
                processor,
            );
            let simulated = cycles(&text, processor) - alone + 1;
            let told = format!("{classes} on {processor}, simulated: {from}; {to}");
            assert_eq!(simulated, u64::from(wanted[at]), "{told}");
        }
    }
}

#[test]
fn units_are_those_of_their_source() {
    use lockstep_codegen::target::ia64::rows::{Kind, Load, Rows};
    for (at, processor) in PROCESSORS.iter().enumerate() {
        let table = machine::named(processor).expect("a table");
        let rows = Rows::new(table.epic().expect("groups"));
        for (class, line, wanted) in UNITS {
            let text = format!("\t{} ;;\n", line.replace('?', "10"));
            let document = syntax::ia64::parse(&text);
            let listing = listing(&document, &text);
            let kind = Kind::of(&listing.items[0].inst);
            let most =
                (1..=6).take_while(|&count| rows.fits(&Load::of(std::iter::repeat_n(kind, count))));
            assert_eq!(
                most.count() as u32,
                wanted[at],
                "{class} on {processor}: {line}"
            );
        }
    }
}
