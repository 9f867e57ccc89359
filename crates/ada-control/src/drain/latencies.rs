//! How long events take from their time stamp to the operating system's hands.

use ada_event::TraceNanos;

/// Steps between powers of two: quantiles are right to an eighth.
const STEPS: u32 = 8;

/// A histogram of waiting times. Of each batch a few events stand for all.
pub(crate) struct Latencies {
    buckets: Vec<u64>,
    waiting: Vec<(TraceNanos, u64)>,
}

impl Default for Latencies {
    fn default() -> Self {
        Self { buckets: vec![0; (64 * STEPS) as usize], waiting: Vec::new() }
    }
}

impl Latencies {
    /// How many events of a batch are looked at.
    pub(crate) const SAMPLES: usize = 8;

    /// An event with this time was encoded; it stands for `count`.
    pub(crate) fn encoded(&mut self, time: TraceNanos, count: u64) {
        self.waiting.push((time, count));
    }

    /// All that was encoded has been written.
    pub(crate) fn written(&mut self, now: TraceNanos) {
        for (time, count) in self.waiting.drain(..) {
            self.buckets[bucket(now.0.saturating_sub(time.0))] += count;
        }
    }

    /// The time within which this share of all events was written.
    pub(crate) fn quantile(&self, share: f64) -> u64 {
        let total: u64 = self.buckets.iter().sum();
        let wanted = (total as f64 * share).ceil() as u64;
        let mut seen = 0;
        let reached = self.buckets.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        reached.map_or(0, upper_end)
    }
}

fn bucket(nanoseconds: u64) -> usize {
    if nanoseconds < u64::from(STEPS) {
        return nanoseconds as usize;
    }
    let power = nanoseconds.ilog2();
    let step = (nanoseconds >> (power - STEPS.ilog2())) as u32 & (STEPS - 1);
    ((power - STEPS.ilog2() + 1) * STEPS + step) as usize
}

fn upper_end(bucket: usize) -> u64 {
    let (power, step) = (bucket as u32 / STEPS, bucket as u64 % u64::from(STEPS));
    if power == 0 { step } else { ((u64::from(STEPS) + step + 1) << (power - 1)) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_what_is_at_most_an_eighth_below_its_end() {
        for value in [0, 1, 7, 8, 9, 100, 1_000, 123_456_789, 1 << 40] {
            let end = upper_end(bucket(value));
            assert!(end >= value && end - value <= value / 8 + 1, "{value}: {end}");
        }
    }

    #[test]
    fn quantiles_count_what_each_sample_stands_for() {
        let mut latencies = Latencies::default();
        latencies.encoded(TraceNanos(1000), 90);
        latencies.encoded(TraceNanos(0), 10);
        latencies.written(TraceNanos(1100));
        assert_eq!(latencies.quantile(0.5), upper_end(bucket(100)));
        assert_eq!(latencies.quantile(0.99), upper_end(bucket(1100)));
        assert_eq!(Latencies::default().quantile(0.5), 0);
    }
}
