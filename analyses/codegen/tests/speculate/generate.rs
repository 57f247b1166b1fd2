//! Random functions that evaluate a few expressions again and again, on some ways and not on others: branches, early ends, loops,
//! changes of operands, variables that are declared late, in inner blocks or without a value.

use ir::Language;
use oracle::random::Random;

/// The expressions, as the whole right side of an assignment.
pub(crate) const EXPRESSIONS: [&str; 5] = [
    "a * b + 7",
    "(c ^ a) * 3",
    "d - b * c",
    "fmaxf(x, y) * 0.5f",
    "x / (y + 2.0f)",
];

/// Integers that a thread writes.
pub(crate) const OUTPUTS: u32 = 16;

struct Generator {
    random: Random,
    out: String,
    indent: usize,
    left: u32,
    fresh: u32,
    stored: u32,
    loops: u32,
}

/// A function named `kernel`, of 64 lanes or of one.
pub(crate) fn kernel(seed: u64, language: Language) -> String {
    let mut random = Random::new(seed ^ 0x9e71);
    let left = 6 + random.below(20);
    let mut g = Generator {
        random,
        out: String::new(),
        indent: 0,
        left,
        fresh: 0,
        stored: 0,
        loops: 0,
    };
    match language {
        Language::Hlsl => {
            g.line("StructuredBuffer<int> src : register(t0);");
            g.line("RWStructuredBuffer<int> dst : register(u0);");
            g.line("[numthreads(64, 1, 1)]");
            g.line("void kernel(uint inside : SV_GroupIndex)");
            g.line("{");
            g.indent = 1;
            g.line("int t = int(inside);");
        }
        Language::C => {
            g.line("void kernel(int *dst, const int *src, int t)");
            g.line("{");
            g.indent = 1;
        }
        _ => {
            g.line("__global__ void __launch_bounds__(64) kernel(int* dst, const int* src)");
            g.line("{");
            g.indent = 1;
            g.line("int t = threadIdx.x;");
        }
    }
    for name in ["a", "b", "c", "d"] {
        let at = g.random.below(60);
        if g.random.percent(15) {
            g.line(&format!("int {name};"));
            if g.random.percent(50) {
                g.spread();
            }
            g.line(&format!("{name} = src[(t * 5 + {at}) & 255];"));
        } else {
            g.line(&format!("int {name} = src[(t * 7 + {at}) & 255];"));
        }
    }
    for name in ["x", "y"] {
        let at = g.random.below(60);
        g.line(&format!("float {name} = (float)src[(t * 3 + {at}) & 255];"));
    }
    while g.left > 0 {
        g.statement(0);
    }
    for name in ["a", "b", "c", "d", "(int)x", "(int)y"] {
        g.store(name);
    }
    g.indent = 0;
    g.line("}");
    let text = g.out;
    match language {
        Language::Hlsl => text.replace("fmaxf(", "max("),
        _ => text,
    }
}

impl Generator {
    fn line(&mut self, text: &str) {
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn store(&mut self, value: &str) {
        let at = self.stored % OUTPUTS;
        self.stored += 1;
        self.line(&format!("dst[t * {OUTPUTS} + {at}] += {value};"));
    }

    /// A condition that holds for some.
    fn condition(&mut self) -> String {
        let name = *self.random.pick(&["a", "b", "c", "d"]);
        let mask = *self.random.pick(&[1u32, 3, 7]);
        let sign = *self.random.pick(&["==", "!="]);
        format!("({name} & {mask}) {sign} 0")
    }

    fn evaluate(&mut self) {
        let number = self.random.below(EXPRESSIONS.len() as u32) as usize;
        let expression = EXPRESSIONS[number];
        let is_float = number >= 3;
        let fresh = self.fresh;
        self.fresh += 1;
        match (self.random.below(4), is_float) {
            // A value that changes an operand.
            (0, false) if self.random.percent(40) => {
                let name = *self.random.pick(&["a", "b", "c", "d"]);
                self.line(&format!("{name} = {expression};"));
            }
            (0, true) if self.random.percent(40) => {
                let name = *self.random.pick(&["x", "y"]);
                self.line(&format!("{name} = {expression};"));
            }
            (_, false) => {
                self.line(&format!("int v{fresh} = {expression};"));
                self.store(&format!("v{fresh}"));
            }
            (_, true) => {
                self.line(&format!("float v{fresh} = {expression};"));
                self.store(&format!("(int)(v{fresh} * 16.0f)"));
            }
        }
    }

    fn spread(&mut self) {
        let at = self.random.below(60);
        self.store(&format!("src[(t + {at}) & 255]"));
    }

    fn body(&mut self, depth: u32) {
        self.indent += 1;
        for _ in 0..1 + self.random.below(3) {
            if self.left > 0 {
                self.statement(depth + 1);
            }
        }
        self.indent -= 1;
    }

    fn statement(&mut self, depth: u32) {
        self.left = self.left.saturating_sub(1);
        match self.random.below(12) {
            0..=3 => self.evaluate(),
            4 => {
                let at = self.random.below(60);
                let name = *self.random.pick(&["a", "b", "c", "d"]);
                self.line(&format!("{name} = src[(t * 11 + {at}) & 255];"));
            }
            5 => self.spread(),
            6 if depth > 0 && self.random.percent(30) => match self.loops {
                0 => self.line("return;"),
                _ if self.random.percent(50) => {
                    let condition = self.condition();
                    self.line(&format!("if ({condition}) break;"));
                }
                _ => {
                    let condition = self.condition();
                    self.line(&format!("if ({condition})"));
                    self.indent += 1;
                    self.line("continue;");
                    self.indent -= 1;
                }
            },
            7 if depth < 3 && self.loops < 2 && self.random.percent(50) => {
                let name = format!("i{}", self.fresh);
                self.fresh += 1;
                let times = 1 + self.random.below(5);
                self.line(&format!(
                    "for (int {name} = 0; {name} < {times}; {name}++) {{"
                ));
                self.loops += 1;
                self.body(depth);
                self.loops -= 1;
                self.line("}");
            }
            // Another variable of the same name.
            8 if depth < 3 && self.random.percent(20) => {
                self.line("{");
                self.indent += 1;
                let name = *self.random.pick(&["a", "b", "c", "d"]);
                let at = self.random.below(60);
                self.line(&format!("int {name} = src[(t + {at}) & 255];"));
                self.indent -= 1;
                self.body(depth);
                self.line("}");
            }
            _ if depth < 4 => {
                let condition = self.condition();
                let braced = self.random.percent(80);
                if !braced {
                    self.line(&format!("if ({condition})"));
                    self.indent += 1;
                    self.spread();
                    self.indent -= 1;
                    return;
                }
                self.line(&format!("if ({condition}) {{"));
                self.body(depth);
                match self.random.below(4) {
                    0 => {
                        self.line("} else {");
                        self.body(depth);
                    }
                    1 => {
                        let condition = self.condition();
                        self.line(&format!("}} else if ({condition}) {{"));
                        self.body(depth);
                    }
                    _ => {}
                }
                self.line("}");
            }
            _ => self.evaluate(),
        }
    }
}
