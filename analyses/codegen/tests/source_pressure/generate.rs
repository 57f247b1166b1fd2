//! Random kernels in the text of CUDA and HLSL whose variables live long: uniform, affine and divergent ones, loaded and computed,
//! read before and behind branches, loops and stores; names that are declared twice, macros, several declarators, returns; counters,
//! offsets and strides of 64 bits, whose operators overflow 32.

use oracle::random::Random;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Language {
    Cuda,
    Hlsl,
}

/// Values that a thread writes at the end.
const LAST: u32 = 8;
/// The variables that it writes: the others keep values that statements store to them on the way.
const OUTPUTS: u32 = 16;

#[derive(Clone)]
struct Variable {
    name: String,
    float: bool,
    fixed: bool,
}

/// An integer of 64 bits.
#[derive(Clone)]
struct Wide {
    name: String,
    fixed: bool,
}

struct Generator {
    random: Random,
    language: Language,
    out: String,
    indent: usize,
    visible: Vec<Variable>,
    wide: Vec<Wide>,
    fresh: u32,
    loops: u32,
    left: u32,
}

/// A kernel, and the shape of its workgroup.
pub(crate) fn kernel(seed: u64, language: Language) -> (String, [u32; 3]) {
    let mut random = Random::new(seed ^ 0x5e1f);
    let block = *random.pick(&[[64, 1, 1], [16, 4, 1], [8, 4, 2], [96, 1, 1]]);
    let mut g = Generator {
        left: 8 + random.below(16),
        random,
        language,
        out: String::new(),
        indent: 0,
        visible: Vec::new(),
        wide: Vec::new(),
        fresh: 0,
        loops: 0,
    };
    g.line("#define TWICE(x) ((x) + (x))");
    let threads: u32 = block.iter().product();
    match language {
        Language::Cuda => {
            g.line("__constant__ float table[64];");
            g.line("__device__ float helper(float x, float y)");
            g.line("{");
            g.line("    return x > 1.0f ? x * y : y - x;");
            g.line("}");
            g.line(&format!(
                "__global__ void __launch_bounds__({threads}) kernel(float* dst, const float* __restrict__ src, \
                 const float* other, int n, int m, float scale)"
            ));
            g.line("{");
            g.indent = 1;
            g.line(
                "int lane = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;",
            );
            g.line("int i = blockIdx.x * (blockDim.x * blockDim.y * blockDim.z) + lane;");
        }
        Language::Hlsl => {
            g.line("StructuredBuffer<float> src : register(t0);");
            g.line("RWStructuredBuffer<float> dst : register(u0);");
            g.line("RWStructuredBuffer<float> other : register(u1);");
            g.line("cbuffer constants : register(b0) { int n; int m; float scale; };");
            g.line("float helper(float x, float y)");
            g.line("{");
            g.line("    return x > 1.0 ? x * y : y - x;");
            g.line("}");
            g.line(&format!(
                "[numthreads({}, {}, {})]",
                block[0], block[1], block[2]
            ));
            g.line("void kernel(uint3 group : SV_GroupID, uint inside : SV_GroupIndex)");
            g.line("{");
            g.indent = 1;
            g.line("int lane = int(inside);");
            g.line(&format!("int i = int(group.x) * {threads} + lane;"));
        }
    }
    for (name, float) in [("n", false), ("m", false), ("scale", true), ("lane", false)] {
        g.visible.push(Variable {
            name: name.to_owned(),
            float,
            fixed: true,
        });
    }
    for _ in 0..4 + g.random.below(6) {
        g.declaration();
    }
    for _ in 0..g.random.below(4) {
        g.wide_declaration();
    }
    while g.left > 0 {
        g.statement(0);
    }
    for each in g.wide.clone() {
        if g.random.percent(50) {
            let at = LAST + g.random.below(OUTPUTS - LAST);
            g.line(&format!(
                "dst[i * {OUTPUTS} + {at}] += float({});",
                each.name
            ));
        }
    }
    for output in 0..LAST {
        let value = g.float(2);
        g.line(&format!("dst[i * {OUTPUTS} + {output}] = {value};"));
    }
    g.indent = 0;
    g.line("}");
    (g.out, block)
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
        self.fresh += 1;
        format!("v{}", self.fresh)
    }

    fn of(&mut self, float: bool) -> String {
        let all: Vec<&Variable> = self
            .visible
            .iter()
            .filter(|each| each.float == float)
            .collect();
        let at = self.random.below(all.len() as u32) as usize;
        all[at].name.clone()
    }

    fn number(&self, text: &str) -> String {
        match self.language {
            Language::Cuda => format!("{text}f"),
            Language::Hlsl => text.to_owned(),
        }
    }

    fn int(&mut self, depth: u32) -> String {
        if depth == 0 || self.random.percent(30) {
            return match self.random.below(5) {
                0 => self.random.below(9).to_string(),
                1 => match self.language {
                    Language::Cuda => {
                        let all = ["int(blockIdx.x)", "int(threadIdx.x)", "int(threadIdx.y)"];
                        (*self.random.pick(&all)).to_owned()
                    }
                    Language::Hlsl => "int(group.x)".to_owned(),
                },
                _ => self.of(false),
            };
        }
        let d = depth - 1;
        match self.random.below(6) {
            0 => format!("({}) * ({})", self.int(d), self.int(d)),
            1 => format!("{} + {}", self.int(d), self.int(d)),
            2 => format!("(({}) & ({}))", self.int(d), self.int(d)),
            3 => format!("(({}) ^ ({}))", self.int(d), self.int(d)),
            4 => format!("TWICE({})", self.int(d)),
            _ => format!("{} - ({})", self.int(d), self.int(d)),
        }
    }

    /// The words of a type of 64 bits.
    fn wide_type(&mut self) -> &'static str {
        let all: &[&'static str] = match self.language {
            Language::Cuda => &[
                "long long",
                "size_t",
                "int64_t",
                "unsigned long long",
                "unsigned long",
            ],
            Language::Hlsl => &["int64_t", "uint64_t"],
        };
        all[self.random.below(all.len() as u32) as usize]
    }

    /// An expression of 64 bits, whose operators need them.
    fn wide_value(&mut self) -> String {
        let Some(each) = self.wide_variable() else {
            return self.int(2);
        };
        match self.random.below(9) {
            0 => format!("{each} * 70001 >> {}", self.random.below(40)),
            1 => format!("({each} << 20) + {}", self.int(1)),
            2 => format!("{each} / 3 + {each} % 7"),
            3 => format!("({each} ^ ({})) - {each}", self.int(1)),
            4 => format!("-{each}"),
            5 => format!("~{each} & {}", self.int(1)),
            6 => format!("{each} < {} ? {each} : 3", self.int(1)),
            7 => format!("{each} * {each}"),
            _ => each,
        }
    }

    fn wide_variable(&mut self) -> Option<String> {
        let all = self.wide.clone();
        (!all.is_empty()).then(|| self.random.pick(&all).name.clone())
    }

    fn wide_declaration(&mut self) {
        let ty = self.wide_type();
        let name = self.name();
        let value = match self.random.below(8) {
            0 => self.random.below(1000).to_string(),
            1 => format!("({}) & 1023", self.int(2)),
            2 => format!("lane * {}", 1 + self.random.below(9)),
            3 | 4 => self.int(1),
            5 => format!(
                "({ty})({}) * {}",
                self.int(1),
                1 + self.random.below(1 << 30)
            ),
            6 => format!("(lane & 7) * ({ty}){}", 1 + self.random.below(1 << 30)),
            _ => self.wide_value(),
        };
        let constant = self.random.percent(30);
        let word = if constant { "const " } else { "" };
        self.line(&format!("{word}{ty} {name} = {value};"));
        let fixed = constant || self.random.percent(50);
        self.wide.push(Wide { name, fixed });
    }

    /// A statement that reads or changes a 64-bit value.
    fn wide_statement(&mut self, depth: u32) {
        let open: Vec<Wide> = self
            .wide
            .iter()
            .filter(|each| !each.fixed)
            .cloned()
            .collect();
        let Some(each) = self.wide_variable() else {
            return self.wide_declaration();
        };
        let at = LAST + self.random.below(OUTPUTS - LAST);
        match self.random.below(12) {
            0 | 1 if !open.is_empty() => {
                let name = self.random.pick(&open).name.clone();
                let value = self.random.below(9);
                let line = match self.random.below(10) {
                    8 => format!("{name} &= {};", self.int(1)),
                    9 => format!("{name} ^= {};", self.wide_value()),
                    0 => format!("{name} += {value};"),
                    1 => format!("{name}++;"),
                    2 => format!("--{name};"),
                    3 => format!("{name} = {};", self.int(1)),
                    4 => format!("{name} >>= {value};"),
                    5 => format!("{name} *= {};", self.int(1)),
                    6 => format!("dst[i * {OUTPUTS} + {at}] += src[int({name}++ & 63)];"),
                    _ => format!("{name} = ({name} & {value}) + 1;"),
                };
                self.line(&line);
            }
            2 => {
                let index = self.random.below(8);
                self.line(&format!(
                    "dst[i * {OUTPUTS} + {at}] += src[{each} & {index}] + float({each});"
                ));
            }
            3 => {
                // The index is the variable itself.
                let name = self.name();
                let ty = self.wide_type();
                let value = self.int(1);
                self.line(&format!("{ty} {name} = ({value}) & 63;"));
                self.line(&format!("dst[i * {OUTPUTS} + {at}] += src[{name}];"));
                self.wide.push(Wide { name, fixed: true });
            }
            4 => {
                let value = self.wide_value();
                self.line(&format!("dst[i * {OUTPUTS} + {at}] += float({value});"));
            }
            5 if self.language == Language::Cuda => {
                // Its type is that of the expression.
                let name = self.name();
                self.line(&format!("auto {name} = {each};"));
                self.line(&format!(
                    "dst[i * {OUTPUTS} + {at}] += float({name} * 65537 + ({name} << 12));"
                ));
            }
            6 | 7 if depth < 2 && self.loops < 4 => {
                self.loops += 1;
                let ty = self.wide_type();
                let counter = format!("c{}", self.loops);
                let bound = match self.random.below(4) {
                    0 => "(m & 3)".to_owned(),
                    1 => "(lane & 3)".to_owned(),
                    2 => format!("({each} & 3)"),
                    _ => (1 + self.random.below(4)).to_string(),
                };
                let step = match self.random.below(4) {
                    0 => format!("{counter} += 2"),
                    1 => format!("++{counter}"),
                    2 => format!("{counter} += 1 + (lane & 1)"),
                    _ => format!("{counter}++"),
                };
                self.line(&format!(
                    "for ({ty} {counter} = 0; {counter} < {bound}; {step}) {{"
                ));
                self.wide.push(Wide {
                    name: counter,
                    fixed: true,
                });
                self.block(depth);
                self.wide.pop();
                self.line("}");
            }
            8 => {
                let less = *self.random.pick(&["<", ">=", "==", "!="]);
                let other = match self.random.below(4) {
                    0 => "lane".to_owned(),
                    1 => "-1".to_owned(),
                    2 => format!("{}", self.random.below(70)),
                    _ => self.wide_value(),
                };
                let value = self.float(1);
                self.line(&format!(
                    "if ({each} {less} {other} && !({each} > 100)) dst[i * {OUTPUTS} + {at}] += {value};"
                ));
            }
            9 => {
                self.line(&format!(
                    "dst[i * {OUTPUTS} + {at}] += {each} ? float(int({each})) : src[{at}];"
                ));
            }
            _ => self.wide_declaration(),
        }
    }

    fn load(&mut self) -> String {
        let index = match self.random.percent(40) {
            true => format!("{}", self.random.below(64)),
            false => format!("({}) & 63", self.int(1)),
        };
        match (self.language, self.random.below(5)) {
            (Language::Cuda, 0) => format!("__ldg(&src[{index}])"),
            (Language::Cuda, 1) => format!("table[{index}]"),
            (_, 2) => format!("other[{index}]"),
            _ => format!("src[{index}]"),
        }
    }

    fn float(&mut self, depth: u32) -> String {
        if depth == 0 || self.random.percent(25) {
            return match self.random.below(6) {
                0 => self.number("1.5"),
                1 => self.load(),
                _ => self.of(true),
            };
        }
        let d = depth - 1;
        match self.random.below(8) {
            0 | 1 => format!("({}) * ({})", self.float(d), self.float(d)),
            2 => format!("{} + {}", self.float(d), self.float(d)),
            3 => format!("{} - ({})", self.float(d), self.float(d)),
            4 => format!("TWICE({})", self.float(d)),
            5 => format!("helper({}, {})", self.float(d), self.float(d)),
            6 => format!(
                "({} ? {} : {})",
                self.condition(),
                self.float(d),
                self.float(d)
            ),
            _ => format!("float({})", self.int(d)),
        }
    }

    fn condition(&mut self) -> String {
        match self.random.below(4) {
            0 => format!("({} & 3) > {}", self.int(1), self.random.below(3)),
            1 => format!("lane > {}", self.random.below(60)),
            2 => {
                let half = self.number("0.5");
                format!("{} > {half}", self.of(true))
            }
            _ => format!("(m & {}) == 0", 1 + self.random.below(3)),
        }
    }

    fn value(&mut self, float: bool) -> String {
        match (float, self.random.below(4)) {
            (true, 0 | 1) => self.load(),
            (true, _) => self.float(2),
            (false, _) => self.int(2),
        }
    }

    fn declaration(&mut self) {
        let float = self.random.percent(55);
        let name = self.name();
        let value = self.value(float);
        let constant = if self.random.percent(30) {
            "const "
        } else {
            ""
        };
        let ty = match (float, self.language, self.random.below(4)) {
            (true, ..) => "float",
            (false, Language::Hlsl, 0) => "uint",
            (false, Language::Cuda, 0) => "unsigned",
            (false, Language::Cuda, 1) => "long long",
            (false, Language::Cuda, 2) => "auto",
            _ => "int",
        };
        if ty != "auto" && constant.is_empty() && self.random.percent(15) {
            // As older code declares.
            self.line(&format!("{ty} {name};"));
            self.line(&format!("{name} = {value};"));
            let fixed = self.random.percent(70);
            self.visible.push(Variable { name, float, fixed });
            return;
        }
        let mut text = format!("{constant}{ty} {name} = {value}");
        self.visible.push(Variable {
            name,
            float,
            fixed: !constant.is_empty(),
        });
        if ty != "auto" && constant.is_empty() && self.random.percent(15) {
            let second = self.name();
            let value = self.value(float);
            text += &format!(", {second} = {value}");
            self.visible.push(Variable {
                name: second,
                float,
                fixed: false,
            });
        }
        self.line(&format!("{text};"));
    }

    fn assignment(&mut self) {
        let open: Vec<Variable> = self
            .visible
            .iter()
            .filter(|each| !each.fixed)
            .cloned()
            .collect();
        if open.is_empty() {
            return self.declaration();
        }
        let each = self.random.pick(&open).clone();
        let value = self.value(each.float);
        let op = *self.random.pick(&["=", "+=", "-="]);
        self.line(&format!("{} {op} {value};", each.name));
    }

    fn store(&mut self) {
        let at = self.random.below(OUTPUTS);
        let value = self.float(2);
        let op = *self.random.pick(&["=", "+="]);
        self.line(&format!("dst[i * {OUTPUTS} + {at}] {op} {value};"));
    }

    /// Statements of an inner block; its declarations are forgotten.
    fn block(&mut self, depth: u32) {
        let visible = self.visible.len();
        let wide = self.wide.len();
        self.indent += 1;
        for _ in 0..1 + self.random.below(4) {
            self.statement(depth + 1);
        }
        // A name of outside again.
        if self.random.percent(12) {
            let float = self.random.percent(50);
            let name = self.of(float);
            let ty = if float { "float" } else { "int" };
            let value = self.random.below(5);
            self.line(&format!("{ty} {name} = {value};"));
            self.store();
        }
        self.indent -= 1;
        self.visible.truncate(visible);
        self.wide.truncate(wide);
    }

    fn statement(&mut self, depth: u32) {
        self.left = self.left.saturating_sub(1);
        if self.random.percent(8) {
            self.line("// A remark.");
        }
        match self.random.below(24) {
            20..=23 => self.wide_statement(depth),
            0..=5 => self.declaration(),
            6..=8 => self.assignment(),
            9..=11 => self.store(),
            12 | 13 if depth < 3 => {
                let condition = self.condition();
                self.line(&format!("if ({condition}) {{"));
                self.block(depth);
                if self.random.percent(40) {
                    self.line("} else {");
                    self.block(depth);
                }
                self.line("}");
            }
            14 | 15 if depth < 2 && self.loops < 3 => {
                self.loops += 1;
                let counter = format!("k{}", self.loops);
                let bound = match self.random.below(3) {
                    0 => "(m & 3)".to_owned(),
                    1 => "(lane & 3)".to_owned(),
                    _ => (1 + self.random.below(4)).to_string(),
                };
                self.line(&format!(
                    "for (int {counter} = 0; {counter} < {bound}; {counter}++) {{"
                ));
                self.visible.push(Variable {
                    name: counter,
                    float: false,
                    fixed: true,
                });
                self.block(depth);
                self.visible.pop();
                if self.random.percent(15) {
                    let condition = self.condition();
                    self.line(&format!("    if ({condition}) break;"));
                }
                self.line("}");
            }
            16 if self.random.percent(40) => {
                let condition = self.condition();
                let value = self.float(1);
                self.line(&format!("if ({condition}) dst[i * {OUTPUTS}] = {value};"));
            }
            17 if depth == 0 && self.random.percent(20) => {
                let condition = self.condition();
                self.line(&format!("if ({condition}) return;"));
            }
            18 if self.language == Language::Cuda && self.random.percent(40) => {
                let name = self.name();
                let base = self.int(1);
                self.line(&format!("const float* {name} = src + (({base}) & 31);"));
                let index = self.int(1);
                let at = self.random.below(OUTPUTS);
                self.line(&format!(
                    "dst[i * {OUTPUTS} + {at}] = {name}[({index}) & 31];"
                ));
            }
            19 if depth == 0 && self.random.percent(30) => {
                self.line("#ifdef OTHER");
                self.store();
                self.line("#endif");
            }
            _ => self.store(),
        }
    }
}
