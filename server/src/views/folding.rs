//! Folds: bodies and blocks by their braces, block comments, and text that conditionals exclude.

use crate::db::{self, Db, File};
use syntax::{FileId, Span};

#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum FoldKind {
    Code,
    Comment,
    Inactive,
}

/// Lines from 0, the last one included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub struct Fold {
    pub start: u32,
    pub end: u32,
    pub kind: FoldKind,
}

pub fn folds(db: &dyn Db, file: File) -> Vec<Fold> {
    let source = crate::program::text(file.source(db));
    let lines = db::line_index(db, file);
    let mut folds = Vec::new();
    let mut add = |span: Span, kind: FoldKind, keep_last: bool| {
        let (start, _) = lines.line_column(span.start);
        let (end, _) = lines.line_column(span.end.saturating_sub(1).max(span.start));
        let end = if keep_last {
            end.saturating_sub(1)
        } else {
            end
        };
        if end > start {
            folds.push(Fold { start, end, kind });
        }
    };
    if let Some(lexed) = db::lexed(db, file) {
        let mut open = Vec::new();
        for token in &lexed.tokens {
            match lexed.text_of(*token) {
                "{" => open.push(token.start),
                "}" => {
                    if let Some(start) = open.pop() {
                        add(Span::new(start, token.end), FoldKind::Code, true);
                    }
                }
                _ => {}
            }
        }
        for &comment in &lexed.comments {
            add(comment, FoldKind::Comment, false);
        }
        if file.language(db).c_dialect().is_some() {
            for (_, span) in db::unit(db, file)
                .inactive
                .iter()
                .filter(|(of, _)| *of == FileId::MAIN)
            {
                add(*span, FoldKind::Inactive, false);
            }
        }
    } else {
        let mut open = Vec::new();
        for (at, byte) in source.bytes().enumerate() {
            match byte {
                b'{' => open.push(at as u32),
                b'}' => {
                    if let Some(start) = open.pop() {
                        add(Span::new(start, at as u32 + 1), FoldKind::Code, true);
                    }
                }
                _ => {}
            }
        }
    }
    folds.sort_unstable();
    folds.dedup_by_key(|fold| (fold.start, fold.end));
    folds
}
