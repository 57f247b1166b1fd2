//! Integer polynomials modulo a power of two: the contents of an output register or slot, in terms of
//! original registers, the thread's place and addresses.
//!
//! ```text
//! mad.lo.s32 %r1, %r0, 4, %r2       4*%tid.x + v7 modulo 2^32, where %r0 holds %tid.x and %r2 the original v7
//! ```
//!
//! Only ring operations and widenings that provably do not wrap are modelled; everything else has no polynomial.

use super::text::Register;
use smol_str::SmolStr;

/// An indeterminate.
#[derive(Clone, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(super) enum Atom {
    /// The value that an original register has now.
    Value(Register),
    /// One where an original predicate holds, zero elsewhere.
    Flag(Register),
    /// `%tid.x` and others that stay during a launch.
    Special(SmolStr),
    /// The address of a variable.
    Address(SmolStr),
    /// The number of the warp in its workgroup.
    Warp,
    /// One in the lane of this number, zero elsewhere.
    InLane(u32),
    /// The result of an instruction that computes the same from the same whenever a lane executes it: its words, and its operands, of which
    /// none is a value of the original.
    Computed(SmolStr, Vec<Polynomial>),
}

/// `(factor, sorted indeterminates)`.
type Term = (u64, Vec<Atom>);

/// A sum of terms modulo `2^bits`, sorted, without zeros.
#[derive(Clone, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(super) struct Polynomial {
    pub(super) bits: u32,
    terms: Vec<(Vec<Atom>, u64)>,
}

/// The number of the lane in its warp.
pub(super) const LANE: &str = "%laneid";

/// Threads of a workgroup along x are fewer than this.
const THREADS: i128 = 1024;

impl Polynomial {
    pub(super) fn number(bits: u32, value: i64) -> Polynomial {
        Polynomial::sum(bits, vec![(value as u64, Vec::new())])
    }
    pub(super) fn atom(bits: u32, atom: Atom) -> Polynomial {
        Polynomial::sum(bits, vec![(1, vec![atom])])
    }
    /// `factor * %tid.x + constant`.
    #[cfg(test)]
    pub(super) fn affine(bits: u32, factor: i64, constant: i64) -> Polynomial {
        let thread = vec![Atom::Special("%tid.x".into())];
        Polynomial::sum(
            bits,
            vec![(factor as u64, thread), (constant as u64, Vec::new())],
        )
    }
    fn sum(bits: u32, mut all: Vec<Term>) -> Polynomial {
        let mask = if bits >= 64 {
            u64::MAX
        } else {
            (1 << bits) - 1
        };
        all.sort_by(|a, b| a.1.cmp(&b.1));
        let mut terms: Vec<(Vec<Atom>, u64)> = Vec::new();
        for (factor, atoms) in all {
            match terms.last_mut() {
                Some((known, sum)) if *known == atoms => *sum = sum.wrapping_add(factor),
                _ => terms.push((atoms, factor)),
            }
        }
        for term in &mut terms {
            term.1 &= mask;
        }
        terms.retain(|term| term.1 != 0);
        Polynomial { bits, terms }
    }
    fn list(&self) -> impl Iterator<Item = Term> + '_ {
        self.terms
            .iter()
            .map(|(atoms, factor)| (*factor, atoms.clone()))
    }
    pub(super) fn plus(&self, other: &Polynomial) -> Option<Polynomial> {
        let same = self.bits == other.bits;
        same.then(|| Polynomial::sum(self.bits, self.list().chain(other.list()).collect()))
    }
    pub(super) fn times(&self, other: &Polynomial) -> Option<Polynomial> {
        if self.bits != other.bits || self.terms.len() * other.terms.len() > 16 {
            return None;
        }
        let mut all = Vec::new();
        for (atoms, factor) in &self.terms {
            for (other_atoms, other_factor) in &other.terms {
                let mut both = [&atoms[..], &other_atoms[..]].concat();
                both.sort();
                all.push((factor.wrapping_mul(*other_factor), both));
            }
        }
        let short = all.iter().all(|(_, atoms)| atoms.len() <= 4);
        short.then(|| Polynomial::sum(self.bits, all))
    }
    pub(super) fn negated(&self) -> Polynomial {
        let minus = |(factor, atoms): Term| (factor.wrapping_neg(), atoms);
        Polynomial::sum(self.bits, self.list().map(minus).collect())
    }
    fn signed(&self, factor: u64) -> i128 {
        let shift = 64 - self.bits.min(64);
        i128::from(((factor << shift) as i64) >> shift)
    }
    /// The same value in more bits; `None` where it might wrap in fewer.
    pub(super) fn widened(&self, bits: u32, is_signed: bool) -> Option<Polynomial> {
        let (mut least, mut most) = (0i128, 0i128);
        let mut all = Vec::new();
        for (atoms, factor) in &self.terms {
            let factor = self.signed(*factor);
            let reach = match &atoms[..] {
                [] => factor,
                [Atom::Special(name)] if name == "%tid.x" => factor * (THREADS - 1),
                _ => return None,
            };
            if atoms.is_empty() {
                least += factor;
                most += factor;
            } else {
                least += reach.min(0);
                most += reach.max(0);
            }
            all.push((factor as u64, atoms.clone()));
        }
        let (low, high) = if is_signed {
            (-(1i128 << (self.bits - 1)), (1i128 << (self.bits - 1)) - 1)
        } else {
            (0, (1i128 << self.bits) - 1)
        };
        if let [(atoms, factor)] = &self.terms[..]
            && atoms.is_empty()
        {
            let value = if is_signed {
                self.signed(*factor) as i64
            } else {
                *factor as i64
            };
            return Some(Polynomial::number(bits, value));
        }
        (least >= low && most <= high).then(|| Polynomial::sum(bits, all))
    }
    pub(super) fn narrowed(&self, bits: u32) -> Polynomial {
        Polynomial::sum(bits, self.list().collect())
    }
    pub(super) fn as_number(&self) -> Option<i64> {
        match &self.terms[..] {
            [] => Some(0),
            [(atoms, factor)] if atoms.is_empty() => Some(self.signed(*factor) as i64),
            _ => None,
        }
    }
    pub(super) fn mentions(&self, register: Register) -> bool {
        let own = |atom: &Atom| matches!(atom, Atom::Value(known) | Atom::Flag(known) if *known == register);
        self.terms.iter().any(|(atoms, _)| atoms.iter().any(own))
    }
    /// All original registers of it are such ones.
    pub(super) fn all_values(&self, wanted: impl Fn(Register) -> bool) -> bool {
        let atoms = self.terms.iter().flat_map(|(atoms, _)| atoms);
        let mut registers = atoms.filter_map(|atom| match atom {
            Atom::Value(register) | Atom::Flag(register) => Some(*register),
            _ => None,
        });
        registers.all(wanted)
    }
    fn as_atom(&self) -> Option<&Atom> {
        match &self.terms[..] {
            [(atoms, 1)] => match &atoms[..] {
                [atom] => Some(atom),
                _ => None,
            },
            _ => None,
        }
    }
    /// Returns the original register whose value it is, if it is nothing else.
    pub(super) fn as_value(&self) -> Option<Register> {
        match self.as_atom() {
            Some(Atom::Value(register)) => Some(*register),
            _ => None,
        }
    }
    /// Returns the lane in which it is one, zero elsewhere.
    pub(super) fn as_lane(&self) -> Option<u32> {
        match self.as_atom() {
            Some(Atom::InLane(lane)) => Some(*lane),
            _ => None,
        }
    }
    /// Returns the original predicate for which it is one where that holds, and zero elsewhere.
    pub(super) fn as_flag(&self) -> Option<Register> {
        match self.as_atom() {
            Some(Atom::Flag(register)) => Some(*register),
            _ => None,
        }
    }
    /// Indeterminates, those of operands of instructions counted, too.
    pub(super) fn size(&self) -> usize {
        let atoms = self.terms.iter().flat_map(|(atoms, _)| atoms);
        let sizes = atoms.map(|atom| match atom {
            Atom::Computed(_, operands) => 1 + operands.iter().map(Polynomial::size).sum::<usize>(),
            _ => 1,
        });
        sizes.sum()
    }
    pub(super) fn is_pure(&self) -> bool {
        let own = |atom: &Atom| matches!(atom, Atom::Value(_) | Atom::Flag(_) | Atom::Warp);
        !self.terms.iter().any(|(atoms, _)| atoms.iter().any(own))
    }
    /// `((tid.z*ntid.y + tid.y)*ntid.x + tid.x)`, the place of a thread in its workgroup.
    pub(super) fn thread_in_group() -> Polynomial {
        let special = |name: &str| Atom::Special(name.into());
        let term = |names: &[&str]| {
            let mut atoms: Vec<Atom> = names.iter().map(|name| special(name)).collect();
            atoms.sort();
            (1, atoms)
        };
        Polynomial::sum(
            32,
            vec![
                term(&["%tid.z", "%ntid.y", "%ntid.x"]),
                term(&["%tid.y", "%ntid.x"]),
                term(&["%tid.x"]),
            ],
        )
    }
    /// The address of a variable, the distance of two warps and a constant: `address + distance*warp + constant`.
    pub(super) fn as_warp_place(&self) -> Option<(SmolStr, i64, i64)> {
        let (mut address, mut distance, mut constant) = (None, 0, 0);
        for (atoms, factor) in &self.terms {
            match (&atoms[..], factor) {
                ([], factor) => constant = self.signed(*factor) as i64,
                ([Atom::Address(name)], 1) => address = Some(name.clone()),
                ([Atom::Warp], factor) => distance = self.signed(*factor) as i64,
                _ => return None,
            }
        }
        Some((address?, distance, constant))
    }
    /// The same in all lanes of a warp, `None` as the factor of a register that differs in another manner.
    pub(super) fn is_uniform(&self, factor_of: &dyn Fn(Register) -> Option<i64>) -> bool {
        let mut per_thread = 0u64;
        for (atoms, factor) in &self.terms {
            let slope = |atom: &Atom| match atom {
                Atom::Value(register) => factor_of(*register),
                Atom::Flag(register) => factor_of(*register).filter(|factor| *factor == 0),
                Atom::Special(name) if name == "%tid.x" => Some(1),
                Atom::Special(name) if name.starts_with("%tid") || name == LANE => None,
                Atom::InLane(_) => None,
                Atom::Special(_) | Atom::Address(_) | Atom::Warp => Some(0),
                // Which it reads of its own.
                Atom::Computed(words, _)
                    if ["%tid", "%laneid"].iter().any(|own| words.contains(own)) =>
                {
                    None
                }
                Atom::Computed(_, operands) => {
                    let same = operands.iter().all(|operand| operand.is_uniform(factor_of));
                    same.then_some(0)
                }
            };
            let slopes: Option<Vec<i64>> = atoms.iter().map(slope).collect();
            match slopes.as_deref() {
                Some([slope]) => {
                    per_thread = per_thread.wrapping_add(factor.wrapping_mul(*slope as u64));
                }
                Some(slopes) if slopes.iter().all(|slope| *slope == 0) => {}
                _ => return false,
            }
        }
        per_thread << (64 - self.bits.min(64)) == 0
    }
}
