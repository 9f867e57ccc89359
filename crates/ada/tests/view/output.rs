//! What remains when an export cannot be written: nothing, and one line.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use crate::exports::{export, pool};
use crate::run;
use crate::traced_program::TracedProgram;

const FORMATS: [&str; 8] = ["perfetto", "chrome", "firefox", "speedscope", "heph", "otlp", "folded", "pprof"];

fn one_line(stderr: &[u8]) -> String {
    let text = run::text(stderr).to_owned();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

fn names_in(traced: &TracedProgram) -> Vec<String> {
    let entries = fs::read_dir(traced.path()).unwrap();
    let mut names: Vec<String> = entries.map(|it| it.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_full_device_is_one_line() {
    let traced = pool();
    for format in FORMATS {
        let mut command = run::command();
        command.args(["export", "--to", format, "-o", "/dev/full"]).arg(traced.path());
        let output = run::bounded(command, b"");
        assert_eq!(output.status.code(), Some(4), "{format}");
        let words = one_line(&output.stderr);
        assert!(words.contains("cannot write /dev/full") && words.contains("No space left"), "{words}");
    }
}

#[test]
fn a_file_that_cannot_grow_leaves_nothing_behind() {
    let traced = pool();
    // Tables are made before, with as much room as they like.
    traced.text("report", &[]);
    let before = names_in(&traced);
    for format in FORMATS.into_iter().filter(|it| !matches!(*it, "folded" | "pprof")) {
        let file = traced.path().join("small");
        let mut command = Command::new("bash");
        let limited = "trap '' XFSZ; ulimit -f 16; exec \"$0\" export --to \"$1\" -o \"$2\" \"$3\"";
        command.args(["-c", limited]).arg(env!("CARGO_BIN_EXE_ada")).arg(format).arg(&file).arg(traced.path());
        let output = run::bounded(command, b"");
        assert_eq!(output.status.code(), Some(4), "{format}: {}", run::text(&output.stderr));
        let words = one_line(&output.stderr);
        assert!(words.contains("cannot write") && words.contains("File too large"), "{words}");
        assert_eq!(names_in(&traced), before, "{format}");
    }
}

#[test]
fn a_reader_that_goes_away_is_one_line() {
    let traced = pool();
    let mut command = run::command();
    command.args(["export", "--to", "chrome", "-o", "-"]).arg(traced.path());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut words = Vec::new();
    child.stderr.take().unwrap().read_to_end(&mut words).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(4));
    let words = one_line(&words);
    assert!(words.contains("cannot write -") && words.contains("Broken pipe"), "{words}");
}

#[test]
fn what_is_there_is_not_written_over() {
    let traced = pool();
    let (file, first) = export(&traced, "heph", &[]);
    assert!(first.status.success());
    let written = fs::read(&file).unwrap();
    let (_, again) = export(&traced, "heph", &[]);
    assert_eq!(again.status.code(), Some(3));
    assert!(one_line(&again.stderr).contains("is there already"));
    assert_eq!(fs::read(&file).unwrap(), written);
}

#[test]
fn words_that_do_not_go_together_are_refused() {
    let traced = pool();
    let path = traced.path().to_str().unwrap();
    for (words, said) in [
        (vec!["--to", "chrome", "-o", "x", "--table", "spans", path], "--table is for parquet and sqlite"),
        (vec!["--to", "parquet", "-o", "x", "--thread", "1", path], "conditions on spans are for timelines"),
    ] {
        let output = run::ada([&["export"][..], &words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(one_line(&output.stderr).contains(said), "{words:?}");
    }
    // Without a name, the session's.
    let home = tempfile::tempdir().unwrap();
    let named = run::command().args(["export", "--to", "chrome", path]).current_dir(home.path()).output().unwrap();
    assert!(named.status.success(), "{}", run::text(&named.stderr));
    let files: Vec<String> =
        fs::read_dir(home.path()).unwrap().map(|it| it.unwrap().file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(
        files,
        [format!("{}.trace.json", names_in(&traced).iter().find(|it| it.starts_with("session_")).unwrap())]
    );
    let stdout = run::ada(["export", "--to", "folded", "-o", "-", path]);
    assert!(stdout.status.success() && run::text(&stdout.stdout).contains(";main;"), "folded to a pipe");
}
