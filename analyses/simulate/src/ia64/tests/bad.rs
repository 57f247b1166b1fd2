//! Tests of errors, each reported with its line: violations of groups, faults, bundles that no template
//! holds, limits.

use super::*;

fn violations(body: &str) -> Vec<(u32, String, Rule)> {
    let text = leaf(body);
    let program = doubtful(&text);
    let arguments = [Arg::Integer(0); 2];
    let mut memory = Memory::new();
    let outcome = run(&program, "f", &arguments, &mut memory, &Limits::default());
    let told = outcome.expect(body).violations;
    // Where a violation is sure, the assembler warns too.
    if !told.is_empty() {
        let said = assembled(&text);
        assert!(
            said.is_empty() || said.contains("violates") || said.contains("may violate"),
            "{said}"
        );
    } else {
        assert_eq!(assembled(&text), "", "{body}");
    }
    // The body begins on line 6.
    told.into_iter()
        .map(|it| (it.line - 5, it.register.to_string(), it.rule))
        .collect()
}

#[test]
fn groups_that_depend_on_themselves() {
    use Rule::{ReadAfterWrite, WriteAfterWrite};
    let violation = |line: u32, register: &str, rule: Rule| vec![(line, register.to_owned(), rule)];
    assert_eq!(
        violations("add r14 = 1, r0\nadd r8 = 1, r14"),
        violation(2, "r14", ReadAfterWrite)
    );
    assert_eq!(
        violations("add r8 = 1, r0\nadd r8 = 2, r0"),
        violation(2, "r8", WriteAfterWrite)
    );
    // Writing behind a read is fine.
    assert_eq!(violations("add r8 = 1, r14\nadd r14 = 2, r0"), []);
    assert_eq!(
        violations("cmp.eq p6, p7 = r0, r0\n(p6) add r8 = 2, r0"),
        violation(2, "p6", ReadAfterWrite)
    );
    assert_eq!(
        violations("cmp.eq p6, p7 = r0, r0\n(p6) br.cond.sptk x ;;\nx:"),
        []
    );
    assert_eq!(
        violations("fcmp.eq p6, p7 = f0, f0\n(p6) br.cond.sptk x ;;\nx:"),
        violation(2, "p6", ReadAfterWrite)
    );
    assert_eq!(
        violations("tbit.z p6, p7 = r0, 1\n(p7) br.cond.sptk x ;;\nx:"),
        []
    );
    assert_eq!(violations("mov ar.lc = 3\nbr.cloop.sptk x ;;\nx:").len(), 2);
    assert_eq!(
        violations("mov r14 = b0 ;;\nmov b0 = r14\nmov ar.pfs = r31"),
        []
    );
    assert_eq!(
        violations("cmp.eq.or p6, p0 = r0, r0\ncmp.eq.or p6, p0 = r32, r0"),
        []
    );
    assert_eq!(
        violations("cmp.eq.or p6, p0 = r0, r0\ncmp.eq.and p6, p0 = r32, r0"),
        violation(2, "p6", WriteAfterWrite)
    );
    assert_eq!(
        violations("cmp.eq.or.andcm p6, p8 = r0, r0\ncmp.eq.or.andcm p7, p8 = r32, r0"),
        []
    );
    assert_eq!(
        violations("cmp.eq p6, p0 = r0, r0\ncmp.eq.and p6, p0 = r32, r0"),
        violation(2, "p6", WriteAfterWrite)
    );
    assert_eq!(
        violations("add r14 = 0, r0\nalloc r15 = ar.pfs, 8, 0, 0, 0 ;;\nnop.m 0").len(),
        1
    );
}

#[test]
fn predicates_that_exclude_each_other() {
    // Only one of the two executes, whatever an assembler that does not know the relation says.
    assert_eq!(
        violations("cmp.eq p6, p7 = r32, r0 ;;\n(p6) mov r8 = 1\n(p7) mov r8 = 2"),
        []
    );
    let text = leaf(
        "cmp.eq p6, p0 = r0, r0 ;;\ncmp.eq p7, p0 = r0, r0 ;;\n(p6) mov r8 = 1\n(p7) mov r8 = 2",
    );
    let outcome = run(
        &doubtful(&text),
        "f",
        &[],
        &mut Memory::new(),
        &Limits::default(),
    );
    assert_eq!(outcome.expect("runs").violations.len(), 1);
}

#[test]
fn faults_have_their_line() {
    let told = |body: &str, arguments: &[u64]| {
        let fault = fault(body, arguments);
        (fault.kind, fault.line)
    };
    assert_eq!(
        told("nop.i 0 ;;\nld8 r8 = [r0]", &[]),
        (FaultKind::Unmapped, 7)
    );
    assert_eq!(
        told("ld8 r8 = [r32]", &[0x6000_0004]),
        (FaultKind::Unaligned, 6)
    );
    assert_eq!(
        told("ld8.s r14 = [r0] ;;\nst8 [r12] = r14", &[]),
        (FaultKind::NatConsumption, 7)
    );
    assert_eq!(
        told("ld8.s r14 = [r0] ;;\nld8 r8 = [r14]", &[]),
        (FaultKind::NatConsumption, 7)
    );
    assert_eq!(
        told("ld8.s r14 = [r0] ;;\nmov b6 = r14", &[]),
        (FaultKind::NatConsumption, 7)
    );
    assert_eq!(told("break.m 7", &[]), (FaultKind::Break, 6));
    assert_eq!(
        told("mov b6 = r32 ;;\nbr.cond.sptk b6", &[0x1230]),
        (FaultKind::Unresolved, 7)
    );
    assert_eq!(told("x:\tbr.sptk x", &[]), (FaultKind::Steps, 6));
    let program = doubtful(&leaf("mov r8 = r40"));
    let fault = run(&program, "f", &[], &mut Memory::new(), &Limits::default());
    assert_eq!(
        fault.map(|_| ()).map_err(|it| it.kind),
        Err(FaultKind::IllegalOperation)
    );
    let missing = run(&program, "g", &[], &mut Memory::new(), &Limits::default());
    assert_eq!(
        missing.map(|_| ()).map_err(|it| it.kind),
        Err(FaultKind::NoFunction)
    );
}

fn problems(text: &str) -> Vec<String> {
    let (_, problems) = Program::new(&syntax::ia64::parse(text), text);
    problems
        .into_iter()
        .map(|problem| problem.message)
        .collect()
}

#[test]
fn bundles_that_do_not_exist() {
    assert_eq!(
        problems("{ .mii\n nop.m 0\n nop.i 0\n nop.i 0 ;; }"),
        [""; 0]
    );
    assert_eq!(problems("{ .mlx\n nop.m 0\n movl r14 = 5 ;; }"), [""; 0]);
    assert_eq!(
        problems("{ .mmi\n nop.m 0 ;;\n nop.m 0\n nop.i 0 ;; }"),
        [""; 0]
    );
    assert_eq!(
        problems("{ .mii\n nop.m 0\n nop.m 0\n nop.i 0 ;; }"),
        ["a bundle of template `.mii` has no slot for `nop.m` here"]
    );
    assert_eq!(
        problems("{ .mfi\n nop.m 0 ;;\n nop.f 0\n nop.i 0 }"),
        ["a bundle of template `.mfi` has no stop where these have one"]
    );
    assert_eq!(
        problems("{ .mii\n nop.m 0\n nop.i 0\n nop.i 0\n nop.i 0 }"),
        ["a bundle has three slots, and these instructions take 4"]
    );
    assert_eq!(
        problems("{\n shl r8 = r8, r9\n ld8 r8 = [r9]\n nop.f 0 }"),
        ["no template holds these in one bundle"]
    );
    assert_eq!(
        problems("frobnicate r8 = r9"),
        ["`frobnicate` is not simulated as it stands here"]
    );
}

#[test]
fn labels_that_are_nowhere() {
    let told = problems("br.sptk 1f ;;\n1: br.sptk 2b ;;");
    assert_eq!(told, ["an operand has no value in this file"]);
}

#[test]
fn texts_of_any_kind_end() {
    for text in [
        "}",
        "{",
        "{ .mii",
        ";;",
        "f:",
        "f: br.ret.sptk b9",
        "{ .mlx }",
        "f: mov r1000 = r2",
        ".data\n data8 x, 5\n .skip 99999999999999",
    ] {
        let (program, _) = Program::new(&syntax::ia64::parse(text), text);
        let _ = run(&program, "f", &[], &mut Memory::new(), &Limits::default());
    }
}
