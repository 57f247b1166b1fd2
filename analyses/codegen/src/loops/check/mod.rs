//! Judges edits of loops by the text, the tree and the IR before and after; shares no code with the
//! rewriting.
//!
//! ```text
//! if (a[i]) x = 1;    ->    x = a[i] ? 1 : x;       on each path the same values, effects, loads: Compared { .. }
//! if (a[i]) x = 1;    ->    x = a[i] ? 1 : 0;       Violation::Value
//! ```
//!
//! The rules, each with its violation:
//! 1. outside of the edit the file's tokens and comments are unchanged, and no comment in the edit is lost;
//! 2. nothing is misunderstood that was understood before;
//! 3. `restrict`: the edit adds that word alone, once to each pointer that is promised, and the IR is equal but for the promise;
//! 4. other edits: both functions are *related* (`relation`), which proves that they return, store and call
//!    the same; and no path has a load, a division or an overflow that the original does not have on the same
//!    path.
//!
//! A rule of the text that does not hold is a fault of the edit (`Violation::is_certain`). One of the third
//! or fourth kind may also be correct and not proven, such as a counter narrower than `int` that wraps around
//! below a wider bound: the edit is offered, and says so.
//!
//! Not done: functions beside the first of a module must be equal; a function with more paths than a budget
//! is not compared, which is reported. Values that are computed and decide nothing are not looked at.
//!
//! Source: Necula, *Translation Validation for an Optimizing Compiler*, PLDI 2000, section 3.

mod cuts;
mod known;
mod order;
mod paths;
mod promise;
mod relation;
mod shape;
mod terms;
mod text;

pub use relation::Compared;

use super::Edit;
use ir::lower::c_family::Lowered;
use smol_str::SmolStr;
use syntax::c_family::ast::ParsedItem;

/// A file's text, and one of its items in it.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    pub text: &'a str,
    pub item: &'a ParsedItem,
    /// The offset of the item, in bytes.
    pub start: u32,
    pub lowered: &'a [Lowered],
}

/// A rule that does not hold.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Violation {
    #[error("the edits are out of range, or overlap")]
    Range,
    #[error("the text outside of the edit changed at byte {0}")]
    Outside(u32),
    #[error("a comment is lost: {0}")]
    Comment(String),
    #[error("the edit adds or removes a preprocessor directive")]
    Directive,
    #[error("the changed item has a problem that it did not have: {0}")]
    Problem(String),
    #[error("the item is no longer the function that it was")]
    Item,
    #[error("`{0}` is written where `restrict` is to be added")]
    Word(String),
    #[error("`{0}` is promised, and has no other qualifier than before")]
    Unpromised(SmolStr),
    #[error("`{0}` has another type, and was not promised")]
    Parameter(SmolStr),
    #[error("the IR of `{0}` changed by more than the promise")]
    Ir(SmolStr),
    #[error("a promise about the iterations of a loop is new")]
    Independent,
    #[error("on some path another value is returned, or reaches the next iteration")]
    Value,
    #[error("on some path the original ends, and the edited text goes on")]
    Exit,
    #[error("on some path effects differ: the original has {before}, the edited text {after}")]
    Effect { before: Effect, after: Effect },
    #[error("on some path a value is loaded that the original does not load there")]
    Load,
    #[error("on some path a division is executed that the original does not execute there")]
    Division,
    #[error(
        "on some path a signed operation may overflow that the original does not execute there"
    )]
    Overflow,
}

impl Violation {
    /// Says that the edit is wrong, as its text shows; otherwise a correct edit may not have been proven.
    #[must_use]
    pub const fn is_certain(&self) -> bool {
        matches!(
            self,
            Violation::Range
                | Violation::Outside(_)
                | Violation::Comment(_)
                | Violation::Directive
                | Violation::Problem(_)
                | Violation::Word(_)
                | Violation::Independent
        )
    }
}

/// An effect where two paths part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    Nothing,
    Store,
    VolatileLoad,
    Call,
    Other,
}

impl std::fmt::Display for Effect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Effect::Nothing => "nothing more",
            Effect::Store => "a store",
            Effect::VolatileLoad => "a volatile load",
            Effect::Call => "a call",
            Effect::Other => "another effect",
        })
    }
}

/// The reason why two functions are not compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unchecked {
    #[error("there are more than {0} paths between loops")]
    Paths(usize),
    #[error("an operation has no meaning here")]
    Operation,
    #[error("the item is lowered to {0} functions")]
    Functions(usize),
}

/// Judges `restrict` for these parameters.
///
/// # Errors
/// The first rule that does not hold.
pub fn promised(
    before: &Side<'_>,
    after: &Side<'_>,
    edits: &[Edit],
    parameters: &[SmolStr],
) -> Result<(), Violation> {
    text::matches(before.text, after.text, edits)?;
    text::words(before.text, edits, parameters.len())?;
    understood(before, after)?;
    promise::check(before, after, edits, parameters)
}

/// Judges one edit that keeps the meaning of a loop; returns the extent of the comparison, or the reason why
/// it was not possible.
///
/// # Errors
/// The first rule that does not hold.
pub fn rewritten(
    before: &Side<'_>,
    after: &Side<'_>,
    edit: &Edit,
) -> Result<Result<Compared, Unchecked>, Violation> {
    text::matches(before.text, after.text, std::slice::from_ref(edit))?;
    text::comments(before.text, edit)?;
    understood(before, after)?;
    if before.lowered.len() != after.lowered.len() {
        return Err(Violation::Item);
    }
    let ([first], [second]) = (before.lowered, after.lowered) else {
        return Ok(Err(Unchecked::Functions(before.lowered.len())));
    };
    let (first, second) = (&first.module, &second.module);
    promise::callees(first, second)?;
    let inside = edit.0.start..edit.0.end;
    let grown = edit.1.len() as i64 - i64::from(edit.0.len());
    let place = relation::Edited {
        before: inside.start.saturating_sub(before.start)..inside.end.saturating_sub(before.start),
        grown,
    };
    relation::check(first, second, &place)
}

/// Every problem of the edited item is one of the original.
fn understood(before: &Side<'_>, after: &Side<'_>) -> Result<(), Violation> {
    let same =
        std::mem::discriminant(&before.item.kind) == std::mem::discriminant(&after.item.kind);
    if !same || before.item.scope != after.item.scope {
        return Err(Violation::Item);
    }
    let problems = |side: &Side<'_>| -> Vec<String> {
        let own = side.item.problems.iter();
        let lowered = side.lowered.iter().flat_map(|it| &it.problems);
        own.chain(lowered).map(|it| it.message.clone()).collect()
    };
    let known = problems(before);
    let new = problems(after);
    match new.into_iter().find(|problem| !known.contains(problem)) {
        Some(problem) => Err(Violation::Problem(problem)),
        None => Ok(()),
    }
}
