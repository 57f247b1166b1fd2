//! The kinds of registers, and what is computed of them.
//!
//! In a template `@` is the register that is written, `$` an accumulator, a capital letter an operand of a kind; `Q` is a predicate that
//! may be negated, `N` a number or a word, `T` a word below four, `#` the bits to shift by.

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Half,
    Word,
    Wide,
    Float,
    Double,
    Truth,
}
pub(super) use Kind::{Double, Float, Half, Truth, Wide, Word};

pub(super) const KINDS: [Kind; 6] = [Half, Word, Wide, Float, Double, Truth];

impl Kind {
    /// By its letter in a template.
    pub(super) fn of(letter: char) -> Option<Kind> {
        "HRDFGP".find(letter).map(|at| KINDS[at])
    }
    pub(super) fn prefix(self) -> &'static str {
        ["%rs", "%r", "%rd", "%f", "%fd", "%p"][self as usize]
    }
    pub(super) fn bytes(self) -> u32 {
        [2, 4, 8, 4, 8, 1][self as usize]
    }
    /// The table of such values that nobody writes.
    pub(super) fn table(self) -> &'static str {
        ["%shorts", "%ints", "%wides", "%reals", "%doubles", "%ints"][self as usize]
    }
    /// Operations of which an operand that is zero often makes the others useless.
    pub(super) fn products(self) -> &'static str {
        match self {
            Half => {
                "mul.lo.u16 @, H, H; mul.lo.s16 @, H, H; mul.hi.u16 @, H, H; mul.hi.s16 @, H, H; and.b16 @, H, H; \
                 mad.lo.u16 @, H, H, H; min.u16 @, H, H; shl.b16 @, H, #; selp.b16 @, H, 0, P; mul.lo.s16 @, H, 6"
            }
            Word => {
                "mul.lo.s32 @, R, R; mul.lo.u32 @, R, N; mul.lo.s32 @, R, R; mul.hi.s32 @, R, R; mul.hi.u32 @, R, R; \
                 and.b32 @, R, R; and.b32 @, R, N; mul24.lo.s32 @, R, R; mul24.lo.u32 @, R, R; min.u32 @, R, R; \
                 shl.b32 @, R, #; shl.b32 @, R, R; shr.u32 @, R, R; mad.lo.s32 @, R, R, R; mad.lo.u32 @, R, R, N; \
                 mad.hi.u32 @, R, R, R; mad24.lo.u32 @, R, R, R; mul.wide.s16 @, H, H; mul.wide.u16 @, H, H; \
                 mad.wide.u16 @, H, H, R; selp.b32 @, R, 0, P; selp.s32 @, 0, R, P; div.u32 @, R, 7; rem.s32 @, R, 5; \
                 mad.lo.s32 @, R, N, R; lop3.b32 @, R, R, R, 0x80; lop3.b32 @, R, R, R, 0xf8; dp4a.u32.u32 @, R, R, R; mul.lo.s32 @, R, R; \
                 mul.hi.s32 @, R, N; and.b32 @, R, R; bfe.s32 @, R, R, 7"
            }
            Wide => {
                "mul.lo.s64 @, D, D; mul.lo.u64 @, D, D; mul.hi.u64 @, D, D; mul.hi.s64 @, D, D; and.b64 @, D, D; \
                 mul.wide.u32 @, R, R; mul.wide.s32 @, R, R; mul.wide.s32 @, R, N; mad.wide.s32 @, R, R, D; \
                 mad.wide.u32 @, R, R, D; mad.lo.s64 @, D, D, D; mad.hi.s64 @, D, D, D; min.u64 @, D, D; \
                 shl.b64 @, D, #; selp.b64 @, D, 0, P"
            }
            Float => {
                "mul.f32 @, F, F; mul.rn.f32 @, F, F; fma.rn.f32 @, F, F, F; mul.ftz.f32 @, F, F; \
                 fma.rn.ftz.f32 @, F, F, F; min.f32 @, F, F; selp.f32 @, F, 0f00000000, P; mul.f32 @, F, 0f3f000000"
            }
            Double => {
                "mul.f64 @, G, G; mul.rn.f64 @, G, G; fma.rn.f64 @, G, G, G; min.f64 @, G, G; \
                 selp.f64 @, G, 0d0000000000000000, P"
            }
            Truth => {
                "and.pred @, P, P; setp.ne.and.s32 @, R, 0, Q; setp.gt.and.s32 @, R, N, Q; setp.lt.and.u32 @, R, R, Q; \
                 setp.neu.and.f32 @, F, 0f00000000, Q; setp.gt.and.s64 @, D, 2, Q; setp.ne.and.s16 @, H, 0, Q"
            }
        }
    }
    /// Others.
    pub(super) fn others(self) -> &'static str {
        match self {
            Half => {
                "add.u16 @, H, H; sub.s16 @, H, H; or.b16 @, H, H; xor.b16 @, H, H; max.s16 @, H, H; \
                 cvt.u16.u32 @, R; cvt.u16.u64 @, D; not.b16 @, H; neg.s16 @, H; selp.u16 @, H, H, P; shr.s16 @, H, #; \
                 cvt.u16.u32 @, T"
            }
            Word => {
                "add.s32 @, R, R; add.s32 @, R, N; sub.s32 @, R, R; or.b32 @, R, R; xor.b32 @, R, R; max.s32 @, R, R; \
                 max.u32 @, R, N; min.s32 @, R, R; selp.b32 @, R, R, P; cvt.u32.u16 @, H; cvt.s32.s16 @, H; \
                 cvt.u32.u64 @, D; popc.b32 @, R; brev.b32 @, R; abs.s32 @, R; neg.s32 @, R; not.b32 @, R; \
                 shr.u32 @, R, #; shr.s32 @, R, #; bfe.u32 @, R, 3, 9; cvt.rzi.u32.f32 @, F; mov.b32 @, F; \
                 mov.b32 @, {H, H}; clz.b32 @, R; set.lt.u32.s32 @, R, R; slct.s32.s32 @, R, R, R; mov.u32 @, R; \
                 prmt.b32 @, R, R, 21520; cnot.b32 @, R; sad.u32 @, R, R, R; selp.u32 @, 1, 0, P; bfi.b32 @, R, R, 8, 8; lop3.b32 @, R, R, R, 0x96; shf.l.wrap.b32 @, R, R, 7; bfi.b32 @, R, R, 0, 16"
            }
            Wide => {
                "add.s64 @, D, D; sub.s64 @, D, D; or.b64 @, D, D; xor.b64 @, D, D; max.s64 @, D, D; \
                 cvt.u64.u32 @, R; cvt.s64.s32 @, R; cvt.u64.u16 @, H; mov.b64 @, {R, R}; shr.u64 @, D, #; \
                 selp.b64 @, D, D, P; mov.b64 @, G; mov.u64 @, D; neg.s64 @, D; cvt.u64.u32 @, T"
            }
            Float => {
                "add.f32 @, F, F; add.rn.f32 @, F, F; max.f32 @, F, F; cvt.rn.f32.u32 @, T; cvt.rn.f32.f64 @, G; \
                 selp.f32 @, F, F, P; abs.f32 @, F; mov.f32 @, F; add.f32 @, F, 0f3f800000"
            }
            Double => {
                "add.f64 @, G, G; max.f64 @, G, G; cvt.f64.f32 @, F; cvt.rn.f64.u32 @, T; selp.f64 @, G, G, P; \
                 add.rn.f64 @, G, G; mov.f64 @, G"
            }
            Truth => {
                "setp.ne.s32 @, R, 0; setp.eq.s32 @, R, 0; setp.lt.s32 @, R, R; setp.gt.u32 @, R, N; or.pred @, P, P; \
                 xor.pred @, P, P; not.pred @, P; setp.neu.f32 @, F, 0f00000000; setp.lt.f32 @, F, F; \
                 setp.ne.s64 @, D, 0; setp.gt.s16 @, H, 1; setp.eq.or.s32 @, R, 0, Q; setp.gt.f64 @, G, G; \
                 setp.ne.s32 @, T, 0"
            }
        }
    }
    /// Others that make floats that are not finite, or negative zeros.
    pub(super) fn wild(self) -> &'static str {
        match self {
            Float => {
                "sub.f32 @, F, F; neg.f32 @, F; cvt.rn.f32.s32 @, R; mov.b32 @, R; cvt.rn.f32.s16 @, H; \
                 sub.rn.f32 @, F, F; fma.rn.f32 @, F, 0fbf800000, F; mul.f32 @, F, 0f80000000"
            }
            Double => {
                "sub.f64 @, G, G; neg.f64 @, G; cvt.rn.f64.s32 @, R; mov.b64 @, D; mul.f64 @, G, 0dbff0000000000000"
            }
            Word => "mul.f16x2 @, R, R; fma.rn.f16x2 @, R, R, R; add.f16x2 @, R, R",
            Half => "mul.f16 @, H, H; fma.rn.f16 @, H, H, H; cvt.rn.f16.f32 @, F",
            _ => self.others(),
        }
    }
    /// What adds to an accumulator.
    pub(super) fn sums(self) -> &'static str {
        match self {
            Half => {
                "mad.lo.u16 $, H, H, $; add.u16 $, $, H; xor.b16 $, H, $; mad.lo.s16 $, H, $, H"
            }
            Word => {
                "mad.lo.s32 $, R, R, $; mad.lo.u32 $, R, N, $; add.s32 $, $, R; add.s32 $, R, $; xor.b32 $, R, $; \
                 max.s32 $, $, R; mad.hi.u32 $, R, R, $; mad24.lo.s32 $, R, R, $; or.b32 $, $, R; sub.s32 $, $, R; \
                 mul.lo.s32 $, $, R; mad.wide.s16 $, H, H, $; mad.lo.s32 $, $, R, R; min.u32 $, R, $; mad.lo.s32 $, R, R, $"
            }
            Wide => {
                "mad.wide.s32 $, R, R, $; mad.wide.u32 $, R, N, $; mad.lo.s64 $, D, D, $; add.s64 $, $, D; \
                 xor.b64 $, D, $; mad.wide.u32 $, R, R, $"
            }
            Float => {
                "fma.rn.f32 $, F, F, $; add.f32 $, $, F; add.rn.f32 $, F, $; max.f32 $, $, F; fma.rn.ftz.f32 $, F, F, $"
            }
            Double => "fma.rn.f64 $, G, G, $; add.f64 $, $, G; max.f64 $, G, $",
            Truth => "or.pred $, $, P; xor.pred $, P, $; setp.gt.or.s32 $, R, 3, $",
        }
    }
}
