//! Versioning on zero in the source: the author's own statements, a vote of the language before them, and a copy for the
//! warps where a variable is zero.
//!
//! ```text
//! float3 spec = brdf(n, l);                  // lockstep: version on zero of shadow
//! color += spec * shadow * light;      ->    if (!WaveActiveAllTrue(shadow == 0.0)) {
//!                                                float3 spec = brdf(n, l);
//!                                                color += spec * shadow * light;
//!                                            }
//! ```
//!
//! The region is the smallest run of whole statements of one block that holds nearly all of the work that a
//! zero makes useless. `names` resolves names, `types` and `intrinsics` describe expressions, `effects` their
//! side effects, `fold` and `flow` make the fast path, `region` chooses the run and asks whether it may be
//! copied, `layout` writes it, `remove` takes it back, and `check` judges the result knowing none of these.
//!
//! A factor without a name (`a[i] * b[i]`) is tested where the statement computes it (`operands`). Variables
//! that other permutations of the file read after a version stay declared and computed (`permutations`).
//!
//! Not done: motion of statements, versions of whole loops' iterations.
//!
//! Source: Stephenson and Rangan, *AZP*; notes, sections 9 and 10.

mod around;
mod assign;
mod callers;
pub mod check;
mod effects;
mod emit;
pub mod estimate;
pub mod executions;
mod flow;
mod fold;
mod graph;
mod intrinsics;
mod layout;
mod literal;
mod macros;
pub(crate) mod names;
mod needed;
mod operands;
mod permutations;
pub mod pressure;
mod region;
mod remove;
pub mod scheduled;
pub mod sink_dead;
pub mod speculate;
#[cfg(test)]
mod tests;
mod types;
mod unset;
mod write;

pub use region::{Candidate, Version, candidate_at, candidates, version};
pub use remove::{Removal, remove};

use effects::Effects;
use facts::zeros::Never;
use ir::Language;
use ir::lower::c_family::{Bodies, Environment};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::cell::{OnceCell, RefCell};
use syntax::c_family::ast::*;
use syntax::c_family::token::{FROM_MACRO, Token};
use syntax::{ItemKey, Span};

/// The mark at the start of a version, in a comment.
pub const MARK: &str = "lockstep: version on zero of ";

/// An item as it stands in its file, and the unit around it.
#[allow(missing_debug_implementations)]
pub struct Source<'a> {
    pub item: &'a ParsedItem,
    /// The whole file, unless the item stands alone.
    pub text: &'a str,
    /// The offset at which the item begins in it.
    pub start: u32,
    pub environment: &'a Environment,
    pub bodies: &'a dyn Bodies,
    pub language: Language,
    /// The text is that of the item: nothing is known of the file around it.
    pub alone: bool,
    /// Uses of macros in the item.
    pub(crate) macros: Vec<Span>,
    memo: RefCell<FxHashMap<ItemKey, Option<Effects>>>,
    /// The macros that the text defines, once they were asked for.
    defined: OnceCell<FxHashMap<String, String>>,
}

/// The settings for writing a version.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    /// Zero times anything is zero.
    pub absorb: bool,
    /// CUDA: whole warps arrive together, so that the full mask may be named.
    pub whole_warps: bool,
    /// All lanes of a warp hold the same value: a plain branch has the effect of a vote.
    pub uniform: bool,
    /// Each lane chooses for itself, by a plain branch; nothing in the region may depend on the other lanes
    /// present.
    pub each_lane: bool,
}

/// The reason why a variable is not versioned.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    #[error("there is no variable here whose value a statement of this function sets")]
    NoVariable,
    #[error("`{0}` is no number or vector of numbers")]
    NotNumeric(SmolStr),
    #[error("`{0}` can be changed by others: a reference, or its address is taken")]
    Escapes(SmolStr),
    #[error("nothing becomes useless where `{0}` is zero")]
    NothingSaved(SmolStr),
    #[error("where `{0}` is zero, the code's own tests already skip what a version would")]
    Guarded(SmolStr),
    #[error("`{0}` may not be set yet where it would be tested")]
    Unset(SmolStr),
    #[error("`{name}` is zero in no warp: {}", .why.reason())]
    NeverZero { name: SmolStr, why: Never },
    #[error("{}", super::IEEE)]
    Ieee,
    #[error("`{0}` is `precise`: 0 * x may not be taken for 0")]
    Precise(SmolStr),
    #[error("the {lines} lines hold a barrier, whose copies would stand on two paths")]
    Barrier { lines: u32 },
    #[error(
        "a derivative depends on `{0}`: helper lanes that did not vote would give it other neighbours"
    )]
    Derivative(SmolStr),
    #[error(
        "a function that calls this one may take a derivative of what depends on `{0}`: helper lanes that did not vote would give it other neighbours"
    )]
    CallersDerivative(SmolStr),
    #[error(
        "the {lines} lines exchange values between lanes by a mask, and lanes of a warp that do not run together would vote apart"
    )]
    CrossLane { lines: u32 },
    #[error("`{0}` is not in sight: it may hold a barrier")]
    Unknown(SmolStr),
    #[error("a statement comes out of a macro and can't be rewritten")]
    Macro,
    #[error("a preprocessor directive stands between the statements")]
    Directive,
    #[error("the {lines} lines hold a label or a `case`")]
    Label { lines: u32 },
    #[error("`{name}` is used after the {lines} lines and can't be declared before them: {why}")]
    Declaration {
        name: SmolStr,
        why: &'static str,
        lines: u32,
    },
    #[error("the statements share a line with others")]
    SharedLine,
    #[error("`{0}` is already tested here")]
    Already(SmolStr),
    #[error("the function comes from another file")]
    Elsewhere,
    #[error("the file is written for a shader model without votes: `{0}`")]
    Older(&'static str),
    #[error("the rewritten text was not accepted: {0}")]
    Check(#[from] Rejection),
}

/// The reason why a rewritten text is not accepted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Rejection {
    #[error("the edits overlap")]
    Overlap,
    #[error("the edit is out of range")]
    OutOfRange,
    #[error("the function is not found in it")]
    FunctionLost,
    #[error(transparent)]
    Rule(#[from] check::Violation),
    /// A problem that a front end has with it, in its words.
    #[error("{0}")]
    Problem(String),
}

impl Refusal {
    /// A short name for counts.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Refusal::NoVariable => "no-variable",
            Refusal::NotNumeric(_) => "not-numeric",
            Refusal::Escapes(_) => "escapes",
            Refusal::NothingSaved(_) => "nothing-saved",
            Refusal::Guarded(_) => "guarded",
            Refusal::Unset(_) => "unset",
            Refusal::NeverZero { .. } => "never-zero",
            Refusal::Ieee => "ieee",
            Refusal::Precise(_) => "precise",
            Refusal::Barrier { .. } => "barrier",
            Refusal::Derivative(_) | Refusal::CallersDerivative(_) => "derivative",
            Refusal::CrossLane { .. } => "cross-lane",
            Refusal::Unknown(_) => "unknown-call",
            Refusal::Macro => "macro",
            Refusal::Directive => "directive",
            Refusal::Label { .. } => "label",
            Refusal::Declaration { .. } => "declaration",
            Refusal::SharedLine => "shared-line",
            Refusal::Already(_) => "already",
            Refusal::Elsewhere => "elsewhere",
            Refusal::Older(_) => "older-shader-model",
            Refusal::Check(_) => "check",
        }
    }
    /// Says nothing that an author would want to hear at every variable.
    #[must_use]
    pub const fn quiet(&self) -> bool {
        matches!(
            self,
            Refusal::NoVariable
                | Refusal::NotNumeric(_)
                | Refusal::Escapes(_)
                | Refusal::NothingSaved(_)
                | Refusal::Guarded(_)
                | Refusal::NeverZero { .. }
                | Refusal::Already(_)
                | Refusal::Elsewhere
        )
    }
}

impl<'a> Source<'a> {
    #[must_use]
    pub fn new(
        item: &'a ParsedItem,
        tokens: &[Token],
        text: &'a str,
        start: u32,
        environment: &'a Environment,
        bodies: &'a dyn Bodies,
        language: Language,
    ) -> Self {
        let mut macros: Vec<Span> = tokens
            .iter()
            .filter(|token| token.has(FROM_MACRO))
            .map(|token| token.span)
            .collect();
        macros.sort();
        macros.dedup();
        Source {
            item,
            text,
            start,
            environment,
            bodies,
            language,
            macros,
            alone: false,
            memo: RefCell::default(),
            defined: OnceCell::new(),
        }
    }

    /// The same where the text is that of the item alone, not of its file.
    #[must_use]
    pub fn of_item_alone(self) -> Self {
        Source {
            alone: true,
            ..self
        }
    }

    /// Lies in a use of a macro, so that its text is not its own.
    pub(crate) fn in_macro(&self, span: Span) -> bool {
        self.macros
            .iter()
            .any(|used| used.start <= span.start && span.end <= used.end)
    }

    /// A variable of this type may be declared without a value and have one assigned, and nothing else happens then.
    fn plain(&self, ty: &Type) -> bool {
        match self.type_of(ty) {
            types::Ty::Number(..) => true,
            types::Ty::Unknown => false,
            types::Ty::Other(ty) => match &ty.kind {
                TypeKind::Pointer(_) => true,
                TypeKind::Array { element, .. } => self.plain_element(element),
                TypeKind::Named(_) => {
                    self.language == Language::Hlsl
                        || self.structure(&ty).is_some_and(|declared| {
                            declared.bases.is_empty()
                                && !declared
                                    .members
                                    .iter()
                                    .any(|member| matches!(member, Member::Method(_)))
                        })
                }
                _ => false,
            },
        }
    }

    /// Making or leaving an object of this type calls functions of the unit.
    fn has_constructors(&self, ty: &Type) -> bool {
        let mut at = ty;
        while let TypeKind::Array { element, .. } = &at.kind {
            at = element;
        }
        let calls = |member: &Member| match member {
            Member::Method(method) => matches!(
                method.name,
                FunctionName::Constructor(_) | FunctionName::Destructor(_)
            ),
            _ => false,
        };
        let declared = self.structure(at);
        declared.is_some_and(|it| !it.bases.is_empty() || it.members.iter().any(calls))
    }

    fn plain_element(&self, ty: &Type) -> bool {
        let mut at = ty;
        for _ in 0..4 {
            match &at.kind {
                TypeKind::Array { element, .. } => at = element,
                _ => return self.plain(at),
            }
        }
        false
    }

    fn type_is_const(&self, declaration: &Declaration, declarator: &Declarator) -> bool {
        let words = declaration.specifiers.words;
        words.has(SpecifierSet::CONST)
            || words.has(SpecifierSet::CONSTEXPR)
            || declarator.ty.is_const
    }
}

/// Returns a file's text with edits made; `None` where they overlap.
#[must_use]
pub fn rewritten(text: &str, edits: &[(Span, String)]) -> Option<String> {
    let mut edits: Vec<&(Span, String)> = edits.iter().collect();
    edits.sort_by_key(|(span, _)| *span);
    let mut out = String::with_capacity(text.len() + 256);
    let mut at = 0;
    for (span, new) in edits {
        out.push_str(text.get(at..span.start as usize)?);
        out.push_str(new);
        at = span.end as usize;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

/// A call by this name can be left out: a fact about the language and the unit that the checker is given.
#[must_use]
pub fn harmless(source: &Source<'_>, name: &str) -> bool {
    let ident = Ident {
        name: SmolStr::new(name),
        span: Span::at(0),
    };
    let callee = Expr {
        kind: ExprKind::Name(Name {
            global: false,
            segments: vec![NameSegment {
                ident,
                template_arguments: None,
            }],
            span: Span::at(0),
        }),
        span: Span::at(0),
    };
    let method = matches!(
        name,
        "Sample"
            | "SampleLevel"
            | "SampleGrad"
            | "SampleBias"
            | "SampleCmp"
            | "SampleCmpLevelZero"
            | "Load"
            | "Load2"
            | "Load3"
            | "Load4"
            | "GetDimensions"
            | "CalculateLevelOfDetail"
    ) || name.starts_with("Gather");
    let names = names::Names::default();
    let effects = source.call(&names, &callee, &[], 0).effects;
    method || effects.removable(source.language) || macros::harmless(source, name, 0)
}

/// The function of an item around an item-relative offset.
#[must_use]
pub fn function_at(item: &ParsedItem, offset: u32) -> Option<&Function> {
    functions_of(item)
        .into_iter()
        .find(|function| function.span.start <= offset && offset <= function.span.end)
}

/// Functions with bodies in an item, methods included.
#[must_use]
pub fn functions_of(item: &ParsedItem) -> Vec<&Function> {
    let mut found = Vec::new();
    match &item.kind {
        ItemKind::Function(function) => found.push(function),
        ItemKind::Struct(declared) => {
            for member in &declared.members {
                if let Member::Method(function) = member {
                    found.push(function);
                }
            }
        }
        _ => {}
    }
    found.retain(|function| matches!(function.body, FunctionBody::Block(_)));
    found
}
