//! Raw tokens as tokens with a spelling: line splices inside of them are removed.

use super::*;

/// A raw token with its spelling, line splices removed.
pub(in crate::preprocess) fn token_of(lexed: &LexedFile, raw: RawToken, instance: u32) -> PpToken {
    let spelled = matches!(
        raw.kind,
        TokenKind::Ident | TokenKind::Number | TokenKind::Str | TokenKind::Char | TokenKind::Error
    );
    let text = match spelled {
        false => SmolStr::default(),
        true if raw.has(SPLICED) => unspliced(lexed.text_of(raw)),
        true => SmolStr::new(lexed.text_of(raw)),
    };
    PpToken {
        text,
        place: Place {
            instance,
            start: raw.start,
            end: raw.end,
        },
        kind: raw.kind,
        flags: raw.flags & !SPLICED,
    }
}

fn unspliced(text: &str) -> SmolStr {
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

/// A bit of 256 for a word, by its length and its ends.
pub(super) fn trace(name: &str) -> (usize, u64) {
    let (first, last) = match name.as_bytes() {
        [first, .., last] => (*first, *last),
        [only] => (*only, 0),
        [] => (0, 0),
    };
    let hash = first ^ last.rotate_left(3) ^ (name.len() as u8).wrapping_mul(29);
    (usize::from(hash >> 6), 1 << (hash & 63))
}
