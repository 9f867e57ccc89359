//! The page's lens: the program's own functions alone, or those that the command line asks for.

use std::sync::OnceLock;

use ada_query::Trace;
use ada_span::SpanError;
use ada_timeline::{LensRows, Summary};
use anyhow::anyhow;

use super::parameters::Parameters;
use super::timeline_process::TimelineProcess;
use crate::analysis::LensArgs;

/// With more calls, the page opens without the lens: it takes a look at each of them.
const MOST_AT_FIRST: u64 = 5_000_000;

/// What a question is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Seen {
    /// All calls.
    #[default]
    All,
    /// Those that the lens shows.
    ThroughLens,
}

impl Seen {
    pub(super) fn of(parameters: &Parameters) -> Self {
        if parameters.get("lens") == Some("1") { Self::ThroughLens } else { Self::All }
    }
}

/// The lens of a session, made when somebody looks through it.
pub(super) struct PageLens {
    /// Which functions are shown, by process and index.
    shown: Vec<Vec<bool>>,
    /// The same as options of other commands.
    options: Vec<String>,
    is_first: bool,
    made: OnceLock<Result<Vec<Lensed>, String>>,
}

/// What is drawn of a process through the lens.
pub(super) struct Lensed {
    pub(super) rows: LensRows,
    pub(super) summary: Summary,
}

impl PageLens {
    pub(super) fn new(trace: &Trace, args: &LensArgs) -> anyhow::Result<Self> {
        let shown = args.shown(trace, &args.lens(!args.all))?;
        let threads = trace.processes().iter().flat_map(|it| &it.tables.meta().threads);
        let calls: u64 = threads.map(|it| it.spans).sum();
        let is_wanted = args.is_used() || !args.all && calls <= MOST_AT_FIRST;
        let lens = Self { shown, options: args.options(), is_first: is_wanted, made: OnceLock::new() };
        Ok(Self { is_first: lens.is_first && lens.is_of_use(), ..lens })
    }

    /// Whether it shows something, and hides something.
    pub(super) fn is_of_use(&self) -> bool {
        let all = || self.shown.iter().flatten();
        all().any(|it| *it) && !all().all(|it| *it)
    }

    /// Whether the page opens with it.
    pub(super) fn is_first(&self) -> bool {
        self.is_first
    }

    /// What makes other commands show the same.
    pub(super) fn options(&self, seen: Seen) -> &[String] {
        if seen == Seen::ThroughLens { &self.options } else { &[] }
    }

    /// Goes through all calls the first time. `progress` hears of these.
    pub(super) fn of(
        &self,
        processes: &[TimelineProcess],
        progress: &(dyn Fn(u64) + Sync),
    ) -> anyhow::Result<&[Lensed]> {
        let make = |process: &TimelineProcess, shown: &Vec<bool>| {
            let rows = LensRows::of(&process.tables, shown.clone(), progress)?;
            let summary = Summary::through(&process.tables, &rows, &|_| ())?;
            Ok::<_, SpanError>(Lensed { rows, summary })
        };
        let all = || -> Result<Vec<Lensed>, SpanError> {
            processes.iter().zip(&self.shown).map(|(process, shown)| make(process, shown)).collect()
        };
        let made = self.made.get_or_init(|| all().map_err(|error| error.to_string()));
        made.as_deref().map_err(|words| anyhow!("{words}"))
    }
}
