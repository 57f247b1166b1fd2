//! Bundles of IA-64: which templates hold a group of instructions in the fewest slots.
mod beam;
pub mod block;
#[cfg(test)]
mod block_tests;
pub mod check;
#[cfg(test)]
mod check_tests;
pub mod cost;
mod edges;
mod graph;
pub mod laid;
mod list;
mod part;
pub mod place;
pub mod printed;
mod search;
pub mod template;
#[cfg(test)]
mod tests;
