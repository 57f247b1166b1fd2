//! Loads that cannot matter, guarded in place: a predicate behind the statement that writes a register, and loads that
//! each lane executes only where the register is not zero. There is no vote and no branch, and no line moves.
//!
//! ```text
//! ld.global.f32 %f1, [%rd1];        ld.global.f32 %f1, [%rd1];
//!                                   .reg .pred %lskip1;
//!                             ->    setp.neu.f32 %lskip1, %f1, 0f00000000;
//! ld.global.f32 %f2, [%rd2];        @%lskip1 ld.global.f32 %f2, [%rd2];
//! fma.rn.f32 %f3, %f1, %f2, %f3;    @%lskip1 fma.rn.f32 %f3, %f1, %f2, %f3;
//! ```
//!
//! The decisions of a copy for zero (`fast`) tell which loads nothing reads if the register is zero, with each branch as it
//! is. What follows from such a load is undefined where it is skipped. A statement whose result is read all the same stays
//! as it is if it reads nothing undefined, or if a zero absorbs what is; else it is guarded, too, behind a move of the value
//! that it would have had. Linear in the body but for the liveness of registers.
//!
//! Not done: loads that have a guard; stores of what is in memory already; statements behind an exchange between lanes,
//! because `fold` takes all lanes of a warp for zero.
//!
//! Source: Bratt, Settle, Connors, *Predicate-Based Elimination of Control- and Data-Irrelevant Cache Misses*, section 2.

use super::fast::{Action, Fast, instruction, literal};
use super::region::{exchanges, limit, untrusted};
use super::remove::closed;
use super::{Candidate, Document, Refusal, Settings, closing, line_end, touches};
use crate::specialize::accept::Model;
use crate::specialize::{Context, Costs};
use crate::target::ptx::machine::body::Register;
use ir::{Block, EntityVec, Type};
use rustc_hash::FxHashSet;
use std::fmt::Write;
use syntax::Span;
use syntax::ptx::{Instruction, Operand, StatementKind, split_items};

/// The mark behind the declaration of a guard, in a comment.
pub(super) const MARK: &str = "lockstep: skip loads where ";
/// Predicates of guards begin with this; a number follows.
pub(super) const PREDICATE: &str = "%lskip";

/// Guards that have been written.
#[derive(Clone, PartialEq, Debug)]
pub struct Guards {
    pub name: String,
    /// The number of the predicate.
    pub number: u32,
    /// The insertions by item-relative offset, ascending.
    pub insertions: Vec<(u32, String)>,
    /// The probability is left at 0.
    pub model: Model,
    /// Loads that are guarded, and all statements that are.
    pub loads: usize,
    pub guarded: usize,
}

/// What happens to a statement.
#[derive(Clone, PartialEq, Debug)]
enum Treatment {
    Stays,
    Guarded,
    /// Guarded behind statements that have its result where it is skipped.
    Replaced(Vec<String>),
}

impl Document<'_> {
    /// Guards the loads behind a candidate.
    ///
    /// # Errors
    /// When it would not be right, or saves nothing.
    pub fn guards(
        &self,
        candidate: &Candidate,
        settings: Settings,
        costs: &dyn Costs,
        weights: &EntityVec<Block, f64>,
    ) -> Result<Guards, Refusal> {
        self.permitted(candidate, settings, costs, weights, |cx, settings| {
            self.guarded(cx, candidate, settings)
        })
    }

    fn guarded(
        &self,
        cx: &Context<'_>,
        candidate: &Candidate,
        settings: Settings,
    ) -> Result<Guards, Refusal> {
        self.holds(candidate)?;
        let name = candidate.names.join(", ");
        let start = candidate.statement + 1;
        let stops = |i: &Instruction, _: bool| exchanges(i).then_some(Refusal::CrossLane);
        let (end, why) = limit(self, start, &stops);
        let fast = Fast::in_place(self, cx, candidate, start, |folded| {
            untrusted(self, folded, start, end)
        })?;
        let number = self.number_of_guard(settings.number.max(1));
        let predicate = format!("{PREDICATE}{number}");
        let treatments = fast.treatments();
        let loads = treatments.loads.len();
        if loads == 0 {
            return Err(why.unwrap_or(Refusal::NothingSaved(name)));
        }
        let newline = self.newline();
        let at = self.statement(candidate.statement);
        let at = line_end(self.text, at.map_or(0, |it| it.span.end));
        let check = self.nonzero(candidate, settings, number, at);
        let mut insertions = vec![(at, check)];
        for (statement, treatment) in &treatments.all {
            let mut text = String::new();
            match treatment {
                Treatment::Stays => continue,
                Treatment::Guarded => {}
                Treatment::Replaced(moves) => {
                    for each in moves {
                        let _ = write!(text, "@!{predicate} {each}{newline}\t");
                    }
                }
            }
            let _ = write!(text, "@{predicate} ");
            let place = self.statement(*statement).map_or(0, |it| it.span.start);
            insertions.push((place, text));
        }
        Ok(Guards {
            model: fast.guarded_model(cx, candidate.members.len(), &treatments),
            number,
            guarded: insertions.len() - 1,
            insertions,
            loads,
            name,
        })
    }

    /// The text that goes to an offset: the predicate of lanes in which a member is not zero.
    fn nonzero(&self, candidate: &Candidate, settings: Settings, number: u32, at: u32) -> String {
        let newline = self.newline();
        let (predicate, name) = (format!("{PREDICATE}{number}"), candidate.names.join(", "));
        let mut out =
            format!("{newline}\t.reg .pred \t{predicate}; // {MARK}{name} is zero ({number})");
        for (order, (register, &member)) in
            candidate.names.iter().zip(&candidate.members).enumerate()
        {
            let ty = self.function.ty(member);
            let (kind, zero) = match ty {
                Type::F32 if settings.absorb => ("neu.f32", "0f00000000"),
                Type::F64 if settings.absorb => ("neu.f64", "0d0000000000000000"),
                Type::F32 | Type::I32 => ("ne.b32", "0"),
                Type::F64 | Type::I64 => ("ne.b64", "0"),
                _ => ("ne.b16", "0"),
            };
            let (condition, width) = kind.split_once('.').unwrap_or((kind, ""));
            let line = match (ty, order) {
                (Type::Bool, 0) => format!("mov.pred \t{predicate}, {register};"),
                (Type::Bool, _) => format!("or.pred \t{predicate}, {predicate}, {register};"),
                (_, 0) => format!("setp.{kind} \t{predicate}, {register}, {zero};"),
                _ => format!(
                    "setp.{condition}.or.{width} \t{predicate}, {register}, {zero}, {predicate};"
                ),
            };
            let _ = write!(out, "{newline}\t{line}");
        }
        let words = format!("lockstep: tested ({number})");
        let _ = write!(out, " {}", closing(self.text, at, &words));
        out
    }

    /// The least number from `from` on that no predicate of guards has.
    fn number_of_guard(&self, from: u32) -> u32 {
        let statements = self.tree.statements().iter();
        let declared = statements.filter_map(|it| match &it.kind {
            StatementKind::Declaration(declaration) => Some(&declaration.declarators),
            _ => None,
        });
        // `%lskip<30>` declares those below 30.
        let ranges = declared.flatten().filter(|it| it.name.text == PREDICATE);
        let beyond = ranges.filter_map(|it| it.range).max().unwrap_or(0);
        let taken = |number: &u32| self.text.contains(&format!("{PREDICATE}{number}"));
        (from.max(beyond)..)
            .find(|number| !taken(number))
            .unwrap_or(from)
    }
}

/// What happens to the statements of a region, in their order, and those of them that are loads behind a guard.
struct Treatments {
    all: Vec<(u32, Treatment)>,
    loads: FxHashSet<u32>,
}

impl Fast<'_> {
    fn treatments(&self) -> Treatments {
        let document = self.document;
        let lines = &document.body.lines;
        let gone = |at: u32| *self.action(at) == Action::Gone;
        // A sum with nothing writes what is there already; it is gone, but its register is read.
        let idle = |at: u32| *self.decided(at) == Action::Gone;
        let loads: FxHashSet<u32> = (self.start..self.end)
            .filter(|&at| gone(at) && !idle(at) && !self.unread[(at - self.start) as usize])
            .filter(|&at| is_load(instruction(document, at)))
            .collect();
        let mut undefined: FxHashSet<Register> = FxHashSet::default();
        let mut count = usize::MAX;
        while count != undefined.len() {
            count = undefined.len();
            for at in self.start..self.end {
                let line = &lines[at as usize];
                if !loads.contains(&at) && !line.reads.iter().any(|it| undefined.contains(it)) {
                    continue;
                }
                match self.action(at) {
                    Action::Gone if !idle(at) => undefined.extend(&line.writes),
                    // Of several results those alone are moved that are read.
                    Action::Constants(all) => {
                        let moved = |it: &&Register| {
                            let name = &document.body.names[**it as usize];
                            all.iter().any(|(moved, ..)| moved == name)
                        };
                        undefined.extend(line.writes.iter().filter(|it| !moved(it)));
                    }
                    _ => {}
                }
            }
        }
        let all = (self.start..self.end).filter_map(|at| {
            let i = instruction(document, at)?;
            let reads = &lines[at as usize].reads;
            let treatment = match self.action(at) {
                _ if loads.contains(&at) => Treatment::Guarded,
                _ if !reads.iter().any(|it| undefined.contains(it)) => Treatment::Stays,
                Action::Keep | Action::Unguarded => Treatment::Stays,
                Action::Gone if idle(at) => Treatment::Guarded,
                Action::Gone => Treatment::Stays,
                _ if self.absorbs(at, i, &undefined) => Treatment::Stays,
                Action::Constants(all) => {
                    let moves = all.iter().map(|(name, ty, bits)| literal(name, ty, *bits));
                    Treatment::Replaced(moves.collect())
                }
                Action::Move {
                    kind, to, source, ..
                } => Treatment::Replaced(vec![format!("mov.{kind} \t{to}, {source};")]),
                Action::Add {
                    kind,
                    to,
                    source,
                    zero,
                    ..
                } => Treatment::Replaced(vec![format!("{kind} \t{to}, {source}, {zero};")]),
            };
            Some((at, treatment))
        });
        Treatments {
            all: all.collect(),
            loads,
        }
    }

    /// Returns whether an integer product or a conjunction is what it must be, as one of its factors is a zero that is defined.
    fn absorbs(&self, at: u32, i: &Instruction, undefined: &FxHashSet<Register>) -> bool {
        let whole = i
            .modifiers
            .last()
            .is_some_and(|ty| !ty.starts_with('f') && !ty.starts_with("bf"));
        let absorbing = match i.opcode.text.as_str() {
            "mul" | "and" | "mul24" => whole,
            // What is added must be defined.
            "mad" | "mad24" => {
                let added = match i.operands.get(3) {
                    Some(Operand::Name(name)) => self.document.register(at, name),
                    _ => None,
                };
                whole && added.is_none_or(|it| !undefined.contains(&it))
            }
            _ => false,
        };
        absorbing
            && i.operands
                .iter()
                .skip(1)
                .take(2)
                .any(|operand| match operand {
                    Operand::Name(name) => {
                        let register = self.document.register(at, name);
                        let zero = self.document.value_at(name);
                        let zero =
                            zero.and_then(|it| self.folded.constant(self.document.function, it));
                        zero == Some(0) && register.is_some_and(|it| !undefined.contains(&it))
                    }
                    _ => false,
                })
    }

    /// The loads that are skipped against the comparisons, the moves, and the overlap that they end.
    fn guarded_model(&self, cx: &Context<'_>, members: usize, treatments: &Treatments) -> Model {
        let weight = |at: u32| self.weights[(at - self.start) as usize];
        let mut model = Model {
            check: cx.costs.literal() * members as f64 * weight(self.start),
            blocks: 1,
            ..Model::default()
        };
        let guarded = treatments.all.iter();
        let guarded = guarded.filter(|(_, treatment)| *treatment != Treatment::Stays);
        let last = guarded.map(|(at, _)| *at).max().unwrap_or(self.start);
        let mut slots = 0.0;
        for &block in &cx.function.layout {
            for &inst in &cx.function.blocks[block].insts {
                let at = self.document.statements[inst];
                let inside = at.filter(|at| (self.start..=last).contains(at));
                let Some(at) = inside.filter(|_| !self.skipped.contains(&block)) else {
                    continue;
                };
                let cycles = super::counts(cx, inst) * cx.weights[block];
                model.region += cycles;
                if cycles > 0.0 {
                    slots += cx.costs.slots(cx.function, inst) * cx.weights[block];
                }
                if treatments.loads.contains(&at) {
                    model.memory_killed += usize::from(touches(&cx.function.insts[inst].op));
                } else {
                    model.special += cycles;
                }
            }
        }
        for (at, treatment) in &treatments.all {
            if let Treatment::Replaced(moves) = treatment {
                model.check += moves.len() as f64 * cx.costs.literal() * weight(*at);
            }
        }
        let entered = cx.weights[cx.function.entry()];
        model.end_overlap(cx.costs, slots, weight(self.start), entered);
        model
    }
}

/// A load of memory that other lanes need not have in common, without a guard.
pub(super) fn is_load(i: Option<&Instruction>) -> bool {
    i.is_some_and(|i| {
        let loads = matches!(i.opcode.text.as_str(), "ld" | "ldu");
        loads && i.guard.is_none() && !i.has("param") && !i.has("const")
    })
}

/// Guards that were found around an offset, from the line that writes their register on.
#[must_use]
pub fn unguard(text: &str, offset: u32) -> Option<super::Removal> {
    let marks: Vec<usize> = text.match_indices(MARK).map(|(at, _)| at).collect();
    if marks.is_empty() {
        return None;
    }
    let items = split_items(text);
    let mut best: Option<super::Removal> = None;
    for &at in &marks {
        let line = text.get(at + MARK.len()..)?.lines().next()?;
        let Some((name, number)) = line.trim_end().rsplit_once(" is zero (") else {
            continue;
        };
        let Some(number) = number.strip_suffix(')') else {
            continue;
        };
        // Other functions may have predicates of the same name.
        let around = items
            .iter()
            .find(|it| (it.start..it.end).contains(&(at as u32)));
        let until = around.map_or(text.len(), |it| it.end as usize);
        let Some(cuts) = cuts(text, at, until, number) else {
            continue;
        };
        // From the statement on whose register they ask.
        let before = text.get(..cuts[0].start as usize)?;
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        let around = line as u32 <= offset
            && cuts.last().is_some_and(|last| offset <= last.end)
            && best
                .as_ref()
                .is_none_or(|so_far| so_far.cuts[0].start < cuts[0].start);
        if around {
            best = Some(super::Removal {
                name: name.to_owned(),
                cuts,
            });
        }
    }
    best
}

fn cuts(text: &str, at: usize, until: usize, number: &str) -> Option<Vec<Span>> {
    let start = text.get(..at)?.rfind('\n')?;
    let start = start - usize::from(text.get(..start)?.ends_with('\r'));
    let tested = format!("lockstep: tested ({number})");
    let end = closed(
        text,
        at + text.get(at..until)?.find(&tested)? + tested.len(),
    );
    let mut found = vec![Span::new(start as u32, end as u32)];
    let (plain, negated) = (
        format!("@{PREDICATE}{number} "),
        format!("@!{PREDICATE}{number} "),
    );
    let mut from = end;
    while let Some(next) = text.get(from..until)?.find('@') {
        let place = from + next;
        let rest = text.get(place..until)?;
        if rest.starts_with(&plain) || rest.starts_with(&negated) {
            let stop = place + rest.find(&plain)? + plain.len();
            found.push(Span::new(place as u32, stop as u32));
            from = stop;
        } else {
            from = place + 1;
        }
    }
    (found.len() > 1).then_some(found)
}
