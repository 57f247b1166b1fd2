//! Pressure, renaming and colouring of small bodies.

use super::again::Copies;
use super::{Limits, pressure, read, renamed};
use crate::allocate::Place;
use crate::allocate::colour::colour;
use crate::mir::liveness::Liveness;
use crate::mir::{Target, Virtual};
use crate::refusal::Refusal;
use isa::ptx::{Ptx, Register};
use syntax::ptx::{PtxFunction, PtxItemKind, parse_item};

fn parsed(text: &str) -> Box<PtxFunction> {
    match parse_item(text).kind {
        PtxItemKind::Function(function) => function,
        other => panic!("no function: {other:?}"),
    }
}

const SUM: &str = ".visible .entry sum(.param .u64 out, .param .u32 n)
{
	.reg .pred %p<3>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [out];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x;
	mov.u32 %r3, 0;
	mov.u32 %r4, 0;
	setp.lt.s32 %p1, %r1, 1;
	@%p1 bra $done;
$loop:
	mad.lo.s32 %r5, %r4, 3, %r2;
	add.s32 %r3, %r3, %r5;
	add.s32 %r4, %r4, 1;
	setp.lt.s32 %p2, %r4, %r1;
	@%p2 bra $loop;
$done:
	mul.wide.u32 %rd2, %r2, 4;
	add.s64 %rd3, %rd1, %rd2;
	st.global.u32 [%rd3], %r3;
	ret;
}
";

#[test]
fn pressure_counts_words_by_statement() {
    let tree = parsed(SUM);
    let body = read(&tree).expect("a body");
    let pressure = pressure(&body);
    // Seven words are live in the loop: two for the address of `out`, one each for `n`, the thread, the sum,
    // the counter and the product.
    assert_eq!(pressure.words, 7);
    assert_eq!(pressure.predicates, 1);
    let names: Vec<&str> = pressure
        .live
        .iter()
        .map(|it| body.names[it.0 as usize].as_str())
        .collect();
    assert_eq!(names, ["%rd1", "%r1", "%r2", "%r3", "%r4", "%r5"]);
}

#[test]
fn renaming_reuses_registers() {
    let tree = parsed(SUM);
    let body = read(&tree).expect("a body");
    let text = renamed(&tree, &body, SUM).expect("it has names enough");
    let again = parsed(&text);
    let after = read(&again).expect("a body");
    assert_eq!(pressure(&after).words, 7);
    assert!(text.contains(", %tid.x;"), "{text}");
    assert_eq!(after.names.len(), 8, "{text}");
    assert_eq!(after.function.blocks.len(), body.function.blocks.len());
}

#[test]
fn old_values_stay_under_a_guard() {
    let text = ".func f(.param .u32 a)
{
	.reg .pred %p<2>;
	.reg .b32 %r<4>;
	ld.param.u32 %r1, [a];
	mov.u32 %r2, 7;
	setp.eq.s32 %p1, %r1, 0;
	@!%p1 add.s32 %r2, %r1, 1;
	st.shared.u32 [%r1], %r2;
	ret;
}
";
    let tree = parsed(text);
    let body = read(&tree).expect("a body");
    let after = renamed(&tree, &body, text).expect("it has names enough");
    let again = parsed(&after);
    let body = read(&again).expect("a body");
    assert_eq!(pressure(&body).words, 2, "{after}");
    assert_eq!(body.names.len(), 3, "{after}");
}

#[test]
fn what_cannot_be_read_is_refused() {
    for (line, why) in [
        ("frobnicate.u32 %r1, %r2;", "frobnicate.u32"),
        ("wgmma.fence.sync.aligned;", "wgmma.fence.sync.aligned"),
        (".reg .v4 .b32 %v; mov.u32 %v.x, 1;", "register"),
    ] {
        let text = format!(".func f()\n{{\n\t.reg .b32 %r<4>;\n\t{line}\n\tret;\n}}\n");
        let refusal = read(&parsed(&text)).expect_err("it is refused");
        assert!(format!("{refusal:?}").contains(why), "{refusal:?}");
    }
}

/// The places of a body's registers in so many words, by name; `fixed` must have registers.
fn coloured(words: u16, fixed: &[&str]) -> Result<Vec<(String, Place<Register>)>, Refusal> {
    let body = read(&parsed(SUM)).expect("a body");
    let function = &body.function;
    let limits = Limits {
        words,
        predicates: 1,
    };
    let files = Ptx::files(function, &(), &limits);
    let live = Liveness::of(function);
    let places = colour(function, &live, &files, &|register| {
        let name = body.names[register.0 as usize].as_str();
        let uses = function.blocks.iter().flat_map(|block| &block.operations);
        let count = uses
            .filter(|operation| operation.virtual_registers().any(|own| own == register))
            .count();
        if fixed.contains(&name) {
            f64::INFINITY
        } else {
            count as f64
        }
    })?;
    let names = body.names.iter().map(ToString::to_string);
    Ok(names.zip(places).collect())
}

#[test]
fn as_many_words_as_are_live_are_enough() {
    let places = coloured(7, &[]).expect("places");
    let register = |name: &str| match places.iter().find(|own| own.0 == name) {
        Some((_, Place::Register(register))) => *register,
        other => panic!("{name}: {other:?}"),
    };
    // Live together in the loop.
    let together = ["%rd1", "%r1", "%r2", "%r3", "%r4", "%r5"].map(register);
    let mut units: Vec<usize> = together.into_iter().flat_map(Ptx::units).collect();
    units.sort_unstable();
    units.dedup();
    assert_eq!(units.len(), 7);
    assert!(Ptx::units(register("%rd1")).start % 2 == 0);
}

#[test]
fn the_cheapest_value_has_no_register() {
    let away = |places: Vec<(String, Place<Register>)>| -> Vec<String> {
        let away = places.into_iter().filter(|own| own.1 == Place::Memory);
        away.map(|own| own.0).collect()
    };
    // The address and the product are named twice, all others more often.
    let cheapest = away(coloured(6, &[]).expect("places"));
    assert!(cheapest == ["%rd1"] || cheapest == ["%r5"], "{cheapest:?}");
    assert_eq!(away(coloured(6, &["%r5"]).expect("places")), ["%rd1"]);
    let all = ["%rd1", "%r1", "%r2", "%r3", "%r4", "%r5"];
    assert!(matches!(coloured(6, &all), Err(Refusal::Registers { .. })));
}

/// The values that can be computed again, with the instructions of each.
fn again(text: &str) -> Vec<(String, u32)> {
    let tree = parsed(text);
    let body = read(&tree).expect("a body");
    let copies = Copies::new(&tree, &body);
    let registers = (0..).map(Virtual).zip(&body.names);
    let mut out: Vec<(String, u32)> = registers
        .filter_map(|(register, name)| Some((name.to_string(), copies.of(register)?.0)))
        .collect();
    out.sort();
    out
}

#[test]
fn values_of_parameters_and_places_are_computed_again() {
    let known = again(SUM);
    let named = |name: &str| known.iter().find(|own| own.0 == name).map(|own| own.1);
    assert_eq!(named("%rd1"), Some(1));
    // The product with the thread's number takes two instructions; with the address in front of it, four.
    assert_eq!(named("%rd2"), Some(2));
    assert_eq!(named("%rd3"), Some(4));
    // The counter is written twice.
    assert_eq!(named("%r4"), None);
}

#[test]
fn what_a_call_returns_and_inner_variables_are_not_computed_again() {
    let text = ".visible .entry k(.param .u64 out)
{
	.reg .b32 %r<9>;
	.reg .b64 %rd<9>;
	ld.param.u64 %rd1, [out];
	{
	.param .b32 returned;
	.local .align 4 .b8 inner[16];
	call (returned), f, ();
	ld.param.b32 %r1, [returned];
	mov.u64 %rd2, inner;
	}
	mov.u32 %r2, %clock;
	mov.u32 %r3, %ctaid.x;
	st.global.u32 [%rd1], %r1;
	st.global.u64 [%rd1+8], %rd2;
	st.global.u32 [%rd1+16], %r2;
	st.global.u32 [%rd1+20], %r3;
	ret;
}
";
    let names: Vec<String> = again(text).into_iter().map(|own| own.0).collect();
    assert_eq!(names, ["%r3", "%rd1"]);
}
