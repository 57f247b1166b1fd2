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
        listed.chunk_by(|one, other| one.address == other.address && one.slot < other.slot)
    {
        // Padding in front of an aligned function.
        if bundle.iter().all(Listed::is_nop) {
            continue;
        }
        while let Some(one) =
            statements.next_if(|one| !matches!(one.kind, StatementKind::Instruction(_)))
        {
            if one.kind != StatementKind::Stop {
                out.push_str(own(one.span));
                out.push('\n');
            }
        }
        out.push_str(&format!("\t{{ .{}\n", bundle[0].template.to_lowercase()));
        for slot in bundle {
            let next = match slot.is_nop() {
                true => None,
                false => statements.find(|one| matches!(one.kind, StatementKind::Instruction(_))),
            };
            let stop = if slot.stop { " ;;" } else { "" };
            let line = next.map_or(slot.text.as_str(), |one| own(one.span));
            out.push_str(&format!("\t{line}{stop}\n"));
        }
        out.push_str("\t}\n");
    }
    for one in statements.filter(|one| one.kind != StatementKind::Stop) {
        out.push_str(own(one.span));
        out.push('\n');
    }
    out
}
