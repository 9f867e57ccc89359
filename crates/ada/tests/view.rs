//! The timeline: exports to other tools, imports from them, the page's server, and the page itself in Chromium.

#[allow(dead_code, reason = "shared with the other test target, which uses the rest")]
#[path = "trace/program.rs"]
mod program;
#[allow(dead_code, reason = "shared with the other test target, which uses the rest")]
#[path = "query/python.rs"]
mod python;
#[allow(dead_code, reason = "shared with the other test target, which uses the rest")]
#[allow(unused_imports, reason = "shared with the other test target, which uses the rest")]
mod run;
#[allow(dead_code, reason = "shared with the other test target, which uses the rest")]
#[path = "spans/traced_program.rs"]
mod traced_program;

#[allow(dead_code, reason = "shared with the other test target, which uses the rest")]
#[path = "swift/toolchain.rs"]
mod toolchain;

#[path = "view/exports.rs"]
mod exports;
#[path = "view/heph.rs"]
mod heph;
#[path = "view/live.rs"]
mod live;
#[path = "view/output.rs"]
mod output;
#[path = "view/page.rs"]
mod page;
#[path = "view/requests.rs"]
mod requests;
#[path = "view/served.rs"]
mod served;
