//! The reasons why a statement stays where it is.

use crate::specialize::source::pressure;
use smol_str::SmolStr;

/// The effect of evaluating a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Effect {
    #[error("it stores")]
    Stores,
    #[error("it reads volatile memory")]
    Volatile,
    #[error("it waits for others")]
    Waits,
    #[error("it exchanges values between lanes")]
    Exchanges,
    #[error("it is a difference between lanes")]
    Derivative,
    #[error("it may end the lane")]
    Exits,
    #[error("it calls what is not in sight")]
    Unknown,
}

/// The reason why a statement is not moved.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    #[error(transparent)]
    Function(#[from] pressure::Refusal),
    #[error("no statement here sets one variable to a value")]
    NoStatement,
    #[error("`{0}` is no variable of this function")]
    NotLocal(SmolStr),
    #[error("`{0}` comes out of a macro, whose text can't be rewritten")]
    Macro(SmolStr),
    #[error("`{0}` can be changed by others: a reference, or its address is taken")]
    Escapes(SmolStr),
    #[error("`{operand}`, of which `{name}` is computed, can be changed by others")]
    Operand { name: SmolStr, operand: SmolStr },
    #[error("`{0}` is set to a list")]
    List(SmolStr),
    #[error("computing `{name}` elsewhere does more than compute: {effect}")]
    Effect { name: SmolStr, effect: Effect },
    #[error("`{0}` is computed of itself")]
    OfItself(SmolStr),
    #[error("an element or a member of `{0}` is set here; only whole variables are moved")]
    Part(SmolStr),
    #[error("several variables are declared here in one statement: give `{0}` one of its own")]
    Several(SmolStr),
    #[error("`{0}` is a literal or another variable: there is nothing to compute")]
    Trivial(SmolStr),
    #[error(
        "computing `{name}` costs less than {least} cycles by the estimate: too little to move it without a profile"
    )]
    Cheap { name: SmolStr, least: u32 },
    #[error("{copies} copies of `{name}` would be needed, and no profile says that they pay")]
    ManyCopies { name: SmolStr, copies: usize },
    #[error("`{0}` is set in a `switch`")]
    InSwitch(SmolStr),
    #[error("the ways through the text around `{0}` are not understood")]
    Graph(SmolStr),
    #[error("there are too many ways through the text around `{0}`")]
    ManyWays(SmolStr),
    #[error(
        "on every way something reads `{0}`, or first changes what it is computed of; a loop or a `switch` counts as a whole"
    )]
    ReadOnEachWay(SmolStr),
    #[error("moving `{name}` would save none of its {executions} executions")]
    AlwaysRead { name: SmolStr, executions: u64 },
    #[error(
        "both sides of a branch that takes the lanes of a warp apart read `{0}`: the warp would compute it twice"
    )]
    Apart(SmolStr),
    #[error("`{0}` would have to stand where no statement can: give the branch braces")]
    NoPlace(SmolStr),
    #[error("a preprocessor directive stands between `{0}` and where it is read")]
    Directive(SmolStr),
    #[error("`{operand}` means something else where `{name}` is read")]
    Shadowed { name: SmolStr, operand: SmolStr },
    #[error(
        "`{0}` is a constant or has a type that must have a value where it is declared, and is read in more than one block"
    )]
    MustHaveValue(SmolStr),
    #[error("{0}")]
    Check(String),
}

impl Refusal {
    /// An editor does not tell it at each statement: there is nothing to move.
    #[must_use]
    pub const fn quiet(&self) -> bool {
        matches!(
            self,
            Refusal::NoStatement
                | Refusal::NotLocal(_)
                | Refusal::Trivial(_)
                | Refusal::Cheap { .. }
                | Refusal::OfItself(_)
                | Refusal::Part(_)
                | Refusal::Several(_)
                | Refusal::List(_)
                | Refusal::ReadOnEachWay(_)
                | Refusal::AlwaysRead { .. }
                | Refusal::Effect { .. }
                | Refusal::Escapes(_)
                | Refusal::ManyCopies { .. }
        )
    }
}
