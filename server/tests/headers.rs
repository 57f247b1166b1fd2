//! Files with the headers of other people: a toolkit that defines the language's words as attributes,
//! libraries behind deep chains of includes, names of includes that differ in case, folders.

#[path = "support/command.rs"]
mod command;

use command::{Place, json, lockstep, text};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Writes headers as a toolkit has them: words are attributes, types are structures, intrinsics end in the
/// compiler's own functions.
fn toolkit(place: &Place) {
    place.file(
        "toolkit/crt/host_defines.h",
        "#define __annotate__(a) __attribute__((a))\n#define __location__(a) __annotate__(a)\n\
         #define __global__ __location__(global)\n#define __device__ __location__(device)\n\
         #define __shared__ __location__(__shared__)\n#define __host__ __location__(host)\n\
         #define __launch_bounds__(...) __annotate__(launch_bounds(__VA_ARGS__))\n",
    );
    place.file(
        "toolkit/cuda_runtime.h",
        "#include \"crt/host_defines.h\"\nstruct float4 { float x, y, z, w; };\n\
         __device__ float __shfl_xor_sync(unsigned m, float v, int l, int w = 32) { return __nv_own(m, v, l, w); }\n\
         __global__ void of_the_toolkit() { }\n",
    );
    place.file(
        "toolkit/cccl/cub/sum.cuh",
        "#include <cuda_runtime.h>\n#if __has_include(<cuda_runtime.h>)\nnamespace cub { template <typename T> __device__ T twice(T v) { return v + v; }\n\
         __global__ void of_the_library(int *p) { *p = 0; } }\n#endif\n",
    );
}

const KERNELS: &str = "#include <cuda_runtime.h>\n#include \"own.h\"\n\
    template <int N> __global__ void __launch_bounds__(N) sum(float *out, const float4 *in) {\n\
    __shared__ float part[32];\n  float4 v = in[threadIdx.x];\n  float s = v.x + v.y;\n\
    s += __shfl_xor_sync(0xffffffffu, s, 16);\n  part[threadIdx.x % 32] = s;\n  __syncthreads();\n\
    out[threadIdx.x] = part[0] + own(s);\n}\n\
    static __global__ void plain(int *p) { p[threadIdx.x] = 1; }\n";

fn kernels(report: &Value) -> Vec<(String, usize)> {
    let items = report["items"].as_array().cloned().unwrap_or_default();
    let of = |item: &Value| {
        let problems = item["problems"].as_array().cloned().unwrap_or_default();
        let serious = problems.iter().filter(|p| p["kind"] != "note").count();
        (item["name"].as_str().unwrap_or("").to_owned(), serious)
    };
    let kernel = |item: &&Value| item["kind"] == "kernel";
    items.iter().filter(kernel).map(of).collect()
}

#[test]
fn with_the_headers_of_a_toolkit_no_kernel_vanishes_and_none_is_understood_less() {
    let place = Place::new("headers-toolkit");
    toolkit(&place);
    place.file(
        "own.h",
        "#pragma once\n__device__ inline float own(float x) { return x * 2; }\n",
    );
    let file = place.file("sum.cu", KERNELS);
    let directory = place.path("toolkit");
    let report = |arguments: &[&str]| {
        let mut all = vec!["analyze", &file, "--format", "json", "--no-config"];
        all.extend(arguments);
        json(&lockstep(&all))
    };
    let (without, with) = (report(&[]), report(&["-I", &directory]));
    let both = [("sum".to_owned(), 0), ("plain".to_owned(), 0)];
    assert_eq!(kernels(&without), both);
    assert_eq!(kernels(&with), both);
    assert_eq!(with["items"], without["items"]);
    assert_eq!(with["problems"], Value::Array(Vec::new()));
}

#[test]
fn a_toolkit_without_its_compilers_part_is_one() {
    let place = Place::new("headers-parts");
    place.file("toolkit/cuda_runtime.h", "#include \"vector_types.h\"\n");
    place.file(
        "toolkit/cuda_runtime_api.h",
        "#include \"crt/host_defines.h\"\n",
    );
    place.file(
        "toolkit/vector_types.h",
        "#include \"crt/host_defines.h\"\n\
         struct __device_builtin__ __builtin_align__(16) uint4 { unsigned int x, y, z, w; };\n\
         typedef __device_builtin__ struct uint4 uint4;\n",
    );
    let file = place.file(
        "copy.cu",
        "#include <cuda_runtime.h>\n__global__ void copy(uint4 *out, const uint4 *in) {\n\
         uint4 v = in[threadIdx.x];\n  v.x += v.y;\n  out[threadIdx.x] = v;\n}\n",
    );
    let directory = place.path("toolkit");
    let report = json(&lockstep(&[
        "analyze",
        &file,
        "--format",
        "json",
        "--no-config",
        "-I",
        &directory,
    ]));
    assert_eq!(kernels(&report), [("copy".to_owned(), 0)], "{report}");
}

#[test]
fn words_that_a_header_of_the_project_defines_as_attributes_are_the_words() {
    let place = Place::new("headers-words");
    for spelling in ["global", "__global__"] {
        place.file(
            "inputs/words.h",
            format!(
                "#define __global__ __attribute__(({spelling}))\n#define __shared__ __attribute__((shared))\n\
                 #define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))\n"
            ),
        );
        let kernel = "#include <words.h>\n__global__ void __launch_bounds__(64) k(int *p) {\n  __shared__ int s[64];\n\
                      s[threadIdx.x] = p[threadIdx.x];\n  __syncthreads();\n  p[threadIdx.x] = s[63 - threadIdx.x];\n}\n";
        let file = place.file("k.cu", kernel);
        let directory = place.path("inputs");
        let report = json(&lockstep(&[
            "analyze", &file, "-I", &directory, "--format", "json",
        ]));
        assert_eq!(kernels(&report), [("k".to_owned(), 0)], "{spelling}");
        let accesses = report["items"][0]["accesses"].to_string();
        assert!(accesses.contains("\"shared\""), "{spelling}: {accesses}");
        assert_eq!(report["items"][0]["costs"]["occupancy"]["threads"], 64);
    }
}

#[test]
fn libraries_of_a_toolkit_are_read_and_their_kernels_are_no_kernels_of_the_file() {
    let place = Place::new("headers-library");
    toolkit(&place);
    let file = place.file(
        "k.cu",
        "#include <cub/sum.cuh>\n__global__ void k(int *p) { p[threadIdx.x] = cub::twice(threadIdx.x); }\n",
    );
    let (root, library) = (place.path("toolkit"), place.path("toolkit/cccl"));
    let report = json(&lockstep(&[
        "analyze", &file, "-I", &root, "-I", &library, "--format", "json",
    ]));
    assert_eq!(kernels(&report), [("k".to_owned(), 0)]);
    assert!(report["items"][0].to_string().contains("p"), "{report}");
}

#[test]
fn shaders_find_what_differs_in_case_and_in_separators() {
    let place = Place::new("headers-case");
    place.file(
        "Shared/Common.hlsli",
        "float twice(float x) { return 2 * x; }\n",
    );
    let file = place.file(
        "main.hlsl",
        "#include \"SHARED\\common.HLSLI\"\nRWStructuredBuffer<float> o;\n[numthreads(64, 1, 1)]\n\
         void main(uint3 t : SV_DispatchThreadID) { o[t.x] = twice(t.x); }\n",
    );
    let shown = text(&lockstep(&["check", &file, "--notes"]));
    assert!(shown.contains("0 remarks\n"), "{shown}");
    // A file of CUDA is written for systems that tell them apart.
    let other = place.file("main.cu", "#include \"shared/common.hlsli\"\n");
    let shown = text(&lockstep(&["check", &other, "--notes"]));
    assert!(shown.contains("was not found"), "{shown}");
}

#[test]
fn a_mesh_shader_that_is_named_by_an_option_has_payload_and_indices() {
    let place = Place::new("headers-mesh");
    let file = place.file(
        "mesh.hlsl",
        "struct V { float4 at : SV_Position; };\nstruct P { uint id[32]; };\n\
         void ms(uint t : SV_GroupIndex, in payload P p, out vertices V v[64], out indices uint3 tri[126]) {\n\
         SetMeshOutputCounts(64, 126);\n  v[t].at = float4(p.id[t], 0, 0, 1);\n  tri[t] = uint3(t, t + 1, t + 2);\n}\n",
    );
    let report = json(&lockstep(&[
        "analyze", &file, "--entry", "ms=mesh", "--format", "json",
    ]));
    let item = &report["items"][0];
    assert_eq!(item["kind"], "mesh", "{report}");
    assert_eq!(item["problems"], Value::Array(Vec::new()));
    let value = |name: &str| {
        let values = item["values"].as_array().cloned().unwrap_or_default();
        values
            .into_iter()
            .find(|v| v["name"] == name)
            .unwrap_or_default()
    };
    assert_eq!(value("t")["class"], "affine");
}

#[test]
fn the_variable_of_a_loop_of_hlsl_is_known_behind_it() {
    let place = Place::new("headers-loop");
    let file = place.file(
        "main.hlsl",
        "RWStructuredBuffer<int> o;\n[numthreads(64, 1, 1)]\nvoid main(uint3 t : SV_DispatchThreadID) {\n\
         int s = 0;\n  for (int i = 0; i < 4; i++) s += i;\n  for (i = 0; i < 8; i++) s += i;\n\
         for (int i = 0; i < 2; i++) s += i;\n  o[t.x] = s + i;\n}\n",
    );
    let report = json(&lockstep(&["analyze", &file, "--format", "json"]));
    assert_eq!(report["items"][0]["problems"], Value::Array(Vec::new()));
    let ran = text(&lockstep(&[
        "run", &file, "--item", "main", "--lanes", "2", "--arg", "o=i32[2]",
    ]));
    assert!(ran.contains("37 37"), "{ran}");
}

#[test]
fn what_instantiates_the_function_around_a_launch_comes_before_a_guess() {
    let place = Place::new("headers-instances");
    let kernel = "template <typename T> __global__ void k(T *p) { p[2 * threadIdx.x] = p[0]; }\n";
    let launches = "template <typename U, int N> void run(U *p) { k<U><<<1, 64>>>(p); }\n\
                    template <typename V> void around(V *p) { run<V, 4>(p); }\n";
    let stride = |name: &str, text: &str| {
        let file = place.file(name, text);
        let report = json(&lockstep(&["analyze", &file, "--format", "json"]));
        let kernel = report["items"]
            .as_array()
            .and_then(|items| items.iter().find(|item| item["kind"] == "kernel").cloned());
        let kernel = kernel.unwrap_or_default();
        for kind in ["accesses", "branches", "loops"] {
            for row in kernel[kind].as_array().into_iter().flatten() {
                assert_eq!(row["assumed"], true, "{name}: {row}");
            }
        }
        assert_ne!(kernel["assumptions"], Value::Array(Vec::new()), "{name}");
        let accesses = kernel["accesses"].as_array().cloned().unwrap_or_default();
        let store = accesses.into_iter().find(|row| row["kind"] == "store");
        store.unwrap_or_default()["stride_bytes"].clone()
    };
    let told =
        format!("{kernel}{launches}template void run<unsigned short, 4>(unsigned short *);\n");
    assert_eq!(stride("told.cu", &told), 4);
    let plain = format!("{kernel}template __global__ void k<double>(double *);\n");
    assert_eq!(stride("plain.cu", &plain), 16);
    // Nothing tells: a guess, and each row says so.
    assert_eq!(stride("guess.cu", &format!("{kernel}{launches}")), 8);
    let two = format!("{told}template void run<double, 4>(double *);\n");
    assert_eq!(stride("two.cu", &two), 4);
}

/// Functions each of which calls two of the twenty before it.
fn calls_of_calls(count: usize) -> String {
    let mut out = String::new();
    for number in 0..count {
        let line = |k: usize| number.saturating_sub(1 + (number * 7 + k * 5) % 20);
        let body = match number {
            0 => "x".to_owned(),
            _ => format!("f{}(x + 1) + f{}(x + 2)", line(1), line(2)),
        };
        out.push_str(&format!(
            "__device__ int f{number}(int x) {{ if (x > {number}) x = x * 3; return {body}; }}\n"
        ));
    }
    out.push_str(&format!(
        "__global__ void k(int *p) {{ p[threadIdx.x] = f{}(threadIdx.x); }}\n",
        count - 1
    ));
    out
}

#[test]
fn a_folder_is_printed_as_it_is_checked_in_the_order_of_its_files() {
    let place = Place::new("headers-folder");
    toolkit(&place);
    let strided = "#include <cub/sum.cuh>\n__global__ void k(float *o, const float *i) { o[threadIdx.x] = cub::twice(i[8 * threadIdx.x]); }\n";
    place.file("all/a.cu", strided);
    place.file("all/b.cu", calls_of_calls(200));
    for number in 0..6 {
        place.file(&format!("all/c{number}.cu"), strided);
    }
    let (root, library) = (place.path("toolkit"), place.path("toolkit/cccl"));
    let folder = place.path("all");
    let includes = ["-I", root.as_str(), "-I", library.as_str()];
    let mut child = Command::new(env!("CARGO_BIN_EXE_lockstep"))
        .args(["check", &folder])
        .args(includes)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let first = lines.next().and_then(Result::ok).unwrap_or_default();
    assert!(first.contains("a.cu:2"), "{first}");
    let running = child.try_wait().expect("the state is known").is_none();
    assert!(
        running,
        "the first file is printed before the last is checked"
    );
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert!(child.wait().expect("it ends").success());
    let all = format!("{first}\n{}\n", rest.join("\n"));
    // Each file alone says the same.
    let mut alone = String::new();
    for name in ["a", "b", "c0", "c1", "c2", "c3", "c4", "c5"] {
        let file = format!("{folder}/{name}.cu");
        let mut arguments = vec!["check", &file];
        arguments.extend(includes);
        let shown = text(&lockstep(&arguments));
        let own = shown.lines().filter(|line| !line.contains(" remark"));
        own.for_each(|line| alone.push_str(&format!("{line}\n")));
    }
    let together: String = all
        .lines()
        .filter(|line| !line.contains(" remark"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(together, alone);
    assert!(all.contains("8 files:"), "{all}");
}

#[test]
fn kernels_behind_a_condition_that_is_false_say_what_shows_them() {
    let place = Place::new("headers-hidden");
    let notes = |text: &str| -> Vec<(u64, String)> {
        let file = place.file("k.cu", text);
        let report = json(&lockstep(&["analyze", &file, "--format", "json"]));
        let problems = report["problems"].as_array().cloned().unwrap_or_default();
        let note = |value: &Value| {
            let message = value["message"].as_str().unwrap_or("").to_owned();
            (value["line"].as_u64().unwrap_or(0), message)
        };
        problems.iter().map(note).collect()
    };
    let kernel = "template <int N>\n__global__ void __launch_bounds__(N) k(int *p) { *p = N; }\n";
    let shows = "shows it";
    let cases = [
        (
            format!("#ifdef USE_CUDA\n{kernel}#endif\n"),
            "`#ifdef USE_CUDA`: `-D USE_CUDA`",
            shows,
        ),
        (
            format!("#if defined(A)\n{kernel}__global__ void l() {{ }}\n#endif\n"),
            "`k` and another stand behind `#if defined(A)`: `-D A`",
            shows,
        ),
        (
            format!("#if VERSION >= 3\n{kernel}#endif\n"),
            "`#if VERSION >= 3`, which is false here: a value of `VERSION`",
            "may show it",
        ),
        (
            format!("#ifdef __CUDACC__\nint x;\n#else\n{kernel}#endif\n"),
            "the `#else` of `#ifdef __CUDACC__`",
            "true here",
        ),
    ];
    for (text, first, second) in cases {
        let told = notes(&text);
        assert_eq!(told.len(), 1, "{text}: {told:?}");
        assert!(
            told[0].1.contains(first) && told[0].1.contains(second),
            "{told:?}"
        );
    }
    // It has another form, is only declared, or is a macro's name.
    for text in [
        format!("#ifdef A\n{kernel}#else\n{kernel}#endif\n"),
        "#ifdef A\n__global__ void k(int *p);\n#endif\n".to_owned(),
        "#ifndef __CUDACC__\n#define __global__\nvoid f() { }\n#endif\n".to_owned(),
    ] {
        assert_eq!(notes(&text), [], "{text}");
    }
}

/// A project with a kernel whose body only the unit that includes it makes sense of.
fn fragments(place: &Place) {
    place.file("lockstep.toml", "");
    place.file(
        "src/main.cu",
        "#define WIDTH 32\ntypedef float real;\n#include \"parts/row.cuh\"\n\
         int main() { rows<4><<<8, WIDTH>>>(nullptr); }\n",
    );
    place.file(
        "src/parts/row.cuh",
        "template <int N> __global__ void rows(real *out) {\n\
         \x20 int first = threadIdx.x / WIDTH;\n  out[first + N] = N;\n}\n#include \"body.inl\"\n",
    );
    place.file(
        "src/parts/body.inl",
        "__global__ void body(real *out) { out[threadIdx.x * WIDTH] = 1; }\n",
    );
}

#[test]
fn a_header_is_seen_through_what_includes_it() {
    let place = Place::new("headers-through");
    fragments(&place);
    let report = |name: &str, options: &[&str]| {
        let file = place.path(name);
        json(&lockstep(
            &[&["analyze", &file, "--format", "json"], options].concat(),
        ))
    };
    let messages = |report: &Value| -> Vec<String> {
        let all = report["problems"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value["message"].as_str().unwrap_or("").to_owned();
        all.iter().map(text).collect()
    };
    let seen = report("src/parts/row.cuh", &[]);
    assert_eq!(kernels(&seen), [("rows".to_owned(), 0)]);
    // The launch in the other file tells the shape of the block: one row each.
    let first = &seen["items"][0]["values"].as_array().expect("values")[1];
    assert_eq!(first["name"], "first", "{seen}");
    assert_eq!(first["class"], "uniform", "{seen}");
    assert_eq!(first["line"], 2);
    let said = "this file is seen through `main.cu`, which includes it";
    assert_eq!(messages(&seen), [said]);
    // Through a header between them.
    let inner = report("src/parts/body.inl", &[]);
    assert_eq!(kernels(&inner), [("body".to_owned(), 0)]);
    assert_eq!(messages(&inner), [said]);
    // The unit itself does not list it.
    assert_eq!(kernels(&report("src/main.cu", &[])), []);
    let alone = report("src/parts/body.inl", &["--alone"]);
    assert_ne!(kernels(&alone), [("body".to_owned(), 0)]);
    assert_eq!(messages(&alone), Vec::<String>::new());
    // What is chosen comes first, and what does not include it is no way to see it.
    place.file(
        "src/other.cu",
        "#define WIDTH 1\ntypedef double real;\n#include \"parts/body.inl\"\n",
    );
    for (chosen, says) in [("src/main.cu", "main.cu"), ("src/nothing.cu", "other.cu")] {
        let line = format!("[seen_through]\n\"body.inl\" = \"{chosen}\"\n");
        place.file("lockstep.toml", &line);
        let through = report("src/parts/body.inl", &[]);
        let told = format!("this file is seen through `{says}`, which includes it");
        assert_eq!(messages(&through), [told]);
    }
}

#[test]
fn what_is_found_in_a_header_is_told_there_and_once() {
    let place = Place::new("headers-through-check");
    fragments(&place);
    let folder = place.path("src");
    let found = json(&lockstep(&["check", &folder, "--format", "json"]));
    let mut strided = Vec::new();
    for file in found["files"].as_array().expect("files") {
        for each in file["diagnostics"].as_array().expect("diagnostics") {
            if each["code"] == "uncoalesced-access" {
                strided.push((file["file"].as_str().unwrap_or(""), &each["line"]));
            }
        }
    }
    let [(path, line)] = strided.as_slice() else {
        panic!("{found}");
    };
    assert!(path.ends_with("body.inl"), "{found}");
    assert_eq!(**line, 1);
}

#[test]
fn members_of_an_unnamed_union_are_names_of_its_block() {
    let place = Place::new("headers-union");
    let file = place.file(
        "union.cu",
        "template <typename T> __device__ T load(const T *p) {\n  if (alignof(T) == 8) {\n\
         \x20   union { unsigned long long part[sizeof(T) / 8]; T all; };\n\
         \x20   for (int i = 0; i < (int)sizeof(T) / 8; i++) part[i] = ((const unsigned long long *)p)[i];\n    return all;\n  }\n\
         \x20 union { unsigned part[sizeof(T) / 4]; T all; };\n\
         \x20 for (int i = 0; i < (int)sizeof(T) / 4; i++) part[i] = ((const unsigned *)p)[i] + 1;\n  return all;\n}\n\
         __global__ void k(unsigned *p, const unsigned *a, const unsigned long long *b) {\n\
         \x20 union { unsigned half[2]; unsigned long long both; };\n\
         \x20 both = load(b + threadIdx.x);\n  half[1] += load(a + threadIdx.x);\n\
         \x20 p[threadIdx.x] = half[1] + (unsigned)both;\n}\n",
    );
    let report = json(&lockstep(&["analyze", &file, "--format", "json"]));
    assert_eq!(kernels(&report), [("k".to_owned(), 0)], "{report}");
    let ran = text(&lockstep(&[
        "run",
        &file,
        "--item",
        "k",
        "--lanes",
        "2",
        "--arg",
        "p=i32[2]",
        "--arg",
        "a=i32:5,6",
        "--arg",
        "b=i32:7,20,9,40",
    ]));
    // half[1] of b, one more than a, and half[0].
    assert!(ran.contains("33 56"), "{ran}");
}

#[test]
fn a_file_that_shows_nothing_says_why() {
    let place = Place::new("headers-nothing");
    let cases = [
        ("empty.cu", "// a comment\n", "the file is empty"),
        (
            "macros.cuh",
            "#pragma once\n#define A 1\n#include <cuda.h>\n",
            "directives alone",
        ),
        (
            "off.cu",
            "#include <cuda.h>\n#ifdef USE_GPU\n__device__ int f(int x) { return x; }\n#endif\n",
            "`#ifdef USE_GPU`: `-D USE_GPU`",
        ),
        (
            "types.h",
            "struct S { int x; };\nvoid f(int);\nextern int a;\n",
            "no function with a body",
        ),
        (
            "host.cu",
            "static int f(int x) { return x + 1; }\n",
            "run on the host",
        ),
        ("macros.hlsli", "#define A 1\n", "directives alone"),
        (
            "types.hlsli",
            "struct S { float x; };\ncbuffer C { float4 a; };\n",
            "no function with a body",
        ),
    ];
    for (name, text_of, reason) in cases {
        let file = place.file(name, text_of);
        let report = json(&lockstep(&["analyze", &file, "--format", "json"]));
        let told = report["diagnostics"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let messages: Vec<&str> = told
            .iter()
            .filter_map(|it| it["message"].as_str())
            .collect();
        assert_eq!(messages.len(), 1, "{name}: {messages:?}");
        assert!(
            messages[0].starts_with("nothing to show: "),
            "{name}: {messages:?}"
        );
        assert!(messages[0].contains(reason), "{name}: {messages:?}");
        // Nobody is bothered with it where files are checked.
        let checked = text(&lockstep(&["check", &file]));
        assert!(!checked.contains("nothing to show"), "{checked}");
    }
    let file = place.file("some.cu", "__device__ int f(int x) { return x; }\n");
    let report = json(&lockstep(&["analyze", &file, "--format", "json"]));
    assert_eq!(report["diagnostics"], Value::Array(Vec::new()), "{report}");
}
