//! Assembly that is none: fixtures with bytes and lines changed, and texts of a size and shape that nobody
//! writes. They are read, listed and re-bundled without a panic and within bounds; rewritten text is still
//! readable, and has the instructions of the original. `LOCKSTEP_IA64_MUTATIONS` says how many.
#![allow(clippy::disallowed_methods)]

use isa::ia64::Class;
use lockstep_codegen::machine;
use lockstep_codegen::target::ia64::bundle::block::Choice;
use lockstep_codegen::target::ia64::check::{Side, check};
use lockstep_codegen::target::ia64::listing::{Listing, listing};
use lockstep_codegen::target::ia64::rebundle::{Options, Outcome, rebundle_untimed};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::fmt::Write;
use std::time::{Duration, Instant};
use syntax::ia64::Document;

/// The time that one text may take, many times the usual.
const MOST: Duration = Duration::from_secs(60);

fn read(text: &str) -> (Document, Listing) {
    let document = syntax::ia64::parse(text);
    let listing = listing(&document, text);
    (document, listing)
}

/// Re-bundled wherever that is possible, and read again.
fn survives(name: &str, text: &str) {
    let begun = Instant::now();
    let table = machine::named("itanium2").expect("a table");
    let epic = table.epic().expect("explicit groups");
    let (document, listed) = read(text);
    for problem in &document.problems {
        let span = problem.span;
        assert!(
            span.start <= span.end && span.end as usize <= text.len(),
            "{name}"
        );
    }
    let _ = listed.violations();
    let options = Options {
        choice: Choice::EagerLazy,
        decisions: 50,
        all: true,
    };
    let blocks = rebundle_untimed(&document, text, &listed, epic, &options);
    let mut changed = text.to_owned();
    for block in blocks.iter().rev() {
        if let Outcome::Rewritten { text, .. } = &block.outcome {
            changed.replace_range(block.span.start as usize..block.span.end as usize, text);
        }
    }
    let (again, relisted) = read(&changed);
    let count = |listing: &Listing| {
        let own = listing
            .items
            .iter()
            .filter(|item| item.inst.class != Class::Nop);
        own.count()
    };
    if document.problems.is_empty() {
        assert_eq!(again.problems, [], "{name}:\n{text}\n=====\n{changed}");
        assert_eq!(count(&listed), count(&relisted), "{name}:\n{text}");
    }
    if listed.items.len() < 2000 {
        let old = Side {
            text,
            document: &document,
            listing: &listed,
        };
        let new = Side {
            text: &changed,
            document: &again,
            listing: &relisted,
        };
        let verdict = check(old, new);
        if document.problems.is_empty() && listed.violations().is_empty() {
            assert_eq!(verdict, Ok(()), "{name}:\n{text}\n=====\n{changed}");
        }
    }
    let took = begun.elapsed();
    assert!(took < MOST, "{name}: {took:?}");
}

fn fixtures() -> Vec<String> {
    let paths = fixtures::files("ia64", &["s"]);
    assert!(paths.len() >= 5);
    paths
        .iter()
        .map(|path| std::fs::read_to_string(path).expect("text"))
        .collect()
}

/// The pieces that may be put anywhere.
const PIECES: [&str; 32] = [
    "{",
    "}",
    ";;",
    ".mii",
    ".mlx",
    ".bbb",
    ".mmf",
    "(p6)",
    "(p99)",
    "(p0)",
    "[",
    "]",
    "=",
    ",",
    "r0",
    "r127",
    "r128",
    "f0",
    "p63",
    "b0",
    "ar.lc",
    "ar.ec",
    "pr.rot",
    "nop.m 0\n",
    "br.ctop.sptk .L\n",
    "movl",
    "alloc",
    "//",
    "/*",
    "\"",
    ".macro x\n",
    "0xffffffffffffffffffff",
];

fn mutated(text: &str, rng: &mut StdRng) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..rng.random_range(1..6) {
        if bytes.is_empty() {
            break;
        }
        let at = rng.random_range(0..bytes.len());
        match rng.random_range(0..8) {
            0 => {
                bytes.remove(at);
            }
            1 => bytes[at] = rng.random_range(0..128),
            2 => bytes.insert(at, rng.random()),
            3 => bytes.truncate(at),
            4 | 5 => {
                let piece = PIECES[rng.random_range(0..PIECES.len())];
                bytes.splice(at..at, piece.bytes());
            }
            6 => {
                // A stretch once more.
                let end = (at + rng.random_range(1..200)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = rng.random_range(0..bytes.len());
                bytes.splice(to..to, piece);
            }
            _ => {
                // Two lines change places.
                let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
                let (found, two) = (
                    rng.random_range(0..lines.len()),
                    rng.random_range(0..lines.len()),
                );
                lines.swap(found, two);
                bytes = lines.join(&b'\n');
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn changed_fixtures_are_read_without_a_panic() {
    let count: u64 = std::env::var("LOCKSTEP_IA64_MUTATIONS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1500);
    let first: u64 = std::env::var("LOCKSTEP_FIRST")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let texts = fixtures();
    for seed in first..first + count {
        let mut rng = StdRng::seed_from_u64(seed);
        let text = &texts[seed as usize % texts.len()];
        survives(&format!("mutation {seed}"), &mutated(text, &mut rng));
    }
    println!("{count} changed texts");
}

const COUNT: usize = 100_000;

fn repeated(piece: impl Fn(usize) -> String) -> String {
    (0..COUNT).fold(String::new(), |mut out, at| {
        let _ = writeln!(out, "{}", piece(at));
        out
    })
}

#[test]
fn large_texts_take_bounded_time() {
    let shapes: [(&str, String); 10] = [
        (
            "one block",
            repeated(|at| {
                format!(
                    "add r{} = r{}, r{} ;;",
                    14 + at % 13,
                    14 + at % 7,
                    14 + at % 11
                )
            }),
        ),
        (
            "no stop",
            repeated(|at| format!("ld8 r{} = [r{}]", 14 + at % 18, 32 + at % 64)),
        ),
        (
            "a label each",
            repeated(|at| format!(".L{at}: add r14 = {}, r14 ;;", at % 100)),
        ),
        (
            "a block of thirty each",
            repeated(|at| {
                let label = if at % 30 == 0 {
                    format!(".L{at}:")
                } else {
                    String::new()
                };
                format!(
                    "{label} (p{}) ld4 r{} = [r{}], 4 ;;",
                    6 + at % 10,
                    14 + at % 9,
                    23 + at % 9
                )
            }),
        ),
        (
            "bundles",
            repeated(|at| {
                format!(
                    "{{ .mii\n ld8 r{} = [r32]\n add r15 = 1, r33\n nop.i 0 ;; }}",
                    14 + at % 9
                )
            }),
        ),
        ("braces", "{ ".repeat(COUNT)),
        ("brackets", "add r1 = [".repeat(COUNT)),
        ("one line", "add r14 = r15, r16 ;; ".repeat(COUNT)),
        ("predicates", "(p6) ".repeat(COUNT)),
        (
            "macros",
            repeated(|at| format!(".macro m{at}\nadd r1 = r2, r3\n.endm\nm{at}")),
        ),
    ];
    for (name, text) in shapes {
        let begun = Instant::now();
        survives(name, &text);
        println!("{name}: {:?} for {} bytes", begun.elapsed(), text.len());
    }
}
