//! `lockstep profile` from the outside: fixtures with their expected tables, profiles that go out and come
//! in, imports, and all errors in its input.

#[path = "support/command.rs"]
mod command;
#[path = "profile/counters.rs"]
mod counters;
#[path = "profile/editor.rs"]
mod editor;

use command::{Place, errors, lockstep, text};
use lockstep_server::profile;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/profiles");
    root.join(name).display().to_string()
}

fn run(place: &Place, source: &str, inputs: &str) -> String {
    let out = place.path("out.json");
    let output = lockstep(&[
        "profile",
        source,
        "--inputs",
        inputs,
        "-o",
        &out,
        "--no-config",
    ]);
    assert!(output.status.success(), "{}", errors(&output));
    out
}

#[test]
fn fixtures_have_the_tables_that_stand_beside_them() {
    let place = Place::new("fixtures");
    for (source, stem) in [
        ("sparse_layer.cu", "sparse_layer"),
        ("lit_surface.hlsl", "lit_surface"),
    ] {
        let out = run(&place, &fixture(source), &fixture(&format!("{stem}.toml")));
        let shown = text(&lockstep(&["profile", "show", &out]));
        let expected = PathBuf::from(fixture(&format!("{stem}.txt")));
        if std::env::var_os("UPDATE_FIXTURES").is_some() {
            std::fs::write(&expected, &shown).expect("written");
        }
        let wanted = std::fs::read_to_string(&expected).expect("the expected table");
        assert_eq!(shown, wanted, "{source}; UPDATE_FIXTURES=1 rewrites it");
    }
}

#[test]
fn equal_runs_give_equal_profiles_and_no_difference() {
    let place = Place::new("equal");
    let source = fixture("sparse_layer.cu");
    // Short runs are profiled as a whole.
    let inputs = std::fs::read_to_string(fixture("sparse_layer.toml")).expect("inputs");
    let long = inputs
        .replace("4096", "32768")
        .replace("n = 4000", "n = 32000")
        .replace("count = 64\n", "count = 512\n");
    let inputs = place.file("long.toml", long);
    let first = std::fs::read(run(&place, &source, &inputs)).expect("a profile");
    let out = run(&place, &source, &inputs);
    assert_eq!(first, std::fs::read(&out).expect("a profile"));
    let same = text(&lockstep(&["profile", "diff", &out, &out]));
    assert!(same.contains("Overlap  100.0%"), "{same}");
    assert!(same.contains("Diff-1     0.0%"), "{same}");
    assert!(same.contains("Same-1   100.0%"), "{same}");
    assert!(same.contains("no named value has other zeros"), "{same}");

    let other = std::fs::read_to_string(&inputs)
        .expect("inputs")
        .replace("zeros = 0.75", "zeros = 0.25");
    let other = place.file("other.toml", other);
    let kept = place.file("first.json", first);
    let out = run(&place, &source, &other);
    let diff = text(&lockstep(&["profile", "diff", &kept, &out]));
    assert!(diff.contains("relu"), "{diff}");
}

#[test]
fn a_profile_goes_out_and_comes_in() {
    let place = Place::new("round");
    let out = run(
        &place,
        &fixture("sparse_layer.cu"),
        &fixture("sparse_layer.toml"),
    );
    let read = profile::load(Path::new(&out)).expect("a profile");
    let again = place.path("again.json");
    profile::save(Path::new(&again), &read).expect("written");
    assert_eq!(std::fs::read(&out).ok(), std::fs::read(&again).ok());
    let item = read.item("layer").expect("the kernel");
    assert_eq!(item.warps, 128);
    assert!(item.values.iter().any(|value| value.name == "scaled"));
    let names: Vec<String> = std::fs::read_dir(place.folder())
        .expect("the directory")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert!(
        names.iter().all(|name| !name.ends_with(".tmp")),
        "{names:?}"
    );
}

#[test]
fn a_sample_of_a_large_grid_says_so_and_is_close() {
    let place = Place::new("sample");
    let inputs = std::fs::read_to_string(fixture("lit_surface.toml")).expect("inputs");
    let large = inputs.replace(
        "pixels = [128, 64]",
        "pixels = [1280, 640]\nworkgroups = 400",
    );
    let out = place.path("out.json");
    let output = lockstep(&[
        "profile",
        &fixture("lit_surface.hlsl"),
        "--inputs",
        &place.file("large.toml", large),
        "-o",
        &out,
        "--no-config",
    ]);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(
        errors(&output).contains("400 of 25600 workgroups"),
        "{}",
        errors(&output)
    );
    let share = |path: &str| {
        let profile = profile::load(Path::new(path)).expect("a profile");
        let item = profile.item("LitSurfacePS").cloned().expect("the shader");
        let value = item.values.iter().find(|value| value.name == "diffuse");
        value.and_then(|value| value.zero_share()).expect("counted")
    };
    let sampled = share(&out);
    let whole = share(&run(
        &place,
        &fixture("lit_surface.hlsl"),
        &fixture("lit_surface.toml"),
    ));
    assert!((sampled - whole).abs() < 0.15, "{sampled} {whole}");
}

/// Values of lanes that were profiled, and executions with zeros of whole warps, by the value's name.
fn profiled(place: &Place, options: &[&str]) -> (u64, Vec<(String, u64)>) {
    let out = place.path("out.json");
    let source = fixture("sparse_layer.cu");
    // Short runs are profiled as a whole.
    let inputs = std::fs::read_to_string(fixture("sparse_layer.toml")).expect("inputs");
    let long = inputs
        .replace("4096", "32768")
        .replace("n = 4000", "n = 32000")
        .replace("count = 64\n", "count = 512\n");
    let inputs = place.file("long.toml", long);
    let mut words = vec!["profile", &source, "--inputs", &inputs, "-o", &out];
    words.push("--no-config");
    words.extend(options);
    let output = lockstep(&words);
    assert!(output.status.success(), "{}", errors(&output));
    let profile = profile::load(Path::new(&out)).expect("a profile");
    let item = profile.item("layer").cloned().expect("the kernel");
    let values = item.values.iter();
    (
        values.clone().map(|value| value.profiled).sum(),
        values
            .map(|value| (value.name.clone(), value.zeros))
            .collect(),
    )
}

#[test]
fn a_profiler_that_rests_sooner_or_longer_profiles_less_and_counts_the_same_zeros() {
    let place = Place::new("schedule");
    let (all, zeros) = profiled(&place, &["--every"]);
    let (often, same) = profiled(&place, &["--interval", "64"]);
    assert!(often < all, "{often} of {all}");
    assert_eq!(same, zeros);
    let (longer, same) = profiled(&place, &["--interval", "64", "--back-off", "8"]);
    assert!(longer < often, "{longer} of {often}");
    assert_eq!(same, zeros);
    // What moves within bounds has converged; what must stop increasing goes on for longer.
    let increasing = ["--interval", "64", "--criterion", "increasing"];
    let (until_it_falls, same) = profiled(&place, &increasing);
    assert!(until_it_falls > often, "{until_it_falls} of {often}");
    assert_eq!(same, zeros);
    for bad in [["--interval", "0"], ["--criterion", "never"]] {
        let source = fixture("sparse_layer.cu");
        let output = lockstep(&["profile", &source, bad[0], bad[1]]);
        assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
    }
}

#[test]
fn values_that_alternate_are_among_the_recent_ones_though_never_the_last() {
    let place = Place::new("recent");
    let source = place.file(
        "turns.cu",
        "__global__ void turns(int* out) { int turn = threadIdx.x % 3; out[threadIdx.x] = turn + 5; }\n",
    );
    let inputs = place.file(
        "turns.toml",
        "item = \"turns\"\n[launch]\nthreads = [96]\nblock = [96]\n[buffers.out]\ncount = 96\n",
    );
    let out = run(&place, &source, &inputs);
    let row = |options: &[&str]| {
        let shown = text(&lockstep(&[&["profile", "show", &out], options].concat()));
        let mut lines = shown.lines();
        let head = lines.find(|line| line.starts_with("value")).expect(&shown);
        let row = lines.find(|line| line.starts_with("turn ")).expect(&shown);
        (head.to_owned(), row.to_owned())
    };
    assert!(!row(&[]).0.contains("MRV-2"));
    let (head, row) = row(&["--recent"]);
    let share = |name: &str| {
        let end = head.find(name).expect(name) + name.len();
        row[..end].rsplit(' ').next().expect("a share").to_owned()
    };
    assert_eq!(share("MRV-1"), "0.0%", "{row}");
    assert_eq!(share("MRV-2"), "0.0%", "{row}");
    for three in ["MRV-3", "MRV-4", "MRV-5"] {
        assert_eq!(share(three), "96.9%", "{row}");
    }
}

#[test]
fn a_table_of_counts_becomes_a_profile() {
    let place = Place::new("csv");
    let source = place.file(
        "k.cu",
        "__global__ void k(float* p, float a) {\n  int i = threadIdx.x;\n  float n = fmaxf(p[i], 0.0f);\n  float2 c = make_float2(n * a, n + a);\n  p[i] = c.x + c.y;\n}\n",
    );
    let table = place.file(
        "t.csv",
        "name,line,executions,zeros\nn,3,1000,620\nc,4,1000,100\nc.x,4,1000,640\nghost,9,1,1\n",
    );
    let out = place.path("k.json");
    let output = lockstep(&["profile", "import", &table, "--source", &source, "-o", &out]);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(
        errors(&output).contains("row 5: nothing named `ghost`"),
        "{}",
        errors(&output)
    );
    let shown = text(&lockstep(&["profile", "show", &out]));
    assert!(
        shown.contains("62.0%") && shown.contains("64.0%"),
        "{shown}"
    );
    assert!(shown.contains("(c.x, c.y) (line 4) 10.0%"), "{shown}");
    for (bad, wanted) in [
        (
            "name,line,executions,zeros\nn,3,5,9\n",
            "line 2: 9 zeros of 5",
        ),
        (
            "name,line,executions,zeros\nn,3,x,9\n",
            "line 2: `x` is no count",
        ),
        ("n,3,5\n", "line 1: 3 columns"),
        ("a,b,c,d\n", "name,line,executions,zeros"),
    ] {
        let table = place.file("bad.csv", bad);
        let output = lockstep(&["profile", "import", &table, "--source", &source, "-o", &out]);
        assert_eq!(output.status.code(), Some(2));
        assert!(errors(&output).contains(wanted), "{}", errors(&output));
    }
}

#[test]
fn profiles_that_cannot_be_used_are_told_with_the_reason() {
    let place = Place::new("bad");
    let good = std::fs::read_to_string(run(
        &place,
        &fixture("sparse_layer.cu"),
        &fixture("sparse_layer.toml"),
    ))
    .expect("a profile");
    let half = &good[..good.len() / 2];
    for (bad, wanted) in [
        (String::new(), "not a profile"),
        (half.to_owned(), "line"),
        ("{}".to_owned(), "format"),
        ("[1, 2".to_owned(), "not a profile"),
        (good.replace("lockstep value profile", "other"), "`other`"),
        (
            good.replace("\"version\": 1", "\"version\": 99"),
            "version 99",
        ),
        (
            good.replace("\"warp_size\": 32", "\"warp_size\": 0"),
            "warp_size",
        ),
        (
            good.replace("\"zeros\": 0", "\"zeros\": 99999999"),
            "more zeros",
        ),
        (
            good.replace("\"executions\": ", "\"executions\": -"),
            "line",
        ),
        ("[".repeat(200_000), "not a profile"),
    ] {
        let path = place.file("bad.json", bad);
        let output = lockstep(&["profile", "show", &path]);
        assert_eq!(output.status.code(), Some(2), "{wanted}");
        assert!(
            errors(&output).contains(wanted),
            "{wanted}: {}",
            errors(&output)
        );
    }
    let missing = lockstep(&["profile", "show", &place.path("none.json")]);
    assert_eq!(missing.status.code(), Some(2));
}

#[test]
fn inputs_that_cannot_be_used_are_told_and_nothing_is_written() {
    let place = Place::new("inputs");
    let source = fixture("sparse_layer.cu");
    let out = place.path("never.json");
    for (inputs, wanted) in [
        ("[launch]\ngrid = [0]", "launch.grid"),
        ("[launch]\nblock = [4096]", "launch.block"),
        ("[launch]\nthreads = [1]\ngrid = [1]", "one of"),
        ("[launch]\npixels = [4, 4]", "no pixel shader"),
        ("[values]\nm = 3", "bias, n"),
        ("[values]\nn = [1, 2, 3]", "3 numbers"),
        ("[values]\nn = \"x\"", "n"),
        ("[buffers.on]\ncount = 1", "buffers.on"),
        ("[buffers.in]\ncount = 999999999999", "buffers.in"),
        ("[buffers.in]\nbinary = \"none.bin\"", "none.bin"),
        ("[buffers.in]\nbinary = \"odd.bin\"", "no multiple"),
        ("[textures.t]\nfill = \"noise\"", "textures.t"),
        ("[inputs.NORMAL]\nfill = \"uv\"", "no stage inputs"),
        ("[lunch]\n", "lunch"),
        ("= =", "i.toml:1:"),
        ("item = \"nobody\"", "nobody"),
    ] {
        place.file("odd.bin", [1, 2, 3]);
        let file = place.file("i.toml", inputs);
        let output = lockstep(&[
            "profile",
            &source,
            "--inputs",
            &file,
            "-o",
            &out,
            "--no-config",
        ]);
        assert_eq!(output.status.code(), Some(2), "{inputs}");
        assert!(
            errors(&output).contains(wanted),
            "{inputs}: {}",
            errors(&output)
        );
        assert!(!Path::new(&out).exists(), "{inputs}");
    }
    // Two buffers that are too small for what the kernel reads.
    let file = place.file(
        "i.toml",
        "item = \"layer\"\n[values]\nn = 4096\n[buffers.in]\nfill = \"normal\"\ncount = 7\n",
    );
    let output = lockstep(&[
        "profile",
        &source,
        "--inputs",
        &file,
        "-o",
        &out,
        "--no-config",
    ]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        errors(&output).contains("sparse_layer.cu:15:"),
        "{}",
        errors(&output)
    );
    assert!(!Path::new(&out).exists());
}

#[test]
fn a_kernel_that_runs_away_ends_and_leaves_the_old_profile() {
    let place = Place::new("away");
    let source = place.file(
        "away.cu",
        "__global__ void away(int* p, int n) {\n  int i = 0;\n  while (i != n + 1) {\n    i = (i + 2) & 0xffff;\n    p[threadIdx.x] = i;\n  }\n}\n",
    );
    let inputs = place.file("i.toml", "[launch]\nmax_steps = 100000\n[values]\nn = 2\n");
    let old = place.file("away.cu.lockstep-profile.json", "old");
    let output = lockstep(&["profile", &source, "--inputs", &inputs, "--no-config"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("away.cu:"), "{}", errors(&output));
    assert!(errors(&output).contains("no profile was written"));
    let told = errors(&output);
    assert!(
        told.contains("the bound of 100000 warp instructions is reached"),
        "{told}"
    );
    assert!(told.contains("max_steps"), "{told}");
    assert_eq!(std::fs::read_to_string(old).ok().as_deref(), Some("old"));
}
