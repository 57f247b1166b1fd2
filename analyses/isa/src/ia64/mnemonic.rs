//! Mnemonics: opcodes with completers that go with them.
//!
//! ```text
//! Mnemonic::literal("cmp.lt.unc")        checked by the compiler where it stands in a `const`
//! Mnemonic::parse("cmp.lt.sptk")         an error: a compare takes no such completer
//! ```
//!
//! Both walk over the slots of the table once; no slot is gone back to.

use super::opcodes::{Row, is_equal};
use super::{Branch, Completer, Opcode};
use std::fmt;

/// Completers of a mnemonic, at most: `ld8.c.clr.acq.nt1`.
const MOST: usize = 5;

/// An opcode with its completers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mnemonic {
    opcode: Opcode,
    /// In order; those that there are stand first.
    completers: [Option<Completer>; MOST],
}

/// A text that is no mnemonic.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnknownMnemonic {
    #[error("`{0}` is not known")]
    Opcode(String),
    #[error("`{0}` is not known: `{1}` takes no such completers")]
    Completers(String, &'static str),
}

impl Mnemonic {
    /// An opcode with completers in their order.
    ///
    /// In debug builds it panics where the opcode does not take them.
    #[must_use]
    pub fn new(opcode: Opcode, completers: &[Completer]) -> Mnemonic {
        let mut made = Mnemonic {
            opcode,
            completers: [None; MOST],
        };
        for (to, &from) in made.completers.iter_mut().zip(completers) {
            *to = Some(from);
        }
        debug_assert!(
            Mnemonic::of_bytes(made.to_string().as_bytes()) == Some(made)
                && completers.len() <= MOST,
            "`{made}` is no mnemonic"
        );
        made
    }

    /// The same with a completer behind its own.
    #[must_use]
    pub fn followed_by(self, completer: Completer) -> Mnemonic {
        let all: Vec<Completer> = self.completers().chain([completer]).collect();
        Mnemonic::new(self.opcode, &all)
    }

    /// The same completers behind another opcode.
    #[must_use]
    pub fn with_opcode(self, opcode: Opcode) -> Mnemonic {
        let all: Vec<Completer> = self.completers().collect();
        Mnemonic::new(opcode, &all)
    }

    /// The mnemonic of a text that stands in the source: a misspelt one does not compile where this is evaluated in a `const`.
    ///
    /// # Panics
    /// If it is no mnemonic.
    #[must_use]
    pub const fn literal(text: &str) -> Mnemonic {
        match Mnemonic::of_bytes(text.as_bytes()) {
            Some(made) => made,
            None => panic!("no mnemonic of the instruction set"),
        }
    }

    const fn of_bytes(text: &[u8]) -> Option<Mnemonic> {
        let end = point(text, 0);
        let (name, rest) = text.split_at(end);
        let Some((opcode, slots)) = Opcode::find(name) else {
            return None;
        };
        match completers_of(rest, slots.as_bytes()) {
            Some(completers) => Some(Mnemonic { opcode, completers }),
            None => None,
        }
    }

    /// The mnemonic of a text in lower case.
    pub fn parse(text: &str) -> Result<Mnemonic, UnknownMnemonic> {
        let end = point(text.as_bytes(), 0);
        let (name, rest) = text.split_at(end);
        let opcode = Opcode::of(name).ok_or_else(|| UnknownMnemonic::Opcode(name.to_owned()))?;
        match completers_of(rest.as_bytes(), opcode.row().completers.as_bytes()) {
            Some(completers) => Ok(Mnemonic { opcode, completers }),
            None => Err(UnknownMnemonic::Completers(text.to_owned(), opcode.name())),
        }
    }

    /// The way in which it leaves its block: of `br` and `brl`.
    #[must_use]
    pub fn branch(self) -> Option<Branch> {
        if !matches!(self.opcode, Opcode::Br | Opcode::Brl) {
            return None;
        }
        Some(match self.completers[0] {
            Some(Completer::Call) => Branch::Call,
            Some(Completer::Ret) => Branch::Return,
            Some(Completer::Cloop) => Branch::Counted,
            Some(Completer::Ctop | Completer::Cexit) => Branch::CountedRotating,
            Some(Completer::Wtop | Completer::Wexit) => Branch::WhileRotating,
            _ => Branch::Jump,
        })
    }
    #[must_use]
    pub const fn opcode(self) -> Opcode {
        self.opcode
    }
    /// Returns the row of the opcode in the table.
    #[must_use]
    pub fn row(self) -> &'static Row {
        self.opcode.row()
    }
    /// The completers in order.
    pub fn completers(self) -> impl Iterator<Item = Completer> {
        self.completers.into_iter().map_while(|completer| completer)
    }
    #[must_use]
    pub fn has(self, completer: Completer) -> bool {
        self.completers.contains(&Some(completer))
    }
    /// Returns true if it has any of them.
    #[must_use]
    pub fn has_any(self, completers: &[Completer]) -> bool {
        self.completers()
            .any(|completer| completers.contains(&completer))
    }
}

impl fmt::Display for Mnemonic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.opcode.name())?;
        self.completers()
            .try_for_each(|completer| write!(f, ".{}", completer.name()))
    }
}

impl fmt::Debug for Mnemonic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// The place of the next point at or behind a place, or the end.
const fn point(text: &[u8], mut at: usize) -> usize {
    while at < text.len() && text[at] != b'.' {
        at += 1;
    }
    at
}

/// The completers of `.lt.unc`, if the slots take them.
const fn completers_of(text: &[u8], slots: &[u8]) -> Option<[Option<Completer>; MOST]> {
    let mut done = 0;
    let mut slot = 0;
    while slot < slots.len() {
        let optional = slots[slot] == b'?';
        // Nothing is left for this slot and those behind it.
        if done == text.len() {
            if !optional {
                return None;
            }
            while slot < slots.len() && slots[slot] != b' ' {
                slot += 1;
            }
            slot += 1;
            continue;
        }
        let mut from = slot + optional as usize;
        let mut taken = false;
        // Through the alternatives, to the blank behind the last.
        loop {
            let mut to = from;
            while to < slots.len() && slots[to] != b'|' && slots[to] != b' ' {
                to += 1;
            }
            if !taken && begins(text, done, slots, from, to) {
                done += 1 + to - from;
                taken = true;
            }
            slot = to + 1;
            if to >= slots.len() || slots[to] == b' ' {
                break;
            }
            from = to + 1;
        }
        if !taken && !optional {
            return None;
        }
    }
    match done == text.len() {
        true => split(text),
        false => None,
    }
}

/// Returns true if the text goes on with a point and the alternative, and nothing else up to the next point.
const fn begins(text: &[u8], at: usize, slots: &[u8], from: usize, to: usize) -> bool {
    let end = at + 1 + to - from;
    if end > text.len() || text[at] != b'.' || (end < text.len() && text[end] != b'.') {
        return false;
    }
    let mut offset = 0;
    while from + offset < to {
        if text[at + 1 + offset] != slots[from + offset] {
            return false;
        }
        offset += 1;
    }
    true
}

const fn split(text: &[u8]) -> Option<[Option<Completer>; MOST]> {
    let mut found = [None; MOST];
    let mut count = 0;
    let mut at = 0;
    while at < text.len() {
        let end = point(text, at + 1);
        let name = text.split_at(end).0.split_at(at + 1).1;
        let mut which = 0;
        while which < Completer::ALL.len()
            && !is_equal(Completer::ALL[which].name().as_bytes(), name)
        {
            which += 1;
        }
        if which == Completer::ALL.len() || count == MOST {
            return None;
        }
        found[count] = Some(Completer::ALL[which]);
        count += 1;
        at = end;
    }
    Some(found)
}
