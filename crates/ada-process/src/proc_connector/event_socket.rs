//! The netlink socket by which the kernel sends process events.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use ada_event::ProcessId;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::netlink::{CONNECTOR, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with, sockopt,
};

use super::event_filter;
use super::process_event::{HEADERS, ProcessEvent};

/// How long the kernel may take to acknowledge.
const ANSWER: Duration = Duration::from_millis(20);
/// Room for what the kernel sends while nobody reads: a message takes about 700 bytes.
const ROOM: usize = 16 << 20;

const PROCESS_EVENTS: u32 = 1;
const LISTEN: u32 = 1;

pub(super) struct EventSocket {
    socket: OwnedFd,
}

impl EventSocket {
    /// Opens the socket for a session whose first process this is, and waits until the kernel confirms that it sends events.
    pub(super) fn open(first: ProcessId) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(CONNECTOR))?;
        bind(&socket, &SocketAddrNetlink::new(0, PROCESS_EVENTS))?;
        // With less room some events may be lost, and that is reported.
        let _ = sockopt::set_socket_recv_buffer_size(&socket, ROOM);
        let _ = sockopt::set_socket_recv_buffer_size_force(&socket, ROOM);
        // Without it there is more to read, and nothing else is different.
        let _ = event_filter::attach(&socket, first);
        let socket = Self { socket };
        socket.subscribe()?;
        Ok(socket)
    }

    fn subscribe(&self) -> io::Result<()> {
        let mut message = Vec::with_capacity(HEADERS + 4);
        message.extend((HEADERS as u32 + 4).to_le_bytes());
        message.extend((libc::NLMSG_DONE as u16).to_le_bytes());
        message.extend([0; 10]);
        for word in [PROCESS_EVENTS, PROCESS_EVENTS, 0, 0, 4, LISTEN] {
            message.extend(word.to_le_bytes());
        }
        send(&self.socket, &message, SendFlags::empty())?;
        // It answers at once, or never.
        while let Some(event) = self.next(ANSWER)? {
            match event {
                ProcessEvent::Acknowledged(0) => return Ok(()),
                ProcessEvent::Acknowledged(error) => return Err(io::Error::from_raw_os_error(error as i32)),
                _ => {}
            }
        }
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "the kernel reports them to the machine's own root only"))
    }

    /// The next event that comes within the time.
    pub(super) fn next(&self, time: Duration) -> io::Result<Option<ProcessEvent>> {
        let time = Timespec::try_from(time).ok();
        if poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], time.as_ref()).unwrap_or(0) == 0 {
            return Ok(None);
        }
        let mut bytes = [0_u8; 1024];
        match recv(&self.socket, &mut bytes, RecvFlags::empty()) {
            Ok((read, _)) => Ok(Some(ProcessEvent::parse(&bytes[..read]).unwrap_or(ProcessEvent::Other))),
            Err(error) => match io::Error::from(error) {
                error if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(None),
                error => Err(error),
            },
        }
    }
}
