//! The contents of the random programs: an oracle says nothing of what it never sees.
//!
//! Each generator's programs of some seeds are counted by construct (operators, keywords and literals of C;
//! operations, terminators and types of the IR; sizes of arguments and launches), and the counts are pinned
//! in a table beside this file. `UPDATE_FIXTURES=1` rewrites it: after a change of a generator, the
//! difference shows which constructs the oracles see more or less often. A recorded seed names the same
//! program as long as the table stands.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

use lockstep_ir::{Module, text};
use oracle::random::c::{self, Kernel, kernel, wide};
use oracle::random::{self, Argument, Extreme, Flavour, Program, Shape, extreme, program};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Occurrences by construct, and the programs in which it occurs.
#[derive(Default)]
struct Counts {
    constructs: BTreeMap<String, (u64, u64)>,
    programs: u64,
}

impl Counts {
    fn program(&mut self, constructs: impl IntoIterator<Item = String>) {
        let mut own: BTreeMap<String, u64> = BTreeMap::new();
        for construct in constructs {
            *own.entry(construct).or_default() += 1;
        }
        for (construct, count) in own {
            let all = self.constructs.entry(construct).or_default();
            *all = (all.0 + count, all.1 + 1);
        }
        self.programs += 1;
    }

    fn pinned(&self, name: &str) {
        let mut table = format!("{:>8} programs\n", self.programs);
        for (construct, (count, programs)) in &self.constructs {
            let _ = writeln!(table, "{count:>8} in {programs:>4}  {construct}");
        }
        let path = format!(
            "{}/tests/random_programs/{name}.txt",
            env!("CARGO_MANIFEST_DIR")
        );
        if let Err(message) = fixtures::expect_file(path, &table) {
            panic!("{message}");
        }
    }

    /// Each of these occurs, and in several programs.
    fn has(&self, constructs: &[&str]) {
        for construct in constructs {
            let programs = self.constructs.get(*construct).map_or(0, |count| count.1);
            assert!(
                programs >= 4,
                "`{construct}` occurs in {programs} of {}",
                self.programs
            );
        }
    }
}

/// A number by its size: small ones by themselves, others by their count of bits.
fn size(number: u64) -> String {
    match number {
        0..=9 => number.to_string(),
        more => format!("of {} bits", 64 - more.leading_zeros()),
    }
}

/// The tokens of a C text: names lose their numbers, literals their digits.
fn tokens(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let run = |from: usize, of: fn(u8) -> bool| {
        let rest = &bytes[from..];
        from + rest.iter().position(|&b| !of(b)).unwrap_or(rest.len())
    };
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b if b.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b if b.is_ascii_alphabetic() || b == b'_' => {
                let end = run(at, |b| b.is_ascii_alphanumeric() || b == b'_');
                let word = &text[at..end];
                out.push(
                    word.split('_')
                        .next()
                        .unwrap_or(word)
                        .trim_end_matches(|c: char| c.is_ascii_digit())
                        .to_owned(),
                );
                end
            }
            b if b.is_ascii_digit() => {
                let end = run(at, |b| b.is_ascii_alphanumeric() || b == b'.');
                let word = &text[at..end];
                let digits = word.trim_end_matches(['u', 'l', 'f']);
                let kind = match digits.parse::<u64>() {
                    Ok(number) => size(number),
                    Err(_) => "literal".to_owned(),
                };
                out.push(
                    format!("{kind} {}", &word[digits.len()..])
                        .trim_end()
                        .to_owned(),
                );
                end
            }
            b'"' | b'\'' => {
                let quote = bytes[at];
                let mut end = at + 1;
                while bytes[end] != quote {
                    end += 1 + usize::from(bytes[end] == b'\\');
                }
                out.push(format!("{0}{0} of {1}", quote as char, end - at - 1));
                end + 1
            }
            _ => {
                let end = run(at, |b| b"+-*/%&|^<>=!".contains(&b)).max(at + 1);
                out.push(text[at..end].to_owned());
                end
            }
        };
        at = end;
    }
    out
}

fn of_kernel(kernel: &Kernel) -> Vec<String> {
    let mut out = tokens(&kernel.text);
    out.push(format!("returns {:?}", kernel.returns));
    out.push(format!(
        "lines {}",
        size(kernel.text.lines().count() as u64)
    ));
    for parameter in &kernel.parameters {
        out.push(match parameter.argument {
            c::Argument::Scalar { ty, bits } => {
                let negative = (bits as i64) < 0 && !ty.is_float();
                let number = if negative { bits.wrapping_neg() } else { bits };
                format!(
                    "scalar {ty:?} {}{}",
                    if negative { "-" } else { "" },
                    size(number)
                )
            }
            c::Argument::Pointer { buffer, offset } => format!("pointer {buffer} + {offset}"),
        });
    }
    for buffer in &kernel.buffers {
        out.push(format!(
            "buffer {:?} of {}",
            buffer.element,
            buffer.bytes.len()
        ));
        let parts = buffer.bytes.chunks(buffer.element.bytes());
        out.extend(parts.map(|part| {
            let used = part
                .iter()
                .rposition(|&byte| byte != 0)
                .map_or(0, |at| at + 1);
            let sign = part.last().is_some_and(|&byte| byte & 0x80 != 0);
            format!(
                "element {:?}, {used} bytes{}",
                buffer.element,
                if sign { ", signed" } else { "" }
            )
        }));
    }
    out
}

#[test]
fn plain_kernels() {
    let mut counts = Counts::default();
    (0..250).for_each(|seed| counts.program(of_kernel(&kernel(seed))));
    counts.has(&[
        "for", "while", "do", "break", "continue", "return", "goto", "switch", "case", "restrict",
        "if", "else", "?", "&&", "||", "/", "%", "<<", ">>", "&", "|", "^", "~", "-", "!=", "==",
        "<=", ">=", "++", "--", "double", "float", "short", "char", "long", "unsigned", "sqrt",
        "fma", "fabs",
    ]);
    counts.pinned("plain_kernels");
}

#[test]
fn wide_kernels() {
    let mut counts = Counts::default();
    (0..150).for_each(|seed| {
        let wide = wide(seed);
        let mut constructs = of_kernel(&wide.kernel);
        constructs.push(format!("through pointers: {}", wide.through_pointers));
        counts.program(constructs);
    });
    counts.has(&[
        "struct", "union", "static", "&", "|", "^", "~", "<<", ">>", "%", "/", "++", "--", "->",
        "goto", "switch", "do", "while", "for", "?", "+=", "-=", "^=", "|=", "&=",
    ]);
    counts.pinned("wide_kernels");
}

/// The statements of a module's text, without numbers.
fn of_module(module: &Module) -> Vec<String> {
    let mut out = Vec::new();
    for line in text::print_module(module).lines() {
        let line = line.split(" @").next().unwrap_or(line).trim();
        let (types, statement) = match line.split_once(" = ") {
            Some((results, statement)) => (results, statement),
            None => ("", line),
        };
        let mut words = statement.split([' ', '(', ',']);
        let word = words.next().unwrap_or_default();
        let kind = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let ty = types
            .split(", ")
            .filter_map(|result| result.split_once(": "))
            .map(|(_, ty)| ty);
        let ty = ty.collect::<Vec<_>>().join(", ");
        out.push(kind.to_owned());
        out.push(format!("result {ty}"));
        if word == "const" {
            let number = words.next().unwrap_or_default();
            let (sign, digits) = match number.strip_prefix('-') {
                Some(digits) => ("-", digits),
                None => ("", number),
            };
            let number = digits.parse::<u64>().map_or("of another form".into(), size);
            out.push(format!("constant {ty} {sign}{number}"));
        }
        if statement.contains(" if ") {
            out.push(format!("{kind} under a guard"));
        }
    }
    out
}

fn of_program(program: &Program) -> Vec<String> {
    let mut out = of_module(&program.module);
    out.push(format!("functions {}", program.module.functions.len()));
    out.push(format!("block {:?}", program.block.map(|n| n.ilog2())));
    out.push(format!("grid {:?}", program.grid));
    out.push(format!("warp {}", program.warp_size));
    out.push(format!("steps {}", size(program.steps)));
    let other = program.arguments_from(7);
    for (kind, arguments) in [("argument", &program.arguments), ("other argument", &other)] {
        for argument in arguments {
            out.push(match argument {
                Argument::Scalar(bits) => format!("{kind} {}", size((*bits as i64).unsigned_abs())),
                Argument::Buffer(bytes) => {
                    let sum = bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
                    format!(
                        "{kind} buffer {}, mean byte {}",
                        size(bytes.len() as u64),
                        sum * 4 / (bytes.len() as u64 * 256).max(1)
                    )
                }
            });
        }
    }
    out
}

#[test]
fn modules() {
    let shapes = [
        ("structured", Shape::default()),
        ("small", Shape::small(Flavour::Arbitrary)),
        (
            "large",
            Shape {
                functions: 3,
                blocks: 30,
                loop_depth: 3,
                symbolic_parameters: true,
                undefined: true,
                inactive_sources: true,
                barriers: true,
                ..Shape::default()
            },
        ),
        (
            "large_arbitrary",
            Shape {
                functions: 2,
                blocks: 50,
                symbolic_parameters: true,
                undefined: true,
                stray_barriers: true,
                ..Shape::arbitrary()
            },
        ),
    ];
    for (name, shape) in shapes {
        let mut counts = Counts::default();
        (0..60).for_each(|seed| counts.program(of_program(&program(seed, &shape))));
        counts.pinned(name);
    }
}

#[test]
fn extreme_functions() {
    let mut table = String::new();
    for kind in Extreme::ALL {
        for values in [0, 1, 10, 60, 500] {
            let functions = vec![extreme(kind, values)];
            let mut counts: BTreeMap<String, u32> = BTreeMap::new();
            for construct in of_module(&Module { functions }) {
                *counts.entry(construct).or_default() += 1;
            }
            let _ = writeln!(table, "{kind:?} of {values}: {counts:?}");
        }
    }
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/random_programs/extreme_functions.txt"
    );
    fixtures::expect_file(path, &table).unwrap_or_else(|message| panic!("{message}"));
}

/// The generator of numbers: bounds are kept and reached, chances have their stated frequencies.
#[test]
fn numbers_are_spread_over_their_range() {
    let mut numbers = random::Random::new(1);
    for bound in [0, 1, 2, 3, 7, 10] {
        let drawn: Vec<u32> = (0..400).map(|_| numbers.below(bound)).collect();
        let all = (0..bound.max(1)).all(|number| drawn.contains(&number));
        assert!(
            all && drawn.iter().all(|&number| number < bound.max(1)),
            "{bound}"
        );
    }
    for (low, high) in [(-3, 3), (0, 0), (5, 9), (-9, -7)] {
        let drawn: Vec<i64> = (0..400).map(|_| numbers.between(low, high)).collect();
        let all = (low..=high).all(|number| drawn.contains(&number));
        assert!(
            all && drawn.iter().all(|number| (low..=high).contains(number)),
            "{low} {high}"
        );
    }
    for chance in [0, 1, 30, 50, 99, 100] {
        let hits = (0..4000).filter(|_| numbers.percent(chance)).count() as i64;
        assert!(
            (hits - 40 * i64::from(chance)).abs() <= 120,
            "{chance}: {hits}"
        );
    }
    let items = [1, 2, 3];
    let picked: Vec<i32> = (0..100).map(|_| *numbers.pick(&items)).collect();
    assert!(items.iter().all(|item| picked.contains(item)));
}
