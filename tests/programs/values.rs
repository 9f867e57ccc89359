// Calls functions with values that it knows, and writes each call, as ada is to show it, into the file in its first argument.
use std::fs::File;
use std::hint::black_box;
use std::io::Write;

#[derive(Clone, Copy)]
#[repr(i8)]
pub enum Mode {
    Fast = -1,
    Careful = 7,
}

pub struct Point {
    pub x: f64,
    pub y: f64,
    pub mode: Mode,
}

#[unsafe(no_mangle)]
#[inline(never)]
pub fn add(a: i32, b: u64) -> u64 {
    black_box(a) as i64 as u64 ^ black_box(b)
}

#[unsafe(no_mangle)]
#[inline(never)]
pub fn scale(x: f64, y: f32, n: u8) -> f64 {
    black_box(x) * f64::from(black_box(y)) + f64::from(black_box(n))
}

#[unsafe(no_mangle)]
#[inline(never)]
pub fn count(text: &str, is_wide: bool) -> usize {
    black_box(text).len() * if black_box(is_wide) { 2 } else { 1 }
}

#[unsafe(no_mangle)]
#[inline(never)]
pub fn turn(mode: Mode) -> Mode {
    match black_box(mode) {
        Mode::Fast => Mode::Careful,
        Mode::Careful => Mode::Fast,
    }
}

#[unsafe(no_mangle)]
#[inline(never)]
pub fn norm(point: &Point) -> f64 {
    black_box(point).x + point.y
}

#[unsafe(no_mangle)]
#[inline(never)]
pub fn wide(a: i128) -> i128 {
    -black_box(a)
}

fn main() {
    let path = std::env::args().nth(1).expect("a file");
    let mut truth = File::create(path).expect("a file that can be written");
    let mut expect = |line: &str| writeln!(truth, "{line}").expect("a file that can be written");
    black_box(add(black_box(-3), black_box(5)));
    expect("add(-3, 5) = 18446744073709551608");
    black_box(scale(black_box(1.5), black_box(2.0), black_box(200)));
    expect("scale(1.5, 2.0, 200) = 203.0");
    black_box(count(black_box("grün"), black_box(true)));
    expect("count(\"grün\", true) = 10");
    black_box(count(black_box(""), black_box(false)));
    expect("count(\"\", false) = 0");
    black_box(turn(black_box(Mode::Fast)));
    expect("turn(Fast) = Careful");
    black_box(turn(black_box(Mode::Careful)));
    expect("turn(Careful) = Fast");
    let point = Point { x: 0.5, y: -2.0, mode: Mode::Careful };
    black_box(norm(black_box(&point)));
    expect("norm(&{x: 0.5, y: -2.0, mode: Careful}) = -1.5");
    black_box(wide(black_box(1 << 100)));
    expect("wide(1267650600228229401496703205376) = -1267650600228229401496703205376");
}
