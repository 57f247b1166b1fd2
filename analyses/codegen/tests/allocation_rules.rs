//! The rules of divergence-aware register allocation one by one (the notes on Sampaio et al., TOPLAS 2013):
//! the rows of Figure 18, the meet of coalesced values, the limits of shared memory (section 6), and the
//! conditions for a slot of a warp (section 5, S1 to S6). The tests compare the homes of values, the
//! checker's verdict, and the interpreter's results.

#[path = "support/fitting.rs"]
mod fitting;
#[path = "allocation_rules/kernels.rs"]
mod kernels;

use fitting::{Fittable, functions, listed, parsed};
use ir::FunctionKind;
use kernels::{WORDS, crowd, kernel_of, waiting};
use lockstep_codegen::target::ptx::machine::check::{Violation, check};
use lockstep_codegen::target::ptx::machine::fit::{Allocator, Budget, Home, Scheduling};
use lockstep_codegen::target::ptx::machine::states::State;
use oracle::interp::{self, Argument, Buffer, BufferAfter, Launch, Mode, Outcome};

const BUDGET: Budget = Budget {
    words: WORDS,
    predicates: 7,
    lanes: 32,
    warps: 3,
    whole_warps: false,
    shared_bytes: 4096,
    scheduling: Scheduling::Waiting,
};

/// A kernel that fits, and its original.
struct Case {
    function: Fittable,
    text: String,
    homes: Vec<(String, Home)>,
}

fn launch() -> Launch {
    let mut launch = Launch::new(1);
    launch.block = [96, 1, 1];
    let table: Vec<u8> = (0..4 * 128u32)
        .map(|at| (at * at * 31 % 253) as u8)
        .collect();
    launch.buffers = vec![Buffer::global(vec![0; 4 * 96]), Buffer::global(table)];
    let pointer = |buffer| Argument::Pointer { buffer, offset: 0 };
    launch.parameters = vec![pointer(0), pointer(1), Argument::Bits(11)];
    launch
}

fn after(file: &str, launch: &Launch) -> Vec<BufferAfter> {
    let run = run(file, launch);
    assert!(run.error.is_none(), "{:?}\n{file}", run.error);
    run.buffers
}

fn run(file: &str, launch: &Launch) -> Outcome {
    let modules = ir::lower::ptx::lower_text(file)
        .into_iter()
        .map(|(_, _, lowered)| lowered.module);
    let kernel = modules
        .into_iter()
        .find(|module| module.functions[0].kind == FunctionKind::Kernel);
    interp::run(&kernel.expect("a kernel"), launch)
}

/// Fits the last function of a file, lets the checker judge it and compares the results of both.
fn fitted(file: &str, allocator: Allocator, budget: &Budget, launch: &Launch) -> Case {
    fitted_with(file, allocator, budget, launch, &[])
}

/// The same where more is known of some registers.
fn fitted_with(
    file: &str,
    allocator: Allocator,
    budget: &Budget,
    launch: &Launch,
    known: &[(&str, State)],
) -> Case {
    let (item, mut function) = functions(file).pop().expect("a function");
    for (name, state) in known {
        function.assume(name, *state);
    }
    let made = function.fitted(&file[item.clone()], allocator, budget);
    let made = made.unwrap_or_else(|refusal| panic!("{refusal}\n{file}"));
    let violations = check(&function.tree, &parsed(&made.text), &function.known, budget);
    assert_eq!(violations, [], "{}", listed(&made.text));
    let whole = [&file[..item.start], &made.text, &file[item.end..]].concat();
    assert_eq!(after(file, launch), after(&whole, launch), "{whole}");
    let homes = made.spilled.iter();
    Case {
        function,
        text: made.text.clone(),
        homes: homes
            .map(|spilled| (spilled.name.to_string(), spilled.home))
            .collect(),
    }
}

impl Case {
    fn home(&self, name: &str) -> Home {
        let home = self.homes.iter().find(|home| home.0 == name);
        home.unwrap_or_else(|| panic!("{name} is not spilled: {:?}\n{}", self.homes, self.text))
            .1
    }
    fn warp_slots(&self) -> usize {
        let of_warp = |home: &&(String, Home)| matches!(home.1, Home::Warp(_) | Home::WarpBase(..));
        self.homes.iter().filter(of_warp).count()
    }
    /// The checker's verdict on another text.
    fn judged(&self, text: &str, budget: &Budget) -> Vec<Violation> {
        check(
            &self.function.tree,
            &parsed(text),
            &self.function.known,
            budget,
        )
    }
    fn without_barriers(&self) -> String {
        assert!(self.text.contains("bar.warp.sync"), "{}", self.text);
        let kept = |line: &&str| !line.contains("bar.warp.sync");
        self.text
            .lines()
            .filter(kept)
            .collect::<Vec<_>>()
            .join("\n")
    }
    /// The verdict on the output with the slot of a lane in a slot of the warp, as a rule that is too weak would have it.
    fn with_warp_slot(&self, name: &str) -> Vec<Violation> {
        self.judged(&self.text_with_warp_slot(name), &BUDGET)
    }
    fn text_with_warp_slot(&self, name: &str) -> String {
        let Home::Lane(place) = self.home(name) else {
            panic!("{name} lives in {:?}", self.home(name));
        };
        let at = format!("[__lockstep_spill+{place}]");
        let has_slots = self.text.contains("__lockstep_slots");
        assert!(has_slots, "{}", self.text);
        let lines = self.text.lines().map(|line| match line.contains(&at) {
            true => line
                .replace(".local.", ".volatile.shared.")
                .replace(&at, "[%r1+0]"),
            false => line.to_owned(),
        });
        lines.collect::<Vec<String>>().join("\n")
    }
}

fn affine(file: &str) -> Case {
    fitted(file, Allocator::Affine, &BUDGET, &launch())
}

fn is_lane(home: Home) -> bool {
    matches!(home, Home::Lane(_))
}

/// Row by row, with factors that wrap around.
#[test]
fn figure_18_row_by_row() {
    for c in [1, 3, -5, 1000, 0x4000_0001, -0x7fff_ffff] {
        let constant = waiting(&format!("\tmov.u32 %v, {c};"));
        assert_eq!(affine(&constant).home("%v"), Home::Constant(c));
        let uniform = waiting(&format!("\tmul.lo.s32 %v, %n, {c};"));
        assert!(matches!(affine(&uniform).home("%v"), Home::Warp(_)), "{c}");
        let known = waiting(&format!("\tmad.lo.s32 %v, %t, {c}, 7;"));
        assert_eq!(affine(&known).home("%v"), Home::Known(c, 7));
        let based = waiting(&format!("\tmad.lo.s32 %v, %t, {c}, %n;"));
        let case = affine(&based);
        assert!(
            matches!(case.home("%v"), Home::WarpBase(_, factor) if factor == c),
            "{:?}",
            case.homes
        );
        let other = waiting(&format!("\tmul.lo.s32 %v, %t, %t;\n\tadd.s32 %v, %v, {c};"));
        assert!(is_lane(affine(&other).home("%v")));
        // The simple analysis has the second row alone, the traditional one none.
        for (file, warp) in [
            (&constant, true),
            (&uniform, true),
            (&known, false),
            (&based, false),
            (&other, false),
        ] {
            let case = fitted(file, Allocator::Divergence, &BUDGET, &launch());
            assert_eq!(
                matches!(case.home("%v"), Home::Warp(_)),
                warp,
                "{:?}",
                case.homes
            );
            let case = fitted(file, Allocator::Linear, &BUDGET, &launch());
            assert!(is_lane(case.home("%v")));
        }
    }
}

/// The state of a register is the meet of all that it holds; the branch is the same for all lanes.
#[test]
fn the_states_of_coalesced_values_meet() {
    for (first, second, state) in [
        (
            "mov.u32 %v, %n",
            "ld.global.u32 %v, [%rd4]",
            State::Divergent,
        ),
        (
            "mad.lo.s32 %v, %t, 1, 4",
            "mad.lo.s32 %v, %t, 1, 4",
            State::Known(1, 4),
        ),
        (
            "mad.lo.s32 %v, %t, 1, 4",
            "mad.lo.s32 %v, %t, 1, 5",
            State::Affine(1),
        ),
        ("mov.u32 %v, 3", "mov.u32 %v, 5", State::Uniform),
        ("mov.u32 %v, 3", "mov.u32 %v, 3", State::Constant(3)),
    ] {
        let file = waiting(&format!(
            "\tsetp.gt.s32 %p1, %n, 4;\n\t@%p1 bra $other;\n\t{first};\n\tbra $both;\n$other:\n\t{second};\n$both:"
        ));
        let case = affine(&file);
        let states = &case.function.known.states;
        let found = states
            .iter()
            .find(|(name, _)| name == "%v")
            .map(|(_, state)| *state);
        assert_eq!(found, Some(state), "{first}, {second}");
        let home = case.home("%v");
        match state {
            State::Known(factor, constant) => assert_eq!(home, Home::Known(factor, constant)),
            State::Constant(number) => assert_eq!(home, Home::Constant(number)),
            State::Divergent => assert!(is_lane(home), "{home:?}"),
            // Two places store, each behind a barrier (S3).
            State::Uniform => assert!(matches!(home, Home::Warp(_)), "{home:?}"),
            State::Affine(_) => assert!(matches!(home, Home::WarpBase(..)), "{home:?}"),
        }
    }
}

#[test]
fn slots_beyond_shared_memory_are_of_lanes() {
    let file = waiting("\tmul.lo.s32 %v, %n, 3;");
    assert!(affine(&file).warp_slots() >= 1);
    let case = fitted(
        &file,
        Allocator::Affine,
        &Budget {
            shared_bytes: 0,
            ..BUDGET
        },
        &launch(),
    );
    assert_eq!(case.warp_slots(), 0);
    assert!(is_lane(case.home("%v")));
    // Just enough, and one byte less.
    let slots = parsed(&affine(&file).text);
    let bytes = slots
        .statements()
        .iter()
        .find_map(|statement| match &statement.kind {
            syntax::ptx::StatementKind::Declaration(memory)
                if memory.space == syntax::ptx::StorageSpace::Shared =>
            {
                memory.declarators[0].bytes(1)
            }
            _ => None,
        });
    let bytes = bytes.expect("slots") as u32;
    let just = Budget {
        shared_bytes: bytes,
        ..BUDGET
    };
    assert!(fitted(&file, Allocator::Affine, &just, &launch()).warp_slots() >= 1);
    let less = Budget {
        shared_bytes: bytes - 1,
        ..BUDGET
    };
    let case = fitted(&file, Allocator::Affine, &less, &launch());
    assert!(
        case.warp_slots() < affine(&file).warp_slots(),
        "{:?}",
        case.homes
    );
}

/// Two values that each warp has for itself, three warps that meet while they wait.
#[test]
fn warps_do_not_share_slots() {
    let crowd = crowd();
    let file = kernel_of(&format!(
        "\tld.global.u32 %w, [%rd4+16];\n\tand.b32 %w, %w, 1;\n\tsetp.eq.s32 %p1, %w, 0;\n\
         \tvote.sync.ballot.b32 %v, %p1, 0xffffffff;\n\tnot.b32 %i, %v;\n\tbar.sync 0;\n{crowd}\
         \tbar.sync 0;\n\tadd.s32 %s, %s, %v;\n\txor.b32 %s, %s, %i;\n"
    ));
    // All lanes of a warp have the same ballot.
    let known = [("%v", State::Uniform), ("%i", State::Uniform)];
    let case = fitted_with(&file, Allocator::Affine, &BUDGET, &launch(), &known);
    for name in ["%v", "%i"] {
        assert!(matches!(case.home(name), Home::Warp(_)), "{:?}", case.homes);
    }
    let base = case
        .text
        .lines()
        .find(|line| line.contains("mad.lo.s32 %r1, %r0,"))
        .expect("a base");
    let shared = case.text.replace(base, "\tmad.lo.s32 %r1, %r0, 0, %r1;");
    let found = check(
        &case.function.tree,
        &parsed(&shared),
        &case.function.known,
        &BUDGET,
    );
    assert!(
        found
            .iter()
            .any(|violation| matches!(violation, Violation::Outside { .. })),
        "{found:?}"
    );
    let start = file.find(".visible").unwrap_or(0);
    let wrong = format!("{}{shared}", &file[..start]);
    assert_ne!(
        after(&file, &launch()),
        after(&wrong, &launch()),
        "the warps differ"
    );
}

/// S1: a value that is uniform in a loop that lanes leave apart is not in a slot of the warp when they have
/// left.
#[test]
fn lanes_that_leave_a_loop_apart_have_values_of_their_own() {
    let crowd = crowd();
    let file = kernel_of(&format!(
        "\tmul.lo.s32 %w, %n, 5;\n\tmov.u32 %i, 0;\n$loop:\n\tmul.lo.s32 %v, %i, 3;\n{crowd}\
         \tadd.s32 %i, %i, 1;\n\tsetp.le.s32 %p1, %i, %t;\n\t@%p1 bra $loop;\n{crowd}\tadd.s32 %s, %s, %v;\n\
         \tadd.s32 %s, %s, %w;\n"
    ));
    // The state of all places of the register says so; that of the loop alone is the paper's (0, ⊥).
    assert!(is_lane(affine(&file).home("%v")));
    let uniform = [("%v", State::Uniform)];
    let case = fitted_with(&file, Allocator::Affine, &BUDGET, &launch(), &uniform);
    assert!(is_lane(case.home("%v")));
    let found = case.with_warp_slot("%v");
    assert!(
        found
            .iter()
            .any(|violation| matches!(violation, Violation::InLoop { .. })),
        "{found:?}"
    );
}

/// S2: lanes that come apart do not store to a slot of all, which they do where two ways meet; those on one
/// way behind a branch are together, and no other lane reads their stores.
#[test]
fn lanes_apart_do_not_store_to_the_warps_slot() {
    let crowd = crowd();
    let start = "\tmul.lo.s32 %w, %n, 5;\n\tsetp.lt.s32 %p1, %t, 5;\n\t@%p1 bra $skip;\n";
    let used = format!("{crowd}\tadd.s32 %s, %s, %v;\n");
    let end = format!("{crowd}\tadd.s32 %s, %s, %w;\n");
    let one_way = kernel_of(&format!(
        "{start}\tmul.lo.s32 %v, %n, 7;\n{used}$skip:\n{end}"
    ));
    let case = affine(&one_way);
    for name in ["%v", "%w"] {
        assert!(matches!(case.home(name), Home::Warp(_)), "{:?}", case.homes);
    }
    // Where the ways have met all lanes come, not at once: they wait for each other.
    let meeting = kernel_of(&format!(
        "{start}\tadd.s32 %s, %s, 1;\n$skip:\n\tmul.lo.s32 %v, %n, 7;\n{used}{end}"
    ));
    let case = affine(&meeting);
    for name in ["%v", "%w"] {
        assert!(matches!(case.home(name), Home::Warp(_)), "{:?}", case.homes);
    }
    let parted = |found: &[Violation]| {
        found
            .iter()
            .any(|violation| matches!(violation, Violation::Parted { .. }))
    };
    let found = case.judged(&case.without_barriers(), &BUDGET);
    assert!(parted(&found), "{found:?}");
    // Some lanes alone come to a loop: none can wait for the others.
    let apart = kernel_of(&format!(
        "{start}\tmov.u32 %i, 0;\n$loop:\n\tmul.lo.s32 %v, %i, %n;\n{used}\tadd.s32 %i, %i, 1;\n\
         \tsetp.lt.s32 %p1, %i, %n;\n\t@%p1 bra $loop;\n$skip:\n{end}"
    ));
    let case = affine(&apart);
    assert!(is_lane(case.home("%v")));
    let found = case.with_warp_slot("%v");
    assert!(parted(&found), "{found:?}");
    let store = "st.volatile.shared.b32 [%r1+0]";
    let waits = case
        .text_with_warp_slot("%v")
        .replace(store, &format!("bar.warp.sync 0xffffffff;\n\t{store}"));
    assert!(parted(&case.judged(&waits, &BUDGET)));
}

/// The results of a kernel with its lanes interleaved as some seeds have it.
fn interleaved(file: &str, launch: &Launch) -> Vec<Vec<BufferAfter>> {
    let seeds = (0..12).map(|seed| {
        let launch = Launch {
            mode: Mode::Interleaved,
            seed,
            ..launch.clone()
        };
        after(file, &launch)
    });
    seeds.collect()
}

/// S3: lanes of a warp need not go in step; a slot that is stored at a second place, or again in a loop that all lanes go around
/// together, is stored behind a barrier, or before a slow lane has read it.
#[test]
fn stores_to_slots_of_warps_wait() {
    let crowd = crowd();
    let twice = kernel_of(&format!(
        "\tmul.lo.s32 %w, %n, 5;\n\tmul.lo.s32 %v, %n, 7;\n{crowd}\tadd.s32 %s, %s, %v;\n\tmul.lo.s32 %v, %n, 9;\n{crowd}\
         \tadd.s32 %s, %s, %v;\n\tadd.s32 %s, %s, %w;\n"
    ));
    let round = format!(
        "$loop:\n\tmul.lo.s32 %v, %i, %n;\n{crowd}\tadd.s32 %s, %s, %v;\n\tadd.s32 %i, %i, 1;\n\
         \tsetp.lt.s32 %p1, %i, %n;\n\t@%p1 bra $loop;\n"
    );
    let start = "\tmul.lo.s32 %w, %n, 5;\n\tmov.u32 %i, 0;\n";
    let again = kernel_of(&format!("{start}{round}\tadd.s32 %s, %s, %w;\n"));
    // Lanes that have ended are not waited for.
    let ended = kernel_of(&format!(
        "\tsetp.gt.s32 %p1, %t, 40;\n\t@%p1 bra $end;\n{start}{round}\tadd.s32 %s, %s, %w;\n"
    ))
    .replace("\tret;", "$end:\n\tret;");
    let in_step = Budget {
        scheduling: Scheduling::InStep,
        ..BUDGET
    };
    let rewritten = |violation: &Violation| matches!(violation, Violation::Rewritten { .. });
    let in_loop = |violation: &Violation| matches!(violation, Violation::InLoop { .. });
    for (file, broken) in [
        (&twice, &rewritten as &dyn Fn(&Violation) -> bool),
        (&again, &in_loop),
        (&ended, &in_loop),
    ] {
        let case = affine(file);
        assert!(matches!(case.home("%v"), Home::Warp(_)), "{:?}", case.homes);
        let launch = launch();
        let wanted = after(file, &launch);
        let whole = |text: &str| format!("{}{text}", &file[..file.find(".visible").unwrap_or(0)]);
        let agree = |text: &str| {
            let all = interleaved(&whole(text), &launch);
            all.iter().all(|found| *found == wanted)
        };
        assert!(agree(&case.text), "{}", case.text);
        let bare = case.without_barriers();
        assert!(!agree(&bare), "{bare}");
        let found = case.judged(&bare, &BUDGET);
        assert!(found.iter().any(broken), "{found:?}");
        // Lanes of earlier machines go in step.
        let case = fitted(file, Allocator::Affine, &in_step, &launch);
        assert!(matches!(case.home("%v"), Home::Warp(_)), "{:?}", case.homes);
        assert!(!case.text.contains("bar.warp.sync"), "{}", case.text);
        assert_ne!(case.judged(&case.text, &BUDGET), []);
    }
    // Lanes that do something on their way to the end have not ended when the others wait.
    let working = ended.replace("$end:\n", "\tret;\n$end:\n\tst.global.u32 [%rd5], %t;\n");
    assert!(is_lane(affine(&working).home("%v")));
    // Without a barrier, in PTX before 6.0, slots are of lanes.
    let apart = Budget {
        scheduling: Scheduling::Apart,
        ..BUDGET
    };
    assert!(is_lane(
        fitted(&again, Allocator::Affine, &apart, &launch()).home("%v")
    ));
    // A mask has 32 lanes.
    let wide = Budget {
        lanes: 64,
        ..BUDGET
    };
    let mut wave = launch();
    wave.warp_size = 64;
    assert!(is_lane(
        fitted(&again, Allocator::Affine, &wide, &wave).home("%v")
    ));
    // Values that never live together have slots of their own.
    let apart = kernel_of(&format!(
        "\tmul.lo.s32 %v, %n, 5;\n{crowd}\tadd.s32 %s, %s, %v;\n\tmul.lo.s32 %w, %n, 7;\n{crowd}\tadd.s32 %s, %s, %w;\n"
    ));
    let case = affine(&apart);
    let (Home::Warp(first), Home::Warp(second)) = (case.home("%v"), case.home("%w")) else {
        panic!("{:?}", case.homes);
    };
    assert_ne!(first, second);
}

/// S4: the number that states count in is `%tid.x`; warps are counted along all axes and have the lanes that they have.
#[test]
fn warps_are_those_of_the_launch() {
    let mut plane = launch();
    plane.block = [8, 12, 1];
    let place = "\tmov.u32 %i, %tid.y;\n\tmad.lo.s32 %t, %i, 8, %t;\n\tmul.wide.u32 %rd3, %t, 4;\n\tadd.s64 %rd5, %rd1, %rd3;\n\
                 \tadd.s64 %rd4, %rd2, %rd3;\n";
    for (line, wanted) in [
        ("mov.u32 %v, %tid.y;", "lane"),
        ("mov.u32 %w, %tid.x;\n\tmad.lo.s32 %v, %w, 12, %n;", "base"),
        ("mul.lo.s32 %v, %n, 9;", "warp"),
    ] {
        let case = fitted(
            &waiting(&format!("{place}\t{line}")),
            Allocator::Affine,
            &BUDGET,
            &plane,
        );
        let found = match case.home("%v") {
            Home::Lane(_) => "lane",
            Home::Warp(_) => "warp",
            Home::WarpBase(_, 12) => "base",
            other => panic!("{line} {other:?}"),
        };
        assert_eq!(found, wanted, "{line}");
    }
    let file = waiting("\tmul.lo.s32 %v, %n, 9;");
    for (lanes, shift) in [(16, "%r0, 4;"), (64, "%r0, 6;")] {
        let mut wave = launch();
        wave.warp_size = lanes;
        let budget = Budget {
            lanes,
            warps: 96u32.div_ceil(lanes),
            ..BUDGET
        };
        let case = fitted(&file, Allocator::Affine, &budget, &wave);
        assert!(
            case.text.contains(&format!("shr.u32 %r0, {shift}")),
            "{}",
            case.text
        );
    }
    let case = fitted(
        &file,
        Allocator::Affine,
        &Budget {
            lanes: 24,
            warps: 4,
            ..BUDGET
        },
        &launch(),
    );
    assert_eq!(case.warp_slots(), 0);
}

/// S5: sums wrap around at 32 bits, and their 64-bit versions are no multiples of the thread's number.
#[test]
fn widened_values_are_not_computed_again() {
    let crowd = crowd();
    for (widening, wraps) in [
        ("cvt.s64.s32 %wide, %w", true),
        ("cvt.u64.u32 %wide, %w", true),
        ("mul.wide.s32 %wide, %t, 3", false),
    ] {
        let file = kernel_of(&format!(
            "\tmul.lo.s32 %w, %t, 0x10000000;\n\t{widening};\n{crowd}\tshr.u64 %rd6, %wide, 3;\n\tcvt.u32.u64 %i, %rd6;\n\
             \tadd.s32 %s, %s, %i;\n"
        ));
        let case = affine(&file);
        assert_eq!(
            is_lane(case.home("%wide")),
            wraps,
            "{widening}: {:?}",
            case.homes
        );
        if wraps {
            // As if the factor went through the widening.
            let (item, mut function) = functions(&file).pop().expect("a function");
            function.assume("%wide", State::Known(0x1000_0000, 0));
            let made = function.fitted(&file[item], Allocator::Affine, &BUDGET);
            let made = made.expect("it fits");
            let found = check(
                &function.tree,
                &parsed(&made.text),
                &function.known,
                &BUDGET,
            );
            let wrong = |violation: &Violation| matches!(violation, Violation::WrongValue { .. });
            assert!(found.iter().any(wrong), "{found:?}");
        }
    }
}

/// S6: a function that is called has no slots of a warp; slots lie beside the kernel's dynamic memory.
#[test]
fn activations_do_not_share_slots() {
    // The number of the workgroup is uniform in a function, too; what it is called with need not be.
    let file = waiting("\tmov.u32 %w, %ctaid.x;\n\tmul.lo.s32 %v, %w, 9;");
    let called = file.replace(".visible .entry", ".visible .func");
    let (item, function) = functions(&called).pop().expect("a function");
    let state = function.known.states.iter().find(|known| known.0 == "%v");
    assert_eq!(state.map(|known| known.1), Some(State::Uniform));
    let made = function.fitted(&called[item], Allocator::Affine, &BUDGET);
    let made = made.expect("it fits");
    assert!(!made.text.contains("__lockstep_slots"), "{}", made.text);
    let case = affine(&file);
    assert!(matches!(case.home("%v"), Home::Warp(_)));
    let text = case.text.replace(".visible .entry", ".visible .func");
    let found = check(&function.tree, &parsed(&text), &function.known, &BUDGET);
    assert!(
        found
            .iter()
            .any(|violation| matches!(violation, Violation::SharedActivation { .. })),
        "{found:?}"
    );
    let mut dynamic = launch();
    dynamic.dynamic_shared = 4096;
    let file = waiting(
        "\tmov.u32 %w, dynamic;\n\tmad.lo.s32 %w, %t, 4, %w;\n\tst.shared.u32 [%w], %t;\n\tmul.lo.s32 %v, %n, 9;\n\
         \tld.shared.u32 %s, [%w];",
    );
    let case = fitted(&file, Allocator::Affine, &BUDGET, &dynamic);
    assert!(matches!(case.home("%v"), Home::Warp(_)));
}

/// A uniform value lives in one lane of a register where every lane comes to store it and to read it: each warp has
/// all its lanes, none has ended, and no branch parts them.
#[test]
fn uniform_values_live_in_lanes_of_a_register() {
    let crowd = crowd();
    let start = "\tmul.lo.s32 %w, %n, 5;\n\tmov.u32 %i, 0;\n";
    let sums = "\tmad.lo.s32 %r1, %r1, %n, %i;\n\tmad.lo.s32 %r2, %r2, %i, %r1;\n";
    let round = |reads: &str| {
        format!(
            "$loop:\n\tmad.lo.s32 %v, %i, %n, %v;\n{sums}{crowd}{reads}\tadd.s32 %i, %i, 1;\n\tsetp.lt.s32 %p1, %i, %n;\n\
             \t@%p1 bra $loop;\n\tadd.s32 %s, %s, %w;\n"
        )
    };
    let adds =
        "\tadd.s32 %s, %s, %v;\n\tmad.lo.s32 %s, %s, 3, %r1;\n\tmad.lo.s32 %s, %s, 5, %r2;\n";
    let start = format!("{start}\tmov.u32 %v, %n;\n\tmov.u32 %r1, 1;\n\tmov.u32 %r2, 2;\n");
    let whole = Budget {
        whole_warps: true,
        shared_bytes: 0,
        ..BUDGET
    };
    let launch = launch();
    let ours = |file: &str, budget: &Budget| fitted(file, Allocator::Lockstep, budget, &launch);
    let file = kernel_of(&format!("{start}{}", round(adds)));
    let case = ours(&file, &whole);
    let Home::RegisterLane(own) = case.home("%v") else {
        panic!("{:?}\n{}", case.homes, case.text);
    };
    let all = |text: &str| format!("{}{text}", &file[..file.find(".visible").unwrap_or(0)]);
    let wanted = after(&file, &launch);
    // A broken one may not end.
    let agree = |text: &str| {
        let run = run(&all(text), &launch);
        run.error.is_none() && run.buffers == wanted
    };
    assert!(agree(&case.text), "{}", case.text);
    // Another lane's word, and a word that all lanes take.
    let read = format!(", {own}, 31, 0xffffffff;");
    let other = case.text.replace(&read, ", 9, 31, 0xffffffff;");
    let number = format!(", {own};\n");
    let kept = format!(", {own};\n\t@");
    assert!(case.text.contains(&kept), "{}", case.text);
    for broken in [
        other,
        case.text.replace(&number, ", 9;\n"),
        case.text.replace(&kept, &format!("{kept}!")),
    ] {
        assert_ne!(broken, case.text);
        assert_ne!(case.judged(&broken, &whole), [], "{broken}");
        assert!(!agree(&broken), "{broken}");
    }
    // A warp may lack lanes; a mask has 32; before PTX 6.0 no lane waits.
    let parted = |found: &[Violation]| {
        let mut found = found.iter();
        found.any(|violation| matches!(violation, Violation::Parted { .. }))
    };
    let scheduling = Scheduling::Apart;
    for budget in [
        Budget {
            whole_warps: false,
            ..whole
        },
        Budget {
            scheduling,
            ..whole
        },
        Budget { lanes: 64, ..whole },
    ] {
        assert!(is_lane(ours(&file, &budget).home("%v")));
        assert!(parted(&case.judged(&case.text, &budget)));
    }
    // Lanes have ended; some read it where the others do not come; a called function may end lanes.
    let ended = format!(
        "\tsetp.gt.s32 %p1, %t, 40;\n\t@%p1 bra $end;\n{start}{}",
        round(adds)
    );
    let some = "\tsetp.gt.s32 %p2, %t, 40;\n\t@%p2 bra $past;\n\tadd.s32 %s, %s, %v;\n$past:\n";
    let called = format!("{start}\tcall.uni ends;\n{}", round(adds));
    let ends = ".func ends\n{\n\t.reg .pred %q;\n\t.reg .b32 %r;\n\tmov.u32 %r, %tid.x;\n\tsetp.gt.s32 %q, %r, 40;\n\t@%q exit;\n\tret;\n}\n";
    let ends = format!("{ends}.visible");
    for file in [
        kernel_of(&ended).replace("\tret;", "$end:\n\tret;"),
        kernel_of(&format!("{start}{}", round(some))),
        kernel_of(&called).replace(".visible", &ends),
    ] {
        let home = ours(&file, &whole).home("%v");
        assert!(is_lane(home), "{home:?}\n{file}");
    }
}

/// A value that a block writes again and again in its register is stored once: what the next store replaces is not.
#[test]
fn replaced_values_are_not_stored() {
    let crowd = crowd();
    let start = "\tmul.lo.s32 %v, %t, %t;\n\tmov.u32 %i, 0;\n";
    let file = kernel_of(&format!(
        "{start}$loop:\n\tadd.s32 %v, %v, 7;\n\txor.b32 %v, %v, %t;\n\tmad.lo.s32 %v, %v, 5, %i;\n{crowd}\tadd.s32 %s, %s, %v;\n\
         \tadd.s32 %i, %i, 1;\n\tsetp.lt.s32 %p1, %i, %n;\n\t@%p1 bra $loop;\n"
    ));
    let case = fitted(&file, Allocator::Lockstep, &BUDGET, &launch());
    let Home::Lane(place) = case.home("%v") else {
        panic!("{:?}", case.homes);
    };
    let (_, round) = case.text.split_once("$loop:").expect("a loop");
    let store = format!("st.local.b32 [__lockstep_spill+{place}]");
    assert_eq!(round.matches(&store).count(), 1, "{}", case.text);
}
