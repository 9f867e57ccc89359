//! Threads stand in line for a mutex of Rust's own, which is a futex. Each sleeps while it has it, so that the others come and wait.

use std::sync::Mutex;
use std::time::Duration;

static LOCK: Mutex<u64> = Mutex::new(0);

#[inline(never)]
fn take_turn() {
    let mut turns = LOCK.lock().unwrap();
    *turns += 1;
    std::thread::sleep(Duration::from_micros(300));
}

fn main() {
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..40 {
                    take_turn();
                    std::thread::sleep(Duration::from_micros(50));
                }
            });
        }
    });
}
