//! Writes that name no variable on the left of an assignment, from source to the classes that the command prints.

#[path = "support/command.rs"]
mod command;

use command::{Place, json, lockstep, text};
use serde_json::Value;

/// What is written through copies of memory, through the arm of a condition, through a method that another class overrides
/// and into a variable that outlives its call is not what it was.
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
    let classes = |file: &str| -> Vec<(String, String)> {
        let report = json(&lockstep(&[
            "analyze",
            file,
            "--format",
            "json",
            "--no-config",
        ]));
        let items = report["items"].as_array().cloned().unwrap_or_default();
        let values = items
            .iter()
            .flat_map(|item| item["values"].as_array().cloned().unwrap_or_default());
        let word = |one: &Value, key: &str| one[key].as_str().unwrap_or("").to_owned();
        values
            .map(|one| (word(&one, "name"), word(&one, "class")))
            .filter(|(name, _)| name.len() == 2 && name.ends_with(|c: char| c.is_ascii_digit()))
            .collect()
    };
    let cuda = classes(&place.file("k.cu", kernel));
    assert_eq!(cuda.len(), 14, "{cuda:?}");
    for (name, class) in &cuda {
        assert_eq!(
            class == "uniform",
            name.starts_with('b'),
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
