//! Inputs of shader stages: the pixel or vertex of a lane, and its inputs there.
//!
//! A warp of a pixel shader covers a tile of quads, as hardware has it; a sample of a frame is a sample of its tiles.

use super::data::{Random, draw};
use super::inputs::{Description, Fill, Input, InputError, Varying};
use super::textures;
use ir::numbers;
use ir::{Function, FunctionKind, ShaderStage};
use oracle::interp::{InputQuery, Inputs, Launch};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::rc::Rc;

pub(super) fn frame(description: &Description) -> [u32; 2] {
    let given = description.launch.pixels;
    given.unwrap_or_else(|| match &description.launch.threads {
        Some(list) => [
            list.first().copied().unwrap_or(256),
            list.get(1).copied().unwrap_or(1),
        ],
        None => [256, 256],
    })
}

/// The pixels that a warp covers, in quads: 8 by 4 for 32 lanes.
pub(super) fn tile(lanes: u32) -> [u32; 2] {
    let quads = lanes.div_ceil(4);
    let wide = quads.min(4);
    [wide * 2, quads.div_ceil(wide) * 2]
}

pub(super) fn inputs(
    kernel: &Function,
    description: &Description,
    launch: &Launch,
    chosen: Vec<u64>,
    open: &mut BTreeSet<String>,
) -> Result<Inputs, InputError> {
    let semantics: BTreeSet<&str> = kernel
        .inputs
        .iter()
        .map(|input| input.semantic.as_str())
        .collect();
    let named = |key: &str| {
        let upper = key.to_ascii_uppercase();
        semantics
            .iter()
            .copied()
            .find(|semantic| **semantic == upper || **semantic == format!("{upper}0"))
            .or_else(|| {
                let by_name = kernel.inputs.iter().find(|input| input.name == key)?;
                semantics.get(by_name.semantic.as_str()).copied()
            })
    };
    let mut by_semantic: FxHashMap<String, Input> = FxHashMap::default();
    for (key, input) in &description.inputs {
        let Some(semantic) = named(key) else {
            return Err(InputError::new(
                format!("inputs.{key}"),
                format!(
                    "there is no such input; there are: {}",
                    semantics.into_iter().collect::<Vec<_>>().join(", ")
                ),
            ));
        };
        by_semantic.insert(semantic.to_owned(), input.clone());
    }
    for semantic in &semantics {
        if !by_semantic.contains_key(*semantic)
            && !semantic.starts_with("SV_")
            && !has_default(semantic, kernel.kind)
        {
            open.insert((*semantic).to_owned());
        }
    }
    let pixel = kernel.kind == FunctionKind::Stage(ShaderStage::Pixel);
    let frame = frame(description);
    let lanes = u64::from(launch.block[0].max(1));
    let tile = tile(launch.block[0]);
    let tiles_wide = u64::from(frame[0].div_ceil(tile[0])).max(1);
    let seed = description.launch.seed;
    Ok(Inputs::Function(Rc::new(move |query: &InputQuery<'_>| {
        let number = chosen
            .get((query.thread / lanes) as usize)
            .copied()
            .unwrap_or(0);
        let lane = query.thread % lanes;
        let thread = number * lanes + lane;
        let (x, y) = match pixel {
            true => {
                let (quad, wide) = (lane / 4, u64::from(tile[0] / 2));
                (
                    number % tiles_wide * u64::from(tile[0]) + quad % wide * 2 + (lane & 1),
                    number / tiles_wide * u64::from(tile[1]) + quad / wide * 2 + (lane >> 1 & 1),
                )
            }
            false => (
                thread % u64::from(frame[0].max(1)),
                thread / u64::from(frame[0].max(1)),
            ),
        };
        let at = At {
            x: x as f64 + 0.5,
            y: y as f64 + 0.5,
            u: (x as f64 + 0.5) / f64::from(frame[0]),
            v: (y as f64 + 0.5) / f64::from(frame[1]),
            thread,
            seed,
        };
        let component = usize::from(query.input.component);
        let ty = query.input.ty;
        let semantic = query.input.semantic.as_str();
        let value = match by_semantic.get(semantic) {
            Some(input) => at.value(input, component, semantic),
            None if semantic.starts_with("SV_POSITION") && pixel => {
                [at.x, at.y, 0.5, 1.0][component.min(3)]
            }
            None if pixel && semantic == "TEXCOORD0" => [at.u, at.v, 0.0, 1.0][component.min(3)],
            None if pixel && semantic.starts_with("NORMAL") => at.sphere()[component.min(2)],
            None if !ty.is_float() && !pixel && semantic.starts_with("SV_VERTEXID") => {
                thread as f64
            }
            None => return query.procedural(),
        };
        numbers::from_f64(ty, value)
    })))
}

/// Returns true if a pixel shader gets something sensible in this input when nothing is said of it.
pub(super) fn has_default(semantic: &str, kind: FunctionKind) -> bool {
    kind == FunctionKind::Stage(ShaderStage::Pixel)
        && (semantic == "TEXCOORD0" || semantic.starts_with("NORMAL"))
}

/// A point of the frame.
struct At {
    x: f64,
    y: f64,
    u: f64,
    v: f64,
    thread: u64,
    seed: u64,
}

impl At {
    fn sphere(&self) -> [f64; 3] {
        let (x, y) = (self.u * 2.0 - 1.0, 1.0 - self.v * 2.0);
        let rest = 1.0 - x * x - y * y;
        match rest > 0.0 {
            true => [x, y, rest.sqrt()],
            false => [0.0, 0.0, 1.0],
        }
    }

    fn value(&self, input: &Input, component: usize, semantic: &str) -> f64 {
        let drawn = |fill: Fill| {
            let mut random =
                Random::new(self.seed ^ (self.thread << 3) ^ component as u64, semantic);
            draw(fill, &input.shape(), self.thread, false, &mut random)
        };
        let last = input.values.last().copied().unwrap_or(0.0);
        match input.fill {
            Varying::Constant => input.values.get(component).copied().unwrap_or(last),
            Varying::Uv => [self.u * input.scale, self.v * input.scale, 0.0, 1.0][component.min(3)],
            Varying::Pixel => [self.x, self.y, 0.5, 1.0][component.min(3)],
            Varying::Sphere => self
                .sphere()
                .get(component)
                .map_or(1.0, |n| n * input.scale),
            Varying::Noise => {
                let shift = component as f64 * 31.7;
                let (low, high) = (input.low.unwrap_or(0.0), input.high.unwrap_or(1.0));
                low + (high - low)
                    * textures::noise(self.u * input.cells + shift, self.v * input.cells)
            }
            Varying::Uniform => drawn(Fill::Uniform),
            Varying::Normal => drawn(Fill::Normal),
            Varying::Sparse => drawn(Fill::Sparse),
            Varying::Sequence => drawn(Fill::Sequence),
        }
    }
}
