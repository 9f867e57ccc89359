//! `ada atf …`.

use crate::exit::Outcome;

#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: Args) -> anyhow::Result<Outcome> {
    Ok(Outcome::Clean)
}
