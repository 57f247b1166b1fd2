//! Kernels of PTX files with values parked in shared memory.
// Not every test asks for all of it.
#![allow(dead_code)]

use facts::{Method, Options};
use lockstep_codegen::target::ptx::machine::fit::{Budget, Made, Scheduling};
use lockstep_codegen::target::ptx::machine::park::{Kernel, Parking, Workgroup};
use lockstep_codegen::target::ptx::machine::states::{arrivals_by_statement, states};
use lockstep_codegen::target::ptx::machine::{pressure, read};
use oracle::interp::Launch;
use syntax::ptx::{PtxFunction, PtxItemKind, parse_item};

pub(crate) fn function(text: &str) -> Box<PtxFunction> {
    match parse_item(text).kind {
        PtxItemKind::Function(function) => function,
        other => panic!("no function: {other:?}"),
    }
}

/// The file with so many values of its kernel parked, and its loops not unrolled.
pub(crate) fn parked(
    file: &str,
    launch: &Launch,
    columns: bool,
    steps: usize,
) -> Option<(String, Made, u32)> {
    parked_in(file, |tree| tree.entry, launch, columns, steps)
}

/// The same of the function that is meant.
pub(crate) fn parked_in(
    file: &str,
    is_meant: impl Fn(&PtxFunction) -> bool,
    launch: &Launch,
    columns: bool,
    steps: usize,
) -> Option<(String, Made, u32)> {
    let meant = |kind: &PtxItemKind| matches!(kind, PtxItemKind::Function(tree) if is_meant(tree));
    let (item, tree, lowered) = ir::lower::ptx::lower_text(file)
        .into_iter()
        .find(|(_, tree, _)| meant(&tree.kind))?;
    let PtxItemKind::Function(tree) = &tree.kind else {
        return None;
    };
    let text = &file[item.start as usize..item.end as usize];
    let body = read(tree).ok()?;
    if body.reads_undefined() {
        return None;
    }
    let options = Options {
        method: Method::Polynomial(1),
        ..Options::default()
    };
    let facts = facts::analyze(0, &lowered.module, &options);
    let function = &lowered.module.functions[0];
    let states = states(&body, function, &facts);
    let arrivals = arrivals_by_statement(&body, tree, function, &facts);
    let threads: u32 = launch.block.iter().product();
    let budget = Budget {
        words: 8,
        predicates: 7,
        lanes: 32,
        warps: threads.div_ceil(32),
        whole_warps: false,
        shared_bytes: 40_960,
        scheduling: Scheduling::Waiting,
    };
    let says = [".maxntid", ".reqntid"]
        .iter()
        .any(|word| text.contains(word));
    let workgroup = columns.then_some(Workgroup {
        threads,
        flat: launch.block[1..] == [1, 1],
        assumed: (!says && tree.entry).then_some(launch.block),
    });
    let kernel = Kernel {
        tree,
        body: &body,
        text,
        states: &states,
        budget: &budget,
        workgroup,
    };
    let mut parking = Parking::new(kernel, &arrivals, 6).ok()?;
    while parking.count() < steps && parking.step() {}
    let made = parking.made(&parking.loops());
    let out = [
        &file[..item.start as usize],
        &made.text,
        &file[item.end as usize..],
    ];
    Some((out.concat(), made, pressure(&body).words))
}
