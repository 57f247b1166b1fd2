//! Names of operations of the IR, for refusals.

use ir::Op;

/// The name of an operation, for people.
pub(crate) fn name(op: &Op) -> String {
    match op {
        Op::Load(_) => "load".to_owned(),
        Op::Store(_) => "store".to_owned(),
        Op::IntCompare(_) | Op::FloatCompare(_) => "comparison".to_owned(),
        Op::Select => "choice".to_owned(),
        Op::Convert(_) => "conversion".to_owned(),
        Op::PtrAdd => "address".to_owned(),
        Op::Alloca { .. } => "variable".to_owned(),
        Op::Call(_) => "call".to_owned(),
        Op::CallUnknown { name, .. } => format!("call of {name}"),
        Op::Unary(op) => words(&format!("{op:?}")),
        Op::Binary(op, _) => words(&format!("{op:?}")),
        Op::Ternary(op) => words(&format!("{op:?}")),
        Op::Atomic(op, _) => format!("atomic {}", words(&format!("{op:?}"))),
        Op::Asm { .. } => "inline assembly".to_owned(),
        Op::Texture(_) => "texture access".to_owned(),
        Op::Warp(_) => "operation of a warp".to_owned(),
        Op::Barrier(_) => "barrier".to_owned(),
        Op::Special(_) => "coordinate of a launch".to_owned(),
        other => words(&format!("{other:?}")),
    }
}

/// `CountLeadingZeros` as `count leading zeros`.
fn words(name: &str) -> String {
    let mut out = String::new();
    let whole = name.split(['(', '{', ' ']).next().unwrap_or("");
    for (at, each) in whole.char_indices() {
        if each.is_uppercase() && at > 0 {
            out.push(' ');
        }
        out.extend(each.to_lowercase());
    }
    out
}
