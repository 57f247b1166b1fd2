//! Versioning on zero in PTX text: a vote behind the statement that writes a register, and a copy of the statements after
//! it for the warps where the register is zero. No line of the document changes; two pieces are inserted.
//!
//! ```text
//! mul.f32 %f3, %f1, %f2;          mul.f32 %f3, %f1, %f2;
//!                                 { setp.eq.f32 p, %f3, 0; activemask m; vote.sync.all q, p, m; @q bra ZERO; }
//! ...                       ->    ...
//!                                 bra JOIN;
//!                                 ZERO: ... (folded and pruned)
//!                                 JOIN:
//! ```
//!
//! Both paths write the same registers, so that nothing needs to be merged behind them. `fold` finds on the
//! IR, statement by statement, the values that are constants or copies if the register is zero; the liveness
//! of registers (`text`) finds those that are not read any more. The region is the smallest run of statements
//! after the check that holds all of the changes, has no label that is reached from outside, and closes what
//! it opens. `remove` takes a version back, byte for byte; `check` judges the result, knowing neither `fold`
//! nor `text`.
//!
//! Not done: motion of the check before statements that it does not need; regions with tables of branches.
//!
//! Source: Stephenson and Rangan, *AZP*; notes, sections 9, 10 and 11.7. PTX ISA 8.5, sections 9.7.12 and 9.7.13.

pub mod check;
mod convert;
mod fast;
mod guard;
mod live;
mod region;
mod remove;
mod sink;
mod sink_check;

pub use convert::{Converted, Cycles, Unconverted};
pub use guard::{Guards, unguard};
pub use remove::{Removal, remove};
pub use sink::{Stay, Sunk};
pub use sink_check::Violation as SinkViolation;

use super::accept::Model;
use super::{Context, Costs, Zeros};
use crate::target::ptx::machine::body::{Body, Next};
use facts::zeros::Never;
use fast::Fast;
use ir::{BindingKind, Block, EntityVec, Function, Inst, Op, Site, Type, Value, ValueDef};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use smol_str::SmolStr;
use std::fmt::Write;
use syntax::Span;
use syntax::ptx::{Name, PtxFunction, Statement, StatementKind};

/// The mark at the start of a version, in a comment.
pub const MARK: &str = "lockstep: version on zero of ";
/// Statements of a body that is versioned, at most.
const MOST_STATEMENTS: usize = 40_000;
/// Labels that the copies of one version begin with; a number follows.
const ZERO: &str = "$lockstep_zero_";
const JOIN: &str = "$lockstep_join_";

/// A function of a PTX file, as text, as a tree and as IR.
#[allow(missing_debug_implementations)]
pub struct Document<'a> {
    /// The item's text; spans of the tree count from its start.
    pub text: &'a str,
    pub tree: &'a PtxFunction,
    /// The tree, lowered.
    pub function: &'a Function,
    /// `.version` of the file.
    pub version: Option<(u32, u32)>,
    body: Body,
    /// The values that names hold, by the places of the names.
    values: FxHashMap<u32, Value>,
    /// Indexed by instruction: its statement.
    statements: EntityVec<Inst, Option<u32>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    /// Zero times anything is zero.
    pub absorb: bool,
    /// All lanes of every warp run every statement together, and warps are whole.
    pub whole_warps: bool,
    /// All lanes of a warp hold the same value: a branch needs no vote.
    pub uniform: bool,
    /// Labels have this number at least: several versions are written of one text.
    pub number: u32,
}

/// Registers that a version could test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    pub members: SmallVec<[Value; 4]>,
    pub names: SmallVec<[SmolStr; 4]>,
    /// The places at which they are written.
    pub places: SmallVec<[Span; 4]>,
    /// The last of the statements that write them.
    statement: u32,
}

/// The reason why registers are not versioned.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    #[error("no register is written here whose zero would make something useless")]
    NoRegister,
    #[error("`{0}` is overwritten before the others are written")]
    Overwritten(SmolStr),
    #[error("nothing becomes useless where `{0}` is zero")]
    NothingSaved(String),
    #[error("{}", super::IEEE)]
    Ieee,
    #[error("`{name}` is zero in no warp: {}", .why.reason())]
    NeverZero { name: String, why: Never },
    #[error("the statements hold a barrier, whose copies would stand on two paths")]
    Barrier,
    #[error(
        "the statements exchange values between lanes, and lanes of a warp that do not run together would vote apart"
    )]
    CrossLane,
    #[error("the statements hold what can't be copied: `{0}`")]
    Uncopied(SmolStr),
    #[error("the file is written for PTX {0}.{1}: votes of the lanes that run together need 6.2")]
    Older(u32, u32),
    #[error("the file does not lower to what the votes need: {0}")]
    Unread(&'static str),
    #[error("the rewritten text was not accepted: {0}")]
    Check(#[from] Rejection),
}

/// The reason why a rewritten text is not accepted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Rejection {
    #[error("the edit is out of range")]
    OutOfRange,
    #[error("it can't be taken back")]
    NotRemovable,
    #[error(transparent)]
    Rule(#[from] check::Violation),
}

impl Refusal {
    /// A short name for counts.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Refusal::NoRegister => "no-register",
            Refusal::Overwritten(_) => "overwritten",
            Refusal::NothingSaved(_) => "nothing-saved",
            Refusal::Ieee => "ieee",
            Refusal::NeverZero { .. } => "never-zero",
            Refusal::Barrier => "barrier",
            Refusal::CrossLane => "cross-lane",
            Refusal::Uncopied(_) => "uncopied",
            Refusal::Older(..) => "older",
            Refusal::Unread(_) => "unread",
            Refusal::Check(_) => "check",
        }
    }
}

/// A version that has been written.
#[derive(Clone, PartialEq, Debug)]
pub struct Version {
    pub name: String,
    /// The number of its labels.
    pub number: u32,
    /// The insertions by item-relative offset, ascending.
    pub insertions: Vec<(u32, String)>,
    /// The probability is left at 0.
    pub model: Model,
    /// Statements of the region, and of its copy.
    pub statements: usize,
    pub fast_statements: usize,
}

impl<'a> Document<'a> {
    #[must_use]
    pub fn new(
        text: &'a str,
        tree: &'a PtxFunction,
        function: &'a Function,
        version: Option<(u32, u32)>,
    ) -> Self {
        let own = tree.statements();
        let mut statements = EntityVec::with_len(None, function.insts.len());
        for &block in &function.layout {
            for &inst in &function.blocks[block].insts {
                statements[inst] = statement_of(function, own, inst);
            }
        }
        let mut values = FxHashMap::default();
        for binding in &function.bindings {
            if binding.loc.site == Site(0)
                && binding.kind != BindingKind::Declaration
                && let &[value] = binding.values.as_slice()
            {
                values.insert(binding.loc.span.start, value);
            }
        }
        Document {
            text,
            tree,
            function,
            version,
            body: Body::new(tree),
            values,
            statements,
        }
    }

    fn statement(&self, at: u32) -> Option<&Statement> {
        self.tree.statements().get(at as usize)
    }

    /// Returns the value of a name at its place.
    fn value_at(&self, name: &Name) -> Option<Value> {
        self.values.get(&name.span.start).copied()
    }

    /// Registers whose zero makes something useless, alone and as vectors, in the order of the text.
    #[must_use]
    pub fn candidates(&self) -> Vec<Candidate> {
        if self.tree.statements().len() > MOST_STATEMENTS {
            return Vec::new();
        }
        let written = self.written();
        let mut found: Vec<Candidate> = Vec::new();
        for candidate in facts::zeros::candidates(self.function) {
            let mut out = Candidate {
                members: SmallVec::new(),
                names: SmallVec::new(),
                places: SmallVec::new(),
                statement: 0,
            };
            for &member in &candidate.members {
                if let Some((place, name, statement)) = written.get(&member)
                    && testable(self.function.ty(member))
                {
                    out.members.push(member);
                    out.names.push(name.clone());
                    out.places.push(*place);
                    out.statement = out.statement.max(*statement);
                }
            }
            if out.members.len() == candidate.members.len() {
                found.push(out);
            }
        }
        found.sort_by_key(|it| (it.statement, it.members.len(), it.places.first().copied()));
        found
    }

    /// Returns where each value is first written to a register: the place, the register, the statement.
    fn written(&self) -> FxHashMap<Value, (Span, SmolStr, u32)> {
        let mut written: FxHashMap<Value, (Span, SmolStr, u32)> = FxHashMap::default();
        let own = self.tree.statements();
        for binding in &self.function.bindings {
            let &[value] = binding.values.as_slice() else {
                continue;
            };
            let register = &self.function.variables[binding.variable];
            if binding.kind != BindingKind::Assignment
                || binding.loc.site != Site(0)
                || register.kind != ir::VariableKind::Register
            {
                continue;
            }
            let ValueDef::Result(inst, _) = self.function.values[value].def else {
                continue;
            };
            let Some(statement) = containing(own, binding.loc.span.start) else {
                continue;
            };
            // A register that holds the result of another one is written by another statement.
            if self.statements[inst] == Some(statement) {
                let entry = (binding.loc.span, register.name.clone(), statement);
                written.entry(value).or_insert(entry);
            }
        }
        written
    }

    /// Writes a version.
    ///
    /// # Errors
    /// When it would not be right, or saves nothing.
    pub fn version(
        &self,
        candidate: &Candidate,
        settings: Settings,
        costs: &dyn Costs,
        weights: &EntityVec<Block, f64>,
    ) -> Result<Version, Refusal> {
        let (major, minor) = self.version.unwrap_or((1, 0));
        if (major, minor) < (6, 2) && !settings.uniform {
            return Err(Refusal::Older(major, minor));
        }
        self.permitted(candidate, settings, costs, weights, |cx, settings| {
            self.attempt(cx, candidate, settings)
        })
    }

    /// Tries something, and tells where it would save something if zero times anything were zero.
    fn permitted<R>(
        &self,
        candidate: &Candidate,
        settings: Settings,
        costs: &dyn Costs,
        weights: &EntityVec<Block, f64>,
        attempt: impl Fn(&Context<'_>, Settings) -> Result<R, Refusal>,
    ) -> Result<R, Refusal> {
        let zeros = |absorb| if absorb { Zeros::Absorb } else { Zeros::Ieee };
        let cx = Context::new(self.function, costs, weights, zeros(settings.absorb));
        let first = attempt(&cx, settings);
        let floats = candidate
            .members
            .iter()
            .any(|&member| self.function.ty(member).is_float());
        if !settings.absorb && floats && matches!(first, Err(Refusal::NothingSaved(_))) {
            let cx = Context::new(self.function, costs, weights, Zeros::Absorb);
            let permitted = Settings {
                absorb: true,
                ..settings
            };
            if attempt(&cx, permitted).is_ok() {
                return Err(Refusal::Ieee);
            }
        }
        first
    }

    fn attempt(
        &self,
        cx: &Context<'_>,
        candidate: &Candidate,
        settings: Settings,
    ) -> Result<Version, Refusal> {
        self.holds(candidate)?;
        let name = candidate.names.join(", ");
        let fast = Fast::new(self, cx, candidate, settings)?;
        let number = self.number(settings.number.max(1));
        let newline = self.newline();
        let write = Writing {
            document: self,
            candidate,
            settings,
            number,
            name: &name,
            newline,
        };
        let at = |statement: u32| {
            let end = self.statement(statement).map_or(0, |it| it.span.end);
            line_end(self.text, end)
        };
        let check = write.check(at(candidate.statement));
        let copy = write.copy(&fast, at(fast.end - 1));
        Ok(Version {
            number,
            insertions: vec![(at(candidate.statement), check), (at(fast.end - 1), copy)],
            model: fast.model(cx, candidate.members.len(), settings.uniform),
            statements: fast.length(),
            fast_statements: fast.copied(),
            name,
        })
    }

    /// All members are in their registers behind the last of them.
    fn holds(&self, candidate: &Candidate) -> Result<(), Refusal> {
        let own = self.tree.statements();
        let place = |at: usize| containing(own, candidate.places[at].start);
        for (at, name) in candidate.names.iter().enumerate() {
            let refuse = || Refusal::Overwritten(name.clone());
            if name.starts_with("%ls") {
                return Err(refuse());
            }
            let from = place(at).ok_or(Refusal::NoRegister)?;
            let register = self.body.lines[from as usize].writes.clone();
            for between in from + 1..=candidate.statement {
                let line = &self.body.lines[between as usize];
                let straight = matches!(line.next, Next::Falls)
                    && !matches!(
                        own[between as usize].kind,
                        StatementKind::Label(_) | StatementKind::Open | StatementKind::Close
                    );
                // A vector's own parts are in the list of another statement's writes.
                let overwritten = line.writes.iter().any(|write| register.contains(write));
                if !straight || overwritten {
                    return Err(refuse());
                }
            }
        }
        Ok(())
    }

    fn newline(&self) -> &'static str {
        match self.text.contains("\r\n") {
            true => "\r\n",
            false => "\n",
        }
    }

    /// The least number from `from` on that no label of a version has.
    fn number(&self, from: u32) -> u32 {
        let taken = |number: &u32| {
            let suffix = format!("_z{number}");
            self.text.contains(&format!("{ZERO}{number}"))
                || self
                    .body
                    .labels
                    .keys()
                    .any(|label| label.ends_with(&suffix))
        };
        (from..).find(|number| !taken(number)).unwrap_or(from)
    }
}

const fn testable(ty: Type) -> bool {
    matches!(
        ty,
        Type::Bool | Type::I16 | Type::I32 | Type::I64 | Type::F32 | Type::F64
    )
}

/// The statement that an offset stands in.
fn containing(statements: &[Statement], offset: u32) -> Option<u32> {
    let after = statements.partition_point(|statement| statement.span.start <= offset);
    let at = after.checked_sub(1)?;
    (offset < statements[at].span.end).then_some(at as u32)
}

/// The statement of the function itself that an instruction comes from.
fn statement_of(function: &Function, own: &[Statement], inst: Inst) -> Option<u32> {
    let mut loc = function.insts[inst].loc;
    for _ in 0..64 {
        if loc.site == Site(0) {
            return (loc != ir::Loc::NONE).then(|| containing(own, loc.span.start))?;
        }
        loc = function.sites.get(loc.site)?.call;
    }
    None
}

/// The end of the line, past blanks and a comment; the offset itself when something else follows.
fn line_end(text: &str, offset: u32) -> u32 {
    let rest = text.get(offset as usize..).unwrap_or("");
    let line = rest.split('\n').next().unwrap_or("");
    let line = line.strip_suffix('\r').unwrap_or(line);
    let blank = line.trim_start();
    if blank.is_empty() || blank.starts_with("//") {
        offset + line.len() as u32
    } else {
        offset
    }
}

/// A comment at the end of what is inserted at an offset, before which the rest of the line may not disappear.
fn closing(text: &str, offset: u32, words: &str) -> String {
    let rest = text.get(offset as usize..).unwrap_or("");
    match rest
        .lines()
        .next()
        .is_none_or(|line| line.trim().is_empty())
    {
        true => format!("// {words}"),
        false => format!("/* {words} */"),
    }
}

struct Writing<'a> {
    document: &'a Document<'a>,
    candidate: &'a Candidate,
    settings: Settings,
    number: u32,
    name: &'a str,
    newline: &'a str,
}

impl Writing<'_> {
    fn check(&self, at: u32) -> String {
        let Writing {
            number,
            name,
            newline,
            ..
        } = self;
        let mut lines = vec![format!("\t{{ // {MARK}{name} ({number})")];
        lines.push("\t.reg .pred \t%lsz, %lsa;".to_owned());
        let mut first = true;
        for (register, &member) in self.candidate.names.iter().zip(&self.candidate.members) {
            let ty = self.document.function.ty(member);
            let kind = match ty {
                Type::F32 if self.settings.absorb => "f32",
                Type::F64 if self.settings.absorb => "f64",
                Type::F32 | Type::I32 => "b32",
                Type::F64 | Type::I64 => "b64",
                _ => "b16",
            };
            let zero = match kind {
                "f32" => "0f00000000",
                "f64" => "0d0000000000000000",
                _ => "0",
            };
            if ty == Type::Bool {
                lines.push(format!("\tnot.pred \t%lsa, {register};"));
                lines.push(if first {
                    "\tmov.pred \t%lsz, %lsa;".to_owned()
                } else {
                    "\tand.pred \t%lsz, %lsz, %lsa;".to_owned()
                });
            } else if first {
                lines.push(format!("\tsetp.eq.{kind} \t%lsz, {register}, {zero};"));
            } else {
                lines.push(format!(
                    "\tsetp.eq.and.{kind} \t%lsz, {register}, {zero}, %lsz;"
                ));
            }
            first = false;
        }
        if self.settings.uniform {
            lines.push(format!("\t@%lsz bra \t{ZERO}{number};"));
        } else {
            let mask = if self.settings.whole_warps {
                "0xffffffff"
            } else {
                lines.insert(2, "\t.reg .b32 \t%lsm;".to_owned());
                lines.push("\tactivemask.b32 \t%lsm;".to_owned());
                "%lsm"
            };
            lines.push(format!("\tvote.sync.all.pred \t%lsa, %lsz, {mask};"));
            lines.push(format!("\t@%lsa bra.uni \t{ZERO}{number};"));
        }
        let words = format!("lockstep: otherwise ({number})");
        lines.push(format!("\t}} {}", closing(self.document.text, at, &words)));
        lines.iter().fold(String::new(), |mut out, line| {
            let _ = write!(out, "{newline}{line}");
            out
        })
    }

    fn copy(&self, fast: &Fast<'_>, at: u32) -> String {
        let Writing {
            number,
            name,
            newline,
            ..
        } = self;
        let mut out = format!("{newline}\t// lockstep: where {name} is zero ({number})");
        if fast.falls {
            let _ = write!(out, "{newline}\tbra \t{JOIN}{number};");
        }
        let _ = write!(out, "{newline}{ZERO}{number}:");
        for line in fast.print(&format!("_z{number}")) {
            let _ = write!(out, "{newline}{line}");
        }
        if fast.falls {
            let _ = write!(out, "{newline}{JOIN}{number}:");
        }
        let words = format!("lockstep: end of version ({number})");
        let words = closing(self.document.text, at, &words);
        let _ = write!(out, "{newline}\t{words}");
        out
    }
}

/// Instructions that a copy in text can do without a second thought.
fn counts(cx: &Context<'_>, inst: Inst) -> f64 {
    let data = &cx.function.insts[inst];
    if data.op.has_effect() || data.results.iter().any(|result| cx.needed.contains(result)) {
        cx.costs.inst(cx.function, inst)
    } else {
        0.0
    }
}

fn touches(op: &Op) -> bool {
    op.reads_memory() || matches!(op, Op::Store(_))
}
