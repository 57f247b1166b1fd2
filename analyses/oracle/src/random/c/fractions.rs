//! Random kernels of basic operations: sums of products, filters, scaling, with `Overflow` and `Carry` read in some.
//!
//! ```text
//! Word32 f(Word16 n, const Word16 *a, const Word16 *b, Word16 *out, Word32 *acc, Word16 x) {
//!   Word32 s = 0; Word40 w = 0; Word16 t = x; Word16 i;
//!   for (i = 0; i < n; i++) { s = L_mac(s, a[i], negate(t)); out[i] = round(s); if (Overflow) break; }
//!   return s;
//! }
//! ```
//!
//! All operations are declared and none is defined; a divisor is as large as its dividend and not zero. Elements lie at the
//! limits more often than elsewhere.

use super::{Argument, Buffer, Kernel, Parameter, Random, Scalar};
use ir::lower::c_family::builtins::basic::{BasicOperation, Meaning, TABLE, Word};
use std::fmt::Write;

const ELEMENTS: usize = 24;

/// The kernel of a seed.
pub fn fractions(seed: u64) -> Kernel {
    let mut random = Random::new(seed ^ 0xf7ac_7104);
    let mut maker = Maker {
        flags: random.percent(35),
        wide: random.percent(40),
        random: &mut random,
        body: String::new(),
    };
    maker.statements();
    let mut text = String::from(
        "typedef short Word16;\ntypedef int Word32;\ntypedef long long Word40;\ntypedef int Flag;\n",
    );
    if maker.flags {
        text.push_str("static Flag Overflow, Carry;\n");
    }
    for row in operations() {
        let types: Vec<&str> = row.parameters.iter().map(|word| word.name()).collect();
        let list = types.join(", ");
        let _ = writeln!(text, "{} {}({list});", row.result.name(), row.name);
    }
    let body = maker.body;
    let _ = write!(
        text,
        "Word32 f(Word16 n, const Word16 *a, const Word16 *b, Word16 *out, Word32 *acc, Word16 x, Word32 y) {{\n{body}}}\n"
    );
    kernel(seed, text, &mut random)
}

fn kernel(seed: u64, text: String, random: &mut Random) -> Kernel {
    let count = *random.pick(&[0, 1, 3, 8, 20]);
    let mut buffers = Vec::new();
    let mut parameters = vec![parameter("n", "Word16", Scalar::Short, count)];
    for (name, ty, element) in [
        ("a", "const Word16 *", Scalar::Short),
        ("b", "const Word16 *", Scalar::Short),
        ("out", "Word16 *", Scalar::Short),
        ("acc", "Word32 *", Scalar::Int),
    ] {
        let mut bytes = Vec::new();
        for _ in 0..ELEMENTS {
            let number = element_of(random, element).to_le_bytes();
            bytes.extend_from_slice(&number[..element.bytes()]);
        }
        parameters.push(Parameter {
            name: name.into(),
            type_text: ty.to_owned(),
            argument: Argument::Pointer {
                buffer: buffers.len(),
                offset: 0,
            },
        });
        buffers.push(Buffer { element, bytes });
    }
    let x = element_of(random, Scalar::Short);
    let y = element_of(random, Scalar::Int);
    parameters.push(parameter("x", "Word16", Scalar::Short, x));
    parameters.push(parameter("y", "Word32", Scalar::Int, y));
    Kernel {
        seed,
        text,
        name: "f".into(),
        returns: Some(Scalar::Int),
        parameters,
        buffers,
    }
}

fn parameter(name: &str, text: &str, ty: Scalar, number: i64) -> Parameter {
    Parameter {
        name: name.into(),
        type_text: text.to_owned(),
        argument: Argument::Scalar {
            ty,
            bits: number as u64,
        },
    }
}

fn element_of(random: &mut Random, ty: Scalar) -> i64 {
    let half = 1i64 << (8 * ty.bytes() - 1);
    match random.below(5) {
        0 => -half + random.between(0, 1),
        1 => half - 1 - random.between(0, 1),
        2 => random.between(-20, 20),
        _ => random.between(-half, half - 1),
    }
}

/// Those that a name tells apart by itself.
fn operations() -> impl Iterator<Item = &'static BasicOperation> {
    TABLE
        .iter()
        .filter(|row| !(row.name == "L_sat" && row.parameters == [Word::Word40]))
}

struct Maker<'a> {
    random: &'a mut Random,
    /// `Overflow` and `Carry` are read.
    flags: bool,
    /// A `Word40` is summed.
    wide: bool,
    body: String,
}

impl Maker<'_> {
    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.body, "{:1$}{text}", "", 2 * depth);
    }

    fn statements(&mut self) {
        self.line(1, "Word32 s = y; Word40 w = 0; Word16 t = x; Word16 i;");
        if self.flags {
            self.line(1, "Overflow = 0; Carry = 0;");
        }
        self.line(1, "for (i = 0; i < n; i++) {");
        for _ in 0..1 + self.random.below(4) {
            self.statement(2);
        }
        self.line(2, "out[i] = t;");
        self.line(2, "acc[i] = s;");
        if self.flags && self.random.percent(50) {
            let way = *self.random.pick(&[
                "if (Overflow) break;",
                "if (Overflow) { Overflow = 0; s = 0; }",
                "t = (Word16)(t + Carry);",
            ]);
            self.line(2, way);
        }
        self.line(1, "}");
        for _ in 0..1 + self.random.below(2) {
            self.statement(1);
        }
        if self.wide {
            self.line(1, "acc[22] = X_sat(w);");
        }
        if self.flags {
            self.line(1, "out[21] = (Word16)(Overflow + 2 * Carry);");
        }
        self.line(1, "out[23] = t;");
        self.line(1, "return s;");
    }

    fn statement(&mut self, depth: usize) {
        let text = match self.random.below(10) {
            0..=2 => {
                let (a, b) = (self.value(Word::Word16, 1), self.value(Word::Word16, 1));
                format!("s = L_mac(s, {a}, {b});")
            }
            3 | 4 => format!("s = {};", self.value(Word::Word32, 2)),
            5 | 6 => format!("t = {};", self.value(Word::Word16, 2)),
            7 if self.wide => format!("w = {};", self.value(Word::Word40, 2)),
            8 => {
                let (a, b) = (self.value(Word::Word16, 1), self.value(Word::Word16, 1));
                format!("if (s > {a}) t = {b};")
            }
            _ => {
                let (a, b) = (self.value(Word::Word16, 1), self.value(Word::Word16, 1));
                format!("t = add(t, mult({a}, {b}));")
            }
        };
        self.line(depth, &text);
    }

    fn value(&mut self, word: Word, depth: u32) -> String {
        if depth == 0 || self.random.percent(15) {
            return self.leaf(word);
        }
        let fits: Vec<&BasicOperation> = operations()
            .filter(|row| row.result == word && self.may(row, depth))
            .collect();
        let row = *self.random.pick(&fits);
        if row.meaning == Meaning::Div {
            let (a, b) = (self.leaf(Word::Word16), self.leaf(Word::Word16));
            let sizes = format!("abs_s({a}), abs_s({b})");
            return format!("div_s(min({sizes}), max(max({sizes}), 1))");
        }
        let shifts = row.parameters.len() == 2
            && (row.name.contains("sh") || row.name.contains("_ro"))
            && self.random.percent(70);
        let mut list = Vec::new();
        for (at, &word) in row.parameters.iter().enumerate() {
            list.push(match shifts && at == 1 {
                true => self.random.between(-18, 18).to_string(),
                false => self.value(word, depth - 1),
            });
        }
        format!("{}({})", row.name, list.join(", "))
    }

    /// Returns true if the operation may stand there. One that reads a flag is no argument: the order in which arguments are computed is not defined.
    fn may(&self, row: &BasicOperation, depth: u32) -> bool {
        let carries = matches!(
            row.meaning,
            Meaning::AddCarry
                | Meaning::SubCarry
                | Meaning::MacCarry
                | Meaning::MsuCarry
                | Meaning::SaturateByFlags
        );
        let wide = row.result == Word::Word40 || row.parameters.contains(&Word::Word40);
        (!carries || self.flags && depth == 2) && (self.wide || !wide)
    }

    fn leaf(&mut self, word: Word) -> String {
        let all: &[&str] = match word {
            Word::Word16 => &["a[i]", "b[i]", "t", "x", "a[i + 1]", "32767", "-32768", "3"],
            Word::Word32 => &["s", "y", "acc[i]", "0x40000000", "-1"],
            Word::Word40 => &["w", "w", "X_extend(s)"],
        };
        (*self.random.pick(all)).to_owned()
    }
}
