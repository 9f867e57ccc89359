//! Source lines: a test knows which function is on which line.

use std::hint::black_box;

#[inline(never)]
fn leaf(n: u32) -> u32 {
    black_box(n) + 1
}

#[inline(never)]
fn middle(n: u32) -> u32 {
    let first = leaf(n);
    first + leaf(first)
}

fn main() {
    println!("{}", middle(black_box(3)));
}
