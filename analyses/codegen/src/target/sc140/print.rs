//! Operations as text, as the assembler reads it.

use super::code::{Allocation, Name, Operand, Operation, is_store, writes_truth};
use super::frame::Frame;
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

    fn operand(&self, operand: &Operand, step: Option<i64>) -> String {
        match operand {
            Operand::Register(name) => self.register(*name).to_string(),
            Operand::Address(name) => {
                let sign = match step {
                    None => "",
                    Some(step) if step < 0 => "-",
                    Some(_) => "+",
                };
                format!("({}){sign}", self.register(*name))
            }
            Operand::Number(number) => format!("#{number}"),
            Operand::Symbol(name) => name.to_string(),
            Operand::Block(block) => self.label(*block),
            Operand::Frame(offset) => match self.frame.offset(*offset) {
                below @ ..=0 => format!("(sp-{})", -below),
                above => format!("(sp+{above})"),
            },
        }
    }

    /// The instruction without its condition.
    pub(super) fn instruction(&self, operation: &Operation) -> String {
        let opcode = operation.mnemonic.opcode;
        let step = operation
            .stepped()
            .and_then(|_| match operation.sources.last() {
                Some(Operand::Number(step)) => Some(*step),
                _ => None,
            });
        let text = |operand: &Operand| self.operand(operand, step);
        let sources = &operation.sources[..operation.sources.len() - usize::from(step.is_some())];
        let operands: Vec<String> = match (opcode, sources) {
            // A factor's sign.
            (Opcode::Mac | Opcode::Macr | Opcode::Mpy, [a, b, Operand::Number(-1)]) => {
                let target = operation.targets.iter().map(text);
                let factors = [format!("-{}", text(a)), text(b)];
                factors.into_iter().chain(target).collect()
            }
            (Opcode::Adda, [Operand::Frame(offset), base]) => {
                let number = format!("#>{}", self.frame.offset(*offset));
                let target = operation.targets.iter().map(text);
                [number, text(base)].into_iter().chain(target).collect()
            }
            (Opcode::MoveL, [Operand::Symbol(name)]) => {
                let target = operation.targets.iter().map(text);
                std::iter::once(format!("#{name}")).chain(target).collect()
            }
            (Opcode::Jsr, [callee, ..]) => vec![text(callee)],
            (Opcode::Doen | Opcode::Doensh, sources) => sources.iter().map(text).collect(),
            // The place in the frame is the target.
            (_, [place @ Operand::Frame(_), from]) if is_store(operation) => {
                vec![text(from), text(place)]
            }
            (Opcode::Push | Opcode::Pop, _) => {
                sources.iter().chain(&operation.targets).map(text).collect()
            }
            (opcode, sources) => {
                let targets = operation.targets.iter().filter(|_| !writes_truth(opcode));
                sources.iter().chain(targets).map(text).collect()
            }
        };
        match operands.is_empty() {
            true => operation.mnemonic.to_string(),
            false => format!(
                "{:<8} {}",
                operation.mnemonic.to_string(),
                operands.join(",")
            ),
        }
    }

    /// A set: one line, or lines between brackets. An empty one is a `nop`.
    pub(super) fn set(&self, operations: &[&Operation], out: &mut String) {
        let group = |operation: &&Operation| match operation.mnemonic.condition {
            Condition::True => 0,
            Condition::False => 1,
            Condition::Always => 2,
        };
        let mut order: Vec<&Operation> = operations
            .iter()
            .copied()
            .filter(|one| !matches!(one.mnemonic.opcode, Opcode::Lpmarka | Opcode::Lpmarkb))
            .collect();
        order.sort_by_key(group);
        let mixed = order
            .iter()
            .any(|one| one.mnemonic.condition != Condition::Always);
        let mut last = None;
        let mut lines = Vec::new();
        for operation in order {
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
    }
}
