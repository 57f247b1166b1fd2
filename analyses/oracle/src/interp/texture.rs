//! Textures without texels: a value is a smooth function of the handle and the coordinates, so that
//! neighbouring lanes get similar and different values. A value that a program stores is kept by handle and
//! integer coordinates and found again by its loads and atomics.

use super::launch::{hash, unit};
use ir::inst::TextureOp;
use ir::types::Type;
use std::rc::Rc;

/// One lane's read.
#[derive(Clone, Copy, Debug)]
pub struct TextureQuery<'a> {
    pub handle: u64,
    pub op: TextureOp,
    /// Texel numbers for `Load`, else normalised.
    pub coordinates: &'a [f64],
    /// Comparison value, level or bias where the operation has one.
    pub extra: Option<f64>,
    pub component: u32,
    pub ty: Type,
}

/// Contents of textures.
#[derive(Clone, Default)]
pub enum Textures {
    /// Sums of sines with frequencies from the handle.
    #[default]
    Procedural,
    /// The number that a component of the result is.
    Function(Rc<dyn Fn(&TextureQuery<'_>) -> f64>),
}

impl std::fmt::Debug for Textures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Textures::Procedural => "Procedural",
            Textures::Function(_) => "Function",
        })
    }
}

impl Textures {
    /// One component of a read.
    pub fn at(&self, query: &TextureQuery<'_>) -> f64 {
        self.value(query)
    }
    pub(super) fn value(&self, query: &TextureQuery<'_>) -> f64 {
        match self {
            Textures::Function(function) => function(query),
            Textures::Procedural => procedural(query),
        }
    }
}

fn procedural(query: &TextureQuery<'_>) -> f64 {
    if query.op == TextureOp::Dimensions {
        // Width, height, depth or elements, levels.
        return [256.0, 256.0, 4.0, 9.0][query.component.min(3) as usize];
    }
    let mut sum = 0.0;
    for (axis, &coordinate) in query.coordinates.iter().enumerate() {
        let random = unit(hash(&[
            query.handle,
            axis as u64,
            u64::from(query.component),
        ]));
        let scale = if query.op == TextureOp::Load {
            0.11
        } else {
            9.0
        };
        sum += (coordinate * scale * (0.5 + random) + 6.0 * random).sin();
    }
    let level = 0.5 + 0.5 * sum / query.coordinates.len().max(1) as f64;
    let compare = matches!(
        query.op,
        TextureOp::SampleCompare | TextureOp::SampleCompareLevel | TextureOp::GatherCompare
    );
    let value = match query.extra {
        Some(reference) if compare => f64::from(u8::from(reference <= level)),
        _ => level,
    };
    if query.ty.is_float() {
        value
    } else {
        (value * 255.0).floor()
    }
}
