//! The derived tables: made once, made anew when they must be.

use std::fs;
use std::time::SystemTime;

use crate::program::Program;
use crate::run;
use crate::traced_program::TracedProgram;

fn made(traced: &TracedProgram) -> SystemTime {
    fs::metadata(traced.derived().join("meta.bin")).unwrap().modified().unwrap()
}

#[test]
fn tables_are_made_once() {
    let traced = TracedProgram::trace(&Program::new("recursion.c"));
    assert!(!traced.derived().exists());
    let first = traced.text("report", &[]);
    let time = made(&traced);
    assert_eq!(traced.text("report", &[]), first);
    assert_eq!(made(&traced), time);
    let left_over = fs::read_dir(traced.derived().parent().unwrap()).unwrap();
    let names: Vec<String> = left_over.map(|it| it.unwrap().file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(names.iter().filter(|name| name.starts_with("derived")).count(), 1, "{names:?}");
}

/// Several may ask for the first time at once.
#[test]
fn tables_that_two_make_at_once_are_good_for_both() {
    let traced = TracedProgram::trace(&Program::new("recursion.c"));
    let good = traced.text("spans", &["--limit", "20"]);
    for _ in 0..10 {
        fs::remove_dir_all(traced.derived()).unwrap();
        let ask = || traced.ada("spans", &["--limit", "20"]);
        let outputs = std::thread::scope(|scope| [(); 3].map(|()| scope.spawn(ask)).map(|it| it.join().unwrap()));
        for output in outputs {
            assert_eq!(output.status.code(), Some(0), "{}", run::text(&output.stderr));
            assert_eq!(run::text(&output.stdout), good);
        }
    }
}

#[test]
fn another_option_or_another_content_makes_them_anew_without_a_word() {
    let traced = TracedProgram::trace(&Program::new("recursion.c"));
    traced.text("report", &[]);
    let time = made(&traced);
    let output = traced.ada("spans", &["--timeout", "1us", "--reason", "timeout", "--limit", "1"]);
    assert!(output.stderr.is_empty() && output.stdout.starts_with(b"span"), "{}", run::text(&output.stdout));
    assert_ne!(made(&traced), time);
    let time = made(&traced);
    let manifest = traced.derived().with_file_name("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replacen('{', "{ ", 1)).unwrap();
    traced.text("report", &["--timeout", "1us"]);
    assert_ne!(made(&traced), time);
}

#[test]
fn damaged_tables_are_made_anew_with_a_word() {
    let traced = TracedProgram::trace(&Program::new("recursion.c"));
    let good = traced.text("spans", &["--limit", "20"]);
    for (name, at) in [("meta.bin", 100), ("spans_0.bin", 50)] {
        let path = traced.derived().join(name);
        let mut bytes = fs::read(&path).unwrap();
        bytes[at] ^= 1;
        fs::write(&path, bytes).unwrap();
        let output = traced.ada("spans", &["--limit", "20"]);
        assert_eq!(run::text(&output.stdout), good, "{name}");
        assert_eq!(run::text(&output.stderr).matches("damaged").count(), 1, "{name}: {}", run::text(&output.stderr));
        assert!(traced.ada("spans", &["--limit", "20"]).stderr.is_empty(), "once is enough");
    }
    fs::remove_file(traced.derived().join("late_0.bin")).unwrap();
    assert_eq!(traced.text("spans", &["--limit", "20"]), good);
}

/// What was printed before the damage was found is not printed twice, and nothing is missing.
#[test]
fn damage_far_into_the_tables_does_not_break_lists_off() {
    let traced = TracedProgram::trace(&Program::new("recursion.c"));
    for options in [["--limit", "0", "--format", "json"], ["--limit", "0", "--format", "csv"]] {
        let good = traced.text("spans", &options);
        let path = traced.derived().join("spans_0.bin");
        let mut bytes = fs::read(&path).unwrap();
        let last = bytes.len() - 100;
        bytes[last] ^= 1;
        fs::write(&path, bytes).unwrap();
        let output = traced.ada("spans", &options);
        assert_eq!(output.status.code(), Some(0), "{}", run::text(&output.stderr));
        assert!(run::text(&output.stdout) == good, "{options:?}");
        assert_eq!(run::text(&output.stderr).matches("damaged").count(), 1);
    }
}

/// A query may have printed rows by then: it ends, and the next one has whole tables.
#[test]
fn questions_and_queries_have_whole_tables_at_the_second_try_at_the_latest() {
    let traced = TracedProgram::trace(&Program::new("recursion.c"));
    let damage = || {
        traced.text("report", &[]);
        let path = traced.derived().join("spans_0.bin");
        let mut bytes = fs::read(&path).unwrap();
        bytes[50] ^= 1;
        fs::write(&path, bytes).unwrap();
    };
    damage();
    let asked = traced.ada("ask", &["findings"]);
    assert_eq!(asked.status.code(), Some(0), "{}", run::text(&asked.stderr));
    assert_eq!(run::text(&asked.stderr).matches("damaged").count(), 1);
    damage();
    let query = || traced.ada("query", &["SELECT sum(self_ns) FROM spans"]);
    let first = query();
    assert_eq!(run::text(&first.stderr).lines().count(), 1, "{}", run::text(&first.stderr));
    assert!(run::text(&first.stderr).contains("the next command makes them anew"));
    assert_eq!(query().status.code(), Some(0));
}

#[test]
fn files_of_a_killed_analysis_are_removed() {
    let traced = TracedProgram::trace(&Program::new("recursion.c"));
    let left_over = traced.derived().with_file_name("derived.4194305");
    fs::create_dir(&left_over).unwrap();
    traced.text("report", &[]);
    assert!(!left_over.exists(), "no process has an id that large");
}

#[test]
fn an_unfinished_session_is_analysed_and_its_damage_reported() {
    let traced = TracedProgram::trace_with(&Program::new("recursion.c"), &["--store", "raw"]);
    let thread = fs::read_dir(traced.derived().parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.join("index.atf").exists())
        .expect("there is a thread");
    let index = thread.join("index.atf");
    let bytes = fs::read(&index).unwrap();
    fs::write(&index, &bytes[..bytes.len() - 64 - 32 * 100 - 7]).unwrap();
    let output = traced.ada("report", &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(run::text(&output.stderr).contains("index.atf"), "{}", run::text(&output.stderr));
    assert!(run::text(&output.stdout).contains("fib"));
}
