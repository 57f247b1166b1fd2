//! Operations that allocation inserted: copies of values between registers and spill slots, and operations
//! that destroy values.
//!
//! ```text
//! adds r2 = .spill0, r12; st8 [r2] = r14          slot 0 holds what r14 holds
//! mov r3 = r0; (p13) mov r3 = 1                   r3 holds what p13 holds
//! ```

use super::state::{Held, Known, State};
use super::{Checker, Violation};
use crate::mir::{
    FrameAccess, FrameAddress, FrameOffset, Name, Operand, Operation, SpillCode, Target,
};
use smallvec::SmallVec;

/// The reason why an operation may not have been inserted.
pub(super) enum Fault<R: std::fmt::Display> {
    Store,
    Branch,
    Slot(Violation<R>),
}

impl<T: Target> Checker<'_, T> {
    fn slot(&self, offset: u32, form: usize) -> usize {
        let found = self.offsets.binary_search(&offset);
        debug_assert!(found.is_ok(), "every offset is listed");
        T::REGISTERS + T::FORMS * found.unwrap_or(0) + form
    }

    /// The slot that an access of inserted code finds.
    fn accessed(&self, state: &State, access: FrameAccess<T>) -> Option<u32> {
        match access.address {
            FrameAddress::Offset(FrameOffset::Spill(offset)) => Some(offset),
            FrameAddress::Offset(_) => None,
            FrameAddress::Register(base) => match state.known.get(&T::index(self.register(base))) {
                Some(&Known::Spill(offset)) => Some(offset),
                _ => None,
            },
        }
    }

    /// An operation that allocation inserted: a copy, or one that destroys a value.
    pub(super) fn insert(
        &self,
        state: &mut State,
        operation: &Operation<T>,
    ) -> Result<(), Fault<T::Register>> {
        if operation.branch().is_some() {
            return Err(Fault::Branch);
        }
        let defs = self.written(operation);
        let place = |name: Name<T>| T::index(self.register(name));
        let (mut becomes, mut copied) = (None, None);
        let code = T::spill_code(operation);
        match code {
            Some(SpillCode::Address {
                to,
                offset: FrameOffset::Spill(offset),
            }) => becomes = Some((to, Known::Spill(offset))),
            Some(SpillCode::Zero { to }) => becomes = Some((to, Known::Zero)),
            Some(SpillCode::Copy { to, from }) => {
                let classes = [to, from].map(|name| T::class(self.register(name)));
                if classes[0] == classes[1] || classes.into_iter().any(T::is_guard) {
                    copied = Some((to, state.contents[place(from)].clone()));
                }
            }
            Some(SpillCode::Raise { to, from })
                if state.known.get(&place(to)) == Some(&Known::Zero) =>
            {
                copied = Some((to, state.contents[place(from)].clone()));
            }
            Some(SpillCode::Load { to, from }) => {
                if let Some(offset) = self.accessed(state, from) {
                    let contents = state.contents[self.slot(offset, from.form)].clone();
                    copied = Some((to, contents));
                }
            }
            Some(SpillCode::Store { from, to }) => {
                let offset = self.accessed(state, to).ok_or(Fault::Store)?;
                let contents = state.contents[place(from)].clone();
                self.store(state, offset, to.form, contents)?;
            }
            Some(SpillCode::Address { .. } | SpillCode::Raise { .. }) | None => {}
        }
        let stores = matches!(operation.targets.first(), Some(Operand::Address(_)));
        if stores && !matches!(code, Some(SpillCode::Store { .. })) {
            return Err(Fault::Store);
        }
        let own = operation.targets.iter().filter_map(|it| match it {
            Operand::Register(_) => self.register_of(it),
            _ => None,
        });
        for register in defs.iter().map(|def| def.register).chain(own) {
            self.clear(state, register);
        }
        if let Some((to, contents)) = copied {
            state.fill(place(to), contents);
        }
        if let Some((to, known)) = becomes {
            state.known.insert(place(to), known);
        }
        Ok(())
    }

    fn store(
        &self,
        state: &mut State,
        offset: u32,
        form: usize,
        contents: SmallVec<[Held; 2]>,
    ) -> Result<(), Fault<T::Register>> {
        let (bytes, spilled) = (T::form_bytes(form), self.allocation.spilled);
        if !offset.is_multiple_of(bytes) || offset + bytes > spilled {
            return Err(Fault::Slot(Violation::Slot {
                offset,
                bytes,
                spilled,
            }));
        }
        let most = (0..T::FORMS).map(T::form_bytes).max().unwrap_or(0);
        let first = self.offsets.partition_point(|&it| it + most <= offset);
        let near = self.offsets[first..]
            .iter()
            .take_while(|&&it| it < offset + bytes);
        for &other in near {
            for form in 0..T::FORMS {
                if other + T::form_bytes(form) > offset {
                    state.clear(self.slot(other, form));
                }
            }
        }
        state.fill(self.slot(offset, form), contents);
        Ok(())
    }
}
