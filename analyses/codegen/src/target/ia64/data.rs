//! Static storage as directives.
//!
//! ```text
//! static const char *names[] = { "a", f };   .section .data.rel.ro   names: data8 names.string1, @fptr(f)
//! ```
//! Only names that other files may use are global. A symbol that another file defines is named in the code
//! and nothing else; a table of constants that holds addresses is written once, by the program's loader, and
//! is no `.rodata` for that.

use super::symbols::{plain, reference};
use crate::refusal::{Refusal, Refused};
use ir::{Function, Linkage, Loc, Site, Space, SymbolData, SymbolKind};
use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use std::fmt::Write;

/// Zeros that are skipped rather than written.
const SKIPPED: usize = 64;

/// Returns the definitions of a function without code that can't be written, mostly for lack of a known
/// initial value.
pub(super) fn unknown(function: &Function) -> Vec<Refused> {
    let symbols = function.symbols.values();
    let defined = symbols.filter(|symbol| symbol.definition.linkage != Linkage::Elsewhere);
    let reasons = defined.filter_map(|symbol| {
        let name = symbol.name.clone();
        if symbol.definition.thread_local {
            return Some(Refusal::ThreadLocal { name });
        }
        match (symbol.definition.opaque, symbol.size) {
            (true, _) => Some(Refusal::InitialValue { name }),
            (false, None) if symbol.kind == SymbolKind::Memory => Some(Refusal::Size { name }),
            _ => None,
        }
    });
    reasons
        .map(|reason| Refused {
            reason,
            loc: Loc {
                span: function.name_span,
                site: Site(0),
            },
        })
        .collect()
}

/// The directives of everything that functions name and that this file defines.
pub(super) fn data<'f>(functions: impl IntoIterator<Item = &'f Function>) -> String {
    let mut out = String::new();
    let mut known: FxHashSet<&SmolStr> = FxHashSet::default();
    for function in functions {
        for symbol in function.symbols.values() {
            let memory = symbol.kind == SymbolKind::Memory
                && matches!(
                    symbol.space,
                    Space::Global | Space::Constant | Space::Generic
                );
            let elsewhere = symbol.definition.linkage == Linkage::Elsewhere;
            let here = memory && !elsewhere && !symbol.definition.thread_local;
            let Some(size) = symbol.size.filter(|_| here) else {
                continue;
            };
            // One of its names has its contents in every function.
            if known.insert(&symbol.name) {
                object(function, symbol, size, &mut out);
            }
        }
    }
    out
}

fn object(function: &Function, symbol: &SymbolData, size: u32, out: &mut String) {
    let addresses = &symbol.definition.addresses;
    let bytes = symbol.initial.as_deref().unwrap_or_default();
    let zeros = bytes.iter().all(|&byte| byte == 0) && addresses.is_empty();
    let section = match (zeros, symbol.read_only, addresses.is_empty()) {
        (_, true, true) => ".rodata",
        (_, true, false) => ".data.rel.ro, \"aw\", @progbits",
        (true, false, _) => ".bss, \"aw\", @nobits",
        (false, false, _) => ".data",
    };
    let name = plain(&symbol.name);
    // Directives align what they hold to its size.
    let (address_bytes, wide) = match function.narrow_addresses {
        true => (4, "data4"),
        false => (8, "data8"),
    };
    let least = if addresses.is_empty() {
        1
    } else {
        address_bytes as u32
    };
    let align = symbol.align.max(least).next_power_of_two();
    let _ = writeln!(out, "\t.section {section}\n\t.align {align}");
    if symbol.definition.linkage == Linkage::Global {
        let _ = writeln!(out, "\t.global {}", reference(&name));
    }
    let own = reference(&name);
    let bytes_in_all = (size as usize).max(bytes.len()).max(1);
    let _ = writeln!(
        out,
        "\t.type {own}, @object\n\t.size {own}, {bytes_in_all}\n{name}:"
    );
    if zeros {
        let _ = writeln!(out, "\t.skip {}", size.max(1));
        return;
    }
    let mut at = 0;
    for address in addresses {
        let offset = address.offset as usize;
        numbers(bytes.get(at..offset).unwrap_or_default(), out);
        let target = reference(&plain(&address.symbol));
        let mut all = function.symbols.values();
        let code =
            all.any(|other| other.name == address.symbol && other.kind == SymbolKind::Function);
        let unaligned = match offset % address_bytes {
            0 => "",
            _ => ".ua",
        };
        let _ = match (code, address.addend) {
            (true, _) => writeln!(out, "\t{wide}{unaligned} @fptr({target})"),
            (false, 0) => writeln!(out, "\t{wide}{unaligned} {target}"),
            (false, addend) => writeln!(out, "\t{wide}{unaligned} {target}{addend:+}"),
        };
        at = offset + address_bytes;
    }
    numbers(bytes.get(at..).unwrap_or_default(), out);
    let rest = (size as usize).saturating_sub(bytes.len().max(at));
    if rest > 0 {
        let _ = writeln!(out, "\t.skip {rest}");
    }
}

fn numbers(bytes: &[u8], out: &mut String) {
    let mut rest = bytes;
    while let Some(&first) = rest.first() {
        let zeros = rest.iter().take_while(|&&byte| byte == 0).count();
        if first == 0 && zeros >= SKIPPED {
            let _ = writeln!(out, "\t.skip {zeros}");
            rest = &rest[zeros..];
            continue;
        }
        let (row, behind) = rest.split_at(rest.len().min(16));
        let list: Vec<String> = row.iter().map(u8::to_string).collect();
        let _ = writeln!(out, "\tdata1 {}", list.join(", "));
        rest = behind;
    }
}
