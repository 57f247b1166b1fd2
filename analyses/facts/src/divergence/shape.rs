//! The launch's statements about the builtin values: the lanes over which each is the same, the numbers
//! between which it lies, and its name.
//!
//! Lanes of a warp are consecutive in `tid.x + block.x*(tid.y + block.y*tid.z)`. So `tid.y` is uniform over a warp only
//! where `block.x` is a multiple of the warp size, `tid.z` where `block.x*block.y` is; `maxntid` proves neither.

use super::engine::{DISPATCH, DIVERGENT, Level, SUBGROUP, WORKGROUP};
use crate::model::Options;
use ir::{Function, Language, Special};

#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Atoms of builtin values, by order of appearance.
    pub specials: Vec<Special>,
    pub block: [Option<u32>; 3],
    pub max_threads: u32,
    pub warp: u32,
    language: Language,
    /// `[WaveSize(64)]`.
    warp_is_declared: bool,
    /// Rows of unknown width are taken to be whole warps.
    favourable: bool,
}

impl Shape {
    pub(crate) fn new(function: &Function, options: &Options, mut specials: Vec<Special>) -> Shape {
        // `tid.x & 31` is a lane where rows are whole warps.
        if specials.contains(&Special::ThreadId(0)) && !specials.contains(&Special::LaneId) {
            specials.push(Special::LaneId);
        }
        let mut block = options.block;
        for (known, declared) in block.iter_mut().zip(function.launch.block) {
            *known = declared.or(*known);
        }
        for (known, assumed) in block.iter_mut().zip(options.assumed_block) {
            *known = known.or(assumed);
        }
        Shape {
            specials,
            block,
            max_threads: function.launch.max_threads.unwrap_or(1024).clamp(1, 1024),
            warp: function
                .launch
                .warp_size
                .unwrap_or(options.warp_size)
                .clamp(1, 128),
            language: function.language,
            warp_is_declared: function.launch.warp_size.is_some(),
            favourable: options.favourable,
        }
    }

    pub(crate) fn atom(&self, special: Special) -> Option<u32> {
        self.specials
            .iter()
            .position(|&s| s == special)
            .map(|i| i as u32)
    }
    pub(crate) fn special(&self, index: u32) -> Option<Special> {
        self.specials.get(index as usize).copied()
    }

    /// Every warp starts at a multiple of its size in `tid.x`, which grows by one from lane to lane.
    pub(crate) fn rows_are_whole_warps(&self) -> bool {
        self.block[0].map_or(self.favourable, |x| x.is_multiple_of(self.warp)) || self.is_line()
    }
    /// A workgroup of one dimension.
    pub(crate) fn is_line(&self) -> bool {
        self.block[1] == Some(1) && self.block[2] == Some(1)
    }
    /// The workgroup is known to consist of whole warps.
    pub(crate) fn warps_are_full(&self) -> bool {
        self.size(3)
            .is_some_and(|n| n > 0 && n.is_multiple_of(u64::from(self.warp)))
    }
    fn size(&self, axes: usize) -> Option<u64> {
        self.block[..axes]
            .iter()
            .try_fold(1u64, |p, b| b.map(|b| p * u64::from(b)))
    }

    /// The power of two of which a builtin value is taken to be a multiple: rows are whole warps.
    pub(crate) fn unit(&self, index: u32) -> u32 {
        let row = self.special(index) == Some(Special::BlockDim(0));
        match row && self.favourable && self.block[0].is_none() {
            true => self.warp.trailing_zeros(),
            false => 0,
        }
    }

    pub(crate) fn level(&self, index: u32) -> Level {
        self.special(index).map_or(DIVERGENT, |s| self.level_of(s))
    }
    pub(crate) fn level_of(&self, special: Special) -> Level {
        let one_warp = self.size(3).is_some_and(|n| n <= u64::from(self.warp));
        let warps = |axes: usize| {
            self.size(axes)
                .is_some_and(|n| n.is_multiple_of(u64::from(self.warp)))
        };
        match special {
            Special::ThreadId(axis) if self.block.get(axis as usize) == Some(&Some(1)) => DISPATCH,
            _ if self.warp == 1 && matches!(special, Special::ThreadId(_)) => SUBGROUP,
            Special::ThreadId(1) if warps(1) || self.rows_are_whole_warps() => SUBGROUP,
            Special::ThreadId(2) if warps(2) || self.rows_are_whole_warps() => SUBGROUP,
            Special::LaneId if self.warp == 1 => DISPATCH,
            Special::ThreadId(_)
            | Special::LaneId
            | Special::MicroSimdTid
            | Special::LaneMaskEq
            | Special::LaneMaskLt
            | Special::LaneMaskLe
            | Special::LaneMaskGt
            | Special::LaneMaskGe
            // Lanes of a warp need not read it together.
            | Special::Clock => DIVERGENT,
            Special::WarpId if one_warp => WORKGROUP,
            Special::WarpId | Special::WarpSlot | Special::SmId => SUBGROUP,
            Special::BlockId(_) | Special::WarpCount | Special::OtherWorkgroup(_) => WORKGROUP,
            Special::BlockDim(_)
            | Special::GridDim(_)
            | Special::WarpSize
            | Special::OtherDispatch(_) => DISPATCH,
        }
    }

    /// The number that a builtin value certainly is.
    pub(crate) fn constant(&self, special: Special) -> Option<i64> {
        match special {
            Special::ThreadId(axis) if self.block.get(axis as usize) == Some(&Some(1)) => Some(0),
            Special::BlockDim(axis) => self
                .block
                .get(axis as usize)
                .copied()
                .flatten()
                .map(i64::from),
            Special::LaneId if self.warp == 1 => Some(0),
            Special::WarpSize
                if self.warp_is_declared
                    || matches!(self.language, Language::Cuda | Language::Ptx) =>
            {
                Some(i64::from(self.warp))
            }
            _ => None,
        }
    }

    pub(crate) fn range(&self, special: Special) -> (i64, i64) {
        let axis_limit = |axis: u8| {
            let most = if axis == 2 { 64 } else { 1024 };
            let known = self.block.get(axis as usize).copied().flatten();
            i64::from(known.unwrap_or(self.max_threads.min(most)))
        };
        match special {
            Special::ThreadId(axis) => (0, axis_limit(axis) - 1),
            Special::BlockDim(axis) => (1, axis_limit(axis)),
            Special::BlockId(0) if self.language != Language::Hlsl => (0, i64::from(i32::MAX) - 1),
            Special::BlockId(_) => (0, 65534),
            Special::GridDim(0) if self.language != Language::Hlsl => (1, i64::from(i32::MAX)),
            Special::GridDim(_) => (1, 65535),
            Special::LaneId => (0, i64::from(self.warp) - 1),
            Special::WarpId => (0, 1023),
            Special::WarpSize => (1, 128),
            Special::WarpCount => (1, 1024),
            _ => (i64::MIN, i64::MAX),
        }
    }

    pub(crate) fn name(special: Special) -> String {
        let axis = |a: u8| ['x', 'y', 'z'].get(a as usize).copied().unwrap_or('w');
        match special {
            Special::ThreadId(a) => format!("tid.{}", axis(a)),
            Special::BlockDim(a) => format!("ntid.{}", axis(a)),
            Special::BlockId(a) => format!("ctaid.{}", axis(a)),
            Special::GridDim(a) => format!("nctaid.{}", axis(a)),
            Special::LaneId => "lane".into(),
            Special::WarpId => "warpid".into(),
            Special::WarpSlot => "warpslot".into(),
            Special::WarpSize => "warpsize".into(),
            Special::WarpCount => "nwarp".into(),
            Special::MicroSimdTid => "Tid".into(),
            _ => "?".into(),
        }
    }

    /// The name in the language that the author wrote.
    pub(crate) fn source_name(language: Language, special: Special) -> String {
        let axis = |a: u8| ['x', 'y', 'z'].get(a as usize).copied().unwrap_or('w');
        match (language, special) {
            (Language::Cuda | Language::C, Special::ThreadId(a)) => {
                format!("threadIdx.{}", axis(a))
            }
            (Language::Cuda | Language::C, Special::BlockId(a)) => format!("blockIdx.{}", axis(a)),
            (Language::Cuda | Language::C, Special::BlockDim(a)) => format!("blockDim.{}", axis(a)),
            (Language::Cuda | Language::C, Special::GridDim(a)) => format!("gridDim.{}", axis(a)),
            (Language::Hlsl, Special::ThreadId(a)) => format!("SV_GroupThreadID.{}", axis(a)),
            (Language::Hlsl, Special::BlockId(a)) => format!("SV_GroupID.{}", axis(a)),
            (Language::Hlsl, Special::LaneId) => "WaveGetLaneIndex()".into(),
            (_, Special::MicroSimdTid) => "Tid".into(),
            (_, Special::LaneId) => if language == Language::Ptx {
                "%laneid"
            } else {
                "the lane index"
            }
            .into(),
            (_, Special::WarpSlot) => "%warpid".into(),
            (_, Special::WarpId) => "the warp index".into(),
            (_, Special::Clock) => "the clock".into(),
            (
                _,
                Special::LaneMaskEq
                | Special::LaneMaskLt
                | Special::LaneMaskLe
                | Special::LaneMaskGt
                | Special::LaneMaskGe,
            ) => "the lane mask".into(),
            (_, other) => match Shape::name(other).as_str() {
                "?" => "a builtin value".into(),
                name => format!("%{name}"),
            },
        }
    }
}
