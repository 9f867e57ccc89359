//! `ada demo`: traces a small program and shows what it did.
//!
//! The program is this executable in another mode, so that nothing has to be compiled or installed.

use std::io::{self, Write};
use std::path::PathBuf;

use ada_format::atf::Session;
use anyhow::Context;

use crate::atf::summary::Summary;
use crate::exit::{Blame, Outcome};
use crate::trace;
use ada_query::Names;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder that sessions are written to
    #[arg(long, value_name = "DIR", default_value = "ada_traces")]
    output: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let own = std::env::current_exe().context("cannot find ada's own executable")?;
    let report = trace::trace_quietly(args.output.clone(), vec![own.into(), "workload".into()])?;
    let session = Session::open(&report.session)?;
    let names = session.processes().first().map(Names::of).unwrap_or_default();
    let mut out = io::stdout().lock();
    let print = |out: &mut io::StdoutLock<'_>| {
        writeln!(
            out,
            "traced a small server: {} of {} functions hooked in {:.0} ms\n",
            report.hooked,
            report.found,
            report.start_up.as_secs_f64() * 1e3
        )?;
        Summary::of(&session).print(out, |function| names.name(function))?;
        let path = report.session.display();
        writeln!(
            out,
            "\nsession   {path}\nnext      ada view {path}        the timeline, in a browser\n          \
             ada report {path}      what it did and what is odd, in words\n          \
             ada trace -- COMMAND …   your own program"
        )
    };
    print(&mut out).output_failed(|| "cannot write to stdout".into())?;
    Ok(Outcome::Clean)
}
