//! Random kernels in C: the same seed gives the same text and arguments.
//!
//! ```text
//! long f(long n, int *restrict a, const double *b, int key) {
//!   long s = 0;
//!   for (long i = 0; i < n; i++) { if (a[i] == key) break; s += a[i + 2] * 3; }
//!   return s;
//! }
//! ```
//! Loops are counted up and down, by indices and by pointers, `while`, `do` and over strings; each has up to three early
//! exits (`break`, `return`, `goto`) and `continue`s, nested conditions, inner loops, switches that fall through. Arrays
//! alias where the text does not say `restrict`. Trip counts begin at 0.
//!
//! Guarantees, by construction: no undefined behaviour. Every array has [`SLACK`] elements before and behind
//! the ones that are counted, indices stay in them; each signed expression carries a bound of its magnitude
//! and is cut before it can overflow; divisors are not zero, shifts are in range, floats are converted to
//! integers only when they fit. Floats may become infinite or NaN: which NaN is not defined, so a comparison
//! of results takes all NaNs to be equal. Search loops run until they find the last element of the array. A
//! few thousand iterations at most.

mod expressions;
mod fractions;
mod search;
mod statements;
mod streams;
#[cfg(test)]
mod tests;
mod wide;

pub use fractions::fractions;
pub use streams::streams;
pub use wide::{Wide, wide};

use super::Random;
use ir::types::Type;
use smol_str::SmolStr;
use std::fmt::Write;

/// Elements of an array before and behind the counted ones.
pub const SLACK: usize = 16;
/// The largest trip count.
pub const LONGEST: usize = 64;

/// The functions of the C library that the text calls: correctly rounded ones.
const LIBRARY: &str =
    "double sqrt(double);\ndouble fabs(double);\ndouble fma(double, double, double);\n";

/// Returns the text between the parentheses of a function's head.
fn parameter_list(parameters: &[Parameter]) -> String {
    let each = parameters.iter().map(|p| match p.type_text.ends_with('*') {
        true => format!("{}{}", p.type_text, p.name),
        false => format!("{} {}", p.type_text, p.name),
    });
    each.collect::<Vec<String>>().join(", ")
}

/// One function with everything that a call of it needs.
#[derive(Clone, PartialEq, Debug)]
pub struct Kernel {
    pub seed: u64,
    /// A translation unit without includes.
    pub text: String,
    /// The name of the function to call.
    pub name: SmolStr,
    /// `None`: it returns nothing.
    pub returns: Option<Scalar>,
    pub parameters: Vec<Parameter>,
    /// The buffers that pointers point into; their contents must be compared afterwards.
    pub buffers: Vec<Buffer>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    pub name: SmolStr,
    /// The type as declared, without the name: `const int *restrict`.
    pub type_text: String,
    pub argument: Argument,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Argument {
    /// The bits of the value, sign- or zero-extended from the type's size.
    Scalar { ty: Scalar, bits: u64 },
    /// Bytes from the start of a buffer.
    Pointer { buffer: usize, offset: u64 },
}

#[derive(Clone, PartialEq, Debug)]
pub struct Buffer {
    pub element: Scalar,
    pub bytes: Vec<u8>,
}

/// C's arithmetic types on a 64-bit Unix.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Scalar {
    UnsignedChar,
    Short,
    Int,
    Unsigned,
    Long,
    UnsignedLong,
    Float,
    Double,
}

impl Scalar {
    pub const fn text(self) -> &'static str {
        match self {
            Scalar::UnsignedChar => "unsigned char",
            Scalar::Short => "short",
            Scalar::Int => "int",
            Scalar::Unsigned => "unsigned",
            Scalar::Long => "long",
            Scalar::UnsignedLong => "unsigned long",
            Scalar::Float => "float",
            Scalar::Double => "double",
        }
    }
    pub const fn ir(self) -> Type {
        match self {
            Scalar::UnsignedChar => Type::I8,
            Scalar::Short => Type::I16,
            Scalar::Int | Scalar::Unsigned => Type::I32,
            Scalar::Long | Scalar::UnsignedLong => Type::I64,
            Scalar::Float => Type::F32,
            Scalar::Double => Type::F64,
        }
    }
    pub const fn bytes(self) -> usize {
        self.ir().bytes() as usize
    }
    pub const fn is_float(self) -> bool {
        matches!(self, Scalar::Float | Scalar::Double)
    }
    const fn is_unsigned(self) -> bool {
        matches!(self, Scalar::Unsigned | Scalar::UnsignedLong)
    }
}

/// The kernel of a seed.
pub fn kernel(seed: u64) -> Kernel {
    let mut random = Random::new(seed ^ 0xc0de_c0de);
    let mut maker = Maker {
        random: &mut random,
        arrays: Vec::new(),
        variables: Vec::new(),
        indices: Vec::new(),
        out: String::new(),
        indent: 1,
        loops: 0,
        next: 0,
        returns: None,
        helper: None,
        label: false,
        searched: None,
        subscripts: 0,
    };
    maker.signature();
    let mut kernel = maker.parameters(seed);
    maker.searched(seed, &mut kernel);
    let helper = maker.helper_text();
    maker.body();
    let list = parameter_list(&kernel.parameters);
    let returns = maker.returns.map_or("void", Scalar::text);
    let _ = write!(
        kernel.text,
        "{LIBRARY}{helper}{returns} f({}) {{\n{}}}\n",
        list, maker.out
    );
    kernel.returns = maker.returns;
    kernel
}

/// An array that the kernel is given, or a local one.
#[derive(Clone, Debug)]
struct Array {
    name: String,
    element: Scalar,
    written: bool,
    /// Elements that any index may name; of arrays of `LONGEST` counted ones those are `SLACK` more on both sides.
    mask: Option<u32>,
    /// Ends with a zero within the counted elements.
    string: bool,
}

/// A scalar in scope.
#[derive(Clone, Debug)]
struct Variable {
    name: String,
    ty: Scalar,
    role: Role,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// Never assigned.
    Fixed { bound: u64 },
    /// Assigned within a bound.
    Plain,
    /// Only ever grows by a little.
    Counter,
    /// A sum.
    Sum,
}

struct Maker<'a> {
    random: &'a mut Random,
    arrays: Vec<Array>,
    variables: Vec<Variable>,
    /// Names of integers from 0 to `LONGEST`, usable as indices.
    indices: Vec<String>,
    out: String,
    indent: usize,
    /// Loops around.
    loops: u32,
    next: u32,
    returns: Option<Scalar>,
    helper: Option<Scalar>,
    /// `goto done` was written.
    label: bool,
    searched: Option<search::Searched>,
    /// Elements around, whose subscripts are being written.
    subscripts: u32,
}

impl Maker<'_> {
    fn fresh(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    fn line(&mut self, text: &str) {
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn signature(&mut self) {
        use Scalar::{Double, Float, Int, Long, Unsigned, UnsignedLong};
        let all = [Long, Long, Int, Double, Unsigned, Float, UnsignedLong];
        self.returns = match self.random.percent(92) {
            true => Some(*self.random.pick(&all)),
            false => None,
        };
        if self.random.percent(12) {
            self.helper = Some(*self.random.pick(&[Int, Double, Unsigned]));
        }
    }

    /// Chooses the parameters, their values, and the buffers that they point to.
    fn parameters(&mut self, seed: u64) -> Kernel {
        let mut kernel = Kernel {
            seed,
            text: String::new(),
            name: "f".into(),
            returns: None,
            parameters: Vec::new(),
            buffers: Vec::new(),
        };
        for name in ["n", "m"] {
            let ty = *self.random.pick(&[Scalar::Long, Scalar::Int, Scalar::Long]);
            let counts: [i64; 12] = [0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 40, 64];
            let mut value = *self.random.pick(&counts);
            if name == "m" {
                value = value.min(8);
            }
            self.variables.push(Variable {
                name: name.to_owned(),
                ty,
                role: Role::Fixed {
                    bound: LONGEST as u64,
                },
            });
            self.indices.push(name.to_owned());
            kernel.parameters.push(Parameter {
                name: name.into(),
                type_text: ty.text().to_owned(),
                argument: Argument::Scalar {
                    ty,
                    bits: value as u64,
                },
            });
        }
        let count = 1 + self.random.below(4);
        for number in 0..count {
            self.array_parameter(number, &mut kernel);
        }
        for number in 0..1 + self.random.below(3) {
            let all = [
                Scalar::Int,
                Scalar::Int,
                Scalar::Double,
                Scalar::Unsigned,
                Scalar::Float,
                Scalar::Long,
            ];
            let ty = *self.random.pick(&all);
            let name = format!("k{number}");
            let (bits, bound) = self.value(ty);
            self.variables.push(Variable {
                name: name.clone(),
                ty,
                role: Role::Fixed { bound },
            });
            kernel.parameters.push(Parameter {
                name: name.into(),
                type_text: ty.text().to_owned(),
                argument: Argument::Scalar { ty, bits },
            });
        }
        kernel
    }

    fn array_parameter(&mut self, number: u32, kernel: &mut Kernel) {
        use Scalar::{Double, Float, Int, Long, Short, Unsigned, UnsignedChar};
        let all = [Int, Int, Double, Float, Unsigned, Long, UnsignedChar, Short];
        let name = ["a", "b", "c", "d"][number as usize % 4];
        let earlier: Vec<usize> = (0..self.arrays.len())
            .filter(|&at| {
                let text = &kernel.parameters[at + 2].type_text;
                !text.contains("restrict") && !self.arrays[at].string
            })
            .collect();
        let alias =
            (!earlier.is_empty() && self.random.percent(35)).then(|| *self.random.pick(&earlier));
        let (element, buffer) = match alias {
            Some(at) => {
                let buffer = match kernel.parameters[at + 2].argument {
                    Argument::Pointer { buffer, .. } => buffer,
                    Argument::Scalar { .. } => 0,
                };
                (self.arrays[at].element, buffer)
            }
            None => {
                let element = *self.random.pick(&all);
                (element, kernel.buffers.len())
            }
        };
        let string = alias.is_none() && element == UnsignedChar && self.random.percent(60);
        let written = !string && (number == 0 || self.random.percent(50));
        let restrict = alias.is_none() && self.random.percent(50);
        if alias.is_none() {
            let length = LONGEST + 3 * SLACK;
            let mut bytes = Vec::new();
            let zero = self.random.below(LONGEST as u32) as usize;
            for at in 0..length {
                let (mut bits, _) = self.value(element);
                if string {
                    bits = if at == SLACK + zero { 0 } else { bits | 1 };
                }
                bytes.extend_from_slice(&bits.to_le_bytes()[..element.bytes()]);
            }
            kernel.buffers.push(Buffer { element, bytes });
        }
        // Pointers into one array differ by some elements.
        let shift = match alias {
            Some(_) => self.random.below(SLACK as u32 + 1) as usize,
            None => 0,
        };
        let constant = if written { "" } else { "const " };
        let qualifier = if restrict { "restrict " } else { "" };
        kernel.parameters.push(Parameter {
            name: name.into(),
            type_text: match restrict {
                true => format!("{constant}{} *{}", element.text(), qualifier.trim_end()),
                false => format!("{constant}{} *", element.text()),
            },
            argument: Argument::Pointer {
                buffer,
                offset: ((SLACK + shift) * element.bytes()) as u64,
            },
        });
        self.arrays.push(Array {
            name: name.to_owned(),
            element,
            written,
            mask: None,
            string,
        });
    }

    /// Bits of a value of a type, and a bound of its magnitude.
    fn value(&mut self, ty: Scalar) -> (u64, u64) {
        let small = self.random.percent(50);
        match ty {
            Scalar::UnsignedChar => (u64::from(self.random.below(256)), 255),
            Scalar::Short => {
                let range = if small { 9 } else { 30_000 };
                (self.random.between(-range, range) as u64, 1 << 15)
            }
            Scalar::Int => {
                let range = if small { 9 } else { 30_000 };
                (self.random.between(-range, range) as u64, 1 << 15)
            }
            Scalar::Unsigned => {
                let value = self.random.draw() as u32;
                let value = if small { value % 16 } else { value };
                (u64::from(value), u64::from(u32::MAX))
            }
            Scalar::Long => {
                let range = if small { 9 } else { 1 << 39 };
                (self.random.between(-range, range) as u64, 1 << 40)
            }
            Scalar::UnsignedLong => (self.random.draw(), u64::MAX),
            Scalar::Float | Scalar::Double => {
                let number = match small {
                    true => self.random.between(-8, 8) as f64,
                    false => self.random.between(-1_000_000, 1_000_000) as f64 / 65_536.0,
                };
                let bits = match ty {
                    Scalar::Float => u64::from((number as f32).to_bits()),
                    _ => number.to_bits(),
                };
                (bits, 0)
            }
        }
    }

    /// A small function that is called now and then.
    fn helper_text(&mut self) -> String {
        match self.helper {
            Some(Scalar::Int) => {
                "static int g(int x, int y) {\n  if (x > y) return x - y;\n  return (x & 255) + 3;\n}\n".to_owned()
            }
            Some(Scalar::Double) => {
                "static inline double g(double x, double y) {\n  return x < y ? x * y : x + 0.5;\n}\n".to_owned()
            }
            Some(_) => "static unsigned g(unsigned x, unsigned y) {\n  while (y > 40u) {\n    y = y / 3u;\n    x ^= y;\n  }\n  return x * 2654435761u + y;\n}\n".to_owned(),
            None => String::new(),
        }
    }
}
