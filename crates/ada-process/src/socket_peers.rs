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
    /// Its own address, which no other socket has; empty where it has none.
    pub local: String,
    /// That of what it is connected to, where both are of the internet.
    pub remote: String,
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
            for (table, form) in [("tcp", "stream"), ("tcp6", "stream"), ("udp", "datagram"), ("udp6", "datagram")] {
                let text = dir.network_table(table);
                let rows: Vec<(u64, SocketFacts)> =
                    text.lines().skip(1).filter_map(|line| internet_row(line, form)).collect();
                for (socket, facts) in rows.iter().filter(|(socket, _)| sockets.contains(socket)) {
                    let has_it = |(other, it): &&(u64, SocketFacts)| other != socket && it.local == facts.local;
                    // Several may have one address, and then it does not say who has sent something.
                    let is_shared = form == "datagram" && rows.iter().find(has_it).is_some();
                    let local = if is_shared { String::new() } else { facts.local.clone() };
                    found.insert(*socket, SocketFacts { local, ..facts.clone() });
                }
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
    const SHOW_NAME_AND_PEER: u32 = 1 | 4;
    const NO_COOKIE: u32 = u32::MAX;
    let mut message = Vec::with_capacity(LENGTH as usize);
    message.extend(LENGTH.to_le_bytes());
    message.extend(BY_FAMILY.to_le_bytes());
    message.extend(REQUEST.to_le_bytes());
    for word in [number, 0, libc::AF_UNIX as u32, ALL_STATES, number, SHOW_NAME_AND_PEER, NO_COOKIE, NO_COOKIE] {
        message.extend(word.to_le_bytes());
    }
    message
}

/// What the answer says of this socket.
fn answer(bytes: &[u8], number: u64) -> Option<SocketFacts> {
    const BY_FAMILY: u16 = 20;
    const NAME: u16 = 0;
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
        if kind == NAME {
            facts.local = bytes.get(at + 4..at + usize::from(length)).and_then(unix_name).unwrap_or_default();
        }
        at += usize::from(length).max(4).next_multiple_of(4);
    }
    Some(facts)
}

/// The address of a socket of this machine: a path, or `@` and a name that is none.
fn unix_name(name: &[u8]) -> Option<String> {
    match name.split_first()? {
        (0, name) => Some(format!("unix:@{}", name.escape_ascii())),
        _ => {
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
            Some(format!("unix:{}", name[..end].escape_ascii()))
        }
    }
}

/// A socket's number and its addresses, as the kernel's table has them.
fn internet_row(line: &str, form: &'static str) -> Option<(u64, SocketFacts)> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (local, remote, number) = (fields.get(1)?, fields.get(2)?, fields.get(9)?.parse().ok()?);
    let written = |text| address(text).filter(|it| it.port() != 0).map(|it| it.to_string()).unwrap_or_default();
    Some((number, SocketFacts { form, local: written(local), remote: written(remote), peer: None }))
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
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsRawFd;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{UnixDatagram, UnixStream};

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
        assert_eq!(
            found[&numbers[1]],
            SocketFacts { form: "stream", peer: Some(numbers[0]), ..SocketFacts::default() }
        );
    }

    #[test]
    fn both_ends_of_a_connection_have_its_addresses() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        let found = SocketPeers::open().of(this_process(), &[number(&client), number(&server)]);
        let SocketFacts { local, remote, .. } = &found[&number(&client)];
        let written = [client.local_addr(), listener.local_addr()].map(|it| it.unwrap().to_string());
        assert_eq!([local, remote], [&written[0], &written[1]]);
        let server = &found[&number(&server)];
        assert_eq!((&server.local, &server.remote), (remote, local));
    }

    #[test]
    fn sockets_for_datagrams_have_their_own_addresses() {
        let internet = UdpSocket::bind("127.0.0.1:0").unwrap();
        let name = format!("ada-test-{}", std::process::id());
        let unix =
            UnixDatagram::bind_addr(&std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let found = SocketPeers::open().of(this_process(), &[number(&internet), number(&unix)]);
        let facts = |local: String| SocketFacts { form: "datagram", local, ..SocketFacts::default() };
        assert_eq!(found[&number(&internet)], facts(internet.local_addr().unwrap().to_string()));
        assert_eq!(found[&number(&unix)], facts(format!("unix:@{name}")));
        assert_eq!(unix_name(b"/a\0b").as_deref(), Some("unix:/a"));
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
