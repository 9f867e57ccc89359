//! The trace that a command reads: a file, or standard input.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use ada_format::heph::{DEFAULT_MAX_PACKET, Decoder, Error, Framed, PacketReader, Totals};
use anyhow::Context;

use crate::exit::Outcome;

/// Where a trace comes from.
#[derive(clap::Args)]
pub(crate) struct Input {
    /// The trace, or - for standard input
    #[arg(value_name = "FILE|-")]
    file: PathBuf,

    /// Reject packets that claim more bytes than this; at most about twice as much memory is used
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULT_MAX_PACKET)]
    max_packet: u32,
}

impl Input {
    pub(crate) fn open(&self) -> anyhow::Result<Trace> {
        let input: Box<dyn Read> = if self.file.as_os_str() == "-" {
            Box::new(io::stdin().lock())
        } else {
            let file = File::open(&self.file)
                .with_context(|| format!("cannot open {self}; give a Heph trace, or - for standard input"))?;
            Box::new(file)
        };
        let decoder = Decoder::with_max_packet(self.max_packet);
        Ok(Trace { name: self.to_string(), reader: PacketReader::with_decoder(input, decoder) })
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.file.as_os_str() == "-" { f.write_str("standard input") } else { self.file.display().fmt(f) }
    }
}

/// A trace that is being read, piece by piece.
pub(crate) struct Trace {
    name: String,
    reader: PacketReader<Box<dyn Read>>,
}

impl Trace {
    pub(crate) fn next_packet(&mut self) -> anyhow::Result<Option<Result<Framed<'_>, Error>>> {
        self.reader.next_packet().with_context(|| format!("cannot read {}", self.name))
    }

    pub(crate) fn totals(&self) -> Totals {
        self.reader.totals()
    }

    /// What the exit code says of the trace.
    pub(crate) fn outcome(&self) -> Outcome {
        if self.totals().malformed == 0 { Outcome::Clean } else { Outcome::Findings }
    }
}
