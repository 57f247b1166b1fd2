//! Spill code of the SC140 before and after it is reduced, of kernels as codecs have them and of public C: preprocessed files
//! (`*.i`) of the directories `LOCKSTEP_PUBLIC_C`, separated by colons. Gains as the paper defines them: cycles without the pass less those with it,
//! by those with it. Cycles are sets by estimated executions of blocks, loads and stores those in the text. Two baselines: values
//! that find no colour spilled everywhere, as Chaitin does, and Lockstep's allocators before the pass. What is left is compared
//! with the fewest loads and stores that an exhaustive search finds.
#![allow(clippy::disallowed_methods)]

#[path = "sc140_spills/exact.rs"]
mod exact;

use ir::Language;
use ir::lower::c_family::{LowerOptions, lower_unit};
use isa::sc140::Sc140;
use lockstep_codegen::allocate::Decided;
use lockstep_codegen::allocate::Reduction;
use lockstep_codegen::machine;
use lockstep_codegen::mir::Target;
use lockstep_codegen::target::sc140::emit::{Obstacle, Options, Report, emit, emit_placed};
use lockstep_codegen::target::sc140::machine::Limits;
use oracle::random::c::fractions;
use std::collections::{BTreeMap, BTreeSet};
use syntax::c_family::{Dialect, parse_text};

/// The reports of a function.
struct Reports {
    /// The code by Chaitin's colouring, where the function has only what it knows.
    coloured: Option<Report>,
    without: Report,
    with: Report,
}

/// The reports of the functions of a text that have code.
fn reports(text: &str, fewer: usize) -> Vec<Reports> {
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
            let options = Options {
                fewer,
                ..Options::default()
            };
            let mut known = true;
            let emitted = emit_placed(&lowered.module, sets, &options, &mut |unplaced| {
                let limits = Limits {
                    spills: false,
                    fewer,
                };
                let spills = unplaced.limits.spills;
                let decided = Decided::coloured(unplaced.function, unplaced.sets, &limits);
                known &= !spills || decided.is_some();
                decided.filter(|_| spills).map(|it| it.written())
            });
            let coloured = emitted.ok().filter(|_| known);
            out.push(Reports {
                coloured: coloured.and_then(|it| it.functions.into_iter().next()),
                without,
                with,
            });
        }
    }
    out
}

/// A baseline against which cycles are compared.
#[derive(Default)]
struct Baseline {
    functions: usize,
    gains: f64,
    transfers: [u32; 2],
    /// Functions that take more cycles than without, and those with more loads, stores or executions of them.
    slower: Vec<String>,
    more: Vec<String>,
}

impl Baseline {
    /// Returns the gain in percent.
    fn add(&mut self, before: &Report, with: &Report) -> f64 {
        let [given, left] = [before, with].map(|report| report.transfers[1]);
        let name = &with.name;
        if with.cycles > before.cycles {
            self.slower
                .push(format!("{name}: {} {} cycles", with.cycles, before.cycles));
        }
        if !left.is_no_more_than(&given) {
            self.more.push(format!("{name}: {left:?} {given:?}"));
        }
        let gain = before.cycles / with.cycles;
        self.functions += 1;
        self.gains += gain.ln();
        self.transfers[0] += given.loads + given.stores;
        self.transfers[1] += left.loads + left.stores;
        100.0 * (gain - 1.0)
    }
    fn print(&self, name: &str) {
        println!(
            "    {name}: {} functions, {} loads and stores become {}, {:.1} % fewer cycles in the mean",
            self.functions,
            self.transfers[0],
            self.transfers[1],
            100.0 * ((self.gains / self.functions.max(1) as f64).exp() - 1.0)
        );
        let (slower, more) = (&self.slower, &self.more);
        println!("        slower: {slower:?}; with more loads, stores or executions: {more:?}");
    }
}

#[derive(Default)]
struct Sum {
    functions: usize,
    spilling: usize,
    /// The baseline by Chaitin's colouring.
    coloured: Baseline,
    plain: Baseline,
}

impl Sum {
    fn add(&mut self, reports: &Reports, fewer: usize) {
        self.functions += 1;
        let Reports {
            coloured,
            without,
            with,
        } = reports;
        let all = [coloured.as_ref(), Some(without)];
        let moves = |report: &Report| {
            let moved = report.transfers[1];
            (moved.loads, moved.stores)
        };
        if all.iter().flatten().all(|report| moves(report) == (0, 0)) {
            return;
        }
        self.spilling += 1;
        let shown = |report: &Report, gain: Option<f64>| {
            let (loads, stores) = moves(report);
            let gain = gain.map_or_else(String::new, |gain| format!(" {gain:5.1} %"));
            format!("{loads:4}/{stores:<4}{:8.0}{gain}", report.cycles)
        };
        let first = match coloured {
            Some(coloured) => shown(coloured, Some(self.coloured.add(coloured, with))),
            None => "not coloured".into(),
        };
        let plain = shown(without, Some(self.plain.add(without, with)));
        println!(
            "{:28} {fewer} | {first:26} | {plain} | {}",
            with.name,
            shown(with, None)
        );
    }
    fn print(&self, name: &str) {
        println!(
            "{name}: {} of {} functions spill",
            self.spilling, self.functions
        );
        self.coloured.print("after Chaitin's spilling everywhere");
        self.plain.print("after the allocators before the pass");
    }
}

/// The head of the table: loads/stores in the text, cycles, and the gain over the baseline.
fn head() {
    println!(
        "{:30} | {:26} | {:26} | with the pass",
        "function, registers fewer", "Chaitin", "before the pass"
    );
}

/// Kernels with the structure of those that the paper measures.
const KERNELS: &str = include_str!("sc140_spills/kernels.c");

#[test]
fn kernels_of_codecs_spill_less() {
    for (fewer, most) in [(0, 0.2), (8, 0.4)] {
        let mut sum = Sum::default();
        head();
        for reports in reports(KERNELS, fewer) {
            sum.add(&reports, fewer);
        }
        sum.print(&format!("{fewer} registers fewer"));
        let [given, left] = sum.plain.transfers.map(f64::from);
        assert!(left <= most * given);
        assert!(sum.plain.functions >= 3 && sum.plain.gains > 0.0);
        assert!(sum.coloured.functions >= 3);
        for baseline in [&sum.coloured, &sum.plain] {
            assert_eq!((&baseline.slower, &baseline.more), (&vec![], &vec![]));
        }
    }
}

#[test]
fn public_functions_spill_less() {
    let Ok(folders) = std::env::var("LOCKSTEP_PUBLIC_C") else {
        println!("LOCKSTEP_PUBLIC_C names no directories of preprocessed files");
        return;
    };
    let mut worse = Vec::new();
    for fewer in [0, 8] {
        let mut sum = Sum::default();
        let entries = folders
            .split(':')
            .flat_map(|folder| std::fs::read_dir(folder).expect(folder));
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|end| end == "i"));
        paths.sort();
        for path in paths {
            let bytes = std::fs::read(&path).expect("a file");
            for reports in reports(&String::from_utf8_lossy(&bytes), fewer) {
                sum.add(&reports, fewer);
            }
        }
        sum.print(&format!("{fewer} registers fewer"));
        for baseline in [sum.coloured, sum.plain] {
            worse.extend(baseline.slower.into_iter().chain(baseline.more));
        }
    }
    // Loads and stores are more where another way of lowering is shorter.
    assert_eq!(worse, [""; 0]);
}

#[test]
fn for_each_register_it_is_told_what_keeps_it_from_a_spilled_value() {
    let table = machine::named("sc140").expect("a table");
    let sets = table.sets().expect("execution sets");
    // Kernels of codecs next to never spill what some register could hold: random ones do.
    let (mut free, mut missed, mut missed_at_random) = (0, 0, 0);
    let random = (0..40).map(|seed| fractions(seed).text);
    let texts: Vec<String> = random.chain([KERNELS.to_owned()]).collect();
    let lowered = texts.iter().flat_map(|text| {
        let items = parse_text(text, Dialect::C);
        let all = lower_unit(&items, &LowerOptions::new(Language::C));
        all.into_iter()
            .map(move |(_, lowered)| (text == KERNELS, lowered))
    });
    for (of_codecs, lowered) in lowered {
        for fewer in [0, 8, 10, 11] {
            let options = Options {
                fewer,
                explain_spills: true,
                ..Options::default()
            };
            // Next to no registers may be too few.
            let Ok(made) = emit(&lowered.module, sets, &options) else {
                assert!(fewer > 8);
                continue;
            };
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
                        // Where next to no registers are left others are missed, too.
                        Obstacle::Open if of_codecs => missed += u32::from(fewer <= 8),
                        Obstacle::Open => missed_at_random += 1,
                        Obstacle::Kept => panic!("spills are reduced"),
                    }
                }
            }
        }
    }
    println!("{free} are free in part, {missed} missed, in random kernels {missed_at_random}");
    assert!(free > 10 && missed <= 1, "{free} {missed}");
}

/// The reduction that is compared with the fewest.
const REDUCTION: Reduction = Reduction::Pieces;

fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Functions whose spills were searched exhaustively, and how much of what is possible was done.
#[derive(Default)]
struct Reached {
    functions: u32,
    reached: u32,
    undecided: u32,
    /// Loads and stores as allocated, as left, and the fewest.
    transfers: [u32; 3],
    /// Functions by transfers above the fewest.
    above: BTreeMap<u32, u32>,
}

impl Reached {
    /// Searches the functions of a text with fewer operations than `most`.
    fn search(&mut self, text: &str, fewer: usize, most: usize, told: bool) {
        let table = machine::named("sc140").expect("a table");
        let sets = table.sets().expect("execution sets");
        let options = Options {
            fewer,
            total: true,
            ..Options::default()
        };
        let items = parse_text(text, Dialect::C);
        for (_, lowered) in lower_unit(&items, &LowerOptions::new(Language::C)) {
            // Operations of the run-time library are no functions of the text.
            let mut first = true;
            let _ = emit_placed(&lowered.module, sets, &options, &mut |unplaced| {
                let (function, limits) = (unplaced.function, &unplaced.limits);
                let decided = Decided::scanned(function, sets, limits).ok()?;
                let before = decided.written();
                let after = decided.reductions(&BTreeSet::new()).written(REDUCTION);
                let blocks = function.blocks.iter();
                let operations: usize = blocks.map(|block| block.operations.len()).sum();
                let given = before.1.traffic.loads + before.1.traffic.stores;
                if std::mem::take(&mut first) && given > 0 && operations < most {
                    let homes = Sc140::homes(function, sets, limits);
                    let fewest =
                        exact::fewest((&before.0, &before.1), (&after.0, &after.1), &homes);
                    let left = after.1.traffic.loads + after.1.traffic.stores;
                    if told {
                        let name = &function.name;
                        println!(
                            "{name:24} {fewer} | {operations:4} | {given:4} {left:4} {fewest:?}"
                        );
                    }
                    self.add(given, left, fewest);
                }
                Some(after)
            });
        }
    }

    fn add(&mut self, given: u32, left: u32, fewest: Option<u32>) {
        let Some(fewest) = fewest else {
            self.undecided += 1;
            return;
        };
        self.functions += 1;
        self.reached += u32::from(left <= fewest);
        *self.above.entry(left.saturating_sub(fewest)).or_default() += 1;
        for (sum, count) in self.transfers.iter_mut().zip([given, left, fewest]) {
            *sum += count;
        }
    }

    fn print(&self, name: &str) {
        println!(
            "{name}: reached in {} of {}; loads and stores allocated, left, fewest: {:?}; functions by those above the fewest: {:?}; {} searches took too long",
            self.reached, self.functions, self.transfers, self.above, self.undecided
        );
    }
}

/// `LOCKSTEP_SEARCHED` random kernels, from the seed `LOCKSTEP_FIRST` on.
#[test]
fn few_transfers_are_left_that_a_search_takes_away() {
    let first = setting("LOCKSTEP_FIRST", 0);
    let mut random = Reached::default();
    for seed in first..first + setting("LOCKSTEP_SEARCHED", 150) {
        for fewer in [8, 9, 10, 11] {
            let told = std::env::var("LOCKSTEP_TOLD").is_ok();
            random.search(&fractions(seed).text, fewer, 60, told);
        }
    }
    random.print("random kernels of less than 60 operations");
    assert!(random.functions >= 20);
    assert!(random.reached * 5 >= random.functions * 4);
    let mut kernels = Reached::default();
    println!("kernel, registers fewer | operations | loads and stores allocated, left, fewest");
    for fewer in [0, 8] {
        kernels.search(KERNELS, fewer, usize::MAX, true);
    }
    kernels.print("kernels of codecs");
}
