//! A page that is being served.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::run;

/// A running `ada view`, which ends with this.
pub(crate) struct Served {
    child: Child,
    pub(crate) url: String,
    pub(crate) port: u16,
    pub(crate) token: String,
}

/// What came back.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Served {
    /// With all functions.
    pub(crate) fn new(session: &Path) -> Self {
        let mut command = run::command();
        command.args(["view", "--no-open", "--all"]).arg(session);
        Self::by(command)
    }

    /// As people have it who say nothing.
    pub(crate) fn plain(session: &Path) -> Self {
        let mut command = run::command();
        command.args(["view", "--no-open"]).arg(session);
        Self::by(command)
    }

    /// Starts what will serve a page, and waits until it says where.
    pub(crate) fn by(mut command: Command) -> Self {
        // Nobody wants a browser of the desktop.
        command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("ada starts");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let line = lines.next().expect("it says where the page is").expect("in words");
        // Whatever else it says must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap_or_else(|| panic!("{line}"));
        let (address, token) = url.split_once("?token=").expect("the address has a token");
        let (address, _) = address["http://".len()..].split_once('/').expect("and a path");
        let port = address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("and a port");
        Self { url: url.to_owned(), port, token: token.to_owned(), child }
    }

    /// Sends bytes, and reads what comes back until the server has no more to say.
    pub(crate) fn send(&self, request: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("somebody listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // The server may have refused, and closed, before it was all sent.
        let _ = stream.write_all(request);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        reply
    }

    /// Asks as the page does, with headers instead of some of its own.
    pub(crate) fn ask(&self, path: &str, headers: &[(&str, &str)]) -> Reply {
        let mut request = format!("GET {path} HTTP/1.1\r\nConnection: close\r\n");
        let own = [("Host", format!("127.0.0.1:{}", self.port)), ("X-Ada-Token", self.token.clone())];
        for (name, value) in &own {
            if !headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
                request.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        parse(&self.send(request.as_bytes()))
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.ask(path, &[])
    }

    /// The id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end, and gives its exit code.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.child.wait().expect("it can be waited for").code()
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        self.child.try_wait().expect("it can be asked").is_none()
    }
}

pub(crate) fn parse(reply: &[u8]) -> Reply {
    let end = reply.windows(4).position(|it| it == b"\r\n\r\n").unwrap_or(reply.len());
    let head = String::from_utf8_lossy(&reply[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
    Reply { status, head, body: reply.get(end + 4..).unwrap_or_default().to_vec() }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
