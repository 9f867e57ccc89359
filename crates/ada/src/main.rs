//! The `ada` executable: arguments in, words and exit codes out. What it does lives in the libraries.
#![forbid(unsafe_code)]

mod atf;
mod cli;
mod completions;
mod demo;
mod exit;
mod heph;

use clap::Parser;

fn main() -> std::process::ExitCode {
    let command = cli::Cli::parse().command;
    exit::report(match command {
        cli::Command::Demo(args) => demo::run(&args),
        cli::Command::Atf(args) => atf::run(args),
        cli::Command::Heph(args) => heph::run(args),
        cli::Command::Completions(args) => completions::run(&args),
    })
}
