//! The reasons why a variable stays in its register.

use smol_str::SmolStr;

/// The reason why an edit is not made.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    #[error("the function comes from another file")]
    Elsewhere,
    #[error("the peak is not in the text of this function")]
    NoPeak,
    #[error("a jump or a label of the function leads past statements")]
    Jumps,
    #[error("a statement of the function is not understood")]
    NotUnderstood,
    #[error("no variable is declared here with its value in a block of its own kernel")]
    NoVariable,
    #[error("`{0}` is a parameter: a kernel reads it where it lies, in constant memory")]
    Parameter(SmolStr),
    #[error("`{0}` is declared without its value: give it its value where it is declared")]
    NoValue(SmolStr),
    #[error("`{0}` is assigned more than once")]
    Assigned(SmolStr),
    #[error("`{0}` can be changed by others: a reference, or its address is taken")]
    Escapes(SmolStr),
    #[error("`{name}` is no number: {why}")]
    NotNumeric { name: SmolStr, why: &'static str },
    #[error("`{0}` is read at the peak itself")]
    ReadAtPeak(SmolStr),
    #[error("nothing behind the peak reads `{0}`")]
    NotReadLater(SmolStr),
    #[error("the head of a loop around the peak reads `{0}` in each iteration")]
    InHead(SmolStr),
    #[error(
        "`{0}` is read by a statement without braces inside of the one that holds the peak: give it braces"
    )]
    NoBraces(SmolStr),
    #[error("`{0}` is read between the `case`s of a `switch` that holds the peak")]
    InSwitch(SmolStr),
    #[error("`{0}` comes out of a macro, whose text can't be rewritten")]
    Macro(SmolStr),
    #[error("a preprocessor directive stands between the definition of `{0}` and its last use")]
    Directive(SmolStr),
    #[error("`{operand}`, of which `{name}` is computed, changes before `{name}` is used again")]
    Changes { name: SmolStr, operand: SmolStr },
    #[error(
        "`{operand}`, of which `{name}` is computed, would have to stay in a register in its place"
    )]
    OperandDies { name: SmolStr, operand: SmolStr },
    #[error("`{0}` is read before the peak, too")]
    ReadBefore(SmolStr),
    #[error("`{0}` is read in the loop that holds the peak")]
    ReadInLoop(SmolStr),
    #[error("`{0}` shares its declaration with other variables: declare it alone")]
    Together(SmolStr),
    #[error(
        "between its definition and its first use something may be stored to what `{0}` is loaded from, or lanes wait for each other"
    )]
    Stores(SmolStr),
    #[error("no loop is around the peak")]
    NoLoop,
    #[error("the loop around the peak is not unrolled: it asks for that already")]
    Rolled,
    #[error(
        "`{0}` is an array that lives in registers because the loop is unrolled: its index would not be a constant"
    )]
    RegisterArray(SmolStr),
    #[error(
        "nobody asks for copies of the loop around the peak, and it is so large that compilers make none"
    )]
    LargeLoop,
    #[error(
        "nobody asks for copies of the loop around the peak, and compilers make none of a loop whose head does not give its count, or that \
         ends in several ways before it"
    )]
    Uncounted,
    #[error("the loop takes derivatives, for which HLSL asks that it be unrolled")]
    LoopDerivative,
    #[error("`{operand}` means something else where `{name}` is used again")]
    Shadowed { name: SmolStr, operand: SmolStr },
    #[error("computing `{name}` again does more than compute: {what}")]
    Effect { name: SmolStr, what: &'static str },
    #[error("`{name}` is made by `{callee}`, which is not known to compute the same again")]
    Call { name: SmolStr, callee: SmolStr },
    #[error("`{0}` is loaded: loading it again is another action")]
    IsLoaded(SmolStr),
    #[error("`{0}` is not loaded from memory")]
    NotLoaded(SmolStr),
    #[error(
        "`{name}` is loaded from `{memory}`, which may be written before it is used again: \
         declare it `const T* __restrict__`, where nobody does"
    )]
    MayBeWritten { name: SmolStr, memory: SmolStr },
    #[error("`{name}` takes {work} operations each time; at most {most} are computed again")]
    Dear { name: SmolStr, work: u32, most: u32 },
    #[error(
        "`{0}` would be had again in each iteration of a loop, which costs more than a register saves"
    )]
    Often(SmolStr),
    #[error("`{0}` is a literal or another variable: there is nothing to compute")]
    Trivial(SmolStr),
    #[error(
        "no operand of `{0}` can be hidden from the compiler, which would compute it once all the same"
    )]
    NotHidden(SmolStr),
    #[error("`{0}` is not known to be the same in all lanes of a warp")]
    NotUniform(SmolStr),
    #[error(
        "`{0}` is not known to be the same in the whole group, and HLSL does not say which lanes form a wave"
    )]
    NotUniformInGroup(SmolStr),
    #[error("a stage without workgroups has no memory that lanes share")]
    NoGroups,
    #[error(
        "nothing bounds the threads of a workgroup: state them by `__launch_bounds__`, or as `block` in lockstep.toml"
    )]
    NoBound,
    #[error("a warp has {0} lanes here: the number of a warp is that of 32")]
    WarpSize(u32),
    #[error(
        "`{0}` is set anew in each iteration of a loop that the lanes of a warp are not known to execute together: \
         each may overwrite the copy before another has read it"
    )]
    InLoop(SmolStr),
    #[error("`{0}` is no integer of 64 bits")]
    NotWide(SmolStr),
    #[error(
        "the declaration of `{0}` does not say its type: nothing could be converted back to it"
    )]
    Unwritten(SmolStr),
    #[error("nothing is known of the numbers that `{0}` holds")]
    Unknown(SmolStr),
    #[error(
        "`{name}` is not proved to fit 32 bits: {}. Bound what it is computed of, or test it before",
        between(*.low, *.high)
    )]
    TooLarge {
        name: SmolStr,
        low: i128,
        high: i128,
    },
    #[error("the value of an assignment to `{0}` is read")]
    ValueRead(SmolStr),
    #[error("`{name} {operator}= ..` reads all 64 bits of `{name}`")]
    Compound {
        name: SmolStr,
        operator: &'static str,
    },
    #[error("a place names `{0}` whose meaning depends on its type, or is not known")]
    Unseen(SmolStr),
    #[error("the rewritten text was not accepted: {0}")]
    Check(String),
}

/// `between -5 and 2^40`, with the limits of types by their names.
fn between(low: i128, high: i128) -> String {
    let number = |number: i128| match number {
        n if n == i128::from(i64::MIN) => "-2^63".to_owned(),
        n if n == i128::from(i64::MAX) => "2^63 - 1".to_owned(),
        n if n == i128::from(i32::MIN) => "-2^31".to_owned(),
        n if n == i128::from(i32::MAX) => "2^31 - 1".to_owned(),
        n if n == i128::from(u32::MAX) => "2^32 - 1".to_owned(),
        n => n.to_string(),
    };
    match (low, high) == (i64::MIN.into(), i64::MAX.into()) {
        true => "nothing bounds it".to_owned(),
        false => format!("it lies between {} and {}", number(low), number(high)),
    }
}

impl Refusal {
    /// Keeps, of the reasons for several variables, the first that an author can act on.
    pub(super) fn among(self, known: &mut Option<Refusal>) {
        match known {
            Some(known) if !known.quiet() || self.quiet() => {}
            _ => *known = Some(self),
        }
    }

    /// A short name for counts.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Refusal::Elsewhere => "elsewhere",
            Refusal::NoPeak => "no-peak",
            Refusal::Jumps => "jumps",
            Refusal::NotUnderstood => "not-understood",
            Refusal::NoVariable => "no-variable",
            Refusal::Parameter(_) => "parameter",
            Refusal::NoValue(_) => "no-value",
            Refusal::Assigned(_) => "assigned",
            Refusal::Escapes(_) => "escapes",
            Refusal::NotNumeric { .. } => "not-numeric",
            Refusal::ReadAtPeak(_) => "read-at-peak",
            Refusal::NotReadLater(_) => "not-read-later",
            Refusal::InHead(_) => "in-head",
            Refusal::NoBraces(_) => "no-braces",
            Refusal::InSwitch(_) => "in-switch",
            Refusal::Macro(_) => "macro",
            Refusal::Directive(_) => "directive",
            Refusal::Changes { .. } => "changes",
            Refusal::Shadowed { .. } => "shadowed",
            Refusal::OperandDies { .. } => "operand-dies",
            Refusal::ReadBefore(_) => "read-before",
            Refusal::ReadInLoop(_) => "read-in-loop",
            Refusal::Together(_) => "together",
            Refusal::Stores(_) => "stores",
            Refusal::NoLoop => "no-loop",
            Refusal::Rolled => "rolled",
            Refusal::RegisterArray(_) => "register-array",
            Refusal::LargeLoop => "large-loop",
            Refusal::Uncounted => "uncounted",
            Refusal::LoopDerivative => "loop-derivative",
            Refusal::Effect { .. } => "effect",
            Refusal::Call { .. } => "call",
            Refusal::IsLoaded(_) => "is-loaded",
            Refusal::NotLoaded(_) => "not-loaded",
            Refusal::MayBeWritten { .. } => "may-be-written",
            Refusal::Dear { .. } => "dear",
            Refusal::Often(_) => "often",
            Refusal::Trivial(_) => "trivial",
            Refusal::NotHidden(_) => "not-hidden",
            Refusal::NotUniform(_) | Refusal::NotUniformInGroup(_) => "not-uniform",
            Refusal::NoGroups => "no-groups",
            Refusal::NoBound => "no-bound",
            Refusal::WarpSize(_) => "warp-size",
            Refusal::InLoop(_) => "in-loop",
            Refusal::NotWide(_) => "not-wide",
            Refusal::Unwritten(_) => "unwritten",
            Refusal::Unknown(_) => "unknown",
            Refusal::TooLarge { .. } => "too-large",
            Refusal::ValueRead(_) => "value-read",
            Refusal::Compound { .. } => "compound",
            Refusal::Unseen(_) => "unseen",
            Refusal::Check(_) => "check",
        }
    }

    /// Says nothing that an author would want to hear at every variable.
    #[must_use]
    pub const fn quiet(&self) -> bool {
        !matches!(
            self,
            Refusal::MayBeWritten { .. }
                | Refusal::NoBound
                | Refusal::Directive(_)
                | Refusal::NoBraces(_)
                | Refusal::InLoop(_)
                | Refusal::Changes { .. }
                | Refusal::OperandDies { .. }
                | Refusal::RegisterArray(_)
                | Refusal::Together(_)
                | Refusal::Stores(_)
                | Refusal::TooLarge { .. }
                | Refusal::ValueRead(_)
                | Refusal::Compound { .. }
        )
    }
}
