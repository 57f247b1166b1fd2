//! The variables of a function in its own text, with how uniform they are wherever they are read, and which numbers they hold.

use super::super::names::Names;
use super::Subject;
use facts::intervals::{Intervals, Range, intervals};
use facts::{FunctionFacts, Scope};
use ir::{Binding, Function, Site, Variable};
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
    let numbers = numbers(function, &intervals(function, &facts.options));
    let mut out: Vec<Subject> = least
        .into_iter()
        .filter_map(|(variable, uniform)| {
            let declared = function.variables[variable].declared;
            (declared.site == Site(0)).then_some(Subject {
                declared: declared.span,
                uniform,
                interval: numbers.get(&variable).copied().flatten(),
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
            each.interval = either(each.interval, next.interval);
        }
        same
    });
    out
}

/// The numbers of two variables that are one in the text.
#[must_use]
pub fn either(a: Option<Range>, b: Option<Range>) -> Option<Range> {
    let (a, b) = (a?, b?);
    Some((a.0.min(b.0), a.1.max(b.1)))
}

/// The numbers of variables that are integers wherever they are written, merged or read.
fn numbers(function: &Function, all: &Intervals<'_>) -> BTreeMap<Variable, Option<Range>> {
    let mut out: BTreeMap<Variable, Option<Range>> = BTreeMap::new();
    for binding in &function.bindings {
        let Binding { values, part, .. } = binding;
        let own = match values.as_slice() {
            [] => continue,
            [value] if part.is_empty() && function.ty(*value).is_int() => {
                all.at(*value, binding.block)
            }
            _ => None,
        };
        let known = out.entry(binding.variable).or_insert(own);
        *known = either(*known, own);
    }
    out
}

/// The declared name of the variable that a place of a function names.
#[must_use]
pub fn variable_at(function: &ast::Function, offset: u32) -> Option<Span> {
    let names = Names::of(function);
    let (_, id) = names.at(offset)?;
    Some(names.variable(id).declared)
}
