//! How a command ends: what goes to stderr, and the exit code.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Error;

/// What a command that ran to its end has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All is well.
    Clean,
    /// The command did its work, and what it looked at is damaged or incomplete.
    Findings,
    /// What was asked cannot be said of this input.
    Undecided,
    /// The exit code of the program that was traced.
    Traced(u8),
    /// The signal that killed the program that was traced.
    Killed(i32),
}

/// Says whose fault an error is, for the exit code: without this, the input's (3).
pub(crate) trait Blame<T> {
    /// The output, or a connection, failed: exit code 4. The words say what was being done, and what to do now.
    fn output_failed(self, words: impl FnOnce() -> String) -> anyhow::Result<T>;

    /// What the user typed is wrong: exit code 2.
    fn mistyped(self) -> anyhow::Result<T>;

    /// The program was not traced: one of the codes that `timeout`, `env` and shells use for what they could not run.
    fn not_traced(self, code: u8) -> anyhow::Result<T>;
}

impl<T, E: Into<Error>> Blame<T> for Result<T, E> {
    fn output_failed(self, words: impl FnOnce() -> String) -> anyhow::Result<T> {
        self.map_err(|error| Error::new(Blamed { words: words(), cause: Some(error.into()), code: OUTPUT_FAILED }))
    }

    fn mistyped(self) -> anyhow::Result<T> {
        self.not_traced(MISTYPED)
    }

    fn not_traced(self, code: u8) -> anyhow::Result<T> {
        self.map_err(|error| {
            let words = format!("{:#}", error.into());
            Error::new(Blamed { words, cause: None, code })
        })
    }
}

const OUTPUT_FAILED: u8 = 4;
const MISTYPED: u8 = 2;

/// An error that is not the input's.
#[derive(Debug)]
struct Blamed {
    words: String,
    cause: Option<Error>,
    code: u8,
}

impl fmt::Display for Blamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl std::error::Error for Blamed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_ref().map(AsRef::as_ref)
    }
}

/// Says something on stderr. Where nobody listens any more (a closed pipe, a full disk) the work goes on all the same,
/// which `eprint!` would end with a panic; the exit code still says so.
pub(crate) fn say(words: fmt::Arguments<'_>) {
    // In one piece, so that lines of several threads or processes do not mix.
    let _ = io::stderr().lock().write_all(words.to_string().as_bytes());
}

/// Prints an error once, in one line, and turns the command's end into its exit code.
pub(crate) fn report(end: anyhow::Result<Outcome>) -> ExitCode {
    match end {
        Ok(Outcome::Clean) => ExitCode::SUCCESS,
        Ok(Outcome::Findings) => ExitCode::from(1),
        Ok(Outcome::Undecided) => ExitCode::from(3),
        Ok(Outcome::Traced(code)) => ExitCode::from(code),
        // Whoever waits for the program sees it die, as without ada.
        Ok(Outcome::Killed(signal)) => {
            ada_control::die_by(signal);
            ExitCode::from(killed_by(signal))
        }
        // The reader of our output has seen enough (`ada … | head`): not worth a word.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            say(format_args!("ada: {error:#}\n"));
            ExitCode::from(error.downcast_ref::<Blamed>().map_or(3, |blamed| blamed.code))
        }
    }
}

/// What shells make of a signal that killed a program.
pub(crate) fn killed_by(signal: i32) -> u8 {
    128_u8.saturating_add(signal as u8)
}

fn is_broken_pipe(error: &Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
