//! The places of sets among the fetches: targets of jumps that two fetches hold, which costs a cycle each time.
//!
//! ```text
//!     ALIGN 16        the first word of a fetch
//!     [ 5 words ]
//! L1  [ 6 words ]     words 5 to 10: in two fetches of 8; with FALIGN in front it begins the second
//! ```
//!
//! Which words of its fetch a set may begin at is a set of numbers: all where nothing aligns the code, one behind an
//! `ALIGN`, and again more behind what has bounds on its words only. Told is what is so for all of them, and what is so if
//! the assembler takes the most words everywhere. One pass over the sets.

use super::capacity::Capacity;
use super::listing::{Alignment, Listing, Set};
use super::packer::{Asked, Load};
use isa::sc140::{Instruction, Words, prefix};

/// A target that two fetches hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Split {
    pub set: usize,
    pub reached: ReachedBy,
    /// Wherever the bounds on words leave it; otherwise if all take the most.
    pub certain: bool,
}

/// The way in which control comes to a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReachedBy {
    Jump,
    /// The end of a loop, each round.
    Loop,
}

/// The words of a set by which others behind it are placed.
fn words(set: &Set, marked: bool) -> Option<(Words, u32)> {
    if set.members.iter().any(|member| member.instruction.is_err()) {
        return None;
    }
    let of = set.instructions().map(Instruction::words);
    let all = of.fold(
        prefix(set.instructions(), set.is_conditional(), marked),
        Words::plus,
    );
    let asked: Vec<Asked> = set.instructions().map(Asked::of).collect();
    let most = Load::of(&asked).words().max(1);
    // A set takes a word at least: a `nop` by itself does.
    Some((Words::between(all.least.max(1), all.most.max(1)), most))
}

/// Targets of jumps of this file, and first sets of long loops, that two fetches hold.
#[must_use]
pub fn splits(listing: &Listing, capacity: &Capacity) -> Vec<Split> {
    let fetch = capacity.fetch.clamp(1, 64);
    let every = (0..fetch).fold(0u64, |mask, word| mask | 1 << word);
    let mut out = Vec::new();
    // Words of a fetch at which the next set may begin, and the one by the most words.
    let (mut starts, mut estimate) = (every, None::<u32>);
    let mut jumped: Vec<usize> = listing
        .targets()
        .filter_map(|(_, _, label)| listing.labels.get(label).copied())
        .collect();
    jumped.sort_unstable();
    // They stand in the order in which they begin.
    let long = listing.loops.iter();
    let long: Vec<usize> = long
        .filter(|hardware| hardware.count >= capacity.long_loop)
        .map(|hardware| hardware.first)
        .collect();
    let marked = listing.marked();
    for (at, set) in listing.sets.iter().enumerate() {
        if set.apart {
            (starts, estimate) = (every, None);
        }
        if let Some(Alignment::Bytes(bytes)) = set.alignment {
            let step = (bytes / 2).clamp(1, u64::from(fetch)) as u32;
            starts = (0..fetch)
                .filter(|word| word % step == 0)
                .fold(0, |mask, word| mask | 1 << word);
            estimate = match step == fetch {
                true => Some(0),
                false => estimate.map(|word| word.next_multiple_of(step) % fetch),
            };
        }
        let Some((words, most)) = words(set, marked[at]) else {
            (starts, estimate) = (every, None);
            continue;
        };
        let straddles = |start: u32, words: u32| start + words > fetch;
        let aligned = set.alignment == Some(Alignment::Fetch);
        let place = |start: u32, words: u32| match aligned && straddles(start, words) {
            true => 0,
            false => start,
        };
        let begins: Vec<u32> = (0..fetch).filter(|word| starts >> word & 1 != 0).collect();
        let lengths = words.least..=words.most;
        let certain = !aligned
            && begins
                .iter()
                .all(|&start| lengths.clone().all(|words| straddles(start, words)));
        let likely = !aligned && estimate.is_some_and(|start| straddles(start, most));
        let reached = match jumped.binary_search(&at) {
            _ if long.binary_search(&at).is_ok() => Some(ReachedBy::Loop),
            Ok(_) => Some(ReachedBy::Jump),
            Err(_) => None,
        };
        // A set of more words than a fetch has always lies in two.
        if let Some(reached) = reached.filter(|_| (certain || likely) && words.least <= fetch) {
            let set = at;
            out.push(Split {
                set,
                reached,
                certain,
            });
        }
        starts = begins.iter().fold(0, |mask, &start| {
            let ends = lengths
                .clone()
                .map(|words| (place(start, words) + words) % fetch);
            ends.fold(mask, |mask, word| mask | 1 << word)
        });
        estimate = estimate.map(|start| (place(start, most) + most) % fetch);
    }
    out
}
