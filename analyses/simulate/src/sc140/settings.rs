//! Decisions where the sources say too little: each a name with its default, so that another reading is a change of data.

/// Behaviour that the manuals' excerpts leave open, and choices of the chip's straps and the start-up code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The most significant byte is at the lowest address; a strap of the chip.
    pub big_endian: bool,
    /// Results of the multiply-accumulate units are clamped to 32 bits at entry, as start-up code leaves the mode.
    pub saturates: bool,
    /// Ties are rounded up at entry, not to even.
    pub rounds_up: bool,
    /// A product of -1 and -1 is clamped before it is accumulated, as the codecs' basic operations have it;
    /// otherwise the sum alone is. Published code of a compiler that takes `mac` for these operations has the
    /// results of its source at such operands only if the product is clamped, which shows that the compiler
    /// relies on it.
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

impl Settings {
    /// The names of `set`, in order.
    pub const NAMES: &'static [&'static str] = &[
        "big_endian",
        "saturates",
        "rounds_up",
        "product_saturates",
        "carry_bits",
        "left_is_negative",
        "pair_distance",
        "packed_arguments",
        "status_above",
        "alignment_traps",
    ];

    /// Changes a setting by its name: `true`, `false`, or a number where it counts something; a distance of 0 allows any.
    ///
    /// # Errors
    /// No setting has the name, or it takes no such value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), UnknownSetting> {
        let flag = match name {
            "big_endian" => Some(&mut self.big_endian),
            "saturates" => Some(&mut self.saturates),
            "rounds_up" => Some(&mut self.rounds_up),
            "product_saturates" => Some(&mut self.product_saturates),
            "left_is_negative" => Some(&mut self.left_is_negative),
            "packed_arguments" => Some(&mut self.packed_arguments),
            "status_above" => Some(&mut self.status_above),
            "alignment_traps" => Some(&mut self.alignment_traps),
            _ => None,
        };
        if let Some(flag) = flag {
            *flag = value.parse().map_err(|_| UnknownSetting::Value)?;
            return Ok(());
        }
        let number: u8 = value.parse().unwrap_or(u8::MAX);
        match name {
            "carry_bits" if matches!(number, 1..=40) => self.carry_bits = u32::from(number),
            "pair_distance" if number < 8 => {
                self.pair_distance = Some(number).filter(|distance| *distance > 0);
            }
            "carry_bits" | "pair_distance" => return Err(UnknownSetting::Value),
            _ => return Err(UnknownSetting::Name),
        }
        Ok(())
    }
}

/// The reason why a setting was not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnknownSetting {
    Name,
    Value,
}

#[cfg(test)]
mod names {
    use super::*;

    #[test]
    fn every_setting_has_a_name() {
        for name in Settings::NAMES {
            let other = match *name {
                "carry_bits" => "32",
                "pair_distance" => "0",
                "product_saturates" => "true",
                _ => "false",
            };
            let mut changed = Settings::default();
            assert_eq!(changed.set(name, other), Ok(()), "{name}");
            assert_ne!(changed, Settings::default(), "{name}");
            assert_eq!(changed.set(name, "x"), Err(UnknownSetting::Value));
        }
        let mut settings = Settings::default();
        assert_eq!(settings.set("speed", "1"), Err(UnknownSetting::Name));
        assert_eq!(settings.set("carry_bits", "0"), Err(UnknownSetting::Value));
    }
}
