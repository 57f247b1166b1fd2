//! Statements of PTX text moved to where their results are read, against the interpreter: random text, text that is printed from
//! random IR, and kernels with many zeros compute the same; `ptxas` takes the result.
//!
//! `LOCKSTEP_SUNK_PTX=N` moves statements of N texts of each kind instead of the default number, `LOCKSTEP_SUNK_PTX_FIRST=N` starts
//! at another seed; `LOCKSTEP_PUBLIC_PTX=DIR` names files of others, of which each statement is tried.

#[path = "support/flat.rs"]
mod flat;
#[path = "support/ptx_programs.rs"]
mod ptx_programs;
#[path = "support/ptxas.rs"]
mod ptxas;
#[path = "support/public.rs"]
mod public;
#[path = "versioned_ptx/sparse.rs"]
mod sparse;
#[path = "soundness_ptx/text/mod.rs"]
mod text;

use flat::Flat;
use lockstep_codegen::specialize::ptx::{Document, Stay, Sunk};
use oracle::interp::{self, Launch};
use oracle::random::Random;
use ptx_programs::{is_settled, kernel, printed, random_text, setting};
use std::collections::BTreeMap;
use syntax::Span;
use syntax::ptx::{PtxItemKind, declarations, split_items};

const TEXTS: u64 = 60;
/// Moves of one text that are run.
const RUNS: usize = 8;

#[derive(Default, Debug)]
struct Count {
    texts: u64,
    statements: u64,
    moved: u64,
    copies: u64,
    guarded: u64,
    fewer: u64,
    runs: u64,
    stay: BTreeMap<String, u64>,
}

fn class(stay: &Stay) -> String {
    let name = format!("{stay:?}");
    let end = name.find(|c: char| !c.is_alphanumeric());
    name[..end.unwrap_or(name.len())].to_owned()
}

/// The texts in which a statement of an entry is moved.
fn moves(text: &str, count: &mut Count, what: &str) -> Vec<(String, Sunk)> {
    let items = split_items(text);
    let version = declarations(text, &items).version;
    let mut out = Vec::new();
    for (item, tree, lowered) in ir::lower::ptx::lower_text(text) {
        let PtxItemKind::Function(tree) = &tree.kind else {
            continue;
        };
        let own = &text[item.start as usize..item.end as usize];
        let document = Document::new(own, tree, &lowered.module.functions[0], version);
        for at in 0..tree.statements().len() as u32 {
            count.statements += 1;
            match document.sink(at, &Flat, None, &|_: Span| false) {
                Ok(sunk) => {
                    let mut after = text.to_owned();
                    for (span, new) in sunk.edits.iter().rev() {
                        let place = span.shifted(item.start);
                        after.replace_range(place.start as usize..place.end as usize, new);
                    }
                    count.moved += 1;
                    count.copies += sunk.copies as u64;
                    let guarded = |new: &&(Span, String)| new.1.starts_with('@');
                    count.guarded += u64::from(sunk.edits.iter().any(|new| guarded(&new)));
                    out.push((after, sunk));
                }
                Err(Stay::Check(violation)) => {
                    panic!("{what}: statement {at}: {violation}\n{text}")
                }
                Err(stay) => *count.stay.entry(class(&stay)).or_default() += 1,
            }
        }
    }
    out
}

fn judge(text: &str, launch: &Launch, seed: u64, count: &mut Count, what: &str) {
    let Some(module) = kernel(text) else { return };
    if !is_settled(text, &module) {
        return;
    }
    let mut random = Random::new(seed ^ 0x7375_6e6b);
    let outcome = interp::run(&module, launch);
    if outcome.error.is_some() {
        return;
    }
    count.texts += 1;
    let mut found = moves(text, count, what);
    for _ in 0..RUNS.min(found.len()) {
        let (after, _) = found.swap_remove(random.below(found.len() as u32) as usize);
        let module = kernel(&after).unwrap_or_else(|| panic!("{what}: no kernel\n{after}"));
        if let Err(errors) = ir::verify_module(&module) {
            panic!("{what}: {}\n{after}", errors[0]);
        }
        let now = interp::run(&module, launch);
        count.runs += 1;
        let same = outcome.returned == now.returned
            && outcome.buffers == now.buffers
            && now.error.is_none();
        assert!(same, "{what}: {:?}\n{text}\n{after}", now.error);
        count.fewer += u64::from(now.lane_steps < outcome.lane_steps);
    }
}

#[test]
fn moved_statements_compute_the_same() {
    let mut count = Count::default();
    let first = setting("LOCKSTEP_SUNK_PTX_FIRST", 0);
    for seed in first..first + setting("LOCKSTEP_SUNK_PTX", TEXTS) {
        let (text, launch) = random_text(seed);
        judge(&text, &launch, seed, &mut count, &format!("text {seed}"));
        if let Some((text, launch)) = printed(seed) {
            judge(&text, &launch, seed, &mut count, &format!("printed {seed}"));
        }
        let (text, launch) = sparse::source(seed);
        judge(&text, &launch, seed, &mut count, &format!("sparse {seed}"));
    }
    println!("{count:#?}");
    assert!(count.moved > count.texts && count.guarded > 0, "{count:?}");
    assert!(count.fewer > 0 && count.copies > count.moved, "{count:?}");
}

#[test]
fn the_assembler_takes_moved_statements() {
    let Some(tool) = ptxas::find() else {
        return;
    };
    let accepts = |text: &str| ptxas::judge(&tool, "sm_80", text);
    let mut judged = 0;
    for seed in 0..60 {
        let mut count = Count::default();
        for text in [random_text(seed).0, sparse::source(seed).0] {
            if accepts(&text).is_err() {
                continue;
            }
            for (after, _) in moves(&text, &mut count, "ptxas").iter().take(2) {
                if let Err(errors) = accepts(after) {
                    panic!("seed {seed}: {errors}\n{after}");
                }
                judged += 1;
            }
        }
        if judged >= 40 {
            break;
        }
    }
    println!("ptxas accepted {judged} texts");
    assert!(judged >= 20, "{judged}");
}

/// Files of a directory that the environment names: each statement is tried, and what is moved is judged.
#[test]
fn statements_of_others_are_moved() {
    let Some(paths) = public::ptx_files() else {
        return;
    };
    let tool = ptxas::find();
    let mut count = Count::default();
    let mut judged = 0;
    for path in paths {
        let text = public::text_of(&path);
        let what = path.display().to_string();
        let found = moves(&text, &mut count, &what);
        for (after, _) in found.iter().take(1) {
            if let Some(tool) = &tool
                && ptxas::judge(tool, "sm_80", &text).is_ok()
            {
                if let Err(errors) = ptxas::judge(tool, "sm_80", after) {
                    panic!("{what}: {errors}");
                }
                judged += 1;
            }
        }
        count.texts += 1;
    }
    println!("{count:#?}\nptxas accepted {judged}");
}
