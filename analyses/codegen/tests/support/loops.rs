//! The loops of `fixtures/c/loops`: one function a file, with data made for a number of elements.
//!
//! `//@ exits: 2` (early ones), `//@ step: 2` (elements a round), and data by parameter, where it is not
//! small random numbers: `//@ data: s = text` (not 0 up to element n, which is), `below 64`, `like a` (the same as of that
//! parameter, with a difference in the middle in the second variant), `rising`, `chain` (each its successor, the last
//! negative), a number, `77 or 7` (the second variant has the other number). A scalar called `n` is the number.

use super::judge::{module_of, simulated};
use ir::{Module, Type};
use lockstep_codegen::target::ia64::contract::contracted;
use oracle::random::c::{Argument, Buffer, Kernel, Parameter, Scalar};
use simulate::ia64::{Limits, Timing};

pub(crate) struct Loop {
    pub(crate) name: String,
    pub(crate) exits: u32,
    pub(crate) step: u64,
    pub(crate) text: String,
    /// Products and sums are one operation, as in the code that is shown.
    pub(crate) module: Module,
    data: Vec<(String, String)>,
}

impl Loop {
    /// One loop, that nothing encloses: its cycles grow by one interval a round.
    pub(crate) fn is_single(&self) -> bool {
        self.module.functions[0].loops.len() == 1
    }
}

/// All of them, by file.
pub(crate) fn loops() -> Vec<Loop> {
    let paths = fixtures::files("c/loops", &["c"]);
    assert!(paths.len() >= 60, "{}", paths.len());
    paths
        .iter()
        .map(|path| {
            let fixture = fixtures::load(path).expect("a fixture");
            let name = path.file_stem().and_then(|name| name.to_str());
            let name = name.expect("a name").to_owned();
            let function = name_of(&fixture.text);
            let data = fixture.all("data").map(|it| {
                let (name, what) = it.split_once('=').expect("name = data");
                (name.trim().to_owned(), what.trim().to_owned())
            });
            Loop {
                exits: number(fixture.directive("exits")).unwrap_or(0) as u32,
                step: number(fixture.directive("step")).unwrap_or(1),
                data: data.collect(),
                module: contracted(&module_of(&fixture.text, &function)),
                text: fixture.text,
                name,
            }
        })
        .collect()
}

fn number(text: Option<&str>) -> Option<u64> {
    text?.parse().ok()
}

/// The last function of a text: the word in front of the parameters that stand at the start of a line.
fn name_of(text: &str) -> String {
    let mut heads = text.lines().filter(|line| {
        line.ends_with('{') && line.contains('(') && !line.starts_with([' ', '/', '}'])
    });
    let head = heads.next_back().expect("a function");
    let before = head.split('(').next().expect("a name");
    let word = before.rsplit([' ', '*']).next();
    word.expect("a name").to_owned()
}

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

fn element(text: &str) -> Scalar {
    let words: Vec<&str> = text.split([' ', '*', '(', '[']).collect();
    let has = |word: &str| words.contains(&word);
    match () {
        () if has("double") || has("plane") || has("row") => Scalar::Double,
        () if has("float") || has("struct") => Scalar::Float,
        () if has("char") => Scalar::UnsignedChar,
        () if has("short") => Scalar::Short,
        () if has("long") => Scalar::Long,
        () => Scalar::Int,
    }
}

impl Loop {
    /// Cycles of the function's code on data of `n` elements.
    pub(crate) fn cycles(&self, machine: &str, text: &str, n: u64) -> u64 {
        let kernel = self.kernel(n, 0);
        let limits = Limits {
            timing: Timing::named(machine),
            ..Limits::default()
        };
        let left = simulated(&kernel, &kernel.name, text, &limits);
        let (outcome, _) = left.unwrap_or_else(|why| panic!("{}: {why}\n{text}", self.name));
        outcome.cycles.expect("cycles")
    }
    /// The function with arguments for `n` elements.
    pub(crate) fn kernel(&self, n: u64, variant: u64) -> Kernel {
        let function = &self.module.functions[0];
        let mut numbers = Numbers(n ^ variant << 32);
        let mut kernel = Kernel {
            seed: 0,
            text: self.text.clone(),
            name: function.name.clone(),
            returns: function.returns.first().map(|ty| match ty {
                Type::F32 => Scalar::Float,
                Type::F64 => Scalar::Double,
                Type::I64 => Scalar::Long,
                _ => Scalar::Int,
            }),
            parameters: Vec::new(),
            buffers: Vec::new(),
        };
        for parameter in &function.parameters {
            let ty = element(&parameter.type_text);
            let own = self.data.iter().find(|(name, _)| *name == parameter.name);
            let own = own.map_or("", |(_, what)| what.as_str());
            let pointer = parameter.type_text.contains(['*', '[']);
            let argument = if pointer {
                let bytes = self.elements(&kernel, own, ty, parameter, &mut numbers, (n, variant));
                kernel.buffers.push(Buffer { element: ty, bytes });
                Argument::Pointer {
                    buffer: kernel.buffers.len() - 1,
                    offset: 0,
                }
            } else {
                let choices: Vec<&str> = own.split(" or ").collect();
                let chosen = choices[variant as usize % choices.len()];
                let bits = match ty {
                    Scalar::Double => chosen.parse().unwrap_or(0.5f64).to_bits(),
                    Scalar::Float => u64::from(chosen.parse().unwrap_or(0.5f32).to_bits()),
                    _ if parameter.name == "n" => n,
                    _ => chosen.parse::<i64>().unwrap_or(3) as u64,
                };
                Argument::Scalar { ty, bits }
            };
            kernel.parameters.push(Parameter {
                name: parameter.name.clone(),
                type_text: parameter.type_text.to_string(),
                argument,
            });
        }
        kernel
    }

    fn elements(
        &self,
        kernel: &Kernel,
        own: &str,
        ty: Scalar,
        parameter: &ir::ParameterInfo,
        numbers: &mut Numbers,
        (n, variant): (u64, u64),
    ) -> Vec<u8> {
        if let Some(other) = own.strip_prefix("like ") {
            let other = kernel
                .parameters
                .iter()
                .find(|parameter| parameter.name == other);
            let Some(Argument::Pointer { buffer, .. }) = other.map(|it| it.argument) else {
                panic!("{}: like what?", self.name);
            };
            let mut bytes = kernel.buffers[buffer].bytes.clone();
            if variant == 1 && n > 0 {
                bytes[ty.bytes() * (n / 2) as usize] ^= 3;
            }
            return bytes;
        }
        let text = &parameter.type_text;
        let rows = text.contains(['(', '[']) || text.contains("plane") || text.contains("row");
        let count = match rows {
            true => 16 * n + 12_288,
            false => 4 * n + 1536,
        };
        let below = own.strip_prefix("below ");
        let below = below.and_then(|end| end.parse().ok());
        let mut out = Vec::with_capacity(ty.bytes() * count as usize);
        for at in 0..count {
            let mut value = match (own, below) {
                (_, Some(end)) => numbers.below(end),
                ("text", _) if at == n => 0,
                ("text", _) => 1 + numbers.below(12),
                ("rising", _) if variant == 1 && at == n / 2 => 0,
                ("rising", _) => at,
                ("chain", _) if at + 1 >= n => u64::MAX,
                ("chain", _) => at + 1,
                _ => numbers.below(13),
            };
            if ty.is_float() {
                // A few bits, so that sums stay what they are for a while, and none of them 0.
                let sign = [-0.125, 0.125][numbers.below(2) as usize];
                let real = (value as f64 + 1.0) * sign;
                value = match ty {
                    Scalar::Double => real.to_bits(),
                    _ => u64::from((real as f32).to_bits()),
                };
            }
            out.extend_from_slice(&value.to_le_bytes()[..ty.bytes()]);
        }
        out
    }
}
