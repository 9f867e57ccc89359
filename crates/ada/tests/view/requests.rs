//! Who is answered, what is answered, and what malformed requests do: nothing.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::exports::{count, number, pool};
use crate::run;
use crate::served::{Served, parse};
use crate::traced_program::TracedProgram;

#[test]
fn only_the_page_itself_is_answered() {
    let traced = pool();
    let served = Served::new(traced.path());
    let port = served.port;
    assert_eq!(served.get("/api/session").status, 200);
    assert_eq!(served.ask("/api/session", &[("Host", &format!("localhost:{port}"))]).status, 200);
    assert_eq!(served.ask("/api/session", &[("Origin", &format!("http://127.0.0.1:{port}"))]).status, 200);
    let refusals: [(&[(&str, &str)], &str); 8] = [
        (&[("Host", "evil.example")], "127.0.0.1"),
        (&[("Host", "127.0.0.1:1")], "127.0.0.1"),
        (&[("Origin", "http://evil.example")], "other pages"),
        (&[("Origin", "null")], "other pages"),
        (&[("Sec-Fetch-Site", "cross-site")], "other pages"),
        (&[("Sec-Fetch-Site", "same-site")], "other pages"),
        (&[("X-Ada-Token", "")], "token"),
        (&[("X-Ada-Token", "0123456789abcdef0123456789abcdef")], "token"),
    ];
    for (headers, words) in refusals {
        for path in ["/api/session", "/", "/api/picture?start=0&end=1&width=1&tracks="] {
            let reply = served.ask(path, headers);
            assert_eq!(reply.status, 403, "{path} {headers:?}");
            assert!(reply.text().contains(words), "{path} {headers:?}: {}", reply.text());
        }
    }
    let page = served.ask(&format!("/?token={}", served.token), &[("X-Ada-Token", "")]);
    assert_eq!(page.status, 200);
    let head = page.head.to_lowercase();
    for header in [
        "content-security-policy: default-src 'none'",
        "x-content-type-options: nosniff",
        "x-frame-options: deny",
        "cross-origin-resource-policy: same-origin",
        "cache-control: no-store",
    ] {
        assert!(head.contains(header), "{header}: {head}");
    }
    assert!(!head.contains("access-control-allow-origin"), "{head}");
    let other = Served::new(traced.path());
    assert_ne!(other.token, served.token, "each run has its own");
}

#[test]
fn a_comparison_may_be_framed_by_itself_alone() {
    let traced = pool();
    let mut command = run::command();
    command.args(["diff", "--view", "--no-open"]).arg(traced.path()).arg(traced.path());
    let served = Served::by(command);
    let page = |path: &str| served.ask(&format!("{path}?token={}", served.token), &[("X-Ada-Token", "")]);
    for path in ["/compare.html", "/"] {
        let reply = page(path);
        assert_eq!(reply.status, 200, "{path}");
        let head = reply.head.to_lowercase();
        assert!(head.contains("x-frame-options: sameorigin") && head.contains("frame-ancestors 'self'"), "{head}");
        assert_eq!(served.ask(path, &[("X-Ada-Token", "")]).status, 403, "{path} without a token");
        assert_eq!(served.ask(path, &[("Sec-Fetch-Site", "cross-site")]).status, 403, "{path} from elsewhere");
    }
    let difference = served.get("/api/difference").json();
    assert!(difference["cause"].is_null() && difference["names"]["a"] == difference["names"]["b"], "{difference}");
    for side in ["a", "b", "c"] {
        assert!(served.get(&format!("/api/session?side={side}")).json()["spans"].as_u64().unwrap() > 0, "{side}");
    }
    let alone = Served::new(traced.path());
    assert_eq!(alone.get("/api/difference").status, 404);
    assert_eq!(alone.ask("/compare.html", &[("X-Ada-Token", "")]).status, 200, "it has nothing of a session");
}

/// What is hidden is nowhere in the answers, and what it took is the time of who called it.
#[test]
fn through_the_lens_there_are_the_programs_own_functions() {
    let traced = pool();
    let served = Served::plain(traced.path());
    let about = served.get("/api/session").json();
    assert_eq!(about["lens"]["is_first"], true);
    let lens = served.get("/api/lens").json();
    let rows = |track: usize| lens["tracks"][track][1].as_u64();
    let tracks = about["tracks"].as_array().unwrap();
    let threads: Vec<usize> = (0..tracks.len()).filter(|it| tracks[*it]["kind"] == "thread").collect();
    for &track in &threads {
        assert!(rows(track).unwrap() <= tracks[track]["rows"].as_u64().unwrap(), "track {track}");
    }
    let numbers: Vec<String> = threads.iter().map(|it| it.to_string()).collect();
    let tracks = numbers.join(",");
    let end = about["length"].as_u64().unwrap() + 1;
    let sums = |more: &str| served.get(&format!("/api/sums?start=0&end={end}&tracks={tracks}{more}")).json();
    let (own, all) = (sums("&lens=1"), sums(""));
    assert!(own["calls"].as_u64().unwrap() < all["calls"].as_u64().unwrap() && own["calls"] != 0);
    // What a function jumps to as its last act is its own time there, and its caller's here.
    assert!(own["own_ns"].as_u64() <= lens["own_ns"].as_u64());
    assert!(own["own_ns"].as_u64().unwrap() <= all["own_ns"].as_u64().unwrap());
    let ids = own["functions"].as_array().unwrap().iter().map(|it| it[0].to_string()).collect::<Vec<_>>().join(",");
    let names = served.get(&format!("/api/names?ids={ids}")).json();
    for (_, name) in names.as_object().unwrap() {
        assert!(!name[1].as_str().unwrap().starts_with("lib"), "{name}");
    }
}

#[test]
fn no_path_leads_to_files() {
    let traced = pool();
    let served = Served::new(traced.path());
    for path in [
        "/../../../../etc/passwd",
        "/..%2f..%2f..%2fetc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/js/../../Cargo.toml",
        "/js/..\\..\\Cargo.toml",
        "/api/../../../etc/passwd",
        "/manifest.json",
        "/style.css/..",
        "/api/",
        "/api/session/",
    ] {
        assert_eq!(served.get(path).status, 404, "{path}");
    }
    for reference in ["../../etc/passwd", "frame:1:2:3", "file:///etc/passwd", "%00"] {
        assert_eq!(served.get(&format!("/api/span?ref={reference}")).status, 400, "{reference}");
    }
    assert_eq!(served.get("/style.css").status, 200);
}

#[test]
fn ten_thousand_malformed_requests_change_nothing() {
    let traced = pool();
    let mut served = Served::new(traced.path());
    let good = format!(
        "GET /api/picture?start=0&end=1000000&width=100&tracks=0:0-9 HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nX-Ada-Token: {}\r\nConnection: close\r\n\r\n",
        served.port, served.token
    );
    assert_eq!(parse(&served.send(good.as_bytes())).status, 200);
    let numbers = ["-1", "18446744073709551615", "99999999999999999999", "1e9", "NaN", "%zz", "", "0x10", "1.5"];
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut statuses: BTreeMap<u16, u32> = BTreeMap::new();
    for round in 0..10_000 {
        let number = |it: u64| numbers[it as usize % numbers.len()];
        let request: Vec<u8> = match round % 5 {
            // Bytes that are changed anywhere.
            0 => {
                let mut bytes = good.clone().into_bytes();
                for _ in 0..1 + next() % 8 {
                    let at = next() as usize % bytes.len();
                    bytes[at] = next() as u8;
                }
                bytes
            }
            // Cut short.
            1 => good.as_bytes()[..next() as usize % good.len()].to_vec(),
            // Parameters that are no numbers, or too large.
            2 => {
                let (a, b, c, d) = (next(), next(), next(), next());
                let query = format!(
                    "start={}&end={}&width={}&tracks={}:{}-{}",
                    number(a),
                    number(b),
                    number(c),
                    number(d),
                    number(a >> 8),
                    number(b >> 8)
                );
                good.replace("start=0&end=1000000&width=100&tracks=0:0-9", &query).into_bytes()
            }
            // Noise.
            3 => (0..next() % 200).map(|_| next() as u8).collect(),
            // Headers without end.
            _ => {
                let mut bytes = b"GET / HTTP/1.1\r\n".to_vec();
                let header = format!("X-{}: {}\r\n", next(), "y".repeat(next() as usize % 3000));
                for _ in 0..next() % 60 {
                    bytes.extend_from_slice(header.as_bytes());
                }
                bytes
            }
        };
        *statuses.entry(parse(&served.send(&request)).status).or_default() += 1;
    }
    assert!(served.is_alive());
    assert_eq!(statuses.get(&500), None, "{statuses:?}");
    assert!(statuses.get(&400).is_some_and(|&count| count > 1000), "{statuses:?}");
    assert_eq!(parse(&served.send(good.as_bytes())).status, 200, "it still answers: {statuses:?}");
}

/// A picture as the page reads it.
struct Drawn {
    /// Start, duration and count of shapes.
    shapes: Vec<(f64, f64, u32)>,
    strips: usize,
    /// Duration and count of the strips' columns.
    columns: Vec<(f32, u32)>,
}

impl Drawn {
    fn of(body: &[u8]) -> Self {
        let word = |at: usize| u32::from_le_bytes(body[at..at + 4].try_into().unwrap());
        let (count, strips, columns) = (word(0) as usize, word(4) as usize, word(8) as usize);
        let (of_strips, of_columns) = (16 + count * 56, 16 + count * 56 + strips * 16);
        assert_eq!(body.len(), of_columns + columns * 14);
        let lengths: usize = (0..strips).map(|at| word(of_strips + (3 * strips + at) * 4) as usize).sum();
        assert_eq!(lengths, columns);
        let double = |column: usize, at: usize| {
            f64::from_le_bytes(body[16 + (column * count + at) * 8..][..8].try_into().unwrap())
        };
        let number = |column: usize, at: usize| word(16 + 40 * count + (column * count + at) * 4);
        let of_column = |column: usize, at: usize| word(of_columns + (column * columns + at) * 4);
        Self {
            shapes: (0..count).map(|at| (double(0, at), double(1, at), number(1, at))).collect(),
            strips,
            columns: (0..columns).map(|at| (f32::from_bits(of_column(1, at)), of_column(2, at))).collect(),
        }
    }

    /// How many calls it stands for.
    fn counted(&self) -> u64 {
        let of_shapes = self.shapes.iter().map(|it| it.2);
        of_shapes.chain(self.columns.iter().map(|it| it.1)).map(u64::from).sum()
    }

    fn longest(&self) -> f64 {
        let of_columns = self.columns.iter().map(|it| f64::from(it.0));
        self.shapes.iter().map(|it| it.1).chain(of_columns).fold(0.0, f64::max)
    }
}

#[test]
fn a_picture_stands_for_every_call() {
    let traced = pool();
    let served = Served::new(traced.path());
    let about = served.get("/api/session").json();
    let length = about["length"].as_u64().unwrap();
    assert_eq!(about["spans"].as_u64().unwrap(), count(&traced, "type = 'frame'"));
    let tracks = about["tracks"].as_array().unwrap();
    let of_kind = |kind: &str| tracks.iter().filter(|it| it["kind"] == kind).count();
    assert_eq!(of_kind("thread"), 5);
    for track in tracks.iter().filter(|it| it["kind"] == "thread") {
        let (id, thread) = (&track["id"], &track["thread_id"]);
        for width in [1, 10, 1000, 20_000] {
            let path = format!("/api/picture?start=0&end={}&width={width}&tracks={id}:0-255", length + 1);
            let reply = served.get(&path);
            assert_eq!(reply.status, 200, "{}", reply.text());
            let drawn = Drawn::of(&reply.body);
            let all = count(&traced, &format!("type = 'frame' AND thread_id = {thread}"));
            assert_eq!(drawn.counted(), all, "{width}");
            assert!(drawn.shapes.len() + drawn.strips <= 20_000);
            let sql = format!("SELECT max(duration_ns) FROM spans WHERE type = 'frame' AND thread_id = {thread}");
            assert_eq!(drawn.longest() as u64, number(&traced, &sql), "the longest is drawn at any width");
        }
        // What a pixel stands for can be asked: here, of the one that has everything.
        let pixel = format!("/api/pixel?track={id}&row=1&kind=0&start=0&end={}", length + 1);
        let pixel = served.get(&pixel).json();
        let of = |what: &str| {
            let sql = format!("SELECT {what} FROM spans WHERE type = 'frame' AND thread_id = {thread} AND depth = 1");
            number(&traced, &sql)
        };
        assert_eq!(
            (&pixel["longest"]["duration"], &pixel["spans"]),
            (&of("max(duration_ns)").into(), &of("count(*)").into())
        );
    }
}

#[test]
fn questions_are_answered_with_what_the_session_has() {
    let traced = pool();
    let served = Served::new(traced.path());
    let about = served.get("/api/session").json();
    assert_eq!((&about["opening"]["kind"], &about["opening"]["why"]), (&"main".into(), &"main".into()));
    let length = about["length"].as_u64().unwrap() + 1;
    let threads: Vec<String> = about["tracks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["kind"] == "thread")
        .map(|it| it["id"].to_string())
        .collect();
    let tracks = threads.join(",");
    let sums = served.get(&format!("/api/sums?start=0&end={length}&tracks={tracks}")).json();
    assert_eq!(sums["calls"], count(&traced, "type = 'frame'"));
    let own: u64 = sums["nodes"].as_array().unwrap().iter().map(|node| node[4].as_u64().unwrap()).sum();
    let total = number(&traced, "SELECT sum(duration_ns) FROM spans WHERE type = 'frame' AND parent_span_id IS NULL");
    assert_eq!((own, &sums["left_out"]), (total, &Value::from(0)));
    assert_eq!((&sums["endings"][0]["status"], &sums["endings"][0]["reason"]), (&"completed".into(), &"none".into()));
    let arrows = served.get(&format!("/api/arrows?start=0&end={length}&tracks={tracks}")).json();
    let kinds = |kind: &str| arrows["arrows"].as_array().unwrap().iter().filter(|it| it[0] == kind).count();
    assert_eq!((kinds("create"), kinds("join")), (4, 4));
    let found = served.get("/api/search?q=square+type:frame").json();
    assert_eq!(found["spans"].as_array().unwrap().len(), 100);
    let reference = found["spans"][0]["reference"].as_str().unwrap();
    let span = served.get(&format!("/api/span?ref={reference}")).json();
    assert_eq!(span["details"]["name"], "square");
    assert!(span["details"]["opened_by"]["detail"]["rdi"].is_string(), "{span:#}");
    assert_eq!(span["place"], found["spans"][0]["place"]);
    assert_eq!(served.get("/api/search?q=status:completed%20longer:1000s").json()["spans"], Value::Array(Vec::new()));
    let coverage = served.get("/api/coverage").json();
    assert!(coverage["processes"][0]["modules"].as_array().unwrap().len() > 1);
    assert_eq!(served.get("/api/search?q=longer:soon").status, 400);
    assert_eq!(served.get("/api/span?track=9999&seq=0").status, 400);
}

/// Each of two processes waits for what the other one has, and is woken by it.
#[test]
fn arrows_lead_from_one_process_to_the_other() {
    let program = crate::program::Program::new("wait_shared.c").flags(&["-pthread"]);
    let traced = TracedProgram::trace_running(&program, &[], &["mutex"]);
    let path = traced.path().to_str().unwrap();
    let waits = |condition: &str| number(&traced, &format!("SELECT count(*) AS n FROM waits WHERE {condition}"));
    let woken = waits("waker_pid <> pid AND wake_span_id IS NOT NULL AND wake_ns <= end_ns");
    let held = waits("holder_pid <> pid AND hold_span_id IS NOT NULL AND hold_start_ns <= start_ns");
    assert!(woken > 0 && held > 0, "{woken} and {held}");
    let served = Served::new(traced.path());
    let about = served.get("/api/session").json();
    let tracks = about["tracks"].as_array().unwrap();
    let pid_of: BTreeMap<u64, &Value> = tracks.iter().map(|it| (it["id"].as_u64().unwrap(), &it["process"])).collect();
    let ids: Vec<String> = pid_of.keys().map(u64::to_string).collect();
    let length = about["length"].as_u64().unwrap() + 1;
    let arrows = served.get(&format!("/api/arrows?start=0&end={length}&tracks={}", ids.join(","))).json();
    let between = |kind: &str| {
        let of = |arrow: &&Value| {
            arrow[0] == kind && pid_of[&arrow[1].as_u64().unwrap()] != pid_of[&arrow[4].as_u64().unwrap()]
        };
        arrows["arrows"].as_array().unwrap().iter().filter(of).collect::<Vec<&Value>>()
    };
    assert_eq!((between("wake").len() as u64, between("hold").len() as u64), (woken, held), "{arrows}");
    // Each end can be asked for, and names the other.
    let arrow = between("hold")[0];
    let [from, to] = [7, 8].map(|at| arrow[at].as_str().unwrap());
    let span = |reference: &str| served.get(&format!("/api/span?ref={reference}")).json()["links"].clone();
    let names =
        |list: &Value, other: &str| list.as_array().unwrap().iter().any(|it| it.as_str().unwrap().contains(other));
    assert!(names(&span(to)["causes"], from) && names(&span(from)["effects"], to), "{} {}", span(to), span(from));
    let links = format!(
        "SELECT count(*) AS n FROM links WHERE kind = 'hold' AND from_span_id = '{from}' AND to_span_id = '{to}'"
    );
    assert_eq!(number(&traced, &links), 1, "{path}");
}

/// Sends something to be kept, as the page does.
fn put(served: &Served, path: &str, token: &str, body: &str) -> crate::served::Reply {
    let (port, length) = (served.port, body.len());
    let head =
        format!("PUT {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Length: {length}\r\n");
    parse(&served.send(format!("{head}{token}\r\n{body}").as_bytes()))
}

#[test]
fn a_functions_page_agrees_with_sql() {
    let traced = pool();
    let served = Served::new(traced.path());
    let id = served.get("/api/search?q=worker").json()["functions"][0][0].clone();
    let page = served.get(&format!("/api/function?name={id}")).json();
    assert_eq!(page["calls"], count(&traced, "type = 'frame' AND name = 'worker'"));
    assert_eq!(page["looked"], page["all_calls"]);
    let names = |rows: &Value| -> Vec<(String, u64, u64)> {
        let mut named: Vec<(String, u64, u64)> = rows
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                let names = served.get(&format!("/api/names?ids={}", row[0])).json();
                let name = names[row[0].to_string()][0].as_str().unwrap().to_owned();
                (name, row[1].as_u64().unwrap(), row[2].as_u64().unwrap())
            })
            .collect();
        named.sort();
        named
    };
    let callees = names(&page["callees"]);
    assert!(callees.iter().any(|(name, calls, _)| name == "square" && *calls == 100), "{callees:?}");
    for (name, calls, ns) in callees {
        let of = |what: &str| {
            let sql = format!(
                "SELECT {what} AS n FROM spans AS below JOIN spans AS above ON below.parent_span_id = above.span_id \
                 WHERE below.type = 'frame' AND above.name = 'worker' AND below.name = '{name}'"
            );
            number(&traced, &sql)
        };
        assert_eq!((calls, ns), (of("count(*)"), of("sum(below.duration_ns)")), "{name}");
    }
    let slowest = page["slowest"].as_array().unwrap();
    let longest = number(&traced, "SELECT max(duration_ns) FROM spans WHERE type = 'frame' AND name = 'worker'");
    assert_eq!((slowest.len(), &slowest[0]["duration"]), (4, &longest.into()));
    let counted: u64 = page["durations"].as_array().unwrap().iter().map(|it| it[2].as_u64().unwrap()).sum();
    assert_eq!(counted, page["timed"]);
    // Only functions have pages: there is no way to name a file.
    for wrong in ["4294967295", "-1", "/etc/passwd", "", "99999999"] {
        assert_eq!(served.get(&format!("/api/function?name={wrong}")).status, 400, "{wrong}");
    }
}

#[test]
fn notes_are_kept_with_the_session_by_the_page_alone() {
    let traced = pool();
    let served = Served::new(traced.path());
    let token = format!("X-Ada-Token: {}\r\n", served.token);
    let note = r#"{"span":null,"time":1000,"text":"first"}"#;
    assert_eq!(put(&served, "/api/note", "", note).status, 403);
    // A token in the address would do for a form of another page.
    let with_token = format!("/api/note?token={}", served.token);
    assert_eq!(put(&served, &with_token, "", note).status, 403);
    assert_eq!(served.get("/api/notes").json()["notes"], Value::Array(Vec::new()));
    assert_eq!(put(&served, "/api/note", &token, note).status, 200);
    for (wrong, words) in [
        ("", "no note"),
        ("{", "no note"),
        (r#"{"span":"frame:1:99999999","time":0,"text":"x"}"#, ""),
        (r#"{"span":"../x","time":0,"text":"x"}"#, ""),
        (&format!(r#"{{"span":null,"time":0,"text":"{}"}}"#, "x".repeat(5000)), "at most"),
        (&format!(r#"{{"span":null,"time":0,"text":"{}"}}"#, "x".repeat(100_000)), "too long"),
    ] {
        let reply = put(&served, "/api/note", &token, wrong);
        assert!(reply.status == 400 && reply.text().contains(words), "{} {}", reply.status, reply.text());
    }
    for path in ["/api/session", "/", "/style.css", "/api/notes"] {
        assert_eq!(put(&served, path, &token, note).status, 404, "{path}");
    }
    let second = r#"{"span":null,"time":1000,"text":" another \n"}"#;
    let notes = put(&served, "/api/note", &token, second).json();
    assert_eq!((notes["notes"].as_array().unwrap().len(), &notes["notes"][0]["text"]), (1, &"another".into()));
    // Another server of the same session has them, and every command still reads it.
    drop(served);
    let served = Served::new(traced.path());
    assert_eq!(served.get("/api/notes").json()["notes"][0]["time"], 1000);
    assert!(run::ada(["report", traced.path().to_str().unwrap()]).status.success());
    // What is damaged is said to be, and left as it is.
    let session = std::fs::read_dir(traced.path()).unwrap().next().expect("there is one").unwrap().path();
    let file = session.join("notes.json");
    std::fs::write(&file, "{").unwrap();
    let token = format!("X-Ada-Token: {}\r\n", served.token);
    assert_eq!(put(&served, "/api/note", &token, note).status, 400);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{");
}

#[test]
fn a_selected_time_is_exported_and_nothing_else() {
    let traced = pool();
    let served = Served::new(traced.path());
    let start = served.get("/api/session").json()["start_ns"].as_u64().unwrap();
    // From one call to another: what begins between them is known.
    let nth = |nth: u32| {
        let sql = format!("SELECT start_ns FROM spans WHERE type = 'frame' ORDER BY start_ns LIMIT 1 OFFSET {nth}");
        number(&traced, &sql)
    };
    let (from, until) = (nth(100), nth(300));
    let export = |format: &str| {
        let path = format!("/api/export?format={format}&start={}&end={}", from - start, until - start);
        let reply = served.get(&path);
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.body
    };
    assert!(!export("folded").is_empty());
    let file = traced.path().join("range.json");
    std::fs::write(&file, export("chrome")).unwrap();
    let found: Value = serde_json::from_str(&crate::python::script("check_chrome.py", &[&file])).unwrap();
    let within = count(&traced, &format!("type = 'frame' AND start_ns >= {from} AND start_ns < {until}"));
    assert_eq!(found["calls"], within);
    for wrong in
        ["format=sqlite&start=0&end=9", "format=../x&start=0&end=9", "start=0&end=9", "format=chrome&start=9&end=9"]
    {
        assert_eq!(served.get(&format!("/api/export?{wrong}")).status, 400, "{wrong}");
    }
}

#[test]
fn a_crash_is_what_is_opened() {
    let traced = TracedProgram::trace_running(&crate::program::Program::new("crash.c"), &[], &["segv", "thread"]);
    let served = Served::new(traced.path());
    let about = served.get("/api/session").json();
    assert_eq!(about["opening"]["kind"], "crash");
    assert!(about["opening"]["why"].as_str().unwrap().starts_with("SIGSEGV"), "{about:#}");
    let crash = number(&traced, "SELECT end_ns FROM spans WHERE reason = 'crash' AND name = 'crash_now'");
    let at = crash - about["start_ns"].as_u64().unwrap();
    let range = about["opening"]["start"].as_u64().unwrap()..=about["opening"]["end"].as_u64().unwrap();
    assert!(range.contains(&at), "{at} in {range:?}");
    let chosen = served.get(&format!("/api/span?ref={}", about["opening"]["span"].as_str().unwrap())).json();
    assert_eq!(chosen["details"]["name"], "crash_now", "what it crashed in is chosen: {chosen:#}");
}

#[test]
fn a_session_without_calls_has_a_page_that_says_so() {
    let traced = TracedProgram::trace_with(&crate::program::Program::new("tree.c"), &["--store", "nothing"]);
    let served = Served::new(traced.path());
    let about = served.get("/api/session").json();
    assert_eq!((&about["spans"], &about["events"]), (&0.into(), &0.into()), "{about:#}");
    assert_eq!(served.get("/api/picture?start=0&end=10&width=100&tracks=").status, 200);
    assert_eq!(served.get("/api/coverage").status, 200);
    let said =
        crate::python::script("view_empty.py", &[std::path::Path::new(&served.url), &crate::page::pictures("empty")]);
    assert!(said.contains("nothing is said to be nothing"), "{said}");
}

#[test]
fn a_thread_with_many_calls_is_summed_up_once() {
    let traced =
        TracedProgram::trace_running(&crate::program::Program::new("forever.c"), &[], &["300000", "file", "/"]);
    let summary = traced.derived().join("summary.bin");
    let all = {
        let served = Served::new(traced.path());
        let length = served.get("/api/session").json()["length"].as_u64().unwrap();
        let picture = |start: u64, end: u64, width: u64| {
            let path = format!("/api/picture?start={start}&end={end}&width={width}&tracks=0:0-255");
            Drawn::of(&served.get(&path).body)
        };
        let all = count(&traced, "type = 'frame'");
        let longest = number(&traced, "SELECT max(duration_ns) FROM spans WHERE type = 'frame'");
        for width in [1, 100, 1500] {
            let drawn = picture(0, length + 1, width);
            assert!(drawn.shapes.len() + drawn.strips <= 20_000);
            assert_eq!(drawn.counted(), all, "{width}");
            assert_eq!(drawn.longest() as u64, longest, "{width}");
        }
        // A narrow view is made of the calls themselves: those that begin in it, and those that are open there.
        let first = served.get("/api/session").json()["start_ns"].as_u64().unwrap();
        let step = |number: u32| {
            let sql =
                format!("SELECT start_ns FROM spans WHERE name = 'step' ORDER BY start_ns LIMIT 1 OFFSET {number}");
            self::number(&traced, &sql)
        };
        let (from, until) = (step(150_000), step(150_100));
        let begin = count(&traced, &format!("type = 'frame' AND start_ns >= {from} AND start_ns < {until}"));
        let open = count(&traced, &format!("type = 'frame' AND start_ns < {from} AND end_ns > {from}"));
        assert!(begin >= 100 && open > 1);
        let drawn = picture(from - first, until - first, 20_000);
        assert_eq!(drawn.counted(), begin + open);
        all
    };
    let made = std::fs::metadata(&summary).expect("the summary is kept").modified().unwrap();
    drop(Served::new(traced.path()));
    assert_eq!(std::fs::metadata(&summary).unwrap().modified().unwrap(), made, "and used again");
    let mut bytes = std::fs::read(&summary).unwrap();
    let last = bytes.len() - 40;
    bytes[last] ^= 1;
    std::fs::write(&summary, bytes).unwrap();
    let served = Served::new(traced.path());
    let length = served.get("/api/session").json()["length"].as_u64().unwrap();
    let drawn = Drawn::of(&served.get(&format!("/api/picture?start=0&end={}&width=9&tracks=0:0-255", length + 1)).body);
    assert_eq!(drawn.counted(), all, "a damaged one is made anew");
}
