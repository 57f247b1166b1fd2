//! Moves, addresses, the stack and bit masks.

use super::*;

/// `d0` behind a body with `r0` at a buffer of these bytes, and the bytes behind it.
fn on(bytes: &[u8], body: &str, limits: &Limits) -> (i64, Vec<u8>) {
    let text = format!("_f\n{body}\n rts\n");
    let mut memory = Memory::new();
    let place = memory.place(bytes).expect("room");
    let arguments = [Arg::Pointer(place as u32)];
    let outcome = run(&program(&text), "_f", &arguments, &mut memory, limits);
    let outcome = outcome.unwrap_or_else(|fault| panic!("{fault}: {text}"));
    assert_eq!(outcome.violations, [], "{text}");
    let bytes = memory.bytes(place, bytes.len()).expect("mapped");
    (outcome.data[0], bytes.to_vec())
}
fn loaded(bytes: &[u8], body: &str) -> i64 {
    on(bytes, body, &limits()).0
}
fn stored(body: &str) -> Vec<u8> {
    on(&[0; 8], body, &limits()).1
}

const BYTES: [u8; 8] = [0x81, 0x02, 0x83, 0x04, 0x85, 0x06, 0x87, 0x08];

#[test]
fn loads_extend_by_their_kind() {
    assert_eq!(loaded(&BYTES, " move.b (r0),d0"), -0x7f);
    assert_eq!(loaded(&BYTES, " moveu.b (r0),d0"), 0x81);
    assert_eq!(loaded(&BYTES, " move.w (r0),d0"), 0x8102 - 0x1_0000);
    assert_eq!(loaded(&BYTES, " moveu.w (r0),d0"), 0x8102);
    assert_eq!(loaded(&BYTES, " move.l (r0),d0"), 0x8102_8304 - (1 << 32));
    assert_eq!(loaded(&BYTES, " moveu.l (r0),d0"), 0x8102_8304);
    assert_eq!(loaded(&BYTES, " move.f (r0),d0"), (0x8102 - 0x1_0000) << 16);
    assert_eq!(
        loaded(&BYTES, " move.2w (r0),d0:d1\n sub d1,d0,d0"),
        0x8102 - 0x8304
    );
    assert_eq!(
        loaded(&BYTES, " move.4w (r0),d0:d1:d2:d3\n tfr d3,d0"),
        0x8708 - 0x1_0000
    );
    assert_eq!(
        loaded(&BYTES, " move.2l (r0),d0:d1\n tfr d1,d0"),
        0x8506_8708 - (1 << 32)
    );
    assert_eq!(
        loaded(&BYTES, " move.4f (r0),d0:d1:d2:d3\n asrw d1,d0"),
        0x8304 - 0x1_0000
    );
    let little = Limits {
        settings: Settings {
            big_endian: false,
            ..limits().settings
        },
        ..limits()
    };
    assert_eq!(on(&BYTES, " moveu.w (r0),d0", &little).0, 0x0281);
    assert_eq!(on(&BYTES, " moveu.l (r0),d0", &little).0, 0x0483_0281);
    // Registers of a group take ascending addresses all the same.
    assert_eq!(on(&BYTES, " move.2w (r0),d0:d1", &little).0, 0x0281);
}

#[test]
fn numbers_and_copies() {
    assert_eq!(value(&[], " move.w #-7,d0"), -7);
    assert_eq!(value(&[], " moveu.w #$ffff,d0"), 0xffff);
    assert_eq!(value(&[], " move.l #$80000000,d0"), -0x8000_0000);
    assert_eq!(value(&[], " moveu.l #$80000000,d0"), 0x8000_0000);
    assert_eq!(value(&[], " move.f #-2,d0"), -0x2_0000);
    assert_eq!(value(&[("d0", 0x1234_5678)], " move.w #1,d0.h"), 0x1_5678);
    assert_eq!(
        value(&[("d0", 0x1234_5678)], " move.w #1,d0.l"),
        0x1234_0001
    );
    assert_eq!(
        value(&[("d1", -0x10_0000_0001)], " move.l d1,r4\n move.l r4,d0"),
        -1
    );
    assert_eq!(value(&[], " move.w #-5,n1\n moveu.l n1,d0"), 0xffff_fffb);
    assert_eq!(
        value(&[("d1", 0x7f_0000_0000)], " move.l d1.e,r4\n move.l r4,d0"),
        0x7f
    );
    // A register's low half is a copy of its own.
    assert_eq!(value(&[("r4", 0x1_8000)], " move.w r4,d0"), -0x8000);
    assert_eq!(value(&[("r4", 7)], " move.l r4,b1\n move.l r9,d0"), 7);
}

#[test]
fn stores_take_their_part() {
    let with = |body: &str| stored(&format!(" move.l #$12345678,d0\n{body}"));
    assert_eq!(with(" move.b d0,(r0)")[..2], [0x78, 0]);
    assert_eq!(with(" move.w d0,(r0)")[..3], [0x56, 0x78, 0]);
    assert_eq!(with(" move.l d0,(r0)")[..5], [0x12, 0x34, 0x56, 0x78, 0]);
    assert_eq!(with(" move.f d0,(r0)")[..3], [0x12, 0x34, 0]);
    assert_eq!(
        with(" tfr d0,d1\n move.2f d0:d1,(r0)")[..4],
        [0x12, 0x34, 0x12, 0x34]
    );
    assert_eq!(
        with(" tfr d0,d1\n move.2l d0:d1,(r0)")[4..],
        [0x12, 0x34, 0x56, 0x78]
    );
    assert_eq!(with(" move.w #-2,(r0)")[..3], [0xff, 0xfe, 0]);
}

#[test]
fn limiting_asks_the_tag() {
    // A sum computes it, a shift of the bit-field unit clears it, a copy computes it again.
    let over = " move.l #$7fffffff,d1\n nop\n";
    let high = |body: &str| {
        let bytes = stored(&format!("{over}{body}\n moves.f d1,(r0)"));
        i16::from_be_bytes([bytes[0], bytes[1]])
    };
    assert_eq!(high(" inc d1"), 0x7fff);
    assert_eq!(high(" asll #4,d1"), -1);
    assert_eq!(high(" asll #4,d1\n tfr d1,d1"), 0x7fff);
    assert_eq!(high(" neg d1\n sub #2,d1"), -0x8000);
    // The plain store limits nothing.
    let bytes = stored(&format!("{over} inc d1\n move.f d1,(r0)"));
    assert_eq!(bytes[..2], [0x80, 0]);
    // Stored with its extension and loaded again, a register keeps its tag.
    let kept = stored(&format!(
        "{over} inc d1\n move.l d1.e,r3\n clr d1\n move.l r3,d1.e\n moves.f d1,(r0)"
    ));
    assert_eq!(kept[..2], [0x7f, 0xff]);
}

#[test]
fn scaling_shifts_limiting_stores() {
    let with = |mode: u32, body: &str| {
        let text = format!(" move.l #${mode:x},sr\n nop\n nop\n{body}\n moves.f d0,(r0)");
        let bytes = stored(&text);
        i16::from_be_bytes([bytes[0], bytes[1]])
    };
    let quarter = " move.l #$20000000,d1\n tfr d1,d0";
    assert_eq!(with(0x00, quarter), 0x2000);
    assert_eq!(with(0x10, quarter), 0x1000);
    assert_eq!(with(0x20, quarter), 0x4000);
    // Half of a whole fits where values are scaled down, and twice a half does not where they are scaled up.
    assert_eq!(with(0x10, " move.l #$40000000,d1\n asl d1,d0"), 0x4000);
    assert_eq!(with(0x20, " move.l #$40000000,d1\n tfr d1,d0"), 0x7fff);
    // Rounding follows.
    assert_eq!(
        value(
            &[],
            " move.l #$10,sr\n nop\n nop\n move.l #$18000,d1\n rnd d1,d0"
        ),
        0x2_0000
    );
    assert_eq!(
        value(
            &[],
            " move.l #$20,sr\n nop\n nop\n move.l #$14000,d1\n rnd d1,d0"
        ),
        0x1_0000
    );
}

#[test]
fn addresses_of_all_modes() {
    let of = |body: &str| loaded(&[0, 1, 0, 2, 0, 3, 0, 4], body);
    assert_eq!(of(" move.w (r0)+,d1\n move.w (r0),d0"), 2);
    assert_eq!(of(" adda #4,r0\n move.w (r0)-,d1\n move.w (r0),d0"), 2);
    assert_eq!(
        of(" move.w #2,n3\n nop\n move.w (r0)+n3,d1\n move.w (r0),d0"),
        3
    );
    assert_eq!(
        of(" adda #6,r0\n move.w #-3,n1\n nop\n move.w (r0)+n1,d1\n move.w (r0),d0"),
        1
    );
    assert_eq!(of(" move.w #3,n0\n nop\n move.w (r0+n0),d0"), 4);
    assert_eq!(of(" move.w #1,r5\n nop\n move.w (r0+r5),d0"), 2);
    assert_eq!(of(" move.w (r0+6),d0"), 4);
    assert_eq!(of(" adda #8,r0\n move.w (r0-4),d0"), 3);
    assert_eq!(of(" tfra r0,r9\n move.w (r9)+,d1\n move.w (r9),d0"), 2);
    assert_eq!(of(" move.l (r0)+,d1\n move.w (r0),d0"), 3);
    // Both post-updates of a set take effect.
    assert_eq!(
        of(
            " tfra r0,r1\n [\n move.w (r0)+,d1\n move.l (r1)+,d2\n ]\n [\n move.w (r0),d0\n move.w (r1),d1\n ]\n sub d0,d1,d0"
        ),
        1
    );
    // Memory is read before it is written.
    assert_eq!(of(" [\n move.w (r0),d0\n move.w d1,(r0)\n ]"), 1);
}

#[test]
fn buffers_wrap_around() {
    let bytes: Vec<u8> = (0..8).flat_map(|word| [0, word]).collect();
    let of = |code: u32, steps: &str| {
        // The buffer is words 2 to 5.
        let body = format!(
            " move.l r0,d7\n add #4,d7\n move.l d7,b0\n move.l #8,m1\n move.l #${code:x},mctl\n nop\n nop\n \
             tfra b0,r0\n{steps}\n move.w (r0),d0\n move.w #0,r1\n bmclr #$f,mctl.l"
        );
        let text = format!("_f\n{body}\n rts\n");
        let mut memory = Memory::new();
        let place = memory.place(&bytes).expect("room");
        let arguments = [Arg::Pointer(place as u32)];
        let outcome = run(&program(&text), "_f", &arguments, &mut memory, &limits());
        outcome.map(|outcome| outcome.data[0])
    };
    let step = " move.w (r0)+,d1\n".repeat(5);
    assert_eq!(of(0x9, &step), Ok(3));
    assert_eq!(of(0x0, &step), Ok(7));
    assert_eq!(of(0x9, " move.w (r0)-,d1"), Ok(5));
    assert_eq!(of(0x9, " adda #6,r0\n inca r0\n inca r0"), Ok(2));
    assert_eq!(of(0x9, " deca r0\n deca r0"), Ok(5));
    assert_eq!(of(0xd, " adda #18,r0"), Ok(3));
    let fault = of(0x9, " adda #18,r0").expect_err("a step of more than the buffer");
    assert_eq!(fault.kind, FaultKind::Unsupported);
    assert_eq!(
        of(0x2, " inca r0").expect_err("reserved").kind,
        FaultKind::Unsupported
    );
    // Reverse carry: indices of eight elements in the order of their bits turned around.
    let text = "_f\n move.w #4,n0\n move.l #1,mctl\n clr d0\n doensh3 #8\n nop\n LOOPSTART3\n [\n asll #4,d0\n \
                move.w (r0)+n0,d1\n ]\n add d1,d0,d0\n LOOPEND3\n move.l d0,(r1)\n rts\n";
    let mut memory = Memory::new();
    let base = 0x2000_0000;
    assert!(memory.map(base, bytes.clone(), true));
    let out = memory.place(&[0; 8]).expect("room") as u32;
    let arguments = [Arg::Pointer(base as u32), Arg::Pointer(out)];
    let outcome = run(&program(text), "_f", &arguments, &mut memory, &limits()).expect("a result");
    // Digits 0 4 2 6 1 5 3 7, of which 32 bits are looked at.
    assert_eq!(outcome.data[0] & 0xffff_ffff, 0x0426_1537);
}

#[test]
fn address_arithmetic() {
    let of = |body: &str| value(&[("r1", 40), ("r2", -3)], &format!("{body}\n move.l r1,d0"));
    assert_eq!(of(" adda r2,r1"), 37);
    assert_eq!(of(" suba r2,r1"), 43);
    assert_eq!(of(" adda #>-300,r2,r1"), -303);
    assert_eq!(of(" addl1a r2,r1"), 34);
    assert_eq!(of(" addl2a r2,r1"), 28);
    assert_eq!(of(" asla r1"), 80);
    assert_eq!(of(" asl2a r1"), 160);
    assert_eq!(of(" asra r1"), 20);
    assert_eq!(of(" tfra r2,r1\n asra r1"), -2);
    assert_eq!(of(" tfra r2,r1\n lsra r1"), 0x7fff_fffe);
    assert_eq!(of(" inca r1"), 41);
    assert_eq!(of(" deca r1"), 39);
    assert_eq!(of(" suba r1,r1"), 0);
    assert_eq!(of(" sxta.b r2,r1"), -3);
    assert_eq!(of(" zxta.b r2,r1"), 0xfd);
    assert_eq!(of(" zxta.w r2,r1"), 0xfffd);
    let t = |body: &str| truth(&[("r1", 40), ("r2", -3)], body);
    assert!(t(" cmpgta r2,r1"));
    assert!(!t(" cmphia r2,r1"));
    assert!(!t(" cmpeqa r2,r1"));
    assert!(t(" tstgea.l r1"));
    assert!(!t(" tstgta r2"));
    assert!(t(" suba r1,r1\n tsteqa.l r1"));
    assert!(t(" move.l #$10000,r3\n nop\n tsteqa.w r3"));
    assert!(t(" move.w #1,r3\n nop\n deceqa r3"));
    assert!(!t(" move.w #0,r3\n nop\n decgea r3"));
    assert_eq!(of(" tsteqa.w r1\n nop\n movef r2,r1"), -3);
    assert_eq!(of(" tsteqa.w r1\n nop\n movet r2,r1"), 40);
}

#[test]
fn the_stack_grows_upwards_by_pairs() {
    let body = " move.w #7,d6\n move.l #$123456789,d7\n [\n push d6\n push d7\n ]\n move.l sp,r1\n [\n clr d6\n clr d7\n ]\n \
                nop\n move.l (r1-8),d2\n move.l (r1-4),d3\n [\n pop d6\n pop d7\n ]\n sub d2,d6,d4\n add d3,d4,d0\n \
                clr d6\n clr d7";
    let body = body.replace("$123456789", "$23456789");
    let text = format!("_f\n{body}\n rts\n");
    let outcome = run(&program(&text), "_f", &[], &mut Memory::new(), &limits());
    let outcome = outcome.expect("a result");
    assert_eq!(outcome.data[0], 0x2345_6789);
    assert_eq!((outcome.violations, outcome.changed), (vec![], vec![]));
    // One register alone moves the stack pointer by eight, too.
    let text = "_f\n push r3\n move.l sp,d0\n pop r3\n move.l sp,d1\n rts\n";
    let outcome = run(&program(text), "_f", &[], &mut Memory::new(), &limits()).expect("a result");
    assert_eq!(outcome.data[0] - outcome.data[1], 8);
}

#[test]
fn masks_change_halves_and_memory() {
    let of = |body: &str| value(&[("d0", 0x1234_5678)], body);
    assert_eq!(of(" bmset #$f,d0.l"), 0x1234_567f);
    assert_eq!(of(" bmclr #$f000,d0.h"), 0x0234_5678);
    assert_eq!(of(" bmchg #$ffff,d0.l"), 0x1234_a987);
    assert_eq!(of(" and #$ff,d0.l"), 0x1234_0078);
    assert_eq!(of(" or #$f,d0.h"), 0x123f_5678);
    assert_eq!(of(" eor #$8,d0.l"), 0x1234_5670);
    assert_eq!(of(" not d0.l"), 0x1234_a987);
    assert_eq!(
        of(" move.l #$ff00ff,r3\n bmclr #$f,r3.h\n move.l r3,d0"),
        0xf0_00ff
    );
    let with = |body: &str| stored(&format!(" move.w #$550f,(r0)\n{body}"))[..2].to_vec();
    assert_eq!(with(" bmset.w #$f0,(r0)"), [0x55, 0xff]);
    assert_eq!(with(" bmclr.w #$500,(r0)"), [0x50, 0x0f]);
    assert_eq!(with(" bmtset.w #$80,(r0)"), [0x55, 0x8f]);
    assert_eq!(with(" not.w (r0)"), [0xaa, 0xf0]);
    let t = |body: &str| truth(&[("d1", 0x550f)], body);
    assert!(t(" bmtsts #$5005,d1.l"));
    assert!(!t(" bmtsts #$5015,d1.l"));
    assert!(t(" bmtstc #$a0f0,d1.l"));
    assert!(!t(" bmtstc #$a0f1,d1.l"));
}

#[test]
fn data_of_the_file_is_there() {
    let text = "BYTES EQU 2*2\n SECTION .data\n_table\n DCW 5,-1\n_text DCB \"ab\",0\n ALIGN 4\n_long DCL _table+BYTES,'c'\n \
                ENDSEC\n SECTION .text\n_f\n move.l #_long,r0\n nop\n move.l (r0)+,d1\n move.l d1,r1\n move.l (r0),d2\n \
                move.b (r1),d0\n sub d0,d2,d0\n rts\n ENDSEC\n";
    for big_endian in [true, false] {
        let settings = Settings {
            big_endian,
            ..limits().settings
        };
        let limits = Limits {
            settings,
            ..limits()
        };
        let outcome = run(&program(text), "_f", &[], &mut Memory::new(), &limits);
        assert_eq!(outcome.expect("a result").data[0], 2, "'c' less 'a'");
    }
}
