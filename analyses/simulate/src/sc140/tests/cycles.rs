//! Cycles, by the figures of the manuals' excerpts.

use super::*;

fn counted(text: &str, arguments: &[Arg], limits: &Limits) -> Cycles {
    let outcome = run(&program(text), "_f", arguments, &mut Memory::new(), limits);
    outcome
        .unwrap_or_else(|fault| panic!("{fault}: {text}"))
        .cycles
}

/// Cycles of a body between the entry and a return of three.
fn of(body: &str) -> u64 {
    counted(&format!("_f\n{body}\n rts\n"), &[], &limits()).total() - 3
}

#[test]
fn a_set_is_a_cycle() {
    assert_eq!(of(" clr d0\n clr d1"), 2);
    assert_eq!(
        of(" [\n clr d0\n clr d1\n clr d2\n clr d3\n adda #4,r2\n ]"),
        1
    );
    assert_eq!(of(" bmset #1,d0.l"), 2);
}

#[test]
fn jumps_take_their_figures() {
    assert_eq!(of(" jmp L1\nL1"), 3);
    assert_eq!(of(" bra L1\nL1"), 4);
    assert_eq!(of(" tsteq d0\n bt L1\nL1"), 1 + 4);
    assert_eq!(of(" tsteq d0\n bf L1\nL1"), 1 + 1);
}

#[test]
fn slots_are_taken_off() {
    // A slot of one cycle leaves two of a jump's three, one of two leaves one, and no more than that is saved.
    assert_eq!(of(" jmpd L1\n clr d0\nL1"), 2 + 1);
    assert_eq!(of(" jmpd L1\n bmset #1,d0.l\nL1"), 1 + 2);
    assert_eq!(of(" brad L1\n clr d0\nL1"), 3 + 1);
    assert_eq!(of(" tsteq d0\n bfd L1\n clr d0\nL1"), 1 + 1 + 1);
    let text = "_f\n rtsd\n clr d0\n";
    assert_eq!(counted(text, &[], &limits()).total(), 3);
}

#[test]
fn returns_cost_more_behind_another_call() {
    let text = "_f\n jsr _g\n rts\n_g\n clr d0\n rts\n";
    let cycles = counted(text, &[], &limits());
    // The return of `_g` has its address in the shadow, that of `_f` has lost it.
    assert_eq!(cycles.total(), 3 + 1 + 3 + (3 + 2));
    assert_eq!(cycles.sets, 4);
    assert_eq!(cycles.flow, 2 + 2 + 4);
}

#[test]
fn the_stack_pointer_is_waited_for_once() {
    let pairs = " pop r6\n pop r6";
    assert_eq!(of(&format!(" push r6\n push r6\n{pairs}")), 4);
    let arithmetic = " adda #16,sp\n suba #16,sp\n";
    assert_eq!(
        of(&format!(" push r6\n push r6\n{arithmetic}{pairs}")),
        4 + 2 + 1
    );
}

#[test]
fn addresses_may_be_calculated_first() {
    let text = "_f\n move.w (sp-10),d0\n move.w (r0),d1\n rts\n";
    let arguments = [Arg::Pointer(0x800)];
    let mut limits = limits();
    let cycles = |limits: &Limits| {
        let mut memory = Memory::new();
        assert!(memory.map(0x800, vec![0; 8], true));
        let outcome = run(&program(text), "_f", &arguments, &mut memory, limits);
        outcome.expect("a result").cycles
    };
    assert_eq!(cycles(&limits).total(), 5);
    limits.timing.precalculated = 2;
    assert_eq!(cycles(&limits).total(), 6);
    assert_eq!(cycles(&limits).long_instructions, 1);
}

#[test]
fn targets_that_straddle_cost_a_cycle() {
    // Seven words in front of a set of two.
    let target = " [\n clr d0\n clr d1\n ]";
    let filled = |words: usize| format!(" jmp L1\n{}L1\n{target}", " nop\n".repeat(words - 3));
    assert_eq!(of(&filled(6)), 3 + 1);
    assert_eq!(of(&filled(7)), 3 + 1 + 1);
    assert_eq!(of(&filled(8)), 3 + 1);
    let aligned = filled(7).replace("L1\n [", " FALIGN\nL1\n [");
    assert_eq!(of(&aligned), 3 + 1);
}

#[test]
fn loops_go_back_for_nothing_unless_their_start_straddles() {
    let text = |nops: usize, align: &str| {
        format!(
            " dosetup3 L1\n doen3 #10\n{} nop\n{align} LOOPSTART3\nL1\n{}{} nop\n nop\n LOOPEND3",
            " nop\n".repeat(nops),
            " [\n clr d0\n clr d1\n clr d2\n clr d3\n ]\n",
            " nop\n"
        )
    };
    // Two words of the first instruction, one of the second; the loop begins at word 4 + nops.
    let plain = |nops: u64| 2 + nops + 1 + 40;
    assert_eq!(of(&text(0, "")), plain(0));
    assert_eq!(of(&text(1, "")), plain(1) + 9);
    assert_eq!(of(&text(1, " FALIGN\n")), plain(1));
    // A short loop is not fetched again.
    let short = " nop\n nop\n nop\n doensh3 #10\n nop\n LOOPSTART3\n [\n clr d0\n clr d1\n clr d2\n clr d3\n ]\n LOOPEND3";
    assert_eq!(of(short), 5 + 10);
}
