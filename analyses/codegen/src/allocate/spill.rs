//! Values that live in the frame are loaded in front of the operations that read them and stored behind those that write
//! them. A predicate is kept as 0 or 1.

use super::Allocation;
use super::scan::{ADDRESS_AWAY, FLOAT_AWAY, GENERAL_AWAY, PREDICATE_AWAY, Place, behind};
use crate::mir::function::{FrameOffset, Function, Name, Operand, Operation, Virtual};
use crate::mir::op;
use crate::mir::{File, Reg};
use isa::ia64::{Class, Completer, Mnemonic};
use rustc_hash::FxHashMap;

struct Writer {
    out: Vec<Operation>,
    loc: ir::Loc,
    /// Speculative loads leave bits that plain stores trap on.
    speculative: bool,
}

impl Writer {
    fn push(
        &mut self,
        predicate: Option<Virtual>,
        mnemonic: Mnemonic,
        targets: Vec<Operand>,
        sources: Vec<Operand>,
    ) {
        self.out.push(Operation {
            mnemonic,
            predicate,
            targets,
            sources,
            memory: None,
            loc: self.loc,
        });
    }
    fn address(&mut self, offset: u32) {
        let place = Operand::Frame(FrameOffset::Spill(offset));
        self.push(
            None,
            op!("adds"),
            vec![ADDRESS_AWAY.into()],
            vec![place, Reg::general(12).into()],
        );
    }
    fn load(&mut self, to: Reg, offset: u32) {
        self.address(offset);
        let at = Operand::Address(Name::Fixed(ADDRESS_AWAY));
        match to.file {
            File::Float => self.push(None, op!("ldf.fill"), vec![to.into()], vec![at]),
            File::Predicate => {
                let word = Reg::general(GENERAL_AWAY[0]);
                self.push(None, op!("ld8"), vec![word.into()], vec![at]);
                self.push(
                    None,
                    op!("cmp.ne"),
                    vec![to.into(), Reg::P0.into()],
                    vec![Reg::R0.into(), word.into()],
                );
            }
            _ => {
                let mnemonic = if self.speculative {
                    op!("ld8.fill")
                } else {
                    op!("ld8")
                };
                self.push(None, mnemonic, vec![to.into()], vec![at]);
            }
        }
    }
    /// A predicate is read by the virtual register that stands for `from`.
    fn store(&mut self, from: Reg, offset: u32, predicate: Option<Virtual>) {
        self.address(offset);
        let at = Operand::Address(Name::Fixed(ADDRESS_AWAY));
        match from.file {
            File::Float => self.push(None, op!("stf.spill"), vec![at], vec![from.into()]),
            File::Predicate => {
                let word = Reg::general(GENERAL_AWAY[0]);
                self.push(None, op!("mov"), vec![word.into()], vec![Reg::R0.into()]);
                self.push(predicate, op!("mov"), vec![word.into()], vec![1.into()]);
                self.push(None, op!("st8"), vec![at], vec![word.into()]);
            }
            _ => {
                let mnemonic = if self.speculative {
                    op!("st8.spill")
                } else {
                    op!("st8")
                };
                self.push(None, mnemonic, vec![at], vec![from.into()]);
            }
        }
    }
}

pub(super) fn rewrite(function: &mut Function, places: &[Place]) -> Allocation {
    let mut offsets: FxHashMap<Virtual, u32> = FxHashMap::default();
    let mut bytes = 0u32;
    for (at, place) in places.iter().enumerate() {
        if *place == Place::Memory {
            let register = Virtual(at as u32);
            let size = if function.file(register) == File::Float {
                16
            } else {
                8
            };
            bytes = bytes.next_multiple_of(size);
            offsets.insert(register, bytes);
            bytes += size;
        }
    }
    let mut registers: Vec<Reg> = places
        .iter()
        .map(|place| match place {
            Place::Register(register) => *register,
            _ => Reg::R0,
        })
        .collect();
    let stacked = behind(function, places);
    // Stand-ins for predicates in memory: a qualifying predicate is a virtual register.
    let stand_ins: Vec<Virtual> = PREDICATE_AWAY
        .iter()
        .map(|&number| {
            registers.push(Reg::predicate(number));
            function.register(File::Predicate)
        })
        .collect();
    let speculative = function
        .blocks
        .iter()
        .flat_map(|block| &block.operations)
        .any(|one| {
            matches!(one.class(), Class::Load | Class::FloatLoad)
                && one.mnemonic.has_any(&[Completer::S, Completer::Sa])
        });
    let mut writer = Writer {
        out: Vec::new(),
        loc: ir::Loc::NONE,
        speculative,
    };
    // Arguments come from where they arrive.
    for (param, from) in function.arriving() {
        let Some(from) = from else { continue };
        match places[param.0 as usize] {
            Place::Register(to) if to != from => {
                writer.push(None, op!("mov"), vec![to.into()], vec![from.into()]);
            }
            Place::Memory => writer.store(from, offsets[&param], None),
            _ => {}
        }
    }
    let arrivals = std::mem::take(&mut writer.out);
    for block in &mut function.blocks {
        let away = block.operations.iter().any(|one| {
            one.virtual_registers()
                .any(|register| offsets.contains_key(&register))
        });
        if !away {
            continue;
        }
        for mut operation in std::mem::take(&mut block.operations) {
            writer.loc = operation.loc;
            let reads: Vec<Virtual> = operation.reads().collect();
            let writes: Vec<Virtual> = operation.writes().collect();
            let keeps = !operation.is_certain();
            let mut given: Vec<(Virtual, Reg)> = Vec::new();
            let mut counts = [0usize; 3];
            for one in operation.virtual_registers() {
                if !offsets.contains_key(&one) || given.iter().any(|(known, _)| *known == one) {
                    continue;
                }
                let register = match function.registers[one.0 as usize] {
                    File::Float => {
                        counts[1] += 1;
                        Reg::float(FLOAT_AWAY[(counts[1] - 1) % FLOAT_AWAY.len()])
                    }
                    File::Predicate => {
                        counts[2] += 1;
                        Reg::predicate(PREDICATE_AWAY[(counts[2] - 1) % PREDICATE_AWAY.len()])
                    }
                    _ => {
                        counts[0] += 1;
                        Reg::general(GENERAL_AWAY[(counts[0] - 1) % GENERAL_AWAY.len()])
                    }
                };
                given.push((one, register));
            }
            let written = |one: Virtual| writes.contains(&one);
            // Predicates first: their loads use a general register of the others.
            given.sort_by_key(|(_, register)| register.file != File::Predicate);
            for &(one, register) in &given {
                if reads.contains(&one) || (written(one) && keeps) {
                    writer.load(register, offsets[&one]);
                }
            }
            for operand in operation.targets.iter_mut().chain(&mut operation.sources) {
                if let Operand::Register(name) | Operand::Address(name) = operand
                    && let Name::Virtual(one) = *name
                    && let Some((_, register)) = given.iter().find(|(known, _)| *known == one)
                {
                    *name = Name::Fixed(*register);
                }
            }
            let stand_in = |register: Reg| {
                let at = PREDICATE_AWAY
                    .iter()
                    .position(|&number| number == register.number);
                at.map(|at| stand_ins[at])
            };
            if let Some(predicate) = operation.predicate
                && let Some((_, register)) = given.iter().find(|(known, _)| *known == predicate)
            {
                operation.predicate = stand_in(*register);
            }
            writer.out.push(operation);
            // General registers first: the stores of predicates use one of them.
            given.sort_by_key(|(_, register)| register.file == File::Predicate);
            for &(one, register) in &given {
                if written(one) {
                    writer.store(
                        register,
                        offsets[&one],
                        stand_in(register).filter(|_| register.file == File::Predicate),
                    );
                }
            }
        }
        block.operations = std::mem::take(&mut writer.out);
    }
    Allocation {
        registers,
        spilled: bytes.next_multiple_of(16),
        in_memory: offsets.len() as u32,
        arrivals,
        stacked,
    }
}
