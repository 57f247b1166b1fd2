//! Values that a few instructions compute again out of nothing but numbers, parameters, constant memory and the place of a
//! lane in its launch.
//!
//! ```text
//! ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd2, %rd1;      %rd2 again: the same two instructions
//! ```
//!
//! Nothing needs to be stored for such a value, and its operands need not be live. Only registers that one
//! instruction without a guard writes, in kernels, whose parameters nothing changes. One pass over the
//! statements in their order; a source that is written behind its use is not known.
//!
//! Source: Briggs, Cooper, Torczon, *Rematerialization* (PLDI 1992), with trees in place of single instructions.

use super::definitions::{Definition, definitions};
use super::{Body, Function, Operation};
use crate::mir::Virtual;
use crate::mir::function::{Name, Operand};
use isa::ptx::{Mnemonic, Ptx};
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::{SmolStr, format_smolstr};
use syntax::ptx::{Operand as Written, PtxFunction, StatementKind};

/// An instruction that may be executed again.
#[derive(Clone, Debug)]
struct Copied {
    mnemonic: Mnemonic,
    /// Registers among them are copied values, too.
    sources: Vec<Operand<Ptx>>,
    /// Instructions in all.
    count: u32,
    /// True if it reads memory: parameters or constants.
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
        let inner = inner_names(tree);
        let mut out = Copies::default();
        for definition in definitions(tree, body) {
            let instruction = definition.instruction;
            if !matches!(instruction.operands.first(), Some(Written::Name(_))) {
                continue;
            }
            let reading = Reading {
                out: &out,
                definition,
                tree,
                inner: &inner,
            };
            if let Some(copied) = reading.copied() {
                out.names
                    .insert(copied.mnemonic, instruction.full_name().into());
                out.known.insert(definition.register, copied);
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
    definition: Definition<'a>,
    tree: &'a PtxFunction,
    /// Names that mean something else, or nothing, in another place of the body.
    inner: &'a FxHashSet<&'a SmolStr>,
}

impl Reading<'_> {
    fn copied(&self) -> Option<Copied> {
        let i = self.definition.instruction;
        let loads = self.definition.loads_constant(self.tree);
        if !loads && !self.definition.is_function() {
            return None;
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
            mnemonic: self.definition.operation.mnemonic,
            sources,
            count,
            loads,
        })
    }

    fn source(&self, operand: &Written, out: &mut Vec<Operand<Ptx>>) -> Option<()> {
        match operand {
            Written::Name(name) => match self.definition.register_at(name.span.start) {
                Some(register) => {
                    self.out.known.get(&register)?;
                    out.push(register.into());
                }
                None if name.text.starts_with('%') => {
                    stays(&name.text).then_some(())?;
                    out.push(Operand::Symbol(name.text.clone()));
                }
                None => {
                    self.is_everywhere(&name.text)?;
                    out.push(Operand::Symbol(name.text.clone()));
                }
            },
            Written::Component(name, part) => {
                let register = self.definition.register_at(name.span.start);
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
                match self.definition.register_at(name.span.start) {
                    Some(register) => {
                        self.out.known.get(&register)?;
                        out.push(Operand::Address(Name::Virtual(register)));
                        out.push(offset.into());
                    }
                    None => {
                        self.is_everywhere(&name.text)?;
                        out.push(Operand::Symbol(match part {
                            Written::Name(_) => format_smolstr!("[{}]", name.text),
                            _ => format_smolstr!("[{}+{offset}]", name.text),
                        }));
                    }
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn is_everywhere(&self, name: &SmolStr) -> Option<()> {
        (!self.inner.contains(name)).then_some(())
    }
}

/// The names of variables that are declared inside inner braces.
fn inner_names(tree: &PtxFunction) -> FxHashSet<&SmolStr> {
    let mut depth = 0u32;
    let mut out = FxHashSet::default();
    for statement in tree.statements() {
        match &statement.kind {
            StatementKind::Open => depth += 1,
            StatementKind::Close => depth = depth.saturating_sub(1),
            StatementKind::Declaration(declaration) if depth > 0 => {
                out.extend(declaration.declarators.iter().map(|own| &own.name.text));
            }
            _ => {}
        }
    }
    out
}

/// Returns true for a special register that keeps its value while a lane runs.
fn stays(name: &str) -> bool {
    let first = name.split('.').next().unwrap_or(name);
    ["%tid", "%ntid", "%ctaid", "%nctaid", "%laneid"].contains(&first)
}
