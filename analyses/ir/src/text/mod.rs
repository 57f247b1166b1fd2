//! The IR's own text form, both ways.
//!
//! ```text
//! function "f" kernel text -> i32 {
//!   launch block 64 1 ? warp_size 32
//!   parameter "n" "int" (v0) @8..9
//!   symbol s0 "table" memory constant size 16 align 4 read_only
//!   variable x0 "a" "int" local @14..15
//!   loop b1 unroll 4 pipeline "best" @20..30
//!
//! b0(v0: i32):
//!   v1: i32 = const 1
//!   v2: ptr.constant = symbol s0
//!   jump b1(v1)
//!
//! b1(v3: i32):
//!   v4: i32 = add.nsw v3, v1 @22..25
//!   v5: bool = icmp.lt_s v4, v0
//!   v6: i32 = load.constant.read_only v2 if !v5 @26..27 site1
//!   branch v5, b1(v4), b2 as loop @21..22
//!
//! b2:
//!   return v4
//!   bind x0 assign b1 (v4) @14..15
//! }
//! ```
//!
//! One statement a line; `;` and `//` start comments. `@start..end` is a position (of `site1`'s item where a site
//! follows), `if` a guard, `as` the kind of a branch. Float literals are decimal where that is exact, else their bits.
//! Definitions may stand after their uses; the order of blocks is the layout. `names` lists
//! the words.
//!
//! [`print()`] shows a function's own numbers. [`parse()`] numbers blocks, instructions and values in the order of their
//! definitions, as [`normalise`] does, so that `parse(print(f)) == normalise(f)` for every verified `f`, and
//! `print(parse(text)) == text` for every text that is so numbered and spaced. Parsing does not verify.

mod gates;
mod lex;
mod names;
mod operation;
mod parse;
mod print;
#[cfg(test)]
mod tests;

pub use gates::print_gates;
pub use names::Named;

use crate::entity::{Block, Entity, EntityVec, Inst, Value};
use crate::function::*;

/// The reason why a text is no function, and its place: line and column count from 1, columns in characters.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct ParseError {
    pub line: u32,
    pub column: u32,
    pub message: String,
}

pub fn print(function: &Function) -> String {
    let mut out = String::new();
    print::function(function, &mut out);
    out
}

/// The functions one after the other, separated by an empty line.
pub fn print_module(module: &Module) -> String {
    let mut out = String::new();
    for (number, function) in module.functions.iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        print::function(function, &mut out);
    }
    out
}

/// One function and nothing else.
pub fn parse(text: &str) -> Result<Function, ParseError> {
    parse::function(text)
}

pub fn parse_module(text: &str) -> Result<Module, ParseError> {
    parse::module(text)
}

/// The same function without dead entries: blocks, instructions and values numbered in the order of the layout.
/// A use of a value or block that the layout does not define becomes the highest id.
pub fn normalise(function: &Function) -> Function {
    let mut result = Function {
        blocks: EntityVec::new(),
        layout: Vec::with_capacity(function.layout.len()),
        insts: EntityVec::new(),
        values: EntityVec::new(),
        statics: Vec::new(),
        ..function.clone()
    };
    let mut blocks = EntityVec::<Block, Option<Block>>::with_len(None, function.blocks.len());
    let mut values = EntityVec::<Value, Option<Value>>::with_len(None, function.values.len());
    for &block in &function.layout {
        let Some(data) = function.blocks.get(block) else {
            continue;
        };
        let new = Block::new(result.blocks.len());
        blocks[block] = Some(new);
        let mut data = data.clone();
        let mut define = |result: &mut Function, value: Value, def: ValueDef| {
            if let Some(old) = function.values.get(value) {
                values[value] = Some(result.values.push(ValueData { ty: old.ty, def }));
            }
        };
        for (number, &param) in data.params.iter().enumerate() {
            define(&mut result, param, ValueDef::Param(new, number as u32));
        }
        let old_insts = std::mem::take(&mut data.insts);
        for inst in old_insts {
            let Some(inst_data) = function.insts.get(inst) else {
                continue;
            };
            let new = Inst::new(result.insts.len());
            for (number, &value) in inst_data.results.iter().enumerate() {
                define(&mut result, value, ValueDef::Result(new, number as u16));
            }
            result.insts.push(inst_data.clone());
            data.insts.push(new);
        }
        result.blocks.push(data);
        result.layout.push(new);
    }
    let value = |v: Value| values.get(v).copied().flatten().unwrap_or(Value(u32::MAX));
    let block = |b: Block| blocks.get(b).copied().flatten().unwrap_or(Block(u32::MAX));
    rename(&mut result, value, block);
    result
}

/// Applies a map to every mention of a value and to every mention of a block but for those of the layout.
fn rename(function: &mut Function, value: impl Fn(Value) -> Value, block: impl Fn(Block) -> Block) {
    let all = |values: &mut [Value]| values.iter_mut().for_each(|v| *v = value(*v));
    for key in function.blocks.keys() {
        let data = &mut function.blocks[key];
        all(&mut data.params);
        all(data.terminator.reads_mut());
        for edge in data.terminator.edges_mut() {
            edge.block = block(edge.block);
            all(&mut edge.args);
        }
    }
    for key in function.insts.keys() {
        let data = &mut function.insts[key];
        all(&mut data.args);
        all(&mut data.results);
        if let Some(guard) = &mut data.guard {
            guard.value = value(guard.value);
        }
    }
    for parameter in &mut function.parameters {
        all(&mut parameter.values);
    }
    for binding in &mut function.bindings {
        all(&mut binding.values);
        binding.block = block(binding.block);
    }
    for vector in &mut function.vectors {
        all(vector);
    }
    for source_loop in &mut function.loops {
        source_loop.header = block(source_loop.header);
    }
    for promise in &mut function.promises {
        match &mut promise.kind {
            PromiseKind::Aligned {
                pointer, block: at, ..
            }
            | PromiseKind::Readable {
                pointer, block: at, ..
            } => {
                *pointer = value(*pointer);
                *at = block(*at);
            }
            PromiseKind::Rounds { header, .. } => *header = block(*header),
        }
    }
    for key in function.sites.keys() {
        for (_, values) in &mut function.sites[key].arguments {
            all(values);
        }
    }
}

/// The entry of the inlining tree that stands for the function itself when nothing else is said.
fn own_site(name: &smol_str::SmolStr) -> SiteData {
    SiteData {
        item: None,
        callee: name.clone(),
        call: Loc::NONE,
        parent: None,
        arguments: Vec::new(),
    }
}
