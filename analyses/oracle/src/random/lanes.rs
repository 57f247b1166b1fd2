//! Operations across lanes, calls, and the ends of functions.

use super::RECURSION;
use super::emit::{Emitter, full};
use ir::entity::Value;
use ir::function::*;
use ir::inst::*;
use ir::types::Type;
use smallvec::SmallVec;

impl Emitter<'_> {
    /// A warp operation over the active lanes, or with a mask of just these.
    pub(super) fn warp_value(&mut self, kind: WarpKind, mut args: Vec<Value>, ty: Type) -> Value {
        let masked = self.random.percent(40)
            && !matches!(kind, WarpKind::ActiveMask | WarpKind::IsFirstLane);
        if masked {
            let active = Op::Warp(WarpOp {
                kind: WarpKind::ActiveMask,
                mask: false,
            });
            let mask = self.mask_type();
            args.push(self.b.value(active, &[], mask));
        }
        self.b
            .value(Op::Warp(WarpOp { kind, mask: masked }), &args, ty)
    }

    pub(super) fn warp(&mut self) {
        let reduce = *self.random.pick(&[
            ReduceOp::Add,
            ReduceOp::Mul,
            ReduceOp::MinSigned,
            ReduceOp::MaxSigned,
            ReduceOp::MinUnsigned,
            ReduceOp::MaxUnsigned,
            ReduceOp::And,
            ReduceOp::Or,
            ReduceOp::Xor,
        ]);
        let sources_are_active = self.shape.inactive_sources || (self.converged && self.full_warps);
        let value = match self.random.below(10) {
            0 => self.vote(),
            1 => {
                let predicate = self.any(Type::Bool);
                let ty = self.mask_type();
                if !self.types.contains(&ty) {
                    return;
                }
                self.warp_value(WarpKind::Ballot, vec![predicate], ty)
            }
            2 => {
                let ty = self.stored_type();
                let value = self.any(ty);
                self.warp_value(WarpKind::ReadFirstLane, vec![value], ty)
            }
            3 => {
                let value = self.any(Type::I32);
                self.warp_value(WarpKind::Reduce(reduce), vec![value], Type::I32)
            }
            4 => {
                let value = self.any(Type::I32);
                let kind = if self.random.percent(50) {
                    WarpKind::PrefixExclusive(reduce)
                } else {
                    WarpKind::PrefixInclusive(reduce)
                };
                self.warp_value(kind, vec![value], Type::I32)
            }
            5 => {
                let predicate = self.any(Type::Bool);
                let kind = if self.random.percent(50) {
                    WarpKind::CountBits
                } else {
                    WarpKind::PrefixCountBits
                };
                self.warp_value(kind, vec![predicate], Type::I32)
            }
            6 => {
                let value = self.any(Type::I32);
                self.warp_value(WarpKind::AllEqual, vec![value], Type::Bool)
            }
            7 => {
                let value = self.any(Type::I32);
                let ty = self.mask_type();
                if !self.types.contains(&ty) {
                    return;
                }
                self.warp_value(WarpKind::MatchAny, vec![value], ty)
            }
            _ if sources_are_active => self.shuffle(),
            _ => {
                let value = self.any(Type::I32);
                self.warp_value(WarpKind::ReadFirstLane, vec![value], Type::I32)
            }
        };
        let ty = self.b.function.ty(value);
        self.add(value, full(ty));
    }

    pub(super) fn shuffle(&mut self) -> Value {
        let ty = self.stored_type();
        let value = self.any(ty);
        let kind = *self.random.pick(&[
            WarpKind::ShuffleIndex,
            WarpKind::ShuffleUp,
            WarpKind::ShuffleDown,
            WarpKind::ShuffleXor,
            WarpKind::ReadLaneAt,
        ]);
        let lane = self.any(Type::I32);
        let most = self.b.int(Type::I32, i64::from(self.warp_size) - 1);
        let lane = self.b.binary(BinaryOp::And, Wrap::MAY, lane, most);
        let mut args = vec![value, lane];
        if kind != WarpKind::ReadLaneAt {
            args.push(self.b.int(Type::I32, i64::from(self.warp_size)));
        }
        self.warp_value(kind, args, ty)
    }

    /// `value op shuffle_xor(value, distance)` among all lanes of the warp, which are here.
    pub(super) fn exchange_with(&mut self, op: BinaryOp, value: Value, distance: Value) -> Value {
        let ty = self.b.function.ty(value);
        let width = self.b.int(Type::I32, i64::from(self.warp_size));
        let mut args = vec![value, distance, width];
        let masked = self.random.percent(60);
        if masked {
            let all = u64::MAX >> (64 - self.warp_size.min(64));
            let mask = self.mask_type();
            let all = self.b.int(mask, all as i64);
            args.push(all);
        }
        let kind = WarpKind::ShuffleXor;
        let other = Op::Warp(WarpOp { kind, mask: masked });
        let other = self.b.value(other, &args, ty);
        let (a, b) = match self.random.percent(50) {
            true => (value, other),
            false => (other, value),
        };
        self.b.binary(op, Wrap::MAY, a, b)
    }

    /// An operation that a butterfly may use; some do not commute.
    pub(super) fn exchange_operation(&mut self, ty: Type) -> BinaryOp {
        let all: &[BinaryOp] = match ty.is_float() {
            true => &[
                BinaryOp::FloatAdd,
                BinaryOp::FloatMul,
                BinaryOp::FloatMin,
                BinaryOp::FloatMax,
                BinaryOp::FloatSub,
            ],
            false => &[
                BinaryOp::Add,
                BinaryOp::Mul,
                BinaryOp::And,
                BinaryOp::Or,
                BinaryOp::Xor,
                BinaryOp::MinSigned,
                BinaryOp::MaxUnsigned,
                BinaryOp::Sub,
            ],
        };
        *self.random.pick(all)
    }

    /// A butterfly step by step; one in five lacks a step.
    pub(super) fn butterfly(&mut self) {
        let ty = self.exchange_type();
        let op = self.exchange_operation(ty);
        let mut value = self.any(ty);
        let lacks = self.random.percent(20);
        let mut distance = i64::from(self.warp_size) / if lacks { 4 } else { 2 };
        while distance > 0 {
            let lanes = self.b.int(Type::I32, distance);
            value = self.exchange_with(op, value, lanes);
            distance /= 2;
        }
        self.add(value, full(ty));
    }

    pub(super) fn exchange_type(&mut self) -> Type {
        match self.shape.floats && self.random.percent(50) {
            true => Type::F32,
            false => Type::I32,
        }
    }

    /// A call of a later function.
    pub(super) fn call(&mut self) {
        let Some(own) = self.memory.own else { return };
        if self.callees.is_empty() || self.calls_left == 0 {
            return;
        }
        self.calls_left -= 1;
        let callee = self.random.pick(&self.callees).clone();
        self.call_steps = self.call_steps.saturating_add(callee.steps);
        let depth = self.random.between(0, RECURSION);
        let depth = self.b.int(Type::I32, depth);
        let args = [depth, self.any(Type::I32), self.any(Type::I32), own];
        let guard = self.guard();
        let inst = self
            .b
            .guarded(Op::Call(callee.index), &args, &[Type::I32], guard);
        let value = self.b.results(inst)[0];
        let value = self.where_guarded(guard, value, Type::I32);
        self.add(value, full(Type::I32));
    }

    /// `if (depth > 0) a0 = self(depth - 1, ...)`, once an activation.
    pub(super) fn recursion(&mut self, index: u32, depth: Value, own: Value) {
        self.step();
        let zero = self.b.int(Type::I32, 0);
        let deeper = self.b.int_compare(IntCondition::GreaterSigned, depth, zero);
        let (call, join) = (self.b.create_block(), self.b.create_block());
        self.b.branch(deeper, call, join, BranchKind::If);
        self.b.switch_to(call);
        let one = self.b.int(Type::I32, 1);
        let less = self.b.binary(BinaryOp::Sub, Wrap::NO_SIGNED, depth, one);
        let args = [less, self.any(Type::I32), self.any(Type::I32), own];
        let value = self.b.value(Op::Call(index), &args, Type::I32);
        if let Some(named) = self.named.first().copied() {
            self.b.write(named.slot, value);
            self.note(named.variable, BindingKind::Assignment, value);
        }
        self.b.jump(join);
        self.b.switch_to(join);
    }

    /// Stores the values that the kernel has computed and returns; a device function returns one of its
    /// variables.
    pub(super) fn leave(&mut self) {
        self.step();
        if self.b.function.returns.is_empty() {
            if let Some(own) = self.memory.own {
                let named = self.named.clone();
                let mut at = 0;
                for named in named.into_iter().filter(|n| n.ty != Type::Bool).take(6) {
                    let value = self.b.read(named.slot);
                    self.note(named.variable, BindingKind::Read, value);
                    let offset = self.b.int(Type::I64, at);
                    let address = self.b.ptr_add(own, offset);
                    let access = MemoryAccess::in_space(ir::types::Space::Global);
                    self.b.store(access, address, &[value]);
                    at += 8;
                }
            }
            self.b.ret([]);
        } else {
            let value = match self.named.first().copied() {
                Some(named) => self.b.read(named.slot),
                None => self.any(Type::I32),
            };
            self.b.ret([value]);
        }
    }

    /// An edge without arguments for each target of a switch on a small or arbitrary integer.
    pub(super) fn switch(&mut self, targets: &[ir::entity::Block], default: ir::entity::Block) {
        let mut value = self.any(Type::I32);
        if self.random.percent(70) {
            let mask = self.b.int(Type::I32, 7);
            value = self.b.binary(BinaryOp::And, Wrap::MAY, value, mask);
        }
        let first = self.random.between(-1, 2);
        let cases: Vec<(i64, Edge)> = targets
            .iter()
            .enumerate()
            .map(|(number, &block)| (first + number as i64, Edge::to(block)))
            .collect();
        let default = Edge {
            block: default,
            args: SmallVec::new(),
        };
        let terminator = Terminator::Switch {
            value,
            cases,
            default,
        };
        self.b.terminate(terminator, BranchKind::Switch);
    }
}
