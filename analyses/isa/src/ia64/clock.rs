//! Time that instructions take to issue, as a simulator of a processor gives it to passes that rewrite code
//! for it.

use super::Inst;
use std::ops::Range;

/// A clock by which ways through a text are timed. It shares nothing with the code that it times.
pub trait Clock {
    /// The reading of a text.
    type Document;
    /// A text that is ready to be timed.
    type Laid;

    /// Returns the text, ready to be timed; `items`: its instructions with the statements that they are.
    fn laid(&self, document: &Self::Document, text: &str, items: &[(u32, Inst)]) -> Self::Laid;

    /// Returns the cycles until all of the way has issued; predicates in `off` (a bit each) are false.
    fn cycles(&self, way: &[WayPart<'_, Self::Laid>], off: u64) -> u64;
}

/// A part of a way.
#[derive(Clone, Debug)]
pub struct WayPart<'l, L> {
    pub laid: &'l L,
    /// The range of its instructions.
    pub items: Range<u32>,
    /// True if it ends with a branch that is taken.
    pub jumps: bool,
}
