//! One instruction: its effect on the state. Branches are in `control`, memory in `access`, elements in
//! `lanes`, the F unit in `execute_float`.

use super::op::{Alu, Compare, One, Op, Shift, Src};
use super::state::{Machine, Trap, Use, Way, Word, illegal};
use super::{FaultKind, control, lanes};

/// The successor of an instruction in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    Fall,
    Go(u64),
}

impl Machine<'_> {
    pub(super) fn src(&mut self, from: Src) -> Result<Word, Trap> {
        match from {
            Src::Reg(number) => self.gr(number),
            Src::Imm(value) => Ok((value as u64).into()),
        }
    }

    /// Executes an instruction under its predicate.
    pub(super) fn step(&mut self, op: &Op, qp: u8) -> Result<Next, Trap> {
        if let Op::Branch { kind, target, link } = op {
            return control::branch(self, *kind, *target, *link, qp);
        }
        if !self.pr(qp, Use::Predicate) {
            self.disabled(op)?;
            return Ok(Next::Fall);
        }
        match op {
            Op::CheckNat { register, target } => return self.check_nat(*register, *target),
            Op::CheckAdvanced {
                register,
                clear,
                target,
            } => return self.check_advanced(*register, *clear, *target),
            _ => {}
        }
        self.integer(op)?;
        Ok(Next::Fall)
    }

    /// Executes an instruction whose predicate is false: some clear their targets even then.
    fn disabled(&mut self, op: &Op) -> Result<(), Trap> {
        let clear = |machine: &mut Self, p: [u8; 2], way: Way| {
            for each in p {
                machine.set_pr(each, Some(false), way);
            }
        };
        match *op {
            Op::Compare {
                how: Compare::Unc,
                p,
                ..
            }
            | Op::TestBit {
                how: Compare::Unc,
                p,
                ..
            }
            | Op::TestNat {
                how: Compare::Unc,
                p,
                ..
            } => {
                distinct(p)?;
                clear(self, p, Way::Integer);
            }
            Op::CompareFloat { unc: true, p, .. } | Op::ClassFloat { unc: true, p, .. } => {
                distinct(p)?;
                clear(self, p, Way::Plain);
            }
            Op::Reciprocal { p, .. } | Op::ReciprocalRoot { p, .. } => {
                self.set_pr(p, Some(false), Way::Plain);
            }
            _ => {}
        }
        Ok(())
    }

    /// Writes the targets of a compare; `result` of `None`: an operand was NaT.
    fn compared(&mut self, how: Compare, p: [u8; 2], result: Option<bool>) -> Result<(), Trap> {
        distinct(p)?;
        let parallel = |p: [u8; 2], to: [Option<bool>; 2], ways: [Way; 2]| {
            [(p[0], to[0], ways[0]), (p[1], to[1], ways[1])]
        };
        let both = |value: bool| [Some(value); 2];
        let keep = [None; 2];
        let writes = match how {
            Compare::Plain | Compare::Unc => parallel(
                p,
                match result {
                    None => both(false),
                    Some(result) => [Some(result), Some(!result)],
                },
                [Way::Integer; 2],
            ),
            Compare::And => parallel(
                p,
                if result == Some(true) {
                    keep
                } else {
                    both(false)
                },
                [Way::And; 2],
            ),
            Compare::AndComplement => parallel(
                p,
                if result == Some(false) {
                    keep
                } else {
                    both(false)
                },
                [Way::And; 2],
            ),
            Compare::Or => parallel(
                p,
                if result == Some(true) {
                    both(true)
                } else {
                    keep
                },
                [Way::Or; 2],
            ),
            Compare::OrComplement => parallel(
                p,
                if result == Some(false) {
                    both(true)
                } else {
                    keep
                },
                [Way::Or; 2],
            ),
            Compare::OrAndComplement => parallel(
                p,
                if result == Some(true) {
                    [Some(true), Some(false)]
                } else {
                    keep
                },
                [Way::OrOfBoth, Way::AndOfBoth],
            ),
            Compare::AndOrComplement => parallel(
                p,
                if result == Some(false) {
                    [Some(false), Some(true)]
                } else {
                    keep
                },
                [Way::AndOfBoth, Way::OrOfBoth],
            ),
        };
        for (number, value, way) in writes {
            self.set_pr(number, value, way);
        }
        Ok(())
    }

    fn integer(&mut self, op: &Op) -> Result<(), Trap> {
        match *op {
            Op::Unknown => Err((
                FaultKind::Unsupported,
                "this instruction is not simulated".to_owned(),
            )),
            Op::Nop | Op::Fence | Op::FloatStatus => Ok(()),
            Op::Break(value) => Err((FaultKind::Break, format!("break {value:#x}"))),
            Op::Alu { op, to, a, b } => {
                let (a, b) = (self.src(a)?, self.src(b)?);
                let (x, y) = (a.value, b.value);
                let value = match op {
                    Alu::Add => x.wrapping_add(y),
                    Alu::AddOne => x.wrapping_add(y).wrapping_add(1),
                    Alu::Sub => x.wrapping_sub(y),
                    Alu::SubOne => x.wrapping_sub(y).wrapping_sub(1),
                    Alu::And => x & y,
                    Alu::AndNot => x & !y,
                    Alu::Or => x | y,
                    Alu::Xor => x ^ y,
                };
                let nat = a.nat || b.nat;
                self.set_gr(to, Word { value, nat })
            }
            Op::ShiftAdd {
                to,
                a,
                count,
                b,
                pointer,
            } => {
                let (a, b) = (self.src(a)?, self.gr(b)?);
                let sum = (a.value << count).wrapping_add(b.value);
                let value = if pointer {
                    sum & 0xffff_ffff | (b.value >> 30 & 3) << 61
                } else {
                    sum
                };
                let nat = a.nat || b.nat;
                self.set_gr(to, Word { value, nat })
            }
            Op::One { op, to, a } => {
                let Word { value, nat } = self.gr(a)?;
                let value = match op {
                    One::SignExtend(bits) => (value as i64) << (64 - bits) >> (64 - bits),
                    One::ZeroExtend(bits) => (value << (64 - bits) >> (64 - bits)) as i64,
                    One::ZeroIndex(bytes, left) => lanes::zero_index(value, bytes, left),
                    One::Population => i64::from(value.count_ones()),
                    One::LeadingZeros => i64::from(value.leading_zeros()),
                } as u64;
                self.set_gr(to, Word { value, nat })
            }
            Op::Shift { op, to, a, count } => {
                let (a, count) = (self.gr(a)?, self.src(count)?);
                let far = count.value > 63;
                let by = count.value as u32 & 63;
                let value = match op {
                    Shift::Left if far => 0,
                    Shift::Left => a.value << by,
                    Shift::Right => ((a.value as i64) >> if far { 63 } else { by }) as u64,
                    Shift::RightUnsigned if far => 0,
                    Shift::RightUnsigned => a.value >> by,
                };
                let nat = a.nat || count.nat;
                self.set_gr(to, Word { value, nat })
            }
            Op::Extract {
                signed,
                to,
                a,
                position,
                length,
            } => {
                let Word { value, nat } = self.gr(a)?;
                let length = length.min(64u32.saturating_sub(position)).max(1);
                let up = 64 - length;
                let moved = value >> (position & 63) << up;
                let value = if signed {
                    (moved as i64 >> up) as u64
                } else {
                    moved >> up
                };
                self.set_gr(to, Word { value, nat })
            }
            Op::Deposit {
                to,
                a,
                base,
                position,
                length,
            } => {
                let a = self.src(a)?;
                let base = match base {
                    Some(base) => self.gr(base)?,
                    None => Word::default(),
                };
                let (position, length) = (position & 63, length.clamp(1, 64));
                let mask = (u64::MAX >> (64 - length)) << position;
                let value = base.value & !mask | a.value << position & mask;
                let nat = a.nat || base.nat;
                self.set_gr(to, Word { value, nat })
            }
            Op::Funnel { to, a, b, count } => {
                let (a, b) = (self.gr(a)?, self.gr(b)?);
                let both = u128::from(a.value) << 64 | u128::from(b.value);
                let value = (both >> (count & 63)) as u64;
                let nat = a.nat || b.nat;
                self.set_gr(to, Word { value, nat })
            }
            Op::Lanes {
                op,
                bytes,
                to,
                a,
                b,
            } => {
                let (a, b) = (self.gr(a)?, self.src(b)?);
                let value = lanes::apply(op, bytes, a.value, b.value);
                let nat = a.nat || b.nat;
                self.set_gr(to, Word { value, nat })
            }
            Op::Permute {
                bytes,
                to,
                a,
                order,
            } => {
                let Word { value, nat } = self.gr(a)?;
                let value = lanes::permuted(value, bytes, order);
                self.set_gr(to, Word { value, nat })
            }
            Op::Compare {
                relation,
                four,
                how,
                p,
                a,
                b,
            } => {
                let (a, b) = (self.src(a)?, self.src(b)?);
                let narrow = |value: u64| {
                    if four {
                        i64::from(value as i32)
                    } else {
                        value as i64
                    }
                };
                let sound = !a.nat && !b.nat;
                let result = sound.then(|| relation.holds(narrow(a.value), narrow(b.value)));
                self.compared(how, p, result)
            }
            Op::TestBit {
                zero,
                how,
                p,
                a,
                position,
            } => {
                let a = self.gr(a)?;
                let set = a.value >> position & 1 != 0;
                self.compared(how, p, (!a.nat).then_some(set != zero))
            }
            Op::TestNat { zero, how, p, a } => {
                let a = self.gr(a)?;
                self.compared(how, p, Some(a.nat != zero))
            }
            Op::Long { to, value } => self.set_gr(to, value as u64),
            Op::FromBranch { to, from } => {
                let value = self.br(from, Use::Data);
                self.set_gr(to, value)
            }
            Op::ToBranch { to, from } => {
                let value = self.sound(from, Use::Data)?;
                self.set_br(to, value);
                Ok(())
            }
            Op::FromApplication { to, from } => {
                let value = match from {
                    // The clock of a run is the number of instructions.
                    44 => self.steps,
                    66 => self.ar(66, Use::Data) & 63,
                    _ => self.ar(from, Use::Data),
                };
                self.set_gr(to, value)
            }
            Op::ToApplication { to, from } => {
                let value = match from {
                    Src::Imm(value) => value as u64,
                    Src::Reg(from) => self.sound(from, Use::Data)?,
                };
                self.set_ar(to, if to == 66 { value & 63 } else { value });
                Ok(())
            }
            Op::FromPredicates { to } => {
                let value = self.all_predicates();
                self.set_gr(to, value)
            }
            Op::ToPredicates { from, mask } => {
                let value = self.sound(from, Use::Data)?;
                self.set_predicates(value, mask);
                Ok(())
            }
            Op::ToRotating { value } => {
                self.set_predicates(value, !0xffff);
                Ok(())
            }
            Op::FromIp { to } => self.set_gr(to, self.ip),
            Op::FromMask { to } => self.set_gr(to, 0),
            Op::Alloc { .. } | Op::ClearRotation { .. } => control::frame(self, op),
            Op::Load { .. }
            | Op::LoadPair { .. }
            | Op::Store { .. }
            | Op::StorePair { .. }
            | Op::LoadFloat { .. }
            | Op::StoreFloat { .. }
            | Op::Atomic { .. }
            | Op::Prefetch { .. }
            | Op::Forget { .. } => self.access(op),
            _ => self.floating(op),
        }
    }
}

/// Two targets of a compare must be two registers.
pub(super) fn distinct(p: [u8; 2]) -> Result<(), Trap> {
    if p[0] == p[1] {
        return Err(illegal("both targets of the compare are one predicate"));
    }
    Ok(())
}
