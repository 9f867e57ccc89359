//! Texts are what they were at the call, wherever they are: in memory that is certain to be there, in memory that may go away at any
//! time, and where there is none.

use std::fs;
use std::path::Path;

use crate::asked::{number, rows};
use crate::program::Program;
use crate::traced_program::TracedProgram;

/// As the program has it.
const CALLS_OF_HANDLER: i64 = 40;

/// A library of constants; two that differ in a flag are two files.
fn letters(flag: &str) -> std::path::PathBuf {
    let flags = ["-shared", "-fPIC", "-nostdlib", "-fno-asynchronous-unwind-tables", flag];
    Program::new("letters.c").flags(&flags).build()
}

fn program() -> Program {
    let library = letters("-g0");
    let folder: &Path = library.parent().unwrap();
    let (link, find) = (format!("-L{}", folder.display()), format!("-Wl,-rpath,{}", folder.display()));
    // What the program takes away at its end is what the loader needs to bind a function that is called late.
    Program::new("text_places.c").flags(&["-g", "-pthread", "-Wl,-z,now", &link, &find, "-l:letters"])
}

#[test]
fn texts_are_what_they_were_wherever_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("truth");
    let again = letters("-g1");
    let options = ["--args", "take,both,sixth,interrupting"];
    let arguments = [log.to_str().unwrap(), again.to_str().unwrap()];
    let traced = TracedProgram::trace_running(&program(), &options, &arguments);
    let truth = fs::read_to_string(&log).unwrap();
    let mut truth: Vec<&str> = truth.lines().collect();
    let handled: i64 = truth.pop().unwrap().parse().unwrap();
    let asked = "SELECT call FROM spans WHERE name IN ('take', 'both', 'sixth') ORDER BY start_ns";
    let found = rows(&traced, asked);
    let calls: Vec<&str> = found.iter().map(|row| row["call"].as_str().unwrap()).collect();
    let (logged, under_signals) = calls.split_at(truth.len());
    assert!(truth.len() > 900, "{}", truth.len());
    for (number, (call, truth)) in logged.iter().zip(&truth).enumerate() {
        assert_eq!(call, truth, "call {number}");
    }

    // Handlers that interrupt such calls make some of their own.
    assert!(under_signals.len() >= 40_000);
    for (n, [first, second]) in under_signals.as_chunks().0.iter().enumerate() {
        assert_eq!(*first, format!("both(\"a constant\", {n}, \"a text on the stack\") = {n}"));
        assert_eq!(*second, format!("both(\"a text on the heap\", {n}, \"another constant\") = {n}"));
    }
    assert!(handled >= 50, "{handled}");
    for text in ["a constant of a handler", "on the stack of a handler"] {
        let asked = format!("SELECT count(*) FROM spans WHERE call = 'interrupting(\"{text}\") = 1'");
        assert_eq!(number(&traced, &asked), handled * CALLS_OF_HANDLER, "{text}");
    }
}
