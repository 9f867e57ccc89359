//! A session that is shown, which a newer one may replace while it grows.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use serde_json::Value;

use super::about;
use super::crashed_call::CrashedCall;
use super::page_lens::PageLens;
use super::question::OwnedSession;
use super::timeline::Timeline;
use crate::analysis::{LensArgs, OpenedSession, SessionArgs, thousands};
use crate::exit::{Blame, say};
use crate::session_thread::SessionThread;

/// A session that was opened.
pub(super) struct Loaded {
    pub(super) timeline: Arc<Timeline>,
    pub(super) thread: SessionThread<OwnedSession>,
    /// What the page gets first.
    pub(super) about: Value,
    pub(super) crashes: Vec<CrashedCall>,
    /// The session's folder.
    pub(super) path: PathBuf,
}

impl Loaded {
    /// Opens a session. `number` distinguishes it from others of the same run. What is wrong with its files is reported, unless
    /// they are being written just now.
    pub(super) fn open(
        args: SessionArgs,
        lens: LensArgs,
        path: &Path,
        number: u64,
        is_live: bool,
    ) -> anyhow::Result<Self> {
        let folder = path.to_owned();
        let path = folder.clone();
        let (thread, (timeline, about, crashes)) = SessionThread::start(move || {
            let opened = OpenedSession::open(&path, &args)?;
            if !is_live {
                opened.show_findings();
            }
            let progress = Progress::new(is_live);
            let lens = PageLens::new(opened.trace(), &lens)?;
            let timeline = Timeline::new(&opened, lens, &progress.hears());
            let timeline = Arc::new(timeline.output_failed(|| format!("cannot sum up {}", path.display()))?);
            if timeline.lens.is_first() {
                timeline.lensed(&progress.hears())?;
            }
            drop(progress);
            let crashes = CrashedCall::all(&opened, &timeline);
            let about = about::answer(&opened, &timeline, &crashes, number, is_live);
            Ok((OwnedSession { opened, timeline: timeline.clone() }, (timeline, about, crashes)))
        })?;
        Ok(Self { timeline, thread, about, crashes, path: folder })
    }
}

/// A line on a terminal, each few million calls, so that nobody sees it of what takes a moment.
struct Progress {
    done: AtomicU64,
    is_terminal: bool,
}

impl Progress {
    const EACH: u64 = 4_000_000;

    fn new(is_live: bool) -> Self {
        Self { done: AtomicU64::new(0), is_terminal: std::io::stderr().is_terminal() && !is_live }
    }

    fn hears(&self) -> impl Fn(u64) + Sync {
        |spans| {
            let before = self.done.fetch_add(spans, Ordering::Relaxed);
            if self.is_terminal && before / Self::EACH != (before + spans) / Self::EACH {
                say(format_args!("\rsumming up: {} calls\x1b[K", thousands(before + spans)));
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_terminal && self.done.load(Ordering::Relaxed) >= Self::EACH {
            say(format_args!("\r\x1b[K"));
        }
    }
}

/// The session that is shown just now.
#[derive(Clone)]
pub(super) struct Shown {
    loaded: Arc<RwLock<Arc<Loaded>>>,
    /// The newest question that sums up a stretch: older ones need not be answered.
    pub(super) newest_sum: Arc<AtomicU64>,
}

impl Shown {
    pub(super) fn new(loaded: Loaded) -> Self {
        Self { loaded: Arc::new(RwLock::new(Arc::new(loaded))), newest_sum: Arc::default() }
    }

    pub(super) fn get(&self) -> Arc<Loaded> {
        self.loaded.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    pub(super) fn replace(&self, loaded: Loaded) {
        *self.loaded.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = Arc::new(loaded);
    }
}
