//! A trace that is still being recorded: it is looked at again and again, and the page is notified.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::loaded::{Loaded, Shown};
use super::site::Site;
use super::{browser, http};
use crate::analysis::{LensArgs, SessionArgs, find_session};
use crate::exit::say;
use crate::token::Token;

/// The shortest time between two looks.
const EVERY: Duration = Duration::from_secs(1);
/// Looking may take this share of the time, so that the program and its recording have the rest.
const SHARE: u32 = 5;

/// Spans that take longer have the reason `timeout`, as `ada view` has it without options.
const TIMEOUT: u64 = 5_000_000_000;

/// Watches a folder for the session that is being recorded into it.
pub(crate) struct Watch {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Watch {
    /// Begins before the recording does.
    pub(crate) fn begin(output: &Path) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let looking = Looking { output: output.to_owned(), before: sessions(output), is_over: is_over.clone() };
        let thread = std::thread::spawn(move || looking.run());
        Self { is_over, thread }
    }

    /// The recording has ended: shows it whole, until somebody ends the server.
    pub(crate) fn finish(self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        let _ = self.thread.join();
    }
}

struct Looking {
    output: PathBuf,
    before: BTreeSet<PathBuf>,
    is_over: Arc<AtomicBool>,
}

fn sessions(output: &Path) -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir(output).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

impl Looking {
    fn run(self) {
        let mut number = 0;
        let mut shown: Option<Shown> = None;
        loop {
            let is_last = self.is_over.load(Ordering::Relaxed);
            let begun = Instant::now();
            if let Some(loaded) = self.load(number + 1, !is_last) {
                number += 1;
                match &shown {
                    Some(shown) => shown.replace(loaded),
                    None => {
                        let first = Shown::new(loaded);
                        shown = Some(first.clone());
                        start_server(first);
                    }
                }
            }
            if is_last {
                break;
            }
            // The end of the recording wakes it up.
            std::thread::park_timeout(EVERY.max(begun.elapsed() * (SHARE - 1)));
        }
        if shown.is_none() {
            say(format_args!("ada: there is nothing to view\n"));
            return;
        }
        // An interrupt of the run was the program's; from now on it is ours.
        let interrupted = Arc::new(AtomicBool::new(false));
        if signal_hook::flag::register(signal_hook::consts::SIGINT, interrupted.clone()).is_err() {
            return;
        }
        say(format_args!("ada: the trace is whole; the page stays until Ctrl-C\n"));
        while !interrupted.load(Ordering::Relaxed) {
            std::thread::park_timeout(Duration::from_millis(100));
        }
    }

    fn load(&self, number: u64, is_live: bool) -> Option<Loaded> {
        let new = sessions(&self.output).into_iter().find(|path| !self.before.contains(path))?;
        let path = find_session(Some(&new)).ok()?;
        let args = SessionArgs { session: Some(path.clone()), timeout: TIMEOUT, debug_dir: None };
        // Files that are being written are cut short, and that is not worth a word yet.
        Loaded::open(args, LensArgs::default(), &path, number, is_live).ok()
    }
}

fn start_server(shown: Shown) {
    std::thread::spawn(move || {
        let (Ok(runtime), Ok(token)) = (http::runtime(), Token::new()) else {
            say(format_args!("ada: cannot start the server of the page\n"));
            return;
        };
        let ended = runtime.block_on(http::serve(Site::one(shown), 0, token, |url| {
            say(format_args!("ada: the trace is shown at {url}\n"));
            browser::open(url);
        }));
        if let Err(error) = ended {
            say(format_args!("ada: {error:#}\n"));
        }
    });
}
