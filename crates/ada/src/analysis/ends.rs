//! How a process ended, in words.

use ada_format::atf::Manifest;
use ada_query::signal_name;

/// `exit code 0`, `killed by SIGTERM`.
pub(crate) fn end_words(manifest: &Manifest) -> String {
    match &manifest.exit {
        Some(exit) if exit.signal.is_some() => format!("killed by {}", signal_name(exit.signal.unwrap_or_default())),
        Some(exit) if exit.code.is_some() => format!("exit code {}", exit.code.unwrap_or_default()),
        Some(_) => "ended, nobody knows how".to_owned(),
        None if manifest.finished == Some(false) => "the recording was cut short".to_owned(),
        None => "still running when the recording ended".to_owned(),
    }
}
