//! Which of the traced processes still live, and how the others have ended.
//!
//! Most of them are not ada's children, so nobody tells ada how they ended. A descriptor of the process does, on a kernel
//! of 6.15 or later, once somebody has waited for it; before that, `/proc` does. For a process that was gone before a
//! descriptor could be had, what it called `_exit` with has to do.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::maps;
use crate::report::End;

/// Processes by their id, each held by a descriptor of ada's so that an id that is used again means nobody else.
#[derive(Default)]
pub(crate) struct Living {
    processes: HashMap<u32, Process>,
}

enum Process {
    Running(OwnedFd),
    /// Nobody has told yet how.
    Ended(OwnedFd),
    Told(End),
    /// It was gone when it was first heard of.
    Missed,
}

impl Living {
    /// Takes note of a process that was heard of.
    pub(crate) fn saw(&mut self, pid: u32) {
        self.processes.entry(pid).or_insert_with(|| open(pid).map_or(Process::Missed, Process::Running));
    }

    /// The same for a process that has told its id itself. In a namespace of its own that may be the id of somebody else
    /// here: this process, or one that is older and so was not started by anybody whom this one traces. Of one that is
    /// neither older nor younger, as far as can be known, `is_traced` says whether it is.
    pub(crate) fn heard_of(&mut self, pid: u32, is_traced: impl Fn(u32) -> bool) {
        if self.processes.contains_key(&pid) {
            return;
        }
        let is_somebody_else = match age(pid) {
            Some(Ordering::Less) => true,
            Some(Ordering::Equal) => pid == std::process::id() || !is_traced(pid),
            Some(Ordering::Greater) | None => false,
        };
        if is_somebody_else {
            self.processes.insert(pid, Process::Missed);
        }
        self.saw(pid);
    }

    /// Takes note of a process that somebody holds already.
    pub(crate) fn holds(&mut self, pid: u32, descriptor: OwnedFd) {
        self.processes.insert(pid, Process::Running(descriptor));
    }

    /// Looks which have ended meanwhile, and how; lets go of the descriptors of those that have told.
    pub(crate) fn look(&mut self) {
        for (&pid, process) in &mut self.processes {
            *process = match std::mem::replace(process, Process::Missed) {
                Process::Running(descriptor) if !has_ended(&descriptor) => Process::Running(descriptor),
                Process::Running(descriptor) | Process::Ended(descriptor) => match end_of(pid, &descriptor) {
                    Some(end) => Process::Told(end),
                    None => Process::Ended(descriptor),
                },
                known => known,
            };
        }
    }

    /// Whether any process that was seen still lived at the last look.
    pub(crate) fn any(&self) -> bool {
        self.processes.values().any(|process| matches!(process, Process::Running(_)))
    }

    /// Whether a process has ended, or was never seen to live.
    pub(crate) fn is_over(&self, pid: u32) -> bool {
        !matches!(self.processes.get(&pid), Some(Process::Running(_)))
    }

    /// Whether a process was ever seen.
    pub(crate) fn knows(&self, pid: u32) -> bool {
        self.processes.contains_key(&pid)
    }

    /// How a process ended, if the kernel has told.
    pub(crate) fn end_of(&self, pid: u32) -> Option<End> {
        match self.processes.get(&pid) {
            Some(Process::Told(end)) => Some(*end),
            _ => None,
        }
    }
}

/// The processes, other than this one, that have the memory with this inode mapped. A process that was forked off a moment
/// ago has not been heard of yet, but it has its parent's mappings.
pub(crate) fn users_of(inode: u64) -> Vec<u32> {
    let mut asked = HashSet::from([std::process::id()]);
    let mut users = Vec::new();
    // Until nobody is new: one that was gone before it was asked may have forked another.
    loop {
        let new: Vec<u32> = all_processes().filter(|pid| asked.insert(*pid)).collect();
        if new.is_empty() {
            return users;
        }
        users.extend(new.into_iter().filter(|pid| uses(*pid, inode)));
    }
}

/// Whether a process has the memory with this inode mapped.
pub(crate) fn uses(pid: u32, inode: u64) -> bool {
    fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| has_memory(&maps, inode))
}

pub(crate) fn all_processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
}

/// Which parts of the memory with this inode other processes have mapped, as places in its file. `None` where that cannot
/// be known, because the mappings of somebody cannot be read who may be one of those that are traced.
///
/// No part is missed: who has one has it from whoever forked it, and if that one was gone before it was asked, the fork is
/// in the next list. It ends with a list in which nobody is new.
pub(crate) fn mapped_parts(inode: u64, is_traced: impl Fn(u32) -> bool) -> Option<Vec<Range<u64>>> {
    let mut asked = HashSet::from([std::process::id()]);
    let mut parts = Vec::new();
    loop {
        let new: Vec<u32> = all_processes().filter(|pid| asked.insert(*pid)).collect();
        if new.is_empty() {
            return Some(parts);
        }
        for pid in new {
            match maps::of_process(pid) {
                Ok(mappings) => {
                    let its = mappings.into_iter().filter(|it| it.inode == inode && it.path.starts_with("/memfd:"));
                    parts.extend(its.map(|it| it.file_offset..it.file_offset + (it.end - it.start)));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(_) if !is_traced(pid) && (is_older(pid) || is_of_another_user(pid)) => {}
                Err(_) => return None,
            }
        }
    }
}

/// How many ids a process has: one in each namespace for them that it is in.
pub(crate) fn id_count(pid: u32) -> Option<usize> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some(status.lines().find_map(|line| line.strip_prefix("NSpid:"))?.split_ascii_whitespace().count())
}

/// Whether there is no such process, or none any more but for its status.
pub(crate) fn is_gone(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in parentheses may hold anything.
    stat.rsplit(')').next().is_none_or(|rest| matches!(rest.trim_start().chars().next(), Some('Z' | 'X') | None))
}

/// Whether a process was there before this one: then it is not a child of anybody that this one has started.
fn is_older(pid: u32) -> bool {
    age(pid) == Some(Ordering::Less)
}

/// When a process started, compared with this one: the kernel tells it in hundredths of a second.
fn age(pid: u32) -> Option<Ordering> {
    started(pid).zip(started(std::process::id())).map(|(its, own)| its.cmp(&own))
}

/// When a process started, in ticks since the machine did.
fn started(pid: u32) -> Option<u64> {
    const START_AFTER_STATE: usize = 19;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything.
    stat.rsplit(')').next()?.split_ascii_whitespace().nth(START_AFTER_STATE)?.parse().ok()
}

/// Whether a process runs as somebody that no program of ada's can have become.
fn is_of_another_user(pid: u32) -> bool {
    // SAFETY: the call cannot fail and touches no memory.
    let own = unsafe { libc::geteuid() };
    let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else { return true };
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let is_own = |user: &str| user.parse() == Ok(own);
    own != 0 && users.is_some_and(|users| !users.split_ascii_whitespace().any(is_own))
}

fn has_memory(maps: &str, inode: u64) -> bool {
    maps.lines().any(|line| {
        let mut fields = line.split_ascii_whitespace().skip(4);
        // Inodes of other file systems have the same numbers.
        fields.next().is_some_and(|known| known.parse() == Ok(inode))
            && fields.next().is_some_and(|path| path.starts_with("/memfd:"))
    })
}

/// A descriptor that can be read from once the process has ended.
pub(crate) fn open(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: no pointers are passed.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
}

fn has_ended(process: &OwnedFd) -> bool {
    wait(process, 0)
}

/// Waits for a process's end for so many milliseconds; negative for ever.
pub(crate) fn wait(process: &OwnedFd, milliseconds: i32) -> bool {
    let mut poll = libc::pollfd { fd: process.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: `poll` lives through the call.
    unsafe { libc::poll(&raw mut poll, 1, milliseconds) > 0 }
}

/// How a process that has ended did so: asked before and after somebody has waited for it, since that may happen just now.
fn end_of(pid: u32, process: &OwnedFd) -> Option<End> {
    let status = waited_status(process).or_else(|| zombie_status(pid)).or_else(|| waited_status(process))?;
    Some(End::of_status(status))
}

/// The first version of what the kernel tells of a process behind a descriptor.
#[repr(C)]
#[derive(Default)]
struct ProcessInfo {
    mask: u64,
    _ids: [u32; 13],
    exit_code: i32,
}

const _: () = assert!(size_of::<ProcessInfo>() == 64);

/// The status of a process that somebody has waited for.
fn waited_status(process: &OwnedFd) -> Option<i32> {
    const WITH_EXIT: u64 = 1 << 3;
    /// `_IOWR(0xff, 11, ProcessInfo)`.
    const PIDFD_GET_INFO: libc::c_ulong = 3 << 30 | (size_of::<ProcessInfo>() as libc::c_ulong) << 16 | 0xff << 8 | 11;
    let mut info = ProcessInfo { mask: WITH_EXIT, ..ProcessInfo::default() };
    // SAFETY: `info` lives through the call and is as large as the request says.
    let result = unsafe { libc::ioctl(process.as_raw_fd(), PIDFD_GET_INFO, &raw mut info) };
    (result == 0 && info.mask & WITH_EXIT != 0).then_some(info.exit_code)
}

/// The status of a process that has ended, and that nobody has waited for yet.
fn zombie_status(pid: u32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything.
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_ascii_whitespace().collect();
    const STATUS_AFTER_NAME: usize = 49;
    match *fields.first()? {
        "Z" | "X" => fields.get(STATUS_AFTER_NAME)?.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn watched(script: &str) -> (Child, Living) {
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let mut living = Living::default();
        living.saw(child.id());
        (child, living)
    }

    fn look_until_over(living: &mut Living, pid: u32) {
        while !living.is_over(pid) {
            living.look();
        }
    }

    #[test]
    fn the_end_is_known_before_anybody_has_waited_and_afterwards() {
        for (script, end) in [("exit 7", End::Exited(7)), ("exit 0", End::Exited(0)), ("kill -9 $$", End::Killed(9))] {
            let (mut child, mut living) = watched(script);
            look_until_over(&mut living, child.id());
            assert_eq!(living.end_of(child.id()), Some(end), "{script}, a zombie");
            child.wait().unwrap();

            let (mut child, mut living) = watched(script);
            child.wait().unwrap();
            living.look();
            assert!(living.is_over(child.id()) && !living.any());
            // Kernels before 6.15 cannot say.
            if waited_status(&open(std::process::id()).unwrap()).is_none() {
                assert!([Some(end), None].contains(&living.end_of(child.id())), "{script}, waited for");
            }
        }
    }

    #[test]
    fn whoever_has_the_memory_mapped_is_told_from_others() {
        let maps = "55d0c0000000-55d0c0001000 r--p 00000000 fe:01 1057 /usr/bin/x\n\
            100000000000-100004000000 rw-s 00000000 00:01 1058 /memfd:ada (deleted)\n\
            7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]\n";
        assert!(has_memory(maps, 1058));
        assert!(!has_memory(maps, 1057), "a file of the same number");
        assert!(!has_memory(maps, 105) && !has_memory("", 1058));
    }

    #[test]
    fn children_are_younger_than_their_parents() {
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        assert!(!is_older(child.id()) && is_older(1));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn ids_that_are_somebody_elses_here_are_not_waited_for() {
        let mut living = Living::default();
        living.heard_of(std::process::id(), |_| true);
        living.heard_of(1, |_| true);
        assert!(!living.any());
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        living.heard_of(child.id(), |_| true);
        assert!(living.any());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn the_parts_that_processes_have_mapped_are_known() {
        // Nobody has memory with this number.
        assert_eq!(mapped_parts(u64::MAX, |_| false), Some(Vec::new()));
    }

    #[test]
    fn a_process_that_is_gone_is_over_and_its_end_unknown() {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let mut living = Living::default();
        living.saw(child.id());
        living.look();
        assert!(!living.any() && living.is_over(child.id()));
        assert_eq!(living.end_of(child.id()), None);
    }
}
