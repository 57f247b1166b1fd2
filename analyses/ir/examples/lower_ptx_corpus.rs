//! Lowers every function of the PTX files and folders given, and prints how many entries have neither a problem nor
//! an unknown construct, with the reasons for the others.
#![allow(clippy::disallowed_methods)]

#[path = "../../syntax/examples/corpus/files.rs"]
mod files;

use files::collect;
use lockstep_ir::lower::ptx::lower_text;
use lockstep_ir::verify::verify_module;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

fn main() {
    let mut files = Vec::new();
    let verbose = std::env::args().any(|a| a == "-v");
    for argument in std::env::args().skip(1) {
        collect(Path::new(&argument), &|e| e == "ptx", &mut files);
    }
    let (mut entries, mut functions, mut clean, mut clean_functions) = (0, 0, 0, 0);
    let (mut values, mut broken, mut bytes) = (0usize, 0, 0usize);
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let start = Instant::now();
    for file in &files {
        let Ok(text) = std::fs::read_to_string(file) else {
            println!("{}: not UTF-8", file.display());
            continue;
        };
        bytes += text.len();
        for (item, tree, lowered) in lower_text(&text) {
            let function = &lowered.module.functions[0];
            values += function.values.len();
            let entry = function.kind == lockstep_ir::FunctionKind::Kernel;
            let first = tree.problems.iter().chain(&lowered.problems).next();
            let reason = match (first, function.unknowns.values().next()) {
                (Some(problem), _) => Some(problem.message.clone()),
                (None, Some(unknown)) => Some(unknown.reason.clone()),
                _ => None,
            };
            if let Err(errors) = verify_module(&lowered.module) {
                broken += 1;
                println!("{}: {}: {}", file.display(), item.key.name, errors[0]);
            }
            if verbose && let Some(reason) = &reason {
                println!("{}: {}: {reason}", file.display(), item.key.name);
            }
            if entry {
                entries += 1;
                clean += usize::from(reason.is_none());
            } else {
                functions += 1;
                clean_functions += usize::from(reason.is_none());
            }
            if let Some(reason) = reason {
                *reasons.entry(reason).or_default() += 1;
            }
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let mut ranked: Vec<_> = reasons.into_iter().collect();
    ranked.sort_by_key(|(reason, count)| (std::cmp::Reverse(*count), reason.clone()));
    for (reason, count) in ranked.iter().take(40) {
        println!("{count:6}  {reason}");
    }
    let percent = |a: usize, b: usize| 100.0 * a as f64 / b.max(1) as f64;
    println!(
        "{} files, {:.1} MB: {clean} of {entries} entries without a problem ({:.2} %), {clean_functions} of {functions} \
         device functions ({:.2} %), {broken} rejected by the verifier",
        files.len(),
        bytes as f64 / 1e6,
        percent(clean, entries),
        percent(clean_functions, functions),
    );
    println!("{values} values in {seconds:.2} s, parse to IR with verification");
}
