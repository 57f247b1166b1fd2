//! Quotients and remainders by numbers that the code knows.
//!
//! ```text
//! cycle        0        5               9          14                     Itanium 2: 5 to the multiplier, 4 in it, 5 back
//! x / 10       setf x   xma.h x,M,x     getf                              int: 14 cycles from x to the quotient
//! x / 10       setf x   xma.hu x,M,M    getf       shr.u 1                unsigned long: 15
//! x / 10       setf x   xmpy.h x,M      getf       shr 2; add sign        long: 16
//! x % 10       setf x   xma.h x,-M,~0   getf       shladd; shladd         unsigned: 16
//! x % 1000003  setf x   xma.h x,M,x     xma.l q,-c,x   getf               int: 18, for the way back and forth is longer
//! ```
//!
//! With the multiplier no way is shorter: none of its results is available before 5 + 4 + 5 cycles. Two
//! corrections behind it are left out: signed numbers of up to 32 bits are rounded towards zero within the
//! multiply-add (the addend is a number without a sign, so that `x` below zero adds `2^64 + x`, and `M - 1`
//! takes `x` away), and a number that others leave extended is not extended again.
//!
//! ```text
//! x / 10       y = 3 x; y = 17 y; y = 257 y; y = 65537 y; y = 4 y + x; y >> 35      unsigned: 1 + 1 + 2 + 2 + 1 + 1 = 8
//! ```
//!
//! Without the multiplier a product of shifts and sums may be shorter, at up to three times the operations: a quotient that the
//! next one waits for is made so where that is the shorter way, others are not.
//!
//! `reciprocal` has the multipliers, and why they are right.

use super::factor::Step;
use super::integer::OPERATIONS;
use super::reciprocal::{self, Short, Signed, Unsigned};
use super::{Selector, factor, put, put_if};
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Name, Virtual};
use ir::loops::LoopForest;
use ir::{BinaryOp, Block, Edge, Function, Op, Value, ValueDef};
use isa::ia64::Mnemonic;
use isa::ia64::Reg;
use rustc_hash::{FxHashMap, FxHashSet};

/// About how many operations on integers in a row take as long as one of the multiplier.
const MULTIPLIER: u32 = 4;

/// The number of operations on integers in a row that take as long as the way to the multiplier and back.
const BACK: u32 = 14;

/// Operations of a product that takes the place of that way.
const SHIFTS: u32 = 10;

/// Multipliers that are looked at.
const PRODUCTS: usize = 8;

/// A number by which another of so many bits is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Divisor {
    size: u64,
    negative: bool,
    bits: u32,
    signed: bool,
    /// True if the dividend depends on the result of an iteration before.
    recurs: bool,
}

impl Divisor {
    /// Returns the divisor for a constant that is not 0, as a register has it.
    pub(super) const fn new(by: i64, bits: u32, signed: bool, recurs: bool) -> Divisor {
        Divisor {
            size: match signed {
                true => by.unsigned_abs(),
                false => by as u64 & (u64::MAX >> (64 - bits)),
            },
            negative: signed && by < 0,
            bits,
            signed,
            recurs,
        }
    }
}

/// Quotients and remainders by constants in loops that their own operands depend on.
pub(super) fn recurrent(function: &Function, forest: &LoopForest) -> FxHashSet<Value> {
    let mut divided: Vec<(Value, Value)> = Vec::new();
    for &block in &function.layout {
        if forest.of(block).is_none() {
            continue;
        }
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            let divides = matches!(
                data.op,
                Op::Binary(
                    BinaryOp::DivSigned
                        | BinaryOp::DivUnsigned
                        | BinaryOp::RemSigned
                        | BinaryOp::RemUnsigned,
                    _
                )
            );
            if divides && function.int_constant(data.args[1]).is_some() {
                divided.push((data.results[0], data.args[0]));
            }
        }
    }
    let mut out = FxHashSet::default();
    if divided.is_empty() {
        return out;
    }
    let mut arriving: FxHashMap<Block, Vec<&Edge>> = FxHashMap::default();
    for &block in &function.layout {
        for edge in function.blocks[block].terminator.edges() {
            arriving.entry(edge.block).or_default().push(edge);
        }
    }
    for (result, operand) in divided.into_iter().take(DIVISIONS) {
        let mut seen = FxHashSet::from_iter([operand]);
        let mut open = vec![operand];
        while let Some(value) = open.pop() {
            let from: Vec<Value> = match function.values[value].def {
                ValueDef::Result(inst, _) => function.insts[inst].args.to_vec(),
                ValueDef::Param(block, index) => {
                    let edges = arriving.get(&block).into_iter().flatten();
                    let args = edges.filter_map(|edge| edge.args.get(index as usize));
                    args.copied().collect()
                }
            };
            if from.contains(&result) || value == result {
                out.insert(result);
                break;
            }
            open.extend(from.into_iter().filter(|&it| seen.insert(it)));
        }
    }
    out
}

/// Divisions of a function that are looked at.
const DIVISIONS: usize = 256;

/// The operations on integers that stand behind each other in a product with this number; `None`: it takes the multiplier.
fn depth(factor: u64) -> Option<u32> {
    Some(factor::depth(&factor::steps(factor, OPERATIONS)?))
}

/// A product with the inverse by shifts and sums, where that is the shorter way round.
fn shifted(by: Divisor, remainder: bool) -> Option<(Short, Vec<Step>)> {
    if !by.recurs || by.bits > 32 {
        return None;
    }
    let mut most = BACK + u32::from(by.negative && !remainder);
    if remainder {
        // The way of a remainder through the multiplier, and the steps behind the quotient here.
        let behind = depth(by.size)? + 1;
        most = (most + behind).min(BACK + MULTIPLIER) - behind;
    }
    let mut best: Option<(u32, Short, Vec<Step>)> = None;
    let all = reciprocal::short(by.size, by.bits, by.signed);
    for short in all.into_iter().take(PRODUCTS) {
        let Some(steps) = factor::steps(short.multiplier, SHIFTS) else {
            continue;
        };
        let behind = 1 + u32::from(by.signed);
        let cycles = factor::depth(&steps) + u32::from(short.adds) + behind;
        let least = best.as_ref().map_or(most, |best| best.0);
        if cycles < least {
            best = Some((cycles, short, steps));
        }
    }
    best.map(|(_, short, steps)| (short, steps))
}

impl Selector<'_> {
    /// The quotient or remainder of `x`, which is extended as its type says.
    pub(super) fn divide_constant(&mut self, x: Name, by: Divisor, remainder: bool, to: Virtual) {
        if by.size.is_power_of_two() {
            return self.divide_power(x, by, remainder, to);
        }
        let asked = Divisor {
            negative: by.negative && !remainder,
            ..by
        };
        if let Some(product) = shifted(asked, remainder) {
            let quotient = if remainder { self.general() } else { to };
            self.quotient_shifted(x, asked, &product, quotient);
            if remainder {
                self.rest(x, quotient, by, to);
            }
            return;
        }
        let dividend = self.float();
        put!(self, "setf.sig", [dividend] = [x]);
        match (by.signed, remainder) {
            (true, true) => self.remainder_signed(x, dividend, by, to),
            (false, true) => self.remainder_unsigned(x, dividend, by, to),
            (false, false) => {
                let of = reciprocal::unsigned(by.size, by.bits);
                self.quotient_unsigned(dividend, of, to);
            }
            (true, false) => {
                let of = reciprocal::signed(by.size, by.bits);
                let quotient = if by.negative { self.general() } else { to };
                self.quotient_signed(x, dividend, of, quotient);
                if by.negative {
                    put!(self, "sub", [to] = [Reg::R0, quotient]);
                }
            }
        }
    }

    /// A number for the multiplier.
    fn significand(&mut self, number: u64) -> Virtual {
        let (from, to) = (self.constant(number as i64), self.float());
        put!(self, "setf.sig", [to] = [from]);
        to
    }
    /// A product of the multiplier, with something added.
    fn multiplied(
        &mut self,
        mnemonic: Mnemonic,
        x: Virtual,
        by: u64,
        add: Option<Virtual>,
    ) -> Virtual {
        let (by, to) = (self.significand(by), self.float());
        match add {
            Some(add) => put!(self, mnemonic, [to] = [x, by, add]),
            None => put!(self, mnemonic, [to] = [x, by]),
        }
        to
    }
    fn fetched(&mut self, from: Virtual) -> Virtual {
        let to = self.general();
        put!(self, "getf.sig", [to] = [from]);
        to
    }

    /// The high half of the product.
    fn high_unsigned(&mut self, x: Virtual, of: Unsigned) -> Virtual {
        let by = self.significand(of.multiplier);
        let to = self.float();
        match of.adds {
            true => put!(self, "xma.hu", [to] = [x, by, by]),
            false => put!(self, "xmpy.hu", [to] = [x, by]),
        }
        to
    }

    fn quotient_unsigned(&mut self, x: Virtual, of: Unsigned, to: Virtual) {
        let high = self.high_unsigned(x, of);
        if of.shift == 0 {
            return put!(self, "getf.sig", [to] = [high]);
        }
        let whole = self.fetched(high);
        put!(self, "shr.u", [to] = [whole, i64::from(of.shift)]);
    }

    /// The quotient where no shift is left.
    fn rounded_to_zero(&mut self, x: Virtual, of: Signed) -> Virtual {
        self.multiplied(op!("xma.h"), x, of.multiplier as u64 - 1, Some(x))
    }

    fn quotient_signed(&mut self, x: Name, dividend: Virtual, of: Signed, to: Virtual) {
        if of.shift == 0 {
            let quotient = self.rounded_to_zero(dividend, of);
            return put!(self, "getf.sig", [to] = [quotient]);
        }
        let shift = i64::from(of.shift);
        let high = self.multiplied(op!("xmpy.h"), dividend, of.multiplier as u64, None);
        let high = self.fetched(high);
        let sign = self.general();
        put!(self, "extr.u", [sign] = [x, 63, 1]);
        let sum = self.general();
        if !of.adds {
            put!(self, "shr", [sum] = [high, shift]);
            return put!(self, "add", [to] = [sum, sign]);
        }
        // The correction for the sign is added in front of the shift, while the multiplier is at work.
        let more = self.general();
        if shift <= 4 {
            put!(self, "shladd", [more] = [sign, shift, x]);
        } else {
            let found = self.general();
            put!(self, "shl", [found] = [sign, shift]);
            put!(self, "add", [more] = [found, x]);
        }
        put!(self, "add", [sum] = [high, more]);
        put!(self, "shr", [to] = [sum, shift]);
    }

    fn quotient_shifted(
        &mut self,
        x: Name,
        by: Divisor,
        (short, steps): &(Short, Vec<Step>),
        to: Virtual,
    ) {
        let mut from = x;
        if short.adds {
            let next = self.general();
            put!(self, "adds", [next] = [1, x]);
            from = next.into_name();
        }
        let product = self.chain(steps, from, None);
        let shift = i64::from(short.shift);
        if !by.signed {
            return put!(self, "shr.u", [to] = [product, shift]);
        }
        let whole = self.general();
        put!(self, "shr", [whole] = [product, shift]);
        // All ones below zero.
        let (sign, negative) = (self.general(), by.negative);
        put!(self, "shr", [sign] = [x, 63]);
        match negative {
            true => put!(self, "sub", [to] = [sign, whole]),
            false => put!(self, "sub", [to] = [whole, sign]),
        }
    }

    fn remainder_unsigned(&mut self, x: Name, dividend: Virtual, by: Divisor, to: Virtual) {
        let of = reciprocal::unsigned(by.size, by.bits);
        let shifts = u32::from(of.shift > 0);
        if by.bits < 64 {
            // The negative quotient is rounded up if the addend is just below 2^64.
            let low = by.size.trailing_zeros();
            let merged = (1..=4).contains(&low);
            let factor = if merged { by.size >> low } else { by.size };
            if depth(factor).is_some_and(|depth| depth + 1 < MULTIPLIER) {
                let all = self.significand(u64::MAX);
                let negative = self.multiplied(
                    op!("xma.h"),
                    dividend,
                    of.multiplier.wrapping_neg(),
                    Some(all),
                );
                let (quotient, product) = (self.fetched(negative), self.general());
                self.times(product, quotient.into_name(), factor as i64);
                return match merged {
                    true => put!(self, "shladd", [to] = [product, i64::from(low), x]),
                    false => put!(self, "add", [to] = [product, x]),
                };
            }
        } else if depth(by.size).is_some_and(|depth| depth + 1 < MULTIPLIER + 3 * shifts) {
            let quotient = self.general();
            self.quotient_unsigned(dividend, of, quotient);
            return self.rest(x, quotient, by, to);
        }
        let mut quotient = self.high_unsigned(dividend, of);
        if of.shift > 0 {
            quotient = self.multiplied(op!("xmpy.hu"), quotient, 1 << (64 - of.shift), None);
        }
        self.rest_of_multiplier(dividend, quotient, by, to);
    }

    fn remainder_signed(&mut self, x: Name, dividend: Virtual, by: Divisor, to: Virtual) {
        let of = reciprocal::signed(by.size, by.bits);
        let (shifts, adds) = (u32::from(of.shift > 0), u32::from(of.adds));
        let most = MULTIPLIER + (MULTIPLIER - 2) * shifts + MULTIPLIER * adds;
        if depth(by.size).is_some_and(|depth| depth + 1 < most) {
            let quotient = self.general();
            self.quotient_signed(x, dividend, of, quotient);
            return self.rest(x, quotient, by, to);
        }
        if of.shift == 0 {
            let quotient = self.rounded_to_zero(dividend, of);
            return self.rest_of_multiplier(dividend, quotient, by, to);
        }
        let mut high = self.multiplied(op!("xmpy.h"), dividend, of.multiplier as u64, None);
        if of.adds {
            high = self.multiplied(op!("xma.l"), dividend, 1, Some(high));
        }
        // A shift that rounds towards zero, as above.
        let shift = (1 << (64 - of.shift)) - 1;
        let quotient = self.multiplied(op!("xma.h"), high, shift, Some(high));
        self.rest_of_multiplier(dividend, quotient, by, to);
    }

    fn rest(&mut self, x: Name, quotient: Virtual, by: Divisor, to: Virtual) {
        let product = self.general();
        self.times(product, quotient.into_name(), by.size as i64);
        put!(self, "sub", [to] = [x, product.into_name()]);
    }
    fn rest_of_multiplier(&mut self, x: Virtual, quotient: Virtual, by: Divisor, to: Virtual) {
        let rest = self.multiplied(op!("xma.l"), quotient, by.size.wrapping_neg(), Some(x));
        put!(self, "getf.sig", [to] = [rest]);
    }

    /// Divides by 2^k: signed numbers are moved up by 2^k - 1 where they are negative.
    fn divide_power(&mut self, x: Name, by: Divisor, remainder: bool, to: Virtual) {
        let k = i64::from(by.size.trailing_zeros());
        match (by.signed, remainder) {
            (_, true) if k == 0 => return put!(self, "mov", [to] = [Reg::R0]),
            (_, false) if k == 0 && by.negative => {
                return put!(self, "sub", [to] = [Reg::R0, x]);
            }
            _ if k == 0 => return put!(self, "mov", [to] = [x]),
            (false, true) => return put!(self, "extr.u", [to] = [x, 0, k]),
            (false, false) => return put!(self, "shr.u", [to] = [x, k]),
            (true, _) => {}
        }
        let (sum, moved) = (self.general(), self.general());
        let p = self.predicate();
        put!(self, "cmp.gt", [p, Reg::P0] = [Reg::R0, x]);
        let add = self.constant((by.size - 1) as i64);
        put!(self, "add", [sum] = [x, add]);
        put!(self, "mov", [moved] = [x]);
        put_if!(self, p, "mov", [moved] = [sum]);
        if remainder {
            let (whole, mask) = (self.general(), by.size.wrapping_neg() as i64);
            match mask {
                -128..0 => put!(self, "and", [whole] = [mask, moved]),
                _ => {
                    let mask = self.constant(mask);
                    put!(self, "and", [whole] = [moved.into_name(), mask]);
                }
            }
            return put!(self, "sub", [to] = [x, whole]);
        }
        let quotient = if by.negative { self.general() } else { to };
        put!(self, "shr", [quotient] = [moved, k]);
        if by.negative {
            put!(self, "sub", [to] = [Reg::R0, quotient]);
        }
    }
}
