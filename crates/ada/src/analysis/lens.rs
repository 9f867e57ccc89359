//! The options that say which functions and processes are looked at.

use ada_event::ProcessId;
use ada_query::called::{matching, near_names};
use ada_query::lens::Lens;
use ada_query::{FunctionPattern, Trace, TraceProcess};
use anyhow::bail;

use super::listing::ListFormat;
use crate::exit::say;

/// Whose functions, and which processes.
#[derive(Clone, clap::Args, Default)]
pub(crate) struct LensArgs {
    /// Functions of the program's own only; time in libraries is charged to who called them [default for tables]
    #[arg(long, conflicts_with = "all")]
    pub(crate) own: bool,
    /// Functions of libraries and the system too [default for JSON, CSV and where functions or modules are named]
    #[arg(long)]
    pub(crate) all: bool,
    /// Functions of modules whose file name matches (wildcards `*`, `?`). May be given several times
    #[arg(long, value_name = "PATTERN")]
    pub(crate) module: Vec<String>,
    /// Do not show functions whose name matches; their time is charged to who called them. May be given several times
    #[arg(long, value_name = "PATTERN")]
    pub(crate) hide: Vec<String>,
    /// This process only; may be given several times
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Vec<u32>,
}

impl LensArgs {
    /// Whether any of them was given.
    pub(crate) fn is_used(&self) -> bool {
        self.own || !(self.module.is_empty() && self.hide.is_empty() && self.pid.is_empty())
    }

    /// The options that ask for the same with other commands, where the program's own functions are what is seen here.
    pub(crate) fn options(&self) -> Vec<String> {
        let own = (self.own || !self.all && self.module.is_empty()).then(|| "--own".to_owned());
        let modules = self.module.iter().map(|it| format!("--module={it}"));
        let hidden = self.hide.iter().map(|it| format!("--hide={it}"));
        let processes = self.pid.iter().map(|it| format!("--pid={it}"));
        own.into_iter().chain(modules).chain(hidden).chain(processes).collect()
    }

    /// `is_own` is what holds where nothing was said. Who names a module wants it, whoever's it is.
    pub(crate) fn lens(&self, is_own: bool) -> Lens {
        Lens {
            is_own: self.own || is_own && !self.all && self.module.is_empty(),
            modules: self.module.clone(),
            hidden: self.hide.iter().map(|it| FunctionPattern::new(it)).collect(),
        }
    }

    /// The lens of a list: people see their own code, programs get all.
    pub(crate) fn for_list(&self, format: ListFormat) -> Lens {
        self.lens(format == ListFormat::Table)
    }

    /// Which functions are shown, by process and their index. None of a process that is not looked at.
    pub(crate) fn shown(&self, trace: &Trace, lens: &Lens) -> anyhow::Result<Vec<Vec<bool>>> {
        self.check(trace)?;
        let of_process = |process: &TraceProcess| match self.wants(process.pid) {
            true => lens.shown(trace, process),
            false => vec![false; process.tables.meta().functions.len()],
        };
        Ok(trace.processes().iter().map(of_process).collect())
    }

    pub(crate) fn wants(&self, pid: ProcessId) -> bool {
        self.pid.is_empty() || self.pid.contains(&pid.0)
    }

    fn check(&self, trace: &Trace) -> anyhow::Result<()> {
        for pid in &self.pid {
            if !trace.processes().iter().any(|it| it.pid.0 == *pid) {
                let pids: Vec<String> = trace.processes().iter().take(20).map(|it| it.pid.to_string()).collect();
                bail!("process {pid} is not in the session; it has {}", pids.join(", "));
            }
        }
        Ok(())
    }
}

/// Says so where none of some functions is known. Of those that are not, where others are, standard error hears.
pub(crate) fn check_some_known(trace: &Trace, typed: &[String]) -> anyhow::Result<()> {
    let unknown: Vec<anyhow::Error> = typed.iter().filter_map(|it| check_known(trace, it).err()).collect();
    if unknown.len() == typed.len() {
        return unknown.into_iter().next().map_or(Ok(()), Err);
    }
    unknown.iter().for_each(|error| say(format_args!("ada: {error}\n")));
    Ok(())
}

/// Says so where no function has a name like this, and what may have been meant. One that was not called is fine.
pub(crate) fn check_known(trace: &Trace, typed: &str) -> anyhow::Result<()> {
    let pattern = FunctionPattern::new(typed);
    let is_called = |process: &TraceProcess| {
        process.tables.meta().functions.iter().any(|it| pattern.matches_function(process, it.function))
    };
    let processes = || trace.processes().iter();
    if processes().any(is_called) || processes().any(|process| !matching(trace, process, typed).is_empty()) {
        return Ok(());
    }
    match near_names(trace, typed)[..] {
        [] => bail!("no call of {typed} is in the session; `ada ask called {typed}` says why"),
        ref near => bail!("no call of {typed} is in the session; did you mean {}?", near.join(", ")),
    }
}
