//! IA-64 assembly in the editor: the effect of an instruction and those that wait for it, dependences that a
//! group must not hold, and its blocks re-bundled.

mod counted;
mod hints;
mod meaning;
mod notes;

pub use counted::{counts, problem};
pub use hints::hints;
pub use notes::notes;

use super::model::Hover;
use super::model::{Action, Doing};
use crate::db::{self, Db, File};
use crate::derive::bundles::processor;
use crate::program::{self, Assembly, Language};
use codegen::isa::ia64::{self as mir, Access, Class, Inst};
use codegen::machine::epic::Epic;
use codegen::target::ia64::bundle::block::Type;
use codegen::target::ia64::dependence::Kind;
use codegen::target::ia64::rebundle::Outcome;
use syntax::Span;
use syntax::ia64::StatementKind;

const BLOCK: &str = "re-bundle";
const FILE: &str = "re-bundle-file";
/// Instructions behind one that are looked at for those that wait for it.
const AHEAD: u32 = 200;
/// Waiting instructions that are named.
const NAMED: usize = 4;

fn at(assembly: &Assembly, offset: u32) -> Option<usize> {
    let found = assembly
        .listing
        .items
        .partition_point(|item| assembly.place(item).end < offset);
    let span = assembly.place(assembly.listing.items.get(found)?);
    (span.start <= offset && offset <= span.end).then_some(found)
}

const fn slot(unit: Option<Type>) -> &'static str {
    match unit {
        Some(Type::A) => "M or I slot",
        Some(Type::I) => "I slot",
        Some(Type::M) => "M slot",
        Some(Type::F) => "F slot",
        Some(Type::B) => "B slot",
        Some(Type::L) => "L and X slots",
        None => "any slot",
    }
}

const fn class(class: Class) -> &'static str {
    match class {
        Class::Alu => "integer arithmetic",
        Class::Logic => "logic",
        Class::Extend => "extension",
        Class::Shift => "shift or bit field",
        Class::Compare => "compare",
        Class::Multimedia => "parallel integer operation or shift by a register",
        Class::ParallelMultiply => "parallel product or population count",
        Class::LongMove => "64-bit constant",
        Class::Load => "load",
        Class::FloatLoad => "floating-point load",
        Class::Store => "store",
        Class::FloatStore => "floating-point store",
        Class::Prefetch => "prefetch",
        Class::Semaphore => "semaphore",
        Class::FloatArithmetic => "multiply-add",
        Class::FloatCompare => "floating-point compare",
        Class::FloatMisc => "floating-point operation",
        Class::FloatConvert => "conversion",
        Class::IntegerMultiply => "integer multiply on the floating-point unit",
        Class::FromFloat => "floating-point to general register",
        Class::ToFloat => "general to floating-point register",
        Class::FromBranch => "from a branch register",
        Class::ToBranch => "to a branch register",
        Class::FromPredicates => "from the predicates",
        Class::ToPredicates => "to the predicates",
        Class::FromApplication => "from an application register",
        Class::ToApplication => "to an application register",
        Class::Check => "check of a speculative value",
        Class::CheckAdvanced => "check of an advanced load",
        Class::Alloc => "frame",
        Class::Branch => "branch",
        Class::Nop => "nothing",
        Class::System => "system",
    }
}

fn list<T: ToString>(registers: impl Iterator<Item = T>) -> String {
    let names: Vec<String> = registers.map(|register| register.to_string()).collect();
    match names.len() {
        0..=8 => names.join(" "),
        more => format!("{} … ({more})", names[..6].join(" ")),
    }
}

/// Returns the effect of an instruction, its slot, and the instructions that wait for it, with their waits.
pub fn hover(db: &dyn Db, file: File, offset: u32) -> Option<Hover> {
    let assembly = db::assembly(db, file);
    let number = at(assembly, offset)?;
    let item = &assembly.listing.items[number];
    let span = assembly.place(item);
    let table = processor(db, file);
    let machine = &table.name;
    let StatementKind::Instruction(text) =
        &assembly.document.statements[item.statement as usize].kind
    else {
        return None;
    };
    if let Some(reason) = &item.opaque {
        let markdown = format!(
            "`{}` · not understood: {reason}. Nothing moves across it.",
            text.mnemonic
        );
        return Some(Hover { span, markdown });
    }
    let inst = &item.inst;
    let mut markdown = format!(
        "`{}` · {} · {}",
        text.mnemonic,
        class(inst.class),
        slot(inst.unit)
    );
    let line = db::line_index(db, file).line_column(span.start).0 + 1;
    if let Some(counts) = counted::hover(db, file, line) {
        markdown += &format!("\n\n{counts}");
    }
    if let Some(meaning) = meaning::meaning(&text.mnemonic) {
        markdown += &format!("\n\n{meaning}");
    }
    let mut facts = Vec::new();
    if inst.predicate != 0 {
        facts.push(format!("only where p{} is true", inst.predicate));
    }
    if !inst.defs.is_empty() {
        facts.push(format!(
            "writes {}",
            list(inst.defs.iter().map(|def| def.register))
        ));
    }
    if !inst.uses.is_empty() {
        facts.push(format!("reads {}", list(inst.uses.iter())));
    }
    if let Some(memory) = inst.memory {
        let what = match memory.access {
            Access::Load => "loads",
            Access::Store => "stores",
            Access::Both => "exchanges",
            Access::Prefetch => "prefetches",
        };
        let ordered = if memory.ordered {
            ", in order with all other accesses"
        } else {
            ""
        };
        match memory.bytes {
            0 => facts.push(format!("{what} at {}", memory.base)),
            bytes => facts.push(format!("{what} {bytes} bytes at {}{ordered}", memory.base)),
        }
    }
    if !facts.is_empty() {
        markdown += &format!("\n\n{}", facts.join(" · "));
    }
    if let Some(epic) = table.epic() {
        let waiting = waiting(db, file, assembly, number, epic);
        if !waiting.is_empty() {
            markdown += &format!("\n\nWaiting for it ({machine}, caches hit):");
            for line in waiting {
                markdown += &format!("\n- {line}");
            }
        } else if let Some(latencies) = latencies(inst, epic) {
            markdown += &format!(
                "\n\n{latencies} ({machine}, caches hit); nothing up to the next label reads it"
            );
        }
    }
    Some(Hover { span, markdown })
}

/// Returns the number of cycles after which the plainest reader of its file can read each result.
fn latencies(inst: &Inst, epic: &Epic) -> Option<String> {
    let mut known: Vec<(u32, Vec<String>)> = Vec::new();
    for def in &inst.defs {
        let class = match def.register.file {
            mir::File::Float => Class::FloatArithmetic,
            _ => Class::Alu,
        };
        let reader = Inst::new(None, class);
        let cycles = epic.latency(inst, &reader, def.register);
        match known.iter_mut().find(|(other, _)| *other == cycles) {
            Some((_, names)) => names.push(def.register.to_string()),
            None => known.push((cycles, vec![def.register.to_string()])),
        }
    }
    let parts: Vec<String> = known
        .iter()
        .map(|(cycles, names)| {
            let unit = if *cycles == 1 { "cycle" } else { "cycles" };
            format!("{} after {cycles} {unit}", names.join(" "))
        })
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Returns the instructions that read its results, up to the next label.
fn waiting(
    db: &dyn Db,
    file: File,
    assembly: &Assembly,
    number: usize,
    epic: &Epic,
) -> Vec<String> {
    let items = &assembly.listing.items;
    let lines = db::line_index(db, file);
    let text = program::text(file.source(db));
    let Some(region) = assembly
        .listing
        .regions
        .iter()
        .find(|region| region.contains(&(number as u32)))
    else {
        return Vec::new();
    };
    let window = number as u32..region.end.min(number as u32 + AHEAD);
    let mut out = Vec::new();
    for dependence in assembly.listing.region_dependences(&window) {
        let Kind::Flow(register) = dependence.kind else {
            continue;
        };
        if dependence.from != 0 {
            continue;
        }
        let to = &items[number + dependence.to as usize];
        let cycles = epic.latency(&items[number].inst, &to.inst, register);
        let span = assembly.place(to);
        let line = lines.line_column(span.start).0 + 1;
        let source = text
            .get(span.start as usize..span.end as usize)
            .unwrap_or("");
        let source = source.split_whitespace().collect::<Vec<_>>().join(" ");
        let unit = if cycles == 1 { "cycle" } else { "cycles" };
        out.push(format!(
            "{cycles} {unit}: `{source}` in line {line}, through {register}"
        ));
    }
    if out.len() > NAMED {
        let more = out.len() - NAMED;
        out.truncate(NAMED);
        out.push(format!("and {more} more"));
    }
    out
}

/// Re-bundling of the block at a place and of the whole file.
pub fn actions(db: &dyn Db, file: File, range: Span) -> Vec<Action> {
    if file.language(db) != Language::Ia64 {
        return Vec::new();
    }
    let table = processor(db, file);
    let machine = &table.name;
    let blocks = db::bundles(db, file);
    let mut out = Vec::new();
    let here = blocks
        .iter()
        .find(|block| block.span.start <= range.start && range.start <= block.span.end);
    if let Some(block) = here {
        let mut action = Action::rewrite(BLOCK, "Re-bundle this block".into());
        match &block.outcome {
            Outcome::Rewritten {
                text,
                after,
                proved,
            } => {
                action.title = format!(
                    "Re-bundle this block: {} to {} cycles, {} to {} nops, estimate for {machine}",
                    block.before.cycles, after.cycles, block.before.nops, after.nops
                );
                action.effect = format!(
                    "{} to {} bundles{}",
                    block.before.bundles,
                    after.bundles,
                    if *proved {
                        "; no schedule of so few cycles has fewer nops"
                    } else {
                        ""
                    }
                );
                action.what = Doing::Edit(vec![(block.span, text.clone())]);
            }
            Outcome::Kept(reason) => {
                let reason = reason.to_string();
                action.effect.clone_from(&reason);
                action.what = Doing::Refused { reason };
                action.quiet = true;
            }
        }
        out.push(action);
    }
    let mut edits = Vec::new();
    let (mut cycles, mut nops) = ((0, 0), (0, 0));
    for block in blocks.iter() {
        if let Outcome::Rewritten { text, after, .. } = &block.outcome {
            edits.push((block.span, text.clone()));
            cycles = (cycles.0 + block.before.cycles, cycles.1 + after.cycles);
            nops = (nops.0 + block.before.nops, nops.1 + after.nops);
        }
    }
    if edits.len() > 1 {
        let mut action = Action::rewrite(
            FILE,
            format!(
                "Re-bundle the file: {} to {} nops in {} of {} blocks, estimate for {machine}",
                nops.0,
                nops.1,
                edits.len(),
                blocks.len()
            ),
        );
        action.effect = format!(
            "{} to {} cycles, each block counted once",
            cycles.0, cycles.1
        );
        action.what = Doing::Edit(edits);
        out.push(action);
    }
    out
}
