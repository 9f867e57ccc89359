//! `ada pack SESSION` and `ada unpack SESSION`: from one form of a session's files to the other, in place.

use std::io::{self, Write};
use std::path::PathBuf;

use ada_format::atf::packed::{ConvertError, convert_file};
use ada_format::atf::{Session, Store};
use ada_format::parallel::in_parallel_with;
use anyhow::bail;

use crate::analysis::find_session;
use crate::atf::report;
use crate::exit::{Blame, Outcome, say};

const PACK_EXAMPLES: &str = "\
Examples:
  ada pack ada_traces/session_20261115_101500     in place; every command reads it as before
  ada unpack ada_traces/session_20261115_101500   back to raw ATF V2, byte for byte

Each file is read back and compared before the raw one is removed. Files that were cut or never finished are packed, \
too. A file stays raw, and is named on stderr with exit code 1, if
  - its header contradicts itself: the place of its events or records is unknown;
  - a detail record is shorter than its header, or longer than 1 MiB: the next one's place is unknown;
  - more than 1 MiB before or behind its events or records belongs to neither.
All commands read it as they did before.";

const UNPACK_EXAMPLES: &str = "\
Examples:
  ada unpack ada_traces/session_20261115_101500   ATF V2, for programs that read nothing else

A file that lacks blocks stays packed and is named on stderr, with exit code 1, because what remains of it would get \
other positions. All commands read it as it is.";

#[derive(clap::Args)]
#[command(after_help = PACK_EXAMPLES)]
pub(crate) struct PackArgs {
    #[command(flatten)]
    of: Of,
}

#[derive(clap::Args)]
#[command(after_help = UNPACK_EXAMPLES)]
pub(crate) struct UnpackArgs {
    #[command(flatten)]
    of: Of,
}

#[derive(clap::Args)]
struct Of {
    /// The folder of a session, of one of its processes, or of several sessions (the newest is taken) [default: the
    /// newest in ada_traces]
    session: Option<PathBuf>,
    /// Convert a session that was never finished, too; the ada that recorded it must have ended
    #[arg(long)]
    unfinished: bool,
}

pub(crate) fn pack(args: &PackArgs) -> anyhow::Result<Outcome> {
    convert(&args.of, Store::Packed)
}

pub(crate) fn unpack(args: &UnpackArgs) -> anyhow::Result<Outcome> {
    convert(&args.of, Store::Raw)
}

fn convert(of: &Of, store: Store) -> anyhow::Result<Outcome> {
    let path = find_session(of.session.as_deref())?;
    let session = Session::open(&path)?;
    let manifests = session.processes().iter().filter_map(|process| process.manifest.as_ref());
    if !of.unfinished && manifests.clone().any(|manifest| manifest.finished == Some(false)) {
        bail!(
            "{} was not finished and may still be recorded to; if the ada that recorded it has ended, add --unfinished",
            path.display()
        );
    }
    for finding in session.findings() {
        say(format_args!("ada: {}\n", report::line(finding, &session)));
    }
    let is_damaged = !session.findings().is_empty();
    let files: Vec<PathBuf> = session.threads().flat_map(|thread| thread.files()).map(PathBuf::from).collect();
    drop(session);
    let done = convert_all(&files, store)?;
    let verb = if store == Store::Packed { "packed" } else { "unpacked" };
    let share = 100.0 * done.after as f64 / done.before.max(1) as f64;
    writeln!(
        io::stdout().lock(),
        "{verb} {} {}: {} bytes are {} now ({share:.1} %)",
        done.files,
        if done.files == 1 { "file" } else { "files" },
        done.before,
        done.after,
    )
    .output_failed(|| "cannot write to stdout".into())?;
    Ok(if is_damaged || done.kept > 0 { Outcome::Findings } else { Outcome::Clean })
}

#[derive(Default)]
struct Done {
    files: u64,
    before: u64,
    after: u64,
    /// Files that stay as they are.
    kept: u64,
}

/// Converts files, as many at once as there are processors; those that have the form already are passed over.
fn convert_all(files: &[PathBuf], store: Store) -> anyhow::Result<Done> {
    let convert = |done: &mut Done, number: usize| {
        let path = &files[number];
        match convert_file(path, store) {
            Ok(None) => {}
            Ok(Some(sizes)) => {
                done.files += 1;
                done.before += sizes.before;
                done.after += sizes.after;
            }
            Err(ConvertError::Io(error)) => {
                return Err(error).output_failed(|| format!("cannot convert {}", path.display()));
            }
            Err(error) => {
                say(format_args!("ada: {}: stays as it is: {error}\n", path.display()));
                done.kept += 1;
            }
        }
        Ok(())
    };
    let mut sum = Done::default();
    for done in in_parallel_with(files.len(), Done::default, convert)? {
        sum.files += done.files;
        sum.before += done.before;
        sum.after += done.after;
        sum.kept += done.kept;
    }
    Ok(sum)
}
