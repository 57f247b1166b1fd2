//! Facts that rest on properties which no program states: the shape of the blocks in which the visible
//! launches run a kernel, or the template arguments that they give to it. Such a fact carries a mark, and a
//! finding names its assumption.
//!
//! ```text
//! k<<<n, 256>>>(p);   i = threadIdx.x + threadIdx.y     without: divergent    with blocks of 256 x 1 x 1: affine, marked
//! ```
//! The effect of a block's shape is found by analysing the function without it as well; a program that was
//! made with assumed template arguments has no other form, so all its facts are marked.

use crate::model::*;
use crate::{analyze_module, diagnose};
use ir::{Function, FunctionKind, Module, ValueDef};

/// Facts of a module's functions and findings of its first, with their marks.
pub fn assess(module: &Module, options: &Options) -> (Vec<FunctionFacts>, Vec<Finding>) {
    let mut facts = analyze_module(module, options);
    let mut findings = diagnose(module, &facts);
    if options.assumption.is_empty() {
        return (facts, findings);
    }
    if options.whole_program_assumed {
        for (facts, function) in facts.iter_mut().zip(&module.functions) {
            mark_all(facts, function);
        }
        findings
            .iter_mut()
            .for_each(|finding| label(finding, options));
        return (facts, findings);
    }
    let block_matters = module.functions.iter().any(|function| {
        function.kind == FunctionKind::Kernel
            && (0..3).any(|axis| {
                options.assumed_block[axis].is_some()
                    && options.block[axis]
                        .or(function.launch.block[axis])
                        .is_none()
            })
    });
    if !block_matters {
        return (facts, findings);
    }
    let without = Options {
        assumed_block: [None; 3],
        ..options.clone()
    };
    let plain = analyze_module(module, &without);
    let known = diagnose(module, &plain);
    for (facts, plain) in facts.iter_mut().zip(&plain) {
        mark(facts, plain);
    }
    for finding in &mut findings {
        if !known.contains(finding) {
            label(finding, options);
        }
    }
    (facts, findings)
}

/// Makes a finding that rests on an assumption a warning at most, and names the assumption.
fn label(finding: &mut Finding, options: &Options) {
    finding.tier = finding.tier.max(Tier::Warning);
    finding.assumption = options.assumption.clone();
}

/// Marks facts that differ between two analyses of one function.
fn mark(facts: &mut FunctionFacts, plain: &FunctionFacts) {
    let differ = |a: &ValueFact, b: &ValueFact| {
        a.class != b.class || a.uniform_at != b.uniform_at || a.form != b.form || a.state != b.state
    };
    for value in plain.values.keys() {
        let fact = &mut facts.values[value];
        fact.assumed = plain
            .values
            .get(value)
            .is_none_or(|other| differ(fact, other));
    }
    for each in &mut facts.temporal {
        each.fact.assumed = differ(&each.fact, plain.at(each.value, each.block));
    }
    // A fact of a use that falls to that of the definition.
    for each in &plain.temporal {
        let same = facts
            .temporal
            .binary_search_by_key(&(each.value, each.block), |t| (t.value, t.block));
        if same.is_err() {
            let fact = &mut facts.values[each.value];
            fact.assumed |= differ(fact, &each.fact);
        }
    }
    for branch in &mut facts.branches {
        branch.assumed = !plain.branches.iter().any(|other| {
            other.block == branch.block
                && other.class == branch.class
                && other.uniform_at == branch.uniform_at
        });
    }
    for each in &mut facts.loops {
        each.assumed = !plain.loops.iter().any(|other| {
            other.header == each.header
                && other.trip == each.trip
                && other.uniform_at == each.uniform_at
                && other.count == each.count
        });
    }
    let mut others = plain.accesses.iter();
    for access in &mut facts.accesses {
        // Both lists are in the order of the program.
        let other = others.by_ref().find(|other| other.inst == access.inst);
        access.assumed = other.is_none_or(|other| {
            other.class != access.class
                || other.stride_bytes != access.stride_bytes
                || other.stride_sum != access.stride_sum
                || other.sectors != access.sectors
                || other.bank_ways != access.bank_ways
        });
    }
}

/// A kernel's parameters are the same for the whole dispatch whatever the assumptions.
fn mark_all(facts: &mut FunctionFacts, function: &Function) {
    let kernel = function.kind == FunctionKind::Kernel && !function.layout.is_empty();
    let values: Vec<ir::Value> = facts.values.keys().collect();
    for value in values {
        let given = kernel
            && matches!(function.values[value].def, ValueDef::Param(block, _) if block == function.entry());
        facts.values[value].assumed = !given;
    }
    facts
        .temporal
        .iter_mut()
        .for_each(|it| it.fact.assumed = true);
    facts
        .branches
        .iter_mut()
        .for_each(|branch| branch.assumed = true);
    facts.loops.iter_mut().for_each(|it| it.assumed = true);
    facts
        .accesses
        .iter_mut()
        .for_each(|access| access.assumed = true);
}
