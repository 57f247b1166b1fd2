//! Text: lines, indentation and the style of braces, so that new text looks like its surroundings.

use super::Source;
use super::flow::Edit;
use syntax::Span;
use syntax::c_family::ast::*;

impl Source<'_> {
    /// The text of an item-relative span.
    pub(super) fn slice(&self, span: Span) -> &str {
        let span = span.shifted(self.start);
        self.text
            .get(span.start as usize..span.end as usize)
            .unwrap_or("")
    }

    /// A span's text with edits inside it made; `None` when they overlap.
    pub(super) fn edited(&self, span: Span, edits: &[Edit]) -> Option<String> {
        let mut sorted: Vec<&Edit> = edits.iter().collect();
        sorted.sort_by_key(|(span, _)| (span.start, span.end));
        let mut out = String::new();
        let mut at = span.start;
        for (place, text) in sorted {
            if place.start < at || place.end > span.end {
                return None;
            }
            out.push_str(self.slice(Span::new(at, place.start)));
            out.push_str(text);
            at = place.end;
            let line = self.line(at);
            let kept = out.rfind('\n').map_or(0, |at| at + 1);
            let nothing = |text: &str| text.trim().is_empty();
            // A line goes with the last of its statements.
            if text.is_empty()
                && (line.start..line.end).contains(&place.start)
                && place.start < at
                && line.end < span.end
                && (kept > 0 || self.begins_line(span.start))
                && nothing(&out[kept..])
                && nothing(self.slice(Span::new(at, line.end)))
            {
                out.truncate(kept);
                at = self.line_after(line);
            }
        }
        out.push_str(self.slice(Span::new(at.min(span.end), span.end)));
        Some(out)
    }

    /// Where the line behind a line begins.
    fn line_after(&self, line: Span) -> u32 {
        let rest = self.text.get((line.end + self.start) as usize..);
        line.end
            + if rest.unwrap_or("").starts_with("\r\n") {
                2
            } else {
                1
            }
    }

    /// Returns where the line of an offset begins and ends, without its end of line; item-relative. Lines that begin
    /// before the item begin with it.
    pub(super) fn line(&self, offset: u32) -> Span {
        let at = (offset + self.start) as usize;
        let start = self
            .text
            .get(..at)
            .and_then(|before| before.rfind('\n'))
            .map_or(0, |at| at + 1);
        let end = self
            .text
            .get(at..)
            .and_then(|after| after.find('\n'))
            .map_or(self.text.len(), |found| at + found);
        let end = match self.text.as_bytes().get(end.wrapping_sub(1)) {
            Some(b'\r') if end > at => end - 1,
            _ => end,
        };
        Span::new(
            (start as u32).saturating_sub(self.start),
            (end as u32).saturating_sub(self.start),
        )
    }

    /// White space at the beginning of an offset's line.
    pub(super) fn indentation(&self, offset: u32) -> &str {
        let line = self.slice(self.line(offset));
        let end = line
            .find(|c: char| !matches!(c, ' ' | '\t'))
            .unwrap_or(line.len());
        &line[..end]
    }

    pub(super) fn begins_line(&self, offset: u32) -> bool {
        let line = self.line(offset);
        self.slice(Span::new(line.start, offset)).trim().is_empty()
    }

    /// Returns the end of the line if nothing or only a comment follows on it.
    pub(super) fn ends_line(&self, offset: u32) -> Option<u32> {
        let line = self.line(offset);
        let rest = self.slice(Span::new(offset, line.end)).trim();
        let comment = rest.starts_with("//")
            || (rest.starts_with("/*") && rest.find("*/") == Some(rest.len().wrapping_sub(2)));
        (rest.is_empty() || comment).then_some(line.end)
    }

    /// A statement with its whole lines where it stands alone on them, and the comment lines directly above it, not before
    /// `floor`.
    pub(super) fn removal(&self, span: Span, floor: u32) -> Span {
        if !self.begins_line(span.start) {
            return span;
        }
        let Some(end) = self.ends_line(span.end) else {
            return span;
        };
        let start = self.comment_above(self.line(span.start).start, floor);
        // The end of line goes with it.
        let rest = self.text.get((end + self.start) as usize..).unwrap_or("");
        let newline = if rest.starts_with("\r\n") {
            2
        } else {
            u32::from(rest.starts_with('\n'))
        };
        Span::new(start, end + newline)
    }

    /// The first line of a comment `/* */` that ends with this line, and of whose lines it has each for itself.
    fn block_comment_above(&self, last: Span, floor: u32) -> Option<u32> {
        if !self.slice(last).trim_end().ends_with("*/") {
            return None;
        }
        let before = self.slice(Span::new(floor, last.end)).trim_end();
        // From the floor on there are comments and blanks alone: no string holds a `/*`.
        let (mut at, mut begins) = (0, None);
        while let Some(found) = before.get(at..).and_then(|rest| rest.find(['/', '\n'])) {
            let rest = &before[at + found..];
            let length = match rest {
                line if line.starts_with("//") => line.find('\n').unwrap_or(line.len()),
                block if block.starts_with("/*") => {
                    begins = Some(at + found);
                    2 + block[2..].find("*/")? + 2
                }
                _ => 1,
            };
            at += found + length;
        }
        let start = floor + begins? as u32;
        (at == before.len() && self.begins_line(start)).then(|| self.line(start).start)
    }

    /// The first of the comment lines directly above a line.
    pub(super) fn comment_above(&self, line_start: u32, floor: u32) -> u32 {
        let mut start = line_start;
        while start > 0 {
            let above = self.line(start - 1);
            if above.start < floor || above.start >= start {
                break;
            }
            let text = self.slice(above).trim();
            if text.starts_with("//") && !text.contains(super::MARK) {
                start = above.start;
                continue;
            }
            match self.block_comment_above(above, floor) {
                Some(first) => start = first,
                None => break,
            }
        }
        start
    }

    /// One step of indentation in this function.
    pub(super) fn unit(&self, function: &Block) -> String {
        for statement in &function.statements {
            if self.begins_line(statement.span.start) {
                let inner = self.indentation(statement.span.start);
                let outer = self.indentation(function.span.start);
                if let Some(unit) = inner.strip_prefix(outer)
                    && !unit.is_empty()
                {
                    return unit.to_owned();
                }
            }
        }
        "    ".to_owned()
    }

    /// The indentation of statements in a block: that of its first line, which need not be a step from the block's own where tabs
    /// and spaces are mixed.
    pub(super) fn indentation_inside(&self, block: Span, unit: &str) -> String {
        let outer = self.indentation(block.start);
        let end = block.end.saturating_sub(1);
        let behind = |at: u32| {
            let rest = self.text.get((at + self.start) as usize..).unwrap_or("");
            rest.find('\n').map_or(end, |found| at + found as u32 + 1)
        };
        let mut at = behind(block.start);
        while at < end {
            let line = self.line(at);
            let text = self.slice(line).trim();
            if !text.is_empty() && !text.starts_with(['#', '}']) && line.end <= end {
                let own = self.indentation(line.start);
                let is_label = text.starts_with("case ") || text.ends_with(':');
                if !own.is_empty() && own != outer && !is_label {
                    return own.to_owned();
                }
                break;
            }
            at = behind(at);
        }
        format!("{outer}{unit}")
    }

    /// Opening braces stand on their own lines.
    pub(super) fn braces_apart(&self, function: &Block) -> bool {
        fn first(stmt: &Stmt, depth: u32) -> Option<u32> {
            if depth > 64 {
                return None;
            }
            if let StmtKind::If { then: body, .. }
            | StmtKind::For { body, .. }
            | StmtKind::While { body, .. } = &stmt.kind
                && let StmtKind::Block(block) = &body.kind
            {
                return Some(block.span.start);
            }
            super::effects::inner_statements(stmt)
                .into_iter()
                .find_map(|inner| first(inner, depth + 1))
        }
        let brace = function
            .statements
            .iter()
            .find_map(|stmt| first(stmt, 0))
            .unwrap_or(function.span.start);
        self.begins_line(brace)
    }

    /// A branch in place of the whole statement: without its braces unless its declarations need them.
    pub(super) fn unwrapped(&self, chosen: &Stmt, edits: &[Edit], whole: Span) -> Option<String> {
        let StmtKind::Block(block) = &chosen.kind else {
            return self.edited(chosen.span, edits);
        };
        let declares = block
            .statements
            .iter()
            .any(|statement| matches!(statement.kind, StmtKind::Declaration(_)));
        if declares || block.statements.is_empty() {
            return self.edited(chosen.span, edits);
        }
        let inside = Span::new(block.span.start + 1, block.span.end.saturating_sub(1));
        let text = self.edited(inside, edits)?;
        let outer = self.indentation(whole.start);
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        let inner = lines
            .first()
            .map_or("", |line| &line[..line.len() - line.trim_start().len()]);
        let moved: Vec<String> = lines
            .iter()
            .map(|line| match line.strip_prefix(inner) {
                Some(rest) => format!("{outer}{rest}"),
                None => (*line).to_owned(),
            })
            .collect();
        let end = self.end_of_line();
        Some(moved.join(end).trim_start().to_owned())
    }

    pub(super) fn end_of_line(&self) -> &'static str {
        if self.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        }
    }
}

/// Every line that is not blank, one step further in.
pub(super) fn indented(text: &str, unit: &str) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    for line in text.split_inclusive('\n') {
        if !line.trim().is_empty() {
            out.push_str(unit);
        }
        out.push_str(line);
    }
    out
}

/// Returns the text without blank lines at its ends and space at the ends of lines, and with one blank line
/// in place of several.
pub(super) fn tidied(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blank = true;
    for line in text.split_inclusive('\n') {
        if line.trim().is_empty() {
            if !blank {
                out.push_str(line);
            }
            blank = true;
        } else {
            let ending = line.trim_end_matches(['\r', '\n']);
            out.push_str(ending.trim_end_matches([' ', '\t']));
            out.push_str(&line[ending.len()..]);
            blank = false;
        }
    }
    while let Some(last) = out
        .split_inclusive('\n')
        .next_back()
        .filter(|last| last.trim().is_empty())
    {
        let cut = out.len() - last.len();
        out.truncate(cut);
    }
    out
}
