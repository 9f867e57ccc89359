//! Who listens on a port.

use std::collections::{BTreeSet, HashSet};
use std::fs;

use ada_event::ProcessId;

use super::{ProcessDir, all_processes};

/// The processes that have a socket open which listens on a TCP port, or is bound to a UDP one, in whichever network
/// namespace. Only processes whose descriptors may be seen are found.
pub fn listeners(port: u16) -> Vec<ProcessId> {
    let mut namespaces = HashSet::new();
    let mut sockets = BTreeSet::new();
    for pid in all_processes() {
        let dir = ProcessDir::of(pid);
        if dir.network_namespace().is_some_and(|namespace| namespaces.insert(namespace)) {
            for (protocol, is_tcp) in [("tcp", true), ("tcp6", true), ("udp", false), ("udp6", false)] {
                sockets.extend(sockets_on(&dir.network_table(protocol), port, is_tcp));
            }
        }
    }
    all_processes().filter(|&pid| ProcessDir::of(pid).sockets().any(|socket| sockets.contains(&socket))).collect()
}

/// The inodes of the sockets in one of the kernel's tables that wait on a port.
fn sockets_on(table: &str, port: u16, is_tcp: bool) -> Vec<u64> {
    const LISTENS: &str = "0A";
    let of_line = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (local, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
        let (_, local_port) = local.rsplit_once(':')?;
        let is_on_port = u16::from_str_radix(local_port, 16) == Ok(port) && (!is_tcp || *state == LISTENS);
        is_on_port.then(|| inode.parse().ok())?
    };
    table.lines().skip(1).filter_map(of_line).collect()
}

impl ProcessDir {
    pub(crate) fn network_namespace(&self) -> Option<std::path::PathBuf> {
        fs::read_link(self.file("ns/net")).ok()
    }

    pub(crate) fn network_table(&self, protocol: &str) -> String {
        fs::read_to_string(self.file(&format!("net/{protocol}"))).unwrap_or_default()
    }

    /// The inodes of the sockets that it has open.
    fn sockets(&self) -> impl Iterator<Item = u64> {
        let entries = fs::read_dir(self.file("fd")).into_iter().flatten().flatten();
        entries.filter_map(|entry| {
            let link = fs::read_link(entry.path()).ok()?;
            link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;
    use crate::this_process::this_process;

    #[test]
    fn those_who_listen_are_found_and_those_who_are_connected_are_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // A child that another test is just starting has the socket until it runs its program.
        let is_listened_to = |port: u16| listeners(port).contains(&this_process());
        assert!(is_listened_to(address.port()));
        let connected = TcpStream::connect(address).unwrap();
        assert!(listeners(connected.local_addr().unwrap().port()).is_empty());
        let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(is_listened_to(datagrams.local_addr().unwrap().port()));
    }

    #[test]
    fn tables_of_any_form_are_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
                     0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 42 1\n\
                     1: 0100007F:1F90 0100007F:A000 01 00000000:00000000 00:00000000 00000000     0        0 43 1\n\
                     broken\n2: :: : 0A\n";
        assert_eq!(sockets_on(table, 8080, true), [42]);
        assert_eq!(sockets_on(table, 8080, false), [42, 43]);
        assert!(sockets_on("", 8080, true).is_empty());
    }
}
