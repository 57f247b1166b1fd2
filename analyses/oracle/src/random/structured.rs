//! Control flow as people write it: statements, nested. Values computed in a loop's header stay usable after the
//! loop, which is where temporal divergence shows.

use super::emit::Emitter;
use ir::builder::Slot;
use ir::entity::{Block, Value};
use ir::function::{BranchKind, FunctionKind, SourceLoop, Terminator};
use ir::inst::*;
use ir::types::Type;

/// The blocks that `break` and `continue` of one loop lead to.
#[derive(Clone, Copy, Debug)]
struct Loop {
    exit: Block,
    next: Block,
    /// All lanes of the workgroup are in it together: nothing may let one of them out alone.
    together: bool,
}

struct Statements {
    left: u32,
    loops: Vec<Loop>,
    depth: u32,
    /// All lanes of the workgroup that started come here together (with `Shape::barriers`).
    together: bool,
    /// Some lanes may have ended.
    ended: bool,
}

/// Emits statements and the return. Says how often one instruction may be executed.
pub(super) fn body(e: &mut Emitter<'_>) -> u64 {
    let mut statements = Statements {
        left: e.shape.blocks,
        loops: Vec::new(),
        depth: 0,
        together: e.shape.barriers,
        ended: false,
    };
    let mut rounds = 1;
    let kernel = e.b.function.kind == FunctionKind::Kernel;
    if kernel && e.full_warps && e.shape.warp_ops && e.random.percent(40) {
        statements.butterfly(e);
        rounds = 16;
    }
    while statements.left > 0 && !e.b.is_terminated() {
        statements.statement(e);
    }
    if !e.b.is_terminated() {
        e.leave();
    }
    // A loop's header runs once more than its body.
    (u64::from(e.shape.fuel) + 2)
        .saturating_pow(e.shape.loop_depth)
        .saturating_mul(rounds)
}

impl Statements {
    /// Statements of an arm or a body; their values are forgotten afterwards.
    fn list(&mut self, e: &mut Emitter<'_>) {
        let mark = e.pool.len();
        let shared = e.shared_by_all.len();
        let count = 1 + e.random.below(3);
        self.depth += 1;
        for _ in 0..count {
            if e.b.is_terminated() {
                break;
            }
            self.statement(e);
        }
        self.depth -= 1;
        e.pool.truncate(mark);
        e.shared_by_all.truncate(shared);
    }

    /// Writes the inside of a branch or loop that lanes may take apart, or together.
    fn apart(
        &mut self,
        together: bool,
        e: &mut Emitter<'_>,
        inside: impl FnOnce(&mut Self, &mut Emitter<'_>),
    ) {
        let before = self.together;
        self.together &= together;
        inside(self, e);
        self.together = before;
    }

    fn barrier(&mut self, e: &mut Emitter<'_>) {
        let together = self.together && !self.ended;
        if together && e.random.percent(30) {
            super::memory::exchange_again(e);
        } else if !together && e.shape.stray_barriers && e.random.percent(8) {
            e.b.inst(Op::Barrier(Barrier::Workgroup), &[], &[]);
        }
    }

    fn statement(&mut self, e: &mut Emitter<'_>) {
        e.block();
        e.step();
        if e.shape.barriers || e.shape.stray_barriers {
            self.barrier(e);
        }
        if self.left == 0 || self.depth > 6 {
            return;
        }
        self.left -= 1;
        let loops_allowed = (self.loops.len() as u32) < e.shape.loop_depth;
        match e.random.below(20) {
            0..=6 => self.conditional(e),
            7..=9 if loops_allowed => self.counted(e),
            10..=11 if loops_allowed => self.while_loop(e),
            12 if loops_allowed => self.do_while(e),
            13..=14 if e.shape.switches => self.switch(e),
            15..=16 if !self.loops.is_empty() => self.jump_out(e),
            17 if self.depth > 0 => self.early_end(e),
            _ => {}
        }
    }

    fn conditional(&mut self, e: &mut Emitter<'_>) {
        let together = e.shape.barriers && e.random.percent(60);
        let condition = if together {
            e.shared_condition()
        } else {
            e.condition()
        };
        let (then, otherwise, join) = (e.b.create_block(), e.b.create_block(), e.b.create_block());
        let two_arms = e.random.percent(50);
        let target = if two_arms { otherwise } else { join };
        e.b.branch(condition, then, target, BranchKind::If);
        self.apart(together, e, |s, e| {
            e.b.switch_to(then);
            s.list(e);
            e.b.jump(join);
            if two_arms {
                e.b.switch_to(otherwise);
                s.list(e);
                e.b.jump(join);
            }
        });
        e.b.switch_to(join);
    }

    /// `if (condition) break / continue` of this or an outer loop.
    fn jump_out(&mut self, e: &mut Emitter<'_>) {
        let number = e.random.below(self.loops.len() as u32) as usize;
        let target = self.loops[number];
        // Loops that lanes are in together are left together.
        let kept = self.loops[number..].iter().any(|l| l.together);
        if kept && !self.together {
            return;
        }
        let condition = if kept {
            e.shared_condition()
        } else {
            e.condition()
        };
        if e.shape.barriers && !kept {
            self.together = false;
        }
        let target = if e.random.percent(60) {
            target.exit
        } else {
            target.next
        };
        let next = e.b.create_block();
        e.b.branch(condition, target, next, BranchKind::If);
        e.b.switch_to(next);
    }

    /// `if (condition) return`, or the end of the lane.
    fn early_end(&mut self, e: &mut Emitter<'_>) {
        if self.loops.iter().any(|l| l.together) {
            return;
        }
        self.ended = true;
        let condition = e.condition();
        let (end, next) = (e.b.create_block(), e.b.create_block());
        e.b.branch(condition, end, next, BranchKind::If);
        e.b.switch_to(end);
        if e.shape.kills && e.random.percent(30) {
            e.b.terminate(Terminator::Kill, BranchKind::Implied);
        } else {
            e.leave();
        }
        e.b.switch_to(next);
    }

    /// `for (i = start; i < bound; i += step)`, the bound at most `Shape::fuel`.
    fn counted(&mut self, e: &mut Emitter<'_>) {
        let i = e.b.slot(Type::I32);
        let zero = e.b.int(Type::I32, 0);
        e.b.write(i, zero);
        let together = self.together && !self.ended && e.random.percent(60);
        let value = if together {
            e.shared_value()
        } else {
            e.any(Type::I32)
        };
        let bound = self.bound(e, value);
        let (header, body, latch, exit) = self.open(e);
        let count = e.b.read(i);
        let shared = e.shared_by_all.len();
        if together {
            e.shared_by_all.push(count);
        }
        let go = e.b.int_compare(IntCondition::LessSigned, count, bound);
        let most = i64::from(e.shape.fuel);
        e.add(count, (0, most));
        e.b.branch(go, body, exit, BranchKind::Loop);
        let header_values = e.pool.len();
        self.inside(e, body, exit, latch, together);
        e.shared_by_all.truncate(shared);
        e.b.jump(latch);
        e.b.switch_to(latch);
        let count = e.b.read(i);
        let one = e.b.int(Type::I32, 1);
        let wrap = if e.shape.wrap_flags {
            Wrap::NO_SIGNED
        } else {
            Wrap::MAY
        };
        let next = e.b.binary(BinaryOp::Add, wrap, count, one);
        e.b.write(i, next);
        e.b.jump(header);
        e.pool.truncate(header_values);
        e.b.switch_to(exit);
    }

    /// A number from 0 to `Shape::fuel`.
    fn bound(&mut self, e: &mut Emitter<'_>, value: Value) -> Value {
        let zero = e.b.int(Type::I32, 0);
        let most = e.b.int(Type::I32, i64::from(e.shape.fuel));
        let low = e.b.binary(BinaryOp::MaxSigned, Wrap::MAY, value, zero);
        e.b.binary(BinaryOp::MinSigned, Wrap::MAY, low, most)
    }

    /// `while (condition && k++ < fuel)`; values of the header are usable after the loop.
    fn while_loop(&mut self, e: &mut Emitter<'_>) {
        let k = self.counter(e);
        let (header, body, latch, exit) = self.open(e);
        let more = self.burn(e, k);
        e.block();
        let condition = e.condition();
        let go = e.b.binary(BinaryOp::And, Wrap::MAY, condition, more);
        e.b.branch(go, body, exit, BranchKind::Loop);
        let header_values = e.pool.len();
        self.inside(e, body, exit, header, false);
        e.b.jump(latch);
        e.b.switch_to(latch);
        e.b.jump(header);
        e.pool.truncate(header_values);
        e.b.switch_to(exit);
    }

    /// `do { } while (condition && k++ < fuel)`: the body's first statements are usable after the loop.
    fn do_while(&mut self, e: &mut Emitter<'_>) {
        let k = self.counter(e);
        let (header, body, latch, exit) = self.open(e);
        e.block();
        let header_values = e.pool.len();
        e.b.jump(body);
        self.inside(e, body, exit, latch, false);
        e.b.jump(latch);
        e.b.switch_to(latch);
        e.pool.truncate(header_values);
        let more = self.burn(e, k);
        let condition = e.condition();
        let go = e.b.binary(BinaryOp::And, Wrap::MAY, condition, more);
        e.b.branch(go, header, exit, BranchKind::Loop);
        e.pool.truncate(header_values);
        e.b.switch_to(exit);
    }

    /// `for (o = warp / 2; o > 0; o >>= 1) v = v op shuffle_xor(v, o)`, or upwards, where all lanes are; one
    /// in five lacks a step. Its result is usable after the loop.
    fn butterfly(&mut self, e: &mut Emitter<'_>) {
        let ty = e.exchange_type();
        let op = e.exchange_operation(ty);
        let (v, o) = (e.b.slot(ty), e.b.slot(Type::I32));
        let first = e.any(ty);
        e.b.write(v, first);
        let (up, lacks) = (e.random.percent(40), e.random.percent(20));
        let warp = i64::from(e.warp_size);
        let (start, end) = match (up, lacks) {
            (true, false) => (1, warp),
            (true, true) => (1, warp / 2),
            (false, false) => (warp / 2, 0),
            (false, true) => (warp / 2, 1),
        };
        let start = e.b.int(Type::I32, start);
        e.b.write(o, start);
        let (header, body, latch, exit) = self.open(e);
        let distance = e.b.read(o);
        let value = e.b.read(v);
        let end = e.b.int(Type::I32, end);
        let condition = match up {
            true => IntCondition::LessSigned,
            false => IntCondition::GreaterSigned,
        };
        let more = e.b.int_compare(condition, distance, end);
        e.b.branch(more, body, exit, BranchKind::Loop);
        e.b.switch_to(body);
        let next = e.exchange_with(op, value, distance);
        e.b.write(v, next);
        e.b.jump(latch);
        e.b.switch_to(latch);
        let one = e.b.int(Type::I32, 1);
        let step = match up {
            true => BinaryOp::Shl,
            false => BinaryOp::ShrSigned,
        };
        let next = e.b.binary(step, Wrap::MAY, distance, one);
        e.b.write(o, next);
        e.b.jump(header);
        e.b.switch_to(exit);
        let after = e.b.read(v);
        e.add(after, super::emit::full(ty));
        if let Some(named) = e.named.iter().find(|named| named.ty == ty).copied() {
            e.b.write(named.slot, after);
        }
    }

    fn counter(&mut self, e: &mut Emitter<'_>) -> Slot {
        let k = e.b.slot(Type::I32);
        let zero = e.b.int(Type::I32, 0);
        e.b.write(k, zero);
        k
    }

    /// Counts one iteration; whether there may be one more.
    fn burn(&mut self, e: &mut Emitter<'_>, k: Slot) -> Value {
        let count = e.b.read(k);
        let one = e.b.int(Type::I32, 1);
        let next = e.b.binary(BinaryOp::Add, Wrap::MAY, count, one);
        e.b.write(k, next);
        let most = e.b.int(Type::I32, i64::from(e.shape.fuel));
        e.b.int_compare(IntCondition::LessSigned, count, most)
    }

    /// Header, body, latch and exit of a loop; the header is current.
    fn open(&mut self, e: &mut Emitter<'_>) -> (Block, Block, Block, Block) {
        let (header, body, latch, exit) = (
            e.b.create_block(),
            e.b.create_block(),
            e.b.create_block(),
            e.b.create_block(),
        );
        let loc = e.b.loc();
        let unroll = e.random.percent(10).then(|| e.random.below(3));
        e.b.function.loops.push(SourceLoop {
            header,
            loc,
            unroll,
            pipeline: None,
            independent: false,
        });
        e.b.jump(header);
        e.b.switch_to(header);
        (header, body, latch, exit)
    }

    fn inside(
        &mut self,
        e: &mut Emitter<'_>,
        body: Block,
        exit: Block,
        next: Block,
        together: bool,
    ) {
        self.loops.push(Loop {
            exit,
            next,
            together,
        });
        e.b.switch_to(body);
        self.apart(together, e, Self::list);
        self.loops.pop();
    }

    fn switch(&mut self, e: &mut Emitter<'_>) {
        let count = 2 + e.random.below(3) as usize;
        let arms: Vec<Block> = (0..count).map(|_| e.b.create_block()).collect();
        let join = e.b.create_block();
        let default = if e.random.percent(50) {
            join
        } else {
            *e.random.pick(&arms)
        };
        e.switch(&arms, default);
        let before = self.together;
        self.together = false;
        for (number, &arm) in arms.iter().enumerate() {
            e.b.switch_to(arm);
            self.list(e);
            let next = arms.get(number + 1).copied().unwrap_or(join);
            let falls_through = e.random.percent(30);
            e.b.jump(if falls_through { next } else { join });
        }
        self.together = before;
        e.b.switch_to(join);
    }
}
