//! Constants of the standard library: traits of types, limits of numbers, macros that were not expanded.

use crate::lower::c_family::context::{Const, Context, Local, Number};
use crate::lower::c_family::types::*;
use syntax::c_family::ast::*;

impl Context<'_> {
    /// Traits and limits of the standard library, macros of <limits.h> and <float.h> that were not expanded.
    pub fn library_constant(&mut self, name: &Name) -> Option<Const> {
        let last = name.segments.last()?;
        let text = last.ident.name.as_str();
        // What the file declares under a macro's name is its own.
        if name.segments.len() == 1
            && let Some(found) = macro_constant(text)
            && self
                .entries(std::slice::from_ref(&last.ident.name))
                .is_empty()
        {
            return Some(found);
        }
        if self.is_c()
            && let Some(number) = crate::lower::c_family::builtins::c::number(text)
        {
            return Some(Const::int(number, CType::INT));
        }
        if self.is_hlsl()
            && let Some((number, ty)) =
                crate::lower::c_family::builtins::hlsl::names::constant(text)
        {
            return Some(Const::int(number, ty));
        }
        if let Some(trait_name) = text.strip_suffix("_v") {
            let arguments = self.template_arguments(last.template_arguments.as_deref()?);
            return self.type_trait(trait_name, &arguments);
        }
        if text == "value" && name.segments.len() >= 2 {
            let outer = &name.segments[name.segments.len() - 2];
            let trait_name = outer.ident.name.clone();
            let arguments = self.template_arguments(outer.template_arguments.as_deref()?);
            return self.type_trait(&trait_name, &arguments);
        }
        None
    }

    fn type_trait(&mut self, name: &str, arguments: &[Local]) -> Option<Const> {
        let ty = |n: usize| match arguments.get(n) {
            Some(Local::Type(ty)) => Some(ty.value_type().clone()),
            _ => None,
        };
        let first = ty(0)?;
        Some(Const::bool(match name {
            "is_same" => first == ty(1)?,
            "is_floating_point" => {
                matches!(first, CType::Float(FloatKind::Single | FloatKind::Double))
            }
            "is_integral" => matches!(first, CType::Int { .. } | CType::Bool),
            "is_signed" => first.is_signed(),
            "is_unsigned" => first.is_integer() && !first.is_signed(),
            "is_pointer" => first.is_pointer(),
            "is_arithmetic" => first.is_arithmetic() && first != CType::HALF,
            "is_void" => first.is_void(),
            "is_array" => first.is_array(),
            "is_class" => matches!(first, CType::Struct(_)),
            "is_enum" => matches!(first, CType::Enum { .. }),
            _ => return None,
        }))
    }
}

fn macro_constant(name: &str) -> Option<Const> {
    let float = |v: f64| {
        Some(Const {
            ty: CType::FLOAT,
            value: Number::Float(v),
        })
    };
    let double = |v: f64| {
        Some(Const {
            ty: CType::DOUBLE,
            value: Number::Float(v),
        })
    };
    let int = |v: i64, ty: CType| Some(Const::int(v, ty));
    match name {
        "INT_MAX" | "INT32_MAX" => int(i32::MAX as i64, CType::INT),
        "INT_MIN" | "INT32_MIN" => int(i32::MIN as i64, CType::INT),
        "UINT_MAX" | "UINT32_MAX" => int(u32::MAX as i64, CType::UINT),
        "LONG_MAX" | "LLONG_MAX" | "INT64_MAX" => int(i64::MAX, CType::LONG),
        "LONG_MIN" | "LLONG_MIN" | "INT64_MIN" => int(i64::MIN, CType::LONG),
        "ULONG_MAX" | "ULLONG_MAX" | "UINT64_MAX" | "SIZE_MAX" => int(-1, CType::ULONG),
        // POSIX says that it is one million.
        "CLOCKS_PER_SEC" => int(1_000_000, CType::LONG),
        "SHRT_MAX" => int(i16::MAX as i64, CType::INT),
        "SHRT_MIN" => int(i16::MIN as i64, CType::INT),
        "USHRT_MAX" => int(u16::MAX as i64, CType::INT),
        "UCHAR_MAX" => int(255, CType::INT),
        "CHAR_MAX" | "SCHAR_MAX" => int(127, CType::INT),
        "CHAR_MIN" | "SCHAR_MIN" => int(-128, CType::INT),
        "CHAR_BIT" => int(8, CType::INT),
        "NULL" => int(0, CType::LONG),
        "true" => Some(Const::bool(true)),
        "false" => Some(Const::bool(false)),
        "FLT_MAX" | "CUDART_MAX_NORMAL_F" => float(f32::MAX as f64),
        "FLT_MIN" => float(f32::MIN_POSITIVE as f64),
        "FLT_EPSILON" => float(f32::EPSILON as f64),
        "DBL_MAX" => double(f64::MAX),
        "DBL_MIN" => double(f64::MIN_POSITIVE),
        "DBL_EPSILON" => double(f64::EPSILON),
        "INFINITY" | "HUGE_VALF" | "CUDART_INF_F" => float(f64::INFINITY),
        "HUGE_VAL" | "CUDART_INF" => double(f64::INFINITY),
        "NAN" | "CUDART_NAN_F" => float(f64::NAN),
        "CUDART_NAN" => double(f64::NAN),
        "M_PI" | "CUDART_PI" => double(std::f64::consts::PI),
        "CUDART_PI_F" | "M_PI_F" | "M_PIf" => float(std::f64::consts::PI),
        "M_PI_2" => double(std::f64::consts::FRAC_PI_2),
        "M_PI_4" => double(std::f64::consts::FRAC_PI_4),
        "M_1_PI" => double(std::f64::consts::FRAC_1_PI),
        "M_2_PI" => double(std::f64::consts::FRAC_2_PI),
        "M_SQRT2" => double(std::f64::consts::SQRT_2),
        "M_SQRT1_2" => double(std::f64::consts::FRAC_1_SQRT_2),
        "M_E" => double(std::f64::consts::E),
        "M_LN2" => double(std::f64::consts::LN_2),
        "M_LN10" => double(std::f64::consts::LN_10),
        "M_LOG2E" => double(std::f64::consts::LOG2_E),
        "M_LOG10E" => double(std::f64::consts::LOG10_E),
        "RAND_MAX" => int(i32::MAX as i64, CType::INT),
        "cudaSuccess" | "cudaBoundaryModeTrap" | "cudaReadModeElementType" => int(0, CType::INT),
        "cudaReadModeNormalizedFloat"
        | "cudaBoundaryModeClamp"
        | "cudaStreamNonBlocking"
        | "cudaMemcpyHostToDevice" => int(1, CType::INT),
        "cudaMemcpyDeviceToHost" => int(2, CType::INT),
        "cudaMemcpyDeviceToDevice" => int(3, CType::INT),
        "cudaMemcpyDefault" => int(4, CType::INT),
        "cudaStreamDefault" | "cudaMemcpyHostToHost" => int(0, CType::INT),
        "cudaBoundaryModeZero" => int(2, CType::INT),
        "cudaTextureType1D" => int(1, CType::INT),
        "cudaTextureType2D" => int(2, CType::INT),
        "cudaTextureType3D" => int(3, CType::INT),
        "cudaTextureType2DLayered" => int(0xf2, CType::INT),
        "cudaTextureType1DLayered" => int(0xf1, CType::INT),
        "cudaTextureTypeCubemap" => int(0xc, CType::INT),
        "cudaTextureTypeCubemapLayered" => int(0xfc, CType::INT),
        _ => None,
    }
}
