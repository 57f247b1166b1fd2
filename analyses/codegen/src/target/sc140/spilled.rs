//! The values that live in the frame for want of registers, as the finished code stores and loads them: their names in the
//! source, and what that costs an iteration of a loop.
//!
//! ```text
//! move.l d13,(sp-16) .. move.l (sp-16),d13      `n` waits in memory: stored in front of the loop, loaded in each iteration
//! ```
//!
//! Reads the code alone, whatever pass put it there: stores and the loads that they reach are one value (a web of the
//! slot; those of one variable are one value), solved by sets of stores at the starts of blocks, which only grow. The cost is
//! the difference between the sets of the loop's blocks and those that are needed without the accesses: units that would be
//! idle otherwise cost nothing. It is not the interval that more registers would permit, which the loop's report has.

use super::code::{Allocation, FrameOffset, Function, Name, Operation};
use super::loops::block_cycles;
use super::machine::locate;
use super::obstacles::{Accesses, Finished, RegisterObstacle, obstacles};
use crate::machine::sets::Sets;
use crate::mir::{Block, FrameAddress, SpillCode, Target};
use crate::origin::{Variables, around};
use crate::pack::packets;
use crate::predicate::loops::{Region, natural};
use ir::{Loc, Variable};
use isa::sc140::{File, Reg, Sc140};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

/// A value that lives in the frame for a while.
#[derive(Clone, PartialEq, Debug)]
pub struct SpilledValue {
    /// The file of registers that it found no place in.
    pub file: File,
    /// The variable that holds it; `None`: a part of an expression.
    pub name: Option<SmolStr>,
    /// Its definition, `Loc::NONE` of an argument.
    pub definition: Loc,
    /// Places of the operations behind which it is stored, and of those in front of which it is loaded; once each.
    pub stores: Vec<Loc>,
    pub loads: Vec<Loc>,
    /// The loops in which it is stored or loaded, innermost first for each access.
    pub loops: Vec<SpillCost>,
    /// Each register, and what keeps it from holding the value; empty unless it was asked for.
    pub obstacles: Vec<RegisterObstacle>,
}

/// The cost of a spilled value in a loop, without what loops inside it take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpillCost {
    /// The head of the loop in the source.
    pub head: Loc,
    /// Cycles an iteration: those that the loop would not take without the accesses.
    pub cycles: u32,
    pub stores: u32,
    pub loads: u32,
}

/// The place of an access: a block and an operation of it. Block 0 is in front of the first one.
pub(super) type At = (usize, usize);

/// The accesses of one value.
#[derive(Default)]
struct Web {
    stores: Vec<At>,
    loads: Vec<At>,
}

/// The spilled values of a function that is allocated and packed, in the order of their first accesses; `explained`: with what
/// keeps registers from holding them.
pub(super) fn spilled(
    finished: &Finished<'_>,
    source: &ir::Function,
    explained: bool,
) -> Vec<SpilledValue> {
    let Finished {
        function,
        allocation,
        sets,
        ..
    } = *finished;
    let found = webs(function, allocation);
    if found.is_empty() {
        return Vec::new();
    }
    let variables = Variables::of(source);
    let regions = natural(function);
    let costs = Costs {
        function,
        allocation,
        source,
        sets,
        regions: &regions,
    };
    let places = |all: &[At]| {
        let place = |&at: &At| operation_at(function, allocation, at).loc;
        let mut out: Vec<Loc> = all.iter().map(place).collect();
        out.sort_unstable_by_key(|loc| (loc.site.0, loc.span));
        out.dedup();
        out
    };
    // Several webs of one variable are one to the reader.
    let mut values: Vec<(Option<Variable>, File, Web)> = Vec::new();
    for web in found {
        let held = variables.held(&places(&web.stores), &places(&web.loads));
        let file = file(function, allocation, &web);
        let known = values
            .iter_mut()
            .find(|(variable, of, _)| held.is_some() && *variable == held && *of == file);
        match known {
            Some((.., own)) => {
                own.stores.extend(web.stores);
                own.loads.extend(web.loads);
            }
            None => values.push((held, file, web)),
        }
    }
    let mut loops = costs.of(&values.iter().map(|(.., web)| web).collect::<Vec<&Web>>());
    let names: Vec<Option<SmolStr>> = (values.iter())
        .map(|(held, ..)| held.and_then(|held| variables.name(held).cloned()))
        .collect();
    let mut kept = match explained {
        true => {
            let accesses = values
                .iter()
                .zip(&names)
                .map(|((_, file, web), name)| Accesses {
                    stores: &web.stores,
                    loads: &web.loads,
                    file: *file,
                    name: name.as_ref(),
                });
            let accesses: Vec<Accesses<'_>> = accesses.collect();
            obstacles(finished, &variables, &accesses)
        }
        false => vec![Vec::new(); values.len()],
    };
    let each = values.iter().enumerate().map(|(at, (_, file, web))| {
        let (stores, loads) = (places(&web.stores), places(&web.loads));
        SpilledValue {
            file: *file,
            name: names[at].clone(),
            obstacles: std::mem::take(&mut kept[at]),
            definition: stores.first().copied().unwrap_or(Loc::NONE),
            loops: std::mem::take(&mut loops[at]),
            stores: stores.into_iter().filter(|&loc| loc != Loc::NONE).collect(),
            loads: loads.into_iter().filter(|&loc| loc != Loc::NONE).collect(),
        }
    });
    each.collect()
}

fn operation_at<'f>(function: &'f Function, allocation: &'f Allocation, at: At) -> &'f Operation {
    match at.0 {
        0 => &allocation.arrivals[at.1],
        block => &function.blocks[block - 1].operations[at.1],
    }
}

/// The register that a value of the frame passes through in an access; `true`: it is stored.
pub(super) fn through(operation: &Operation, allocation: &Allocation) -> Option<(Reg, bool)> {
    let register = |name: Name| match name {
        Name::Fixed(register) => register,
        Name::Virtual(register) => allocation.register(register),
    };
    match Sc140::spill_code(operation)? {
        SpillCode::Store { from, .. } => Some((register(from), true)),
        SpillCode::Load { to, .. } => Some((register(to), false)),
        _ => None,
    }
}

/// A store into a slot of a spilled value, or a load from one.
enum Access {
    Store(u32),
    Load(u32),
}

fn access(operation: &Operation) -> Option<Access> {
    let slot = |address: &FrameAddress<Sc140>| match address {
        FrameAddress::Offset(FrameOffset::Spill(bytes)) => Some(*bytes),
        _ => None,
    };
    match Sc140::spill_code(operation)? {
        SpillCode::Store { to, .. } => slot(&to.address).map(Access::Store),
        SpillCode::Load { from, .. } => slot(&from.address).map(Access::Load),
        _ => None,
    }
}

/// Stores and loads of each slot, those in one web that a store's value may reach.
fn webs(function: &Function, allocation: &Allocation) -> Vec<Web> {
    let blocks: Vec<&[Operation]> = std::iter::once(&allocation.arrivals[..])
        .chain(function.blocks.iter().map(|block| &block.operations[..]))
        .collect();
    // By block: the stores that reach its start, by slot.
    let mut known: Vec<BTreeMap<u32, BTreeSet<At>>> = vec![BTreeMap::new(); blocks.len()];
    let mut open: BTreeSet<usize> = (0..blocks.len()).collect();
    while let Some(block) = open.pop_first() {
        let mut now = known[block].clone();
        for (at, operation) in blocks[block].iter().enumerate() {
            if let Some(Access::Store(slot)) = access(operation) {
                now.insert(slot, BTreeSet::from([(block, at)]));
            }
        }
        let next = match block {
            0 => vec![0],
            block => function.successors(block as u32 - 1),
        };
        for to in next.into_iter().map(|to| to as usize + 1) {
            let Some(there) = known.get_mut(to) else {
                continue;
            };
            let before: usize = there.values().map(BTreeSet::len).sum();
            for (slot, stores) in &now {
                there.entry(*slot).or_default().extend(stores);
            }
            if there.values().map(BTreeSet::len).sum::<usize>() > before {
                open.insert(to);
            }
        }
    }
    let mut out: Vec<Web> = Vec::new();
    for (block, operations) in blocks.iter().enumerate() {
        let mut now = known[block].clone();
        for (at, operation) in operations.iter().enumerate() {
            match access(operation) {
                Some(Access::Store(slot)) => {
                    now.insert(slot, BTreeSet::from([(block, at)]));
                    join(&mut out, &BTreeSet::from([(block, at)]), None);
                }
                Some(Access::Load(slot)) => {
                    let none = BTreeSet::new();
                    join(&mut out, now.get(&slot).unwrap_or(&none), Some((block, at)));
                }
                None => {}
            }
        }
    }
    out.sort_by_key(|web| web.stores.iter().chain(&web.loads).min().copied());
    out
}

/// Puts some stores, and a load that they reach, into one web.
fn join(webs: &mut Vec<Web>, stores: &BTreeSet<At>, load: Option<At>) {
    let mut own = Web::default();
    let meets = |web: &Web| web.stores.iter().any(|store| stores.contains(store));
    for web in webs.extract_if(.., |web| meets(web)) {
        own.stores.extend(web.stores);
        own.loads.extend(web.loads);
    }
    own.stores.extend(stores);
    own.stores.sort_unstable();
    own.stores.dedup();
    own.loads.extend(load);
    webs.push(own);
}

/// The file of the registers that a web passes through.
fn file(function: &Function, allocation: &Allocation, web: &Web) -> File {
    let register = |name: Name| match name {
        Name::Fixed(register) => register,
        Name::Virtual(register) => allocation.register(register),
    };
    for &at in web.stores.iter().chain(&web.loads) {
        let operation = operation_at(function, allocation, at);
        let Some((own, stores)) = through(operation, allocation) else {
            continue;
        };
        let Some(block) = at.0.checked_sub(1).filter(|_| stores) else {
            return own.file;
        };
        // The flag passes through a data register, in which it was made a number.
        let mut before = function.blocks[block].operations[..at.1].iter().rev();
        let raised = before.find_map(|operation| match Sc140::spill_code(operation) {
            Some(SpillCode::Raise { to, .. }) if register(to) == own => Some(true),
            _ => {
                let mut targets = operation.targets.iter().filter_map(|target| target.name());
                targets
                    .any(|target| register(target) == own)
                    .then_some(false)
            }
        });
        return if raised == Some(true) {
            File::Truth
        } else {
            own.file
        };
    }
    File::Data
}

struct Costs<'a> {
    function: &'a Function,
    allocation: &'a Allocation,
    source: &'a ir::Function,
    sets: &'a Sets,
    regions: &'a [Region],
}

impl Costs<'_> {
    /// The costs of each web in the loops that are the innermost ones around its accesses.
    fn of(&self, webs: &[&Web]) -> Vec<Vec<SpillCost>> {
        let mut out: Vec<Vec<SpillCost>> = vec![Vec::new(); webs.len()];
        for region in self.regions {
            let inside = |at: &&At| {
                let around =
                    at.0.checked_sub(1)
                        .and_then(|block| self.around(block as u32));
                around.is_some_and(|around| around.header == region.header)
            };
            let count = |all: &[At]| all.iter().filter(inside).count() as u32;
            let mut own: Vec<usize> = (0..webs.len()).collect();
            own.retain(|&at| count(&webs[at].stores) + count(&webs[at].loads) > 0);
            // One after the other, so that the costs add up to those of the loop.
            own.sort_by_key(|&at| {
                std::cmp::Reverse(count(&webs[at].stores) + count(&webs[at].loads))
            });
            let mut left: BTreeSet<At> = BTreeSet::new();
            let mut now = self.cycles(region, &left);
            let accesses = own
                .iter()
                .flat_map(|&at| webs[at].stores.iter().chain(&webs[at].loads));
            // Where all of them cost nothing, none does.
            let least = self.cycles(region, &accesses.copied().collect());
            for at in own {
                left.extend(webs[at].stores.iter().chain(&webs[at].loads));
                let then = match now > least {
                    true => self.cycles(region, &left).clamp(least, now),
                    false => now,
                };
                out[at].push(SpillCost {
                    head: self.head(region),
                    cycles: now - then,
                    stores: count(&webs[at].stores),
                    loads: count(&webs[at].loads),
                });
                now = then;
            }
        }
        out
    }

    /// The smallest loop around a block.
    fn around(&self, block: u32) -> Option<&Region> {
        let around = self
            .regions
            .iter()
            .filter(|region| region.blocks.contains(&block));
        around.min_by_key(|region| region.blocks.len())
    }

    fn head(&self, region: &Region) -> Loc {
        let blocks = region
            .blocks
            .iter()
            .map(|&block| &self.function.blocks[block as usize]);
        let places: Vec<Loc> = blocks
            .flat_map(|block| &block.operations)
            .map(|operation| operation.loc)
            .filter(|&loc| loc != Loc::NONE)
            .collect();
        around(&self.source.loops, &places).map_or(Loc::NONE, |own| own.loc)
    }

    /// Cycles of the blocks of a loop without some accesses.
    fn cycles(&self, region: &Region, left: &BTreeSet<At>) -> u32 {
        let blocks = region.blocks.iter().map(|&number| {
            let block = &self.function.blocks[number as usize];
            let rest: Vec<Operation> = (block.operations.iter().enumerate())
                .filter(|(at, _)| !left.contains(&(number as usize + 1, *at)))
                .map(|(_, operation)| operation.clone())
                .collect();
            if rest.len() == block.operations.len() {
                return block_cycles(block, self.sets);
            }
            let found = packets(&rest, self.sets, &locate(self.allocation));
            let operations = found.order.iter().map(|&at| rest[at as usize].clone());
            let without = Block {
                operations: operations.collect(),
                cycles: found.cycles,
                weight: block.weight,
                rounds: block.rounds,
            };
            block_cycles(&without, self.sets)
        });
        blocks.sum()
    }
}
