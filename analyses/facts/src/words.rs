//! The names that each language has for the groups of lanes: CUDA and PTX say warp and block, HLSL says wave
//! and group.

use ir::Language;

/// The lanes that execute one instruction together.
#[must_use]
pub const fn warp(language: Language) -> &'static str {
    match language {
        Language::Hlsl => "wave",
        _ => "warp",
    }
}

/// The threads that share memory and barriers.
#[must_use]
pub const fn workgroup(language: Language) -> &'static str {
    match language {
        Language::Hlsl => "group",
        Language::Cuda | Language::Ptx => "block",
        _ => "workgroup",
    }
}
