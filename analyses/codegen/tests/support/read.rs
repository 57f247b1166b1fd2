//! A text of CUDA or HLSL as its items and as the modules of its kernels, and numbers for its arguments.
#![allow(dead_code)]

use ir::lower::c_family::{Environment, LowerOptions, UnitBodies, lower_item};
use ir::{FunctionKind, Language, Module};
use lockstep_codegen::specialize::source::Source;
use oracle::random::Random;
use std::sync::Arc;
use syntax::c_family::ast::ParsedItem;
use syntax::c_family::{Dialect, parse_unit};
use syntax::preprocess::{Unit, preprocess_text};

pub(crate) struct Read {
    pub(crate) unit: Unit,
    /// The beginning and the end of each item.
    pub(crate) parsed: Vec<(u32, u32, ParsedItem)>,
    pub(crate) items: Vec<Arc<ParsedItem>>,
    pub(crate) environment: Environment,
    pub(crate) bodies: UnitBodies,
    pub(crate) language: Language,
}

pub(crate) fn read(text: &str, language: Language) -> Read {
    let dialect = match language {
        Language::Hlsl => Dialect::Hlsl,
        Language::C => Dialect::C,
        _ => Dialect::Cuda,
    };
    let unit = preprocess_text("main", text, dialect);
    let parsed = parse_unit(&unit, dialect);
    let items: Vec<Arc<ParsedItem>> = parsed
        .iter()
        .map(|(_, _, item)| Arc::new(item.clone()))
        .collect();
    Read {
        environment: Environment::new(&items),
        bodies: UnitBodies(items.iter().map(|i| (i.key.clone(), i.clone())).collect()),
        unit,
        parsed,
        items,
        language,
    }
}

impl Read {
    /// The modules of kernels and entry points, and the problems of all.
    pub(crate) fn lowered(&self) -> (Vec<Module>, usize) {
        let mut problems = 0;
        let mut modules = Vec::new();
        for item in &self.items {
            problems += item.problems.len();
            let options = LowerOptions::new(self.language);
            for lowered in lower_item(&self.environment, &self.bodies, &item.key, &options) {
                problems += lowered.problems.len();
                let runs = lowered.module.functions.first().is_some_and(|function| {
                    function.kind != FunctionKind::Device && !function.layout.is_empty()
                });
                if runs {
                    modules.push(lowered.module);
                }
            }
        }
        (modules, problems)
    }
    /// An item of the text, as versions see it.
    pub(crate) fn source<'a>(&'a self, text: &'a str, number: usize) -> Source<'a> {
        let (start, _, item) = &self.parsed[number];
        let tokens = &self.unit.items[number].tokens;
        let (environment, bodies) = (&self.environment, &self.bodies);
        Source::new(
            item,
            tokens,
            text,
            *start,
            environment,
            bodies,
            self.language,
        )
    }
    /// The modules of kernels.
    pub(crate) fn kernels(&self) -> Vec<Module> {
        let (mut modules, _) = self.lowered();
        modules.retain(|module| module.functions[0].kind == FunctionKind::Kernel);
        modules
    }
}

/// Zero in whole warps, in some lanes, nowhere, by the seed of a value's name.
pub(crate) fn number(seed: u64, slot: u64, lane: u64) -> f32 {
    let pattern = Random::new(seed ^ (slot << 8) ^ (lane / 32)).below(3);
    let mut of_lane = Random::new(seed ^ (slot << 32) ^ (lane << 3) ^ 0x9e37);
    let value = (of_lane.below(4096) as f32 - 2048.0) / 1024.0;
    let value = if value == 0.0 { 1.0 } else { value };
    match pattern {
        0 => 0.0,
        1 if of_lane.percent(50) => 0.0,
        _ => value,
    }
}
