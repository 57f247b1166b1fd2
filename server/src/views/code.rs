//! The code of a function as it is shown: beside its source, and with the assembler's report.

use super::costs;
use crate::db::{Db, File};
use crate::derive::code::{NoCode, TargetCode};
use crate::program;

/// The code without the parts that an edit elsewhere in the file changes, such as the lines that it comes
/// from.
pub fn comparable(code: &TargetCode) -> String {
    code.text
        .lines()
        .filter(|line| !line.trim_start().starts_with(".loc "))
        .map(|line| format!("{line}\n"))
        .collect()
}

/// Returns the reason why there is no code, without a full stop.
pub fn refused(reason: &NoCode) -> String {
    match reason {
        NoCode::Gpu(refusal) => refusal.to_string(),
        NoCode::Groups(all) => {
            let reasons: Vec<String> = all
                .iter()
                .map(|refused| refused.reason.to_string())
                .collect();
            reasons.join("; ")
        }
    }
}

/// Returns how many warps fit with the registers that the assembler gave a thread.
pub fn occupancy(code: &TargetCode, registers: u32) -> Option<String> {
    let table = codegen::machine::named(&code.target.to_string())?;
    let fit = code.fit.as_ref().filter(|_| registers > 0)?;
    Some(costs::occupied(
        &fit.with_registers(table.gpu(), registers),
        "ptxas",
    ))
}

/// Returns the assembler's report, and the number of warps that fit then.
pub fn summary(code: &TargetCode, report: &crate::ptxas::Report) -> String {
    match occupancy(code, report.registers) {
        Some(occupancy) => format!("{} · {occupancy}", report.line()),
        None => report.line(),
    }
}

/// The code as it is shown beside the source: lines of the source as comments in the place of `.loc`.
pub fn readable(db: &dyn Db, file: File, mut code: TargetCode) -> TargetCode {
    let source: Vec<&str> = program::text(file.source(db)).lines().collect();
    let shown = code.text.lines().map(|line| {
        let mut parts = line.trim_start().split(' ');
        if parts.next() != Some(".loc") {
            return line.to_owned();
        }
        let mut number = || parts.next().and_then(|n| n.parse::<usize>().ok());
        match (number(), number()) {
            (Some(1), Some(at)) => {
                let text = source.get(at - 1).map_or("", |text| text.trim());
                format!("\t// {at}: {text}")
            }
            (Some(other), Some(at)) => format!("\t// file {other}, line {at}"),
            _ => line.to_owned(),
        }
    });
    code.text = shown.map(|line| line + "\n").collect();
    code
}
