//! Other tools' files, checked by the rules of their formats; what they hold is what the session has.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};

use crate::program::Program;
use crate::python::{node_module, script};
use crate::run;
use crate::traced_program::TracedProgram;

/// A session with threads, registers, callbacks, and calls that end oddly.
pub(crate) fn pool() -> TracedProgram {
    TracedProgram::trace_with_registers(&Program::new("thread_pool.c").flags(&["-pthread"]))
}

pub(crate) fn export(traced: &TracedProgram, format: &str, options: &[&str]) -> (PathBuf, Output) {
    let file = traced.path().join(format!("exported.{format}{}", options.concat().replace(['/', '*'], "_")));
    let mut command = run::command();
    command.args(["export", "--to", format, "--output"]).arg(&file).arg(traced.path()).args(options);
    (file, run::bounded(command, b""))
}

fn checked(traced: &TracedProgram, format: &str, options: &[&str]) -> Value {
    let (file, output) = export(traced, format, options);
    assert!(output.status.success(), "{}", run::text(&output.stderr));
    let name = format!("check_{format}.py");
    let printed = match format {
        "speedscope" => {
            let schema = node_module("speedscope/dist/release/file-format-schema.json");
            script(&name, &[&file, &schema])
        }
        _ => script(&name, &[&file]),
    };
    serde_json::from_str(&printed).unwrap()
}

/// What ran on a thread that was made stands below it.
#[test]
fn callbacks_stand_below_their_thread() {
    let traced = pool();
    let output = traced.ada("tree", &["--logical", "--limit", "1000", "--format", "json"]);
    let tree: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut last_thread = None;
    let mut squares = 0;
    for node in tree["nodes"].as_array().unwrap() {
        let thread = node["span_id"].as_str().unwrap().split(':').nth(1).unwrap().to_owned();
        match node["runtime"].as_str() {
            Some("pthread") => last_thread = Some(thread),
            _ if node["name"] == "square" => {
                assert_eq!((node["level"].as_u64(), &last_thread), (Some(1), &Some(thread)), "{node:#}");
                squares += 1;
            }
            _ => (),
        }
    }
    assert_eq!(squares, 100);
}

pub(crate) fn count(traced: &TracedProgram, condition: &str) -> u64 {
    let sql = format!("SELECT count(*) AS n FROM spans WHERE {condition}");
    number(traced, &sql)
}

pub(crate) fn number(traced: &TracedProgram, sql: &str) -> u64 {
    let output = run::ada(["query", traced.path().to_str().unwrap(), sql, "--format", "json"]);
    assert!(output.status.success(), "{}", run::text(&output.stderr));
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    rows[0].as_object().unwrap().values().next().unwrap().as_u64().unwrap_or(0)
}

#[test]
fn perfetto_decodes_by_the_published_definitions() {
    let traced = pool();
    let found = checked(&traced, "perfetto", &[]);
    assert_eq!(found["slices"]["thread"], count(&traced, "type = 'frame'"));
    assert_eq!(found["slices"]["Threads"], count(&traced, "runtime = 'pthread'"));
    assert_eq!(found["slices"]["Callbacks"], count(&traced, "runtime = 'callback'"));
    // An arrow does not go back in time.
    let links = number(
        &traced,
        "SELECT count(*) AS n FROM links WHERE from_ns IS NOT NULL AND to_ns IS NOT NULL AND from_ns <= to_ns",
    );
    assert_eq!(found["flows"], links);
    // None where the kernel does not tell. A thread has run before its start routine, too.
    let runs = found["runs"].as_u64().unwrap();
    let known = number(&traced, "SELECT count(*) AS n FROM states WHERE state = 'running'");
    assert!(runs >= known && (runs == 0) == (known == 0), "{runs} and {known}");
    assert!(links >= 8, "four threads are made and joined");
    assert!(found["arguments"].as_u64().unwrap() > 1000, "registers are kept: {found}");
    let plain = "(status = 'completed' AND reason IS NULL AND is_uncertain = 0)";
    let odd = count(&traced, &format!("NOT {plain}"));
    let statuses: u64 = found["statuses"].as_object().unwrap().values().map(|it| it.as_u64().unwrap()).sum();
    assert_eq!(statuses, odd);
}

#[test]
fn chrome_events_are_of_the_schema_and_nest() {
    let traced = pool();
    let found = checked(&traced, "chrome", &[]);
    assert_eq!(found["calls"], count(&traced, "type = 'frame'"));
    assert_eq!(found["logical"], count(&traced, "type = 'logical'"));
    assert_eq!(found["total_ns"], number(&traced, "SELECT sum(duration_ns) FROM spans WHERE type = 'frame'"));
    assert!(found["arguments"].as_u64().unwrap() > 1000);
    for status in ["completed", "unmatched", "exited", "entry_only"] {
        let counted = count(&traced, &format!("type = 'frame' AND status = '{status}'"));
        assert_eq!(found["statuses"].get(status).and_then(Value::as_u64).unwrap_or(0), counted, "{status}");
    }
}

#[test]
fn firefox_profiles_have_every_opening_and_closing() {
    let traced = pool();
    let found = checked(&traced, "firefox", &[]);
    assert_eq!(found["samples"], 2 * count(&traced, "type = 'frame'"));
    assert_eq!(found["markers"]["AdaLogical"], count(&traced, "type = 'logical'"));
    // What has a stack is within an outermost call.
    let outermost =
        number(&traced, "SELECT sum(duration_ns) FROM spans WHERE type = 'frame' AND parent_span_id IS NULL");
    let weight = found["weight_ns"].as_u64().unwrap();
    assert!(weight.abs_diff(outermost) <= outermost / 1000, "{weight} of {outermost}");
    assert_eq!(
        found["statuses"]["unmatched"].as_u64().unwrap_or(0),
        count(&traced, "type = 'frame' AND status = 'unmatched'")
    );
}

#[test]
fn firefox_profiler_itself_loads_the_profile() {
    let traced = pool();
    let (file, output) = export(&traced, "firefox", &[]);
    assert!(output.status.success(), "{}", run::text(&output.stderr));
    let cli = node_module("@firefox-devtools/profiler-cli/dist/profiler-cli.js");
    let loaded: Value = serde_json::from_str(&script("load_firefox.py", &[&file, &cli])).unwrap();
    let threads = loaded["threads"].as_array().unwrap();
    let sum = |what: &str| threads.iter().map(|it| it[what].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("samples"), 2 * count(&traced, "type = 'frame'"));
    assert_eq!(threads.len() as u64, 1 + number(&traced, "SELECT count(DISTINCT thread_id) FROM spans"));
    let logical = threads.iter().find(|it| it["name"] == "logical spans").expect("logical spans have a thread");
    assert_eq!(logical["markers"], count(&traced, "type = 'logical'"));
    // What it makes of samples is the time that calls took, in milliseconds.
    for (thread, function) in [("main", "main"), ("worker", "square")] {
        let of = threads.iter().filter(|it| it["name"] == thread);
        // One of the workers may have had no work.
        let exported_ms: f64 = of.clone().filter_map(|it| it["functions"][function].as_f64()).sum();
        let sql = format!("SELECT sum(duration_ns) FROM spans WHERE type = 'frame' AND name = '{function}'");
        let expected = number(&traced, &sql) as f64 / 1e6;
        assert!((exported_ms - expected).abs() <= expected * 0.001, "{function}: {exported_ms} of {expected}");
        let libraries: Vec<&str> = of.filter_map(|it| it["library_of"][function].as_str()).collect();
        assert!(libraries.iter().all(|it| it.starts_with("thread_pool")) && !libraries.is_empty(), "{libraries:?}");
    }
}

#[test]
fn speedscope_files_are_of_its_schema() {
    let traced = pool();
    let found = checked(&traced, "speedscope", &[]);
    assert_eq!(found["calls"], count(&traced, "type = 'frame'"));
    assert_eq!(found["logical"], count(&traced, "type = 'logical'"));
    assert!(found["names"].as_array().unwrap().contains(&json!("worker")));
}

#[test]
fn folded_stacks_add_up_to_all_time() {
    let traced = pool();
    let (file, output) = export(&traced, "folded", &[]);
    assert!(output.status.success(), "{}", run::text(&output.stderr));
    let text = std::fs::read_to_string(file).unwrap();
    let sum: u64 = text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert_eq!(
        sum,
        number(&traced, "SELECT sum(duration_ns) FROM spans WHERE type = 'frame' AND parent_span_id IS NULL")
    );
    assert!(text.lines().any(|line| line.contains(";worker;square ")), "{text}");
}

/// By the published definitions, in the file and behind a real collector.
#[test]
fn otlp_is_what_collectors_take() {
    let traced = pool();
    let found = checked(&traced, "otlp", &[]);
    assert_eq!(found["spans"], count(&traced, "1"));
    assert_eq!(found["kinds"]["call"], count(&traced, "type = 'frame'"));
    assert_eq!(found["kinds"]["pthread"], count(&traced, "runtime = 'pthread'"));
    assert_eq!(found["names"]["square"], count(&traced, "name = 'square' AND type = 'frame'"));
    assert_eq!(found["traces"], 1);
    assert_eq!(found["services"][0][0], "thread_pool");
    assert!(found["values"]["ada.value.rdi"].as_u64().unwrap() > 0, "registers are values");
    // The wall clock, and not the trace's.
    assert!(found["start"].as_u64().unwrap() > 1_700_000_000_000_000_000, "{found}");
    // Threads hang below the calls that made them: what has no parent are the outermost calls of few threads.
    assert!(found["roots"].as_u64().unwrap() < count(&traced, "parent_span_id IS NULL"), "{found}");
    let sent: Value =
        serde_json::from_str(&script("otlp_collector.py", &[env!("CARGO_BIN_EXE_ada").as_ref(), traced.path()]))
            .unwrap();
    assert_eq!(sent["spans"], found["spans"], "{sent}");
    assert_eq!(sent["names"]["square"], count(&traced, "name = 'square'"));
}

/// A collector that is not there, that has too much to do, or that does not want the spans.
#[test]
fn what_a_collector_does_not_take_is_one_line() {
    let traced = pool();
    let export = |address: &str| {
        let mut command = run::command();
        command.args(["export", "--to", "otlp", "-o", address, "--function", "square"]).arg(traced.path());
        run::bounded(command, b"")
    };
    let answering = |answer: &'static str| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = [0; 4096];
            let asked = stream.read(&mut bytes).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8_lossy(&bytes[..asked]).into_owned()
        });
        (address, server)
    };
    let (address, server) = answering("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    let refused = export(&address);
    let request = server.join().unwrap();
    assert!(request.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{request}");
    // One span rejected, in ExportTraceServiceResponse's partial_success.
    let (address, server) = answering("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n\x0a\x07\x08\x01\x12\x03old");
    let rejected = export(&format!("{address}/other/path"));
    assert!(server.join().unwrap().starts_with("POST /other/path "));
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let nobody = export(&closed);
    for (output, words) in
        [(refused, "400 Bad Request"), (rejected, "rejected 1 spans: old"), (nobody, "Connection refused")]
    {
        let said = run::text(&output.stderr);
        assert_eq!((output.status.code(), said.lines().count()), (Some(4), 1), "{said}");
        assert!(said.contains("cannot send all to http://") && said.contains(words), "{said}");
    }
    let wrong = export("https://localhost");
    assert_eq!(wrong.status.code(), Some(2), "{}", run::text(&wrong.stderr));
}

/// Go's own pprof reads the file, and has the sums that SQL has.
#[test]
fn pprof_reads_calls_and_times() {
    let traced = pool();
    let (file, output) = export(&traced, "pprof", &[]);
    assert!(output.status.success(), "{}", run::text(&output.stderr));
    let sums = |kind: &str, unit: &str| -> Vec<(String, u64)> {
        let output = std::process::Command::new("go")
            .args(["tool", "pprof", "-top", "-nodecount=100000", "-nodefraction=0", "-edgefraction=0"])
            .args([format!("-sample_index={kind}"), format!("-unit={unit}")])
            .arg(&file)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", run::text(&output.stderr));
        let lines = run::text(&output.stdout).lines().skip_while(|line| !line.contains("flat%")).skip(1);
        lines
            .map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                let digits = words[0].trim_end_matches(|letter: char| letter.is_alphabetic());
                (words[5..].join(" "), digits.parse().unwrap_or_else(|_| panic!("{line}")))
            })
            .collect()
    };
    let (calls, times) = (sums("calls", "count"), sums("time", "ns"));
    let of = |sums: &[(String, u64)], name: &str| sums.iter().find(|it| it.0 == name).map(|it| it.1);
    for name in ["main", "worker", "square"] {
        let truth = |what: &str| Some(number(&traced, &format!("SELECT {what} FROM functions WHERE name = '{name}'")));
        assert_eq!(of(&calls, name), truth("calls"), "{name}");
        assert_eq!(of(&times, name), truth("self_ns"), "{name}");
    }
}

#[test]
fn filters_choose_what_is_exported() {
    let traced = pool();
    let main_thread = number(&traced, "SELECT thread_id FROM spans WHERE name = 'main' LIMIT 1").to_string();
    let middle = number(&traced, "SELECT (min(start_ns) + max(end_ns)) / 2 FROM spans").to_string();
    for (options, condition) in [
        (vec!["--function", "square"], "name = 'square'".to_owned()),
        (vec!["--thread", &main_thread], format!("thread_id = {main_thread}")),
        (vec!["--min-duration", "20us"], "duration_ns >= 20000".to_owned()),
        (vec!["--type", "logical"], "type = 'logical'".to_owned()),
        (vec!["--type", "frame"], "type = 'frame'".to_owned()),
        (vec!["--since", &format!("@{middle}")], format!("start_ns >= {middle}")),
        (vec!["--until", &format!("@{middle}")], format!("start_ns < {middle}")),
    ] {
        let expected = count(&traced, &condition);
        assert!(expected > 0, "{condition}");
        let chrome = checked(&traced, "chrome", &options);
        assert_eq!(chrome["calls"].as_u64().unwrap() + chrome["logical"].as_u64().unwrap(), expected, "{options:?}");
        let perfetto = checked(&traced, "perfetto", &options);
        let slices = perfetto["slices"].as_object().unwrap();
        assert_eq!(slices.values().map(|it| it.as_u64().unwrap()).sum::<u64>(), expected, "{options:?}");
    }
}

#[test]
fn calls_that_ended_oddly_are_exported_like_others() {
    for (program, options) in [
        (Program::new("exception.cpp"), &["--detail", "off"][..]),
        (Program::new("longjmp.c"), &[]),
        (Program::new("generated_caller.c"), &[]),
        (Program::new("fork_threads.c").flags(&["-pthread"]), &[]),
    ] {
        let traced = TracedProgram::trace_with(&program, options);
        let frames = count(&traced, "type = 'frame'");
        assert_eq!(checked(&traced, "chrome", &[])["calls"], frames, "{program:?}");
        assert_eq!(checked(&traced, "perfetto", &[])["slices"]["thread"], frames, "{program:?}");
        assert_eq!(checked(&traced, "speedscope", &[])["calls"], frames, "{program:?}");
        assert_eq!(checked(&traced, "firefox", &[])["samples"], 2 * frames, "{program:?}");
    }
}
