//! Statements of a function's body and the operands of instructions.

use super::parse::{directive, parameters, storage_space, variable};
use super::scan::Cursor;
use super::*;

/// Blocks nested deeper than this are reported once; their names live in the block at the limit.
const MAX_NESTING: u32 = 256;
/// Operands nest at most `([{a}])` deep.
const MAX_OPERAND_NESTING: u32 = 8;

/// The statements between the `{` under the cursor and its `}`.
pub(super) fn body(cursor: &mut Cursor<'_>) -> Vec<Statement> {
    let mut statements = Vec::new();
    let opening = Span::new(cursor.at as u32, cursor.at as u32 + 1);
    cursor.at += 1;
    let mut depth = 0u32;
    let mut reported = false;
    loop {
        cursor.trivia();
        let start = cursor.at;
        if cursor.at_end() {
            cursor.problem(opening, "the body is not closed");
            return statements;
        }
        let kind = match cursor.byte() {
            b'{' => {
                cursor.at += 1;
                depth += 1;
                if depth > MAX_NESTING {
                    if !reported {
                        reported = true;
                        let span = cursor.span_from(start);
                        cursor.problems.push(Problem::new(
                            crate::ProblemKind::Limit,
                            span,
                            format!("blocks nest deeper than {MAX_NESTING}"),
                        ));
                    }
                    continue;
                }
                Some(StatementKind::Open)
            }
            b'}' => {
                cursor.at += 1;
                if depth == 0 {
                    return statements;
                }
                depth -= 1;
                if depth >= MAX_NESTING {
                    continue;
                }
                Some(StatementKind::Close)
            }
            b';' => {
                cursor.at += 1;
                continue;
            }
            b'.' => dotted_statement(cursor),
            b'@' if cursor.byte_at(1) == b'@' => {
                cursor.resynchronise();
                continue;
            }
            _ => label_or_instruction(cursor),
        };
        let kind = match kind {
            Some(kind) => kind,
            None => {
                if cursor.at == start && !matches!(cursor.byte(), b'\n' | b'}') {
                    cursor.at += cursor.text[start..]
                        .chars()
                        .next()
                        .map_or(1, char::len_utf8);
                }
                cursor.resynchronise();
                StatementKind::Invalid(names_in(cursor.text, start, cursor.at))
            }
        };
        statements.push(Statement {
            kind,
            span: cursor.span_from(start),
        });
    }
}

/// The names between two offsets, at most 64.
fn names_in(text: &str, start: usize, end: usize) -> Vec<Name> {
    let mut names: Vec<Name> = Vec::new();
    let mut inner = Cursor::new(text.get(..end).unwrap_or(""));
    inner.at = start;
    while !inner.at_end() && names.len() < 64 {
        match inner.name() {
            Some(name) => {
                if !names.iter().any(|known| known.text == name.text) {
                    names.push(name);
                }
            }
            None => {
                inner.at += inner.text[inner.at..]
                    .chars()
                    .next()
                    .map_or(1, char::len_utf8)
            }
        }
    }
    names
}

fn dotted_statement(cursor: &mut Cursor<'_>) -> Option<StatementKind> {
    let word = cursor.peek_dotted()?;
    if storage_space(&word).is_some() || word == "align" {
        let declaration = variable(cursor, Linkage::default(), false)?;
        cursor.expect(b';')?;
        return Some(StatementKind::Declaration(declaration));
    }
    match word.as_str() {
        "loc" => {
            cursor.dotted();
            location(cursor).map(StatementKind::Location)
        }
        "branchtargets" => {
            cursor.dotted();
            names(cursor).map(StatementKind::BranchTargets)
        }
        "calltargets" => {
            cursor.dotted();
            names(cursor).map(StatementKind::CallTargets)
        }
        "callprototype" => {
            cursor.dotted();
            let returns = parameters(cursor);
            cursor.name();
            let parameters = parameters(cursor);
            while cursor.peek_dotted().is_some() {
                directive(cursor)?;
            }
            cursor.expect(b';')?;
            Some(StatementKind::CallPrototype {
                returns,
                parameters,
            })
        }
        _ => {
            let directive = directive(cursor)?;
            cursor.blanks();
            if cursor.byte() == b';' {
                cursor.at += 1;
            }
            Some(StatementKind::Directive(directive))
        }
    }
}

fn names(cursor: &mut Cursor<'_>) -> Option<Vec<Name>> {
    let mut all = Vec::new();
    loop {
        let Some(name) = cursor.name() else {
            cursor.problem_here("expected a name");
            return None;
        };
        all.push(name);
        // `label<8>` is short for label0 to label7.
        if cursor.byte() == b'<'
            && let Some(prefix) = all.pop()
        {
            cursor.at += 1;
            let count = cursor.unsigned()?;
            cursor.expect(b'>')?;
            all.extend((0..count.min(65_536)).map(|number| Name {
                text: SmolStr::from(format!("{}{number}", prefix.text)),
                span: prefix.span,
            }));
        }
        if !cursor.eat(b',') {
            break;
        }
    }
    cursor.expect(b';')?;
    Some(all)
}

/// Returns the location in a `.loc`: three numbers on the line, then attributes after commas.
fn location(cursor: &mut Cursor<'_>) -> Option<SourceLocation> {
    let number = |cursor: &mut Cursor<'_>| {
        cursor.blanks();
        cursor.byte().is_ascii_digit().then(|| cursor.unsigned())?
    };
    let file = number(cursor)?;
    let line = number(cursor)?;
    let column = number(cursor).unwrap_or(0);
    let mut inlined_at = None;
    loop {
        cursor.blanks();
        if cursor.byte() != b',' {
            break;
        }
        cursor.at += 1;
        cursor.blanks();
        let word = cursor.name()?;
        if word.text == "inlined_at" {
            let file = number(cursor)?;
            let line = number(cursor)?;
            inlined_at = Some((file, line, number(cursor)?));
        } else {
            // `function_name label (+ offset)`
            cursor.name();
            cursor.blanks();
            if cursor.byte() == b'+' {
                cursor.at += 1;
                number(cursor);
            }
        }
    }
    Some(SourceLocation {
        file,
        line,
        column,
        inlined_at,
    })
}

fn label_or_instruction(cursor: &mut Cursor<'_>) -> Option<StatementKind> {
    let guard = if cursor.eat(b'@') {
        let negated = cursor.eat(b'!');
        let Some(predicate) = cursor.name() else {
            cursor.problem_here("expected a predicate");
            return None;
        };
        Some(Guard { predicate, negated })
    } else {
        None
    };
    let Some(opcode) = cursor.name() else {
        cursor.problem_here("expected an instruction, a label or a directive");
        return None;
    };
    if guard.is_none() {
        let after = cursor.at;
        cursor.trivia();
        if cursor.byte() == b':' && cursor.byte_at(1) != b':' {
            cursor.at += 1;
            return Some(StatementKind::Label(opcode));
        }
        cursor.at = after;
    }
    let inline_assembly = cursor.inline_assembly;
    let mut modifiers = Vec::new();
    while let Some(modifier) = cursor.dotted() {
        modifiers.push(modifier.text);
    }
    let mut operands = Vec::new();
    cursor.trivia();
    if cursor.byte() != b';' {
        loop {
            let operand = operand(cursor, 0);
            let Some(operand) = operand else {
                cursor.problem_here("expected an operand");
                return None;
            };
            operands.push(operand);
            if !cursor.eat(b',') {
                break;
            }
        }
    }
    cursor.trivia();
    if cursor.byte() == b';' {
        cursor.at += 1;
    } else {
        let at = cursor.at as u32;
        cursor.problem(
            Span::new(opcode.span.start, at),
            "expected `;` after the instruction",
        );
        // A missing `;` at a line's end costs nothing else.
        let between = cursor.slice(opcode.span.start as usize, cursor.at);
        if !between.ends_with(['\n', '\t', ' ', '\r']) && cursor.byte() != b'}' {
            cursor.resynchronise();
        }
    }
    Some(StatementKind::Instruction(Instruction {
        guard,
        opcode,
        modifiers,
        operands,
        inline_assembly,
    }))
}

/// One operand. No problem is reported when there is none.
pub(super) fn operand(cursor: &mut Cursor<'_>, depth: u32) -> Option<Operand> {
    cursor.trivia();
    let start = cursor.at;
    let first = primary(cursor, depth)?;
    cursor.trivia();
    match cursor.byte() {
        b'|' => {
            cursor.at += 1;
            let second = operand(cursor, depth + 1)?;
            let span = cursor.span_from(start);
            Some(Operand::Pair(Box::new(first), Box::new(second), span))
        }
        b'+' | b'-' if depth > 0 || matches!(first, Operand::Name(_) | Operand::Integer(..)) => {
            let negative = cursor.byte() == b'-';
            cursor.at += 1;
            let second = operand(cursor, depth + 1)?;
            let span = cursor.span_from(start);
            let second = match second {
                Operand::Integer(value, span) if negative => {
                    Operand::Integer(value.wrapping_neg(), span)
                }
                other if negative => Operand::Negative(Box::new(other), span),
                other => other,
            };
            if let (Operand::Integer(a, _), Operand::Integer(b, _)) = (&first, &second) {
                return Some(Operand::Integer(a.wrapping_add(*b), span));
            }
            Some(Operand::Offset(Box::new(first), Box::new(second), span))
        }
        _ => Some(first),
    }
}

fn primary(cursor: &mut Cursor<'_>, depth: u32) -> Option<Operand> {
    if depth > MAX_OPERAND_NESTING {
        cursor.problem_here("operands nest too deep");
        return None;
    }
    let start = cursor.at;
    match cursor.byte() {
        b'{' => {
            let parts = sequence(cursor, b'}', depth)?;
            Some(Operand::Vector(parts, cursor.span_from(start)))
        }
        b'(' => {
            let parts = sequence(cursor, b')', depth)?;
            Some(Operand::List(parts, cursor.span_from(start)))
        }
        b'[' => {
            let parts = sequence(cursor, b']', depth)?;
            Some(Operand::Address(parts, cursor.span_from(start)))
        }
        b'!' | b'~' => {
            cursor.at += 1;
            let inner = operand(cursor, depth + 1)?;
            Some(Operand::Not(Box::new(inner), cursor.span_from(start)))
        }
        b'-' => {
            cursor.at += 1;
            cursor.trivia();
            if cursor.byte().is_ascii_digit() {
                return cursor.number(true);
            }
            let inner = primary(cursor, depth + 1)?;
            Some(Operand::Negative(Box::new(inner), cursor.span_from(start)))
        }
        b'0'..=b'9' => cursor.number(false),
        b'.' if cursor.byte_at(1).is_ascii_digit() => cursor.number(false),
        _ if cursor.at_name() => {
            let name = cursor.name()?;
            if name.text == "_" {
                return Some(Operand::Sink(name.span));
            }
            if cursor.byte() == b'.' && !cursor.byte_at(1).is_ascii_whitespace() {
                let selector = cursor.dotted()?;
                let name = Name {
                    span: Span::new(name.span.start, cursor.at as u32),
                    ..name
                };
                return Some(Operand::Component(name, selector.text));
            }
            // `array[3]`: the element's address.
            if cursor.byte() == b'[' && depth > 0 {
                let parts = sequence(cursor, b']', depth)?;
                let index = parts.into_iter().next()?;
                let span = cursor.span_from(start);
                return Some(Operand::Offset(
                    Box::new(Operand::Name(name)),
                    Box::new(index),
                    span,
                ));
            }
            Some(Operand::Name(name))
        }
        _ => None,
    }
}

/// Operands between the bracket under the cursor and `close`.
fn sequence(cursor: &mut Cursor<'_>, close: u8, depth: u32) -> Option<Vec<Operand>> {
    cursor.at += 1;
    let mut parts = Vec::new();
    loop {
        if cursor.eat(close) {
            return Some(parts);
        }
        match operand(cursor, depth + 1) {
            Some(part) => parts.push(part),
            None => {
                cursor.problem_here("expected an operand");
                return None;
            }
        }
        if cursor.eat(b',') {
            continue;
        }
        cursor.expect(close)?;
        return Some(parts);
    }
}
