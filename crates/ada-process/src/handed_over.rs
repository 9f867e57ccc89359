//! Gives a process a descriptor of a file that it may not be able to open.
//!
//! A process of another user cannot follow the links to ada's descriptors, and has perhaps another root. So it is made to make a
//! pair of sockets; ada takes one end, which it may if it may trace the process, and sends the file through it.

use std::fs::File;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

use ada_event::{ProcessId, RuntimeAddr};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use crate::pidfd::Pidfd;
use crate::remote::Remote;

const PAGE: u64 = 4096;

/// The process's descriptor of the file.
pub fn hand_over(remote: &dyn Remote, pid: ProcessId, file: &File) -> io::Result<u64> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
    let page = remote.system_call(libc::SYS_mmap, [0, PAGE, protection, flags, u64::MAX, 0])?;
    let handed_over = by_sockets(remote, pid, file, RuntimeAddr(page));
    remote.system_call(libc::SYS_munmap, [page, PAGE, 0, 0, 0, 0])?;
    handed_over
}

fn by_sockets(remote: &dyn Remote, pid: ProcessId, file: &File, page: RuntimeAddr) -> io::Result<u64> {
    let kind = (libc::SOCK_DGRAM | libc::SOCK_CLOEXEC) as u64;
    remote.system_call(libc::SYS_socketpair, [libc::AF_UNIX as u64, kind, 0, page.0, 0, 0])?;
    let mut pair = [0; 8];
    remote.read(page, &mut pair)?;
    let [to, from] =
        [0, 4].map(|at| u64::from(u32::from_le_bytes([pair[at], pair[at + 1], pair[at + 2], pair[at + 3]])));
    let received = send(pid, from as u32, file).and_then(|()| receive(remote, to, page));
    for socket in [to, from] {
        remote.system_call(libc::SYS_close, [socket, 0, 0, 0, 0, 0])?;
    }
    received
}

/// Sends the file by a socket of the process.
fn send(pid: ProcessId, socket: u32, file: &File) -> io::Result<()> {
    let socket = Pidfd::open(pid)?.descriptor_of(socket)?;
    let files = [file.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&files));
    sendmsg(&socket, &[IoSlice::new(b"f")], &mut ancillary, SendFlags::empty())?;
    Ok(())
}

/// Has the process receive it. Where the message's parts lie in the page: its header first, …
fn receive(remote: &dyn Remote, socket: u64, page: RuntimeAddr) -> io::Result<u64> {
    /// … a vector of one, …
    const VECTOR: u64 = 64;
    /// … its byte, …
    const DATA: u64 = 80;
    /// … and what comes with it: the header of a control message, and a descriptor.
    const CONTROL: u64 = 96;
    const CONTROL_HEADER: u64 = 16;
    const CONTROL_BYTES: u64 = 24;
    let header = [0, 0, page.0 + VECTOR, 1, page.0 + CONTROL, CONTROL_BYTES, 0, 0];
    let vector = [page.0 + DATA, 1];
    let words: Vec<u8> = header.iter().chain(&vector).flat_map(|word| word.to_le_bytes()).collect();
    remote.write(page, &words)?;
    let flags = (libc::MSG_CMSG_CLOEXEC | libc::MSG_DONTWAIT) as u64;
    remote.system_call(libc::SYS_recvmsg, [socket, page.0, flags, 0, 0, 0])?;
    let mut control = [0; CONTROL_BYTES as usize];
    remote.read(page + CONTROL, &mut control)?;
    let word = |at: usize| u32::from_le_bytes([control[at], control[at + 1], control[at + 2], control[at + 3]]);
    let is_descriptor = u64::from(word(0)) == CONTROL_HEADER + 4
        && (word(8), word(12)) == (libc::SOL_SOCKET as u32, libc::SCM_RIGHTS as u32);
    if is_descriptor {
        Ok(word(CONTROL_HEADER as usize).into())
    } else {
        Err(io::Error::other("the process could not be given a descriptor"))
    }
}

impl Pidfd {
    /// A descriptor of the process, as one of this process's.
    fn descriptor_of(&self, number: u32) -> io::Result<OwnedFd> {
        // SAFETY: a call with numbers only; what it gives is nobody else's.
        unsafe {
            match libc::syscall(libc::SYS_pidfd_getfd, self.as_raw(), number, 0) {
                ..0 => Err(io::Error::last_os_error()),
                descriptor => Ok(OwnedFd::from_raw_fd(descriptor as i32)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, Write};
    use std::process::Command;

    use super::*;
    use crate::maps;
    use crate::procfs::ProcessDir;
    use crate::ptrace::Halted;

    #[test]
    fn a_process_gets_a_file_and_nothing_else() {
        let mut file = File::from(rustix::fs::memfd_create("given", rustix::fs::MemfdFlags::CLOEXEC).unwrap());
        file.write_all(b"before").unwrap();
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = ProcessId(child.id());
        // It maps nothing more once it sleeps.
        let sleeps = libc::SYS_clock_nanosleep.to_string();
        while !std::fs::read_to_string(format!("/proc/{}/syscall", pid.0)).is_ok_and(|it| it.starts_with(&sleeps)) {
            std::thread::yield_now();
        }
        let descriptors = || std::fs::read_dir(format!("/proc/{}/fd", pid.0)).unwrap().count();
        let mappings = maps::of_process(pid).unwrap();
        let before = descriptors();
        let halted = Halted::one(pid, &mappings).unwrap();
        let given = hand_over(&halted, pid, &file).unwrap();
        drop(halted);
        assert_eq!(descriptors(), before + 1);
        let mut theirs = File::options().read(true).write(true).open(ProcessDir::of(pid).descriptor(given)).unwrap();
        theirs.write_all(b"after!").unwrap();
        file.rewind().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "after!");
        assert_eq!(maps::of_process(pid).unwrap().len(), mappings.len(), "the page is gone");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
