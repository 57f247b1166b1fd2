//! Random functions whose loops the actions can edit, or can just not: all types, counters of every width, other steps and
//! bounds, early exits, `continue`, nested conditions, calls, volatile accesses, declarations in bodies.
//!
//! Pointers point into one buffer or several; a launch in which a negative bound leads out of them is left out.

use oracle::interp::{Argument, Buffer, Launch};
use oracle::random::Random;
use oracle::random::c::{self, Kernel};

pub(crate) struct Loops {
    pub(crate) text: String,
    pub(crate) launches: Vec<Launch>,
}

const TYPES: [&str; 12] = [
    "char",
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "long",
    "unsigned long",
    "long long",
    "float",
    "double",
];

/// Elements of eight bytes in a buffer.
const ELEMENTS: i64 = 64;

/// The launch that a random kernel comes with.
pub(crate) fn launch(kernel: &Kernel) -> Launch {
    let mut launch = Launch::new(1);
    launch.warp_size = 1;
    launch.limits.steps = 50_000_000;
    for buffer in &kernel.buffers {
        launch.buffers.push(Buffer::global(buffer.bytes.clone()));
    }
    for parameter in &kernel.parameters {
        launch.parameters.push(match parameter.argument {
            c::Argument::Pointer { buffer, offset } => Argument::Pointer { buffer, offset },
            c::Argument::Scalar { bits, .. } => Argument::Bits(bits),
        });
    }
    launch
}

struct Generator {
    random: Random,
    /// Types of counters.
    counters: Vec<&'static str>,
}

impl Generator {
    fn pick(&mut self, items: &[&'static str]) -> &'static str {
        items[self.random.below(items.len() as u32) as usize]
    }

    fn index(&mut self) -> String {
        match self.random.below(5) {
            0 => "i & 15".into(),
            1 => "(i + 1) & 15".into(),
            2 => "(int)c[i & 7] & 15".into(),
            _ => "i".into(),
        }
    }

    /// A value of some arithmetic type; `depth` of operators.
    fn value(&mut self, depth: u32) -> String {
        if depth == 0 || self.random.percent(30) {
            let index = self.index();
            return match self.random.below(9) {
                0 => self
                    .pick(&["0", "1", "-1", "3", "7u", "100", "0.5", "2.0f", "-9L"])
                    .into(),
                1 => self.pick(&["i", "n", "m", "w"]).into(),
                2 | 3 => self.pick(&["s", "t", "k", "u", "d"]).into(),
                4 => format!("b[{index}]"),
                5 => format!("c[{index}]"),
                _ => format!("a[{index}]"),
            };
        }
        let (left, right) = (self.value(depth - 1), self.value(depth - 1));
        match self.random.below(10) {
            0 => format!("({} ? {left} : {right})", self.condition(0)),
            1 => format!("({})({left})", self.random.pick(&TYPES)),
            2 => format!("(int)({left}) / ((int)({right}) | 1)"),
            3 => format!("((int)({left}) & 255)"),
            4 => format!("-({left})"),
            _ => format!("({left} {} {right})", self.pick(&["+", "-", "*"])),
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        let compare = self.pick(&["<", ">", "<=", ">=", "==", "!="]);
        let plain = format!("{} {compare} {}", self.value(1), self.value(1));
        if depth == 0 {
            return plain;
        }
        match self.random.below(5) {
            0 => format!("{plain} && {}", self.condition(0)),
            1 => format!("{plain} || {}", self.condition(0)),
            2 => format!("!({plain})"),
            3 => "a[i]".into(),
            _ => plain,
        }
    }

    fn assignment(&mut self) -> String {
        let name = self.pick(&["s", "t", "k", "u", "d"]);
        let value = self.value(2);
        match self.random.below(6) {
            0 => format!("{name}++;"),
            1 => format!("--{name};"),
            2 => format!("{name} += {value};"),
            3 => format!("{name} -= {value};"),
            _ => format!("{name} = {value};"),
        }
    }

    fn store(&mut self) -> String {
        let (array, index) = (self.pick(&["a", "b"]), self.index());
        let operator = self.pick(&["=", "=", "+=", "-="]);
        format!("{array}[{index}] {operator} {};", self.value(2))
    }

    /// An `if` of the kind that becomes a value, or nearly.
    fn choice(&mut self, depth: u32) -> String {
        let condition = self.condition(1);
        let index = self.index();
        match self.random.below(8) {
            0 => format!(
                "if ({condition}) a[{index}] = {}; else a[{index}] = {};",
                self.value(1),
                self.value(1)
            ),
            1 => format!(
                "if ({condition}) {{ {} {} }}",
                self.assignment(),
                self.assignment()
            ),
            2 => format!(
                "if ({condition}) {{ {} }} else {{ {} }}",
                self.assignment(),
                self.assignment()
            ),
            3 if depth > 0 => format!("if ({condition}) {{ {} }}", self.choice(depth - 1)),
            4 => format!("if ({condition}) {}", self.store()),
            _ => format!("if ({condition}) {}", self.assignment()),
        }
    }

    fn statement(&mut self) -> String {
        let ty = *self.random.pick(&TYPES);
        match self.random.below(20) {
            0 => format!("if ({}) break;", self.condition(0)),
            1 => format!("if ({}) continue;", self.condition(0)),
            2 => format!("if ({}) return t;", self.condition(0)),
            3 => "s += called(k, a);".into(),
            4 => "*v = k; k ^= *v;".into(),
            5 => format!("{ty} q = {}; t += q; q++; s -= q;", self.value(1)),
            6 => format!("{ty} q[2] = {{{}, i}}; t += q[i & 1];", self.value(1)),
            7 => "/* a comment */ u += w; // another\n".into(),
            8..=11 => self.choice(1),
            12 | 13 => self.store(),
            _ => self.assignment(),
        }
    }

    fn head(&mut self) -> String {
        let ty = self.pick(&self.counters.clone());
        let bound = self.pick(&["n", "m", "w", "n", "9", "0", "small"]);
        let (start, test, step) = match self.random.below(10) {
            0 => ("1", "i < ", "i++"),
            1 => ("0", "i <= ", "i++"),
            2 => ("0", "i < ", "i += 2"),
            3 => ("0", "i < ", "i += 1"),
            4 => ("0", "i < ", "++i"),
            _ => ("0", "i < ", "i++"),
        };
        match self.random.below(8) {
            0 => format!("{ty} i; for (i = {start}; {test}{bound}; {step})"),
            _ => format!("for ({ty} i = {start}; {test}{bound}; {step})"),
        }
    }
}

/// A function with one to three loops.
pub(crate) fn loops(seed: u64) -> Loops {
    let mut random = Random::new(seed);
    let types = [(); 8].map(|()| *random.pick(&TYPES));
    let [a, b, c, s, t, k, u, small] = types;
    let (k, u) = match (k, u) {
        ("float" | "double", _) | (_, "float" | "double") => ("int", "unsigned"),
        both => both,
    };
    let small = if small.ends_with('e') || small == "float" {
        "short"
    } else {
        small
    };
    let counters = TYPES
        .iter()
        .copied()
        .filter(|ty| !matches!(*ty, "float" | "double"));
    let counters = counters
        .chain(["int", "long", "long", "unsigned"])
        .collect();
    let mut generator = Generator { random, counters };
    let mut text = format!(
        "static long called(long x, {a} *a) {{\n  long y = x;\n  a[x & 7] = y;\n  return y + a[3];\n}}\nlong f(long n, int m, unsigned w, {small} small, {a} *a, {b} *b, const {c} *c, volatile int *v) {{\n  {s} s = 0; {t} t = 1; {k} k = 2; {u} u = 3; double d = 0.5;\n"
    );
    for _ in 0..=generator.random.below(3) {
        let head = generator.head();
        let count = 1 + generator.random.below(3);
        let body: Vec<String> = (0..count).map(|_| generator.statement()).collect();
        let body = body.join("\n    ");
        text += &match count == 1 && !body.contains("; ") && generator.random.percent(50) {
            true => format!("  {{ {head}\n    {body}\n  }}\n"),
            false => format!("  {{ {head} {{\n    {body}\n  }} }}\n"),
        };
    }
    text += "  return (long)s + (long)t * 7 + k * 11 + u * 13 + (long)(d * 64);\n}\n";
    let launches =
        [0, 1, 2, 3, 4, 5, 7, 12, 33].map(|trips| launch_of(&mut generator.random, trips));
    Loops {
        text,
        launches: launches.to_vec(),
    }
}

fn launch_of(random: &mut Random, trips: i64) -> Launch {
    let mut launch = Launch::new(1);
    launch.warp_size = 1;
    launch.limits.steps = 20_000;
    // Small numbers in the low bytes, which are no infinite floats.
    for _ in 0..4 {
        let bytes = (0..ELEMENTS * 8).map(|_| random.below(12) as u8 * 7);
        launch.buffers.push(Buffer::global(bytes.collect()));
    }
    // `unsigned` bounds stay small, others may be negative.
    let signed = match random.below(6) {
        0 => -trips,
        1 => i64::from(i32::MIN),
        _ => trips,
    };
    let alias = random.percent(50);
    for value in [signed, signed.clamp(-40, 40), trips, trips] {
        launch.parameters.push(Argument::Bits(value as u64));
    }
    for buffer in 0..4 {
        let shared = alias && buffer < 3;
        launch.parameters.push(Argument::Pointer {
            buffer: if shared { 0 } else { buffer },
            offset: if shared {
                u64::from(random.below(2)) * 8
            } else {
                0
            },
        });
    }
    launch
}
