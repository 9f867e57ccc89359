//! Durations counted in buckets whose width is an eighth of their size.

/// Buckets of an octave.
const PER_OCTAVE: u64 = 8;
/// Durations below this have buckets of their own.
const EXACT: u64 = 16;
/// The last octave reaches to 2^44 ns, almost five hours; longer durations are counted in the last bucket.
const BUCKETS: usize = (EXACT + (44 - 4) * PER_OCTAVE) as usize;

/// How often which duration occurred, to within 6 %.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u32; BUCKETS]>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: Box::new([0; BUCKETS]) }
    }
}

impl Histogram {
    /// Counts a duration.
    #[inline]
    pub fn add(&mut self, duration: u64) {
        let count = &mut self.counts[bucket(duration)];
        *count = count.saturating_add(1);
    }

    /// Adds all that another one has counted.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts.iter()) {
            *count = count.saturating_add(*more);
        }
    }

    /// The duration that `share` of all (between 0 and 1) do not exceed, as the middle of its bucket; 0 if there are none.
    pub fn quantile(&self, share: f64) -> u64 {
        let total: u64 = self.counts.iter().map(|&count| u64::from(count)).sum();
        let wanted = ((total as f64 * share).ceil() as u64).clamp(1, total.max(1));
        let mut seen = 0;
        for (number, &count) in self.counts.iter().enumerate() {
            seen += u64::from(count);
            if seen >= wanted {
                return middle(number);
            }
        }
        0
    }

    /// The part of the whole time that is left if no duration counts for more than `factor` times the median: what a few
    /// long ones took goes. 1 if there are none.
    pub fn share_within(&self, factor: u64) -> f64 {
        let limit = self.quantile(0.5).max(1).saturating_mul(factor);
        let (mut within, mut whole) = (0.0, 0.0);
        for (number, count) in self.filled() {
            let duration = middle(usize::from(number));
            within += duration.min(limit) as f64 * f64::from(count);
            whole += duration as f64 * f64::from(count);
        }
        if whole > 0.0 { within / whole } else { 1.0 }
    }

    /// Buckets that have something, and how much.
    pub fn filled(&self) -> impl Iterator<Item = (u16, u32)> {
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(number, &count)| (number as u16, count))
    }

    /// The same with the durations that a bucket is for: from the first to below the second.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u32)> {
        self.filled().map(|(number, count)| (lower_bound(number.into()), lower_bound(usize::from(number) + 1), count))
    }

    /// Sets a bucket that [`Self::filled`] gave. False if there is no such bucket.
    pub fn set(&mut self, number: u16, count: u32) -> bool {
        self.counts.get_mut(usize::from(number)).map(|slot| *slot = count).is_some()
    }
}

#[inline]
fn bucket(duration: u64) -> usize {
    if duration < EXACT {
        return duration as usize;
    }
    let octave = u64::from(duration.ilog2());
    let eighth = duration >> (octave - 3) & (PER_OCTAVE - 1);
    ((EXACT + (octave - 4) * PER_OCTAVE + eighth) as usize).min(BUCKETS - 1)
}

fn lower_bound(number: usize) -> u64 {
    let number = number as u64;
    if number < EXACT {
        return number;
    }
    let (octave, eighth) = ((number - EXACT) / PER_OCTAVE + 4, (number - EXACT) % PER_OCTAVE);
    (PER_OCTAVE + eighth) << (octave - 3)
}

fn middle(number: usize) -> u64 {
    (lower_bound(number) + lower_bound(number + 1) - 1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_duration_lies_within_its_bucket() {
        for duration in (0..100_000).chain((17..44).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1])) {
            let number = bucket(duration);
            assert!(lower_bound(number) <= duration && duration < lower_bound(number + 1), "{duration}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_within_six_percent() {
        let mut histogram = Histogram::default();
        (1..=100_000).for_each(|duration| histogram.add(duration));
        for (share, exact) in [(0.5, 50_000.0), (0.95, 95_000.0), (0.99, 99_000.0)] {
            let error = (histogram.quantile(share) as f64 / exact - 1.0).abs();
            assert!(error < 0.0626, "{share}: {error}");
        }
        assert_eq!(Histogram::default().quantile(0.5), 0);
    }

    #[test]
    fn a_few_long_durations_do_not_count_in_full() {
        let mut histogram = Histogram::default();
        (0..1000).for_each(|_| histogram.add(200));
        assert_eq!(histogram.share_within(32), 1.0);
        histogram.add(200 * 1000);
        let share = histogram.share_within(32);
        assert!((0.50..0.53).contains(&share), "{share}");
        assert_eq!(Histogram::default().share_within(32), 1.0);
    }
}
