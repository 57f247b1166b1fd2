//! The number of times that the blocks of a rewritten function would be executed, by a profile of the
//! function before.
//!
//! ```text
//! for (...) { x += f(i); } out = x * m;        20 executions of the body, 1 of the rest
//! if (!vote(m == 0)) { for (...) { x += f(i); } out = x * m; }      the copy's body is worth 20
//! ```
//!
//! An instruction is found again by the beginning of its text: outside of the edit that is shifted, inside
//! the two texts are aligned by their tokens (a longest common subsequence, of texts of bounded size).
//! Inlined instructions are identified by the places of their calls, too. A block that holds nothing known is
//! executed as often as the static estimate has it, relative to the nearest known block above. An arm of the
//! check counts as if it were always taken.

use super::estimate::{Parts, place, within};
use crate::specialize::frequency;
use facts::values::record::Misses;
use ir::cfg::ControlFlow;
use ir::dominators::DominatorTree;
use ir::{Block, EntityVec, Function, Inst, Loc, Op, Site, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use syntax::Span;
use syntax::c_family::lexer::lex_fragment;

/// Pairs of tokens that are compared at most.
const MOST_PAIRS: usize = 1 << 20;

/// A function before it was rewritten, and how often a warp executes its blocks for one invocation.
#[derive(Clone, Copy, Debug)]
pub struct Profiled<'a> {
    pub function: &'a Function,
    pub executions: &'a EntityVec<Block, f64>,
    /// What loads met in caches, by their first values; empty where nothing is known of misses.
    pub misses: &'a FxHashMap<Value, Misses>,
    /// The text that the edit takes away, and the text that it puts there.
    pub old: &'a str,
    pub new: &'a str,
    /// The offset of the edit, relative to the item.
    pub start: u32,
}

/// What a profile says of a rewritten function.
pub(super) struct Executions {
    /// Both arms as if always taken.
    pub blocks: EntityVec<Block, f64>,
    /// What loads met in caches.
    pub misses: FxHashMap<Inst, Misses>,
}

/// Executions of the rewritten function's blocks, and the misses of its loads.
pub(super) fn executions(
    function: &Function,
    parts: Parts,
    profiled: Option<Profiled<'_>>,
) -> Executions {
    let mut weights = frequency::frequency(function);
    for &block in &function.layout {
        let in_arm = function.blocks[block].insts.iter().any(|&inst| {
            let data = &function.insts[inst];
            let at = place(function, data.loc).filter(|_| !matches!(data.op, Op::Const(_)));
            at.is_some_and(|at| within(parts.fast, at) || within(parts.slow, at))
        });
        if in_arm {
            weights[block] *= 2.0;
        }
    }
    let mut misses = FxHashMap::default();
    let Some(profiled) = profiled else {
        return Executions {
            blocks: weights,
            misses,
        };
    };
    let before = places(profiled.function, profiled.executions);
    let counted = counted(profiled.function, profiled.misses);
    let mut placed: FxHashSet<(bool, Key)> = FxHashSet::default();
    let aligned = Aligned::new(&profiled, parts);
    let flow = ControlFlow::new(function);
    let dominators = DominatorTree::dominators(&flow);
    let mut known: EntityVec<Block, Option<f64>> = EntityVec::with_len(None, function.blocks.len());
    let mut out = weights.clone();
    for &block in &flow.order {
        let mut insts = function.blocks[block].insts.iter();
        known[block] = insts.find_map(|&inst| {
            let data = &function.insts[inst];
            if matches!(data.op, Op::Const(_)) {
                return None;
            }
            let mut key = key(function, data.loc)?;
            let last = key.last_mut()?;
            *last = aligned.before(*last)?;
            before.get(&key).copied()
        });
        out[block] = known[block].unwrap_or_else(|| {
            let mut above = dominators.immediate(block);
            while let Some(at) = above {
                if let Some(count) = known[at].filter(|_| weights[at] > 0.0) {
                    return count * weights[block] / weights[at];
                }
                above = dominators.immediate(at);
            }
            weights[block]
        });
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            let mut known = || {
                let mut key = key(function, data.loc)?;
                let last = key.last_mut()?;
                let in_fast = within(parts.fast, Span::at(*last));
                *last = aligned.before(*last)?;
                let met = *counted.get(&key)?;
                // Loads that begin at one place are told together, with the first of them.
                placed.insert((in_fast, key)).then_some(met)
            };
            if matches!(data.op, Op::Load(_))
                && let Some(met) = known()
            {
                misses.insert(inst, met);
            }
        }
    }
    Executions {
        blocks: out,
        misses,
    }
}

/// Returns the misses of loads by the places at which they begin; of several at one place, those of the worst.
fn counted(function: &Function, misses: &FxHashMap<Value, Misses>) -> FxHashMap<Key, Misses> {
    let mut found: FxHashMap<Key, Misses> = FxHashMap::default();
    if misses.is_empty() {
        return found;
    }
    for data in function.insts.values() {
        let met = data.results.first().and_then(|first| misses.get(first));
        if matches!(data.op, Op::Load(_))
            && let Some(&met) = met
            && let Some(key) = key(function, data.loc)
        {
            let known = found.entry(key).or_default();
            if met.alone * known.loads.max(1) > known.alone * met.loads.max(1) {
                *known = met;
            }
        }
    }
    found
}

/// The key of an instruction: the positions at which it begins, in its callee, at the call of that, and so
/// on; last in the function's own item.
type Key = SmallVec<[u32; 4]>;

fn key(function: &Function, loc: Loc) -> Option<Key> {
    let mut found = Key::new();
    let mut at = loc;
    for _ in 0..64 {
        if at == Loc::NONE {
            return None;
        }
        found.push(at.span.start);
        if at.site == Site(0) {
            return Some(found);
        }
        at = function.sites.get(at.site)?.call;
    }
    None
}

/// Returns the executions at each place. If two blocks have an instruction of one place, the first block
/// counts: the others are behind a condition that begins there.
fn places(function: &Function, executions: &EntityVec<Block, f64>) -> FxHashMap<Key, f64> {
    let mut found = FxHashMap::default();
    for &block in &function.layout {
        for &inst in &function.blocks[block].insts {
            let data = &function.insts[inst];
            if !matches!(data.op, Op::Const(_))
                && let Some(key) = key(function, data.loc)
                && let Some(&count) = executions.get(block)
            {
                found.entry(key).or_insert(count);
            }
        }
    }
    found
}

struct Aligned {
    start: u32,
    old: u32,
    new: u32,
    /// Begins of tokens in the new text and in the old, relative to the edit.
    tokens: FxHashMap<u32, u32>,
}

impl Aligned {
    fn new(profiled: &Profiled<'_>, parts: Parts) -> Self {
        let old = words(profiled.old, 0, profiled.old.len() as u32);
        let mut tokens = FxHashMap::default();
        for part in [parts.fast, parts.slow] {
            let from = part.start.saturating_sub(profiled.start);
            let to = part.end.saturating_sub(profiled.start);
            align(&old, &words(profiled.new, from, to), &mut tokens);
        }
        Aligned {
            start: profiled.start,
            old: profiled.old.len() as u32,
            new: profiled.new.len() as u32,
            tokens,
        }
    }

    /// Returns the place at which the text that begins here began before.
    fn before(&self, at: u32) -> Option<u32> {
        match at.checked_sub(self.start) {
            None => Some(at),
            Some(inside) if inside < self.new => Some(self.start + self.tokens.get(&inside)?),
            Some(inside) => Some(self.start + self.old + (inside - self.new)),
        }
    }
}

/// Tokens of a part of a text, and where they begin in the whole.
fn words(text: &str, from: u32, to: u32) -> Vec<(&str, u32)> {
    let Some(part) = text.get(from as usize..to as usize) else {
        return Vec::new();
    };
    lex_fragment(part)
        .iter()
        .filter_map(|token| {
            let word = part.get(token.start as usize..token.end as usize)?;
            Some((word, from + token.start))
        })
        .collect()
}

/// Enters the tokens of `new` that stand in `old` in the same order.
fn align(old: &[(&str, u32)], new: &[(&str, u32)], found: &mut FxHashMap<u32, u32>) {
    let width = new.len() + 1;
    if old.len().saturating_mul(width) > MOST_PAIRS {
        return;
    }
    // The longest that is common from a pair on.
    let mut common = vec![0u32; (old.len() + 1) * width];
    for (i, &(before, _)) in old.iter().enumerate().rev() {
        for (j, &(now, _)) in new.iter().enumerate().rev() {
            common[i * width + j] = match before == now {
                true => common[(i + 1) * width + j + 1] + 1,
                false => common[(i + 1) * width + j].max(common[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        if old[i].0 == new[j].0 {
            found.insert(new[j].1, old[i].1);
            (i, j) = (i + 1, j + 1);
        } else if common[(i + 1) * width + j] >= common[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
}
