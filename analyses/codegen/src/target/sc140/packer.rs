//! The limits of one set: units, words with the prefix, destinations, uses of sources, groups of conditions.
//!
//! ```text
//! mac d0,d8,d4 and move.4f (r0)+,d0:d1:d2:d3     2 of 6 instructions, 1 of 4 data units, 1 of 2 address units,
//!                                                2 words and 2 of the prefix, as d8 is a high register
//! ```
//!
//! A demand is a sum, so that an instruction is taken out as it was put in. Where the words of an instruction or a prefix
//! are known by bounds only, the most is taken: what fits here breaks no rule of a set. Distances between sets are those of
//! [`super::latency`]. Works on instructions of the table; a code generator gives the registers of its own for theirs.

use super::capacity::Capacity;
use crate::mir::packer::Packer;
use isa::sc140::{Condition, Effects, File, Instruction, Opcode, Reg, StackHalf, Unit};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The demand of an instruction on its set.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Asked {
    pub unit: Option<Unit>,
    pub words: u8,
    /// A register of it may need the bit that a prefix of two words holds.
    pub high: bool,
    /// A condition is written for it; `ifa` is none.
    pub condition: Condition,
    /// It bears the mark of a loop.
    pub marks: bool,
    pub flows: bool,
    pub stack: Option<(bool, Option<StackHalf>)>,
    /// Keys of what is counted by register, each once an occurrence.
    counted: SmallVec<[Key; 8]>,
}

/// A register and what is counted of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
struct Key {
    register: u32,
    counts: Counts,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
enum Counts {
    #[default]
    Uses,
    Writes,
    WritesIfTrue,
    WritesIfFalse,
}

/// A number of its own for each register of the processor.
#[must_use]
pub fn number(register: Reg) -> u32 {
    (register.file as u32) << 8 | u32::from(register.number)
}

impl Asked {
    /// The demand of an instruction, with the processor's registers.
    #[must_use]
    pub fn of(instruction: &Instruction) -> Asked {
        Asked::with(
            instruction,
            &instruction.effects(),
            &number,
            instruction.has_high_register(),
        )
    }

    /// The same with the numbers of other registers in the place of its own, as `named` gives them. `high`: one of them may
    /// be a high one.
    #[must_use]
    pub fn with(
        instruction: &Instruction,
        effects: &Effects,
        named: &dyn Fn(Reg) -> u32,
        high: bool,
    ) -> Asked {
        let mnemonic = instruction.mnemonic;
        let marks = matches!(mnemonic.opcode, Opcode::Lpmarka | Opcode::Lpmarkb);
        let placed = !marks && mnemonic.opcode != Opcode::Nop;
        let mut counted: SmallVec<[Key; 8]> = SmallVec::new();
        for read in &effects.reads {
            if read.register.file == File::Data {
                counted.push(Key {
                    register: named(read.register),
                    counts: Counts::Uses,
                });
            }
        }
        for write in &effects.writes {
            // The last carry wins, overflows are gathered; the stack and the flow of control are counted by themselves.
            let shared = matches!(write.register, Reg::CARRY | Reg::OVERFLOW | Reg::PC)
                || effects.stack.is_some() && write.register.is_stack();
            if shared {
                continue;
            }
            let when = match write.when {
                Condition::Always => mnemonic.condition,
                own => own,
            };
            counted.push(Key {
                register: named(write.register),
                counts: match when {
                    Condition::Always => Counts::Writes,
                    Condition::True => Counts::WritesIfTrue,
                    Condition::False => Counts::WritesIfFalse,
                },
            });
        }
        Asked {
            unit: placed.then(|| instruction.unit()),
            words: instruction.words().most.min(u32::from(u8::MAX)) as u8,
            high,
            condition: mnemonic.condition,
            marks,
            flows: effects.flow.is_some(),
            stack: effects.stack.map(|stack| (stack.pushes, stack.half)),
            counted,
        }
    }

    /// Writes of these registers stand beside any others in a set: each is to a register of its own. Reads stay those of one.
    pub(super) fn write_apart(&mut self, renamed: &dyn Fn(u32) -> bool) {
        self.counted
            .retain(|key| key.counts == Counts::Uses || !renamed(key.register));
    }
}

/// The registers that a demand counts.
const COUNTED: usize = 32;

/// The uses of one register in a set that its rules count.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    register: u32,
    /// The number of uses of each kind, in the order of `Counts`.
    counts: [u16; 4],
}

/// The sum of what some instructions ask for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    instructions: u16,
    data: u16,
    address: u16,
    mask: u16,
    flows: u16,
    words: u16,
    high: u16,
    marks: u16,
    /// Executed always, if T is set, if T is clear.
    conditions: [u16; 3],
    /// Pushes and pops of the even and the odd half, and of one that is not known.
    pushes: [u16; 3],
    pops: [u16; 3],
    /// The first `known` hold registers.
    counted: [Count; COUNTED],
    known: u8,
    /// Keys of registers beyond those.
    beyond: u16,
}

impl Load {
    #[must_use]
    pub fn of<'a>(asked: impl IntoIterator<Item = &'a Asked>) -> Load {
        let mut load = Load::default();
        for asked in asked {
            load.add(asked);
        }
        load
    }

    pub fn add(&mut self, asked: &Asked) {
        self.sum(asked, |sum, by| *sum += by);
        for key in &asked.counted {
            let known = usize::from(self.known);
            let register = |count: &Count| count.register == key.register;
            let at = match self.counted[..known].iter().position(register) {
                Some(at) => at,
                None if known == COUNTED => {
                    self.beyond += 1;
                    continue;
                }
                None => {
                    self.counted[known] = Count {
                        register: key.register,
                        counts: [0; 4],
                    };
                    self.known += 1;
                    known
                }
            };
            self.counted[at].counts[key.counts as usize] += 1;
        }
    }

    /// Takes out what was added.
    pub fn remove(&mut self, asked: &Asked) {
        self.sum(asked, |sum, by| *sum -= by);
        for key in &asked.counted {
            let known = usize::from(self.known);
            let counted = |count: &Count| {
                count.register == key.register && count.counts[key.counts as usize] > 0
            };
            let Some(at) = self.counted[..known].iter().position(counted) else {
                self.beyond -= 1;
                continue;
            };
            self.counted[at].counts[key.counts as usize] -= 1;
            if self.counted[at].counts == [0; 4] {
                self.counted[at] = self.counted[known - 1];
                self.known -= 1;
            }
        }
    }

    fn sum(&mut self, asked: &Asked, change: impl Fn(&mut u16, u16)) {
        match asked.unit {
            None => {}
            Some(unit) => {
                change(&mut self.instructions, 1);
                match unit {
                    Unit::Data => change(&mut self.data, 1),
                    _ => change(&mut self.address, 1),
                }
                change(&mut self.mask, u16::from(unit == Unit::Mask));
                change(&mut self.conditions[asked.condition as usize], 1);
            }
        }
        change(&mut self.flows, u16::from(asked.flows));
        change(&mut self.words, u16::from(asked.words));
        change(&mut self.high, u16::from(asked.high));
        change(&mut self.marks, u16::from(asked.marks));
        if let Some((pushes, half)) = asked.stack {
            let at = match half {
                Some(StackHalf::Even) => 0,
                Some(StackHalf::Odd) => 1,
                None => 2,
            };
            let counts = match pushes {
                true => &mut self.pushes,
                false => &mut self.pops,
            };
            change(&mut counts[at], 1);
        }
    }

    /// Words, with those of the prefix as far as they may be needed.
    #[must_use]
    pub fn words(&self) -> u32 {
        let [_, if_true, if_false] = self.conditions;
        let prefix = match () {
            () if self.high > 0 => 2,
            () if if_true + if_false + self.marks > 0 => 1,
            () => u16::from(self.instructions > 1),
        };
        u32::from(self.words + prefix)
    }

    /// Returns true if all issue in one set.
    #[must_use]
    pub fn fits(&self, capacity: &Capacity) -> bool {
        let below = |count: u16, limit: u32| u32::from(count) <= limit;
        let groups = self.conditions.iter().filter(|count| **count > 0).count();
        below(self.instructions, capacity.instructions)
            && below(self.data, capacity.data)
            && below(self.address, capacity.address)
            && below(self.mask, capacity.mask)
            && below(self.flows, 1)
            && self.words() <= capacity.words
            && groups <= 2
            && self.beyond == 0
            && self.stack_fits()
            && self.registers_fit(capacity)
    }

    /// Two pushes, or two pops, are one of each half; anything else that moves the stack pointer stands alone.
    fn stack_fits(&self) -> bool {
        let single = |counts: &[u16; 3]| counts[2] == 0 && counts[0] <= 1 && counts[1] <= 1;
        let of = |counts: &[u16; 3]| counts.iter().sum::<u16>();
        let (pushes, pops) = (of(&self.pushes), of(&self.pops));
        let moved_otherwise = self.writes_to(number(Reg::SP)) || self.writes_to(number(Reg::NSP));
        match (pushes, pops) {
            (0, 0) => true,
            (1, 0) | (0, 1) => !moved_otherwise,
            (_, 0) => single(&self.pushes) && !moved_otherwise,
            (0, _) => single(&self.pops) && !moved_otherwise,
            _ => false,
        }
    }

    fn counted(&self) -> &[Count] {
        &self.counted[..usize::from(self.known)]
    }

    fn writes_to(&self, register: u32) -> bool {
        let mut counted = self.counted().iter();
        counted.any(|count| count.register == register && count.counts[1..] != [0; 3])
    }

    fn registers_fit(&self, capacity: &Capacity) -> bool {
        let status = number(Reg::SR);
        let bits = || [Reg::TRUTH, Reg::SHORT_LOOP, Reg::INTERRUPTS].map(number);
        self.counted().iter().all(|count| {
            let [uses, writes, if_true, if_false] = count.counts.map(u32::from);
            uses <= capacity.uses
                && match (writes, if_true.max(if_false)) {
                    (0, 0) => true,
                    (0, 1) | (1, 0) => match count.register {
                        // The carry is not counted: a data instruction may write it.
                        it if it == status => {
                            self.data == 0 && !bits().iter().any(|bit| self.writes_to(*bit))
                        }
                        it => it != number(Reg::EMR) || self.data == 0,
                    },
                    _ => false,
                }
        })
    }
}

/// A resource that bounds how many sets some instructions take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resource {
    Instructions,
    Words,
    DataUnits,
    AddressUnits,
    MaskUnit,
    /// One change of flow a set.
    Flow,
    /// One test a set.
    Truth,
}

/// The demand of some instructions on a resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResourceBound {
    pub resource: Resource,
    /// Instructions, or words.
    pub wanted: u32,
    /// Those of one set.
    pub limit: u32,
}

impl ResourceBound {
    /// The least number of sets.
    #[must_use]
    pub const fn sets(&self) -> u32 {
        let limit = if self.limit == 0 { 1 } else { self.limit };
        self.wanted.div_ceil(limit)
    }
}

/// The demands of the operations of a block or a loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packing {
    pub capacity: Capacity,
    asked: Vec<Asked>,
    /// The first operation that asks for the same as each.
    kinds: Vec<usize>,
}

impl Packing {
    #[must_use]
    pub fn new(capacity: Capacity, asked: Vec<Asked>) -> Packing {
        let mut first: FxHashMap<&Asked, usize> = FxHashMap::default();
        let kinds = asked.iter().enumerate();
        let kinds = kinds
            .map(|(at, own)| *first.entry(own).or_insert(at))
            .collect();
        Packing {
            capacity,
            asked,
            kinds,
        }
    }
    #[must_use]
    pub fn asked(&self, operation: u32) -> &Asked {
        &self.asked[operation as usize]
    }

    /// The least number of sets that each resource asks for, whatever the order.
    #[must_use]
    pub fn bounds(&self) -> [(Resource, u32); 7] {
        let sets = |bound: ResourceBound| (bound.resource, bound.sets());
        self.demand().map(sets)
    }

    /// The sum that is asked of each resource. Words are those without prefixes.
    #[must_use]
    pub fn demand(&self) -> [ResourceBound; 7] {
        self.demand_of(&mut self.asked.iter())
    }

    fn demand_of<'a>(
        &'a self,
        operations: &mut dyn Iterator<Item = &'a Asked>,
    ) -> [ResourceBound; 7] {
        let [
            mut instructions,
            mut words,
            mut data,
            mut address,
            mut mask,
            mut flows,
            mut tests,
        ] = [0; 7];
        let truth = number(Reg::TRUTH);
        for asked in operations {
            words += u32::from(asked.words);
            instructions += u32::from(asked.unit.is_some());
            match asked.unit {
                Some(Unit::Data) => data += 1,
                Some(_) => address += 1,
                None => {}
            }
            mask += u32::from(asked.unit == Some(Unit::Mask));
            flows += u32::from(asked.flows);
            let mut keys = asked.counted.iter();
            let is_test = keys.any(|key| key.register == truth && key.counts == Counts::Writes);
            tests += u32::from(is_test);
        }
        let capacity = &self.capacity;
        let all = [
            (Resource::Instructions, instructions, capacity.instructions),
            (Resource::Words, words, capacity.words),
            (Resource::DataUnits, data, capacity.data),
            (Resource::AddressUnits, address, capacity.address),
            (Resource::MaskUnit, mask, capacity.mask),
            (Resource::Flow, flows, 1),
            (Resource::Truth, tests, 1),
        ];
        all.map(|(resource, wanted, limit)| ResourceBound {
            resource,
            wanted,
            limit,
        })
    }

    /// The order in which instructions of one set are written: a group under a condition in front of the other, and what
    /// needs no prefix only as the last one behind the rest. Members of one group keep their order otherwise, since the last
    /// carry wins.
    #[must_use]
    pub fn written(&self, members: &[u32]) -> Vec<u32> {
        let mut order = members.to_vec();
        order.sort_by_key(|&member| match self.asked(member).condition {
            Condition::True => 0,
            Condition::False => 1,
            Condition::Always => 2,
        });
        order
    }
}

impl Packer for Packing {
    type Demand = Load;

    fn add(&self, demand: &mut Load, operation: u32) {
        demand.add(&self.asked[operation as usize]);
    }
    fn remove(&self, demand: &mut Load, operation: u32) {
        demand.remove(&self.asked[operation as usize]);
    }
    fn kind(&self, operation: u32) -> usize {
        self.kinds[operation as usize]
    }
    fn kinds(&self) -> usize {
        self.asked.len()
    }
    fn fits(&self, demand: &Load) -> bool {
        demand.fits(&self.capacity)
    }
    fn least_cycles(&self, operations: &mut dyn Iterator<Item = u32>) -> u32 {
        let bounds = self.demand_of(&mut operations.map(|it| &self.asked[it as usize]));
        let sets = bounds.iter().map(ResourceBound::sets);
        sets.max().unwrap_or(0)
    }
    fn res_mii(&self) -> u32 {
        self.least_cycles(&mut (0..self.asked.len() as u32))
    }
    fn scarcity(&self) -> Vec<u32> {
        let share = |limit: u32| 1000 / limit.max(1);
        let capacity = &self.capacity;
        self.asked
            .iter()
            .map(|asked| {
                let unit = match asked.unit {
                    None => 0,
                    Some(Unit::Data) => share(capacity.data),
                    Some(Unit::Mask) => share(capacity.mask),
                    Some(_) => share(capacity.address),
                };
                unit.max(u32::from(asked.words) * share(capacity.words))
            })
            .collect()
    }
}
