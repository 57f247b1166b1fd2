//! The bytes of objects of static storage, computed from their initialisers: they are there before the program runs.
//!
//! ```text
//! static const short t[4] = { 1, [3] = -1 };     01 00 00 00 00 00 ff ff
//! ```
//! What is an address is found in `static_addresses`.

use super::c_initializers::{Step, is_char, string_bytes};
use super::context::*;
use super::static_addresses::Contents;
use super::types::*;
use crate::function::{Address, NumberRun};
use smol_str::SmolStr;
use syntax::c_family::ast::{Expr, ExprKind, Initializer, TypeKind};

/// Bytes of an object whose contents are kept.
const MAX_BYTES: u64 = 1 << 24;
/// Parentheses and casts around a null.
const MAX_DEPTH: u32 = 32;

impl Context<'_> {
    /// Returns the contents of an object of static storage; `None`: not all of it is known here.
    pub(super) fn static_contents(
        &mut self,
        name: &SmolStr,
        ty: &CType,
        initializer: &Initializer,
    ) -> Option<Contents> {
        let outer = self.initialised.replace((name.clone(), 0));
        let contents = self.contents_of(ty, initializer);
        self.initialised = outer;
        contents
    }

    fn contents_of(&mut self, ty: &CType, initializer: &Initializer) -> Option<Contents> {
        let size = self.structs.size_of(ty)?;
        if !self.structs.is_exact(ty) {
            return None;
        }
        let e = match initializer {
            // Zeros need not be there to be known.
            Initializer::None => return Some(Contents::default()),
            Initializer::Copy(e) => e,
            Initializer::Paren(_) | Initializer::Brace(_) => return None,
        };
        if size > MAX_BYTES {
            return None;
        }
        let mut bytes = vec![0u8; size as usize];
        let flexible = match ty {
            CType::Struct(id) => {
                let last = self.structs[*id].fields.last();
                last.is_some_and(|field| self.structs.is_flexible(&field.ty))
            }
            _ => false,
        };
        let address_bytes = self.structs.address_bytes();
        let mut addresses: Vec<Address> = Vec::new();
        // Of each number: where it begins, and its bytes.
        let mut numbers: Vec<(u32, u32, u32)> = Vec::new();
        let pieces = self.pieces(ty, e);
        if pieces.cut {
            return None;
        }
        for piece in pieces.list {
            let mut offset = 0u64;
            let mut at = ty.clone();
            let mut bits = None;
            for step in &piece.path {
                (at, offset) = match (step, &at) {
                    (Step::Member(name), CType::Struct(id)) => {
                        let field = self.structs.field(*id, name)?;
                        if !field.exact {
                            return None;
                        }
                        bits = field.bits;
                        (field.ty, offset + field.offset)
                    }
                    (Step::Element(number), CType::Array { element, .. }) => {
                        let size = self.structs.size_of(element)?;
                        (
                            (**element).clone(),
                            offset.checked_add(number.checked_mul(size)?)?,
                        )
                    }
                    _ => return None,
                };
            }
            let mut address = None;
            let content = match (&piece.value.kind, &at) {
                (ExprKind::String(text), CType::Array { element, .. }) if is_char(element) => {
                    let room = self.structs.size_of(&at)? as usize;
                    let mut content = string_bytes(text);
                    content.truncate(room);
                    content
                }
                _ => match self.static_scalar(&at, piece.value) {
                    Some(content) => content,
                    None => {
                        let (symbol, addend) = self.static_address(&at, piece.value)?;
                        address = Some(Address {
                            offset: u32::try_from(offset).ok()?,
                            symbol,
                            addend,
                        });
                        vec![0; address_bytes as usize]
                    }
                },
            };
            if address.is_none() {
                let each = match &at {
                    CType::Array { element, .. } => self.structs.size_of(element)?,
                    _ => content.len() as u64,
                };
                let each = u32::try_from(each).ok()?.max(1);
                numbers.push((
                    u32::try_from(offset).ok()?,
                    each,
                    content.len() as u32 / each,
                ));
            }
            if let Some(bits) = bits {
                let start = usize::try_from(offset).ok()?;
                let place = bytes.get_mut(start..start.checked_add(content.len())?)?;
                super::bit_fields::merge(place, &content, bits);
                continue;
            }
            // What is initialised twice has the later value.
            let end = offset.checked_add(content.len() as u64)?;
            let last = addresses
                .last()
                .map_or(0, |it| u64::from(it.offset) + address_bytes);
            if offset < last {
                addresses.retain(|address| {
                    let before = u64::from(address.offset);
                    before + address_bytes <= offset || end <= before
                });
            }
            addresses.extend(address);
            let start = usize::try_from(offset).ok()?;
            if flexible && end > bytes.len() as u64 && end <= MAX_BYTES {
                bytes.resize(end.next_multiple_of(self.structs.align_of(ty)) as usize, 0);
            }
            let place = bytes.get_mut(start..start.checked_add(content.len())?)?;
            place.copy_from_slice(&content);
        }
        addresses.sort_by_key(|address| address.offset);
        let width = self.number_width(ty);
        let numbers = match width {
            Some(_) => Vec::new(),
            None => runs(numbers).unwrap_or_default(),
        };
        Some(Contents {
            numbers,
            bytes,
            addresses,
            width,
        })
    }

    /// Bytes of each number of an object, where all have the same.
    fn number_width(&self, ty: &CType) -> Option<u32> {
        match ty {
            CType::Array { element, .. } => self.number_width(element),
            CType::Struct(id) => {
                let fields = &self.structs[*id].fields;
                let mut widths = fields.iter().map(|field| match field.bits {
                    None => self.number_width(&field.ty),
                    Some(_) => None,
                });
                let first = widths.next()??;
                widths.all(|width| width == Some(first)).then_some(first)
            }
            CType::Bool | CType::Int { .. } | CType::Enum { .. } | CType::Float(_) => self
                .structs
                .size_of(ty)
                .and_then(|size| u32::try_from(size).ok()),
            _ => None,
        }
    }

    fn static_scalar(&mut self, ty: &CType, e: &Expr) -> Option<Vec<u8>> {
        let Some(number) = self.constant(peeled(e)) else {
            let number = self.address_difference(e).filter(|_| ty.is_integer())?;
            let size = self.structs.size_of(ty)? as usize;
            return Some(number.to_le_bytes().get(..size)?.to_vec());
        };
        // A function's name is no number.
        if let CType::Function(..) = number.ty {
            return None;
        }
        let bits = match (ty, number.value) {
            (CType::Float(FloatKind::Single), _) => u64::from((number.as_float() as f32).to_bits()),
            (CType::Float(FloatKind::Double), _) => number.as_float().to_bits(),
            (CType::Bool, _) => u64::from(number.truth()),
            (CType::Pointer { .. }, Number::Int(0)) => 0,
            (CType::Opaque(_), Number::Int(0)) => 0,
            (ty, _) if ty.is_integer() => number.as_int() as u64,
            _ => return None,
        };
        let size = self.structs.size_of(ty)? as usize;
        Some(bits.to_le_bytes().get(..size)?.to_vec())
    }
}

/// Numbers as runs of one width; `None`: some overlap, as those of a union do.
fn runs(mut numbers: Vec<(u32, u32, u32)>) -> Option<Vec<NumberRun>> {
    numbers.sort_unstable();
    numbers.dedup();
    let mut out: Vec<NumberRun> = Vec::new();
    for (offset, bytes, count) in numbers {
        match out.last_mut() {
            Some(last) if offset < last.offset + last.bytes * last.count => return None,
            Some(last)
                if last.bytes == bytes && last.offset + last.bytes * last.count == offset =>
            {
                last.count += count;
            }
            _ => out.push(NumberRun {
                offset,
                bytes,
                count,
            }),
        }
    }
    Some(out)
}

/// Returns an expression without the casts to pointers around a null.
fn peeled(e: &Expr) -> &Expr {
    let mut current = e;
    for _ in 0..MAX_DEPTH {
        current = match &current.kind {
            ExprKind::Paren(inner) => inner,
            ExprKind::Cast { ty, operand, .. } if matches!(ty.kind, TypeKind::Pointer(_)) => {
                operand
            }
            _ => break,
        };
    }
    current
}
