//! Two instructions in the order of the program: whether the second must stay behind the first, and whether both may share a
//! group.
//!
//! A read behind a write, and a second write, need a stop between; a write behind a read keeps its place and may share the
//! group. The exceptions are those of the tables of dependencies:
//!
//! | written                          | then read                              | written by               |
//! |----------------------------------|----------------------------------------|--------------------------|
//! | a predicate                      | as a branch's qualifying predicate     | integer compare, `mov pr`|
//! | a branch register                | by a branch                            | `mov b`                  |
//! | `ar.pfs`                         | by `br.ret`                            | `mov ar.pfs`             |
//! | the current frame                | by anything                            | `alloc`                  |
//! | what a check load confirms       | by anything                            | `ld.c`                   |
//!
//! Parallel compares of one type write one predicate in one group. A branch that reads p63 shares no group with a loop
//! branch behind it. Checks (`chk`) read predicates as other instructions do, not as branches.
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volume 3, section 5.3, tables 5-2 to 5-4; volume 1,
//! section 3.4.

use super::addresses::Area;
use super::guards::is_guard;
use isa::Branch;
use isa::ia64::{Access, Class, Def, File, Inst, Parallel, Reg};
use std::fmt;

/// The reason why one instruction stays behind another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Through {
    Register(Reg),
    Memory,
    /// One of the two is a branch or a check.
    Branch,
    /// The effects of one of the two are not known, or begin a frame.
    Barrier,
}

impl fmt::Display for Through {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Through::Register(register) => write!(f, "{register}"),
            Through::Memory => f.write_str("memory"),
            Through::Branch => f.write_str("a branch"),
            Through::Barrier => f.write_str("a barrier"),
        }
    }
}

/// The demand of the second instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Need {
    pub(super) through: Through,
    /// A stop between the two.
    pub(super) stop: bool,
}

/// Returns the requirements of the second of two instructions, the strictest need first. `exclusive`: never
/// both execute.
pub(super) fn relation(
    first: &Inst,
    second: &Inst,
    exclusive: bool,
    areas: [Option<Area>; 2],
) -> Option<Need> {
    let mut found: Option<Need> = None;
    let mut add = |through: Through, stop: bool| {
        if found.is_none_or(|known| stop && !known.stop) {
            found = Some(Need { through, stop });
        }
    };
    if first.barrier || second.barrier {
        add(Through::Barrier, true);
    }
    if second.first || first.last {
        add(Through::Barrier, true);
    }
    if first.first || second.last {
        add(Through::Barrier, false);
    }
    for def in &first.defs {
        let register = def.register;
        let matters = !exclusive || def.always;
        if second.uses.contains(&register) && (matters || is_guard(register, second)) {
            add(
                Through::Register(register),
                !reads_at_once(first, def, second),
            );
        }
        for other in second.defs.iter().filter(|def| def.register == register) {
            let joint = def.parallel != Parallel::Alone && def.parallel == other.parallel;
            if (matters || other.always) && !joint {
                add(Through::Register(register), true);
            }
        }
    }
    for def in &second.defs {
        let register = def.register;
        let matters = !exclusive || def.always || is_guard(register, first);
        if first.uses.contains(&register) && matters {
            add(
                Through::Register(register),
                is_branch(first) && register == Reg::predicate(63) && rotates(second),
            );
        }
    }
    if !exclusive && meet(first, second, areas) {
        add(Through::Memory, false);
    }
    if first.branch.is_some() || second.branch.is_some() {
        add(Through::Branch, false);
    }
    found
}

/// Returns whether the second instruction may read in the group a register that the first writes there.
fn reads_at_once(first: &Inst, def: &Def, second: &Inst) -> bool {
    let register = def.register;
    match register.file {
        File::Predicate => {
            matches!(first.class, Class::Compare | Class::ToPredicates)
                && is_branch(second)
                && is_guard(register, second)
        }
        File::Branch => first.class == Class::ToBranch && is_branch(second),
        File::Application => {
            register == Reg::PFS
                && first.class == Class::ToApplication
                && second.branch == Some(Branch::Return)
        }
        File::General | File::Float => first
            .memory
            .is_some_and(|memory| memory.confirms && memory.base != register),
        File::Special => register == Reg::CFM && first.class == Class::Alloc,
        File::Control => false,
    }
}

/// Returns whether it is a branch, not a check.
fn is_branch(inst: &Inst) -> bool {
    inst.branch.is_some_and(|branch| branch != Branch::Check)
}

fn rotates(inst: &Inst) -> bool {
    matches!(
        inst.branch,
        Some(Branch::CountedRotating | Branch::WhileRotating)
    )
}

/// Returns whether the accesses of two instructions keep their order.
fn meet(first: &Inst, second: &Inst, areas: [Option<Area>; 2]) -> bool {
    let (Some(before), Some(behind)) = (first.memory, second.memory) else {
        return false;
    };
    if before.access == Access::Prefetch || behind.access == Access::Prefetch {
        return false;
    }
    if before.ordered || behind.ordered {
        return true;
    }
    let apart = matches!(areas, [Some(first), Some(second)] if first.is_apart(second));
    (before.access.writes() || behind.access.writes()) && !apart
}
