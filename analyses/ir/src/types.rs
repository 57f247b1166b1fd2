//! Scalar types and memory spaces. Vectors, matrices and structures are scalarised by the lowerings; integers have
//! no sign, operations do.

/// The type of one SSA value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Type {
    Bool,
    I8,
    I16,
    I32,
    /// A number that an accumulator of a signal processor holds; it is in no memory.
    I40,
    I64,
    F16,
    BF16,
    F32,
    F64,
    /// A byte address, 64 bits wide in every space; in memory it may have 32 (`Function::narrow_addresses`).
    Ptr(Space),
    /// A texture, sampler or another object without an address.
    Handle,
    /// A value of known identity and unknown representation (matrix fragments, barrier tokens, ...): 64 bits wide.
    Opaque,
}

/// The memory that an address points into.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Space {
    /// Not known statically.
    Generic,
    /// Device memory: CUDA global memory, HLSL buffers.
    Global,
    /// One copy a workgroup.
    Shared,
    /// One copy a lane.
    Local,
    /// Read-only for the whole dispatch: `__constant__`, constant buffers, kernel parameters.
    Constant,
}

impl Type {
    /// Size in bytes; a `Bool` takes 1. In memory that of an address may be less (`bytes_in_memory`).
    pub const fn bytes(self) -> u32 {
        match self {
            Type::Bool | Type::I8 => 1,
            Type::I16 | Type::F16 | Type::BF16 => 2,
            Type::I32 | Type::F32 => 4,
            Type::I40 | Type::I64 | Type::F64 | Type::Ptr(_) | Type::Handle | Type::Opaque => 8,
        }
    }
    /// Size in bytes in memory, where addresses may be narrow: they have 32 bits there.
    pub const fn bytes_in_memory(self, narrow_addresses: bool) -> u32 {
        match self {
            Type::Ptr(_) if narrow_addresses => 4,
            other => other.bytes(),
        }
    }
    /// Width of the value in bits; 1 for `Bool`.
    pub const fn bits(self) -> u32 {
        match self {
            Type::Bool => 1,
            Type::I40 => 40,
            other => other.bytes() * 8,
        }
    }
    pub const fn is_int(self) -> bool {
        matches!(
            self,
            Type::I8 | Type::I16 | Type::I32 | Type::I40 | Type::I64
        )
    }
    pub const fn is_float(self) -> bool {
        matches!(self, Type::F16 | Type::BF16 | Type::F32 | Type::F64)
    }
    /// Integers, booleans and pointers: arithmetic modulo 2^bits.
    pub const fn is_integral(self) -> bool {
        self.is_int() || matches!(self, Type::Bool | Type::Ptr(_))
    }
    pub const fn int(bits: u32) -> Type {
        match bits {
            1 => Type::Bool,
            8 => Type::I8,
            16 => Type::I16,
            32 => Type::I32,
            40 => Type::I40,
            _ => Type::I64,
        }
    }
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Type::Bool => "bool",
            Type::I8 => "i8",
            Type::I16 => "i16",
            Type::I32 => "i32",
            Type::I40 => "i40",
            Type::I64 => "i64",
            Type::F16 => "f16",
            Type::BF16 => "bf16",
            Type::F32 => "f32",
            Type::F64 => "f64",
            Type::Ptr(Space::Generic) => "ptr",
            Type::Ptr(Space::Global) => "ptr.global",
            Type::Ptr(Space::Shared) => "ptr.shared",
            Type::Ptr(Space::Local) => "ptr.local",
            Type::Ptr(Space::Constant) => "ptr.constant",
            Type::Handle => "handle",
            Type::Opaque => "opaque",
        })
    }
}
