//! The partings and meetings of the threads of a walk: conditions that all threads share, that differ between
//! them, and that depend on data.

use super::{Decision, Decisions, Group, Mask, ROUNDS, Side, Step, Walk, may_wait};

use crate::workgroup::terms::Row;
use ir::{Block, Edge, Terminator, Value};
use std::rc::Rc;

impl Walk<'_> {
    pub(super) fn part(&self, mask: &Mask, row: &Row) -> Parted {
        let none = || Mask::with_capacity(self.threads.count());
        let mut parted = Parted {
            then: none(),
            otherwise: none(),
            open: none(),
            unknown: none(),
            condition: None,
        };
        let mut differ = false;
        let same = matches!(row, Row::Same(_));
        for thread in mask.ones() {
            let known = row.at(thread);
            let side = match known.as_number() {
                Some(0) => &mut parted.otherwise,
                Some(_) => &mut parted.then,
                None => match self.terms.condition(known) {
                    // What one thread alone has loaded is data, too.
                    Some(condition) if same || !self.terms.is_data(known) => {
                        differ |= parted.condition.is_some_and(|other| other != condition);
                        parted.condition = Some(condition);
                        &mut parted.open
                    }
                    _ => &mut parted.unknown,
                },
            };
            side.insert(thread);
        }
        if differ {
            parted.unknown.union_with(&parted.open);
            parted.open = none();
            parted.condition = None;
        }
        parted
    }

    pub(super) fn terminator(&mut self, mut group: Group, stack: &mut Vec<Group>) -> Step {
        let function = self.function;
        match &function.blocks[group.block].terminator {
            Terminator::Jump(edge) => {
                self.take(&group.mask, edge);
                group.block = edge.block;
                stack.push(group);
            }
            Terminator::Branch {
                condition,
                then,
                otherwise,
                ..
            } => {
                let row = self.values[*condition].clone();
                let parted = self.part(&group.mask, &row);
                return self.branch(group, parted, then, otherwise, stack);
            }
            Terminator::Switch {
                value,
                cases,
                default,
            } => {
                let row = self.values[*value].clone();
                return self.switch(group, &row, cases, default, stack);
            }
            Terminator::Return(_)
            | Terminator::Kill
            | Terminator::Trap
            | Terminator::Unreachable => {
                self.live.difference_with(&group.mask);
            }
            Terminator::None => return Step::End,
        }
        Step::On
    }

    pub(super) fn branch(
        &mut self,
        group: Group,
        mut parted: Parted,
        then: &Edge,
        otherwise: &Edge,
        stack: &mut Vec<Group>,
    ) -> Step {
        let join = self.post.immediate(group.block);
        let mut decisions = group.decisions.clone();
        if let Some((condition, sense)) = parted.condition {
            let side = self.decide(&group, condition, sense, then.block, otherwise.block, join);
            let other = match side {
                Some(Side::Then) => {
                    parted.then.union_with(&parted.open);
                    otherwise.block
                }
                Some(Side::Otherwise) => {
                    parted.otherwise.union_with(&parted.open);
                    then.block
                }
                None => {
                    parted.unknown.union_with(&parted.open);
                    then.block
                }
            };
            decisions = Some(Rc::new(Decision {
                number: condition,
                above: decisions,
            }));
            let (waits, comes_back) = self.region(other, join, group.block);
            if waits && !comes_back {
                self.barrier();
            }
        }
        if !parted.unknown.is_clear() {
            let Some(join) = join else {
                return Step::End;
            };
            self.hide(
                &parted.unknown,
                group.block,
                &[then.block, otherwise.block],
                join,
            );
        }
        let sides = [(otherwise, parted.otherwise), (then, parted.then)];
        self.go(group, join, decisions, &sides, stack);
        Step::On
    }

    pub(super) fn switch(
        &mut self,
        group: Group,
        row: &Row,
        cases: &[(i64, Edge)],
        default: &Edge,
        stack: &mut Vec<Group>,
    ) -> Step {
        let join = self.post.immediate(group.block);
        let none = || Mask::with_capacity(self.threads.count());
        let mut sides: Vec<(&Edge, Mask)> = vec![(default, none())];
        sides.extend(cases.iter().map(|(_, edge)| (edge, none())));
        let mut unknown = none();
        for thread in group.mask.ones() {
            match row.at(thread).as_number() {
                Some(number) => {
                    let case = cases.iter().position(|(value, _)| *value == number);
                    sides[case.map_or(0, |case| case + 1)].1.insert(thread);
                }
                None => unknown.insert(thread),
            }
        }
        if !unknown.is_clear() {
            let Some(join) = join else {
                return Step::End;
            };
            let targets: Vec<Block> = sides.iter().map(|(edge, _)| edge.block).collect();
            self.hide(&unknown, group.block, &targets, join);
        }
        let decisions = group.decisions.clone();
        self.go(group, join, decisions, &sides, stack);
        Step::On
    }

    /// Sends threads on their ways; those that know none wait at the join.
    pub(super) fn go(
        &mut self,
        group: Group,
        join: Option<Block>,
        decisions: Decisions,
        sides: &[(&Edge, Mask)],
        stack: &mut Vec<Group>,
    ) {
        let taken: Vec<&(&Edge, Mask)> = sides.iter().filter(|(_, m)| !m.is_clear()).collect();
        let undecided = match (&decisions, &group.decisions) {
            (Some(a), Some(b)) => Rc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        };
        if let [(edge, mask)] = taken[..]
            && *mask == group.mask
            && undecided
        {
            self.take(mask, edge);
            stack.push(Group {
                block: edge.block,
                ..group
            });
            return;
        }
        let until = group.until;
        if let Some(join) = join
            && until != Some(join)
        {
            stack.push(Group {
                block: join,
                ..group
            });
        }
        let until = join.or(until);
        for (edge, mask) in taken {
            self.take(mask, edge);
            stack.push(Group {
                block: edge.block,
                mask: mask.clone(),
                until,
                decisions: decisions.clone(),
            });
        }
    }

    pub(super) fn take(&mut self, mask: &Mask, edge: &Edge) {
        let params = &self.function.blocks[edge.block].params;
        let rows: Vec<Row> = edge
            .args
            .iter()
            .map(|&arg| self.values[arg].clone())
            .collect();
        for (&param, row) in params.iter().zip(rows) {
            if self.needed.contains(&param) {
                self.steps += mask.count_ones(..) as u64;
                self.set(mask, param, row);
            }
        }
    }

    /// The side that all threads take whose condition has no number; `None`: they can't agree.
    pub(super) fn decide(
        &mut self,
        group: &Group,
        condition: u32,
        sense: bool,
        then: Block,
        otherwise: Block,
        join: Option<Block>,
    ) -> Option<Side> {
        let side = |holds: bool| match holds == sense {
            true => Side::Then,
            false => Side::Otherwise,
        };
        if let Some(&holds) = self.decided.get(&condition) {
            return Some(side(holds));
        }
        let around = self.forest.of(group.block);
        let stays = |target: Block| around.is_some_and(|l| self.forest.contains(l, target));
        let chosen = match (stays(then), stays(otherwise)) {
            (true, false) | (false, true) => {
                let stay = self.stays.entry(group.block).or_insert(0);
                *stay += 1;
                let leaves = *stay > ROUNDS;
                if leaves {
                    *stay = 0;
                }
                let inside = around.is_some_and(|l| self.forest.contains(l, then));
                if inside != leaves {
                    Side::Then
                } else {
                    Side::Otherwise
                }
            }
            _ => {
                let larger = || self.size(otherwise) > self.size(then);
                let usual = match join == Some(then) || (join.is_none() && larger()) {
                    true => Side::Otherwise,
                    false => Side::Then,
                };
                // Behind a decision without accesses both ways are the same.
                let number = self.reaches[group.block].then_some(self.reversible);
                self.reversible += usize::from(number.is_some());
                match (number.is_some() && self.reversed == number, usual) {
                    (false, usual) => usual,
                    (true, Side::Then) => Side::Otherwise,
                    (true, Side::Otherwise) => Side::Then,
                }
            }
        };
        let holds = (chosen == Side::Then) == sense;
        self.settle(condition, holds).map(side)
    }

    /// Decides a condition as usual, or else as earlier decisions permit it; `None`: all threads at once can do neither.
    pub(super) fn settle(&mut self, condition: u32, usual: bool) -> Option<bool> {
        let permitted = [usual, !usual]
            .into_iter()
            .find(|&holds| self.bounds.permit(&mut self.terms, condition, holds))?;
        self.bounds.decide(&mut self.terms, condition, permitted);
        self.decided.insert(condition, permitted);
        Some(permitted)
    }

    /// The number of blocks behind one.
    pub(super) fn size(&self, from: Block) -> usize {
        self.behind(from, None).len()
    }

    pub(super) fn behind(&self, from: Block, join: Option<Block>) -> Vec<Block> {
        let mut seen = Vec::new();
        let mut work = vec![from];
        while let Some(block) = work.pop() {
            if Some(block) == join || seen.contains(&block) {
                continue;
            }
            seen.push(block);
            work.extend(self.flow.successors[block].iter().copied());
        }
        seen
    }

    /// The blocks from `from` up to `join`: some may wait at a barrier; some way leads to `branch`.
    pub(super) fn region(&self, from: Block, join: Option<Block>, branch: Block) -> (bool, bool) {
        let blocks = self.behind(from, join);
        let waits = blocks.iter().any(|&block| {
            let mut insts = self.function.blocks[block].insts.iter();
            insts.any(|&inst| may_wait(&self.function.insts[inst].op))
        });
        (waits, blocks.contains(&branch))
    }

    /// Hides the effects of threads between a branch and its join, and the values that they bring along:
    /// nothing is known of them.
    pub(super) fn hide(&mut self, mask: &Mask, branch: Block, targets: &[Block], join: Block) {
        let mut blocks = Vec::new();
        for &target in targets {
            blocks.extend(self.behind(target, Some(join)));
        }
        blocks.sort_unstable();
        blocks.dedup();
        let (waits, _) = targets.iter().fold((false, false), |known, &target| {
            let found = self.region(target, Some(join), branch);
            (known.0 || found.0, known.1 || found.1)
        });
        if waits {
            self.barrier();
        }
        self.epoch += 1;
        let function = self.function;
        let mut forgotten: Vec<Value> = function.blocks[join].params.clone();
        for block in blocks {
            let data = &function.blocks[block];
            forgotten.extend(&data.params);
            for &inst in &data.insts {
                forgotten.extend(&function.insts[inst].results);
            }
        }
        for value in forgotten {
            if self.needed.contains(&value) {
                self.set(mask, value, Row::NOTHING);
            }
        }
        self.steps += 1;
    }
}

/// The threads of a group by the side of a branch that they take.
pub(super) struct Parted {
    pub(super) then: Mask,
    pub(super) otherwise: Mask,
    /// The threads that the condition without a number decides.
    pub(super) open: Mask,
    pub(super) unknown: Mask,
    pub(super) condition: Option<(u32, bool)>,
}
