//! Random functions that multiply loads by values which are often zero, or combine the two in other ways so that zero decides:
//! conjunctions, selections, comparisons, shifts, quotients. Both are also used where they do matter, are assigned again, go around
//! loops, and are stored in between.
//!
//! The functions are made of templates, in which `$` and a character stand for something random: see `Generator::part`. Buffers
//! hold numbers from 0 to 4, variables those from 0 to 63, and products are below 16 millions, so that no sum is out of range.

use super::generate::OUTPUTS;
use ir::Language;
use oracle::random::Random;
use std::collections::BTreeMap;
use std::str::Chars;

/// Loads that contain no others.
const PLAIN: &str = "src[(t * 7 + $j) & 255] @ src[(t + $v * 3 + $j) & 255] @ dst[t * 16 + $s] @ src[(t * 5 + $j) & 255]";

const LOADS: &str = "src[(t * 7 + $j) & 255] @ src[(t + $v * 3 + $j) & 255] @ src[(t * 3 + $j) & 255]
@ src[(t * 7 + $j) & 255] @ src[(t * 9 + $j) & 255] @ src[(t + $v * 7 + $j) & 255] @ src[(t + $j) & 255]
@ src[($v * 5 + t) & 255] @ src[((t + $v) & 255) + 512] @ dst[t * 16 + $s] @ dst[t * 16 + ($v & 7)] @ fetch($f$v * 9 + $j)
@ src[$l & 255] @ src[($l * 7 + t) & 255] @ src[($l * $v + $j) & 255] @ src[($w * $l + t) & 255] @ src[$x & 255]
@ src[(src[($x + t) & 255] * 9) & 255]";

/// Values of `$1` and `$2` of which the second does not matter where the first is zero, and some where it nearly does not.
const PRODUCTS: &str = "$1 * $2 @ $1 * $2 @ $1 * $2 @ $2 * $1 @ $1 & $2 @ $2 & $1
@ $1 != 0 ? $2 : 0 @ $1 == 0 ? $n : $2 @ $1 ? $2 : $l @ $1 ? ($2 ? $l : $n) : 0 @ $1 == 0 ? 0 : $2 + $n
@ (-$1) * $2 @ ($1 << 2) * $2 @ ($1 * $n) & $2 @ (($1 * $n) & 6) * $2 @ $1 << ($2 & 3) @ -($1 & 1) & $2
@ (int)$m(($u)$1, ($u)$2) @ (int)$m(($u)$2, ($u)$1 * 3u) @ ($u)$2 < ($u)$1 ? 1 : 0 @ ($u)$2 <= ($u)$1 ? 1 : 0
@ $1 && $2 > 1 ? 1 : 0 @ ($2 & $1) == 0 ? 1 : 0 @ $1 == 0 || $2 > 3 ? 1 : 0 @ $2 | ($1 == 0 ? -1 : 0)
@ weighed($1, $2) @ chosen($1, $2) @ helper($1 * $2, $1) @ PRODUCT($1, $2 + 1)
@ $1 * $2 * $l @ $1 * ($2 * $l) @ $l * ($1 & $2) @ $1 * ($2 - $l) @ $1 * $2 + ($1 & $l) @ $1 * $2 + $2
@ $1 / (($2 & 3) + 1) @ ($2 & 63) % (($1 & 7) + 1) @ (int)((float)$1 * (float)$2) @ (int)(($u)$1 * 64u & 255u) * $2
@ $2 * 0 + $1 @ ($1 - $1) * $2 @ ($1 != 0 ? 1 : 0) * $2 @ $1 * ($2 == 0 ? 5 : $2)";

/// More of one language, one of them of the sign that a zero has.
const C_PRODUCTS: &str = "(int)(unsigned char)($1 * 64) * $2 @ (int)((long long)$1 * $2) @ $1 * (short)$2 @ ($1 != 0) * $2";
const CUDA_PRODUCTS: &str = "(int)(signed char)($1 * 32) * $2 @ __float_as_int((float)$1 * (float)(-$2)) >> 24 @ ($1 != 0) & $2";
const HLSL_PRODUCTS: &str = "asint((float)$1 * (float)(-$2)) >> 24 @ (int)((uint)$1 * (uint)$2)";

const CONDITIONS: &str =
    "$w != 0 @ $w @ $w * $l > $n @ ($l & $w) == 0 @ $w == 0 || $l > 2 @ $w && $l > 1 @ $l > 1
@ !($w && $l) @ $w < $l @ $w * $l == 0 @ ($v & 1) != 0 @ $x > $n";

const SIMPLE: &str = "$D1 = $l; @ $D1 = $l; @ $D1 = $y & 7; @ $a = $l; @ $a = $y & 7; @ $a = $c ? $l : ($v & 7);
@ r += $y; @ r = r * 3u + ($u)$y; @ r ^= ($u)$x; @ $+ $w * $l; @ if ($c)\n    $+ $w * $l; @ if ($c)\n    $a = $l;
@ $q = $y & 3; @ $q = $l; @ $o ^= $y; @ $o = $y; @ $o = $l * 0; @ dst[t * 16 + 8 + ($v & 3)] ^= $y;";

/// Statements that belong together, without a loop.
const PATTERNS: &str = "if ($c) {\n    $b\n} @ if ($c) {\n    $b\n} else {\n    $b\n}
@ $D1 = $w;\n$D2 = $l;\n$+ $*12;
@ $D1 = $l;\n$D2 = $w;\n$b\n$+ $*21;
@ $D1 = $l;\n$D2 = $w;\n$+ $*21;\n$o ^= $r1;
@ $D1 = $w;\n$D2 = $l;\nif ($c)\n    $1 = $l;\n$+ $*12;
@ $D1 = $w;\n$D2 = $l;\nif ($c)\n    $2 = $l;\n$+ $*12;
@ $D1 = $w;\n$D2 = $l;\nint $3 = $r1;\n$1 = $l;\n$+ $*32;\n$+ $*12;
@ $D1 = $w;\n$D2 = $l;\nint $3 = $*12 & 7;\n$1 = $l;\n$+ $*13;\n$o = $r2;
@ $D1 = $w;\n$q = $w & 7;\n$D2 = $q;\n$+ $*12;
@ $D1 = $q;\n$q = $l;\n$D2 = $w;\n$+ $*21;\n$+ $q;
@ $D1 = $w;\n$D2 = $q;\nif ($c)\n    $q = $l;\n$+ $*12;\n$+ $r1 * $q;
@ $D1 = $l;\n$D2 = $w;\n$D3 = $w;\n$+ $*21;\n$+ $*31;
@ $D1 = $l;\n$D2 = $l;\n$D3 = $*12 & 7;\n$D4 = $l;\n$+ $*34;\n$o ^= $r3;
@ $D1 = $l;\n$D2 = $w;\n$+ $*21;\nif ($r1 > $n) {\n    $b\n}
@ $D1 = $l;\n$D2 = $w;\n$+ $*21;\n$D3 = src[($r1 * 5 + t) & 255];\n$+ $*23;
@ $D1 = $l;\n$D2 = src[($r1 * 11 + t) & 255];\n$D3 = $w;\n$+ $*32;\n$+ $*12;
@ $D1 = $l;\nif ($c) {\n    $D2 = $w;\n    $+ $*21;\n    $b\n}
@ $D1 = $w;\n$D2 = $l;\nif ($c) {\n    $+ $*12;\n} else {\n    $+ $r2;\n}
@ $D1 = $w;\n$D2 = 0;\nif ($r1 != 0)\n    $2 = $l;\n$+ $*12;
@ $D1 = $w;\nif ($r1 == 0) {\n    $b\n    $e\n}\n$+ $r1 * $l;
@ $D1 = $w;\n$D2 = $l;\nint $3 = $r1 ? $r2 : $n;\n$a = $3 & 7;\n$+ $*13;
@ int $1 = $x & 255;\n$D2 = src[$1];\n$D3 = $w;\n$+ $r3 * src[$1];\n$+ $*32;
@ int $1 = $x & 255;\n$D2 = src[$1];\n$D3 = src[($1 + $n) & 255];\n$+ $*23;\n$+ $*32;\n$a = $r3;
@ $pPair $1;\n$1.x = $l;\n$1.y = $l;\nif ($c)\n    $1.x = $l;\n$+ $1.x * $1.y;\n$o ^= $1.y;
@ int $1[2];\n$1[0] = $l;\n$1[1] = $l;\n$1[$v & 1] = $l;\n$+ $1[0] * $1[1];
@ int $1 = $l;\nint $2 = $l;\nsplit($l * 8 + $l, $A1, $A2);\n$+ $*12;\n$+ $1 * $l;
@ int $1 = -(int)($l != 0);\nint $2 = $l;\n$+ (($1 | $2) & 15);\n$+ (($l | $1 | $2) & 7);
@ int $1 = ~($l & 3);\nint $2 = $l;\n$+ (($2 | $1 | (int)3) & 15);\n$+ ((($1 | 3) | $l) & 7);\n$o ^= $2 & 7;
@ switch ($v & 3) {\ncase 0:\n    $+ $l;\n    break;\ncase 1:\n    $+ $w * $l;\n    break;\ndefault:\n    $a = $l;\n    break;\n}";

/// Another lane reads what is loaded.
const EXCHANGE: &str =
    "$D1 = $l;\n$D2 = __shfl_xor_sync(0xffffffffu, $r1, 1);\n$D3 = $w;\n$+ $*31;\n$+ $*23;";

/// What stands in front of a loop, in it and behind it; `$9` counts.
const LOOPS: &str = "# $b # @ # $b\nif ($c)\n    $e\n$b # @ # $D1 = $w;\n$D2 = $l;\n$+ $*12; #
@ # $D1 = $l;\n$q = $x & 7;\n$D2 = $q;\n$+ $*12; # $+ $q;
@ # $D1 = $w;\n$D2 = $l;\n$b\n$+ $*12;\nif ($c) {\n    $+ $r2;\n    $e\n} #
@ # $b\n$D1 = $l;\nif ($c)\n    $e\n$+ $w * $r1; #
@ $D1 = $l; # $D2 = $l;\n$+ $*12;\n$1 = $r2; # $o ^= $r1;
@ $D1 = $l; # $D2 = $l;\n$+ $*21;\nif ($c)\n    $e\n$1 = $r2; # $+ $r1 * $l;
@ $D1 = $l; # $D2 = $w;\n$1 = $l;\n$+ $*21;\nif ($c)\n    $e # $+ $w * $r1;
@ $D1 = 0; # $D2 = $l;\n$1 = $r1 | $r2;\n$b # $+ $r1 * $l;
@ $D1 = $w; # $D2 = $l;\n$+ $*12;\nif ($c)\n    $1 = $l; #
@ $D1 = $l; # $+ $w * $r1;\n$b #
@ $D1 = $w; # $D2 = $l;\nif ($r1 == 0)\n    $e\n$+ $*12;\n$1 = $l; # $o ^= $r1;
@ $D1 = $w;\n$D2 = $l; # $D3 = $r1;\n$1 = $l;\n$+ $*32;\n$2 = $l; # $+ $*12;
@ $D1 = 1; # $D2 = $l;\n$1 = $*12 & 3;\n$o ^= $r1; # $+ $r1;
@ $D1 = $l; # $1 = src[($r1 * 13 + $9) & 255];\n$+ $w * $r1; # $+ $r1;
@ $D1 = $l;\n$D2 = 0; # $+ $*21;\n$2 = $r1;\n$1 = $l;\n$b # $+ $*12;";

const HEADS: &str =
    "for ($K9 = 0; $9 < $n && $9 < 4; ++$9) { # } @ for ($K9 = 0; $9 < 3; ++$9) { # }
@ for ($K9 = 0; $9 < 4 && ($c); ++$9) { # } @ $K9 = 0;\nwhile ($9++ < 4) { # }
@ $K9 = 0;\ndo { # } while (++$9 < 3); @ $K9 = 0;\ndo { # } while (++$9 < 5 && ($c));";

/// Functions that the kernel calls, behind `%`, which says where they run.
const HELPERS: &str = "%int helper(int x, int y) { return x * 3 - y; }
%int weighed(int w, int x) { return w * x; }
%int chosen(int w, int x) { if (w == 0) return 0; return x; }";

const C_HEAD: &str = "%unsigned least(unsigned x, unsigned y) { return x < y ? x : y; }
%int fetch(const int *p, int at) { return p[at & 255]; }
%void split(int x, int *low, int *high) { *low = x & 7; *high = (*high + x) & 7; }
void kernel(int *dst, const int *src, int t)
{";

const HLSL_HEAD: &str = "StructuredBuffer<int> src : register(t0);
RWStructuredBuffer<int> dst : register(u0);
int fetch(int at) { return src[at & 255]; }
void split(int x, out int low, out int high) { low = x & 7; high = x >> 3; }
[numthreads(64, 1, 1)]
void kernel(uint inside : SV_GroupIndex)
{
    int t = int(inside);";

const CUDA_HEAD: &str = "%int fetch(const int* p, int at) { return p[at & 255]; }
%void split(int x, int& low, int& high) { low = x & 7; high = x >> 3; }
__global__ void __launch_bounds__(64) kernel(int* dst, const int* src)
{
    int t = threadIdx.x;";

/// A number that may be read.
struct Variable {
    name: String,
    read: String,
    assigned: bool,
}

/// What the digits of a template stand for, written and read, and the variables that are seen from the next line on.
struct Names {
    texts: BTreeMap<char, [String; 2]>,
    declared: Vec<Variable>,
    place: u32,
}

struct Generator {
    random: Random,
    language: Language,
    variables: Vec<Variable>,
    fresh: u32,
    /// Expressions, braces and loops around what is written.
    depth: u32,
    nested: u32,
    loops: u32,
    left: u32,
    /// Lanes may leave the function early; else those of a warp meet at its top level.
    ends: bool,
}

/// A function named `kernel`, of 64 lanes or of one, over buffers of numbers from 0 to 4.
pub(crate) fn kernel(seed: u64, language: Language) -> String {
    let mut random = Random::new(seed ^ 0x2e05);
    let (left, ends) = (5 + random.below(9), random.percent(30));
    let known = |name: &str, read: &str| Variable {
        name: name.to_owned(),
        read: read.to_owned(),
        assigned: false,
    };
    let mut g = Generator {
        random,
        language,
        variables: vec![known("t", "(t & 7)")],
        fresh: 0,
        depth: 9,
        nested: 0,
        loops: 0,
        left,
        ends,
    };
    let mut body = g.fill("$D1 = $l;\n$D2 = $l;\nint s = 0;\n$u r = 0;", &[]);
    g.depth = 0;
    g.variables.push(known("s", "(s & 7)"));
    while g.left > 0 {
        body.push('\n');
        body.push_str(&g.statement());
    }
    let mut results = vec!["s".to_owned(), "(int)r".to_owned()];
    for group in 0..2 {
        let read = g.variables.iter().skip(group).step_by(2);
        let word = g.unsigned();
        let hash = read.fold("1u".to_owned(), |hash, variable| {
            format!("({hash} * 31u + ({word}){})", variable.read)
        });
        results.push(format!("(int){hash}"));
    }
    for (at, result) in results.iter().enumerate() {
        body.push_str(&format!("\ndst[t * {OUTPUTS} + {}] = {result};", 12 + at));
    }
    let (head, word) = match language {
        Language::C => (C_HEAD, "static "),
        Language::Hlsl => (HLSL_HEAD, ""),
        _ if left.is_multiple_of(4) => (CUDA_HEAD, "__device__ __noinline__ "),
        _ => (CUDA_HEAD, "__device__ "),
    };
    let head = format!("{HELPERS}\n{head}").replace('%', word);
    let pair = "#define PRODUCT(w, x) ((w) * (x))\nstruct Pair { int x; int y; };";
    let body = body.replace('\n', "\n    ");
    format!("{pair}\n{head}\n    {body}\n}}\n")
}

impl Generator {
    fn unsigned(&self) -> &'static str {
        match self.language {
            Language::Hlsl => "uint",
            _ => "unsigned",
        }
    }

    fn some<'a>(&mut self, templates: &'a str) -> &'a str {
        let all: Vec<&'a str> = templates.split('@').map(str::trim).collect();
        all[self.random.below(all.len() as u32) as usize]
    }

    fn expression(&mut self, templates: &str, operands: &[String]) -> String {
        let template = self.some(templates);
        self.depth += 1;
        let text = self.fill(template, operands);
        self.depth -= 1;
        text
    }

    fn statement(&mut self) -> String {
        self.left = self.left.saturating_sub(1);
        let more = self.left > 0 && self.nested < 4;
        let together = self.nested == 0 && !self.ends && self.language == Language::Cuda;
        if more && self.loops < 2 && self.random.percent(30) {
            let (parts, head) = (self.some(LOOPS), self.some(HEADS));
            let parts: Vec<&str> = parts.split('#').map(str::trim).collect();
            let (open, close) = head.split_once(" # ").expect("an end");
            let inner = parts[1].replace('\n', "\n    ");
            let text = format!("{}\n{open}\n    {inner}\n{close}\n{}", parts[0], parts[2]);
            return self.fill(text.trim(), &[]);
        }
        let template = match more && self.random.percent(65) {
            true if together && self.random.percent(15) => EXCHANGE,
            true => self.some(PATTERNS),
            false => self.some(SIMPLE),
        };
        self.fill(template, &[])
    }

    /// The text of a template with operands `$1`, `$2`.
    fn fill(&mut self, template: &str, operands: &[String]) -> String {
        let operands = operands.iter().map(|it| [it.clone(), it.clone()]);
        let mut names = Names {
            texts: ('1'..='9').zip(operands).collect(),
            declared: Vec::new(),
            place: self.random.below(8),
        };
        let (mut out, mut scopes) = (String::new(), Vec::new());
        let mut rest = template.chars();
        while let Some(c) = rest.next() {
            let line = out.rsplit('\n').next().unwrap_or_default();
            let word = line.trim_start();
            match c {
                '$' => {
                    let next = format!("\n{}", &line[..line.len() - word.len()]);
                    let part = self.part(&mut rest, &mut names);
                    out.push_str(&part.replace('\n', &next));
                    continue;
                }
                '{' => {
                    let again = ["for", "while", "do"].iter().any(|it| word.starts_with(it));
                    scopes.push((self.variables.len(), again));
                    self.nested += 1;
                    self.loops += u32::from(again);
                }
                '}' => {
                    let (seen, again) = scopes.pop().expect("a scope");
                    self.variables.truncate(seen);
                    self.nested -= 1;
                    self.loops -= u32::from(again);
                }
                '\n' => self.variables.append(&mut names.declared),
                _ => {}
            }
            out.push(c);
        }
        self.variables.append(&mut names.declared);
        out
    }

    /// The text for what follows a `$`.
    fn part(&mut self, rest: &mut Chars<'_>, names: &mut Names) -> String {
        let key = rest.next().expect("a key");
        let c = self.language == Language::C;
        match key {
            '1'..='9' => self.name(key, names)[0].clone(),
            'r' => self.name(rest.next().expect("a digit"), names)[1].clone(),
            'A' if c => format!("&{}", self.name(rest.next().expect("a digit"), names)[0]),
            'A' => self.name(rest.next().expect("a digit"), names)[0].clone(),
            'D' | 'K' => self.declaration(key == 'D', rest.next().expect("a digit"), names),
            // The product of two variables, of two values.
            '*' => {
                let mut operand = || self.name(rest.next().expect("a digit"), names)[1].clone();
                let operands = [operand(), operand()];
                self.product(operands)
            }
            'y' => {
                let operands = ["$w", "$x"].map(|operand| self.fill(operand, &[]));
                self.product(operands)
            }
            // A load; what is often zero; any value; a variable, one that may be assigned; a condition.
            'l' if self.depth > 1 => self.expression(PLAIN, &[]),
            'l' => self.expression(LOADS, &[]),
            'w' => match self.random.below(10) {
                0 if self.depth < 2 => self.fill("($l * $l)", &[]),
                1 if self.depth < 2 => self.fill("($l & $l)", &[]),
                2..=5 => self.fill("$v", &[]),
                _ => self.fill("$l", &[]),
            },
            'x' if self.depth < 2 && self.random.percent(25) => {
                let operands = ["$w", "$l"].map(|operand| self.fill(operand, &[]));
                self.product(operands)
            }
            'x' => self.fill("$w", &[]),
            'v' => self.random.pick(&self.variables).read.clone(),
            'a' => {
                let all = self.variables.iter().filter(|it| it.assigned);
                let all: Vec<&Variable> = all.collect();
                self.random.pick(&all).name.clone()
            }
            'c' => self.expression(CONDITIONS, &[]),
            // Statements; one that leaves; one that adds; a place, and another that is only written.
            'b' => {
                let count = 1 + self.random.below(3);
                let lines: Vec<String> = (0..count).map(|_| self.statement()).collect();
                lines.join("\n")
            }
            'e' if self.loops > 0 && self.ends => self.some("break; @ continue; @ return;").into(),
            'e' if self.loops > 0 => self.some("break; @ continue;").into(),
            'e' if self.ends => "return;".into(),
            'e' => "s += 1;".into(),
            '+' => self.some("s += @ s += @ s -= @ r += @ r ^=").into(),
            'q' => format!("dst[t * {OUTPUTS} + {}]", names.place),
            'o' => format!("dst[t * {OUTPUTS} + {}]", 8 + self.random.below(4)),
            // Numbers and words.
            's' => self.random.below(8).to_string(),
            'n' => (1 + self.random.below(7)).to_string(),
            'j' => self.random.below(60).to_string(),
            'm' => if c { "least" } else { "min" }.into(),
            'p' => if c { "struct " } else { "" }.into(),
            'f' if self.language == Language::Hlsl => String::new(),
            'f' => "src, ".into(),
            _ => self.unsigned().into(),
        }
    }

    fn product(&mut self, operands: [String; 2]) -> String {
        let more = match self.language {
            Language::C => C_PRODUCTS,
            Language::Hlsl => HLSL_PRODUCTS,
            _ => CUDA_PRODUCTS,
        };
        let templates = match self.random.percent(8) {
            true => more,
            false => PRODUCTS,
        };
        format!("({})", self.expression(templates, &operands))
    }

    fn name<'a>(&mut self, key: char, names: &'a mut Names) -> &'a [String; 2] {
        names.texts.entry(key).or_insert_with(|| {
            self.fresh += 1;
            let name = format!("v{}", self.fresh);
            [name.clone(), name]
        })
    }

    /// A number that may be assigned, or that counts.
    fn declaration(&mut self, assigned: bool, key: char, names: &mut Names) -> String {
        let types = match self.language {
            _ if !assigned || self.random.percent(60) => "int",
            Language::C => "unsigned @ unsigned char @ short @ _Bool @ long long",
            Language::Hlsl => "uint @ bool",
            _ => "unsigned @ unsigned char @ signed char @ bool @ long long",
        };
        let ty = self.some(types);
        let name = self.name(key, names)[0].clone();
        let read = match ty {
            "bool" | "_Bool" => format!("({name} ? 1 : 0)"),
            "uint" | "unsigned" | "long long" => format!("((int){name})"),
            _ => name.clone(),
        };
        names.texts.insert(key, [name.clone(), read.clone()]);
        names.declared.push(Variable {
            name: name.clone(),
            read,
            assigned,
        });
        format!("{ty} {name}")
    }
}
