//! A parsed body to machine operations.

use super::body::{self, Next};
use super::{Function, Operation};
use crate::mir::Virtual;
use crate::mir::function::{Block, Operand};
use crate::mir::liveness::Liveness;
use crate::refusal::Refusal;
use ir::Loc;
use isa::ptx::{Class, Mnemonic, Opcode};
use smol_str::SmolStr;
use syntax::ptx::{PtxFunction, StatementKind};

/// A body in machine operations, and where each of them stands.
#[derive(Clone, Debug)]
pub struct Body {
    pub function: Function,
    /// The name of each virtual register in the text; registers of different scopes may share one.
    pub names: Vec<SmolStr>,
    /// The statement from which each operation of a block comes.
    pub statements: Vec<Vec<u32>>,
    /// The registers that each statement names, with the offset of each name in the item.
    pub(super) places: Vec<Vec<(u32, Virtual)>>,
}

/// Reads a body.
///
/// # Errors
/// An opcode that PTX does not have, registers of a vector type or of a width that is not known, and instructions that use
/// their registers after they are issued.
pub fn read(tree: &PtxFunction) -> Result<Body, Refusal> {
    let text = body::Body::new(tree);
    let refuse = |operation: &str, ty: &str| Refusal::NoForm {
        operation: operation.into(),
        ty: ty.into(),
        target: "PTX",
    };
    let classes: Result<Vec<Class>, Refusal> = text
        .types
        .iter()
        .map(|ty| Class::of(ty).ok_or_else(|| refuse("register", ty)))
        .collect();
    let statements = tree.statements();
    let mut out = Body {
        function: Function {
            name: tree.name.text.clone(),
            registers: classes?,
            parameters: text
                .parameters
                .iter()
                .map(|&parameter| Virtual(parameter))
                .collect(),
            ..Function::default()
        },
        names: text.names.clone(),
        statements: Vec::new(),
        places: vec![Vec::new(); statements.len()],
    };
    // Each parameter stays in the register of its name.
    out.function.arrivals = vec![None; out.function.parameters.len()];
    let blocks = block_of(&text);
    for (at, statement) in statements.iter().enumerate() {
        let number = blocks[at];
        while out.function.blocks.len() <= number as usize {
            out.function.blocks.push(Block::default());
            out.statements.push(Vec::new());
        }
        let line = &text.lines[at];
        let instruction = match &statement.kind {
            StatementKind::Instruction(instruction) => instruction,
            StatementKind::Invalid(_) => return Err(refuse("a statement", "no instruction")),
            _ => continue,
        };
        let name = instruction.full_name();
        let Some(opcode) = Opcode::find(&instruction.opcode.text) else {
            return Err(refuse(&name, "unknown opcode"));
        };
        if opcode.is_asynchronous() {
            return Err(refuse(&name, "asynchronous registers"));
        }
        let words = instruction.modifiers.iter().map(SmolStr::as_str);
        let mut mnemonic = Mnemonic::new(opcode, words);
        let mut reads = &line.reads[..];
        let mut predicate = None;
        if let Some(guard) = &instruction.guard {
            let Some((&register, rest)) = line.reads.split_first() else {
                return Err(refuse(&name, "guard"));
            };
            predicate = Some(Virtual(register));
            reads = rest;
            if guard.negated {
                mnemonic = mnemonic.negated();
            }
            let place = (guard.predicate.span.start, Virtual(register));
            out.places[at].push(place);
        }
        let own = line.places.iter();
        out.places[at].extend(own.map(|&(start, register)| (start, Virtual(register))));
        let register = |&register: &u32| Operand::register(Virtual(register));
        let mut sources: Vec<Operand<_>> = reads.iter().map(register).collect();
        if let Next::Jumps { targets, .. } = &line.next {
            let targets = targets.iter().map(|&target| blocks[target as usize]);
            sources.extend(targets.map(Operand::Block));
        }
        let operation = Operation::plain(
            mnemonic,
            line.writes.iter().map(register).collect::<Vec<_>>(),
            sources,
        )
        .under(predicate)
        .at(Loc::here(statement.span));
        out.function.calls |= opcode.name() == "call";
        out.function.blocks[number as usize]
            .operations
            .push(operation);
        out.statements[number as usize].push(at as u32);
    }
    if out.function.blocks.is_empty() {
        out.function.blocks.push(Block::default());
        out.statements.push(Vec::new());
    }
    Ok(out)
}

/// Returns the block of each statement. The first block is no target.
fn block_of(text: &body::Body) -> Vec<u32> {
    let mut starts = vec![false; text.lines.len() + 1];
    for (at, line) in text.lines.iter().enumerate() {
        match &line.next {
            Next::Falls => {}
            Next::Ends => starts[at + 1] = true,
            Next::Jumps { targets, .. } => {
                starts[at + 1] = true;
                for &target in targets {
                    starts[target as usize] = true;
                }
            }
        }
    }
    let mut number = 0;
    let mut out = Vec::with_capacity(text.lines.len());
    // A block that begins with the body has an empty one in front of it.
    for &starts in starts.iter().take(text.lines.len()) {
        number += u32::from(starts);
        out.push(number);
    }
    out
}

impl Body {
    /// Returns whether a register is read that nothing wrote: it may hold something else under another name.
    #[must_use]
    pub fn reads_undefined(&self) -> bool {
        let live = Liveness::of(&self.function);
        live.at_start(0).iter().next().is_some()
    }
}
