//! Tries every variable of the files given as a version on zero, and counts those that are offered, and the
//! reasons why the others are not: `cargo run --release --example versions -- [--absorb] [--show N]
//! DIRECTORY...`

use lockstep_server::db::Database;
use lockstep_server::derive::versions::survey;
use lockstep_server::program::{self, Language};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn files(path: &Path, out: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let mut inside: Vec<PathBuf> = std::fs::read_dir(path)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        inside.sort();
        inside.iter().for_each(|it| files(it, out));
    } else if matches!(
        path.extension().and_then(|e| e.to_str()),
        Some("cu" | "hlsl")
    ) && matches!(Language::of_path(path), Language::Cuda | Language::Hlsl)
    {
        out.push(path.to_owned());
    }
}

fn main() {
    let mut absorb = false;
    let mut show = 0usize;
    let mut all = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--absorb" => absorb = true,
            "--show" => show = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(1),
            path => files(Path::new(path), &mut all),
        }
    }
    let worker = std::thread::Builder::new().stack_size(256 << 20).spawn(move || {
        let mut show = show;
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        let (mut offered, mut pays, mut tried, mut with) = (0u64, 0u64, 0u64, 0u64);
        let mut faults: Vec<String> = Vec::new();
        for (number, path) in all.iter().enumerate() {
            if number % 200 == 199 {
                eprintln!("{} of {}", number + 1, all.len());
            }
            let db = Database::default();
            let file = lockstep_server::db::Db::file(&db, path);
            let text = program::text(file.source(&db));
            let mut here = 0;
            for each in survey(&db, file, absorb) {
                tried += 1;
                match each.result {
                    Ok(offer) => {
                        offered += 1;
                        here += 1;
                        let share = offer.model.and_then(|model| model.break_even());
                        pays += u64::from(share.is_some());
                        if show > 0 && share.is_some_and(|share| share < 0.3) {
                            show -= 1;
                            let (span, new) = &offer.version.edit;
                            println!(
                                "==== {} `{}` {share:?} {:?}\n{}\n----\n{new}\n",
                                path.display(),
                                each.name,
                                offer.model,
                                text.get(span.start as usize..span.end as usize).unwrap_or("")
                            );
                        }
                    }
                    Err(refusal) => {
                        *counts.entry(refusal.name().to_owned()).or_default() += 1;
                        if refusal.name() == "check" {
                            faults.push(format!("{}:{}: {}: {refusal}", path.display(), each.place.start, each.name));
                        }
                    }
                }
            }
            with += u64::from(here > 0);
        }
        println!("{} files, {tried} variables, {offered} offered in {with} files, {pays} of them pay below 100 % (sm_80)", all.len());
        for (name, count) in counts {
            println!("{count:>8} {name}");
        }
        for fault in faults.iter().take(40) {
            println!("{fault}");
        }
    });
    if let Ok(worker) = worker {
        let _ = worker.join();
    }
}
