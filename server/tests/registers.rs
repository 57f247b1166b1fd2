//! `lockstep registers`: the variables that fill the registers of a kernel at the peak, and the ways to do
//! without them.

#[path = "support/command.rs"]
mod command;

use command::{Place, errors, json, lockstep, text};
use serde_json::Value;

const KERNEL: &str = "__global__ void k(const float* __restrict__ a, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float base = out[0];
  float first = a[i];
  float sum = 0.0f;
  for (int j = 0; j < n; ++j) {
    float x = out[j * n + i];
    float y = out[j * n + i + 1];
    sum += x * y * (x + y);
  }
  out[i] = sum + base + first;
}
";

fn variable<'v>(kernel: &'v Value, name: &str) -> &'v Value {
    let all = kernel["peak"]["variables"].as_array().expect("a list");
    let found = all.iter().find(|it| it["name"] == name);
    found.unwrap_or_else(|| panic!("`{name}` in {all:#?}"))
}

#[test]
fn the_variables_of_the_peak_have_their_remedies() {
    let place = Place::new("registers");
    let file = place.file("k.cu", KERNEL);
    let report = json(&lockstep(&[
        "registers",
        &file,
        "--no-config",
        "--format",
        "json",
    ]));
    let kernel = &report["kernels"][0];
    assert_eq!(kernel["name"], "k");
    assert_eq!(kernel["label"], "estimate");
    let live = kernel["live"].as_u64().expect("a number");
    assert!(kernel["registers"].as_u64() > Some(live));
    let all = kernel["peak"]["variables"].as_array().expect("a list");
    let sum: u64 = all.iter().filter_map(|it| it["registers"].as_u64()).sum();
    assert_eq!(sum, live, "{all:#?}");
    let most = kernel["lines"].as_array().expect("lines");
    let most = most.iter().filter_map(|it| it["live"].as_u64()).max();
    assert_eq!(most, Some(live));
    // The sum of the loop is read again behind the peak; `base` is one number for all, `first` one that nobody writes.
    for (name, class, remedy) in [
        ("i", "affine", "recompute"),
        ("base", "uniform", "warp-slot"),
        ("first", "divergent", "reload"),
        ("j", "uniform", "warp-slot"),
    ] {
        let found = variable(kernel, name);
        assert_eq!(found["class"], class, "{name}");
        assert_eq!(found["remedy"], remedy, "{name}");
    }
    assert_eq!(variable(kernel, "base")["line"], 3);
    assert_eq!(variable(kernel, "base")["last_use"], 11);
}

/// The counter of the loop and the parameters are in scalar registers on a machine that has them; a uniform
/// product of floats is the vector unit's, and a broadcast takes it out of its file.
#[test]
fn scalar_registers_are_counted_apart() {
    let place = Place::new("files");
    place.file("lockstep.toml", "target = \"gfx1030\"\n");
    let file = place.file("k.cu", KERNEL.replace("out[0]", "out[0] * 0.25f"));
    let told = lockstep(&["registers", &file, "--format", "json"]);
    let report = json(&told);
    let kernel = &report["kernels"][0];
    assert!(kernel["scalar_registers"].as_u64() > Some(8), "{kernel:#}");
    let all = kernel["peak"]["variables"].as_array().expect("a list");
    assert!(
        all.iter().all(|variable| variable["name"] != "j"),
        "{all:#?}"
    );
    let base = variable(kernel, "base");
    assert_eq!(base["class"], "uniform");
    assert_eq!(base["remedy"], "scalar-register");
    let words = text(&lockstep(&["registers", &file]));
    assert!(words.contains(" vector registers (estimate; "), "{words}");
    assert!(
        words.contains(" scalar registers a warp (estimate)"),
        "{words}"
    );
}

/// A stage has no shared memory: a value that is the same in all lanes has a lane of a register.
#[test]
fn stages_keep_uniform_values_in_lanes() {
    let place = Place::new("stage");
    let source = "RWStructuredBuffer<float> state : register(u1);
float4 main(float4 position : SV_Position) : SV_Target {
  float scale = state[0];
  float sum = 0.0;
  for (uint i = 0; i < 8; ++i) {
    float x = position.x * i;
    float y = position.y + i;
    sum += x * y * (x + y) + x / (y + 2.0);
  }
  return float4(sum, sum * scale, scale, position.z);
}
";
    let file = place.file("p.hlsl", source);
    let report = json(&lockstep(&[
        "registers",
        &file,
        "--no-config",
        "--format",
        "json",
    ]));
    let scale = variable(&report["kernels"][0], "scale");
    assert_eq!(scale["remedy"], "register-lane", "{report:#}");
}

#[test]
fn a_budget_takes_the_cheapest() {
    let place = Place::new("budget");
    let file = place.file("k.cu", KERNEL);
    let all = json(&lockstep(&[
        "registers",
        &file,
        "--no-config",
        "--format",
        "json",
    ]));
    let registers = all["kernels"][0]["registers"].as_u64().expect("a number");
    let budget = (registers - 1).to_string();
    let of = |budget: &str| {
        lockstep(&[
            "registers",
            &file,
            "--no-config",
            "--budget",
            budget,
            "--format",
            "json",
        ])
    };
    let report = json(&of(&budget));
    let without = report["kernels"][0]["without"].as_array().expect("a list");
    assert_eq!(without.len(), 1);
    assert_eq!(without[0]["remedy"], "recompute");
    let report = json(&of("255"));
    assert!(report["kernels"][0]["without"].is_null());
    let told = text(&lockstep(&[
        "registers",
        &file,
        "--no-config",
        "--budget",
        &budget,
    ]));
    assert!(
        told.contains(&format!("1 over {budget} registers")),
        "{told}"
    );
}

#[test]
fn names_and_languages_that_have_none_are_refused() {
    let place = Place::new("no_registers");
    let file = place.file("k.cu", KERNEL);
    let told = errors(&lockstep(&[
        "registers",
        &file,
        "--no-config",
        "--item",
        "g",
    ]));
    assert!(told.contains('k'), "{told}");
    let c = place.file("a.c", "int f(int a) { return a; }\n");
    let told = errors(&lockstep(&["registers", &c, "--no-config"]));
    assert!(told.contains("kernels and shaders"), "{told}");
}

const PTX: &str = ".version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 n)
.maxntid 64, 1, 1
{
	.reg .pred %p<2>;
	.reg .b32 %r<20>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [out];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x;
	mad.lo.s32 %r3, %r2, 3, %r1;
	mad.lo.s32 %r4, %r2, 5, 7;
	mul.lo.s32 %r5, %r1, %r1;
	mov.u32 %r6, 11;
	mad.lo.s32 %r7, %r2, %r2, %r1;
	mov.u32 %r8, 0;
	mov.u32 %r9, 0;
$loop:
	add.s32 %r8, %r8, %r9;
	add.s32 %r9, %r9, 1;
	setp.lt.s32 %p1, %r9, %r1;
	@%p1 bra $loop;
	add.s32 %r8, %r8, %r3;
	mul.lo.s32 %r8, %r8, %r4;
	add.s32 %r8, %r8, %r5;
	mul.lo.s32 %r8, %r8, %r6;
	add.s32 %r8, %r8, %r7;
	mul.wide.u32 %rd2, %r2, 4;
	add.s64 %rd3, %rd1, %rd2;
	st.global.u32 [%rd3], %r8;
	ret;
}
";

/// Within 8 registers most of this waits elsewhere: by the paper's allocator a constant and a known multiple
/// of the thread's number are computed again, and a uniform value lies once per warp.
#[test]
fn allocators_find_homes_by_class() {
    let place = Place::new("allocators");
    let file = place.file("k.ptx", PTX);
    let spills = |allocator: &str| {
        let report = json(&lockstep(&[
            "registers",
            &file,
            "--no-config",
            "--budget",
            "8",
            "--allocator",
            allocator,
            "--format",
            "json",
        ]));
        let all = report["kernels"][0]["spills"]
            .as_array()
            .cloned()
            .expect("spills");
        let kinds: Vec<String> = all
            .iter()
            .map(|it| it["kind"].as_str().expect("a kind").to_owned())
            .collect();
        kinds
    };
    let linear = spills("linear");
    assert!(
        !linear.is_empty() && linear.iter().all(|kind| kind == "lane-slot"),
        "{linear:?}"
    );
    let uniform = spills("divra");
    assert!(
        uniform.iter().any(|kind| kind == "warp-slot"),
        "{uniform:?}"
    );
    assert!(
        !uniform.iter().any(|kind| kind == "recompute"),
        "{uniform:?}"
    );
    let affine = spills("affra");
    assert!(affine.iter().any(|kind| kind == "recompute"), "{affine:?}");
    assert!(affine.iter().any(|kind| kind == "constant"), "{affine:?}");
    let own = spills("lockstep");
    let lanes = |kinds: &[String]| kinds.iter().filter(|kind| *kind == "lane-slot").count();
    assert!(lanes(&own) < lanes(&affine), "{own:?} {affine:?}");
    let words = ["--budget", "8", "--allocator", "affra"];
    let code = text(&lockstep(
        &[&["code", &file, "--no-config"][..], &words].concat(),
    ));
    assert!(code.contains("__lockstep_slots"), "{code}");
    assert!(!code.contains("%r8"), "{code}");
    let code = text(&lockstep(&["code", &file, "--no-config", "--budget", "8"]));
    assert!(!code.contains("%r8"), "{code}");
    let cuda = place.file("k.cu", KERNEL);
    let told = errors(&lockstep(&["code", &cuda, "--no-config", "--budget", "8"]));
    assert!(told.contains("PTX"), "{told}");
}

const BOUNDED: &str = "__global__ void __launch_bounds__(1024, 2) bounded(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void __maxnreg__(40) declared(float* out) { out[threadIdx.x] = 1.0f; }
template <int T> __global__ void __launch_bounds__(T, 12 * 64 / T) scaled(float* out) { out[threadIdx.x] = 1.0f; }
template __global__ void scaled<256>(float*);
__global__ void free(float* out) { out[threadIdx.x] = 1.0f; }
";

/// The budget of a kernel is that of its bounds, of its declared number, or of the configuration, and says which.
#[test]
fn kernels_have_budgets_with_reasons() {
    let place = Place::new("budgets");
    place.file("lockstep.toml", "maxrregcount = 48\n");
    let file = place.file("k.cu", BOUNDED);
    let report = json(&lockstep(&["registers", &file, "--format", "json"]));
    let kernels = report["kernels"].as_array().expect("kernels");
    let of = |name: &str| {
        let kernel = kernels.iter().find(|kernel| kernel["name"] == name);
        let kernel = kernel.unwrap_or_else(|| panic!("{name} in {kernels:#?}"));
        (
            kernel["budget"].as_u64().expect("a number"),
            kernel["budget_from"].as_str().expect("a reason").to_owned(),
        )
    };
    assert_eq!(of("bounded"), (32, "workgroups".to_owned()));
    assert_eq!(of("declared"), (40, "declared".to_owned()));
    assert_eq!(of("scaled"), (80, "workgroups".to_owned()));
    assert_eq!(of("free"), (48, "maxrregcount".to_owned()));
    let told = text(&lockstep(&["registers", &file]));
    let reason = "budget 32 (2 workgroups of 1024 threads must fit)";
    assert!(told.contains(reason), "{told}");
    let told = text(&lockstep(&["code", &file, "--item", "bounded"]));
    assert!(told.contains(reason), "{told}");
    assert!(told.contains(".minnctapersm 2"), "{told}");
    let free = json(&lockstep(&[
        "registers",
        &file,
        "--no-config",
        "--item",
        "free",
        "--format",
        "json",
    ]));
    assert_eq!(free["kernels"][0]["budget"], 255);
    assert_eq!(free["kernels"][0]["budget_from"], "machine");
}

/// Groups of a shader must fit as they are declared, and directives of PTX bound as those of CUDA do.
#[test]
fn groups_and_directives_are_budgets() {
    let place = Place::new("groups");
    let shader = "RWStructuredBuffer<float> o;\n[numthreads(32, 32, 1)] void main(uint3 id : SV_DispatchThreadID) { o[id.x] = 1; }\n";
    let kernel = |directives: &str| PTX.replace(".maxntid 64, 1, 1", directives);
    for (file, budget, from) in [
        (place.file("s.hlsl", shader), 64, "workgroups"),
        (
            place.file("a.ptx", kernel(".reqntid 512")),
            128,
            "workgroups",
        ),
        (
            place.file("b.ptx", kernel(".maxntid 8, 16, 1\n.minnctapersm 9")),
            56,
            "workgroups",
        ),
        (
            place.file("c.ptx", kernel(".maxntid 1024\n.maxnreg 100")),
            100,
            "declared",
        ),
    ] {
        let report = json(&lockstep(&[
            "registers",
            &file,
            "--no-config",
            "--format",
            "json",
        ]));
        let kernel = &report["kernels"][0];
        assert_eq!(kernel["budget"], budget, "{file}");
        assert_eq!(kernel["budget_from"], from, "{file}");
    }
}
