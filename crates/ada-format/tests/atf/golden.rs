//! Files that were made once and stay as they are, so that no later reader or writer drifts from them.
//!
//! `ADA_BLESS=1 cargo test -p ada-format golden` makes them anew, for a format that has changed on purpose.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use ada_event::{Event, FunctionId, ProcessId, RuntimeAddr, ThreadId};
use ada_format::atf::{Exit, Payload, Platform, Session, SessionWriter, SyncPolicy, X86Call, X86Return};
use ada_testkit::atf::{LINUX, MAC, NO_DETAIL, arm64, detail, event, index, record, x86_call, x86_return};

const STACK: [u8; 13] = *b"\x00\x10\x40\0\0\0\0\0stack";

/// A session of one thread: a call with detail, a call without, and both returns.
fn x86_events() -> [[u8; 32]; 4] {
    let (outer, inner) = (1 << 32, 1 << 32 | 1);
    [
        event(1000, outer, 4712, 1, 0, 0),
        event(1010, inner, 4712, 1, 1, NO_DETAIL),
        event(1020, inner, 4712, 2, 1, NO_DETAIL),
        event(1030, outer, 4712, 2, 0, 1),
    ]
}

fn x86_records() -> Vec<Vec<u8>> {
    let call = x86_call([1 << 32, 1, 2, 3, 4, 5, 6, 0, 0x40_1000, 0x7fff_0040, 0x7fff_0000], &STACK);
    let back = x86_return([1 << 32, 42, 0, 0x40_1000, 0x7fff_0040, 0x7fff_0008]);
    vec![record(3, 0, 4712, 1000, &call), record(4, 3, 4712, 1030, &back)]
}

const MANIFEST: &str = r#"{
  "format_version": 1,
  "finished": true,
  "threads": [
    {
      "id": 4712,
      "has_detail": true,
      "event_count": 4
    }
  ],
  "time_start_ns": 1000,
  "time_end_ns": 1030,
  "os": "linux",
  "arch": "x86_64",
  "clock": "boottime",
  "pid": 4711,
  "exit": {
    "code": 0
  }
}
"#;

/// All golden files, by name.
fn golden_files() -> Vec<(&'static str, Vec<u8>)> {
    let mac_event = |time, kind, detail| event(time, 2 << 32 | 3, 259, kind, 0, detail);
    let mac_payload =
        |x0| arm64([2 << 32 | 3, x0, 1, 2, 3, 4, 5, 6, 7, 0x1_0000_4000, 0x1_6fdf_f000, 0x1_6fdf_efc0], b"abc");
    let mac_records = [record(3, 0, 259, 50, &mac_payload(9)), record(4, 1, 259, 60, &mac_payload(10))];
    vec![
        ("x86_64-linux/pid_4711/manifest.json", MANIFEST.into()),
        ("x86_64-linux/pid_4711/thread_4712/index.atf", index(LINUX, 4712, true, &x86_events())),
        ("x86_64-linux/pid_4711/thread_4712/detail.atf", detail(LINUX, 4712, &x86_records())),
        ("arm64-macos/pid_7/thread_259/index.atf", index(MAC, 259, true, &[mac_event(50, 1, 0), mac_event(60, 2, 1)])),
        ("arm64-macos/pid_7/thread_259/detail.atf", detail(MAC, 259, &mac_records)),
        (
            "arm64-macos/pid_7/manifest.json",
            br#"{"threads":[{"id":259,"has_detail":true}],"time_start_ns":50,"time_end_ns":60}"#.to_vec(),
        ),
    ]
}

fn folder() -> PathBuf {
    Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("tests/golden/atf")
}

#[test]
fn golden_files_are_what_the_format_document_says() {
    for (name, bytes) in golden_files() {
        let path = folder().join(name);
        if std::env::var_os("ADA_BLESS").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &bytes).unwrap();
        }
        assert!(fs::read(&path).expect(name) == bytes, "{name}");
    }
}

#[test]
fn golden_sessions_are_sound() {
    for name in ["x86_64-linux", "arm64-macos"] {
        let session = Session::open(folder().join(name)).unwrap();
        assert!(session.findings().is_empty() && session.verify(|_| ()).is_empty(), "{name}");
        let thread = session.threads().next().unwrap();
        let (index, detail) = (thread.index(), thread.detail().unwrap());
        for (seq, event) in index.events().enumerate() {
            if let Some(held) = event.detail.get().map(|_| detail.record(event.detail).unwrap()) {
                let record = held.get();
                assert_eq!((u64::from(record.index_seq), record.timestamp), (seq as u64, event.timestamp));
            }
        }
    }
}

#[test]
fn the_writer_makes_the_golden_session() {
    let output = tempfile::tempdir().unwrap();
    let now = UNIX_EPOCH + Duration::from_secs(1_738_324_800);
    let mut session =
        SessionWriter::create(output.path(), now, ProcessId(4711), Platform::LINUX_X86_64, SyncPolicy::OnFinish)
            .unwrap();
    let mut thread = session.thread(ThreadId(4712)).unwrap();
    let function = FunctionId(1 << 32);
    let (return_address, rbp) = (RuntimeAddr(0x40_1000), 0x7fff_0040);
    let [call, inner_call, inner_return, back] = x86_events().map(|bytes| Event::from_le_bytes(&bytes));
    let call_detail = X86Call {
        function,
        rdi: 1,
        rsi: 2,
        rdx: 3,
        rcx: 4,
        r8: 5,
        r9: 6,
        return_address,
        rbp,
        rsp: 0x7fff_0000,
        stack: &STACK,
        ..X86Call::default()
    };
    let return_detail = X86Return { function, rax: 42, return_address, rbp, rsp: 0x7fff_0008, ..X86Return::default() };
    thread.append_with_detail(&call, &Payload::X86Call(call_detail)).unwrap();
    thread.append(&inner_call).unwrap();
    thread.append_raw(&inner_return.to_le_bytes()).unwrap();
    thread.append_with_detail(&back, &Payload::X86Return(return_detail)).unwrap();
    session.finish_thread(thread).unwrap();
    session.manifest_mut().exit = Some(Exit { code: Some(0), ..Exit::default() });
    let path = session.finish().unwrap();
    assert_eq!(path, output.path().join("session_20250131_120000"));
    for (name, bytes) in golden_files() {
        if let Some(name) = name.strip_prefix("x86_64-linux/") {
            assert!(fs::read(path.join(name)).unwrap() == bytes, "{name}");
        }
    }
}

/// The bytes in the document's hex dump.
fn worked_example() -> Vec<u8> {
    let document = include_str!("../../../../docs/formats/atf-v2.md");
    let (_, example) = document.split_once("### Worked example").unwrap();
    let (_, dump) = example.split_once("```text\n").unwrap();
    let (dump, _) = dump.split_once("```").unwrap();
    let hex_columns = dump.lines().map(|line| &line[5..line.len().min(32)]);
    hex_columns.flat_map(str::split_whitespace).map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

#[test]
fn the_documents_worked_example_is_the_golden_record() {
    assert_eq!(worked_example(), x86_records()[0]);
}
