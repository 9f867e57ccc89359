//! `ada view`: the timeline page, served on the loopback interface.
//!
//! [`timeline`] holds what is drawn and may be asked by several threads at once; everything else is a [`question`] to the
//! one thread that owns the session. [`http`] is the only one that knows of requests.

mod about;
mod arrows;
mod assets;
mod browser;
mod causes;
mod coverage;
mod crashed_call;
mod details;
mod endings;
mod function;
mod guard;
mod http;
mod live;
mod lives;
mod loaded;
mod locks;
mod logical;
mod logical_track;
mod names;
mod notes;
mod opening;
mod page_lens;
mod parameters;
mod picture;
mod pixel;
mod placed;
mod question;
mod range_export;
mod referenced;
mod routes;
mod search;
mod shape_kind;
mod site;
mod source_text;
mod states;
mod sums;
mod through_lens;
mod timeline;
mod timeline_link;
mod timeline_process;
mod track;

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::analysis::{LensArgs, SessionArgs, find_session, parse_nanos};
use crate::exit::{Outcome, say};
use crate::token::Token;

pub(crate) use live::Watch;

const EXAMPLES: &str = "\
Examples:
  ada view                          the newest session in ada_traces
  ada view SESSION --port 7070      always under the same port
  ada view --no-open                only prints the address, as for a forwarded port (ssh -L 7070:127.0.0.1:7070)
  ada view --all                    opens with all functions, and not only the program's own (`L` on the page changes it)
  ada trace --view -- ./server      the page of a trace that is still growing

The address has a token that is made anew for each run; without it nothing is answered. The part behind # is the view:
sent to somebody who has the same session open, it shows the same. `?` on the page lists keys. docs/view.md has more.";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The session's folder, or one with sessions of which the newest is meant [default: the newest in ada_traces]
    session: Option<PathBuf>,
    /// The port on the loopback interface; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Do not open a browser
    #[arg(long)]
    no_open: bool,
    /// Spans that take longer than this have the reason `timeout`, or are `open` if they never end
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_nanos)]
    timeout: u64,
    /// Look for source lines in this folder's files first
    #[arg(long, value_name = "DIR")]
    debug_dir: Option<PathBuf>,
    #[command(flatten)]
    lens: LensArgs,
}

pub(crate) fn run(args: Args) -> anyhow::Result<Outcome> {
    let path = find_session(args.session.as_deref())?;
    let session = SessionArgs { session: Some(path.clone()), timeout: args.timeout, debug_dir: args.debug_dir };
    let loaded = loaded::Loaded::open(session, args.lens, &path, 1, false)?;
    let site = site::Site::one(loaded::Shown::new(loaded));
    serve(site, "the timeline", args.port, !args.no_open)?;
    Ok(Outcome::Clean)
}

/// Shows two sessions beside each other, with what makes the difference, until the process is ended.
pub(crate) fn show_both(
    sessions: [(SessionArgs, LensArgs, &Path); 2],
    difference: serde_json::Value,
    port: u16,
    opens: bool,
) -> anyhow::Result<()> {
    let [first, second] =
        sessions.map(|(args, lens, path)| loaded::Loaded::open(args, lens, path, 1, false).map(loaded::Shown::new));
    serve(site::Site::two(first?, second?, difference), "the comparison", port, opens)
}

/// Serves until the process is ended.
fn serve(site: site::Site, what: &str, port: u16, opens: bool) -> anyhow::Result<()> {
    let runtime = http::runtime().context("cannot start the server")?;
    let token = Token::new().context("cannot make a token")?;
    runtime.block_on(http::serve(site, port, token, move |url| {
        say(format_args!("ada: {what} is at {url} (Ctrl-C ends)\n"));
        if opens {
            browser::open(url);
        }
    }))
}
