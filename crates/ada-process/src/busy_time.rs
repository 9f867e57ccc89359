//! How long the machine's processors have been busy.

use std::time::Duration;

/// How long the machine's processors have run anything at all, added up; also what a virtual machine was not given of its own. To a
/// hundredth of a second. None where the kernel does not tell.
pub fn busy_time() -> Option<Duration> {
    // SAFETY: asks for a number.
    let ticks_per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    let ticks = busy_ticks(&std::fs::read_to_string("/proc/stat").ok()?)?;
    Some(Duration::from_secs_f64(ticks as f64 / ticks_per_second.max(1) as f64))
}

fn busy_ticks(stat: &str) -> Option<u64> {
    const IDLE: usize = 3;
    const WAITS_FOR_INPUT: usize = 4;
    /// What guests have used behind these is in the first two as well.
    const COUNTED: usize = 8;
    let mut numbers = [0_u64; COUNTED];
    let words = stat.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace();
    for (number, word) in numbers.iter_mut().zip(words) {
        *number = word.parse().ok()?;
    }
    let is_busy = |(number, ticks): (usize, u64)| (number != IDLE && number != WAITS_FOR_INPUT).then_some(ticks);
    numbers.into_iter().enumerate().filter_map(is_busy).try_fold(0, u64::checked_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_idle_times_count() {
        assert_eq!(busy_ticks("cpu  10 20 30 1000 2000 40 50 60 10 20\ncpu0 1 2 3"), Some(210));
        assert_eq!(busy_ticks("cpu  10 20\n"), Some(30));
        for wrong in ["", "cpu0 1 2", "cpu  x 1", "cpu  18446744073709551615 1"] {
            assert_eq!(busy_ticks(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn work_makes_it_longer() {
        let before = busy_time().unwrap();
        while busy_time().unwrap() < before + Duration::from_millis(20) {}
    }
}
