//! Threads stand in line for a mutex of Rust's own, which is a futex. Each sleeps while it has it, so that the others come
//! and wait. Each prints, for each of its turns: its id, the turn's number among its own, that among all, and how many
//! turns had begun when it asked.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const THREADS: u64 = 3;
const TURNS: u64 = 40;

static LOCK: Mutex<u64> = Mutex::new(0);
static BEGUN: AtomicU64 = AtomicU64::new(0);

unsafe extern "C" {
    safe fn gettid() -> i32;
}

#[inline(never)]
fn take_turn() -> (u64, u64) {
    let asked = BEGUN.load(Ordering::SeqCst);
    let mut turns = LOCK.lock().unwrap();
    let number = *turns;
    *turns += 1;
    BEGUN.store(*turns, Ordering::SeqCst);
    std::thread::sleep(Duration::from_micros(300));
    (number, asked)
}

fn serve() {
    let mut turns = Vec::new();
    for _ in 0..TURNS {
        turns.push(take_turn());
        // Who asks again at once gets the lock before the one that was woken.
        std::thread::sleep(Duration::from_micros(50));
    }
    for (turn, (number, asked)) in turns.iter().enumerate() {
        println!("{} {turn} {number} {asked}", gettid());
    }
}

fn main() {
    std::thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(serve))));
}
