//! Operations across the lanes of a warp. A lane's group are the active lanes, narrowed by its mask operand where
//! there is one; a lane always belongs to its own group. A value read from a lane that is not active is that lane's
//! last one (0 if there was none), with an event: hardware leaves it undefined.
//!
//! Shuffles: segments of `width` lanes (a power of two; anything else is rounded down, 0 is the whole warp). An index
//! is taken modulo the segment; up, down and xor keep the own value where the source is outside of the segment (xor
//! reaches into earlier segments as in PTX). Masks are given in words of the result's width, the lowest first.

use super::error::EventKind;
use super::observe::lanes;
use ir::inst::{BinaryOp, ReduceOp, ShuffleMode, WarpKind, WarpOp};
use ir::numbers::{self, canonical, zero_extended};
use ir::types::Type;
use smallvec::SmallVec;

/// One value a lane.
pub(super) type Row = [u64; 64];

/// The lanes of a warp by their state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Presence {
    /// Execute this instruction.
    pub(super) active: u64,
    /// Have not ended.
    pub(super) live: u64,
    pub(super) width: u32,
}

/// Operands of one warp operation.
pub(super) struct Operands<'a> {
    pub(super) rows: &'a [Row],
    pub(super) types: &'a [Type],
    pub(super) results: &'a [Type],
}

pub(super) struct Answer {
    pub(super) rows: SmallVec<[Row; 2]>,
    /// The events, each with the lane that it concerns.
    pub(super) events: SmallVec<[(u32, EventKind); 2]>,
}

/// `None` for operations that have no definition here (`WarpKind::Other`).
pub(super) fn warp_op(op: &WarpOp, operands: &Operands<'_>, presence: Presence) -> Option<Answer> {
    let mut run = Run {
        operands,
        presence,
        groups: [presence.active; 64],
        answer: Answer {
            rows: operands.results.iter().map(|_| [0; 64]).collect(),
            events: SmallVec::new(),
        },
    };
    if op.mask {
        run.narrow_groups();
    }
    run.compute(op.kind)?;
    Some(run.answer)
}

struct Run<'a> {
    operands: &'a Operands<'a>,
    presence: Presence,
    groups: Row,
    answer: Answer,
}

impl Run<'_> {
    fn narrow_groups(&mut self) {
        let Some(index) = self.operands.rows.len().checked_sub(1) else {
            return;
        };
        let active = self.presence.active;
        for lane in lanes(active) {
            let word = self.operands.rows[index][lane as usize];
            let mask = zero_extended(self.operands.types[index], word);
            if mask & self.presence.live & !active != 0 {
                let kind = EventKind::InactiveLanesInMask { mask, active };
                self.answer.events.push((lane, kind));
            }
            if mask >> lane & 1 == 0 {
                let kind = EventKind::LaneOutsideOfItsMask { mask };
                self.answer.events.push((lane, kind));
            }
            self.groups[lane as usize] = (mask & active) | 1 << lane;
        }
    }

    fn arg(&self, index: usize, lane: u32) -> u64 {
        self.operands
            .rows
            .get(index)
            .map_or(0, |row| row[lane as usize])
    }
    fn ty(&self, index: usize) -> Type {
        self.operands.types.get(index).copied().unwrap_or(Type::I32)
    }
    fn set(&mut self, result: usize, lane: u32, value: u64) {
        let ty = self.operands.results.get(result).copied();
        if let (Some(row), Some(ty)) = (self.answer.rows.get_mut(result), ty) {
            row[lane as usize] = canonical(ty, value);
        }
    }
    /// A mask of lanes over all results.
    fn set_mask(&mut self, lane: u32, mask: u64) {
        let mut rest = u128::from(mask);
        for result in 0..self.operands.results.len() {
            self.set(result, lane, rest as u64);
            rest >>= self.operands.results[result].bits();
        }
    }
    /// The value of operand 0 in another lane.
    fn read(&mut self, lane: u32, from: u32) -> u64 {
        if from >= self.presence.width {
            let kind = EventKind::ReadOfInactiveLane { from };
            self.answer.events.push((lane, kind));
            return self.arg(0, lane);
        }
        if self.groups[lane as usize] >> from & 1 == 0 {
            let kind = EventKind::ReadOfInactiveLane { from };
            self.answer.events.push((lane, kind));
        }
        self.arg(0, from)
    }
    /// The lanes of a lane's group whose operand 0 is true.
    fn votes(&self, lane: u32) -> u64 {
        lanes(self.groups[lane as usize])
            .filter(|&l| self.arg(0, l) != 0)
            .fold(0, |mask, l| mask | 1 << l)
    }
    fn equals(&self, lane: u32) -> u64 {
        let value = self.arg(0, lane);
        lanes(self.groups[lane as usize])
            .filter(|&l| self.arg(0, l) == value)
            .fold(0, |mask, l| mask | 1 << l)
    }

    fn shuffle(&mut self, mode: ShuffleMode, lane: u32) -> (u32, bool) {
        let width = self.presence.width;
        let wanted = zero_extended(self.ty(2), self.arg(2, lane)).min(u64::from(width)) as u32;
        let width = match wanted {
            0 => width,
            other if other.is_power_of_two() => other,
            other => other.next_power_of_two() / 2,
        };
        let first = lane & !(width - 1);
        let last = first + width - 1;
        let b = zero_extended(self.ty(1), self.arg(1, lane));
        let far = b.min(1 << 20) as i64;
        let (source, inside) = match mode {
            ShuffleMode::Index => return (first | (b as u32 & (width - 1)), true),
            ShuffleMode::Up => {
                let source = i64::from(lane) - far;
                (source, source >= i64::from(first))
            }
            ShuffleMode::Down => {
                let source = i64::from(lane) + far;
                (source, source <= i64::from(last))
            }
            ShuffleMode::Butterfly => {
                let source = i64::from(lane) ^ far;
                (source, source <= i64::from(last))
            }
        };
        if inside {
            (source as u32, true)
        } else {
            (lane, false)
        }
    }

    /// PTX `shfl`: operand 2 packs the clamp value and the segment mask.
    fn shuffle_ptx(&mut self, mode: ShuffleMode, lane: u32) -> (u32, bool) {
        let field: u32 = if self.presence.width > 32 { 0x3f } else { 0x1f };
        let b = self.arg(1, lane) as u32 & field;
        let c = self.arg(2, lane) as u32;
        let (clamp, segment) = (c & field, c >> 8 & field);
        let first = lane & segment;
        let last = first | (clamp & !segment & field);
        let (source, inside) = match mode {
            ShuffleMode::Up => (lane.wrapping_sub(b), lane >= b && lane - b >= last),
            ShuffleMode::Down => (lane + b, lane + b <= last),
            ShuffleMode::Butterfly => (lane ^ b, lane ^ b <= last),
            ShuffleMode::Index => {
                let source = first | (b & !segment & field);
                (source, source <= last)
            }
        };
        if inside {
            (source, true)
        } else {
            (lane, false)
        }
    }

    fn compute(&mut self, kind: WarpKind) -> Option<()> {
        let ty = self.ty(0);
        for lane in lanes(self.presence.active) {
            let group = self.groups[lane as usize];
            let below = group & ((1 << lane) - 1);
            let quad = lane & !3;
            match kind {
                WarpKind::ShuffleIndex
                | WarpKind::ShuffleUp
                | WarpKind::ShuffleDown
                | WarpKind::ShuffleXor
                | WarpKind::ShufflePtx(_) => {
                    let (source, inside) = match kind {
                        WarpKind::ShuffleIndex => self.shuffle(ShuffleMode::Index, lane),
                        WarpKind::ShuffleUp => self.shuffle(ShuffleMode::Up, lane),
                        WarpKind::ShuffleDown => self.shuffle(ShuffleMode::Down, lane),
                        WarpKind::ShufflePtx(mode) => self.shuffle_ptx(mode, lane),
                        _ => self.shuffle(ShuffleMode::Butterfly, lane),
                    };
                    let value = self.read(lane, source);
                    self.set(0, lane, value);
                    self.set(1, lane, u64::from(inside));
                }
                WarpKind::VoteAll => {
                    let all = self.votes(lane) == group;
                    self.set(0, lane, u64::from(all));
                }
                WarpKind::VoteAny => {
                    let any = self.votes(lane) != 0;
                    self.set(0, lane, u64::from(any));
                }
                WarpKind::VoteUniform => {
                    let votes = self.votes(lane);
                    self.set(0, lane, u64::from(votes == 0 || votes == group));
                }
                WarpKind::Ballot => {
                    let votes = self.votes(lane);
                    self.set_mask(lane, votes);
                }
                WarpKind::AllEqual => {
                    let equal = self.equals(lane) == group;
                    self.set(0, lane, u64::from(equal));
                }
                WarpKind::MatchAny => {
                    let equal = self.equals(lane);
                    self.set_mask(lane, equal);
                }
                WarpKind::MatchAll => {
                    let all = self.equals(lane) == group;
                    self.set(0, lane, if all { group } else { 0 });
                    self.set(1, lane, u64::from(all));
                }
                WarpKind::ReadFirstLane => {
                    let value = self.arg(0, group.trailing_zeros());
                    self.set(0, lane, value);
                }
                WarpKind::ReadLaneAt => {
                    let from = zero_extended(self.ty(1), self.arg(1, lane));
                    let value = self.read(lane, from.min(1 << 20) as u32);
                    self.set(0, lane, value);
                }
                WarpKind::Reduce(op) => {
                    let value = self.fold(op, ty, group);
                    self.set(0, lane, value);
                }
                WarpKind::PrefixExclusive(op) => {
                    let value = self.fold(op, ty, below);
                    self.set(0, lane, value);
                }
                WarpKind::PrefixInclusive(op) => {
                    let value = self.fold(op, ty, below | 1 << lane);
                    self.set(0, lane, value);
                }
                WarpKind::CountBits => {
                    let votes = self.votes(lane);
                    self.set(0, lane, u64::from(votes.count_ones()));
                }
                WarpKind::PrefixCountBits => {
                    let votes = self.votes(lane) & below;
                    self.set(0, lane, u64::from(votes.count_ones()));
                }
                WarpKind::ActiveMask => self.set_mask(lane, self.presence.active),
                WarpKind::IsFirstLane => {
                    self.set(0, lane, u64::from(group.trailing_zeros() == lane));
                }
                WarpKind::QuadReadAcrossX => {
                    let value = self.read(lane, lane ^ 1);
                    self.set(0, lane, value);
                }
                WarpKind::QuadReadAcrossY => {
                    let value = self.read(lane, lane ^ 2);
                    self.set(0, lane, value);
                }
                WarpKind::QuadReadAcrossDiagonal => {
                    let value = self.read(lane, lane ^ 3);
                    self.set(0, lane, value);
                }
                WarpKind::QuadReadLaneAt => {
                    let from = quad | (self.arg(1, lane) as u32 & 3);
                    let value = self.read(lane, from);
                    self.set(0, lane, value);
                }
                WarpKind::QuadAny => {
                    let votes = self.votes(lane) >> quad & 0xf;
                    self.set(0, lane, u64::from(votes != 0));
                }
                WarpKind::QuadAll => {
                    let votes = self.votes(lane) >> quad & 0xf;
                    self.set(0, lane, u64::from(votes == group >> quad & 0xf));
                }
                WarpKind::Other => return None,
            }
        }
        Some(())
    }

    /// Ascending by lane; the operation's neutral element for no lanes.
    fn fold(&self, op: ReduceOp, ty: Type, group: u64) -> u64 {
        let neutral = neutral(op, ty);
        lanes(group).fold(neutral, |sum, lane| reduce(op, ty, sum, self.arg(0, lane)))
    }
}

/// The element that changes nothing.
pub(super) fn neutral(op: ReduceOp, ty: Type) -> u64 {
    let bits = ty.bits();
    match op {
        ReduceOp::Add | ReduceOp::Or | ReduceOp::Xor | ReduceOp::MaxUnsigned => 0,
        ReduceOp::Mul => canonical(ty, 1),
        ReduceOp::And | ReduceOp::MinUnsigned => canonical(ty, u64::MAX),
        // The order of a Bool is that of 0 and 1, whatever the sign.
        ReduceOp::MinSigned if ty == Type::Bool => 1,
        ReduceOp::MaxSigned if ty == Type::Bool => 0,
        ReduceOp::MinSigned => canonical(ty, (1u64 << (bits - 1)) - 1),
        ReduceOp::MaxSigned => canonical(ty, 1u64 << (bits - 1)),
        ReduceOp::FloatAdd => numbers::from_f64(ty, -0.0),
        ReduceOp::FloatMul => numbers::from_f64(ty, 1.0),
        ReduceOp::FloatMin => numbers::from_f64(ty, f64::INFINITY),
        ReduceOp::FloatMax => numbers::from_f64(ty, f64::NEG_INFINITY),
    }
}

fn reduce(op: ReduceOp, ty: Type, x: u64, y: u64) -> u64 {
    let op = match op {
        ReduceOp::Add => BinaryOp::Add,
        ReduceOp::Mul => BinaryOp::Mul,
        ReduceOp::MinSigned => BinaryOp::MinSigned,
        ReduceOp::MaxSigned => BinaryOp::MaxSigned,
        ReduceOp::MinUnsigned => BinaryOp::MinUnsigned,
        ReduceOp::MaxUnsigned => BinaryOp::MaxUnsigned,
        ReduceOp::And => BinaryOp::And,
        ReduceOp::Or => BinaryOp::Or,
        ReduceOp::Xor => BinaryOp::Xor,
        ReduceOp::FloatAdd => BinaryOp::FloatAdd,
        ReduceOp::FloatMul => BinaryOp::FloatMul,
        ReduceOp::FloatMin => BinaryOp::FloatMin,
        ReduceOp::FloatMax => BinaryOp::FloatMax,
    };
    numbers::binary(op, ty, ty, ty, x, y)
}
