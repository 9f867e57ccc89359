//! What the kernel need not send: the threads of the first process, of which a server may make thousands a second. Each message
//! would be queued, and wake ada.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use ada_event::ProcessId;
use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter, sock_fprog};

use super::process_event::{ACKNOWLEDGED, EXEC, EXIT, FORK, HEADERS, USER, at_field};

const ALL: u32 = u32::MAX;

/// Has the kernel pass over what says nothing new of a session whose first process this is: how many threads that has nobody asks
/// for, and its end is known by other means.
pub(super) fn attach(socket: impl AsFd, first: ProcessId) -> io::Result<()> {
    // The numbers are those of instructions ahead.
    let mut instructions = [
        load(HEADERS),
        jump_if(FORK, 5, 0),
        jump_if(EXIT, 6, 0),
        jump_if(ACKNOWLEDGED, 7, 0),
        jump_if(EXEC, 6, 0),
        jump_if(USER, 5, 0),
        accept(0),
        load(at_field(3)),
        jump_if(first.0, 3, 2),
        load(at_field(1)),
        jump_if(first.0, 1, 0),
        accept(ALL),
        accept(0),
    ];
    let program = sock_fprog { len: instructions.len() as u16, filter: instructions.as_mut_ptr() };
    let (socket, size) = (socket.as_fd().as_raw_fd(), size_of::<sock_fprog>() as libc::socklen_t);
    // SAFETY: the program and its instructions live through the call.
    let done = unsafe {
        libc::setsockopt(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, (&raw const program).cast(), size)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn load(at: usize) -> sock_filter {
    sock_filter { code: (BPF_LD | BPF_W | BPF_ABS) as u16, jt: 0, jf: 0, k: at as u32 }
}

/// What is loaded is taken for a number in network order.
fn jump_if(value: u32, then: u8, otherwise: u8) -> sock_filter {
    sock_filter { code: (BPF_JMP | BPF_JEQ | BPF_K) as u16, jt: then, jf: otherwise, k: value.to_be() }
}

/// Accepts so many bytes of the message.
fn accept(bytes: u32) -> sock_filter {
    sock_filter { code: (BPF_RET | BPF_K) as u16, jt: 0, jf: 0, k: bytes }
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};

    use super::super::process_event::{ProcessEvent, tests::message};
    use super::*;

    #[test]
    fn the_first_processs_threads_are_passed_over_and_nothing_else_that_counts() {
        const FIRST: u32 = 4;
        let (from, to) = socketpair(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::NONBLOCK, None).unwrap();
        attach(&to, ProcessId(FIRST)).unwrap();
        let (thread, child) = ([5, FIRST, 6, FIRST], [5, FIRST, 9, 9]);
        for (what, fields, is_heard) in [
            (ACKNOWLEDGED, &[0][..], true),
            (FORK, &thread, false),
            (FORK, &child, true),
            // Of another process: it has to be known when its last thread ends.
            (FORK, &[9, 9, 10, 9], true),
            (EXEC, &[FIRST, FIRST], true),
            (EXIT, &[6, FIRST, 0, 17], false),
            (EXIT, &[10, 9, 0, 17], true),
            (EXIT, &[9, 9, 0, 17], true),
            (USER, &[9, 9, 1, 1], true),
            (USER, &[FIRST, FIRST, 1, 1], true),
            // Of a group, of a name.
            (0x40, &[9, 9, 1, 1], false),
            (0x200, &[9, 9, 1, 1], false),
        ] {
            let sent = message(what, fields);
            send(&from, &sent, SendFlags::empty()).unwrap();
            let mut bytes = [0; 1024];
            let heard = recv(&to, &mut bytes, RecvFlags::empty()).ok();
            assert_eq!(heard.is_some(), is_heard, "{:?}", ProcessEvent::parse(&sent));
            assert!(heard.is_none_or(|(length, _)| bytes[..length] == sent));
        }
    }
}
