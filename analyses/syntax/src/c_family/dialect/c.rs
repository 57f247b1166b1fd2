//! The tables of C11 on a 64-bit Unix: `long` and pointers have 64 bits, or 32 as on signal processors. Neither a compiler
//! nor an architecture is predefined, so that sources take their portable paths; GNU's spellings are understood all the same.
//!
//! Words of C++ are names here. The declarations of the standard headers are known without them.

use super::SpecifierWord;
use crate::c_family::ast::SpecifierSet as S;
use crate::c_family::token::TokenKind;

pub(super) const NOT_OF_LONG_32_BIT: &[&str] = &["__LP64__", "_LP64"];

pub(super) const LONG_32_BIT: &[&str] = &[
    "__SIZEOF_LONG__=4",
    "__SIZEOF_SIZE_T__=4",
    "__SIZEOF_POINTER__=4",
    "__SIZE_TYPE__=unsigned int",
    "__PTRDIFF_TYPE__=int",
    "__INTMAX_TYPE__=long long",
    "__UINTMAX_TYPE__=unsigned long long",
    "__INTPTR_TYPE__=int",
    "__UINTPTR_TYPE__=unsigned int",
    "__INT64_TYPE__=long long",
    "__UINT64_TYPE__=unsigned long long",
    "__LONG_MAX__=2147483647L",
    "LONG_MAX=2147483647L",
    "LONG_MIN=(-2147483647L-1L)",
    "ULONG_MAX=4294967295UL",
    "SIZE_MAX=4294967295U",
    "UINTPTR_MAX=4294967295U",
    "INT64_MAX=9223372036854775807LL",
    "INT64_MIN=(-9223372036854775807LL-1LL)",
    "UINT64_MAX=18446744073709551615ULL",
];

pub(super) const PREDEFINED: &[&str] = &[
    "__STDC__=1",
    "__STDC_HOSTED__=1",
    "__STDC_VERSION__=201112L",
    "__STDC_NO_VLA__=1",
    "__STDC_NO_COMPLEX__=1",
    "__OPTIMIZE__=1",
    "__linux__=1",
    "__linux=1",
    "__unix__=1",
    "__unix=1",
    "__LP64__=1",
    "_LP64=1",
    "__CHAR_BIT__=8",
    "__SIZEOF_POINTER__=8",
    "__SIZEOF_LONG__=8",
    "__SIZEOF_LONG_LONG__=8",
    "__SIZEOF_SIZE_T__=8",
    "__SIZEOF_INT__=4",
    "__SIZEOF_SHORT__=2",
    "__SIZEOF_FLOAT__=4",
    "__SIZEOF_DOUBLE__=8",
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
    "__INT_MAX__=2147483647",
    "__LONG_MAX__=9223372036854775807L",
    "__FLT_EVAL_METHOD__=0",
    "__BYTE_ORDER__=1234",
    "__ORDER_LITTLE_ENDIAN__=1234",
    "__ORDER_BIG_ENDIAN__=4321",
    "__FLOAT_WORD_ORDER__=1234",
    "__DATE__=\"Jan  1 2000\"",
    "__TIME__=\"00:00:00\"",
    // What `#if` asks for, of headers that may not be in sight.
    "CHAR_BIT=8",
    "SCHAR_MAX=127",
    "SCHAR_MIN=(-128)",
    "CHAR_MAX=127",
    "CHAR_MIN=(-128)",
    "UCHAR_MAX=255",
    "SHRT_MAX=32767",
    "SHRT_MIN=(-32768)",
    "USHRT_MAX=65535",
    "INT_MAX=2147483647",
    "INT_MIN=(-2147483647-1)",
    "UINT_MAX=4294967295U",
    "LONG_MAX=9223372036854775807L",
    "LONG_MIN=(-9223372036854775807L-1L)",
    "ULONG_MAX=18446744073709551615UL",
    "LLONG_MAX=9223372036854775807LL",
    "LLONG_MIN=(-9223372036854775807LL-1LL)",
    "ULLONG_MAX=18446744073709551615ULL",
    "SIZE_MAX=18446744073709551615UL",
    "UINTPTR_MAX=18446744073709551615UL",
    "INT8_MAX=127",
    "INT16_MAX=32767",
    "INT32_MAX=2147483647",
    "INT64_MAX=9223372036854775807L",
    "UINT8_MAX=255",
    "UINT16_MAX=65535",
    "UINT32_MAX=4294967295U",
    "UINT64_MAX=18446744073709551615UL",
    "INT64_MIN=(-9223372036854775807L-1L)",
    "INT32_MIN=(-2147483647-1)",
    "NULL=((void*)0)",
    "EOF=(-1)",
    "assert(e)=((void)0)",
    "offsetof(t,m)=((unsigned long)&((t*)0)->m)",
    "__builtin_offsetof(t,m)=((unsigned long)&((t*)0)->m)",
    "va_arg(list,t)=(*(t*)__builtin_va_next(&(list),sizeof(t),_Alignof(t)))",
    "__builtin_va_arg(list,t)=(*(t*)__builtin_va_next(&(list),sizeof(t),_Alignof(t)))",
    "va_start(list,last)=((void)((list)=__builtin_va_area()))",
    "__builtin_va_start(list,last)=((void)((list)=__builtin_va_area()))",
    "va_end(list)=((void)(list))",
    "__builtin_va_end(list)=((void)(list))",
    "va_copy(to,from)=((void)((to)=(from)))",
    "__va_copy(to,from)=((void)((to)=(from)))",
    "__builtin_va_copy(to,from)=((void)((to)=(from)))",
];

pub(super) fn keyword(text: &str) -> Option<TokenKind> {
    use TokenKind as T;
    match text {
        // Storage, and nothing else, before C23.
        "auto" => return Some(T::Register),
        "typeof" => return Some(T::Decltype),
        _ => {}
    }
    TokenKind::keyword(text).filter(|kind| {
        matches!(
            kind,
            T::Alignas
                | T::Alignof
                | T::Asm
                | T::Break
                | T::Case
                | T::CharKw
                | T::Const
                | T::Continue
                | T::Default
                | T::Do
                | T::Double
                | T::Else
                | T::Enum
                | T::Extern
                | T::Float
                | T::For
                | T::Goto
                | T::If
                | T::Inline
                | T::Int
                | T::Long
                | T::Register
                | T::Return
                | T::Short
                | T::Signed
                | T::Sizeof
                | T::Static
                | T::StaticAssert
                | T::Struct
                | T::Switch
                | T::ThreadLocal
                | T::Typedef
                | T::Union
                | T::Unsigned
                | T::Void
                | T::Volatile
                | T::While
        )
    })
}

pub(super) fn specifier(text: &str) -> Option<SpecifierWord> {
    use SpecifierWord::{Attribute, Ignored, Set};
    Some(match text {
        "restrict" | "__restrict__" | "__restrict" => Set(S::RESTRICT),
        "__forceinline" => Set(S::FORCE_INLINE),
        "_Noreturn" | "noreturn" | "__extension__" | "_Atomic" | "__cdecl" | "__stdcall"
        | "__fastcall" | "__vectorcall" | "__w64" | "__ptr64" | "__unaligned" => Ignored,
        "__attribute__" | "__attribute" => Attribute("attribute"),
        "__declspec" => Attribute("declspec"),
        _ => return None,
    })
}

/// Types of the standard headers, and of POSIX by its convention.
pub(super) fn is_type(name: &str) -> bool {
    if name.ends_with("_t") && name.len() > 2 {
        return true;
    }
    matches!(
        name,
        "bool"
            | "FILE"
            | "DIR"
            | "va_list"
            | "__builtin_va_list"
            | "__gnuc_va_list"
            | "jmp_buf"
            | "sigjmp_buf"
            | "__int128"
            | "_Float16"
            | "_Float32"
            | "_Float64"
            | "_Float128"
            | "__float128"
            | "__fp16"
            | "u_char"
            | "u_short"
            | "u_int"
            | "u_long"
            | "__m128"
            | "__m128d"
            | "__m128i"
            | "__m256"
            | "__m256d"
            | "__m256i"
            | "__m512"
            | "__m512i"
            | "__m512d"
            | "Word8"
            | "UWord8"
            | "Word16"
            | "UWord16"
            | "Word32"
            | "UWord32"
            | "Word40"
    )
}
