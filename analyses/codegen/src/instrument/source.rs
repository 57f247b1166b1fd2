//! Counters in CUDA and HLSL: a call behind each statement that writes a tested variable, and the functions
//! that it calls at the top of the file.
//!
//! CUDA's counters are a `__device__` variable of 8 bytes each, HLSL's a byte-address buffer of 4 bytes each in a
//! register space of its own. HLSL needs shader model 6.0; helper lanes of pixel shaders vote as the hardware has it.

use super::{COUNTERS, CountedPlace, Instrumented, MOST_PLACES, tested};
use crate::specialize::source::functions_of;
use facts::values::record::recordable;
use ir::{BindingKind, Function, Language, Loc, Site};
use rustc_hash::FxHashMap;
use syntax::Span;
use syntax::c_family::ast::{FunctionBody, ParsedItem, Stmt, StmtKind};

/// Bytes of a counter.
#[must_use]
pub const fn width(language: Language) -> u32 {
    match language {
        Language::Hlsl => 4,
        _ => 8,
    }
}

/// Returns the functions that are called, for the top of the file. `None` for a language that has none.
#[must_use]
pub fn prelude(language: Language, places: usize) -> Option<String> {
    let counters = (places * 2).max(1);
    match language {
        Language::Cuda => Some(format!(
            "// Counters of lockstep: executions and zeros of warps, by place. Remove this and the calls of lockstep_count.
__device__ unsigned long long {COUNTERS}[{counters}];
static __device__ inline void lockstep_count(int place, bool zero)
{{
    unsigned int lanes = __activemask();
    bool all = __all_sync(lanes, zero);
    int lane = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31;
    if (lane == __ffs(lanes) - 1)
    {{
        atomicAdd(&{COUNTERS}[2 * place], 1ull);
        if (all)
            atomicAdd(&{COUNTERS}[2 * place + 1], 1ull);
    }}
}}

"
        )),
        Language::Hlsl => Some(format!(
            "// Counters of lockstep: executions and zeros of waves, by place. Remove this and the calls of lockstep_count.
RWByteAddressBuffer {COUNTERS} : register(u0, space61);
void lockstep_count(uint place, bool zero)
{{
    bool all_zero = WaveActiveAllTrue(zero);
    if (WaveIsFirstLane())
    {{
        {COUNTERS}.InterlockedAdd(8 * place, 1u);
        if (all_zero)
            {COUNTERS}.InterlockedAdd(8 * place + 4, 1u);
    }}
}}

"
        )),
        _ => None,
    }
}

/// Counts a function of an item. `text` is the item's, `first` places were counted before.
#[must_use]
pub fn instrument(
    item: &ParsedItem,
    function: &Function,
    text: &str,
    first: usize,
) -> Instrumented {
    let tested = tested(function);
    let statements = statements(item, function.span);
    let mut out = Instrumented::default();
    // The last write of a variable in each statement: what it holds behind it.
    let mut last: FxHashMap<(u32, u32), usize> = FxHashMap::default();
    let mut order = Vec::new();
    for (at, binding) in function.bindings.iter().enumerate() {
        if binding.kind == BindingKind::Read
            || binding.loc == Loc::NONE
            || binding.loc.site != Site(0)
            || binding.values.is_empty()
        {
            continue;
        }
        let span = binding.loc.span;
        let around = statements.partition_point(|statement| statement.start <= span.start);
        let Some(&statement) = around.checked_sub(1).and_then(|at| statements.get(at)) else {
            continue;
        };
        if span.end > statement.end {
            continue;
        }
        let key = (statement.end, binding.variable.0);
        if last.insert(key, at).is_none() {
            order.push((key, statement));
        }
    }
    order.sort_by_key(|((end, variable), _)| (*end, *variable));
    for (key, statement) in order {
        let Some(binding) = last.get(&key).and_then(|&at| function.bindings.get(at)) else {
            continue;
        };
        let variable = &function.variables[binding.variable];
        let span = binding.loc.span;
        let there =
            text.get(span.start as usize..span.end as usize) == Some(variable.name.as_str());
        let part = binding.part.as_str();
        let plain = part
            .chars()
            .all(|c| c == '.' || c == '_' || c.is_ascii_alphanumeric());
        let counted = binding.values.len() <= 4
            && binding
                .values
                .iter()
                .all(|&value| recordable(function, value))
            && binding.values.iter().any(|value| tested.contains(value));
        if !there || !plain || !counted || out.places.len() >= MOST_PLACES {
            continue;
        }
        let Some(end) = behind(text, statement) else {
            continue;
        };
        let name = format!("{}{part}", variable.name);
        let test = match (binding.values.len(), function.language) {
            (1, _) => format!("{name} == 0"),
            (_, Language::Hlsl) => format!("all({name} == 0)"),
            (count, _) => ["x", "y", "z", "w"][..count]
                .iter()
                .map(|axis| format!("{name}.{axis} == 0"))
                .collect::<Vec<_>>()
                .join(" && "),
        };
        let place = first + out.places.len();
        out.insertions
            .push((end, format!(" lockstep_count({place}, {test});")));
        let mut values = Vec::new();
        for &value in &binding.values {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        out.places.push(CountedPlace {
            values,
            name,
            offset: span.start,
        });
    }
    out
}

/// Returns the offset behind the semicolon of a statement.
fn behind(text: &str, statement: Span) -> Option<u32> {
    let end = statement.end as usize;
    if text.get(..end)?.ends_with(';') {
        return Some(statement.end);
    }
    let rest = text.get(end..)?;
    let blank = rest.len() - rest.trim_start().len();
    rest[blank..]
        .starts_with(';')
        .then_some(statement.end + blank as u32 + 1)
}

/// Declarations and expressions that stand in blocks of a function, by position.
fn statements(item: &ParsedItem, within: Span) -> Vec<Span> {
    let mut found = Vec::new();
    // A statement, and whether another one may follow it where it stands.
    let mut work: Vec<(&Stmt, bool)> = Vec::new();
    for function in functions_of(item) {
        if let FunctionBody::Block(block) = &function.body
            && within.start <= block.span.start
            && block.span.end <= within.end
        {
            work.extend(block.statements.iter().map(|statement| (statement, true)));
        }
    }
    while let Some((statement, in_block)) = work.pop() {
        match &statement.kind {
            StmtKind::Expr(_) | StmtKind::Declaration(_) if in_block => found.push(statement.span),
            StmtKind::Block(block) => {
                work.extend(block.statements.iter().map(|statement| (statement, true)));
            }
            StmtKind::If {
                then, otherwise, ..
            } => {
                work.push((then, false));
                work.extend(otherwise.iter().map(|statement| (&**statement, false)));
            }
            StmtKind::For { body, .. }
            | StmtKind::RangeFor { body, .. }
            | StmtKind::While { body, .. }
            | StmtKind::DoWhile { body, .. }
            | StmtKind::Switch { body, .. } => work.push((body, false)),
            _ => {}
        }
    }
    found.sort();
    found
}
