//! The client: asks a running trace.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use ada_event::ProcessId;
use ada_process::procfs::ProcessDir;

use crate::live::{Answer, LiveError, Request, runtime_folder};

/// A trace that says nothing for so long is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks the trace of a process. [`Answer::Refused`] is given as an error.
pub fn ask(pid: ProcessId, request: &Request) -> Result<Answer, LiveError> {
    let folder = runtime_folder::path();
    if folder.exists() {
        runtime_folder::check(&folder)?;
    }
    let path = runtime_folder::socket(&folder, pid);
    let stream = UnixStream::connect(&path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            remove_if_stale(&path);
            not_traced(pid)
        }
        _ => LiveError::Socket { path, source },
    })?;
    let answer = exchange(stream, request);
    match answer.map_err(|error| LiveError::NoAnswer { pid, reason: error.to_string() })? {
        Answer::Refused { reason } => Err(LiveError::Refused { reason }),
        answer => Ok(answer),
    }
}

/// The processes of this user that are being traced, in order. Sockets of an ada that was killed are removed.
pub fn running() -> Result<Vec<ProcessId>, LiveError> {
    let folder = runtime_folder::path();
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(LiveError::Socket { path: folder, source }),
        Ok(entries) => entries,
    };
    runtime_folder::check(&folder)?;
    let mut pids: Vec<ProcessId> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter_map(|path| runtime_folder::pid_of(&path).filter(|_| !remove_if_stale(&path)))
        .collect();
    pids.sort_unstable();
    Ok(pids)
}

/// Removes a socket that nobody listens on any more.
fn remove_if_stale(path: &Path) -> bool {
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    UnixStream::connect(path).err().is_some_and(refused) && fs::remove_file(path).is_ok()
}

fn exchange(mut stream: UnixStream, request: &Request) -> io::Result<Answer> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut line = serde_json::to_string(request)?;
    line.push('\n');
    stream.write_all(line.as_bytes())?;
    line.clear();
    if BufReader::new(stream).read_line(&mut line)? == 0 {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it has just ended"));
    }
    Ok(serde_json::from_str(&line)?)
}

fn not_traced(pid: ProcessId) -> LiveError {
    match ProcessDir::of(pid).metadata() {
        Err(_) => LiveError::NoProcess { pid },
        Ok(process) if process.uid() != runtime_folder::user() => LiveError::NotAllowed { pid },
        Ok(_) => LiveError::NotTraced { pid },
    }
}
