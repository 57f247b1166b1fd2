//! Static storage as directives.
//!
//! ```text
//! static const short h[2] = { 1, -2 };      _h    DCW 1,-2
//! ```
//!
//! The order of a number's bytes is the chip's: numbers are written as such, in the width in which the code accesses them.
//! An object that code accesses in several widths has no initial value other than zeros where the highest byte is first.

use super::code::Function;
use crate::mir::Object;
use crate::refusal::{Refusal, Refused};
use ir::{Linkage, Loc, Space, SymbolData, SymbolKind};
use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Numbers of a directive.
const ROW: usize = 8;

/// The widths in which functions access each object, in bytes.
#[derive(Default)]
pub(super) struct Widths(BTreeMap<SmolStr, BTreeSet<u32>>);

impl Widths {
    pub(super) fn add(&mut self, function: &Function) {
        for operation in function.blocks.iter().flat_map(|block| &block.operations) {
            if let Some(memory) = &operation.memory
                && let Object::Symbol(name) | Object::Constant(name) = &memory.object
            {
                self.0.entry(name.clone()).or_default().insert(memory.bytes);
            }
        }
    }
}

/// The directives of everything that functions name and that this file defines.
///
/// # Errors
/// Objects whose initial value can't be written.
pub(super) fn data<'f>(
    functions: impl IntoIterator<Item = &'f ir::Function>,
    widths: &Widths,
    big_endian: bool,
) -> Result<String, Vec<Refused>> {
    let (mut out, mut refused) = (String::new(), Vec::new());
    let mut known: FxHashSet<&SmolStr> = FxHashSet::default();
    for function in functions {
        for symbol in function.symbols.values() {
            let memory = symbol.kind == SymbolKind::Memory
                && matches!(
                    symbol.space,
                    Space::Global | Space::Constant | Space::Generic
                );
            let here = memory && symbol.definition.linkage != Linkage::Elsewhere;
            if !here || !known.insert(&symbol.name) {
                continue;
            }
            if let Err(reason) = object(symbol, widths, big_endian, &mut out) {
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

fn object(
    symbol: &SymbolData,
    widths: &Widths,
    big_endian: bool,
    out: &mut String,
) -> Result<(), Refusal> {
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
    let accessed: Vec<u32> = widths
        .0
        .get(&symbol.name)
        .into_iter()
        .flatten()
        .copied()
        .collect();
    let width = match accessed[..] {
        [width @ (1 | 2 | 4)] => width,
        [] => symbol.align.clamp(1, 4).next_power_of_two(),
        _ if zeros || !big_endian => 1,
        _ => return Err(Refusal::InitialValue { name: name() }),
    };
    let (section, align) = match symbol.read_only {
        true => (".rom", symbol.align.max(width)),
        false => (".data", symbol.align.max(width)),
    };
    let _ = writeln!(out, "    SECTION {section} LOCAL");
    if definition.linkage == Linkage::Global {
        let _ = writeln!(out, "    GLOBAL _{}", symbol.name);
    }
    let _ = writeln!(out, "    ALIGN {align}\n_{}", symbol.name);
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
    Ok(())
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
