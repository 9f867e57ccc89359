//! Keeps to a number of events a second.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

/// Shorter pauses are not worth a system call: events go out in small bursts instead.
const SHORTEST_PAUSE: Duration = Duration::from_micros(200);
/// A sender that fell further behind than this does not catch up: the burst would overflow the receiver.
const LONGEST_LAG: Duration = Duration::from_millis(2);

pub(super) struct Pace {
    interval: Duration,
    due: Instant,
}

impl Pace {
    pub(super) fn new(events_per_second: NonZeroU32) -> Self {
        Self { interval: Duration::from_secs(1) / events_per_second.get(), due: Instant::now() }
    }

    /// How long to wait before the next event.
    pub(super) fn pause(&mut self, now: Instant) -> Option<Duration> {
        self.due = (self.due + self.interval).max(now.checked_sub(LONGEST_LAG).unwrap_or(now));
        self.due.checked_duration_since(now).filter(|pause| *pause >= SHORTEST_PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept_and_lag_is_forgotten() {
        let start = Instant::now();
        let mut pace = Pace { interval: Duration::from_micros(100), due: start };
        assert_eq!(pace.pause(start), None);
        assert_eq!(pace.pause(start), Some(Duration::from_micros(200)));

        let late = start + Duration::from_secs(10);
        let events_at_once = (0..1000).take_while(|_| pace.pause(late).is_none()).count();
        assert!((19..=22).contains(&events_at_once), "{events_at_once}");
    }
}
