//! The page, used in Chromium as a person would.

use std::path::{Path, PathBuf};

use ada_testkit::heph::event;

use crate::exports::pool;
use crate::program::Program;
use crate::python::script;
use crate::served::Served;
use crate::toolchain::{Build, build, in_swift};
use crate::{run, traced_program};

/// Where pictures of the page are kept: with the build, so that each run leaves its own.
pub(crate) fn pictures(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("page").join(name)
}

#[test]
fn a_person_can_use_every_part_of_the_page() {
    let traced = pool();
    let served = Served::new(traced.path());
    let said = script("view_page.py", &[Path::new(&served.url), &pictures("pool")]);
    assert!(said.contains("the page does what it should"), "{said}");
}

#[test]
fn rows_with_more_calls_than_shapes_are_strips() {
    const STREAMS: u32 = 40;
    const EVENTS: u32 = 3000;
    // One a microsecond; view_dense.py knows the rule.
    let one = |stream: u32, number: u32| {
        let (start, took) =
            (u64::from(number) * 1000, 100 + (u64::from(number) * 7919 + u64::from(stream) * 104_729) % 800);
        event((stream, number, 0), (start, start + took), &format!("{stream}.{number}"), &[])
    };
    let bytes: Vec<u8> = (0..STREAMS).flat_map(|stream| (0..EVENTS).flat_map(move |it| one(stream, it))).collect();
    let traced = crate::heph::import(&bytes);
    let served = Served::new(traced.path());
    let numbers = [STREAMS.to_string(), EVENTS.to_string()];
    let arguments = [Path::new(&served.url), &pictures("dense"), Path::new(&numbers[0]), Path::new(&numbers[1])];
    let said = script("view_dense.py", &arguments);
    assert!(said.contains("dense rows are strips"), "{said}");
}

#[test]
fn tasks_and_queues_of_a_swift_program_are_seen() {
    let program = build("bridge.swift", Build::Release);
    let folder = tempfile::tempdir().unwrap();
    let mut traced = in_swift();
    traced.args(["ada", "trace", "--quiet", "--output"]).arg(folder.path()).arg("--").arg(&program);
    let traced = run::bounded(traced, b"");
    assert_eq!(traced.status.code(), Some(0), "{}", run::text(&traced.stderr));
    let traced = traced_program::TracedProgram::from_folder(folder, "bridge");
    let served = Served::new(traced.path());
    let said = script("view_tasks.py", &[Path::new(&served.url), &pictures("tasks")]);
    assert!(said.contains("tasks and queues are seen"), "{said}");
}

#[test]
fn waits_lead_to_those_who_held_the_lock() {
    let program = Program::new("wait_convoy.c").flags(&["-pthread"]);
    let traced = traced_program::TracedProgram::trace_running(&program, &[], &["2", "60", "1000", "together"]);
    let served = Served::new(traced.path());
    let said = script("view_waits.py", &[Path::new(&served.url), &pictures("waits")]);
    assert!(said.contains("waits are seen"), "{said}");
}

fn crew() -> Program {
    Program::new("named_crew.c").flags(&["-pthread", "-g"])
}

#[test]
fn the_first_look_tells_which_thread_crashed_and_in_which_call() {
    let traced = traced_program::TracedProgram::trace_running(&crew(), &[], &["crash"]);
    let served = Served::new(traced.path());
    let said = script("view_first_look.py", &[Path::new(&served.url), &pictures("first_look")]);
    assert!(said.contains("the first look tells who and where"), "{said}");
}

#[test]
fn the_page_opens_on_the_programs_own_functions() {
    let traced = traced_program::TracedProgram::trace(&crew());
    let served = Served::plain(traced.path());
    let said = script("view_lens.py", &[Path::new(&served.url), &pictures("lens")]);
    assert!(said.contains("the lens shows what it should"), "{said}");
}

#[test]
fn two_runs_are_seen_beside_each_other() {
    let good = Program::new("regress_slower.c").flags(&["-pthread"]);
    let bad = good.clone().flags(&["-DBAD"]);
    let [good, bad] = [good, bad].map(|it| traced_program::TracedProgram::trace(&it));
    let mut command = run::command();
    command.args(["diff", "--view", "--no-open"]).arg(good.path()).arg(bad.path());
    let served = Served::by(command);
    let said = script("view_compare.py", &[Path::new(&served.url), &pictures("compare"), Path::new("checksum")]);
    assert!(said.contains("both runs are seen"), "{said}");
}

#[test]
fn tracks_and_panel_are_where_people_put_them() {
    let traced = traced_program::TracedProgram::trace(&crew());
    let (served, other) = (Served::new(traced.path()), Served::new(traced.path()));
    assert_ne!(served.port, other.port);
    let said = script("view_tracks.py", &[Path::new(&served.url), &pictures("tracks"), Path::new(&other.url)]);
    assert!(said.contains("tracks and panel are where they were put"), "{said}");
}

#[test]
fn functions_have_pages_and_sessions_have_notes() {
    let traced = traced_program::TracedProgram::trace(&crew());
    let served = Served::new(traced.path());
    let said = script("view_function.py", &[Path::new(&served.url), &pictures("function")]);
    assert!(said.contains("functions, notes and exports are there"), "{said}");
}
