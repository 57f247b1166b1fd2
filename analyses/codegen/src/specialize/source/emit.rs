//! The edits that turn statements into their fast form.

use super::Source;
use super::effects::inner_statements;
use super::flow::{Edit, Node, NodeKind};
use syntax::Span;
use syntax::c_family::ast::*;

/// A statement with its attributes.
pub(super) fn full_span(stmt: &Stmt) -> Span {
    stmt.attributes
        .iter()
        .fold(stmt.span, |span, attribute| span.to(attribute.span))
}

/// The edits that turn a statement into its fast form.
pub(super) fn emit(source: &Source<'_>, node: &Node<'_>, floor: u32, edits: &mut Vec<Edit>) {
    if node.dead {
        edits.push((source.removal(full_span(node.stmt), floor), String::new()));
        return;
    }
    match &node.kind {
        NodeKind::Simple(simple) if simple.drop_initializer => {
            if let Some(span) = simple.initializer {
                edits.push((span, String::new()));
            }
            return;
        }
        NodeKind::Block(nodes) => sequence(source, nodes, node.stmt.span.start + 1, edits),
        NodeKind::If {
            known: Some(taken),
            then,
            otherwise,
            ..
        } => {
            let chosen = if *taken {
                Some(&**then)
            } else {
                otherwise.as_deref()
            };
            if let Some(chosen) = chosen {
                let mut inner = Vec::new();
                emit(source, chosen, chosen.stmt.span.start, &mut inner);
                let text = source
                    .unwrapped(chosen.stmt, &inner, full_span(node.stmt))
                    .unwrap_or_default();
                edits.push((full_span(node.stmt), text));
            }
            return;
        }
        NodeKind::If {
            then, otherwise, ..
        } => {
            branch(source, then, edits);
            if let Some(found) = otherwise {
                if found.dead {
                    edits.push((
                        Span::new(then.stmt.span.end, found.stmt.span.end),
                        String::new(),
                    ));
                } else {
                    branch(source, found, edits);
                }
            }
        }
        NodeKind::Loop(node) => {
            if let Some(first) = &node.initializer {
                edits.extend(first.edits.iter().cloned());
            }
            branch(source, &node.body, edits);
        }
        _ => {}
    }
    edits.extend(node.edits.iter().cloned());
}

/// Statements of one block.
pub(super) fn sequence(source: &Source<'_>, nodes: &[Node<'_>], start: u32, edits: &mut Vec<Edit>) {
    let mut floor = start;
    for node in nodes {
        emit(source, node, floor, edits);
        floor = node.stmt.span.end;
    }
}

/// A statement that must stand where it stands, as one.
fn branch(source: &Source<'_>, node: &Node<'_>, edits: &mut Vec<Edit>) {
    if node.dead {
        edits.push((node.stmt.span, "{}".to_owned()));
        return;
    }
    // `else if (known) { a; b; }`: the braces make one statement of several.
    if let NodeKind::If {
        known: Some(taken),
        then,
        otherwise,
        ..
    } = &node.kind
    {
        let chosen = match taken {
            true => Some(&**then),
            false => otherwise.as_deref(),
        };
        let text = chosen.and_then(|chosen| {
            let mut inner = Vec::new();
            branch(source, chosen, &mut inner);
            source.edited(chosen.stmt.span, &inner)
        });
        edits.push((
            full_span(node.stmt),
            text.unwrap_or_else(|| "{}".to_owned()),
        ));
        return;
    }
    emit(source, node, node.stmt.span.start, edits);
}

/// Every statement below one, itself first.
pub(super) fn all_statements<'s>(stmt: &'s Stmt, out: &mut Vec<&'s Stmt>, depth: u32) {
    if depth > 256 {
        return;
    }
    out.push(stmt);
    for inner in inner_statements(stmt) {
        all_statements(inner, out, depth + 1);
    }
}
