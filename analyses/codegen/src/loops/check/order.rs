//! Integer inequalities that follow from the conditions of a path.
//!
//! ```text
//! n > 1, i < n - 1    ->    i + 1 < n       i + 1 does not wrap       i < 0 or not: not known
//! ```
//!
//! Nodes are terms read as signed or as unsigned numbers; an edge says that one is at least another and so much more. A sum
//! that wraps around is smaller than the sum of numbers, so one direction always holds, and the other where the bounds of the
//! operand exclude that it wraps. All pairs by Floyd and Warshall; rounds end when no inequality is new.
//!
//! Not done: products, differences of two terms, case distinctions.

use super::terms::{Form, Term, Terms};
use ir::inst::{BinaryOp, Convert, IntCondition};
use ir::numbers;
use ir::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};

/// Nodes of which more are not looked at.
const MOST: usize = 40;
const ROUNDS: u32 = 4;
/// No inequality is known.
const NONE: i128 = i128::MIN;
/// Contradictions would grow without end.
const LARGEST: i128 = 1 << 100;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Reading {
    Signed,
    Unsigned,
}

type Read = (Term, Reading);

/// A node, and by how much a number is more.
type Number = (usize, i128);

pub(super) struct Order<'t> {
    terms: &'t Terms,
    /// The nodes, behind that of the number zero.
    nodes: Vec<Read>,
    known: FxHashMap<Read, usize>,
    /// `least[a][b]`: b - a is at least that.
    least: Vec<Vec<i128>>,
}

const ZERO: usize = 0;

fn range(ty: Type, reading: Reading) -> (i128, i128) {
    let bits = ty.bits().min(64);
    match reading {
        Reading::Signed => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        Reading::Unsigned => (0, (1i128 << bits) - 1),
    }
}

const fn reading_of(condition: IntCondition) -> Reading {
    match condition {
        IntCondition::LessUnsigned => Reading::Unsigned,
        _ => Reading::Signed,
    }
}

impl<'t> Order<'t> {
    /// Returns the order that follows from conditions, terms that are not negative, sums that do not wrap;
    /// for questions about some terms, which are comparisons or signed numbers.
    pub(super) fn new(
        terms: &'t Terms,
        conditions: &FxHashMap<Term, bool>,
        natural: &[Term],
        sums: &FxHashSet<Term>,
        asked: &[Term],
    ) -> Self {
        let mut order = Order {
            terms,
            nodes: Vec::new(),
            known: FxHashMap::default(),
            least: vec![vec![0]],
        };
        let mut sorted: Vec<(Term, bool)> = conditions.iter().map(|(&c, &v)| (c, v)).collect();
        sorted.sort();
        let compared = sorted.iter().map(|it| &it.0);
        for &term in asked.iter().chain(compared) {
            let node = terms.node(term);
            match node.form {
                Form::IntCompare(condition) => {
                    order.number((node.args[0], reading_of(condition)));
                    order.number((node.args[1], reading_of(condition)));
                }
                _ => {
                    order.number((term, Reading::Signed));
                }
            }
        }
        for &term in natural {
            if let Some(&node) = order.known.get(&(term, Reading::Signed)) {
                order.edge((ZERO, 0), (node, 0), 0);
            }
        }
        for (condition, holds) in sorted {
            order.condition(condition, holds);
        }
        order.close();
        for _ in 0..ROUNDS {
            if !order.round(sums, conditions) {
                break;
            }
            order.close();
        }
        order
    }

    /// A term as a number, with its parts.
    fn number(&mut self, read: Read) -> Option<Number> {
        let (term, reading) = read;
        let node = self.terms.node(term);
        if !node.ty.is_int() {
            return None;
        }
        if let Some(bits) = self.terms.value(term) {
            let value = match reading {
                Reading::Signed => i128::from(bits as i64),
                Reading::Unsigned => i128::from(numbers::zero_extended(node.ty, bits)),
            };
            return Some((ZERO, value));
        }
        if let Some(&known) = self.known.get(&read) {
            return Some((known, 0));
        }
        if self.nodes.len() >= MOST {
            return None;
        }
        self.nodes.push(read);
        let number = self.nodes.len();
        self.known.insert(read, number);
        for row in &mut self.least {
            row.push(NONE);
        }
        let mut row = vec![NONE; number + 1];
        row[number] = 0;
        self.least.push(row);
        let (low, high) = range(node.ty, reading);
        self.edge((ZERO, 0), (number, 0), low);
        self.edge((number, 0), (ZERO, 0), -high);
        if let Some(inner) = self.inner(read) {
            self.number(inner);
        }
        // Widened by its sign it is the same number where that is not negative.
        if reading == Reading::Unsigned && node.form == Form::Convert(Convert::SignExtend) {
            self.number((term, Reading::Signed));
        }
        Some((number, 0))
    }

    /// Returns the parts of a term, as it is to be read.
    fn inner(&self, (term, reading): Read) -> Option<Read> {
        let node = self.terms.node(term);
        let reading = match node.form {
            Form::Binary(BinaryOp::Add) if self.terms.value(node.args[1]).is_some() => reading,
            Form::Convert(Convert::Truncate) => reading,
            Form::Convert(Convert::SignExtend) if reading == Reading::Signed => reading,
            Form::Convert(Convert::ZeroExtend) => Reading::Unsigned,
            _ => return None,
        };
        let inner = node.args[0];
        self.terms.ty(inner).is_int().then_some((inner, reading))
    }

    /// The second number is at least the first and so much more; whether that is new.
    fn edge(&mut self, from: Number, to: Number, least: i128) -> bool {
        let least = least + from.1 - to.1;
        let known = &mut self.least[from.0][to.0];
        if *known >= least {
            return false;
        }
        *known = least;
        true
    }

    /// The second number is the first and so much more.
    fn equal(&mut self, from: Number, to: Number, more: i128) -> bool {
        self.edge(from, to, more) | self.edge(to, from, -more)
    }

    fn condition(&mut self, condition: Term, holds: bool) {
        let node = self.terms.node(condition);
        let Form::IntCompare(how) = node.form else {
            return;
        };
        let reading = reading_of(how);
        let numbers = (
            self.number((node.args[0], reading)),
            self.number((node.args[1], reading)),
        );
        let (Some(a), Some(b)) = numbers else {
            return;
        };
        match (how, holds) {
            (IntCondition::Equal, true) => self.equal(a, b, 0),
            (IntCondition::Equal, false) => false,
            (_, true) => self.edge(a, b, 1),
            (_, false) => self.edge(b, a, 0),
        };
    }

    fn close(&mut self) {
        let count = self.least.len();
        for middle in 0..count {
            let behind = self.least[middle].clone();
            for row in &mut self.least {
                let first = row[middle];
                if first == NONE {
                    continue;
                }
                for (known, &second) in row.iter_mut().zip(&behind) {
                    if second != NONE {
                        *known = (*known).max((first + second).min(LARGEST));
                    }
                }
            }
        }
    }

    fn bounds(&self, node: usize) -> (i128, i128) {
        (self.least[ZERO][node], -self.least[node][ZERO])
    }

    /// Relates terms by the parts that they are made of, and returns whether anything is new.
    fn round(&mut self, sums: &FxHashSet<Term>, conditions: &FxHashMap<Term, bool>) -> bool {
        let mut new = false;
        for outer in 1..=self.nodes.len() {
            let (term, reading) = self.nodes[outer - 1];
            let node = self.terms.node(term);
            if let Some(&other) = self.known.get(&(term, Reading::Unsigned))
                && reading == Reading::Signed
            {
                let (low, _) = self.bounds(outer);
                let (_, high) = self.bounds(other);
                if low >= 0 || high <= range(node.ty, Reading::Signed).1 {
                    new |= self.equal((outer, 0), (other, 0), 0);
                }
            }
            let inner = self.inner((term, reading));
            let Some(&from) = inner.and_then(|inner| self.known.get(&inner)) else {
                continue;
            };
            let (low, high) = self.bounds(from);
            let (least, most) = range(node.ty, reading);
            let (outer, from) = ((outer, 0), (from, 0));
            match node.form {
                Form::Binary(_) => {
                    let more = self.terms.value(node.args[1]).unwrap_or_default();
                    let more = i128::from(more as i64);
                    let free = reading == Reading::Signed && sums.contains(&term);
                    if more >= 0 || free || low + more >= least {
                        new |= self.edge(outer, from, -more);
                    }
                    if more <= 0 || free || high + more <= most {
                        new |= self.edge(from, outer, more);
                    }
                }
                Form::Convert(Convert::Truncate) => {
                    if low >= least {
                        new |= self.edge(outer, from, 0);
                    }
                    if low >= least && high <= most {
                        new |= self.edge(from, outer, 0);
                    }
                }
                _ => new |= self.equal(outer, from, 0),
            }
        }
        for (&condition, &holds) in conditions {
            let node = self.terms.node(condition);
            if node.form != Form::IntCompare(IntCondition::Equal) || holds {
                continue;
            }
            let numbers = (
                self.number((node.args[0], Reading::Signed)),
                self.number((node.args[1], Reading::Signed)),
            );
            if let (Some(a), Some(b)) = numbers {
                for (a, b) in [(a, b), (b, a)] {
                    if self.difference(a, b) == 0 {
                        new |= self.edge(a, b, 1);
                    }
                }
            }
        }
        new
    }

    /// The second number is at least the first and so much more.
    fn difference(&self, from: Number, to: Number) -> i128 {
        match self.least[from.0][to.0] {
            NONE => NONE,
            least => least - from.1 + to.1,
        }
    }

    /// The conditions hold together nowhere.
    pub(super) fn is_contradictory(&self) -> bool {
        (0..self.least.len()).any(|node| self.least[node][node] > 0)
    }

    /// Returns the result of a comparison in question.
    pub(super) fn decides(&self, condition: Term) -> Option<bool> {
        let node = self.terms.node(condition);
        let Form::IntCompare(how) = node.form else {
            return None;
        };
        let number = |at: usize| {
            let (term, reading) = (node.args[at], reading_of(how));
            match self.terms.value(term) {
                Some(bits) if reading == Reading::Signed => Some((ZERO, i128::from(bits as i64))),
                Some(bits) => {
                    let bits = numbers::zero_extended(self.terms.ty(term), bits);
                    Some((ZERO, i128::from(bits)))
                }
                None => Some((*self.known.get(&(term, reading))?, 0)),
            }
        };
        let (a, b) = (number(0)?, number(1)?);
        let (up, down) = (self.difference(a, b), self.difference(b, a));
        match how {
            IntCondition::Equal if up >= 0 && down >= 0 => Some(true),
            IntCondition::Equal => (up >= 1 || down >= 1).then_some(false),
            _ if up >= 1 => Some(true),
            _ => (down >= 0).then_some(false),
        }
    }

    /// The term is a signed number that is not negative.
    pub(super) fn is_natural(&self, term: Term) -> bool {
        match (
            self.terms.value(term),
            self.known.get(&(term, Reading::Signed)),
        ) {
            (Some(bits), _) => bits as i64 >= 0,
            (None, Some(&node)) => self.bounds(node).0 >= 0,
            (None, None) => false,
        }
    }

    /// The sum of a term and a constant stays within its type.
    pub(super) fn stays(&self, term: Term) -> bool {
        let node = self.terms.node(term);
        let inner = self.inner((term, Reading::Signed));
        let (Form::Binary(_), Some(inner)) = (&node.form, inner) else {
            return false;
        };
        let (Some(more), Some(&inner)) = (self.terms.value(node.args[1]), self.known.get(&inner))
        else {
            return false;
        };
        let (low, high) = self.bounds(inner);
        let (least, most) = range(node.ty, Reading::Signed);
        let more = i128::from(more as i64);
        low + more >= least && high + more <= most
    }
}
