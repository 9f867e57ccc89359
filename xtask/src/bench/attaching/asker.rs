//! A client that knows the right answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context;

/// No answer takes this long.
const LONGEST: Duration = Duration::from_secs(10);

/// What to ask, and what must come back.
#[derive(Clone)]
pub(super) enum Question {
    /// Counts a key up: each answer is one more than the last.
    Increment,
    /// Fetches a file with this content.
    Fetch(Arc<Vec<u8>>),
}

/// Asks again and again until it is stopped.
pub(super) struct Asker {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<anyhow::Result<u64>>,
}

impl Asker {
    pub(super) fn start(question: Question, port: u16) -> anyhow::Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).context("the server takes no connection")?;
        stream.set_read_timeout(Some(LONGEST))?;
        let is_over = Arc::new(AtomicBool::new(false));
        let stop = is_over.clone();
        let thread = std::thread::spawn(move || {
            let mut conversation = BufReader::new(stream);
            let mut count = 0;
            while !stop.load(Ordering::Relaxed) {
                count += 1;
                question.ask(&mut conversation, count).with_context(|| format!("answer {count} is wrong"))?;
            }
            Ok(count)
        });
        Ok(Self { is_over, thread })
    }

    /// How many answers were right; an error if one was not.
    pub(super) fn stop(self) -> anyhow::Result<u64> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow::anyhow!("the client panicked"))?
    }
}

impl Question {
    fn ask(&self, conversation: &mut BufReader<TcpStream>, count: u64) -> anyhow::Result<()> {
        match self {
            Self::Increment => {
                conversation.get_mut().write_all(b"INCR asked\r\n")?;
                let line = read_line(conversation)?;
                anyhow::ensure!(line == format!(":{count}"), "it is {line:?}");
            }
            Self::Fetch(content) => {
                conversation.get_mut().write_all(b"GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
                let status = read_line(conversation)?;
                anyhow::ensure!(status == "HTTP/1.1 200 OK", "it is {status:?}");
                while !read_line(conversation)?.is_empty() {}
                let mut body = vec![0; content.len()];
                conversation.read_exact(&mut body)?;
                anyhow::ensure!(body == **content, "the file's content is not its own");
            }
        }
        Ok(())
    }
}

fn read_line(conversation: &mut BufReader<TcpStream>) -> anyhow::Result<String> {
    let mut line = String::new();
    anyhow::ensure!(conversation.read_line(&mut line)? > 0, "the server has closed the connection");
    Ok(line.trim_end().to_owned())
}
