//! `ada quarantine`: the functions that traces leave alone because their hooks did harm.

use ada_control::{FileId, QuarantineFolder, QuarantinedFile};
use anyhow::{Context, anyhow};

use crate::analysis::Out;
use crate::exit::{Blame, Outcome};

const EXAMPLES: &str = "\
Examples:
  ada bisect --keep -- ./program          find such functions and put them here
  ada quarantine                          list them, with what their hooks did
  ada quarantine --remove ./program       have them hooked again
  ada trace --no-quarantine -- ./program  hook them this once

A file is known by its build-id, or by a checksum where it has none, so a newly built file is hooked again. The lists \
are in $ADA_CACHE_DIR/quarantine, or else $XDG_CACHE_HOME/ada/quarantine, or else ~/.cache/ada/quarantine.

Exit codes: 0 done; 1 done, but a list is damaged; 3 there is no such list; 4 it cannot be removed.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Remove a file from quarantine, by its id as listed, or by its path. May be given several times
    #[arg(long, value_name = "ID|PATH")]
    remove: Vec<String>,
    /// Remove all files from quarantine
    #[arg(long, conflicts_with = "remove")]
    clear: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let folder = QuarantineFolder::by_default().context("no folder for the quarantine is known; set $ADA_CACHE_DIR")?;
    let entries = folder.entries().context("the quarantine cannot be read")?;
    if args.clear {
        for (id, _) in &entries {
            remove(&folder, id)?;
        }
        return Ok(Outcome::Clean);
    }
    if !args.remove.is_empty() {
        for wanted in &args.remove {
            let by_content = FileId::of_path(wanted.as_ref()).ok();
            let is_wanted = |id: &FileId, file: Option<&QuarantinedFile>| {
                id.as_str() == wanted
                    || by_content.as_ref() == Some(id)
                    || file.is_some_and(|file| file.path == *wanted)
            };
            let ids: Vec<&FileId> =
                entries.iter().filter(|(id, file)| is_wanted(id, file.as_ref().ok())).map(|(id, _)| id).collect();
            if ids.is_empty() {
                return Err(anyhow!("nothing of {wanted} is in quarantine"));
            }
            ids.into_iter().try_for_each(|id| remove(&folder, id))?;
        }
        return Ok(Outcome::Clean);
    }
    let mut out = Out::new();
    let mut is_damaged = false;
    for (id, file) in &entries {
        match file {
            Ok(file) => print(id, file, &mut out)?,
            Err(error) => {
                is_damaged = true;
                out.line(&format!("{}  not used: {error}", id.as_str()))?;
            }
        }
    }
    out.finish()?;
    Ok(if is_damaged { Outcome::Findings } else { Outcome::Clean })
}

fn remove(folder: &QuarantineFolder, id: &FileId) -> anyhow::Result<()> {
    folder.remove(id).output_failed(|| format!("{} cannot be removed", id.as_str()))
}

fn print(id: &FileId, file: &QuarantinedFile, out: &mut Out) -> anyhow::Result<()> {
    let whole = if file.is_whole { "  (all functions)" } else { "" };
    out.line(&format!("{}  {}{whole}", id.as_str(), file.path))?;
    for function in &file.functions {
        let name = if function.name.is_empty() { "(no name)".into() } else { ada_image::demangle(&function.name) };
        out.line(&format!("  {:#x}  {name}  {}", function.offset.0, function.why))?;
    }
    Ok(())
}
