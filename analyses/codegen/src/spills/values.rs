//! The values that registers and homes hold, as numbers: what holds the same number holds the same value.
//!
//! ```text
//! home 0 <- d1; d2 <- home 0; r1 = 3; r2 = 3; d4 = add d1, d3        {home 0, d1, d2}, {r1, r2} = 3, {d4} = add {d1}, {d3}
//! ```
//!
//! The lattice of constants, copies and expressions of one instruction of the source, solved together. A set of equal registers
//! is a number here, and an expression has numbers for its operands, so that a location that is overwritten destroys no
//! fact but those about itself. Numbers are made from what computes them; where paths meet, locations that hold
//! the same on each path share a number, and an expression is kept whose operands are kept.
//!
//! Source: Palanciuc, Badea, Ilas, Flamand, *A Spill Code Minimization Technique* (EPIC-1, 2001), section 2, with the order of
//! evaluation and deletion repaired; Alpern, Wegman, Zadeck, *Detecting Equality of Variables in Programs* (POPL 1988).

use super::code::Location;
use isa::InstructionSet;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The number of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(super) struct Number(u32);

/// The meaning of a value number.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Origin {
    Constant(i64),
    /// The result of an operation of this shape with these operands; what it accumulates into is the last.
    Expression(u32, SmallVec<[Number; 3]>),
    /// The unknown value that a step leaves in a location: a block, a step in it.
    Step(u32, u32, Location),
    /// The content of a location where a block begins.
    Entry(u32, Location),
}

/// An operation without its registers: the number of a register operand stands for it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Shape<T: InstructionSet> {
    pub(super) mnemonic: T::Mnemonic,
    /// Its result may be more than a slot holds, of another one what a slot holds counts.
    pub(super) wide: bool,
    /// Of the target, and of each operand.
    pub(super) class: T::Class,
    pub(super) classes: SmallVec<[T::Class; 3]>,
    pub(super) sources: Vec<crate::mir::Operand<T>>,
}

/// The numbers of a function, each made once.
pub(super) struct Numbers<T: InstructionSet> {
    origins: Vec<Origin>,
    known: FxHashMap<Origin, Number>,
    shapes: Vec<Shape<T>>,
    shape_numbers: FxHashMap<Shape<T>, u32>,
}

impl<T: InstructionSet> Default for Numbers<T> {
    fn default() -> Self {
        Numbers {
            origins: Vec::new(),
            known: FxHashMap::default(),
            shapes: Vec::new(),
            shape_numbers: FxHashMap::default(),
        }
    }
}

impl<T: InstructionSet> Numbers<T> {
    pub(super) fn of(&mut self, origin: Origin) -> Number {
        if let Some(&number) = self.known.get(&origin) {
            return number;
        }
        let number = Number(self.origins.len() as u32);
        self.origins.push(origin.clone());
        self.known.insert(origin, number);
        number
    }
    pub(super) fn shape_number(&mut self, shape: Shape<T>) -> u32 {
        if let Some(&number) = self.shape_numbers.get(&shape) {
            return number;
        }
        let number = self.shapes.len() as u32;
        self.shapes.push(shape.clone());
        self.shape_numbers.insert(shape, number);
        number
    }
    pub(super) fn origin(&self, number: Number) -> &Origin {
        &self.origins[number.0 as usize]
    }
    pub(super) fn shape(&self, number: u32) -> &Shape<T> {
        &self.shapes[number as usize]
    }
    pub(super) fn constant(&self, number: Number) -> Option<i64> {
        match self.origin(number) {
            Origin::Constant(constant) => Some(*constant),
            _ => None,
        }
    }
}

/// The number of every location at a point.
pub(super) type State = Vec<Number>;

/// The most merged expressions that are looked into for each other: a chain of them in one block.
const DEPTH: usize = 4;

/// The state where a block begins, from those that its visited predecessors leave. Locations in `apart` hold what no other does.
pub(super) fn meet<T: InstructionSet>(
    numbers: &mut Numbers<T>,
    block: u32,
    states: &[&State],
    apart: &ir::EntitySet<Location>,
) -> State {
    let Some(&first) = states.first() else {
        return State::new();
    };
    let count = first.len();
    let mut out: State = Vec::with_capacity(count);
    // Tuples of numbers that differ, and the number that stands for each.
    let mut merged: FxHashMap<SmallVec<[Number; 4]>, Number> = FxHashMap::default();
    let mut order: Vec<SmallVec<[Number; 4]>> = Vec::new();
    for at in 0..count {
        let location = Location(at as u32);
        if apart.contains(&location) {
            out.push(numbers.of(Origin::Entry(block, location)));
            continue;
        }
        let own = first[at];
        if states.iter().all(|state| state[at] == own) {
            out.push(own);
            continue;
        }
        let tuple: SmallVec<[Number; 4]> = states.iter().map(|state| state[at]).collect();
        let number = match merged.get(&tuple) {
            Some(&known) => known,
            None => {
                let made = numbers.of(Origin::Entry(block, location));
                order.push(tuple.clone());
                merged.insert(tuple, made);
                made
            }
        };
        out.push(number);
    }
    // The same expression of what has met is that expression again.
    for _ in 0..DEPTH {
        let mut renamed: FxHashMap<Number, Number> = FxHashMap::default();
        for tuple in &order {
            let now = merged[tuple];
            if let Some(expression) = common(numbers, tuple, &merged)
                && expression != now
            {
                renamed.insert(now, expression);
            }
        }
        if renamed.is_empty() {
            break;
        }
        for number in out.iter_mut().chain(merged.values_mut()) {
            if let Some(&now) = renamed.get(number) {
                *number = now;
            }
        }
    }
    out
}

/// The expression that all numbers of a tuple are, of operands that met, too.
fn common<T: InstructionSet>(
    numbers: &mut Numbers<T>,
    tuple: &[Number],
    merged: &FxHashMap<SmallVec<[Number; 4]>, Number>,
) -> Option<Number> {
    let mut shape = None;
    let mut rows: SmallVec<[SmallVec<[Number; 3]>; 4]> = SmallVec::new();
    for &number in tuple {
        let Origin::Expression(own, operands) = numbers.origin(number) else {
            return None;
        };
        if shape.is_some_and(|shape| shape != *own) {
            return None;
        }
        shape = Some(*own);
        rows.push(operands.clone());
    }
    let count = rows.first()?.len();
    let mut operands: SmallVec<[Number; 3]> = SmallVec::new();
    for at in 0..count {
        let each: SmallVec<[Number; 4]> = rows.iter().map(|row| row[at]).collect();
        operands.push(match each.iter().all(|number| *number == each[0]) {
            true => each[0],
            false => *merged.get(&each)?,
        });
    }
    Some(numbers.of(Origin::Expression(shape?, operands)))
}
