//! Memory that the output adds: its variables, the slots in them, and the rules for slots of a warp.

use super::Violation;
use super::contents::Storage;
use super::polynomial::Polynomial;
use super::text::{Line, Register, Text};
use crate::target::ptx::machine::fit::{Budget, Scheduling};
use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use syntax::ptx::{Operand, StorageSpace};

/// A variable that the output declares beside the original's.
#[derive(Clone, PartialEq, Debug)]
struct Variable {
    name: SmolStr,
    space: StorageSpace,
    bytes: i64,
    align: i64,
}

/// The new variables of an output, and the facts about all accesses to them.
pub(super) struct Area {
    variables: Vec<Variable>,
    /// Lines of the output that are inserted for sure.
    pub(super) inserted: Vec<bool>,
    pub(super) log_lanes: Option<u32>,
    warps: i64,
    entry: bool,
    /// Lanes go in step.
    pub(super) in_step: bool,
    /// Lanes may read each other's registers where all come.
    pub(super) shares_registers: bool,
}

/// An access of an inserted line.
pub(super) struct Access {
    pub(super) storage: Storage,
    pub(super) loads: bool,
    /// The place of the register that is loaded or stored.
    pub(super) place: usize,
}

impl Area {
    pub(super) fn new(
        before: &Text<'_>,
        after: &Text<'_>,
        entry: bool,
        budget: &Budget,
        out: &mut Vec<Violation>,
    ) -> Area {
        let known: FxHashSet<&str> = before
            .lines
            .iter()
            .map(|line| line.shape.as_str())
            .collect();
        let mut variables = Vec::new();
        let mut inserted = vec![false; after.lines.len()];
        for (at, line) in after.lines.iter().enumerate() {
            let Some(memory) = line.memory.filter(|_| !known.contains(line.shape.as_str())) else {
                continue;
            };
            inserted[at] = true;
            for declarator in &memory.declarators {
                let element = memory.element_bytes().unwrap_or(0);
                let name = declarator.name.text.clone();
                let names = |line: &Line<'_>| line.shape.contains(name.as_str());
                if before.lines.iter().any(names) || before.names.contains(&name) {
                    out.push(Violation::TakenName { name: name.clone() });
                }
                variables.push(Variable {
                    name,
                    space: memory.space,
                    bytes: declarator.bytes(element).unwrap_or(0) as i64,
                    align: memory.align.unwrap_or(element).into(),
                });
            }
        }
        let shared = variables
            .iter()
            .filter(|variable| variable.space == StorageSpace::Shared);
        let bytes: i64 = shared.map(|variable| variable.bytes).sum();
        if bytes > i64::from(budget.shared_bytes) {
            out.push(Violation::SharedMemory { bytes });
        }
        let log_lanes = budget.lanes.is_power_of_two().then(|| budget.lanes.ilog2());
        let mut area = Area {
            variables,
            inserted,
            log_lanes,
            warps: budget.warps.into(),
            entry,
            in_step: budget.scheduling == Scheduling::InStep,
            shares_registers: entry && budget.shares_registers(),
        };
        area.mark(after);
        area
    }

    /// Marks lines that name new variables, or access memory through registers that are written last in the text with a
    /// place in one.
    fn mark(&mut self, after: &Text<'_>) {
        let mut derived = vec![false; after.names.len()];
        for line in &after.lines {
            let reads = line.reads().any(|register| derived[register as usize]);
            let from = self.names_new(line) || reads;
            let pure = super::align::may_be_inserted(line) && !line.is_opcode("ld");
            for register in line.writes() {
                derived[register as usize] = from && pure;
            }
        }
        for at in 0..after.lines.len() {
            let line = &after.lines[at];
            let through = |register: Register| derived[register as usize];
            let address = (line.is_opcode("ld") || line.is_opcode("st")) && line.has("shared");
            let through = address
                && address_of(line).is_some_and(|(place, _)| {
                    place.is_some_and(|place| through(line.places[place].0))
                });
            self.inserted[at] |= through || self.names_new(line);
        }
    }

    fn names_new(&self, line: &Line<'_>) -> bool {
        let words = |name: &str| {
            let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$' || c == '%');
            line.shape.split(word).any(|part| part == name)
        };
        line.instruction.is_some() && self.variables.iter().any(|variable| words(&variable.name))
    }

    fn variable(&self, name: &SmolStr, space: StorageSpace) -> Option<&Variable> {
        let mut all = self.variables.iter();
        all.find(|variable| variable.name == *name && variable.space == space)
    }

    /// Returns true for a declaration that may hold slots.
    pub(super) fn declares(&self, line: &Line<'_>) -> bool {
        let space = line.memory.map(|memory| memory.space);
        matches!(space, Some(StorageSpace::Local | StorageSpace::Shared))
            && line.memory.is_some_and(|memory| {
                memory
                    .declarators
                    .iter()
                    .all(|declarator| declarator.initial.is_none())
            })
    }

    /// The slot that an inserted line accesses, `None` for other lines. `of` has the polynomials of a place.
    pub(super) fn access(
        &self,
        line: &Line<'_>,
        of: &dyn Fn(usize) -> Vec<Polynomial>,
        out: &mut Vec<Violation>,
    ) -> Option<Access> {
        let loads = line.is_opcode("ld");
        if !loads && !line.is_opcode("st") {
            return None;
        }
        let statement = line.statement;
        let instruction = line.instruction?;
        let types = [
            "b8", "b16", "b32", "b64", "u32", "s32", "u64", "s64", "f32", "f64",
        ];
        let size = instruction
            .modifiers
            .last()
            .filter(|last| types.contains(&last.as_str()))?;
        let size: u32 = size.get(1..)?.parse::<u32>().ok()? / 8;
        let data = usize::from(!loads);
        let (address, mut first) = address_of(line)?;
        let place = (*line.plain.get(data)?)?;
        let storage = match address {
            None => {
                let name = named(instruction.operands.get(usize::from(loads))?)?;
                let variable = self
                    .variable(&name, StorageSpace::Local)
                    .filter(|_| line.has("local"))?;
                let inside = first >= 0 && first + i64::from(size) <= variable.bytes;
                if !inside || first % i64::from(size) != 0 || variable.align % i64::from(size) != 0
                {
                    out.push(Violation::Outside { statement, first });
                }
                Storage::Lane(name, first, size)
            }
            Some(register) => {
                if !line.has("shared") {
                    return None;
                }
                let values = of(register);
                let found = values.iter().find_map(Polynomial::as_warp_place);
                let found = found.and_then(|(name, distance, constant)| {
                    Some((
                        self.variable(&name, StorageSpace::Shared)?,
                        distance,
                        constant,
                    ))
                });
                let Some((variable, distance, constant)) = found else {
                    out.push(Violation::UnknownPlace { statement });
                    return None;
                };
                first += constant;
                let size_bytes = i64::from(size);
                let aligned = [first, distance, variable.align]
                    .iter()
                    .all(|number| number % size_bytes == 0);
                if first < 0 || first + size_bytes > distance || !aligned {
                    out.push(Violation::Outside { statement, first });
                }
                let needed = distance * self.warps;
                if needed > variable.bytes {
                    out.push(Violation::TooSmall {
                        name: variable.name.clone(),
                        needed,
                        has: variable.bytes,
                    });
                }
                if !self.entry {
                    out.push(Violation::SharedActivation { statement });
                }
                Storage::Warp(variable.name.clone(), first, size)
            }
        };
        Some(Access {
            storage,
            loads,
            place,
        })
    }
}

fn named(operand: &Operand) -> Option<SmolStr> {
    match operand {
        Operand::Name(name) => Some(name.text.clone()),
        Operand::Offset(base, _, _) => named(base),
        Operand::Address(parts, _) => named(parts.first()?),
        _ => None,
    }
}

/// The variable for calls that a load or a store of one scalar accesses, its bits, and the place of the data. A variable of a
/// block ends with the block: none is told of two with one name.
pub(super) fn argument(line: &Line<'_>, text: &Text<'_>) -> Option<(Storage, u32, usize)> {
    let loads = line.is_opcode("ld");
    if !line.has("param") || !(loads || line.is_opcode("st")) {
        return None;
    }
    let (None, first) = address_of(line)? else {
        return None;
    };
    let instruction = line.instruction?;
    let name = named(instruction.operands.get(usize::from(loads))?)?;
    if text.variables.get(&name) != Some(&1) {
        return None;
    }
    let place = (*line.plain.get(usize::from(!loads))?)?;
    let bits: u32 = instruction.modifiers.last()?.get(1..)?.parse().ok()?;
    Some((Storage::Argument(name, first, bits / 8), bits, place))
}

/// The place of the register in an address, and the constant behind it; no place for a variable.
fn address_of(line: &Line<'_>) -> Option<(Option<usize>, i64)> {
    let instruction = line.instruction?;
    let number = usize::from(line.is_opcode("ld"));
    let Operand::Address(parts, _) = instruction.operands.get(number)? else {
        return None;
    };
    let [part] = &parts[..] else { return None };
    let (base, constant) = match part {
        Operand::Name(_) => (part, 0),
        Operand::Offset(base, constant, _) => match **constant {
            Operand::Integer(value, _) => (&**base, value),
            _ => return None,
        },
        _ => return None,
    };
    let Operand::Name(_) = base else { return None };
    let before = instruction.operands[..number]
        .iter()
        .filter(|operand| matches!(operand, Operand::Name(_)))
        .count();
    // For a plain load or store, the address register is the place behind those in front of it.
    let is_register = line.places.len() > before && {
        let shape = line
            .shape
            .split_once('[')
            .map(|(_, rest)| rest.starts_with('?'));
        shape == Some(true)
    };
    Some((is_register.then_some(before), constant))
}

/// First byte and bytes of a slot of a warp, behind the start of the warp's slots.
pub(super) fn constant_place(line: &Line<'_>) -> Option<(i64, u32)> {
    let (_, first) = address_of(line)?;
    let last = line.instruction?.modifiers.last()?;
    Some((first, last.get(1..)?.parse::<u32>().ok()? / 8))
}
