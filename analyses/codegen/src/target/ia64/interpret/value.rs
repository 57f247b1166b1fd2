//! Values: 64 bits and a mark, and the numbers that stand for results that are not computed.

/// A value of a general or floating-point register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub(crate) bits: u64,
    /// True if a failed speculative load left it: NaT, NaTVal.
    pub(crate) deferred: bool,
    /// Made of the code's own numbers alone.
    pub(crate) literal: bool,
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        (self.bits, self.deferred) == (other.bits, other.deferred)
    }
}

impl Value {
    pub(crate) const DEFERRED: Value = Value {
        bits: 0,
        deferred: true,
        literal: false,
    };
    pub(crate) const fn of(bits: u64) -> Value {
        Value {
            bits,
            deferred: false,
            literal: false,
        }
    }
    pub(crate) const fn literal(bits: u64) -> Value {
        Value {
            literal: true,
            ..Value::of(bits)
        }
    }
}

/// A number that both decide.
pub(crate) fn mix(left: u64, right: u64) -> u64 {
    let mut out = left
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(right)
        .wrapping_add(0x2545_f491_4f6c_dd1d);
    out = (out ^ (out >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    out = (out ^ (out >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    out ^ (out >> 31)
}

/// A number that a text decides.
pub(crate) fn mix_text(text: &str) -> u64 {
    let bytes = text.bytes();
    bytes.fold(text.len() as u64, |sum, byte| mix(sum, u64::from(byte)))
}

/// The numbers that registers and memory hold at the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    /// All 64 bits: a number stands for itself alone.
    Wide,
    /// From 0 to below this many: counts, and numbers that are often equal.
    Small(u64),
    /// Multiples of 8 in front of which small numbers stand: addresses of one array.
    Addresses(u64),
    /// Small ones, of which some are negative.
    Signed(u64),
    /// Mostly this one, which may be a count.
    Mostly(u64),
}

impl Style {
    /// One of the style's numbers.
    pub(crate) fn number(self, random: u64) -> u64 {
        match self {
            Style::Wide => random,
            Style::Small(count) => random % count,
            Style::Addresses(count) => match random >> 60 {
                0..=5 => random % 16,
                _ => random % count * 8,
            },
            Style::Signed(count) => (random % count).wrapping_sub(count / 3),
            Style::Mostly(count) => match random >> 60 {
                0..=10 => count,
                _ => random % 9,
            },
        }
    }

    /// One for a register that is an address: arrays begin within each other, or far apart.
    pub(crate) fn address(self, random: u64) -> u64 {
        let near = |count: u64| (1 << 20) + random % (count.min(6) + 2) * 8;
        match self {
            Style::Wide => random & !15,
            Style::Addresses(count) | Style::Signed(count) => near(count),
            Style::Mostly(count) if random >> 32 & 3 != 0 => near(count),
            Style::Small(count) | Style::Mostly(count) => {
                let far = random >> 34 & 3;
                (1 << 20) + random % ((count + 2) << (4 * far)) * 8
            }
        }
    }
}
