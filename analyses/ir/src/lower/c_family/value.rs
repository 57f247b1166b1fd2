//! The meaning of an expression: an `RValue` (scalars in SSA form) or an `LValue` (a place that can be read,
//! written and referred to).

use super::types::{Bits, CType};
use crate::builder::Slot;
use crate::entity::{Value, Variable};
use crate::inst::{Geometry, MemoryAccess};
use crate::types::Type;
use smallvec::SmallVec;
use smol_str::SmolStr;
use std::rc::Rc;

pub type Parts = SmallVec<[Value; 4]>;

/// A value, flattened to scalars in the order of `StructTable::parts`.
#[derive(Clone, Debug)]
pub struct RValue {
    pub ty: CType,
    /// Empty for `void`, for a pointer with a `target`, and for an aggregate that is in memory (`target`).
    pub parts: Parts,
    /// The place that a pointer points to, known while lowering; the address need not exist then. For an
    /// aggregate without parts, its place.
    pub target: Option<Rc<LValue>>,
}

impl RValue {
    pub fn new(ty: CType, parts: impl IntoIterator<Item = Value>) -> Self {
        RValue {
            ty,
            parts: parts.into_iter().collect(),
            target: None,
        }
    }
    pub fn scalar(ty: CType, value: Value) -> Self {
        RValue::new(ty, [value])
    }
    pub fn void() -> Self {
        RValue::new(CType::Void, [])
    }
    /// A pointer to a place that is known.
    pub fn pointer_to(ty: CType, target: LValue) -> Self {
        RValue {
            ty,
            parts: Parts::new(),
            target: Some(Rc::new(target)),
        }
    }
    /// The first scalar.
    pub fn first(&self) -> Option<Value> {
        self.parts.first().copied()
    }
}

/// A place of the program.
#[derive(Clone, Debug)]
pub struct LValue {
    pub ty: CType,
    pub place: Place,
    /// The variable that this place is, or is part of, for hover and hints.
    pub name: Option<NamedPart>,
    pub is_const: bool,
}

/// A variable and the path below it: `.pos.x`, empty for all of it.
#[derive(Clone, PartialEq, Debug)]
pub struct NamedPart {
    pub variable: Variable,
    pub part: SmolStr,
    /// The place of the identifier.
    pub at: crate::function::Loc,
}

#[derive(Clone, Debug)]
pub enum Place {
    /// One slot a scalar, in order: variables, their members, and swizzles of vectors in slots.
    Slots(SmallVec<[Slot; 4]>),
    /// In memory, laid out as C does.
    Memory {
        address: Value,
        access: MemoryAccess,
    },
    /// A swizzle of a vector in memory: one byte offset a component.
    MemorySwizzle {
        address: Value,
        access: MemoryAccess,
        offsets: SmallVec<[u64; 4]>,
    },
    /// An element of a typed resource (`RWTexture2D<float4> t; t[xy]`), read and written as a whole.
    Texel(Rc<Texel>),
    /// Components of a texel, by number.
    TexelSwizzle {
        texel: Rc<Texel>,
        components: SmallVec<[u8; 4]>,
    },
    /// A member of so many bits: stored values are cut to them. In C `inner` is the memory of the integer
    /// `unit` in which it lies among others.
    BitField {
        inner: Box<Place>,
        bits: Bits,
        unit: Option<Type>,
    },
    /// A value without a place (temporaries bound to const references, constants).
    Value(Rc<RValue>),
    /// Memory with its own packing (constant buffers, matrices of structured buffers): one byte offset a scalar.
    Packed {
        address: Value,
        access: MemoryAccess,
        layout: Rc<PackedLayout>,
    },
}

/// An element of a texture or typed buffer that is accessed by `Op::Texture`.
#[derive(Clone, Debug)]
pub struct Texel {
    pub resource: Value,
    pub coordinates: SmallVec<[Value; 4]>,
    /// The type that the resource holds, `float4` for instance.
    pub element: CType,
    pub read_only: bool,
    pub geometry: Geometry,
}

/// The layout of a type in a constant buffer, with offsets of its own.
#[derive(Clone, PartialEq, Debug)]
pub struct PackedLayout {
    pub size: u64,
    pub kind: PackedKind,
}

#[derive(Clone, PartialEq, Debug)]
pub enum PackedKind {
    /// Scalars of the type in order, at these offsets.
    Scalars(SmallVec<[u64; 4]>),
    Struct(Vec<(SmolStr, u64, PackedLayout)>),
    Array {
        stride: u64,
        element: Box<PackedLayout>,
    },
}

impl LValue {
    pub fn memory(ty: CType, address: Value, access: MemoryAccess) -> Self {
        LValue {
            ty,
            place: Place::Memory { address, access },
            name: None,
            is_const: false,
        }
    }
    /// Accesses of memory are volatile from here on.
    pub fn make_volatile(&mut self, volatile: bool) {
        if let Place::Memory { access, .. } = &mut self.place {
            access.volatile |= volatile;
        }
    }
    pub fn value(value: RValue) -> Self {
        LValue {
            ty: value.ty.clone(),
            place: Place::Value(Rc::new(value)),
            name: None,
            is_const: true,
        }
    }
}

/// An argument of a builtin: its value, and its place if it has one (out-parameters, atomics on lvalues).
#[derive(Clone, Debug)]
pub struct Argument {
    pub value: RValue,
    pub place: Option<LValue>,
    pub span: syntax::Span,
}

impl Argument {
    pub fn ty(&self) -> &CType {
        &self.value.ty
    }
}
