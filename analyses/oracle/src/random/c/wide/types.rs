//! Types, cells of memory, and expressions that know their range: an operation that would overflow is
//! refused.

use super::super::Scalar;

#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(super) enum Ty {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

/// The bound of all floats: far from infinity, also in single precision.
const FLOAT: i128 = 1 << 100;

impl Ty {
    pub(super) const ALL: [Ty; 10] = [
        Ty::I8,
        Ty::U8,
        Ty::I16,
        Ty::U16,
        Ty::I32,
        Ty::U32,
        Ty::I64,
        Ty::U64,
        Ty::F32,
        Ty::F64,
    ];
    pub(super) const fn text(self) -> &'static str {
        match self {
            Ty::I8 => "signed char",
            Ty::U8 => "unsigned char",
            Ty::I16 => "short",
            Ty::U16 => "unsigned short",
            Ty::I32 => "int",
            Ty::U32 => "unsigned",
            Ty::I64 => "long",
            Ty::U64 => "unsigned long",
            Ty::F32 => "float",
            Ty::F64 => "double",
        }
    }
    pub(super) const fn bits(self) -> u32 {
        match self {
            Ty::I8 | Ty::U8 => 8,
            Ty::I16 | Ty::U16 => 16,
            Ty::I32 | Ty::U32 | Ty::F32 => 32,
            _ => 64,
        }
    }
    pub(super) const fn is_float(self) -> bool {
        matches!(self, Ty::F32 | Ty::F64)
    }
    pub(super) const fn is_unsigned(self) -> bool {
        matches!(self, Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64)
    }
    /// All values, of floats those that are allowed.
    pub(super) const fn range(self) -> (i128, i128) {
        if self.is_float() {
            (-FLOAT, FLOAT)
        } else if self.is_unsigned() {
            (0, (1 << self.bits()) - 1)
        } else {
            (-(1 << (self.bits() - 1)), (1 << (self.bits() - 1)) - 1)
        }
    }
    pub(super) const fn promoted(self) -> Ty {
        match self {
            Ty::I8 | Ty::U8 | Ty::I16 | Ty::U16 => Ty::I32,
            other => other,
        }
    }
    /// The type of the kernel's interface.
    pub(super) const fn scalar(self) -> Scalar {
        match self {
            Ty::I8 | Ty::U8 => Scalar::UnsignedChar,
            Ty::I16 | Ty::U16 => Scalar::Short,
            Ty::I32 => Scalar::Int,
            Ty::U32 => Scalar::Unsigned,
            Ty::I64 => Scalar::Long,
            Ty::U64 => Scalar::UnsignedLong,
            Ty::F32 => Scalar::Float,
            Ty::F64 => Scalar::Double,
        }
    }
}

/// The usual arithmetic conversions.
pub(super) fn common(a: Ty, b: Ty) -> Ty {
    a.promoted().max(b.promoted())
}

/// The values that memory of one kind holds. Pointers name one kind of cells, so that a bound holds for
/// everything that they point to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cell {
    pub(super) ty: Ty,
    /// True if values are added to signed integers of this kind, so that assigned values are small. Floats
    /// are always summed.
    pub(super) sum: bool,
}

impl Cell {
    pub(super) const fn new(ty: Ty, sum: bool) -> Cell {
        Cell {
            ty,
            sum: match ty {
                Ty::F32 | Ty::F64 => true,
                Ty::I32 | Ty::I64 => sum,
                _ => false,
            },
        }
    }
    /// Returns the range of the values found in it.
    pub(super) const fn read(self) -> (i128, i128) {
        match (self.ty, self.sum) {
            (Ty::I32, true) => (-(1 << 30), 1 << 30),
            (Ty::I64, true) => (-(1 << 61), 1 << 61),
            (Ty::F32 | Ty::F64, _) => (-(1 << 44), 1 << 44),
            (ty, _) => ty.range(),
        }
    }
    /// Returns the range of the values that may be assigned to it.
    pub(super) const fn write(self) -> (i128, i128) {
        match (self.ty, self.sum) {
            (Ty::I32, true) => (-(1 << 20), 1 << 20),
            (Ty::I64, true) => (-(1 << 40), 1 << 40),
            (Ty::F32 | Ty::F64, _) => (-(1 << 20), 1 << 20),
            (ty, _) => ty.range(),
        }
    }
    /// Returns the range of the values that may be added to it a million times.
    pub(super) const fn step(self) -> (i128, i128) {
        match self.ty {
            Ty::I32 => (-(1 << 8), 1 << 8),
            Ty::I64 => (-(1 << 38), 1 << 38),
            _ => (-(1 << 20), 1 << 20),
        }
    }
}

/// An expression without side effects, of a promoted or a narrow type, and its range.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Expr {
    pub(super) text: String,
    pub(super) ty: Ty,
    pub(super) lo: i128,
    pub(super) hi: i128,
}

impl Expr {
    pub(super) fn new(text: impl Into<String>, ty: Ty, (lo, hi): (i128, i128)) -> Expr {
        Expr {
            text: text.into(),
            ty,
            lo,
            hi,
        }
    }
    pub(super) fn within(&self, (lo, hi): (i128, i128)) -> bool {
        self.lo >= lo && self.hi <= hi
    }
    /// The range after a conversion.
    fn as_type(&self, ty: Ty) -> (i128, i128) {
        match ty.is_float() || self.within(ty.range()) {
            true => (self.lo, self.hi),
            false => ty.range(),
        }
    }
    /// `(type)e`; `None`: the conversion of a float may not fit.
    pub(super) fn cast(&self, ty: Ty) -> Option<Expr> {
        if self.ty.is_float() && !ty.is_float() {
            let (lo, hi) = ty.range();
            // Single precision rounds to nearby.
            let slack = if ty.bits() == 64 { 1 << 41 } else { 256 };
            let slack = if lo == 0 { 0 } else { slack };
            if !self.within((lo + slack, hi - slack)) {
                return None;
            }
        }
        let text = format!("({})({})", ty.text(), self.text);
        Some(Expr::new(text, ty, self.as_type(ty)))
    }
}

fn largest(a: &Expr) -> i128 {
    a.lo.abs().max(a.hi.abs())
}

/// `2^k - 1`, not less than the number.
fn ones(number: i128) -> i128 {
    let bits = 128 - number.max(0).leading_zeros();
    if bits >= 126 {
        i128::MAX
    } else {
        (1 << bits) - 1
    }
}

/// An operation, where it can't overflow, divide by zero or shift too far.
pub(super) fn binary(op: &str, a: &Expr, b: &Expr) -> Option<Expr> {
    let shift = matches!(op, "<<" | ">>");
    let ty = if shift {
        a.ty.promoted()
    } else {
        common(a.ty, b.ty)
    };
    let text = format!("({} {op} {})", a.text, b.text);
    if ty.is_float() || (shift && b.ty.is_float()) {
        let (x, y) = (largest(a), largest(b));
        let most = match op {
            "+" | "-" => x + y,
            "*" => x.checked_mul(y)?,
            "/" if !shift && (b.lo >= 1 || b.hi <= -1) => x,
            _ => return None,
        };
        if most > FLOAT {
            return None;
        }
        let lo = match op {
            "+" if a.lo >= 0 && b.lo >= 0 => a.lo + b.lo,
            "*" | "/" if a.lo >= 0 && b.lo >= 0 => 0,
            _ => -most,
        };
        return Some(Expr::new(text, ty, (lo, most)));
    }
    let (alo, ahi) = a.as_type(ty);
    let (blo, bhi) = if shift { (b.lo, b.hi) } else { b.as_type(ty) };
    let corners = |f: fn(i128, i128) -> Option<i128>| {
        let all = [f(alo, blo)?, f(alo, bhi)?, f(ahi, blo)?, f(ahi, bhi)?];
        Some((*all.iter().min()?, *all.iter().max()?))
    };
    let most = alo.abs().max(ahi.abs());
    let range = match op {
        "+" => (alo + blo, ahi + bhi),
        "-" => (alo - bhi, ahi - blo),
        "*" => corners(i128::checked_mul)?,
        "/" | "%" => {
            if blo <= 0 && bhi >= 0 || (blo < 0 && alo == ty.range().0) {
                return None;
            }
            let divisor = blo.abs().max(bhi.abs());
            let most = if op == "/" {
                most
            } else {
                most.min(divisor - 1)
            };
            let lo = if alo >= 0 && (blo > 0 || op == "%") {
                0
            } else {
                -most
            };
            let hi = if ahi <= 0 && (blo > 0 || op == "%") {
                0
            } else {
                most
            };
            (lo, hi)
        }
        "&" => match (alo >= 0, blo >= 0) {
            (true, true) => (0, ahi.min(bhi)),
            (true, false) => (0, ahi),
            (false, true) => (0, bhi),
            (false, false) => (-ones(-alo.min(blo)) - 1, ones(ahi.max(bhi))),
        },
        "|" | "^" => {
            let top = ones(ahi.max(bhi).max(-(alo.min(blo))));
            (if alo >= 0 && blo >= 0 { 0 } else { -top - 1 }, top)
        }
        "<<" | ">>" => {
            if blo < 0 || blo > bhi || bhi >= i128::from(ty.bits()) {
                return None;
            }
            if op == ">>" {
                (alo.min(alo >> bhi), (ahi >> blo).max(ahi >> bhi))
            } else if ty.is_unsigned() {
                (alo, ahi.checked_mul(1 << bhi).unwrap_or(i128::MAX))
            } else if alo < 0 {
                return None;
            } else {
                (alo << blo, ahi.checked_mul(1 << bhi)?)
            }
        }
        _ => return None,
    };
    let all = ty.range();
    let fits = range.0 >= all.0 && range.1 <= all.1;
    match (fits, ty.is_unsigned()) {
        (true, _) => Some(Expr::new(text, ty, range)),
        (false, true) => Some(Expr::new(text, ty, all)),
        (false, false) => None,
    }
}
