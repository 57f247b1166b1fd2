//! Open documents: the text as the editor has it, by rope, with its version. Positions are the protocol's, but plain
//! numbers: a line and a column in code units of the negotiated encoding.
//!
//! A position behind a line's end means the line's end, one behind the last line the end of the text; so does the
//! protocol say, and a client that is one edit ahead or behind does no harm beyond its own text.

use ropey::{Rope, RopeSlice};
use std::sync::Arc;
use syntax::Span;

/// In which units a column counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Encoding {
    Utf8,
    #[default]
    Utf16,
    Utf32,
}

/// A place as the client counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub struct Place {
    pub line: u32,
    pub column: u32,
}

/// One edit: `None` replaces the whole text.
#[derive(Clone, Debug)]
pub struct Change {
    pub range: Option<(Place, Place)>,
    pub text: String,
}

#[derive(Clone, Debug)]
pub struct Document {
    rope: Rope,
    pub version: i32,
    pub language: String,
}

impl Document {
    pub fn new(text: &str, version: i32, language: String) -> Self {
        Document {
            rope: Rope::from_str(text),
            version,
            language,
        }
    }

    /// Applies edits in order, each to the result of the one before it.
    pub fn apply(&mut self, changes: &[Change], encoding: Encoding) {
        for change in changes {
            match change.range {
                None => self.rope = Rope::from_str(&change.text),
                Some((from, to)) => {
                    let start = self.char_at(from, encoding);
                    let end = self.char_at(to, encoding).max(start);
                    self.rope.remove(start..end);
                    self.rope.insert(start, &change.text);
                }
            }
        }
    }

    pub fn text(&self) -> Arc<str> {
        let mut text = String::with_capacity(self.rope.len_bytes());
        for chunk in self.rope.chunks() {
            text.push_str(chunk);
        }
        Arc::from(text)
    }

    fn char_at(&self, place: Place, encoding: Encoding) -> usize {
        let line = place.line as usize;
        if line >= self.rope.len_lines() {
            return self.rope.len_chars();
        }
        let start = self.rope.line_to_char(line);
        start + column_to_char(self.rope.line(line), place.column as usize, encoding)
    }
}

/// Chars before a column, not beyond the line's end mark. A column inside a character means its start.
fn column_to_char(line: RopeSlice<'_>, column: usize, encoding: Encoding) -> usize {
    let mut length = line.len_chars();
    while length > 0 && matches!(line.char(length - 1), '\n' | '\r') {
        length -= 1;
    }
    match encoding {
        Encoding::Utf32 => column.min(length),
        Encoding::Utf8 => line.byte_to_char(column.min(line.char_to_byte(length))),
        Encoding::Utf16 => line.utf16_cu_to_char(column.min(line.char_to_utf16_cu(length))),
    }
}

/// Byte offset of a place in a text.
pub fn offset_at(text: &str, lines: &syntax::LineIndex, place: Place, encoding: Encoding) -> u32 {
    if place.line >= lines.line_count() {
        return lines.text_length();
    }
    let line = line_text(text, lines, place.line);
    lines.line_start(place.line) + column_to_byte(line, place.column as usize, encoding) as u32
}

/// The place of a byte offset. Takes no longer on a long line.
pub fn place_at(text: &str, lines: &syntax::LineIndex, offset: u32, encoding: Encoding) -> Place {
    let (line, column) = lines.line_column(offset);
    let start = lines.line_start(line);
    let column = match encoding {
        Encoding::Utf8 => column,
        Encoding::Utf16 => lines.units_between(text, start, start + column).1,
        Encoding::Utf32 => lines.units_between(text, start, start + column).0,
    };
    Place { line, column }
}

pub fn places_of(
    text: &str,
    lines: &syntax::LineIndex,
    span: Span,
    encoding: Encoding,
) -> (Place, Place) {
    (
        place_at(text, lines, span.start, encoding),
        place_at(text, lines, span.end.max(span.start), encoding),
    )
}

/// Code units of a text.
pub fn width(text: &str, encoding: Encoding) -> usize {
    if encoding == Encoding::Utf8 || text.is_ascii() {
        return text.len();
    }
    match encoding {
        Encoding::Utf32 => text.chars().count(),
        _ => text.chars().map(char::len_utf16).sum(),
    }
}

/// From 1, columns in characters.
pub fn line_column(source: &str, lines: &syntax::LineIndex, offset: u32) -> (u32, u32) {
    let place = place_at(source, lines, offset, Encoding::Utf32);
    (place.line + 1, place.column + 1)
}

/// The beginning of a line, as much as can be of use to a reader.
pub fn line_beginning<'t>(text: &'t str, lines: &syntax::LineIndex, line: u32) -> &'t str {
    let whole = line_text(text, lines, line);
    let mut end = whole.len().min(LONG_LINE);
    while !whole.is_char_boundary(end) {
        end -= 1;
    }
    &whole[..end]
}

/// The most bytes of a line that people read.
pub const LONG_LINE: usize = 4096;

/// A line without its end mark.
pub fn line_text<'t>(text: &'t str, lines: &syntax::LineIndex, line: u32) -> &'t str {
    let start = lines.line_start(line) as usize;
    let end = lines.line_start(line + 1) as usize;
    text.get(start..end)
        .unwrap_or("")
        .trim_end_matches(['\n', '\r'])
}

fn column_to_byte(line: &str, column: usize, encoding: Encoding) -> usize {
    if line.is_ascii() {
        return column.min(line.len());
    }
    let mut units = 0;
    for (at, c) in line.char_indices() {
        let next = units
            + match encoding {
                Encoding::Utf8 => c.len_utf8(),
                Encoding::Utf16 => c.len_utf16(),
                Encoding::Utf32 => 1,
            };
        if next > column {
            return at;
        }
        units = next;
    }
    line.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use syntax::LineIndex;

    fn place(line: u32, column: u32) -> Place {
        Place { line, column }
    }

    #[test]
    fn edits_count_in_the_encoding_and_stop_at_line_ends() {
        let mut document = Document::new("a😀b\r\nc\rd\n", 1, String::new());
        document.apply(
            &[
                Change {
                    range: Some((place(0, 3), place(0, 4))),
                    text: "B".into(),
                },
                Change {
                    range: Some((place(1, 99), place(1, 99))),
                    text: "!".into(),
                },
                Change {
                    range: Some((place(99, 0), place(99, 5))),
                    text: "end".into(),
                },
            ],
            Encoding::Utf16,
        );
        assert_eq!(&*document.text(), "a😀B\r\nc!\rd\nend");
    }

    #[test]
    fn a_reversed_range_and_a_split_surrogate_do_no_harm() {
        let mut document = Document::new("x😀y", 1, String::new());
        document.apply(
            &[Change {
                range: Some((place(0, 3), place(0, 2))),
                text: "-".into(),
            }],
            Encoding::Utf16,
        );
        assert!(document.text().contains('y'));
    }

    #[test]
    fn places_and_offsets_are_inverse() {
        let text = "é😀\r\nxy\rz";
        let lines = LineIndex::new(text);
        for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
            for (offset, c) in text.char_indices() {
                if matches!(c, '\n' | '\r') {
                    continue;
                }
                let place = place_at(text, &lines, offset as u32, encoding);
                assert_eq!(
                    offset_at(text, &lines, place, encoding),
                    offset as u32,
                    "{encoding:?} {c}"
                );
            }
        }
    }
}
