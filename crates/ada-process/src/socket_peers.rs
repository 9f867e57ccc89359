//! What sockets are connected to.

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use ada_event::ProcessId;
use rustix::net::netlink::SOCK_DIAG;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

use crate::procfs::ProcessDir;

/// What is known of a socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SocketFacts {
    /// `stream`, `datagram` or `packets`, where that is known.
    pub form: &'static str,
    /// Its own address, and that of what it is connected to.
    pub addresses: Option<(SocketAddr, SocketAddr)>,
    /// The number of the socket that it is connected to, on the same machine.
    pub peer: Option<u64>,
}

/// Asks the kernel about sockets.
pub struct SocketPeers {
    /// For those of this machine alone; none where the kernel does not answer.
    unix: Option<OwnedFd>,
}

impl SocketPeers {
    /// Opens what is needed.
    pub fn open() -> Self {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        Self { unix: socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(SOCK_DIAG)).ok() }
    }

    /// What is known of sockets of a process, by their numbers: those of the internet from the tables of its own network, the
    /// others if it is in ours.
    pub fn of(&self, pid: ProcessId, sockets: &[u64]) -> HashMap<u64, SocketFacts> {
        let dir = ProcessDir::of(pid);
        let mut found = HashMap::new();
        if dir.has_our_network() {
            found.extend(sockets.iter().filter_map(|socket| Some((*socket, self.unix_socket(*socket)?))));
        }
        // The kernel passes over rows while others come and go.
        const ATTEMPTS: usize = 2;
        for _ in 0..ATTEMPTS {
            if sockets.iter().all(|socket| found.contains_key(socket)) {
                break;
            }
            for table in ["tcp", "tcp6"] {
                let rows = dir.network_table(table);
                let rows = rows.lines().skip(1).filter_map(tcp_row);
                found.extend(rows.filter(|(socket, _)| sockets.contains(socket)));
            }
        }
        found
    }

    fn unix_socket(&self, number: u64) -> Option<SocketFacts> {
        let socket = self.unix.as_ref()?;
        send(socket, &question(u32::try_from(number).ok()?), SendFlags::empty()).ok()?;
        let mut bytes = [0; 4096];
        // The kernel has answered by the time that the question is sent.
        let (read, _) = recv(socket, &mut bytes, RecvFlags::empty()).ok()?;
        answer(bytes.get(..read)?, number)
    }
}

impl ProcessDir {
    fn has_our_network(&self) -> bool {
        self.network_namespace().is_some_and(|its| Some(its) == Self::own().network_namespace())
    }
}

const HEADER: usize = 16;
/// A `unix_diag_msg`.
const MESSAGE: usize = 16;

/// The question for a socket of this machine, and what it is connected to.
fn question(number: u32) -> Vec<u8> {
    const LENGTH: u32 = 16 + 24;
    const BY_FAMILY: u16 = 20;
    const REQUEST: u16 = 1;
    const ALL_STATES: u32 = u32::MAX;
    const SHOW_PEER: u32 = 4;
    const NO_COOKIE: u32 = u32::MAX;
    let mut message = Vec::with_capacity(LENGTH as usize);
    message.extend(LENGTH.to_le_bytes());
    message.extend(BY_FAMILY.to_le_bytes());
    message.extend(REQUEST.to_le_bytes());
    for word in [number, 0, libc::AF_UNIX as u32, ALL_STATES, number, SHOW_PEER, NO_COOKIE, NO_COOKIE] {
        message.extend(word.to_le_bytes());
    }
    message
}

/// What the answer says of this socket.
fn answer(bytes: &[u8], number: u64) -> Option<SocketFacts> {
    const BY_FAMILY: u16 = 20;
    const PEER: u16 = 2;
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let half = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let is_it = half(4)? == BY_FAMILY && u64::from(word(HEADER + 4)?) == number;
    let form = match i32::from(*bytes.get(HEADER + 1).filter(|_| is_it)?) {
        libc::SOCK_STREAM => "stream",
        libc::SOCK_DGRAM => "datagram",
        libc::SOCK_SEQPACKET => "packets",
        _ => "",
    };
    let mut facts = SocketFacts { form, ..SocketFacts::default() };
    let mut at = HEADER + MESSAGE;
    while let (Some(length), Some(kind)) = (half(at), half(at + 2)) {
        if kind == PEER {
            facts.peer = word(at + 4).filter(|peer| *peer != 0).map(u64::from);
        }
        at += usize::from(length).max(4).next_multiple_of(4);
    }
    Some(facts)
}

/// A socket's number and its addresses, as the kernel's table has them.
fn tcp_row(line: &str) -> Option<(u64, SocketFacts)> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (local, remote, number) = (fields.get(1)?, fields.get(2)?, fields.get(9)?.parse().ok()?);
    let addresses = address(local).zip(address(remote)).filter(|(_, remote)| remote.port() != 0);
    Some((number, SocketFacts { form: "stream", addresses, peer: None }))
}

/// An address in the kernel's hexadecimal: words of the machine's order. One of the old kind within the new is of the old kind.
fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| u32::from_str_radix(host.get(8 * at..8 * at + 8)?, 16).ok().map(u32::to_le_bytes);
    match host.len() {
        8 => Some(SocketAddr::from((Ipv4Addr::from(word(0)?), port))),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let host: [u8; 16] = words.as_flattened().try_into().ok()?;
            Some(SocketAddr::from((Ipv6Addr::from(host).to_canonical(), port)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::procfs::OpenDescriptor;
    use crate::this_process::this_process;

    fn number(file: &impl AsRawFd) -> u64 {
        OpenDescriptor::read(this_process(), file.as_raw_fd() as u32).unwrap().socket.unwrap()
    }

    #[test]
    fn the_two_of_a_pair_know_each_other() {
        let (one, other) = UnixStream::pair().unwrap();
        let numbers = [number(&one), number(&other)];
        let found = SocketPeers::open().of(this_process(), &numbers);
        assert_eq!(found[&numbers[0]].peer, Some(numbers[1]));
        assert_eq!(found[&numbers[1]], SocketFacts { form: "stream", addresses: None, peer: Some(numbers[0]) });
    }

    #[test]
    fn both_ends_of_a_connection_have_its_addresses() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        let found = SocketPeers::open().of(this_process(), &[number(&client), number(&server)]);
        let (local, remote) = found[&number(&client)].addresses.unwrap();
        assert_eq!((local, remote), (client.local_addr().unwrap(), listener.local_addr().unwrap()));
        assert_eq!(found[&number(&server)].addresses, Some((remote, local)));
    }

    #[test]
    fn addresses_of_both_kinds_are_read() {
        assert_eq!(address("0100007F:1F90"), Some("127.0.0.1:8080".parse().unwrap()));
        assert_eq!(address("00000000000000000000000001000000:1F90"), Some("[::1]:8080".parse().unwrap()));
        assert_eq!(address("0000000000000000FFFF00000100007F:1F90"), Some("127.0.0.1:8080".parse().unwrap()));
        for junk in ["", ":", "01:zz", "é00000000000000000000000000000aa:1"] {
            assert_eq!(address(junk), None, "{junk}");
        }
    }
}
