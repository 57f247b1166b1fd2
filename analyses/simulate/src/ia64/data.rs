//! Data of a file: sections other than the text, laid out one behind the other.

use super::float::Float;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use syntax::ia64::{Argument, Directive, Expr, Unary};

/// The address at which data begins.
const DATA: u64 = 0x1000_0000;
/// Bytes that one directive may reserve, and all together.
const MOST: u64 = 1 << 26;

/// Bytes behind every section that may be read: loops load the next value before they know that there is none.
const BEHIND: usize = 64;

#[derive(Clone, Debug, Default)]
struct Section {
    name: SmolStr,
    bytes: Vec<u8>,
    alignment: u64,
    /// Values that need addresses: offset, bytes, expression, statement.
    pending: Vec<(usize, usize, Expr, usize)>,
    base: u64,
}

/// Sections while statements go by.
#[derive(Clone, Debug, Default)]
pub(super) struct Data {
    sections: Vec<Section>,
    /// The section in force; `None` is the text.
    now: Option<usize>,
    before: Option<usize>,
    pushed: Vec<Option<usize>>,
    /// Section and offset of each label.
    pub(super) labels: FxHashMap<SmolStr, (usize, u64)>,
}

impl Data {
    /// Returns true if statements belong to the text.
    pub(super) fn in_text(&self) -> bool {
        self.now.is_none()
    }
    /// Begins or ends data between instructions, which goes to a section of its own.
    pub(super) fn inline(&mut self, on: bool) {
        self.now = on.then(|| self.section(".text"));
    }
    pub(super) fn label(&mut self, name: &SmolStr) {
        if let Some(now) = self.now {
            let offset = self.sections[now].bytes.len() as u64;
            self.labels.entry(name.clone()).or_insert((now, offset));
        }
    }

    fn section(&mut self, name: &str) -> usize {
        match self
            .sections
            .iter()
            .position(|section| section.name == name)
        {
            Some(found) => found,
            None => {
                self.sections.push(Section {
                    name: name.into(),
                    alignment: 1,
                    ..Section::default()
                });
                self.sections.len() - 1
            }
        }
    }
    fn enter(&mut self, section: Option<usize>) {
        self.before = self.now;
        self.now = section;
    }

    /// A directive, if it is of data or sections.
    pub(super) fn directive(
        &mut self,
        directive: &Directive,
        statement: usize,
        number: &dyn Fn(&Expr) -> Option<i64>,
    ) {
        let name = &*directive.name;
        let arguments = &directive.arguments;
        match name {
            ".text" => self.enter(None),
            ".data" | ".rodata" | ".sdata" | ".bss" | ".sbss" => {
                let section = self.section(name);
                self.enter(Some(section));
            }
            ".section" | ".pushsection" => {
                if name == ".pushsection" && self.pushed.len() < 100 {
                    self.pushed.push(self.now);
                }
                let title = match arguments.first() {
                    Some(Argument::Expr(Expr::Name(title)) | Argument::Text(title)) => title,
                    Some(Argument::Other(title)) => title,
                    _ => "?",
                };
                let code = title.contains(".text")
                    || arguments.iter().skip(1).any(
                        |argument| matches!(argument, Argument::Text(flags) if flags.contains('x')),
                    );
                let section = (!code).then(|| self.section(title));
                self.enter(section);
            }
            ".previous" => self.enter(self.before),
            ".popsection" => {
                if let Some(section) = self.pushed.pop() {
                    self.enter(section);
                }
            }
            ".comm" | ".lcomm" => self.common(arguments, number),
            _ => {
                let Some(now) = self.now else { return };
                let values = arguments.iter().filter_map(|argument| match argument {
                    Argument::Expr(value) => Some(value),
                    _ => None,
                });
                let first = || values.clone().next().and_then(number);
                match name {
                    ".align" | ".balign" => self.align(now, first().unwrap_or(1)),
                    ".p2align" => self.align(now, 1 << first().unwrap_or(0).clamp(0, 16)),
                    ".skip" | ".space" | ".zero" => {
                        let length = first().unwrap_or(0).clamp(0, MOST as i64) as usize;
                        self.push(now, &vec![0; length]);
                    }
                    ".string" | ".asciz" | ".stringz" | ".ascii" | "string" | "stringz" => {
                        for argument in arguments {
                            if let Argument::Text(text) = argument {
                                let mut bytes = unescaped(text);
                                if name != ".ascii" && name != "string" {
                                    bytes.push(0);
                                }
                                self.push(now, &bytes);
                            }
                        }
                    }
                    _ => {
                        let values: Vec<&Expr> = values.collect();
                        self.values(name, &values, statement, number);
                    }
                }
            }
        }
    }

    /// `data8 1, 2`, `.quad x`, `real8 1.5`; other names are left aside.
    pub(super) fn values(
        &mut self,
        name: &str,
        values: &[&Expr],
        statement: usize,
        number: &dyn Fn(&Expr) -> Option<i64>,
    ) {
        let (name, aligned) = match name.strip_suffix(".ua") {
            Some(name) => (name, false),
            None => (name, name.starts_with("data")),
        };
        let size = match value_size(name) {
            Some((size, false)) => size,
            Some((size, true)) => return self.reals(values, size),
            None => return,
        };
        let Some(now) = self.now else { return };
        // Data is aligned to its size unless the name says otherwise.
        if aligned {
            self.align(now, size as i64);
        }
        for value in values {
            let known = number(value);
            if known.is_none() {
                let at = self.sections[now].bytes.len();
                self.sections[now]
                    .pending
                    .push((at, size, (*value).clone(), statement));
            }
            let bytes = known.unwrap_or(0).to_le_bytes();
            self.push(now, &bytes[..size]);
        }
    }

    fn reals(&mut self, values: &[&Expr], size: usize) {
        let Some(now) = self.now else { return };
        self.align(now, if size == 10 { 16 } else { size as i64 });
        for value in values {
            let value = real(value).unwrap_or(f64::NAN);
            match size {
                4 => self.push(now, &(value as f32).to_le_bytes()),
                8 => self.push(now, &value.to_le_bytes()),
                _ => {
                    let (significand, head) = Float::from_f64(value).to_extended();
                    self.push(now, &significand.to_le_bytes());
                    self.push(now, &head.to_le_bytes());
                    self.push(now, &[0; 6][..size - 10]);
                }
            }
        }
    }

    fn common(&mut self, arguments: &[Argument], number: &dyn Fn(&Expr) -> Option<i64>) {
        let values: Vec<&Expr> = arguments
            .iter()
            .filter_map(|argument| match argument {
                Argument::Expr(value) => Some(value),
                _ => None,
            })
            .collect();
        let [Expr::Name(name), size, rest @ ..] = &values[..] else {
            return;
        };
        let size = number(size).unwrap_or(0).clamp(0, MOST as i64) as usize;
        let section = self.section(".bss");
        let alignment = rest.first().and_then(|it| number(it)).unwrap_or(16);
        self.align(section, alignment);
        let offset = self.sections[section].bytes.len() as u64;
        let name = name.trim_end_matches('#').into();
        self.labels.entry(name).or_insert((section, offset));
        self.push(section, &vec![0; size]);
    }

    fn align(&mut self, section: usize, to: i64) {
        let to = to.clamp(1, 1 << 16) as u64;
        let section = &mut self.sections[section];
        section.alignment = section.alignment.max(to);
        let length = (section.bytes.len() as u64).next_multiple_of(to);
        section.bytes.resize(length as usize, 0);
    }
    fn push(&mut self, section: usize, bytes: &[u8]) {
        let used: usize = self
            .sections
            .iter()
            .map(|section| section.bytes.len())
            .sum();
        if (used + bytes.len()) as u64 <= MOST {
            self.sections[section].bytes.extend_from_slice(bytes);
        }
    }

    /// Gives every section its address.
    pub(super) fn lay_out(&mut self) {
        let mut next = DATA;
        for section in &mut self.sections {
            next = next.next_multiple_of(section.alignment.max(16));
            section.base = next;
            // Something unmapped lies between two sections.
            next += section.bytes.len() as u64 + 4096;
        }
    }
    pub(super) fn address(&self, name: &str) -> Option<u64> {
        let (section, offset) = self.labels.get(name)?;
        Some(self.sections[*section].base + offset)
    }
    /// Base, content and whether it may be written, of every section that is not empty.
    pub(super) fn regions(
        &self,
        value: &dyn Fn(&Expr, usize) -> Option<i64>,
    ) -> Vec<(u64, Vec<u8>, bool)> {
        self.sections
            .iter()
            .filter(|section| !section.bytes.is_empty())
            .map(|section| {
                let mut bytes = section.bytes.clone();
                bytes.resize(bytes.len() + BEHIND, 0);
                for (at, size, expression, statement) in &section.pending {
                    let value = value(expression, *statement).unwrap_or(0).to_le_bytes();
                    if let Some(place) = bytes.get_mut(*at..at + size) {
                        place.copy_from_slice(&value[..*size]);
                    }
                }
                let writable = ![".rodata", ".text"]
                    .iter()
                    .any(|it| section.name.starts_with(it));
                (section.base, bytes, writable)
            })
            .collect()
    }
}

/// Bytes of each value of a directive, and whether they are floating-point.
pub(super) fn value_size(name: &str) -> Option<(usize, bool)> {
    Some(match name.strip_prefix('.').unwrap_or(name) {
        "data1" | "byte" => (1, false),
        "data2" | "short" | "hword" | "2byte" => (2, false),
        "data4" | "long" | "int" | "4byte" => (4, false),
        "data8" | "quad" | "8byte" => (8, false),
        "real4" | "single" | "float" => (4, true),
        "real8" | "double" => (8, true),
        "real10" => (10, true),
        "real16" => (16, true),
        _ => return None,
    })
}

fn real(value: &Expr) -> Option<f64> {
    match value {
        Expr::Number(value) => Some(*value as f64),
        // What is no integer is kept as it is written.
        Expr::Name(text) => text.parse().ok(),
        Expr::Unary {
            op: Unary::Minus,
            of,
        } => Some(-real(of)?),
        _ => None,
    }
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'n') => out.push(b'\n'),
            Some(b't') => out.push(b'\t'),
            Some(b'r') => out.push(b'\r'),
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    let Some(next) = bytes.next_if(|next| (b'0'..=b'7').contains(next)) else {
                        break;
                    };
                    value = value * 8 + u32::from(next - b'0');
                }
                out.push(value as u8);
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}
