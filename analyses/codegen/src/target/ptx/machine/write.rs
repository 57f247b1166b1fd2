//! A body written with other registers: names change in place, all else of the text stays.

use super::Body;
use super::listing::{accepts, declarations};
use crate::allocate::{Allocation, allocate};
use crate::refusal::Refusal;
use isa::ptx::{Ptx, Register};
use std::collections::BTreeMap;
use syntax::ptx::{PtxFunction, StatementKind, StorageSpace};

use super::Limits;

/// The text of a function with as few names of registers as its values need at once: values that are never live together
/// share one. `text` is the item's.
///
/// # Errors
/// Where registers are parameters or results, and where there are more values at once than registers have numbers.
pub fn renamed(tree: &PtxFunction, body: &Body, text: &str) -> Result<String, Refusal> {
    accepts(tree)?;
    let mut function = body.function.clone();
    let allocation = allocate(&mut function, &(), &Limits::default())?;
    if allocation.in_memory > 0 {
        return Err(Refusal::Registers {
            file: "words".into(),
            available: u32::from(Limits::default().words),
        });
    }
    Ok(print(tree, body, &allocation, text))
}

fn print(tree: &PtxFunction, body: &Body, allocation: &Allocation<Ptx>, text: &str) -> String {
    let mut edits: BTreeMap<u32, (u32, String)> = BTreeMap::new();
    let mut used = Vec::new();
    let mut name = |register: Register| {
        used.push(register);
        register.to_string()
    };
    for (statement, places) in tree.statements().iter().zip(&body.places) {
        let own = match &statement.kind {
            StatementKind::Declaration(found) => found.space == StorageSpace::Register,
            _ => false,
        };
        if own {
            let (from, to) = (statement.span.start, statement.span.end);
            edits.insert(from, (to, String::new()));
        }
        for &(at, register) in places {
            let length = body.names[register.0 as usize].len() as u32;
            let now = name(allocation.register(register));
            edits.insert(at, (at + length, now));
        }
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0usize;
    let first = tree
        .statements()
        .first()
        .map(|statement| statement.span.start);
    let place = |offset: u32| offset as usize;
    if let Some(first) = first {
        out.push_str(&text[..place(first)]);
        out.push_str(&declarations(&used));
        at = place(first);
    }
    for (from, (to, now)) in edits {
        out.push_str(&text[at..place(from)]);
        out.push_str(&now);
        at = place(to);
    }
    out.push_str(&text[at..]);
    out
}
