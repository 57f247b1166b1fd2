//! Operations on one number.

use super::super::code::Virtual;
use super::Selection;
use crate::select::{Guard, Select};
use ir::{Op, Type, UnaryOp, Value};
use isa::sc140::Opcode;

impl Selection<'_> {
    pub(super) fn unary(&mut self, op: UnaryOp, arg: Value, result: Value) {
        let ty = self.ty(arg);
        // Of offsets the low half counts.
        if ty == Type::I64 && !matches!(op, UnaryOp::Not | UnaryOp::Neg) {
            return self.no_form(&crate::select::name(&Op::Unary(op)), ty);
        }
        if ty == Type::Bool {
            let from = self.integer(arg);
            let to = self.home(result);
            self.put(Opcode::Clr, to, &[]);
            let flag = self.flag();
            self.put(Opcode::Tstgt, flag, &[from.into()]);
            let clear = Guard {
                register: flag,
                holds: false,
            };
            return self.put_under(clear, Opcode::Add, to, &[1.into()]);
        }
        let from = self.integer(arg);
        match op {
            UnaryOp::Not => {
                let raw = self.target(result);
                self.put(Opcode::Not, raw, &[from.into()]);
                self.settle(result, raw);
            }
            // What saturates at the ends of 32 bits is right within 16.
            UnaryOp::Neg | UnaryOp::IntAbs if ty == Type::I32 && self.short(arg).is_some() => {
                let opcode = match op {
                    UnaryOp::Neg => Opcode::Neg,
                    _ => Opcode::Abs,
                };
                let made = self.copied(from);
                self.put(opcode, made, &[]);
                let to = self.home(result);
                self.copy(to, made);
            }
            UnaryOp::Neg => {
                let raw = self.target(result);
                let other = self.data();
                self.put(Opcode::Not, other, &[from.into()]);
                self.copy(raw, other);
                self.put(Opcode::IaddncW, raw, &[1.into()]);
                self.settle(result, raw);
            }
            UnaryOp::IntAbs => {
                let raw = self.target(result);
                let flag = self.flag();
                self.put(Opcode::Tstge, flag, &[from.into()]);
                self.copy(raw, from);
                let negative = Guard {
                    register: flag,
                    holds: false,
                };
                self.put_under(negative, Opcode::Not, raw, &[raw.into()]);
                self.put_under(negative, Opcode::IaddncW, raw, &[1.into()]);
                self.settle(result, raw);
            }
            // The mode saturates what lies in the high part, and leaves the flag alone.
            UnaryOp::AbsSaturateSigned if ty == Type::I16 => {
                let high = self.clean_fraction(arg);
                let made = self.copied(high);
                self.put(Opcode::Abs, made, &[]);
                let to = self.home(result);
                self.put(Opcode::Asrw, to, &[made.into()]);
            }
            UnaryOp::AbsSaturateSigned => {
                let raw = self.copied(from);
                self.put(Opcode::Abs, raw, &[]);
                self.clamped(raw, result);
            }
            UnaryOp::RoundHigh if ty == Type::I32 => {
                let to = self.home(result);
                self.put(Opcode::Rnd, to, &[from.into()]);
            }
            UnaryOp::Normalize => self.normalize(from, ty, result),
            UnaryOp::CountLeadingZeros => self.leading_zeros(from, ty, result),
            op => self.no_form(&crate::select::name(&Op::Unary(op)), ty),
        }
    }

    /// The places by which a number can go left.
    fn normalize(&mut self, from: Virtual, ty: Type, result: Value) {
        let raw = self.room(from, ty);
        let flag = self.flag();
        self.put(Opcode::Tsteq, flag, &[from.into()]);
        self.put_under(Guard::of(flag), Opcode::Clr, raw, &[]);
        let to = self.home(result);
        self.copy(to, raw);
    }
}
