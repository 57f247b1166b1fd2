//! The differences between the languages of the C family: tables, not parsers. A dialect lists the words that
//! are specifiers, the names that are types without a declaration in sight, the macros that the compiler
//! predefines, and the brackets of attributes.

mod c;

use super::ast::SpecifierSet;
use super::token::TokenKind;
use smol_str::{SmolStr, format_smolstr};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Dialect {
    Cuda,
    Hlsl,
    /// C11.
    C,
}

/// The effect of a word that is no keyword in front of a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpecifierWord {
    /// Adds these bits.
    Set(u64),
    /// As `Set`, but only when a type or another specifier follows: the word may also be a name.
    Contextual(u64),
    /// HLSL parameter directions.
    In,
    Out,
    InOut,
    /// Means nothing to execution (`__cdecl`, `shared` of the effect framework).
    Ignored,
    IgnoredContextual,
    /// An attribute; arguments in parentheses may follow.
    Attribute(&'static str),
}

impl Dialect {
    /// Guesses from a file's name.
    pub fn from_extension(extension: &str) -> Option<Dialect> {
        match extension.to_ascii_lowercase().as_str() {
            "cu" | "cuh" => Some(Dialect::Cuda),
            "hlsl" | "hlsli" | "fx" | "fxh" | "usf" | "ush" => Some(Dialect::Hlsl),
            "c" => Some(Dialect::C),
            _ => None,
        }
    }

    /// The keyword a spelling is in this dialect.
    pub fn keyword(self, text: &str) -> Option<TokenKind> {
        if text.len() < 2 || text.len() > 16 || !text.as_bytes()[0].is_ascii_lowercase() {
            return if text.starts_with('_') {
                underscored_keyword(text)
            } else {
                None
            };
        }
        if self == Dialect::C {
            return c::keyword(text);
        }
        let kind = TokenKind::keyword(text);
        match (self, kind) {
            (_, None) => match (self, text) {
                (Dialect::Cuda, "and") => Some(TokenKind::AndAnd),
                (Dialect::Cuda, "or") => Some(TokenKind::OrOr),
                (Dialect::Cuda, "not") => Some(TokenKind::Bang),
                (Dialect::Cuda, "not_eq") => Some(TokenKind::NotEqual),
                (Dialect::Cuda, "bitand") => Some(TokenKind::And),
                (Dialect::Cuda, "bitor") => Some(TokenKind::Or),
                (Dialect::Cuda, "xor") => Some(TokenKind::Xor),
                (Dialect::Cuda, "compl") => Some(TokenKind::Tilde),
                (_, "typeof") => Some(TokenKind::Decltype),
                _ => None,
            },
            (Dialect::Cuda, Some(TokenKind::Discard | TokenKind::Interface)) => None,
            // C++20's are left to be names where older code uses them so.
            (Dialect::Cuda, Some(TokenKind::Concept | TokenKind::Requires)) => kind,
            (
                Dialect::Hlsl,
                Some(
                    TokenKind::Concept
                    | TokenKind::Requires
                    | TokenKind::Asm
                    | TokenKind::New
                    | TokenKind::Delete
                    | TokenKind::Try
                    | TokenKind::Catch
                    | TokenKind::Throw
                    | TokenKind::Noexcept
                    | TokenKind::Goto
                    | TokenKind::Typeid
                    | TokenKind::Virtual
                    | TokenKind::Mutable
                    | TokenKind::Explicit
                    | TokenKind::Alignas
                    | TokenKind::Alignof
                    | TokenKind::Nullptr
                    | TokenKind::Constinit
                    | TokenKind::Consteval
                    | TokenKind::ThreadLocal
                    | TokenKind::Char8
                    | TokenKind::Char16
                    | TokenKind::Char32
                    | TokenKind::Wchar,
                ),
            ) => None,
            _ => kind,
        }
    }

    pub fn specifier_word(self, text: &str) -> Option<SpecifierWord> {
        match self {
            Dialect::Cuda => cuda_specifier(text),
            Dialect::Hlsl => hlsl_specifier(text),
            Dialect::C => c::specifier(text),
        }
    }

    /// The specifier word that an attribute's name stands for: the toolkit's headers define `__global__` as
    /// `__attribute__((global))`, `__launch_bounds__(n)` as `__attribute__((launch_bounds(n)))`.
    pub fn word_of_attribute(self, name: &str) -> Option<SmolStr> {
        if self != Dialect::Cuda {
            return None;
        }
        let bare = name
            .strip_prefix("__")
            .and_then(|inner| inner.strip_suffix("__"));
        let word = format_smolstr!("__{}__", bare.unwrap_or(name));
        let known = match cuda_specifier(&word)? {
            SpecifierWord::Set(_) => true,
            SpecifierWord::Attribute(entry) => entry != "attribute",
            _ => false,
        };
        known.then_some(word)
    }

    /// A type that needs no declaration in the unit.
    pub fn is_builtin_type(self, name: &str) -> bool {
        match self {
            Dialect::Cuda => cuda_type(name),
            Dialect::Hlsl => hlsl_type(name) || self.is_builtin_template(name),
            Dialect::C => c::is_type(name),
        }
    }

    /// A builtin type whose name is more than a habit: `delta_t` may well be a variable, `uint32_t` never is.
    pub fn is_certain_type(self, name: &str) -> bool {
        let habit = self != Dialect::Hlsl && name.ends_with("_t");
        let standard = [
            "int", "uint", "size", "ssize", "ptrdiff", "cu", "nv", "clock", "time_t", "half",
        ];
        self.is_builtin_type(name) && (!habit || standard.iter().any(|word| name.starts_with(word)))
    }

    /// A template that needs no declaration in the unit: `<` after it always opens arguments.
    pub fn is_builtin_template(self, name: &str) -> bool {
        match self {
            Dialect::C => false,
            Dialect::Cuda => matches!(
                name,
                "device_vector"
                    | "host_vector"
                    | "device_ptr"
                    | "vector"
                    | "pair"
                    | "tuple"
                    | "array"
                    | "numeric_limits"
                    | "shared_ptr"
                    | "unique_ptr"
                    | "make_unique"
                    | "make_shared"
                    | "enable_if_t"
                    | "is_same_v"
                    | "conditional_t"
                    | "tiled_partition"
                    | "thread_block_tile"
                    | "coalesced_group"
                    | "fragment"
                    | "function"
                    | "optional"
                    | "is_same"
                    | "enable_if"
                    | "conditional"
                    | "integral_constant"
                    | "texture"
                    | "surface"
                    | "remove_cv_t"
                    | "decay_t"
                    | "declval"
                    | "span"
                    | "atomic"
                    | "atomic_ref"
                    | "basic_string"
                    | "map"
                    | "set"
                    | "unordered_map"
                    | "initializer_list"
                    | "integer_sequence"
                    | "index_sequence"
            ),
            Dialect::Hlsl => {
                matches!(
                    name,
                    "vector"
                        | "matrix"
                        | "Buffer"
                        | "RWBuffer"
                        | "StructuredBuffer"
                        | "RWStructuredBuffer"
                        | "AppendStructuredBuffer"
                        | "ConsumeStructuredBuffer"
                        | "RasterizerOrderedBuffer"
                        | "RasterizerOrderedStructuredBuffer"
                        | "ConstantBuffer"
                        | "TextureBuffer"
                        | "InputPatch"
                        | "OutputPatch"
                        | "PointStream"
                        | "LineStream"
                        | "TriangleStream"
                        | "SubpassInput"
                        | "SubpassInputMS"
                        | "FeedbackTexture2D"
                        | "FeedbackTexture2DArray"
                        | "DispatchNodeInputRecord"
                        | "NodeOutput"
                        | "RWDispatchNodeInputRecord"
                        | "GroupNodeInputRecords"
                        | "RWGroupNodeInputRecords"
                        | "ThreadNodeInputRecord"
                        | "RWThreadNodeInputRecord"
                        | "NodeOutputArray"
                        | "ThreadNodeOutputRecords"
                        | "GroupNodeOutputRecords"
                        | "RayQuery"
                        | "GloballyCoherent"
                        | "HitObject"
                ) || texture_type(name)
            }
        }
    }

    /// Square brackets in front of a declaration or statement are an attribute.
    pub fn bracket_attributes(self) -> bool {
        self == Dialect::Hlsl
    }

    /// The language has templates, namespaces and classes.
    pub fn has_templates(self) -> bool {
        self != Dialect::C
    }

    /// The macros of C where `long` has 32 bits, which come behind those that are predefined.
    pub const LONG_32_BIT: &[&str] = c::LONG_32_BIT;
    /// The predefined macros that are not defined there: headers take 64-bit types by them.
    pub const NOT_OF_LONG_32_BIT: &[&str] = c::NOT_OF_LONG_32_BIT;

    /// Returns the macros that the compiler defines before the first line, as `NAME` or `NAME=VALUE`.
    pub fn predefined(self) -> &'static [&'static str] {
        match self {
            Dialect::Cuda => CUDA_PREDEFINED,
            Dialect::Hlsl => HLSL_PREDEFINED,
            Dialect::C => c::PREDEFINED,
        }
    }
}

const CUDA_PREDEFINED: &[&str] = &[
    "__CUDACC__=1",
    "__NVCC__=1",
    "__CUDA_ARCH__=800",
    "__CUDA_ARCH_LIST__=800",
    "__CUDACC_VER_MAJOR__=12",
    "__CUDACC_VER_MINOR__=8",
    "__CUDACC_VER_BUILD__=0",
    "__CUDACC_EXTENDED_LAMBDA__=1",
    // Of HIP's headers, in sources for both.
    "HIP_DYNAMIC_SHARED(type, var)=extern __shared__ type var[];",
    "CUDART_VERSION=12080",
    "CUDA_VERSION=12080",
    "__cplusplus=201703L",
    "__STDC__=1",
    "__STDC_HOSTED__=1",
    "__GNUC__=11",
    "__GNUC_MINOR__=4",
    "__GNUG__=11",
    "__linux__=1",
    "__linux=1",
    "__unix__=1",
    "__x86_64__=1",
    "__x86_64=1",
    "__LP64__=1",
    "_LP64=1",
    "__CHAR_BIT__=8",
    "__SIZEOF_POINTER__=8",
    "__SIZEOF_LONG__=8",
    "__SIZEOF_INT__=4",
    "__SIZE_TYPE__=unsigned long",
    "__PTRDIFF_TYPE__=long",
    "__WCHAR_TYPE__=int",
    "__WINT_TYPE__=unsigned int",
    "__INTMAX_TYPE__=long",
    "__UINTMAX_TYPE__=unsigned long",
    "__INTPTR_TYPE__=long",
    "__UINTPTR_TYPE__=unsigned long",
    "__SIG_ATOMIC_TYPE__=int",
    "__INT8_TYPE__=signed char",
    "__INT16_TYPE__=short",
    "__INT32_TYPE__=int",
    "__INT64_TYPE__=long",
    "__UINT8_TYPE__=unsigned char",
    "__UINT16_TYPE__=unsigned short",
    "__UINT32_TYPE__=unsigned int",
    "__UINT64_TYPE__=unsigned long",
    "__BYTE_ORDER__=1234",
    "__ORDER_LITTLE_ENDIAN__=1234",
    "__ORDER_BIG_ENDIAN__=4321",
    "__DATE__=\"Jan  1 2000\"",
    "__TIME__=\"00:00:00\"",
];

const HLSL_PREDEFINED: &[&str] = &[
    "__HLSL_VERSION=2021",
    "__hlsl_dx_compiler=1",
    "__DXC_VERSION_MAJOR=1",
    "__DXC_VERSION_MINOR=8",
    "__DXC_VERSION_RELEASE=0",
    "__DXC_VERSION_COMMITS=0",
    "__SHADER_TARGET_MAJOR=6",
    "__SHADER_TARGET_MINOR=6",
    "__SHADER_STAGE_PIXEL=0",
    "__SHADER_STAGE_VERTEX=1",
    "__SHADER_STAGE_GEOMETRY=2",
    "__SHADER_STAGE_HULL=3",
    "__SHADER_STAGE_DOMAIN=4",
    "__SHADER_STAGE_COMPUTE=5",
    "__SHADER_STAGE_LIBRARY=6",
    "__SHADER_STAGE_MESH=13",
    "__SHADER_STAGE_AMPLIFICATION=14",
];

fn underscored_keyword(text: &str) -> Option<TokenKind> {
    Some(match text {
        "__asm__" | "__asm" => TokenKind::Asm,
        "__inline__" | "__inline" => TokenKind::Inline,
        "__volatile__" | "__volatile" => TokenKind::Volatile,
        "__const" | "__const__" => TokenKind::Const,
        "__signed__" => TokenKind::Signed,
        "__typeof__" | "__typeof" | "__decltype" => TokenKind::Decltype,
        "__alignof__" | "__alignof" | "_Alignof" => TokenKind::Alignof,
        "_Alignas" => TokenKind::Alignas,
        "_Static_assert" => TokenKind::StaticAssert,
        "_Bool" => TokenKind::Bool,
        "_Thread_local" | "__thread" => TokenKind::ThreadLocal,
        _ => return None,
    })
}

fn cuda_specifier(text: &str) -> Option<SpecifierWord> {
    use SpecifierSet as S;
    use SpecifierWord::{Attribute, Ignored, Set};
    if !text.starts_with('_') {
        return match text {
            "restrict" => Some(Set(S::RESTRICT)),
            _ => None,
        };
    }
    Some(match text {
        "__global__" => Set(S::CUDA_GLOBAL),
        "__device__" => Set(S::CUDA_DEVICE),
        "__host__" => Set(S::CUDA_HOST),
        "__shared__" => Set(S::SHARED),
        "__constant__" => Set(S::CONSTANT),
        "__managed__" => Set(S::MANAGED),
        "__grid_constant__" => Set(S::GRID_CONSTANT),
        "__restrict__" | "__restrict" => Set(S::RESTRICT),
        "__forceinline__" | "__forceinline" => Set(S::FORCE_INLINE),
        "__noinline__" => Set(S::NO_INLINE),
        "__inline_hint__" | "__device_builtin__" | "__cudart_builtin__" | "__builtin_align__"
        | "__extension__" | "__cdecl" | "__stdcall" | "__fastcall" | "__vectorcall"
        | "__tile__" | "__nv_pure__" | "_Noreturn" | "__host_device__" => Ignored,
        "__launch_bounds__" => Attribute("launch_bounds"),
        "__maxnreg__" => Attribute("maxnreg"),
        "__cluster_dims__" => Attribute("cluster_dims"),
        "__block_size__" => Attribute("block_size"),
        "__local_maxnreg__" => Attribute("local_maxnreg"),
        "__align__" => Attribute("align"),
        "__attribute__" | "__attribute" => Attribute("attribute"),
        "__declspec" => Attribute("declspec"),
        _ => return None,
    })
}

fn hlsl_specifier(text: &str) -> Option<SpecifierWord> {
    use SpecifierSet as S;
    use SpecifierWord::{Contextual, IgnoredContextual, In, InOut, Out, Set};
    Some(match text {
        "in" => In,
        "out" => Out,
        "inout" => InOut,
        "groupshared" => Set(S::SHARED),
        "uniform" => Contextual(S::UNIFORM),
        "nointerpolation" => Set(S::NOINTERPOLATION),
        "linear" => Contextual(S::LINEAR),
        "centroid" => Contextual(S::CENTROID),
        "noperspective" => Set(S::NOPERSPECTIVE),
        "sample" => Contextual(S::SAMPLE),
        "precise" => Contextual(S::PRECISE),
        "row_major" => Set(S::ROW_MAJOR),
        "column_major" => Set(S::COLUMN_MAJOR),
        "globallycoherent" => Set(S::GLOBALLY_COHERENT),
        "reordercoherent" => Set(S::GLOBALLY_COHERENT),
        "unorm" => Contextual(S::UNORM),
        "snorm" => Contextual(S::SNORM),
        "export" => Contextual(S::EXPORT),
        "point" | "line" | "triangle" | "lineadj" | "triangleadj" => Contextual(S::GEOMETRY_INPUT),
        "vertices" | "indices" | "primitives" | "payload" => Contextual(S::MESH_PARAMETER),
        "noinline" => Contextual(S::NO_INLINE),
        "shared" | "center" | "mutable" | "single" | "volatile" => IgnoredContextual,
        _ => return None,
    })
}

/// `base` followed by a vector size 1 to 4, or nothing more.
fn vector_suffix(name: &str, bases: &[&str]) -> bool {
    let trimmed = name.strip_suffix(|c: char| ('1'..='4').contains(&c));
    trimmed.is_some_and(|base| bases.contains(&base))
}

fn cuda_type(name: &str) -> bool {
    const VECTORS: &[&str] = &[
        "char",
        "uchar",
        "short",
        "ushort",
        "int",
        "uint",
        "long",
        "ulong",
        "longlong",
        "ulonglong",
        "float",
        "double",
    ];
    if name.ends_with("_t") && name.len() > 2 {
        return true;
    }
    vector_suffix(name, VECTORS)
        || matches!(
            name,
            "dim3"
                | "uint"
                | "ushort"
                | "uchar"
                | "ulong"
                | "half"
                | "half2"
                | "__half"
                | "__half2"
                | "nv_bfloat16"
                | "nv_bfloat162"
                | "__nv_bfloat16"
                | "__nv_bfloat162"
                | "__int64"
                | "__int128"
                | "__uint128_t"
                | "_Float16"
                | "__float128"
                | "FILE"
                | "cudaStream_t"
                | "cudaTextureObject_t"
                | "cudaSurfaceObject_t"
                | "clock_t"
                | "string"
                | "ostream"
                | "uint8"
                | "uint16"
                | "uint32"
                | "uint64"
                | "int8"
                | "int16"
                | "int32"
                | "int64"
                | "va_list"
                | "CUdeviceptr"
                | "__m128"
                | "__m128i"
                | "__nv_fp8_e4m3"
                | "__nv_fp8_e5m2"
        )
}

fn hlsl_type(name: &str) -> bool {
    const SCALARS: &[&str] = &[
        "float",
        "int",
        "uint",
        "bool",
        "half",
        "double",
        "dword",
        "float16_t",
        "float32_t",
        "float64_t",
        "int16_t",
        "int32_t",
        "int64_t",
        "uint16_t",
        "uint32_t",
        "uint64_t",
        "min16float",
        "min16int",
        "min16uint",
        "min10float",
        "min12int",
    ];
    if SCALARS.contains(&name) || vector_suffix(name, SCALARS) {
        return true;
    }
    if let Some((rows, columns)) = name.rsplit_once('x')
        && matches!(columns, "1" | "2" | "3" | "4")
        && vector_suffix(rows, SCALARS)
    {
        return true;
    }
    texture_type(name)
        || matches!(
            name,
            "SamplerState"
                | "SamplerComparisonState"
                | "sampler"
                | "sampler1D"
                | "sampler2D"
                | "sampler3D"
                | "samplerCUBE"
                | "sampler_state"
                | "texture"
                | "Texture"
                | "string"
                | "ByteAddressBuffer"
                | "RWByteAddressBuffer"
                | "RasterizerOrderedByteAddressBuffer"
                | "RaytracingAccelerationStructure"
                | "RayDesc"
                | "BuiltInTriangleIntersectionAttributes"
                | "vector"
                | "matrix"
                | "BlendState"
                | "DepthStencilState"
                | "RasterizerState"
                | "VertexShader"
                | "PixelShader"
                | "GeometryShader"
                | "ComputeShader"
                | "HullShader"
                | "DomainShader"
                | "SUBOBJECT"
                | "StateObjectConfig"
                | "GlobalRootSignature"
                | "LocalRootSignature"
                | "TriangleHitGroup"
                | "ProceduralPrimitiveHitGroup"
                | "RaytracingShaderConfig"
                | "RaytracingPipelineConfig"
                | "RaytracingPipelineConfig1"
                | "SubobjectToExportsAssociation"
                | "int8_t4_packed"
                | "uint8_t4_packed"
                | "EmptyNodeInput"
                | "EmptyNodeOutput"
                | "EmptyNodeOutputArray"
        )
}

fn texture_type(name: &str) -> bool {
    let base = name
        .strip_prefix("RW")
        .or_else(|| name.strip_prefix("RasterizerOrdered"))
        .unwrap_or(name);
    matches!(
        base,
        "Texture1D"
            | "Texture1DArray"
            | "Texture2D"
            | "Texture2DArray"
            | "Texture2DMS"
            | "Texture2DMSArray"
            | "Texture3D"
            | "TextureCube"
            | "TextureCubeArray"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_and_matrix_names_are_types() {
        for name in [
            "float4x4",
            "uint3",
            "min16float3x3",
            "float16_t4",
            "RWTexture2D",
            "StructuredBuffer",
        ] {
            assert!(Dialect::Hlsl.is_builtin_type(name), "{name}");
        }
        assert!(!Dialect::Hlsl.is_builtin_type("float5"));
        assert!(Dialect::Cuda.is_builtin_type("uchar4") && Dialect::Cuda.is_builtin_type("size_t"));
        assert!(!Dialect::Cuda.is_builtin_type("x4"));
    }
}
