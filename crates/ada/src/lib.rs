//! What the `ada` executable does: arguments in, words and exit codes out. The work is done in the other libraries.
#![forbid(unsafe_code)]

mod analysis;
mod ask;
mod atf;
mod attach;
mod bisect;
mod check;
mod cli;
mod completions;
mod debug_folder;
mod debug_servers;
mod demo;
mod destination;
mod diff;
mod doctor;
mod exit;
mod export;
mod filter;
mod format;
mod heph;
mod hook_list;
mod hooks;
mod import;
mod manual;
mod mcp;
mod pack;
mod ps;
mod quantity;
mod quarantine;
mod query;
mod queues;
mod report;
mod scratch;
mod session_thread;
mod show;
mod snapshot;
mod spans;
mod symbols;
mod tasks;
mod threads;
mod token;
mod top;
mod trace;
mod tree;
mod trigger;
mod view;
mod waits;
mod wall_clock;
mod workload;

use clap::CommandFactory;

/// Does what the command line says.
pub fn main() -> std::process::ExitCode {
    let command = match cli::Cli::read() {
        Ok(cli) => cli.command,
        Err(code) => return code,
    };
    let result = match command {
        cli::Command::Demo(args) => demo::run(&args),
        cli::Command::Trace(args) => trace::run(args),
        cli::Command::Bisect(args) => bisect::run(args),
        cli::Command::Quarantine(args) => quarantine::run(&args),
        cli::Command::Attach(args) => attach::run(args),
        cli::Command::Detach(args) => attach::detach(&args),
        cli::Command::Ps(args) => ps::run(&args),
        cli::Command::Filter(args) => filter::run(args),
        cli::Command::Hooks(args) => hooks::run(&args),
        cli::Command::Symbols(args) => symbols::run(&args),
        cli::Command::Doctor(args) => doctor::run(&args),
        cli::Command::Workload(args) => workload::run(&args),
        cli::Command::Snapshot(args) => snapshot::run(&args),
        cli::Command::Trigger(args) => trigger::run(&args),
        cli::Command::Report(args) => report::run(&args),
        cli::Command::Spans(args) => spans::run(&args),
        cli::Command::Tree(args) => tree::run(&args),
        cli::Command::Top(args) => top::run(&args),
        cli::Command::Diff(args) => diff::run(&args),
        cli::Command::Check(args) => check::run(&args),
        cli::Command::Threads(args) => threads::run(&args),
        cli::Command::Tasks(args) => tasks::run(&args),
        cli::Command::Queues(args) => queues::run(&args),
        cli::Command::Waits(args) => waits::run(&args),
        cli::Command::Show(args) => show::run(&args),
        cli::Command::Query(args) => query::run(args),
        cli::Command::Ask(args) => analysis::again_if_damaged(|| ask::run(&args)),
        cli::Command::View(args) => view::run(args),
        cli::Command::Import(args) => import::run(args),
        cli::Command::Export(args) => export::run(&args),
        cli::Command::Mcp(args) => mcp::run(args),
        cli::Command::Pack(args) => pack::pack(&args),
        cli::Command::Unpack(args) => pack::unpack(&args),
        cli::Command::Atf(args) => atf::run(args),
        cli::Command::Heph(args) => heph::run(args),
        cli::Command::Completions(args) => completions::run(&args, cli::Cli::command()),
        cli::Command::Manual(args) => manual::run(&args, cli::Cli::command()),
    };
    exit::report(analysis::without_damaged_tables(result))
}
