//! Operations that allocation inserted: copies of values between registers and spill slots, and what destroys values.
//!
//! ```text
//! adds r2 = .spill0, r12; st8 [r2] = r14          slot 0 holds what r14 holds
//! mov r3 = r0; (p13) mov r3 = 1                   r3 holds what p13 holds
//! ```

use super::state::{CERTAIN, Held, Known, State};
use super::{Checker, FORMS, REGISTERS, Violation, index};
use crate::mir::function::{FrameOffset, Name, Operand, Operation, Virtual};
use crate::mir::{Class, Reg};
use isa::ia64::{Completer, Opcode};
use smallvec::SmallVec;

/// The reason why an operation may not have been inserted.
pub(super) enum Fault {
    Store,
    Branch,
    Slot(Violation),
}

impl Checker<'_> {
    pub(super) fn slot(&self, offset: u32, form: usize) -> usize {
        let found = self.offsets.binary_search(&offset);
        debug_assert!(found.is_ok(), "every offset is listed");
        REGISTERS + FORMS * found.unwrap_or(0) + form
    }

    /// An operation that allocation inserted: a copy, or what destroys.
    pub(super) fn insert(&self, state: &mut State, operation: &Operation) -> Result<(), Fault> {
        if operation.branch().is_some() {
            return Err(Fault::Branch);
        }
        let defs = self.written(operation);
        let always = operation.predicate.is_none();
        let location = |operand: &Operand| self.register_of(operand).map(index);
        let (mut becomes, mut copied) = (None, None);
        match (&operation.targets[..], &operation.sources[..]) {
            ([target @ Operand::Register(_), ..], [Operand::Frame(offset), base])
                if always && operation.opcode() == Opcode::Adds =>
            {
                let known = match offset {
                    FrameOffset::Spill(offset) => Some(Known::Spill(*offset)),
                    FrameOffset::Argument(offset) => Some(Known::Argument(*offset)),
                    FrameOffset::Slot(_) => None,
                };
                let known = known.filter(|_| self.register_of(base) == Some(Reg::general(12)));
                becomes = location(target).zip(known);
            }
            ([Operand::Address(base)], [source]) => {
                let address = state.known.get(&index(self.register(*base)));
                let (Some(&Known::Spill(offset)), Some(form), true, Some(from)) =
                    (address, form(operation), always, location(source))
                else {
                    return Err(Fault::Store);
                };
                let contents = state.contents[from].clone();
                self.store(state, offset, form, contents)?;
            }
            ([Operand::Address(_), ..], _) => return Err(Fault::Store),
            ([target], [Operand::Address(base)]) if always => {
                let address = state.known.get(&index(self.register(*base)));
                copied = match (address, form(operation)) {
                    (Some(Known::Spill(offset)), Some(form)) => {
                        Some(state.contents[self.slot(*offset, form)].clone())
                    }
                    (Some(Known::Argument(offset)), _) => Some(self.argument(*offset)),
                    _ => None,
                }
                .and_then(|contents| Some((location(target)?, contents)));
            }
            ([target], [source]) if operation.opcode() == Opcode::Mov => {
                let to = self.register_of(target);
                let from = self.register_of(source);
                let zero = from == Some(Reg::R0) || *source == Operand::Number(0);
                let was_zero =
                    to.is_some_and(|to| state.known.get(&index(to)) == Some(&Known::Zero));
                match (to, from, operation.predicate) {
                    (Some(to), _, None) if zero => becomes = Some((index(to), Known::Zero)),
                    (Some(to), Some(from), None) if to.file == from.file => {
                        copied = Some((index(to), state.contents[index(from)].clone()));
                    }
                    // A predicate as a number.
                    (Some(to), None, Some(predicate))
                        if was_zero && *source == Operand::Number(1) =>
                    {
                        let from = index(self.register(Name::Virtual(predicate)));
                        copied = Some((index(to), state.contents[from].clone()));
                    }
                    _ => {}
                }
            }
            // And back.
            ([target, rest], [one, other]) if always => {
                let is_rest = self.register_of(rest) == Some(Reg::P0);
                let from = match operation.opcode() {
                    Opcode::Cmp | Opcode::Tbit | Opcode::Tnat if !is_rest => None,
                    Opcode::Cmp if operation.mnemonic.completers().eq([Completer::Ne]) => {
                        match (self.register_of(one), self.register_of(other)) {
                            (Some(Reg::R0), from) | (from, Some(Reg::R0)) => from,
                            _ => None,
                        }
                    }
                    Opcode::Tbit
                        if operation.mnemonic.completers().eq([Completer::Nz])
                            && *other == Operand::Number(0) =>
                    {
                        self.register_of(one)
                    }
                    _ => None,
                };
                copied = from.and_then(|from| {
                    let contents = state.contents[index(from)].clone();
                    Some((location(target)?, contents))
                });
            }
            _ => {}
        }
        let own = operation.targets.iter().filter_map(|it| match it {
            Operand::Register(_) => self.register_of(it),
            _ => None,
        });
        let defs = defs.into_iter().flatten().map(|def| def.register);
        for register in defs.chain(own) {
            state.clear(index(register));
        }
        if let Some((to, contents)) = copied {
            state.fill(to, contents);
        }
        if let Some((to, known)) = becomes {
            state.known.insert(to, known);
        }
        Ok(())
    }

    pub(super) fn store(
        &self,
        state: &mut State,
        offset: u32,
        form: usize,
        contents: SmallVec<[Held; 2]>,
    ) -> Result<(), Fault> {
        let (bytes, spilled) = (if form == 2 { 16 } else { 8 }, self.allocation.spilled);
        if !offset.is_multiple_of(bytes) || offset + bytes > spilled {
            return Err(Fault::Slot(Violation::Slot {
                offset,
                bytes,
                spilled,
            }));
        }
        let first = self.offsets.partition_point(|&it| it + 16 <= offset);
        let near = self.offsets[first..]
            .iter()
            .take_while(|&&it| it < offset + bytes);
        for &other in near {
            for form in 0..FORMS {
                let bytes = if form == 2 { 16 } else { 8 };
                if other + bytes > offset {
                    state.clear(self.slot(other, form));
                }
            }
        }
        state.fill(self.slot(offset, form), contents);
        Ok(())
    }

    /// The parameter that arrives in memory there.
    pub(super) fn argument(&self, offset: i64) -> SmallVec<[Held; 2]> {
        let slot = usize::try_from(offset / 8).ok().map(|slot| slot + 8);
        let found = slot
            .filter(|slot| offset % 8 == 0 && self.before.arrivals.get(*slot).is_none())
            .and_then(|slot| self.before.parameters.get(slot));
        let held = |parameter: &Virtual| Held {
            value: parameter.0,
            guard: CERTAIN,
        };
        found.map(held).into_iter().collect()
    }
}

/// The form of a slot that it writes or reads whole.
pub(super) fn form(operation: &Operation) -> Option<usize> {
    let special = operation
        .mnemonic
        .has_any(&[Completer::Spill, Completer::Fill]);
    match (operation.opcode(), special) {
        (Opcode::St8 | Opcode::Ld8, special) => {
            let plain = operation.mnemonic.completers().next().is_none();
            (plain || special).then_some(usize::from(special))
        }
        (_, true) if matches!(operation.class(), Class::FloatLoad | Class::FloatStore) => Some(2),
        _ => None,
    }
}
