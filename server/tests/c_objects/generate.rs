//! Random files of declarations of C: scalars, arrays, structures and unions with bit-fields, pointers to them, with
//! initialisers of all forms, in any order of declaration and definition.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::fmt::Write;

const SCALARS: [(&str, u32); 11] = [
    ("char", 8),
    ("unsigned char", 8),
    ("short", 16),
    ("unsigned short", 16),
    ("int", 32),
    ("unsigned", 32),
    ("long", 64),
    ("unsigned long", 64),
    ("long long", 64),
    ("float", 0),
    ("double", 0),
];

#[derive(Clone)]
enum Type {
    Scalar(usize),
    Array(Box<Type>, u64),
    /// The number of a structure in `Program::structures`.
    Structure(usize),
    Text,
    Function,
    /// A pointer to the element of an array that was defined before.
    Pointer,
}

struct Structure {
    union: bool,
    /// Bits where it is a bit-field.
    fields: Vec<(Type, Option<u32>)>,
}

struct Program {
    rng: StdRng,
    structures: Vec<Structure>,
    /// Arrays of `int`, with their lengths.
    arrays: Vec<(String, u64)>,
}

pub(crate) fn program(seed: u64) -> String {
    let mut program = Program {
        rng: StdRng::seed_from_u64(seed),
        structures: Vec::new(),
        arrays: Vec::new(),
    };
    let mut out = String::from(
        "enum { NONE, ONE, SEVEN = 7, LAST };\nint first(int x) { return x + 1; }\nstatic int second(int x) { return x - 1; }\n",
    );
    for number in 0..program.rng.random_range(1..4usize) {
        program.structure(number, &mut out);
    }
    for number in 0..program.rng.random_range(5..16usize) {
        program.object(number, &mut out);
    }
    out
}

impl Program {
    fn ty(&mut self, depth: u32) -> Type {
        match self.rng.random_range(0..12) {
            0..=4 => Type::Scalar(self.rng.random_range(0..SCALARS.len())),
            5..=6 if depth > 0 => {
                let length = self.rng.random_range(1..6);
                Type::Array(Box::new(self.ty(depth - 1)), length)
            }
            7..=8 if !self.structures.is_empty() => {
                Type::Structure(self.rng.random_range(0..self.structures.len()))
            }
            9 => Type::Text,
            10 => Type::Function,
            11 => Type::Pointer,
            _ => Type::Scalar(4),
        }
    }

    fn structure(&mut self, number: usize, out: &mut String) {
        let union = self.rng.random_range(0..5) == 0;
        let mut fields = Vec::new();
        let mut body = String::new();
        for field in 0..self.rng.random_range(1..6) {
            let ty = self.ty(1);
            let bits = match &ty {
                Type::Scalar(scalar) if SCALARS[*scalar].1 > 0 => {
                    let wide = SCALARS[*scalar].1;
                    (self.rng.random_range(0..3) == 0)
                        .then(|| self.rng.random_range(1..=wide.min(40)))
                }
                _ => None,
            };
            let declared = declared(&ty, &format!("m{field}"));
            let _ = match bits {
                Some(bits) => write!(body, " {declared} : {bits};"),
                None => write!(body, " {declared};"),
            };
            fields.push((ty, bits));
        }
        let word = if union { "union" } else { "struct" };
        let _ = writeln!(out, "typedef {word} {{{body} }} S{number};");
        self.structures.push(Structure { union, fields });
    }

    fn object(&mut self, number: usize, out: &mut String) {
        let name = format!("object{number}");
        let mut ty = self.ty(2);
        if self.rng.random_range(0..4) == 0 {
            ty = Type::Array(Box::new(Type::Scalar(4)), self.rng.random_range(1..40));
        }
        let linkage = match self.rng.random_range(0..6) {
            0 => "static ",
            _ => "",
        };
        let qualifier = match self.rng.random_range(0..4) {
            0 => "const ",
            _ => "",
        };
        let head = declared(&ty, &name);
        if self.rng.random_range(0..5) == 0 {
            let before = if linkage.is_empty() {
                "extern "
            } else {
                linkage
            };
            let _ = writeln!(out, "{before}{qualifier}{head};");
        }
        match self.rng.random_range(0..5) {
            0 => {
                let _ = writeln!(out, "{linkage}{qualifier}{head};");
            }
            _ => {
                let value = self.value(&ty, true);
                let _ = writeln!(out, "{linkage}{qualifier}{head} = {value};");
            }
        }
        if let Type::Array(element, length) = &ty
            && matches!(**element, Type::Scalar(4))
        {
            self.arrays.push((name, *length));
        }
    }

    fn scalar(&mut self, scalar: usize) -> String {
        if SCALARS[scalar].1 == 0 {
            return match self.rng.random_range(0..5) {
                0 => "-1.5f".into(),
                1 => "0x1.8p3".into(),
                2 => "7 / 2".into(),
                3 => format!("{}e-3", self.rng.random_range(0..100_000)),
                _ => "ONE".into(),
            };
        }
        match self.rng.random_range(0..10) {
            0 => "-1".into(),
            1 => "SEVEN << 2 | 1".into(),
            2 => "'x'".into(),
            3 => "sizeof(S0)".into(),
            4 => "~0ul".into(),
            5 => "(int)2.75".into(),
            6 => "1 ? LAST : NONE".into(),
            7 => "(char)300".into(),
            8 => format!("{}u % 1000", self.rng.random::<u32>()),
            _ => self.rng.random_range(-1000..1000).to_string(),
        }
    }

    fn value(&mut self, ty: &Type, outer: bool) -> String {
        match ty {
            Type::Scalar(scalar) => self.scalar(*scalar),
            Type::Text => {
                let words = ["\"one\"", "\"t\\x77o\\n\"", "\"\"", "0", "\"ab\" \"cd\""];
                words[self.rng.random_range(0..words.len())].into()
            }
            Type::Function => ["first", "&second", "0"][self.rng.random_range(0..3)].into(),
            Type::Pointer => match self.arrays.len() {
                0 => "0".into(),
                count => {
                    let (name, length) = &self.arrays[self.rng.random_range(0..count)];
                    let at = self.rng.random_range(0..*length);
                    match self.rng.random_range(0..3) {
                        0 => format!("{name} + {at}"),
                        1 => format!("(void *)&{name}[{at}]"),
                        _ => format!("&{name}[{at}]"),
                    }
                }
            },
            Type::Array(element, length) => {
                if let (Type::Scalar(0 | 1), 0) = (&**element, self.rng.random_range(0..2)) {
                    return "\"ab\\0c\"".into();
                }
                let mut entries = Vec::new();
                for _ in 0..self.rng.random_range(1..=*length) {
                    let value = self.value(element, false);
                    let at = self.rng.random_range(0..*length);
                    let form = match outer {
                        true => self.rng.random_range(0..8),
                        false => 7,
                    };
                    entries.push(match form {
                        0 => format!("[{at}] = {value}"),
                        1 => format!("[{} ... {at}] = {value}", at / 2),
                        _ => value,
                    });
                    // Behind the last element nothing may follow.
                    if form < 2 {
                        break;
                    }
                }
                format!("{{{}}}", entries.join(", "))
            }
            Type::Structure(number) => {
                let count = match self.structures[*number].union {
                    true => 1,
                    false => self.structures[*number].fields.len(),
                };
                let designated = self.rng.random_range(0..3) == 0;
                let mut entries = Vec::new();
                for field in 0..self.rng.random_range(1..=count) {
                    let (ty, _) = self.structures[*number].fields[field].clone();
                    let value = self.value(&ty, false);
                    entries.push(match designated {
                        true => format!(".m{field} = {value}"),
                        false => value,
                    });
                }
                if designated && !self.structures[*number].union {
                    entries.reverse();
                }
                format!("{{{}}}", entries.join(", "))
            }
        }
    }
}

fn declared(ty: &Type, name: &str) -> String {
    match ty {
        Type::Scalar(scalar) => format!("{} {name}", SCALARS[*scalar].0),
        Type::Array(element, length) => declared(element, &format!("{name}[{length}]")),
        Type::Structure(number) => format!("S{number} {name}"),
        Type::Text => format!("const char *{name}"),
        Type::Function => declared_function(name),
        Type::Pointer => format!("const int *{name}"),
    }
}

fn declared_function(name: &str) -> String {
    format!("int (*{name})(int)")
}
