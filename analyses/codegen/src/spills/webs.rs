//! The webs of homes: what is stored and loaded together is one value, and has a home of its own.
//!
//! ```text
//! home 0 <- d1; d2 <- home 0; ..; home 0 <- d3; d4 <- home 0        the second pair becomes home 1
//! ```

use super::code::{Code, Home, Location, Step};
use crate::mir::{Target, Virtual};
use ir::liveness::Liveness;
use rustc_hash::FxHashMap;

/// Sets that are joined.
#[derive(Default)]
struct Joined(Vec<u32>);

impl Joined {
    fn make(&mut self) -> u32 {
        let number = self.0.len() as u32;
        self.0.push(number);
        number
    }
    fn find(&mut self, mut number: u32) -> u32 {
        while self.0[number as usize] != number {
            let up = self.0[self.0[number as usize] as usize];
            self.0[number as usize] = up;
            number = up;
        }
        number
    }
    fn join(&mut self, left: u32, right: u32) {
        let (first, other) = (self.find(left), self.find(right));
        self.0[first as usize] = other;
    }
}

/// Gives each web a home of its own.
pub(super) fn split<T: Target>(code: &mut Code<'_, T>) {
    let live = Liveness::of(&*code);
    let mut joined = Joined::default();
    // The web of a home where a block begins.
    let mut starts: FxHashMap<(usize, Home), u32> = FxHashMap::default();
    for (block, start) in live.starts.iter().enumerate() {
        for home in start.iter().filter_map(|it| it.as_home::<T>()) {
            starts.insert((block, home), joined.make());
        }
    }
    // The web of each transfer, in the order of blocks and steps.
    let mut of: Vec<u32> = Vec::new();
    for block in 0..code.blocks.len() {
        let homes = live.starts[block].iter().filter_map(|it| it.as_home::<T>());
        let mut now: FxHashMap<Home, u32> =
            homes.map(|home| (home, starts[&(block, home)])).collect();
        let leave = |to: usize, now: &FxHashMap<Home, u32>, joined: &mut Joined| {
            for home in live.starts[to].iter().filter_map(|it| it.as_home::<T>()) {
                if let Some(&web) = now.get(&home) {
                    joined.join(web, starts[&(to, home)]);
                }
            }
        };
        for step in &code.blocks[block].steps {
            match step {
                Step::Load { from, .. } => {
                    of.push(*now.entry(*from).or_insert_with(|| joined.make()));
                }
                Step::Store { to, .. } => {
                    let web = joined.make();
                    now.insert(*to, web);
                    of.push(web);
                }
                Step::Operation(operation) => {
                    for target in Code::targets(operation) {
                        leave(target, &now, &mut joined);
                    }
                }
                Step::Copy { .. } => {}
            }
        }
        for next in code.successors(block) {
            leave(next, &now, &mut joined);
        }
    }
    let mut homes: Vec<Virtual> = Vec::new();
    let mut number_of: FxHashMap<u32, Home> = FxHashMap::default();
    let mut of = of.into_iter();
    for block in &mut code.blocks {
        for at in 0..block.steps.len() {
            let (Step::Load { from: home, .. } | Step::Store { to: home, .. }) = block.steps[at]
            else {
                continue;
            };
            let Some(web) = of.next() else { break };
            let web = joined.find(web);
            let old = code.homes[home.0 as usize];
            let now = *number_of.entry(web).or_insert_with(|| {
                homes.push(old);
                Home(homes.len() as u32 - 1)
            });
            if now == home {
                continue;
            }
            if let Step::Load { from: home, .. } | Step::Store { to: home, .. } =
                block.steps.edit(at)
            {
                *home = now;
            }
        }
    }
    code.homes = homes;
}

/// The transfers of each home, by block and number.
pub(super) struct Transfers {
    pub(super) loads: Vec<(usize, usize)>,
    pub(super) stores: Vec<(usize, usize)>,
}

pub(super) fn transfers<T: Target>(code: &Code<'_, T>) -> Vec<Transfers> {
    let empty = |_: &Virtual| Transfers {
        loads: Vec::new(),
        stores: Vec::new(),
    };
    let mut out: Vec<Transfers> = code.homes.iter().map(empty).collect();
    for (block, at) in code.blocks.iter().enumerate() {
        for (number, step) in at.steps.iter().enumerate() {
            match step {
                Step::Load { from, .. } => out[from.0 as usize].loads.push((block, number)),
                Step::Store { to, .. } => out[to.0 as usize].stores.push((block, number)),
                _ => {}
            }
        }
    }
    out
}

/// The locations that meet each home: those that live or are written while it lives.
pub(super) fn conflicts<T: Target>(
    code: &Code<'_, T>,
    live: &Liveness<Location>,
) -> Vec<ir::EntitySet<Location>> {
    let count = code.locations();
    let mut out = vec![ir::EntitySet::with_len(count); code.homes.len()];
    for block in 0..code.blocks.len() {
        let mut now = live.ends[block].clone();
        let mut meet = |live: &ir::EntitySet<Location>| {
            for home in live.iter().filter_map(|it| it.as_home::<T>()) {
                out[home.0 as usize].union_with(live);
            }
        };
        let steps = &code.blocks[block].steps;
        let mut written: Vec<(usize, Vec<Home>)> = Vec::new();
        code.walk(block, &mut now, &live.starts, &mut |group, live| {
            meet(live);
            let homes: Vec<Home> = live.iter().filter_map(|it| it.as_home::<T>()).collect();
            if !homes.is_empty() {
                written.extend(group.map(|number| (number, homes.clone())));
            }
        });
        meet(&now);
        // What is written is there beside what lives on, even where nothing reads it.
        for (number, homes) in written {
            let touched = code.touched(steps, number);
            for home in homes {
                let own = Location::home::<T>(home);
                let stores = matches!(&steps[number], Step::Store { to, .. } if *to == home);
                for location in touched.writes() {
                    // Once its home is a register, a store uses nothing on its way.
                    if location != own && !stores {
                        out[home.0 as usize].insert(location);
                    }
                }
            }
        }
    }
    // A store that nothing reads may stay: its home does not live, and meets those that do.
    for number in 0..out.len() {
        let own = Location::home::<T>(Home(number as u32));
        out[number].remove(&own);
        let others = out[number].iter().filter_map(|it| it.as_home::<T>());
        for other in others.collect::<Vec<Home>>() {
            out[other.0 as usize].insert(own);
        }
    }
    out
}
