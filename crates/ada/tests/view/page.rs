//! The page, used in Chromium as a person would.

use std::path::{Path, PathBuf};

use crate::exports::pool;
use crate::python::script;
use crate::served::Served;
use crate::toolchain::{Build, build, in_swift};
use crate::{run, told};

/// Where pictures of the page are kept: with the build, so that each run leaves its own.
pub(crate) fn pictures(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("page").join(name)
}

#[test]
fn a_person_can_use_every_part_of_the_page() {
    let told = pool();
    let served = Served::new(told.path());
    let said = script("view_page.py", &[Path::new(&served.url), &pictures("pool")]);
    assert!(said.contains("the page does what it should"), "{said}");
}

#[test]
fn tasks_and_queues_of_a_swift_program_are_seen() {
    let program = build("bridge.swift", Build::Release);
    let folder = tempfile::tempdir().unwrap();
    let mut traced = in_swift();
    traced.args(["ada", "trace", "--quiet", "--output"]).arg(folder.path()).arg("--").arg(&program);
    let traced = run::bounded(traced, b"");
    assert_eq!(traced.status.code(), Some(0), "{}", run::text(&traced.stderr));
    let told = told::Told::from_folder(folder, "bridge");
    let served = Served::new(told.path());
    let said = script("view_tasks.py", &[Path::new(&served.url), &pictures("tasks")]);
    assert!(said.contains("tasks and queues are seen"), "{said}");
}
