//! Where packets go to or come from.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use crate::exit::Blame;

/// `PORT` on this machine, or `HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address(String);

impl FromStr for Address {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "expected PORT or HOST:PORT, such as 9000 or 192.168.1.5:9000";
        if text.parse::<u16>().is_ok() {
            return Ok(Self(format!("127.0.0.1:{text}")));
        }
        match text.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(Self(text.into())),
            _ => Err(EXPECTED),
        }
    }
}

impl Address {
    /// The addresses that the name stands for, at least one.
    pub(super) fn resolve(&self) -> anyhow::Result<Vec<SocketAddr>> {
        let found: Vec<_> =
            self.0.to_socket_addrs().output_failed(|| format!("cannot find {self}; check the host's name"))?.collect();
        if found.is_empty() {
            Err(anyhow::anyhow!("it has no address")).output_failed(|| format!("cannot find {self}"))?;
        }
        Ok(found)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The transport, and the address on it.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct EndpointArgs {
    /// Use UDP datagrams, at PORT (on this machine) or HOST:PORT
    #[arg(long, value_name = "ADDR")]
    udp: Option<Address>,

    /// Use a TCP connection, at PORT (on this machine) or HOST:PORT
    #[arg(long, value_name = "ADDR")]
    tcp: Option<Address>,
}

pub(super) enum Endpoint<'a> {
    Udp(&'a Address),
    Tcp(&'a Address),
}

impl EndpointArgs {
    pub(super) fn get(&self) -> Endpoint<'_> {
        match (&self.udp, &self.tcp) {
            (Some(address), _) => Endpoint::Udp(address),
            (None, Some(address)) => Endpoint::Tcp(address),
            (None, None) => unreachable!("clap requires one of the group"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_on_this_machine() {
        assert_eq!("9000".parse(), Ok(Address("127.0.0.1:9000".into())));
        assert_eq!("[::1]:9000".parse(), Ok(Address("[::1]:9000".into())));
        assert_eq!("example.org:9000".parse(), Ok(Address("example.org:9000".into())));
        for wrong in ["", "x", ":9000", "host:", "host:70000", "70000"] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
    }
}
