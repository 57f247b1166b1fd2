//! Input that is no program, or far too much of one: the command line and the server report the limit that
//! was met, in bounded time and memory, and the server lives on.

mod support;

use serde_json::json;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use support::Client;

/// The time for an unoptimised build on a busy machine; the release build takes a tenth.
const PATIENCE: Duration = Duration::from_secs(60);
const MEGABYTES: usize = 10;
const LEVELS: usize = 100_000;
const GOOD: &str =
    "\n__global__ void good(int* out) { if (threadIdx.x < 3) __syncthreads(); out[0] = 1; }\n";

fn line_of(piece: &str) -> String {
    piece.repeat(MEGABYTES * 1_000_000 / piece.len())
}

fn nested(open: &str, close: &str) -> String {
    format!(
        "__device__ void f(int a) {{ {}{} ; }}{GOOD}",
        open.repeat(LEVELS),
        close.repeat(LEVELS)
    )
}

/// A name, the text, and the expected message.
fn cases() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let text = |text: String| text.into_bytes();
    let limit = "read up to 500000 tokens";
    let deep = "nested";
    vec![
        ("words.cu", text(line_of("lorem ipsum ")), limit),
        ("open.cu", text(line_of("(")), limit),
        ("list.cu", text(line_of("a,")), limit),
        ("list.hlsl", text(line_of("a,")), limit),
        (
            "declarations.cu",
            text(line_of("int a;")),
            "too many declarations",
        ),
        (
            "string.cu",
            text(format!(
                "const char* s = \"{}\";{GOOD}",
                "x".repeat(10_000_000)
            )),
            "divergent-barrier",
        ),
        (
            "comment.cu",
            text(format!("/*{}*/{GOOD}", "x".repeat(10_000_000))),
            "divergent-barrier",
        ),
        (
            "argument.cu",
            text(format!(
                "#define F(x) x\nint a[] = {{ F({}) }};",
                line_of("1,")
            )),
            limit,
        ),
        ("raw.cu", text(line_of("R\"(")), ""),
        (
            "bomb.cu",
            text(
                (1..40)
                    .map(|n| format!("#define M{n} M{0} M{0} M{0} M{0}\n", n - 1))
                    .collect::<String>()
                    + "#define M0 x\nint bomb = M39;"
                    + GOOD,
            ),
            "produce more than 4000000 tokens",
        ),
        (
            "itself.cu",
            text(format!(
                "#include \"itself.cu\"\n#include \"itself.cu\"{GOOD}"
            )),
            "included more than",
        ),
        ("parentheses.cu", text(nested("(", ")")), deep),
        ("brackets.cu", text(nested("a[", "]")), deep),
        ("braces.cu", text(nested("{", "}")), deep),
        ("braces.hlsl", text(nested("{", "}")), deep),
        ("angles.cu", text(nested("A<", "int>")), ""),
        ("ifs.cu", text(nested("if (a) ", ";")), deep),
        (
            "bytes.cu",
            (0..4_000_000u32)
                .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8 | 1)
                .collect(),
            "UTF-8",
        ),
        (
            "statements.ptx",
            text(format!(
                ".entry f(){{ .reg .u32 a; {} }}",
                line_of("add.u32 a,a,1;")
            )),
            "bytes",
        ),
        (
            "semicolons.ptx",
            text(line_of(";")),
            "at most 20000 declarations",
        ),
        (
            "braces.ptx",
            text(format!(
                ".entry f(){{ {}{} ret; }}",
                "{".repeat(LEVELS),
                "}".repeat(LEVELS)
            )),
            "",
        ),
        (
            "words.musimd",
            text(line_of("lorem ipsum ")),
            "at most 524288 bytes",
        ),
        ("open.lir", text(line_of("(")), "at most 2097152 bytes"),
        (
            "calls.cu",
            text(
                chain("__device__") + GOOD
                    + "__global__ void k(int* o) { o[threadIdx.x] = f0(threadIdx.x); }",
            ),
            "divergent-barrier",
        ),
        (
            "calls.hlsl",
            text(
                "RWStructuredBuffer<int> o;\n".to_owned()
                    + &chain("")
                    + "[numthreads(64, 1, 1)] void main(uint i : SV_GroupIndex) { o[i] = f0(i); }",
            ),
            "not entered",
        ),
        (
            "templates.cu",
            text(format!(
                "template <int N> __device__ int f(int a) {{ int b = f<N - 1>(a + N); return b + f<N - 1>(b); }}\n\
                 template <> __device__ int f<0>(int a) {{ return a; }}\n\
                 __global__ void k(int* o) {{ o[threadIdx.x] = f<{CALLS}>(threadIdx.x); }}{GOOD}"
            )),
            "divergent-barrier",
        ),
        (
            "classes.cu",
            text(format!(
                "template <int N, class T> struct S {{ static __device__ int f(int a) \
                 {{ return S<N - 1, S<N, T>>::f(a) + S<N - 1, T>::f(a + 1); }} }};\n\
                 template <class T> struct S<0, T> {{ static __device__ int f(int a) {{ return a; }} }};\n\
                 __global__ void k(int* o) {{ o[threadIdx.x] = S<{CALLS}, int>::f(threadIdx.x); }}{GOOD}"
            )),
            "is not followed",
        ),
        (
            "macros.cu",
            text(
                (1..=CALLS)
                    .map(|n| format!("#define M{n}(x) M{0}(M{0}(x))\n", n - 1))
                    .collect::<String>()
                    + "#define M0(x) ((x) + 1)\n"
                    + GOOD
                    + "__global__ void k(int* o) { o[threadIdx.x] = M30(threadIdx.x); }",
            ),
            "produce more than 4000000 tokens",
        ),
        (
            "lambdas.cu",
            text(
                (0..CALLS).rev().fold(
                    format!("__global__ void k(int* o) {{ auto f{CALLS} = [=](int a) {{ return a; }};\n"),
                    |text, n| {
                        text + &format!("auto f{n} = [=](int a) {{ return f{0}(a) + f{0}(a + 1); }};\n", n + 1)
                    },
                ) + "o[threadIdx.x] = f0(threadIdx.x); }"
                    + GOOD,
            ),
            "not entered",
        ),
        (
            "results.cu",
            text(
                (1..=CALLS).fold(
                    "template <class T> __device__ auto f0(T a) -> decltype(a + a) { return a; }\n".to_owned(),
                    |text, n| {
                        let twice = format!("f{0}(a) + f{0}(a)", n - 1);
                        text + &format!(
                            "template <class T> __device__ auto f{n}(T a) -> decltype({twice}) {{ return {twice}; }}\n"
                        )
                    },
                ) + "__global__ void k(int* o) { o[threadIdx.x] = f30(1); }"
                    + GOOD,
            ),
            "not entered",
        ),
    ]
}

/// Functions that call the next one twice each.
const CALLS: usize = 30;

fn chain(words: &str) -> String {
    (0..CALLS).rev().fold(
        format!("{words} int f{CALLS}(int a) {{ return a * 3 + 1; }}\n"),
        |text, n| {
            let next = n + 1;
            text + &format!(
                "{words} int f{n}(int a) {{ int b = f{next}(a + {n}); return b + f{next}(b); }}\n"
            )
        },
    )
}

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("lockstep-bad-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory");
        Place(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn check_tells_the_limit_in_bounded_time() {
    let place = Place::new("check");
    for (name, content, said) in cases() {
        let path = place.0.join(name);
        std::fs::write(&path, content).expect("written");
        let begin = Instant::now();
        let output = Command::new(env!("CARGO_BIN_EXE_lockstep"))
            .args(["check", "--format", "json"])
            .arg(&path)
            .output()
            .expect("the binary starts");
        let took = begin.elapsed();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(
            matches!(output.status.code(), Some(0 | 1)),
            "{name}: {:?}",
            output.status
        );
        assert!(took < PATIENCE, "{name}: {took:?}");
        let shown: String = printed.chars().take(2_000).collect();
        assert!(
            printed.contains(said),
            "{name} does not say {said:?}: {shown}"
        );
    }
}

#[test]
fn the_server_lives_on() {
    let mut client = Client::spawn(env!("CARGO_BIN_EXE_lockstep"), &["serve", "--stdio"]);
    client.initialize(json!({}));
    for (number, (name, content, _)) in cases().into_iter().enumerate() {
        let uri = format!("file:///bad/{number}/{name}");
        let language = match name.rsplit('.').next() {
            Some("cu") => "cuda-cpp",
            Some("hlsl") => "hlsl",
            Some("ptx") => "ptx",
            Some("musimd") => "musimd",
            _ => "lir",
        };
        let begin = Instant::now();
        client.open(&uri, language, &String::from_utf8_lossy(&content));
        let document = json!({ "textDocument": { "uri": uri } });
        client.request("textDocument/semanticTokens/full", document.clone());
        client.request("textDocument/documentSymbol", document.clone());
        client.request(
            "textDocument/hover",
            json!({ "textDocument": { "uri": uri }, "position": { "line": 0, "character": 5_000_000 } }),
        );
        client.wait_for("textDocument/publishDiagnostics", |params| {
            params["uri"] == uri
        });
        client.notify("textDocument/didClose", document);
        let took = begin.elapsed();
        assert!(took < PATIENCE, "{name}: {took:?}");
    }
    let uri = "file:///bad/good.cu";
    client.open(uri, "cuda-cpp", GOOD);
    let shown = client.wait_for("textDocument/publishDiagnostics", |params| {
        params["uri"] == uri
    });
    assert!(
        shown["diagnostics"]
            .as_array()
            .is_some_and(|all| !all.is_empty()),
        "{shown}"
    );
    assert_eq!(client.shutdown(), Some(0));
}

#[test]
fn a_kernel_beyond_the_limit_is_not_passed_over() {
    let place = Place::new("beyond");
    let path = place.0.join("large.ptx");
    let filler = "// more than enough\n".repeat((4 << 20) / 20 + 1);
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{{\n{filler}\tret;\n}}\n"
    );
    std::fs::write(&path, &text).expect("written");
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_lockstep"))
            .args(arguments)
            .arg(&path)
            .output()
            .expect("the binary starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            said.contains("large.ptx:4:1: this has ")
                && said.contains("what has more than 4194304 is not looked at"),
            "{arguments:?}: {said}"
        );
        (output.status.code(), output.stdout)
    };
    let (code, printed) = run(&["code", "--budget", "16", "--allocator", "linear"]);
    assert_eq!((code, printed == text.as_bytes()), (Some(1), true));
    run(&["registers"]);
    run(&["registers", "--format", "json"]);
}
