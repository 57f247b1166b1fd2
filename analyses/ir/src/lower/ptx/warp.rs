//! Barriers and operations across lanes.

use super::types::Scalar;
use super::*;

impl<'a> Lowering<'a> {
    pub(super) fn warp(&mut self, i: &'a Instruction, types: &[Scalar]) -> Done {
        match i.opcode.text.as_str() {
            "bar" | "barrier" => self.barrier(i),
            "shfl" => self.shuffle(i),
            "vote" => self.vote(i),
            "match" => self.matching(i, types.last()?.ty),
            "redux" => self.reduce(i, *types.last()?),
            "activemask" => {
                let inst = self.b.guarded(
                    Op::Warp(WarpOp {
                        kind: WarpKind::ActiveMask,
                        mask: false,
                    }),
                    &[],
                    &[Type::I32],
                    self.guard,
                );
                let value = self.b.results(inst)[0];
                self.write(i.operands.first()?, value, false);
                Some(())
            }
            _ => {
                // `elect.sync d|p, mask`: one lane is chosen, always the same for the same mask.
                let [Operand::Pair(leader, elected, _), mask, ..] = &i.operands[..] else {
                    return None;
                };
                let mask = self.read(mask, Type::I32, false);
                if !matches!(**leader, Operand::Sink(_)) {
                    let op = Op::Asm {
                        template: "elect.sync".into(),
                        pure: false,
                    };
                    let inst = self.b.guarded(op, &[mask], &[Type::I32], self.guard);
                    let value = self.b.results(inst)[0];
                    self.write(leader, value, false);
                }
                let value = self.warp_op(WarpKind::IsFirstLane, &[mask], true, &[Type::Bool])[0];
                self.write(elected, value, false);
                Some(())
            }
        }
    }

    fn warp_op(
        &mut self,
        kind: WarpKind,
        args: &[Value],
        mask: bool,
        results: &[Type],
    ) -> SmallVec<[Value; 2]> {
        let inst = self
            .b
            .guarded(Op::Warp(WarpOp { kind, mask }), args, results, self.guard);
        SmallVec::from_slice(self.b.results(inst))
    }

    /// `shfl.sync.bfly.b32 d|p, a, b, c, mask`
    fn shuffle(&mut self, i: &'a Instruction) -> Done {
        let sync = i.has("sync");
        let (result, sources) = i.operands.split_first()?;
        let mode = i.modifiers.iter().find_map(|m| match m.as_str() {
            "idx" => Some(ShuffleMode::Index),
            "up" => Some(ShuffleMode::Up),
            "down" => Some(ShuffleMode::Down),
            "bfly" => Some(ShuffleMode::Butterfly),
            _ => None,
        })?;
        let count = if sync { 4 } else { 3 };
        let args: SmallVec<[Value; 4]> = sources
            .get(..count)?
            .iter()
            .map(|operand| self.read(operand, Type::I32, false))
            .collect();
        let (value, in_range) = match result {
            Operand::Pair(value, in_range, _) => (&**value, Some(&**in_range)),
            other => (other, None),
        };
        let types: &[Type] = if in_range.is_some() {
            &[Type::I32, Type::Bool]
        } else {
            &[Type::I32]
        };
        let results = self.warp_op(WarpKind::ShufflePtx(mode), &args, sync, types);
        self.write(value, results[0], false);
        if let Some(in_range) = in_range {
            self.write(in_range, results[1], false);
        }
        Some(())
    }

    /// `vote.sync.ballot.b32 d, p, mask`
    fn vote(&mut self, i: &'a Instruction) -> Done {
        let sync = i.has("sync");
        let (result, sources) = i.operands.split_first()?;
        let predicate = self.read(sources.first()?, Type::Bool, false);
        let mut args: SmallVec<[Value; 2]> = SmallVec::from_slice(&[predicate]);
        if sync {
            args.push(self.read(sources.get(1)?, Type::I32, false));
        }
        let (kind, ty) = i.modifiers.iter().find_map(|m| {
            Some(match m.as_str() {
                "all" => (WarpKind::VoteAll, Type::Bool),
                "any" => (WarpKind::VoteAny, Type::Bool),
                "uni" => (WarpKind::VoteUniform, Type::Bool),
                "ballot" => (WarpKind::Ballot, Type::I32),
                _ => return None,
            })
        })?;
        let value = self.warp_op(kind, &args, sync, &[ty])[0];
        self.write(result, value, false);
        Some(())
    }

    /// `match.all.sync.b32 d|p, a, mask`
    fn matching(&mut self, i: &'a Instruction, ty: Type) -> Done {
        let [result, value, mask, ..] = &i.operands[..] else {
            return None;
        };
        let args = [
            self.read(value, ty, false),
            self.read(mask, Type::I32, false),
        ];
        if i.has("any") {
            let mask = self.warp_op(WarpKind::MatchAny, &args, true, &[Type::I32])[0];
            self.write(result, mask, false);
            return Some(());
        }
        let types = [Type::I32, Type::Bool];
        let results = self.warp_op(WarpKind::MatchAll, &args, true, &types);
        match result {
            Operand::Pair(lanes, all, _) => {
                self.write(lanes, results[0], false);
                self.write(all, results[1], false);
            }
            other => self.write(other, results[0], false),
        }
        Some(())
    }

    /// `redux.sync.add.s32 d, a, mask`
    fn reduce(&mut self, i: &'a Instruction, ty: Scalar) -> Done {
        let [result, value, mask, ..] = &i.operands[..] else {
            return None;
        };
        let float = ty.ty.is_float();
        let op = i.modifiers.iter().find_map(|m| {
            Some(match (m.as_str(), ty.signed) {
                ("add", _) => ReduceOp::Add,
                ("min", _) if float => ReduceOp::FloatMin,
                ("max", _) if float => ReduceOp::FloatMax,
                ("min", true) => ReduceOp::MinSigned,
                ("max", true) => ReduceOp::MaxSigned,
                ("min", false) => ReduceOp::MinUnsigned,
                ("max", false) => ReduceOp::MaxUnsigned,
                ("and", _) => ReduceOp::And,
                ("or", _) => ReduceOp::Or,
                ("xor", _) => ReduceOp::Xor,
                _ => return None,
            })
        })?;
        let mut operand = self.read(value, ty.ty, ty.signed);
        if i.has("abs") && float {
            operand = self.b.unary(UnaryOp::FloatAbs, operand);
        }
        let args = [operand, self.read(mask, Type::I32, false)];
        let value = self.warp_op(WarpKind::Reduce(op), &args, true, &[ty.ty])[0];
        self.write(result, value, ty.signed);
        Some(())
    }

    /// `bar.sync 0`, `barrier.cta.sync.aligned 1, 64`, `bar.red.popc.u32 d, 0, p`, `bar.warp.sync mask`.
    fn barrier(&mut self, i: &'a Instruction) -> Done {
        if i.has("cluster") {
            if i.has("wait") {
                self.b
                    .guarded(Op::Barrier(Barrier::Grid), &[], &[], self.guard);
                return Some(());
            }
            return self.opaque(i);
        }
        if i.has("warp") {
            let args: SmallVec<[Value; 1]> = i
                .operands
                .first()
                .map(|mask| self.read(mask, Type::I32, false))
                .into_iter()
                .collect();
            self.b
                .guarded(Op::Barrier(Barrier::Warp), &args, &[], self.guard);
            return Some(());
        }
        if i.has("red") {
            return self.reducing_barrier(i);
        }
        let arrive = i.has("arrive");
        if !arrive && !i.has("sync") {
            return None;
        }
        let whole = !arrive && matches!(&i.operands[..], [] | [Operand::Integer(0, _)]);
        if whole {
            self.b
                .guarded(Op::Barrier(Barrier::Workgroup), &[], &[], self.guard);
            return Some(());
        }
        let args: SmallVec<[Value; 2]> = i
            .operands
            .iter()
            .take(2)
            .map(|operand| self.read(operand, Type::I32, false))
            .collect();
        self.b.guarded(
            Op::Barrier(Barrier::Named { arrive }),
            &args,
            &[],
            self.guard,
        );
        Some(())
    }

    fn reducing_barrier(&mut self, i: &'a Instruction) -> Done {
        let (barrier, ty) = i.modifiers.iter().find_map(|m| {
            Some(match m.as_str() {
                "popc" => (Barrier::WorkgroupCount, Type::I32),
                "and" => (Barrier::WorkgroupAnd, Type::Bool),
                "or" => (Barrier::WorkgroupOr, Type::Bool),
                _ => return None,
            })
        })?;
        // With a thread count only a part of the workgroup takes part.
        let [result, Operand::Integer(0, _), predicate] = &i.operands[..] else {
            return self.opaque(i);
        };
        let predicate = self.read(predicate, Type::Bool, false);
        let inst = self
            .b
            .guarded(Op::Barrier(barrier), &[predicate], &[ty], self.guard);
        let value = self.b.results(inst)[0];
        self.write(result, value, false);
        Some(())
    }
}
