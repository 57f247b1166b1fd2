//! A function of a file as steps that stand one behind the other, and its control flow.
//!
//! ```text
//! f:  { .mib  .save rp, r33  mov r33 = b0  nop.i 0  (p6) br.cond .L1 ;; }
//! label f | mov, with its directive | nop | branch to .L1 or on | ...
//! ```
//!
//! A step begins where what belongs to it begins in the text: braces, templates and directives for the unwinder belong to
//! the instruction behind them, stops and closing braces to the one in front. So the steps' texts together are the
//! function's.

use super::refusal::Refusal;
use crate::target::ia64::listing::Listing;
use isa::ia64::{Branch, Class, File, Inst, Reg};
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use std::ops::Range;
use syntax::LineIndex;
use syntax::ia64::names::{Meaning, Names};
use syntax::ia64::{Argument, Directive, Document, Expr, Instruction, OperandKind, StatementKind};

/// What ties an instruction to the description of the unwinder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Tie {
    None,
    /// A directive names it.
    Named,
    /// A region begins with it: what stands in front and behind stays there.
    Region,
}

/// An instruction of the text.
#[derive(Clone, Debug)]
pub(super) struct Code {
    /// Of the listing.
    pub item: u32,
    pub inst: Inst,
    pub line: u32,
    /// Its text, without a stop.
    pub text: String,
    /// True if the text is not as it was.
    pub changed: bool,
    pub stop: bool,
    pub tie: Tie,
    /// Comments and directives in front.
    pub above: Vec<String>,
    pub beside: Option<String>,
    pub below: Vec<String>,
    pub bundle: Option<u32>,
    /// The end of what stands in front belongs to its text.
    pub joined: bool,
    /// The label that a branch goes to.
    pub target: Option<SmolStr>,
}

#[derive(Clone, Debug)]
pub(super) enum StepKind {
    Label,
    /// A directive, or a stop alone.
    Plain,
    Code(Box<Code>),
}

#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Where its text begins; it ends where the next begins.
    pub start: usize,
    pub kind: StepKind,
}

/// The frame that `alloc` gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Frame {
    pub step: usize,
    pub inputs: u32,
    pub locals: u32,
    pub outputs: u32,
}

impl Frame {
    pub(super) fn size(self) -> u32 {
        self.inputs + self.locals + self.outputs
    }
    /// The number of the first register of the outputs.
    pub(super) fn first_output(self) -> u32 {
        32 + self.inputs + self.locals
    }
}

/// Where an edge goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Goal {
    Block(usize),
    /// Out of the function.
    Exit,
}

/// The way on which an edge leaves its block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum How {
    On,
    Taken,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FlowStep {
    pub from: usize,
    pub to: Goal,
    pub how: How,
}

/// Instructions that execute one behind the other; calls are among them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Block {
    /// Its labels included.
    pub steps: Range<usize>,
    pub first: Option<usize>,
    /// The branch at its end.
    pub branch: Option<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct Function {
    pub name: SmolStr,
    /// Bytes of the text, behind `.proc` to `.endp`.
    pub range: Range<usize>,
    /// Of the document.
    pub statements: Range<usize>,
    /// Names in force in front of it.
    pub names: Names,
    pub steps: Vec<Step>,
    pub blocks: Vec<Block>,
    pub edges: Vec<FlowStep>,
    pub reached: Vec<bool>,
    pub frame: Option<Frame>,
    pub calls: bool,
    /// Registers that it names.
    pub named: Vec<Reg>,
    /// General registers that its author left to others.
    pub given: Vec<u8>,
    pub line: u32,
}

/// The file that functions are read from.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub document: &'a Document,
    pub text: &'a str,
    pub listing: &'a Listing,
    pub lines: &'a LineIndex,
}

impl Source<'_> {
    pub(super) fn line(&self, at: u32) -> u32 {
        self.lines.line_column(at).0 + 1
    }
}

/// The functions of a file with the statements between `.proc` and `.endp`, those two left out; none where `.endp` is missing.
pub(super) fn functions(document: &Document) -> Vec<(SmolStr, Range<usize>)> {
    let mut out = Vec::new();
    let mut open: Option<(SmolStr, usize)> = None;
    for (at, statement) in document.statements.iter().enumerate() {
        let StatementKind::Directive(directive) = &statement.kind else {
            continue;
        };
        match &*directive.name {
            ".proc" => {
                let before = open.take();
                out.extend(before.map(|(name, _)| (name, at..at)));
                let name = directive
                    .arguments
                    .iter()
                    .find_map(|argument| match argument {
                        Argument::Expr(Expr::Name(name)) => Some(name.trim_end_matches('#').into()),
                        _ => None,
                    });
                open = name.map(|name| (name, at + 1));
            }
            ".endp" => {
                if let Some((name, start)) = open.take() {
                    out.push((name, start..at));
                }
            }
            _ => {}
        }
    }
    let end = document.statements.len();
    out.extend(open.map(|(name, _)| (name, end..end)));
    out
}

/// What a file says of labels.
#[derive(Default)]
pub(super) struct Outline {
    /// Names that something else than a branch mentions: data, and constants that instructions load.
    mentioned: FxHashSet<SmolStr>,
    /// Names for other files.
    global: FxHashSet<SmolStr>,
    /// By name: the first and the last statement that branches there.
    jumps: FxHashMap<SmolStr, (usize, usize)>,
}

impl Outline {
    pub(super) fn new(document: &Document) -> Outline {
        let mut out = Outline::default();
        let mut names = Vec::new();
        for (index, statement) in document.statements.iter().enumerate() {
            names.clear();
            match &statement.kind {
                StatementKind::Directive(directive) => {
                    for argument in &directive.arguments {
                        if let Argument::Expr(value) = argument {
                            names_of(value, &mut names);
                        }
                    }
                    match &*directive.name {
                        ".global" | ".globl" | ".weak" => out.global.extend(names.drain(..)),
                        name if !name.starts_with('.') || is_data(name) => {
                            out.mentioned.extend(names.drain(..));
                        }
                        _ => {}
                    }
                }
                StatementKind::Instruction(one) => {
                    for operand in &one.sources {
                        if let OperandKind::Value(value) = &operand.kind {
                            names_of(value, &mut names);
                        }
                    }
                    match one.base() {
                        "brp" => {}
                        "br" | "brl" | "chk" => {
                            for name in names.drain(..) {
                                let range = out.jumps.entry(name).or_insert((index, index));
                                range.1 = index;
                            }
                        }
                        _ => out.mentioned.extend(names.drain(..)),
                    }
                }
                _ => {}
            }
        }
        out
    }

    /// # Errors
    /// A function is entered elsewhere than at its start, or may be.
    pub(super) fn entered(
        &self,
        document: &Document,
        name: &SmolStr,
        statements: &Range<usize>,
    ) -> Result<(), Refusal> {
        let own = &document.statements[statements.clone()];
        // Where such branches go is told beside them.
        let indirect = own.iter().any(|statement| match &statement.kind {
            StatementKind::Instruction(one) => {
                matches!(one.base(), "br" | "brl")
                    && !one.has("ret")
                    && !one.has("call")
                    && matches!(one.sources.last().map(|operand| &operand.kind), Some(OperandKind::Value(Expr::Name(name))) if name.len() == 2 && name.starts_with('b'))
            }
            _ => false,
        });
        for statement in own {
            let StatementKind::Label(label) = &statement.kind else {
                continue;
            };
            if label == name {
                continue;
            }
            let jumps = self.jumps.get(label);
            let elsewhere = jumps.is_some_and(|(first, last)| {
                !statements.contains(first) || !statements.contains(last)
            });
            let label = label.clone();
            if elsewhere || self.global.contains(&label) {
                return Err(Refusal::Entered { label });
            }
            if !indirect && self.mentioned.contains(&label) {
                return Err(Refusal::AddressTaken { label });
            }
        }
        Ok(())
    }
}

fn is_data(name: &str) -> bool {
    matches!(
        name,
        ".byte" | ".short" | ".hword" | ".2byte" | ".long" | ".int" | ".4byte" | ".quad" | ".8byte"
    )
}

fn names_of(value: &Expr, out: &mut Vec<SmolStr>) {
    match value {
        Expr::Name(name) => out.push(name.trim_end_matches('#').into()),
        Expr::Function {
            argument: Some(inner),
            ..
        } => names_of(inner, out),
        Expr::Unary { of, .. } => names_of(of, out),
        Expr::Binary { left, right, .. } => {
            names_of(left, out);
            names_of(right, out);
        }
        _ => {}
    }
}

/// Directives that describe the frame to the unwinder; `None` for others.
fn tie(directive: &Directive) -> Option<Tie> {
    Some(match &*directive.name {
        ".prologue" | ".body" | ".label_state" | ".copy_state" | ".restore" | ".epilogue" => {
            Tie::Region
        }
        ".save" | ".savesp" | ".savepsp" | ".save.b" | ".save.f" | ".save.g" | ".save.gf"
        | ".spill" | ".spillreg" | ".spillsp" | ".spillpsp" | ".spillreg.p" | ".spillsp.p"
        | ".spillpsp.p" | ".restorereg" | ".restorereg.p" | ".altrp" | ".fframe" | ".vframe"
        | ".vframesp" | ".vframepsp" | ".unwabi" => Tie::Named,
        _ => return None,
    })
}

/// Reads a function: `statements` of the document, `names` in force in front of them.
///
/// # Errors
/// Something in it is not understood well enough to be moved.
pub(super) fn read(
    source: Source<'_>,
    name: &SmolStr,
    statements: Range<usize>,
    names: &Names,
) -> Result<Function, Refusal> {
    if statements.is_empty() {
        let closed = source.document.statements.get(statements.end);
        let closed = closed.is_some_and(|statement| {
            matches!(&statement.kind, StatementKind::Directive(directive) if directive.name == ".endp")
        });
        return Err(if closed {
            Refusal::Empty
        } else {
            Refusal::Unclosed
        });
    }
    let mut reader = Reader {
        source,
        open: false,
        steps: Vec::new(),
        pending: None,
        above: Vec::new(),
        joined: false,
        tie: Tie::None,
        targets: Vec::new(),
    };
    let all = &source.document.statements;
    let listing = source.listing;
    let first = listing
        .items
        .partition_point(|item| (item.statement as usize) < statements.start);
    let end = listing
        .items
        .partition_point(|item| (item.statement as usize) < statements.end);
    let items = first..end;
    let from = listing.unread.partition_point(|&at| (at as usize) < first);
    if let Some(&at) = listing.unread[from..]
        .iter()
        .take_while(|&&at| (at as usize) <= end)
        .find(|&&at| (first..=end).contains(&(at as usize)) && first < end)
        .filter(|&&at| {
            // What stands at the very ends may lie outside.
            let unread = |index: &usize| {
                matches!(
                    all[*index].kind,
                    StatementKind::Macro { .. }
                        | StatementKind::Unknown
                        | StatementKind::Preprocessor
                )
            };
            (at as usize) > first && (at as usize) < end
                || statements.clone().any(|index| unread(&index))
        })
    {
        let item = &listing.items[(at as usize).min(listing.items.len() - 1)];
        let line = source.line(all[item.statement as usize].span.start);
        return Err(Refusal::Unread { line });
    }
    let before = names;
    let mut names = before.clone();
    let mut item = first;
    for index in statements.clone() {
        let statement = &all[index];
        reader.statement(index, &mut item, &names)?;
        names.see(statement, source.text);
    }
    if items.is_empty() {
        return Err(Refusal::Empty);
    }
    let start = all[statements.start].span.start as usize;
    let stop = all
        .get(statements.end)
        .map_or(source.text.len(), |last| last.span.start as usize);
    if reader.open {
        let line = source.line(all[statements.end - 1].span.start);
        return Err(Refusal::Braces { line });
    }
    let mut steps = reader.steps;
    if let Some(at) = reader.pending {
        // Directives behind the last instruction.
        steps.push(Step {
            start: at,
            kind: StepKind::Plain,
        });
    }
    comments(source, &mut steps, stop);
    let mut function = Function {
        name: name.clone(),
        range: start..stop,
        line: source.line(start as u32),
        statements: statements.clone(),
        names: before.clone(),
        blocks: Vec::new(),
        edges: Vec::new(),
        reached: Vec::new(),
        frame: None,
        calls: false,
        named: Vec::new(),
        given: given(source, start..stop),
        steps,
    };
    function.frame = frame(source, &function)?;
    for step in &function.steps {
        if let StepKind::Code(code) = &step.kind {
            let inst = &code.inst;
            function.calls |= inst.branch == Some(Branch::Call);
            let own = inst.defs.iter().map(|def| def.register);
            function.named.extend(inst.uses.iter().copied().chain(own));
        }
    }
    function.named.sort_unstable();
    function.named.dedup();
    flow(&mut function, &reader.targets)?;
    Ok(function)
}

/// Something stands between braces, or without them, that should not.
struct Unbraced;

struct Reader<'a> {
    source: Source<'a>,
    /// Within braces.
    open: bool,
    steps: Vec<Step>,
    /// Where the text of the next instruction begins.
    pending: Option<usize>,
    above: Vec<String>,
    joined: bool,
    tie: Tie,
    /// Of local labels: number, step.
    targets: Vec<(SmolStr, usize)>,
}

impl Reader<'_> {
    fn statement(&mut self, index: usize, item: &mut usize, names: &Names) -> Result<(), Refusal> {
        let source = self.source;
        let statement = &source.document.statements[index];
        let span = statement.span;
        let start = span.start as usize;
        let line = source.line(span.start);
        self.braces(&statement.kind)
            .map_err(|Unbraced| Refusal::Braces { line })?;
        match &statement.kind {
            StatementKind::Open | StatementKind::Template(_) => {
                self.pending.get_or_insert(start);
            }
            StatementKind::Close | StatementKind::Stop => {
                let stops = statement.kind == StatementKind::Stop;
                match self.steps.last_mut().map(|step| &mut step.kind) {
                    Some(StepKind::Code(code)) => {
                        code.stop |= stops;
                        // Its text belongs to what the directives in front say something of.
                        self.joined |= self.pending.is_some();
                    }
                    _ if stops && self.pending.is_none() => self.plain(start, span.end as usize),
                    _ if stops => {}
                    _ => return Err(Refusal::Braces { line }),
                }
            }
            StatementKind::Label(label) => {
                let at = self.pending.take().unwrap_or(start);
                // Directives in front are printed with the label; they say something of the instruction behind it.
                if self.tie == Tie::Named || self.joined {
                    return Err(Refusal::Unread { line });
                }
                self.above.clear();
                let is_local = label.bytes().all(|byte| byte.is_ascii_digit());
                if !is_local && self.targets.iter().any(|(known, _)| known == label) {
                    let label = label.clone();
                    return Err(Refusal::LabelTwice { line, label });
                }
                self.targets.push((label.clone(), self.steps.len()));
                self.steps.push(Step {
                    start: at,
                    kind: StepKind::Label,
                });
            }
            StatementKind::Tag(_) => return Err(Refusal::Tag { line }),
            StatementKind::Directive(directive) => match tie(directive) {
                Some(tie) => {
                    self.pending.get_or_insert(start);
                    self.tie = self.tie.max(tie);
                    let text = source.text[start..span.end as usize].trim();
                    self.above.push(text.to_owned());
                }
                None => match &*directive.name {
                    ".auto" => return Err(Refusal::Automatic),
                    ".text" | ".section" | ".data" | ".bss" | ".rodata" | ".sdata" | ".sbss"
                    | ".pushsection" | ".popsection" | ".previous" | ".handlerdata" | ".skip"
                    | ".space" | ".zero" => return Err(Refusal::Data { line }),
                    name if !name.starts_with('.') || is_data(name) => {
                        return Err(Refusal::Data { line });
                    }
                    ".entry" => {
                        let label =
                            directive
                                .arguments
                                .iter()
                                .find_map(|argument| match argument {
                                    Argument::Expr(Expr::Name(name)) => Some(name.clone()),
                                    _ => None,
                                });
                        let label = label.unwrap_or_default();
                        return Err(Refusal::Entered { label });
                    }
                    _ => self.plain(start, span.end as usize),
                },
            },
            StatementKind::Assign { .. } => self.plain(start, span.end as usize),
            StatementKind::Preprocessor | StatementKind::Macro { .. } | StatementKind::Unknown => {
                return Err(Refusal::Unread { line });
            }
            StatementKind::Instruction(one) => {
                let listed = &source.listing.items[*item];
                debug_assert_eq!(listed.statement as usize, index, "items are in order");
                if listed.opaque.is_some() {
                    return Err(Refusal::Opaque { line });
                }
                let begin = self.pending.take().unwrap_or(start);
                let text = source.text[start..span.end as usize].trim().to_owned();
                self.steps.push(Step {
                    start: begin,
                    kind: StepKind::Code(Box::new(Code {
                        item: *item as u32,
                        inst: listed.inst.clone(),
                        line,
                        text,
                        changed: false,
                        stop: false,
                        tie: std::mem::replace(&mut self.tie, Tie::None),
                        above: std::mem::take(&mut self.above),
                        beside: None,
                        below: Vec::new(),
                        bundle: listed.bundle,
                        joined: std::mem::replace(&mut self.joined, false),
                        target: target(one, &listed.inst, names),
                    })),
                });
                *item += 1;
            }
        }
        Ok(())
    }

    /// Follows braces: between them stand instructions, stops and directives for the unwinder.
    fn braces(&mut self, kind: &StatementKind) -> Result<(), Unbraced> {
        let is_right = match kind {
            StatementKind::Open => !std::mem::replace(&mut self.open, true),
            StatementKind::Close => std::mem::replace(&mut self.open, false),
            StatementKind::Label(_) | StatementKind::Assign { .. } => !self.open,
            StatementKind::Directive(directive) => !self.open || tie(directive).is_some(),
            _ => true,
        };
        is_right.then_some(()).ok_or(Unbraced)
    }

    /// A statement that is printed as it is.
    fn plain(&mut self, start: usize, end: usize) {
        if self.pending.is_some() {
            // Behind a directive of the next instruction it goes with that instruction, too.
            let text = self.source.text[start..end].trim();
            self.above.push(text.to_owned());
            return;
        }
        self.steps.push(Step {
            start,
            kind: StepKind::Plain,
        });
    }
}

/// The label of a branch or a check that goes to one.
fn target(one: &Instruction, inst: &Inst, names: &Names) -> Option<SmolStr> {
    if matches!(inst.branch, None | Some(Branch::Return | Branch::Call)) {
        return None;
    }
    let operand = one.sources.last()?;
    if names.meaning(operand) != Meaning::Symbol {
        return None;
    }
    match &operand.kind {
        OperandKind::Value(Expr::Name(name)) => Some(name.trim_end_matches('#').into()),
        _ => None,
    }
}

/// Gives comments to the instructions that they stand beside or in front of.
fn comments(source: Source<'_>, steps: &mut [Step], end: usize) {
    let all = &source.document.comments;
    let mut carried: Vec<String> = Vec::new();
    for at in 0..steps.len() {
        let next = steps.get(at + 1).map_or(end, |step| step.start);
        let start = steps[at].start;
        let StepKind::Code(code) = &mut steps[at].kind else {
            // Those of labels and directives are printed with them.
            continue;
        };
        let statement = source.listing.items[code.item as usize].statement;
        let span = source.document.statements[statement as usize].span;
        if !carried.is_empty() {
            let own = std::mem::replace(&mut code.above, std::mem::take(&mut carried));
            code.above.extend(own);
        }
        let first = all.partition_point(|comment| (comment.start as usize) < start);
        let mut above = Vec::new();
        for comment in all[first..]
            .iter()
            .take_while(|one| (one.start as usize) < next)
        {
            let text = source.text[comment.start as usize..comment.end as usize].to_owned();
            if comment.end <= span.start {
                above.push(text);
            } else if comment.start >= span.end {
                let between = &source.text[span.end as usize..comment.start as usize];
                let is_beside = !between.contains('\n') && !text.contains('\n');
                match code.beside {
                    None if is_beside => code.beside = Some(text),
                    _ => code.below.push(text),
                }
            }
        }
        if !above.is_empty() {
            above.append(&mut code.above);
            code.above = above;
        }
    }
}

/// General registers in comments `lockstep: free r20, r21` of the function.
fn given(source: Source<'_>, range: Range<usize>) -> Vec<u8> {
    let mut out = Vec::new();
    let comments = &source.document.comments;
    let first = comments.partition_point(|comment| (comment.start as usize) < range.start);
    let own = comments[first..].iter();
    for comment in own.take_while(|comment| (comment.start as usize) < range.end) {
        let text = &source.text[comment.start as usize..comment.end as usize];
        let Some((_, list)) = text.split_once("lockstep: free ") else {
            continue;
        };
        for word in list.split([',', ' ', '*', '/']) {
            let number = word
                .trim()
                .strip_prefix('r')
                .and_then(|digits| digits.parse().ok());
            out.extend(
                number
                    .filter(|number: &u8| (2..128).contains(number) && !matches!(number, 12 | 13)),
            );
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}

/// Labels in a comment `targets: .L1, .L2` beside a branch.
fn told_targets(code: &Code) -> Vec<SmolStr> {
    let Some((_, list)) = code
        .beside
        .as_deref()
        .and_then(|text| text.split_once("targets: "))
    else {
        return Vec::new();
    };
    let words = list.split([',', ' ', '*', '/']).map(str::trim);
    words
        .filter(|word| !word.is_empty())
        .map(SmolStr::from)
        .collect()
}

fn frame(source: Source<'_>, function: &Function) -> Result<Option<Frame>, Refusal> {
    let mut found = None;
    let mut count = 0;
    for (step, code) in function.codes() {
        if code.inst.class != Class::Alloc {
            continue;
        }
        count += 1;
        let line = code.line;
        if code.inst.predicate != 0 {
            return Err(Refusal::AllocPlace { line });
        }
        let statement = source.listing.items[code.item as usize].statement as usize;
        let StatementKind::Instruction(one) = &source.document.statements[statement].kind else {
            continue;
        };
        let sizes = one
            .sources
            .iter()
            .filter_map(|operand| match &operand.kind {
                OperandKind::Value(value) => function.names.number(value),
                OperandKind::Memory(_) => None,
            })
            .filter_map(|size| u32::try_from(size).ok());
        let sizes: Vec<u32> = sizes.collect();
        let [inputs, locals, outputs, _] = sizes[..] else {
            return Err(Refusal::AllocSizes { line });
        };
        found = Some(Frame {
            step,
            inputs,
            locals,
            outputs,
        });
    }
    match count {
        0 | 1 => Ok(found),
        count => Err(Refusal::Allocs { count }),
    }
}

impl Function {
    pub(super) fn code(&self, step: usize) -> Option<&Code> {
        match &self.steps[step].kind {
            StepKind::Code(code) => Some(code),
            _ => None,
        }
    }
    pub(super) fn codes(&self) -> impl Iterator<Item = (usize, &Code)> {
        (0..self.steps.len()).filter_map(|at| Some((at, self.code(at)?)))
    }
    /// The line of a block's first instruction.
    pub(super) fn line_of(&self, block: usize) -> u32 {
        let first = self.blocks[block].first.and_then(|step| self.code(step));
        first.map_or(self.line, |code| code.line)
    }
}

/// Divides the steps into blocks and connects them.
fn flow(function: &mut Function, labels: &[(SmolStr, usize)]) -> Result<(), Refusal> {
    let steps = &function.steps;
    let mut starts = vec![0];
    for (at, step) in steps.iter().enumerate() {
        match &step.kind {
            // Labels in a row are one.
            StepKind::Label if at > 0 && !matches!(steps[at - 1].kind, StepKind::Label) => {
                starts.push(at)
            }
            StepKind::Code(code) => {
                let branch = code.inst.branch;
                if branch.is_some() && branch != Some(Branch::Call) {
                    starts.push(at + 1);
                }
            }
            _ => {}
        }
    }
    starts.retain(|&at| at < steps.len());
    starts.sort_unstable();
    starts.dedup();
    let ends = starts.iter().skip(1).copied().chain([steps.len()]);
    let code = |at: usize| function.code(at);
    let mut blocks: Vec<Block> = Vec::new();
    for (&start, end) in starts.iter().zip(ends) {
        let codes: Vec<usize> = (start..end).filter(|&at| code(at).is_some()).collect();
        let labelled = (start..end).any(|at| matches!(steps[at].kind, StepKind::Label));
        if codes.is_empty() && !labelled && !blocks.is_empty() {
            // Directives between two blocks go with the one in front.
            let last = blocks.len() - 1;
            blocks[last].steps.end = end;
            continue;
        }
        let branch = codes.last().copied().filter(|&at| {
            let branch = code(at).and_then(|code| code.inst.branch);
            branch.is_some() && branch != Some(Branch::Call)
        });
        blocks.push(Block {
            steps: start..end,
            first: codes.first().copied(),
            branch,
        });
    }
    let mut by_label: FxHashMap<&SmolStr, usize> = FxHashMap::default();
    for (name, step) in labels {
        let block = blocks.partition_point(|block| block.steps.end <= *step);
        by_label.insert(name, block);
    }
    let find = |name: &SmolStr, from: usize| -> Option<usize> {
        let bytes = name.as_bytes();
        let (digits, last) = bytes.split_at(bytes.len() - 1);
        let is_local = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        match last {
            b"b" | b"f" if is_local => {
                let number = &name[..name.len() - 1];
                let mut same = labels.iter().filter(|(label, _)| label == number);
                let step = match last {
                    b"b" => same.rfind(|(_, step)| *step <= from),
                    _ => same.find(|(_, step)| *step > from),
                };
                step.map(|(_, step)| blocks.partition_point(|block| block.steps.end <= *step))
            }
            _ => by_label.get(name).copied(),
        }
    };
    let mut edges = Vec::new();
    let count = blocks.len();
    for (from, block) in blocks.iter().enumerate() {
        let mut add = |to: Goal, how: How| edges.push(FlowStep { from, to, how });
        let mut goes_on = true;
        if let Some(step) = block.branch {
            let Some(code) = code(step) else { continue };
            let unconditional = code.inst.predicate == 0
                && matches!(code.inst.branch, Some(Branch::Jump | Branch::Return));
            goes_on = !unconditional;
            match (code.inst.branch, &code.target) {
                (Some(Branch::Return), _) => add(Goal::Exit, How::Taken),
                (_, Some(label)) => match find(label, step) {
                    Some(to) => add(Goal::Block(to), How::Taken),
                    None => add(Goal::Exit, How::Taken),
                },
                (_, None) => {
                    let told = told_targets(code);
                    if told.is_empty() {
                        return Err(Refusal::Indirect { line: code.line });
                    }
                    for label in &told {
                        match find(label, step) {
                            Some(to) => add(Goal::Block(to), How::Taken),
                            None => return Err(Refusal::Indirect { line: code.line }),
                        }
                    }
                }
            }
        }
        if goes_on && from + 1 < count {
            add(Goal::Block(from + 1), How::On);
        }
    }
    let mut reached = vec![false; count];
    let mut work = vec![0];
    let mut leaves = false;
    reached[0] = true;
    while let Some(block) = work.pop() {
        let mut any = false;
        for edge in edges.iter().filter(|edge| edge.from == block) {
            any = true;
            match edge.to {
                Goal::Block(to) if !reached[to] => {
                    reached[to] = true;
                    work.push(to);
                }
                Goal::Block(_) => {}
                Goal::Exit => leaves = true,
            }
        }
        let last = blocks[block].branch.and_then(code);
        let ends = last.is_some_and(|code| {
            code.inst.predicate == 0
                && matches!(code.inst.branch, Some(Branch::Jump | Branch::Return))
        });
        if !any || block + 1 == count && !ends {
            return Err(Refusal::RunsOff);
        }
    }
    if !leaves {
        return Err(Refusal::NoReturn);
    }
    if let Some(frame) = function.frame {
        let line = function.code(frame.step).map_or(0, |code| code.line);
        if !blocks[0].steps.contains(&frame.step) {
            return Err(Refusal::AllocPlace { line });
        }
        if edges
            .iter()
            .any(|edge| reached[edge.from] && edge.to == Goal::Block(0))
        {
            return Err(Refusal::LoopAtEntry);
        }
    }
    edges.retain(|edge| reached[edge.from]);
    function.blocks = blocks;
    function.edges = edges;
    function.reached = reached;
    Ok(())
}

/// The general registers that are stacked, named by an instruction as numbers.
pub(super) fn stacked(register: Reg) -> bool {
    register.file == File::General && register.number >= 32
}
