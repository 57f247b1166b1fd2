//! Variables of constant buffers, found by the loads that read them.
//!
//! ```text
//! n (in cbuffer C)      a load from `C` at a constant distance, bound to the variable `n`
//! ```
//! A member that the function does not read has no place here, and needs none.

use ir::entity::{Symbol, Value};
use ir::function::Function;
use ir::inst::Op;
use ir::types::Type;
use smol_str::SmolStr;

/// A variable in a constant buffer.
pub(super) struct Member {
    pub symbol: SmolStr,
    pub offset: usize,
    pub ty: Type,
}

/// The constant of this name, where the function reads it.
pub(super) fn member(function: &Function, name: &str) -> Option<Member> {
    function.bindings.iter().find_map(|binding| {
        if function.variables[binding.variable].name != name {
            return None;
        }
        let &value = binding.values.first()?;
        let load = function.defining(value)?;
        let Op::Load(_) = load.op else { return None };
        let (symbol, offset) = walk(function, *load.args.first()?)?;
        let number = load.results.iter().position(|&r| r == value)? as i64;
        // `.y` alone lies behind the beginning.
        let skipped = match binding.part.as_str() {
            "" | ".x" | ".r" => 0,
            ".y" | ".g" => 1,
            ".z" | ".b" => 2,
            ".w" | ".a" => 3,
            _ => return None,
        };
        let ty = function.ty(value);
        let offset = offset + (number - skipped) * i64::from(ty.bytes());
        Some(Member {
            symbol: function.symbols[symbol].name.clone(),
            offset: usize::try_from(offset).ok()?,
            ty,
        })
    })
}

/// The type of the elements that the function moves to and from a symbol.
pub(super) fn element(function: &Function, name: &str) -> Option<Type> {
    function.insts.values().find_map(|data| {
        let moved = match data.op {
            Op::Load(_) => *data.results.first()?,
            Op::Store(_) | Op::Atomic(..) => *data.args.get(1)?,
            _ => return None,
        };
        let symbol = base(function, *data.args.first()?)?;
        (function.symbols[symbol].name == name).then(|| function.ty(moved))
    })
}

/// The symbol that an address is computed from.
fn base(function: &Function, mut address: Value) -> Option<Symbol> {
    for _ in 0..64 {
        let data = function.defining(address)?;
        match &data.op {
            Op::SymbolAddress(symbol) => return Some(*symbol),
            Op::PtrAdd | Op::Convert(_) => address = *data.args.first()?,
            _ => return None,
        }
    }
    None
}

/// The symbol that an address starts at, and the constant distance from it.
fn walk(function: &Function, address: Value) -> Option<(Symbol, i64)> {
    let (mut at, mut distance) = (address, 0i64);
    for _ in 0..64 {
        let data = function.defining(at)?;
        match (&data.op, data.args.as_slice()) {
            (Op::SymbolAddress(symbol), _) => return Some((*symbol, distance)),
            (Op::PtrAdd, [from, by]) => {
                distance = distance.checked_add(function.int_constant(*by)?)?;
                at = *from;
            }
            (Op::Convert(_), [from]) => at = *from,
            _ => return None,
        }
    }
    None
}
