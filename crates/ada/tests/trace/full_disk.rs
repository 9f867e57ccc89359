//! Disks that take no more: the program does not notice, and files, manifest and summary count the same events.

use std::path::Path;
use std::process::{Command, Output};

use ada_format::atf::Session;
use tempfile::TempDir;

use super::program::Program;
use crate::run::{self, text};

/// The number behind a word that ada printed, as in `ada: 17 events`.
fn told(words: &str, before: &str, after: &str) -> u64 {
    let line = words.lines().find_map(|line| line.strip_prefix(before)?.split_once(after));
    line.unwrap_or_else(|| panic!("{words}")).0.parse().unwrap()
}

fn assert_counts_agree(sessions: &Path, words: &str, written: u64) {
    let session = sessions.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let path = session.into_iter().find(|path| path.is_dir()).unwrap();
    let session = Session::open(&path).unwrap();
    let manifest = session.processes()[0].manifest.as_ref().unwrap();
    let in_files: u64 = session.threads().map(|thread| thread.event_count()).sum();
    assert_eq!(in_files, written, "{words}");
    assert!(
        told(words, "ada: ", " records lost: not_written") > 0 && words.contains("the trace is incomplete"),
        "{words}"
    );
    // A manifest for which there was no room any more says that it is an early one.
    if manifest.finished == Some(true) {
        assert_eq!(manifest.extra.get("incomplete"), Some(&true.into()), "{words}");
        let listed: u64 = manifest.threads.iter().map(|thread| thread.event_count.unwrap()).sum();
        assert_eq!(listed, written, "{words}");
    }
}

/// Traces a program onto a disk of its own, and gives a copy of what is there in the end.
fn traced_on_a_small_disk(store: &str, size: &str, meanwhile: &str) -> (Output, TempDir) {
    let program = Program::new("busy_threads.c").flags(&["-pthread"]).build();
    let (disk, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let script = format!(
        r#"disk="$1" kept="$2"; shift 2; mount -t tmpfs -o size={size} tmpfs "$disk" || exit 99; {meanwhile}
        "$@"; code=$?; wait; cp -a "$disk"/session_* "$kept"; exit $code"#
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script, "sh"]).arg(disk.path()).arg(kept.path());
    command.args([env!("CARGO_BIN_EXE_ada"), "trace", "--store", store, "--output"]).arg(disk.path());
    command.arg("--").arg(&program);
    let traced = run::bounded(command, b"");
    let alone = run::bounded(Command::new(&program), b"");
    let words = text(&traced.stderr);
    assert_eq!((traced.status.code(), text(&traced.stdout)), (alone.status.code(), text(&alone.stdout)), "{words}");
    (traced, kept)
}

#[test]
fn recording_ends_before_the_disk_is_full() {
    for store in ["raw", "packed"] {
        let (traced, kept) = traced_on_a_small_disk(store, "4m", "");
        let words = text(&traced.stderr);
        assert!(words.contains("MiB left, and no more was written to it"), "{words}");
        let written = told(words, "ada: ", " events on");
        assert_counts_agree(kept.path(), words, written);
        // Packed events take a byte or two.
        assert!(written > if store == "raw" { 50_000 } else { 1_000_000 }, "{words}");
    }
}

/// Somebody else fills the disk at once, so that files may not even get their ends.
#[test]
fn what_is_told_of_a_disk_that_others_fill_is_what_the_files_hold() {
    const FILLING: &str = r#"(until ls "$disk"/session_*/pid_*/thread_* > /dev/null 2>&1; do sleep 0.01; done
        cat /dev/zero > "$disk/other" 2> /dev/null) &"#;
    for store in ["raw", "packed"] {
        let (traced, kept) = traced_on_a_small_disk(store, "64m", FILLING);
        let words = text(&traced.stderr);
        assert_counts_agree(kept.path(), words, told(words, "ada: ", " events on"));
    }
}
