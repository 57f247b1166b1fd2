//! What changes the memory that a load reads.

use crate::prepare::accessed_as;
use crate::prepare::leaves_memory;
use crate::prepare::origin::Origins;
use ir::{Function, Inst, Op};

/// The objects that a function's addresses point into.
pub(super) struct Clobbers(Origins);

impl Clobbers {
    pub(super) fn new(function: &Function) -> Self {
        Clobbers(Origins::of(function))
    }

    /// Returns true for an instruction that may write memory, or order what others write.
    pub(super) fn changes_memory(&self, function: &Function, inst: Inst) -> bool {
        let data = &function.insts[inst];
        match &data.op {
            Op::Load(access) => access.volatile,
            _ => !leaves_memory(data),
        }
    }

    /// Returns true if an instruction may change what a load of one element reads.
    pub(super) fn changes(&self, function: &Function, inst: Inst, load: Inst) -> bool {
        let read = &function.insts[load];
        let (Op::Load(access), [result]) = (&read.op, &read.results[..]) else {
            return false;
        };
        if !self.changes_memory(function, inst) {
            return false;
        }
        let data = &function.insts[inst];
        let Op::Store(written) = &data.op else {
            return true;
        };
        let from = self.0.origin(function, read.args[0]);
        let to = self.0.origin(function, data.args[0]);
        if written.volatile || to.is_apart(&from) {
            return written.volatile;
        }
        let read = accessed_as(function, &from, function.ty(*result), access.untyped);
        data.args[1..].iter().any(|&value| {
            let stored = accessed_as(function, &to, function.ty(value), written.untyped);
            !matches!((read, stored), (Some(read), Some(stored)) if read != stored)
        })
    }
}
