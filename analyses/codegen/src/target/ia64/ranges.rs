//! Numbers that an instruction has no room for.
//!
//! ```text
//! adds r14 = 9000, r15      14 bits with a sign: -8192 to 8191
//! shladd r14 = r15, 5, r16  1 to 4
//! ```
//!
//! Operands that are numbers where the text stands are compared with the field of their form; names that something else
//! defines are not. A form that is not in the table has any number.
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volume 3, chapters 2 and 4. GNU `as` refuses the same.

use isa::ia64::File;
use std::fmt;
use syntax::Span;
use syntax::ia64::Instruction;
use syntax::ia64::names::{Meaning, Names};

/// The values that a field holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    Between(i64, i64),
    /// These, in ascending order.
    OneOf(&'static [i64]),
    /// A number of an unsigned comparison: one that compares as its extension to so many bits, less one where
    /// `below`.
    Unsigned {
        bits: u32,
        below: bool,
    },
    /// From 0 to this, in multiples of eight.
    Rotating(i64),
}

/// An operand that is outside of its field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutOfRange {
    pub span: Span,
    pub number: i64,
    pub field: Field,
}

const BYTE: Field = Field::Between(-128, 127);
const STEP: Field = Field::Between(-256, 255);
const POSITION: Field = Field::Between(0, 63);
const LENGTH: Field = Field::Between(1, 64);

impl Field {
    #[must_use]
    pub fn holds(self, number: i64) -> bool {
        match self {
            Field::Between(least, most) => (least..=most).contains(&number),
            Field::OneOf(all) => all.contains(&number),
            Field::Unsigned { bits, below } => {
                // Zero is below nothing: there is no number one less.
                if below && number == 0 {
                    return false;
                }
                let number = i128::from(number) - i128::from(below);
                let wraps = 1i128 << bits;
                (-128..=127).contains(&number)
                    || bits == 32 && (wraps - 128..wraps).contains(&number)
            }
            Field::Rotating(most) => (0..=most).contains(&number) && number % 8 == 0,
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Field::Between(least, most) => write!(f, "{least} to {most}"),
            Field::OneOf([found]) => write!(f, "{found} alone"),
            Field::OneOf(all) => {
                let all: Vec<String> = all.iter().map(ToString::to_string).collect();
                let (last, others) = all.split_last().ok_or(fmt::Error)?;
                write!(f, "{} or {last}", others.join(", "))
            }
            Field::Unsigned { below: false, .. } => f.write_str("-128 to 127"),
            Field::Unsigned { below: true, .. } => f.write_str("-127 to 128, but for 0"),
            Field::Rotating(most) => write!(f, "a multiple of 8 up to {most}"),
        }
    }
}

/// Numbers of the instruction that its fields do not hold.
#[must_use]
pub fn out_of_range(text: &Instruction, names: &Names) -> Vec<OutOfRange> {
    let meanings: Vec<Meaning> = text
        .sources
        .iter()
        .map(|source| names.meaning(source))
        .collect();
    let targets: Vec<Meaning> = text
        .targets
        .iter()
        .map(|target| names.meaning(target))
        .collect();
    let mut out = Vec::new();
    for (at, field) in fields(text, &targets, &meanings) {
        if let (Some(&Meaning::Number(number)), Some(operand)) =
            (meanings.get(at), text.sources.get(at))
            && !field.holds(number)
        {
            out.push(OutOfRange {
                span: operand.span,
                number,
                field,
            });
        }
    }
    out
}

/// Fields of an instruction by source operand.
fn fields(text: &Instruction, targets: &[Meaning], sources: &[Meaning]) -> Vec<(usize, Field)> {
    let between = Field::Between;
    let base = text.base();
    let mut completers = text.mnemonic.split('.').skip(1);
    let number = |at: usize| matches!(sources.get(at), Some(Meaning::Number(_)));
    match base {
        "adds" | "addp4" => vec![(0, between(-8192, 8191))],
        "addl" => vec![(0, between(-2_097_152, 2_097_151))],
        // The long form adds to one of the first four registers.
        "add" => match sources.get(1) {
            Some(Meaning::Register(reg)) if reg.file == File::General && reg.number < 4 => {
                vec![(0, between(-2_097_152, 2_097_151))]
            }
            Some(Meaning::Register(reg)) if reg.file == File::General => {
                vec![(0, between(-8192, 8191))]
            }
            _ => Vec::new(),
        },
        "sub" | "and" | "or" | "xor" | "andcm" => vec![(0, BYTE)],
        "shladd" | "shladdp4" => vec![(1, between(1, 4))],
        "shl" | "shr" => vec![(1, POSITION)],
        "extr" => vec![(1, POSITION), (2, LENGTH)],
        "dep" if completers.next() == Some("z") => vec![(0, BYTE), (1, POSITION), (2, LENGTH)],
        "dep" if number(0) => vec![(0, between(-1, 0)), (2, POSITION), (3, LENGTH)],
        "dep" => vec![(2, POSITION), (3, between(1, 16))],
        "shrp" => vec![(2, POSITION)],
        "tbit" => vec![(1, POSITION)],
        "cmp" | "cmp4" => {
            let bits = if base == "cmp" { 64 } else { 32 };
            let field = match completers.next() {
                Some("le" | "gt") => between(-127, 128),
                Some("ltu" | "geu") => Field::Unsigned { bits, below: false },
                Some("leu" | "gtu") => Field::Unsigned { bits, below: true },
                _ => BYTE,
            };
            vec![(0, field)]
        }
        "ldfpd" | "ldfp8" => vec![(1, Field::OneOf(&[16]))],
        "ldfps" => vec![(1, Field::OneOf(&[8]))],
        "fetchadd4" | "fetchadd8" => {
            vec![(1, Field::OneOf(&[-16, -8, -4, -1, 1, 4, 8, 16]))]
        }
        _ if base == "lfetch" || base.starts_with("ld") || base.starts_with("st") => {
            vec![(1, STEP)]
        }
        "nop" | "break" if completers.next() != Some("x") => vec![(0, between(0, 0x1f_ffff))],
        "fclass" => vec![(1, between(0, 511))],
        "pshl2" | "pshl4" | "pshr2" | "pshr4" => vec![(1, between(0, 31))],
        "pshladd2" | "pshradd2" => vec![(1, between(1, 3))],
        "pmpyshr2" => vec![(2, Field::OneOf(&[0, 7, 15, 16]))],
        "mux2" => vec![(1, between(0, 255))],
        "mov" => match targets.first() {
            Some(Meaning::Register(reg)) if reg.file == File::Application => vec![(0, BYTE)],
            _ => Vec::new(),
        },
        "alloc" => vec![(4, Field::Rotating(96))],
        "fsetc" => vec![(0, between(0, 127)), (1, between(0, 127))],
        "sum" | "rum" | "ssm" | "rsm" => vec![(0, between(0, 0xff_ffff))],
        _ => Vec::new(),
    }
}
