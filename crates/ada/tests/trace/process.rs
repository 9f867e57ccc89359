//! The process and its surroundings: exit codes, input, environment, children.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use super::program::Program;
use super::survival::wait_until;
use super::tracing::Tracing;
use crate::run::{self, Started, text};

#[test]
fn exit_codes_and_signals_pass_through() {
    for how in ["0", "1", "255", "-9", "-15", "-6", "-11"] {
        let traced = Tracing::new(&Program::new("end.c")).argument(how).check();
        let status = traced.output.status;
        assert_eq!(status.code().unwrap_or_else(|| -status.signal().unwrap()).to_string(), how);
        assert_eq!(traced.recorded.counts("end").calls, 1);
    }
}

#[test]
fn what_cannot_be_run_has_the_codes_that_shells_use() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    fs::write(&plain, "not a program").unwrap();
    let foreign = folder.path().join("foreign");
    let mut bytes = fs::read(Program::new("end.c").build()).unwrap();
    bytes[4] = 1; // ELFCLASS32
    fs::write(&foreign, bytes).unwrap();
    fs::set_permissions(&foreign, fs::Permissions::from_mode(0o755)).unwrap();
    let missing = folder.path().join("missing");
    for (program, code) in [(&plain, 126), (&foreign, 126), (&missing, 127)] {
        let mut command = run::command();
        command.args(["trace", "--output"]).arg(folder.path().join("sessions")).arg("--").arg(program);
        let output = run::bounded(command, b"");
        assert_eq!(output.status.code(), Some(code), "{}: {}", program.display(), text(&output.stderr));
        assert_eq!(text(&output.stderr).lines().count(), 1, "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains(program.to_str().unwrap()), "{}", text(&output.stderr));
    }
}

#[test]
fn a_start_up_that_takes_too_long_ends_the_program_before_it_runs() {
    let tracing = Tracing::new(&Program::new("recursion.c")).option(&["--startup-timeout", "0ms"]);
    let output = run::bounded(tracing.command(), b"");
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(124), ""));
    assert!(text(&output.stderr).contains("--startup-timeout"), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr).lines().count(), 1);
}

/// Hooking it takes long, and meanwhile nobody waits for it.
#[test]
fn a_start_that_is_cancelled_ends_the_program_before_it_runs() {
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let folder = tempfile::tempdir().unwrap();
        let (cache, sessions) = (folder.path().join("cache"), folder.path().join("sessions"));
        let mut command = run::command_that_signals_end();
        command.env("ADA_CACHE", &cache).env("XDG_CACHE_HOME", &cache);
        command.args(["trace", "--output"]).arg(&sessions).args(["--", "node", "-e", "console.log('ran')"]);
        let started = Started::new(command, b"");
        let id = started.id();
        let children = format!("/proc/{id}/task/{id}/children");
        wait_until("the program", || fs::read_to_string(&children).is_ok_and(|children| !children.is_empty()));
        assert!(Command::new("kill").args(["-s", signal, &id.to_string()]).status().unwrap().success());
        let output = started.finish();
        // By the signal, so that a shell ends its script too.
        assert_eq!(output.status.signal(), Some(number), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout), "");
        assert_eq!(text(&output.stderr), "ada: cancelled before the program ran\n");
        assert!(!sessions.exists());
    }
}

#[test]
fn an_output_that_cannot_be_written_is_said_before_the_program_runs() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut command = run::command();
    command.args(["trace", "--output"]).arg(file.path()).arg("--").arg(Program::new("recursion.c").build());
    let output = run::bounded(command, b"");
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(125), ""));
    assert_eq!(text(&output.stderr).lines().count(), 1, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains(file.path().to_str().unwrap()), "{}", text(&output.stderr));
}

#[test]
fn input_environment_and_everything_else_arrive_untouched() {
    let input: Vec<u8> = (0..100_000_u32).flat_map(|number| number.to_string().into_bytes()).collect();
    let tracing = Tracing::new(&Program::new("surroundings.c"))
        .argument("--output")
        .argument("a b")
        .argument("--")
        .environment("ADA_TEST", "tab\there")
        .input(&input);
    let traced = tracing.check();
    let printed = text(&traced.output.stdout);
    assert!(printed.contains("argument a b") && printed.contains("environment ADA_TEST=tab\there"));
    assert!(printed.ends_with("99999"));
}

#[test]
fn children_of_fork_have_their_own_folder_and_exit_code() {
    let traced = Tracing::new(&Program::new("fork.c")).check();
    let recorded = &traced.recorded;
    assert_eq!(recorded.processes.len(), 6);
    recorded.assert_balanced("in_child", 5);
    recorded.assert_balanced("in_parent", 5);
    let with_child: Vec<u64> = recorded.processes.iter().map(|process| process.counts("in_child").calls).collect();
    let parent = recorded.processes.iter().position(|process| process.counts("main").calls == 1).unwrap();
    for (number, &calls) in with_child.iter().enumerate() {
        assert_eq!(calls, u64::from(number != parent), "{with_child:?}");
    }
    assert_eq!(traced.output.status.code(), Some(6));
}

#[test]
fn the_session_of_a_child_has_its_own_names() {
    let tracing = Tracing::new(&Program::new("fork.c"));
    assert_eq!(run::bounded(tracing.command(), b"").status.code(), Some(6));
    let session = tracing.session();
    for process in fs::read_dir(&session).unwrap().map(|entry| entry.unwrap().path()) {
        let lists = fs::read_dir(&process).unwrap().map(|entry| entry.unwrap().file_name());
        let lists = lists.filter(|name| name.to_string_lossy().starts_with("functions_")).count();
        assert!(lists >= 3, "{lists} lists in {}", process.display());
    }
}

#[test]
fn a_fork_of_a_busy_program_has_the_forking_thread_only() {
    let traced = Tracing::new(&Program::new("fork_threads.c")).check();
    let recorded = &traced.recorded;
    assert_eq!(recorded.processes.len(), 21);
    recorded.assert_balanced("in_child", 20);
    for process in &recorded.processes {
        let is_parent = process.counts("main").calls == 1;
        assert_eq!(process.threads.len(), if is_parent { 5 } else { 1 });
        let work = process.counts("work");
        assert!(is_parent || (work.calls, work.returns) == (2, 2), "{work:?}");
    }
}

#[test]
fn children_of_vfork_and_posix_spawn_run_and_their_parent_goes_on() {
    let traced = Tracing::new(&Program::new("spawn.c")).check_output();
    assert_eq!(text(&traced.output.stdout), "hello\n3 9 4 0 5\n");
    let recorded = &traced.recorded;
    for name in ["by_vfork", "by_vfork_exec", "by_spawn", "by_popen", "main"] {
        let counts = recorded.counts(name);
        assert_eq!((counts.calls, counts.returns, counts.unwound), (1, 1, 0), "{name}");
    }
}

#[test]
fn programs_that_share_too_little_memory_for_their_detail_run_on() {
    let program = Program::new("wide_frames.c").build();
    let line = format!("for i in 1 2 3 4 5 6 7 8; do {0} & done; wait", program.display());
    let tracing = Tracing::of(std::path::Path::new("/bin/sh")).argument("-c").argument(line);
    // Four pieces, and eight programs that want three each.
    let output = run::bounded(tracing.option(&["--ring-memory", "1M"]).command(), b"");
    assert_eq!(text(&output.stdout), "10504000\n".repeat(8), "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(0));
}

/// Each child has called `work` as often as its number says, and waited until all were there.
fn check_many_alive(count: u64, options: &[&str]) {
    let program = Program::new("many_alive.c");
    let traced = Tracing::new(&program).option(options).argument(count.to_string()).check();
    assert_eq!(text(&traced.output.stdout), format!("{count}\n"));
    let recorded = &traced.recorded;
    recorded.assert_no_drops();
    assert_eq!(recorded.processes.len() as u64, count + 1);
    let counts = recorded.processes.iter().map(|process| process.counts("work"));
    assert!(counts.clone().all(|counts| counts.returns == counts.calls));
    let mut calls: Vec<u64> = counts.map(|counts| counts.calls).collect();
    calls.sort_unstable();
    let mut expected: Vec<u64> = (0..count).map(|number| 100 + number % 7 + 10).chain([0]).collect();
    expected.sort_unstable();
    assert_eq!(calls, expected);
}

/// More than there are pieces of the rings.
#[test]
fn four_hundred_processes_alive_at_once_lose_no_call() {
    check_many_alive(400, &[]);
}

#[test]
fn processes_that_share_very_little_memory_lose_no_call() {
    check_many_alive(40, &["--ring-memory", "1M"]);
}
