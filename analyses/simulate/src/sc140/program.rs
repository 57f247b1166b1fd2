//! A program: the files' execution sets decoded and laid out, their loops marked, their data placed.

use super::Opaque;
use super::decode::{Decoded, Unreadable, decode};
use super::image::{CODE, DATA, Symbol, Symbols, data_bytes, data_length, data_width};
use super::op::Op;
use smol_str::SmolStr;
use syntax::sc140::{Argument, Condition, Directive, Document, ExecutionSet, Expr, StatementKind};
use syntax::{LineIndex, Span};

/// A file.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub document: &'a Document,
    pub text: &'a str,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Inst {
    pub op: Op,
    /// The value of T at which it executes; `None`: always.
    pub when: Option<bool>,
    pub line: u32,
}

/// A loop's mark at a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mark {
    pub number: u8,
    pub body: Body,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Body {
    /// One set, which is marked.
    Single,
    /// Two, of which the first one is marked.
    Double,
    /// More, of which the last but two is marked.
    Long,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Set {
    pub insts: Vec<Inst>,
    pub file: usize,
    pub line: u32,
    /// Bytes.
    pub address: u32,
    pub words: u32,
    pub marks: Vec<Mark>,
}

impl Set {
    /// Returns true if two fetches hold it.
    pub(super) fn straddles(&self, fetch_words: u32) -> bool {
        let within = self.address / 2 % fetch_words.max(1);
        within + self.words > fetch_words
    }
}

/// Files that are run together.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    pub(super) sets: Vec<Set>,
    pub(super) symbols: Symbols,
    /// The bytes of data directives, for both orders of bytes.
    pub(super) data: [Vec<u8>; 2],
    functions: Vec<SmolStr>,
}

/// A thing that has a place.
enum Item<'a> {
    Label(usize, SmolStr),
    Align(u32),
    /// Padding so that the next set lies in one fetch.
    FetchAlign,
    Set(usize),
    Data(usize, &'a Directive),
    /// Labels in front of it stay with the item before.
    Boundary,
}

struct Raw<'a> {
    file: usize,
    text: &'a ExecutionSet,
    set: Set,
}

#[derive(Default)]
struct Builder<'a> {
    items: Vec<Item<'a>>,
    raw: Vec<Raw<'a>>,
    symbols: Symbols,
    functions: Vec<SmolStr>,
    shared: Vec<SmolStr>,
}

impl Program {
    /// Instructions that can't be executed end a run that reaches them, and are reported with their places.
    #[must_use]
    pub fn new(files: &[Source<'_>]) -> (Program, Vec<Opaque>) {
        let mut builder = Builder::default();
        builder
            .symbols
            .files
            .resize_with(files.len(), Default::default);
        for (file, source) in files.iter().enumerate() {
            builder.file(file, *source);
        }
        builder.measure();
        let (data_places, data_length) = builder.lay_out();
        builder.finish(&data_places, data_length)
    }

    /// The functions in order: labels of that type, else shared ones, else those that a C compiler would name.
    #[must_use]
    pub fn functions(&self) -> &[SmolStr] {
        &self.functions
    }
    /// Returns where a label is.
    #[must_use]
    pub fn address(&self, name: &str) -> Option<u32> {
        self.symbols.address(name)
    }
    pub(super) fn at(&self, address: u32) -> Option<usize> {
        self.sets
            .binary_search_by_key(&address, |set| set.address)
            .ok()
    }
}

impl<'a> Builder<'a> {
    fn file(&mut self, file: usize, source: Source<'a>) {
        let lines = LineIndex::new(source.text);
        // Conditional assembly: whether each open `IF` holds.
        let mut holds: Vec<bool> = Vec::new();
        let mut loops: Vec<(u8, usize)> = Vec::new();
        for statement in &source.document.statements {
            if let StatementKind::Directive(directive) = &statement.kind {
                match &*directive.name {
                    "if" => {
                        let value = match directive.arguments.first() {
                            Some(Argument::Expr(value)) => self.symbols.value(file, 0, value),
                            _ => None,
                        };
                        holds.push(value.is_some_and(|value| value != 0));
                        continue;
                    }
                    "else" => {
                        if let Some(last) = holds.last_mut() {
                            *last = !*last;
                        }
                        continue;
                    }
                    "endif" => {
                        holds.pop();
                        continue;
                    }
                    _ => {}
                }
            }
            if holds.contains(&false) {
                continue;
            }
            match &statement.kind {
                StatementKind::Label(name) => self.items.push(Item::Label(file, name.clone())),
                StatementKind::Directive(directive) => self.directive(file, directive, &mut loops),
                StatementKind::Set(text) if text.instructions.is_empty() => {}
                StatementKind::Set(text) => {
                    let mut set = Set {
                        file,
                        ..Set::default()
                    };
                    let line = |span: Span| lines.line_column(span.start).0 + 1;
                    set.line = line(text.instructions[0].span);
                    for (condition, instruction) in text.conditional() {
                        set.insts.push(Inst {
                            op: Op::Nop,
                            when: match condition {
                                Some(Condition::True) => Some(true),
                                Some(Condition::False) => Some(false),
                                Some(Condition::Always) | None => None,
                            },
                            line: line(instruction.span),
                        });
                    }
                    self.items.push(Item::Set(self.raw.len()));
                    self.raw.push(Raw { file, text, set });
                }
                StatementKind::Unknown => {}
            }
        }
        self.items.push(Item::Boundary);
    }

    fn directive(&mut self, file: usize, directive: &'a Directive, loops: &mut Vec<(u8, usize)>) {
        if let Some((start, number)) = directive.loop_edge() {
            if start {
                loops.push((number, self.raw.len()));
            } else if let Some(at) = loops.iter().rposition(|(open, _)| *open == number) {
                let (_, first) = loops.remove(at);
                self.mark(number, first);
            }
            return;
        }
        let number = |argument: &Argument| match argument {
            Argument::Expr(value) => self.symbols.value(file, 0, value),
            _ => None,
        };
        match &*directive.name {
            "section" | "endsec" | "org" => self.items.push(Item::Boundary),
            "align" => {
                let bytes = directive.arguments.first().and_then(number).unwrap_or(1);
                if (2..=1 << 16).contains(&bytes) {
                    self.items.push(Item::Align(bytes as u32));
                }
            }
            "falign" => self.items.push(Item::FetchAlign),
            "equ" | "set" | "define" => {
                let mut arguments = directive.arguments.iter();
                let name = match &directive.label {
                    Some(label) => Some(label.clone()),
                    None => arguments.next().and_then(|argument| match argument {
                        Argument::Expr(Expr::Name(name)) => Some(name.clone()),
                        Argument::Text(name) | Argument::Other(name) => Some(name.clone()),
                        Argument::Expr(_) => None,
                    }),
                };
                let value = match arguments.next() {
                    Some(Argument::Expr(value)) => value.clone(),
                    Some(Argument::Text(text)) => Expr::Number(text.parse().unwrap_or_default()),
                    _ => Expr::Number(0),
                };
                if let Some(name) = name {
                    self.symbols.define(file, &name, Symbol::Value(value));
                }
            }
            "global" | "xdef" => {
                for argument in &directive.arguments {
                    if let Argument::Expr(Expr::Name(name)) = argument {
                        self.symbols.shared.entry(name.clone()).or_insert(file);
                        self.shared.push(name.clone());
                    }
                }
            }
            "type" => {
                let function = directive.arguments.first().is_some_and(|argument| {
                    matches!(argument, Argument::Expr(Expr::Name(name)) if name.eq_ignore_ascii_case("func"))
                });
                if let (true, Some(label)) = (function, &directive.label) {
                    self.functions.push(label.clone());
                }
            }
            name if data_width(name).is_some() => self.items.push(Item::Data(file, directive)),
            _ => {}
        }
    }

    /// Marks the loop whose body goes from a set to the last one.
    fn mark(&mut self, number: u8, first: usize) {
        let end = self.raw.len();
        let (at, body) = match end - first {
            0 => return,
            1 => (first, Body::Single),
            2 => (first, Body::Double),
            _ => (end - 3, Body::Long),
        };
        self.raw[at].set.marks.push(Mark { number, body });
    }

    /// The words of each set, as far as its text says them: labels are taken for far away.
    fn measure(&mut self) {
        const FAR: i64 = 0x0100_0000;
        for at in 0..self.raw.len() {
            let (file, text) = (self.raw[at].file, self.raw[at].text);
            let known = |value: &Expr| match value {
                Expr::Name(name) => match self.symbols.files[file].get(name) {
                    Some(Symbol::Value(value)) => self.symbols.value(file, 0, value),
                    _ => Some(FAR),
                },
                Expr::Here => Some(FAR),
                _ => None,
            };
            let decoded = text
                .instructions
                .iter()
                .map(|instruction| decode(instruction, &known));
            let words = length(decoded, &self.raw[at].set);
            self.raw[at].set.words = words;
        }
    }

    /// Gives every set and label its address; returns where the bytes of each data directive are, and their length.
    fn lay_out(&mut self) -> (Vec<u32>, u32) {
        let (mut code, mut data) = (CODE, DATA);
        let mut places = Vec::new();
        let mut waiting: Vec<(usize, SmolStr)> = Vec::new();
        let (mut align, mut fetch, mut in_data) = (1_u32, false, false);
        let items = std::mem::take(&mut self.items);
        for item in &items {
            match item {
                Item::Label(file, name) => {
                    waiting.push((*file, name.clone()));
                    continue;
                }
                Item::Align(bytes) => {
                    align = align.max(*bytes);
                    continue;
                }
                Item::FetchAlign => {
                    fetch = true;
                    continue;
                }
                Item::Boundary => {}
                Item::Set(_) => {
                    in_data = false;
                    code = code.next_multiple_of(align.max(2));
                }
                Item::Data(..) => {
                    in_data = true;
                    data = data.next_multiple_of(align);
                }
            }
            if let Item::Set(at) = item {
                let set = &mut self.raw[*at].set;
                set.address = code;
                if fetch && set.straddles(8) {
                    code = code.next_multiple_of(16);
                    set.address = code;
                }
            }
            let here = if in_data { data } else { code };
            for (file, name) in waiting.drain(..) {
                self.symbols.define(file, &name, Symbol::Address(here));
            }
            match item {
                Item::Set(at) => code += 2 * self.raw[*at].set.words.max(1),
                Item::Data(file, directive) => {
                    places.push(data);
                    let value = |value: &Expr| self.symbols.value(*file, 0, value);
                    data += data_length(directive, &value);
                }
                _ => in_data = false,
            }
            (align, fetch) = (1, false);
        }
        self.items = items;
        (places, data - DATA)
    }

    fn finish(mut self, data_places: &[u32], data_length: u32) -> (Program, Vec<Opaque>) {
        let mut opaque = Vec::new();
        for raw in &mut self.raw {
            let values = |value: &Expr| self.symbols.value(raw.file, raw.set.address, value);
            for (inst, instruction) in raw.set.insts.iter_mut().zip(&raw.text.instructions) {
                inst.op = match decode(instruction, &values) {
                    Ok(decoded) => decoded.op,
                    Err(why) => {
                        opaque.push(Opaque {
                            file: raw.file,
                            span: instruction.span,
                            mnemonic: instruction.mnemonic.clone(),
                            why: why.clone(),
                        });
                        Op::Unknown(why.to_string().into())
                    }
                };
            }
        }
        let data = [false, true].map(|big_endian| {
            let mut bytes = vec![0; data_length as usize];
            let directives = self.items.iter().filter_map(|item| match item {
                Item::Data(file, directive) => Some((*file, *directive)),
                _ => None,
            });
            for ((file, directive), place) in directives.zip(data_places) {
                let value = |value: &Expr| self.symbols.value(file, *place, value);
                let own = data_bytes(directive, big_endian, &value);
                let from = (place - DATA) as usize;
                bytes[from..from + own.len()].copy_from_slice(&own);
            }
            bytes
        });
        let is_code = |name: &SmolStr| {
            let address = self.symbols.address(name);
            address.is_some_and(|address| self.raw.iter().any(|raw| raw.set.address == address))
        };
        let mut functions = self.functions;
        if functions.is_empty() {
            functions = self.shared;
        }
        functions.retain(is_code);
        if functions.is_empty() {
            let labels = self.items.iter().filter_map(|item| match item {
                Item::Label(_, name) if name.starts_with('_') => Some(name.clone()),
                _ => None,
            });
            functions = labels.filter(is_code).collect();
        }
        let program = Program {
            sets: self.raw.into_iter().map(|raw| raw.set).collect(),
            symbols: self.symbols,
            data,
            functions,
        };
        (program, opaque)
    }
}

/// The words of a set: those of its instructions and of the shortest prefix that can do.
fn length(decoded: impl Iterator<Item = Result<Decoded, Unreadable>>, set: &Set) -> u32 {
    let (mut words, mut count, mut long, mut upper) = (0, 0, 0, false);
    let mut marked = !set.marks.is_empty();
    for decoded in decoded {
        // What is not known is taken for one word.
        let Ok(decoded) = decoded else {
            words += 1;
            count += 1;
            continue;
        };
        if matches!(decoded.op, Op::Mark(_)) {
            marked = true;
            continue;
        }
        words += decoded.words;
        count += 1;
        long += u32::from(decoded.words > 1);
        upper |= decoded.upper;
    }
    let conditional = set.insts.iter().any(|inst| inst.when.is_some());
    words + prefix(upper, marked || conditional, count, long)
}

/// Words of the prefix; `long`: instructions of more than one word, one of which can be last without a prefix.
const fn prefix(upper: bool, needed: bool, count: u32, long: u32) -> u32 {
    match (upper, needed) {
        (true, _) => 2,
        (false, true) => 1,
        (false, false) if count > 1 && long > 1 => 1,
        (false, false) => 0,
    }
}
