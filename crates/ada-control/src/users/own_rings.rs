//! Exchanges the rings of a process that has become another user's.

use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

use ada_agent::own_calls::{self, CallSet, FOR_GIVING};
use ada_event::{ProcessId, RuntimeAddr};
use ada_process::maps::{self, Mapping};
use ada_process::procfs::ProcessDir;
use ada_process::ptrace::Halted;
use ada_process::{MemfdId, Remote, share_memory};
use ada_ring::counters::{BLOCK_BYTES, MAX_BLOCKS};

use super::halted_states::HaltedStates;
use crate::detach::is_any_within;
use crate::install::memory_layout::MemoryLayout;
use crate::install::open_in_target::OpenInTarget;
use crate::install::rings::UserRings;
use crate::install::shared_memory::SharedMemory;
use crate::tracked::Programs;

/// How long threads that are in ada's code have to leave it, …
const PATIENCE: Duration = Duration::from_secs(5);
/// … and how long they run before they are looked at again: at first, and at most.
const BETWEEN_ATTEMPTS: Range<Duration> = Duration::from_millis(1)..Duration::from_millis(50);

/// How many instructions they are halted for to leave it.
const MOST_STEPS: u32 = 2000;

/// Does so for the processes of a session.
pub(crate) struct OwnRings<'a> {
    pub(crate) programs: &'a Programs,
    pub(crate) shared: &'a SharedMemory,
}

/// What came of an attempt.
enum Attempt {
    Done,
    /// A thread is in ada's code, or somebody else has charge of the process.
    Later,
}

impl OwnRings<'_> {
    /// Gives a process that has become another user's the rings of that user, and those that it has forked since.
    pub(crate) fn give(&self, pid: ProcessId) {
        let (until, mut pause) = (Instant::now() + PATIENCE, BETWEEN_ATTEMPTS.start);
        let given = loop {
            match self.attempt(pid) {
                Ok(Attempt::Later) if Instant::now() > until => {
                    break Err("one of its threads does not leave ada's code".to_owned());
                }
                Ok(Attempt::Later) if self.programs.phase.is_hooking() => {
                    std::thread::sleep(pause);
                    pause = BETWEEN_ATTEMPTS.end.min(pause * 2);
                }
                Ok(_) => break Ok(()),
                // It has ended meanwhile.
                Err(_) if ProcessDir::of(pid).is_gone() => break Ok(()),
                Err(error) => break Err(error.to_string()),
            }
        };
        if let Err(reason) = given {
            let limit =
                format!("process {pid} has become another user's, and shares its former user's rings: {reason}");
            self.programs.lock().limits.push(limit);
        }
        for child in ProcessDir::of(pid).children() {
            self.give(child);
        }
    }

    fn attempt(&self, pid: ProcessId) -> io::Result<Attempt> {
        // Whoever follows it into another program gives it the right ones.
        let Some(_charge) = self.programs.in_charge.take(pid) else { return Ok(Attempt::Later) };
        let mappings = maps::of_process(pid)?;
        let own = self.shared.memfd()?;
        let Some((layout, _)) = MemoryLayout::find(&mappings).filter(|(_, memfd)| *memfd == own) else {
            return Ok(Attempt::Done);
        };
        let rings = self.shared.rings.of_process(pid)?;
        let mapped = mappings.iter().find(|mapping| mapping.start == layout.pool).and_then(MemfdId::of_mapping);
        if mapped == Some(rings.memfd()?) {
            return Ok(Attempt::Done);
        }
        // A child of vfork runs in its parent's memory.
        let process = ProcessDir::of(pid);
        if process.children().into_iter().chain(process.parent()).any(|other| share_memory(pid, other)) {
            return Ok(Attempt::Later);
        }
        let mut halted = Halted::all(pid, &mappings)?;
        let now = maps::of_process(pid)?;
        let code = code(&now, own);
        // A thread that calls all the time is in ada's code for most of it.
        let is_out = halted.step_out(|at| code.iter().any(|range| range.contains(&at)), MOST_STEPS)?;
        let states = HaltedStates::new(&halted, layout, pid);
        if !is_out || states.has_handlers()? || is_any_within(&halted, &now, &code, states.has_goroutines()?)? {
            return Ok(Attempt::Later);
        }
        if let Some(call) = forbidden_call(&states.forbidden()?) {
            return Err(io::Error::other(format!("a seccomp filter forbids it the system call {call}")));
        }
        let old = self.shared.rings.mapped_as(mapped).ok_or_else(|| io::Error::other("it has unknown rings"))?;
        self.shared.rings.give(pid, rings);
        let open = OpenInTarget::given(&halted, pid, rings.file()).map_err(io::Error::other)?;
        let exchanged = exchange(&halted, &open, layout, rings).and_then(|()| states.go_over(old, rings));
        open.close(&halted).map_err(io::Error::other)?;
        exchanged.map(|()| Attempt::Done)
    }
}

/// Where ada's code is, in the order of its addresses.
fn code(mappings: &[Mapping], memfd: MemfdId) -> Vec<Range<RuntimeAddr>> {
    let executable = mappings.iter().filter(|mapping| memfd.is_mapped_by(mapping) && mapping.executable);
    executable.map(|mapping| mapping.start..mapping.end).collect()
}

/// A system call that this takes, and the process would be killed for.
fn forbidden_call(forbidden: &CallSet) -> Option<u64> {
    FOR_GIVING.into_iter().find(|call| own_calls::contains(forbidden, *call))
}

/// Maps a user's rings where the process has others. Nobody sees it without any.
fn exchange(halted: &Halted, open: &OpenInTarget, layout: MemoryLayout, rings: &UserRings) -> io::Result<()> {
    let [chunks, counters] = rings.first_parts();
    for part in [&chunks, &counters] {
        open.map_over(halted, layout.pool + part.start, part)?;
    }
    // What it had mapped beyond these it maps again when it needs it.
    let end = counters.start + (MAX_BLOCKS * BLOCK_BYTES) as u64;
    for rest in [chunks.end..counters.start, counters.end..end] {
        halted.system_call(libc::SYS_munmap, [(layout.pool + rest.start).0, rest.end - rest.start, 0, 0, 0, 0])?;
    }
    Ok(())
}
