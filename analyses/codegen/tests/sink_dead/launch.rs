//! The run of a random function.

use super::generate::OUTPUTS;
use ir::{Language, Module, SymbolKind};
use oracle::interp::{Buffer, Launch};
use oracle::random::Random;

/// Integers below `most` in every buffer; one lane in C, else a workgroup of 64.
pub(crate) fn launch(module: &Module, language: Language, seed: u64, most: u32) -> Launch {
    let function = &module.functions[0];
    let lanes = match language {
        Language::C => 1,
        _ => 64,
    };
    let mut launch = Launch::for_function(function, lanes, seed);
    launch.block = [lanes, 1, 1];
    launch.grid = [1, 1, 1];
    launch.limits.steps = 2_000_000;
    let numbers = |slot: u64| {
        let of = move |at: u64| Random::new(seed ^ (slot << 40) ^ at).below(most);
        Buffer::of_u32((0..u64::from(64 * OUTPUTS)).map(of))
    };
    for (slot, buffer) in (0..).zip(&mut launch.buffers) {
        *buffer = numbers(slot);
    }
    for (at, symbol) in function.symbols.values().enumerate() {
        if symbol.kind == SymbolKind::Buffer {
            let buffers = launch.buffers.len();
            launch.bindings.push((symbol.name.clone(), buffers));
            launch.buffers.push(numbers(100 + at as u64));
        }
    }
    launch
}
