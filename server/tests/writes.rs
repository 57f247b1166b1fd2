//! Writes that name no variable on the left of an assignment, from source to the classes that the command prints.

#[path = "support/command.rs"]
mod command;

use command::{Place, json, lockstep, text};
use serde_json::Value;

/// The classes of the variables with names like `d1` and `u12`, by kernel and name.
fn classes(file: &str) -> Vec<(String, String)> {
    let report = json(&lockstep(&[
        "analyze",
        file,
        "--format",
        "json",
        "--no-config",
    ]));
    let word = |value: &Value, key: &str| value[key].as_str().unwrap_or("").to_owned();
    let mut found = Vec::new();
    for item in report["items"].as_array().into_iter().flatten() {
        for each in item["values"].as_array().into_iter().flatten() {
            let name = word(each, "name");
            let digits = name.get(1..).unwrap_or("");
            if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
                let name = format!("{}.{name}", word(item, "name"));
                found.push((name, word(each, "class")));
            }
        }
    }
    found
}

/// Variables `u1`, `u2` are uniform, `d1`, `d2` are not.
fn expect(file: &str, count: usize) {
    let found = classes(file);
    assert_eq!(found.len(), count, "{found:?}");
    let wrong: Vec<_> = found
        .iter()
        .filter(|(name, class)| (class == "uniform") != name.contains(".u"))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// A variable written through copies of memory, through the arm of a condition, through a method that another
/// class overrides or into a variable that outlives its call has lost its old value.
#[test]
fn writes_that_are_no_assignments_by_name_count() {
    let place = Place::new("writes");
    let kernel = "struct P { int x, y; };
struct B { __device__ virtual int v() { return 1; } };
struct D : B { __device__ int v() override { return threadIdx.x; } };
template<class T> struct Pk {
    __device__ explicit Pk(int4 bits) { memcpy(&payload, &bits, sizeof(bits)); }
    static constexpr const size_t size = sizeof(int4) / sizeof(T);
    T payload[size];
};
template<class T> __device__ Pk<T> load(const T* from) { return Pk<T>{*reinterpret_cast<const int4*>(from)}; }
__device__ void set(int& x, int to) { x = to; }
__device__ int twice(int x) { return 2 * x; }
__global__ void k(int* o, int n) {
    int t = threadIdx.x;
    int y = n, z = n; set(t > 3 ? y : z, 7); int c1 = y;
    int i = n, j = 2 * n; int b2 = twice(n > 3 ? i : j); int b3 = i;
    Pk<int> pk = load(o + 4 * t); int c2 = pk.payload[0];
    int u = 0; memcpy(&u, &t, 4); int a1 = u;
    int s = 0; memset(&s, t, 4); int a2 = s;
    int a = n, b = n; (t > 3 ? a : b) = 7; int a3 = a;
    int c = n, d = n; (t > 3 ? c : d) += 2; int a4 = c;
    int e = n, f = n; (t > 3 ? e : f)++; int a5 = e;
    int g = n, h = n; int& r = t > 3 ? g : h; r = 7; int a6 = g;
    P p = {n, n}, q = {n, n}; (t > 3 ? p : q).x = 7; int a7 = p.x;
    int l[2] = {n, n}, m[2] = {n, n}; (t > 3 ? l : m)[0] = 7; int a8 = l[0];
    D object; B* base = &object; int a9 = base->v();
    int w = n > 3 ? n : 2 * n; int b1 = w;
    o[t] = a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + b1 + b2 + b3 + c1 + c2;
}
";
    let shader = "RWStructuredBuffer<uint> o;
uint more(uint a) { static uint k = 5; k += a; return k; }
[numthreads(64, 1, 1)] void main(uint3 id : SV_DispatchThreadID, uint i : SV_GroupIndex) {
    uint a1 = more(id.x);
    uint a2 = more(1);
    o[i] = a1 + a2;
}
";
    let cuda = classes(&place.file("k.cu", kernel));
    assert_eq!(cuda.len(), 14, "{cuda:?}");
    for (name, class) in &cuda {
        assert_eq!(
            class == "uniform",
            name.contains(".b"),
            "{name}: {class}, {cuda:?}"
        );
    }
    let file = place.file("k.hlsl", shader);
    let hlsl = classes(&file);
    assert_eq!(hlsl.len(), 2, "{hlsl:?}");
    assert!(hlsl.iter().all(|(_, class)| class != "uniform"), "{hlsl:?}");
    // One variable a lane, which keeps its value from call to call: (5 + id) + (5 + id + 1).
    let ran = text(&lockstep(&[
        "run",
        &file,
        "--item",
        "main",
        "--lanes",
        "64",
        "--arg",
        "o=i32[64]",
        "--no-config",
    ]));
    assert!(ran.contains("11 13 15 17"), "{ran}");
}

/// `c ? a : b` is the place of one of both wherever a reference is bound to it or its address is taken: in calls of
/// lambdas, of objects and through pointers, in objects of methods and operators, in captures, members and results.
#[test]
fn both_arms_of_a_condition_are_written() {
    let place = Place::new("arms");
    let before = "struct S {
    int v;
    __device__ void set(int x) { v = x; }
    __device__ int get() const { return v; }
    __device__ S& operator<<(int x) { v = x; return *this; }
};
struct R { int& r; __device__ R(int& x) : r(x) {} };
struct Q { int& r; };
struct F { __device__ void operator()(int& x) const { x = 7; } };
template<class T> struct G { __device__ void operator()(T& x) const { x = 7; } };
__device__ int& pick(bool c, int& a, int& b) { return c ? a : b; }
__device__ S& operator>>(S& s, int x) { s.v = x; return s; }
template<class C> __device__ void apply(C f, int& a, int& b, bool c) { f(c ? a : b); }
template<class... A> __device__ void sevens(A&&... a) { ((a = 7), ...); }
__device__ void seven(int& a) { a = 7; }
struct H {
    int y, z;
    __device__ void go(bool c) { auto f = [&](int& q) { q = 7; }; f(c ? y : z); }
};
";
    let written = [
        "auto f = [](int& q) { q = 7; }; f(c ? y : z);",
        "auto f = [](auto& q) { q = 7; }; f(c ? y : z);",
        "auto f = [&](int k, auto&& q) { q = k; }; f(3, c ? y : z);",
        "[](int& q) { q = 7; }(c ? y : z);",
        "F f; f(c ? y : z);",
        "G<int>{}(c ? y : z);",
        "apply([](int& q) { q = 7; }, y, z, c);",
        "pick(c, y, z) = 7;",
        "int& r = pick(c, y, z); r = 7;",
        "S a{n}, b{n}; (c ? a : b).set(7); y = a.v; z = b.v;",
        "S a{n}, b{n}; (c ? a : b) << 7; y = a.v; z = b.v;",
        "S a{n}, b{n}; (c ? a : b) >> 7; y = a.v; z = b.v;",
        "R r(c ? y : z); r.r = 7;",
        "R r{c ? y : z}; r.r = 7;",
        "Q r{c ? y : z}; r.r = 7;",
        "auto f = [&r = c ? y : z]() { r = 7; }; f();",
        "sevens(c ? y : z);",
        "int q = 3; swap(c ? y : z, q);",
        "H h{n, n}; h.go(c); y = h.y; z = h.z;",
        "void (*f)(int&) = seven; f(c ? y : z);",
        "std::forward<int&>(c ? y : z) = 7;",
        "(n++, c ? y : z) = 7;",
        "(c ? y : z = 5) = 7;",
        "atomicAdd(&(c ? y : z), 2);",
        "int a[2] = {n, n}, b[2] = {n, n}; int* p = c ? a : b; p[0] = 7; y = a[0]; z = b[0];",
    ];
    let mut source = before.to_owned();
    for (number, text) in written.iter().enumerate() {
        source += &format!(
            "__global__ void k{number}(int* o, int n) {{ bool c = threadIdx.x > 3; int y = n, z = n;
    {text}
    int d1 = y; int d2 = z; o[threadIdx.x] = y + z; }}\n"
        );
    }
    expect(&place.file("written.cu", &source), 2 * written.len());
    // What is read alone stays what it is, and so does what uniform conditions choose.
    let source = format!(
        "{before}__global__ void k(int* o, int n) {{
    int y = n, z = 2 * n;
    auto f = [](const int& q) {{ return q + 1; }};
    int u1 = f(n > 3 ? y : z);
    S a{{n}}, b{{n}};
    int u2 = (n > 3 ? a : b).get();
    const S& s = n > 3 ? a : b;
    int u3 = s.v;
    int l[2] = {{n, n}}, m[2] = {{n, n}};
    int* p = n > 3 ? l : m;
    p[0] = 3;
    int u4 = p[1], u5 = l[0];
    for (int* q = n > 5 ? l : m; q < l + 2; q++) *q = 3;
    int u6 = y, u7 = z, u8 = a.v;
    o[threadIdx.x] = u1 + u2 + u3 + u4 + u5 + u6 + u7 + u8;
}}
__global__ void later(int* o, int n) {{
    int y = n, z = 2 * n;
    int l[2] = {{n, n}}, m[2] = {{n + 1, n}};
    const int& r = n > 3 ? y : z;
    y = threadIdx.x;
    int d1 = r;
    int* q = threadIdx.x > 3 ? l : m;
    int d2 = q[1];
    o[threadIdx.x] = d1 + d2;
}}
"
    );
    expect(&place.file("read.cu", &source), 10);
}

/// A load from a uniform address gives each lane its own value if lanes have just stored there and no barrier
/// stands in between; loads separated by a barrier, values stored alike by all lanes, and other elements stay
/// uniform.
#[test]
fn what_lanes_have_just_stored_is_not_uniform() {
    let place = Place::new("races");
    let kernels = "
__device__ int g;
struct P { int* a; int* b; };
__global__ void own(int* o, int n) { __shared__ int s; s = threadIdx.x; int d1 = s; __syncthreads(); int u1 = s; o[threadIdx.x] = d1 + u1; }
__global__ void warp(int* o, int n) { __shared__ int s; s = threadIdx.x; __syncwarp(); int u1 = s; o[threadIdx.x] = u1; }
__global__ void one(int* o, int n) { __shared__ int s; if (threadIdx.x == 0) s = n; int d1 = s; __syncthreads(); int u1 = s; o[threadIdx.x] = d1 + u1; }
__global__ void alike(int* o, int n) { __shared__ int s; s = n; int u1 = s; if (threadIdx.x < 7) { s = 2 * n; int u2 = s; o[0] = u2; } o[threadIdx.x] = u1; }
__global__ void global(int* o, int n) { static int s; s = threadIdx.x; int d1 = s; g = threadIdx.x; int d2 = g; o[threadIdx.x] = d1 + d2; }
__global__ void element(int* o, int n) { o[0] = threadIdx.x; int d1 = o[0]; int u1 = o[4]; o[threadIdx.x] = d1 + u1; }
__global__ void others(int* o, const int* __restrict__ p, int* q, int n) { q[0] = threadIdx.x; int u1 = p[0]; int u2 = __ldg(q + 1); int u3 = o[2]; int d1 = q[0]; o[threadIdx.x] = u1 + u2 + d1 + u3; }
__global__ void tile(int* o, int n) { __shared__ int s[32]; s[threadIdx.x] = n * threadIdx.x; int d1 = s[0]; __syncthreads(); int u1 = s[0]; s[threadIdx.x] = 3; o[threadIdx.x] = d1 + u1; }
__global__ void before(int* o, int n) { __shared__ int s; s = 0; for (int i = 0; i < n; i++) { int d1 = s; s = threadIdx.x + i; o[threadIdx.x] += d1; } }
__global__ void both(int* o, int n) { __shared__ int s; for (int i = 0; i < n; i++) { __syncthreads(); int u1 = s; __syncthreads(); s = threadIdx.x + i; o[threadIdx.x] += u1; } }
__global__ void atomic(int* o, int n) { __shared__ int s; s = n; __syncthreads(); atomicAdd(&s, 1); int d1 = s; __syncthreads(); int u1 = s; o[threadIdx.x] = d1 + u1; }
__global__ void sometimes(int* o, int n) { __shared__ int s; s = threadIdx.x; if (n > 3) __syncthreads(); int d1 = s; o[threadIdx.x] = d1; }
__global__ void chosen(int* o, int* q, int n) { int* p = n > 3 ? q : q + 1; *p = threadIdx.x; int d1 = *q; int d2 = *p; o[threadIdx.x] = d1 + d2; }
__global__ void overlaid(int* o, int n) { extern __shared__ int e[]; int* a = e; int* b = e + n; a[0] = threadIdx.x; int d1 = b[0]; o[threadIdx.x] = d1; }
__global__ void last(int* o, int n) { __shared__ int s; int i = 0; while (true) { s = i; if (i >= threadIdx.x) break; i++; } int d1 = s; o[threadIdx.x] = d1; }
__global__ void members(P p, P* q) { p.a[0] = threadIdx.x; int d1 = p.a[0]; int u1 = p.b[0]; q->a[0] = threadIdx.x; int d2 = q->a[0]; p.b[threadIdx.x] = d1 + u1 + d2; }
__global__ void fresh(int* o, int n) { volatile __shared__ int s; s = threadIdx.x; int d1 = s; o[threadIdx.x] = d1; }
";
    expect(&place.file("races.cu", kernels), 30);
    let shader = "groupshared uint s; RWStructuredBuffer<uint> o; RWTexture2D<uint> t; RWByteAddressBuffer b; StructuredBuffer<uint> r;
[numthreads(64, 1, 1)] void main(uint i : SV_GroupIndex) {
    s = i; uint d1 = s; GroupMemoryBarrierWithGroupSync(); uint u1 = s;
    o[0] = i; uint d2 = o[0]; uint u2 = o[1];
    t[uint2(0, 0)] = i; uint d3 = t[uint2(0, 0)];
    b.Store(0, i); uint d4 = b.Load(0); uint u3 = b.Load(8);
    uint u4 = r[3];
    uint d5; InterlockedAdd(s, 1, d5);
    uint d6 = s;
    o[i + 64] = d1 + d2 + d3 + d4 + d5 + d6 + u1 + u2 + u3 + u4;
}
";
    // `d5` is declared, and then written by the operation.
    let found = classes(&place.file("races.hlsl", shader));
    let wrong: Vec<_> = found
        .iter()
        .filter(|(name, class)| (class == "uniform") != name.contains(".u"))
        .collect();
    assert!(found.len() >= 10 && wrong.is_empty(), "{wrong:?}");
    let report = json(&lockstep(&[
        "analyze",
        &place.file("races.cu", kernels),
        "--format",
        "json",
        "--no-config",
        "--item",
        "own",
    ]));
    let told = report.to_string();
    assert!(told.contains("without a barrier since"), "{told}");
}

/// Writes by a class's own copy constructor and dereference are seen.
#[test]
fn copies_and_dereferences_of_objects_are_what_the_class_makes_them() {
    let place = Place::new("copies");
    let kernels = "
struct C { int v; __device__ C(const C& c) : v(c.v + threadIdx.x) {} __device__ C(int k) : v(k) {} };
struct Plain { int v; __device__ Plain(int k) : v(k) {} };
struct Holder { C c; };
struct Box { int v; __device__ int& operator*() { return v; } };
__device__ int takes(C c) { return c.v; }
__device__ int refers(const C& c) { return c.v; }
__global__ void k(int* o, int n) {
    C a(n); int u1 = a.v;
    C b = a; int d1 = b.v;
    C c(a); int d2 = c.v;
    C d{a}; int d3 = d.v;
    int d4 = takes(a);
    int u2 = refers(a);
    int u3 = takes(C(n));
    Holder h{a}; int d5 = h.c.v;
    auto f = [a]() { return a.v; }; int d6 = f();
    Plain p(n); Plain q = p; int u4 = q.v;
    Box x{n}; *x = threadIdx.x; int d7 = x.v;
    int y = n; int* at = &y; auto g = [y]() { return y; }; *at = 2 * n; int u5 = g();
    o[threadIdx.x] = d1 + d2 + d3 + d4 + d5 + d6 + d7 + u1 + u2 + u3 + u4 + u5;
}
";
    expect(&place.file("copies.cu", kernels), 12);
}

/// A product of 32 bits that wraps between the lanes of a block is no linear form once it is widened.
#[test]
fn what_wraps_before_it_is_widened_is_not_affine() {
    let place = Place::new("wraps");
    let kernel = "__global__ void k(int* p, int n) {
    unsigned long long d1 = threadIdx.x * 0x10000000u;
    p[d1] = 1;
    unsigned long long d2 = 0u - threadIdx.x;
    p[d2] = 1;
    unsigned long long a1 = blockIdx.x * blockDim.x + threadIdx.x;
    p[a1] = 1;
    unsigned long long a2 = n * threadIdx.x;
    unsigned long long a3 = n - 1u - threadIdx.x;
    p[a3] = a2;
}
";
    let file = place.file("wraps.cu", kernel);
    for (name, class) in classes(&file) {
        let wanted = match name.contains(".d") {
            true => "divergent",
            false => "affine",
        };
        assert_eq!(class, wanted, "{name}");
    }
    let report = json(&lockstep(&[
        "analyze",
        &file,
        "--format",
        "json",
        "--no-config",
    ]));
    let first = &report["items"][0]["accesses"][0]["class"];
    assert!(first != "coalesced" && first != "uniform", "{report}");
}
