//! Several things at once, as many as there are processors.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Makes `count` things, each by its number, and gives them in that order.
pub fn in_parallel<T: Send>(count: usize, make: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(count);
    if workers <= 1 {
        return (0..count).map(make).collect();
    }
    let next = AtomicUsize::new(0);
    let made: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::with_capacity(count));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            let it = make(number);
            made.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((number, it));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(work);
        }
        work();
    });
    let mut made = made.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    made.sort_unstable_by_key(|(number, _)| *number);
    made.into_iter().map(|(_, it)| it).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_come_in_their_order() {
        assert_eq!(in_parallel(1000, |it| it * it), (0..1000).map(|it| it * it).collect::<Vec<_>>());
        assert_eq!(in_parallel(0, |it| it), Vec::<usize>::new());
    }
}
