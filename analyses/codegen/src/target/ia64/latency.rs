//! The issue width of a processor with explicit groups, and the number of cycles that a dependent instruction
//! waits: the values of its table by classes of instructions.

use super::bundle::block::{Type, Width};
use crate::machine::epic::Epic;
use crate::machine::schema::Issue;
use isa::ia64::{Branch, Class, File, Inst, Reg};

impl Epic {
    /// Returns the rules of issue within one cycle.
    #[must_use]
    pub fn width(&self) -> Width {
        Width {
            m: self.of(Issue::UnitsM),
            i: self.of(Issue::UnitsI),
            f: self.of(Issue::UnitsF),
            b: self.of(Issue::UnitsB),
            slots: 3 * self.of(Issue::Bundles),
        }
    }

    /// Cycles from the group that writes `register` to the first that may read it without waiting. Where the read is the
    /// address of a load or store, or the predicate of a branch, other values count than elsewhere.
    #[must_use]
    pub fn latency(&self, from: &Inst, to: &Inst, register: Reg) -> u32 {
        let address = to.memory.is_some_and(|memory| memory.base == register);
        let jumps = to.branch.is_some_and(|kind| kind != Branch::Check);
        let branch = jumps && register.file == File::Predicate;
        let parallel = matches!(to.class, Class::Multimedia | Class::ParallelMultiply);
        // What a load or store leaves in its base is a sum.
        if from
            .memory
            .is_some_and(|memory| memory.base == register && memory.step.is_some())
        {
            return self.of(if parallel {
                Issue::AluMultimedia
            } else {
                Issue::Alu
            });
        }
        let key = match from.class {
            Class::Logic | Class::Extend if address => Issue::AluAddress,
            Class::Alu | Class::Logic if parallel => Issue::AluMultimedia,
            Class::Compare if branch => Issue::CompareBranch,
            Class::FloatCompare if branch => Issue::FloatCompareBranch,
            Class::FloatCompare => Issue::FloatCompare,
            Class::Load | Class::Semaphore if address => Issue::LoadAddress,
            Class::Load | Class::Semaphore if parallel => Issue::LoadMultimedia,
            Class::Load | Class::Semaphore => Issue::Load,
            Class::FloatLoad => Issue::FloatLoad,
            Class::FloatArithmetic => match to.class {
                Class::FloatStore => Issue::FloatStore,
                Class::FromFloat => Issue::FloatTransfer,
                Class::FloatCompare
                | Class::FloatConvert
                | Class::FloatMisc
                | Class::IntegerMultiply => Issue::FloatMisc,
                _ => Issue::Float,
            },
            Class::FloatConvert | Class::IntegerMultiply => match to.class {
                Class::FloatStore => Issue::FloatStore,
                _ => Issue::Convert,
            },
            // The predicate of an approximation is as late as its value.
            Class::FloatMisc => match to.class {
                Class::FloatStore => Issue::FloatStore,
                Class::FromFloat => Issue::FloatTransfer,
                _ => Issue::Float,
            },
            Class::ToFloat => match to.class {
                Class::FloatStore | Class::FromFloat => Issue::ToFloatStore,
                _ => Issue::ToFloat,
            },
            Class::FromFloat => Issue::FromFloat,
            Class::Multimedia | Class::ParallelMultiply => match to.class {
                _ if parallel => Issue::MultimediaSame,
                Class::Alu | Class::Logic | Class::Shift | Class::Load | Class::Store => {
                    Issue::Multimedia
                }
                _ => Issue::MultimediaOther,
            },
            Class::FromBranch | Class::FromPredicates => Issue::FromBranch,
            Class::FromApplication if from.unit == Some(Type::M) => Issue::FromApplicationMemory,
            Class::FromApplication => Issue::FromApplication,
            Class::ToApplication => Issue::ToApplication,
            // A branch sees the register that is moved to in its own group.
            Class::ToBranch if to.branch.is_some() => return 0,
            _ => Issue::Alu,
        };
        self.of(key)
    }
}
