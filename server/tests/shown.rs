//! The editor's claims about every function, against its executions: random programs of several functions in
//! CUDA and HLSL are executed from their entry, lane by lane, by a machine that knows the generator's tree
//! and nothing of the front end. A claim about a variable is contradicted by lanes of its scope that come to
//! its declaration by the same calls and in the same iterations, and hold different values.
//!
//! `LOCKSTEP_SHOWN_PROGRAMS=N` runs N programs a language, `LOCKSTEP_SHOWN_SEED=N` starts at another seed.

#[path = "../../analyses/facts/tests/soundness/form.rs"]
#[allow(dead_code)]
mod form;
#[path = "shown/generate.rs"]
mod generate;
#[path = "shown/program.rs"]
mod program;
#[path = "shown/run.rs"]
mod run;

use facts::{Class, Scope, ValueFact};
use form::{Coordinate, Setting};
use lockstep_server::config::{AnalysisConfig, ViewConfig};
use lockstep_server::db::{self, Database, File, Source};
use lockstep_server::derive::parts::parts;
use program::{Dialect, Program};
use run::{GROUP, GROUPS, Seen, Way};
use rustc_hash::FxHashMap;
use std::path::Path;
use std::sync::Arc;

const PROGRAMS: u64 = 400;
const WARP: u32 = 32;

/// A number from the environment.
fn setting(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|t| t.parse().ok()).unwrap_or(default)
}

fn open(text: &str, path: &str) -> (Database, File) {
    let mut db = Database::default();
    let source = Source::Text {
        text: Arc::from(text),
        lossy: false,
    };
    let file = db.file_with_text(Path::new(path), source);
    let mut analysis = AnalysisConfig::default();
    analysis.options.block = [Some(GROUP), Some(1), Some(1)];
    let settings = db.new_settings(analysis, ViewConfig::default(), Vec::new());
    db.set_file_settings(file, settings);
    (db, file)
}

/// The fact shown for a variable where it is declared, in the function's own rows.
struct Shown {
    function: String,
    name: String,
    entry: bool,
    fact: ValueFact,
}

fn shown(db: &Database, file: File) -> Vec<Shown> {
    let mut found = Vec::new();
    for &item in db::items(db, file) {
        for part in parts(db, item) {
            let function = part.function;
            for binding in &function.bindings {
                let name = &function.variables[binding.variable].name;
                let [value] = binding.values[..] else {
                    continue;
                };
                if binding.loc.site != ir::Site(0) || !name.starts_with('v') {
                    continue;
                }
                found.push(Shown {
                    function: function.name.to_string(),
                    name: name.to_string(),
                    entry: function.kind != ir::FunctionKind::Device,
                    fact: part.facts.at(value, binding.block).clone(),
                });
            }
        }
    }
    found
}

#[derive(Default, Debug)]
struct Tally {
    programs: u64,
    /// Variables shown in callees and in entries, and those of them that are called uniform over a warp.
    callees: [u64; 2],
    entries: [u64; 2],
    comparisons: u64,
}

/// Returns the observation that contradicts a fact.
fn contradiction(fact: &ValueFact, seen: &[(u32, Way, u32)], tally: &mut Tally) -> Option<String> {
    let setting = Setting {
        block: [GROUP, 1, 1],
        grid: [GROUPS, 1, 1],
        warp_size: WARP,
    };
    let coordinate = |lane: u32, coordinate: &Coordinate| {
        i64::from(match coordinate {
            Coordinate::Thread(0) => lane % GROUP,
            Coordinate::Group(0) => lane / GROUP,
            Coordinate::Lane => lane % WARP,
            Coordinate::Warp => lane % GROUP / WARP,
            _ => 0,
        })
    };
    let reading = form::read(&fact.form.to_string(), &setting)
        .filter(|r| !r.symbolic && !fact.form.is_empty() && fact.class <= Class::Affine);
    let mut first: FxHashMap<(u32, &Way), (u32, u32)> = FxHashMap::default();
    let mut affine: FxHashMap<(u32, &Way), (u32, i64)> = FxHashMap::default();
    for (lane, way, value) in seen {
        let group = match fact.uniform_at {
            None => None,
            Some(Scope::Quad) => Some(lane / 4),
            Some(Scope::Subgroup) => Some(lane / WARP),
            Some(Scope::Workgroup) => Some(lane / GROUP),
            Some(Scope::Dispatch) => Some(0),
        };
        if let Some(group) = group {
            let &mut (other, expected) = first.entry((group, way)).or_insert((*lane, *value));
            tally.comparisons += u64::from(other != *lane);
            if expected != *value {
                return Some(format!(
                    "lane {other} holds {expected} and lane {lane} {value}"
                ));
            }
        }
        let Some(reading) = &reading else { continue };
        let sum = reading.multiples.iter().fold(0i64, |sum, (list, factor)| {
            sum + list
                .iter()
                .fold(*factor, |product, at| product * coordinate(*lane, at))
        });
        let rest = i64::from(*value).wrapping_sub(sum) as u32;
        if !reading.open && rest != reading.constant as u32 {
            return Some(format!("lane {lane} holds {value}"));
        }
        let &mut (other, expected) = affine
            .entry((lane / WARP, way))
            .or_insert((*lane, i64::from(rest)));
        if expected != i64::from(rest) {
            return Some(format!(
                "lanes {other} and {lane} differ by more than the form"
            ));
        }
    }
    None
}

fn judge(text: &str, dialect: Dialect, seen: &Seen, tally: &mut Tally) -> Vec<String> {
    let path = match dialect {
        Dialect::Cuda => "/program.cu",
        Dialect::Hlsl => "/program.hlsl",
    };
    let (db, file) = open(text, path);
    let mut wrong = Vec::new();
    for shown in shown(&db, file) {
        let uniform = u64::from(shown.fact.uniform_at >= Some(Scope::Subgroup));
        let counts = match shown.entry {
            true => &mut tally.entries,
            false => &mut tally.callees,
        };
        counts[0] += 1;
        counts[1] += uniform;
        let Some(seen) = seen.values.get(&shown.name) else {
            continue;
        };
        if let Some(why) = contradiction(&shown.fact, seen, tally) {
            let fact = &shown.fact;
            wrong.push(format!(
                "`{}` in `{}` is {:?}, uniform at {:?}, `{}`: {why}",
                shown.name, shown.function, fact.class, fact.uniform_at, fact.form
            ));
        }
    }
    wrong
}

fn sweep(dialect: Dialect) -> (Tally, Vec<String>) {
    let first = setting("LOCKSTEP_SHOWN_SEED", 0);
    let count = setting("LOCKSTEP_SHOWN_PROGRAMS", PROGRAMS);
    let mut tally = Tally::default();
    let mut wrong = Vec::new();
    for seed in first..first + count {
        let program: Program = generate::program(seed, dialect);
        let Some(seen) = run::run(&program, 5 + seed as u32 % 7) else {
            continue;
        };
        tally.programs += 1;
        let text = program.text();
        let found = judge(&text, dialect, &seen, &mut tally);
        if !found.is_empty() {
            if wrong.len() < 5 {
                println!("{dialect:?} seed {seed}\n{text}\n{}\n", found.join("\n"));
            }
            wrong.push(format!("{dialect:?} seed {seed}: {}", found[0]));
        }
    }
    println!("{dialect:?}: {} wrong of {tally:?}", wrong.len());
    (tally, wrong)
}

/// Checks that claims are made at all: of the variables shown in callees this share is called uniform over a
/// warp.
fn claims_enough(tally: &Tally, percent: u64) {
    let [shown, uniform] = tally.callees;
    assert!(uniform * 100 >= shown * percent, "{uniform} of {shown}");
    assert!(tally.programs > 0 && tally.comparisons > 0);
}

#[test]
fn what_is_shown_of_cuda_functions_holds_in_all_calls() {
    let (tally, wrong) = sweep(Dialect::Cuda);
    assert!(
        wrong.is_empty(),
        "{}",
        wrong[..wrong.len().min(8)].join("\n")
    );
    claims_enough(&tally, 15);
}

#[test]
fn what_is_shown_of_shader_functions_holds_in_all_calls() {
    let (tally, wrong) = sweep(Dialect::Hlsl);
    assert!(
        wrong.is_empty(),
        "{}",
        wrong[..wrong.len().min(8)].join("\n")
    );
    claims_enough(&tally, 25);
}

/// The scope over which a variable is uniform where it is declared.
fn uniform_at(text: &str, path: &str, name: &str) -> Option<Scope> {
    let (db, file) = open(text, path);
    let found = shown(&db, file).into_iter().find(|it| it.name == name);
    found
        .unwrap_or_else(|| panic!("`{name}`: {text}"))
        .fact
        .uniform_at
}

const DISPATCH: Option<Scope> = Some(Scope::Dispatch);

#[test]
fn a_static_is_what_its_callers_left() {
    let shader = |stored: &str| {
        format!(
            "static uint g; static uint kept = 7; static const uint fixed = 3; cbuffer C {{ uint n; }};
            RWStructuredBuffer<uint> o;
            uint twice() {{ uint v1 = g * 2; uint v2 = kept + n; uint v3 = fixed + n; return v1 + v2 + v3; }}
            uint counted() {{ static uint calls = 0; calls += g; uint v4 = calls; return v4; }}
            [numthreads(64, 1, 1)] void main(uint tid : SV_GroupIndex, uint3 gid : SV_GroupID) {{
                g = {stored}; o[tid] = twice() + counted(); }}"
        )
    };
    for (stored, scope) in [
        ("n", DISPATCH),
        ("gid.x", Some(Scope::Workgroup)),
        ("tid", None),
    ] {
        let text = shader(stored);
        assert_eq!(uniform_at(&text, "/s.hlsl", "v1"), scope, "{stored}");
        assert_eq!(uniform_at(&text, "/s.hlsl", "v2"), DISPATCH, "{stored}");
        assert_eq!(uniform_at(&text, "/s.hlsl", "v3"), DISPATCH, "{stored}");
        assert_eq!(uniform_at(&text, "/s.hlsl", "v4"), scope, "{stored}");
        // Other files include a header, and may store anything.
        assert_eq!(uniform_at(&text, "/s.hlsli", "v1"), None, "{stored}");
    }
}

#[test]
fn memory_that_callers_wrote_without_a_barrier_is_theirs() {
    let kernel = |between: &str| {
        format!(
            "__device__ int g; __shared__ int s[64];
            __device__ int get() {{ int v1 = g; int v2 = s[3]; return v1 + v2; }}
            __global__ void k(int* o) {{ g = threadIdx.x; s[threadIdx.x] = o[threadIdx.x]; {between} o[threadIdx.x] = get(); }}"
        )
    };
    let (bare, closed) = (kernel(""), kernel("__syncthreads();"));
    assert_eq!(uniform_at(&bare, "/k.cu", "v1"), None);
    assert_eq!(uniform_at(&bare, "/k.cu", "v2"), None);
    assert_eq!(uniform_at(&closed, "/k.cu", "v1"), Some(Scope::Subgroup));
    assert_eq!(uniform_at(&closed, "/k.cu", "v2"), Some(Scope::Subgroup));
}

#[test]
fn large_objects_by_value_are_the_callers() {
    let text = "struct S { int a[200]; };
        __device__ int get(S s) { int v1 = s.a[3]; return v1; }
        __global__ void k(int* o, S p) { S s; for (int i = 0; i < 200; i++) s.a[i] = threadIdx.x; int v2 = p.a[3]; o[threadIdx.x] = get(s) + v2; }";
    assert_eq!(uniform_at(text, "/k.cu", "v1"), None);
    assert_eq!(uniform_at(text, "/k.cu", "v2"), DISPATCH);
    let text = "RWStructuredBuffer<uint> o; cbuffer C { uint n; };
        uint get(uint b[300]) { uint v1 = b[3]; return v1; }
        [numthreads(64, 1, 1)] void main(uint tid : SV_GroupIndex) { uint c[300];
            for (uint i = 0; i < 300; ++i) { c[i] = tid; } o[tid] = get(c); }";
    assert_eq!(uniform_at(text, "/s.hlsl", "v1"), None);
}

#[test]
fn a_parameter_that_is_written_by_element_holds_what_was_written() {
    let text = "struct S { uint a[2]; }; RWStructuredBuffer<uint> o; cbuffer C { uint n; };
        void put(inout uint x, uint y) { x = y; }
        uint get(S s, uint y) { s.a[n & 1] = y; uint v1 = s.a[(n + 1) & 1]; return v1; }
        uint through(S s, uint y) { put(s.a[n & 1], y); uint v2 = s.a[(n + 1) & 1]; return v2; }
        [numthreads(64, 1, 1)] void main(uint tid : SV_GroupIndex) { S s; s.a[0] = 3; s.a[1] = 4;
            o[tid] = get(s, tid) + through(s, tid); }";
    assert_eq!(uniform_at(text, "/s.hlsl", "v1"), None);
    assert_eq!(uniform_at(text, "/s.hlsl", "v2"), None);
}

#[test]
fn functions_that_others_may_call_are_not_judged_by_the_calls_in_sight() {
    let called = |before: &str, more: &str| {
        format!(
            "{before} __device__ int f(int x) {{ int v1 = x + 1; return v1; }}
            __global__ void k(int* o) {{ o[threadIdx.x] = f(3); }} {more}"
        )
    };
    let plain = called("", "");
    assert_eq!(uniform_at(&plain, "/k.cu", "v1"), DISPATCH);
    assert_eq!(uniform_at(&plain, "/k.cuh", "v1"), None);
    let uncalled = called("", "__device__ int h(int y) { return f(y); }");
    assert_eq!(uniform_at(&uncalled, "/k.cu", "v1"), None);
    let same = called("", "__device__ int h() { return f(4); }");
    assert_eq!(uniform_at(&same, "/k.cu", "v1"), DISPATCH);
    let kept = called(
        "typedef int (*F)(int);",
        "__global__ void l(int* o, int n) { F p = n ? f : 0; o[threadIdx.x] = p(threadIdx.x); }",
    );
    assert_eq!(uniform_at(&kept, "/k.cu", "v1"), None);
    let table = called(
        "typedef int (*F)(int); __device__ int f(int); __device__ F table[] = {f, nullptr};",
        "__global__ void l(int* o, int n) { o[threadIdx.x] = table[n](threadIdx.x); }",
    );
    assert_eq!(uniform_at(&table, "/k.cu", "v1"), None);
    let recursive =
        "__device__ int f(int x) { int v1 = x + 1; return x < 9 ? f(threadIdx.x) : v1; }
        __global__ void k(int* o) { o[threadIdx.x] = f(3); }";
    assert_eq!(uniform_at(recursive, "/k.cu", "v1"), None);
    let exported =
        "RWStructuredBuffer<uint> o; export uint f(uint x) { uint v1 = x + 1; return v1; }
        [numthreads(64, 1, 1)] void main(uint tid : SV_GroupIndex) { o[tid] = f(3); }";
    assert_eq!(uniform_at(exported, "/s.hlsl", "v1"), None);
}

#[test]
fn a_chosen_function_is_not_one_of_two() {
    let chosen = |how: &str| {
        format!(
            "typedef int (*F)(int); struct S {{ F f; int n; }};
            __device__ int f1(int x) {{ return x + 1; }} __device__ int f2(int x) {{ return x * 7; }}
            __device__ int pass(F f) {{ return f(3); }} __device__ void put(F& f) {{ f = f2; }}
            __device__ int swap(F f, int c) {{ if (c) f = f2; return f(3); }}
            __device__ auto either(int c) {{ if (c) return f1; return f2; }}
            __global__ void k(int* o) {{ int odd = threadIdx.x & 1; {how} o[threadIdx.x] = v1; }}"
        )
    };
    let different = [
        "F f = odd ? f1 : f2; int v1 = f(3);",
        "F f = odd ? &f1 : &f2; int v1 = (*f)(3);",
        "int v1 = (odd ? f1 : f2)(3);",
        "int v1 = pass(odd ? f1 : f2);",
        "F f = odd ? f1 : f2; int v1 = pass(f);",
        "F f = f1; if (odd) f = f2; int v1 = f(3);",
        "auto f = f1; if (odd) f = f2; int v1 = f(3);",
        "F f = f1; if (odd) put(f); int v1 = f(3);",
        "F f = f1; F* p = &f; if (odd) *p = f2; int v1 = f(3);",
        "F t[2] = {f1, f2}; int v1 = t[odd](3);",
        "S s; s.f = f1; if (odd) s.f = f2; int v1 = s.f(3);",
        "S s = {odd ? f1 : f2, 1}; int v1 = pass(s.f);",
        "int v1 = swap(f1, odd);",
        "int v1 = either(odd)(3);",
        "F f = f1; if (odd) f = f2; bool v1 = f == f1;",
        "F f = odd ? [](int x) { return x; } : f1; int v1 = f(3);",
    ];
    for how in different {
        assert_eq!(uniform_at(&chosen(how), "/k.cu", "v1"), None, "{how}");
    }
    // One that is known is the function.
    for how in [
        "F f = f1; int v1 = f(3);",
        "int v1 = pass(f1);",
        "int v1 = (true ? f1 : f2)(3);",
        "F f = odd ? f1 : f1; int v1 = f(3);",
    ] {
        assert_eq!(uniform_at(&chosen(how), "/k.cu", "v1"), DISPATCH, "{how}");
    }
}
