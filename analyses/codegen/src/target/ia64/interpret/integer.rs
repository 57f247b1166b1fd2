//! Integer operations: those that counts and addresses are made of are computed, the others are functions of their operands.

use super::value::mix;
use isa::ia64::{Completer, Opcode};

fn sign_extended(value: u64, bits: u32) -> u64 {
    let unused = 64 - bits;
    ((value << unused) as i64 >> unused) as u64
}

fn mask(bits: u64) -> u64 {
    match bits {
        0..64 => (1 << bits) - 1,
        _ => u64::MAX,
    }
}

/// The result of an operation on general registers and numbers, in the order of the text; `None`: it is not computed.
pub(super) fn computed(opcode: Opcode, unsigned: bool, zero: bool, from: &[u64]) -> Option<u64> {
    use Opcode::{
        Add, Addl, Adds, And, Andcm, Dep, Extr, Mov, Movl, Or, Popcnt, Shl, Shladd, Shr, Shrp, Sub,
        Sxt1, Sxt2, Sxt4, Xor, Zxt1, Zxt2, Zxt4,
    };
    Some(match (opcode, from) {
        (Mov | Movl, &[found]) => found,
        (Add | Adds | Addl, parts) => parts.iter().fold(0, |sum, it| sum.wrapping_add(*it)),
        (Sub, &[left, right]) => left.wrapping_sub(right),
        (Sub, &[left, right, 1]) => left.wrapping_sub(right).wrapping_sub(1),
        (Shladd, &[found, count, other]) => (found << (count & 7)).wrapping_add(other),
        (And, &[left, right]) => left & right,
        (Andcm, &[left, right]) => left & !right,
        (Or, &[left, right]) => left | right,
        (Xor, &[left, right]) => left ^ right,
        (Sxt1, &[found]) => sign_extended(found, 8),
        (Sxt2, &[found]) => sign_extended(found, 16),
        (Sxt4, &[found]) => sign_extended(found, 32),
        (Zxt1, &[found]) => found & mask(8),
        (Zxt2, &[found]) => found & mask(16),
        (Zxt4, &[found]) => found & mask(32),
        (Shl, &[found, count]) => {
            if count < 64 {
                found << count
            } else {
                0
            }
        }
        (Shr, &[found, count]) if unsigned => {
            if count < 64 {
                found >> count
            } else {
                0
            }
        }
        (Shr, &[found, count]) => (found as i64 >> count.min(63)) as u64,
        (Shrp, &[high, low, count @ 0..64]) => {
            ((u128::from(high) << 64 | u128::from(low)) >> count) as u64
        }
        (Extr, &[found, at @ 0..64, bits @ 1..=64]) => {
            let bits = bits.min(64 - at);
            match unsigned {
                true => (found >> at) & mask(bits),
                false => sign_extended(found >> at, bits as u32),
            }
        }
        (Dep, &[found, at @ 0..64, bits @ 1..=64]) if zero => (found & mask(bits)) << at,
        (Dep, &[left, right, at @ 0..64, bits @ 1..=64]) => {
            let field = mask(bits) << at;
            right & !field | left << at & field
        }
        (Popcnt, &[found]) => u64::from(found.count_ones()),
        _ => return None,
    })
}

/// The product of significands and a sum: the upper half, or the lower one.
pub(super) fn multiplied(completer: Option<Completer>, left: u64, right: u64, more: u64) -> u64 {
    match completer {
        Some(Completer::H) => {
            let product = i128::from(left as i64) * i128::from(right as i64);
            (product.wrapping_add(i128::from(more)) >> 64) as u64
        }
        Some(Completer::Hu) => {
            let product = u128::from(left) * u128::from(right);
            (product.wrapping_add(u128::from(more)) >> 64) as u64
        }
        _ => left.wrapping_mul(right).wrapping_add(more),
    }
}

/// One number of all that an operation that is not computed may return.
pub(super) fn unknown(name: u64, from: &[u64]) -> u64 {
    from.iter().fold(mix(name, 3), |sum, it| mix(sum, *it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_products_are_those_of_the_manual() {
        let extr = |from: &[u64]| computed(Opcode::Extr, false, false, from);
        assert_eq!(extr(&[0xf0, 4, 4]), Some(u64::MAX));
        let dep = |zero, from: &[u64]| computed(Opcode::Dep, false, zero, from);
        assert_eq!(dep(false, &[5, 0xff, 4, 4]), Some(0x5f));
        assert_eq!(dep(true, &[0x1f, 4, 4]), Some(0xf0));
        assert_eq!(computed(Opcode::Shrp, false, false, &[1, 0, 60]), Some(16));
        let most = u64::MAX;
        assert_eq!(multiplied(Some(Completer::H), most, most, 0), 0);
        assert_eq!(multiplied(Some(Completer::Hu), most, most, 0), most - 1);
        assert_eq!(multiplied(Some(Completer::Lu), most, 3, 1), most - 1);
    }
}
