//! The words of the text form, one a variant.

use crate::function::*;
use crate::inst::*;
use crate::types::{Space, Type};

/// A type whose values have one word each.
pub trait Named: Copy + 'static {
    /// Every value, with its word.
    const ALL: &'static [(Self, &'static str)];
    /// Its word.
    fn name(self) -> &'static str;
    /// The value of a word.
    fn from_name(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, word)| *word == name);
        found.map(|&(value, _)| value)
    }
}

macro_rules! names {
    ($($ty:ident { $($variant:ident $name:literal,)* })*) => {$(
        impl Named for $ty {
            const ALL: &'static [(Self, &'static str)] = &[$(($ty::$variant, $name)),*];
            fn name(self) -> &'static str {
                match self { $($ty::$variant => $name),* }
            }
        }
    )*};
}

names! {
    UnaryOp {
        Neg "neg", Not "not", IntAbs "abs", PopCount "popcount", CountLeadingZeros "clz", CountTrailingZeros "ctz",
        FindHighBitUnsigned "find_high_u", FindHighBitSigned "find_high_s", FindFirstSet "find_first",
        ReverseBits "reverse_bits", ReverseBytes "reverse_bytes", AbsSaturateSigned "abs_sat",
        Normalize "normalize", RoundHigh "round_high", FloatNeg "fneg", FloatAbs "fabs", Sqrt "sqrt",
        Rsqrt "rsqrt", Reciprocal "reciprocal", Cbrt "cbrt", Sin "sin", Cos "cos", Tan "tan", Asin "asin",
        Acos "acos", Atan "atan", Sinh "sinh", Cosh "cosh", Tanh "tanh", Asinh "asinh", Acosh "acosh",
        Atanh "atanh", Exp "exp", Exp2 "exp2", Exp10 "exp10", Expm1 "expm1", Log "log", Log2 "log2",
        Log10 "log10", Log1p "log1p", Erf "erf", Erfc "erfc", Gamma "gamma", LogGamma "lgamma", Floor "floor",
        Ceil "ceil", TruncFloat "ftrunc", Round "round", RoundEven "round_even", Fract "fract",
        Saturate "saturate", FloatSign "fsign", IntSign "sign", IsNan "is_nan", IsInf "is_inf",
        IsFinite "is_finite", SignBit "sign_bit", Degrees "degrees", Radians "radians", OtherMath "other_math",
        ApproximateSin "sin_approx", ApproximateCos "cos_approx", ApproximateLog2 "log2_approx",
    }
    BinaryOp {
        Add "add", Sub "sub", Mul "mul", MulHighSigned "mulhi_s", MulHighUnsigned "mulhi_u",
        Mul24Signed "mul24_s", Mul24Unsigned "mul24_u", DivSigned "div_s", DivUnsigned "div_u",
        RemSigned "rem_s", RemUnsigned "rem_u", And "and", Or "or", Xor "xor", Shl "shl", ShrUnsigned "shr_u",
        ShrSigned "shr_s", RotateLeft "rotl", MinSigned "min_s", MaxSigned "max_s", MinUnsigned "min_u",
        MaxUnsigned "max_u", AddSaturateSigned "add_sat", SubSaturateSigned "sub_sat",
        MulFractional "mul_frac", ShlSaturateSigned "shl_sat", ShrSaturateSigned "shr_sat",
        DivFractional "div_frac", FloatAdd "fadd",
        FloatSub "fsub", FloatMul "fmul", FloatDiv "fdiv", FloatRem "frem", FloatMin "fmin", FloatMax "fmax",
        Pow "pow", Atan2 "atan2", CopySign "copysign", Hypot "hypot", Ldexp "ldexp", Step "step",
        FloatRemainder "fremainder", FloatDim "fdim", ApproximateDiv "fdiv_approx",
    }
    TernaryOp {
        BitExtractSigned "bit_extract_s", BitExtractUnsigned "bit_extract_u", BitInsert "bit_insert",
        FunnelLeft "funnel_l", FunnelRight "funnel_r", BytePermute "byte_permute", Lop3 "lop3",
        SadSigned "sad_s", SadUnsigned "sad_u", Dot4Signed "dot4_s", Dot4Unsigned "dot4_u",
        Dot2Signed "dot2_s", Dot2Unsigned "dot2_u", SmoothStep "smoothstep",
    }
    Convert {
        Truncate "trunc", SaturateSigned "sat_s", ZeroExtend "zext", SignExtend "sext", FloatToSigned "f_to_s", FloatToUnsigned "f_to_u",
        SignedToFloat "s_to_f", UnsignedToFloat "u_to_f", FloatToFloat "f_to_f", Bitcast "bitcast",
        ToBool "to_bool", SpaceCast "space_cast",
    }
    IntCondition {
        Equal "eq", NotEqual "ne", LessSigned "lt_s", LessEqualSigned "le_s", GreaterSigned "gt_s",
        GreaterEqualSigned "ge_s", LessUnsigned "lt_u", LessEqualUnsigned "le_u", GreaterUnsigned "gt_u",
        GreaterEqualUnsigned "ge_u",
    }
    FloatCondition {
        Equal "eq", NotEqual "ne", Less "lt", LessEqual "le", Greater "gt", GreaterEqual "ge",
        EqualUnordered "eq_un", NotEqualUnordered "ne_un", LessUnordered "lt_un", LessEqualUnordered "le_un",
        GreaterUnordered "gt_un", GreaterEqualUnordered "ge_un", Ordered "ordered", Unordered "unordered",
    }
    AtomicOp {
        Add "add", Sub "sub", MinSigned "min_s", MaxSigned "max_s", MinUnsigned "min_u", MaxUnsigned "max_u",
        And "and", Or "or", Xor "xor", Exchange "exchange", CompareExchange "compare_exchange",
        IncrementWrap "increment", DecrementWrap "decrement", FloatAdd "fadd", FloatMin "fmin",
        FloatMax "fmax",
    }
    ReduceOp {
        Add "add", Mul "mul", MinSigned "min_s", MaxSigned "max_s", MinUnsigned "min_u", MaxUnsigned "max_u",
        And "and", Or "or", Xor "xor", FloatAdd "fadd", FloatMul "fmul", FloatMin "fmin", FloatMax "fmax",
    }
    ShuffleMode { Index "index", Up "up", Down "down", Butterfly "butterfly", }
    Derivative {
        X "x", Y "y", XCoarse "x_coarse", YCoarse "y_coarse", XFine "x_fine", YFine "y_fine", Width "width",
    }
    Space { Generic "generic", Global "global", Shared "shared", Local "local", Constant "constant", }
    ShaderStage {
        Vertex "vertex", Pixel "pixel", Geometry "geometry", Hull "hull", Domain "domain",
        Amplification "amplification", Mesh "mesh", RayTracing "ray_tracing", Library "library",
    }
    Language { Cuda "cuda", Hlsl "hlsl", Ptx "ptx", MicroSimd "musimd", C "c", Text "text", }
    SymbolKind {
        Memory "memory", Buffer "buffer", Texture "texture", Sampler "sampler",
        Function "function", Other "other",
    }
    Interpolation { Perspective "perspective", Linear "linear", Flat "flat", }
    VariableKind { Parameter "parameter", Local "local", Register "register", Global "global", }
    BindingKind { Declaration "declare", Assignment "assign", Read "read", }
    BranchKind {
        Implied "implied", If "if", Loop "loop", Switch "switch", Conditional "conditional",
        ShortCircuit "short_circuit", Jump "jump", Flattened "flattened",
    }
}

pub(super) fn type_of(name: &str) -> Option<Type> {
    Some(match name {
        "bool" => Type::Bool,
        "i8" => Type::I8,
        "i16" => Type::I16,
        "i32" => Type::I32,
        "i40" => Type::I40,
        "i64" => Type::I64,
        "f16" => Type::F16,
        "bf16" => Type::BF16,
        "f32" => Type::F32,
        "f64" => Type::F64,
        "ptr" => Type::Ptr(Space::Generic),
        "ptr.global" => Type::Ptr(Space::Global),
        "ptr.shared" => Type::Ptr(Space::Shared),
        "ptr.local" => Type::Ptr(Space::Local),
        "ptr.constant" => Type::Ptr(Space::Constant),
        "handle" => Type::Handle,
        "opaque" => Type::Opaque,
        _ => return None,
    })
}

pub(super) fn kind_name(kind: FunctionKind) -> String {
    match kind {
        FunctionKind::Kernel => "kernel".into(),
        FunctionKind::Device => "device".into(),
        FunctionKind::Host => "host".into(),
        FunctionKind::Stage(stage) => format!("stage.{}", stage.name()),
    }
}

pub(super) fn kind_of(name: &str) -> Option<FunctionKind> {
    match name {
        "kernel" => Some(FunctionKind::Kernel),
        "device" => Some(FunctionKind::Device),
        "host" => Some(FunctionKind::Host),
        _ => {
            let stage = ShaderStage::from_name(name.strip_prefix("stage.")?)?;
            Some(FunctionKind::Stage(stage))
        }
    }
}

pub(super) fn special_name(special: Special) -> String {
    let axis = |name: &str, axis: u8| match axis {
        0 => format!("{name}.x"),
        1 => format!("{name}.y"),
        2 => format!("{name}.z"),
        other => format!("{name}.{other}"),
    };
    match special {
        Special::ThreadId(a) => axis("tid", a),
        Special::BlockDim(a) => axis("block_dim", a),
        Special::BlockId(a) => axis("block_id", a),
        Special::GridDim(a) => axis("grid_dim", a),
        Special::OtherWorkgroup(number) => format!("workgroup.{number}"),
        Special::OtherDispatch(number) => format!("dispatch.{number}"),
        Special::LaneId => "lane".into(),
        Special::WarpId => "warp".into(),
        Special::WarpSize => "warp_size".into(),
        Special::WarpCount => "warp_count".into(),
        Special::WarpSlot => "warp_slot".into(),
        Special::LaneMaskEq => "lanemask_eq".into(),
        Special::LaneMaskLt => "lanemask_lt".into(),
        Special::LaneMaskLe => "lanemask_le".into(),
        Special::LaneMaskGt => "lanemask_gt".into(),
        Special::LaneMaskGe => "lanemask_ge".into(),
        Special::Clock => "clock".into(),
        Special::SmId => "sm".into(),
        Special::MicroSimdTid => "musimd_tid".into(),
    }
}

pub(super) fn special_of(name: &str) -> Option<Special> {
    if let Some((family, part)) = name.split_once('.') {
        let axis = match part {
            "x" => Some(0),
            "y" => Some(1),
            "z" => Some(2),
            other => other.parse::<u8>().ok(),
        };
        return match family {
            "tid" => axis.map(Special::ThreadId),
            "block_dim" => axis.map(Special::BlockDim),
            "block_id" => axis.map(Special::BlockId),
            "grid_dim" => axis.map(Special::GridDim),
            "workgroup" => part.parse().ok().map(Special::OtherWorkgroup),
            "dispatch" => part.parse().ok().map(Special::OtherDispatch),
            _ => None,
        };
    }
    let simple = [
        Special::LaneId,
        Special::WarpId,
        Special::WarpSize,
        Special::WarpCount,
        Special::WarpSlot,
        Special::LaneMaskEq,
        Special::LaneMaskLt,
        Special::LaneMaskLe,
        Special::LaneMaskGt,
        Special::LaneMaskGe,
        Special::Clock,
        Special::SmId,
        Special::MicroSimdTid,
    ];
    simple.into_iter().find(|&s| special_name(s) == name)
}

pub(super) fn barrier_name(barrier: Barrier) -> &'static str {
    match barrier {
        Barrier::Workgroup => "workgroup",
        Barrier::WorkgroupAnd => "workgroup_and",
        Barrier::WorkgroupOr => "workgroup_or",
        Barrier::WorkgroupCount => "workgroup_count",
        Barrier::Named { arrive: false } => "named",
        Barrier::Named { arrive: true } => "named_arrive",
        Barrier::Warp => "warp",
        Barrier::Grid => "grid",
        Barrier::MicroSimd => "musimd",
    }
}

pub(super) fn barrier_of(name: &str) -> Option<Barrier> {
    [
        Barrier::Workgroup,
        Barrier::WorkgroupAnd,
        Barrier::WorkgroupOr,
        Barrier::WorkgroupCount,
        Barrier::Named { arrive: false },
        Barrier::Named { arrive: true },
        Barrier::Warp,
        Barrier::Grid,
        Barrier::MicroSimd,
    ]
    .into_iter()
    .find(|&b| barrier_name(b) == name)
}

pub(super) const TEXTURE_OPS: [TextureOp; 17] = [
    TextureOp::Sample,
    TextureOp::SampleBias,
    TextureOp::SampleCompare,
    TextureOp::SampleLevel,
    TextureOp::SampleGradient,
    TextureOp::SampleCompareLevel,
    TextureOp::Gather,
    TextureOp::GatherCompare,
    TextureOp::Load,
    TextureOp::Store,
    TextureOp::Dimensions,
    TextureOp::CalculateLevel,
    TextureOp::CalculateLevelUnclamped,
    TextureOp::DispatchMesh,
    TextureOp::SetMeshOutputCounts,
    TextureOp::Trace,
    TextureOp::Other,
];

pub(super) fn texture_name(op: TextureOp) -> String {
    match op {
        TextureOp::Sample => "sample".into(),
        TextureOp::SampleBias => "sample_bias".into(),
        TextureOp::SampleCompare => "sample_compare".into(),
        TextureOp::SampleLevel => "sample_level".into(),
        TextureOp::SampleGradient => "sample_gradient".into(),
        TextureOp::SampleCompareLevel => "sample_compare_level".into(),
        TextureOp::Gather => "gather".into(),
        TextureOp::GatherCompare => "gather_compare".into(),
        TextureOp::Load => "load".into(),
        TextureOp::Store => "store".into(),
        TextureOp::Dimensions => "dimensions".into(),
        TextureOp::CalculateLevel => "level".into(),
        TextureOp::CalculateLevelUnclamped => "level_unclamped".into(),
        TextureOp::DispatchMesh => "dispatch_mesh".into(),
        TextureOp::SetMeshOutputCounts => "set_mesh_output_counts".into(),
        TextureOp::Trace => "trace".into(),
        TextureOp::Other => "other".into(),
        TextureOp::Atomic(op) => format!("atomic_{}", op.name()),
    }
}

pub(super) fn texture_of(name: &str) -> Option<TextureOp> {
    if let Some(op) = name.strip_prefix("atomic_") {
        return AtomicOp::from_name(op).map(TextureOp::Atomic);
    }
    TEXTURE_OPS.into_iter().find(|&op| texture_name(op) == name)
}

/// Warp operations without a parameter of their own.
pub(super) const WARP_KINDS: [(WarpKind, &str); 24] = [
    (WarpKind::ShuffleIndex, "shuffle_index"),
    (WarpKind::ShuffleUp, "shuffle_up"),
    (WarpKind::ShuffleDown, "shuffle_down"),
    (WarpKind::ShuffleXor, "shuffle_xor"),
    (WarpKind::VoteAll, "all"),
    (WarpKind::VoteAny, "any"),
    (WarpKind::VoteUniform, "uniform"),
    (WarpKind::Ballot, "ballot"),
    (WarpKind::AllEqual, "all_equal"),
    (WarpKind::MatchAny, "match_any"),
    (WarpKind::MatchAll, "match_all"),
    (WarpKind::ReadFirstLane, "read_first"),
    (WarpKind::ReadLaneAt, "read_at"),
    (WarpKind::CountBits, "count_bits"),
    (WarpKind::PrefixCountBits, "prefix_count_bits"),
    (WarpKind::ActiveMask, "active_mask"),
    (WarpKind::IsFirstLane, "is_first"),
    (WarpKind::QuadReadAcrossX, "quad_x"),
    (WarpKind::QuadReadAcrossY, "quad_y"),
    (WarpKind::QuadReadAcrossDiagonal, "quad_diagonal"),
    (WarpKind::QuadReadLaneAt, "quad_at"),
    (WarpKind::QuadAny, "quad_any"),
    (WarpKind::QuadAll, "quad_all"),
    (WarpKind::Other, "other"),
];

/// One or two words, joined by a dot.
pub(super) fn warp_name(kind: WarpKind) -> String {
    match kind {
        WarpKind::ShufflePtx(mode) => format!("shuffle_ptx.{}", mode.name()),
        WarpKind::Reduce(op) => format!("reduce.{}", op.name()),
        WarpKind::PrefixExclusive(op) => format!("prefix_exclusive.{}", op.name()),
        WarpKind::PrefixInclusive(op) => format!("prefix_inclusive.{}", op.name()),
        _ => WARP_KINDS
            .iter()
            .find(|(k, _)| *k == kind)
            .map_or_else(String::new, |(_, name)| name.to_string()),
    }
}

/// The operation and the text behind its words.
pub(super) fn warp_of<'w, 's>(words: &'w [&'s str]) -> Option<(WarpKind, &'w [&'s str])> {
    let (first, rest) = words.split_first()?;
    if let Some((kind, _)) = WARP_KINDS.iter().find(|(_, name)| name == first) {
        return Some((*kind, rest));
    }
    let (second, rest) = rest.split_first()?;
    let kind = match *first {
        "shuffle_ptx" => WarpKind::ShufflePtx(ShuffleMode::from_name(second)?),
        "reduce" => WarpKind::Reduce(ReduceOp::from_name(second)?),
        "prefix_exclusive" => WarpKind::PrefixExclusive(ReduceOp::from_name(second)?),
        "prefix_inclusive" => WarpKind::PrefixInclusive(ReduceOp::from_name(second)?),
        _ => return None,
    };
    Some((kind, rest))
}
