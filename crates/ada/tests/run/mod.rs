//! Runs the `ada` executable.

mod bounded;

pub(crate) use bounded::{Started, bounded};

use std::ffi::OsStr;
use std::process::{Command, Output};

/// The `ada` that this test run has built. It asks no server of debug files that whoever runs the tests has named.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ada"));
    command.env_remove("DEBUGINFOD_URLS");
    command
}

/// The same, with signals that end programs: whoever runs the tests in the background may ignore some.
#[allow(dead_code, reason = "some of the test targets that share this use it")]
pub(crate) fn command_that_signals_end() -> Command {
    let mut command = Command::new("env");
    command.env_remove("DEBUGINFOD_URLS");
    command.args(["--default-signal=INT,HUP,TERM", env!("CARGO_BIN_EXE_ada")]);
    command
}

/// Runs `ada` to its end and gives what it printed.
pub(crate) fn ada(args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Output {
    command().args(args).output().expect("ada starts")
}

/// What a command printed, as text.
pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("ada prints UTF-8")
}
