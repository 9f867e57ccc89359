//! The servers of debug files that the user has named.

use std::io::{self, IsTerminal};
use std::sync::Arc;

use ada_control::Debuginfod;

use crate::exit::say;

/// Those of the environment, if it names any. What there is to say goes to stderr.
pub(crate) fn of_environment(is_quiet: bool) -> Option<Arc<Debuginfod>> {
    // A line that shows how something goes on may be there.
    let clear = if io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
    let say = move |words: &str| say(format_args!("{clear}ada: {words}\n"));
    Debuginfod::from_environment(is_quiet, say).map(Arc::new)
}
