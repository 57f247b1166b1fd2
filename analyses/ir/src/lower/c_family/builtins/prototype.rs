//! Names that `prototype.h`, the header of compilers for DSPs, declares besides the basic operations.

/// The meaning of such a name where the header is not in sight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Intrinsic {
    /// Sets a mode that basic operations have anyhow: they saturate, and round halves up.
    AlreadySet,
    /// Has a meaning that nothing here has; the reason.
    Unsupported(String),
}

/// Operations of 64 bits, and of 40, whose values no public document gives.
const WITHOUT_VALUE: [&str; 20] = [
    "D_add",
    "D_cast",
    "D_cmpeq",
    "D_cmpgt",
    "D_extract_h",
    "D_extract_l",
    "D_get_lsb",
    "D_get_msb",
    "D_mac",
    "D_msu",
    "D_mult",
    "D_round",
    "D_sat",
    "D_set",
    "D_sub",
    "X_cast",
    "X_guard",
    "X_lsl",
    "X_round",
    "X_set",
];

/// Returns the meaning of a name that is no basic operation; `None`: the header does not declare it.
#[must_use]
pub fn intrinsic(name: &str) -> Option<Intrinsic> {
    let reason = match name {
        "setsat32" | "set2crm" => return Some(Intrinsic::AlreadySet),
        "setnosat" | "setcnvrm" => format!(
            "`{name}` changes a mode: basic operations are known only as they saturate and round halves up"
        ),
        "clearDOVF" | "ei" | "di" | "trap" | "stop" | "wait" | "mark" | "debug" | "illegal" => {
            format!("`{name}` controls the processor: call a routine of assembly instead")
        }
        _ if WITHOUT_VALUE.contains(&name) => {
            format!("no public document gives the value of `{name}`")
        }
        _ => return None,
    };
    Some(Intrinsic::Unsupported(reason))
}
