//! Functions whose control flow is extreme in one direction, of any size, on which passes must stay linear.
//! Every one reads and writes variables everywhere, so that construction has work to do.

use ir::builder::{FunctionBuilder, Slot};
use ir::entity::{Block, Value};
use ir::function::*;
use ir::inst::*;
use ir::types::Type;

/// A direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extreme {
    /// One block of additions with distinct constants.
    Straight,
    /// `if` after `if`.
    Ladder,
    /// `if` in `if`, with nothing behind the inner one.
    IfNest,
    /// `while` in `while`.
    WhileNest,
    /// `do` in `do`: every header is in the frontier of all inner blocks.
    DoNest,
    /// One `switch` with fall-through between its cases.
    Switch,
    /// `if (c) return` after `if (c) return`: one exit with as many edges.
    Exits,
    /// `x = x` in loop after loop: parameters that are copies of copies.
    Copies,
    /// A block that jumps into the middle of another's loop, over and over.
    Irreducible,
}

impl Extreme {
    pub const ALL: [Extreme; 9] = [
        Extreme::Straight,
        Extreme::Ladder,
        Extreme::IfNest,
        Extreme::WhileNest,
        Extreme::DoNest,
        Extreme::Switch,
        Extreme::Exits,
        Extreme::Copies,
        Extreme::Irreducible,
    ];
}

/// A kernel of about `values` values.
pub fn extreme(kind: Extreme, values: u32) -> Function {
    let mut b = FunctionBuilder::new("extreme", FunctionKind::Kernel, Language::Text);
    let n = b.parameter("n", "int", &[Type::I32])[0];
    let tid = b.special(Special::ThreadId(0), Type::I32);
    let slots = [b.slot(Type::I32), b.slot(Type::I32)];
    b.write(slots[0], n);
    b.write(slots[1], tid);
    let mut shape = Shaper { b, slots, n };
    match kind {
        Extreme::Straight => (0..values / 2).for_each(|number| shape.add(i64::from(number))),
        Extreme::Ladder => (0..values / 4).for_each(|_| shape.ladder()),
        Extreme::IfNest => shape.if_nest(values / 4),
        Extreme::WhileNest => shape.while_nest(values / 5),
        Extreme::DoNest => shape.do_nest(values / 5),
        Extreme::Switch => shape.switch(values / 3),
        Extreme::Exits => shape.exits(values / 3),
        Extreme::Copies => (0..values / 4).for_each(|_| shape.copy()),
        Extreme::Irreducible => (0..values / 6).for_each(|_| shape.irreducible()),
    }
    let Shaper { mut b, slots, .. } = shape;
    b.function.returns = vec![Type::I32, Type::I32];
    let results = [b.read(slots[0]), b.read(slots[1])];
    b.ret(results);
    b.finish()
}

struct Shaper {
    b: FunctionBuilder,
    slots: [Slot; 2],
    n: Value,
}

impl Shaper {
    fn add(&mut self, number: i64) {
        let constant = self.b.int(Type::I32, number);
        let value = self.b.read(self.slots[0]);
        let sum = self.b.binary(BinaryOp::Add, Wrap::MAY, value, constant);
        self.b.write(self.slots[0], sum);
    }
    fn condition(&mut self) -> Value {
        let value = self.b.read(self.slots[1]);
        self.b.int_compare(IntCondition::LessSigned, value, self.n)
    }
    fn blocks<const N: usize>(&mut self) -> [Block; N] {
        std::array::from_fn(|_| self.b.create_block())
    }

    fn ladder(&mut self) {
        let condition = self.condition();
        let [then, join] = self.blocks();
        self.b.branch(condition, then, join, BranchKind::If);
        self.b.switch_to(then);
        self.add(1);
        self.b.jump(join);
        self.b.switch_to(join);
    }

    fn if_nest(&mut self, depth: u32) {
        let mut joins = Vec::new();
        for _ in 0..depth {
            let condition = self.condition();
            let [then, join] = self.blocks();
            self.b.branch(condition, then, join, BranchKind::If);
            self.b.switch_to(then);
            self.add(1);
            joins.push(join);
        }
        for join in joins.into_iter().rev() {
            self.b.jump(join);
            self.b.switch_to(join);
        }
    }

    fn while_nest(&mut self, depth: u32) {
        let mut loops = Vec::new();
        for _ in 0..depth {
            let [header, body, exit] = self.blocks();
            self.b.jump(header);
            self.b.switch_to(header);
            let condition = self.condition();
            self.b.branch(condition, body, exit, BranchKind::Loop);
            self.b.switch_to(body);
            self.add(1);
            loops.push((header, exit));
        }
        for (header, exit) in loops.into_iter().rev() {
            self.b.jump(header);
            self.b.switch_to(exit);
        }
    }

    fn do_nest(&mut self, depth: u32) {
        let mut headers = Vec::new();
        for _ in 0..depth {
            let [header] = self.blocks();
            self.b.jump(header);
            self.b.switch_to(header);
            self.add(1);
            headers.push(header);
        }
        for header in headers.into_iter().rev() {
            let condition = self.condition();
            let [exit] = self.blocks();
            self.b.branch(condition, header, exit, BranchKind::Loop);
            self.b.switch_to(exit);
        }
    }

    fn switch(&mut self, cases: u32) {
        let value = self.b.read(self.slots[0]);
        let arms: Vec<Block> = (0..cases.max(1)).map(|_| self.b.create_block()).collect();
        let [join] = self.blocks();
        let terminator = Terminator::Switch {
            value,
            cases: (0..)
                .zip(&arms)
                .map(|(number, &arm)| (number, Edge::to(arm)))
                .collect(),
            default: Edge::to(join),
        };
        self.b.terminate(terminator, BranchKind::Switch);
        for (number, &arm) in arms.iter().enumerate() {
            self.b.switch_to(arm);
            self.add(1);
            let next = arms.get(number + 1).copied().unwrap_or(join);
            self.b.jump(if number % 2 == 0 { next } else { join });
        }
        self.b.switch_to(join);
    }

    fn exits(&mut self, count: u32) {
        let [exit] = self.blocks();
        for _ in 0..count {
            self.add(1);
            let condition = self.condition();
            let [next] = self.blocks();
            self.b.branch(condition, exit, next, BranchKind::If);
            self.b.switch_to(next);
        }
        self.b.jump(exit);
        self.b.switch_to(exit);
    }

    fn copy(&mut self) {
        let [header, body, exit] = self.blocks();
        self.b.jump(header);
        self.b.switch_to(header);
        let condition = self.condition();
        self.b.branch(condition, body, exit, BranchKind::Loop);
        self.b.switch_to(body);
        for slot in self.slots {
            let same = self.b.read(slot);
            self.b.write(slot, same);
        }
        self.b.jump(header);
        self.b.switch_to(exit);
    }

    fn irreducible(&mut self) {
        let [left, right, exit] = self.blocks();
        let condition = self.condition();
        self.b.branch(condition, left, right, BranchKind::Jump);
        self.b.switch_to(left);
        self.add(1);
        self.b.jump(right);
        self.b.switch_to(right);
        self.add(2);
        let condition = self.condition();
        self.b.branch(condition, left, exit, BranchKind::Jump);
        self.b.switch_to(exit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_are_verified_and_of_their_size() {
        for kind in Extreme::ALL {
            for values in [10, 1000, 20_000] {
                let function = extreme(kind, values);
                assert_eq!(ir::verify(&function), Ok(()), "{kind:?}");
            }
            let live: usize = extreme(kind, 1000).layout.len();
            assert!(kind == Extreme::Straight || live > 100, "{kind:?}: {live}");
        }
    }

    #[test]
    fn a_variable_that_is_only_copied_needs_no_parameter() {
        let function = extreme(Extreme::Copies, 1000);
        let params = |b: &Block| function.blocks[*b].params.len();
        assert_eq!(function.layout.iter().map(params).sum::<usize>(), 1);
    }
}
