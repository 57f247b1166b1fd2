//! Judges a statement of PTX that was moved, on the rewritten text: a walk forward over its flow tells at each place whether the
//! original has executed the statement and the text has not. Knows nothing of how the places were found.
//!
//! The rules, each with its violation:
//! 1. the statement is gone, what was inserted are copies of it, and nothing else changed;
//! 2. no name of it means several registers;
//! 3. a copy is executed only where it is due, on whatever way; one with a guard stands in front of a branch with that guard, and
//!    is executed where the branch is taken;
//! 4. where it is due, or was when something changed what it is computed of, nothing reads or partly overwrites its result.

use super::sink::{Sunk, changes_memory};
use crate::target::ptx::machine::body::{Body, Line, Next, Register};
use isa::ptx::Opcode;
use syntax::ptx::{Guard, Instruction, PtxFunction, PtxItemKind, StatementKind, parse_item};

/// A rule that does not hold.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Violation {
    #[error("something else than the statement changed")]
    Outside,
    #[error("`{0}` means several registers")]
    Ambiguous(String),
    #[error("a copy is executed where none is due")]
    NotDue,
    #[error("`{0}` reads the result before it is there")]
    Read(String),
}

/// The states in which a place can be reached, as bits.
const THERE: u8 = 1;
const DUE: u8 = 2;
/// It was due, and what it is computed of is another since.
const LOST: u8 = 4;

/// A place of the rewritten text, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Statement(u32),
    Copy(u32),
    /// Where the statement stood.
    Removed,
}

/// Judges the edits of `sunk` on an item's text.
///
/// # Errors
/// The first rule that does not hold.
pub(super) fn check(text: &str, sunk: &Sunk) -> Result<(), Violation> {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let slice = |from: u32, to: u32| text.get(from as usize..to as usize);
    let stood = sunk.statement;
    let own = slice(stood.start, stood.end).ok_or(Violation::Outside)?;
    let mut after = String::with_capacity(text.len());
    // Inserted text, and where the statement stood, in the new text.
    let mut inserted: Vec<(u32, u32)> = Vec::new();
    let mut removed = None;
    let mut from = 0;
    for (span, new) in &sunk.edits {
        let gone = slice(span.start, span.end).ok_or(Violation::Outside)?;
        after.push_str(slice(from, span.start).ok_or(Violation::Outside)?);
        let at = after.len() as u32;
        if new.is_empty() {
            if words(gone) != words(own) || removed.replace(at).is_some() {
                return Err(Violation::Outside);
            }
        } else if gone.is_empty() {
            after.push_str(new);
            inserted.push((at, after.len() as u32));
        } else {
            return Err(Violation::Outside);
        }
        from = span.end;
    }
    after.push_str(text.get(from as usize..).ok_or(Violation::Outside)?);
    let removed = removed.ok_or(Violation::Outside)?;
    let PtxItemKind::Function(tree) = parse_item(&after).kind else {
        return Err(Violation::Outside);
    };
    let mut steps = Vec::new();
    let mut copies = 0;
    for (at, statement) in tree.statements().iter().enumerate() {
        if statement.span.start >= removed && !steps.contains(&Step::Removed) {
            steps.push(Step::Removed);
        }
        let place = statement.span.start;
        let is_copy = inserted
            .iter()
            .any(|&(from, to)| (from..to).contains(&place));
        if is_copy {
            let span = statement.span;
            let text = after.get(span.start as usize..span.end as usize);
            let text = words(text.unwrap_or(""));
            let bare = match (text.starts_with('@'), text.split_once(' ')) {
                (true, Some((_, rest))) => rest,
                _ => &text,
            };
            if bare != words(own) {
                return Err(Violation::Outside);
            }
            copies += 1;
            steps.push(Step::Copy(at as u32));
        } else {
            steps.push(Step::Statement(at as u32));
        }
    }
    if copies != inserted.len() || !steps.contains(&Step::Removed) {
        return Err(Violation::Outside);
    }
    // Without any copy nothing reads the result, and there is no way on which that could be wrong.
    if copies == 0 {
        return Err(Violation::NotDue);
    }
    let PtxItemKind::Function(original) = parse_item(text).kind else {
        return Err(Violation::Outside);
    };
    let statements = original.statements().iter();
    let mut lines = statements.zip(Body::new(&original).lines);
    let found = lines.find(|(statement, _)| statement.span == stood);
    let (_, line) = found.ok_or(Violation::Outside)?;
    Walk::new(&after, &tree, &steps, line.places.len())?.check()
}

struct Walk<'a> {
    text: &'a str,
    tree: &'a PtxFunction,
    body: Body,
    steps: &'a [Step],
    /// Steps by statement.
    step_of: Vec<usize>,
    /// Results and operands of the statement.
    results: Vec<Register>,
    operands: Vec<Register>,
    memory: bool,
}

impl<'a> Walk<'a> {
    /// `registers` are those that the statement names.
    fn new(
        text: &'a str,
        tree: &'a PtxFunction,
        steps: &'a [Step],
        registers: usize,
    ) -> Result<Self, Violation> {
        let body = Body::new(tree);
        let mut step_of = vec![0; body.lines.len()];
        let mut copies = Vec::new();
        for (step, it) in steps.iter().enumerate() {
            match it {
                Step::Statement(at) => step_of[*at as usize] = step,
                Step::Copy(at) => {
                    step_of[*at as usize] = step;
                    copies.push(*at);
                }
                Step::Removed => {}
            }
        }
        let mut results: Vec<Register> = Vec::new();
        let mut operands: Vec<Register> = Vec::new();
        let mut memory = false;
        for &at in &copies {
            let StatementKind::Instruction(i) = &tree.statements()[at as usize].kind else {
                return Err(Violation::Outside);
            };
            let line = &body.lines[at as usize];
            // Each name is that of a register here, too.
            if line.places.len() != registers {
                return Err(Violation::Outside);
            }
            results.extend(&line.writes);
            // The guard of a copy is that of a branch, which reads it, too.
            operands.extend(&line.reads[usize::from(i.guard.is_some())..]);
            let constant = i.has("nc") || i.has("const");
            memory = !constant && Opcode::find(&i.opcode.text).is_some_and(Opcode::loads);
        }
        for register in results.iter().chain(&operands) {
            let name = &body.names[*register as usize];
            if body.names.iter().filter(|other| *other == name).count() > 1 {
                return Err(Violation::Ambiguous(name.to_string()));
            }
        }
        Ok(Walk {
            text,
            tree,
            body,
            steps,
            step_of,
            results,
            operands,
            memory,
        })
    }

    fn check(&self) -> Result<(), Violation> {
        let mut states = vec![0u8; self.steps.len()];
        let mut open = vec![(0usize, THERE)];
        while let Some((step, state)) = open.pop() {
            let Some(known) = states.get_mut(step) else {
                continue;
            };
            if *known | state == *known {
                continue;
            }
            *known |= state;
            let state = *known;
            match self.steps[step] {
                Step::Removed => open.push((step + 1, DUE)),
                Step::Copy(at) => {
                    if self.instruction(at).is_some_and(|i| i.guard.is_some()) {
                        // The branch behind it decides.
                        self.branch(step)?;
                        open.push((step + 1, state));
                    } else if state == DUE {
                        open.push((step + 1, THERE));
                    } else {
                        return Err(Violation::NotDue);
                    }
                }
                Step::Statement(at) => {
                    let line = &self.body.lines[at as usize];
                    let state = self.passed(at, line, state)?;
                    let carried = step.checked_sub(1).filter(|&before| self.carries(before));
                    match &line.next {
                        Next::Falls => open.push((step + 1, state)),
                        Next::Ends => {}
                        Next::Jumps { targets, falls } => {
                            if carried.is_some() && state != DUE {
                                return Err(Violation::NotDue);
                            }
                            let taken = if carried.is_some() { THERE } else { state };
                            for &target in targets {
                                open.push((self.step_of[target as usize], taken));
                            }
                            if *falls {
                                open.push((step + 1, state));
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// A copy with a guard.
    fn carries(&self, step: usize) -> bool {
        match self.steps[step] {
            Step::Copy(at) => self.instruction(at).is_some_and(|i| i.guard.is_some()),
            _ => false,
        }
    }

    /// A guarded copy has a branch with its guard behind it.
    fn branch(&self, step: usize) -> Result<(), Violation> {
        let guard = |step: usize| -> Option<(&Guard, &Instruction)> {
            let at = match self.steps.get(step)? {
                Step::Statement(at) | Step::Copy(at) => *at,
                Step::Removed => return None,
            };
            let i = self.instruction(at)?;
            Some((i.guard.as_ref()?, i))
        };
        let same = match (guard(step), guard(step + 1)) {
            (Some((own, _)), Some((other, branch))) => {
                branch.opcode.text == "bra"
                    && own.negated == other.negated
                    && own.predicate.text == other.predicate.text
            }
            _ => false,
        };
        same.then_some(()).ok_or(Violation::NotDue)
    }

    fn passed(&self, at: u32, line: &Line, state: u8) -> Result<u8, Violation> {
        let meets = |all: &[Register], some: &[Register]| all.iter().any(|it| some.contains(it));
        let writes = meets(&line.writes, &self.results);
        let whole = line.kills && self.results.iter().all(|it| line.writes.contains(it));
        let missing = state & (DUE | LOST) != 0;
        if missing && (meets(&line.reads, &self.results) || writes && !whole) {
            let span = self.tree.statements()[at as usize].span;
            let text = self.text.get(span.start as usize..span.end as usize);
            return Err(Violation::Read(text.unwrap_or("").to_owned()));
        }
        if whole && writes {
            return Ok(THERE);
        }
        let stores = self.memory && self.instruction(at).is_some_and(changes_memory);
        let changes = stores || meets(&line.writes, &self.operands);
        if changes && state & DUE != 0 {
            return Ok(state & !DUE | LOST);
        }
        Ok(state)
    }

    fn instruction(&self, at: u32) -> Option<&Instruction> {
        match &self.tree.statements().get(at as usize)?.kind {
            StatementKind::Instruction(i) => Some(i),
            _ => None,
        }
    }
}
