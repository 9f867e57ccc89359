//! Who ended waits for what processes share, and who held it.

use std::collections::HashMap;

use ada_event::{EventSeq, ThreadId, TraceNanos};
use ada_format::atf::SeenMemory;

use super::memory::{FilePlace, Memory};
use crate::io_calls::IoCalls;
use crate::thread_index::ThreadIndex;
use crate::wait::{Doubt, Doubts, HoldSpan, RECENT, SharedCalls, SharedWait, WaitKind, WaitSpan, Wake, Wakes, WokenBy};

/// A process, as far as it shares something.
pub struct ProcessShared<'a> {
    /// Its waits.
    pub waits: &'a [WaitSpan],
    /// When it certainly had which lock.
    pub holds: &'a [HoldSpan],
    /// Its calls about what others may have too.
    pub shared: &'a SharedCalls,
    /// Its calls, by which addresses come to stand for something else.
    pub io: &'a IoCalls,
    /// Memory that was seen to be shared.
    pub memory: Vec<SeenMemory>,
    /// The thread that had an id of the system's at a moment.
    pub thread_of_id: Box<dyn Fn(ThreadId, TraceNanos) -> Option<ThreadIndex> + 'a>,
    /// How a thread ended that ran at a moment, if it did.
    pub end_of: Box<dyn Fn(ThreadIndex, TraceNanos) -> Option<ThreadsEnd> + 'a>,
    /// How many threads it has.
    pub threads: usize,
    /// Whether all of its calls are recorded.
    pub is_complete: bool,
}

/// The end of a thread.
pub struct ThreadsEnd {
    /// When it was.
    pub time: TraceNanos,
    /// The thread's start routine, by its opening event.
    pub routine: Option<EventSeq>,
}

/// What was found out of a session.
#[derive(Debug, Default)]
pub struct SessionShared {
    /// What objects are called.
    pub names: Vec<String>,
    /// By process.
    pub waits: Vec<Vec<SharedFound>>,
}

/// What was found out about a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedFound {
    /// Its place in the list of the process's waits.
    pub wait: usize,
    /// What was waited for, in [`SessionShared::names`].
    pub name: usize,
    /// Who ended it.
    pub waker: Option<SharedWaker>,
    /// Whether that was by its end: it had the lock, and did not let go of it.
    pub has_died: bool,
    /// Who held it, in another process.
    pub holder: Option<SharedHolder>,
    /// What is not certain.
    pub doubts: Doubts,
}

/// Who ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedWaker {
    /// The process's place in the list.
    pub process: usize,
    /// The thread there.
    pub thread: ThreadIndex,
    /// The call, by its opening event.
    pub seq: EventSeq,
    /// When that was.
    pub time: TraceNanos,
}

/// Who held what was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedHolder {
    /// The process's place in the list.
    pub process: usize,
    /// The thread there.
    pub thread: ThreadIndex,
    /// The call that took it, and when that was over, where they are known.
    pub hold: Option<(EventSeq, TraceNanos)>,
    /// Whether it may have let go of it since the wait began.
    pub may_be_released: bool,
}

/// A wait, with what it is for.
struct Asked<'a> {
    process: usize,
    at: usize,
    wait: &'a WaitSpan,
    shared: &'a SharedWait,
    object: u64,
    /// Whether nobody outside can have ended it.
    is_among_us: bool,
}

/// Finds who ended the waits for what processes share.
pub fn correlate(processes: &[ProcessShared<'_>]) -> SessionShared {
    let mut found = SessionShared { names: Vec::new(), waits: vec![Vec::new(); processes.len()] };
    let memories: Vec<Memory> = processes.iter().map(|it| Memory::of(it.memory.clone(), it.io)).collect();
    // Threads of all processes in one row.
    let mut first = Vec::new();
    let mut threads = 0_usize;
    for process in processes {
        first.push(threads);
        threads += process.threads;
    }
    let global = |process: usize, thread: ThreadIndex| ThreadIndex((first[process] + thread.as_usize()) as u32);
    let mut objects: HashMap<FilePlace, u64> = HashMap::new();
    let mut places: Vec<FilePlace> = Vec::new();
    let mut number = |place: FilePlace, name: &str, names: &mut Vec<String>| {
        *objects.entry(place).or_insert_with_key(|place| {
            names.push(format!("{} [{}] + {:#x}", name.trim_end_matches(" (deleted)"), place.file, place.offset));
            places.push(place.clone());
            (names.len() - 1) as u64
        })
    };
    let (mut wakes, mut deaths) = (Wakes::default(), Wakes::default());
    // Calls that may be about anything.
    let mut unknown: Vec<(TraceNanos, TraceNanos)> = Vec::new();
    for (process, (it, memory)) in processes.iter().zip(&memories).enumerate() {
        for wake in &it.shared.wakes {
            let thread = global(process, wake.thread);
            let Some((place, name)) = memory.place(wake.object, wake.start) else {
                if !memory.is_private(wake.object, wake.start) {
                    unknown.push((wake.start, wake.end));
                }
                continue;
            };
            let object = number(place, name, &mut found.names);
            wakes.add(object, Wake { thread, seq: wake.seq, start: wake.start, end: wake.end, room: wake.room });
        }
        for death in &it.shared.deaths {
            let Some((place, name)) = memory.place(death.object, death.start) else { continue };
            let (thread, object) = (global(process, death.thread), number(place, name, &mut found.names));
            deaths.add(object, Wake { thread, seq: death.seq, start: death.start, end: death.end, room: death.room });
        }
    }
    wakes.sort();
    deaths.sort();
    unknown.sort_unstable();
    let are_complete = processes.iter().all(|it| it.is_complete && it.shared.left_out == 0);
    let mut asked: Vec<Asked<'_>> = Vec::new();
    for (process, (it, memory)) in processes.iter().zip(&memories).enumerate() {
        let by_call: HashMap<_, usize> =
            it.waits.iter().enumerate().map(|(at, wait)| ((wait.thread, wait.seq, wait.start), at)).collect();
        for shared in &it.shared.waits {
            let Some(&at) = by_call.get(&(shared.thread, shared.seq, shared.start)) else { continue };
            let wait = &it.waits[at];
            let Some((place, name)) = memory.place(wait.object, wait.start) else { continue };
            let begun = &unknown[..unknown.partition_point(|(start, _)| *start <= wait.end)];
            let is_beside = begun.iter().rev().take(MANY).any(|(_, end)| *end >= shared.asked);
            let is_among_us = are_complete && is_only_inherited(name) && !is_beside;
            let object = number(place, name, &mut found.names);
            asked.push(Asked { process, at, wait, shared, object, is_among_us });
        }
    }
    // A signal wakes one of those that wait: the order in which they went on says which.
    asked.sort_by_key(|it| it.shared.woken);
    for it in &asked {
        let doubts = Doubts(it.wait.doubts).without(Doubt::NoWaker).without(Doubt::SeveralWakers);
        let holder = holder_of(it, &places[it.object as usize], processes, &memories);
        let mut one =
            SharedFound { wait: it.at, name: it.object as usize, waker: None, has_died: false, holder: None, doubts };
        if it.wait.has_ended == 1 && it.shared.has_given_up == 0 {
            let waiter = global(it.process, it.wait.thread);
            let mut woken = woken_by(it, waiter, &mut wakes);
            let is_mutex = it.wait.kind() == WaitKind::Mutex;
            if let Some(by) = woken.filter(|_| is_mutex) {
                let meanwhile = (it.object, waiter, it.shared.asked, it.wait.end);
                let (by, has_died) = by.or_died(&deaths, meanwhile);
                (woken, one.has_died) = (Some(by), has_died);
                if by == WokenBy::Nobody
                    && let Some((holder, died)) =
                        holder.zip(holder.and_then(|holder| died_with(it, &holder, processes)))
                {
                    let died = Wake { thread: global(holder.process, died.thread), ..died };
                    let is_sure = !holder.may_be_released;
                    (woken, one.has_died) =
                        (Some(if is_sure { WokenBy::Call(died) } else { WokenBy::Perhaps(died) }), true);
                }
            }
            let wake = match woken {
                None => None,
                Some(WokenBy::Nobody) => {
                    one.doubts.add(Doubt::NoWaker);
                    None
                }
                Some(WokenBy::Call(wake)) => Some(wake),
                Some(WokenBy::Perhaps(wake)) => {
                    one.doubts.add(Doubt::SeveralWakers);
                    Some(wake)
                }
            };
            if wake.is_some() && !it.is_among_us {
                one.doubts.add(Doubt::OutsideWaker);
            }
            one.waker = wake.map(|wake| {
                let process = first.partition_point(|first| *first <= wake.thread.as_usize()) - 1;
                let thread = ThreadIndex((wake.thread.as_usize() - first[process]) as u32);
                SharedWaker { process, thread, seq: wake.seq, time: wake.start }
            });
        }
        if let Some(holder) = holder {
            one.doubts = one.doubts.without(Doubt::UnknownOwner);
            if holder.hold.is_none() {
                one.doubts.add(Doubt::NoLockCall);
            }
            if it.wait.is_open() && holder.may_be_released {
                one.doubts.add(Doubt::MayBeReleased);
            }
            one.holder = Some(holder);
        }
        found.waits[it.process].push(one);
    }
    found
}

/// Whether only those can have memory that were made by who has it, or were given it: it has no name that others could open it by.
fn is_only_inherited(name: &str) -> bool {
    let has_key = name.strip_prefix("/SYSV").is_some_and(|key| !key.starts_with("00000000"));
    (name.ends_with(" (deleted)") || name.starts_with("/memfd:")) && !has_key
}

/// Who ended a wait; nothing where nobody had to.
fn woken_by(it: &Asked<'_>, waiter: ThreadIndex, wakes: &mut Wakes) -> Option<WokenBy> {
    let SharedWait { asked, woken, .. } = *it.shared;
    Some(match it.wait.kind() {
        WaitKind::Mutex => wakes.last(it.object, waiter, asked, it.wait.end),
        WaitKind::ReadWriteLock => wakes.last_of_several(it.object, waiter, asked, woken),
        WaitKind::Barrier => match wakes.last(it.object, waiter, asked, woken) {
            WokenBy::Call(last) if last.start >= it.wait.start => WokenBy::Call(last),
            // The last one to come waits for nobody.
            _ => return None,
        },
        _ => wakes.take(it.object, waiter, asked, woken),
    })
}

/// The thread of another process that the lock named as its owner, if just one can be it.
fn holder_of(
    it: &Asked<'_>,
    place: &FilePlace,
    processes: &[ProcessShared<'_>],
    memories: &[Memory],
) -> Option<SharedHolder> {
    let id = it.wait.holder_tid.filter(|_| it.wait.holder.is_none())?;
    let others = processes.iter().enumerate().filter(|(at, _)| *at != it.process);
    let mut found = others.filter_map(|(at, other)| Some((at, (other.thread_of_id)(id, it.wait.start)?)));
    let (process, thread) = found.next()?;
    if found.next().is_some() {
        return None;
    }
    let other = &processes[process];
    let is_it = |hold: &&HoldSpan| {
        let covers = hold.thread == thread && hold.start <= it.wait.start && hold.end >= it.wait.start;
        covers && memories[process].place(hold.object, hold.start).is_some_and(|(held, _)| held == *place)
    };
    let begun = &other.holds[..other.holds.partition_point(|hold| hold.start <= it.wait.start)];
    let hold = begun.iter().rev().take(MANY).find(is_it).map(|hold| (hold.seq, hold.start));
    // At the address of something else it is another lock.
    let locks = &other.shared.locks;
    let can_be_at = |address: u64| match memories[process].place(address, it.wait.start) {
        Some((found, _)) => found == *place,
        None => !memories[process].is_private(address, it.wait.start),
    };
    // What goes on runs on while its last events are read.
    let is_recent = locks.goes_on == 1 && it.wait.duration() < RECENT;
    let may_be_released = is_recent || !other.is_complete || locks.may_have_released(thread, it.wait.start, can_be_at);
    let taken = || locks.taken_by(thread, it.wait.start, can_be_at).filter(|_| !may_be_released);
    Some(SharedHolder { process, thread, hold: hold.or_else(taken), may_be_released })
}

/// The end of the thread of another process that had a robust mutex, if that is during the wait. Nobody else need have shown that it had it.
fn died_with(it: &Asked<'_>, holder: &SharedHolder, processes: &[ProcessShared<'_>]) -> Option<Wake> {
    let ThreadsEnd { time: end, routine } = (processes[holder.process].end_of)(holder.thread, it.wait.start)?;
    let seq = routine.or(holder.hold.map(|(seq, _)| seq))?;
    let is_meanwhile = it.shared.is_robust == 1 && it.shared.asked <= end && end <= it.wait.end;
    is_meanwhile.then_some(Wake { thread: holder.thread, seq, start: end, end, room: 1 })
}

/// Holds that are looked through for one that goes on.
const MANY: usize = 4096;
