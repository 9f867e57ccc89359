//! `record`: runs a program under `ada trace`. Only where the server was started with `--allow-record`.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ada_event::ProcessId;
use ada_process::kill_below;
use anyhow::{Context, bail};
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::budget::Answer;
use super::tool_context::ToolContext;

const USUAL_SECONDS: u64 = 60;
const MOST_SECONDS: u64 = 600;
/// What is asked to end has so long before it is killed.
const GRACE: Duration = Duration::from_secs(10);
/// Bytes of each stream that are kept.
const MOST_OUTPUT: usize = 16 << 10;

pub(super) fn run(context: &mut ToolContext, arguments: &Arguments) -> anyhow::Result<Answer> {
    let command = arguments.texts("command")?;
    if command.is_empty() {
        bail!("command is missing: the program and its arguments, as a list of texts");
    }
    let seconds = arguments.number("max_seconds")?.unwrap_or(USUAL_SECONDS).clamp(1, MOST_SECONDS);
    let detail = arguments.text("detail")?.unwrap_or("windows");
    let before: Vec<String> = context.library.sessions().into_iter().map(|(name, _)| name).collect();
    let ada = std::env::current_exe().context("cannot find ada itself")?;
    let child = Command::new(ada)
        .arg("trace")
        .arg("--output")
        .arg(context.library.first_folder())
        .args(["--detail", detail])
        .arg("--")
        .args(&command)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start ada trace")?;
    let (streams, exit_code, did_time_out) = wait(child, Duration::from_secs(seconds))?;
    let session = context.library.sessions().into_iter().map(|(name, _)| name).find(|name| !before.contains(name));
    let items = streams
        .into_iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(stream, text)| json!({ "stream": stream, "text": text }))
        .collect();
    Ok(Answer::list(items, 0)
        .fact("session", session.map_or(Value::Null, Value::from))
        .fact("exit_code", exit_code.map_or(Value::Null, Value::from))
        .fact("did_time_out", did_time_out))
}

type Streams = Vec<(&'static str, String)>;

fn wait(mut child: Child, time: Duration) -> anyhow::Result<(Streams, Option<i32>, bool)> {
    let stdout = child.stdout.take().map(Head::of);
    let stderr = child.stderr.take().map(Head::of);
    let begun = Instant::now();
    let mut did_time_out = false;
    let status = loop {
        if let Some(status) = child.try_wait().context("cannot wait for ada trace")? {
            break status;
        }
        if begun.elapsed() > time && !did_time_out {
            did_time_out = true;
            // As a terminal's Ctrl-C would: the tracer passes it on and finishes its session.
            let _ = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
        }
        if begun.elapsed() > time + GRACE {
            // A program that does not listen. The tracer outlives it and finishes its session.
            kill_below(ProcessId(child.id()));
        }
        if begun.elapsed() > time + 2 * GRACE {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let text = |head: Option<Head>| head.map(Head::text).unwrap_or_default();
    Ok((vec![("stdout", text(stdout)), ("stderr", text(stderr))], status.code(), did_time_out))
}

/// The beginning of a stream.
struct Head {
    kept: Arc<Mutex<Vec<u8>>>,
    ended: Receiver<()>,
}

impl Head {
    /// The rest is read and forgotten, so that nobody waits for room in the pipe.
    fn of(mut stream: impl Read + Send + 'static) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (end, ended) = mpsc::channel();
        let shared = kept.clone();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut piece) {
                let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
                let room = MOST_OUTPUT.saturating_sub(kept.len());
                kept.extend_from_slice(&piece[..count.min(room)]);
            }
            drop(end);
        });
        Self { kept, ended }
    }

    /// What there is when the program has ended. A process that it left behind may hold the stream open for ever.
    fn text(self) -> String {
        let _ = self.ended.recv_timeout(Duration::from_secs(1));
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }
}
