//! The table of opcodes and the simulator's own decoder say the same of every opcode: the slots, the registers that are read
//! and written, the access to memory, where control goes.
//!
//! ```text
//! (p9) ld8.c.clr r41 = [r7], -8      table: M; reads p9 r7, writes r41 r7; loads 8 bytes at r7, confirms
//!                                    simulator: executed from random states
//! ```
//!
//! Both read the lines of `forms` for every mnemonic. Registers that the table does not list as read get
//! other contents, and everything that the instruction writes must stay the same; registers that it does not
//! list as written must not change. Those that it lists must matter for some state, except registers that the
//! simulator does not keep.

mod forms;
mod state;

use super::super::execute::Next;
use super::super::op::{Atomic, Branch as Kind, Op, Slot, Src};
use super::super::program::{Inst as Placed, Program};
use super::super::state::Way;
use super::assembled;
use forms::{Draw, filled, is_hint, is_predicable, mnemonics, operands};
use isa::ia64::{Access, Branch, Class, File, Inst, Memory, Mnemonic, Opcode, Parallel, Reg, Type};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rustc_hash::FxHashSet;
use state::{BASE, Executed, State, execute, registers};
use std::collections::{BTreeMap, BTreeSet};
use syntax::ia64::StatementKind;
use syntax::ia64::decode::decode;
use syntax::ia64::names::Names;

/// States from which each line is executed; the number for those with a hint, which are many and do not
/// affect the result; and the most states until everything that the table lists was seen.
const STATES: usize = 24;
const HINTED: usize = 4;
const MOST: usize = 400;

const SYSTEM: &str = "the system's";
const PARALLEL: &str = "two numbers in a floating-point register";
const LATER: &str = "of later processors, and not emitted";
const OTHER_SET: &str = "goes on in another instruction set";

/// Operations that the simulator lacks, and the reason: opcodes, kinds of branches, or forms of an opcode
/// that it has. A line may be taken out, none added.
const NOT_SIMULATED: &[(&str, &str)] = &[
    ("br.ia", OTHER_SET),
    ("bsw", SYSTEM),
    ("cmp8xchg16", LATER),
    ("cover", SYSTEM),
    ("epc", SYSTEM),
    ("fpabs", PARALLEL),
    ("fpamax", PARALLEL),
    ("fpamin", PARALLEL),
    ("fpcmp", PARALLEL),
    ("fpcvt", PARALLEL),
    ("fpma", PARALLEL),
    ("fpmax", PARALLEL),
    ("fpmerge", PARALLEL),
    ("fpmin", PARALLEL),
    ("fpmpy", PARALLEL),
    ("fpms", PARALLEL),
    ("fpneg", PARALLEL),
    ("fpnegabs", PARALLEL),
    ("fpnma", PARALLEL),
    ("fpnmpy", PARALLEL),
    ("fprcpa", PARALLEL),
    ("fprsqrta", PARALLEL),
    ("itc", SYSTEM),
    ("itr", SYSTEM),
    ("loadrs", SYSTEM),
    ("mov cr.iva = {g}", SYSTEM),
    ("mov psr.l = {g}", SYSTEM),
    ("mov rr[{g}] = {g}", SYSTEM),
    ("mov {G} = cpuid[{g}]", SYSTEM),
    ("mov {G} = cr.iva", SYSTEM),
    ("mov {G} = psr", SYSTEM),
    ("mov {G} = rr[{g}]", SYSTEM),
    ("mpy4", LATER),
    ("mpyshl4", LATER),
    ("probe", SYSTEM),
    ("ptc", SYSTEM),
    ("ptr", SYSTEM),
    ("rfi", SYSTEM),
    ("tak", SYSTEM),
    ("tf", LATER),
    ("thash", SYSTEM),
    ("tpa", SYSTEM),
    ("ttag", SYSTEM),
    ("vmsw", SYSTEM),
];

/// A line of assembly as both read it.
#[derive(Clone)]
struct Line<'a> {
    text: &'a str,
    mnemonic: Mnemonic,
    table: Inst,
    /// The reason why the table does not know it.
    opaque: Option<String>,
    op: Op,
    slot: Slot,
    draw: Draw,
}

impl Line<'_> {
    /// Returns true if it says which levels of the caches keep its line.
    fn is_hinted(&self) -> bool {
        let last = self.mnemonic.completers().last();
        self.table.memory.is_some() && last.is_some_and(is_hint)
    }
}

#[derive(Default)]
struct Found {
    lines: usize,
    executed: usize,
    mnemonics: usize,
    problems: BTreeMap<String, String>,
}

impl Found {
    fn problem(&mut self, line: &Line<'_>, what: impl std::fmt::Display) {
        let key = format!("{}: {what}", line.mnemonic.opcode().name());
        let example = format!("{key}: {}", line.text.trim());
        self.problems.entry(key).or_insert(example);
    }
}

#[test]
fn the_simulator_and_the_table_agree_on_every_opcode() {
    let mut random = StdRng::seed_from_u64(9);
    let mut found = Found::default();
    let mut missing: BTreeSet<String> = BTreeSet::new();
    for &opcode in Opcode::ALL.iter().filter(|&&it| it != Opcode::Refused) {
        let (mut text, mut templates) = (String::from("x:\n"), Vec::new());
        for name in mnemonics(opcode) {
            let mnemonic = Mnemonic::parse(&name).expect("of the table");
            found.mnemonics += 1;
            for template in operands(mnemonic) {
                let predicable = is_predicable(mnemonic);
                let apart = template.contains("[{a}]");
                let mut draws = vec![(Draw::Apart, false)];
                if predicable {
                    draws.push((Draw::Apart, true));
                }
                if !apart {
                    draws.push((Draw::Mixed, false));
                }
                for (draw, predicated) in draws {
                    let form = format!("{name} {template}");
                    let line = match predicated {
                        true => format!("({{p}}) {form}"),
                        false => form.clone(),
                    };
                    text += &format!("\t{} ;;\n", filled(&line, draw, &mut random));
                    templates.push((form, draw));
                }
            }
        }
        refused(&text, &mut found);
        let (program, lines) = read(&text);
        assert_eq!(lines.len(), templates.len(), "{}", opcode.name());
        let mut lacking: Vec<String> = Vec::new();
        for (mut line, (form, draw)) in lines.into_iter().zip(&templates) {
            line.draw = *draw;
            if line.op == Op::Unknown {
                let branch = form.split('.').take(2).collect::<Vec<_>>().join(".");
                lacking.push(if opcode == Opcode::Br {
                    branch
                } else {
                    form.clone()
                });
                continue;
            }
            found.lines += 1;
            compared(&program, &line, &mut found, &mut random);
        }
        match lacking.len() == templates.len() {
            true => drop(missing.insert(opcode.name().to_owned())),
            false => missing.extend(lacking),
        }
    }
    println!(
        "{} opcodes, {} mnemonics, {} lines, {} executions compared",
        Opcode::ALL.len() - 1,
        found.mnemonics,
        found.lines,
        found.executed
    );
    let known: BTreeSet<String> = NOT_SIMULATED.iter().map(|it| it.0.to_owned()).collect();
    let examples: Vec<&String> = found.problems.values().collect();
    assert!(examples.is_empty(), "{}: {examples:#?}", examples.len());
    assert_eq!(missing, known, "not simulated");
}

/// Omissions and additions of the table are found.
#[test]
fn a_table_that_says_something_else_is_found() {
    let text = "x:\n\tadd r14 = r15, r16 ;;\n\t(p9) shladd r14 = r15, 2, r16 ;;\n\t(p9) ld8.c.clr r14 = [r15], r16 ;;\n\
        \tst4 [r15] = r16, -8 ;;\n\tst8.spill [r15] = r16 ;;\n\tcmp.eq.or.andcm p6, p7 = r15, r16 ;;\n\
        \tldfpd f6, f7 = [r15], 16 ;;\n\tcmpxchg4.acq r14 = [r15], r16, ar.ccv ;;\n\tfrcpa.s1 f6, p7 = f8, f9 ;;\n\
        \t(p9) br.call.sptk b1 = b7 ;;\n\tbr.cloop.sptk x ;;\n\tmov b1 = r15 ;;\n\tchk.s.m r15, x ;;\n\
        \txma.l f6 = f7, f8, f9 ;;\n\tmov r14 = ar.unat ;;\n";
    let (program, lines) = read(text);
    let mut random = StdRng::seed_from_u64(10);
    let mut is_found = |line: &Line<'_>, table: Inst| {
        let mut found = Found::default();
        let line = Line {
            table,
            ..line.clone()
        };
        compared(&program, &line, &mut found, &mut random);
        !found.problems.is_empty()
    };
    let mut count = 0;
    for line in &lines {
        assert!(!is_found(line, line.table.clone()), "{}", line.text);
        let mut others: Vec<Inst> = Vec::new();
        let mut with = |change: &dyn Fn(&mut Inst)| {
            let mut other = line.table.clone();
            change(&mut other);
            if other != line.table {
                others.push(other);
            }
        };
        for (at, &register) in line.table.uses.iter().enumerate() {
            if is_kept(register, line) {
                with(&|it| {
                    it.uses.remove(at);
                });
            }
        }
        for (at, def) in line.table.defs.iter().enumerate() {
            if is_kept(def.register, line) {
                with(&|it| {
                    it.defs.remove(at);
                });
            }
        }
        with(&|it| it.uses.push(Reg::general(99)));
        with(&|it| it.def_of(Reg::float(99), Parallel::Alone, false));
        with(&|it| it.unit = Some(Type::B));
        with(&|it| it.unit = Some(Type::A));
        with(&|it| it.branch = None);
        with(&|it| it.branch = Some(Branch::Return));
        with(&|it| it.memory = None);
        let memory = line.table.memory;
        with(&|it| it.memory = memory.map(|it| Memory { bytes: 2, ..it }));
        with(&|it| {
            it.memory = memory.map(|it| Memory {
                step: Some(4),
                ..it
            })
        });
        with(&|it| {
            it.memory = memory.map(|it| Memory {
                confirms: !it.confirms,
                ..it
            })
        });
        for other in others {
            count += 1;
            assert!(is_found(line, other.clone()), "{}: {other:?}", line.text);
        }
    }
    assert!(count > 100, "{count}");
}

/// The lines of a text as both read them.
fn read(text: &str) -> (Program, Vec<Line<'_>>) {
    let document = syntax::ia64::parse(text);
    assert_eq!(document.problems, [], "{text}");
    let (program, _) = Program::new(&document, text);
    let names = Names::default();
    let line = |inst: &Placed| {
        let statement = &document.statements[inst.statement? as usize];
        let StatementKind::Instruction(instruction) = &statement.kind else {
            return None;
        };
        let span = statement.span;
        let (table, opaque) = decode(instruction, &names);
        assert_eq!(
            inst.qp,
            table.predicate * u8::from(opaque.is_none()),
            "{text}"
        );
        Some(Line {
            text: &text[span.start as usize..span.end as usize],
            mnemonic: Mnemonic::parse(&instruction.mnemonic).expect("of the table"),
            table,
            opaque: opaque.map(|opaque| opaque.to_string()),
            op: inst.op,
            slot: inst.native,
            draw: Draw::Apart,
        })
    };
    let lines = program.insts.iter().filter_map(line).collect();
    (program, lines)
}

fn compared(program: &Program, line: &Line<'_>, found: &mut Found, random: &mut StdRng) {
    match &line.opaque {
        Some(reason) => found.problem(line, reason),
        None => {
            described(line, found);
            executed(program, line, found, random);
        }
    }
}

/// Lines that the assembler does not take.
fn refused(text: &str, found: &mut Found) {
    let said = assembled(text);
    // `hint.b` and the like exist, and it advises against them.
    let errors = said.lines().filter(|line| line.contains("Error"));
    for error in errors.filter(|error| !error.contains("shouldn't be used")) {
        let number = error
            .split(':')
            .nth(1)
            .and_then(|it| it.trim().parse().ok());
        let line = number.and_then(|number: usize| text.lines().nth(number - 1));
        let line = line.unwrap_or("");
        found
            .problems
            .insert(line.to_owned(), format!("{line}: {error}"));
    }
}

/// Compares what both say of an instruction without executing it: slots, the access, the kind of branch.
fn described(line: &Line<'_>, found: &mut Found) {
    let table = &line.table;
    let slot = match table.unit {
        None => Slot::Any,
        Some(Type::A) => Slot::A,
        Some(Type::I) => Slot::I,
        Some(Type::M) => Slot::M,
        Some(Type::F) => Slot::F,
        Some(Type::B) => Slot::B,
        Some(Type::L) => Slot::Long,
    };
    if slot != line.slot {
        found.problem(line, format!("slot {slot:?} or {:?}", line.slot));
    }
    let branch = match line.op {
        Op::CheckNat { .. } | Op::CheckAdvanced { .. } => Some(Branch::Check),
        Op::Branch { kind, .. } => Some(match kind {
            Kind::Cond => Branch::Jump,
            Kind::Call => Branch::Call,
            Kind::Return => Branch::Return,
            Kind::Cloop => Branch::Counted,
            Kind::Ctop | Kind::Cexit => Branch::CountedRotating,
            Kind::Wtop | Kind::Wexit => Branch::WhileRotating,
        }),
        _ => None,
    };
    if branch != table.branch {
        found.problem(line, format!("branch {:?} or {branch:?}", table.branch));
    }
    let (access, base, bytes, step, checks) = match line.op {
        Op::Load {
            base,
            bytes,
            step,
            form,
            ..
        } => (Access::Load, base, bytes, step, form.check),
        Op::LoadPair { base, .. } => (Access::Load, base, 16, None, false),
        Op::LoadFloat {
            base,
            format,
            second,
            step,
            form,
            ..
        } => {
            let count = if second.is_some() { 2 } else { 1 };
            let bytes = count * format.bytes() as u32;
            (Access::Load, base, bytes, step, form.check)
        }
        Op::Store {
            base, bytes, step, ..
        } => (Access::Store, base, bytes, step, false),
        Op::StorePair { base, .. } => (Access::Store, base, 16, None, false),
        Op::StoreFloat {
            base, format, step, ..
        } => (Access::Store, base, format.bytes() as u32, step, false),
        Op::Atomic { base, bytes, .. } => (Access::Both, base, bytes, None, false),
        Op::Prefetch { base, step } => (Access::Prefetch, base, 0, step, false),
        _ => {
            if table.memory.is_some() {
                found.problem(line, "an access of the table alone");
            }
            return;
        }
    };
    // Ten bytes of the sixteen that the table speaks of.
    let bytes = if bytes == 10 { 16 } else { bytes };
    let by = match step {
        Some(Src::Imm(by)) => Some(by),
        _ => None,
    };
    let simulated = Some((access, Reg::general(base), bytes, by, checks));
    let told = table.memory;
    let told = told.map(|it| (it.access, it.base, it.bytes, it.step, it.confirms));
    if simulated != told {
        found.problem(line, format!("access {told:?} or {simulated:?}"));
    }
    let stepped = table
        .defs
        .iter()
        .any(|def| def.register == Reg::general(base));
    if stepped != step.is_some() {
        found.problem(line, "a base that only one of the two steps");
    }
    if let Op::Atomic {
        op: Atomic::Add(by),
        ..
    } = line.op
        && by != -4
    {
        found.problem(line, "what is added");
    }
}

/// The effects that matter beside the registers that operands name.
#[derive(Default)]
struct Seen {
    changed: FxHashSet<Reg>,
    recorded: FxHashSet<Reg>,
    read: FxHashSet<Reg>,
    frame: bool,
    stored: FxHashSet<u64>,
    loaded: FxHashSet<u64>,
    taken: bool,
    passed: usize,
}

fn executed(program: &Program, line: &Line<'_>, found: &mut Found, random: &mut StdRng) {
    let table = &line.table;
    let all = registers();
    let unread: Vec<Reg> = all
        .iter()
        .copied()
        .filter(|it| !table.uses.contains(it))
        .collect();
    let target = table.defs.first().map(|def| def.register);
    let target = target.filter(|it| matches!(it.file, File::General | File::Float));
    let checked = match line.op {
        Op::CheckAdvanced { register, .. } => Some(register).filter(|it| !it.is_constant()),
        _ => None,
    };
    let mut seen = Seen::default();
    let states = if line.is_hinted() { HINTED } else { STATES };
    for state in 0..MOST {
        if state >= states && unseen(line, &seen).is_empty() {
            break;
        }
        let mut before = State::random(random);
        if let Some(memory) = table.memory {
            before.point(memory.base, target, memory.bytes, random);
        }
        if let (Some(checked), true) = (checked, random.random()) {
            before.advanced.push((checked, BASE, 8));
        }
        if let (Op::CheckNat { register, .. }, true) = (line.op, random.random())
            && !register.is_constant()
        {
            before.fail(register);
        }
        if let (Op::Branch { .. }, Some(def)) = (line.op, table.defs.first())
            && def.register == Reg::EC
            && random.random()
        {
            before.applications[usize::from(Reg::EC.number)] = 1;
        }
        let run = execute(program, &line.op, table.predicate, &before);
        found.executed += 1;
        written(line, &before, &run, &mut seen, found);
        // Everything else holds something else.
        let mut other = before.clone();
        unread.iter().for_each(|&it| other.change(it, random));
        let range = range(line, &before);
        for (at, byte) in other.memory.iter_mut().enumerate() {
            let read = table.memory.is_some_and(|it| it.access != Access::Store);
            if !(read && range.contains(&(BASE + at as u64))) {
                *byte = random.random();
            }
        }
        let again = execute(program, &line.op, table.predicate, &other);
        if !agree(&all, (&before, &run), (&other, &again)) {
            for &register in &unread {
                let mut alone = before.clone();
                alone.copy(register, &other);
                let again = execute(program, &line.op, table.predicate, &alone);
                if !agree(&all, (&before, &run), (&alone, &again)) {
                    found.problem(line, format!("{} is read", shape(register)));
                }
            }
            let mut alone = before.clone();
            alone.memory.clone_from(&other.memory);
            let again = execute(program, &line.op, table.predicate, &alone);
            if !agree(&all, (&before, &run), (&alone, &again)) {
                found.problem(line, "memory is read");
            }
        }
        // What is listed matters one by one.
        for &register in &table.uses {
            if seen.read.contains(&register) || !all.contains(&register) {
                continue;
            }
            let mut alone = before.clone();
            alone.change(register, random);
            let again = execute(program, &line.op, table.predicate, &alone);
            if !agree(&all, (&before, &run), (&alone, &again)) {
                seen.read.insert(register);
            }
        }
        for address in range {
            let at = (address - BASE) as usize;
            if at >= before.memory.len() || seen.loaded.contains(&(address % 16)) {
                continue;
            }
            let mut alone = before.clone();
            alone.memory[at] ^= 0xff;
            let again = execute(program, &line.op, table.predicate, &alone);
            if !agree(&all, (&before, &run), (&alone, &again)) {
                seen.loaded.insert(address % 16);
            }
        }
        // The same registers under names that are turned otherwise, in a frame of other parts.
        let mut turned = before.clone();
        turned.frame = State::random(random).frame;
        let again = execute(program, &line.op, table.predicate, &turned);
        let by_place = matches!(table.class, Class::FromPredicates | Class::ToPredicates);
        if !by_place && !agree(&all, (&before, &run), (&turned, &again)) {
            seen.frame = true;
            if !table.uses.contains(&Reg::CFM) {
                found.problem(line, "cfm is read");
            }
        }
    }
    for what in unseen(line, &seen) {
        found.problem(line, what);
    }
}

/// The name of a register as a problem has it: of an operand's file alone.
fn shape(register: Reg) -> String {
    match register.file {
        File::General | File::Float | File::Predicate | File::Branch => {
            format!("a register of {:?}", register.file)
        }
        _ => register.to_string(),
    }
}

/// The addresses of the access of this state.
fn range(line: &Line<'_>, before: &State) -> std::ops::Range<u64> {
    let Some(memory) = line.table.memory else {
        return BASE..BASE;
    };
    let base = before.generals[usize::from(memory.base.number)].value;
    match (BASE..BASE + 128).contains(&base) {
        true => base..base + u64::from(memory.bytes),
        false => BASE..BASE,
    }
}

/// Returns true if two executions had the same effect: only registers that neither of them wrote differ
/// afterwards.
fn agree(all: &[Reg], left: (&State, &Executed), right: (&State, &Executed)) -> bool {
    let ((first, found), (second, other)) = (left, right);
    if found.next != other.next {
        return false;
    }
    if found.next.is_err() {
        return true;
    }
    let kept = |register: &Reg| {
        let of = |state: &State| state.content(*register);
        let (before, after) = (
            (of(first), of(second)),
            (of(&found.after), of(&other.after)),
        );
        // One bit of it is written by a spill.
        if *register == Reg::UNAT {
            let written = (before.0 ^ after.0) | (before.1 ^ after.1);
            return (after.0 ^ after.1) & written == 0;
        }
        after.0 == after.1 || before == after
    };
    let bytes = found
        .after
        .memory
        .iter()
        .zip(&other.after.memory)
        .enumerate();
    let mut bytes = bytes.filter(|(_, (left, right))| left != right);
    let frames = found.after.frame == other.after.frame
        || (first.frame == found.after.frame && second.frame == other.after.frame);
    all.iter().all(kept)
        && frames
        && found.after.bottom == other.after.bottom
        && found.after.advanced == other.after.advanced
        && bytes.all(|(at, (a, b))| *a == first.memory[at] && *b == second.memory[at])
}

/// Checks that only registers listed by the table change.
fn written(line: &Line<'_>, before: &State, run: &Executed, seen: &mut Seen, found: &mut Found) {
    let table = &line.table;
    for read in &run.reads {
        seen.recorded.insert(read.name);
        if !table.uses.contains(&read.name) {
            found.problem(line, format!("{} is noted as read", shape(read.name)));
        }
    }
    let Ok(next) = run.next else { return };
    seen.passed += 1;
    let after = &run.after;
    let holds = before.predicates[usize::from(table.predicate)];
    if next != Next::Fall {
        seen.taken = true;
        if table.branch.is_none() {
            found.problem(line, "control goes elsewhere");
        }
    }
    for write in &run.writes {
        let def = table.defs.iter().find(|def| def.register == write.name);
        let Some(def) = def.filter(|def| def.always || holds) else {
            found.problem(line, format!("{} is noted as written", shape(write.name)));
            continue;
        };
        let parallel = match write.way {
            Way::Plain | Way::Integer => Parallel::Alone,
            Way::And => Parallel::And,
            Way::Or => Parallel::Or,
            Way::OrOfBoth => Parallel::DeMorganOr,
            Way::AndOfBoth => Parallel::DeMorganAnd,
        };
        if write.name.file == File::Predicate && parallel != def.parallel {
            found.problem(line, format!("{parallel:?} or {:?}", def.parallel));
        }
    }
    for register in registers() {
        if before.content(register) == after.content(register) {
            continue;
        }
        seen.changed.insert(register);
        let mut defs = table.defs.iter().filter(|def| def.register == register);
        if !defs.any(|def| def.always || holds) {
            found.problem(line, format!("{} is written", shape(register)));
        }
    }
    if (before.frame, before.bottom) != (after.frame, after.bottom) {
        seen.changed.insert(Reg::CFM);
        let mut defs = table.defs.iter().filter(|def| def.register == Reg::CFM);
        if !defs.any(|def| def.always || holds) {
            found.problem(line, "cfm is written");
        }
    }
    if before.advanced != after.advanced {
        let told = table.memory.is_some() || table.class == Class::CheckAdvanced || table.barrier;
        if !(told && holds) {
            found.problem(line, "the table of advanced loads is written");
        }
    }
    let range = range(line, before);
    for (at, _) in
        (before.memory.iter().zip(&after.memory).enumerate()).filter(|(_, (a, b))| a != b)
    {
        let address = BASE + at as u64;
        let writes = table.memory.is_some_and(|it| it.access.writes());
        if !(writes && holds && range.contains(&address)) {
            found.problem(line, "memory is written");
        }
        seen.stored.insert(address % 16);
    }
    if let (Some(memory), true) = (table.memory, holds) {
        let of = |state: &State| state.generals[usize::from(memory.base.number)].value;
        let stepped = table.defs.iter().any(|def| def.register == memory.base);
        let by = of(after).wrapping_sub(of(before));
        let told = match (memory.step, stepped) {
            (Some(by), _) => by as u64,
            (None, false) => 0,
            (None, true) => {
                let others = table
                    .uses
                    .iter()
                    .filter(|&&it| it.file == File::General && it != memory.base);
                others
                    .map(|other| before.generals[usize::from(other.number)].value)
                    .fold(0, u64::wrapping_add)
            }
        };
        if by != told {
            found.problem(line, "the base moves by something else");
        }
    }
}

/// Returns true if the simulator keeps a register as the table has it.
fn is_kept(register: Reg, line: &Line<'_>) -> bool {
    let class = line.table.class;
    let named = |name: &str| {
        let mut words = line.text.split_whitespace();
        matches!(class, Class::FromApplication | Class::ToApplication)
            && words.any(|word| word == name)
    };
    match register {
        // What the register stack engine does with the old frame.
        Reg::CFM => line.table.branch != Some(Branch::Return),
        Reg::RSC | Reg::BSP | Reg::BSPSTORE | Reg::RNAT => named(&register.to_string()),
        // The clock is the number of instructions.
        _ if register == Reg::application(44) => class != Class::FromApplication,
        _ if register.is_status() => named("ar.fpsr"),
        _ if register.file == File::Special => false,
        // It stands for the predicates that rotate.
        _ if line.table.branch.is_some_and(Branch::rotates) => register != Reg::predicate(63),
        // The register names an entry of the table of advanced loads.
        _ => {
            !matches!(line.op, Op::CheckAdvanced { .. } | Op::Forget { .. })
                || register.file == File::Predicate
        }
    }
}

/// Returns the registers that the table lists and no state has shown.
fn unseen(line: &Line<'_>, seen: &Seen) -> Vec<String> {
    let table = &line.table;
    let mut out = Vec::new();
    if matches!(line.op, Op::Break(_)) {
        return out;
    }
    if seen.passed < 2 {
        out.push(format!("executed {} times", seen.passed));
    }
    let idle = matches!(line.op, Op::Nop | Op::Fence | Op::FloatStatus);
    // Without a predicate they see one that holds.
    let always = table.branch == Some(Branch::WhileRotating) && table.predicate == 0;
    if idle || always || line.draw == Draw::Mixed || line.is_hinted() {
        return out;
    }
    for def in &table.defs {
        let rotates = def.register == Reg::predicate(63) && table.branch.is_some();
        if (is_kept(def.register, line) || rotates) && !seen.changed.contains(&def.register) {
            out.push(format!("{} never changes", shape(def.register)));
        }
    }
    for &register in &table.uses {
        let read = seen.read.contains(&register)
            || seen.recorded.contains(&register)
            || (register == Reg::CFM && seen.frame);
        if is_kept(register, line) && !read {
            out.push(format!("{} is never read", shape(register)));
        }
    }
    if table.branch.is_some() != seen.taken {
        out.push("never taken".to_owned());
    }
    if let Some(memory) = table.memory {
        // Of sixteen bytes the extended format has ten, and a register's own not all bits of eleven.
        let bytes = match line.mnemonic.opcode() {
            Opcode::Ldfe | Opcode::Stfe => 10,
            Opcode::Ldf => 11,
            _ => memory.bytes as usize,
        };
        let loads = matches!(memory.access, Access::Load | Access::Both);
        if loads && seen.loaded.len() != bytes {
            out.push(format!("{} of {bytes} bytes are read", seen.loaded.len()));
        }
        if memory.access.writes() && seen.stored.len() != bytes {
            out.push(format!(
                "{} of {bytes} bytes are written",
                seen.stored.len()
            ));
        }
    }
    out
}
