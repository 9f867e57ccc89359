//! Addresses of sockets, as they lie in memory, as people write them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Reads an address: its length first, then its bytes. None where it is none, or not all of it is there.
pub(crate) fn socket_address(words: &[u64]) -> Option<String> {
    const UNIX: u16 = 1;
    const INTERNET: u16 = 2;
    const INTERNET_6: u16 = 10;
    let (length, words) = words.split_first()?;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let bytes = bytes.get(..*length as u32 as usize)?;
    let (family, rest) = bytes.split_first_chunk::<2>()?;
    let port = || rest.first_chunk::<2>().map(|port| u16::from_be_bytes(*port));
    match u16::from_le_bytes(*family) {
        UNIX => unix_address(rest),
        INTERNET => {
            let host: [u8; 4] = rest.get(2..6)?.try_into().ok()?;
            Some(SocketAddr::from((Ipv4Addr::from(host), port()?)).to_string())
        }
        INTERNET_6 => {
            let host: [u8; 16] = rest.get(6..22)?.try_into().ok()?;
            Some(SocketAddr::from((Ipv6Addr::from(host).to_canonical(), port()?)).to_string())
        }
        _ => None,
    }
}

/// `unix:` and a path, or `@` and a name that is no path. A socket without an address has none.
fn unix_address(bytes: &[u8]) -> Option<String> {
    match bytes.split_first()? {
        (0, []) => None,
        (0, name) => Some(format!("unix:@{}", name.escape_ascii())),
        _ => {
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            Some(format!("unix:{}", bytes[..end].escape_ascii()))
        }
    }
}

/// Whether a socket with an own address gets what is sent to another: it has that, or has the port of all addresses.
pub(crate) fn covers(own: &str, other: &str) -> bool {
    let ports = || {
        let [own, other] = [own, other].map(|it| it.parse::<SocketAddr>().ok());
        own.zip(other).is_some_and(|(own, other)| own.port() == other.port() && own.ip().is_unspecified())
    };
    own == other || ports()
}

/// Whether an address is one that only this machine has.
pub(crate) fn is_of_this_machine(address: &str) -> bool {
    let is_loopback = |it: SocketAddr| match it.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback(),
    };
    address.starts_with("unix:") || address.parse().is_ok_and(is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Option<String> {
        let mut words = vec![bytes.len() as u64 | 1 << 32];
        let mut padded = bytes.to_vec();
        padded.resize(48, 0xaa);
        words.extend(padded.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)));
        socket_address(&words)
    }

    #[test]
    fn addresses_of_all_kinds_are_read() {
        assert_eq!(read(&[2, 0, 0x1f, 0x90, 127, 0, 0, 1]).as_deref(), Some("127.0.0.1:8080"));
        let mut six = vec![10, 0, 0x1f, 0x90, 0, 0, 0, 0];
        six.extend(Ipv6Addr::LOCALHOST.octets());
        assert_eq!(read(&six).as_deref(), Some("[::1]:8080"));
        assert_eq!(read(b"\x01\0/tmp/a\0b").as_deref(), Some("unix:/tmp/a"));
        assert_eq!(read(b"\x01\0\0name").as_deref(), Some("unix:@name"));
        for junk in [&b""[..], b"\x01", b"\x01\0", b"\x02\0\0", b"\x63\0aaaaaaaa", &[1; 100]] {
            assert_eq!(read(junk), None, "{junk:?}");
        }
        assert_eq!((socket_address(&[]), socket_address(&[u64::MAX; 7])), (None, None));
    }

    #[test]
    fn all_addresses_cover_each() {
        assert!(covers("0.0.0.0:53", "127.0.0.1:53") && covers("127.0.0.1:53", "127.0.0.1:53"));
        assert!(!covers("127.0.0.1:53", "0.0.0.0:53") && !covers("0.0.0.0:53", "127.0.0.1:54"));
        assert!(!covers("unix:/a", "unix:/b") && covers("unix:/a", "unix:/a"));
        assert!(is_of_this_machine("[::1]:5") && is_of_this_machine("unix:@a") && !is_of_this_machine("10.0.0.1:5"));
    }
}
