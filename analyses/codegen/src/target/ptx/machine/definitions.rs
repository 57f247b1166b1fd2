//! Registers that a single instruction writes, and instructions whose result is the same whenever a lane executes them.
//!
//! ```text
//! ld.param.u32 %r1, [n]; @%p1 mov.u32 %r2, 0; add.s32 %r3, %r3, 1; mov.u32 %r3, 0;      %r1 alone
//! ```

use super::{Body, Operation};
use crate::mir::Virtual;
use isa::ptx::Effect;
use syntax::ptx::{Instruction, Operand, PtxFunction, Statement, StatementKind};

/// The one instruction that writes a register, always and nothing else.
#[derive(Clone, Copy, Debug)]
pub(super) struct Definition<'a> {
    pub(super) register: Virtual,
    pub(super) operation: &'a Operation,
    pub(super) instruction: &'a Instruction,
    /// Registers of the statement by the place of their names.
    places: &'a [(u32, Virtual)],
}

/// The definitions of a body, in the order of its statements.
pub(super) fn definitions<'a>(tree: &'a PtxFunction, body: &'a Body) -> Vec<Definition<'a>> {
    let function = &body.function;
    let mut writes = vec![0u32; function.registers.len()];
    for operation in function.blocks.iter().flat_map(|block| &block.operations) {
        for register in operation.writes() {
            writes[register.0 as usize] += 1;
        }
    }
    let mut out = Vec::new();
    for (block, statements) in function.blocks.iter().zip(&body.statements) {
        for (operation, &statement) in block.operations.iter().zip(statements) {
            let StatementKind::Instruction(instruction) =
                &tree.statements()[statement as usize].kind
            else {
                continue;
            };
            let mut targets = operation.writes();
            let (Some(register), None) = (targets.next(), targets.next()) else {
                continue;
            };
            if writes[register.0 as usize] == 1 && operation.is_certain() {
                out.push(Definition {
                    register,
                    operation,
                    instruction,
                    places: &body.places[statement as usize],
                });
            }
        }
    }
    out
}

impl Definition<'_> {
    /// The register whose name begins at a place of the text.
    pub(super) fn register_at(&self, start: u32) -> Option<Virtual> {
        let mut places = self.places.iter();
        let found = places.find(|(place, _)| *place == start);
        found.map(|&(_, register)| register)
    }

    /// Returns true where the result depends on the operands alone.
    pub(super) fn is_function(&self) -> bool {
        let i = self.instruction;
        let opcode = self.operation.mnemonic.opcode();
        // What an addition carries is read by the next one, by no name.
        let carries =
            opcode.carries(i.has("cc")) || matches!(opcode.name(), "addc" | "subc" | "madc");
        opcode.effect() == Effect::Pure && !carries && !i.inline_assembly
    }

    /// Returns true for a load that no store changes: from a parameter of the function, from constant memory. The order of
    /// accesses is no matter of it.
    pub(super) fn loads_constant(&self, tree: &PtxFunction) -> bool {
        let i = self.instruction;
        (self.loads_parameter(tree) || i.has("const")) && self.loads_in_any_order()
    }

    /// Returns true for a load that may be executed at another time.
    pub(super) fn loads_in_any_order(&self) -> bool {
        let ordered = ["volatile", "relaxed", "acquire", "mmio"];
        let is_load = self.operation.mnemonic.opcode().name() == "ld";
        is_load && !ordered.iter().any(|word| self.instruction.has(word))
    }

    /// Returns true for a load from a parameter of the function: other variables of that space pass on what calls take and
    /// return.
    pub(super) fn loads_parameter(&self, tree: &PtxFunction) -> bool {
        let Some(Operand::Address(parts, _)) = self.instruction.operands.get(1) else {
            return false;
        };
        let name = match &parts[..] {
            [Operand::Name(name)] => name,
            [Operand::Offset(base, _, _)] => match &**base {
                Operand::Name(name) => name,
                _ => return false,
            },
            _ => return false,
        };
        let mut declared = tree.parameters.iter().flat_map(|own| &own.declarators);
        let own = declared.any(|own| own.name.text == name.text);
        let declares = |statement: &Statement| match &statement.kind {
            StatementKind::Declaration(declaration) => {
                let mut names = declaration.declarators.iter();
                names.any(|declared| declared.name.text == name.text)
            }
            _ => false,
        };
        self.instruction.has("param") && own && !tree.statements().iter().any(declares)
    }
}
