//! `ada demo`.

use std::fs;

use crate::run::{ada, text};

#[test]
fn a_session_is_made_summed_up_and_sound() {
    let output = tempfile::tempdir().unwrap();
    let demo = ada(["demo", "--output", output.path().to_str().unwrap()]);
    assert_eq!((demo.status.code(), text(&demo.stderr)), (Some(0), ""));
    for words in ["119 of 120 requests served", "threads   4", "most called", "finish_grow"] {
        assert!(text(&demo.stdout).contains(words), "{words} in {}", text(&demo.stdout));
    }
    // What it says to do next can be done.
    let next =
        text(&demo.stdout).lines().filter_map(|line| line.split_once("ada report ").or(line.split_once("ada view ")));
    let paths: Vec<&str> = next.filter_map(|(_, words)| words.split_whitespace().next()).collect();
    assert_eq!(paths.len(), 2, "{}", text(&demo.stdout));
    assert_eq!(ada(["report", paths[1]]).status.code(), Some(0));
    let session = fs::read_dir(output.path()).unwrap().next().unwrap().unwrap().path();
    let verify = ada(["atf", "verify", session.to_str().unwrap()]);
    assert!(text(&verify.stdout).starts_with("sound: 1 process, 4 threads, "), "{}", text(&verify.stdout));
}

#[test]
fn an_output_that_cannot_be_written_is_exit_code_125() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let demo = ada(["demo", "--output", file.path().to_str().unwrap()]);
    assert_eq!(demo.status.code(), Some(125));
    assert_eq!(text(&demo.stderr).lines().count(), 1);
    assert!(text(&demo.stderr).contains("--output"));
}
