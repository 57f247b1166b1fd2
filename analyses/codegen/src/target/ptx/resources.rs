//! What shaders have besides arithmetic: handles of resources, records of stage inputs and outputs, textures, derivatives
//! across a quad, and inline assembly.
//!
//! A texture and its sampler are one bindless handle, as in the unified mode of PTX. `tex` without a level takes level 0:
//! PTX has no implicit derivatives, so a shader's implicit level of detail is not printed.

use super::emit::{Emitter, refuse};
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
    /// Before the first block: the record of inputs, when one is read.
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
            return Err(refuse("StageInput", &self.ty(result).to_string()));
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
    /// What a stage returns.
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

    // ---------------------------------------------------------------------------------------------- textures

    pub(super) fn texture(
        &mut self,
        data: &InstData,
        access: &TextureAccess,
    ) -> Result<(), Refusal> {
        let no_form = |why: &str| refuse(why, access.geometry.name());
        if access.geometry == Geometry::Unknown && access.op != TextureOp::Dimensions {
            return Err(no_form(&format!(
                "texture {:?} of an unknown geometry",
                access.op
            )));
        }
        let handle = self.register(data.args[0]);
        let first = 1 + usize::from(access.has_sampler);
        let count = usize::from(access.coordinates);
        let coordinates: Vec<Value> = data.args[first..].iter().take(count).copied().collect();
        let further: Vec<Value> = data.args[first..].iter().skip(count).copied().collect();
        match access.op {
            TextureOp::Dimensions => return self.dimensions(data, access, handle),
            TextureOp::Store => return self.texel_store(access, handle, &coordinates, &further),
            TextureOp::Load if !access.read_only => {
                return self.texel_load(data, access, handle, &coordinates);
            }
            _ => {}
        }
        let shape = access.geometry.name();
        let own = access.geometry.axes() + usize::from(access.geometry.is_array());
        let multisampled = matches!(
            access.geometry,
            Geometry::Multisampled | Geometry::MultisampledArray
        );
        let position = coordinates.get(..own.min(coordinates.len())).unwrap_or(&[]);
        let behind = coordinates.get(own..).unwrap_or(&[]);
        let place = self.position(
            access.geometry,
            position,
            multisampled.then(|| behind.first()).flatten(),
        );
        let kind = if access.op == TextureOp::Load {
            "s32"
        } else {
            "f32"
        };
        // What follows the coordinates, by operation.
        let mut further = further.into_iter();
        let mut name = format!("tex.{shape}");
        let mut tail = String::new();
        match access.op {
            TextureOp::Load if !multisampled && !behind.is_empty() => {
                let level = self.operand(behind[0]);
                name = format!("tex.level.{shape}");
                tail = format!(", {level}");
            }
            TextureOp::Load | TextureOp::Sample => {}
            TextureOp::SampleLevel => {
                if let Some(level) = further.next() {
                    name = format!("tex.level.{shape}");
                    tail = format!(", {}", self.operand(level));
                }
            }
            TextureOp::SampleGradient => {
                let axes = access.geometry.axes();
                let gradients: Vec<Value> = further.by_ref().take(2 * axes).collect();
                let [x, y] = [0, axes].map(|from| {
                    let part = gradients.get(from..from + axes).unwrap_or(&[]);
                    self.braces(part, if axes == 3 { 4 } else { axes })
                });
                name = format!("tex.grad.{shape}");
                tail = format!(", {x}, {y}");
            }
            TextureOp::SampleCompare | TextureOp::SampleCompareLevel => {
                let reference = further.next();
                if access.op == TextureOp::SampleCompareLevel
                    && !access.has_offset
                    && let Some(level) = further.next()
                {
                    name = format!("tex.level.{shape}");
                    tail = format!(", {}", self.operand(level));
                }
                if let Some(reference) = reference {
                    tail.push_str(&format!(", {}", self.operand(reference)));
                }
            }
            TextureOp::Gather | TextureOp::GatherCompare => {
                let component = ["r", "g", "b", "a"][usize::from(access.component.min(3))];
                name = format!("tld4.{component}.{shape}");
                if access.op == TextureOp::GatherCompare
                    && let Some(reference) = further.next()
                {
                    tail = format!(", {}", self.operand(reference));
                }
            }
            op => return Err(no_form(&format!("texture {op:?}"))),
        }
        if access.has_offset {
            let axes = access.geometry.axes();
            let offsets: Vec<Value> = further.take(axes).collect();
            let vector = self.braces(&offsets, if axes == 3 { 4 } else { axes });
            // Offsets come before a depth to compare with.
            tail = match tail.rfind(", ") {
                Some(at)
                    if matches!(
                        access.op,
                        TextureOp::SampleCompare
                            | TextureOp::SampleCompareLevel
                            | TextureOp::GatherCompare
                    ) =>
                {
                    format!("{}, {vector}{}", &tail[..at], &tail[at..])
                }
                _ => format!("{tail}, {vector}"),
            };
        }
        self.fetched(data, |ty, results| {
            format!("{name}.v4.{ty}.{kind} {results}, [{handle}, {place}]{tail}")
        })
    }

    /// Four components arrive; those that the operation has are its results.
    fn fetched(
        &mut self,
        data: &InstData,
        instruction: impl Fn(&str, &str) -> String,
    ) -> Result<(), Refusal> {
        let Some(&first) = data.results.first() else {
            return Ok(());
        };
        let class = match self.ty(first) {
            Type::I32 | Type::I16 | Type::I8 | Type::Bool => Class::Word,
            Type::F32 | Type::F16 | Type::BF16 => Class::Float,
            ty => return Err(refuse("a texel", &ty.to_string())),
        };
        let parts: Vec<Register> = (0..4).map(|_| self.fresh(class)).collect();
        let list: Vec<String> = parts.iter().map(Register::to_string).collect();
        let mut results = format!("{{{}}}", list.join(", "));
        if let Some(&status) = data.results.get(4).filter(|&&s| self.ty(s) == Type::Bool) {
            results.push_str(&format!("|{}", self.register(status)));
        }
        let ty = if class == Class::Float { "f32" } else { "s32" };
        let text = instruction(ty, &results);
        self.line(text);
        for (&result, &part) in data.results.iter().zip(&parts) {
            if !self.needed.value(result) {
                continue;
            }
            match self.ty(result) {
                Type::F16 | Type::BF16 => self.rounded(result, part)?,
                Type::Bool => {
                    let to = self.register(result);
                    self.plain(format_args!("setp.ne.s32 {to}, {part}, 0"));
                }
                ty if Class::of(ty) == class => {
                    let to = self.register(result);
                    self.plain(format_args!("mov.{} {to}, {part}", class.type_name()));
                }
                ty => return Err(refuse("a texel", &ty.to_string())),
            }
        }
        Ok(())
    }

    /// Coordinates as PTX wants them: the array layer first and whole, three coordinates in four places.
    fn position(&mut self, geometry: Geometry, given: &[Value], sample: Option<&Value>) -> String {
        let (axes, layer) = match given.split_last() {
            Some((&layer, axes)) if geometry.is_array() => (axes, Some(layer)),
            _ => (given, None),
        };
        let mut parts: Vec<String> = Vec::new();
        let leading = |emitter: &mut Self, value: Value| {
            let register = emitter.register(value);
            if emitter.ty(value).is_float() {
                let word = emitter.fresh(Class::Word);
                emitter.plain(format_args!("cvt.rni.u32.f32 {word}, {register}"));
                word.to_string()
            } else {
                register.to_string()
            }
        };
        // PTX's own programs have the layer first already.
        if self.function.language == Language::Ptx {
            parts.extend(given.iter().map(|&v| self.register(v).to_string()));
        } else {
            if let Some(&sample) = sample {
                parts.push(leading(self, sample));
            }
            if let Some(layer) = layer {
                parts.push(leading(self, layer));
            }
            for &axis in axes {
                let register = self.register(axis);
                if self.ty(axis) == Type::F16 {
                    parts.push(self.as_single(axis).to_string());
                } else {
                    parts.push(register.to_string());
                }
            }
        }
        if parts.len() == 3 {
            parts.push(parts[2].clone());
        }
        match parts.as_slice() {
            [one] => format!("{{{one}}}"),
            many => format!("{{{}}}", many.join(", ")),
        }
    }

    /// Operands in braces, the last repeated up to `length`.
    fn braces(&mut self, values: &[Value], length: usize) -> String {
        let mut parts: Vec<String> = values
            .iter()
            .map(|&v| self.register(v).to_string())
            .collect();
        while let Some(last) = parts.last().filter(|_| parts.len() < length) {
            parts.push(last.clone());
        }
        match parts.as_slice() {
            [one] => one.clone(),
            many => format!("{{{}}}", many.join(", ")),
        }
    }

    /// Surfaces count the first axis in bytes: CUDA says it in bytes, shaders in texels of four bytes a component.
    fn surface_position(
        &mut self,
        access: &TextureAccess,
        given: &[Value],
        bytes: usize,
    ) -> String {
        let position = given.to_vec();
        if self.function.language != Language::Hlsl || bytes == 1 {
            return self.position(access.geometry, &position, None);
        }
        let x = self.operand(given[0]);
        let scaled = self.fresh(Class::Word);
        self.plain(format_args!(
            "shl.b32 {scaled}, {x}, {}",
            bytes.trailing_zeros()
        ));
        let text = self.position(access.geometry, &position, None);
        let original = self.register(given[0]).to_string();
        text.replacen(&original, &scaled.to_string(), 1)
    }
    fn texel_load(
        &mut self,
        data: &InstData,
        access: &TextureAccess,
        handle: Register,
        coordinates: &[Value],
    ) -> Result<(), Refusal> {
        let shape = access.geometry.name();
        let own = access.geometry.axes() + usize::from(access.geometry.is_array());
        if coordinates.len() != own || own == 0 {
            return Err(refuse("a texel of a surface", shape));
        }
        let count = data.results.len().next_power_of_two();
        let place = self.surface_position(access, coordinates, 4 * count);
        let suffix = ["", ".v2", "", ".v4"].get(count - 1).copied().unwrap_or("");
        let words: Vec<Register> = (0..count).map(|_| self.fresh(Class::Word)).collect();
        let list: Vec<String> = words.iter().map(Register::to_string).collect();
        let list = if count == 1 {
            list.concat()
        } else {
            format!("{{{}}}", list.join(", "))
        };
        self.line(format_args!(
            "suld.b.{shape}{suffix}.b32.trap {list}, [{handle}, {place}]"
        ));
        for (&result, &word) in data.results.iter().zip(&words) {
            match self.ty(result) {
                Type::F32 | Type::I32 => {
                    let to = self.register(result);
                    self.plain(format_args!("mov.b32 {to}, {word}"));
                }
                Type::F16 => {
                    let single = self.fresh(Class::Float);
                    self.plain(format_args!("mov.b32 {single}, {word}"));
                    self.rounded(result, single)?;
                }
                ty => return Err(refuse("a texel", &ty.to_string())),
            }
        }
        Ok(())
    }
    fn texel_store(
        &mut self,
        access: &TextureAccess,
        handle: Register,
        coordinates: &[Value],
        values: &[Value],
    ) -> Result<(), Refusal> {
        let shape = access.geometry.name();
        let own = access.geometry.axes() + usize::from(access.geometry.is_array());
        if coordinates.len() != own || own == 0 || values.is_empty() || values.len() > 4 {
            return Err(refuse("a texel of a surface", shape));
        }
        let count = values.len().next_power_of_two();
        let place = self.surface_position(access, coordinates, 4 * count);
        let mut words = Vec::with_capacity(count);
        for &value in values {
            let single = match self.ty(value) {
                Type::F16 => self.as_single(value),
                Type::F32 | Type::I32 => self.register(value),
                ty => return Err(refuse("a texel", &ty.to_string())),
            };
            let word = self.fresh(Class::Word);
            self.plain(format_args!("mov.b32 {word}, {single}"));
            words.push(word.to_string());
        }
        while let Some(last) = words.last().filter(|_| words.len() < count) {
            words.push(last.clone());
        }
        let suffix = ["", ".v2", "", ".v4"].get(count - 1).copied().unwrap_or("");
        let list = if count == 1 {
            words.concat()
        } else {
            format!("{{{}}}", words.join(", "))
        };
        self.line(format_args!(
            "sust.b.{shape}{suffix}.b32.trap [{handle}, {place}], {list}"
        ));
        Ok(())
    }
    fn dimensions(
        &mut self,
        data: &InstData,
        access: &TextureAccess,
        handle: Register,
    ) -> Result<(), Refusal> {
        let query = if access.read_only { "txq" } else { "suq" };
        let axes = access.geometry.axes();
        for (number, &result) in data.results.iter().enumerate() {
            let what = match number {
                0 if axes > 0 => "width",
                1 if axes > 1 => "height",
                2 if axes > 2 && access.geometry == Geometry::D3 => "depth",
                _ if number == axes && access.geometry.is_array() => "array_size",
                _ => return Err(refuse("GetDimensions", access.geometry.name())),
            };
            if self.needed.value(result) {
                let to = self.register(result);
                self.plain(format_args!("{query}.{what}.b32 {to}, [{handle}]"));
            }
        }
        Ok(())
    }

    // ---------------------------------------------------------------------------------------------- quads

    /// The difference between the neighbours of a quad, lanes 4n to 4n+3 by rows of two.
    pub(super) fn derivative(&mut self, data: &InstData, kind: Derivative) -> Result<(), Refusal> {
        let (value, result) = (data.args[0], data.results[0]);
        if kind == Derivative::Width {
            let [x, y] = [Derivative::XFine, Derivative::YFine].map(|_| self.fresh(Class::Float));
            let from = self.as_single(value);
            self.difference(from, x, 1, false);
            self.difference(from, y, 2, false);
            let [size_x, size_y, sum] = [(); 3].map(|()| self.fresh(Class::Float));
            self.plain(format_args!("abs.f32 {size_x}, {x}"));
            self.plain(format_args!("abs.f32 {size_y}, {y}"));
            self.plain(format_args!("add.rn.f32 {sum}, {size_x}, {size_y}"));
            return self.rounded(result, sum);
        }
        if !matches!(self.ty(value), Type::F32 | Type::F16) {
            return Err(refuse("Derivative", &self.ty(value).to_string()));
        }
        let bit = match kind {
            Derivative::X | Derivative::XCoarse | Derivative::XFine => 1,
            _ => 2,
        };
        let coarse = matches!(kind, Derivative::XCoarse | Derivative::YCoarse);
        let from = self.as_single(value);
        let to = self.fresh(Class::Float);
        self.difference(from, to, bit, coarse);
        self.rounded(result, to)
    }
    fn difference(&mut self, from: Register, to: Register, bit: u32, coarse: bool) {
        let [lane, low, high] = [(); 3].map(|()| self.fresh(Class::Word));
        let [at_low, at_high] = [(); 2].map(|()| self.fresh(Class::Float));
        // Of a coarse derivative all four take that of the first row or column.
        let keep = if coarse { !3 } else { !bit as i32 };
        self.plain(format_args!("mov.u32 {lane}, %laneid"));
        self.plain(format_args!("and.b32 {low}, {lane}, {keep}"));
        self.plain(format_args!("or.b32 {high}, {low}, {bit}"));
        self.plain(format_args!(
            "shfl.sync.idx.b32 {at_low}, {from}, {low}, 31, -1"
        ));
        self.plain(format_args!(
            "shfl.sync.idx.b32 {at_high}, {from}, {high}, 31, -1"
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
