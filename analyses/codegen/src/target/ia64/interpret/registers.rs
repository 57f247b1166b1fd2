//! The registers of an execution, those that rotate included, with memory and the rest of its state.
//!
//! A rotation gives a register the number that follows, and the last one that of the first: `r32` is `r33` behind it.

use super::decisions::Truth;
use super::memory::{Image, Spaces};
use super::value::{Style, Value, mix};
use crate::target::ia64::code::{Function, Name, Virtual};
use isa::ia64::{File, Reg};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The state of an execution.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) seed: u64,
    pub(crate) style: Style,
    /// Sums and products of floating-point numbers are those of integers, which no order changes.
    pub(crate) ring: bool,
    /// One in so many speculative loads fails, and one in so many advanced ones is forgotten; 0: none.
    pub(crate) failing: u64,
    pub(crate) truth: Truth,
    pub(crate) memory: Image,
    virtuals: Vec<Option<Value>>,
    fixed: FxHashMap<Reg, Value>,
    /// The number of rotations of each file so far.
    rotated: [u32; 3],
    /// General registers that rotate.
    general: u32,
    /// Advanced loads by register: memory, address, bytes.
    pub(super) advanced: FxHashMap<Entity, (u8, u64, u32)>,
    /// Indexed by virtual register: it is used as an address, and begins as a multiple of 8.
    addresses: Rc<Vec<bool>>,
    /// Numbers that were drawn.
    drawn: u64,
    pub(super) calls: u64,
}

/// A register of the machine, however it is called now, or a virtual one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Entity {
    Virtual(Virtual),
    Fixed(Reg),
}

const FILES: [(File, u32, u32); 3] = [
    (File::General, 32, 0),
    (File::Float, 32, 96),
    (File::Predicate, 16, 48),
];

impl State {
    pub(crate) fn new(seed: u64, style: Style, spaces: Rc<Spaces>) -> State {
        State {
            seed,
            style,
            ring: false,
            failing: 0,
            truth: Truth::Computed,
            memory: Image::new(seed, style, spaces),
            virtuals: Vec::new(),
            fixed: FxHashMap::default(),
            rotated: [0; 3],
            general: 0,
            advanced: FxHashMap::default(),
            addresses: Rc::default(),
            drawn: 0,
            calls: 0,
        }
    }

    /// Begins to execute another function, whose frame has other rotating registers.
    pub(crate) fn enter(&mut self, function: &Function) {
        self.general = function.frame.rotating.general;
    }

    /// The same with registers that begin as addresses.
    pub(crate) fn with_addresses(mut self, addresses: Rc<Vec<bool>>) -> State {
        self.addresses = addresses;
        self
    }

    /// A number that is another each time.
    pub(super) fn draw(&mut self) -> u64 {
        self.drawn += 1;
        mix(mix(self.seed, 77), self.drawn)
    }

    /// Returns true if something happens that happens one time of `failing`.
    pub(super) fn fails(&mut self) -> bool {
        self.failing != 0 && self.draw().is_multiple_of(self.failing)
    }

    /// The register of the machine that has this name now.
    fn physical(&self, register: Reg) -> Reg {
        let Some(at) = FILES.iter().position(|it| it.0 == register.file) else {
            return register;
        };
        let (file, first, size) = FILES[at];
        let size = if file == File::General {
            self.general
        } else {
            size
        };
        let number = u32::from(register.number);
        if number < first || number >= first + size {
            return register;
        }
        let number = first + (number - first + size - self.rotated[at] % size) % size;
        Reg {
            file,
            number: number as u8,
        }
    }

    pub(crate) fn entity(&self, function: &Function, name: Name) -> Entity {
        match name {
            Name::Virtual(register) => match function.place(register) {
                Some(place) => Entity::Fixed(self.physical(place)),
                None => Entity::Virtual(register),
            },
            Name::Fixed(register) => Entity::Fixed(self.physical(register)),
        }
    }

    pub(crate) fn get(&self, function: &Function, name: Name) -> Value {
        match self.entity(function, name) {
            Entity::Virtual(register) => self.virtual_register(function, register),
            Entity::Fixed(register) => self.machine_register(register),
        }
    }

    /// The value of a virtual register that has no place: its own number, if nothing wrote it.
    pub(crate) fn virtual_register(&self, function: &Function, register: Virtual) -> Value {
        if let Some(Some(value)) = self.virtuals.get(register.0 as usize) {
            return *value;
        }
        let random = mix(self.seed, 1000 + u64::from(register.0));
        match self.addresses.get(register.0 as usize) {
            Some(true) => Value::of(self.style.address(random)),
            _ => self.initial(function.file(register), random),
        }
    }

    fn machine_register(&self, register: Reg) -> Value {
        if let Some(value) = self.fixed.get(&register) {
            return *value;
        }
        match (register.file, register.number) {
            (File::General, 0) | (File::Float, 0) => Value::literal(0),
            (File::Float | File::Predicate, 1 | 0) if register.is_constant() => Value::literal(1),
            (file, number) => {
                let own = (file as u64) << 8 | u64::from(number);
                self.initial(file, mix(self.seed, own))
            }
        }
    }

    fn initial(&self, file: File, random: u64) -> Value {
        Value::of(match file {
            File::Predicate => random & 1,
            File::Float => random,
            _ => self.style.number(random),
        })
    }

    pub(crate) fn set(&mut self, function: &Function, name: Name, value: Value) {
        match self.entity(function, name) {
            Entity::Virtual(register) => {
                let at = register.0 as usize;
                if self.virtuals.len() <= at {
                    self.virtuals
                        .resize(function.registers.len().max(at + 1), None);
                }
                self.virtuals[at] = Some(value);
            }
            Entity::Fixed(register) => {
                if !register.is_constant() {
                    self.fixed.insert(register, value);
                }
            }
        }
    }

    pub(super) fn number(&self, register: Reg) -> u64 {
        self.machine_register(register).bits
    }
    pub(super) fn set_number(&mut self, register: Reg, bits: u64) {
        self.fixed.insert(register, Value::of(bits));
    }

    pub(super) fn is_true(&self, function: &Function, name: Name) -> bool {
        self.get(function, name).bits & 1 != 0
    }

    pub(super) fn rotate(&mut self) {
        for each in &mut self.rotated {
            *each += 1;
        }
    }
    /// Resets the renaming of registers.
    pub(super) fn unrotate(&mut self, all: bool) {
        match all {
            true => self.rotated = [0; 3],
            false => self.rotated[2] = 0,
        }
    }
    /// Predicates from `p16` on, as they are called without a rotation.
    pub(super) fn set_predicates(&mut self, bits: u64) {
        for number in 16..64 {
            self.set_number(Reg::predicate(number), bits >> number & 1);
        }
    }
    /// Gives registers that a call may change other values.
    pub(super) fn called(&mut self) {
        self.calls += 1;
        let results = (8..12).map(Reg::general).chain((8..16).map(Reg::float));
        for register in results {
            let random = mix(mix(self.seed, self.calls), u64::from(register.number));
            let value = self.initial(register.file, random);
            self.fixed.insert(register, value);
        }
        self.advanced.clear();
    }
}
