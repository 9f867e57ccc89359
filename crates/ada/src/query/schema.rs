//! `ada query --schema`.

use ada_query::{documented, documented_functions};

use crate::analysis::Out;
use crate::exit::Outcome;

/// Prints all tables with their columns, and the functions.
pub(super) fn print() -> anyhow::Result<Outcome> {
    let mut out = Out::new();
    for table in documented() {
        out.line(&format!("{} -- {}", table.signature(), table.about))?;
        for parameter in table.parameters {
            out.line(&format!("    ({:<17} {:<8} {})", parameter.name, parameter.kind.word(), parameter.about))?;
        }
        for column in table.columns {
            out.line(&format!("    {:<18} {:<8} {}", column.name, column.kind.word(), column.about))?;
        }
        out.line("")?;
    }
    out.line("functions -- beside SQLite's own")?;
    for (signature, about) in documented_functions() {
        out.line(&format!("    {signature:<38} {about}"))?;
    }
    out.finish()?;
    Ok(Outcome::Clean)
}
