use super::*;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// A function with most that the grammar has.
const LISTING: &str = "\
;***** dot product *****
     OPT BE
     IF !@DEF('.slld')
     DEFINE .slld '0'                ; no 64-bit types
     ENDIF
	SECTION .text LOCAL
	SECFLAGS ALLOC,NOWRITE,EXECINSTR
	GLOBAL	_dot
	ALIGN	16
TAPS EQU 4*(2+1)
_dot	TYPE	func OPT_SPEED
	SIZE _dot,F_end-_dot,16
 [
    clr      d4                         ;[8,1]
    move.w   (sp-10),d15   move.4f (r0)+,d0:d1:d2:d3
 ]
    sub      #<1,d15
    doensh3  d15
    nop                           ;[0,0] L_D_3
    FALIGN
    LOOPSTART3
L7:
 [
    mac      -d0,d8,d4
    IFT move.l  d6,(r2)+n3
    IFA moves.2f d10:d11,($8a20)
 ]
    LOOPEND3
    IFT inc d0 IFF clr d1
    bmset.w  #$f0,(>_flags+2)
    bf       <L7
    push     d0.e:d1.e
    rts
F_end
	ENDSEC
	SECTION .data
table:
	DCB	\"a;b\",10,0
	DCW	%1010,'c',-1
";

fn only(text: &str) -> Instruction {
    let document = parse(text);
    assert_eq!(document.problems, [], "{text}");
    let mut sets = document.sets();
    let (_, set) = sets.next().expect("a set");
    assert_eq!((set.instructions.len(), sets.next()), (1, None), "{text}");
    set.instructions[0].clone()
}

fn operands(text: &str) -> Vec<OperandKind> {
    let instruction = only(text);
    instruction
        .operands
        .into_iter()
        .map(|operand| operand.kind)
        .collect()
}

fn name(text: &str) -> Expr {
    Expr::Name(text.into())
}

#[test]
fn a_listing_with_all_its_parts() {
    let document = parse(LISTING);
    assert_eq!(document.problems, []);
    assert_eq!(document.text(), LISTING);
    let shown: Vec<String> = document
        .statements
        .iter()
        .map(|statement| match &statement.kind {
            StatementKind::Label(name) => format!("{name}:"),
            StatementKind::Directive(directive) => match &directive.label {
                Some(label) => format!("{label} .{}", directive.name),
                None => format!(".{}", directive.name),
            },
            StatementKind::Set(set) => format!("{}{}", set.instructions.len(), set.bracketed),
            StatementKind::Unknown => "?".into(),
        })
        .collect();
    assert_eq!(
        shown.join(" "),
        ".opt .if .define .endif .section .secflags .global .align TAPS .equ _dot: _dot .type .size \
         3true 1false 1false 1false .falign .loopstart3 L7: 3true .loopend3 2false 1false 1false 1false \
         1false F_end: .endsec .section table: .dcb .dcw"
    );
    assert_eq!(document.comments().count(), 4);
}

#[test]
fn spans_are_those_of_the_text() {
    let document = parse(LISTING);
    for statement in &document.statements {
        let span = statement.span;
        let text = &LISTING[span.start as usize..span.end as usize];
        match &statement.kind {
            StatementKind::Label(name) => assert_eq!(text, name.as_str()),
            StatementKind::Set(set) => {
                assert_eq!(text.starts_with('['), set.bracketed, "{text}");
                assert_eq!(text.ends_with(']'), set.bracketed, "{text}");
                for instruction in &set.instructions {
                    let span = instruction.mnemonic_span;
                    let text = &LISTING[span.start as usize..span.end as usize];
                    assert_eq!(text, instruction.mnemonic.as_str());
                    for operand in &instruction.operands {
                        let text = &LISTING[operand.span.start as usize..operand.span.end as usize];
                        assert!(!text.contains([' ', ',']), "{text}");
                    }
                }
            }
            _ => {}
        }
    }
}

#[test]
fn operands_of_all_kinds() {
    let immediate = |size, value| OperandKind::Immediate { size, value };
    let value = |size, value| OperandKind::Value { size, value };
    assert_eq!(
        operands(" adda #>-196,sp,r2"),
        [
            immediate(
                Some(Size::Long),
                Expr::Unary {
                    op: Unary::Minus,
                    of: Box::new(Expr::Number(196))
                }
            ),
            value(None, name("sp")),
            value(None, name("r2"))
        ]
    );
    assert_eq!(
        operands(" move.4f (r4)+n2,d8:d9:d10:d11"),
        [
            OperandKind::Memory(Memory {
                size: None,
                address: name("r4"),
                update: Update::By("n2".into())
            }),
            OperandKind::Group(["d8", "d9", "d10", "d11"].map(SmolStr::from).to_vec())
        ]
    );
    let memory = |text: &str| match operands(text).remove(0) {
        OperandKind::Memory(memory) => (memory.address, memory.update),
        other => panic!("{other:?}"),
    };
    assert_eq!(memory(" move.w (r0)+,d0").1, Update::Up);
    assert_eq!(memory(" move.w (r0)-,d0").1, Update::Down);
    assert_eq!(memory(" move.w ($8a20),d0").0, Expr::Number(0x8a20));
    let sum = |op, left, right| Expr::Binary {
        op,
        left: Box::new(left),
        right: Box::new(right),
    };
    assert_eq!(
        memory(" move.w (r0+n0),d0").0,
        sum(Binary::Add, name("r0"), name("n0"))
    );
    assert_eq!(
        memory(" move.w (sp-20),d0").0,
        sum(Binary::Subtract, name("sp"), Expr::Number(20))
    );
    assert_eq!(operands(" bf <L6"), [value(Some(Size::Short), name("L6"))]);
    assert_eq!(
        operands(" or #$ffff,d13.l"),
        [
            immediate(None, Expr::Number(0xffff)),
            value(None, name("d13.l"))
        ]
    );
}

#[test]
fn expressions_bind_as_in_c() {
    let of = |text: &str| match &operands(&format!(" f #{text}"))[0] {
        OperandKind::Immediate { value, .. } => value.evaluate(&|leaf| match leaf {
            Expr::Name(name) if name == "N" => Some(5),
            Expr::Here => Some(100),
            _ => None,
        }),
        other => panic!("{other:?}"),
    };
    assert_eq!(of("2+3*N"), Some(17));
    assert_eq!(of("1<<4|1"), Some(17));
    assert_eq!(of("(2+3)*N"), Some(25));
    assert_eq!(of("10-3-2"), Some(5));
    assert_eq!(of("*-N"), Some(95));
    assert_eq!(of("%101*2"), Some(10));
    assert_eq!(of("$ff&~$f"), Some(0xf0));
    assert_eq!(of("'a'"), Some(97));
    assert_eq!(of("N==5&&!0"), Some(1));
    assert_eq!(of("N/0"), None);
    assert_eq!(of("M+1"), None);
}

#[test]
fn conditions_hold_until_the_next() {
    let document = parse(" [\n IFT\n clr d0\n add #1,d1\n IFA rtsd\n ]\n");
    assert_eq!(document.problems, []);
    let (_, set) = document.sets().next().expect("a set");
    let conditions: Vec<Option<Condition>> =
        set.conditional().map(|(condition, _)| condition).collect();
    assert_eq!(
        conditions,
        [
            Some(Condition::True),
            Some(Condition::True),
            Some(Condition::Always)
        ]
    );
}

#[test]
fn a_line_is_divided_into_instructions() {
    let mnemonics = |text: &str| -> Vec<String> {
        let document = parse(text);
        assert_eq!(document.problems, [], "{text}");
        let (_, set) = document.sets().next().expect("a set");
        set.instructions
            .iter()
            .map(|instruction| format!("{}{}", instruction.mnemonic, instruction.operands.len()))
            .collect()
    };
    assert_eq!(mnemonics(" syncio dflush (r1)"), ["syncio0", "dflush1"]);
    assert_eq!(mnemonics(" rts nop"), ["rts0", "nop0"]);
    assert_eq!(mnemonics(" jsrd _f clr d0"), ["jsrd1", "clr1"]);
    assert_eq!(mnemonics("L1 clr d0 IFF clr d1 ; both"), ["clr1", "clr1"]);
    assert_eq!(mnemonics(" [ nop ]"), ["nop0"]);
    assert_eq!(mnemonics(" [ inc d0]"), ["inc1"]);
}

#[test]
fn broken_lines_cost_themselves_alone() {
    let told = |text: &str| -> Vec<(String, String)> {
        let document = parse(text);
        assert_eq!(document.text(), text);
        let problems = document.problems.iter();
        problems
            .map(|problem| {
                let span = problem.span.start as usize..problem.span.end as usize;
                (text[span].to_owned(), problem.message.clone())
            })
            .collect()
    };
    let only = |text: &str| {
        let mut all = told(text);
        assert_eq!(all.len(), 1, "{text}: {all:?}");
        all.remove(0)
    };
    assert_eq!(only(" mac d0,,d1\n").1, "expected an operand");
    assert_eq!(
        only(" move.w (r0,d0\n"),
        ("(r0".into(), "`(r0` is no operand".into())
    );
    assert_eq!(only(" mac d0, d1,d2\n").0, " ");
    assert_eq!(only(" [\n clr d0\n [\n clr d1\n ]\n").0, "[");
    assert_eq!(only(" clr d0\n ]\n").0, "]");
    assert_eq!(only(" [\n clr d0\n LOOPEND3\n").0, "[");
    assert_eq!(only("LOOPEND3\n").0, "LOOPEND3");
    assert_eq!(only(" [\nL1\n clr d0\n ]\n").0, "L1");
    assert_eq!(only(" clr d0 ift\n").0, "ift");
    assert_eq!(only(" , clr d0\n").0, ",");
    let document = parse(" add d0,\n [\n ) \n clr d1\n ]\n rts\n");
    let mnemonics: Vec<&str> = document
        .sets()
        .flat_map(|(_, set)| &set.instructions)
        .map(|instruction| instruction.mnemonic.as_str())
        .collect();
    assert_eq!(mnemonics, ["add", "clr", "rts"]);
}

#[test]
fn deep_and_long_texts_are_bounded() {
    for text in [
        format!(" move.l #{}1{},d0", "(".repeat(50_000), ")".repeat(50_000)),
        format!(" move.l #{}1,d0", "-".repeat(50_000)),
        format!(" move.l #1{},d0", "+1".repeat(50_000)),
        format!(" DCL {}1", "(".repeat(2_000)),
        format!(" clr d0{}", ":d1".repeat(50_000)),
        "[".repeat(50_000),
        " IFT".repeat(50_000),
    ] {
        let document = parse(&text);
        assert_eq!(document.text(), text);
        assert!(document.problems.len() <= 1000);
    }
}

/// The pieces that a mutation inserts.
const PIECES: &[&str] = &[
    "[",
    "]",
    "(",
    ")",
    "+",
    "-",
    "#",
    "<",
    ">",
    ":",
    ",",
    " ",
    "\n",
    "\r\n",
    "\r",
    "\t",
    ";",
    "'",
    "\"",
    "%",
    "$",
    "@DEF(",
    "*",
    "IFT",
    "IFA",
    "LOOPSTART3",
    " LOOPEND0",
    "d0",
    "(r0)+n1",
    "d0:d1",
    "EQU",
    "é",
    "\u{1f600}",
    "\0",
    "_x",
    "nop",
    "mac d0,d1,d2",
    "0x",
    "<<",
    "&&",
    "~",
];

#[test]
fn every_text_prints_as_it_was_read() {
    let mut random = StdRng::seed_from_u64(140);
    let mut checked = 0;
    for round in 0..4000 {
        let text: String = if round % 2 == 0 {
            let count = random.random_range(0..60);
            (0..count)
                .map(|_| *PIECES.choose(&mut random).expect("pieces"))
                .collect()
        } else {
            let mut text: Vec<char> = LISTING.chars().collect();
            for _ in 0..random.random_range(1..8) {
                let at = random.random_range(0..text.len());
                let end = (at + random.random_range(0..12)).min(text.len());
                let piece = PIECES.choose(&mut random).expect("pieces").chars();
                text.splice(at..end, piece);
            }
            text.into_iter().collect()
        };
        checked += check(&text);
    }
    for _ in 0..2000 {
        let count = random.random_range(0..200);
        let bytes: Vec<u8> = (0..count).map(|_| random.random()).collect();
        checked += check(&String::from_utf8_lossy(&bytes));
    }
    assert!(checked > 10_000, "{checked} sets were printed");
}

/// A text is kept whole, its spans lie in it, and each set that was understood prints as one that reads the same.
/// Returns the number of these sets.
fn check(text: &str) -> usize {
    let mut checked = 0;
    let document = parse(text);
    assert_eq!(document.text(), text);
    let mut end = 0;
    for token in &document.tokens {
        assert_eq!(token.span.start, end, "{text:?}");
        end = token.span.end;
    }
    assert_eq!(end as usize, text.len());
    let problems = document.problems.iter().map(|problem| problem.span);
    let statements = document.statements.iter().map(|statement| statement.span);
    for span in problems.chain(statements) {
        assert!(span.start <= span.end && span.end as usize <= text.len());
        assert!(text.get(span.start as usize..span.end as usize).is_some());
    }
    for (span, set) in document.sets() {
        let broken =
            |problem: &Problem| problem.span.start <= span.end && span.start <= problem.span.end;
        if document.problems.iter().any(broken) || set.instructions.is_empty() {
            continue;
        }
        checked += 1;
        let printed = format!("{set}\n");
        let again = parse(&printed);
        assert_eq!(again.problems, [], "{printed:?} from {text:?}");
        let (_, read) = again.sets().next().expect("the set");
        assert_eq!(plain(read), plain(set), "{printed:?} from {text:?}");
    }
    checked
}

/// A set without its places.
fn plain(set: &ExecutionSet) -> ExecutionSet {
    let mut set = set.clone();
    for instruction in &mut set.instructions {
        instruction.span = Span::default();
        instruction.mnemonic_span = Span::default();
        for operand in &mut instruction.operands {
            operand.span = Span::default();
        }
    }
    set
}
