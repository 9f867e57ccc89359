//! Threads stand in line for a mutex of Rust's own, which is a futex, or with "rwlock" for a read-write lock that they write. Each sleeps
//! while it has it, so that the others come and wait. Each prints, for each of its turns: its id, the turn's number among its own,
//! that among all, and how many turns had begun when it asked. The second argument is how many turns each has.

use std::ops::DerefMut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::Duration;

const THREADS: u64 = 3;

static LOCK: Mutex<u64> = Mutex::new(0);
static WRITTEN: RwLock<u64> = RwLock::new(0);
static BEGUN: AtomicU64 = AtomicU64::new(0);

unsafe extern "C" {
    safe fn gettid() -> i32;
}

#[inline(never)]
fn take_turn(is_written: bool) -> (u64, u64) {
    let asked = BEGUN.load(Ordering::SeqCst);
    if is_written { have(WRITTEN.write().unwrap(), asked) } else { have(LOCK.lock().unwrap(), asked) }
}

fn have(mut turns: impl DerefMut<Target = u64>, asked: u64) -> (u64, u64) {
    let number = *turns;
    *turns += 1;
    BEGUN.store(*turns, Ordering::SeqCst);
    std::thread::sleep(Duration::from_micros(300));
    (number, asked)
}

fn serve(is_written: bool, count: u64) {
    let mut turns = Vec::new();
    for _ in 0..count {
        turns.push(take_turn(is_written));
        // Who asks again at once gets the lock before the one that was woken.
        std::thread::sleep(Duration::from_micros(50));
    }
    for (turn, (number, asked)) in turns.iter().enumerate() {
        println!("{} {turn} {number} {asked}", gettid());
    }
}

fn main() {
    let is_written = std::env::args().nth(1).is_some_and(|word| word == "rwlock");
    let count = std::env::args().nth(2).map_or(40, |word| word.parse().unwrap());
    std::thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(move || serve(is_written, count)))));
}
