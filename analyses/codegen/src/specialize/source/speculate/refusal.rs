//! The reasons why an expression is evaluated where it stands.

use crate::specialize::source::pressure;
use crate::specialize::source::sink_dead::Effect;
use smol_str::SmolStr;

/// The reason why an expression must not be evaluated on a way that did not evaluate it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Hazard {
    #[error("it divides integers")]
    Divides,
    #[error("it reads memory")]
    Reads,
    #[error("a sum or a product of signed integers may overflow")]
    Overflows,
    #[error("it shifts by a number that may be too large")]
    Shifts,
    #[error("it calls a function, or the type of an operand is not known")]
    Calls,
    #[error("the file changes how floats are rounded")]
    Environment,
    #[error("a part of it is not understood")]
    Unknown,
}

/// The reason why an expression is not evaluated ahead.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    #[error(transparent)]
    Function(#[from] pressure::Refusal),
    #[error("no expression here is computed of variables")]
    NoExpression,
    #[error(
        "`{0}` is evaluated for certain in one place of its loop or function at most; what stands under a condition of an expression, in a `switch` or in an inner loop stays"
    )]
    Once(SmolStr),
    #[error("`{0}` costs too little to keep it in a variable")]
    Trivial(SmolStr),
    #[error("`{text}` would have to be evaluated in {places} places")]
    ManyPlaces { text: SmolStr, places: usize },
    #[error("`{text}` may not be evaluated where it was not before: {hazard}")]
    Hazard { text: SmolStr, hazard: Hazard },
    #[error("evaluating `{text}` elsewhere does more than compute: {effect}")]
    Effect { text: SmolStr, effect: Effect },
    #[error("`{operand}`, of which `{text}` is computed, can be changed by others")]
    Operand { text: SmolStr, operand: SmolStr },
    #[error("the type of `{0}` can't be written")]
    NoType(SmolStr),
    #[error(
        "a compiler of C may fuse `{0}` with the sum around it, which it does not across statements"
    )]
    Fused(SmolStr),
    #[error("no profile says how often `{0}` is evaluated: `lockstep profile`")]
    NoProfile(SmolStr),
    #[error("no other place evaluates `{text}` less often than its {evaluations} times")]
    NothingGained { text: SmolStr, evaluations: u64 },
    #[error(
        "`{text}` would be evaluated {after} instead of {before} times: too little for a variable"
    )]
    TooLittle {
        text: SmolStr,
        before: u64,
        after: u64,
    },
    #[error("`{text}` would have to be evaluated where `{operand}` may not have a value yet")]
    Unset { text: SmolStr, operand: SmolStr },
    #[error(
        "`{0}` would be evaluated on both sides of a branch that takes the lanes of a warp apart"
    )]
    Apart(SmolStr),
    #[error(
        "`{0}` would have to be evaluated where no statement can stand: give the branch braces"
    )]
    NoPlace(SmolStr),
    #[error("a preprocessor directive stands between the evaluations of `{0}`")]
    Directive(SmolStr),
    #[error("`{operand}` means something else where `{text}` would be evaluated")]
    Shadowed { text: SmolStr, operand: SmolStr },
    #[error("{0}")]
    Check(String),
}

impl Refusal {
    /// An editor does not tell it at each expression: there is nothing to gain.
    #[must_use]
    pub const fn quiet(&self) -> bool {
        !matches!(
            self,
            Refusal::Unset { .. }
                | Refusal::Apart(_)
                | Refusal::NoPlace(_)
                | Refusal::Directive(_)
                | Refusal::Shadowed { .. }
                | Refusal::Check(_)
        )
    }
}
