//! Counters of paths in C, CUDA and HLSL: each condition that decides a branch goes through a function of its own, which is
//! written at the top of the file.
//!
//! ```text
//! while (n > 0 && f(n))     ->     while (lockstep_branch_1(!!(lockstep_branch_0(!!(n > 0), &lockstep_path) && f(n)), &lockstep_path))
//! ```
//!
//! Counters are a variable of 8 bytes each, of HLSL a byte-address buffer of 4 bytes each in a register space of its own;
//! those of GPUs are added to atomically.

use super::super::COUNTERS;
use super::{Effect, PathPlan, Refusal, Register};
use crate::specialize::source::functions_of;
use ir::lower::c_family::visit;
use ir::{BranchKind, Function, FunctionKind, Language, Site, Terminator, Type};
use rustc_hash::FxHashMap;
use std::fmt::Write;
use syntax::Span;
use syntax::c_family::ast::{
    self, BinaryOp, Condition, ExprKind, FunctionBody, ParsedItem, SpecifierSet, Stmt, StmtKind,
};

/// The variable that holds the number of the path under way.
const PATH: &str = "lockstep_path";

/// A function that is counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counted {
    /// The insertions by offset in the item; at equal offsets, those behind a place stand before those in
    /// front of another.
    pub insertions: Vec<(u32, String)>,
    /// The functions that conditions go through, for the top of the file.
    pub helpers: String,
    /// The number of these functions.
    pub branches: usize,
}

/// The declaration of the counters, for the top of the file.
#[must_use]
pub fn declaration(language: Language, counters: u64) -> String {
    let counters = counters.max(1);
    let says = "Counters of lockstep: how often each path was taken. Remove this, lockstep_path and the calls of lockstep_branch.";
    match language {
        Language::Hlsl => {
            format!("// {says}\nRWByteAddressBuffer {COUNTERS} : register(u0, space61);\n")
        }
        Language::Cuda => {
            format!("// {says}\n__device__ unsigned long long {COUNTERS}[{counters}];\n")
        }
        _ => format!("/* {says} */\nunsigned long long {COUNTERS}[{counters}];\n"),
    }
}

/// Counts a function of an item; its counters begin at `first`, its functions are numbered from `next`.
/// `in_macro` decides whether a macro spells a place.
///
/// # Errors
/// A branch has no place of its own.
pub fn instrument(
    item: &ParsedItem,
    function: &Function,
    plan: &PathPlan,
    text: &str,
    (first, next): (u64, usize),
    in_macro: &dyn Fn(Span) -> bool,
) -> Result<Counted, Refusal> {
    let declared = declared(item, function.span).ok_or(Refusal::NoBody)?;
    let FunctionBody::Block(body) = &declared.body else {
        return Err(Refusal::NoBody);
    };
    let words = declared.specifiers.words;
    let language = function.language;
    if language == Language::Cuda
        && (function.kind == FunctionKind::Host || words.has(SpecifierSet::CUDA_HOST))
    {
        return Err(Refusal::Host);
    }
    if in_macro(Span::new(body.span.start, body.span.start + 1))
        || words.has(SpecifierSet::CONSTEXPR)
    {
        return Err(Refusal::NoBody);
    }
    let line = |span: Span| {
        1 + text
            .get(..span.start as usize)
            .map_or(0, |t| t.matches('\n').count()) as u32
    };
    let heads = Heads::of(body);
    let mut placed: FxHashMap<Span, &[Effect]> = FxHashMap::default();
    let mut out = Counted {
        insertions: Vec::new(),
        helpers: String::new(),
        branches: 0,
    };
    let mut wraps: Vec<(Span, String, &'static str)> = Vec::new();
    for (block, effects) in &plan.branches {
        let data = &function.blocks[*block];
        if data.loc.site != Site(0) {
            let callee = function
                .sites
                .get(data.loc.site)
                .map(|site| site.callee.clone());
            return Err(Refusal::Inlined {
                callee: callee.unwrap_or_default(),
            });
        }
        let at = data.loc.span;
        let place = heads
            .place(data.branch, at)
            .filter(|&place| !in_macro(place) && !in_macro(at));
        let place = place.ok_or(Refusal::NoPlace { line: line(at) })?;
        if placed.insert(place, effects).is_some() {
            return Err(Refusal::Several { line: line(at) });
        }
        if effects.iter().all(Effect::is_nothing) {
            continue;
        }
        let name = format!("lockstep_branch_{}", next + out.branches);
        out.branches += 1;
        let writer = Helper {
            language,
            first,
            name: &name,
        };
        match &data.terminator {
            Terminator::Switch { value, cases, .. } => {
                let wide = match function.ty(*value) {
                    Type::I64 if language != Language::Hlsl => true,
                    Type::I32 => false,
                    _ => return Err(Refusal::NoPlace { line: line(at) }),
                };
                let labels: Vec<i64> = cases.iter().map(|(label, _)| *label).collect();
                writer.switch(&mut out.helpers, &labels, effects, wide);
                let cast = match (language, wide) {
                    (Language::Cuda, _) => "(",
                    (_, true) => "(long long)(",
                    (_, false) => "(int)(",
                };
                wraps.push((place, name, cast));
            }
            _ => {
                writer.branch(&mut out.helpers, effects);
                wraps.push((place, name, "!!("));
            }
        }
    }
    // Of places that begin together the outer one opens first.
    wraps.sort_by_key(|(place, ..)| (place.start, std::cmp::Reverse(place.end)));
    let opening = wraps
        .iter()
        .map(|(place, name, cast)| (place.start, format!("{name}({cast}")));
    out.insertions.extend(opening);
    wraps.sort_by_key(|(place, ..)| (place.end, std::cmp::Reverse(place.start)));
    let passed = match language {
        Language::C => "&lockstep_path",
        _ => PATH,
    };
    let closing = wraps
        .iter()
        .map(|(place, ..)| (place.end, format!("), {passed})")));
    // What closes in a place stands before what opens there.
    let mut insertions: Vec<(u32, String)> = closing.collect();
    insertions.append(&mut out.insertions);
    let mut begin = match language {
        Language::Hlsl => format!(" uint {PATH} = 0;"),
        _ => format!(" unsigned long long {PATH} = 0;"),
    };
    let writer = Helper {
        language,
        first,
        name: "",
    };
    writer.effect(&mut begin, &plan.entry, PATH, " ");
    if out.branches == 0 {
        let _ = write!(begin, " (void){PATH};");
    }
    insertions.insert(0, (body.span.start + 1, begin));
    out.insertions = insertions;
    Ok(out)
}

/// The conditions of a body that the text spells.
#[derive(Default)]
struct Heads {
    /// The conditions of statements and of `?:`.
    conditions: Vec<Span>,
    /// The operands left of `&&` and `||`, by the place of the operator.
    left: FxHashMap<Span, Span>,
    selectors: Vec<Span>,
}

impl Heads {
    fn of(body: &ast::Block) -> Heads {
        let mut out = Heads::default();
        let mut work: Vec<&Stmt> = body.statements.iter().collect();
        while let Some(statement) = work.pop() {
            let mut head = |condition: &Condition| {
                if let Condition::Expr(e) = condition {
                    out.conditions.extend(bare(e));
                }
            };
            match &statement.kind {
                StmtKind::Block(block) => work.extend(&block.statements),
                StmtKind::If {
                    condition,
                    then,
                    otherwise,
                    ..
                } => {
                    head(condition);
                    work.push(then);
                    work.extend(otherwise.as_deref());
                }
                StmtKind::For {
                    condition, body, ..
                } => {
                    condition.iter().for_each(head);
                    work.push(body);
                }
                StmtKind::While { condition, body } => {
                    head(condition);
                    work.push(body);
                }
                StmtKind::DoWhile { body, condition } => {
                    out.conditions.extend(bare(condition));
                    work.push(body);
                }
                StmtKind::Switch {
                    condition, body, ..
                } => {
                    if let Condition::Expr(e) = condition {
                        out.selectors.extend(bare(e));
                    }
                    work.push(body);
                }
                StmtKind::RangeFor { body, .. } => work.push(body),
                _ => {}
            }
        }
        // A lambda has a path of its own.
        let mut lambdas: Vec<Span> = Vec::new();
        visit::block(body, &mut |e| {
            let inside = |span: Span| {
                let around = |of: &Span| of.start <= span.start && span.end <= of.end;
                lambdas.iter().any(around)
            };
            match &e.kind {
                _ if inside(e.span) => {}
                ExprKind::Lambda(_) | ExprKind::Statement(_) => lambdas.push(e.span),
                ExprKind::Conditional { condition, .. } => out.conditions.extend(bare(condition)),
                ExprKind::Binary {
                    op: BinaryOp::LogicalAnd | BinaryOp::LogicalOr,
                    left,
                    op_span,
                    ..
                } => {
                    out.left.insert(*op_span, left.span);
                }
                _ => {}
            }
        });
        out
    }

    /// The text that decides a branch which stands at a place.
    fn place(&self, kind: BranchKind, at: Span) -> Option<Span> {
        match kind {
            BranchKind::ShortCircuit => self.left.get(&at).copied(),
            BranchKind::Switch => self.selectors.contains(&at).then_some(at),
            BranchKind::If | BranchKind::Flattened | BranchKind::Loop | BranchKind::Conditional => {
                self.conditions.contains(&at).then_some(at)
            }
            BranchKind::Implied | BranchKind::Jump => None,
        }
    }
}

/// An expression with and without the parentheses around it: a branch stands at any of them.
fn bare(e: &ast::Expr) -> Vec<Span> {
    let mut out = vec![e.span];
    let mut inner = e;
    while let ExprKind::Paren(next) = &inner.kind {
        out.push(next.span);
        inner = next;
    }
    out
}

/// The function of an item around a lowered one.
fn declared(item: &ParsedItem, within: Span) -> Option<&ast::Function> {
    functions_of(item).into_iter().find(|function| {
        matches!(&function.body, FunctionBody::Block(block)
            if within.start <= block.span.start && block.span.end <= within.end)
    })
}

/// Writes the functions that conditions go through.
struct Helper<'a> {
    language: Language,
    first: u64,
    name: &'a str,
}

impl Helper<'_> {
    fn branch(&self, out: &mut String, effects: &[Effect]) {
        let (head, path) = self.head(match self.language {
            Language::C => "int",
            _ => "bool",
        });
        let _ = write!(out, "{head}\n{{\n    if (is)\n    {{\n");
        let sides: Vec<String> = effects
            .iter()
            .map(|effect| self.body(effect, path))
            .collect();
        let _ = write!(out, "{}    }}\n    else\n    {{\n{}", sides[0], sides[1]);
        out.push_str("    }\n    return is;\n}\n");
    }

    fn switch(&self, out: &mut String, labels: &[i64], effects: &[Effect], wide: bool) {
        let (ty, tested) = match (self.language, wide) {
            (Language::Hlsl, _) => ("int", "(uint)is"),
            (Language::Cuda, true) => ("T", "(unsigned long long)is"),
            (Language::Cuda, false) => ("T", "(unsigned int)is"),
            (_, true) => ("long long", "(unsigned long long)is"),
            (_, false) => ("int", "(unsigned int)is"),
        };
        let (head, path) = self.head(ty);
        if self.language == Language::Cuda {
            out.push_str("template <typename T>\n");
        }
        let _ = write!(out, "{head}\n{{\n    switch ({tested})\n    {{\n");
        for (label, effect) in labels.iter().zip(effects) {
            let _ = match wide {
                true => writeln!(out, "    case {}ull:", *label as u64),
                false => writeln!(out, "    case {}u:", *label as u32),
            };
            let _ = writeln!(out, "{}        break;", self.body(effect, path));
        }
        if let Some(effect) = effects.get(labels.len()) {
            let _ = write!(
                out,
                "    default:\n{}        break;\n",
                self.body(effect, path)
            );
        }
        out.push_str("    }\n    return is;\n}\n");
    }

    /// The head of a function that returns its argument, and the variable that it changes.
    fn head(&self, ty: &str) -> (String, &'static str) {
        let name = self.name;
        match self.language {
            Language::Hlsl => (format!("{ty} {name}({ty} is, inout uint path)"), "path"),
            Language::Cuda => (
                format!("static __device__ inline {ty} {name}({ty} is, unsigned long long& path)"),
                "path",
            ),
            _ => (
                format!("static {ty} {name}({ty} is, unsigned long long *path)"),
                "*path",
            ),
        }
    }

    fn body(&self, effect: &Effect, path: &str) -> String {
        let mut out = String::new();
        self.effect(&mut out, effect, path, "        ");
        match out.is_empty() {
            true => out,
            false => out.replace("; ", ";\n        ") + "\n",
        }
    }

    /// The statements of an effect on a line.
    fn effect(&self, out: &mut String, effect: &Effect, path: &str, indent: &str) {
        let mut all: Vec<String> = Vec::new();
        if let Some(ended) = &effect.ended {
            let add = ended.add.wrapping_add(self.first);
            all.push(self.counted(&self.plus(path, add)));
            let further = ended.further.iter();
            all.extend(further.map(|number| self.counted(&(self.first + number).to_string())));
        }
        match effect.register {
            Register::Add(0) | Register::Gone => {}
            Register::Add(add) => all.push(format!("{path} = {};", self.plus(path, add))),
            Register::Set(number) => all.push(format!("{path} = {};", self.literal(number))),
        }
        if !all.is_empty() {
            let _ = write!(out, "{indent}{}", all.join(" "));
        }
    }

    /// Numbers wrap around on the way: of HLSL in 32 bits.
    fn literal(&self, number: u64) -> String {
        match self.language {
            Language::Hlsl => format!("{}u", number as u32),
            _ => format!("{number}ull"),
        }
    }

    fn plus(&self, path: &str, add: u64) -> String {
        let negative = add.wrapping_neg();
        match add {
            0 => path.to_owned(),
            add if add >> 63 == 0 => format!("{path} + {}", self.literal(add)),
            _ => format!("{path} - {}", self.literal(negative)),
        }
    }

    fn counted(&self, number: &str) -> String {
        match self.language {
            Language::Hlsl => format!("{COUNTERS}.InterlockedAdd(4 * ({number}), 1u);"),
            Language::Cuda => format!("atomicAdd(&{COUNTERS}[{number}], 1ull);"),
            _ => format!("{COUNTERS}[{number}]++;"),
        }
    }
}
