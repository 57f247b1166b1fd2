//! Names of functions and variables as the assembler takes them.
//!
//! ```text
//! f#0:f.table -> f.0.f.table      b3 -> b3#, which is no register
//! ```
//!
//! Source: the manual of GNU `as`, *IA-64 Dependent Features*, syntax of symbols.

use smol_str::{SmolStr, format_smolstr};
use syntax::ia64::names::Names;

/// Characters that have no place in a name become points; a name that begins with a digit gets one in front.
#[must_use]
pub(crate) fn plain(name: &str) -> SmolStr {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '$');
    let begins = name.starts_with(|letter: char| letter.is_ascii_digit());
    let whole = name
        .chars()
        .map(|letter| if fits(letter) { letter } else { '.' });
    if begins || name.is_empty() {
        std::iter::once('.').chain(whole).collect()
    } else {
        whole.collect()
    }
}

/// A plain name where a register might stand.
#[must_use]
pub(crate) fn reference(name: &str) -> SmolStr {
    let lower = name.to_ascii_lowercase();
    let numbered = ["in", "loc", "out", "ret", "farg", "fret"]
        .iter()
        .filter_map(|file| lower.strip_prefix(file))
        .any(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()));
    match numbered || Names::default().register(name).is_some() {
        true => format_smolstr!("{name}#"),
        false => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::{plain, reference};

    #[test]
    fn names_are_taken_for_nothing_else() {
        assert_eq!(plain("f#0:f.table"), "f.0.f.table");
        assert_eq!(plain("plain_name"), "plain_name");
        for name in ["b3", "r5", "f127", "p6", "gp", "in0", "ret1", "ar.lc"] {
            assert_eq!(reference(name), format!("{name}#"));
        }
        for name in ["b8", "r128", "sum", "inner", "out", "b3x"] {
            assert_eq!(reference(name), name);
        }
    }
}
