//! `memcpy`, `memmove` and `memset` of a constant number of bytes, as loads and stores of as many bytes at once as the types
//! of the pointers permit: a pointer to `T` is aligned as a `T` is, one to `void` or a character is not aligned at all.
//!
//! ```text
//! uint32_t x; memcpy(&x, bytes, 4);      four loads of a byte, put together; no call
//! ```
//! All loads stand in front of the stores, so that the operands of `memmove` may overlap. More than `MOST` accesses of a side
//! stay a call.

use crate::entity::Value;
use crate::inst::{BinaryOp, Convert, MemoryAccess, Wrap};
use crate::lower::c_family::context::Context;
use crate::lower::c_family::types::CType;
use crate::lower::c_family::value::{Argument, LValue, Place, RValue};
use crate::types::Type;
use syntax::Span;

/// Accesses of a side.
const MOST: u64 = 32;

/// The place of one operand's bytes.
enum Side {
    /// A scalar that need not be in memory.
    Scalar(LValue),
    Memory {
        address: Value,
        access: MemoryAccess,
        /// Bytes that one access may take.
        unit: u64,
    },
}

impl Side {
    fn unit(&self, bytes: u64) -> u64 {
        match self {
            Side::Scalar(_) => bytes,
            Side::Memory { unit, .. } => *unit,
        }
    }
}

/// `None`: it stays a call.
pub(super) fn call(
    cx: &mut Context<'_>,
    name: &str,
    arguments: &[Argument],
    span: Span,
) -> Option<RValue> {
    let [to, from, count] = arguments else {
        return None;
    };
    let bytes = cx.builder.function.int_constant(count.value.first()?)?;
    let bytes = u64::try_from(bytes).ok()?;
    if bytes > 8 * MOST || !is_pointer(&to.value.ty) {
        return None;
    }
    if bytes == 0 {
        return Some(to.value.clone());
    }
    cx.here(span);
    if name == "memset" {
        let to_side = side(cx, to, bytes, span)?;
        let plan = chunks(bytes, to_side.unit(bytes))?;
        let word = repeated(cx, &from.value, span)?;
        let words: Vec<Value> = plan
            .iter()
            .map(|&(_, width)| match width {
                8 => word,
                _ => cx
                    .builder
                    .convert(Convert::Truncate, word, word_type(width)),
            })
            .collect();
        write(cx, &to_side, &plan, &words, span)?;
    } else {
        if !is_pointer(&from.value.ty) {
            return None;
        }
        let from_side = side(cx, from, bytes, span)?;
        let to_side = side(cx, to, bytes, span)?;
        let (read_unit, write_unit) = (from_side.unit(bytes), to_side.unit(bytes));
        // Neither side has more accesses than it may have.
        chunks(bytes, read_unit.min(write_unit))?;
        let plan = chunks(bytes, read_unit.max(write_unit))?;
        let mut words = Vec::with_capacity(plan.len());
        for &(at, width) in &plan {
            words.push(read(cx, &from_side, at, width, span)?);
        }
        write(cx, &to_side, &plan, &words, span)?;
    }
    Some(to.value.clone())
}

/// Eight times the byte that a value is cut to.
fn repeated(cx: &mut Context<'_>, value: &RValue, span: Span) -> Option<Value> {
    const EACH: i64 = 0x0101_0101_0101_0101;
    if let Some(byte) = cx.builder.function.int_constant(value.first()?) {
        let word = i64::from(byte as u8).wrapping_mul(EACH);
        return Some(cx.builder.int(Type::I64, word));
    }
    let byte = cx.convert(value.clone(), &CType::UCHAR, span).first()?;
    let wide = cx.builder.convert(Convert::ZeroExtend, byte, Type::I64);
    let each = cx.builder.int(Type::I64, EACH);
    Some(cx.builder.binary(BinaryOp::Mul, Wrap::MAY, wide, each))
}

const fn is_pointer(ty: &CType) -> bool {
    matches!(ty, CType::Pointer { .. } | CType::Array { .. })
}

fn word_type(width: u64) -> Type {
    Type::int(8 * width as u32)
}

/// Offsets and widths of words of at most `unit` bytes; `None`: too many.
fn chunks(bytes: u64, unit: u64) -> Option<Vec<(u64, u64)>> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes {
        let mut width = unit.min(8);
        while width > bytes - at {
            width /= 2;
        }
        if out.len() as u64 == MOST {
            return None;
        }
        out.push((at, width));
        at += width;
    }
    Some(out)
}

fn side(cx: &mut Context<'_>, argument: &Argument, bytes: u64, span: Span) -> Option<Side> {
    let place = cx.dereference(&argument.value, span);
    let scalar = matches!(bytes, 1 | 2 | 4 | 8)
        && place.ty.is_arithmetic()
        && place.ty.scalar_ir().is_some_and(|ty| ty != Type::Bool)
        && cx.structs.size_of(&place.ty) == Some(bytes);
    if scalar && matches!(place.place, Place::Slots(_)) {
        return Some(Side::Scalar(place));
    }
    let align = match &place.ty {
        CType::Void | CType::Unknown | CType::Opaque(_) => 1,
        ty if cx.structs.is_exact(ty) => cx.structs.align_of(ty).clamp(1, 8),
        _ => 1,
    };
    let mut access = match &place.place {
        Place::Memory { access, .. } => *access,
        Place::Slots(_) => MemoryAccess::in_space(crate::types::Space::Generic),
        _ => return None,
    };
    if access.volatile {
        return None;
    }
    let address = cx.address(&place, span)?;
    if !matches!(place.place, Place::Memory { .. }) {
        access = cx.memory_of(address);
    }
    access.untyped = true;
    let unit = 1 << align.ilog2();
    Some(Side::Memory {
        address,
        access,
        unit,
    })
}

fn at_offset(cx: &mut Context<'_>, address: Value, offset: u64) -> Value {
    match offset {
        0 => address,
        more => {
            let offset = cx.builder.int(Type::I64, more as i64);
            cx.builder.ptr_add(address, offset)
        }
    }
}

/// A word of the source.
fn read(cx: &mut Context<'_>, side: &Side, at: u64, width: u64, span: Span) -> Option<Value> {
    let word = word_type(width);
    match side {
        Side::Scalar(place) => {
            let value = cx.load(place, span).first()?;
            Some(match cx.builder.function.ty(value) {
                ty if ty == word => value,
                _ => cx.builder.convert(Convert::Bitcast, value, word),
            })
        }
        Side::Memory {
            address,
            access,
            unit,
        } => {
            let piece = width.min(*unit);
            let mut whole: Option<Value> = None;
            for part in 0..width / piece {
                let place = at_offset(cx, *address, at + part * piece);
                let value = cx.builder.load(*access, place, word_type(piece));
                let value = match piece == width {
                    true => value,
                    false => cx.builder.convert(Convert::ZeroExtend, value, word),
                };
                whole = Some(match whole {
                    None => value,
                    Some(before) => {
                        let by = cx.builder.int(word, (8 * part * piece) as i64);
                        let moved = cx.builder.binary(BinaryOp::Shl, Wrap::MAY, value, by);
                        cx.builder.binary(BinaryOp::Or, Wrap::MAY, before, moved)
                    }
                });
            }
            whole
        }
    }
}

/// The words into the target.
fn write(
    cx: &mut Context<'_>,
    side: &Side,
    plan: &[(u64, u64)],
    words: &[Value],
    span: Span,
) -> Option<()> {
    match side {
        Side::Scalar(place) => {
            let ty = place.ty.scalar_ir()?;
            let value = *words.first()?;
            let value = match cx.builder.function.ty(value) {
                have if have == ty => value,
                _ => cx.builder.convert(Convert::Bitcast, value, ty),
            };
            let ty = place.ty.clone();
            cx.store(place, RValue::scalar(ty, value), span);
        }
        Side::Memory {
            address,
            access,
            unit,
        } => {
            for (&(at, width), &value) in plan.iter().zip(words) {
                let piece = width.min(*unit);
                for part in 0..width / piece {
                    let mut own = value;
                    if part > 0 {
                        let by = cx.builder.int(word_type(width), (8 * part * piece) as i64);
                        own = cx.builder.binary(BinaryOp::ShrUnsigned, Wrap::MAY, own, by);
                    }
                    if piece < width {
                        own = cx.builder.convert(Convert::Truncate, own, word_type(piece));
                    }
                    let place = at_offset(cx, *address, at + part * piece);
                    cx.builder.store(*access, place, &[own]);
                }
            }
        }
    }
    Some(())
}
