// Threads of Rust's standard library: a closure, a function, and a scope.
use std::hint::black_box;
use std::thread;

#[inline(never)]
fn work(n: u64) -> u64 {
    black_box(n) * 2
}

#[inline(never)]
fn plain_function() -> u64 {
    work(1)
}

fn main() {
    let first = thread::spawn(plain_function).join().unwrap();
    let second = thread::spawn(|| work(2)).join().unwrap();
    let third = thread::scope(|scope| scope.spawn(|| work(3)).join().unwrap());
    println!("{}", first + second + third);
}
