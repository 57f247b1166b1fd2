//! Names of types that headers or the language declare: CUDA's and `<stdint.h>`'s, and HLSL's numbers, vectors and
//! matrices. C's own stand with its library (`builtins::c`).

use super::resolve::texture_reference;
use super::types::CType;

/// Types of CUDA's headers and of <stdint.h>.
pub(super) fn cuda_named(name: &str) -> Option<CType> {
    let scalar = match name {
        "size_t" | "uint64_t" | "uintptr_t" | "ulong" | "ulonglong" | "uint_fast64_t"
        | "uint64" | "uintmax_t" | "CUdeviceptr" | "ulonglong1" | "u64" => CType::ULONG,
        "ssize_t" | "int64_t" | "ptrdiff_t" | "intptr_t" | "longlong" | "clock_t" | "int64"
        | "intmax_t" | "__int64" | "longlong1" | "off_t" => CType::LONG,
        "uint32_t" | "uint" | "uint_fast32_t" | "uint1" | "uint32" | "u_int32_t" | "u32" => {
            CType::UINT
        }
        "int32_t" | "int_fast32_t" | "int1" | "int32" => CType::INT,
        "uint16_t" | "ushort" | "ushort1" | "uint16" => CType::USHORT,
        "int16_t" | "short1" | "int16" => CType::SHORT,
        "uint8_t" | "uchar" | "uchar1" | "u_char" | "uint8" | "byte" => CType::UCHAR,
        "int8_t" | "char1" | "int8" => CType::CHAR,
        "float1" | "float32_t" => CType::FLOAT,
        "double1" | "float64_t" => CType::DOUBLE,
        "half" | "__half" | "__half_raw" | "half_t" | "float16_t" => CType::HALF,
        "__nv_bfloat16" | "nv_bfloat16" | "__nv_bfloat16_raw" => CType::BFLOAT,
        "half2" | "__half2" | "__half2_raw" => return Some(CType::vector(CType::HALF, 2)),
        "__nv_bfloat162" | "nv_bfloat162" => return Some(CType::vector(CType::BFLOAT, 2)),
        "dim3" => return Some(CType::vector(CType::UINT, 3)),
        "cuComplex" | "cuFloatComplex" | "cufftComplex" => {
            return Some(CType::vector(CType::FLOAT, 2));
        }
        "cuDoubleComplex" | "cufftDoubleComplex" => return Some(CType::vector(CType::DOUBLE, 2)),
        "cufftReal" => CType::FLOAT,
        "cufftDoubleReal" => CType::DOUBLE,
        "__nv_fp8_e4m3" | "__nv_fp8_e5m2" | "__nv_fp8_storage_t" | "__nv_fp8x1" => CType::UCHAR,
        "cudaError_t" | "cudaMemcpyKind" | "CUresult" => CType::INT,
        "cudaTextureObject_t" | "cudaSurfaceObject_t" => {
            return Some(texture_reference(CType::FLOAT, &[]));
        }
        _ => {
            let n = name.as_bytes().last()?.wrapping_sub(b'0');
            if !(2..=4).contains(&n) {
                return None;
            }
            let element = match &name[..name.len() - 1] {
                "float" => CType::FLOAT,
                "double" => CType::DOUBLE,
                "int" => CType::INT,
                "uint" => CType::UINT,
                "short" => CType::SHORT,
                "ushort" => CType::USHORT,
                "char" => CType::CHAR,
                "uchar" => CType::UCHAR,
                "long" | "longlong" => CType::LONG,
                "ulong" | "ulonglong" => CType::ULONG,
                _ => return None,
            };
            return Some(CType::vector(element, n));
        }
    };
    Some(scalar)
}

/// HLSL's scalars, `floatN` and `floatNxM`.
pub fn hlsl_numeric(name: &str, native_16bit: bool) -> Option<CType> {
    let scalar = |name: &str| {
        Some(match name {
            "half" | "min16float" | "min10float" if native_16bit => CType::HALF,
            "min16int" | "min12int" if native_16bit => CType::SHORT,
            "min16uint" if native_16bit => CType::USHORT,
            "float" | "float32_t" => CType::FLOAT,
            "double" | "float64_t" => CType::DOUBLE,
            // Without -enable-16bit-types these are 32 bits wide in memory.
            "half" | "min16float" | "min10float" => CType::FLOAT,
            "min16int" | "min12int" => CType::INT,
            "min16uint" => CType::UINT,
            "float16_t" => CType::HALF,
            "int" | "int32_t" => CType::INT,
            "uint" | "uint32_t" | "dword" => CType::UINT,
            "int16_t" => CType::SHORT,
            "uint16_t" => CType::USHORT,
            "int64_t" => CType::LONG,
            "uint64_t" => CType::ULONG,
            "bool" => CType::Bool,
            _ => return None,
        })
    };
    if let Some(ty) = scalar(name) {
        return Some(ty);
    }
    let digit = |c: u8| (b'1'..=b'4').contains(&c).then(|| c - b'0');
    let bytes = name.as_bytes();
    let last = digit(*bytes.last()?)?;
    if bytes.len() > 3
        && bytes[bytes.len() - 2] == b'x'
        && let Some(rows) = digit(bytes[bytes.len() - 3])
        && let Some(element) = scalar(&name[..name.len() - 3])
    {
        return Some(CType::matrix(element, rows, last));
    }
    Some(CType::vector(scalar(&name[..name.len() - 1])?, last))
}
