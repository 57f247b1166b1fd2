//! Calls.

/// A function that remains a call.
#[derive(Clone, Debug)]
pub struct Outlined;

#[derive(Clone, PartialEq, Debug)]
pub struct CalleeId;
