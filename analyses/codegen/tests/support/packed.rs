//! Assembly with the bundles that GNU `as` made of it.

use super::disassembler::Listed;
use syntax::ia64::StatementKind;

/// A text without bundles with those of its listing, which keeps the order.
pub(crate) fn as_packed(text: &str, listed: &[Listed]) -> String {
    let document = syntax::ia64::parse(text);
    let mut statements = document.statements.iter().peekable();
    let own = |span: syntax::Span| &text[span.start as usize..span.end as usize];
    let mut out = String::new();
    for bundle in
        listed.chunk_by(|left, right| left.address == right.address && left.slot < right.slot)
    {
        // Padding in front of an aligned function.
        if bundle.iter().all(Listed::is_nop) {
            continue;
        }
        while let Some(found) =
            statements.next_if(|statement| !matches!(statement.kind, StatementKind::Instruction(_)))
        {
            if found.kind != StatementKind::Stop {
                out.push_str(own(found.span));
                out.push('\n');
            }
        }
        out.push_str(&format!("\t{{ .{}\n", bundle[0].template.to_lowercase()));
        for slot in bundle {
            let next = match slot.is_nop() {
                true => None,
                false => statements
                    .find(|statement| matches!(statement.kind, StatementKind::Instruction(_))),
            };
            let stop = if slot.stop { " ;;" } else { "" };
            let line = next.map_or(slot.text.as_str(), |it| own(it.span));
            out.push_str(&format!("\t{line}{stop}\n"));
        }
        out.push_str("\t}\n");
    }
    for statement in statements.filter(|statement| statement.kind != StatementKind::Stop) {
        out.push_str(own(statement.span));
        out.push('\n');
    }
    out
}
