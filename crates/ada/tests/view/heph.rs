//! Heph both ways: what is exported is read by our decoder and nests as the session does; what is imported is a session.

use std::collections::BTreeMap;

use ada_format::heph::{Framed, Interval, Packet, Packets, parents};
use ada_testkit::heph::{attribute, event, everything, metadata, string};
use serde_json::Value;

use crate::exports::{count, export, number, pool};
use crate::run;
use crate::traced_program::TracedProgram;

/// Events by stream and substream, in the order of their arrival.
type Streams = BTreeMap<(u32, u64), Vec<(Interval, String, Vec<(String, String)>)>>;

fn read(bytes: &[u8]) -> Streams {
    let mut streams = Streams::new();
    let mut counters: BTreeMap<u32, u32> = BTreeMap::new();
    for found in Packets::new(bytes) {
        let event = match found.expect("every packet is sound").packet {
            Packet::Event(event) => event,
            Packet::Metadata(metadata) => {
                assert!(metadata.epoch().is_some() && streams.is_empty(), "an epoch comes first, and nothing else");
                continue;
            }
        };
        let head = event.head;
        let next = counters.entry(head.stream.0).or_default();
        assert_eq!(head.counter.0, *next, "a stream's events are counted");
        *next += 1;
        let attributes = event.attributes.iter().map(|it| (it.name.to_owned(), format!("{:?}", it.value))).collect();
        let interval = Interval { start: head.start, end: head.end };
        streams.entry((head.stream.0, head.substream.0)).or_default().push((
            interval,
            head.description.into(),
            attributes,
        ));
    }
    streams
}

/// The trace knows when its clock was 0, so that an event's wall clock is that of its time.
#[test]
fn exports_have_the_epoch_of_the_traces_clock() {
    let before = std::time::SystemTime::now();
    let traced = pool();
    let (file, _) = export(&traced, "heph", &["--type", "frame"]);
    let bytes = std::fs::read(file).unwrap();
    let mut packets = Packets::new(&bytes);
    let Some(Ok(Framed { packet: Packet::Metadata(first), .. })) = packets.next() else { panic!("an epoch is first") };
    let epoch = first.epoch().expect("it is the epoch").0;
    let Some(Ok(Framed { packet: Packet::Event(event), .. })) = packets.next() else { panic!("then come events") };
    let moment = std::time::UNIX_EPOCH + std::time::Duration::from_nanos(epoch + event.head.end.0);
    // Clocks are set now and then, and by less than this.
    let slack = std::time::Duration::from_secs(1);
    assert!(before - slack <= moment && moment <= std::time::SystemTime::now() + slack, "{moment:?}");
}

#[test]
fn callers_are_found_by_containment() {
    let traced = pool();
    let (file, output) = export(&traced, "heph", &["--type", "frame"]);
    assert!(output.status.success(), "{}", run::text(&output.stderr));
    let streams = read(&std::fs::read(file).unwrap());
    let events: usize = streams.values().map(Vec::len).sum();
    assert_eq!(events as u64, count(&traced, "type = 'frame'"));
    assert_eq!(
        streams.len() as u64,
        number(&traced, "SELECT count(DISTINCT thread_id) FROM spans WHERE type = 'frame'")
    );
    let mut squares = 0;
    for events in streams.values() {
        let intervals: Vec<Interval> = events.iter().map(|(interval, ..)| *interval).collect();
        for ((_, name, attributes), parent) in events.iter().zip(parents(&intervals)) {
            assert!(attributes.iter().any(|(name, _)| name == "status"));
            if name == "square" {
                squares += 1;
                let caller = parent.map(|it| events[it].1.as_str());
                assert_eq!(caller, Some("worker"));
                assert!(attributes.iter().any(|(name, _)| name == "rdi"), "{attributes:?}");
            }
        }
    }
    assert_eq!(squares, 100);
}

#[test]
fn logical_spans_say_what_made_them() {
    let traced = pool();
    let (file, _) = export(&traced, "heph", &[]);
    let streams = read(&std::fs::read(file).unwrap());
    let is_logical = |attributes: &[(String, String)]| attributes.iter().any(|(name, _)| name == "span_id");
    let all: Vec<_> = streams.values().flatten().filter(|(_, _, attributes)| is_logical(attributes)).collect();
    assert_eq!(all.len() as u64, count(&traced, "type = 'logical'"));
    let workers: Vec<_> = all.iter().filter(|(_, name, _)| name == "worker").collect();
    assert_eq!(workers.len(), 4);
    for (_, _, attributes) in workers {
        let made = attributes.iter().find(|(name, _)| name == "create_by").expect("somebody made the thread");
        assert!(made.1.contains("frame:"), "{made:?}");
    }
}

pub(crate) fn import(bytes: &[u8]) -> TracedProgram {
    let folder = tempfile::tempdir().unwrap();
    let mut command = run::command();
    command.args(["import", "heph", "-", "--output"]).arg(folder.path());
    let output = run::bounded(command, bytes);
    assert!(output.status.success(), "{}", run::text(&output.stderr));
    TracedProgram::from_folder(folder, "heph")
}

#[test]
fn an_exported_session_comes_back_with_the_same_calls() {
    let traced = pool();
    let (file, _) = export(&traced, "heph", &["--type", "frame"]);
    let back = import(&std::fs::read(file).unwrap());
    let by_name = |traced: &TracedProgram| -> Value {
        let sql =
            "SELECT name, count(*) AS n, sum(duration_ns) AS t FROM spans WHERE type = 'frame' GROUP BY 1 ORDER BY 1";
        let output = run::ada(["query", traced.path().to_str().unwrap(), sql, "--format", "json"]);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    assert_eq!(by_name(&back), by_name(&traced));
    // Zero-length calls at one moment have no order that Heph could keep; the others have the callers that they had.
    let callers = |traced: &TracedProgram| {
        let sql = "SELECT count(*) AS n FROM spans s JOIN spans p ON p.span_id = s.parent_span_id \
                   WHERE s.name = 'square' AND p.name = 'worker'";
        number(traced, sql)
    };
    assert_eq!((callers(&back), callers(&traced)), (100, 100));
    let square = &back.spans(&["--function", "square"])[0];
    let shown = back.json("show", &[square["span_id"].as_str().unwrap()]);
    assert!(shown["opened_by"]["detail"]["rdi"].is_u64(), "{shown:#}");
    back.text("report", &[]);
    back.text("tree", &[]);
}

#[test]
fn events_that_overlap_and_substreams_get_threads_of_their_own() {
    let bytes = [
        event((7, 0, 0), (10, 20), "inner", &[]),
        event((7, 1, 0), (15, 25), "overlapping", &[]),
        event((7, 2, 0), (5, 30), "outer", &[]),
        event((7, 3, 3), (6, 9), "task", &[]),
        event((0, 0, 0), (1, 2), "zero", &[]),
    ]
    .concat();
    let back = import(&bytes);
    let spans = back.spans(&["--type", "frame"]);
    let of =
        |name: &str| spans.iter().find(|span| span["name"] == name).unwrap_or_else(|| panic!("{name}: {spans:#?}"));
    assert_eq!(spans.len(), 5);
    assert_eq!(of("inner")["parent_span_id"], of("outer")["span_id"]);
    assert_eq!(of("overlapping")["parent_span_id"], Value::Null);
    assert_eq!((&of("overlapping")["start_ns"], &of("overlapping")["end_ns"]), (&15.into(), &25.into()));
    assert_eq!(of("outer")["thread_id"], 7);
    let threads: std::collections::BTreeSet<u64> = spans.iter().map(|it| it["thread_id"].as_u64().unwrap()).collect();
    assert_eq!(threads.len(), 4);
    assert_eq!(of("zero")["thread_id"], 0);
    assert!(spans.iter().all(|span| span["status"] == "completed"), "{spans:#?}");
}

#[test]
fn imported_events_are_distinguished_from_recorded_calls() {
    let traced = import(&event((7, 0, 0), (10, 20), "request", &[]));
    assert_eq!(traced.spans(&["--runtime", "heph"])[0]["runtime"], "heph");
    assert_eq!(traced.spans(&["--runtime", "sync"]).len(), 0);
    assert_eq!(count(&traced, "runtime = 'heph' AND name = 'request'"), 1);
    let grouped =
        "SELECT count(*) AS n FROM (SELECT runtime, count(*) FROM spans GROUP BY runtime) WHERE runtime = 'heph'";
    assert_eq!((count(&traced, "runtime = 'sync'"), number(&traced, grouped)), (0, 1));
    let recorded = pool();
    assert_eq!(recorded.spans(&["--runtime", "heph"]).len(), 0);
    assert!(recorded.spans(&["--runtime", "sync", "--function", "square"]).iter().all(|it| it["runtime"] == "sync"));
}

#[test]
fn what_is_no_trace_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for bytes in [&b""[..], b"certainly no Heph trace"] {
        let mut command = run::command();
        command.args(["import", "heph", "-", "--output"]).arg(folder.path());
        let output = run::bounded(command, bytes);
        assert_eq!(output.status.code(), Some(3));
        assert!(run::text(&output.stderr).contains("has no events; is it a Heph trace?"));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
}

/// Ten thousand streams are one file and no folder; one with many events has a folder, and nothing else changes.
#[test]
fn lanes_of_a_few_events_share_a_file() {
    let attributes = [attribute("n", 1, &5_u64.to_be_bytes())];
    let small = (0..10_000).map(|stream| event((stream, 0, 0), (10, 20), "small", &attributes));
    let large = (0..3_000).map(|number| event((10_000, number, 0), (u64::from(number), 20_000), "large", &[]));
    let bytes: Vec<u8> = small.chain(large).flatten().collect();
    let traced = import(&bytes);
    let session = std::fs::read_dir(traced.path()).unwrap().next().unwrap().unwrap().path();
    let process = session.join("pid_1");
    let mut names: Vec<_> = std::fs::read_dir(&process).unwrap().map(|it| it.unwrap().file_name()).collect();
    names.sort();
    let expected = ["functions_1.tsv", "manifest.json", "packets.heph", "thread_10000", "threads.atb"];
    assert_eq!(names, expected.map(std::ffi::OsString::from));
    let sql = "SELECT name, count(*) AS n, count(DISTINCT thread_id) AS threads, sum(duration_ns) AS t FROM spans \
               WHERE type = 'frame' GROUP BY 1 ORDER BY 1";
    let output = run::ada(["query", traced.path().to_str().unwrap(), sql, "--format", "json"]);
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    let sum: u64 = (0..3_000).map(|number| 20_000 - number).sum();
    let large = serde_json::json!({ "name": "large", "n": 3_000, "threads": 1, "t": sum });
    assert_eq!(rows, serde_json::json!([large, { "name": "small", "n": 10_000, "threads": 10_000, "t": 100_000 }]));
    let span = &traced.spans(&["--thread", "77"])[0];
    assert_eq!(span["attributes"]["heph"]["n"], 5, "{span:#}");
    let (file, _) = export(&traced, "heph", &[]);
    assert_eq!(std::fs::read(file).unwrap(), bytes);
    let verified = run::ada(["atf".as_ref(), "verify".as_ref(), session.as_os_str()]);
    assert!(verified.status.success(), "{}", run::text(&verified.stdout));
}

/// Streams, substreams, counters, attributes, epochs, options and the order of arrival are all kept.
#[test]
fn what_was_imported_is_exported_byte_for_byte() {
    let late = [
        metadata("epoch", &7_u64.to_be_bytes()),
        event((3, 9, 0), (40, 50), "late", &[attribute("n", 1, &5_u64.to_be_bytes())]),
        event((3, 2, 0), (40, 50), "late", &[attribute("n", 1, &5_u64.to_be_bytes())]),
        metadata("", &[]),
        event((u32::MAX, 0, u64::MAX), (1, u64::MAX >> 1), "", &[]),
    ];
    for bytes in [everything(), late.concat(), [everything(), late.concat()].concat()] {
        let traced = import(&bytes);
        let (file, output) = export(&traced, "heph", &[]);
        assert!(output.status.success(), "{}", run::text(&output.stderr));
        assert_eq!(std::fs::read(file).unwrap(), bytes);
    }
}

#[test]
fn attributes_of_imported_events_are_shown() {
    let attributes = [attribute("user", 4, &string("ann")), attribute("bytes", 1, &17_u64.to_be_bytes())];
    let traced = import(&event((7, 0, 0), (10, 20), "request", &attributes));
    let expected = serde_json::json!({ "user": "ann", "bytes": 17 });
    let span = &traced.spans(&["--type", "frame"])[0];
    assert_eq!(span["attributes"]["heph"], expected, "{span:#}");
    let shown = traced.json("show", &[span["span_id"].as_str().unwrap()]);
    assert_eq!(shown["attributes"]["heph"], expected, "{shown:#}");
    for (format, expected) in [("chrome", r#""user":"ann""#), ("firefox", "user: ann"), ("perfetto", "ann")] {
        let (file, output) = export(&traced, format, &[]);
        assert!(output.status.success(), "{}", run::text(&output.stderr));
        let bytes = std::fs::read(file).unwrap();
        assert!(bytes.windows(expected.len()).any(|it| it == expected.as_bytes()), "{format}");
    }
}

/// A lane is there from its first event to its last, however long others go on.
#[test]
fn lanes_bear_the_names_of_streams_and_end_with_their_events() {
    let traced = import(&[event((7, 0, 0), (10, 20), "short", &[]), event((8, 0, 0), (5, 900), "long", &[])].concat());
    let threads = traced.json("threads", &[]);
    let threads = threads["threads"].as_array().expect("a list");
    let short = threads.iter().find(|it| it["thread_id"] == 7).unwrap_or_else(|| panic!("{threads:#?}"));
    assert_eq!(short["thread_name"].as_str().or(short["name"].as_str()), Some("stream 7"), "{short:#}");
    assert_eq!((&short["start_ns"], &short["end_ns"]), (&10.into(), &20.into()), "{short:#}");
}

/// A session that is being imported has no name yet; what a killed import leaves, the next one removes.
#[test]
fn a_killed_import_leaves_no_half_session() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = || {
        let names = std::fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name());
        names.map(|name| name.to_string_lossy().into_owned()).collect::<Vec<String>>()
    };
    let mut command = run::command();
    command.args(["import", "heph", "-", "--output"]).arg(folder.path());
    let mut killed = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut stdin = killed.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, &everything()).unwrap();
    while sessions().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(sessions().iter().all(|name| name.starts_with('.')), "{:?}", sessions());
    let mut again = run::command();
    again.args(["import", "heph", "-", "--output"]).arg(folder.path());
    assert!(run::bounded(again, &everything()).status.success());
    let left = sessions();
    assert!(left.len() == 1 && left[0].starts_with("session_"), "{left:?}");
}
