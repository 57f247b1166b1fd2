//! Properties of the languages' own functions: which are pure, which type they have, and their results when
//! arguments are zero or one. A table; nothing is guessed: a name that is not here is unknown.

use super::fold::Abs;
use super::types::{Base, Shape, Ty, joined};
use ir::Language;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Pure,
    /// Differences between the lanes of a quad.
    Derivative,
    /// Other lanes' values, or how many there are.
    CrossLane,
    Barrier,
    /// Memory, rays, output: kept as it stands.
    Effect,
    /// The lane may end.
    Exit,
}

/// `None`: no function of the language.
pub(super) fn kind(word: &str, language: Language) -> Option<Kind> {
    match language {
        Language::Hlsl => hlsl(word),
        // What C's library does not have is a function of somebody.
        Language::C if !ir::lower::c_family::builtins::c::is_builtin(word) => None,
        _ => cuda(word),
    }
}

fn hlsl(word: &str) -> Option<Kind> {
    if !ir::lower::c_family::builtins::hlsl::names::is_builtin(word) {
        return None;
    }
    if word.starts_with("ddx") || word.starts_with("ddy") || word == "fwidth" {
        return Some(Kind::Derivative);
    }
    if word.starts_with("tex") {
        // `tex2Dlod` and `tex2Dgrad` say the level themselves.
        let own = word.ends_with("lod") || word.ends_with("grad");
        return Some(if own { Kind::Pure } else { Kind::Derivative });
    }
    if word.starts_with("Wave") || word.starts_with("Quad") {
        return Some(Kind::CrossLane);
    }
    if word.contains("Barrier") {
        return Some(Kind::Barrier);
    }
    if word == "clip" || word == "abort" {
        return Some(Kind::Exit);
    }
    let pure =
        word.starts_with(|c: char| c.is_ascii_lowercase()) && word != "printf" && word != "errorf"
            || matches!(
                word,
                "NonUniformResourceIndex"
                    | "D3DCOLORtoUBYTE4"
                    | "InstanceID"
                    | "PrimitiveIndex"
                    | "DispatchRaysIndex"
                    | "WorldRayOrigin"
                    | "WorldRayDirection"
                    | "RayTCurrent"
                    | "RayTMin"
            )
            || ir::lower::c_family::builtins::hlsl::is_tessellation(word);
    Some(if pure { Kind::Pure } else { Kind::Effect })
}

/// The name without CUDA's spelling of the type: `__expf`, `fmaf`, `sqrtf` as `exp`, `fma`, `sqrt`.
fn plain(word: &str) -> &str {
    let word = word.trim_start_matches("__");
    let word = word
        .strip_suffix("_rn")
        .or_else(|| word.strip_suffix("_rz"))
        .unwrap_or(word);
    match word {
        "fmaf" => "fma",
        "erf" | "modf" => word,
        _ => word.strip_suffix('f').unwrap_or(word),
    }
}

fn cuda(word: &str) -> Option<Kind> {
    const PURE: &[&str] = &[
        "abs",
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "cbrt",
        "ceil",
        "clz",
        "copysign",
        "cos",
        "cosh",
        "cospi",
        "erf",
        "erfc",
        "exp",
        "exp10",
        "exp2",
        "expm1",
        "fabs",
        "fadd",
        "fdim",
        "fdividef",
        "fdivide",
        "ffs",
        "floor",
        "fma",
        "fmax",
        "fmin",
        "fmod",
        "fmul",
        "fsub",
        "fdiv",
        "hypot",
        "ldg",
        "log",
        "log10",
        "log1p",
        "log2",
        "max",
        "min",
        "popc",
        "pow",
        "rcbrt",
        "rhypot",
        "rint",
        "round",
        "rsqrt",
        "saturate",
        "sin",
        "sinh",
        "sinpi",
        "sqrt",
        "tan",
        "tanh",
        "trunc",
        "umin",
        "umax",
        "mul24",
        "umul24",
        "mulhi",
        "umulhi",
        "frsqrt",
        "fsqrt",
        "frcp",
        "isnan",
        "isinf",
        "isfinite",
        "signbit",
        "brev",
        "lgamma",
        "tgamma",
        "int_as_float",
        "float_as_int",
        "uint_as_float",
        "float_as_uint",
        "float2int",
        "int2float",
        "float2int_rd",
        "float2int_ru",
        "float2half",
        "half2float",
        "lerp",
        "clamp",
        "norm3d",
        "rnorm3d",
    ];
    if PURE.contains(&plain(word)) || PURE.contains(&word.trim_start_matches("__")) {
        return Some(Kind::Pure);
    }
    if let Some(vector) = word.strip_prefix("make_") {
        return super::types::numeric_name(vector, Language::Cuda).map(|_| Kind::Pure);
    }
    if ["tex1D", "tex2D", "tex3D", "texCubemap"]
        .iter()
        .any(|p| word.starts_with(p))
    {
        return Some(Kind::Pure);
    }
    if word.starts_with("__syncthreads") || word == "__syncwarp" || word.starts_with("__cluster") {
        return Some(Kind::Barrier);
    }
    let lanes = [
        "__shfl",
        "__all",
        "__any",
        "__ballot",
        "__activemask",
        "__match",
        "__reduce",
        "__uni",
    ];
    if lanes.iter().any(|p| word.starts_with(p)) {
        return Some(Kind::CrossLane);
    }
    if word.starts_with("atomic") || word.starts_with("__threadfence") || word == "printf" {
        return Some(Kind::Effect);
    }
    if matches!(word, "__trap" | "__brkpt" | "assert" | "__assert_fail") {
        return Some(Kind::Exit);
    }
    None
}

/// Work, in additions.
pub(super) fn weight(word: &str, language: Language) -> u32 {
    match plain(word) {
        "sin" | "cos" | "exp" | "exp2" | "log" | "log2" | "sqrt" | "rsqrt" | "rcp" => 6,
        "pow" | "atan2" | "atan" | "acos" | "asin" | "tanh" | "div" | "sincos" | "fmod" => 20,
        "normalize" | "length" | "distance" | "reflect" | "refract" | "smoothstep" => 12,
        "dot" | "cross" | "lerp" | "mad" | "fma" => 3,
        "mul" => 12,
        _ if word.starts_with("tex") => 40,
        _ if kind(word, language) == Some(Kind::CrossLane) => 8,
        _ => 2,
    }
}

/// The type of a call.
pub(super) fn result(word: &str, types: &[Ty], language: Language) -> Ty {
    if language != Language::Hlsl && types.iter().any(|ty| !ty.is_scalar()) {
        return Ty::Unknown;
    }
    let mut base = Base::Bool;
    let mut shape = Shape::Scalar;
    for ty in types {
        let Some((b, s)) = ty.number() else {
            return Ty::Unknown;
        };
        base = base.max(b);
        match joined(shape, s) {
            Some(s) => shape = s,
            None if word == "mul" => {}
            None => return Ty::Unknown,
        }
    }
    let float = if base == Base::Double || base == Base::Half {
        base
    } else {
        Base::Float
    };
    if language != Language::Hlsl {
        // Without its suffix a function of C's library takes what it is given in C++.
        let single = word.ends_with('f') || word.starts_with("__");
        return match plain(word) {
            "max" | "min" | "abs" | "fmax" | "fmin" | "fabs" | "fma" | "clamp" => {
                Ty::scalar(if single && base.is_float() {
                    Base::Float
                } else if language == Language::C && word != "abs" {
                    Base::Double
                } else {
                    base
                })
            }
            "sin" | "cos" | "tan" | "exp" | "exp2" | "log" | "log2" | "log10" | "sqrt"
            | "rsqrt" | "pow" | "tanh" | "floor" | "ceil" | "rint" | "round" | "trunc" | "fmul"
            | "fadd" | "saturate" | "fdivide" | "fdiv" | "fmod" | "erf" | "asin" | "acos"
            | "atan" | "atan2" | "sinh" | "cosh" | "cbrt" => Ty::scalar(if single {
                Base::Float
            } else if base.is_float() && language != Language::C {
                base
            } else {
                Base::Double
            }),
            _ => Ty::Unknown,
        };
    }
    match word {
        "abs" | "max" | "min" | "clamp" | "sign" | "mad" | "fma" | "max3" | "min3" => {
            let base = if word == "sign" { Base::Int } else { base };
            Ty::Number(base, shape)
        }
        "saturate" | "lerp" | "sqrt" | "rsqrt" | "rcp" | "pow" | "exp" | "exp2" | "log"
        | "log2" | "log10" | "sin" | "cos" | "tan" | "asin" | "acos" | "atan" | "atan2"
        | "sinh" | "cosh" | "tanh" | "floor" | "ceil" | "round" | "trunc" | "frac" | "fmod"
        | "step" | "smoothstep" | "normalize" | "reflect" | "radians" | "degrees" | "cross"
        | "ddx" | "ddy" | "fwidth" | "ddx_fine" | "ddy_fine" | "ddx_coarse" | "ddy_coarse" => {
            Ty::Number(float, shape)
        }
        "dot" if types.len() == 2 => Ty::scalar(base),
        "length" | "distance" => Ty::scalar(float),
        "any" | "all" | "isnan" | "isinf" => Ty::scalar(Base::Bool),
        "mul" if types.len() == 2 => {
            let shapes: Vec<Shape> = types
                .iter()
                .filter_map(|t| t.number().map(|n| n.1))
                .collect();
            match shapes.as_slice() {
                [Shape::Matrix(rows, _), Shape::Vector(_)] => vector(base, *rows),
                [Shape::Vector(_), Shape::Matrix(_, columns)] => vector(base, *columns),
                [Shape::Matrix(rows, _), Shape::Matrix(_, columns)] => {
                    Ty::Number(base, Shape::Matrix(*rows, *columns))
                }
                [Shape::Vector(_), Shape::Vector(_)] => Ty::scalar(base),
                [Shape::Scalar, other] | [other, Shape::Scalar] => Ty::Number(base, *other),
                _ => Ty::Unknown,
            }
        }
        "select" if types.len() == 3 => match types[1].number() {
            Some((base, _)) => Ty::Number(base, shape),
            None => Ty::Unknown,
        },
        "asuint" => Ty::Number(Base::Uint, shape),
        "asint" => Ty::Number(Base::Int, shape),
        "asfloat" => Ty::Number(Base::Float, shape),
        "WaveActiveAllTrue" | "WaveActiveAnyTrue" => Ty::scalar(Base::Bool),
        _ => Ty::Unknown,
    }
}

fn vector(base: Base, lanes: u8) -> Ty {
    Ty::Number(base, Shape::Vector(lanes))
}

/// The result of a call in the fast path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Folded {
    Same,
    Constant(f64),
    Argument(usize),
}

/// `free`: zero times anything is zero. Only results that hold for every value of the unknown arguments.
pub(super) fn fold(word: &str, arguments: &[Abs], free: bool) -> Folded {
    let is = |at: usize, number: f64| {
        arguments
            .get(at)
            .is_some_and(|abs| abs.all() == Some(number))
    };
    let zero = |at: usize| is(at, 0.0);
    let number = |at: usize| arguments.get(at).and_then(|abs| abs.all());
    match (plain(word), arguments.len()) {
        (
            "abs" | "fabs" | "sqrt" | "fsqrt" | "floor" | "ceil" | "round" | "rint" | "trunc"
            | "frac" | "saturate" | "sin" | "tan" | "asin" | "atan" | "sinh" | "tanh" | "radians"
            | "degrees" | "sign" | "length" | "cbrt",
            1,
        ) if zero(0) => Folded::Constant(0.0),
        ("saturate" | "abs" | "sign" | "sqrt", 1) if is(0, 1.0) => Folded::Constant(1.0),
        ("exp" | "exp2" | "cos" | "cosh", 1) if zero(0) => Folded::Constant(1.0),
        ("any" | "all", 1) => match number(0) {
            Some(value) => Folded::Constant(f64::from(u8::from(value != 0.0))),
            None => Folded::Same,
        },
        ("dot", 2) => {
            // Lane by lane: each product has a zero.
            let lanes = (0..4).all(|lane| {
                let lane_zero = |at: usize| arguments[at].lane(lane) == Some(0.0);
                lane_zero(0) || lane_zero(1)
            });
            if free && lanes {
                Folded::Constant(0.0)
            } else {
                Folded::Same
            }
        }
        ("mul" | "cross" | "fmul", 2) if free && (zero(0) || zero(1)) => Folded::Constant(0.0),
        ("lerp", 3) if free && zero(2) => Folded::Argument(0),
        ("lerp", 3) if free && zero(0) && zero(1) => Folded::Constant(0.0),
        ("mad" | "fma", 3) if free && (zero(0) || zero(1)) => Folded::Argument(2),
        ("max" | "min" | "fmax" | "fmin", 2) => match (number(0), number(1)) {
            (Some(a), Some(b)) if plain(word).ends_with("max") => Folded::Constant(a.max(b)),
            (Some(a), Some(b)) => Folded::Constant(a.min(b)),
            _ => Folded::Same,
        },
        ("clamp", 3) => match (number(0), number(1), number(2)) {
            (Some(x), Some(low), Some(high)) if low <= high => Folded::Constant(x.clamp(low, high)),
            _ => Folded::Same,
        },
        ("step", 2) => match (number(0), number(1)) {
            (Some(edge), Some(x)) => Folded::Constant(f64::from(u8::from(x >= edge))),
            _ => Folded::Same,
        },
        ("smoothstep", 3) => match (number(0), number(1), number(2)) {
            (Some(low), Some(high), Some(x)) if low < high && x <= low => Folded::Constant(0.0),
            (Some(low), Some(high), Some(x)) if low < high && x >= high => Folded::Constant(1.0),
            _ => Folded::Same,
        },
        ("pow", 2) if free && zero(0) && number(1).is_some_and(|by| by > 0.0) => {
            Folded::Constant(0.0)
        }
        ("select", 3) => match number(0) {
            Some(condition) => Folded::Argument(if condition != 0.0 { 1 } else { 2 }),
            None => Folded::Same,
        },
        _ => Folded::Same,
    }
}
