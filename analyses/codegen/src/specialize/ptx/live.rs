//! Which registers of a PTX body are read later, statement by statement, where some statements may be left out.
//!
//! Stops because liveness only grows.

use crate::target::ptx::machine::body::{Body, Next, Register};
use rustc_hash::FxHashMap;

/// Sets of registers, one a statement.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Sets {
    words: usize,
    bits: Vec<u64>,
}

impl Sets {
    pub(super) fn new(count: usize, registers: usize) -> Self {
        let words = registers.div_ceil(64).max(1);
        Sets {
            words,
            bits: vec![0; words * count],
        }
    }
    pub(super) fn of(&self, at: usize) -> &[u64] {
        self.bits
            .get(at * self.words..(at + 1) * self.words)
            .unwrap_or(&[])
    }
    pub(super) fn has(&self, at: usize, register: usize) -> bool {
        self.of(at)
            .get(register / 64)
            .is_some_and(|word| word >> (register % 64) & 1 == 1)
    }
}

/// One statement of a list whose liveness is wanted; registers are numbered densely.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) reads: Vec<usize>,
    pub(super) writes: Vec<usize>,
    pub(super) kills: bool,
    pub(super) removable: bool,
    /// Statements of the list that can be next.
    pub(super) inside: Vec<usize>,
    /// Sets of what lies outside of the list and can be next.
    pub(super) outside: Vec<usize>,
}

/// What is read after each statement; those that are removable read nothing while nothing reads what they write.
pub(super) fn live_out(nodes: &[Node], outside: &Sets, registers: usize) -> Sets {
    let mut out = Sets::new(nodes.len(), registers);
    let mut live_in = Sets::new(nodes.len(), registers);
    let words = out.words;
    loop {
        let mut changed = false;
        for (at, node) in nodes.iter().enumerate().rev() {
            let mut set = vec![0u64; words];
            for &next in &node.inside {
                for (word, more) in set.iter_mut().zip(live_in.of(next)) {
                    *word |= more;
                }
            }
            for &next in &node.outside {
                for (word, more) in set.iter_mut().zip(outside.of(next)) {
                    *word |= more;
                }
            }
            out.bits[at * words..(at + 1) * words].copy_from_slice(&set);
            let wanted = node
                .writes
                .iter()
                .any(|&one| set[one / 64] >> (one % 64) & 1 == 1);
            if !node.removable || wanted {
                if node.kills {
                    for &one in &node.writes {
                        set[one / 64] &= !(1 << (one % 64));
                    }
                }
                for &one in &node.reads {
                    set[one / 64] |= 1 << (one % 64);
                }
            }
            let before = &mut live_in.bits[at * words..(at + 1) * words];
            changed |= before != set.as_slice();
            before.copy_from_slice(&set);
        }
        if !changed {
            return out;
        }
    }
}

/// What is read from each statement on, in a whole body where nothing is left out.
pub(super) fn live_in(body: &Body, dense: &FxHashMap<Register, usize>) -> Sets {
    let nodes: Vec<Node> = body
        .lines
        .iter()
        .enumerate()
        .map(|(at, line)| {
            let map = |registers: &[Register]| {
                registers
                    .iter()
                    .filter_map(|one| dense.get(one).copied())
                    .collect::<Vec<_>>()
            };
            let mut inside: Vec<usize> = match &line.next {
                Next::Falls => vec![at + 1],
                Next::Jumps { targets, falls } => {
                    let jumps = targets.iter().map(|&target| target as usize);
                    jumps.chain(falls.then_some(at + 1)).collect()
                }
                Next::Ends => Vec::new(),
            };
            inside.retain(|&next| next < body.lines.len());
            Node {
                reads: map(&line.reads),
                writes: map(&line.writes),
                kills: line.kills,
                removable: false,
                inside,
                outside: Vec::new(),
            }
        })
        .collect();
    let none = Sets::new(0, dense.len());
    let out = live_out(&nodes, &none, dense.len());
    // From a statement on: what it reads, and what is read after it and not overwritten by it.
    let mut sets = out.clone();
    let words = sets.words;
    for (at, node) in nodes.iter().enumerate() {
        let set = &mut sets.bits[at * words..(at + 1) * words];
        if node.kills {
            for &one in &node.writes {
                set[one / 64] &= !(1 << (one % 64));
            }
        }
        for &one in &node.reads {
            set[one / 64] |= 1 << (one % 64);
        }
    }
    sets
}
