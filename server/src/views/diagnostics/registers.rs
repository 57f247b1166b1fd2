//! Findings about registers and shared memory in words.

use super::{Diagnostic, Related};
use crate::config::Level;
use crate::db::{self, Db, File, Item};
use crate::derive::register_findings::{RegisterFinding, RegisterReason, SharedLimit, of_item};
use crate::derive::register_rows::LiveRow;
use crate::derive::registers::Registers;
use crate::program;
use crate::views::pressure::{budgeted, label, reason, remedy};
use facts::Code;
use syntax::Span;

/// Variables that a message names.
const NAMED: usize = 4;

/// The findings about an item's kernels. Of the instances of a template, the first one is reported.
pub(super) fn findings(db: &dyn Db, file: File, item: Item<'_>) -> Vec<Diagnostic> {
    let mut out: Vec<Diagnostic> = Vec::new();
    let words = Words { db, file, item };
    for each in of_item(db, file, item) {
        let told = words.diagnostic(&each);
        let same = |known: &Diagnostic| known.code == told.code && known.span == told.span;
        if !out.iter().any(same) {
            out.push(told);
        }
    }
    out
}

struct Words<'a> {
    db: &'a dyn Db,
    file: File,
    item: Item<'a>,
}

impl Words<'_> {
    fn absolute(&self, span: Span) -> Span {
        span.shifted(self.item.place(self.db).start)
    }

    fn line(&self, span: Span) -> u32 {
        let lines = db::line_index(self.db, self.file);
        lines.line_column(self.absolute(span).start).0 + 1
    }

    /// The name of a variable, or of a temporary the place of its expression.
    fn name(&self, row: &LiveRow) -> String {
        match (&row.name, row.defined) {
            (Some(name), _) => format!("`{name}`"),
            (None, Some(span)) => format!("an expression of line {}", self.line(span)),
            (None, None) => "a temporary".to_owned(),
        }
    }

    /// `a`, `b` and 3 more
    fn listed(&self, all: &[LiveRow]) -> String {
        let each = all.iter().take(NAMED).map(|it| self.name(it));
        let mut text = each.collect::<Vec<_>>().join(", ");
        if all.len() > NAMED {
            text += &format!(" and {} more", all.len() - NAMED);
        }
        text
    }

    /// The same findings, each with its subject.
    fn names(&self, all: &[LiveRow], of: impl Fn(&LiveRow) -> String) -> String {
        let each = all.iter().take(NAMED);
        let each = each.map(|it| format!("{} ({})", self.name(it), of(it)));
        let mut text = each.collect::<Vec<_>>().join(", ");
        if all.len() > NAMED {
            text += &format!(" and {} more", all.len() - NAMED);
        }
        text
    }

    fn diagnostic(&self, it: &RegisterFinding) -> Diagnostic {
        let (code, level, message) = self.told(it);
        let source = program::text(self.file.source(self.db));
        let span = first_line(source, self.absolute(it.place));
        let spoken = it.variables.iter().take(NAMED).filter_map(|variable| {
            let span = first_line(source, self.absolute(variable.defined?));
            Some(Related {
                file: self.file,
                span,
                text: format!("{} comes from here", self.name(variable)),
            })
        });
        Diagnostic {
            code: code.name(),
            level,
            span,
            message,
            related: spoken.collect(),
            fix: None,
            item: self.item.name(self.db).to_string(),
            finding: Some(code),
        }
    }

    fn told(&self, finding: &RegisterFinding) -> (Code, Level, String) {
        let kernel = &finding.kernel;
        // Measured by an assembler, or estimated.
        let level = |known: &Registers| match known.figure {
            Some(_) => Level::Warning,
            None => Level::Information,
        };
        match &finding.reason {
            RegisterReason::Spill {
                known,
                budget,
                enough,
            } => {
                let mut message = match &known.figure {
                    Some(figure) => format!(
                        "`{kernel}` spills {} bytes of stores and {} of loads (ptxas {}): {}",
                        figure.spill_store_bytes,
                        figure.spill_load_bytes,
                        figure.version,
                        budgeted(known.count, budget)
                    ),
                    None => format!(
                        "`{kernel}` needs about {} registers (estimate): {}",
                        known.count,
                        budgeted(known.count, budget)
                    ),
                };
                if !finding.variables.is_empty() {
                    let more = if *enough { "" } else { " not enough:" };
                    let names = self.names(&finding.variables, |it| remedy(it.remedy));
                    message += &format!("; cheapest to be without at the peak,{more} {names}");
                }
                (Code::LaunchBoundsSpill, level(known), message)
            }
            RegisterReason::Cliff { known, most, step } => {
                let message = format!(
                    "`{kernel}` takes {} registers ({}): with {most} occupancy is {:.0} % in place of {:.0} %",
                    known.count,
                    label(known),
                    step.then.percent(),
                    percent(known),
                );
                (Code::OccupancyCliff, Level::Information, message)
            }
            RegisterReason::Peak {
                known,
                live,
                lines,
                rest,
            } => {
                let more = match lines {
                    1 => "this line".to_owned(),
                    lines => format!("this line and {} more", lines - 1),
                };
                let mut message = format!(
                    "{more} of `{kernel}` make it need its registers: {live} are live here and at most {rest} elsewhere, and {} ({}) leave room for {:.0} % of the warps",
                    known.count,
                    label(known),
                    percent(known),
                );
                let sizes = |row: &LiveRow| row.registers.to_string();
                if !finding.variables.is_empty() {
                    message += &format!("; largest: {}", self.names(&finding.variables, sizes));
                }
                (Code::PressurePeak, Level::Information, message)
            }
            RegisterReason::Remat {
                known,
                budget,
                freed,
            } => {
                let over = match known.over() {
                    0 => "has spills within".to_owned(),
                    over => format!("is about {over} over"),
                };
                let message = format!(
                    "{} in registers where most are live, of `{kernel}`, which {over} its budget of {} ({}): one operation or one load gives each again where it is read, {freed} registers fewer at the peak",
                    match finding.variables.as_slice() {
                        [only] => format!("{} waits", self.name(only)),
                        several => format!("{} wait", self.listed(several)),
                    },
                    budget.registers,
                    reason(budget.reason),
                );
                (Code::CheapRemat, Level::Information, message)
            }
            RegisterReason::Shared {
                bytes,
                most,
                limit,
                largest,
            } => shared(kernel, *bytes, *most, *limit, largest),
            RegisterReason::SpillInLoop {
                known,
                budget,
                spilled,
            } => {
                let message = format!(
                    "of {spilled} registers that linear scan spills to fit {} ({}; {}) loops read {}, first here: each iteration loads them",
                    budget.registers,
                    reason(budget.reason),
                    match &known.figure {
                        Some(figure) => format!(
                            "ptxas {} spills {} bytes of loads",
                            figure.version, figure.spill_load_bytes
                        ),
                        None => format!("about {} are needed, estimate", known.needed),
                    },
                    self.listed(&finding.variables),
                );
                (Code::SpillInLoop, level(known), message)
            }
        }
    }
}

fn shared(
    kernel: &str,
    bytes: u32,
    most: u32,
    limit: SharedLimit,
    largest: &str,
) -> (Code, Level, String) {
    let (level, told) = match limit {
        SharedLimit::Declared => (
            Level::Error,
            format!(
                "a workgroup declares at most {most}; more has to be `extern __shared__` and asked for with the launch"
            ),
        ),
        SharedLimit::Machine => (Level::Error, format!("a workgroup has at most {most}")),
        SharedLimit::Group => (Level::Warning, format!("Direct3D gives a group {most}")),
    };
    let message = format!(
        "`{kernel}` declares {bytes} bytes of shared memory, most of them `{largest}`: {told}"
    );
    (Code::SharedOverLimit, level, message)
}

fn percent(known: &Registers) -> f64 {
    known.fit.as_ref().map_or(0.0, |fit| fit.found.percent())
}

/// A place as far as its first line goes: a loop or a call of many lines is not underlined as a whole.
fn first_line(source: &str, span: Span) -> Span {
    let text = source.get(span.start as usize..span.end as usize);
    let length = text.and_then(|text| text.find(['\n', '\r']));
    match length {
        Some(length) => Span::new(span.start, span.start + length as u32),
        None => span,
    }
}
