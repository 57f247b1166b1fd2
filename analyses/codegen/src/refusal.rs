//! Why code was not produced.

use smol_str::SmolStr;

/// A named reason. Nothing is emitted when there is one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The operation has no counterpart in the target language, or not for this type.
    #[error("`{operation}` has no form for `{ty}` in {target}")]
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
}
