//! Every loop has the results of the reference interpreter, by each method and for all trip counts, and its
//! kernel takes one interval a round.

use super::{MACHINES, emitted, loops};
use crate::assembler::{assembled, assembler};
use crate::judge::{agrees, interpreted};
use lockstep_codegen::target::ia64::emit::Emitted;
use lockstep_codegen::target::ia64::pipeline::Method;
use simulate::ia64::Limits;

/// Elements.
const TRIPS: [u64; 6] = [0, 1, 2, 3, 7, 50];

/// Returns the options: not pipelined, by the best method, and by each.
fn ways() -> Vec<Option<Option<Method>>> {
    let each = Method::EXITS.map(|method| Some(Some(method)));
    [None, Some(None)].into_iter().chain(each).collect()
}

#[test]
fn loops_compute_the_same() {
    let all = loops::loops();
    let assembler = assembler();
    let mut runs = 0;
    let mut codes: Vec<String> = vec![String::new(); ways().len()];
    for (number, each) in all.iter().enumerate() {
        let codes_of: Vec<Emitted> = ways()
            .into_iter()
            .enumerate()
            .map(|(at, way)| emitted(each, MACHINES[(number + at) % 2], way))
            .collect();
        for (n, variant) in TRIPS.iter().flat_map(|&n| [(n, 0), (n, 1)]) {
            let kernel = each.kernel(n, variant);
            let expected = interpreted(&kernel, &each.module);
            for (way, code) in ways().iter().zip(&codes_of) {
                // Speculative loads that fail now and then do not show.
                let limits = Limits {
                    deferred: (variant == 1).then_some(n),
                    ..Limits::default()
                };
                let outcome = agrees(&kernel, &kernel.name, &expected, &code.text, &limits);
                if let Err(why) = outcome {
                    panic!(
                        "{}, {way:?}, n = {n}, variant {variant}: {why}\n{}",
                        each.name, code.text
                    );
                }
                runs += 1;
            }
        }
        for (texts, code) in codes.iter_mut().zip(&codes_of) {
            texts.push_str(&code.text);
        }
    }
    println!("{runs} runs of {} functions agree", all.len());
    let Some(assembler) = assembler else {
        return;
    };
    for (way, text) in ways().iter().zip(&codes) {
        let said = assembled(&assembler, text);
        let lines: Vec<&str> = said.lines().take(8).collect();
        assert!(lines.is_empty(), "{way:?}: {lines:#?}");
    }
}

/// Cycles that a round of the pipelined loop takes, for functions that are one loop: so much more for 1,200 elements
/// more, which whole numbers of up to four iterations take.
pub(crate) fn round(looped: &loops::Loop, machine: &str, code: &Emitted) -> Option<f64> {
    let [report] = &code.functions[0].loops[..] else {
        return None;
    };
    if !looped.is_single() || !report.pipelined {
        return None;
    }
    let cycles = |n: u64| looped.cycles(machine, &code.text, n) as f64;
    Some((cycles(2200) - cycles(1000)) * looped.step as f64 / 1200.0)
}
