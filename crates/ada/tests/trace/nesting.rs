//! Whether a thread's events make a call tree, with every depth where it belongs.

use std::collections::HashMap;

use ada_event::EventKind;

use super::recorded::{RecordedEvent, RecordedProcess};

/// Replays a thread, each of its stacks for itself. A call may replace one frame at its own depth: the one that tail-called it. Frames that are open
/// in the end are no fault: programs exit anywhere.
pub(super) fn check(process: &RecordedProcess, thread: &[RecordedEvent]) -> Result<(), String> {
    // A fork's child begins inside its parent's frames, whose calls are not its own.
    let inherited = |event: &RecordedEvent| event.depth as usize + usize::from(!event.kind.is_call());
    let first = thread.first().map(|event| (event.stack, vec![None; inherited(event)]));
    let mut stacks: HashMap<u64, Vec<_>> = first.into_iter().collect();
    for (at, event) in thread.iter().enumerate() {
        let open = stacks.entry(event.stack).or_default();
        let row = process.row(event.function);
        let wrong = |words: &str| {
            let near = thread[at.saturating_sub(12)..(at + 4).min(thread.len())]
                .iter()
                .map(|event| {
                    format!(
                        "  {:>4}:{:<5} {} {}",
                        event.stack,
                        event.depth,
                        event.kind,
                        process.row(event.function).name
                    )
                })
                .collect::<Vec<_>>();
            Err(format!(
                "event {at} ({} {} at depth {}): {words}\n{}",
                event.kind,
                row.name,
                event.depth,
                near.join("\n")
            ))
        };
        let depth = event.depth as usize;
        match event.kind {
            EventKind::CALL | EventKind::ENTRY => {
                if depth != open.len() && depth + 1 != open.len() {
                    return wrong(&format!("{} frames are open", open.len()));
                }
                open.truncate(depth);
                if row.verdict == "hooked" && event.kind == EventKind::CALL {
                    open.push(Some(event.function));
                }
            }
            _ => {
                if depth + 1 != open.len() {
                    return wrong(&format!("{} frames are open", open.len()));
                }
                if let Some(Some(function)) = open.pop()
                    && function != event.function
                {
                    return wrong(&format!("the newest frame is of {}", process.row(function).name));
                }
            }
        }
    }
    Ok(())
}
