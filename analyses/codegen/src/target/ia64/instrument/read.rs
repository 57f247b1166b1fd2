//! A function read from the statements of a file.
//!
//! ```text
//! { .mib  .save rp, r33  mov r33 = b0 ...      one step: braces, template, directive and instruction
//! ```
//!
//! One pass over the statements, then one over the comments. Code that is not understood well enough to be
//! moved is refused.

use super::flow::flow;
use super::function::{Code, Frame, Function, Source, Step, StepKind, Tie};
use super::outline::is_data;
use super::refusal::Refusal;
use isa::ia64::{Branch, Class, Inst};
use smol_str::SmolStr;
use std::ops::Range;
use syntax::ia64::names::{Meaning, Names};
use syntax::ia64::{Argument, Directive, Document, Expr, Instruction, OperandKind, StatementKind};

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

/// The error of text between braces, or without them, that should not be there.
struct Unbraced;

struct Reader<'a> {
    source: Source<'a>,
    /// Within braces.
    open: bool,
    steps: Vec<Step>,
    /// The offset at which the text of the next instruction begins.
    pending: Option<usize>,
    above: Vec<String>,
    joined: bool,
    tie: Tie,
    /// The places of local labels: number, step.
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
                // Directives in front are printed with the label; they describe the instruction behind it.
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
            StatementKind::Instruction(written) => {
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
                        target: target(written, &listed.inst, names),
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
            // Text behind a directive of the next instruction belongs to that instruction, too.
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
fn target(written: &Instruction, inst: &Inst, names: &Names) -> Option<SmolStr> {
    if matches!(inst.branch, None | Some(Branch::Return | Branch::Call)) {
        return None;
    }
    let operand = written.sources.last()?;
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
            .take_while(|written| (written.start as usize) < next)
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
        let StatementKind::Instruction(written) = &source.document.statements[statement].kind
        else {
            continue;
        };
        let sizes = written
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
