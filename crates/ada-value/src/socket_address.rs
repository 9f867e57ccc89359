//! Addresses of sockets.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::Value;

const UNIX: u16 = 1;
const INET: u16 = 2;
const INET6: u16 = 10;

/// What a `sockaddr` says, as far as its bytes are there.
pub(crate) fn socket_address(bytes: &[u8]) -> Value {
    let Some((family, rest)) = bytes.split_first_chunk() else { return words(Vec::new(), "[]") };
    let family = u16::from_le_bytes(*family);
    let host = match family {
        INET => rest.get(2..6).and_then(|bytes| bytes.first_chunk()).map(|ip: &[u8; 4]| Ipv4Addr::from(*ip).into()),
        INET6 => rest.get(6..22).and_then(|bytes| bytes.first_chunk()).map(|ip: &[u8; 16]| Ipv6Addr::from(*ip).into()),
        UNIX => {
            let end = rest.iter().skip(1).position(|byte| *byte == 0).map_or(rest.len(), |end| end + 1);
            let path = rest[..end].escape_ascii().to_string().replace("\\x00", "@");
            return words(vec![("path", Value::Text(path.clone().into_bytes(), false))], &format!("unix:{path}"));
        }
        other => return words(vec![("family", number(other))], &format!("family {other}")),
    };
    let (Some(host), Some(port)) = (host, rest.first_chunk().map(|port| u16::from_be_bytes(*port))) else {
        return words(Vec::new(), "[]");
    };
    let address = SocketAddr::new(host, port);
    let fields = vec![("host", Value::Text(host.to_string().into_bytes(), false)), ("port", number(port))];
    words(fields, &address.to_string())
}

fn words(fields: Vec<(&str, Value)>, written: &str) -> Value {
    let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Value::Structure(fields, Some(written.to_owned()))
}

fn number(number: u16) -> Value {
    Value::Number(number.into(), number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn socket_addresses_are_read() {
        let shown = |bytes: &[u8]| socket_address(bytes).shown(&|_| None);
        assert_eq!(shown(&[2, 0, 0x1f, 0x91, 127, 0, 0, 1]), "127.0.0.1:8081");
        assert_eq!(shown(b"\x01\0/run/x\0"), "unix:/run/x");
        assert_eq!(shown(b"\x01\0\0abstract"), "unix:@abstract");
        assert_eq!(shown(&[]), "[]");
        assert_eq!(shown(&[10, 0, 0, 80]), "[]");
        assert_eq!(shown(&[16, 0]), "family 16");
        let inet = socket_address(&[2, 0, 0x1f, 0x91, 127, 0, 0, 1]);
        assert_eq!(inet.field("port").and_then(Value::number), Some(8081));
        assert_eq!(inet.field("host").and_then(Value::text).as_deref(), Some("127.0.0.1"));
    }
}
