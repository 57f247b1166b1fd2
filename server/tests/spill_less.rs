//! `lockstep code --spill-less`: PTX rewritten so that NVIDIA's assembler spills less of it, judged by the assembler.

#[path = "support/command.rs"]
mod command;

use command::{Place, errors, json, lockstep, text};
use std::fmt::Write;

/// A kernel that holds so many values of memory, the same in all lanes, across a loop that needs registers itself.
fn holding(values: u32) -> String {
    let mut out = String::from(
        ".version 8.0\n.target sm_80\n.address_size 64\n\n\
         .visible .entry hold(.param .u64 from, .param .u64 to, .param .u32 n)\n.maxntid 128, 1, 1\n{\n\
         \t.reg .pred %p<2>;\n\t.reg .f32 %f<200>;\n\t.reg .b32 %r<9>;\n\t.reg .b64 %rd<9>;\n\
         \tld.param.u64 %rd1, [from];\n\tld.param.u64 %rd2, [to];\n\tld.param.u32 %r1, [n];\n\
         \tmov.u32 %r2, %tid.x;\n\tmul.wide.u32 %rd3, %r2, 4;\n\tadd.s64 %rd4, %rd2, %rd3;\n",
    );
    for number in 0..values {
        let _ = writeln!(out, "\tld.global.f32 %f{number}, [%rd1+{}];", 4 * number);
    }
    let lanes = values..values + 8;
    for number in lanes.clone() {
        let _ = writeln!(out, "\tld.global.f32 %f{number}, [%rd4+{}];", 512 * number);
    }
    out.push_str("\tmov.u32 %r3, 0;\n$loop:\n");
    for number in lanes.clone() {
        let next = if number + 1 < lanes.end {
            number + 1
        } else {
            lanes.start
        };
        let _ = writeln!(
            out,
            "\tfma.rn.f32 %f{number}, %f{next}, %f{number}, %f{next};"
        );
    }
    out.push_str(
        "\tadd.s32 %r3, %r3, 1;\n\tsetp.lt.s32 %p1, %r3, %r1;\n\t@%p1 bra $loop;\n\tmov.f32 %f199, 0f00000000;\n",
    );
    for number in 0..lanes.end {
        let _ = writeln!(out, "\tfma.rn.f32 %f199, %f{number}, %f199, %f{number};");
    }
    out.push_str("\tst.global.f32 [%rd4], %f199;\n\tret;\n}\n");
    out
}

/// A kernel whose loop reads 24 values, each a multiple of the lane's number and a word that all lanes share.
fn read_in_a_loop() -> String {
    let mut out = String::from(
        ".version 8.0\n.target sm_80\n.address_size 64\n\n\
         .visible .entry mixed(.param .u64 from, .param .u64 to, .param .u32 n)\n.maxntid 256, 1, 1\n{\n\
         \t.reg .pred %p<2>;\n\t.reg .b32 %r<100>;\n\t.reg .b64 %rd<9>;\n\
         \tld.param.u64 %rd1, [from];\n\tld.param.u64 %rd2, [to];\n\tld.param.u32 %r1, [n];\n\
         \tmov.u32 %r2, %tid.x;\n\tmul.wide.u32 %rd3, %r2, 4;\n\tadd.s64 %rd4, %rd2, %rd3;\n",
    );
    for number in 0..24 {
        let (word, value) = (10 + number, 60 + number);
        let _ = writeln!(
            out,
            "\tld.global.u32 %r{word}, [%rd1+{}];\n\tmad.lo.s32 %r{value}, %r2, {}, %r{word};",
            28 * number,
            number + 3
        );
    }
    out.push_str("\tmov.u32 %r3, 0;\n\tmov.u32 %r4, %r2;\n$loop:\n");
    for value in 60..84 {
        let _ = writeln!(
            out,
            "\txor.b32 %r5, %r{value}, %r4;\n\tadd.s32 %r4, %r4, %r5;"
        );
    }
    out.push_str(
        "\tmad.lo.s32 %r4, %r4, 3, %r3;\n\tadd.s32 %r3, %r3, 1;\n\tsetp.lt.s32 %p1, %r3, %r1;\n\
         \t@%p1 bra $loop;\n\tst.global.u32 [%rd4], %r4;\n\tret;\n}\n",
    );
    out
}

/// Parked values of which each round of a loop rebuilds all cost more than the spills: the machine code shows
/// it, if a disassembler stands beside the assembler.
#[test]
#[cfg(unix)]
fn what_costs_more_in_a_loop_is_no_gain() {
    let Some(tool) = std::env::var_os("LOCKSTEP_PTXAS").map(std::path::PathBuf::from) else {
        println!("not judged: LOCKSTEP_PTXAS names no assembler");
        return;
    };
    if !tool.with_file_name("nvdisasm").is_file() {
        println!("not judged: no disassembler stands beside the assembler");
        return;
    }
    let place = Place::new("spill-cost");
    let file = place.file("mixed.ptx", read_in_a_loop());
    // The same program where no disassembler is.
    let alone = std::path::Path::new(&file).with_file_name("ptxas");
    std::os::unix::fs::symlink(&tool, &alone).expect("a link");
    let parked = |tool: &std::path::Path| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lockstep"));
        let options = ["--no-config", "--budget", "24", "--spill-less"];
        command.args(["code", &file]).args(options);
        let output = command
            .args(["--format", "json"])
            .env("LOCKSTEP_PTXAS", tool);
        let report = json(&output.output().expect("an answer"));
        let all = report["kernels"][0]["parked"].as_array();
        all.map_or(0, Vec::len)
    };
    let (judged, unjudged) = (parked(&tool), parked(&alone));
    assert!(judged < unjudged, "{judged} {unjudged}");
}

/// A kernel without a known workgroup, whose inner loop works on 18 values of each lane and whose outer one reads eight more.
fn of_each_lane() -> String {
    let mut out = String::from(
        ".version 8.0\n.target sm_80\n.address_size 64\n\n\
         .visible .entry lanes(.param .u64 from, .param .u64 to, .param .u32 n)\n{\n\
         \t.reg .pred %p<2>;\n\t.reg .f32 %f<200>;\n\t.reg .b32 %r<9>;\n\t.reg .b64 %rd<9>;\n\
         \tld.param.u64 %rd1, [from];\n\tld.param.u64 %rd2, [to];\n\tld.param.u32 %r1, [n];\n\
         \tmov.u32 %r2, %tid.x;\n\tmul.wide.u32 %rd3, %r2, 4;\n\tadd.s64 %rd4, %rd2, %rd3;\n\
         \tadd.s64 %rd5, %rd1, %rd3;\n",
    );
    for number in 0..26 {
        let _ = writeln!(out, "\tld.global.f32 %f{number}, [%rd5+{}];", 4096 * number);
    }
    out.push_str(
        "\tmov.u32 %r3, 0;\n\tmov.f32 %f199, 0f00000000;\n$outer:\n\tmov.u32 %r4, 0;\n$inner:\n",
    );
    for number in 0..18 {
        let (a, b) = ((number + 1) % 18, (number + 3) % 18);
        let _ = writeln!(out, "\tfma.rn.f32 %f{number}, %f{a}, %f{number}, %f{b};");
    }
    let next = |count: &str, label: &str| {
        format!(
            "\tadd.s32 {count}, {count}, 1;\n\tsetp.lt.s32 %p1, {count}, %r1;\n\t@%p1 bra {label};\n"
        )
    };
    out.push_str(&next("%r4", "$inner"));
    for number in 0..26 {
        let _ = writeln!(out, "\tfma.rn.f32 %f199, %f{number}, %f199, %f{number};");
    }
    out.push_str(&next("%r3", "$outer"));
    out.push_str("\tst.global.f32 [%rd4], %f199;\n\tret;\n}\n");
    out
}

/// Values of which there is one a lane can't be parked where the workgroup may be of any size; our allocator
/// leaves the assembler less to spill all the same, and its own slots in local memory count.
#[test]
fn our_allocator_is_a_rewriting_too() {
    if !has_assembler() {
        return;
    }
    let place = Place::new("spill-allocated");
    let file = place.file("lanes.ptx", of_each_lane());
    let options = ["--no-config", "--budget", "32", "--spill-less"];
    let report = json(&lockstep(
        &[&["code", &file][..], &options, &["--format", "json"]].concat(),
    ));
    let kernel = &report["kernels"][0];
    assert!(kernel["allocated"].is_u64(), "{kernel:#}");
    let number = |of: &serde_json::Value| of.as_u64().expect("a number");
    let after = &kernel["after"];
    let left = number(&after["spill_stores"]) + number(&after["spill_loads"]);
    assert!(
        left + number(&kernel["slot_bytes"]) < number(&kernel["spilled"]),
        "{kernel:#}"
    );
    assert!(!kernel["parked"].as_array().expect("a list").is_empty());
    // The text has the registers that it was allocated for, and the loops that it had.
    let made = report["text"].as_str().expect("text");
    assert!(!made.contains("%f199") && made.contains("$inner") && made.contains("$outer"));
}

fn has_assembler() -> bool {
    let found = std::env::var_os("LOCKSTEP_PTXAS").is_some();
    if !found {
        println!("not judged: LOCKSTEP_PTXAS names no assembler");
    }
    found
}

#[test]
fn values_that_all_lanes_share_are_parked() {
    if !has_assembler() {
        return;
    }
    let place = Place::new("spill-less");
    let file = place.file("hold.ptx", holding(40));
    let arguments = [
        "code",
        &file,
        "--no-config",
        "--budget",
        "32",
        "--spill-less",
    ];
    let report = json(&lockstep(&[&arguments[..], &["--format", "json"]].concat()));
    let kernel = &report["kernels"][0];
    assert_eq!(kernel["name"], "hold");
    let bytes = |when: &str| {
        let number = |what: &str| kernel[when][what].as_u64().expect("a number");
        number("spill_stores") + number("spill_loads")
    };
    assert!(bytes("before") > 0, "{kernel:#}");
    assert_eq!(bytes("after"), 0, "{kernel:#}");
    let parked = kernel["parked"].as_array().expect("a list");
    assert!(!parked.is_empty());
    // One word a warp of four warps each: less than a word a lane of one value.
    assert!(
        kernel["shared_bytes"].as_u64() <= Some(16 * parked.len() as u64 + 32),
        "{kernel:#}"
    );
    for value in parked {
        let kind = value["kind"].as_str().expect("a kind");
        assert!(kind.starts_with("warp-slot"), "{value}");
    }
    let made = report["text"].as_str().expect("text");
    assert!(made.contains("ld.volatile.shared.b32") && made.contains(".shared .align 16"));
    // What it prints is what it writes, and there is nothing more to do then.
    let printed = lockstep(&arguments);
    assert_eq!(text(&printed), made);
    assert!(errors(&printed).contains("`hold`: ptxas spills 0 instead of"));
    let written = lockstep(&[&arguments[..], &["--write"]].concat());
    assert_eq!(text(&written), "");
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), made);
    let again = json(&lockstep(&[&arguments[..], &["--format", "json"]].concat()));
    assert_eq!(again["kernels"][0]["spilled"], 0, "{again:#}");
    assert_eq!(again["text"], made);
}

/// A text for a newer architecture than the configured one is assembled for its own.
#[test]
fn the_target_of_the_file_is_assembled_for() {
    if !has_assembler() {
        return;
    }
    let place = Place::new("spill-target");
    let source = holding(40).replace(".target sm_80", ".target sm_90");
    let file = place.file("hold.ptx", source);
    let options = ["--no-config", "--budget", "32", "--spill-less"];
    let report = lockstep(&[&["code", &file][..], &options, &["--format", "json"]].concat());
    let kernel = &json(&report)["kernels"][0];
    assert!(kernel["spilled"].as_u64() > Some(0), "{kernel:#}");
    assert!(!errors(&report).contains("fatal"), "{}", errors(&report));
}

#[test]
fn what_spills_nothing_stays_as_it_is() {
    if !has_assembler() {
        return;
    }
    let place = Place::new("spill-nothing");
    let source = holding(4);
    let file = place.file("hold.ptx", &source);
    let printed = lockstep(&[
        "code",
        &file,
        "--no-config",
        "--budget",
        "64",
        "--spill-less",
    ]);
    assert_eq!(text(&printed), source);
}

/// A kernel that calls a function of 40 values; `function` is its linkage and directive, `declared` are directives of the kernel, and
/// `more` is further text.
fn calling(function: &str, declared: &str, more: &str) -> String {
    let head = format!("{function} held(");
    let called = holding(40).replace(".visible .entry hold(", &head);
    let called = called.replace("\n.maxntid 128, 1, 1\n", "\n");
    let caller = |name: &str| {
        format!(
            ".visible .entry {name}(.param .u64 a, .param .u64 b, .param .u32 c)\n{declared}\n{{\n\t.reg .b32 %r<2>;\n\t.reg .b64 %rd<3>;\n\
             \tld.param.u64 %rd1, [a];\n\tld.param.u64 %rd2, [b];\n\tld.param.u32 %r1, [c];\n\
             \t{{\n\t.param .b64 x;\n\t.param .b64 y;\n\t.param .b32 z;\n\tst.param.b64 [x], %rd1;\n\tst.param.b64 [y], %rd2;\n\
             \tst.param.b32 [z], %r1;\n\tcall.uni held, (x, y, z);\n\t}}\n\tret;\n}}\n"
        )
    };
    let more = more.replace("another kernel", &caller("second"));
    format!("{called}{}{more}", caller("calls"))
}

/// The values of a function that one kernel alone calls are parked in its shared memory, a word of each lane; where others may
/// call it, the reason says so.
#[test]
fn a_function_that_a_kernel_alone_calls_is_rewritten() {
    if !has_assembler() {
        return;
    }
    let place = Place::new("spill-callee");
    let run = |source: &str| {
        let file = place.file("calls.ptx", source);
        let options = [
            "--no-config",
            "--budget",
            "24",
            "--spill-less",
            "--item",
            "calls",
        ];
        lockstep(&[&["code", &file][..], &options, &["--format", "json"]].concat())
    };
    let sized = ".maxntid 128, 1, 1";
    for function in [".func", ".weak .func"] {
        let output = run(&calling(function, sized, ""));
        let report = json(&output);
        let kernel = &report["kernels"][0];
        let own = &kernel["called"][0];
        assert_eq!(own["name"], "held", "{kernel:#}");
        assert_eq!(own["internal"], function == ".weak .func", "{kernel:#}");
        assert_eq!(kernel["parked"], serde_json::json!([]), "{kernel:#}");
        let bytes = |when: &str| {
            let number = |what: &str| kernel[when][what].as_u64().expect("a number");
            number("spill_stores") + number("spill_loads")
        };
        assert!(2 * bytes("after") < bytes("before"), "{kernel:#}");
        for value in own["parked"].as_array().expect("a list") {
            assert_eq!(value["kind"], "shared-lane-slot", "{kernel:#}");
        }
        // Another module may have a function of the name.
        let made = report["text"].as_str().expect("a text");
        assert!(
            made.contains("\n.func held(") || made.contains("\n .func held("),
            "{made}"
        );
        assert!(!made.contains(".weak"), "{made}");
    }
    let open = [
        calling(".visible .func", sized, ""),
        calling(".func", "", ""),
        calling(".func", sized, "another kernel"),
        calling(".func", sized, ".global .u64 table[1] = {held};\n"),
    ];
    for source in open {
        let output = run(&source);
        let report = json(&output);
        assert_eq!(report["text"], source);
        let kernel = &report["kernels"][0];
        assert!(kernel["spilled"].as_u64() > Some(0), "{kernel:#}");
        let refused = kernel["refused"].as_str().expect("a reason");
        assert!(
            refused.contains("no other kernel and no other module"),
            "{refused}"
        );
    }
}

/// Sixteen workgroups of 128 threads share the 164 KiB of a multiprocessor of sm_80: 10,496 bytes each, of
/// which the system takes 1,024 and the kernel 9,216. Our allocator takes at most the rest; the paper's take
/// all that they find.
#[test]
fn slots_of_our_allocator_lower_no_occupancy() {
    let place = Place::new("slots-occupancy");
    let own = "\t.shared .align 16 .b8 own[9216];\n\t.reg .pred";
    let file = place.file("hold.ptx", holding(40).replacen("\t.reg .pred", own, 1));
    let shared = |allocator: &str| {
        let options = ["--no-config", "--budget", "24", "--allocator", allocator];
        let options = [&["registers", &file][..], &options, &["--format", "json"]];
        let report = json(&lockstep(&options.concat()));
        report["kernels"][0]["shared_bytes"]
            .as_u64()
            .expect("a number")
    };
    let (papers, ours) = (shared("divra"), shared("lockstep"));
    assert!(papers > 256, "{papers}");
    assert!(ours > 0 && ours <= 256, "{ours}");
}

#[test]
fn an_allocator_of_its_own_does_not_spill_for_another() {
    let place = Place::new("spill-both");
    let file = place.file("hold.ptx", holding(4));
    let run = lockstep(&[
        "code",
        &file,
        "--budget",
        "32",
        "--spill-less",
        "--allocator",
        "affra",
    ]);
    assert_eq!(run.status.code(), Some(2));
    let run = lockstep(&["code", &file, "--spill-less"]);
    assert_eq!(run.status.code(), Some(2));
}

/// The ids of the actions at a place, and those that are refused.
fn offered(file: &str, at: &str) -> (Vec<String>, Vec<String>) {
    let report = json(&lockstep(&[
        "actions",
        file,
        "--no-config",
        "--at",
        at,
        "--format",
        "json",
    ]));
    let actions = report["actions"].as_array().expect("a list");
    let ids = |refused: bool| {
        let own = actions
            .iter()
            .filter(|action| action["refused"].is_null() != refused);
        let ids = own.filter_map(|action| action["id"].as_str().map(str::to_owned));
        ids.collect::<Vec<_>>()
    };
    (ids(false), ids(true))
}

#[test]
fn a_kernel_with_a_budget_is_fitted_from_its_head() {
    let place = Place::new("spill-actions");
    let source = holding(40).replace(".maxntid 128, 1, 1", ".maxntid 128, 1, 1\n.maxnreg 32");
    let file = place.file("hold.ptx", &source);
    let (ids, _) = offered(&file, "5:20");
    for id in [
        "allocate-linear",
        "allocate-divra",
        "allocate-affra",
        "spill-less",
    ] {
        assert!(ids.iter().any(|own| own == id), "{id} in {ids:?}");
    }
    // Inside of the body nothing is said of registers.
    let (ids, refused) = offered(&file, "20:4");
    let all = ids.iter().chain(&refused);
    assert_eq!(
        all.filter(|id| id.starts_with("allocate") || *id == "spill-less")
            .count(),
        0
    );
    let apply = |id: &str| lockstep(&["apply", id, &file, "--no-config", "--at", "5:20"]);
    let fitted = apply("allocate-affra");
    let fitted = text(&fitted);
    assert!(
        fitted.contains("__lockstep_slots") && fitted.contains(".reg .b32 %r<"),
        "{fitted}"
    );
    if has_assembler() {
        let less = apply("spill-less");
        assert!(
            text(&less).contains("ld.volatile.shared"),
            "{}",
            errors(&less)
        );
    }
}

#[test]
fn a_kernel_without_a_budget_says_what_is_missing() {
    let place = Place::new("spill-unbounded");
    let source = holding(40).replace(".maxntid 128, 1, 1\n", "");
    let file = place.file("hold.ptx", &source);
    let (ids, refused) = offered(&file, "5:20");
    assert_eq!(
        refused.iter().filter(|id| *id == "spill-less").count(),
        1,
        "{ids:?}"
    );
    let run = lockstep(&["apply", "spill-less", &file, "--no-config", "--at", "5:20"]);
    assert!(errors(&run).contains("maxrregcount"), "{}", errors(&run));
}
