//! What was found is left alone by later traces, until it is removed.

use std::fs;
use std::process::Output;

use super::{Bisecting, said};
use crate::run::{self, text};

impl Bisecting {
    /// Traces the program, and gives what it printed with what `ada hooks` and `ada report` say of alpha.
    fn trace(&self, options: &[&str]) -> (Output, String, String) {
        let sessions = tempfile::tempdir().unwrap();
        let mut command = self.ada();
        command.arg("trace").args(options).arg("--output").arg(sessions.path()).arg("--");
        command.arg(&self.program).arg("alpha");
        let traced = run::bounded(command, b"");
        let session = fs::read_dir(sessions.path()).unwrap().next().unwrap().unwrap().path();
        let ask = |command: &str, options: &[&str]| {
            let mut ada = self.ada();
            ada.arg(command).arg(&session).args(options);
            text(&run::bounded(ada, b"").stdout).to_owned()
        };
        let hooks = ask("hooks", &["--module", "summed_text"]);
        let alpha = hooks.lines().find(|line| line.ends_with("  alpha")).unwrap().to_owned();
        (traced, alpha, ask("report", &["--wide"]))
    }
}

#[test]
fn what_is_kept_is_left_alone_and_reported_until_it_is_removed() {
    let bisecting = Bisecting::new();
    let (traced, alpha, _) = bisecting.trace(&[]);
    assert!(text(&traced.stdout).contains("alpha has changed") && alpha.contains(" hooked "), "{alpha}");

    let kept = bisecting.bisect(&["--runs", "2", "--keep"], &["alpha"]);
    assert_eq!(kept.status.code(), Some(1), "{}", said(&kept));
    assert!(text(&kept.stdout).contains("kept in quarantine: "), "{}", said(&kept));

    let (traced, alpha, report) = bisecting.trace(&[]);
    assert!(!text(&traced.stdout).contains("changed"), "{}", said(&traced));
    assert!(text(&traced.stderr).contains("1 function is in quarantine"), "{}", said(&traced));
    assert!(alpha.contains("skipped (quarantined)"), "{alpha}");
    assert!(report.contains("functions in quarantine are not hooked: alpha of "), "{report}");
    let again = bisecting.bisect(&["--runs", "2"], &["alpha"]);
    assert_eq!(again.status.code(), Some(0), "{}", said(&again));

    let (traced, alpha, report) = bisecting.trace(&["--no-quarantine"]);
    assert!(text(&traced.stdout).contains("alpha has changed") && alpha.contains(" hooked "), "{alpha}");
    assert!(!report.contains("quarantine"), "{report}");

    let listed = bisecting.quarantine(&[]);
    let lines: Vec<&str> = text(&listed.stdout).lines().collect();
    let [file, function] = lines[..] else { panic!("{lines:?}") };
    assert!(file.ends_with(bisecting.program.to_str().unwrap()), "{file}");
    assert!(function.contains("  alpha  ") && function.contains("alpha has changed"), "{function}");

    let removed = bisecting.quarantine(&["--remove", bisecting.program.to_str().unwrap()]);
    assert_eq!(removed.status.code(), Some(0), "{}", said(&removed));
    assert!(bisecting.quarantine(&[]).stdout.is_empty());
    let (traced, ..) = bisecting.trace(&[]);
    assert!(text(&traced.stdout).contains("alpha has changed"), "{}", said(&traced));
    let nothing = bisecting.quarantine(&["--remove", "/bin/sh"]);
    assert_eq!(nothing.status.code(), Some(3), "{}", said(&nothing));
}

#[test]
fn lists_that_cannot_be_read_are_named_and_can_be_removed() {
    let bisecting = Bisecting::new();
    let folder = bisecting.cache.path().join("quarantine");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("ab01.json"), "{").unwrap();
    let (traced, alpha, _) = bisecting.trace(&["--quiet"]);
    assert!(alpha.contains(" hooked "), "{alpha}");
    assert!(text(&traced.stderr).contains("ab01.json is not used: "), "{}", said(&traced));
    let listed = bisecting.quarantine(&[]);
    assert_eq!(listed.status.code(), Some(1), "{}", said(&listed));
    assert!(text(&listed.stdout).starts_with("ab01  not used: "), "{}", said(&listed));
    assert_eq!(bisecting.quarantine(&["--remove", "ab01"]).status.code(), Some(0));
    assert_eq!(bisecting.quarantine(&[]).status.code(), Some(0));
}
