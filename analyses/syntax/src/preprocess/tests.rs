//! Tests of the demands of the standard's section on macro replacement, on examples of our own, and of the
//! limits.

use super::{
    IncludeResolver, IncludedFile, Limits, PreprocessOptions, Unit, preprocess, preprocess_text,
};
use crate::c_family::dialect::Dialect;
use crate::c_family::lexer::lex;
use crate::c_family::token::TokenKind;
use crate::error::ProblemKind;
use crate::source::{FileId, Span};
use std::collections::BTreeMap;
use std::sync::Arc;

fn unit(text: &str) -> Unit {
    preprocess_text("main.cu", text, Dialect::Cuda)
}

fn spelled(unit: &Unit) -> String {
    let tokens = unit.items.iter().flat_map(|item| item.tokens.iter());
    tokens
        .map(|token| token.spelling())
        .collect::<Vec<_>>()
        .join(" ")
}

#[track_caller]
fn expands(text: &str, expected: &str) {
    let text = format!("{text}\n;");
    let shown = spelled(&unit(&text));
    assert_eq!(shown.trim_end_matches(" ;").trim_end_matches(';'), expected);
}

struct Files(BTreeMap<&'static str, &'static str>);

impl IncludeResolver for Files {
    fn resolve(&mut self, _from: &str, spec: &str, _angled: bool) -> Option<IncludedFile> {
        let text = self.0.get(spec)?;
        Some(IncludedFile {
            path: Arc::from(spec),
            tokens: Arc::new(lex(text)),
        })
    }
}

fn with_files(main: &str, files: &[(&'static str, &'static str)]) -> Unit {
    let main = IncludedFile {
        path: Arc::from("main.cu"),
        tokens: Arc::new(lex(main)),
    };
    preprocess(
        &main,
        &PreprocessOptions::new(Dialect::Cuda),
        &mut Files(files.iter().copied().collect()),
    )
}

#[test]
fn object_like_macros_are_rescanned() {
    expands("#define A B\n#define B 3\nint x = A", "int x = 3");
    expands("#define EMPTY\nint EMPTY x EMPTY", "int x");
    expands("#define A 1\n#undef A\nint x = A", "int x = A");
}

#[test]
fn a_macro_is_never_expanded_inside_itself() {
    expands("#define x x + 1\nint y = x", "int y = x + 1");
    expands("#define a b\n#define b a\nint y = a b", "int y = a b");
    // A name that comes from a function-like macro's own result stays as it is.
    expands(
        "#define twice(v) v + twice(v)\nint y = twice(twice(2))",
        "int y = 2 + twice ( 2 ) + twice ( 2 + twice ( 2 ) )",
    );
    // The standard leaves it open whether the last name expands again; as the common compilers do, it does not.
    expands(
        "#define f(a) a*g\n#define g(a) f(a)\nint y = f(2)(9)",
        "int y = 2 * 9 * g",
    );
    expands("#define nil(v) v\nint y = nil(nil)(3)", "int y = nil ( 3 )");
}

#[test]
fn arguments_are_expanded_before_they_are_substituted() {
    expands(
        "#define N 4\n#define ID(v) v\nint y = ID(N) + ID(ID(N))",
        "int y = 4 + 4",
    );
    expands(
        "#define PAIR(a, b) {a, b}\nint y[] = PAIR((1, 2), f(3, 4))",
        "int y [ ] = { ( 1 , 2 ) , f ( 3 , 4 ) }",
    );
    expands(
        "#define CALL(f, v) f(v)\n#define INC(v) (v + 1)\nint y = CALL(INC, 2)",
        "int y = ( 2 + 1 )",
    );
    expands("#define LATER(v) v\nint y = LATER\n(\n5\n)", "int y = 5");
    expands("#define F(v) v\nint F;", "int F");
    expands(
        "#define NONE() 7\nint y = NONE() + NONE( )",
        "int y = 7 + 7",
    );
}

#[test]
fn stringizing_keeps_the_spelling() {
    expands(
        "#define S(v) #v\nauto y = S(a  +   \"b\\n\")",
        "auto y = \"a + \\\"b\\\\n\\\"\"",
    );
    expands(
        "#define S(v) #v\n#define X(v) S(v)\n#define N 3\nauto y = S(N) X(N)",
        "auto y = \"N\" \"3\"",
    );
    expands(
        "#define S(...) #__VA_ARGS__\nauto y = S(a, b)",
        "auto y = \"a, b\"",
    );
    expands("#define S(v) #v\nauto y = S()", "auto y = \"\"");
}

#[test]
fn pasting_makes_one_token() {
    expands(
        "#define CAT(a, b) a ## b\nint CAT(x, 1) = CAT(1, e3) CAT(, z)",
        "int x1 = 1e3 z",
    );
    expands(
        "#define CAT(a, b) a##b\n#define XCAT(a, b) CAT(a, b)\n#define N 8\nint CAT(v, N) = XCAT(v, N)",
        "int vN = v8",
    );
    expands(
        "#define OP(a) a ## =\nint f() { x OP(+) 1; }",
        "int f ( ) { x += 1 ; }",
    );
    expands(
        "#define T(a, b, c) a ## b ## c\nint y = T(1, 2, 3) + T(, , 4) + T(5, , )",
        "int y = 123 + 4 + 5",
    );
    expands(
        "#define hash_hash # ## #\nint y = 1 hash_hash",
        "int y = 1 ##",
    );
    // No valid token: both stay.
    expands("#define CAT(a, b) a ## b\nint y = CAT(+, x)", "int y = + x");
}

#[test]
fn variable_arguments() {
    expands(
        "#define F(fmt, ...) f(fmt, __VA_ARGS__)\nint y = F(1, 2, 3)",
        "int y = f ( 1 , 2 , 3 )",
    );
    expands(
        "#define F(fmt, ...) f(fmt, ##__VA_ARGS__)\nint y = F(1) + F(1, 2)",
        "int y = f ( 1 ) + f ( 1 , 2 )",
    );
    expands(
        "#define F(args...) f(args)\nint y = F(1, 2)",
        "int y = f ( 1 , 2 )",
    );
    expands(
        "#define F(a, ...) f(a __VA_OPT__(, __VA_ARGS__))\nint y = F(1) + F(1, 2)",
        "int y = f ( 1 ) + f ( 1 , 2 )",
    );
    expands(
        "#define F(...) f(0 __VA_OPT__(,) __VA_ARGS__)\nint y = F() + F(9)",
        "int y = f ( 0 ) + f ( 0 , 9 )",
    );
}

#[test]
fn conditions_are_evaluated() {
    for (condition, value) in [
        ("1", true),
        ("0x10 == 16 && 010 == 8 && 0b11 == 3", true),
        ("defined(A) && !defined B", true),
        ("A > 2 ? B : 1", false),
        ("-1 < 0u", false),
        ("-1 < 0", true),
        ("(1 << 4) + 2 * 3 == 22", true),
        ("7 / 2 == 3 && 7 % 4 == 3", true),
        ("1 / 0", false),
        ("UNKNOWN_NAME", false),
        ("'a' == 97", true),
        ("__CUDA_ARCH__ >= 700", true),
        ("__has_include(\"nowhere.h\")", false),
        ("SUM(1, 2) == 3", true),
        ("~0 == -1", true),
        ("18446744073709551615u == -1", true),
    ] {
        let text = format!(
            "#define A 3\n#define B 0\n#undef B\n#define SUM(a, b) (a + b)\n#if {condition}\nint yes;\n#else\nint no;\n#endif\n"
        );
        assert_eq!(
            spelled(&unit(&text)),
            if value { "int yes ;" } else { "int no ;" },
            "{condition}"
        );
    }
}

#[test]
fn one_group_of_a_conditional_is_taken() {
    let text = "#ifdef A\nint a;\n#elif 0\nint b;\n#elifndef A\nint c;\n# if 1\nint d;\n# endif\n#else\nint e;\n#endif\nint f;";
    let unit = unit(text);
    assert_eq!(spelled(&unit), "int c ; int d ; int f ;");
    let excluded: Vec<&str> = unit
        .inactive
        .iter()
        .map(|(_, span)| &text[span.start as usize..span.end as usize])
        .collect();
    assert_eq!(excluded, ["int a;\n", "int b;\n", "int e;\n"]);
    assert!(unit.problems.is_empty());
}

#[test]
fn excluded_text_is_not_looked_at() {
    let unit = unit("#if 0\nit's \"open\n#error no\n#if 1\n#else\n#endif\n#endif\nint x;");
    assert_eq!(spelled(&unit), "int x ;");
    assert!(unit.problems.is_empty());
}

#[test]
fn unbalanced_conditionals_are_problems() {
    assert_eq!(unit("#if 1\nint x;").problems.len(), 1);
    assert_eq!(unit("#endif\n#else\nint x;").problems.len(), 2);
    assert_eq!(
        unit("#if (\nint x;\n#endif").problems[0].kind,
        ProblemKind::Unsupported
    );
}

#[test]
fn includes_are_followed_once_when_guarded() {
    let unit = with_files(
        "#include \"g.h\"\n#include \"g.h\"\n#include \"o.h\"\n#include <o.h>\n#define WHERE \"p.h\"\n#include WHERE\n#include <none.h>\nint z;",
        &[
            ("g.h", "#ifndef G\n#define G\nint g;\n#endif"),
            ("o.h", "#pragma once\nint o;"),
            ("p.h", "int p;"),
        ],
    );
    assert_eq!(spelled(&unit), "int g ; int o ; int p ; int z ;");
    assert_eq!(unit.includes.len(), 6);
    assert_eq!(unit.includes[0].resolved, Some(FileId(1)));
    assert_eq!(unit.includes[5].resolved, None);
    assert_eq!(unit.problems.len(), 1);
    assert_eq!(unit.problems[0].kind, ProblemKind::MissingInclude);
    assert_eq!(unit.items[0].file, FileId(1));
    assert!(unit.inactive.is_empty());
}

#[test]
fn tokens_of_a_file_inside_an_item_stand_at_the_directive() {
    let main = "int table[] = {\n#include \"t.inc\"\n};";
    let unit = with_files(main, &[("t.inc", "1, 2,\n 3")]);
    let item = &unit.items[0];
    assert_eq!(
        (item.file, item.start, item.end),
        (FileId::MAIN, 0, main.len() as u32)
    );
    let two = item
        .tokens
        .iter()
        .find(|token| token.text == "2")
        .map(|token| token.span);
    let directive = main.find('#').unwrap_or(0) as u32;
    assert_eq!(two, Some(Span::new(directive, directive + 16)));
}

#[test]
fn positions_survive_expansion() {
    let text = "#define SQ(v) ((v) * (v))\nint f(int a) { return SQ(a + 1); }";
    let unit = unit(text);
    let item = &unit.items[0];
    let base = item.start;
    let at = |needle: &str| {
        text[26..]
            .find(needle)
            .map_or(0, |at| at as u32 + 26 - base)
    };
    let use_span = Span::new(at("SQ"), at("SQ") + 9);
    let star = item
        .tokens
        .iter()
        .find(|token| token.kind == TokenKind::Star);
    assert_eq!(star.map(|token| token.span), Some(use_span));
    let plus = item
        .tokens
        .iter()
        .find(|token| token.kind == TokenKind::Plus);
    assert_eq!(
        plus.map(|token| token.span),
        Some(Span::new(at("+"), at("+") + 1))
    );
    let (used, definition) = unit.macro_at(base + at("SQ")).unzip();
    assert_eq!(used.map(|used| used.span), Some(use_span.shifted(base)));
    assert_eq!(
        definition.flatten().map(|found| found.name_span),
        Some(Span::new(8, 10))
    );
}

#[test]
fn an_item_that_moves_is_equal() {
    let before = unit("#define N 4\nint a;\nint f() { return N; }");
    let after = unit("#define N 4\n\n/* more */ int a, b;\n\nint f() { return N; }");
    assert_eq!(before.items[1].tokens, after.items[1].tokens);
    assert_ne!(before.items[0].tokens, after.items[0].tokens);
}

#[test]
fn unroll_pragmas_become_tokens() {
    expands(
        "#define N 4\nvoid f() {\n#pragma unroll N\nfor (;;); \n#pragma GCC unroll 2\n#pragma ivdep\n_Pragma(\"unroll 8\") }",
        "void f ( ) { unroll 4 <PragmaEnd> for ( ; ; ) ; unroll 2 <PragmaEnd> ivdep <PragmaEnd> unroll 8 <PragmaEnd> }",
    );
}

#[test]
fn dynamic_macros() {
    expands(
        "int a = __LINE__;\nint b = __LINE__ + __COUNTER__ + __COUNTER__;\nauto c = __FILE__",
        "int a = 1 ; int b = 2 + 0 + 1 ; auto c = \"main.cu\"",
    );
}

#[test]
fn definitions_can_be_options() {
    let mut options = PreprocessOptions::new(Dialect::Hlsl);
    options.defines = vec![
        "A".into(),
        "B=2+3".into(),
        "MAX(a,b)=((a)>(b)?(a):(b))".into(),
    ];
    let main = IncludedFile {
        path: Arc::from("m.hlsl"),
        tokens: Arc::new(lex("int x = A + B; int y = MAX(1, 2);")),
    };
    let unit = preprocess(&main, &options, &mut super::NoIncludes);
    assert_eq!(
        spelled(&unit),
        "int x = 1 + 2 + 3 ; int y = ( ( 1 ) > ( 2 ) ? ( 1 ) : ( 2 ) ) ;"
    );
}

#[test]
fn an_invocation_that_never_closes_is_left_alone() {
    let unit = unit("#define F(a) [a]\nint f() { return F(1; }\nint g() { return F(2); }");
    assert_eq!(
        spelled(&unit),
        "int f ( ) { return F ( 1 ; } int g ( ) { return [ 2 ] ; }"
    );
    assert_eq!(unit.items.len(), 2);
}

#[test]
fn recursion_and_bombs_are_bounded() {
    let unit = with_files(
        "#include \"self.h\"\nint x;",
        &[("self.h", "int s;\n#include \"self.h\"\n")],
    );
    assert!(
        unit.problems
            .iter()
            .any(|problem| problem.kind == ProblemKind::Limit)
    );
    assert!(spelled(&unit).ends_with("int x ;"));

    let twice = with_files(
        "#include \"two.h\"\nint x;",
        &[("two.h", "#include \"two.h\"\n#include \"two.h\"\n")],
    );
    assert!(
        twice
            .problems
            .iter()
            .any(|problem| problem.kind == ProblemKind::Limit)
    );

    let mut bomb = String::from("#define M0 x x x x x x x x\n");
    for level in 1..40 {
        bomb.push_str(&format!(
            "#define M{level} M{0} M{0} M{0} M{0}\n",
            level - 1
        ));
    }
    bomb.push_str("int y = M39;\nint z;");
    let mut options = PreprocessOptions::new(Dialect::Cuda);
    options.limits = Limits {
        tokens: 100_000,
        ..Limits::default()
    };
    let main = IncludedFile {
        path: Arc::from("m.cu"),
        tokens: Arc::new(lex(&bomb)),
    };
    let unit = preprocess(&main, &options, &mut super::NoIncludes);
    assert!(
        unit.problems
            .iter()
            .any(|problem| problem.kind == ProblemKind::Limit)
    );
    assert!(
        unit.items
            .iter()
            .map(|item| item.tokens.len())
            .sum::<usize>()
            < 300_000
    );
    assert!(spelled(&unit).ends_with("int z ;"));
}

#[test]
fn deep_arguments_are_bounded() {
    let text = format!(
        "#define F(a) a\nint y = {}1{};\nint z;",
        "F(".repeat(100_000),
        ")".repeat(100_000)
    );
    let unit = unit(&text);
    assert!(
        unit.problems
            .iter()
            .any(|problem| problem.kind == ProblemKind::Limit)
    );
    assert!(spelled(&unit).ends_with("int z ;"));
    let open = format!("#define F(a) a\nint y = {};\nint z;", "F(".repeat(100_000));
    let _ = self::unit(&open);
}

#[test]
fn items_are_split_at_namespace_level() {
    let text = "namespace a::b { int x; namespace { struct S { int m; } s; } }\nextern \"C\" { void f(); }\nextern \"C\" void g() { if (1) { } }\ntemplate <int N = (3 > 2)> struct T : B<{1}> { };\nint v{3}; auto l = [] { return 1; }; A::A() : x{1}, y(2) { }\nbool operator==(A, B) { return true; }";
    let unit = unit(text);
    let shown: Vec<String> = unit
        .items
        .iter()
        .map(|item| format!("{}|{}", item.scope.join("."), item.tokens.len()))
        .collect();
    let texts: Vec<&str> = unit
        .items
        .iter()
        .map(|item| &text[item.start as usize..item.end as usize])
        .collect();
    assert_eq!(shown[..2], ["a.b|3", "a.b.|9"]);
    assert_eq!(
        texts,
        [
            "int x;",
            "struct S { int m; } s;",
            "void f();",
            "extern \"C\" void g() { if (1) { } }",
            "template <int N = (3 > 2)> struct T : B<{1}> { };",
            "int v{3};",
            "auto l = [] { return 1; };",
            "A::A() : x{1}, y(2) { }",
            "bool operator==(A, B) { return true; }"
        ]
    );
    assert!(unit.problems.is_empty());
}

#[test]
fn a_broken_function_does_not_swallow_the_file() {
    let unit = unit(
        "__global__ void a() {\n  if (x) {\n}\n\n__global__ void b() {\n}\n\nvoid c(int x) {\n}\n",
    );
    assert_eq!(unit.items.len(), 3);
    assert_eq!(unit.problems.len(), 1);
    let extra = self::unit("void a() {\n }\n}\n\nvoid b() {\n}\n");
    assert_eq!(extra.items.len(), 2);
    assert_eq!(extra.problems.len(), 1);
}

#[test]
fn macros_alone_on_a_line_are_items() {
    assert_eq!(
        unit("DECLARE(x)\n__global__ void k() { }\nTEST(A, B) { f(); }\nREGISTER(y);")
            .items
            .len(),
        4
    );
}

#[test]
fn an_option_that_names_a_template_parameter_is_no_macro_in_its_item() {
    let mut options = PreprocessOptions::new(Dialect::Cuda);
    options.defines = vec!["N=8".into(), "T=float".into()];
    let text = "template <typename T, int N = 4> struct S { T a[N]; };\n\
        #if N > 4\nint yes;\n#endif\n\
        #define TWICE(x) ((x) * N)\n\
        template <int M = N> int f() { return M + N; }\n\
        template <int N> int g() {\n#if N == 8\n return TWICE(N);\n#endif\n }\nint b = N;";
    let main = IncludedFile {
        path: Arc::from("m.cu"),
        tokens: Arc::new(lex(text)),
    };
    let unit = preprocess(&main, &options, &mut super::NoIncludes);
    assert_eq!(
        spelled(&unit),
        "template < typename T , int N = 4 > struct S { T a [ N ] ; } ; int yes ; \
         template < int M = 8 > int f ( ) { return M + 8 ; } \
         template < int N > int g ( ) { return ( ( N ) * N ) ; } int b = 8 ;"
    );
}

#[test]
fn a_header_that_includes_itself_twice_costs_a_bounded_number_of_inclusions() {
    let twice = "int x;\n#include \"twice.h\"\n#include \"twice.h\"\n";
    let unit = with_files("#include \"twice.h\"\nint behind;\n", &[("twice.h", twice)]);
    assert!(spelled(&unit).ends_with("int behind ;"));
    assert!(unit.items.len() < 1_100, "{}", unit.items.len());
    let told: Vec<&str> = unit
        .problems
        .iter()
        .filter(|problem| problem.kind == ProblemKind::Limit && problem.file == FileId::MAIN)
        .map(|problem| problem.message.as_str())
        .collect();
    assert!(
        told.iter()
            .any(|message| message.contains("`twice.h` is included more than 1000 times")),
        "{told:?}"
    );
    let limits = unit
        .problems
        .iter()
        .filter(|problem| problem.kind == ProblemKind::Limit);
    assert!(limits.count() <= 4);
}

#[test]
fn declarations_beyond_the_limit_are_told_of_once() {
    let mut options = PreprocessOptions::new(Dialect::Cuda);
    options.limits.items = 3;
    let main = IncludedFile {
        path: Arc::from("m.cu"),
        tokens: Arc::new(lex("int a; int b; int c; int d; int e;")),
    };
    let unit = preprocess(&main, &options, &mut super::NoIncludes);
    assert_eq!(unit.items.len(), 3);
    let places: Vec<Span> = unit.problems.iter().map(|problem| problem.span).collect();
    assert_eq!(places, [Span::new(21, 24)]);
}

#[test]
fn equal_items_share_their_tokens_with_an_earlier_unit() {
    let before = unit("#define A 1\nint a = A;\nint b;\nint c;\n");
    let main = IncludedFile {
        path: Arc::from("main.cu"),
        tokens: Arc::new(lex(
            "#define A 2\nint a = A;\n\nint new_one;\nint b;\nint c;\n",
        )),
    };
    let options = PreprocessOptions::new(Dialect::Cuda);
    let again = super::preprocess_again(&main, &options, &mut super::NoIncludes, &before);
    assert_eq!(again, preprocess(&main, &options, &mut super::NoIncludes));
    let shared =
        |old: usize, new: usize| Arc::ptr_eq(&before.items[old].tokens, &again.items[new].tokens);
    assert!(!shared(0, 0) && shared(1, 2) && shared(2, 3));
}

#[test]
fn attributes_that_headers_define_words_as_are_the_words() {
    let header = "#define __annotate__(a) __attribute__((a))\n\
                  #define __location__(a) __annotate__(a)\n\
                  #define __global__ __location__(global)\n\
                  #define __shared__ __attribute__((__shared__))\n\
                  #define __device__ __declspec(__device__)\n\
                  #define __launch_bounds__(...) __annotate__(launch_bounds(__VA_ARGS__))\n";
    let main = "#include \"defines.h\"\n\
                template <int N> __global__ void __launch_bounds__(64, 2 * (N)) k(int *p) { __shared__ int s[N]; }\n\
                __device__ int f();\n\
                __attribute__((device, __aligned__(8))) int x;\n\
                __attribute__((unused)) int y;\n";
    let unit = with_files(main, &[("defines.h", header)]);
    assert_eq!(
        spelled(&unit),
        "template < int N > __global__ void __launch_bounds__ ( 64 , 2 * ( N ) ) k ( int * p ) { __shared__ int s [ N ] ; } \
         __device__ int f ( ) ; \
         __device__ __attribute__ ( ( device , __aligned__ ( 8 ) ) ) int x ; \
         __attribute__ ( ( unused ) ) int y ;"
    );
    assert_eq!(unit.items.len(), 4);
    assert_eq!(unit.problems, []);
}

#[test]
fn headers_beyond_the_limit_are_cut_and_the_main_file_is_whole() {
    let mut deep = String::from(
        "#define LATE 7\nnamespace a { template <int N> struct S { void f(int *p) { g(p[",
    );
    deep.push_str(&"1 + ".repeat(300));
    deep.push_str("1]); } };\n}\n#define LATER 8\n");
    let work = format!(
        "#define TWICE(x) x x\n#define MANY TWICE(TWICE(TWICE(TWICE(TWICE(TWICE(int_)))))) \nvoid h({} int q);\n",
        "MANY ".repeat(100)
    );
    let main = "namespace m {\n#include \"first.h\"\n}\n#define K __global__ void\nK k(int *p) { *p = LATE + LATER; }\n\
                #include \"first.h\"\nint last;\n";
    for header in [
        deep.as_str(),
        &format!("#define LATE 7\n{work}#define LATER 8\n"),
    ] {
        let outer = "namespace o {\n#include \"second.h\"\n}\n";
        let mut options = PreprocessOptions::new(Dialect::Cuda);
        options.limits.tokens = 200;
        let file = IncludedFile {
            path: Arc::from("main.cu"),
            tokens: Arc::new(lex(main)),
        };
        let header: &'static str = Box::leak(header.to_owned().into_boxed_str());
        let files = BTreeMap::from([("first.h", outer), ("second.h", header)]);
        let unit = preprocess(&file, &options, &mut Files(files));
        let own: Vec<(&[smol_str::SmolStr], String)> = unit
            .items
            .iter()
            .filter(|item| item.file == FileId::MAIN)
            .map(|item| {
                let words: Vec<&str> = item.tokens.iter().map(|t| t.spelling()).collect();
                (&item.scope[..], words.join(" "))
            })
            .collect();
        let kernel = "__global__ void k ( int * p ) { * p = 7 + 8 ; }".to_owned();
        assert_eq!(own, [(&[][..], kernel), (&[][..], "int last ;".to_owned())]);
        assert!(
            unit.problems.iter().all(|p| p.kind == ProblemKind::Limit),
            "{:?}",
            unit.problems
        );
        assert!(unit.problems.iter().any(|p| p.file == FileId::MAIN
            && p.span == Span::new(14, 32)
            && p.message.contains("a limit")));
    }
}

#[test]
fn text_that_a_limit_left_as_it_stands_is_not_called_unbalanced() {
    let mut text = String::from("#define OPEN {\n#define M0 x x x x x x x x\n");
    for level in 1..12 {
        text.push_str(&format!(
            "#define M{level} M{0} M{0} M{0} M{0}\n",
            level - 1
        ));
    }
    text.push_str("int y = M11;\nvoid f() OPEN return; }\nvoid g() { }\n");
    let mut options = PreprocessOptions::new(Dialect::Cuda);
    options.limits.tokens = 1_000;
    let main = IncludedFile {
        path: Arc::from("main.cu"),
        tokens: Arc::new(lex(&text)),
    };
    let unit = preprocess(&main, &options, &mut super::NoIncludes);
    let kinds: Vec<ProblemKind> = unit.problems.iter().map(|p| p.kind).collect();
    assert_eq!(kinds, [ProblemKind::Limit]);
}

#[test]
fn options_include_in_front_and_undefine() {
    let main = IncludedFile {
        path: Arc::from("main.cu"),
        tokens: Arc::new(lex(
            "#include \"first.h\"\nint a = FIRST + SECOND;\n#ifdef __CUDACC__\nint b;\n#endif\n",
        )),
    };
    let mut options = PreprocessOptions::new(Dialect::Cuda);
    options.forced = ["first.h", "second.h", "gone.h"].map(Into::into).to_vec();
    options.undefines = vec!["__CUDACC__".into()];
    let files = [
        ("first.h", "#pragma once\n#define FIRST 1\nint f;\n"),
        ("second.h", "#define SECOND (FIRST + 1)\n"),
    ];
    let unit = preprocess(&main, &options, &mut Files(files.into()));
    assert_eq!(spelled(&unit), "int f ; int a = 1 + ( 1 + 1 ) ;");
    let files: Vec<FileId> = unit.items.iter().map(|item| item.file).collect();
    assert_eq!(files, [FileId(1), FileId::MAIN]);
    let told: Vec<_> = unit.problems.iter().map(|p| (p.kind, p.file)).collect();
    assert_eq!(told, [(ProblemKind::MissingInclude, FileId::MAIN)]);
}

#[test]
fn a_macro_that_is_not_known_does_not_swallow_what_stands_behind_it() {
    let text = "PROJECT_BEGIN\n\nnamespace a::b {\nnamespace {\nint x;\n__global__ void k() { }\n}\n}\nEND(1) END\n\
                extern \"C\" {\nint y;\n}\nBEGIN namespace c { int z; }\n";
    let unit = unit(text);
    let items: Vec<(String, String)> = (unit.items.iter())
        .map(|item| {
            let words: Vec<&str> = item.tokens.iter().map(|t| t.spelling()).collect();
            (item.scope.join("::"), words.join(" "))
        })
        .collect();
    let expected = [
        ("", "PROJECT_BEGIN"),
        ("a::b::", "int x ;"),
        ("a::b::", "__global__ void k ( ) { }"),
        ("", "END ( 1 ) END"),
        ("", "int y ;"),
        ("", "BEGIN"),
        ("c", "int z ;"),
    ];
    assert_eq!(items, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    assert_eq!(unit.problems, []);
}
