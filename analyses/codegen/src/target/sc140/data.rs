//! Static storage as directives.
//!
//! ```text
//! static const short h[2] = { 1, -2 };      _h    DCW 1,-2
//! static const short *p = h + 1;            _p    DCL _h+2
//! ```
//!
//! The order of a number's bytes is the chip's: numbers are written as such. Where the highest byte is first, an object of which
//! it is not known where its numbers begin, a union, has no initial value other than zeros and addresses.

use super::symbols;
use crate::refusal::{Refusal, Refused};
use ir::{Function, Linkage, Loc, Space, SymbolData, SymbolKind};
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Numbers of a directive.
const ROW: usize = 8;

/// Bytes of an address.
const ADDRESS: u32 = 4;

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
    if definition.opaque {
        return Err(Refusal::InitialValue { name: name() });
    }
    let bytes = symbol.initial.as_deref().unwrap_or_default();
    let zeros = bytes.iter().all(|&byte| byte == 0);
    let width = match definition.width {
        Some(width @ (1 | 2 | 4 | 8)) => width,
        _ if zeros || !big_endian => 1,
        _ if definition.numbers.is_empty() => {
            return Err(Refusal::InitialValue { name: name() });
        }
        _ => 1,
    };
    let widest = definition.numbers.iter().map(|run| run.bytes).max();
    let width_in_all = width.max(widest.unwrap_or(1));
    let least = match definition.addresses.is_empty() {
        true => width_in_all,
        false => width_in_all.max(ADDRESS),
    };
    // As wide accesses ask for it.
    let wide = if size >= super::ways::WIDE.objects {
        super::ways::WIDE.objects
    } else {
        1
    };
    let align = symbol.align.max(least).max(wide);
    let section = match symbol.read_only {
        true => ".rom",
        false => ".data",
    };
    let own = symbols::plain(&symbol.name);
    let _ = writeln!(out, "    SECTION {section} LOCAL");
    if definition.linkage == Linkage::Global {
        let _ = writeln!(out, "    GLOBAL {own}");
    }
    let _ = writeln!(out, "    ALIGN {align}\n{own}");
    // What stands in the object besides zeros, in order.
    let mut parts: Vec<(usize, Part<'_>)> = definition
        .addresses
        .iter()
        .map(|address| (address.offset as usize, Part::Address(address)))
        .collect();
    if big_endian && definition.width.is_none() && !zeros {
        parts.extend(definition.numbers.iter().map(|run| {
            let (at, width) = (run.offset as usize, run.bytes);
            let end = at + (run.bytes * run.count) as usize;
            let bytes = bytes.get(at..end).unwrap_or_default();
            (at, Part::Numbers { bytes, width })
        }));
    } else {
        let mut at = 0;
        let ends = definition
            .addresses
            .iter()
            .map(|address| address.offset as usize);
        for end in ends.chain([bytes.len()]) {
            if let Some(bytes) = bytes.get(at..end).filter(|bytes| !bytes.is_empty()) {
                parts.push((at, Part::Numbers { bytes, width }));
            }
            at = end + ADDRESS as usize;
        }
    }
    parts.sort_by_key(|(at, _)| *at);
    let mut at = 0;
    for (start, part) in &parts {
        skip(start.saturating_sub(at), &mut out);
        at = start + part.write(big_endian, &mut out);
    }
    skip((size as usize).saturating_sub(at), &mut out);
    out.push_str("    ENDSEC\n");
    Ok(out)
}

/// A part of an object.
enum Part<'s> {
    Address(&'s ir::Address),
    /// Numbers of this width, the lowest byte of each first.
    Numbers {
        bytes: &'s [u8],
        width: u32,
    },
}

impl Part<'_> {
    /// Writes it; returns its bytes.
    fn write(&self, big_endian: bool, out: &mut String) -> usize {
        match self {
            Part::Address(address) => {
                let target = symbols::plain(&address.symbol);
                let _ = match address.addend {
                    0 => writeln!(out, "    DCL {target}"),
                    addend => writeln!(out, "    DCL {target}{addend:+}"),
                };
                ADDRESS as usize
            }
            Part::Numbers { bytes, width } => {
                numbers(bytes, *width, big_endian, out);
                bytes.len()
            }
        }
    }
}

fn skip(bytes: usize, out: &mut String) {
    if bytes > 0 {
        let _ = writeln!(out, "    DS {bytes}");
    }
}

/// Directives of the numbers that bytes hold, the lowest byte of each first.
fn numbers(bytes: &[u8], width: u32, big_endian: bool, out: &mut String) {
    if bytes.iter().all(|&byte| byte == 0) {
        return skip(bytes.len(), out);
    }
    let (directive, step) = match width {
        1 => ("DCB", 1),
        2 => ("DCW", 2),
        _ => ("DCL", 4),
    };
    let mut list: Vec<String> = bytes
        .chunks(step as usize)
        .map(|chunk| number(chunk, step).to_string())
        .collect();
    if width == 8 && big_endian {
        list.chunks_mut(2).for_each(<[String]>::reverse);
    }
    for row in list.chunks(ROW) {
        let _ = writeln!(out, "    {directive} {}", row.join(","));
    }
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
