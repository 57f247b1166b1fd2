//! Lines above a loop or an `if` that ask something of it: `#pragma lockstep pipeline(word)`, `#pragma GCC unroll 4`,
//! `#pragma lockstep if_convert`.
//!
//! ```text
//! while (s[i]) i++;    ->    #pragma lockstep pipeline(or_andcm)
//!                            while (s[i]) i++;
//! ```
//!
//! A line that is there is changed, or taken out with its end; others above the loop stay.

use super::{Edit, Refusal};
use crate::specialize::source::Source;
use syntax::Span;
use syntax::c_family::ast::{Attribute, Stmt};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pragma {
    Pipeline,
    Unroll,
    /// The pragma of an `if`.
    IfConvert,
}

impl Pragma {
    const fn attribute(self) -> &'static str {
        match self {
            Pragma::Pipeline => "pipeline",
            Pragma::Unroll => "unroll",
            Pragma::IfConvert => "if_convert",
        }
    }
}

/// The line above a loop that asks for this.
#[must_use]
pub fn pragma_of(statement: &Stmt, pragma: Pragma) -> Option<&Attribute> {
    let mut attributes = statement.attributes.iter();
    attributes.find(|attribute| attribute.name == pragma.attribute())
}

/// A line with this text above a loop, in the place of that which is there.
///
/// # Errors
/// The loop, or the line that is there, comes out of a macro.
pub fn with_pragma(
    source: &Source<'_>,
    statement: &Stmt,
    pragma: Pragma,
    line: &str,
) -> Result<Edit, Refusal> {
    match pragma_of(statement, pragma) {
        Some(known) => Ok((own_line(source, known)?.0, line.to_owned())),
        None => with_lines(source, statement, &[line.to_owned()]),
    }
}

/// Lines above a loop, below those that are there.
///
/// # Errors
/// The loop comes out of a macro.
pub fn with_lines(
    source: &Source<'_>,
    statement: &Stmt,
    lines: &[String],
) -> Result<Edit, Refusal> {
    let at = statement.span.start;
    if source.in_macro(Span::new(at, at + 1)) {
        return Err(Refusal::Macro);
    }
    let at = (at + source.start) as usize;
    let before = source.text.get(..at).unwrap_or("");
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let lead = &before[start..];
    let indent: String = lead.chars().take_while(|c| c.is_whitespace()).collect();
    let end = if source.text.contains("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    if before[..start]
        .trim_end_matches(['\r', '\n'])
        .ends_with('\\')
    {
        return Err(Refusal::Macro);
    }
    let lines: String = lines
        .iter()
        .map(|line| format!("{indent}{line}{end}"))
        .collect();
    Ok(if lead.trim().is_empty() {
        (Span::at(start as u32), lines)
    } else {
        // The loop follows something on its line.
        let kept = before.trim_end_matches([' ', '\t']).len();
        let span = Span::new(kept as u32, at as u32);
        (span, format!("{end}{lines}{indent}  "))
    })
}

/// The line above a loop taken out.
///
/// # Errors
/// It comes out of a macro.
pub fn without_pragma(source: &Source<'_>, known: &Attribute) -> Result<Edit, Refusal> {
    Ok((own_line(source, known)?.1, String::new()))
}

/// Returns where a directive stands: itself, and with its whole line.
fn own_line(source: &Source<'_>, known: &Attribute) -> Result<(Span, Span), Refusal> {
    let at = (known.span.start + source.start) as usize;
    let start = source
        .text
        .get(..at)
        .and_then(|b| b.rfind('\n'))
        .map_or(0, |end| end + 1);
    let rest = source.text.get(start..).unwrap_or("");
    let length = rest.find('\n').map_or(rest.len(), |end| end + 1);
    let line = &rest[..length];
    let directive = line.trim();
    if !directive.starts_with('#') || directive.ends_with('\\') {
        return Err(Refusal::Macro);
    }
    let lead = line.len() - line.trim_start().len();
    let own = start + lead;
    Ok((
        Span::new(own as u32, (own + directive.len()) as u32),
        Span::new(start as u32, (start + length) as u32),
    ))
}
