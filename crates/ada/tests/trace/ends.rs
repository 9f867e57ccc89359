//! How every process of a session ended, and who its parent is.

use std::collections::HashMap;

use ada_format::atf::{Manifest, Session};

use super::program::Program;
use super::tracing::{Tracing, assert_sound};
use crate::run::{self, text};

fn manifests(tracing: &Tracing) -> HashMap<u32, Manifest> {
    let session = Session::open(tracing.session()).unwrap();
    let manifest_of = |process: &ada_format::atf::Process| process.manifest.clone().expect("it has one");
    session.processes().iter().map(|process| (process.pid.unwrap().0, manifest_of(process))).collect()
}

/// The process that a line of the program's is about.
fn pid_of(line: &str) -> u32 {
    line.split(' ').next().unwrap().parse().unwrap()
}

/// Parent and end are what the line says: pid, parent, how, and a number.
fn assert_reported(line: &str, manifest: &Manifest) {
    let words: Vec<&str> = line.split(' ').collect();
    let [_, parent, how, number] = words[..] else { panic!("{line}") };
    assert_eq!(manifest.parent_pid, Some(parent.parse().unwrap()), "{line}");
    let exit = manifest.exit.as_ref().unwrap_or_else(|| panic!("{line}: it has no end"));
    let number = Some(number.parse().unwrap());
    let expected = if how == "exit" { (number, None) } else { (None, number) };
    assert_eq!((exit.code, exit.signal), expected, "{line}: {exit:?}");
}

/// Where the kernel reports processes to nobody, in a container, the session says so.
#[test]
fn processes_that_end_before_their_first_call_are_listed() {
    let tracing = Tracing::new(&Program::new("short_lives.c"));
    let output = run::bounded(tracing.command(), b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let manifests = manifests(&tracing);
    assert_sound(&tracing.session());
    let lines: Vec<&str> = text(&output.stdout).lines().collect();
    assert_eq!(lines.len(), 21);
    let first = manifests.values().find(|manifest| manifest.parent_pid.is_none()).unwrap();
    let is_told = |limit: &serde_json::Value| {
        limit.as_str().is_some_and(|limit| limit.contains("the kernel does not report processes"))
    };
    let (known, missing): (Vec<&str>, Vec<&str>) = lines.iter().partition(|line| manifests.contains_key(&pid_of(line)));
    assert_eq!(manifests.len(), known.len() + 1);
    let is_nobodys = |line: &&str| {
        let exit = manifests[&pid_of(line)].exit.as_ref();
        exit.and_then(|exit| exit.known_by.as_deref()) == Some("nobody")
    };
    let (unknown, known): (Vec<&str>, Vec<&str>) = known.into_iter().partition(is_nobodys);
    known.iter().for_each(|line| assert_reported(line, &manifests[&pid_of(line)]));
    // Nothing is unknown unless the session says why.
    assert!(missing.is_empty() && unknown.is_empty() || first.limits.iter().any(is_told), "{missing:?} {unknown:?}");
}

#[test]
fn it_is_known_how_every_process_ended_and_who_made_it() {
    let tracing = Tracing::new(&Program::new("ends.c"));
    let output = run::bounded(tracing.command(), b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let manifests = manifests(&tracing);
    let lines: Vec<&str> = text(&output.stdout).lines().collect();
    assert_eq!((lines.len(), manifests.len()), (11, 12));
    for line in lines {
        let manifest = &manifests[&pid_of(line)];
        assert!(!manifest.command_line.is_empty(), "{line}");
        assert_reported(line, manifest);
    }
    let first = manifests.values().find(|manifest| manifest.parent_pid.is_none()).unwrap();
    assert_eq!(first.exit.as_ref().unwrap().known_by.as_deref(), Some("wait"));
}

#[test]
fn a_process_that_lives_on_has_no_end() {
    let tracing = Tracing::new(&Program::new("ends.c")).option(&["--until-exit"]);
    let output = run::bounded(tracing.command(), b"");
    let last = text(&output.stdout).lines().last().unwrap().split(' ').next().unwrap().parse().unwrap();
    let manifests = manifests(&tracing);
    // It may not have come to its first call by then.
    if let Some(manifest) = manifests.get(&last) {
        assert_eq!(manifest.exit, None);
    }
    assert!(manifests.len() >= 11);
}
