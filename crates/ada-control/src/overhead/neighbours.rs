//! What else ran on the machine while a program was recorded: it shares the processors' caches, and hooks take longer for it.

use std::time::{Duration, Instant};

use ada_process::{busy_time, cpu_time_of, this_process};

/// From this share of the processors' time on, others count.
const NOTABLE: f64 = 0.1;

/// A stretch of the machine's time that goes on.
pub(crate) struct Neighbours {
    began: Instant,
    busy: Option<Duration>,
    own: Duration,
}

impl Neighbours {
    /// The stretch begins.
    pub(crate) fn begin() -> Self {
        Self { began: Instant::now(), busy: busy_time(), own: own_time() }
    }

    /// Whether others than ada and the program, which used so much of the processors, have used a notable part of them. False where
    /// the kernel does not tell.
    pub(crate) fn were_busy(&self, program: Duration) -> bool {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
        let ours = own_time().saturating_sub(self.own) + program;
        let busy = self.busy.zip(busy_time()).map(|(before, now)| now.saturating_sub(before));
        busy.is_some_and(|busy| is_notable(busy.saturating_sub(ours), self.began.elapsed(), processors))
    }
}

fn is_notable(others: Duration, elapsed: Duration, processors: usize) -> bool {
    others.as_secs_f64() > NOTABLE * elapsed.as_secs_f64() * processors as f64
}

fn own_time() -> Duration {
    cpu_time_of(this_process()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_all_processors_is_notable() {
        let [others, elapsed] = [210, 1000].map(Duration::from_millis);
        assert!(is_notable(others, elapsed, 2));
        assert!(!is_notable(others, elapsed, 3));
    }

    #[test]
    fn what_is_ours_is_nobody_elses() {
        let stretch = Neighbours::begin();
        while own_time() < stretch.own + Duration::from_millis(50) {}
        // However much the others did: all of it is taken for the program's.
        assert!(!stretch.were_busy(Duration::from_secs(1000)));
    }
}
