//! Where printed calls go.

use std::io::{self, Write};

use crate::exit::say;

/// Lines that go to a file. Where it cannot be written, that is said once, and the recording goes on.
pub(super) struct PrintedLines<W> {
    pub(super) to: W,
    pub(super) has_failed: bool,
}

impl<W: Write> Write for PrintedLines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.has_failed
            && let Err(error) = self.to.write_all(bytes)
        {
            self.has_failed = true;
            say(format_args!("ada: no more calls are printed: {error}\n"));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
