//! The output of `run`, `profile` and `check` in the author's own terms: numbers by the types of buffers,
//! buffers and elements by name, parameters by theirs.

#[path = "support/command.rs"]
mod command;

use command::{Place, errors, lockstep, text};

const SHADER: &str = r"struct Particle { float3 position; uint id; };
RWStructuredBuffer<float4> colours;
RWStructuredBuffer<Particle> particles;
RWStructuredBuffer<uint> counts;
[numthreads(32, 1, 1)]
void main(uint3 gtid : SV_GroupThreadID, uint3 id : SV_DispatchThreadID, uint index : SV_GroupIndex) {
    colours[id.x] = float4(0.5, 1.5, 2.5, 3.5);
    particles[id.x].position = float3(0.25, 1.25, 2.25);
    particles[id.x].id = gtid.x;
    counts[id.x] = 7;
}
";

#[test]
fn buffers_are_printed_by_what_lies_in_them() {
    let place = Place::new("printed");
    let shader = place.file("particles.hlsl", SHADER);
    let out = text(&lockstep(&["run", &shader, "--item", "main"]));
    assert!(out.contains("0.5 1.5 2.5 3.5 0.5 1.5"), "{out}");
    assert!(
        out.contains("0.25 1.25 2.25 0 0.25 1.25 2.25 1 0.25 1.25 2.25 2 "),
        "{out}"
    );
    assert!(out.contains("7 7 7 7"), "{out}");
    let cuda = place.file(
        "pairs.cu",
        "struct Pair { float a; int b; };\n__global__ void k(Pair* p, float* x) { p[threadIdx.x].a = 2.5f; p[threadIdx.x].b = 7; x[threadIdx.x] = 0.5f; }\n",
    );
    let out = text(&lockstep(&["run", &cuda, "--item", "k"]));
    assert!(out.contains("2.5 7 2.5 7"), "{out}");
    assert!(out.contains("0.5 0.5 0.5"), "{out}");
}

#[test]
fn an_access_beyond_a_buffer_names_it_and_the_key_to_change() {
    let place = Place::new("beyond");
    let file = place.file(
        "shift.cu",
        "__global__ void shift(float* out, const float* in) { int i = blockIdx.x * blockDim.x + threadIdx.x; out[i] = in[i + 64]; }\n",
    );
    let short = "[launch]\nthreads = [256]\nblock = [256]\n[buffers.out]\ncount = 256\n[buffers.in]\ncount = 256\n";
    let inputs = place.file("short.toml", short);
    let target = place.path("out.json");
    let failed = lockstep(&["profile", &file, "--inputs", &inputs, "-o", &target]);
    assert_eq!(failed.status.code(), Some(2));
    let said = errors(&failed);
    for part in [
        "`in[256]` is read",
        "has 256 elements of type f32",
        "set `count` of [buffers.in] in the inputs to 257 or more",
        "shift.cu:1:",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let none = place.file(
        "none.toml",
        "[launch]\nthreads = [65536]\nblock = [256]\n[buffers.in]\ncount = 70000\n",
    );
    let said = errors(&lockstep(&[
        "profile", &file, "--inputs", &none, "-o", &target,
    ]));
    assert!(said.contains("`out["), "{said}");
    assert!(
        said.contains("describe it in the inputs as [buffers.out]"),
        "{said}"
    );
}

#[test]
fn described_buffers_are_long_enough_for_the_described_grid() {
    let place = Place::new("long");
    let shader = place.file("particles.hlsl", SHADER);
    let cuda = place.file(
        "rows.cu",
        "__global__ void rows(float4* wide, const float* in, float* out, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; wide[i] = make_float4(1.f, 2.f, 3.f, 4.f); out[i] = in[4 * i + 3] + in[i + n]; }\n",
    );
    for (file, counts) in [
        (&shader, ["count = 16384", "type = \"u32\"\ncount = 4096"]),
        (
            &cuda,
            [
                "[buffers.in]\ntype = \"f32\"\ncount = 16384",
                "[buffers.wide]\ntype = \"f32\"\ncount = 16384",
            ],
        ),
    ] {
        let described = text(&lockstep(&["profile", file, "--describe"]));
        for count in counts {
            assert!(described.contains(count), "{count}: {described}");
        }
        let inputs = place.file("inputs.toml", &described);
        let target = place.path("out.json");
        let ran = lockstep(&["profile", file, "--inputs", &inputs, "-o", &target]);
        assert_eq!(ran.status.code(), Some(0), "{}", errors(&ran));
    }
}

#[test]
fn causes_name_the_parameter_that_the_author_wrote() {
    let place = Place::new("semantics");
    let body = |parameter: &str, index: &str| {
        format!(
            "RWStructuredBuffer<float4> far;\n[numthreads(64, 1, 1)]\nvoid main({parameter}) {{\n    far[{index} * 7] = 1;\n}}\n"
        )
    };
    for (parameter, index, wanted) in [
        (
            "uint3 gtid : SV_GroupThreadID",
            "gtid.x",
            "`gtid.x` (`SV_GroupThreadID.x`) differs between lanes",
        ),
        (
            "uint3 id : SV_DispatchThreadID",
            "id.x",
            "`id.x` differs between lanes",
        ),
        (
            "uint at : SV_GroupIndex",
            "at",
            "`at` differs between lanes",
        ),
    ] {
        let file = place.file("far.hlsl", body(parameter, index));
        let out = text(&lockstep(&["check", &file, "--no-config"]));
        assert!(out.contains(wanted), "{out}");
    }
}

#[test]
fn constants_of_unknown_value_are_no_dynamic_index() {
    let place = Place::new("constants");
    let told = |source: &str| {
        let file = place.file("arrays.cu", source);
        text(&lockstep(&["check", &file, "--no-config"])).contains("local-array-dynamic-index")
    };
    for source in [
        // The counter's type is not known, the bound is.
        "template <int R> __global__ void k(float* o) { float a[R];\n#pragma unroll\nfor (idx_t r = 0; r < R; ++r) a[r] = o[r];\n#pragma unroll\nfor (idx_t r = 0; r < R; ++r) o[r + 9] += a[r]; }\nvoid go() { k<8><<<1, 32>>>(0); }\n",
        // Left early, too.
        "template <int R> __global__ void k(float* o, int n) { float a[R][2];\n#pragma unroll\nfor (int i = 0; i < R; i++) { int c = threadIdx.x + 32 * i; if (c >= n) break; a[i][0] = o[c]; a[i][1] = o[c + 1]; o[c] = a[i][0] + a[i][1]; } }\n",
        "template <typename C> __global__ void k(float* o) { float a[C::size];\nfor (int i = 0; i < C::size; i++) a[i] = o[i];\na[C::width] = 3.f; o[0] = a[C::first]; }\n",
        "struct S { static constexpr int size = 4; enum { last = 3 }; };\n__global__ void k(float* o) { float a[S::size]; a[0] = o[0]; a[S::last] = o[1]; o[threadIdx.x] = a[S::size - 1]; }\n",
    ] {
        assert!(!told(source), "{source}");
    }
    for source in [
        "__global__ void k(float* o, int n) { float a[8]; for (int i = 0; i < n; i++) a[i] = o[i]; o[threadIdx.x] = a[n - 1]; }\n",
        "template <int R> __global__ void k(float* o, int n) { float a[R]; a[0] = o[0]; a[n] = o[1]; o[threadIdx.x] = a[threadIdx.x]; }\n",
        "__global__ void k(float* o) { float a[8]; for (int i = 0; i < o[9]; i++) a[i] = o[i]; o[threadIdx.x] = a[o[8] > 0.f ? 1 : 2]; }\n",
    ] {
        assert!(told(source), "{source}");
    }
}

#[test]
fn a_functor_of_an_unknown_type_is_not_called_missing() {
    let place = Place::new("functor");
    let file = place.file(
        "apply.cu",
        "template <typename F> __global__ void apply(float* x, F f) { x[threadIdx.x] = f(x[threadIdx.x]); }\n",
    );
    let out = text(&lockstep(&["check", &file, "--no-config", "--notes"]));
    assert!(!out.contains("in sight is understood"), "{out}");
    assert!(
        out.contains("`f` is called, and its type is a template parameter"),
        "{out}"
    );
}

#[test]
fn members_of_constant_buffers_and_elements_of_arrays_are_described_and_given() {
    let place = Place::new("described-members");
    let shader = place.file(
        "mixed.hlsl",
        "struct Params { uint count; float scale; float3 dir; };\nConstantBuffer<Params> params;\n\
         ConstantBuffer<Params> many[4];\nStructuredBuffer<float> ins[3];\nRWStructuredBuffer<float> o;\n\
         [numthreads(32, 1, 1)]\nvoid main(uint3 t : SV_DispatchThreadID) {\n\
         \x20 float guarded = 1;\n  if (t.x < params.count) guarded = params.scale;\n\
         \x20 float weight = many[2].scale * params.dir.y;\n  float sum = ins[1][t.x] + ins[2][t.x];\n\
         \x20 o[t.x] = guarded + weight * sum;\n}\n",
    );
    let described = text(&lockstep(&["profile", &shader, "--describe"]));
    for line in [
        "\"params.count\" = ",
        "\"params.scale\" = ",
        "\"params.dir\" = ",
        "\"many[2].scale\" = ",
        "[buffers.\"ins[1]\"]",
        "[buffers.\"ins[2]\"]",
        "[buffers.o]",
    ] {
        assert!(described.contains(line), "{line}: {described}");
    }
    // What is printed can be read.
    let inputs = place.file("all.toml", &described);
    let out = place.path("all.json");
    let run = lockstep(&["profile", &shader, "--inputs", &inputs, "-o", &out]);
    assert!(run.status.success(), "{}", errors(&run));
    // Values arrive where they are read.
    let inputs = place.file(
        "own.toml",
        "[launch]\nthreads = [32]\n[values]\n\"params.count\" = 32\n\"params.scale\" = 0.0\n\
         \"params.dir\" = [5.0, 0.0, 5.0]\n\"many[2].scale\" = 3.0\n\
         [buffers.\"ins[1]\"]\ncount = 32\nfill = \"constant\"\nvalue = 2\n\
         [buffers.\"ins[2]\"]\ncount = 32\nfill = \"constant\"\nvalue = -2\n",
    );
    let out = place.path("own.json");
    let run = lockstep(&["profile", &shader, "--inputs", &inputs, "-o", &out]);
    assert!(run.status.success(), "{}", errors(&run));
    let shown = text(&lockstep(&["profile", "show", &out]));
    for name in ["guarded", "weight", "sum"] {
        let line = shown.lines().find(|line| line.contains(name));
        assert!(
            line.is_some_and(|line| line.contains("100")),
            "{name}: {shown}"
        );
    }
    let wrong = place.file("wrong.toml", "[values]\n\"params.coun\" = 1\n");
    let run = lockstep(&["profile", &shader, "--inputs", &wrong]);
    assert!(errors(&run).contains("params.count"), "{}", errors(&run));
}
