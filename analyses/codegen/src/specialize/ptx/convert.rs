//! A branch of PTX over a few statements, as predicates of these statements: lanes that would wait for others take their issue
//! slots along, and nothing has to meet again.
//!
//! ```text
//! @%p1 bra $L1;                              @!%p1 add.rn.f32 %f2, %f1, 0f3F800000;
//! add.rn.f32 %f2, %f1, 0f3F800000;     ->    @%p1 mul.rn.f32 %f2, %f1, 0f40000000;
//! bra $L2;
//! $L1: mul.rn.f32 %f2, %f1, 0f40000000;
//! $L2:
//! ```
//!
//! A side is a straight run of statements that nothing else jumps into. Each lane executes the statements that it executed
//! before, in the same order, so registers need no second look: only the predicate must keep its value. Linear in the sides,
//! and in the jumps of the body.
//!
//! Cheap is what loses no more, where the lanes of a warp take one side together, than it gains where they part; with a profile, what
//! takes fewer cycles in its runs.
//!
//! Not converted: sides that leave the function, call, have labels of their own, or hold what lanes of a warp do together;
//! statements that have a guard already.
//!
//! Source: PTX ISA 8.5, section 9.3, predicated execution.

use super::fast::instruction;
use super::region::{exchanges, uncopied};
use super::{Document, sink};
use crate::target::ptx::machine::body::{Next, Register};
use facts::cost::{Machine, Work};
use ir::{Block, EntityVec};
use isa::ptx::Opcode;
use smol_str::SmolStr;
use syntax::Span;
use syntax::ptx::{Instruction, StatementKind};

/// Statements of both sides, at most.
const MOST: usize = 64;

/// Cycles of a warp for an execution; estimates.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cycles {
    /// All lanes jump, none does, some do.
    pub taken: f64,
    pub passed: f64,
    pub parted: f64,
    /// The statements under predicates.
    pub converted: f64,
}

/// A branch that has been converted.
#[derive(Clone, PartialEq, Debug)]
pub struct Converted {
    /// The register of its guard.
    pub predicate: SmolStr,
    /// The branch, relative to the item.
    pub branch: Span,
    /// Relative to the item, ascending, not overlapping.
    pub edits: Vec<(Span, String)>,
    /// Statements that are executed where the branch jumps, and where it does not.
    pub statements: [usize; 2],
    pub cycles: Cycles,
    /// Lanes of a warp may part at it.
    pub parts: bool,
    /// Cycles for one invocation, before and after, by the executions of blocks; without those that lanes take to meet again. `None`:
    /// they are not known.
    pub profiled: Option<(f64, f64)>,
}

/// The reason why a branch stays.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Unconverted {
    #[error("no branch with a guard stands here")]
    NoBranch,
    #[error("the branch leads back: it closes a loop")]
    Back,
    #[error("its sides are more than a straight run of statements each: {0}")]
    Shape(&'static str),
    #[error("something else jumps to `{0}`, between its sides")]
    Entered(SmolStr),
    #[error("its sides hold `{0}`, which is not for each lane by itself, or belongs to a call")]
    Statement(SmolStr),
    #[error("`{0}` has a guard already")]
    Guarded(SmolStr),
    #[error("`{0}`, which decides, is written on its sides")]
    Overwritten(SmolStr),
    #[error(
        "its sides are not cheap: {:.0} cycles of a warp under predicates, {:.0} with the branch where lanes part, but {:.0} or {:.0} where they take one side together, and no profile says how often (estimate)",
        .0.converted, .0.parted, .0.taken, .0.passed
    )]
    Dear(Cycles),
    #[error(
        "by the profile {converted:.0} cycles of a warp under predicates, {branching:.0} with the branch (estimate)"
    )]
    Counted { converted: f64, branching: f64 },
    #[error(
        "the lanes of a warp take it together: {converted:.0} cycles under predicates, {branching:.0} on the shorter side, and no profile says which is usual (estimate)"
    )]
    Together { converted: f64, branching: f64 },
}

impl Unconverted {
    /// An editor does not tell it at each statement.
    #[must_use]
    pub const fn quiet(&self) -> bool {
        matches!(self, Unconverted::NoBranch | Unconverted::Back)
    }
}

/// The statements of a branch's sides: those behind it, and those where it jumps to.
struct Sides {
    passed: Vec<u32>,
    taken: Vec<u32>,
    /// Statements that go: the branch, the jump behind the first side, and the label that it leads past.
    gone: Vec<u32>,
    jumps: bool,
}

impl Document<'_> {
    /// Converts the branch that is a statement; `profiled` are the executions of blocks for one invocation, by a profile, and
    /// `parts_lanes` tells whether lanes may take both sides of a branch.
    ///
    /// # Errors
    /// The reason why it stays.
    pub fn convert(
        &self,
        at: u32,
        machine: &Machine,
        profiled: Option<&EntityVec<Block, f64>>,
        parts_lanes: &dyn Fn(Span) -> bool,
    ) -> Result<Converted, Unconverted> {
        let i = instruction(self, at).ok_or(Unconverted::NoBranch)?;
        let guard = i.guard.as_ref().ok_or(Unconverted::NoBranch)?;
        if i.opcode.text != "bra" {
            return Err(Unconverted::NoBranch);
        }
        let predicate = guard.predicate.text.clone();
        let register = self.body.lines[at as usize].reads.first().copied();
        let register = register.ok_or(Unconverted::NoBranch)?;
        let sides = self.sides(at)?;
        for &statement in sides.passed.iter().chain(&sides.taken) {
            self.predicable(statement, register)?;
        }
        let price = |side: &[u32]| -> f64 { side.iter().map(|&at| self.price(at, machine)).sum() };
        let (passed, taken) = (price(&sides.passed), price(&sides.taken));
        let branch = machine.charge(Work::Branch).cycles;
        let jump = if sides.jumps { branch } else { 0.0 };
        let cycles = Cycles {
            taken: branch + taken,
            passed: branch + passed + jump,
            parted: branch + machine.reconverge + passed + jump + taken,
            converted: passed + taken,
        };
        let span = self.tree.statements()[at as usize].span;
        let parts = parts_lanes(span);
        let counts = || {
            let weights = profiled?;
            let head = self.branching(at)?;
            // Some statements are no instruction of the IR: then it is the block to which the other side does not lead.
            let homes = [&sides.passed, &sides.taken]
                .map(|side| side.iter().find_map(|&at| self.block_of(at)));
            let edges = self.function.blocks[head].terminator.edges();
            let times = |side: usize| match (homes[side], homes[1 - side]) {
                _ if [&sides.passed, &sides.taken][side].is_empty() => Some(0.0),
                (Some(home), _) => Some(weights[home]),
                (None, Some(other)) => {
                    let mut rest = edges.iter().filter(|edge| edge.block != other);
                    let home = rest.next()?.block;
                    rest.next().is_none().then(|| weights[home])
                }
                (None, None) => None,
            };
            let (head, left, right) = (weights[head], times(0)?, times(1)?);
            let before = head * branch + left * (passed + jump) + right * taken;
            Some((before, head * cycles.converted))
        };
        let counted = counts();
        if let Some((branching, converted)) = counted.filter(|it| it.1 > it.0) {
            return Err(Unconverted::Counted {
                converted,
                branching,
            });
        }
        // Which way is usual nobody knows without a profile.
        let loss = cycles.converted - f64::midpoint(cycles.taken, cycles.passed);
        let shorter = cycles.taken.min(cycles.passed);
        match counted {
            None if !parts && cycles.converted > shorter => {
                return Err(Unconverted::Together {
                    converted: cycles.converted,
                    branching: shorter,
                });
            }
            None if parts && loss > cycles.parted - cycles.converted => {
                return Err(Unconverted::Dear(cycles));
            }
            _ => {}
        }
        let in_front = |statement: u32, text: String| {
            let place = self.tree.statements()[statement as usize].span.start;
            (Span::at(place), text)
        };
        let under = |holds: bool| {
            let not = if guard.negated == holds { "!" } else { "" };
            format!("@{not}{predicate} ")
        };
        let left = sides.passed.iter().map(|&at| in_front(at, under(false)));
        let right = sides.taken.iter().map(|&at| in_front(at, under(true)));
        let gone = sides.gone.iter().map(|&at| {
            let span = self.tree.statements()[at as usize].span;
            (sink::without(self.text, span), String::new())
        });
        let mut edits: Vec<(Span, String)> = left.chain(right).chain(gone).collect();
        edits.sort_by_key(|(span, _)| (span.start, span.end));
        Ok(Converted {
            predicate: predicate.clone(),
            branch: span,
            edits,
            statements: [sides.taken.len(), sides.passed.len()],
            cycles,
            parts,
            profiled: counted,
        })
    }

    /// The sides of a branch: one that is jumped over, or two that meet.
    fn sides(&self, at: u32) -> Result<Sides, Unconverted> {
        let Next::Jumps { targets, .. } = &self.body.lines[at as usize].next else {
            return Err(Unconverted::NoBranch);
        };
        let &[target] = targets.as_slice() else {
            return Err(Unconverted::Shape("it leads to several places"));
        };
        if target <= at {
            return Err(Unconverted::Back);
        }
        let (passed, end) = self.straight(at + 1, target)?;
        if end == target {
            return Ok(Sides {
                passed,
                taken: Vec::new(),
                gone: vec![at],
                jumps: false,
            });
        }
        // Behind the first side the other one is jumped over.
        let Next::Jumps { targets, .. } = &self.body.lines[end as usize].next else {
            return Err(Unconverted::Shape("one of them leaves the function"));
        };
        let &[join] = targets.as_slice() else {
            return Err(Unconverted::Shape("one of them leads to several places"));
        };
        if join <= target {
            return Err(Unconverted::Shape("they do not meet behind the branch"));
        }
        if self.straight(end + 1, target)? != (Vec::new(), target) {
            return Err(Unconverted::Shape("they do not stand one behind the other"));
        }
        if self.arrivals(target) > 1 {
            return Err(Unconverted::Entered(self.label(target)));
        }
        let (taken, reached) = self.straight(target + 1, join)?;
        if reached != join {
            return Err(Unconverted::Shape("they do not meet"));
        }
        if passed.len() + taken.len() > MOST {
            return Err(Unconverted::Shape("they are long"));
        }
        // A table that names it needs the label.
        let own = self.tree.statements().iter();
        let label = self.label(target);
        let named = own.into_iter().any(|it| {
            matches!(&it.kind, StatementKind::BranchTargets(names) if names.iter().any(|name| name.text == label))
        });
        let mut gone = vec![at, end];
        if !named {
            gone.push(target);
        }
        Ok(Sides {
            passed,
            taken,
            gone,
            jumps: true,
        })
    }

    /// The instructions from a statement to another one, or to the first that does not fall through.
    fn straight(&self, start: u32, end: u32) -> Result<(Vec<u32>, u32), Unconverted> {
        let own = self.tree.statements();
        let mut out = Vec::new();
        for at in start..end {
            match &own[at as usize].kind {
                StatementKind::Instruction(i) => {
                    let plain = matches!(self.body.lines[at as usize].next, Next::Falls);
                    let jumps = i.opcode.text == "bra" && i.guard.is_none();
                    if jumps || i.guard.is_none() && !plain {
                        return Ok((out, at));
                    }
                    if !plain {
                        return Err(Unconverted::Shape("a branch stands in one of them"));
                    }
                    out.push(at);
                }
                StatementKind::Label(name) if self.arrivals(at) > 0 => {
                    return Err(Unconverted::Entered(name.text.clone()));
                }
                StatementKind::Label(_) | StatementKind::Location(_) => {}
                StatementKind::Open | StatementKind::Close => {
                    return Err(Unconverted::Shape("a scope begins or ends in one of them"));
                }
                _ => {
                    return Err(Unconverted::Shape(
                        "one of them holds more than instructions",
                    ));
                }
            }
            if out.len() > MOST {
                return Err(Unconverted::Shape("one of them is long"));
            }
        }
        Ok((out, end))
    }

    /// Jumps to a statement.
    fn arrivals(&self, at: u32) -> usize {
        let lines = self.body.lines.iter();
        let jumps = lines.filter_map(|line| match &line.next {
            Next::Jumps { targets, .. } => Some(targets.iter().filter(|&&to| to == at).count()),
            _ => None,
        });
        jumps.sum()
    }

    fn label(&self, at: u32) -> SmolStr {
        match self.statement(at).map(|it| &it.kind) {
            Some(StatementKind::Label(name)) => name.text.clone(),
            _ => SmolStr::default(),
        }
    }

    fn predicable(&self, at: u32, predicate: Register) -> Result<(), Unconverted> {
        let Some(i) = instruction(self, at) else {
            return Ok(());
        };
        let name = || i.opcode.text.clone();
        if i.guard.is_some() {
            return Err(Unconverted::Guarded(name()));
        }
        if !is_of_a_lane(i) {
            return Err(Unconverted::Statement(name()));
        }
        let line = &self.body.lines[at as usize];
        if line.writes.contains(&predicate) {
            let name = self.body.names[predicate as usize].clone();
            return Err(Unconverted::Overwritten(name));
        }
        Ok(())
    }

    /// The block with the instructions of a statement.
    fn block_of(&self, at: u32) -> Option<Block> {
        let function = self.function;
        let mut blocks = function.layout.iter().copied();
        blocks.find(|&block| {
            let mut insts = function.blocks[block].insts.iter();
            insts.any(|&inst| self.statements[inst] == Some(at))
        })
    }

    /// The block that ends with the branch that is a statement.
    fn branching(&self, at: u32) -> Option<Block> {
        let span = self.statement(at)?.span;
        let mut blocks = self.function.layout.iter().copied();
        blocks.find(|&block| {
            let loc = self.function.blocks[block].loc;
            let inside = span.start <= loc.span.start && loc.span.end <= span.end;
            loc != ir::Loc::NONE && loc.site == ir::Site(0) && inside
        })
    }
}

/// Returns whether each lane executes an instruction for itself, and it may have a guard.
fn is_of_a_lane(i: &Instruction) -> bool {
    let opcode = i.opcode.text.as_str();
    let leaves = matches!(
        opcode,
        "call" | "ret" | "exit" | "trap" | "brkpt" | "nanosleep"
    );
    let known = Opcode::find(opcode).is_some();
    // What ends a call's passing of parameters stands with it.
    let passes = i.has("param") && i.modifiers.first().is_some_and(|space| space == "param");
    let together = exchanges(i) || i.has("aligned") || uncopied(i, false).is_some();
    known && !leaves && !passes && !together
}
