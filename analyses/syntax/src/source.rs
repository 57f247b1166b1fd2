//! Positions. A `Span` counts bytes; which text it counts in is said by the structure that holds it:
//! an item's tree holds spans relative to the item's start, everything at file level holds absolute ones.

use smol_str::SmolStr;

/// A half-open range of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub const fn new(start: u32, end: u32) -> Self {
        Span { start, end }
    }
    pub const fn at(offset: u32) -> Self {
        Span {
            start: offset,
            end: offset,
        }
    }
    pub const fn len(self) -> u32 {
        self.end - self.start
    }
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }
    pub const fn contains(self, offset: u32) -> bool {
        self.start <= offset && offset < self.end
    }
    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
    /// The span moved `by` bytes to the right: item-relative to absolute.
    pub const fn shifted(self, by: u32) -> Span {
        Span {
            start: self.start + by,
            end: self.end + by,
        }
    }
    /// The span as seen from `base`: absolute to item-relative. Positions before `base` become 0.
    pub const fn relative_to(self, base: u32) -> Span {
        Span {
            start: self.start.saturating_sub(base),
            end: self.end.saturating_sub(base),
        }
    }
}

impl std::fmt::Debug for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// A file of one translation unit: 0 is the file that was opened, the others are its includes, in first-seen
/// order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub struct FileId(pub u32);

impl FileId {
    pub const MAIN: FileId = FileId(0);
}

/// Names an item of a translation unit in a way that survives edits elsewhere in the file: its qualified name and
/// its number among the items of that name (overloads, specialisations, redeclarations), counted from 0.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct ItemKey {
    pub name: SmolStr,
    pub ordinal: u32,
}

/// Byte offsets of line starts; translates offsets to lines and columns (both from 0, columns in bytes).
/// Lines end at LF, CRLF or a lone CR.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
    length: u32,
    /// The marks of a text that is not ASCII: the counts before every `STRIDE`-th byte or the next
    /// character's start.
    marks: Vec<Mark>,
}

const STRIDE: usize = 1024;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Mark {
    offset: u32,
    chars: u32,
    utf16: u32,
}

impl Mark {
    fn after(self, text: &str) -> Mark {
        let bytes = text.as_bytes();
        // A character begins at every byte that goes on with none; those of four bytes are two units.
        let chars = bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() as u32;
        let pairs = bytes.iter().filter(|&&byte| byte >= 0xf0).count() as u32;
        Mark {
            offset: self.offset + bytes.len() as u32,
            chars: self.chars + chars,
            utf16: self.utf16 + chars + pairs,
        }
    }
}

fn marks(text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    if text.is_ascii() {
        return marks;
    }
    let mut last = Mark::default();
    marks.push(last);
    loop {
        let start = last.offset as usize;
        let mut end = start + STRIDE;
        if end >= text.len() {
            return marks;
        }
        while !text.is_char_boundary(end) {
            end += 1;
        }
        last = last.after(&text[start..end]);
        marks.push(last);
    }
}

impl LineIndex {
    pub fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
            if bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n') {
                continue;
            }
            starts.push(at as u32 + 1);
        }
        LineIndex {
            starts,
            length: bytes.len() as u32,
            marks: marks(text),
        }
    }
    /// Characters and UTF-16 units between two offsets of the indexed text.
    pub fn units_between(&self, text: &str, from: u32, to: u32) -> (u32, u32) {
        if self.marks.is_empty() {
            let bytes = to.min(self.length).saturating_sub(from);
            return (bytes, bytes);
        }
        let before = |offset: u32| {
            let offset = offset.min(self.length) as usize;
            let at = self
                .marks
                .partition_point(|mark| mark.offset as usize <= offset);
            let mark = self
                .marks
                .get(at.saturating_sub(1))
                .copied()
                .unwrap_or_default();
            mark.after(text.get(mark.offset as usize..offset).unwrap_or(""))
        };
        let (from, to) = (before(from), before(to));
        (
            to.chars.saturating_sub(from.chars),
            to.utf16.saturating_sub(from.utf16),
        )
    }
    /// Line and byte column of an offset, both from 0. An offset past the end is clamped.
    pub fn line_column(&self, offset: u32) -> (u32, u32) {
        let offset = offset.min(self.length);
        let line = self.starts.partition_point(|&start| start <= offset) - 1;
        (line as u32, offset - self.starts[line])
    }
    /// First byte of a line; the end of the text for a line past the last.
    pub fn line_start(&self, line: u32) -> u32 {
        self.starts
            .get(line as usize)
            .copied()
            .unwrap_or(self.length)
    }
    pub fn line_count(&self) -> u32 {
        self.starts.len() as u32
    }
    pub fn text_length(&self) -> u32 {
        self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_line_ends_count_once() {
        let index = LineIndex::new("a\r\nb\rc\nd");
        assert_eq!(index.line_count(), 4);
        assert_eq!(index.line_column(3), (1, 0));
        assert_eq!(index.line_column(5), (2, 0));
        assert_eq!(index.line_column(99), (3, 1));
    }

    #[test]
    fn units_are_counted_from_marks() {
        let text = "aé😀\n".repeat(2_000);
        let index = LineIndex::new(&text);
        for (from, to) in [
            (0, 3),
            (8, 15),
            (0, 16_000),
            (4_000, 12_003),
            (15_992, 15_999),
        ] {
            let part = &text[from..to];
            assert_eq!(
                index.units_between(&text, from as u32, to as u32),
                (
                    part.chars().count() as u32,
                    part.encode_utf16().count() as u32
                )
            );
        }
        assert_eq!(LineIndex::new("abc").units_between("abc", 1, 3), (2, 2));
    }
}
