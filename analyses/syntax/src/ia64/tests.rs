use super::*;

fn instruction(text: &str) -> Instruction {
    let document = parse(text);
    assert_eq!(document.problems, [], "{text}");
    document
        .statements
        .into_iter()
        .find_map(|statement| match statement.kind {
            StatementKind::Instruction(instruction) => Some(instruction),
            _ => None,
        })
        .expect("an instruction")
}

fn value(operand: &Operand) -> &Expr {
    match &operand.kind {
        OperandKind::Value(value) | OperandKind::Memory(value) => value,
    }
}

#[test]
fn a_bundle_with_all_its_parts() {
    let text =
        "L1: { .mib // kernel\n(p16)\tld8 r32 = [r5], 8\n [.L2:] nop.i 0\n\tbr.ctop.sptk L1 ;; }\n";
    let document = parse(text);
    assert_eq!(document.problems, []);
    let kinds: Vec<String> = document
        .statements
        .iter()
        .map(|statement| match &statement.kind {
            StatementKind::Label(name) => format!("{name}:"),
            StatementKind::Tag(name) => format!("[{name}]"),
            StatementKind::Template(name) => name.to_string(),
            StatementKind::Instruction(instruction) => instruction.mnemonic.to_string(),
            StatementKind::Open => "{".into(),
            StatementKind::Close => "}".into(),
            StatementKind::Stop => ";;".into(),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(
        kinds.join(" "),
        "L1: { .mib ld8 [.L2] nop.i br.ctop.sptk ;; }"
    );
    assert_eq!(document.comments.len(), 1);
    let StatementKind::Instruction(load) = &document.statements[3].kind else {
        panic!("{:?}", document.statements[3]);
    };
    assert_eq!(load.targets.len(), 1);
    assert_eq!(load.sources.len(), 2);
    assert!(matches!(load.sources[0].kind, OperandKind::Memory(_)));
    assert_eq!(
        value(load.predicate.as_ref().expect("a predicate")),
        &Expr::Name("p16".into())
    );
}

#[test]
fn compares_have_two_targets_and_stores_write_memory() {
    let compare = instruction("cmp.eq.or.andcm p6, p7 = r4, r0");
    assert_eq!(compare.base(), "cmp");
    assert!(compare.has("andcm"));
    assert_eq!((compare.targets.len(), compare.sources.len()), (2, 2));
    let store = instruction("(p[N-1])st8 [dst]=val[N-1],8");
    assert!(matches!(store.targets[0].kind, OperandKind::Memory(_)));
    assert!(matches!(value(&store.sources[0]), Expr::Index { .. }));
}

#[test]
fn expressions_bind_as_the_assembler_binds_them() {
    let of = |text: &str| {
        let found = instruction(&format!("mov r1 = {text}"));
        value(&found.sources[0]).evaluate(&|name| (name == "N").then_some(5))
    };
    assert_eq!(of("1<<16"), Some(65536));
    assert_eq!(of("2+3*N"), Some(17));
    assert_eq!(of("1|2+1"), Some(4), "bits bind tighter than sums");
    assert_eq!(of("-(N-1)"), Some(-4));
    assert_eq!(of("0x10%7"), Some(2));
    assert_eq!(of("N==5"), Some(-1));
    assert_eq!(of("M+1"), None);
    assert_eq!(of("1/0"), None);
    assert_eq!(of("@ltoff(x)"), None);
    assert_eq!(of("'a'"), Some(97));
}

#[test]
fn what_stands_around_instructions_is_kept() {
    let text = "#define N 5\n# 12 \"file.S\"\n\t.text; .align 32\nN2 = N+1\n\t.save ar.pfs, r35\n\
                .macro wait n\n br.sptk 1b\n.endm\n wait 3\n1: br.cond.sptk 1b\n .rotr val[5], buf[2]\n";
    let document = parse(text);
    assert_eq!(document.problems, []);
    let names: Vec<&str> = document
        .statements
        .iter()
        .map(|statement| match &statement.kind {
            StatementKind::Preprocessor => "#",
            StatementKind::Directive(directive) => &directive.name,
            StatementKind::Assign { name, .. } | StatementKind::Macro { name } => name,
            StatementKind::Instruction(instruction) => &instruction.mnemonic,
            StatementKind::Label(name) => name,
            _ => "?",
        })
        .collect();
    assert_eq!(
        names,
        [
            "#",
            "#",
            ".text",
            ".align",
            "N2",
            ".save",
            "wait",
            "wait",
            "1",
            "br.cond.sptk",
            ".rotr"
        ]
    );
}

#[test]
fn broken_lines_cost_themselves_alone() {
    let text =
        "add r1 = , r2\n(p6 add r2 = r3\nld8 r1 = [r2\n)\nadd r3 = r4, r5 extra\nadd r6 = r7, r8\n";
    let document = parse(text);
    assert_eq!(document.problems.len(), 5, "{:#?}", document.problems);
    let last = document
        .statements
        .iter()
        .rev()
        .find_map(|statement| match &statement.kind {
            StatementKind::Instruction(instruction) => Some(instruction),
            _ => None,
        });
    assert_eq!(last.expect("the last line").targets.len(), 1);
}

#[test]
fn deep_and_long_texts_are_bounded() {
    let deep = format!("mov r1 = {}1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(parse(&deep).problems.len(), 1);
    let minus = format!("mov r1 = {}1", "-".repeat(100_000));
    assert_eq!(parse(&minus).problems.len(), 1);
    let chain = format!("mov r1 = 1{}", "+1".repeat(50_000));
    assert_eq!(parse(&chain).problems.len(), 1);
    assert_eq!(parse("/* open").problems.len(), 1);
    assert_eq!(parse(".string \"open").problems.len(), 1);
    let stops = parse(&";;".repeat(200_000));
    assert_eq!(stops.statements.len(), 200_000);
    assert_eq!(parse(&"}".repeat(100_000)).statements.len(), 100_000);
}
