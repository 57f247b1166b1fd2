//! Predicts a trace of branches that something else recorded: words of 32 bits, little endian, the place of a branch in the
//! upper 31, its direction in the lowest. Branches are resolved at once, as simulators of traces have it.
//!
//! `cargo run --release -p lockstep-simulate --example predict -- TRACE [DESIGN]...`
#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

use simulate::predictor::{self, Branch, Design, Direction, Event, TageSizes};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("predict TRACE [DESIGN]...");
        std::process::exit(2);
    };
    let bytes = std::fs::read(&path).unwrap_or_else(|error| {
        eprintln!("{path}: {error}");
        std::process::exit(2);
    });
    let trace: Vec<Event> = bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|word| {
            let word = u32::from_le_bytes(*word);
            Event::Branch(Branch {
                gap: 1,
                pc: u64::from(word >> 1),
                taken: word & 1 != 0,
                guard: 0,
            })
        })
        .collect();
    let named: Vec<String> = arguments.collect();
    let mut designs: Vec<(String, Design)> = Vec::new();
    for name in &named {
        match Design::named(name) {
            Ok(design) => designs.push((name.clone(), design)),
            Err(reason) => {
                eprintln!("{reason}");
                std::process::exit(2);
            }
        }
    }
    if named.is_empty() {
        for name in ["meta", "gshare", "tage"] {
            designs.extend(Design::named(name).map(|design| (name.to_owned(), design)));
        }
        // The sizes of the paper of 2006, for comparison with its program.
        let small = TageSizes {
            base: 13,
            tables: 7,
            entries: 9,
            tag: 12,
            least: 5,
            most: 130,
        };
        let name = "tage, 7 tables of 512 entries".to_owned();
        designs.push((name, Design::new(Direction::Tage(small))));
    }
    for (name, design) in designs {
        let at_once = Design {
            resolve: 0,
            ..design
        };
        let all = predictor::simulate(&at_once, &trace).all;
        println!(
            "{name}: {} branches, {} mispredicted ({:.3} %)",
            all.executed,
            all.mispredicted,
            100.0 * all.rate()
        );
    }
}
