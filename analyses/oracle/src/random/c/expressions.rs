//! Expressions with a bound of their magnitude, so that signed arithmetic never overflows.

use super::{Array, Maker, Role, Scalar};

/// An expression: its text, its type after promotion, and the bound of its magnitude (integers).
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) text: String,
    pub(super) ty: Scalar,
    pub(super) bound: u64,
}

const INT_LIMIT: u64 = i32::MAX as u64;
const LONG_LIMIT: u64 = i64::MAX as u64;
/// The largest magnitudes that assigned variables hold.
pub(super) const PLAIN_INT: u64 = 1 << 20;
pub(super) const PLAIN_LONG: u64 = 1 << 40;

impl Expr {
    fn new(text: String, ty: Scalar, bound: u64) -> Expr {
        Expr { text, ty, bound }
    }
}

/// The type that an operand has in arithmetic.
fn promoted(ty: Scalar) -> Scalar {
    match ty {
        Scalar::UnsignedChar | Scalar::Short => Scalar::Int,
        other => other,
    }
}

/// The usual arithmetic conversions.
fn common(a: Scalar, b: Scalar) -> Scalar {
    promoted(a).max(promoted(b))
}

fn limit(ty: Scalar) -> u64 {
    match ty {
        Scalar::Long => LONG_LIMIT,
        Scalar::Unsigned => u64::from(u32::MAX),
        Scalar::UnsignedLong => u64::MAX,
        _ => INT_LIMIT,
    }
}

impl Maker<'_> {
    /// Any value.
    pub(super) fn expression(&mut self, depth: u32) -> Expr {
        if depth == 0 || self.random.percent(20) {
            return self.leaf();
        }
        match self.random.below(20) {
            0..=8 => self.arithmetic(depth),
            9 => self.division(depth),
            10 | 11 => self.bits(depth),
            12 => {
                let condition = self.condition(depth - 1);
                let (a, b) = (self.expression(depth - 1), self.expression(depth - 1));
                let ty = common(a.ty, b.ty);
                // A signed value that becomes unsigned may be anything.
                let bound = match ty.is_unsigned() {
                    true => limit(ty),
                    false => a.bound.max(b.bound),
                };
                let text = format!("({condition} ? {} : {})", a.text, b.text);
                Expr::new(text, ty, bound)
            }
            13 => {
                let condition = self.condition(depth - 1);
                Expr::new(condition, Scalar::Int, 1)
            }
            14 => self.cast(depth),
            15 => {
                let a = self.expression(depth - 1);
                let text = format!("-{}", wrapped(&a.text));
                match (a.ty.is_unsigned() || a.ty.is_float(), a.bound > limit(a.ty)) {
                    (true, _) => Expr::new(text, a.ty, limit(a.ty)),
                    (false, false) => Expr::new(text, a.ty, a.bound),
                    // The smallest number has no negative.
                    (false, true) => a,
                }
            }
            16 if self.helper.is_some() => self.helped(depth),
            17 => {
                let a = self.of_type(Scalar::Double, depth - 1);
                let text = match self.random.below(3) {
                    0 => format!("sqrt(fabs({}))", a.text),
                    1 => format!("fabs({})", a.text),
                    _ => {
                        let b = self.of_type(Scalar::Double, depth - 1);
                        format!("fma({}, {}, 1.25)", a.text, b.text)
                    }
                };
                Expr::new(text, Scalar::Double, 0)
            }
            _ => self.leaf(),
        }
    }

    fn leaf(&mut self) -> Expr {
        match self.random.below(10) {
            0..=3 => self.element(),
            4..=7 if !self.variables.is_empty() => {
                let at = self.random.below(self.variables.len() as u32) as usize;
                let variable = self.variables[at].clone();
                let ty = promoted(variable.ty);
                let bound = match (variable.role, ty) {
                    (_, Scalar::Unsigned | Scalar::UnsignedLong) => limit(ty),
                    (Role::Fixed { bound }, _) => bound,
                    (Role::Sum, _) => 1 << 50,
                    (_, Scalar::Long) => PLAIN_LONG,
                    _ => PLAIN_INT,
                };
                Expr::new(variable.name, ty, bound)
            }
            8 if !self.indices.is_empty() => {
                let name = self.index();
                Expr::new(format!("(int){name}"), Scalar::Int, super::LONGEST as u64)
            }
            _ => self.literal(),
        }
    }

    fn literal(&mut self) -> Expr {
        let number = self.random.between(0, 40);
        match self.random.below(7) {
            0 => Expr::new(format!("{number}u"), Scalar::Unsigned, number as u64),
            1 => Expr::new(format!("{number}L"), Scalar::Long, number as u64),
            2 => Expr::new(format!("{}.5", number / 4), Scalar::Double, 0),
            3 => Expr::new(format!("{}.25f", number / 4), Scalar::Float, 0),
            _ => Expr::new(number.to_string(), Scalar::Int, number as u64),
        }
    }

    /// The name of a number from 0 to `LONGEST`.
    pub(super) fn index(&mut self) -> String {
        let at = self.random.below(self.indices.len() as u32) as usize;
        self.indices[at].clone()
    }

    /// An element of an array, as text.
    pub(super) fn place(&mut self, array: &Array) -> String {
        if let Some(mask) = array.mask {
            let index = self.integer(1);
            return format!("{}[{} & {mask}]", array.name, wrapped(&index.text));
        }
        let subscript = match self.random.below(8) {
            0 => {
                let index = self.integer(1);
                format!("{} & 63", wrapped(&index.text))
            }
            1 => self.random.below(8).to_string(),
            kind => {
                // The innermost index is the one that walks.
                let name = match self.random.percent(70) {
                    true => self.indices.last().cloned().unwrap_or_else(|| "0".into()),
                    false => self.index(),
                };
                match kind {
                    2 => format!("{name} + {}", 1 + self.random.below(8)),
                    3 => format!("{name} - {}", 1 + self.random.below(8)),
                    4 => format!("{} - {name}", super::LONGEST),
                    _ => name,
                }
            }
        };
        format!("{}[{subscript}]", array.name)
    }

    fn element(&mut self) -> Expr {
        /// A subscript has more than one element in it on average: some would never end.
        const SUBSCRIPTS: u32 = 12;
        let array = self.any_array().filter(|_| self.subscripts < SUBSCRIPTS);
        let Some(array) = array else {
            return self.literal();
        };
        self.subscripts += 1;
        let text = self.place(&array);
        self.subscripts -= 1;
        let ty = promoted(array.element);
        Expr::new(text, ty, element_bound(array.element))
    }

    fn any_array(&mut self) -> Option<Array> {
        if self.arrays.is_empty() {
            return None;
        }
        let at = self.random.below(self.arrays.len() as u32) as usize;
        self.arrays.get(at).cloned()
    }

    fn arithmetic(&mut self, depth: u32) -> Expr {
        let (a, b) = (self.expression(depth - 1), self.expression(depth - 1));
        let ty = common(a.ty, b.ty);
        let op = *self.random.pick(&["+", "-", "*", "+", "-"]);
        if ty.is_float() || ty.is_unsigned() {
            let text = format!("({} {op} {})", a.text, b.text);
            return Expr::new(text, ty, limit(ty));
        }
        let (x, y) = (u128::from(a.bound), u128::from(b.bound));
        let bound = if op == "*" { x * y } else { x + y };
        if bound > u128::from(limit(ty)) {
            let text = format!("({} ^ {})", a.text, b.text);
            return Expr::new(text, ty, bits_bound(a.bound.max(b.bound), ty));
        }
        let text = format!("({} {op} {})", a.text, b.text);
        Expr::new(text, ty, bound as u64)
    }

    fn division(&mut self, depth: u32) -> Expr {
        let a = self.expression(depth - 1);
        if a.ty.is_float() {
            let b = self.of_type(a.ty, 1);
            let unit = if a.ty == Scalar::Float { "1.0f" } else { "1.0" };
            let text = format!("({} / ({unit} + {} * {}))", a.text, b.text, b.text);
            return Expr::new(text, a.ty, 0);
        }
        let op = *self.random.pick(&["/", "%"]);
        // The divisor keeps the dividend's type or is an `int`; odd numbers are not zero.
        let smallest = !a.ty.is_unsigned() && a.bound > limit(a.ty);
        let divisor = match self.random.below(3) {
            _ if smallest => (2 + self.random.below(29)).to_string(),
            0 => (2 + self.random.below(29)).to_string(),
            1 => format!("((int)({} & 15) + 1)", wrapped(&self.integer(1).text)),
            _ => {
                let b = self.integer(1);
                match b.ty {
                    Scalar::Int => format!("({} | 1)", b.text),
                    _ => format!("((int)({} & 31) + 2)", b.text),
                }
            }
        };
        let text = format!("({} {op} {divisor})", a.text);
        let bound = if a.ty.is_unsigned() {
            limit(a.ty)
        } else {
            a.bound
        };
        Expr::new(text, a.ty, bound.max(31))
    }

    fn bits(&mut self, depth: u32) -> Expr {
        let a = self.integer(depth - 1);
        match self.random.below(6) {
            0 => {
                let text = format!("(~{})", wrapped(&a.text));
                let bound = bits_bound(a.bound, a.ty);
                Expr::new(text, a.ty, bound)
            }
            1 => {
                let text = format!("({} >> {})", a.text, self.random.below(8));
                let bound = if a.ty.is_unsigned() {
                    limit(a.ty)
                } else {
                    a.bound.max(1)
                };
                Expr::new(text, a.ty, bound)
            }
            2 => {
                let shift = self.random.below(6);
                let text = format!("(((unsigned){} << {shift}))", wrapped(&a.text));
                Expr::new(text, Scalar::Unsigned, limit(Scalar::Unsigned))
            }
            kind => {
                let b = self.integer(depth - 1);
                let op = ["&", "|", "^"][kind as usize % 3];
                let ty = common(a.ty, b.ty);
                let text = format!("({} {op} {})", a.text, b.text);
                Expr::new(text, ty, bits_bound(a.bound.max(b.bound), ty))
            }
        }
    }

    fn cast(&mut self, depth: u32) -> Expr {
        let a = self.expression(depth - 1);
        match self.random.below(6) {
            0 => Expr::new(format!("(float){}", wrapped(&a.text)), Scalar::Float, 0),
            1 => Expr::new(format!("(double){}", wrapped(&a.text)), Scalar::Double, 0),
            2 if !a.ty.is_float() => {
                let text = format!("(unsigned char){}", wrapped(&a.text));
                Expr::new(text, Scalar::Int, 255)
            }
            3 if !a.ty.is_float() => {
                Expr::new(format!("(short){}", wrapped(&a.text)), Scalar::Int, 1 << 15)
            }
            4 if !a.ty.is_float() => {
                let text = format!("(unsigned){}", wrapped(&a.text));
                Expr::new(text, Scalar::Unsigned, limit(Scalar::Unsigned))
            }
            _ => self.whole(a),
        }
    }

    /// A float that fits as an integer, an integer as it is.
    fn whole(&mut self, a: Expr) -> Expr {
        if !a.ty.is_float() {
            return a;
        }
        let Expr { text, .. } = &a;
        let text = format!(
            "({text} > -1000.0 && {text} < 1000.0 ? (int){} : 7)",
            wrapped(text)
        );
        Expr::new(text, Scalar::Int, 1000)
    }

    fn helped(&mut self, depth: u32) -> Expr {
        let ty = self.helper.unwrap_or(Scalar::Int);
        let (a, b) = (self.of_type(ty, depth - 1), self.of_type(ty, depth - 1));
        let bound = match ty {
            // The arguments are within a quarter of the range.
            Scalar::Int => 1 << 21,
            other => limit(other),
        };
        Expr::new(format!("g({}, {})", a.text, b.text), ty, bound)
    }

    /// An integer of any type.
    pub(super) fn integer(&mut self, depth: u32) -> Expr {
        for _ in 0..4 {
            let e = self.expression(depth);
            if !e.ty.is_float() {
                return e;
            }
        }
        let number = self.random.below(50);
        Expr::new(number.to_string(), Scalar::Int, u64::from(number))
    }

    /// A value of exactly this type: an `int` within `PLAIN_INT`, a `long` within `PLAIN_LONG`.
    pub(super) fn of_type(&mut self, ty: Scalar, depth: u32) -> Expr {
        let mut e = match ty.is_float() {
            true => self.expression(depth),
            false => self.integer(depth),
        };
        match ty {
            Scalar::Int | Scalar::Short | Scalar::UnsignedChar => {
                if e.ty.is_unsigned() {
                    let text = format!("(int)({} & 1023)", e.text);
                    return Expr::new(text, Scalar::Int, 1023);
                }
                if e.bound > PLAIN_INT {
                    e = Expr::new(format!("({} % 65521)", e.text), e.ty, 65521);
                }
                if e.ty != Scalar::Int {
                    e = Expr::new(format!("(int){}", wrapped(&e.text)), Scalar::Int, e.bound);
                }
            }
            Scalar::Long => {
                if e.ty == Scalar::UnsignedLong {
                    e = Expr::new(format!("(long)({} >> 30)", e.text), Scalar::Long, 1 << 34);
                }
                if e.bound > PLAIN_LONG {
                    e = Expr::new(format!("({} % 1000003)", e.text), e.ty, 1_000_003);
                }
            }
            _ if e.ty != ty => {
                e.text = format!("({}){}", ty.text(), wrapped(&e.text));
                e.ty = ty;
                e.bound = limit(ty);
            }
            _ => {}
        }
        e
    }

    /// Returns an expression that may be stored into an element.
    pub(super) fn storable(&mut self, element: Scalar, depth: u32) -> String {
        match element {
            // Conversions to narrow types take the low bits.
            Scalar::Short | Scalar::UnsignedChar => self.integer(depth).text,
            Scalar::Int => {
                let e = self.of_type(Scalar::Int, depth);
                match e.bound > element_bound(Scalar::Int) {
                    true => format!("{} % 30011", e.text),
                    false => e.text,
                }
            }
            Scalar::Unsigned | Scalar::UnsignedLong => self.integer(depth).text,
            other => self.of_type(other, depth).text,
        }
    }

    /// A truth value.
    pub(super) fn condition(&mut self, depth: u32) -> String {
        match self.random.below(10) {
            0 if depth > 0 => {
                let (a, b) = (self.condition(depth - 1), self.condition(depth - 1));
                let op = *self.random.pick(&["&&", "||"]);
                format!("({a} {op} {b})")
            }
            1 => format!("!{}", wrapped(&self.expression(depth.min(1)).text)),
            2 => {
                let a = self.integer(depth.min(1));
                format!("(({} & {}) != 0)", a.text, 1 + self.random.below(7))
            }
            _ => {
                let (a, b) = (self.expression(depth.min(2)), self.expression(depth.min(1)));
                let op = *self.random.pick(&["<", ">", "<=", ">=", "==", "!="]);
                format!("({} {op} {})", a.text, b.text)
            }
        }
    }
}

/// Returns the bound of an element's magnitude.
pub(super) fn element_bound(element: Scalar) -> u64 {
    match element {
        Scalar::UnsignedChar => 255,
        Scalar::Short | Scalar::Int => 1 << 15,
        Scalar::Long => PLAIN_LONG,
        other => limit(other),
    }
}

/// Returns the bound of `&`, `|`, `^` and ` ` of numbers within a bound.
fn bits_bound(bound: u64, ty: Scalar) -> u64 {
    if ty.is_unsigned() {
        return limit(ty);
    }
    // The smallest number is further from zero than the largest.
    bound
        .checked_add(1)
        .and_then(u64::checked_next_power_of_two)
        .unwrap_or(u64::MAX)
        .min(limit(ty) + 1)
}

/// An operand of a prefix operator.
fn wrapped(text: &str) -> String {
    match text.starts_with('(') && text.ends_with(')') && balanced(text) {
        true => text.to_owned(),
        false => format!("({text})"),
    }
}

/// The first parenthesis is closed by the last.
fn balanced(text: &str) -> bool {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 && at + 1 < text.len() {
            return false;
        }
    }
    true
}
