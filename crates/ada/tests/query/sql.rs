//! Tables and functions say the same as the commands and as each other.

use serde_json::Value;

use crate::asked::{number, query, rows, value};
use crate::program::Program;
use crate::run;
use crate::traced_program::TracedProgram;

#[test]
fn spans_are_those_of_the_command() {
    let traced = TracedProgram::trace(&Program::new("thread_tree.c").flags(&["-pthread"]));
    let mut listed: Vec<String> = traced
        .spans(&["--type", "frame"])
        .iter()
        .chain(&traced.spans(&["--type", "logical"]))
        .map(|it| format!("{} {} {} {}", it["span_id"], it["start_ns"], it["duration_ns"], it["status"]))
        .collect();
    let asked = rows(&traced, "SELECT span_id, start_ns, duration_ns, status FROM spans");
    let mut asked: Vec<String> = asked
        .iter()
        .map(|it| format!("{} {} {} {}", it["span_id"], it["start_ns"], it["duration_ns"], it["status"]))
        .collect();
    listed.sort();
    asked.sort();
    assert_eq!(asked, listed);
}

#[test]
fn what_is_pushed_down_is_what_sqlite_finds_itself() {
    let traced = TracedProgram::trace(&Program::new("thread_tree.c").flags(&["-pthread"]));
    let start = number(&traced, "SELECT min(start_ns) + 100000 FROM spans");
    let thread = number(&traced, "SELECT max(thread_id) FROM threads");
    for condition in [
        "name = 'main'".to_owned(),
        "name LIKE 'PTHREAD%'".to_owned(),
        "name GLOB '*mutex*'".to_owned(),
        "name GLOB '[pm]*'".to_owned(),
        "module = 'libc.so.6'".to_owned(),
        format!("thread_id = {thread}"),
        format!("start_ns > {start}"),
        format!("start_ns <= {start}.5"),
        format!("end_ns < {start}"),
        "duration_ns >= 1000 AND duration_ns < 50000".to_owned(),
        "self_ns > 500".to_owned(),
        "depth = 2".to_owned(),
        "status <> 'completed'".to_owned(),
        "reason = 'tail_call'".to_owned(),
        "reason IS NULL".to_owned(),
        "type = 'logical'".to_owned(),
        "runtime = 'pthread'".to_owned(),
        "duration_ns > '1000'".to_owned(),
        "name = 'MAIN' COLLATE NOCASE".to_owned(),
        "name = 'main' OR depth > 3".to_owned(),
        "name IN ('main', 'pthread_create')".to_owned(),
        "name = 5".to_owned(),
    ] {
        let pushed = number(&traced, &format!("SELECT count(*) FROM spans WHERE {condition}"));
        // A plus sign keeps a condition from being pushed down.
        let hidden = "SELECT +name AS name, +module AS module, +thread_id AS thread_id, +start_ns AS start_ns, \
                      +end_ns AS end_ns, +duration_ns AS duration_ns, +self_ns AS self_ns, +depth AS depth, \
                      +status AS status, +reason AS reason, +type AS type, +runtime AS runtime FROM spans";
        let plain = condition.replace("duration_ns > '1000'", "duration_ns > 1000");
        let itself =
            number(&traced, &format!("SELECT count(*) FROM (SELECT * FROM ({hidden}) LIMIT -1) WHERE {plain}"));
        assert_eq!(pushed, itself, "{condition}");
    }
}

#[test]
fn stats_are_what_group_by_gives() {
    let traced = TracedProgram::trace(&Program::new("thread_tree.c").flags(&["-pthread"]));
    for (by, condition) in [
        ("name", "1"),
        ("thread_id, status", "1"),
        ("module", "duration_ns > 2000"),
        ("name, depth", "NOT (name LIKE 'p%' OR depth BETWEEN 2 AND 4)"),
        ("type, runtime, reason", "1"),
        ("status", "reason IS NOT NULL AND name NOT IN ('main', 'exit')"),
    ] {
        let grouped = rows(
            &traced,
            &format!(
                "SELECT {by}, count(*) AS n, sum(duration_ns) AS s1, sum(self_ns) AS s2, min(duration_ns) AS s3, \
                 max(duration_ns) AS s4 FROM (SELECT * FROM spans) WHERE {condition} GROUP BY {by}"
            ),
        );
        let quoted = if condition == "1" { String::new() } else { format!(", '{}'", condition.replace('\'', "''")) };
        let keys = ["key1", "key2", "key3"][..by.split(',').count()].join(", ");
        // Fields come in the order of their names, so that both have to have the same.
        let keys: Vec<String> =
            keys.split(", ").zip(by.split(", ")).map(|(key, column)| format!("{key} AS {column}")).collect();
        let keys = keys.join(", ");
        let summed = rows(
            &traced,
            &format!(
                "SELECT {keys}, count AS n, total_ns AS s1, self_ns AS s2, min_ns AS s3, max_ns AS s4 FROM stats('{by}'{quoted})"
            ),
        );
        let lines = |rows: &[Value]| {
            let mut lines: Vec<String> = rows
                .iter()
                .map(|row| {
                    let cells = row.as_object().expect("a row is an object").values();
                    // Keys are texts in stats, whatever their columns are.
                    cells
                        .map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned))
                        .collect::<Vec<_>>()
                        .join("|")
                })
                .collect();
            lines.sort();
            lines
        };
        assert_eq!(lines(&summed), lines(&grouped), "{by} where {condition}");
        assert!(!grouped.is_empty(), "{by} where {condition}");
    }
}

/// What is grouped beside SQLite is what SQLite makes of the same rows.
#[test]
fn groups_of_spans_and_events_are_those_of_sqlite() {
    let traced = TracedProgram::trace(&Program::new("thread_tree.c").flags(&["-pthread"]));
    for (select, table, rest) in [
        ("name, count(*) n, sum(duration_ns), avg(self_ns)", "spans", "GROUP BY name"),
        ("thread_id, status, count(*), min(start_ns), max(end_ns)", "spans", "GROUP BY thread_id, status"),
        ("type, depth, count(depth), count(self_ns), total(self_ns)", "spans", "GROUP BY type, depth"),
        ("reason, count(*)", "spans", "WHERE duration_ns > 1000 OR name LIKE 'p%' GROUP BY reason"),
        ("start_ns/100000 AS t, count(*)", "spans", "GROUP BY t HAVING count(*) > 1"),
        ("start_ns, end_ns, count(*)", "spans", "GROUP BY start_ns, end_ns"),
        ("duration_ns, name, count(*)", "spans", "GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 7 OFFSET 2"),
        ("count(*), sum(depth), max(duration_ns)", "spans", ""),
        ("count(*), sum(depth), max(duration_ns)", "spans", "WHERE name = 'nobody'"),
        ("kind, count(*)", "events", "GROUP BY kind"),
        ("name, kind, count(*)", "events", "WHERE kind <> 'call' OR module LIKE '%libc%' GROUP BY name, kind"),
        ("module, count(*)", "events", "GROUP BY module HAVING count(*) > 100"),
        ("count(*)", "events", "WHERE name LIKE 'p%'"),
        ("kind, count(*)", "events", "WHERE thread_id % 2 = 0 GROUP BY kind"),
        ("thread_id, count(*)", "events", "GROUP BY thread_id"),
        ("kind, count(*), min(time_ns), avg(seq)", "events", "GROUP BY kind"),
        ("name, kind, count(*), max(depth)", "events", "GROUP BY name, kind"),
        ("module, has_detail, count(*)", "events", "GROUP BY module, has_detail"),
        ("thread_id, depth, count(*)", "events", "WHERE kind = 'call' AND depth BETWEEN 1 AND 6 GROUP BY 1, 2"),
        ("seq, time_ns, count(*)", "events", "GROUP BY seq, time_ns ORDER BY time_ns DESC LIMIT 9"),
        ("upper(function_id), count(*) * 2", "events", "WHERE time_ns > 1 GROUP BY function_id"),
        ("count(*), min(time_ns), max(seq)", "events", "WHERE has_detail = 0"),
    ] {
        let of = |table: &str| {
            let rows = rows(&traced, &format!("SELECT {select} FROM {table} {rest}"));
            let mut lines: Vec<String> = rows.iter().map(Value::to_string).collect();
            if !rest.contains("ORDER BY") {
                lines.sort();
            }
            lines
        };
        let (grouped, itself) = (of(table), of(&format!("(SELECT * FROM {table})")));
        assert_eq!(grouped, itself, "{select} FROM {table} {rest}");
        assert!(!grouped.is_empty(), "{select} FROM {table} {rest}");
    }
}

#[test]
fn functions_sum_up_their_spans() {
    let traced = TracedProgram::trace(&Program::new("tree.c"));
    let differing = number(
        &traced,
        "SELECT count(*) FROM functions f WHERE calls <> (SELECT count(*) FROM spans s WHERE s.type = 'frame' AND \
         s.function_id = f.function_id)",
    );
    assert_eq!(differing, 0);
    assert_eq!(value(&traced, "SELECT sum(calls) FROM functions"), value(&traced, "SELECT sum(spans) FROM processes"));
    assert_eq!(value(&traced, "SELECT count(*) FROM events"), value(&traced, "SELECT sum(events) FROM processes"));
    let calls = number(&traced, "SELECT count(*) FROM events WHERE kind = 'call'");
    assert_eq!(calls, number(&traced, "SELECT sum(kind = 'call') FROM events"));
    assert!(number(&traced, "SELECT count(*) FROM hooks WHERE verdict = 'hooked'") > 100);
    assert!(number(&traced, "SELECT count(*) FROM modules") >= 2);
}

#[test]
fn a_span_leads_to_its_relatives() {
    let traced = TracedProgram::trace(&Program::new("thread_tree.c").flags(&["-pthread"]));
    let leaf = value(&traced, "SELECT span_id FROM spans WHERE type = 'frame' ORDER BY depth DESC, start_ns LIMIT 1");
    let leaf = leaf.as_str().unwrap();
    let depth = number(&traced, &format!("SELECT depth FROM spans WHERE span_id = '{leaf}'"));
    let own_thread = format!("(SELECT thread_id FROM spans WHERE span_id = '{leaf}')");
    let above = number(
        &traced,
        &format!("SELECT count(*) FROM ancestors('{leaf}') WHERE type = 'frame' AND thread_id = {own_thread}"),
    );
    assert!(above <= depth && above > 0, "{above} of {depth}");
    let main = value(&traced, "SELECT span_id FROM spans WHERE name = 'main'");
    let main = main.as_str().unwrap();
    let (start, end) = (
        number(&traced, &format!("SELECT start_ns FROM spans WHERE span_id = '{main}'")),
        number(&traced, &format!("SELECT end_ns FROM spans WHERE span_id = '{main}'")),
    );
    let below = number(&traced, &format!("SELECT count(*) FROM descendants('{main}')"));
    let expected = number(
        &traced,
        &format!(
            "WITH RECURSIVE below(id) AS (SELECT '{main}' UNION ALL SELECT span_id FROM spans, below \
             WHERE parent_span_id = below.id AND type = 'frame') SELECT count(*) - 1 FROM below"
        ),
    );
    assert_eq!(below, expected);
    let overlapping = number(&traced, &format!("SELECT count(*) FROM overlaps({start}, {end})"));
    let by_hand = number(&traced, &format!("SELECT count(*) FROM spans WHERE start_ns <= {end} AND end_ns >= {start}"));
    assert_eq!(overlapping, by_hand);
    // The path's own times are the span's duration, and it goes through threads that main waited for.
    let total = number(&traced, &format!("SELECT sum(own_ns) FROM critical_path('{main}')"));
    assert_eq!(total, end - start);
    let joined = number(&traced, &format!("SELECT count(*) FROM critical_path('{main}') WHERE via = 'join'"));
    assert!(joined > 0);
}

#[test]
fn threads_and_links_agree() {
    let traced = TracedProgram::trace(&Program::new("thread_tree.c").flags(&["-pthread"]));
    let threads = number(&traced, "SELECT count(*) FROM threads WHERE create_span_id IS NOT NULL");
    assert!(threads > 0);
    assert_eq!(threads, number(&traced, "SELECT count(*) FROM links WHERE kind = 'create'"));
    let unknown = "SELECT count(*) FROM links WHERE from_span_id NOT IN (SELECT span_id FROM spans)";
    assert_eq!(number(&traced, unknown), 0);
}

#[test]
fn registers_are_a_table() {
    let traced = TracedProgram::trace_with_registers(&Program::new("callbacks.c"));
    let details = number(&traced, "SELECT count(*) FROM details");
    assert!(details > 0);
    assert_eq!(details, number(&traced, "SELECT count(*) FROM events WHERE has_detail"));
    let one = rows(&traced, "SELECT event_id FROM details WHERE name = 'main' AND kind = 'call'");
    let id = one[0]["event_id"].as_str().unwrap();
    assert_eq!(number(&traced, &format!("SELECT count(*) FROM details WHERE event_id = '{id}'")), 1);
}

#[test]
fn several_sessions_are_distinguished() {
    let (first, second) = (
        TracedProgram::trace(&Program::new("tree.c")),
        TracedProgram::trace(&Program::new("thread_tree.c").flags(&["-pthread"])),
    );
    let sql = "SELECT session, count(*) AS n FROM spans GROUP BY session ORDER BY session";
    let output = query(&first, &[second.path().to_str().unwrap(), sql, "--format", "json"]);
    let both: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(both.len(), 2, "{both:?}");
    let mut counts: Vec<i64> = both.iter().map(|it| it["n"].as_i64().unwrap()).collect();
    let mut expected =
        vec![number(&first, "SELECT count(*) FROM spans"), number(&second, "SELECT count(*) FROM spans")];
    counts.sort();
    expected.sort();
    assert_eq!(counts, expected);
}

#[test]
fn functions_of_our_own() {
    let traced = TracedProgram::trace(&Program::new("tree.c"));
    assert_eq!(value(&traced, "SELECT demangle('_ZN3foo3barEi')"), "foo::bar(int)");
    assert_eq!(value(&traced, "SELECT duration(1500)"), "1.50 µs");
    let numbers = "(SELECT 1 AS v UNION SELECT 2 UNION SELECT 3 UNION SELECT 10)";
    assert_eq!(number(&traced, &format!("SELECT percentile(v, 75) FROM {numbers}")), 3);
    assert_eq!(number(&traced, &format!("SELECT median(v) FROM {numbers}")), 2);
    assert_eq!(number(&traced, &format!("SELECT p99(v) FROM {numbers}")), 10);
}

#[test]
fn mistakes_are_pointed_at_with_a_suggestion() {
    let traced = TracedProgram::trace(&Program::new("tree.c"));
    for (sql, words) in [
        ("SELECT duratoin_ns FROM spans", "did you mean duration_ns?\n  SELECT duratoin_ns FROM spans\n         ^"),
        ("SELECT 1;\nSELECT dept FROM spans", "did you mean depth?\n  SELECT dept FROM spans\n         ^"),
        // Another table has such a column, which is no help.
        ("SELECT seq FROM spans", "no such column: seq\n  SELECT seq FROM spans\n         ^"),
        ("SELECT * FROM span", "did you mean spans?"),
        ("SELECT persentile(1, 2)", "did you mean percentile?"),
        ("SELECT * FROM stats('nmae')", "did you mean name?"),
        ("SELECT * FROM stats('name', 'dept > 3')", "did you mean depth?"),
        ("SELECT * FROM ancestors('frame:1:2:3')", "a reference is"),
        ("SELECT * FRM spans", "syntax error"),
        ("SELECT 1; SELECT 2", "one statement"),
    ] {
        let output = query(&traced, &[sql]);
        assert_eq!(output.status.code(), Some(2), "{sql}");
        let said = run::text(&output.stderr);
        assert!(said.contains(words), "{sql}: {said}");
        assert!(output.stdout.is_empty(), "{sql}");
    }
}

#[test]
fn every_format_has_all_rows() {
    let traced = TracedProgram::trace(&Program::new("tree.c"));
    let sql = "SELECT name, calls FROM functions ORDER BY name";
    let count = rows(&traced, sql).len();
    for (format, extra) in [("table", 1), ("csv", 1), ("ndjson", 0)] {
        let output = query(&traced, &[sql, "--format", format]);
        assert_eq!(run::text(&output.stdout).lines().count(), count + extra, "{format}");
    }
    let in_order = query(&traced, &["SELECT 2 AS b, 1 AS a", "--format", "ndjson"]);
    assert_eq!(run::text(&in_order.stdout), "{\"b\":2,\"a\":1}\n");
    let cut = query(&traced, &[sql, "--format", "csv", "--max-rows", "3"]);
    assert_eq!(run::text(&cut.stdout).lines().count(), 4);
    assert!(run::text(&cut.stderr).contains("more than 3 rows"));
}

#[test]
fn the_schema_describes_every_column() {
    let traced = TracedProgram::trace(&Program::new("tree.c"));
    let output = run::ada(["query", "--schema"]);
    let schema = run::text(&output.stdout);
    for row in rows(&traced, "SELECT table_name, column_name, about FROM ada_schema") {
        let column = row["column_name"].as_str().unwrap();
        assert!(!row["about"].as_str().unwrap().is_empty(), "{column}");
        assert!(schema.contains(column), "{column}");
        let table = row["table_name"].as_str().unwrap();
        if !table.contains('(') {
            rows(&traced, &format!("SELECT {column} FROM {table} LIMIT 1"));
        }
    }
    let described = rows(&traced, "DESCRIBE spans");
    assert!(described.iter().any(|it| it["column_name"] == "duration_ns"));
}

/// What is put to stats has the answer that SQLite gives where it has to group itself.
#[test]
fn groups_are_the_same_whoever_makes_them() {
    let traced = TracedProgram::trace(&Program::new("threads.c").flags(&["-pthread"]));
    let ask = |sql: &str| rows(&traced, sql);
    for question in [
        "name, count(*), sum(duration_ns), sum(self_ns), min(duration_ns), max(duration_ns) FROM SPANS GROUP BY name",
        "type, status, count(*) AS n, avg(duration_ns) FROM SPANS GROUP BY type, status ORDER BY n DESC, type, status",
        "thread_id, sum(self_ns) FROM SPANS WHERE depth > 2 AND name LIKE '%read%' GROUP BY thread_id ORDER BY thread_id DESC",
        "reason, count(*) FROM SPANS GROUP BY reason",
        "runtime, sum(self_ns), count(*) FROM SPANS WHERE type = 'logical' GROUP BY runtime",
        "depth, count(*) FROM SPANS GROUP BY depth ORDER BY count(*) DESC, depth LIMIT 3",
    ] {
        let by_stats = ask(&format!("SELECT {}", question.replace("SPANS", "spans")));
        let by_sqlite = ask(&format!("SELECT {}", question.replace("SPANS", "(SELECT * FROM spans)")));
        assert!(!by_stats.is_empty(), "{question}");
        assert_eq!(by_stats, by_sqlite, "{question}");
    }
}
