//! Objects that kernels declare: variables, arrays, structures, pointers and tables of them, unions; and the
//! objects that pointers may point to.

use super::types::{Cell, Expr, Ty};
use super::{Array, Maker, Matrix, Object, Place};

#[derive(Clone, Debug)]
pub(super) enum Field {
    Scalar(Cell),
    Row(Cell, i64),
    Nested(usize),
}

#[derive(Clone, Debug)]
pub(super) struct Structure {
    /// Its tag.
    pub(super) name: String,
    pub(super) fields: Vec<(String, Field)>,
    /// True if there is no padding.
    pub(super) flat: bool,
    size: i64,
    align: i64,
}

impl Maker<'_> {
    /// A structure type at file scope.
    pub(super) fn structure(&mut self) {
        let flat = self.random.percent(60);
        let mut fields: Vec<Field> = Vec::new();
        for _ in 0..2 + self.random.below(4) {
            let cell = self.cell();
            let nested: Vec<usize> = (0..self.structures.len())
                .filter(|&at| self.structures[at].flat || !flat)
                .collect();
            fields.push(match self.random.below(8) {
                0 | 1 => Field::Row(cell, 2 + i64::from(self.random.below(5))),
                2 if !nested.is_empty() => Field::Nested(*self.random.pick(&nested)),
                _ => Field::Scalar(cell),
            });
        }
        if flat {
            fields.sort_by_key(|field| -self.layout(field).1);
        }
        let (mut size, mut align) = (0, 1);
        for field in &fields {
            let (bytes, needed) = self.layout(field);
            size = (size + needed - 1) / needed * needed + bytes;
            align = align.max(needed);
        }
        let rest = (align - size % align) % align;
        if flat && rest > 0 {
            fields.push(Field::Row(Cell::new(Ty::U8, false), rest));
        }
        let name = self.global("s");
        let letters = ["x", "y", "z", "w", "u", "t", "r"];
        let fields: Vec<(String, Field)> = letters
            .iter()
            .map(|name| (*name).to_owned())
            .zip(fields)
            .collect();
        let mut text = format!("struct {name} {{");
        for (field, kind) in &fields {
            text += &match kind {
                Field::Scalar(cell) => format!(" {} {field};", cell.ty.text()),
                Field::Row(cell, length) => format!(" {} {field}[{length}];", cell.ty.text()),
                Field::Nested(at) => format!(" struct {} {field};", self.structures[*at].name),
            };
        }
        self.head += &format!("{text} }};\n");
        self.structures.push(Structure {
            name,
            fields,
            flat,
            size: size + rest,
            align,
        });
    }

    /// Bytes and alignment.
    fn layout(&self, field: &Field) -> (i64, i64) {
        match field {
            Field::Scalar(cell) => (i64::from(cell.ty.bits() / 8), i64::from(cell.ty.bits() / 8)),
            Field::Row(cell, length) => {
                let bytes = i64::from(cell.ty.bits() / 8);
                (bytes * length, bytes)
            }
            Field::Nested(at) => (self.structures[*at].size, self.structures[*at].align),
        }
    }

    /// The bytes of one without padding.
    pub(super) fn image(&mut self, structure: usize, bytes: &mut Vec<u8>) {
        for (_, field) in self.structures[structure].fields.clone() {
            let (cell, count) = match field {
                Field::Scalar(cell) => (cell, 1),
                Field::Row(cell, length) => (cell, length),
                Field::Nested(at) => {
                    self.image(at, bytes);
                    continue;
                }
            };
            for _ in 0..count {
                let bits = self.bits_of(cell);
                bytes.extend_from_slice(&bits.to_le_bytes()[..cell.ty.bits() as usize / 8]);
            }
        }
    }

    /// Each scalar in it, of rows the ends.
    pub(super) fn paths(&self, structure: usize) -> Vec<(String, Cell)> {
        let mut all = Vec::new();
        for (name, field) in &self.structures[structure].fields {
            match field {
                Field::Scalar(cell) => all.push((name.clone(), *cell)),
                Field::Row(cell, length) => {
                    all.push((format!("{name}[0]"), *cell));
                    all.push((format!("{name}[{}]", length - 1), *cell));
                }
                Field::Nested(at) => {
                    for (path, cell) in self.paths(*at) {
                        all.push((format!("{name}.{path}"), cell));
                    }
                }
            }
        }
        all
    }

    /// An initialiser of a structure.
    fn initialiser(&mut self, structure: usize) -> String {
        if self.random.percent(25) {
            return "{0}".to_owned();
        }
        let mut parts = Vec::new();
        for (name, field) in self.structures[structure].fields.clone() {
            let text = match field {
                Field::Scalar(cell) => self.constant(cell),
                Field::Row(cell, length) => self.constants(cell, length),
                Field::Nested(at) => self.initialiser(at),
            };
            match self.random.percent(20) {
                true => {
                    parts.push(format!(".{name} = {text}"));
                    break;
                }
                false => parts.push(text),
            }
        }
        format!("{{{}}}", parts.join(", "))
    }

    pub(super) fn constant(&mut self, cell: Cell) -> String {
        let bits = self.bits_of(cell);
        match cell.ty {
            Ty::F32 => {
                let number = f32::from_bits(bits as u32);
                format!("{number:?}f")
            }
            Ty::F64 => format!("{:?}", f64::from_bits(bits)),
            Ty::U64 => format!("{bits}ul"),
            Ty::U32 | Ty::U8 | Ty::U16 => format!("{bits}u"),
            Ty::I64 if bits == 1 << 63 => "(-9223372036854775807l - 1)".to_owned(),
            Ty::I32 if bits as i32 == i32::MIN => "(-2147483647 - 1)".to_owned(),
            Ty::I64 => format!("{}l", bits as i64),
            _ => (bits as i64).to_string(),
        }
    }

    pub(super) fn constants(&mut self, cell: Cell, length: i64) -> String {
        let count = match self.random.percent(60) {
            true => length,
            false => 1 + i64::from(self.random.below(length as u32)),
        };
        let all: Vec<String> = (0..count).map(|_| self.constant(cell)).collect();
        format!("{{{}}}", all.join(", "))
    }

    /// A table, a variable that keeps its state, or a structure, at file scope.
    pub(super) fn file_scope(&mut self) {
        let cell = self.cell();
        let (ty, name) = (cell.ty.text(), self.global("g"));
        let linkage = *self.random.pick(&["static ", "static ", ""]);
        let (text, constant) = match self.random.below(7) {
            0 | 1 => {
                let length = 1 << (2 + self.random.below(3));
                let values = self.constants(cell, length);
                let constant = self.random.percent(60);
                self.array(&name, cell, length, !constant);
                (format!("{ty} {name}[{length}] = {values}"), constant)
            }
            2 => {
                let (rows, columns) = self.shape();
                let rest: Vec<String> = (0..rows).map(|_| self.constants(cell, columns)).collect();
                let constant = self.random.percent(50);
                self.scope.matrices.push(Matrix {
                    text: name.clone(),
                    cell,
                    rows,
                    columns,
                    written: !constant,
                });
                let values = rest.join(", ");
                (
                    format!("{ty} {name}[{rows}][{columns}] = {{{values}}}"),
                    constant,
                )
            }
            3 if !self.structures.is_empty() => {
                let structure = self.random.below(self.structures.len() as u32) as usize;
                let tag = self.structures[structure].name.clone();
                let (object, text) = match self.random.percent(50) {
                    true => (None, self.initialiser(structure)),
                    false => {
                        let all: Vec<String> =
                            (0..3).map(|_| self.initialiser(structure)).collect();
                        (Some((0, 2)), format!("{{{}}}", all.join(", ")))
                    }
                };
                let length = if object.is_some() { "[3]" } else { "" };
                let text = format!("struct {tag} {name}{length} = {text}");
                self.scope.objects.push(Object {
                    text: name,
                    structure,
                    extent: object,
                    written: true,
                    assigned: false,
                });
                (text, false)
            }
            _ => {
                let value = self.constant(cell);
                self.scope.places.push(Place {
                    text: name.clone(),
                    cell,
                    fixed: None,
                    addressable: true,
                });
                (format!("{ty} {name} = {value}"), false)
            }
        };
        let constant = if constant { "const " } else { "" };
        self.head += &format!("{linkage}{constant}{text};\n");
    }

    fn shape(&mut self) -> (i64, i64) {
        let rows = [2, 3, 4][self.random.below(3) as usize];
        (rows, [3, 4, 5, 8][self.random.below(4) as usize])
    }

    fn array(&mut self, name: &str, cell: Cell, length: i64, written: bool) {
        self.scope.arrays.push(Array {
            text: name.to_owned(),
            cell,
            lo: 0,
            hi: length - 1,
            written,
            nullable: false,
            assigned: false,
        });
    }

    /// A declaration at the top of a function.
    pub(super) fn declare(&mut self) {
        let mut cell = self.cell();
        // Variables of one kind, so that pointers have a choice.
        if let Some(place) = self.scope.places.iter().rfind(|p| p.addressable)
            && self.random.percent(50)
        {
            cell = place.cell;
        }
        let ty = cell.ty.text();
        match self.random.below(16) {
            0..=3 => {
                let (name, value) = (self.fresh("x"), self.storable(cell, 1));
                let state = match self.writes && self.random.percent(8) {
                    true => {
                        let value = self.constant(cell);
                        format!("static {ty} {name} = {value};")
                    }
                    false => format!("{ty} {name} = {value};"),
                };
                self.line(&state);
                self.scope.places.push(Place {
                    text: name,
                    cell,
                    fixed: None,
                    addressable: true,
                });
            }
            4 | 5 => {
                let (name, length) = (
                    self.fresh("t"),
                    [4, 6, 8, 8, 16][self.random.below(5) as usize],
                );
                let values = self.constants(cell, length);
                let kind = match self.writes && self.random.percent(15) {
                    true => "static ",
                    false => "",
                };
                self.line(&format!("{kind}{ty} {name}[{length}] = {values};"));
                self.array(&name, cell, length, true);
            }
            6 => {
                let (name, (rows, columns)) = (self.fresh("q"), self.shape());
                let row = self.constants(cell, columns);
                self.line(&format!("{ty} {name}[{rows}][{columns}] = {{{row}}};"));
                self.scope.matrices.push(Matrix {
                    text: name,
                    cell,
                    rows,
                    columns,
                    written: true,
                });
            }
            7 | 8 if !self.structures.is_empty() => {
                let structure = self.random.below(self.structures.len() as u32) as usize;
                let (name, value) = (self.fresh("o"), self.initialiser(structure));
                let tag = self.structures[structure].name.clone();
                let extent = self.random.percent(40).then_some((0, 3));
                self.line(&match extent {
                    None => format!("struct {tag} {name} = {value};"),
                    Some(_) => format!("struct {tag} {name}[4] = {{{value}}};"),
                });
                self.scope.objects.push(Object {
                    text: name,
                    structure,
                    extent,
                    written: true,
                    assigned: false,
                });
            }
            9 if !self.scope.objects.is_empty() => self.object_pointer(),
            10 => self.pointer_table(cell),
            11 => self.pointer_in_structure(cell),
            12 => self.union_variable(),
            _ => self.pointer(cell),
        }
    }

    /// A pointer to some place of the kind.
    fn pointer(&mut self, cell: Cell) {
        let hi = [0, 0, 0, 1, 3, 7][self.random.below(6) as usize];
        let nullable = hi == 0 && self.random.percent(15);
        let written = self.random.percent(80);
        let Some(first) = self.target(cell, 0, hi, written) else {
            return;
        };
        let name = self.fresh("p");
        let mut value = first;
        if let Some(second) = self.target(cell, 0, hi, written)
            && self.random.percent(60)
        {
            let condition = self.condition(1);
            let second = if nullable { "0".to_owned() } else { second };
            value = format!("{condition} ? {value} : {second}");
        }
        let constant = if written { "" } else { "const " };
        self.line(&format!("{constant}{} *{name} = {value};", cell.ty.text()));
        self.scope.arrays.push(Array {
            text: name,
            cell,
            lo: 0,
            hi,
            written,
            nullable,
            assigned: true,
        });
    }

    /// `int *t[3] = { x, &y, a + 2 };`
    fn pointer_table(&mut self, cell: Cell) {
        let hi = [0, 0, 3][self.random.below(3) as usize];
        let mut all = Vec::new();
        for _ in 0..4 {
            match self.target(cell, 0, hi, true) {
                Some(found) => all.push(found),
                None => return,
            }
        }
        let name = self.fresh("pt");
        let list = all.join(", ");
        self.line(&format!("{} *{name}[4] = {{{list}}};", cell.ty.text()));
        let index = self.within(0, 3);
        for (subscript, assigned) in [("1", true), ("2", true), (&index, true)] {
            self.scope.arrays.push(Array {
                text: format!("{name}[{subscript}]"),
                cell,
                lo: 0,
                hi,
                written: true,
                nullable: false,
                assigned,
            });
        }
    }

    /// `struct { int *p; long k; } w = { x, 3 };`
    fn pointer_in_structure(&mut self, cell: Cell) {
        let hi = [0, 2, 3][self.random.below(3) as usize];
        let Some(first) = self.target(cell, 0, hi, true) else {
            return;
        };
        let (name, tag, ty) = (self.fresh("w"), self.global("h"), cell.ty.text());
        let value = self.constant(cell);
        self.head += &format!("struct {tag} {{ {ty} *p; {ty} k; int c; }};\n");
        self.line(&format!(
            "struct {tag} {name} = {{ {first}, {value}, {} }};",
            self.next
        ));
        let mut text = name.clone();
        if self.random.percent(40) {
            text = self.fresh("wp");
            self.line(&format!("struct {tag} *{text} = &{name};"));
            text += "->";
        } else {
            text += ".";
        }
        self.scope.places.push(Place {
            text: format!("{text}k"),
            cell,
            fixed: None,
            addressable: true,
        });
        self.scope.arrays.push(Array {
            text: format!("{text}p"),
            cell,
            lo: 0,
            hi,
            written: true,
            nullable: false,
            assigned: true,
        });
    }

    /// Integers that share their bytes.
    fn union_variable(&mut self) {
        let (name, tag) = (self.fresh("u"), self.global("n"));
        let value = self.random.draw();
        self.head += &format!(
            "union {tag} {{ unsigned long u; long l; int i[2]; unsigned w[2]; short h[4]; unsigned char b[8]; }};\n"
        );
        self.line(&format!("union {tag} {name} = {{ {value}ul }};"));
        for (field, ty) in [("u", Ty::U64), ("l", Ty::I64)] {
            self.scope.places.push(Place {
                text: format!("{name}.{field}"),
                cell: Cell::new(ty, false),
                fixed: None,
                addressable: false,
            });
        }
        for (field, ty, length) in [
            ("i", Ty::I32, 2),
            ("w", Ty::U32, 2),
            ("h", Ty::I16, 4),
            ("b", Ty::U8, 8),
        ] {
            let text = format!("{name}.{field}");
            if self.random.percent(50) {
                self.scope.arrays.push(Array {
                    text,
                    cell: Cell::new(ty, false),
                    lo: 0,
                    hi: length - 1,
                    written: true,
                    // Only through the union is it the same memory.
                    nullable: false,
                    assigned: false,
                });
            }
        }
    }

    /// `struct s *p = c ? &o : a + 1;`
    pub(super) fn object_pointer(&mut self) {
        let at = self.random.below(self.scope.objects.len() as u32) as usize;
        let structure = self.scope.objects[at].structure;
        let (Some(a), Some(b)) = (self.object_target(structure), self.object_target(structure))
        else {
            return;
        };
        let name = self.fresh("op");
        let tag = self.structures[structure].name.clone();
        let value = match self.random.percent(60) {
            true => format!("{} ? {a} : {b}", self.condition(1)),
            false => a,
        };
        self.line(&format!("struct {tag} *{name} = {value};"));
        self.scope.objects.push(Object {
            text: name,
            structure,
            extent: Some((0, 0)),
            written: true,
            assigned: true,
        });
    }

    /// The address of a structure that may be written.
    pub(super) fn object_target(&mut self, structure: usize) -> Option<String> {
        let lasting = self.lasting.unwrap_or(self.scope.mark()).0;
        let all: Vec<Object> = self
            .scope
            .objects
            .iter()
            .take(lasting[3])
            .filter(|o| o.structure == structure && o.written)
            .cloned()
            .collect();
        if all.is_empty() {
            return None;
        }
        let object = self.random.pick(&all).clone();
        Some(match object.extent {
            None => format!("&{}", object.text),
            Some((0, 0)) => object.text,
            Some((lo, hi)) => {
                let index = self.within(lo, hi);
                format!("&{}[{index}]", object.text)
            }
        })
    }

    /// An address with elements of a kind around it.
    pub(super) fn target(&mut self, cell: Cell, lo: i64, hi: i64, written: bool) -> Option<String> {
        // What a block declares is gone when it ends; a pointer may live longer.
        let lasting = self.lasting.unwrap_or(self.scope.mark()).0;
        let arrays: Vec<Array> = self
            .scope
            .arrays
            .iter()
            .take(lasting[1])
            .filter(|a| {
                a.cell == cell
                    && (a.written || !written)
                    && !a.nullable
                    && a.lo <= lo
                    && a.hi >= hi
                    && !a.text.starts_with('u')
            })
            .cloned()
            .collect();
        let rows: Vec<Matrix> = self
            .scope
            .matrices
            .iter()
            .filter(|m| m.cell == cell && (m.written || !written) && lo == 0 && hi < m.columns)
            .cloned()
            .collect();
        let places: Vec<Place> = self
            .scope
            .places
            .iter()
            .take(lasting[0])
            .filter(|p| p.cell == cell && p.addressable && lo == 0 && hi == 0)
            .cloned()
            .collect();
        let fields = match lo == 0 && hi == 0 {
            true => self.addressed_field(cell),
            false => None,
        };
        for _ in 0..6 {
            match self.random.below(4) {
                0 if !arrays.is_empty() => {
                    let array = self.random.pick(&arrays).clone();
                    let at = self.within(array.lo - lo, array.hi - hi);
                    return Some(match at.as_str() {
                        "0" => array.text,
                        _ if self.random.percent(50) => format!("&{}[{at}]", array.text),
                        _ => format!("{} + ({at})", array.text),
                    });
                }
                1 | 2 if !places.is_empty() => {
                    return Some(format!("&{}", self.random.pick(&places).text));
                }
                3 if !rows.is_empty() => {
                    let matrix = self.random.pick(&rows).clone();
                    let at = self.within(0, matrix.rows - 1);
                    return Some(format!("{}[{at}]", matrix.text));
                }
                3 if fields.is_some() => return fields,
                _ => {}
            }
        }
        None
    }

    /// `&o.x`
    fn addressed_field(&mut self, cell: Cell) -> Option<String> {
        let lasting = self.lasting.unwrap_or(self.scope.mark()).0;
        let all = self.scope.objects.iter().take(lasting[3]);
        let all: Vec<Object> = all.filter(|o| o.written).cloned().collect();
        if all.is_empty() {
            return None;
        }
        let object = self.random.pick(&all).clone();
        let paths = self.paths(object.structure);
        let paths: Vec<_> = paths.iter().filter(|(_, kind)| *kind == cell).collect();
        if paths.is_empty() {
            return None;
        }
        let path = self.random.pick(&paths).0.clone();
        let text = self.object_text(&object);
        Some(format!("&{text}{path}"))
    }

    /// `o.`, `p->` or `a[i].`
    pub(super) fn object_text(&mut self, object: &Object) -> String {
        match object.extent {
            None => format!("{}.", object.text),
            Some((lo, hi)) => {
                if lo == 0 && (hi == 0 || self.random.percent(20)) {
                    return format!("{}->", object.text);
                }
                let at = self.within(lo, hi);
                format!("{}[{at}].", object.text)
            }
        }
    }

    /// A scalar in a structure: its text and kind.
    pub(super) fn field(&mut self, written: bool) -> Option<(String, Cell)> {
        let all: Vec<Object> = self
            .scope
            .objects
            .iter()
            .filter(|o| o.written || !written)
            .cloned()
            .collect();
        if all.is_empty() {
            return None;
        }
        let object = self.random.pick(&all).clone();
        let mut text = self.object_text(&object);
        let mut structure = object.structure;
        loop {
            let fields = self.structures[structure].fields.clone();
            let (name, field) = self.random.pick(&fields).clone();
            text += &name;
            match field {
                Field::Scalar(cell) => return Some((text, cell)),
                Field::Row(cell, length) => {
                    let at = self.within(0, length - 1);
                    return Some((format!("{text}[{at}]"), cell));
                }
                Field::Nested(at) => {
                    structure = at;
                    text.push('.');
                }
            }
        }
    }

    /// A subscript from `lo` to `hi`.
    pub(super) fn within(&mut self, lo: i64, hi: i64) -> String {
        self.subscript(lo, hi).text
    }

    /// An expression that is there, as a place that is not assigned.
    pub(super) fn fix(&mut self, name: String, value: &Expr) {
        let cell = Cell::new(value.ty, true);
        self.scope.places.push(Place {
            text: name,
            cell,
            fixed: Some((value.lo, value.hi)),
            addressable: false,
        });
    }
}
