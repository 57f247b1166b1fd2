//! The layout of structures: C's rules, with bit-fields as System V has them in C, and values that are bytes.

use super::types::*;
use crate::types::Type;

impl StructTable {
    /// Returns true if values of a structure are its bytes, word by word: of unions, and of structures with bit-fields
    /// in C.
    pub fn is_words(&self, id: StructId) -> bool {
        let info = &self[id];
        info.union || self.c && info.fields.iter().any(|f| f.bits.is_some())
    }

    /// Returns true if values of a type are the bytes of its members, somewhere in it.
    pub fn has_words(&self, ty: &CType) -> bool {
        match ty {
            CType::Struct(id) => {
                self.is_words(*id) || self[*id].fields.iter().any(|f| self.has_words(&f.ty))
            }
            CType::Array { element, .. } => self.has_words(element),
            _ => false,
        }
    }

    /// Lays out `fields` in order (all at 0 for a union); returns size and alignment.
    pub fn lay_out(&self, fields: &mut [Field], union: bool, minimum_align: u64) -> (u64, u64) {
        let (mut end, mut align) = (0u64, minimum_align.max(1));
        // Bits of the last byte that are free.
        let mut left = 0u64;
        for field in fields.iter_mut() {
            if let (true, Some(bits)) = (self.c, &mut field.bits) {
                let unit = 8 * self.size_of(&field.ty).unwrap_or(4).max(1);
                let width = u64::from(bits.width);
                let free = match union {
                    true => 0,
                    false => (8 * end).saturating_sub(left),
                };
                let straddles = free / unit != (free + width.max(1) - 1) / unit;
                let first = match width == 0 || straddles {
                    true => free.next_multiple_of(unit),
                    false => free,
                };
                field.offset = first / unit * (unit / 8);
                bits.first = (first % unit) as u8;
                let behind = (first + width).div_ceil(8);
                if union {
                    end = end.max(behind);
                } else {
                    end = behind;
                    left = 8 * behind - (first + width);
                }
                // One without a name takes room alone.
                if !field.name.is_empty() {
                    align = align.max(unit / 8);
                }
                continue;
            }
            left = 0;
            let own = self.align_of(&field.ty).max(field.align).max(1);
            // A base without members takes no room of its own.
            let size = match field.base && self.is_empty(&field.ty, 0) {
                true => 0,
                false => self.size_of(&field.ty).unwrap_or(0),
            };
            align = align.max(own);
            if union {
                end = end.max(size);
            } else {
                field.offset = end.next_multiple_of(own);
                end = field.offset.saturating_add(size);
            }
        }
        (end.max(1).next_multiple_of(align), align)
    }

    /// The bytes of a value, in words that it is aligned for.
    pub(super) fn words_of(&self, id: StructId) -> impl Iterator<Item = Type> + use<> {
        let (size, align) = (self[id].size, self[id].align);
        let word = match align {
            8.. if self.c => Type::I64,
            2 | 3 if self.c => Type::I16,
            1 if self.c => Type::I8,
            _ if size.is_multiple_of(4) => Type::I32,
            _ => Type::I8,
        };
        let count = size / u64::from(word.bytes());
        std::iter::repeat_n(word, count.min(MAX_PARTS as u64 + 1) as usize)
    }
}
