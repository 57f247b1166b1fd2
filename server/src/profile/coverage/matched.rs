//! Counts of places and lines on the edges of the functions of a file.
//!
//! A branch of the code as it is lowered stands where its condition does; `&&` and `||` at their operator.
//! The counts of a condition are put on both of its edges, and the flow of control determines the rest.

use super::gcov::{GcovFunction, GcovLine};
use super::llvm::LlvmFunction;
use super::places::{Labels, Places};
use super::{Coverage, CoverageError};
use crate::db::{self, Database, File, Item};
use crate::profile::import::{Imported, function_of, functions, profile_of};
use crate::program::{self, Language, own_items};
use facts::paths::bounds::{CountBounds, EdgeCounts};
use facts::paths::partly_known::{Contradiction, PartlyKnown, SidePair};
use facts::paths::{PathGraph, PathNumbers, PathRefusal, certain_edge};
use facts::values::stored::{StoredItem, edge_item};
use ir::entity::Entity;
use ir::{Block, BranchKind, Function, Op, Site, Terminator};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use syntax::c_family::ast::{BinaryOp, Expr, ExprKind, UnaryOp};
use syntax::{FileId, LineIndex, Span};

/// Branches of a function that are named one by one.
const MOST_NAMED: usize = 6;

/// The reason why a branch has bounds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
pub(super) enum Untold {
    #[error("it is inlined, and the counts are of all calls")]
    Inlined,
    #[error("a macro spells it, or it stands for several branches")]
    Several,
    #[error("other conditions share its line")]
    Shared,
    #[error("nothing tells which of its sides has which count")]
    EitherSide,
    #[error("nothing was counted there")]
    Uncounted,
}

/// The parts of a function's counts that were not understood.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum Lost {
    #[error("`{0}` is not in the counts")]
    Function(String),
    #[error("`{function}`: {refusal}")]
    Numbers {
        function: String,
        refusal: PathRefusal,
    },
    #[error(
        "`{function}`: the counts contradict each other around line {line} (optimised code, a call that did not return, or another version of the source?); they are left out"
    )]
    Contradiction { function: String, line: u32 },
    #[error("`{function}`, line {line}: {} times {}: {why}", between(*.count), .way)]
    Branch {
        function: String,
        line: u32,
        /// The first that has bounds.
        way: Way,
        count: CountBounds,
        why: Untold,
    },
    #[error("`{function}`: {more} more branches have bounds")]
    More { function: String, more: usize },
}

fn between(count: CountBounds) -> String {
    match count.most {
        u64::MAX => format!("at least {}", count.least),
        most => format!("between {} and {most}", count.least),
    }
}

/// A way on from a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum Way {
    #[error("true")]
    True,
    #[error("false")]
    False,
    #[error("to label {}", .0 + 1)]
    Label(usize),
}

/// The profile of a file from the counts of a tool.
///
/// # Errors
/// The file is not of C.
pub fn import(db: &Database, file: File, coverage: &Coverage) -> Result<Imported, CoverageError> {
    if file.language(db) != Language::C {
        return Err(CoverageError::Language);
    }
    let lines = db::line_index(db, file);
    let mut places = Places::default();
    for (place, item) in own_items(db, file) {
        if place.file == FileId::MAIN {
            places.add(db::parsed(db, item), place.start, lines);
        }
    }
    let mut items = Vec::new();
    let mut lost = Vec::new();
    for (item, number) in functions(db, file) {
        let lowered = db::lowered(db, item);
        let Some(function) = function_of(lowered, number) else {
            continue;
        };
        let Some(evidence) = evidence(coverage, &function.name) else {
            lost.push(Lost::Function(function.name.to_string()));
            continue;
        };
        let scene = Scene {
            db,
            file,
            item,
            function,
            lines,
            places: &places,
            evidence,
        };
        match scene.item(&mut lost) {
            Ok(stored) => items.push(stored),
            Err(why) => lost.push(why),
        }
    }
    Ok(Imported {
        // A function of C runs on one lane.
        profile: profile_of(db, file, items, "import", 1),
        lost: lost.iter().map(Lost::to_string).collect(),
    })
}

/// The counts of a function.
#[derive(Clone, Copy)]
enum Evidence<'a> {
    Gcov(&'a GcovFunction),
    Llvm(&'a LlvmFunction),
}

fn evidence<'a>(coverage: &'a Coverage, name: &str) -> Option<Evidence<'a>> {
    match coverage {
        Coverage::Gcov(file) => {
            let mut all = file.functions.iter();
            all.find(|function| function.name == name)
                .map(Evidence::Gcov)
        }
        Coverage::Llvm(file) => {
            let mut all = file.functions.iter();
            all.find(|function| function.name == name)
                .map(Evidence::Llvm)
        }
    }
}

/// The counts of a condition's sides.
#[derive(Clone, Copy, Debug)]
enum Sides {
    /// Held, and did not.
    Told(CountBounds, CountBounds),
    /// Either has one of them.
    Either([u64; 2]),
}

struct Scene<'a> {
    db: &'a Database,
    file: File,
    item: Item<'a>,
    function: &'a Function,
    lines: &'a LineIndex,
    places: &'a Places,
    evidence: Evidence<'a>,
}

impl Scene<'_> {
    fn item(&self, lost: &mut Vec<Lost>) -> Result<StoredItem, Lost> {
        let function = self.function;
        let name = || function.name.to_string();
        let graph = PathGraph::of(function);
        PathNumbers::new(graph.clone()).map_err(|refusal| Lost::Numbers {
            function: name(),
            refusal,
        })?;
        let entries = match self.evidence {
            Evidence::Gcov(of) => of.entries,
            Evidence::Llvm(of) => of.entries,
        };
        let mut untold: BTreeMap<usize, Untold> = BTreeMap::new();
        let contradiction = |Contradiction { node }| Lost::Contradiction {
            function: name(),
            line: self.line(Block::new(node)),
        };
        let known = self
            .known(&graph, entries, &mut untold)
            .map_err(contradiction)?;
        let counts = known.solved(&graph).map_err(contradiction)?;
        self.bounded(&counts, &untold, lost);
        let mut stored = edge_item(function, self.item.ordinal(self.db), entries, &counts);
        crate::profile::set_lines(self.db, self.file, self.item, function, &mut stored);
        Ok(stored)
    }

    /// The counts that are laid on edges and blocks.
    fn known(
        &self,
        graph: &PathGraph,
        entries: u64,
        untold: &mut BTreeMap<usize, Untold>,
    ) -> Result<PartlyKnown, Contradiction> {
        let mut known = PartlyKnown::new(graph, CountBounds::exact(entries));
        let mut at: FxHashMap<(u32, Span), usize> = FxHashMap::default();
        let blocks = self.function.blocks.iter();
        for (_, data) in blocks.filter(|(block, _)| certain_edge(self.function, *block).is_none()) {
            if data.terminator.edges().len() > 1 {
                *at.entry((data.loc.site.0, data.loc.span)).or_default() += 1;
            }
        }
        for (block, data) in self.function.blocks.iter() {
            if data.terminator.edges().len() < 2 {
                continue;
            }
            let node = block.index();
            if let Some(edge) = certain_edge(self.function, block) {
                known.edge(node, 1 - edge, CountBounds::exact(0))?;
                continue;
            }
            let several = at.get(&(data.loc.site.0, data.loc.span)) != Some(&1);
            let inlined = data.loc.site != Site(0);
            let found = match self.place(block) {
                _ if several => Err(Untold::Several),
                _ if inlined => Err(Untold::Inlined),
                None => Err(Untold::Several),
                Some(place) => match &data.terminator {
                    Terminator::Switch { cases, .. } => {
                        self.switch(&mut known, node, cases.len(), place)?
                    }
                    _ => self.branch(&mut known, node, place, data.branch)?,
                },
            };
            if let Err(why) = found {
                untold.insert(node, why);
            }
        }
        if let Evidence::Gcov(of) = self.evidence {
            self.statements(&mut known, &of.lines)?;
        }
        Ok(known)
    }

    /// The place of a block's condition in the file.
    fn place(&self, block: Block) -> Option<Span> {
        let loc = self.function.blocks[block].loc;
        let (id, span) = program::absolute(self.db, self.file, self.item, self.function, loc)?;
        (id == FileId::MAIN).then_some(span)
    }

    /// The line of a block's end, from 1; 0 where it has none.
    fn line(&self, block: Block) -> u32 {
        self.place(block)
            .map_or(0, |place| self.lines.line_column(place.start).0 + 1)
    }

    fn branch(
        &self,
        known: &mut PartlyKnown,
        node: usize,
        place: Span,
        kind: BranchKind,
    ) -> Result<Result<(), Untold>, Contradiction> {
        let mut told = Err(Untold::Uncounted);
        if let Some(condition) = self.places.condition(place) {
            match self.sides(&condition.expr, condition.start) {
                Ok(Sides::Told(held, not)) => {
                    known.edge(node, 0, held)?;
                    known.edge(node, 1, not)?;
                    told = Ok(());
                }
                Ok(Sides::Either(counts)) => {
                    known.pairs.push(SidePair { node, counts });
                    told = Err(Untold::EitherSide);
                }
                Err(why) => told = Err(why),
            }
            // Of `&&` and `||` the operator may stand on another line than what is left of it.
            self.at_most(known, node, condition.expr.span.shifted(condition.start))?;
        }
        if let (Evidence::Gcov(of), true) = (self.evidence, kind != BranchKind::ShortCircuit) {
            for (edge, first) in self.places.sides(place).into_iter().enumerate() {
                let line = first.and_then(|first| self.places.alone(first, self.lines));
                let counted = line.and_then(|line| of.lines.get(&line));
                if let Some(counted) = counted {
                    known.edge(node, edge, CountBounds::exact(counted.count))?;
                }
            }
        }
        Ok(told)
    }

    /// Bounds the sides of a decision: none is taken more often than all that is counted on its lines.
    fn at_most(
        &self,
        known: &mut PartlyKnown,
        node: usize,
        place: Span,
    ) -> Result<(), Contradiction> {
        let Evidence::Gcov(of) = self.evidence else {
            return Ok(());
        };
        let (first, last) = (
            self.lines.line_column(place.start).0 + 1,
            self.lines.line_column(place.end).0 + 1,
        );
        let mut all = 0u64;
        for line in (first..=last).filter_map(|line| of.lines.get(&line)) {
            all = line
                .branches
                .iter()
                .fold(all, |sum, &n| sum.saturating_add(n));
        }
        // Without a branch something else stands there.
        let counted = (first..=last).any(|line| {
            let line = of.lines.get(&line);
            line.is_some_and(|line| !line.branches.is_empty())
        });
        match counted {
            true => known.node(
                node,
                CountBounds {
                    least: 0,
                    most: all,
                },
            ),
            false => Ok(()),
        }
    }

    /// The counts of a condition's sides, from those of its parts.
    fn sides(&self, e: &Expr, start: u32) -> Result<Sides, Untold> {
        match self.counted(e.span.shifted(start)) {
            Err(Untold::Uncounted) => {}
            found => return found,
        }
        let told = |e: &Expr| match self.sides(e, start)? {
            Sides::Told(held, not) => Ok((held, not)),
            Sides::Either(_) => Err(Untold::EitherSide),
        };
        match &e.kind {
            ExprKind::Paren(inner) => self.sides(inner, start),
            ExprKind::Unary {
                op: UnaryOp::Not,
                operand,
            } => Ok(match self.sides(operand, start)? {
                Sides::Told(held, not) => Sides::Told(not, held),
                either => either,
            }),
            ExprKind::Binary {
                op, left, right, ..
            } if matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr) => {
                let ((held, not), (then_held, then_not)) = (told(left)?, told(right)?);
                Ok(match op {
                    BinaryOp::LogicalAnd => Sides::Told(then_held, not.plus(then_not)),
                    _ => Sides::Told(held.plus(then_held), then_not),
                })
            }
            _ => Err(Untold::Uncounted),
        }
    }

    /// The counts that stand at a place itself.
    fn counted(&self, place: Span) -> Result<Sides, Untold> {
        match self.evidence {
            Evidence::Llvm(of) => {
                let (first, from) = self.lines.line_column(place.start);
                let (last, to) = self.lines.line_column(place.end);
                let key = [first, from, last, to].map(|n| u64::from(n) + 1);
                let &(held, not) = of.conditions.get(&key).ok_or(Untold::Uncounted)?;
                Ok(Sides::Told(
                    CountBounds::exact(held),
                    CountBounds::exact(not),
                ))
            }
            Evidence::Gcov(of) => {
                let alone = self.places.decides_alone(place, self.lines);
                let line = alone.ok_or(Untold::Shared)?;
                let line = of.lines.get(&line).ok_or(Untold::Uncounted)?;
                match line.branches[..] {
                    [first, second] if first == second => {
                        let both = CountBounds::exact(first);
                        Ok(Sides::Told(both, both))
                    }
                    [first, second] => Ok(Sides::Either([first, second])),
                    [] => Err(Untold::Uncounted),
                    _ => Err(Untold::Shared),
                }
            }
        }
    }

    fn switch(
        &self,
        known: &mut PartlyKnown,
        node: usize,
        cases: usize,
        place: Span,
    ) -> Result<Result<(), Untold>, Contradiction> {
        let Some(labels) = self.places.switches.get(&place) else {
            return Ok(Err(Untold::Several));
        };
        let of = match self.evidence {
            Evidence::Llvm(of) => of,
            Evidence::Gcov(of) => {
                let line = self.places.decides_alone(place, self.lines);
                if let Some(line) = line.and_then(|line| of.lines.get(&line))
                    && line.branches.len() > 1
                {
                    let all = line
                        .branches
                        .iter()
                        .fold(0u64, |sum, &n| sum.saturating_add(n));
                    known.node(node, CountBounds::exact(all))?;
                }
                self.at_most(known, node, place)?;
                return Ok(Err(Untold::EitherSide));
            }
        };
        if labels.ranges || labels.cases.len() != cases {
            return Ok(Err(Untold::Several));
        }
        let Labels { cases, default, .. } = labels;
        let mut all = Ok(());
        for (edge, label) in cases.iter().copied().chain(*default).enumerate() {
            let (line, column) = self.lines.line_column(label.start);
            let here = [line, column].map(|n| u64::from(n) + 1);
            let mut at = of.conditions.iter().filter(|(key, _)| key[..2] == here);
            match (at.next(), at.next()) {
                (Some((_, &(jumps, _))), None) => {
                    known.edge(node, edge, CountBounds::exact(jumps))?
                }
                _ => all = Err(Untold::Uncounted),
            }
        }
        Ok(all)
    }

    /// Blocks that hold the whole of a statement which has a line to itself.
    fn statements(
        &self,
        known: &mut PartlyKnown,
        lines: &FxHashMap<u32, GcovLine>,
    ) -> Result<(), Contradiction> {
        let start = self.item.place(self.db).start;
        let own = self.function.span.shifted(start);
        for &statement in &self.places.simple {
            if statement.start < own.start || own.end < statement.end {
                continue;
            }
            let line = self.places.alone(statement, self.lines);
            let Some(counted) = line.and_then(|line| lines.get(&line)) else {
                continue;
            };
            let inside = |loc: ir::Loc| {
                let span = loc.span.shifted(start);
                loc.site == Site(0)
                    && !loc.span.is_empty()
                    && statement.start <= span.start
                    && span.end <= statement.end
            };
            let holds = |block: Block| {
                let data = &self.function.blocks[block];
                let branches = data.terminator.edges().len() > 1 && inside(data.loc);
                branches
                    || data.insts.iter().any(|&inst| {
                        let inst = &self.function.insts[inst];
                        is_placed(&inst.op) && inside(inst.loc)
                    })
            };
            let mut blocks = self.function.blocks.keys().filter(|&block| holds(block));
            if let (Some(block), None) = (blocks.next(), blocks.next()) {
                known.node(block.index(), CountBounds::exact(counted.count))?;
            }
        }
        Ok(())
    }

    /// Says which branches have bounds, and why.
    fn bounded(&self, counts: &EdgeCounts, untold: &BTreeMap<usize, Untold>, lost: &mut Vec<Lost>) {
        let function = || self.function.name.to_string();
        let mut found = Vec::new();
        for (node, edges) in counts.edges.iter().enumerate() {
            let wide = edges.iter().position(|count| !count.is_exact());
            if let (Some(edge), Some(&why)) = (wide, untold.get(&node)) {
                found.push(Lost::Branch {
                    function: function(),
                    line: self.line(Block::new(node)),
                    way: match (edge, edges.len()) {
                        (0, 2) => Way::True,
                        (_, 2) => Way::False,
                        (edge, _) => Way::Label(edge),
                    },
                    count: edges[edge],
                    why,
                });
            }
        }
        let more = found.len().saturating_sub(MOST_NAMED);
        lost.extend(found.into_iter().take(MOST_NAMED));
        if more > 0 {
            lost.push(Lost::More {
                function: function(),
                more,
            });
        }
    }
}

/// Returns false for conditions that are computed elsewhere than where they stand.
const fn is_placed(op: &Op) -> bool {
    !matches!(
        op,
        Op::Const(_)
            | Op::Undef
            | Op::Parameter(_)
            | Op::SymbolAddress(_)
            | Op::Special(_)
            | Op::Alloca { .. }
    )
}
