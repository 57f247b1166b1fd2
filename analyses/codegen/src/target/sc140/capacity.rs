//! The limits of an execution set and the distances between sets, as a machine's table has them.

use crate::machine::schema::SetKey;
use crate::machine::sets::Sets;

/// Limits of a processor that issues execution sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacity {
    pub instructions: u32,
    pub words: u32,
    /// Words of a fetch, which begins where their number divides the address.
    pub fetch: u32,
    pub data: u32,
    pub address: u32,
    pub mask: u32,
    /// Uses of a data register as a source.
    pub uses: u32,
    /// Between the registers of a maximum or minimum; 0: any two.
    pub pair_distance: u8,
    pub short_loop: usize,
    pub long_loop: usize,
    /// Sets between enabling a short loop and its first set.
    pub loop_gap: usize,
    /// Sets between a move to a register and its use for an address.
    pub address_gap: usize,
    /// Sets between a test and an instruction of the address units that depends on it.
    pub truth_gap: usize,
}

impl Capacity {
    #[must_use]
    pub fn of(sets: &Sets) -> Capacity {
        let of = |key| sets.of(key);
        let count = |key| sets.of(key) as usize;
        Capacity {
            instructions: of(SetKey::SetInstructions),
            words: of(SetKey::SetWords),
            fetch: of(SetKey::FetchWords),
            data: of(SetKey::UnitsData),
            address: of(SetKey::UnitsAddress),
            mask: of(SetKey::UnitsMask),
            uses: of(SetKey::SourceUses),
            pair_distance: u8::try_from(of(SetKey::PairDistance)).unwrap_or(u8::MAX),
            short_loop: count(SetKey::ShortLoop),
            long_loop: count(SetKey::LongLoop),
            loop_gap: count(SetKey::LoopGap),
            address_gap: count(SetKey::AddressGap),
            truth_gap: count(SetKey::TruthGap),
        }
    }
}
