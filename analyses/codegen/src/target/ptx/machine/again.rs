//! Values that a few instructions compute again out of nothing but numbers, parameters, constant memory and the place of a
//! lane in its launch.
//!
//! ```text
//! ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd2, %rd1;      %rd2 again: the same two instructions
//! ```
//!
//! Nothing needs to be stored for such a value, and what it is computed from need not be live. Only registers that one
//! instruction without a guard writes, in kernels, whose parameters nothing changes. One pass over the statements in their
//! order; a source that is written behind its use is not known.
//!
//! Source: Briggs, Cooper, Torczon, *Rematerialization* (PLDI 1992), with trees in place of single instructions.

use super::{Body, Function, Operation};
use crate::mir::Virtual;
use crate::mir::function::{Name, Operand};
use isa::ptx::{Effect, Mnemonic, Ptx};
use rustc_hash::FxHashMap;
use smol_str::{SmolStr, format_smolstr};
use syntax::ptx::{Instruction, Operand as Written, PtxFunction, Statement, StatementKind};

/// An instruction that may be executed again.
#[derive(Clone, Debug)]
struct Copied {
    mnemonic: Mnemonic,
    /// Registers among them are copied values, too.
    sources: Vec<Operand<Ptx>>,
    /// Instructions in all.
    count: u32,
    /// It reads memory: parameters or constants.
    loads: bool,
}

/// The instructions that compute values again, by register.
#[derive(Clone, Default, Debug)]
pub(super) struct Copies {
    known: FxHashMap<Virtual, Copied>,
    /// Names of their instructions, as the text has them.
    names: FxHashMap<Mnemonic, SmolStr>,
}

/// Instructions that take the place of a register, at most.
const MOST: u32 = 4;

impl Copies {
    /// The values of a kernel's body that can be computed again.
    pub(super) fn new(tree: &PtxFunction, body: &Body) -> Copies {
        let function = &body.function;
        let mut writes = vec![0u32; function.registers.len()];
        for operation in function.blocks.iter().flat_map(|block| &block.operations) {
            for register in operation.writes() {
                writes[register.0 as usize] += 1;
            }
        }
        let mut out = Copies::default();
        for (block, statements) in function.blocks.iter().zip(&body.statements) {
            for (operation, &statement) in block.operations.iter().zip(statements) {
                let StatementKind::Instruction(instruction) =
                    &tree.statements()[statement as usize].kind
                else {
                    continue;
                };
                let [Operand::Register(Name::Virtual(target))] = operation.targets[..] else {
                    continue;
                };
                let plain = matches!(instruction.operands.first(), Some(Written::Name(_)));
                if !plain || writes[target.0 as usize] != 1 || !operation.is_certain() {
                    continue;
                }
                let places = &body.places[statement as usize];
                let reading = Reading {
                    out: &out,
                    places,
                    tree,
                };
                if let Some(copied) = reading.copied(operation, instruction) {
                    out.names
                        .insert(copied.mnemonic, instruction.full_name().into());
                    out.known.insert(target, copied);
                }
            }
        }
        out
    }

    /// Instructions that compute a value again, and whether it is a single load.
    pub(super) fn of(&self, register: Virtual) -> Option<(u32, bool)> {
        let copied = self.known.get(&register)?;
        Some((copied.count, copied.loads && copied.count == 1))
    }

    /// The name of an instruction that is copied.
    pub(super) fn name(&self, mnemonic: Mnemonic) -> Option<&str> {
        self.names.get(&mnemonic).map(SmolStr::as_str)
    }

    /// Computes the value of `from` into `to`.
    pub(super) fn make(
        &self,
        function: &mut Function,
        from: Virtual,
        to: Virtual,
        out: &mut Vec<Operation>,
    ) {
        let Some(copied) = self.known.get(&from) else {
            debug_assert!(false, "{from:?} is not computed again");
            return;
        };
        let mut made: Vec<(Virtual, Virtual)> = Vec::new();
        let mut sources = Vec::with_capacity(copied.sources.len());
        for source in &copied.sources {
            let Some(register) = source.virtual_register() else {
                sources.push(source.clone());
                continue;
            };
            let known = made.iter().find(|(known, _)| *known == register);
            let stand_in = known.map(|&(_, stand_in)| stand_in).unwrap_or_else(|| {
                let stand_in = function.register(function.class(register));
                self.make(function, register, stand_in, out);
                made.push((register, stand_in));
                stand_in
            });
            sources.push(match source {
                Operand::Address(_) => Operand::Address(Name::Virtual(stand_in)),
                _ => stand_in.into(),
            });
        }
        out.push(Operation::plain(copied.mnemonic, vec![to.into()], sources));
    }
}

struct Reading<'a> {
    out: &'a Copies,
    /// Registers of the statement by the place of their names.
    places: &'a [(u32, Virtual)],
    tree: &'a PtxFunction,
}

impl Reading<'_> {
    fn copied(&self, operation: &Operation, i: &Instruction) -> Option<Copied> {
        let opcode = operation.mnemonic.opcode();
        let loads = opcode.name() == "ld";
        let ordered = ["volatile", "relaxed", "acquire", "mmio"];
        if loads {
            let constant = is_parameter(self.tree, i) || i.has("const");
            if !constant || ordered.iter().any(|word| i.has(word)) {
                return None;
            }
        } else {
            // What an addition carries is read by the next one, by no name.
            let carries =
                opcode.carries(i.has("cc")) || matches!(opcode.name(), "addc" | "subc" | "madc");
            if opcode.effect() != Effect::Pure || carries || i.inline_assembly {
                return None;
            }
        }
        let mut sources = Vec::new();
        for source in i.operands.get(1..)? {
            self.source(source, &mut sources)?;
        }
        let registers = sources.iter().filter_map(Operand::virtual_register);
        let below: u32 = registers
            .map(|register| self.out.known.get(&register).map_or(0, |known| known.count))
            .sum();
        let count = below + 1;
        (count <= MOST).then_some(Copied {
            mnemonic: operation.mnemonic,
            sources,
            count,
            loads,
        })
    }

    fn source(&self, operand: &Written, out: &mut Vec<Operand<Ptx>>) -> Option<()> {
        match operand {
            Written::Name(name) => match self.register(name.span.start) {
                Some(register) => {
                    self.out.known.get(&register)?;
                    out.push(register.into());
                }
                None if name.text.starts_with('%') => {
                    stays(&name.text).then_some(())?;
                    out.push(Operand::Symbol(name.text.clone()));
                }
                None => out.push(Operand::Symbol(name.text.clone())),
            },
            Written::Component(name, part) => {
                let register = self.register(name.span.start);
                (register.is_none() && stays(&name.text)).then_some(())?;
                out.push(Operand::Symbol(format_smolstr!("{}.{part}", name.text)));
            }
            // A sign stands in front of the place of its number.
            Written::Integer(number, _) => out.push((*number).into()),
            Written::Float32(bits, _) => out.push(Operand::Symbol(format_smolstr!("0f{bits:08X}"))),
            Written::Float64(bits, _) => {
                out.push(Operand::Symbol(format_smolstr!("0d{bits:016X}")));
            }
            Written::Address(parts, _) => {
                let [part] = &parts[..] else { return None };
                let (base, offset) = match part {
                    Written::Offset(base, offset, _) => match **offset {
                        Written::Integer(offset, _) => (&**base, offset),
                        _ => return None,
                    },
                    base => (base, 0),
                };
                let Written::Name(name) = base else {
                    return None;
                };
                match self.register(name.span.start) {
                    Some(register) => {
                        self.out.known.get(&register)?;
                        out.push(Operand::Address(Name::Virtual(register)));
                        out.push(offset.into());
                    }
                    None => out.push(Operand::Symbol(match part {
                        Written::Name(_) => format_smolstr!("[{}]", name.text),
                        _ => format_smolstr!("[{}+{offset}]", name.text),
                    })),
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn register(&self, start: u32) -> Option<Virtual> {
        let mut places = self.places.iter();
        let found = places.find(|(place, _)| *place == start);
        found.map(|&(_, register)| register)
    }
}

/// Whether an instruction loads from a parameter of the function: other variables of that space pass on what calls take and return.
pub(super) fn is_parameter(tree: &PtxFunction, i: &Instruction) -> bool {
    let Some(Written::Address(parts, _)) = i.operands.get(1) else {
        return false;
    };
    let name = match &parts[..] {
        [Written::Name(name)] => name,
        [Written::Offset(base, _, _)] => match &**base {
            Written::Name(name) => name,
            _ => return false,
        },
        _ => return false,
    };
    let declared = tree
        .parameters
        .iter()
        .flat_map(|declared| &declared.declarators);
    let mut own = declared.filter(|own| own.name.text == name.text);
    let declares = |statement: &Statement| match &statement.kind {
        StatementKind::Declaration(declaration) => {
            let mut names = declaration.declarators.iter();
            names.any(|declared| declared.name.text == name.text)
        }
        _ => false,
    };
    i.has("param") && own.next().is_some() && !tree.statements().iter().any(declares)
}

/// Whether a special register keeps its value while a lane runs.
fn stays(name: &str) -> bool {
    let first = name.split('.').next().unwrap_or(name);
    ["%tid", "%ntid", "%ctaid", "%nctaid", "%laneid"].contains(&first)
}
