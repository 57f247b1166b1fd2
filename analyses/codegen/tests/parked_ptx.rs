//! PTX some of whose values are parked in shared memory, against the interpreter and NVIDIA's assembler: the
//! results are the same, slots of warps and columns of lanes do not mix, and less is live.
//!
//! `LOCKSTEP_PARKED_PTX=N` takes N texts of each kind instead of the default number.

#[path = "support/fitting.rs"]
mod fitting;
#[path = "support/parking.rs"]
mod parking;
#[path = "support/ptx_programs.rs"]
mod ptx_programs;
#[path = "support/ptxas.rs"]
// Only texts are judged here.
#[allow(dead_code)]
mod ptxas;
#[path = "soundness_ptx/text/mod.rs"]
mod text;

use fitting::defined;
use lockstep_codegen::target::ptx::machine::fit::Home;
use lockstep_codegen::target::ptx::machine::{pressure, read};
use oracle::interp::{self, Launch};
use parking::{function, parked, parked_in};
use ptx_programs::{is_settled, kernel, printed, random_text, setting};
use std::collections::BTreeMap;
use syntax::ptx::PtxFunction;

const TEXTS: u64 = 60;

#[derive(Default, Debug)]
struct Count {
    runs: u64,
    parked: BTreeMap<&'static str, u64>,
    /// Texts in which less is live, and as much.
    less: u64,
    same: u64,
}

const fn kind(home: Home) -> &'static str {
    match home {
        Home::Warp(_) => "warp-slot",
        Home::WarpBase(..) => "warp-slot-of-base",
        Home::Column(_) => "column",
        Home::Constant(_)
        | Home::Known(..)
        | Home::RegisterLane(_)
        | Home::Lane(_)
        | Home::Again(_)
        | Home::Reload => "none that may be",
    }
}

/// A text whose rewritings are run.
struct Case<'a> {
    text: &'a str,
    what: String,
    launch: Launch,
    before: interp::Outcome,
}

impl Case<'_> {
    /// `None` where other code may compute something else.
    fn new<'a>(text: &'a str, launch: &Launch, what: String) -> Option<Case<'a>> {
        let module = kernel(text)?;
        if !is_settled(text, &module) || launch.warp_size != 32 {
            return None;
        }
        let mut launch = launch.clone();
        launch.scramble_undefined = false;
        let before = interp::run(&module, &launch);
        launch.limits.steps = launch.limits.steps.saturating_mul(20);
        Some(Case {
            text,
            what,
            launch,
            before,
        })
    }

    fn computes_the_same(&self, after: &str, how: &str) {
        let Case {
            text, what, before, ..
        } = self;
        let module = kernel(after).unwrap_or_else(|| panic!("{what}: no kernel\n{after}"));
        let now = interp::run(&module, &self.launch);
        let same = before.returned == now.returned
            && before.buffers == now.buffers
            && before.error.is_none() == now.error.is_none();
        assert!(
            same,
            "{what}, {how}: {:?} {:?}\n{text}\n{after}",
            before.error, now.error
        );
    }
}

fn computes_the_same(text: &str, launch: &Launch, count: &mut Count, what: &str) {
    let Some(case) = Case::new(text, launch, what.to_owned()) else {
        return;
    };
    for columns in [false, true] {
        for steps in [1, 3, 40] {
            let Some((after, made, words)) = parked(text, &case.launch, columns, steps) else {
                continue;
            };
            case.computes_the_same(&after, &format!("{steps} values, columns: {columns}"));
            count.runs += 1;
            for value in &made.spilled {
                assert!(value.loads + value.stores > 0, "{value:?}\n{after}");
                *count.parked.entry(kind(value.home)).or_default() += 1;
            }
            let again = read(&function(&made.text)).expect("a body");
            if pressure(&again).words < words {
                count.less += 1;
            } else {
                count.same += 1;
            }
        }
    }
}

/// Values of functions that are called, by all lanes or by some, have a column for each lane.
#[test]
fn called_functions_compute_the_same() {
    let mut runs = 0;
    for seed in 0..10 * setting("LOCKSTEP_PARKED_PTX", TEXTS) {
        let (text, launch) = random_text(seed);
        let text = defined(&text);
        let Some(case) = Case::new(&text, &launch, format!("text {seed}")) else {
            continue;
        };
        for name in ["dev0", "dev1"] {
            let is_meant = |tree: &PtxFunction| *tree.name.text == *name && tree.body.is_some();
            let Some((after, made, _)) = parked_in(&text, is_meant, &case.launch, true, 40) else {
                continue;
            };
            // A function that calls itself has several frames at once.
            if made.text.contains(&format!("(answer), {name},")) || made.spilled.is_empty() {
                continue;
            }
            for value in &made.spilled {
                assert_eq!(kind(value.home), "column", "{after}");
            }
            case.computes_the_same(&after, name);
            runs += 1;
        }
    }
    println!("{runs} runs");
    assert!(runs >= TEXTS / 2, "{runs}");
}

#[test]
fn random_texts_compute_the_same() {
    let mut count = Count::default();
    for seed in 0..setting("LOCKSTEP_PARKED_PTX", TEXTS) {
        let (text, launch) = random_text(seed);
        computes_the_same(&text, &launch, &mut count, &format!("text {seed}"));
        if let Some((text, launch)) = printed(seed) {
            computes_the_same(&text, &launch, &mut count, &format!("printed {seed}"));
        }
    }
    println!("{count:#?}");
    assert!(count.runs >= 4 * TEXTS, "{count:?}");
    assert!(count.less > count.same, "{count:?}");
    for kind in ["warp-slot", "warp-slot-of-base", "column"] {
        assert!(count.parked.contains_key(kind), "{kind}: {count:?}");
    }
    assert_eq!(count.parked.len(), 3, "{count:?}");
}

#[test]
fn the_assembler_takes_what_is_parked() {
    let Some(tool) = ptxas::find() else {
        return;
    };
    let mut judged = 0;
    for seed in 0..30 {
        let printed = printed(seed);
        for (text, launch) in [random_text(seed)].into_iter().chain(printed) {
            // Not all random text is what the assembler takes.
            if ptxas::judge(&tool, "sm_80", &text).is_err() {
                continue;
            }
            for columns in [false, true] {
                let Some((after, ..)) = parked(&text, &launch, columns, 40) else {
                    continue;
                };
                if let Err(errors) = ptxas::judge(&tool, "sm_80", &after) {
                    panic!("{seed}: {errors}\n{after}");
                }
                judged += 1;
            }
        }
    }
    println!("ptxas accepted {judged} modules");
    assert!(judged >= 30, "only {judged}");
}

/// Lanes of a warp are iterations apart, so that a slot of the warp would hold another lane's value; a column is the lane's.
#[test]
fn a_value_of_an_iteration_has_no_slot_of_the_warp() {
    let text = ".visible .entry k(.param .u64 out, .param .u32 n)
{
	.reg .pred %p<3>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [out];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x;
	mov.u32 %r3, 0;
	mov.u32 %r4, 0;
$loop:
	mul.lo.s32 %r5, %r4, 3;
	add.s32 %r6, %r2, %r3;
	xor.b32 %r7, %r6, %r2;
	add.s32 %r3, %r7, %r5;
	add.s32 %r4, %r4, 1;
	setp.lt.s32 %p1, %r4, %r1;
	@%p1 bra $loop;
	mul.wide.u32 %rd2, %r2, 4;
	add.s64 %rd3, %rd1, %rd2;
	st.global.u32 [%rd3], %r3;
	ret;
}
";
    let file = format!(".version 8.0\n.target sm_80\n.address_size 64\n{text}");
    let mut launch = Launch::new(1);
    launch.block = [32, 1, 1];
    let (_, made, _) = parked(&file, &launch, false, 40).expect("a kernel");
    let warp = made.spilled.iter().find(|value| value.name == "%r5");
    assert!(warp.is_none(), "{made:?}");
    let (_, made, _) = parked(&file, &launch, true, 40).expect("a kernel");
    let kinds: Vec<&str> = made.spilled.iter().map(|value| kind(value.home)).collect();
    assert!(kinds.contains(&"column"), "{made:?}");
    assert!(made.text.contains(".maxntid 32, 1, 1"), "{}", made.text);
    assert!(
        made.text.contains("$loop:\n\t.pragma \"nounroll\";"),
        "{}",
        made.text
    );
}
