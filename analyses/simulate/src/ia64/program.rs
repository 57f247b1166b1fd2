//! A file made ready to run: bundles with addresses, instructions with their operands, data in its place.
//!
//! ```text
//! .proc f            functions are the labels of the text; `run` takes any of them
//! f: { .mii          bundles stand at CODE, 16 bytes each; a label is the address of the bundle behind it
//! ```
//!
//! Symbols of other files have addresses at which nothing is: a call of one is a fault that names it. `gp` and the
//! linkage table that `@ltoff` goes through are made here. Source is parsed already; macros and preprocessor lines
//! beside plain definitions are not expanded.

use super::bundles::{Filled, Placed, SHAPES, braced, packed};
use super::data::{Data, value_size};
use super::decode::{Arg, Raw, decode, slot};
use super::op::{Branch, Op, Slot};
use super::symbols::Symbols;
use isa::ia64::{File, Reg};
use smol_str::SmolStr;
use syntax::error::Problem;
use syntax::ia64::names::{Meaning, Names};
use syntax::ia64::{
    Argument, Document, Expr, Instruction, Operand, OperandKind, Statement, StatementKind,
};
use syntax::source::Span;

/// Address of the first bundle.
pub(super) const CODE: u64 = 0x4000;
/// The most problems that are reported.
const MOST: usize = 200;

/// An instruction in its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Inst {
    pub(super) op: Op,
    pub(super) qp: u8,
    /// From 1.
    pub(super) line: u32,
    /// The kind of slot that the instruction requires, and the kind that it was placed in.
    pub(super) native: Slot,
    pub(super) unit: Slot,
    pub(super) position: u8,
    pub(super) bundle: u32,
    pub(super) stop: bool,
    pub(super) mnemonic: SmolStr,
    /// The statement of the document; `None` for fillers.
    pub(super) statement: Option<u32>,
}

/// A file that can be run.
#[derive(Clone, Debug)]
pub struct Program {
    pub(super) insts: Vec<Inst>,
    /// The first instruction of every bundle, and its shape.
    pub(super) bundles: Vec<(u32, u8)>,
    /// Data and tables: base, bytes, whether writable.
    pub(super) regions: Vec<(u64, Vec<u8>, bool)>,
    pub(super) symbols: Symbols,
    functions: Vec<SmolStr>,
}

/// An item that the walk over the statements yields.
enum Item {
    Label(SmolStr),
    Inst(usize),
    Stop,
    Open(Span),
    Template(SmolStr, Span),
    Close(Span),
}

/// A bundle that is open: where, and its template.
struct Braces {
    at: Span,
    template: Option<SmolStr>,
}

struct Source {
    raw: Raw,
    span: Span,
    statement: usize,
    slot: Slot,
    op: Op,
}

struct Builder<'a> {
    document: &'a Document,
    text: &'a str,
    /// Offsets at which lines begin.
    lines: Vec<u32>,
    items: Vec<Item>,
    sources: Vec<Source>,
    data: Data,
    names: Names,
    functions: Vec<SmolStr>,
    globals: Vec<SmolStr>,
    /// Bundle of each label of the text, in order, with the statements of local ones.
    labels: Vec<(SmolStr, u32, usize)>,
    /// Statement of each label item, in order.
    label_statements: Vec<usize>,
    bundles: Vec<(u32, u8)>,
    /// Source of each instruction, `None` for a nop that fills, with its bundle, slot and stop.
    placed: Vec<(Option<usize>, u32, u8, bool)>,
    problems: Vec<Problem>,
    /// The problems about bundles among them.
    malformed: Vec<Problem>,
}

impl Program {
    /// The line of an instruction by its number, from 1.
    #[must_use]
    pub fn line(&self, number: usize) -> Option<u32> {
        self.insts.get(number).map(|inst| inst.line)
    }

    /// Never fails: code that can't be run is a problem here and a fault where it is reached.
    #[must_use]
    pub fn new(document: &Document, text: &str) -> (Program, Vec<Problem>) {
        Program::bundled(document, text).finish()
    }

    /// Bundles that no processor has: of a template that does not exist, or with an instruction that has no
    /// slot in it.
    #[must_use]
    pub fn malformed_bundles(document: &Document, text: &str) -> Vec<Problem> {
        let mut found = Program::bundled(document, text).malformed;
        found.truncate(MOST);
        found
    }

    fn bundled<'a>(document: &'a Document, text: &'a str) -> Builder<'a> {
        let mut lines = vec![0];
        lines.extend(
            text.bytes()
                .enumerate()
                .filter(|(_, byte)| *byte == b'\n')
                .map(|(at, _)| at as u32 + 1),
        );
        let mut builder = Builder {
            document,
            text,
            lines,
            items: Vec::new(),
            sources: Vec::new(),
            data: Data::default(),
            names: Names::default(),
            functions: Vec::new(),
            globals: Vec::new(),
            labels: Vec::new(),
            label_statements: Vec::new(),
            bundles: Vec::new(),
            placed: Vec::new(),
            problems: Vec::new(),
            malformed: Vec::new(),
        };
        builder.walk();
        builder.bundle();
        builder
    }

    /// Functions of the file: names of `.proc`, or global labels where there are none.
    #[must_use]
    pub fn functions(&self) -> &[SmolStr] {
        &self.functions
    }
    /// The address of a symbol of the file.
    #[must_use]
    pub fn address(&self, symbol: &str) -> Option<u64> {
        self.symbols.defined(symbol)
    }
    /// The instruction at a code address.
    pub(super) fn at(&self, address: u64) -> Option<usize> {
        let offset = address.checked_sub(CODE)?;
        let (first, _) = self.bundles.get(usize::try_from(offset / 16).ok()?)?;
        (offset % 16 == 0).then_some(*first as usize)
    }
    pub(super) fn shape(&self, bundle: u32) -> &'static str {
        let shape = self.bundles.get(bundle as usize).map_or(0, |it| it.1);
        SHAPES[usize::from(shape)].name
    }
}

impl Builder<'_> {
    fn problem(&mut self, problem: Problem) {
        if self.problems.len() < MOST {
            self.problems.push(problem);
        }
    }
    fn line(&self, span: Span) -> u32 {
        self.lines.partition_point(|&start| start <= span.start) as u32
    }

    fn walk(&mut self) {
        let document = self.document;
        for (at, statement) in document.statements.iter().enumerate() {
            self.names.see(statement, self.text);
            self.statement(at, statement);
        }
    }

    fn statement(&mut self, at: usize, statement: &Statement) {
        let text = self.data.in_text();
        match &statement.kind {
            StatementKind::Label(name) | StatementKind::Tag(name) => {
                if text {
                    self.items.push(Item::Label(name.clone()));
                    self.label_statements.push(at);
                } else {
                    self.data.label(name);
                }
            }
            // Where a template stands, a word that is none.
            StatementKind::Directive(directive)
                if text
                    && directive.arguments.is_empty()
                    && matches!(self.items.last(), Some(Item::Open(_)))
                    && !matches!(&*directive.name, ".prologue" | ".body") =>
            {
                let name = directive.name.trim_start_matches('.').into();
                self.items.push(Item::Template(name, statement.span));
            }
            StatementKind::Directive(directive) => {
                if matches!(&*directive.name, ".proc" | ".global" | ".globl") {
                    let list = if directive.name == ".proc" {
                        &mut self.functions
                    } else {
                        &mut self.globals
                    };
                    for argument in &directive.arguments {
                        if let Argument::Expr(Expr::Name(name)) = argument {
                            let name = SmolStr::from(name.trim_end_matches('#'));
                            if !list.contains(&name) {
                                list.push(name);
                            }
                        }
                    }
                    return;
                }
                let inline = self.data.in_text() && value_size(&directive.name).is_some();
                if inline {
                    self.inline();
                }
                let names = &self.names;
                self.data
                    .directive(directive, at, &|value| names.number(value));
                if inline {
                    self.data.inline(false);
                }
            }
            StatementKind::Open if text => self.items.push(Item::Open(statement.span)),
            StatementKind::Template(name) if text => {
                let name = name.trim_start_matches('.').into();
                self.items.push(Item::Template(name, statement.span));
            }
            StatementKind::Close if text => self.items.push(Item::Close(statement.span)),
            StatementKind::Stop if text => self.items.push(Item::Stop),
            StatementKind::Instruction(instruction) => {
                self.instruction(at, statement.span, instruction)
            }
            StatementKind::Macro { name } => {
                let message = format!("the macro `{name}` is not expanded");
                self.problem(Problem::unsupported(statement.span, message));
            }
            StatementKind::Unknown => self.problem(Problem::syntax(
                statement.span,
                "not understood: what is written here is not simulated",
            )),
            _ => {}
        }
    }

    fn instruction(&mut self, at: usize, span: Span, instruction: &Instruction) {
        if !self.data.in_text() {
            return;
        }
        let qp = match &instruction.predicate {
            None => Some(0),
            Some(operand) => match self.names.meaning(operand) {
                Meaning::Register(register) if register.file == File::Predicate => {
                    Some(register.number)
                }
                _ => None,
            },
        };
        let arguments =
            |operands: &[Operand]| operands.iter().map(|operand| self.arg(operand)).collect();
        let raw = Raw {
            qp: qp.unwrap_or(0),
            mnemonic: instruction.mnemonic.clone(),
            targets: arguments(&instruction.targets),
            sources: arguments(&instruction.sources),
        };
        let op = decode(&raw, &|_| Some(0)).filter(|_| qp.is_some());
        if op.is_none() {
            let message = format!(
                "`{}` is not simulated as it stands here",
                instruction.mnemonic
            );
            self.problem(Problem::unsupported(span, message));
        }
        let op = op.unwrap_or(Op::Unknown);
        self.items.push(Item::Inst(self.sources.len()));
        self.sources.push(Source {
            slot: slot(&raw, &op),
            raw,
            span,
            statement: at,
            op,
        });
    }

    /// Data between instructions: the labels in front of it are the data's.
    fn inline(&mut self) {
        self.data.inline(true);
        while let Some(Item::Label(name)) = self.items.last() {
            let name = name.clone();
            self.data.label(&name);
            self.items.pop();
            self.label_statements.pop();
        }
    }

    fn arg(&self, operand: &Operand) -> Arg {
        match self.names.meaning(operand) {
            Meaning::Register(register) => match register.file {
                File::General => Arg::Gr(register.number),
                File::Float => Arg::Fr(register.number),
                File::Predicate => Arg::Pr(register.number),
                File::Branch => Arg::Br(register.number),
                File::Application => Arg::Ar(register.number),
                File::Control | File::Special => Arg::Other(register),
            },
            Meaning::Number(value) => Arg::Imm(value),
            Meaning::Memory(Reg {
                file: File::General,
                number,
            }) => Arg::Mem(number),
            Meaning::Symbol => match &operand.kind {
                OperandKind::Value(value) => Arg::Symbolic(value.clone()),
                OperandKind::Memory(_) => Arg::Unknown,
            },
            _ => Arg::Unknown,
        }
    }

    fn to_place(&self, source: usize) -> Placed {
        let found = &self.sources[source];
        let (last, ends) = match found.op {
            Op::Branch { kind, .. } => match kind {
                Branch::Call => (false, true),
                Branch::Cond | Branch::Return => (false, false),
                _ => (true, false),
            },
            _ => (false, false),
        };
        Placed {
            slot: found.slot,
            stop: false,
            last,
            ends,
        }
    }

    fn bundle(&mut self) {
        let mut open: Vec<(usize, Placed)> = Vec::new();
        let mut braces: Option<Braces> = None;
        let mut label_statements = std::mem::take(&mut self.label_statements).into_iter();
        for item in std::mem::take(&mut self.items) {
            match item {
                Item::Label(name) => {
                    let statement = label_statements.next().unwrap_or(0);
                    if braces.is_none() {
                        self.flush(&mut open);
                    }
                    self.labels
                        .push((name, self.bundles.len() as u32, statement));
                }
                Item::Inst(source) => open.push((source, self.to_place(source))),
                Item::Stop => match open.last_mut() {
                    Some((_, last)) => last.stop = true,
                    // A stop at the start of a bundle stands behind the one before.
                    None => {
                        if let Some(last) = self.placed.last_mut() {
                            last.3 = true;
                        }
                    }
                },
                Item::Open(span) => {
                    if let Some(before) = &braces {
                        self.malformed(before.at, "the bundle that begins here is not closed");
                    }
                    self.flush(&mut open);
                    braces = Some(Braces {
                        at: span,
                        template: None,
                    });
                }
                Item::Template(name, span) => {
                    if !SHAPES.iter().any(|shape| shape.name == name) {
                        self.malformed(span, format!("there is no template `.{name}`"));
                    }
                    match &mut braces {
                        Some(braces) => braces.template = Some(name),
                        // Without braces a template is advice for one bundle; packing does without.
                        None => self.flush(&mut open),
                    }
                }
                Item::Close(span) => {
                    let Some(braces) = braces.take() else {
                        self.malformed(span, "no bundle is open that this would close");
                        continue;
                    };
                    self.close(braces.template.as_deref(), &mut open);
                }
            }
        }
        if let Some(braces) = &braces {
            self.malformed(braces.at, "the bundle that begins here is not closed");
        }
        self.flush(&mut open);
    }

    fn malformed(&mut self, span: Span, message: impl Into<String>) {
        let problem = Problem::syntax(span, message.into());
        self.malformed.push(problem.clone());
        self.problem(problem);
    }

    fn close(&mut self, template: Option<&str>, open: &mut Vec<(usize, Placed)>) {
        let content: Vec<Placed> = open.iter().map(|it| it.1).collect();
        match braced(template, &content) {
            Some(filled) => self.push(&filled, open),
            None => {
                if template.is_none_or(|name| SHAPES.iter().any(|shape| shape.name == name)) {
                    self.not_held(template, open);
                }
                return self.flush(open);
            }
        }
        open.clear();
    }

    /// Reports the part of a bundle's content that has no place in it.
    fn not_held(&mut self, template: Option<&str>, open: &[(usize, Placed)]) {
        let span = |this: &Self, at: usize| this.sources[open[at].0].span;
        let content: Vec<Placed> = open.iter().map(|it| it.1).collect();
        let wide = |placed: &Placed| if placed.slot == Slot::Long { 2 } else { 1 };
        let slots: usize = content.iter().map(wide).sum();
        if slots > 3 {
            let mut used = 0;
            let beyond = content.iter().position(|it| {
                used += wide(it);
                used > 3
            });
            let at = span(self, beyond.unwrap_or(content.len() - 1));
            let message = format!("a bundle has three slots, and these instructions take {slots}");
            return self.malformed(at, message);
        }
        let all = span(self, 0).to(span(self, content.len() - 1));
        let Some(name) = template else {
            return self.malformed(all, "no template holds these in one bundle");
        };
        // The first that no slot is left for, stops aside.
        let plain: Vec<Placed> = content
            .iter()
            .map(|it| Placed { stop: false, ..*it })
            .collect();
        let most = (0..=plain.len())
            .rev()
            .find(|&count| braced(template, &plain[..count]).is_some())
            .unwrap_or(0);
        match open.get(most) {
            Some(&(source, _)) => {
                let mnemonic = self.sources[source].raw.mnemonic.clone();
                let message =
                    format!("a bundle of template `.{name}` has no slot for `{mnemonic}` here");
                self.malformed(span(self, most), message);
            }
            None => {
                let message =
                    format!("a bundle of template `.{name}` has no stop where these have one");
                self.malformed(all, message);
            }
        }
    }

    fn flush(&mut self, open: &mut Vec<(usize, Placed)>) {
        let content: Vec<Placed> = open.iter().map(|it| it.1).collect();
        let mut rest = &open[..];
        for filled in packed(&content) {
            self.push(&filled, rest);
            rest = &rest[filled.taken..];
        }
        open.clear();
    }

    fn push(&mut self, filled: &Filled, content: &[(usize, Placed)]) {
        let bundle = self.bundles.len() as u32;
        self.bundles
            .push((self.placed.len() as u32, filled.shape as u8));
        let long = SHAPES[filled.shape].slots[1] == Slot::Long;
        for position in 0..if long { 2 } else { 3 } {
            let source = filled.slots[position].and_then(|at| Some(content.get(at)?.0));
            let stop = filled.stops[position] || (long && position == 1 && filled.stops[2]);
            self.placed.push((source, bundle, position as u8, stop));
        }
    }

    fn finish(mut self) -> (Program, Vec<Problem>) {
        self.data.lay_out();
        let mut symbols = Symbols::new(&self.labels, &self.data, self.names.clone());
        let mut insts: Vec<Inst> = Vec::with_capacity(self.placed.len());
        let mut line = 1;
        let mut problems = std::mem::take(&mut self.problems);
        for &(source, bundle, position, stop) in &self.placed {
            let shape = usize::from(self.bundles[bundle as usize].1);
            let unit = SHAPES[shape].slots[usize::from(position)];
            let inst = match source.map(|source| &self.sources[source]) {
                None => Inst {
                    op: Op::Nop,
                    qp: 0,
                    line,
                    native: Slot::Any,
                    unit,
                    position,
                    bundle,
                    stop,
                    mnemonic: SmolStr::new_static("nop"),
                    statement: None,
                },
                Some(source) => {
                    line = self.line(source.span);
                    let op = match source.op {
                        Op::Unknown => Some(Op::Unknown),
                        _ => decode(&source.raw, &|value| symbols.value(value, source.statement)),
                    };
                    if op.is_none() {
                        let message = "an operand has no value in this file";
                        problems.push(Problem::unsupported(source.span, message));
                    }
                    let op = op.unwrap_or(Op::Unknown);
                    Inst {
                        op,
                        qp: source.raw.qp,
                        line,
                        native: source.slot,
                        unit,
                        position,
                        bundle,
                        stop,
                        mnemonic: source.raw.mnemonic.clone(),
                        statement: Some(source.statement as u32),
                    }
                }
            };
            insts.push(inst);
        }
        let mut regions = self
            .data
            .regions(&|value, statement| symbols.value(value, statement));
        regions.extend(symbols.tables());
        symbols.freeze();
        let code = CODE..CODE + 16 * self.bundles.len() as u64;
        let mut functions = self.functions;
        if functions.is_empty() {
            functions = self.globals;
        }
        functions.retain(|name| symbols.defined(name).is_some_and(|at| code.contains(&at)));
        let program = Program {
            insts,
            bundles: self.bundles,
            regions,
            symbols,
            functions,
        };
        problems.truncate(MOST);
        (program, problems)
    }
}
