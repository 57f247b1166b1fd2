//! Initial values of static storage that are addresses: of strings, of variables and their parts, of functions.
//!
//! ```text
//! static const char *const names[] = { "ab", "c" };   16 zeros; at 0: names.string1, at 8: names.string2
//! int *p = &v[2];                                     8 zeros; at 0: v + 8
//! ```
//! The expression is lowered into a block that nothing reaches; the result is a symbol and a constant
//! distance from it, or no constant.

use super::context::*;
use super::types::*;
use crate::entity::{Symbol, Value};
use crate::function::{Address, Linkage, NumberRun, SymbolKind};
use crate::inst::*;
use crate::types::{Space, Type};
use smol_str::SmolStr;
use syntax::c_family::ast::{self, Expr, ExprKind};

/// Steps from an address back to the symbol that it starts at.
const MAX_STEPS: usize = 64;

/// The bytes of an object of static storage, and the addresses among them.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    pub(super) bytes: Vec<u8>,
    pub(super) addresses: Vec<Address>,
    /// Bytes of each number, where all have the same.
    pub(super) width: Option<u32>,
    /// Those of several widths.
    pub(super) numbers: Vec<NumberRun>,
}

impl Context<'_> {
    /// The symbol that an initial value is the address of, and how far behind it.
    pub(super) fn static_address(&mut self, ty: &CType, e: &Expr) -> Option<(SmolStr, i64)> {
        let wide = matches!(ty, CType::Int { bits: 64, .. });
        if !ty.is_pointer() && !wide {
            return None;
        }
        let current = self.builder.current();
        let aside = self.builder.create_block();
        self.builder.switch_to(aside);
        let problems = self.problems.len();
        let (demotions, again) = (self.demotions.clone(), self.again);
        let value = self.rvalue(e);
        let value = self.decay(value);
        let value = self.convert(value, ty, e.span);
        let value = self.with_address(value, e.span);
        let found = value
            .first()
            .and_then(|address| self.constant_address(address));
        self.problems.truncate(problems);
        (self.demotions, self.again) = (demotions, again);
        self.builder.switch_to(current);
        let (symbol, addend) = found?;
        let data = &self.builder.function.symbols[symbol];
        let placed = matches!(data.kind, SymbolKind::Memory | SymbolKind::Function);
        placed.then(|| (data.name.clone(), addend))
    }

    /// Returns how many elements behind one place of an object another one is, `(char *)&s.b - (char *)&s`.
    pub(super) fn address_difference(&mut self, e: &Expr) -> Option<i64> {
        match &e.kind {
            ExprKind::Paren(inner) => self.address_difference(inner),
            ExprKind::Binary {
                op: ast::BinaryOp::Sub,
                left,
                right,
                ..
            } => {
                let ty = self.type_of(left).value_type().clone();
                let (CType::Pointer { to: element, .. } | CType::Array { element, .. }) = &ty
                else {
                    return None;
                };
                let size = i64::try_from(self.structs.size_of(element)?).ok()?;
                let plain = CType::pointer(CType::Void, Space::Generic);
                let (symbol, to) = self.static_address(&plain, left)?;
                let (other, from) = self.static_address(&plain, right)?;
                (symbol == other).then(|| to.checked_sub(from)?.checked_div(size))?
            }
            _ => None,
        }
    }

    fn constant_address(&self, address: Value) -> Option<(Symbol, i64)> {
        let function = &self.builder.function;
        let (mut at, mut distance) = (address, 0i64);
        for _ in 0..MAX_STEPS {
            // A part of an address is none.
            if !matches!(function.ty(at), Type::Ptr(_) | Type::I64) {
                return None;
            }
            let data = function.defining(at)?;
            let (from, by) = match (&data.op, data.args.as_slice()) {
                (Op::SymbolAddress(symbol), _) => return Some((*symbol, distance)),
                (Op::PtrAdd | Op::Binary(BinaryOp::Add, _), [from, by]) => {
                    match function.int_constant(*by) {
                        Some(number) => (*from, number),
                        None => (*by, function.int_constant(*from)?),
                    }
                }
                (Op::Binary(BinaryOp::Sub, _), [from, by]) => {
                    (*from, function.int_constant(*by)?.checked_neg()?)
                }
                (Op::Convert(_), [from]) => (*from, 0),
                _ => return None,
            };
            distance = distance.checked_add(by)?;
            at = from;
        }
        None
    }

    /// Gives a symbol its contents; `None`: it has an initial value that is not known here.
    pub(super) fn set_contents(&mut self, symbol: Option<Symbol>, contents: Option<Contents>) {
        let Some(symbol) = symbol else { return };
        let data = &mut self.builder.function.symbols[symbol];
        match contents {
            Some(contents) => {
                // An object is as large as what its last member is initialised with.
                let bytes = contents.bytes.len() as u32;
                data.size = data.size.map(|size| size.max(bytes));
                data.initial = Some(contents.bytes);
                data.definition.addresses = contents.addresses;
                data.definition.width = contents.width;
                data.definition.numbers = contents.numbers;
            }
            None => data.definition.opaque = true,
        }
    }

    pub(super) fn set_linkage(&mut self, symbol: Option<Symbol>, linkage: Linkage) {
        if let Some(symbol) = symbol {
            self.builder.function.symbols[symbol].definition.linkage = linkage;
        }
    }

    /// The symbol that was made last.
    pub(super) fn newest_symbol(&self) -> Option<Symbol> {
        let last = self.builder.function.symbols.len().checked_sub(1)?;
        Some(Symbol(last as u32))
    }
}
