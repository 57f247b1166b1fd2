//! Random functions whose variables some ways do not read: branches with and without braces, `else if`, early `return`, `break`
//! and `continue`, a `switch`, loops, loads and stores, values that are overwritten, blocks with their own variables.

#[path = "varied.rs"]
mod varied;

use oracle::random::Random;

/// Integers that a thread writes.
pub(crate) const OUTPUTS: u32 = 16;

struct Generator {
    random: Random,
    language: ir::Language,
    out: String,
    indent: usize,
    visible: Vec<String>,
    /// Floats, and operations that give an integer from variables that are none.
    floats: Vec<String>,
    readers: Vec<String>,
    /// Parts of variables and references, which may be assigned.
    members: Vec<String>,
    /// Names that the innermost block has declared again.
    declared: Vec<String>,
    /// Variables that may be assigned.
    mutable: usize,
    fresh: u32,
    loops: u32,
    left: u32,
    stored: u32,
}

/// A function named `kernel`, of 64 lanes or of one.
pub(crate) fn kernel(seed: u64, language: ir::Language) -> String {
    let mut random = Random::new(seed ^ 0x51ed);
    let left = 8 + random.below(22);
    let mut g = Generator {
        random,
        language,
        out: String::new(),
        indent: 0,
        visible: Vec::new(),
        floats: Vec::new(),
        readers: Vec::new(),
        members: Vec::new(),
        declared: Vec::new(),
        mutable: 0,
        fresh: 0,
        loops: 0,
        left,
        stored: 0,
    };
    g.out.push_str(varied::PRELUDE);
    match language {
        ir::Language::Hlsl => {
            g.line("StructuredBuffer<int> src : register(t0);");
            g.line("RWStructuredBuffer<int> dst : register(u0);");
            g.line("int helper(int x, int y) { return x * 3 - y; }");
            g.line("void split(int x, out int low, out int high) { low = x & 7; high = x >> 3; }");
            g.line("[numthreads(64, 1, 1)]");
            g.line("void kernel(uint inside : SV_GroupIndex)");
            g.line("{");
            g.indent = 1;
            g.line("int t = int(inside);");
        }
        ir::Language::C => {
            g.line("static int helper(int x, int y) { return x * 3 - y; }");
            g.line("static void split(int x, int *low, int *high) { *low = x & 7; *high += x; }");
            g.line("void kernel(int *dst, const int *src, int t)");
            g.line("{");
            g.indent = 1;
        }
        _ => {
            g.line("__device__ int helper(int x, int y) { return x * 3 - y; }");
            g.line(
                "__device__ void split(int x, int& low, int& high) { low = x & 7; high = x >> 3; }",
            );
            g.line("__global__ void __launch_bounds__(64) kernel(int* dst, const int* src)");
            g.line("{");
            g.indent = 1;
            g.line("int t = threadIdx.x;");
        }
    }
    for name in ["a", "b", "c", "d", "e"] {
        let at = g.random.below(60);
        g.line(&format!("int {name} = src[(t * 7 + {at}) & 255];"));
        g.visible.push(name.to_owned());
    }
    g.mutable = 5;
    while g.left > 0 {
        g.statement(0);
    }
    for at in 0..4 {
        let value = g.visible[at as usize].clone();
        g.store(&value);
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

    fn name(&mut self) -> String {
        if !self.readers.is_empty() && self.random.percent(20) {
            let readers = self.readers.clone();
            return self.random.pick(&readers).clone();
        }
        let visible = self.visible.clone();
        self.random.pick(&visible).clone()
    }

    fn value(&mut self, depth: u32) -> String {
        if depth > 1 || self.random.percent(25) {
            return match self.random.below(4) {
                0 => format!("{}", self.random.below(9)),
                _ => self.name(),
            };
        }
        let (left, right) = (self.value(depth + 1), self.value(depth + 1));
        match self.random.below(8) {
            0 => format!("src[({left}) & 255]"),
            1 => format!("helper({left}, {right})"),
            2 => format!("({left} ^ {right})"),
            3 => format!("({left} - {right})"),
            4 => format!("({left} & {right})"),
            5 => format!("dst[t * {OUTPUTS} + {}]", self.random.below(OUTPUTS)),
            6 => format!("{left} * {right}"),
            _ => format!("({left} + {right})"),
        }
    }

    fn condition(&mut self) -> String {
        let (left, number) = (self.name(), self.random.below(12));
        match self.random.below(5) {
            0 => format!("({left} & 3) == {}", number & 3),
            1 => format!("{left} > {number}"),
            2 => format!(
                "({left} & 7) < {} && {} != {number}",
                1 + number % 7,
                self.name()
            ),
            3 => format!("({left} & 1) != 0"),
            _ => format!("{left} < {} + {number}", self.name()),
        }
    }

    fn store(&mut self, value: &str) {
        let at = self.stored % OUTPUTS;
        self.stored += 1;
        self.line(&format!("dst[t * {OUTPUTS} + {at}] = {value};"));
    }

    fn assignment(&mut self) -> String {
        let at = self.random.below(self.mutable as u32) as usize;
        let name = self.visible[at].clone();
        let value = self.value(0);
        match self.random.below(8) {
            0 => format!("{name} += {value};"),
            _ => format!("{name} = {value};"),
        }
    }

    fn block(&mut self, depth: u32) {
        let visible = self.visible.len();
        let (floats, readers) = (self.floats.len(), self.readers.len());
        let members = self.members.len();
        let declared = std::mem::take(&mut self.declared);
        self.indent += 1;
        for _ in 0..1 + self.random.below(4) {
            self.statement(depth + 1);
        }
        self.indent -= 1;
        self.visible.truncate(visible);
        self.floats.truncate(floats);
        self.readers.truncate(readers);
        self.members.truncate(members);
        self.declared = declared;
    }

    fn statement(&mut self, depth: u32) {
        self.left = self.left.saturating_sub(1);
        let simple = depth > 3 || self.left == 0;
        if self.random.percent(30) {
            self.varied(depth);
            return;
        }
        match self.random.below(if simple { 9 } else { 17 }) {
            0..=3 => {
                let text = self.assignment();
                let comment = match self.random.below(6) {
                    0 => " // it follows from the others",
                    _ => "",
                };
                if self.random.percent(10) {
                    self.line("// A remark about what comes.");
                }
                self.line(&format!("{text}{comment}"));
            }
            4 | 5 => {
                let value = self.value(0);
                self.store(&value);
            }
            6..=8 => {
                let name = format!("v{}", self.fresh);
                self.fresh += 1;
                let value = self.value(0);
                let word = match self.random.below(5) {
                    0 => "const ",
                    _ => "",
                };
                self.line(&format!("{word}int {name} = {value};"));
                self.visible.push(name);
            }
            9..=12 => self.branch(depth),
            13 => {
                let condition = self.condition();
                self.line(&format!("if ({condition}) {{"));
                self.block(depth);
                self.indent += 1;
                let text = match self.loops {
                    0 => "return;",
                    _ => *self.random.pick(&["break;", "continue;", "return;"]),
                };
                self.line(text);
                self.indent -= 1;
                self.line("}");
            }
            14 => {
                let selector = self.name();
                self.line(&format!("switch ({selector} & 3) {{"));
                for case in 0..2 {
                    self.line(&format!("case {case}: {{"));
                    let loops = std::mem::take(&mut self.loops);
                    self.block(depth);
                    self.loops = loops;
                    self.indent += 1;
                    if self.random.percent(80) || self.language == ir::Language::Hlsl {
                        self.line("break;");
                    }
                    self.indent -= 1;
                    self.line("}");
                }
                self.line("default: break;");
                self.line("}");
            }
            _ if self.loops < 2 => {
                let counter = format!("k{}", self.fresh);
                self.fresh += 1;
                let times = 1 + self.random.below(4);
                self.line(&format!(
                    "for (int {counter} = 0; {counter} < {times}; ++{counter}) {{"
                ));
                self.visible.push(counter);
                self.loops += 1;
                self.block(depth);
                self.loops -= 1;
                self.visible.pop();
                self.line("}");
            }
            _ => {
                let text = self.assignment();
                self.line(&text);
            }
        }
    }

    fn branch(&mut self, depth: u32) {
        let condition = self.condition();
        match self.random.below(6) {
            0 => {
                let text = self.assignment();
                match self.random.below(2) {
                    0 => self.line(&format!("if ({condition}) {text}")),
                    _ => {
                        self.line(&format!("if ({condition})"));
                        self.line(&format!("    {text}"));
                    }
                }
            }
            1 => {
                let (left, right) = (self.assignment(), self.assignment());
                self.line(&format!("if ({condition})"));
                self.line(&format!("    {left}"));
                self.line("else");
                self.line(&format!("    {right}"));
            }
            2 => {
                self.line(&format!("if ({condition}) {{"));
                self.block(depth);
                self.line("}");
            }
            3 => {
                self.line(&format!("if ({condition}) {{"));
                self.block(depth);
                let second = self.condition();
                self.line(&format!("}} else if ({second}) {{"));
                self.block(depth);
                if self.random.percent(50) {
                    self.line("} else {");
                    self.block(depth);
                }
                self.line("}");
            }
            _ => {
                self.line(&format!("if ({condition}) {{"));
                self.block(depth);
                self.line("} else {");
                self.block(depth);
                self.line("}");
            }
        }
    }
}
