//! Why code was not produced.

use smol_str::SmolStr;

/// A named reason. Nothing is emitted when there is one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The operation has no counterpart in the target language, or not for this type.
    #[error("`{operation}` has no form for {} in {target}", of(.ty))]
    NoForm {
        operation: SmolStr,
        ty: SmolStr,
        target: &'static str,
    },
    /// The value is not known until launch, and the target has no place for it.
    #[error("`{name}` has no number at this point")]
    SymbolicParameter { name: SmolStr },
    /// A construct that was not understood when the program was read.
    #[error("not understood: {reason}")]
    Unknown { reason: String },
    /// A variable's initial value.
    #[error("not understood: the initial value of `{name}` is no constant that is understood")]
    InitialValue { name: SmolStr },
    /// A variable of which each thread has its own.
    #[error("`{name}` is local to a thread, and there is no code for that")]
    ThreadLocal { name: SmolStr },
    /// A variable's type.
    #[error("the size of `{name}` is not known")]
    Size { name: SmolStr },
    /// A function reads arguments that it does not name.
    #[error("arguments behind `...` are not read in {target}: `{operation}`")]
    Variadic {
        operation: SmolStr,
        target: &'static str,
    },
    /// A loop whose cycles are decided needs more registers at once.
    #[error(
        "more than the {available} registers that are left of the file `{file}` are needed at once"
    )]
    Registers { file: SmolStr, available: u32 },
    /// Offsets in the frame have 14 bits.
    #[error("the frame has {bytes} bytes, {most} at most can be addressed")]
    Frame { bytes: u64, most: u64 },
}

/// A refusal and the place in the source that it is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    pub reason: Refusal,
    pub loc: ir::Loc,
}

/// A type for people.
fn of(ty: &str) -> String {
    match ty {
        "opaque" => "a value whose type is not known (a header may be missing, or a class stands where C has none)".to_owned(),
        other => format!("`{other}`"),
    }
}
