//! Arguments and results are those that the program itself knows.

use std::fs;

use crate::asked::{number, rows};
use crate::program::Program;
use crate::run;
use crate::traced_program::TracedProgram;

/// The calls with values of a program that writes what it calls, in the order of its own calls; and what it wrote.
fn calls_and_truth(program: &Program, options: &[&str]) -> (Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("truth");
    let traced = TracedProgram::trace_running(program, options, &[log.to_str().unwrap()]);
    let truth = fs::read_to_string(&log).unwrap();
    let names: Vec<&str> = truth.lines().map(|line| line.split('(').next().unwrap()).collect();
    // The calls of main alone: the C library calls some of these functions too.
    let asked = "SELECT s.call FROM spans s JOIN spans p ON p.span_id = s.parent_span_id \
                 WHERE s.call IS NOT NULL AND (p.name IN ('main', 'apply') OR p.name LIKE '%::main') ORDER BY s.start_ns";
    let found = rows(&traced, asked);
    let calls = found.iter().map(|row| row["call"].as_str().unwrap().to_owned());
    let is_listed = |call: &String| names.contains(&call.split('(').next().unwrap());
    (calls.filter(is_listed).collect(), truth.lines().map(str::to_owned).collect())
}

const WANTED: [&str; 2] = ["--args", "own,read,write,close,pipe"];

#[test]
fn values_are_those_that_the_program_has_written() {
    for compiler in ["gcc", "clang"] {
        for level in ["-O0", "-O2", "-O3"] {
            let program = Program::new("values.c").compiler(compiler).flags(&[level, "-g"]);
            let (calls, truth) = calls_and_truth(&program, &WANTED);
            assert_eq!(calls, truth, "{compiler} {level}");
        }
    }
}

#[test]
fn values_of_a_program_that_was_optimised_as_a_whole_are_right_where_there_are_any() {
    let program = Program::new("values.c").flags(&["-O3", "-flto", "-g"]);
    let (calls, truth) = calls_and_truth(&program, &WANTED);
    // gcc makes one function of two that do the same, and it has two names: `greet` is `keep`.
    let calls: Vec<&String> = calls.iter().filter(|call| !call.starts_with("keep(")).collect();
    assert!(calls.len() > 20, "{calls:?}");
    calls.iter().for_each(|call| assert!(truth.contains(call), "{call}"));
}

#[test]
fn classes_strings_and_methods_are_passed_as_cpp_passes_them() {
    for compiler in ["g++", "clang++"] {
        for level in ["-O0", "-O2"] {
            let program = Program::new("values.cpp").compiler(compiler).flags(&[level, "-g"]);
            let (calls, truth) = calls_and_truth(&program, &["--args", "own"]);
            let calls: Vec<String> = calls.iter().map(|call| without_addresses(call)).collect();
            assert_eq!(calls, truth, "{compiler} {level}");
        }
    }
}

#[test]
fn rust_passes_slices_enums_and_references_as_its_debug_information_says() {
    for level in ["-Copt-level=0", "-Copt-level=2"] {
        let program = Program::new("values.rs").flags(&[level, "-Cdebuginfo=2"]);
        let (calls, truth) = calls_and_truth(&program, &["--args", "add,scale,count,turn,norm,wide"]);
        assert_eq!(calls, truth, "{level}");
    }
}

#[test]
fn strings_vectors_and_optional_values_of_cpp_are_shown_as_what_they_hold() {
    for compiler in ["g++", "clang++"] {
        for level in ["-O0", "-O2"] {
            let program = Program::new("containers.cpp").compiler(compiler).flags(&[level, "-g"]);
            let (calls, truth) = calls_and_truth(&program, &["--args", "own"]);
            assert_eq!(calls, truth, "{compiler} {level}");
        }
    }
}

#[test]
fn strings_vectors_and_enums_of_rust_are_shown_as_what_they_hold() {
    for level in ["-Copt-level=0", "-Copt-level=3"] {
        let flags = [
            level,
            "-Cdebuginfo=2",
            if level.ends_with('0') { "-Cdebug-assertions=on" } else { "-Cdebug-assertions=off" },
        ];
        let program = Program::new("containers.rs").flags(&flags);
        let (calls, truth) = calls_and_truth(&program, &["--args", "own"]);
        let calls: Vec<String> = calls.iter().map(|call| without_addresses(call)).collect();
        assert_eq!(calls, truth, "{level}");
    }
}

#[test]
fn what_containers_hold_is_a_table_and_is_searched() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("truth");
    let program = Program::new("containers.rs").flags(&["-Copt-level=0", "-Cdebuginfo=2"]);
    let traced = TracedProgram::trace_running(&program, &["--args", "own"], &[log.to_str().unwrap()]);
    let calls = |condition: &str| {
        let spans = traced.json("spans", &["--where", condition]);
        let spans = spans["spans"].as_array().unwrap().clone();
        let calls = spans.into_iter().map(|span| span["call"].as_str().unwrap().to_owned());
        // Without optimisation the library's functions are called too, with the same values.
        calls.filter(|call| !call.split('(').next().unwrap().contains("::")).collect::<Vec<_>>()
    };
    assert_eq!(calls("result == 17 and least == 3"), ["parsed(\"17\", Some(3)) = Ok(17)"]);
    assert_eq!(calls("result ~ Err and least == None"), ["parsed(\"x\", None) = Err(\"not x\")"]);
    assert_eq!(calls("result.0 == 404"), ["checked(Err(\"no\")) = Err(404)"]);
    assert_eq!(calls("result == \"x1\""), ["maybe_text(Some(\"x\"), 1) = Some(\"x1\")"]);
    assert_eq!(calls("radius == 2 and by == 3").len(), 1);
    assert_eq!(calls("it == Shape::Empty"), ["grown(Shape::Empty, 1) = Shape::Empty"]);
    assert_eq!(
        calls("it.name == other"),
        ["looked_up(&{name: \"other\", sizes: [1, 2], limit: Some(9), mode: Careful}, 40) = 42"]
    );
    // A length is no number of the list's.
    assert!(calls("it == 3 and n == 4").is_empty());
    let asked = "SELECT function, kind, number, text, json FROM arguments WHERE name IN ('it', 'result') AND \
                 function IN ('halves', 'parsed', 'grown', 'joined') ORDER BY start_ns, position IS NULL";
    let found = rows(&traced, asked);
    let column = |name: &str| found.iter().map(|row| row[name].as_str().unwrap_or("-").to_owned()).collect::<Vec<_>>();
    assert_eq!(column("text")[..7], ["a bc", "-", "-", "17", "-", "x", "-"]);
    assert_eq!(column("json")[1], r#"{"elements":[2,4,500],"length":3}"#);
    assert_eq!(
        column("json")[4..9],
        [
            r#"{"Ok":17}"#,
            r#""x""#,
            r#"{"Err":"not x"}"#,
            r#"{"Shape::Circle":{"radius":2}}"#,
            r#"{"Shape::Circle":{"radius":5}}"#
        ]
    );
    assert_eq!((&found[4]["number"], &found[6]["number"]), (&serde_json::json!(17), &serde_json::Value::Null));
    // What a closure has captured comes first, and debug information does not have it.
    let closures = rows(&traced, "SELECT DISTINCT call FROM spans WHERE name = 'containers::main::{{closure}}'");
    let closures: Vec<&str> = closures.iter().map(|row| row["call"].as_str().unwrap()).collect();
    let are_unknown = |call: &&str| {
        let (_, rest) = call.split_once("}}(").unwrap();
        rest.split(')').next().unwrap().split(", ").all(|argument| argument == "?")
    };
    assert!(!closures.is_empty() && closures.iter().all(are_unknown), "{closures:?}");
    let call = rows(&traced, "SELECT span_id FROM spans WHERE name = 'sum' ORDER BY start_ns LIMIT 1");
    let shown = traced.json("show", &[call[0]["span_id"].as_str().unwrap()]);
    let vector = &shown["values"]["arguments"][0];
    assert_eq!((&vector["length"], &vector["fields"]["elements"][1]), (&serde_json::json!(3), &serde_json::json!(-2)));
}

/// The same with a star for each address.
pub(crate) fn without_addresses(call: &str) -> String {
    let mut parts = call.split("0x");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push('*');
        plain.push_str(part.trim_start_matches(|digit: char| digit.is_ascii_hexdigit()));
    }
    plain
}

#[test]
fn without_debug_information_the_c_librarys_functions_have_values() {
    let program = Program::new("values.c").flags(&["-g0"]);
    let (calls, truth) = calls_and_truth(&program, &[]);
    let usual = ["open", "access", "mkdir", "socket", "connect", "setenv", "getenv"];
    let expected: Vec<String> =
        truth.into_iter().filter(|call| usual.contains(&call.split('(').next().unwrap())).collect();
    let name = |call: &str| call.split('(').next().unwrap().to_owned();
    let (calls, others): (Vec<String>, Vec<String>) =
        calls.into_iter().partition(|call| usual.contains(&name(call).as_str()));
    assert_eq!(calls, expected);
    // Of those by which programs wait for each other, registers are kept and nothing else is read.
    let of = |wanted: &str| others.iter().find(|call| name(call) == wanted).unwrap_or_else(|| panic!("{others:?}"));
    assert!(of("write").contains(", 0x") && of("write").ends_with(", 5) = 5"), "{others:?}");
    assert!(of("read").ends_with(", 16) = 5"), "{others:?}");
    assert!(calls_and_truth(&program, &["--args", "none"]).0.is_empty());
}

#[test]
fn addresses_where_nothing_is_harm_nobody() {
    let program = Program::new("wild_pointers.c").flags(&["-pthread"]).build();
    let count = "60000";
    let untraced = std::process::Command::new(&program).arg(count).output().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut command = run::command();
    command.args(["trace", "--quiet", "--output"]).arg(folder.path()).arg("--").arg(&program).arg(count);
    let traced = run::bounded(command, b"");
    assert_eq!(traced.status.code(), Some(0));
    // How often the memory that comes and goes is there differs from run to run.
    let failed = |output: &[u8]| -> i64 { run::text(output).split(' ').next().unwrap().parse().unwrap() };
    let (traced, untraced) = (failed(&traced.stdout), failed(&untraced.stdout));
    assert!((traced - untraced).abs() <= 10_000, "{traced} and {untraced}");
    assert!(traced >= 48_000, "{traced}");
}

#[test]
fn results_are_kept_however_a_call_ends_and_however_many_are_open() {
    let program = Program::new("captured_ends.c").flags(&["-O2", "-g", "-foptimize-sibling-calls"]);
    let traced = TracedProgram::trace_running(&program, &["--args", "own"], &[]);
    let asked = "SELECT call FROM spans WHERE name IN ('twice', 'goes_on', 'deep', 'jumps', 'counted', 'many') ORDER BY start_ns";
    let found = rows(&traced, asked);
    let calls: Vec<&str> = found.iter().map(|row| row["call"].as_str().unwrap()).collect();
    let deep: Vec<String> = (0..=40).rev().map(|n| format!("deep({n}) = {n}")).collect();
    let mut expected = vec!["counted(10, 1) = 11", "goes_on(20, 1) = 42", "twice(21) = 42"];
    expected.extend(deep.iter().map(String::as_str));
    expected.extend(["jumps(7)", "many(1, 2, 3, 4, 5, 6, 7) = 28"]);
    assert_eq!(calls, expected);
}

#[test]
fn values_are_right_where_signals_interrupt_what_captures_them() {
    let program = Program::new("captured_signals.c").flags(&["-O2", "-g"]);
    let traced = TracedProgram::trace_running(&program, &["--args", "own"], &[]);
    let found = rows(
        &traced,
        "SELECT call, count(*) AS calls FROM spans WHERE name IN ('both', 'at', 'same') GROUP BY call ORDER BY call",
    );
    let calls: Vec<&str> = found.iter().map(|row| row["call"].as_str().unwrap()).collect();
    let expected = [
        "at(&{name: \"on the heap\", line: 7, column: 8}) = 8",
        "both(\"on the heap\", 0.5) = 1.0",
        "both(\"on the heap\", 1.5) = 3.0",
        "same(\"on the heap\") = \"on the heap\"",
    ];
    assert_eq!(calls, expected);
    let count = |number: usize| found[number]["calls"].as_i64().unwrap();
    assert_eq!((count(1), count(0), count(3)), (40_000, count(1) + count(2), count(1) + count(2)));
}

#[test]
fn a_page_that_the_program_is_to_bring_is_not_waited_for() {
    let program = Program::new("watched_page.c").flags(&["-O2", "-g"]).build();
    let folder = tempfile::tempdir().unwrap();
    let mut command = run::command();
    command.args(["trace", "--quiet", "--args", "looks", "--output"]).arg(folder.path()).arg("--").arg(&program);
    let traced = run::bounded(command, b"");
    assert_eq!((traced.status.code(), run::text(&traced.stdout).trim()), (Some(0), "7"));
}

/// Where events are missing, the beginning of one call and the end of another may be all that is left.
#[test]
fn missing_events_give_no_call_the_result_of_another() {
    let program = Program::new("doubled.c").flags(&["-O1", "-g"]);
    let options = ["--args", "doubled", "--on-full", "drop", "--ring-memory", "1M"];
    let traced = TracedProgram::trace_running(&program, &options, &[]);
    let found = rows(&traced, "SELECT call, is_uncertain FROM spans WHERE name = 'doubled' AND call IS NOT NULL");
    let is_cut = |row: &&serde_json::Value| row["is_uncertain"] == 1 && !row["call"].as_str().unwrap().contains('=');
    assert!(found.iter().any(|row| is_cut(&row)), "{} calls, and none over missing events", found.len());
    for row in &found {
        let Some((call, result)) = row["call"].as_str().unwrap().split_once(" = ") else { continue };
        let argument: i64 = call.strip_prefix("doubled(").and_then(|it| it.strip_suffix(')')).unwrap().parse().unwrap();
        assert_eq!(result, (2 * argument).to_string(), "{call}");
    }
}

/// The stub keeps the argument until the call returns, and is interrupted anywhere.
#[test]
fn what_an_argument_points_at_is_the_calls_own_where_handlers_make_the_same_call() {
    let program = Program::new("kept_arguments.c").flags(&["-O1", "-pthread"]);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("truth");
    let traced = TracedProgram::trace_running(&program, &["--args", "pthread_key_create"], &[log.to_str().unwrap()]);
    let truth = fs::read_to_string(&log).unwrap();
    for caller in ["handle", "plain"] {
        let asked = format!(
            "SELECT s.call FROM spans s JOIN spans p ON p.span_id = s.parent_span_id \
             WHERE p.name = '{caller}' AND s.name = 'pthread_key_create' ORDER BY s.start_ns"
        );
        let calls: Vec<String> = rows(&traced, &asked).iter().map(|row| row["call"].as_str().unwrap().into()).collect();
        let keys = truth.lines().filter_map(|line| line.strip_prefix(caller));
        let expected: Vec<String> = keys.map(|key| format!("pthread_key_create([{}], null) = 0", key.trim())).collect();
        assert_eq!(calls.len(), expected.len(), "{caller}");
        let wrong: Vec<_> = calls.iter().zip(&expected).filter(|(call, truth)| call != truth).take(3).collect();
        assert!(wrong.is_empty() && calls.len() >= 1000, "{caller}: {wrong:?}");
    }
}

#[test]
fn a_format_tells_what_follows_it() {
    let program = Program::new("formats.c").flags(&["-O1", "-fno-builtin", "-U_FORTIFY_SOURCE"]);
    let traced = TracedProgram::trace_running(&program, &["--args", "snprintf"], &[]);
    let asked = "SELECT s.call FROM spans s JOIN spans p ON p.span_id = s.parent_span_id \
                 WHERE p.name = 'main' AND s.name = 'snprintf' ORDER BY s.start_ns";
    let found = rows(&traced, asked);
    let calls: Vec<String> = found.iter().map(|row| without_addresses(row["call"].as_str().unwrap())).collect();
    let expected = [
        r#"snprintf(*, 80, "%s: %d of %.1f%%, %c", "name", -7, 2.5, 'x') = 19"#,
        r#"snprintf(*, 80, "%lu %#x %s", 5, *, "far") = 10"#,
        r#"snprintf(*, 80, "%d %d %d %d", 1, 2, 3, ?) = 7"#,
        r#"snprintf(*, 80, "%1$d %1$d", …) = 3"#,
        r#"snprintf(*, 80, "plain") = 5"#,
        r#"snprintf(*, 80, "%s", "more than the twenty-fou"…) = 51"#,
    ];
    assert_eq!(calls, expected);
}

/// The table of prototypes, by functions that no other test has.
#[test]
fn what_functions_of_the_c_library_take_and_give_is_what_the_program_passes() {
    let folder = tempfile::tempdir().unwrap();
    let (log, empty) = (folder.path().join("truth"), folder.path().join("empty"));
    fs::create_dir(&empty).unwrap();
    let program = Program::new("prototypes.c").flags(&["-O0", "-fno-builtin", "-U_FORTIFY_SOURCE", "-lm"]);
    let arguments = [log.to_str().unwrap(), empty.to_str().unwrap()];
    let traced = TracedProgram::trace_running(&program, &["--args", "*"], &arguments);
    let truth = fs::read_to_string(&log).unwrap();
    let asked = "SELECT s.call FROM spans s JOIN spans p ON p.span_id = s.parent_span_id WHERE p.name = 'main'";
    let found = rows(&traced, asked);
    // The C library has several implementations of some: `__strspn_sse42`.
    let plain = |call: &str| {
        let (name, rest) = call.split_once('(').unwrap();
        let name = name.strip_prefix("__").map_or(name, |name| name.split('_').next().unwrap());
        format!("{name}({rest}")
    };
    let calls: Vec<String> = found.iter().filter_map(|row| row["call"].as_str().map(plain)).collect();
    let wrong: Vec<&str> = truth.lines().filter(|line| !calls.iter().any(|call| call == line)).collect();
    assert!(wrong.is_empty() && truth.lines().count() > 35, "{wrong:#?} are not among {calls:#?}");
}

/// What libstdc++ throws is captured without being asked for.
#[test]
fn the_message_of_an_exception_is_a_value() {
    let traced = TracedProgram::trace_running(&Program::new("throws.cpp").compiler("g++").flags(&["-O2"]), &[], &[]);
    let asked = "SELECT call, status, reason FROM spans WHERE name LIKE 'std::__throw%' ORDER BY start_ns";
    let found = rows(&traced, asked);
    let calls: Vec<String> = found.iter().map(|row| without_addresses(row["call"].as_str().unwrap())).collect();
    let expected = [
        r#"std::__throw_out_of_range_fmt("vector::_M_range_check: __n (which is %zu) >= this->size() (which is %zu"…, 7, 3, …)"#,
        r#"std::__throw_invalid_argument("stoi")"#,
        r#"std::__throw_logic_error("basic_string: construction from null is not valid")"#,
    ];
    assert_eq!(calls, expected);
    assert!(found.iter().all(|row| row["status"] == "unmatched" && row["reason"] == "exception"), "{found:?}");
}

#[test]
fn patterns_that_nothing_fits_are_told() {
    let program = Program::new("captured_ends.c").flags(&["-g"]).build();
    let said = |options: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let mut command = run::command();
        command.args(["trace", "--output"]).arg(folder.path()).args(options).arg("--").arg(&program);
        let traced = run::bounded(command, b"");
        assert_eq!(traced.status.code(), Some(0));
        run::text(&traced.stderr).to_owned()
    };
    let (args, only) = (said(&["--args", "deep,depe,own"]), said(&["--only", "deep", "--only", "depe*"]));
    assert!(args.contains("ada: no function of the program matches the pattern depe\n"), "{args}");
    assert!(only.contains("ada: no function of the program matches --only depe*\n"), "{only}");
    let printed = said(&["--args", "deep,own", "--only", "deep", "--only", "main", "--print", "deep"]);
    assert!(!printed.contains("matches"), "{printed}");
}

#[test]
fn a_shown_call_says_what_each_value_is() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("truth");
    let program = Program::new("values.c").flags(&["-g"]);
    let traced = TracedProgram::trace_running(&program, &WANTED, &[log.to_str().unwrap()]);
    let found = rows(&traced, "SELECT span_id FROM spans WHERE call LIKE 'open(\"/nowhere%'");
    let call = found[0]["span_id"].as_str().unwrap();
    // People see the call first, and when it was from the start on; registers where they ask for all.
    let page = traced.text("show", &[call]);
    assert!(page.starts_with("call ") && page.lines().next().unwrap().ends_with("= -1 ENOENT"), "{page}");
    assert!(page.contains(" after the start\n") && page.contains("path ") && !page.contains("rsi "), "{page}");
    assert!(traced.text("show", &[call, "--wide"]).contains("rsi "));
    let shown = traced.json("show", &[call]);
    let values = &shown["values"];
    assert_eq!(values["arguments"][0]["name"], "path");
    assert_eq!(values["arguments"][0]["text"], "/nowhere/at/all");
    assert_eq!(values["arguments"][2]["number"], 0o640);
    assert_eq!((values["result"]["number"].as_i64(), values["error"]["name"].as_str()), (Some(-1), Some("ENOENT")));
}

#[test]
fn what_chooses_an_implementation_is_not_taken_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("truth");
    let program = Program::new("values.c");
    let traced = TracedProgram::trace_running(&program, &["--args", "str*,mem*"], &[log.to_str().unwrap()]);
    // The C library chooses its strlen and memcpy when they are first called, by functions of the same names.
    let wrong = "SELECT count(*) FROM arguments WHERE position = 0 AND number = 0 AND function IN ('strlen', 'memcpy', 'memset')";
    assert_eq!(number(&traced, wrong), 0);
}

#[test]
fn values_are_a_table_and_are_searched() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("truth");
    let program = Program::new("values.c").flags(&["-g"]);
    let traced = TracedProgram::trace_running(&program, &WANTED, &[log.to_str().unwrap()]);
    let of_open = "SELECT a.kind, a.position, a.name, a.type, a.number, a.text, a.json FROM arguments a JOIN spans s \
                   USING (span_id) WHERE s.call LIKE 'open(\"/nowhere%'";
    let found = rows(&traced, of_open);
    let columns = |name: &str| found.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    assert_eq!(columns("name"), ["path", "flags", "mode", "result", "errno"]);
    assert_eq!(columns("kind"), ["argument", "argument", "argument", "result", "errno"]);
    assert_eq!(columns("number")[1..], [serde_json::json!(577), 0o640.into(), (-1).into(), 2.into()]);
    assert_eq!(found[0]["text"], "/nowhere/at/all");
    assert_eq!((&found[0]["position"], &found[3]["position"]), (&serde_json::json!(0), &serde_json::Value::Null));
    let port = "SELECT count(*) FROM arguments WHERE function = 'connect' AND json_extract(json, '$.port') = 1 AND name = 'address'";
    assert_eq!(number(&traced, port), 1);
    assert_eq!(number(&traced, "SELECT count(*) FROM arguments WHERE function = 'scale' AND real = 2.5"), 1);
    let calls = |condition: &str| {
        let spans = traced.json("spans", &["--where", condition]);
        let spans = spans["spans"].as_array().unwrap().clone();
        spans.into_iter().map(|span| span["call"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(calls("port == 1 and result < 0").len(), 1);
    assert_eq!(
        calls("path == /nowhere/at/all and flags ~ O_CREAT"),
        ["open(\"/nowhere/at/all\", O_WRONLY|O_CREAT|O_TRUNC, 0640) = -1 ENOENT"]
    );
    assert_eq!(calls("errno == EFAULT"), ["open(0x10, O_RDWR) = -1 EFAULT"]);
    assert_eq!(calls("x == 2.5 or x == 3.5").len(), 2);
    assert!(calls("port == 2").is_empty());
    // What no value is called gets the words and the code of other names.
    for (options, words) in [
        (&["--where", "prot == 1"][..], "no captured value of the session is called prot; did you mean port?"),
        (&["--where", "port == 1 and adress.port == 1"], "is called adress; did you mean address?"),
        (&["--function", "connect", "--where", "flags == 1"], "value of connect is called flags; there are address, "),
    ] {
        let output = traced.ada("spans", options);
        let said = run::text(&output.stderr);
        assert!(said.contains(words) && said.lines().count() == 1, "{said}");
        assert_eq!(output.status.code(), Some(3), "{said}");
    }
    // Lines that are cut say so, keep what came of the call, and are whole where that is asked for.
    let open = ["--where", "path == /nowhere/at/all"];
    let shown = traced.text("spans", &open);
    let line = shown.lines().find(|line| line.contains("open(")).unwrap();
    assert!(line.contains('…') && line.contains("0640") && line.ends_with(" = -1 ENOENT"), "{shown}");
    assert!(shown.contains("--wide prints them in full"), "{shown}");
    let wide = traced.text("spans", &[&open[..], &["--wide"]].concat());
    assert!(wide.contains("O_WRONLY|O_CREAT|O_TRUNC, 0640) = -1 ENOENT") && !wide.contains("--wide"), "{wide}");
}

#[test]
fn calls_are_printed_as_they_happen_and_redacted_values_are_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let (log, printed) = (folder.path().join("truth"), folder.path().join("printed"));
    let program = Program::new("values.c").flags(&["-g"]).build();
    let mut command = run::command();
    command.args(["trace", "--quiet", "--print", "own,open,connect,getenv", "--redact", "getenv,connect.address"]);
    command.args(["--trigger", "call=open when flags == O_RDWR", "--trigger", "return=connect when result == 7"]);
    command.arg("--print-to").arg(&printed).arg("--output").arg(folder.path().join("traces"));
    command.arg("--").arg(&program).arg(&log);
    let traced = run::bounded(command, b"");
    assert_eq!((traced.status.code(), run::text(&traced.stderr)), (Some(0), ""));
    let printed = fs::read_to_string(&printed).unwrap();
    let lines: Vec<&str> = printed.lines().map(|line| line.splitn(3, ' ').nth(2).unwrap()).collect();
    let truth = fs::read_to_string(&log).unwrap();
    let own = ["add", "narrow", "greet", "mix", "scale", "half", "many", "open"];
    let is_own = |line: &&str| own.contains(&line.split('(').next().unwrap());
    let expected: Vec<&str> = truth.lines().filter(is_own).collect();
    let is_expected = |line: &&&str| !line.contains(log.to_str().unwrap());
    assert_eq!(lines.iter().copied().filter(is_own).filter(|line| is_expected(&line)).collect::<Vec<_>>(), expected);
    let one = |begin: &str| lines.iter().copied().find(|line| line.starts_with(begin)).unwrap_or_default();
    assert!(one("main(").ends_with("<unfinished ...>") && one("<... main").ends_with("resumed> = 0"), "{printed}");
    assert!(one("connect(").contains("<redacted>, 16) = -1 ECONNREFUSED"), "{printed}");
    assert_eq!(one("getenv("), "getenv(…)");
    let mut query = run::command();
    let session = fs::read_dir(folder.path().join("traces")).unwrap().next().unwrap().unwrap().path();
    query.arg("query").arg(session).args(["SELECT trigger FROM windows", "--format", "csv"]);
    let windows = run::bounded(query, b"").stdout;
    let windows = run::text(&windows);
    assert_eq!(windows.trim_end().lines().collect::<Vec<_>>(), ["trigger", "call=open when flags == O_RDWR"]);
}

#[test]
fn what_is_called_all_the_time_has_values_where_somebody_asks_for_them() {
    let program = Program::new("often_asked.c");
    let asked = |options: &[&str]| {
        let traced = TracedProgram::trace_with(&program, options);
        let of_ask =
            "FROM spans s JOIN spans p ON p.span_id = s.parent_span_id WHERE p.name = 'ask' AND s.name = 'getenv'";
        let captured = format!("SELECT count(*) {of_ask} AND s.call = 'getenv(\"ADA_NOTHING\") = null'");
        (number(&traced, &format!("SELECT count(*) {of_ask} AND s.status = 'completed'")), number(&traced, &captured))
    };
    assert_eq!(asked(&["--args", "getenv"]), (20_000, 20_000));
    let (all, captured) = asked(&[]);
    assert_eq!(all, 20_000);
    // As long as it takes: 2,000 in each stretch of time.
    assert!((1_000..20_000).contains(&captured), "{captured}");
}
