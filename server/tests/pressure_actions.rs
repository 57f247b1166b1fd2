//! `lockstep actions` and `apply`: edits of CUDA and HLSL sources that leave fewer registers live at the
//! peak, the estimates for them, and the reasons why others are refused.

#[path = "support/command.rs"]
mod command;

use command::{Place, errors, json, lockstep, text};
use serde_json::Value;

/// A kernel with sixteen registers and more values than that.
const HOLD: &str = r#"__global__ void __maxnreg__(16) hold(float* out, const float* __restrict__ in, const float* table, int n, int row) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float first = in[i];
    float u = table[row], v = table[row + 1];
    float late = first * n; // only read behind the peak
    float changed = n * 2.0f;
    out[i + n] = first * u + changed;
    n += 1;
    float a = in[i + 1], b = in[i + 2], c = in[i + 3], d = in[i + 4];
    float e = in[i + 5], f = in[i + 6], g = in[i + 7], h = in[i + 8];
    float s = (a * b + c * d) * (e * f + g * h) + (a + c) * (e + g) - (b + d) * (f + h);
    if (s > 0.0f) {
        float first = s;
        out[i] = s * u + v - first + changed;
    }
    out[i + 1] = late + first;
}
"#;

/// The same, with a parameter that stays as it is.
const STILL: &str = r#"__global__ void __maxnreg__(16) hold(float* out, const float* __restrict__ in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float first = in[i];
    float late = first * n; // only read behind the peak
    float a = in[i + 1], b = in[i + 2], c = in[i + 3], d = in[i + 4];
    float e = in[i + 5], f = in[i + 6], g = in[i + 7], h = in[i + 8];
    float k = in[i + 9], l = in[i + 10];
    float s = (a * b + c * d) * (e * f + g * h) + (a + c) * (e + g) - (b + d) * (f + h)
        + (a - h) * (b - g) * (c - f) * (d - e) * (k - l) * (k + a) * (l + b);
    out[i] = s + first;
    out[i + 1] = late;
}
"#;

const SHADER: &str = r#"StructuredBuffer<float> source : register(t0);
RWStructuredBuffer<float> target : register(u0);
cbuffer constants : register(b0) { uint row; uint count; };

[numthreads(64, 1, 1)]
void hold(uint3 id : SV_DispatchThreadID)
{
    uint i = id.x * count + row;
    float first = source[i];
    float u = source[row] * 2.0, v = source[row + 1] * 3.0;
    target[i + count] = first * u;
    float a = source[i + 1], b = source[i + 2], c = source[i + 3], d = source[i + 4];
    float e = source[i + 5], f = source[i + 6], g = source[i + 7], h = source[i + 8], k = source[i + 9], l = source[i + 10], m = source[i + 11];
    float s = (a * b + c * d) * (e * f + g * h) + (a + c) * (e + g) - (b + d) * (f + h) + a * h + k * (l - m) - l * g;
    target[i] = s * u + v * first;
}
"#;

const LOOP: &str = r#"__global__ void __maxnreg__(16) sums(float* out, const float* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = in[i], b = in[i + 1], c = in[i + 2], d = in[i + 3], e = in[i + 4], f = in[i + 5];
    float g = in[i + 6], h = in[i + 7];
    #pragma unroll 8 // eight at a time
    for (int k = 0; k < n; k++) {
        float p = in[k], q = in[k + n], r = in[k + 2 * n];
        a = a * p + b * q, b = b * q + c * r, c = c * r + d * p;
        d = d * p + e * q, e = e * q + f * r, f = f * r + g * p;
        g = g * q + h * r, h = h * p + a * q;
    }
    out[i] = a + b + c + d + e + f + g + h;
}
"#;

/// Variables of 64 bits: a counter, one that grows without a bound, and one that loses its lower half.
const WIDE: &str = r#"__global__ void __maxnreg__(24) sums(float* out, const float* __restrict__ in, int n, size_t width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = in[i], b = in[i + 1], c = in[i + 2], d = in[i + 3], e = in[i + 4], f = in[i + 5];
    float g = in[i + 6], h = in[i + 7];
    size_t last = 0; // of the last row
    size_t half = width;
    for (long long k = 0; k < n; k++) {
        float p = in[k], q = in[k + n], r = in[k * 2];
        a = a * p + b * q, b = b * q + c * r, c = c * r + d * p;
        d = d * p + e * q, e = e * q + f * r, f = f * r + g * p;
        g = g * q + h * r, h = h * p + a * q;
        last += width, half >>= 1;
    }
    out[i] = a + b + c + d + e + f + g + h;
    out[last + half] = in[half];
}
"#;

struct Source {
    _place: Place,
    file: String,
    content: String,
}

impl Source {
    fn new(name: &str, file: &str, content: &str) -> Source {
        let place = Place::new(name);
        place.file("lockstep.toml", "maxrregcount = 16\n");
        Source {
            file: place.file(file, content),
            _place: place,
            content: content.to_owned(),
        }
    }

    /// The line and column of a text, behind `skip` characters of it.
    fn at(&self, text: &str, skip: usize) -> String {
        let at = self.content.find(text).expect("the text is there") + skip;
        let before = &self.content[..at];
        let line = before.matches('\n').count() + 1;
        let column = at - before.rfind('\n').map_or(0, |end| end + 1) + 1;
        format!("{line}:{column}")
    }

    fn actions(&self, at: &str, more: &[&str]) -> Value {
        let arguments = ["actions", &self.file, "--at", at, "--format", "json"];
        json(&lockstep(&[&arguments[..], more].concat()))
    }

    fn action(&self, id: &str, at: &str, more: &[&str]) -> Value {
        let all = self.actions(at, more);
        let list = all["actions"].as_array().expect("a list");
        let found = list.iter().find(|action| action["id"] == id);
        found
            .unwrap_or_else(|| panic!("no {id} at {at}: {all:#}"))
            .clone()
    }

    fn refused(&self, id: &str, at: &str, more: &[&str]) -> String {
        let action = self.action(id, at, more);
        let reason = action["refused"].as_str();
        reason
            .unwrap_or_else(|| panic!("not refused: {action:#}"))
            .to_owned()
    }

    /// The lines that an action takes away and adds.
    fn applied(&self, id: &str, at: &str, more: &[&str]) -> String {
        let arguments = ["apply", id, &self.file, "--at", at, "--diff"];
        let output = lockstep(&[&arguments[..], more].concat());
        assert!(output.status.success(), "{}", errors(&output));
        let diff = text(&output);
        let lines = diff.lines().skip(2);
        let changed = lines.filter(|line| line.starts_with(['+', '-']));
        changed.collect::<Vec<_>>().join("\n")
    }
}

const BLOCK: &[&str] = &["--block", "256,1,1"];

#[test]
fn a_value_is_computed_again_behind_the_peak() {
    let source = Source::new("recompute", "hold.cu", HOLD);
    let at = source.at("i = blockIdx", 0);
    let wanted = r#"
+    unsigned blockIdx_x_again = blockIdx.x; asm volatile("" : "+r"(blockIdx_x_again));
+    const int i_again = blockIdx_x_again * blockDim.x + threadIdx.x;
-        out[i] = s * u + v - first + changed;
+        out[i_again] = s * u + v - first + changed;
-    out[i + 1] = late + first;
+    out[i_again + 1] = late + first;"#;
    assert_eq!(source.applied("recompute-at-use", &at, &[]), wanted[1..]);
    let action = source.action("recompute-at-use", &at, &[]);
    let title = action["title"].as_str().expect("a title");
    assert!(
        title.contains("17 → 16 registers live at the peak, budget 16, estimate"),
        "{title}"
    );
    let effect = action["effect"].as_str().expect("an effect");
    assert!(effect.contains("cycles a warp"), "{effect}");
    assert!(effect.contains("occupancy"), "{effect}");
}

#[test]
fn another_variable_of_the_name_is_not_touched() {
    let source = Source::new("again", "hold.cu", HOLD);
    let at = source.at("first = in", 0);
    let wanted = r#"
-    out[i + 1] = late + first;
+    int i_again = i; asm volatile("" : "+r"(i_again));
+    const float first_again = in[i_again];
+    out[i + 1] = late + first_again;"#;
    assert_eq!(source.applied("load-again", &at, &[]), wanted[1..]);
}

#[test]
fn uniform_values_of_a_kernel_are_kept_once_a_warp_or_group() {
    let source = Source::new("slots", "hold.cu", HOLD);
    let head = source.at("hold(", 0);
    let wanted = "
+    __shared__ volatile float u_of_warp[8];
+    __shared__ volatile float v_of_warp[8];
+    __shared__ volatile float changed_of_group;
+    const unsigned warp = threadIdx.x / 32;
+    u_of_warp[warp] = u;
+    v_of_warp[warp] = v;
+    changed_of_group = changed;
+    const float u_again = u_of_warp[warp];
+    const float v_again = v_of_warp[warp];
+    const float changed_again = changed_of_group;
-        out[i] = s * u + v - first + changed;
+        out[i] = s * u_again + v_again - first + changed_again;";
    assert_eq!(source.applied("one-copy-a-warp", &head, BLOCK), wanted[1..]);
    let action = source.action("one-copy-a-warp", &head, BLOCK);
    let effect = action["effect"].as_str().expect("an effect");
    assert!(effect.contains("68 bytes of shared memory"), "{effect}");
    // Nothing says how many warps there are.
    let at = source.at("u = table", 0);
    let reason = source.refused("one-copy-a-warp", &at, &[]);
    assert!(reason.contains("__launch_bounds__"), "{reason}");
}

#[test]
fn the_number_of_a_warp_counts_threads_of_all_dimensions() {
    let source = Source::new("dimensions", "hold.cu", HOLD);
    let head = source.at("hold(", 0);
    let applied = source.applied("one-copy-a-warp", &head, &["--block", "16,4,2"]);
    assert!(applied.contains("u_of_warp[4];"), "{applied}");
    let number = "((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) / 32;";
    assert!(applied.contains(number), "{applied}");
}

#[test]
fn a_definition_moves_behind_the_peak_with_its_comment() {
    let source = Source::new("sink", "hold.cu", HOLD);
    let at = source.at("late = first", 0);
    let wanted = "
-    float late = first * n; // only read behind the peak
+    float late = first * n; // only read behind the peak";
    // `n` changes on the way.
    let reason = source.refused("sink-definition", &at, &[]);
    assert!(
        reason.contains("`n`, of which `late` is computed, changes"),
        "{reason}"
    );
    let still = Source::new("sunk", "hold.cu", STILL);
    let at = still.at("late = first", 0);
    assert_eq!(still.applied("sink-definition", &at, &[]), wanted[1..]);
}

#[test]
fn refusals_say_what_stands_in_the_way() {
    let source = Source::new("refusals", "hold.cu", HOLD);
    let refused = |id: &str, place: &str| source.refused(id, &source.at(place, 0), BLOCK);
    let reason = refused("recompute-at-use", "changed = n");
    assert!(
        reason.contains("`n`, of which `changed` is computed, changes"),
        "{reason}"
    );
    let reason = refused("one-copy-a-warp", "first = in");
    assert!(
        reason.contains("not known to be the same in all lanes"),
        "{reason}"
    );
    let reason = refused("load-again", "u = table");
    assert!(reason.contains("const T* __restrict__"), "{reason}");
    let reason = refused("sink-definition", "u = table");
    assert!(reason.contains("shares its declaration"), "{reason}");
    let reason = refused("sink-definition", "i = blockIdx");
    assert!(reason.contains("read before the peak"), "{reason}");
    let reason = refused("unroll-pragma", "hold(");
    assert!(reason.contains("no loop is around the peak"), "{reason}");
}

#[test]
fn nothing_is_offered_where_the_kernel_fits() {
    let place = Place::new("fits");
    let file = place.file("hold.cu", HOLD.replace("__maxnreg__(16) ", ""));
    let arguments = [
        "actions",
        &file,
        "--no-config",
        "--at",
        "2:9",
        "--format",
        "json",
    ];
    let all = json(&lockstep(&arguments));
    let list = all["actions"].as_array().expect("a list");
    let own = list
        .iter()
        .filter(|action| action["id"] == "recompute-at-use");
    let reasons: Vec<&str> = own
        .filter_map(|action| action["refused"].as_str())
        .collect();
    let [reason] = reasons.as_slice() else {
        panic!("{all:#}");
    };
    assert!(reason.contains("nothing asks for less"), "{reason}");
}

#[test]
fn a_loop_is_unrolled_less() {
    let source = Source::new("unroll", "sums.cu", LOOP);
    let head = source.at("sums(", 0);
    let wanted = "
-    #pragma unroll 8 // eight at a time
+    #pragma unroll 4 // eight at a time";
    assert_eq!(source.applied("unroll-pragma", &head, &[]), wanted[1..]);
}

/// Compilers copy a loop unasked if it is small, with all that it calls, and its count is known in front of it.
#[test]
fn loops_that_compilers_leave_alone_have_no_copies_to_save() {
    let body = "a = a * p + b * q, b = b * q + c * p, c = c * p + d * q;";
    let reads = "float p = in[k], q = in[k + n];";
    let refused = |name: &str, looped: &str| {
        let (front, rest) = LOOP.split_once("    #pragma").expect("a loop");
        let (_, behind) = rest.split_once("    out[i]").expect("its end");
        let helper = "__device__ float mixed(float a, float b) {\n    float c = a * b + a, d = a - b * c, e = c * d - a;\n    \
                      return (a + b) * (c + d) * (e - a) * (c - b) * (d - e) + a * c - b * d + e * e;\n}\n";
        let text = format!("{helper}{front}    {looped}\n    out[i]{behind}");
        let source = Source::new(name, "sums.cu", &text);
        source.refused("unroll-pragma", &source.at("sums(", 0), &[])
    };
    let several = "whose head does not give its count, or that ends in several ways";
    let large = "so large that compilers make none";
    let cases = [
        (
            "leaves",
            format!("for (int k = 0; k < n; k++) {{ {reads} {body} if (a > b) break; }}"),
            several,
        ),
        (
            "uncounted",
            format!("int k = 0; do {{ {reads} {body} k += (int)p; }} while (k < n);"),
            several,
        ),
        (
            "whole",
            format!("for (int k = 0; k < 512; k++) {{ {reads} {body} {body} {body} {body} }}"),
            large,
        ),
        (
            "calls",
            format!(
                "for (int k = 0; k < n; k++) {{ {reads} {body} a += mixed(b, c) * mixed(c, d); }}"
            ),
            large,
        ),
    ];
    for (name, looped, wanted) in cases {
        let reason = refused(name, &looped);
        assert!(reason.contains(wanted), "{looped}: {reason}");
    }
    // What is small, alone or in all its few iterations, is copied.
    let (front, rest) = LOOP.split_once("    #pragma").expect("a loop");
    let (_, behind) = rest.split_once("    out[i]").expect("its end");
    let large = [body; 4].join(" ");
    let copied = [
        ("small", "int k = 0; k < n; k++", body),
        ("few", "int k = -2; k <= 1; k++", &large),
        ("strides", "int k = 0; k < 128; k += 32", &large),
        ("halves", "int k = 8; k > 0; k >>= 1", &large),
    ];
    for (name, head, body) in copied {
        let text = format!(
            "{front}    for ({head}) {{\n        {reads} {body}\n    }}\n    out[i]{behind}"
        );
        let source = Source::new(name, "sums.cu", &text);
        let diff = source.applied("unroll-pragma", &source.at("sums(", 0), &[]);
        assert!(diff.contains("+    #pragma unroll 1"), "{diff}");
    }
}

#[test]
fn a_counter_of_64_bits_that_fits_32_is_declared_so() {
    let source = Source::new("narrow", "wide.cu", WIDE);
    let at = source.at("k = 0", 0);
    let wanted = "
-    for (long long k = 0; k < n; k++) {
-        float p = in[k], q = in[k + n], r = in[k * 2];
+    for (int k = 0; k < n; k++) {
+        float p = in[k], q = in[(long long)k + n], r = in[(long long)k * 2];";
    assert_eq!(source.applied("narrow-type", &at, &[]), wanted[1..]);
    let head = source.at("sums(", 0);
    assert_eq!(source.applied("narrow-type", &head, &[]), wanted[1..]);
    let action = source.action("narrow-type", &at, &[]);
    let title = action["title"].as_str().expect("a title");
    assert!(title.contains("19 → 18 registers"), "{title}");
    // What grows without a bound stays.
    let reason = source.refused("narrow-type", &source.at("last = 0", 0), &[]);
    assert!(reason.contains("nothing bounds it"), "{reason}");
    let reason = source.refused("narrow-type", &source.at("half = width", 0), &[]);
    assert!(reason.contains("nothing bounds it"), "{reason}");
    let reason = source.refused("narrow-type", &source.at("i = blockIdx", 0), &[]);
    assert!(reason.contains("no integer of 64 bits"), "{reason}");
}

#[test]
fn shaders_keep_values_of_the_group_and_say_what_compilers_may_undo() {
    let source = Source::new("shader", "hold.hlsl", SHADER);
    let head = source.at("hold(", 0);
    let wanted = "
+groupshared float u_of_group;
+groupshared float v_of_group;
+    u_of_group = u;
+    GroupMemoryBarrier();
+    v_of_group = v;
+    GroupMemoryBarrier();
-    target[i] = s * u + v * first;
+    const float u_again = u_of_group;
+    const float v_again = v_of_group;
+    target[i] = s * u_again + v_again * first;";
    assert_eq!(source.applied("one-copy-a-warp", &head, &[]), wanted[1..]);
    let action = source.action("one-copy-a-warp", &head, &[]);
    let title = action["title"].as_str().expect("a title");
    assert!(
        title.starts_with("Keep one copy a group of `u`, `v`"),
        "{title}"
    );
    let at = source.at("first = source", 0);
    let action = source.action("load-again", &at, &[]);
    let effect = action["effect"].as_str().expect("an effect");
    assert!(effect.contains("HLSL has no way to forbid it"), "{effect}");
    let wanted = "
-    target[i] = s * u + v * first;
+    const float first_again = source[i];
+    target[i] = s * u + v * first_again;";
    assert_eq!(source.applied("load-again", &at, &[]), wanted[1..]);
}

/// A pixel shader, which has no workgroup memory.
const PIXEL: &str = r#"Texture2D<float4> source : register(t0);
RWStructuredBuffer<float> state : register(u1);
SamplerState smooth : register(s0);

float4 main(float4 position : SV_Position, float2 uv : TEXCOORD0) : SV_Target
{
    float scale = state[0] * 2.0, bias = state[1] * 3.0;
    float4 a = source.Sample(smooth, uv), b = source.Sample(smooth, uv * 2.0);
    float4 c = source.Sample(smooth, uv * 3.0), d = source.Sample(smooth, uv * 4.0);
    float4 s = (a * b + c * d) * (a + c) - (b + d) * (a - d) + b * c;
    return s * scale + bias * a;
}
"#;

/// The same with a coordinate that depends on a uniform value: its derivative does, too.
const DERIVED: &str = r#"Texture2D<float4> source : register(t0);
RWStructuredBuffer<float> state : register(u1);
SamplerState smooth : register(s0);

float4 main(float4 position : SV_Position, float2 uv : TEXCOORD0) : SV_Target
{
    float scale = state[0] * 2.0;
    float4 a = source.Sample(smooth, uv), b = source.Sample(smooth, uv * 2.0);
    float4 c = source.Sample(smooth, uv * 3.0), d = source.Sample(smooth, uv * 4.0);
    float4 s = (a * b + c * d) * (a + c) - (b + d) * (a - d) + b * c;
    return s + source.Sample(smooth, uv * scale);
}
"#;

#[test]
fn what_derivatives_depend_on_is_not_broadcast() {
    let place = Place::new("derived");
    place.file("lockstep.toml", "target = \"gfx1030\"\nmaxrregcount = 16\n");
    let source = Source {
        file: place.file("pixel.hlsl", DERIVED),
        _place: place,
        content: DERIVED.to_owned(),
    };
    let refused = source.refused("one-copy-a-warp", &source.at("scale =", 0), &[]);
    assert!(refused.contains("helper lanes"), "{refused}");
}

/// On machines with scalar registers, uniform values of shaders go into those by a broadcast, in stages, too;
/// elsewhere a stage has no place for them.
#[test]
fn shaders_broadcast_uniform_values_into_scalar_registers() {
    let place = Place::new("broadcast");
    place.file("lockstep.toml", "target = \"gfx1030\"\nmaxrregcount = 16\n");
    let source = Source {
        file: place.file("pixel.hlsl", PIXEL),
        _place: place,
        content: PIXEL.to_owned(),
    };
    let at = source.at("scale =", 0);
    let action = source.action("one-copy-a-warp", &at, &[]);
    let title = action["title"].as_str().expect("a title");
    assert!(
        title.starts_with("Keep `scale` in scalar registers ("),
        "{title}"
    );
    let applied = lockstep(&["apply", "one-copy-a-warp", &source.file, "--at", &at]);
    let made = text(&applied);
    assert!(
        made.contains("float scale = WaveReadLaneFirst(state[0] * 2.0), bias = state[1] * 3.0;"),
        "{made}"
    );
    let all = source.action("one-copy-a-warp", &source.at("main(", 0), &[]);
    let title = all["title"].as_str().expect("a title");
    assert!(
        title.starts_with("Keep `scale`, `bias` in scalar registers"),
        "{title}"
    );
    let says = action["effect"].as_str().expect("an effect");
    assert!(!says.contains("ptxas"), "{says}");
    let refused = source.refused("one-copy-a-warp", &at, &["--target", "sm_80"]);
    assert!(refused.contains("no memory that lanes share"), "{refused}");
}
