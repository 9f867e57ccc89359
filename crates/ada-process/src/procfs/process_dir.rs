//! What `/proc` tells of a process.

use std::cmp::Ordering;
use std::fs;
use std::io;

/// All processes that there are, by their ids.
pub fn all_processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
}

/// The program and arguments of a process, from the kernel.
pub fn command_line_of(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    words_of(&bytes)
}

/// Arguments that each end with a zero. A program that shows a title in their place leaves zeros behind it, which are no
/// arguments: more of them than one at the end are taken for that.
fn words_of(bytes: &[u8]) -> Vec<String> {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let is_padded = bytes.len() > end + 2;
    let words = if is_padded { &bytes[..end] } else { bytes.strip_suffix(&[0]).unwrap_or(bytes) };
    words.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// The process that started a process.
pub fn parent_of(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

/// An entry of the vector that the kernel passes to a new program.
pub fn auxiliary(pid: u32, key: u64) -> io::Result<Option<u64>> {
    let bytes = fs::read(format!("/proc/{pid}/auxv"))?;
    let (words, _) = bytes.as_chunks::<8>();
    let (pairs, _) = words.as_chunks::<2>();
    Ok(pairs.iter().find(|pair| u64::from_le_bytes(pair[0]) == key).map(|pair| u64::from_le_bytes(pair[1])))
}

/// How many ids a process has: one in each namespace for them that it is in.
pub fn id_count(pid: u32) -> Option<usize> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some(status.lines().find_map(|line| line.strip_prefix("NSpid:"))?.split_ascii_whitespace().count())
}

/// Whether there is no such process, or none any more but for its status.
pub fn is_gone(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in parentheses may hold anything.
    stat.rsplit(')').next().is_none_or(|rest| matches!(rest.trim_start().chars().next(), Some('Z' | 'X') | None))
}

/// Whether a process was there before this one: then it is not a child of anybody that this one has started.
pub(crate) fn is_older(pid: u32) -> bool {
    age(pid) == Some(Ordering::Less)
}

/// When a process started, compared with this one: the kernel tells it in hundredths of a second.
pub(crate) fn age(pid: u32) -> Option<Ordering> {
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
pub(crate) fn is_of_another_user(pid: u32) -> bool {
    // SAFETY: the call cannot fail and touches no memory.
    let own = unsafe { libc::geteuid() };
    let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else { return true };
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let is_own = |user: &str| user.parse() == Ok(own);
    own != 0 && users.is_some_and(|users| !users.split_ascii_whitespace().any(is_own))
}

/// The status of a process that has ended, and that nobody has waited for yet.
pub(crate) fn zombie_status(pid: u32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything.
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_ascii_whitespace().collect();
    const STATUS_AFTER_NAME: usize = 49;
    match *fields.first()? {
        "Z" | "X" => fields.get(STATUS_AFTER_NAME)?.parse().ok(),
        _ => None,
    }
}

/// Whether a thread has ended.
pub fn has_ended(pid: u32, tid: u32) -> bool {
    // SAFETY: signal 0 only asks whether the thread is there.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, 0) };
    result < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

/// Whether a process has ended with all its threads, and nobody has waited for it yet.
pub fn is_zombie(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in parentheses may hold anything.
    let mut fields = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
    const THREADS_AFTER_STATE: usize = 16;
    fields.next() == Some("Z") && fields.nth(THREADS_AFTER_STATE).is_none_or(|threads| matches!(threads, "0" | "1"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn zeros_behind_a_title_are_no_arguments() {
        assert_eq!(words_of(b"echo\0a b\0"), ["echo", "a b"]);
        assert_eq!(words_of(b"echo\0\0"), ["echo", ""]);
        assert_eq!(words_of(b"redis-server *:6379\0\0\0\0\0\0"), ["redis-server *:6379"]);
    }

    #[test]
    fn children_are_younger_than_their_parents() {
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        assert!(!is_older(child.id()) && is_older(1));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
