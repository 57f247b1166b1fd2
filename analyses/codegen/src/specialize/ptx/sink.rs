//! A statement of PTX whose result some ways never read, moved into the ways that do.
//!
//! ```text
//! ld.global.f32 %f1, [%rd1];       @%p1 bra $L;
//! @%p1 bra $L;                ->   ld.global.f32 %f1, [%rd1];
//! mul.f32 %f2, %f1, %f3;           mul.f32 %f2, %f1, %f3;
//! ```
//!
//! The analysis is that of partial dead code (`facts::partial_dead`) on the flow between statements, without joins that are
//! passed under a predicate: a statement that sinks is executed no more often on any way. A copy for a branch that is taken to a
//! place where other ways arrive has the guard of the branch and stands in front of it. `sink_check` judges the result.
//!
//! Not done: predicates past joins; statements that have a guard; several statements at once.
//!
//! Source: Gupta, Berson, Fang, *Path Profile Guided Partial Dead Code Elimination Using Predication*, PACT 1997.

use super::fast::instruction;
use super::region::exchanges;
use super::sink_check::{self, Violation};
use super::{Costs, Document, line_end};
use crate::target::ptx::machine::body::{Next, Register};
use facts::partial_dead::{NodeKind, PathSets, Problem, Sinking, apart, joined};
use fixedbitset::FixedBitSet;
use ir::{Block, EntityVec};
use isa::ptx::{Effect, Opcode};
use smol_str::SmolStr;
use syntax::Span;
use syntax::ptx::{Instruction, Name, Operand, StatementKind};

/// Cycles of a statement that is moved, at least.
const LEAST: f64 = 3.0;
/// Copies of a statement, at most, if no profile tells the gain.
const MOST_UNPROFILED: usize = 2;
/// Statements of a body in which one is moved, at most.
const MOST_STATEMENTS: usize = 20_000;

/// The reason why a statement stays where it is.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Stay {
    #[error("no statement here sets registers to a value that is computed or loaded")]
    NoStatement,
    #[error("`{0}` has a guard: where it does not execute its registers keep what they hold")]
    Guarded(SmolStr),
    #[error("`{0}` does more than compute its result")]
    Effect(SmolStr),
    #[error("`{0}` means several registers, in scopes of their own")]
    Shadowed(SmolStr),
    #[error("`{0}` is too cheap to be moved")]
    Trivial(SmolStr),
    #[error("on every way something reads `{0}`, or first changes what it is computed of")]
    ReadOnEachWay(SmolStr),
    #[error("nothing reads `{0}` on any way: an assembler leaves it out")]
    Dead(SmolStr),
    #[error("{copies} copies of `{name}` would be needed, and no profile tells that they pay")]
    ManyCopies { name: SmolStr, copies: usize },
    #[error("moving `{0}` would save none of its executions, by the profile")]
    AlwaysRead(SmolStr),
    #[error(
        "both sides of a branch that takes the lanes of a warp apart read `{0}`: the warp would compute it twice"
    )]
    Apart(SmolStr),
    #[error("`{0}` would have to stand on a way out of a table of branches")]
    NoPlace(SmolStr),
    #[error("the flow of the function is not understood: {0}")]
    Unread(&'static str),
    #[error("the rewritten text was not accepted: {0}")]
    Check(#[from] Violation),
}

impl Stay {
    /// An editor does not tell it at each statement: there is nothing to move.
    #[must_use]
    pub const fn quiet(&self) -> bool {
        !matches!(self, Stay::Apart(_) | Stay::NoPlace(_) | Stay::Check(_))
    }
}

/// A statement that has been moved.
#[derive(Clone, PartialEq, Debug)]
pub struct Sunk {
    pub name: SmolStr,
    /// The statement, relative to the item.
    pub statement: Span,
    /// Relative to the item, ascending, not overlapping.
    pub edits: Vec<(Span, String)>,
    pub copies: usize,
    /// The value is read from memory: it arrives later than before.
    pub loads: bool,
    /// Executions for one invocation before and after, by the executions of blocks. `None`: they are not known.
    pub executions: Option<(f64, f64)>,
    /// The cost of an execution: cycles of a warp, an estimate.
    pub price: f64,
}

/// A place in the flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Entry,
    Statement(u32),
    /// The way from a branch to a statement where others arrive, too.
    Edge {
        from: u32,
        taken: bool,
    },
}

struct Flow {
    places: Vec<Place>,
    successors: Vec<Vec<usize>>,
}

impl Document<'_> {
    /// The statement at an item-relative offset.
    #[must_use]
    pub fn statement_at(&self, offset: u32) -> Option<u32> {
        super::containing(self.tree.statements(), offset)
    }

    /// Moves a statement to where its result is read; `profiled` are the executions of blocks for one invocation, by a profile, and
    /// `parts_lanes` tells whether lanes may take both sides of a branch.
    ///
    /// # Errors
    /// The reason why it stays.
    pub fn sink(
        &self,
        at: u32,
        costs: &dyn Costs,
        profiled: Option<&EntityVec<Block, f64>>,
        parts_lanes: &dyn Fn(Span) -> bool,
    ) -> Result<Sunk, Stay> {
        let i = instruction(self, at).ok_or(Stay::NoStatement)?;
        let line = &self.body.lines[at as usize];
        let name = result(i).ok_or(Stay::NoStatement)?;
        if self.tree.statements().len() > MOST_STATEMENTS {
            return Err(Stay::Unread("it is too long"));
        }
        if i.guard.is_some() {
            return Err(Stay::Guarded(name));
        }
        if !line.removable || exchanges(i) || self.reads_what_changes(at, i) {
            return Err(Stay::Effect(name));
        }
        let price = self.price(at, costs);
        if price < LEAST || i.opcode.text == "mov" || i.has("param") {
            return Err(Stay::Trivial(name));
        }
        let registers = line.places.iter().map(|(_, register)| register);
        let mut names = registers.map(|&register| &self.body.names[register as usize]);
        let all = || self.body.names.iter();
        if let Some(shadowed) = names.find(|it| all().filter(|other| other == it).count() > 1) {
            return Err(Stay::Shadowed(shadowed.clone()));
        }
        let loads = Opcode::find(&i.opcode.text).is_some_and(Opcode::loads);
        let flow = self.flow()?;
        let kinds = self.kinds(&flow, at, loads && !(i.has("nc") || i.has("const")));
        let problem = Problem::new(0, kinds, flow.successors.clone(), false, Vec::new())
            .map_err(|_| Stay::Unread("an edge is critical"))?;
        let sets = PathSets::new(&problem);
        let none = FixedBitSet::with_capacity(problem.kinds.len());
        let sinking = Sinking::new(&problem, &sets, &none);
        let nodes = 0..flow.places.len();
        let spared = nodes.clone().any(|node| {
            sinking.inserted.entry[node] && !sinking.kept.entry[node]
                || sinking.inserted.exit[node] && !sinking.kept.exit[node]
        });
        let own = 1 + at as usize;
        if !spared || sinking.inserted.exit[own] {
            return Err(Stay::ReadOnEachWay(name));
        }
        let parting = nodes.clone().filter(|&node| match flow.places[node] {
            Place::Statement(branch) if flow.successors[node].len() == 2 => {
                parts_lanes(self.tree.statements()[branch as usize].span)
            }
            _ => false,
        });
        if apart(&flow.successors, &sinking, own, parting) {
            return Err(Stay::Apart(name));
        }
        let heads = nodes.filter(|&node| flow.successors[node].len() == 2);
        let copies = joined(&flow.successors, &sinking, own, heads);
        let copies: Vec<(usize, bool)> = copies
            .into_iter()
            .filter(|&(node, entry)| match entry {
                true => sinking.kept.entry[node] || !sinking.inserted.entry[node],
                false => sinking.kept.exit[node],
            })
            .collect();
        if copies.is_empty() {
            return Err(Stay::Dead(name));
        }
        let executions = profiled.and_then(|weights| self.executions(&flow, weights, at, &copies));
        if executions.is_none() && copies.len() > MOST_UNPROFILED {
            return Err(Stay::ManyCopies {
                name,
                copies: copies.len(),
            });
        }
        if executions.is_some_and(|(before, after)| after > 0.99 * before) {
            return Err(Stay::AlwaysRead(name));
        }
        let sunk = Sunk {
            edits: self
                .moved(&flow, at, &copies)
                .ok_or(Stay::NoPlace(name.clone()))?,
            statement: self.tree.statements()[at as usize].span,
            name,
            copies: copies.len(),
            loads,
            executions,
            price,
        };
        sink_check::check(self.text, &sunk)?;
        Ok(sunk)
    }

    /// A special register, whose value may be another at another time.
    fn reads_what_changes(&self, at: u32, i: &Instruction) -> bool {
        i.operands.iter().skip(1).any(|operand| match operand {
            Operand::Name(name) => name.text.starts_with('%') && self.register(at, name).is_none(),
            _ => false,
        })
    }

    pub(super) fn price(&self, at: u32, costs: &dyn Costs) -> f64 {
        let function = self.function;
        let all = function.layout.iter();
        let insts = all.flat_map(|&block| &function.blocks[block].insts);
        let own = insts.filter(|&&inst| self.statements[inst] == Some(at));
        own.map(|&inst| costs.inst(function, inst)).sum()
    }

    /// The flow between statements, without critical edges.
    fn flow(&self) -> Result<Flow, Stay> {
        let lines = &self.body.lines;
        let count = lines.len();
        let mut places = vec![Place::Entry];
        places.extend((0..count as u32).map(Place::Statement));
        let mut successors: Vec<Vec<usize>> = vec![vec![1]];
        for (at, line) in lines.iter().enumerate() {
            if matches!(self.tree.statements()[at].kind, StatementKind::Invalid(_)) {
                return Err(Stay::Unread("a statement is no PTX"));
            }
            let mut next: Vec<usize> = match &line.next {
                Next::Falls => vec![at + 1],
                Next::Jumps { targets, falls } => {
                    let fall = falls.then_some(at + 1);
                    let jumps = targets.iter().map(|&target| target as usize);
                    fall.into_iter().chain(jumps).collect()
                }
                Next::Ends => Vec::new(),
            };
            next.retain(|&next| next < count);
            next.dedup();
            successors.push(next.into_iter().map(|next| 1 + next).collect());
        }
        let mut arrive = vec![0u32; places.len()];
        for &to in successors.iter().flatten() {
            arrive[to] += 1;
        }
        for from in 0..places.len() {
            if successors[from].len() < 2 {
                continue;
            }
            for branch in 0..successors[from].len() {
                let to = successors[from][branch];
                if arrive[to] > 1 {
                    let edge = places.len();
                    places.push(Place::Edge {
                        from: from as u32 - 1,
                        taken: to != from + 1,
                    });
                    successors.push(vec![to]);
                    successors[from][branch] = edge;
                }
            }
        }
        Ok(Flow { places, successors })
    }

    /// What each place is to the statement; `memory`: a store changes its result.
    fn kinds(&self, flow: &Flow, at: u32, memory: bool) -> Vec<NodeKind> {
        let own = &self.body.lines[at as usize];
        let meet = |all: &[Register], some: &[Register]| all.iter().any(|it| some.contains(it));
        let places = flow.places.iter();
        let kinds = places.map(|place| match place {
            Place::Statement(other) if *other == at => NodeKind {
                is_statement: true,
                // An accumulation: it is computed of itself.
                reads: meet(&own.reads, &own.writes),
                ..NodeKind::default()
            },
            Place::Statement(other) => {
                let line = &self.body.lines[*other as usize];
                let writes = meet(&line.writes, &own.writes);
                // Of several results the others stay.
                let all = own.writes.iter().all(|it| line.writes.contains(it));
                let whole = line.kills && all;
                NodeKind {
                    is_statement: false,
                    reads: meet(&line.reads, &own.writes) || writes && !whole,
                    defines: writes && whole,
                    changes_operand: meet(&line.writes, &own.reads)
                        || memory && instruction(self, *other).is_some_and(changes_memory),
                }
            }
            _ => NodeKind::default(),
        });
        kinds.collect()
    }

    /// Executions of a statement before and after.
    fn executions(
        &self,
        flow: &Flow,
        weights: &EntityVec<Block, f64>,
        at: u32,
        copies: &[(usize, bool)],
    ) -> Option<(f64, f64)> {
        let function = self.function;
        let mut of_statement: Vec<Option<f64>> = vec![None; self.body.lines.len()];
        for &block in &function.layout {
            for &inst in &function.blocks[block].insts {
                if let Some(at) = self.statements[inst] {
                    of_statement[at as usize] = Some(weights[block]);
                }
            }
        }
        let mut after = 0.0;
        for &(node, _) in copies {
            // What stands at an edge is executed as often as the edge is taken, which blocks do not tell.
            let Place::Statement(other) = flow.places[node] else {
                return None;
            };
            after += of_statement[other as usize]?;
        }
        Some((of_statement[at as usize]?, after))
    }

    fn moved(&self, flow: &Flow, at: u32, copies: &[(usize, bool)]) -> Option<Vec<(Span, String)>> {
        let own = self.tree.statements();
        let newline = self.newline();
        let statement = own[at as usize].span;
        let text = slice(self.text, statement);
        let mut edits = vec![(without(self.text, statement), String::new())];
        for &(node, entry) in copies {
            let before = |at: u32, guard: &str| {
                let place = Span::at(own[at as usize].span.start);
                (place, format!("{guard}{text}{newline}\t"))
            };
            let behind = |at: u32| {
                let place = Span::at(line_end(self.text, own[at as usize].span.end));
                (place, format!("{newline}\t{text}"))
            };
            let edit = match flow.places[node] {
                Place::Entry => return None,
                Place::Statement(other) if entry => before(other, ""),
                Place::Statement(other) => match &self.body.lines[other as usize].next {
                    Next::Falls => behind(other),
                    Next::Jumps { falls: false, .. } => before(other, ""),
                    _ => return None,
                },
                Place::Edge { from, taken: false } => behind(from),
                Place::Edge { from, taken: true } => {
                    let branch = instruction(self, from)?;
                    let guard = branch
                        .guard
                        .as_ref()
                        .filter(|_| branch.opcode.text == "bra")?;
                    let not = if guard.negated { "!" } else { "" };
                    before(from, &format!("@{not}{} ", guard.predicate.text))
                }
            };
            edits.push(edit);
        }
        edits.sort_by_key(|(span, _)| (span.start, span.end));
        Some(edits)
    }
}

/// The text of a statement, with its line where nothing else stands there.
pub(super) fn without(text: &str, statement: Span) -> Span {
    let before = text.get(..statement.start as usize).unwrap_or("");
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let end = line_end(text, statement.end) as usize;
    let alone = before[start..].trim().is_empty();
    let rest = text.get(statement.end as usize..).unwrap_or("");
    let bare = rest.split('\n').next().unwrap_or("").trim().is_empty();
    match text.get(end..).and_then(|rest| rest.find('\n')) {
        Some(next) if alone && bare => Span::new(start as u32, (end + next + 1) as u32),
        _ => statement,
    }
}

fn slice(text: &str, span: Span) -> &str {
    text.get(span.start as usize..span.end as usize)
        .unwrap_or("")
}

/// The first register of the result.
fn result(i: &Instruction) -> Option<SmolStr> {
    fn first(operand: &Operand) -> Option<&Name> {
        match operand {
            Operand::Name(name) => Some(name),
            Operand::Vector(parts, _) => parts.iter().find_map(first),
            Operand::Pair(left, right, _) => first(left).or_else(|| first(right)),
            _ => None,
        }
    }
    i.operands
        .first()
        .and_then(first)
        .map(|name| name.text.clone())
}

/// Returns whether what memory holds may be something else behind an instruction.
pub(super) fn changes_memory(i: &Instruction) -> bool {
    let jumps = matches!(i.opcode.text.as_str(), "bra" | "brx" | "ret" | "exit");
    let opcode = Opcode::find(&i.opcode.text);
    let harmless = opcode.is_some_and(|opcode| opcode.effect() == Effect::Pure || opcode.loads());
    let ordered = ["volatile", "relaxed", "acquire", "mmio"];
    !jumps && (!harmless || i.inline_assembly || ordered.iter().any(|word| i.has(word)))
}
