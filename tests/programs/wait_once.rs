//! Threads come together and ask for cells that are filled once. One of them fills it, and sleeps meanwhile. Prints for each cell
//! who filled it, and of all others that came before it was filled, their ids. The argument is how many cells there are.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::Duration;

const THREADS: usize = 4;

unsafe extern "C" {
    safe fn gettid() -> i32;
}

#[inline(never)]
fn ask(cell: &OnceLock<i32>) -> i32 {
    *cell.get_or_init(|| {
        std::thread::sleep(Duration::from_millis(5));
        gettid()
    })
}

fn main() {
    let count = std::env::args().nth(1).map_or(8, |word| word.parse().unwrap());
    let cells: Vec<(OnceLock<i32>, [AtomicI32; THREADS])> = (0..count).map(|_| Default::default()).collect();
    let meeting = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for number in 0..THREADS {
            let (cells, meeting) = (&cells, &meeting);
            scope.spawn(move || {
                for (cell, came) in cells {
                    meeting.wait();
                    if cell.get().is_none() {
                        came[number].store(gettid(), Ordering::Relaxed);
                    }
                    ask(cell);
                }
            });
        }
    });
    for (cell, came) in &cells {
        let filled_by = *cell.get().unwrap();
        let came = came.iter().map(|id| id.load(Ordering::Relaxed));
        let others: Vec<String> = came.filter(|id| *id != 0 && *id != filled_by).map(|id| id.to_string()).collect();
        println!("{filled_by} {}", others.join(" "));
    }
}
