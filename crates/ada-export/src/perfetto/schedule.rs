//! When threads had a processor, as the kernel's own records would say it: Perfetto shows states of threads from these.

use super::fields::{bundle, ftrace, packet, sched_switch};
use crate::message::Message;
use crate::model::{Run, RunEnd, TraceInfo};

/// Switches of one packet.
const MOST: usize = 1000;
/// Who has a processor that no traced thread has is not known: somebody else, or nobody. No thread has such an id.
const OTHERS: u64 = 2_000_000_000;

/// Packets with the switches of all processors, each processor's in their order.
pub(super) fn packets(trace: &TraceInfo) -> Vec<Message> {
    let mut runs: Vec<&Run> = trace.runs.iter().collect();
    runs.sort_by_key(|run| (run.cpu, run.start, run.end));
    let of_processor = runs.chunk_by(|a, b| a.cpu == b.cpu).flat_map(|all| all.chunks(MOST / 2));
    of_processor.map(|runs| of_runs(trace, runs)).collect()
}

fn of_runs(trace: &TraceInfo, runs: &[&Run]) -> Message {
    let mut switches = Message::default();
    switches.number(bundle::CPU, runs.first().map_or(0, |run| run.cpu.into()));
    for run in runs {
        let thread = trace.thread(run.thread);
        let others = OTHERS + u64::from(run.cpu);
        let own = (u64::from(thread.id.0), thread.name.as_str());
        let other = (others, "others or nobody");
        switches.message(bundle::EVENT, &switch(run.start.0, other, sched_switch::RUNNABLE, own));
        let state = match run.then {
            RunEnd::Preempted => sched_switch::RUNNABLE,
            RunEnd::Blocked => sched_switch::SLEEPING,
            RunEnd::Ended => sched_switch::DEAD,
        };
        switches.message(bundle::EVENT, &switch(run.end.0, own, state, other));
    }
    let mut it = Message::default();
    it.message(packet::FTRACE_EVENTS, &switches);
    it
}

/// A switch from a thread, which is in a state then, to another.
fn switch(time: u64, (from, from_name): (u64, &str), state: u64, (to, to_name): (u64, &str)) -> Message {
    const USUAL_PRIORITY: u64 = 120;
    let mut fields = Message::default();
    fields.text(sched_switch::PREV_COMM, from_name).number(sched_switch::PREV_PID, from);
    fields.number(sched_switch::PREV_PRIO, USUAL_PRIORITY).number(sched_switch::PREV_STATE, state);
    fields.text(sched_switch::NEXT_COMM, to_name).number(sched_switch::NEXT_PID, to);
    fields.number(sched_switch::NEXT_PRIO, USUAL_PRIORITY);
    let mut it = Message::default();
    it.number(ftrace::TIMESTAMP, time).number(ftrace::PID, from).message(ftrace::SCHED_SWITCH, &fields);
    it
}
