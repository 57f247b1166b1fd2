//! The two orders of a run's operations, and the words that are live in them.

use super::graph::{Graph, Recipes};
use super::{LONGEST, words};
use fixedbitset::FixedBitSet;
use std::cmp::Reverse;

/// Operations that are ready and compared, where few words are to be live: the last ones of the text.
const COMPARED: usize = 48;
/// Cycles between two operations of a warp.
const ISSUE: u32 = 2;

/// Words live in the order that keeps few, without those of values that an operation gives again.
pub(super) fn least(graph: &Graph, recipes: &Recipes) -> u32 {
    let order = sunk(graph);
    let again = |live: &FixedBitSet| words_given_again(graph, recipes, live);
    peak(graph, &order, &again)
}

/// Words live where loads begin early, within a limit.
pub(super) fn early(graph: &Graph, limit: u32) -> u32 {
    let sunk = sunk(graph);
    let order = match graph.operations.len() <= LONGEST {
        true => hoisted(graph, &sunk, limit),
        false => sunk,
    };
    peak(graph, &order, &|_| 0)
}

/// Words live across calls, in the order of the text.
pub(super) fn across_calls(graph: &Graph) -> Option<u32> {
    let mut most = None;
    let mut live = graph.end.clone();
    for operation in graph.operations.iter().rev() {
        operation.defs.iter().for_each(|&def| live.set(def, false));
        if operation.calls {
            most = most.max(Some(words(&live, &graph.widths)));
        }
        live.extend(operation.uses.iter().copied());
    }
    most
}

/// The order that keeps few words: backwards, the operation that adds fewest to those that are live.
fn sunk(graph: &Graph) -> Vec<usize> {
    let operations = &graph.operations;
    if operations.len() > LONGEST {
        return (0..operations.len()).collect();
    }
    let mut left: Vec<usize> = operations
        .iter()
        .map(|operation| operation.after.len())
        .collect();
    // Ascending: the last in the text at the end.
    let mut ready: Vec<usize> = (0..left.len()).filter(|&at| left[at] == 0).collect();
    let mut live = graph.end.clone();
    live.grow(graph.widths.len());
    let mut order = Vec::with_capacity(operations.len());
    while !ready.is_empty() {
        let added = |at: usize| {
            let operation = &operations[at];
            let ends = operation.defs.iter().filter(|&&def| live.contains(def));
            let begins = operation.uses.iter().filter(|&&used| !live.contains(used));
            let sum = |words: u32, value: &usize| words + graph.widths[*value];
            i64::from(begins.fold(0, sum)) - i64::from(ends.fold(0, sum))
        };
        let first = ready.len().saturating_sub(COMPARED);
        let best = (first..ready.len()).min_by_key(|&at| (added(ready[at]), Reverse(ready[at])));
        let Some(best) = best else { break };
        let at = ready.remove(best);
        for &def in &operations[at].defs {
            live.set(def, false);
        }
        live.extend(operations[at].uses.iter().copied());
        for &before in &operations[at].before {
            left[before] -= 1;
            if left[before] == 0 {
                let place = ready.partition_point(|&other| other < before);
                ready.insert(place, before);
            }
        }
        order.push(at);
    }
    order.reverse();
    order
}

/// The order in which the operation with the longest way to the end comes first, cycle by cycle, as long as
/// no more than `limit` words are live; beyond that `sunk` decides.
fn hoisted(graph: &Graph, sunk: &[usize], limit: u32) -> Vec<usize> {
    let operations = &graph.operations;
    let count = operations.len();
    let mut height = vec![0u32; count];
    for at in (0..count).rev() {
        let behind = operations[at].after.iter().map(|&after| height[after]);
        height[at] = behind.max().unwrap_or(0) + operations[at].latency;
    }
    let mut rank = vec![0; count];
    for (number, &at) in sunk.iter().enumerate() {
        rank[at] = number;
    }
    let mut left: Vec<usize> = operations
        .iter()
        .map(|operation| operation.before.len())
        .collect();
    let mut reads = vec![0u32; graph.widths.len()];
    for &used in operations.iter().flat_map(|operation| &operation.uses) {
        reads[used] += 1;
    }
    let mut sum = i64::from(words(&start(graph), &graph.widths));
    let mut ready: Vec<usize> = (0..count).filter(|&at| left[at] == 0).collect();
    let mut cycles = vec![0u32; count];
    let mut now = 0u32;
    let mut order = Vec::with_capacity(count);
    while !ready.is_empty() {
        let added = |at: usize| {
            let wide = |value: &&usize| i64::from(graph.widths[**value]);
            let operation = &operations[at];
            let kept = |value: &&usize| graph.end.contains(**value);
            let begins = operation
                .defs
                .iter()
                .filter(|def| kept(def) || reads[**def] > 0);
            let ends = operation.uses.iter();
            let ends = ends.filter(|used| !kept(used) && reads[**used] == 1);
            begins.map(|value| wide(&value)).sum::<i64>()
                - ends.map(|value| wide(&value)).sum::<i64>()
        };
        let within = ready.iter().enumerate();
        let within = within.filter(|&(_, &at)| sum + added(at) <= i64::from(limit));
        let first =
            within.max_by_key(|&(_, &at)| (Reverse(cycles[at].max(now)), height[at], Reverse(at)));
        let place = first.map(|(place, _)| place).or_else(|| {
            let all = ready.iter().enumerate();
            all.min_by_key(|&(_, &at)| rank[at]).map(|(place, _)| place)
        });
        let Some(place) = place else { break };
        let at = ready.swap_remove(place);
        sum += added(at);
        now = now.max(cycles[at]) + ISSUE;
        for &used in &operations[at].uses {
            reads[used] -= 1;
        }
        for &after in &operations[at].after {
            left[after] -= 1;
            cycles[after] = cycles[after].max(now + operations[at].latency);
            if left[after] == 0 {
                ready.push(after);
            }
        }
        order.push(at);
    }
    order
}

/// Returns the values that are live before the run.
fn start(graph: &Graph) -> FixedBitSet {
    let mut live = graph.end.clone();
    live.grow(graph.widths.len());
    for operation in graph.operations.iter().rev() {
        operation.defs.iter().for_each(|&def| live.set(def, false));
        live.extend(operation.uses.iter().copied());
    }
    live
}

/// The most words that are live in an order, without those that `less` gives.
fn peak(graph: &Graph, order: &[usize], less: &dyn Fn(&FixedBitSet) -> u32) -> u32 {
    let mut live = graph.end.clone();
    live.grow(graph.widths.len());
    let mut sum = words(&live, &graph.widths);
    let mut most = sum - less(&live);
    for &at in order.iter().rev() {
        let operation = &graph.operations[at];
        let defs = operation.defs.iter();
        let unread = defs.filter(|&&def| !live.contains(def));
        let besides = unread.map(|&def| graph.widths[def]).sum::<u32>() + operation.temporaries;
        if besides > 0 && sum + besides > most {
            most = most.max(sum + besides - less(&live));
        }
        for &def in &operation.defs {
            if live.contains(def) {
                live.set(def, false);
                sum -= graph.widths[def];
            }
        }
        for &used in &operation.uses {
            if !live.put(used) {
                sum += graph.widths[used];
            }
        }
        if sum > most {
            most = most.max(sum - less(&live));
        }
    }
    most
}

/// Words of live values that one operation gives again from others that are live, or that take none.
fn words_given_again(graph: &Graph, recipes: &Recipes, live: &FixedBitSet) -> u32 {
    let given = live.ones().filter(|value| {
        let of_copy = || {
            let home = &graph.operations[*graph.homes.get(value)?];
            home.again.then_some(&home.uses)
        };
        recipes.get(value).or_else(of_copy).is_some_and(|uses| {
            let mut uses = uses.iter();
            uses.all(|&used| graph.widths[used] == 0 || live.contains(used))
        })
    });
    given.map(|value| graph.widths[value]).sum()
}
