//! 16-bit floats as bit patterns, exact.

/// IEEE binary16, rounded to nearest even.
pub fn f32_to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude >= 0x7f80_0000 {
        return sign | 0x7c00 | if magnitude > 0x7f80_0000 { 0x200 } else { 0 };
    }
    if magnitude >= 0x4780_0000 {
        return sign | 0x7c00;
    }
    if magnitude < 0x3880_0000 {
        // Subnormal: the value is a multiple of 2^-24; scaling is exact in f64.
        let scaled = f64::from(f32::from_bits(magnitude)) * 16_777_216.0;
        return sign | round_half_even(scaled) as u16;
    }
    let rebased = magnitude - 0x3800_0000;
    let rounded = rebased + 0x0fff + ((rebased >> 13) & 1);
    sign | (rounded >> 13) as u16
}

/// The exact value of an IEEE binary16.
pub fn f16_to_f32(bits: u16) -> f32 {
    let sign = if bits & 0x8000 != 0 { -1.0f32 } else { 1.0 };
    let exponent = (bits >> 10) & 0x1f;
    let fraction = f32::from(bits & 0x3ff);
    match exponent {
        0 => sign * fraction * (-24f32).exp2(),
        31 => {
            if fraction == 0.0 {
                sign * f32::INFINITY
            } else {
                f32::NAN
            }
        }
        _ => sign * (1.0 + fraction / 1024.0) * (f32::from(exponent) - 15.0).exp2(),
    }
}

/// bfloat16, rounded to nearest even.
pub fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) as u16
}

fn round_half_even(value: f64) -> u64 {
    let floor = value.floor();
    let up = value - floor > 0.5 || (value - floor == 0.5 && floor % 2.0 == 1.0);
    floor as u64 + u64::from(up)
}
