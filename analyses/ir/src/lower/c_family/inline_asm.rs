//! Inline assembly: an opaque value of its operands.

use super::context::*;
use super::value::*;
use crate::function::{BranchKind, Terminator};
use crate::inst::*;
use crate::types::Type;
use syntax::c_family::ast::{self};

impl Context<'_> {
    /// The grid ends here, and fails.
    pub(super) fn fails(&mut self) {
        self.builder
            .terminate(Terminator::Trap, BranchKind::Implied);
        let next = self.builder.create_block();
        self.builder.switch_to(next);
    }

    pub(super) fn asm(&mut self, asm: &ast::Asm) {
        let mut values = Parts::new();
        for (_, e) in &asm.inputs {
            let value = self.rvalue(e);
            let value = self.with_address(value, e.span);
            values.extend(value.parts);
        }
        let mut places = Vec::new();
        let mut types: Vec<Type> = Vec::new();
        for (constraint, e) in &asm.outputs {
            let place = self.written_place(e);
            if constraint.contains('+') {
                let value = self.load_silently(&place, e.span);
                values.extend(value.parts);
            }
            let parts = self.structs.parts(&place.ty).unwrap_or_default();
            types.extend(parts.iter().copied());
            places.push((place, parts.len(), e.span));
        }
        self.here(asm.span);
        let statement = asm.template.trim().trim_end_matches(';');
        if statement == "trap" && !self.is_c() {
            return self.fails();
        }
        let pure = !asm.volatile && asm.clobbers.is_empty() && !asm.outputs.is_empty();
        let op = Op::Asm {
            template: asm.template.clone(),
            pure,
        };
        let inst = self.builder.inst(op, &values, &types);
        let results: Parts = self.builder.results(inst).iter().copied().collect();
        let mut at = 0;
        for (place, count, span) in places {
            let parts = results.get(at..at + count).unwrap_or(&[]).iter().copied();
            let value = RValue::new(place.ty.clone(), parts);
            at += count;
            self.store(&place, value, span);
        }
    }
}
