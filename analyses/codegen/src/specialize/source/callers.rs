//! An analysis of whether the result of a function may reach a derivative in the functions that call it.
//!
//! ```text
//! float2 bend(float2 uv) { ... }    main: Detail(bend(uv))    Detail (another file): t.Sample(s, uv)      it may
//! ```
//!
//! Callers are found by name in all functions of the unit, headers included, and theirs again; a derivative
//! that one of them takes anywhere, in its callees too, counts. Where a chain of calls ends in a function
//! that is no entry point, or a caller's use is not in sight, any derivative in the text of the file counts.
//!
//! Stops because each function is entered once. Files that include this one are not in sight.

use super::Source;
use ir::lower::c_family::env::function_last_name;
use ir::lower::c_family::visit;
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use std::sync::Arc;
use syntax::c_family::ast::*;

impl Source<'_> {
    pub(super) fn callers_may_derive(&self) -> bool {
        let ItemKind::Function(function) = &self.item.kind else {
            return true;
        };
        if is_entry(function) {
            return false;
        }
        let mut callers: FxHashMap<SmolStr, Vec<Arc<ParsedItem>>> = FxHashMap::default();
        let mut in_methods: FxHashSet<SmolStr> = FxHashSet::default();
        for item in &self.environment.items {
            match &item.kind {
                ItemKind::Function(_) => {}
                ItemKind::Struct(declared) if has_methods(declared) => {}
                _ => continue,
            }
            let Some(whole) = self.bodies.body(&item.key) else {
                continue;
            };
            for function in super::functions_of(&whole) {
                let FunctionBody::Block(block) = &function.body else {
                    continue;
                };
                visit::block(block, &mut |e| {
                    let Some(name) = called(e) else { return };
                    if !matches!(whole.kind, ItemKind::Function(_)) {
                        in_methods.insert(name);
                        return;
                    }
                    let known = callers.entry(name).or_default();
                    if known.last().is_none_or(|last| last.key != item.key) {
                        known.push(Arc::clone(item));
                    }
                });
            }
        }
        let mut in_sight = true;
        let mut seen: FxHashSet<SmolStr> = FxHashSet::default();
        let mut work = vec![(function_last_name(&function.name), false)];
        while let Some((name, entry)) = work.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            let found = callers.get(&name).map_or(&[][..], Vec::as_slice);
            in_sight &= (entry || !found.is_empty()) && !in_methods.contains(&name);
            for caller in found {
                let ItemKind::Function(function) = &caller.kind else {
                    continue;
                };
                match self.function_effects(caller, 0) {
                    Some(effects) if effects.derivative => return true,
                    Some(effects) => in_sight &= effects.unknown.is_none(),
                    None => in_sight = false,
                }
                work.push((function_last_name(&function.name), is_entry(function)));
            }
        }
        !in_sight && self.derivative_elsewhere(function)
    }

    /// A word of the file outside of a function takes derivatives; of an item alone that is not known.
    fn derivative_elsewhere(&self, function: &Function) -> bool {
        if self.alone {
            return true;
        }
        let own = function.span.shifted(self.start);
        let outside = [
            self.text.get(..own.start as usize),
            self.text.get(own.end as usize..),
        ];
        let mut words = outside
            .into_iter()
            .flatten()
            .flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
        words.any(|word| {
            matches!(
                word,
                "Sample" | "SampleBias" | "SampleCmp" | "SampleCmpBias" | "fwidth"
            ) || word.starts_with("ddx")
                || word.starts_with("ddy")
                || word.starts_with("CalculateLevelOfDetail")
                || word.starts_with("Quad")
        })
    }
}

/// Its results leave the shader; any other function's go on.
fn is_entry(function: &Function) -> bool {
    function.semantic.is_some()
        || function.parameters.iter().any(|p| p.semantic.is_some())
        || function.specifiers.attributes.iter().any(|a| {
            let name = a.name.to_ascii_lowercase();
            name == "numthreads" || name == "shader"
        })
}

fn has_methods(declared: &Struct) -> bool {
    let mut members = declared.members.iter();
    members.any(|member| matches!(member, Member::Method(_)))
}

/// The last part of the name that an expression calls.
fn called(e: &Expr) -> Option<SmolStr> {
    let ExprKind::Call { callee, .. } = &e.kind else {
        return None;
    };
    match &callee.kind {
        ExprKind::Name(name) => name.segments.last().map(|last| last.ident.name.clone()),
        _ => None,
    }
}
