//! Splits a file into module-level items without parsing them. One pass; a function ends at the brace that closes its
//! body, or where a line begins with a directive that can't stand in a body, so that a lost brace costs one function.

use super::MAX_ITEMS;
use super::scan::{Cursor, starts_name};
use crate::source::ItemKey;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

/// The place of an item in the text; absolute offsets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PtxItemText {
    /// The function's or variable's name; directives are named with their dot (`.version`).
    pub key: ItemKey,
    pub start: u32,
    pub end: u32,
    /// `.entry` or `.func`.
    pub is_function: bool,
}

/// At most `MAX_ITEMS`, and one more without a name that takes all the rest.
pub fn split_items(text: &str) -> Vec<PtxItemText> {
    let mut cursor = Cursor::new(text);
    let mut items = Vec::new();
    let mut ordinals: FxHashMap<SmolStr, u32> = FxHashMap::default();
    loop {
        cursor.trivia();
        if cursor.at_end() {
            return items;
        }
        let start = cursor.at;
        if items.len() == MAX_ITEMS {
            let key = ItemKey {
                name: SmolStr::default(),
                ordinal: u32::MAX,
            };
            items.push(PtxItemText {
                key,
                start: start as u32,
                end: text.len() as u32,
                is_function: false,
            });
            return items;
        }
        let shape = item(&mut cursor);
        if cursor.at == start {
            // A character that begins nothing; it is an item of its own so that its parse reports it.
            cursor.resynchronise();
            if cursor.at == start {
                cursor.at += 1;
            }
        }
        let ordinal = ordinals.entry(shape.name.clone()).or_default();
        items.push(PtxItemText {
            key: ItemKey {
                name: shape.name,
                ordinal: *ordinal,
            },
            start: start as u32,
            end: cursor.at as u32,
            is_function: shape.is_function,
        });
        *ordinal += 1;
    }
}

struct Shape {
    name: SmolStr,
    is_function: bool,
}

fn item(cursor: &mut Cursor<'_>) -> Shape {
    let start = cursor.at;
    let mut name: Option<SmolStr> = None;
    let mut is_function = false;
    let mut named = false;
    let mut depth = 0u32;
    let mut round = 0u32;
    let mut fresh_line = false;
    loop {
        cursor.trivia_noting_lines(&mut fresh_line);
        if cursor.at_end() {
            break;
        }
        let at = cursor.at;
        match cursor.byte() {
            b'.' => {
                let Some(word) = cursor.dotted() else {
                    cursor.at += 1;
                    continue;
                };
                let word = word.text;
                if at > start && fresh_line && begins_item(&word, is_function, depth) {
                    cursor.at = at;
                    break;
                }
                if at == start {
                    name = Some(SmolStr::from(format!(".{word}")));
                    if matches!(
                        word.as_str(),
                        "version" | "target" | "address_size" | "file" | "loc"
                    ) {
                        to_line_end(cursor);
                        break;
                    }
                }
                match word.as_str() {
                    "entry" | "func" => {
                        is_function = true;
                        named = false;
                        name = None;
                    }
                    "pragma" if depth == 0 && at > start => {
                        cursor.resynchronise();
                    }
                    _ => {}
                }
            }
            b'{' => {
                depth += 1;
                cursor.at += 1;
            }
            b'}' => {
                depth = depth.saturating_sub(1);
                cursor.at += 1;
                let ends = is_function || name.as_deref() == Some(".section");
                if depth == 0 && ends {
                    break;
                }
            }
            b'(' => {
                round += 1;
                cursor.at += 1;
            }
            b')' => {
                round = round.saturating_sub(1);
                cursor.at += 1;
            }
            b';' => {
                cursor.at += 1;
                if depth == 0 {
                    break;
                }
            }
            b'"' => {
                let before = cursor.at;
                cursor.string();
                if cursor.at == before {
                    cursor.at += 1;
                }
            }
            byte if starts_name(byte) => {
                let Some(word) = cursor.name() else {
                    cursor.at += 1;
                    continue;
                };
                if round == 0 && depth == 0 && !named && at > start {
                    named = true;
                    name = Some(word.text);
                }
            }
            _ => {
                cursor.at += 1;
                while !cursor.text.is_char_boundary(cursor.at) {
                    cursor.at += 1;
                }
            }
        }
        fresh_line = false;
    }
    Shape {
        name: name.unwrap_or_default(),
        is_function,
    }
}

/// Directives that end an unfinished item when a line begins with them.
fn begins_item(word: &str, in_function: bool, depth: u32) -> bool {
    match word {
        "entry" | "func" => in_function,
        "visible" | "extern" | "weak" | "version" | "target" | "address_size" => true,
        "file" | "section" => depth == 0,
        _ => false,
    }
}

fn to_line_end(cursor: &mut Cursor<'_>) {
    let rest = &cursor.text.as_bytes()[cursor.at..];
    let mut length = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
    if let Some(comment) = memchr::memmem::find(&rest[..length], b"//") {
        length = comment;
    }
    cursor.at += length;
}

impl Cursor<'_> {
    /// Skips trivia; sets `fresh` when a line end was among it.
    fn trivia_noting_lines(&mut self, fresh: &mut bool) {
        let before = self.at;
        self.trivia();
        if self.text.as_bytes()[before..self.at]
            .iter()
            .any(|&b| matches!(b, b'\n' | b'\r'))
        {
            *fresh = true;
        }
    }
}
