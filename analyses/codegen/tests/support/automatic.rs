//! Assembly as GNU `as` packs it by itself.

use isa::ia64::Class;
use lockstep_codegen::target::ia64::listing::listing;
use syntax::ia64::StatementKind;

/// Returns the text without bundles and nops, which the assembler packs by itself.
pub(crate) fn automatic(text: &str) -> String {
    let document = syntax::ia64::parse(text);
    let listing = listing(&document, text);
    let mut out = text.to_owned();
    let blank = |out: &mut String, span: syntax::Span| {
        let range = span.start as usize..span.end as usize;
        let blanks = " ".repeat(range.len());
        out.replace_range(range, &blanks);
    };
    for statement in &document.statements {
        if matches!(
            statement.kind,
            StatementKind::Open | StatementKind::Close | StatementKind::Template(_)
        ) {
            blank(&mut out, statement.span);
        }
    }
    for item in &listing.items {
        if item.inst.class == Class::Nop {
            blank(&mut out, document.statements[item.statement as usize].span);
        }
    }
    out
}
