//! Inline assembly: a special register where the text reads one and no more, its own operands where there is no text, an opaque
//! value of its operands else.

use super::context::*;
use super::value::*;
use crate::entity::Value;
use crate::function::{BranchKind, Terminator};
use crate::inst::*;
use crate::lower::ptx::operand::special_register;
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
        // `asm volatile("" : "+r"(x))` hides from a compiler what `x` is, and leaves it as it is.
        let kept = asm
            .outputs
            .iter()
            .all(|(constraint, _)| constraint.contains('+'));
        if asm.template.trim().is_empty()
            && kept
            && !asm.outputs.is_empty()
            && asm.inputs.is_empty()
            && asm.clobbers.is_empty()
        {
            return;
        }
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
        if let ([(place, 1, span)], [ty], true) =
            (places.as_slice(), types.as_slice(), values.is_empty())
            && let Some(value) = self.register_read(statement, *ty)
        {
            let value = RValue::scalar(place.ty.clone(), value);
            return self.store(place, value, *span);
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

    /// Returns the result of `mov.u32 %0, %%laneid`, where `%0` has the register's width. Compilers accept
    /// `%laneid`, too.
    fn register_read(&mut self, statement: &str, ty: Type) -> Option<Value> {
        let (opcode, operands) = statement.split_once(char::is_whitespace)?;
        let width: u32 = opcode
            .strip_prefix("mov.")?
            .trim_start_matches(['b', 'u', 's'])
            .parse()
            .ok()?;
        let (to, from) = operands.split_once(',')?;
        let register = from.trim().strip_prefix('%')?;
        let register = register.strip_prefix('%').unwrap_or(register);
        if to.trim() != "%0" || register.starts_with(|c: char| !c.is_ascii_alphabetic()) {
            return None;
        }
        let (name, selector) = match register.split_once('.') {
            Some((name, selector)) => (name, Some(selector)),
            None => (register, None),
        };
        let is_known = matches!((width, ty), (32, Type::I32) | (64, Type::I64));
        if self.is_c() || !is_known {
            return None;
        }
        special_register(&mut self.builder, &format!("%{name}"), selector, ty)
    }
}
