//! The runtime probes: functions of threading and concurrency libraries of which every session keeps registers and a few
//! words of memory, so that the analysis can find what belongs together.
//!
//! A probe is found by its function's name, in whatever image has it. The table says what is read beside the registers;
//! the words follow each other in the order of the reads. What they mean is the analysis's business.

mod dispatch;
mod go;
mod limits;
mod rings;
mod swift;
mod waits;

pub(crate) use limits::limits;
pub(crate) use rings::{RingDescriptors, ring_functions};
pub(crate) use waits::is_lock_probe;

use std::collections::HashMap;
use std::sync::LazyLock;
use std::sync::atomic::Ordering;

use ada_image::FunctionTable;
use ada_patch::{AgentPart, FutexCall, Guard, Probed};
use ada_ring::Pool;
use ada_ring::probe::{Base, MAX_PROBES, READS, Read, Role};

/// A function, and what is read when it is entered and when it returns.
struct Probe {
    name: &'static str,
    call: &'static [Read],
    back: &'static [Read],
    role: Role,
    /// At which ends the agent is needed.
    part: AgentPart,
    /// What the stub looks at first.
    guard: Option<Guard>,
}

impl Probe {
    /// Whether it is about a few of the calls of a function that is called all the time: without its guard it is not worth
    /// what it costs, and without it the function is one as any other.
    fn is_of_few(&self) -> bool {
        self.part == AgentPart::CallWords && self.guard.is_some()
    }
}

const fn probe(name: &'static str, call: &'static [Read], back: &'static [Read]) -> Probe {
    assert!(call.len() <= READS && back.len() <= READS && name.len() > 2);
    Probe { name, call, back, role: Role::None, part: AgentPart::BothEnds, guard: None }
}

/// A function of which stubs keep all, without the agent: it is called often, or somebody waits for what it does.
const fn read_by_stubs(name: &'static str, call: &'static [Read], back: &'static [Read]) -> Probe {
    Probe { part: AgentPart::Reads { in_memory: 0, keeps_arguments: true }, ..probe(name, call, back) }
}

/// A function of whose returns nothing is kept.
const fn call_only(name: &'static str, call: &'static [Read]) -> Probe {
    Probe { role: Role::CallOnly, part: AgentPart::CallOnly, ..probe(name, call, &[]) }
}

/// A function that runs another program.
const fn exec(name: &'static str, call: &'static [Read]) -> Probe {
    Probe { role: Role::Exec, ..probe(name, call, &[]) }
}

/// A function that changes or asks for a signal's action, and where the new handler's address is.
const fn signal_action(name: &'static str, call: &'static [Read]) -> Probe {
    Probe { role: Role::SignalAction, ..probe(name, call, &[]) }
}

/// What a runtime loses when functions of it are not to be found: for the limits of a session.
struct Runtime {
    /// As people call it.
    name: &'static str,
    /// A program with one of these functions has the runtime.
    marks: &'static [&'static str],
    /// No program that has the runtime can do without these.
    vital: &'static [&'static str],
    /// Functions that do the same in one version or another, and what is not known without any of them.
    needs: &'static [(&'static [&'static str], &'static str)],
}

const RUNTIMES: [Runtime; 3] = [swift::RUNTIME, dispatch::RUNTIME, go::RUNTIME];

/// All rows, in the order of their numbers.
fn rows() -> impl Iterator<Item = &'static Probe> {
    [SYSTEM, swift::PROBES, dispatch::PROBES, go::PROBES, waits::PROBES, rings::PROBES].into_iter().flatten()
}

/// What glibc calls when a thread ends. The first is called when the process does too, and static programs may lack it.
pub(super) const THREAD_ENDS: [&str; 2] = ["__call_tls_dtors", "__nptl_deallocate_tsd"];

const SYSTEM: &[Probe] = &[
    // Threads. Of a new one: whether it starts detached (glibc's attribute flags), and the entry function of a C++
    // `std::thread` (its state's virtual function) and of a Rust thread (its boxed closure's). Back: its handle.
    read_by_stubs(
        "pthread_create",
        &[
            Read::words(Base::Argument2, 8, 1),
            Read::through(Base::Argument4, 0, 16, 1),
            Read::through(Base::Argument4, 8, 24, 1),
        ],
        &[Read::words(Base::Argument1, 0, 1)],
    ),
    read_by_stubs("pthread_join", &[], &[Read::words(Base::Argument2, 0, 1)]),
    read_by_stubs("pthread_timedjoin_np", &[], &[Read::words(Base::Argument2, 0, 1)]),
    read_by_stubs("pthread_clockjoin_np", &[], &[Read::words(Base::Argument2, 0, 1)]),
    read_by_stubs("pthread_tryjoin_np", &[], &[Read::words(Base::Argument2, 0, 1)]),
    read_by_stubs("thrd_join", &[], &[Read::words(Base::Argument2, 0, 1)]),
    probe("pthread_detach", &[], &[]),
    probe("thrd_detach", &[], &[]),
    probe("pthread_exit", &[], &[]),
    probe("thrd_exit", &[], &[]),
    probe("pthread_cancel", &[], &[]),
    // What a thread ends with lies in its descriptor by then.
    Probe { role: Role::ThreadEnd, ..call_only(THREAD_ENDS[0], &[]) },
    Probe { role: Role::ThreadEnd, ..call_only(THREAD_ENDS[1], &[]) },
    probe("pthread_setname_np", &[Read::words(Base::Argument2, 0, 2)], &[]),
    // Other programs: where they are, and what a process says at its end.
    exec("execve", &[Read::words(Base::Argument1, 0, 8)]),
    exec("execveat", &[Read::words(Base::Argument2, 0, 8)]),
    exec("fexecve", &[]),
    Probe { role: Role::Exit, ..probe("_exit", &[], &[]) },
    // What forbids the program system calls.
    Probe { role: Role::Filter, ..probe("prctl", &[], &[]) },
    Probe { role: Role::SystemCall, guard: Some(waits::FUTEX_CALL), ..probe("syscall", &[], &[]) },
    // What makes threads that are not known by their thread pointers.
    Probe { role: Role::Clone, ..probe("clone", &[], &[]) },
    Probe { role: Role::Clone, ..probe("__clone", &[], &[]) },
    // Signals. The handler is the first word of the action; `signal` has it in a register.
    signal_action("__libc_sigaction", &[Read::words(Base::Argument2, 0, 1)]),
    signal_action("sigaction", &[Read::words(Base::Argument2, 0, 1)]),
    signal_action("signal", &[]),
    Probe { role: Role::Abort, ..probe("abort", &[], &[]) },
    // Functions that run others, now or later.
    probe("qsort", &[], &[]),
    probe("qsort_r", &[], &[]),
    probe("__cxa_atexit", &[], &[]),
    probe("on_exit", &[], &[]),
];

static NUMBERS: LazyLock<HashMap<&'static str, u32>> =
    LazyLock::new(|| (0..).zip(rows()).map(|(number, probe)| (probe.name, number)).collect());

const ALL: usize = SYSTEM.len()
    + swift::PROBES.len()
    + dispatch::PROBES.len()
    + go::PROBES.len()
    + waits::PROBES.len()
    + rings::PROBES.len();
const _: () = assert!(ALL <= MAX_PROBES);

/// Puts the table where the agent finds it. `follow` says whether other programs are of interest.
pub(crate) fn publish(pool: Pool, follow: bool) {
    for (entry, probe) in pool.orders().probes.iter().zip(rows()) {
        let role = if probe.role == Role::Exec && !follow { Role::None } else { probe.role };
        entry.role.store(role as u64, Ordering::Relaxed);
        for (words, reads) in [(&entry.call, probe.call), (&entry.back, probe.back)] {
            for (word, read) in words.iter().zip(reads) {
                word.store(read.packed(), Ordering::Relaxed);
            }
        }
    }
}

/// How many there are.
pub(crate) fn count() -> usize {
    rows().count()
}

fn number_of_name(name: &str) -> Option<u32> {
    let known = NUMBERS.get(name).copied();
    known.or_else(|| dispatch::is_block_invoke(name).then(|| NUMBERS.get(dispatch::BLOCK_INVOKE).copied()).flatten())
}

/// The probe that a function is, if it is one.
pub(crate) fn number_of(functions: &FunctionTable, index: usize) -> Option<u32> {
    functions.names(index).find_map(number_of_name)
}

/// Whether the analysis lives on a function's calls: they are recorded at whatever cost.
pub(crate) fn is_vital(functions: &FunctionTable, index: usize) -> bool {
    leaves_no_values(functions, index) || functions.names(index).any(|name| go::TELLING.contains(&name))
}

/// Whether a function's values cannot be captured, since a probe of every call is there instead.
pub(crate) fn leaves_no_values(functions: &FunctionTable, index: usize) -> bool {
    let row = number_of(functions, index).and_then(|number| rows().nth(number as usize));
    row.is_some_and(|row| !row.is_of_few())
}

/// Whether a function is one of those by which a runtime's scheduler is followed: its calls lead from one stack to another all the
/// time, and all of them are needed, or none.
pub(crate) fn is_of_scheduler(functions: &FunctionTable, index: usize) -> bool {
    functions.names(index).any(|name| go::SCHEDULER.contains(&name) || go::TELLING.contains(&name))
}

/// The probe of a function that does this to a futex, and has no name; and what it is called instead.
pub(crate) fn of_futex_call(call: FutexCall) -> (Option<u32>, &'static str) {
    let name = waits::row_of(call);
    (NUMBERS.get(name).copied(), name)
}

/// The probe of a function without a name by which Swift's tasks end.
pub(crate) fn of_task_completion() -> Option<u32> {
    NUMBERS.get(swift::COMPLETION).copied()
}

/// A probe as stubs know it. Where a stub reads memory, it has to be glibc's: other functions of the same name may take other
/// arguments. `None` where it takes glibc to be worth its time.
pub(crate) fn probed(number: u32, is_glibc: bool) -> Option<Probed> {
    let row = rows().nth(number as usize);
    if row.is_some_and(Probe::is_of_few) && !is_glibc {
        return None;
    }
    let is_allowed = |guard: &Guard| is_glibc || matches!(guard, Guard::FirstArgument(_));
    let part = match row.map_or(AgentPart::BothEnds, |row| row.part) {
        AgentPart::CallWords if !is_glibc => AgentPart::CallOnly,
        part => part,
    };
    Some(Probed { number, guard: row.and_then(|row| row.guard).filter(is_allowed), part })
}

/// Whether a function is one by which programs change and ask for the actions of signals.
pub(crate) fn is_signal_action(functions: &FunctionTable, index: usize) -> bool {
    role_of(functions, index) == Role::SignalAction
}

/// Whether the agent acts on calls of a function, and does not only keep what it sees.
pub(crate) fn is_relied_on(functions: &FunctionTable, index: usize) -> bool {
    !matches!(role_of(functions, index), Role::None | Role::CallOnly | Role::ThreadEnd | Role::Ring)
}

fn role_of(functions: &FunctionTable, index: usize) -> Role {
    let probe = number_of(functions, index).and_then(|number| rows().nth(number as usize));
    probe.map_or(Role::None, |probe| probe.role)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever makes a thread waits for it, and the agent takes longer than all else that ada adds.
    #[test]
    fn no_call_that_makes_or_joins_a_thread_takes_a_call_into_the_agent() {
        for name in ["pthread_create", "pthread_join", "pthread_timedjoin_np", "pthread_clockjoin_np", "thrd_join"] {
            let part = probed(number_of_name(name).unwrap(), false).unwrap().part;
            assert!(matches!(part, AgentPart::Reads { keeps_arguments: true, .. }), "{name}: {part:?}");
        }
        for row in rows().filter(|row| matches!(row.part, AgentPart::Reads { .. })) {
            let of_reads = AgentPart::of_reads(|is_return| if is_return { row.back } else { row.call }.iter().copied());
            assert!(matches!(of_reads, Some(AgentPart::Reads { keeps_arguments: true, .. })), "{}", row.name);
            assert_eq!(row.role, Role::None, "{}", row.name);
        }
    }
}
