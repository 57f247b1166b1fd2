//! The objects that an item of C defines for other files: they are there although no function of this one uses them.
//!
//! ```text
//! extern int a; int b = 1; static int c;      b, which is global and has a value
//! ```
//! The module has one function without blocks, whose symbols are the objects and those that their initial
//! values point to.

use super::context::*;
use super::env::{EntryKind, Environment};
use super::types::CType;
use super::{Bodies, LowerOptions, Lowered};
use crate::builder::FunctionBuilder;
use crate::function::*;
use syntax::ItemKey;
use syntax::c_family::ast::{DeclaratorName, ItemKind, SpecifierSet};

/// The objects of external linkage that an item of C defines; `None`: there are none.
pub fn static_data(
    env: &Environment,
    bodies: &dyn Bodies,
    key: &ItemKey,
    options: &LowerOptions,
) -> Option<Lowered> {
    let item = bodies.body(key)?;
    let ItemKind::Variables(declaration) = &item.kind else {
        return None;
    };
    let words = declaration.specifiers.words;
    if options.language != Language::C || words.has(SpecifierSet::STATIC) {
        return None;
    }
    let builder = FunctionBuilder::new(key.name.clone(), FunctionKind::Host, options.language);
    let mut cx = Context::new(builder, env, bodies, options, Demotions::default());
    cx.frames.push(Frame::outside(item.key.clone()));
    cx.push_scope();
    for declarator in &declaration.declarators {
        let DeclaratorName::Plain(ident) = &declarator.name else {
            continue;
        };
        // A prototype among variables.
        if matches!(cx.resolve_type(&declarator.ty), CType::Signature(_)) {
            continue;
        }
        let entries = env.lookup(&[], std::slice::from_ref(&ident.name));
        let Some(entry) = cx.defining_entry(&entries) else {
            continue;
        };
        let EntryKind::Variable(number) = entry.what else {
            continue;
        };
        let defining = env.item(entry).clone();
        cx.global_place(&defining, number, ident);
    }
    let mut function = cx.builder.finish();
    function.span = declaration.span;
    function.name_span = declaration.span;
    function.layout.clear();
    let own = |symbol: &SymbolData| {
        symbol.definition.linkage == Linkage::Global && symbol.kind == SymbolKind::Memory
    };
    function.symbols.values().any(own).then(|| Lowered {
        module: Module {
            functions: vec![function],
        },
        problems: cx.problems,
        ..Lowered::default()
    })
}
