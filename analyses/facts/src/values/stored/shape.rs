//! Names under which values are found again: the hash of a function's code, which positions, comments and names do not
//! touch; the shape of a value; the variables that hold it.
//!
//! Hashes are FNV-1a of 64 bits: they notice edits, they do not resist an adversary.

use ir::{BindingKind, Block, Function, Op, Value, ValueDef, VariableKind};
use rustc_hash::FxHashMap;
use std::fmt::Write;

#[derive(Clone, Copy)]
struct Fnv(u64);

impl Fnv {
    const fn new() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    fn word(&mut self, word: u64) {
        self.bytes(&word.to_le_bytes());
    }
}

impl Write for Fnv {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.bytes(text.as_bytes());
        Ok(())
    }
}

/// Returns the hash of a source text; carriage returns do not count.
#[must_use]
pub fn text_hash(text: &str) -> u64 {
    let mut state = Fnv::new();
    for line in text.split('\r') {
        state.bytes(line.as_bytes());
    }
    state.0
}

/// Returns the hash of a function's computation: blocks, instructions, operands, edges. Equal hashes mean
/// that values have the same ids.
#[must_use]
pub fn code_hash(function: &Function) -> u64 {
    let mut state = Fnv::new();
    // A write to the hash does not fail.
    let _ = write!(state, "{:?}{:?}", function.kind, function.language);
    for &block in &function.layout {
        let data = &function.blocks[block];
        state.word(u64::from(block.0) | 1 << 40);
        for &param in &data.params {
            state.word(u64::from(param.0));
            let _ = write!(state, "{}", function.ty(param));
        }
        for &inst in &data.insts {
            let inst = &function.insts[inst];
            match &inst.op {
                Op::SymbolAddress(symbol) => state.bytes(function.symbols[*symbol].name.as_bytes()),
                // The reason may name a place.
                Op::Unknown(_) => state.bytes(b"unknown"),
                op => {
                    let _ = write!(state, "{op:?}");
                }
            }
            for &arg in &inst.args {
                state.word(u64::from(arg.0));
            }
            if let Some(guard) = inst.guard {
                state.word(u64::from(guard.value.0) | u64::from(guard.negated) << 33 | 1 << 34);
            }
            for &result in &inst.results {
                state.word(u64::from(result.0) | 1 << 35);
                let _ = write!(state, "{}", function.ty(result));
            }
        }
        let terminator = &data.terminator;
        state.word(
            terminator
                .selector()
                .map_or(1 << 36, |value| u64::from(value.0)),
        );
        for edge in terminator.edges() {
            state.word(u64::from(edge.block.0) | 1 << 37);
            for &arg in &edge.args {
                state.word(u64::from(arg.0));
            }
        }
    }
    state.0
}

/// Returns the hash of a block's computation, whatever its values are called: equal shapes are the same
/// operations in the same order.
#[must_use]
pub fn block_shape(function: &Function, block: Block) -> u64 {
    let mut state = Fnv::new();
    let data = &function.blocks[block];
    state.word(data.params.len() as u64);
    for &inst in &data.insts {
        let inst = &function.insts[inst];
        let constant = |arg: &Value| function.int_constant(*arg).map_or(1 << 40, |n| n as u64);
        if matches!(inst.op, Op::Const(_)) {
            continue;
        }
        state.bytes(operation(&inst.op).as_bytes());
        inst.args.iter().for_each(|arg| state.word(constant(arg)));
        for &result in &inst.results {
            // A write to the hash does not fail.
            let _ = write!(state, "{}", function.ty(result));
        }
    }
    state.word(data.terminator.edges().len() as u64 | 1 << 41);
    // Zero means that none was kept.
    state.0.max(1)
}

/// `f32 FloatMul(Saturate, load)`: the type, the operation, and those of its operands.
#[must_use]
pub fn shape(function: &Function, value: Value) -> String {
    let ty = function.ty(value);
    match function.values[value].def {
        ValueDef::Param(block, number) => {
            let entry = function.layout.first() == Some(&block);
            match entry {
                true => format!("{ty} parameter {number}"),
                false => format!("{ty} merge"),
            }
        }
        ValueDef::Result(inst, number) => {
            let data = &function.insts[inst];
            let mut out = format!("{ty} {}", operation(&data.op));
            if data.results.len() > 1 {
                let _ = write!(out, " {number}");
            }
            for (at, &arg) in data.args.iter().take(8).enumerate() {
                let name = function
                    .defining(arg)
                    .map_or_else(|| "merge".to_owned(), |inst| operation(&inst.op));
                let _ = write!(out, "{}{name}", if at == 0 { "(" } else { ", " });
            }
            if !data.args.is_empty() {
                out.push(')');
            }
            out
        }
    }
}

fn operation(op: &Op) -> String {
    match op {
        Op::Const(_) => "const".into(),
        Op::Unary(op) => format!("{op:?}"),
        Op::Binary(op, _) => format!("{op:?}"),
        Op::Ternary(op) => format!("{op:?}"),
        Op::Convert(op) => format!("{op:?}"),
        Op::IntCompare(op) => format!("compare {op:?}"),
        Op::FloatCompare(op) => format!("compare {op:?}"),
        Op::Special(special) => format!("{special:?}"),
        Op::StageInput(number) => format!("input {number}"),
        Op::Parameter(name) => format!("parameter {name}"),
        Op::Load(access) => format!("load {:?}", access.space),
        Op::Atomic(op, _) => format!("atomic {op:?}"),
        Op::Texture(access) => format!("texture {:?}", access.op),
        Op::Warp(op) => format!("{:?}", op.kind),
        Op::CallUnknown { name, .. } => format!("call {name}"),
        Op::Call(number) => format!("call {number}"),
        Op::Asm { .. } => "asm".into(),
        Op::Unknown(_) => "unknown".into(),
        Op::Undef => "undef".into(),
        Op::SymbolAddress(_) => "symbol".into(),
        Op::Select => "Select".into(),
        Op::Fma => "Fma".into(),
        Op::PtrAdd => "PtrAdd".into(),
        other => {
            let text = format!("{other:?}");
            let end = text
                .find(|c: char| !c.is_alphanumeric())
                .unwrap_or(text.len());
            text[..end].to_owned()
        }
    }
}

/// The variable that first holds each value, with its component, and where: `c.x`. Reads count for values
/// that only reads name.
#[must_use]
pub fn names(function: &Function) -> FxHashMap<Value, (String, ir::Loc)> {
    let mut names: FxHashMap<Value, (String, ir::Loc)> = FxHashMap::default();
    // What the stage gets has the name of the input, whatever structure carries it.
    for (value, data) in function.values.iter() {
        let ValueDef::Result(inst, _) = data.def else {
            continue;
        };
        let Op::StageInput(number) = function.insts[inst].op else {
            continue;
        };
        let Some(input) = function.inputs.get(number as usize) else {
            continue;
        };
        let same = |it: &&ir::StageInput| it.name == input.name && it.semantic == input.semantic;
        let count = function.inputs.iter().filter(same).count();
        let part = component("", count, usize::from(input.component));
        names.insert(
            value,
            (format!("{}{part}", input.name), function.insts[inst].loc),
        );
    }
    for reads in [false, true] {
        for binding in &function.bindings {
            let variable = &function.variables[binding.variable];
            let global = variable.kind == VariableKind::Global;
            if (binding.kind == BindingKind::Read) != reads || (reads && !global) {
                continue;
            }
            for (at, &value) in binding.values.iter().enumerate() {
                names.entry(value).or_insert_with(|| {
                    let part = component(&binding.part, binding.values.len(), at);
                    (format!("{}{part}", variable.name), binding.loc)
                });
            }
        }
    }
    names
}

/// `.x` of a vector, `.yz` of which the first is `.y`, `[5]` of something longer.
fn component(part: &str, count: usize, at: usize) -> String {
    if count == 1 {
        return part.to_owned();
    }
    if let Some(letters) = part.strip_prefix('.')
        && letters.len() == count
        && let Some(letter) = letters.chars().nth(at)
        && "xyzwrgba".contains(letter)
    {
        return format!(".{letter}");
    }
    match ["x", "y", "z", "w"].get(at).filter(|_| count <= 4) {
        Some(letter) => format!("{part}.{letter}"),
        None => format!("{part}[{at}]"),
    }
}
