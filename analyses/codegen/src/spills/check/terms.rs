//! Symbolic values, each once: two locations whose values have one number hold the same on every path that leads here.

use crate::mir::{FrameOffset, Operand, Operation, Target};
use isa::InstructionSet;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use smol_str::SmolStr;

/// A symbolic value: an index into `Terms::terms`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(super) struct Value(u32);

/// One of the two functions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    Before,
    After,
}

/// A value. What names a block is what was there when control last came to it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Term {
    /// The content of a location when the function starts, the same in both functions.
    Initial(usize),
    /// The content of a location that nothing is known of, when the function starts or behind an effect.
    Unset {
        side: Side,
        effect: Option<(u32, u32)>,
        location: usize,
    },
    /// The value that arrives at a block in this location of both functions together, and in all others that hold the same.
    Phi {
        block: u32,
        location: usize,
    },
    /// The value that an effect leaves in one of its places, the same in both functions.
    Result {
        block: u32,
        effect: u32,
        place: usize,
    },
    Constant(i64),
    /// A guard as 1 or 0.
    Number(Value),
    /// The address of a place in the frame.
    Address(FrameOffset),
    /// `then` where the guard is `holds`, else `otherwise`.
    Select {
        guard: Value,
        holds: bool,
        then: Value,
        otherwise: Value,
    },
    /// One of the results of an operation without effects.
    Apply {
        shape: u32,
        result: usize,
        arguments: Arguments,
    },
}

pub(super) type Arguments = SmallVec<[Value; 4]>;

/// An operation without its registers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Shape<T: InstructionSet> {
    mnemonic: T::Mnemonic,
    predicated: bool,
    /// Its result has all that a register holds; of another one what a slot holds counts.
    wide: bool,
    targets: Vec<Part<T>>,
    sources: Vec<Part<T>>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Part<T: InstructionSet> {
    Register(T::Class),
    Address(T::Class),
    Number(i64),
    Symbol(SmolStr),
    Block(u32),
    Frame(FrameOffset),
}

/// All values of both functions.
#[derive(Debug)]
pub(super) struct Terms<T: Target> {
    terms: Vec<Term>,
    /// The blocks that each value names.
    blocks: Vec<SmallVec<[u64; 2]>>,
    numbers: FxHashMap<Term, Value>,
    shapes: FxHashMap<Shape<T>, u32>,
    /// Those of operations whose two operands commute.
    commuting: FxHashSet<u32>,
    /// Values of registers that hold more than a slot does.
    wide: FxHashSet<Value>,
    /// Values made of the addresses of spill slots.
    of_slots: FxHashSet<Value>,
}

impl<T: Target> Terms<T> {
    pub(super) fn new() -> Terms<T> {
        Terms {
            terms: Vec::new(),
            blocks: Vec::new(),
            numbers: FxHashMap::default(),
            shapes: FxHashMap::default(),
            commuting: FxHashSet::default(),
            wide: FxHashSet::default(),
            of_slots: FxHashSet::default(),
        }
    }

    pub(super) fn term(&self, value: Value) -> &Term {
        &self.terms[value.0 as usize]
    }

    /// The number of a value. A choice between equals is none.
    pub(super) fn value(&mut self, term: Term) -> Value {
        if let Term::Select {
            then, otherwise, ..
        } = &term
            && then == otherwise
        {
            return *then;
        }
        if let Some(&known) = self.numbers.get(&term) {
            return known;
        }
        let mut blocks = SmallVec::new();
        let mut name = |block: u32| {
            let word = block as usize / 64;
            if blocks.len() <= word {
                blocks.resize(word + 1, 0u64);
            }
            blocks[word] |= 1 << (block % 64);
        };
        match &term {
            Term::Phi { block, .. }
            | Term::Result { block, .. }
            | Term::Unset {
                effect: Some((block, _)),
                ..
            } => name(*block),
            _ => {}
        }
        for part in parts(&term) {
            let other = &self.blocks[part.0 as usize];
            if blocks.len() < other.len() {
                blocks.resize(other.len(), 0);
            }
            for (word, more) in blocks.iter_mut().zip(other) {
                *word |= more;
            }
        }
        let value = Value(self.terms.len() as u32);
        let of_slot = matches!(term, Term::Address(FrameOffset::Spill(_)))
            || parts(&term).iter().any(|part| self.of_slots.contains(part));
        if of_slot {
            self.of_slots.insert(value);
        }
        self.terms.push(term.clone());
        self.blocks.push(blocks);
        self.numbers.insert(term, value);
        value
    }

    /// Returns true if the value names a block: where control comes there anew, it is one of the last time.
    pub(super) fn names(&self, value: Value, block: u32) -> bool {
        let words = &self.blocks[value.0 as usize];
        let word = words.get(block as usize / 64).copied().unwrap_or(0);
        word >> (block % 64) & 1 != 0
    }

    /// The blocks that a value names.
    pub(super) fn named(&self, value: Value) -> impl Iterator<Item = u32> + '_ {
        let words = self.blocks[value.0 as usize].iter();
        words.zip(0..).flat_map(|(&word, at)| {
            let bits = (0..64).filter(move |bit| word >> bit & 1 != 0);
            bits.map(move |bit| at * 64 + bit)
        })
    }

    pub(super) fn constant(&self, value: Value) -> Option<i64> {
        match self.term(value) {
            Term::Constant(constant) => Some(*constant),
            _ => None,
        }
    }

    /// The value where a guard is known.
    pub(super) fn under(&self, mut value: Value, condition: Option<(Value, bool)>) -> Value {
        let Some((known, is)) = condition else {
            return value;
        };
        while let Term::Select {
            guard,
            holds,
            then,
            otherwise,
        } = *self.term(value)
            && guard == known
        {
            value = if holds == is { then } else { otherwise };
        }
        value
    }

    pub(super) fn shape(
        &mut self,
        operation: &Operation<T>,
        wide: bool,
        class: Class<'_, T>,
    ) -> u32 {
        let part = |operand: &Operand<T>| match operand {
            Operand::Register(name) => Part::Register(class(*name)),
            Operand::Address(name) => Part::Address(class(*name)),
            Operand::Number(number) => Part::Number(*number),
            Operand::Symbol(symbol) => Part::Symbol(symbol.clone()),
            Operand::Block(block) => Part::Block(*block),
            Operand::Frame(offset) => Part::Frame(*offset),
        };
        let shape = Shape {
            mnemonic: operation.mnemonic,
            predicated: operation.predicate.is_some(),
            wide,
            targets: operation.targets.iter().map(part).collect(),
            sources: operation.sources.iter().map(part).collect(),
        };
        let next = self.shapes.len() as u32;
        let shape = *self.shapes.entry(shape).or_insert(next);
        if T::commutes(operation) && operation.predicate.is_none() {
            self.commuting.insert(shape);
        }
        shape
    }

    /// The operands of a value that is the same with the one for the other.
    pub(super) fn commuting(&self, value: Value) -> Option<[Value; 2]> {
        match self.term(value) {
            Term::Apply {
                shape, arguments, ..
            } if self.commuting.contains(shape) => arguments[..].try_into().ok(),
            _ => None,
        }
    }

    pub(super) fn mark_wide(&mut self, value: Value) {
        if !matches!(self.term(value), Term::Constant(_)) {
            self.wide.insert(value);
        }
    }
    pub(super) fn is_wide(&self, value: Value) -> bool {
        self.wide.contains(&value)
    }
    pub(super) fn mark_of_slot(&mut self, value: Value) {
        self.of_slots.insert(value);
    }
    pub(super) fn is_of_slot(&self, value: Value) -> bool {
        self.of_slots.contains(&value)
    }
    pub(super) fn forget_widths(&mut self) {
        self.wide.clear();
    }
}

/// The class of the register that a name stands for.
pub(super) type Class<'a, T> = &'a dyn Fn(crate::mir::Name<T>) -> <T as InstructionSet>::Class;

/// The values that a value consists of.
pub(super) fn parts(term: &Term) -> Arguments {
    match term {
        Term::Number(guard) => SmallVec::from_slice(&[*guard]),
        Term::Select {
            guard,
            then,
            otherwise,
            ..
        } => SmallVec::from_slice(&[*guard, *then, *otherwise]),
        Term::Apply { arguments, .. } => arguments.clone(),
        _ => SmallVec::new(),
    }
}

/// The same kind of value of other parts.
pub(super) fn with_parts(term: &Term, parts: Arguments) -> Term {
    match (term, &parts[..]) {
        (Term::Number(_), [guard]) => Term::Number(*guard),
        (Term::Select { holds, .. }, [guard, then, otherwise]) => Term::Select {
            guard: *guard,
            holds: *holds,
            then: *then,
            otherwise: *otherwise,
        },
        (Term::Apply { shape, result, .. }, _) => Term::Apply {
            shape: *shape,
            result: *result,
            arguments: parts,
        },
        _ => term.clone(),
    }
}

/// Returns true if two values do the same to their parts.
pub(super) fn are_alike(left: &Term, right: &Term) -> bool {
    let count = parts(left).len();
    count > 0 && count == parts(right).len() && {
        let bare = |term: &Term| with_parts(term, SmallVec::from_elem(Value(0), count));
        bare(left) == bare(right)
    }
}
