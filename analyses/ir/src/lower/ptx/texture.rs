//! Textures and surfaces: `tex`, `tld4`, `txq`, `suld`, `sust`, `sured`, `suq`.

use super::types::Scalar;
use super::*;

impl<'a> Lowering<'a> {
    pub(super) fn texture(&mut self, i: &'a Instruction, types: &[Scalar]) -> Done {
        let opcode = i.opcode.text.as_str();
        let writes = matches!(opcode, "sust" | "sured");
        let (result, operands) = if writes {
            (None, &i.operands[..])
        } else {
            let (first, rest) = i.operands.split_first()?;
            (Some(first), rest)
        };
        let (target, further) = operands.split_first()?;
        let Operand::Address(parts, _) = target else {
            return None;
        };
        let query = matches!(opcode, "txq" | "suq");
        // `[texture, sampler, coordinates]`: the coordinates come last, as a vector or one register.
        let (handles, coordinates) = if query {
            (&parts[..], None)
        } else {
            let (last, handles) = parts.split_last()?;
            (handles, Some(last))
        };
        let (texture, sampler) = match handles {
            [texture] => (texture, None),
            [texture, sampler] => (texture, Some(sampler)),
            _ => return None,
        };
        let coordinate_type = match (opcode, types.last()) {
            ("tex" | "tld4", Some(ty)) => ty.ty,
            _ => Type::I32,
        };
        let mut args: SmallVec<[Value; 8]> = SmallVec::new();
        args.push(self.read(texture, Type::Handle, false));
        if let Some(sampler) = sampler {
            args.push(self.read(sampler, Type::Handle, false));
        }
        let array = i.modifiers.first().is_some_and(|m| m.starts_with('a'));
        let mut count = 0u8;
        if let Some(coordinates) = coordinates {
            let parts: &[Operand] = match coordinates {
                Operand::Vector(parts, _) => parts,
                other => std::slice::from_ref(other),
            };
            for (number, part) in parts.iter().enumerate() {
                // The array index is an integer among float coordinates.
                let ty = if array && number == 0 {
                    Type::I32
                } else {
                    coordinate_type
                };
                args.push(self.read(part, ty, false));
                count += 1;
            }
        }
        let op = match opcode {
            "tex" if i.has("level") => TextureOp::SampleLevel,
            "tex" if i.has("grad") => TextureOp::SampleGradient,
            "tex" if coordinate_type.is_int() => TextureOp::Load,
            // Compute kernels have no quads: the base level.
            "tex" => TextureOp::SampleLevel,
            "tld4" => TextureOp::Gather,
            "txq" | "suq" => TextureOp::Dimensions,
            "suld" => TextureOp::Load,
            "sust" => TextureOp::Store,
            _ => {
                let ty = types.last().copied()?;
                let op = i
                    .modifiers
                    .iter()
                    .find_map(|m| super::memory::atomic_op(m, ty.signed, false))?;
                TextureOp::Atomic(op)
            }
        };
        for operand in further {
            self.registers_in_order(operand, &mut args);
        }
        let access = TextureAccess {
            op,
            coordinates: count,
            has_sampler: sampler.is_some(),
            has_offset: false,
            read_only: !writes && opcode != "suld",
            geometry: i
                .modifiers
                .iter()
                .find_map(|m| Geometry::from_name(m))
                .unwrap_or_default(),
            component: ["r", "g", "b", "a"]
                .iter()
                .position(|c| i.has(c))
                .unwrap_or_default() as u8,
        };
        let element = match opcode {
            "txq" | "suq" => Type::I32,
            "tex" | "tld4" => types.first()?.container(),
            _ => types.last()?.container(),
        };
        let (result, resident) = match result {
            Some(Operand::Pair(result, resident, _)) => (Some(&**result), Some(&**resident)),
            other => (other, None),
        };
        let places: Vec<&Operand> = match result {
            Some(Operand::Vector(parts, _)) => parts.iter().collect(),
            Some(other) => vec![other],
            None => vec![],
        };
        let mut results = vec![element; places.len()];
        if resident.is_some() {
            results.push(Type::Bool);
        }
        let inst = self
            .b
            .guarded(Op::Texture(access), &args, &results, self.texture_guard(op));
        let values: SmallVec<[Value; 4]> = SmallVec::from_slice(self.b.results(inst));
        self.b.vector(&values[..places.len().min(values.len())]);
        for (place, value) in places.into_iter().chain(resident).zip(values) {
            self.write(place, value, false);
        }
        Some(())
    }

    /// Queries read no memory and take no guard.
    fn texture_guard(&self, op: TextureOp) -> Option<crate::inst::Guard> {
        if op == TextureOp::Dimensions {
            None
        } else {
            self.guard
        }
    }

    fn registers_in_order(&mut self, operand: &Operand, args: &mut SmallVec<[Value; 8]>) {
        let mut values = Vec::new();
        match operand {
            Operand::Integer(value, _) => values.push(self.b.int(Type::I32, *value)),
            Operand::Float32(..) => values.push(self.read(operand, Type::F32, false)),
            other => self.registers_in(other, &mut values),
        }
        args.extend(values);
    }
}
