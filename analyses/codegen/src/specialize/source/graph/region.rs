//! The text of which a graph is made.

use super::super::effects::inner_statements;
use super::super::pressure::scene::{Scene, holds, is_loop};
use syntax::Span;
use syntax::c_family::ast::*;

/// The body of a function, or of a loop.
#[derive(Clone, PartialEq, Debug)]
pub(in super::super) struct Region {
    pub(in super::super) block: Block,
    pub(in super::super) braced: bool,
    /// The loop around it.
    pub(in super::super) around: Option<Span>,
    /// True if that loop tests its condition behind its body.
    pub(in super::super) tested_last: bool,
}

/// The body of the innermost loop that holds a place, or that of the function; a loop whose statement is the place holds itself not.
pub(in super::super) fn region(scene: &Scene<'_>, place: Span) -> Option<Region> {
    let mut region = Region {
        block: scene.body.clone(),
        braced: true,
        around: None,
        tested_last: false,
    };
    let mut inside: Vec<&Stmt> = scene.body.statements.iter().collect();
    loop {
        let next = inside.iter().find(|stmt| holds(stmt.span, place));
        let Some(next) = next.filter(|stmt| stmt.span != place) else {
            return Some(region);
        };
        let body = match &next.kind {
            StmtKind::For { body, .. }
            | StmtKind::RangeFor { body, .. }
            | StmtKind::While { body, .. }
            | StmtKind::DoWhile { body, .. } => Some(body),
            _ => None,
        };
        // The head of a loop belongs to what is around it.
        if let Some(body) = body.filter(|body| is_loop(next) && holds(body.span, place)) {
            region.around = Some(next.span);
            region.tested_last = matches!(next.kind, StmtKind::DoWhile { .. });
            region.braced = matches!(body.kind, StmtKind::Block(_));
            region.block = match &body.kind {
                StmtKind::Block(block) => block.clone(),
                _ => Block {
                    statements: vec![(**body).clone()],
                    span: body.span,
                },
            };
        }
        inside = inner_statements(next);
    }
}
