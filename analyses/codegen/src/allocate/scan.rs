//! Intervals and the scan that gives them registers.

use crate::mir::function::{Function, Name, Operand, Virtual};
use crate::mir::liveness::Liveness;
use crate::mir::{RegisterFile, Target, Tuple};
use crate::refusal::Refusal;
use isa::Branch;
use rustc_hash::{FxHashMap, FxHashSet};

/// The home of a virtual register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place<R> {
    /// Nothing names it.
    Nowhere,
    Register(R),
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

/// The value that goes to memory where registers run out.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choice<'a> {
    /// The one that is used least for as long as it lives, but for these, which never go.
    LeastUsed(&'a FxHashSet<Virtual>),
    /// The one whose next read is the farthest, but for these, which never go.
    FarthestRead(&'a FxHashSet<Virtual>),
}

/// Positions at which values are read, by virtual register, ascending.
fn reads<T: Target>(function: &Function<T>) -> Vec<Vec<u32>> {
    let mut out = vec![Vec::new(); function.registers.len()];
    let mut first = 1u32;
    for block in &function.blocks {
        for (index, operation) in (0..).zip(&block.operations) {
            for read in operation.reads() {
                out[read.0 as usize].push(2 * (first + index));
            }
        }
        first += block.operations.len() as u32 + 1;
    }
    out
}

/// Registers whose places follow from that of one of them.
#[derive(Default)]
struct Tuples {
    groups: Vec<Group>,
    /// Keyed by member: an index into `groups`.
    index: FxHashMap<Virtual, usize>,
    /// The most members of a tuple.
    widest: usize,
}

/// Tuples that have members in common.
#[derive(Default)]
struct Group {
    tuples: Vec<Tuple>,
    members: Vec<Virtual>,
}

impl Tuples {
    /// The group of a member.
    fn of(&self, register: Virtual) -> Option<&Group> {
        self.index.get(&register).map(|&at| &self.groups[at])
    }

    fn in_function<T: Target>(function: &Function<T>) -> Tuples {
        let mut out = Tuples::default();
        for operation in function.blocks.iter().flat_map(|block| &block.operations) {
            let Some(tuple) = T::tuple(operation) else {
                continue;
            };
            out.widest = out.widest.max(tuple.members.len());
            let own = tuple.members.iter().filter_map(|it| out.index.get(it));
            let mut own: Vec<usize> = own.copied().collect();
            own.sort_unstable();
            own.dedup();
            let at = own.first().copied().unwrap_or(out.groups.len());
            if at == out.groups.len() {
                out.groups.push(Group::default());
            }
            // Others join the first of them.
            for &other in own.iter().skip(1) {
                let Group { tuples, members } = std::mem::take(&mut out.groups[other]);
                for &member in &members {
                    out.index.insert(member, at);
                }
                out.groups[at].tuples.extend(tuples);
                out.groups[at].members.extend(members);
            }
            for &member in &tuple.members {
                if out.index.insert(member, at).is_none() {
                    out.groups[at].members.push(member);
                }
            }
            if !out.groups[at].tuples.contains(&tuple) {
                out.groups[at].tuples.push(tuple);
            }
        }
        out
    }
}

impl Group {
    /// The registers of all members, where the first tuple begins with one of `all`; `None`: they do not go together. Those that
    /// are `held` by another member's interval have its register, all others one of their own.
    fn places<T: Target>(
        &self,
        first: T::Register,
        all: &[T::Register],
        held: &FxHashMap<Virtual, Virtual>,
    ) -> Option<Vec<(Virtual, T::Register)>> {
        let places = self.following::<T>(first, all)?;
        let apart = places
            .iter()
            .filter(|(member, _)| !held.contains_key(member));
        let mut registers: Vec<T::Register> = apart.map(|(_, register)| *register).collect();
        registers.sort_unstable();
        let distinct = registers.windows(2).all(|pair| pair[0] != pair[1]);
        distinct.then_some(places)
    }

    /// Members that can only have the same register, whichever it is.
    fn shared<T: Target>(&self, all: &[T::Register]) -> Vec<Vec<Virtual>> {
        let mut found = all
            .iter()
            .filter_map(|&first| self.following::<T>(first, all));
        let mut sets: Vec<(T::Register, Vec<Virtual>)> = Vec::new();
        for (member, register) in found.next().into_iter().flatten() {
            match sets.iter_mut().find(|(own, _)| *own == register) {
                Some((_, set)) => set.push(member),
                None => sets.push((register, vec![member])),
            }
        }
        let sets = sets.into_iter().map(|(_, set)| set);
        sets.filter(|set| set.len() > 1).collect()
    }

    fn following<T: Target>(
        &self,
        first: T::Register,
        all: &[T::Register],
    ) -> Option<Vec<(Virtual, T::Register)>> {
        let mut known: Vec<(Virtual, T::Register)> = Vec::new();
        let mut left: Vec<&Tuple> = self.tuples.iter().collect();
        while !left.is_empty() {
            let place = |known: &[(Virtual, T::Register)], member: Virtual| {
                let mut own = known.iter().filter(|(it, _)| *it == member);
                own.next().map(|(_, register)| *register)
            };
            let next = left.iter().position(|tuple| {
                known.is_empty() || tuple.members.iter().any(|&it| place(&known, it).is_some())
            })?;
            let tuple = left.remove(next);
            let fits = |places: &Vec<T::Register>| {
                let mut pairs = tuple.members.iter().zip(places);
                pairs.all(|(&member, register)| {
                    place(&known, member).is_none_or(|known| known == *register)
                })
            };
            let found = match known.is_empty() {
                true => T::places(tuple, first),
                false => all
                    .iter()
                    .filter_map(|&first| T::places(tuple, first))
                    .find(fits),
            }?;
            for (&member, &register) in tuple.members.iter().zip(&found) {
                if place(&known, member).is_none() {
                    known.push((member, register));
                }
            }
        }
        Some(known)
    }
}

/// Positions for which a register that was just free is left alone.
const RECENT: u32 = 48;

/// The registers of a file that an interval may have, in the order in which they are tried.
fn pool<'f, T: Target>(
    file: &'f RegisterFile<T>,
    interval: &Interval,
) -> impl Iterator<Item = T::Register> + Clone + 'f {
    let list = if interval.crosses {
        &file.preserved
    } else {
        &file.free
    };
    // What stays where it is takes registers that a callee would preserve, too.
    let more: &[T::Register] = match interval.turns && !interval.crosses && file.lends {
        true => &file.preserved,
        false => &[],
    };
    let renamed = file.renamed.filter(|_| interval.turns);
    let all = list.iter().chain(more).copied();
    all.filter(move |&it| renamed.is_none_or(|first| it < first))
}

/// The intervals in the order in which they get registers; and by registers without one of their own, that whose interval holds
/// theirs: they can only have the same place, one behind the other.
fn intervals<T: Target>(
    function: &Function<T>,
    live: &Liveness,
    files: &[RegisterFile<T>],
    tuples: &Tuples,
) -> (Vec<Interval>, FxHashMap<Virtual, Virtual>) {
    let mut out: Vec<Interval> = (0..function.registers.len() as u32)
        .map(|it| Interval {
            register: Virtual(it),
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
    fn touch(interval: &mut Interval, at: u32) {
        interval.start = interval.start.min(at);
        interval.end = interval.end.max(at);
    }
    // Positions: operation k reads at 2k and writes at 2k + 1; the parameters arrive in front.
    let mut first = 1u32;
    for (at, block) in function.blocks.iter().enumerate() {
        let count = block.operations.len() as u32;
        let (begin, end) = (2 * first, 2 * (first + count) + 1);
        for each in live.at_start(at as u32).iter() {
            touch(&mut out[each.0 as usize], begin);
        }
        for each in live.at_end(at as u32).iter() {
            touch(&mut out[each.0 as usize], end);
        }
        for (index, operation) in block.operations.iter().enumerate() {
            let position = 2 * (first + index as u32);
            let reads = operation.reads().map(|read| (read, position));
            let writes = operation.writes().map(|write| (write, position + 1));
            for (each, at) in reads.chain(writes) {
                let interval = &mut out[each.0 as usize];
                touch(interval, at);
                interval.weight += block.weight;
                interval.fixed |= !block.cycles.is_empty();
            }
            // No two operations of a cycle write one register, even where nothing reads it.
            if let Some(&cycle) = block.cycles.get(index) {
                let last = block.cycles.partition_point(|&it| it <= cycle);
                let end = 2 * (first + last as u32) - 1;
                for write in operation.writes() {
                    touch(&mut out[write.0 as usize], end);
                }
            }
            // What a false predicate leaves is there before.
            if !operation.is_certain() {
                for write in operation.writes() {
                    touch(&mut out[write.0 as usize], position);
                }
            }
            if operation.branch() == Some(Branch::Call) {
                calls.push(position);
            }
            if T::rotates(operation) {
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
    for &register in &function.kept {
        out[register.0 as usize].fixed = true;
    }
    let mut held: FxHashMap<Virtual, Virtual> = FxHashMap::default();
    for group in &tuples.groups {
        let class = group.members.first().map(|&first| function.class(first));
        let own = files.iter().filter(|file| Some(file.class) == class);
        let registers = own.flat_map(|file| file.free.iter().chain(&file.preserved));
        let registers: Vec<T::Register> = registers.copied().collect();
        for mut set in group.shared::<T>(&registers) {
            set.sort_by_key(|it| out[it.0 as usize].start);
            let mut pairs = set.windows(2);
            if !pairs.all(|pair| out[pair[0].0 as usize].end < out[pair[1].0 as usize].start) {
                continue;
            }
            for &other in &set[1..] {
                let Interval { end, weight, .. } = out[other.0 as usize];
                let first = &mut out[set[0].0 as usize];
                (first.end, first.weight) = (end, first.weight + weight);
                out[other.0 as usize].start = u32::MAX;
                held.insert(other, set[0]);
            }
        }
        let mut alone = group.members.clone();
        alone.retain(|it| !held.contains_key(it));
        let start = alone.iter().map(|it| out[it.0 as usize].start).min();
        for each in alone {
            let own = &mut out[each.0 as usize];
            (own.start, own.fixed) = (start.unwrap_or(own.start), true);
        }
    }
    for interval in &mut out {
        let behind = calls.partition_point(|&call| call < interval.start);
        interval.crosses = calls.get(behind).is_some_and(|&call| call < interval.end);
        let behind = rotations.partition_point(|&rotation| rotation < interval.start);
        interval.turns = rotations
            .get(behind)
            .is_some_and(|&rotation| rotation < interval.end);
    }
    let outputs = &function.outputs;
    out.retain(|it| {
        let decided = outputs.contains(&it.register) || function.place(it.register).is_some();
        it.start != u32::MAX && !decided
    });
    // Neighbours are given together.
    let first = |interval: &Interval| {
        tuples
            .of(interval.register)
            .map_or(interval.register, |own| own.members[0])
    };
    out.sort_by_key(|it| (it.start, first(it), it.register));
    (out, held)
}

/// Values of exclusive files that live beside others of their class, at whatever point.
fn crowded<T: Target>(
    function: &Function<T>,
    live: &Liveness,
    files: &[RegisterFile<T>],
) -> FxHashSet<Virtual> {
    let mut out = FxHashSet::default();
    for file in files.iter().filter(|file| file.exclusive) {
        let is_own = |register: &Virtual| function.class(*register) == file.class;
        let mut meet = |all: &mut dyn Iterator<Item = Virtual>| {
            let all: Vec<Virtual> = all.filter(is_own).collect();
            if all.len() > 1 {
                out.extend(all);
            }
        };
        for (at, block) in function.blocks.iter().enumerate() {
            let mut walk = live.walk(function, at as u32);
            meet(&mut walk.live.iter());
            for operation in block.operations.iter().rev() {
                walk.branch(operation);
                meet(&mut walk.live.iter());
                // What is written is there beside what lives on, even where nothing reads it.
                for to in operation.writes().filter(is_own) {
                    let others = walk.live.iter().filter(|&it| it != to);
                    meet(&mut others.chain([to]));
                }
                walk.write(operation);
                walk.read(operation);
                meet(&mut walk.live.iter());
            }
        }
    }
    out
}

/// Positions at which a register that operations name holds what it is named for.
pub(super) struct Named<R> {
    pub(super) register: R,
    pub(super) start: u32,
    pub(super) end: u32,
}

/// Registers that operations name: from a write, or the call that left a result there, to the last read.
pub(super) fn named<T: Target>(function: &Function<T>) -> Vec<Named<T::Register>> {
    let mut out: Vec<Named<T::Register>> = Vec::new();
    let mut first = 1u32;
    for block in &function.blocks {
        let mut open: Vec<Named<T::Register>> = Vec::new();
        let mut since = 2 * first;
        for (index, operation) in (0..).zip(&block.operations) {
            let position = 2 * (first + index);
            let fixed = |operand: &Operand<T>| match operand.name() {
                Some(Name::Fixed(register)) => Some(register),
                _ => None,
            };
            for register in operation.sources.iter().filter_map(fixed) {
                match open.iter_mut().find(|it| it.register == register) {
                    Some(known) => known.end = position,
                    None => open.push(Named {
                        register,
                        start: since,
                        end: position,
                    }),
                }
            }
            for register in operation.targets.iter().filter_map(fixed) {
                let at = open.iter().position(|it| it.register == register);
                out.extend(at.map(|at| open.swap_remove(at)));
                open.push(Named {
                    register,
                    start: position + 1,
                    end: position + 1,
                });
            }
            let branch = operation.branch();
            // Arguments and results wait in their registers until control goes to another.
            if matches!(branch, Some(Branch::Call | Branch::Return)) {
                let passed = open.iter_mut().filter(|it| T::passes(it.register));
                passed.for_each(|it| it.end = position);
            }
            if branch == Some(Branch::Call) {
                out.append(&mut open);
                since = position + 1;
            }
        }
        out.append(&mut open);
        first += block.operations.len() as u32 + 1;
    }
    out
}

/// An interval that has a register.
struct Active<R> {
    interval: Interval,
    register: R,
    /// The number of the register's file.
    file: usize,
}

/// The place of every virtual register.
pub(super) fn scan<T: Target>(
    function: &Function<T>,
    live: &Liveness,
    files: &[RegisterFile<T>],
    choice: Choice<'_>,
) -> Result<Vec<Place<T::Register>>, Refusal> {
    let reads = match choice {
        Choice::LeastUsed(_) => Vec::new(),
        Choice::FarthestRead(_) => reads(function),
    };
    let mut places = vec![Place::Nowhere; function.registers.len()];
    for &(register, place) in &function.pinned {
        places[register.0 as usize] = Place::Register(place);
    }
    // Those that have a register now, and by unit when it was free again.
    let mut active: Vec<Active<T::Register>> = Vec::new();
    let mut freed = vec![0u32; T::UNITS];
    let mut taken = vec![false; T::UNITS];
    // Where parameters arrive.
    let arriving: Vec<(Virtual, Option<T::Register>)> = function.arriving().collect();
    let own = |register: Virtual| {
        let (_, at) = arriving.iter().find(|(it, _)| *it == register)?;
        at.filter(|&at| T::stays(function, at))
    };
    let crowded = crowded(function, live, files);
    let named = named(function);
    let tuples = Tuples::in_function(function);
    let (all, held) = intervals(function, live, files, &tuples);
    let mut forced: FxHashMap<Virtual, T::Register> = FxHashMap::default();
    for (at, mut interval) in all.iter().copied().enumerate() {
        let (Choice::LeastUsed(kept) | Choice::FarthestRead(kept)) = choice;
        interval.fixed |= kept.contains(&interval.register);
        let class = function.class(interval.register);
        let Some(number) = files.iter().position(|file| file.class == class) else {
            return Err(Refusal::NoForm {
                operation: "virtual register".into(),
                ty: smol_str::format_smolstr!("{class:?}"),
                target: T::NAME,
            });
        };
        let file = &files[number];
        let refused = |interval: &Interval| Refusal::Registers {
            file: smol_str::format_smolstr!("{class:?}"),
            available: pool(file, interval).count() as u32,
        };
        active.retain(|other| {
            let stays = other.interval.end >= interval.start;
            if !stays {
                for unit in T::units(other.register) {
                    freed[unit] = other.interval.end;
                    taken[unit] = false;
                }
            }
            stays
        });
        if let (true, [only, ..]) = (file.exclusive, &file.free[..]) {
            // A call leaves nothing in it.
            let away = crowded.contains(&interval.register)
                || (interval.crosses && !file.preserved.contains(only));
            places[interval.register.0 as usize] = match away {
                false => Place::Register(*only),
                true if interval.fixed => return Err(refused(&interval)),
                true => Place::Memory,
            };
            continue;
        }
        let arrives = own(interval.register);
        let parameter = interval.start == 0;
        let by_name = |register: T::Register| {
            named.iter().any(|it| {
                it.register == register && it.start <= interval.end && interval.start <= it.end
            })
        };
        let usable = |register: T::Register| {
            // Another argument is still there when this one is moved.
            let arrived = parameter && file.arrivals.contains(&register);
            (!arrived || arrives == Some(register)) && !by_name(register)
        };
        let free = |register: T::Register| T::units(register).all(|unit| !taken[unit]);
        let since = |register: T::Register| T::units(register).map(|unit| freed[unit]).max();
        let group = tuples.of(interval.register);
        if let Some(group) = group.filter(|_| !forced.contains_key(&interval.register)) {
            let own: Vec<&Interval> = all[at..]
                .iter()
                .filter(|it| group.members.contains(&it.register))
                .collect();
            let fits = |register: T::Register, own: &Interval| {
                let within = pool(file, own).any(|it| it == register);
                let clear = named
                    .iter()
                    .all(|it| it.register != register || it.start > own.end || own.start > it.end);
                within && clear && free(register)
            };
            let registers: Vec<T::Register> = pool(file, &interval).collect();
            let begins = |&first: &T::Register| {
                let places = group.places::<T>(first, &registers, &held)?;
                let member = |(it, register): &(Virtual, T::Register)| {
                    let mut own = own.iter().filter(|own| own.register == *it);
                    own.all(|own| fits(*register, own))
                };
                places.iter().all(member).then_some(places)
            };
            let place = |register: &T::Register| registers.iter().position(|it| it == register);
            let all = registers.iter().filter_map(begins);
            let found = all.min_by_key(|places| {
                let places = places.iter().filter_map(|(_, register)| place(register));
                places.max()
            });
            let Some(found) = found.filter(|_| !parameter) else {
                return Err(refused(&interval));
            };
            forced.extend(found);
        }
        let given = forced.get(&interval.register).copied();
        let chosen = given.or_else(|| {
            arrives
                .filter(|&register| {
                    let given = pool(file, &interval).any(|it| it == register);
                    given && free(register) && !by_name(register)
                })
                .or_else(|| {
                    let open = |register: &T::Register| usable(*register) && free(*register);
                    // What was free for long makes nothing wait that is moved up.
                    let rested = |register: &T::Register| match since(*register) {
                        None | Some(0) => true,
                        Some(since) => since + RECENT <= interval.start,
                    };
                    let early = pool(file, &interval).take(file.turn).filter(open);
                    let found = early.clone().find(rested);
                    let oldest = || early.clone().min_by_key(|&register| since(register));
                    let any = || pool(file, &interval).find(open);
                    // Neighbours that are free stay so, where some are wanted.
                    let beside = |register: &T::Register| {
                        let own = pool(file, &interval).filter(|other| {
                            T::index(*other) / tuples.widest == T::index(*register) / tuples.widest
                        });
                        let saved = file.preserved.contains(register);
                        (saved, own.filter(|&other| free(other)).count())
                    };
                    match tuples.widest {
                        0 => found.or_else(oldest).or_else(any),
                        _ => pool(file, &interval).filter(open).min_by_key(beside),
                    }
                })
        });
        // The less it costs, the sooner it goes to memory.
        let cost = |it: &Interval| match choice {
            _ if it.fixed => f64::INFINITY,
            Choice::LeastUsed(_) => it.weight / f64::from(it.end - it.start + 1),
            Choice::FarthestRead(_) => {
                let own = &reads[it.register.0 as usize];
                let next = own.get(own.partition_point(|&at| at <= interval.start));
                // Read in the next iteration of a loop alone: behind everything else.
                next.map_or(0.0, |&next| 1.0 / f64::from(next - interval.start))
            }
        };
        let away = |register: T::Register| {
            let units = T::units(register);
            let meets = move |active: &&Active<T::Register>| {
                let other = T::units(active.register);
                other.start < units.end && units.start < other.end
            };
            active.iter().filter(meets)
        };
        let costs =
            |register: T::Register| away(register).map(|it| cost(&it.interval)).sum::<f64>();
        // First the registers of its own class in the order in which they were given, then those that share a
        // part with others.
        let alike = active
            .iter()
            .filter(|it| it.file == number)
            .map(|it| it.register);
        let alike = alike.filter(|&register| pool(file, &interval).any(|it| it == register));
        let mixed =
            pool(file, &interval).filter(|&register| away(register).any(|it| it.file != number));
        let victim = || {
            let others = alike.chain(mixed).filter(|&register| usable(register));
            let least = others.min_by(|&left, &right| costs(left).total_cmp(&costs(right)));
            least.filter(|&register| costs(register) < cost(&interval))
        };
        let register = match chosen.or_else(victim) {
            Some(register) => register,
            None if interval.fixed => {
                return Err(refused(&interval));
            }
            None => {
                places[interval.register.0 as usize] = Place::Memory;
                continue;
            }
        };
        let gone: Vec<Virtual> = away(register).map(|it| it.interval.register).collect();
        for each in gone {
            places[each.0 as usize] = Place::Memory;
            let at = active.iter().position(|it| it.interval.register == each);
            if let Some(at) = at {
                let gone = active.swap_remove(at);
                T::units(gone.register).for_each(|unit| taken[unit] = false);
            }
        }
        places[interval.register.0 as usize] = Place::Register(register);
        T::units(register).for_each(|unit| taken[unit] = true);
        active.push(Active {
            interval,
            register,
            file: number,
        });
    }
    for (other, first) in held {
        places[other.0 as usize] = places[first.0 as usize];
    }
    let mut given = places.iter().filter_map(|place| match place {
        Place::Register(register) => Some(*register),
        _ => None,
    });
    let outputs = T::outputs(function, &mut given);
    for (output, register) in function.outputs.iter().zip(outputs) {
        places[output.0 as usize] = Place::Register(register);
    }
    Ok(places)
}
