//! A real `debuginfod` of elfutils', on this machine alone.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::run;

/// A server of the debug files of one folder, until it is dropped.
pub(crate) struct DebugServer {
    folder: TempDir,
    address: String,
    server: Child,
}

impl DebugServer {
    /// Starts one that has files by now, and waits until it knows these build-ids.
    pub(crate) fn start(folder: TempDir, build_ids: &[&str]) -> Self {
        let address = free_address();
        let port = address.rsplit(':').next().expect("an address has a port");
        let mut command = Command::new("debuginfod");
        command.args(["-F", "-p", port, "-d"]).arg(folder.path().join("index")).arg(folder.path());
        // It would ask other servers.
        command.env_remove("DEBUGINFOD_URLS").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let server = command.spawn().expect("scripts/setup installs it");
        let server = Self { folder, address, server };
        let deadline = Instant::now() + Duration::from_secs(120);
        while !build_ids.iter().all(|build_id| server.has(build_id)) {
            assert!(Instant::now() < deadline, "debuginfod has not found {build_ids:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    /// What to put into `DEBUGINFOD_URLS`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where its files are.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn has(&self, build_id: &str) -> bool {
        let answer = || {
            let mut stream = TcpStream::connect(&self.address)?;
            write!(stream, "GET /buildid/{build_id}/debuginfo HTTP/1.0\r\n\r\n")?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).map(|_| answer)
        };
        answer().is_ok_and(|answer: Vec<u8>| answer.split(|&byte| byte == b'\r').next().is_some_and(is_found))
    }
}

fn is_found(status: &[u8]) -> bool {
    status.ends_with(b" 200 OK")
}

impl Drop for DebugServer {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// An address of this machine at which nobody listens.
pub(crate) fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// Splits off a file's debug information, which goes into a folder, and gives what is left in another one, with its build-id.
pub(crate) fn split(whole: &Path, debug_files: &Path, to: &Path) -> (PathBuf, String) {
    let name = whole.file_name().expect("a file has a name");
    let (debug, stripped) = (debug_files.join(name).with_extension("debug"), to.join(name));
    tool(Command::new("objcopy").arg("--only-keep-debug").arg(whole).arg(debug));
    tool(Command::new("strip").arg(whole).arg("-o").arg(&stripped));
    let id = ada_image::build_id(std::fs::File::open(whole).unwrap()).expect("it was linked with one");
    (stripped, id.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn tool(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; scripts/setup installs it"));
    assert!(output.status.success(), "{command:?}\n{}", run::text(&output.stderr));
}
