//! The registers that a value in memory does not have, in words: those together that the same keeps from it.
//!
//! ```text
//! - d0 to d5 hold `a`, `b` and `t` all the while
//! - r3 to r7 are free: with moves there and back, the block of line 9 would take 2 cycles more
//! ```

use super::super::text::counted;
use crate::derive::loops::ItemPlaced;
use crate::derive::sets::SpillRow;
use codegen::isa::sc140::{File, Reg};
use codegen::target::sc140::emit::Obstacle;
use smol_str::SmolStr;
use syntax::Span;

/// Values that are named where registers hold several.
const NAMED: usize = 6;

/// Registers of one file that the same keeps from a value.
#[derive(Clone, PartialEq, Debug)]
pub struct Kept {
    pub registers: Vec<Reg>,
    pub why: Why,
}

/// The obstacles between registers and a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// They hold other values; `throughout`: at each point at which the value waits.
    Taken {
        throughout: bool,
        by: Vec<HeldValue>,
    },
    /// A call there does not keep them.
    Call(Option<Span>),
    LeftOut,
    /// Free; saving and restoring them takes so many sets.
    Saving(u32),
    /// Free; the block there would be so much longer, with moves to these registers and back, or where all spills of the
    /// function are reduced so far.
    Longer {
        at: Option<Span>,
        cycles: u32,
        whole: bool,
    },
    /// Free; spills stay as the allocator asked for.
    Kept,
    /// Free, and nothing would be longer.
    Open,
}

/// A value that a register holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeldValue {
    /// `None`: a part of an expression, or an argument.
    pub name: Option<SmolStr>,
    pub definition: Option<Span>,
    /// It waits in memory itself, and passes through the register.
    pub passes: bool,
}

/// The obstacles between the registers and the value of a row, those of one kind together.
pub(super) fn of(row: &SpillRow, place: &dyn Fn(&ItemPlaced) -> Option<Span>) -> Vec<Kept> {
    let mut out: Vec<Kept> = Vec::new();
    for (found, (at, holders)) in row.value.obstacles.iter().zip(&row.obstacles) {
        let at = at.as_ref().and_then(place);
        let why = match &found.obstacle {
            Obstacle::Taken(by) | Obstacle::TakenInPart(by) => Why::Taken {
                throughout: matches!(found.obstacle, Obstacle::Taken(_)),
                by: by
                    .iter()
                    .zip(holders)
                    .map(|(holder, placed)| HeldValue {
                        name: holder.name.clone(),
                        definition: place(placed),
                        passes: holder.passes,
                    })
                    .collect(),
            },
            Obstacle::Call(_) => Why::Call(at),
            Obstacle::LeftOut => Why::LeftOut,
            Obstacle::Saving { cycles } => Why::Saving(*cycles),
            Obstacle::Longer(longer) | Obstacle::Whole(longer) => Why::Longer {
                at,
                cycles: longer.cycles,
                whole: matches!(found.obstacle, Obstacle::Whole(_)),
            },
            Obstacle::Kept => Why::Kept,
            Obstacle::Open => Why::Open,
        };
        let register = found.register;
        let same = |known: &&mut Kept| {
            let file = known.registers.first().map(|first| first.file);
            file == Some(register.file) && known.why.is_like(&why)
        };
        match out.iter_mut().find(same) {
            Some(known) => known.join(register, why),
            None => out.push(Kept {
                registers: vec![register],
                why,
            }),
        }
    }
    out
}

impl Why {
    fn is_like(&self, other: &Why) -> bool {
        match (self, other) {
            (
                Why::Taken { throughout, .. },
                Why::Taken {
                    throughout: also, ..
                },
            ) => throughout == also,
            _ => self == other,
        }
    }
}

impl Kept {
    fn join(&mut self, register: Reg, why: Why) {
        self.registers.push(register);
        if let (Why::Taken { by: known, .. }, Why::Taken { by, .. }) = (&mut self.why, why) {
            for held in by {
                if !known.contains(&held) {
                    known.push(held);
                }
            }
        }
    }

    /// Returns true if nothing else is in them while the value waits.
    #[must_use]
    pub fn is_free(&self) -> bool {
        match self.why {
            Why::Taken { .. } | Why::Call(_) | Why::LeftOut => false,
            Why::Saving(_) | Why::Longer { .. } | Why::Kept | Why::Open => true,
        }
    }

    /// The reason as a word of the report.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match &self.why {
            Why::Taken {
                throughout: true, ..
            } => "taken",
            Why::Taken { .. } => "taken-in-part",
            Why::Call(_) => "call",
            Why::LeftOut => "left-out",
            Why::Saving(_) => "saving",
            Why::Longer { whole: false, .. } => "longer",
            Why::Longer { .. } => "whole-function",
            Why::Kept => "kept",
            Why::Open => "open",
        }
    }

    /// The registers and the reason in words.
    #[must_use]
    pub fn sentence(&self, line: &dyn Fn(Span) -> u32) -> String {
        let several = self.registers.len() > 1;
        let (are, hold) = match several {
            true => ("are", "hold"),
            false => ("is", "holds"),
        };
        let cycles = |cycles: u32| {
            counted(cycles as usize, "cycle", "cycles").unwrap_or_else(|| "no cycle".to_owned())
        };
        let of_line = |span: &Option<Span>| span.map(|span| format!(" of line {}", line(span)));
        let rest = match &self.why {
            Why::Taken { throughout, by } => {
                let when = match throughout {
                    true => "all the while",
                    false => "for a part of that",
                };
                format!("{hold} {} {when}", held(by, line))
            }
            Why::Call(at) => format!(
                "{are} not kept across the call{}",
                of_line(at).unwrap_or_default()
            ),
            Why::LeftOut => format!("{are} left out of the code"),
            Why::Saving(sets) => format!(
                "{are} free, but the caller's: saving and restoring takes {}",
                cycles(*sets)
            ),
            Why::Longer {
                at,
                cycles: more,
                whole,
            } => {
                let with = match (whole, self.registers.first().map(|first| first.file)) {
                    (true, _) => "with spills reduced so far in the whole function",
                    (false, Some(File::Address)) => "with moves to address registers and back",
                    (false, _) => "with moves there and back",
                };
                let longer = match of_line(at) {
                    Some(of) => format!("the block{of} would take {} more", cycles(*more)),
                    None => format!("the function would take {} more", cycles(*more)),
                };
                format!("{are} free: {with}, {longer}")
            }
            Why::Kept => format!("{are} free: spills stay as the allocator asked for"),
            Why::Open => {
                format!("{are} free, and no block would be longer: the reduction missed it")
            }
        };
        format!("{} {rest}", names(&self.registers))
    }
}

/// The values that registers hold, in words.
fn held(by: &[HeldValue], line: &dyn Fn(Span) -> u32) -> String {
    let mut words: Vec<String> = Vec::new();
    for value in by {
        let word = match (&value.name, value.definition) {
            (Some(name), _) if value.passes => format!("`{name}` on its way"),
            (None, _) if value.passes => "values on their way".to_owned(),
            (Some(name), _) => format!("`{name}`"),
            (None, Some(at)) => format!("a value of line {}", line(at)),
            (None, None) => "another value".to_owned(),
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    // Names first: parts of expressions say less.
    words.sort_by_key(|word| !word.starts_with('`'));
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) if words.len() <= NAMED => format!("{} and {last}", rest.join(", ")),
        _ => {
            let shown: Vec<&str> = words.iter().take(NAMED).map(String::as_str).collect();
            format!("{} and {} more", shown.join(", "), words.len() - NAMED)
        }
    }
}

/// Registers of one file: `d0 to d5, d8`.
#[must_use]
pub fn names(registers: &[Reg]) -> String {
    let mut runs: Vec<(Reg, Reg)> = Vec::new();
    for &register in registers {
        match runs.last_mut() {
            Some((_, last)) if last.number + 1 == register.number => *last = register,
            _ => runs.push((register, register)),
        }
    }
    let words = runs
        .iter()
        .map(|(first, last)| match last.number - first.number {
            0 => first.to_string(),
            1 => format!("{first}, {last}"),
            _ => format!("{first} to {last}"),
        });
    words.collect::<Vec<String>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str, passes: bool) -> HeldValue {
        HeldValue {
            name: Some(name.into()),
            definition: None,
            passes,
        }
    }

    #[test]
    fn registers_in_a_row_are_named_by_their_ends() {
        let data = [0, 1, 2, 5, 8, 9].map(Reg::data);
        assert_eq!(names(&data), "d0 to d2, d5, d8, d9");
    }

    #[test]
    fn a_reason_names_values_lines_and_cycles() {
        let line = |span: Span| span.start;
        let taken = Kept {
            registers: vec![Reg::data(0), Reg::data(3)],
            why: Why::Taken {
                throughout: true,
                by: vec![
                    HeldValue {
                        name: None,
                        definition: Some(Span::new(7, 9)),
                        passes: false,
                    },
                    name("a", false),
                    name("b", true),
                ],
            },
        };
        assert_eq!(
            taken.sentence(&line),
            "d0, d3 hold `a`, `b` on its way and a value of line 7 all the while"
        );
        let longer = Kept {
            registers: vec![Reg::address(3)],
            why: Why::Longer {
                at: Some(Span::new(9, 12)),
                cycles: 2,
                whole: false,
            },
        };
        assert_eq!(
            longer.sentence(&line),
            "r3 is free: with moves to address registers and back, the block of line 9 would take 2 cycles more"
        );
        assert!(longer.is_free() && !taken.is_free());
    }

    #[test]
    fn of_many_values_the_first_are_named() {
        let by: Vec<HeldValue> = ["a", "b", "c", "d", "e", "f", "g", "h"]
            .map(|it| name(it, false))
            .into();
        assert_eq!(held(&by, &|_| 0), "`a`, `b`, `c`, `d`, `e`, `f` and 2 more");
    }
}
