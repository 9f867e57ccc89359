//! A session twelve times as large is read in the same memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, UNIX_EPOCH};

use ada_event::{Event, EventKind, ProcessId, ThreadId, TraceNanos};
use ada_format::atf::{Payload, Platform, SessionWriter, SyncPolicy, X86Return};

use crate::run::command;

const MIB: u64 = 1 << 20;
/// Bytes of a return's detail record.
const DETAIL_SIZE: u64 = 80;

/// A session of eight threads with so many bytes in all. Half of the threads have detail for each event.
fn write_session(output: &Path, bytes: u64) -> PathBuf {
    let mut session =
        SessionWriter::create(output, UNIX_EPOCH, ProcessId(1), Platform::LINUX_X86_64, SyncPolicy::Never).unwrap();
    for id in 1..=8 {
        let mut thread = session.thread(ThreadId(id)).unwrap();
        let has_detail = id % 2 == 0;
        let size = if has_detail { Event::SIZE as u64 + DETAIL_SIZE } else { Event::SIZE as u64 };
        for time in 0..bytes / 8 / size {
            let timestamp = TraceNanos(time * 8 + u64::from(id));
            let event = Event { timestamp, thread: ThreadId(id), kind: EventKind::RETURN, ..Event::default() };
            match has_detail {
                true => thread.append_with_detail(&event, &Payload::X86Return(X86Return::default())).unwrap(),
                false => thread.append(&event).unwrap().0,
            };
        }
        session.finish_thread(thread).unwrap();
    }
    session.finish().unwrap()
}

/// Runs a command to its end, and gives the most memory that it was seen to have.
fn peak_memory(args: &[&str], session: &Path) -> u64 {
    let mut child = command().args(args).arg(session).stdout(Stdio::null()).spawn().unwrap();
    let mut peak = 0;
    let status = loop {
        peak = peak.max(high_water(&child).unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        sleep(Duration::from_millis(1));
    };
    assert!(status.success());
    peak
}

/// The kernel's own record of the most memory that the process has had.
fn high_water(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(1024 * line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?)
}

#[test]
fn memory_does_not_grow_with_the_session() {
    let output = tempfile::tempdir().unwrap();
    let small = write_session(output.path(), 64 * MIB);
    let large = write_session(output.path(), 768 * MIB);
    for args in [&["atf", "verify"][..], &["atf", "dump", "--detail", "--limit", "500000"]] {
        let (small, large) = (peak_memory(args, &small), peak_memory(args, &large));
        assert!(small > 0, "no memory was seen");
        assert!(large <= small + 32 * MIB, "{args:?}: {} MiB, then {} MiB", small / MIB, large / MIB);
    }
}

/// Run by hand, for figures: `cargo test --release -p ada -- --ignored --nocapture four_gigabytes`.
#[test]
#[ignore = "writes 4 GiB"]
fn four_gigabytes() {
    let output = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let session = write_session(output.path(), 4096 * MIB);
    println!("written in {:.1?}", begun.elapsed());
    for args in [&["atf", "verify"][..], &["atf", "dump"], &["atf", "dump", "--detail", "--limit", "5000000"]] {
        let begun = Instant::now();
        let peak = peak_memory(args, &session);
        println!("{args:?}: {:.1?}, at most {} MiB", begun.elapsed(), peak / MIB);
        assert!(peak < 100 * MIB);
    }
}
