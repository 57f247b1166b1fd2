//! The events of a run of assembly, by the instructions that the simulator executed: entries, branches, the
//! blocks of every activation in order, and the values of loads. Nothing here asks the code that inserts
//! probes.

use crate::judge;
use oracle::random::c::Kernel;
use simulate::ia64::{Limits, Memory, Outcome, Program, Seen, Timing, run_kept};
use std::collections::BTreeMap;
use syntax::LineIndex;
use syntax::ia64::{Document, StatementKind};

/// A run and its outcome.
pub(crate) struct Ran {
    pub(crate) outcome: Outcome,
    pub(crate) buffers: Vec<Vec<u8>>,
    /// The values of the counters, if the text has them.
    pub(crate) counters: Vec<u64>,
    pub(crate) trace: Trace,
}

/// An activation of a function: the lines of the instructions that executed in it, in order, and whether control jumped there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Activation {
    pub(crate) lines: Vec<(u32, bool)>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    /// The number of times that the branch on each line was executed, and taken.
    pub(crate) branches: BTreeMap<u32, (u64, u64)>,
    pub(crate) activations: Vec<Activation>,
    /// The values that the load on each line left in its register.
    pub(crate) values: BTreeMap<u32, Vec<u64>>,
}

/// The kind of a statement for the watch.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Plain,
    Branch { predicated: bool, loops: bool },
    Call,
    Return,
    Load(u8),
}

struct Watch {
    kinds: Vec<(Kind, u32)>,
    /// The statement behind each instruction.
    next: Vec<u32>,
    stack: Vec<Activation>,
    done: Trace,
    /// The last instruction: statement, whether it executed.
    last: Option<(u32, bool)>,
    entered: bool,
    jumped: bool,
}

impl Watch {
    fn new(document: &Document, text: &str) -> Watch {
        let lines = LineIndex::new(text);
        let mut kinds = Vec::new();
        let mut next = vec![u32::MAX; document.statements.len()];
        let mut before: Option<usize> = None;
        for (at, statement) in document.statements.iter().enumerate() {
            let line = lines.line_column(statement.span.start).0 + 1;
            let StatementKind::Instruction(written) = &statement.kind else {
                kinds.push((Kind::Plain, line));
                continue;
            };
            if let Some(before) = before.replace(at) {
                next[before] = at as u32;
            }
            let kind = match written.base() {
                "br" | "brl" if written.has("call") => Kind::Call,
                "br" if written.has("ret") => Kind::Return,
                "br" | "brl" | "chk" => Kind::Branch {
                    predicated: written.predicate.is_some(),
                    loops: written.base() == "chk"
                        || written.completers().any(|word| {
                            matches!(word, "cloop" | "ctop" | "cexit" | "wtop" | "wexit")
                        }),
                },
                "ld1" | "ld2" | "ld4" | "ld8"
                    if !written
                        .completers()
                        .any(|word| matches!(word, "s" | "sa" | "c" | "a" | "fill")) =>
                {
                    let target = &text[written.targets[0].span.start as usize
                        ..written.targets[0].span.end as usize];
                    match target.trim_start_matches('r').parse() {
                        Ok(number) => Kind::Load(number),
                        Err(_) => Kind::Plain,
                    }
                }
                _ => Kind::Plain,
            };
            kinds.push((kind, line));
        }
        Watch {
            kinds,
            next,
            stack: Vec::new(),
            done: Trace::default(),
            last: None,
            entered: true,
            jumped: false,
        }
    }

    fn see(&mut self, seen: Seen<'_, '_>) {
        let Some(statement) = seen.statement() else {
            return;
        };
        self.settle(Some((statement, &seen)));
        if std::mem::take(&mut self.entered) {
            self.stack.push(Activation::default());
        }
        let (_, line) = self.kinds[statement as usize];
        let jumped = std::mem::take(&mut self.jumped);
        if let Some(top) = self.stack.last_mut() {
            top.lines.push((line, jumped));
        }
        self.last = Some((statement, seen.executes()));
    }

    /// The last instruction is over; the next one shows where it went.
    fn settle(&mut self, next: Option<(u32, &Seen<'_, '_>)>) {
        let Some((last, executed)) = self.last.take() else {
            return;
        };
        let (kind, line) = self.kinds[last as usize];
        match kind {
            Kind::Plain => {}
            Kind::Load(register) => {
                if executed
                    && let Some((_, seen)) = next
                    && let Some(value) = seen.general(register)
                {
                    self.done.values.entry(line).or_default().push(value);
                }
            }
            Kind::Call => self.entered = executed,
            Kind::Branch { predicated, loops } => {
                let taken = match (loops, predicated) {
                    (true, _) => next.is_some_and(|(next, _)| next != self.next[last as usize]),
                    (false, true) => executed,
                    (false, false) => true,
                };
                let row = self.done.branches.entry(line).or_default();
                row.0 += 1;
                row.1 += u64::from(taken);
                self.jumped = taken;
            }
            Kind::Return => {
                let row = self.done.branches.entry(line).or_default();
                row.0 += 1;
                row.1 += u64::from(executed);
                if executed {
                    self.done.activations.extend(self.stack.pop());
                }
            }
        }
    }
}

/// Runs a kernel's code; `counters`: how many there are.
pub(crate) fn ran(
    kernel: &Kernel,
    text: &str,
    counters: usize,
    machine: Option<&str>,
    runs: u32,
) -> Result<Ran, String> {
    let document = syntax::ia64::parse(text);
    let (program, problems) = Program::new(&document, text);
    if !problems.is_empty() || !document.problems.is_empty() {
        return Err(format!("{problems:?} {:?}", document.problems));
    }
    let limits = Limits {
        timing: machine.and_then(Timing::named),
        ..Limits::default()
    };
    let mut memory = Memory::new();
    let (places, arguments) = judge::placed(kernel, &mut memory);
    let mut trace = Trace::default();
    let mut last = None;
    for _ in 0..runs {
        let mut watch = Watch::new(&document, text);
        watch.done = std::mem::take(&mut trace);
        let outcome = run_kept(
            &program,
            &kernel.name,
            &arguments,
            &mut memory,
            &limits,
            &mut |seen| watch.see(seen),
        )
        .map_err(|fault| fault.to_string())?;
        watch.settle(None);
        trace = watch.done;
        if !outcome.violations.is_empty() || !outcome.changed.is_empty() {
            return Err(format!("{:?} {:?}", outcome.violations, outcome.changed));
        }
        last = Some(outcome);
    }
    let place = program.address("__lockstep_counters");
    let words = match (place, counters) {
        (Some(place), 1..) => {
            let bytes = memory.bytes(place, 8 * counters).ok_or("no counters")?;
            let words = bytes
                .chunks_exact(8)
                .map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
            words.collect()
        }
        _ => Vec::new(),
    };
    let buffers = kernel.buffers.iter().zip(&places);
    let buffers = buffers.map(|(buffer, &at)| {
        memory
            .bytes(at, buffer.bytes.len())
            .expect("its memory")
            .to_vec()
    });
    Ok(Ran {
        outcome: last.ok_or("no run")?,
        buffers: buffers.collect(),
        counters: words,
        trace,
    })
}

/// The table of the most frequent values, as the papers describe it, beside the routine in assembly.
pub(crate) fn table(values: &[u64], entries: usize, cleared: u64) -> (u64, Vec<(u64, u64)>) {
    let mut table: Vec<(u64, u64)> = vec![(0, 0); entries];
    let mut total = 0;
    for &value in values {
        total += 1;
        if total % cleared == 0 {
            for entry in &mut table[entries / 2..] {
                entry.1 = 0;
            }
        }
        let known = table
            .iter()
            .position(|&(known, count)| known == value || count == 0);
        let at = known.unwrap_or(entries - 1);
        if table[at].0 != value {
            table[at] = (value, 0);
        }
        table[at].1 += 1;
        if at > 0 && table[at - 1].1 < table[at].1 {
            table.swap(at - 1, at);
        }
    }
    table.retain(|&(_, count)| count > 0);
    table.sort_by_key(|&(value, count)| (std::cmp::Reverse(count), value));
    (total, table)
}

/// The functions of a text of C as assembly.
pub(crate) fn emitted(text: &str, machine: &str, pipelined: bool) -> String {
    use ir::lower::c_family::{LowerOptions, lower_unit};
    use lockstep_codegen::target::ia64::emit::{Options, emit_items};
    let items = syntax::c_family::parse_text(text, syntax::c_family::Dialect::C);
    let all = lower_unit(&items, &LowerOptions::new(ir::Language::C));
    let modules: Vec<&ir::Module> = all.iter().map(|(_, lowered)| &lowered.module).collect();
    let table = lockstep_codegen::machine::named(machine).expect("a table");
    let options = Options {
        decisions: 100,
        pipeline: pipelined.then(Default::default),
        ..Options::default()
    };
    let epic = table.epic().expect("explicit groups");
    emit_items(&modules, epic, &options).1.text
}

/// The words that a run leaves: its result and its buffers.
pub(crate) fn left(kernel: &Kernel, ran: &Ran) -> Result<(Option<u64>, Vec<Vec<u8>>), String> {
    let result = match kernel.returns {
        Some(ty) => Some(judge::returned(ty, &ran.outcome)?),
        None => None,
    };
    Ok((result, ran.buffers.clone()))
}
