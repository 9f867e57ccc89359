//! The page, used in Chromium as a person would.

use std::path::{Path, PathBuf};

use crate::exports::pool;
use crate::python::script;
use crate::served::Served;

/// Where pictures of the page are kept: with the build, so that each run leaves its own.
fn pictures(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("page").join(name)
}

#[test]
fn a_person_can_use_every_part_of_the_page() {
    let told = pool();
    let served = Served::new(told.path());
    let said = script("view_page.py", &[Path::new(&served.url), &pictures("pool")]);
    assert!(said.contains("the page does what it should"), "{said}");
}
