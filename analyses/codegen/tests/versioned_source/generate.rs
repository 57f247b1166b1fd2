//! Random kernels in the text of CUDA and HLSL: arithmetic on values that are often zero, branches, loops, calls, stores; tests
//! of zero by the author, values that are never zero, uniform ones, factors without a name, and text of another permutation,
//! which `OTHER` shows.
//! Divisors and arguments of roots are kept from zero, so that no value is infinite or a NaN.

use oracle::random::Random;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Language {
    Cuda,
    Hlsl,
}

/// From this seed on, kernels of HLSL call functions that write their arguments.
pub(crate) const WRITES: u64 = 3_000_000;

/// Values that a thread reads.
pub(crate) const INPUTS: u32 = 6;
/// Values that a thread writes.
pub(crate) const OUTPUTS: u32 = 4;

struct Generator {
    random: Random,
    language: Language,
    out: String,
    indent: usize,
    /// Visible variables: floats, vectors of three (HLSL), integers.
    floats: Vec<String>,
    vectors: Vec<String>,
    ints: Vec<String>,
    /// The names in each list that may be assigned.
    fixed: Vec<String>,
    fresh: u32,
    loops: u32,
    left: u32,
}

/// A whole file with one kernel named `main`.
pub(crate) fn kernel(seed: u64, language: Language) -> String {
    let mut g = Generator {
        random: Random::new(seed ^ 0x0a11_ce00),
        language,
        out: String::new(),
        indent: 0,
        floats: Vec::new(),
        vectors: Vec::new(),
        ints: Vec::new(),
        fixed: Vec::new(),
        fresh: 0,
        loops: 0,
        left: 10,
    };
    g.left += g.random.below(18);
    match language {
        Language::Cuda => {
            g.line("__device__ float helper(float x, float y)");
            g.line("{");
            g.line("    float s = x * y;");
            g.line("    if (x > 1.0f) { s += 0.5f; }");
            g.line("    return s + expf(-fabsf(y));");
            g.line("}");
            g.line("__device__ void pair(float x, float& low, float& high)");
            g.line("{");
            g.line("    low = x * 0.5f;");
            g.line("    high = x + 1.0f;");
            g.line("}");
            g.line("__global__ void kernel(float* dst, const float* src)");
            g.line("{");
            g.indent = 1;
            g.line("int i = blockIdx.x * blockDim.x + threadIdx.x;");
        }
        Language::Hlsl => {
            g.line("StructuredBuffer<float> src : register(t0);");
            g.line("RWStructuredBuffer<float> dst : register(u0);");
            if seed >= WRITES {
                g.line("RWStructuredBuffer<uint> counts : register(u1);");
                g.line("RWByteAddressBuffer raw : register(u2);");
            }
            g.line("float helper(float x, float y)");
            g.line("{");
            g.line("    float s = x * y;");
            g.line("    if (x > 1.0) { s += 0.5; }");
            g.line("    return s + exp(-abs(y));");
            g.line("}");
            g.line("void pair(float x, out float low, inout float high)");
            g.line("{");
            g.line("    low = x * 0.5;");
            g.line("    high = high + x;");
            g.line("}");
            g.line("[numthreads(64, 1, 1)]");
            g.line("void kernel(uint3 id : SV_DispatchThreadID)");
            g.line("{");
            g.indent = 1;
            g.line("int i = int(id.x);");
        }
    }
    for input in 0..INPUTS {
        let name = format!("a{input}");
        let wrapped = match g.random.below(4) {
            0 => g.call("saturate", &format!("src[i * {INPUTS} + {input}]")),
            1 => format!(
                "{}(src[i * {INPUTS} + {input}], {})",
                g.word("max"),
                g.number(0)
            ),
            _ => format!("src[i * {INPUTS} + {input}]"),
        };
        g.line(&format!("float {name} = {wrapped};"));
        g.floats.push(name);
    }
    if language == Language::Hlsl {
        g.line("float3 p = float3(a0, a1, a2);");
        g.vectors.push("p".to_owned());
    }
    let four = g.number(4);
    g.line(&format!("int m = int(a3 * {four}) & 3;"));
    g.ints.push("m".to_owned());
    let writes = language == Language::Hlsl && seed >= WRITES;
    while g.left > 0 {
        if writes && g.random.percent(40) {
            g.written();
        }
        g.statement(0);
    }
    for output in 0..OUTPUTS {
        let value = g.float(2);
        g.line(&format!("dst[i * {OUTPUTS} + {output}] = {value};"));
    }
    g.indent = 0;
    g.line("}");
    g.out
}

impl Generator {
    fn line(&mut self, text: &str) {
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn number(&mut self, n: u32) -> String {
        let suffix = if self.language == Language::Cuda {
            "f"
        } else {
            ""
        };
        format!("{n}.0{suffix}")
    }

    fn fraction(&mut self) -> String {
        let suffix = if self.language == Language::Cuda {
            "f"
        } else {
            ""
        };
        let text = *self
            .random
            .pick(&["0.5", "1.0", "0.25", "2.0", "0.0", "1.5", "0.75"]);
        format!("{text}{suffix}")
    }

    fn word(&self, name: &str) -> String {
        match (self.language, name) {
            (Language::Hlsl, name) => name.to_owned(),
            (_, "saturate") => "__saturatef".to_owned(),
            (_, "abs" | "max" | "min") => format!("f{name}f"),
            (_, name) => format!("{name}f"),
        }
    }

    fn call(&self, name: &str, argument: &str) -> String {
        format!("{}({argument})", self.word(name))
    }

    fn name(&mut self) -> String {
        self.fresh += 1;
        format!("t{}", self.fresh)
    }

    fn float(&mut self, depth: u32) -> String {
        if depth == 0 || self.random.percent(15) {
            return match self.random.below(6) {
                0 => self.fraction(),
                5 if self.random.percent(50) => self.input(),
                1 if !self.vectors.is_empty() => {
                    let vector = self.random.pick(&self.vectors).clone();
                    let lane = *self.random.pick(&["x", "y", "z", "r", "g"]);
                    format!("{vector}.{lane}")
                }
                _ => self.random.pick(&self.floats).clone(),
            };
        }
        let d = depth - 1;
        match self.random.below(16) {
            0..=3 => {
                let (a, b) = (self.float(d), self.float(d));
                format!("({a}) * ({b})")
            }
            4 | 5 => format!("{} + {}", self.float(d), self.float(d)),
            6 => format!("{} - ({})", self.float(d), self.float(d)),
            7 => {
                let word = *self.random.pick(&["max", "min"]);
                let (a, b) = (self.float(d), self.float(d));
                format!("{}({a}, {b})", self.word(word))
            }
            8 => {
                let word = *self.random.pick(&["saturate", "abs", "floor"]);
                let a = self.float(d);
                self.call(word, &a)
            }
            9 => {
                let a = self.float(d);
                let inner = self.call("abs", &a);
                self.call("sqrt", &inner)
            }
            10 => {
                let a = self.float(d);
                let inner = self.call("abs", &a);
                self.call("exp", &format!("-{inner}"))
            }
            11 => {
                let (a, b) = (self.float(d), self.float(d));
                let below = self.call("abs", &b);
                let one = self.number(1);
                format!("({a}) / ({below} + {one})")
            }
            12 => {
                let (c, a, b) = (self.condition(d), self.float(d), self.float(d));
                format!("({c} ? {a} : {b})")
            }
            13 => format!("helper({}, {})", self.float(d), self.float(d)),
            14 if self.language == Language::Hlsl => {
                let (a, b, c) = (self.float(d), self.float(d), self.float(d));
                let word = *self.random.pick(&["lerp", "mad"]);
                format!("{word}({a}, {b}, {c})")
            }
            14 => {
                let (a, b, c) = (self.float(d), self.float(d), self.float(d));
                format!("fmaf({a}, {b}, {c})")
            }
            _ if !self.vectors.is_empty() => format!("dot({}, {})", self.vector(d), self.vector(d)),
            _ => {
                let int = self.int(d);
                format!("float({int})")
            }
        }
    }

    fn vector(&mut self, depth: u32) -> String {
        if depth == 0 || self.random.percent(25) {
            return self.random.pick(&self.vectors).clone();
        }
        let d = depth - 1;
        match self.random.below(7) {
            0 => format!("({}) * ({})", self.vector(d), self.float(d)),
            1 => format!("({}) * ({})", self.vector(d), self.vector(d)),
            2 => format!("{} + {}", self.vector(d), self.vector(d)),
            3 => format!(
                "lerp({}, {}, {})",
                self.vector(d),
                self.vector(d),
                self.float(d)
            ),
            4 => format!(
                "float3({}, {}, {})",
                self.float(d),
                self.float(d),
                self.float(d)
            ),
            5 => format!("({}).zyx", self.vector(d)),
            _ => format!("saturate({})", self.vector(d)),
        }
    }

    fn int(&mut self, depth: u32) -> String {
        if depth == 0 || self.random.percent(30) {
            return match self.random.below(3) {
                0 => self.random.below(4).to_string(),
                _ => self.random.pick(&self.ints).clone(),
            };
        }
        let d = depth - 1;
        match self.random.below(5) {
            0 => format!("({}) * ({})", self.int(d), self.int(d)),
            1 => format!("{} + {}", self.int(d), self.int(d)),
            2 => format!("(({}) & ({}))", self.int(d), self.int(d)),
            3 => format!("(({}) | ({}))", self.int(d), self.int(d)),
            _ => format!("(({}) >> 1)", self.int(d)),
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        match self.random.below(6) {
            0 => format!(
                "{} > {}",
                self.random.pick(&self.ints).clone(),
                self.random.below(3)
            ),
            1 => format!(
                "{} == {}",
                self.random.pick(&self.floats).clone(),
                self.fraction()
            ),
            2 => {
                let (a, b) = (self.float(depth.min(1)), self.fraction());
                format!("({a}) > {b} && m < 3")
            }
            3 => {
                let (a, b) = (self.float(depth.min(1)), self.fraction());
                format!("({a}) <= {b} || m == 1")
            }
            _ => {
                let (a, b) = (self.float(depth.min(1)), self.fraction());
                format!("({a}) > {b}")
            }
        }
    }

    /// A value of the thread, or of all threads, that has no name.
    fn input(&mut self) -> String {
        let slot = self.random.below(INPUTS);
        match self.random.percent(20) {
            true => format!("src[{slot}]"),
            false => format!("src[i * {INPUTS} + {slot}]"),
        }
    }

    /// A statement that a permutation has and another has not.
    fn permuted(&mut self) {
        let directive = *self
            .random
            .pick(&["#ifdef OTHER", "#ifndef OTHER", "#if 0"]);
        self.out.push_str(directive);
        self.out.push('\n');
        self.small();
        if self.random.percent(30) {
            self.out.push_str("#else\n");
            self.small();
        }
        self.out.push_str("#endif\n");
    }

    fn small(&mut self) {
        let value = self.float(1);
        if let Some(name) = self.target() {
            let op = *self.random.pick(&["=", "+=", "*="]);
            self.line(&format!("{name} {op} {value};"));
        } else {
            self.line(&format!("dst[i * {OUTPUTS}] += {value};"));
        }
    }

    /// A variable that begins as zero or as anything, and that an intrinsic or a method then writes.
    fn written(&mut self) {
        let (name, value) = (self.name(), self.float(2));
        let start = match self.random.percent(60) {
            true => self.number(0),
            false => self.float(1),
        };
        let part = *self.random.pick(&["modf", "frexp"]);
        match self.random.below(5) {
            0 => {
                self.line(&format!("float {name} = {start};"));
                self.line(&format!("float k{name} = {part}({value}, {name});"));
            }
            1 => {
                self.line(&format!("float {name} = {start}, k{name} = 0;"));
                self.line(&format!("sincos({value}, k{name}, {name});"));
            }
            2 => {
                self.line(&format!("uint k{name} = 0, l{name} = 0;"));
                self.line(&format!("asuint(double({value}), l{name}, k{name});"));
                self.line(&format!(
                    "float {name} = float(k{name} & 3) + float(l{name} & 1);"
                ));
            }
            // Each thread has a word of its own.
            way => {
                let call = match way {
                    3 => format!("InterlockedAdd(counts[i], 1, k{name});"),
                    _ => format!("raw.InterlockedAdd(4 * i, 2, k{name});"),
                };
                self.line(&format!("uint k{name} = 0;"));
                self.line(&call);
                self.line(&format!("float {name} = float(k{name} & 3);"));
            }
        }
        self.floats.push(name);
    }

    fn target(&mut self) -> Option<String> {
        let open: Vec<String> = self
            .floats
            .iter()
            .filter(|name| !self.fixed.contains(name))
            .cloned()
            .collect();
        (!open.is_empty()).then(|| self.random.pick(&open).clone())
    }

    /// Statements of an inner block; its declarations are forgotten.
    fn block(&mut self, depth: u32) {
        let (floats, vectors, ints) = (self.floats.len(), self.vectors.len(), self.ints.len());
        self.indent += 1;
        for _ in 0..1 + self.random.below(3) {
            self.statement(depth + 1);
        }
        self.indent -= 1;
        self.floats.truncate(floats);
        self.vectors.truncate(vectors);
        self.ints.truncate(ints);
    }

    fn statement(&mut self, depth: u32) {
        self.left = self.left.saturating_sub(1);
        if self.random.percent(10) {
            self.line("// A remark.");
        }
        if self.random.percent(8) {
            self.out.push('\n');
        }
        match self.random.below(26) {
            0..=4 => {
                let value = self.float(3);
                let name = self.name();
                let constant = self.random.percent(20);
                let word = if constant { "const " } else { "" };
                let remark = if self.random.percent(15) {
                    " // kept"
                } else {
                    ""
                };
                self.line(&format!("{word}float {name} = {value};{remark}"));
                if constant {
                    self.fixed.push(name.clone());
                }
                self.floats.push(name);
            }
            5..=7 => {
                let value = self.float(3);
                if let Some(name) = self.target() {
                    let op = *self.random.pick(&["=", "=", "+=", "+=", "-=", "*="]);
                    self.line(&format!("{name} {op} {value};"));
                }
            }
            8 | 9 if depth < 3 => {
                let condition = self.condition(2);
                self.line(&format!("if ({condition}) {{"));
                self.block(depth);
                if self.random.percent(50) {
                    self.line("} else {");
                    self.block(depth);
                }
                self.line("}");
            }
            10 if depth < 2 => {
                let value = self.float(1);
                if let Some(name) = self.target() {
                    let condition = self.condition(1);
                    self.line(&format!("if ({condition}) {name} = {value};"));
                }
            }
            11 | 12 if self.loops < 2 && depth < 3 => {
                self.loops += 1;
                let name = format!("j{}", self.name());
                let count = if self.random.percent(50) {
                    format!("{}", 1 + self.random.below(4))
                } else {
                    "(m & 3)".to_owned()
                };
                self.line(&format!(
                    "for (int {name} = 0; {name} < {count}; ++{name}) {{"
                ));
                self.ints.push(name.clone());
                self.block(depth);
                if self.random.percent(25) {
                    let condition = self.condition(1);
                    let word = *self.random.pick(&["break", "continue"]);
                    self.indent += 1;
                    self.line(&format!("if ({condition}) {word};"));
                    if let Some(name) = self.target() {
                        let value = self.float(1);
                        self.line(&format!("{name} += {value};"));
                    }
                    self.indent -= 1;
                }
                self.line("}");
                self.ints.pop();
                self.loops -= 1;
            }
            13 => {
                let name = self.name();
                let (c, a, b) = (self.condition(1), self.float(2), self.float(2));
                self.line(&format!("float {name};"));
                self.line(&format!(
                    "if ({c}) {{ {name} = {a}; }} else {{ {name} = {b}; }}"
                ));
                self.floats.push(name);
            }
            14 => {
                let (a, b) = (self.name(), self.name());
                let (x, y) = (self.float(2), self.float(1));
                self.line(&format!("float {a} = {x}, {b} = {y};"));
                self.floats.push(a);
                self.floats.push(b);
            }
            15 => {
                let value = self.float(2);
                let slot = self.random.below(OUTPUTS);
                let op = *self.random.pick(&["=", "=", "+="]);
                self.line(&format!("dst[i * {OUTPUTS} + {slot}] {op} {value};"));
            }
            16 => {
                let (a, b) = (self.name(), self.name());
                let (x, y) = (self.float(1), self.float(1));
                self.line(&format!("float {a} = {y};"));
                self.line(&format!("float {b} = {a};"));
                self.line(&format!("pair({x}, {a}, {b});"));
                self.floats.push(a);
                self.floats.push(b);
            }
            17 => {
                let value = self.int(2);
                let name = self.name();
                self.line(&format!("int {name} = ({value}) & 7;"));
                self.ints.push(name);
            }
            18 if !self.vectors.is_empty() => {
                let value = self.vector(2);
                if self.random.percent(60) {
                    let name = self.name();
                    self.line(&format!("float3 {name} = {value};"));
                    self.vectors.push(name);
                } else {
                    let name = self.random.pick(&self.vectors).clone();
                    match self.random.below(3) {
                        0 => self.line(&format!("{name} += {value};")),
                        1 => {
                            let found = self.float(2);
                            self.line(&format!("{name}.y = {found};"));
                        }
                        _ => self.line(&format!("{name} = {value};")),
                    }
                }
            }
            20 | 21 if depth < 3 => {
                // The author's own test of a zero.
                let name = self.random.pick(&self.floats).clone();
                let zero = self.number(0);
                let (op, swapped) = *self
                    .random
                    .pick(&[("!=", false), (">", false), ("==", true)]);
                self.line(&format!("if ({name} {op} {zero}) {{"));
                self.block(depth);
                if swapped || self.random.percent(40) {
                    self.line("} else {");
                    self.block(depth);
                }
                self.line("}");
            }
            22 if depth < 2 => self.permuted(),
            23 => {
                let value = self.float(2);
                let name = self.name();
                let bounded = match self.random.below(3) {
                    0 => format!("{} + {}", self.call("saturate", &value), self.number(1)),
                    1 => format!("{}({value}, {})", self.word("max"), self.number(1)),
                    _ => format!("({value}) * ({value}) + {}", self.number(2)),
                };
                self.line(&format!("float {name} = {bounded};"));
                self.floats.push(name);
            }
            24 => {
                let slot = self.random.below(INPUTS);
                let name = self.name();
                self.line(&format!("float {name} = src[{slot}];"));
                self.floats.push(name);
            }
            25 => {
                let (input, value) = (self.input(), self.float(3));
                let name = self.name();
                self.line(&format!("float {name} = {input} * ({value});"));
                self.floats.push(name);
            }
            19 if depth > 0 && self.random.percent(20) => {
                let condition = self.condition(1);
                self.line(&format!("if ({condition}) return;"));
            }
            _ => {
                let value = self.float(2);
                if let Some(name) = self.target() {
                    self.line(&format!("{name} = {value};"));
                }
            }
        }
    }
}
