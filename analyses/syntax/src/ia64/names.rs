//! The meaning of a name at a place: registers under their own names and those of the conventions, the
//! frame's `in0`, `loc0`, `out0`, rotating arrays of `.rotr`, `.rotf` and `.rotp`, symbols that are equal to
//! a register or a number.
//!
//! ```text
//! alloc r35 = ar.pfs, 2, 6, 0, 8      in0 is r32, loc0 is r34
//! .rotr val[5], buf[2]                val[0] is r32, buf[1] is r38
//! ```
//!
//! Names change as statements go by: `see` takes a statement in, the questions are about the place behind it.
//! Definitions of the C preprocessor count when their text is a register, a number or another name.
//!
//! Source: the manual of GNU `as`, *IA-64 Dependent Features*; Intel, *Itanium Software Conventions and Runtime
//! Architecture Guide*, chapter 2.

use super::{Argument, Expr, Operand, OperandKind, Statement, StatementKind};
pub use isa::ia64::Meaning;
use isa::ia64::register::{APPLICATION, CONTROL, File, Reg};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

/// Names that stand for names that stand for names.
const CHAIN: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Frame {
    inputs: i64,
    locals: i64,
    outputs: i64,
}

/// Stacked registers that there are at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Stacked {
    #[default]
    Unknown,
    /// The registers that the caller passes: no more than eight.
    Passed,
    /// The frame of an `alloc`.
    Own(u32),
}

/// The names in force.
#[derive(Clone, Debug, Default)]
pub struct Names {
    frame: Frame,
    /// Registers that rotate, from `r32`.
    rotating: i64,
    stacked: Stacked,
    arrays: FxHashMap<SmolStr, (Reg, i64)>,
    equal: FxHashMap<SmolStr, Expr>,
}

impl Names {
    /// General registers that rotate, from `r32`: their number, from the last `alloc` or `.regstk`.
    #[must_use]
    pub fn rotating(&self) -> u32 {
        u32::try_from(self.rotating).unwrap_or(0)
    }

    /// Returns how many registers there are from `r32` on.
    #[must_use]
    pub const fn stacked(&self) -> Stacked {
        self.stacked
    }

    /// Takes a statement in. `text` is the file's, for lines of the preprocessor.
    pub fn see(&mut self, statement: &Statement, text: &str) {
        match &statement.kind {
            StatementKind::Assign { name, value } => {
                self.define(name, value.clone());
            }
            StatementKind::Preprocessor => {
                let span = statement.span;
                let line = text.get(span.start as usize..span.end as usize);
                self.preprocessor(line.unwrap_or(""));
            }
            StatementKind::Directive(directive) => match &*directive.name {
                ".regstk" => {
                    let sizes: Vec<Option<i64>> = directive
                        .arguments
                        .iter()
                        .map(|argument| match argument {
                            Argument::Expr(value) => self.number(value),
                            _ => None,
                        })
                        .collect();
                    self.set_frame(&sizes);
                    // It renames only: what was allocated is not told.
                    self.stacked = Stacked::Unknown;
                }
                ".proc" => {
                    // The frame of another function is none of this one's.
                    self.frame = Frame::default();
                    self.rotating = 0;
                    self.stacked = Stacked::Passed;
                }
                ".endp" => self.stacked = Stacked::Unknown,
                ".rotr" => self.arrays(&directive.arguments, Reg::general(32)),
                ".rotf" => self.arrays(&directive.arguments, Reg::float(32)),
                ".rotp" => self.arrays(&directive.arguments, Reg::predicate(16)),
                ".set" | ".equ" => {
                    if let [Argument::Expr(Expr::Name(name)), Argument::Expr(value)] =
                        &directive.arguments[..]
                    {
                        self.define(name, value.clone());
                    }
                }
                _ => {}
            },
            // It begins a frame of nothing, or returns to a caller's.
            StatementKind::Instruction(instruction)
                if matches!(instruction.base(), "cover" | "rfi") =>
            {
                self.stacked = Stacked::Unknown;
            }
            StatementKind::Instruction(instruction) if instruction.base() == "alloc" => {
                // The first source is ar.pfs, which may be left out.
                let sizes: Vec<Option<i64>> = instruction
                    .sources
                    .iter()
                    .map(|operand| match &operand.kind {
                        OperandKind::Value(value) => Some(self.number(value)),
                        OperandKind::Memory(_) => None,
                    })
                    .skip_while(|size| !matches!(size, Some(Some(_))))
                    .map(Option::flatten)
                    .collect();
                self.set_frame(&sizes);
            }
            _ => {}
        }
    }

    fn define(&mut self, name: &SmolStr, value: Expr) {
        self.equal.insert(name.clone(), value);
    }

    /// Sizes of the inputs, the locals, the outputs and the rotating registers.
    fn set_frame(&mut self, sizes: &[Option<i64>]) {
        let at = |index: usize| {
            let size = sizes.get(index).copied().flatten().unwrap_or(0);
            size.clamp(0, 96)
        };
        self.frame = Frame {
            inputs: at(0),
            locals: at(1),
            outputs: at(2),
        };
        self.rotating = at(3);
        let known: Option<Vec<i64>> = sizes.iter().take(3).copied().collect();
        self.stacked = match known {
            Some(sizes) if sizes.len() == 3 => {
                Stacked::Own(sizes.iter().sum::<i64>().clamp(0, 96) as u32)
            }
            _ => Stacked::Unknown,
        };
    }

    fn arrays(&mut self, arguments: &[Argument], first: Reg) {
        self.arrays
            .retain(|_, (register, _)| register.file != first.file);
        let mut next = i64::from(first.number);
        for argument in arguments {
            let Argument::Expr(Expr::Index { name, index }) = argument else {
                continue;
            };
            let size = self.number(index).unwrap_or(0);
            if let Ok(number) = u8::try_from(next) {
                let register = Reg {
                    file: first.file,
                    number,
                };
                self.arrays.insert(name.clone(), (register, size));
            }
            next = next.saturating_add(size.max(0));
        }
    }

    fn preprocessor(&mut self, line: &str) {
        let rest = line
            .trim_start()
            .strip_prefix('#')
            .unwrap_or("")
            .trim_start();
        if let Some(rest) = rest.strip_prefix("undef") {
            self.equal.remove(rest.trim());
            return;
        }
        let Some(rest) = rest.strip_prefix("define") else {
            return;
        };
        let Some((name, body)) = rest.trim_start().split_once(char::is_whitespace) else {
            return;
        };
        if name.contains('(') || name.len() > 100 || body.len() > 500 {
            return;
        }
        // The body is read as what it would be behind an equal sign.
        let assigned = crate::ia64::parse(&format!("x = {}", body.trim()));
        if let (
            true,
            [
                Statement {
                    kind: StatementKind::Assign { value, .. },
                    ..
                },
            ],
        ) = (assigned.problems.is_empty(), &assigned.statements[..])
        {
            self.define(&name.into(), value.clone());
        }
    }

    /// Returns the value of an expression, if it is a constant.
    #[must_use]
    pub fn number(&self, value: &Expr) -> Option<i64> {
        self.number_within(value, CHAIN)
    }
    fn number_within(&self, value: &Expr, links: usize) -> Option<i64> {
        let links = links.checked_sub(1)?;
        value.evaluate(&|name| self.number_within(self.equal.get(name)?, links))
    }

    /// The meaning of an operand here.
    #[must_use]
    pub fn meaning(&self, operand: &Operand) -> Meaning {
        match &operand.kind {
            OperandKind::Memory(address) => match self.of(address) {
                Meaning::Register(register) => Meaning::Memory(register),
                _ => Meaning::Symbol,
            },
            OperandKind::Value(value) => self.of(value),
        }
    }

    /// The meaning of an expression here.
    #[must_use]
    pub fn of(&self, value: &Expr) -> Meaning {
        let mut value = value;
        for _ in 0..CHAIN {
            match value {
                Expr::Name(name) => match (self.equal.get(name), self.register(name)) {
                    // A name of the file hides the register of that name: it was given on purpose.
                    (Some(next), _) => value = next,
                    (None, Some(register)) => return Meaning::Register(register),
                    (None, None) => return Meaning::Symbol,
                },
                Expr::Index { name, index } => return self.element(name, index),
                other => {
                    return match self.number(other) {
                        Some(number) => Meaning::Number(number),
                        None => Meaning::Symbol,
                    };
                }
            }
        }
        Meaning::Symbol
    }

    fn element(&self, name: &SmolStr, index: &Expr) -> Meaning {
        let number = self.number(index);
        if let Some((first, size)) = self.arrays.get(name) {
            let element = number
                .filter(|number| (0..*size).contains(number))
                .and_then(|number| u8::try_from(i64::from(first.number) + number).ok());
            return match element {
                Some(number) => Meaning::Register(Reg {
                    file: first.file,
                    number,
                }),
                None => Meaning::Symbol,
            };
        }
        let file = match &*name.to_ascii_lowercase() {
            "ar" => Some(Reg::application(0)),
            "cr" => Some(Reg::control(0)),
            "cpuid" | "dbr" | "ibr" | "itr" | "dtr" | "msr" | "pkr" | "pmc" | "pmd" | "rr"
            | "dahr" => None,
            _ => return Meaning::Symbol,
        };
        match (file, number) {
            (Some(first), Some(number)) => match u8::try_from(number) {
                Ok(number) if number < 128 => Meaning::Register(Reg {
                    file: first.file,
                    number,
                }),
                _ => Meaning::Symbol,
            },
            _ => match self.of(index) {
                Meaning::Register(register) => Meaning::Indirect(register),
                _ => Meaning::Symbol,
            },
        }
    }

    /// The register of this name here.
    #[must_use]
    pub fn register(&self, name: &str) -> Option<Reg> {
        let lower = name.to_ascii_lowercase();
        let fixed = match &*lower {
            "gp" => Reg::general(1),
            "sp" => Reg::general(12),
            "tp" => Reg::general(13),
            "rp" => Reg::branch(0),
            "ip" => Reg::IP,
            "pr" => Reg::PR,
            "pr.rot" => Reg::PR_ROT,
            "psr" | "psr.l" => Reg::PSR,
            "psr.um" => Reg::UM,
            _ => return self.numbered(&lower),
        };
        Some(fixed)
    }

    fn numbered(&self, name: &str) -> Option<Reg> {
        if let Some(rest) = name.strip_prefix("ar.") {
            let found = APPLICATION.iter().find(|(it, _)| *it == rest)?;
            return Some(Reg::application(found.1));
        }
        if let Some(rest) = name.strip_prefix("cr.") {
            let found = CONTROL.iter().find(|(it, _)| *it == rest)?;
            return Some(Reg::control(found.1));
        }
        let digits = name.find(|letter: char| letter.is_ascii_digit())?;
        let (letters, digits) = name.split_at(digits);
        if digits.len() > 3 || (digits.len() > 1 && digits.starts_with('0')) {
            return None;
        }
        let number: u8 = digits.parse().ok()?;
        let frame = self.frame;
        // A register of the frame, by its first and how many there are.
        let framed = |first: i64, size: i64| {
            (i64::from(number) < size)
                .then(|| u8::try_from(32 + first + i64::from(number)).ok())
                .flatten()
                .filter(|&number| number < 128)
                .map(Reg::general)
        };
        let within = |file: File, first: u8, size: u8| {
            (number < size).then_some(Reg {
                file,
                number: first + number,
            })
        };
        match letters {
            "r" => within(File::General, 0, 128),
            "f" => within(File::Float, 0, 128),
            "p" => within(File::Predicate, 0, 64),
            "b" => within(File::Branch, 0, 8),
            "ar" => within(File::Application, 0, 128),
            "cr" => within(File::Control, 0, 128),
            "ret" => within(File::General, 8, 4),
            "farg" | "fret" => within(File::Float, 8, 8),
            "in" => framed(0, frame.inputs),
            "loc" => framed(frame.inputs, frame.locals),
            "out" => framed(frame.inputs + frame.locals, frame.outputs),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Names {
        let document = crate::ia64::parse(text);
        let mut names = Names::default();
        for statement in &document.statements {
            names.see(statement, text);
        }
        names
    }

    #[test]
    fn registers_have_the_names_of_the_conventions() {
        let names = names("");
        assert_eq!(names.register("sp"), Some(Reg::general(12)));
        assert_eq!(names.register("ret1"), Some(Reg::general(9)));
        assert_eq!(names.register("AR.LC"), Some(Reg::LC));
        assert_eq!(names.register("ar.k3"), Some(Reg::application(3)));
        assert_eq!(names.register("p64"), None);
        assert_eq!(names.register("r128"), None);
        assert_eq!(names.register("r01"), None);
        assert_eq!(names.register("in0"), None, "no frame yet");
    }

    #[test]
    fn frames_and_rotating_arrays() {
        let names =
            names("N = 5\n alloc r35 = ar.pfs, 2, 6, 1, 8\n .rotr val[N], buf[N-3]\n .rotp p[N]\n");
        assert_eq!(names.register("in1"), Some(Reg::general(33)));
        assert_eq!(names.register("loc0"), Some(Reg::general(34)));
        assert_eq!(names.register("out0"), Some(Reg::general(40)));
        assert_eq!(names.register("out1"), None);
        assert_eq!(names.rotating(), 8);
        let of = |text: &str| {
            let text = format!("x = {text}");
            let document = crate::ia64::parse(&text);
            match &document.statements[0].kind {
                StatementKind::Assign { value, .. } => names.of(value),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(of("buf[1]"), Meaning::Register(Reg::general(38)));
        assert_eq!(of("p[N-1]"), Meaning::Register(Reg::predicate(20)));
        assert_eq!(of("val[5]"), Meaning::Symbol, "outside of the array");
        assert_eq!(of("cpuid[r3]"), Meaning::Indirect(Reg::general(3)));
        assert_eq!(of("ar[36]"), Meaning::Register(Reg::UNAT));
        assert_eq!(of("N*2"), Meaning::Number(10));
        assert_eq!(of("label"), Meaning::Symbol);
    }

    #[test]
    fn names_of_the_preprocessor_and_their_chains() {
        let names =
            names("#define cnt r17\n#define size cnt\n#define K (3+1)\n#define f(x) x\na = a\n");
        let of = |name: &str| names.of(&Expr::Name(name.into()));
        assert_eq!(of("size"), Meaning::Register(Reg::general(17)));
        assert_eq!(of("K"), Meaning::Number(4));
        assert_eq!(of("a"), Meaning::Symbol, "ends");
    }
}
