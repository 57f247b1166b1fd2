//! Expressions of operands: numbers, names, subscripts, relocation functions. Arithmetic is in 64 bits and wraps, as in
//! the assembler.

use smol_str::SmolStr;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expr {
    Number(i64),
    /// A register, a symbol, a local label (`1b`), a name that a directive or a macro gives.
    Name(SmolStr),
    /// `val[2]`, `cr[r3]`, `ar[36]`
    Index {
        name: SmolStr,
        index: Box<Expr>,
    },
    /// `@ltoff(name)`; `@nat` has no argument.
    Function {
        name: SmolStr,
        argument: Option<Box<Expr>>,
    },
    Unary {
        op: Unary,
        of: Box<Expr>,
    },
    Binary {
        op: Binary,
        left: Box<Expr>,
        right: Box<Expr>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unary {
    Minus,
    Not,
    /// `!`
    Zero,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Binary {
    Multiply,
    Divide,
    Remainder,
    ShiftLeft,
    ShiftRight,
    Or,
    And,
    Xor,
    /// `!` between two operands: or with the complement.
    OrNot,
    Add,
    Subtract,
    Equal,
    Unequal,
    Less,
    Greater,
    LessEqual,
    GreaterEqual,
    LogicalAnd,
    LogicalOr,
}

impl Binary {
    /// Returns how tightly it binds, as GNU `as` has it: products and shifts, then bits, then sums, then comparisons.
    pub(super) const fn strength(self) -> u8 {
        match self {
            Binary::Multiply
            | Binary::Divide
            | Binary::Remainder
            | Binary::ShiftLeft
            | Binary::ShiftRight => 5,
            Binary::Or | Binary::And | Binary::Xor | Binary::OrNot => 4,
            Binary::Add
            | Binary::Subtract
            | Binary::Equal
            | Binary::Unequal
            | Binary::Less
            | Binary::Greater
            | Binary::LessEqual
            | Binary::GreaterEqual => 3,
            Binary::LogicalAnd => 2,
            Binary::LogicalOr => 1,
        }
    }

    fn apply(self, left: i64, right: i64) -> Option<i64> {
        // A comparison that holds is -1.
        let truth = |holds: bool| if holds { -1 } else { 0 };
        Some(match self {
            Binary::Multiply => left.wrapping_mul(right),
            Binary::Divide => left.checked_div(right)?,
            Binary::Remainder => left.checked_rem(right)?,
            Binary::ShiftLeft => left.checked_shl(u32::try_from(right).ok()?).unwrap_or(0),
            Binary::ShiftRight => (left as u64)
                .checked_shr(u32::try_from(right).ok()?)
                .unwrap_or(0) as i64,
            Binary::Or => left | right,
            Binary::And => left & right,
            Binary::Xor => left ^ right,
            Binary::OrNot => left | !right,
            Binary::Add => left.wrapping_add(right),
            Binary::Subtract => left.wrapping_sub(right),
            Binary::Equal => truth(left == right),
            Binary::Unequal => truth(left != right),
            Binary::Less => truth(left < right),
            Binary::Greater => truth(left > right),
            Binary::LessEqual => truth(left <= right),
            Binary::GreaterEqual => truth(left >= right),
            Binary::LogicalAnd => i64::from(left != 0 && right != 0),
            Binary::LogicalOr => i64::from(left != 0 || right != 0),
        })
    }
}

impl Expr {
    /// Its number, where `names` knows all names in it. `None`: not a constant.
    #[must_use]
    pub fn evaluate(&self, names: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
        match self {
            Expr::Number(value) => Some(*value),
            Expr::Name(name) => names(name),
            Expr::Index { .. } | Expr::Function { .. } => None,
            Expr::Unary { op, of } => {
                let of = of.evaluate(names)?;
                Some(match op {
                    Unary::Minus => of.wrapping_neg(),
                    Unary::Not => !of,
                    Unary::Zero => i64::from(of == 0),
                })
            }
            Expr::Binary { op, left, right } => {
                op.apply(left.evaluate(names)?, right.evaluate(names)?)
            }
        }
    }
    /// The name, if it is nothing else.
    #[must_use]
    pub fn name(&self) -> Option<&SmolStr> {
        match self {
            Expr::Name(name) => Some(name),
            _ => None,
        }
    }
}
