//! Debug files from the servers that the user has named in `DEBUGINFOD_URLS`, by elfutils' own client.
//!
//! The client is its program, `debuginfod-find`, and not its library. It knows caches, proxies, TLS and all settings of the
//! environment, as the library does. A process can be ended when the user cancels or it takes too long, and what goes wrong in
//! it goes wrong there; and ada stays one file that runs on hosts without elfutils.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use ada_event::ProcessId;
use ada_format::private::{open_regular, user};
use ada_process::Pidfd;

/// The client.
const CLIENT: &str = "debuginfod-find";
/// The servers, as elfutils has it. Without it nothing is asked.
const SERVERS: &str = "DEBUGINFOD_URLS";
/// How many seconds a file may take, as elfutils has it; no limit there where it is not set.
const LONGEST_BY_USER: &str = "DEBUGINFOD_MAXTIME";

/// How long all files together may take, unless the user allows one alone more.
const LONGEST: Duration = Duration::from_secs(120);
/// From when on the user hears what is waited for.
const SOON: Duration = Duration::from_secs(1);
/// Build-ids that the client takes, in bytes.
const BUILD_ID_BYTES: std::ops::RangeInclusive<usize> = 2..=64;
/// Bytes of what the client prints that are kept: it ends with a path, or with a reason.
const MOST_BYTES: usize = 4096;

/// Fetches debug files from the user's servers, one after the other, and remembers what they had.
pub struct Debuginfod {
    client: PathBuf,
    longest: Duration,
    /// Whether only what goes wrong is told.
    is_quiet: bool,
    say: Box<dyn Fn(&str) + Send + Sync>,
    asked: Mutex<Asked>,
}

/// What has been asked for so far.
#[derive(Default)]
struct Asked {
    /// By build-id; none of what there is not.
    answers: HashMap<Vec<u8>, Option<PathBuf>>,
    /// The files of which the servers have nothing.
    unknown: Vec<PathBuf>,
    /// How long that took.
    took: Duration,
    /// Nothing is asked any more: it would fail in the same way.
    is_over: bool,
}

/// Why there is no debug file.
#[derive(Debug, PartialEq, Eq)]
enum Failure {
    /// The servers have none.
    Unknown,
    /// What came is not what was asked for.
    NotBelieved(&'static str),
    /// Others would fail alike.
    Client(String),
}

impl Debuginfod {
    /// Asks the servers of this process's environment; none where the user has named none. `say` hears lines for the user.
    pub fn from_environment(is_quiet: bool, say: impl Fn(&str) + Send + Sync + 'static) -> Option<Self> {
        let by_user = std::env::var(LONGEST_BY_USER).ok().and_then(|seconds| seconds.trim().parse().ok());
        let longest = by_user.map_or(LONGEST, |seconds| Duration::from_secs(seconds).max(LONGEST));
        has_servers().then(|| Self::new(CLIENT.into(), longest, is_quiet, say))
    }

    fn new(client: PathBuf, longest: Duration, is_quiet: bool, say: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { client, longest, is_quiet, say: Box::new(say), asked: Mutex::default() }
    }

    /// The debug file for a build-id, which is that of `image`. Asks servers where this was not asked before, and waits no
    /// longer than `within`.
    pub fn fetch(&self, build_id: &[u8], image: &Path, within: Option<Duration>) -> Option<PathBuf> {
        let mut asked = self.asked();
        if let Some(answer) = asked.answers.get(build_id) {
            return answer.clone();
        }
        if asked.is_over || !BUILD_ID_BYTES.contains(&build_id.len()) {
            return None;
        }
        let begun = Instant::now();
        let longest = self.longest.saturating_sub(asked.took).min(within.unwrap_or(Duration::MAX));
        let answer = self.ask(build_id, image, longest).and_then(|path| believed(&path, build_id).map(|()| path));
        asked.took += begun.elapsed();
        match &answer {
            Ok(_) => {}
            Err(Failure::Unknown) => asked.unknown.push(image.to_owned()),
            Err(Failure::NotBelieved(why)) => {
                (self.say)(&format!("the debug file that debuginfod has for {} is not used: {why}", shown(image)));
            }
            Err(Failure::Client(why)) => {
                (self.say)(&format!("no debug information by debuginfod: {why}"));
                asked.is_over = true;
            }
        }
        asked.answers.insert(build_id.to_vec(), answer.ok()).flatten();
        asked.answers.get(build_id)?.clone()
    }

    /// A file that was fetched.
    pub(crate) fn fetched(&self, build_id: &[u8]) -> Option<PathBuf> {
        self.asked().answers.get(build_id)?.clone()
    }

    /// What the servers do not have, in words.
    pub(crate) fn limit(&self) -> Option<String> {
        let asked = self.asked();
        let (first, others) = asked.unknown.split_first()?;
        let others = if others.is_empty() { String::new() } else { format!(" and {} more files", others.len()) };
        Some(format!("no server of {SERVERS} has debug information of {}{others}", shown(first)))
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().expect("nobody panics with the lock")
    }

    /// Runs the client, and gives the path that it prints.
    fn ask(&self, build_id: &[u8], image: &Path, longest: Duration) -> Result<PathBuf, Failure> {
        let hex: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut command = Command::new(&self.client);
        command.args(["debuginfo", &hex]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Its complaints are read below. Progress, which is not, ends it soon after an ada that was killed: by SIGPIPE.
        command.env("LC_ALL", "C").env("DEBUGINFOD_PROGRESS", "1").env_remove("DEBUGINFOD_VERBOSE");
        let child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Failure::Client(not_installed()),
            _ => Failure::Client(format!("{CLIENT} cannot be run: {error}")),
        })?;
        self.wait(child, image, longest)
    }

    fn wait(&self, mut child: Child, image: &Path, longest: Duration) -> Result<PathBuf, Failure> {
        let failed = |error: io::Error| Failure::Client(format!("{CLIENT} failed: {error}"));
        let (path, complaint) = (child.stdout.take().map(last_bytes), child.stderr.take().map(last_bytes));
        let Some(status) = self.end_of(&mut child, image, longest).map_err(failed)? else {
            let seconds = longest.as_secs();
            return Err(Failure::Client(format!("{} took more than {seconds} s", shown(image))));
        };
        // Not for ever: what it has started may hold its pipes.
        let bytes = |from: Option<Receiver<Vec<u8>>>| from?.recv_timeout(SOON).ok();
        if status.success() {
            let mut path = bytes(path).unwrap_or_default();
            path.pop_if(|byte| *byte == b'\n');
            return Ok(OsString::from_vec(path).into());
        }
        if status.signal().is_some() {
            return Err(Failure::Client("it was cancelled".into()));
        }
        match bytes(complaint).and_then(|words| reason(&words)) {
            // What `strerror` has for ENOENT.
            Some(words) if words == "No such file or directory" => Err(Failure::Unknown),
            words => Err(Failure::Client(words.unwrap_or_else(|| format!("{CLIENT} failed without a reason")))),
        }
    }

    /// How the client has ended; none where it took too long, and was ended.
    fn end_of(&self, child: &mut Child, image: &Path, longest: Duration) -> io::Result<Option<ExitStatus>> {
        let process = Pidfd::open(ProcessId(child.id()));
        let begun = Instant::now();
        let mut is_told = self.is_quiet;
        while let (Ok(process), Some(rest)) = (&process, longest.checked_sub(begun.elapsed())) {
            // A signal may end the wait.
            if process.wait(if is_told { rest } else { rest.min(SOON) }) {
                return child.wait().map(Some);
            }
            if !is_told && begun.elapsed() >= SOON {
                is_told = true;
                (self.say)(&format!("waiting for debug information of {} by debuginfod", shown(image)));
            }
        }
        child.kill()?;
        child.wait()?;
        process.map(|_| None)
    }
}

/// Whether files can be fetched here, in words.
pub(crate) fn availability() -> String {
    let has_client = || Command::new(CLIENT).arg("--version").stdin(Stdio::null()).output().is_ok();
    match (has_servers(), has_client()) {
        (false, _) => format!("not asked for debug information: {SERVERS} names no server"),
        (true, true) => format!("asked for debug information that is missing here: {SERVERS} names servers"),
        (true, false) => not_installed(),
    }
}

/// Whether the user has named servers.
fn has_servers() -> bool {
    std::env::var_os(SERVERS).is_some_and(|urls| !urls.to_string_lossy().trim().is_empty())
}

fn not_installed() -> String {
    format!("{SERVERS} is set, and {CLIENT} is not installed (Debian's package debuginfod has it)")
}

/// Reads a pipe to its end, and gives what came last.
fn last_bytes(mut from: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (to, last) = sync_channel(1);
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut piece = [0; 512];
        // Also beyond what is kept: a full pipe would stop the client.
        while let Ok(count @ 1..) = from.read(&mut piece) {
            bytes.extend_from_slice(&piece[..count]);
            bytes.drain(..bytes.len().saturating_sub(MOST_BYTES));
        }
        let _ = to.send(bytes);
    });
    last
}

/// The reason that the client gives for its failure.
fn reason(complaint: &[u8]) -> Option<String> {
    let words = String::from_utf8_lossy(complaint);
    let line = words.split(['\n', '\r']).rfind(|line| !line.trim().is_empty())?;
    let reason = line.split_once("Server query failed: ").map_or(line, |(_, reason)| reason);
    Some(reason.trim().replace(char::is_control, "?"))
}

/// Whether a file is the debug file for a build-id, and stays what it is.
fn believed(path: &Path, build_id: &[u8]) -> Result<(), Failure> {
    let file = open_regular(path).map_err(|_| Failure::NotBelieved("it cannot be opened"))?;
    let metadata = file.metadata().map_err(|_| Failure::NotBelieved("it cannot be opened"))?;
    // A cache may be another user's, below whose home root asks.
    if ![0, user()].contains(&metadata.uid()) || metadata.mode() & 0o022 != 0 {
        return Err(Failure::NotBelieved("others can write to it"));
    }
    match ada_image::build_id(file) {
        Some(found) if found == build_id => Ok(()),
        Some(_) => Err(Failure::NotBelieved("it belongs to another file")),
        None => Err(Failure::NotBelieved("it is damaged")),
    }
}

/// A path in a line.
fn shown(path: &Path) -> String {
    path.to_string_lossy().replace(char::is_control, "?")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;

    use super::*;

    /// A client that runs this script, and what was said.
    fn client(script: &str, longest: Duration) -> (tempfile::TempDir, Debuginfod, Arc<Mutex<Vec<String>>>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("client");
        fs::write(&path, format!("#!/bin/sh\necho >> {}\n{script}\n", folder.path().join("runs").display())).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let hears = said.clone();
        let say = move |line: &str| hears.lock().unwrap().push(line.to_owned());
        (folder, Debuginfod::new(path, longest, false, say), said)
    }

    fn runs(folder: &tempfile::TempDir) -> u64 {
        fs::metadata(folder.path().join("runs")).map_or(0, |runs| runs.len())
    }

    const IMAGE: &str = "/bin/own\nprogram";

    #[test]
    fn a_file_with_the_build_id_is_believed_and_no_other() {
        let shell = fs::canonicalize("/bin/sh").unwrap();
        let id = ada_image::build_id(fs::File::open(&shell).unwrap()).unwrap();
        let (folder, asked, said) = client(&format!("echo {}", shell.display()), LONGEST);
        let fetch = |id: &[u8]| asked.fetch(id, Path::new(IMAGE), None);
        assert_eq!(fetch(&id), Some(shell.clone()));
        assert_eq!((fetch(&id), asked.fetched(&id)), (Some(shell.clone()), Some(shell)));
        assert_eq!(runs(&folder), 1);
        assert!(said.lock().unwrap().is_empty());
        assert_eq!((fetch(&[7; 20]), fetch(&[7; 20]), fetch(&[7]), fetch(&[7; 65])), (None, None, None, None));
        assert_eq!(runs(&folder), 2);
        let expected =
            "the debug file that debuginfod has for /bin/own?program is not used: it belongs to another file";
        assert_eq!(*said.lock().unwrap(), [expected]);
    }

    #[test]
    fn what_others_can_change_or_is_no_elf_file_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("debug");
        fs::copy(fs::canonicalize("/bin/sh").unwrap(), &path).unwrap();
        let id = ada_image::build_id(fs::File::open(&path).unwrap()).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o664)).unwrap();
        assert_eq!(believed(&path, &id), Err(Failure::NotBelieved("others can write to it")));
        fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        assert_eq!(believed(&path, &id), Ok(()));
        fs::write(&path, "\x7fELF and no more").unwrap();
        assert_eq!(believed(&path, &id), Err(Failure::NotBelieved("it is damaged")));
        assert_eq!(believed(Path::new("/dev/null"), &id), Err(Failure::NotBelieved("it cannot be opened")));
        assert_eq!(believed(Path::new(""), &id), Err(Failure::NotBelieved("it cannot be opened")));
    }

    #[test]
    fn what_no_server_has_is_no_failure_and_is_told_at_the_end() {
        let (folder, asked, said) =
            client("echo 'Server query failed: No such file or directory' >&2; exit 1", LONGEST);
        for id in [[1; 20], [2; 20], [1; 20]] {
            assert_eq!(asked.fetch(&id, Path::new(IMAGE), None), None);
        }
        assert_eq!((runs(&folder), said.lock().unwrap().len()), (2, 0));
        let limit = "no server of DEBUGINFOD_URLS has debug information of /bin/own?program and 1 more files";
        assert_eq!(asked.limit().as_deref(), Some(limit));
    }

    #[test]
    fn a_failure_is_told_once_and_nothing_is_asked_after_it() {
        let reason =
            "printf '\\rDownloading from x 1/2' >&2; echo 'Server query failed: Connection refused' >&2; exit 1";
        for (script, words) in [(reason, "Connection refused"), ("kill -TERM $$", "it was cancelled")] {
            let (folder, asked, said) = client(script, LONGEST);
            for id in [[1; 20], [2; 20]] {
                assert_eq!(asked.fetch(&id, Path::new(IMAGE), None), None);
            }
            assert_eq!(*said.lock().unwrap(), [format!("no debug information by debuginfod: {words}")]);
            assert_eq!((runs(&folder), asked.limit()), (1, None));
        }
        let (folder, asked, said) = client("", LONGEST);
        fs::remove_file(folder.path().join("client")).unwrap();
        assert_eq!(asked.fetch(&[1; 20], Path::new(IMAGE), None), None);
        assert!(said.lock().unwrap()[0].contains("debuginfod-find is not installed"));
    }

    #[test]
    fn who_waits_is_told_what_for_and_not_for_ever() {
        // It says more than a pipe holds, and leaves somebody behind who holds the pipes.
        let script = "head -c 300000 /dev/zero | tr '\\0' x >&2; sleep 4 & exec sleep 60";
        let (_folder, asked, said) = client(script, Duration::from_millis(1500));
        let begun = Instant::now();
        assert_eq!(asked.fetch(&[1; 20], Path::new(IMAGE), None), None);
        assert!(begun.elapsed() < Duration::from_secs(30));
        let said = said.lock().unwrap();
        assert_eq!(said[0], "waiting for debug information of /bin/own?program by debuginfod");
        assert_eq!(said[1], "no debug information by debuginfod: /bin/own?program took more than 1 s");
    }
}
