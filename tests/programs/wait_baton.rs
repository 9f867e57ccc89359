//! Two threads hand a baton to each other, by two condition variables of Rust's own, or with "park" by parking. Each prints its
//! id and the other's. The second argument is how many rounds there are.

use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread::Thread;

static TURN: Mutex<usize> = Mutex::new(0);
static TURNED: [Condvar; 2] = [const { Condvar::new() }; 2];
static HAS_IT: AtomicUsize = AtomicUsize::new(0);
static IDS: [AtomicI32; 2] = [const { AtomicI32::new(0) }; 2];

unsafe extern "C" {
    safe fn gettid() -> i32;
}

#[inline(never)]
fn await_turn(own: usize) {
    let turn = TURN.lock().unwrap();
    drop(TURNED[own].wait_while(turn, |turn| *turn != own).unwrap());
}

#[inline(never)]
fn hand_over(own: usize) {
    // Whoever is woken finds the lock free.
    *TURN.lock().unwrap() = 1 - own;
    TURNED[1 - own].notify_one();
}

#[inline(never)]
fn park_until_turn(own: usize) {
    while HAS_IT.load(Ordering::SeqCst) != own {
        std::thread::park();
    }
}

#[inline(never)]
fn unpark_other(own: usize, other: &Thread) {
    HAS_IT.store(1 - own, Ordering::SeqCst);
    other.unpark();
}

fn play(own: usize, rounds: usize, other: Option<&Thread>) {
    IDS[own].store(gettid(), Ordering::SeqCst);
    for _ in 0..rounds {
        match other {
            Some(other) => {
                park_until_turn(own);
                unpark_other(own, other);
            }
            None => {
                await_turn(own);
                hand_over(own);
            }
        }
    }
}

fn main() {
    let is_parked = std::env::args().nth(1).is_some_and(|word| word == "park");
    let rounds = std::env::args().nth(2).map_or(100, |word| word.parse().unwrap());
    let first = std::thread::current();
    let second = std::thread::spawn(move || play(1, rounds, is_parked.then_some(&first)));
    let other = second.thread().clone();
    play(0, rounds, is_parked.then_some(&other));
    second.join().unwrap();
    let [first, second] = [0, 1].map(|at: usize| IDS[at].load(Ordering::SeqCst));
    println!("{first} {second}\n{second} {first}");
}
