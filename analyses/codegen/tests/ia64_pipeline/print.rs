//! A machine function as text, with a register of its own for every virtual one: one operation a group, scheduled blocks as
//! they are scheduled.

use isa::ia64::{File, Reg};
use lockstep_codegen::target::ia64::bundle::block::Type;
use lockstep_codegen::target::ia64::bundle::cost::Edge;
use lockstep_codegen::target::ia64::bundle::place::place;
use lockstep_codegen::target::ia64::bundle::template::Shape;
use lockstep_codegen::target::ia64::code::{Function, Operation, Virtual};
use lockstep_codegen::target::ia64::describe::describe;
use lockstep_codegen::target::ia64::operation::text;
use std::collections::BTreeMap;
use std::fmt::Write;

/// `None`: there are too few registers.
pub(crate) fn print(function: &Function) -> Option<String> {
    let rotates = function.frame.rotating.predicate > 0;
    let rotating = function.frame.rotating.general;
    let mut used: Vec<Virtual> = function.parameters.clone();
    for block in &function.blocks {
        for operation in &block.operations {
            used.extend(operation.virtual_registers());
        }
    }
    used.sort_unstable();
    used.dedup();
    // r2 has the function state, r3 the predicates.
    let stacked = 32 + rotating.max(8) as u8;
    let end = (stacked + 50).min(128);
    let mut general = (14..32).chain(stacked..end).map(Reg::general);
    let mut float = (6..16)
        .chain(32..if rotates { 32 } else { 120 })
        .map(Reg::float);
    let mut predicate = (1..16)
        .chain(16..if rotates { 16 } else { 64 })
        .map(Reg::predicate);
    let mut places: BTreeMap<Virtual, Reg> = BTreeMap::new();
    for each in used {
        let reg = function.place(each).or_else(|| match function.file(each) {
            File::General => general.next(),
            File::Float => float.next(),
            _ => predicate.next(),
        });
        places.insert(each, reg?);
    }
    let locals = end - 32 - 8;
    let mut out = String::from("\t.text\n\t.global f#\n\t.proc f#\nf:\n");
    let _ = writeln!(out, "\talloc r2 = ar.pfs, 8, {locals}, 0, {rotating} ;;");
    out.push_str("\tmov r3 = pr ;;\n");
    for (slot, each) in function.parameters.iter().enumerate() {
        let _ = writeln!(out, "\tmov {} = r{} ;;", places[each], 32 + slot);
    }
    let register = |register: Virtual| places[&register];
    let label = |block: u32| format!(".b{block}");
    for (number, block) in function.blocks.iter().enumerate() {
        let _ = writeln!(out, ".b{number}:");
        if block.cycles.is_empty() {
            for operation in &block.operations {
                if operation.branch() == Some(isa::ia64::Branch::Return) {
                    out.push_str("\tmov pr = r3, -1 ;;\n");
                }
                let _ = writeln!(out, "\t{} ;;", text(operation, &register, &label));
            }
            continue;
        }
        let mut row: Vec<&Operation> = Vec::new();
        for (at, operation) in block.operations.iter().enumerate() {
            row.push(operation);
            if block.cycles.get(at + 1) != Some(&block.cycles[at]) {
                let _ = writeln!(out, "\t// {}", block.cycles[at]);
                bundles(function, &row, &|it| text(it, &register, &label), &mut out);
                row.clear();
            }
        }
    }
    out.push_str("\t.endp f#\n");
    Some(out)
}

/// The operations in bundles, in their order.
fn bundles(
    function: &Function,
    row: &[&Operation],
    text: &dyn Fn(&Operation) -> String,
    out: &mut String,
) {
    let types: Vec<Type> = row
        .iter()
        .map(|it| describe(function, it).inst.unit.unwrap_or(Type::I))
        .collect();
    let count = types.len() as u32;
    let before: Vec<(u32, u32)> = (1..count)
        .flat_map(|to| (0..to).map(move |from| (from, to)))
        .collect();
    let parts = (1..=count)
        .find_map(|bundles| place(&types, &before, Edge::Whole, Edge::Whole, 3 * bundles))
        .expect("a place");
    let last = parts.len();
    for (number, part) in parts.iter().enumerate() {
        let shape = match part.shape {
            Shape::Mii => "mii",
            Shape::Mlx => "mlx",
            Shape::Mmi => "mmi",
            Shape::Mfi => "mfi",
            Shape::Mmf => "mmf",
            Shape::Mib => "mib",
            Shape::Mbb => "mbb",
            Shape::Bbb => "bbb",
            Shape::Mmb => "mmb",
            Shape::Mfb => "mfb",
        };
        let _ = writeln!(out, "{{ .{shape}");
        for (slot, letter) in shape.chars().enumerate() {
            match part.slots.get(slot).copied().flatten() {
                Some(found) => {
                    let _ = writeln!(out, "\t{}", text(row[found as usize]));
                }
                None if letter == 'x' => {}
                None if letter == 'l' => {
                    let _ = writeln!(out, "\tnop.x 0");
                }
                None => {
                    let _ = writeln!(out, "\tnop.{letter} 0");
                }
            }
        }
        out.push_str(if number + 1 == last {
            "\t;;\n}\n"
        } else {
            "}\n"
        });
    }
}
