//! The examples of the paper: the count of a function, the shadow of a call, and the description for the
//! unwinder, which is judged by `readelf -u` on the object that GNU `as` makes of the text.

use super::assembler::{assembler, into_object};
use super::watch::emitted;
use super::{PROBES, with_probes};
use lockstep_codegen::target::ia64::instrument::{Instrumented, Probe, Refusal};
use simulate::ia64::{Arg, FaultKind, Limits, Memory, Program, run, run_kept};
use std::path::Path;
use std::process::Command;
use syntax::ia64::StatementKind;

/// A function with 11 locals and no outputs gets an output, the register of the probe.
#[test]
fn the_count_of_a_function_takes_a_new_output() {
    let text = "\t.text\n\t.proc f\nf:\n\talloc r33 = ar.pfs, 0, 11, 0, 0\n\tmov r8 = 7\n\tbr.ret.sptk.many b0 ;;\n\t.endp f\n";
    let made = with_probes(text, "itanium2", Probe::Entry);
    for line in [
        "alloc r33 = ar.pfs, 0, 11, 1, 0",
        "movl r43 = __lockstep_counters ;;",
        "fetchadd8.rel r43 = [r43], 1",
    ] {
        assert!(made.text.contains(line), "{line}\n{}", made.text);
    }
    assert_eq!(counted(&made, "f", &[], 3), (Some(7), vec![3]));
}

/// The result of runs and the counters.
fn counted(
    made: &Instrumented,
    item: &str,
    arguments: &[Arg],
    runs: u32,
) -> (Option<u64>, Vec<u64>) {
    let document = syntax::ia64::parse(&made.text);
    let (program, problems) = Program::new(&document, &made.text);
    assert_eq!(problems, []);
    let mut memory = Memory::new();
    let mut result = None;
    for _ in 0..runs {
        let limits = Limits::default();
        let outcome = run_kept(&program, item, arguments, &mut memory, &limits, &mut |_| {});
        let outcome = outcome.unwrap_or_else(|fault| panic!("{fault}\n{}", made.text));
        assert_eq!(outcome.violations, [], "{}", made.text);
        assert_eq!(outcome.changed, [], "{}", made.text);
        result = outcome.result;
    }
    let place = program.address("__lockstep_counters").expect("counters");
    let bytes = memory.bytes(place, 8 * made.counters as usize);
    let words = bytes.expect("mapped").chunks_exact(8);
    let words = words.map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
    (result, words.collect())
}

/// A call in slot 1 with a break behind it, which executes only where the call does not; the callee clobbers the predicate.
const SHADOW: &str = "	.text
	.proc f
f:
	alloc r33 = ar.pfs, 1, 3, 0, 0
	mov r34 = b0
	cmp.ne p6, p0 = 0, r32 ;;
	mov r8 = 1 ;;
	{ .mbb
	nop.m 0
	(p6) br.call.sptk.many b0 = g
	break.b 0 ;;
	}
	adds r8 = 10, r8
	mov b0 = r34
	mov ar.pfs = r33 ;;
	br.ret.sptk.many b0 ;;
	.endp f
	.proc g
g:
	adds r8 = 1, r8
	cmp.ne p6, p0 = r0, r0
	br.ret.sptk.many b0 ;;
	.endp g
";

#[test]
fn what_stands_behind_a_call_in_its_bundle_executes_only_where_it_does_not_call() {
    let runs = |text: &str| {
        [0, 1].map(|called| {
            let document = syntax::ia64::parse(text);
            let (program, problems) = Program::new(&document, text);
            assert_eq!(problems, []);
            let mut memory = Memory::new();
            let outcome = run(
                &program,
                "f",
                &[Arg::Integer(called)],
                &mut memory,
                &Limits::default(),
            );
            outcome
                .map(|outcome| outcome.result)
                .map_err(|fault| fault.kind)
        })
    };
    let wanted = [Err(FaultKind::Break), Ok(Some(12))];
    assert_eq!(runs(SHADOW), wanted);
    for probe in [Probe::Entry, Probe::Branch, Probe::Path] {
        let made = with_probes(SHADOW, "itanium2", probe);
        let names: Vec<&str> = made
            .functions
            .iter()
            .map(|function| function.name.as_str())
            .collect();
        let of_g = if probe == Probe::Path {
            vec!["f"]
        } else {
            vec!["f", "g"]
        };
        assert_eq!(names, of_g, "{probe:?} {:?}", made.refused);
        assert_eq!(runs(&made.text), wanted, "{probe:?}\n{}", made.text);
        let document = syntax::ia64::parse(&made.text);
        // The call ends its bundle now.
        let call = document.statements.iter().position(|statement| {
            matches!(&statement.kind, StatementKind::Instruction(written) if written.has("call"))
        });
        let behind = &document.statements[call.expect("a call") + 1..];
        let closed = behind
            .iter()
            .take_while(|statement| statement.kind != StatementKind::Close);
        let only_nops = closed.into_iter().all(|statement| match &statement.kind {
            StatementKind::Instruction(written) => written.base() == "nop",
            _ => true,
        });
        assert!(only_nops, "{}", made.text);
    }
}

/// Returns the directives to the unwinder: kind and instruction, in order; regions as the instruction that
/// they begin with.
fn unwound(text: &str, name: &str) -> Option<Vec<(String, String)>> {
    let assembler = assembler()?;
    let folder = tempfile::tempdir().expect("a folder");
    let object = folder.path().join("x.o");
    let said = into_object(&assembler, text, &object);
    assert_eq!(said, "", "{name}\n{text}");
    let reader = assembler.with_file_name("ia64-linux-gnu-readelf");
    let output = Command::new(reader)
        .arg("-u")
        .arg(&object)
        .output()
        .expect("readelf runs");
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    let slots = slots(&assembler.with_file_name("ia64-linux-gnu-objdump"), &object);
    let mut out = Vec::new();
    let (mut begin, mut region, mut functions) = (0, 0, 0);
    for line in output.lines().map(str::trim) {
        if let Some((_, rest)) = line.split_once(">: [0x") {
            functions += 1;
            let start = rest.split('-').next().expect("an address");
            begin = 3 * usize::from_str_radix(start, 16).expect("a number") / 16;
            region = begin;
            continue;
        }
        // A nop stands for what it is in front of.
        let at = |slot: usize| {
            let mut all = slots.iter().skip(slot);
            all.find(|text| !text.is_empty())
                .cloned()
                .unwrap_or_default()
        };
        let number = |key: &str| {
            let (_, rest) = line.split_once(key)?;
            rest.split([',', ')']).next()?.parse::<usize>().ok()
        };
        if let Some(length) = number("rlen=") {
            if length > 0 {
                region = begin;
                begin += length;
                // Long regions have a form of their own.
                let kind = line.split([':', '(']).nth(1).expect("a kind");
                out.push((format!("{functions} {kind}"), at(region)));
            }
        } else if let Some(slot) = number("(t=") {
            let kind = line.split('(').next().expect("a kind");
            out.push((format!("{functions} {kind}"), at(region + slot)));
        }
    }
    Some(out)
}

/// The instruction in each slot from the start of the section, as `objdump` reads the object: no nop, and without the sizes of
/// a frame, which change.
fn slots(reader: &Path, object: &Path) -> Vec<String> {
    let output = Command::new(reader)
        .arg("-d")
        .arg(object)
        .output()
        .expect("objdump runs");
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut out: Vec<String> = Vec::new();
    for line in output.lines() {
        let Some((address, rest)) = line.split_once(":\t") else {
            continue;
        };
        let Ok(address) = usize::from_str_radix(address.trim(), 16) else {
            continue;
        };
        let text = rest.rsplit('\t').next().unwrap_or("");
        let text = text
            .rsplit(']')
            .next()
            .unwrap_or("")
            .trim()
            .trim_end_matches(";;");
        let text = if text.starts_with("nop") { "" } else { text };
        let named = match text.starts_with("alloc") {
            true => text.split(',').next().unwrap_or(""),
            false => text,
        };
        out.resize(address / 16 * 3 + address % 16 / 6, String::new());
        out.push(named.to_owned());
    }
    out
}

/// The prologue of the paper's second example: `ar.pfs` saved at slot 0, `rp` at slot 1, six instructions.
const PROLOGUE: &str = "	.text
	.align 32
	.proc f
f:
	.prologue
	{ .mii
	.save ar.pfs, r35
	alloc r35 = ar.pfs, 2, 4, 1, 0
	.save rp, r36
	mov r36 = b0
	mov r37 = r1
	}
	{ .mmi
	mov r14 = 3
	mov r15 = r32
	mov r16 = r33 ;;
	}
	.body
	{ .mmi
	add r38 = r14, r15
	nop.m 0
	nop.i 0 ;;
	}
	{ .mib
	add r8 = r38, r16
	mov b0 = r36
	nop.b 0
	}
	{ .mib
	nop.m 0
	mov ar.pfs = r35
	br.ret.sptk.many b0 ;;
	}
	.endp f
";

#[test]
fn descriptions_for_the_unwinder_name_the_instructions_that_they_named() {
    let Some(before) = unwound(PROLOGUE, "the prologue") else {
        return;
    };
    let named: Vec<(&str, &str)> = before
        .iter()
        .map(|(kind, at)| (kind.as_str(), at.as_str()))
        .collect();
    assert_eq!(
        named,
        [
            ("1 prologue", "alloc r35=ar.pfs"),
            ("1 P7:pfs_when", "alloc r35=ar.pfs"),
            ("1 P7:rp_when", "mov r36=b0"),
            ("1 body", "add r38=r14,r15"),
        ]
    );
    for probe in [Probe::Entry, Probe::Branch, Probe::Path] {
        let made = with_probes(PROLOGUE, "itanium2", probe);
        assert_eq!(made.refused, []);
        assert_eq!(
            unwound(&made.text, "the prologue"),
            Some(before.clone()),
            "{probe:?}\n{}",
            made.text
        );
        let arguments = [Arg::Integer(4), Arg::Integer(5)];
        assert_eq!(counted(&made, "f", &arguments, 1).0, Some(12));
    }
    let mut described = 0;
    for path in fixtures::files("c", &["c"]) {
        let fixture = fixtures::load(&path).expect("a fixture");
        for pipelined in [false, true] {
            let text = emitted(&fixture.text, "itanium2", pipelined);
            let name = path.display().to_string();
            let before = unwound(&text, &name).expect("an assembler");
            for probe in PROBES {
                let made = with_probes(&text, "itanium2", probe);
                // Within a prologue their order is free.
                let sorted = |mut all: Vec<(String, String)>| {
                    all.sort_unstable();
                    all
                };
                let mut after = unwound(&made.text, &name).expect("an assembler");
                // Routines for values stand behind.
                after.truncate(before.len());
                assert_eq!(
                    sorted(after),
                    sorted(before.clone()),
                    "{name}, {probe:?}\n{}",
                    made.text
                );
                described += before.len();
            }
        }
    }
    assert!(described > 100, "{described}");
}

fn refused(text: &str, probe: Probe) -> Vec<Refusal> {
    let made = with_probes(text, "itanium2", probe);
    assert_eq!(made.functions, []);
    assert_eq!(made.text, text, "what is refused stays");
    made.refused
        .into_iter()
        .map(|(_, refusal)| refusal)
        .collect()
}

#[test]
fn what_has_no_probes_is_refused_with_its_reason() {
    let function =
        |body: &str| format!("\t.proc f\nf:\n{body}\tbr.ret.sptk.many b0 ;;\n\t.endp f\n");
    let cases: [(&str, Probe, Refusal); 10] = [
        (
            "\talloc r2 = ar.pfs, 0, 1, 0, 0 ;;\n\talloc r2 = ar.pfs, 0, 2, 0, 0 ;;\n",
            Probe::Entry,
            Refusal::Allocs { count: 2 },
        ),
        (
            "\tcmp.eq p6, p0 = 0, r32 ;;\n(p6)\tbr.cond.sptk .L1 ;;\n\talloc r2 = ar.pfs, 0, 1, 0, 0 ;;\n.L1:\n",
            Probe::Branch,
            Refusal::AllocPlace { line: 5 },
        ),
        (
            "\tmov b6 = r32 ;;\n\tbr.cond.sptk b6 ;;\n",
            Probe::Branch,
            Refusal::Indirect { line: 4 },
        ),
        (
            "\tfrobnicate r1 = r2 ;;\n",
            Probe::Entry,
            Refusal::Opaque { line: 3 },
        ),
        (
            "\t.auto\n\tadd r8 = r32, r33 ;;\n",
            Probe::Entry,
            Refusal::Automatic,
        ),
        ("\tdata8 5\n", Probe::Entry, Refusal::Data { line: 3 }),
        (
            "\tadd r8 = r32, r33 ;;\n",
            Probe::Path,
            Refusal::NoRegister { named: 0, room: 96 },
        ),
        ("\tadd r8 = r32, r33 ;;\n", Probe::Value, Refusal::NoValues),
        (
            "\talloc r2 = ar.pfs, 0, 95, 0, 0 ;;\n\tld8 r8 = [r32] ;;\n",
            Probe::Value,
            Refusal::NoRegister {
                named: 95,
                room: 96,
            },
        ),
        ("\tbr.cond.sptk f ;;\n", Probe::Branch, Refusal::NoReturn),
    ];
    for (body, probe, refusal) in cases {
        assert_eq!(refused(&function(body), probe), [refusal], "{body}");
    }
    // An entry in the middle, by another function and by a name for others.
    let jump = format!(
        "{}\t.proc g\ng:\tbr.cond.sptk .Lmiddle ;;\n\t.endp g\n",
        function("\tmov r8 = 1 ;;\n.Lmiddle:\n")
    );
    let made = with_probes(&jump, "itanium2", Probe::Entry);
    assert_eq!(
        made.refused.first().map(|(_, refusal)| refusal),
        Some(&Refusal::Entered {
            label: ".Lmiddle".into()
        })
    );
    let paths: String = (0..13)
        .map(|at| format!("\ttbit.nz p6, p0 = r32, {at} ;;\n(p6)\tbr.cond.sptk .L{at} ;;\n\tadds r8 = 1, r8 ;;\n.L{at}:\n"))
        .collect();
    let many = function(&format!("\talloc r2 = ar.pfs, 1, 1, 0, 0 ;;\n{paths}"));
    assert_eq!(
        refused(&many, Probe::Path),
        [Refusal::Paths {
            count: 8192,
            most: 4096
        }]
    );
}

/// The order of free registers: those that a comment gives away, more of the frame, and one that waits in a floating-point
/// register, which itself waits on the stack where none is free.
#[test]
fn registers_are_taken_in_the_order_of_the_paper() {
    let given = "\t.proc f\nf:\t// lockstep: free r20\n\talloc r2 = ar.pfs, 1, 1, 0, 0 ;;\n\tmov r8 = r32\n\tbr.ret.sptk.many b0 ;;\n\t.endp f\n";
    let full = "\t.proc f\nf:\n\talloc r2 = ar.pfs, 1, 95, 0, 0 ;;\n\tmov r8 = r32\n\tbr.ret.sptk.many b0 ;;\n\t.endp f\n";
    let none = "\t.proc f\nf:\n\tmov r8 = r32\n\tbr.ret.sptk.many b0 ;;\n\t.endp f\n";
    let floats: String = (6..8)
        .chain(32..128)
        .map(|number| format!("\tmov f{number} = f0 ;;\n"))
        .collect();
    let busy =
        format!("\t.proc f\nf:\n{floats}\tmov r8 = r32\n\tbr.ret.sptk.many b0 ;;\n\t.endp f\n");
    let cases: [(&str, &[&str]); 4] = [
        (
            given,
            &[
                "alloc r2 = ar.pfs, 1, 1, 0, 0",
                "movl r20 = __lockstep_counters",
            ],
        ),
        (
            full,
            &["setf.sig f6 = r31", "movl r31 =", "getf.sig r31 = f6"],
        ),
        (
            none,
            &["setf.sig f6 = r31", "movl r31 =", "getf.sig r31 = f6"],
        ),
        (
            &busy,
            &[
                "stf.spill [r12] = f6",
                "setf.sig f6 = r31",
                "ldf.fill f6 = [r12]",
            ],
        ),
    ];
    for (text, lines) in cases {
        let made = with_probes(text, "itanium2", Probe::Entry);
        for line in lines {
            assert!(made.text.contains(line), "{line}\n{}", made.text);
        }
        assert_eq!(
            counted(&made, "f", &[Arg::Integer(9)], 4),
            (Some(9), vec![4])
        );
        if let Some(assembler) = assembler() {
            assert_eq!(
                super::assembled(&assembler, &made.text),
                "",
                "{}",
                made.text
            );
        }
    }
}

/// Values computed from the instruction pointer are unchanged: the address of the bundle that held the move.
#[test]
fn moves_of_the_instruction_pointer_stay_with_their_bundle() {
    let text = "\t.text\n\t.proc f\nf:\n\talloc r2 = ar.pfs, 0, 1, 0, 0 ;;\n.Lhere:\n\t{ .mii\n\tnop.m 0\n\tmov r8 = ip\n\tnop.i 0 ;;\n\t}\n\tmovl r9 = .Lhere ;;\n\tsub r8 = r8, r9\n\tbr.ret.sptk.many b0 ;;\n\t.endp f\n";
    let document = syntax::ia64::parse(text);
    let (program, _) = Program::new(&document, text);
    let before = run(&program, "f", &[], &mut Memory::new(), &Limits::default()).expect("it runs");
    assert_eq!(before.result, Some(0));
    // Another function's jump there can't be excluded where the address is taken.
    let made = with_probes(text, "itanium2", Probe::Entry);
    assert_eq!(
        made.refused,
        [(
            "f".into(),
            Refusal::AddressTaken {
                label: ".Lhere".into()
            }
        )]
    );
    let text = text.replace("\tmovl r9 = .Lhere ;;\n\tsub r8 = r8, r9\n", "");
    let made = with_probes(&text, "itanium2", Probe::Branch);
    assert_eq!(made.refused, []);
    let (result, _) = counted(&made, "f", &[], 1);
    let document = syntax::ia64::parse(&made.text);
    let (program, _) = Program::new(&document, &made.text);
    let label = made
        .text
        .split("= .Lockstep_f_")
        .nth(1)
        .and_then(|rest| rest.split([' ', '\n']).next());
    let label = label.expect("a label for the move");
    assert_eq!(result, program.address(&format!(".Lockstep_f_{label}")));
}

/// Directives that say nothing to the unwinder stay in front of their instruction as well, and sizes may be sums.
#[test]
fn directives_of_an_instruction_stay_in_front_of_it() {
    let text = "\t.text\nN = 2\n\t.proc f\nf:\n\t.prologue\n\t.regstk 1, N+1, 0, 0\n\t.save ar.pfs, loc0\n\talloc loc0 = ar.pfs, 1, N+1, 0, 0\n\tmov loc1 = r32 ;;\n\t.body\n\tadds r8 = 1, loc1\n\tbr.ret.sptk.many b0 ;;\n\t.endp f\n";
    for probe in [Probe::Entry, Probe::Branch, Probe::Path] {
        let made = with_probes(text, "itanium2", probe);
        assert_eq!(made.refused, []);
        assert_eq!(
            made.text.matches(".regstk 1, N+1, 0, 0").count(),
            1,
            "{}",
            made.text
        );
        assert_eq!(made.text.matches(".prologue").count(), 1, "{}", made.text);
        assert_eq!(counted(&made, "f", &[Arg::Integer(4)], 1).0, Some(5));
        if let Some(assembler) = assembler() {
            assert_eq!(
                super::assembled(&assembler, &made.text),
                "",
                "{}",
                made.text
            );
        }
    }
}
