//! `long double`.

/// x87's number of 80 bits, as near as 64 bits come.
pub(crate) fn extended(mantissa: u64, sign_and_exponent: u64) -> f64 {
    /// What the exponent of one has, and how many bits follow the mantissa's point.
    const BIAS: i32 = 16_383;
    const FRACTION: i32 = 63;
    let exponent = (sign_and_exponent & 0x7fff) as i32;
    let size = match (exponent, mantissa << 1) {
        (0x7fff, 0) => f64::INFINITY,
        (0x7fff, _) => f64::NAN,
        _ => {
            // In two steps: one alone may be too small for a factor that is not.
            let power = exponent - BIAS - FRACTION;
            mantissa as f64 * 2_f64.powi(power / 2) * 2_f64.powi(power - power / 2)
        }
    };
    if sign_and_exponent & 0x8000 == 0 { size } else { -size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_eighty_bits_are_those_of_sixty_four() {
        assert_eq!(extended(0, 0), 0.0);
        assert_eq!(extended(0xc000_0000_0000_0000, 0x3fff), 1.5);
        assert_eq!(extended(1 << 63, 0xffff), f64::NEG_INFINITY);
        assert_eq!(extended(1 << 63, 0xc000), -2.0);
        assert!(extended(u64::MAX, 0x7fff).is_nan());
    }
}
