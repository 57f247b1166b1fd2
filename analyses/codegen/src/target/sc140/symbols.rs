//! Names of functions and variables as the assembler takes them.
//!
//! ```text
//! f -> _f      f.table -> L_f_2etable      the names of C have an underscore in front, and no other name begins with one
//! ```

use smol_str::SmolStr;
use std::fmt::Write;

/// The symbol of a name. One that C has no spelling for is the file's own: each letter that is none is its number, and an
/// underscore is two, so that different names have different symbols.
#[must_use]
pub(super) fn plain(name: &str) -> SmolStr {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let begins = name.starts_with(|letter: char| letter.is_ascii_digit());
    if !name.is_empty() && !begins && name.chars().all(is_plain) {
        return smol_str::format_smolstr!("_{name}");
    }
    let mut out = String::from("L_");
    for letter in name.chars() {
        match letter {
            '_' => out.push_str("__"),
            letter if letter.is_ascii_alphanumeric() => out.push(letter),
            letter => {
                let _ = write!(out, "_{:02x}", u32::from(letter));
            }
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn names_are_symbols() {
        assert_eq!(plain("f_1"), "_f_1");
        assert_eq!(plain("$f.string1"), "L__24f_2estring1");
        assert_ne!(plain("f.x"), plain("f_.x"));
        assert_ne!(plain("f_2ex."), plain("f.x."));
    }
}
