//! Intervals and the scan that gives them registers.

use crate::machine::epic::Epic;
use crate::machine::schema::Issue;
use crate::mir::function::{Function, Virtual};
use crate::mir::liveness::Liveness;
use crate::mir::{File, Reg};
use crate::refusal::Refusal;
use isa::ia64::{Branch, Opcode};

/// Registers that may be used at most, of each file; for trying out what happens when they run out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    pub general: u32,
    pub float: u32,
    pub predicate: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            general: 128,
            float: 128,
            predicate: 64,
        }
    }
}

/// Where a virtual register lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Nothing names it.
    Nowhere,
    Register(Reg),
    Memory,
}

#[derive(Clone, Copy, Debug)]
struct Interval {
    register: Virtual,
    start: u32,
    end: u32,
    /// Uses and definitions, by how often they execute.
    weight: f64,
    /// A block whose cycles are decided names it.
    fixed: bool,
    crosses: bool,
    /// Registers are renamed while it lives: all from `f32` and `p16` on, whatever a loop needs of them.
    turns: bool,
}

/// Registers kept back for values that live in memory, while an operation uses them.
pub(super) const GENERAL_AWAY: [u8; 4] = [3, 9, 10, 11];
pub(super) const FLOAT_AWAY: [u8; 5] = [6, 7, 14, 15, 13];
pub(super) const PREDICATE_AWAY: [u8; 3] = [13, 14, 15];
/// The address of such a value.
pub(super) const ADDRESS_AWAY: Reg = Reg::general(2);
/// Stacked registers that the prologue may need.
pub(crate) const SAVES: u32 = 8;

/// Registers of each file that take turns: those that cost nothing to use.
const TURN: [usize; 3] = [34, 96, 7];
/// Positions for which a register that was just free is left alone.
const RECENT: u32 = 48;

/// Registers of one file in the order in which they are tried: for what no call happens to, and for what one does.
struct Pool {
    free: Vec<u8>,
    preserved: Vec<u8>,
    /// The first that is renamed by rotation although nothing rotates it on purpose.
    renamed: u8,
}

impl Pool {
    fn of(&self, interval: &Interval) -> impl Iterator<Item = u8> + Clone + '_ {
        let list = if interval.crosses {
            &self.preserved
        } else {
            &self.free
        };
        // What stays where it is takes registers that a callee would preserve, too.
        let more: &[u8] = match interval.turns && !interval.crosses && self.renamed == 32 {
            true => &self.preserved,
            false => &[],
        };
        let turns = interval.turns;
        let all = list.iter().chain(more).copied();
        all.filter(move |&one| !turns || one < self.renamed)
    }
}

fn pools(function: &Function, machine: &Epic, limits: &Limits) -> [Pool; 3] {
    let rotating = function.rotating;
    let inputs = function.inputs();
    let first = 32
        + rotating
            .general
            .max(if rotating.general > 0 { inputs } else { 0 });
    let frame = machine.of(Issue::GeneralStacked);
    let last = (32 + frame).saturating_sub(function.outputs.len() as u32 + SAVES);
    let stacked: Vec<u8> = (first..last.max(first)).map(|one| one as u8).collect();
    let general = Pool {
        free: (14..32)
            .chain(stacked.iter().copied())
            .take(limits.general as usize)
            .collect(),
        renamed: u8::MAX,
        preserved: stacked
            .iter()
            .copied()
            .take(limits.general as usize)
            .collect(),
    };
    let floats = 32 + machine.of(Issue::FloatRotating);
    let float = Pool {
        free: (32 + rotating.float..floats)
            .map(|one| one as u8)
            .take(limits.float as usize)
            .collect(),
        renamed: 32,
        preserved: (16..32).chain(2..6).take(limits.float as usize).collect(),
    };
    let predicates = 16 + machine.of(Issue::PredicateRotating);
    let kept: Vec<u8> = (1..6)
        .chain((16 + rotating.predicate..predicates).map(|one| one as u8))
        .collect();
    let predicate = Pool {
        free: (6..13)
            .chain(kept.iter().copied())
            .take(limits.predicate as usize)
            .collect(),
        renamed: 16,
        preserved: kept.into_iter().take(limits.predicate as usize).collect(),
    };
    [general, float, predicate]
}

const fn index(file: File) -> Option<usize> {
    match file {
        File::General => Some(0),
        File::Float => Some(1),
        File::Predicate => Some(2),
        _ => None,
    }
}

fn intervals(function: &Function, live: &Liveness) -> Vec<Interval> {
    let mut out: Vec<Interval> = (0..function.registers.len() as u32)
        .map(|one| Interval {
            register: Virtual(one),
            start: u32::MAX,
            end: 0,
            weight: 0.0,
            fixed: false,
            crosses: false,
            turns: false,
        })
        .collect();
    let mut calls: Vec<u32> = Vec::new();
    let mut rotations: Vec<u32> = Vec::new();
    fn touch(one: &mut Interval, at: u32) {
        one.start = one.start.min(at);
        one.end = one.end.max(at);
    }
    // Positions: 2k where operation k reads, 2k + 1 where it writes; the parameters arrive in front.
    let mut first = 1u32;
    for (at, block) in function.blocks.iter().enumerate() {
        let count = block.operations.len() as u32;
        let (begin, end) = (2 * first, 2 * (first + count) + 1);
        for one in live.enter[at].iter() {
            touch(&mut out[one.0 as usize], begin);
        }
        for one in live.leave[at].iter() {
            touch(&mut out[one.0 as usize], end);
        }
        for (index, operation) in block.operations.iter().enumerate() {
            let position = 2 * (first + index as u32);
            let reads = operation.reads().map(|one| (one, position));
            let writes = operation.writes().map(|one| (one, position + 1));
            for (one, at) in reads.chain(writes) {
                let interval = &mut out[one.0 as usize];
                touch(interval, at);
                interval.weight += block.weight;
                interval.fixed |= !block.cycles.is_empty();
            }
            // What a false predicate leaves is there before.
            if !operation.is_certain() {
                for one in operation.writes() {
                    touch(&mut out[one.0 as usize], position);
                }
            }
            if operation.branch() == Some(Branch::Call) {
                calls.push(position);
            }
            let rotates = matches!(
                operation.branch(),
                Some(Branch::CountedRotating | Branch::WhileRotating)
            );
            if rotates || operation.opcode() == Opcode::Clrrrb {
                rotations.push(position);
            }
        }
        first += count + 1;
    }
    for &param in &function.parameters {
        let interval = &mut out[param.0 as usize];
        if interval.start != u32::MAX {
            interval.start = 0;
        }
    }
    calls.sort_unstable();
    rotations.sort_unstable();
    for interval in &mut out {
        let behind = calls.partition_point(|&call| call < interval.start);
        interval.crosses = calls.get(behind).is_some_and(|&call| call < interval.end);
        let behind = rotations.partition_point(|&one| one < interval.start);
        interval.turns = rotations.get(behind).is_some_and(|&one| one < interval.end);
    }
    let outputs = &function.outputs;
    out.retain(|one| {
        let decided = outputs.contains(&one.register) || function.place(one.register).is_some();
        one.start != u32::MAX && !decided
    });
    out.sort_by_key(|one| (one.start, one.register));
    out
}

/// The place of every virtual register.
pub(super) fn scan(
    function: &Function,
    live: &Liveness,
    machine: &Epic,
    limits: &Limits,
) -> Result<Vec<Place>, Refusal> {
    let pools = pools(function, machine, limits);
    let mut places = vec![Place::Nowhere; function.registers.len()];
    for &(register, place) in &function.pinned {
        places[register.0 as usize] = Place::Register(place);
    }
    // By file: those that have a register now, and when registers were free again.
    let mut active: [Vec<(Interval, u8)>; 3] = Default::default();
    let mut freed = [[0u32; 256]; 3];
    let mut taken = [[false; 256]; 3];
    // Where parameters arrive.
    let inputs = function.inputs() as u8;
    let own = |register: Virtual| {
        let (_, at) = function.arriving().find(|(one, _)| *one == register)?;
        let stays = |at: &Reg| {
            at.file == File::General && at.number >= 32 && function.rotating.general == 0
        };
        at.filter(stays).map(|at| at.number)
    };
    for interval in intervals(function, live) {
        let file = function.file(interval.register);
        let Some(class) = index(file) else {
            return Err(Refusal::NoForm {
                operation: "virtual register".into(),
                ty: smol_str::format_smolstr!("{file:?}"),
                target: "IA-64",
            });
        };
        let (active, freed) = (&mut active[class], &mut freed[class]);
        let taken = &mut taken[class];
        active.retain(|(other, number)| {
            let stays = other.end >= interval.start;
            if !stays {
                freed[*number as usize] = other.end;
                taken[*number as usize] = false;
            }
            stays
        });
        let pool = pools[class].of(&interval);
        let arrives = own(interval.register);
        let parameter = interval.start == 0;
        let usable = |number: u8| {
            // Another argument is still there when this one is moved.
            let arrived = parameter && file == File::General && (32..32 + inputs).contains(&number);
            !arrived || arrives == Some(number)
        };
        let free = |number: u8| !taken[number as usize];
        let chosen = arrives
            .filter(|&number| free(number) && pool.clone().any(|one| one == number))
            .or_else(|| {
                let mut open = pool
                    .clone()
                    .filter(|&number| usable(number) && free(number));
                // What was free for long makes nothing wait that is moved up.
                let rested = |number: &u8| match freed[*number as usize] {
                    0 => true,
                    since => since + RECENT <= interval.start,
                };
                let early = pool.clone().take(TURN[class]);
                let early = early.filter(|&number| usable(number) && free(number));
                let found = early.clone().find(rested);
                let oldest = || early.clone().min_by_key(|&number| freed[number as usize]);
                found.or_else(oldest).or_else(|| open.next())
            });
        if let Some(number) = chosen {
            places[interval.register.0 as usize] = Place::Register(Reg { file, number });
            active.push((interval, number));
            taken[number as usize] = true;
            continue;
        }
        // The one that is used least for as long as it lasts goes to memory.
        let cost = |one: &Interval| match one.fixed {
            true => f64::INFINITY,
            false => one.weight / f64::from(one.end - one.start + 1),
        };
        let victim = (0..active.len())
            .filter(|&at| pool.clone().any(|one| one == active[at].1) && usable(active[at].1))
            .min_by(|&one, &other| cost(&active[one].0).total_cmp(&cost(&active[other].0)));
        let victim = victim.filter(|&at| cost(&active[at].0) < cost(&interval));
        match victim {
            Some(at) => {
                let (away, number) = active.swap_remove(at);
                places[away.register.0 as usize] = Place::Memory;
                places[interval.register.0 as usize] = Place::Register(Reg { file, number });
                active.push((interval, number));
            }
            None if interval.fixed => {
                return Err(Refusal::Registers {
                    file: smol_str::format_smolstr!("{file:?}"),
                    available: pool.clone().count() as u32,
                });
            }
            None => places[interval.register.0 as usize] = Place::Memory,
        }
    }
    // What passes arguments on lies behind all others.
    let mut next = 32 + function.rotating.general.max(inputs.into());
    for place in &places {
        if let Place::Register(Reg {
            file: File::General,
            number: number @ 32..,
        }) = place
        {
            next = next.max(u32::from(*number) + 1);
        }
    }
    for (at, output) in function.outputs.iter().enumerate() {
        let number = next + SAVES + at as u32;
        places[output.0 as usize] = Place::Register(Reg::general(number as u8));
    }
    Ok(places)
}

/// The first stacked register that nothing but the prologue may take.
pub(super) fn behind(function: &Function, places: &[Place]) -> u32 {
    let mut next = 32 + function.rotating.general.max(function.inputs());
    for (at, place) in places.iter().enumerate() {
        let output = function.outputs.contains(&Virtual(at as u32));
        if let Place::Register(Reg {
            file: File::General,
            number: number @ 32..,
        }) = place
            && !output
        {
            next = next.max(u32::from(*number) + 1);
        }
    }
    next
}
