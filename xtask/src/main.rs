//! `cargo xtask`: the project's own chores.

mod bench;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's own chores
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Measure what tracing costs, beside two clock reads, uftrace and Frida
    Bench(bench::Args),
}

fn main() -> ExitCode {
    let Chore::Bench(args) = Cli::parse().chore;
    match bench::run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
