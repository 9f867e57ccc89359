//! Debug information that is fetched from a server, where the user has named one.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::asked::rows;
use crate::debug_server::{DebugServer, free_address, split};
use crate::program::Program;
use crate::run;
use crate::traced_program::TracedProgram;

const FLAGS: [&str; 3] = ["-O1", "-g", "-Wl,--build-id"];

/// A program without names or types, and a server that has them.
struct Served {
    server: DebugServer,
    build_id: String,
    program: PathBuf,
    folder: TempDir,
}

/// What the program's functions were called with, by the source.
const CALLS: [&str; 3] = ["leaf(3) = 3", "leaf(4) = 7", "middle(3) = 10"];

impl Served {
    fn new() -> Self {
        let (folder, debug_files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let whole = Program::new("lines.c").flags(&FLAGS).build();
        let (program, build_id) = split(&whole, debug_files.path(), folder.path());
        Self { server: DebugServer::start(debug_files, &[&build_id]), build_id, program, folder }
    }

    /// What has been fetched, or asked for in vain, by build-ids.
    fn asked_for(&self) -> Vec<String> {
        let entries = fs::read_dir(self.cache()).into_iter().flatten().flatten();
        let names = entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name());
        names.map(|name| name.to_string_lossy().into_owned()).collect()
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    /// ada, with these servers.
    fn ada(&self, servers: &str) -> Command {
        let mut ada = run::command();
        ada.env("DEBUGINFOD_URLS", servers).env("DEBUGINFOD_CACHE_PATH", self.cache());
        ada
    }

    /// Traces the program, and gives what ada has said, too.
    fn trace(&self, servers: &str, options: &[&str]) -> (TracedProgram, String) {
        let folder = tempfile::tempdir().unwrap();
        let mut ada = self.ada(servers);
        ada.args(["trace", "--output"]).arg(folder.path()).args(options).arg("--").arg(&self.program);
        let Output { status, stderr, .. } = run::bounded(ada, b"");
        assert_eq!(status.code(), Some(0), "{}", run::text(&stderr));
        (TracedProgram::from_folder(folder, "lines"), run::text(&stderr).to_owned())
    }

    /// What a command prints of a session, as JSON.
    fn json(&self, traced: &TracedProgram, servers: &str, command: &str) -> Value {
        let mut ada = self.ada(servers);
        ada.args([command]).arg(traced.path()).args(["--format", "json", "--module", "lines", "--limit", "0"]);
        let output = run::bounded(ada, b"");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", run::text(&output.stderr)))
    }
}

fn calls(traced: &TracedProgram) -> Vec<String> {
    let asked = "SELECT call FROM spans WHERE call IS NOT NULL AND name IN ('leaf', 'middle') ORDER BY call";
    rows(traced, asked).iter().map(|row| row["call"].as_str().unwrap().to_owned()).collect()
}

fn calls_by_program(traced: &TracedProgram) -> i64 {
    let asked = "SELECT count(*) AS calls FROM spans s JOIN functions f ON f.function_id = s.function_id \
                 WHERE s.type = 'frame' AND f.module LIKE '%lines'";
    rows(traced, asked)[0]["calls"].as_i64().unwrap()
}

#[test]
fn a_stripped_program_whose_values_are_wanted_gets_its_types_and_names() {
    let served = Served::new();
    for patterns in ["own", "leaf,middle", "mid*,lea?"] {
        let (traced, said) = served.trace(&served.server.url(), &["--args", patterns]);
        assert_eq!(calls(&traced), CALLS, "{patterns}: {said}");
        // Nobody has asked for values of libraries.
        assert_eq!(served.asked_for(), std::slice::from_ref(&served.build_id), "{patterns}");
        assert!(!said.contains("debug"), "{said}");
    }
}

#[test]
fn nobody_is_asked_unless_the_user_has_named_servers_and_wants_values() {
    let served = Served::new();
    for (servers, options) in [
        ("", &["--args", "own"][..]),
        ("  ", &["--args", "own"]),
        (&served.server.url(), &[]),
        (&served.server.url(), &["--args", "none"]),
        (&served.server.url(), &["--args", "read,open"]),
    ] {
        let (traced, said) = served.trace(servers, options);
        assert_eq!((calls(&traced).len(), served.asked_for().len()), (0, 0), "{servers} {options:?}: {said}");
        assert!(!said.contains("debug"), "{said}");
    }
}

#[test]
fn libraries_that_are_loaded_later_get_their_types_too() {
    let (folder, debug_files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let plugin = Program::new("plugin.c").flags(&["-g", "-shared", "-fPIC", "-Wl,--build-id"]).build();
    let (plugin, build_id) = split(&plugin, debug_files.path(), folder.path());
    let served = Served { server: DebugServer::start(debug_files, &[&build_id]), build_id, program: plugin, folder };
    let session = tempfile::tempdir().unwrap();
    let mut ada = served.ada(&served.server.url());
    ada.args(["trace", "--quiet", "--args", "plugin_work", "--output"]).arg(session.path()).arg("--");
    ada.arg(Program::new("dlopen.c").build()).arg(&served.program);
    assert_eq!(run::bounded(ada, b"").status.code(), Some(0));
    let traced = TracedProgram::from_folder(session, "dlopen");
    let found = rows(&traced, "SELECT call FROM spans WHERE name = 'plugin_work' AND call IS NOT NULL");
    assert_eq!(found.len(), 10, "{found:?}");
}

#[test]
fn lines_and_names_of_a_session_come_from_the_server_too() {
    let served = Served::new();
    let url = served.server.url();
    let (traced, _) = served.trace("", &[]);
    let lines = |servers: &str| {
        let spans = served.json(&traced, servers, "spans");
        let spans = spans["spans"].as_array().unwrap().clone();
        let is_in_source = |span: &&Value| span["file"].as_str().is_some_and(|file| file.ends_with("lines.c"));
        let mut lines: Vec<u64> = spans.iter().filter(is_in_source).map(|it| it["line"].as_u64().unwrap()).collect();
        lines.sort_unstable();
        lines
    };
    assert!(lines("").is_empty() && served.asked_for().is_empty());
    assert_eq!(lines(&url), [4, 4, 11, 17]);
    assert_eq!(served.asked_for(), std::slice::from_ref(&served.build_id));

    let mut ada = served.ada(&url);
    ada.arg("symbols").arg(traced.path());
    let output = run::bounded(ada, b"");
    assert_eq!(output.status.code(), Some(0), "{}", run::text(&output.stderr));
    let line = run::text(&output.stdout).lines().find(|line| line.contains("/lines: ")).unwrap();
    assert!(line.contains(" names gained, ") && !line.contains("/lines: 0 names"), "{line}");
    assert_eq!(rows(&traced, "SELECT 1 FROM spans WHERE name IN ('leaf', 'middle')").len(), 3);
}

#[test]
fn symbols_says_what_it_has_found_nowhere() {
    let served = Served::new();
    let (traced, _) = served.trace("", &[]);
    for (servers, words) in [
        (String::new(), ""),
        (format!("http://{}", free_address()), "ada: no debug information by debuginfod: Connection refused\n"),
    ] {
        let mut ada = served.ada(&servers);
        ada.arg("symbols").arg(traced.path());
        let output = run::bounded(ada, b"");
        // Debian has symbols of the C library on this machine.
        assert_eq!((output.status.code(), run::text(&output.stderr)), (Some(0), words));
        let said = run::text(&output.stdout);
        assert!(said.contains("/lines: 0 names gained: no file with its build-id\n"), "{said}");
    }
}

#[test]
fn a_server_that_is_gone_costs_one_line_and_the_values() {
    let served = Served::new();
    let (before, _) = served.trace("", &[]);
    let (traced, said) = served.trace(&format!("http://{}", free_address()), &["--args", "own"]);
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("debuginfod")).collect();
    assert_eq!(lines, ["ada: no debug information by debuginfod: Connection refused"], "{said}");
    assert_eq!((calls(&traced).len(), calls_by_program(&traced)), (0, calls_by_program(&before)));
}

#[test]
fn what_a_server_does_not_have_is_said_at_the_end() {
    let mut served = Served::new();
    let whole = Program::new("lines.c").flags(&["-O1", "-g", "-Wl,--build-id=0x0102030405060708"]).build();
    served.program = split(&whole, &served.folder.path().join(""), served.folder.path()).0;
    let (traced, said) = served.trace(&served.server.url(), &["--args", "own"]);
    let program = served.program.display();
    assert!(said.contains(&format!("ada: no server of DEBUGINFOD_URLS has debug information of {program}")), "{said}");
    assert!(calls(&traced).is_empty() && calls_by_program(&traced) > 0);
}

#[test]
fn without_elfutils_client_one_line_says_so() {
    let served = Served::new();
    let folder = tempfile::tempdir().unwrap();
    let mut ada = served.ada(&served.server.url());
    ada.env("PATH", folder.path()).args(["trace", "--args", "own", "--output"]).arg(folder.path()).arg("--");
    ada.arg(&served.program);
    let output = run::bounded(ada, b"");
    assert_eq!(output.status.code(), Some(0));
    let said = run::text(&output.stderr);
    assert_eq!(said.lines().filter(|line| line.contains("debuginfod-find is not installed")).count(), 1, "{said}");
}

/// Puts other bytes where the server has a debug file, behind its back: it looks at the time of files.
fn replace(served: &Served, bytes: &[u8]) {
    let path = served.server.folder().join("lines.debug");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, bytes).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
}

#[test]
fn a_server_that_gives_something_else_is_not_believed() {
    let other = fs::read(Program::new("recursion.c").flags(&FLAGS).build()).unwrap();
    let (right, wrong) = ("it belongs to another file", "it is damaged");
    for (bytes, words) in [(other.as_slice(), right), (&other[..200], wrong), (b"no such file\n", wrong)] {
        let served = Served::new();
        replace(&served, bytes);
        let (traced, said) = served.trace(&served.server.url(), &["--args", "own"]);
        let program = served.program.display();
        let line = format!("ada: the debug file that debuginfod has for {program} is not used: {words}");
        assert_eq!(said.lines().filter(|it| it.contains("debuginfod")).collect::<Vec<_>>(), [line], "{said}");
        assert!(calls(&traced).is_empty() && calls_by_program(&traced) > 0);
        let spans = served.json(&traced, &served.server.url(), "spans");
        assert!(spans["spans"].as_array().unwrap().iter().all(|span| span["file"].is_null()), "{spans}");
    }
}

/// With the right build-id and nonsense behind it.
#[test]
fn a_damaged_debug_file_costs_what_it_would_have_said() {
    let served = Served::new();
    let mut bytes = fs::read(served.server.folder().join("lines.debug")).unwrap();
    let id: Vec<u8> = ada_image::build_id(std::io::Cursor::new(&bytes)).unwrap();
    let after_id = bytes.windows(id.len()).position(|it| it == id).unwrap() + id.len();
    // Up to the section headers, by which the note is found.
    let headers = usize::try_from(u64::from_le_bytes(bytes[0x28..0x30].try_into().unwrap())).unwrap();
    bytes[after_id..headers - 400].iter_mut().step_by(3).for_each(|byte| *byte ^= 0x55);
    replace(&served, &bytes);
    let (traced, said) = served.trace(&served.server.url(), &["--args", "own"]);
    assert!(!said.contains("panicked") && calls_by_program(&traced) > 0, "{said}");
}

/// A server that takes connections and never answers, and what has come by then.
fn cancelled_while_waiting(served: &Served, cancel: impl FnOnce(u32)) -> Output {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let session = tempfile::tempdir().unwrap();
    let mut ada = run::command_that_signals_end();
    ada.env("DEBUGINFOD_URLS", format!("http://{}", silent.local_addr().unwrap()));
    ada.env("DEBUGINFOD_CACHE_PATH", served.cache());
    ada.args(["trace", "--args", "own", "--output"]).arg(session.path()).arg("--").arg(&served.program);
    let started = run::Started::new(ada, b"");
    let (mut connection, _) = silent.accept().unwrap();
    // The line comes after a second.
    std::thread::sleep(std::time::Duration::from_millis(2500));
    cancel(started.id());
    let output = started.finish();
    // Whoever asked is gone.
    let mut request = Vec::new();
    let _ = connection.read_to_end(&mut request);
    assert!(request.starts_with(b"GET /buildid/"), "{request:?}");
    assert_eq!(fs::read_dir(session.path()).unwrap().count(), 0, "the program has not run");
    output
}

fn signal(signal: &str, whom: &str) {
    assert!(Command::new("kill").args([signal, "--", whom]).status().unwrap().success());
}

#[test]
fn an_interrupt_ends_the_wait_for_a_silent_server() {
    let served = Served::new();
    // As the terminal does it.
    let output = cancelled_while_waiting(&served, |ada| signal("-INT", &format!("-{ada}")));
    assert_eq!(output.status.signal(), Some(2), "{output:?}");
    let waiting = format!("ada: waiting for debug information of {} by debuginfod", served.program.display());
    assert!(run::text(&output.stderr).contains(&waiting), "{}", run::text(&output.stderr));
    // ada alone is killed, and has no time for anybody.
    cancelled_while_waiting(&served, |ada| signal("-KILL", &ada.to_string()));
}

#[test]
fn the_environment_of_the_target_counts_for_nothing() {
    let served = Served::new();
    let program = Program::new("until_told.c").flags(&["-g", "-Wl,--build-id"]).build();
    let debug_files = tempfile::tempdir().unwrap();
    let (program, _) = split(&program, debug_files.path(), served.folder.path());
    assert!(Path::new(&program).exists());
    let mut target = Command::new(&program);
    target.env("DEBUGINFOD_URLS", served.server.url()).env("DEBUGINFOD_CACHE_PATH", served.cache());
    let mut target = target.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let session = tempfile::tempdir().unwrap();
    let mut ada = served.ada("");
    ada.args(["attach", "--quiet", "--args", "own", "--duration", "100ms", "--output"]).arg(session.path());
    ada.arg(target.id().to_string());
    let output = run::bounded(ada, b"");
    target.kill().unwrap();
    target.wait().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", run::text(&output.stderr));
    assert!(served.asked_for().is_empty());
}
