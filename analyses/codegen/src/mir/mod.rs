//! Machine code between the analyses and a target's text: registers, what an instruction reads and writes, which units
//! serve it, and how instructions of a block depend on each other.

pub mod dependence;
pub mod describe;
pub mod function;
pub mod liveness;
pub(crate) mod relations;

pub use isa::ia64::{Access, Branch, Class, Def, File, Inst, Memory, Parallel, Reg, register};
pub use relations::{Promise, PromiseKind};

/// A mnemonic that stands in the source: the compiler checks it.
macro_rules! op {
    ($text:literal) => {
        const { ::isa::ia64::Mnemonic::literal($text) }
    };
}
pub(crate) use op;
