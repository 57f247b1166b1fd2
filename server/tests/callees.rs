//! Findings on the functions that a kernel calls are reported for the kernel: rows of accesses, the lens,
//! related places. And the trip counts of loops whose counters are doubled or halved.

use lockstep_server::config::{AnalysisConfig, ViewConfig};
use lockstep_server::db::{Database, File, Source};
use lockstep_server::views::diagnostics::findings;
use lockstep_server::views::lens::lenses;
use lockstep_server::views::report::{ItemRow, report};
use std::path::Path;
use std::sync::Arc;

fn text(text: &str) -> Source {
    Source::Text {
        text: Arc::from(text),
        lossy: false,
    }
}

fn open(source: &str, block: Option<u32>) -> (Database, File) {
    let mut db = Database::default();
    let file = db.file_with_text(Path::new("/k.cu"), text(source));
    let mut analysis = AnalysisConfig::default();
    if let Some(x) = block {
        analysis.options.block = [Some(x), Some(1), Some(1)];
    }
    let settings = db.new_settings(analysis, ViewConfig::default(), Vec::new());
    db.set_file_settings(file, settings);
    (db, file)
}

fn item(db: &Database, file: File, name: &str) -> ItemRow {
    let report = report(db, file, None);
    let mut items = report.items.into_iter();
    items
        .find(|item| item.name == name)
        .expect("the item is there")
}

const COLUMN: &str = "\
__device__ float column(const float* a, int i) {
  return a[i * 64];
}
__global__ void k(const float* a, float* out) {
  int i = threadIdx.x;
  out[i] = column(a, i) + column(a, i + 1);
}
__global__ void quiet(float* out) { out[threadIdx.x] = 1.0f; }
";

#[test]
fn accesses_of_callees_are_rows_of_the_kernel() {
    let (db, file) = open(COLUMN, None);
    let kernel = item(&db, file, "k");
    let rows: Vec<(u32, &str, &str)> = kernel
        .accesses
        .iter()
        .map(|row| (row.line, row.kind, row.class))
        .collect();
    assert_eq!(rows, [(2, "load", "strided"), (6, "store", "coalesced")]);
    assert!(kernel.accesses.iter().all(|row| row.file.is_none()));
    let found = findings(&db, file);
    assert_eq!(found.len(), 1, "{found:?}");
    let call = found[0]
        .related
        .iter()
        .find(|step| step.text.contains("`column` is called here"));
    assert!(call.is_some(), "{:?}", found[0].related);
    let titles: Vec<String> = lenses(&db, file)
        .into_iter()
        .map(|lens| lens.title)
        .collect();
    assert_eq!(titles[0], "1 strided access · 1 finding");
    assert!(titles[1].starts_with("no costly"), "{titles:?}");
}

#[test]
fn an_access_in_a_header_is_told_at_the_call() {
    let (mut db, file) = open(
        "#include \"c.cuh\"\n__global__ void k(const float* a, float* out) {\n  out[threadIdx.x] = column(a, threadIdx.x);\n}\n",
        None,
    );
    db.file_with_text(
        Path::new("/c.cuh"),
        text("__device__ float column(const float* a, int i) {\n  return a[i * 64];\n}\n"),
    );
    let kernel = item(&db, file, "k");
    let row = &kernel.accesses[1];
    assert_eq!((row.line, row.class), (2, "strided"));
    assert!(
        row.file
            .as_ref()
            .is_some_and(|name| name.ends_with("c.cuh"))
    );
    let found = findings(&db, file);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].related[0].file != file);
}

const HALVES: &str = "\
__global__ void r(float* x, int n) {
  for (unsigned k = blockDim.x / 2; k > 0; k >>= 1) { x[k] += 1.0f; __syncthreads(); }
  for (int k = 128; k > 0; k /= 2) { x[k] += 1.0f; }
  for (int k = 1; k < 256; k *= 2) { x[k] += 1.0f; }
  for (int k = 1; k < blockDim.x; k <<= 1) { x[k] += 1.0f; }
  for (int k = 1; k < n; k += k) { x[k] += 1.0f; }
  for (int m = 16; m >= 1; m >>= 1) x[m] += 1.0f;
}
";

#[test]
fn counters_that_are_doubled_or_halved_are_counted() {
    let loops = |block| {
        let (db, file) = open(HALVES, block);
        let rows = item(&db, file, "r").loops;
        let each = rows
            .into_iter()
            .map(|row| (row.count, row.at_most, row.trips));
        each.collect::<Vec<_>>()
    };
    let known = |count| (Some(count), None, String::new());
    let open = |most, text: &str| (None, most, text.to_owned());
    let threads = || open(Some(10), "log2(ntid.x)");
    assert_eq!(
        loops(None),
        [
            threads(),
            known(8),
            known(8),
            threads(),
            open(None, "log2(n)"),
            known(5)
        ]
    );
    assert_eq!(
        loops(Some(256)),
        [
            known(8),
            known(8),
            known(8),
            known(8),
            open(None, "log2(n)"),
            known(5)
        ]
    );
}
