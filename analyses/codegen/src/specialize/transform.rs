//! Makes a version: splits the block of the check, copies the region as the estimate imagined it, and joins both.
//!
//! ```text
//! head: ...; q = (v == 0); all = vote.all q; branch.uniform all, special, rest
//! ```
//!
//! The original instructions stay as they are on the slow path. Where both copies meet, values of the region that are
//! used later become parameters. Under `Zeros::Ieee` a floating-point member is compared by its bits, so that the copy
//! is exact; under `Zeros::Absorb` it is compared as a number, and -0 counts as zero. The result is verified by the caller.
//!
//! Source: Stephenson and Rangan, *AZP*, section 5.6; notes, section 9.

use super::fold::{Known, taken};
use super::place::immediate;
use super::refine::{Join, User};
use super::{Context, Estimate, Zeros};
use ir::{
    BinaryOp, Block, BlockData, BranchKind, Convert, Edge, FloatCondition, Function, Inst,
    InstData, IntCondition, Loc, Op, Terminator, Type, Value, ValueData, ValueDef, WarpKind,
    WarpOp, Wrap,
};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

/// The function with one more version, and where things went. Blocks and values keep their numbers on the slow path.
#[derive(Clone, PartialEq, Debug)]
pub struct Version {
    pub function: Function,
    /// The slow path's part of the head.
    pub rest: Block,
    /// The block where both copies meet, if that is a new one: the head's part behind the region.
    pub tail: Option<Block>,
    /// Blocks of the fast path by the block that they are copied from, the head first.
    pub copies: Vec<(Block, Block)>,
    /// Values of the fast path by the value that they are copied from, in the order of the originals.
    pub values: Vec<(Value, Value)>,
}

/// Makes the version of an estimate on `members`.
#[must_use]
pub fn version(cx: &Context<'_>, members: &[Value], estimate: &Estimate) -> Version {
    let mut work = Work {
        out: cx.function.clone(),
        region: estimate.refined.blocks.iter().copied().collect(),
        head: estimate.refined.blocks[0],
        rest: estimate.refined.blocks[0],
        own: estimate.refined.defined(cx.function).collect(),
        blocks: FxHashMap::default(),
        values: FxHashMap::default(),
        literals: FxHashMap::default(),
    };
    let join = work.split(estimate);
    if let Some(join) = join {
        work.meet(cx, estimate, join);
    }
    let special = work.copy(estimate);
    work.check(cx, members, special);
    let mut values: Vec<(Value, Value)> = work.values.into_iter().collect();
    values.sort_unstable();
    Version {
        rest: work.rest,
        tail: join.filter(|_| matches!(estimate.refined.join, Join::Inside(_))),
        copies: estimate
            .refined
            .blocks
            .iter()
            .filter_map(|&block| Some((block, *work.blocks.get(&block)?)))
            .collect(),
        values,
        function: work.out,
    }
}

struct Work {
    out: Function,
    /// The region's blocks; the head stands for the part after the check until it is split off.
    region: FxHashSet<Block>,
    head: Block,
    /// The head's part after the check, on the slow path.
    rest: Block,
    /// Values that the region defines.
    own: FxHashSet<Value>,
    /// From a block of the region (the head for its part after the check) to its copy.
    blocks: FxHashMap<Block, Block>,
    values: FxHashMap<Value, Value>,
    literals: FxHashMap<(Type, u64), Value>,
}

impl Work {
    /// Cuts the head at the check and, where the region ends in it, at its end. Returns where the copies meet.
    fn split(&mut self, estimate: &Estimate) -> Option<Block> {
        let refined = &estimate.refined;
        let head = self.head;
        let loc = self.out.blocks[head].loc;
        let branch = std::mem::take(&mut self.out.blocks[head].branch);
        let terminator = std::mem::replace(&mut self.out.blocks[head].terminator, Terminator::None);
        self.out.blocks[head].insts.clone_from(&refined.before);
        let own = refined.insts(&self.out, head).to_vec();
        let block = |insts, terminator, branch| BlockData {
            params: Vec::new(),
            insts,
            terminator,
            loc,
            branch,
        };
        let at = self
            .out
            .layout
            .iter()
            .position(|&it| it == head)
            .unwrap_or(0);
        let moved: FxHashSet<Inst> = refined.after.iter().copied().collect();
        let join = if let Join::Inside(end) = refined.join {
            let tail = block(refined.after[end..].to_vec(), terminator, branch);
            let tail = self.out.blocks.push(tail);
            let jump = Terminator::Jump(Edge::to(tail));
            let rest = self.out.blocks.push(block(own, jump, BranchKind::Implied));
            self.out.layout.splice(at + 1..at + 1, [rest, tail]);
            self.rest = rest;
            Some(tail)
        } else {
            let rest = self.out.blocks.push(block(own, terminator, branch));
            self.out.layout.insert(at + 1, rest);
            self.rest = rest;
            match refined.join {
                Join::At(join) => Some(join),
                _ => None,
            }
        };
        let late: FxHashSet<Inst> = match refined.join {
            Join::Inside(end) => refined.after[end..].iter().copied().collect(),
            _ => FxHashSet::default(),
        };
        for binding in &mut self.out.bindings {
            if binding.block != head {
                continue;
            }
            let within = |set: &FxHashSet<Inst>| {
                binding.values.iter().any(|&value| {
                    matches!(self.out.values[value].def, ValueDef::Result(inst, _) if set.contains(&inst))
                })
            };
            if within(&late) {
                binding.block = join.unwrap_or(self.rest);
            } else if within(&moved) {
                binding.block = self.rest;
            }
        }
        join
    }

    /// Gives the meeting place a parameter for every value of the region that is used behind it.
    fn meet(&mut self, cx: &Context<'_>, estimate: &Estimate, join: Block) {
        let cut = matches!(estimate.refined.join, Join::Inside(_));
        let own: FxHashSet<Inst> = estimate
            .refined
            .insts(cx.function, self.head)
            .iter()
            .copied()
            .collect();
        let carried: Vec<Value> = estimate
            .refined
            .escaping(cx)
            .into_iter()
            .filter(|&value| {
                cx.users[value].iter().any(|user| match *user {
                    User::Inst(block, inst) => {
                        !self.region.contains(&block)
                            || (block == self.head && !own.contains(&inst))
                    }
                    User::Terminator(block) | User::Edge(block, _) => {
                        !self.region.contains(&block) || (block == self.head && cut)
                    }
                })
            })
            .collect();
        let mut renamed: FxHashMap<Value, Value> = FxHashMap::default();
        let (again, carried): (Vec<Value>, Vec<Value>) = carried.into_iter().partition(|&value| {
            self.out
                .defining(value)
                .is_some_and(|data| immediate(&data.op))
        });
        for &value in &carried {
            let data = ValueData {
                ty: self.out.ty(value),
                def: ValueDef::Param(join, self.out.blocks[join].params.len() as u32),
            };
            let param = self.out.values.push(data);
            self.out.blocks[join].params.push(param);
            renamed.insert(value, param);
        }
        for &value in &again {
            if let Some(data) = self.out.defining(value).cloned() {
                let ty = self.out.ty(value);
                let now = self.insert(join, data.op, ty, data.loc);
                renamed.insert(value, now);
            }
        }
        let rest = self.rest;
        let inside =
            |block: Block| block == rest || (block != self.head && self.region.contains(&block));
        let outside: Vec<Block> = self
            .out
            .layout
            .iter()
            .copied()
            .filter(|&block| !inside(block))
            .collect();
        let rename = |value: &mut Value| {
            if let Some(&now) = renamed.get(value) {
                *value = now;
            }
        };
        for &block in &outside {
            for at in 0..self.out.blocks[block].insts.len() {
                let inst = self.out.blocks[block].insts[at];
                self.out.insts[inst].operands_mut().for_each(rename);
            }
            let terminator = &mut self.out.blocks[block].terminator;
            terminator.reads_mut().iter_mut().for_each(rename);
            for edge in terminator.edges_mut() {
                edge.args.iter_mut().for_each(rename);
                if edge.block == join {
                    edge.args.extend(carried.iter().map(|value| renamed[value]));
                }
            }
        }
        let region: Vec<Block> = self
            .out
            .layout
            .iter()
            .copied()
            .filter(|&block| inside(block))
            .collect();
        for block in region {
            for edge in self.out.blocks[block].terminator.edges_mut() {
                if edge.block == join {
                    edge.args.extend(carried.iter().copied());
                }
            }
        }
        // A name that nothing reads behind the region does not keep its value alive there.
        let outside: FxHashSet<Block> = outside.into_iter().collect();
        let (head, own) = (self.head, &self.own);
        self.out.bindings.retain_mut(|binding| {
            if outside.contains(&binding.block) && binding.block != head {
                binding.values.iter_mut().for_each(rename);
                return !binding.values.iter().any(|value| own.contains(value));
            }
            true
        });
    }

    /// Builds the copy; returns its first block.
    fn copy(&mut self, estimate: &Estimate) -> Block {
        let rest = self.rest;
        let blocks: Vec<Block> = estimate
            .refined
            .blocks
            .iter()
            .copied()
            .filter(|block| estimate.folded.reached.contains(block))
            .collect();
        for &block in &blocks {
            let copy = self.out.blocks.push(BlockData {
                params: Vec::new(),
                insts: Vec::new(),
                terminator: Terminator::None,
                loc: self.out.blocks[if block == self.head { rest } else { block }].loc,
                branch: BranchKind::Implied,
            });
            self.blocks.insert(block, copy);
        }
        let first = self.blocks[&self.head];
        // Names first: a back edge passes values that are defined later in the order.
        for &block in &blocks {
            let copy = self.blocks[&block];
            if block != self.head {
                for param in self.out.blocks[block].params.clone() {
                    if estimate.live.params.contains(&param) {
                        let data = ValueData {
                            ty: self.out.ty(param),
                            def: ValueDef::Param(copy, self.out.blocks[copy].params.len() as u32),
                        };
                        let new = self.out.values.push(data);
                        self.out.blocks[copy].params.push(new);
                        self.values.insert(param, new);
                    }
                }
            }
            let source = if block == self.head { rest } else { block };
            for inst in self.out.blocks[source].insts.clone() {
                if !estimate.live.kept.contains(&inst) {
                    continue;
                }
                let mut data = self.out.insts[inst].clone();
                let results = std::mem::take(&mut data.results);
                let new = self.out.insts.push(data);
                for (at, result) in results.into_iter().enumerate() {
                    let value = self.out.values.push(ValueData {
                        ty: self.out.ty(result),
                        def: ValueDef::Result(new, at as u16),
                    });
                    self.out.insts[new].results.push(value);
                    self.values.insert(result, value);
                }
                self.out.blocks[copy].insts.push(new);
            }
        }
        for &block in &blocks {
            let copy = self.blocks[&block];
            for inst in self.out.blocks[copy].insts.clone() {
                let data = self.out.insts[inst].clone();
                let args = data
                    .args
                    .iter()
                    .map(|&arg| self.operand(estimate, first, arg))
                    .collect();
                let guard = data.guard.map(|guard| ir::Guard {
                    value: self.operand(estimate, first, guard.value),
                    ..guard
                });
                self.out.insts[inst].args = args;
                self.out.insts[inst].guard = guard;
            }
            let source = if block == self.head { rest } else { block };
            let terminator = self.out.blocks[source].terminator.clone();
            let branch = self.out.blocks[source].branch;
            self.terminate(estimate, (copy, first), terminator, branch);
        }
        let at = self
            .out
            .layout
            .iter()
            .position(|&it| it == rest)
            .unwrap_or(0);
        let copies: Vec<Block> = blocks.iter().map(|block| self.blocks[block]).collect();
        self.out.layout.splice(at..at, copies);
        let loops: Vec<_> = self
            .out
            .loops
            .iter()
            .filter(|it| it.header != self.head)
            .filter_map(|it| {
                Some(ir::SourceLoop {
                    header: *self.blocks.get(&it.header)?,
                    ..it.clone()
                })
            })
            .collect();
        self.out.loops.extend(loops);
        first
    }

    fn terminate(
        &mut self,
        estimate: &Estimate,
        (copy, first): (Block, Block),
        terminator: Terminator,
        branch: BranchKind,
    ) {
        let folded = &estimate.folded;
        let constant = |value: Value| match folded.known(value) {
            Some(Known::Constant(bits)) => Some(bits),
            Some(_) => None,
            None => match self.out.values[value].def {
                ValueDef::Result(inst, _) => match self.out.insts[inst].op {
                    Op::Const(bits) => Some(bits),
                    _ => None,
                },
                ValueDef::Param(..) => None,
            },
        };
        let only = match (
            taken(&terminator, constant).as_slice(),
            terminator.selector(),
        ) {
            ([edge], Some(_)) => Some((*edge).clone()),
            _ => None,
        };
        if let Some(edge) = only {
            let edge = self.edge(estimate, first, &edge);
            self.out.blocks[copy].terminator = Terminator::Jump(edge);
            return;
        }
        let now = match terminator {
            Terminator::Jump(edge) => Terminator::Jump(self.edge(estimate, first, &edge)),
            Terminator::Branch {
                condition,
                then,
                otherwise,
                uniform,
            } => Terminator::Branch {
                condition: self.operand(estimate, first, condition),
                then: self.edge(estimate, first, &then),
                otherwise: self.edge(estimate, first, &otherwise),
                uniform,
            },
            Terminator::Switch {
                value,
                cases,
                default,
            } => Terminator::Switch {
                value: self.operand(estimate, first, value),
                cases: cases
                    .iter()
                    .map(|(case, edge)| (*case, self.edge(estimate, first, edge)))
                    .collect(),
                default: self.edge(estimate, first, &default),
            },
            Terminator::Return(values) => Terminator::Return(
                values
                    .iter()
                    .map(|&value| self.operand(estimate, first, value))
                    .collect(),
            ),
            other => other,
        };
        self.out.blocks[copy].terminator = now;
        self.out.blocks[copy].branch = branch;
    }

    /// An edge of the copy. One that leaves the region goes where the original goes.
    fn edge(&mut self, estimate: &Estimate, first: Block, edge: &Edge) -> Edge {
        if edge.block != self.head
            && let Some(&copy) = self.blocks.get(&edge.block)
        {
            let params = self.out.blocks[edge.block].params.clone();
            let args = params
                .iter()
                .zip(&edge.args)
                .filter(|(param, _)| estimate.live.params.contains(param))
                .map(|(_, &arg)| self.operand(estimate, first, arg))
                .collect();
            return Edge { block: copy, args };
        }
        Edge {
            block: edge.block,
            args: edge
                .args
                .iter()
                .map(|&arg| self.operand(estimate, first, arg))
                .collect(),
        }
    }

    /// A value as the copy has it. A value that the copy does not compute is not needed, and undefined.
    fn operand(&mut self, estimate: &Estimate, first: Block, value: Value) -> Value {
        let source = match estimate.folded.known(value) {
            Some(Known::Constant(bits)) => {
                let ty = self.out.ty(value);
                return self.literal(first, ty, Op::Const(bits), bits);
            }
            Some(Known::Copy(source)) => source,
            _ => value,
        };
        if let Some(&now) = self.values.get(&source) {
            return now;
        }
        if self.own.contains(&source) {
            let ty = self.out.ty(source);
            self.literal(first, ty, Op::Undef, u64::MAX)
        } else {
            source
        }
    }

    fn literal(&mut self, block: Block, ty: Type, op: Op, key: u64) -> Value {
        let tag = if op == Op::Undef {
            u64::MAX ^ 0x5eed
        } else {
            key
        };
        if let Some(&value) = self.literals.get(&(ty, tag)) {
            return value;
        }
        let loc = self.out.blocks[block].loc;
        let value = self.insert(block, op, ty, loc);
        self.literals.insert((ty, tag), value);
        value
    }

    /// A new operand at the start of a block.
    fn insert(&mut self, block: Block, op: Op, ty: Type, loc: Loc) -> Value {
        let (inst, value) = self.made(op, &[], ty, loc);
        self.out.blocks[block].insts.insert(0, inst);
        value
    }

    /// The compare, the vote and the branch at the end of the head.
    fn check(&mut self, cx: &Context<'_>, members: &[Value], special: Block) {
        let rest = self.rest;
        let loc = members
            .first()
            .and_then(|&member| self.out.defining(member))
            .map_or(Loc::NONE, |data| data.loc);
        let mut all: Option<Value> = None;
        for &member in members {
            let ty = self.out.ty(member);
            let zero = match ty {
                Type::Bool => self.append(Op::Unary(ir::UnaryOp::Not), &[member], Type::Bool, loc),
                _ if ty.is_float() && cx.zeros == Zeros::Absorb => {
                    let zero = self.append(Op::Const(0), &[], ty, loc);
                    self.append(
                        Op::FloatCompare(FloatCondition::Equal),
                        &[member, zero],
                        Type::Bool,
                        loc,
                    )
                }
                _ => {
                    let (bits, of) = if ty.is_float() {
                        let int = Type::int(ty.bits());
                        (
                            self.append(Op::Convert(Convert::Bitcast), &[member], int, loc),
                            int,
                        )
                    } else {
                        (member, ty)
                    };
                    let zero = self.append(Op::Const(0), &[], of, loc);
                    self.append(
                        Op::IntCompare(IntCondition::Equal),
                        &[bits, zero],
                        Type::Bool,
                        loc,
                    )
                }
            };
            all = Some(match all {
                None => zero,
                Some(so_far) => self.append(
                    Op::Binary(BinaryOp::And, Wrap::MAY),
                    &[so_far, zero],
                    Type::Bool,
                    loc,
                ),
            });
        }
        let Some(mine) = all else { return };
        let vote = WarpOp {
            kind: WarpKind::VoteAll,
            mask: false,
        };
        let condition = self.append(Op::Warp(vote), &[mine], Type::Bool, loc);
        self.out.blocks[self.head].terminator = Terminator::Branch {
            condition,
            then: Edge::to(special),
            otherwise: Edge::to(rest),
            uniform: true,
        };
        self.out.blocks[self.head].loc = loc;
        self.out.blocks[self.head].branch = BranchKind::If;
    }

    fn append(&mut self, op: Op, args: &[Value], ty: Type, loc: Loc) -> Value {
        let (inst, value) = self.made(op, args, ty, loc);
        self.out.blocks[self.head].insts.push(inst);
        value
    }

    /// A new instruction with its result, which stands in no block yet.
    fn made(&mut self, op: Op, args: &[Value], ty: Type, loc: Loc) -> (Inst, Value) {
        let inst = self.out.insts.push(InstData {
            op,
            args: SmallVec::from_slice(args),
            results: smallvec![],
            guard: None,
            loc,
        });
        let value = self.out.values.push(ValueData {
            ty,
            def: ValueDef::Result(inst, 0),
        });
        self.out.insts[inst].results.push(value);
        (inst, value)
    }
}
