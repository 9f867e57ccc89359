//! Panics that are caught, through twenty frames with something to drop, and again in a thread.

use std::hint::black_box;
use std::panic::catch_unwind;

struct Guard;

impl Drop for Guard {
    #[inline(never)]
    fn drop(&mut self) {
        black_box(1);
    }
}

#[inline(never)]
fn descend(n: u32) -> u32 {
    let _guard = Guard;
    if n == 1 {
        panic!("at the bottom");
    }
    black_box(descend(black_box(n - 1))) + 1
}

#[inline(never)]
fn after(n: u32) -> u32 {
    black_box(n) + black_box(1)
}

#[inline(never)]
fn attempt() -> u32 {
    match catch_unwind(|| descend(20)) {
        Ok(n) => n,
        Err(_) => after(1),
    }
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut sum = 0;
    for _ in 0..5 {
        sum += attempt();
    }
    sum += std::thread::spawn(attempt).join().unwrap();
    println!("{sum} {}", std::thread::spawn(|| descend(3)).join().is_err());
}
