//! Bodies of loops that signal processing is full of, for random functions to mix.
//!
//! Each function here makes the operations of one iteration, and returns the registers that are worth reading behind the loop.

use super::maker::{Maker, register};
use crate::quad::set::{Class, Opcode};
use lockstep_codegen::mir::Virtual;
use rand::Rng;
use rand::seq::IndexedRandom;

type Shape = fn(&mut Maker<'_>) -> Vec<Virtual>;

pub const SHAPES: [Shape; 15] = [
    dot_product,
    delay_line,
    recursive_filter,
    saturating_add,
    maximum,
    complex_product,
    vector_add,
    copy,
    wide_sum,
    prefix_sum,
    histogram,
    exponential,
    late_use,
    absolute_sum,
    scale_pairs,
];

fn dot_product(m: &mut Maker<'_>) -> Vec<Virtual> {
    let sum = m.carried();
    let (p, q) = (m.any_pointer(), m.any_pointer());
    let (x, y) = (m.load(Opcode::Ld, p, 4), m.load(Opcode::Ld, q, 4));
    m.emit(Opcode::Mac, None, sum, vec![register(x), register(y)]);
    vec![sum]
}

/// A filter of three taps: `y[i] = a x[i] + b x[i-1] + c x[i-2]`, the last two kept in registers.
fn delay_line(m: &mut Maker<'_>) -> Vec<Virtual> {
    let (last, before) = (m.carried(), m.carried());
    let taps = [m.invariant(), m.invariant(), m.invariant()];
    let (p, q) = (m.any_pointer(), m.any_pointer());
    let x = m.load(Opcode::Ld, p, 4);
    let y = m.data2(Opcode::Mul, x, taps[0]);
    m.emit(
        Opcode::Mac,
        None,
        y,
        vec![register(last), register(taps[1])],
    );
    m.emit(
        Opcode::Mac,
        None,
        y,
        vec![register(before), register(taps[2])],
    );
    m.access(Opcode::St, None, y, q, 4);
    m.emit(Opcode::Mov, None, before, vec![register(last)]);
    m.emit(Opcode::Mov, None, last, vec![register(x)]);
    vec![last, before]
}

/// `y = x + a y`, stored.
fn recursive_filter(m: &mut Maker<'_>) -> Vec<Virtual> {
    let (last, factor) = (m.carried(), m.invariant());
    let (p, q) = (m.any_pointer(), m.any_pointer());
    let x = m.load(Opcode::Ld, p, 4);
    let by = m.rng.random_range(1..8_i64);
    let scaled = m.data2(Opcode::Mul, last, factor);
    let scaled = m.made(Opcode::Shr, Class::Data, vec![register(scaled), by.into()]);
    m.emit(Opcode::Add, None, last, vec![register(x), register(scaled)]);
    m.access(Opcode::St, None, last, q, 4);
    vec![last]
}

fn saturating_add(m: &mut Maker<'_>) -> Vec<Virtual> {
    let (high, low) = (m.invariant(), m.invariant());
    let (p, q) = (m.any_pointer(), m.any_pointer());
    let (x, y) = (m.load(Opcode::Ld, p, 4), m.load(Opcode::Ld, q, 0));
    let sum = m.data2(Opcode::Add, x, y);
    let above = m.made(
        Opcode::Cmplt,
        Class::Flag,
        vec![register(high), register(sum)],
    );
    m.emit(Opcode::Mov, Some((above, true)), sum, vec![register(high)]);
    let within = m.made(
        Opcode::Cmplt,
        Class::Flag,
        vec![register(low), register(sum)],
    );
    m.emit(Opcode::Mov, Some((within, false)), sum, vec![register(low)]);
    m.access(Opcode::St, None, sum, q, 4);
    vec![sum]
}

/// The largest value and its index.
fn maximum(m: &mut Maker<'_>) -> Vec<Virtual> {
    let (largest, at, index) = (m.carried(), m.carried(), m.carried());
    let p = m.any_pointer();
    let x = m.load(Opcode::Ld, p, 4);
    let less = m.made(
        Opcode::Cmplt,
        Class::Flag,
        vec![register(largest), register(x)],
    );
    let guard = Some((less, true));
    m.emit(Opcode::Mov, guard, largest, vec![register(x)]);
    m.emit(Opcode::Mov, guard, at, vec![register(index)]);
    m.emit(Opcode::Add, None, index, vec![register(index), 1.into()]);
    vec![largest, at, index]
}

fn complex_product(m: &mut Maker<'_>) -> Vec<Virtual> {
    let (p, q) = (m.any_pointer(), m.any_pointer());
    let (re, im) = (m.load(Opcode::Ld, p, 4), m.load(Opcode::Ld, p, 4));
    let (c, s) = (m.invariant(), m.invariant());
    let real = m.data2(Opcode::Mul, re, c);
    let other = m.data2(Opcode::Mul, im, s);
    let real = m.data2(Opcode::Sub, real, other);
    let imaginary = m.data2(Opcode::Mul, re, s);
    m.emit(
        Opcode::Mac,
        None,
        imaginary,
        vec![register(im), register(c)],
    );
    m.access(Opcode::St, None, real, q, 4);
    m.access(Opcode::St, None, imaginary, q, 4);
    vec![real]
}

fn vector_add(m: &mut Maker<'_>) -> Vec<Virtual> {
    let (p, q, r) = (m.any_pointer(), m.any_pointer(), m.any_pointer());
    let (x, y) = (m.load(Opcode::Ld, p, 4), m.load(Opcode::Ld, q, 4));
    let sum = m.data2(Opcode::Add, x, y);
    m.access(Opcode::St, None, sum, r, 4);
    vec![sum]
}

fn copy(m: &mut Maker<'_>) -> Vec<Virtual> {
    let (p, q) = (m.any_pointer(), m.any_pointer());
    let (load, store, by) = if m.chance(50) {
        (Opcode::Ldq, Opcode::Stq, 8)
    } else {
        (Opcode::Ld, Opcode::St, 4)
    };
    let x = m.load(load, p, by);
    m.access(store, None, x, q, by);
    Vec::new()
}

/// A sum of 64 bits, returned as its low half and whether it is odd.
fn wide_sum(m: &mut Maker<'_>) -> Vec<Virtual> {
    let p = m.any_pointer();
    let sum = m.carried_pair();
    let x = m.load(Opcode::Ld, p, 4);
    let wide = m.made(Opcode::Widen, Class::Pair, vec![register(x)]);
    m.emit(Opcode::Addq, None, sum, vec![register(sum), register(wide)]);
    let low = m.made(Opcode::Narrow, Class::Data, vec![register(sum)]);
    vec![low]
}

/// `a[i] += a[i-1]`: from iteration to iteration through memory.
fn prefix_sum(m: &mut Maker<'_>) -> Vec<Virtual> {
    let p = m.any_pointer();
    let (base, object) = (m.pointers[p].register, m.pointers[p].object.clone());
    let before = m.made(Opcode::Add, Class::Data, vec![register(base), (-4).into()]);
    let last = m.fresh(Class::Data);
    m.access_at(Opcode::Ld, None, last, (before, object), None);
    let here = m.load(Opcode::Ld, p, 0);
    let sum = m.data2(Opcode::Add, last, here);
    m.access(Opcode::St, None, sum, p, 4);
    vec![sum]
}

fn histogram(m: &mut Maker<'_>) -> Vec<Virtual> {
    let (p, q) = (m.any_pointer(), m.any_pointer());
    let x = m.load(Opcode::Ld, p, 4);
    let (base, object) = (m.pointers[q].register, m.pointers[q].object.clone());
    let index = m.made(Opcode::And, Class::Data, vec![register(x), 12.into()]);
    let at = m.data2(Opcode::Add, base, index);
    let count = m.fresh(Class::Data);
    m.access_at(Opcode::Ld, None, count, (at, object.clone()), None);
    m.emit(Opcode::Add, None, count, vec![register(count), 1.into()]);
    m.access_at(Opcode::St, None, count, (at, object), None);
    Vec::new()
}

/// A recurrence of two operations, one of them long.
fn exponential(m: &mut Maker<'_>) -> Vec<Virtual> {
    let (value, factor) = (m.carried(), m.invariant());
    m.emit(
        Opcode::Mul,
        None,
        value,
        vec![register(value), register(factor)],
    );
    m.emit(Opcode::Xor, None, value, vec![register(value), 5.into()]);
    vec![value]
}

/// A value that is read long after it is there, and its predecessor in the iteration before.
fn late_use(m: &mut Maker<'_>) -> Vec<Virtual> {
    let (p, last) = (m.any_pointer(), m.carried());
    let early = m.load(Opcode::Ld, p, 4);
    let mut chain = m.data2(Opcode::Xor, early, last);
    for _ in 0..m.rng.random_range(1..5) {
        let opcode = [Opcode::Mul, Opcode::Add, Opcode::Mul]
            .choose(m.rng)
            .copied()
            .unwrap_or(Opcode::Mul);
        let factor = m.invariant();
        chain = m.data2(opcode, chain, factor);
    }
    let end = m.data2(Opcode::Sub, chain, early);
    m.emit(Opcode::Mov, None, last, vec![register(early)]);
    vec![end, last]
}

fn absolute_sum(m: &mut Maker<'_>) -> Vec<Virtual> {
    let (sum, zero) = (m.carried(), m.invariant());
    let p = m.any_pointer();
    let x = m.load(Opcode::Ld, p, 4);
    let less = m.made(Opcode::Cmplt, Class::Flag, vec![register(x), 0.into()]);
    m.emit(
        Opcode::Sub,
        Some((less, true)),
        x,
        vec![register(zero), register(x)],
    );
    m.emit(Opcode::Add, None, sum, vec![register(sum), register(x)]);
    vec![sum]
}

fn scale_pairs(m: &mut Maker<'_>) -> Vec<Virtual> {
    let (p, q) = (m.any_pointer(), m.any_pointer());
    let pair = m.load(Opcode::Ldq, p, 8);
    let twice = m.made(
        Opcode::Addq,
        Class::Pair,
        vec![register(pair), register(pair)],
    );
    m.access(Opcode::Stq, None, twice, q, 8);
    let low = m.made(Opcode::Narrow, Class::Data, vec![register(twice)]);
    vec![low]
}
