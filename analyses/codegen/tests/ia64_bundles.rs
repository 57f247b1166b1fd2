//! The checker of bundles: it finds nothing in the code emitted for the fixtures of C and for random
//! programs, and blocks changed at random that it accepts compute the same, without a violation in the
//! simulator, in the listing's checks and in GNU `as`.
#![allow(clippy::disallowed_methods)]

#[path = "support/assembler.rs"]
mod assembler;
#[path = "support/blocks.rs"]
mod blocks;
#[path = "support/judge.rs"]
#[allow(dead_code)]
mod judge;

use assembler::{assembled, assembler};
use blocks::{executed, random};
use ir::lower::c_family::{LowerOptions, lower_unit};
use ir::{Language, Module};
use judge::module_of;
use lockstep_codegen::machine;
use lockstep_codegen::target::ia64::bundle::check::{Block, Region, Violation};
use lockstep_codegen::target::ia64::bundle::laid::Laid;
use lockstep_codegen::target::ia64::emit::{Bundling, Emitted, Options, emit_items};
use lockstep_codegen::target::ia64::listing::{Listing, listing};
use lockstep_codegen::target::ia64::pipeline::{self, Epilogue};
use oracle::random::c::{kernel, wide};
use oracle::random::{Shape, program};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use simulate::ia64::Timing;
use syntax::c_family::{Dialect, parse_text};

/// Blocks that were checked, those whose cycles were decided, and functions.
#[derive(Default, Debug)]
struct Tally {
    blocks: u32,
    pipelined: u32,
    functions: u32,
}

impl Tally {
    fn add(&mut self, name: &str, emitted: &Emitted) {
        for report in &emitted.functions {
            let Bundling { checked, unsound } = &report.bundling;
            assert_eq!(*unsound, [], "{name}, {}:\n{}", report.name, emitted.text);
            assert!(*checked > 0, "{name}, {}", report.name);
            self.blocks += checked;
            self.functions += 1;
            let pipelined = report.loops.iter().filter(|report| report.pipelined);
            self.pipelined += pipelined.count() as u32;
        }
    }
}

fn options(at: usize, pipelined: bool) -> Options {
    Options {
        decisions: 60,
        contract: at.is_multiple_of(2),
        checked: true,
        pipeline: pipelined.then(|| pipeline::Options {
            epilogue: match at % 2 {
                0 => Epilogue::Kernel,
                _ => Epilogue::Explicit,
            },
            checked: false,
            ..pipeline::Options::default()
        }),
        ..Options::default()
    }
}

fn emitted(modules: &[&Module], at: usize, pipelined: bool) -> Emitted {
    let table = machine::named(["itanium2", "itanium"][at % 2]).expect("a table");
    let epic = table.epic().expect("explicit groups");
    emit_items(modules, epic, &options(at, pipelined)).1
}

#[test]
fn fixtures_of_c_are_bundled_without_a_fault() {
    let mut paths = fixtures::files("c", &["c"]);
    paths.extend(fixtures::files("c/loops", &["c"]));
    assert!(paths.len() > 60, "{}", paths.len());
    let mut tallies = [Tally::default(), Tally::default()];
    for (at, path) in paths.iter().enumerate() {
        let fixture = fixtures::load(path).expect("a fixture");
        let items = parse_text(&fixture.text, Dialect::C);
        let all = lower_unit(&items, &LowerOptions::new(Language::C));
        let modules: Vec<&Module> = all.iter().map(|(_, lowered)| &lowered.module).collect();
        for (tally, pipelined) in tallies.iter_mut().zip([false, true]) {
            let name = path.display().to_string();
            tally.add(&name, &emitted(&modules, at, pipelined));
        }
    }
    let [plain, pipelined] = &tallies;
    println!("plain: {plain:?}; pipelined: {pipelined:?}");
    assert!(plain.functions > 60 && plain.blocks > 300, "{plain:?}");
    assert!(pipelined.pipelined > 40, "{pipelined:?}");
}

#[test]
fn random_programs_are_bundled_without_a_fault() {
    let programs: u64 = std::env::var("LOCKSTEP_IA64_PROGRAMS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(60);
    let mut tally = Tally::default();
    for seed in 0..programs {
        let plain = kernel(seed);
        let wide = wide(seed).kernel;
        let modules = [
            module_of(&plain.text, &plain.name),
            module_of(&wide.text, &wide.name),
            program(seed, &Shape::default()).module,
        ];
        for (module, pipelined) in modules.iter().zip([true, seed % 2 == 0, false]) {
            tally.add(
                &format!("program {seed}"),
                &emitted(&[module], seed as usize, pipelined),
            );
        }
    }
    println!("{tally:?}");
    assert!(tally.blocks as u64 > 10 * programs, "{tally:?}");
}

const BODY: &str = ".Lbody:\n";

/// A program whose body was changed: instructions that changed places, and stops that are gone.
struct Changed {
    text: String,
    verdict: Result<(), Violation>,
    is_in_order: bool,
}

fn read(text: &str) -> Listing {
    listing(&syntax::ia64::parse(text), text)
}

fn changed(text: &str, rng: &mut StdRng) -> Changed {
    let listing = read(text);
    let (head, rest) = text.split_once(BODY).expect("a body");
    let (body, tail) = rest.split_once(".Ldone:").expect("an end");
    let lines: Vec<&str> = body
        .lines()
        .map(|line| line.trim_end_matches(" ;;"))
        .collect();
    let mut order: Vec<usize> = (0..lines.len()).collect();
    for _ in 0..rng.random_range(0..4) {
        let at = rng.random_range(0..lines.len());
        let to = (at + rng.random_range(1..4)).min(lines.len() - 1);
        let item = order.remove(at);
        order.insert(to, item);
    }
    let kept = rng.random_range(0.2..0.9);
    let mut laid: Vec<Laid> = order
        .iter()
        .map(|&item| Laid::Alone(item, rng.random_bool(kept)))
        .collect();
    if let Some(Laid::Alone(_, stop)) = laid.last_mut() {
        *stop = true;
    }
    let own: Vec<String> = laid
        .iter()
        .map(|piece| match piece {
            Laid::Alone(item, stop) => {
                format!("{}{}\n", lines[*item], if *stop { " ;;" } else { "" })
            }
            Laid::Bundle(..) => unreachable!("no bundles"),
        })
        .collect();
    let region = listing
        .regions
        .iter()
        .find(|region| region.len() == lines.len())
        .expect("the body's region");
    let items = &listing.items[region.start as usize..region.end as usize];
    let block = Block {
        start: 0,
        end: items.len(),
        marks: &[],
        cycles: &[],
    };
    let insts = items.iter().map(|item| &item.inst).collect();
    Changed {
        text: format!("{head}{BODY}{}.Ldone:{tail}", own.concat()),
        verdict: Region::new(insts, &[]).check(block, &laid).map(|_| ()),
        is_in_order: order.is_sorted(),
    }
}

#[test]
fn what_is_accepted_of_changed_blocks_computes_the_same() {
    let assembler = assembler();
    let blocks: u64 = std::env::var("LOCKSTEP_IA64_BLOCKS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1500);
    let timing = Timing::itanium2();
    let (mut accepted, mut moved, mut orders, mut stops) = (0, 0, 0, 0);
    let mut all = String::new();
    for seed in 0..blocks {
        let mut rng = StdRng::seed_from_u64(seed);
        // Lengths that no other region of the text has.
        let count = rng.random_range(2..13);
        let text = random(&mut rng, count);
        let name = format!("block {seed}");
        let expected = executed(&name, &text, &timing, seed);
        for _ in 0..4 {
            let new = changed(&text, &mut rng);
            let known = read(&new.text).violations();
            match new.verdict {
                Ok(()) => {
                    assert_eq!(known, [], "{name}:\n{}", new.text);
                    let found = executed(&name, &new.text, &timing, seed);
                    let same = (&found.0, found.1) == (&expected.0, expected.1);
                    assert!(same, "{name}:\n{text}\n{}", new.text);
                    accepted += 1;
                    moved += u32::from(!new.is_in_order);
                    if accepted % 8 == 0 {
                        let own = format!("{seed}_{accepted}_");
                        let renamed = new.text.replace(" f\n", &format!(" f{own}\n"));
                        let renamed = renamed.replace("\nf:", &format!("\nf{own}:"));
                        let renamed = renamed.replace(".Lbody", &format!(".Lbody{own}"));
                        all.push_str(&renamed.replace(".Ldone", &format!(".Ldone{own}")));
                    }
                }
                Err(Violation::Order { .. }) => orders += 1,
                Err(Violation::Stop { .. }) => {
                    // Both find a stop missing where nothing changed places.
                    assert!(
                        !new.is_in_order || !known.is_empty(),
                        "{name}: {:?}\n{}",
                        new.verdict,
                        new.text
                    );
                    stops += 1;
                }
                Err(other) => panic!("{name}: {other}\n{}", new.text),
            }
        }
    }
    println!("accepted {accepted}, {moved} of them moved; refused: {orders} orders, {stops} stops");
    assert!(accepted as u64 > blocks / 2 && moved as u64 > blocks / 10);
    assert!(orders as u64 > blocks / 10 && stops as u64 > blocks / 10);
    if let Some(assembler) = assembler {
        assert_eq!(assembled(&assembler, &all), "");
    }
}
