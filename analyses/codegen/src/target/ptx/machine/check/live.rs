//! Words that are live at once in the output, and registers that share words while both are needed.
//!
//! ```text
//! @%p1 add.s32 %r2, %r2, 1      %r2 is needed in front of it under every condition under which it is read behind it
//! @!%p1 mov.u32 %r2, 0          %r2 is not needed in front of both
//! ```
//!
//! Backward over blocks: a register is dead, needed where a predicate has a value, or needed. It only rises.

use super::Violation;
use super::contents::Condition;
use super::text::{Line, Register, Text};
use isa::ptx::Class;
use std::collections::BTreeMap;

/// Registers that are needed, and under which condition alone.
type Needed = BTreeMap<Register, Option<Condition>>;

fn need(needed: &mut Needed, register: Register, at: Option<Condition>) {
    let known = needed.entry(register).or_insert(at);
    if *known != at {
        *known = None;
    }
}

fn before(text: &Text<'_>, at: u32, needed: &mut Needed) {
    let line: &Line<'_> = &text.lines[at as usize];
    for register in line.writes() {
        match line.guard {
            None => {
                needed.remove(&register);
            }
            Some((predicate, value)) => match needed.get(&register) {
                Some(Some(under)) if *under == (predicate, value) => {
                    needed.remove(&register);
                }
                Some(None) => {
                    needed.insert(register, Some((predicate, !value)));
                }
                _ => {}
            },
        }
        for under in needed.values_mut() {
            if under.is_some_and(|under| under.0 == register) {
                *under = None;
            }
        }
    }
    if line.is_opcode("ret") {
        for &register in &text.returns {
            need(needed, register, None);
        }
    }
    for register in line.reads() {
        let guard = line.guard.filter(|guard| guard.0 != register);
        need(needed, register, guard);
    }
    if let Some((predicate, _)) = line.guard {
        need(needed, predicate, None);
    }
}

fn words(text: &Text<'_>, register: Register) -> u32 {
    text.classes[register as usize].map_or(4, Class::words)
}

/// The number behind a register's name, and how many of its kind the register takes from there.
fn storage(text: &Text<'_>, register: Register) -> Option<(bool, u32, u32)> {
    let name = text.names[register as usize].strip_prefix('%')?;
    let number = name.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let first = number.parse().ok()?;
    let is_predicate = text.classes[register as usize] == Some(Class::Predicate);
    let count = if is_predicate {
        1
    } else {
        words(text, register)
    };
    Some((is_predicate, first, count))
}

/// The registers that are needed at the starts and the ends of a body's blocks.
pub(super) struct Lives {
    pub(super) blocks: Vec<(u32, u32)>,
    enter: Vec<Needed>,
    block_of: Vec<usize>,
}

impl Lives {
    pub(super) fn new(text: &Text<'_>) -> Lives {
        let blocks = text.blocks();
        let mut block_of = vec![0; text.lines.len()];
        for (number, &(from, to)) in blocks.iter().enumerate() {
            block_of[from as usize..to as usize].fill(number);
        }
        let enter = vec![Needed::new(); blocks.len()];
        let mut lives = Lives {
            blocks,
            enter,
            block_of,
        };
        loop {
            let mut changed = false;
            for number in (0..lives.blocks.len()).rev() {
                let mut needed = lives.leave(text, number);
                let (from, to) = lives.blocks[number];
                for at in (from..to).rev() {
                    before(text, at, &mut needed);
                }
                changed |= lives.enter[number] != needed;
                lives.enter[number] = needed;
            }
            if !changed {
                return lives;
            }
        }
    }
    fn leave(&self, text: &Text<'_>, number: usize) -> Needed {
        let mut needed = Needed::new();
        let last = self.blocks[number].1 - 1;
        for &next in &text.successors[last as usize] {
            for (&register, &under) in &self.enter[self.block_of[next as usize]] {
                need(&mut needed, register, under);
            }
        }
        needed
    }
    /// The registers that are needed in front of a line, where a block begins with it.
    pub(super) fn before(&self, line: u32) -> Option<impl Fn(Register) -> bool> {
        let number = *self.block_of.get(line as usize)?;
        let begins = self.blocks[number].0 == line;
        let needed = &self.enter[number];
        begins.then_some(|register: Register| needed.contains_key(&register))
    }
}

/// Violations of the budget: more words or predicates live than there are, and registers of the same words.
pub(super) fn check(text: &Text<'_>, budget: (u32, u32), out: &mut Vec<Violation>) {
    let lives = Lives::new(text);
    for (number, &(from, to)) in lives.blocks.iter().enumerate() {
        let mut needed = lives.leave(text, number);
        for at in (from..to).rev() {
            let line = &text.lines[at as usize];
            let mut behind = needed.clone();
            for register in line.writes() {
                need(&mut behind, register, None);
            }
            point(text, line.statement, &behind, budget, out);
            written(text, line, &needed, out);
            before(text, at, &mut needed);
            point(text, line.statement, &needed, budget, out);
        }
    }
}

fn point(
    text: &Text<'_>,
    statement: u32,
    needed: &Needed,
    (most, most_predicates): (u32, u32),
    out: &mut Vec<Violation>,
) {
    let sum: u32 = needed.keys().map(|&register| words(text, register)).sum();
    let is_predicate =
        |register: &&Register| text.classes[**register as usize] == Some(Class::Predicate);
    let predicates = needed.keys().filter(is_predicate).count() as u32;
    if sum > most || predicates > most_predicates {
        out.push(Violation::Pressure {
            statement,
            words: sum,
            predicates,
        });
    }
    for &register in needed.keys() {
        if let Some((is_predicate, first, count)) = storage(text, register) {
            let limit = if is_predicate { most_predicates } else { most };
            if first + count > limit {
                out.push(Violation::NoSuchRegister {
                    statement,
                    name: text.names[register as usize].clone(),
                });
            }
        }
    }
}

fn written(text: &Text<'_>, line: &Line<'_>, behind: &Needed, out: &mut Vec<Violation>) {
    for register in line.writes() {
        let Some((kind, first, count)) = storage(text, register) else {
            continue;
        };
        for &other in behind.keys().filter(|other| **other != register) {
            let Some((other_kind, other_first, other_count)) = storage(text, other) else {
                continue;
            };
            if kind == other_kind
                && first < other_first + other_count
                && other_first < first + count
            {
                out.push(Violation::SharedWords {
                    statement: line.statement,
                    name: text.names[register as usize].clone(),
                    other: text.names[other as usize].clone(),
                });
            }
        }
    }
}
