//! How findings are printed: paths as the user can type them from the session's folder.

use std::path::Path;

use ada_format::atf::{Finding, Session};
use serde::Serialize;

/// A finding as JSON has it.
#[derive(Serialize)]
pub(super) struct FindingJson<'a> {
    path: &'a Path,
    kind: &'static str,
    message: String,
}

/// The finding's file, seen from the session.
pub(super) fn relative<'a>(finding: &'a Finding, session: &Session) -> &'a Path {
    match finding.path.strip_prefix(session.path()) {
        Ok(path) if !path.as_os_str().is_empty() => path,
        _ => &finding.path,
    }
}

/// One line for people.
pub(crate) fn line(finding: &Finding, session: &Session) -> String {
    format!("{}: {}", relative(finding, session).display(), finding.problem)
}

/// One object for programs.
pub(super) fn json<'a>(finding: &'a Finding, session: &Session) -> FindingJson<'a> {
    let path = relative(finding, session);
    FindingJson { path, kind: finding.problem.kind(), message: finding.problem.to_string() }
}
