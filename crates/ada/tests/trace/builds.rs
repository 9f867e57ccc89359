//! One program, built in many ways.

use std::path::Path;
use std::process::Command;

use ada_event::ImageOffset;

use super::program::Program;
use super::recorded::Counts;
use super::tracing::{Traced, Tracing};
use crate::run::text;

const BRANCHES: u64 = 4 + 6;

/// `branch` and `leaf` are called ten times each, whatever the compiler did.
fn check(program: &Program) -> Traced {
    let traced = check_tree(program);
    traced.recorded.assert_balanced("main", 1);
    let compare = traced.recorded.counts("compare");
    assert!(compare.calls >= 4 && compare.calls == compare.returns, "{compare:?}");
    traced
}

/// musl has no unwind tables, so nobody knows what its functions do with the stack: calls that come from there are
/// recorded, their returns are not caught.
fn check_musl(program: &Program) {
    let traced = check_tree(program);
    assert_eq!(traced.recorded.counts("main").calls, 1);
    assert!(traced.recorded.counts("compare").calls >= 4);
}

fn check_tree(program: &Program) -> Traced {
    let traced = Tracing::new(program).check();
    let recorded = &traced.recorded;
    assert_eq!(traced.output.status.code(), Some(11));
    recorded.assert_balanced("branch", BRANCHES);
    recorded.assert_balanced("leaf", BRANCHES);
    let tree = recorded.tree();
    let calls: Vec<&str> = tree.lines().filter(|line| line.ends_with("branch") || line.ends_with("leaf")).collect();
    // From the first call on: the depth of main itself is known only where its return is caught.
    let indent = calls[0].len() - calls[0].trim_start().len();
    let calls: Vec<&str> = calls.iter().take(8).map(|call| &call[indent..]).collect();
    let expected = [
        "call branch",
        "  call branch",
        "    call branch",
        "      call branch",
        "        call leaf",
        "        return leaf",
        "      return branch",
        "      call leaf",
    ];
    assert_eq!(calls, expected);
    traced
}

fn tree() -> Program {
    Program::new("tree.c")
}

#[test]
fn not_optimised() {
    check(&tree().flags(&["-O0"]));
}

#[test]
fn optimised_for_size() {
    check(&tree().flags(&["-Os"]));
}

#[test]
fn optimised_at_link_time() {
    check(&tree().flags(&["-O3", "-flto"]));
}

#[test]
fn with_branch_protection() {
    check(&tree().flags(&["-fcf-protection=full"]));
}

#[test]
fn at_a_fixed_address() {
    check(&tree().flags(&["-no-pie", "-fno-pie"]));
}

#[test]
fn without_a_procedure_linkage_table() {
    check(&tree().flags(&["-fno-plt", "-Wl,-z,now", "-fstack-protector-all"]));
}

#[test]
fn with_frame_pointers_and_instrumentation_room() {
    check(&tree().flags(&["-fno-omit-frame-pointer", "-fpatchable-function-entry=5,2"]));
}

#[test]
fn fully_static() {
    check(&tree().flags(&["-static"]));
}

#[test]
fn static_and_position_independent() {
    check(&tree().flags(&["-static-pie"]));
}

#[test]
fn against_musl() {
    check_musl(&tree().compiler("musl-gcc"));
}

#[test]
fn static_against_musl() {
    check_musl(&tree().compiler("musl-gcc").flags(&["-static"]));
}

#[test]
fn by_clang() {
    check(&tree().compiler("clang").flags(&["-Wno-unknown-attributes", "-Wno-ignored-attributes"]));
}

#[test]
fn stripped_functions_are_found_at_the_same_addresses() {
    check_stripped(&tree());
}

#[test]
fn stripped_static_functions_are_found_at_the_same_addresses() {
    check_stripped(&tree().flags(&["-static"]));
}

/// The functions have no names, but those of the build with symbols say where they are.
fn check_stripped(program: &Program) {
    let named = program.build();
    let traced = Tracing::new(&program.clone().stripped()).check();
    let process = traced.recorded.process();
    let at = |offset: u64| {
        process.counts_of(|module, row| module.id == process.own().id && row.offset == ImageOffset(offset))
    };
    let balanced = |calls| Counts { calls, returns: calls, unwound: 0 };
    assert_eq!(at(address_of(&named, "branch")), balanced(BRANCHES));
    assert_eq!(at(address_of(&named, "leaf")), balanced(BRANCHES));
    assert_eq!(at(address_of(&named, "main")), balanced(1));
}

fn address_of(path: &Path, name: &str) -> u64 {
    let output = Command::new("nm").arg(path).output().unwrap();
    let line = text(&output.stdout).lines().find(|line| line.ends_with(&format!(" T {name}"))).expect("nm finds it");
    u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap()
}
