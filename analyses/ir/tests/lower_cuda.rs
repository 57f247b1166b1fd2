//! CUDA sources lowered and executed: each kernel writes one word a lane, and C++ says which.

use lockstep_ir::lower::c_family::{LowerOptions, Lowered, lower_unit};
use lockstep_ir::verify::verify_module;
use lockstep_ir::{BindingKind, FunctionKind, Language, Op, Space};
use oracle::interp::{Argument, Buffer, Launch, run};
use syntax::c_family::{Dialect, parse_text};

fn lower(source: &str) -> Vec<Lowered> {
    let items = parse_text(source, Dialect::Cuda);
    let lowered = lower_unit(&items, &LowerOptions::new(Language::Cuda));
    lowered.into_iter().map(|(_, lowered)| lowered).collect()
}

/// The kernel of a source, verified, without unknowns.
fn kernel(source: &str) -> Lowered {
    let all = lower(source);
    let kernel = all
        .into_iter()
        .find(|l| l.module.functions[0].kind == FunctionKind::Kernel)
        .expect("a kernel");
    if let Err(errors) = verify_module(&kernel.module) {
        panic!("{}", errors[0]);
    }
    let unknowns: Vec<_> = kernel.module.functions[0].unknowns.values().collect();
    assert!(unknowns.is_empty(), "{unknowns:?}");
    assert!(kernel.problems.is_empty(), "{:?}", kernel.problems);
    kernel
}

/// Runs a kernel of one `int*` on eight lanes.
fn words(source: &str) -> Vec<i32> {
    let kernel = kernel(source);
    let mut launch = Launch::new(8);
    launch.buffers = vec![Buffer::of_u32([0; 8])];
    launch.parameters = vec![Argument::Pointer {
        buffer: 0,
        offset: 0,
    }];
    let outcome = run(&kernel.module, &launch);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    outcome.buffers[0]
        .words()
        .into_iter()
        .map(|w| w as i32)
        .collect()
}

/// Runs statements that compute `r` from the lane `i`.
fn body(statements: &str) -> Vec<i32> {
    words(&format!(
        "__global__ void k(int* out) {{ int i = threadIdx.x; int r = 0; {statements} out[i] = r; }}"
    ))
}

fn lanes(f: impl Fn(i32) -> i32) -> Vec<i32> {
    (0..8).map(f).collect()
}

#[test]
fn integers_promote_wrap_and_divide_as_in_c() {
    assert_eq!(
        body("unsigned char c = i + 254; r = c + 1;"),
        lanes(|i| ((i + 254) & 255) + 1)
    );
    assert_eq!(
        body("r = (-7 - i) / 2 * 100 + (-7 - i) % 2;"),
        lanes(|i| (-7 - i) / 2 * 100 + (-7 - i) % 2)
    );
    assert_eq!(body("r = -1 < 0u ? 1 : 2;"), lanes(|_| 2));
    assert_eq!(body("r = (-8 - i) >> 1;"), lanes(|i| (-8 - i) >> 1));
    assert_eq!(
        body("r = (0xfffffff8u + i) >> 28;"),
        lanes(|i| ((0xffff_fff8u32.wrapping_add(i as u32)) >> 28) as i32)
    );
    assert_eq!(
        body("long long w = 1LL << (32 + i); r = (int)(w >> 30);"),
        lanes(|i| 1 << (i + 2))
    );
    assert_eq!(
        body("r = sizeof(float4) * 10 + sizeof(size_t); r += (char)(200 + i);"),
        lanes(|i| 168 + (200 + i) as u8 as i8 as i32)
    );
}

#[test]
fn floats_convert_and_compare() {
    assert_eq!(
        body("float f = i * 1.5f; r = (int)(f * 2.0);"),
        lanes(|i| i * 3)
    );
    assert_eq!(
        body(
            "r = (i - 4) * 0.5f < 0 ? -1 : f2(i); "
                .replace("f2(i)", "(int)sqrtf((float)(i * i))")
                .as_str()
        ),
        lanes(|i| if i < 4 { -1 } else { i })
    );
    assert_eq!(
        body("bool b = i; r = b + b;"),
        lanes(|i| 2 * i32::from(i != 0))
    );
}

#[test]
fn control_flow_goes_where_c_says() {
    assert_eq!(
        body(
            "for (int j = 0; j < 10; ++j) { if (j == i) continue; if (j > i + 3) break; r += j; }"
        ),
        lanes(|i| (0..10)
            .take_while(|j| *j <= i + 3)
            .filter(|j| *j != i)
            .sum())
    );
    assert_eq!(
        body(
            "switch (i) { case 0: r = 5; break; case 1: r = 7; case 2: r += 1; break; default: r = 9; }"
        ),
        lanes(|i| match i {
            0 => 5,
            1 => 8,
            2 => 1,
            _ => 9,
        })
    );
    assert_eq!(
        body("int n = i; do { r += n; } while (--n > 0);"),
        lanes(|i| if i == 0 { 0 } else { i * (i + 1) / 2 })
    );
    assert_eq!(
        body("again: r += 2; if (r < i) goto again;"),
        lanes(|i| ((i + 1) / 2 * 2).max(2))
    );
    assert_eq!(
        body("int a[4] = {1, 2}; r = (i < 4 && a[i] > 0) || i == 7;"),
        lanes(|i| i32::from(i < 2 || i == 7))
    );
    assert_eq!(
        body("int n = 0; while (n < i) { n++; if (n == 3) break; } r = n;"),
        lanes(|i| i.min(3))
    );
}

#[test]
fn variables_are_slots_or_memory_as_they_are_used() {
    assert_eq!(
        body("int a[8]; for (int j = 0; j < 8; j++) a[j] = j * j; r = a[i];"),
        lanes(|i| i * i)
    );
    assert_eq!(
        body("int a[2]; a[0] = i; a[1] = 3; r = a[0] * a[1];"),
        lanes(|i| i * 3)
    );
    assert_eq!(
        body("int x = i; int* p = &x; *p += 4; int** q = &p; **q *= 2; r = x;"),
        lanes(|i| (i + 4) * 2)
    );
    assert_eq!(
        body("float f = 1.0f; r = *(int*)&f >> 20; r += *reinterpret_cast<int*>(&f) & 0;"),
        lanes(|_| 0x3f8)
    );
    assert_eq!(
        body("union { float f; int n; } u; u.f = 2.0f; r = u.n >> 20;"),
        lanes(|_| 0x400)
    );
    // A pointer into two spaces.
    assert_eq!(
        words("__global__ void k(int* out) { __shared__ int s[8]; int i = threadIdx.x; out[i] = 0; s[i] = 10 + i; __syncthreads();
            int* p = out + i; if (i & 1) p = &s[i]; *p += 5; __syncthreads(); out[i] += s[i]; }"),
        lanes(|i| 15 + i)
    );
}

#[test]
fn calls_are_inlined_with_references_overloads_and_defaults() {
    let helpers = "
        __device__ int twice(int x) { return 2 * x; }
        __device__ float twice(float x) { return 3.0f * x; }
        __device__ void bump(int& x, int by = 1) { x += by; }
        __device__ void store(int* p, int v) { *p = v; }
        __device__ int pick(int a) { if (a > 3) return 100; for (int j = 0; j < a; j++) if (j == 2) return 50; return a; }
        template <typename T> __device__ T largest(T a, T b) { return a > b ? a : b; }
        template <int N, typename T> __device__ T scaled(T a) { if constexpr (N > 2) return a * N; else return a; }
        template <typename... Ts> __device__ int total(Ts... xs) { return (0 + ... + xs); }
        __device__ int fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }
    ";
    let run = |statements: &str| {
        words(&format!(
            "{helpers} __global__ void k(int* out) {{ int i = threadIdx.x; int r = 0; {statements} out[i] = r; }}"
        ))
    };
    assert_eq!(
        run("r = twice(i) + (int)twice(1.0f);"),
        lanes(|i| 2 * i + 3)
    );
    assert_eq!(run("r = i; bump(r); bump(r, 5);"), lanes(|i| i + 6));
    assert_eq!(
        run("store(&r, i + 1); int a[2]; store(&a[1], 4); r += a[1];"),
        lanes(|i| i + 5)
    );
    assert_eq!(
        run("r = pick(i);"),
        lanes(|i| if i > 3 {
            100
        } else if i == 3 {
            50
        } else {
            i
        })
    );
    assert_eq!(
        run("r = largest(i, 4) + scaled<3>(i) + scaled<1>(i);"),
        lanes(|i| i.max(4) + 4 * i)
    );
    assert_eq!(run("r = total(i, 1, 2);"), lanes(|i| i + 3));
    assert_eq!(run("r = fact(i);"), lanes(|i| (1..=i).product()));
    assert_eq!(
        run("int k = 3; auto f = [&](int x) { r += k; return x * k; }; k = 4; r += f(i);"),
        lanes(|i| 4 + 4 * i)
    );
    assert_eq!(
        run("int k = 3; auto f = [=](int x) { return x * k; }; k = 4; r = f(i);"),
        lanes(|i| 3 * i)
    );
}

#[test]
fn classes_have_members_methods_operators_and_bases() {
    let classes = "
        struct Base { int b; __device__ int base() const { return b + 1; } };
        struct V : Base {
            int x = 3, y;
            static constexpr int K = 10;
            enum { SIX = 6 };
            __device__ V(int n) : y(n) { b = n; }
            __device__ V operator+(const V& o) const { V v(y + o.y); v.x = x + o.x; return v; }
            __device__ int& at(int n) { return n == 0 ? x : y; }
            __device__ int sum() const { return x + y + K + SIX; }
        };
        template <typename T, int N> struct Arr { T v[N]; __device__ T& operator[](int n) { return v[n]; } static constexpr int size = N; };
        template <typename T> struct Arr<T, 1> { T v; __device__ int one() { return 11; } };
        struct Add { int by; __device__ int operator()(int x) const { return x + by; } };
        template <typename F> __device__ int apply(F f, int x) { return f(x); }
    ";
    let run = |statements: &str| {
        words(&format!(
            "{classes} __global__ void k(int* out) {{ int i = threadIdx.x; int r = 0; {statements} out[i] = r; }}"
        ))
    };
    assert_eq!(
        run("V a(i), b(2); V c = a + b; r = c.sum() * 100 + c.base();"),
        lanes(|i| (6 + i + 2 + 16) * 100 + i + 3)
    );
    assert_eq!(
        run("V a(i); a.at(1) += 5; a.at(0) = 1; r = a.y * 10 + a.x;"),
        lanes(|i| (i + 5) * 10 + 1)
    );
    assert_eq!(
        run(
            "Arr<int, 4> a; for (int j = 0; j < a.size; j++) a[j] = j + i; r = a[3]; Arr<int, 1> s; r += s.one();"
        ),
        lanes(|i| i + 3 + 11)
    );
    assert_eq!(
        run("r = apply(Add{5}, i) + apply([](int x) { return 2 * x; }, i);"),
        lanes(|i| 3 * i + 5)
    );
    assert_eq!(
        run("float3 f = make_float3(i, 1, 2); f.x += f.z; r = (int)(f.x * f.y);"),
        lanes(|i| i + 2)
    );
}

#[test]
fn warps_and_atomics() {
    assert_eq!(
        body("r = __shfl_xor_sync(0xffffffff, i, 1);"),
        lanes(|i| i ^ 1)
    );
    assert_eq!(
        body(
            "__shared__ int n; if (i == 0) n = 0; __syncthreads(); atomicAdd(&n, i); __syncthreads(); r = n;"
        ),
        lanes(|_| 28)
    );
}

#[test]
fn every_declaration_write_and_read_is_bound() {
    let lowered = kernel(
        "__global__ void k(float* out, int n) { int i = threadIdx.x; if (i < n) { float v = out[i]; v += 1; out[i] = v; } }",
    );
    let function = &lowered.module.functions[0];
    let of = |name: &str, kind: BindingKind| {
        function
            .bindings
            .iter()
            .filter(|b| function.variables[b.variable].name == name && b.kind == kind)
            .count()
    };
    assert_eq!(
        (
            of("i", BindingKind::Declaration),
            of("i", BindingKind::Read)
        ),
        (1, 3)
    );
    assert_eq!(
        (
            of("v", BindingKind::Declaration),
            of("v", BindingKind::Assignment),
            of("v", BindingKind::Read)
        ),
        (1, 1, 1)
    );
    assert_eq!(
        (of("out", BindingKind::Read), of("n", BindingKind::Read)),
        (2, 1)
    );
}

#[test]
fn what_is_not_understood_is_unknown_and_the_rest_goes_on() {
    let all = lower(
        "__global__ void k(int* out) { int i = threadIdx.x; out[i] = mystery(i) + nowhere; }",
    );
    let lowered = &all[0];
    assert!(verify_module(&lowered.module).is_ok());
    assert_eq!(lowered.problems.len(), 2);
    let function = &lowered.module.functions[0];
    assert!(
        function
            .insts
            .values()
            .any(|d| matches!(&d.op, Op::CallUnknown { name, .. } if name == "mystery"))
    );
    assert!(
        function
            .insts
            .values()
            .any(|d| matches!(d.op, Op::Store(_)))
    );
}

#[test]
fn unknown_template_parameters_are_uniform_symbols() {
    let all = lower(
        "template <int N, typename T> __global__ void k(T* out) { __shared__ T tile[N][N + 1]; int i = threadIdx.x; tile[i][0] = out[i]; out[i] = tile[0][i % N]; }",
    );
    let function = &all[0].module.functions[0];
    assert!(verify_module(&all[0].module).is_ok());
    assert!(
        function
            .insts
            .values()
            .any(|d| matches!(&d.op, Op::Parameter(name) if name == "N"))
    );
    assert!(
        !function
            .insts
            .values()
            .any(|d| matches!(d.op, Op::Unknown(_)))
    );
}

#[test]
fn deep_nesting_ends() {
    for (open, close) in [("(", ")"), ("{", "}"), ("-", ""), ("if (i) ", "")] {
        let source = format!(
            "__global__ void k(int* out) {{ int i = 0; {} out[0] = i; {} }}",
            open.repeat(2000),
            close.repeat(2000)
        );
        for lowered in lower(&source) {
            assert!(verify_module(&lowered.module).is_ok());
        }
    }
    let recursion = "struct A { A* a; int n; __device__ int f() { return a->f() + n; } }; __global__ void k(A a, int* out) { *out = a.f(); }";
    for lowered in lower(recursion) {
        assert!(verify_module(&lowered.module).is_ok());
    }
}

#[test]
fn functions_are_values_with_their_template_arguments() {
    let source = "typedef int (*F)(int);
        template <int N> __device__ int scale(int x) { return x * N; }
        template <int N> struct Traits { static constexpr F f = scale<N>; };
        template <F f> __device__ int apply(int x) { return f(x); }
        __global__ void k(int* out) {
            int i = threadIdx.x;
            constexpr F g = Traits<3>::f;
            F h = scale<100>;
            out[i] = g(i) + (*h)(i) + apply<scale<1000>>(i);
        }";
    assert_eq!(words(source), lanes(|i| 1103 * i));
}

#[test]
fn member_templates_and_definitions_outside_are_found() {
    let source = "template <int W> struct S {
            template <bool C> struct Column { int at; };
            template <bool C> __device__ void start(Column<C>& c, int i) { c.at = C ? i * W : -1; }
            template <bool C> __device__ int all(int i) { Column<C> c; start(c, i); return c.at; }
            static __device__ S zero();
            int n;
        };
        template <int W> __device__ S<W> S<W>::zero() { S<W> s; s.n = W; return s; }
        __global__ void k(int* out) {
            int i = threadIdx.x;
            S<5> s = S<5>::zero();
            out[i] = s.template all<true>(i) * 10 + s.n + s.all<false>(i);
            for (int step : {100, 200}) out[i] += step;
        }";
    assert_eq!(words(source), lanes(|i| 50 * i + 304));
}

#[test]
fn a_type_that_is_not_declared_has_no_size_of_ours() {
    let all = lower(
        "struct V { Missing a; float b; }; __global__ void k(V* v) { v[threadIdx.x].b = 1; }",
    );
    let function = &all[0].module.functions[0];
    let mut symbols: Vec<&str> = function
        .insts
        .values()
        .filter_map(|d| match &d.op {
            Op::Parameter(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    symbols.sort_unstable();
    assert_eq!(symbols, ["offsetof(V, b)", "sizeof(V)"]);
}

#[test]
fn volatile_variables_are_read_and_written_as_such() {
    let all = lower(
        "volatile __device__ int flag; __global__ void k(int* out) { volatile __shared__ int tile[8]; tile[threadIdx.x] = flag; out[0] = tile[1]; }",
    );
    let function = &all[0].module.functions[0];
    let volatile = |d: &&lockstep_ir::InstData| match &d.op {
        Op::Load(access) | Op::Store(access) => access.volatile,
        _ => false,
    };
    assert_eq!(function.insts.values().filter(volatile).count(), 3);
}

#[test]
fn what_the_source_does_not_decide_is_a_note() {
    let all = lower(
        "__device__ int elsewhere(int); template <typename T> __global__ void k(T* out, int (*f)(int)) { out[0] = elsewhere(f(1)); }",
    );
    let problems = &all[0].problems;
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(problems.iter().all(|p| p.kind == syntax::ProblemKind::Note));
}

#[test]
fn a_specialisation_is_never_taken_for_an_unknown_argument() {
    let all = lower(
        "template <int N> struct Traits; template <> struct Traits<1> { static constexpr int q = 7; };
        template <int N> __global__ void k(int* out) { out[0] = Traits<N>::q; out[1] = Traits<1>::q; }",
    );
    let function = &all[0].module.functions[0];
    let symbol =
        |d: &&lockstep_ir::InstData| matches!(&d.op, Op::Parameter(n) if n.ends_with("::q"));
    assert_eq!(function.insts.values().filter(symbol).count(), 1);
    let seven = |d: &&lockstep_ir::InstData| matches!(d.op, Op::Const(7));
    assert_eq!(function.insts.values().filter(seven).count(), 1);
    assert!(
        all[0]
            .problems
            .iter()
            .all(|p| p.kind == syntax::ProblemKind::Note)
    );
}

#[test]
fn a_template_given_as_an_argument_is_instantiated_with_what_it_is_given() {
    let out = words(
        "namespace traits { template <typename T> struct Plain { typedef T* Pointer; }; \
         template <typename T> struct Wide { typedef double* Pointer; static constexpr int n = sizeof(T); }; } \
         template <typename T, int Dim, template <typename U> class Traits = traits::Plain> class Tensor { public: \
         typedef typename Traits<T>::Pointer Data; \
         __device__ Data data() { return data_; } \
         __device__ T& operator[](int i) { return data_[i]; } Data data_; }; \
         template <template <typename> class P> __device__ int width() { return P<short>::n + (int)sizeof(typename P<char>::Pointer); } \
         __global__ void k(int* out) { Tensor<int, 1> t; t.data_ = out; t[threadIdx.x] = 0; \
         *(t.data() + threadIdx.x) += threadIdx.x + width<traits::Wide>(); }",
    );
    assert_eq!(out, lanes(|i| i + 2 + 8));
}

#[test]
fn a_jump_out_of_loops_goes_where_its_label_stands() {
    let found = "int a = 0; int b = 0; for (a = 0; a < 4; a++) { for (b = 0; b < 4; b++) { if (a * 4 + b == i) goto out; } } \
        out: r = a * 10 + b;";
    assert_eq!(body(found), lanes(|i| i / 4 * 10 + i % 4));
    let around = "int a = 0; next: while (a < 6) { a++; while (true) { r += a; if (r > i) goto next; a++; } } r += 100 * a;";
    let expected = |i: i32| {
        let (mut r, mut a) = (0, 0);
        while a < 6 {
            a += 1;
            loop {
                r += a;
                if r > i {
                    break;
                }
                a += 1;
            }
        }
        r + 100 * a
    };
    assert_eq!(body(around), lanes(expected));
    let inside = "for (int a = 0; a < 5; a++) { if (a == i) goto skip; r += a; skip: r += 10; }";
    assert_eq!(body(inside), lanes(|i| 60 - if i < 5 { i } else { 0 }));
}

#[test]
fn a_jump_out_of_a_loop_belongs_to_its_round() {
    // Lanes with one value leave together: each counts those that leave with it.
    let counted = |way: &str| {
        format!(
            "int v = i / 3; for (;;) {{ int f = __shfl_sync(__activemask(), v, __ffs(__activemask()) - 1); \
            if (f == v) {{ r = __popc(__activemask()); {way} }} }} done: r += 0;"
        )
    };
    let together = lanes(|i| if i < 6 { 3 } else { 2 });
    assert_eq!(body(&counted("break;")), together);
    assert_eq!(body(&counted("goto done;")), together);
}

#[test]
fn a_template_argument_that_is_no_number_can_be_used_behind_its_block() {
    let all = lower(
        "template <int N> struct Width { static constexpr int n = N; __device__ int twice() const { return 2 * N; } }; \
        template <int N> __device__ auto wider(int i) { if (i > 3) { i++; } return Width<N * 2 + 1>{}; } \
        template <int N> __global__ void k(int* out) { int i = threadIdx.x; \
        if (i < 4) { using W = decltype(wider<N + 1>(i)); W w; out[i] = w.twice() + W::n; } \
        auto v = wider<N + 1>(i); out[i] += v.twice(); }",
    );
    for lowered in &all {
        if let Err(errors) = verify_module(&lowered.module) {
            panic!("{}", errors[0]);
        }
    }
}

#[test]
fn results_are_typed_by_expressions_of_parameters() {
    let out = words(
        "template <class T> __device__ auto twice(T a) -> decltype(a + a) { return a + a; } \
        template <class A, class B> __device__ auto larger(A a, B b) -> decltype(a < b ? b : a) { return a < b ? b : a; } \
        template <class T> __device__ auto fourfold(T a) -> decltype(twice(a) + twice(a)) { return twice(a) + twice(a); } \
        template <class C> __device__ auto at(C& c, int i) -> decltype((c[i])) { return c[i]; } \
        template <class... Ts> __device__ auto count(Ts... ts) -> decltype(sizeof...(ts) + 0) { return sizeof...(ts); } \
        __global__ void k(int* out) { int i = threadIdx.x; short s = i * 1000; int few[2] = {0, 0}; at(few, 1) = 50; \
        out[i] = fourfold(s) + (int)(larger(i, 2.5f) * 2) + at(few, 1) + count(i, s, 2.f) + 100 * twice(i) / 2; }",
    );
    let expected = |i: i32| i * 4000 + (f64::from(i).max(2.5) * 2.0) as i32 + i * 100 + 50 + 3;
    assert_eq!(out, lanes(expected));
}

#[test]
fn aliases_mean_the_same_wherever_they_are_named() {
    let out = words(
        "template <bool B, typename T, typename F> struct choose { using type = T; }; \
        template <typename T, typename F> struct choose<false, T, F> { using type = F; }; \
        template <bool B, typename T, typename F> using choose_t = typename choose<B, T, F>::type; \
        struct base { using word = short; }; \
        struct derived : base { word w; template <int N> using of = choose_t<(N > 2), int, char>; }; \
        __global__ void k(int* out) { choose_t<true, int, char> a = threadIdx.x; choose_t<false, int, char> b = a + 256; \
        out[threadIdx.x] = a + b + sizeof(derived::of<1>) + 10 * sizeof(derived::of<3>) + 100 * sizeof(derived); }",
    );
    assert_eq!(out, lanes(|i| i + i + 1 + 40 + 200));
}

#[test]
fn an_object_that_converts_to_a_number_takes_part_in_arithmetic() {
    let out = words(
        "template <typename T> struct Cell { T* at; __device__ operator T&() { return *at; } \
        __device__ operator const T&() const { return *at; } __device__ Cell operator=(T v) { *at = v; return *this; } }; \
        template <typename T> struct Row { T* at; __device__ Cell<T> operator[](int i) { return Cell<T>{at + i}; } }; \
        __global__ void k(int* out) { Row<int> row{out}; int i = threadIdx.x; row[i] = i; row[i] += 5; \
        if (row[i] == 7) row[i] = row[i] * 10; row[i] -= row[i] / 2; }",
    );
    let expected = |i: i32| {
        let v = if i + 5 == 7 { 70 } else { i + 5 };
        v - v / 2
    };
    assert_eq!(out, lanes(expected));
}

#[test]
fn an_instance_that_calls_the_next_one_does_not_call_itself() {
    let out = words(
        "template <int N> struct Sum { static __device__ int of(const int* v) { return v[0] + Sum<N - 1>::of(v + 1); } }; \
        template <> struct Sum<0> { static __device__ int of(const int*) { return 0; } }; \
        __global__ void k(int* out) { int v[4] = {1, 2, 3, (int)threadIdx.x}; out[threadIdx.x] = Sum<4>::of(v); }",
    );
    assert_eq!(out, lanes(|i| i + 6));
}

#[test]
fn the_size_of_an_array_is_deduced_where_its_number_is_not_known() {
    let all = lower(
        "template <int N> __device__ void fill(float (&a)[N], float v) { for (int i = 0; i < N; i++) a[i] = v; } \
        template <int W> __global__ void k(float* out) { float a[W]; fill(a, 1.f); out[threadIdx.x] = a[W - 1]; }",
    );
    let kernel = all
        .iter()
        .find(|l| l.module.functions[0].kind == FunctionKind::Kernel);
    let kernel = kernel.expect("a kernel");
    assert!(
        kernel.module.functions[0]
            .unknowns
            .values()
            .next()
            .is_none()
    );
    assert!(verify_module(&kernel.module).is_ok());
}

#[test]
fn an_array_that_becomes_a_pointer_is_pointed_to() {
    let with = |body: &str| {
        words(&format!(
            "__device__ int second(const int* v) {{ return v[1]; }} __device__ const int* same(const int* v) {{ return v; }} \
            __device__ void put(int* v, int x) {{ v[1] = x; }} struct Three {{ int a[3]; }}; struct Held {{ const int* at; \
            __device__ Held(const int* a) : at(a) {{}} }}; struct Plain {{ const int* at; }}; \
            __global__ void k(int* out) {{ int i = threadIdx.x; int v[4] = {{1, i + 7, 3, i}}; int r = 0; {body} out[i] = r; }}"
        ))
    };
    let seven = lanes(|i| i + 7);
    for body in [
        "r = second(v);",
        "const int* p; p = v; r = p[1];",
        "const int* p = v; r = p[1];",
        "r = same(v)[1];",
        "Held h(v); r = h.at[1];",
        "Plain p{v}; r = p.at[1];",
        "auto f = [](const int* q) { return q[1]; }; r = f(v);",
        "Three s; s.a[1] = i + 7; r = second(s.a);",
        "int w[2][2] = {{0, 1}, {2, i + 7}}; r = second(w[1]);",
        "int2 t = *reinterpret_cast<const int2*>(v); r = t.y + *v - 1;",
        "v[0] = 0; put(v, i + 7); r = v[0] + v[1];",
        "int* p = v + 1; p[0] = i + 6; r = v[1] + 1;",
        "r = (i < 4 ? v : v + 0)[1];",
    ] {
        assert_eq!(with(body), seven, "{body}");
    }
}

#[test]
fn a_template_that_calls_itself_for_an_unknown_number_is_entered_once() {
    let all = lower(
        "template <int N> struct Net { static __device__ void sort(int* v) { v[N] = N; Net<N / 2>::sort(v); Net<N / 2>::sort(v + N); } }; \
        template <> struct Net<0> { static __device__ void sort(int* v) {} }; \
        template <int N> __global__ void k(int* out) { Net<N>::sort(out); } __global__ void known(int* out) { Net<8>::sort(out); }",
    );
    let kernels: Vec<&Lowered> = all
        .iter()
        .filter(|l| l.module.functions[0].kind == FunctionKind::Kernel)
        .collect();
    assert!(kernels[0].module.functions[0].insts.len() < 100);
    let told = |l: &Lowered| {
        let mut problems = l.problems.iter();
        problems.any(|p| p.kind != syntax::ProblemKind::Note)
    };
    assert!(told(kernels[0]) && !told(kernels[1]));
}

#[test]
fn functions_of_the_library_are_known_by_their_names() {
    // As a header writes them: by compiler's functions and types that only a whole C++ compiler computes.
    let header = "namespace std {
        template <class T, class U> struct promoted { typedef decltype(hidden(T(), U())) type; };
        template <class T> constexpr const T& min(const T& a, const T& b) noexcept(hidden<T>) { return b < a ? b : a; }
        template <class T, class U> typename promoted<T, U>::type pow(T x, U y) { return pow((typename promoted<T, U>::type)x, y); }
        inline bool isnan(float x) { return hidden(x); }
        inline float fmax(float x, float y) { return __builtin_is_constant_evaluated() ? hidden(x) : __builtin_fmaxf(x, y); }
    } using std::min; using std::pow;\n";
    let of = |body: &str| {
        words(&format!(
            "{header} __global__ void k(int* out) {{ int i = threadIdx.x; out[i] = {body}; }}"
        ))
    };
    assert_eq!(of("min(i, 3)"), lanes(|i| i.min(3)));
    assert_eq!(of("std::min(i, 3)"), lanes(|i| i.min(3)));
    assert_eq!(of("(int)pow(2.0f, i)"), lanes(|i| 1 << i));
    assert_eq!(of("std::isnan((float)i)"), lanes(|_| 0));
    assert_eq!(of("(int)std::fmax((float)i, 3.f)"), lanes(|i| i.max(3)));
    // A user's own goes before it.
    let own = "namespace mine { __device__ int min(int a, int b) { return a + b; }
        __global__ void k(int* out) { int i = threadIdx.x; out[i] = min(i, 3); } }";
    assert_eq!(words(&format!("{header} {own}")), lanes(|i| i + 3));
}

#[test]
fn a_barrier_of_the_library_is_waited_at() {
    let header = "namespace cuda { enum thread_scope { thread_scope_block };
        template <thread_scope S, class F = int> class barrier { long phase; public:
          __device__ long arrive() { return hidden(&phase); }
          __device__ void wait(long token) { while (!hidden(&phase, token)); } }; }\n";
    let source = format!(
        "{header} __global__ void k(int* out) {{
           __shared__ cuda::barrier<cuda::thread_scope_block> b;
           if (threadIdx.x == 0) init(&b, blockDim.x);
           __syncthreads();
           auto token = b.arrive(); b.wait(std::move(token)); out[threadIdx.x] = 1; }}"
    );
    let kernel = kernel(&source);
    let insts = kernel.module.functions[0].insts.values();
    let waits = insts.filter(|data| matches!(data.op, Op::Barrier(_)));
    assert_eq!(waits.count(), 2);
}

/// The spaces of a kernel's loads and stores, in order.
fn spaces(source: &str) -> Vec<Space> {
    let lowered = kernel(source);
    let function = &lowered.module.functions[0];
    let insts = function.layout.iter();
    let insts = insts.flat_map(|&block| &function.blocks[block].insts);
    insts
        .filter_map(|&inst| match &function.insts[inst].op {
            Op::Load(access) | Op::Store(access) => Some(access.space),
            _ => None,
        })
        .collect()
}

#[test]
fn accesses_through_generic_pointers_have_the_space_of_what_they_lead_to() {
    use Space::{Generic, Global, Local, Shared};
    let view = "struct View { int* data; int stride;
        __device__ View(int* d, int s) : data(d), stride(s) {}
        __device__ int& operator[](int i) { return data[i * stride]; } };\n";
    let of = |body: &str| {
        let text =
            format!("{view}__global__ void k(int* p, int* q, int** table, int n) {{ {body} }}");
        spaces(&text)
    };
    assert_eq!(of("View v(p, n); v[1] = v[2];"), [Global, Global]);
    assert_eq!(
        of("int* at = n > 3 ? p : q; View v(at, 1); v[0] = 1;"),
        [Global]
    );
    let shared = "__shared__ int s[32]; ";
    assert_eq!(
        of(&format!("{shared} View v(s, 1); v[threadIdx.x] = 1;")),
        [Shared]
    );
    let either = format!("{shared} int* at = n > 3 ? p : s; View v(at, 1); v[0] = 1;");
    assert_eq!(of(&either), [Generic]);
    // What is loaded may lead anywhere.
    assert_eq!(of("View v(table[0], 1); v[0] = 1;"), [Global, Generic]);
    // A loop that merges only what it began with.
    let walk = "for (int* at = p; at != p + n; ++at) { View v(at, 1); v[0] = 1; }";
    assert_eq!(of(walk), [Global]);
    // What a kernel is given by value, and large, lies in constant memory; what it points to does not.
    let large = format!(
        "{view}struct Large {{ int* of[400]; }}; __global__ void k(Large l, int i) {{ View v(l.of[i], 1); v[0] = 1; }}"
    );
    assert_eq!(spaces(&large), [Space::Constant, Global]);
    let own = "int own[64]; own[n] = 1; View v(own, 1); v[n] = 2; p[0] = own[n & 3];";
    assert!(of(own).iter().all(|space| matches!(space, Local | Global)));
}
