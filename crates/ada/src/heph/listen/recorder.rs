//! The file that packets are written to.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::num::NonZeroU64;

use ada_format::heph::{Encoder, Framed, Packet, UnixNanos};

use super::stop::Stop;

/// Writes whole packets, and asks to stop when there are enough, or when writing fails.
pub(super) struct Recorder {
    output: BufWriter<File>,
    stop: Stop,
    limit: u64,
    recorded: Recorded,
    /// The epoch that the file has said last.
    epoch: Option<UnixNanos>,
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
            epoch: None,
            failure: None,
        }
    }

    /// Whether no more packets are taken.
    pub(super) const fn is_closed(&self) -> bool {
        self.failure.is_some() || self.recorded.packets >= self.limit
    }

    /// Writes a packet of a peer, unless the recorder is closed. Says whether it did. `epoch` is what the peer has said, and is
    /// said again before its events where another's came between.
    pub(super) fn record(&mut self, framed: &Framed<'_>, epoch: &mut Option<UnixNanos>) -> bool {
        if self.is_closed() {
            return false;
        }
        let written = match framed.packet {
            Packet::Metadata(metadata) => {
                *epoch = metadata.epoch().or(*epoch);
                self.epoch = metadata.epoch().or(self.epoch);
                Ok(())
            }
            Packet::Event(_) if epoch.is_some() && *epoch != self.epoch => self.say_epoch(*epoch),
            Packet::Event(_) => Ok(()),
        };
        match written.and_then(|()| self.output.write_all(framed.bytes)) {
            Ok(()) => {
                self.recorded.packets += 1;
                self.recorded.bytes += framed.bytes.len() as u64;
            }
            Err(error) => self.failure = Some(error),
        }
        if self.is_closed() {
            self.stop.ask();
        }
        self.failure.is_none()
    }

    fn say_epoch(&mut self, epoch: Option<UnixNanos>) -> io::Result<()> {
        self.epoch = epoch;
        let mut packet = Encoder::new();
        epoch.map_or(Ok(()), |epoch| packet.epoch(epoch)).map_err(io::Error::other)?;
        self.recorded.bytes += packet.bytes().len() as u64;
        self.output.write_all(packet.bytes())
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
