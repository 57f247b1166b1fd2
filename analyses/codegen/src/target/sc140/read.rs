//! From the text's instructions to those of the table. Numbers of `EQU` and `SET` are known, other symbols are not.

use isa::sc140::{Address, Instruction, Mnemonic, Number, Operand, Part, Reg, Size, Step};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use syntax::sc140::{self as text, Binary, Document, Expr, OperandKind, StatementKind, Update};

/// The reason why nothing is known of an instruction.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("`{0}` is not known")]
    Mnemonic(SmolStr),
    /// The number of the operand.
    #[error("operand {0} is not understood")]
    Operand(usize),
}

/// The numbers that a file gives names to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Symbols {
    numbers: FxHashMap<SmolStr, i64>,
}

impl Symbols {
    /// The names of the file's `EQU` and `SET`; one that has two numbers is left out.
    #[must_use]
    pub fn of(document: &Document) -> Symbols {
        let mut symbols = Symbols::default();
        let mut changed: Vec<SmolStr> = Vec::new();
        for statement in &document.statements {
            let StatementKind::Directive(directive) = &statement.kind else {
                continue;
            };
            let (Some(label), "equ" | "set", [text::Argument::Expr(value)]) =
                (&directive.label, &*directive.name, &directive.arguments[..])
            else {
                continue;
            };
            let number = symbols.number(value);
            match number {
                Some(number) if !changed.contains(label) => {
                    let before = symbols.numbers.insert(label.clone(), number);
                    if before.is_some_and(|before| before != number) {
                        symbols.numbers.remove(label);
                        changed.push(label.clone());
                    }
                }
                _ => {
                    symbols.numbers.remove(label);
                    changed.push(label.clone());
                }
            }
        }
        symbols
    }

    /// The number of an expression. `None`: something in it is not known.
    fn number(&self, value: &Expr) -> Option<i64> {
        value.evaluate(&|leaf| self.numbers.get(leaf.name()?).copied())
    }
}

/// The instruction of the table. `condition`: the one that is in force for it.
///
/// # Errors
/// Nothing is known of it.
pub fn read(
    instruction: &text::Instruction,
    condition: Option<text::Condition>,
    symbols: &Symbols,
) -> Result<Instruction, Unreadable> {
    use isa::sc140::Condition;
    let name = &instruction.mnemonic;
    let mnemonic = Mnemonic::of(name).ok_or_else(|| Unreadable::Mnemonic(name.clone()))?;
    let mnemonic = mnemonic.under(match condition {
        Some(text::Condition::True) => Condition::True,
        Some(text::Condition::False) => Condition::False,
        Some(text::Condition::Always) | None => Condition::Always,
    });
    let operands = instruction.operands.iter().enumerate();
    let operands: Result<Vec<Operand>, Unreadable> = operands
        .map(|(at, operand)| {
            self::operand(&operand.kind, symbols).ok_or(Unreadable::Operand(at + 1))
        })
        .collect();
    Ok(Instruction::new(mnemonic, operands?))
}

fn operand(kind: &OperandKind, symbols: &Symbols) -> Option<Operand> {
    match kind {
        OperandKind::Immediate { size, value } => {
            Some(Operand::Number(number(*size, symbols.number(value))))
        }
        OperandKind::Value { size, value } => match value {
            Expr::Name(name) => match Reg::of(name) {
                Some((register, part)) => {
                    size.is_none().then_some(Operand::Register(register, part))
                }
                None => Some(Operand::Label(number(*size, symbols.number(value)))),
            },
            Expr::Unary {
                op: text::Unary::Minus,
                of,
            } if register(of).is_some() => register(of).map(Operand::Negative),
            _ => Some(Operand::Label(number(*size, symbols.number(value)))),
        },
        OperandKind::Group(names) => {
            let registers: Option<Vec<(Reg, Part)>> =
                names.iter().map(|name| Reg::of(name)).collect();
            registers.map(Operand::Group)
        }
        OperandKind::Memory(memory) => address(memory, symbols).map(Operand::Memory),
        OperandKind::Unknown(_) => None,
    }
}

fn number(size: Option<text::Size>, value: Option<i64>) -> Number {
    let size = size.map(|size| match size {
        text::Size::Short => Size::Short,
        text::Size::Long => Size::Long,
    });
    Number { value, size }
}

/// The whole register that an expression is.
fn register(value: &Expr) -> Option<Reg> {
    match Reg::of(value.name()?)? {
        (register, Part::Whole) => Some(register),
        _ => None,
    }
}

fn address(memory: &text::Memory, symbols: &Symbols) -> Option<Address> {
    let step = match &memory.update {
        Update::None => Step::None,
        Update::Up => Step::Up,
        Update::Down => Step::Down,
        Update::By(name) => match Reg::of(name)? {
            (offset, Part::Whole) => Step::By(offset),
            _ => return None,
        },
    };
    if let Some(base) = register(&memory.address) {
        return Some(Address::At { base, step });
    }
    if step != Step::None {
        return None;
    }
    if let Expr::Binary {
        op: Binary::Add,
        left,
        right,
    } = &memory.address
        && let (Some(base), Some(index)) = (register(left), register(right))
    {
        return Some(Address::Indexed { base, index });
    }
    match summand(&memory.address) {
        // What is left of the sum once its register is taken for 0.
        Some(base) => {
            let rest = memory.address.evaluate(&|leaf| match register(leaf) {
                Some(_) => Some(0),
                None => symbols.number(leaf),
            });
            Some(Address::Displaced {
                base,
                by: number(memory.size, rest),
            })
        }
        None => Some(Address::Absolute(number(
            memory.size,
            symbols.number(&memory.address),
        ))),
    }
}

/// The register that is the first of the summands.
fn summand(value: &Expr) -> Option<Reg> {
    match value {
        Expr::Binary {
            op: Binary::Add | Binary::Subtract,
            left,
            ..
        } => summand(left),
        right => register(right),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Result<Instruction, Unreadable> {
        let document = text::parse(text);
        let symbols = Symbols::of(&document);
        let (_, set) = document.sets().next().expect("a set");
        let (condition, instruction) = set.conditional().next().expect("an instruction");
        read(instruction, condition, &symbols)
    }

    fn last(text: &str) -> Operand {
        only(text).expect(text).operands.pop().expect("an operand")
    }

    #[test]
    fn operands_are_read() {
        let base = Reg::address(1);
        let place = |address| Operand::Memory(address);
        assert_eq!(
            last(" move.w d0,(r1)+n2"),
            place(Address::At {
                base,
                step: Step::By(Reg::of("n2").expect("it").0)
            })
        );
        assert_eq!(
            last(" move.w d0,(r1+r2)"),
            place(Address::Indexed {
                base,
                index: Reg::address(2)
            })
        );
        assert_eq!(
            last("K EQU 4\n move.l d0,(sp-2*K+4)"),
            place(Address::Displaced {
                base: Reg::SP,
                by: Number::of(-4)
            })
        );
        assert_eq!(
            last(" move.l d0,(>_x+4)"),
            place(Address::Absolute(Number::symbol().sized(Size::Long)))
        );
        assert_eq!(last(" move.l #1,B2"), Operand::register(Reg::address(10)));
        let shorter = Operand::Label(Number::symbol().sized(Size::Short));
        assert_eq!(last(" bf <L5"), shorter);
        let product = only(" mac -d0,d1,d2").expect("it");
        assert_eq!(product.operands[0], Operand::Negative(Reg::data(0)));
        let guarded = only(" IFF clr d0").expect("it").mnemonic;
        assert_eq!(guarded.condition, isa::sc140::Condition::False);
        assert_eq!(only(" frob d0"), Err(Unreadable::Mnemonic("frob".into())));
        assert_eq!(only(" clr d0:x1"), Err(Unreadable::Operand(1)));
    }

    #[test]
    fn a_symbol_of_two_numbers_has_none() {
        assert_eq!(
            last("K SET 1\nK SET 2\n jmp K"),
            Operand::Label(Number::symbol())
        );
        assert_eq!(last("K EQU 3\n jmp K"), Operand::Label(Number::of(3)));
    }
}
