//! The text of a version: declarations, the check, both paths.

use super::emit::{self, full_span};
use super::flow::{self, Edit};
use super::layout::{indented, tidied};
use super::names::VarId;
use super::region::{Around, Candidate, Chosen, Version};
use super::{MARK, Refusal, Rejection, Settings};
use ir::Language;
use smol_str::SmolStr;
use syntax::Span;
use syntax::c_family::ast::*;

impl Around<'_> {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn write(
        &self,
        candidate: &Candidate,
        chosen: &Chosen<'_>,
        region: &[Stmt],
        whole: Span,
        before: u32,
        test: &str,
        settings: Settings,
        lines: u32,
    ) -> Result<Version, Refusal> {
        let source = self.source;
        if !source.begins_line(whole.start) {
            return Err(Refusal::SharedLine);
        }
        let end = source.ends_line(whole.end).ok_or(Refusal::SharedLine)?;
        let start = source.comment_above(source.line(whole.start).start, before);
        let span = Span::new(start, end);
        let indent = source.indentation(whole.start);
        let newline = source.end_of_line();
        let unit = source.unit(self.function);
        let mut declared = Vec::new();
        let mut both: Vec<Edit> = Vec::new();
        let mut moved: Vec<Edit> = Vec::new();
        for stmt in region {
            self.declare(stmt, whole, lines, &mut declared, &mut both, &mut moved)?;
        }
        let mut fast: Vec<Edit> = both.clone();
        let mut floor = before;
        for node in &chosen.nodes[chosen.first..] {
            // Nothing is left of a declaration whose type moved and whose value is not needed.
            let hollow = matches!(&node.kind, flow::NodeKind::Simple(simple) if simple.drop_initializer)
                && both
                    .iter()
                    .any(|(span, _)| span.start == node.stmt.span.start);
            let gone = hollow || moved.iter().any(|(span, _)| *span == node.stmt.span);
            if gone {
                fast.push((
                    source.removal(full_span(node.stmt), floor.max(start)),
                    String::new(),
                ));
            } else {
                emit::emit(source, node, floor.max(start), &mut fast);
            }
            floor = node.stmt.span.end;
        }
        // A declaration that is removed needs no shorter head, and one whose type moved needs no other edit
        // at the same place.
        let removed: Vec<Span> = fast
            .iter()
            .filter(|(_, text)| text.is_empty())
            .map(|(span, _)| *span)
            .collect();
        fast.retain(|(span, _)| {
            !removed
                .iter()
                .any(|other| other != span && other.start <= span.start && span.end <= other.end)
        });
        fast.sort_by_key(|(span, _)| *span);
        fast.dedup();
        let cut: Vec<Edit> = fast
            .iter()
            .map(|(place, text)| (Span::new(place.start, place.end.min(end)), text.clone()))
            .collect();
        let broken = || Refusal::Check(Rejection::Overlap);
        let fast_text = tidied(&source.edited(span, &cut).ok_or_else(broken)?);
        let mut slow = both;
        slow.extend(moved);
        let slow_text = source.edited(span, &slow).ok_or_else(broken)?;
        let vote = match source.language {
            _ if settings.uniform || settings.each_lane => format!("({test})"),
            Language::Hlsl => format!("WaveActiveAllTrue({test})"),
            _ if settings.whole_warps => format!("__all_sync(0xffffffff, {test})"),
            _ => format!("__all_sync(__activemask(), {test})"),
        };
        let apart = source.braces_apart(self.function);
        let open = if apart {
            format!("{newline}{indent}{{{newline}")
        } else {
            format!(" {{{newline}")
        };
        let mut out = format!("{indent}// {MARK}{}{newline}", candidate.name);
        for line in &declared {
            out.push_str(&format!("{indent}{line}{newline}"));
        }
        let ended = |text: &str| {
            let text = indented(text, &unit);
            let text = text.trim_end_matches(['\n', '\r']).to_owned();
            format!("{text}{newline}")
        };
        let empty = tokenless(&fast_text);
        let plain = settings.uniform || settings.each_lane;
        // `x != 0` of a plain test of one number.
        let compared = candidate.name.contains(['&', '|', '=', '<', '>', '!', '?']);
        let otherwise =
            plain && !compared && test.matches("==").count() == 1 && !test.contains("all(");
        let vote = match empty && otherwise {
            true => vote.replace("==", "!="),
            false => vote,
        };
        if empty && otherwise {
            out.push_str(&format!("{indent}if {vote}{open}"));
        } else if empty {
            out.push_str(&format!("{indent}if (!{vote}){open}"));
        } else {
            let condition = match plain {
                true => vote.clone(),
                false => format!("({vote})"),
            };
            out.push_str(&format!("{indent}if {condition}{open}"));
            out.push_str(&ended(&fast_text));
            let close = if apart {
                format!("{indent}}}{newline}{indent}else{newline}{indent}{{{newline}")
            } else {
                format!("{indent}}} else {{{newline}")
            };
            out.push_str(&close);
        }
        out.push_str(&ended(&slow_text));
        out.push_str(&format!("{indent}}}"));
        Ok(Version {
            name: candidate.name.clone(),
            edit: (span.shifted(source.start), out),
            test: vote,
            lines,
            fast_lines: if empty {
                0
            } else {
                fast_text
                    .lines()
                    .filter(|line| !line.trim().is_empty())
                    .count() as u32
            },
            work: chosen.work,
            fast_work: chosen.fast_work,
            absorbs: false,
            region: whole.shifted(source.start),
            definition: candidate.definition,
        })
    }

    /// Declares the variables of a statement that are read after the region in front of the region.
    fn declare(
        &self,
        stmt: &Stmt,
        whole: Span,
        lines: u32,
        declared: &mut Vec<String>,
        both: &mut Vec<Edit>,
        moved: &mut Vec<Edit>,
    ) -> Result<(), Refusal> {
        let source = self.source;
        let later = |id: VarId| {
            self.names
                .places
                .iter()
                .any(|(span, other)| *other == id && span.start >= whole.end)
        };
        let refuse = |name: &SmolStr, why: &'static str| {
            Err(Refusal::Declaration {
                name: name.clone(),
                why,
                lines,
            })
        };
        let StmtKind::Declaration(declaration) = &stmt.kind else {
            if matches!(
                stmt.kind,
                StmtKind::Struct(_)
                    | StmtKind::Enum(_)
                    | StmtKind::Alias(_)
                    | StmtKind::UsingNamespace(_)
            ) {
                return refuse(&SmolStr::new_static("a local type"), "it is a type");
            }
            return Ok(());
        };
        let mut idents: Vec<&Ident> = Vec::new();
        let mut needed = None;
        for declarator in &declaration.declarators {
            match &declarator.name {
                DeclaratorName::Plain(ident) => {
                    idents.push(ident);
                    if self.names.declared_at(ident).is_none_or(later) {
                        needed = Some(declarator);
                    }
                }
                _ => return refuse(&SmolStr::new_static("a binding"), "it has several names"),
            }
            // Of a constant there may be two.
            let words = declaration.specifiers.words;
            let own = words.has(SpecifierSet::STATIC)
                && (needed.is_some() || !words.has(SpecifierSet::CONST));
            if own || words.has(SpecifierSet::SHARED) {
                return refuse(
                    &idents.last().map(|i| i.name.clone()).unwrap_or_default(),
                    "it is static or shared",
                );
            }
        }
        let Some(found) = needed else {
            return Ok(());
        };
        let name = match &found.name {
            DeclaratorName::Plain(ident) => &ident.name,
            _ => return Ok(()),
        };
        let words = declaration.specifiers.words;
        for declarator in &declaration.declarators {
            if matches!(declarator.ty.kind, TypeKind::Auto | TypeKind::Decltype(_)) {
                return refuse(name, "its type is not written");
            }
            if matches!(declarator.ty.kind, TypeKind::Reference { .. }) {
                return refuse(name, "it is a reference");
            }
            if !source.plain(&declarator.ty) {
                return refuse(name, "its type may have a constructor");
            }
        }
        let first = idents[0];
        let bare = declaration
            .declarators
            .iter()
            .all(|declarator| matches!(declarator.initializer, Initializer::None));
        let text = source.slice(stmt.span);
        if bare {
            // Moves as a whole; a comment keeps its place.
            if text.contains('\n') || !source.begins_line(stmt.span.start) {
                return refuse(name, "its declaration has several lines");
            }
            if source.ends_line(stmt.span.end).is_none() {
                return refuse(name, "others stand on the line of its declaration");
            }
            declared.push(text.to_owned());
            moved.push((stmt.span, format!("// {text} (above)")));
            return Ok(());
        }
        let copied = declaration.declarators.iter().all(|declarator| {
            matches!(&declarator.initializer, Initializer::Copy(e) if !matches!(e.kind, ExprKind::List(_)))
                && !matches!(declarator.ty.kind, TypeKind::Array { .. })
        });
        if !copied {
            return refuse(name, "it is initialised by a list");
        }
        if words.has(SpecifierSet::CONSTEXPR) {
            return refuse(name, "it is a constant expression");
        }
        if source.in_macro(first.span) || !stmt.attributes.is_empty() {
            return refuse(name, "its declaration comes out of a macro");
        }
        let several = declaration.declarators.len() > 1;
        if several
            && declaration
                .declarators
                .iter()
                .any(|declarator| matches!(declarator.ty.kind, TypeKind::Pointer(_)))
        {
            return refuse(name, "it is declared with other pointers");
        }
        let prefix_span = Span::new(stmt.span.start, first.span.start);
        let prefix = source.slice(prefix_span);
        if prefix.contains('\n') || prefix.contains("//") || prefix.contains("/*") {
            return refuse(name, "its type has several lines");
        }
        let plain = without_const(prefix);
        let list: Vec<&str> = idents.iter().map(|ident| ident.name.as_str()).collect();
        let list = list.join(", ");
        declared.push(if plain == prefix {
            format!("{prefix}{list};")
        } else {
            format!("{plain}{list}; // {prefix}{list}")
        });
        both.push((prefix_span, String::new()));
        Ok(())
    }
}

/// A declaration's type without the word `const`, the rest as written.
fn without_const(prefix: &str) -> String {
    let mut out = String::new();
    let mut rest = prefix;
    while let Some(at) = rest.find("const") {
        let before = rest[..at].chars().next_back();
        let after = rest[at + 5..].chars().next();
        let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        out.push_str(&rest[..at]);
        if word(before) || word(after) {
            out.push_str("const");
            rest = &rest[at + 5..];
        } else {
            rest = rest[at + 5..].trim_start();
        }
    }
    out.push_str(rest);
    out
}

/// Returns whether a text has nothing but comments and blanks.
fn tokenless(text: &str) -> bool {
    syntax::c_family::lexer::lex_fragment(text)
        .iter()
        .all(|token| token.kind == syntax::c_family::token::TokenKind::Eof)
}
