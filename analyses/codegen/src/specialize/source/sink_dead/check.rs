//! Judges a rewritten function by executing it and the original on symbols: both do the same in the same order.
//!
//! ```text
//! x = a * b;  if (c) f(x);        events: f(#17)        #17 is what `a`, `b` and `*` are hashed to
//! if (c) { x = a * b; f(x); }     events: f(#17)
//! ```
//!
//! A value is a hash of how it came about, memory a hash of all stores and calls so far. A condition that is
//! no known constant is decided by its hash and a seed, so that equal conditions are decided equally in both
//! functions; loops go on by chance. Events are stores, calls with effects, and returned values. Flags are
//! constants, which decide for themselves.
//!
//! Lanes are outside of its view. Values that depend on which other lanes are present are refused before.
//!
//! Shares no code with the transformation; the effects of a call are an input.

mod expressions;

use rustc_hash::FxHasher;
use smol_str::SmolStr;
use std::hash::{Hash, Hasher};
use syntax::Span;
use syntax::c_family::ast::*;

/// A rule that does not hold.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Violation {
    #[error("with decisions {seed} the functions do something else, first at event {event}")]
    Differs { seed: u64, event: usize },
    #[error("the text can't be followed: {0}")]
    NotFollowed(Reason),
}

/// The reason why a text is not executed on symbols.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Reason {
    #[error("it jumps to labels")]
    Jumps,
    #[error("a part of it is not understood")]
    Unknown,
    #[error("it is nested too deep")]
    Deep,
}

/// The effect of a call.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CallEffect {
    /// True if it does nothing that others see.
    pub harmless: bool,
    /// True if its result depends on memory that may be written.
    pub reads_memory: bool,
    /// Arguments that it assigns.
    pub written: Vec<usize>,
}

/// Knowledge of the unit around a function.
pub trait Unit {
    fn call(&self, callee: &Expr, arguments: &[Expr]) -> CallEffect;
    /// The memory behind this address or in this resource is not written while the function runs.
    fn is_read_only(&self, base: &Expr) -> bool;
    /// Only the function itself writes this part of a variable, by the variable's name.
    fn is_own(&self, part: &Expr) -> bool;
    /// A global name keeps its value while the function runs.
    fn is_unchanging(&self, name: &Name) -> bool;
}

/// A function with the text that its spans are in, and its unit.
#[allow(missing_debug_implementations)]
#[derive(Clone, Copy)]
pub struct Text<'a> {
    pub function: &'a Function,
    /// The text of an item-relative span.
    pub text: &'a dyn Fn(Span) -> &'a str,
    pub unit: &'a dyn Unit,
}

/// Sets of decisions that are tried.
const SEEDS: u64 = 96;
/// Statements of one run.
const FUEL: u32 = 4000;
const DEPTH: u32 = 200;

/// Compares two functions.
///
/// # Errors
/// The first decisions under which they differ.
pub fn check(before: Text<'_>, after: Text<'_>) -> Result<(), Violation> {
    for seed in 0..SEEDS {
        let first = Run::events(before, seed).map_err(Violation::NotFollowed)?;
        let second = Run::events(after, seed).map_err(Violation::NotFollowed)?;
        let both = first.iter().zip(&second);
        let same = both.take_while(|(a, b)| a == b).count();
        // One that ran out of fuel is compared as far as it came.
        let complete = first.len() == second.len() && same == first.len();
        let cut = first.last() == Some(&EXHAUSTED) || second.last() == Some(&EXHAUSTED);
        if !(complete || cut && same + 1 >= first.len().min(second.len())) {
            return Err(Violation::Differs { seed, event: same });
        }
    }
    Ok(())
}

const EXHAUSTED: u64 = 0x5bd1_e995_0000_0001;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Value {
    hash: u64,
    truth: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flow {
    Next,
    Break,
    Continue,
    Leave,
}

struct Run<'a> {
    text: Text<'a>,
    seed: u64,
    scopes: Vec<Vec<(SmolStr, Value)>>,
    memory: u64,
    events: Vec<u64>,
    fuel: u32,
}

fn mixed(parts: &[u64]) -> u64 {
    let mut hasher = FxHasher::default();
    parts.hash(&mut hasher);
    // The hash of few words is weak in its low bits.
    let mut hash = hasher.finish();
    hash ^= hash >> 31;
    hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ hash >> 29
}

fn word(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    for part in text.split_whitespace() {
        part.hash(&mut hasher);
    }
    mixed(&[hasher.finish()])
}

const fn plain(hash: u64) -> Value {
    Value { hash, truth: None }
}

impl<'a> Run<'a> {
    fn events(text: Text<'a>, seed: u64) -> Result<Vec<u64>, Reason> {
        let FunctionBody::Block(body) = &text.function.body else {
            return Err(Reason::Unknown);
        };
        let mut run = Run {
            text,
            seed,
            scopes: vec![Vec::new()],
            memory: word("memory"),
            events: Vec::new(),
            fuel: FUEL,
        };
        let mut seen_outside = Vec::new();
        for parameter in &text.function.parameters {
            if let Some(ident) = &parameter.name {
                let value = plain(mixed(&[word("parameter"), word(&ident.name)]));
                run.scopes[0].push((ident.name.clone(), value));
                let reference = matches!(parameter.ty.kind, TypeKind::Reference { .. });
                if parameter.direction != Direction::In || reference {
                    seen_outside.push(ident.name.clone());
                }
            }
        }
        run.block(body, 0)?;
        for name in seen_outside {
            let value = run.read(&name);
            run.events.push(value.hash);
        }
        if run.fuel == 0 {
            run.events.push(EXHAUSTED);
        }
        Ok(run.events)
    }

    fn slice(&self, span: Span) -> &'a str {
        (self.text.text)(span)
    }

    fn decide(&self, value: Value) -> bool {
        value
            .truth
            .unwrap_or_else(|| mixed(&[self.seed, value.hash]) & 1 == 1)
    }

    fn variable(&mut self, name: &str) -> Option<&mut Value> {
        let scopes = self.scopes.iter_mut().rev();
        scopes
            .flat_map(|scope| scope.iter_mut().rev())
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
    }

    fn read(&mut self, name: &str) -> Value {
        let global = mixed(&[word(name), self.memory]);
        self.variable(name).map_or(plain(global), |value| *value)
    }

    fn declare(&mut self, name: &SmolStr, value: Value) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.push((name.clone(), value));
        }
    }

    /// Records an event that others see.
    fn event(&mut self, what: u64) {
        self.events.push(what);
        self.memory = mixed(&[self.memory, what]);
    }

    fn block(&mut self, block: &Block, depth: u32) -> Result<Flow, Reason> {
        self.scopes.push(Vec::new());
        let flow = self.statements(&block.statements, depth);
        self.scopes.pop();
        flow
    }

    fn statements(&mut self, all: &[Stmt], depth: u32) -> Result<Flow, Reason> {
        for stmt in all {
            match self.stmt(stmt, depth + 1)? {
                Flow::Next => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    fn scoped(&mut self, stmt: &Stmt, depth: u32) -> Result<Flow, Reason> {
        self.scopes.push(Vec::new());
        let flow = self.stmt(stmt, depth);
        self.scopes.pop();
        flow
    }

    fn condition(&mut self, condition: &Condition) -> Result<Value, Reason> {
        match condition {
            Condition::Expr(e) => self.expr(e, 0),
            Condition::Declaration(declaration) => {
                self.declaration(declaration)?;
                let first = declaration.declarators.first();
                match first.map(|each| &each.name) {
                    Some(DeclaratorName::Plain(ident)) => Ok(self.read(&ident.name)),
                    _ => Err(Reason::Unknown),
                }
            }
        }
    }

    fn stmt(&mut self, stmt: &Stmt, depth: u32) -> Result<Flow, Reason> {
        if depth > DEPTH {
            return Err(Reason::Deep);
        }
        if self.fuel == 0 {
            return Ok(Flow::Leave);
        }
        self.fuel -= 1;
        match &stmt.kind {
            StmtKind::Expr(e) => {
                self.expr(e, 0)?;
                Ok(Flow::Next)
            }
            StmtKind::Declaration(declaration) => {
                self.declaration(declaration)?;
                Ok(Flow::Next)
            }
            StmtKind::Block(block) => self.block(block, depth),
            StmtKind::If {
                initializer,
                condition,
                then,
                otherwise,
                ..
            } => {
                self.scopes.push(Vec::new());
                if let Some(first) = initializer {
                    self.stmt(first, depth + 1)?;
                }
                let value = self.condition(condition)?;
                let flow = match (self.decide(value), otherwise) {
                    (true, _) => self.scoped(then, depth + 1),
                    (false, Some(otherwise)) => self.scoped(otherwise, depth + 1),
                    (false, None) => Ok(Flow::Next),
                };
                self.scopes.pop();
                flow
            }
            StmtKind::For {
                initializer,
                condition,
                step,
                body,
            } => {
                self.scopes.push(Vec::new());
                if let Some(first) = initializer {
                    self.stmt(first, depth + 1)?;
                }
                let flow = self.repeated(condition.as_ref(), step.as_ref(), body, true, depth);
                self.scopes.pop();
                flow
            }
            StmtKind::While { condition, body } => {
                self.scopes.push(Vec::new());
                let flow = self.repeated(Some(condition), None, body, true, depth);
                self.scopes.pop();
                flow
            }
            StmtKind::DoWhile { body, condition } => {
                let condition = Condition::Expr(condition.clone());
                self.repeated(Some(&condition), None, body, false, depth)
            }
            StmtKind::RangeFor {
                declaration,
                range,
                body,
            } => {
                let over = self.expr(range, 0)?;
                for iteration in 0.. {
                    let more = plain(mixed(&[over.hash, word("range"), iteration]));
                    if self.fuel == 0 || !self.decide(more) {
                        break;
                    }
                    self.scopes.push(Vec::new());
                    for each in &declaration.declarators {
                        if let DeclaratorName::Plain(ident) = &each.name {
                            self.declare(&ident.name, plain(mixed(&[more.hash, self.memory])));
                        }
                    }
                    let flow = self.stmt(body, depth + 1);
                    self.scopes.pop();
                    match flow? {
                        Flow::Break => break,
                        Flow::Leave => return Ok(Flow::Leave),
                        Flow::Next | Flow::Continue => {}
                    }
                }
                Ok(Flow::Next)
            }
            StmtKind::Switch {
                initializer,
                condition,
                body,
            } => {
                self.scopes.push(Vec::new());
                if let Some(first) = initializer {
                    self.stmt(first, depth + 1)?;
                }
                let value = self.condition(condition)?;
                let flow = self.switch(value, body, depth);
                self.scopes.pop();
                flow
            }
            StmtKind::Break => Ok(Flow::Break),
            StmtKind::Continue => Ok(Flow::Continue),
            StmtKind::Return(value) => {
                let value = match value {
                    Some(e) => self.expr(e, 0)?.hash,
                    None => 0,
                };
                self.events.push(mixed(&[word("return"), value]));
                Ok(Flow::Leave)
            }
            StmtKind::Discard => {
                self.event(word("discard"));
                Ok(Flow::Leave)
            }
            StmtKind::Asm(asm) => {
                let mut parts = vec![word("asm"), word(&asm.template), self.memory];
                for (constraint, e) in asm.inputs.iter().chain(&asm.outputs) {
                    parts.push(word(constraint));
                    parts.push(self.expr(e, 0)?.hash);
                }
                let what = mixed(&parts);
                self.event(what);
                for (at, (_, e)) in (0..).zip(&asm.outputs) {
                    self.store(e, plain(mixed(&[what, at])))?;
                }
                Ok(Flow::Next)
            }
            StmtKind::Struct(_)
            | StmtKind::Enum(_)
            | StmtKind::Alias(_)
            | StmtKind::UsingNamespace(_)
            | StmtKind::Case { .. }
            | StmtKind::Default
            | StmtKind::Empty => Ok(Flow::Next),
            StmtKind::Goto(_) | StmtKind::Label(_) => Err(Reason::Jumps),
            StmtKind::Skipped(_) | StmtKind::Unknown => Err(Reason::Unknown),
        }
    }

    fn repeated(
        &mut self,
        condition: Option<&Condition>,
        step: Option<&Expr>,
        body: &Stmt,
        test_first: bool,
        depth: u32,
    ) -> Result<Flow, Reason> {
        for iteration in 0u64.. {
            if self.fuel == 0 {
                return Ok(Flow::Leave);
            }
            if test_first || iteration > 0 {
                let value = match condition {
                    Some(condition) => self.condition(condition)?,
                    None => plain(word("forever")),
                };
                let value = Value {
                    hash: mixed(&[value.hash, iteration]),
                    ..value
                };
                if !self.decide(value) {
                    break;
                }
            }
            match self.scoped(body, depth + 1)? {
                Flow::Break => break,
                Flow::Leave => return Ok(Flow::Leave),
                Flow::Next | Flow::Continue => {}
            }
            if let Some(step) = step {
                self.expr(step, 0)?;
            }
        }
        Ok(Flow::Next)
    }

    fn switch(&mut self, value: Value, body: &Stmt, depth: u32) -> Result<Flow, Reason> {
        let StmtKind::Block(block) = &body.kind else {
            return Err(Reason::Unknown);
        };
        let labels: Vec<usize> = (0..block.statements.len())
            .filter(|&at| {
                matches!(
                    block.statements[at].kind,
                    StmtKind::Case { .. } | StmtKind::Default
                )
            })
            .collect();
        let chosen = mixed(&[self.seed, value.hash]) as usize % (labels.len() + 1);
        let Some(&from) = labels.get(chosen) else {
            return Ok(Flow::Next);
        };
        self.scopes.push(Vec::new());
        let flow = self.statements(&block.statements[from..], depth);
        self.scopes.pop();
        Ok(match flow? {
            Flow::Break => Flow::Next,
            other => other,
        })
    }

    fn declaration(&mut self, declaration: &Declaration) -> Result<(), Reason> {
        for declarator in &declaration.declarators {
            let DeclaratorName::Plain(ident) = &declarator.name else {
                return Err(Reason::Unknown);
            };
            let value = match &declarator.initializer {
                Initializer::None => plain(mixed(&[word("none"), word(&ident.name)])),
                Initializer::Copy(e) => self.expr(e, 0)?,
                Initializer::Paren(all) | Initializer::Brace(all) => {
                    let mut parts = vec![word("made")];
                    for e in all {
                        parts.push(self.expr(e, 0)?.hash);
                    }
                    plain(mixed(&parts))
                }
            };
            self.declare(&ident.name, value);
        }
        Ok(())
    }
}
