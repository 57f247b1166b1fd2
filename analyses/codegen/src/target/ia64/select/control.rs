//! Blocks, edges, loops: drafts with explicit exits, then a layout with branches.

use super::{Draft, Exit, Selector, file_of, put};
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Block, Function, Name, Operand, Operation, Virtual};
use ir::{Edge, Terminator, Type, Value, ValueDef};
use isa::ia64::Mnemonic;
use isa::ia64::Reg;
use rustc_hash::FxHashSet;

/// Operations of a loop's test that are repeated at its end.
const REPEATED: usize = 16;

impl Selector<'_> {
    pub(super) fn blocks(&mut self) {
        let source = self.source;
        for (at, &block) in source.layout.iter().enumerate() {
            self.starts.insert(block, at as u32);
            self.drafts.push(Draft {
                operations: Vec::new(),
                exit: Exit::Never,
                loc: source.blocks[block].loc,
                homes: (block, block),
            });
        }
        self.keep();
        for (at, &block) in source.layout.iter().enumerate() {
            self.now = at;
            self.here = block;
            self.forget();
            if at == 0 {
                self.parameters();
            }
            for &param in &source.blocks[block].params {
                if let Some(&kept) = self.kept.get(&param) {
                    let own = self.home(param);
                    self.copy(kept, Name::Virtual(own));
                }
            }
            for &inst in &source.blocks[block].insts {
                self.instruction(inst);
            }
            self.loc = source.blocks[block].loc;
            self.terminator(block);
        }
        if source.layout.is_empty() {
            self.refuse(crate::refusal::Refusal::Unknown {
                reason: "the function has no body".into(),
            });
        }
    }

    /// Parameters of loops that end with a test of their own and whose value is read behind them: the latch moves on in
    /// front of the test.
    fn keep(&mut self) {
        let source = self.source;
        let mut bottoms: FxHashSet<ir::Block> = FxHashSet::default();
        for &block in &source.layout {
            for edge in source.blocks[block].terminator.edges() {
                if self.moves_on(block, edge) {
                    bottoms.insert(edge.block);
                }
            }
        }
        let mut kept: Vec<Value> = Vec::new();
        let mut look = |this: &Self, value: Value, at: ir::Block, test: bool| {
            if let ValueDef::Param(header, _) = source.values[value].def
                && bottoms.contains(&header)
                && (test
                    || this
                        .forest
                        .of(header)
                        .is_some_and(|own| !this.forest.contains(own, at)))
                && this.widths.needed.contains(&value)
                && !kept.contains(&value)
            {
                kept.push(value);
            }
        };
        for &block in &source.layout {
            for &inst in &source.blocks[block].insts {
                let data = &source.insts[inst];
                data.operands()
                    .for_each(|arg| look(self, arg, block, false));
            }
            let terminator = &source.blocks[block].terminator;
            let branches = terminator.selector().is_some();
            for &value in terminator.reads() {
                look(self, value, block, branches);
            }
            for edge in terminator.edges() {
                // On the way out the value is read behind the loop.
                for &arg in &edge.args {
                    look(self, arg, edge.block, false);
                }
            }
        }
        for value in kept {
            let register = self.out.register(file_of(self.ty(value)));
            self.kept.insert(value, register);
        }
    }

    /// Returns true if this edge is the only one of a test at a loop's end that goes on: its moves stand in front of
    /// the test.
    fn moves_on(&self, block: ir::Block, edge: &Edge) -> bool {
        let Terminator::Branch {
            then, otherwise, ..
        } = &self.source.blocks[block].terminator
        else {
            return false;
        };
        let other = if std::ptr::eq(edge, then) {
            otherwise
        } else {
            then
        };
        let Some(own) = self.forest.of(edge.block) else {
            return false;
        };
        self.forest.is_header(edge.block)
            && self.forest.contains(own, block)
            && !self.forest.contains(own, other.block)
    }

    fn terminator(&mut self, block: ir::Block) {
        let source = self.source;
        self.drafts[self.now].loc = self.loc;
        match &source.blocks[block].terminator {
            Terminator::None | Terminator::Unreachable | Terminator::Trap => {
                self.drafts[self.now].exit = Exit::Never;
            }
            Terminator::Kill => self.drafts[self.now].exit = Exit::Return,
            Terminator::Jump(edge) => {
                self.moves(edge);
                self.drafts[self.now].exit = Exit::Jump(self.starts[&edge.block]);
            }
            Terminator::Return(values) => {
                self.results(values);
                self.drafts[self.now].exit = Exit::Return;
            }
            Terminator::Branch {
                condition,
                then,
                otherwise,
                ..
            } => {
                if let Some(known) = self.number(*condition) {
                    let edge = if known != 0 { then } else { otherwise };
                    self.moves(edge);
                    self.drafts[self.now].exit = Exit::Jump(self.starts[&edge.block]);
                    return;
                }
                let on = self.kept.get(condition).copied();
                let condition = on.unwrap_or_else(|| self.condition(*condition));
                let negation = self.negations.get(&condition).copied();
                for edge in [then, otherwise] {
                    if self.moves_on(block, edge) {
                        self.moves(edge);
                    }
                }
                let from = self.now;
                let then = self.edge(block, then);
                let otherwise = self.edge(block, otherwise);
                self.drafts[from].exit = Exit::Branch {
                    condition,
                    negation,
                    then,
                    otherwise,
                };
            }
            Terminator::Switch {
                value,
                cases,
                default,
            } => {
                let value = self.integer(*value);
                for (case, edge) in cases {
                    let p = self.predicate();
                    let q = self.predicate();
                    if (-128..128).contains(case) {
                        put!(self, "cmp.eq", [p, q] = [*case, value]);
                    } else {
                        let with = self.constant(*case);
                        put!(self, "cmp.eq", [p, q] = [with, value]);
                    }
                    let from = self.now;
                    let then = self.edge(block, edge);
                    let next = self.draft((block, block));
                    self.drafts[from].exit = Exit::Branch {
                        condition: p,
                        negation: Some(q),
                        then,
                        otherwise: next,
                    };
                    self.now = next as usize;
                }
                self.moves(default);
                self.drafts[self.now].exit = Exit::Jump(self.starts[&default.block]);
            }
        }
    }

    pub(super) fn draft(&mut self, homes: (ir::Block, ir::Block)) -> u32 {
        self.drafts.push(Draft {
            operations: Vec::new(),
            exit: Exit::Never,
            loc: self.loc,
            homes,
        });
        self.drafts.len() as u32 - 1
    }

    /// The draft to which an edge of several leads.
    fn edge(&mut self, block: ir::Block, edge: &Edge) -> u32 {
        let target = self.starts[&edge.block];
        let none = edge.args.is_empty() || self.moves_on(block, edge);
        if none {
            return target;
        }
        let (before, here) = (self.now, self.here);
        let split = self.draft((block, edge.block));
        self.now = split as usize;
        // A use on the way out of a loop is a use behind it.
        self.here = edge.block;
        let inside = self
            .forest
            .of(here)
            .is_some_and(|own| self.forest.contains(own, edge.block));
        if inside {
            self.here = here;
        }
        self.forget();
        self.moves(edge);
        self.drafts[self.now].exit = Exit::Jump(target);
        self.forget();
        (self.now, self.here) = (before, here);
        split
    }

    /// Block parameters take their values, all at once.
    fn moves(&mut self, edge: &Edge) {
        let source = self.source;
        // With the type from which it is extended on the way.
        let mut copies: Vec<(Virtual, Virtual, Option<Type>)> = Vec::new();
        let mut rest: Vec<(Virtual, Value, bool)> = Vec::new();
        for (&arg, &param) in edge.args.iter().zip(&source.blocks[edge.block].params) {
            if !self.widths.needed.contains(&param) {
                continue;
            }
            let to = self.home(param);
            let zeros = self.widths.is_plain(param) && !self.widths.is_plain(arg);
            let constant = matches!(
                source.defining(arg).map(|data| &data.op),
                Some(ir::Op::Const(_) | ir::Op::Undef)
            );
            if constant {
                rest.push((to, arg, zeros));
            } else {
                let from = self.read(arg);
                if from != to {
                    copies.push((to, from, zeros.then(|| self.ty(arg))));
                }
            }
        }
        while !copies.is_empty() {
            let free = copies
                .iter()
                .position(|(to, ..)| copies.iter().all(|(_, from, _)| from != to));
            match free {
                Some(at) => match copies.remove(at) {
                    (to, from, None) => self.copy(to, Name::Virtual(from)),
                    (to, from, Some(ty)) => self.zero_extend(to, Name::Virtual(from), ty),
                },
                None => {
                    // A circle: one of them steps aside.
                    let (_, from, _) = copies[0];
                    let aside = self.out.register(self.out.file(from));
                    self.copy(aside, Name::Virtual(from));
                    for copy in &mut copies {
                        if copy.1 == from {
                            copy.1 = aside;
                        }
                    }
                }
            }
        }
        for (to, value, zeros) in rest {
            match self.ty(value) {
                Type::Bool => {
                    let relation = if self.number(value).unwrap_or(0) & 1 != 0 {
                        op!("cmp.eq")
                    } else {
                        op!("cmp.ne")
                    };
                    put!(self, relation, [to, Reg::P0] = [Reg::R0, Reg::R0]);
                }
                ty if ty.is_float() => {
                    let from = self.floating(value);
                    put!(self, "mov", [to] = [from]);
                }
                ty => match self.number(value).unwrap_or(0) & mask(ty, zeros) {
                    number @ -0x20_0000..0x20_0000 => put!(self, "mov", [to] = [number]),
                    number => put!(self, "movl", [to] = [number]),
                },
            }
        }
    }

    // ------------------------------------------------------------------------------------------- layout

    pub(super) fn finish(mut self) -> Function {
        let leading = std::mem::take(&mut self.entry);
        // Behind what takes the arguments: nothing of it reads them.
        self.drafts[0].operations.splice(0..0, leading);
        self.one_latch();
        self.rotate();
        let order = self.order();
        let mut number = vec![u32::MAX; self.drafts.len()];
        for (at, &draft) in order.iter().enumerate() {
            number[draft as usize] = at as u32;
        }
        for (at, &draft) in order.iter().enumerate() {
            let weight = self.weight(draft);
            let Draft {
                mut operations,
                exit,
                loc,
                ..
            } = self.drafts[draft as usize].clone();
            let mut branch =
                |mnemonic: Mnemonic, predicate: Option<Virtual>, target: Option<u32>| {
                    operations.push(
                        Operation::plain(
                            mnemonic,
                            Vec::new(),
                            vec![match target {
                                Some(target) => Operand::Block(number[target as usize]),
                                None => Operand::fixed(Reg::branch(0)),
                            }],
                        )
                        .under(predicate)
                        .at(loc),
                    );
                };
            let next = |target: u32| number[target as usize] == at as u32 + 1;
            let hint = |target: u32| match number[target as usize] <= at as u32 {
                true => op!("br.cond.dptk.few"),
                false => op!("br.cond.dpnt.few"),
            };
            match exit {
                Exit::Jump(to) if next(to) => {}
                Exit::Jump(to) => branch(op!("br.cond.sptk.few"), None, Some(to)),
                Exit::Branch {
                    condition,
                    negation,
                    then,
                    otherwise,
                } => match (next(then), negation) {
                    (true, Some(negation)) => {
                        branch(hint(otherwise), Some(negation), Some(otherwise))
                    }
                    _ => {
                        branch(hint(then), Some(condition), Some(then));
                        if !next(otherwise) {
                            branch(op!("br.cond.sptk.few"), None, Some(otherwise));
                        }
                    }
                },
                Exit::Return => branch(op!("br.ret.sptk.many"), None, None),
                Exit::Never => {
                    branch(op!("br.ret.sptk.many"), None, None);
                    // What never comes here ends if it does.
                    let at = operations.len() - 1;
                    operations[at].mnemonic = op!("break.m");
                    operations[at].sources = vec![Operand::Number(0)];
                    let back = Operation {
                        mnemonic: op!("br.ret.sptk.many"),
                        sources: vec![Operand::fixed(Reg::branch(0))],
                        ..operations[at].clone()
                    };
                    operations.push(back);
                }
            }
            self.out.blocks.push(Block {
                operations,
                weight,
                cycles: Vec::new(),
            });
        }
        self.out
    }

    fn weight(&self, draft: u32) -> f64 {
        let (one, other) = self.drafts[draft as usize].homes;
        let depth = self
            .forest
            .around(one)
            .filter(|&own| self.forest.contains(own, other))
            .count();
        if let Some(profile) = &self.options.weights {
            let known = |block: ir::Block| profile.get(block.0 as usize).copied().unwrap_or(1.0);
            return known(one).min(known(other));
        }
        10f64.powi(depth.min(8) as i32)
    }

    fn targets(exit: &mut Exit) -> Vec<&mut u32> {
        match exit {
            Exit::Jump(to) => vec![to],
            Exit::Branch {
                then, otherwise, ..
            } => vec![then, otherwise],
            _ => Vec::new(),
        }
    }

    /// Returns true if a draft lies in a loop.
    fn within(&self, own: ir::loops::LoopId, draft: u32) -> bool {
        let (one, other) = self.drafts[draft as usize].homes;
        self.forest.contains(own, one) && self.forest.contains(own, other)
    }

    /// Loops to whose headers several drafts lead back get one that all of them go through.
    fn one_latch(&mut self) {
        for (own, data) in self.forest.loops.clone().iter() {
            let Some(&header) = self.starts.get(&data.header) else {
                continue;
            };
            let back: Vec<u32> = (0..self.drafts.len() as u32)
                .filter(|&draft| self.within(own, draft))
                .filter(|&draft| {
                    let mut exit = self.drafts[draft as usize].exit.clone();
                    Self::targets(&mut exit).iter().any(|to| **to == header)
                })
                .collect();
            if back.len() < 2 || !data.reducible {
                continue;
            }
            let last = self.drafts[*back.last().unwrap_or(&header) as usize]
                .homes
                .0;
            let latch = self.draft((last, data.header));
            self.drafts[latch as usize].exit = Exit::Jump(header);
            for draft in back {
                let exit = &mut self.drafts[draft as usize].exit;
                for to in Self::targets(exit) {
                    if *to == header {
                        *to = latch;
                    }
                }
            }
        }
    }

    /// The test of a loop's header is repeated behind its only latch.
    fn rotate(&mut self) {
        for (own, data) in self.forest.loops.clone().iter() {
            let Some(&header) = self.starts.get(&data.header) else {
                continue;
            };
            let Exit::Branch {
                then, otherwise, ..
            } = self.drafts[header as usize].exit
            else {
                continue;
            };
            let (inside, outside) = match (self.within(own, then), self.within(own, otherwise)) {
                (true, false) => (then, otherwise),
                (false, true) => (otherwise, then),
                _ => continue,
            };
            let _ = outside;
            let latches: Vec<u32> = (0..self.drafts.len() as u32)
                .filter(|&draft| self.within(own, draft))
                .filter(|&draft| matches!(self.drafts[draft as usize].exit, Exit::Jump(to) if to == header))
                .collect();
            let [latch] = latches[..] else { continue };
            let repeated = self.drafts[header as usize].operations.clone();
            if latch == header || inside == header || repeated.len() > REPEATED || !data.reducible {
                continue;
            }
            let exit = self.drafts[header as usize].exit.clone();
            let loc = self.drafts[header as usize].loc;
            // What was the header is executed once from now on, in front of the loop.
            let before = (0..self.drafts.len() as u32)
                .filter(|&draft| !self.within(own, draft))
                .find(|&draft| {
                    let mut exit = self.drafts[draft as usize].exit.clone();
                    Self::targets(&mut exit).iter().any(|to| **to == header)
                });
            if let Some(before) = before {
                let (home, _) = self.drafts[before as usize].homes;
                self.drafts[header as usize].homes = (home, home);
            }
            let latch = &mut self.drafts[latch as usize];
            latch.operations.extend(repeated);
            latch.exit = exit;
            latch.loc = loc;
        }
    }

    /// Drafts that are reached, each behind the one that it continues: those of one predecessor that jumps are merged
    /// into it.
    fn order(&mut self) -> Vec<u32> {
        let count = self.drafts.len();
        let reach = |drafts: &[Draft]| {
            let mut arriving = vec![0u32; count];
            let mut seen = vec![false; count];
            let mut work = vec![0u32];
            seen[0] = true;
            arriving[0] = 2;
            while let Some(at) = work.pop() {
                let mut exit = drafts[at as usize].exit.clone();
                for to in Self::targets(&mut exit) {
                    arriving[*to as usize] += 1;
                    if !std::mem::replace(&mut seen[*to as usize], true) {
                        work.push(*to);
                    }
                }
            }
            (seen, arriving)
        };
        // Empty drafts are passed by.
        for at in 0..count {
            let mut exit = self.drafts[at].exit.clone();
            for to in Self::targets(&mut exit) {
                for _ in 0..count {
                    match &self.drafts[*to as usize] {
                        Draft {
                            operations,
                            exit: Exit::Jump(on),
                            ..
                        } if operations.is_empty() && on != to => *to = *on,
                        _ => break,
                    }
                }
            }
            if let Exit::Branch {
                then, otherwise, ..
            } = exit
                && then == otherwise
            {
                exit = Exit::Jump(then);
            }
            self.drafts[at].exit = exit;
        }
        let (seen, arriving) = reach(&self.drafts);
        let mut gone = vec![false; count];
        for at in 0..count {
            if !seen[at] || gone[at] {
                continue;
            }
            while let Exit::Jump(to) = self.drafts[at].exit {
                if arriving[to as usize] != 1 || to as usize == at {
                    break;
                }
                let next = self.drafts[to as usize].clone();
                gone[to as usize] = true;
                let draft = &mut self.drafts[at];
                draft.operations.extend(next.operations);
                draft.exit = next.exit;
                draft.loc = next.loc;
                // The deeper of the two tells how often it runs.
                if draft.operations.is_empty() {
                    draft.homes = next.homes;
                }
            }
        }
        self.layout(&seen, &gone)
    }

    /// Reverse post-order with ways out of loops last, then the blocks of each loop together.
    fn layout(&self, seen: &[bool], gone: &[bool]) -> Vec<u32> {
        let mut left: Vec<(u32, Vec<u32>)> = vec![(0, self.visits(0))];
        let mut entered = vec![false; self.drafts.len()];
        entered[0] = true;
        let mut order = Vec::new();
        while let Some((at, next)) = left.last_mut() {
            match next.pop() {
                Some(to) if !std::mem::replace(&mut entered[to as usize], true) => {
                    left.push((to, self.visits(to)));
                }
                Some(_) => {}
                None => {
                    order.push(*at);
                    left.pop();
                }
            }
        }
        order.reverse();
        order.retain(|&draft| seen[draft as usize] && !gone[draft as usize]);
        // Outer loops come first in the forest.
        for (own, _) in self.forest.loops.iter() {
            let inside = |draft: &u32| self.within(own, *draft);
            let Some(first) = order.iter().position(inside) else {
                continue;
            };
            let (members, others): (Vec<u32>, Vec<u32>) =
                order[first..].iter().copied().partition(inside);
            order.truncate(first);
            order.extend(members);
            order.extend(others);
        }
        order
    }
    /// Returns where a draft leads, in the reverse of the order in which it is looked at: what should follow it comes
    /// last.
    fn visits(&self, draft: u32) -> Vec<u32> {
        let mut exit = self.drafts[draft as usize].exit.clone();
        let mut next: Vec<u32> = Self::targets(&mut exit).into_iter().map(|to| *to).collect();
        let (one, other) = self.drafts[draft as usize].homes;
        let around: Vec<_> = self
            .forest
            .around(one)
            .filter(|&own| self.forest.contains(own, other))
            .collect();
        let shared = |to: u32| around.iter().filter(|&&own| self.within(own, to)).count();
        // Looked at from the end: those that leave the most loops, then the second of two.
        next.sort_by_key(|&to| std::cmp::Reverse(shared(to)));
        next
    }
}

/// The bits that a constant of this type has in its register: all, or none above its width.
const fn mask(ty: Type, zeros: bool) -> i64 {
    match zeros {
        true => (u64::MAX >> (64 - ty.bits())) as i64,
        false => -1,
    }
}
