//! The options of one function's analysis: those of the configuration, those on which launches in sight
//! agree, and those that visible callers pass.

use super::passed::{Passed, parameters};
use crate::config::AnalysisConfig;
use facts::Options;
use ir::FunctionKind;
use ir::lower::c_family::{LowerOptions, Lowered};
use smol_str::SmolStr;

/// Returns the options of an item's lowering in the configuration.
pub(super) fn lower_options(
    config: &AnalysisConfig,
    language: ir::Language,
    item: &str,
) -> LowerOptions {
    let mut options = LowerOptions::new(language);
    options.launch.block = config.options.block;
    options.native_16bit = config.native_16bit;
    options.long_32bit = config.long_32bit;
    options.stage = config.entry_point(item);
    let value = |define: &SmolStr| {
        let (name, value) = define.split_once('=').unwrap_or((define, "1"));
        (!name.contains('(')).then(|| (SmolStr::from(name.trim()), SmolStr::from(value.trim())))
    };
    options.template_arguments = config.defines.iter().filter_map(value).collect();
    options
}

/// Options for a module; `passed` is asked for when it is a device function's.
pub(super) fn analysis_options<'a>(
    config: &AnalysisConfig,
    lowered: &Lowered,
    passed: impl FnOnce() -> &'a [Passed],
) -> Options {
    let mut options = config.options.clone();
    let Some(function) = lowered.module.functions.first() else {
        return options;
    };
    let assumed = &lowered.assumed;
    let mut known = options.block;
    for (size, declared) in known.iter_mut().zip(function.launch.block) {
        *size = declared.or(*size);
    }
    let mut text = assumed.text(known);
    options.whole_program_assumed = assumed.has_arguments();
    if function.kind == FunctionKind::Device {
        let (scopes, reached, callers) = parameters(passed(), function).unwrap_or_default();
        options.parameters = scopes;
        options.reached = reached;
        if !callers.is_empty() {
            options.whole_program_assumed = true;
            if text.is_empty() {
                text = callers.to_string();
            } else if text != callers {
                text = format!("{text}; {callers}");
            }
        }
    } else {
        options.assumed_block = assumed.block;
        options.passed.clone_from(&assumed.passed);
        options.whole.clone_from(&assumed.whole);
    }
    options.assumption = text.into();
    options
}
