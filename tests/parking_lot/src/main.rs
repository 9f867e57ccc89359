//! Threads stand in line for a mutex of parking_lot, each of which waits on a futex of its own. Whoever has it goes on when
//! all others sleep in the kernel: before that, parking_lot yields, which takes long on a busy machine. Prints for each
//! turn of a thread: its id, the turn's number among its own, that among all, and how many turns had begun when it asked.
//! The argument is how many turns each has.

use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

const THREADS: usize = 3;

static LOCK: Mutex<u64> = parking_lot::const_mutex(0);
static BEGUN: AtomicU64 = AtomicU64::new(0);
static ACTIVE: AtomicUsize = AtomicUsize::new(THREADS);
static IDS: [AtomicI32; THREADS] = [const { AtomicI32::new(0) }; THREADS];

unsafe extern "C" {
    safe fn gettid() -> i32;
}

/// Whether a thread is in the kernel's call for futexes.
fn is_parked(id: i32) -> bool {
    std::fs::read_to_string(format!("/proc/self/task/{id}/syscall")).is_ok_and(|it| it.starts_with("202 "))
}

fn are_others_parked() -> bool {
    let others = IDS.iter().map(|id| id.load(Ordering::SeqCst)).filter(|id| *id != 0 && *id != gettid());
    others.filter(|id| is_parked(*id)).count() + 1 >= ACTIVE.load(Ordering::SeqCst)
}

#[inline(never)]
fn take_turn() -> (u64, u64) {
    let asked = BEGUN.load(Ordering::SeqCst);
    let mut turns = LOCK.lock();
    let number = *turns;
    *turns += 1;
    BEGUN.store(*turns, Ordering::SeqCst);
    // The last one has nobody to wait for.
    while !are_others_parked() {
        std::thread::sleep(Duration::from_micros(100));
    }
    (number, asked)
}

fn serve(thread: usize, count: usize) -> Vec<String> {
    IDS[thread].store(gettid(), Ordering::SeqCst);
    let mut turns = Vec::new();
    for turn in 0..count {
        let (number, asked) = take_turn();
        turns.push(format!("{} {turn} {number} {asked}", gettid()));
    }
    ACTIVE.fetch_sub(1, Ordering::SeqCst);
    turns
}

fn main() {
    let count = std::env::args().nth(1).map_or(20, |word| word.parse().unwrap());
    let lines = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || serve(thread, count))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    println!("{}", lines.join("\n"));
}
