//! Symbols and data of the files: the places of labels, the values of names, the bytes of data directives.

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::cell::RefCell;
use syntax::sc140::{Argument, Directive, Expr};

/// The addresses at which execution sets and data begin.
pub(super) const CODE: u32 = 0x0001_0000;
pub(super) const DATA: u32 = 0x0800_0000;
/// Names of other files, 16 bytes each.
const ELSEWHERE: u32 = 0x7f00_0000;
/// Names that are worth other names.
const DEPTH: u32 = 50;

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Symbol {
    Address(u32),
    /// An expression of the file.
    Value(Expr),
}

/// The names of all files.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Symbols {
    pub files: Vec<FxHashMap<SmolStr, Symbol>>,
    /// Names that all files see, and the file that has them.
    pub shared: FxHashMap<SmolStr, usize>,
    /// Names that no file has, in the order in which they came up.
    elsewhere: RefCell<Vec<SmolStr>>,
}

impl Symbols {
    pub(super) fn define(&mut self, file: usize, name: &SmolStr, symbol: Symbol) {
        self.files[file].entry(name.clone()).or_insert(symbol);
    }
    /// The address of a label that is named from outside.
    pub(super) fn address(&self, name: &str) -> Option<u32> {
        let owner = self.shared.get(name).copied();
        let file = owner
            .or_else(|| (0..self.files.len()).find(|&file| self.files[file].contains_key(name)))?;
        match self.files[file].get(name)? {
            Symbol::Address(address) => Some(*address),
            Symbol::Value(_) => None,
        }
    }

    /// Returns the value of an expression of a file at an address.
    pub(super) fn value(&self, file: usize, here: u32, value: &Expr) -> Option<i64> {
        self.nested(file, here, value, 0)
    }
    fn nested(&self, file: usize, here: u32, value: &Expr, depth: u32) -> Option<i64> {
        if depth > DEPTH {
            return None;
        }
        value.evaluate(&|leaf| match leaf {
            Expr::Here => Some(i64::from(here)),
            Expr::Function { name, argument } if name == "@def" => {
                Some(i64::from(self.files[file].contains_key(argument)))
            }
            Expr::Name(name) => {
                let owner = match self.files[file].contains_key(name) {
                    true => Some(file),
                    false => self.shared.get(name).copied(),
                };
                match owner.and_then(|owner| Some((owner, self.files[owner].get(name)?))) {
                    Some((_, Symbol::Address(address))) => Some(i64::from(*address)),
                    Some((owner, Symbol::Value(value))) => {
                        self.nested(owner, here, value, depth + 1)
                    }
                    None => Some(self.absent(name)),
                }
            }
            _ => None,
        })
    }
    /// A place at which nothing is.
    fn absent(&self, name: &SmolStr) -> i64 {
        let mut elsewhere = self.elsewhere.borrow_mut();
        let at = match elsewhere.iter().position(|known| known == name) {
            Some(at) => at,
            None => {
                elsewhere.push(name.clone());
                elsewhere.len() - 1
            }
        };
        i64::from(ELSEWHERE) + 16 * at as i64
    }
    /// The name of another file that this address stands for.
    pub(super) fn elsewhere(&self, address: u32) -> Option<SmolStr> {
        let at = address.checked_sub(ELSEWHERE)? / 16;
        self.elsewhere.borrow().get(at as usize).cloned()
    }
}

/// Bytes of one element of a data directive.
pub(super) fn data_width(name: &str) -> Option<u32> {
    Some(match name {
        "dcb" | "dsb" | "ds" | "bsc" => 1,
        "dcw" | "dc" | "dsw" => 2,
        "dcl" | "dsl" => 4,
        _ => return None,
    })
}

/// The length of a data directive's bytes.
pub(super) fn data_length(directive: &Directive, value: &dyn Fn(&Expr) -> Option<i64>) -> u32 {
    let width = data_width(&directive.name).unwrap_or(1);
    if reserves(&directive.name) {
        let count = match directive.arguments.first() {
            Some(Argument::Expr(count)) => value(count).unwrap_or(0),
            _ => 0,
        };
        return (count.clamp(0, 1 << 24) as u32) * width;
    }
    let lengths = directive.arguments.iter().map(|argument| match argument {
        Argument::Text(text) => text.len() as u32 * width,
        Argument::Expr(_) | Argument::Other(_) => width,
    });
    lengths.sum()
}

/// The bytes themselves, in the order of memory.
pub(super) fn data_bytes(
    directive: &Directive,
    big_endian: bool,
    value: &dyn Fn(&Expr) -> Option<i64>,
) -> Vec<u8> {
    let width = data_width(&directive.name).unwrap_or(1) as usize;
    if reserves(&directive.name) {
        let fill = match directive.arguments.get(1) {
            Some(Argument::Expr(fill)) => value(fill).unwrap_or(0) as u8,
            _ => 0,
        };
        return vec![fill; data_length(directive, value) as usize];
    }
    let mut bytes = Vec::new();
    let mut push = |number: i64| {
        let little = number.to_le_bytes();
        match big_endian {
            true => bytes.extend(little[..width].iter().rev()),
            false => bytes.extend(&little[..width]),
        }
    };
    for argument in &directive.arguments {
        match argument {
            Argument::Text(text) => text.bytes().for_each(|byte| push(i64::from(byte))),
            Argument::Expr(number) => push(value(number).unwrap_or(0)),
            Argument::Other(_) => push(0),
        }
    }
    bytes
}

fn reserves(name: &str) -> bool {
    matches!(name, "ds" | "dsb" | "dsw" | "dsl" | "bsc")
}
