//! What partial dead code elimination does to public functions: by paths that were profiled, and by the classical condition that
//! no way executes more.
//!
//! ```sh
//! cargo run --release -p lockstep-server --example sunk_functions -- DIRECTORY...
//! ```
//! Each C function and CUDA kernel of the directories that can be run by itself is profiled in the interpreter, on inputs
//! that eight seeds choose. Then `sink-dead` is applied where it is offered, one statement after the other: once with the profile,
//! and once without it. The cycles are those of the function's processor or GPU by its table for an entry, each block as often
//! as the same inputs execute it in the text that came out; an estimate. A function is listed if a statement was moved in it.
//!
//! Source: Gupta, Berson, Fang, *Path Profile Guided Partial Dead Code Elimination Using Predication*, PACT 1997, which
//! measured no gains.

use codegen::specialize::source::functions_of;
use codegen::specialize::source::sink_dead::candidates;
use lockstep_server::db::{self, Database, File, Item, Source};
use lockstep_server::derive::{partly_dead, versions};
use lockstep_server::profile::make::{Order, make};
use lockstep_server::{host, profile, program};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Statements that are moved in one function, at most.
const MOST: usize = 20;
/// A function whose runs take longer is left out.
const PATIENCE: Duration = Duration::from_millis(500);
/// Inputs of a profile.
const SEEDS: u32 = 8;

fn main() {
    let mut files = Vec::new();
    for directory in std::env::args().skip(1) {
        collect(Path::new(&directory), &mut files);
    }
    files.sort();
    let mut all = Totals::default();
    println!(
        "{:<44} {:>10} {:>6} {:>10} {:>6} {:>10}",
        "function", "cycles", "moved", "profile", "moved", "classical"
    );
    for path in &files {
        // Deep texts need a large stack, and what goes wrong in one file does not end the others.
        let path = path.clone();
        let worker = std::thread::Builder::new().stack_size(64 << 20);
        let found = worker.spawn(move || of_file(&path)).map(|it| it.join());
        if let Ok(Ok(found)) = found {
            all.add(found);
        }
    }
    all.print();
}

/// The functions of a file: how many ran, how many have a value that most ways never read, and those that changed.
#[derive(Default)]
struct Totals {
    ran: usize,
    partly_dead: usize,
    changed: Vec<Changed>,
}

struct Changed {
    name: String,
    before: f64,
    profiled: (usize, f64),
    classical: (usize, f64),
}

impl Totals {
    fn add(&mut self, other: Totals) {
        self.ran += other.ran;
        self.partly_dead += other.partly_dead;
        self.changed.extend(other.changed);
    }

    fn print(&self) {
        println!(
            "{} functions ran, {} have values that nothing reads on a quarter of the ways or more, {} were changed",
            self.ran,
            self.partly_dead,
            self.changed.len()
        );
        let told = |name: &str, of: fn(&Changed) -> (usize, f64)| {
            let moved = self.changed.iter().filter(|it| of(it).0 > 0);
            let ratios: Vec<(f64, &str)> = moved
                .map(|it| (of(it).1 / it.before, it.name.as_str()))
                .collect();
            let Some(worst) = ratios.iter().max_by(|a, b| a.0.total_cmp(&b.0)) else {
                return println!("{name}: nothing was moved");
            };
            let sum: f64 = ratios.iter().map(|(ratio, _)| ratio.ln()).sum();
            let slower = ratios.iter().filter(|(ratio, _)| *ratio > 1.01).count();
            println!(
                "{name}: {} functions, cycles {:.3}x in the geometric mean, worst {:.3}x ({}), {slower} slower by over 1 %",
                ratios.len(),
                (sum / ratios.len() as f64).exp(),
                worst.0,
                worst.1
            );
        };
        told("with the profile", |it| it.profiled);
        told("classical", |it| it.classical);
    }
}

fn collect(directory: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() && !path.is_symlink() {
            collect(&path, out);
        } else if path.extension().is_some_and(|it| it == "c" || it == "cu") {
            out.push(path);
        }
    }
}

fn of_file(path: &Path) -> Totals {
    let mut totals = Totals::default();
    let Ok(read) = host::read(path) else {
        return totals;
    };
    let (db, file) = opened(path, &read.text);
    let items: Vec<Item<'_>> = program::own_items(&db, file)
        .into_iter()
        .map(|(_, item)| item)
        .filter(|item| item.holds(&db).code)
        .collect();
    for item in items {
        let name = item.name(&db).to_string();
        let Some((before, rows)) = measured(path, &read.text, &name) else {
            continue;
        };
        totals.ran += 1;
        totals.partly_dead += usize::from(rows > 0);
        let mut changed = Changed {
            before,
            profiled: (0, before),
            classical: (0, before),
            name,
        };
        for with_profile in [true, false] {
            let (moved, text) = rewritten(path, &read.text, &changed.name, with_profile);
            let after = measured(path, &text, &changed.name).map_or(f64::NAN, |it| it.0);
            match with_profile {
                true => changed.profiled = (moved, after),
                false => changed.classical = (moved, after),
            }
        }
        if changed.profiled.0 + changed.classical.0 > 0 {
            println!(
                "{:<44} {:>10.1} {:>6} {:>10.1} {:>6} {:>10.1}",
                format!(
                    "{} {}",
                    path.file_name().unwrap_or_default().to_string_lossy(),
                    changed.name
                ),
                before,
                changed.profiled.0,
                changed.profiled.1,
                changed.classical.0,
                changed.classical.1
            );
            totals.changed.push(changed);
        }
    }
    totals
}

fn opened(path: &Path, text: &str) -> (Database, File) {
    let mut db = Database::default();
    let source = Source::Text {
        text: Arc::from(text),
        lossy: false,
    };
    let file = db.file_with_text(path, source);
    (db, file)
}

/// The same with the function's profile of several inputs; `None` where it does not run.
fn profiled(path: &Path, text: &str, name: &str) -> Option<(Database, File)> {
    let (mut db, file) = opened(path, text);
    let place = std::env::temp_dir().join(format!("lockstep-sunk-{}", std::process::id()));
    std::fs::create_dir_all(&place).ok()?;
    let (inputs, sum) = (place.join("inputs.toml"), place.join("profile.json"));
    drop(std::fs::remove_file(&sum));
    let mut ran = false;
    let begin = Instant::now();
    for seed in 1..=SEEDS {
        if begin.elapsed() > PATIENCE {
            return None;
        }
        std::fs::write(&inputs, format!("[launch]\nseed = {seed}\n")).ok()?;
        let order = Order {
            inputs: Some(inputs.clone()),
            item: Some(name.to_owned()),
            add: true,
            output: Some(sum.clone()),
            ..Order::default()
        };
        if let Ok(made) = make(&db, file, path, &order, &mut (), &()) {
            made.save().ok()?;
            ran = true;
        }
    }
    let text = ran.then(|| std::fs::read_to_string(&sum).ok()).flatten()?;
    let source = Source::Text {
        text: Arc::from(text),
        lossy: false,
    };
    db.file_with_text(&profile::beside(path), source);
    Some((db, file))
}

fn item<'db>(db: &'db Database, file: File, name: &str) -> Option<Item<'db>> {
    let mut items = db::items(db, file).iter();
    items.find(|item| item.name(db) == name).copied()
}

/// Cycles of an entry, and the values that most ways never read.
fn measured(path: &Path, text: &str, name: &str) -> Option<(f64, usize)> {
    let (db, file) = profiled(path, text, name)?;
    let item = item(&db, file, name)?;
    let function = db::lowered(&db, item).first()?.module.functions.first()?;
    let weights = versions::executions(&db, item, function)?;
    let machine = program::costs_of(&db, file);
    let blocks = function.layout.iter();
    let cycles = blocks.map(|&block| {
        let insts = function.blocks[block].insts.iter();
        let each = insts.map(|&inst| machine.cycles(function, &function.insts[inst]));
        each.sum::<f64>() * weights[block]
    });
    Some((cycles.sum(), db::partly_dead(&db, item).len()))
}

/// The text in which statements were moved as long as something is offered, and their number.
fn rewritten(path: &Path, text: &str, name: &str, with_profile: bool) -> (usize, String) {
    let mut text = text.to_owned();
    let mut moved = 0;
    while moved < MOST {
        let opened = match with_profile {
            true => profiled(path, &text, name),
            false => Some(opened(path, &text)),
        };
        let Some((db, file)) = opened else { break };
        let Some(edits) = offered(&db, file, name) else {
            break;
        };
        let Some(after) = codegen::specialize::source::rewritten(&text, &edits) else {
            break;
        };
        text = after;
        moved += 1;
    }
    (moved, text)
}

/// The edits of the first statement that can be moved.
fn offered(db: &Database, file: File, name: &str) -> Option<Vec<(syntax::Span, String)>> {
    let item = item(db, file, name)?;
    let start = item.place(db).start;
    let parsed = db::parsed(db, item);
    let mut all = functions_of(parsed).into_iter().flat_map(candidates);
    all.find_map(|candidate| {
        let tried = partly_dead::at(db, file, start + candidate.place.start)?;
        Some(tried.result.ok()?.plan.edits)
    })
}
