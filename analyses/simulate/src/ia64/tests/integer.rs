//! Integer instructions, compares, predicates, calls, stacked and rotating registers.

use super::*;

#[test]
fn arithmetic_and_shifts() {
    assert_eq!(value("add r8 = r32, r33, 1", &[2, 3]), 6);
    assert_eq!(value("sub r8 = r32, r33, 1", &[9, 3]), 5);
    assert_eq!(value("sub r8 = 10, r32", &[3]), 7);
    assert_eq!(value("andcm r8 = r32, r33", &[0xff, 0x0f]), 0xf0);
    assert_eq!(value("shladd r8 = r32, 3, r33", &[5, 1]), 41);
    assert_eq!(
        value("addp4 r8 = r32, r33", &[4, 0xffff_ffff]),
        0x6000_0000_0000_0003
    );
    assert_eq!(value("shl r8 = r32, r33", &[1, 64]), 0);
    assert_eq!(value("shr r8 = r32, r33", &[1 << 63, 200]), u64::MAX);
    assert_eq!(value("shr.u r8 = r32, 60", &[u64::MAX]), 15);
    assert_eq!(value("extr r8 = r32, 4, 4", &[0x80]), u64::MAX << 3);
    assert_eq!(value("extr.u r8 = r32, 60, 8", &[u64::MAX]), 15);
    assert_eq!(
        value("dep r8 = r32, r33, 8, 8", &[0x1ab, u64::MAX]),
        0xffff_ffff_ffff_abff
    );
    assert_eq!(value("dep r8 = -1, r32, 4, 4", &[0]), 0xf0);
    assert_eq!(value("dep.z r8 = r32, 62, 2", &[7]), 3 << 62);
    assert_eq!(value("shrp r8 = r32, r33, 8", &[0x12, 0]), 0x12 << 56);
    assert_eq!(value("sxt1 r8 = r32", &[0x80]), u64::MAX << 7);
    assert_eq!(value("zxt4 r8 = r32", &[u64::MAX]), 0xffff_ffff);
    assert_eq!(value("popcnt r8 = r32", &[0xff00]), 8);
    assert_eq!(
        value("movl r8 = 0x123456789abcdef0", &[]),
        0x1234_5678_9abc_def0
    );
    assert_eq!(value("mov r8 = -5", &[]), (-5i64) as u64);
}

#[test]
fn elements_of_a_register() {
    let bytes = 0x8877_0055_4433_2211;
    assert_eq!(value("czx1.l r8 = r32", &[bytes]), 2);
    assert_eq!(value("czx1.r r8 = r32", &[bytes]), 5);
    assert_eq!(value("czx2.r r8 = r32", &[bytes]), 4);
    assert_eq!(
        value("mux1 r8 = r32, @rev", &[bytes]),
        0x1122_3344_5500_7788
    );
    assert_eq!(
        value("mux1 r8 = r32, @brcst", &[bytes]),
        0x1111_1111_1111_1111
    );
    assert_eq!(
        value("mux1 r8 = r32, @mix", &[0x0706_0504_0302_0100]),
        0x0703_0501_0602_0400
    );
    assert_eq!(
        value("mux1 r8 = r32, @shuf", &[0x0706_0504_0302_0100]),
        0x0703_0602_0501_0400
    );
    assert_eq!(
        value("mux1 r8 = r32, @alt", &[0x0706_0504_0302_0100]),
        0x0705_0301_0604_0200
    );
    assert_eq!(
        value("mux2 r8 = r32, 0x1b", &[0x0003_0002_0001_0000]),
        0x0000_0001_0002_0003
    );
    assert_eq!(value("padd1 r8 = r32, r33", &[0xff, 2]), 1);
    assert_eq!(value("padd1.uuu r8 = r32, r33", &[0xff, 2]), 0xff);
    assert_eq!(value("padd2.sss r8 = r32, r33", &[0x7fff, 1]), 0x7fff);
    assert_eq!(value("psub1.uuu r8 = r32, r33", &[1, 2]), 0);
    assert_eq!(value("pcmp2.gt r8 = r32, r33", &[5, 0xffff]), 0xffff);
    assert_eq!(value("pmpy2.r r8 = r32, r33", &[0xffff, 3]), 0xffff_fffd);
    assert_eq!(
        value("pmpyshr2.u r8 = r32, r33, 16", &[0xffff, 0xffff]),
        0xfffe
    );
    assert_eq!(
        value("unpack1.l r8 = r32, r33", &[0x04030201, 0x14131211]),
        0x0414_0313_0212_0111
    );
    assert_eq!(
        value("unpack4.h r8 = r32, r33", &[7 << 32, 9 << 32]),
        7 << 32 | 9
    );
    assert_eq!(
        value("mix4.l r8 = r32, r33", &[7 << 32, 9 << 32]),
        7 << 32 | 9
    );
    assert_eq!(
        value(
            "mix1.r r8 = r32, r33",
            &[0x07060504_03020100, 0x17161514_13121110]
        ),
        0x0616_0414_0212_0010
    );
    assert_eq!(
        value("pack2.sss r8 = r32, r33", &[0x0100_0001, 0xff00]),
        0x0000_0080_0000_7f01
    );
    assert_eq!(
        value("pack4.sss r8 = r32, r33", &[0x0001_0000_0000_0005, 6]),
        0x0000_0006_7fff_0005
    );
    assert_eq!(value("psad1 r8 = r32, r33", &[0x0305, 0x0103]), 4);
    assert_eq!(value("pavg1 r8 = r32, r33", &[3, 4]), 3);
    assert_eq!(value("pavg1.raz r8 = r32, r33", &[3, 4]), 4);
    assert_eq!(value("pshl2 r8 = r32, 4", &[0x1234_0001]), 0x2340_0010);
    assert_eq!(value("pshr2 r8 = r32, 4", &[0x8000]), 0xf800);
}

/// Both targets of a compare that began as `before`, under a predicate; `None`: the operand was NaT.
fn targets(how: &str, qp: bool, equal: Option<bool>, before: [bool; 2]) -> [u64; 2] {
    let set = |name: u32, value: bool| {
        format!(
            "cmp.{} p{name}, p0 = r0, r0 ;;\n",
            if value { "eq" } else { "ne" }
        )
    };
    let operand = match equal {
        Some(true) => "mov r14 = 0 ;;\n".to_owned(),
        Some(false) => "mov r14 = 1 ;;\n".to_owned(),
        // Nothing is mapped at 0.
        None => "ld8.s r14 = [r0] ;;\n".to_owned(),
    };
    let body = format!(
        "{operand}{}{}{}(p6) cmp.eq{how} p7, p8 = r0, r14 ;;\nmov r8 = 0 ;;\n(p7) add r8 = 1, r8 ;;\n(p8) add r8 = 2, r8",
        set(6, qp),
        set(7, before[0]),
        set(8, before[1]),
    );
    let bits = value(&body, &[]);
    [bits & 1, bits >> 1]
}

#[test]
fn every_type_of_compare() {
    let keep = |before: [bool; 2]| before.map(u64::from);
    for before in [[false, false], [false, true], [true, false], [true, true]] {
        for how in [
            "",
            ".unc",
            ".and",
            ".or",
            ".or.andcm",
            ".andcm",
            ".orcm",
            ".and.orcm",
        ] {
            let disabled = if how == ".unc" { [0, 0] } else { keep(before) };
            for equal in [Some(false), Some(true), None] {
                assert_eq!(targets(how, false, equal, before), disabled, "{how}");
            }
            let expected = match how {
                "" | ".unc" => [[0, 1], [1, 0], [0, 0]],
                ".and" => [[0, 0], keep(before), [0, 0]],
                ".andcm" => [keep(before), [0, 0], [0, 0]],
                ".or" => [keep(before), [1, 1], keep(before)],
                ".orcm" => [[1, 1], keep(before), keep(before)],
                ".or.andcm" => [keep(before), [1, 0], keep(before)],
                _ => [[0, 1], keep(before), keep(before)],
            };
            for (at, equal) in [Some(false), Some(true), None].into_iter().enumerate() {
                assert_eq!(
                    targets(how, true, equal, before),
                    expected[at],
                    "{how} {equal:?}"
                );
            }
        }
    }
}

#[test]
fn relations_and_bits() {
    let holds = |text: &str, arguments: &[u64]| {
        value(
            &format!("{text} ;;\nmov r8 = 0 ;;\n(p6) mov r8 = 1"),
            arguments,
        ) == 1
    };
    let minus = u64::MAX;
    assert!(holds("cmp.lt p6, p7 = r32, r33", &[minus, 1]));
    assert!(!holds("cmp.ltu p6, p7 = r32, r33", &[minus, 1]));
    assert!(holds("cmp.geu p6, p7 = r32, r33", &[minus, 1]));
    assert!(holds("cmp.gt p6, p7 = 5, r32", &[4]));
    assert!(holds("cmp4.eq p6, p7 = r32, r33", &[1 << 40 | 3, 3]));
    assert!(holds("cmp4.lt p6, p7 = r32, r0", &[0x8000_0000]));
    assert!(holds("tbit.nz p6, p7 = r32, 63", &[1 << 63]));
    assert!(holds("tbit.z p6, p7 = r32, 3", &[7]));
    assert!(holds("ld8.s r14 = [r0] ;;\ntnat.nz p6, p7 = r14", &[]));
    assert!(holds(
        "ld8.s r14 = [r0] ;;\nadd r14 = 1, r14 ;;\ntnat.nz p6, p7 = r14",
        &[]
    ));
}

/// Taken or not, and LC, EC, whether the registers rotated, PR63 (as p16 behind a rotation).
fn loop_branch(kind: &str, qp: bool, count: u64, epilogue: u64) -> (bool, u64, u64, bool, bool) {
    let while_loop = kind.starts_with('w');
    let predicate = if while_loop { "(p6) " } else { "" };
    let text = leaf(&format!(
        "cmp.{} p6, p0 = r0, r0\nmov ar.lc = r32\nmov ar.ec = r33\nmov pr.rot = 1<<20 ;;\n{predicate}br.{kind}.sptk T ;;\nmov r8 = 0\nbr.ret.sptk.many b0 ;;\nT:\nmov r8 = 1",
        if qp { "eq" } else { "ne" },
    ));
    let program = program(&text);
    let (outcome, notes, epilogue) = trace(
        &program,
        &[Arg::Integer(count), Arg::Integer(epilogue)],
        &mut Memory::new(),
        &Limits::default(),
        "br.ret",
        |machine| {
            let base = u32::from(machine.frame.predicate);
            let named = |name: u32| machine.predicates >> (16 + (name - 16 + base) % 48) & 1;
            vec![
                machine.applications[65],
                named(20),
                named(21),
                named(16),
                named(63),
            ]
        },
    );
    let note = &notes[0];
    let rotated = note[2] != 0;
    assert_ne!(rotated, note[1] != 0);
    let last = if rotated { note[3] } else { note[4] };
    let taken = outcome.result == Some(1);
    (taken, note[0], epilogue, rotated, last != 0)
}

#[test]
fn every_loop_branch() {
    for (kind, top) in [("ctop", true), ("cexit", false)] {
        let table = [
            (5, 3, true, 4, 3, true, true),
            (1, 0, true, 0, 0, true, true),
            (0, 3, true, 0, 2, true, false),
            (0, 2, true, 0, 1, true, false),
            (0, 1, false, 0, 0, true, false),
            (0, 0, false, 0, 0, false, false),
        ];
        for (lc, ec, on, lc_after, ec_after, rotated, last) in table {
            assert_eq!(
                loop_branch(kind, false, lc, ec),
                (on == top, lc_after, ec_after, rotated, last),
                "{kind} {lc} {ec}"
            );
        }
    }
    for (kind, top) in [("wtop", true), ("wexit", false)] {
        let table = [
            (true, 0, true, 0, true),
            (true, 3, true, 3, true),
            (false, 3, true, 2, true),
            (false, 1, false, 0, true),
            (false, 0, false, 0, false),
        ];
        for (qp, ec, on, ec_after, rotated) in table {
            assert_eq!(
                loop_branch(kind, qp, 9, ec),
                (on == top, 9, ec_after, rotated, false),
                "{kind} {qp} {ec}"
            );
        }
    }
    assert_eq!(
        loop_branch("cloop", false, 2, 5),
        (true, 1, 5, false, false)
    );
    assert_eq!(
        loop_branch("cloop", false, 0, 5),
        (false, 0, 5, false, false)
    );
}

#[test]
fn registers_rotate_in_all_three_files() {
    let body = "
	alloc r14 = ar.pfs, 8, 8, 0, 16 ;;
	mov ar.lc = 2
	mov ar.ec = 0
	setf.sig f32 = r33 ;;
	mov r40 = 7
	mov pr.rot = 1<<16 ;;
L:	br.ctop.sptk L ;;
	getf.sig r15 = f35
	mov r8 = r43 ;;
	add r8 = r8, r15 ;;
(p18)	add r8 = 100, r8 ;;
	clrrrb ;;
	alloc r14 = ar.pfs, 8, 8, 0, 0 ;;
";
    // ar.lc of 2 rotates twice, then once more nothing: the last branch has no epilogue left.
    let body = body.replace("f35", "f34").replace("r43", "r42");
    assert_eq!(value(&body, &[0, 5]), 112);
}

#[test]
fn calls_rename_the_stacked_registers() {
    let text = "
	.text
	.proc fib
fib:
	alloc r34 = ar.pfs, 1, 4, 1, 0
	mov r35 = b0
	cmp.lt p6, p7 = 1, r32 ;;
(p7)	mov r8 = r32
(p7)	br.ret.sptk.many b0 ;;
	add out0 = -1, in0
	mov r33 = r1
	br.call.sptk.many b0 = fib ;;
	mov r36 = r8
	add out0 = -2, in0
	mov r1 = r33
	br.call.sptk.many rp = fib ;;
	add r8 = r8, r36
	mov ar.pfs = r34
	mov b0 = r35
	br.ret.sptk.many b0 ;;
	.endp fib
";
    let program = program(text);
    let mut memory = Memory::new();
    let limits = Limits::default();
    let fib = |n: u64, memory: &mut Memory, limits: &Limits| {
        run(&program, "fib", &[Arg::Integer(n)], memory, limits)
    };
    let outcome = fib(15, &mut memory, &limits).expect("runs");
    assert_eq!(outcome.result, Some(610));
    assert_eq!(
        (&outcome.violations[..], &outcome.changed[..]),
        (&[][..], &[][..])
    );
    assert_eq!(program.functions(), ["fib"]);
    let shallow = Limits {
        depth: 8,
        ..Limits::default()
    };
    let fault = fib(15, &mut memory, &shallow).expect_err("too deep");
    assert_eq!(fault.kind, FaultKind::Depth);
}

#[test]
fn calls_through_descriptors_and_of_other_files() {
    let text = "
	.text
	.proc g
g:
	add r8 = 5, r32
	br.ret.sptk.many b0 ;;
	.endp g
	.proc f
f:
	alloc r33 = ar.pfs, 1, 2, 1, 0
	addl r14 = @ltoff(@fptr(g)), gp
	mov r34 = b0 ;;
	ld8 r14 = [r14] ;;
	ld8 r15 = [r14], 8
	mov out0 = r32 ;;
	ld8 gp = [r14]
	mov b6 = r15
	br.call.sptk.many b0 = b6 ;;
	mov b0 = r34
	mov ar.pfs = r33 ;;
	cmp.eq p6, p7 = 10, r8
(p6)	br.call.spnt.many b0 = abort ;;
	br.ret.sptk.many b0 ;;
	.endp f
";
    let program = program(text);
    let f = |value: u64| {
        run(
            &program,
            "f",
            &[Arg::Integer(value)],
            &mut Memory::new(),
            &Limits::default(),
        )
    };
    assert_eq!(f(1).map(|it| it.result), Ok(Some(6)));
    let fault = f(5).expect_err("another file");
    assert_eq!(fault.kind, FaultKind::Unresolved);
    assert_eq!(fault.message, "`abort` is not in this file");
}

#[test]
fn local_labels_and_moves_of_predicates() {
    assert_eq!(
        value(
            "mov r8 = 0\nmov ar.lc = 4 ;;\n1:\tadd r8 = 2, r8\n\tbr.cloop.sptk 1b ;;\n\tbr.sptk 1f ;;\n\tadd r8 = 100, r8 ;;\n1:",
            &[]
        ),
        10
    );
    assert_eq!(
        value(
            "mov r14 = 0x50c0 ;;\nmov pr = r14, 0xfffe ;;\nmov r8 = pr",
            &[]
        ) & 0xffff,
        0x50c1
    );
    assert_eq!(
        value(
            "mov r14 = -1\nmov r15 = pr ;;\nmov pr = r14, 0x40 ;;\nmov r16 = pr ;;\nxor r8 = r15, r16",
            &[]
        ),
        0x40
    );
}
