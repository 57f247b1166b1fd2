//! Textures: reads, samples, gathers, levels of detail, sizes, and surfaces.
//!
//! A texture and its sampler are one bindless handle, as in the unified mode of PTX. PTX has no implicit derivatives: `tex`
//! without a level takes level 0. A shader's implicit level of detail is printed as gradients across the quad.
//!
//! Not printed: a least level of detail, a gather with an offset for each texel, operations on handles such as those of
//! ray tracing.
//!
//! Source: *PTX ISA*, texture and surface instructions.

use super::emit::{Emitter, refuse, refuse_type};
use super::registers::{Class, Register};
use crate::refusal::Refusal;
use ir::*;

/// Operands behind the coordinates.
struct Further {
    /// A depth to compare with, a bias, a level or gradients.
    scalars: Vec<Value>,
    offsets: Vec<Value>,
    /// True if a least level of detail follows.
    clamped: bool,
}

impl Further {
    /// Offsets alone are integers.
    fn of(all: &[Value], float: impl Fn(Value) -> bool) -> Further {
        let offsets = all.iter().position(|&it| !float(it)).unwrap_or(all.len());
        let (scalars, rest) = all.split_at(offsets);
        let clamp = rest.iter().position(|&it| float(it)).unwrap_or(rest.len());
        Further {
            scalars: scalars.to_vec(),
            offsets: rest[..clamp].to_vec(),
            clamped: clamp < rest.len(),
        }
    }
}

/// Bits of a component in a surface.
const fn texel_bits(ty: Option<Type>) -> u32 {
    match ty {
        Some(Type::I8) => 8,
        Some(Type::I16) => 16,
        _ => 32,
    }
}

/// In braces, the last repeated up to `length`.
fn vector(mut parts: Vec<Register>, length: usize) -> String {
    if let Some(&last) = parts.last() {
        parts.resize(length.max(parts.len()), last);
    }
    let texts: Vec<String> = parts.iter().map(Register::to_string).collect();
    format!("{{{}}}", texts.join(", "))
}

impl Emitter<'_> {
    pub(super) fn texture(
        &mut self,
        data: &InstData,
        access: &TextureAccess,
    ) -> Result<(), Refusal> {
        if access.op.is_opaque() {
            return Err(refuse(
                "an operation on a resource",
                "work graphs, rays or feedback",
            ));
        }
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
            TextureOp::CalculateLevel | TextureOp::CalculateLevelUnclamped => {
                return self.level(data, access, handle, &coordinates);
            }
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
        let further = Further::of(&further, |value| self.ty(value).is_float());
        if further.clamped {
            return Err(no_form("a least level of detail"));
        }
        let axes = access.geometry.axes();
        let compares = matches!(
            access.op,
            TextureOp::SampleCompare | TextureOp::SampleCompareLevel | TextureOp::GatherCompare
        );
        let (reference, scalars) = match further.scalars.split_first() {
            Some((&first, rest)) if compares => (Some(first), rest),
            _ => (None, &further.scalars[..]),
        };
        let mut name = format!("tex.{shape}");
        let mut tail = String::new();
        match access.op {
            TextureOp::Load if !multisampled && !behind.is_empty() => {
                name = format!("tex.level.{shape}");
                tail = format!(", {}", self.operand(behind[0]));
            }
            TextureOp::Load => {}
            // What is sampled outside of shaders has no quads: level 0.
            TextureOp::Sample if self.function.language != Language::Hlsl => {}
            TextureOp::Sample | TextureOp::SampleBias | TextureOp::SampleCompare => {
                let [x, y] = self.gradients(&position[..axes.min(position.len())], scalars.first());
                let length = if axes == 3 { 4 } else { axes };
                let [x, y] = [x, y].map(|it| vector(it, length));
                name = format!("tex.grad.{shape}");
                tail = format!(", {x}, {y}");
            }
            TextureOp::SampleLevel | TextureOp::SampleGradient | TextureOp::SampleCompareLevel => {
                if scalars.len() == 2 * axes && access.op != TextureOp::SampleLevel {
                    let (x, y) = scalars.split_at(axes);
                    let length = if axes == 3 { 4 } else { axes };
                    let [x, y] = [x, y].map(|it| vector(self.registers(it), length));
                    name = format!("tex.grad.{shape}");
                    tail = format!(", {x}, {y}");
                } else if let Some(&level) = scalars.first() {
                    name = format!("tex.level.{shape}");
                    tail = format!(", {}", self.operand(level));
                }
            }
            TextureOp::Gather | TextureOp::GatherCompare => {
                let component = ["r", "g", "b", "a"][usize::from(access.component.min(3))];
                name = format!("tld4.{component}.{shape}");
            }
            op => return Err(no_form(&format!("texture {op:?}"))),
        }
        if !further.offsets.is_empty() {
            if further.offsets.len() != axes {
                return Err(no_form("an offset for each texel"));
            }
            let offsets = match further.offsets.as_slice() {
                [found] => self.register(*found).to_string(),
                many => vector(self.registers(many), if axes == 3 { 4 } else { axes }),
            };
            tail.push_str(&format!(", {offsets}"));
        }
        if let Some(reference) = reference {
            tail.push_str(&format!(", {}", self.operand(reference)));
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
            ty => return Err(refuse_type("a texel", ty)),
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
                ty => return Err(refuse_type("a texel", ty)),
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
            [found] => format!("{{{found}}}"),
            many => format!("{{{}}}", many.join(", ")),
        }
    }

    fn registers(&mut self, values: &[Value]) -> Vec<Register> {
        values.iter().map(|&value| self.register(value)).collect()
    }

    /// Returns the differences of coordinates across the quad, along its rows and its columns, up to the
    /// sign, which no level of detail depends on. A bias of the level scales them.
    fn gradients(&mut self, coordinates: &[Value], bias: Option<&Value>) -> [Vec<Register>; 2] {
        let mask = self.active_mask();
        let own: Vec<Register> = coordinates.iter().map(|&v| self.as_single(v)).collect();
        let scale = bias.map(|&bias| {
            let (scale, bias) = (self.fresh(Class::Float), self.operand(bias));
            self.plain(format_args!("ex2.approx.f32 {scale}, {bias}"));
            scale
        });
        [1, 2].map(|bit| {
            let written = |&own: &Register| {
                let [other, difference] = [(); 2].map(|()| self.fresh(Class::Float));
                self.line(format_args!(
                    "shfl.sync.bfly.b32 {other}, {own}, {bit}, 31, {mask}"
                ));
                self.plain(format_args!("sub.rn.f32 {difference}, {other}, {own}"));
                if let Some(scale) = scale {
                    self.plain(format_args!(
                        "mul.rn.f32 {difference}, {difference}, {scale}"
                    ));
                }
                difference
            };
            own.iter().map(written).collect()
        })
    }

    /// The level of detail: the logarithm of the longer gradient in texels.
    fn level(
        &mut self,
        data: &InstData,
        access: &TextureAccess,
        handle: Register,
        coordinates: &[Value],
    ) -> Result<(), Refusal> {
        let axes = access.geometry.axes();
        let plain = matches!(
            access.geometry,
            Geometry::D1 | Geometry::D1Array | Geometry::D2 | Geometry::D2Array | Geometry::D3
        );
        if !plain || coordinates.len() < axes {
            return Err(refuse("a level of detail", access.geometry.name()));
        }
        let gradients = self.gradients(&coordinates[..axes], None);
        let lengths = [(); 2].map(|()| self.fresh(Class::Float));
        for (axis, side) in ["width", "height", "depth"][..axes].iter().enumerate() {
            let (word, size) = (self.fresh(Class::Word), self.fresh(Class::Float));
            self.plain(format_args!("txq.{side}.b32 {word}, [{handle}]"));
            self.plain(format_args!("cvt.rn.f32.u32 {size}, {word}"));
            for (length, gradient) in lengths.iter().zip(&gradients) {
                let texels = self.fresh(Class::Float);
                self.plain(format_args!(
                    "mul.rn.f32 {texels}, {}, {size}",
                    gradient[axis]
                ));
                if axis == 0 {
                    self.plain(format_args!("mul.rn.f32 {length}, {texels}, {texels}"));
                } else {
                    self.plain(format_args!(
                        "fma.rn.f32 {length}, {texels}, {texels}, {length}"
                    ));
                }
            }
        }
        let (square, level) = (self.fresh(Class::Float), self.fresh(Class::Float));
        self.plain(format_args!(
            "max.f32 {square}, {}, {}",
            lengths[0], lengths[1]
        ));
        self.plain(format_args!("lg2.approx.f32 {level}, {square}"));
        self.plain(format_args!("mul.rn.f32 {level}, {level}, 0f3F000000"));
        if access.op == TextureOp::CalculateLevel {
            let (word, last) = (self.fresh(Class::Word), self.fresh(Class::Float));
            self.plain(format_args!("txq.num_mipmap_levels.b32 {word}, [{handle}]"));
            self.plain(format_args!("sub.s32 {word}, {word}, 1"));
            self.plain(format_args!("cvt.rn.f32.u32 {last}, {word}"));
            self.plain(format_args!("max.f32 {level}, {level}, 0f00000000"));
            self.plain(format_args!("min.f32 {level}, {level}, {last}"));
        }
        self.rounded(data.results[0], level)
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
        let bits = texel_bits(data.results.first().map(|&result| self.ty(result)));
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
            "suld.b.{shape}{suffix}.b{bits}.trap {list}, [{handle}, {place}]"
        ));
        for (&result, &word) in data.results.iter().zip(&words) {
            match self.ty(result) {
                Type::F32 => {
                    let to = self.register(result);
                    self.plain(format_args!("mov.b32 {to}, {word}"));
                }
                Type::I8 | Type::I16 | Type::I32 => self.widen(result, word, false),
                Type::F16 => {
                    let single = self.fresh(Class::Float);
                    self.plain(format_args!("mov.b32 {single}, {word}"));
                    self.rounded(result, single)?;
                }
                ty => return Err(refuse_type("a texel", ty)),
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
        let bits = texel_bits(values.first().map(|&value| self.ty(value)));
        let mut words = Vec::with_capacity(count);
        for &value in values {
            let single = match self.ty(value) {
                Type::F16 => self.as_single(value),
                Type::F32 | Type::I8 | Type::I16 | Type::I32 => self.register(value),
                ty => return Err(refuse_type("a texel", ty)),
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
            "sust.b.{shape}{suffix}.b{bits}.trap [{handle}, {place}], {list}"
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
}
