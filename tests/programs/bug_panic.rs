//! A worker pool: one of the jobs indexes beyond a row, and its worker dies with the panic.
use std::sync::mpsc;
use std::thread;

#[inline(never)]
fn cell(row: &[u32], column: usize) -> u32 {
    row[column]
}

#[inline(never)]
fn run_job(job: usize) -> u32 {
    let row: Vec<u32> = (0..16).collect();
    (0..job).map(|column| cell(&row, column)).sum()
}

fn main() {
    let (sender, results) = mpsc::channel();
    let workers: Vec<_> = vec![4, 9, 17, 3]
        .into_iter()
        .map(|job| {
            let sender = sender.clone();
            thread::spawn(move || sender.send(run_job(job)).unwrap())
        })
        .collect();
    drop(sender);
    let sum: u32 = results.iter().sum();
    for worker in workers {
        let _ = worker.join();
    }
    println!("{sum}");
}
