//! Copies that count paths, from the command to a profile: random functions of C run on the host have the paths of the interpreter,
//! and those of kernels are imported by their map.
//!
//! `LOCKSTEP_COPIED` is how many random functions (16), `LOCKSTEP_CC` the compiler (`cc`).

#[path = "support/command.rs"]
mod command;
#[path = "support/kernels.rs"]
mod kernels;

use command::{Place, errors, json, lockstep, text};
use facts::values::stored::{StoredProfile, found_paths};
use kernels::{lowered, main_of, taken};
use oracle::random::c::kernel;
use std::path::Path;
use std::process::Command;

#[test]
fn copies_of_c_count_on_the_host_what_the_interpreter_counts() {
    let compiler = std::env::var("LOCKSTEP_CC").unwrap_or_else(|_| "cc".into());
    if Command::new(&compiler).arg("--version").output().is_err() {
        println!("not judged: there is no C compiler `{compiler}` here");
        return;
    }
    let count = std::env::var("LOCKSTEP_COPIED").ok();
    let count: u64 = count.and_then(|text| text.parse().ok()).unwrap_or(16);
    let (mut judged, mut refused) = (0, 0);
    for seed in 0..count {
        let place = Place::new(&format!("copied-{seed}"));
        let kernel = kernel(seed);
        let source = place.file("f.c", &kernel.text);
        let copy = place.path("g.c");
        let made = lockstep(&[
            "instrument",
            &source,
            "--paths",
            "-o",
            &copy,
            "--item",
            "f",
            "--no-config",
        ]);
        if !made.status.success() {
            let said = errors(&made);
            assert!(
                said.contains("inlines") || said.contains("counters"),
                "{seed}: {said}"
            );
            refused += 1;
            continue;
        }
        let map = json_of(&place.path("g.map.json"));
        let counters = map["counters"].as_u64().expect("counters");
        let before = format!(
            "#include <stdio.h>\nextern unsigned long long lockstep_counters[{counters}];\n"
        );
        let behind = format!("fwrite(lockstep_counters, 8, {counters}, stdout);");
        let main = place.file("main.c", main_of(&kernel, &before, &behind));
        let program = place.path("p");
        let built = Command::new(&compiler)
            .args([
                "-w",
                "-O1",
                "-ffp-contract=off",
                &copy,
                &main,
                "-o",
                &program,
                "-lm",
            ])
            .output()
            .expect("it starts");
        assert!(built.status.success(), "{seed}: {}", errors(&built));
        let ran = Command::new(&program).output().expect("it starts");
        assert!(ran.status.success(), "{seed}");
        let raw = place.file("raw", &ran.stdout);
        let arguments = [
            "--counters",
            &raw,
            "--map",
            &place.path("g.map.json"),
            "-o",
            "-",
            "--no-config",
        ];
        let imported = lockstep(&[&["profile", "import"], &arguments[..]].concat());
        assert!(imported.status.success(), "{seed}: {}", errors(&imported));
        let profile: StoredProfile = serde_json::from_slice(&imported.stdout).expect("a profile");
        let lowered = lowered(&kernel);
        let (numbers, taken) = taken(&kernel, &lowered).expect("few paths");
        let [item] = &profile.items[..] else {
            panic!("one function: {:?}", profile.items)
        };
        let found = found_paths(item, &lowered.module.functions[0], &numbers);
        assert!(found.exact && found.lost == 0, "{seed}");
        assert_eq!(found.profile, taken, "{seed}");
        judged += 1;
    }
    println!("{judged} judged, {refused} refused");
    assert!(judged > refused);
}

fn json_of(path: &str) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path).expect("it is there")).expect("JSON")
}

const KERNEL: &str = "__global__ void clamp(const float* in, float* out, int n, float most)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = in[i];
    if (x < 0.0f || x > most)
        x = 0.0f;
    out[i] = x;
}
";

/// The counters of a run on a device, made up here: each path has its own.
#[test]
fn counters_of_a_kernel_are_paths_of_its_source() {
    let place = Place::new("device");
    let source = place.file("clamp.cu", KERNEL);
    let copy = place.path("clamp.counted.cu");
    let made = lockstep(&["instrument", &source, "--paths", "--no-config"]);
    assert!(made.status.success(), "{}", errors(&made));
    let copied = std::fs::read_to_string(&copy).expect("the copy");
    assert!(
        copied.contains("__device__ unsigned long long lockstep_counters[3];"),
        "{copied}"
    );
    assert!(copied.contains("atomicAdd(&lockstep_counters["), "{copied}");
    let map = place.path("clamp.counted.map.json");
    assert_eq!(json_of(&map)["functions"][0]["paths"], 3);
    let import = |numbers: &str| {
        let raw = place.file("raw.txt", numbers);
        lockstep(&[
            "profile",
            "import",
            "--counters",
            &raw,
            "--map",
            &map,
            "--source",
            &source,
            "--no-config",
        ])
    };
    let imported = import("100 20 3");
    assert!(imported.status.success(), "{}", errors(&imported));
    let report = json(&lockstep(&[
        "paths",
        &source,
        "--no-config",
        "--format",
        "json",
    ]));
    assert_eq!(report["functions"][0]["entries"], 123);
    assert_eq!(report["functions"][0]["edges_alone"], false);
    let all = report["paths"].as_array().expect("paths");
    let mut counts: Vec<u64> = all
        .iter()
        .filter_map(|path| path["count"].as_u64())
        .collect();
    counts.sort_unstable();
    assert_eq!(counts, [3, 20, 100]);
    let refused = import("100 20");
    assert!(
        errors(&refused).contains("2 counters; the map has 3"),
        "{}",
        errors(&refused)
    );
    // Another function: its numbers are others.
    place.file("clamp.cu", KERNEL.replace("x > most", "x >= most"));
    let stale = import("100 20 3");
    assert!(
        errors(&stale).contains("has changed since it was instrumented"),
        "{}",
        errors(&stale)
    );
    let words = text(&lockstep(&[
        "profile",
        "show",
        &format!("{source}.lockstep-profile.json"),
    ]));
    assert!(words.contains("clamp"), "{words}");
}

/// Code without a place of its own is refused with the reason, and the source is never overwritten.
#[test]
fn what_can_not_be_counted_is_said() {
    let place = Place::new("refused");
    let inlined = place.file(
        "inlined.c",
        "static int g(int x)\n{\n    return x > 3 ? g2(x) : 1;\n}\nint f(int n)\n{\n    if (n)\n        return g(n);\n    return 0;\n}\n",
    );
    let said = errors(&lockstep(&[
        "instrument",
        &inlined,
        "--paths",
        "--no-config",
    ]));
    assert!(
        said.contains("`f` is not counted: branches of `g`, which it inlines"),
        "{said}"
    );
    let spelt = place.file(
        "spelt.c",
        "#define CHECK(x) if (x) return 1\nint f(int n)\n{\n    CHECK(n > 3);\n    return 0;\n}\n",
    );
    let said = errors(&lockstep(&["instrument", &spelt, "--paths", "--no-config"]));
    assert!(
        said.contains("a branch on line 3 of the function has no condition in the text"),
        "{said}"
    );
    let own = errors(&lockstep(&[
        "instrument",
        &inlined,
        "--paths",
        "-o",
        &inlined,
        "--no-config",
    ]));
    assert!(own.contains("not overwritten"), "{own}");
    assert!(Path::new(&inlined).exists());
}
