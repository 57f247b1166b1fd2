//! Expressions: numbers, names, the location counter, the operators of C. Arithmetic is in 64 bits and wraps.

use smol_str::SmolStr;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expr {
    Number(i64),
    /// A register or a symbol.
    Name(SmolStr),
    /// `*`, the location counter.
    Here,
    /// `@DEF('x')`: the name in lower case with its sign, the argument without quotes.
    Function {
        name: SmolStr,
        argument: SmolStr,
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
    Plus,
    Minus,
    /// `~`
    Not,
    /// `!`
    Zero,
}

impl Unary {
    pub(super) const fn sign(self) -> &'static str {
        match self {
            Unary::Plus => "+",
            Unary::Minus => "-",
            Unary::Not => "~",
            Unary::Zero => "!",
        }
    }
}

macro_rules! binaries {
    ($($name:ident $sign:literal $strength:literal;)*) => {
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Binary {
            $($name),*
        }
        impl Binary {
            /// The operator of this sign.
            pub(super) fn of(sign: &str) -> Option<Binary> {
                match sign {
                    $($sign => Some(Binary::$name),)*
                    _ => None,
                }
            }
            pub(super) const fn sign(self) -> &'static str {
                match self {
                    $(Binary::$name => $sign),*
                }
            }
            /// Returns how tightly it binds, as in C.
            pub(super) const fn strength(self) -> u8 {
                match self {
                    $(Binary::$name => $strength),*
                }
            }
        }
    };
}

binaries! {
    Multiply "*" 10;
    Divide "/" 10;
    Remainder "%" 10;
    Add "+" 9;
    Subtract "-" 9;
    ShiftLeft "<<" 8;
    ShiftRight ">>" 8;
    Less "<" 7;
    Greater ">" 7;
    LessEqual "<=" 7;
    GreaterEqual ">=" 7;
    Equal "==" 6;
    Unequal "!=" 6;
    And "&" 5;
    Xor "^" 4;
    Or "|" 3;
    LogicalAnd "&&" 2;
    LogicalOr "||" 1;
}

impl Binary {
    fn apply(self, left: i64, right: i64) -> Option<i64> {
        Some(match self {
            Binary::Multiply => left.wrapping_mul(right),
            Binary::Divide => left.checked_div(right)?,
            Binary::Remainder => left.checked_rem(right)?,
            Binary::Add => left.wrapping_add(right),
            Binary::Subtract => left.wrapping_sub(right),
            Binary::ShiftLeft => left.checked_shl(u32::try_from(right).ok()?).unwrap_or(0),
            Binary::ShiftRight => left >> u32::try_from(right).ok()?.min(63),
            Binary::Less => i64::from(left < right),
            Binary::Greater => i64::from(left > right),
            Binary::LessEqual => i64::from(left <= right),
            Binary::GreaterEqual => i64::from(left >= right),
            Binary::Equal => i64::from(left == right),
            Binary::Unequal => i64::from(left != right),
            Binary::And => left & right,
            Binary::Xor => left ^ right,
            Binary::Or => left | right,
            Binary::LogicalAnd => i64::from(left != 0 && right != 0),
            Binary::LogicalOr => i64::from(left != 0 || right != 0),
        })
    }
}

impl Expr {
    /// Its number, where `leaf` knows all names, the location counter and functions in it. `None`: not a constant.
    #[must_use]
    pub fn evaluate(&self, leaf: &dyn Fn(&Expr) -> Option<i64>) -> Option<i64> {
        match self {
            Expr::Number(value) => Some(*value),
            Expr::Name(_) | Expr::Here | Expr::Function { .. } => leaf(self),
            Expr::Unary { op, of } => {
                let of = of.evaluate(leaf)?;
                Some(match op {
                    Unary::Plus => of,
                    Unary::Minus => of.wrapping_neg(),
                    Unary::Not => !of,
                    Unary::Zero => i64::from(of == 0),
                })
            }
            Expr::Binary { op, left, right } => {
                op.apply(left.evaluate(leaf)?, right.evaluate(leaf)?)
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

/// The number that a word is: `$ff`, `0x1f`, `12`.
pub(super) fn number(word: &str) -> Option<i64> {
    if let Some(hex) = word.strip_prefix('$') {
        return u64::from_str_radix(hex, 16).ok().map(|value| value as i64);
    }
    if let Some(hex) = word.strip_prefix("0x").or(word.strip_prefix("0X")) {
        return u64::from_str_radix(hex, 16).ok().map(|value| value as i64);
    }
    word.parse::<u64>().ok().map(|value| value as i64)
}
