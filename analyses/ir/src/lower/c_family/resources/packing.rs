//! The layout of types in constant buffers: registers of 16 bytes that no vector straddles.
//!
//! ```text
//! float3 a; float b; float2 c; float3 d; float e[2]; float f;   at 0, 12, 16, 32, 48 and 64, 68
//! ```
//! Arrays, structures and matrices start a register; elements of an array and rows or columns of a matrix
//! take a register each, and the following members may use the rest of the last one. Matrices are
//! column-major unless said otherwise, in structured and byte-address buffers, too, where nothing else is
//! padded. Source: Microsoft's HLSL reference, "Packing Rules for Constant Variables".

use crate::lower::c_family::types::*;
use crate::lower::c_family::value::{PackedKind, PackedLayout};
use smallvec::SmallVec;
use smol_str::SmolStr;

const REGISTER: u64 = 16;
const MAX_DEPTH: u32 = 32;

/// The layout of a type from the start of a register; `None` when it has none (unknown sizes).
pub fn layout(
    structs: &StructTable,
    ty: &CType,
    row_major: bool,
    depth: u32,
) -> Option<PackedLayout> {
    if depth > MAX_DEPTH {
        return None;
    }
    Some(match ty {
        CType::Vector { element, n } => {
            let size = scalar_size(element)?;
            PackedLayout {
                size: size * *n as u64,
                kind: PackedKind::Scalars((0..*n as u64).map(|i| i * size).collect()),
            }
        }
        CType::Matrix {
            element,
            rows,
            columns,
        } => {
            let size = scalar_size(element)?;
            let (rows, columns) = (*rows as u64, *columns as u64);
            let (lines, across) = if row_major {
                (rows, columns)
            } else {
                (columns, rows)
            };
            let stride = (across * size).next_multiple_of(REGISTER);
            PackedLayout {
                size: (lines - 1) * stride + across * size,
                kind: PackedKind::Scalars(matrix_offsets(rows, columns, size, stride, row_major)),
            }
        }
        CType::Array { element, size } => {
            let ArraySize::Fixed(count) = size else {
                return None;
            };
            let inner = layout(structs, element, row_major, depth + 1)?;
            let stride = inner.size.next_multiple_of(REGISTER);
            PackedLayout {
                size: stride
                    .checked_mul(count.saturating_sub(1))?
                    .checked_add(if *count == 0 { 0 } else { inner.size })?,
                kind: PackedKind::Array {
                    stride,
                    element: Box::new(inner),
                },
            }
        }
        CType::Struct(id) => {
            let mut members: Vec<(SmolStr, u64, PackedLayout)> = Vec::new();
            let mut end = 0u64;
            for field in &structs[*id].fields {
                let row_major = field.row_major.unwrap_or(row_major);
                let inner = layout(structs, &field.ty, row_major, depth + 1)?;
                let offset = place(end, &field.ty, &inner);
                end = offset.checked_add(inner.size)?;
                members.push((field.name.clone(), offset, inner));
            }
            PackedLayout {
                size: end,
                kind: PackedKind::Struct(members),
            }
        }
        scalar => PackedLayout {
            size: scalar_size(scalar)?,
            kind: PackedKind::Scalars(SmallVec::from_slice(&[0])),
        },
    })
}

/// Returns where the scalars of a matrix lie, by rows, when its rows or columns are `stride` bytes apart.
fn matrix_offsets(
    rows: u64,
    columns: u64,
    size: u64,
    stride: u64,
    row_major: bool,
) -> SmallVec<[u64; 4]> {
    let mut offsets: SmallVec<[u64; 4]> = SmallVec::new();
    for r in 0..rows {
        for c in 0..columns {
            let (line, at) = if row_major { (r, c) } else { (c, r) };
            offsets.push(line * stride + at * size);
        }
    }
    offsets
}

/// The layout of a type in a structured or byte-address buffer, where matrices lie by columns; `None`: as C has it.
pub fn in_buffer(structs: &StructTable, ty: &CType, row_major: bool) -> Option<PackedLayout> {
    by_columns(structs, ty, row_major, 0)
        .then(|| tight(structs, ty, row_major, 0))
        .flatten()
}

/// Returns true if a matrix that lies by columns is part of the type.
fn by_columns(structs: &StructTable, ty: &CType, row_major: bool, depth: u32) -> bool {
    match ty {
        CType::Matrix { rows, columns, .. } => !row_major && *rows > 1 && *columns > 1,
        CType::Array { element, .. } => {
            depth < MAX_DEPTH && by_columns(structs, element, row_major, depth + 1)
        }
        CType::Struct(id) => {
            depth < MAX_DEPTH
                && structs[*id].fields.iter().any(|field| {
                    let row_major = field.row_major.unwrap_or(row_major);
                    by_columns(structs, &field.ty, row_major, depth + 1)
                })
        }
        _ => false,
    }
}

/// Returns the layout of a type in C, matrices by rows or by columns.
fn tight(structs: &StructTable, ty: &CType, row_major: bool, depth: u32) -> Option<PackedLayout> {
    if depth > MAX_DEPTH {
        return None;
    }
    let kind = match ty {
        CType::Vector { element, n } => {
            let size = structs.size_of(element)?;
            PackedKind::Scalars((0..u64::from(*n)).map(|i| i * size).collect())
        }
        CType::Matrix {
            element,
            rows,
            columns,
        } => {
            let (size, rows, columns) = (
                structs.size_of(element)?,
                u64::from(*rows),
                u64::from(*columns),
            );
            let stride = size * if row_major { columns } else { rows };
            PackedKind::Scalars(matrix_offsets(rows, columns, size, stride, row_major))
        }
        CType::Array { element, .. } => PackedKind::Array {
            stride: structs.size_of(element)?,
            element: Box::new(tight(structs, element, row_major, depth + 1)?),
        },
        CType::Struct(id) if structs[*id].union || structs[*id].incomplete => return None,
        CType::Struct(id) => {
            let mut members = Vec::new();
            for field in &structs[*id].fields {
                let row_major = field.row_major.unwrap_or(row_major);
                let inner = tight(structs, &field.ty, row_major, depth + 1)?;
                members.push((field.name.clone(), field.offset, inner));
            }
            PackedKind::Struct(members)
        }
        _ => PackedKind::Scalars(SmallVec::from_slice(&[0])),
    };
    Some(PackedLayout {
        size: structs.size_of(ty)?,
        kind,
    })
}

/// Returns where a member goes when `end` bytes are taken.
pub fn place(end: u64, ty: &CType, layout: &PackedLayout) -> u64 {
    match ty {
        CType::Array { .. } | CType::Struct(_) => end.next_multiple_of(REGISTER),
        CType::Matrix { rows, columns, .. } if *rows > 1 || *columns > 1 => {
            end.next_multiple_of(REGISTER)
        }
        _ => {
            let size = scalar_size(ty.element()).unwrap_or(4);
            let at = end.next_multiple_of(size);
            if at % REGISTER + layout.size > REGISTER {
                at.next_multiple_of(REGISTER)
            } else {
                at
            }
        }
    }
}

/// Scalars take at least the size of their type; `bool` takes four bytes, an object none.
fn scalar_size(ty: &CType) -> Option<u64> {
    Some(match ty {
        CType::Bool => 4,
        CType::Int { bits, .. } | CType::Enum { bits, .. } => *bits as u64 / 8,
        CType::Float(kind) => kind.ir().bytes() as u64,
        CType::Resource(_) | CType::Sampler { .. } => 8,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_in_buffers_lie_by_columns_without_gaps() {
        let structs = StructTable::default();
        let matrix = CType::matrix(CType::FLOAT, 2, 3);
        let Some(PackedLayout {
            size: 24,
            kind: PackedKind::Scalars(offsets),
        }) = in_buffer(&structs, &matrix, false)
        else {
            panic!("a matrix is scalars");
        };
        assert_eq!(offsets[..], [0, 8, 16, 4, 12, 20]);
        assert_eq!(in_buffer(&structs, &matrix, true), None);
    }

    #[test]
    fn no_vector_straddles_a_register_and_arrays_start_one() {
        let mut structs = StructTable::default();
        let field = |ty: CType| Field::new(SmolStr::default(), ty);
        let fields = vec![
            field(CType::vector(CType::FLOAT, 3)),
            field(CType::FLOAT),
            field(CType::vector(CType::FLOAT, 2)),
            field(CType::vector(CType::FLOAT, 3)),
            field(CType::array(CType::FLOAT, ArraySize::Fixed(2))),
            field(CType::FLOAT),
            field(CType::matrix(CType::FLOAT, 4, 4)),
            field(CType::DOUBLE),
        ];
        let id = structs.push(StructInfo {
            name: "S".into(),
            union: false,
            fields,
            size: 0,
            align: 1,
            incomplete: false,
            scattered: false,
        });
        let packed = layout(&structs, &CType::Struct(id), false, 0);
        let Some(PackedLayout {
            kind: PackedKind::Struct(members),
            size,
        }) = packed
        else {
            panic!("a structure has a layout");
        };
        let offsets: Vec<u64> = members.iter().map(|m| m.1).collect();
        assert_eq!(offsets, [0, 12, 16, 32, 48, 68, 80, 144]);
        assert_eq!(size, 152);
        let PackedKind::Scalars(matrix) = &members[6].2.kind else {
            panic!("a matrix is scalars");
        };
        assert_eq!(matrix[..5], [0, 16, 32, 48, 4]);
    }
}
