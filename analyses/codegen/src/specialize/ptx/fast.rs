//! The copy of a region for the warps where the tested registers are zero: which statements stay, which become moves of
//! a constant or of one of their operands, and which go.
//!
//! A statement goes when it cannot be reached, or has no effect and nothing that is read later is written by it.
//! Linear in the region but for the liveness of its registers.

use super::guard::is_load;
use super::live::{Node, Numbers, live_in, live_out, numbered};
use super::region::{closed, limit, uncopied, untrusted};
use super::{Candidate, Context, Document, Refusal, Settings, counts, touches};
use crate::mir::Virtual;
use crate::specialize::Zeros;
use crate::specialize::accept::Model;
use crate::specialize::fold::{Folded, Known, fold};
use crate::target::ptx::machine::body::{Next, Register};
use ir::{Block, Inst, Value};
use isa::ptx::Opcode;
use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use std::fmt::Write;
use syntax::Span;
use syntax::ptx::{Instruction, Name, Operand, Statement, StatementKind};

/// Registers times statements of a body whose liveness is computed, at most.
const MOST_BITS: usize = 1 << 30;

/// The treatment of a statement in the copy.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Action {
    Keep,
    /// Registers that hold constants afterwards: name, type as declared, bits.
    Constants(Vec<(SmolStr, SmolStr, u64)>),
    /// The register holds the value of an operand.
    Move {
        kind: &'static str,
        to: SmolStr,
        source: SmolStr,
        from: Register,
    },
    /// The sum that is left of a multiply-add that rounds or flushes otherwise than a move.
    Add {
        kind: String,
        to: SmolStr,
        source: SmolStr,
        from: Register,
        zero: &'static str,
    },
    /// Its guard holds.
    Unguarded,
    /// Its guard does not hold, or it is not reached, or nothing reads its result.
    Gone,
}

pub(super) struct Fast<'a> {
    pub(super) document: &'a Document<'a>,
    /// The first statement of the region, and the one behind it.
    pub(super) start: u32,
    pub(super) end: u32,
    /// The treatment of each statement without regard to unread results, and with it.
    decided: Vec<Action>,
    actions: Vec<Action>,
    /// Statements of a region in place whose results nothing reads, whatever is zero.
    pub(super) unread: Vec<bool>,
    /// Statements of a region in place that are executed although nothing reads their results: loads, which need an address.
    rooted: FxHashSet<u32>,
    /// What is known where the registers are zero.
    pub(super) folded: Folded,
    /// The region can run past its end, so that both paths meet there.
    pub(super) falls: bool,
    pub(super) weights: Vec<f64>,
    /// Blocks that the zero keeps from being reached, in the original, too.
    pub(super) skipped: FxHashSet<Block>,
}

impl<'a> Fast<'a> {
    pub(super) fn new(
        document: &'a Document<'a>,
        cx: &Context<'_>,
        candidate: &Candidate,
        settings: Settings,
    ) -> Result<Self, Refusal> {
        let start = candidate.statement + 1;
        let (folded, skipped) = folded(document, cx, candidate)?;
        let stops = |i: &Instruction, ours: bool| uncopied(i, settings.whole_warps || ours);
        let (limit, why) = limit(document, start, &stops);
        let nothing = || {
            why.clone()
                .unwrap_or(Refusal::NothingSaved(candidate.names.join(", ")))
        };
        let limit = untrusted(document, &folded, start, limit);
        if limit <= start {
            return Err(nothing());
        }
        let all = (start..limit).map(|at| decide(document, cx, &folded, at));
        let decided: Vec<Action> = all.collect();
        let mut fast = Fast {
            document,
            start,
            end: limit,
            actions: decided.clone(),
            decided,
            unread: Vec::new(),
            rooted: FxHashSet::default(),
            folded,
            falls: true,
            weights: weights(document, cx, start, limit),
            skipped,
        };
        fast.prune()?;
        // The last change, and what is open there.
        let Some(last) = fast
            .actions
            .iter()
            .rposition(|action| *action != Action::Keep)
        else {
            return Err(nothing());
        };
        let end = closed(document, start, start + last as u32 + 1, limit);
        fast.end = end;
        fast.actions = fast.decided[..(end - start) as usize].to_vec();
        fast.prune()?;
        let saved = (start..end).any(|at| {
            let i = instruction(document, at);
            i.is_some() && *fast.action(at) != Action::Keep
        });
        if saved { Ok(fast) } else { Err(nothing()) }
    }

    /// The region with its branches as they are and with all statements that have a guard, up to the end that `until` gives.
    pub(super) fn in_place(
        document: &'a Document<'a>,
        cx: &Context<'_>,
        candidate: &Candidate,
        start: u32,
        until: impl FnOnce(&Folded) -> u32,
    ) -> Result<Self, Refusal> {
        let (folded, skipped) = folded(document, cx, candidate)?;
        let end = until(&folded).max(start);
        let fixed = |at: u32| {
            let guarded = instruction(document, at).is_none_or(|i| i.guard.is_some());
            guarded || !document.body.lines[at as usize].removable
        };
        let all = (start..end).map(|at| match fixed(at) {
            true => Action::Keep,
            false => decide(document, cx, &folded, at),
        });
        let decided: Vec<Action> = all.collect();
        let mut fast = Fast {
            document,
            start,
            end,
            actions: vec![Action::Keep; decided.len()],
            decided,
            unread: Vec::new(),
            rooted: FxHashSet::default(),
            folded,
            falls: true,
            weights: weights(document, cx, start, end),
            skipped,
        };
        fast.prune()?;
        let gone = fast.actions.iter().map(|action| *action == Action::Gone);
        fast.unread = gone.collect();
        fast.rooted = (start..end)
            .filter(|&at| {
                let i = instruction(document, at);
                let opcode = i.and_then(|i| Opcode::find(&i.opcode.text));
                let unread = fast.unread[(at - start) as usize];
                opcode.is_some_and(Opcode::loads) && (unread || !is_load(i))
            })
            .collect();
        fast.actions.clone_from(&fast.decided);
        fast.prune()?;
        Ok(fast)
    }

    pub(super) fn action(&self, at: u32) -> &Action {
        &self.actions[(at - self.start) as usize]
    }

    pub(super) fn decided(&self, at: u32) -> &Action {
        &self.decided[(at - self.start) as usize]
    }

    /// Leaves out statements that are not reached and those whose results nothing reads.
    fn prune(&mut self) -> Result<(), Refusal> {
        let body = &self.document.body;
        let (start, end) = (self.start, self.end);
        let inside = |at: u32| (start..end).contains(&at);
        let mut dense = Numbers::default();
        for at in start..end {
            for &register in &body.lines[at as usize].writes {
                let next = Virtual(dense.len() as u32);
                dense.entry(register).or_insert(next);
            }
        }
        if dense.len().saturating_mul(body.lines.len()) > MOST_BITS {
            return Err(Refusal::Unread("the function is too long"));
        }
        let later = live_in(body, &dense);
        let map = |registers: &[Register]| numbered(registers, &dense);
        let mut nodes: Vec<Node> = Vec::new();
        for at in start..end {
            let line = &body.lines[at as usize];
            let mut node = Node::default();
            let mut falls = true;
            let mut jumps: &[u32] = &[];
            match self.action(at) {
                Action::Gone => {}
                Action::Constants(_) => {
                    node.writes = map(&line.writes);
                    node.kills = true;
                    node.removable = true;
                }
                Action::Move { from, .. } | Action::Add { from, .. } => {
                    node.writes = map(&line.writes);
                    node.reads = map(&[*from]);
                    node.kills = true;
                    node.removable = true;
                }
                keep => {
                    node.reads = map(&line.reads);
                    node.writes = map(&line.writes);
                    node.kills = line.kills || (*keep == Action::Unguarded && line.removable);
                    node.removable = line.removable && !self.rooted.contains(&at);
                    match &line.next {
                        Next::Falls if *keep == Action::Unguarded && ends(self.document, at) => {
                            falls = false;
                        }
                        Next::Falls => {}
                        Next::Jumps { targets, falls: on } => {
                            jumps = targets;
                            falls = *on && *keep != Action::Unguarded;
                        }
                        Next::Ends => falls = false,
                    }
                }
            }
            for &target in jumps.iter().chain(falls.then_some(&(at + 1))) {
                if inside(target) {
                    node.inside.push((target - start) as usize);
                } else {
                    node.outside.push(target as usize);
                }
            }
            nodes.push(node);
        }
        let mut reached = vec![false; nodes.len()];
        let mut work = vec![0usize];
        self.falls = end.checked_sub(1).is_some_and(|last| {
            !matches!(
                body.lines[last as usize].next,
                Next::Ends | Next::Jumps { falls: false, .. }
            )
        });
        while let Some(at) = work.pop() {
            if at >= nodes.len() || std::mem::replace(&mut reached[at], true) {
                continue;
            }
            work.extend(nodes[at].inside.iter().copied());
        }
        for (at, node) in nodes.iter_mut().enumerate() {
            if !reached[at] {
                *node = Node::default();
            }
        }
        let out = live_out(&nodes, &later, dense.len());
        for (at, node) in nodes.iter().enumerate() {
            let statement = start + at as u32;
            let Some(_) = instruction(self.document, statement) else {
                continue;
            };
            let read = node.writes.iter().any(|write| out[at].contains(write));
            if !reached[at] || (node.removable && !read) {
                self.actions[at] = Action::Gone;
            }
            if let Action::Constants(all) = &mut self.actions[at]
                && node.writes.len() == all.len()
                && all.len() > 1
            {
                let mut register = node.writes.iter();
                all.retain(|_| register.next().is_some_and(|it| out[at].contains(it)));
            }
        }
        Ok(())
    }

    pub(super) fn length(&self) -> usize {
        (self.start..self.end)
            .filter(|&at| instruction(self.document, at).is_some())
            .count()
    }

    pub(super) fn copied(&self) -> usize {
        (self.start..self.end)
            .filter(|&at| {
                instruction(self.document, at).is_some() && *self.action(at) != Action::Gone
            })
            .count()
    }

    pub(super) fn model(&self, cx: &Context<'_>, members: usize, uniform: bool) -> Model {
        let weight = |at: u32| self.weights[(at - self.start) as usize];
        let check = match uniform {
            true => cx.costs.uniform_check(members),
            false => cx.costs.check(members),
        };
        let mut model = Model {
            check: check * weight(self.start),
            ..Model::default()
        };
        let mut blocks: FxHashSet<Block> = FxHashSet::default();
        let mut slots = 0.0;
        for &block in &cx.function.layout {
            for &inst in &cx.function.blocks[block].insts {
                let Some(at) = self.document.statements[inst] else {
                    continue;
                };
                if !(self.start..self.end).contains(&at) || self.skipped.contains(&block) {
                    continue;
                }
                blocks.insert(block);
                let cycles = counts(cx, inst) * cx.weights[block];
                model.region += cycles;
                if cycles > 0.0 {
                    slots += cx.costs.slots(cx.function, inst) * cx.weights[block];
                }
                match self.action(at) {
                    Action::Keep | Action::Unguarded => model.special += cycles,
                    _ => {
                        model.memory_killed += usize::from(touches(&cx.function.insts[inst].op));
                    }
                }
            }
        }
        for at in self.start..self.end {
            model.special += match self.action(at) {
                Action::Constants(all) => all.len() as f64 * cx.costs.literal() * weight(at),
                Action::Move { .. } | Action::Add { .. } => cx.costs.literal() * weight(at),
                _ => 0.0,
            };
        }
        let entered = cx.weights[cx.function.entry()];
        model.end_overlap(cx.costs, slots, weight(self.start), entered);
        model.blocks = blocks.len().max(1);
        model
    }

    /// The lines of the copy.
    pub(super) fn print(&self, suffix: &str) -> Vec<String> {
        let own = self.document.tree.statements();
        let labels: FxHashSet<&str> = (self.start..self.end)
            .filter_map(|at| match &own[at as usize].kind {
                StatementKind::Label(name) => Some(name.text.as_str()),
                _ => None,
            })
            .collect();
        let mut out = Vec::new();
        let mut location: Option<&Statement> = None;
        let outer = self
            .document
            .body
            .lines
            .get(self.start as usize)
            .map_or(0, |line| line.depth);
        for at in self.start..self.end {
            let statement = &own[at as usize];
            let mut lines: Vec<String> = Vec::new();
            match &statement.kind {
                StatementKind::Label(name) => {
                    location = None;
                    out.push(format!("{}{suffix}:", name.text));
                    continue;
                }
                StatementKind::Location(_) => {
                    location = Some(statement);
                    continue;
                }
                // Registers and memory declared among the statements are declared already.
                StatementKind::Declaration(_)
                    if self.document.body.lines[at as usize].depth <= outer =>
                {
                    continue;
                }
                StatementKind::Instruction(i) => match self.action(at) {
                    Action::Gone => continue,
                    Action::Keep => lines.push(self.renamed(statement.span, i, &labels, suffix)),
                    Action::Unguarded => {
                        let span = Span::new(i.opcode.span.start, statement.span.end);
                        lines.push(self.renamed(span, i, &labels, suffix));
                    }
                    Action::Constants(all) => {
                        lines.extend(all.iter().map(|(name, ty, bits)| literal(name, ty, *bits)));
                    }
                    Action::Move {
                        kind, to, source, ..
                    } => {
                        lines.push(format!("mov.{kind} \t{to}, {source};"));
                    }
                    Action::Add {
                        kind,
                        to,
                        source,
                        zero,
                        ..
                    } => lines.push(format!("{kind} \t{to}, {source}, {zero};")),
                },
                _ => lines.push(self.slice(statement.span).to_owned()),
            }
            if let Some(location) = location.take() {
                out.push(format!("\t{}", self.slice(location.span).trim_end()));
            }
            out.extend(lines.into_iter().map(|line| format!("\t{line}")));
        }
        out
    }

    fn slice(&self, span: Span) -> &str {
        self.document
            .text
            .get(span.start as usize..span.end as usize)
            .unwrap_or("")
    }

    /// A statement's text with the copies' labels.
    fn renamed(
        &self,
        span: Span,
        i: &Instruction,
        labels: &FxHashSet<&str>,
        suffix: &str,
    ) -> String {
        let mut text = self.slice(span).to_owned();
        if i.opcode.text == "bra"
            && let Some(Operand::Name(name)) = i.operands.first()
            && labels.contains(name.text.as_str())
        {
            let at = (name.span.end - span.start) as usize;
            if at <= text.len() {
                text.insert_str(at, suffix);
            }
        }
        text
    }
}

impl Document<'_> {
    /// The register that a name of a statement means.
    pub(super) fn register(&self, at: u32, name: &Name) -> Option<Register> {
        let places = &self.body.lines.get(at as usize)?.places;
        let place = places.iter().find(|(place, _)| *place == name.span.start)?;
        Some(place.1)
    }
}

pub(super) fn instruction<'a>(document: &Document<'a>, at: u32) -> Option<&'a Instruction> {
    match &document.tree.statements().get(at as usize)?.kind {
        StatementKind::Instruction(instruction) => Some(instruction),
        _ => None,
    }
}

/// Lanes that execute it do not go on.
fn ends(document: &Document<'_>, at: u32) -> bool {
    instruction(document, at)
        .is_some_and(|i| matches!(i.opcode.text.as_str(), "ret" | "exit" | "trap"))
}

/// Returns the constants behind the check, and the blocks that are not reached there.
fn folded(
    document: &Document<'_>,
    cx: &Context<'_>,
    candidate: &Candidate,
) -> Result<(Folded, FxHashSet<Block>), Refusal> {
    let block = cx
        .lowest(&candidate.members)
        .map_err(|_| Refusal::NoRegister)?;
    let blocks: Vec<Block> = cx
        .flow
        .order
        .iter()
        .copied()
        .filter(|&it| cx.dominators.dominates(block, it))
        .collect();
    let after: Vec<Inst> = cx.function.blocks[block]
        .insts
        .iter()
        .copied()
        .filter(|&inst| document.statements[inst].is_none_or(|at| at > candidate.statement))
        .collect();
    let folded = fold(cx.function, &candidate.members, &blocks, &after, cx.zeros);
    let skipped = blocks
        .into_iter()
        .filter(|block| !folded.reached.contains(block));
    let skipped = skipped.collect();
    Ok((folded, skipped))
}

/// Executions of each statement of a region.
fn weights(document: &Document<'_>, cx: &Context<'_>, start: u32, end: u32) -> Vec<f64> {
    let mut found: Vec<Option<f64>> = vec![None; (end - start) as usize];
    for &block in &cx.function.layout {
        for &inst in &cx.function.blocks[block].insts {
            if let Some(at) = document.statements[inst]
                && (start..end).contains(&at)
            {
                found[(at - start) as usize] = Some(cx.weights[block]);
            }
        }
    }
    let mut last = found.iter().flatten().next().copied().unwrap_or(1.0);
    found
        .into_iter()
        .map(|it| {
            last = it.unwrap_or(last);
            last
        })
        .collect()
}

/// Returns the treatment of a statement, without regard to unread results.
fn decide(document: &Document<'_>, cx: &Context<'_>, folded: &Folded, at: u32) -> Action {
    let function = document.function;
    let Some(i) = instruction(document, at) else {
        return Action::Keep;
    };
    let of = |value: Value| folded.of(function, value);
    if let Some(guard) = &i.guard
        && let Some(Some(Known::Constant(bits))) = document.value_at(&guard.predicate).map(of)
    {
        if (bits & 1 == 1) == guard.negated {
            return Action::Gone;
        }
        if !document.body.lines[at as usize].removable {
            return Action::Unguarded;
        }
    }
    let line = &document.body.lines[at as usize];
    if !line.removable {
        return Action::Keep;
    }
    let Some(first) = i.operands.first() else {
        return Action::Keep;
    };
    let names = written(first);
    if names.is_empty() || names.len() != line.writes.len() {
        return Action::Keep;
    }
    let values: Option<Vec<Value>> = names.iter().map(|name| document.value_at(name)).collect();
    let Some(values) = values else {
        return Action::Keep;
    };
    let types: Vec<&SmolStr> = line
        .writes
        .iter()
        .map(|&write| &document.body.types[write as usize])
        .collect();
    let constants: Option<Vec<(SmolStr, SmolStr, u64)>> = values
        .iter()
        .zip(&names)
        .zip(&types)
        .map(|((&value, name), ty)| {
            let bits = folded.constant(function, value)?;
            mov_kind(ty)?;
            Some((name.text.clone(), (*ty).clone(), bits))
        })
        .collect();
    if let Some(constants) = constants {
        // A move of a literal stays what it is.
        if i.opcode.text == "mov"
            && i.guard.is_none()
            && !matches!(i.operands.get(1), Some(Operand::Name(_)))
        {
            return Action::Keep;
        }
        return Action::Constants(constants);
    }
    if i.guard.is_some() || values.len() != 1 || i.opcode.text == "mov" {
        return Action::Keep;
    }
    if let Some(left) = sum(document, cx, folded, i, at) {
        return left;
    }
    let modes = ["ftz", "sat", "rz", "rm", "rp"];
    if modes.iter().any(|mode| i.has(mode)) {
        return Action::Keep;
    }
    let Some(Known::Copy(source)) = of(values[0]) else {
        return Action::Keep;
    };
    if source == values[0] {
        return Action::Keep;
    }
    for operand in &i.operands[1..] {
        if let Operand::Name(name) = operand
            && let Some(value) = document.value_at(name)
            && of(value) == Some(Known::Copy(source))
            && let Some(register) = document.register(at, name)
            && let (Some(to), Some(from)) = (
                mov_kind(types[0]),
                mov_kind(&document.body.types[register as usize]),
            )
            && to == from
        {
            if line.writes.contains(&register) {
                return Action::Gone;
            }
            return Action::Move {
                kind: to,
                to: names[0].text.clone(),
                source: name.text.clone(),
                from: register,
            };
        }
    }
    Action::Keep
}

/// Returns the operation that remains of a multiply-add with a factor of zero, where a move would not round,
/// flush or saturate.
fn sum(
    document: &Document<'_>,
    cx: &Context<'_>,
    folded: &Folded,
    i: &Instruction,
    at: u32,
) -> Option<Action> {
    let function = document.function;
    let ty = i.modifiers.last()?;
    let zero = match ty.as_str() {
        "f32" => "0f00000000",
        "f64" => "0d0000000000000000",
        _ => return None,
    };
    let modes = ["ftz", "sat"];
    if !matches!(i.opcode.text.as_str(), "fma" | "mad")
        || !modes.iter().any(|mode| i.has(mode))
        || i.has("relu")
        || cx.zeros != Zeros::Absorb
    {
        return None;
    }
    let nothing = |operand: &Operand| match operand {
        Operand::Name(name) => document.value_at(name).is_some_and(|value| {
            folded
                .constant(function, value)
                .is_some_and(|bits| ir::numbers::to_f64(function.ty(value), bits) == 0.0)
                && function.ty(value).is_float()
        }),
        Operand::Float32(bits, _) => f32::from_bits(*bits) == 0.0,
        _ => false,
    };
    let [Operand::Name(to), left, right, Operand::Name(from)] = i.operands.as_slice() else {
        return None;
    };
    let register = document.register(at, from)?;
    (nothing(left) || nothing(right)).then(|| Action::Add {
        kind: i.full_name().replacen(i.opcode.text.as_str(), "add", 1),
        to: to.text.clone(),
        source: from.text.clone(),
        from: register,
        zero,
    })
}

/// The registers that an operand names as results.
fn written(operand: &Operand) -> Vec<&Name> {
    match operand {
        Operand::Name(name) => vec![name],
        Operand::Vector(parts, _) => parts.iter().flat_map(written).collect(),
        Operand::Pair(left, right, _) => {
            let mut names = written(left);
            names.extend(written(right));
            names
        }
        _ => Vec::new(),
    }
}

/// Returns how a register of this type is moved.
fn mov_kind(ty: &str) -> Option<&'static str> {
    Some(match ty {
        "pred" => "pred",
        "f32" => "f32",
        "f64" => "f64",
        "b16" | "u16" | "s16" | "f16" | "bf16" => "b16",
        "b32" | "u32" | "s32" | "f16x2" | "bf16x2" => "b32",
        "b64" | "u64" | "s64" => "b64",
        _ => return None,
    })
}

pub(super) fn literal(name: &str, ty: &str, bits: u64) -> String {
    let mut out = String::new();
    let _ = match mov_kind(ty) {
        Some("pred") => write!(
            out,
            "mov.pred \t{name}, {};",
            if bits & 1 == 1 { "-1" } else { "0" }
        ),
        Some("f32") => write!(out, "mov.f32 \t{name}, 0f{:08X};", bits as u32),
        Some("f64") => write!(out, "mov.f64 \t{name}, 0d{bits:016X};"),
        Some("b16") => write!(out, "mov.b16 \t{name}, {};", bits as u16 as i16),
        Some("b32") => write!(out, "mov.b32 \t{name}, {};", bits as u32 as i32),
        _ => write!(out, "mov.b64 \t{name}, {};", bits as i64),
    };
    out
}
