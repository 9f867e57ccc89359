//! The tools' names, what they are for, and the schemas of what goes in and comes out.

use serde_json::{Map, Value, json};

use super::budget;

/// A tool as it is declared.
pub(super) struct Declared {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// Arguments beside the budget: name, schema, whether it is required.
    arguments: Vec<(&'static str, Value, bool)>,
    /// Fields of what there is one of.
    answer: Vec<(&'static str, Value)>,
    /// Fields of each item.
    item: Vec<(&'static str, Value)>,
}

fn text(about: &str) -> Value {
    json!({ "type": "string", "description": about })
}

fn number(about: &str) -> Value {
    json!({ "type": "integer", "minimum": 0, "description": about })
}

fn some(kind: &str) -> Value {
    json!({ "type": [kind, "null"] })
}

fn session() -> (&'static str, Value, bool) {
    ("session", text("a name that list_sessions gave; the newest session without it"), false)
}

fn cursor() -> (&'static str, Value, bool) {
    ("cursor", text("next_cursor of the answer before, with the same other arguments"), false)
}

/// All tools; `record` only where it is allowed.
pub(super) fn all(allows_record: bool) -> Vec<Declared> {
    let mut tools = vec![
        Declared {
            name: "list_sessions",
            about: "Lists the recorded sessions, the newest first: what was run, how it ended, how much was recorded.",
            arguments: vec![cursor()],
            answer: vec![("count", json!({ "type": "integer" }))],
            item: vec![("session", json!({ "type": "string" })), ("processes", json!({ "type": "array" }))],
        },
        Declared {
            name: "summary",
            about: "What a session is: processes, threads, the functions with the most time, what was lost. Begin here.",
            arguments: vec![session(), cursor()],
            answer: vec![
                ("session", json!({ "type": "string" })),
                ("processes", json!({ "type": "array" })),
                ("duration_ns", json!({ "type": "integer" })),
            ],
            item: vec![("name", json!({ "type": "string" })), ("calls", json!({ "type": "integer" }))],
        },
        Declared {
            name: "findings",
            about: "What may be wrong with the program, the worst first: crashes, hangs, leaks, slow calls, long waits, threads never joined, recursion, hot tiny functions. Each with its rationale and evidence.",
            arguments: vec![
                session(),
                ("symptom", text("what was noticed, in words: 'requests hang', 'memory grows'"), false),
                cursor(),
            ],
            answer: vec![("nothing_fits", some("string")), ("count", json!({ "type": "integer" }))],
            item: vec![
                ("kind", json!({ "type": "string" })),
                ("title", json!({ "type": "string" })),
                ("rationale", json!({ "type": "string" })),
                ("function", some("string")),
                ("evidence", json!({ "type": "array", "items": { "type": "string" } })),
            ],
        },
        Declared {
            name: "spans",
            about: "Lists calls, threads and callbacks by conditions; neighbours that are alike are folded into one item with how many there are and an exemplar.",
            arguments: vec![
                session(),
                ("function", text("only functions whose name matches; wildcards * and ?"), false),
                ("module", text("only modules whose file name matches"), false),
                ("thread_id", number("only this thread"), false),
                ("status", text("completed, exited, canceled, unmatched, open or entry_only"), false),
                (
                    "reason",
                    text(
                        "tail_call, exception, unwind, canceled, crash, timeout, process_exit, dropped, attached_midway",
                    ),
                    false,
                ),
                ("type", json!({ "type": "string", "enum": ["frame", "logical"] }), false),
                ("min_duration_ns", number("only spans that took at least so long"), false),
                ("since_ns", number("only spans that began at or after this moment of the trace's clock"), false),
                ("until_ns", number("only spans that began before this"), false),
                (
                    "where",
                    text(
                        "only calls whose captured values are so: port == 8081 and result < 0; path ~ /etc; errno == ENOENT",
                    ),
                    false,
                ),
                ("sort", json!({ "type": "string", "enum": ["start", "duration", "self"] }), false),
                ("fold", json!({ "type": "boolean", "description": "false lists each span alone" }), false),
                cursor(),
            ],
            answer: vec![("session", json!({ "type": "string" }))],
            item: vec![
                ("span_id", json!({ "type": "string" })),
                ("name", json!({ "type": "string" })),
                ("count", json!({ "type": "integer" })),
                ("duration_ns", json!({ "type": "integer" })),
            ],
        },
        Declared {
            name: "tree",
            about: "The tree of calls, repeats folded, from the outermost calls or from a function on.",
            arguments: vec![
                session(),
                ("function", text("begin at functions whose name matches"), false),
                ("thread_id", number("only this thread"), false),
                ("depth", number("how many levels"), false),
                ("min_duration_ns", number("leave out lines with less time"), false),
                cursor(),
            ],
            answer: vec![("session", json!({ "type": "string" }))],
            item: vec![
                ("level", json!({ "type": "integer" })),
                ("name", json!({ "type": "string" })),
                ("count", json!({ "type": "integer" })),
                ("total_ns", json!({ "type": "integer" })),
                ("first_span_id", json!({ "type": "string" })),
            ],
        },
        Declared {
            name: "neighbourhood",
            about: "All that is known of a span, event, thread or function, with what called it, what it called, and what came before and after.",
            arguments: vec![
                session(),
                ("reference", text("such as frame:4712:90, event:4712:91, thread:4712, function:1:42"), true),
            ],
            answer: vec![("reference", json!({ "type": "string" }))],
            item: vec![("field", json!({ "type": "string" }))],
        },
        Declared {
            name: "function_stats",
            about: "Calls, total, self and percentiles of functions.",
            arguments: vec![
                session(),
                ("function", text("only functions whose name matches; wildcards * and ?"), false),
                ("module", text("only this module"), false),
                ("sort", json!({ "type": "string", "enum": ["self", "total", "calls", "p99", "max"] }), false),
                cursor(),
            ],
            answer: vec![("session", json!({ "type": "string" }))],
            item: vec![
                ("name", json!({ "type": "string" })),
                ("calls", json!({ "type": "integer" })),
                ("self_ns", json!({ "type": "integer" })),
                ("reference", json!({ "type": "string" })),
            ],
        },
        Declared {
            name: "events",
            about: "Recorded events of a thread in their order, with arguments and return values where registers were recorded.",
            arguments: vec![
                session(),
                ("thread_id", number("the thread"), true),
                ("from_seq", number("the first event's position"), false),
                ("function", text("only functions whose name matches; wildcards * and ?"), false),
                cursor(),
            ],
            answer: vec![("session", json!({ "type": "string" }))],
            item: vec![
                ("event_id", json!({ "type": "string" })),
                ("kind", json!({ "type": "string" })),
                ("name", json!({ "type": "string" })),
            ],
        },
        Declared {
            name: "source",
            about: "File and line of functions, from debug information with the recorded module's build-id.",
            arguments: vec![
                session(),
                ("function", text("functions whose name matches; wildcards * and ?"), true),
                cursor(),
            ],
            answer: vec![("session", json!({ "type": "string" }))],
            item: vec![("name", json!({ "type": "string" })), ("file", some("string")), ("line", some("integer"))],
        },
        Declared {
            name: "query",
            about: "SQL over the session, read-only, SQLite's dialect. Tables: spans, events, functions, modules, threads, processes, hooks, drops, windows, details, arguments (what calls were given and gave back), links; table functions: ancestors(span_id), descendants(span_id), overlaps(t0, t1), critical_path(span_id), stats(columns, condition), which sums over any number of spans fast. DESCRIBE TABLE lists columns.",
            arguments: vec![session(), ("sql", text("one statement"), true), cursor()],
            answer: vec![("columns", json!({ "type": "array", "items": { "type": "string" } }))],
            item: vec![("row", json!({ "type": "array" }))],
        },
        Declared {
            name: "was_called",
            about: "Was a function called? yes (how often, when), no (it was hooked all the time and nothing was dropped), or unknown, and why.",
            arguments: vec![
                session(),
                ("function", text("its name, demangled or as linkers spell it; wildcards * and ?"), true),
                cursor(),
            ],
            answer: vec![
                ("answer", json!({ "type": "string", "enum": ["yes", "no", "unknown"] })),
                ("because", json!({ "type": "string" })),
            ],
            item: vec![
                ("function", json!({ "type": "string" })),
                ("answer", json!({ "type": "string", "enum": ["yes", "no", "unknown"] })),
                ("calls", json!({ "type": "integer" })),
            ],
        },
        Declared {
            name: "why_slow",
            about: "Why a span took so long: compared with others of its function, what its time went into, and the critical path across threads.",
            arguments: vec![session(), ("span_id", text("the span, as other tools name it"), true)],
            answer: vec![
                ("span_id", json!({ "type": "string" })),
                ("duration_ns", json!({ "type": "integer" })),
                ("because", json!({ "type": "array", "items": { "type": "string" } })),
            ],
            item: vec![("name", json!({ "type": "string" })), ("span_id", json!({ "type": "string" }))],
        },
    ];
    if allows_record {
        tools.push(Declared {
            name: "record",
            about: "Runs a program with every function traced, and gives the new session's name.",
            arguments: vec![
                ("command", json!({ "type": "array", "items": { "type": "string" }, "minItems": 1, "description": "the program and its arguments" }), true),
                ("max_seconds", number("end the program after so long; 60 without it, 600 at most"), false),
                ("detail", json!({ "type": "string", "enum": ["off", "windows", "all"], "description": "whether registers and stack are recorded" }), false),
            ],
            answer: vec![("session", some("string")), ("exit_code", some("integer"))],
            item: vec![("stream", json!({ "type": "string" })), ("text", json!({ "type": "string" }))],
        });
    }
    tools
}

impl Declared {
    /// The schema of its arguments.
    pub(super) fn input(&self) -> Map<String, Value> {
        let mut properties = Map::new();
        let budget = json!({
            "type": "integer", "minimum": budget::SMALLEST, "maximum": budget::LARGEST, "default": budget::USUAL,
            "description": "about how many tokens the answer may have",
        });
        properties.insert("token_budget".into(), budget);
        let mut required = Vec::new();
        for (name, schema, is_required) in &self.arguments {
            properties.insert((*name).into(), schema.clone());
            if *is_required {
                required.push(Value::from(*name));
            }
        }
        object(properties, required, false)
    }

    /// The schema of its answers.
    pub(super) fn output(&self) -> Map<String, Value> {
        let fields = |them: &[(&'static str, Value)]| {
            let properties = them.iter().map(|(name, schema)| ((*name).into(), schema.clone())).collect();
            Value::Object(object(properties, them.iter().map(|(name, _)| (*name).into()).collect(), true))
        };
        let mut properties = Map::new();
        let mut put = |name: &str, schema: Value| properties.insert(name.into(), schema);
        put("answer", fields(&self.answer));
        put("items", json!({ "type": "array", "items": fields(&self.item) }));
        put("did_truncate", json!({ "type": "boolean", "description": "whether something was left out or cut" }));
        put("next_cursor", json!({ "type": ["string", "null"], "description": "goes on behind the last item" }));
        put(
            "caveats",
            json!({ "type": "array", "items": { "type": "string" }, "description": "what the trace does not have" }),
        );
        put("token_budget", json!({ "type": "integer" }));
        let required = properties.keys().map(|name| name.clone().into()).collect();
        object(properties, required, false)
    }
}

fn object(properties: Map<String, Value>, required: Vec<Value>, is_open: bool) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.into());
    schema.insert("required".into(), required.into());
    schema.insert("additionalProperties".into(), is_open.into());
    schema
}
