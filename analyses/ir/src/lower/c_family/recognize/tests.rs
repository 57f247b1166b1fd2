//! Functions written in several ways, and what they are; those that differ somewhere are nothing.

use super::*;
use crate::function::Language;
use crate::lower::c_family::root::UnitBodies;
use syntax::c_family::{Dialect, parse_text};

const HEAD: &str =
    "typedef short Word16; typedef int Word32; typedef int Flag; Flag Overflow; int count;\n";

/// The operation that the last function of a text is, and its effect on `Overflow`.
fn found(text: &str) -> Option<(&'static str, FlagEffect)> {
    let items = parse_text(&format!("{HEAD}{text}"), Dialect::C);
    for item in &items {
        assert!(item.problems.is_empty(), "{:?}\n{text}", item.problems);
    }
    let env = Environment::new(&items);
    let bodies = UnitBodies(items.iter().map(|i| (i.key.clone(), i.clone())).collect());
    let last = items.last().expect("a function");
    let options = LowerOptions::new(Language::C);
    let recognized = recognize(&env, &bodies, &last.key, &options)?;
    Some((recognized.operation().name, recognized.overflow))
}

fn plain(text: &str) -> Option<&'static str> {
    found(text).map(|(name, effect)| {
        assert_eq!(effect, FlagEffect::Untouched, "{text}");
        name
    })
}

#[test]
fn sums_are_found_however_they_saturate() {
    let clamped = "Word16 plus(Word16 a, Word16 b) {
      Word32 s = (Word32)a + b;
      if (s > 32767) return 32767;
      if (s < -32768) return -32768;
      return (Word16)s; }";
    assert_eq!(plain(clamped), Some("add"));
    let by_signs = "Word32 plus(Word32 a, Word32 b) {
      Word32 s = (Word32)((unsigned)a + (unsigned)b);
      if ((~(a ^ b) & (a ^ s)) < 0) s = a < 0 ? (-2147483647 - 1) : 0x7fffffff;
      return s; }";
    assert_eq!(plain(by_signs), Some("L_add"));
    let wide = "Word32 less(Word32 a, Word32 b) {
      long long d = (long long)a - b;
      return d > 2147483647LL ? 2147483647 : d < -2147483648LL ? -2147483647 - 1 : (Word32)d; }";
    assert_eq!(plain(wide), Some("L_sub"));
    let compiler =
        "Word32 size(Word32 a) { return a == (-2147483647 - 1) ? 2147483647 : a < 0 ? -a : a; }";
    assert_eq!(plain(compiler), Some("L_abs"));
}

#[test]
fn a_name_alone_is_nothing() {
    let wraps = "Word32 L_add(Word32 a, Word32 b) { return (Word32)((unsigned)a + (unsigned)b); }";
    assert_eq!(found(wraps), None);
    // Right for all but one pair of operands.
    let nearly = "Word32 L_mult(Word16 a, Word16 b) { return (Word32)((unsigned)(a * b) << 1); }";
    assert_eq!(found(nearly), None);
    // Numbers of the samples alone are right.
    let off = "Word16 add(Word16 a, Word16 b) {
      Word32 s = (Word32)a + b;
      if (a == 12345 && b == -321) return 7;
      return s > 32767 ? 32767 : s < -32768 ? -32768 : s; }";
    assert_eq!(found(off), None);
    let counts = "Word16 add(Word16 a, Word16 b) {
      Word32 s = (Word32)a + b; count++;
      return s > 32767 ? 32767 : s < -32768 ? -32768 : s; }";
    assert_eq!(found(counts), None);
}

const MULTIPLY: &str = "static Word32 twice(Word16 x, Word16 y) {
      Word32 p = (Word32)x * y;
      if (p == 0x40000000) { Overflow = 1; return 0x7fffffff; }
      return p * 2; }
    static Word32 sum(Word32 a, Word32 b) {
      Word32 s = (Word32)((unsigned)a + (unsigned)b);
      if (((a ^ b) >= 0) && ((a ^ s) < 0)) { Overflow = 1; s = a < 0 ? -2147483647 - 1 : 2147483647; }
      return s; }\n";

#[test]
fn products_are_found_through_what_they_call() {
    let sticky = Some(("L_mac", FlagEffect::Sticky));
    let mac = "Word32 multiply_add(Word32 s, Word16 x, Word16 y) { return sum(s, twice(x, y)); }";
    assert_eq!(found(&format!("{MULTIPLY}{mac}")), sticky);
    let rounded = "Word16 last(Word32 s, Word16 x, Word16 y) {
      return (Word16)(sum(sum(s, twice(x, y)), 0x8000) >> 16); }";
    let sticky = Some(("mac_r", FlagEffect::Sticky));
    assert_eq!(found(&format!("{MULTIPLY}{rounded}")), sticky);
    // The factors of another order are the same, those of another sum are not.
    let other = "Word32 L_mac(Word32 s, Word16 x, Word16 y) { return sum(s, twice(x, x)); }";
    assert_eq!(found(&format!("{MULTIPLY}{other}")), None);
    let high = "Word16 high(Word16 a, Word16 b) {
      Word32 p = ((Word32)a * b) >> 15;
      return (Word16)(p > 32767 ? 32767 : p); }";
    assert_eq!(plain(high), Some("mult"));
}

#[test]
fn the_flag_is_sticky_or_assigned() {
    let assigned = "Word16 keep(Word32 a) {
      Overflow = 0;
      if (a > 32767) { Overflow = 1; return 32767; }
      if (a < -32768) { Overflow = 1; return -32768; }
      return (Word16)a; }";
    assert_eq!(found(assigned), Some(("saturate", FlagEffect::Assigned)));
    // Set on one side only: that is no operation's flag.
    let half = "Word16 keep(Word32 a) {
      if (a > 32767) { Overflow = 1; return 32767; }
      return (Word16)(a < -32768 ? -32768 : a); }";
    assert_eq!(found(half), None);
}

const SHIFTS: &str = "Word32 L_shr(Word32 x, Word16 n);
    Word32 up(Word32 x, Word16 n) {
      Word32 r = x;
      if (n <= 0) { if (n < -32) n = -32; return down(x, (Word16)-n); }
      for (; n > 0; n--) {
        if (x > 0x3fffffff) { Overflow = 1; return 0x7fffffff; }
        if (x < -0x40000000) { Overflow = 1; return -2147483647 - 1; }
        x *= 2; r = x;
      }
      return r; }";

#[test]
fn shifts_are_found_through_their_loops() {
    let down = "Word32 up(Word32 x, Word16 n); Word32 down(Word32 x, Word16 n) {
      if (n < 0) { if (n < -32) n = -32; return up(x, (Word16)-n); }
      return n >= 31 ? (x < 0 ? -1 : 0) : x >> n; }\n";
    let up = SHIFTS.replace("Word32 L_shr(Word32 x, Word16 n);", down);
    assert_eq!(found(&up), Some(("L_shl", FlagEffect::Sticky)));
    // Without the limit an amount of -32768 is its own opposite.
    let endless = "Word16 up(Word16 x, Word16 n) {
      if (n < 0) return (Word16)(x >> (n < -15 ? 15 : -n));
      for (; n > 0; n--) x = (Word16)(x > 16383 ? 32767 : x < -16384 ? -32768 : 2 * x);
      return x; }";
    assert_eq!(plain(endless), Some("shl"));
}

#[test]
fn normalising_is_found_by_loop_and_by_count() {
    let by_loop = "Word16 places(Word32 x) {
      Word16 n = 0;
      if (x == 0) return 0;
      if (x == -1) return 31;
      if (x < 0) x = ~x;
      while (x < 0x40000000) { x <<= 1; n++; }
      return n; }";
    assert_eq!(plain(by_loop), Some("norm_l"));
    let by_count =
        "Word16 places(Word32 x) { return x ? (Word16)(__builtin_clz(x ^ (x >> 31)) - 1) : 0; }";
    assert_eq!(plain(by_count), Some("norm_l"));
}

#[test]
fn what_calls_strangers_or_divides_is_what_it_is() {
    assert_eq!(
        found("int f(int); Word32 g(Word32 a, Word32 b) { return f(a) + b; }"),
        None
    );
    assert_eq!(
        found("Word32 g(Word32 a, Word32 b) { return a / (b | 1); }"),
        None
    );
    assert_eq!(
        found("Word32 g(Word32 a, Word32 b) { for (;;) a += b; }"),
        None
    );
}

/// The definitions that tests of kernels are judged by: all that are looked for are found.
#[test]
fn definitions_in_wide_arithmetic_are_found() {
    let text = include_str!("../../../../tests/support/basic_op.c");
    let items = parse_text(text, Dialect::C);
    let env = Environment::new(&items);
    let bodies = UnitBodies(items.iter().map(|i| (i.key.clone(), i.clone())).collect());
    let options = LowerOptions::new(Language::C);
    let mut missed = Vec::new();
    for item in &items {
        let found = recognize(&env, &bodies, &item.key, &options);
        let name = item.key.name.as_str();
        let narrow = |row: &BasicOperation| !row.parameters.contains(&Word::Word40);
        let wanted = TABLE
            .iter()
            .find(|row| row.name == name && looked_for(row.meaning) && narrow(row));
        if let Some(wanted) = wanted
            && found.is_none_or(|found| found.operation().meaning != wanted.meaning)
        {
            missed.push(name.to_owned());
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}
