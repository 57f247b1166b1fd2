//! The same kernels versioned by source, on the IR and as PTX text: all compute the same as the original, so
//! that they agree with one another.

use super::{Count, FREE, Infinite, Original, versions};
use crate::flat::Flat;
use crate::generate::{Language, kernel};
use ir::{EntityVec, FunctionKind, Module};
use lockstep_codegen::specialize::ptx::Document;
use lockstep_codegen::specialize::transform;
use lockstep_codegen::specialize::{Context, Zeros, ptx};
use lockstep_codegen::target::ptx::{Code, Target, generate};
use oracle::interp::{self, Launch, Outcome};
use syntax::ptx::{PtxItemKind, declarations, split_items};

const KERNELS: u64 = 25;
/// Versions of one kernel by one route.
const TRIES: usize = 6;

#[derive(Default, Debug)]
struct Agreed {
    source: u64,
    ir: u64,
    ptx: u64,
    /// Words that PTX rounds as the original does, and all.
    equal_words: u64,
    words: u64,
}

fn agree(old: &Module, first: &Outcome, new: &Module, launch: &Launch, what: &str) {
    let second = interp::run(new, launch);
    if let Err(why) = super::same(first, &second) {
        let mut infinite = Infinite {
            module: old,
            found: false,
        };
        interp::run_with(old, launch, &mut infinite, &());
        assert!(infinite.found, "{what}: {why}");
    }
}

fn by_ir(module: &Module, first: &Outcome, launch: &Launch, what: &str) -> u64 {
    let function = &module.functions[0];
    let weights = EntityVec::with_len(1.0, function.blocks.len());
    let cx = Context::new(function, &Flat, &weights, Zeros::Absorb);
    let mut made = 0;
    for candidate in facts::zeros::candidates(function) {
        let Ok(estimate) = cx.evaluate(&candidate.members, 0.5) else {
            continue;
        };
        let mut new = module.clone();
        new.functions[0] = transform::version(&cx, &candidate.members, &estimate).function;
        agree(module, first, &new, launch, what);
        made += 1;
        if made == TRIES as u64 {
            break;
        }
    }
    made
}

fn kernel_of(text: &str) -> Option<Module> {
    ir::lower::ptx::lower_text(text)
        .into_iter()
        .map(|(_, _, lowered)| lowered.module)
        .find(|module| module.functions[0].kind == FunctionKind::Kernel)
}

fn by_ptx(module: &Module, first: &Outcome, launch: &Launch, what: &str, agreed: &mut Agreed) {
    let target = Target {
        fast_math: true,
        ..Target::default()
    };
    let Ok(Code {
        text, externals, ..
    }) = generate(module, &target)
    else {
        return;
    };
    // What the device library computes is not known here.
    if !externals.is_empty() {
        return;
    }
    let Some(plain) = kernel_of(&text) else {
        return;
    };
    let printed = interp::run(&plain, launch);
    for (a, b) in first.buffers.iter().zip(&printed.buffers) {
        for (a, b) in a.words().into_iter().zip(b.words()) {
            let (x, y) = (f32::from_bits(a), f32::from_bits(b));
            let near = (x - y).abs() <= 1e-3 * x.abs().max(1.0);
            agreed.equal_words += u64::from(a == b || near || !x.is_finite());
            agreed.words += 1;
        }
    }
    let items = split_items(&text);
    let settings = ptx::Settings {
        absorb: true,
        ..ptx::Settings::default()
    };
    for (item, tree, lowered) in ir::lower::ptx::lower_text(&text) {
        let PtxItemKind::Function(tree) = &tree.kind else {
            continue;
        };
        let function = &lowered.module.functions[0];
        let own = &text[item.start as usize..item.end as usize];
        let document = Document::new(own, tree, function, declarations(&text, &items).version);
        let weights = EntityVec::with_len(1.0, function.blocks.len());
        let made = document
            .candidates()
            .into_iter()
            .filter_map(|candidate| document.version(&candidate, settings, &Flat, &weights).ok());
        for version in made.take(TRIES) {
            let mut after = text.clone();
            for (offset, new) in version.insertions.iter().rev() {
                after.insert_str((item.start + offset) as usize, new);
            }
            let new = kernel_of(&after).expect("a kernel");
            agree(&plain, &printed, &new, launch, &format!("{what}\n{after}"));
            agreed.ptx += 1;
        }
    }
}

#[test]
fn routes_agree() {
    let mut agreed = Agreed::default();
    for seed in 0..KERNELS {
        let text = kernel(seed, Language::Cuda);
        let what = format!("kernel {seed}");
        let original = Original::new(&text, Language::Cuda, &[seed]);
        let mut count = Count::default();
        for after in versions(&text, Language::Cuda, &mut count, &what, 1, FREE)
            .iter()
            .take(TRIES)
        {
            original.judge(after, 0..1, &mut count, &what);
            agreed.source += 1;
        }
        for (module, outcomes) in &original.runs {
            for (launch, first) in outcomes {
                agreed.ir += by_ir(module, first, launch, &what);
                by_ptx(module, first, launch, &what, &mut agreed);
            }
        }
    }
    println!("{agreed:?}");
    assert!(
        agreed.source >= KERNELS && agreed.ir >= KERNELS && agreed.ptx >= KERNELS,
        "{agreed:?}"
    );
    assert!(agreed.equal_words * 100 >= agreed.words * 99, "{agreed:?}");
}
