//! `ada mcp`: sessions for agents, by the Model Context Protocol.
//!
//! All questions are answered by one thread, which owns the sessions. Tools name sessions as `list_sessions` does, and
//! never by paths; what was not given at the start cannot be read. Nothing is run unless `--allow-record` was given. Over
//! HTTP a client needs the token.

mod arguments;
mod budget;
mod call;
mod declared;
mod http;
mod library;
mod record;
mod server;
mod tool_context;
mod tools;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;

use crate::analysis::parse_nanos;
use crate::exit::{Blame, Outcome, say};
use crate::quantity::{parse_bytes, parse_duration};
use crate::session_thread::SessionThread;
use crate::token::Token;

use tool_context::ToolContext;

const EXAMPLES: &str = "\
Examples:
  ada mcp                          serves the sessions in ada_traces on stdin and stdout
  ada mcp SESSION                  only this session
  ada mcp traces/ --allow-record   agents may also record programs, into traces/
  ada mcp --http 7071              on http://127.0.0.1:7071/mcp instead, with the printed token

An agent's configuration:
  {\"mcpServers\": {\"ada\": {\"command\": \"ada\", \"args\": [\"mcp\", \"/path/to/traces\"]}}}";

/// Letters of a token that cannot be found by trying.
const SHORTEST_TOKEN: usize = 16;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folders of sessions, or folders that contain sessions [default: ada_traces]
    #[arg(value_name = "SESSION|FOLDER")]
    folders: Vec<PathBuf>,
    /// Serve on this loopback port instead of stdin and stdout; 0 takes a free one.
    ///
    /// Clients send the header `Authorization: Bearer TOKEN`. TOKEN is $ADA_MCP_TOKEN or, without that, a new token,
    /// which is printed.
    #[arg(long, value_name = "PORT")]
    http: Option<u16>,
    /// Let agents run programs and record them into the first folder
    #[arg(long)]
    allow_record: bool,
    /// Time limit for one answer
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_duration)]
    max_time: Duration,
    /// Memory limit for sorting and grouping in one query
    #[arg(long, value_name = "SIZE", default_value = "512M", value_parser = parse_bytes)]
    max_memory: u64,
    /// Mark spans that take longer than this with the reason `timeout`
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_nanos)]
    timeout: u64,
}

pub(crate) fn run(mut args: Args) -> anyhow::Result<Outcome> {
    if args.folders.is_empty() {
        args.folders.push("ada_traces".into());
    }
    let http = args.http;
    let allows_record = args.allow_record;
    let (thread, ()) = SessionThread::start(|| Ok((ToolContext::new(args), ())))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.context("cannot start the server")?;
    runtime.block_on(async {
        match http {
            Some(port) => {
                let (token, is_chosen) = token()?;
                http::serve(thread, allows_record, port, token, |address, token| {
                    let shown = if is_chosen { "$ADA_MCP_TOKEN".to_owned() } else { token.to_string() };
                    say(format_args!("ada: serving on http://{address}/mcp, Authorization: Bearer {shown}\n"));
                })
                .await
            }
            None => server::serve_stdio(thread, allows_record).await,
        }
    })?;
    // A read of stdin that is under way must not keep the program.
    runtime.shutdown_background();
    Ok(Outcome::Clean)
}

/// The token, and whether the user has chosen it: for a client's configuration that stays. Other users can read a
/// program's arguments and not its environment.
fn token() -> anyhow::Result<(Token, bool)> {
    match std::env::var("ADA_MCP_TOKEN") {
        Ok(word) if word.len() < SHORTEST_TOKEN => {
            Err(anyhow::anyhow!("$ADA_MCP_TOKEN is too short: it needs {SHORTEST_TOKEN} letters")).mistyped()
        }
        Ok(word) => Ok((Token::chosen(word), true)),
        Err(_) => Ok((Token::new().context("cannot make a token")?, false)),
    }
}
