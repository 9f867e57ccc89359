//! The program that `ada demo` traces: a small server's day, in calls that are worth looking at.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::thread;
use std::time::Instant;

use crate::exit::Outcome;

const WORKERS: u64 = 3;
const REQUESTS: u64 = 40;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only make N calls, and print the nanoseconds per call
    #[arg(long)]
    calls: Option<u64>,
    /// Only wait until stdin ends
    #[arg(long)]
    wait: bool,
}

/// Serves requests on a few threads; one of them is malformed and makes its handler panic.
pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    if let Some(calls) = args.calls {
        let started = Instant::now();
        black_box((0..calls).fold(0, |sum, number| leaf(sum ^ number)));
        println!("{}", started.elapsed().as_nanos() as f64 / calls as f64);
        return Ok(Outcome::Clean);
    }
    if args.wait {
        std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink())?;
        return Ok(Outcome::Clean);
    }
    std::panic::set_hook(Box::new(|_| {}));
    let workers: Vec<_> = (0..WORKERS).map(|worker| thread::spawn(move || serve(worker))).collect();
    let served: u64 = workers.into_iter().map(|worker| worker.join().unwrap_or(0)).sum();
    println!("{served} of {} requests served", WORKERS * REQUESTS);
    Ok(Outcome::Clean)
}

#[inline(never)]
fn leaf(number: u64) -> u64 {
    black_box(number).wrapping_mul(3)
}

#[inline(never)]
fn serve(worker: u64) -> u64 {
    let mut store = BTreeMap::new();
    (0..REQUESTS)
        .filter(|request| {
            let text = if (worker, *request) == (1, 17) { "oops".to_owned() } else { format!("{worker}/{request}") };
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| handle_request(&mut store, &text))).is_ok()
        })
        .count() as u64
}

#[inline(never)]
fn handle_request(store: &mut BTreeMap<u64, String>, text: &str) {
    let key = parse_request(text);
    let value = look_up(store, key);
    black_box(render(&value));
}

#[inline(never)]
fn parse_request(text: &str) -> u64 {
    let (worker, request) = text.split_once('/').expect("a request has a slash");
    parse_number(worker) * 1000 + parse_number(request)
}

#[inline(never)]
fn parse_number(text: &str) -> u64 {
    text.parse().expect("a number")
}

#[inline(never)]
fn look_up(store: &mut BTreeMap<u64, String>, key: u64) -> String {
    store.entry(key % 7).or_insert_with(|| fetch(key)).clone()
}

#[inline(never)]
fn fetch(key: u64) -> String {
    thread::sleep(std::time::Duration::from_micros(200));
    format!("value of {key}")
}

#[inline(never)]
fn render(value: &str) -> String {
    (0..20).map(|line| format!("{line}: {value}\n")).collect()
}
