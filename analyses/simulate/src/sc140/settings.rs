//! Decisions where the sources say too little: each a name with its default, so that another reading is a change of data.

/// Behaviour that the manuals' excerpts leave open, and what the chip's straps and the start-up code choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The most significant byte is at the lowest address; a strap of the chip.
    pub big_endian: bool,
    /// Results of the multiply-accumulate units are clamped to 32 bits at entry, as start-up code leaves the mode.
    pub saturates: bool,
    /// Ties are rounded up at entry, not to even.
    pub rounds_up: bool,
    /// A product of -1 and -1 is clamped before it is accumulated, as the codecs' basic operations have it; otherwise the
    /// sum alone is.
    pub product_saturates: bool,
    /// Bits of a sum whose carry the carry flag takes.
    pub carry_bits: u32,
    /// `clb` counts a shift to the left as negative.
    pub left_is_negative: bool,
    /// Distance of the registers of a maximum or minimum within a bank of eight; `None`: any two.
    pub pair_distance: Option<u8>,
    /// Arguments on the stack take their own size; otherwise at least 4 bytes.
    pub packed_arguments: bool,
    /// The return address is at the stack pointer and the status above it; otherwise the other way around.
    pub status_above: bool,
    /// A misaligned access ends the run; otherwise it is made.
    pub alignment_traps: bool,
    pub status: StatusBits,
}

/// Positions in the status register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatusBits {
    pub carry: u32,
    pub truth: u32,
    pub saturation: u32,
    pub rounding: u32,
    /// The lower of two bits: 1 scales down, 2 scales up.
    pub scaling: u32,
    pub exception: u32,
    /// The lowest of four bits, a loop each.
    pub loops: u32,
    pub short_loop: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            big_endian: true,
            saturates: true,
            rounds_up: true,
            product_saturates: false,
            carry_bits: 40,
            left_is_negative: true,
            pair_distance: Some(4),
            packed_arguments: true,
            status_above: true,
            alignment_traps: true,
            status: StatusBits::default(),
        }
    }
}

impl Default for StatusBits {
    fn default() -> StatusBits {
        StatusBits {
            carry: 0,
            truth: 1,
            saturation: 2,
            rounding: 3,
            scaling: 4,
            exception: 18,
            loops: 27,
            short_loop: 31,
        }
    }
}
