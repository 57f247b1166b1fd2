//! A file as execution sets in their order, with labels, loops and the ways that control takes between them.
//!
//! ```text
//!     doen3 #8
//!     LOOPSTART3        loop 3: sets 1 to 3; set 3 is followed by set 1 and by set 4
//! L1  ...               set 1, with a label
//! ```

use super::read::{Symbols, Unreadable, read};
use isa::sc140::{Condition, Effects, Flow, Instruction, Operand, Unit};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use syntax::Span;
use syntax::sc140::{Argument, Document, Expr, OperandKind, StatementKind};

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listing {
    pub sets: Vec<Set>,
    /// In the order in which they begin.
    pub loops: Vec<HardwareLoop>,
    /// The set behind each label; the number of sets for one at the end.
    pub labels: FxHashMap<SmolStr, usize>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Set {
    /// The place of its statement among the document's.
    pub statement: usize,
    pub span: Span,
    pub members: Vec<Member>,
    /// Labels in front of it.
    pub labels: Vec<SmolStr>,
    pub alignment: Option<Alignment>,
    /// The loops of which it is the last set, by their place in the list.
    pub closes: Vec<usize>,
    /// Nothing falls into it from above: it begins a section, or stands behind data.
    pub apart: bool,
}

/// A directive about the address of the set behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Alignment {
    /// `FALIGN`: no two fetches hold it.
    Fetch,
    /// `ALIGN 16`
    Bytes(u64),
}

/// An instruction of a set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    pub span: Span,
    pub instruction: Result<Instruction, Unreadable>,
    /// Nothing where it is unknown.
    pub effects: Effects,
    /// A condition is written in front of it, or of one before it.
    pub condition: Option<Condition>,
    /// The label that it names as a target.
    pub target: Option<SmolStr>,
}

/// A hardware loop between its marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HardwareLoop {
    pub index: u8,
    /// The place of the mark at its start.
    pub start: Span,
    pub first: usize,
    /// The number of its sets; 0 for one that does not end.
    pub count: usize,
}

impl HardwareLoop {
    #[must_use]
    pub fn contains(&self, set: usize) -> bool {
        (self.first..self.first + self.count).contains(&set)
    }
    /// The set that is so many sets in front of its last one.
    #[must_use]
    pub fn before_last(&self, by: usize) -> Option<usize> {
        (self.count > by).then(|| self.first + self.count - 1 - by)
    }
}

impl Member {
    /// The unit that serves it; `None`: it takes no place, or is unknown.
    #[must_use]
    pub fn unit(&self) -> Option<Unit> {
        let instruction = self.instruction.as_ref().ok()?;
        use isa::sc140::Opcode::{Lpmarka, Lpmarkb, Nop};
        match instruction.mnemonic.opcode {
            Nop | Lpmarka | Lpmarkb => None,
            _ => Some(instruction.unit()),
        }
    }
    /// The condition under which it executes.
    #[must_use]
    pub fn executes(&self) -> Condition {
        self.condition.unwrap_or(Condition::Always)
    }
    #[must_use]
    pub fn is_delayed(&self) -> bool {
        let instruction = self.instruction.as_ref();
        instruction.is_ok_and(|known| known.mnemonic.delayed)
    }
}

impl Set {
    /// The member that may send control elsewhere.
    #[must_use]
    pub fn flow(&self) -> Option<(usize, Flow)> {
        let mut members = self.members.iter().enumerate();
        members.find_map(|(at, member)| Some((at, member.effects.flow?)))
    }
    /// Returns true if the next set is a delay slot.
    #[must_use]
    pub fn has_slot(&self) -> bool {
        self.flow()
            .is_some_and(|(at, _)| self.members[at].is_delayed())
    }
    /// The instructions that are known.
    pub fn instructions(&self) -> impl Iterator<Item = &Instruction> + Clone {
        let members = self.members.iter();
        members.filter_map(|member| member.instruction.as_ref().ok())
    }
    #[must_use]
    pub fn is_conditional(&self) -> bool {
        self.members.iter().any(|member| member.condition.is_some())
    }
}

impl Listing {
    /// The sets of a file.
    #[must_use]
    pub fn of(document: &Document) -> Listing {
        let symbols = Symbols::of(document);
        let mut listing = Listing::default();
        let mut labels: Vec<SmolStr> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        let (mut alignment, mut apart) = (None, true);
        for (at, statement) in document.statements.iter().enumerate() {
            match &statement.kind {
                StatementKind::Label(name) => {
                    listing.labels.insert(name.clone(), listing.sets.len());
                    labels.push(name.clone());
                }
                StatementKind::Directive(directive) => match &*directive.name {
                    "section" | "endsec" | "dcb" | "dcw" | "dcl" | "ds" | "org" => apart = true,
                    "falign" => alignment = Some(Alignment::Fetch),
                    "align" => {
                        let bytes = match directive.arguments.first() {
                            Some(Argument::Expr(Expr::Number(bytes))) => u64::try_from(*bytes),
                            _ => Ok(1),
                        };
                        alignment = Some(Alignment::Bytes(bytes.unwrap_or(1)));
                    }
                    _ => match directive.loop_edge() {
                        Some((true, index)) => {
                            open.push(listing.loops.len());
                            listing.loops.push(HardwareLoop {
                                index,
                                start: statement.span,
                                first: listing.sets.len(),
                                count: 0,
                            });
                        }
                        Some((false, index)) => {
                            let is_its = |&at: &usize| listing.loops[at].index == index;
                            if let Some(place) = open.iter().rposition(is_its) {
                                let at = open.remove(place);
                                let hardware = &mut listing.loops[at];
                                hardware.count = listing.sets.len() - hardware.first;
                                if let Some(last) =
                                    listing.sets.last_mut().filter(|_| hardware.count > 0)
                                {
                                    last.closes.push(at);
                                }
                            }
                        }
                        None => {}
                    },
                },
                StatementKind::Set(set) => {
                    let members = set.conditional().map(|(condition, instruction)| {
                        let known = read(instruction, condition, &symbols);
                        let effects = known.as_ref().map(Instruction::effects);
                        Member {
                            span: instruction.span,
                            effects: effects.unwrap_or_default(),
                            condition: condition.map(of_text),
                            target: target(instruction, &known),
                            instruction: known,
                        }
                    });
                    listing.sets.push(Set {
                        statement: at,
                        span: statement.span,
                        members: members.collect(),
                        labels: std::mem::take(&mut labels),
                        alignment: alignment.take(),
                        closes: Vec::new(),
                        apart: std::mem::take(&mut apart),
                    });
                }
                StatementKind::Unknown => {}
            }
        }
        listing
    }

    /// The sets that may execute behind this one, with the sets that lie between by themselves: a call stores its return
    /// address in one.
    #[must_use]
    pub fn successors(&self, at: usize) -> Vec<(usize, usize)> {
        let mut out: Vec<(usize, usize)> = Vec::new();
        let mut push = |to: usize, between: usize| {
            if to < self.sets.len() && !out.contains(&(to, between)) {
                out.push((to, between));
            }
        };
        let next = |at: usize| {
            let behind = self.sets.get(at + 1);
            behind.filter(|set| !set.apart).map(|_| at + 1)
        };
        let slot_of = at
            .checked_sub(1)
            .filter(|&before| self.sets[before].has_slot() && !self.sets[at].apart);
        let leaving = match slot_of {
            Some(before) => Some(before),
            None if self.sets[at].has_slot() => None,
            None => Some(at),
        };
        let mut falls = true;
        if let Some(leaving) = leaving
            && let Some((member, flow)) = self.sets[leaving].flow()
        {
            let member = &self.sets[leaving].members[member];
            let between = usize::from(flow == Flow::Call);
            if let Some(&to) = member
                .target
                .as_ref()
                .and_then(|name| self.labels.get(name))
            {
                push(to, between);
            }
            let may_stay = member.executes() != Condition::Always;
            falls = matches!(flow, Flow::Branch) || may_stay;
            if flow == Flow::Continue {
                for hardware in self.loops.iter().filter(|known| known.contains(leaving)) {
                    push(hardware.first, 0);
                }
            }
        }
        for &closed in &self.sets[at].closes {
            push(self.loops[closed].first, 0);
        }
        if falls && let Some(next) = next(at) {
            push(next, 0);
        }
        out
    }

    /// Returns, for each set, true if it bears a mark of a loop, the first of a short one, the last but two of a long one.
    #[must_use]
    pub fn marked(&self) -> Vec<bool> {
        let mut marked = vec![false; self.sets.len()];
        for hardware in &self.loops {
            let mark = match hardware.count {
                1 | 2 => Some(hardware.first),
                _ => hardware.before_last(2),
            };
            if let Some(mark) = mark.and_then(|set| marked.get_mut(set)) {
                *mark = true;
            }
        }
        marked
    }

    /// Labels that an instruction of the file names as the target of a jump.
    pub fn targets(&self) -> impl Iterator<Item = (usize, usize, &SmolStr)> {
        self.sets.iter().enumerate().flat_map(|(at, set)| {
            let members = set.members.iter().enumerate();
            members.filter_map(move |(number, member)| {
                member.effects.flow?;
                Some((at, number, member.target.as_ref()?))
            })
        })
    }
}

const fn of_text(condition: syntax::sc140::Condition) -> Condition {
    match condition {
        syntax::sc140::Condition::True => Condition::True,
        syntax::sc140::Condition::False => Condition::False,
        syntax::sc140::Condition::Always => Condition::Always,
    }
}

/// The label that an instruction of the flow of control or of a loop names.
fn target(
    instruction: &syntax::sc140::Instruction,
    known: &Result<Instruction, Unreadable>,
) -> Option<SmolStr> {
    let known = known.as_ref().ok()?;
    let named = known.operands.iter().zip(&instruction.operands);
    named.into_iter().find_map(|(known, operand)| {
        let is_label = matches!(known, Operand::Label(_));
        match &operand.kind {
            OperandKind::Value {
                value: Expr::Name(name),
                ..
            } if is_label => Some(name.clone()),
            _ => None,
        }
    })
}
