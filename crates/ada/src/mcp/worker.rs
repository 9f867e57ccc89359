//! The thread that owns the sessions and answers one question after the other.

use std::sync::mpsc;
use std::time::Duration;

use ada_query::{Cancel, Limits};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::Args;
use super::arguments::Arguments;
use super::library::Library;
use super::{record, tools};

/// Rows of an answer that are looked at before they are fitted into a budget.
const MOST_ROWS: u64 = 20_000;

struct Call {
    tool: String,
    arguments: Map<String, Value>,
    reply: oneshot::Sender<Result<Value, String>>,
}

/// A handle on the thread. Cheap to clone.
#[derive(Clone)]
pub(super) struct Worker {
    calls: mpsc::Sender<Call>,
}

/// What tools work with.
pub(super) struct Context {
    pub(super) library: Library,
    pub(super) limits: Limits,
    pub(super) allows_record: bool,
}

impl Worker {
    pub(super) fn start(args: Args) -> Self {
        let (calls, received) = mpsc::channel::<Call>();
        std::thread::spawn(move || {
            let cancel = Cancel::default();
            let limits = Limits { rows: Some(MOST_ROWS), time: Some(args.max_time), memory: args.max_memory };
            let library = Library::new(args.places, args.timeout, cancel);
            let mut context = Context { library, limits, allows_record: args.allow_record };
            for call in received {
                let answer = context.answer(&call.tool, Arguments(call.arguments));
                // Whoever asked may be gone.
                let _ = call.reply.send(answer.map_err(|error| format!("{error:#}")));
            }
        });
        Self { calls }
    }

    /// Asks, and waits for the answer. Err has words for the agent.
    pub(super) async fn ask(&self, tool: &str, arguments: Map<String, Value>) -> Result<Value, String> {
        let (reply, answer) = oneshot::channel();
        let call = Call { tool: tool.to_owned(), arguments, reply };
        self.calls.send(call).map_err(|_| "the server has stopped".to_owned())?;
        answer.await.unwrap_or_else(|_| Err("the question ended the server's thread; this is a bug".into()))
    }
}

impl Context {
    fn answer(&mut self, tool: &str, arguments: Arguments) -> anyhow::Result<Value> {
        let budget = arguments.budget()?;
        self.library.cancel().begin(self.limits.time.or(Some(Duration::from_secs(60))));
        let answer = match tool {
            "record" if self.allows_record => record::run(self, &arguments)?,
            "record" => anyhow::bail!("recording is not allowed; start the server with --allow-record"),
            tool => tools::answer(self, tool, &arguments)?,
        };
        Ok(answer.fit(budget))
    }
}
