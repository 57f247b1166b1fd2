//! Operations on virtual registers as assembly text.

use crate::target::ia64::code::{Name, Operand, Operation, Virtual};
use isa::ia64::Reg;
use std::fmt::Write;

/// The operation with registers and labels as `register` and `label` say: `(p6) ld8 r14 = [r32], 8`.
pub fn text(
    operation: &Operation,
    register: &dyn Fn(Virtual) -> Reg,
    label: &dyn Fn(u32) -> String,
) -> String {
    let mut out = String::new();
    let name = |name: Name| match name {
        Name::Virtual(name) => register(name),
        Name::Fixed(register) => register,
    };
    let list = |out: &mut String, operands: &[Operand]| {
        for (at, operand) in operands.iter().enumerate() {
            if at > 0 {
                out.push_str(", ");
            }
            let _ = match operand {
                Operand::Register(register) => write!(out, "{}", name(*register)),
                Operand::Address(register) => write!(out, "[{}]", name(*register)),
                Operand::Number(number) => write!(out, "{number}"),
                Operand::Symbol(symbol) => write!(out, "{symbol}"),
                Operand::Block(block) => write!(out, "{}", label(*block)),
                Operand::Frame(offset) => write!(out, "{offset}"),
            };
        }
    };
    if let Some(predicate) = operation.predicate {
        let _ = write!(out, "({}) ", register(predicate));
    }
    let _ = write!(out, "{}", operation.mnemonic);
    if !operation.targets.is_empty() {
        out.push(' ');
        list(&mut out, &operation.targets);
        out.push_str(" =");
    }
    if !operation.sources.is_empty() {
        out.push(' ');
        list(&mut out, &operation.sources);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::ia64::code::op;

    #[test]
    fn a_load_with_post_increment_is_printed() {
        let address = Operand::Address(Name::Fixed(Reg::general(32)));
        let mut load = Operation::plain(
            op!("ld8"),
            vec![Operand::fixed(Reg::general(33))],
            vec![address, Operand::Number(8)],
        );
        load.predicate = Some(Virtual(0));
        let printed = text(&load, &|_| Reg::predicate(6), &|block| format!(".b{block}"));
        assert_eq!(printed, "(p6) ld8 r33 = [r32], 8");
    }
}
