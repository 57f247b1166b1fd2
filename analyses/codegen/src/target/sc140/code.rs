//! Functions in operations of the SC140: the machine code of `mir` over this instruction set.
//!
//! ```text
//! v3 = mac v1, v2            mac v1,v2,v3: what the target accumulates into is read, too
//! v3 = mac v1, v2, -1        mac -v1,v2,v3
//! v4 = move.f [r1], 2        move.f (r1)+,v4
//! t5 = cmpgt v1, v2          cmpgt v1,v2: v2 > v1
//! ```

use crate::mir;
pub use crate::mir::{FrameOffset, Reference, Slot, Virtual};
use isa::sc140::{File, Mnemonic, Opcode, Reg, Sc140, Unit};

pub type Name = mir::Name<Sc140>;
pub type Operand = mir::Operand<Sc140>;
pub type Operation = mir::Operation<Sc140>;
pub type Function = mir::Function<Sc140>;
pub type Allocation = crate::allocate::Allocation<Sc140>;

/// The loop of the hardware that code uses: the innermost one.
pub const LOOP: u8 = 3;

/// An operation that always executes, its opcode in the first of its forms that takes such operands.
#[must_use]
pub fn operation(
    opcode: Opcode,
    targets: impl Into<mir::Targets<Sc140>>,
    sources: impl Into<mir::Sources<Sc140>>,
) -> Operation {
    let (targets, sources) = (targets.into(), sources.into());
    let number = sources
        .iter()
        .any(|source| matches!(source, Operand::Number(_) | Operand::Frame(_)));
    let row = opcode.row();
    let is_move = row.operands == "source,target";
    let factors = matches!(
        opcode,
        Opcode::Mac | Opcode::Macr | Opcode::Mpy | Opcode::Mpyr
    );
    // A form takes as many registers as the operation names, and a number in front of them or not.
    let named = sources.len()
        + usize::from(
            !targets.is_empty()
                && !writes_truth(opcode)
                && !matches!(row.unit, Unit::Flow | Unit::Loop),
        );
    let fits = |form: &str| {
        let parts = form.split(',').filter(|part| !part.is_empty()).count();
        parts == named && form.starts_with('#') == number
    };
    let form = match (is_move, factors) {
        (true, _) | (_, true) => 0,
        _ => row.operands.split("; ").position(fits).unwrap_or(0) as u8,
    };
    Operation::plain(Mnemonic::plain(opcode).in_form(form), targets, sources)
}

/// Returns true if the only thing that it writes is T.
#[must_use]
pub fn writes_truth(opcode: Opcode) -> bool {
    use isa::sc140::Status;
    let row = opcode.row();
    row.status.contains(&Status::WritesTruth)
        && row
            .targets
            .iter()
            .all(|target| *target == isa::sc140::Target::Reads)
}

/// Bytes of an access to memory, or of a register's move.
#[must_use]
pub fn bytes(opcode: Opcode) -> u32 {
    isa::sc140::Instruction {
        mnemonic: Mnemonic::plain(opcode),
        operands: Vec::new(),
    }
    .bytes()
}

/// Returns true if it is one of the moves, which access memory where an operand is a place there.
#[must_use]
pub fn is_move(opcode: Opcode) -> bool {
    matches!(opcode.row().operands, "source,target") || opcode.row().operands.ends_with("memory")
}

/// Returns true if it accesses memory or the frame.
#[must_use]
pub fn is_access(operation: &Operation) -> bool {
    let place = |operand: &Operand| matches!(operand, Operand::Address(_) | Operand::Frame(_));
    let operands = operation.targets.iter().chain(&operation.sources);
    is_move(operation.mnemonic.opcode) && operands.into_iter().any(place)
}

/// Returns true if it writes memory.
#[must_use]
pub fn is_store(operation: &Operation) -> bool {
    let register = |operand: &Operand| matches!(operand, Operand::Register(_));
    is_access(operation) && !operation.targets.iter().any(register)
}

/// Returns true if the register is written by a move: its use for an address waits.
#[must_use]
pub fn moves(operation: &Operation, register: Name) -> bool {
    is_move(operation.mnemonic.opcode) && operation.stepped() != Some(register)
        || operation.mnemonic.opcode == Opcode::Pop && register != Name::Fixed(Reg::SP)
}

/// Returns true for the greater or smaller one of two registers that are four apart. Of `max2` nobody says whether they must be.
#[must_use]
pub const fn is_extreme(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::Max | Opcode::Max2 | Opcode::Min)
}

/// The registers of an access to several elements, one behind the other.
#[must_use]
pub fn tuple(operation: &Operation) -> &[Operand] {
    use Opcode::{Move2f, Move2l, Move2w, Move4f, Move4w};
    let wide = matches!(
        operation.mnemonic.opcode,
        Move2f | Move2l | Move2w | Move4f | Move4w
    );
    let register = |operand: &Operand| matches!(operand, Operand::Register(_));
    match wide {
        false => &[],
        true if operation.targets.iter().any(register) => &operation.targets,
        true => {
            let first = operation.sources.iter().position(register).unwrap_or(0);
            let count = operation.sources[first..]
                .iter()
                .take_while(|source| register(source))
                .count();
            &operation.sources[first..first + count]
        }
    }
}

/// The flag T as an operand.
#[must_use]
pub fn truth() -> Operand {
    Operand::fixed(Reg::TRUTH)
}

/// The counter of the hardware's loop.
#[must_use]
pub const fn counter() -> Reg {
    Reg::new(File::LoopCount, LOOP)
}
