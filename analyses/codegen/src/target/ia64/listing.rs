//! A file as instructions in order, with their groups, bundles and blocks.
//!
//! A *group* ends at `;;`. A *block* is what executes in order and moves as a whole: it ends at labels, tags and directives,
//! behind branches, around what is opaque. Statements of a macro that is defined in the file are not seen: its use is
//! opaque.

use super::decode::decode;
use super::names::{Meaning, Names, Stacked};
use crate::mir::dependence::{Dependence, Exclusion, Kind, data_dependences};
use crate::mir::{Class, File, Inst, Reg};
use std::ops::Range;
use syntax::ia64::{Argument, Document, StatementKind};

/// Instructions whose dependences are looked for at once.
pub const LARGEST: usize = 2000;
/// Instructions in front of these that tell which predicates exclude each other.
const LEAD: u32 = 200;

/// One instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// Index into `Document::statements`.
    pub statement: u32,
    pub inst: Inst,
    /// Why nothing is known of it.
    pub opaque: Option<String>,
    /// Counted from 0 through the file.
    pub group: u32,
    /// In braces: counted from 0 through the file.
    pub bundle: Option<u32>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listing {
    pub items: Vec<Item>,
    /// Ranges of items, in order, each with at least one.
    pub blocks: Vec<Range<u32>>,
    /// Ranges of items that are only entered at their start: from one label to the next.
    pub regions: Vec<Range<u32>>,
    /// Registers that no frame holds, by item.
    pub beyond: Vec<Beyond>,
    /// Predicates that `.pred.rel` says to exclude each other; `at` is an item.
    pub exclusions: Vec<Exclusion>,
}

/// A stacked register that is not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Beyond {
    pub item: u32,
    pub register: Reg,
    /// How many the function's largest `alloc` gives; `None`: there is no `alloc`.
    pub frame: Option<u32>,
}

/// Two instructions of one group that must not share it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Items.
    pub from: u32,
    pub to: u32,
    pub register: Reg,
    /// Whether the later one writes it, too; else it reads it.
    pub writes: bool,
}

/// The instructions of a file.
#[must_use]
pub fn listing(document: &Document, text: &str) -> Listing {
    let mut out = Listing::default();
    let mut names = Names::default();
    let (mut group, mut bundles) = (0u32, 0u32);
    let mut open = false;
    let (mut block, mut region) = (0u32, 0u32);
    // Where the function's part of `beyond` begins.
    let mut function = 0;
    let mut largest = None;
    for (index, statement) in document.statements.iter().enumerate() {
        let at = out.items.len() as u32;
        let mut ends = |blocks: &mut Vec<Range<u32>>| {
            if at > block {
                blocks.push(block..at);
            }
            block = at;
        };
        match &statement.kind {
            StatementKind::Stop => group += 1,
            StatementKind::Open => open = true,
            StatementKind::Close => {
                bundles += u32::from(open);
                open = false;
            }
            StatementKind::Template(_) => {}
            StatementKind::Label(_) => {
                ends(&mut out.blocks);
                if at > region {
                    out.regions.push(region..at);
                }
                region = at;
            }
            // A definition changes what names mean behind it.
            StatementKind::Tag(_)
            | StatementKind::Macro { .. }
            | StatementKind::Unknown
            | StatementKind::Assign { .. }
            | StatementKind::Preprocessor => ends(&mut out.blocks),
            StatementKind::Directive(directive) => {
                ends(&mut out.blocks);
                if directive.name.starts_with(".pred.rel") {
                    let predicates = exclusive(&directive.name, &directive.arguments, &names);
                    if predicates.len() > 1 {
                        out.exclusions.push(Exclusion { at, predicates });
                    }
                }
            }
            StatementKind::Instruction(one) => {
                let (inst, opaque) = decode(one, &names);
                let last = inst.ends_block();
                out.items.push(Item {
                    statement: index as u32,
                    inst,
                    opaque: opaque.map(|opaque| opaque.reason),
                    group,
                    bundle: open.then_some(bundles),
                });
                if last {
                    out.blocks.push(block..at + 1);
                    block = at + 1;
                }
            }
        }
        names.see(statement, text);
        match &statement.kind {
            StatementKind::Directive(one) if matches!(&*one.name, ".proc" | ".endp") => {
                within_frames(&mut out, function, &mut largest);
                function = out.beyond.len();
            }
            StatementKind::Instruction(_) => {
                if let Stacked::Own(size) = names.stacked() {
                    largest = largest.max(Some(size));
                }
                beyond(&mut out, names.stacked());
            }
            _ => {}
        }
    }
    within_frames(&mut out, function, &mut largest);
    // Parts of functions that have frames are also written as functions of their own, and jumped to.
    if out.items.iter().any(|item| item.inst.class == Class::Alloc) {
        out.beyond.retain(|one| one.frame.is_some());
    }
    let end = out.items.len() as u32;
    if end > block {
        out.blocks.push(block..end);
    }
    if end > region {
        out.regions.push(region..end);
    }
    out
}

/// What the last instruction names outside of the frame behind it.
fn beyond(out: &mut Listing, stacked: Stacked) {
    let (held, frame) = match stacked {
        Stacked::Unknown => return,
        Stacked::Passed => (8, None),
        Stacked::Own(size) => (size, Some(size)),
    };
    let Some(inst) = out.items.last().map(|item| &item.inst) else {
        return;
    };
    let written = inst.defs.iter().map(|def| def.register);
    let mut named = inst.uses.iter().copied().chain(written);
    let register =
        named.find(|one| one.file == File::General && u32::from(one.number) >= 32 + held);
    if let Some(register) = register {
        out.beyond.push(Beyond {
            item: out.items.len() as u32 - 1,
            register,
            frame,
        });
    }
}

/// A function with several frames has them on several ways: what the largest holds is not told.
fn within_frames(out: &mut Listing, function: usize, largest: &mut Option<u32>) {
    let largest = largest.take();
    let mut index = 0;
    out.beyond.retain_mut(|one| {
        index += 1;
        if index <= function {
            return true;
        }
        if let (Some(_), Some(largest)) = (one.frame, largest) {
            one.frame = Some(largest);
        }
        let held = one.frame.unwrap_or(8);
        u32::from(one.register.number) >= 32 + held
    });
}

/// Predicates of `.pred.rel "mutex", p6, p7` and `.pred.rel.mutex p6, p7`.
fn exclusive(name: &str, arguments: &[Argument], names: &Names) -> Vec<u8> {
    let mutex = name.ends_with(".mutex")
        || arguments
            .iter()
            .any(|one| matches!(one, Argument::Text(text) if text == "mutex"));
    if !mutex {
        return Vec::new();
    }
    arguments
        .iter()
        .filter_map(|one| match one {
            Argument::Expr(value) => match names.of(value) {
                Meaning::Register(register) if register.file == File::Predicate => {
                    Some(register.number)
                }
                _ => None,
            },
            _ => None,
        })
        .collect()
}

impl Listing {
    /// What instructions of a region do to each other, numbered from its start.
    #[must_use]
    pub fn region_dependences(&self, region: &Range<u32>) -> Vec<Dependence> {
        let items = &self.items[region.start as usize..region.end as usize];
        let insts: Vec<Inst> = items.iter().map(|item| item.inst.clone()).collect();
        let exclusions: Vec<Exclusion> = self
            .exclusions
            .iter()
            .filter(|one| region.contains(&one.at))
            .map(|one| Exclusion {
                at: one.at - region.start,
                predicates: one.predicates.clone(),
            })
            .collect();
        data_dependences(&insts, &exclusions)
    }

    /// Dependences within groups that the manual forbids, where control comes from one to the other without a branch that
    /// is taken. By items.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        let mut out = Vec::new();
        // A long region goes in pieces, each with some of what stands in front of it.
        let pieces = self.regions.iter().flat_map(|region| {
            let starts = region.clone().step_by(LARGEST);
            starts.map(|start| {
                let end = region.end.min(start + LARGEST as u32);
                (start, start.saturating_sub(LEAD).max(region.start)..end)
            })
        });
        for (first, region) in pieces {
            let items = &self.items[region.start as usize..region.end as usize];
            for one in self.region_dependences(&region) {
                let (from, to) = (&items[one.from as usize], &items[one.to as usize]);
                if region.start + one.to < first {
                    continue;
                }
                // What follows a branch for certain, or a call, is no longer this group.
                let gone = || {
                    items[one.from as usize..one.to as usize]
                        .iter()
                        .any(|item| item.inst.branch.is_some() && item.inst.predicate == 0)
                };
                if from.group != to.group || one.together || gone() {
                    continue;
                }
                let (register, writes) = match one.kind {
                    Kind::Flow(register) => (register, false),
                    Kind::Output(register) => (register, true),
                    _ => continue,
                };
                out.push(Violation {
                    from: one.from + region.start,
                    to: one.to + region.start,
                    register,
                    writes,
                });
            }
        }
        out.sort_by_key(|one| (one.to, one.from));
        out.dedup();
        out
    }
}
