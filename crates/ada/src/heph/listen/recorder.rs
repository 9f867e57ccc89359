//! The file that packets are written to.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::num::NonZeroU64;

use super::stop::Stop;

/// Writes whole packets, and asks to stop when there are enough, or when writing fails.
pub(super) struct Recorder {
    output: BufWriter<File>,
    stop: Stop,
    limit: u64,
    recorded: Recorded,
    failure: Option<io::Error>,
}

/// What is in the file.
#[derive(Clone, Copy, Default)]
pub(super) struct Recorded {
    pub(super) packets: u64,
    pub(super) bytes: u64,
}

impl Recorder {
    pub(super) fn new(output: File, limit: Option<NonZeroU64>, stop: Stop) -> Self {
        Self {
            output: BufWriter::with_capacity(1 << 20, output),
            stop,
            limit: limit.map_or(u64::MAX, NonZeroU64::get),
            recorded: Recorded::default(),
            failure: None,
        }
    }

    /// Whether no more packets are taken.
    pub(super) const fn is_closed(&self) -> bool {
        self.failure.is_some() || self.recorded.packets >= self.limit
    }

    /// Writes a packet, unless the recorder is closed. Says whether it did.
    pub(super) fn record(&mut self, packet: &[u8]) -> bool {
        if self.is_closed() {
            return false;
        }
        match self.output.write_all(packet) {
            Ok(()) => {
                self.recorded.packets += 1;
                self.recorded.bytes += packet.len() as u64;
            }
            Err(error) => self.failure = Some(error),
        }
        if self.is_closed() {
            self.stop.ask();
        }
        self.failure.is_none()
    }

    /// Hands what is buffered to the system, for those who read along.
    pub(super) fn flush(&mut self) {
        if self.failure.is_none()
            && let Err(error) = self.output.flush()
        {
            self.failure = Some(error);
            self.stop.ask();
        }
    }

    pub(super) fn finish(mut self) -> io::Result<Recorded> {
        self.flush();
        self.failure.map_or(Ok(self.recorded), Err)
    }
}
