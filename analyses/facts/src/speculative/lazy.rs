//! Lazy code motion: the fewest evaluations of an expression that no way evaluates more often than before, as late as
//! possible.
//!
//! Bit vectors of one bit: anticipated, there, earliest and later. Each only ever turns one way, so it stops.
//!
//! Source: Drechsler and Stadel 1993.

use super::{Placed, Problem, SpeculationRefusal};

/// The placement of lazy code motion, whatever its cost.
///
/// # Errors
/// The counts are no whole runs of the graph.
pub fn lazy(problem: &Problem) -> Result<Placed, SpeculationRefusal> {
    problem.check()?;
    let count = problem.successors.len();
    let local = &problem.blocks;
    let mut before: Vec<Vec<(usize, usize)>> = vec![Vec::new(); count];
    for (block, targets) in problem.successors.iter().enumerate() {
        for (edge, &to) in targets.iter().enumerate() {
            before[to].push((block, edge));
        }
    }
    let computes = |block: usize| local[block].defines || local[block].uses && !local[block].kills;
    // Evaluated on every way from here that ends: the greatest solution.
    let mut wanted = vec![true; count];
    fixed(&mut wanted, |wanted, block| {
        problem.is_wanted(wanted, block)
    });
    // There at the end of a block.
    let mut there = vec![true; count];
    fixed(&mut there, |there, block| {
        let comes = block != problem.entry && before[block].iter().all(|&(from, _)| there[from]);
        computes(block) || comes && !local[block].kills
    });
    let earliest = |from: usize, to: usize| {
        let blocked = local[from].kills || !problem.wanted_behind(&wanted, from);
        wanted[to] && !there[from] && blocked
    };
    // The evaluation can be postponed to the start of a block on all ways. The way into the function is one
    // of them.
    let mut later = vec![true; count];
    let later_on = |later: &[bool], from: usize, to: usize| {
        earliest(from, to) || later[from] && !local[from].uses
    };
    fixed(&mut later, |later, block| {
        let enters = block != problem.entry || wanted[block];
        enters
            && before[block]
                .iter()
                .all(|&(from, _)| later_on(later, from, block))
    });
    let mut inserted = Vec::new();
    for (block, targets) in problem.successors.iter().enumerate() {
        for (edge, &to) in targets.iter().enumerate() {
            if later_on(&later, block, to) && !later[to] {
                inserted.push((block, edge));
            }
        }
    }
    let at_entry = wanted[problem.entry] && !later[problem.entry];
    let uses = (0..count).filter(|&block| local[block].uses && !later[block]);
    Ok(problem.placed(inserted, at_entry, uses.collect()))
}

/// The greatest solution of an equation of each block.
fn fixed(values: &mut [bool], value: impl Fn(&[bool], usize) -> bool) {
    loop {
        let mut changed = false;
        for block in 0..values.len() {
            if values[block] && !value(values, block) {
                values[block] = false;
                changed = true;
            }
        }
        if !changed {
            return;
        }
    }
}
