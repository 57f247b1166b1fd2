//! Functions that are basic operations, whatever they are called: reference code that computes what an operation is defined
//! to, for all operands.
//!
//! ```text
//! Word16 plus(Word16 a, Word16 b) { Word32 s = (Word32)a + b; return s > 32767 ? 32767 : s < -32768 ? -32768 : s; }
//!                                                          add
//! ```
//!
//! A function of one to three integers is lowered as it is written, run on a few numbers (`execute`), and compared with each
//! operation that takes as many of the same widths. What is left is proved: both are executed on truth functions of their
//! operands' bits (`bdd`), and are equal where these are. A product of two operands is one number of which its limits are known,
//! on both sides the same. A function that also writes `Overflow` must do so exactly where the operation loses something.
//!
//! Not found: what is only equal where behaviour is defined, divisions, sums with carry, numbers of 64 bits, parameters by
//! address, flags of other names. A function is what it is written as then.
//!
//! Cost: at most `execute`'s steps and `bdd`'s nodes for a candidate; a function of something else ends after a few numbers.

mod bdd;
mod execute;
mod meaning;
#[cfg(test)]
mod tests;
mod words;

use super::builtins::basic::{BasicOperation, Meaning, TABLE, Word};
use super::root::lower_reference;
use super::{Bodies, Environment, LowerOptions, visit};
use crate::function::{Function, Module};
use crate::types::Type;
use bdd::{Diagrams, Truth};
use execute::{EVERYWHERE, Machine, Memory, Outcome, Product};
use meaning::Given;
use syntax::ItemKey;
use syntax::c_family::ast::{ExprKind, FunctionBody, ItemKind, ParsedItem, TypeKind};
use words::{Bits, constant};

const OVERFLOW: &str = "Overflow";

/// Expressions of a function that is looked at, and calls among them: reference code is short.
const LARGEST: u32 = 250;
const MOST_CALLS: u32 = 8;

/// The operation that a function turned out to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recognized {
    /// Its number in the table.
    row: u16,
    pub overflow: FlagEffect,
}

impl Recognized {
    #[must_use]
    pub fn operation(self) -> &'static BasicOperation {
        &TABLE[usize::from(self.row)]
    }
}

/// The effect of a function on `Overflow`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlagEffect {
    Untouched,
    /// Set where something is lost, else left alone.
    Sticky,
    /// Set where something is lost, else cleared.
    Assigned,
}

/// The basic operation that a function of C is, if it is one.
pub fn recognize(
    env: &Environment,
    bodies: &dyn Bodies,
    key: &ItemKey,
    options: &LowerOptions,
) -> Option<Recognized> {
    let item = bodies.body(key)?;
    if !may_be(&item) {
        return None;
    }
    let options = LowerOptions {
        as_written: true,
        ..options.clone()
    };
    let module = lower_reference(env, bodies, &item, &options)?;
    of_module(&module, &item.key.name)
}

/// Returns true if the tree alone rules nothing out.
fn may_be(item: &ParsedItem) -> bool {
    let ItemKind::Function(function) = &item.kind else {
        return false;
    };
    let FunctionBody::Block(body) = &function.body else {
        return false;
    };
    let (mut size, mut calls) = (0, 0);
    visit::block(body, &mut |e| {
        size += 1;
        calls += u32::from(matches!(e.kind, ExprKind::Call { .. }));
    });
    let plain = |kind: &TypeKind| matches!(kind, TypeKind::Builtin(_) | TypeKind::Named(_));
    size <= LARGEST
        && calls <= MOST_CALLS
        && !function.variadic
        && (1..=3).contains(&function.parameters.len())
        && plain(&function.return_type.kind)
        && function.parameters.iter().all(|p| plain(&p.ty.kind))
}

fn of_module(module: &Module, name: &str) -> Option<Recognized> {
    let function = module.functions.first()?;
    if module.functions.iter().any(|f| !f.unknowns.is_empty()) {
        return None;
    }
    let mut rows: Vec<usize> = (0..TABLE.len())
        .filter(|&row| fits(function, &TABLE[row]))
        .collect();
    // A name is a hint where two operations are one.
    rows.sort_by_key(|&row| TABLE[row].name != name);
    for numbers in samples(function) {
        if rows.is_empty() {
            return None;
        }
        let returned = sampled(module, &numbers)?;
        rows.retain(|&row| {
            let mut diagrams = Diagrams::new();
            let product = meaning::known_product(&numbers);
            let given = Given {
                parameters: numbers.clone(),
                product,
            };
            let wanted = meaning::value(TABLE[row].meaning, &given, &mut diagrams);
            wanted.is_some_and(|(bits, _)| bits == returned)
        });
    }
    rows.into_iter().find_map(|row| {
        let overflow = proved(module, &TABLE[row])?;
        Some(Recognized {
            row: row as u16,
            overflow,
        })
    })
}

fn type_of(word: Word) -> Type {
    match word {
        Word::Word16 => Type::I16,
        Word::Word32 => Type::I32,
        Word::Word40 => Type::I64,
    }
}

/// Returns true if a function has an operation's types.
fn fits(function: &Function, row: &BasicOperation) -> bool {
    let params = &function.blocks[function.entry()].params;
    let words = || row.parameters.iter().chain([&row.result]);
    looked_for(row.meaning)
        && words().all(|&word| word != Word::Word40)
        && params.len() == row.parameters.len()
        && function.returns.as_slice() == [type_of(row.result)]
        && params
            .iter()
            .zip(row.parameters)
            .all(|(&param, &word)| function.ty(param) == type_of(word))
}

/// Of other operations the body says as much as the name.
const fn looked_for(meaning: Meaning) -> bool {
    use Meaning::*;
    matches!(
        meaning,
        Add | Sub
            | Abs
            | Negate
            | Shl
            | Shr
            | ShrRound
            | Mult
            | MultIntegerLow
            | MultHigh
            | MultRound
            | Mac
            | Msu
            | MacRound
            | MsuRound
            | MacInteger
            | MsuInteger
            | Round
            | Norm
            | Saturate
            | Max
            | Min
    )
}

/// Operands at and near the limits, and between them.
fn samples(function: &Function) -> Vec<Vec<Bits>> {
    const NUMBERS: [i64; 12] = [
        0,
        1,
        -1,
        i64::MIN,
        i64::MAX,
        5,
        -14,
        i64::MIN + 1,
        i64::MAX / 2 + 1,
        0x1234_5678_9abc_def1,
        -0x7fff_1234_0000_1000,
        31,
    ];
    let params = &function.blocks[function.entry()].params;
    let mut all = Vec::new();
    for round in 0..24usize {
        let numbers = params.iter().enumerate().map(|(at, &param)| {
            let bits = function.ty(param).bits();
            let step = [1, 5, 7][at.min(2)];
            let number = NUMBERS[(round * step + 3 * at + round / 12) % NUMBERS.len()];
            // The highest bits of large ones, small ones as they are.
            let number = match number.unsigned_abs() < 1 << 8 {
                true => number,
                false => number >> (64 - bits),
            };
            constant(number, bits as usize)
        });
        all.push(numbers.collect());
    }
    all
}

/// Returns the result of a function for numbers.
fn sampled(module: &Module, numbers: &[Bits]) -> Option<Bits> {
    let mut diagrams = Diagrams::new();
    let mut machine = Machine::new(module, &mut diagrams, EVERYWHERE, None);
    let outcomes = machine.run(0, numbers, EVERYWHERE, Memory::default(), 0)?;
    // Paths that differ in what memory held at first return the same.
    let first = outcomes.first()?.returned.first()?.clone();
    let same = outcomes
        .iter()
        .all(|way| way.returned.first() == Some(&first));
    same.then_some(first)
}

/// Returns the effect of a function on `Overflow` where it is proved to be an operation.
fn proved(module: &Module, row: &BasicOperation) -> Option<FlagEffect> {
    let mut diagrams = Diagrams::new();
    let given = given(row, &mut diagrams);
    let (wanted, lost) = meaning::value(row.meaning, &given, &mut diagrams)?;
    let care = meaning::bounds(&given, &mut diagrams);
    let product = given.product.as_ref().map(|value| {
        let count = given.parameters.len();
        Product {
            factors: [&given.parameters[count - 2], &given.parameters[count - 1]],
            value,
        }
    });
    let mut machine = Machine::new(module, &mut diagrams, care, product);
    let outcomes = machine.run(0, &given.parameters, EVERYWHERE, Memory::default(), 0)?;
    let initial = std::mem::take(&mut machine.initial);
    for way in &outcomes {
        let returned = way.returned.first()?;
        if returned.len() != wanted.len() {
            return None;
        }
        let there = diagrams.and(way.path, care);
        if diagrams.unlike_where(returned, &wanted, there) {
            return None;
        }
    }
    let effect = flag_effect(&outcomes, &initial, lost, care, &mut diagrams)?;
    (!diagrams.is_full()).then_some(effect)
}

fn flag_effect(
    outcomes: &[Outcome],
    initial: &Memory,
    lost: Truth,
    care: Truth,
    diagrams: &mut Diagrams,
) -> Option<FlagEffect> {
    let mut sticky = true;
    let mut assigned = true;
    let mut untouched = true;
    for way in outcomes {
        let there = diagrams.and(way.path, care);
        for (name, after) in &way.memory {
            let before = initial.get(name)?;
            let changed = diagrams.unlike_where(before, after, there);
            if name != OVERFLOW {
                if changed {
                    return None;
                }
                continue;
            }
            untouched &= !changed;
        }
        let Some((_, before)) = initial.iter().find(|(name, _)| *name == OVERFLOW) else {
            continue;
        };
        let after = way.memory.get(OVERFLOW).unwrap_or(before).clone();
        let width = after.len();
        let (set, clear) = (constant(1, width), constant(0, width));
        for (holds, otherwise) in [(&mut sticky, before), (&mut assigned, &clear)] {
            let wanted = diagrams.pick(lost, &set, otherwise);
            *holds &= !diagrams.unlike_where(&wanted, &after, there);
        }
    }
    match (untouched, sticky, assigned) {
        (true, ..) => Some(FlagEffect::Untouched),
        (_, true, _) => Some(FlagEffect::Sticky),
        (_, _, true) => Some(FlagEffect::Assigned),
        _ => None,
    }
}

/// The operands as variables, in an order that keeps an operation's diagrams small: places of a shift first, else bits of one
/// weight side by side.
fn given(row: &BasicOperation, diagrams: &mut Diagrams) -> Given {
    let moves = meaning::moves(row.meaning);
    let multiplies = meaning::multiplies(row.meaning);
    let count = row.parameters.len();
    let word = |diagrams: &mut Diagrams, width: u32, at: &dyn Fn(u32) -> u32| -> Bits {
        (0..width)
            .map(|bit| diagrams.variable(at(width - 1 - bit)))
            .collect()
    };
    let parameters = row
        .parameters
        .iter()
        .enumerate()
        .map(|(number, &parameter)| {
            let width = type_of(parameter).bits();
            let factor = multiplies && number + 2 >= count;
            let number = number as u32;
            word(diagrams, width, &|below| match (moves, factor) {
                (true, _) if number as usize + 1 == count => below,
                (true, _) => 100 + below,
                // The product's bits stand among those of the sum, and its factors behind.
                (_, true) => 1000 + 4 * below + number,
                _ => 4 * (below + 64 - width) + number,
            })
        });
    let parameters: Vec<Bits> = parameters.collect();
    let product = multiplies.then(|| word(diagrams, 32, &|below| 4 * (below + 32) + 3));
    Given {
        parameters,
        product,
    }
}
