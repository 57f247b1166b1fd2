//! A file as instructions in order, with their groups, bundles and blocks.
//!
//! A *group* ends at `;;`, and where GNU `as` puts a stop by itself: at alignments, at the ends of procedures
//! and sections. A *block* is a sequence that executes in order and moves as a whole: it ends at labels, tags
//! and directives, behind branches, and around opaque instructions. Statements of a macro that is defined in
//! the file are not seen: its use is opaque.

use super::ranges::{OutOfRange, out_of_range};
use crate::target::ia64::dependence::{Dependence, data_dependences};
use crate::target::ia64::relations::{Promise, PromiseKind};
use isa::ia64::{Branch, Class, File, Inst, Reg};
use std::ops::Range;
use syntax::ia64::decode::{Opaque, decode};
use syntax::ia64::names::{Meaning, Names, Stacked};
use syntax::ia64::{Argument, Binary, Document, Expr, StatementKind};

/// Instructions whose dependences are looked for at once.
pub const LARGEST: usize = 2000;

/// One instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// Index into `Document::statements`.
    pub statement: u32,
    pub inst: Inst,
    /// The reason why nothing is known of it.
    pub opaque: Option<Opaque>,
    /// Counted from 0 through the file.
    pub group: u32,
    /// In braces: counted from 0 through the file.
    pub bundle: Option<u32>,
    /// True if it names a register that rotates.
    pub rotates: bool,
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
    /// Numbers that instructions have no room for.
    pub ranges: Vec<OutOfRange>,
    /// The author's statements about predicates (`.pred.rel`); `at` is an item.
    pub promises: Vec<Promise>,
    /// Items in front of which something stands that is not read: a condition of the preprocessor, a macro.
    pub unread: Vec<u32>,
}

/// A stacked register that is not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Beyond {
    pub item: u32,
    pub register: Reg,
    /// The number of registers that the function's largest `alloc` gives; `None`: there is no `alloc`.
    pub frame: Option<u32>,
}

/// The instructions of a file.
#[must_use]
pub fn listing(document: &Document, text: &str) -> Listing {
    let mut out = Listing::default();
    let mut names = Names::default();
    let (mut group, mut bundles) = (0u32, 0u32);
    let mut open = false;
    // `.auto`: the assembler puts the stops.
    let mut automatic = false;
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
            StatementKind::Tag(_) | StatementKind::Assign { .. } => ends(&mut out.blocks),
            StatementKind::Macro { .. } | StatementKind::Unknown => {
                ends(&mut out.blocks);
                out.unread.push(at);
            }
            StatementKind::Preprocessor => {
                ends(&mut out.blocks);
                let span = statement.span;
                let line = text.get(span.start as usize..span.end as usize);
                if line.is_none_or(is_conditional) {
                    out.unread.push(at);
                }
            }
            StatementKind::Directive(directive) => {
                ends(&mut out.blocks);
                match &*directive.name {
                    // The assembler closes the bundle in front, with a stop.
                    ".align" | ".balign" | ".p2align" | ".proc" | ".endp" | ".text"
                    | ".section" => group += 1,
                    ".auto" => automatic = true,
                    ".explicit" | ".default" => automatic = false,
                    name if name.starts_with(".pred.") => {
                        if let Some(kind) = promise(name, &directive.arguments) {
                            let predicates = predicates(&directive.arguments, &names);
                            out.promises.push(Promise {
                                at,
                                kind,
                                predicates,
                            });
                        }
                    }
                    name if name.starts_with(".if") || name.starts_with(".else") => {
                        out.unread.push(at);
                    }
                    ".endif" => out.unread.push(at),
                    _ => {}
                }
            }
            StatementKind::Instruction(instruction) => {
                let (inst, opaque) = decode(instruction, &names);
                out.ranges.extend(out_of_range(instruction, &names));
                let last = inst.ends_block();
                let rotates = rotates(&inst, names.rotating());
                group += u32::from(automatic);
                out.items.push(Item {
                    statement: index as u32,
                    inst,
                    opaque,
                    group,
                    bundle: open.then_some(bundles),
                    rotates,
                });
                if last {
                    out.blocks.push(block..at + 1);
                    block = at + 1;
                }
            }
        }
        names.see(statement, text);
        match &statement.kind {
            StatementKind::Directive(directive)
                if matches!(&*directive.name, ".proc" | ".endp") =>
            {
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
    // Parts of functions with frames are also written as functions of their own, and are jumped to.
    if out.items.iter().any(|item| item.inst.class == Class::Alloc) {
        out.beyond.retain(|it| it.frame.is_some());
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

/// Adds the registers that the last instruction names outside of the frame to those behind it.
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
    let register = named.find(|it| it.file == File::General && u32::from(it.number) >= 32 + held);
    if let Some(register) = register {
        out.beyond.push(Beyond {
            item: out.items.len() as u32 - 1,
            register,
            frame,
        });
    }
}

/// A function with several frames has them on several ways: registers within the largest are not reported.
fn within_frames(out: &mut Listing, function: usize, largest: &mut Option<u32>) {
    let largest = largest.take();
    let mut index = 0;
    out.beyond.retain_mut(|it| {
        index += 1;
        if index <= function {
            return true;
        }
        if let (Some(_), Some(largest)) = (it.frame, largest) {
            it.frame = Some(largest);
        }
        let held = it.frame.unwrap_or(8);
        u32::from(it.register.number) >= 32 + held
    });
}

/// Returns true if the line of the preprocessor chooses between texts, or ends such a choice.
fn is_conditional(line: &str) -> bool {
    let word = line.trim_start().trim_start_matches('#').trim_start();
    ["if", "el", "endif"].iter().any(|it| word.starts_with(it))
}

/// Returns true if it names registers that a loop branch renames: general ones of the frame's first `rotating`.
fn rotates(inst: &Inst, rotating: u32) -> bool {
    let all = matches!(inst.class, Class::FromPredicates | Class::ToPredicates);
    let renamed = |register: Reg| {
        let within = match register.file {
            File::General => u32::from(register.number) < 32 + rotating,
            // Moves of all predicates name none of them.
            File::Predicate => !all,
            _ => true,
        };
        register.may_rotate() && within
    };
    let own = inst.defs.iter().map(|def| def.register);
    let named = matches!(inst.branch, None | Some(Branch::Check));
    inst.predicate >= 16 || named && inst.uses.iter().copied().chain(own).any(renamed)
}

/// `.pred.rel "mutex", p6, p7`, `.pred.rel.mutex p6, p7`, `.pred.safe_across_calls p1-p5`.
fn promise(name: &str, arguments: &[Argument]) -> Option<PromiseKind> {
    if name == ".pred.safe_across_calls" {
        return Some(PromiseKind::KeptByCalls);
    }
    let rest = name.strip_prefix(".pred.rel")?;
    let said = match arguments.first() {
        Some(Argument::Text(text)) => text.as_str(),
        _ => "",
    };
    match rest.strip_prefix('.').unwrap_or(said) {
        "mutex" => Some(PromiseKind::Exclusive),
        "imply" => Some(PromiseKind::Implies),
        "clear" => Some(PromiseKind::Unrelated),
        _ => None,
    }
}

/// The predicates among arguments, ranges (`p1-p5`) as all of them.
fn predicates(arguments: &[Argument], names: &Names) -> Vec<u8> {
    let number = |value: &Expr| match names.of(value) {
        Meaning::Register(register) if register.file == File::Predicate => Some(register.number),
        _ => None,
    };
    let mut out = Vec::new();
    for argument in arguments {
        match argument {
            Argument::Expr(Expr::Binary {
                op: Binary::Subtract,
                left,
                right,
            }) => {
                if let (Some(first), Some(last)) = (number(left), number(right)) {
                    out.extend(first..=last);
                }
            }
            Argument::Expr(value) => out.extend(number(value)),
            _ => {}
        }
    }
    out
}

impl Listing {
    /// Returns the dependences between instructions of a region, numbered from its start.
    #[must_use]
    pub fn region_dependences(&self, region: &Range<u32>) -> Vec<Dependence> {
        let items = &self.items[region.start as usize..region.end as usize];
        let insts: Vec<&Inst> = items.iter().map(|item| &item.inst).collect();
        let promises: Vec<Promise> = self
            .promises
            .iter()
            .filter(|promise| region.contains(&promise.at))
            .map(|promise| Promise {
                at: promise.at - region.start,
                ..promise.clone()
            })
            .collect();
        data_dependences(&insts, &promises)
    }
}
