//! Assembly in execution sets: the effect of the instruction at a place, its unit, and its cycles.

use super::model::Hover;
use codegen::isa::sc140::{self as isa, Row, Unit, Words, prefix};
use codegen::machine::schema::SetKey;
use codegen::machine::sets::Sets;
use codegen::machine::{Table, tables};
use codegen::target::sc140::capacity::Capacity;
use codegen::target::sc140::listing::{Listing, Member};
use syntax::Span;
use syntax::sc140::{Condition, Document, Expr, Instruction, OperandKind};

/// Returns the description of the instruction whose text this offset lies in.
#[must_use]
pub fn hover(text: &str, offset: u32) -> Option<Hover> {
    let document = syntax::sc140::parse(text);
    let (whole, set) = document.sets().find(|(span, _)| span.contains(offset))?;
    let summary = summary(&document, whole);
    let found = set
        .conditional()
        .find(|(_, instruction)| instruction.span.contains(offset));
    let Some((condition, instruction)) = found else {
        // At a bracket.
        let letter = text.get(offset as usize..)?.chars().next()?;
        let markdown = summary.filter(|_| matches!(letter, '[' | ']'))?;
        return Some(Hover {
            span: whole,
            markdown,
        });
    };
    let span = instruction.span;
    let name = &instruction.mnemonic;
    let Some((row, delayed)) = Row::of(name) else {
        let markdown =
            format!("`{name}` is not known: nothing is said of it, and no run executes it.");
        return Some(Hover { span, markdown });
    };
    let on_half = matches!(row.name, "and" | "or" | "eor" | "not")
        && (name.ends_with(".w") || has_half(instruction));
    let unit = if on_half { Unit::Mask } else { row.unit };
    let mut markdown = format!("`{name}` · {}", unit_name(unit));
    if let Some((table, sets)) = processor() {
        let cycles = cycles(instruction, row, unit, sets);
        let plural = if cycles == "1" { "" } else { "s" };
        markdown += &format!(" · {cycles} cycle{plural} on {} (estimate)", table.name);
    }
    markdown += &format!("\n\n{}", row.result);
    let mut more = Vec::new();
    if delayed {
        more.push("the next set executes first");
    }
    match condition {
        Some(Condition::True) => more.push("only if T is set"),
        Some(Condition::False) => more.push("only if T is clear"),
        Some(Condition::Always) | None => {}
    }
    if !more.is_empty() {
        markdown += &format!("\n\n{}", more.join(" · "));
    }
    if !row.operands.is_empty() {
        let forms: Vec<String> = row
            .operands
            .split("; ")
            .map(|form| format!("`{} {form}`", row.name))
            .collect();
        markdown += &format!("\n\n{}", forms.join(", "));
    }
    if let Some(summary) = summary {
        markdown += &format!("\n\n{summary}");
    }
    Some(Hover { span, markdown })
}

/// The share that the set at a place takes of what a set holds.
fn summary(document: &Document, place: Span) -> Option<String> {
    let capacity = Capacity::of(processor()?.1);
    let listing = Listing::of(document);
    let set = listing.sets.iter().find(|set| set.span == place)?;
    let units: Vec<Unit> = set.members.iter().filter_map(Member::unit).collect();
    let data = units.iter().filter(|unit| **unit == Unit::Data).count();
    let own = set.instructions().map(isa::Instruction::words);
    let words = own.fold(
        prefix(set.instructions(), set.is_conditional(), false),
        Words::plus,
    );
    let counted = match words.least == words.most {
        true => words.most.to_string(),
        false => format!("{} to {}", words.least, words.most),
    };
    Some(format!(
        "set: {data} of {} data units · {} of {} address units · {counted} of {} words, prefix included",
        capacity.data,
        units.len() - data,
        capacity.address,
        capacity.words
    ))
}

/// The processor that such assembly is for.
fn processor() -> Option<(&'static Table, &'static Sets)> {
    tables()
        .iter()
        .find_map(|table| Some((&**table, table.sets()?)))
}

const fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Data => "data unit",
        Unit::Address => "address unit",
        Unit::Mask => "bit-mask unit, in the place of an address unit",
        Unit::Flow => "change of flow, in the place of an address unit",
        Unit::Loop => "loop control, in the place of an address unit",
        Unit::Program => "program control",
    }
}

fn has_half(instruction: &Instruction) -> bool {
    instruction
        .operands
        .iter()
        .any(|operand| match &operand.kind {
            OperandKind::Value {
                value: Expr::Name(name),
                ..
            } => {
                let name = name.to_ascii_lowercase();
                name.ends_with(".l") || name.ends_with(".h")
            }
            _ => false,
        })
}

/// Cycles of an instruction, two figures where they depend on T.
fn cycles(instruction: &Instruction, row: &Row, unit: Unit, sets: &Sets) -> String {
    let memory = instruction
        .operands
        .iter()
        .find_map(|operand| match &operand.kind {
            OperandKind::Memory(memory) => Some(memory),
            _ => None,
        });
    let either = |taken: SetKey| format!("{} or {}", sets.of(SetKey::FlowNotTaken), sets.of(taken));
    match (unit, row.name) {
        (Unit::Mask, _) if memory.is_some() => sets.of(SetKey::MaskMemory).to_string(),
        (Unit::Mask, _) => sets.of(SetKey::MaskRegister).to_string(),
        (Unit::Flow, "bt" | "bf" | "jt" | "jf") => either(SetKey::FlowTaken),
        (Unit::Flow, "bra" | "bsr") => sets.of(SetKey::FlowBranch).to_string(),
        (Unit::Flow, "rts" | "rtstk" | "rte") => sets.of(SetKey::FlowReturn).to_string(),
        (Unit::Flow, _) => sets.of(SetKey::FlowJump).to_string(),
        (Unit::Loop, "skipls" | "break" | "cont") => either(SetKey::FlowLoop),
        _ => match memory.map(|memory| &memory.address) {
            Some(Expr::Binary { .. }) => sets.of(SetKey::Precalculated).to_string(),
            _ => "1".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, word: &str) -> Hover {
        let offset = text.find(word).expect(word) as u32 + 1;
        hover(text, offset).expect("a hover")
    }

    #[test]
    fn an_instruction_says_what_it_does_its_unit_and_its_cycles() {
        let text = "_f\n [\n mac -d0,d1,d2 ; sum\n IFT bmset #1,d3.l\n ]\n bt L1\n jmpd L1\n and #1,d0.l\n frob d0\nL1\n rts\n";
        let mac = at(text, "mac");
        assert!(
            mac.markdown
                .starts_with("`mac` · data unit · 1 cycle on sc140 (estimate)\n\nDn plus"),
            "{}",
            mac.markdown
        );
        let span = mac.span.start as usize..mac.span.end as usize;
        assert_eq!(&text[span], "mac -d0,d1,d2");
        let mask = at(text, "bmset").markdown;
        assert!(
            mask.contains("bit-mask unit") && mask.contains("2 cycles"),
            "{mask}"
        );
        assert!(mask.contains("only if T is set"), "{mask}");
        assert!(at(text, "bt L1").markdown.contains("1 or 4 cycles"));
        assert!(
            at(text, "jmpd")
                .markdown
                .contains("the next set executes first")
        );
        assert!(at(text, "and #1").markdown.contains("bit-mask unit"));
        assert!(at(text, "frob").markdown.contains("not known"));
        assert!(
            mac.markdown.ends_with(
                "set: 1 of 4 data units · 1 of 2 address units · 4 of 8 words, prefix included"
            ),
            "{}",
            mac.markdown
        );
        let bracket = at(text, " [");
        assert!(
            bracket.markdown.starts_with("set: 1 of 4"),
            "{}",
            bracket.markdown
        );
        assert_eq!(hover(text, 0), None, "a label");
        assert_eq!(hover(text, text.find("sum").expect("it") as u32), None);
    }
}
