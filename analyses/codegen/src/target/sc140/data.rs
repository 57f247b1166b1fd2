//! Static storage as directives.
//!
//! ```text
//! static const short h[2] = { 1, -2 };      _h    DCW 1,-2
//! ```
//!
//! The order of a number's bytes is the chip's: numbers are written as such. Where the highest byte is first, an object whose
//! numbers have several widths has no initial value other than zeros: its bytes do not say where a number begins.

use super::symbols;
use crate::refusal::{Refusal, Refused};
use ir::{Function, Linkage, Loc, Space, SymbolData, SymbolKind};
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Numbers of a directive.
const ROW: usize = 8;

/// The directives of each object that a function names and that this file defines, by its name.
///
/// # Errors
/// Objects whose initial value can't be written.
pub(super) fn data(
    function: &Function,
    big_endian: bool,
) -> Result<BTreeMap<SmolStr, String>, Vec<Refused>> {
    let (mut out, mut refused) = (BTreeMap::new(), Vec::new());
    for symbol in function.symbols.values() {
        let memory = symbol.kind == SymbolKind::Memory
            && matches!(
                symbol.space,
                Space::Global | Space::Constant | Space::Generic
            );
        if !memory || symbol.definition.linkage == Linkage::Elsewhere {
            continue;
        }
        match object(symbol, big_endian) {
            Ok(text) => {
                out.insert(symbol.name.clone(), text);
            }
            Err(reason) => {
                let loc = Loc::NONE;
                refused.push(Refused { reason, loc });
            }
        }
    }
    match refused.is_empty() {
        true => Ok(out),
        false => Err(refused),
    }
}

fn object(symbol: &SymbolData, big_endian: bool) -> Result<String, Refusal> {
    let mut out = String::new();
    let name = || symbol.name.clone();
    let Some(size) = symbol.size else {
        return Err(Refusal::Size { name: name() });
    };
    let definition = &symbol.definition;
    if definition.thread_local {
        return Err(Refusal::ThreadLocal { name: name() });
    }
    if definition.opaque || !definition.addresses.is_empty() {
        return Err(Refusal::InitialValue { name: name() });
    }
    let bytes = symbol.initial.as_deref().unwrap_or_default();
    let zeros = bytes.iter().all(|&byte| byte == 0);
    let width = match definition.width {
        Some(width @ (1 | 2 | 4)) => width,
        _ if zeros || !big_endian => 1,
        _ => return Err(Refusal::InitialValue { name: name() }),
    };
    let (section, align) = match symbol.read_only {
        true => (".rom", symbol.align.max(width)),
        false => (".data", symbol.align.max(width)),
    };
    let own = symbols::plain(&symbol.name);
    let _ = writeln!(out, "    SECTION {section} LOCAL");
    if definition.linkage == Linkage::Global {
        let _ = writeln!(out, "    GLOBAL {own}");
    }
    let _ = writeln!(out, "    ALIGN {align}\n{own}");
    let mut written = 0;
    if !zeros {
        let directive = match width {
            1 => "DCB",
            2 => "DCW",
            _ => "DCL",
        };
        let numbers: Vec<String> = bytes
            .chunks(width as usize)
            .map(|chunk| number(chunk, width).to_string())
            .collect();
        for row in numbers.chunks(ROW) {
            let _ = writeln!(out, "    {directive} {}", row.join(","));
        }
        written = numbers.len() as u32 * width;
    }
    if size > written {
        let _ = writeln!(out, "    DS {}", size - written);
    }
    out.push_str("    ENDSEC\n");
    Ok(out)
}

/// The signed number of some bytes, the lowest first; those that are missing are zero.
fn number(bytes: &[u8], width: u32) -> i64 {
    let low_first = bytes.iter().rev();
    let number = low_first.fold(0i64, |number, &byte| number << 8 | i64::from(byte));
    match width {
        1 => i64::from(number as u8),
        2 => i64::from(number as i16),
        _ => i64::from(number as i32),
    }
}
