//! The table of clauses names tests that exist.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_test_that_the_table_of_clauses_names_exists() {
    let table = fs::read_to_string(root().join("docs/conformance.md")).unwrap();
    assert!(names_that_exist(&table) > 40);
}

/// The same for what is said of enemies.
#[test]
fn every_test_that_the_page_on_security_names_exists() {
    let page = fs::read_to_string(root().join("docs/security.md")).unwrap();
    let (_, table) = page.split_once("\n### How it is tested\n").unwrap();
    assert!(names_that_exist(table.split_once("\n## ").unwrap().0) > 20);
}

fn root() -> PathBuf {
    Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..")
}

/// How many tests and fuzz targets the second cells of a table's rows name, all of which have to be there.
fn names_that_exist(table: &str) -> usize {
    let mut tests = HashSet::new();
    add_tests(&root().join("crates"), &mut tests);
    let targets = fs::read_dir(root().join("fuzz/fuzz_targets")).unwrap();
    tests.extend(targets.map(|it| it.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()));
    let rows = table.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---"));
    let mut named = 0;
    for row in rows {
        let proof = row.split(" | ").nth(1).unwrap_or_else(|| panic!("a row has two cells and more: {row}"));
        for name in proof.split('`').skip(1).step_by(2) {
            assert!(tests.contains(name), "{name} is no test: {row}");
            named += 1;
        }
    }
    named
}

/// The names of the functions that are tests, in all files of a folder.
fn add_tests(folder: &Path, tests: &mut HashSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_tests(&path, tests);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let mut lines = text.lines().map(str::trim);
            while lines.by_ref().any(|line| line == "#[test]") {
                let named = lines.by_ref().find_map(|line| line.strip_prefix("fn ")?.split('(').next());
                tests.extend(named.map(str::to_owned));
            }
        }
    }
}
