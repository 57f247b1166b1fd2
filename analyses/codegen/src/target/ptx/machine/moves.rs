//! The instructions that move a value of a class: between registers, and to and from its slot.

use isa::ptx::Class;

/// The memory that a slot is in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    /// The memory of a lane.
    Local,
    /// The memory of a workgroup. Accesses are volatile, or the assembler would keep the value in a register.
    Shared,
}

pub(super) const fn moved(class: Class) -> &'static str {
    match class {
        Class::Predicate => "mov.pred",
        Class::Half => "mov.b16",
        Class::Word => "mov.b32",
        Class::Double => "mov.b64",
        Class::Quad => "mov.b128",
    }
}

/// A predicate lies in its slot as a word.
pub(super) const fn loaded(class: Class, space: Space) -> &'static str {
    match (class, space) {
        (Class::Half, Space::Local) => "ld.local.b16",
        (Class::Predicate | Class::Word, Space::Local) => "ld.local.b32",
        (Class::Double, Space::Local) => "ld.local.b64",
        (Class::Quad, Space::Local) => "ld.local.b128",
        (Class::Half, Space::Shared) => "ld.volatile.shared.b16",
        (Class::Predicate | Class::Word, Space::Shared) => "ld.volatile.shared.b32",
        (Class::Double, Space::Shared) => "ld.volatile.shared.b64",
        (Class::Quad, Space::Shared) => "ld.volatile.shared.b128",
    }
}

pub(super) const fn stored(class: Class, space: Space) -> &'static str {
    match (class, space) {
        (Class::Half, Space::Local) => "st.local.b16",
        (Class::Predicate | Class::Word, Space::Local) => "st.local.b32",
        (Class::Double, Space::Local) => "st.local.b64",
        (Class::Quad, Space::Local) => "st.local.b128",
        (Class::Half, Space::Shared) => "st.volatile.shared.b16",
        (Class::Predicate | Class::Word, Space::Shared) => "st.volatile.shared.b32",
        (Class::Double, Space::Shared) => "st.volatile.shared.b64",
        (Class::Quad, Space::Shared) => "st.volatile.shared.b128",
    }
}
