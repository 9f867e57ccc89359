//! Real servers under load.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::asker::Question;
use crate::bench::Bench;
use crate::bench::peers::apt;

/// A server takes its first connection sooner.
const LONGEST_START: Duration = Duration::from_secs(10);

/// Which server, with its load generator.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stand {
    /// redis with seven threads that read and write, and redis-benchmark.
    Redis,
    /// A worker of nginx with eight threads that read files, and wrk.
    Nginx,
}

impl Stand {
    pub(super) const ALL: [Self; 2] = [Self::Redis, Self::Nginx];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis, redis-benchmark",
            Self::Nginx => "nginx worker, wrk",
        }
    }

    /// Programs and the packages that they come in.
    fn needs(self) -> [(&'static str, &'static str); 2] {
        match self {
            Self::Redis => [("/usr/bin/redis-server", "redis-server"), ("/usr/bin/redis-benchmark", "redis-tools")],
            Self::Nginx => [("/usr/sbin/nginx", "nginx-light"), ("/usr/bin/wrk", "wrk")],
        }
    }
}

/// A server that runs, and its load. Both end with it.
pub(super) struct Server {
    stand: Stand,
    process: Running,
    load: Running,
    /// The process with the threads: the server itself, or its worker.
    pid: u32,
    port: u16,
    content: Arc<Vec<u8>>,
    load_output: PathBuf,
}

/// A child that is ended when nobody needs it any more.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.interrupt();
        let _ = self.0.wait();
    }
}

impl Running {
    fn interrupt(&self) {
        // SAFETY: a signal to our own child, which was not waited for.
        unsafe { libc::kill(self.0.id() as i32, libc::SIGINT) };
    }
}

impl Server {
    pub(super) fn start(bench: &Bench, stand: Stand) -> anyhow::Result<Self> {
        for (program, package) in stand.needs() {
            if !Path::new(program).exists() {
                apt::install(bench, package)?;
            }
        }
        let folder = bench.scratch.join("server");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let content: Arc<Vec<u8>> = Arc::new((0..20_000u32).map(|at| b'a' + (at % 23) as u8).collect());
        fs::write(folder.join("file"), &*content)?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let log = File::create(folder.join("server.log"))?;
        let mut command = match stand {
            Stand::Redis => redis(&folder, port),
            Stand::Nginx => nginx(&folder, port)?,
        };
        let child = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn();
        let process = Running(child.context("the server does not start")?);
        wait_for(port)?;
        let pid = match stand {
            Stand::Redis => process.0.id(),
            Stand::Nginx => worker_of(process.0.id())?,
        };
        let load_output = folder.join("load.log");
        let load =
            load(stand, port).stdin(Stdio::null()).stdout(File::create(&load_output)?).stderr(Stdio::null()).spawn();
        let load = Running(load.context("the load does not start")?);
        Ok(Self { stand, process, load, pid, port, content, load_output })
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn question(&self) -> Question {
        match self.stand {
            Stand::Redis => Question::Increment,
            Stand::Nginx => Question::Fetch(self.content.clone()),
        }
    }

    pub(super) fn thread_count(&self) -> anyhow::Result<usize> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.pid)).context("the server has ended")?;
        Ok(threads.count())
    }

    /// What a tracer could leave behind: code that is not of a file on disk, open files, and the tracer itself.
    pub(super) fn leftovers(&self) -> anyhow::Result<Vec<String>> {
        let read =
            |name: &str| fs::read_to_string(format!("/proc/{}/{name}", self.pid)).context("the server has ended");
        let mut left: Vec<String> = read("maps")?
            .lines()
            .filter(|line| line.contains("memfd:") || line.contains("(deleted)") || is_anonymous_code(line))
            .map(str::to_owned)
            .collect();
        left.extend(read("status")?.lines().filter(|line| line.starts_with("TracerPid")).map(str::to_owned));
        Ok(left)
    }

    /// Ends the load and the server. What either of them has to complain of.
    pub(super) fn stop(mut self) -> anyhow::Result<Vec<String>> {
        let mut complaints = Vec::new();
        if let Some(status) = self.load.0.try_wait()? {
            complaints.push(format!("the load generator has ended by itself: {status}"));
        }
        self.load.interrupt();
        self.load.0.wait()?;
        let said = fs::read_to_string(&self.load_output)?;
        let is_complaint = |line: &&str| ["rror", "Non-2xx"].iter().any(|word| line.contains(word));
        complaints.extend(said.split(['\n', '\r']).filter(is_complaint).map(|line| line.trim().to_owned()));
        self.process.interrupt();
        let status = self.process.0.wait()?;
        if !status.success() {
            complaints.push(format!("the server ended with {status}"));
        }
        Ok(complaints)
    }
}

/// `7f12…-7f13… r-xp 00000000 00:00 0`, with no name behind.
fn is_anonymous_code(line: &str) -> bool {
    let mut fields = line.split_ascii_whitespace();
    fields.nth(1).is_some_and(|rights| rights.contains('x')) && fields.nth(3).is_none()
}

fn redis(folder: &Path, port: u16) -> Command {
    let mut command = Command::new("/usr/bin/redis-server");
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
    command.args(["--io-threads", "7", "--io-threads-do-reads", "yes", "--dir"]).arg(folder);
    command
}

fn nginx(folder: &Path, port: u16) -> anyhow::Result<Command> {
    let inside = |name: &str| folder.join(name).display().to_string();
    let configuration = format!(
        "daemon off; worker_processes 1; user root; pid {pid}; error_log {log}; thread_pool default threads=8;\n\
         events {{ worker_connections 512; }}\n\
         http {{\n\
           access_log off; keepalive_requests 100000000; aio threads; sendfile off;\n\
           client_body_temp_path {body}; proxy_temp_path {proxy}; fastcgi_temp_path {fastcgi};\n\
           uwsgi_temp_path {uwsgi}; scgi_temp_path {scgi};\n\
           server {{ listen 127.0.0.1:{port}; root {root}; }}\n\
         }}\n",
        pid = inside("nginx.pid"),
        log = inside("nginx.log"),
        body = inside("body"),
        proxy = inside("proxy"),
        fastcgi = inside("fastcgi"),
        uwsgi = inside("uwsgi"),
        scgi = inside("scgi"),
        root = folder.display(),
    );
    let path = folder.join("nginx.conf");
    fs::write(&path, configuration)?;
    let mut command = Command::new("/usr/sbin/nginx");
    command.arg("-e").arg(inside("nginx.log")).arg("-c").arg(path);
    Ok(command)
}

fn load(stand: Stand, port: u16) -> Command {
    match stand {
        Stand::Redis => {
            let mut command = Command::new("/usr/bin/redis-benchmark");
            command.args(["-p", &port.to_string(), "-t", "set,get,incr", "-c", "50", "-n", "1000000000", "-q"]);
            command
        }
        Stand::Nginx => {
            let mut command = Command::new("/usr/bin/wrk");
            command.args(["-t", "1", "-c", "32", "-d", "3600", &format!("http://127.0.0.1:{port}/file")]);
            command
        }
    }
}

fn wait_for(port: u16) -> anyhow::Result<()> {
    let begun = Instant::now();
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        anyhow::ensure!(begun.elapsed() < LONGEST_START, "the server takes no connection");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn worker_of(master: u32) -> anyhow::Result<u32> {
    let children = fs::read_to_string(format!("/proc/{master}/task/{master}/children"))?;
    let first = children.split_ascii_whitespace().next().context("nginx has no worker")?;
    Ok(first.parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_without_a_file_is_seen() {
        assert!(is_anonymous_code("7f0000000000-7f0000001000 r-xp 00000000 00:00 0 "));
        assert!(!is_anonymous_code("7f0000000000-7f0000001000 rw-p 00000000 00:00 0 "));
        assert!(!is_anonymous_code("7f0000000000-7f0000001000 r-xp 00000000 00:00 0  [vdso]"));
        assert!(!is_anonymous_code("7f0000000000-7f0000001000 r-xp 00000000 08:01 9 /usr/bin/redis-server"));
    }
}
