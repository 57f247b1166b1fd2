//! The choice of the calls that are lowered in place.
//!
//! A kernel's callees are lowered in place: only the shader itself calls its functions, and facts are about
//! the whole. In a C program each function is analysed by itself, so that a copy of it in each of its callers
//! gains only the cost of the call, which is high in a loop: there a call prevents pipelining.

use super::builtins;
use super::call::MAX_INLINE_DEPTH;
use super::classes::Callee;
use super::context::Context;
use super::outlined::MAX_OUTLINED;
use super::visit::{self, Node};
use crate::function::FunctionKind;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use syntax::ItemKey;
use syntax::c_family::ast::{self, ExprKind, FunctionBody, SpecifierSet};

/// Instructions of one function, and calls lowered in place in it, above which further calls are no longer.
const MAX_INSTRUCTIONS: usize = 20_000;
/// Calls lowered in place in one function: their cost beyond their instructions grows with them.
const MAX_CALLS: usize = 4_000;
/// The divisor for the budget of a function that remains a call: there may be many of them in a module.
const OUTLINED_SHARE: usize = 8;
/// Expressions, with all that is called below, above which a function is large: some of those are lowered with the full
/// budget, each of more with its share. A file in which each function calls two of those before it has ever larger ones.
const LARGE: usize = 2_000;
const MANY_LARGE: usize = 3;
/// Instructions that every function may have.
const LEAST_INSTRUCTIONS: usize = 128;
/// Calls in place that every function may have.
const LEAST_CALLS: usize = 32;
/// Expressions of a function of C, subexpressions counted, up to which it is lowered in place: about the dozen
/// instructions that a call with its moves and its frame takes.
const SMALL: usize = 40;
/// The same where the call stands in a loop.
const SMALL_IN_LOOP: usize = 240;
/// The same of a function that is declared `inline`.
const ASKED_FOR: usize = 600;

/// The growth that the body of each callee would cause; `None` while it is being found.
pub(super) type Growths = FxHashMap<ItemKey, Option<Growth>>;

/// The growth of a caller by a body, in expressions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    /// The size with the callees that are lowered in place in it.
    size: usize,
    /// The size with all its callees, and theirs, once per call.
    whole: usize,
    /// The size with all its callees, if nothing below it is a call or a loop.
    straight: Option<usize>,
}

impl Context<'_> {
    /// Returns true if a call of C stays one though there is room for the body.
    pub(super) fn is_better_called(&mut self, callee: &Callee) -> bool {
        if !self.is_c() {
            return false;
        }
        let Some(function) = callee.function.function() else {
            return false;
        };
        match asked(function) {
            Asked::Always => false,
            Asked::Never => true,
            Asked::Limit(limit) => {
                let in_loop = self.frames.iter().any(|frame| !frame.loops.is_empty());
                let growth = self.growth(callee, 0);
                let straight = growth.straight.filter(|_| in_loop);
                growth.size > limit && straight.is_none_or(|size| size > SMALL_IN_LOOP)
            }
        }
    }

    fn growth(&mut self, callee: &Callee, depth: usize) -> Growth {
        // A function that calls itself stays a call, and so does one with long chains of calls below it.
        let unknown = Growth {
            size: usize::MAX,
            whole: usize::MAX,
            straight: None,
        };
        if let Some(known) = self.shared.growths.get(&callee.item) {
            return known.unwrap_or(unknown);
        }
        if depth >= MAX_INLINE_DEPTH {
            return unknown;
        }
        let Some(FunctionBody::Block(body)) = callee.function.function().map(|f| &f.body) else {
            return unknown;
        };
        self.shared.growths.insert(callee.item.clone(), None);
        let mut growth = Growth {
            size: 0,
            whole: 0,
            straight: Some(0),
        };
        let mut called: Vec<Option<SmolStr>> = Vec::new();
        visit::nodes(body, &mut |node| match node {
            Node::Expr(e) => {
                growth.size += 1;
                growth.whole += 1;
                growth.straight = growth.straight.map(|size| size + 1);
                if let ExprKind::Call { callee, .. } = &e.kind {
                    called.push(match &callee.kind {
                        ExprKind::Name(name) => match name.segments.as_slice() {
                            [only] => Some(only.ident.name.clone()),
                            _ => None,
                        },
                        _ => None,
                    });
                }
            }
            Node::Loop(_) => growth.straight = None,
            Node::Block(_) => {}
            Node::Declaration(_) => {}
        });
        for name in called {
            let below = name.and_then(|name| {
                let candidates = self.functions_named(std::slice::from_ref(&name));
                let bodies = candidates.iter().find_map(|c| self.with_body(c));
                match bodies {
                    Some(callee) => {
                        let function = callee.function.function()?;
                        let asked = asked(function);
                        let growth = self.growth(&callee, depth + 1);
                        Some((asked, growth))
                    }
                    None if builtins::is_builtin(self.language, &name) => {
                        let nothing = Growth {
                            size: 0,
                            whole: 0,
                            straight: Some(0),
                        };
                        Some((Asked::Always, nothing))
                    }
                    None => None,
                }
            });
            let Some((asked, below)) = below else {
                growth.straight = None;
                continue;
            };
            let in_place = match asked {
                Asked::Always => true,
                Asked::Never => false,
                Asked::Limit(limit) => below.size <= limit,
            };
            if in_place {
                growth.size = growth.size.saturating_add(below.size);
            }
            growth.whole = growth.whole.saturating_add(below.whole);
            growth.straight = match (growth.straight, below.straight) {
                (Some(own), Some(below)) if !matches!(asked, Asked::Never) => {
                    Some(own.saturating_add(below))
                }
                _ => None,
            };
        }
        self.shared
            .growths
            .insert(callee.item.clone(), Some(growth));
        growth
    }

    /// Finds how many large functions the one that is lowered leads to, itself included. An entry has the whole budget:
    /// there are few of those.
    pub(super) fn share_budget(&mut self, callee: &Callee, kind: FunctionKind) {
        if kind != FunctionKind::Device || self.of_module {
            return;
        }
        self.growth(callee, 0);
        let known = self.shared.growths.values().flatten();
        let large = known.filter(|growth| growth.whole > LARGE).count();
        self.shared.sharers = large.div_ceil(MANY_LARGE).max(1);
    }

    fn share(&self) -> usize {
        // A program of C has no entry whose callees matter most: each of its functions is looked at for itself.
        let share = match self.of_module || self.is_c() {
            true => OUTLINED_SHARE,
            false => 1,
        };
        share * self.shared.sharers
    }

    /// Instructions of the function that is lowered above which calls are no longer lowered in place.
    pub(super) fn budget(&self) -> usize {
        // The functions of a module have together what the one that they stand beside has.
        let left = (MAX_INSTRUCTIONS / self.shared.sharers).saturating_sub(self.spent);
        (MAX_INSTRUCTIONS / self.share())
            .min(left)
            .max(LEAST_INSTRUCTIONS)
    }

    /// Returns true if calls are no longer lowered in place. Calls count beside instructions, for a body may fold to
    /// nothing.
    pub(super) fn budget_spent(&self) -> bool {
        let function = &self.builder.function;
        function.insts.len() > self.budget()
            || function.sites.len() > (MAX_CALLS / self.share()).max(LEAST_CALLS)
            || self.callees.len() >= MAX_INLINE_DEPTH
            || self.depth > 150
    }

    /// Returns how many functions of the module may stand beside its own.
    pub(super) fn most_outlined(&self) -> usize {
        (MAX_OUTLINED / self.shared.sharers).max(1)
    }
}

/// The request of a declaration about its calls.
enum Asked {
    Always,
    Never,
    /// In place up to this size.
    Limit(usize),
}

fn asked(function: &ast::Function) -> Asked {
    let words = function.specifiers.words;
    let attribute = |name: &str| {
        let mut all = function.specifiers.attributes.iter();
        all.any(|a| a.name.trim_matches('_') == name)
    };
    if words.has(SpecifierSet::NO_INLINE) || attribute("noinline") {
        Asked::Never
    } else if words.has(SpecifierSet::FORCE_INLINE) || attribute("always_inline") {
        Asked::Always
    } else if words.has(SpecifierSet::INLINE) {
        Asked::Limit(ASKED_FOR)
    } else {
        Asked::Limit(SMALL)
    }
}
