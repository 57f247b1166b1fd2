//! The facts about a kernel that the launches in sight tell: the shape of its blocks and its template
//! arguments, as the text of host code shows them. A `?` is a value that nothing in sight determines; the
//! value of a variable counts only where nothing can have changed it.

use lockstep_ir::Language;
use lockstep_ir::lower::c_family::{Assumed, LowerOptions, lower_unit};
use syntax::c_family::{Dialect, parse_text};

fn assumed(text: &str) -> Assumed {
    let items = parse_text(text, Dialect::Cuda);
    for item in &items {
        assert!(item.problems.is_empty(), "{text}: {:?}", item.problems);
    }
    let lowered = lower_unit(&items, &LowerOptions::new(Language::Cuda));
    let mut all = lowered.into_iter().map(|(_, lowered)| lowered);
    let kernel = all.find(|lowered| lowered.module.functions[0].name == "k");
    kernel.expect("a kernel").assumed
}

fn block(text: &str) -> String {
    let axis = |size: Option<u32>| size.map_or("?".to_owned(), |size| size.to_string());
    assumed(text).block.map(axis).join(" ")
}

#[test]
fn blocks_have_the_shape_that_all_launches_agree_on() {
    for (statements, expected) in [
        ("k<<<n, 256>>>(p);", "256 1 1"),
        ("k<<<1, 8 * 4 + 2>>>(p);", "34 1 1"),
        ("k<<<1, (1 << 5) - 1>>>(p);", "31 1 1"),
        ("k<<<1, dim3(8, 4)>>>(p);", "8 4 1"),
        ("k<<<1, dim3(8, 4, 2)>>>(p);", "8 4 2"),
        ("k<<<1, dim3{16, 2}>>>(p);", "16 2 1"),
        ("k<<<1, {4, 3, 2}>>>(p);", "4 3 2"),
        ("k<<<1, dim3()>>>(p);", "1 1 1"),
        ("k<<<1, (unsigned)(32)>>>(p);", "32 1 1"),
        (
            "k<<<1, dim3((int)8, (unsigned)(4 * 2), (2))>>>(p);",
            "8 8 2",
        ),
        ("k<<<1, ((dim3)(16))>>>(p);", "16 1 1"),
        ("k<<<1, -(-64) + (+3 & ~1)>>>(p);", "66 1 1"),
        ("k<<<1, SHAPE>>>(p);", "8 4 1"),
        ("k<<<1, dim3(n, 4)>>>(p);", "? 4 1"),
        ("k<<<1, n>>>(p);", "? 1 1"),
        ("int b = 128; k<<<1, b>>>(p);", "128 1 1"),
        (
            "const int b = 64, c = b / 2; k<<<1, dim3(b, c)>>>(p);",
            "64 32 1",
        ),
        ("size_t b{96}; k<<<1, b>>>(p);", "96 1 1"),
        ("auto b = 48; k<<<1, b>>>(p);", "48 1 1"),
        ("auto b = dim3(6, 5); k<<<1, b>>>(p);", "6 5 1"),
        ("dim3 b(8, 2); k<<<1, b>>>(p);", "8 2 1"),
        ("dim3 b = 32; k<<<1, b>>>(p);", "32 1 1"),
        ("dim3 b; k<<<1, b>>>(p);", "1 1 1"),
        ("dim3 b = {7, n, 2}; k<<<1, b>>>(p);", "7 ? 2"),
        (
            "dim3 a(8, 2, 3), b(a.x * 2, a.z); k<<<1, b>>>(p);",
            "16 3 1",
        ),
        ("dim3 a(8, 2, 3); k<<<1, a.y>>>(p);", "2 1 1"),
        ("k<<<1, WIDTH>>>(p);", "40 1 1"),
        ("k<<<1, WIDTH / 2>>>(p);", "20 1 1"),
        ("k<<<1, BLOCK>>>(p);", "? ? ?"),
        // What may have changed is not known.
        ("int b = 128; b = n; k<<<1, b>>>(p);", "? 1 1"),
        ("int b = 128; b /= 2; k<<<1, b>>>(p);", "? 1 1"),
        ("int b = 128; ++b; k<<<1, b>>>(p);", "? 1 1"),
        ("int b = 128; b--; k<<<1, b>>>(p);", "? 1 1"),
        ("int b = 128; scan(&b); k<<<1, b>>>(p);", "? 1 1"),
        ("int b = 128; choose(b); k<<<1, b>>>(p);", "? 1 1"),
        ("int b = 128; std::cin >> b; k<<<1, b>>>(p);", "? 1 1"),
        ("int b = 128; int& c = b; c = 2; k<<<1, b>>>(p);", "? 1 1"),
        ("int b = 128; int* c = &b; k<<<1, b>>>(p);", "? 1 1"),
        ("int b = 128; { int b = 64; k<<<1, b>>>(p); }", "? ? ?"),
        ("int b = 128; if (n) b = 64; k<<<1, b>>>(p);", "? 1 1"),
        (
            "int b = 128, c = 1; (n ? b : c) = 5; k<<<1, b>>>(p);",
            "? 1 1",
        ),
        ("const int b = 128; choose(b); k<<<1, b>>>(p);", "128 1 1"),
        ("int b = 128; printf(\"%d\", b); k<<<1, b>>>(p);", "128 1 1"),
        ("int b = 128, c = b; c = 3; k<<<1, b>>>(p);", "128 1 1"),
        (
            "int b = 128; int c = std::min(b, n); k<<<1, b>>>(p);",
            "128 1 1",
        ),
        ("dim3 b(8, 2); b.y = n; k<<<1, b>>>(p);", "8 ? 1"),
        ("dim3 b; b.x = 8; b.y = 4; k<<<1, b>>>(p);", "8 4 1"),
        (
            "if (n) { dim3 b; b.x = 8; k<<<1, b>>>(p); } else { dim3 b(8, 4); k<<<1, b>>>(p); }",
            "8 ? 1",
        ),
        (
            "if (n) { dim3 b(16); k<<<1, b>>>(p); } else { dim3 b(16); k<<<2, b>>>(p); }",
            "16 1 1",
        ),
        (
            "if (n) { dim3 b(16); choose(b.x); k<<<1, b>>>(p); } else { dim3 b(16); k<<<2, b>>>(p); }",
            "? ? ?",
        ),
        ("dim3 b(16); { dim3 b(8); k<<<2, b>>>(p); }", "8 1 1"),
        (
            "dim3 b(16); while (n--) { k<<<2, b>>>(p); b.x = n; }",
            "? ? ?",
        ),
        (
            "{ dim3 b(16); b.x = 8; b.x = 4; k<<<2, b>>>(p); } { int b = 4; k<<<2, b>>>(p); }",
            "? ? ?",
        ),
        ("dim3 b; if (n) b.x = 8; k<<<1, b>>>(p);", "? ? ?"),
        ("dim3 b; b.x = 8; dim3 c = b; k<<<1, c>>>(p);", "? ? ?"),
        ("dim3 b(8, 2); b.x++; k<<<1, b>>>(p);", "? ? ?"),
        ("dim3 b(8, 2); choose(b); k<<<1, b>>>(p);", "? ? ?"),
        ("auto [b, c] = sizes(); k<<<1, b>>>(p);", "? ? ?"),
        ("auto b = sizes(); k<<<1, b>>>(p);", "? ? ?"),
        ("float b = 128; k<<<1, b>>>(p);", "? ? ?"),
        ("auto f = [&](int b) { k<<<1, b>>>(p); }; f(3);", "? ? ?"),
        ("auto f = [b = 32]() { k<<<1, b>>>(p); };", "? ? ?"),
        ("int b = 32; auto f = [b]() { k<<<1, b>>>(p); };", "32 1 1"),
        // Several launches.
        ("k<<<1, 64>>>(p); k<<<2, 64>>>(p);", "64 1 1"),
        ("k<<<1, 64>>>(p); k<<<2, 32>>>(p);", "? 1 1"),
        (
            "k<<<1, dim3(64, 2)>>>(p); k<<<2, dim3(64, 4)>>>(p);",
            "64 ? 1",
        ),
        (
            "if (n) { k<<<1, 64>>>(p); } else { for (;;) k<<<2, 64>>>(p); }",
            "64 1 1",
        ),
        (
            "switch (n) { case 0: k<<<1, 64>>>(p); break; default: k<<<2, n>>>(p); }",
            "? 1 1",
        ),
        (
            "while (n--) { do { k<<<1, 16>>>(p); } while (n > 3); }",
            "16 1 1",
        ),
        ("k2<<<1, 64>>>(p);", "? ? ?"),
        ("", "? ? ?"),
    ] {
        let text = format!(
            "constexpr int WIDTH = 40; static const dim3 SHAPE(8, 4); extern dim3 BLOCK; void choose(int& b); dim3 sizes();\n\
             __global__ void k(float* p) {{ p[threadIdx.x] = 1; }} __global__ void k2(float* p) {{ p[0] = 1; }}\n\
             void host(float* p, int n) {{ {statements} }}"
        );
        assert_eq!(block(&text), expected, "{statements}");
    }
}

#[test]
fn launches_are_seen_wherever_a_function_stands() {
    let kernel = "__global__ void k(float* p) { p[threadIdx.x] = 1; }";
    for (text, expected) in [
        (
            "struct S { void f(float* p) { k<<<1, 24>>>(p); } };",
            "24 1 1",
        ),
        (
            "struct S { int width; void f(float* p) { k<<<1, width>>>(p); } };",
            "? ? ?",
        ),
        (
            "struct S { struct T { static void f(float* p) { k<<<1, 24>>>(p); } }; };",
            "24 1 1",
        ),
        (
            "struct S { void f(float* p); }; void S::f(float* p) { k<<<1, width>>>(p); }",
            "? ? ?",
        ),
        (
            "namespace n { void f(float* p) { k<<<1, 24>>>(p); } }",
            "24 1 1",
        ),
        (
            "template <int N> void f(float* p) { k<<<1, N>>>(p); }",
            "? ? ?",
        ),
        (
            "template <int N> struct S { void f(float* p) { k<<<1, N * 2>>>(p); } };",
            "? 1 1",
        ),
        (
            "template <int N> void f(float* p) { k<<<N, 32>>>(p); }",
            "32 1 1",
        ),
        (
            "void f(float* p) { cudaLaunchKernel((void*)k, 1, 32, nullptr, 0, 0); }",
            "32 1 1",
        ),
        (
            "void f(float* p) { cudaLaunchKernelExC(&config, (void*)k, nullptr); }",
            "? ? ?",
        ),
        ("void f(float* p, unsigned b) { k<<<1, b>>>(p); }", "? 1 1"),
        ("void f(float* p, dim3 b) { k<<<1, b>>>(p); }", "? ? ?"),
        (
            "void f(void (*k)(float*), float* p) { k<<<1, 32>>>(p); }",
            "? ? ?",
        ),
    ] {
        assert_eq!(block(&format!("{kernel}\n{text}")), expected, "{text}");
    }
}

#[test]
fn template_arguments_are_those_of_all_launches() {
    let pair = |text: &str| -> Vec<(String, String)> {
        text.split_whitespace()
            .filter_map(|it| it.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    };
    for (host, arguments, first_of, defaults, guesses) in [
        (
            "void f(float* p) { k<float, 4><<<1, 32>>>(p); }",
            "T=float N=4",
            "",
            "",
            "",
        ),
        (
            "void f(float* p) { k<float, 2 * 2><<<1, 32>>>(p); k<float, 4><<<2, 32>>>(p); }",
            "T=float N=4",
            "",
            "",
            "",
        ),
        (
            "void f(float* p) { const int n = 8; k<float, n><<<1, 32>>>(p); }",
            "T=float N=8",
            "",
            "",
            "",
        ),
        (
            "void f(float* p) { k<float, 4><<<1, 32>>>(p); k<int, 4><<<1, 32>>>(p); }",
            "N=4",
            "T=float",
            "",
            "",
        ),
        (
            "template __global__ void k<double, 3>(double*);",
            "T=double N=3",
            "",
            "",
            "",
        ),
        (
            "void f(float* p) { k<float><<<1, 32>>>(p); }",
            "T=float N=2",
            "",
            "",
            "",
        ),
        (
            "template <class U> void f(U* p) { k<U, 5><<<1, 32>>>(p); } template void f<short>(short*);",
            "T=short N=5",
            "",
            "",
            "",
        ),
        (
            "template <int M, class U> struct S { U* p; void f() { k<U, M><<<1, 32>>>(p); } }; template struct S<5, short>;",
            "T=short N=5",
            "",
            "",
            "",
        ),
        (
            "template <int M, class U> struct S { U* p; void f(); }; template <int A, class B> void S<A, B>::f() { k<B, A><<<1, 32>>>(p); } template struct S<5, short>;",
            "T=short N=5",
            "",
            "",
            "",
        ),
        (
            "template <class U, int M> void f(U* p) { k<U, M><<<1, 32>>>(p); } void g(float* p) { f<float, 7>(p); }",
            "",
            "",
            "",
            "T=float",
        ),
    ] {
        let text = format!(
            "template <class T, int N = 2> __global__ void k(T* p) {{ p[threadIdx.x] = N; }}\n{host}"
        );
        let found = assumed(&text);
        let told = |list: &[(smol_str::SmolStr, smol_str::SmolStr)]| -> Vec<(String, String)> {
            list.iter()
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect()
        };
        assert_eq!(told(&found.arguments), pair(arguments), "{host}");
        assert_eq!(told(&found.first_of), pair(first_of), "{host}");
        assert_eq!(told(&found.defaults), pair(defaults), "{host}");
        assert_eq!(told(&found.guesses), pair(guesses), "{host}");
        assert_eq!(found.numbers, arguments.contains("N="), "{host}");
        assert_eq!(
            found.has_arguments(),
            !(arguments.is_empty()
                && first_of.is_empty()
                && defaults.is_empty()
                && guesses.is_empty())
        );
        assert!(!found.is_empty());
    }
}

#[test]
fn what_is_assumed_is_said_in_words() {
    let text = |host: &str, known: [Option<u32>; 3]| {
        let text = format!(
            "template <class T, int N = 2> __global__ void k(T* p) {{ p[threadIdx.x] = N; }}\n{host}"
        );
        assumed(&text).text(known)
    };
    let host = "void f(float* p) { k<float, 4><<<1, dim3(32, 2)>>>(p); }";
    assert_eq!(
        text(host, [None; 3]),
        "blocks of 32 × 2 × 1 threads and `T` = `float` and `N` = `4`, as in all launches in sight"
    );
    assert_eq!(
        text(host, [Some(32), Some(2), Some(1)]),
        "`T` = `float` and `N` = `4`, as in all launches in sight"
    );
    assert_eq!(
        text(
            "void f(float* p, int n) { k<float><<<1, dim3(n, 2)>>>(p); }",
            [None; 3]
        ),
        "blocks of ? × 2 × 1 threads and `T` = `float` and `N` = `2`, as in all launches in sight"
    );
    assert_eq!(
        text("", [None; 3]),
        "`N` = `2` by default; `T` = `float`, which nothing in sight tells"
    );
    let several =
        "void f(float* p, int n) { k<float, 4><<<1, n>>>(p); k<int, 4><<<1, 2 * n>>>(p); }";
    assert_eq!(
        text(several, [None; 3]),
        "blocks of ? × 1 × 1 threads and `N` = `4`, as in all launches in sight; `T` = `float`, one of those in sight"
    );
    // Names that speak of indices stand for integers.
    for (name, guess) in [
        ("T", "float"),
        ("IdxT", "int"),
        ("IndexType", "int"),
        ("IDXType", "int"),
        ("RGBPoint", "float"),
        ("value_t", "float"),
        ("index_t", "int"),
        ("OffsetT", "int"),
        ("Point", "float"),
        ("vertex_t", "int"),
        ("sizeType", "int"),
        ("Widths", "float"),
        ("i_t", "int"),
        ("f_t", "float"),
    ] {
        let text = format!("template <class {name}> __global__ void k({name}* p) {{ p[0] = 1; }}");
        let expected = format!("`{name}` = `{guess}`, which nothing in sight tells");
        assert_eq!(assumed(&text).text([None; 3]), expected);
    }
    // So do types of subscripts, of what counts a loop and of operands of `%`.
    for (body, guess) in [
        ("T i = n; p[i] = 1;", "int"),
        ("T i = n; p[2 * (i + 1)] = 1;", "int"),
        ("p[n] = 1;", "int"),
        ("p[T(threadIdx.x)] = 1;", "int"),
        ("for (T i = 0; i < n; i += 1) p[0] += 1;", "int"),
        ("T i = n; p[0] = (i + 1) % 4;", "int"),
        ("T x = n; x >>= 1; p[0] = x;", "int"),
        ("T x = n; p[0] = x / 4;", "float"),
        ("T x = n; p[threadIdx.x] = x;", "float"),
    ] {
        let text = format!("template <class T> __global__ void k(float* p, T n) {{ {body} }}");
        let expected = format!("`T` = `{guess}`, which nothing in sight tells");
        assert_eq!(assumed(&text).text([None; 3]), expected, "{body}");
    }
}
