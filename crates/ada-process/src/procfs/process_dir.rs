//! `/proc/PID`.

use std::cmp::Ordering;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use ada_event::{ProcessId, RuntimeAddr, ThreadId};

use super::process_memory::ProcessMemory;
use super::stat::Stat;
use super::status::Status;

use crate::this_process::this_process;

/// A process's directory in `/proc`, or that of one of its threads, which has the same files.
pub struct ProcessDir {
    path: PathBuf,
}

impl ProcessDir {
    /// That of a process, whether or not there is one.
    pub fn of(pid: ProcessId) -> Self {
        Self { path: PathBuf::from(format!("/proc/{pid}")) }
    }

    /// That of this process.
    pub fn own() -> Self {
        Self { path: PathBuf::from("/proc/self") }
    }

    /// That of a thread of this process's.
    pub fn thread(&self, tid: ThreadId) -> Self {
        Self { path: self.path.join(format!("task/{tid}")) }
    }

    /// A file of the directory.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Whether there is such a process, or its status at least.
    pub fn exists(&self) -> bool {
        self.path.exists()
    }

    /// The directory's owner and times: the user is that of the process, unless its memory is protected.
    pub fn metadata(&self) -> io::Result<Metadata> {
        fs::metadata(&self.path)
    }

    /// The link to the program's file, which can be opened even if it leads nowhere.
    pub fn executable(&self) -> PathBuf {
        self.path.join("exe")
    }

    /// The path by which others reach a file that the process has open.
    pub fn descriptor(&self, descriptor: u64) -> PathBuf {
        self.path.join(format!("fd/{descriptor}"))
    }

    /// The path by which others reach what the process means by a path.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        match path.strip_prefix("/") {
            Ok(below_root) => self.path.join("root").join(below_root),
            Err(_) => self.path.join("cwd").join(path),
        }
    }

    /// What the kernel calls the mount namespace, if that may be known.
    pub fn mount_namespace(&self) -> Option<PathBuf> {
        fs::read_link(self.path.join("ns/mnt")).ok()
    }

    /// The memory, to be read.
    pub fn memory(&self) -> io::Result<ProcessMemory> {
        File::open(self.path.join("mem")).map(ProcessMemory::of_file)
    }

    /// The memory, to be read and written.
    pub fn writable_memory(&self) -> io::Result<ProcessMemory> {
        OpenOptions::new().read(true).write(true).open(self.path.join("mem")).map(ProcessMemory::of_file)
    }

    /// The list of its mappings, as text.
    pub(crate) fn maps(&self) -> io::Result<String> {
        fs::read(self.path.join("maps")).map(|text| String::from_utf8_lossy(&text).into_owned())
    }

    /// Whether all pages of a range of addresses, as far as they are there, are those of the file that is mapped: a page that
    /// was written to is not.
    pub(crate) fn has_only_file_pages(&self, range: &Range<RuntimeAddr>) -> io::Result<bool> {
        const PAGE: u64 = 4096;
        const IS_PRESENT_OR_SWAPPED: u64 = 3 << 62;
        const IS_OF_FILE: u64 = 1 << 61;
        let pages = range.start.0 / PAGE..range.end.0.div_ceil(PAGE);
        let mut entries = vec![0; (pages.end - pages.start) as usize * 8];
        File::open(self.path.join("pagemap"))?.read_exact_at(&mut entries, pages.start * 8)?;
        let (entries, _) = entries.as_chunks::<8>();
        let is_clean = |entry: u64| entry & IS_PRESENT_OR_SWAPPED == 0 || entry & IS_OF_FILE != 0;
        Ok(entries.iter().all(|entry| is_clean(u64::from_le_bytes(*entry))))
    }

    /// What the kernel says in a line. `None` where there is no such process any more.
    pub fn stat(&self) -> Option<Stat> {
        Stat::parse(&fs::read_to_string(self.path.join("stat")).ok()?)
    }

    /// What the kernel says in many lines.
    pub fn status(&self) -> io::Result<Status> {
        fs::read_to_string(self.path.join("status")).map(Status::of_text)
    }

    /// Whether there is no such process or thread, or none any more but for its exit status.
    pub fn is_gone(&self) -> bool {
        self.stat().is_none_or(|stat| stat.has_ended())
    }

    /// The process that started it, or has inherited it.
    pub fn parent(&self) -> Option<ProcessId> {
        self.status().ok()?.parent()
    }

    /// The name of the thread, or of the first one.
    pub fn name(&self) -> Option<String> {
        let name = fs::read(self.path.join("comm")).ok()?;
        Some(String::from_utf8_lossy(&name).trim_end_matches('\n').to_owned())
    }

    /// The program and its arguments.
    pub fn command_line(&self) -> Vec<String> {
        words_of(&fs::read(self.path.join("cmdline")).unwrap_or_default())
    }

    /// The control groups that it is in, as paths: one, or one for each hierarchy of the first version.
    pub fn control_groups(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path.join("cgroup")).unwrap_or_default();
        text.lines().filter_map(|line| line.splitn(3, ':').nth(2)).map(str::to_owned).collect()
    }

    /// An entry of the vector that the kernel passes to a new program.
    pub fn auxiliary(&self, key: u64) -> io::Result<Option<u64>> {
        let bytes = fs::read(self.path.join("auxv"))?;
        let (words, _) = bytes.as_chunks::<8>();
        let (pairs, _) = words.as_chunks::<2>();
        Ok(pairs.iter().find(|pair| u64::from_le_bytes(pair[0]) == key).map(|pair| u64::from_le_bytes(pair[1])))
    }

    /// The ids of its threads.
    pub fn threads(&self) -> io::Result<Vec<ThreadId>> {
        let entries = fs::read_dir(self.path.join("task"))?;
        Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
    }

    /// The processes that its threads have started, and which still live.
    pub fn children(&self) -> Vec<ProcessId> {
        let of_thread = |tid: ThreadId| {
            let text = fs::read_to_string(self.path.join(format!("task/{tid}/children"))).unwrap_or_default();
            text.split_ascii_whitespace().filter_map(|child| child.parse().ok()).collect::<Vec<ProcessId>>()
        };
        self.threads().unwrap_or_default().into_iter().flat_map(of_thread).collect()
    }

    /// Whether the process was there before this one: then it is not a child of any that this one has started.
    pub(crate) fn is_older(&self) -> bool {
        self.age() == Some(Ordering::Less)
    }

    /// When the process started, compared with this one. The kernel counts in hundredths of a second.
    pub(crate) fn age(&self) -> Option<Ordering> {
        let own = Self::of(this_process()).stat()?.started()?;
        Some(self.stat()?.started()?.cmp(&own))
    }

    /// Whether the process runs as a user that no program started by ada can have become.
    pub(crate) fn is_of_another_user(&self) -> bool {
        let own = rustix::process::geteuid();
        let Ok(status) = self.status() else { return true };
        !own.is_root() && !status.has_user(own.as_raw())
    }
}

/// Arguments that each end with a zero byte. A program that writes a title over them, as redis-server does, leaves zeros
/// behind it: more than one at the end are taken for that, and are no arguments.
fn words_of(bytes: &[u8]) -> Vec<String> {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let is_padded = bytes.len() > end + 2;
    let words = if is_padded { &bytes[..end] } else { bytes.strip_suffix(&[0]).unwrap_or(bytes) };
    words.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
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
    fn pages_that_were_written_to_are_distinguished_from_those_of_the_file() {
        let file = File::open("/proc/self/exe").unwrap();
        let length = 4 * 4096;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(&file);
        // SAFETY: a new private mapping of a file.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_PRIVATE, descriptor, 0) };
        let start = RuntimeAddr(at as u64);
        let all = start..start + length as u64;
        let is_clean = |range: &Range<RuntimeAddr>| ProcessDir::own().has_only_file_pages(range).unwrap();
        assert!(is_clean(&all), "nothing is there yet");
        let page = at.cast::<u8>().wrapping_add(2 * 4096);
        // SAFETY: within the mapping, which nobody else knows.
        let byte = unsafe { page.read_volatile() };
        assert!(is_clean(&all), "it was read");
        // SAFETY: as above.
        unsafe { page.write_volatile(byte) };
        assert!(!is_clean(&all) && is_clean(&(start..start + 2 * 4096)));
    }

    #[test]
    fn children_are_younger_than_their_parents() {
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        assert!(!ProcessDir::of(ProcessId(child.id())).is_older() && ProcessDir::of(ProcessId(1)).is_older());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn paths_of_a_process_are_below_its_own_root_and_folder() {
        let process = ProcessDir::of(ProcessId(7));
        assert_eq!(process.resolve(Path::new("/bin/sh")), Path::new("/proc/7/root/bin/sh"));
        assert_eq!(process.resolve(Path::new("a/b")), Path::new("/proc/7/cwd/a/b"));
        assert_eq!(process.thread(ThreadId(9)).executable(), Path::new("/proc/7/task/9/exe"));
    }
}
