//! Functions beside the kernel: pure ones, ones that write their arguments, ones with state, that call
//! themselves, that return structures, and tables of them.

use super::objects::Field;
use super::types::{Cell, Ty};
use super::{Array, Maker, Object, Place, Scope};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Param {
    Scalar(Cell),
    /// A pointer with its subscripts, and whether it is written.
    Pointer(Cell, i64, i64, bool),
    Structure(usize),
    /// A structure by value.
    Value(usize),
    /// A number from 0 to this one.
    Depth(i64),
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Callee {
    pub(super) name: String,
    pub(super) parameters: Vec<Param>,
    pub(super) returns: Option<Cell>,
    /// The structure that it returns.
    pub(super) structure: Option<usize>,
    /// True if it changes nothing.
    pub(super) pure: bool,
    /// The number of executions of a statement in it.
    pub(super) weight: u32,
    /// The last subscript, if it is a table of functions.
    pub(super) table: Option<i64>,
    pub(super) through_pointers: bool,
}

impl Callee {
    fn new(name: &str, parameters: Vec<Param>, returns: Option<Cell>) -> Callee {
        Callee {
            name: name.to_owned(),
            parameters,
            returns,
            structure: None,
            pure: true,
            weight: 1,
            table: None,
            through_pointers: false,
        }
    }
}

/// Results that may be anything.
const WORD: Cell = Cell::new(Ty::U64, false);

impl Maker<'_> {
    pub(super) fn helper(&mut self) {
        match self.random.below(12) {
            0..=5 => self.function(),
            6 => self.recursive(),
            7 => self.state(),
            8 | 9 if !self.structures.is_empty() => self.maker_of_structures(),
            10 => self.table(),
            11 => self.callback(),
            _ => self.function(),
        }
    }

    /// A function with statements.
    fn function(&mut self) {
        let pure = self.random.percent(55);
        let mut parameters = Vec::new();
        for _ in 0..self.random.below(3) {
            parameters.push(Param::Scalar(self.cell()));
        }
        if self.random.percent(60) {
            let hi = [0, 0, 3, 3, 7, 15][self.random.below(6) as usize];
            let cell = self.cell();
            parameters.push(Param::Pointer(cell, 0, hi, !pure));
        }
        if !self.structures.is_empty() && self.random.percent(30) {
            let at = self.random.below(self.structures.len() as u32) as usize;
            let by_value = pure || self.random.percent(40);
            parameters.push(if by_value {
                Param::Value(at)
            } else {
                Param::Structure(at)
            });
        }
        if self.random.percent(40) {
            parameters.push(Param::Depth(8));
        }
        let returns = (pure || self.random.percent(60)).then(|| self.cell());
        let name = self.global("fn");
        let mut callee = Callee::new(&name, parameters, returns);
        callee.pure = pure;
        self.defined(&mut callee);
        self.callees.push(callee);
    }

    /// Writes the function.
    fn defined(&mut self, callee: &mut Callee) {
        let saved: Scope = self.scope.clone();
        let (out, through) = (std::mem::take(&mut self.out), self.through_pointers);
        if callee.pure {
            for array in &mut self.scope.arrays {
                array.written = false;
            }
            for matrix in &mut self.scope.matrices {
                matrix.written = false;
            }
            for object in &mut self.scope.objects {
                object.written = false;
            }
            for place in &mut self.scope.places {
                place.fixed = Some(place.fixed.unwrap_or(place.cell.read()));
                place.addressable = false;
            }
        }
        self.through_pointers = false;
        self.writes = !callee.pure;
        let mut list = Vec::new();
        for (number, parameter) in callee.parameters.clone().into_iter().enumerate() {
            let name = format!("e{number}");
            list.push(self.parameter(&name, parameter, callee.pure));
        }
        (self.most, self.peak, self.weight, self.budget) = (64, 1, 1, 5);
        for _ in 0..self.random.below(3) {
            self.declare();
        }
        self.returns = callee.returns;
        let declared = self.scope.mark();
        self.lasting = Some(declared);
        for _ in 0..1 + self.random.below(3) {
            self.loops.clear();
            self.weight = 1;
            match self.random.percent(40) {
                true => self.loop_statement(),
                false => self.statement(2),
            }
        }
        self.scope.close(declared);
        if let Some(cell) = callee.returns {
            let value = self.storable(cell, 2);
            self.line(&format!("return {value};"));
        }
        let returns = callee.returns.map_or("void", |cell| cell.ty.text());
        let inline = *self
            .random
            .pick(&["static ", "static ", "static inline ", ""]);
        let body = std::mem::replace(&mut self.out, out);
        let list = if list.is_empty() {
            "void".to_owned()
        } else {
            list.join(", ")
        };
        self.head += &format!("{inline}{returns} {}({list}) {{\n{body}}}\n", callee.name);
        callee.weight = self.peak;
        callee.through_pointers = self.through_pointers;
        self.scope = saved;
        self.through_pointers = through;
        self.writes = true;
        self.lasting = None;
        self.returns = None;
        (self.most, self.peak, self.weight) = (super::MOST, 1, 1);
    }

    fn parameter(&mut self, name: &str, parameter: Param, pure: bool) -> String {
        match parameter {
            Param::Scalar(cell) => {
                self.scope.places.push(Place {
                    text: name.to_owned(),
                    cell,
                    fixed: None,
                    addressable: true,
                });
                format!("{} {name}", cell.ty.text())
            }
            Param::Pointer(cell, lo, hi, written) => {
                self.scope.arrays.push(Array {
                    text: name.to_owned(),
                    cell,
                    lo,
                    hi,
                    written,
                    nullable: false,
                    assigned: false,
                });
                let constant = if written { "" } else { "const " };
                format!("{constant}{} *{name}", cell.ty.text())
            }
            Param::Structure(structure) | Param::Value(structure) => {
                let value = matches!(parameter, Param::Value(_));
                self.scope.objects.push(Object {
                    text: name.to_owned(),
                    structure,
                    extent: (!value).then_some((0, 0)),
                    written: value || !pure,
                    assigned: false,
                });
                let star = if value { " " } else { " *" };
                format!("struct {}{star}{name}", self.structures[structure].name)
            }
            Param::Depth(most) => {
                self.scope.indices.push(super::Index {
                    text: name.to_owned(),
                    ty: Ty::I32,
                    lo: 0,
                    hi: i128::from(most),
                });
                format!("int {name}")
            }
        }
    }

    /// A function that calls itself, or another that calls it.
    fn recursive(&mut self) {
        let name = self.global("rec");
        let cell = self.cell();
        let by = self.random.between(1, 9);
        match self.random.below(4) {
            0 => {
                let mark = self.scope.mark();
                self.parameter("e1", Param::Pointer(cell, 0, 7, false), true);
                let value = Cell::new(Ty::I64, true);
                let term = self.storable_of(cell, "e1[e0 & 7]", value);
                self.scope.close(mark);
                self.head += &format!(
                    "static unsigned long {name}(int e0, const {} *e1) {{\n  if (e0 <= 0) return {by}ul;\n  return {name}(e0 - 1, e1) * 3ul + (unsigned long)({term});\n}}\n",
                    cell.ty.text()
                );
                let parameters = vec![Param::Depth(9), Param::Pointer(cell, 0, 7, false)];
                let mut callee = Callee::new(&name, parameters, Some(WORD));
                callee.weight = 10;
                self.callees.push(callee);
            }
            1 => {
                self.head += &format!(
                    "static unsigned {name}(int k, unsigned x) {{\n  if (k < 2) return x + {by};\n  return {name}(k - 1, x * 5u) ^ {name}(k - 2, x + 1u);\n}}\n"
                );
                let any = Cell::new(Ty::U32, false);
                let parameters = vec![Param::Depth(5), Param::Scalar(any)];
                let mut callee = Callee::new(&name, parameters, Some(any));
                callee.weight = 16;
                self.callees.push(callee);
            }
            2 => {
                self.head += &format!(
                    "static void {name}(int k, unsigned *c) {{\n  if (k == 0) return;\n  {name}(k - 1, c);\n  *c = *c * 3u + k;\n  {name}(k - 1, c);\n}}\n"
                );
                let any = Cell::new(Ty::U32, false);
                let parameters = vec![Param::Depth(4), Param::Pointer(any, 0, 0, true)];
                let mut callee = Callee::new(&name, parameters, None);
                callee.weight = 32;
                callee.pure = false;
                self.callees.push(callee);
            }
            _ => {
                let other = self.global("odd");
                self.head += &format!(
                    "static long {other}(int k, long x);\nstatic long {name}(int k, long x) {{\n  if (k == 0) return x & 1023;\n  return {other}(k - 1, x >> 1);\n}}\nstatic long {other}(int k, long x) {{\n  return k <= 0 ? x % {by} : {name}(k - 1, x ^ {by});\n}}\n"
                );
                let parameters = vec![Param::Depth(7), Param::Scalar(Cell::new(Ty::I64, false))];
                let mut callee = Callee::new(&name, parameters, Some(Cell::new(Ty::I64, false)));
                callee.weight = 8;
                self.callees.push(callee);
            }
        }
    }

    /// The text of a value of a cell, fit for another one.
    fn storable_of(&mut self, cell: Cell, text: &str, to: Cell) -> String {
        let value = super::Expr::new(text, cell.ty, cell.read());
        self.fitted(value, to.ty, to.write()).text
    }

    /// A function that remembers.
    fn state(&mut self) {
        let name = self.global("next");
        let (first, any) = (self.random.below(1000), Cell::new(Ty::U32, false));
        let by = 1 + self.random.below(13);
        self.head += &match self.random.below(3) {
            0 => format!(
                "static unsigned {name}(void) {{\n  static unsigned s = {first}u;\n  s = s * 1103515245u + {by}u;\n  return s >> 16;\n}}\n"
            ),
            1 => format!(
                "static unsigned char {name}_at;\nstatic unsigned {name}_ring[8];\nstatic unsigned {name}(void) {{\n  {name}_at = ({name}_at + {by}) & 7;\n  return {name}_ring[{name}_at] += {first}u + {name}_at;\n}}\n"
            ),
            _ => format!(
                "static unsigned {name}(void) {{\n  static int calls, last = {first};\n  static const unsigned char steps[4] = {{1, 4, 9, 250}};\n  last += steps[calls++ & 3];\n  return (unsigned)last;\n}}\n"
            ),
        };
        let mut callee = Callee::new(&name, Vec::new(), Some(any));
        callee.pure = false;
        self.callees.push(callee);
    }

    /// A function that returns a structure, by chance made of one that it is given.
    fn maker_of_structures(&mut self) {
        let at = self.random.below(self.structures.len() as u32) as usize;
        let (name, tag) = (self.global("mk"), self.structures[at].name.clone());
        let cell = self.cell();
        let given = self.random.percent(50);
        let mut parameters = vec![Param::Scalar(cell)];
        if given {
            parameters.push(Param::Value(at));
        }
        let saved = self.scope.clone();
        self.scope = Scope::default();
        let mut list = Vec::new();
        for (number, parameter) in parameters.clone().into_iter().enumerate() {
            list.push(self.parameter(&format!("e{number}"), parameter, true));
        }
        let value = if given { "e1" } else { "{0}" };
        let mut body = format!("  struct {tag} r = {value};\n");
        for (field, kind) in self.structures[at].fields.clone() {
            match kind {
                Field::Scalar(cell) if self.random.percent(60) => {
                    let value = self.storable(cell, 2);
                    body += &format!("  r.{field} = {value};\n");
                }
                Field::Row(cell, length) if self.random.percent(60) => {
                    let mark = self.scope.mark();
                    self.scope.indices.push(super::Index {
                        text: "i".into(),
                        ty: Ty::I32,
                        lo: 0,
                        hi: i128::from(length - 1),
                    });
                    let value = self.storable(cell, 1);
                    self.scope.close(mark);
                    body +=
                        &format!("  for (int i = 0; i < {length}; i++) r.{field}[i] = {value};\n");
                }
                _ => {}
            }
        }
        self.scope = saved;
        self.head += &format!(
            "static struct {tag} {name}({}) {{\n{body}  return r;\n}}\n",
            list.join(", ")
        );
        let mut callee = Callee::new(&name, parameters, None);
        callee.structure = Some(at);
        callee.weight = 8;
        self.callees.push(callee);
    }

    /// Functions of one type, and a table of them.
    fn table(&mut self) {
        let (a, b, returns) = (self.cell(), self.cell(), self.cell());
        let parameters = vec![Param::Scalar(a), Param::Scalar(b)];
        let mut names = Vec::new();
        let mut weight = 1;
        for _ in 0..2 + self.random.below(3) {
            let name = self.global("alt");
            let mut callee = Callee::new(&name, parameters.clone(), Some(returns));
            self.short(&mut callee);
            weight = weight.max(callee.weight);
            names.push(name);
        }
        let name = self.global("table");
        let constant = *self.random.pick(&["const ", ""]);
        self.head += &format!(
            "static {} (*{constant}{name}[{}])({}, {}) = {{{}}};\n",
            returns.ty.text(),
            names.len(),
            a.ty.text(),
            b.ty.text(),
            names.join(", ")
        );
        let mut callee = Callee::new(&name, parameters, Some(returns));
        callee.table = Some(names.len() as i64 - 1);
        callee.weight = weight;
        self.callees.push(callee);
    }

    /// A function of one expression.
    fn short(&mut self, callee: &mut Callee) {
        let saved = std::mem::take(&mut self.scope);
        let mut list = Vec::new();
        for (number, parameter) in callee.parameters.clone().into_iter().enumerate() {
            list.push(self.parameter(&format!("e{number}"), parameter, true));
        }
        let cell = callee.returns.unwrap_or(WORD);
        self.peak = 1;
        let value = self.storable(cell, 2);
        callee.weight = self.peak;
        self.peak = 1;
        self.scope = saved;
        self.head += &format!(
            "static {} {}({}) {{ return {value}; }}\n",
            cell.ty.text(),
            callee.name,
            list.join(", ")
        );
    }

    /// A loop that calls its argument; which function that is may be chosen when it runs.
    fn callback(&mut self) {
        let (a, returns) = (self.cell(), self.cell());
        let mut names = Vec::new();
        for _ in 0..2 {
            let name = self.global("op");
            let mut callee = Callee::new(&name, vec![Param::Scalar(a)], Some(returns));
            self.short(&mut callee);
            names.push(name);
        }
        let (name, by) = (self.global("each"), self.global("over"));
        let (ty, result) = (a.ty.text(), returns.ty.text());
        let term = self.storable_of(returns, "g(p[i])", Cell::new(Ty::I64, true));
        self.head += &format!(
            "static long {by}({result} (*g)({ty}), const {ty} *p, int k) {{\n  long s = 0;\n  for (int i = 0; i < k; i++) s += {term};\n  return s & 0xffffff;\n}}\n"
        );
        let parameters = vec![Param::Pointer(a, 0, 7, false), Param::Depth(8)];
        let first = self.random.below(4);
        let chosen = match self.random.percent(50) {
            true => format!("e1 > {first} ? {} : {}", names[0], names[1]),
            false => names[0].clone(),
        };
        self.head += &format!(
            "static long {name}(const {ty} *e0, int e1) {{\n  return {by}({chosen}, e0, e1);\n}}\n"
        );
        let mut callee = Callee::new(&name, parameters, Some(Cell::new(Ty::I64, false)));
        // Values of the array may be larger than what the functions are written for.
        callee.pure = true;
        callee.weight = 32;
        callee.through_pointers = true;
        self.callees.push(callee);
    }
}
