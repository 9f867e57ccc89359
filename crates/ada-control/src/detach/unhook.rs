//! Removes all hooks and all memory of ada from processes.

use std::collections::BTreeSet;
use std::io;
use std::mem::offset_of;
use std::ops::Range;
use std::time::{Duration, Instant};

use ada_agent::own_calls::{self, CallSet};
use ada_event::{ProcessId, RuntimeAddr};
use ada_process::maps::{self, Mapping};
use ada_process::procfs::ProcessDir;
use ada_process::ptrace::Halted;
use ada_process::{MemfdId, Remote, share_memory, this_process};
use ada_ring::state::ProcessBlock;

use super::code_in_use::is_within;
use crate::install::crash_handlers;
use crate::install::memory_layout::MemoryLayout;
use crate::install::sites::{Site, write_original_relays, write_original_starts};

/// How long threads that are in ada's code have to leave it …
const PATIENCE: Duration = Duration::from_secs(20);
/// … and how long they run before they are looked at again: at first, …
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(2);
/// … and at most. A thread that is stopped and resumed goes to the end of the run queue, and where there are more threads than
/// processors some would never run.
const LONGEST_BETWEEN: Duration = Duration::from_millis(100);
/// How often a thread may be too late to halt.
const LATE: u32 = 6;
/// How often to wait for a process that shares another's memory to run its own program, or to end.
const SHARED_ATTEMPTS: u32 = 1000;

/// The result.
#[derive(Default)]
pub(crate) struct Unhooked {
    /// The longest time for which a process stood still.
    pub(crate) stood_still: Duration,
    /// Processes that keep what they have of ada's, and why.
    pub(crate) kept: Vec<String>,
}

/// Takes the hooks out of processes that have this memfd mapped, and of all that they have forked since.
/// Nothing is hooked any more meanwhile.
pub(crate) fn unhook(sites: &[Vec<Site>], memfd: MemfdId, mut processes: BTreeSet<ProcessId>) -> Unhooked {
    let is_ours = |mapping: &Mapping| memfd.is_mapped_by(mapping);
    let mut unhooked = Unhooked::default();
    let mut done = BTreeSet::new();
    let mut patience = SHARED_ATTEMPTS;
    // Processes that are not halted yet may fork.
    loop {
        with_children(&mut processes);
        let (hooked, free): (Vec<ProcessId>, Vec<ProcessId>) =
            processes.difference(&done).partition(|pid| maps::of_process(**pid).is_ok_and(|it| it.iter().any(is_ours)));
        done.extend(free);
        let Some(&first) = hooked.first() else { break };
        // Two processes may share memory: a child made by vfork runs in its parent's, and unhooking one unhooks both.
        let alone = hooked.iter().find(|&&pid| !processes.iter().any(|&other| share_memory(pid, other)));
        let Some(&pid) = alone.or(Some(&first).filter(|_| patience == 0)) else {
            patience -= 1;
            std::thread::sleep(BETWEEN_ATTEMPTS);
            continue;
        };
        done.insert(pid);
        if alone.is_none() {
            unhooked.kept.push(format!("process {pid} keeps its hooks, which do no harm: it shares another's memory"));
            continue;
        }
        let Ok(mappings) = maps::of_process(pid) else { continue };
        match unhook_process(pid, &mappings, &is_ours, sites) {
            Ok(stood_still) => unhooked.stood_still = unhooked.stood_still.max(stood_still),
            // It has ended meanwhile.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) || ProcessDir::of(pid).is_gone() => {}
            Err(error) => unhooked.kept.push(format!("process {pid} keeps its hooks, which do no harm: {error}")),
        }
    }
    unhooked
}

fn unhook_process(
    pid: ProcessId,
    mappings: &[Mapping],
    is_ours: &dyn Fn(&Mapping) -> bool,
    sites: &[Vec<Site>],
) -> io::Result<Duration> {
    let executable = mappings.iter().filter(|mapping| is_ours(mapping) && mapping.executable);
    // A thread at a relay is on its way to a stub.
    let has_relay = |site: &&Site| site.site.relay.is_some();
    let with_relays: Vec<Vec<Site>> =
        sites.iter().map(|sites| sites.iter().filter(has_relay).copied().collect()).collect();
    let relays = with_relays.iter().flatten().flat_map(|site| site.ranges().skip(1));
    let mut code: Vec<Range<RuntimeAddr>> = executable.map(|it| it.start..it.end).chain(relays).collect();
    code.sort_unstable_by_key(|range| range.start);
    let mut copies: Vec<(RuntimeAddr, &Site)> =
        sites.iter().flatten().filter_map(|site| Some((site.site.copy?.at, site))).collect();
    copies.sort_unstable_by_key(|(at, _)| *at);
    let found = MemoryLayout::find(mappings).map(|(layout, _)| layout);
    let has_states = |layout: &MemoryLayout| mappings.iter().any(|it| it.start == layout.private().start);
    let with_states = found.filter(has_states);
    let mut stood_still = Duration::ZERO;
    let (mut late, mut is_written) = (0, false);
    let (until, mut pause) = (Instant::now() + PATIENCE, BETWEEN_ATTEMPTS);
    while Instant::now() < until {
        let halted = match Halted::all(pid, mappings) {
            // A busy machine gives a thread no time to halt in.
            Err(error) if error.kind() == io::ErrorKind::TimedOut && late < LATE => {
                late += 1;
                continue;
            }
            halted => halted?,
        };
        if !is_written {
            for sites in sites {
                // What is not mapped any more has no hooks.
                let _ = write_original_starts(&halted, sites);
            }
            is_written = true;
        }
        let is_clean = match with_states {
            Some(layout) => {
                let has_goroutines = word_of(&halted, layout, offset_of!(ProcessBlock, goroutines))? != 0;
                // Stacks have grown since, and others were made.
                leave(&halted, &maps::of_process(pid)?, &code, &copies, has_goroutines)?
            }
            None => true,
        };
        let is_forbidden = match with_states {
            Some(layout) => forbids_itself_to_unmap(&halted, layout)?,
            None => false,
        };
        if is_clean {
            for sites in &with_relays {
                let _ = write_original_relays(&halted, sites);
            }
            if let Some(layout) = with_states.filter(|_| !is_forbidden) {
                crash_handlers::remove(&halted, layout)?;
            }
            for thread in halted.threads() {
                // A program that uses the register itself was never hooked.
                let spare = RuntimeAddr(thread.registers()?.spare());
                if found.is_some_and(|layout| layout.all().contains(&spare)) {
                    thread.set_spare(0)?;
                }
            }
        }
        stood_still = stood_still.max(halted.release());
        if is_clean && is_forbidden {
            return Err(io::Error::other("all but ada's memory, which a seccomp filter forbids it to unmap, is gone"));
        }
        if is_clean {
            while let Err(error) = unmap(pid, mappings, found, is_ours) {
                late += 1;
                if error.kind() != io::ErrorKind::TimedOut || late > LATE {
                    return Err(error);
                }
            }
            return Ok(stood_still);
        }
        std::thread::sleep(pause);
        pause = LONGEST_BETWEEN.min(pause * 2);
    }
    Err(io::Error::other("one of its threads does not leave them"))
}

/// Moves threads out of displaced instructions. False where a thread is in ada's code: it needs time to leave.
fn leave(
    halted: &Halted,
    mappings: &[Mapping],
    code: &[Range<RuntimeAddr>],
    copies: &[(RuntimeAddr, &Site)],
    has_goroutines: bool,
) -> io::Result<bool> {
    let mut is_free = true;
    for thread in halted.threads() {
        let mut registers = thread.registers()?;
        // Displaced instructions do the same where they were before: the thread may be waiting in one.
        if let Some(original) = original_address(registers.instruction_pointer(), copies) {
            thread.set_instruction_pointer(original)?;
            registers.set_instruction_pointer(original);
        }
        is_free &= !is_within(halted, mappings, &registers, code, has_goroutines);
    }
    Ok(is_free)
}

/// Whether the process would be killed for what remains to be done in it: see `ada_agent::own_calls`.
fn forbids_itself_to_unmap(remote: &dyn Remote, layout: MemoryLayout) -> io::Result<bool> {
    let mut forbidden = CallSet::default();
    for (number, word) in forbidden.iter_mut().enumerate() {
        *word = word_of(remote, layout, offset_of!(ProcessBlock, forbidden) + 8 * number)?;
    }
    Ok([libc::SYS_munmap, libc::SYS_rt_sigaction].iter().any(|call| own_calls::contains(&forbidden, *call as u64)))
}

/// A word of what the agent keeps of the process.
fn word_of(remote: &dyn Remote, layout: MemoryLayout, offset: usize) -> io::Result<u64> {
    let mut bytes = [0; 8];
    remote.read(layout.process_block() + offset as u64, &mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Unmaps ada's memory. No thread uses it any more, so halting one is enough.
fn unmap(
    pid: ProcessId,
    mappings: &[Mapping],
    layout: Option<MemoryLayout>,
    is_ours: &dyn Fn(&Mapping) -> bool,
) -> io::Result<()> {
    let halted = Halted::one(pid, mappings)?;
    // Some of them may have grown since the others were listed. Agent and rings go last: by these it is known that there
    // is something to unmap, should this be cut short.
    let now = maps::of_process(pid)?;
    let is_in_block = |mapping: &Mapping| layout.is_some_and(|it| it.all().contains(&mapping.start));
    let is_shared = |mapping: &Mapping| is_in_block(mapping) && MemfdId::of_mapping(mapping).is_some();
    let ours = now.iter().filter(|mapping| is_ours(mapping) || is_shared(mapping));
    let is_last = |mapping: &&Mapping| layout.is_some_and(|it| [it.pool, it.agent()].contains(&mapping.start));
    let (last, others): (Vec<&Mapping>, Vec<&Mapping>) = ours.partition(is_last);
    let range = |mapping: &&Mapping| mapping.start..mapping.end;
    let states = layout.map(MemoryLayout::unshared);
    for range in others.iter().map(range).chain(states).chain(last.iter().map(range)) {
        halted.system_call(libc::SYS_munmap, [range.start.0, range.end - range.start, 0, 0, 0, 0])?;
    }
    Ok(())
}

/// Where the instruction at an address was before it was displaced.
fn original_address(address: RuntimeAddr, copies: &[(RuntimeAddr, &Site)]) -> Option<RuntimeAddr> {
    let before = copies.partition_point(|(at, _)| *at <= address).checked_sub(1)?;
    let (at, site) = copies[before];
    let distance = address - at;
    (distance <= u64::from(site.site.copy?.length)).then_some(site.site.jump.at + distance)
}

/// Adds the children of processes, and theirs.
fn with_children(processes: &mut BTreeSet<ProcessId>) {
    let mut to_ask: Vec<ProcessId> = processes.iter().copied().collect();
    while let Some(pid) = to_ask.pop() {
        let children = ProcessDir::of(pid).children().into_iter();
        to_ask.extend(children.filter(|&child| child != this_process() && processes.insert(child)));
    }
}
