//! Functions of the run-time library in a module that calls them.

use crate::merge::merged;
use crate::runtime::{INTEGERS, SOFT_FLOAT};
use ir::lower::c_family::{LowerOptions, lower_unit};
use ir::{Function, Language, Module, Op};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;
use syntax::c_family::{Dialect, parse_text};

/// All of the library.
static LIBRARY: LazyLock<Module> = LazyLock::new(|| {
    let items = parse_text(&format!("{INTEGERS}{SOFT_FLOAT}"), Dialect::C);
    let lowered = lower_unit(&items, &LowerOptions::new(Language::C));
    merged(lowered.iter().map(|(_, lowered)| &lowered.module))
});

/// The prefix of a routine's name in a module: no name of C has it.
const PREFIX: &str = "rt.";

/// The routines that a module's functions call, by their numbers in it.
pub(super) struct Routines {
    next: usize,
    /// Keyed by the number in the library.
    numbers: FxHashMap<usize, u32>,
    fresh: Vec<usize>,
}

impl Routines {
    /// `next`: the number that the first routine gets.
    pub(super) fn new(next: usize) -> Routines {
        Routines {
            next,
            numbers: FxHashMap::default(),
            fresh: Vec::new(),
        }
    }

    /// The number of a routine of this name, which the library has.
    pub(super) fn number(&mut self, name: &str) -> u32 {
        let functions = &LIBRARY.functions;
        let found = functions.iter().position(|function| function.name == name);
        debug_assert!(found.is_some(), "the library has `{name}`");
        self.number_of(found.unwrap_or(0))
    }

    fn number_of(&mut self, routine: usize) -> u32 {
        *self.numbers.entry(routine).or_insert_with(|| {
            self.fresh.push(routine);
            self.next += 1;
            self.next as u32 - 1
        })
    }

    /// The routines that were not handed out before, in the order of their numbers.
    pub(super) fn new_ones(&mut self) -> Vec<Function> {
        let mut out = Vec::new();
        let mut at = 0;
        while let Some(&routine) = self.fresh.get(at) {
            let mut function = LIBRARY.functions[routine].clone();
            function.name = smol_str::format_smolstr!("{PREFIX}{}", function.name);
            function.internal = true;
            for inst in function.insts.keys() {
                if let Op::Call(callee) = function.insts[inst].op {
                    function.insts[inst].op = Op::Call(self.number_of(callee as usize));
                }
            }
            out.push(function);
            at += 1;
        }
        self.fresh.clear();
        out
    }
}
