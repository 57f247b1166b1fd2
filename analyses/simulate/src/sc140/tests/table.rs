//! The decoder and the table of opcodes name the same instructions and units, though neither knows the other.

use super::super::decode::{Unreadable, decode};
use super::super::op::Op;
use isa::sc140::opcodes::ROWS;
use isa::sc140::{Row, Unit};
use syntax::sc140::StatementKind;

/// The operation of a line, if its name is known; `None` within it: no form has these operands.
fn decoded(line: &str) -> Option<Option<Op>> {
    let document = syntax::sc140::parse(line);
    let StatementKind::Set(set) = &document.statements[0].kind else {
        panic!("{line}");
    };
    match decode(&set.instructions[0], &|_| Some(0x1_0000)) {
        Ok(decoded) => Some(Some(decoded.op)),
        Err(Unreadable::Mnemonic(_)) => None,
        Err(_) => Some(None),
    }
}

fn unit(op: &Op) -> Option<Unit> {
    Some(match op {
        Op::Data(_) => Unit::Data,
        Op::Address(_) | Op::CopyIf(..) | Op::Move(_) | Op::Push { .. } | Op::Pop { .. } => {
            Unit::Address
        }
        Op::Mask(_) => Unit::Mask,
        Op::Jump(_) | Op::Return { .. } => Unit::Flow,
        Op::Loop(_) => Unit::Loop,
        Op::Mark(_) | Op::Nop | Op::Stop(_) => Unit::Program,
        Op::Unknown(_) => return None,
    })
}

/// Operands for each form that the table writes.
fn example(form: &str) -> String {
    let operand = |name: &str| -> String {
        match name {
            "Da" | "Dc" | "Dg" => "d0",
            "Db" => "d1",
            "Dd" => "d1",
            "Dh" | "Dn" => "d4",
            "[-]Da" => "-d0",
            "rx" => "r1",
            "Rx" | "Rn" => "r2",
            "X.l" => "d3.l",
            "Da:Db" => "d0:d1",
            "Da:Db:Dc:Dd" => "d0:d1:d2:d3",
            "memory" => "(r0)+",
            "register" => "d2",
            "label" => "L1",
            "#width" | "#offset" => "#4",
            "#u5" => "#5",
            "#u16" | "#mask" | "#count" => "#60",
            "#s16" => "#-300",
            other => panic!("{other}"),
        }
        .to_owned()
    };
    let parts: Vec<String> = form.split(',').map(operand).collect();
    parts.join(",")
}

#[test]
fn every_row_decodes_in_all_its_forms_to_its_unit() {
    for row in ROWS {
        let name = match row.name {
            "dosetup" | "doen" | "doensh" => format!("{}3", row.name),
            name => name.to_owned(),
        };
        let mut lines = Vec::new();
        for form in row.operands.split("; ") {
            match form {
                "" => lines.push(format!(" {name}")),
                // Sources and targets of moves are registers of all kinds, or memory.
                "source,target" => {
                    let group = match row.name.as_bytes()[row.name.len() - 2] {
                        b'2' => "d0:d1",
                        b'4' => "d0:d1:d2:d3",
                        _ => "d0",
                    };
                    lines.push(format!(" {name} (r0)+,{group}"));
                    if !row.name.starts_with("moveu") {
                        lines.push(format!(" {name} {group},(r0)+"));
                    }
                }
                _ => lines.push(format!(" {name} {}", example(form))),
            }
        }
        for line in lines {
            let op = decoded(&line).unwrap_or_else(|| panic!("{line} is not known"));
            let op = op.unwrap_or_else(|| panic!("{line} has no form"));
            let on_half = line.contains(".l") && matches!(row.name, "and" | "or" | "eor" | "not");
            let expected = if on_half { Unit::Mask } else { row.unit };
            assert_eq!(unit(&op), Some(expected), "{line}");
        }
        let delayed = format!(" {name}d");
        let known = decoded(&delayed).is_some() && Row::of(delayed.trim()).is_some_and(|row| row.1);
        assert_eq!(known, row.has_delayed_form(), "{delayed}");
    }
}

#[test]
fn names_that_the_decoder_knows_are_in_the_table() {
    // Names of the letters that a mnemonic can be made of, by changing one that is known.
    let letters = "abcdefghijklmnopqrstuvwxyz0123456789.";
    let mut known = 0;
    for row in ROWS {
        let mut names = vec![row.name.to_owned(), format!("{}d", row.name)];
        for letter in letters.chars() {
            names.push(format!("{}{letter}", row.name));
            names.push(format!("{letter}{}", row.name));
            for at in 0..row.name.len() {
                let mut name = row.name.to_owned();
                name.replace_range(at..=at, &letter.to_string());
                names.push(name);
            }
        }
        for suffix in [".b", ".w", ".l", ".f", ".2f", ".4f", ".2w", ".4w", ".2l"] {
            names.push(format!("{}{suffix}", row.name));
        }
        for name in names {
            let begins = name.starts_with(|letter: char| letter.is_ascii_alphabetic());
            let is_instruction = begins
                && syntax::sc140::parse(&format!(" {name} d0"))
                    .statements
                    .iter()
                    .any(|statement| matches!(statement.kind, StatementKind::Set(_)));
            if is_instruction && decoded(&format!(" {name} d0")).is_some() {
                known += 1;
                assert!(Row::of(&name).is_some(), "`{name}` is not in the table");
            }
        }
    }
    assert!(known > ROWS.len());
}
