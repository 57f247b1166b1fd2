//! A conditional move behind a compare as the larger or the smaller of the two.
//!
//! ```text
//! fcmp.gt p, p0 = x, m; (p) mov m = x        m = x > m ? x : m        fmax m = x, m
//! ```
//!
//! `fmax a, b` is b where the two are equal, or one is no number, and `fmin a, b` too: each is one of C's conditional
//! expressions, to the bit. The compare goes where nothing else reads it. Exceptions are those of `fcmp.lt`.
//!
//! Source: Intel, *Itanium Architecture Software Developer's Manual*, volume 3, `fmax`, `fmin`.

use crate::target::ia64::code::Body;
use crate::target::ia64::code::op;
use crate::target::ia64::code::{Name, Operand, Operation, Virtual};
use isa::ia64::{Completer, Opcode};

/// Puts maxima and minima in the place of moves.
pub(super) fn extrema(body: &mut Body) {
    for at in 0..body.operations.len() {
        if let Some(made) = extremum(&body.operations, at) {
            body.operations[at] = made;
        }
    }
}

/// The move at `at` as one.
fn extremum(operations: &[Operation], at: usize) -> Option<Operation> {
    let operation = &operations[at];
    let predicate = operation.predicate?;
    let (Opcode::Mov, [Operand::Register(target)], [Operand::Register(source)]) = (
        operation.opcode(),
        &operation.targets[..],
        &operation.sources[..],
    ) else {
        return None;
    };
    let mut writers = (0..operations.len()).filter(|&by| writes(&operations[by], predicate));
    let compare = writers.next().filter(|&by| by < at)?;
    if writers.next().is_some() || !operations[compare].is_certain() {
        return None;
    }
    let compare_of = &operations[compare];
    let mut completers = compare_of.mnemonic.completers();
    let greater = match (compare_of.opcode(), completers.next()?) {
        (Opcode::Fcmp, Completer::Gt) => true,
        (Opcode::Fcmp, Completer::Lt) => false,
        _ => return None,
    };
    let plain =
        compare_of.predicate.is_none() && completers.all(|completer| completer == Completer::Unc);
    let [Operand::Register(left), Operand::Register(right)] = &compare_of.sources[..] else {
        return None;
    };
    // x > y.
    let (x, y) = if greater {
        (left, right)
    } else {
        (right, left)
    };
    let between = &operations[compare + 1..at];
    let changed = |name: &Name| match *name {
        Name::Virtual(register) => between.iter().any(|by| writes(by, register)),
        Name::Fixed(reg) => !reg.is_constant(),
    };
    if !plain || changed(x) || changed(y) || x == y {
        return None;
    }
    let holds = compare_of.targets.first()?.virtual_register() == Some(predicate);
    // As `condition ? first : second` of x > y and of y < x.
    let (mnemonic, first, second) = match (holds, target == x && source == y) {
        (true, false) if target == y && source == x => (op!("fmax"), x, y),
        (true, true) => (op!("fmin"), y, x),
        (false, true) => (op!("fmax"), x, y),
        (false, false) if target == y && source == x => (op!("fmin"), y, x),
        _ => return None,
    };
    let registers = [first, second].map(|it| Operand::Register(*it));
    Some(Operation {
        mnemonic,
        predicate: None,
        sources: registers.into_iter().collect(),
        ..operation.clone()
    })
}

fn writes(operation: &Operation, name: Virtual) -> bool {
    operation.writes().any(|write| write == name)
}
