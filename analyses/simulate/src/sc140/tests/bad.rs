//! Tests of errors, each reported with its line; nothing hangs or panics.

use super::*;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

fn fault(text: &str) -> Fault {
    let document = syntax::sc140::parse(text);
    let source = Source {
        document: &document,
        text,
    };
    let (program, _) = Program::new(&[source]);
    run(&program, "_f", &[], &mut Memory::new(), &limits()).expect_err(text)
}

#[test]
fn faults_name_their_lines() {
    let told = |text: &str| {
        let fault = fault(text);
        (fault.kind, fault.line)
    };
    assert_eq!(told("_g\n rts\n"), (FaultKind::NoFunction, 0));
    assert_eq!(told("_f\n bra _f\n"), (FaultKind::Sets, 2));
    assert_eq!(
        told("_f\n nop\n move.w (r0),d0\n"),
        (FaultKind::Unmapped, 3)
    );
    assert_eq!(told("_f\n move.l (sp-6),d0\n"), (FaultKind::Unaligned, 2));
    assert_eq!(told("_f\n nop\n"), (FaultKind::Unresolved, 2));
    assert_eq!(told("_f\n jmp r5\n"), (FaultKind::Unresolved, 2));
    assert_eq!(told("_f\n nop\n stop\n"), (FaultKind::Stop, 3));
    assert_eq!(
        told("_f\n [\n nop\n frob d0\n ]\n"),
        (FaultKind::Unsupported, 4)
    );
    assert!(fault("_f\n frob d0\n").message.contains("`frob`"));
    assert!(
        fault("_f\n mac d0,d1\n")
            .message
            .contains("`mac` has no form")
    );
    assert_eq!(
        told("_f\n jmp _a\n [\n nop\n ]\n"),
        (FaultKind::Unresolved, 2)
    );
    // Loops.
    assert_eq!(
        told("_f\n doen3 #4\n nop\n LOOPSTART3\n nop\n LOOPEND3\n rts\n"),
        (FaultKind::Loop, 5)
    );
    assert_eq!(
        told("_f\n doensh3 #4\n nop\n LOOPSTART3\n nop\n nop\n nop\n LOOPEND3\n rts\n"),
        (FaultKind::Loop, 5)
    );
    assert_eq!(
        told("_f\n doensh2 #4\n nop\n LOOPSTART3\n nop\n LOOPEND3\n rts\n"),
        (FaultKind::Loop, 5)
    );
    assert_eq!(
        told(
            "_f\n dosetup3 L1\n doen3 #4\n nop\n LOOPSTART3\nL1\n nop\n nop\n bra L2\n LOOPEND3\nL2\n rts\n"
        ),
        (FaultKind::Loop, 9)
    );
    // The set in which an inner loop ends is the one that the outer loop is marked at.
    let together = "_f\n dosetup0 L0\n doen0 #3\n nop\n LOOPSTART0\nL0\n doensh1 #4\n nop\n LOOPSTART1\n nop\n LOOPEND1\n \
                    nop\n nop\n LOOPEND0\n rts\n";
    assert_eq!(told(together), (FaultKind::Loop, 10));
    assert_eq!(
        told("_f\n jmpd L1\n bra L1\nL1\n rts\n"),
        (FaultKind::Unsupported, 3)
    );
}

#[test]
fn forms_that_no_instruction_has_are_refused() {
    for text in [
        "mac d0,d1",
        "add #32,d0",
        "clr r0",
        "move.2f (r0)+,d1:d2",
        "move.4f (r0)+,d2:d3:d4:d5",
        "move.f (r0)+,r1",
        "moves.f (r0),d0",
        "moves.w d0,(r0)",
        "move.w #65536,d0",
        "move.w (r0)+n4,d0",
        "move.w (r0+n1),d0",
        "move.w (r0+r9),d0",
        "move.w (n0),d0",
        "adda #70000,r0",
        "adda d0,r0",
        "asll #32,d0",
        "bmset #65536,d0.l",
        "bmset #1,d0",
        "and #$12345,d0,d1",
        "doen4 #3",
        "doen3",
        "dosetup3 d0",
        "bra r0",
        "push sp",
        "push d0:d1",
        "rts d0",
        "tfr d16,d0",
        "move.l r08,d0",
        "extract #64,#0,d0,d1",
        "move.w d0.l,d1.e",
    ] {
        let line = format!("_f\n {text}\n");
        let document = syntax::sc140::parse(&line);
        let source = Source {
            document: &document,
            text: &line,
        };
        let (_, opaque) = Program::new(&[source]);
        assert_eq!(opaque.len(), 1, "{text} was taken");
        assert!(!matches!(opaque[0].why, Unreadable::Value(_)), "{text}");
    }
}

#[test]
fn rules_that_a_set_breaks_are_told_once() {
    let told = |body: &str| -> Vec<(u32, Rule)> {
        let text = format!("_f\n{body}\n rts\n");
        let document = syntax::sc140::parse(&text);
        let source = Source {
            document: &document,
            text: &text,
        };
        let (program, opaque) = Program::new(&[source]);
        assert_eq!(opaque, [], "{text}");
        let mut memory = Memory::new();
        assert!(memory.map(0, vec![0; 64], true));
        let outcome = run(&program, "_f", &[], &mut memory, &limits());
        let violations = outcome.expect("a result").violations;
        violations
            .iter()
            .map(|violation| (violation.line, violation.rule))
            .collect()
    };
    assert_eq!(
        told(" [\n clr d1\n inc d1\n ]"),
        [(3, Rule::WrittenTwice(Reg::D(1)))]
    );
    assert_eq!(
        told(" [\n move.w (r2)+,d0\n move.w d1,(r2)+\n ]")[0].1,
        Rule::WrittenTwice(Reg::R(2))
    );
    assert_eq!(
        told(" [\n move.w (r3)+,r3\n ]")[0].1,
        Rule::WrittenTwice(Reg::R(3))
    );
    assert_eq!(
        told(" [\n move.l d2,r9\n move.l d3,b1\n ]"),
        [(3, Rule::WrittenTwice(Reg::R(9)))]
    );
    assert_eq!(
        told(" [\n move.w #1,d3.h\n move.w #2,d3.l\n ]"),
        [(3, Rule::WrittenTwice(Reg::D(3)))]
    );
    assert_eq!(
        told(" [\n move.w d0,(r0)\n move.w d1,(r1)\n ]"),
        [(3, Rule::StoredTwice)]
    );
    assert_eq!(
        told(" move.w #8,r5\n adda r5,r6"),
        [(3, Rule::AddressTooSoon(Reg::R(5)))]
    );
    assert_eq!(
        told(" move.w #8,r5\n move.w (r5),d0"),
        [(3, Rule::AddressTooSoon(Reg::R(5)))]
    );
    assert_eq!(told(" move.w #8,r5\n nop\n move.w (r5),d0"), []);
    assert_eq!(told(" move.w #8,r5\n move.l r5,d0"), []);
    assert_eq!(told(" adda #8,r5\n move.w (r5),d0"), []);
    assert_eq!(
        told(" tsteq d0\n IFT move.w #1,d1"),
        [(3, Rule::TruthTooSoon)]
    );
    assert_eq!(told(" tsteq d0\n nop\n IFT move.w #1,d1"), []);
    assert_eq!(told(" tsteq d0\n IFT inc d1"), []);
    // Groups that exclude each other, and what comes again.
    assert_eq!(
        told(" [\n ift add #1,d6\n iff add #2,d6\n ]\n sub #2,d6"),
        []
    );
    let looped = " doensh3 #9\n nop\n LOOPSTART3\n [\n clr d1\n inc d1\n ]\n LOOPEND3";
    assert_eq!(told(looped).len(), 1);
}

#[test]
fn random_programs_end() {
    let lines = [
        " clr d0",
        " inc d1",
        " bra L1",
        " bt L2",
        " jsr _f",
        " rts",
        " rtsd",
        "L1",
        "L2",
        " [",
        " ]",
        " doensh3 #3",
        " doen2 #4",
        " dosetup2 L1",
        " LOOPSTART3",
        " LOOPEND3",
        " LOOPSTART2",
        " LOOPEND2",
        " IFT",
        " move.l (sp-8),d0",
        " adda #8,sp",
        " push d0",
        " pop sr",
        " move.l d1,sr",
        " break L2",
        " cont L1",
        " skipls L2",
        " lpmarka",
        " lpmarkb",
        " ALIGN 16",
        " FALIGN",
        " DCB 1,2",
        " SECTION .x",
        "X EQU X+1",
        " move.l #X,d0",
        " move.4f (r0)+,d0:d1:d2:d3",
        " bmset #4,sr.h",
        " asll d1,d0",
        " div d1,d0",
        " move.l #-1,mctl",
        " inca r0",
        " move.l d0,(r0)+n0",
        " jmp r0",
        " rte",
        " ENDIF",
        " IF X",
        " clb d0,d1",
    ];
    let mut random = StdRng::seed_from_u64(9);
    let mut ended = 0;
    for _ in 0..3000 {
        let count = random.random_range(1..40);
        let mut text = String::from("_f\n");
        for _ in 0..count {
            text += lines[random.random_range(0..lines.len())];
            text += "\n";
        }
        let document = syntax::sc140::parse(&text);
        let source = Source {
            document: &document,
            text: &text,
        };
        let (program, _) = Program::new(&[source]);
        let limits = Limits {
            sets: 2000,
            ..limits()
        };
        let ran = run(&program, "_f", &[], &mut Memory::new(), &limits);
        ended += usize::from(ran.is_ok());
    }
    assert!(ended > 100, "{ended} programs came to their ends");
}
