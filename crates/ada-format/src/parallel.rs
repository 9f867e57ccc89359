//! Work that is spread over all processors.

use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Makes `count` things, each by its number, and gives them in that order.
pub fn in_parallel<T: Send>(count: usize, make: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let made = in_parallel_with(count, Vec::new, |made: &mut Vec<(usize, T)>, number| {
        made.push((number, make(number)));
        Ok::<(), std::convert::Infallible>(())
    });
    let Ok(made) = made;
    let mut made: Vec<(usize, T)> = made.into_iter().flatten().collect();
    made.sort_unstable_by_key(|(number, _)| *number);
    made.into_iter().map(|(_, it)| it).collect()
}

/// Makes one thing of each item, and gives them in the order of the items.
pub fn each_in_parallel<T: Send, R: Send>(items: Vec<T>, make: impl Fn(T) -> R + Sync) -> Vec<R> {
    let items: Vec<Mutex<Option<T>>> = items.into_iter().map(|it| Mutex::new(Some(it))).collect();
    in_parallel(items.len(), |number| {
        let item = items[number].lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        make(item.expect("each number is given to one worker"))
    })
}

/// Runs `job` for each number below `count`. Each worker has a state of its own, and all of them are returned: one at
/// least. A worker ends at its first error.
pub fn in_parallel_with<S: Send, E: Send>(
    count: usize,
    state: impl Fn() -> S + Sync,
    job: impl Fn(&mut S, usize) -> Result<(), E> + Sync,
) -> Result<Vec<S>, E> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<S, E> {
        let mut state = state();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(state);
            }
            job(&mut state, number)?;
        }
    };
    // Asking how many there are reads several files.
    let workers = if count < 2 { 1 } else { std::thread::available_parallelism().map_or(1, usize::from).min(count) };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
        let own = work();
        let others = others.into_iter().map(|it| it.join().unwrap_or_else(|panic| resume_unwind(panic)));
        std::iter::once(own).chain(others).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_come_in_their_order() {
        assert_eq!(in_parallel(1000, |it| it * it), (0..1000).map(|it| it * it).collect::<Vec<_>>());
        assert_eq!(in_parallel(0, |it| it), Vec::<usize>::new());
        let words = ["a", "b", "c"].map(str::to_owned).to_vec();
        assert_eq!(each_in_parallel(words, |it| it + "!"), ["a!", "b!", "c!"]);
    }

    #[test]
    fn each_number_is_worked_on_once() {
        let states = in_parallel_with(1000, Vec::new, |seen: &mut Vec<usize>, it| {
            seen.push(it);
            Ok::<(), ()>(())
        });
        let mut seen = states.unwrap().concat();
        seen.sort_unstable();
        assert_eq!(seen, (0..1000).collect::<Vec<_>>());
        assert_eq!(in_parallel_with(0, || 7, |_, _| Err(())), Ok(vec![7]), "there is a state even without work");
    }

    #[test]
    fn an_error_is_returned() {
        let job = |_: &mut (), it: usize| if it == 5 { Err("the sixth") } else { Ok(()) };
        assert_eq!(in_parallel_with(10, || (), job), Err("the sixth"));
    }
}
