//! CUDA C++, HLSL and C to IR. The meaning of a program is decided here: types, overloads, templates,
//! conversions, builtin names; calls of visible functions are inlined.
//!
//! Anything that is not understood becomes `Op::Unknown` with a problem at its place, and lowering goes on. Every
//! recursion has a depth limit, inlining has a budget, and the result depends on nothing but the arguments.

pub mod access;
pub mod address;
pub mod aliases;
pub mod arguments;
pub mod assumed;
pub mod bit_fields;
pub mod builtins;
pub mod c_initializers;
pub mod call;
pub mod classes;
pub mod closure;
pub mod code_pointers;
pub mod constant;
pub mod context;
pub mod conversion_functions;
pub mod convert;
pub mod data_model;
mod declare;
pub mod dispatch;
pub mod env;
pub mod expr;
pub mod fields;
mod flags;
pub mod generic_selection;
pub mod guesses;
pub mod inline_asm;
mod inlining;
pub mod launches;
pub mod layout;
pub mod leaving;
pub mod library_types;
pub mod lifetimes;
pub mod loops;
pub mod members;
pub mod names;
pub mod objects;
pub mod operators;
pub mod outlined;
pub mod overload;
pub mod passing;
pub mod place;
mod promises;
pub mod recognize;
pub mod resolve;
pub mod resources;
pub mod returns;
pub mod root;
pub mod skipped;
mod spaces;
pub mod speculate;
pub mod stages;
pub mod static_addresses;
mod static_contents;
mod static_data;
pub mod stmt;
pub mod switches;
pub mod templates;
pub mod types;
pub mod undeclared;
pub mod unseen;
pub mod value;
pub mod visit;
mod whole_types;

pub use assumed::Assumed;
pub use env::{Environment, ItemDeclaration, missing_headers};
pub use root::{UnitBodies, lower_item, lower_unit};
pub use static_data::static_data;

use crate::function::{FunctionKind, Language, LaunchShape, Module};
use smol_str::SmolStr;
use std::sync::Arc;
use syntax::c_family::ast::ParsedItem;
use syntax::{ItemKey, Problem};

/// Gives items with their bodies.
pub trait Bodies {
    fn body(&self, key: &ItemKey) -> Option<Arc<ParsedItem>>;
    /// The basic operation that a function of C is: `recognize::recognize`, or what is kept of it.
    fn recognized(
        &self,
        env: &Environment,
        key: &ItemKey,
        options: &LowerOptions,
    ) -> Option<recognize::Recognized>;
}

#[derive(Clone, PartialEq, Debug)]
pub struct LowerOptions {
    pub language: Language,
    /// Settings that the source does not fix.
    pub launch: LaunchShape,
    /// The stage of the function that the configuration names; otherwise the source tells.
    pub stage: Option<FunctionKind>,
    /// Values for template parameters of the item, by name: numbers or type names.
    pub template_arguments: Vec<(SmolStr, SmolStr)>,
    /// HLSL's `-enable-16bit-types`: `half` and the `min16` types have 16 bits; otherwise they have 32.
    pub native_16bit: bool,
    /// C: `long`, `size_t` and `ptrdiff_t` have 32 bits, and so have pointers in memory; otherwise they have 64.
    pub long_32bit: bool,
    /// Calls of functions that are basic operations are calls of what is written: for the comparison that tells them.
    pub as_written: bool,
}

impl LowerOptions {
    /// Returns true if pointers have 32 bits in memory.
    pub fn narrow_addresses(&self) -> bool {
        self.long_32bit && self.language == Language::C
    }

    pub fn new(language: Language) -> Self {
        LowerOptions {
            language,
            launch: LaunchShape::default(),
            stage: None,
            template_arguments: Vec::new(),
            native_16bit: false,
            long_32bit: false,
            as_written: false,
        }
    }
}

/// One function of an item.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Lowered {
    pub module: Module,
    pub problems: Vec<Problem>,
    /// The assumptions that the facts of the first function rest on beyond the source.
    pub assumed: Assumed,
    /// Functions that it calls, of which a prototype is in sight and the definition in another translation unit; sorted.
    pub external: Vec<SmolStr>,
}
