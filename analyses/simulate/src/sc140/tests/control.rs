//! Jumps, calls, delay slots, hardware loops, files that call each other.

use super::*;

#[test]
fn jumps_depend_on_t() {
    let of = |jump: &str| {
        let body = format!(" tsteq d2\n {jump}L1\n add #1,d0\nL1\n add #2,d0");
        value(&[("d0", 0), ("d2", 0)], &body)
    };
    assert_eq!(of("bt "), 2);
    assert_eq!(of("bf <"), 3);
    assert_eq!(of("jt "), 2);
    assert_eq!(of("jf "), 3);
    assert_eq!(of("bra >"), 2);
    assert_eq!(of("jmp "), 2);
    assert_eq!(
        value(
            &[("d0", 0)],
            " move.l #L1,r3\n nop\n jmp r3\n add #1,d0\nL1\n add #2,d0"
        ),
        2
    );
}

#[test]
fn one_set_behind_a_delayed_jump_executes() {
    let of = |jump: &str| {
        let body = format!(" tsteq d2\n {jump} L1\n add #1,d0\n add #4,d0\nL1\n add #2,d0");
        value(&[("d0", 0), ("d2", 0)], &body)
    };
    assert_eq!(of("btd"), 3);
    assert_eq!(of("bfd"), 7);
    assert_eq!(of("brad"), 3);
    assert_eq!(of("jmpd"), 3);
    assert_eq!(value(&[("d0", 0)], " inc d0\n rtsd\n inc d0\n inc d0"), 2);
}

#[test]
fn calls_return_behind_their_slots() {
    let text = "_f\n clr d0\n jsr _g\n add #1,d0\n jsrd _g\n add #2,d0\n bsr _g\n move.l #_g,r4\n nop\n jsr r4\n rts\n\
                _g\n add #8,d0\n rts\n";
    let outcome = run(&program(text), "_f", &[], &mut Memory::new(), &limits());
    let outcome = outcome.expect("a result");
    assert_eq!(outcome.data[0], 35);
    assert_eq!(outcome.changed, []);
}

#[test]
fn the_slot_of_a_call_sees_the_stack_as_it_was() {
    // An argument is stored by the slot, and a frame is made there.
    let text = "_f\n move.w #16,r6\n move.w #77,d1\n jsrd _g\n [\n adda r6,sp\n move.w d1,(sp-2)\n ]\n jsrd _h\n move.w d1,(sp-2)\n \
                suba r6,sp\n rts\n_g\n move.w (sp-26),d2\n rts\n_h\n move.w (sp-10),d0\n add d2,d0,d0\n rts\n";
    let outcome = run(&program(text), "_f", &[], &mut Memory::new(), &limits());
    let outcome = outcome.expect("a result");
    assert_eq!(outcome.data[0], 154);
    assert_eq!(outcome.changed, [Reg::R(6)]);
}

#[test]
fn the_end_of_an_inner_loop_may_bear_the_mark_of_the_outer_one() {
    // The outer loop is marked at the last set but one of the inner one.
    let body = " clr d0\n dosetup0 L0\n dosetup1 L1\n doen0 #3\n LOOPSTART0\nL0\n doen1 #4\n LOOPSTART1\nL1\n add #1,d0\n nop\n \
                nop\n LOOPEND1\n add #16,d0\n LOOPEND0";
    assert_eq!(value(&[], body), 3 * (4 + 16));
}

#[test]
fn loops_run_as_often_as_their_counter_says() {
    let long = |count: &str| {
        let body = format!(
            " dosetup1 L1\n doen1 {count}\n clr d0\n nop\n LOOPSTART1\nL1\n inc d0\n nop\n add #16,d0\n nop\n LOOPEND1"
        );
        value(&[("d2", 5), ("r3", 6)], &body)
    };
    assert_eq!(long("#1"), 17);
    assert_eq!(long("#300"), 17 * 300);
    assert_eq!(long("d2"), 17 * 5);
    assert_eq!(long("r3"), 17 * 6);
    // What is entered runs once.
    assert_eq!(long("#0"), 17);
    let short = |sets: &str, count: i32| {
        let body = format!(" doensh2 #{count}\n clr d0\n LOOPSTART2\n{sets}\n LOOPEND2");
        value(&[], &body)
    };
    assert_eq!(short(" add #1,d0", 7), 7);
    assert_eq!(short(" add #1,d0\n add #2,d0", 7), 21);
    assert_eq!(short(" add #1,d0\n add #2,d0", 1), 3);
}

#[test]
fn loops_nest() {
    let body = " clr d0\n dosetup0 L0\n doen0 #3\n nop\n LOOPSTART0\nL0\n doensh1 #4\n nop\n LOOPSTART1\n add #1,d0\n LOOPEND1\n \
                add #16,d0\n nop\n nop\n LOOPEND0";
    assert_eq!(value(&[], body), 3 * (4 + 16));
    let body = " clr d0\n dosetup0 L0\n dosetup1 L1\n doen0 #3\n nop\n LOOPSTART0\nL0\n doen1 #4\n nop\n LOOPSTART1\nL1\n \
                add #1,d0\n nop\n nop\n LOOPEND1\n add #16,d0\n nop\n nop\n LOOPEND0";
    assert_eq!(value(&[], body), 3 * (4 + 16));
}

#[test]
fn loops_are_left_and_skipped() {
    let skip = |count: i32| {
        let body = format!(
            " clr d0\n move.w #{count},d1\n dosetup3 L1\n doen3 d1\n nop\n skipls L2\n LOOPSTART3\nL1\n inc d0\n nop\n nop\n \
             LOOPEND3\nL2\n add #16,d0"
        );
        value(&[], &body)
    };
    assert_eq!(skip(2), 18);
    assert_eq!(skip(0), 16);
    assert_eq!(skip(-5), 16);
    let left = |instruction: &str| {
        let body = format!(
            " clr d0\n dosetup3 L1\n doen3 #5\n nop\n LOOPSTART3\nL1\n add #1,d0\n cmpeq.w #3,d0\n bf L3\n {instruction} L2\n\
             L3\n nop\n add #16,d0\n nop\n nop\n LOOPEND3\nL2\n nop\n doensh3 #2\n nop\n LOOPSTART3\n nop\n LOOPEND3"
        );
        value(&[], &body)
    };
    // 1, then 17 and 18, of which neither is 3.
    assert_eq!(left("break"), 5 * 17);
    let body = |instruction: &str| {
        let text = format!(
            " clr d0\n clr d1\n dosetup3 L1\n doen3 #5\n nop\n LOOPSTART3\nL1\n inc d0\n cmpeq.w #3,d0\n bf L3\n {instruction} L2\n\
             L3\n inc d1\n nop\n nop\n nop\n LOOPEND3\nL2\n asll #4,d1\n add d1,d0,d0"
        );
        value(&[], &text)
    };
    assert_eq!(body("break"), 3 + 16 * 2);
    assert_eq!(body("cont"), 5 + 16 * 4);
}

#[test]
fn marks_may_be_written() {
    let body = " clr d0\n dosetup3 L1\n doen3 #4\n nop\nL1\n inc d0\n [\n nop\n lpmarkb\n ]\n nop\n add #16,d0";
    assert_eq!(value(&[], body), 4 * 17);
    let body = " clr d0\n doensh3 #4\n nop\n [\n inc d0\n lpmarka\n ]";
    assert_eq!(value(&[], body), 4);
}

#[test]
fn conditions_of_the_assembler_choose_text() {
    let text = "N EQU 3\n IF N==3\n DEFINE BIG '1'\n ENDIF\n_f\n clr d0\n IF @DEF('BIG')\n add #N,d0\n ELSE\n add #9,d0\n ENDIF\n \
                IF !@DEF('BIG')\n add #16,d0\n ENDIF\n rts\n";
    let outcome = run(&program(text), "_f", &[], &mut Memory::new(), &limits());
    assert_eq!(outcome.expect("a result").data[0], 3);
}

#[test]
fn files_share_what_they_make_global() {
    let texts = [
        " GLOBAL _f\n_f\n clr d0\n jsr _g\n bra L1\n add #16,d0\nL1\n rts\n",
        " GLOBAL _g\n_g\n tsteq d0\n bt L1\n add #8,d0\nL1\n add #1,d0\n rts\n",
    ];
    let documents = texts.map(syntax::sc140::parse);
    let sources: Vec<Source<'_>> = documents
        .iter()
        .zip(texts)
        .map(|(document, text)| Source { document, text })
        .collect();
    let (program, opaque) = Program::new(&sources);
    assert_eq!(opaque, []);
    assert_eq!(program.functions(), ["_f", "_g"]);
    let outcome = run(&program, "_f", &[], &mut Memory::new(), &limits());
    assert_eq!(outcome.expect("a result").data[0], 1);
    let (alone, _) = Program::new(&sources[..1]);
    let fault = run(&alone, "_f", &[], &mut Memory::new(), &limits()).expect_err("no _g");
    assert_eq!((fault.kind, fault.line), (FaultKind::Unresolved, 4));
    assert!(fault.message.contains("`_g`"), "{fault}");
}

#[test]
fn arguments_have_the_places_of_the_conventions() {
    let of = |arguments: &[Arg], body: &str, limits: &Limits| {
        let text = format!("_f\n{body}\n rts\n");
        let outcome = run(&program(&text), "_f", arguments, &mut Memory::new(), limits);
        outcome.expect("a result").data[0]
    };
    use Arg::{Long, Pointer, Wide, Word};
    assert_eq!(
        of(
            &[Pointer(64), Word(-3)],
            " move.l r0,d0\n add d0,d1,d0",
            &limits()
        ),
        61
    );
    assert_eq!(
        of(
            &[Long(5), Pointer(64)],
            " move.l r1,d1\n sub d0,d1,d0",
            &limits()
        ),
        59
    );
    let four = [Word(1), Word(2), Word(-3), Word(-4)];
    assert_eq!(
        of(
            &four,
            " move.w (sp-10),d0\n move.w (sp-12),d1\n sub d1,d0,d0",
            &limits()
        ),
        1
    );
    let mixed = [Word(1), Word(2), Long(-70_000), Word(9)];
    assert_eq!(
        of(
            &mixed,
            " move.l (sp-12),d0\n move.w (sp-14),d1\n add d1,d0,d0",
            &limits()
        ),
        -69_991
    );
    assert_eq!(of(&[Wide(5 << 32 | 7)], " sub d0,d1,d0", &limits()), 2);
    let mut slots = limits();
    slots.settings.packed_arguments = false;
    assert_eq!(
        of(
            &four,
            " move.l (sp-12),d0\n move.l (sp-16),d1\n sub d1,d0,d0",
            &slots
        ),
        1
    );
}
