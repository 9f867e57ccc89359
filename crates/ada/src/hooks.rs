//! `ada hooks SESSION`: the verdict on every function.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use ada_event::FunctionId;
use ada_format::atf::{FunctionRow, Process, Session, functions_file, read_functions};
use ada_image::glob;
use anyhow::Context;

use crate::analysis::find_session;
use crate::exit::{Blame, Outcome};
use crate::switch_list;

const EXAMPLES: &str = "\
Examples:
  ada hooks ada_traces/session_20261115_101500      totals per module
  ada hooks SESSION --module 'libc.so*' --skipped   what was not hooked, and why
  ada hooks SESSION --module main_program           every function of a module";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder of a session, of one of its processes, or of several sessions (the newest is taken) [default: the
    /// newest in ada_traces]
    session: Option<PathBuf>,
    /// List the functions of modules whose file name matches (wildcards `*`, `?`)
    #[arg(long, value_name = "PATTERN")]
    module: Option<String>,
    /// List only functions that are not fully hooked
    #[arg(long)]
    skipped: bool,
    /// List functions that were not recorded all the time: when, why, and how often they were called
    #[arg(long, conflicts_with_all = ["module", "skipped"])]
    switched: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let session = Session::open(&find_session(args.session.as_deref())?)?;
    let mut out = BufWriter::new(io::stdout().lock());
    for process in session.processes() {
        if args.switched {
            switch_list::print_all(process, &mut out)?;
        } else if args.module.is_none() && !args.skipped {
            print_totals(process, &mut out)
                .and_then(|()| switch_list::print_total(process, &mut out))
                .output_failed(|| "cannot write to stdout".into())?;
        } else {
            print_functions(process, args, &mut out)?;
        }
    }
    out.flush().output_failed(|| "cannot write to stdout".into())?;
    Ok(Outcome::Clean)
}

fn print_totals(process: &Process, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{:>7} {:>7} {:>10} {:>8} {:>7}  module", "found", "hooked", "entry-only", "skipped", "share")?;
    for module in process.manifest.iter().flat_map(|manifest| &manifest.modules) {
        let coverage = module.coverage.clone().unwrap_or_default();
        // A manifest can claim anything.
        let skipped = coverage.skipped.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
        let share = coverage.found.saturating_sub(skipped) as f64 / coverage.found.max(1) as f64 * 100.0;
        writeln!(
            out,
            "{:>7} {:>7} {:>10} {skipped:>8} {share:>6.2}%  {}",
            coverage.found, coverage.hooked, coverage.entry_only, module.path
        )?;
    }
    Ok(())
}

fn print_functions(process: &Process, args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    for module in process.manifest.iter().flat_map(|manifest| &manifest.modules) {
        let file_name = Path::new(&module.path).file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        if args.module.as_deref().is_some_and(|pattern| !glob(pattern, &file_name)) {
            continue;
        }
        let path = process.path.join(functions_file(module.module_id));
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let rows = read_functions(&text).with_context(|| format!("{} is damaged", path.display()))?;
        for (index, row) in rows.iter().enumerate() {
            if args.skipped && row.verdict == "hooked" {
                continue;
            }
            let id = FunctionId::new(module.module_id, index as u32);
            print_row(out, &file_name, id, row).output_failed(|| "cannot write to stdout".into())?;
        }
    }
    Ok(())
}

fn print_row(out: &mut impl Write, module: &str, id: FunctionId, row: &FunctionRow) -> io::Result<()> {
    let verdict = if row.reason.is_empty() { row.verdict.clone() } else { format!("{} ({})", row.verdict, row.reason) };
    let name = if row.name.is_empty() {
        format!("{module}+{:#x}", row.offset)
    } else {
        ada_image::demangle(&row.name).into_owned()
    };
    writeln!(out, "{:<10} {:>#12x} {verdict:<34} {module}  {name}", id.to_string(), row.offset)
}
