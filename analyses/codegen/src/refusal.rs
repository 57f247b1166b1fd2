//! The reasons why code was not produced.

use smol_str::SmolStr;

/// A named reason. Nothing is emitted when there is one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The operation has no counterpart in the target language, or not for this type.
    #[error("there is no {target} code for `{operation}` on `{ty}`")]
    NoForm {
        operation: SmolStr,
        ty: SmolStr,
        target: &'static str,
    },
    /// The operation has no counterpart because the type of its value is not known.
    #[error(
        "there is no {target} code for `{operation}` on a value whose type is not known (a header may be missing, or a class stands where C has none)"
    )]
    NoType {
        operation: SmolStr,
        target: &'static str,
    },
    /// The value is not known until launch, and the target has no place for it.
    #[error("the value of `{name}` is not known here")]
    SymbolicParameter { name: SmolStr },
    /// A construct that was not understood when the program was read.
    #[error("not understood: {reason}")]
    Unknown { reason: String },
    /// A variable's initial value.
    #[error("the initial value of `{name}` is not a constant that is understood")]
    InitialValue { name: SmolStr },
    /// A variable of which each thread has its own.
    #[error("`{name}` is thread-local, which is not supported")]
    ThreadLocal { name: SmolStr },
    /// A variable's type.
    #[error("the size of `{name}` is not known")]
    Size { name: SmolStr },
    /// A function reads arguments that it does not name.
    #[error("there is no {target} code that reads variadic arguments (`{operation}`)")]
    Variadic {
        operation: SmolStr,
        target: &'static str,
    },
    /// A function takes or gives a structure by value.
    #[error("there is no {target} code for structures by value (`{name}`)")]
    ByValue { name: SmolStr, target: &'static str },
    /// A loop whose cycles are decided needs more registers at once.
    #[error(
        "the scheduled loop needs more `{file}` registers at once than the {available} that are left"
    )]
    Registers { file: SmolStr, available: u32 },
    /// The marks of spilled values that a failed speculative load may have marked lie in one register of 64 bits.
    #[error(
        "{bytes} bytes of spilled registers besides speculative loads, and the marks of at most {most} are kept"
    )]
    Marks { bytes: u32, most: u32 },
    /// Offsets in the frame have few bits: 14 on IA-64, 15 with a sign on the SC140.
    #[error("the stack frame has {bytes} bytes, and at most {most} can be addressed")]
    Frame { bytes: u64, most: u64 },
}

impl Refusal {
    /// The refusal of an operation that the target has not for a type.
    #[must_use]
    pub fn no_form(operation: &str, ty: ir::Type, target: &'static str) -> Refusal {
        let operation = operation.into();
        match ty {
            ir::Type::Opaque => Refusal::NoType { operation, target },
            ty => Refusal::NoForm {
                operation,
                ty: smol_str::format_smolstr!("{ty}"),
                target,
            },
        }
    }
}

/// A refusal and the place in the source that it is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    pub reason: Refusal,
    pub loc: ir::Loc,
}
