//! Operations of shaders besides arithmetic: handles of resources, records of stage inputs and outputs,
//! derivatives across a quad, and inline assembly.

use super::emit::{Emitter, refuse, refuse_type};
use super::registers::{Class, Register};
use crate::refusal::Refusal;
use ir::*;

impl Emitter<'_> {
    pub(super) fn symbol(&mut self, result: Value, symbol: Symbol) {
        let data = &self.function.symbols[symbol];
        let name = super::emit::identifier(&data.name);
        let to = self.register(result);
        if data.kind == SymbolKind::Memory {
            self.plain(format_args!("mov.u64 {to}, {name}"));
        } else if self.module.functions.len() == 1 {
            let ty = match data.kind {
                _ if data.resource_array.is_some() => Type::Ptr(Space::Global),
                SymbolKind::Buffer => Type::Ptr(data.space),
                _ => Type::Handle,
            };
            let place = self.parameter(&data.name, ty);
            self.plain(format_args!("ld.param.u64 {to}, [{place}]"));
        } else {
            self.plain(format_args!("ld.const.u64 {to}, [{name}]"));
        }
    }

    /// An element of a table of handles or addresses.
    pub(super) fn resource_element(&mut self, data: &InstData) {
        let base = self.register(data.args[0]);
        let to = self.register(data.results[0]);
        let (offset, address) = (self.fresh(Class::Double), self.fresh(Class::Double));
        if self.ty(data.args[1]).bits() == 64 {
            let index = self.register(data.args[1]);
            self.plain(format_args!("shl.b64 {offset}, {index}, 3"));
        } else {
            let index = self.operand(data.args[1]);
            self.plain(format_args!("mul.wide.u32 {offset}, {index}, 8"));
        }
        self.plain(format_args!("add.s64 {address}, {base}, {offset}"));
        self.plain(format_args!("ld.global.nc.b64 {to}, [{address}]"));
    }

    // ---------------------------------------------------------------------------------------------- stages

    /// The address of this lane's record in a table.
    fn record(&mut self, table: &str, size: u32) -> Register {
        let place = self.parameter(table, Type::Ptr(Space::Global));
        let lane = self.fresh(Class::Word);
        let [base, offset, record] = [(); 3].map(|()| self.fresh(Class::Double));
        self.plain(format_args!("ld.param.u64 {base}, [{place}]"));
        self.plain(format_args!("mov.u32 {lane}, %tid.x"));
        self.plain(format_args!("mul.wide.u32 {offset}, {lane}, {size}"));
        self.plain(format_args!("add.s64 {record}, {base}, {offset}"));
        record
    }
    /// Prints the record of inputs before the first block, if one is read.
    pub(super) fn open_inputs(&mut self) {
        let function = self.function;
        let reads = function
            .insts
            .values()
            .any(|data| matches!(data.op, Op::StageInput(_)) && self.needed.instruction(data));
        if reads {
            let size = function.inputs.iter().map(|i| slot(i.ty)).sum();
            self.record = Some(self.record("inputs", size));
        }
    }
    pub(super) fn stage_input(&mut self, result: Value, index: u32) -> Result<(), Refusal> {
        let Some(record) = self.record else {
            return Err(refuse_type("StageInput", self.ty(result)));
        };
        let before = self.function.inputs.iter().take(index as usize);
        let offset: u32 = before.map(|input| slot(input.ty)).sum();
        let ty = self.ty(result);
        let to = self.register(result);
        if ty == Type::Bool {
            let word = self.fresh(Class::Word);
            self.plain(format_args!("ld.global.nc.u32 {word}, [{record}+{offset}]"));
            self.plain(format_args!("setp.ne.s32 {to}, {word}, 0"));
            return Ok(());
        }
        let name = super::registers::memory_type(ty);
        self.plain(format_args!(
            "ld.global.nc.{name} {to}, [{record}+{offset}]"
        ));
        Ok(())
    }
    /// Writes the values that a stage returns.
    pub(super) fn outputs(&mut self, values: &[Value]) {
        if values.is_empty() {
            return;
        }
        let sizes = values.iter().map(|&v| slot(self.ty(v))).sum();
        let record = self.record("outputs", sizes);
        let mut offset = 0;
        for &value in values {
            let ty = self.ty(value);
            let from = if ty == Type::Bool {
                let p = self.register(value);
                let word = self.fresh(Class::Word);
                self.plain(format_args!("selp.b32 {word}, 1, 0, {p}"));
                smol_str::format_smolstr!("{word}")
            } else {
                self.operand(value)
            };
            let name = if ty == Type::Bool {
                "u32"
            } else {
                super::registers::memory_type(ty)
            };
            self.plain(format_args!("st.global.{name} [{record}+{offset}], {from}"));
            offset += slot(ty);
        }
    }

    // ---------------------------------------------------------------------------------------------- quads

    /// The difference between the neighbours of a quad, lanes 4n to 4n+3 by rows of two.
    pub(super) fn derivative(&mut self, data: &InstData, kind: Derivative) -> Result<(), Refusal> {
        let (value, result) = (data.args[0], data.results[0]);
        if kind == Derivative::Width {
            let [x, y] = [Derivative::XFine, Derivative::YFine].map(|_| self.fresh(Class::Float));
            let from = self.as_single(value);
            let mask = self.active_mask();
            self.difference(from, x, 1, false, mask);
            self.difference(from, y, 2, false, mask);
            let [size_x, size_y, sum] = [(); 3].map(|()| self.fresh(Class::Float));
            self.plain(format_args!("abs.f32 {size_x}, {x}"));
            self.plain(format_args!("abs.f32 {size_y}, {y}"));
            self.plain(format_args!("add.rn.f32 {sum}, {size_x}, {size_y}"));
            return self.rounded(result, sum);
        }
        if !matches!(self.ty(value), Type::F32 | Type::F16) {
            return Err(refuse_type("Derivative", self.ty(value)));
        }
        let bit = match kind {
            Derivative::X | Derivative::XCoarse | Derivative::XFine => 1,
            _ => 2,
        };
        let coarse = matches!(kind, Derivative::XCoarse | Derivative::YCoarse);
        let from = self.as_single(value);
        let to = self.fresh(Class::Float);
        let mask = self.active_mask();
        self.difference(from, to, bit, coarse, mask);
        self.rounded(result, to)
    }
    /// Computes the difference across the quad; where one of its lanes is not active, the derivative is as
    /// undefined as in the shader.
    fn difference(&mut self, from: Register, to: Register, bit: u32, coarse: bool, mask: Register) {
        let [lane, low, high] = [(); 3].map(|()| self.fresh(Class::Word));
        let [at_low, at_high] = [(); 2].map(|()| self.fresh(Class::Float));
        // Of a coarse derivative all four take that of the first row or column.
        let keep = if coarse { !3 } else { !bit as i32 };
        self.plain(format_args!("mov.u32 {lane}, %laneid"));
        self.plain(format_args!("and.b32 {low}, {lane}, {keep}"));
        self.plain(format_args!("or.b32 {high}, {low}, {bit}"));
        self.plain(format_args!(
            "shfl.sync.idx.b32 {at_low}, {from}, {low}, 31, {mask}"
        ));
        self.plain(format_args!(
            "shfl.sync.idx.b32 {at_high}, {from}, {high}, 31, {mask}"
        ));
        self.plain(format_args!("sub.rn.f32 {to}, {at_high}, {at_low}"));
    }

    // ---------------------------------------------------------------------------------------------- assembly

    /// Inline assembly with registers for its operands: results first, then operands, as the compiler numbers them. One
    /// whose operands are read and written has more than it numbers, and is not printed.
    pub(super) fn assembly(&mut self, data: &InstData, template: &str) -> Result<(), Refusal> {
        let values: Vec<Value> = data.results.iter().chain(&data.args).copied().collect();
        let mut text = String::new();
        let mut highest = None;
        let mut rest = template;
        while let Some(at) = rest.find('%') {
            text.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            if let Some(after) = rest.strip_prefix('%') {
                text.push('%');
                rest = after;
            } else if let Some(&value) = rest[..digits]
                .parse()
                .ok()
                .and_then(|n: usize| values.get(n))
            {
                highest = highest.max(rest[..digits].parse::<usize>().ok());
                text.push_str(&self.register(value).to_string());
                rest = &rest[digits..];
            } else {
                text.push('%');
            }
        }
        text.push_str(rest);
        if highest.map_or(0, |h| h + 1) != values.len() {
            return Err(refuse("asm", "operands that are read and written"));
        }
        for line in text
            .split(['\n', '\r'])
            .map(str::trim)
            .filter(|l| !l.is_empty())
        {
            self.raw(format_args!("\t{line}"));
        }
        Ok(())
    }
}

/// Bytes of a value in a record.
fn slot(ty: Type) -> u32 {
    if ty.bytes() > 4 { 8 } else { 4 }
}
