//! Copies of a statement behind a branch: those that become a single copy in front of it, and those on both of its sides.

use super::Sinking;

/// The copies, by node and whether they stand at its entry, ascending. A copy in front of one of `heads`, the branches in the
/// order of the flow, stands for several behind it where each way through it comes to one of them, and no other way does.
#[must_use]
pub fn joined(
    successors: &[Vec<usize>],
    sinking: &Sinking,
    statement: usize,
    heads: impl DoubleEndedIterator<Item = usize>,
) -> Vec<(usize, bool)> {
    let nodes = successors.len();
    let inserted = |node: usize| {
        let both = [
            (sinking.inserted.entry[node], true),
            (sinking.inserted.exit[node], false),
        ];
        both.into_iter()
            .filter(|(inserted, _)| *inserted)
            .map(move |(_, entry)| (node, entry))
    };
    let mut copies: Vec<(usize, bool)> = (0..nodes).flat_map(inserted).collect();
    let heads = heads
        .rev()
        .filter(|&node| sinking.delayed.entry[node] && sinking.certain.entry[node]);
    for head in heads {
        // The copies at which the ways from a node end, and whether the statement is read on all of them.
        let reached = |from: usize, without: Option<usize>| {
            let mut found = Vec::new();
            let mut all_read = true;
            let mut seen = vec![false; nodes];
            let mut open = vec![from];
            while let Some(node) = open.pop() {
                // A copy here would be executed in each iteration.
                all_read &= node != from || !seen[node];
                if Some(node) == without || std::mem::replace(&mut seen[node], true) {
                    continue;
                }
                // Its next execution, around a loop, is one without a reader of the last.
                if node == statement && node != from {
                    all_read = false;
                    continue;
                }
                let at_entry = node != from && copies.contains(&(node, true));
                let at_exit = !at_entry && copies.contains(&(node, false));
                let (read, certain) = match at_entry {
                    true => (
                        sinking.kept.entry[node] || !sinking.inserted.entry[node],
                        sinking.certain.entry[node],
                    ),
                    false => (sinking.kept.exit[node], sinking.certain.exit[node]),
                };
                if at_entry || at_exit {
                    all_read &= read && certain;
                    found.push((node, at_entry));
                } else {
                    all_read &= !successors[node].is_empty();
                    open.extend(&successors[node]);
                }
            }
            found.sort_unstable();
            (found, all_read)
        };
        let (behind, all_read) = reached(head, None);
        if behind.len() < 2 || !all_read {
            continue;
        }
        let (others, _) = reached(statement, Some(head));
        if others.iter().any(|copy| behind.contains(copy)) {
            continue;
        }
        copies.retain(|copy| !behind.contains(copy));
        copies.push((head, true));
    }
    copies.sort_unstable();
    copies
}

/// Lanes that one of `branches` takes apart execute copies on both of its sides.
#[must_use]
pub fn apart(
    successors: &[Vec<usize>],
    sinking: &Sinking,
    statement: usize,
    mut branches: impl Iterator<Item = usize>,
) -> bool {
    // The copies to which a way leads from a node, before any other.
    let reached = |from: usize| {
        let mut found = Vec::new();
        let mut seen = vec![false; successors.len()];
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            if std::mem::replace(&mut seen[node], true) || !sinking.delayed.entry[node] {
                continue;
            }
            if sinking.kept.entry[node] {
                found.push((node, true));
            } else if sinking.kept.exit[node] {
                found.push((node, false));
            } else if !sinking.inserted.entry[node] {
                open.extend(&successors[node]);
            }
        }
        found.sort_unstable();
        found
    };
    branches.any(|node| {
        let passed = node != statement && sinking.delayed.exit[node];
        let sides: Vec<_> = match passed {
            true => successors[node].iter().map(|&to| reached(to)).collect(),
            false => Vec::new(),
        };
        sides.len() == 2 && !sides[0].is_empty() && !sides[1].is_empty() && sides[0] != sides[1]
    })
}
