//! Operations as text, as the assembler reads it.

use super::code::{Allocation, Name, Operation};
use super::frame::Frame;
use super::written::{Written, operands};
use isa::sc140::{Condition, Opcode, Reg};
use std::fmt::Write;

/// The names with which operands are printed.
pub(super) struct Printer<'a> {
    pub allocation: &'a Allocation,
    pub frame: &'a Frame,
    /// The name of the function, which its labels bear.
    pub name: &'a str,
}

impl Printer<'_> {
    pub(super) fn label(&self, block: u32) -> String {
        format!("L{}_{block}", self.name)
    }

    fn register(&self, name: Name) -> Reg {
        match name {
            Name::Virtual(register) => self.allocation.register(register),
            Name::Fixed(register) => register,
        }
    }

    fn operand(&self, operand: Written<'_>) -> String {
        match operand {
            Written::Register { name, .. } => self.register(name).to_string(),
            Written::Group(registers) => {
                let names = registers.iter().filter_map(super::code::Operand::name);
                let names: Vec<String> =
                    names.map(|name| self.register(name).to_string()).collect();
                names.join(":")
            }
            Written::Negative(name) => format!("-{}", self.register(name)),
            Written::Place { base, step } => {
                let sign = match step {
                    None => "",
                    Some(step) if step < 0 => "-",
                    Some(_) => "+",
                };
                format!("({}){sign}", self.register(base))
            }
            Written::Frame(offset) => match self.frame.offset(offset) {
                below @ ..=0 => format!("(sp-{})", -below),
                above => format!("(sp+{above})"),
            },
            Written::Number(number) => format!("#{number}"),
            Written::Distance(offset) => format!("#>{}", self.frame.offset(offset)),
            Written::Symbol(name) => format!("#{name}"),
            Written::Callee(name) => name.to_string(),
            Written::Block(block) => self.label(block),
        }
    }

    /// The instruction without its condition.
    pub(super) fn instruction(&self, operation: &Operation) -> String {
        let operands = operands(operation).into_iter();
        let operands: Vec<String> = operands.map(|operand| self.operand(operand)).collect();
        let name = operation.mnemonic.to_string();
        match operands.is_empty() {
            true => name,
            false => format!("{name:<8} {}", operands.join(",")),
        }
    }

    /// A set: one line, or lines between brackets. An empty one is a `nop`. Returns the operations that have a line of
    /// their own, in that order; the first one's is the first of the set, or the second, behind a bracket.
    pub(super) fn set<'o>(
        &self,
        operations: &[&'o Operation],
        out: &mut String,
    ) -> Vec<&'o Operation> {
        let group = |operation: &&Operation| match operation.mnemonic.condition {
            Condition::True => 0,
            Condition::False => 1,
            Condition::Always => 2,
        };
        let mut order: Vec<&'o Operation> = operations
            .iter()
            .copied()
            .filter(|operation| {
                !matches!(operation.mnemonic.opcode, Opcode::Lpmarka | Opcode::Lpmarkb)
            })
            .collect();
        order.sort_by_key(group);
        let mixed = order
            .iter()
            .any(|it| it.mnemonic.condition != Condition::Always);
        let mut last = None;
        let mut lines = Vec::new();
        for operation in &order {
            let condition = operation.mnemonic.condition;
            let new = mixed && last.replace(condition) != Some(condition);
            let prefix = if new {
                format!("{} ", condition.name())
            } else {
                String::new()
            };
            lines.push(format!("{prefix}{}", self.instruction(operation)));
        }
        match &lines[..] {
            [] => out.push_str("    nop\n"),
            [line] => {
                let _ = writeln!(out, "    {line}");
            }
            lines => {
                out.push_str(" [\n");
                for line in lines {
                    let _ = writeln!(out, "    {line}");
                }
                out.push_str(" ]\n");
            }
        }
        order
    }
}
