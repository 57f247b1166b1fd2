//! The table of opcodes has the mnemonics that GNU `as` has, and no others: all that it has, and random ones
//! that it has not. The operands of instructions are judged elsewhere: here nothing has operands, and the
//! assembler says whether it is these or the mnemonic that it misses.

#![allow(clippy::disallowed_methods)]

#[path = "support/assembler.rs"]
#[allow(dead_code)]
mod assembler;

use assembler::{assembled, assembler};
use isa::ia64::{Completer, Mnemonic, Opcode};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rustc_hash::FxHashSet;
use std::path::Path;

/// Every mnemonic of an opcode.
fn all(opcode: Opcode) -> Vec<String> {
    let mut found = vec![opcode.name().to_owned()];
    for slot in opcode
        .row()
        .completers
        .split(' ')
        .filter(|slot| !slot.is_empty())
    {
        let alternatives = slot.trim_start_matches('?').split('|');
        let mut longer: Vec<String> = match slot.starts_with('?') {
            true => found.clone(),
            false => Vec::new(),
        };
        longer.extend(alternatives.flat_map(|alternative| {
            found
                .iter()
                .map(move |name| format!("{name}.{alternative}"))
        }));
        found = longer;
    }
    found
}

/// The lines of these mnemonics that the assembler does not know.
fn unknown(assembler: &Path, mnemonics: &[String]) -> FxHashSet<String> {
    let said = assembled(assembler, &(mnemonics.join("\n") + "\n"));
    let names = said.lines().filter_map(|line| {
        let (_, rest) = line.split_once("Unknown opcode `")?;
        rest.strip_suffix('\'').map(str::to_owned)
    });
    names.collect()
}

fn opcodes() -> impl Iterator<Item = Opcode> {
    let all = Opcode::ALL.iter().copied();
    all.filter(|&opcode| opcode != Opcode::Refused)
}

#[test]
fn the_assembler_knows_every_mnemonic_of_the_table() {
    let mnemonics: Vec<String> = opcodes().flat_map(all).collect();
    for text in &mnemonics {
        let parsed = Mnemonic::parse(text).map(|it| it.to_string());
        assert_eq!(parsed.as_ref(), Ok(text));
    }
    if let Some(assembler) = assembler() {
        let mut unknown: Vec<String> = unknown(&assembler, &mnemonics).into_iter().collect();
        unknown.sort();
        assert_eq!(unknown, [] as [&str; 0]);
    }
}

#[test]
fn what_the_table_does_not_have_the_assembler_has_not() {
    let Some(assembler) = assembler() else { return };
    let mut random = StdRng::seed_from_u64(16);
    let opcodes: Vec<Opcode> = opcodes().collect();
    let mut wrong: Vec<String> = Vec::new();
    // One completer too many, too few or another one than the opcode takes.
    for _ in 0..40_000 {
        let opcode = *opcodes.choose(&mut random).expect("an opcode");
        let known = all(opcode);
        let mut parts: Vec<&str> = known
            .choose(&mut random)
            .expect("a mnemonic")
            .split('.')
            .collect();
        let other = Completer::ALL.choose(&mut random).expect("one").name();
        let at = random.random_range(1..=parts.len());
        match random.random_range(0..3) {
            0 => parts.insert(at, other),
            1 if at < parts.len() => parts[at] = other,
            _ if at < parts.len() => drop(parts.remove(at)),
            _ => {}
        }
        let text = parts.join(".");
        if Mnemonic::parse(&text).is_err() {
            wrong.push(text);
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.len() > 1000, "{}", wrong.len());
    let unknown = unknown(&assembler, &wrong);
    let missing: Vec<&String> = wrong.iter().filter(|it| !unknown.contains(*it)).collect();
    assert!(missing.is_empty(), "{}: {missing:?}", missing.len());
}
