//! Whether two rows of figures differ by more than chance: Welch's t-test.

/// The probability of so large a difference of the means where there is none; nothing where a side has less than two
/// figures.
pub(super) fn welch(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let ((mean_a, error_a), (mean_b, error_b)) = (mean_and_error(a), mean_and_error(b));
    let error = error_a + error_b;
    if error == 0.0 {
        return Some(if mean_a == mean_b { 1.0 } else { 0.0 });
    }
    let t = (mean_a - mean_b) / error.sqrt();
    let share = |error: f64, count: usize| error * error / (count - 1) as f64;
    let freedom = error * error / (share(error_a, a.len()) + share(error_b, b.len()));
    // Two-sided, by the incomplete beta function.
    Some(incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t)).clamp(0.0, 1.0))
}

/// Of many tests some succeed by chance: Holm's correction, which gives each p back in its place.
pub(super) fn holm(values: &mut [Option<f64>]) {
    let mut order: Vec<(f64, usize)> = values.iter().enumerate().filter_map(|(at, p)| Some(((*p)?, at))).collect();
    order.sort_by(|left, right| left.0.total_cmp(&right.0));
    let mut largest = 0.0_f64;
    let tests = order.len();
    for (rank, (p, at)) in order.into_iter().enumerate() {
        largest = largest.max((p * (tests - rank) as f64).min(1.0));
        values[at] = Some(largest);
    }
}

/// The mean, and its squared standard error.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, variance / count)
}

/// The regularised incomplete beta function, by its continued fraction (Lentz).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    // The fraction converges fast below this, and the function is symmetric.
    match x < (a + 1.0) / (a + b + 2.0) {
        true => front * fraction(a, b, x) / a,
        false => 1.0 - front * fraction(b, a, 1.0 - x) / b,
    }
}

fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let not_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut result = d;
    for step in 1..300 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for term in [even, odd] {
            d = 1.0 / not_zero(1.0 + term * d);
            c = not_zero(1.0 + term / c);
            result *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-12 {
            break;
        }
    }
    result
}

/// Lanczos' approximation.
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 6] = [
        76.180_091_729_471_46,
        -86.505_320_329_416_77,
        24.014_098_240_830_91,
        -1.231_739_572_450_155,
        0.120_865_097_386_617_9e-2,
        -0.539_523_938_495_3e-5,
    ];
    let base = x + 5.5;
    let log = (x + 0.5) * base.ln() - base;
    let sum = TERMS.iter().zip(1..).fold(1.000_000_000_190_015, |sum, (term, at)| sum + term / (x + f64::from(at)));
    log + (2.506_628_274_631_000_5 * sum / x).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_is_that_of_other_programs() {
        // By integrating the density of the t distribution.
        let cases: [(&[f64], &[f64], f64); 3] = [
            (&[1.0, 2.0, 3.0, 4.0, 5.0], &[2.0, 3.0, 4.0, 5.0, 6.0], 0.346_593_507_087_334_15),
            (&[10.0, 11.0, 9.5], &[20.0, 21.0, 19.0, 22.0], 0.000_053_534_699),
            (&[5.0, 5.1, 4.9, 5.0], &[5.0, 5.1, 4.9, 5.0], 1.0),
        ];
        for (a, b, expected) in cases {
            let p = welch(a, b).unwrap();
            assert!((p - expected).abs() < 1e-8, "{p} {expected}");
        }
        assert_eq!(welch(&[1.0], &[2.0, 3.0]), None);
        assert_eq!(welch(&[2.0, 2.0], &[3.0, 3.0]), Some(0.0));
    }

    #[test]
    fn many_tests_make_each_less_certain() {
        let mut values = [Some(0.01), None, Some(0.04), Some(0.03)];
        holm(&mut values);
        let close = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 1e-12;
        assert!(close(values[0], 0.03) && close(values[3], 0.06) && close(values[2], 0.06) && values[1].is_none());
    }
}
