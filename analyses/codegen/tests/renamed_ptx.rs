//! PTX with as few names of registers as its values need at once, against the interpreter and NVIDIA's
//! assembler: the table of opcodes states the registers read and written correctly, and allocation keeps
//! every value.
//!
//! `LOCKSTEP_RENAMED_PTX=N` takes N texts of each kind instead of the default number. `LOCKSTEP_PTX_FILES=DIR` renames the
//! functions of the files below a folder, too, which `ptxas` then takes as it took the originals.
#![allow(clippy::disallowed_methods)]

#[path = "support/ptx_programs.rs"]
mod ptx_programs;
#[path = "support/ptxas.rs"]
// Only texts are judged here.
#[allow(dead_code)]
mod ptxas;
#[path = "soundness_ptx/text/mod.rs"]
mod text;

use lockstep_codegen::target::ptx::machine::{pressure, read, renamed};
use oracle::interp::{self, Launch};
use ptx_programs::{is_settled, kernel, printed, random_text, setting};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use syntax::ptx::{PtxItemKind, parse_item, split_items};

const TEXTS: u64 = 150;

/// The outcome for the functions of a text.
#[derive(Default, Debug)]
struct Count {
    functions: u64,
    refused: BTreeMap<String, u64>,
    runs: u64,
}

/// A file with its functions renamed.
fn rename(text: &str, count: &mut Count) -> String {
    let mut out = String::new();
    let mut at = 0;
    for item in split_items(text) {
        let own = &text[item.start as usize..item.end as usize];
        let PtxItemKind::Function(tree) = parse_item(own).kind else {
            continue;
        };
        if tree.body.is_none() {
            continue;
        }
        let body = read(&tree).and_then(|body| {
            let after = renamed(&tree, &body, own)?;
            Ok((body, after))
        });
        let (body, after) = match body {
            Ok(made) => made,
            Err(refusal) => {
                *count.refused.entry(format!("{refusal}")).or_default() += 1;
                continue;
            }
        };
        if body.reads_undefined() {
            *count
                .refused
                .entry("reads what nothing wrote".into())
                .or_default() += 1;
            continue;
        }
        let PtxItemKind::Function(again) = parse_item(&after).kind else {
            panic!("no function any more\n{after}");
        };
        let again = read(&again).unwrap_or_else(|refusal| panic!("{refusal}\n{after}"));
        assert_eq!(
            pressure(&again).words,
            pressure(&body).words,
            "{own}\n{after}"
        );
        count.functions += 1;
        out.push_str(&text[at..item.start as usize]);
        out.push_str(&after);
        at = item.end as usize;
    }
    out.push_str(&text[at..]);
    out
}

fn computes_the_same(text: &str, launch: &Launch, count: &mut Count, what: &str) {
    let Some(module) = kernel(text) else { return };
    if !is_settled(text, &module) {
        return;
    }
    let after = rename(text, count);
    let mut launch = launch.clone();
    launch.scramble_undefined = false;
    let before = interp::run(&module, &launch);
    let module = kernel(&after).unwrap_or_else(|| panic!("{what}: no kernel\n{after}"));
    let now = interp::run(&module, &launch);
    count.runs += 1;
    let same = before.returned == now.returned
        && before.buffers == now.buffers
        && before.error.is_none() == now.error.is_none();
    assert!(
        same,
        "{what}: {:?} {:?}\n{text}\n{after}",
        before.error, now.error
    );
}

#[test]
fn random_texts_compute_the_same() {
    let mut count = Count::default();
    for seed in 0..setting("LOCKSTEP_RENAMED_PTX", TEXTS) {
        let (text, launch) = random_text(seed);
        computes_the_same(&text, &launch, &mut count, &format!("text {seed}"));
        if let Some((text, launch)) = printed(seed) {
            computes_the_same(&text, &launch, &mut count, &format!("printed {seed}"));
        }
    }
    println!("{count:?}");
    assert!(count.functions >= TEXTS, "{count:?}");
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|it| it == "ptx") {
            out.push(path);
        }
    }
}

/// The architecture that a file names, or `least` where it names an older one.
fn target(text: &str, least: &str) -> String {
    let own = text.split(".target").nth(1).unwrap_or("");
    let own = own
        .split([',', ' ', '\n', '\r'])
        .find(|word| !word.is_empty());
    let number = |name: &str| {
        let digits = name.trim_start_matches("sm_");
        digits
            .trim_end_matches(char::is_alphabetic)
            .parse::<u32>()
            .ok()
    };
    match own {
        Some(own) if number(own) >= number(least) => own.to_owned(),
        _ => least.to_owned(),
    }
}

#[test]
fn the_assembler_takes_renamed_text() {
    let Some(tool) = ptxas::find() else {
        return;
    };
    let mut texts: Vec<(String, String)> = (0..20)
        .map(|seed| (format!("text {seed}"), random_text(seed).0))
        .chain((0..20).filter_map(|seed| Some((format!("printed {seed}"), printed(seed)?.0))))
        .collect();
    if let Some(folder) = std::env::var_os("LOCKSTEP_PTX_FILES") {
        let mut paths = Vec::new();
        files(Path::new(&folder), &mut paths);
        paths.sort();
        for path in paths {
            let text = std::fs::read(&path).expect("a file");
            let text = String::from_utf8_lossy(&text).into_owned();
            texts.push((path.display().to_string(), text));
        }
    }
    let mut count = Count::default();
    let (mut judged, mut alike, mut apart) = (0, 0, Vec::new());
    for (name, text) in texts {
        let target = target(&text, "sm_80");
        let Ok(before) = ptxas::code(&tool, &target, "-O3", &text) else {
            continue;
        };
        let after = rename(&text, &mut count);
        match ptxas::code(&tool, &target, "-O3", &after) {
            Ok(now) if now == before => alike += 1,
            Ok(_) => apart.push(name),
            Err(errors) => panic!("{name}: {errors}\n{after}"),
        }
        judged += 1;
    }
    println!("{judged} files, {alike} with the same code; {count:?}");
    println!("other code: {apart:#?}");
    assert!(judged >= 20, "only {judged}");
}
