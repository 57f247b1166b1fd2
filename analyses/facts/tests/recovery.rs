//! Text that is not understood, and what is not in sight, leaves nothing uniform that it may write or yield. Each case
//! names the variable `D`, which differs between lanes in some program that the text may stand for.

extern crate lockstep_facts as facts;

use facts::{Class, FunctionFacts, Options, analyze};
use ir::lower::c_family::{Environment, LowerOptions, UnitBodies, lower_item};
use ir::{Language, Module};
use std::sync::Arc;
use syntax::c_family::ast::ParsedItem;
use syntax::c_family::{Dialect, lexer::lex, parse_unit};
use syntax::preprocess::{IncludeResolver, IncludedFile, PreprocessOptions, preprocess};

struct Nothing;

impl IncludeResolver for Nothing {
    fn resolve(&mut self, _from: &str, _spec: &str, _angled: bool) -> Option<IncludedFile> {
        None
    }
}

/// The functions of a text with their facts.
fn functions(text: &str, dialect: Dialect) -> Vec<(Module, FunctionFacts)> {
    let main = IncludedFile {
        path: Arc::from("text"),
        tokens: Arc::new(lex(text)),
    };
    let unit = preprocess(&main, &PreprocessOptions::new(dialect), &mut Nothing);
    let items: Vec<Arc<ParsedItem>> = parse_unit(&unit, dialect)
        .into_iter()
        .map(|(_, _, item)| Arc::new(item))
        .collect();
    let environment = Environment::new(&items);
    let bodies = UnitBodies(items.iter().map(|i| (i.key.clone(), i.clone())).collect());
    let language = match dialect {
        Dialect::Hlsl => Language::Hlsl,
        _ => Language::Cuda,
    };
    let mut found = Vec::new();
    for item in &items {
        let options = LowerOptions::new(language);
        for lowered in lower_item(&environment, &bodies, &item.key, &options) {
            let function = &lowered.module.functions[0];
            ir::verify(function).unwrap();
            let facts = analyze(0, &lowered.module, &Options::default());
            found.push((lowered.module, facts));
        }
    }
    found
}

/// What the declaration of `D` says, in the function that has one.
fn class(text: &str, dialect: Dialect) -> Class {
    let mut found = None;
    for (module, facts) in functions(text, dialect) {
        let function = &module.functions[0];
        for binding in &function.bindings {
            if function.variables[binding.variable].name == "D"
                && let [value] = binding.values[..]
            {
                found = Some(facts.values[value].class);
            }
        }
    }
    found.unwrap_or_else(|| panic!("`D` is declared: {text}"))
}

fn counts(text: &str) -> Vec<Option<u64>> {
    let all = functions(text, Dialect::Cuda);
    let loops = all.iter().flat_map(|(_, facts)| &facts.loops);
    loops.map(|l| l.count).collect()
}

fn cuda(before: &str, parameters: &str, body: &str) -> Class {
    let text = format!(
        "{before} __global__ void k(int* o, int n{parameters}) {{ {body} o[threadIdx.x] = D; }}"
    );
    class(&text, Dialect::Cuda)
}

fn varies(before: &str, body: &str) {
    let found = cuda(before, "", body);
    assert!(found != Class::Uniform, "{found:?}: {before} {body}");
}

fn varies_in_hlsl(before: &str, body: &str) {
    let text = format!(
        "RWStructuredBuffer<int> o; int n; {before} [numthreads(64,1,1)] void main(uint3 t : SV_DispatchThreadID) {{ {body} o[t.x] = D; }}"
    );
    let found = class(&text, Dialect::Hlsl);
    assert!(
        matches!(found, Class::Divergent | Class::Unknown),
        "{found:?}: {text}"
    );
}

#[test]
fn labels_that_are_no_constants() {
    varies(
        "template<int N>",
        "int y=0; switch(threadIdx.x){case N: y=3; break;} int D=y;",
    );
    varies(
        "",
        "int y=0; switch(threadIdx.x){case HID_A: y=3; break; default: y=4;} int D=y;",
    );
    varies(
        "",
        "int y=0; switch(n){case HID_A: y=3; break; default: y=4;} int D=y;",
    );
    varies(
        "",
        "int y=0; switch(threadIdx.x){case 3 ... HID_A: y=3; break;} int D=y;",
    );
    varies(
        "",
        "int y=0; switch(threadIdx.x){case 3 ... 900: y=3; break;} int D=y;",
    );
    // One number for all lanes selects among them.
    let uniform = "int y=0; switch(n){case N: y=3; break;} int D=y;";
    assert_eq!(cuda("template<int N>", "", uniform), Class::Uniform);
    varies_in_hlsl(
        "",
        "int y=0; switch(t.x){case HID_A: y=3; break; default: y=4; break;} int D=y;",
    );
}

#[test]
fn objects_made_of_values_of_unknown_type() {
    let plain = "struct Q{int x;int y;};";
    for body in [
        "Q q = hid(threadIdx.x); int D=q.y;",
        "Q q = {hid(threadIdx.x)}; int D=q.y;",
        "Q q{hid(threadIdx.x)}; int D=q.y;",
        "Q q(hid(threadIdx.x)); int D=q.y;",
        "Q q = static_cast<Q>(hid(threadIdx.x)); int D=q.y;",
        "Q q; q = hid(threadIdx.x); int D=q.y;",
        "Q a[2] = {hid(threadIdx.x), hid(n)}; int D=a[0].y;",
        "Q a[2] = {{hid(threadIdx.x)}, {1, 2}}; int D=a[0].y;",
        "Q q = TABLE[threadIdx.x].p; int D=q.y;",
        "Q q = n > 3 ? hid(threadIdx.x) : hid(n); int D=q.y;",
        "auto h = hid(threadIdx.x); Q q = h; int D=q.y;",
        "float4 q = hid(threadIdx.x) * 2.0f; int D=q.x - q.y;",
        "float4 q = hid(threadIdx.x); int D=q.x - q.y;",
    ] {
        varies(plain, body);
    }
    let converting =
        "struct P { int p; int idx; __device__ P(int a, int i = 0) : p(a), idx(i) {} };";
    for body in [
        "P c(hid(threadIdx.x)); int D = c.idx;",
        "P c = P{hid(threadIdx.x)}; int D = c.idx;",
        "P c = P(hid(threadIdx.x)); int D = c.idx;",
        "P c = {hid(threadIdx.x)}; int D = c.idx;",
        "P c = static_cast<P>(hid(threadIdx.x)); int D = c.idx;",
        "P c = TABLE[threadIdx.x].p; int D = c.idx;",
        "P c[1] = {hid(threadIdx.x)}; int D = c[0].idx;",
    ] {
        varies(converting, body);
    }
    let functor = format!("{converting} template<class F>");
    let found = cuda(&functor, ", F f", "P p = f(threadIdx.x); int D = p.idx;");
    assert!(matches!(found, Class::Divergent | Class::Unknown));
    let pointer = format!("{converting} typedef P(*fp)(int);");
    let found = cuda(&pointer, ", fp f", "P p = f(threadIdx.x); int D = p.idx;");
    assert!(matches!(found, Class::Divergent | Class::Unknown));
    for body in [
        "P p={Hid(t.x)}; int D=p.y;",
        "P p=(P)Hid(t.x); int D=p.y;",
        "P p=Hid(t.x); int D=p.y;",
        "int D=float3(Hid(t.x).xy,1).y;",
        "int D=float3(Hid(t.x),1).y;",
        "float2 v = Hid(t.x); int D=v.x - v.y;",
    ] {
        varies_in_hlsl("struct P { int x; int y; };", body);
    }
}

#[test]
fn blocks_of_unknown_macros() {
    for body in [
        "int y=n; CUDA_KERNEL_LOOP(i,n){ y=i; } int D=y;",
        "int y=n; HID_IF(threadIdx.x){ y=5; } int D=y;",
        "int y=n; HID_IF(threadIdx.x){ y=5; } else { y=6; } int D=y;",
        "int y=n; FOR_RANGE(int,i,0,threadIdx.x) y=i; int D=y;",
        "int y=n; FOR_RANGE(int,i,0,threadIdx.x)\n y=i;\n int D=y;",
        "int y=n; FOR_RANGE(int,i,0,threadIdx.x) { y=i; }\n int D=y;",
        "int y=n; FOR_RANGE(y,0,threadIdx.x) { }\n int D=y;",
        "int y=n; for (int k = 0; k < 5; ++k) { y = k; HID_IF(threadIdx.x) { break; } } int D=y;",
    ] {
        varies("", body);
    }
    varies_in_hlsl("", "int y=n; HID_IF(t.x){ y=5; } else { y=6; } int D=y;");
}

#[test]
fn statements_that_are_not_understood() {
    for body in [
        "int y=n; for(auto el: hidlist) y=el; int D=y;",
        "int y=n; for(auto [a, b]: hidlist) { y=b; } int D=y;",
        "int y=n; try{ y=threadIdx.x; }catch(int){} int D=y;",
        "int y=n; y = 3 @ threadIdx.x; int D=y;",
        "int y=n; @ y = threadIdx.x; int D=y;",
        "int y=n; if (n > 2 @ threadIdx.x) { y = 3; } int D=y;",
        "int y=n; for (int k = 0; k < 3 @ threadIdx.x; ++k) { y = k; } int D=y;",
        "int y=n; int z = 3 @ (y = threadIdx.x); int D=y;",
        "int z = 3 @ threadIdx.x; int D=z;",
        "int y=n; for (int k=0;k<4;++k) { y=k; @ break; } int D=y;",
        "int y=n; auto f = [&]() { @ y = threadIdx.x; }; f(); int D=y;",
        "int a[4] = {n,n,n,n}; a[n] = 3; @ a[2] = threadIdx.x; int D=a[1];",
    ] {
        varies("", body);
    }
    varies(
        "__device__ int g() { return 5 @ threadIdx.x; }",
        "int D = g();",
    );
    varies(
        "__device__ int g(int y) { @ y = threadIdx.x; return y; }",
        "int D = g(n);",
    );
    varies(
        "struct S { int v; __device__ void m() { @ v = threadIdx.x; } };",
        "S s; s.v = n; s.m(); int D = s.v;",
    );
    varies_in_hlsl("static int g = 0;", "g = 3; @ g = t.x; int D=g;");
    varies_in_hlsl("", "int y=n; @ y = t.x; int D=y;");
}

#[test]
fn friends_defined_in_a_class() {
    let class = "struct I2 { int x, y; __device__ I2(int a, int b = 0) : x(a), y(b) {}
        friend __device__ I2 operator*(const I2& a, int k) { return I2(a.x * k, a.y * k); } };";
    varies(class, "I2 p(n, n); I2 q = p * threadIdx.x; int D = q.y;");
    let found = cuda(class, "", "I2 p(n, n); I2 q = p * n; int D = q.y;");
    assert_eq!(found, Class::Uniform);
}

#[test]
fn arguments_by_value_stay_what_they_are() {
    let pointer = |ty: &str| cuda(ty, ", fp f", "f(n); int D = n;");
    assert_eq!(pointer("typedef void(*fp)(int);"), Class::Uniform);
    let found = pointer("typedef void(*fp)(int&);");
    assert!(matches!(found, Class::Divergent | Class::Unknown));
    let found = cuda("typedef void(*fp)(int*);", ", fp f", "f(&n); int D = n;");
    assert!(matches!(found, Class::Divergent | Class::Unknown));
}

/// A counter that is narrower than its limit.
#[test]
fn rounds_of_mixed_types() {
    for limit in [
        "sizeof(int4)/sizeof(float)",
        "(size_t)4",
        "4L",
        "4ull",
        "4u",
    ] {
        let text = format!(
            "__global__ void k(float* o) {{ float a[4] = {{1,2,3,4}}; for (int k = 0; k < {limit}; ++k) o[k] = a[k]; }}"
        );
        assert_eq!(counts(&text), [Some(4)], "{limit}");
    }
    let down = "__global__ void k(float* o) { for (int k = 3; k < 4ull; --k) o[k] = 1; }";
    assert_eq!(counts(down), [None]);
}

#[test]
fn heads_and_labels() {
    for body in [
        "int y=n; switch (int v = threadIdx.x) { case 0: break; case 1: y=3; break; } int D=y;",
        "struct B { int a, b; }; B q; q.a = threadIdx.x; q.b = n; int y=n; if (auto [a, b] = q) y=2; else y=3; int D=y;",
    ] {
        varies("", body);
    }
    let uniform = "int y=n; switch (int v = n) { case 0: break; case 1: y=3; break; } int D=y;";
    assert_eq!(cuda("", "", uniform), Class::Uniform);
}
