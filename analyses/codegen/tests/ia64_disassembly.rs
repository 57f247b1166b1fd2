//! The emitted text stands in the object: GNU `objdump` lists the same bundles, the same instruction in each
//! slot, the same nops. Judged where GNU `as` and `objdump` are found (`LOCKSTEP_IA64_AS`).
#![allow(clippy::disallowed_methods)]

#[path = "support/assembler.rs"]
mod assembler;
#[path = "support/disassembler.rs"]
mod disassembler;
#[path = "support/judge.rs"]
#[allow(dead_code)]
mod judge;
#[path = "support/loops.rs"]
#[allow(dead_code)]
mod loops;

use assembler::assembler;
use disassembler::{Listed, disassembled};
use ir::Module;
use isa::ia64::Class;
use isa::ia64::Inst;
use lockstep_codegen::machine;
use lockstep_codegen::target::ia64::bundle::block::Type;
use lockstep_codegen::target::ia64::emit::{Options, emit};
use lockstep_codegen::target::ia64::listing::listing;
use lockstep_codegen::target::ia64::pipeline;
use lockstep_codegen::target::ia64::rebundle::{self, Outcome, rebundle_untimed};
use std::collections::BTreeMap;
use std::path::Path;
use syntax::ia64::StatementKind;

/// A slot as the text has it.
struct Written {
    template: String,
    slot: usize,
    inst: Inst,
    stop: bool,
    text: String,
    /// The slot's bundle.
    bundle: u32,
}

/// Bundles of a text that is all in braces, and the bundle that each label stands at.
fn written(text: &str) -> (Vec<Written>, BTreeMap<String, u32>) {
    let document = syntax::ia64::parse(text);
    assert_eq!(document.problems, [], "{text}");
    let listed = listing(&document, text);
    let mut items = listed.items.iter();
    let mut out: Vec<Written> = Vec::new();
    let mut labels = BTreeMap::new();
    let (mut template, mut slot, mut bundle) = (String::new(), 0, 0u32);
    let mut data = false;
    for statement in &document.statements {
        match &statement.kind {
            StatementKind::Open => slot = 0,
            StatementKind::Template(name) => {
                template = name.trim_start_matches('.').to_uppercase();
            }
            StatementKind::Close => bundle += 1,
            StatementKind::Stop => {
                if let Some(last) = out.last_mut() {
                    last.stop = true;
                }
            }
            StatementKind::Label(name) if !data => {
                labels.insert(name.to_string(), bundle);
            }
            StatementKind::Directive(directive) => match directive.name.as_str() {
                ".text" => data = false,
                ".section" | ".data" | ".bss" => data = true,
                // The rest of a pair of bundles is filled up in front of a function.
                ".align" if !data => bundle = bundle.next_multiple_of(2),
                _ => {}
            },
            StatementKind::Instruction(_) => {
                let item = items.next().expect("an item");
                assert!(item.bundle.is_some(), "no bundle\n{text}");
                let range = statement.span.start as usize..statement.span.end as usize;
                out.push(Written {
                    template: template.clone(),
                    slot,
                    inst: item.inst.clone(),
                    stop: false,
                    text: text[range].to_owned(),
                    bundle,
                });
                slot += if item.inst.unit == Some(Type::L) {
                    2
                } else {
                    1
                };
            }
            _ => {}
        }
    }
    (out, labels)
}

/// Reads the disassembler's output by our own reader.
fn reread(it: &Listed) -> Inst {
    let text = it.text.replace("(p0", "(p");
    let document = syntax::ia64::parse(&text);
    let listed = listing(&document, &text);
    let item = listed.items.first();
    let item = item.unwrap_or_else(|| panic!("not read: {}", it.text));
    assert_eq!(item.opaque, None, "{}", it.text);
    item.inst.clone()
}

/// Numbers of an instruction's operands, where both have the same mnemonic: aliases count otherwise.
fn numbers(text: &str) -> Option<(String, Vec<i64>)> {
    let text = text.trim_start();
    let text = match text.strip_prefix('(') {
        Some(rest) => rest.split_once(')')?.1.trim_start(),
        None => text,
    };
    let (mnemonic, operands) = text.split_once([' ', '\t'])?;
    // What is computed, and a mask of predicates, of which the lowest bit counts for nothing.
    if operands.contains("<<") || operands.starts_with("pr") {
        return None;
    }
    let number = |word: &str| -> Option<i64> {
        let (negative, digits) = match word.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, word),
        };
        let value = match digits.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok()? as i64,
            None => digits.parse().ok()?,
        };
        Some(if negative {
            value.wrapping_neg()
        } else {
            value
        })
    };
    let words = operands.split([',', '=', ' ', '[', ']']);
    let all = words.filter(|word| !word.is_empty()).filter_map(number);
    Some((mnemonic.to_owned(), all.collect()))
}

/// The same registers read and written, in the same way.
fn same(left: &Inst, right: &Inst) -> bool {
    // Nops of `as` stand for any unit, and the same opcode has several names.
    let plain = |inst: &Inst| {
        let mut inst = inst.clone();
        inst.offset = None;
        inst.branch = None;
        inst.defs.sort_by_key(|def| def.register);
        inst.defs.dedup();
        inst.uses.sort_unstable();
        inst.uses.dedup();
        inst
    };
    let (mut found, mut other) = (plain(left), plain(right));
    if found.unit == Some(Type::A) || other.unit == Some(Type::A) {
        found.unit = None;
        other.unit = None;
    }
    // `fcvt.xuf` is a name of a multiply-add.
    if found.class == Class::FloatConvert && other.class == Class::FloatArithmetic {
        found.class = other.class;
    }
    found == other
}

fn judge(name: &str, text: &str, assembler: &Path) -> (usize, usize) {
    let (said, listed) = disassembled(assembler, text);
    assert_eq!(said, "", "{name}");
    let (own, labels) = written(text);
    // Padding in front of an aligned function is nothing of ours.
    let filler = |listed: &Listed| listed.is_nop() || listed.text.starts_with("break");
    let mut wanted = own.iter().peekable();
    let (mut compared, mut nops, mut at) = (0, 0, 0);
    while at < listed.len() {
        let bundle = listed[at..].iter().skip(1).take_while(|it| it.slot > 0);
        let slots = &listed[at..at + 1 + bundle.count()];
        let place = slots[0].address / 16;
        at += slots.len();
        if wanted.peek().is_none_or(|it| u64::from(it.bundle) > place) {
            assert!(slots.iter().all(filler), "{name}: {slots:?} is not ours");
            continue;
        }
        for found in slots {
            let it = wanted.next().expect("an instruction");
            let told = || format!("{name}: `{}` became {found:?}", it.text);
            assert_eq!(u64::from(it.bundle), place, "{}", told());
            assert_eq!(it.slot, found.slot, "{}", told());
            assert_eq!(it.stop, found.stop, "{}", told());
            if !it.template.is_empty() {
                assert_eq!(it.template, found.template, "{}", told());
            }
            let inst = reread(found);
            assert_eq!(it.inst.class == Class::Nop, found.is_nop(), "{}", told());
            assert!(same(&it.inst, &inst), "{}\n{:?}\n{inst:?}", told(), it.inst);
            nops += usize::from(found.is_nop());
            compared += 1;
            let (ours, theirs) = (numbers(&it.text), numbers(&found.text));
            if let (Some(ours), Some(theirs)) = (ours, theirs)
                && ours.0 == theirs.0
                && it.inst.branch.is_none()
                // Sizes of the frame are summed up.
                && it.inst.class != Class::Alloc
            {
                assert_eq!(ours.1, theirs.1, "{}", told());
            }
            // Where it goes: the bundle of its label.
            let label = it.text.rsplit([' ', '\t']).next().unwrap_or("");
            if let (Some(&to), Some(_)) = (labels.get(label), &it.inst.branch) {
                let there = found.text.rsplit([' ', ',']).next().unwrap_or("");
                let there = there.trim_start_matches("0x");
                let there = u64::from_str_radix(there, 16).ok();
                assert_eq!(there, Some(16 * u64::from(to)), "{}", told());
            }
        }
    }
    assert!(wanted.peek().is_none(), "{name}: instructions are missing");
    (compared, nops)
}

fn emitted(module: &Module, machine: &str, pipelined: bool) -> Option<String> {
    let table = machine::named(machine).expect("a table");
    let options = Options {
        decisions: 60,
        pipeline: pipelined.then(pipeline::Options::default),
        ..Options::default()
    };
    let emitted = emit(module, table.epic().expect("explicit groups"), &options);
    emitted.ok().map(|emitted| emitted.text)
}

#[test]
fn emitted_code_is_disassembled_as_it_was_written() {
    let Some(assembler) = assembler() else {
        return;
    };
    let (mut texts, mut compared, mut nops) = (0, 0, 0);
    let mut add = |name: &str, text: &str| {
        let (found, two) = judge(name, text, &assembler);
        (texts, compared, nops) = (texts + 1, compared + found, nops + two);
    };
    for (number, each) in loops::loops().iter().enumerate() {
        for pipelined in [false, true] {
            let machine = ["itanium", "itanium2"][(number + usize::from(pipelined)) % 2];
            let text = emitted(&each.module, machine, pipelined).expect("code");
            add(&format!("{} {pipelined}", each.name), &text);
        }
    }
    for seed in 0..100 {
        let kernel = oracle::random::c::kernel(seed);
        let module = judge::module_of(&kernel.text, &kernel.name);
        let machine = ["itanium", "itanium2"][seed as usize % 2];
        if let Some(text) = emitted(&module, machine, seed % 3 > 0) {
            add(&format!("kernel {seed}"), &text);
        }
    }
    println!("{texts} texts, {compared} slots, {nops} of them nops");
}

#[test]
fn rebundled_fixtures_are_disassembled_as_they_were_written() {
    let Some(assembler) = assembler() else {
        return;
    };
    for path in fixtures::files("ia64", &["s"]) {
        let text = std::fs::read_to_string(&path).expect("text");
        let document = syntax::ia64::parse(&text);
        let listed = listing(&document, &text);
        for machine in ["itanium", "itanium2"] {
            let table = machine::named(machine).expect("a table");
            let epic = table.epic().expect("explicit groups");
            let options = rebundle::Options {
                all: true,
                ..rebundle::Options::default()
            };
            let mut changed = text.clone();
            for block in rebundle_untimed(&document, &text, &listed, epic, &options)
                .iter()
                .rev()
            {
                if let Outcome::Rewritten { text, .. } = &block.outcome {
                    let range = block.span.start as usize..block.span.end as usize;
                    changed.replace_range(range, text);
                }
            }
            judge(&path.display().to_string(), &changed, &assembler);
        }
    }
}
