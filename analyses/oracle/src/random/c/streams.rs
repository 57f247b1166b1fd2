//! Random kernels over streams of numbers, with what their author promises: alignment, rounds, `restrict`.
//!
//! ```text
//! unsigned f(const short *restrict x, const short *y, short *z, int *w, int n) {
//! #pragma lockstep aligned(x, 8)
//!   unsigned s0 = 0; short u[16];
//! #pragma lockstep rounds(4, 40, 4)
//!   for (int i = 0; i < n; i++) { s0 += (x[i] >> 2) * y[i + 1]; z[i] = (short)(s0 ^ x[i + 2]); }
//!   for (int j = 0; j < 16; j++) { u[j] = h[j]; s1 -= u[j]; }
//! ```
//!
//! Loops count up and down, by indices and by pointers, by one and by two, `while` and `do`, to numbers and to `n`; they read
//! elements around the counted one and write, in some kernels, arrays that they read or that other names lead to. Every promise
//! is kept: those of pointers that are moved, and of counts that are no multiples, are not made. Signed numbers stay small.

use super::{Argument, Buffer, Kernel, Parameter, Random, Scalar};
use std::fmt::Write;

/// Elements of a buffer; the counted ones begin at `FIRST`.
const ELEMENTS: usize = 96;
const FIRST: u64 = 16;
/// Elements of a local array.
const LOCAL: i64 = 80;

/// The kernel of a seed.
pub fn streams(seed: u64) -> Kernel {
    let mut random = Random::new(seed ^ 0x57e4_a115);
    let multiple = *random.pick(&[1, 1, 2, 4, 4, 8]);
    let rounds = multiple * random.between(1, 32 / multiple);
    let mut maker = Maker {
        rounds,
        multiple,
        fractions: random.percent(40),
        simple: random.percent(55),
        random: &mut random,
        body: String::new(),
        loops: 0,
    };
    maker.statements();
    let (body, fractions) = (maker.body, maker.fractions);
    let aliased = random.percent(20);
    let mut text = String::from("typedef short Word16;\ntypedef int Word32;\n");
    if fractions {
        text.push_str(
            "Word32 L_mac(Word32, Word16, Word16);\nWord32 L_msu(Word32, Word16, Word16);\nWord32 L_mult(Word16, Word16);\nWord16 round(Word32);\nWord16 add(Word16, Word16);\n",
        );
    }
    let table: Vec<String> = (0..LOCAL)
        .map(|_| random.between(-99, 99).to_string())
        .collect();
    let _ = writeln!(
        text,
        "static const short h[{LOCAL}] = {{ {} }};",
        table.join(", ")
    );
    text.push_str("static short g[80];\n");
    let promised = random.percent(70);
    let readable = random.percent(50);
    let mut parameters = Vec::new();
    let mut buffers = Vec::new();
    let mut pragmas = String::new();
    for (name, ty, element) in [
        ("x", "const short *", Scalar::Short),
        ("y", "const short *", Scalar::Short),
        ("z", "short *", Scalar::Short),
        ("w", "int *", Scalar::Int),
    ] {
        let shifted = random.percent(25);
        let offset = (FIRST + u64::from(shifted)) * element.bytes() as u64;
        if promised && !shifted {
            let form = match random.below(3) {
                0 => format!("#pragma align *{name} 8\n"),
                _ => format!("#pragma lockstep aligned({name}, 8)\n"),
            };
            pragmas.push_str(&form);
        }
        if readable && random.percent(85) {
            let bytes = *random.pick(&[1, 4, 8, 16, 64, 64]);
            pragmas.push_str(&format!("#pragma lockstep readable({name}, {bytes})\n"));
        }
        let small = random.percent(50);
        let numbers = (0..ELEMENTS).map(|_| match (element, small) {
            (Scalar::Short, false) => random.between(-0x8000, 0x7fff),
            (Scalar::Short, true) => random.between(-40, 40),
            _ => random.between(-0x4000_0000, 0x3fff_ffff),
        });
        let numbers: Vec<i64> = numbers.collect();
        let bytes = numbers.iter().flat_map(|number| {
            let all = number.to_le_bytes();
            all[..element.bytes()].to_vec()
        });
        // Another name for the array that is written.
        let same = aliased && name == "y" && !buffers.is_empty();
        let buffer = if same { 0 } else { buffers.len() };
        if !same {
            buffers.push(Buffer {
                element,
                bytes: bytes.collect(),
            });
        }
        let restrict = if aliased || random.percent(40) {
            ""
        } else {
            "restrict "
        };
        parameters.push(Parameter {
            name: name.into(),
            type_text: format!("{ty}{restrict}"),
            argument: Argument::Pointer { buffer, offset },
        });
    }
    if aliased && random.percent(70) {
        // What is read is what is written.
        parameters[2].argument = parameters[0].argument;
        pragmas.clear();
    }
    parameters.push(Parameter {
        name: "n".into(),
        type_text: "int".to_owned(),
        argument: Argument::Scalar {
            ty: Scalar::Int,
            bits: rounds as u64,
        },
    });
    let list: Vec<String> = parameters
        .iter()
        .map(|parameter| format!("{} {}", parameter.type_text, parameter.name))
        .collect();
    let _ = write!(
        text,
        "unsigned f({}) {{\n{pragmas}{body}}}\n",
        list.join(", ")
    );
    Kernel {
        seed,
        text,
        name: "f".into(),
        returns: Some(Scalar::Unsigned),
        parameters,
        buffers,
    }
}

struct Maker<'r> {
    rounds: i64,
    multiple: i64,
    fractions: bool,
    /// One loop over the arrays that the kernel is given.
    simple: bool,
    random: &'r mut Random,
    body: String,
    loops: u32,
}

impl Maker<'_> {
    fn statements(&mut self) {
        self.body.push_str("  unsigned s0 = 7, s1 = 0, s2 = 1;\n  int a0 = 0, a1 = 3, m0 = 12, m1 = -3;\n  short t = 5;\n");
        if self.simple {
            match self.random.percent(30) {
                true => self.walk(&["z"]),
                false => self.single(),
            }
            self.body.push_str(
                "  w[30] = a0 ^ m0; w[31] = a1 ^ m1;\n  return s0 ^ s1 * 5u ^ s2 ^ (unsigned)t;\n",
            );
            return;
        }
        self.body.push_str("  short u[80];\n  int v[80];\n  for (int k = 0; k < 80; k++) { u[k] = h[k]; v[k] = k * 77; g[k] = (short)(k - 9); }\n");
        for _ in 0..1 + self.random.below(3) {
            match self.random.below(10) {
                0 | 1 => self.nest(),
                2 => self.kept(),
                3 | 4 => self.walk(&["z", "u", "g"]),
                _ => self.single(),
            }
        }
        // Neighbours outside of a loop.
        if self.random.percent(60) {
            let array = *self.random.pick(&["z", "u", "g"]);
            let first = self.random.between(0, 9);
            for at in 0..*self.random.pick(&[2, 4, 5, 8]) {
                let value = self.value("2");
                let _ = writeln!(self.body, "  {array}[{}] = (short)({value});", first + at);
            }
        }
        self.body.push_str("  w[30] = a0; w[31] = a1; w[32] = m0; w[33] = m1;\n  for (int k = 0; k < 48; k++) { s2 = s2 * 3u + (unsigned)u[k] + (unsigned)v[k] + (unsigned)g[k]; }\n  return s0 ^ s1 * 5u ^ s2 ^ (unsigned)t;\n");
    }

    /// A number of rounds as text, and what may be promised of it.
    fn count(&mut self) -> (String, i64, Option<String>) {
        if self.random.percent(45) {
            let rounds = *self
                .random
                .pick(&[1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 31, 32]);
            return (rounds.to_string(), rounds, None);
        }
        let least = self.random.between(1, self.rounds);
        let promise = self.random.percent(75).then(|| {
            let least = if self.random.percent(15) { 0 } else { least };
            let (most, multiple) = (self.rounds + self.random.between(0, 9), self.multiple);
            match self.random.below(2) {
                0 => format!("#pragma lockstep rounds({least}, {most}, {multiple})\n"),
                _ => format!("#pragma loop_count ({least}, {most}, {multiple})\n"),
            }
        });
        ("n".to_owned(), self.rounds, promise)
    }

    fn single(&mut self) {
        let (limit, _, promise) = self.count();
        let i = format!("i{}", self.loops);
        self.loops += 1;
        let count = 1 + self.random.below(if self.simple { 2 } else { 4 });
        let body: String = (0..count).map(|_| self.statement(&i)).collect();
        let promise = promise.unwrap_or_default();
        let text = match self.random.below(8) {
            0 => {
                format!("{promise}  for (int {i} = {limit} - 1; {i} >= 0; {i}--) {{\n{body}  }}\n")
            }
            1 => format!(
                "  {{ int {i} = 0;\n{promise}  while ({i} < {limit}) {{\n{body}    {i}++;\n  }} }}\n"
            ),
            2 => format!(
                "  {{ int {i} = 0;\n{promise}  do {{\n{body}    {i}++;\n  }} while ({i} < {limit}); }}\n"
            ),
            3 => {
                // Two iterations of the source as one.
                format!("  for (int {i} = 0; {i} < 24; {i} += 2) {{\n{body}  }}\n")
            }
            4 => {
                let step = *self
                    .random
                    .pick(&["*p++ * *q++", "*p++ ^ *q++", "(*p++ >> 3) - *q++"]);
                format!(
                    "  {{ const short *p = x, *q = y; int {i};\n{promise}  for ({i} = 0; {i} < {limit}; {i}++) {{ s0 += (unsigned)({step});\n{body}  }} }}\n"
                )
            }
            _ => format!("{promise}  for (int {i} = 0; {i} < {limit}; {i}++) {{\n{body}  }}\n"),
        };
        self.body.push_str(&text);
    }

    fn nest(&mut self) {
        let (i, j) = (format!("i{}", self.loops), format!("j{}", self.loops));
        self.loops += 1;
        let rounds = *self.random.pick(&[2, 4, 5, 8, 10]);
        let stride = *self.random.pick(&[1, 2, 4]);
        let inner = self.statement(&i);
        let offset = *self.random.pick(&["", " + 1", " + 4"]);
        let text = format!(
            "  for (int {j} = 0; {j} < 4; {j}++) {{\n    const short *p = x + {stride} * {j}{offset};\n    for (int {i} = 0; {i} < {rounds}; {i}++) {{\n      s1 += (unsigned)(p[{i}] * h[{i}]);\n{inner}    }}\n    w[{j} + 40] = (int)s1;\n  }}\n"
        );
        self.body.push_str(&text);
    }

    /// Pointers that move several times in an iteration, most of them through one array: what is stored is loaded some iterations
    /// later, or was before.
    fn walk(&mut self, arrays: &[&str]) {
        let i = format!("i{}", self.loops);
        self.loops += 1;
        let to = *self.random.pick(arrays);
        let from = match self.random.percent(70) {
            true => to,
            false => *self.random.pick(&["x", "h"]),
        };
        let up = self.random.percent(70);
        let (first, by) = match up {
            true => (self.random.between(2, 10), "++"),
            false => (self.random.between(42, 48), "--"),
        };
        let other = self.random.between(2, 10);
        let moves = 1 + self.random.below(4);
        let mut body = String::new();
        for _ in 0..moves {
            let number = self.random.between(-40, 40);
            let near = self.random.between(-2, 3);
            let statement = match self.random.below(6) {
                0 => format!("*p{by} = (short)(*q++ >> 1);"),
                1 => format!("*p{by} = (short)(*q++ * 3 + {number});"),
                2 => format!("*p = (short)(q[{near}] ^ p[-1]); p{by}; q++;"),
                3 => format!("s0 += (unsigned)*q++; *p{by} = {number};"),
                4 => format!("t ^= *q; q += 2; *p = (short)(*p + t); p{by};"),
                _ => format!("s1 += (unsigned)(p[0] * q[{near}]); p{by}; q++;"),
            };
            body.push_str(&format!("    {statement}\n"));
        }
        let rounds = match self.random.percent(60) {
            true => (1 + self.random.below(8)).to_string(),
            false => "(n < 8 ? n : 8)".to_owned(),
        };
        let text = format!(
            "  {{ short *p = {to} + {first}; const short *q = {from} + {other};\n  for (int {i} = 0; {i} < {rounds}; {i}++) {{\n{body}  }} }}\n"
        );
        self.body.push_str(&text);
    }

    /// An inner loop whose counter goes on where it was.
    fn kept(&mut self) {
        let (i, j) = (format!("i{}", self.loops), format!("j{}", self.loops));
        self.loops += 1;
        let by = *self.random.pick(&["1", "2", "3"]);
        let inner = self.statement(&j);
        let text = format!(
            "  {{ int {j} = 0;\n  for (int {i} = 0; {i} < 9; {i}++) {{\n    for (; {j} < {by} * {i} + 1; {j}++) {{\n      s1 += (unsigned)x[{j}];\n{inner}    }}\n    s1 = s1 * 3u;\n  }} }}\n"
        );
        self.body.push_str(&text);
    }

    /// An element around the counted one.
    fn element(&mut self, i: &str) -> String {
        let array = match self.simple {
            true => *self.random.pick(&["x", "x", "x", "y", "y", "h"]),
            false => *self.random.pick(&["x", "x", "y", "y", "h", "u", "g", "z"]),
        };
        let by = match array {
            "x" | "y" | "z" => self.random.between(-3, 5),
            _ => self.random.between(0, 5),
        };
        match (self.random.below(8), by) {
            (0, _) => format!("{array}[{i} * 2]")
                .replace("z[", "x[")
                .replace("u[", "y["),
            (_, 0) => format!("{array}[{i}]"),
            (_, by) if by < 0 => format!("{array}[{i} - {}]", -by),
            (_, by) => format!("{array}[{i} + {by}]"),
        }
    }

    /// A small signed number.
    fn value(&mut self, i: &str) -> String {
        let element = self.element(i);
        match self.random.below(6) {
            0 => format!("({element} >> {})", self.random.between(1, 9)),
            1 => format!("{element} + {}", self.random.between(-50, 50)),
            2 => format!("({element} & 255)"),
            3 => {
                let other = self.element(i);
                format!("({element} ^ {other})")
            }
            _ => element,
        }
    }

    fn statement(&mut self, i: &str) -> String {
        let (left, right) = (self.value(i), self.value(i));
        let sum = *self.random.pick(&["s0", "s1"]);
        let small = *self.random.pick(&["a0", "a1"]);
        let text = match self.random.below(if self.fractions { 17 } else { 13 }) {
            9 | 12 | 16 if self.simple => format!("z[{i}] = (short)(({left}) + ({right}));"),
            7 if self.simple => format!("z[{i}] = (short)({left});"),
            0 | 1 => format!("{sum} += (unsigned)({left}) * (unsigned)({right});"),
            2 => format!("{sum} -= (unsigned)({left});"),
            3 => format!("{small} += (({left}) >> 4) * (({right}) >> 4);"),
            4 => format!("{small} ^= {left};"),
            5 => format!("m0 = m0 > ({left}) ? m0 : ({left});"),
            6 => format!("m1 = ({left}) < m1 ? ({left}) : m1;"),
            7 => {
                let array = *self.random.pick(&["z", "u", "g"]);
                format!("{array}[{i}] = (short)({left});")
            }
            8 => format!("w[{i}] = ({left}) * 3;"),
            9 => format!("v[{i}] = ({left}) + ({right});"),
            10 => format!("t = (short)(t + ({left}));"),
            11 => format!("s2 |= (unsigned)({left}) & 0x5555u;"),
            12 => {
                let array = *self.random.pick(&["z", "u"]);
                let by = self.random.between(1, 4);
                format!("{array}[{i} + {by}] = (short)({left} - {array}[{i}]);")
            }
            13 => format!("a0 = L_mac(a0, {}, {});", self.element(i), self.element(i)),
            14 => format!("a1 = L_msu(a1, {}, {});", self.element(i), self.element(i)),
            15 => format!(
                "z[{i}] = round(L_mult({}, {}));",
                self.element(i),
                self.element(i)
            ),
            _ => format!("u[{i}] = add(u[{i}], {});", self.element(i)),
        };
        let guard = match self.random.percent(if self.simple { 4 } else { 12 }) {
            true => format!("if (({}) > 0) ", self.element(i)),
            false => String::new(),
        };
        format!("    {guard}{text}\n")
    }
}
