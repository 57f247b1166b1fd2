//! Addresses as sums of values with factors and a constant, modulo 2^64.
//!
//! ```text
//! ptr_add a, shl(sext(add.nsw i, 1), 3)      a + 8 * sext(i) + 8
//! ```
//!
//! Narrow sums below an extension are taken apart where the program promises that they do not wrap. Two addresses of the same
//! values differ by their constants; of others nothing is known.

use ir::{BinaryOp, Convert, Function, Op, Type, Value};
use rustc_hash::FxHashMap;

/// Operations that are followed from an address.
const DEPTH: u32 = 16;
/// Values of a sum.
const TERMS: usize = 8;

/// A value, or its extension from 32 bits by its sign.
pub(crate) type Term = (Value, bool);

pub(crate) type Linear = ir::linear::Linear<Term>;

/// Linear forms of a function's values, each found once.
pub(crate) struct Forms<'f> {
    function: &'f Function,
    /// Narrow sums may wrap whatever the program promises.
    wraps: bool,
    known: FxHashMap<Term, Linear>,
}

impl<'f> Forms<'f> {
    pub(crate) fn new(function: &'f Function, wraps: bool) -> Self {
        Forms {
            function,
            wraps,
            known: FxHashMap::default(),
        }
    }

    pub(crate) fn form(&mut self, value: Value) -> Linear {
        self.find((value, false), DEPTH)
    }

    fn find(&mut self, term: Term, depth: u32) -> Linear {
        if let Some(known) = self.known.get(&term) {
            return known.clone();
        }
        let Some(depth) = depth.checked_sub(1) else {
            return Linear::symbol(term);
        };
        let found = self.taken_apart(term, depth);
        let found = found.filter(|form| form.terms.len() <= TERMS);
        let found = found.unwrap_or_else(|| Linear::symbol(term));
        self.known.insert(term, found.clone());
        found
    }

    fn taken_apart(&mut self, (value, narrow): Term, depth: u32) -> Option<Linear> {
        let function = self.function;
        let data = function.defining(value)?;
        let ty = function.ty(value);
        let constant = |value: Value| function.int_constant(value);
        if let Op::Const(bits) = data.op {
            return matches!(ty, Type::I32 | Type::I64).then(|| Linear::number(bits as i64));
        }
        let arg = |at: usize| data.args.get(at).map(|&arg| (arg, narrow));
        match data.op {
            Op::PtrAdd if !narrow => {
                let (base, offset) = (self.find(arg(0)?, depth), self.find(arg(1)?, depth));
                Some(base.plus(&offset, 1))
            }
            Op::Convert(Convert::SignExtend)
                if !narrow && ty == Type::I64 && function.ty(data.args[0]) == Type::I32 =>
            {
                Some(self.find((data.args[0], true), depth))
            }
            Op::Binary(op, wrap)
                if match narrow {
                    true => ty == Type::I32 && wrap.no_signed && !self.wraps,
                    false => ty == Type::I64,
                } =>
            {
                let (left, right) = (arg(0)?, arg(1)?);
                match op {
                    BinaryOp::Add | BinaryOp::Sub => {
                        let sign = if op == BinaryOp::Add { 1 } else { -1 };
                        let first = self.find(left, depth);
                        Some(first.plus(&self.find(right, depth), sign))
                    }
                    BinaryOp::Mul => {
                        let (of, by) = match (constant(left.0), constant(right.0)) {
                            (_, Some(by)) => (left, by),
                            (Some(by), _) => (right, by),
                            _ => return None,
                        };
                        Some(Linear::default().plus(&self.find(of, depth), by))
                    }
                    BinaryOp::Shl => {
                        let by = constant(right.0).filter(|by| (0..31).contains(by))?;
                        Some(Linear::default().plus(&self.find(left, depth), 1 << by))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}
