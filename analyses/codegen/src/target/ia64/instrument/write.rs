//! The text of a file whose functions have probes: blocks that changed are packed anew, unchanged text stays
//! as it was written.
//!
//! ```text
//! { .mib  ld1 r16 = [r33]  nop.i 0  nop.i 0 ;; }  ->  { .mii  ld1 r16 = [r33]  adds r41 = 1, r41  nop.i 0 ;; }
//! ```
//!
//! A probe that is one addition to a register of its own takes the slot of a nop, and nothing else moves.
//! Otherwise the file is written once without bundles, every probe in groups of its own, and read again, so
//! that the instructions of probes have the properties that the table of the instruction set states. Then
//! blocks are packed by the packer of re-bundling and judged by the checker of bundles; a block that it does
//! not accept, or that has no packing, stays without bundles. A directive for the unwinder stays in front of
//! its instruction, and instructions stay on their side of the beginning of a region.

use super::function::{Code, Function, Source, Step, StepKind, Tie};
use super::insert::{Inserted, Insertions};
use crate::machine::epic::Epic;
use crate::target::ia64::bundle::block::Choice;
use crate::target::ia64::bundle::check;
use crate::target::ia64::bundle::laid::{Laid, Written};
use crate::target::ia64::dependence::{Dependence, Kind};
use crate::target::ia64::listing::{Item, LARGEST, Listing, listing};
use crate::target::ia64::rebundle::{bundles, nop, pack};
use crate::target::ia64::relations::Promise;
use crate::target::ia64::stand::{insts_of, of_block};
use isa::ia64::{Branch, Class};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Subsets that the packer looks at in each block.
const DECISIONS: usize = 2_000;

/// A line of a rewritten function.
enum Line {
    /// A step of the function that is no instruction; its text.
    Kept(String),
    Label(String),
    Instruction {
        code: Box<Code>,
        /// The part of the source that it had; `None` of a probe.
        source: Option<std::ops::Range<usize>>,
    },
}

/// A function with its insertions.
pub(super) struct Changed {
    pub function: Function,
    pub insertions: Insertions,
}

/// The text of a file with these functions, in order, and the slots of nops in newly packed blocks.
pub(super) fn write(source: Source<'_>, all: &[Changed], machine: &Epic) -> String {
    let lines: Vec<Vec<Line>> = all.iter().map(|changed| merged(source, changed)).collect();
    let plain = unpacked(source, all, &lines);
    let document = syntax::ia64::parse(&plain);
    let again = listing(&document, &plain);
    let mut out = String::with_capacity(plain.len());
    let mut at = 0;
    let mut item = 0;
    for (changed, lines) in all.iter().zip(&lines) {
        let range = &changed.function.range;
        out.push_str(&source.text[at..range.start]);
        item += items_within(source, at..range.start);
        Printer {
            source,
            again: &again,
            machine,
            out: &mut out,
        }
        .function(lines, item);
        item += lines
            .iter()
            .filter(|line| matches!(line, Line::Instruction { .. }))
            .count();
        at = range.end;
    }
    out.push_str(&source.text[at..]);
    debug_assert_eq!(
        item + items_within(source, at..source.text.len()),
        again.items.len(),
        "every instruction is read again"
    );
    out
}

fn items_within(source: Source<'_>, range: std::ops::Range<usize>) -> usize {
    let items = &source.listing.items;
    let start = |statement: u32| source.document.statements[statement as usize].span.start as usize;
    let before = |at: usize| items.partition_point(|item| start(item.statement) < at);
    before(range.end) - before(range.start)
}

/// The steps and the insertions in front of them.
fn merged(source: Source<'_>, changed: &Changed) -> Vec<Line> {
    let Changed {
        function,
        insertions,
    } = changed;
    let mut inserted = insertions.lines.iter().peekable();
    let mut out = Vec::new();
    for at in 0..=function.steps.len() {
        while let Some((_, line)) = inserted.next_if(|(spot, _)| spot.step <= at) {
            out.push(match line {
                Inserted::Label(name) => Line::Label(name.clone()),
                Inserted::Code(text) => Line::Instruction {
                    code: Box::new(probe(text)),
                    source: None,
                },
            });
        }
        let Some(step) = function.steps.get(at) else {
            break;
        };
        let end = function
            .steps
            .get(at + 1)
            .map_or(function.range.end, |next| next.start);
        if insertions.removed.contains(&at) {
            continue;
        }
        out.push(of_step(source, step, at, end, insertions));
    }
    out
}

fn of_step(
    source: Source<'_>,
    step: &Step,
    at: usize,
    end: usize,
    insertions: &Insertions,
) -> Line {
    match &step.kind {
        StepKind::Label | StepKind::Plain => Line::Kept(source.text[step.start..end].to_owned()),
        StepKind::Code(code) => {
            let mut code = code.clone();
            if let Some(text) = insertions.rewritten.get(&at) {
                code.text = text.clone();
                code.changed = true;
            }
            if let (Some(label), Some(target)) = (insertions.retargeted.get(&at), &code.target)
                && let Some(place) = code.text.rfind(target.as_str())
            {
                code.text.replace_range(place..place + target.len(), label);
                code.changed = true;
            }
            Line::Instruction {
                code,
                source: Some(step.start..end),
            }
        }
    }
}

fn probe(text: &str) -> Code {
    Code {
        item: u32::MAX,
        inst: isa::ia64::Inst::opaque(),
        line: 0,
        text: text.to_owned(),
        changed: true,
        stop: true,
        tie: Tie::None,
        above: Vec::new(),
        beside: None,
        below: Vec::new(),
        bundle: None,
        joined: false,
        target: None,
    }
}

/// The file without bundles in these functions.
fn unpacked(source: Source<'_>, all: &[Changed], lines: &[Vec<Line>]) -> String {
    let mut out = String::new();
    let mut at = 0;
    for (changed, lines) in all.iter().zip(lines) {
        let range = &changed.function.range;
        out.push_str(&source.text[at..range.start]);
        out.push('\n');
        // A probe begins a group.
        let mut open = false;
        for line in lines {
            match line {
                Line::Kept(text) => {
                    out.push_str(text);
                    out.push('\n');
                }
                Line::Label(name) => {
                    let _ = writeln!(out, "{name}:");
                }
                Line::Instruction { code, source } => {
                    if source.is_none() && open {
                        out.push_str("\t;;\n");
                    }
                    open = !code.stop;
                    let stop = if code.stop { " ;;" } else { "" };
                    let _ = writeln!(out, "\t{}{stop}", code.text);
                }
            }
        }
        at = range.end;
    }
    out.push_str(&source.text[at..]);
    out
}

struct Printer<'a> {
    source: Source<'a>,
    again: &'a Listing,
    machine: &'a Epic,
    out: &'a mut String,
}

impl Printer<'_> {
    /// `first`: the item of the function's first instruction in the text without bundles.
    fn function(&mut self, lines: &[Line], first: usize) {
        let units = units(lines);
        let forms = forms(lines, &units);
        let mut item = first;
        let mut at = 0;
        // The group in front goes on.
        let mut open = false;
        for (unit, form) in units.iter().zip(forms) {
            for line in &lines[at..unit.start] {
                self.outside(line);
            }
            at = unit.end;
            let count = unit.len();
            let codes: Vec<&Code> = lines[unit.clone()].iter().filter_map(code_of).collect();
            let own = &lines[unit.clone()];
            match form {
                Form::Kept => {
                    if self.out.ends_with('\n') {
                        self.out.push('\t');
                    }
                    self.kept(own, &BTreeMap::new());
                    open = codes.last().is_some_and(|code| !code.stop);
                }
                Form::Filled(filled) => {
                    if !filled.more.is_empty() {
                        self.fresh();
                        self.more(&filled.more);
                    }
                    if self.out.ends_with('\n') {
                        self.out.push('\t');
                    }
                    self.kept(own, &filled.slots);
                    open = codes.last().is_some_and(|code| !code.stop);
                }
                Form::Packed => {
                    let codes = without_nops_named(&codes);
                    let codes: Vec<&Code> = codes.iter().collect();
                    self.fresh();
                    if open {
                        self.out.push_str("\t;;\n");
                    }
                    self.packed(&codes, item);
                    open = false;
                }
            }
            item += count;
        }
        for line in &lines[at..] {
            self.outside(line);
        }
        if self.out.ends_with('\n') {
            self.out.push('\t');
        }
    }

    /// Bundles in front of a unit, in its first group.
    fn more(&mut self, probes: &[String]) {
        for three in probes.chunks(3) {
            self.out.push_str("\t{ .mii\n");
            for at in 0..3 {
                let fill = if at == 0 { "nop.m 0" } else { "nop.i 0" };
                let _ = writeln!(self.out, "\t{}", three.get(at).map_or(fill, String::as_str));
            }
            self.out.push_str("\t}\n");
        }
    }

    /// A unit in the bundles that it has, with other texts in some slots, by line.
    fn kept(&mut self, lines: &[Line], slots: &BTreeMap<usize, String>) {
        for (at, line) in lines.iter().enumerate() {
            let Line::Instruction {
                code,
                source: Some(range),
            } = line
            else {
                continue;
            };
            let whole = &self.source.text[range.clone()];
            let text = match slots.get(&at) {
                Some(text) => text,
                None if code.changed => &code.text,
                None => {
                    self.out.push_str(whole);
                    continue;
                }
            };
            let statement = self.source.listing.items[code.item as usize].statement;
            let span = self.source.document.statements[statement as usize].span;
            let [start, end] = [span.start, span.end].map(|at| at as usize - range.start);
            self.out.push_str(&whole[..start]);
            self.out.push_str(text);
            self.out.push_str(&whole[end..]);
        }
    }

    fn outside(&mut self, line: &Line) {
        match line {
            Line::Kept(text) => {
                if !self.out.ends_with(['\n', '\t', ' ', ':']) {
                    self.fresh();
                }
                self.out.push_str(text);
            }
            Line::Label(name) => {
                self.fresh();
                let _ = writeln!(self.out, "{name}:");
            }
            Line::Instruction { .. } => {}
        }
    }

    /// Begins a line.
    fn fresh(&mut self) {
        let length = self.out.trim_end_matches([' ', '\t']).len();
        self.out.truncate(length);
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    fn packed(&mut self, codes: &[&Code], first: usize) {
        let laid = self.laid(codes, first);
        let alone = || {
            // As it was written, every probe by itself.
            let stands = |(at, code): (usize, &&Code)| {
                let probe = codes.get(at + 1).is_some_and(|next| next.item == u32::MAX);
                let last = at + 1 == codes.len();
                Laid::Alone(at, code.stop || probe || last)
            };
            codes.iter().enumerate().map(stands).collect::<Vec<Laid>>()
        };
        for piece in laid.unwrap_or_else(alone) {
            match piece {
                Laid::Alone(at, stop) => self.line(codes[at], stop),
                Laid::Bundle(name, slots) => {
                    let _ = writeln!(self.out, "\t{{ {name}");
                    for slot in slots {
                        match slot {
                            Written::Instruction(at, stop) => self.line(codes[at], stop),
                            Written::Nop(kind, stop) => {
                                let stop = if stop { " ;;" } else { "" };
                                let _ = writeln!(self.out, "\t{}{stop}", nop(kind));
                            }
                        }
                    }
                    self.out.push_str("\t}\n");
                }
            }
        }
    }

    fn line(&mut self, code: &Code, stop: bool) {
        for above in &code.above {
            let _ = writeln!(self.out, "\t{above}");
        }
        let stop = if stop { " ;;" } else { "" };
        let _ = write!(self.out, "\t{}{stop}", code.text);
        if let Some(beside) = &code.beside {
            let _ = write!(self.out, "\t{beside}");
        }
        self.out.push('\n');
        for below in &code.below {
            let _ = writeln!(self.out, "\t{below}");
        }
    }

    /// The bundles of a unit; `None`: it has none that are right.
    fn laid(&self, codes: &[&Code], first: usize) -> Option<Vec<Laid>> {
        let range = first as u32..(first + codes.len()) as u32;
        let regions = &self.again.regions;
        let region = regions.partition_point(|region| region.end <= range.start);
        let region = regions.get(region)?;
        if region.len() > LARGEST || range.end > region.end {
            return None;
        }
        let items = &self.again.items[first..first + codes.len()];
        if items.iter().any(|item| item.opaque.is_some()) {
            return None;
        }
        let insts = insts_of(items);
        // Behind a call and a rotation the checker knows no address of before.
        let before = &self.again.items[region.start as usize..first];
        let forgets = |item: &Item| {
            let branch = item.inst.branch;
            let renames = matches!(
                branch,
                Some(Branch::Call | Branch::CountedRotating | Branch::WhileRotating)
            );
            renames || item.inst.barrier
        };
        let known = before
            .iter()
            .rev()
            .take_while(|item| !forgets(item))
            .count();
        let part = (first - known) as u32..range.end;
        let mut found = of_block(
            &self.again.region_dependences(&part),
            part.start,
            &range,
            &insts,
        );
        ties(codes, &mut found);
        let packed = pack(&insts, &found, self.machine, Choice::EagerLazy, DECISIONS).ok()?;
        let laid = bundles(&packed.groups);
        let promises: Vec<Promise> = self
            .again
            .promises
            .iter()
            .filter(|promise| region.contains(&promise.at))
            .map(|promise| Promise {
                at: promise.at - region.start,
                ..promise.clone()
            })
            .collect();
        let whole = &self.again.items[region.start as usize..region.end as usize];
        let block = check::Block {
            start: (range.start - region.start) as usize,
            end: (range.end - region.start) as usize,
            marks: &[],
            cycles: &[],
        };
        let verdict = check::Region::new(insts_of(whole), &promises).check(block, &laid);
        debug_assert!(
            verdict.is_ok(),
            "{verdict:?}: {laid:?} {:?}",
            codes
                .iter()
                .map(|code| &code.text)
                .collect::<Vec<&String>>()
        );
        verdict.is_ok().then_some(laid)
    }
}

/// Packing leaves nops out: a label of one names the next instruction, and the comment beside it stands
/// there.
fn without_nops_named(codes: &[&Code]) -> Vec<Code> {
    let mut out: Vec<Code> = codes.iter().map(|&code| code.clone()).collect();
    for at in 0..out.len() {
        if out[at].inst.class != Class::Nop {
            continue;
        }
        let tie = std::mem::replace(&mut out[at].tie, Tie::None);
        let mut lines = std::mem::take(&mut out[at].above);
        lines.extend(out[at].beside.take());
        lines.append(&mut out[at].below);
        let own = |code: &Code| code.item != u32::MAX && code.inst.class != Class::Nop;
        let next = (at + 1..out.len()).find(|&next| own(&out[next]));
        match next {
            Some(next) => {
                out[next].tie = out[next].tie.max(tie);
                lines.append(&mut out[next].above);
                out[next].above = lines;
            }
            None => {
                if let Some(last) = out.iter_mut().rfind(|code| code.inst.class != Class::Nop) {
                    last.below.append(&mut lines);
                }
            }
        }
    }
    out
}

/// Adds dependences that keep instructions on their side of the beginning of a region of the unwinder; probes
/// may go anywhere.
fn ties(codes: &[&Code], found: &mut Vec<Dependence>) {
    let own = |at: &usize| codes[*at].item != u32::MAX;
    for (mark, _) in codes
        .iter()
        .enumerate()
        .filter(|(_, code)| code.tie == Tie::Region)
    {
        let order = |from: usize, to: usize| Dependence {
            from: from as u32,
            to: to as u32,
            kind: Kind::Memory,
            together: false,
        };
        found.extend((0..mark).filter(own).map(|from| order(from, mark)));
        found.extend(
            (mark + 1..codes.len())
                .filter(own)
                .map(|to| order(mark, to)),
        );
    }
    found.sort_by_key(|dependence| (dependence.to, dependence.from));
}

/// Probes in the slots of nops.
#[derive(Default)]
struct Filled {
    /// The probes in slots, by line.
    slots: BTreeMap<usize, String>,
    /// The probes for which no nop was left.
    more: Vec<String>,
}

/// Puts the probes of a unit where nops stand: additions to registers of their own, which may execute anywhere in it. `None`: it
/// has others, too, or there are not enough nops; `more`: then those without one have bundles of their own in front, which a
/// loop that rotates registers needs, because the groups of its kernel are those of iterations that overlap.
fn filled(lines: &[Line], more: bool) -> Option<Filled> {
    let mut out = Filled::default();
    let mut free = Vec::new();
    let mut probes = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = code_of(line)?;
        if code.item == u32::MAX {
            if !code.text.starts_with("adds ") {
                return None;
            }
            probes.push(code.text.clone());
            continue;
        }
        if code.bundle.is_none() || code.inst.first {
            return None;
        }
        if code.inst.class == Class::Nop
            && code.inst.predicate == 0
            && (code.text.starts_with("nop.m") || code.text.starts_with("nop.i"))
        {
            free.push(at);
        }
    }
    if probes.len() > free.len() && !more {
        return None;
    }
    // A probe by itself has no group to be in.
    if probes.len() == lines.len() {
        return None;
    }
    out.more = probes.split_off(probes.len().min(free.len()));
    out.slots = free.into_iter().zip(probes).collect();
    Some(out)
}

fn code_of(line: &Line) -> Option<&Code> {
    match line {
        Line::Instruction { code, .. } => Some(code),
        _ => None,
    }
}

/// Ranges of lines that are packed together: up to a branch, a label or a directive.
fn units(lines: &[Line]) -> Vec<std::ops::Range<usize>> {
    let mut out = Vec::new();
    let mut start = None;
    for (at, line) in lines.iter().enumerate() {
        match code_of(line) {
            None => out.extend(start.take().map(|start| start..at)),
            Some(code) => {
                let from = *start.get_or_insert(at);
                if ends(code) {
                    out.push(from..at + 1);
                    start = None;
                }
            }
        }
    }
    out.extend(start.map(|start| start..lines.len()));
    out
}

fn ends(code: &Code) -> bool {
    match code.item {
        u32::MAX => code
            .text
            .split_whitespace()
            .any(|word| word.starts_with("br.")),
        _ => {
            code.inst.ends_block()
                || code.text.contains("br.cond") && code.inst.branch == Some(Branch::Call)
        }
    }
}

/// The form in which a unit is written.
enum Form {
    Kept,
    Filled(Filled),
    Packed,
}

/// Returns true if probes of a unit write a register again that one of its group, or of an earlier that goes on in it, has written.
fn writes_again<'a>(lines: &'a [Line], written: &mut Vec<&'a str>) -> bool {
    let mut again = false;
    let mut ends = false;
    for code in lines.iter().filter_map(code_of) {
        if code.item == u32::MAX {
            let target = code.text.split('=').next().unwrap_or("");
            again |= written.contains(&target);
            written.push(target);
        } else {
            ends = code.stop;
        }
    }
    if ends {
        written.clear();
    }
    again
}

/// Returns the form of each unit; those that share a bundle, or the text of its end, are packed together or
/// not at all.
fn forms(lines: &[Line], units: &[std::ops::Range<usize>]) -> Vec<Form> {
    let codes = |unit: &std::ops::Range<usize>| lines[unit.clone()].iter().filter_map(code_of);
    let rotates = lines.iter().filter_map(code_of).any(|code| {
        matches!(
            code.inst.branch,
            Some(Branch::CountedRotating | Branch::WhileRotating)
        )
    });
    let edge = |unit: &std::ops::Range<usize>, first: bool| {
        let mut own = codes(unit).filter_map(|code| code.bundle);
        if first { own.next() } else { own.next_back() }
    };
    let mut out = Vec::with_capacity(units.len());
    // Registers that probes have written in the group that goes on.
    let mut written: Vec<&str> = Vec::new();
    let mut start = 0;
    while start < units.len() {
        let mut last = edge(&units[start], false);
        let mut end = start + 1;
        let joined = |unit: &std::ops::Range<usize>| codes(unit).any(|code| code.joined);
        let shares = |last: Option<u32>, unit: &std::ops::Range<usize>| {
            last.is_some() && last == edge(unit, true) || joined(unit)
        };
        while end < units.len() && shares(last, &units[end]) {
            last = edge(&units[end], false);
            end += 1;
        }
        let chain = &units[start..end];
        let mut within = written.clone();
        let again = chain
            .iter()
            .any(|unit| writes_again(&lines[unit.clone()], &mut within));
        let is_changed = |unit: &std::ops::Range<usize>| {
            codes(unit).any(|code| code.changed || code.item == u32::MAX)
        };
        if chain.iter().any(is_changed) {
            let filled = chain.iter().enumerate().map(|(at, unit)| {
                filled(&lines[unit.clone()], rotates && at == 0).map(Form::Filled)
            });
            match filled.collect::<Option<Vec<Form>>>() {
                Some(filled) if !again => {
                    out.extend(filled);
                    written = within;
                }
                // Packed blocks end with a stop.
                _ => {
                    out.extend(chain.iter().map(|_| Form::Packed));
                    written.clear();
                }
            }
        } else {
            out.extend(chain.iter().map(|_| Form::Kept));
            written = within;
        }
        start = end;
    }
    out
}
