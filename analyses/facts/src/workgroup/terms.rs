//! The value that a thread holds: a number beside a sum of terms without one. Terms are numbered by what they
//! are computed from, so that equal sums are equal numbers.

use ir::{
    BinaryOp, Convert, FloatCondition, IntCondition, Special, Symbol, TernaryOp, Type, UnaryOp,
    Value,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use smol_str::SmolStr;
use std::rc::Rc;

/// The most sums that are distinguished.
const SUMS: usize = 1 << 17;

/// A sum of terms, by number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(super) struct Sum(u32);

impl Sum {
    pub(super) const EMPTY: Sum = Sum(0);
    const UNKNOWN: Sum = Sum(u32::MAX);
}

/// A number beside a sum.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Known {
    pub(super) sum: Sum,
    pub(super) at: i64,
}

impl Known {
    pub(super) const NOTHING: Known = Known {
        sum: Sum::UNKNOWN,
        at: 0,
    };
    pub(super) const fn number(at: i64) -> Known {
        Known {
            sum: Sum::EMPTY,
            at,
        }
    }
    pub(super) fn is_known(self) -> bool {
        self.sum != Sum::UNKNOWN
    }
    pub(super) fn as_number(self) -> Option<i64> {
        (self.sum == Sum::EMPTY).then_some(self.at)
    }
}

/// The values of all threads.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Row {
    Same(Known),
    Each(Rc<[Known]>),
}

impl Row {
    pub(super) const NOTHING: Row = Row::Same(Known::NOTHING);
    pub(super) fn at(&self, thread: usize) -> Known {
        match self {
            Row::Same(known) => *known,
            Row::Each(each) => each[thread],
        }
    }
    pub(super) fn of(count: usize, mut each: impl FnMut(usize) -> Known) -> Row {
        let each: Rc<[Known]> = (0..count).map(&mut each).collect();
        match each.split_first() {
            Some((first, rest)) if rest.iter().all(|other| other == first) => Row::Same(*first),
            _ => Row::Each(each),
        }
    }
}

/// The operation of a term.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Operation {
    Unary(UnaryOp, Type),
    Binary(BinaryOp, Type),
    Ternary(TernaryOp, Type),
    Convert(Convert, Type, Type),
    Float(FloatCondition),
    Equal,
    /// Below zero; true: as a difference of natural numbers.
    Negative(bool),
    Select,
    Fma,
}

/// A value without a number.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Atom {
    Value(Value),
    Special(Special),
    Parameter(SmolStr),
    Symbol(Symbol),
    Result(Operation, SmallVec<[Known; 4]>),
    /// A comparison that all threads may answer alike.
    Shared(Operation, Row),
    /// The value in memory at an address: result number, and the execution of the load unless the place is
    /// never written.
    Loaded(Known, u16, Option<u32>),
    /// A value that is the same for all threads in one execution.
    Fresh(u32),
}

type Parts = Rc<[(u32, i64)]>;

/// The numbering.
pub(super) struct Terms {
    atoms: FxHashMap<Atom, u32>,
    /// True for each atom that depends on values that a thread loads.
    is_data: Vec<bool>,
    symbols: Vec<Option<Symbol>>,
    specials: FxHashMap<u32, Special>,
    /// Comparisons: the operation, and the value of each thread that is compared with zero.
    comparisons: FxHashMap<u32, (Operation, Row)>,
    numbers: FxHashMap<Parts, u32>,
    sums: Vec<Parts>,
}

impl Terms {
    pub(super) fn new() -> Terms {
        let none: Parts = Rc::from([]);
        Terms {
            atoms: FxHashMap::default(),
            is_data: Vec::new(),
            symbols: Vec::new(),
            specials: FxHashMap::default(),
            comparisons: FxHashMap::default(),
            numbers: FxHashMap::from_iter([(none.clone(), 0)]),
            sums: vec![none],
        }
    }

    pub(super) fn atom(&mut self, atom: Atom) -> Known {
        let next = self.atoms.len() as u32;
        let number = match self.atoms.get(&atom) {
            Some(&number) => number,
            None => {
                if self.atoms.len() >= SUMS {
                    return Known::NOTHING;
                }
                let data = match &atom {
                    Atom::Loaded(..) => true,
                    Atom::Result(_, operands) => operands.iter().any(|&known| self.is_data(known)),
                    _ => false,
                };
                self.is_data.push(data);
                match &atom {
                    Atom::Result(
                        operation @ (Operation::Equal | Operation::Negative(_)),
                        operands,
                    ) => {
                        let row = Row::Same(operands[0]);
                        self.comparisons.insert(next, (*operation, row));
                    }
                    Atom::Shared(operation, row) => {
                        self.comparisons.insert(next, (*operation, row.clone()));
                    }
                    _ => {}
                }
                if let Atom::Special(special) = atom {
                    self.specials.insert(next, special);
                }
                self.symbols.push(match atom {
                    Atom::Symbol(symbol) => Some(symbol),
                    _ => None,
                });
                self.atoms.insert(atom, next);
                next
            }
        };
        self.sum(&[(number, 1)], 0)
    }

    fn sum(&mut self, parts: &[(u32, i64)], at: i64) -> Known {
        if let Some(&number) = self.numbers.get(parts) {
            return Known {
                sum: Sum(number),
                at,
            };
        }
        if self.sums.len() >= SUMS {
            return Known::NOTHING;
        }
        let number = self.sums.len() as u32;
        let parts: Parts = Rc::from(parts);
        self.sums.push(parts.clone());
        self.numbers.insert(parts, number);
        Known {
            sum: Sum(number),
            at,
        }
    }

    fn parts(&self, known: Known) -> &[(u32, i64)] {
        match known.sum {
            Sum::UNKNOWN => &[],
            Sum(number) => &self.sums[number as usize],
        }
    }

    /// `a + factor*b`.
    pub(super) fn plus(&mut self, a: Known, factor: i64, b: Known) -> Known {
        if !a.is_known() || !b.is_known() {
            return Known::NOTHING;
        }
        let at = a.at.wrapping_add(b.at.wrapping_mul(factor));
        if b.sum == Sum::EMPTY || factor == 0 {
            return Known { sum: a.sum, at };
        }
        if a.sum == Sum::EMPTY && factor == 1 {
            return Known { sum: b.sum, at };
        }
        let mut parts: SmallVec<[(u32, i64); 8]> = SmallVec::from_slice(self.parts(a));
        ir::linear::add(&mut parts, self.parts(b), factor);
        self.sum(&parts, at)
    }

    pub(super) fn times(&mut self, a: Known, factor: i64) -> Known {
        self.plus(Known::number(0), factor, a)
    }

    /// The sum's coefficients are all multiples of `unit`: the sum divided by it.
    pub(super) fn divided(&mut self, a: Known, unit: i64) -> Option<Known> {
        if !a.is_known() || unit <= 0 {
            return None;
        }
        let parts: SmallVec<[(u32, i64); 8]> = SmallVec::from_slice(self.parts(a));
        let all = parts.iter().all(|(_, c)| c % unit == 0);
        let parts: SmallVec<[(u32, i64); 8]> =
            parts.iter().map(|&(atom, c)| (atom, c / unit)).collect();
        all.then(|| self.sum(&parts, a.at.div_euclid(unit)))
    }

    /// Returns whether it depends on values that a thread loads.
    pub(super) fn is_data(&self, known: Known) -> bool {
        let parts = self.parts(known);
        parts.iter().any(|&(atom, _)| self.is_data[atom as usize])
    }

    /// The symbol that an address counts from.
    pub(super) fn symbol(&self, known: Known) -> Option<Symbol> {
        let mut parts = self.parts(known).iter();
        parts.find_map(|&(atom, coefficient)| {
            self.symbols[atom as usize].filter(|_| coefficient == 1)
        })
    }

    /// A sum of numbers of the launch, none of them taken away, or of any numbers where `all` of them are natural.
    pub(super) fn is_natural(&self, sum: Sum, all: bool) -> bool {
        let mut parts = match sum {
            Sum::UNKNOWN => return false,
            Sum(number) => self.sums[number as usize].iter(),
        };
        parts.all(|(atom, factor)| *factor > 0 && (all || self.specials.contains_key(atom)))
    }
    /// The builtin value that a sum consists of.
    pub(super) fn special(&self, sum: Sum) -> Option<Special> {
        match self.parts(Known { sum, at: 0 }) {
            &[(atom, 1)] => self.specials.get(&atom).copied(),
            _ => None,
        }
    }

    /// Returns whether that symbol alone is in the sum.
    pub(super) fn is_symbol_alone(&self, known: Known) -> bool {
        self.parts(known).len() == 1
    }

    /// A truth value as a condition without a number, and the answer that it must have for the value to hold.
    pub(super) fn condition(&self, known: Known) -> Option<(u32, bool)> {
        match (self.parts(known), known.at) {
            (&[(atom, 1)], 0) => Some((atom, true)),
            (&[(atom, -1)], 1) => Some((atom, false)),
            _ => None,
        }
    }

    /// Returns the sum that a condition compares with zero.
    pub(super) fn comparison(&self, condition: u32) -> Option<(Operation, Row)> {
        self.comparisons.get(&condition).cloned()
    }

    /// Returns, of two sums equal up to their sign, the one that begins with a positive coefficient; true: it
    /// is the other one.
    pub(super) fn positive(&mut self, known: Known) -> (Known, bool) {
        match self.parts(known).first() {
            Some(&(_, coefficient)) if coefficient < 0 => (self.times(known, -1), true),
            _ => (known, false),
        }
    }
}

/// Returns the relation of two threads' values.
pub(super) fn equal(a: Known, b: Known) -> Option<bool> {
    match (a.is_known() && b.is_known(), a.sum == b.sum) {
        (true, true) => Some(a.at == b.at),
        _ => None,
    }
}

/// A comparison as `difference < 0` or `difference == 0`: operands in order, the number added, the answer's
/// sense.
pub(super) enum Comparison {
    Equal {
        holds: bool,
    },
    Less {
        swapped: bool,
        natural: bool,
        or_equal: bool,
    },
}

pub(super) const fn comparison(condition: IntCondition) -> Comparison {
    use IntCondition::*;
    let (swapped, natural, or_equal) = match condition {
        Equal => return Comparison::Equal { holds: true },
        NotEqual => return Comparison::Equal { holds: false },
        LessSigned => (false, false, false),
        LessEqualSigned => (false, false, true),
        GreaterSigned => (true, false, false),
        GreaterEqualSigned => (true, false, true),
        LessUnsigned => (false, true, false),
        LessEqualUnsigned => (false, true, true),
        GreaterUnsigned => (true, true, false),
        GreaterEqualUnsigned => (true, true, true),
    };
    Comparison::Less {
        swapped,
        natural,
        or_equal,
    }
}
