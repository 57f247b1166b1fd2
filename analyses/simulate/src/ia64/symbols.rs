//! Values of symbols: labels, relocation functions, and unmapped addresses for symbols that other files
//! define.

use super::data::Data;
use super::program::CODE;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::cell::RefCell;
use syntax::ia64::Expr;
use syntax::ia64::names::Names;

/// The value of `gp`.
pub(super) const GP: u64 = 0x0800_0000;
/// Entries of the linkage table, 8 bytes each, and function descriptors, 16 bytes each.
const TABLE: u64 = GP + 0x1000;
const DESCRIPTORS: u64 = GP + 0x0100_0000;
/// Names of other files, 16 bytes each.
const ELSEWHERE: u64 = 0x7f00_0000;

#[derive(Clone, Debug, Default)]
struct Made {
    /// Values of the linkage table.
    table: Vec<u64>,
    /// Addresses of the functions that descriptors are of.
    descriptors: Vec<u64>,
    elsewhere: Vec<SmolStr>,
}

#[derive(Clone, Debug)]
pub(super) struct Symbols {
    labels: FxHashMap<SmolStr, u64>,
    /// Local labels by their digits: statement and address, in order.
    local: FxHashMap<SmolStr, Vec<(usize, u64)>>,
    names: Names,
    made: RefCell<Made>,
    /// Names of other files by address, once all are known.
    elsewhere: Vec<SmolStr>,
}

impl Symbols {
    pub(super) fn new(text: &[(SmolStr, u32, usize)], data: &Data, names: Names) -> Symbols {
        let mut labels: FxHashMap<SmolStr, u64> = FxHashMap::default();
        let mut local: FxHashMap<SmolStr, Vec<(usize, u64)>> = FxHashMap::default();
        for (name, bundle, statement) in text {
            let address = CODE + 16 * u64::from(*bundle);
            if name.bytes().all(|byte| byte.is_ascii_digit()) {
                let places = local.entry(name.clone()).or_default();
                places.push((*statement, address));
            } else {
                labels.entry(name.clone()).or_insert(address);
            }
        }
        for name in data.labels.keys() {
            if let Some(address) = data.address(name) {
                labels.entry(name.clone()).or_insert(address);
            }
        }
        Symbols {
            labels,
            local,
            names,
            made: RefCell::default(),
            elsewhere: Vec::new(),
        }
    }

    /// A symbol of this file.
    pub(super) fn defined(&self, name: &str) -> Option<u64> {
        self.labels.get(name).copied()
    }

    /// Returns the value of an expression of a statement.
    pub(super) fn value(&self, value: &Expr, statement: usize) -> Option<i64> {
        match value {
            Expr::Function { name, argument } => {
                let argument = argument.as_deref()?;
                let inner = self.value(argument, statement)? as u64;
                Some(match &**name {
                    "@gprel" => inner.wrapping_sub(GP) as i64,
                    "@ltoff" | "@ltoffx" => {
                        let mut made = self.made.borrow_mut();
                        let at = position(&mut made.table, inner);
                        (TABLE + 8 * at - GP) as i64
                    }
                    "@fptr" | "@iplt" => {
                        let mut made = self.made.borrow_mut();
                        let at = position(&mut made.descriptors, inner);
                        (DESCRIPTORS + 16 * at) as i64
                    }
                    "@secrel" | "@segrel" | "@imagerel" => inner as i64,
                    _ => return None,
                })
            }
            other => other.evaluate(&|name| Some(self.name(name, statement)? as i64)),
        }
    }

    fn name(&self, name: &str, statement: usize) -> Option<u64> {
        if let Some(address) = self.local(name, statement) {
            return Some(address);
        }
        let plain = name.trim_end_matches('#');
        if let Some(address) = self.labels.get(plain) {
            return Some(*address);
        }
        if let Some(number) = self.names.number(&Expr::Name(plain.into())) {
            return Some(number as u64);
        }
        if plain == "." || plain.starts_with(|letter: char| letter.is_ascii_digit()) {
            return None;
        }
        let mut made = self.made.borrow_mut();
        let at = match made.elsewhere.iter().position(|it| it == plain) {
            Some(at) => at,
            None => {
                made.elsewhere.push(plain.into());
                made.elsewhere.len() - 1
            }
        };
        Some(ELSEWHERE + 16 * at as u64)
    }

    /// `1b`, `2f`: the last before the statement or the first behind it.
    fn local(&self, name: &str, statement: usize) -> Option<u64> {
        let (digits, back) = match name.strip_suffix(['b', 'B']) {
            Some(digits) => (digits, true),
            None => (name.strip_suffix(['f', 'F'])?, false),
        };
        let places = self.local.get(digits)?;
        let behind = places.partition_point(|place| place.0 < statement);
        let at = if back { behind.checked_sub(1)? } else { behind };
        Some(places.get(at)?.1)
    }

    /// The linkage table and the descriptors.
    pub(super) fn tables(&self) -> Vec<(u64, Vec<u8>, bool)> {
        let made = self.made.borrow();
        let bytes = |values: &mut dyn Iterator<Item = u64>| -> Vec<u8> {
            values.flat_map(u64::to_le_bytes).collect()
        };
        let table = bytes(&mut made.table.iter().copied());
        let pairs = made.descriptors.iter().flat_map(|&entry| [entry, GP]);
        let descriptors = bytes(&mut { pairs });
        [(TABLE, table, false), (DESCRIPTORS, descriptors, false)]
            .into_iter()
            .filter(|(_, bytes, _)| !bytes.is_empty())
            .collect()
    }

    pub(super) fn freeze(&mut self) {
        self.elsewhere = self.made.take().elsewhere;
    }
    /// The symbol of another file that has this address.
    pub(super) fn elsewhere(&self, address: u64) -> Option<&str> {
        let at = address.checked_sub(ELSEWHERE)? / 16;
        Some(self.elsewhere.get(usize::try_from(at).ok()?)?)
    }
}

fn position(values: &mut Vec<u64>, value: u64) -> u64 {
    match values.iter().position(|&it| it == value) {
        Some(at) => at as u64,
        None => {
            values.push(value);
            values.len() as u64 - 1
        }
    }
}
