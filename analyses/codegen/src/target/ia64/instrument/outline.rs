//! The labels of a file: those that something else than a branch of their function may lead to.
//!
//! ```text
//! data8 .L3      the address of .L3 is taken: control may come there in ways that are not seen
//! ```

use super::refusal::Refusal;
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use std::ops::Range;
use syntax::ia64::{Argument, Document, Expr, OperandKind, StatementKind};

/// The labels of a file and their uses.
#[derive(Default)]
pub(super) struct Outline {
    /// Names that something else than a branch mentions: data, and constants that instructions load.
    mentioned: FxHashSet<SmolStr>,
    /// Names for other files.
    global: FxHashSet<SmolStr>,
    /// The first and the last statement that branches to each name.
    jumps: FxHashMap<SmolStr, (usize, usize)>,
}

impl Outline {
    pub(super) fn new(document: &Document) -> Outline {
        let mut out = Outline::default();
        let mut names = Vec::new();
        for (index, statement) in document.statements.iter().enumerate() {
            names.clear();
            match &statement.kind {
                StatementKind::Directive(directive) => {
                    for argument in &directive.arguments {
                        if let Argument::Expr(value) = argument {
                            names_of(value, &mut names);
                        }
                    }
                    match &*directive.name {
                        ".global" | ".globl" | ".weak" => out.global.extend(names.drain(..)),
                        name if !name.starts_with('.') || is_data(name) => {
                            out.mentioned.extend(names.drain(..));
                        }
                        _ => {}
                    }
                }
                StatementKind::Instruction(written) => {
                    for operand in &written.sources {
                        if let OperandKind::Value(value) = &operand.kind {
                            names_of(value, &mut names);
                        }
                    }
                    match written.base() {
                        "brp" => {}
                        "br" | "brl" | "chk" => {
                            for name in names.drain(..) {
                                let range = out.jumps.entry(name).or_insert((index, index));
                                range.1 = index;
                            }
                        }
                        _ => out.mentioned.extend(names.drain(..)),
                    }
                }
                _ => {}
            }
        }
        out
    }

    /// # Errors
    /// A function is entered elsewhere than at its start, or may be.
    pub(super) fn entered(
        &self,
        document: &Document,
        name: &SmolStr,
        statements: &Range<usize>,
    ) -> Result<(), Refusal> {
        let own = &document.statements[statements.clone()];
        // Where such branches go is told beside them.
        let indirect = own.iter().any(|statement| match &statement.kind {
            StatementKind::Instruction(written) => {
                matches!(written.base(), "br" | "brl")
                    && !written.has("ret")
                    && !written.has("call")
                    && matches!(written.sources.last().map(|operand| &operand.kind), Some(OperandKind::Value(Expr::Name(name))) if name.len() == 2 && name.starts_with('b'))
            }
            _ => false,
        });
        for statement in own {
            let StatementKind::Label(label) = &statement.kind else {
                continue;
            };
            if label == name {
                continue;
            }
            let jumps = self.jumps.get(label);
            let elsewhere = jumps.is_some_and(|(first, last)| {
                !statements.contains(first) || !statements.contains(last)
            });
            let label = label.clone();
            if elsewhere || self.global.contains(&label) {
                return Err(Refusal::Entered { label });
            }
            if !indirect && self.mentioned.contains(&label) {
                return Err(Refusal::AddressTaken { label });
            }
        }
        Ok(())
    }
}

pub(super) fn is_data(name: &str) -> bool {
    matches!(
        name,
        ".byte" | ".short" | ".hword" | ".2byte" | ".long" | ".int" | ".4byte" | ".quad" | ".8byte"
    )
}

fn names_of(value: &Expr, out: &mut Vec<SmolStr>) {
    match value {
        Expr::Name(name) => out.push(name.trim_end_matches('#').into()),
        Expr::Function {
            argument: Some(inner),
            ..
        } => names_of(inner, out),
        Expr::Unary { of, .. } => names_of(of, out),
        Expr::Binary { left, right, .. } => {
            names_of(left, out);
            names_of(right, out);
        }
        _ => {}
    }
}
