//! Tests of the queries that an edit executes.

use super::*;
use crate::views;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

struct Watched {
    db: Database,
    executed: Arc<Mutex<Vec<String>>>,
}

impl Watched {
    fn new() -> Self {
        let executed: Arc<Mutex<Vec<String>>> = Arc::default();
        let sink = Arc::clone(&executed);
        let events = move |event: salsa::Event| {
            if let salsa::EventKind::WillExecute { database_key } = event.kind
                && let Ok(mut executed) = sink.lock()
            {
                let name = format!("{database_key:?}");
                executed.push(name.split('(').next().unwrap_or("").to_owned());
            }
        };
        Watched {
            db: Database::with_events(Box::new(events)),
            executed,
        }
    }
    fn file(&mut self, path: &str, text: &str) -> File {
        self.db.file_with_text(Path::new(path), source(text))
    }
    fn edit(&mut self, file: File, text: &str) {
        self.db.set_source(file, source(text));
    }
    /// Asks for all that an editor shows; the queries that were executed for it, with how often.
    fn look(&mut self, file: File) -> Vec<(String, usize)> {
        if let Ok(mut executed) = self.executed.lock() {
            executed.clear();
        }
        let everything = syntax::Span::new(0, u32::MAX);
        let switches = &file.settings(&self.db).view(&self.db).hints;
        views::hints::hints(&self.db, file, everything, switches);
        views::tokens::tokens(&self.db, file, None);
        views::diagnostics::diagnostics(&self.db, file);
        views::symbols::symbols(&self.db, file);
        let mut counts: Vec<(String, usize)> = Vec::new();
        let mut executed = self
            .executed
            .lock()
            .map(|executed| executed.clone())
            .unwrap_or_default();
        executed.sort();
        for name in executed {
            match counts.last_mut() {
                Some((last, count)) if *last == name => *count += 1,
                _ => counts.push((name, 1)),
            }
        }
        counts
    }
}

fn source(text: &str) -> Source {
    Source::Text {
        text: Arc::from(text),
        lossy: false,
    }
}

fn names(counts: &[(String, usize)]) -> Vec<&str> {
    counts.iter().map(|(name, _)| name.as_str()).collect()
}

fn count(counts: &[(String, usize)], name: &str) -> usize {
    counts
        .iter()
        .find(|(it, _)| it == name)
        .map_or(0, |(_, count)| *count)
}

const HEADER: &str = "#define SCALE 3\n__device__ inline int scaled(int v) { return v * SCALE; }\n";
const MAIN: &str = "#include \"scale.cuh\"\n\
__device__ int helper(int v) { return v + 1; }\n\
__global__ void first(int* out) { out[threadIdx.x] = helper(threadIdx.x); }\n\
__global__ void second(int* out) { out[2 * threadIdx.x] = scaled(threadIdx.x); }\n\
__global__ void third(int* out) { out[0] = blockIdx.x; }\n";

fn project() -> (Watched, File, File) {
    let mut watched = Watched::new();
    let header = watched.file("/project/scale.cuh", HEADER);
    let main = watched.file("/project/main.cu", MAIN);
    watched.look(main);
    (watched, header, main)
}

#[test]
fn nothing_runs_when_nothing_changed() {
    let (mut watched, _, main) = project();
    assert!(watched.look(main).is_empty());
    watched.edit(main, MAIN);
    assert!(watched.look(main).is_empty());
}

#[test]
fn a_line_inserted_above_runs_positions_only() {
    let (mut watched, _, main) = project();
    watched.edit(main, &format!("\n\n{MAIN}"));
    let counts = watched.look(main);
    assert_eq!(
        names(&counts),
        [
            "items",
            "lexed",
            "line_index",
            "missing_headers",
            "silences",
            "type_names",
            "unit"
        ],
        "{counts:?}"
    );
}

#[test]
fn a_comment_runs_no_analysis() {
    let (mut watched, _, main) = project();
    watched.edit(main, &format!("{MAIN}// the end\n"));
    let counts = watched.look(main);
    assert_eq!(
        names(&counts),
        [
            "items",
            "lexed",
            "line_index",
            "missing_headers",
            "silences",
            "type_names",
            "unit"
        ],
        "{counts:?}"
    );
}

#[test]
fn settings_of_the_display_run_no_analysis() {
    let (mut watched, _, main) = project();
    let settings = main.settings(&watched.db);
    let analysis = settings.analysis(&watched.db).clone();
    let mut view = settings.view(&watched.db).clone();
    view.hints.uniform = true;
    watched
        .db
        .set_settings(settings, analysis.clone(), view.clone(), Vec::new());
    // Which profile is a file's stands among them.
    assert_eq!(names(&watched.look(main)), ["profile_of"]);
    let mut analysis = analysis;
    analysis.options.warp_size = 64;
    watched
        .db
        .set_settings(settings, analysis, view, Vec::new());
    let counts = watched.look(main);
    assert!(count(&counts, "facts_of") >= 4, "{counts:?}");
    assert_eq!(count(&counts, "parsed"), 0, "{counts:?}");
}

#[test]
fn a_file_that_appears_is_seen() {
    let mut watched = Watched::new();
    let main = watched.file(
        "/project/main.cu",
        "#include \"late.h\"\nint a = LATE;\n__global__ void k(int* p) { *p = 0; }\n",
    );
    let problems = |watched: &Watched| views::diagnostics::diagnostics(&watched.db, main).len();
    assert_eq!(problems(&watched), 1);
    assert!(views::names::definition(&watched.db, main, 27).is_empty());
    let late = watched.file("/project/late.h", "\n#define LATE 5\n");
    assert_eq!(problems(&watched), 0);
    let targets = views::names::definition(&watched.db, main, 27);
    assert_eq!(
        targets
            .iter()
            .map(|target| (target.file, target.span.start))
            .collect::<Vec<_>>(),
        [(late, 9)]
    );
    assert_eq!(late.path(&watched.db), &PathBuf::from("/project/late.h"));
}

#[test]
fn an_edit_inside_a_function_runs_its_own_queries_only() {
    let (mut watched, _, main) = project();
    watched.edit(main, &MAIN.replace("blockIdx.x;", "blockIdx.x + 1;"));
    let counts = watched.look(main);
    assert_eq!(count(&counts, "parsed"), 1, "{counts:?}");
    assert_eq!(count(&counts, "declaration"), 1, "{counts:?}");
    assert_eq!(count(&counts, "lowered"), 1, "{counts:?}");
    assert_eq!(count(&counts, "facts_of"), 1, "{counts:?}");
    assert_eq!(count(&counts, "rows"), 1, "{counts:?}");
    assert_eq!(count(&counts, "environment"), 0, "{counts:?}");
}

#[test]
fn costs_are_computed_where_they_are_shown_and_of_the_edited_function() {
    let (mut watched, _, main) = project();
    watched.edit(main, &MAIN.replace("blockIdx.x;", "blockIdx.x + 1;"));
    let counts = watched.look(main);
    assert_eq!(count(&counts, "costs"), 1, "{counts:?}");
    assert_eq!(count(&counts, "machine"), 0, "{counts:?}");
    let settings = main.settings(&watched.db);
    let analysis = settings.analysis(&watched.db).clone();
    let mut view = settings.view(&watched.db).clone();
    view.hints.costs = crate::config::CostHints::Off;
    view.levels = views::diagnostics::OF_REGISTERS
        .iter()
        .map(|&code| (code, crate::config::Level::Off))
        .collect();
    view.levels.sort_by_key(|(code, _)| *code);
    watched
        .db
        .set_settings(settings, analysis.clone(), view.clone(), Vec::new());
    watched.edit(main, MAIN);
    let counts = watched.look(main);
    assert_eq!(count(&counts, "facts_of"), 1, "{counts:?}");
    assert_eq!(count(&counts, "costs"), 0, "{counts:?}");
    // Another machine changes what branches cost; nothing is read again.
    let mut analysis = analysis;
    analysis.machine = Some("sm_90".into());
    watched
        .db
        .set_settings(settings, analysis, view, Vec::new());
    let counts = watched.look(main);
    assert!(count(&counts, "facts_of") >= 4, "{counts:?}");
    assert_eq!(count(&counts, "parsed"), 0, "{counts:?}");
}

#[test]
fn an_edit_inside_a_callee_runs_the_queries_of_its_callers_too() {
    let (mut watched, _, main) = project();
    watched.edit(main, &MAIN.replace("v + 1", "v + 2"));
    let counts = watched.look(main);
    assert_eq!(count(&counts, "parsed"), 1, "{counts:?}");
    assert_eq!(count(&counts, "lowered"), 2, "{counts:?}");
    assert_eq!(count(&counts, "environment"), 0, "{counts:?}");
}

#[test]
fn an_edit_of_a_header_runs_its_function_and_the_callers() {
    let (mut watched, header, main) = project();
    watched.edit(header, &HEADER.replace("SCALE 3", "SCALE 4"));
    let counts = watched.look(main);
    assert_eq!(count(&counts, "parsed"), 1, "{counts:?}");
    // The header's own function is looked at where the header is the main file.
    assert_eq!(count(&counts, "lowered"), 1, "{counts:?}");
    watched.edit(header, HEADER);
    watched.look(main);
    watched.edit(header, &format!("// a comment\n{HEADER}"));
    let counts = watched.look(main);
    assert_eq!(
        count(&counts, "lowered") + count(&counts, "parsed"),
        0,
        "{counts:?}"
    );
}

/// More functions than there are values kept of queries that keep some only.
const MANY: usize = 60;

fn loops_of_c(changed: Option<usize>) -> String {
    let mut text =
        String::from("#define SCALE 3\nstatic int scaled(int v) { return v * SCALE; }\n");
    for number in 0..MANY {
        let more = usize::from(changed == Some(number));
        text.push_str(&format!(
            "void f{number}(float *a, const float *b, int n) {{\n  for (int i = 0; i < n; i++) a[i] += b[i] * {};\n}}\n",
            number + more
        ));
    }
    text
}

fn processor_of(watched: &mut Watched, main: File) {
    let settings = main.settings(&watched.db);
    let mut analysis = settings.analysis(&watched.db).clone();
    analysis.processor = Some("itanium2".into());
    let view = settings.view(&watched.db).clone();
    watched
        .db
        .set_settings(settings, analysis, view, Vec::new());
}

#[test]
fn an_edit_inside_a_function_of_c_schedules_its_own_loops_only() {
    let mut watched = Watched::new();
    let main = watched.file("/project/main.c", &loops_of_c(None));
    processor_of(&mut watched, main);
    let counts = watched.look(main);
    assert!(count(&counts, "item_loops") >= MANY, "{counts:?}");
    watched.edit(main, &loops_of_c(Some(MANY / 2)));
    let counts = watched.look(main);
    for name in ["parsed", "declaration", "lowered", "item_loops", "rows"] {
        assert_eq!(count(&counts, name), 1, "{name}: {counts:?}");
    }
    assert_eq!(count(&counts, "environment"), 0, "{counts:?}");
    // A line above moves what is told, and computes none of it.
    watched.edit(main, &format!("\n{}", loops_of_c(Some(MANY / 2))));
    let counts = watched.look(main);
    assert_eq!(
        names(&counts),
        [
            "contracts",
            "items",
            "lexed",
            "line_index",
            "missing_headers",
            "silences",
            "type_names",
            "unit"
        ],
        "{counts:?}"
    );
}

#[test]
fn what_forbids_contraction_schedules_all_loops_anew() {
    let mut watched = Watched::new();
    let main = watched.file("/project/main.c", &loops_of_c(None));
    processor_of(&mut watched, main);
    watched.look(main);
    let text = format!("#pragma STDC FP_CONTRACT OFF\n{}", loops_of_c(None));
    watched.edit(main, &text);
    let counts = watched.look(main);
    assert!(count(&counts, "item_loops") >= MANY, "{counts:?}");
    assert_eq!(count(&counts, "parsed"), 0, "{counts:?}");
}

#[test]
fn loops_of_one_function_are_scheduled_alone() {
    let mut watched = Watched::new();
    let main = watched.file("/project/main.c", &loops_of_c(None));
    processor_of(&mut watched, main);
    let found = views::loops::rows(&watched.db, main, Some("f7"));
    assert_eq!(found.len(), 1);
    let executed = watched.executed.lock().map(|all| all.clone());
    let executed = executed.unwrap_or_default();
    let scheduled = executed.iter().filter(|name| *name == "item_loops");
    assert_eq!(scheduled.count(), 1);
}

const PROFILED: &str = "\
#define HALF 0.5f
static __device__ float late(float v) { return v * HALF; }
__global__ void first(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float rare = late(in[i]) * HALF + 3.0f;
  if (i == 5) {
    out[i] = rare;
  }
}
__global__ void second(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] + 1.0f;
}
";

fn first_of(watched: &Watched, main: File) -> Item<'_> {
    let mut all = items(&watched.db, main).iter();
    *all.find(|item| item.name(&watched.db) == "first").unwrap()
}

/// Puts the profile of `first` beside the file, and looks at it.
fn profiled(watched: &mut Watched, main: File, path: &Path) {
    let order = crate::profile::make::Order {
        item: Some("first".to_owned()),
        ..crate::profile::make::Order::default()
    };
    let made = crate::profile::make::make(&watched.db, main, path, &order, &mut (), &());
    let profile = serde_json::to_string(&made.unwrap().profile).unwrap();
    let beside = crate::profile::beside(path);
    watched.db.file_with_text(&beside, source(&profile));
    watched.look(main);
}

#[test]
fn an_edit_elsewhere_tries_no_moves_again() {
    let mut watched = Watched::new();
    let path = Path::new("/project/profiled.cu");
    let main = watched.file("/project/profiled.cu", PROFILED);
    profiled(&mut watched, main, path);
    let first = first_of(&watched, main);
    assert!(alone(&watched.db, first).is_some());
    let rows = partly_dead(&watched.db, first).clone();
    assert!(rows[0].moved.is_some(), "{rows:?}");
    // In another function, with a line above both.
    let text = PROFILED.replace("+ 1.0f", "+ 2.0f");
    watched.edit(main, &format!("// A comment.\n{text}"));
    let counts = watched.look(main);
    for name in ["partly_dead", "irrelevant_loads"] {
        assert_eq!(count(&counts, name), 1, "{counts:?}");
    }
    // A macro that it uses, in a definition that it has alone.
    watched.edit(main, &text.replace("0.5f", "0.25f"));
    watched.look(main);
    let now = alone(&watched.db, first_of(&watched, main))
        .clone()
        .unwrap();
    assert!(format!("{now:?}").contains("0.25f"), "{now:?}");
}

const TWO_ROOTS: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry first(.param .u64 x) .reqntid 64, 1, 1
{
\t.reg .pred %p<2>;
\t.reg .b32 %r<4>;
\t.reg .f32 %f<4>;
\t.reg .b64 %rd<8>;
\tld.param.u64 %rd1, [x];
\tmov.u32 %r1, %tid.x;
\tcvt.rn.f32.u32 %f1, %r1;
\tsqrt.rn.f32 %f2, %f1;
\tsetp.lt.u32 %p1, %r1, 32;
\t@%p1 bra $DONE;
\tst.global.f32 [%rd1], %f2;
$DONE:
\tret;
}
.visible .entry second(.param .u64 y)
{
\tret;
}
";

#[test]
fn an_edit_of_ptx_elsewhere_tries_no_moves_again() {
    let mut watched = Watched::new();
    let path = Path::new("/project/roots.ptx");
    let main = watched.file("/project/roots.ptx", TWO_ROOTS);
    profiled(&mut watched, main, path);
    let rows = partly_dead(&watched.db, first_of(&watched, main)).clone();
    assert!(rows.iter().any(|row| row.moved.is_some()), "{rows:?}");
    watched.edit(main, &TWO_ROOTS.replace("y)\n{", "y)\n{\n\tbar.sync 0;"));
    let counts = watched.look(main);
    assert_eq!(count(&counts, "partly_dead"), 1, "{counts:?}");
}
