//! Branches of PTX text converted to predicates, against the interpreter: random text, text that is printed from random IR, and
//! kernels with many zeros compute the same; `ptxas` takes the result.
//!
//! `LOCKSTEP_CONVERTED_PTX=N` converts branches of N texts of each kind instead of the default number,
//! `LOCKSTEP_CONVERTED_PTX_FIRST=N` starts at another seed; `LOCKSTEP_PUBLIC_PTX=DIR` names files of others, of which each branch
//! is tried.

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

use ir::EntityVec;
use lockstep_codegen::machine::{self, charges};
use lockstep_codegen::specialize::ptx::{Converted, Document, Unconverted};
use oracle::interp::{self, Launch};
use ptx_programs::{is_settled, kernel, printed, random_text, setting};
use std::collections::BTreeMap;
use syntax::Span;
use syntax::ptx::{PtxItemKind, declarations, split_items};

const TEXTS: u64 = 60;

#[derive(Default, Debug)]
struct Count {
    texts: u64,
    converted: u64,
    with_two_sides: u64,
    runs: u64,
    stay: BTreeMap<String, u64>,
}

/// The texts in which a branch of an entry is converted.
fn conversions(text: &str, count: &mut Count) -> Vec<(String, Converted)> {
    let items = split_items(text);
    let version = declarations(text, &items).version;
    let table = machine::named("sm_80").expect("it is built in");
    let costs = charges(&table, 32);
    let mut out = Vec::new();
    for (item, tree, lowered) in ir::lower::ptx::lower_text(text) {
        let PtxItemKind::Function(tree) = &tree.kind else {
            continue;
        };
        let own = &text[item.start as usize..item.end as usize];
        let document = Document::new(own, tree, &lowered.module.functions[0], version);
        for at in 0..tree.statements().len() as u32 {
            match document.convert(at, &costs, None, &|_: Span| true) {
                Ok(converted) => {
                    let mut after = text.to_owned();
                    for (span, new) in converted.edits.iter().rev() {
                        let place = span.shifted(item.start);
                        after.replace_range(place.start as usize..place.end as usize, new);
                    }
                    count.converted += 1;
                    let two = converted.statements.iter().all(|&side| side > 0);
                    count.with_two_sides += u64::from(two);
                    out.push((after, converted));
                }
                Err(Unconverted::NoBranch) => {}
                Err(stay) => {
                    let name = format!("{stay:?}");
                    let end = name.find(|c: char| !c.is_alphanumeric());
                    let name = name[..end.unwrap_or(name.len())].to_owned();
                    *count.stay.entry(name).or_default() += 1;
                }
            }
        }
    }
    out
}

fn judge(text: &str, launch: &Launch, count: &mut Count, what: &str) {
    let Some(module) = kernel(text) else { return };
    if !is_settled(text, &module) {
        return;
    }
    let outcome = interp::run(&module, launch);
    if outcome.error.is_some() {
        return;
    }
    count.texts += 1;
    let mut all = conversions(text, count);
    // Again and again, until no branch is left that can be converted.
    if let Some((first, _)) = all.first() {
        let mut last = first.clone();
        while let Some((next, converted)) =
            conversions(&last, &mut Count::default()).into_iter().next()
        {
            last = next.clone();
            all.push((next, converted));
        }
    }
    for (after, _) in all {
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
    }
}

#[test]
fn converted_branches_compute_the_same() {
    let mut count = Count::default();
    let first = setting("LOCKSTEP_CONVERTED_PTX_FIRST", 0);
    for seed in first..first + setting("LOCKSTEP_CONVERTED_PTX", TEXTS) {
        let (text, launch) = random_text(seed);
        judge(&text, &launch, &mut count, &format!("text {seed}"));
        if let Some((text, launch)) = printed(seed) {
            judge(&text, &launch, &mut count, &format!("printed {seed}"));
        }
        let (text, launch) = sparse::source(seed);
        judge(&text, &launch, &mut count, &format!("sparse {seed}"));
    }
    println!("{count:#?}");
    assert!(
        count.with_two_sides > 0 && count.converted > count.with_two_sides,
        "{count:?}"
    );
}

#[test]
fn the_assembler_takes_predicates_for_branches() {
    let Some(tool) = ptxas::find() else {
        return;
    };
    let accepts = |text: &str| ptxas::judge(&tool, "sm_80", text);
    let mut judged = 0;
    for seed in 0..200 {
        let mut count = Count::default();
        for text in [random_text(seed).0, sparse::source(seed).0] {
            let found = conversions(&text, &mut count);
            if found.is_empty() || accepts(&text).is_err() {
                continue;
            }
            for (after, _) in found.iter().take(2) {
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

/// Files of a directory that the environment names: each branch is tried, and what is converted is judged.
#[test]
fn branches_of_others_are_converted() {
    let Some(paths) = public::ptx_files() else {
        return;
    };
    let tool = ptxas::find();
    let mut count = Count::default();
    let mut judged = 0;
    for path in paths {
        let text = public::text_of(&path);
        let found = conversions(&text, &mut count);
        for (after, _) in found.iter().take(2) {
            if let Some(tool) = &tool
                && ptxas::judge(tool, "sm_80", &text).is_ok()
            {
                if let Err(errors) = ptxas::judge(tool, "sm_80", after) {
                    panic!("{}: {errors}", path.display());
                }
                judged += 1;
            }
        }
        count.texts += 1;
    }
    println!("{count:#?}\nptxas accepted {judged}");
}

/// The text in which the first branch is converted.
fn first(text: &str) -> Result<(String, Converted), Unconverted> {
    let table = machine::named("sm_80").expect("it is built in");
    let costs = charges(&table, 32);
    for (item, tree, lowered) in ir::lower::ptx::lower_text(text) {
        let PtxItemKind::Function(tree) = &tree.kind else {
            continue;
        };
        let own = &text[item.start as usize..item.end as usize];
        let document = Document::new(own, tree, &lowered.module.functions[0], Some((7, 8)));
        for at in 0..tree.statements().len() as u32 {
            match document.convert(at, &costs, None, &|_: Span| true) {
                Err(Unconverted::NoBranch) => {}
                Err(stay) => return Err(stay),
                Ok(done) => {
                    let mut after = text.to_owned();
                    for (span, new) in done.edits.iter().rev() {
                        let place = span.shifted(item.start);
                        after.replace_range(place.start as usize..place.end as usize, new);
                    }
                    return Ok((after, done));
                }
            }
        }
    }
    Err(Unconverted::NoBranch)
}

fn text_with(body: &str) -> String {
    format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 o)\n{{\n\t.reg .pred %p<4>;\n\t.reg .b32 %r<8>;\n\t.reg .b64 %rd<4>;\n\tld.param.u64 %rd1, [o];\n\tmov.u32 %r1, %tid.x;\n\tsetp.lt.s32 %p1, %r1, 7;\n{body}\tst.global.u32 [%rd1], %r2;\n\tret;\n}}\n"
    )
}

#[test]
fn both_sides_of_a_branch_become_predicated() {
    let text = text_with(
        "\t@!%p1 bra \t$A;\n\tadd.s32 \t%r2, %r1, 1;\n\tbra.uni \t$B;\n$A: // comment\n\t.loc 1 2 3\n\tadd.s32 \t%r2, %r1, 2;\n$B:\n",
    );
    let (after, done) = first(&text).expect("it is converted");
    // Comments and places of the source stay.
    let expected = "\tsetp.lt.s32 %p1, %r1, 7;\n\t@%p1 add.s32 \t%r2, %r1, 1;\n // comment\n\t.loc 1 2 3\n\t@!%p1 add.s32 \t%r2, %r1, 2;\n$B:\n";
    assert!(after.contains(expected), "{after}");
    assert_eq!(done.statements, [1, 1]);
    assert!(done.cycles.converted < done.cycles.parted, "{done:?}");
}

/// Two sides of so many products each.
fn two_sides(count: usize) -> String {
    let side = "\tmad.lo.s32 %r2, %r2, %r1, %r1;\n".repeat(count);
    format!("\t@%p1 bra $A;\n{side}\tbra $C;\n$A:\n{side}$C:\n")
}

/// A profile tells how often warps come to the sides.
#[test]
fn executions_of_the_sides_decide() {
    let text = text_with(&two_sides(3));
    let tried = |often: f64| {
        let found = ir::lower::ptx::lower_text(&text).into_iter();
        let (item, tree, lowered) = found.last().expect("a function");
        let PtxItemKind::Function(tree) = &tree.kind else {
            panic!("no function");
        };
        let function = &lowered.module.functions[0];
        let mut weights = EntityVec::with_len(1.0, function.blocks.len());
        let edges = function.blocks.values().map(|data| data.terminator.edges());
        for edge in edges.filter(|edges| edges.len() == 2).flatten() {
            weights[edge.block] = often;
        }
        let own = &text[item.start as usize..item.end as usize];
        let document = Document::new(own, tree, function, Some((7, 8)));
        let costs = charges(&machine::named("sm_80").expect("it is built in"), 32);
        let mut all = (0..tree.statements().len() as u32)
            .map(|at| document.convert(at, &costs, Some(&weights), &|_| true));
        all.find(|tried| *tried != Err(Unconverted::NoBranch))
            .expect("a branch")
    };
    // Each warp comes to both sides, then to one of them.
    let (before, after) = tried(1.0).expect("it gains").profiled.expect("counts");
    assert!(after < before, "{before} {after}");
    let refused = tried(0.5).expect_err("it takes more").to_string();
    assert!(refused.contains("by the profile 24 cycles"), "{refused}");
}

#[test]
fn what_is_more_than_two_straight_sides_stays() {
    let refused = |body: &str| {
        let refusal = first(&text_with(body)).expect_err(body);
        refusal.to_string()
    };
    // Where lanes go together, half of it would be in vain.
    let long = two_sides(30);
    for (body, expected) in [
        (
            "$A:\n\tadd.s32 %r1, %r1, 1;\n\t@%p1 bra $A;\n",
            "closes a loop",
        ),
        (long.as_str(), "not cheap: 240 cycles"),
        ("\t@%p1 bra $A;\n\tret;\n$A:\n", "leaves the function"),
        ("\t@%p1 bra $A;\n\tbar.sync 0;\n$A:\n", "`bar`"),
        (
            "\t@%p1 bra $A;\n\tsetp.gt.s32 %p1, %r1, 2;\n$A:\n",
            "which decides",
        ),
        (
            "\t@%p1 bra $A;\n\t@%p2 add.s32 %r2, %r1, 1;\n$A:\n",
            "has a guard already",
        ),
        (
            "\t@%p1 bra $A;\n\tshfl.sync.up.b32 %r2, %r1, 1, 0, -1;\n$A:\n",
            "`shfl`",
        ),
        (
            "\t@%p1 bra $A;\n\tadd.s32 %r2, %r1, 1;\n$B:\n\tadd.s32 %r2, %r2, 1;\n\tbra $C;\n$A:\n\tadd.s32 %r2, %r1, 2;\n$C:\n\t@%p2 bra $B;\n",
            "jumps to `$B`",
        ),
    ] {
        let said = refused(body);
        assert!(said.contains(expected), "{said}: {body}");
    }
}
