//! What changes the memory that a load reads.

use crate::prepare::origin::{Origin, Origins};
use ir::{Function, Inst, Language, Op, Type};

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
            Op::Const(_)
            | Op::Undef
            | Op::Special(_)
            | Op::StageInput(_)
            | Op::Parameter(_)
            | Op::Alloca { .. }
            | Op::CallUnknown { pure: true, .. }
            | Op::Asm { pure: true, .. } => false,
            _ => !crate::prepare::is_pure(data),
        }
    }

    /// Returns true if an instruction may change what a load reads.
    pub(super) fn changes(&self, function: &Function, inst: Inst, load: Inst) -> bool {
        let read = &function.insts[load];
        let Op::Load(access) = &read.op else {
            return false;
        };
        if !self.changes_memory(function, inst) {
            return false;
        }
        let data = &function.insts[inst];
        let Op::Store(written) = &data.op else {
            return true;
        };
        if written.volatile {
            return true;
        }
        let (to, from) = (data.args[0], read.args[0]);
        let (to, from) = (self.0.origin(function, to), self.0.origin(function, from));
        if to.is_apart(&from) {
            return false;
        }
        // Values of different types in C lie in different objects, as far as they are not parts of a variable.
        let variable = |it: &Origin| matches!(it, Origin::Slot(_) | Origin::Private(_));
        let typed = function.language == Language::C
            && !(access.untyped || written.untyped || variable(&to) || variable(&from));
        let plain = |ty: Type| !matches!(ty, Type::I8 | Type::Bool);
        let ty = read.results.first().map(|&result| function.ty(result));
        let mut stored = data.args[1..].iter().map(|&value| function.ty(value));
        !(typed && ty.is_some_and(plain) && stored.all(|it| plain(it) && Some(it) != ty))
    }
}
