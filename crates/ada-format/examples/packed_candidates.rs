//! What ways of packing a recorded session's events and detail would give: the table in `docs/formats/packed.md`.
//!
//!     cargo run --release -p ada-format --example packed_candidates -- SESSION…
//!
//! Every session is read into memory first, a few hundred megabytes of each file at most; times are those of one
//! processor, the best of three.

use std::collections::HashMap;
use std::io::Cursor;
use std::time::Instant;

use ada_event::{Event, EventKind};
use ada_format::atf::packed::{EventDecoder, PackedShape, pack_detail, pack_index};
use ada_format::atf::{IndexView, Session, Store};

/// Events that are looked at of a thread.
const MOST_EVENTS: usize = 16 << 20;
/// Bytes of detail that are looked at of a thread.
const MOST_DETAIL: usize = 256 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "{:<24} {:>9} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>8} {:>8} | {:>8} {:>7} {:>7} {:>7}",
        "session",
        "M events",
        "zstd-1",
        "explicit",
        "near",
        "chosen",
        "+zstd-1",
        "+zstd-3",
        "enc M/s",
        "dec M/s",
        "MB det.",
        "zstd-1",
        "chosen",
        "MB/s"
    );
    for path in std::env::args().skip(1) {
        let session = Session::open(&path)?;
        let mut sums = Sums::default();
        for thread in session.threads() {
            if thread.store() != Store::Raw {
                return Err(format!("{path} is packed; unpack it first").into());
            }
            let files: Vec<_> = thread.files().collect();
            let raw = std::fs::read(files[0])?;
            let most = raw.len().min(64 + 32 * MOST_EVENTS);
            sums.add_index(&raw[..most]);
            if let Some(detail) = files.get(1) {
                let raw = std::fs::read(detail)?;
                sums.add_detail(&raw[..raw.len().min(MOST_DETAIL)]);
            }
        }
        sums.print(&path);
    }
    Ok(())
}

#[derive(Default)]
struct Sums {
    events: u64,
    zstd: u64,
    explicit: u64,
    near: u64,
    chosen: u64,
    chosen_zstd: [u64; 2],
    encode_s: f64,
    decode_s: f64,
    detail: u64,
    detail_zstd: u64,
    detail_chosen: u64,
    detail_s: f64,
}

impl Sums {
    fn add_index(&mut self, raw: &[u8]) {
        let events = IndexView::parse(raw).expect("it is one").raw_events();
        self.events += events.len() as u64;
        self.zstd += events.chunks(16 << 10).map(|part| zstd_len(part.as_flattened(), 1)).sum::<u64>();
        let (explicit, near) = simpler(events);
        self.explicit += explicit;
        self.near += near;
        let mut packed = Vec::new();
        self.encode_s += best_of(3, || {
            packed = pack_index(raw, Cursor::new(Vec::with_capacity(raw.len() / 4)), |_| ())
                .expect("it is one")
                .into_inner();
        });
        self.chosen += packed.len() as u64;
        let shape = PackedShape::of_index(&packed).expect("it was just made");
        let (mut decoder, mut decoded) = (EventDecoder::default(), Vec::new());
        self.decode_s += best_of(3, || {
            for block in 0..shape.block_count() {
                shape.read_events(&packed, block, &mut decoder, &mut decoded).expect("it was just made");
            }
        });
        for (sum, level) in self.chosen_zstd.iter_mut().zip([1, 3]) {
            // As large as a block is: each would be compressed by itself.
            *sum += packed
                .chunks(packed.len() / shape.block_count().max(1) + 1)
                .map(|part| zstd_len(part, level))
                .sum::<u64>();
        }
    }

    fn add_detail(&mut self, raw: &[u8]) {
        self.detail += raw.len() as u64;
        self.detail_zstd += raw.chunks(256 << 10).map(|part| zstd_len(part, 1)).sum::<u64>();
        let mut packed = Vec::new();
        self.detail_s += best_of(1, || {
            packed = pack_detail(raw, Cursor::new(Vec::new()), |_| ()).expect("it is one").into_inner();
        });
        self.detail_chosen += packed.len() as u64;
    }

    fn print(&self, path: &str) {
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
        let per = |bytes: u64| format!("{:.2}", bytes as f64 / self.events.max(1) as f64);
        let rate = |seconds: f64| format!("{:.0}", self.events as f64 / seconds.max(1e-9) / 1e6);
        let share = |bytes: u64| format!("{:.1} %", 100.0 * bytes as f64 / self.detail.max(1) as f64);
        println!(
            "{name:<24} {:>9.2} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>8} {:>8} | {:>8.1} {:>7} {:>7} {:>7.0}",
            self.events as f64 / 1e6,
            per(self.zstd),
            per(self.explicit),
            per(self.near),
            per(self.chosen),
            per(self.chosen_zstd[0]),
            per(self.chosen_zstd[1]),
            rate(self.encode_s),
            rate(self.decode_s),
            self.detail as f64 / 1e6,
            share(self.detail_zstd),
            share(self.detail_chosen),
            self.detail as f64 / self.detail_s.max(1e-9) / 1e6,
        );
    }
}

fn best_of(times: usize, mut work: impl FnMut()) -> f64 {
    let once = |()| {
        let started = Instant::now();
        work();
        started.elapsed().as_secs_f64()
    };
    std::iter::repeat_n((), times).map(once).fold(f64::MAX, f64::min)
}

fn zstd_len(bytes: &[u8], level: i32) -> u64 {
    zstd::bulk::compress(bytes, level).map_or(bytes.len(), |packed| packed.len()) as u64
}

/// Bytes of two simpler codes: a byte of control, differences of time as numbers of varying length, returns guessed from
/// the stack. In the first each call has its function in two bytes; in the second it is guessed to be the one that the
/// same caller called after the same call before.
fn simpler(events: &[[u8; 32]]) -> (u64, u64) {
    let (mut explicit, mut near) = (0, 0);
    let (mut stack, mut guesses): (Vec<u64>, HashMap<(u64, u64), u64>) = Default::default();
    let (mut time, mut last) = (0, 0);
    for event in events.iter().map(Event::from_le_bytes) {
        let since = event.timestamp.0.wrapping_sub(time);
        time = event.timestamp.0;
        let both = 1 + (u64::from(u64::BITS - since.leading_zeros())).div_ceil(7).max(1);
        (explicit, near) = (explicit + both, near + both);
        let is_call = event.kind.is_call();
        stack.truncate(event.depth as usize + usize::from(!is_call));
        if is_call {
            let context = (stack.last().copied().unwrap_or(0), last);
            explicit += 2;
            near += if guesses.insert(context, event.function.0) == Some(event.function.0) { 0 } else { 2 };
            if event.kind == EventKind::CALL {
                stack.resize(event.depth as usize, 0);
                stack.push(event.function.0);
            }
            last = 0;
        } else {
            let is_guessed = stack.pop() == Some(event.function.0);
            (explicit, near) = if is_guessed { (explicit, near) } else { (explicit + 2, near + 2) };
            last = event.function.0;
        }
    }
    (explicit, near)
}
