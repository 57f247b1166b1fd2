//! Expressions without side effects, conditions, subscripts, and operations that make a value small enough to
//! be stored.

use super::functions::{Callee, Param};
use super::types::{Cell, Expr, Ty, binary};
use super::{Array, Maker, Matrix, Place};

impl Maker<'_> {
    pub(super) fn expression(&mut self, depth: u32) -> Expr {
        if depth == 0 || self.random.percent(15) {
            return self.leaf();
        }
        let found = match self.random.below(24) {
            0..=9 => {
                let op = *self.random.pick(&["+", "-", "*", "+", "-", "+"]);
                self.combined(op, depth)
            }
            10 | 11 => {
                let op = *self.random.pick(&["&", "|", "^", "&"]);
                self.combined(op, depth)
            }
            12 | 13 => self.quotient(depth),
            14 | 15 => self.shifted(depth),
            16 => {
                let (a, b) = (self.expression(depth - 1), self.expression(depth - 1));
                let condition = self.condition(depth - 1);
                Some(self.selected(&condition, &a, &b))
            }
            17 => {
                // A condition need not be 0 or 1.
                let text = match self.random.percent(50) {
                    true => format!("({} ? 1 : 0)", self.condition(depth - 1)),
                    false => {
                        let (a, b) = (self.expression(depth - 1), self.expression(depth - 1));
                        let op = *self.random.pick(&["<", ">", "==", "!=", "<=", "&&", "||"]);
                        format!("({} {op} {})", a.text, b.text)
                    }
                };
                Some(Expr::new(text, Ty::I32, (0, 1)))
            }
            18 | 19 => {
                let ty = *self.random.pick(&Ty::ALL);
                self.expression(depth - 1).cast(ty)
            }
            20 => self.unary(depth),
            21 => self.trick(depth),
            22 if !self.callees.is_empty() => self.called(depth),
            _ => Some(self.leaf()),
        };
        match found {
            Some(found) if found.text.len() < 160 => found,
            _ => self.leaf(),
        }
    }

    pub(super) fn selected(&mut self, condition: &str, a: &Expr, b: &Expr) -> Expr {
        let ty = super::types::common(a.ty, b.ty);
        let text = format!("({condition} ? {} : {})", a.text, b.text);
        let both = (a.lo.min(b.lo), a.hi.max(b.hi));
        let all = Expr::new(text, ty, both);
        match ty.is_float() || all.within(ty.range()) {
            true => all,
            false => Expr {
                lo: ty.range().0,
                hi: ty.range().1,
                ..all
            },
        }
    }

    /// Operands that are made to fit.
    fn combined(&mut self, op: &str, depth: u32) -> Option<Expr> {
        let (mut a, mut b) = (self.expression(depth - 1), self.expression(depth - 1));
        for _ in 0..4 {
            if let Some(found) = binary(op, &a, &b) {
                return Some(found);
            }
            if matches!(op, "&" | "|" | "^") {
                a = self.integer_of(a);
                b = self.integer_of(b);
            } else if a.hi - a.lo > b.hi - b.lo {
                a = self.smaller(a);
            } else {
                b = self.smaller(b);
            }
        }
        None
    }

    /// Returns an expression of the value with a smaller range, or with more room around it.
    fn smaller(&mut self, value: Expr) -> Expr {
        if value.ty.is_float() {
            let constant = Expr::new("0.0009765625", Ty::F64, (0, 1));
            let hi = value.hi >> 10;
            let lo = value.lo >> 10;
            return binary("*", &value, &constant).map_or(value, |e| Expr { lo, hi, ..e });
        }
        let choices: [Option<Expr>; 6] = [
            binary(
                ">>",
                &value,
                &number([3, 8, 16, 20][self.random.below(4) as usize]),
            ),
            binary(
                "&",
                &value,
                &number([15, 255, 1023, 65_535][self.random.below(4) as usize]),
            ),
            binary(
                "%",
                &value,
                &number([7, 10, 100, 1_000][self.random.below(4) as usize]),
            ),
            value.cast(Ty::I16),
            value.cast(Ty::I64).filter(|e| value.within((e.lo, e.hi))),
            value.cast(Ty::U64),
        ];
        let at = self.random.below(6) as usize;
        choices[at].clone().unwrap_or(value)
    }

    /// An integer of the value.
    pub(super) fn integer_of(&mut self, value: Expr) -> Expr {
        if !value.ty.is_float() {
            return value;
        }
        let ty = *self.random.pick(&[Ty::I32, Ty::I64, Ty::I64]);
        if let Some(found) = value.cast(ty) {
            return found;
        }
        let text = format!(
            "({} > 1000.0 || {0} < -1000.0 ? 1000 : (int){0})",
            value.text
        );
        Expr::new(text, Ty::I32, (-1000, 1000))
    }

    pub(super) fn integer(&mut self, depth: u32) -> Expr {
        let value = self.expression(depth);
        self.integer_of(value)
    }

    fn quotient(&mut self, depth: u32) -> Option<Expr> {
        let a = self.expression(depth - 1);
        let op = *self.random.pick(&["/", "%"]);
        if a.ty.is_float() {
            let by = self.fabs(depth - 1);
            let one = Expr::new("1.0", Ty::F64, (1, 1));
            return binary("/", &a, &binary("+", &by, &one)?);
        }
        let divisor = match self.random.below(4) {
            0 | 1 => {
                let constants = [
                    2, 3, 5, 7, 8, 10, 16, 100, 255, 641, 65_536, 1_000_003, -3, -8,
                ];
                let at = self.random.below(constants.len() as u32) as usize;
                let constant = number(constants[at]);
                match self.random.percent(25) && constants[at] > 0 {
                    true => Expr {
                        text: format!("{}ul", constant.text),
                        ty: Ty::U64,
                        ..constant
                    },
                    false => constant,
                }
            }
            2 => {
                let b = self.integer(depth - 1);
                let mask = number([7, 15, 255, 65_535][self.random.below(4) as usize]);
                binary("+", &binary("&", &b, &mask)?, &number(1))?
            }
            // Odd numbers are not zero.
            _ => {
                let b = self.integer(depth - 1);
                let odd = binary("|", &b, &number(1))?;
                if !odd.ty.is_unsigned() || a.lo < 0 {
                    let a = self.positive(a)?;
                    let text = format!("({} {op} {})", a.text, odd.text);
                    let ty = super::types::common(a.ty, odd.ty);
                    return Some(Expr::new(text, ty, (ty.range().0 + 1, ty.range().1)));
                }
                let ty = super::types::common(a.ty, odd.ty);
                let text = format!("({} {op} {})", a.text, odd.text);
                return Some(Expr::new(text, ty, ty.range()));
            }
        };
        binary(op, &a, &divisor)
    }

    /// A value that is not negative.
    fn positive(&mut self, value: Expr) -> Option<Expr> {
        if value.lo >= 0 {
            return Some(value);
        }
        match self.random.percent(50) {
            true => binary("&", &value, &number(0x7fff_ffff)),
            false => value.cast(Ty::U32),
        }
    }

    fn fabs(&mut self, depth: u32) -> Expr {
        let a = self.expression(depth);
        let most = a.lo.abs().max(a.hi.abs());
        let text = format!("fabs({})", a.text);
        match a.ty.is_float() {
            true => Expr::new(text, Ty::F64, (0, most)),
            false => Expr::new(format!("fabs((double){})", a.text), Ty::F64, (0, most)),
        }
    }

    fn shifted(&mut self, depth: u32) -> Option<Expr> {
        let mut a = self.integer(depth - 1);
        let bits = i128::from(a.ty.promoted().bits());
        let by = match self.random.percent(50) {
            true => number(i128::from(self.random.below(12))),
            false => {
                let b = self.integer(depth - 1);
                let mask = [3, 7, 15, bits - 1][self.random.below(4) as usize];
                binary("&", &b, &number(mask))?
            }
        };
        let op = *self.random.pick(&["<<", ">>", ">>"]);
        if let Some(found) = binary(op, &a, &by) {
            return Some(found);
        }
        a = a.cast(if bits == 64 { Ty::U64 } else { Ty::U32 })?;
        binary(op, &a, &by)
    }

    fn unary(&mut self, depth: u32) -> Option<Expr> {
        let a = self.expression(depth - 1);
        match self.random.below(4) {
            0 if !a.ty.is_float() => {
                let text = format!("(~{})", a.text);
                let ty = a.ty.promoted();
                match ty.is_unsigned() {
                    true => Some(Expr::new(text, ty, ty.range())),
                    false => Some(Expr::new(text, ty, (-a.hi - 1, -a.lo - 1))),
                }
            }
            1 => Some(Expr::new(format!("(!{})", a.text), Ty::I32, (0, 1))),
            2 => Some(self.fabs(depth - 1)),
            _ => {
                let ty = a.ty.promoted();
                let text = format!("(-{})", a.text);
                let all = ty.range();
                match (ty.is_unsigned(), -a.hi >= all.0 && -a.lo <= all.1) {
                    (true, _) => Some(Expr::new(text, ty, all)),
                    (false, true) => Some(Expr::new(text, ty, (-a.hi, -a.lo))),
                    (false, false) => None,
                }
            }
        }
    }

    /// Returns an idiom of bit manipulation.
    fn trick(&mut self, depth: u32) -> Option<Expr> {
        let value = self.integer(depth - 1);
        let ty = *self.random.pick(&[Ty::U32, Ty::U64, Ty::U32]);
        let value = match value.ty == ty {
            true => value,
            false => value.cast(ty)?,
        };
        let (x, bits, most) = (&value.text, ty.bits(), ty.range());
        let by = 1 + self.random.below(bits - 1);
        let (text, range) = match self.random.below(7) {
            0 => (format!("({x} & -{x})"), most),
            1 => (format!("({x} & ({x} - 1))"), most),
            2 => (format!("({x} << {by} | {x} >> {})", bits - by), most),
            3 => (format!("({x} ^ {x} >> {by})"), most),
            4 => (format!("({x} >> {by} & 1)"), (0, 1)),
            5 => (format!("(({x} & ({x} - 1)) == 0)"), (0, 1)),
            _ => (format!("({x} * {}u)", 0x9e37_79b1u32), most),
        };
        let ty = if text.ends_with("== 0)") { Ty::I32 } else { ty };
        Some(Expr::new(text, ty, range))
    }

    /// A call of a function without effects.
    fn called(&mut self, depth: u32) -> Option<Expr> {
        let pure: Vec<Callee> = self
            .callees
            .iter()
            .filter(|c| c.pure && c.structure.is_none() && c.weight * self.weight <= self.most)
            .cloned()
            .collect();
        if pure.is_empty() {
            return None;
        }
        let callee = self.random.pick(&pure).clone();
        let text = self.call(&callee, depth - 1)?;
        let cell = callee.returns?;
        Some(Expr::new(text, cell.ty, cell.write()))
    }

    /// The text of a call; `None` where no pointer fits.
    pub(super) fn call(&mut self, callee: &Callee, depth: u32) -> Option<String> {
        let mut list = Vec::new();
        for parameter in &callee.parameters {
            list.push(match parameter {
                Param::Scalar(cell) => self.storable(*cell, depth.min(1)),
                Param::Pointer(cell, lo, hi, written) => self.target(*cell, *lo, *hi, *written)?,
                Param::Structure(at) => self.object_target(*at)?,
                Param::Value(at) => format!("*({})", self.object_target(*at)?),
                Param::Depth(most) => {
                    let most = *most;
                    self.within(0, most)
                }
            });
        }
        self.peak = self.peak.max(self.weight * callee.weight);
        let mut name = callee.name.clone();
        if let Some(last) = callee.table {
            self.through_pointers = true;
            let at = self.within(0, last);
            name = match self.random.percent(25) {
                true => format!("(*{name}[{at}])"),
                false => format!("{name}[{at}]"),
            };
        }
        self.through_pointers |= callee.through_pointers;
        Some(format!("{name}({})", list.join(", ")))
    }

    fn leaf(&mut self) -> Expr {
        for _ in 0..4 {
            let found = match self.random.below(10) {
                0..=3 => self.readable(),
                4..=6 => self.place(),
                7 => self.index(),
                8 => self
                    .field(false)
                    .map(|(text, cell)| Expr::new(text, cell.ty, cell.read())),
                _ => Some(self.literal()),
            };
            if let Some(found) = found {
                return found;
            }
        }
        self.literal()
    }

    fn place(&mut self) -> Option<Expr> {
        if self.scope.places.is_empty() {
            return None;
        }
        let places = &self.scope.places;
        // What was declared last is what the code is about.
        let count = places.len() as u32;
        let at = self.random.below(count).max(self.random.below(count));
        let place: Place = places[at as usize].clone();
        Some(self.value(&place))
    }

    fn index(&mut self) -> Option<Expr> {
        let indices = &self.scope.indices;
        let count = indices.len() as u32;
        if count == 0 {
            return None;
        }
        let at = self.random.below(count).max(self.random.below(count));
        let index = indices[at as usize].clone();
        Some(Expr::new(index.text, index.ty, (index.lo, index.hi)))
    }

    /// An element of an array or a matrix.
    fn readable(&mut self) -> Option<Expr> {
        let (text, cell) = self.element(false)?;
        Some(Expr::new(text, cell.ty, cell.read()))
    }

    pub(super) fn element(&mut self, written: bool) -> Option<(String, Cell)> {
        if self.random.percent(15) {
            let all: Vec<Matrix> = self
                .scope
                .matrices
                .iter()
                .filter(|m| m.written || !written)
                .cloned()
                .collect();
            if !all.is_empty() {
                let matrix = self.random.pick(&all).clone();
                let (i, j) = (
                    self.within(0, matrix.rows - 1),
                    self.within(0, matrix.columns - 1),
                );
                return Some((format!("{}[{i}][{j}]", matrix.text), matrix.cell));
            }
        }
        let all: Vec<Array> = self
            .scope
            .arrays
            .iter()
            .filter(|a| !a.nullable && (a.written || !written))
            .cloned()
            .collect();
        if all.is_empty() {
            return None;
        }
        let array = self.random.pick(&all).clone();
        Some((self.element_of(&array), array.cell))
    }

    pub(super) fn element_of(&mut self, array: &Array) -> String {
        if array.lo == 0 && (array.hi == 0 || self.random.percent(8)) {
            return format!("*{}", array.text);
        }
        let at = self.subscript(array.lo, array.hi).text;
        format!("{}[{at}]", array.text)
    }

    /// A number from `lo` to `hi`: mostly an index, or one with a distance.
    pub(super) fn subscript(&mut self, lo: i64, hi: i64) -> Expr {
        let range = (i128::from(lo), i128::from(hi));
        for _ in 0..8 {
            let Some(index) = self.index() else { break };
            let found = match self.random.below(12) {
                0..=4 => Some(index),
                5 => binary("+", &index, &number(i128::from(1 + self.random.below(4)))),
                6 => binary("-", &index, &number(i128::from(1 + self.random.below(4)))),
                7 => binary("-", &number(range.1), &index),
                8 => binary("*", &index, &number(i128::from(2 + self.random.below(2)))),
                9 => {
                    let row = self.index();
                    let pitch = self.index();
                    match (row, pitch) {
                        (Some(row), Some(pitch)) => {
                            binary("*", &row, &pitch).and_then(|e| binary("+", &e, &index))
                        }
                        _ => None,
                    }
                }
                10 => binary(">>", &index, &number(1)),
                _ => {
                    let width = hi - lo + 1;
                    let mask = (1i128 << (63 - width.leading_zeros())) - 1;
                    let value = match self.random.percent(50) {
                        true => index,
                        false => self.integer(1),
                    };
                    let offset = number(range.0);
                    match self.random.percent(60) || value.lo < 0 {
                        true => binary("&", &value, &number(mask)),
                        false => binary("%", &value, &number(i128::from(width))),
                    }
                    .and_then(|e| {
                        if lo == 0 {
                            Some(e)
                        } else {
                            binary("+", &e, &offset)
                        }
                    })
                }
            };
            if let Some(found) = found
                && found.within(range)
                && found.text.len() < 80
            {
                return found;
            }
        }
        let least = lo.max(-3);
        number(i128::from(self.random.between(least, hi.min(least + 7))))
    }

    fn literal(&mut self) -> Expr {
        let value = i128::from(self.random.between(-9, 40));
        match self.random.below(9) {
            0 => Expr::new(
                format!("{}u", value.abs()),
                Ty::U32,
                (value.abs(), value.abs()),
            ),
            1 => Expr::new(
                format!("{}l", value.abs()),
                Ty::I64,
                (value.abs(), value.abs()),
            ),
            2 => Expr::new(format!("{}.5", value.abs()), Ty::F64, (0, value.abs() + 1)),
            3 => Expr::new(
                format!("{}.25f", value.abs()),
                Ty::F32,
                (0, value.abs() + 1),
            ),
            4 => {
                let all: [i128; 6] = [127, 255, 32_767, 65_535, 0x7fff_ffff, 0x1_0000_0001];
                number(*self.random.pick(&all))
            }
            _ => number(value),
        }
    }

    pub(super) fn condition(&mut self, depth: u32) -> String {
        let deeper = depth.saturating_sub(1);
        match self.random.below(14) {
            0 if depth > 0 => {
                let (a, b) = (self.condition(deeper), self.condition(deeper));
                format!("({a} && {b})")
            }
            1 if depth > 0 => {
                let (a, b) = (self.condition(deeper), self.condition(deeper));
                format!("({a} || {b})")
            }
            2 if depth > 0 => format!("!({})", self.condition(deeper)),
            3 => self.guarded(depth).unwrap_or_else(|| "1 > 0".into()),
            4 => self.compared().unwrap_or_else(|| "2 > 3".into()),
            5 => {
                let a = self.integer(deeper);
                let mask = 1 << self.random.below(5);
                match binary("&", &a, &number(mask)) {
                    Some(e) => e.text,
                    None => a.text,
                }
            }
            _ => {
                let (a, b) = (self.expression(deeper), self.expression(deeper));
                let op = *self
                    .random
                    .pick(&["<", ">", "<=", ">=", "==", "!=", "<", ">"]);
                format!("{} {op} {}", a.text, b.text)
            }
        }
    }

    /// The second half may only be evaluated behind the first one.
    fn guarded(&mut self, depth: u32) -> Option<String> {
        let nullable: Vec<Array> = self
            .scope
            .arrays
            .iter()
            .filter(|a| a.nullable)
            .cloned()
            .collect();
        let deeper = depth.saturating_sub(1);
        if !nullable.is_empty() && self.random.percent(50) {
            let text = self.random.pick(&nullable).text.clone();
            let other = self.expression(deeper);
            return Some(match self.random.percent(60) {
                true => format!("({text} && *{text} > {})", other.text),
                false => format!("({text} == 0 || *{text} != {})", other.text),
            });
        }
        let small: Vec<Array> = self
            .scope
            .arrays
            .iter()
            .filter(|a| !a.nullable && a.lo == 0 && a.hi > 0)
            .cloned()
            .collect();
        if small.is_empty() {
            return None;
        }
        let array = self.random.pick(&small).clone();
        let at = self.integer(1);
        let (at, below) = (at.text.clone(), array.hi + 1);
        let other = self.expression(deeper);
        let name = array.text;
        Some(match self.random.below(3) {
            0 => format!(
                "({at} >= 0 && {at} < {below} && {name}[{at}] > {})",
                other.text
            ),
            1 => format!(
                "((unsigned long){at} < {below} && {name}[{at}] != {})",
                other.text
            ),
            _ => format!(
                "({at} < 0 || {at} >= {below} || {name}[{at}] < {})",
                other.text
            ),
        })
    }

    /// Pointers to one kind of cells are equal, or not.
    fn compared(&mut self) -> Option<String> {
        let arrays: Vec<Array> = self
            .scope
            .arrays
            .iter()
            .filter(|a| a.assigned)
            .cloned()
            .collect();
        if arrays.is_empty() {
            return None;
        }
        let array = self.random.pick(&arrays).clone();
        let other = self.target(array.cell, 0, 0, false)?;
        let op = *self.random.pick(&["==", "!="]);
        Some(format!("{} {op} {other}", array.text))
    }

    /// The text of a value that may be assigned to the cell.
    pub(super) fn storable(&mut self, cell: Cell, depth: u32) -> String {
        let value = self.expression(depth);
        self.fitted(value, cell.ty, cell.write()).text
    }

    /// The value, or something of it that lies in a range that contains -256 to 255, or 0 to 255.
    pub(super) fn fitted(&mut self, value: Expr, ty: Ty, range: (i128, i128)) -> Expr {
        if ty.is_float() {
            if value.within(range) {
                return value;
            }
            let most = range.1;
            if value.text.len() < 40 && self.random.percent(40) {
                let x = &value.text;
                let text = format!("({x} > {most} ? {most} : {x} < -{most} ? -{most} : {x})");
                let ty = value.ty.promoted().max(Ty::I64);
                return match value.ty.is_unsigned() {
                    true => Expr::new(format!("(double)({x} & {})", most - 1), Ty::F64, range),
                    false => Expr::new(text, ty, range),
                };
            }
            if !value.ty.is_float() {
                let short = value.cast(Ty::I16).unwrap_or_else(|| number(1));
                return Expr::new(short.text, short.ty, (short.lo, short.hi));
            }
            // To within twenty bits.
            let mut down = 1i128;
            while value.lo.abs().max(value.hi.abs()) / down > most / 2 {
                down *= 2;
            }
            let text = format!("({} * {:e})", value.text, 1.0 / down as f64);
            return Expr::new(text, Ty::F64, range);
        }
        let value = self.integer_of(value);
        if range == ty.range() || value.within(range) {
            return value;
        }
        for _ in 0..6 {
            let found = match self.random.below(6) {
                0 => value.cast(Ty::I8),
                1 => value.cast(Ty::I16),
                2 => binary(
                    "&",
                    &value,
                    &number([127, 255, 4_095][self.random.below(3) as usize]),
                ),
                3 => binary(
                    "%",
                    &value,
                    &number([100, 201, 1_009][self.random.below(3) as usize]),
                ),
                4 => binary(
                    ">>",
                    &value,
                    &number([4, 16, 24, 40][self.random.below(4) as usize]),
                ),
                _ if value.text.len() < 40 && !value.ty.is_unsigned() => {
                    let (x, (lo, hi)) = (&value.text, range);
                    let text = format!("({x} > {hi} ? {hi} : {x} < {lo} ? {lo} : {x})");
                    Some(Expr::new(text, value.ty.promoted().max(Ty::I64), range))
                }
                _ => None,
            };
            if let Some(found) = found
                && found.within(range)
            {
                return found;
            }
        }
        value
            .cast(if range.0 < 0 { Ty::I8 } else { Ty::U8 })
            .unwrap_or_else(|| number(1))
    }
}

/// A decimal constant.
pub(super) fn number(value: i128) -> Expr {
    let ty = match i32::try_from(value) {
        Ok(_) => Ty::I32,
        Err(_) => Ty::I64,
    };
    let text = match value < 0 {
        true => format!("({value})"),
        false => value.to_string(),
    };
    Expr::new(text, ty, (value, value))
}
