//! What the recording did to the program, and what is not in it.

use std::collections::BTreeMap;

use ada_event::{EventSeq, FunctionId, ModuleId, RuntimeAddr, ThreadId};
use ada_query::findings::waited_to_be_recorded;
use ada_query::signal_name;
use ada_span::table::ThreadEntry;
use ada_span::{Outcome, Reason, is_fault};
use serde_json::json;

use super::item::Item;
use crate::analysis::{OpenedSession, Target, TraceProcess, counted, nanoseconds, thousands};

/// What was open when ada attached, crashes, what a ring has let go, functions that were switched, what hooks took, and waits.
pub(super) fn gather(opened: &OpenedSession) -> Vec<Item> {
    let mut items = open_before(opened);
    items.extend(crashes(opened));
    items.extend(rings(opened));
    items.extend(switched(opened));
    items.extend(hooks(opened));
    items
}

/// The calls that no event has, because they were open before the first: one line for threads that did the same.
fn open_before(opened: &OpenedSession) -> Vec<Item> {
    const NAMED: usize = 6;
    let mut threads: BTreeMap<Vec<String>, Vec<ThreadId>> = BTreeMap::new();
    for process in opened.processes() {
        for open in opened.recorded(process).manifest.iter().flat_map(|manifest| &manifest.open_calls) {
            let names = open.functions.iter().filter_map(|id| function(id)).map(|id| process.names.name(id));
            threads.entry(names.collect()).or_default().push(open.tid);
        }
    }
    let item = |(names, tids): (Vec<String>, Vec<ThreadId>)| {
        let who = match tids[..] {
            [tid] => format!("thread {tid}"),
            _ => format!("{} threads", tids.len()),
        };
        let more = match names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" < {more} more"),
        };
        let calls = names.iter().take(NAMED).map(String::as_str).collect::<Vec<&str>>().join(" < ");
        let words = format!("{who}, {} open before: {calls}{more}", counted(names.len() as u64, "call"));
        Item::fact("attached", words, json!({ "tids": tids, "open_calls": names }))
    };
    threads.into_iter().map(item).collect()
}

fn crashes(opened: &OpenedSession) -> Vec<Item> {
    let mut items = Vec::new();
    for (number, process) in opened.processes().iter().enumerate() {
        for crash in opened.recorded(process).manifest.iter().flat_map(|manifest| &manifest.crashes) {
            // The instruction that faulted says more than the innermost call that was recorded.
            let rip = crash.registers.get("rip").filter(|_| crash.code > 0);
            let hit = rip.and_then(|rip| opened.instruction(number, RuntimeAddr(rip.0)));
            let (hit, source) = hit.unzip();
            let function = hit.or_else(|| crash.frames.first().and_then(|id| function(id)));
            let source = source.flatten();
            let line = source.as_ref().map_or_else(String::new, |it| format!(" ({it})"));
            let within = function.map_or_else(String::new, |id| format!(" in {}{line}", process.names.name(id)));
            let address = crash.address.map_or_else(String::new, |address| format!(" at {:#x}", address.0));
            let reference = opened.processes()[number].refer(Target::Thread(crash.thread, EventSeq(0)));
            let moment = nanoseconds(crash.time_ns.since(opened.start()));
            let words = format!(
                "{}{address}{within}, after {moment}, {} calls open; ada spans --all --thread {} --reason crash",
                signal_name(crash.signal),
                thousands(crash.depth),
                crash.thread,
            );
            let mut item = Item::fact(
                "crash",
                words,
                json!({
                    "signal": crash.signal,
                    "code": crash.code,
                    "address": crash.address.map(|it| format!("{:#x}", it.0)),
                    "time_ns": crash.time_ns,
                    "thread": reference,
                    "open_calls": crash.depth,
                    "frames": crash.frames,
                    "function": function.map(|id| process.names.name(id)),
                    "file": source.as_ref().map(|it| it.file.clone()),
                    "line": source.as_ref().map(|it| it.line),
                }),
            );
            item.reference = Some(reference);
            items.push(item);
        }
        items.extend(unseen_crash(opened, process));
    }
    items
}

/// A crash at which no handler could run, as on a stack that has overflowed: the thread that was heard of last.
fn unseen_crash(opened: &OpenedSession, process: &TraceProcess) -> Option<Item> {
    let manifest = opened.recorded(process).manifest.as_ref()?;
    let signal = manifest.exit.as_ref()?.signal.filter(|it| is_fault(*it) && manifest.crashes.is_empty())?;
    let open = |thread: &ThreadEntry| -> u64 {
        let is_open = |byte: u8| Outcome::from_byte(byte).is_some_and(|it| it.reason == Reason::Crash);
        thread.outcomes.iter().filter(|(byte, _)| is_open(*byte)).map(|(_, count)| count).sum()
    };
    let thread = process.tables.meta().threads.iter().max_by_key(|thread| (thread.facts.last_time, open(thread)))?;
    let reference = process.refer(Target::Thread(thread.id, EventSeq(0)));
    let words = format!(
        "{}; where it hit is not recorded: {reference} made the last call that is, and had {} calls open; ada spans --all --thread {} --reason crash",
        signal_name(signal),
        thousands(open(thread)),
        thread.id
    );
    let json = json!({ "signal": signal, "thread": reference, "open_calls": open(thread), "uncertain": true });
    let mut item = Item::fact("crash", words, json);
    item.reference = Some(reference);
    Some(item)
}

/// A function as manifests write it, `module:symbol`.
fn function(id: &str) -> Option<FunctionId> {
    let (module, symbol) = id.split_once(':')?;
    Some(FunctionId::new(ModuleId(module.parse().ok()?), symbol.parse().ok()?))
}

fn rings(opened: &OpenedSession) -> Option<Item> {
    let rings = || opened.processes().iter().filter_map(|it| opened.recorded(it).manifest.as_ref()?.ring.as_ref());
    let let_go: u64 = rings().map(|ring| ring.let_go_events + ring.gone_events).sum();
    let gone: u64 = rings().map(|ring| ring.gone_processes).sum();
    let mut words =
        format!("{} earlier events were let go: calls may have begun before the first event", thousands(let_go));
    if gone > 0 {
        words += &format!("; nothing was kept of {} processes that had ended", thousands(gone));
    }
    (let_go > 0).then(|| Item::fact("ring", words, json!({ "let_go_events": let_go, "gone_processes": gone })))
}

fn switched(opened: &OpenedSession) -> Option<Item> {
    let (mut functions, mut unrecorded, mut is_inexact) = (0, 0_u64, false);
    for process in opened.processes() {
        let (count, calls) = process.switched.sums();
        functions += count;
        unrecorded = unrecorded.saturating_add(calls.counted);
        is_inexact |= calls.is_inexact;
    }
    let more = if is_inexact { " or more" } else { "" };
    let were = if functions == 1 { "1 function was".to_owned() } else { format!("{functions} functions were") };
    let words = format!(
        "{were} not recorded all the time; {}{more} calls of these are not in the spans \
         (`ada hooks SESSION --switched`)",
        thousands(unrecorded)
    );
    let json = json!({ "functions": functions, "unrecorded_calls": unrecorded, "is_exact": !is_inexact });
    (functions > 0).then(|| Item::fact("switched", words, json))
}

/// What hooks took, and how long threads waited to record.
fn hooks(opened: &OpenedSession) -> Vec<Item> {
    let (mut least, mut most, mut waited) = (0.0, 0.0, 0_u64);
    for process in opened.processes() {
        let Some(manifest) = &opened.recorded(process).manifest else { continue };
        let events: u64 = process.tables.meta().threads.iter().map(|thread| thread.facts.events).sum();
        if let Some(cost) = &manifest.hook_cost_ns {
            let pairs = events as f64 / 2.0;
            least += pairs * (cost.pair - cost.pair_error) * cost.at_least;
            most += pairs * (cost.pair + cost.pair_error) * cost.at_most;
        }
        waited = waited.saturating_add(waited_to_be_recorded(manifest));
    }
    let mut items = Vec::new();
    if most > 0.0 {
        let (least, most) = (least as u64, most as u64);
        let words = format!(
            "took {} to {} of the threads' time; --corrected takes the middle of that out of durations",
            nanoseconds(least),
            nanoseconds(most)
        );
        items.push(Item::fact("hooks", words, json!({ "least_ns": least, "most_ns": most })));
    }
    if waited > 0 {
        let words = format!(
            "threads waited {} for room to record into; --corrected takes that out of durations",
            nanoseconds(waited)
        );
        items.push(Item::fact("waits", words, json!({ "waited_ns": waited })));
    }
    items
}
