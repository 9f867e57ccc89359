//! Standard input, which is read once for all runs.

use std::io::{IsTerminal, Read};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::Context;

use crate::exit::say;

/// After this time it is said what ada waits for.
const SILENCE: Duration = Duration::from_secs(1);

/// All of standard input; nothing from a terminal.
pub(crate) fn read() -> anyhow::Result<Vec<u8>> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Ok(Vec::new());
    }
    let (done, is_done) = mpsc::channel::<()>();
    let impatience = std::thread::spawn(move || {
        if is_done.recv_timeout(SILENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            say(format_args!(
                "ada: reading standard input to its end, which every run is given; </dev/null gives none\n"
            ));
        }
    });
    let mut input = Vec::new();
    let read = stdin.lock().read_to_end(&mut input).context("cannot read standard input");
    drop(done);
    let _ = impatience.join();
    read.map(|_| input)
}
