//! What the trace has and what it lacks: hooks, drops, limits, anomalies.

use ada_span::AnomalyKind;
use serde_json::{Value, json};

use super::endings::Endings;
use crate::analysis::{OpenedSession, Target};

/// Anomalies that are listed, by kind and thread.
const MOST: usize = 200;

pub(super) fn answer(opened: &OpenedSession) -> Value {
    let processes = opened.processes().iter().enumerate().map(|(number, process)| {
        let meta = process.tables.meta();
        let anomalies = meta.anomalies.iter().take(MOST).map(|it| {
            let id = process.thread_id(it.thread);
            let kind = AnomalyKind::ALL.get(it.kind as usize).map_or("unknown", |kind| kind.word());
            json!({
                "kind": kind,
                "thread_id": id.0,
                "count": it.count,
                "first": opened.processes()[number].refer(Target::Event(id, it.first_seq)),
                "time": it.first_time.since(opened.start()),
            })
        });
        let mut endings = Endings::default();
        meta.threads.iter().flat_map(|it| &it.outcomes).for_each(|&(byte, count)| endings.add(byte, count));
        let endings = endings.to_json();
        let Some(manifest) = opened.recorded(process).manifest.as_ref() else {
            return json!({ "pid": process.pid.0, "anomalies": anomalies.collect::<Vec<_>>(), "endings": endings });
        };
        json!({
            "pid": process.pid.0,
            "modules": manifest.modules,
            "drops": manifest.drops,
            "gaps": manifest.gaps.len(),
            "lost_in_gaps": manifest.gaps.iter().map(|gap| gap.lost).sum::<u64>(),
            "waited_ns": manifest.gaps.iter().map(|gap| gap.waited_ns).sum::<u64>(),
            "switches": manifest.switches.len(),
            "ring": manifest.ring,
            "limits": manifest.limits,
            "windows": manifest.windows.len(),
            "crashes": manifest.crashes,
            "attached": manifest.attached,
            "finished": manifest.finished,
            "anomalies": anomalies.collect::<Vec<_>>(),
            "endings": endings,
        })
    });
    let findings: Vec<String> = opened.session().findings().iter().take(MOST).map(ToString::to_string).collect();
    json!({ "processes": processes.collect::<Vec<_>>(), "damage": findings })
}
