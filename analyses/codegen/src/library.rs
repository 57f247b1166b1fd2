//! Names of C's mathematical library, by which targets call what they have no instructions for; NVIDIA's device library has the
//! same.

use ir::UnaryOp;

/// The function of `double` that an operation is, if it is one.
pub(crate) fn function_of(op: UnaryOp) -> Option<&'static str> {
    Some(match op {
        UnaryOp::Cbrt => "cbrt",
        UnaryOp::Sin => "sin",
        UnaryOp::Cos => "cos",
        UnaryOp::Tan => "tan",
        UnaryOp::Asin => "asin",
        UnaryOp::Acos => "acos",
        UnaryOp::Atan => "atan",
        UnaryOp::Sinh => "sinh",
        UnaryOp::Cosh => "cosh",
        UnaryOp::Tanh => "tanh",
        UnaryOp::Asinh => "asinh",
        UnaryOp::Acosh => "acosh",
        UnaryOp::Atanh => "atanh",
        UnaryOp::Exp => "exp",
        UnaryOp::Exp2 => "exp2",
        UnaryOp::Exp10 => "exp10",
        UnaryOp::Expm1 => "expm1",
        UnaryOp::Log => "log",
        UnaryOp::Log2 => "log2",
        UnaryOp::Log10 => "log10",
        UnaryOp::Log1p => "log1p",
        UnaryOp::Erf => "erf",
        UnaryOp::Erfc => "erfc",
        UnaryOp::Gamma => "tgamma",
        UnaryOp::LogGamma => "lgamma",
        _ => return None,
    })
}
