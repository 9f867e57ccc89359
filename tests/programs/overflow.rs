//! Recurses until the stack is full: Rust's own handler tells, and aborts, if it found none before it.
#[inline(never)]
fn deeper(depth: u64) -> u64 {
    let page = std::hint::black_box([depth; 512]);
    deeper(depth + 1) + page[7]
}

fn main() {
    println!("{}", deeper(0));
}
