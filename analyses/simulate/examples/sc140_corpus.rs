//! The share of given SC140 assembly that is read and could be executed: `cargo run -p lockstep-simulate
//! --example sc140_corpus -- FILE...`
#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

use simulate::sc140::{Program, Source, Unreadable};
use std::collections::BTreeMap;
use syntax::LineIndex;

fn main() {
    let (mut lines, mut sets, mut instructions) = (0, 0, 0);
    let mut lacking: BTreeMap<String, u32> = BTreeMap::new();
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let document = syntax::sc140::parse(&text);
        let index = LineIndex::new(&text);
        let line = |offset| index.line_column(offset).0 + 1;
        assert_eq!(document.text(), text, "{path} is not kept");
        for problem in &document.problems {
            println!("{path}:{}: {}", line(problem.span.start), problem.message);
        }
        for (_, set) in document.sets() {
            sets += 1;
            instructions += set.instructions.len();
        }
        lines += text.lines().count();
        let source = Source {
            document: &document,
            text: &text,
        };
        let (program, opaque) = Program::new(&[source]);
        for opaque in opaque {
            println!("{path}:{}: {}", line(opaque.span.start), opaque.why);
            let why = match opaque.why {
                Unreadable::Mnemonic(name) => name,
                other => other.to_string(),
            };
            *lacking.entry(why).or_default() += 1;
        }
        println!(
            "{path}: {} lines, {} problems, functions: {}",
            text.lines().count(),
            document.problems.len(),
            program.functions().join(", ")
        );
    }
    println!("{lines} lines, {sets} execution sets, {instructions} instructions");
    for (name, count) in lacking {
        println!("lacking: {name} ({count})");
    }
}
