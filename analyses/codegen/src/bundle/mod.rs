//! Bundles of IA-64: which templates hold a group of instructions in the fewest slots.
pub mod block;
#[cfg(test)]
mod block_tests;
pub mod cost;
mod edges;
pub mod place;
pub mod printed;
pub mod template;
#[cfg(test)]
mod tests;
