//! `ada heph stat`.

use ada_testkit::heph::{event, everything, metadata};

use crate::run::{command, text};

fn stat(trace: &[u8], options: &[&str]) -> (String, Option<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.heph");
    std::fs::write(&file, trace).unwrap();
    let output = command().args(["heph", "stat"]).arg(&file).args(options).output().unwrap();
    (text(&output.stdout).into(), output.status.code())
}

#[test]
fn everything_is_counted() {
    let expected = "\
packets    6: 4 events, 2 metadata
malformed  0, 0 bytes skipped
option     epoch = 1610113734118010000 (2021-01-08T13:48:54.118010000Z)
option     \"host\" = 2 bytes 00ff
time       10..200 ns, from 2021-01-08T13:48:54.118010010Z
nesting    2 deep
stream 0: 1 events, 0 missed, 0 reordered, 0 repeated, counters 0 to 0
  substream 1: 1 events, 1 deep
stream 1: 3 events, 0 missed, 0 reordered, 0 repeated, counters 4294967295 to 1
  substream 0: 2 events, 2 deep
  substream 7: 1 events, 1 deep
";
    assert_eq!(stat(&everything(), &[]), (expected.into(), Some(0)));
}

#[test]
fn missed_and_late_events_and_damage_as_json() {
    let events = [0, 1, 5, 3, 3].map(|counter| event((9, counter, 0), (0, 1), "", &[])).concat();
    let (stdout, code) = stat(&[events.as_slice(), b"garbage"].concat(), &["--format", "json"]);
    assert_eq!(code, Some(1));
    let statistics: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&statistics["malformed"], &statistics["skipped_bytes"]), (&1.into(), &7.into()));
    let stream = &statistics["streams"][0];
    assert_eq!((&stream["stream"], &stream["events"]), (&9.into(), &5.into()));
    assert_eq!((&stream["missed"], &stream["reordered"], &stream["repeated"]), (&2.into(), &1.into(), &1.into()));
}

#[test]
fn an_empty_trace_is_sound() {
    let (stdout, code) = stat(b"", &[]);
    assert_eq!(code, Some(0));
    assert!(stdout.starts_with("packets    0: 0 events, 0 metadata\n"), "{stdout}");
}

/// However many options there are, and however large: what is kept of them is bounded.
#[test]
fn many_and_large_options_are_cut() {
    let options: Vec<u8> = (0..150).flat_map(|n| metadata(&format!("option {n:03}"), &[0xAB; 100_000])).collect();
    let (stdout, code) = stat(&options, &[]);
    assert_eq!((stdout.matches("= 100000 bytes abab").count(), code), (100, Some(0)));
    assert!(stdout.contains("and 50 more packets with options"), "{stdout}");
    assert!(stdout.lines().all(|line| line.len() < 200), "{stdout}");

    let (stdout, _) = stat(&options, &["--format", "json"]);
    let statistics: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(statistics["options"]["option 000"]["bytes"], 100_000);
    assert_eq!(statistics["unlisted_options"], 50);
}

/// A hundred thousand streams take memory for their events, and not a map each.
#[test]
fn streams_without_number_are_counted_in_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.heph");
    let streams: Vec<u8> = (0..100_000).flat_map(|stream| event((stream, 0, 0), (0, 1), "", &[])).collect();
    std::fs::write(&file, &streams).unwrap();
    // 100,000 events and streams of 288 bytes are 29 MB; the program itself maps less than what is left.
    let script = format!("ulimit -v 260000; exec {} heph stat {}", env!("CARGO_BIN_EXE_ada"), file.display());
    let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(shown.starts_with("packets    100000: 100000 events, 0 metadata\n"), "{shown}");
    assert!(shown.ends_with("and 99000 more streams; --format json has all\n"), "{shown}");
}
