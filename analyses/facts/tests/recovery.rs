//! Text that is not understood, and code that is not in sight, leaves nothing uniform that it may write or
//! yield. Each case names the variable `D`, which differs between lanes in some program that the text may
//! stand for.

extern crate lockstep_facts as facts;

mod source;

use facts::Class;
use source::{class, cuda, functions};
use syntax::c_family::Dialect;

fn counts(text: &str) -> Vec<Option<u64>> {
    let all = functions(text, Dialect::Cuda);
    let loops = all.iter().flat_map(|(_, facts)| &facts.loops);
    loops.map(|l| l.count).collect()
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
        "int y=n, z=n; HID_SWITCH(n) { case 1: y=3; break; default: z=4; } int D=z;",
        "int y=n, z=n; HID_SWITCH(n) { case 1: y=3; return; case HID_B: z=4; } int D=z;",
        "int y=n, z=n; HID_LOOP(n) { if (n > 3) { y=3; continue; default: z=4; } } int D=z;",
        "int z=n; switch (threadIdx.x) { case 0: break; HID_FOR(n) { case 1: z=3; break; case 2: z=4; } } int D=z;",
        "int y=n, z=n; HID_LOOP(n) { again: z = y; y = threadIdx.x; if (y < 3) goto again; } int D=z;",
        "int y=n; HID_LOOP(n) { goto out; into: y = threadIdx.x; } out: if (n > 7) goto into; int D=y;",
        "int y=n; HID_LOOP(n) { if (n > 3) goto out; y = 3; } y = 7; out: int D=y;",
        "int y=n; switch (int v = threadIdx.x) { case 0: break; case 1: y=3; break; } int D=y;",
        "struct B { int a, b; }; B q; q.a = threadIdx.x; q.b = n; int y=n; if (auto [a, b] = q) y=2; else y=3; int D=y;",
    ] {
        varies("", body);
    }
    let uniform = "int y=n; switch (int v = n) { case 0: break; case 1: y=3; break; } int D=y;";
    assert_eq!(cuda("", "", uniform), Class::Uniform);
}

/// Objects of a class that is not in sight: values made of them are not known, whatever their operands.
#[test]
fn objects_of_a_class_that_is_not_in_sight() {
    let made = [
        "Hid u(threadIdx.x);",
        "Hid u{threadIdx.x};",
        "Hid u(n);",
        "Hid u = n;",
        "Hid u{n};",
        "Hid u = {n};",
        "Hid u = {n, 3};",
        "Hid u = Hid(n);",
        "Hid u = Hid{n};",
        "Hid u; u = Hid(n);",
        "Hid u; u = n;",
        "Hid u;",
        "auto u = Hid(n);",
        "auto u = Hid{n};",
        "auto&& u = Hid(n);",
        "const auto& u = Hid(n);",
        "Hid<int> u(n);",
        "Hid<int> u = n;",
        "ns::Hid u(n);",
        "ns::Hid<4>::type u(n);",
        "Hid h(n); Hid u = h;",
        "Hid h(n); Hid u(h);",
        "Hid h(n); Hid& u = h;",
        "Hid h[2] = {n, n}; Hid u = h[0];",
        "Hid h[2] = {n, n}; Hid& u = h[1];",
        "struct S { Hid h; }; S s; s.h = n; auto u = s.h;",
        "struct S { Hid h; }; S s{n}; auto u = s.h;",
        "struct S { Hid h; __device__ S(int a) : h(a) {} }; S s(n); auto u = s.h;",
        "auto u = static_cast<Hid>(n);",
        "auto u = (Hid)n;",
        "auto u = (Hid<int>)n;",
        "Hid h(n); auto u = h + 1;",
        "Hid h(n); auto u = -h;",
        "Hid h(n); auto u = n > 3 ? h : h;",
        "Hid h(n); auto f = [=]() { return h; }; auto u = f();",
        "static Hid u(n);",
        "const Hid u(n);",
        "__shared__ Hid u;",
        "volatile Hid u = n;",
        "Hid u(n, 4);",
        "Hid u(1);",
        "Hid u = 1;",
    ];
    let read = [
        "int D = u.x;",
        "int D = u[0];",
        "int D = u.get(n);",
        "int D = u(n);",
        "int D = u;",
        "int D = (int)u;",
        "int D = int(u);",
        "int D = u + 1;",
        "int D = u * 2 > 3;",
        "int D = u == 3;",
        "bool D = !u;",
        "int D = *u;",
        "int D = u->x;",
        "int D = u.a.b;",
        "int D = u.a[0];",
        "auto [D, E] = u;",
        "int y = 0; if (u) y = 1; int D = y;",
        "int D = u ? 1 : 2;",
        "int y = 0; switch (u) { case 1: y = 2; break; } int D = y;",
        "int y = 0; while (u) { ++y; } int D = y;",
        "int y = 0; for (int i = 0; i < u; ++i) ++y; int D = y;",
        "int y = 0; for (auto i : u) ++y; int D = y;",
        "int a[4] = {1, 2, 3, 4}; int D = a[u];",
        "int D = static_cast<int>(u);",
        "int D = -u;",
        "int D = u++;",
        "int D = min(u, n);",
        "int D = n << u;",
        "int D; D = u;",
        "int D = n; D += u;",
        "int D = n; D = D & u.x;",
        "int D = u && n;",
    ];
    let check = |wrong: &mut Vec<String>, body: &str| {
        if cuda("", "", body) == Class::Uniform {
            wrong.push(body.to_string());
        }
    };
    let mut wrong = Vec::new();
    for made in made {
        for read in read {
            check(&mut wrong, &format!("{made} {read}"));
        }
    }
    for changed in [
        "u.x = n;",
        "u = n;",
        "u[0] = n;",
        "u += n;",
        "++u;",
        "u.set(n);",
        "hid(u);",
        "hid(&u);",
        "u.x = 3; u.y = 4;",
    ] {
        for read in read {
            check(&mut wrong, &format!("Hid u; {changed} {read}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for made in [
        "Hid u;",
        "Hid u = n;",
        "Hid u = (Hid)n;",
        "Hid<int> u;",
        "Hid u = Hid(n);",
    ] {
        for read in [
            "int D = u.x;",
            "int D = u[0];",
            "int D = u.get(n);",
            "int D = u;",
            "int D = u + 1;",
            "int D = (int)u;",
            "int D = int(u);",
            "int D = u.xy.x;",
        ] {
            varies_in_hlsl("", &format!("{made} {read}"));
        }
    }
}

/// Code that nests too deeply to be read may still assign.
#[test]
fn what_nests_too_deeply() {
    let (open, close) = ("(".repeat(240), ")".repeat(240));
    varies(
        "",
        &format!("int y=n; int z={open}y = threadIdx.x{close}; int D=y;"),
    );
    varies(
        "",
        &format!(
            "int y=n; {} y = threadIdx.x; {} int D=y;",
            "if (n) {".repeat(240),
            "}".repeat(240)
        ),
    );
    let sum = vec!["y"; 300].join(" + ");
    assert_eq!(
        cuda("", "", &format!("int y=n; int z = {sum}; int D = y;")),
        Class::Uniform
    );
}

#[test]
fn what_stays_uniform_beside_types_that_are_not_declared() {
    let enumerators = "template <HidMode M>";
    assert_eq!(
        cuda(enumerators, "", "int y = 0; if (M == 3) y = 1; int D = y;"),
        Class::Uniform
    );
    let template = "template <typename T>";
    assert_eq!(
        cuda(template, ", T a", "T s = a; s += 1; int D = s;"),
        Class::Uniform
    );
    let tile = "namespace cg = cooperative_groups;";
    assert_eq!(
        cuda(
            tile,
            "",
            "cg::thread_block b = cg::this_thread_block(); int D = b.size();"
        ),
        Class::Uniform
    );
    assert_eq!(
        cuda(
            "",
            "",
            "cooperative_groups::thread_block b = cooperative_groups::this_thread_block(); int D = b.group_index().x;"
        ),
        Class::Uniform
    );
}

#[test]
fn assembly_text() {
    for text in [
        r#""mov.u32 %0, %laneid;" : "=r"(D)"#,
        r#""mov.u32 %0, %%laneid;" : "=r"(D)"#,
        r#""mov.u32 %0, %clock;" : "=r"(D) :: "memory""#,
        r#""mov.u32 %0, %globaltimer_lo;" : "=r"(D)"#,
        r#"HID(%0) : "=r"(D)"#,
        r#"HID(%0, %1) : "=r"(D) : "r"(n)"#,
        r#""add.s32 %0, %1, " HID ";" : "=r"(D) : "r"(n)"#,
        r#""" : "=r"(D)"#,
        r#""/* one */ mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0}, {%1};" : "=r"(D) : "r"(n)"#,
        r#""call (%0), hid, (%1);" : "=r"(D) : "r"(n)"#,
    ] {
        varies("", &format!("int D; asm volatile({text});"));
    }
    for text in [
        r#""add.s32 %0, %1, 3;" : "=r"(D) : "r"(n)"#,
        r#""mov.u32 %0, %smid;" : "=r"(D)"#,
        r#""mov.u32 %0, %ctaid.x;" : "=r"(D)"#,
    ] {
        assert_eq!(
            cuda("", "", &format!("int D; asm({text});")),
            Class::Uniform,
            "{text}"
        );
    }
    assert_eq!(
        cuda("", "", r#"int D = n; asm volatile("" : "+r"(D));"#),
        Class::Uniform
    );
}

/// A lambda that may assign its captures by value does so for the next call, too.
#[test]
fn a_deduced_reference_is_its_place() {
    for body in [
        "int D = n; decltype(auto) r = (D); r = threadIdx.x;",
        "int a[4] = {n, n, n, n}; decltype(auto) r = a[1]; r = threadIdx.x; int D = a[1];",
        "int D = n; int *p = &D; decltype(auto) r = *p; r = threadIdx.x;",
    ] {
        varies("", body);
    }
    let copied = "int D = n; decltype(auto) r = D; r = threadIdx.x;";
    assert_eq!(cuda("", "", copied), Class::Uniform);
    let sum = "int D = n; decltype(auto) r = (D + 1); r = threadIdx.x;";
    assert_eq!(cuda("", "", sum), Class::Uniform);
}

#[test]
fn what_a_mutable_lambda_holds() {
    for body in [
        "int y = n; auto f = [y]() mutable { y += threadIdx.x; return y; }; int D = f();",
        "int y = n; auto f = [=]() mutable { y += threadIdx.x; return y; }; int D = f();",
        "auto f = [z = n]() mutable { z += threadIdx.x; return z; }; int D = f();",
        "auto f = [z = n](int k) mutable { z += k; return z; }; f(threadIdx.x); int D = f(n);",
    ] {
        varies("", body);
    }
    let kept = "int y = n; auto f = [y]() mutable { y += threadIdx.x; return y; }; f(); int D = y;";
    assert_eq!(cuda("", "", kept), Class::Uniform);
    let counted = "auto f = [z = n]() mutable { return ++z; }; f(); int D = f();";
    assert_eq!(cuda("", "", counted), Class::Uniform);
}

#[test]
fn members_by_pointer() {
    let plain = "struct S { int a, b; };";
    for body in [
        "S s{n, n}; int S::*m = &S::b; s.*m = threadIdx.x; int D = s.b;",
        "S s{n, n}; S* p = &s; int S::*m = &S::b; p->*m = threadIdx.x; int D = s.b;",
        "S s{n, n}; int S::*m = &S::b; int D = s.*m;",
    ] {
        varies(plain, body);
    }
}
