//! Code that counts, executed: its counters agree with the interpreter's own profile.

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
        iterations: None,
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
        .push(oracle::interp::Buffer::global(vec![0; 64 << 10]));
    launch
        .bindings
        .push((counted.map.buffer.as_str().into(), cleared));
    let outcome = oracle::interp::run(&lowered.module, &launch);
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
        if let [found] = site.values.as_slice() {
            let (counted, own) = (
                item.value(*found).expect("counted"),
                direct.value(*found).expect("profiled"),
            );
            let pair = |value: &facts::values::stored::StoredValue| (value.executions, value.zeros);
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
    let written = std::fs::read_to_string(place.path("sparse_layer.counted.cu")).expect("the copy");
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
