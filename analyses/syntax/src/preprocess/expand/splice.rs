//! Line splices inside of tokens.

use super::*;

pub(super) fn unspliced(text: &str) -> SmolStr {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, tail) = rest.split_at(at);
        result.push_str(before);
        let after = tail[1..].trim_start_matches([' ', '\t']);
        match after
            .strip_prefix("\r\n")
            .or_else(|| after.strip_prefix('\n'))
            .or_else(|| after.strip_prefix('\r'))
        {
            Some(next) => rest = next,
            None => {
                // An escape: the character after the backslash belongs to it.
                let length = 1 + tail[1..].chars().next().map_or(0, char::len_utf8);
                result.push_str(&tail[..length]);
                rest = &tail[length..];
            }
        }
    }
    result.push_str(rest);
    SmolStr::new(result)
}
