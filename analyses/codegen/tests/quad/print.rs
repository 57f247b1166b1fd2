//! Functions of Quad as text.

use super::set::{Function, Name, Operand, Operation};
use std::fmt::Write;

fn name(name: Name) -> String {
    match name {
        Name::Virtual(register) => format!("v{}", register.0),
        Name::Fixed(register) => register.to_string(),
    }
}

fn operand(operand: &Operand) -> String {
    match operand {
        Operand::Register(register) => name(*register),
        Operand::Address(register) => format!("[{}]", name(*register)),
        Operand::Number(number) => number.to_string(),
        Operand::Symbol(symbol) => symbol.to_string(),
        Operand::Block(block) => format!("b{block}"),
        Operand::Frame(offset) => offset.to_string(),
    }
}

pub fn operation(operation: &Operation) -> String {
    let list = |all: &[Operand]| all.iter().map(operand).collect::<Vec<_>>().join(", ");
    let guard = operation.predicate.map_or_else(String::new, |guard| {
        let not = if operation.mnemonic.sense { "" } else { "!" };
        format!("({not}v{}) ", guard.0)
    });
    let opcode = format!("{:?}", operation.mnemonic.opcode).to_lowercase();
    let (targets, sources) = (list(&operation.targets), list(&operation.sources));
    match targets.is_empty() {
        true => format!("{guard}{opcode} {sources}"),
        false => format!("{guard}{targets} = {opcode} {sources}"),
    }
}

/// Blocks, and the cycles of operations where they are decided.
pub fn text(function: &Function) -> String {
    let mut out = String::new();
    for (number, block) in function.blocks.iter().enumerate() {
        let _ = writeln!(out, "b{number}:");
        for (at, each) in block.operations.iter().enumerate() {
            let cycle = block
                .cycles
                .get(at)
                .map_or_else(String::new, |cycle| format!("{cycle:4} "));
            let _ = writeln!(out, "  {cycle}{}", operation(each));
        }
    }
    out
}
