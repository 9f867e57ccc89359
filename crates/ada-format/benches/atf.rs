//! How fast mapped sessions are read: one thread from end to end, and eight threads merged.

use std::hint::black_box;
use std::time::UNIX_EPOCH;

use ada_event::{Event, EventKind, FunctionId, ProcessId, ThreadId, TraceNanos};
use ada_format::atf::{Platform, Session, SessionWriter, SyncPolicy};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tempfile::TempDir;

const EVENTS: u64 = 8 << 20;

/// Eight million events of so many threads. At each moment chance decides whose turn it is.
fn session(threads: u32) -> (TempDir, Session) {
    let folder = TempDir::new().expect("a temporary folder");
    let mut writer =
        SessionWriter::create(folder.path(), UNIX_EPOCH, ProcessId(1), Platform::LINUX_X86_64, SyncPolicy::Never)
            .unwrap();
    let mut lanes: Vec<_> = (0..threads).map(|id| writer.thread(ThreadId(id)).unwrap()).collect();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for time in 0..EVENTS {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let thread = (random >> 32) as u32 % threads;
        let event = Event {
            timestamp: TraceNanos(time * 10),
            function: FunctionId(random % 1000),
            thread: ThreadId(thread),
            kind: EventKind::CALL,
            ..Event::default()
        };
        lanes[thread as usize].append(&event).unwrap();
    }
    lanes.into_iter().for_each(|lane| writer.finish_thread(lane).unwrap());
    let session = Session::open(writer.finish().unwrap()).unwrap();
    (folder, session)
}

fn scan(criterion: &mut Criterion) {
    let (_folder, session) = session(1);
    let mut group = criterion.benchmark_group("atf");
    group.throughput(Throughput::Elements(EVENTS)).sample_size(20);
    group.bench_function("index_scan", |bencher| {
        bencher.iter(|| {
            let thread = session.threads().next().unwrap();
            let mut sum = 0_u64;
            for chunk in thread.chunks() {
                for event in chunk.iter().map(Event::from_le_bytes) {
                    sum = sum.wrapping_add(event.timestamp.0 ^ event.function.0);
                }
            }
            black_box(sum)
        });
    });
    group.finish();
}

fn merge(criterion: &mut Criterion) {
    let (_folder, session) = session(8);
    let mut group = criterion.benchmark_group("atf");
    group.throughput(Throughput::Elements(EVENTS)).sample_size(20);
    group.bench_function("merge_8_threads", |bencher| {
        bencher.iter(|| {
            let mut last = TraceNanos(0);
            let mut sum = 0_u64;
            for merged in session.merge() {
                assert!(merged.event.timestamp >= last);
                last = merged.event.timestamp;
                sum = sum.wrapping_add(merged.event.function.0 ^ merged.seq.0 ^ u64::from(merged.lane));
            }
            black_box(sum)
        });
    });
    group.finish();
}

criterion_group!(benches, scan, merge);
criterion_main!(benches);
