//! Probes in IA-64 assembly: copies of functions that count entries, branches, paths or values, and the
//! readings of the counters.
//!
//! ```text
//! alloc r33 = ar.pfs, 0, 11, 0, 0        ->   alloc r33 = ar.pfs, 0, 11, 1, 0
//!                                             movl r43 = __lockstep_counters ;;  fetchadd8.rel r43 = [r43], 1
//! ```
//!
//! `read` reads a function into the steps of `function`, `flow` its control flow, `outline` the labels of a
//! file, `place` finds spots for probes, `registers` registers, `counters`, `paths` and `values` choose the
//! insertions, `write` packs it. Counters of edges are as few as suffice for all edges; those of loops live
//! in registers and are added to memory at the returns, so that the counts of a function that never returns
//! are lost, and so may be those that two threads add at once; counters elsewhere are added to in one step
//! where the machine does that at less cost.
//!
//! Probes are linked like the code that they stand in: addresses are absolute (`movl`), which a shared object
//! needs relocations for. There is no machine here on which a running program could be attached to, so
//! nothing is patched at entries, no copy is mapped into a process, and no module is registered for the
//! unwinder: the information that the paper needs for a program that already runs is in the directives of a
//! file that is assembled afterwards.
//!
//! Source: Ramasamy and Hundt, *Dynamic Binary Instrumentation for Intel Itanium Processor Family*, EPIC-1, 2001.

mod counters;
mod flow;
mod function;
mod insert;
mod outline;
mod paths;
mod place;
mod read;
mod refusal;
mod registers;
mod values;
mod write;

pub use counters::{BranchRow, Flow, FlowPart};
pub use facts::paths::counters::Unbalanced;
pub use insert::COUNTERS;
pub use paths::{MOST_PATHS, Paths};
pub use refusal::Refusal;
pub use values::{CLEARED, ENTRIES, ValueSite};

use crate::machine::epic::Epic;
use crate::target::ia64::listing::Listing;
use function::{Function, Source, StepKind};
use insert::{Inserter, fetches};
use outline::Outline;
use place::Places;
use read::{functions, read};
use registers::{Wanted, edits, registers};
use smol_str::SmolStr;
use std::fmt::Write;
use std::ops::Range;
use syntax::LineIndex;
use syntax::ia64::Document;
use syntax::ia64::names::Names;
use write::{Changed, write};

/// The name of the table that gives the meaning of each counter.
pub const TABLE: &str = "__lockstep_probes";

/// The kind of event that is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Probe {
    Entry,
    Branch,
    Path,
    Value,
}

/// The meaning of the counters of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Counts {
    Entry,
    Branch(Flow),
    Path(Paths),
    Value(Vec<ValueSite>),
}

/// The probes of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Probed {
    pub name: SmolStr,
    /// From 1.
    pub line: u32,
    /// The number of its first counter.
    pub first: u32,
    pub counters: u32,
    pub counts: Counts,
}

/// A file with probes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Instrumented {
    pub text: String,
    /// In order of the file.
    pub functions: Vec<Probed>,
    pub refused: Vec<(SmolStr, Refusal)>,
    /// The number of counters of all functions; each has 8 bytes.
    pub counters: u32,
}

/// Inserts probes into the functions of a file; `item`: into this one only. Linear in the file but for the packing of blocks.
#[must_use]
pub fn instrument(
    document: &Document,
    text: &str,
    listing: &Listing,
    machine: &Epic,
    probe: Probe,
    item: Option<&str>,
) -> Instrumented {
    let lines = LineIndex::new(text);
    let source = Source {
        document,
        text,
        listing,
        lines: &lines,
    };
    let fetches = fetches(machine);
    let outline = Outline::new(document);
    let mut names = Names::default();
    let mut seen = 0;
    let mut out = Instrumented::default();
    let mut done: Vec<(Function, insert::Insertions)> = Vec::new();
    let mut routines: Vec<(u32, u8)> = Vec::new();
    for (name, statements) in functions(document) {
        if item.is_some_and(|item| item != name) {
            continue;
        }
        let first = out.counters;
        for statement in &document.statements[seen..statements.start] {
            names.see(statement, text);
        }
        seen = statements.start;
        let made = outline
            .entered(document, &name, &statements)
            .and_then(|()| read(source, &name, statements, &names))
            .and_then(|function| {
                let planned = planned(source, &function, probe, first, fetches)?;
                Ok((function, planned))
            });
        match made {
            Err(refusal) => out.refused.push((name, refusal)),
            Ok((mut function, plan)) => {
                out.counters += plan.counters;
                apply(source, &mut function, plan.edits);
                routines.extend(plan.routine);
                out.functions.push(Probed {
                    name,
                    line: function.line,
                    first,
                    counters: plan.counters,
                    counts: plan.counts,
                });
                done.push((function, plan.insertions));
            }
        }
    }
    let changed: Vec<Changed> = done
        .into_iter()
        .map(|(function, insertions)| Changed {
            function,
            insertions,
        })
        .collect();
    out.text = write(source, &changed, machine);
    if out.counters > 0 {
        routines.sort_unstable();
        routines.dedup();
        for (before, link) in routines {
            out.text.push_str(&values::routine(before, link));
        }
        data(&mut out);
    }
    out
}

/// The changes planned for a function, and its counters.
struct Plan {
    insertions: insert::Insertions,
    edits: Vec<(usize, registers::Edits)>,
    counters: u32,
    counts: Counts,
    routine: Option<(u32, u8)>,
}

fn planned(
    source: Source<'_>,
    function: &Function,
    probe: Probe,
    first: u32,
    fetches: bool,
) -> Result<Plan, Refusal> {
    let places = Places::new(function);
    let few = Wanted {
        held: 0,
        held_least: 0,
        temps: 1,
        temps_least: 1,
        may_save: true,
    };
    let several = if fetches { 1 } else { 2 };
    let (mut counts, wanted) = match probe {
        Probe::Entry => (
            Counts::Entry,
            Wanted {
                temps: several,
                ..few
            },
        ),
        Probe::Branch => {
            let flow = Flow::new(&places)?;
            let held = flow.in_loops(&places);
            let (temps, temps_least) = if held > 0 { (6, 2) } else { (4, 1) };
            let wanted = Wanted {
                held,
                temps,
                temps_least,
                ..few
            };
            (Counts::Branch(flow), wanted)
        }
        Probe::Path => {
            let wanted = Wanted {
                held: 1,
                held_least: 1,
                temps: 4,
                ..few
            };
            (Counts::Path(Paths::new(function)?), wanted)
        }
        Probe::Value => {
            let sites = values::sites(function);
            if sites.is_empty() {
                return Err(Refusal::NoValues);
            }
            let wanted = Wanted {
                temps: 3,
                temps_least: 3,
                may_save: false,
                ..few
            };
            (Counts::Value(sites), wanted)
        }
    };
    // Arguments of a call are outputs: what the author left free is none.
    let registers = match probe {
        Probe::Value => {
            let bare = Function {
                given: Vec::new(),
                ..function.clone()
            };
            registers(source, &bare, wanted)?
        }
        // Where a counter in a register finds none, all are in memory.
        Probe::Branch if wanted.held > 0 => {
            registers(source, function, wanted).or_else(|_| registers(source, function, few))?
        }
        _ => registers(source, function, wanted)?,
    };
    let mut into = Inserter::new(&places, &registers, fetches);
    into.shadows()?;
    into.pointers();
    let mut routine = None;
    let counters = match &mut counts {
        Counts::Entry => {
            let lines = into.count(first, 0);
            into.at(places.start(0), 0, lines);
            1
        }
        Counts::Branch(flow) => {
            flow.insert(&mut into, first);
            flow.counters
        }
        Counts::Path(paths) => {
            paths.insert(&mut into, first)?;
            paths.numbers.count() as u32
        }
        Counts::Value(sites) => {
            routine = Some(values::insert(function, sites, &mut into, first)?);
            values::SIZE * sites.len() as u32
        }
    };
    let insertions = into.finish();
    let edits = edits(source, function, &registers)?;
    Ok(Plan {
        insertions,
        edits,
        counters,
        counts,
        routine,
    })
}

/// Changes the texts of instructions.
fn apply(source: Source<'_>, function: &mut Function, edits: Vec<(usize, registers::Edits)>) {
    let mut all: Vec<(usize, Range<usize>, String)> = Vec::new();
    for (step, own) in edits {
        all.extend(own.into_iter().map(|(range, text)| (step, range, text)));
    }
    // From the end of each text to its start.
    all.sort_by_key(|(step, range, _)| (*step, std::cmp::Reverse(range.start)));
    for (step, range, text) in all {
        let StepKind::Code(code) = &mut function.steps[step].kind else {
            continue;
        };
        let statement = source.listing.items[code.item as usize].statement as usize;
        let start = source.document.statements[statement].span.start as usize;
        code.text
            .replace_range(range.start - start..range.end - start, &text);
        code.changed = true;
    }
}

/// The counters and the table of their meanings: function, counter, line and line that control goes to (0 out
/// of it, or where the function as a whole is counted), 4 bytes each.
fn data(out: &mut Instrumented) {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "// Of each counter: its function, its number, the line that it counts, and the line that control goes to."
    );
    let _ = writeln!(
        text,
        "\t.section .rodata.lockstep, \"a\", @progbits\n\t.align 8\n{TABLE}:"
    );
    for (number, function) in out.functions.iter().enumerate() {
        let _ = writeln!(text, "\t// {number}: {}", function.name);
        for (counter, line, to) in function.rows() {
            let _ = writeln!(
                text,
                "\tdata4 {number}, {}, {line}, {to}",
                function.first + counter
            );
        }
    }
    let _ = writeln!(
        text,
        "\t.section .bss.lockstep, \"aw\", @nobits\n\t.align 64\n\t.global {COUNTERS}\n{COUNTERS}:\n\t.skip {}",
        8 * out.counters
    );
    if !out.text.ends_with('\n') {
        out.text.push('\n');
    }
    out.text.push_str(&text);
}

impl Probed {
    /// The counters with the lines that they count: from where, and to where.
    fn rows(&self) -> Vec<(u32, u32, u32)> {
        match &self.counts {
            Counts::Entry => vec![(0, self.line, 0)],
            Counts::Branch(flow) => {
                let all = flow.counter.iter().zip(&flow.parts);
                let mut rows: Vec<(u32, u32, u32)> = all
                    .filter_map(|(counter, part)| {
                        let (line, to) = match part {
                            FlowPart::Entry => (self.line, 0),
                            FlowPart::Block(block) => (flow.lines[*block], flow.lines[*block]),
                            FlowPart::Edge(edge) => (flow.ways[*edge].0, flow.ways[*edge].1),
                        };
                        counter.map(|counter| (counter, line, to))
                    })
                    .collect();
                rows.sort_unstable();
                rows
            }
            Counts::Path(paths) => {
                let all = paths.lines.iter().zip(0..);
                all.map(|(lines, number)| {
                    let ends = (lines.first().copied(), lines.last().copied());
                    (number, ends.0.unwrap_or(0), ends.1.unwrap_or(0))
                })
                .collect()
            }
            Counts::Value(sites) => sites
                .iter()
                .zip(0..)
                .map(|(site, number)| (number * values::SIZE, site.line, 0))
                .collect(),
        }
    }

    /// Its part of the counters of a file.
    #[must_use]
    pub fn own<'a>(&self, counters: &'a [u64]) -> &'a [u64] {
        let from = (self.first as usize).min(counters.len());
        let to = (from + self.counters as usize).min(counters.len());
        &counters[from..to]
    }
}

/// The values of a site with their counts, the most frequent first, and how often the load executed.
#[must_use]
pub fn values_of(counters: &[u64], site: usize) -> Option<(u64, Vec<(u64, u64)>)> {
    let size = values::SIZE as usize;
    let own = counters.get(site * size..(site + 1) * size)?;
    let mut values: Vec<(u64, u64)> = own[1..]
        .chunks_exact(2)
        .map(|pair| (pair[0], pair[1]))
        .collect();
    values.retain(|(_, count)| *count > 0);
    values.sort_by_key(|&(value, count)| (std::cmp::Reverse(count), value));
    Some((own[0], values))
}
