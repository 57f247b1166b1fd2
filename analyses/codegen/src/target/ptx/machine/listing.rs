//! A function as text again: its own statements stay where they are, operations are put between them.

use super::homes::{BYTES, COLUMNS, LANE_SLOTS, MADE, Slots, WARP_SLOTS};
use super::{Body, Operation};
use crate::allocate::rounds::Around;
use crate::mir::function::{FrameOffset, Operand};
use crate::mir::{Target, Virtual};
use crate::refusal::Refusal;
use isa::ptx::{Class, Mnemonic, Ptx, Register};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::LazyLock;
use syntax::ptx::{PtxFunction, StatementKind, StorageSpace};

/// The names of operations put around a body.
static PRINTED: LazyLock<FxHashMap<Mnemonic, &'static str>> = LazyLock::new(|| {
    let names = MADE.iter().copied();
    let parsed = names.filter_map(|name| Some((Mnemonic::parse(name)?, name)));
    parsed.collect()
});

/// A function, the operations put between its statements, and the names of its registers.
pub(super) struct Listing<'a> {
    pub(super) tree: &'a PtxFunction,
    pub(super) body: &'a Body,
    pub(super) text: &'a str,
    pub(super) around: &'a [Vec<Around<Ptx>>],
    pub(super) slots: &'a Slots<'a>,
    /// Operations of the first block in front of its own, in `around`.
    pub(super) skipped: u32,
    /// The operations at the start of the function.
    pub(super) prologue: &'a [Operation],
    /// The name of each virtual register.
    pub(super) names: Vec<SmolStr>,
    /// The directive in front of the function's body.
    pub(super) directive: Option<String>,
    /// Declarations of registers that the function has not.
    pub(super) declarations: String,
    /// Its own declarations of registers stay.
    pub(super) declares: bool,
    /// Text that is put behind statements.
    pub(super) notes: BTreeMap<u32, &'static str>,
}

impl Listing<'_> {
    fn name(&self, register: Virtual) -> &str {
        self.names
            .get(register.0 as usize)
            .map_or("", SmolStr::as_str)
    }

    fn line(&self, out: &mut String, operation: &Operation) {
        let name = PRINTED.get(&operation.mnemonic);
        let group = |texts: Vec<String>, braces: bool| match braces && texts.len() > 1 {
            true => vec![format!("{{{}}}", texts.join(", "))],
            false => texts,
        };
        // The halves of a value stand in braces.
        let halves = name.is_some_and(|name| name.starts_with("mov"));
        let mut operands = group(self.operands(&operation.targets), halves);
        operands.extend(group(self.operands(&operation.sources), halves));
        let copied = || self.slots.copies.name(operation.mnemonic);
        let name = name.copied().or_else(copied).unwrap_or_default();
        let guard = operation
            .predicate
            .map(|own| format!("@{} ", self.name(own)));
        let guard = guard.unwrap_or_default();
        let _ = write!(out, "{guard}{name} {};\n\t", operands.join(", "));
    }

    fn operands(&self, operands: &[Operand<Ptx>]) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        let mut base = None;
        for operand in operands {
            let text = match operand {
                Operand::Register(_) | Operand::Address(_) => {
                    let register = operand.virtual_register();
                    let name = register.map_or_else(String::new, |own| self.name(own).to_owned());
                    if matches!(operand, Operand::Address(_)) {
                        base = Some(name);
                        continue;
                    }
                    name
                }
                Operand::Number(number) => match base.take() {
                    Some(base) => format!("[{base}+{number}]"),
                    None => number.to_string(),
                },
                Operand::Symbol(name) if name == BYTES => self.slots.of_warp().to_string(),
                Operand::Symbol(name) => name.to_string(),
                Operand::Frame(FrameOffset::Spill(offset)) => format!("[{LANE_SLOTS}+{offset}]"),
                Operand::Frame(_) | Operand::Block(_) => String::new(),
            };
            out.push(text);
        }
        out
    }

    /// The function's own operations, the statements that they come from, and the operations around them.
    fn rows(&self) -> impl Iterator<Item = (u32, &Operation, &Around<Ptx>)> {
        let blocks = (0u32..).zip(self.around);
        blocks.flat_map(move |(number, rows)| {
            let skipped = if number == 0 { self.skipped } else { 0 };
            rows.iter().filter_map(move |row| {
                let own = row.operation.checked_sub(skipped)? as usize;
                let statement = self.body.statements[number as usize][own];
                let before = &self.body.function.blocks[number as usize].operations[own];
                Some((statement, before, row))
            })
        })
    }

    /// Returns the register that stands for another in a statement, by statement and register.
    fn stand_ins(&self) -> FxHashMap<(u32, Virtual), Virtual> {
        let mut out = FxHashMap::default();
        for (statement, before, row) in self.rows() {
            let pairs = before.virtual_registers().zip(row.now.virtual_registers());
            out.extend(pairs.map(|(old, now)| ((statement, old), now)));
        }
        out
    }

    /// Returns the text in front of the function's first statement.
    fn head(&self) -> String {
        let mut head = self.declarations.clone();
        let slots = self.slots;
        let bytes = slots.lane_bytes.next_multiple_of(16);
        if bytes > 0 {
            let _ = write!(head, ".local .align 16 .b8 {LANE_SLOTS}[{bytes}];\n\t");
        }
        if slots.warp_bytes > 0 {
            let all = slots.of_warp() * slots.budget.warps;
            let _ = write!(head, ".shared .align 16 .b8 {WARP_SLOTS}[{all}];\n\t");
        }
        let all = slots.column_bytes * slots.policy.columns.unwrap_or(0);
        if all > 0 {
            let _ = write!(head, ".shared .align 16 .b8 {COLUMNS}[{all}];\n\t");
        }
        for operation in self.prologue {
            self.line(&mut head, operation);
        }
        head
    }

    pub(super) fn print(&self) -> String {
        let mut edits: BTreeMap<u32, (u32, String)> = BTreeMap::new();
        // By place, what is put there: behind a statement, in front of the next.
        let mut insertions: BTreeMap<u32, String> = BTreeMap::new();
        let statements = self.tree.statements();
        for (statement, _, row) in self.rows() {
            let span = statements[statement as usize].span;
            for operation in &row.before {
                self.line(insertions.entry(span.start).or_default(), operation);
            }
            if !row.after.is_empty() {
                let at = insertions.entry(span.end).or_default();
                at.push_str("\n\t");
                for operation in &row.after {
                    self.line(at, operation);
                }
            }
        }
        for (&statement, note) in &self.notes {
            let at = statements[statement as usize].span.end;
            let text = insertions.entry(at).or_default();
            text.insert_str(0, note);
        }
        let stand_ins = self.stand_ins();
        for (number, (statement, places)) in (0..).zip(statements.iter().zip(&self.body.places)) {
            let declares = match &statement.kind {
                StatementKind::Declaration(declared) => declared.space == StorageSpace::Register,
                _ => false,
            };
            if declares && !self.declares {
                edits.insert(statement.span.start, (statement.span.end, String::new()));
            }
            for &(at, register) in places {
                let length = self.body.names[register.0 as usize].len() as u32;
                let now = stand_ins.get(&(number, register)).copied();
                let name = self.name(now.unwrap_or(register));
                edits.insert(at, (at + length, name.to_owned()));
            }
        }
        let mut out = String::with_capacity(2 * self.text.len());
        let mut at = 0usize;
        if let Some(first) = statements.first() {
            at = first.span.start as usize;
            let front = &self.text[..at];
            let open = front.rfind('{').unwrap_or(at);
            out.push_str(&front[..open]);
            out.push_str(self.directive.as_deref().unwrap_or_default());
            out.push_str(&front[open..]);
            out.push_str(&self.head());
        }
        let mut places: Vec<u32> = edits.keys().chain(insertions.keys()).copied().collect();
        places.sort_unstable();
        places.dedup();
        for place in places {
            out.push_str(&self.text[at..place as usize]);
            at = place as usize;
            if let Some(text) = insertions.get(&place) {
                out.push_str(text);
            }
            if let Some((end, text)) = edits.get(&place) {
                out.push_str(text);
                at = *end as usize;
            }
        }
        out.push_str(&self.text[at..]);
        out
    }
}

/// # Errors
/// Where registers are parameters or results: their names are those that callers know.
pub(super) fn accepts(tree: &PtxFunction) -> Result<(), Refusal> {
    let mut declared = tree.parameters.iter().chain(&tree.returns);
    if declared.any(|variable| variable.space == StorageSpace::Register) {
        return Err(Refusal::NoForm {
            operation: "parameter".into(),
            ty: "register".into(),
            target: "PTX",
        });
    }
    Ok(())
}

/// Notes for the assembler behind the labels of loops that it leaves as they are.
pub(super) fn rolled(labels: &[u32]) -> BTreeMap<u32, &'static str> {
    let note = "\n\t.pragma \"nounroll\";";
    labels.iter().map(|&label| (label, note)).collect()
}

/// Declarations of the registers that values have.
pub(super) fn declarations(registers: &[Register]) -> String {
    let mut counts: BTreeMap<Class, u16> = BTreeMap::new();
    for register in registers.iter().filter(|&&register| register != Ptx::NONE) {
        let count = counts.entry(register.class).or_default();
        *count = (*count).max(register.first + 1);
    }
    let mut out = String::new();
    for (class, count) in counts {
        let prefix = Register { class, first: 0 }.to_string();
        let prefix = prefix.trim_end_matches('0');
        let _ = write!(out, ".reg .{} {prefix}<{count}>;\n\t", class.type_name());
    }
    out
}
