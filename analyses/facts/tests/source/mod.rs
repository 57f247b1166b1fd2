//! Facts of source text: what a declaration of `D` says.

use facts::{Class, FunctionFacts, Options, analyze};
use ir::lower::c_family::{Environment, LowerOptions, UnitBodies, lower_item};
use ir::{Language, Module};
use std::sync::Arc;
use syntax::c_family::ast::ParsedItem;
use syntax::c_family::{Dialect, lexer::lex, parse_unit};
use syntax::preprocess::{IncludeResolver, IncludedFile, PreprocessOptions, preprocess};

struct Nothing;

impl IncludeResolver for Nothing {
    fn resolve(&mut self, _from: &str, _spec: &str, _angled: bool) -> Option<IncludedFile> {
        None
    }
}

/// The functions of a text with their facts.
pub(crate) fn functions(text: &str, dialect: Dialect) -> Vec<(Module, FunctionFacts)> {
    functions_with(text, dialect, &Options::default())
}

pub(crate) fn functions_with(
    text: &str,
    dialect: Dialect,
    with: &Options,
) -> Vec<(Module, FunctionFacts)> {
    let main = IncludedFile {
        path: Arc::from("text"),
        tokens: Arc::new(lex(text)),
    };
    let unit = preprocess(&main, &PreprocessOptions::new(dialect), &mut Nothing);
    let items: Vec<Arc<ParsedItem>> = parse_unit(&unit, dialect)
        .into_iter()
        .map(|(_, _, item)| Arc::new(item))
        .collect();
    let environment = Environment::new(&items);
    let bodies = UnitBodies(items.iter().map(|i| (i.key.clone(), i.clone())).collect());
    let language = match dialect {
        Dialect::Hlsl => Language::Hlsl,
        _ => Language::Cuda,
    };
    let mut found = Vec::new();
    for item in &items {
        let options = LowerOptions::new(language);
        for lowered in lower_item(&environment, &bodies, &item.key, &options) {
            let function = &lowered.module.functions[0];
            ir::verify(function).unwrap();
            let mut with = with.clone();
            // As launches in sight say.
            if lowered.assumed.block.iter().any(Option::is_some) {
                with.assumed_block = lowered.assumed.block;
            }
            with.passed.clone_from(&lowered.assumed.passed);
            with.whole.clone_from(&lowered.assumed.whole);
            let facts = analyze(0, &lowered.module, &with);
            found.push((lowered.module, facts));
        }
    }
    found
}

/// Returns the class of the declaration of `D`, in the function that has one.
pub(crate) fn class(text: &str, dialect: Dialect) -> Class {
    class_with(text, dialect, &Options::default())
}

pub(crate) fn class_with(text: &str, dialect: Dialect, with: &Options) -> Class {
    let mut found = None;
    for (module, facts) in functions_with(text, dialect, with) {
        let function = &module.functions[0];
        for binding in &function.bindings {
            if function.variables[binding.variable].name == "D"
                && let [value] = binding.values[..]
            {
                found = Some(facts.at(value, binding.block).class);
            }
        }
    }
    found.unwrap_or_else(|| panic!("`D` is declared: {text}"))
}

pub(crate) fn cuda(before: &str, parameters: &str, body: &str) -> Class {
    let text = format!(
        "{before} __global__ void k(int* o, int n{parameters}) {{ {body} o[threadIdx.x] = D; }}"
    );
    class(&text, Dialect::Cuda)
}
