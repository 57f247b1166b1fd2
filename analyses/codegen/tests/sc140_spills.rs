//! Spill code of the SC140 before and after it is reduced, of kernels as codecs have them and of public C: preprocessed files
//! (`*.i`) of the directory `LOCKSTEP_PUBLIC_C`. Gains as the paper defines them: cycles without the pass less those with it,
//! by those with it. Cycles are sets by estimated executions of blocks, loads and stores those in the text.
#![allow(clippy::disallowed_methods)]

use ir::Language;
use ir::lower::c_family::{LowerOptions, lower_unit};
use lockstep_codegen::machine;
use lockstep_codegen::target::sc140::emit::{Obstacle, Options, Report, emit};
use std::collections::BTreeSet;
use syntax::c_family::{Dialect, parse_text};

/// The reports of the functions of a text that have code, those with less spill code second.
fn reports(text: &str, fewer: usize) -> Vec<(Report, Report)> {
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    let items = parse_text(text, Dialect::C);
    let mut names = BTreeSet::new();
    let mut out = Vec::new();
    for (_, lowered) in lower_unit(&items, &LowerOptions::new(Language::C)) {
        let report = |reduce_spills| {
            let options = Options {
                fewer,
                reduce_spills,
                ..Options::default()
            };
            let emitted = emit(&lowered.module, sets, &options).ok()?;
            emitted.functions.into_iter().next()
        };
        if let (Some(without), Some(with)) = (report(false), report(true))
            && names.insert(with.name.clone())
        {
            out.push((without, with));
        }
    }
    out
}

#[derive(Default)]
struct Sum {
    functions: usize,
    spilling: usize,
    gains: f64,
    transfers: [u32; 2],
}

impl Sum {
    fn add(&mut self, without: &Report, with: &Report, fewer: usize) {
        self.functions += 1;
        let [before, after] = with.transfers;
        let [count, left] = [before, after].map(|it| it.loads + it.stores);
        if count == 0 {
            return;
        }
        let gain = without.cycles / with.cycles;
        println!(
            "{:32} {fewer} fewer: {count:4} loads and stores become {left:4}, {:9.0} cycles {:9.0}, {:5.1} %",
            with.name,
            without.cycles,
            with.cycles,
            100.0 * (gain - 1.0)
        );
        assert!(after.loads <= before.loads && after.stores <= before.stores);
        assert!(after.executed <= before.executed && with.cycles <= without.cycles);
        self.spilling += 1;
        self.gains += gain.ln();
        self.transfers[0] += count;
        self.transfers[1] += left;
    }
    fn print(&self, name: &str) {
        println!(
            "{name}: {} of {} functions spill, {} loads and stores become {}, {:.1} % fewer cycles in the mean",
            self.spilling,
            self.functions,
            self.transfers[0],
            self.transfers[1],
            100.0 * ((self.gains / self.spilling.max(1) as f64).exp() - 1.0)
        );
    }
}

/// Kernels with the structure of those that the paper measures.
const KERNELS: &str = include_str!("sc140_spills/kernels.c");

#[test]
fn kernels_of_codecs_spill_less() {
    for (fewer, most) in [(0, 0.2), (8, 0.4)] {
        let mut sum = Sum::default();
        for (without, with) in reports(KERNELS, fewer) {
            sum.add(&without, &with, fewer);
        }
        sum.print(&format!("{fewer} registers fewer"));
        assert!(f64::from(sum.transfers[1]) <= most * f64::from(sum.transfers[0]));
        assert!(sum.spilling >= 3 && sum.gains > 0.0, "{}", sum.spilling);
    }
}

#[test]
fn public_functions_spill_less() {
    let Ok(folder) = std::env::var("LOCKSTEP_PUBLIC_C") else {
        println!("LOCKSTEP_PUBLIC_C names no directory of preprocessed files");
        return;
    };
    for fewer in [0, 8] {
        let mut sum = Sum::default();
        let entries = std::fs::read_dir(&folder).expect("the directory");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|end| end == "i"));
        paths.sort();
        for path in paths {
            let bytes = std::fs::read(&path).expect("a file");
            for (without, with) in reports(&String::from_utf8_lossy(&bytes), fewer) {
                sum.add(&without, &with, fewer);
            }
        }
        sum.print(&format!("{fewer} registers fewer"));
    }
}

#[test]
fn for_each_register_it_is_told_what_keeps_it_from_a_spilled_value() {
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    let (mut free, mut missed) = (0, 0);
    for (_, lowered) in lower_unit(
        &parse_text(KERNELS, Dialect::C),
        &LowerOptions::new(Language::C),
    ) {
        for fewer in [0, 8] {
            let options = Options {
                fewer,
                explain_spills: true,
                ..Options::default()
            };
            let made = emit(&lowered.module, sets, &options).expect("code");
            for value in made.functions.iter().flat_map(|function| &function.spills) {
                let told: BTreeSet<String> = value
                    .obstacles
                    .iter()
                    .map(|found| found.register.to_string())
                    .collect();
                assert_eq!((told.len(), value.obstacles.len()), (32, 32));
                for found in &value.obstacles {
                    match &found.obstacle {
                        Obstacle::Longer(longer) => {
                            assert!(longer.cycles > 0 && longer.at != ir::Loc::NONE);
                            free += 1;
                        }
                        Obstacle::Whole(_) | Obstacle::Saving { .. } => free += 1,
                        Obstacle::Taken(by) | Obstacle::TakenInPart(by) => {
                            assert!(!by.is_empty(), "{found:?}");
                        }
                        Obstacle::LeftOut => assert!(fewer > 0),
                        Obstacle::Call(loc) => assert_ne!(*loc, ir::Loc::NONE),
                        Obstacle::Open => missed += 1,
                        Obstacle::Kept => panic!("spills are reduced"),
                    }
                }
            }
        }
    }
    assert!(free > 10 && missed <= 1, "{free} {missed}");
}
