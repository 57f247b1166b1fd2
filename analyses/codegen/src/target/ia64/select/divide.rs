//! Division and square root: approximations from tables and multiply-add steps in the wide exponent range of status field
//! 1, which round correctly.
//!
//! ```text
//! y, p = frcpa a, b         8 bits of 1/b; where p is false, y is the quotient already (0, infinities, NaNs)
//! (p) q = a*y  e = 1 - b*y  q = q + e*q  ...  the last step rounds to the type
//! ```
//!
//! Sources: the sequences that Intel published in *Divide, Square Root, and Remainder Algorithms for the Itanium
//! Architecture* (2000); Cornea, Harrison, Tang, *Scientific Computing on Itanium-Based Systems*, chapters 8 and 9.

use super::float::rounded;
use super::quotient::Divisor;
use super::{Selector, put, put_if};
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Name, Virtual};
use ir::{BinaryOp, Type, Value};
use isa::ia64::Reg;
use isa::ia64::{Completer, Mnemonic, Opcode};

const ONE: Reg = Reg::float(1);

impl Selector<'_> {
    fn step(&mut self, p: Virtual, mnemonic: Mnemonic, a: Name, b: Name, c: Name) -> Name {
        let to = self.float();
        // What the predicate leaves out is read by nothing that executes.
        let before = self.predicate.replace(p);
        self.push(
            mnemonic,
            vec![to.into()],
            vec![a.into(), b.into(), c.into()],
        );
        self.predicate = before;
        to.into_name()
    }
    fn product_step(&mut self, p: Virtual, a: Name, b: Name) -> Name {
        let to = self.float();
        put_if!(self, p, "fmpy.s1", [to] = [a, b]);
        to.into_name()
    }

    /// `to = a / b`, rounded once.
    pub(super) fn float_divide(&mut self, to: Virtual, a: Name, b: Name, ty: Type) {
        let one = Name::Fixed(ONE);
        let (y, p) = (self.float(), self.predicate());
        put!(self, "frcpa.s0", [y, p] = [a, b]);
        let start = y.into_name();
        let q0 = self.product_step(p, a, start);
        let e0 = self.step(p, op!("fnma.s1"), b, start, one);
        let q1 = self.step(p, op!("fma.s1"), e0, q0, q0);
        let e1 = self.product_step(p, e0, e0);
        if ty == Type::F32 {
            let q2 = self.step(p, op!("fma.s1"), e1, q1, q1);
            let e2 = self.product_step(p, e1, e1);
            let q3 = self.step(p, op!("fma.d.s1"), e2, q2, q2);
            put!(self, "mov", [to] = [y]);
            return put_if!(self, p, "fnorm.s.s0", [to] = [q3]);
        }
        let y1 = self.step(p, op!("fma.s1"), e0, start, start);
        let q2 = self.step(p, op!("fma.s1"), e1, q1, q1);
        let e2 = self.product_step(p, e1, e1);
        let y2 = self.step(p, op!("fma.s1"), e1, y1, y1);
        let q3 = self.step(p, op!("fma.d.s1"), e2, q2, q2);
        let y3 = self.step(p, op!("fma.s1"), e2, y2, y2);
        let r0 = self.step(p, op!("fnma.d.s1"), b, q3, a);
        put!(self, "mov", [to] = [y]);
        put_if!(self, p, "fma.d.s0", [to] = [r0, y3, q3]);
    }

    /// `to = sqrt(a)`, rounded once.
    pub(super) fn root(&mut self, to: Virtual, a: Name, ty: Type) {
        let (y, p) = (self.float(), self.predicate());
        let half = self.power(-1);
        put!(self, "frsqrta.s0", [y, p] = [a]);
        let start = y.into_name();
        let mut g = self.product_step(p, a, start);
        let mut h = self.product_step(p, half, start);
        // Each round doubles the bits that are right.
        let rounds = if ty == Type::F32 { 2 } else { 3 };
        for _ in 0..rounds {
            let r = self.step(p, op!("fnma.s1"), g, h, half);
            g = self.step(p, op!("fma.s1"), g, r, g);
            h = self.step(p, op!("fma.s1"), h, r, h);
        }
        let d = self.step(p, op!("fnma.s1"), g, g, a);
        put!(self, "mov", [to] = [y]);
        put_if!(
            self,
            p,
            Mnemonic::new(Opcode::Fma, &[rounded(ty), Completer::S0]),
            [to] = [d, h, g]
        );
    }

    /// Quotient or remainder of integers, into a register whose upper bits may be anything.
    pub(super) fn divide(
        &mut self,
        op: BinaryOp,
        a: Value,
        b: Value,
        (result, to): (Value, Virtual),
    ) {
        let ty = self.ty(a);
        let signed = matches!(op, BinaryOp::DivSigned | BinaryOp::RemSigned);
        let remainder = matches!(op, BinaryOp::RemSigned | BinaryOp::RemUnsigned);
        let (mut x, mut y) = (self.integer(a), self.integer(b));
        if !signed {
            x = self.plain_integer(a);
        }
        if let Some(by) = self.number(b).filter(|&by| by != 0) {
            let recurs = self.recurrent.contains(&result);
            let by = Divisor::new(by, ty.bits(), signed, recurs);
            return self.divide_constant(x, by, remainder, to);
        }
        if !signed {
            y = self.plain_integer(b);
        }
        let (f, g) = (self.float(), self.float());
        let (u, v) = (self.float(), self.float());
        put!(self, "setf.sig", [f] = [x]);
        put!(self, "setf.sig", [g] = [y]);
        // Numbers below 2^63 are signed ones.
        let plain = signed || ty.bits() < 64;
        let mnemonic = if plain {
            op!("fcvt.xf")
        } else {
            op!("fcvt.xuf.s1")
        };
        put!(self, mnemonic, [u] = [f]);
        put!(self, mnemonic, [v] = [g]);
        let (a, b, one) = (u.into_name(), v.into_name(), Name::Fixed(ONE));
        let (start, p) = (self.float(), self.predicate());
        put!(self, "frcpa.s1", [start, p] = [a, b]);
        let y0 = start.into_name();
        let q0 = self.product_step(p, a, y0);
        let e0 = self.step(p, op!("fnma.s1"), b, y0, one);
        let q1 = self.step(p, op!("fma.s1"), e0, q0, q0);
        let last = self.float();
        put!(self, "mov", [last] = [start]);
        if ty.bits() <= 32 {
            // The error of a quotient that is no whole number is larger than 2^-34 of it.
            let margin = self.power(-34);
            let e1 = self.step(p, op!("fma.s1"), e0, e0, margin);
            put_if!(self, p, "fma.s1", [last] = [e1, q1, q1]);
        } else {
            let e1 = self.product_step(p, e0, e0);
            let y1 = self.step(p, op!("fma.s1"), e0, y0, y0);
            let q2 = self.step(p, op!("fma.s1"), e1, q1, q1);
            let y2 = self.step(p, op!("fma.s1"), e1, y1, y1);
            let r = self.step(p, op!("fnma.s1"), b, q2, a);
            put_if!(self, p, "fma.s1", [last] = [r, y2, q2]);
        }
        let (whole, quotient) = (self.float(), self.general());
        put!(
            self,
            if plain {
                op!("fcvt.fx.trunc.s1")
            } else {
                op!("fcvt.fxu.trunc.s1")
            },
            [whole] = [last]
        );
        let zero = self.predicate();
        if self.options.total {
            put!(self, "cmp.eq", [zero, Reg::P0] = [Reg::R0, y]);
        }
        if remainder {
            let (product, rest) = (self.general(), self.general());
            let times = self.float();
            put!(self, "xmpy.l", [times] = [whole, g]);
            put!(self, "getf.sig", [product] = [times]);
            put!(self, "sub", [rest] = [x, product]);
            put!(self, "mov", [to] = [rest]);
            if self.options.total {
                put_if!(self, zero, "mov", [to] = [x]);
            }
        } else {
            put!(self, "getf.sig", [quotient] = [whole]);
            put!(self, "mov", [to] = [quotient]);
            if self.options.total {
                put_if!(self, zero, "mov", [to] = [-1]);
            }
        }
    }
}
