//! Questions to real traces: SQL, findings, exports, and the server for agents.

#[path = "spans/go_program.rs"]
mod go_program;
#[allow(dead_code, reason = "shared with the other test target, which uses the rest")]
#[path = "trace/program.rs"]
mod program;
#[allow(dead_code, reason = "shared with the other test target, which uses the rest")]
#[allow(unused_imports, reason = "shared with the other test target, which uses the rest")]
mod run;
#[allow(dead_code, reason = "shared with the other test target, which uses the rest")]
#[path = "spans/traced_program.rs"]
mod traced_program;

#[path = "query/asked.rs"]
mod asked;
#[path = "query/debug_server.rs"]
mod debug_server;
#[path = "query/debuginfod.rs"]
mod debuginfod;
#[path = "query/exports.rs"]
mod exports;
#[path = "query/fleet.rs"]
mod fleet;
#[path = "query/go_values.rs"]
mod go_values;
#[path = "query/leaks.rs"]
mod leaks;
#[path = "query/mcp.rs"]
mod mcp;
#[path = "query/python.rs"]
mod python;
#[path = "query/read_only.rs"]
mod read_only;
#[path = "query/seeded.rs"]
mod seeded;
#[path = "query/sql.rs"]
mod sql;
#[path = "query/text_places.rs"]
mod text_places;
#[path = "query/values.rs"]
mod values;
