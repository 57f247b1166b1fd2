//! Types of the C family as the lowering sees them: sizes and alignments by the C rules of CUDA on 64-bit Linux, and
//! how a value of each type falls apart into scalars of the IR.
//!
//! CUDA's `float4`, `dim3`, `half2` and HLSL's `floatN` are one type, `Vector`. Structures are numbered in the table of
//! the lowering (`StructTable`), since templates make new ones on the way. Constant-buffer packing is HLSL's own and
//! lives with the resources.

use crate::entity::{Entity, Value};
use crate::types::{Space, Type};
use smallvec::SmallVec;
use smol_str::SmolStr;
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct StructId(pub u32);

impl Entity for StructId {
    fn new(index: usize) -> StructId {
        StructId(index as u32)
    }
    fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct ClosureId(pub u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum FloatKind {
    /// `half`, `__half`, `min16float`, `float16_t`.
    Half,
    BFloat,
    Single,
    Double,
}

impl FloatKind {
    pub const fn ir(self) -> Type {
        match self {
            FloatKind::Half => Type::F16,
            FloatKind::BFloat => Type::BF16,
            FloatKind::Single => Type::F32,
            FloatKind::Double => Type::F64,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ArraySize {
    Fixed(u64),
    /// A number that is a value of the function (unknown template parameter), I64.
    Dynamic(Value),
    /// `T x[]`.
    Unknown,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CType {
    Void,
    Bool,
    /// 8 to 64 bits.
    Int {
        bits: u8,
        signed: bool,
    },
    Float(FloatKind),
    /// 1 to 16 elements of a scalar type.
    Vector {
        element: Arc<CType>,
        n: u8,
    },
    /// Flattened by rows.
    Matrix {
        element: Arc<CType>,
        rows: u8,
        columns: u8,
    },
    Struct(StructId),
    Array {
        element: Arc<CType>,
        size: ArraySize,
    },
    Pointer {
        to: Arc<CType>,
        space: Space,
        is_const: bool,
        restrict: bool,
        volatile: bool,
    },
    Reference {
        to: Arc<CType>,
        is_const: bool,
    },
    /// An integer with a name.
    Enum {
        name: SmolStr,
        bits: u8,
        signed: bool,
    },
    Resource(Arc<ResourceType>),
    Sampler {
        comparison: bool,
    },
    Lambda(ClosureId),
    /// A function named as a value, and the number of its explicit template arguments: see `Context::function_type`.
    Function(SmolStr, u32),
    /// The signature of the functions that a pointer to a function of C points to.
    Signature(Arc<Signature>),
    /// A type known by name only (matrix fragments, cooperative groups, pipelines): one `Opaque` value, except for
    /// empty tag types.
    Opaque(SmolStr),
    /// Not understood.
    Unknown,
}

/// The signature of a function of C that is called without its name being known.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Signature {
    pub returns: CType,
    pub parameters: Vec<CType>,
    /// Takes further arguments, or has no prototype.
    pub open: bool,
}

/// Opaque types: pointers to functions that take all arguments by value, and to others.
pub(super) const FUNCTION_POINTER: &str = "function pointer";
pub(super) const REFERRING_FUNCTION_POINTER: &str = "pointer to a function of references";

/// `long double` of C: 16 bytes, and values that nothing here computes with.
pub(super) const LONG_DOUBLE: &str = "long double";

/// An HLSL resource object.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ResourceType {
    pub kind: ResourceKind,
    pub dimension: Dimension,
    /// The type of one element: `float4` by default, the structure of a structured buffer, `Void` for
    /// byte-address buffers.
    pub element: CType,
    /// A texture array (`Texture2DArray`).
    pub array: bool,
    pub multisampled: bool,
    pub read_write: bool,
    /// `RasterizerOrdered*`.
    pub ordered: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ResourceKind {
    Texture,
    /// `Buffer<T>`, `RWBuffer<T>`.
    TypedBuffer,
    StructuredBuffer,
    AppendBuffer,
    ConsumeBuffer,
    ByteAddressBuffer,
    /// `ConstantBuffer<T>`, `TextureBuffer<T>`.
    ConstantBuffer,
    AccelerationStructure,
    /// `TriangleStream<T>` and the like.
    Stream,
    /// `InputPatch`, `OutputPatch`: element count in `Dimension` is not kept.
    Patch,
    RayQuery,
    Feedback,
    /// `texture.mips`, `texture.sample`.
    Mips,
    /// `texture.mips[level]`: the handle and the level.
    MipLevel,
    /// `ResourceDescriptorHeap`, `SamplerDescriptorHeap`.
    Heap,
    /// An element of a heap before it is known as which resource it is used.
    HeapElement,
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dimension {
    None,
    One,
    Two,
    Three,
    Cube,
}

impl CType {
    pub const INT: CType = CType::Int {
        bits: 32,
        signed: true,
    };
    pub const UINT: CType = CType::Int {
        bits: 32,
        signed: false,
    };
    pub const LONG: CType = CType::Int {
        bits: 64,
        signed: true,
    };
    pub const ULONG: CType = CType::Int {
        bits: 64,
        signed: false,
    };
    pub const CHAR: CType = CType::Int {
        bits: 8,
        signed: true,
    };
    pub const UCHAR: CType = CType::Int {
        bits: 8,
        signed: false,
    };
    pub const SHORT: CType = CType::Int {
        bits: 16,
        signed: true,
    };
    pub const USHORT: CType = CType::Int {
        bits: 16,
        signed: false,
    };
    pub const FLOAT: CType = CType::Float(FloatKind::Single);
    pub const DOUBLE: CType = CType::Float(FloatKind::Double);
    pub const HALF: CType = CType::Float(FloatKind::Half);
    pub const BFLOAT: CType = CType::Float(FloatKind::BFloat);

    pub const fn int(bits: u8, signed: bool) -> CType {
        CType::Int { bits, signed }
    }
    pub fn vector(element: CType, n: u8) -> CType {
        CType::Vector {
            element: Arc::new(element),
            n,
        }
    }
    pub fn matrix(element: CType, rows: u8, columns: u8) -> CType {
        CType::Matrix {
            element: Arc::new(element),
            rows,
            columns,
        }
    }
    pub fn array(element: CType, size: ArraySize) -> CType {
        CType::Array {
            element: Arc::new(element),
            size,
        }
    }
    pub fn pointer(to: CType, space: Space) -> CType {
        CType::Pointer {
            to: Arc::new(to),
            space,
            is_const: false,
            restrict: false,
            volatile: false,
        }
    }
    pub fn reference(to: CType) -> CType {
        CType::Reference {
            to: Arc::new(to),
            is_const: false,
        }
    }
    pub fn opaque(name: &str) -> CType {
        CType::Opaque(SmolStr::new(name))
    }

    /// The type behind references.
    pub fn value_type(&self) -> &CType {
        match self {
            CType::Reference { to, .. } => to.value_type(),
            other => other,
        }
    }
    pub fn is_void(&self) -> bool {
        matches!(self, CType::Void)
    }
    pub fn is_unknown(&self) -> bool {
        matches!(self, CType::Unknown)
    }
    /// Integers, enums and bool.
    pub fn is_integer(&self) -> bool {
        matches!(self, CType::Bool | CType::Int { .. } | CType::Enum { .. })
    }
    pub fn is_float(&self) -> bool {
        matches!(self, CType::Float(_))
    }
    pub fn is_arithmetic(&self) -> bool {
        self.is_integer() || self.is_float()
    }
    pub fn is_pointer(&self) -> bool {
        matches!(self, CType::Pointer { .. })
    }
    pub fn is_array(&self) -> bool {
        matches!(self, CType::Array { .. })
    }
    /// Arithmetic scalar, vector or matrix of them.
    pub fn is_numeric(&self) -> bool {
        matches!(self, CType::Vector { .. } | CType::Matrix { .. }) || self.is_arithmetic()
    }
    pub fn is_signed(&self) -> bool {
        match self {
            CType::Int { signed, .. } | CType::Enum { signed, .. } => *signed,
            CType::Float(_) => true,
            CType::Vector { element, .. } | CType::Matrix { element, .. } => element.is_signed(),
            _ => false,
        }
    }
    /// The scalar that vectors and matrices consist of; scalars are their own.
    pub fn element(&self) -> &CType {
        match self {
            CType::Vector { element, .. } | CType::Matrix { element, .. } => element,
            other => other,
        }
    }
    /// Number of scalar components of a numeric type.
    pub fn components(&self) -> usize {
        match self {
            CType::Vector { n, .. } => *n as usize,
            CType::Matrix { rows, columns, .. } => *rows as usize * *columns as usize,
            _ => 1,
        }
    }
    /// The same shape with another scalar.
    pub fn with_element(&self, element: CType) -> CType {
        match self {
            CType::Vector { n, .. } => CType::vector(element, *n),
            CType::Matrix { rows, columns, .. } => CType::matrix(element, *rows, *columns),
            _ => element,
        }
    }
    /// The IR type of a scalar, pointer, handle or opaque value; `None` for aggregates and void.
    pub fn scalar_ir(&self) -> Option<Type> {
        Some(match self {
            CType::Bool => Type::Bool,
            CType::Int { bits, .. } | CType::Enum { bits, .. } => Type::int(*bits as u32),
            CType::Float(kind) => kind.ir(),
            CType::Pointer { space, .. } => Type::Ptr(*space),
            CType::Reference { .. } => Type::Ptr(Space::Generic),
            CType::Sampler { .. } => Type::Handle,
            CType::Resource(resource) => resource.ir(),
            CType::Opaque(_) | CType::Unknown => Type::Opaque,
            _ => return None,
        })
    }
}

impl ResourceType {
    /// Buffers have addresses, textures and others are handles.
    pub fn ir(&self) -> Type {
        match self.kind {
            ResourceKind::TypedBuffer
            | ResourceKind::StructuredBuffer
            | ResourceKind::AppendBuffer
            | ResourceKind::ConsumeBuffer
            | ResourceKind::ByteAddressBuffer => Type::Ptr(Space::Global),
            ResourceKind::ConstantBuffer => Type::Ptr(Space::Constant),
            _ => Type::Handle,
        }
    }
}

/// A field, a base class (no name, `base`) or an anonymous member (no name).
#[derive(Clone, PartialEq, Debug)]
pub struct Field {
    pub name: SmolStr,
    pub ty: CType,
    /// In bytes, C layout.
    pub offset: u64,
    pub base: bool,
    /// The alignment that is asked for, 0 if none is.
    pub align: u64,
    /// The bits of a bit-field.
    pub bits: Option<Bits>,
    /// `row_major` or `column_major`, of HLSL's matrices.
    pub row_major: Option<bool>,
}

impl Field {
    /// A member of which nothing more is asked, without its place.
    pub(super) fn new(name: impl Into<SmolStr>, ty: CType) -> Field {
        Field {
            name: name.into(),
            ty,
            offset: 0,
            base: false,
            align: 0,
            bits: None,
            row_major: None,
        }
    }
}

/// A bit-field. In C it lies in the aligned unit of its type at the member's offset, from bit `first` on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bits {
    pub width: u8,
    pub first: u8,
}

/// The place of a structure's declaration: an item and the path of nested structures below it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StructSource {
    pub item: syntax::ItemKey,
    pub path: SmallVec<[u32; 2]>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct StructInfo {
    pub name: SmolStr,
    pub union: bool,
    pub fields: Vec<Field>,
    pub size: u64,
    pub align: u64,
    /// The layout depends on something unknown.
    pub incomplete: bool,
    /// Its members lie where nothing here says: it is packed.
    pub scattered: bool,
}

/// The structures of one lowering.
#[derive(Clone, Debug, Default)]
pub struct StructTable {
    pub infos: Vec<StructInfo>,
    /// Layout by HLSL's rules: vectors are aligned as their scalars, `bool` takes four bytes.
    pub hlsl: bool,
    /// Bit-fields share units as System V lays them out, and values of structures with some are their bytes. In other
    /// languages each is a member of its own.
    pub c: bool,
    /// Addresses have 32 bits in memory: `Function::narrow_addresses`.
    pub narrow_addresses: bool,
}

impl std::ops::Index<StructId> for StructTable {
    type Output = StructInfo;
    fn index(&self, id: StructId) -> &StructInfo {
        &self.infos[id.0 as usize]
    }
}

/// Aggregates of more scalars than this live in memory.
pub const MAX_PARTS: usize = 128;
pub(super) const MAX_TYPE_DEPTH: u32 = 64;

impl StructTable {
    pub fn push(&mut self, info: StructInfo) -> StructId {
        self.infos.push(info);
        StructId(self.infos.len() as u32 - 1)
    }

    /// The bytes of an address in memory.
    pub fn address_bytes(&self) -> u64 {
        self.bytes_of(Type::Ptr(Space::Generic))
    }

    /// The bytes of a scalar in memory.
    pub(super) fn bytes_of(&self, ty: Type) -> u64 {
        ty.bytes_in_memory(self.narrow_addresses).into()
    }

    /// Size in bytes; `None` when it is not a compile-time number.
    pub fn size_of(&self, ty: &CType) -> Option<u64> {
        Some(match ty {
            CType::Void => 1,
            CType::Bool if self.hlsl => 4,
            CType::Bool => 1,
            CType::Int { bits, .. } | CType::Enum { bits, .. } => *bits as u64 / 8,
            CType::Float(kind) => kind.ir().bytes() as u64,
            CType::Vector { element, n } => self.size_of(element)? * *n as u64,
            CType::Matrix { element, .. } => self.size_of(element)? * ty.components() as u64,
            CType::Struct(id) => self[*id].size,
            CType::Array { element, size } => match size {
                ArraySize::Fixed(n) => self.size_of(element)?.checked_mul(*n)?,
                _ => return None,
            },
            CType::Reference { to, .. } => self.size_of(to)?,
            CType::Lambda(_) => 1,
            CType::Opaque(name) if name == LONG_DOUBLE => 16,
            CType::Pointer { .. } | CType::Function(..) => self.address_bytes(),
            _ => 8,
        })
    }

    /// Returns true if a type's layout is the compiler's: not where it depends on a type or a number that is not known.
    pub fn is_exact(&self, ty: &CType) -> bool {
        match ty {
            CType::Opaque(name) => {
                let known = [FUNCTION_POINTER, REFERRING_FUNCTION_POINTER, LONG_DOUBLE];
                known.contains(&name.as_str())
            }
            CType::Unknown => false,
            CType::Struct(id) => !self[*id].incomplete,
            CType::Array { element, size } => {
                matches!(size, ArraySize::Fixed(_)) && self.is_exact(element)
            }
            _ => true,
        }
    }

    /// The last member of a structure of C, as many elements as there is memory for.
    pub fn is_flexible(&self, ty: &CType) -> bool {
        matches!(ty, CType::Array { element, size: ArraySize::Unknown } if self.c && self.is_exact(element))
    }

    pub fn align_of(&self, ty: &CType) -> u64 {
        match ty {
            CType::Bool if self.hlsl => 4,
            CType::Void | CType::Bool | CType::Lambda(_) => 1,
            CType::Vector { element, .. } if self.hlsl => self.align_of(element),
            CType::Vector { element, n } => {
                let element = self.align_of(element);
                match n {
                    2 | 4 => (element * *n as u64).min(16),
                    _ => element,
                }
            }
            CType::Matrix { element, .. } => self.align_of(element),
            CType::Array { element, .. } => self.align_of(element),
            CType::Struct(id) => self[*id].align,
            CType::Opaque(name) if name == LONG_DOUBLE => 16,
            other => self.size_of(other).unwrap_or(8).clamp(1, 8),
        }
    }

    pub(super) fn is_empty(&self, ty: &CType, depth: u32) -> bool {
        let CType::Struct(id) = ty else { return false };
        let mut fields = self[*id].fields.iter();
        depth < MAX_TYPE_DEPTH && fields.all(|f| f.base && self.is_empty(&f.ty, depth + 1))
    }

    /// The scalars of a value of this type, in order. `false`: it has none of its own (too large, unknown size).
    pub fn flatten(&self, ty: &CType, out: &mut SmallVec<[Type; 4]>) -> bool {
        self.flatten_at(ty, out, 0)
    }

    fn flatten_at(&self, ty: &CType, out: &mut SmallVec<[Type; 4]>, depth: u32) -> bool {
        if depth > MAX_TYPE_DEPTH || out.len() > MAX_PARTS {
            return false;
        }
        match ty {
            CType::Void => true,
            CType::Vector { element, .. } | CType::Matrix { element, .. } => {
                let Some(scalar) = element.scalar_ir() else {
                    return false;
                };
                out.extend(std::iter::repeat_n(scalar, ty.components()));
                true
            }
            CType::Struct(id) if self.is_words(*id) => {
                out.extend(self.words_of(*id));
                out.len() <= MAX_PARTS
            }
            CType::Struct(id) => {
                for field in &self[*id].fields {
                    if !self.flatten_at(&field.ty, out, depth + 1) {
                        return false;
                    }
                }
                out.len() <= MAX_PARTS
            }
            CType::Array { element, size } => {
                let ArraySize::Fixed(n) = size else {
                    return false;
                };
                for _ in 0..*n {
                    if !self.flatten_at(element, out, depth + 1) || out.len() > MAX_PARTS {
                        return false;
                    }
                }
                true
            }
            CType::Lambda(_) | CType::Function(..) => true,
            other => match other.scalar_ir() {
                Some(scalar) => {
                    out.push(scalar);
                    true
                }
                None => false,
            },
        }
    }

    /// The scalars of a type, or `None` when values of it live in memory only.
    pub fn parts(&self, ty: &CType) -> Option<SmallVec<[Type; 4]>> {
        let mut out = SmallVec::new();
        self.flatten(ty, &mut out).then_some(out)
    }

    /// Byte offset of each scalar of `parts`, by C layout.
    pub fn part_offsets(&self, ty: &CType) -> Option<SmallVec<[u64; 4]>> {
        let mut out = SmallVec::new();
        self.offsets_at(ty, 0, &mut out, 0).then_some(out)
    }

    fn offsets_at(&self, ty: &CType, base: u64, out: &mut SmallVec<[u64; 4]>, depth: u32) -> bool {
        if depth > MAX_TYPE_DEPTH || out.len() > MAX_PARTS {
            return false;
        }
        match ty {
            CType::Void | CType::Lambda(_) | CType::Function(..) => true,
            CType::Vector { element, .. } | CType::Matrix { element, .. } => {
                let size = self.size_of(element).unwrap_or(4);
                out.extend((0..ty.components() as u64).map(|i| base + i * size));
                true
            }
            CType::Struct(id) if self.is_words(*id) => {
                let mut at = base;
                for word in self.words_of(*id) {
                    out.push(at);
                    at += word.bytes() as u64;
                }
                true
            }
            CType::Struct(id) => self[*id]
                .fields
                .iter()
                .all(|f| self.offsets_at(&f.ty, base + f.offset, out, depth + 1)),
            CType::Array { element, size } => {
                let (ArraySize::Fixed(n), Some(step)) = (size, self.size_of(element)) else {
                    return false;
                };
                (0..*n).all(|i| self.offsets_at(element, base + i * step, out, depth + 1))
            }
            _ => {
                out.push(base);
                true
            }
        }
    }

    /// Finds a field by name through bases and anonymous members: its type, its byte offset, and the number of
    /// scalars before it (`None` below a union, which has no scalars by member).
    pub fn field(&self, id: StructId, name: &str) -> Option<FieldPlace> {
        self.field_at(id, name, 0)
    }

    fn field_at(&self, id: StructId, name: &str, depth: u32) -> Option<FieldPlace> {
        if depth > MAX_TYPE_DEPTH {
            return None;
        }
        let info = &self[id];
        let words = self.is_words(id);
        let mut first_part = 0usize;
        let mut inherited = None;
        let mut exact = !info.scattered;
        for (number, field) in info.fields.iter().enumerate() {
            // What follows a member of unknown size, and such a member itself, lies somewhere.
            exact &= info.union || self.is_exact(&field.ty) || self.is_flexible(&field.ty);
            if field.name == name {
                return Some(FieldPlace {
                    ty: field.ty.clone(),
                    offset: field.offset,
                    exact: exact || number == 0 && !info.scattered,
                    first_part: (!words).then_some(first_part),
                    bits: field.bits,
                });
            }
            if inherited.is_none()
                && field.name.is_empty()
                && let CType::Struct(inner) = &field.ty
                && let Some(found) = self.field_at(*inner, name, depth + 1)
            {
                inherited = Some(FieldPlace {
                    ty: found.ty,
                    offset: field.offset + found.offset,
                    exact: (exact || number == 0 && !info.scattered) && found.exact,
                    first_part: match (words, found.first_part) {
                        (false, Some(part)) => Some(first_part + part),
                        _ => None,
                    },
                    bits: found.bits,
                });
            }
            let mut parts = SmallVec::new();
            self.flatten(&field.ty, &mut parts);
            first_part += parts.len();
        }
        inherited
    }

    /// The type as written, for people.
    pub fn display(&self, ty: &CType) -> SmolStr {
        match ty {
            CType::Void => "void".into(),
            CType::Bool => "bool".into(),
            CType::Int { bits, signed } => match (bits, signed) {
                (8, true) => "char".into(),
                (8, false) => "unsigned char".into(),
                (16, true) => "short".into(),
                (16, false) => "unsigned short".into(),
                (32, true) => "int".into(),
                (32, false) => "unsigned int".into(),
                (_, true) => "long long".into(),
                (_, false) => "unsigned long long".into(),
            },
            CType::Float(FloatKind::Half) => "half".into(),
            CType::Float(FloatKind::BFloat) => "bfloat16".into(),
            CType::Float(FloatKind::Single) => "float".into(),
            CType::Float(FloatKind::Double) => "double".into(),
            CType::Vector { element, n } => {
                let element = match &**element {
                    CType::Int {
                        bits: 32,
                        signed: false,
                    } => "uint".into(),
                    other => self.display(other),
                };
                smol_str::format_smolstr!("{element}{n}")
            }
            CType::Matrix {
                element,
                rows,
                columns,
            } => smol_str::format_smolstr!("{}{rows}x{columns}", self.display(element)),
            CType::Struct(id) => self[*id].name.clone(),
            CType::Array { element, size } => match size {
                ArraySize::Fixed(n) => smol_str::format_smolstr!("{}[{n}]", self.display(element)),
                _ => smol_str::format_smolstr!("{}[]", self.display(element)),
            },
            CType::Pointer { to, is_const, .. } => smol_str::format_smolstr!(
                "{}{}*",
                if *is_const { "const " } else { "" },
                self.display(to)
            ),
            CType::Reference { to, is_const } => smol_str::format_smolstr!(
                "{}{}&",
                if *is_const { "const " } else { "" },
                self.display(to)
            ),
            CType::Enum { name, .. } => name.clone(),
            CType::Resource(_) => "resource".into(),
            CType::Sampler { .. } => "SamplerState".into(),
            CType::Lambda(_) => "lambda".into(),
            CType::Signature(_) => "function".into(),
            CType::Function(name, _) | CType::Opaque(name) => name.clone(),
            CType::Unknown => "?".into(),
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct FieldPlace {
    pub ty: CType,
    pub offset: u64,
    /// `offset` is the compiler's: see `StructTable::is_exact`.
    pub exact: bool,
    pub first_part: Option<usize>,
    pub bits: Option<Bits>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_are_laid_out_as_c_does() {
        let mut table = StructTable::default();
        let field = |name: &str, ty: CType| Field::new(name, ty);
        let mut fields = vec![
            field("a", CType::CHAR),
            field("b", CType::vector(CType::FLOAT, 3)),
            field("c", CType::vector(CType::FLOAT, 4)),
            field("d", CType::DOUBLE),
        ];
        let (size, align) = table.lay_out(&mut fields, false, 1);
        assert_eq!((size, align), (48, 16));
        let id = table.push(StructInfo {
            name: "S".into(),
            union: false,
            fields,
            size,
            align,
            incomplete: false,
            scattered: false,
        });
        let c = table.field(id, "c").map(|f| (f.offset, f.first_part));
        assert_eq!(c, Some((16, Some(4))));
        let offsets = table.part_offsets(&CType::Struct(id)).unwrap_or_default();
        assert_eq!(offsets.as_slice(), &[0, 4, 8, 12, 16, 20, 24, 28, 32]);
    }
}
