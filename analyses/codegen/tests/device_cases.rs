//! Kernels, their forms after allocation and parking, and the interpreter's results, for comparison with a
//! GPU.
//!
//! `LOCKSTEP_DEVICE_CASES=FILE cargo test -p lockstep-codegen --test device_cases` writes them as JSON;
//! `python3 analyses/codegen/tests/device/run.py FILE` runs them by the driver of a GPU. `LOCKSTEP_DEVICE_KERNELS=N` takes N random
//! texts of each kind instead of the default number.

#[path = "support/fitting.rs"]
mod fitting;
#[path = "support/parking.rs"]
mod parking;
#[path = "support/ptx_programs.rs"]
mod ptx_programs;
#[path = "support/ptxas.rs"]
// Only texts are judged here.
#[allow(dead_code)]
mod ptxas;
#[path = "soundness_ptx/text/mod.rs"]
mod text;

use fitting::{ALLOCATORS, defined, functions};
use lockstep_codegen::target::ptx::machine::fit::{Budget, Scheduling};
use oracle::interp::{self, Argument, Launch};
use parking::parked;
use ptx_programs::{is_settled, kernel, printed, random_text, setting};
use serde_json::{Value, json};
use std::fmt::Write;
use syntax::ptx::{PtxFunction, PtxItemKind};

const KERNELS: u64 = 3;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// The kernel's tree.
fn entry(file: &str) -> Option<PtxFunction> {
    let items = ir::lower::ptx::lower_text(file).into_iter();
    let mut trees = items.filter_map(|(_, tree, _)| match tree.kind {
        PtxItemKind::Function(tree) if tree.entry => Some(*tree),
        _ => None,
    });
    trees.next()
}

/// The file with the values of all its functions in so many words.
fn fitted(file: &str, at: usize, launch: &Launch, words: u16) -> Option<String> {
    let threads: u32 = launch.block.iter().product();
    let budget = Budget {
        words,
        predicates: 7,
        lanes: 32,
        warps: threads.div_ceil(32),
        whole_warps: threads.is_multiple_of(32),
        shared_bytes: 16_384,
        scheduling: Scheduling::Waiting,
    };
    let mut out = String::new();
    let mut end = 0;
    for (item, function) in functions(file) {
        let made = function.fitted(&file[item.clone()], ALLOCATORS[at], &budget);
        out.push_str(&file[end..item.start]);
        out.push_str(&made.ok()?.text);
        end = item.end;
    }
    Some(out + &file[end..])
}

/// A kernel and its forms as one object of JSON; `None` if the interpreter's results are not the only
/// possible ones.
fn case(name: &str, text: &str, launch: &Launch) -> Option<Value> {
    let module = kernel(text)?;
    if !is_settled(text, &module) || launch.warp_size != 32 {
        return None;
    }
    let mut launch = launch.clone();
    launch.scramble_undefined = false;
    let outcome = interp::run(&module, &launch);
    if outcome.error.is_some() {
        return None;
    }
    let tree = entry(text)?;
    let mut texts = vec![("original".to_owned(), text.to_owned())];
    for (at, allocator) in ALLOCATORS.iter().enumerate() {
        let found = fitted(text, at, &launch, 16);
        texts.extend(found.map(|found| (format!("{allocator:?}"), found)));
    }
    for columns in [false, true] {
        let found = parked(text, &launch, columns, 40);
        texts.extend(found.map(|(found, ..)| (format!("parked, columns: {columns}"), found)));
    }
    let types = tree.parameters.iter().map(|own| own.type_name.as_str());
    let arguments = types.zip(&launch.parameters);
    let arguments: Vec<Value> = arguments
        .map(|(ty, argument)| match argument {
            Argument::Pointer { buffer, offset } => json!({"buffer": buffer, "offset": offset}),
            Argument::Bits(bits) => json!({"bits": bits}),
            Argument::Float(number) if ty == "f32" => json!({"bits": (*number as f32).to_bits()}),
            Argument::Float(number) => json!({"bits": number.to_bits()}),
            Argument::Handle(number) => json!({"bits": number}),
        })
        .collect();
    let texts = texts
        .iter()
        .map(|(label, text)| json!({"label": label, "text": text}));
    let before = launch.buffers.iter().map(|buffer| hex(&buffer.bytes));
    let after = outcome.buffers.iter().take(launch.buffers.len());
    let after = after.map(|buffer| hex(&buffer.bytes));
    Some(json!({
        "name": name,
        "kernel": tree.name.text.as_str(),
        "grid": launch.grid,
        "block": launch.block,
        "arguments": arguments,
        "before": before.collect::<Vec<String>>(),
        "after": after.collect::<Vec<String>>(),
        "texts": texts.collect::<Vec<Value>>(),
    }))
}

#[test]
#[allow(clippy::disallowed_methods)]
fn cases_for_a_device() {
    let tool = ptxas::find();
    let mut rows = Vec::new();
    for seed in 0..setting("LOCKSTEP_DEVICE_KERNELS", KERNELS) {
        let (text, launch) = random_text(seed);
        let random = (format!("text {seed}"), defined(&text), launch);
        let printed = printed(seed).map(|(text, launch)| (format!("printed {seed}"), text, launch));
        for (name, text, launch) in [random].into_iter().chain(printed) {
            // Not all random text is what the assembler takes.
            let taken = tool
                .as_ref()
                .is_none_or(|tool| ptxas::judge(tool, "sm_90", &text).is_ok());
            rows.extend(taken.then(|| case(&name, &text, &launch)).flatten());
        }
    }
    assert!(!rows.is_empty());
    let whole = Value::from(rows.clone()).to_string();
    match std::env::var("LOCKSTEP_DEVICE_CASES") {
        Ok(path) => {
            std::fs::write(&path, whole).expect("the file of cases");
            println!("{} kernels", rows.len());
        }
        Err(_) => println!(
            "LOCKSTEP_DEVICE_CASES names no file for {} kernels",
            rows.len()
        ),
    }
}
