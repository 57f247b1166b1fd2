//! Several iterations of a loop as one, and neighbouring accesses to memory as one wide access.
//!
//! ```text
//! #pragma lockstep rounds(8, 4096, 4)
//! for (i = 0; i < n; i++) s += a[i] * b[i];
//!
//! b2: x0..x3 = load a, 8 bytes; y0..y3 = load b, 8 bytes; s0 += x0 * y0; ...; s3 += x3 * y3; i += 4; b2 or b3
//! b3: s = (s0 + s1) + (s2 + s3)
//! ```
//!
//! Loops whose rounds are known to be a multiple of some number, by their constants or by a promise, and whose body is straight:
//! what one iteration loads and a later one loads again is kept (`reuse`), the body is repeated (`copies`), sums of integers that
//! wrap get partial sums (`sums`), a loop that executes once at least begins without a test (`enter`), chains of additions become
//! one (`chains`). Then, in the whole function, accesses to neighbouring places become one where the first place is known to be
//! aligned (`adjacent`, `alignment`). A loop stays as it was where no access to memory is saved: that is what wide units wait for.
//!
//! One pass over the loops, and one over the accesses of each block.
//!
//! Sources: Callahan, Carr, Kennedy, *Improving Register Allocation for Subscripted Variables* (PLDI 1990) for values that stay
//! in registers from one iteration to another; Larsen, Amarasinghe, *Exploiting Superword Level Parallelism with Multimedia
//! Instruction Sets* (PLDI 2000) for neighbouring accesses.

mod adjacent;
mod alignment;
mod chains;
mod copies;
mod enter;
mod reuse;
mod shape;
mod sums;

use crate::mir::Rounds;
use ir::cfg::ControlFlow;
use ir::loops::LoopForest;
use ir::{Block, Function, Inst, Type};
use rustc_hash::{FxHashMap, FxHashSet};
use shape::Straight;

/// The accesses of a machine.
#[derive(Clone, Copy)]
pub(crate) struct Machine {
    /// Returns true if so many neighbouring elements are one access.
    pub wide: fn(Type, usize) -> bool,
    /// The most elements of an access in a loop whose body is repeated.
    pub elements: usize,
    /// The alignment of objects of the file and of the frame that have at least as many bytes.
    pub objects: u32,
    /// The most iterations that become one.
    pub most: u32,
    /// Registers hold sums of a type's numbers that exceed the type: a sum that stays within it is right whatever its parts do.
    pub exact_sums: bool,
}

/// Instructions of a body that is repeated, all copies together.
const LARGEST: usize = 256;

/// The changes to a function.
#[derive(Clone, Default, Debug)]
pub(crate) struct Unrolled {
    /// Loads and stores of several elements that are one access.
    pub wide: FxHashSet<Inst>,
    /// The rounds of loops, by header.
    pub rounds: FxHashMap<Block, Rounds>,
}

impl Unrolled {
    /// Returns true if no body is repeated and no accesses are joined.
    pub(crate) fn is_plain(&self) -> bool {
        let once = self.rounds.values().all(|rounds| rounds.iterations == 1);
        self.wide.is_empty() && once
    }

    /// The headers of loops whose bodies are repeated.
    fn repeated(&self) -> FxHashSet<Block> {
        let all = self.rounds.iter();
        let several = all.filter(|(_, rounds)| rounds.iterations > 1);
        several.map(|(&header, _)| header).collect()
    }
}

/// Repeats the bodies of innermost loops where this saves accesses to memory, and joins accesses.
pub(crate) fn unroll(function: &mut Function, machine: &Machine) -> Unrolled {
    let mut made = Unrolled::default();
    chains::clean(function);
    for header in innermost(function) {
        let Some(rounds) = shape::rounds(function, header) else {
            continue;
        };
        let better = (1..=machine.most.ilog2())
            .rev()
            .find_map(|log| repeated(function, header, rounds, 1 << log, machine));
        let (header, rounds) = match better {
            Some((changed, header, rounds)) => {
                *function = changed;
                (header, rounds)
            }
            None => (entered(function, header, rounds), rounds),
        };
        made.rounds.insert(header, rounds);
    }
    chains::clean(function);
    if machine.elements > 0 {
        made.wide = adjacent::join(function, machine, &made.repeated());
        chains::clean(function);
    }
    made
}

/// Headers of loops that hold no other.
fn innermost(function: &Function) -> Vec<Block> {
    let forest = LoopForest::new(&ControlFlow::new(function));
    let outer: FxHashSet<_> = forest
        .loops
        .values()
        .filter_map(|value| value.parent)
        .collect();
    let inner = forest.loops.iter();
    let inner = inner.filter(|(own, data)| data.reducible && !outer.contains(own));
    inner.map(|(_, data)| data.header).collect()
}

/// Makes a loop of one block that executes once at least begin without a test; returns the loop's header.
fn entered(function: &mut Function, header: Block, rounds: Rounds) -> Block {
    let straight = Straight::of(function, header);
    let once = straight.filter(|straight| rounds.least > 0 && straight.body.len() == 1);
    once.map_or(header, |straight| enter::at_once(function, &straight))
}

/// The function with so many iterations of a loop as one, the loop's header and its rounds, where that saves accesses.
fn repeated(
    function: &Function,
    header: Block,
    rounds: Rounds,
    times: u32,
    machine: &Machine,
) -> Option<(Function, Block, Rounds)> {
    let times = u64::from(times);
    if !rounds.multiple.is_multiple_of(times) || rounds.least == 0 {
        return None;
    }
    let mut out = function.clone();
    let accesses = |function: &Function, inside: &[Block]| {
        let all = inside.iter();
        let all = all.flat_map(|&block| &function.blocks[block].insts);
        all.filter(|&&inst| shape::accesses(&function.insts[inst]))
            .count() as u64
    };
    let straight = Straight::of(&out, header)?;
    let size: usize = straight
        .blocks()
        .map(|block| out.blocks[block].insts.len())
        .sum();
    if size * times as usize > LARGEST {
        return None;
    }
    let before = accesses(&out, &straight.blocks().collect::<Vec<_>>()) * times;
    reuse::keep(&mut out, &straight, rounds, times);
    let straight = copies::repeat(&mut out, &straight, times);
    sums::split(&mut out, &straight, times, machine.exact_sums);
    let own = enter::at_once(&mut out, &straight);
    chains::clean(&mut out);
    let made = Rounds {
        least: rounds.least / times,
        multiple: rounds.multiple / times,
        most: rounds.most / times,
        iterations: rounds.iterations * times as u32,
    };
    // Judged by what it comes to at the end.
    let mut last = out.clone();
    let inside: FxHashSet<Block> = [own].into_iter().collect();
    adjacent::join(&mut last, machine, &inside);
    (accesses(&last, &[own]) < before).then_some((out, own, made))
}
