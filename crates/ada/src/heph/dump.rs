//! `ada heph dump`.

use std::io::{self, BufWriter, IsTerminal, Write};

use ada_format::heph::{Framed, Packet, UnixNanos};

use super::complaints::Complaints;
use super::input::{Input, Trace};
use super::json::PacketJson;
use super::text::Line;
use crate::exit::{Blame, Outcome};
use crate::format::Format;

const EXAMPLES: &str = "\
Examples:
  ada heph dump trace.heph
  nc -l 9000 | ada heph dump - --format json | jq .description

Times are nanoseconds since the trace's epoch; where the trace has said its epoch, events after that show the wall \
clock too. The first ten malformed packets get a line each on stderr, the others are counted, and the exit code \
is then 1.";

/// Print the packets of a trace, one per line
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    input: Input,

    /// Output format: text, or one JSON object per line
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut trace = args.input.open()?;
    let stdout = io::stdout().lock();
    // Somebody who watches a live trace sees each line at once; a pipe gets them in large pieces.
    let mut output: Box<dyn Write> =
        if stdout.is_terminal() { Box::new(stdout) } else { Box::new(BufWriter::new(stdout)) };
    dump(&mut trace, args.format, &mut output)?;
    output.flush().output_failed(|| "cannot write to standard output".into())?;
    Ok(trace.outcome())
}

fn dump(trace: &mut Trace, format: Format, output: &mut impl Write) -> anyhow::Result<()> {
    let mut epoch = None;
    let mut malformed = Complaints::of("malformed packets");
    while let Some(found) = trace.next_packet()? {
        match found {
            Ok(framed) => {
                if let Packet::Metadata(metadata) = framed.packet {
                    epoch = metadata.epoch().or(epoch);
                }
                print(&framed, epoch, format, output).output_failed(|| "cannot write to standard output".into())?;
            }
            Err(error) => malformed.add(format_args!("malformed: {error}")),
        }
    }
    Ok(())
}

fn print(framed: &Framed<'_>, epoch: Option<UnixNanos>, format: Format, output: &mut impl Write) -> io::Result<()> {
    match format {
        Format::Text => writeln!(output, "{}", Line { framed, epoch }),
        Format::Json => {
            serde_json::to_writer(&mut *output, &PacketJson::new(framed, epoch))?;
            output.write_all(b"\n")
        }
    }
}
