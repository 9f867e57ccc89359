//! Source lines of functions and call sites, from files with debug information and the right build-id.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::program::Program;
use crate::run;
use crate::traced_program::TracedProgram;

fn place(record: &Value) -> Option<(String, u64)> {
    let file = Path::new(record["file"].as_str()?).file_name()?.to_string_lossy().into_owned();
    Some((file, record["line"].as_u64()?))
}

fn at(file: &str, line: u64) -> Option<(String, u64)> {
    Some((file.to_owned(), line))
}

/// The place that the commands have for a function, which must be the same for all; and that of its first call.
fn places(traced: &TracedProgram, function: &str, options: &[&str]) -> [Option<(String, u64)>; 2] {
    let top = traced.json("top", &[options, &["--function", function]].concat());
    let spans = traced.json("spans", &[options, &["--type", "frame", "--function", function]].concat());
    let tree = traced.json("tree", &[options, &["--function", function]].concat());
    let span = &spans["spans"][0];
    let shown = traced.json("show", &[options, &[span["span_id"].as_str().expect("it has one")]].concat());
    let found = place(&top["functions"][0]);
    for other in [span, &tree["nodes"][0], &shown, &shown["opened_by"]] {
        assert_eq!(place(other), found, "{other}");
    }
    [found, place(&shown["opened_by"]["call_site"])]
}

fn binutils(command: &str, arguments: &[&Path], options: &[&str]) {
    let output = Command::new(command).args(options).args(arguments).output().expect("scripts/setup installs it");
    assert!(output.status.success(), "{command}: {}", run::text(&output.stderr));
}

#[test]
fn functions_and_calls_of_c_have_their_lines() {
    let traced = TracedProgram::trace_with_registers(&Program::new("lines.c").flags(&["-g"]));
    assert_eq!(places(&traced, "leaf", &[]), [at("lines.c", 4), at("lines.c", 13)]);
    assert_eq!(places(&traced, "middle", &[]), [at("lines.c", 11), at("lines.c", 19)]);
    let csv = traced.text("top", &["--function", "leaf", "--format", "csv"]);
    assert!(csv.lines().nth(1).is_some_and(|row| row.contains("/lines.c,4,")), "{csv}");
    let report = traced.json("report", &["--limit", "1000"]);
    let functions = report["functions"]["by_calls"].as_array().expect("a list");
    let leaf = functions.iter().find(|function| function["name"] == "leaf").expect("it was called");
    assert_eq!(place(leaf), at("lines.c", 4));
}

#[test]
fn tables_have_lines_on_demand_and_show_always() {
    let traced = TracedProgram::trace_with_registers(&Program::new("lines.c").flags(&["-g"]));
    for (command, options) in [
        ("top", &["--function", "leaf"][..]),
        ("spans", &["--function", "leaf"]),
        ("spans", &["--function", "leaf", "--limit", "0"]),
        ("tree", &["--function", "leaf"]),
        ("report", &["--limit", "1000"]),
    ] {
        assert!(!traced.text(command, options).contains("lines.c:"), "{command}");
        let text = traced.text(command, &[options, &["--lines"]].concat());
        assert!(text.contains("/lines.c:4"), "{command}: {text}");
    }
    let spans = traced.spans(&["--function", "leaf"]);
    let text = traced.text("show", &[spans[0]["span_id"].as_str().unwrap()]);
    assert!(text.contains("/lines.c:4\n") && text.contains("/lines.c:13\n"), "{text}");
}

#[test]
fn functions_of_rust_have_their_lines() {
    let traced = TracedProgram::trace_with_registers(&Program::new("lines.rs").flags(&["-Cdebuginfo=2"]));
    assert_eq!(places(&traced, "lines::leaf", &[]), [at("lines.rs", 6), at("lines.rs", 12)]);
    assert_eq!(places(&traced, "lines::middle", &[])[0], at("lines.rs", 11));
}

#[test]
fn a_stripped_program_has_lines_from_its_debug_file_alone() {
    let whole = Program::new("lines.c").flags(&["-g", "-Wl,--build-id"]).build();
    let folder = tempfile::tempdir().unwrap();
    let debug = folder.path().join("debug");
    std::fs::create_dir(&debug).unwrap();
    let program = folder.path().join("lines");
    binutils("objcopy", &[&whole, &debug.join("any.name")], &["--only-keep-debug", "--compress-debug-sections=zlib"]);
    // Names stay, so that the functions can be found.
    binutils("strip", &[&whole], &["--strip-debug", "-o", program.to_str().unwrap()]);
    let traced = TracedProgram::trace_file(&program, &["--detail", "all"]);
    assert_eq!(places(&traced, "leaf", &[]), [None, None]);
    let debug_dir = ["--debug-dir", debug.to_str().unwrap()];
    assert_eq!(places(&traced, "leaf", &debug_dir), [at("lines.c", 4), at("lines.c", 13)]);
    // A damaged file costs its lines, and nothing else.
    let mut bytes = std::fs::read(debug.join("any.name")).unwrap();
    bytes[0x400..].iter_mut().step_by(3).for_each(|byte| *byte ^= 0x55);
    std::fs::write(debug.join("any.name"), bytes).unwrap();
    assert_eq!(places(&traced, "leaf", &debug_dir), [None, None]);
    let output = traced.ada("top", &["--debug-dir", "/nowhere"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(run::text(&output.stderr).starts_with("ada: cannot search /nowhere: "), "{}", run::text(&output.stderr));
}

#[test]
fn a_file_with_another_build_id_is_not_believed() {
    let first = Program::new("lines.c").flags(&["-g", "-Wl,--build-id=0x11111111"]).build();
    let second = Program::new("lines.c").flags(&["-g", "-Wl,--build-id=0x22222222"]).build();
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("lines");
    std::fs::copy(&first, &program).unwrap();
    let traced = TracedProgram::trace_file(&program, &["--detail", "all"]);
    assert_eq!(places(&traced, "leaf", &[])[0], at("lines.c", 4));
    std::fs::copy(&second, &program).unwrap();
    assert_eq!(places(&traced, "leaf", &[]), [None, None]);
    let debug_dir = ["--debug-dir", first.parent().and_then(Path::to_str).unwrap()];
    assert_eq!(places(&traced, "leaf", &debug_dir)[0], at("lines.c", 4));
}
