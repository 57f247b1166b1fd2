//! Counters in PTX: behind each statement that writes a tested register.
//!
//! Needs PTX ISA 6.2 and sm_30 (`activemask`, `vote.sync`). The counters are a module's global variable, 8 bytes each.

use super::{COUNTERS, CountedPlace, Instrumented, MOST_PLACES, tested};
use facts::values::record::recordable;
use ir::{BindingKind, Function, Site, Type, ValueDef, VariableKind};
use std::fmt::Write;

/// The least version of the ISA that has the inserted instructions.
pub const LEAST_VERSION: (u32, u32) = (6, 2);

/// The declaration of the counters, for the place before the first function.
#[must_use]
pub fn declaration(places: usize) -> String {
    format!(
        "// Counters of lockstep: executions and zeros of warps, by place.\n.visible .global .align 8 .u64 {COUNTERS}[{}];\n\n",
        (places * 2).max(1)
    )
}

/// Counts a function; `first` places were counted before.
#[must_use]
pub fn instrument(function: &Function, first: usize) -> Instrumented {
    let tested = tested(function);
    let mut out = Instrumented::default();
    for binding in &function.bindings {
        let &[value] = binding.values.as_slice() else {
            continue;
        };
        let variable = &function.variables[binding.variable];
        let written = binding.kind == BindingKind::Assignment
            && variable.kind == VariableKind::Register
            && binding.loc.site == Site(0);
        if !written
            || !tested.contains(&value)
            || !recordable(function, value)
            || out.places.len() >= MOST_PLACES
        {
            continue;
        }
        let ValueDef::Result(inst, _) = function.values[value].def else {
            continue;
        };
        let statement = function.insts[inst].loc;
        // A register that holds the result of another one is written by another statement.
        let own = statement.site == Site(0)
            && statement.span.start <= binding.loc.span.start
            && binding.loc.span.end <= statement.span.end;
        let Some(check) = check(function.ty(value), &variable.name).filter(|_| own) else {
            continue;
        };
        out.insertions.push((
            statement.span.end,
            counting(first + out.places.len(), &variable.name, &check),
        ));
        out.places.push(CountedPlace {
            values: vec![value],
            name: variable.name.to_string(),
            offset: binding.loc.span.start,
        });
    }
    out
}

/// Sets `%lsz` where the register is zero; zeros of both signs count, NaN does not.
fn check(ty: Type, register: &str) -> Option<String> {
    Some(match ty {
        Type::Bool => format!("not.pred \t%lsz, {register};"),
        Type::I16 => format!("setp.eq.s16 \t%lsz, {register}, 0;"),
        Type::I32 => format!("setp.eq.s32 \t%lsz, {register}, 0;"),
        Type::I64 => format!("setp.eq.s64 \t%lsz, {register}, 0;"),
        Type::F32 => format!("setp.eq.f32 \t%lsz, {register}, 0f00000000;"),
        Type::F64 => format!("setp.eq.f64 \t%lsz, {register}, 0d0000000000000000;"),
        _ => return None,
    })
}

fn counting(place: usize, register: &str, check: &str) -> String {
    let (executions, zeros) = (place * 16, place * 16 + 8);
    let mut out = String::new();
    let _ = write!(
        out,
        "
\t{{ // lockstep: place {place}, {register}
\t.reg .pred \t%lsz, %lsa, %lsl;
\t.reg .b32 \t%lsm, %lsb;
\t{check}
\tactivemask.b32 \t%lsm;
\tvote.sync.all.pred \t%lsa, %lsz, %lsm;
\tmov.u32 \t%lsb, %lanemask_lt;
\tand.b32 \t%lsb, %lsb, %lsm;
\tsetp.eq.s32 \t%lsl, %lsb, 0;
\t@%lsl red.global.add.u64 \t[{COUNTERS}+{executions}], 1;
\tand.pred \t%lsa, %lsa, %lsl;
\t@%lsa red.global.add.u64 \t[{COUNTERS}+{zeros}], 1;
\t}}"
    );
    out
}

/// The insertion of the version that is needed, where the text has a lower one: the span of its number, and the number.
#[must_use]
pub fn version(text: &str) -> Option<(std::ops::Range<usize>, String)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at + (line.len() - line.trim_start().len());
        at += line.len();
        let Some(rest) = line.trim_start().strip_prefix(".version") else {
            continue;
        };
        let number: &str = rest.split_whitespace().next()?;
        let begin = start + ".version".len() + rest.find(number)?;
        let (major, minor) = number.split_once('.')?;
        let found: (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
        let (wanted, least) = LEAST_VERSION;
        return (found < LEAST_VERSION)
            .then(|| (begin..begin + number.len(), format!("{wanted}.{least}")));
    }
    None
}
