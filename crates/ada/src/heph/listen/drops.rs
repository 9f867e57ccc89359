//! How many datagrams the system had no room for.

use std::fs::{self, File};
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

/// Of a socket, as `/proc/net` has it. 0 where that cannot be read.
pub(super) fn of(socket: &UdpSocket) -> u64 {
    let inode = || File::from(socket.as_fd().try_clone_to_owned().ok()?).metadata().ok().map(|facts| facts.ino());
    let Some(inode) = inode() else { return 0 };
    let tables = ["/proc/self/net/udp", "/proc/self/net/udp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    tables.iter().find_map(|table| in_table(table, inode)).unwrap_or(0)
}

/// The last column of the socket's line; its inode is the tenth.
fn in_table(table: &str, inode: u64) -> Option<u64> {
    const INODE: usize = 9;
    table.lines().skip(1).find_map(|line| {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_ours = columns.get(INODE)?.parse() == Ok(inode);
        columns.last().filter(|_| is_ours)?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_found_by_its_inode() {
        const TABLE: &str = "\
   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  421: 0100007F:2328 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 77 2 0000000000000000 5
  422: 0100007F:2329 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 78 2 0000000000000000 9
";
        assert_eq!(in_table(TABLE, 78), Some(9));
        assert_eq!(in_table(TABLE, 79), None);
    }
}
