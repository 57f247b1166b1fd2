//! Comparisons, tests of bits, and the ways in which they write predicates.

use super::decisions::Truth;
use super::float::{self, is_unordered};
use super::registers::State;
use super::value::{Value, mix};
use crate::target::ia64::code::{Function, Operand, Operation};
use isa::ia64::{Completer, Opcode};

/// A comparison as a number, and whether its opposite is in question.
struct Asked {
    term: u64,
    not: bool,
    computed: bool,
    /// True if its operands alone decide it, whatever a script says.
    known: bool,
}

fn integers(completer: Completer, narrow: bool, left: u64, right: u64) -> Asked {
    use Completer::{Eq, Ge, Geu, Gt, Gtu, Le, Leu, Lt, Ne};
    let (first, other) = match narrow {
        true => (left << 32, right << 32),
        false => (left, right),
    };
    // All are an equality, or one operand less than the other.
    let (not, swapped) = match completer {
        Ne | Ge | Geu => (true, false),
        Gt | Gtu => (false, true),
        Le | Leu => (true, true),
        _ => (false, false),
    };
    let equality = matches!(completer, Eq | Ne);
    let signed = matches!(completer, Lt | Le | Gt | Ge);
    let (left, right) = if swapped || equality && first > other {
        (other, first)
    } else {
        (first, other)
    };
    let computed = match (equality, signed) {
        (true, _) => left == right,
        (false, true) => (left as i64) < right as i64,
        (false, false) => left < right,
    };
    let kind = u64::from(equality) * 2 + u64::from(signed);
    let unsigned_zero = !signed && !equality && right == 0;
    Asked {
        term: mix(mix(kind + 20, left), right),
        not,
        computed,
        known: left == right || unsigned_zero,
    }
}

fn floats(completer: Completer, left: u64, right: u64) -> Asked {
    use Completer::{Eq, Ge, Gt, Le, Lt, Neq, Nge, Ngt, Nle, Nlt, Ord, Unord};
    let not = matches!(completer, Neq | Nlt | Nle | Ngt | Nge | Ord);
    let swapped = matches!(completer, Gt | Ge | Ngt | Nge);
    let either = matches!(completer, Eq | Neq | Unord | Ord);
    let (first, other) = if swapped || either && left > right {
        (right, left)
    } else {
        (left, right)
    };
    let unordered = is_unordered(first) || is_unordered(other);
    let (kind, computed) = match completer {
        Eq | Neq => (0, !unordered && first == other),
        Lt | Nlt | Gt | Ngt => (1, float::is_less(first, other)),
        Le | Nle | Ge | Nge => (
            2,
            !unordered && (first == other || float::is_less(first, other)),
        ),
        _ => (3, unordered),
    };
    Asked {
        term: mix(mix(kind + 30, first), other),
        not,
        computed,
        known: false,
    }
}

impl Asked {
    /// Returns true if it is so, and its opposite is not in question.
    fn is_true(&self, state: &mut State, place: u64) -> bool {
        match &mut state.truth {
            Truth::Decided(decisions) if !self.known => decisions.is_true(self.term, place),
            _ => self.computed,
        }
    }
}

/// Returns true if the first of two floating-point numbers is less.
pub(super) fn is_less(state: &mut State, left: u64, right: u64) -> bool {
    floats(Completer::Lt, left, right).is_true(state, 0)
}

/// A number of the operation.
fn place(operation: &Operation) -> u64 {
    let targets = operation
        .targets
        .iter()
        .filter_map(Operand::virtual_register);
    targets.fold(0, |sum, it| mix(sum, u64::from(it.0)))
}

fn asked(operation: &Operation, from: &[Value]) -> Option<Asked> {
    let completer = operation.mnemonic.completers().next()?;
    let bits = |at: usize| from.get(at).map(|it| it.bits);
    let by_term = |kind: u64, it: u64, other: u64, computed: Option<bool>, not: bool| {
        let term = mix(mix(kind, it), other);
        Asked {
            term,
            not,
            computed: computed.unwrap_or(term & 1 != 0),
            known: false,
        }
    };
    Some(match operation.opcode() {
        Opcode::Cmp => integers(completer, false, bits(0)?, bits(1)?),
        Opcode::Cmp4 => integers(completer, true, bits(0)?, bits(1)?),
        Opcode::Fcmp => floats(completer, bits(0)?, bits(1)?),
        Opcode::Tbit => {
            let (word, bit) = (bits(0)?, bits(1)? & 63);
            let set = word >> bit & 1 != 0;
            by_term(40, word, bit, Some(set), completer == Completer::Z)
        }
        Opcode::Fclass => {
            let not = completer == Completer::Nm;
            by_term(41, bits(0)?, bits(1)?, None, not)
        }
        _ => return None,
    })
}

/// Executes a comparison. `None`: one that is not known.
pub(super) fn compare(
    function: &Function,
    state: &mut State,
    operation: &Operation,
    from: &[Value],
    executes: bool,
) -> Option<()> {
    use Completer::{And, Andcm, Or, Orcm, Unc};
    let has = |completer| operation.mnemonic.has(completer);
    let deferred = from.iter().any(|it| it.deferred);
    let truth = match operation.opcode() {
        Opcode::Tnat => deferred == has(Completer::Nz),
        _ => {
            let mut asked = asked(operation, from)?;
            asked.known |= from.iter().all(|it| it.literal);
            match executes && !deferred {
                true => asked.is_true(state, place(operation)) != asked.not,
                false => asked.computed != asked.not,
            }
        }
    };
    // What is compared with a failed load is neither so nor otherwise.
    let neither = deferred && operation.opcode() != Opcode::Tnat;
    let plain = !(has(And) || has(Or) || has(Andcm) || has(Orcm));
    let written: [Option<bool>; 2] = if !executes {
        [has(Unc).then_some(false); 2]
    } else if plain {
        [Some(truth && !neither), Some(!truth && !neither)]
    } else if neither {
        // Or-types and those of de Morgan leave them, and-types clear both.
        [(has(And) && !has(Orcm) || has(Andcm) && !has(Or)).then_some(false); 2]
    } else {
        match (has(And), has(Or), has(Andcm), has(Orcm)) {
            (_, true, true, _) if truth => [Some(true), Some(false)],
            (true, _, _, true) if !truth => [Some(false), Some(true)],
            (true, _, _, false) if !truth => [Some(false); 2],
            (_, true, false, _) if truth => [Some(true); 2],
            (false, false, true, _) if truth => [Some(false); 2],
            (false, _, _, true) if !truth => [Some(true); 2],
            _ => [None; 2],
        }
    };
    for (target, value) in operation.targets.iter().zip(written) {
        if let (Operand::Register(name), Some(value)) = (target, value) {
            state.set(function, *name, Value::of(u64::from(value)));
        }
    }
    Some(())
}
