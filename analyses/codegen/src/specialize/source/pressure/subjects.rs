//! The variables of a function in its own text, with how uniform they are wherever they are read.

use super::super::names::Names;
use super::Subject;
use facts::{FunctionFacts, Scope};
use ir::{Function, Site, Variable};
use std::collections::BTreeMap;
use syntax::Span;
use syntax::c_family::ast;

/// The variables that a function declares in its own text, by the place of their names; which of them live at the peak the
/// caller says.
#[must_use]
pub fn subjects(function: &Function, facts: &FunctionFacts) -> Vec<Subject> {
    let mut least: BTreeMap<Variable, Option<Scope>> = BTreeMap::new();
    for binding in &function.bindings {
        for &value in &binding.values {
            let fact = facts.at(value, binding.block);
            let own = fact.uniform_at.filter(|_| !fact.assumed);
            let known = least.entry(binding.variable).or_insert(own);
            *known = (*known).min(own);
        }
    }
    let mut out: Vec<Subject> = least
        .into_iter()
        .filter_map(|(variable, uniform)| {
            let declared = function.variables[variable].declared;
            (declared.site == Site(0)).then_some(Subject {
                declared: declared.span,
                uniform,
                live: false,
            })
        })
        .collect();
    out.sort_by_key(|each| each.declared);
    // Of a variable that stands for several, the least uniform.
    out.dedup_by(|next, each| {
        let same = next.declared == each.declared;
        if same {
            each.uniform = each.uniform.min(next.uniform);
        }
        same
    });
    out
}

/// The declared name of the variable that a place of a function names.
#[must_use]
pub fn variable_at(function: &ast::Function, offset: u32) -> Option<Span> {
    let names = Names::of(function);
    let (_, id) = names.at(offset)?;
    Some(names.variable(id).declared)
}
