//! The examples of the paper.
