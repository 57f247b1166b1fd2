//! Reports on SC140 code of C: bounds of loops with their causes, values in the frame with their names, lines with their
//! places.
#![allow(clippy::disallowed_methods)]

#[path = "support/sc140.rs"]
mod sc140;

use ir::Loc;
use lockstep_codegen::isa::sc140::File;
use lockstep_codegen::machine;
use lockstep_codegen::target::sc140::emit::{
    Emitted, LoopBounds, LoopReport, Obstacle, Options, Reason, Remedy, SpilledValue, Unpipelined,
    emit,
};
use lockstep_codegen::target::sc140::packer::Resource;
use lockstep_codegen::target::sc140::promised::{Pace, Proposal, proposed};
use oracle::random::c::Scalar;
use sc140::{interpreted, kernel_of, module_of};

fn emitted(text: &str, name: &str, fewer: usize) -> Emitted {
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    let options = Options {
        fewer,
        // What is left of spills depends on what else is free.
        reduce_spills: false,
        ..Options::default()
    };
    let module = module_of(text, name);
    emit(&module, sets, &options).unwrap_or_else(|reasons| panic!("{reasons:?}"))
}

fn only(text: &str, name: &str) -> LoopReport {
    let mut made = emitted(text, name, 0);
    assert_eq!(made.functions[0].loops.len(), 1, "{}", made.text);
    made.functions[0].loops.remove(0)
}

/// The text at a place of the function that these words begin.
fn written<'t>(text: &'t str, function: &str, loc: Loc) -> &'t str {
    let own = &text[text.find(function).expect("the function")..];
    own[loc.span.start as usize..loc.span.end as usize].trim_end()
}

const DOT: &str = "typedef short Word16;\ntypedef int Word32;\nWord32 L_mac(Word32, Word16, Word16);\nint dot(const short *restrict x, const short *restrict y, int n) {\n    int s = 0;\n    for (int i = 0; i < n; i++) s = L_mac(s, x[i], y[i]);\n    return s;\n}\n";

#[test]
fn the_units_that_bound_a_loop_are_counted() {
    let report = only(DOT, "dot");
    let bounds = report.bounds.clone().expect("bounds");
    assert_eq!(
        written(DOT, "int dot", report.head),
        "for (int i = 0; i < n; i++)"
    );
    assert_eq!(
        (report.interval, bounds.res_mii(), bounds.rec_mii),
        (1, 1, 1)
    );
    let wanted = |resource| {
        let found = bounds.units.iter().find(|bound| bound.resource == resource);
        found.map(|bound| (bound.wanted, bound.limit))
    };
    assert_eq!(bounds.resource(), Some(Resource::AddressUnits));
    assert_eq!(wanted(Resource::AddressUnits), Some((2, 2)));
    assert_eq!(wanted(Resource::DataUnits), Some((1, 4)));
    // The sum waits for itself.
    let names: Vec<&str> = bounds.critical[0]
        .variables
        .iter()
        .map(|variable| variable.as_str())
        .collect();
    assert_eq!((bounds.critical.len(), names), (1, vec!["s"]));
    assert!(report.reasons.is_empty() && report.is_pipelined());
    assert!(report.unpipelined > report.interval);
}

#[test]
fn a_recurrence_leads_through_the_variables_of_the_source() {
    let text = "typedef short Word16;\ntypedef int Word32;\nWord32 L_mac(Word32, Word16, Word16);\nWord16 round(Word32);\nvoid iir(const short *restrict x, short *restrict y, int n, short a) {\n    short last = 0;\n    for (int i = 0; i < n; i++) {\n        last = round(L_mac(x[i] << 15, last, a));\n        y[i] = last;\n    }\n}\n";
    let bounds = only(text, "iir").bounds.expect("bounds");
    let names: Vec<&str> = bounds
        .critical
        .iter()
        .flat_map(|link| &link.variables)
        .map(|it| it.as_str())
        .collect();
    assert!(names.contains(&"last"), "{bounds:?}");
    let sum: i32 = bounds.critical.iter().map(|link| link.latency).sum();
    let distance: u32 = bounds.critical.iter().map(|link| link.distance).sum();
    assert_eq!((bounds.rec_mii, distance), (sum as u32, 1));
    assert!(
        bounds
            .critical
            .iter()
            .any(|link| written(text, "void iir", link.loc).starts_with("round("))
    );
}

#[test]
fn what_keeps_a_loop_from_the_hardware_is_said_with_its_place() {
    let text = "int first(const short *x, int n, short v) {\n    for (int i = 0; i < n; i++) if (x[i] == v) return i;\n    return -1;\n}\nint g(int);\nint calls(const int *x, int n) {\n    int s = 0;\n    for (int i = 0; i < n; i++) s += g(x[i]);\n    return s;\n}\nint end(const short *x) {\n    int i = 0;\n    while (x[i]) i++;\n    return i;\n}\n";
    let first = only(text, "first");
    let [Reason::LeavesEarly(_)] = first.reasons[..] else {
        panic!("{first:?}");
    };
    assert_eq!(first.reasons[0].remedy(), Remedy::Split);
    let calls = only(text, "calls");
    let [Reason::Calls(loc)] = calls.reasons[..] else {
        panic!("{calls:?}");
    };
    assert_eq!(written(text, "int calls", loc), "g(x[i])");
    let end = only(text, "end");
    assert_eq!(end.reasons, [Reason::TripCount]);
    for report in [&first, &calls, &end] {
        assert!(!report.counted && !report.is_pipelined());
        // At least the branch back.
        assert!(report.interval > 4, "{report:?}");
    }
    assert!(
        end.bounds.is_some() && first.bounds.is_none(),
        "of one block alone"
    );
}

#[test]
fn accesses_that_may_meet_are_named_with_what_restrict_would_give() {
    let body = "{\n    for (int i = 0; i < n; i++) y[i] = (x[i] ^ 3) - x[i];\n}\n";
    let with = |words: &str| {
        format!(
            "short add(short, short);\nshort shl(short, short);\nvoid f(short *{words} y, const short *{words} x, int n) {body}"
        )
    };
    let text = with("");
    let report = only(&text, "f");
    let [
        Reason::MayMeet {
            store,
            other,
            bound,
        },
    ] = report.reasons[..]
    else {
        panic!("{report:?}");
    };
    let places = [
        written(&text, "void f", store),
        written(&text, "void f", other),
    ];
    assert!(places.contains(&"x[i]"), "{places:?}");
    assert_eq!(report.reasons[0].remedy(), Remedy::Restrict);
    let apart = only(&with("restrict"), "f");
    assert_eq!(apart.reasons, []);
    assert!(
        apart.interval < report.interval,
        "{} {}",
        apart.interval,
        report.interval
    );
    assert_eq!(apart.bounds.expect("bounds").min_ii(), bound);
}

const PRESSED: &str = "int f(const int *x, int a, int b, int c, int d, int e, int n) {\n    int p = a * b, q = b * c, r = c * d, s = d * e, t = 0;\n    for (int i = 0; i < n; i++) {\n        t += ((x[i] ^ p) & q) + ((x[i] ^ r) & s) + (a ^ t) + (b & t) + (c | t) + (d ^ i) + (e & i);\n    }\n    return t + p + q + r + s;\n}\n";

#[test]
fn values_in_the_frame_have_their_names_and_what_they_cost_a_round() {
    let plenty = emitted(PRESSED, "f", 0);
    assert_eq!(plenty.functions[0].spills, [], "{}", plenty.text);
    let made = emitted(PRESSED, "f", 6);
    let function = &made.functions[0];
    let stored = |line: &&str| {
        line.contains("move.l") && line.trim_end().ends_with(')') && line.contains(",(sp-")
    };
    let stores = made.text.lines().filter(stored).count();
    let told: usize = function.spills.iter().map(|spill| spill.stores.len()).sum();
    assert!(told > 0 && told <= stores, "{told} {stores}\n{}", made.text);
    assert_eq!(
        function.spills.len(),
        function.spilled as usize,
        "{}",
        made.text
    );
    let mut names: Vec<&str> = function
        .spills
        .iter()
        .filter_map(|spill| spill.name.as_deref())
        .collect();
    names.sort_unstable();
    names.dedup();
    assert!(
        names.len() >= 3,
        "{names:?} {:?}\n{}",
        function.spills,
        made.text
    );
    for spilled in &function.spills {
        assert_eq!(spilled.file, File::Data);
        for cost in &spilled.loops {
            assert_eq!(
                written(PRESSED, "int f", cost.head),
                "for (int i = 0; i < n; i++)"
            );
            assert!(cost.loads + cost.stores > 0);
        }
    }
    let report = &function.loops[0];
    let Some(Unpipelined::Registers { interval }) = report.refused else {
        panic!("{report:?}");
    };
    let least = report.bounds.as_ref().map_or(0, LoopBounds::min_ii);
    assert!(least > 1 && interval >= least, "{interval} {least}");
    assert!(report.interval > interval && !report.is_pipelined());
}

#[test]
fn accesses_that_units_have_no_room_for_cost_cycles() {
    let text = "int f(const int *restrict x, int *restrict y, int a, int b, int c, int d, int e, int n) {\n    int g = a ^ b, h = c ^ d;\n    for (int i = 0; i < n; i++) {\n        int p = x[4 * i], q = x[4 * i + 1], r = x[4 * i + 2], s = x[4 * i + 3];\n        y[4 * i] = p ^ a; y[4 * i + 1] = q ^ b; y[4 * i + 2] = r ^ c; y[4 * i + 3] = s ^ d;\n        e ^= (p ^ g) | (q ^ h);\n    }\n    return e ^ g ^ h ^ a ^ b ^ c ^ d;\n}\n";
    let made = emitted(text, "f", 6);
    let function = &made.functions[0];
    let cost = |own: &SpilledValue| own.loops.iter().map(|cost| cost.cycles).sum::<u32>();
    let cycles: u32 = function.spills.iter().map(cost).sum();
    assert!(cycles > 0, "{:?}\n{}", function.spills, made.text);
    assert!(cycles < function.loops[0].interval);
}

#[test]
fn lines_lead_to_the_source_and_to_their_stage() {
    let made = emitted(DOT, "dot", 0);
    let lines: Vec<&str> = made.text.lines().collect();
    let mut stages = Vec::new();
    for line in &made.lines {
        let text = lines[line.line as usize];
        assert!(
            text.starts_with("    ") && !text.contains("ALIGN"),
            "{text}"
        );
        if text.contains("mac ") {
            assert_eq!(written(DOT, "int dot", line.loc), "L_mac(s, x[i], y[i])");
        }
        if let Some((number, stage)) = line.kernel {
            assert_eq!(number, 0);
            stages.push((text.split_whitespace().next().unwrap_or(""), stage));
        }
    }
    stages.sort_unstable();
    assert_eq!(stages, [("mac", 1), ("move.f", 0), ("move.f", 0)]);
    assert!(
        made.lines
            .windows(2)
            .all(|pair| pair[0].line < pair[1].line)
    );
}

/// Values that wait in the frame between what is named here: straight code, in which the lines of the text are the order.
const STRAIGHT: &str = "int f(const int *x) {\n    int a = x[0], b = x[1], c = x[2], d = x[3], e = x[4], g = x[5], h = x[6], i = x[7];\n    int j = x[8], k = x[9], l = x[10], m = x[11];\n    int s = a * b ^ c * d ^ e * g ^ h * i ^ j * k ^ l * m;\n    return (s + a) * (s + b) * (s + c) * (s + d) * (s + e) * (s + g) * (s + h) * (s + i) * (s + j) * (s + k) * (s + l) * (s + m);\n}\n";

#[test]
fn what_is_said_to_be_free_is_named_by_no_line_meanwhile() {
    let table = machine::named("sc140").expect("a table");
    let options = Options {
        fewer: 4,
        reduce_spills: false,
        explain_spills: true,
        ..Options::default()
    };
    let module = module_of(STRAIGHT, "f");
    let made = emit(&module, table.sets().expect("sets"), &options).expect("code");
    let lines: Vec<&str> = made.text.lines().map(str::trim).collect();
    let names = |line: &str, name: &str| {
        let mut words = line.split(|of: char| !of.is_ascii_alphanumeric());
        words.any(|word| word == name)
    };
    let mut judged = [0; 2];
    for value in &made.functions[0].spills {
        let at = |loc: Loc, words: &str| {
            let mut own = made.lines.iter().filter(|line| line.loc == loc);
            own.find_map(|line| {
                lines[line.line as usize]
                    .split(words)
                    .nth(1)
                    .map(|slot| (line.line, slot))
            })
        };
        let [store] = value.stores[..] else { continue };
        let Some((from, slot)) = at(store, ",(sp-") else {
            continue;
        };
        let slot = format!("(sp-{slot}");
        if lines
            .iter()
            .filter(|line| line.ends_with(&format!(",{slot}")))
            .count()
            > 1
        {
            continue;
        }
        let to = lines
            .iter()
            .rposition(|line| line.contains(&format!("{slot},")))
            .expect("a load");
        // What stands in the set of the load is not meanwhile any more.
        let to = lines[..to]
            .iter()
            .rposition(|line| matches!(*line, "[" | "]"))
            .unwrap_or(to);
        // What stands in the set of the store reads what was there before.
        let from = from as usize + 1;
        let end = lines[from..]
            .iter()
            .position(|line| matches!(*line, "[" | "]"));
        let from = match end {
            Some(more) if lines[from + more] == "]" => from + more,
            _ => from,
        };
        let between = &lines[from.min(to)..to];
        for found in &value.obstacles {
            let register = found.register.to_string();
            let named = between.iter().any(|line| names(line, &register));
            match &found.obstacle {
                Obstacle::Kept => {
                    assert!(!named, "{:?} {register}\n{}", value.name, made.text);
                    judged[0] += 1;
                }
                Obstacle::Taken(by) | Obstacle::TakenInPart(by) => {
                    assert!(
                        lines.iter().any(|line| names(line, &register)),
                        "{}",
                        made.text
                    );
                    assert!(!by.is_empty());
                    judged[1] += 1;
                }
                Obstacle::LeftOut => assert!(!lines.iter().any(|line| names(line, &register))),
                _ => {}
            }
        }
    }
    assert!(
        judged[0] > 10 && judged[1] > 10,
        "{judged:?} {:?}\n{}",
        made.functions[0].spills,
        made.text
    );
}

/// A stored value is loaded where it was loaded before, or some iterations later: the recurrence is as long as that asks for.
#[test]
fn accesses_meet_after_as_many_iterations_as_they_are_apart() {
    let of = |body: &str| {
        let text = format!(
            "extern void use(short *u);\nvoid f(short *x, const short *a, int n) {{\n    short u[80];\n    use(u);\n    {body}\n    use(u);\n}}\n"
        );
        let report = only(&text, "f");
        let bounds = report.bounds.clone().expect("bounds");
        (bounds.rec_mii, report.reasons.len())
    };
    // In place: an iteration loads nothing that one before has stored.
    assert_eq!(
        of("for (int i = 0; i < n; i++) x[i] = (short)(x[i] * 3 >> 1);"),
        (1, 0)
    );
    // Loaded before it is stored.
    assert_eq!(
        of("for (int i = 0; i < n; i++) x[i] = (short)(x[i + 2] * 3 >> 1);"),
        (1, 0)
    );
    // Load, product, shift, store: four cycles in one, two, three iterations.
    let behind = |by: i32| {
        of(&format!(
            "for (int i = {by}; i < n; i++) x[i] = (short)(x[i - {by}] * 3 >> 1);"
        ))
        .0
    };
    assert_eq!([1, 2, 4, 8].map(behind), [4, 2, 1, 1]);
    // No argument leads to a variable of the function, which may lead to another argument.
    assert_eq!(
        of("for (int i = 0; i < n; i++) u[i] = (short)(a[i] * 3 >> 1);"),
        (1, 0)
    );
    assert_eq!(
        of("for (int i = 0; i < n; i++) x[i] = (short)(a[i] * 3 >> 1);"),
        (4, 1)
    );
    let in_place = "void f(short *x, int n) {\n    for (int i = 0; i < n; i++) x[i] = (short)(x[i] * 3 >> 1);\n}\n";
    let report = only(in_place, "f");
    assert_eq!((report.interval, report.is_pipelined()), (1, true));
}

/// Accesses step the pointer that they use, however often it moves in an iteration.
#[test]
fn a_pointer_that_moves_several_times_is_stepped_by_its_accesses() {
    let text = "void f(short *restrict y, const short *restrict x, const short *restrict w, int n) {\n    for (int i = 0; i < n; i += 2) {\n        *y++ = (short)(*x++ * *w++ >> 15);\n        *y++ = (short)(*x++ * *w++ >> 15);\n    }\n}\n";
    let report = only(text, "f");
    let bounds = report.bounds.clone().expect("bounds");
    assert_eq!((report.interval, bounds.res_mii()), (3, 3));
    assert_eq!(bounds.resource(), Some(Resource::AddressUnits));
}

/// A loop from a number to a number is counted by one.
#[test]
fn constant_rounds_are_not_computed() {
    let text = "int f(const short *x) {\n    int s = 0;\n    for (int i = 3; i < 40; i++) { if (x[i] > s) s = x[i]; }\n    return s;\n}\n";
    let made = emitted(text, "f", 0);
    assert!(made.text.contains("#37,"), "{}", made.text);
}

/// The promises that are proposed for a function, and the sets of its loops before and after, with their iterations.
fn proposals(text: &str, name: &str) -> (Vec<Proposal>, Vec<[(u32, u32); 2]>) {
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    let module = module_of(text, name);
    let made = emit(&module, sets, &Options::default()).expect("code");
    let found = proposed(&module, &made.functions[0], sets, &Options::default());
    let Some(found) = found else {
        return (Vec::new(), Vec::new());
    };
    let pace = |pace: Pace| (pace.sets, pace.iterations);
    let gains = found
        .gains
        .iter()
        .map(|gain| [pace(gain.before), pace(gain.after)]);
    (found.promises, gains.collect())
}

#[test]
fn promises_that_are_enough_are_proposed_with_what_they_bring() {
    let plain = "int dot(const short *x, const short *y, int n) {
    unsigned s = 0;
    for (int i = 0; i < n; i++) s += x[i] * y[i];
    return s;
}
";
    // Nothing is stored: that the pointers are apart would bring nothing.
    let (promises, gains) = proposals(plain, "dot");
    let aligned = |parameter| Proposal::Aligned {
        parameter,
        bytes: 8,
    };
    assert!(
        matches!(promises[0], Proposal::Rounds { multiple: 4, .. }),
        "{promises:?}"
    );
    assert_eq!(promises[1..], [aligned(0), aligned(1)]);
    assert_eq!(gains, [[(2, 1), (2, 4)]]);

    // Two arrays that may meet.
    let meets = "void add(short *x, const short *y, int n) {
    for (int i = 0; i < n; i++) x[i] = (short)(y[i] + 1);
}
";
    let (promises, gains) = proposals(meets, "add");
    let apart = |proposal: &&Proposal| matches!(proposal, Proposal::Apart { .. });
    assert_eq!(promises.iter().filter(apart).count(), 1, "{promises:?}");
    assert_eq!(gains, [[(3, 1), (1, 4)]]);

    // A chain that is not split: only the second loop can go.
    let chain = "typedef short Word16;
typedef int Word32;
Word32 L_mac(Word32, Word16, Word16);
int chain(const short *x, const short *y, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) s = L_mac(s, x[i], y[i]);
    return s;
}
";
    let (promises, gains) = proposals(chain, "chain");
    let readable = |parameter| Proposal::Readable {
        parameter,
        bytes: 2,
    };
    assert_eq!(promises, [readable(0), readable(1)]);
    assert_eq!(gains, [[(1, 1), (1, 1)]]);
    let told = chain.replace(
        "    int s",
        "#pragma lockstep readable(x, 2)\n#pragma lockstep readable(y, 4)\n    int s",
    );
    assert_eq!(proposals(&told, "chain"), (Vec::new(), Vec::new()));

    // Promised already, or nothing to be had.
    let made = plain
        .replace("int i = 0; i < n", "int i = 0; i < 64")
        .replace(
            "    unsigned s",
            "#pragma lockstep aligned(x, 8)\n#pragma lockstep aligned(y, 8)\n    unsigned s",
        );
    assert_eq!(proposals(&made, "dot"), (Vec::new(), Vec::new()));
    assert_eq!(proposals("int f(int n) { return n + 1; }\n", "f").0, []);
}

#[test]
fn frames_are_made_beside_other_work_and_jumps_leave_a_set_to_their_slot() {
    // A register that callees keep is saved in the set that computes into another; the call leaves its argument to its slot.
    let text = "int g(int);
int f(int a, int b) {
    int c = a + b;
    return g(c * 3) + c;
}
";
    let made = emitted(text, "f", 0);
    let sets: Vec<&str> = made.text.split(" [\n").collect();
    let beside = |name: &str| {
        let own = sets.iter().filter(|set| set.contains(name));
        own.filter(|set| {
            let inside = set.split(" ]").next().unwrap_or("");
            inside.lines().count() > 2
        })
        .count()
    };
    assert!(beside("push ") > 0, "{}", made.text);
    assert!(
        made.text.contains("jsrd") && made.text.contains("rtsd"),
        "{}",
        made.text
    );
}

#[test]
fn a_frame_is_given_back_behind_the_last_access_to_its_variables() {
    let text = "int f(int i, int j) {
    int a[5];
    a[0] = i; a[1] = j; a[2] = i * 3; a[3] = i ^ j; a[4] = 7;
    return a[j];
}
";
    let made = emitted(text, "f", 0);
    let lines: Vec<&str> = made.text.lines().map(str::trim).collect();
    let last = lines.iter().rposition(|line| line.contains("(r"));
    let back = lines.iter().position(|line| line.starts_with("suba"));
    assert!(last.is_some() && back > last, "{}", made.text);
}

#[test]
fn sets_behind_the_jump_back_are_no_part_of_an_iteration() {
    // The way out of the loop is a jump of its own, behind the one back. A step of three is none that the hardware counts.
    let text = "void f(short *x, const short *y, int n) {
    if (n > 3) for (int i = 0; i < n; i += 3) x[i] = (short)(y[i] + 1);
    else for (int i = 0; i < n; i += 3) x[i] = (short)(y[i] + 2);
}
";
    let made = emitted(text, "f", 0);
    let plain = made.functions[0]
        .loops
        .iter()
        .filter(|report| !report.counted);
    let intervals: Vec<u32> = plain.map(|report| report.interval).collect();
    let run = |n: i64| {
        let array = |name| (name, Scalar::Short, vec![0; 64]);
        let kernel = kernel_of(text, "f", false, &[array("x"), array("y")], n);
        let module = module_of(text, "f");
        let expected = interpreted(&kernel, &module);
        let outcome = sc140::agrees(&kernel, &expected, &made.text).expect("the same");
        outcome.cycles.total()
    };
    let measured = (run(60) - run(30)) / 10;
    assert!(
        intervals.contains(&(measured as u32)),
        "{intervals:?} {measured}\n{}",
        made.text
    );
}

#[test]
fn pairs_of_registers_are_pushed_in_one_set() {
    // One of the second pair would make room for the jump.
    let text = "int h(int);
int f(int *p, int a) {
    int x = a ^ 3, y = 1;
    if (a == 3) { p[1] += x; p[0] = h(y) + a; y += h(a); }
    return x + y + a + p[0];
}
";
    let made = emitted(text, "f", 0);
    let sets = made.text.split(['[', ']']);
    let halves: Vec<[bool; 2]> = sets
        .map(|set| ["push     r6", "push     r7"].map(|push| set.contains(push)))
        .filter(|[even, odd]| *even || *odd)
        .collect();
    assert_eq!(halves, [[true, true]], "{}", made.text);
}

#[test]
fn loops_on_both_sides_of_a_branch_are_counted() {
    let text = "void f(short *restrict x, const short *restrict y, int start, int up) {
    int i, j;
    if (up) for (i = start, j = 0; i < 40; i++, j++) x[i] = (short)(x[i] + y[j]);
    else for (i = start, j = 0; i < 40; i++, j++) x[i] = (short)(x[i] - y[j]);
}
";
    let made = emitted(text, "f", 0);
    let loops = &made.functions[0].loops;
    assert_eq!(loops.len(), 2, "{}", made.text);
    for report in loops {
        // The load and the store of one address begin at one place, so that no recurrence leads through them.
        let bounds = report.bounds.as_ref().expect("bounds");
        assert!(report.counted, "{}", made.text);
        assert_eq!((report.interval, bounds.rec_mii), (2, 1), "{}", made.text);
    }
}

#[test]
fn a_truth_value_is_tested_once() {
    // `to_bool` of a number, and its complement.
    let text = "short f(const short *x) {
    short i, j = 0;
    for (i = 0; i < 320; i++) {
        j = (short)(x[i] ^ 8);
        if (j) break;
    }
    return (short)(!j);
}
";
    let made = emitted(text, "f", 0);
    assert!(!made.text.contains("tstgt"), "{}", made.text);
    assert_eq!(made.text.matches("tsteq").count(), 2, "{}", made.text);
}
