//! Random kernels with the constructs of real C besides arrays in parameters: variables whose address is
//! taken, pointers to one or another of them, structures, unions, tables, functions with state, recursion and
//! pointers to functions, counters of all types and loops of all forms.
//!
//! ```text
//! static unsigned long f_7(long n, int *a, struct v_7 *p, unsigned long *out) {
//!   int x = 3, y = 4, *q = n > 2 ? &x : &y;
//!   for (unsigned char c = 250; c != 6; c++) { p->sum += *q; q = a[c & 15] > 0 ? a + 1 : &y; *q = 7; }
//!   out[0] = x + 31ul * y;
//!   return p->sum;
//! }
//! ```
//! The values that a kernel computed are in its result and in its buffers; the final values of its own
//! variables are hashed into the last one. The text stands for itself, and its names at file scope end in the
//! seed, so that many texts make a program.
//!
//! Guarantees, by construction: no undefined behaviour, and one result.
//! - Every expression carries the range of its values; signed arithmetic, shifts, divisions and conversions
//!   of floats that could leave the defined range are refused or narrowed. Cells of one kind share a range,
//!   whatever points to them; sums have small steps, and a statement runs less than [`MOST`] times.
//! - Floats stay finite: there is no NaN, and bits can be compared.
//! - Pointers carry how many elements are before and behind them; a subscript is in that range, or behind a comparison that
//!   keeps it there; one that may be null is asked first. Pointers that are ordered point into one array.
//! - Memory is accessed by its type, by characters, or by a union. Everything has an initial value.
//! - Changes of memory are statements of their own: no order of evaluation is left open.
//! - Structures in buffers have no padding; of others it is not looked at.
//! - Loops end: at most `LONGEST` times, inner ones less; recursion has a bounded depth.

mod expressions;
mod functions;
mod idioms;
mod loops;
mod objects;
mod statements;
#[cfg(test)]
mod tests;
mod types;

use super::{Argument, Buffer, Kernel, LONGEST, Parameter, Random, SLACK, Scalar, parameter_list};
use functions::Callee;
use objects::Structure;
use std::fmt::Write;
use types::{Cell, Expr, Ty};

/// The most executions of a statement of the kernel.
const MOST: u32 = 1 << 12;

/// A kernel, and the machines that can execute it.
#[derive(Clone, PartialEq, Debug)]
pub struct Wide {
    pub kernel: Kernel,
    /// Functions are called through pointers: the interpreter does not do that.
    pub through_pointers: bool,
}

/// The wide kernel of a seed.
pub fn wide(seed: u64) -> Wide {
    let mut random = Random::new(seed ^ 0x77_1de0_77de);
    let mut maker = Maker::new(&mut random, seed);
    maker.all()
}

/// A variable, or another place with a text of its own.
#[derive(Clone, Debug)]
struct Place {
    text: String,
    cell: Cell,
    /// The range of a place that is never assigned.
    fixed: Option<(i128, i128)>,
    /// `&text` may be taken.
    addressable: bool,
}

/// An object with elements: an array, or a pointer with elements around it.
#[derive(Clone, Debug)]
struct Array {
    text: String,
    cell: Cell,
    /// Subscripts.
    lo: i64,
    hi: i64,
    written: bool,
    /// May be null.
    nullable: bool,
    /// A variable that other places can be assigned to.
    assigned: bool,
}

#[derive(Clone, Debug)]
struct Matrix {
    text: String,
    cell: Cell,
    rows: i64,
    columns: i64,
    written: bool,
}

/// A structure, an array of them, or a pointer to them.
#[derive(Clone, Debug)]
struct Object {
    text: String,
    structure: usize,
    /// Subscripts; `None`: the structure itself.
    extent: Option<(i64, i64)>,
    written: bool,
    /// A variable that other places can be assigned to.
    assigned: bool,
}

/// An integer that is not assigned where it can be named.
#[derive(Clone, Debug)]
struct Index {
    text: String,
    ty: Ty,
    lo: i128,
    hi: i128,
}

#[derive(Clone, Default, Debug)]
struct Scope {
    places: Vec<Place>,
    arrays: Vec<Array>,
    matrices: Vec<Matrix>,
    objects: Vec<Object>,
    indices: Vec<Index>,
}

/// Lengths of a scope's lists.
#[derive(Clone, Copy, Debug)]
struct Mark([usize; 5]);

impl Scope {
    fn mark(&self) -> Mark {
        Mark([
            self.places.len(),
            self.arrays.len(),
            self.matrices.len(),
            self.objects.len(),
            self.indices.len(),
        ])
    }
    fn close(&mut self, Mark([places, arrays, matrices, objects, indices]): Mark) {
        self.places.truncate(places);
        self.arrays.truncate(arrays);
        self.matrices.truncate(matrices);
        self.objects.truncate(objects);
        self.indices.truncate(indices);
    }
}

/// The statements that may leave a loop's body.
#[derive(Clone, Copy, Debug)]
struct Loop {
    continues: bool,
    /// `break` leaves this loop, and not a `switch` in it.
    breaks: bool,
}

struct Maker<'a> {
    random: &'a mut Random,
    seed: u64,
    /// Declarations at file scope, and functions that are ready.
    head: String,
    out: String,
    indent: usize,
    next: u32,
    scope: Scope,
    structures: Vec<Structure>,
    callees: Vec<Callee>,
    loops: Vec<Loop>,
    /// The most executions of the current statement, of any statement allowed, and of any statement so far.
    weight: u32,
    most: u32,
    peak: u32,
    /// Statements that may still be written.
    budget: u32,
    /// The variables declared for the whole function; others end with their block.
    lasting: Option<Mark>,
    returns: Option<Cell>,
    /// `goto done` was written; helpers have no such label.
    done: Option<bool>,
    /// A label behind the loops around, and whether somebody goes there.
    outer: Option<(String, bool)>,
    /// Writes to memory are permitted: not in pure functions.
    writes: bool,
    through_pointers: bool,
}

impl<'a> Maker<'a> {
    fn new(random: &'a mut Random, seed: u64) -> Maker<'a> {
        Maker {
            random,
            seed,
            head: String::new(),
            out: String::new(),
            indent: 1,
            next: 0,
            scope: Scope::default(),
            structures: Vec::new(),
            callees: Vec::new(),
            loops: Vec::new(),
            weight: 1,
            most: MOST,
            peak: 1,
            budget: 0,
            lasting: None,
            returns: None,
            done: None,
            outer: None,
            writes: true,
            through_pointers: false,
        }
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    /// A name at file scope.
    fn global(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}_{}", self.next, self.seed)
    }

    fn line(&mut self, text: &str) {
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn open(&mut self, text: &str) {
        self.line(text);
        self.indent += 1;
    }

    fn close(&mut self, text: &str) {
        self.indent -= 1;
        self.line(text);
    }

    fn cell(&mut self) -> Cell {
        let common = [Ty::I32, Ty::I32, Ty::I64, Ty::F64, Ty::U32];
        let ty = match self.random.percent(45) {
            true => *self.random.pick(&common),
            false => *self.random.pick(&Ty::ALL),
        };
        let sum = self.random.percent(60);
        Cell::new(ty, sum)
    }

    fn all(&mut self) -> Wide {
        for _ in 0..self.random.below(3) {
            self.structure();
        }
        for _ in 0..self.random.below(4) {
            self.file_scope();
        }
        // What helpers see is at file scope; the kernel sees it, too.
        for _ in 0..self.random.below(4) {
            self.helper();
        }
        let name = format!("f_{}", self.seed);
        let mut kernel = Kernel {
            seed: self.seed,
            text: String::new(),
            name: name.clone().into(),
            returns: None,
            parameters: Vec::new(),
            buffers: Vec::new(),
        };
        self.parameters(&mut kernel);
        self.returns = match self.random.percent(90) {
            true => Some(self.cell()),
            false => None,
        };
        // Results of narrow types would have to be extended by the caller.
        if let Some(cell) = &mut self.returns
            && cell.ty.bits() < 32
        {
            *cell = Cell::new(Ty::I32, cell.sum);
        }
        kernel.returns = self.returns.map(|cell| cell.ty.scalar());
        for _ in 0..3 + self.random.below(6) {
            self.declare();
        }
        let (declared, first) = (self.scope.mark(), self.scope.clone());
        self.done = Some(false);
        self.lasting = Some(declared);
        self.budget = 10 + self.random.below(14);
        let count = 2 + self.random.below(5);
        for number in 0..count {
            self.loops.clear();
            self.weight = 1;
            match number + 1 == count || self.random.percent(55) {
                true => self.loop_statement(),
                false => self.statement(2),
            }
        }
        self.scope.close(declared);
        if self.done == Some(true) {
            self.line("done:;");
        }
        self.done = None;
        self.hashed(&first);
        if let Some(cell) = self.returns {
            let value = self.storable(cell, 2);
            self.line(&format!("return {value};"));
        }
        let list = parameter_list(&kernel.parameters);
        let returns = self.returns.map_or("void", |cell| cell.ty.text());
        let _ = write!(
            kernel.text,
            "{}{}{returns} {name}({}) {{\n{}}}\n",
            super::LIBRARY,
            self.head,
            list,
            self.out
        );
        Wide {
            kernel,
            through_pointers: self.through_pointers,
        }
    }

    /// Counts, arrays that may be one, structures, scalars, and where the hash goes.
    fn parameters(&mut self, kernel: &mut Kernel) {
        for (name, most) in [("n", LONGEST as i128), ("m", 8)] {
            let ty = *self
                .random
                .pick(&[Ty::I64, Ty::I32, Ty::I64, Ty::U32, Ty::U64, Ty::I32]);
            let counts: [i64; 12] = [0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 40, 64];
            let value = i128::from(*self.random.pick(&counts)).min(most);
            self.scope.indices.push(Index {
                text: name.to_owned(),
                ty,
                lo: 0,
                hi: most,
            });
            kernel.parameters.push(Parameter {
                name: name.into(),
                type_text: ty.text().to_owned(),
                argument: Argument::Scalar {
                    ty: ty.scalar(),
                    bits: value as u64,
                },
            });
        }
        // Kinds of cells that are in one buffer, whether somebody promised to be alone with it.
        let mut shared: Vec<(Cell, usize, bool)> = Vec::new();
        for number in 0..1 + self.random.below(3) {
            self.array_parameter(number, kernel, &mut shared);
        }
        let flat: Vec<usize> = (0..self.structures.len())
            .filter(|&at| self.structures[at].flat)
            .collect();
        if !flat.is_empty() && self.random.percent(60) {
            let structure = *self.random.pick(&flat);
            self.structure_parameter(structure, kernel);
        }
        for number in 0..self.random.below(3) {
            let mut cell = self.cell();
            if cell.ty.bits() < 32 {
                cell = Cell::new(Ty::I32, false);
            }
            let (bits, name) = (self.bits_of(cell), format!("k{number}"));
            let fixed = Some(cell.write());
            self.scope.places.push(Place {
                text: name.clone(),
                cell,
                fixed,
                addressable: false,
            });
            kernel.parameters.push(Parameter {
                name: name.into(),
                type_text: cell.ty.text().to_owned(),
                argument: Argument::Scalar {
                    ty: cell.ty.scalar(),
                    bits,
                },
            });
        }
        kernel.parameters.push(Parameter {
            name: "out".into(),
            type_text: "unsigned long *".into(),
            argument: Argument::Pointer {
                buffer: kernel.buffers.len(),
                offset: 0,
            },
        });
        kernel.buffers.push(Buffer {
            element: Scalar::UnsignedLong,
            bytes: vec![0; 16],
        });
    }

    fn array_parameter(
        &mut self,
        number: u32,
        kernel: &mut Kernel,
        shared: &mut Vec<(Cell, usize, bool)>,
    ) {
        let name = ["a", "b", "c"][number as usize % 3];
        let open: Vec<(Cell, usize, bool)> = shared.iter().filter(|s| !s.2).copied().collect();
        let alias = (!open.is_empty() && self.random.percent(40)).then(|| *self.random.pick(&open));
        let restrict = alias.is_none() && self.random.percent(35);
        let (cell, buffer) = match alias {
            Some((cell, buffer, _)) => (cell, buffer),
            None => {
                let cell = self.cell();
                let mut bytes = Vec::new();
                for _ in 0..LONGEST + 3 * SLACK {
                    let bits = self.bits_of(cell);
                    bytes.extend_from_slice(&bits.to_le_bytes()[..cell.ty.bits() as usize / 8]);
                }
                kernel.buffers.push(Buffer {
                    element: cell.ty.scalar(),
                    bytes,
                });
                (cell, kernel.buffers.len() - 1)
            }
        };
        shared.push((cell, buffer, restrict));
        let shift = match alias {
            Some(_) => self.random.below(SLACK as u32 + 1) as usize,
            None => 0,
        };
        // Characters may look at anything, and write where every value is right.
        let characters = alias.is_some() && !cell.sum && self.random.percent(40);
        let size = cell.ty.bits() as usize / 8;
        let (cell, width) = match characters {
            true => (Cell::new(Ty::U8, false), size),
            false => (cell, 1),
        };
        let written = number == 0 || self.random.percent(60);
        let constant = if written { "" } else { "const " };
        let qualifier = if restrict { "restrict" } else { "" };
        kernel.parameters.push(Parameter {
            name: name.into(),
            type_text: format!("{constant}{} *{qualifier}", cell.ty.text()),
            argument: Argument::Pointer {
                buffer,
                offset: ((SLACK + shift) * size) as u64,
            },
        });
        let end = (LONGEST + 3 * SLACK - 2 * SLACK) * width;
        self.scope.arrays.push(Array {
            text: name.to_owned(),
            cell,
            lo: -((SLACK * width) as i64),
            hi: end as i64 - 1,
            written,
            nullable: false,
            assigned: false,
        });
    }

    fn structure_parameter(&mut self, structure: usize, kernel: &mut Kernel) {
        let mut bytes = Vec::new();
        let count = LONGEST / 4;
        for _ in 0..count {
            self.image(structure, &mut bytes);
        }
        let name = self.structures[structure].name.clone();
        kernel.parameters.push(Parameter {
            name: "v".into(),
            type_text: format!("struct {name} *"),
            argument: Argument::Pointer {
                buffer: kernel.buffers.len(),
                offset: 0,
            },
        });
        kernel.buffers.push(Buffer {
            element: Scalar::UnsignedChar,
            bytes,
        });
        self.scope.objects.push(Object {
            text: "v".into(),
            structure,
            extent: Some((0, count as i64 - 1)),
            written: true,
            assigned: false,
        });
    }

    /// Bits of a value that the cell may be given.
    fn bits_of(&mut self, cell: Cell) -> u64 {
        let small = self.random.percent(50);
        let (lo, hi) = cell.write();
        match cell.ty {
            Ty::F32 | Ty::F64 => {
                let number = match small {
                    true => self.random.between(-8, 8) as f64,
                    false => self.random.between(-1_000_000, 1_000_000) as f64 / 65_536.0,
                };
                match cell.ty {
                    Ty::F32 => u64::from((number as f32).to_bits()),
                    _ => number.to_bits(),
                }
            }
            _ if small => self.random.between(lo.max(-9) as i64, 9) as u64,
            _ => {
                let width = (hi - lo + 1) as u128;
                (lo + (u128::from(self.random.draw()) % width) as i128) as u64
            }
        }
    }

    /// Writes the hash of the variables in scope to the last buffer.
    fn hashed(&mut self, scope: &Scope) {
        self.line("unsigned long hash = 17;");
        let mix = |text: &str, cell: Cell| match cell.ty.is_float() {
            true => format!("hash = hash * 31ul + (unsigned long)(long)({text} * 16.0);"),
            false => format!("hash = hash * 31ul + (unsigned long){text};"),
        };
        for place in &scope.places {
            self.line(&mix(&place.text, place.cell));
        }
        for array in scope.arrays.iter().filter(|a| a.nullable) {
            let text = mix(&format!("*{}", array.text), array.cell);
            self.line(&format!("if ({}) {text}", array.text));
        }
        for array in scope.arrays.iter().filter(|a| !a.nullable) {
            if array.hi > 60 {
                continue;
            }
            let i = self.fresh("h");
            let (lo, hi) = (array.lo, array.hi);
            let text = mix(&format!("{}[{i}]", array.text), array.cell);
            self.line(&format!("for (int {i} = {lo}; {i} <= {hi}; {i}++) {text}"));
        }
        for matrix in &scope.matrices {
            let (i, j) = (self.fresh("h"), self.fresh("h"));
            let (rows, columns) = (matrix.rows, matrix.columns);
            let text = mix(&format!("{}[{i}][{j}]", matrix.text), matrix.cell);
            self.line(&format!(
                "for (int {i} = 0; {i} < {rows}; {i}++) for (int {j} = 0; {j} < {columns}; {j}++) {text}"
            ));
        }
        for object in &scope.objects {
            if object.text == "v" {
                continue;
            }
            for field in self.paths(object.structure) {
                let text = match object.extent {
                    None => format!("{}.{}", object.text, field.0),
                    Some(_) => format!("{}->{}", object.text, field.0),
                };
                self.line(&mix(&text, field.1));
            }
        }
        self.line("out[0] = hash;");
    }

    fn value(&mut self, place: &Place) -> Expr {
        let range = place.fixed.unwrap_or(place.cell.read());
        Expr::new(place.text.clone(), place.cell.ty, range)
    }
}
