//! Durations without what recording them took, as commands print them.

use ada_span::Corrected;
use anyhow::bail;
use serde_json::Value;

use super::opened::OpenedSession;
use super::units::nanoseconds;

/// `1.23 ms ±40 ns`.
pub(crate) fn corrected_text(corrected: Option<Corrected>) -> String {
    corrected.map_or_else(String::new, |it| format!("{} ±{}", nanoseconds(it.ns), nanoseconds(it.error_ns)))
}

/// Adds a corrected time to a record: `{name}_ns`, and how far it may be off.
pub(crate) fn put_corrected(record: &mut Value, name: &str, corrected: Option<Corrected>) {
    record[format!("{name}_ns")] = corrected.map(|it| it.ns).into();
    record[format!("{name}_error_ns")] = corrected.map(|it| it.error_ns).into();
}

/// Refuses a session in which hooks were not calibrated.
pub(crate) fn check_correctable(opened: &OpenedSession) -> anyhow::Result<()> {
    if opened.processes().iter().all(|process| process.correction.is_none()) {
        bail!("this session does not say what a hook costs (hook_cost_ns in its manifest); leave --corrected out");
    }
    Ok(())
}
