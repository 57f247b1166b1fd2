//! Machine code between the analyses and a target's text: registers, what an instruction reads and writes, which units
//! serve it, and how instructions of a block depend on each other.

pub mod dependence;
pub mod function;
pub mod inst;
pub mod liveness;
pub mod register;
pub(crate) mod relations;

pub use inst::{Access, Branch, Class, Def, Inst, Memory, Parallel};
pub use register::{File, Reg};
pub use relations::{Promise, PromiseKind};
