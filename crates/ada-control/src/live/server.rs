//! The server, within the recorder.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;
use std::time::Duration;

use ada_event::ProcessId;
use ada_process::this_process;

use crate::live::{Answer, LiveError, Request, runtime_folder};

/// No request is longer.
const LONGEST_LINE: u64 = 1 << 16;
/// How often an idle connection is checked.
const QUIET: Duration = Duration::from_millis(100);

/// Answers some of the requests.
pub(crate) trait Handler: Sync {
    /// The answer, if this is a request for this handler.
    fn answer(&self, request: &Request) -> Option<Answer>;
}

/// The socket of a recording; gone when this is dropped.
pub(crate) struct LiveServer {
    listener: UnixListener,
    path: PathBuf,
    stopping: AtomicBool,
}

impl LiveServer {
    /// Listens for requests about a process.
    pub(crate) fn listen(pid: ProcessId) -> Result<Self, LiveError> {
        let folder = runtime_folder::path();
        runtime_folder::make(&folder)?;
        let path = runtime_folder::socket(&folder, pid);
        // Under its own name only once it listens: until then it looks like that of an ada that was killed.
        let unfinished = folder.join(format!(".{pid}.{}", this_process()));
        let listening = UnixListener::bind(&unfinished).and_then(|listener| {
            fs::rename(&unfinished, &path)?;
            Ok(listener)
        });
        match listening {
            Ok(listener) => Ok(Self { listener, path, stopping: AtomicBool::new(false) }),
            Err(source) => Err(LiveError::Socket { path, source }),
        }
    }

    /// Takes connections until it is stopped, each on a thread of its own.
    pub(crate) fn serve<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        handlers: &'env [&'env dyn Handler],
    ) {
        while let Ok((stream, _)) = self.listener.accept() {
            if self.stopping.load(Ordering::Acquire) {
                return;
            }
            // A client that has gone away gets no answer.
            scope.spawn(|| drop(self.converse(stream, handlers)));
        }
    }

    /// Takes no more requests.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        // This ends the wait in `accept`.
        let _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
    }

    fn converse(&self, stream: UnixStream, handlers: &[&dyn Handler]) -> io::Result<()> {
        stream.set_read_timeout(Some(QUIET))?;
        let mut lines = BufReader::new(&stream);
        let mut line = Vec::new();
        while !self.stopping.load(Ordering::Acquire) {
            let room = LONGEST_LINE.saturating_sub(line.len() as u64);
            match lines.by_ref().take(room).read_until(b'\n', &mut line) {
                // What has come of a line so far stays in it.
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                    continue;
                }
                Err(error) => return Err(error),
                Ok(_) if line.ends_with(b"\n") => {}
                Ok(_) => return stream.shutdown(Shutdown::Both),
            }
            let mut answer = serde_json::to_vec(&answer(&line, handlers))?;
            answer.push(b'\n');
            (&stream).write_all(&answer)?;
            line.clear();
        }
        Ok(())
    }
}

fn answer(line: &[u8], handlers: &[&dyn Handler]) -> Answer {
    let request = match serde_json::from_slice(line) {
        Ok(request) => request,
        Err(error) => {
            return Answer::Refused { reason: format!("the running trace does not understand this: {error}") };
        }
    };
    let refused = || Answer::Refused { reason: "the running trace cannot do this".into() };
    handlers.iter().find_map(|handler| handler.answer(&request)).unwrap_or_else(refused)
}

impl Drop for LiveServer {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
