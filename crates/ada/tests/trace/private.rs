//! Traces hold a program's memory: they are their owner's alone, and a session that somebody else prepared makes ada write
//! nowhere else.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use ada_format::atf::Session;
use tempfile::TempDir;

use super::program::Program;
use crate::run::{self, bounded, text};

/// A session that was recorded under a umask that forbids nothing.
fn record(words: &[&str]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let sessions = folder.path().join("sessions");
    let mut shell = Command::new("sh");
    shell.args(["-c", "umask 0; exec \"$@\"", "sh"]).arg(run::command().get_program());
    shell.args(["trace", "--quiet", "--output"]).arg(&sessions).args(words).arg("--");
    shell.arg(Program::new("threads.c").build());
    let output = bounded(shell, b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let session = fs::read_dir(&sessions).unwrap().next().unwrap().unwrap().path();
    (folder, session)
}

fn assert_private(path: &Path) {
    let found = fs::symlink_metadata(path).unwrap();
    let expected = if found.is_dir() { 0o700 } else { 0o600 };
    assert_eq!(found.mode() & 0o7777, expected, "{}", path.display());
    if found.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            assert_private(&entry.unwrap().path());
        }
    }
}

fn ask(words: &[&str], session: &Path) {
    let mut command = Command::new("sh");
    command.args(["-c", "umask 0; exec \"$@\"", "sh"]).arg(run::command().get_program());
    let output = bounded(
        {
            command.args(words).arg(session);
            command
        },
        b"",
    );
    assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
}

#[test]
fn a_session_is_its_owners_alone_whatever_the_umask() {
    let (_folder, session) = record(&["--detail", "all"]);
    assert_eq!(fs::metadata(session.parent().unwrap()).unwrap().mode() & 0o022, 0);
    ask(&["spans"], &session);
    ask(&["unpack"], &session);
    ask(&["pack"], &session);
    assert_private(&session);
    let (_folder, ring) = record(&["--ring", "8M"]);
    assert_private(&ring);
}

#[test]
fn links_in_a_session_are_not_written_through() {
    let (folder, session) = record(&[]);
    let victim = folder.path().join("victim");
    let processes = Session::open(&session).unwrap();
    let process = processes.processes()[0].path.clone();
    let threads: Vec<PathBuf> =
        processes.threads().filter_map(|thread| Some(thread.files().next()?.parent()?.to_owned())).collect();
    drop(processes);
    for name in ["manifest.json.tmp", "derived"] {
        symlink(&victim, process.join(name)).unwrap();
    }
    for (thread, name) in threads.iter().flat_map(|it| ["index.atf.tmp", "index.atp.tmp"].map(|name| (it, name))) {
        symlink(&victim, thread.join(name)).unwrap();
    }
    ask(&["spans"], &session);
    ask(&["unpack"], &session);
    ask(&["pack"], &session);
    assert!(!victim.exists());
}

#[test]
fn tables_of_a_session_where_others_write_are_kept_elsewhere() {
    let (folder, session) = record(&[]);
    let process = Session::open(&session).unwrap().processes()[0].path.clone();
    fs::set_permissions(&process, PermissionsExt::from_mode(0o777)).unwrap();
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let mut spans = run::command();
    spans.arg("spans").arg(&session).env("TMPDIR", &temporary);
    let output = bounded(spans, b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("others write there too; keeping tables in"), "{}", text(&output.stderr));
    assert!(!process.join("derived").exists());
    let own = fs::read_dir(&temporary).unwrap().next().unwrap().unwrap().path();
    assert_private(&own);
    // Somebody else has made it first, and left tables there.
    fs::set_permissions(&own, PermissionsExt::from_mode(0o755)).unwrap();
    let mut spans = run::command();
    spans.arg("spans").arg(&session).env("TMPDIR", &temporary);
    let output = bounded(spans, b"");
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("not a folder of yours alone"), "{}", text(&output.stderr));
}
