//! `lockstep profile` from the outside: fixtures with their expected tables, profiles that go out and come in, imports,
//! and all that can be wrong with what it is given.

#[path = "support/command.rs"]
mod command;

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
        values.map(|one| (one.name.clone(), one.zeros)).collect(),
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

mod editor {
    //! What an editor shows of a profile.

    use super::{Place, errors, fixture, lockstep};
    use lockstep_server::config::{AnalysisConfig, ViewConfig};
    use lockstep_server::db::{Database, File, Source};
    use lockstep_server::views::hints::Category;
    use lockstep_server::views::{self, zeros};
    use std::path::Path;
    use std::sync::Arc;
    use syntax::Span;

    fn open(db: &mut Database, path: &str) -> File {
        let text = std::fs::read_to_string(path).expect("the source");
        db.file_with_text(Path::new(path), source(&text))
    }

    fn source(text: &str) -> Source {
        Source::Text {
            text: Arc::from(text),
            lossy: false,
        }
    }

    /// `text before the hint` and the hint.
    fn hints(db: &Database, file: File) -> Vec<(String, String)> {
        let switches = file.settings(db).view(db).hints.clone();
        let text = lockstep_server::program::text(file.source(db)).to_owned();
        views::hints::hints(db, file, Span::new(0, u32::MAX), &switches)
            .into_iter()
            .filter(|hint| hint.category == Category::Zero)
            .map(|hint| {
                let name = &text[hint.about as usize..hint.offset as usize];
                (name.to_owned(), hint.label.trim().to_owned())
            })
            .collect()
    }

    fn codes(db: &Database, file: File) -> Vec<String> {
        views::diagnostics::diagnostics(db, file)
            .into_iter()
            .filter(|one| one.code.contains("profile"))
            .map(|one| format!("{:?} {}: {}", one.level, one.code, one.message))
            .collect()
    }

    fn profiled(place: &Place, stem: &str, extension: &str) -> String {
        let name = format!("{stem}.{extension}");
        let path = place.file(&name, std::fs::read(fixture(&name)).expect("a fixture"));
        let output = lockstep(&[
            "profile",
            &path,
            "--inputs",
            &fixture(&format!("{stem}.toml")),
            "--no-config",
        ]);
        assert!(output.status.success(), "{}", errors(&output));
        path
    }

    fn hover(db: &Database, file: File, before: &str, name: &str) -> String {
        let text = lockstep_server::program::text(file.source(db)).to_owned();
        let at = text.find(before).expect("the place") + before.len();
        assert!(text[at..].starts_with(name));
        let hover = views::hover::hover(db, file, at as u32);
        hover.map(|hover| hover.markdown).unwrap_or_default()
    }

    #[test]
    fn definitions_say_how_often_they_are_zero() {
        let place = Place::new("hints");
        let path = profiled(&place, "sparse_layer", "cu");
        let mut db = Database::default();
        let file = open(&mut db, &path);
        let shown = hints(&db, file);
        let has = |name: &str, label: &str| shown.contains(&(name.into(), label.into()));
        // The callee's own definition, and what the kernel makes of it.
        assert!(has("relu", "0 in 72 % of warps"), "{shown:?}");
        assert!(has("active", "0 in 72 % of warps"), "{shown:?}");
        assert!(has("scaled", "0 in 72 % of warps"), "{shown:?}");
        assert!(!shown.iter().any(|(name, _)| name == "i"), "{shown:?}");
        let told = hover(&db, file, "    float ", "relu");
        assert!(
            told.contains("0 in 72 % of warps") && told.contains("sparse_layer.toml"),
            "{told}"
        );
        assert!(told.contains("useless"), "{told}");
        assert_eq!(codes(&db, file), Vec::<String>::new());

        let mut view = ViewConfig::default();
        view.hints.zeros = false;
        let off = db.new_settings(AnalysisConfig::default(), view, Vec::new());
        db.set_file_settings(file, off);
        assert_eq!(hints(&db, file), []);

        let path = profiled(&place, "lit_surface", "hlsl");
        let file = open(&mut db, &path);
        let shown = hints(&db, file);
        let has = |name: &str, label: &str| shown.contains(&(name.into(), label.into()));
        assert!(has("diffuse", "0 in 86 % of waves"), "{shown:?}");
        assert!(has("color", "0 in 86 % of waves"), "{shown:?}");
        let told = hover(&db, file, "Shininess);\n    float3 ", "color");
        assert!(told.contains("each alone: `.x` 86 %"), "{told}");
    }

    #[test]
    fn edits_elsewhere_keep_the_hints_and_edits_of_the_code_are_told_once() {
        let place = Place::new("stale");
        let path = profiled(&place, "sparse_layer", "cu");
        let mut db = Database::default();
        let file = open(&mut db, &path);
        let text = std::fs::read_to_string(&path).expect("the source");
        let before = hints(&db, file);
        let moved = format!(
            "// moved\n\n{}\n__device__ int other() {{ return 1; }}\n",
            text.replace("float x", "/* x */ float x")
        );
        db.set_source(file, source(&moved));
        assert_eq!(hints(&db, file), before);
        assert_eq!(codes(&db, file), Vec::<String>::new());

        let edited = text.replace("expf(in[i])", "expf(in[i] + 1.0f)");
        db.set_source(file, source(&edited));
        let told = codes(&db, file);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].starts_with("Hint stale-profile: `layer` has changed"),
            "{told:?}"
        );
        let shown = hints(&db, file);
        assert!(shown.iter().any(|(name, _)| name == "relu"), "{shown:?}");
        // Another operation has the name now.
        assert!(
            !shown.iter().any(|(name, _)| name == "nothing"),
            "{shown:?}"
        );
        let renamed = text.replace("float scaled = active *", "float scaled = 2.0f + active *");
        db.set_source(file, source(&renamed));
        let shown = hints(&db, file);
        assert!(!shown.iter().any(|(name, _)| name == "scaled"), "{shown:?}");
    }

    #[test]
    fn a_profile_that_cannot_be_used_is_a_diagnostic() {
        let place = Place::new("corrupt");
        let path = profiled(&place, "sparse_layer", "cu");
        let beside = format!("{path}.lockstep-profile.json");
        let good = std::fs::read_to_string(&beside).expect("the profile");
        for (bad, wanted) in [
            (good[..good.len() / 3].to_owned(), "line"),
            (
                good.replace("\"version\": 1", "\"version\": 7"),
                "version 7",
            ),
            (
                good.replace("\"warp_size\": 32", "\"warp_size\": 64"),
                "64 lanes a warp",
            ),
            ("[".repeat(100_000), "profile"),
        ] {
            std::fs::write(&beside, bad).expect("written");
            let mut db = Database::default();
            let file = open(&mut db, &path);
            let told = codes(&db, file);
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(
                told[0].starts_with("Warning unusable-profile") && told[0].contains(wanted),
                "{told:?}"
            );
            assert_eq!(hints(&db, file), []);
            assert!(zeros::hover(&db, file, Span::new(0, 1), ir::Language::Cuda).is_none());
        }
        std::fs::remove_file(&beside).expect("removed");
        let mut db = Database::default();
        let file = open(&mut db, &path);
        assert_eq!(codes(&db, file), Vec::<String>::new());
        let told = hover(&db, file, "    float ", "relu");
        assert!(
            told.contains("unprofiled") && told.contains("maximum with 0"),
            "{told}"
        );
        // Configured, in a directory of its own.
        let elsewhere = place.path("profiles");
        std::fs::create_dir_all(&elsewhere).expect("a directory");
        std::fs::write(
            Path::new(&elsewhere).join("sparse_layer.cu.lockstep-profile.json"),
            &good,
        )
        .expect("written");
        let view = ViewConfig {
            profile: Some(elsewhere.into()),
            ..ViewConfig::default()
        };
        let settings = db.new_settings(AnalysisConfig::default(), view, Vec::new());
        db.set_file_settings(file, settings);
        assert!(!hints(&db, file).is_empty());
    }
}

mod counters {
    //! Code that counts, executed: what its counters hold is what the interpreter's own profile says.

    use super::{Place, errors, fixture, lockstep, text};
    use lockstep_server::db::{self, Database, File, Source};
    use lockstep_server::profile::run::{self, Request};
    use lockstep_server::profile::{import, inputs, instrument, launch};
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::sync::Arc;

    fn open(db: &mut Database, name: &str, text: &str) -> File {
        let source = Source::Text {
            text: Arc::from(text),
            lossy: false,
        };
        db.file_with_text(&Path::new("/nowhere").join(name), source)
    }

    /// Places whose counters were compared.
    fn compared(name: &str, source: &str, toml: &str) -> usize {
        let description = inputs::parse(toml, Path::new("i.toml")).expect("inputs");
        let mut db = Database::default();
        let file = open(&mut db, name, source);
        let request = Request {
            description: &description,
            directory: Path::new(""),
            inputs: String::new(),
            warp_size: 32,
            item: None,
            every: true,
            schedule: facts::values::convergent::Schedule::default(),
        };
        let (direct, _) = run::run(&db, file, &request, &mut (), &())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let counted = instrument::instrument(&db, file, None).expect("something to count");
        let again = open(&mut db, &format!("counted.{name}"), &counted.text);
        let (item, number) = run::find(&db, again, description.item.as_deref()).expect("the entry");
        let lowered = &db::lowered(&db, item)[number];
        assert!(
            lowered.problems.is_empty(),
            "{name}: {:?}\n{}",
            lowered.problems,
            counted.text
        );
        let launched =
            launch::described(&lowered.module, &description, 32, Path::new("")).expect("a launch");
        // Whoever runs the copy clears the counters first.
        let mut launch = launched.launch;
        let cleared = launch.buffers.len();
        launch
            .buffers
            .push(ir::interp::Buffer::global(vec![0; 64 << 10]));
        launch
            .bindings
            .push((counted.map.buffer.as_str().into(), cleared));
        let outcome = ir::interp::run(&lowered.module, &launch);
        assert_eq!(outcome.error, None, "{name}\n{}", counted.text);
        let buffer = outcome
            .buffers
            .iter()
            .find(|buffer| buffer.name.as_deref() == Some(counted.map.buffer.as_str()))
            .expect("the counters");
        let size = counted.map.sites.len() * 2 * counted.map.width as usize;
        let numbers = import::counters(&buffer.bytes[..size], &counted.map).expect("counters");
        let imported = import::counted(&db, file, &counted.map, &numbers, 32).expect("a profile");
        assert_eq!(imported.lost, Vec::<String>::new());
        assert_eq!(imported.profile.check(), Ok(()));
        let direct = &direct.items[0];
        let mut compared = 0;
        for site in counted
            .map
            .sites
            .iter()
            .filter(|site| site.item == direct.name)
        {
            let item = imported.profile.item(&direct.name).expect("the item");
            if let [one] = site.values.as_slice() {
                let (counted, own) = (
                    item.value(*one).expect("counted"),
                    direct.value(*one).expect("profiled"),
                );
                let pair =
                    |value: &facts::values::stored::StoredValue| (value.executions, value.zeros);
                assert_eq!(
                    pair(counted),
                    pair(own),
                    "{name}: {} on line {}",
                    site.name,
                    site.line
                );
                compared += 1;
            } else if let Some(own) = direct
                .joint
                .iter()
                .find(|joint| joint.members == site.values)
            {
                let counted = item.joint.iter().find(|joint| joint.members == site.values);
                assert_eq!(counted, Some(own), "{name}: {}", site.name);
                compared += 1;
            }
        }
        compared
    }

    fn read(path: &str) -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
        std::fs::read_to_string(root.join(path)).expect("a fixture")
    }

    const PTX: [&str; 3] = [
        "ptx/predicated.ptx",
        "ptx/shared_reduction.ptx",
        "ptx/strided_rows.ptx",
    ];

    #[test]
    fn counters_in_ptx_agree_with_the_profile() {
        let toml = "[launch]\nthreads = [512]\n[values]\nscale_param_1 = 300\n[buffers.scale_param_0]\nfill = \"sparse\"\nzeros = 0.98\ncount = 512\n";
        assert!(compared("predicated.ptx", &read(PTX[0]), toml) >= 3);
        let toml = "[launch]\nthreads = [512]\n[buffers.reduce_param_0]\ntype = \"i32\"\nfill = \"sparse\"\nzeros = 0.98\ncount = 512\n";
        assert!(compared("shared_reduction.ptx", &read(PTX[1]), toml) >= 1);
    }

    #[test]
    fn counters_in_source_agree_with_the_profile() {
        let profiled = |stem: &str, extension: &str| {
            let source = read(&format!("profiles/{stem}.{extension}"));
            let toml = read(&format!("profiles/{stem}.toml"));
            compared(&format!("{stem}.{extension}"), &source, &toml)
        };
        assert!(profiled("sparse_layer", "cu") >= 2);
        assert!(profiled("lit_surface", "hlsl") >= 3);
        // Beside a loop and a divergent branch; what stands in a body on one line or without braces has no place for a
        // counter and is not compared.
        let source = "__global__ void k(float* p, const float* q, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f, w = q[i];
  for (int j = 0; j < n; ++j) {
    float x = fmaxf(q[(i + j) % 256], 0.0f);
    if (x > 0.25f) { float y = x * w; sum += y; }
    else sum *= x;
  }
  p[i] = sum * w;
}
";
        let toml = "[launch]\nthreads = [256]\nblock = [64]\n[values]\nn = 5\n[buffers.p]\ncount = 256\n[buffers.q]\nfill = \"normal\"\ncount = 256\n";
        let places = compared("k.cu", source, toml);
        assert!(places >= 3, "{places} places");
    }

    #[test]
    fn the_way_from_a_file_to_a_profile_on_the_command_line() {
        let place = Place::new("counted");
        let source = place.file("sparse_layer.cu", read("profiles/sparse_layer.cu"));
        let output = lockstep(&["instrument", &source, "--no-config"]);
        assert!(output.status.success(), "{}", errors(&output));
        let map = place.path("sparse_layer.counted.map.json");
        let written =
            std::fs::read_to_string(place.path("sparse_layer.counted.cu")).expect("the copy");
        assert!(
            written.contains("float active = rectified(x); lockstep_count("),
            "{written}"
        );
        let sites = import::map(&std::fs::read_to_string(&map).expect("the map"))
            .expect("a map")
            .sites
            .len();
        let raw: Vec<String> = (0..sites)
            .flat_map(|_| ["100".to_owned(), "62".to_owned()])
            .collect();
        let raw = place.file("raw.txt", raw.join("\n"));
        let arguments = [
            "profile",
            "import",
            "--counters",
            &raw,
            "--map",
            &map,
            "--source",
            &source,
            "--no-config",
        ];
        let output = lockstep(&arguments);
        assert!(output.status.success(), "{}", errors(&output));
        let shown = text(&lockstep(&[
            "profile",
            "show",
            &format!("{source}.lockstep-profile.json"),
        ]));
        assert!(
            shown.contains("62.0%") && shown.contains("instrumented"),
            "{shown}"
        );
        for (bad, wanted) in [("1 2 3", "3 counters"), ("x", "neither"), ("", "neither")] {
            place.file("raw.txt", bad);
            let output = lockstep(&arguments);
            assert_eq!(output.status.code(), Some(2));
            assert!(errors(&output).contains(wanted), "{}", errors(&output));
        }
        let output = lockstep(&["instrument", &fixture("sparse_layer.toml")]);
        assert_eq!(output.status.code(), Some(2));
    }

    #[test]
    fn the_assembler_accepts_what_counts() {
        let assembler = std::env::var_os("LOCKSTEP_PTXAS")
            .map(PathBuf::from)
            .into_iter()
            .chain([PathBuf::from("ptxas")])
            .find(|path| {
                Command::new(path)
                    .arg("--version")
                    .output()
                    .is_ok_and(|output| output.status.success())
            });
        let Some(assembler) = assembler else {
            assert!(
                std::env::var_os("LOCKSTEP_PTXAS").is_none(),
                "LOCKSTEP_PTXAS is set and there is no working ptxas"
            );
            eprintln!("ptxas was not found: PTX with counters is not judged by it");
            return;
        };
        let place = Place::new("ptxas");
        for path in PTX {
            let mut db = Database::default();
            let file = open(&mut db, "k.ptx", &read(path));
            let counted = instrument::instrument(&db, file, None).expect("something to count");
            let written = place.file("k.ptx", &counted.text);
            let output = Command::new(&assembler)
                .args(["-arch=sm_90", &written, "-o", &place.path("k.cubin")])
                .output()
                .expect("ptxas runs");
            assert!(
                output.status.success(),
                "{path}: {}\n{}",
                String::from_utf8_lossy(&output.stderr),
                counted.text
            );
        }
    }
}
