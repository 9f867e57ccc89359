//! How to trace.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ada_event::ImageOffset;
use ada_format::atf::Store;
use ada_ring::{DetailMode, OnFull};

use crate::debuginfod::Debuginfod;
use crate::pattern_set::PatternSet;
use crate::quarantine::Quarantine;
use crate::roll::Roll;
use crate::trigger::Trigger;

/// Says of a module's path, a function's name, where it has one, and its module and offset, whether to leave it alone.
pub type Exclusion = dyn Fn(&Path, Option<&str>, ImageOffset) -> bool + Send + Sync;

/// Which functions are left alone.
pub struct LeftAlone {
    /// What the user does not want.
    pub excluded: Box<Exclusion>,
    /// What the user wants, and nothing else where there is any, but for functions by which ada knows threads, tasks and waits.
    pub only: PatternSet,
    /// What did harm before.
    pub quarantine: Quarantine,
}

impl LeftAlone {
    /// What the user does not want, and nothing else.
    pub fn excluded(excluded: impl Fn(&Path, Option<&str>, ImageOffset) -> bool + Send + Sync + 'static) -> Self {
        Self { excluded: Box::new(excluded), only: PatternSet::default(), quarantine: Quarantine::default() }
    }
}

/// Of which functions values are captured: arguments, results, and what they point at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CapturedValues {
    /// Of rare functions of the C library whose arguments tell much.
    #[default]
    Usual,
    /// Of none.
    None,
    /// Of those, and of functions that match one of these patterns, if their types are known.
    Matching(Vec<String>),
}

/// Calls that are printed while they happen.
pub struct PrintedFunctions {
    /// The functions, by their names.
    pub patterns: Vec<String>,
    /// Where lines go.
    pub to: Arc<Mutex<dyn Write + Send>>,
}

/// How to trace.
pub struct TraceOptions {
    /// Where the session's folder goes.
    pub output: PathBuf,
    /// What a thread does when the rings are full.
    pub on_full: OnFull,
    /// How many chunks of 256 KiB all threads share.
    pub chunks: usize,
    /// How long hooking may take; estimated from the work if not set.
    pub start_up_timeout: Option<Duration>,
    /// What happens to registers and stack windows.
    pub detail: DetailMode,
    /// Bytes of the stack that are captured with a call, if detail is: at most 512.
    pub stack_window: usize,
    /// Whether vector registers are captured too, if detail is.
    pub vectors: bool,
    /// How long to record; the program goes on without hooks then.
    pub max_time: Option<Duration>,
    /// How many bytes of events and detail to write, about; the same holds then.
    pub max_size: Option<u64>,
    /// How many bytes of events and detail to keep on disk, the newest; all if not set.
    pub ring: Option<u64>,
    /// In which form events and detail are written.
    pub store: Store,
    /// What opens a window of detail, if detail is kept for windows.
    pub triggers: Vec<Trigger>,
    /// How much before a trigger belongs to its window.
    pub pre_roll: Roll,
    /// How much after it does.
    pub post_roll: Roll,
    /// The most frames of a thread whose returns are caught at one time.
    pub max_depth: Option<u32>,
    /// Whether the programs that the traced one runs are traced too.
    pub follow: bool,
    /// Whether to end with the traced program, though children of it may live on.
    pub until_exit: bool,
    /// Where plans are kept between starts, if anywhere; see [`plan_folder`](crate::plan_folder).
    pub plan_folder: Option<PathBuf>,
    /// The share of the program's time that hooks may take: 0.1 is ten percent.
    pub max_overhead: Option<f64>,
    /// Whether to use what earlier runs of a program have shown to be too hot for that, and to keep what this one shows.
    pub learning: bool,
    /// Whether functions are counted even where that alone takes more than the share.
    pub exact_counts: bool,
    /// Which modules or functions to leave alone.
    pub exclude: LeftAlone,
    /// Of which functions values are captured.
    pub values: CapturedValues,
    /// Who is asked for the debug information of files whose values are captured and that have none, if anybody.
    pub debuginfod: Option<Arc<Debuginfod>>,
    /// Functions whose values are captured once somebody asks for them while the program runs, by patterns.
    pub values_later: Vec<String>,
    /// How many pointers one behind the other lead to structures whose fields are captured.
    pub field_depth: usize,
    /// Whose values are not captured: functions, parameters, or `function.parameter`, by their names.
    pub redacted: Vec<String>,
    /// Whether the kernel is asked when threads run.
    pub schedule: bool,
    /// Calls that are printed, if any are.
    pub print: Option<PrintedFunctions>,
}

impl TraceOptions {
    /// The share that hooks may take, where earlier runs are to say what is too hot for it. Whoever has named functions, or what
    /// happens at their calls, wants to see them.
    pub(crate) fn learning_budget(&self) -> Option<f64> {
        let names_calls =
            !self.exclude.only.is_empty() || self.triggers.iter().any(|trigger| *trigger != Trigger::Crash);
        self.max_overhead.filter(|_| self.learning && !self.exact_counts && !names_calls)
    }
}
