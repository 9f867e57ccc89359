//! The formats there are, and the writer for each.

use std::io::{self, Write};

use crate::timeline_writer::TimelineWriter;
use crate::{chrome, firefox, folded, heph, otlp, perfetto, pprof, speedscope};

/// A format of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Perfetto's protobuf.
    Perfetto,
    /// Chrome's trace events in JSON.
    Chrome,
    /// Firefox Profiler's processed profile.
    Firefox,
    /// Speedscope's own file format.
    Speedscope,
    /// Heph trace packets.
    Heph,
    /// OpenTelemetry's protobuf. The output is flushed after each batch, and not before.
    Otlp,
    /// Folded stacks, as flame graph scripts read them.
    Folded,
    /// pprof's profile.proto.
    Pprof,
}

/// The writer for a format. `spools` makes temporary files for what a format wants in another order than
/// it comes; they may vanish when they are closed.
pub fn writer<'a>(
    format: Format,
    output: Box<dyn Write + 'a>,
    spools: &'a dyn Fn() -> io::Result<std::fs::File>,
) -> Box<dyn TimelineWriter + 'a> {
    match format {
        Format::Perfetto => Box::new(perfetto::Perfetto::new(output)),
        Format::Chrome => Box::new(chrome::Chrome::new(output)),
        Format::Firefox => Box::new(firefox::Firefox::new(output, spools)),
        Format::Speedscope => Box::new(speedscope::Speedscope::new(output)),
        Format::Heph => Box::new(heph::Heph::new(output)),
        Format::Otlp => Box::new(otlp::Otlp::new(output)),
        Format::Folded => Box::new(folded::Folded::new(output)),
        Format::Pprof => Box::new(pprof::Pprof::new(output)),
    }
}
