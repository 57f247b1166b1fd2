//! The page as plain data that serialises. Lines and columns count from 1; columns of a line's spans are
//! UTF-16 units, in which scripts count. Absent values are left out, and their panels with them.

use crate::views::report::{CauseRow, ProblemRow};
use serde::Serialize;
use std::collections::BTreeMap;

/// The worth of a number.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Worth {
    Fact,
    Bound,
    Estimate,
    /// Counted in a run of the interpreter, or by a profile.
    Measured,
}

#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct Page {
    pub version: u32,
    /// The file's name, without its directories.
    pub file: String,
    pub language: &'static str,
    /// The method of the analysis.
    pub method: &'static str,
    pub scope: String,
    /// The machine whose costs are counted with.
    pub target: String,
    /// The reason why there is nothing to show of functions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nothing: Option<String>,
    pub functions: Vec<FunctionPage>,
    pub findings: Vec<FindingRow>,
    pub lines: Vec<LineRow>,
    /// Keyed by code of a finding: its page, Markdown.
    pub explained: BTreeMap<String, String>,
    /// Parts that were left out, and why.
    pub notes: Vec<String>,
}

/// A line of the source.
#[derive(Serialize, Clone, PartialEq, Debug, Default)]
pub struct LineRow {
    #[serde(rename = "t")]
    pub text: String,
    /// Start, end and class of the occurrences of variables; other tokens have their kind in the place of a class.
    #[serde(rename = "s", skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<(u32, u32, &'static str)>,
    /// The worst class that is written here.
    #[serde(rename = "m", skip_serializing_if = "Option::is_none")]
    pub mark: Option<&'static str>,
    /// The hint as the editor shows it.
    #[serde(rename = "h", skip_serializing_if = "String::is_empty")]
    pub hint: String,
    /// The part of its function's cycles, in percent.
    #[serde(rename = "c", skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    #[serde(rename = "f", skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<FactRow>,
}

/// A fact about a line; text with the marks of Markdown.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct FactRow {
    #[serde(rename = "k")]
    pub kind: &'static str,
    #[serde(rename = "t")]
    pub text: String,
    #[serde(rename = "b", skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<CauseRow>,
}

#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct FindingRow {
    pub code: String,
    pub level: &'static str,
    pub line: u32,
    pub column: u32,
    pub end_line: u32,
    pub end_column: u32,
    pub message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<CauseRow>,
    /// The title of a mend.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// A number with its label.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct Figure {
    pub label: &'static str,
    pub value: String,
    pub worth: Worth,
    /// Whose number it is; empty where it is the source's.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// A kernel, a stage, or another function.
#[derive(Serialize, Clone, PartialEq, Debug, Default)]
pub struct FunctionPage {
    pub name: String,
    pub kind: &'static str,
    /// The file, where it is another one than the page's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub line: u32,
    pub column: u32,
    /// The lines that its text covers.
    pub first_line: u32,
    pub last_line: u32,
    /// A kernel or a stage.
    pub entry: bool,
    /// A summary in a line.
    pub summary: String,
    pub figures: Vec<Figure>,
    pub assumptions: Vec<String>,
    pub problems: Vec<ProblemRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub costs: Option<CostsRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunRow>,
    pub accesses: Vec<AccessRow>,
    pub activity: Vec<ActivityRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<ValuesRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loops: Vec<LoopRow>,
    /// The reasons why there is no machine code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pressure: Option<PressureRow>,
}

/// The costs of one invocation of a function for a warp, as `analyze` has them.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct CostsRow {
    pub machine: String,
    pub cycles: f64,
    pub limited_by: &'static str,
    /// Unit and cycles.
    pub busy: Vec<(&'static str, f64)>,
    /// Line and cycles.
    pub lines: Vec<(u32, f64)>,
    pub loops: Vec<LoopCostRow>,
}

#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct LoopCostRow {
    pub line: u32,
    pub column: u32,
    /// The cycles as a product.
    pub product: String,
    pub iterations: f64,
    /// The source of the number of iterations.
    pub worth: Worth,
    pub limited_by: &'static str,
}

/// A run of the interpreter.
#[derive(Serialize, Clone, PartialEq, Debug, Default)]
pub struct RunRow {
    /// The reason why it could not begin; the rest is empty then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The extent of the run: workgroup, warps, instructions.
    pub what: String,
    /// The source of the inputs.
    pub inputs: String,
    pub seed: u64,
    /// Inputs with a value of their own.
    pub given: Vec<String>,
    /// Inputs that the seed chose.
    pub random: Vec<String>,
    /// The reason why it ended before its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_line: Option<u32>,
    /// Lanes that are active in an instruction of a warp, in percent of the warp's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_percent: Option<f64>,
}

/// An access to global or shared memory.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct AccessRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub line: u32,
    pub column: u32,
    pub name: String,
    pub kind: &'static str,
    pub space: &'static str,
    pub class: &'static str,
    /// In short, as at the end of a line.
    pub text: String,
    /// Sectors or banks are wasted, by the facts or in the run.
    pub wasteful: bool,
    /// The bound known without a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<u32>,
    pub ideal: u32,
    /// The reason why there is no picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<LanePicture>,
}

/// The first lane, the distance to the next, and the number of lanes.
pub type EvenLanes = (u64, u64, u32);

/// The lanes of a warp against the sectors or banks that they touch.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct LanePicture {
    /// `sectors` or `banks`.
    pub unit: &'static str,
    /// `run` or `stride`.
    pub from: &'static str,
    /// The distances of the lanes, where all are equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub even: Option<EvenLanes>,
    /// Else by lane: bytes from the first sector, or from the first row of banks; `null`: it takes no part.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lanes: Vec<Option<u64>>,
    /// Bytes of one lane.
    pub bytes: u32,
    /// Sectors, or lanes that wait for one bank; and the fewest for these lanes.
    pub count: u32,
    pub ideal: u32,
    /// The executions of the run by warps, and the mean of `count`.
    pub executions: u64,
    pub mean: f64,
    pub warp: u32,
}

/// The lanes of one warp, execution by execution.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct ActivityRow {
    pub line: u32,
    pub column: u32,
    /// `loop`, `branch` or `switch`.
    pub kind: &'static str,
    /// The fact that is known without a run.
    pub text: String,
    /// The code there, in short.
    pub code: String,
    /// The reason why there are no rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<&'static str>,
    pub warp: u32,
    /// A letter a lane: `.` not active, `1` the condition holds, `0` it does not; of switches the number of the way. And how
    /// often in a row.
    pub rows: Vec<(String, u32)>,
    /// Executions that are not in `rows`.
    pub more: u64,
    pub executions: u64,
    /// Executions in which lanes went different ways.
    pub divided: u64,
    /// The share of lanes that took part in all executions, in percent.
    pub active_percent: f64,
}

/// The profile of the values of a function.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct ValuesRow {
    pub from: String,
    pub warps: u64,
    /// The code has changed since.
    pub stale: bool,
    pub rows: Vec<ValueRow>,
    /// Values that are not in `rows`.
    pub more: usize,
}

#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct ValueRow {
    pub name: String,
    pub line: u32,
    pub executions: u64,
    /// From 0 to 1.
    pub zeros: f64,
    /// Values of lanes as text, with their shares; empty where they were not counted.
    pub top: Vec<(String, f64)>,
}

/// An innermost loop on a processor with explicit groups.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct LoopRow {
    pub line: u32,
    pub column: u32,
    pub title: String,
    pub processor: String,
    pub pipelined: bool,
    pub ii: Option<u32>,
    pub rec_mii: u32,
    pub stages: u32,
    pub unpipelined: u32,
    pub unrolled: u32,
    /// Unit, operations an iteration, units a cycle, cycles.
    pub units: Vec<(&'static str, u32, u32, u32)>,
    /// The recurrence: mnemonic, latency, distance, line.
    pub critical: Vec<(String, i32, u32, Option<u32>)>,
    pub reasons: Vec<(String, Vec<u32>)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ScheduleRow>,
}

/// A kernel by cycle and slot; also for processors that are to come.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct ScheduleRow {
    pub interval: u32,
    pub stages: u32,
    /// The kinds of slots, with those of a cycle: `("M", 4)`.
    pub slots: Vec<(String, u32)>,
    pub operations: Vec<OperationRow>,
}

#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct OperationRow {
    pub cycle: u32,
    pub slot: String,
    pub stage: Option<u32>,
    pub mnemonic: String,
    pub text: String,
    pub line: Option<u32>,
    /// True if it lies on the recurrence that limits.
    pub critical: bool,
}

/// Machine code with the lines that it comes from.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct CodeRow {
    pub target: String,
    pub text: String,
    /// Lines of the text and of the file.
    pub lines: Vec<(u32, u32)>,
}

/// Registers that are live, by line: for a panel that a later analysis fills.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct PressureRow {
    pub target: String,
    /// Registers of a thread, and the source of the number.
    pub registers: u32,
    pub worth: Worth,
    /// The budget with its reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<String>,
    /// Live at the peak.
    pub live: u32,
    /// Line and registers that are live on it, in the order of the text: those with most.
    pub lines: Vec<(u32, u32)>,
    /// Lines that are left out.
    pub more: usize,
    /// Live at the peak: variable, registers, class, and how to be without it.
    pub variables: Vec<(String, u32, &'static str, String)>,
}
