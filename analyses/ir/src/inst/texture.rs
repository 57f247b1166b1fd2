//! Accesses to textures, and other operations on handles.

use super::AtomicOp;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TextureAccess {
    pub op: TextureOp,
    /// Coordinates that follow the handle and sampler (array index included).
    pub coordinates: u8,
    pub has_sampler: bool,
    /// Offset operands are among the further ones.
    pub has_offset: bool,
    pub read_only: bool,
    pub geometry: Geometry,
    /// The component that a gather takes, 0 to 3 for red to alpha.
    pub component: u8,
}

/// The kind of texture that an operation is made for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Geometry {
    /// The program does not say.
    #[default]
    Unknown,
    D1,
    D2,
    D3,
    Cube,
    D1Array,
    D2Array,
    CubeArray,
    Multisampled,
    MultisampledArray,
}

impl Geometry {
    pub const ALL: [Geometry; 10] = [
        Geometry::Unknown,
        Geometry::D1,
        Geometry::D2,
        Geometry::D3,
        Geometry::Cube,
        Geometry::D1Array,
        Geometry::D2Array,
        Geometry::CubeArray,
        Geometry::Multisampled,
        Geometry::MultisampledArray,
    ];
    /// Returns the name in PTX; empty for an unknown geometry.
    pub const fn name(self) -> &'static str {
        match self {
            Geometry::Unknown => "",
            Geometry::D1 => "1d",
            Geometry::D2 => "2d",
            Geometry::D3 => "3d",
            Geometry::Cube => "cube",
            Geometry::D1Array => "a1d",
            Geometry::D2Array => "a2d",
            Geometry::CubeArray => "acube",
            Geometry::Multisampled => "2dms",
            Geometry::MultisampledArray => "a2dms",
        }
    }
    pub fn from_name(name: &str) -> Option<Geometry> {
        let mut known = Geometry::ALL.into_iter().skip(1);
        known.find(|geometry| geometry.name() == name)
    }
    pub const fn is_array(self) -> bool {
        matches!(
            self,
            Geometry::D1Array
                | Geometry::D2Array
                | Geometry::CubeArray
                | Geometry::MultisampledArray
        )
    }
    /// Components of a texel's position, without array layer, level and sample.
    pub const fn axes(self) -> usize {
        match self {
            Geometry::Unknown => 0,
            Geometry::D1 | Geometry::D1Array => 1,
            Geometry::D2
            | Geometry::D2Array
            | Geometry::Multisampled
            | Geometry::MultisampledArray => 2,
            Geometry::D3 | Geometry::Cube | Geometry::CubeArray => 3,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TextureOp {
    /// Level of detail from implicit derivatives across the quad.
    Sample,
    SampleBias,
    SampleCompare,
    SampleLevel,
    SampleGradient,
    SampleCompareLevel,
    Gather,
    GatherCompare,
    /// Accesses by integer coordinates.
    Load,
    Store,
    Atomic(AtomicOp),
    Dimensions,
    /// Uses implicit derivatives; within the levels that there are.
    CalculateLevel,
    CalculateLevelUnclamped,
    /// Calls that the whole workgroup of an amplification or mesh shader must make together; without a
    /// handle.
    DispatchMesh,
    SetMeshOutputCounts,
    /// Traverses the scene and runs the shaders of the objects that a ray hits, or runs a callable shader.
    Trace,
    /// Ray tracing, feedback and other operations on handles.
    Other,
}

impl TextureOp {
    /// The operands follow no scheme, and the result is not modelled.
    pub const fn is_opaque(self) -> bool {
        matches!(
            self,
            TextureOp::Other
                | TextureOp::Trace
                | TextureOp::DispatchMesh
                | TextureOp::SetMeshOutputCounts
        )
    }
    /// Needs the other lanes of its quad.
    pub const fn implicit_derivative(self) -> bool {
        matches!(
            self,
            TextureOp::Sample
                | TextureOp::SampleBias
                | TextureOp::SampleCompare
                | TextureOp::CalculateLevel
                | TextureOp::CalculateLevelUnclamped
        )
    }
}
