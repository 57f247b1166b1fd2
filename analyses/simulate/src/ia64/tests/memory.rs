//! Loads, stores, speculation and its recovery, spills, atomic operations, data of the file.

use super::*;

fn with(bytes: &[u8], body: &str) -> (Outcome, Vec<u8>) {
    let program = program(&leaf(body));
    let mut memory = Memory::new();
    let at = memory.place(bytes).expect("room");
    let outcome = run(
        &program,
        "f",
        &[Arg::Integer(at)],
        &mut memory,
        &Limits::default(),
    );
    let after = memory.bytes(at, bytes.len()).expect("mapped").to_vec();
    let outcome = outcome.expect(body);
    assert_eq!(outcome.violations, []);
    (outcome, after)
}

#[test]
fn sizes_and_steps() {
    let bytes: Vec<u8> = (1..=32).collect();
    let body = "ld1 r14 = [r32], 2 ;;\nld2 r15 = [r32], 2 ;;\nld4 r16 = [r32], 4 ;;\nld8 r17 = [r32]\nadd r8 = r14, r15 ;;\nadd r8 = r8, r16 ;;\nxor r8 = r8, r17";
    let (outcome, _) = with(&bytes, body);
    let expected = (1 + 0x0403 + 0x0807_0605u64) ^ 0x100f_0e0d_0c0b_0a09;
    assert_eq!(outcome.result, Some(expected));
    let (_, after) = with(
        &bytes,
        "mov r14 = -1 ;;\nst1 [r32] = r14, 2 ;;\nst2 [r32] = r14, 6 ;;\nst8 [r32] = r14, 8 ;;\nst4 [r32] = r0",
    );
    assert_eq!(after[..6], [255, 2, 255, 255, 5, 6]);
    assert_eq!(
        after[8..21],
        [255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 21]
    );
    let (outcome, after) = with(
        &bytes,
        "add r14 = 16, r32\nld16 r8 = r9, [r32] ;;\n"
            .replace("r8 = r9,", "r8, ar.csd =")
            .as_str()
            .replace(";;\n", ";;\nst16 [r14] = r8, ar.csd")
            .as_str(),
    );
    assert_eq!(outcome.result, Some(0x0807_0605_0403_0201));
    assert_eq!(after[16..], bytes[..16]);
}

#[test]
fn a_failed_speculation_is_recovered() {
    let text = leaf(
        "	ld8.s r14 = [r33] ;;
	add r15 = 1, r14 ;;
	chk.s.m r15, recover ;;
back:	mov r8 = r15
	br.ret.sptk.many b0 ;;
recover:
	ld8 r14 = [r32] ;;
	add r15 = 1, r14
	br.sptk back ;;
",
    );
    let program = program(&text);
    let mut memory = Memory::new();
    let at = memory.place(&41u64.to_le_bytes()).expect("room");
    let limits = Limits::default();
    for other in [at, 8, at + 1] {
        let outcome = run(
            &program,
            "f",
            &[Arg::Integer(at), Arg::Integer(other)],
            &mut memory,
            &limits,
        );
        let outcome = outcome.expect("runs");
        assert_eq!(outcome.result, Some(42), "{other:#x}");
    }
}

#[test]
fn advanced_loads_are_forgotten_when_stored_to() {
    let text = leaf(
        "	ld8.a r14 = [r32]
	mov r16 = 1000 ;;
	st8 [r33] = r16
	ld8.c.clr r14 = [r32]
	ld8.a r15 = [r32] ;;
	st8 [r33] = r0 ;;
	chk.a.clr r15, recover ;;
back:	add r8 = r14, r15
	br.ret.sptk.many b0 ;;
recover:
	ld8 r15 = [r32] ;;
	add r15 = 5, r15
	br.sptk back ;;
",
    );
    let program = program(&text);
    let run = |same: bool, advanced: usize| {
        let mut memory = Memory::new();
        let at = memory
            .place(&[7u64, 9].map(u64::to_le_bytes).concat())
            .expect("room");
        let limits = Limits {
            advanced,
            ..Limits::default()
        };
        let other = if same { at } else { at + 8 };
        let arguments = [Arg::Integer(at), Arg::Integer(other)];
        let outcome = run(&program, "f", &arguments, &mut memory, &limits).expect("runs");
        outcome.result
    };
    assert_eq!(run(false, 32), Some(14));
    assert_eq!(run(true, 32), Some(1005));
    // Without a table every check recovers.
    assert_eq!(run(false, 0), Some(19));
}

#[test]
fn spills_keep_nat_bits() {
    let body = "
	add r14 = -16, r12
	add r18 = -32, r12
	ld8.s r15 = [r0]
	mov r19 = 77 ;;
	st8.spill [r14] = r15, 8 ;;
	st8.spill [r14] = r19, -8
	mov r16 = ar.unat ;;
	mov ar.unat = r16
	ld8.fill r20 = [r14], 8 ;;
	ld8.fill r21 = [r14] ;;
	tnat.nz p6, p7 = r20
	tnat.z p8, p9 = r21
	mov r8 = r21 ;;
(p6)	add r8 = 100, r8 ;;
(p8)	add r8 = 1000, r8";
    // The spill and the read of ar.unat may not share a group, nor the write and the fill.
    let body = body
        .replace("-8\n", "-8 ;;\n")
        .replace("ar.unat = r16\n", "ar.unat = r16 ;;\n");
    assert_eq!(value(&body, &[]), 1177);
}

#[test]
fn atomic_operations() {
    let bytes = 40u64.to_le_bytes();
    let (outcome, after) = with(&bytes, "fetchadd8.acq r8 = [r32], 4");
    assert_eq!((outcome.result, after[0]), (Some(40), 44));
    let (outcome, after) = with(&bytes, "mov r14 = 9 ;;\nxchg8 r8 = [r32], r14");
    assert_eq!((outcome.result, after[0]), (Some(40), 9));
    for (wanted, left) in [(40, 9), (41, 40)] {
        let body = format!(
            "mov r14 = 9\nmov r15 = {wanted} ;;\nmov ar.ccv = r15 ;;\ncmpxchg8.acq r8 = [r32], r14, ar.ccv"
        );
        let (outcome, after) = with(&bytes, &body);
        assert_eq!((outcome.result, after[0]), (Some(40), left));
    }
}

#[test]
fn data_of_the_file() {
    let text = "
	.section .rodata
	.align 8
table:	data4 1, 2, 3, 4
text:	.string \"ab\\n\"
	.align 8
pi:	real8 3.25, -1.5
where:	data8 table + 8
	.data
count:	data8 0
	.bss
	.align 16
room:	.skip 64
	.text
	.proc f
f:
	addl r14 = @ltoff(where), gp
	addl r15 = @gprel(count), gp
	movl r16 = pi ;;
	ld8 r14 = [r14]
	ldfd f9 = [r16], 8 ;;
	ld8 r14 = [r14]
	ldfd f10 = [r16] ;;
	ld4 r14 = [r14]
	fma.d f8 = f9, f10, f0
	movl r17 = text+2 ;;
	ld1 r17 = [r17]
	st8 [r15] = r14
	ld8 r18 = [r15] ;;
	shladd r8 = r17, 4, r14
	br.ret.sptk.many b0 ;;
	.endp f
";
    let program = program(text);
    let outcome = run(&program, "f", &[], &mut Memory::new(), &Limits::default()).expect("runs");
    assert_eq!(outcome.result, Some(16 * 10 + 3));
    assert_eq!(outcome.float.to_f64(), 3.25 * -1.5);
}

#[test]
fn data_between_instructions() {
    let text = "
	.text
	.align 32
inside:	data1 7, 8, 9
	.align 32
	.proc f
f:
	movl r14 = inside + 2 ;;
	ld1 r8 = [r14]
	br.ret.sptk.many b0 ;;
	.endp f
";
    let program = program(text);
    let outcome = run(&program, "f", &[], &mut Memory::new(), &Limits::default());
    assert_eq!(outcome.expect("runs").result, Some(9));
}
